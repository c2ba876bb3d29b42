//! Half an hour of faults in seconds: errors, lost GPUs, driver reloads, frozen counters, missing symbols, slow calls and
//! a sampler that stalls. Nothing panics, nothing leaks, and no joule that was measured is lost.

#[path = "support/rig.rs"]
mod rig;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use wattspan_core::{
    Begin, Clock, Facts, Finish, Joules, LatePhases, Locality, Probe, SampleSink, SampleTick, Settle,
    SettleReason, Settlement,
};
use wattspan_energy::Meter;
use wattspan_fake_nvml::FakeNvml;
use wattspan_fake_nvml::model::Preset;
use wattspan_monitor::PerformanceMonitor;

use rig::{Rig, Rng};

/// What meters of the test's own make of the same samples.
#[derive(Default)]
struct Beside {
    meters: Mutex<BTreeMap<String, (Meter, Joules)>>,
}

impl SampleSink for Beside {
    fn sampled(&self, tick: &SampleTick<'_>) {
        let mut meters = self.meters.lock().unwrap();
        for sample in tick.samples {
            let (meter, sum) = meters
                .entry(sample.device.id.as_str().to_owned())
                .or_insert_with(|| (Meter::new(Arc::clone(&sample.device)), Joules::ZERO));
            let mut measured = Vec::new();
            meter.read(sample, &mut measured);
            *sum += measured.iter().filter_map(|measured| measured.energy.ok()).sum::<Joules>();
        }
    }
}

/// Counts settlements by reason, and finds one that comes twice.
#[derive(Default)]
struct Counts {
    settled: AtomicUsize,
    twice: AtomicUsize,
    reasons: Mutex<BTreeSet<&'static str>>,
}

struct Once(Arc<Counts>, bool);

impl Settle for Once {
    fn settle(mut self: Box<Self>, settlement: &Settlement) {
        self.0.twice.fetch_add(usize::from(self.1), Ordering::SeqCst);
        self.1 = true;
        self.0.settled.fetch_add(1, Ordering::SeqCst);
        self.0.reasons.lock().unwrap().insert(settlement.reason.as_str());
    }
}

const GPUS: u64 = 3;
const SECOND: u64 = 1_000_000;

/// Something goes wrong on some GPU, and is over some seconds later.
fn fault(driver: &FakeNvml, now: u64, rng: &mut Rng) -> &'static str {
    let gpu = rng.below(GPUS);
    let over = now + SECOND / 2 + rng.below(15 * SECOND);
    let functions =
        ["nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetFieldValues", "*"];
    match rng.below(9) {
        0 | 1 => {
            // Unknown, not supported, no permission, timeout.
            let code = [999, 3, 4, 10][rng.below(4) as usize];
            let function = functions[rng.below(4) as usize];
            driver.control(&format!("gpu {gpu} err {function} {code} until {over}")).unwrap();
            "error"
        }
        2 => {
            driver.control(&format!("gpu {gpu} lost\nat {over} gpu {gpu} return index {gpu}")).unwrap();
            "lost"
        }
        3 => {
            driver.control(&format!("gpu {gpu} lost\nat {over} gpu {gpu} return keep")).unwrap();
            "lost, counter kept"
        }
        4 => {
            driver.reload_driver().unwrap();
            "reload"
        }
        5 => {
            driver.control(&format!("gpu {gpu} counter freeze\nat {over} gpu {gpu} counter thaw")).unwrap();
            "frozen"
        }
        6 => {
            driver.control(&format!("gpu {gpu} counter reset")).unwrap();
            "reset"
        }
        7 => {
            driver.control(&format!("delay_us 20\nat {} delay_us 0", now + SECOND)).unwrap();
            "slow"
        }
        _ => {
            driver.control(&format!("err nvmlInit_v2 9 until {over}\ndriver reload")).unwrap();
            "driver not loaded"
        }
    }
}

/// An inference in flight: when it ends, whether it is given up, and its probe.
struct Flight {
    end: u64,
    gives_up: bool,
    probe: Box<dyn Probe>,
}

/// Energy by device and state, settlements, and the kinds of faults.
#[derive(Debug, PartialEq)]
struct Outcome {
    energy: Vec<(String, [i128; 4])>,
    settled: usize,
    gaps: usize,
    faults: BTreeSet<&'static str>,
}

fn soak(minutes: u64, seed: u64, without: Option<&str>, preset: Preset) -> Outcome {
    let mut rng = Rng(seed);
    let mut builder = FakeNvml::builder().gpus(GPUS as usize);
    if let Some(symbol) = without {
        builder = builder.without_symbol(symbol);
    }
    let driver = builder.load().unwrap();
    driver.all_gpus().preset(preset).unwrap().power_limit(450.0).unwrap().idle_watts(60.0).unwrap();
    let beside = Arc::new(Beside::default());
    let mut rig = Rig::with(driver, |monitor| monitor.sample_sink(beside.clone()));
    let window = PerformanceMonitor::start_stepped(&rig.stepper);
    let observer = rig.stepper.observer();
    let counts = Arc::new(Counts::default());

    let end = minutes * 60 * SECOND;
    let (mut next_poll, mut next_begin, mut next_fault) = (0, SECOND, 10 * SECOND);
    let mut flights: Vec<Flight> = Vec::new();
    let (mut finished, mut given_up, mut number, mut most_held) = (0, 0_usize, 0_u64, 0);
    let mut faults = BTreeSet::new();
    while rig.now_us() < end {
        let next_end = flights.iter().map(|flight| flight.end).min().unwrap_or(u64::MAX);
        let next = next_poll.min(next_begin).min(next_fault).min(next_end);
        rig.go_to(next);
        if next == next_poll {
            rig.stepper.step();
            next_poll = rig.next_poll_us(&mut rng);
            if rng.below(2_000) == 0 {
                // The sampler was not given the processor for a while.
                next_poll += rng.below(12 * SECOND);
            }
            let (open, ledger) = rig.stepper.held();
            most_held = most_held.max(open).max(ledger);
        } else if next == next_begin {
            let mut begin = Begin::new(rig.clock.mono(), rig.clock.wall(), "chat", "llama_cpp");
            if rng.below(20) == 0 {
                begin.locality = Locality::Remote;
            }
            let load = rng.between(20.0, 60.0);
            let until = next + (rng.log_between(0.02, 8.0) * SECOND as f64) as u64;
            for gpu in 0..GPUS {
                // A GPU that is off the bus takes no load.
                let line = format!("gpu {gpu} load add r{number} {next} {until} {load} 15000");
                rig.driver.control(&line).unwrap();
            }
            flights.push(Flight { end: until, gives_up: rng.below(15) == 0, probe: observer.begin(begin) });
            number += 1;
            // Bursts of many, then pauses in which everything settles.
            let pause = if rng.below(12) == 0 { rng.between(8.0, 25.0) } else { rng.between(0.01, 1.2) };
            next_begin = next + (pause * SECOND as f64) as u64;
        } else if next == next_fault {
            faults.insert(fault(&rig.driver, next, &mut rng));
            next_fault = next + 15 * SECOND + rng.below(75 * SECOND);
            if number % 7 == 0 {
                rig.driver
                    .control(&format!("gpu all load forget {}", next.saturating_sub(60 * SECOND)))
                    .unwrap();
            }
        } else {
            let at = flights.iter().position(|flight| flight.end == next).unwrap();
            let flight = flights.swap_remove(at);
            if flight.gives_up {
                given_up += 1;
                continue;
            }
            finished += 1;
            flight.probe.decoded(rng.below(200));
            let settle = Box::new(Once(Arc::clone(&counts), false));
            flight.probe.finish(Finish::new(
                rig.clock.mono(),
                Facts::default(),
                LatePhases::default(),
                settle,
            ));
        }
    }
    drop(flights);
    // The longest wait for a reading is three seconds.
    rig.poll_until(end + 8 * SECOND, 100_000);
    assert_eq!((rig.stepper.open(), rig.stepper.held()), (0, (0, 0)), "nothing is held any more");
    assert!(most_held < 2_000, "{most_held} inferences were held at once");
    assert_eq!(
        counts.settled.load(Ordering::SeqCst),
        finished,
        "each end was settled, {given_up} were given up"
    );
    assert_eq!(counts.twice.load(Ordering::SeqCst), 0);
    assert_eq!(rig.kept.records.lock().unwrap().len(), finished);
    let reasons = counts.reasons.lock().unwrap().clone();
    assert!(!reasons.contains(SettleReason::Shutdown.as_str()), "{reasons:?}");
    assert!(reasons.contains(SettleReason::Covered.as_str()), "{reasons:?}");

    let Rig { driver, stepper, kept, .. } = rig;
    window.end();
    stepper.finish();
    let report = window.report();
    let intervals = kept.intervals.lock().unwrap();
    let mut energy = Vec::new();
    let mut truth = 0.0;
    for gpu in 0..GPUS as usize {
        truth += driver.gpu(gpu).joules(0, end + 8 * SECOND).unwrap();
    }
    for (device, (_, measured)) in beside.meters.lock().unwrap().iter() {
        let own: Vec<_> = intervals.iter().filter(|interval| interval.device.as_str() == device).collect();
        let parts: Joules = own.iter().map(|interval| interval.energy.total()).sum();
        assert_eq!(parts, *measured, "{device}: no measured joule is lost or made up");
        let reported = report.devices.iter().find(|one| one.id.as_str() == device).unwrap();
        assert_eq!(reported.energy, Some(parts), "{device}: nor in the report of the whole time");
        assert!(reported.coverage.ratio() < 1.0 || reported.gaps == 0, "{device}: {reported:?}");
        assert!(
            own.windows(2)
                .all(|pair| pair[0].end <= pair[1].start || pair[1].energy.inference == Joules::ZERO)
        );
        let mut states = [0; 4];
        for interval in &own {
            for (state, sum) in wattspan_core::EnergyState::ALL.into_iter().zip(&mut states) {
                let part = interval.energy.of(state);
                assert!(!part.is_negative(), "{interval:?}");
                *sum += part.microjoules();
            }
        }
        energy.push((device.clone(), states));
    }
    let total: i128 = energy.iter().flat_map(|(_, states)| states).sum();
    // What lies in gaps is missing, with the back-off of a driver that does not come up; nothing is invented beyond what
    // power readings can be off by.
    let measured = total as f64 / 1e6;
    assert!(measured > 0.5 * truth && measured < 1.03 * truth, "{measured} J of {truth} J");
    let gaps = intervals.iter().filter(|interval| interval.gap.is_some()).count();
    Outcome { energy, settled: finished, gaps, faults }
}

#[test]
fn thirty_minutes_of_faults_lose_no_joule() {
    let outcome = soak(30, 5_001, None, Preset::Ampere);
    assert!(outcome.faults.len() >= 8, "all kinds of faults happened: {:?}", outcome.faults);
    assert!(outcome.gaps > 0 && outcome.settled > 500, "{outcome:?}");
}

#[test]
fn old_drivers_without_symbols_lose_no_joule_either() {
    soak(4, 5_002, Some("nvmlDeviceGetFieldValues"), Preset::Volta);
    soak(4, 5_003, Some("nvmlDeviceGetTotalEnergyConsumption"), Preset::Turing);
    soak(4, 5_004, Some("nvmlDeviceGetMemoryInfo_v2"), Preset::Hopper);
}

#[test]
fn the_same_seed_is_the_same_soak() {
    let run = || soak(3, 5_005, None, Preset::Ada);
    assert_eq!(run(), run());
}
