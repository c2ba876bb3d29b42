//! A streamed answer: a stream of chunks that marks tokens and ends its inference, whichever way it ends.

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep};
use wattspan_core::TokenUsage;
use wattspan_genai::Inference;

use crate::answer::Chunk;
use crate::error::{Error, Wait, cut};
use crate::sse::Events;
use crate::tally::Tally;
use crate::timings::Timings;
use crate::transport::{Bound, Transport, broken, malformed};
use crate::wire::WireAnswer;

type Body = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// The pieces of an answer as they come.
///
/// Each piece with output marks a token of its inference. The last one ends the inference with the server's counts; an
/// error ends it with that error; dropping the stream before its end closes the connection, so that llama-server frees
/// the slot, and ends the inference as cancelled. After an error or the end there is nothing more.
#[must_use = "a stream does nothing until it is read, and dropping it cancels the request"]
pub struct ChatStream {
    transport: Arc<Transport>,
    endpoint: String,
    body: Option<Body>,
    events: Events,
    inference: Option<Inference>,
    tally: Tally,
    /// Kept after the end, where the tally has been handed over.
    tokens: TokenUsage,
    bound: Bound,
    silence: Option<(Duration, Pin<Box<Sleep>>)>,
    deadline: Option<Pin<Box<Sleep>>>,
}

/// One step of reading.
#[allow(clippy::large_enum_variant)] // Lives for a moment on the stack; a box would cost each token an allocation.
enum Step {
    Chunk(Chunk),
    /// The server said that the answer is whole.
    Done,
    /// More bytes are needed.
    Hungry,
}

impl ChatStream {
    pub(crate) fn new(
        transport: Arc<Transport>,
        endpoint: String,
        response: reqwest::Response,
        inference: Inference,
        bound: Bound,
    ) -> Self {
        Self {
            events: Events::new(transport.body_limit),
            silence: transport.idle.map(|idle| (idle, Box::pin(tokio::time::sleep(idle)))),
            deadline: bound.at.map(|at| Box::pin(tokio::time::sleep_until(at))),
            transport,
            endpoint,
            body: Some(Box::pin(response.bytes_stream())),
            inference: Some(inference),
            tally: Tally::default(),
            tokens: TokenUsage::default(),
            bound,
        }
    }

    /// Tokens as far as the server has reported them; complete after the last chunk.
    pub fn tokens(&self) -> TokenUsage {
        self.tokens
    }

    /// llama.cpp's own account, after the last chunk.
    pub fn timings(&self) -> Option<Timings> {
        self.tally.timings
    }

    /// Whether the server reported no prompt tokens for a prompt that cannot be empty.
    pub fn input_is_suspect(&self) -> bool {
        self.tally.input_is_suspect()
    }

    fn step(&mut self) -> Result<Step, Error> {
        match self.events.next() {
            Ok(Some(data)) => self.event(&data),
            Ok(None) => Ok(Step::Hungry),
            Err(crate::sse::TooLarge(limit)) => {
                Err(Error::TooLarge { endpoint: self.endpoint.clone(), limit })
            }
        }
    }

    fn event(&mut self, data: &str) -> Result<Step, Error> {
        if data.trim() == "[DONE]" {
            return Ok(Step::Done);
        }
        let answer = WireAnswer::parse(data).map_err(|error| malformed(&self.endpoint, &error))?;
        if let Some(error) = answer.error {
            return Err(Error::Interrupted {
                endpoint: self.endpoint.clone(),
                kind: error.kind,
                message: cut(&error.message),
            });
        }
        let last_of_native = answer.stop == Some(true);
        let usage = answer.counted();
        let chunk = answer.into_chunk();
        if let Some(inference) = &mut self.inference {
            self.tally.chunk(&chunk, usage, inference);
        }
        if last_of_native {
            // `/completion` has no `[DONE]`: this chunk is the last.
            self.end(None);
        }
        Ok(Step::Chunk(chunk))
    }

    /// Ends the inference, and gives the connection back or closes it.
    fn end(&mut self, error: Option<&Error>) {
        if let Some(mut inference) = self.inference.take() {
            self.tokens = self.tally.tokens();
            self.tally.apply(&mut inference);
            match error {
                Some(error) => inference.fail(error.failure()),
                None => inference.finish(),
            }
        }
        if error.is_some() {
            self.body = None;
        }
    }

    /// The body is at its end. Servers that send no `[DONE]` have at least said why each choice stopped.
    fn closed(&mut self) -> Result<(), Error> {
        self.body = None;
        if self.inference.is_none() || self.tally.has_ended() {
            return Ok(());
        }
        self.transport.place.forget();
        Err(Error::Truncated { endpoint: self.endpoint.clone(), source: None })
    }

    fn poll(&mut self, task: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        loop {
            if self.inference.is_none() {
                self.finish_body(task);
                return Poll::Ready(None);
            }
            match self.step() {
                Ok(Step::Chunk(chunk)) => return Poll::Ready(Some(Ok(chunk))),
                Ok(Step::Done) => {
                    self.end(None);
                    self.finish_body(task);
                    return Poll::Ready(None);
                }
                Err(error) => return self.failed(error),
                Ok(Step::Hungry) => {}
            }
            let Some(body) = &mut self.body else { return Poll::Ready(None) };
            match body.as_mut().poll_next(task) {
                Poll::Ready(Some(Ok(bytes))) => {
                    let now = Instant::now();
                    // Here as well: a stream that never pauses would never reach the timers.
                    if self.bound.at.is_some_and(|at| at <= now) {
                        let error = self.bound.error(&self.endpoint);
                        return self.failed(error);
                    }
                    self.events.push(&bytes);
                    if let Some((idle, sleep)) = &mut self.silence {
                        sleep.as_mut().reset(now + *idle);
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.transport.place.forget();
                    let error = broken(&self.endpoint, error);
                    return self.failed(error);
                }
                Poll::Ready(None) => {
                    if let Some(data) = self.events.rest() {
                        match self.event(&data) {
                            Ok(Step::Chunk(chunk)) => return Poll::Ready(Some(Ok(chunk))),
                            Ok(_) => {
                                self.end(None);
                                return Poll::Ready(None);
                            }
                            // Half an event is what a broken connection leaves, not what a server writes.
                            Err(Error::Malformed { .. }) => {}
                            Err(error) => return self.failed(error),
                        }
                    }
                    if let Err(error) = self.closed() {
                        return self.failed(error);
                    }
                    self.end(None);
                    return Poll::Ready(None);
                }
                Poll::Pending => return self.wait(task),
            }
        }
    }

    fn wait(&mut self, task: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        if self.deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(task).is_ready()) {
            let error = self.bound.error(&self.endpoint);
            return self.failed(error);
        }
        if let Some((idle, sleep)) = &mut self.silence
            && sleep.as_mut().poll(task).is_ready()
        {
            let (endpoint, after) = (self.endpoint.clone(), *idle);
            return self.failed(Error::Deadline { endpoint, wait: Wait::BetweenChunks, after });
        }
        Poll::Pending
    }

    fn failed(&mut self, error: Error) -> Poll<Option<Result<Chunk, Error>>> {
        self.end(Some(&error));
        Poll::Ready(Some(Err(error)))
    }

    /// Reads the body's end, if it is there already, so that the connection can be used again; does not wait for it.
    fn finish_body(&mut self, task: &mut Context<'_>) {
        if let Some(mut body) = self.body.take() {
            let _ = body.as_mut().poll_next(task);
        }
    }
}

impl Stream for ChatStream {
    type Item = Result<Chunk, Error>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(task)
    }
}

impl Drop for ChatStream {
    fn drop(&mut self) {
        // The inference's own drop says that it was cancelled; what the server reported so far goes with it.
        if let Some(inference) = &mut self.inference {
            self.tally.apply(inference);
        }
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ChatStream")
            .field("endpoint", &self.endpoint)
            .field("ended", &self.inference.is_none())
            .finish_non_exhaustive()
    }
}
