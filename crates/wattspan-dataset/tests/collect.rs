//! From samples and settled inferences to rows and their sums.

mod common;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::{gpu_row, run};
use wattspan_core::{
    Begin, Boundary, Bytes, Celsius, Cost, Device, DeviceId, DeviceKind, DeviceSample, DeviceShare,
    ElectricityPrice, Emissions, EnergyRange, Estimate, Facts, GapReason, Grams, GramsPerKwh,
    InferenceEnergy, InferenceId, InferenceRecord, Intensity, IntensitySource, IntervalEnergy, Joules,
    Method, MonoTime, Place, PriceSource, Provenance, Ratio, Reading, RecordSink, SampleSink, SampleTick,
    SettleReason, Settlement, StateEnergy, TokenPrice, TraceRef, Uncertainty, Usd, UsdPerKwh, Vendor, Watts,
    Workload,
};
use wattspan_dataset::{
    LeaderboardRow, MetricCollector, MetricRow, ResultCollector, ResultRow, RunAggregate,
};
use wattspan_testkit::conformance;

const START: Duration = Duration::from_secs(1_767_225_600);

/// 500 g and 0.30 USD per kilowatt-hour, always.
struct Fixed;

impl IntensitySource for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn latest(&self, _: &Place, _: SystemTime) -> Option<Intensity> {
        Some(Intensity::new(GramsPerKwh::whole(500), "fixed", Provenance::User))
    }
}

impl PriceSource for Fixed {
    fn electricity(&self, _: &Place, _: SystemTime) -> Option<ElectricityPrice> {
        Some(ElectricityPrice::new(UsdPerKwh::new(0.30)?, "fixed"))
    }
    fn tokens(&self, _: &str, _: &str) -> Option<TokenPrice> {
        None
    }
}

fn device(id: &str, kind: DeviceKind, index: Option<u32>) -> Arc<Device> {
    let mut device = Device::new(DeviceId::new(id), kind, Vendor::Nvidia, "a device");
    device.index = index;
    device.memory_total = Some(Bytes::new(40_960 << 20));
    Arc::new(device)
}

fn at(millis: u64) -> MonoTime {
    MonoTime::from_nanos(millis * 1_000_000)
}

fn sample(device: &Arc<Device>, millis: u64, watts: u32) -> DeviceSample {
    let mut sample = DeviceSample::new(Arc::clone(device), at(millis));
    sample.power = Reading::Value(Watts::whole(watts));
    sample.gauges.utilization = Reading::Value(Ratio::percent(50.0).unwrap());
    sample.gauges.memory_used = Reading::Value(Bytes::new(512 << 20));
    sample.gauges.temperature = Reading::Value(Celsius::whole(41));
    sample
}

fn interval(device: &Arc<Device>, to: u64, inference: i64, idle: i64) -> IntervalEnergy {
    let energy = StateEnergy {
        inference: Joules::from_millijoules(inference),
        idle: Joules::from_millijoules(idle),
        ..StateEnergy::default()
    };
    IntervalEnergy::new(device.id.clone(), at(to - 100), at(to), Method::Counter, energy)
}

fn tick(sink: &MetricCollector, millis: u64, samples: &[DeviceSample], intervals: &[IntervalEnergy]) {
    let wall = UNIX_EPOCH + START + Duration::from_millis(millis);
    sink.sampled(&SampleTick::new(at(millis), wall, samples, intervals));
}

#[test]
fn sinks_take_whatever_comes() {
    conformance::sample_sink(&MetricCollector::new(&run("r"), "demo"));
    conformance::record_sink(&ResultCollector::default());
}

#[test]
fn energy_counts_every_interval_also_between_rows() {
    let sink = MetricCollector::new(&run("r"), "demo").intensity(Arc::new(Fixed)).prices(Arc::new(Fixed));
    let gpu = device("GPU-a", DeviceKind::Gpu, Some(3));
    tick(&sink, 0, &[sample(&gpu, 0, 100)], &[]);
    for tenth in 1..=10_u64 {
        // 360 J of inference and 40 J of idle in all, and a peak that no row's own reading shows.
        let watts = if tenth == 5 { 700 } else { 400 };
        let closed = interval(&gpu, tenth * 100, 36_000, 4_000);
        tick(&sink, tenth * 100, &[sample(&gpu, tenth * 100, watts)], &[closed]);
    }
    let rows = sink.drain();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].energy_j, None);
    let last = &rows[1];
    assert_eq!(
        (last.energy_j, last.energy_inference_j, last.energy_idle_j),
        (Some(400.0), Some(360.0), Some(40.0))
    );
    // 400 J are 1/9000 kWh.
    assert!((last.co2_emissions_gco2e.unwrap() - 500.0 / 9_000.0).abs() < 1e-12);
    assert!((last.power_cost_usd.unwrap() - 0.30 / 9_000.0).abs() < 1e-12);
    assert_eq!((last.power_watts, last.power_peak_watts), (Some(400.0), Some(700.0)));
    assert_eq!(last.gpu_id.as_deref(), Some("3"));
    assert_eq!((last.gpu_utilization_percent, last.gpu_memory_used_mib), (Some(50.0), Some(512.0)));
    assert_eq!((last.gpu_memory_total_mib, last.gpu_temperature_celsius), (Some(40_960.0), Some(41.0)));
    assert_eq!(last.timestamp.to_string(), "2026-01-01T00:00:01.000000Z");
    assert_eq!(last.timestamp_unix_nano, "1767225601000000000");
    assert_eq!((last.energy_method.as_deref(), last.gaps), (Some("counter"), 0));
    assert!(sink.drain().is_empty());
}

#[test]
fn what_is_not_a_gpu_has_no_gpu_columns_and_what_is_not_known_is_absent() {
    let sink = MetricCollector::new(&run("r"), "demo").every(Duration::ZERO);
    let cpu = device("package-0", DeviceKind::Cpu, Some(0));
    let mut lost = DeviceSample::new(device("GPU-b", DeviceKind::Gpu, None), at(0));
    lost.power = Reading::failed("fell off the bus");
    lost.energy = Reading::failed("fell off the bus");
    let gap = IntervalEnergy::gap(cpu.id.clone(), at(0), at(100), Method::Counter, GapReason::CounterReset);
    tick(&sink, 100, &[sample(&cpu, 100, 60), lost], &[gap]);
    let rows = sink.drain();
    let (cpu, lost) = (&rows[0], &rows[1]);
    assert_eq!((&cpu.gpu_id, cpu.gpu_power_watts, cpu.power_watts), (&None, None, Some(60.0)));
    // No intensity is known, and a gap is not zero joules.
    assert_eq!((cpu.co2_emissions_gco2e, cpu.power_cost_usd, cpu.energy_j), (None, None, None));
    assert_eq!((cpu.gaps, cpu.gap_reason.as_deref()), (1, Some("counter_reset")));
    assert_eq!(lost.gpu_id.as_deref(), Some("GPU-b"));
    assert_eq!((lost.gpu_power_watts, lost.absence.as_deref()), (None, Some("failed: fell off the bus")));
}

#[test]
fn rows_that_nobody_drains_are_dropped_and_counted_and_their_energy_is_not() {
    let sink = MetricCollector::new(&run("r"), "demo").every(Duration::ZERO).capacity(2);
    let gpu = device("GPU-a", DeviceKind::Gpu, None);
    for step in 1..=5 {
        tick(&sink, step * 100, &[sample(&gpu, step * 100, 10)], &[interval(&gpu, step * 100, 1_000, 0)]);
    }
    assert_eq!((sink.drain().len(), sink.dropped()), (2, 3));
    tick(&sink, 600, &[sample(&gpu, 600, 10)], &[interval(&gpu, 600, 1_000, 0)]);
    assert_eq!(sink.drain()[0].energy_j, Some(6.0));
}

/// A settled inference: 100 ms, tokens, joules measured (with ± 3 random and ± 4 systematic) on a GPU.
fn record(trace: u8, tokens: (u64, u64), joules: i64) -> InferenceRecord {
    let begin = Begin::new(at(0), UNIX_EPOCH + START, "chat", "llama_cpp");
    let mut facts = Facts::default();
    (facts.tokens.fresh, facts.tokens.output) = (Some(tokens.0), Some(tokens.1));
    facts.first_token = Some(at(20));
    facts.trace = Some(TraceRef { trace_id: [trace; 16], span_id: [1; 8], sampled: true });
    let mut energy =
        InferenceEnergy::new(Joules::from_millijoules(joules * 1_000), Method::Counter, "tokens");
    energy.devices =
        vec![DeviceShare::new(DeviceId::new("GPU-a"), DeviceKind::Gpu, Method::Counter, energy.total)];
    energy.uncertainty = Some(Uncertainty {
        total: Joules::from_millijoules(5_000),
        random: Joules::from_millijoules(3_000),
        systematic: Joules::from_millijoules(4_000),
    });
    let mut settlement = Settlement::unknown(SettleReason::Covered);
    settlement.energy = Some(energy);
    let intensity = Intensity::new(GramsPerKwh::whole(475), "fixed", Provenance::User);
    settlement.emissions = Some(Emissions::new(Grams::new(0.5).unwrap(), intensity));
    settlement.cost = Some(Cost::new(Usd::new(0.25).unwrap(), "electricity"));
    InferenceRecord::new(InferenceId::new(1), begin, at(100), facts, settlement)
}

#[test]
fn a_case_is_the_sum_of_its_inferences_and_no_other() {
    let sink = ResultCollector::default();
    sink.record(&record(1, (10, 5), 30));
    sink.record(&record(1, (20, 8), 48));
    sink.record(&record(2, (1, 1), 1_000));
    let mut load = record(1, (0, 0), 9_999);
    load.begin.workload = Workload::Load;
    sink.record(&load);
    assert_eq!(sink.settled(&[1; 16]), 2);
    let mut row = ResultRow::default();
    sink.take(&[1; 16]).unwrap().apply(&mut row);
    assert_eq!((row.input_tokens, row.output_tokens, row.total_tokens), (Some(30), Some(13), Some(43)));
    assert_eq!((row.inferences, row.energy_j, row.energy_gpu_j), (Some(2), Some(78.0), Some(78.0)));
    assert_eq!((row.energy_estimated_j, row.energy_cpu_j, row.energy_idle_j), (None, None, None));
    assert_eq!(row.joules_per_output_token, Some(6.0));
    // Random parts add in quadrature (3, 3), systematic ones (4, 4) linearly.
    assert!((row.energy_uncertainty_j.unwrap() - (18.0_f64 + 64.0).sqrt()).abs() < 1e-9);
    assert_eq!((row.co2_emissions_g, row.cost_usd), (Some(1.0), Some(0.5)));
    assert_eq!(row.time_to_first_token_ms, Some(20.0));
    assert_eq!(sink.take(&[1; 16]), None);
}

#[test]
fn a_case_says_what_its_grams_and_dollars_cover() {
    let within = |boundaries: &[Option<Boundary>]| {
        let sink = ResultCollector::default();
        for boundary in boundaries {
            let mut record = record(1, (1, 1), 1);
            record.settlement.emissions.as_mut().unwrap().boundary = *boundary;
            record.settlement.cost.as_mut().unwrap().boundary = Some(Boundary::Device);
            sink.record(&record);
        }
        let mut row = ResultRow::default();
        sink.take(&[1; 16]).unwrap().apply(&mut row);
        assert_eq!(row.cost_boundary.as_deref(), Some("device"));
        row.carbon_boundary
    };
    let (host, facility) = (Some(Boundary::Host), Some(Boundary::Facility));
    assert_eq!(within(&[facility, facility]).as_deref(), Some("facility"));
    assert_eq!(within(&[host, facility, host]).as_deref(), Some("mixed"));
    assert_eq!(within(&[host, None]).as_deref(), Some("mixed"));
    assert_eq!(within(&[None]), None);
}

#[test]
fn an_estimate_is_kept_apart_from_what_was_measured() {
    let mut estimated = record(1, (10, 5), 40);
    let range = EnergyRange { low: Joules::ZERO, high: Joules::from_millijoules(90_000) };
    let energy = estimated.settlement.energy.as_mut().unwrap();
    energy.method = Method::Estimated;
    energy.estimated = Some(Estimate::new(energy.total, range, "cpu time × TDP"));
    let row = ResultRow::from_record(&estimated, &run("r"));
    assert_eq!((row.energy_j, row.energy_estimated_j), (None, Some(40.0)));
    assert_eq!((row.energy_method.as_deref(), row.joules_per_output_token), (Some("estimated"), None));
    assert_eq!(row.trace_id.as_deref(), Some("01010101010101010101010101010101"));
    assert_eq!(row.execution_time_ms, Some(100.0));

    let mut aggregate = RunAggregate::new();
    aggregate.result(&row);
    aggregate.result(&ResultRow::from_record(&record(2, (10, 10), 50), &run("r")));
    let mut sums = LeaderboardRow::default();
    aggregate.fill(&mut sums);
    assert_eq!((sums.inference_energy_j, sums.inference_energy_estimated_j), (Some(50.0), Some(40.0)));
    assert_eq!((sums.measured_tests, sums.estimated_tests), (1, 1));
    // Only tokens whose energy was measured: 50 J for 10.
    assert_eq!(sums.joules_per_output_token, Some(5.0));
}

#[test]
fn traces_that_nobody_takes_make_room_for_new_ones() {
    let sink = ResultCollector::new(2);
    (1..=3).for_each(|trace| sink.record(&record(trace, (1, 1), 1)));
    assert_eq!((sink.settled(&[1; 16]), sink.settled(&[2; 16]), sink.dropped()), (0, 1, 1));
}

fn sums(results: &[ResultRow], metrics: &[MetricRow]) -> LeaderboardRow {
    let mut aggregate = RunAggregate::new();
    for row in results {
        aggregate.result(row);
    }
    for row in metrics {
        aggregate.metric(row);
    }
    let mut row = LeaderboardRow::default();
    row.planned_tests = Some(12);
    aggregate.fill(&mut row);
    row
}

#[test]
fn cases_are_summed_up_and_latencies_have_percentiles() {
    let result = |index: u32| {
        let mut row = ResultRow::default();
        row.success = Some(index != 10);
        row.execution_time_ms = Some(f64::from(index) * 10.0);
        row.timed_out = Some(index == 10);
        row.error = (index == 9).then(|| "oops".to_owned());
        row
    };
    let row = sums(&(1..=10).map(result).collect::<Vec<_>>(), &[]);
    assert_eq!((row.total_tests, row.successful_tests, row.failed_tests), (10, 9, 1));
    assert_eq!((row.success_rate, row.pass_at_1), (Some(90.0), Some(0.9)));
    assert_eq!((row.completed_tests, row.timed_out_tests, row.errored_tests), (9, 1, 1));
    assert_eq!(row.interrupted_tests, Some(2));
    // numpy.percentile([10, 20, …, 100], [50, 90, 95, 99])
    let percentiles = [row.duration_p50_ms, row.duration_p90_ms, row.duration_p95_ms, row.duration_p99_ms];
    for (found, expected) in percentiles.into_iter().zip([55.0, 91.0, 95.5, 99.1]) {
        assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} for {expected}");
    }
    assert_eq!((row.total_duration_ms, row.avg_duration_ms), (Some(550.0), Some(55.0)));
    assert_eq!((row.total_tokens, row.total_cost_usd, row.inference_energy_j), (None, None, None));
    let nothing = sums(&[], &[]);
    assert_eq!((nothing.success_rate, nothing.pass_at_1, nothing.duration_p50_ms), (None, None, None));
}

#[test]
fn totals_over_gpus_are_sums_at_one_moment() {
    let row = |(index, second, memory, power, energy): (usize, u64, f64, f64, f64)| {
        let mut row = gpu_row("r", index, second);
        row.gpu_memory_used_mib = Some(memory);
        row.gpu_power_watts = Some(power);
        row.power_watts = Some(power);
        row.energy_j = Some(energy);
        row
    };
    let mut rows: Vec<MetricRow> = [
        (0, 0, 100.0, 200.0, 10.0),
        (1, 0, 300.0, 100.0, 20.0),
        (0, 1, 200.0, 250.0, 30.0),
        (1, 1, 250.0, 150.0, 50.0),
    ]
    .into_iter()
    .map(row)
    .collect();
    // A slice of GPU 0 repeats what its board counts.
    let mut slice = row((0, 1, 150.0, 90.0, 15.0));
    slice.device_id = "MIG-0".into();
    slice.device_kind = "gpu_partition".into();
    slice.device_is_counted = false;
    rows.push(slice);
    let found = sums(&[], &rows);
    assert_eq!((found.gpu_memory_max_mib, found.gpu_power_max_w), (Some(450.0), Some(400.0)));
    // Means over time (150 and 275 MiB, 225 and 125 W), summed.
    assert_eq!((found.gpu_memory_avg_mib, found.gpu_power_avg_w), (Some(425.0), Some(350.0)));
    assert_eq!(found.device_energy_j, Some(80.0));
    assert_eq!(found.gpus.len(), 2);
    assert_eq!((found.gpus[1].energy_j, found.gpus[1].power_max_w), (Some(50.0), Some(150.0)));
}

#[test]
fn a_resumed_run_counts_both_collectors() {
    let mut rows = vec![gpu_row("r", 0, 0), gpu_row("r", 0, 1)];
    rows[0].energy_j = Some(100.0);
    // The second program's count is above the first one's already.
    rows[1].energy_j = Some(150.0);
    rows[1].started_unix_nano = "1767225600500000000".to_owned();
    assert_eq!(sums(&[], &rows).device_energy_j, Some(250.0));
}
