//! What exporting costs: the caller of an inference, the way of a hundred thousand spans to a receiver, and a scrape.
//!
//! `cargo bench -p wattspan-tests --bench export` prints a table. Each comparison is measured in turns within one run, so
//! that noise of the machine hits both sides; the bounds are those that the project sets itself.

// A benchmark reports to its reader.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{Span as _, SpanKind, Tracer as _, TracerProvider as _};
use opentelemetry_otlp::{WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider};
use wattspan_core::TokenUsage;
use wattspan_fake_nvml::FakeNvml;
use wattspan_genai::{GenAi, Request};
use wattspan_monitor::Monitor;
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};
use wattspan_otel::prometheus::Prometheus;
use wattspan_otel::{Otlp, Signal, Telemetry};

fn main() {
    // `cargo test` runs benchmarks too: then a small round shows that they work.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    println!("{:<44} {:>12} {:>12} {:>8} {:>8}", "", "ours", "beside", "ratio", "bound");
    caller(if quick { 3 } else { 41 });
    drain(if quick { 1 } else { 5 }, if quick { 2_000 } else { 100_000 });
    scrape(if quick { 3 } else { 201 });
}

fn row(what: &str, ours: &str, beside: &str, ratio: f64, bound: &str) {
    println!("{what:<44} {ours:>12} {beside:>12} {ratio:>8.3} {bound:>8}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Takes everything at once and answers with 200; counts bytes.
struct Sink {
    port: u16,
    bytes: Arc<AtomicUsize>,
}

impl Sink {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let bytes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&bytes);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || serve(stream, &counted));
            }
        });
        Self { port, bytes }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn serve(stream: TcpStream, counted: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    let mut body = Vec::new();
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            }
        }
        body.resize(length, 0);
        reader.read_exact(&mut body).ok()?;
        counted.fetch_add(length, Ordering::Relaxed);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    }
}

/// Collects metrics and sends them nowhere.
struct Nowhere;

impl PushMetricExporter for Nowhere {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        black_box(metrics);
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}

/// CPU time of this thread: other threads that run meanwhile cost the machine, not the caller. Where the system does
/// not tell (it is Linux that does), the time of the clock.
fn thread_cpu() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    // The scheduler counts when a thread is switched out.
    std::thread::sleep(Duration::from_micros(1));
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

struct Side {
    genai: GenAi,
    monitor: Monitor,
    /// Its library is used as long as the monitor runs.
    _driver: FakeNvml,
    telemetry: Telemetry,
}

impl Side {
    fn new(telemetry: Telemetry) -> Self {
        // With a sensor, an inference is settled and its span ended on another thread, which is what is usual.
        let driver = FakeNvml::builder().gpus(1).real_clock().load().expect("the fake driver");
        let mut options = NvidiaOptions::default();
        options.library = Some(driver.path().to_owned());
        let collector = NvidiaCollector::open(&options).expect("it opens").expect("it has a GPU");
        let meter = telemetry.meter_provider().meter("m");
        let monitor =
            Monitor::builder().collector(Box::new(collector)).meter(meter).start().expect("threads");
        let genai = GenAi::builder("llama_cpp")
            .tracer(telemetry.tracer_provider().tracer("t"))
            .meter(telemetry.meter_provider().meter("m"))
            .observer(monitor.observer())
            .build();
        Self { genai, monitor, _driver: driver, telemetry }
    }

    /// Nanoseconds of CPU time of the calling thread for one inference.
    fn inferences(&self, count: u32) -> f64 {
        let model: Arc<str> = "smollm2".into();
        let start = thread_cpu();
        for _ in 0..count {
            let request = Request::chat(Arc::clone(&model)).temperature(0.2).max_tokens(64).streaming();
            let mut inference = self.genai.begin(request);
            for _ in 0..8 {
                inference.token();
            }
            let mut usage = TokenUsage::default();
            usage.fresh = Some(12);
            usage.output = Some(8);
            inference.usage(usage);
            inference.finish_reason("stop");
            inference.finish();
        }
        let took = thread_cpu().saturating_sub(start).as_nanos() as f64 / f64::from(count);
        assert!(self.monitor.flush(Duration::from_secs(60)), "not settled");
        took
    }
}

/// The caller of an inference, with export on and off.
fn caller(rounds: usize) {
    let sink = Sink::start();
    // Without a reader the SDK records no metric at all: what is compared is exporting, not recording.
    let off = Telemetry::builder("off").metric_exporter(Nowhere).build();
    let off = Side::new(off.expect("providers"));
    let on = Side::new(
        Telemetry::builder("on")
            .otlp_endpoint(sink.url())
            .batch_delay(Duration::from_millis(5))
            .build()
            .expect("providers"),
    );
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(off.inferences(200));
        with.push(on.inferences(200));
    }
    assert!(on.telemetry.flush(), "not sent");
    assert_eq!(on.telemetry.dropped(), 0, "what is dropped costs less");
    let (with, without) = (median(with), median(without));
    row(
        "caller of an inference, export on beside off",
        &format!("{with:.0} ns"),
        &format!("{without:.0} ns"),
        with / without,
        "<= 1.05",
    );
}

fn end_spans(tracer: &SdkTracer, count: usize) {
    for number in 0..count {
        let mut span = tracer.span_builder("chat smollm2").with_kind(SpanKind::Client).start(tracer);
        for key in ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"] {
            span.set_attribute(KeyValue::new(key, "smollm2"));
        }
        span.set_attribute(KeyValue::new("gen_ai.usage.input_tokens", number as i64));
        span.set_attribute(KeyValue::new("wattspan.energy.total", 1.5));
        span.end();
    }
}

/// Spans per second, and peak memory in MiB where the system tells.
fn timed(count: usize, work: impl FnOnce()) -> (f64, Option<f64>) {
    // Linux: 5 resets the peak (proc(5), clear_refs).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let start = Instant::now();
    work();
    let rate = count as f64 / start.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    (rate, peak.and_then(|kib| kib.trim().parse::<f64>().ok()).map(|kib| kib / 1_024.0))
}

fn ours(url: &str, count: usize) -> (f64, Option<f64>) {
    let otlp = Otlp::new(url).without(Signal::Metrics).without(Signal::Logs);
    let telemetry = Telemetry::builder("ours").otlp(otlp).queue_limit(count).build().expect("providers");
    let tracer = telemetry.tracer_provider().tracer("t");
    let result = timed(count, || {
        end_spans(&tracer, count);
        while !telemetry.flush_within(Duration::from_secs(60)) {}
    });
    assert_eq!(telemetry.dropped(), 0);
    result
}

fn bare(url: &str, count: usize) -> (f64, Option<f64>) {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_endpoint(format!("{url}/v1/traces"))
        .with_headers(std::collections::HashMap::new())
        .build()
        .expect("an exporter");
    let config = BatchConfigBuilder::default().with_max_queue_size(count).build();
    let processor = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
    let provider = SdkTracerProvider::builder().with_span_processor(processor).build();
    let tracer = provider.tracer("t");
    timed(count, || {
        end_spans(&tracer, count);
        while provider.force_flush().is_err() {}
    })
}

/// Many spans to a receiver on this machine, beside the SDK's own processor and exporter.
fn drain(rounds: usize, count: usize) {
    let sink = Sink::start();
    let (mut rates, mut bare_rates, mut peaks, mut bare_peaks) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let before = sink.bytes.load(Ordering::Relaxed);
        let (rate, peak) = ours(&sink.url(), count);
        let half = sink.bytes.load(Ordering::Relaxed);
        let (bare_rate, bare_peak) = bare(&sink.url(), count);
        let all = sink.bytes.load(Ordering::Relaxed);
        let (sent, bare_sent) = ((half - before) as f64, (all - half) as f64);
        // Resources differ a little; the spans do not.
        assert!((sent / bare_sent - 1.0).abs() < 0.2, "{sent} bytes beside {bare_sent}: not the same work");
        rates.push(rate);
        bare_rates.push(bare_rate);
        peaks.extend(peak);
        bare_peaks.extend(bare_peak);
    }
    let (rate, bare_rate) = (median(rates), median(bare_rates));
    row(
        &format!("{count} spans drained, beside the bare SDK"),
        &format!("{rate:.0}/s"),
        &format!("{bare_rate:.0}/s"),
        rate / bare_rate,
        ">= 0.95",
    );
    if !peaks.is_empty() && !bare_peaks.is_empty() {
        let (peak, bare_peak) = (median(peaks), median(bare_peaks));
        row(
            "peak memory of that",
            &format!("{peak:.0} MiB"),
            &format!("{bare_peak:.0} MiB"),
            peak / bare_peak,
            "",
        );
    }
}

/// A scrape of sixteen GPUs with twenty metrics each.
fn scrape(rounds: usize) {
    let telemetry = Telemetry::builder("s").prometheus(Prometheus::new()).build().expect("providers");
    let meter = telemetry.meter_provider().meter("m");
    for metric in 0..20 {
        let name = format!("hw.gpu.figure_{metric}");
        meter
            .f64_observable_gauge(name)
            .with_unit("W")
            .with_callback(|instrument| {
                for gpu in 0..16 {
                    let id = format!("GPU-00000000-0000-0000-0000-{gpu:012}");
                    let labels = [KeyValue::new("hw.id", id), KeyValue::new("hw.name", "NVIDIA H200")];
                    instrument.observe(f64::from(gpu) * 1.5, &labels);
                }
            })
            .build();
    }
    let endpoint = telemetry.metrics_endpoint().expect("it was asked for");
    assert_eq!(endpoint.render().matches("\nhw_gpu_figure_").count(), 320);
    let times = (0..rounds).map(|_| {
        let start = Instant::now();
        black_box(endpoint.render());
        start.elapsed().as_secs_f64() * 1e3
    });
    let took = median(times.collect());
    row("scrape of 16 GPUs with 20 metrics", &format!("{took:.3} ms"), "", took, "<= 1 ms");
}
