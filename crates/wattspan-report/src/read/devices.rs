//! Metric rows, one by one, into what a report shows of each device. Nothing here grows with the number of rows.

use std::collections::{BTreeMap, BTreeSet};

use wattspan_dataset::MetricRow;

use super::Series;
use crate::text;

/// All devices of a run.
#[derive(Debug)]
pub(crate) struct Devices {
    points: usize,
    by_id: BTreeMap<String, Device>,
    /// Power of all counted devices together.
    pub(crate) total: Series,
    moment: Moment,
    /// Most counted devices that had a power at one moment.
    together: usize,
    /// Moments left out of the total because a device had no power.
    pub(crate) partial: u64,
    pub(crate) rows: u64,
}

/// One device over a run.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) parent: Option<String>,
    pub(crate) is_counted: bool,
    pub(crate) power: Series,
    pub(crate) utilization: Series,
    pub(crate) memory: Series,
    pub(crate) temperature: Series,
    pub(crate) memory_total: Option<f64>,
    pub(crate) power_limit: Option<f64>,
    pub(crate) method: Option<String>,
    pub(crate) gaps: u64,
    pub(crate) gap_reason: Option<String>,
    /// Why it has neither power nor energy, in the words of its latest row without.
    pub(crate) absence: Option<String>,
    pub(crate) throttle: BTreeSet<String>,
    started: String,
    before: Counts,
    latest: Counts,
    gaps_before: u64,
}

/// What a device has used, by state; its grams and dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) total: Option<f64>,
    pub(crate) inference: Option<f64>,
    pub(crate) idle: Option<f64>,
    pub(crate) other: Option<f64>,
    pub(crate) unattributed: Option<f64>,
    pub(crate) co2: Option<f64>,
    pub(crate) cost: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    time: u64,
    power: f64,
    peak: f64,
    devices: usize,
}

impl Devices {
    pub(crate) fn new(points: usize) -> Self {
        Self {
            points,
            by_id: BTreeMap::new(),
            total: Series::new(points),
            moment: Moment::default(),
            together: 0,
            partial: 0,
            rows: 0,
        }
    }

    /// Adds a device's moment. Rows of one moment come one after the other.
    pub(crate) fn add(&mut self, row: &MetricRow) {
        self.rows += 1;
        let time =
            row.timestamp_unix_nano.parse().unwrap_or(row.timestamp.unix_micros().saturating_mul(1_000));
        let power = row.power_watts.or(row.gpu_power_watts).filter(|power| power.is_finite());
        if self.moment.time != time {
            self.close_moment();
            self.moment = Moment { time, ..Moment::default() };
        }
        if let Some(power) = power.filter(|_| row.device_is_counted) {
            self.moment.devices += 1;
            self.moment.power += power;
            self.moment.peak += power.max(row.power_peak_watts.unwrap_or(power));
        }
        if !self.by_id.contains_key(&row.device_id) {
            self.by_id.insert(row.device_id.clone(), Device::new(row, self.points));
        }
        if let Some(device) = self.by_id.get_mut(&row.device_id) {
            device.add(row, time, power);
        }
    }

    /// Closes the last moment and lines the series up.
    pub(crate) fn finish(&mut self) {
        self.close_moment();
        let with_power = self.by_id.values().filter(|device| device.is_counted && !device.power.is_empty());
        if with_power.clone().count() > self.together {
            // The devices are not read at the same moments, so that there is none at which their sum is known: stretches
            // are summed up instead.
            let devices: Vec<&Series> = with_power.map(|device| &device.power).collect();
            self.total = sum(&devices, self.points);
            self.partial = 0;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Device> {
        self.by_id.values()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Sum over the devices that count.
    pub(crate) fn counts(&self) -> Counts {
        let counted = self.by_id.values().filter(|device| device.is_counted);
        counted.fold(Counts::default(), |sum, device| sum.plus(&device.counts()))
    }

    fn close_moment(&mut self) {
        let moment = self.moment;
        if moment.devices == 0 {
            return;
        }
        if moment.devices < self.together {
            self.partial += 1;
            return;
        }
        self.together = moment.devices;
        // A peak of the sum lies between the mean and the sum of the peaks; the mean is what is known.
        self.total.add(moment.time, Some(moment.power), (moment.devices == 1).then_some(moment.peak));
    }
}

impl Device {
    fn new(row: &MetricRow, points: usize) -> Self {
        let series = || Series::new(points);
        Self {
            id: row.device_id.clone(),
            kind: row.device_kind.clone(),
            name: row.device_name.clone(),
            parent: row.device_parent.clone(),
            is_counted: row.device_is_counted,
            power: series(),
            utilization: series(),
            memory: series(),
            temperature: series(),
            memory_total: None,
            power_limit: None,
            method: None,
            gaps: 0,
            gap_reason: None,
            absence: None,
            throttle: BTreeSet::new(),
            started: row.started_unix_nano.clone(),
            before: Counts::default(),
            latest: Counts::default(),
            gaps_before: 0,
        }
    }

    fn add(&mut self, row: &MetricRow, time: u64, power: Option<f64>) {
        if self.started != row.started_unix_nano {
            row.started_unix_nano.clone_into(&mut self.started);
            self.before = self.before.plus(&std::mem::take(&mut self.latest));
            self.gaps_before = self.gaps;
        }
        self.latest.advance(row);
        self.gaps = self.gaps_before + row.gaps;
        if row.gap_reason.is_some() {
            self.gap_reason.clone_from(&row.gap_reason);
        }
        if power.is_none() && row.absence.is_some() {
            self.absence.clone_from(&row.absence);
        }
        if row.energy_method.is_some() && self.method != row.energy_method {
            self.method.clone_from(&row.energy_method);
        }
        for reason in row.throttle.iter().flat_map(|reasons| reasons.split(',')) {
            if !reason.is_empty() && self.throttle.len() < 16 && !self.throttle.contains(reason) {
                self.throttle.insert(reason.to_owned());
            }
        }
        self.power.add(time, power, row.power_peak_watts);
        self.utilization.add(time, row.utilization_percent.or(row.gpu_utilization_percent), None);
        self.memory.add(time, row.gpu_memory_used_mib, None);
        self.temperature.add(time, row.temperature_celsius.or(row.gpu_temperature_celsius), None);
        self.memory_total = row.gpu_memory_total_mib.or(self.memory_total);
        self.power_limit = row.power_limit_watts.or(self.power_limit);
    }

    /// What it has used over the whole run, restarts of the collector included.
    pub(crate) fn counts(&self) -> Counts {
        self.before.plus(&self.latest)
    }

    /// Whether it gave neither power nor energy, and said why.
    pub(crate) fn is_silent(&self) -> bool {
        self.power.is_empty() && self.counts().total.is_none() && self.absence.is_some()
    }

    /// The same as a sentence without its end.
    pub(crate) fn why_silent(&self) -> String {
        let reason = text::line(self.absence.as_deref().unwrap_or("no reason told"));
        format!("{} gave neither power nor energy ({reason})", text::line(&self.title()))
    }

    /// What to call it where there is little room.
    pub(crate) fn title(&self) -> String {
        if self.name.is_empty() { self.id.clone() } else { format!("{} ({})", self.name, self.id) }
    }
}

impl Counts {
    fn advance(&mut self, row: &MetricRow) {
        for (known, new) in [
            (&mut self.total, row.energy_j),
            (&mut self.inference, row.energy_inference_j),
            (&mut self.idle, row.energy_idle_j),
            (&mut self.other, row.energy_other_j),
            (&mut self.unattributed, row.energy_unattributed_j),
            (&mut self.co2, row.co2_emissions_gco2e),
            (&mut self.cost, row.power_cost_usd),
        ] {
            if new.is_some_and(f64::is_finite) {
                *known = new;
            }
        }
    }

    fn plus(&self, other: &Self) -> Self {
        let sum = |one: Option<f64>, two: Option<f64>| one.into_iter().chain(two).reduce(|a, b| a + b);
        Self {
            total: sum(self.total, other.total),
            inference: sum(self.inference, other.inference),
            idle: sum(self.idle, other.idle),
            other: sum(self.other, other.other),
            unattributed: sum(self.unattributed, other.unattributed),
            co2: sum(self.co2, other.co2),
            cost: sum(self.cost, other.cost),
        }
    }
}

/// Mean power of several devices, where all of them have one.
fn sum(devices: &[&Series], points: usize) -> Series {
    let width = devices.iter().map(|series| series.width()).max().unwrap_or(1);
    let mut by_begin: BTreeMap<u64, (usize, f64)> = BTreeMap::new();
    for series in devices {
        let mut series = (*series).clone();
        series.coarsen(width);
        for point in series.points() {
            let (count, power) = by_begin.entry(point.begin).or_default();
            *count += 1;
            *power += point.mean;
        }
    }
    let mut total = Series::new(points);
    total.coarsen(width);
    for (begin, (count, power)) in by_begin {
        if count == devices.len() {
            total.add(begin, Some(power), None);
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(device: &str, second: u64, power: Option<f64>, energy: f64, started: &str) -> MetricRow {
        let mut row = MetricRow::default();
        row.device_id = device.to_owned();
        row.device_is_counted = true;
        row.timestamp_unix_nano = format!("{second}000000000");
        row.power_watts = power;
        row.energy_j = Some(energy);
        row.started_unix_nano = started.to_owned();
        row
    }

    #[test]
    fn a_restarted_collector_is_added_and_not_taken_for_a_loss() {
        let mut devices = Devices::new(64);
        for (energy, started) in [(10.0, "0"), (30.0, "0"), (5.0, "9"), (7.0, "9")] {
            devices.add(&row("a", 1, Some(1.0), energy, started));
        }
        devices.add(&row("b", 1, None, 2.5, "9"));
        devices.finish();
        assert_eq!(devices.counts().total, Some(39.5));
        assert_eq!(devices.counts().co2, None);
    }

    #[test]
    fn a_moment_without_one_of_the_devices_is_no_dip_of_the_total() {
        let mut devices = Devices::new(64);
        for second in 0..20 {
            devices.add(&row("a", second, Some(100.0), 0.0, "0"));
            devices.add(&row("b", second, (second != 7).then_some(50.0), 0.0, "0"));
        }
        devices.finish();
        assert_eq!(devices.partial, 1);
        assert!(devices.total.points().all(|point| point.min == 150.0 && point.max == 150.0));
        assert_eq!(devices.total.points().count(), 19);
    }

    #[test]
    fn devices_that_are_read_at_different_moments_add_up_by_stretches() {
        let mut devices = Devices::new(8);
        for second in 0..40 {
            devices.add(&row("a", second * 2, Some(100.0), 0.0, "0"));
            devices.add(&row("b", second * 2 + 1, Some(50.0), 0.0, "0"));
        }
        devices.finish();
        assert!(devices.total.points().count() >= 4);
        assert!(devices.total.points().all(|point| point.mean == 150.0));
    }
}
