//! The client against a real llama-server with a small model: its counts are the server's, its failures are told, and
//! its spans follow the conventions in both profiles.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::Value;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tokio_stream::StreamExt as _;
use wattspan_core::{
    InferenceObserver, InferenceRecord, IntervalEnergy, Joules, Reading, RecordSink, SampleSink, SampleTick,
};
use wattspan_fake_nvml::FakeNvml;
use wattspan_genai::{GenAi, Profile};
use wattspan_llama_server::{
    ChatMessage, ChatRequest, CompletionRequest, EmbeddingsRequest, Error, Health, LlamaServer as Client,
    MetricsPoller, blocking,
};
use wattspan_monitor::Monitor;
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};
use wattspan_semconv::attr;
use wattspan_semconv::conformance::{self, Telemetry};
use wattspan_testkit::{LlamaOptions, LlamaServer, neutral};

/// Keeps spans, and checks all of them when it is done.
struct Spans {
    profile: Profile,
    provider: SdkTracerProvider,
    exporter: InMemorySpanExporter,
}

impl Spans {
    fn new(profile: Profile) -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        Self { profile, provider, exporter }
    }

    fn genai(&self, observer: Option<Arc<dyn InferenceObserver>>) -> GenAi {
        let builder = GenAi::builder("llama_cpp").tracer(self.provider.tracer("test")).profile(self.profile);
        match observer {
            Some(observer) => builder.observer(observer).build(),
            None => builder.build(),
        }
    }

    fn client(&self, url: &str) -> Client {
        Client::new(url, self.genai(None)).unwrap()
    }

    /// All spans that have ended, of which each follows the profile.
    #[track_caller]
    fn checked(&self) -> Vec<SpanData> {
        let spans = self.exporter.get_finished_spans().unwrap();
        let neutral = spans.iter().map(neutral::span).collect();
        let violations =
            conformance::check(self.profile, &Telemetry { spans: neutral, ..Telemetry::default() });
        let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(texts.is_empty(), "{}: {texts:#?}", self.profile);
        spans
    }

    /// The last span that has ended.
    #[track_caller]
    fn last(&self) -> SpanData {
        self.checked().pop().expect("a span has ended")
    }
}

#[track_caller]
fn int(span: &SpanData, key: &str) -> Option<i64> {
    let found = span.attributes.iter().find(|pair| pair.key.as_str() == key)?;
    match found.value {
        Value::I64(value) => Some(value),
        ref other => panic!("{key} is {other:?}"),
    }
}

fn text(span: &SpanData, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|pair| pair.key.as_str() == key)?;
    Some(found.value.as_str().into_owned())
}

/// A server whose test has its turn: several at once on a small machine would only wait for each other.
struct Turn {
    server: LlamaServer,
    _turn: MutexGuard<'static, ()>,
}

impl Turn {
    fn url(&self) -> String {
        self.server.url()
    }
}

fn server(change: impl FnOnce(&mut LlamaOptions)) -> Turn {
    static ONE: Mutex<()> = Mutex::new(());
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut options = LlamaOptions::default();
    change(&mut options);
    Turn { server: LlamaServer::start(&options).unwrap(), _turn: turn }
}

/// Waits until something holds: a slow machine may take long, so the bound is only there to fail at all.
async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let end = Instant::now() + Duration::from_secs(120);
    while !holds().await {
        assert!(Instant::now() < end, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn token_counts_equal_the_servers_in_both_profiles() {
    let server = server(|_| {});
    for profile in Profile::ALL {
        let spans = Spans::new(profile);
        let client = spans.client(&server.url());
        // The server's own tokeniser on its own template is the count from outside.
        let messages = [ChatMessage::user("Count from one to ten.")];
        let prompt = client.apply_template(&messages).await.unwrap();
        let expected = client.tokenize(&prompt).await.unwrap().len() as u64;

        let request = ChatRequest::new("SmolLM2", messages.to_vec())
            .max_tokens(12)
            .temperature(0.0)
            .with("ignore_eos", true);
        let streamed = client.chat_stream(&request, |_| {}).await.unwrap();
        assert_eq!((streamed.tokens.input(), streamed.tokens.output), (Some(expected), Some(12)));
        let span = spans.last();
        assert_eq!(span.name, "chat SmolLM2");
        assert_eq!(int(&span, attr::GEN_AI_USAGE_INPUT_TOKENS), Some(expected as i64));
        assert_eq!(int(&span, attr::GEN_AI_USAGE_OUTPUT_TOKENS), Some(12));
        assert_eq!(text(&span, attr::GEN_AI_RESPONSE_ID), streamed.id);

        // The same again: all but the last token of the prompt may come from the cache; their sum stays.
        let whole = client.chat(&request).await.unwrap();
        assert_eq!(whole.content, streamed.content, "greedy sampling repeats itself");
        assert_eq!(whole.tokens.input(), Some(expected));
        assert!(whole.tokens.cache_read.is_some());

        let completion =
            CompletionRequest::new("SmolLM2", "The three primary colours are").max_tokens(4).seed(1);
        let native = client.complete_native(&completion).await.unwrap();
        let openai = client.complete(&completion).await.unwrap();
        for answer in [&native, &openai] {
            assert_eq!((answer.tokens.input(), answer.tokens.output), (Some(5), Some(4)));
            assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("length"));
        }
        assert!(native.slot.is_some());
        assert_eq!(spans.checked().len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_choices_log_probabilities_and_stop_words_are_obeyed() {
    let server = server(|_| {});
    let spans = Spans::new(Profile::default());
    let client = spans.client(&server.url());
    let schema = serde_json::json!({
        "type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Paris"]}},
        "required": ["city"],
    });
    let request = ChatRequest::user("m", "Name a city.").json_schema("city", &schema).max_tokens(64);
    let answer = client.chat(&request).await.unwrap();
    let city: serde_json::Value = serde_json::from_str(&answer.content).unwrap();
    assert!(city["city"] == "Oslo" || city["city"] == "Paris", "{city}");

    let request =
        ChatRequest::user("m", "Say hello.").choices(2).logprobs(2).max_tokens(3).with("ignore_eos", true);
    let answer = client.chat(&request).await.unwrap();
    assert_eq!(answer.choices.len(), 2);
    assert!(answer.choices[0].logprobs.as_ref().unwrap()["content"][0]["logprob"].is_f64());
    // Wrong, for there are six: the server counts the tokens of one choice only, in `usage` and in `timings`.
    assert_eq!(answer.tokens.output, Some(3));

    let request =
        CompletionRequest::new("m", "1, 2, 3, 4,").temperature(0.0).seed(1).max_tokens(16).stop("8");
    let answer = client.complete_native(&request).await.unwrap();
    assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("stop"));
    assert!(!answer.content.contains('8'));
    assert_eq!(spans.checked().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embeddings_are_inferences_and_plain_routes_are_not() {
    let server = server(|options| options.embeddings = true);
    for profile in Profile::ALL {
        let spans = Spans::new(profile);
        let client = spans.client(&server.url());
        let found = client.embeddings(&EmbeddingsRequest::new("m", ["Hi", "Hello there"])).await.unwrap();
        let meta = client.models().await.unwrap()[0].meta.clone().unwrap();
        assert_eq!(found.vectors.len(), 2);
        assert_eq!(found.vectors[0].len() as u64, meta.n_embd.unwrap());
        let mut expected = 0;
        for text in ["Hi", "Hello there"] {
            expected += client.tokenize(text).await.unwrap().len() as u64;
        }
        assert_eq!(found.tokens.input(), Some(expected));
        assert_eq!(client.health().await.unwrap(), Health::Ready);
        assert_eq!(client.props().await.unwrap().total_slots, Some(2));
        assert_eq!(client.detokenize(&[19556, 905]).await.unwrap(), "Hello world");
        assert_eq!(spans.checked().len(), 1);
    }
    let error = Spans::new(Profile::default())
        .client(&server.url())
        .rerank(&wattspan_llama_server::RerankRequest::new("m", "q", ["a"]))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_stream_frees_its_slot_and_ends_its_span() {
    let server = server(|options| options.parallel = 1);
    let spans = Spans::new(Profile::default());
    let client = spans.client(&server.url());
    let busy = || {
        let client = client.clone();
        async move { client.slots().await.unwrap().iter().any(|slot| slot.is_processing == Some(true)) }
    };
    let request = CompletionRequest::new("m", "Once upon a time").max_tokens(1_900).with("ignore_eos", true);
    let mut stream = client.complete_native_chunks(&request).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    assert!(busy().await, "a thousand tokens take longer than this");
    drop(stream);
    let span = spans.last();
    assert_eq!(text(&span, attr::ERROR_TYPE).as_deref(), Some("cancelled"));
    until("the free slot", || async { !busy().await }).await;
    let next = client.chat(&ChatRequest::user("m", "Hi").max_tokens(2)).await.unwrap();
    assert!(next.tokens.output.is_some());
}

/// Keeps what a monitor tells.
#[derive(Default)]
struct Kept {
    intervals: Mutex<Vec<IntervalEnergy>>,
    counter: Mutex<Vec<u64>>,
    records: Mutex<Vec<InferenceRecord>>,
}

impl SampleSink for Kept {
    fn sampled(&self, tick: &SampleTick<'_>) {
        self.intervals.lock().unwrap().extend_from_slice(tick.intervals);
        let readings = tick.samples.iter().filter_map(|sample| sample.energy.as_value().copied());
        self.counter.lock().unwrap().extend(readings);
    }
}

impl RecordSink for Kept {
    fn record(&self, record: &InferenceRecord) {
        self.records.lock().unwrap().push(record.clone());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_parallel_requests_share_what_was_measured() {
    let server = server(|options| options.parallel = 4);
    let driver = FakeNvml::builder().gpus(1).real_clock().load().unwrap();
    driver.gpu(0).idle_watts(300.0).unwrap().counter_refresh(20_000, 0).unwrap();
    let mut options = NvidiaOptions::default();
    options.library = Some(driver.path().to_owned());
    let kept = Arc::new(Kept::default());
    let monitor = Monitor::builder()
        .collector(Box::new(NvidiaCollector::open(&options).unwrap().expect("the fake driver has a GPU")))
        .sample_sink(kept.clone())
        .record_sink(kept.clone())
        .settle_within(Duration::from_secs(60))
        .start()
        .unwrap();
    let spans = Spans::new(Profile::default());
    let client = Client::new(&server.url(), spans.genai(Some(monitor.observer()))).unwrap();
    let calls = (0..8_u32).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            let request = ChatRequest::user("m", format!("Tell me about the number {number}."))
                .max_tokens(8 + number)
                .with("ignore_eos", true);
            client.chat_stream(&request, |_| {}).await.unwrap().tokens.output
        })
    });
    let calls: Vec<_> = calls.collect();
    for (number, call) in (0..).zip(calls) {
        assert_eq!(call.await.unwrap(), Some(8 + number), "each counts its own tokens");
    }
    assert!(monitor.flush(Duration::from_secs(120)), "the inferences were not settled");
    drop(monitor);
    assert_eq!(spans.checked().len(), 8);

    let records = kept.records.lock().unwrap();
    let charged: Joules =
        records.iter().map(|record| record.settlement.energy.as_ref().expect("measured").total).sum();
    let intervals = kept.intervals.lock().unwrap();
    let inference: Joules = intervals.iter().map(|interval| interval.energy.inference).sum();
    let parts: Joules = intervals.iter().map(|interval| interval.energy.total()).sum();
    assert_eq!(records.len(), 8);
    assert_eq!(charged, inference, "what the eight are charged is all inference energy");
    assert!(charged > Joules::ZERO);
    let counter = kept.counter.lock().unwrap();
    let moved = Joules::from_millijoules(i64::try_from(counter[counter.len() - 1] - counter[0]).unwrap());
    let unclosed = moved - parts;
    // Intervals still open at the stop are not in the ledger; a second of this load is 300 J.
    assert!(
        !unclosed.is_negative() && unclosed < Joules::from_millijoules(300_000),
        "{unclosed} are missing"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_breaks_the_stream_off() {
    let server = server(|_| {});
    let spans = Spans::new(Profile::default());
    let client = spans.client(&server.url());
    let request = CompletionRequest::new("m", "Once upon a time").max_tokens(900).with("ignore_eos", true);
    let mut stream = client.complete_native_chunks(&request).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    // Dropping closes its input, on which it ends without a word to its clients.
    drop(server);
    let mut outcome = None;
    while let Some(chunk) = stream.next().await {
        outcome = chunk.err();
    }
    let error = outcome.expect("a whole answer of 900 tokens cannot have come");
    assert!(matches!(error, Error::Truncated { .. }), "{error:?}");
    assert_eq!(text(&spans.last(), attr::ERROR_TYPE).as_deref(), Some("truncated_stream"));

    let gone = client.chat(&ChatRequest::user("m", "Hi")).await.unwrap_err();
    assert!(matches!(gone, Error::Unreachable { .. }), "{gone:?}");
    assert_eq!(text(&spans.last(), attr::ERROR_TYPE).as_deref(), Some("connection_error"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlines_and_prompts_that_are_too_long_are_told() {
    let server = server(|options| options.parallel = 1);
    for profile in Profile::ALL {
        let spans = Spans::new(profile);
        let client = spans.client(&server.url());
        let request = ChatRequest::user("m", "Once upon a time")
            .max_tokens(1_900)
            .with("ignore_eos", true)
            .deadline(Duration::from_millis(400));
        let error = client.chat(&request).await.unwrap_err();
        assert!(matches!(error, Error::Deadline { .. }), "{error:?}");
        assert_eq!(text(&spans.last(), attr::ERROR_TYPE).as_deref(), Some("timeout"));

        let long = CompletionRequest::new("m", "word ".repeat(2_500));
        let error = client.complete(&long).await.unwrap_err();
        let Error::ContextExceeded { prompt_tokens: Some(tokens), context: Some(context), .. } = error else {
            panic!("{error:?}")
        };
        assert!(tokens > context, "{tokens} of {context}");
        assert_eq!(text(&spans.last(), attr::ERROR_TYPE).as_deref(), Some("exceed_context_size_error"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_open_what_they_should_and_gauges_are_read() {
    let server = server(|options| options.api_key = Some("tok-EXAMPLE-right".to_owned()));
    let spans = Spans::new(Profile::default());
    let request = ChatRequest::user("m", "Hi").max_tokens(5).with("ignore_eos", true);
    for builder in [
        Client::builder(&server.url(), spans.genai(None)),
        Client::builder(&server.url(), spans.genai(None)).api_key("tok-EXAMPLE-wrong"),
    ] {
        let client = builder.build().unwrap();
        let error = client.chat(&request).await.unwrap_err();
        assert!(matches!(error, Error::Unauthorized { status: 401, .. }), "{error:?}");
        assert_eq!(text(&spans.last(), attr::ERROR_TYPE).as_deref(), Some("authentication_error"));
        assert!(!format!("{error} {error:?}").contains("tok-EXAMPLE"));
    }
    let right = Client::builder(&server.url(), spans.genai(None)).api_key("tok-EXAMPLE-right");
    let right = right.build().unwrap();

    let denied = MetricsPoller::builder(&server.url()).build().unwrap().poll_once().await;
    assert!(matches!(denied.tokens_total, Reading::Denied(_)), "{denied:?}");
    let poller = MetricsPoller::builder(&server.url())
        .api_key("tok-EXAMPLE-right")
        .timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    let before = poller.poll_once().await;
    assert_eq!((before.tokens_total, before.busy_slots), (Reading::Value(0), Reading::Value(0)));
    assert_eq!(before.slots, Reading::Value(2));
    assert_eq!(right.chat(&request).await.unwrap().tokens.output, Some(5));
    // The server counts when it gives the slot back, a moment after its answer.
    let mut after = poller.poll_once().await;
    let end = Instant::now() + Duration::from_secs(60);
    while after.tokens_total != Reading::Value(5) && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(50)).await;
        after = poller.poll_once().await;
    }
    assert_eq!(after.tokens_total, Reading::Value(5));
    assert!(after.tokens_per_second.as_value().is_some_and(|rate| *rate > 0.0), "{after:?}");
    assert!(after.kv_cache.as_value().is_some_and(|used| used.ratio() > 0.0), "{after:?}");
}

#[test]
fn a_program_without_a_runtime_gets_the_same() {
    let server = server(|options| options.parallel = 1);
    let spans = Spans::new(Profile::default());
    let client = blocking::LlamaServer::from_client(spans.client(&server.url())).unwrap();
    let request = ChatRequest::user("m", "Hi").max_tokens(4).with("ignore_eos", true);
    let mut chunks = client.chat_chunks(&request).unwrap();
    let all: Result<Vec<_>, Error> = Pin::new(&mut chunks).get_mut().collect();
    assert!(all.unwrap().len() >= 4);
    assert_eq!(chunks.tokens().output, Some(4));
    // A dropped stream frees the slot without another call of ours to drive the connection.
    let endless = CompletionRequest::new("m", "Once upon a time").max_tokens(1_900).with("ignore_eos", true);
    let mut stream = client.complete_native_chunks(&endless).unwrap();
    assert!(stream.next().unwrap().is_ok());
    drop(stream);
    assert_eq!(client.chat(&request).unwrap().tokens.output, Some(4));
    let types: Vec<_> = spans.checked().iter().map(|span| text(span, attr::ERROR_TYPE)).collect();
    assert_eq!(types, [None, Some("cancelled".to_owned()), None]);
}
