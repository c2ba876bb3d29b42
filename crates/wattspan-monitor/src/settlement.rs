//! From a poll's batch to settled inferences. Runs on the settlement thread, since ending a span can run an exporter.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Begin, Cost, Device, DeviceId, DeviceKind, DeviceSample, DeviceScope, Emissions, Finish, GapReason,
    InferenceEnergy, InferenceId, InferenceRecord, IntensitySource, IntervalEnergy, Joules, Locality, Method,
    MonoTime, Place, PriceSource, Reading, RunId, SampleTick, SettleReason, Settlement, TokenUsage,
};
use wattspan_energy::{
    HardwareRate, Ledger, LedgerConfig, Measured, Meter, Overhead, Ownership, Settled, electricity_cost,
    emissions, token_cost,
};

use crate::board::{Board, Rates};
use crate::estimate::{EstimateInputs, Gathered, Poll};
use crate::guard::unwind;
use crate::instruments::Instruments;
use crate::ownership::{CpuUse, Owners};
use crate::performance::{Recorder, Tick};
use crate::queue::{Event, Queue};
use crate::sampler::Batch;
use crate::sinks::Sinks;
use crate::tariffs::{Tariff, Tariffs};

/// Where intensity and prices come from, and what is recorded.
pub(crate) struct Context {
    /// For inferences that do not name their devices.
    pub(crate) scope: DeviceScope,
    pub(crate) place: Place,
    pub(crate) intensity: Option<Arc<dyn IntensitySource>>,
    pub(crate) prices: Option<Arc<dyn PriceSource>>,
    pub(crate) price_local_tokens: bool,
    pub(crate) hardware: Option<HardwareRate>,
    pub(crate) overhead: Overhead,
    pub(crate) estimate: EstimateInputs,
    pub(crate) run: Option<RunId>,
    pub(crate) instruments: Option<Instruments>,
    pub(crate) board: Board,
    pub(crate) sinks: Arc<Sinks>,
}

/// Owns the ledger.
pub(crate) struct Settler {
    queue: Arc<Queue>,
    context: Context,
    settle_within: Duration,
    meters: HashMap<DeviceId, Meter>,
    /// The devices that have told energy or power at least once.
    answered: HashSet<DeviceId>,
    /// While none has: those whose sensor is there and failed at this poll. It may yet answer.
    failing: Vec<Arc<Device>>,
    owners: Owners,
    ledger: Ledger,
    open: HashMap<InferenceId, Open>,
    tariffs: Tariffs,
    measured: Vec<Measured>,
    /// What this poll measured, for recorders.
    raw: Vec<(Arc<Device>, Measured)>,
    gaps: HashMap<DeviceId, (GapReason, MonoTime)>,
    polled: Option<MonoTime>,
    warned_unmeasured: bool,
}

struct Open {
    begin: Box<Begin>,
    finish: Option<Box<Finish>>,
    local: bool,
    estimate: Gathered,
}

impl Settler {
    pub(crate) fn new(
        queue: Arc<Queue>,
        context: Context,
        mut ledger: LedgerConfig,
        settle_within: Duration,
    ) -> Self {
        ledger.settle_within = settle_within;
        Self {
            queue,
            context,
            settle_within,
            meters: HashMap::new(),
            answered: HashSet::new(),
            failing: Vec::new(),
            owners: Owners::default(),
            ledger: Ledger::with_config(ledger),
            open: HashMap::new(),
            tariffs: Tariffs::default(),
            measured: Vec::new(),
            raw: Vec::new(),
            gaps: HashMap::new(),
            polled: None,
            warned_unmeasured: false,
        }
    }

    /// What is held in memory: inferences here and in the ledger.
    pub(crate) fn held(&self) -> (usize, usize) {
        (self.open.len(), self.ledger.open())
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
        if batch.slept {
            self.interrupt(batch.time);
        }
        let recorders = self.context.sinks.recorders();
        let cpu = self.samples(&batch.samples, !recorders.is_empty());
        self.estimate(&batch, cpu);
        let closed = if batch.last { self.ledger.flush(batch.time) } else { self.ledger.advance(batch.time) };
        self.context.sinks.sampled(&SampleTick::new(
            batch.time,
            batch.wall,
            &batch.samples,
            &closed.intervals,
        ));
        let rates = self.rates();
        self.count(&batch, &closed.intervals, rates);
        for (id, reason) in at_once {
            self.settle(id, None, reason);
        }
        for settled in closed.settled {
            let early = settled
                .energy
                .as_ref()
                .is_some_and(|energy| energy.flags.contains(&wattspan_core::EnergyFlag::SettledEarly));
            let reason = match &settled.energy {
                None => SettleReason::NoSensor,
                Some(_) if early => SettleReason::TimedOut,
                Some(_) => SettleReason::Covered,
            };
            self.settle(settled.id, Some(settled), reason);
        }
        self.settle_late(batch.time, batch.last);
        if !recorders.is_empty() {
            self.tell(&recorders, &batch, &closed.intervals, rates);
        }
    }

    /// Tells the recorders last, so that what they wait for has been settled.
    fn tell(
        &mut self,
        recorders: &[Arc<Recorder>],
        batch: &Batch,
        intervals: &[IntervalEnergy],
        rates: Rates,
    ) {
        let pending = self.open.values().filter_map(|open| Some(open.finish.as_ref()?.end)).min();
        let board = self.context.board.lock();
        let servers: Vec<_> = board.servers.values().cloned().collect();
        let power = board.total_power();
        drop(board);
        let tick = Tick {
            time: batch.time,
            samples: &batch.samples,
            measured: &self.raw,
            intervals,
            answered: &self.answered,
            servers: &servers,
            power,
            rates,
            pending,
            last: batch.last,
        };
        for recorder in recorders {
            recorder.tick(&tick);
        }
        self.raw.clear();
    }

    /// The machine slept: what the sensors say of that time belongs to nobody.
    fn interrupt(&mut self, now: MonoTime) {
        tracing::info!("the machine was suspended; its devices' energy has a gap");
        for meter in self.meters.values_mut() {
            let device = Arc::clone(meter.device());
            meter.interrupt(now, GapReason::Suspended, &mut self.measured);
            for measured in self.measured.drain(..) {
                self.ledger.interval(&device, measured, Ownership::OURS);
            }
        }
    }

    fn event(&mut self, event: Event, at_once: &mut Vec<(InferenceId, SettleReason)>) {
        match event {
            Event::Begin(id, begin, _) => {
                let local = begin.locality.is_local();
                if local {
                    let scope = scope(&begin, &self.context.scope).clone();
                    self.ledger.begin_as(id, begin.time, scope, begin.workload);
                }
                self.open.insert(id, Open { begin, finish: None, local, estimate: Gathered::default() });
            }
            Event::Finish(id, ending) => {
                let Some(open) = self.open.get_mut(&id) else { return };
                let Some(finish) = ending.take() else { return };
                if open.local {
                    self.ledger.finish(id, finish.end, finish.phases);
                } else {
                    at_once.push((id, SettleReason::Remote));
                }
                open.finish = Some(finish);
            }
            Event::GiveUp(id, at) => {
                self.ledger.forget(id, at);
                if self.open.remove(&id).is_some() {
                    self.queue.settled();
                }
            }
        }
    }

    /// Feeds the ledger; answers how much CPU time was used, and how much of it for our inferences.
    fn samples(&mut self, samples: &[DeviceSample], recorded: bool) -> Option<CpuUse> {
        let ours = self.processes();
        let mut cpu = None;
        self.failing.clear();
        // Packages come before the memory that shares their owner.
        let (packages, rest): (Vec<_>, Vec<_>) =
            samples.iter().partition(|sample| sample.device.kind == DeviceKind::Cpu);
        for sample in packages.into_iter().chain(rest) {
            let (ownership, used) = self.owners.judge(sample, ours.as_deref());
            cpu = used.or(cpu);
            let id = &sample.device.id;
            if !self.meters.contains_key(id) {
                self.meters.insert(id.clone(), Meter::new(Arc::clone(&sample.device)));
            }
            // A sensor that has never answered measures nothing: no inference waits for it, or is covered less for it.
            if !self.answered.contains(id) && (sample.energy.is_value() || sample.power.is_value()) {
                self.answered.insert(id.clone());
                self.ledger.add_device(&sample.device, sample.time);
            }
            if self.answered.is_empty() && has_failed(sample) {
                self.failing.push(Arc::clone(&sample.device));
            }
            let Some(meter) = self.meters.get_mut(id) else { continue };
            meter.read(sample, &mut self.measured);
            for measured in self.measured.drain(..) {
                if recorded {
                    self.raw.push((Arc::clone(&sample.device), measured.clone()));
                }
                self.ledger.interval(&sample.device, measured, ownership);
            }
        }
        cpu
    }

    /// The processes that run our inferences; `None` when one of them is not known.
    fn processes(&self) -> Option<Vec<u32>> {
        let mut pids = Vec::new();
        for open in self.open.values().filter(|open| open.local) {
            let pid = match open.begin.locality {
                Locality::LocalServer { pid } => pid?,
                _ => std::process::id(),
            };
            if !pids.contains(&pid) {
                pids.push(pid);
            }
        }
        if pids.is_empty() {
            pids.push(std::process::id());
        }
        Some(pids)
    }

    fn estimate(&mut self, batch: &Batch, cpu: Option<CpuUse>) {
        let Some(start) = self.polled.replace(batch.time) else { return };
        let tariff = self.tariffs.number();
        let (end, samples, answered) = (batch.time, &batch.samples, &self.answered);
        let poll = Poll { start, end, samples, answered, cpu, tariff };
        let in_flight = self.open.values_mut().filter(|open| open.local).map(|open| {
            let end = open.finish.as_ref().map(|finish| finish.end);
            (open.begin.time, end, &mut open.estimate)
        });
        self.context.estimate.share(&poll, in_flight);
    }

    fn rates(&self) -> Rates {
        let tariff = self.tariffs.last();
        Rates {
            intensity: tariff.and_then(|tariff| tariff.intensity.as_ref()).map(|intensity| intensity.value),
            price: tariff.and_then(|tariff| tariff.price.as_ref()).map(|price| price.value),
            overhead: self.context.overhead,
        }
    }

    fn count(&mut self, batch: &Batch, intervals: &[IntervalEnergy], rates: Rates) {
        let new_gaps: Vec<bool> = intervals.iter().map(|interval| self.is_new_gap(interval)).collect();
        self.context.board.update(batch.time, batch.wall, &batch.samples, intervals, &new_gaps, rates);
        if let Some(instruments) = &self.context.instruments {
            for (interval, new_gap) in intervals.iter().zip(new_gaps) {
                if let Some(meter) = self.meters.get(&interval.device) {
                    instruments.interval(meter.device(), interval, new_gap);
                }
            }
            instruments.dropped(self.queue.take_overload(), "overload");
        }
    }

    /// A gap that goes on comes poll by poll, and is one.
    fn is_new_gap(&mut self, interval: &IntervalEnergy) -> bool {
        let Some(reason) = interval.gap else {
            self.gaps.remove(&interval.device);
            return false;
        };
        let before = self.gaps.insert(interval.device.clone(), (reason, interval.end));
        before != Some((reason, interval.start))
    }

    /// Asks what a joule emits and costs now.
    fn look_up_tariff(&mut self, time: MonoTime, wall: SystemTime) {
        let Context { intensity, prices, .. } = &self.context;
        if !self.tariffs.is_due(time, intensity.is_some(), prices.is_some()) {
            return;
        }
        let begun = self.open.values().map(|open| open.begin.time).min();
        self.tariffs.forget_before(begun.unwrap_or(time).min(time - self.settle_within));
        let Context { place, intensity, prices, .. } = &self.context;
        let tariff = Tariff {
            intensity: intensity
                .as_ref()
                .and_then(|source| unwind("an intensity source", || source.latest(place, wall))?),
            price: prices
                .as_ref()
                .and_then(|source| unwind("a price source", || source.electricity(place, wall))?),
        };
        if let Some(number) = self.tariffs.answered(time, tariff) {
            self.ledger.tariff(time, number);
        }
    }

    /// Whether a device that an inference may use can tell anything of it, now or later: one has answered, or its sensor
    /// is there and fails for the time being. One that is not supported, or may not be read, never does.
    fn may_be_measured(&self, open: &Open) -> bool {
        let scope = scope(&open.begin, &self.context.scope);
        !self.answered.is_empty() || self.failing.iter().any(|device| is_in(scope, device))
    }

    /// Settles what has waited long enough or has nothing to wait for, or everything that has ended when this is the
    /// last call.
    fn settle_late(&mut self, now: MonoTime, last: bool) {
        let late: Vec<InferenceId> = self
            .open
            .iter()
            .filter(|(_, open)| {
                open.finish.as_ref().is_some_and(|finish| {
                    last || now.since(finish.end) > self.settle_within || !self.may_be_measured(open)
                })
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
        let Some(mut open) = self.open.remove(&id) else { return };
        let Some(finish) = open.finish.take() else {
            self.queue.settled();
            return;
        };
        let settlement = self.settlement(&open, &finish, settled, reason);
        let Finish { end, facts, settle, .. } = *finish;
        unwind("ending a span", || settle.settle(&settlement));
        let mut record = InferenceRecord::new(id, *open.begin, end, facts, settlement);
        record.run.clone_from(&self.context.run);
        if let Some(instruments) = &self.context.instruments {
            instruments.inference(&record);
        }
        self.context.sinks.record(&record);
        // Last, so that a flush that sees nothing open has seen everything recorded.
        self.queue.settled();
    }

    fn settlement(
        &mut self,
        open: &Open,
        finish: &Finish,
        settled: Option<Settled>,
        reason: SettleReason,
    ) -> Settlement {
        let mut settlement = Settlement::unknown(reason);
        let (mut energy, mut by_tariff) =
            settled.map_or((None, Vec::new()), |settled| (settled.energy, settled.by_tariff));
        let estimate = open.estimate.estimate();
        match (&mut energy, estimate) {
            (Some(measured), estimate) => measured.estimated = estimate,
            (None, Some(estimate)) => {
                // Nothing was measured: the estimate is the total, and its method says so.
                let mut only = InferenceEnergy::new(estimate.value, Method::Estimated, "time");
                only.estimated = Some(estimate);
                energy = Some(only);
                by_tariff.clone_from(&open.estimate.by_tariff);
            }
            (None, None) if open.local && !self.warned_unmeasured => {
                self.warned_unmeasured = true;
                tracing::warn!(
                    "no sensor covers this machine's inferences and estimates are off: energy is absent"
                );
            }
            (None, None) => {}
        }
        settlement.energy = energy;
        settlement.emissions = self.emissions(&by_tariff);
        settlement.cost = self.cost(open, &by_tariff, &finish.facts.tokens, finish.end);
        settlement
    }

    fn emissions(&self, by_tariff: &[(u32, Joules)]) -> Option<Emissions> {
        let slices: Option<Vec<_>> = by_tariff
            .iter()
            .map(|(tariff, energy)| Some((*energy, self.tariffs.get(*tariff)?.intensity.as_ref()?)))
            .collect();
        emissions(slices?, self.context.overhead)
    }

    fn cost(
        &self,
        open: &Open,
        by_tariff: &[(u32, Joules)],
        tokens: &TokenUsage,
        end: MonoTime,
    ) -> Option<Cost> {
        if !open.local || self.context.price_local_tokens {
            let model = open.begin.model.as_deref().unwrap_or_default();
            let prices = self.context.prices.as_ref()?;
            let price = unwind("a price source", || prices.tokens(&open.begin.provider, model))??;
            return token_cost(&price, tokens);
        }
        let slices: Option<Vec<_>> = by_tariff
            .iter()
            .map(|(tariff, energy)| Some((*energy, self.tariffs.get(*tariff)?.price.as_ref()?.value)))
            .collect();
        let hardware = self.context.hardware.map(|rate| (rate, end.since(open.begin.time)));
        electricity_cost(slices?, self.context.overhead, hardware)
    }
}

/// The devices that an inference may use.
fn scope<'a>(begin: &'a Begin, unless_named: &'a DeviceScope) -> &'a DeviceScope {
    match &begin.devices {
        DeviceScope::All => unless_named,
        named => named,
    }
}

/// Whether a device would be charged for inferences of a scope.
fn is_in(scope: &DeviceScope, device: &Device) -> bool {
    let gpu = matches!(device.kind, DeviceKind::Gpu | DeviceKind::GpuPartition);
    match scope {
        DeviceScope::Gpus(ids) if gpu => ids.contains(&device.id),
        DeviceScope::Only(ids) => ids.contains(&device.id),
        _ => device.is_counted(),
    }
}

/// Whether a sensor that the device has could not be read this time.
fn has_failed(sample: &DeviceSample) -> bool {
    let device = &sample.device;
    device.counter.is_some() && matches!(sample.energy, Reading::Failed(_))
        || device.power.is_some() && matches!(sample.power, Reading::Failed(_))
}

impl Drop for Settler {
    /// Whoever drops a settler early still ends the spans that wait in it.
    fn drop(&mut self) {
        for (_, mut open) in self.open.drain() {
            if let Some(finish) = open.finish.take() {
                unwind("ending a span", || {
                    finish.settle.settle(&Settlement::unknown(SettleReason::Shutdown));
                });
            }
        }
    }
}
