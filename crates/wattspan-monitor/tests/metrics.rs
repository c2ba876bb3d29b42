//! Metrics against the conventions, in both profiles and with SMOLTRACE's seven.

mod support;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::data::{
    AggregatedMetrics, GaugeDataPoint, MetricData, ResourceMetrics, ScopeMetrics,
};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use support::{Settled, clock, gpu, infer, steady, step_to};
use wattspan_core::{
    DeviceSample, ElectricityPrice, GramsPerKwh, Intensity, Provenance, Ratio, Reading, UsdPerKwh, Watts,
};
use wattspan_energy::Overhead;
use wattspan_monitor::{Monitor, PerformanceMonitor};
use wattspan_semconv::Profile;
use wattspan_semconv::conformance::{Checker, Metric, Telemetry};
use wattspan_testkit::{FakeCollector, FakeIntensity, FakePrices, neutral};

/// Plays ten seconds and answers with what was exported.
fn exported(profile: Profile, smoltrace: bool, collector: FakeCollector) -> Vec<Metric> {
    let exporter = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(exporter.clone()).with_interval(Duration::from_secs(3_600)).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    let clock = clock();
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(Box::new(collector))
        .meter(provider.meter("metrics"))
        .profile(profile)
        .smoltrace_metrics(smoltrace)
        .overhead(Overhead::facility(1.2).unwrap())
        .intensity(Arc::new(FakeIntensity::new({
            let mut intensity = Intensity::new(GramsPerKwh::whole(360), "fixed", Provenance::User);
            intensity.zone = Some("DE".into());
            intensity
        })))
        .prices(Arc::new(
            FakePrices::new().electricity(ElectricityPrice::new(UsdPerKwh::new(0.3).unwrap(), "fixed")),
        ))
        .stepper();
    step_to(&mut stepper, &clock, 2_000);
    infer(&*stepper.observer(), 1_000, 2_000, 5, &Settled::default());
    step_to(&mut stepper, &clock, 10_000);
    provider.force_flush().unwrap();
    let resource = exporter.get_finished_metrics().unwrap();
    let all = resource.iter().flat_map(ResourceMetrics::scope_metrics).flat_map(ScopeMetrics::metrics);
    all.map(neutral::metric).collect()
}

#[track_caller]
fn check(profile: Profile, smoltrace: bool) -> Vec<String> {
    let mut metrics = exported(profile, smoltrace, steady("GPU-a"));
    metrics.sort_by(|one, other| one.name.cmp(&other.name));
    let names = metrics.iter().map(|metric| metric.name.clone()).collect();
    let checker = if smoltrace { Checker::new(profile).with_smoltrace() } else { Checker::new(profile) };
    let violations = checker.check(&Telemetry { metrics, ..Telemetry::default() });
    assert!(violations.is_empty(), "{violations:#?}");
    names
}

const OURS: [&str; 4] =
    ["wattspan.cost", "wattspan.device.energy", "wattspan.emissions", "wattspan.inference.energy"];

#[test]
fn metrics_conform_in_both_profiles() {
    for profile in [Profile::Core, Profile::GenAi] {
        let names = check(profile, false);
        for name in
            OURS.into_iter().chain(["hw.energy", "hw.power", "hw.gpu.utilization", "hw.gpu.memory.usage"])
        {
            assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
        }
        assert!(!names.iter().any(|name| name.starts_with("gen_ai.gpu")), "{names:?}");
    }
}

#[test]
fn grams_and_dollars_name_what_they_cover() {
    let metrics = exported(Profile::Core, false, steady("GPU-a"));
    for (name, label) in
        [("wattspan.emissions", "wattspan.emissions.boundary"), ("wattspan.cost", "wattspan.cost.boundary")]
    {
        let metric = metrics.iter().find(|metric| metric.name == name).unwrap();
        assert!(!metric.points.is_empty());
        for point in &metric.points {
            let found = point.iter().find(|(key, _)| key == label).map(|(_, value)| value);
            assert_eq!(found, Some(&"facility".into()), "{name}: {point:?}");
        }
    }
}

#[test]
fn smoltraces_seven_stand_beside_the_others_when_asked_for() {
    let names = check(Profile::Core, true);
    for entry in wattspan_semconv::smoltrace::metrics() {
        assert!(names.iter().any(|name| name == entry.metric.name), "{} in {names:?}", entry.metric.name);
    }
}

#[test]
fn what_cannot_be_read_gives_no_points() {
    let power_only = FakeCollector::new("power", [gpu("GPU-a")], |device, now| {
        let mut sample = DeviceSample::new(Arc::clone(device), now);
        sample.power = Reading::Value(Watts::whole(90));
        sample
    });
    let names: Vec<String> = exported(Profile::Core, true, power_only)
        .into_iter()
        .filter(|metric| !metric.points.is_empty())
        .map(|metric| metric.name)
        .collect();
    for absent in ["hw.gpu.utilization", "hw.gpu.memory.usage", "hw.temperature", "hw.energy", "hw.errors"] {
        assert!(!names.iter().any(|name| name == absent), "{absent} in {names:?}");
    }
    assert!(names.iter().any(|name| name == "hw.power"), "{names:?}");
}

#[test]
fn case_measurement_11_a_minutes_utilisation_is_the_mean_of_its_samples() {
    let exporter = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(exporter.clone()).with_interval(Duration::from_secs(3_600)).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    let clock = clock();
    let busy = FakeCollector::new("busy", [gpu("GPU-a")], |device, now| {
        let mut sample = DeviceSample::new(Arc::clone(device), now);
        let second = now.nanos() / 1_000_000_000;
        sample.gauges.utilization = Ratio::new(if (10..50).contains(&second) { 1.0 } else { 0.0 }).into();
        sample.energy = Reading::Value(second * 1_000);
        sample
    });
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(Box::new(busy))
        .meter(provider.meter("metrics"))
        .stepper();
    let window = PerformanceMonitor::start_stepped(&stepper);
    for _ in 0..60 {
        stepper.step();
        clock.advance(Duration::from_secs(1));
    }
    provider.force_flush().unwrap();
    let resource = exporter.get_finished_metrics().unwrap();
    let mut metrics =
        resource.iter().flat_map(ResourceMetrics::scope_metrics).flat_map(ScopeMetrics::metrics);
    let metric = metrics.find(|metric| metric.name() == "hw.gpu.utilization").unwrap();
    let AggregatedMetrics::F64(MetricData::Gauge(gauge)) = metric.data() else { panic!("a gauge of floats") };
    let exported: Vec<f64> = gauge.data_points().map(GaugeDataPoint::value).collect();
    assert!(exported.len() == 1 && (exported[0] - 2.0 / 3.0).abs() < 1e-12, "{exported:?}");
    let report = window.report();
    let device = &report.devices[0];
    assert_eq!(device.peak_utilization, Ratio::new(1.0));
    assert!((device.avg_utilization.unwrap().ratio() - 2.0 / 3.0).abs() < 1e-12);
}
