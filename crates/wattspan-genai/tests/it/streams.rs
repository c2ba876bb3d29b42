//! Streams and iterators: tokens marked, ended by their last chunk, by their end, or by being dropped.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use wattspan_core::TokenUsage;
use wattspan_genai::{Chunk, Failure, GenAi, Inference, InferenceIter, InferenceStream, Profile, Request};

use crate::support::{Keeper, Rig, seconds, text, value};

/// Yields what it holds, first in first out.
struct Queue<T>(std::collections::VecDeque<T>);

impl<T> Queue<T> {
    fn of(items: impl IntoIterator<Item = T>) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Unpin> Stream for Queue<T> {
    type Item = T;
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        Poll::Ready(self.0.pop_front())
    }
}

fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    match Pin::new(stream).poll_next(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(item) => item,
        Poll::Pending => None,
    }
}

fn inspect(chunk: &&str, inference: &mut Inference) -> Chunk {
    match *chunk {
        "role" => Chunk::Other,
        "stop" => {
            inference.finish_reason("stop");
            Chunk::Other
        }
        "done" => Chunk::Last,
        "error" => Chunk::Failed(Failure::new("server_error")),
        _ => Chunk::Output(1),
    }
}

fn begin(genai: &GenAi) -> Inference {
    genai.begin(Request::chat("m").streaming())
}

/// The `error.type` after a stream and an iterator were read to the given number of chunks.
#[track_caller]
fn check(chunks: &[&'static str], read: usize, must_end: bool, want: Option<&str>) {
    for iterator in [false, true] {
        let rig = Rig::new(Profile::Core);
        let genai = rig.genai();
        if iterator {
            let mut iter = InferenceIter::new(chunks.iter().copied(), begin(&genai), inspect);
            if must_end {
                iter = iter.ends_with_last("truncated");
            }
            for _ in 0..read {
                iter.next();
            }
        } else {
            let mut stream = InferenceStream::new(Queue::of(chunks.iter().copied()), begin(&genai), inspect);
            if must_end {
                stream = stream.ends_with_last("truncated");
            }
            for _ in 0..read {
                next(&mut stream);
            }
        }
        let span = rig.span();
        let got = value(&span.attributes, "error.type").map(|value| value.as_str().into_owned());
        assert_eq!(got.as_deref(), want, "iterator: {iterator}");
        rig.check();
    }
}

#[test]
fn the_last_chunk_ends_it_well() {
    check(&["role", "a", "b", "stop", "done"], 5, true, None);
}

#[test]
fn the_end_of_the_stream_ends_it_well_unless_a_last_chunk_was_due() {
    check(&["role", "a", "b"], 4, false, None);
    check(&["role", "a", "b"], 4, true, Some("truncated"));
}

#[test]
fn a_failure_in_a_chunk_fails_it() {
    check(&["role", "a", "error"], 3, true, Some("server_error"));
}

#[test]
fn a_stream_that_is_closed_early_is_cancelled() {
    check(&["role", "a", "b", "done"], 2, true, Some("cancelled"));
    check(&["role", "a"], 0, false, Some("cancelled"));
}

#[test]
fn chunks_after_the_last_one_change_nothing() {
    let rig = Rig::new(Profile::Core);
    let mut stream = InferenceStream::new(Queue::of(["a", "done", "b"]), begin(&rig.genai()), inspect);
    assert_eq!((next(&mut stream), next(&mut stream)), (Some("a"), Some("done")));
    assert!(stream.inference().is_none());
    assert_eq!((next(&mut stream), next(&mut stream)), (Some("b"), None));
    drop(stream);
    rig.span();
    rig.check();
}

#[test]
fn tokens_are_marked_for_the_observer() {
    let rig = Rig::new(Profile::Core);
    let keeper = Keeper::default();
    let genai = rig.builder().observer(std::sync::Arc::new(keeper.clone())).build();
    let mut inference = begin(&genai);
    inference.prompted(17);
    let mut iter = InferenceIter::new(["role", "a", "b", "c", "done"].into_iter(), inference, inspect);
    assert_eq!(iter.by_ref().count(), 5);
    keeper.with(|kept| assert_eq!((kept.decoded, kept.prompted, kept.finished.len()), (3, 17, 1)));
}

#[test]
fn case_streaming_08_the_first_token_is_the_first_chunk_with_output() {
    // Role-only delta at 0.4 s, first text at 2.9 s, last at 12.41 s, 101 tokens.
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let keeper = Keeper::default();
        let genai = rig.builder().observer(std::sync::Arc::new(keeper.clone())).build();
        let mut inference = begin(&genai);
        let began = wattspan_core::Clock::mono(&*rig.clock);
        rig.clock.advance_to(began + seconds(0.4));
        inference.chunk();
        rig.clock.advance_to(began + seconds(2.9));
        inference.token();
        rig.clock.advance_to(began + seconds(12.41));
        inference.tokens(100);
        let mut usage = TokenUsage::default();
        usage.output = Some(101);
        inference.usage(usage);
        let timing = inference.timing();
        assert_eq!(timing.first_chunk, Some(seconds(0.4)));
        assert_eq!(timing.first_token, Some(seconds(2.9)));
        assert_eq!(timing.per_output_token, Some(seconds(0.0951)));
        assert_eq!(timing.total, seconds(12.41));
        inference.finish();
        let first = keeper.with(|kept| kept.finished[0].facts.first_token.unwrap());
        assert_eq!(first.since(began), seconds(2.9));
        let chunk = if profile == Profile::Core { "operation" } else { "inference" };
        let points = rig.points(&format!("gen_ai.client.{chunk}.time_to_first_chunk"));
        assert_eq!(points[0].sum, 0.4);
        let duration = rig.points(&format!(
            "gen_ai.client.{}",
            if chunk == "operation" { "operation.duration" } else { "inference.duration" }
        ));
        assert_eq!(duration[0].sum, 12.41);
    }
}

#[test]
fn a_panic_while_a_stream_is_read_is_told() {
    let rig = Rig::new(Profile::Core);
    let genai = rig.genai();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut stream =
            InferenceStream::new(Queue::of(["a"]), begin(&genai), |_: &&str, _: &mut Inference| -> Chunk {
                panic!("on purpose")
            });
        next(&mut stream);
    }));
    assert!(panicked.is_err());
    assert_eq!(text(&rig.span().attributes, "error.type"), "panic");
    rig.check();
}
