//! Reading along with a scripted clock: which chunk is the first token, and when.

mod support;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wattspan_core::{Locality, ScriptedClock};
use wattspan_genai::GenAi;
use wattspan_llama_server::{SeenCall, Watch};
use wattspan_testkit::{Closing, RecordingObserver};

#[test]
fn case_streaming_08_the_first_token_is_the_first_chunk_with_output() {
    let clock = Arc::new(ScriptedClock::new(SystemTime::UNIX_EPOCH));
    let observer = RecordingObserver::default();
    let genai = GenAi::builder("llama_cpp").clock(clock.clone()).observer(Arc::new(observer.clone())).build();
    let call = SeenCall::new("/v1/chat/completions", "127.0.0.1", None, Locality::LocalServer { pid: None })
        .body(br#"{"model":"m","stream":true}"#);
    let mut watch = Watch::begin(&genai, &call).unwrap();
    watch.head(200, Some("text/event-stream; charset=utf-8"));
    let mut chunk = |delta: &str, later: Duration| {
        clock.advance(later);
        watch.pass(format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n").as_bytes());
    };
    chunk(r#"{"role":"assistant","content":""}"#, Duration::from_millis(400));
    chunk(r#"{"content":"one"}"#, Duration::from_millis(2_500));
    for _ in 0..100 {
        chunk(r#"{"content":"more"}"#, Duration::from_micros(95_100));
    }
    watch.pass(
        b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );

    let seen = observer.seen().remove(0);
    let Closing::Finished { end, facts, .. } = seen.closing else { panic!("{:?}", seen.closing) };
    let first = facts.first_token.unwrap();
    assert_eq!(seen.decoded, 101);
    assert_eq!(first.since(seen.begin.time), Duration::from_millis(2_900));
    assert_eq!(end.since(seen.begin.time), Duration::from_millis(12_410));
    assert_eq!(end.since(first) / 100, Duration::from_micros(95_100));
}

#[test]
fn what_is_passed_after_the_end_changes_nothing() {
    let rig = support::Rig::new();
    let call = SeenCall::new("/completion", "[::1]", Some(8080), Locality::Remote);
    let mut watch = Watch::begin(&rig.genai, &call).unwrap();
    watch.head(200, Some("application/json"));
    watch.pass(support::recorded("11-completion").body.as_bytes());
    watch.close();
    watch.pass(b"more");
    watch.close();
    watch.fail("timeout");
    drop(watch);
    let span = rig.span();
    assert_eq!(support::int(&span, "gen_ai.usage.output_tokens"), Some(16));
    assert_eq!(support::text(&span, "server.address").as_deref(), Some("::1"));
    assert_eq!(support::attribute(&span, "error.type"), None);
}
