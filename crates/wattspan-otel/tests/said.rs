//! What the exporter says about itself: once, and never into the export. One test, since it listens to the whole
//! program.

mod support;

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use support::{Answer, Stub, closed_port};
use tracing::field::{Field, Visit};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use wattspan_otel::{Otlp, Signal, Telemetry};

#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, _field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{value:?} ");
    }
}

impl<S: tracing::Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        if *event.metadata().level() <= tracing::Level::WARN {
            let mut text = Text(String::new());
            event.record(&mut text);
            self.0.lock().unwrap().push(text.0);
        }
    }
}

fn send(otlp: Otlp, spans: usize) -> u64 {
    let telemetry = Telemetry::builder("app")
        .otlp(otlp.without(Signal::Metrics).without(Signal::Logs))
        .batch_delay(Duration::from_millis(10))
        .shutdown_timeout(Duration::from_secs(1))
        .queue_limit(4)
        .build()
        .unwrap();
    let tracer = telemetry.tracer_provider().tracer("test");
    for _ in 0..spans {
        tracer.start("work").end();
    }
    telemetry.shutdown();
    telemetry.dropped()
}

#[test]
fn trouble_is_said_once_and_case_otlp_05_an_empty_partial_success_is_silent() {
    let warnings = Warnings::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(warnings.clone())).unwrap();

    // An empty partial success: field 1 of length 0.
    let stub = Stub::start(|_, _| Answer::Status(200, Vec::new(), vec![0x0A, 0x00]));
    assert_eq!(send(Otlp::new(stub.url()), 1), 0);
    assert_eq!(warnings.take(), [""; 0]);

    // Nothing rejected, and a message: field 2, "old".
    let body = vec![0x0A, 0x05, 0x12, 0x03, b'o', b'l', b'd'];
    let stub = Stub::start(move |_, _| Answer::Status(200, Vec::new(), body.clone()));
    assert_eq!(send(Otlp::new(stub.url()), 1), 0);
    let said = warnings.take();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("says: old"), "{said:?}");

    // A receiver that is away: each reason once, and the sum at the end. No secret is in it.
    let away = format!("http://127.0.0.1:{}/?key=tok-EXAMPLE", closed_port());
    let dropped = send(Otlp::new(away).header("authorization", "tok-EXAMPLE"), 200);
    assert_eq!(dropped, 200);
    let said = warnings.take();
    let full = said.iter().filter(|text| text.contains("queue_full")).count();
    assert_eq!(full, 1, "{said:?}");
    let failed = said.iter().filter(|text| text.contains("export_failed")).count();
    assert!(failed <= 1, "{said:?}");
    assert_eq!(said.iter().filter(|text| text.contains("did not arrive")).count(), 1, "{said:?}");
    assert!(said.len() <= 4, "{said:?}");
    assert!(said.iter().all(|text| !text.contains("tok-")), "{said:?}");
}
