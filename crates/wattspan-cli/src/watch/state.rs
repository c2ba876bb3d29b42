//! What the live view shows: taken from snapshots, told keys, and knowing nothing of terminals.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use wattspan::core::{DeviceId, DeviceSample, Joules, Reading, ServerStats, Watts};
use wattspan::monitor::Snapshot;

use super::lines::{label, total_energy};

/// Everything on the screen.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) elapsed: Duration,
    /// Of all counted devices.
    pub(super) power: Option<Watts>,
    /// Of all counted devices, since the start.
    pub(super) energy: Option<Joules>,
    pub(super) devices: Vec<DeviceRow>,
    pub(super) servers: Vec<ServerRow>,
    /// Power of all counted devices at each interval, the newest last.
    pub(super) history: VecDeque<Option<Watts>>,
    /// How many devices are above the first one shown.
    pub(super) scroll: usize,
    trends: BTreeMap<DeviceId, VecDeque<Option<Watts>>>,
    meters: BTreeMap<String, TokenMeter>,
}

/// A line of the table of devices.
#[derive(Debug)]
pub(super) struct DeviceRow {
    pub(super) label: String,
    pub(super) sample: DeviceSample,
    pub(super) power: Reading<Watts>,
    /// Since the start. **Absent** while nothing was measured.
    pub(super) energy: Option<Joules>,
    /// Its power at the latest intervals, the newest last.
    pub(super) trend: Vec<Option<Watts>>,
}

/// A line of the table of servers.
#[derive(Debug)]
pub(super) struct ServerRow {
    pub(super) stats: ServerStats,
    /// Energy of this machine's counted devices by output token. **Absent** for a server elsewhere, and while there are
    /// no tokens or no sensor.
    pub(super) joules_per_token: Option<f64>,
}

impl ServerRow {
    /// Why a server says nothing.
    pub(super) fn trouble(&self) -> Option<String> {
        let rates = [&self.stats.tokens_per_second, &self.stats.prompt_tokens_per_second];
        let is_trouble = |rate: &&&Reading<f64>| matches!(rate, Reading::Denied(_) | Reading::Failed(_));
        rates.iter().find(is_trouble).and_then(|rate| rate.absence())
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Energy and tokens when a server was last heard of.
#[derive(Clone, Copy, Debug, Default)]
struct TokenMeter {
    seen: Option<(u64, Joules)>,
    joules_per_token: Option<f64>,
}

impl State {
    /// Takes what the monitor says now.
    pub(super) fn update(&mut self, elapsed: Duration, snapshot: &Snapshot) {
        let devices = snapshot.devices.iter().map(|device| {
            let energy = device.method.map(|_| device.energy.total());
            (device.sample.clone(), device.power.clone(), energy)
        });
        self.elapsed = elapsed;
        self.set(
            snapshot.total_power().value(),
            total_energy(snapshot),
            devices.collect(),
            snapshot.servers.clone(),
        );
    }

    /// The same from parts.
    pub(super) fn set(
        &mut self,
        power: Option<Watts>,
        energy: Option<Joules>,
        devices: Vec<(DeviceSample, Reading<Watts>, Option<Joules>)>,
        servers: Vec<ServerStats>,
    ) {
        (self.power, self.energy) = (power, energy);
        push(&mut self.history, power, LONGEST);
        let trends = &mut self.trends;
        let row = |(sample, power, energy): (DeviceSample, Reading<Watts>, _)| {
            let trend = trends.entry(sample.device.id.clone()).or_default();
            push(trend, power.as_value().copied(), TREND);
            let trend = trend.iter().copied().collect();
            DeviceRow { label: label(&sample.device), sample, power, energy, trend }
        };
        self.devices = devices.into_iter().map(row).collect();
        // GPUs first, by number: they are what one looks for, and the order of their ids says nothing.
        self.devices.sort_by_key(|row| {
            let device = &row.sample.device;
            (device.kind != wattspan::core::DeviceKind::Gpu, device.index)
        });
        let meters = &mut self.meters;
        let row = |stats: ServerStats| {
            let meter = meters.entry(stats.server.to_string()).or_default();
            if is_here(&stats.server) {
                meter.read(stats.tokens_total.as_value().copied(), energy);
            }
            ServerRow { joules_per_token: meter.joules_per_token, stats }
        };
        self.servers = servers.into_iter().map(row).collect();
    }

    /// Moves the table, of which so many lines can be seen.
    pub(super) fn key(&mut self, key: Key, visible: usize) {
        let last = self.devices.len().saturating_sub(visible);
        let page = visible.max(1);
        let at = self.scroll.min(last);
        self.scroll = match key {
            Key::Up => at.saturating_sub(1),
            Key::Down => at + 1,
            Key::PageUp => at.saturating_sub(page),
            Key::PageDown => at + page,
            Key::First => 0,
            Key::Last => last,
        }
        .min(last);
    }
}

impl TokenMeter {
    fn read(&mut self, tokens: Option<u64>, energy: Option<Joules>) {
        let (Some(tokens), Some(energy)) = (tokens, energy) else {
            return *self = Self::default();
        };
        match self.seen {
            // The server has not been asked again, or has made nothing since.
            Some((before, _)) if before == tokens => {}
            Some((before, then)) if tokens > before => {
                self.joules_per_token = Some((energy - then).joules() / (tokens - before) as f64);
                self.seen = Some((tokens, energy));
            }
            // The first look; or it was started anew.
            _ => *self = Self { seen: Some((tokens, energy)), joules_per_token: None },
        }
    }
}

/// Whether a server draws its energy on this machine.
fn is_here(server: &str) -> bool {
    server.starts_with("localhost:") || server.starts_with("127.") || server.starts_with("[::1]")
}

fn push(history: &mut VecDeque<Option<Watts>>, power: Option<Watts>, most: usize) {
    if history.len() == most {
        history.pop_front();
    }
    history.push_back(power);
}

/// More columns than terminals have.
const LONGEST: usize = 512;
/// Width of a device's own curve.
pub(super) const TREND: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joules_by_token_are_of_what_was_drawn_since_the_last_tokens() {
        let mut meter = TokenMeter::default();
        let joules = |joules: i64| Some(Joules::from_millijoules(joules * 1_000));
        let mut read = |tokens, energy| {
            meter.read(tokens, energy);
            meter.joules_per_token
        };
        assert_eq!(read(Some(100), joules(50)), None);
        assert_eq!(read(Some(100), joules(60)), None);
        assert_eq!(read(Some(120), joules(90)), Some(2.0));
        // No new tokens: the last figure stands. A server that was started anew begins again, as does a lost sensor.
        assert_eq!(read(Some(120), joules(95)), Some(2.0));
        assert_eq!(read(Some(5), joules(100)), None);
        assert_eq!(read(Some(15), joules(110)), Some(1.0));
        assert_eq!(read(Some(20), None), None);
    }

    #[test]
    fn a_server_elsewhere_has_no_joules_here() {
        assert!(is_here("127.0.0.1:8080") && is_here("localhost:80") && is_here("[::1]:8080"));
        assert!(!is_here("10.0.0.7:8080") && !is_here("gpu-box:8080"));
    }
}
