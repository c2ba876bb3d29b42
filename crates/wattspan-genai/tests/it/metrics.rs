//! Metrics: by profile, bounded in their series, independent of sampling, server times apart from the caller's.

use std::time::Duration;

use opentelemetry_sdk::trace::Sampler;
use wattspan_core::{LatePhases, Locality, TokenUsage};
use wattspan_genai::{ModalityUsage, Operation, Profile, Request, ServerTimings};

use crate::support::Rig;

fn usage(input: u64, output: u64) -> TokenUsage {
    let mut usage = TokenUsage::default();
    usage.fresh = Some(input);
    usage.output = Some(output);
    usage
}

fn metric_names(rig: &Rig) -> Vec<String> {
    let mut names: Vec<String> = rig.metrics().into_iter().map(|(metric, _)| metric.name).collect();
    names.sort_unstable();
    names
}

fn one_of_everything(rig: &Rig) {
    let mut inference =
        rig.builder().locality(Locality::Remote).build().begin(Request::chat("m").streaming());
    inference.token();
    rig.advance(0.25);
    inference.token();
    let mut tokens = usage(10, 2);
    tokens.cache_read = Some(4);
    tokens.cache_write = Some(1);
    tokens.reasoning = Some(1);
    inference.usage(tokens);
    inference.server_timings(
        ServerTimings::default()
            .request(Duration::from_millis(400))
            .first_token(Duration::from_millis(100))
            .per_output_token(Duration::from_millis(50)),
    );
    inference.finish();
}

#[test]
fn the_core_profile_has_the_five_histograms_and_the_chunk_times() {
    let rig = Rig::new(Profile::Core);
    one_of_everything(&rig);
    assert_eq!(
        metric_names(&rig),
        [
            "gen_ai.client.operation.duration",
            "gen_ai.client.operation.time_per_output_chunk",
            "gen_ai.client.operation.time_to_first_chunk",
            "gen_ai.client.token.usage",
            "gen_ai.server.request.duration",
            "gen_ai.server.time_per_output_token",
            "gen_ai.server.time_to_first_token",
        ]
    );
    let usage = rig.points("gen_ai.client.token.usage");
    let of =
        |kind| usage.iter().find(|point| point.get("gen_ai.token.type") == Some(kind)).map(|point| point.sum);
    assert_eq!((usage.len(), of("input"), of("output")), (2, Some(15.0), Some(2.0)));
    rig.check();
}

#[test]
fn the_genai_profile_counts_tokens_by_direction_and_modality() {
    let rig = Rig::new(Profile::GenAi);
    one_of_everything(&rig);
    assert_eq!(
        metric_names(&rig),
        [
            "gen_ai.client.inference.duration",
            "gen_ai.client.inference.operation.input_tokens",
            "gen_ai.client.inference.operation.output_tokens",
            "gen_ai.client.inference.time_per_output_chunk",
            "gen_ai.client.inference.time_to_first_chunk",
            "gen_ai.client.inference.usage.cache_read.input_tokens",
            "gen_ai.client.inference.usage.cache_write.input_tokens",
            "gen_ai.client.inference.usage.input_tokens",
            "gen_ai.client.inference.usage.output_tokens",
            "gen_ai.client.inference.usage.reasoning.output_tokens",
            "gen_ai.server.request.duration",
            "gen_ai.server.time_per_output_token",
            "gen_ai.server.time_to_first_token",
        ]
    );
    rig.check();

    let rig = Rig::new(Profile::GenAi);
    let mut inference = rig.genai().begin(Request::chat("m"));
    inference.usage(usage(100, 5));
    let mut modalities = ModalityUsage::default();
    modalities.text.input = Some(60);
    modalities.image.input = Some(40);
    inference.usage_by_modality(modalities);
    inference.finish();
    let points = rig.points("gen_ai.client.inference.usage.input_tokens");
    let of =
        |name| points.iter().find(|point| point.get("gen_ai.token.modality") == Some(name)).map(|p| p.sum);
    assert_eq!((points.len(), of("text"), of("image")), (2, Some(60.0), Some(40.0)));
    // The histogram of whole operations is not split.
    let whole = rig.points("gen_ai.client.inference.operation.input_tokens");
    assert_eq!((whole.len(), whole[0].sum), (1, 100.0));
    rig.check();
}

#[test]
fn case_semconv_07_points_of_a_direction_add_up_to_its_tokens() {
    // 100 input of which 50 from the cache, 200 output of which 150 reasoning.
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let mut inference = rig.genai().begin(Request::chat("m"));
        let mut tokens = usage(50, 200);
        tokens.cache_read = Some(50);
        tokens.reasoning = Some(150);
        inference.usage(tokens);
        let mut modalities = ModalityUsage::default();
        modalities.text.input = Some(100);
        modalities.text.output = Some(200);
        inference.usage_by_modality(modalities);
        inference.finish();
        let sum = |name: &str, kind: Option<&str>| {
            let points = rig.points(name);
            let of = points.iter().filter(|point| point.get("gen_ai.token.type") == kind);
            of.map(|point| point.sum).sum::<f64>()
        };
        let got = match profile {
            Profile::Core => {
                let name = "gen_ai.client.token.usage";
                (sum(name, Some("input")), sum(name, Some("output")))
            }
            Profile::GenAi => (
                sum("gen_ai.client.inference.usage.input_tokens", None),
                sum("gen_ai.client.inference.usage.output_tokens", None),
            ),
        };
        assert_eq!(got, (100.0, 200.0), "{profile}");
    }
}

#[test]
fn the_first_token_and_the_token_itself_are_one_chunk() {
    let rig = Rig::new(Profile::Core);
    let mut inference = rig.genai().begin(Request::chat("m").streaming());
    rig.advance(0.5);
    inference.first_token();
    inference.token();
    rig.advance(0.25);
    inference.token();
    inference.finish();
    let points = rig.points("gen_ai.client.operation.time_per_output_chunk");
    assert_eq!((points[0].count, points[0].sum), (1, 0.25));
    assert_eq!(rig.points("gen_ai.client.operation.time_to_first_chunk")[0].sum, 0.5);
}

#[test]
fn embeddings_and_rerank_have_their_instruments() {
    for (profile, want) in [
        (Profile::Core, vec!["gen_ai.client.operation.duration", "gen_ai.client.token.usage"]),
        (
            Profile::GenAi,
            vec![
                "gen_ai.client.embeddings.duration",
                "gen_ai.client.embeddings.operation.input_tokens",
                "gen_ai.client.operation.duration",
            ],
        ),
    ] {
        let rig = Rig::new(profile);
        for request in [Request::embeddings("e"), Request::rerank("r")] {
            let mut inference = rig.genai().begin(request);
            let mut tokens = TokenUsage::default();
            tokens.fresh = Some(9);
            inference.usage(tokens);
            inference.finish();
        }
        assert_eq!(metric_names(&rig), want);
        rig.check();
    }
}

#[test]
fn server_times_come_from_the_server_only() {
    let phases = || {
        let mut phases = LatePhases::default();
        phases.prompt = Some(Duration::from_millis(100));
        phases.decode = Some(Duration::from_millis(400));
        phases.decode_steps = Some(8);
        phases
    };
    let server_metrics = |locality, failed: bool, say: &dyn Fn(&mut wattspan_genai::Inference)| {
        let rig = Rig::new(Profile::Core);
        let mut inference = rig.builder().locality(locality).build().begin(Request::chat("m").streaming());
        inference.token();
        inference.token();
        say(&mut inference);
        if failed {
            inference.fail("500");
        } else {
            inference.finish();
        }
        rig.check();
        let sum = |name| rig.points(name).first().map(|point| point.sum);
        [
            sum("gen_ai.server.request.duration"),
            sum("gen_ai.server.time_to_first_token"),
            sum("gen_ai.server.time_per_output_token"),
        ]
    };
    let local = Locality::LocalServer { pid: None };
    // The caller's own clock makes none.
    assert_eq!(server_metrics(local, false, &|_| {}), [None; 3]);
    assert_eq!(
        server_metrics(local, false, &|inference| inference.phases(phases())),
        [Some(0.5), Some(0.1), Some(0.05)]
    );
    // Phases that this process measured of itself are no server's.
    assert_eq!(
        server_metrics(Locality::InProcess, false, &|inference| inference.phases(phases())),
        [None; 3]
    );
    // What the server says outright goes before what its phases tell.
    let told = ServerTimings::default().first_token(Duration::from_millis(150));
    assert_eq!(
        server_metrics(local, false, &|inference| {
            inference.phases(phases());
            inference.server_timings(told);
        }),
        [None, Some(0.15), None]
    );
    // The two per-token times are those of successful answers only.
    assert_eq!(server_metrics(local, true, &|inference| inference.phases(phases())), [Some(0.5), None, None]);
}

#[test]
fn chunk_times_are_those_of_streams_only() {
    let rig = Rig::new(Profile::Core);
    let mut inference = rig.genai().begin(Request::chat("m"));
    inference.token();
    inference.token();
    inference.finish();
    assert_eq!(metric_names(&rig), ["gen_ai.client.operation.duration"]);
}

#[test]
fn every_time_between_chunks_is_recorded_also_of_a_very_long_stream() {
    let rig = Rig::new(Profile::Core);
    let mut inference = rig.genai().begin(Request::chat("m").streaming());
    for _ in 0..70_000 {
        rig.advance(0.001);
        inference.token();
    }
    inference.finish();
    let points = rig.points("gen_ai.client.operation.time_per_output_chunk");
    assert_eq!((points.len(), points[0].count), (1, 69_999));
    assert!((points[0].sum - 69.999).abs() < 1e-6, "{}", points[0].sum);
}

#[test]
fn case_otlp_11_series_do_not_grow_with_the_number_of_inferences() {
    for profile in Profile::ALL {
        let series = |inferences: u32| {
            let rig = Rig::sampled(profile, Sampler::AlwaysOff);
            let genai = rig.genai();
            for number in 0..inferences {
                let request = Request::chat("m").conversation(format!("conv-{number}")).streaming();
                let mut inference = genai.begin(request.prompt_name(format!("user-{number}")));
                inference.token();
                inference.token();
                inference.usage(usage(3, 2));
                inference.response_id(format!("chatcmpl-{number}"));
                inference.finish_reason("stop");
                inference.finish();
            }
            rig.metrics()
                .iter()
                .map(|(metric, points)| (metric.name.clone(), points.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(series(1), series(10_000), "{profile}");
    }
}

#[test]
fn case_datadog_05_metrics_do_not_depend_on_sampling() {
    let rig = Rig::sampled(Profile::Core, Sampler::TraceIdRatioBased(0.1));
    let genai = rig.genai();
    for _ in 0..1_000 {
        let mut inference = genai.begin(Request::chat("m").streaming());
        rig.advance(0.001);
        inference.token();
        inference.token();
        inference.usage(usage(1, 100));
        inference.finish();
    }
    // 1,000 draws at 10 %: 100 ± 9.5; eight deviations either way.
    let sampled = rig.spans().len();
    assert!((24..=176).contains(&sampled), "{sampled}");
    let tokens = rig.points("gen_ai.client.token.usage");
    let output = tokens.iter().find(|point| point.get("gen_ai.token.type") == Some("output")).unwrap();
    assert_eq!(output.sum, 100_000.0);
    assert_eq!(rig.points("gen_ai.client.operation.duration")[0].count, 1_000);
    assert_eq!(rig.points("gen_ai.client.operation.time_per_output_chunk")[0].count, 1_000);
}

#[test]
fn a_custom_operation_has_a_span_and_no_metrics_of_the_conventions() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        rig.genai().begin(Request::new(Operation::Custom("classify")).model("m")).finish();
        assert_eq!(rig.span().name, "classify m");
        assert!(rig.metrics().is_empty(), "{:?}", metric_names(&rig));
        rig.check();
    }
}
