//! Collectors without hardware.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use wattspan_core::{
    CollectError, Collector, Device, DeviceId, DeviceSample, MonoTime, Reading, SampleBuffer,
};

use super::lock;
use crate::tape::{Event, Tape};

type Script = dyn FnMut(&Arc<Device>, MonoTime) -> DeviceSample + Send;

/// A collector whose samples a closure makes, from the device and the time of the clock.
///
/// ```
/// use std::sync::Arc;
/// use wattspan_core::{
///     Collector, Device, DeviceId, DeviceKind, DeviceSample, Reading, SampleBuffer, SystemClock, Vendor, Watts,
/// };
/// use wattspan_testkit::FakeCollector;
///
/// let gpu = Arc::new(Device::new(DeviceId::new("GPU-0"), DeviceKind::Gpu, Vendor::Nvidia, "fake"));
/// let mut collector = FakeCollector::new("fake", [gpu], |device, now| {
///     let mut sample = DeviceSample::new(Arc::clone(device), now);
///     sample.power = Reading::Value(Watts::whole(300));
///     sample
/// });
/// let mut samples = Vec::new();
/// collector.sample(&mut SampleBuffer::new(&SystemClock, &mut samples))?;
/// assert_eq!(samples[0].power, Reading::Value(Watts::whole(300)));
/// # Ok::<(), wattspan_core::CollectError>(())
/// ```
pub struct FakeCollector {
    name: &'static str,
    devices: Vec<Arc<Device>>,
    script: Box<Script>,
    failures: Arc<Mutex<VecDeque<CollectError>>>,
    watched: Arc<Mutex<Vec<u32>>>,
}

impl FakeCollector {
    /// A collector of some devices.
    pub fn new(
        name: &'static str,
        devices: impl IntoIterator<Item = Arc<Device>>,
        script: impl FnMut(&Arc<Device>, MonoTime) -> DeviceSample + Send + 'static,
    ) -> Self {
        Self {
            name,
            devices: devices.into_iter().collect(),
            script: Box::new(script),
            failures: Arc::default(),
            watched: Arc::default(),
        }
    }

    /// A queue of errors, one for each of the next ticks. It can be filled after the collector has been given away.
    pub fn failures(&self) -> Arc<Mutex<VecDeque<CollectError>>> {
        Arc::clone(&self.failures)
    }

    /// The processes that it was told to watch last.
    pub fn watched(&self) -> Arc<Mutex<Vec<u32>>> {
        Arc::clone(&self.watched)
    }
}

impl Collector for FakeCollector {
    fn name(&self) -> &'static str {
        self.name
    }

    fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        if let Some(error) = lock(&self.failures).pop_front() {
            return Err(error);
        }
        for device in &self.devices {
            into.push((self.script)(device, into.now()));
        }
        Ok(())
    }

    fn watch(&mut self, processes: &[u32]) {
        *lock(&self.watched) = processes.to_vec();
    }
}

impl fmt::Debug for FakeCollector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FakeCollector")
            .field("name", &self.name)
            .field("devices", &self.devices)
            .finish_non_exhaustive()
    }
}

/// A collector that reads a tape: each device answers with its last sample up to the time of the clock, dated as polled.
///
/// Before a device's first sample its readings are "not supported".
#[derive(Debug)]
pub struct TapeCollector {
    devices: Vec<Arc<Device>>,
    /// By device, in the order of time.
    samples: HashMap<DeviceId, Vec<DeviceSample>>,
}

impl TapeCollector {
    /// A collector of all the devices of a tape.
    pub fn new(tape: &Tape) -> Self {
        let mut samples: HashMap<DeviceId, Vec<DeviceSample>> = HashMap::new();
        for event in &tape.events {
            if let Event::Sample(sample) = event {
                samples.entry(sample.device.id.clone()).or_default().push(sample.clone());
            }
        }
        for list in samples.values_mut() {
            list.sort_by_key(|sample| sample.time);
        }
        Self { devices: tape.devices(), samples }
    }
}

impl Collector for TapeCollector {
    fn name(&self) -> &'static str {
        "tape"
    }

    fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        for device in &self.devices {
            let now = into.now();
            let list = self.samples.get(&device.id).map_or(&[][..], Vec::as_slice);
            let sample = match list.partition_point(|sample| sample.time <= now).checked_sub(1) {
                Some(last) => {
                    let mut sample = list[last].clone();
                    sample.time = now;
                    sample
                }
                None => DeviceSample::new(Arc::clone(device), now),
            };
            into.push(sample);
        }
        Ok(())
    }

    fn watch(&mut self, _processes: &[u32]) {}
}

/// A sample whose energy and power could not be read, as of a device that is gone.
pub(crate) fn lost(device: &Arc<Device>, now: MonoTime) -> DeviceSample {
    let mut sample = DeviceSample::new(Arc::clone(device), now);
    (sample.energy, sample.power) = (Reading::failed("gone"), Reading::failed("gone"));
    sample
}
