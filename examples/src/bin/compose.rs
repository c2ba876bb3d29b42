//! Composes single crates without the facade: a collector, a monitor, and the program's own OpenTelemetry providers.
//!
//! `cargo run -p wattspan-examples --bin compose`

// A program for the terminal: printing is its output.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use wattspan_genai::{GenAi, Request};
use wattspan_host::{HostCollector, HostOptions};
use wattspan_monitor::Monitor;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tracers = SdkTracerProvider::builder().build();
    let meters = SdkMeterProvider::builder().build();

    let mut monitor = Monitor::builder().meter(meters.meter("compose"));
    if let Some(host) = HostCollector::open(HostOptions::default())? {
        monitor = monitor.collector(Box::new(host));
    }
    let monitor = monitor.start()?;

    let genai = GenAi::builder("my-engine")
        .tracer(tracers.tracer("compose"))
        .meter(meters.meter("compose"))
        .observer(monitor.observer())
        .build();
    genai.begin(Request::chat("my-model")).finish();

    monitor.flush(Duration::from_secs(5));
    if let Some(snapshot) = monitor.snapshot() {
        for device in &snapshot.devices {
            let power = device.power.as_value().map_or_else(|| "–".to_owned(), ToString::to_string);
            println!("{}: {power}, {} since the start", device.device().name, device.energy.total());
        }
    }
    // The order matters: the monitor settles what is left, and only then may the providers shut down.
    drop(monitor);
    tracers.shutdown()?;
    meters.shutdown()?;
    Ok(())
}
