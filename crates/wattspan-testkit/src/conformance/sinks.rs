//! The duties of sinks: to take whatever comes, from any thread.

use std::sync::Arc;
use std::time::SystemTime;

use wattspan_core::{
    Begin, Cost, Device, DeviceId, DeviceKind, DeviceSample, Emissions, Facts, GapReason, Grams, GramsPerKwh,
    InferenceEnergy, InferenceId, InferenceRecord, Intensity, IntervalEnergy, Joules, Method, MonoTime,
    Provenance, Ratio, Reading, RecordSink, SampleSink, SampleTick, ServerStats, SettleReason, Settlement,
    StateEnergy, StatsSink, Usd, Vendor, Watts,
};

use crate::fakes::lost;

/// Hands a sink ticks: an empty one, one with all readings absent, one with readings and intervals, a gap, the same one
/// twice, and many from several threads.
///
/// # Panics
/// When the sink does.
pub fn sample_sink(sink: &dyn SampleSink) {
    let gpu =
        Arc::new(Device::new(DeviceId::new("GPU-conformance"), DeviceKind::Gpu, Vendor::Nvidia, "test"));
    let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
    let absent = DeviceSample::new(Arc::clone(&gpu), at(100));
    let mut present = DeviceSample::new(Arc::clone(&gpu), at(200));
    (present.energy, present.power) = (Reading::Value(u64::MAX), Reading::Value(Watts::whole(300)));
    present.gauges.utilization = Reading::Value(Ratio::ONE);
    let energy = StateEnergy { idle: Joules::from_microjoules(7), ..StateEnergy::default() };
    let measured = IntervalEnergy::new(gpu.id.clone(), at(100), at(200), Method::Counter, energy);
    let gap = IntervalEnergy::gap(gpu.id.clone(), at(200), at(300), Method::Counter, GapReason::CounterReset);
    let closed = [measured, gap];
    let all = [absent, present, lost(&gpu, at(300))];
    let ticks = [(&[][..], &[][..]), (&all[..1], &[]), (&all[1..2], &closed[..1]), (&all[2..], &closed[1..])];
    let show =
        |(samples, intervals)| sink.sampled(&SampleTick::new(at(300), SystemTime::now(), samples, intervals));
    ticks.into_iter().for_each(show);
    show(ticks[2]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| ticks.into_iter().for_each(show)));
        }
    });
}

/// Hands a sink inferences: one of which nothing is known, one of which everything is, the same one twice, and many from
/// several threads.
///
/// # Panics
/// When the sink does.
pub fn record_sink(sink: &dyn RecordSink) {
    let begin = |millis: u64| {
        Begin::new(MonoTime::from_nanos(millis * 1_000_000), SystemTime::UNIX_EPOCH, "chat", "llama_cpp")
    };
    let bare = InferenceRecord::new(
        InferenceId::new(1),
        begin(0),
        MonoTime::ZERO,
        Facts::default(),
        Settlement::unknown(SettleReason::Remote),
    );
    let mut settlement = Settlement::unknown(SettleReason::Covered);
    settlement.energy = Some(InferenceEnergy::new(Joules::from_millijoules(9), Method::Counter, "tokens"));
    let intensity = Intensity::new(GramsPerKwh::whole(475), "conformance", Provenance::User);
    settlement.emissions = Some(Emissions::new(Grams::whole(1), intensity));
    settlement.cost = Some(Cost::new(Usd::whole(1), "electricity"));
    let mut facts = Facts::default();
    facts.error_type = Some("timeout".into());
    facts.tokens.output = Some(3);
    facts.finish_reasons = vec!["stop".to_owned()];
    let whole = InferenceRecord::new(
        InferenceId::new(2),
        begin(10),
        MonoTime::from_nanos(u64::MAX),
        facts,
        settlement,
    );
    for record in [&bare, &whole, &whole] {
        sink.record(record);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| sink.record(&whole)));
        }
    });
}

/// Hands a sink gauges: all absent, present, and many from several threads.
///
/// # Panics
/// When the sink does.
pub fn stats_sink(sink: &dyn StatsSink) {
    let absent = ServerStats::new(MonoTime::ZERO, "127.0.0.1:8080");
    let mut present = ServerStats::new(MonoTime::from_nanos(1), "127.0.0.1:8080");
    (present.slots, present.kv_cache) = (Reading::Value(4), Reading::Value(Ratio::ONE));
    present.tokens_per_second = Reading::failed("restarted");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    sink.stats(&absent);
                    sink.stats(&present);
                }
            });
        }
    });
}
