//! One test for each kind of fault, and telemetry without any.

use wattspan_semconv::conformance::{
    Attributes, Checker, Event, Metric, Resource, Span, Status, Telemetry, Value, check,
};
use wattspan_semconv::{Instrument, Profile, SpanKind, ValueType};

fn with(attributes: &[(&str, Value)]) -> Attributes {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn good_span() -> Span {
    Span {
        name: "chat smollm2".into(),
        kind: SpanKind::Client,
        status: Status::Unset,
        attributes: with(&[
            ("gen_ai.operation.name", "chat".into()),
            ("gen_ai.provider.name", "llama_cpp".into()),
            ("gen_ai.request.model", "smollm2".into()),
            ("gen_ai.request.temperature", 0.7.into()),
            ("gen_ai.request.stop_sequences", vec!["</s>"].into()),
            ("gen_ai.request.stream", true.into()),
            ("gen_ai.response.finish_reasons", vec!["stop"].into()),
            ("gen_ai.usage.input_tokens", 12.into()),
            ("gen_ai.usage.output_tokens", 34.into()),
            ("gen_ai.input.messages", Value::Array(vec![Value::Map(vec![("role".into(), "user".into())])])),
            ("gen_ai.output.messages", "[]".into()),
            ("server.address", "localhost".into()),
            ("server.port", 8080.into()),
            ("wattspan.energy.total", 1.5.into()),
            ("wattspan.energy.method", "counter".into()),
            ("wattspan.energy.coverage", 1.0.into()),
            ("wattspan.energy.flags", vec!["below_resolution"].into()),
            ("my.own", 1.into()),
        ]),
        events: vec![Event { name: "first token".into(), ..Event::default() }],
    }
}

fn good_metric() -> Metric {
    Metric {
        name: "gen_ai.server.time_to_first_token".into(),
        unit: "s".into(),
        instrument: Instrument::Histogram,
        value_type: Some(ValueType::Double),
        buckets: Some(vec![
            0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
        ]),
        points: vec![with(&[
            ("gen_ai.operation.name", "chat".into()),
            ("gen_ai.provider.name", "llama_cpp".into()),
        ])],
    }
}

#[track_caller]
fn expect(profile: Profile, telemetry: &Telemetry, wanted: &[&str]) {
    let found: Vec<String> = check(profile, telemetry).iter().map(ToString::to_string).collect();
    assert_eq!(found, wanted, "{profile}");
}

#[track_caller]
fn expect_span(change: impl Fn(&mut Span), wanted: &[&str]) {
    let mut span = good_span();
    change(&mut span);
    expect(Profile::Core, &Telemetry { spans: vec![span], ..Telemetry::default() }, wanted);
}

#[track_caller]
fn expect_metric(change: impl Fn(&mut Metric), wanted: &[&str]) {
    let mut metric = good_metric();
    change(&mut metric);
    expect(Profile::Core, &Telemetry { metrics: vec![metric], ..Telemetry::default() }, wanted);
}

fn set(attributes: &mut Attributes, name: &str, value: impl Into<Value>) {
    attributes.retain(|(key, _)| key != name);
    attributes.push((name.to_owned(), value.into()));
}

#[test]
fn good_telemetry_has_no_violation() {
    let device = with(&[
        ("hw.id", "GPU-1".into()),
        ("hw.type", "gpu".into()),
        ("wattspan.energy.method", "counter".into()),
        ("wattspan.energy.state", "idle".into()),
    ]);
    let energy = Metric {
        name: "wattspan.device.energy".into(),
        unit: "J".into(),
        instrument: Instrument::Counter,
        value_type: Some(ValueType::Double),
        buckets: None,
        points: vec![device],
    };
    let application = Metric {
        name: "my.queue".into(),
        unit: "{thing}".into(),
        instrument: Instrument::Gauge,
        value_type: None,
        buckets: None,
        points: vec![with(&[("my.own", 1.into())])],
    };
    let event = Event {
        name: "gen_ai.evaluation.result".into(),
        severity: None,
        attributes: with(&[
            ("gen_ai.evaluation.name", "relevance".into()),
            ("gen_ai.evaluation.score.value", 0.5.into()),
        ]),
    };
    let telemetry = Telemetry {
        resource: Resource { attributes: with(&[("service.name", "demo".into())]) },
        spans: vec![good_span()],
        metrics: vec![good_metric(), energy, application],
        events: vec![event],
    };
    expect(Profile::Core, &telemetry, &[]);
    expect(Profile::GenAi, &telemetry, &[]);
}

#[test]
fn spans_of_others_are_let_be() {
    let span = Span {
        name: "GET".into(),
        kind: SpanKind::Client,
        status: Status::Error,
        attributes: with(&[("http.request.method", "GET".into()), ("server.address", "localhost".into())]),
        events: vec![],
    };
    expect(Profile::Core, &Telemetry { spans: vec![span], ..Telemetry::default() }, &[]);
}

#[test]
fn failed_span_with_its_error_is_good() {
    expect_span(
        |span| {
            span.status = Status::Error;
            set(&mut span.attributes, "error.type", "timeout");
        },
        &[],
    );
}

#[test]
fn unknown_name_is_a_violation() {
    expect_span(
        |span| set(&mut span.attributes, "gen_ai.request.colour", "blue"),
        &["span `chat smollm2`: `gen_ai.request.colour` is not in this profile"],
    );
}

#[test]
fn name_of_the_other_profile_is_a_violation_that_gives_the_right_one() {
    expect_span(
        |span| set(&mut span.attributes, "gen_ai.usage.cache_write.input_tokens", 1),
        &[
            "span `chat smollm2`: `gen_ai.usage.cache_write.input_tokens` is not in this profile: use `gen_ai.usage.cache_creation.input_tokens`",
        ],
    );
}

#[test]
fn wrong_type_is_a_violation() {
    expect_span(
        |span| set(&mut span.attributes, "gen_ai.request.temperature", 1),
        &["span `chat smollm2`: `gen_ai.request.temperature` is int, the convention says double"],
    );
    expect_span(
        |span| set(&mut span.attributes, "gen_ai.request.stop_sequences", "</s>"),
        &["span `chat smollm2`: `gen_ai.request.stop_sequences` is string, the convention says string[]"],
    );
    expect_span(
        |span| set(&mut span.attributes, "gen_ai.input.messages", Value::Empty),
        &["span `chat smollm2`: `gen_ai.input.messages` is empty, the convention says any"],
    );
}

#[test]
fn type_follows_the_profile() {
    let mut span = good_span();
    set(&mut span.attributes, "gen_ai.request.top_k", 40);
    let telemetry = Telemetry { spans: vec![span], ..Telemetry::default() };
    expect(Profile::GenAi, &telemetry, &[]);
    let wrong = "span `chat smollm2`: `gen_ai.request.top_k` is int, the convention says double";
    expect(Profile::Core, &telemetry, &[wrong]);
}

#[test]
fn template_family_is_known_and_is_text() {
    let mut span = good_span();
    set(&mut span.attributes, "gen_ai.prompt.variable.user", "Ada");
    expect(Profile::GenAi, &Telemetry { spans: vec![span.clone()], ..Telemetry::default() }, &[]);
    set(&mut span.attributes, "gen_ai.prompt.variable.user", 1);
    let wrong =
        "span `chat smollm2`: `gen_ai.prompt.variable.user` is int, the convention says template[string]";
    expect(Profile::GenAi, &Telemetry { spans: vec![span], ..Telemetry::default() }, &[wrong]);
}

#[test]
fn unknown_value_of_a_closed_enumeration_is_a_violation() {
    expect_span(
        |span| set(&mut span.attributes, "wattspan.energy.method", "guessed"),
        &["span `chat smollm2`: `wattspan.energy.method` has no value `guessed`"],
    );
    expect_span(
        |span| set(&mut span.attributes, "wattspan.energy.flags", vec!["below_resolution", "odd"]),
        &["span `chat smollm2`: `wattspan.energy.flags` has no value `odd`"],
    );
    // The conventions' own enumerations are open.
    expect_span(|span| set(&mut span.attributes, "gen_ai.output.type", "smell"), &[]);
}

#[test]
fn older_provider_value_is_a_violation() {
    expect_span(
        |span| set(&mut span.attributes, "gen_ai.provider.name", "vertex_ai"),
        &[
            "span `chat smollm2`: `vertex_ai` is an older value of `gen_ai.provider.name`: use `gcp.vertex_ai`",
        ],
    );
}

#[test]
fn missing_required_attribute_is_a_violation() {
    expect_span(
        |span| span.attributes.retain(|(name, _)| name != "gen_ai.provider.name"),
        &["span `chat smollm2`: `gen_ai.provider.name` is missing, which is required"],
    );
    expect_span(
        |span| span.attributes.retain(|(name, _)| name != "gen_ai.operation.name"),
        &["span `chat smollm2`: `gen_ai.operation.name` is missing, which is required"],
    );
    expect_metric(
        |metric| metric.points[0].retain(|(name, _)| name != "gen_ai.provider.name"),
        &[
            "point 0 of metric `gen_ai.server.time_to_first_token`: `gen_ai.provider.name` is missing, which is required",
        ],
    );
}

#[test]
fn provider_variant_asks_for_more() {
    let change = |span: &mut Span| {
        span.name = "chat".into();
        set(&mut span.attributes, "gen_ai.provider.name", "openai");
        span.attributes.retain(|(name, _)| name != "gen_ai.request.model");
    };
    expect_span(change, &["span `chat`: `gen_ai.request.model` is missing, which is required"]);
}

#[test]
fn energy_without_its_method_is_a_violation() {
    expect_span(
        |span| span.attributes.retain(|(name, _)| name != "wattspan.energy.method"),
        &[
            "span `chat smollm2`: `wattspan.energy.method` is missing, which is required beside what it qualifies",
        ],
    );
}

#[test]
fn address_without_port_is_a_violation() {
    let wanted = "`server.port` is missing, which is required beside `server.address`";
    expect_span(
        |span| span.attributes.retain(|(name, _)| name != "server.port"),
        &[&format!("span `chat smollm2`: {wanted}")],
    );
    expect_metric(
        |metric| set(&mut metric.points[0], "server.address", "localhost"),
        &[&format!("point 0 of metric `gen_ai.server.time_to_first_token`: {wanted}")],
    );
}

#[test]
fn deprecated_name_is_a_violation() {
    for profile in Profile::ALL {
        let mut span = good_span();
        set(&mut span.attributes, "gen_ai.system", "openai");
        set(&mut span.attributes, "gen_ai.prompt", "hello");
        let telemetry = Telemetry { spans: vec![span], ..Telemetry::default() };
        expect(
            profile,
            &telemetry,
            &[
                "span `chat smollm2`: `gen_ai.system` is deprecated: use `gen_ai.provider.name`",
                "span `chat smollm2`: `gen_ai.prompt` is deprecated",
            ],
        );
    }
}

#[test]
fn key_twice_is_one_violation_however_often_it_stands() {
    expect_span(
        |span| {
            span.attributes.push(("my.own".into(), 2.into()));
            span.attributes.push(("my.own".into(), 3.into()));
        },
        &["span `chat smollm2`: `my.own` stands more than once"],
    );
    let resource =
        Resource { attributes: with(&[("service.name", "a".into()), ("service.name", "b".into())]) };
    let telemetry = Telemetry { resource, ..Telemetry::default() };
    expect(Profile::Core, &telemetry, &["resource: `service.name` stands more than once"]);
}

#[test]
fn error_type_goes_with_the_status_error_only() {
    expect_span(
        |span| set(&mut span.attributes, "error.type", "timeout"),
        &["span `chat smollm2`: `error.type` is set although the status is not an error"],
    );
    expect_span(
        |span| span.status = Status::Error,
        &["span `chat smollm2`: `error.type` is missing, which is required beside the status error"],
    );
}

#[test]
fn wrong_span_name_is_a_violation() {
    expect_span(
        |span| span.name = "llama_cpp.chat".into(),
        &["span `llama_cpp.chat`: the name by its template is `chat smollm2`"],
    );
}

#[test]
fn wrong_span_kind_is_a_violation() {
    expect_span(
        |span| span.kind = SpanKind::Server,
        &["span `chat smollm2`: the kind is server, the convention says client or internal"],
    );
    expect_span(|span| span.kind = SpanKind::Internal, &[]);
}

#[test]
fn operation_of_the_applications_own_has_no_template() {
    expect_span(
        |span| {
            span.name = "anything".into();
            set(&mut span.attributes, "gen_ai.operation.name", "translate");
        },
        &[],
    );
}

#[test]
fn mcp_span_is_held_to_its_own_definition() {
    let span = Span {
        name: "tools/call clock".into(),
        kind: SpanKind::Client,
        status: Status::Unset,
        attributes: with(&[
            ("mcp.method.name", "tools/call".into()),
            ("gen_ai.operation.name", "execute_tool".into()),
            ("gen_ai.tool.name", "clock".into()),
        ]),
        events: vec![],
    };
    let mut server = span.clone();
    server.kind = SpanKind::Server;
    let telemetry = Telemetry { spans: vec![span, server], ..Telemetry::default() };
    expect(Profile::Core, &telemetry, &[]);
    expect(Profile::GenAi, &telemetry, &[]);
}

#[test]
fn wrong_unit_is_a_violation() {
    expect_metric(
        |metric| metric.unit = "ms".into(),
        &["metric `gen_ai.server.time_to_first_token`: the unit is `ms`, the convention says `s`"],
    );
}

#[test]
fn wrong_instrument_is_a_violation() {
    expect_metric(
        |metric| metric.instrument = Instrument::Gauge,
        &[
            "metric `gen_ai.server.time_to_first_token`: the instrument is gauge, the convention says histogram",
        ],
    );
}

#[test]
fn wrong_number_type_is_a_violation() {
    expect_metric(
        |metric| metric.value_type = Some(ValueType::Int),
        &["metric `gen_ai.server.time_to_first_token`: the numbers are int, the convention says double"],
    );
}

#[test]
fn wrong_buckets_are_a_violation() {
    expect_metric(
        |metric| metric.buckets = Some(vec![0.5, 1.0]),
        &[
            "metric `gen_ai.server.time_to_first_token`: the boundaries are [0.5, 1.0], the convention says [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0]",
        ],
    );
    expect_metric(|metric| metric.buckets = None, &[]);
}

#[test]
fn unknown_metric_is_a_violation() {
    expect_metric(
        |metric| metric.name = "gen_ai.client.inference.duration".into(),
        &[
            "metric `gen_ai.client.inference.duration`: not in this profile: use `gen_ai.client.operation.duration`",
        ],
    );
    expect_metric(
        |metric| metric.name = "wattspan.joules".into(),
        &["metric `wattspan.joules`: not in this profile"],
    );
}

#[test]
fn inferred_metric_is_a_violation() {
    let mut metric = good_metric();
    metric.name = "gen_ai.client.invoke_agent.duration".into();
    metric.buckets = None;
    let telemetry = Telemetry { metrics: vec![metric], ..Telemetry::default() };
    let wanted =
        "metric `gen_ai.client.invoke_agent.duration`: the name was seen in no text of the convention";
    expect(Profile::GenAi, &telemetry, &[wanted]);
}

#[test]
fn smoltrace_metrics_stand_by_choice_only() {
    let metric = Metric {
        name: "gen_ai.gpu.power".into(),
        unit: "mW".into(),
        instrument: Instrument::Gauge,
        value_type: Some(ValueType::Double),
        buckets: None,
        points: vec![with(&[("gpu_id", "0".into())])],
    };
    let telemetry = Telemetry { metrics: vec![metric], ..Telemetry::default() };
    expect(Profile::Core, &telemetry, &["metric `gen_ai.gpu.power`: not in this profile"]);
    let chosen = Checker::new(Profile::Core).with_smoltrace().check(&telemetry);
    let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
    assert_eq!(chosen, ["metric `gen_ai.gpu.power`: the unit is `mW`, the convention says `W`"]);
}

fn event(name: &str, severity: Option<u8>, attributes: &[(&str, Value)]) -> Telemetry {
    let event = Event { name: name.into(), severity, attributes: with(attributes) };
    Telemetry { events: vec![event], ..Telemetry::default() }
}

#[test]
fn events_are_checked() {
    let exception = "gen_ai.client.operation.exception";
    expect(Profile::Core, &event(exception, Some(13), &[("exception.type", "timeout".into())]), &[]);
    expect(
        Profile::Core,
        &event(exception, Some(17), &[("exception.type", "timeout".into())]),
        &["event `gen_ai.client.operation.exception`: the severity is 17, the convention says 13"],
    );
    expect(
        Profile::Core,
        &event("gen_ai.client.inference.exception", None, &[]),
        &[
            "event `gen_ai.client.inference.exception`: not in this profile: use `gen_ai.client.operation.exception`",
        ],
    );
    expect(
        Profile::Core,
        &event("gen_ai.user.message", None, &[]),
        &["event `gen_ai.user.message`: the event was withdrawn"],
    );
    expect(
        Profile::Core,
        &event("gen_ai.evaluation.result", None, &[]),
        &["event `gen_ai.evaluation.result`: `gen_ai.evaluation.name` is missing, which is required"],
    );
}

#[test]
fn events_of_spans_are_checked_in_their_place() {
    expect_span(
        |span| {
            span.events.push(Event {
                name: "gen_ai.evaluation.result".into(),
                severity: None,
                attributes: with(&[
                    ("gen_ai.evaluation.name", "a".into()),
                    ("gen_ai.evaluation.score.value", 1.into()),
                ]),
            });
        },
        &[
            "event `gen_ai.evaluation.result` of span `chat smollm2`: `gen_ai.evaluation.score.value` is int, the convention says double",
        ],
    );
}

#[test]
fn case_semconv_01_token_buckets_have_their_names() {
    // (a) prompt_tokens 100, cached_tokens 75; (b) input_tokens 100, cache_read 75, cache_creation 20.
    expect_span(
        |span| {
            set(&mut span.attributes, "gen_ai.usage.input_tokens", 100);
            set(&mut span.attributes, "gen_ai.usage.cache_read.input_tokens", 75);
        },
        &[],
    );
    expect_span(
        |span| {
            set(&mut span.attributes, "gen_ai.usage.input_tokens", 195);
            set(&mut span.attributes, "gen_ai.usage.cache_read.input_tokens", 75);
            set(&mut span.attributes, "gen_ai.usage.cache_creation.input_tokens", 20);
        },
        &[],
    );
}

#[test]
fn case_semconv_05_token_counts_as_text_are_found() {
    expect_span(|span| set(&mut span.attributes, "gen_ai.usage.input_tokens", 1234), &[]);
    expect_span(
        |span| {
            set(&mut span.attributes, "gen_ai.usage.input_tokens", "1234");
            set(&mut span.attributes, "gen_ai.usage.output_tokens", "56");
        },
        &[
            "span `chat smollm2`: `gen_ai.usage.input_tokens` is string, the convention says int",
            "span `chat smollm2`: `gen_ai.usage.output_tokens` is string, the convention says int",
        ],
    );
}
