//! Every way out ends the span truthfully, once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use opentelemetry::trace::Status;
use wattspan_core::{SettleReason, Settlement};
use wattspan_genai::{
    Agent, Failure, GenAi, Inference, Memory, Operation, Profile, Request, Retrieval, Tool,
};

use crate::support::{Keeper, Rig, text, value};

/// How a way out is told: `error.type`, and the status's description.
#[track_caller]
fn check(end: impl FnOnce(Inference), want: Option<(&str, &str)>) {
    let rig = Rig::new(Profile::Core);
    let inference = rig.genai().begin(Request::chat("m"));
    rig.advance(2.0);
    end(inference);
    let span = rig.span();
    let duration = rig.points("gen_ai.client.operation.duration");
    assert_eq!(duration.len(), 1);
    assert_eq!((duration[0].count, duration[0].sum), (1, 2.0));
    match want {
        None => {
            assert_eq!(span.status, Status::Unset);
            assert_eq!(value(&span.attributes, "error.type"), None);
            assert_eq!(duration[0].get("error.type"), None);
        }
        Some((error_type, description)) => {
            assert_eq!(span.status, Status::error(description.to_owned()));
            assert_eq!(text(&span.attributes, "error.type"), error_type);
            assert_eq!(duration[0].get("error.type"), Some(error_type));
        }
    }
    rig.check();
}

#[test]
fn finish_ends_it_well() {
    check(Inference::finish, None);
}

#[test]
fn fail_ends_it_with_the_type() {
    check(|inference| inference.fail("context_exceeded"), Some(("context_exceeded", "context_exceeded")));
}

#[test]
fn a_status_and_an_error_of_the_program_fail_it_too() {
    check(
        |inference| inference.fail(Failure::from_status(503).message("loading model")),
        Some(("503", "loading model")),
    );
    let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    check(|inference| inference.fail_with(&reset), Some(("connection_reset", "connection reset")));
}

#[test]
fn a_drop_is_a_cancellation() {
    check(drop, Some(("cancelled", "cancelled")));
}

#[test]
fn a_panic_is_a_panic() {
    check(
        |inference| {
            let panicked = catch_unwind(AssertUnwindSafe(move || {
                let _held = inference;
                panic!("on purpose");
            }));
            assert!(panicked.is_err());
        },
        Some(("panic", "panic")),
    );
}

#[tokio::test(flavor = "current_thread")]
async fn a_cancelled_future_ends_its_inference() {
    let rig = Rig::new(Profile::Core);
    let inference = rig.genai().begin(Request::chat("m"));
    let task = tokio::spawn(async move {
        let mut inference = inference;
        inference.token();
        std::future::pending::<()>().await;
        inference.finish();
    });
    tokio::task::yield_now().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(text(&rig.span().attributes, "error.type"), "cancelled");
    rig.check();
}

#[test]
fn a_span_that_waits_for_its_settlement_keeps_its_own_end() {
    let rig = Rig::new(Profile::Core);
    let keeper = Keeper::default();
    let genai = rig.builder().observer(std::sync::Arc::new(keeper.clone())).build();
    let inference = genai.begin(Request::chat("m"));
    rig.advance(4.0);
    inference.finish();
    rig.advance(60.0);
    assert!(rig.spans().is_empty());
    assert_eq!(rig.points("gen_ai.client.operation.duration")[0].sum, 4.0);
    assert_eq!(keeper.settle(&Settlement::unknown(SettleReason::TimedOut)), 1);
    let span = rig.span();
    assert_eq!(span.end_time.duration_since(span.start_time).unwrap().as_secs_f64(), 4.0);
    assert_eq!(text(&span.attributes, "wattspan.settle.reason"), "timed_out");
}

fn steps(genai: &GenAi, mut end: impl FnMut(Box<dyn FnOnce(Option<Failure>)>)) {
    macro_rules! each {
        ($($run:expr),*) => {$({
            let run = $run;
            end(Box::new(move |failure| match failure {
                Some(failure) if failure.error_type() == "drop" => drop(run),
                Some(failure) if failure.error_type() == "unwind" => {
                    let panicked = catch_unwind(AssertUnwindSafe(move || {
                        let _held = run;
                        panic!("on purpose");
                    }));
                    assert!(panicked.is_err());
                }
                Some(failure) => run.fail(failure),
                None => run.finish(),
            }));
        })*};
    }
    each!(
        genai.begin_tool(Tool::new("t")),
        genai.begin_agent(Agent::invoke("a")),
        genai.begin_retrieval(Retrieval::new().data_source("d")),
        genai.begin_memory(Memory::new(Operation::SearchMemory))
    );
}

#[test]
fn tools_agents_and_retrievals_end_on_every_way_too() {
    for profile in Profile::ALL {
        for (way, want) in [
            (None, None),
            (Some("429"), Some("429")),
            (Some("drop"), Some("cancelled")),
            (Some("unwind"), Some("panic")),
        ] {
            let rig = Rig::new(profile);
            steps(&rig.genai(), |end| end(way.map(Failure::new)));
            let spans = rig.spans();
            assert_eq!(spans.len(), 4);
            for span in &spans {
                let got = value(&span.attributes, "error.type").map(|value| value.as_str().into_owned());
                assert_eq!(got.as_deref(), want, "{}", span.name);
                assert_eq!(span.status != Status::Unset, want.is_some(), "{}", span.name);
            }
            rig.check();
        }
    }
}
