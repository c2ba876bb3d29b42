//! What a report is made from: each device's energy over time, coarsened where it is long, and gauges, servers and
//! inferences. Two of these can be merged without counting a device's time twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Bytes, Celsius, Device, DeviceId, Estimate, Grams, Joules, Method, Ratio, StateEnergy, Usd, Vendor, Watts,
};
use wattspan_energy::{Embodied, Overhead, sci};

use super::distribution::Distribution;
use super::inferences::{Row, Sums};
use super::report::{DeviceReport, PerformanceReport, SciReport, ServerReport, TotalReport};
use super::spans::{Span, length, outside, overlap, union};
use crate::estimate::Gathered;

/// Emissions of making the hardware that a program uses.
///
/// A window's part of them is `total · window/lifespan · part`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Embodiment {
    total: Grams,
    lifespan: Duration,
    part: Ratio,
}

impl Embodiment {
    /// `total` for the whole hardware, which is kept for a `lifespan` and of which a `part` is used (1 GPU of 8: 0.125).
    pub const fn new(total: Grams, lifespan: Duration, part: Ratio) -> Self {
        Self { total, lifespan, part }
    }

    fn share(&self, window: Duration) -> Option<Grams> {
        let embodied = Embodied::new(self.total, window, self.lifespan, self.part.ratio(), 1.0);
        embodied.map(|embodied| embodied.share()).ok()
    }
}

/// Energy of a device in a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segment {
    pub(super) span: Span,
    /// The part of it with data, in nanoseconds: less than all where segments with a gap between them were joined.
    pub(super) covered: u64,
    pub(super) energy: StateEnergy,
    pub(super) method: Method,
    pub(super) grams: Option<Grams>,
    pub(super) cost: Option<Usd>,
}

impl Segment {
    /// The part between two times; exact when that is all of it.
    pub(super) fn within(&self, span: Span) -> Option<Self> {
        let (from, to) = (self.span.0.max(span.0), self.span.1.min(span.1));
        if from >= to {
            return None;
        }
        if (from, to) == self.span {
            return Some(self.clone());
        }
        let fraction = (to - from) as f64 / (self.span.1 - self.span.0) as f64;
        let part = |energy: Joules| energy.scaled(fraction).unwrap_or(energy);
        Some(Self {
            span: (from, to),
            covered: (self.covered as f64 * fraction).round() as u64,
            energy: StateEnergy {
                inference: part(self.energy.inference),
                idle: part(self.energy.idle),
                other: part(self.energy.other),
                unattributed: part(self.energy.unattributed),
            },
            method: self.method,
            grams: self.grams.and_then(|grams| Grams::new(grams.grams() * fraction)),
            cost: self.cost.and_then(|cost| Usd::new(cost.usd() * fraction)),
        })
    }

    fn join(&mut self, next: &Self) {
        self.span.1 = self.span.1.max(next.span.1);
        self.covered += next.covered;
        self.energy += next.energy;
        self.method = self.method.with(next.method);
        self.grams = self.grams.zip(next.grams).map(|(one, other)| one + other);
        self.cost = self.cost.zip(next.cost).map(|(one, other)| one + other);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeviceData {
    pub(super) device: Arc<Device>,
    /// In order of time, none over another.
    pub(super) segments: Vec<Segment>,
    /// When it was watched.
    pub(super) watched: Vec<Span>,
    pub(super) bound: Option<Joules>,
    pub(super) gaps: u64,
    pub(super) power: Distribution,
    pub(super) utilization: Distribution,
    pub(super) memory: Distribution,
    pub(super) temperature: Distribution,
    pub(super) memory_total: Option<Bytes>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerData {
    pub(super) polls: u64,
    pub(super) tokens: Distribution,
    pub(super) prompt: Distribution,
    pub(super) cache: Distribution,
}

/// All that was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Data {
    pub(super) windows: Vec<(Arc<str>, Span)>,
    pub(super) snapshots: u64,
    /// Power of all counted devices together, by poll.
    pub(super) power: Distribution,
    pub(super) devices: BTreeMap<DeviceId, DeviceData>,
    pub(super) servers: BTreeMap<Arc<str>, ServerData>,
    pub(super) rows: Vec<Row>,
    pub(super) folded: Sums,
    pub(super) overhead: Overhead,
    /// Each kind of hardware, known by its devices, with the windows in which it was used.
    pub(super) hardware: Vec<(Embodiment, Vec<DeviceId>, Vec<Span>)>,
    /// What may have been drawn without a sensor to tell, by monitor and window.
    pub(super) estimates: Vec<(Arc<str>, Span, Estimate)>,
    pub(super) notes: Vec<String>,
}

impl DeviceData {
    pub(super) fn new(device: Arc<Device>) -> Self {
        Self {
            device,
            segments: Vec::new(),
            watched: Vec::new(),
            bound: None,
            gaps: 0,
            power: Distribution::default(),
            utilization: Distribution::default(),
            memory: Distribution::default(),
            temperature: Distribution::default(),
            memory_total: None,
        }
    }

    /// Whether it was ever measured. A sensor that may not be read makes no total less complete.
    fn is_measured(&self) -> bool {
        !self.segments.is_empty() || self.gaps > 0
    }

    /// Adds the latest segment; old ones become coarser where they are many.
    pub(super) fn push(&mut self, segment: Segment) {
        self.segments.push(segment);
        if self.segments.len() < SEGMENTS {
            return;
        }
        // The later half stays fine, so that a window's end can be cut.
        let recent = self.segments.split_off(SEGMENTS / 2);
        let mut coarse: Vec<Segment> = Vec::with_capacity(SEGMENTS);
        let mut single = false;
        for segment in self.segments.drain(..) {
            if let Some(last) = coarse.last_mut().filter(|_| single) {
                last.join(&segment);
                single = false;
            } else {
                coarse.push(segment);
                single = true;
            }
        }
        coarse.extend(recent);
        self.segments = coarse;
    }

    /// Takes from another record of this device what is not in this one.
    fn absorb(&mut self, other: &Self) {
        let covered: Vec<Span> = union(self.segments.iter().map(|segment| segment.span).collect());
        let mut news = Vec::new();
        for segment in &other.segments {
            news.extend(outside(segment.span, &covered).into_iter().filter_map(|span| segment.within(span)));
        }
        if !news.is_empty() {
            self.bound = match (self.bound, other.bound) {
                (Some(one), Some(two)) => Some(one + two),
                (one, two) => one.or(two),
            };
        }
        self.segments.extend(news);
        self.segments.sort_by_key(|segment| segment.span);
        let apart = !overlap(&self.watched, &other.watched);
        let gauges = [
            (&mut self.power, &other.power),
            (&mut self.utilization, &other.utilization),
            (&mut self.memory, &other.memory),
            (&mut self.temperature, &other.temperature),
        ];
        for (mine, theirs) in gauges {
            mine.merge_unless_double(theirs, apart);
        }
        self.gaps = if apart { self.gaps + other.gaps } else { self.gaps.max(other.gaps) };
        self.memory_total = self.memory_total.or(other.memory_total);
        self.watched.extend_from_slice(&other.watched);
        self.watched = union(std::mem::take(&mut self.watched));
    }

    fn report(&self) -> DeviceReport {
        let method = self.segments.iter().map(|segment| segment.method).reduce(Method::with);
        let states = method.map(|_| {
            let mut sum = StateEnergy::default();
            self.segments.iter().for_each(|segment| sum += segment.energy);
            sum
        });
        let energy = states.map(|states| states.total());
        let covered = Duration::from_nanos(self.segments.iter().map(|segment| segment.covered).sum());
        let watched = length(&self.watched);
        let coverage = covered.as_secs_f64() / watched.as_secs_f64();
        let ratio = |value: Option<f64>| value.and_then(Ratio::new);
        let bytes = |value: Option<f64>| value.map(|bytes| Bytes::new(bytes as u64));
        DeviceReport {
            id: self.device.id.clone(),
            kind: self.device.kind,
            name: self.device.name.clone(),
            index: self.device.index,
            counted: self.device.is_counted(),
            energy,
            energy_by_state: states,
            method,
            bound: self.bound.filter(|_| method.is_some()),
            coverage: Ratio::new(coverage.min(1.0)).unwrap_or(Ratio::ZERO),
            gaps: self.gaps,
            emissions: sum(self.segments.iter().map(|segment| segment.grams)),
            cost: sum(self.segments.iter().map(|segment| segment.cost)),
            mean_power: energy.and_then(|energy| energy / covered),
            power: self.power.percentiles(),
            avg_utilization: ratio(self.utilization.mean()),
            peak_utilization: ratio(self.utilization.max()),
            avg_memory: bytes(self.memory.mean()),
            peak_memory: bytes(self.memory.max()),
            memory_total: self.memory_total,
            avg_temperature: self.temperature.mean().and_then(Celsius::new),
            peak_temperature: self.temperature.max().and_then(Celsius::new),
        }
    }
}

/// Sum of figures; absent when there is none, or one of them is.
fn sum<T: std::ops::Add<Output = T>>(parts: impl Iterator<Item = Option<T>>) -> Option<T> {
    parts.reduce(|sum, more| sum.zip(more).map(|(sum, more)| sum + more)).flatten()
}

impl Data {
    /// Time that its windows cover.
    pub(super) fn length(&self) -> Duration {
        length(&spans(&self.windows))
    }

    /// Adds an inference; old ones become sums where they are many.
    pub(super) fn row(&mut self, row: Row) {
        if self.rows.len() >= ROWS {
            for old in self.rows.drain(..ROWS / 2) {
                self.folded.add(&old);
            }
        }
        self.rows.push(row);
    }

    /// Takes from another what is not in this one.
    pub(super) fn absorb(&mut self, other: &Self) {
        let mut double = Vec::new();
        for (monitor, span) in &other.windows {
            let same = self.windows.iter().filter(|(known, _)| known == monitor);
            double.extend(same.filter(|(_, known)| overlap(&[*known], &[*span])).map(|(_, known)| *known));
        }
        let all = length(&spans(&other.windows)).as_secs_f64();
        let fresh: f64 = union(spans(&other.windows))
            .into_iter()
            .flat_map(|span| outside(span, &union(double.clone())))
            .map(|(from, to)| (to - from) as f64 / 1e9)
            .sum();
        self.snapshots += (other.snapshots as f64 * if all > 0.0 { fresh / all } else { 1.0 }).round() as u64;
        // Power at different times can be laid together; at the same time on two machines it would have to be added up.
        if overlap(&spans(&self.windows), &spans(&other.windows)) {
            if double.is_empty() {
                self.power = Distribution::default();
                self.notes
                    .push("the total power's percentiles of windows side by side are not known".to_owned());
            }
        } else {
            self.power.merge(&other.power);
        }
        self.absorb_estimates(other);
        for (id, device) in &other.devices {
            match self.devices.get_mut(id) {
                Some(known) => known.absorb(device),
                None => {
                    self.devices.insert(id.clone(), device.clone());
                }
            }
        }
        for (name, server) in &other.servers {
            let known = self.servers.entry(Arc::clone(name)).or_default();
            let apart = double.is_empty();
            known.polls = if apart { known.polls + server.polls } else { known.polls.max(server.polls) };
            known.tokens.merge_unless_double(&server.tokens, apart);
            known.prompt.merge_unless_double(&server.prompt, apart);
            known.cache.merge_unless_double(&server.cache, apart);
        }
        let counted = |row: &Row| {
            self.windows
                .iter()
                .any(|(monitor, span)| *monitor == row.monitor && (span.0..=span.1).contains(&row.end))
        };
        let rows: Vec<Row> = other.rows.iter().filter(|row| !counted(row)).cloned().collect();
        if double.is_empty() {
            self.folded.merge(&other.folded);
        } else if other.folded.count > 0 {
            self.notes.push(format!(
                "{} inferences of overlapping windows cannot be told apart any more and are left out",
                other.folded.count
            ));
        }
        for row in rows {
            self.row(row);
        }
        if self.overhead != other.overhead {
            self.notes.push("the reports cover different boundaries; the first one's is named".to_owned());
        }
        for (embodiment, devices, windows) in &other.hardware {
            match self.hardware.iter_mut().find(|known| (&known.0, &known.1) == (embodiment, devices)) {
                Some((_, _, known)) => {
                    known.extend_from_slice(windows);
                    *known = union(std::mem::take(known));
                }
                None => self.hardware.push((*embodiment, devices.clone(), windows.clone())),
            }
        }
        self.windows.extend(other.windows.iter().cloned());
        self.notes.extend(other.notes.iter().cloned());
    }

    /// Adds another's estimates for the time that this one has none for. Two monitors that know a device in common watch
    /// one machine; those that know none are taken for two machines.
    fn absorb_estimates(&mut self, other: &Self) {
        let one_machine = other.devices.keys().any(|device| self.devices.contains_key(device));
        let mut news = Vec::new();
        for (monitor, span, estimate) in &other.estimates {
            let same = self.windows.iter().filter(|(known, _)| one_machine || known == monitor);
            let covered = union(same.map(|(_, known)| *known).collect());
            for part in outside(*span, &covered) {
                let fraction = (part.1 - part.0) as f64 / (span.1 - span.0) as f64;
                let scaled = |energy: Joules| energy.scaled(fraction).unwrap_or(energy);
                let mut estimate = estimate.clone();
                estimate.value = scaled(estimate.value);
                estimate.range.low = scaled(estimate.range.low);
                estimate.range.high = scaled(estimate.range.high);
                news.push((Arc::clone(monitor), part, estimate));
            }
        }
        self.estimates.extend(news);
    }

    pub(super) fn report(self) -> PerformanceReport {
        let windows = union(spans(&self.windows));
        let duration = length(&windows);
        let devices: Vec<DeviceReport> = self.devices.values().map(DeviceData::report).collect();
        let mut sums = self.folded.clone();
        self.rows.iter().for_each(|row| sums.add(row));
        let inferences = sums.report(duration.as_secs_f64());
        let total = self.total(&devices);
        let sci = self.sci(&total, &sums);
        let servers = self.servers.iter().map(|(name, server)| server.report(name)).collect();
        let mut monitors: Vec<String> = self.windows.iter().map(|(monitor, _)| monitor.to_string()).collect();
        monitors.sort_unstable();
        monitors.dedup();
        let start = windows.first().map_or(0, |(from, _)| *from);
        PerformanceReport {
            monitors,
            start: SystemTime::UNIX_EPOCH + Duration::from_nanos(start),
            duration,
            snapshots: self.snapshots,
            devices,
            total,
            estimate: Gathered::together(self.estimates.iter().map(|(.., estimate)| estimate)),
            inferences,
            servers,
            sci,
            notes: self.notes.clone(),
            data: Some(Box::new(self)),
        }
    }

    fn total(&self, devices: &[DeviceReport]) -> TotalReport {
        let measured = || devices.iter().filter(|device| device.counted && device.energy.is_some());
        let states = measured().filter_map(|device| device.energy_by_state).reduce(|mut sum, more| {
            sum += more;
            sum
        });
        let sensing =
            self.devices.values().filter(|device| device.device.is_counted() && device.is_measured());
        let coverage = sensing.map(|device| device.report().coverage).reduce(Ratio::min);
        TotalReport {
            energy: states.map(|states| states.total()),
            energy_by_state: states,
            method: measured().filter_map(|device| device.method).reduce(Method::with),
            bound: sum(measured().map(|device| device.bound)),
            coverage,
            emissions: sum(measured().map(|device| device.emissions)),
            cost: sum(measured().map(|device| device.cost)),
            boundary: self.overhead.boundary(),
            mean_power: measured()
                .filter_map(|device| device.mean_power)
                .reduce(|sum: Watts, more| sum + more),
            power: self.power.percentiles(),
        }
    }

    fn sci(&self, total: &TotalReport, sums: &Sums) -> Option<SciReport> {
        let operational = total.emissions?;
        let embodied = sum(self.hardware.iter().map(|(kind, _, windows)| kind.share(length(windows))));
        let per = |units: f64| sci(operational, embodied.unwrap_or(Grams::ZERO), units).ok();
        Some(SciReport {
            operational,
            embodied,
            per_inference: per(sums.count as f64),
            per_thousand_tokens: sums.output.and_then(|tokens| per(tokens as f64 / 1e3)),
        })
    }

    /// What a report that was read back still tells: each device's energy spread evenly over its window.
    pub(super) fn read_back(report: &PerformanceReport) -> Self {
        let from = report.start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let window = (from, from + report.duration.as_nanos() as u64);
        let mut data = Self {
            snapshots: report.snapshots,
            folded: Sums::read_back(&report.inferences),
            notes: report.notes.clone(),
            ..Self::default()
        };
        let monitor: Arc<str> = report.monitors.join("+").into();
        data.estimates
            .extend(report.estimate.iter().map(|estimate| (Arc::clone(&monitor), window, estimate.clone())));
        data.windows.push((monitor, window));
        data.notes.push("percentiles and means of a report that was read back are not merged".to_owned());
        for device in &report.devices {
            let mut known = Device::new(device.id.clone(), device.kind, Vendor::Unknown, device.name.clone());
            known.index = device.index;
            if !device.counted {
                known.parent = Some(DeviceId::new("unknown"));
            }
            let mut one = DeviceData::new(Arc::new(known));
            one.watched.push(window);
            one.bound = device.bound;
            one.gaps = device.gaps;
            one.memory_total = device.memory_total;
            let covered = report.duration.mul_f64(device.coverage.ratio().clamp(0.0, 1.0)).as_nanos() as u64;
            if let (Some(energy), Some(method)) = (device.energy_by_state, device.method) {
                let span = (from, (from + covered).max(from + 1));
                one.segments.push(Segment {
                    span,
                    covered: span.1 - span.0,
                    energy,
                    method,
                    grams: device.emissions,
                    cost: device.cost,
                });
            }
            data.devices.insert(device.id.clone(), one);
        }
        data
    }
}

impl ServerData {
    fn report(&self, name: &str) -> ServerReport {
        let ratio = |value: Option<f64>| value.and_then(Ratio::new);
        ServerReport {
            server: name.to_owned(),
            polls: self.polls,
            avg_tokens_per_second: self.tokens.mean(),
            peak_tokens_per_second: self.tokens.max(),
            avg_prompt_tokens_per_second: self.prompt.mean(),
            peak_prompt_tokens_per_second: self.prompt.max(),
            avg_kv_cache: ratio(self.cache.mean()),
            peak_kv_cache: ratio(self.cache.max()),
        }
    }
}

fn spans(windows: &[(Arc<str>, Span)]) -> Vec<Span> {
    windows.iter().map(|(_, span)| *span).collect()
}

/// Segments kept by device: at a refresh each 100 ms, the last three minutes are always fine.
const SEGMENTS: usize = 4_096;
/// Inferences kept one by one; at some 150 bytes each, ten megabytes.
const ROWS: usize = 65_536;

#[cfg(test)]
mod tests {
    use wattspan_core::DeviceKind;

    use super::*;

    #[test]
    fn long_records_become_coarser_and_lose_nothing() {
        let device = Device::new(DeviceId::new("a"), DeviceKind::Gpu, Vendor::Nvidia, "a");
        let mut data = DeviceData::new(Arc::new(device));
        data.watched.push((0, 80_000));
        for second in 0..20_000 {
            // A gap after each.
            data.push(Segment {
                span: (second * 4, second * 4 + 3),
                covered: 3,
                energy: StateEnergy { idle: Joules::from_microjoules(7), ..StateEnergy::default() },
                method: Method::Counter,
                grams: None,
                cost: None,
            });
        }
        assert!(data.segments.len() < SEGMENTS);
        let report = data.report();
        assert_eq!(report.energy, Some(Joules::from_microjoules(140_000)));
        assert_eq!((report.coverage.ratio(), report.emissions), (0.75, None));
    }
}
