//! Known power in, known joules out: through the driver's library, its real bindings, the sampler, the ledger and the
//! spans. The truth comes from the fake driver's power curve and never from a counter.

#[path = "support/rig.rs"]
mod rig;

use std::collections::HashMap;

use opentelemetry::Value;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use wattspan_core::{EnergyFlag, Joules, Method};
use wattspan_fake_nvml::FakeNvml;
use wattspan_fake_nvml::model::{Preset, Profile};
use wattspan_genai::{GenAi, Inference, Request};
use wattspan_monitor::{PerformanceMonitor, PerformanceReport};
use wattspan_semconv::attr;

use rig::{Rig, Rng};

const POLL_US: u64 = 20_000;
const REFRESH_US: u64 = 100_000;

/// A driver whose counters refresh each 100 ms, each at a phase of its own.
fn driver(gpus: usize, refresh_us: u64, rng: &mut Rng) -> FakeNvml {
    let driver = FakeNvml::builder().gpus(gpus).load().unwrap();
    for slot in 0..gpus {
        let phase = rng.below(refresh_us);
        driver.gpu(slot).power_limit(700.0).unwrap().counter_refresh(refresh_us, phase).unwrap();
    }
    driver
}

/// A window over a profile: the report, and each GPU's true joules.
fn window(profile: &Profile, gpus: usize, seconds: u64, seed: u64) -> (PerformanceReport, Vec<f64>) {
    let mut rng = Rng(seed);
    let driver = driver(gpus, REFRESH_US, &mut rng);
    driver.all_gpus().profile(profile).unwrap();
    let mut rig = Rig::new(driver);
    rig.poll_until(1_000_000 + rng.below(100_000), POLL_US);
    let monitor = PerformanceMonitor::start_stepped(&rig.stepper);
    let from = rig.now_us();
    let to = from + seconds * 1_000_000;
    rig.poll_until(to, POLL_US);
    monitor.end();
    rig.poll_until(to + 1_000_000, POLL_US);
    let truth = (0..gpus).map(|slot| rig.driver.gpu(slot).joules(from, to).unwrap()).collect();
    (monitor.report(), truth)
}

#[test]
fn window_totals_of_known_profiles_are_within_their_bound() {
    let mut rng = Rng(4_001);
    let square = |rng: &mut Rng| {
        let period_us = 80_000 + rng.below(40_000);
        Profile::Square { low: 100.0, high: 500.0, period_us, duty: 0.5, phase_us: 0 }
    };
    for gpus in [1, 8] {
        for seconds in [10, 60] {
            let profiles = [
                (Profile::Constant { watts: 300.0 }, 300.0, 0.0),
                (square(&mut rng), 500.0, 400.0),
                (
                    Profile::Burst { base: 100.0, high: 500.0, begin_us: 4_037_000, length_us: 300_000 },
                    500.0,
                    400.0,
                ),
            ];
            for (profile, most, range) in profiles {
                let (report, truth) = window(&profile, gpus, seconds, rng.next());
                let burst = matches!(profile, Profile::Burst { .. });
                assert_eq!(report.devices.len(), gpus);
                let mut sum = 0.0;
                for (device, truth) in report.devices.iter().zip(&truth) {
                    // The FakeNvml's slots are in the order of their UUIDs as long as there are no more than ten.
                    let energy = device.energy.unwrap().joules();
                    let error = (energy - truth).abs();
                    // One refresh by the range of power, the counter's millijoule, and the time of a refresh, which is
                    // known to half a poll at each end.
                    let limit = 0.1 * range + 0.001 + 2.0 * 0.01 * most;
                    assert!(error <= limit, "{profile:?} {gpus} {seconds} s: {energy} J for {truth} J");
                    let bound = device.bound.unwrap().joules();
                    assert!(error <= bound + 0.002, "{profile:?}: off by {error} J, stated {bound} J");
                    if seconds == 60 && !burst {
                        assert!(error <= 0.0025 * truth, "{profile:?}: {energy} J for {truth} J");
                    }
                    assert_eq!(device.coverage.ratio(), 1.0);
                    assert_eq!(device.energy_by_state.unwrap().total(), device.energy.unwrap());
                    sum += energy;
                }
                assert!((report.total.energy.unwrap().joules() - sum).abs() < 1e-6 * gpus as f64);
                assert!(report.notes.is_empty(), "{:?}", report.notes);
            }
        }
    }
}

#[test]
fn a_counter_polled_at_a_millisecond_is_within_a_refresh_of_the_range() {
    // With the time of each refresh known to half a millisecond, what is left is the bound of the definition itself.
    let mut rng = Rng(4_002);
    for _ in 0..4 {
        let period_us = 80_000 + rng.below(40_000);
        let profile = Profile::Square { low: 100.0, high: 500.0, period_us, duty: 0.5, phase_us: 0 };
        let driver = driver(1, 20_000, &mut rng);
        driver.gpu(0).profile(&profile).unwrap();
        let mut rig = Rig::new(driver);
        rig.poll_until(500_000 + rng.below(50_000), 1_000);
        let monitor = PerformanceMonitor::start_stepped(&rig.stepper);
        let (from, to) = (rig.now_us(), rig.now_us() + 10_000_000);
        rig.poll_until(to, 1_000);
        monitor.end();
        rig.poll_until(to + 200_000, 1_000);
        let truth = rig.driver.gpu(0).joules(from, to).unwrap();
        let error = (monitor.report().total.energy.unwrap().joules() - truth).abs();
        assert!(error <= 0.02 * 400.0 + 0.001, "off by {error} J of {truth} J");
    }
}

/// A request that will be made.
#[derive(Clone, Copy, Debug)]
struct Planned {
    begin_us: u64,
    end_us: u64,
}

/// Requests in some lanes, one after the other in each.
fn plan(lanes: u64, rng: &mut Rng) -> Vec<Planned> {
    let mut plan = Vec::new();
    // Enough of them that a session says something, and few enough that it is short.
    let each = (24 / lanes).max(2);
    for _ in 0..lanes {
        let mut at = 1.0 + rng.between(0.0, 0.8);
        for _ in 0..each {
            let lasts = rng.log_between(0.05, 2.0);
            plan.push(Planned { begin_us: (at * 1e6) as u64, end_us: ((at + lasts) * 1e6) as u64 });
            at += lasts + rng.between(0.05, 0.8);
        }
    }
    plan
}

/// Plays requests through GenAi, driver and monitor; answers with the spans.
fn play(rig: &mut Rig, plan: &[Planned], rng: &mut Rng) -> Vec<SpanData> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let genai = GenAi::builder("llama_cpp")
        .tracer(provider.tracer("measure"))
        .clock(rig.clock.clone())
        .observer(rig.stepper.observer())
        .build();
    let mut events: Vec<(u64, usize, bool)> = Vec::new();
    for (index, planned) in plan.iter().enumerate() {
        events.push((planned.begin_us, index, true));
        events.push((planned.end_us, index, false));
    }
    events.sort_unstable();
    let mut open: HashMap<usize, Inference> = HashMap::new();
    let mut poll = 0;
    for (at, index, begins) in events {
        while poll <= at {
            rig.poll_at(poll);
            poll = rig.next_poll_us(rng);
        }
        rig.go_to(at);
        if begins {
            let was_idle = rig.stepper.open() == 0;
            open.insert(index, genai.begin(Request::chat("smollm2")));
            if was_idle {
                // The step from idle to busy wakes the sampler.
                rig.stepper.step();
                poll = rig.next_poll_us(rng);
            }
        } else {
            let mut inference = open.remove(&index).unwrap();
            inference.response_id(index.to_string());
            inference.finish();
        }
    }
    let end = rig.now_us() + 1_000_000;
    while rig.now_us() < end {
        let next = rig.next_poll_us(rng).min(rig.now_us() + 50_000);
        rig.poll_at(next);
    }
    assert_eq!(rig.stepper.open(), 0, "all have been settled");
    provider.force_flush().unwrap();
    exporter.get_finished_spans().unwrap()
}

fn double(span: &SpanData, name: &str) -> Option<f64> {
    span.attributes.iter().find(|pair| pair.key.as_str() == name).and_then(|pair| match pair.value {
        Value::F64(value) => Some(value),
        _ => None,
    })
}

fn index(span: &SpanData) -> usize {
    let id = span.attributes.iter().find(|pair| pair.key.as_str() == attr::GEN_AI_RESPONSE_ID).unwrap();
    id.value.as_str().parse().unwrap()
}

fn has_flag(span: &SpanData, flag: EnergyFlag) -> bool {
    span.attributes.iter().any(|pair| {
        pair.key.as_str() == attr::WATTSPAN_ENERGY_FLAGS && pair.value.as_str().contains(flag.as_str())
    })
}

/// Inferences, idle, other and unattributed add up to what the counter moved by between the same two refreshes.
#[track_caller]
fn assert_conserved(rig: &Rig) {
    let (intervals, counter) = (rig.kept.intervals.lock().unwrap(), rig.kept.counter.lock().unwrap());
    let records = rig.kept.records.lock().unwrap();
    let mut devices: Vec<&str> = intervals.iter().map(|interval| interval.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut inference = Joules::ZERO;
    for device in devices {
        let own: Vec<_> = intervals.iter().filter(|interval| interval.device.as_str() == device).collect();
        assert!(own.iter().all(|interval| interval.gap.is_none()));
        assert!(own.windows(2).all(|pair| pair[0].end == pair[1].start), "one interval follows the other");
        let parts: Joules = own.iter().map(|interval| interval.energy.total()).sum();
        inference += own.iter().map(|interval| interval.energy.inference).sum::<Joules>();
        let readings: Vec<_> = counter.iter().filter(|(name, ..)| name == device).collect();
        let last = own[own.len() - 1].end;
        // The first reading at or after a refresh is the one that showed it.
        let shown = readings.iter().find(|(_, time, _)| *time >= last).unwrap();
        let moved = i64::try_from(shown.2 - readings[0].2).unwrap();
        assert_eq!(parts, Joules::from_millijoules(moved), "{device}");
    }
    let settled: Joules = records
        .iter()
        .filter_map(|record| record.settlement.energy.as_ref())
        .map(|energy| energy.total)
        .sum();
    assert_eq!(inference, settled, "the intervals' inference energy is that of the inferences");
}

/// How many requests are inside what was said of them.
#[derive(Debug, Default)]
struct Tally {
    judged: u32,
    inside: u32,
    /// Shorter than two refreshes, with physical bounds instead.
    short: u32,
    within: u32,
}

/// Makes requests whose load follows them on a driver, and judges each span.
fn judge(driver: FakeNvml, lanes: u64, rng: &mut Rng, tally: &mut Tally) -> Rig {
    let watts = 400.0 / lanes as f64;
    driver.gpu(0).idle_watts(rng.between(30.0, 90.0)).unwrap();
    let plan = plan(lanes, rng);
    for (index, planned) in plan.iter().enumerate() {
        let id = format!("r{index}");
        driver.gpu(0).load(&id, planned.begin_us, planned.end_us, watts, 15_000).unwrap();
    }
    let mut rig = Rig::new(driver);
    let spans = play(&mut rig, &plan, rng);
    assert_eq!(spans.len(), plan.len(), "each request is one span");
    for span in &spans {
        let index = index(span);
        let truth = rig.driver.gpu(0).request(&format!("r{index}")).unwrap().gross();
        let total = double(span, attr::WATTSPAN_ENERGY_TOTAL).expect("energy was measured");
        let half = double(span, attr::WATTSPAN_ENERGY_UNCERTAINTY).expect("with its ±");
        if has_flag(span, EnergyFlag::BelowResolution) {
            let id = index.to_string();
            let records = rig.kept.records.lock().unwrap();
            let mut records = records.iter();
            let record = records.find(|record| record.facts.response_id.as_deref() == Some(&*id)).unwrap();
            let bounds = record.settlement.energy.as_ref().unwrap().bounds.unwrap();
            tally.short += 1;
            let slack = 0.01;
            let (low, high) = (bounds.low.joules() - slack, bounds.high.joules() + slack);
            tally.within += u32::from((low..=high).contains(&truth));
            continue;
        }
        tally.judged += 1;
        tally.inside += u32::from((total - truth).abs() <= half);
    }
    rig
}

#[test]
fn requests_are_inside_their_uncertainty_from_driver_to_span() {
    let mut rng = Rng(4_003);
    let mut tally = Tally::default();
    for refresh_us in [20_000, 100_000] {
        for lanes in [1, 2, 8, 64] {
            for _ in 0..(if lanes == 64 { 2 } else { 5 }) {
                let driver = driver(1, refresh_us, &mut rng);
                let rig = judge(driver, lanes, &mut rng, &mut tally);
                assert_conserved(&rig);
            }
        }
    }
    assert!(tally.judged >= 400, "{tally:?} are enough to judge");
    assert!(f64::from(tally.inside) >= 0.93 * f64::from(tally.judged), "{tally:?}");
    assert!(tally.short >= 20 && f64::from(tally.within) >= 0.93 * f64::from(tally.short), "{tally:?}");
}

#[test]
fn requests_on_a_card_without_a_counter_are_inside_theirs_too() {
    let mut rng = Rng(4_005);
    let mut tally = Tally::default();
    for lanes in [1, 2, 8, 64] {
        for _ in 0..(if lanes == 64 { 2 } else { 8 }) {
            // Pascal: a power reading each 20 ms that looks at the last 10 of them.
            let driver = FakeNvml::new().unwrap();
            driver.gpu(0).preset(Preset::Pascal).unwrap().power_limit(700.0).unwrap();
            let rig = judge(driver, lanes, &mut rng, &mut tally);
            let records = rig.kept.records.lock().unwrap();
            let methods = records.iter().filter_map(|record| record.settlement.energy.as_ref());
            assert!(methods.into_iter().all(|energy| energy.method == Method::Integrated));
        }
    }
    assert!(tally.judged >= 400, "{tally:?} are enough to judge");
    assert!(f64::from(tally.inside) >= 0.93 * f64::from(tally.judged), "{tally:?}");
}

#[test]
fn a_load_locked_to_the_sensor_is_flagged() {
    let mut rng = Rng(4_004);
    let driver = driver(1, REFRESH_US, &mut rng);
    driver.gpu(0).idle_watts(60.0).unwrap();
    let locked: Vec<Planned> = (0..40)
        .map(|turn| Planned { begin_us: 1_000_000 + turn * 200_000, end_us: 1_150_000 + turn * 200_000 })
        .collect();
    for (index, planned) in locked.iter().enumerate() {
        driver.gpu(0).load(&format!("r{index}"), planned.begin_us, planned.end_us, 300.0, 0).unwrap();
    }
    let mut rig = Rig::new(driver);
    let spans = play(&mut rig, &locked, &mut rng);
    let flagged = spans.iter().filter(|span| has_flag(span, EnergyFlag::AliasingPossible)).count();
    // It takes eight begins to see that they are regular.
    assert!(flagged >= 30, "{flagged} of 40 are flagged");

    // The same load at random times is not.
    let driver = self::driver(1, REFRESH_US, &mut rng);
    let free = plan(1, &mut rng);
    let mut rig = Rig::new(driver);
    let spans = play(&mut rig, &free, &mut rng);
    assert!(spans.iter().all(|span| !has_flag(span, EnergyFlag::AliasingPossible)));
}
