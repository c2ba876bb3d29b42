//! The console for people.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use opentelemetry::KeyValue;
use opentelemetry::trace::{Tracer as _, TracerProvider as _};
use wattspan_otel::{Console, Telemetry};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_inference_is_one_line_and_nothing_else_is() {
    let written = Written::default();
    let console = Console::LinesTo(Arc::new(Mutex::new(written.clone())));
    let telemetry = Telemetry::builder("app").console(console).build().unwrap();
    let tracer = telemetry.tracer_provider().tracer("test");
    tracer.in_span("http request", |_| {
        let mut builder = tracer.span_builder("chat smollm2");
        builder.attributes = Some(vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.usage.output_tokens", 24),
            KeyValue::new("wattspan.energy.total", 1.5),
        ]);
        drop(tracer.build(builder));
    });
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains("chat smollm2") && lines[0].contains("? in, 24 out | 1.500 J"), "{text}");
}
