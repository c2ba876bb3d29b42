//! The collector: takes what its worker has measured since the last tick.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use wattspan_core::{
    CollectError, Collector, Device, DeviceSample, Gauges, MonoTime, OpenError, Reading, SampleBuffer, Watts,
};

use crate::parts::{Part, Track};
use crate::snapshot::Snapshot;
use crate::worker::{self, Message, Worker};

/// Where figures come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AppleSource {
    /// The chip's own counters through macmon. Needs no rights; Apple silicon only.
    #[default]
    Macmon,
    /// The program `powermetrics`, started as a child. Only where this process is root already: wattspan never asks
    /// for rights. Without them, start it yourself and hand its output to [`AppleCollector::from_powermetrics`].
    Powermetrics,
}

/// What to open and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AppleOptions {
    /// Length of an interval. Shorter ones tell short inferences apart better and cost more; from 50 ms to 10 s.
    pub interval: Duration,
    /// Where figures come from.
    pub source: AppleSource,
}

impl Default for AppleOptions {
    fn default() -> Self {
        Self { interval: Duration::from_millis(250), source: AppleSource::default() }
    }
}

impl AppleOptions {
    /// The interval within its bounds.
    fn bounded_interval(&self) -> Duration {
        self.interval.clamp(Duration::from_millis(50), Duration::from_secs(10))
    }
}

/// Reads an Apple machine.
#[derive(Debug)]
pub struct AppleCollector {
    messages: Receiver<Message>,
    // Dropping it ends the worker.
    _worker: Worker,
    chip: String,
    refresh: Option<Duration>,
    tracks: Vec<Track>,
    devices: Vec<Arc<Device>>,
    gauges: Option<Snapshot>,
    /// End of the latest interval.
    end: Option<MonoTime>,
    /// When the last message came, or the first tick while none has.
    heard: Option<MonoTime>,
    /// Why no more will come.
    ended: Option<String>,
    /// A message that opening already took.
    first: Option<Message>,
}

impl AppleCollector {
    /// Starts measuring; `Ok(None)` where the source does not exist: on other systems than macOS, and with
    /// [`AppleSource::Macmon`] on Macs with an Intel chip. Waits for the first interval.
    ///
    /// # Errors
    /// When the source is there and does not work, or needs rights that this process lacks.
    pub fn open(options: &AppleOptions) -> Result<Option<Self>, OpenError> {
        let Some(started) = start(options)? else {
            return Ok(None);
        };
        let (worker, messages, chip) = started;
        let interval = options.bounded_interval();
        let mut collector = Self::new(worker, messages, chip, Some(interval));
        // The first interval tells which sensors there are, which whoever lists devices wants to know.
        collector.first = collector.messages.recv_timeout(interval + Duration::from_secs(2)).ok();
        if let Some(Message::Interval { snapshot, .. }) = &collector.first {
            let snapshot = (**snapshot).clone();
            collector.find(&snapshot);
        }
        Ok(Some(collector))
    }

    /// Reads what a `powermetrics` prints that somebody else started, as `-f plist` or in its plain form. Works on any
    /// system. A thread of its own reads until the stream ends.
    ///
    /// ```
    /// use wattspan_apple::AppleCollector;
    /// use wattspan_core::Collector;
    ///
    /// // sudo powermetrics --samplers cpu_power,gpu_power -i 500 -f plist | my-program
    /// let collector = AppleCollector::from_powermetrics(std::io::empty());
    /// assert_eq!(collector.devices().len(), 2);
    /// ```
    pub fn from_powermetrics(stream: impl Read + Send + 'static) -> Self {
        let (worker, messages) = worker::read(stream);
        Self::new(worker, messages, worker::UNNAMED_CHIP.to_owned(), None)
    }

    pub(crate) fn new(
        worker: Worker,
        messages: Receiver<Message>,
        chip: String,
        refresh: Option<Duration>,
    ) -> Self {
        let tracks: Vec<Track> = [Part::Cpu, Part::Gpu]
            .into_iter()
            .map(|part| Track::new(part, part.device(&chip, refresh, true)))
            .collect();
        let devices = tracks.iter().map(|track| Arc::clone(&track.device)).collect();
        Self {
            messages,
            _worker: worker,
            chip,
            refresh,
            tracks,
            devices,
            gauges: None,
            end: None,
            heard: None,
            ended: None,
            first: None,
        }
    }

    /// Adds the devices whose sensors a snapshot shows, and takes the sensor from those that have none.
    fn find(&mut self, snapshot: &Snapshot) {
        let first = self.gauges.is_none();
        for part in Part::ALL {
            let has_power = Track::is_in(part, snapshot);
            let device = || part.device(&self.chip, self.refresh, has_power);
            match self.tracks.iter_mut().find(|track| track.part == part) {
                None if has_power => self.tracks.push(Track::new(part, device())),
                None => {}
                // A sensor that appears or that was never there; one that fails for a while keeps its description.
                Some(track) => {
                    let described = track.device.power.is_some();
                    if (first && described != has_power) || (has_power && !described) {
                        track.device = Arc::new(device());
                    }
                }
            }
        }
        self.devices = self.tracks.iter().map(|track| Arc::clone(&track.device)).collect();
        self.gauges = Some(snapshot.clone());
    }

    /// Takes a message that came at a time.
    fn take(&mut self, message: Message, now: MonoTime) {
        match message {
            Message::Interval { snapshot, at } => {
                let arrived = now - at.elapsed();
                let end = end_of(self.end, arrived, snapshot.elapsed);
                self.end = Some(end);
                self.heard = Some(now);
                self.find(&snapshot);
                for track in &mut self.tracks {
                    track.take(&snapshot, end);
                }
            }
            Message::Trouble(reason) => {
                self.heard = Some(now);
                self.lose(&reason, now);
            }
            Message::Ended(reason) => self.ended = Some(reason),
        }
    }

    fn lose(&mut self, reason: &str, now: MonoTime) {
        self.end = None;
        self.gauges = self.gauges.take().map(|known| Snapshot::new(known.elapsed));
        for track in &mut self.tracks {
            track.lose(Reading::<Watts>::failed(reason.to_owned()), now);
        }
    }
}

impl Collector for AppleCollector {
    fn name(&self) -> &'static str {
        "apple"
    }

    fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        let now = into.now();
        if let Some(message) = self.first.take() {
            self.take(message, now);
        }
        loop {
            match self.messages.try_recv() {
                Ok(message) => self.take(message, now),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.ended.get_or_insert_with(|| "the source has stopped".to_owned());
                    break;
                }
            }
        }
        let silent = now.since(*self.heard.get_or_insert(now));
        // What had come before the end still counts: it is handed out first.
        let has_news = self.tracks.iter().any(Track::has_news);
        if let Some(reason) = self.ended.clone().filter(|_| !has_news) {
            self.lose(&reason, now);
        } else if silent > SILENCE.max(self.gauges.as_ref().map_or(Duration::ZERO, |last| last.elapsed) * 5) {
            self.lose(&format!("no figures have come for {} s", silent.as_secs()), now);
        }
        for track in &mut self.tracks {
            let mut sample: DeviceSample = track.sample(now);
            if let Some(snapshot) = &self.gauges {
                sample.gauges = gauges(track.part, snapshot);
            }
            into.push(sample);
        }
        Ok(())
    }

    fn watch(&mut self, _processes: &[u32]) {
        // Neither source tells which process used the chip.
    }
}

/// Without a figure for so long, or for five intervals, a source is taken for dead.
const SILENCE: Duration = Duration::from_secs(10);

/// When an interval ended. Its arrival jitters by the time that it took to print and to read, so that it is joined to
/// the interval before where the two agree: power times the difference of two ends is then exactly its energy.
pub(crate) fn end_of(before: Option<MonoTime>, arrived: MonoTime, elapsed: Duration) -> MonoTime {
    let Some(before) = before else { return arrived };
    let joined = before + elapsed;
    let apart = arrived.since(joined).max(joined.since(arrived));
    if apart <= elapsed / 5 { joined } else { arrived.max(before) }
}

/// The gauges that belong to a part. Memory is stated once, at the GPU, since it is one for both.
fn gauges(part: Part, snapshot: &Snapshot) -> Gauges {
    let mut gauges = Gauges::default();
    match part {
        Part::Cpu => {
            gauges.utilization = snapshot.cpu_utilization.clone();
            gauges.temperature = snapshot.cpu_temperature.clone();
        }
        Part::Gpu => {
            gauges.utilization = snapshot.gpu_utilization.clone();
            gauges.temperature = snapshot.gpu_temperature.clone();
            gauges.clock = snapshot.gpu_clock.clone();
            gauges.memory_used = snapshot.memory_used.clone();
            gauges.memory_total = snapshot.memory_total.clone();
        }
        Part::Npu | Part::Dram | Part::Package | Part::Platform => {}
    }
    gauges
}

/// A worker, what it sends, and the chip's name.
type Started = (Worker, Receiver<Message>, String);

/// Starts the worker of a source; `None` where there is no such source.
#[cfg(target_os = "macos")]
fn start(options: &AppleOptions) -> Result<Option<Started>, OpenError> {
    match options.source {
        #[cfg(target_arch = "aarch64")]
        AppleSource::Macmon => crate::macos::macmon(options.bounded_interval()).map(Some),
        #[cfg(not(target_arch = "aarch64"))]
        AppleSource::Macmon => Ok(None),
        AppleSource::Powermetrics => crate::macos::powermetrics(options.bounded_interval()).map(Some),
    }
}

/// Starts the worker of a source; `None` where there is no such source.
#[cfg(not(target_os = "macos"))]
#[allow(clippy::unnecessary_wraps)] // The same signature as on macOS, where it can fail.
fn start(_options: &AppleOptions) -> Result<Option<Started>, OpenError> {
    Ok(None)
}
