//! From a poll's batch to settled inferences. Runs on the settlement thread, since ending a span can run an exporter.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Begin, Cost, DeviceId, DeviceSample, DeviceScope, ElectricityPrice, Emissions, Finish, Grams,
    InferenceId, InferenceRecord, Intensity, IntensitySource, IntervalEnergy, Joules, MonoTime, Place,
    PriceSource, RecordSink, SampleSink, SampleTick, SettleReason, Settlement, Usd,
};
use wattspan_energy::{Ledger, Measured, Meter, Ownership, Settled};

use crate::queue::{Event, Queue};
use crate::sampler::Batch;

/// Where intensity and prices come from, and who wants to know.
#[derive(Default)]
pub(crate) struct Context {
    pub(crate) place: Place,
    pub(crate) intensity: Option<Arc<dyn IntensitySource>>,
    pub(crate) prices: Option<Arc<dyn PriceSource>>,
    pub(crate) sample_sinks: Vec<Arc<dyn SampleSink>>,
    pub(crate) record_sinks: Vec<Arc<dyn RecordSink>>,
}

/// Owns the ledger.
pub(crate) struct Settler {
    queue: Arc<Queue>,
    context: Context,
    settle_within: Duration,
    meters: HashMap<DeviceId, Meter>,
    ledger: Ledger,
    open: HashMap<InferenceId, Open>,
    tariffs: Vec<Tariff>,
    measured: Vec<Measured>,
}

struct Open {
    begin: Box<Begin>,
    finish: Option<Box<Finish>>,
    measured: bool,
}

/// What a joule emits and costs, from a time on.
#[derive(Clone, PartialEq)]
struct Tariff {
    intensity: Option<Intensity>,
    price: Option<ElectricityPrice>,
}

impl Settler {
    pub(crate) fn new(queue: Arc<Queue>, context: Context, settle_within: Duration) -> Self {
        Self {
            queue,
            context,
            settle_within,
            meters: HashMap::new(),
            ledger: Ledger::new(),
            open: HashMap::new(),
            tariffs: Vec::new(),
            measured: Vec::new(),
        }
    }

    pub(crate) fn process(&mut self, mut batch: Batch) {
        self.look_up_tariff(batch.time, batch.wall);
        let mut at_once = Vec::new();
        for event in batch.events.drain(..) {
            self.event(event, &mut at_once);
        }
        for mark in &batch.marks {
            self.ledger.mark(mark.id, batch.time, mark.prompted, mark.decoded);
        }
        for sample in &batch.samples {
            self.sample(sample);
        }
        let closed = self.ledger.advance(batch.time);
        for sink in &self.context.sample_sinks {
            sink.sampled(&SampleTick::new(batch.time, batch.wall, &batch.samples, &closed.intervals));
        }
        self.count(&closed.intervals);
        for (id, reason) in at_once {
            self.settle(id, None, reason);
        }
        for settled in closed.settled {
            self.settle(settled.id, Some(settled), SettleReason::Covered);
        }
        self.settle_late(batch.time, batch.last);
    }

    fn event(&mut self, event: Event, at_once: &mut Vec<(InferenceId, SettleReason)>) {
        match event {
            Event::Begin(id, begin, _) => {
                let scope = if begin.locality.is_local() {
                    begin.devices.clone()
                } else {
                    DeviceScope::Only([].into())
                };
                let measured = begin.locality.is_local();
                if measured {
                    self.ledger.begin(id, begin.time, scope);
                }
                self.open.insert(id, Open { begin, finish: None, measured });
            }
            Event::Finish(id, finish) => {
                let Some(open) = self.open.get_mut(&id) else { return };
                self.ledger.finish(id, finish.end, finish.phases);
                open.finish = Some(finish);
                if !open.measured {
                    at_once.push((id, SettleReason::Remote));
                }
            }
            Event::GiveUp(id, at) => {
                self.ledger.finish(id, at, wattspan_core::LatePhases::default());
                if self.open.remove(&id).is_some() {
                    self.queue.settled();
                }
            }
        }
    }

    fn sample(&mut self, sample: &DeviceSample) {
        let id = &sample.device.id;
        if !self.meters.contains_key(id) {
            self.meters.insert(id.clone(), Meter::new(Arc::clone(&sample.device)));
        }
        let Some(meter) = self.meters.get_mut(id) else { return };
        meter.read(sample, &mut self.measured);
        for measured in self.measured.drain(..) {
            self.ledger.interval(&sample.device, measured, Ownership::OURS);
        }
    }

    fn count(&mut self, _intervals: &[IntervalEnergy]) {}

    /// Asks what a joule emits and costs now; a change starts a new tariff.
    fn look_up_tariff(&mut self, time: MonoTime, wall: SystemTime) {
        let place = &self.context.place;
        let tariff = Tariff {
            intensity: self.context.intensity.as_ref().and_then(|source| source.latest(place, wall)),
            price: self.context.prices.as_ref().and_then(|source| source.electricity(place, wall)),
        };
        if self.tariffs.last() != Some(&tariff) {
            self.ledger.tariff(time, self.tariffs.len() as u32);
            self.tariffs.push(tariff);
        }
    }

    /// Settles what has waited long enough, or everything that has ended when this is the last call.
    fn settle_late(&mut self, now: MonoTime, last: bool) {
        let late: Vec<InferenceId> = self
            .open
            .iter()
            .filter(|(_, open)| {
                open.finish.as_ref().is_some_and(|finish| last || now.since(finish.end) > self.settle_within)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            let settled = self.ledger.settle(id);
            let reason = match &settled {
                Some(Settled { energy: Some(_), .. }) if last => SettleReason::Shutdown,
                Some(Settled { energy: Some(_), .. }) => SettleReason::TimedOut,
                _ => SettleReason::NoSensor,
            };
            self.settle(id, settled, reason);
        }
    }

    fn settle(&mut self, id: InferenceId, settled: Option<Settled>, reason: SettleReason) {
        let Some(open) = self.open.remove(&id) else { return };
        self.queue.settled();
        let Some(finish) = open.finish else { return };
        let mut settlement = Settlement::unknown(reason);
        if let Some(settled) = settled {
            settlement.emissions = self.emissions(&settled.by_tariff);
            settlement.cost = self.cost(&settled.by_tariff);
            settlement.energy = settled.energy;
        }
        let Finish { end, facts, settle, .. } = *finish;
        // An exporter that panics must not end settlement for everybody else.
        if catch_unwind(AssertUnwindSafe(|| settle.settle(&settlement))).is_err() {
            tracing::error!("ending a span panicked; its telemetry may be lost");
        }
        let record = InferenceRecord::new(id, *open.begin, end, facts, settlement);
        for sink in &self.context.record_sinks {
            sink.record(&record);
        }
    }

    fn emissions(&self, by_tariff: &[(u32, Joules)]) -> Option<Emissions> {
        let mut total = Grams::ZERO;
        let mut most: Option<(Joules, &Intensity)> = None;
        for (tariff, energy) in by_tariff {
            let intensity = self.tariffs.get(*tariff as usize)?.intensity.as_ref()?;
            total += *energy * intensity.value;
            if most.is_none_or(|(largest, _)| *energy > largest) {
                most = Some((*energy, intensity));
            }
        }
        most.map(|(_, intensity)| Emissions::new(total, intensity.clone()))
    }

    fn cost(&self, by_tariff: &[(u32, Joules)]) -> Option<Cost> {
        let mut total = Usd::ZERO;
        for (tariff, energy) in by_tariff {
            total += *energy * self.tariffs.get(*tariff as usize)?.price.as_ref()?.value;
        }
        (!by_tariff.is_empty()).then(|| Cost::new(total, "electricity"))
    }
}
