//! Scripts of intervals and inferences, and the books that must come of them.

use std::borrow::Cow;

use wattspan_core::{DeviceKind, EnergyFlag, GapReason, Method, Vendor};

use super::*;
use crate::meter::SensorKind;

fn at(millis: u64) -> MonoTime {
    MonoTime::from_nanos(millis * 1_000_000)
}

fn id(number: u64) -> InferenceId {
    InferenceId::new(number)
}

fn device(name: &str, kind: DeviceKind) -> Arc<Device> {
    Arc::new(Device::new(DeviceId::new(name), kind, Vendor::Unknown, "test"))
}

fn gpu() -> Arc<Device> {
    device("gpu", DeviceKind::Gpu)
}

fn measured(from: u64, to: u64, millijoules: i64) -> Measured {
    let mut measured =
        Measured::new(at(from), at(to), Joules::from_millijoules(millijoules), Method::Counter);
    measured.refresh = Some(Duration::from_millis(100));
    measured
}

/// Feeds intervals of 100 ms at so many watts, one per poll, from `from` to `to` milliseconds.
fn feed(ledger: &mut Ledger, device: &Arc<Device>, from: u64, to: u64, watts: i64) -> Closed {
    let mut all = Closed::default();
    for start in (from..to).step_by(100) {
        ledger.interval(device, measured(start, start + 100, watts * 100), Ownership::OURS);
        add(&mut all, ledger.advance(at(start + 100)));
    }
    all
}

fn add(all: &mut Closed, more: Closed) {
    all.intervals.extend(more.intervals);
    all.settled.extend(more.settled);
}

fn joules(settled: &Settled) -> f64 {
    settled.energy.as_ref().unwrap().total.joules()
}

#[track_caller]
fn adds_up(ledger: &Ledger, device: &Arc<Device>, millijoules: i64) {
    assert_eq!(ledger.totals(&device.id).unwrap().total(), Joules::from_millijoules(millijoules));
}

#[test]
fn case_attribution_03_two_requests_at_once_share() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    ledger.begin(id(2), at(5_000), DeviceScope::All);
    for second in 5..=10 {
        ledger.mark(id(1), at(second * 1_000), 0, second * 30);
        ledger.mark(id(2), at(second * 1_000), 0, (second - 5) * 30);
    }
    ledger.finish(id(1), at(10_000), LatePhases::default());
    ledger.finish(id(2), at(10_000), LatePhases::default());
    let mut settled = feed(&mut ledger, &gpu, 0, 10_000, 300).settled;
    settled.extend(feed(&mut ledger, &gpu, 10_000, 10_200, 0).settled);
    let energies: Vec<f64> = settled.iter().map(joules).collect();
    assert_eq!(energies, [2_250.0, 750.0]);
    adds_up(&ledger, &gpu, 3_000_000);
}

#[test]
fn case_attribution_05_only_the_devices_in_scope_are_charged() {
    let mut ledger = Ledger::new();
    let gpus: Vec<_> = (0..8).map(|index| device(&format!("GPU-{index}"), DeviceKind::Gpu)).collect();
    ledger.begin(id(1), at(0), DeviceScope::Gpus(Arc::new([gpus[3].id.clone()])));
    ledger.finish(id(1), at(10_000), LatePhases::default());
    for (index, gpu) in gpus.iter().enumerate() {
        let watts = if index == 3 { 400 } else { 60 };
        ledger.interval(gpu, measured(0, 10_000, watts * 10_000), Ownership::OURS);
        ledger.interval(gpu, measured(10_000, 10_100, watts * 100), Ownership::OURS);
    }
    let settled = ledger.flush(at(10_100)).settled;
    assert_eq!(settled.iter().map(joules).collect::<Vec<_>>(), [4_000.0]);
    assert_eq!(ledger.totals(&gpus[0].id).unwrap().inference, Joules::ZERO);
    adds_up(&ledger, &gpus[0], 606_000);
}

#[test]
fn case_measurement_03_only_monotonic_times_count() {
    // The wall clock that steps back between two samples has no place here at all.
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(3_000), DeviceScope::All);
    ledger.finish(id(1), at(7_000), LatePhases::default());
    for second in 0..10 {
        ledger.interval(&gpu, measured(second * 1_000, (second + 1) * 1_000, 50_000), Ownership::OURS);
    }
    let closed = ledger.flush(at(10_000));
    assert_eq!(joules(&closed.settled[0]), 200.0);
    assert_eq!(closed.intervals.len(), 10);
    adds_up(&ledger, &gpu, 500_000);
}

#[test]
fn an_interval_is_closed_one_poll_late() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.interval(&gpu, measured(0, 100, 10_000), Ownership::OURS);
    assert!(ledger.advance(at(100)).intervals.is_empty());
    // Begun inside it, said only now: still in time.
    ledger.begin(id(1), at(40), DeviceScope::All);
    assert_eq!(ledger.advance(at(110)).intervals.len(), 1);
    assert_eq!(ledger.totals(&gpu.id).unwrap().inference, Joules::from_millijoules(6_000));
    assert_eq!(ledger.clipped(), Clipped::default());
    ledger.begin(id(2), at(40), DeviceScope::All);
    assert_eq!(ledger.clipped().begins, 1);
}

#[test]
fn settled_at_the_second_refresh_after_the_end() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(20), DeviceScope::All);
    ledger.finish(id(1), at(250), LatePhases::default());
    // Refreshes at 300 and 400 follow the end; the second comes in at the poll of 400.
    for (start, done) in [(0, 0), (100, 0), (200, 0), (300, 1)] {
        let closed = feed(&mut ledger, &gpu, start, start + 100, 100);
        assert_eq!(closed.settled.len(), done, "after {start}");
    }
}

#[test]
fn a_trailing_mean_is_waited_for_until_its_window_has_passed() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    ledger.finish(id(1), at(100), LatePhases::default());
    let mut settled_at = None;
    for start in (0..2_000).step_by(100) {
        let mut one = measured(start, start + 100, 10_000);
        one.sensor = SensorKind::TrailingMean { window: Duration::from_secs(1) };
        ledger.interval(&gpu, one, Ownership::OURS);
        if !ledger.advance(at(start + 600)).settled.is_empty() {
            settled_at = Some(start + 100);
        }
    }
    // End, half a window (the other half is in the back-dating) and one update.
    assert_eq!(settled_at, Some(700));
}

#[test]
fn idle_draw_before_and_after_stays_idle() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    feed(&mut ledger, &gpu, 0, 1_000, 50);
    ledger.begin(id(1), at(1_050), DeviceScope::All);
    ledger.finish(id(1), at(1_150), LatePhases::default());
    // 50 W while idle, 450 W from 1.05 s to 1.15 s.
    let mut closed = feed(&mut ledger, &gpu, 1_000, 1_200, 250);
    add(&mut closed, feed(&mut ledger, &gpu, 1_200, 1_500, 50));
    let energy = closed.settled[0].energy.clone().unwrap();
    assert_eq!(energy.total, Joules::from_millijoules(45_000));
    assert_eq!(energy.idle, Some(Joules::from_millijoules(5_000)));
    assert_eq!(energy.method, Method::Counter);
    assert_eq!(energy.policy, "tokens");
    assert_eq!(energy.coverage, Ratio::ONE);
    assert_eq!(ledger.baseline(&gpu.id), Watts::new(50.0));
}

#[test]
fn without_a_baseline_the_cut_is_by_time_and_idle_is_absent() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(50), DeviceScope::All);
    ledger.finish(id(1), at(200), LatePhases::default());
    let closed = feed(&mut ledger, &gpu, 0, 400, 100);
    let energy = closed.settled[0].energy.clone().unwrap();
    assert_eq!((energy.total, energy.idle), (Joules::from_millijoules(15_000), None));
}

#[test]
fn begin_and_finish_inside_one_interval_reports_bounds() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    feed(&mut ledger, &gpu, 0, 1_000, 50);
    ledger.begin(id(1), at(1_020), DeviceScope::All);
    ledger.finish(id(1), at(1_070), LatePhases::default());
    let mut closed = feed(&mut ledger, &gpu, 1_000, 1_100, 150);
    add(&mut closed, feed(&mut ledger, &gpu, 1_100, 1_500, 50));
    let energy = closed.settled[0].energy.clone().unwrap();
    // 15 J less 50 ms of 50 W.
    assert_eq!(energy.total, Joules::from_millijoules(12_500));
    assert_eq!(energy.flags, [EnergyFlag::BelowResolution]);
    let bounds = energy.bounds.unwrap();
    assert_eq!(bounds.low, Joules::from_millijoules(2_500));
    // The largest seen is 150 W: for 50 ms that is less than the interval's 15 J.
    assert_eq!(bounds.high, Joules::from_millijoules(7_500));
}

#[test]
fn an_inference_of_no_length_gets_nothing_and_hurts_nobody() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(50), DeviceScope::All);
    ledger.finish(id(1), at(50), LatePhases::default());
    ledger.begin(id(2), at(0), DeviceScope::All);
    ledger.finish(id(2), at(100), LatePhases::default());
    let closed = feed(&mut ledger, &gpu, 0, 400, 100);
    assert_eq!(closed.settled.len(), 2);
    assert_eq!(
        closed.settled.iter().filter_map(|one| one.energy.as_ref()).map(|one| one.total).sum::<Joules>(),
        Joules::from_millijoules(10_000)
    );
}

#[test]
fn a_late_finish_is_clipped_and_counted() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    feed(&mut ledger, &gpu, 0, 500, 100);
    ledger.finish(id(1), at(150), LatePhases::default());
    assert_eq!(ledger.clipped().finishes, 1);
    let closed = feed(&mut ledger, &gpu, 500, 700, 100);
    let settled = &closed.settled[0];
    // Four intervals were final; the fifth, still open, is not its own any more.
    assert_eq!(joules(settled), 40.0);
    assert_eq!(settled.energy.as_ref().unwrap().coverage, Ratio::ONE);
    ledger.flush(at(700));
    adds_up(&ledger, &gpu, 70_000);
}

#[test]
fn what_comes_after_an_early_settlement_is_nobodys() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    feed(&mut ledger, &gpu, 0, 200, 100);
    ledger.finish(id(1), at(350), LatePhases::default());
    let settled = ledger.settle(id(1)).unwrap();
    let energy = settled.energy.unwrap();
    assert_eq!(energy.total, Joules::from_millijoules(20_000));
    assert!(energy.flags.contains(&EnergyFlag::SettledEarly));
    assert!((energy.coverage.ratio() - 200.0 / 350.0).abs() < 1e-9);
    assert_eq!(ledger.settle(id(1)), None);
    let closed = feed(&mut ledger, &gpu, 200, 600, 100);
    assert_eq!(closed.settled, []);
    let totals = ledger.totals(&gpu.id).unwrap();
    assert_eq!(totals.inference, Joules::from_millijoules(20_000));
    assert_eq!(totals.unattributed, Joules::from_millijoules(15_000));
    ledger.flush(at(600));
    adds_up(&ledger, &gpu, 60_000);
}

#[test]
fn there_is_a_bound_on_the_wait() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    feed(&mut ledger, &gpu, 0, 200, 100);
    ledger.finish(id(1), at(350), LatePhases::default());
    assert_eq!(ledger.advance(at(10_000)).settled, []);
    let settled = ledger.advance(at(10_400)).settled;
    assert!(settled[0].energy.as_ref().unwrap().flags.contains(&EnergyFlag::SettledEarly));
    assert_eq!(ledger.open(), 0);
}

#[test]
fn without_any_device_there_is_no_energy() {
    let mut ledger = Ledger::new();
    ledger.begin(id(1), at(0), DeviceScope::All);
    ledger.finish(id(1), at(100), LatePhases::default());
    assert_eq!(ledger.settle(id(1)).unwrap().energy, None);
}

#[test]
fn a_gap_lowers_coverage_and_adds_nothing() {
    let (mut ledger, gpu, other) = (Ledger::new(), gpu(), device("cpu", DeviceKind::Cpu));
    ledger.begin(id(1), at(0), DeviceScope::All);
    ledger.finish(id(1), at(400), LatePhases::default());
    for start in [0, 100, 200, 300, 400] {
        let gap = Measured::gap(at(start), at(start + 100), Method::Counter, GapReason::CounterReset);
        let one = if start == 100 { gap } else { measured(start, start + 100, 10_000) };
        ledger.interval(&gpu, one, Ownership::OURS);
        ledger.interval(&other, measured(start, start + 100, 1_000), Ownership::OURS);
    }
    let closed = ledger.flush(at(500));
    let energy = closed.settled[0].energy.clone().unwrap();
    assert_eq!(energy.total, Joules::from_millijoules(34_000));
    assert_eq!(energy.coverage, Ratio::new(0.75).unwrap());
    assert_eq!(energy.of_kind(DeviceKind::Cpu), Some(Joules::from_millijoules(4_000)));
    let gaps: Vec<_> = closed.intervals.iter().filter_map(|interval| interval.gap).collect();
    assert_eq!(gaps, [GapReason::CounterReset]);
}

#[test]
fn devices_may_appear_and_vanish() {
    let (mut ledger, gpu, late) = (Ledger::new(), gpu(), device("late", DeviceKind::Gpu));
    ledger.begin(id(1), at(0), DeviceScope::All);
    feed(&mut ledger, &gpu, 0, 400, 100);
    feed(&mut ledger, &late, 200, 400, 50);
    ledger.finish(id(1), at(400), LatePhases::default());
    assert_eq!(feed(&mut ledger, &gpu, 400, 700, 100).settled, [], "the other device is waited for");
    ledger.remove_device(&late.id);
    let closed = feed(&mut ledger, &gpu, 700, 800, 100);
    let energy = closed.settled[0].energy.clone().unwrap();
    assert_eq!(energy.devices.len(), 2);
    assert_eq!(energy.total, Joules::from_millijoules(50_000));
    assert_eq!(energy.coverage, Ratio::new(0.5).unwrap());
}

#[test]
fn a_part_is_never_added_to_its_whole() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    let mut slice = Device::new(DeviceId::new("slice"), DeviceKind::GpuPartition, Vendor::Nvidia, "1g.10gb");
    slice.parent = Some(gpu.id.clone());
    let slice = Arc::new(slice);
    ledger.begin(id(1), at(0), DeviceScope::All);
    ledger.begin(id(2), at(0), DeviceScope::Only(Arc::new([slice.id.clone()])));
    ledger.begin(id(3), at(0), DeviceScope::Only(Arc::new([slice.id.clone(), gpu.id.clone()])));
    for number in 1..=3 {
        ledger.finish(id(number), at(100), LatePhases::default());
    }
    for device in [&gpu, &slice] {
        let watts = if device.id == gpu.id { 100 } else { 60 };
        ledger.interval(device, measured(0, 100, watts * 100), Ownership::OURS);
        ledger.interval(device, measured(100, 200, 0), Ownership::OURS);
    }
    let settled = ledger.flush(at(200)).settled;
    let kinds: Vec<_> = settled
        .iter()
        .map(|one| one.energy.as_ref().unwrap().devices.iter().map(|share| share.kind).collect::<Vec<_>>())
        .collect();
    assert_eq!(kinds, [[DeviceKind::Gpu], [DeviceKind::GpuPartition], [DeviceKind::Gpu]]);
    adds_up(&ledger, &gpu, 10_000);
    adds_up(&ledger, &slice, 6_000);
    assert_eq!(ledger.totals(&slice.id).unwrap().inference, Joules::from_millijoules(6_000));
}

#[test]
fn gpus_in_scope_come_with_everything_that_is_no_gpu() {
    let mut ledger = Ledger::new();
    let devices = [gpu(), device("other", DeviceKind::Gpu), device("cpu", DeviceKind::Cpu)];
    ledger.begin(id(1), at(0), DeviceScope::Gpus(Arc::new([devices[0].id.clone()])));
    ledger.begin(id(2), at(0), DeviceScope::Only(Arc::new([devices[2].id.clone()])));
    for number in [1, 2] {
        ledger.finish(id(number), at(100), LatePhases::default());
    }
    for device in &devices {
        ledger.interval(device, measured(0, 100, 10_000), Ownership::OURS);
        ledger.interval(device, measured(100, 200, 0), Ownership::OURS);
    }
    let settled = ledger.flush(at(200)).settled;
    assert_eq!(settled.iter().map(joules).collect::<Vec<_>>(), [15.0, 5.0]);
}

#[test]
fn what_others_do_is_told_from_what_nobody_knows() {
    let (mut ledger, cpu) = (Ledger::new(), device("cpu", DeviceKind::Cpu));
    feed(&mut ledger, &cpu, 0, 1_000, 20);
    ledger.begin(id(1), at(1_000), DeviceScope::All);
    ledger.finish(id(1), at(1_100), LatePhases::default());
    let share = |part: f64| Ratio::share(part).unwrap();
    let ownership = Ownership { ours: share(0.5), others: share(0.25) };
    ledger.interval(&cpu, measured(1_000, 1_100, 10_000), ownership);
    ledger.interval(&cpu, measured(1_100, 1_200, 2_000), Ownership::OURS);
    let settled = ledger.flush(at(1_200)).settled;
    // 2 J idle draw, and half of the 8 J above it.
    assert_eq!(joules(&settled[0]), 6.0);
    let totals = ledger.totals(&cpu.id).unwrap();
    assert_eq!(totals.other, Joules::from_millijoules(2_000));
    assert_eq!(totals.unattributed, Joules::from_millijoules(2_000));
    adds_up(&ledger, &cpu, 32_000);
}

#[test]
fn weights_come_from_marks_and_the_policy_is_told() {
    let run = |policy: Arc<dyn SharePolicy>| {
        let (mut ledger, gpu) =
            (Ledger::with_config(LedgerConfig { policy, ..LedgerConfig::default() }), gpu());
        feed(&mut ledger, &gpu, 0, 1_000, 0);
        for number in [1, 2] {
            ledger.begin(id(number), at(1_000), DeviceScope::All);
        }
        ledger.mark(id(1), at(1_200), 0, 30);
        ledger.mark(id(2), at(1_200), 0, 10);
        for number in [1, 2] {
            ledger.finish(id(number), at(1_200), LatePhases::default());
        }
        let settled = feed(&mut ledger, &gpu, 1_000, 1_500, 400).settled;
        settled.into_iter().map(|one| one.energy.unwrap()).collect::<Vec<_>>()
    };
    let by_tokens = run(Arc::new(ByTokens::default()));
    assert_eq!(by_tokens[0].total, Joules::from_millijoules(60_000));
    assert_eq!(by_tokens[0].policy_spread, Joules::from_millijoules(20_000));
    let by_time = run(Arc::new(ByTime));
    assert_eq!(by_time[0].total, Joules::from_millijoules(40_000));
    assert_eq!((by_time[0].policy_spread, &by_time[0].policy), (Joules::ZERO, &Cow::Borrowed("time")));
    let calibrated = run(Arc::new(ByTokens { alpha: 0.25 }));
    assert_eq!(calibrated[0].policy, "tokens(alpha=0.25)");
}

#[test]
fn prompt_tokens_weigh_alpha_and_a_users_policy_is_asked() {
    #[derive(Debug)]
    struct PromptOnly;
    impl SharePolicy for PromptOnly {
        fn name(&self) -> Cow<'static, str> {
            Cow::Borrowed("prompt")
        }
        fn weight(&self, work: &Work) -> Option<f64> {
            Some(work.prompt_tokens)
        }
    }
    let run = |policy: Arc<dyn SharePolicy>| {
        let (mut ledger, gpu) =
            (Ledger::with_config(LedgerConfig { policy, ..LedgerConfig::default() }), gpu());
        for (number, prompt, decode) in [(1, 30, 10), (2, 10, 30)] {
            ledger.begin(id(number), at(0), DeviceScope::All);
            ledger.mark(id(number), at(100), prompt, decode);
            ledger.finish(id(number), at(100), LatePhases::default());
        }
        let settled = feed(&mut ledger, &gpu, 0, 300, 100).settled;
        settled.iter().map(joules).collect::<Vec<_>>()
    };
    assert_eq!(run(Arc::new(ByTokens { alpha: 1.0 })), [5.0, 5.0]);
    assert_eq!(run(Arc::new(ByTokens { alpha: 3.0 })), [6.25, 3.75]);
    assert_eq!(run(Arc::new(PromptOnly)), [7.5, 2.5]);
}

#[test]
fn an_unknown_weight_is_the_mean_of_the_known() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    for number in [1, 2, 3] {
        ledger.begin(id(number), at(0), DeviceScope::All);
    }
    ledger.mark(id(1), at(100), 0, 30);
    ledger.mark(id(2), at(100), 0, 10);
    for number in [1, 2, 3] {
        ledger.finish(id(number), at(100), LatePhases::default());
    }
    let settled = feed(&mut ledger, &gpu, 0, 300, 120).settled;
    assert_eq!(settled.iter().map(joules).collect::<Vec<_>>(), [6.0, 2.0, 4.0]);
}

#[test]
fn phases_told_at_the_end_weigh_what_is_not_final() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    for number in [1, 2] {
        ledger.begin(id(number), at(0), DeviceScope::All);
    }
    // The first interval is closed before anything is known: shared equally.
    let mut closed = feed(&mut ledger, &gpu, 0, 200, 100);
    let mut phases = LatePhases::default();
    (phases.decode_steps, phases.decode) = (Some(30), Some(Duration::from_millis(300)));
    ledger.finish(id(1), at(300), phases);
    (phases.decode_steps, phases.decode) = (Some(10), Some(Duration::from_millis(300)));
    ledger.finish(id(2), at(300), phases);
    add(&mut closed, feed(&mut ledger, &gpu, 200, 600, 100));
    assert_eq!(closed.settled.iter().map(joules).collect::<Vec<_>>(), [5.0 + 15.0, 5.0 + 5.0]);
}

#[test]
fn a_load_is_shared_by_time() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    ledger.begin(id(2), at(0), DeviceScope::All);
    ledger.begin_as(id(3), at(0), DeviceScope::All, Workload::Load);
    for (number, steps) in [(1, 30), (2, 10), (3, 1_000)] {
        ledger.mark(id(number), at(100), 0, steps);
        ledger.finish(id(number), at(100), LatePhases::default());
    }
    let settled = feed(&mut ledger, &gpu, 0, 300, 120).settled;
    assert_eq!(settled.iter().map(joules).collect::<Vec<_>>(), [6.0, 2.0, 4.0]);
}

#[test]
fn tariffs_add_up_to_the_total() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    for number in [1, 2, 3] {
        ledger.begin(id(number), at(0), DeviceScope::All);
        ledger.finish(id(number), at(300), LatePhases::default());
    }
    ledger.tariff(at(0), 7);
    ledger.tariff(at(130), 4);
    ledger.tariff(at(250), 7);
    let settled = feed(&mut ledger, &gpu, 0, 600, 100).settled;
    for one in &settled {
        let total = one.energy.as_ref().unwrap().total;
        assert_eq!(one.by_tariff.iter().map(|(_, energy)| *energy).sum::<Joules>(), total);
        assert_eq!(one.by_tariff.iter().map(|(tariff, _)| *tariff).collect::<Vec<_>>(), [7, 4]);
        assert!((one.by_tariff[1].1.joules() - 4.0).abs() < 1e-5, "{one:?}");
    }
}

#[test]
fn overlapping_intervals_never_open_what_is_closed() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    feed(&mut ledger, &gpu, 0, 300, 100);
    ledger.flush(at(300));
    ledger.interval(&gpu, measured(200, 400, 20_000), Ownership::OURS);
    ledger.interval(&gpu, measured(100, 150, 5_000), Ownership::OURS);
    ledger.flush(at(400));
    assert_eq!(ledger.clipped().intervals, 2);
    let totals = ledger.totals(&gpu.id).unwrap();
    assert_eq!(totals.inference, Joules::from_millijoules(40_000));
    assert_eq!(totals.unattributed, Joules::from_millijoules(15_000));
}

#[test]
fn a_forgotten_inference_is_not_settled_and_leaves_nothing() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    feed(&mut ledger, &gpu, 0, 300, 100);
    ledger.forget(id(1), at(250));
    assert_eq!(feed(&mut ledger, &gpu, 300, 600, 100).settled, []);
    assert_eq!(ledger.open(), 0);
    ledger.flush(at(600));
    adds_up(&ledger, &gpu, 60_000);
    assert_eq!(ledger.totals(&gpu.id).unwrap().inference, Joules::from_millijoules(25_000));
}

#[test]
fn disagreeing_sensors_widen_the_systematic_part() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    ledger.finish(id(1), at(300), LatePhases::default());
    for start in [0, 100, 200, 300] {
        let mut one = measured(start, start + 100, 10_000);
        one.cross_check = Some(1.74);
        ledger.interval(&gpu, one, Ownership::OURS);
    }
    let energy = ledger.flush(at(400)).settled[0].energy.clone().unwrap();
    assert!(energy.flags.contains(&EnergyFlag::CrossCheckFailed));
    assert!((energy.uncertainty.unwrap().systematic.joules() - 0.74 * 30.0).abs() < 1e-6);
}

#[test]
fn loads_that_keep_time_with_the_sensor_are_flagged() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    let mut closed = Closed::default();
    for turn in 0..20 {
        ledger.begin(id(turn), at(turn * 200 + 10), DeviceScope::All);
        ledger.finish(id(turn), at(turn * 200 + 120), LatePhases::default());
        add(&mut closed, feed(&mut ledger, &gpu, turn * 200, turn * 200 + 200, 100));
    }
    let flagged = |one: &Settled| one.energy.as_ref().unwrap().flags.contains(&EnergyFlag::AliasingPossible);
    assert!(!flagged(&closed.settled[0]));
    assert!(flagged(closed.settled.last().unwrap()));
}

#[test]
fn methods_that_are_mixed_say_so() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    ledger.begin(id(1), at(0), DeviceScope::All);
    ledger.finish(id(1), at(200), LatePhases::default());
    for start in [0, 100, 200] {
        let mut one = measured(start, start + 100, 10_000);
        one.method = if start == 0 { Method::Counter } else { Method::Integrated };
        ledger.interval(&gpu, one, Ownership::OURS);
    }
    assert_eq!(ledger.flush(at(300)).settled[0].energy.as_ref().unwrap().method, Method::Mixed);
}

#[test]
fn memory_for_each_inference_is_as_documented() {
    // The figure in docs/calibration.md.
    assert!(Ledger::bytes_per_inference(1) <= 700, "{}", Ledger::bytes_per_inference(1));
    assert!(Ledger::bytes_per_inference(8) <= 3_500, "{}", Ledger::bytes_per_inference(8));
}

#[test]
fn a_long_run_does_not_grow() {
    let (mut ledger, gpu) = (Ledger::new(), gpu());
    let sizes = |ledger: &Ledger| {
        let book = ledger.books.values().next().map_or(0, Book::held);
        (ledger.slots.len(), ledger.waiting.len(), ledger.tariffs.len() / 65, book / 20)
    };
    let mut early = None;
    for turn in 0..20_000_u64 {
        let start = turn * 100;
        ledger.begin(id(turn), at(start + 10), DeviceScope::All);
        ledger.mark(id(turn), at(start + 50), turn, turn);
        ledger.tariff(at(start), turn as u32);
        feed(&mut ledger, &gpu, start, start + 100, 100 + (turn % 7) as i64);
        if turn % 50 == 0 {
            ledger.forget(id(turn), at(start + 90));
        } else {
            ledger.finish(id(turn), at(start + 90), LatePhases::default());
        }
        if turn == 1_000 {
            early = Some(sizes(&ledger));
        }
    }
    assert_eq!(Some(sizes(&ledger)), early);
    assert!(ledger.open() < 5);
}

#[test]
fn without_any_device_several_inferences_are_settled_with_nothing_known() {
    for count in [1, 2, 65, 200] {
        let mut ledger = Ledger::new();
        for number in 0..count {
            ledger.begin(id(number), at(0), DeviceScope::All);
            ledger.finish(id(number), at(1_000), LatePhases::default());
        }
        // Long after any bound on the wait.
        let settled = ledger.advance(at(3_600_000)).settled;
        assert_eq!(settled.len() as u64, count);
        assert!(settled.iter().all(|settled| settled.energy.is_none()), "nothing measured them");
        assert_eq!(ledger.open(), 0);
    }
}
