//! What is said in the log, and that it is said once.
#![cfg(target_os = "linux")]

mod common;

use std::sync::{Arc, Mutex};

use common::{Bench, SECOND};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use wattspan_fake_nvml::model::PowerReading;
use wattspan_fake_nvml::{ErrorWindow, FakeNvml};

/// Keeps the message of each warning.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Warnings of ten ticks, and of a driver that is reloaded in between.
fn warnings(fake: FakeNvml) -> Vec<String> {
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        let mut bench = Bench::on(fake);
        for tick in 0..10 {
            if tick == 5 {
                bench.fake.reload_driver().unwrap();
            }
            bench.tick(SECOND);
        }
    });
    let warnings = warnings.0.lock().unwrap();
    let about_sensors = |warning: &&String| warning.contains("energy");
    warnings.iter().filter(about_sensors).cloned().collect()
}

#[test]
fn case_nvml_03_missing_counter_is_said_once_for_each_device() {
    let fake = FakeNvml::builder().gpus(2).control("gpu all preset pascal\ngpu all idle 26").load().unwrap();
    let expected = "this GPU has no energy counter: its power is integrated over time";
    assert_eq!(warnings(fake), [expected, expected]);
}

#[test]
fn case_nvml_11_board_without_readings_is_said_once() {
    let fake = FakeNvml::builder().control("gpu 0 name Orin (nvgpu)\ngpu 0 counter off").load().unwrap();
    for reading in [PowerReading::Usage, PowerReading::Average, PowerReading::Instant] {
        fake.gpu(0).sensor(reading, None).unwrap();
    }
    fake.gpu(0).fail("nvmlDeviceGetTemperature", 3, ErrorWindow::ALWAYS).unwrap();
    let expected = "this GPU reports neither energy nor power: its energy stays absent";
    assert_eq!(warnings(fake), [expected]);
}

#[test]
fn card_that_has_everything_is_not_worth_a_word() {
    let fake = FakeNvml::builder().control("gpu 0 preset hopper\ngpu 0 idle 60").load().unwrap();
    assert_eq!(warnings(fake), Vec::<String>::new());
}
