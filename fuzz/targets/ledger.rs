//! Any schedule of calls: nothing panics, nothing is negative, and the parts add up to what was measured, to the
//! microjoule.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use wattspan_core::{
    Device, DeviceId, DeviceKind, DeviceScope, GapReason, InferenceId, Joules, LatePhases, Method, MonoTime,
    Ratio, Vendor, Workload,
};
use wattspan_energy::{Closed, Ledger, Measured, Ownership};

fuzz_target!(|bytes: &[u8]| {
    let mut run = Run::new();
    let mut input = Input(bytes);
    while let Some(op) = input.byte() {
        run.step(op, &mut input);
    }
    run.finish();
});

/// Bytes as arguments: zeros after the end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn small(&mut self) -> u64 {
        self.byte().unwrap_or(0).into()
    }

    /// Numbers of all magnitudes: a byte's worth of bits shifted by another's.
    fn number(&mut self) -> u64 {
        (self.small() + 1) << (self.small() % 40)
    }
}

const DEVICES: usize = 4;

struct Run {
    ledger: Ledger,
    devices: Vec<Arc<Device>>,
    now: MonoTime,
    /// End of the last interval of each device.
    ends: [MonoTime; DEVICES],
    /// What was measured, as long as no interval overlaps another, which the ledger clips.
    measured: [Option<Joules>; DEVICES],
    /// Sums of the closed intervals, and of what inferences were charged.
    closed: BTreeMap<DeviceId, Joules>,
    charged: BTreeMap<DeviceId, Joules>,
    open: Vec<InferenceId>,
    next: u64,
    forgotten: bool,
}

impl Run {
    fn new() -> Self {
        let device = |index: usize| {
            let kind = [DeviceKind::Gpu, DeviceKind::Cpu, DeviceKind::GpuPartition, DeviceKind::Dram]
                [index % DEVICES];
            let mut device =
                Device::new(DeviceId::new(format!("device-{index}")), kind, Vendor::Unknown, "fuzz");
            device.parent = (kind == DeviceKind::GpuPartition).then(|| DeviceId::new("device-0"));
            Arc::new(device)
        };
        Self {
            ledger: Ledger::new(),
            devices: (0..DEVICES).map(device).collect(),
            now: MonoTime::ZERO,
            ends: [MonoTime::ZERO; DEVICES],
            measured: [Some(Joules::ZERO); DEVICES],
            closed: BTreeMap::new(),
            charged: BTreeMap::new(),
            open: Vec::new(),
            next: 0,
            forgotten: false,
        }
    }

    fn step(&mut self, op: u8, input: &mut Input<'_>) {
        match op % 10 {
            0 => self.begin(input),
            1 => {
                let at = self.time(input);
                if let Some(id) = self.any(input) {
                    self.ledger.mark(id, at, input.number(), input.number());
                }
            }
            2 => {
                let at = self.time(input);
                if let Some(id) = self.any(input) {
                    self.ledger.finish(id, at, phases(input));
                }
            }
            3 | 4 => self.interval(input),
            5 => {
                let closed = self.ledger.advance(self.now);
                self.keep(closed);
            }
            6 => self.now = self.now + Duration::from_micros(input.number() % (1 << 36)),
            7 => {
                let at = self.time(input);
                self.ledger.tariff(at, input.small() as u32 % 5);
            }
            8 => self.end(input),
            _ => {
                let index = input.small() as usize % DEVICES;
                if input.small() % 2 == 0 {
                    self.ledger.remove_device(&self.devices[index].id);
                } else {
                    // From where its intervals have got to, so that none of them lies before.
                    self.ledger.add_device(&self.devices[index], self.ends[index]);
                }
            }
        }
    }

    /// Around now: some calls come late.
    fn time(&mut self, input: &mut Input<'_>) -> MonoTime {
        let off = Duration::from_millis(input.small());
        if input.small() % 3 == 0 { self.now - off } else { self.now + off }
    }

    fn any(&self, input: &mut Input<'_>) -> Option<InferenceId> {
        let index = input.small() as usize;
        self.open.get(index % self.open.len().max(1)).copied()
    }

    fn begin(&mut self, input: &mut Input<'_>) {
        let at = self.time(input);
        let some: Arc<[DeviceId]> = [self.devices[input.small() as usize % DEVICES].id.clone()].into();
        let scope = match input.small() % 3 {
            0 => DeviceScope::All,
            1 => DeviceScope::Only(some),
            _ => DeviceScope::Gpus(some),
        };
        let workload = if input.small() % 8 == 0 { Workload::Load } else { Workload::Generation };
        let id = InferenceId::new(self.next);
        self.next += 1;
        self.open.push(id);
        self.ledger.begin_as(id, at, scope, workload);
    }

    fn interval(&mut self, input: &mut Input<'_>) {
        let index = input.small() as usize % DEVICES;
        let (mut start, mode) = (self.ends[index], input.small());
        if mode % 16 == 1 {
            // What came before is sent again in part.
            start = start - Duration::from_millis(input.small());
            self.measured[index] = None;
        }
        let end = start + Duration::from_micros(input.number() % (1 << 34));
        let energy = Joules::from_microjoules(i128::from(input.number()) * (input.small() as i128 + 1));
        let method = if mode % 2 == 0 { Method::Counter } else { Method::Integrated };
        let measured = if mode % 16 == 2 {
            Measured::gap(start, end, method, GapReason::CounterReset)
        } else {
            self.measured[index] = self.measured[index].map(|sum| sum + energy);
            Measured::new(start, end, energy, method)
        };
        self.ends[index] = self.ends[index].max(end);
        let ours = Ratio::share(input.small() as f64 / 255.0).unwrap_or(Ratio::ONE);
        let others = Ratio::share(input.small() as f64 / 255.0).unwrap_or(Ratio::ZERO);
        let ownership = if mode % 4 == 3 { Ownership { ours, others } } else { Ownership::OURS };
        self.ledger.interval(&self.devices[index], measured, ownership);
    }

    /// Settles or forgets one inference.
    fn end(&mut self, input: &mut Input<'_>) {
        let Some(id) = self.any(input) else { return };
        self.open.retain(|open| *open != id);
        if input.small() % 4 == 0 {
            self.forgotten = true;
            self.ledger.forget(id, self.now);
        } else if let Some(settled) = self.ledger.settle(id) {
            self.keep(Closed { settled: vec![settled], ..Closed::default() });
        }
    }

    fn keep(&mut self, closed: Closed) {
        for interval in closed.intervals {
            let energy = interval.energy;
            for part in [energy.inference, energy.idle, energy.other, energy.unattributed] {
                assert!(!part.is_negative(), "{interval:?}");
            }
            *self.closed.entry(interval.device).or_default() += energy.total();
        }
        for settled in closed.settled {
            self.open.retain(|open| *open != settled.id);
            let Some(energy) = &settled.energy else { continue };
            assert_eq!(
                energy.devices.iter().map(|share| share.energy).sum::<Joules>(),
                energy.total,
                "{settled:?}"
            );
            assert_eq!(
                settled.by_tariff.iter().map(|(_, part)| *part).sum::<Joules>(),
                energy.total,
                "{settled:?}"
            );
            for share in &energy.devices {
                assert!(!share.energy.is_negative() && !share.uncertainty.total.is_negative(), "{settled:?}");
                assert!(
                    share.idle.is_none_or(|idle| !idle.is_negative() && idle <= share.energy),
                    "{settled:?}"
                );
                assert!((0.0..=1.0).contains(&share.coverage.ratio()), "{settled:?}");
                *self.charged.entry(share.device.clone()).or_default() += share.energy;
            }
        }
    }

    fn finish(mut self) {
        let closed = self.ledger.flush(self.now);
        self.keep(closed);
        for id in std::mem::take(&mut self.open) {
            let settled = self.ledger.settle(id).into_iter().collect();
            self.keep(Closed { settled, ..Closed::default() });
        }
        let closed = self.ledger.flush(self.now);
        self.keep(closed);
        for (device, measured) in self.devices.iter().zip(self.measured) {
            let Some(totals) = self.ledger.totals(&device.id) else { continue };
            assert_eq!(
                totals.total(),
                self.closed.get(&device.id).copied().unwrap_or_default(),
                "{device:?}"
            );
            if let Some(measured) = measured {
                assert_eq!(totals.total(), measured, "{device:?}");
            }
            let charged = self.charged.get(&device.id).copied().unwrap_or_default();
            // A part of a device is charged to inferences bound to it alone; for others its draw is in the whole's.
            if self.forgotten || !device.is_counted() {
                assert!(charged <= totals.inference, "{device:?}");
            } else {
                assert_eq!(charged, totals.inference, "{device:?}");
            }
        }
    }
}

fn phases(input: &mut Input<'_>) -> LatePhases {
    let mut phases = LatePhases::default();
    let known = input.small();
    if known % 2 == 1 {
        phases.prompt_tokens = Some(input.number());
        phases.prompt = Some(Duration::from_micros(input.number()));
    }
    if known % 4 > 1 {
        phases.decode_steps = Some(input.number());
        phases.decode = Some(Duration::from_micros(input.number()));
        phases.draft_tokens = (known % 8 > 3).then(|| input.small());
    }
    phases
}
