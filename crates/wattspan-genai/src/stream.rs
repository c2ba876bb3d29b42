//! Streams and iterators of chunks, instrumented.

use std::pin::Pin;
use std::task::{Context as Task, Poll};

use futures_core::Stream;

use crate::failure::Failure;
use crate::inference::Inference;

/// What a chunk is to its inference.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chunk {
    /// It holds no output: a role, progress, usage.
    Other,
    /// It holds this many tokens of output.
    Output(u64),
    /// It is the last one: the inference has ended well. A protocol that sends usage after the finish reason has its end
    /// there.
    Last,
    /// It says that the inference has failed.
    Failed(Failure),
}

/// A stream of chunks that marks tokens and ends its inference: with its last chunk, or when the stream is over.
/// Dropping it before ends the inference as cancelled.
///
/// `inspect` looks at each chunk, tells what it is, and may set facts such as usage and finish reasons.
///
/// ```
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
/// use wattspan_genai::{Chunk, GenAi, InferenceStream, Request};
///
/// struct Words(Vec<&'static str>);
/// impl futures_core::Stream for Words {
///     type Item = &'static str;
///     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<&'static str>> {
///         Poll::Ready(self.0.pop())
///     }
/// }
///
/// let genai = GenAi::builder("llama_cpp").build();
/// let inference = genai.begin(Request::chat("smollm2").streaming());
/// let stream = InferenceStream::new(Words(vec!["world", "hello"]), inference, |_word, _inference| Chunk::Output(1));
/// # drop(stream);
/// ```
#[must_use = "a stream does nothing unless it is polled, and dropping it ends its inference as cancelled"]
pub struct InferenceStream<S, F> {
    inner: S,
    watch: Watch<F>,
}

/// The same for an iterator.
#[must_use = "dropping it ends its inference as cancelled"]
pub struct InferenceIter<I, F> {
    inner: I,
    watch: Watch<F>,
}

struct Watch<F> {
    inference: Option<Inference>,
    inspect: F,
    truncated: Option<Failure>,
}

impl<F> Watch<F> {
    const fn new(inference: Inference, inspect: F) -> Self {
        Self { inference: Some(inference), inspect, truncated: None }
    }

    fn see<T>(&mut self, chunk: &T)
    where
        F: FnMut(&T, &mut Inference) -> Chunk,
    {
        let Some(inference) = &mut self.inference else { return };
        match (self.inspect)(chunk, inference) {
            Chunk::Other => inference.chunk(),
            Chunk::Output(tokens) => inference.tokens(tokens),
            Chunk::Last => {
                inference.chunk();
                self.end(None);
            }
            Chunk::Failed(failure) => self.end(Some(failure)),
        }
    }

    fn end(&mut self, failure: Option<Failure>) {
        match (self.inference.take(), failure) {
            (Some(inference), Some(failure)) => inference.fail(failure),
            (Some(inference), None) => inference.finish(),
            (None, _) => {}
        }
    }

    fn over(&mut self) {
        let truncated = self.truncated.take();
        self.end(truncated);
    }
}

impl<S, F> InferenceStream<S, F>
where
    S: Stream,
    F: FnMut(&S::Item, &mut Inference) -> Chunk,
{
    /// Wraps a stream.
    pub const fn new(stream: S, inference: Inference, inspect: F) -> Self {
        Self { inner: stream, watch: Watch::new(inference, inspect) }
    }

    /// Takes a stream that is over without a [`Chunk::Last`] for one that was cut off, and fails its inference so.
    pub fn ends_with_last(mut self, otherwise: impl Into<Failure>) -> Self {
        self.watch.truncated = Some(otherwise.into());
        self
    }

    /// The inference, while it has not ended.
    pub const fn inference(&mut self) -> Option<&mut Inference> {
        self.watch.inference.as_mut()
    }
}

impl<S, F> Stream for InferenceStream<S, F>
where
    S: Stream + Unpin,
    F: FnMut(&S::Item, &mut Inference) -> Chunk + Unpin,
{
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<S::Item>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_next(task);
        match &polled {
            Poll::Ready(Some(chunk)) => this.watch.see(chunk),
            Poll::Ready(None) => this.watch.over(),
            Poll::Pending => {}
        }
        polled
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.inner.size_hint()
    }
}

impl<I, F> InferenceIter<I, F>
where
    I: Iterator,
    F: FnMut(&I::Item, &mut Inference) -> Chunk,
{
    /// Wraps an iterator.
    pub const fn new(iterator: I, inference: Inference, inspect: F) -> Self {
        Self { inner: iterator, watch: Watch::new(inference, inspect) }
    }

    /// Takes an iterator that is over without a [`Chunk::Last`] for one that was cut off, and fails its inference so.
    pub fn ends_with_last(mut self, otherwise: impl Into<Failure>) -> Self {
        self.watch.truncated = Some(otherwise.into());
        self
    }

    /// The inference, while it has not ended.
    pub const fn inference(&mut self) -> Option<&mut Inference> {
        self.watch.inference.as_mut()
    }
}

impl<I, F> Iterator for InferenceIter<I, F>
where
    I: Iterator,
    F: FnMut(&I::Item, &mut Inference) -> Chunk,
{
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let next = self.inner.next();
        match &next {
            Some(chunk) => self.watch.see(chunk),
            None => self.watch.over(),
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.inner.size_hint()
    }
}

impl<S, F> std::fmt::Debug for InferenceStream<S, F> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("InferenceStream").field("inference", &self.watch.inference).finish_non_exhaustive()
    }
}

impl<I, F> std::fmt::Debug for InferenceIter<I, F> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("InferenceIter").field("inference", &self.watch.inference).finish_non_exhaustive()
    }
}
