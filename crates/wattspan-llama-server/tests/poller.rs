//! The gauges of a llama-server, out of its recorded answers and out of made-up ones.

mod support;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use support::{answer, recorded};
use wattspan_core::{Ratio, Reading, ScriptedClock, ServerStats};
use wattspan_llama_server::{MetricsPoller, fuzzing};
use wattspan_testkit::{Answer, RecordingStats, StubRequest, StubServer};

/// Polls a server once for each pair of answers to `/metrics` and `/slots`, ten seconds apart.
async fn polls(answers: Vec<(Answer, Answer)>) -> Vec<ServerStats> {
    let count = answers.len();
    let (mut metrics, mut slots): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    let stub = StubServer::new(move |request: &StubRequest| match request.path() {
        "/metrics" => metrics.remove(0),
        _ => slots.remove(0),
    });
    let clock = Arc::new(ScriptedClock::new(SystemTime::UNIX_EPOCH));
    let poller = MetricsPoller::builder(&stub.url(""))
        .timeout(Duration::from_secs(60))
        .clock(clock.clone())
        .build()
        .unwrap();
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(poller.poll_once().await);
        clock.advance(Duration::from_secs(10));
    }
    all
}

#[tokio::test]
async fn rates_are_differences_of_counters() {
    let found = polls(vec![
        (answer("10-metrics-idle"), answer("08-slots-idle")),
        (answer("13-metrics-after-2"), answer("08-slots-idle")),
        (answer("14-metrics-after-2-again"), answer("08-slots-idle")),
    ])
    .await;
    assert!(matches!(found[0].tokens_per_second, Reading::Failed(_)), "one poll makes no rate");
    // 32 tokens and 10 prompt tokens in ten seconds, whatever the server's own gauges say.
    assert_eq!(found[1].tokens_per_second, Reading::Value(3.2));
    assert_eq!(found[1].prompt_tokens_per_second, Reading::Value(1.0));
    assert_eq!(found[2].tokens_per_second, Reading::Value(0.0));
    assert_eq!(
        (found[2].tokens_total.clone(), found[2].prompt_tokens_total.clone()),
        (Reading::Value(32), Reading::Value(10))
    );
    assert_eq!(found[0].kv_cache, Reading::Value(Ratio::share(0.0).unwrap()), "two slots that never worked");
}

#[tokio::test]
async fn a_busy_server_shows_its_slots_its_queue_and_its_cache() {
    let found = polls(vec![(answer("52-metrics-during-load"), answer("53-slots-during-load"))]).await;
    assert_eq!(found[0].busy_slots, Reading::Value(2));
    assert_eq!(found[0].slots, Reading::Value(2));
    assert_eq!(found[0].queued, Reading::Value(2));
    // 9 and 10 of 1,024 tokens each.
    assert_eq!(found[0].kv_cache, Reading::Value(Ratio::share(19.0 / 2048.0).unwrap()));
}

#[tokio::test]
async fn a_cancelled_request_is_counted_too() {
    let found = polls(vec![
        (answer("48-metrics-before-cancel"), answer("69-off-slots")),
        (answer("51-metrics-after-cancel"), answer("50-slots-after-cancel")),
    ])
    .await;
    assert_eq!(found[1].tokens_per_second, Reading::Value(1.1));
    assert_eq!(found[0].kv_cache, Reading::NotSupported);
    assert_eq!(found[0].busy_slots, Reading::Value(0), "from /metrics, without /slots");
}

#[tokio::test]
async fn a_restart_is_a_gap_and_not_a_negative_rate() {
    let found = polls(vec![
        (answer("57-metrics-after-load"), answer("69-off-slots")),
        (answer("13-metrics-after-2"), answer("69-off-slots")),
        (answer("13-metrics-after-2"), answer("69-off-slots")),
    ])
    .await;
    let Reading::Failed(reason) = &found[1].tokens_per_second else { panic!("{:?}", found[1]) };
    assert!(reason.as_str().contains("restarted"), "{reason}");
    assert_eq!(found[1].tokens_total, Reading::Value(32));
    assert_eq!(found[2].tokens_per_second, Reading::Value(0.0));
}

#[tokio::test]
async fn a_restart_that_has_counted_past_the_old_count_shows_in_the_process_mark() {
    let metrics = |count: u32, process: &str| {
        let body = format!("llamacpp:tokens_predicted_total {count}\n");
        (Answer::status(200).header("Process-Start-Time-Unix", process).body(body), Answer::status(501))
    };
    let found = polls(vec![metrics(10, "1"), metrics(50, "1"), metrics(90, "2")]).await;
    assert_eq!(found[1].tokens_per_second, Reading::Value(4.0));
    assert!(matches!(found[2].tokens_per_second, Reading::Failed(_)));
}

#[tokio::test]
async fn what_a_server_does_not_offer_is_absent() {
    let found = polls(vec![
        (answer("68-off-metrics"), answer("69-off-slots")),
        (answer("02-loading-metrics"), answer("02-loading-metrics")),
        (answer("62-auth-metrics-missing"), answer("67-auth-slots")),
        (Answer::hang_up(), Answer::hang_up()),
    ])
    .await;
    for (stats, is_expected) in found.iter().zip([
        (|reading| matches!(reading, Reading::NotSupported)) as fn(&Reading<u64>) -> bool,
        |reading| matches!(reading, Reading::Failed(_)),
        |reading| matches!(reading, Reading::Denied(_)),
        |reading| matches!(reading, Reading::Failed(_)),
    ]) {
        for reading in [&stats.tokens_total, &stats.queued, &stats.busy_slots, &stats.slots] {
            assert!(is_expected(reading), "{stats:?}");
        }
        assert!(!stats.kv_cache.is_value() && !stats.tokens_per_second.is_value());
    }
}

#[tokio::test]
async fn a_gap_does_not_spoil_the_next_rate() {
    let metrics = |count: u32| {
        (Answer::status(200).body(format!("llamacpp:tokens_predicted_total {count}\n")), Answer::status(501))
    };
    let found = polls(vec![metrics(0), (Answer::hang_up(), Answer::hang_up()), metrics(60)]).await;
    assert_eq!(found[2].tokens_per_second, Reading::Value(3.0), "60 tokens in 20 seconds");
    assert_eq!(found[2].prompt_tokens_per_second, Reading::NotSupported);
}

#[test]
fn case_prometheus_02_a_quoted_body_is_read() {
    let quoted = r##""# HELP llamacpp:prompt_tokens_total Number\n# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total 42\n""##;
    assert_eq!(fuzzing::gauges(quoted, quoted, "").prompt_tokens_total, Reading::Value(42));
    for broken in ["\"", "\"no metrics\"", "", "<html>", "{}", "llamacpp:prompt_tokens_total NaN"] {
        let stats = fuzzing::gauges(broken, broken, "");
        assert!(matches!(stats.prompt_tokens_total, Reading::Failed(_)), "{broken:?}: {stats:?}");
    }
}

#[test]
fn case_prometheus_08_colon_and_underscore_are_one_name() {
    for name in ["llamacpp:tokens_predicted_total", "llamacpp_tokens_predicted_total"] {
        let stats = fuzzing::gauges("llamacpp:n_decode_total 1", &format!("{name} 7 1700000000000\r\n"), "");
        assert_eq!(stats.tokens_total, Reading::Value(7), "{name}");
    }
}

#[test]
fn older_servers_tell_the_cache_themselves() {
    let stats = fuzzing::gauges(
        "llamacpp:kv_cache_usage_ratio 0.25",
        "llamacpp:kv_cache_usage_ratio 0.5",
        "[{\"id\":0}]",
    );
    assert_eq!(stats.kv_cache, Reading::Value(Ratio::share(0.5).unwrap()));
    assert_eq!(stats.slots, Reading::Value(1));
    assert_eq!(stats.busy_slots, Reading::NotSupported, "the slot does not say whether it works");
}

#[test]
fn recorded_metrics_are_all_read() {
    for name in ["10-metrics-idle", "52-metrics-during-load", "63-auth-metrics-ok", "74-metrics-speculative"]
    {
        let body = recorded(name).body;
        assert!(fuzzing::gauges(&body, &body, "").tokens_total.is_value(), "{name}");
    }
    let speculative = recorded("75-slots-speculative").body;
    let found = fuzzing::gauges("", "", &speculative);
    assert_eq!(found.busy_slots, Reading::Value(0));
}

#[test]
fn a_running_poller_feeds_its_sink_and_stops_on_drop() {
    let stub = StubServer::by_path([
        ("/metrics", answer("13-metrics-after-2")),
        ("/slots", answer("08-slots-idle")),
    ]);
    let sink = Arc::new(RecordingStats::default());
    let poller = MetricsPoller::builder(&stub.url(""))
        .api_key("tok-EXAMPLE")
        .interval(Duration::from_millis(20))
        .timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    assert!(!format!("{poller:?}").contains("tok-EXAMPLE"));
    let polling = poller.start(sink.clone()).unwrap();
    let requests = stub.wait_for(6);
    drop(polling);
    let stopped = stub.requests().len();
    assert!(requests.iter().all(|request| request.header("authorization") == Some("Bearer tok-EXAMPLE")));
    assert!(requests.iter().any(|request| request.path() == "/slots"));
    let stats = sink.stats();
    assert!(stats.len() >= 2, "{} polls", stats.len());
    assert_eq!(stats[0].tokens_total, Reading::Value(32));
    assert_eq!(stats[0].server.as_ref(), stub.address().to_string());
    assert_eq!(stub.requests().len(), stopped, "nothing is asked after the drop");
}

#[test]
fn a_poller_of_a_server_that_hangs_stops_at_once() {
    let gate = wattspan_testkit::Gate::new();
    let stub = StubServer::by_path([
        ("/metrics", Answer::status(200).at(&gate)),
        ("/slots", Answer::status(200).at(&gate)),
    ]);
    let poller = MetricsPoller::builder(&stub.url("")).timeout(Duration::from_secs(3_600)).build().unwrap();
    let polling = poller.start(Arc::new(RecordingStats::default())).unwrap();
    stub.wait_for(2);
    // Would take an hour, did it wait for the answer.
    drop(polling);
}
