//! The duties of a collector.

use std::collections::{HashMap, HashSet};

use wattspan_core::{Clock, Collector, DeviceId, DeviceSample, MonoTime, PowerShape, SampleBuffer};

/// Checks collectors that `make` opens, over five ticks each. Between two ticks, `between` moves the clock and the fake
/// hardware on.
///
/// # Panics
/// When a collector breaks a duty of the trait: a device without an id of its own, a parent that is not there or a loop of
/// parents, more or fewer samples than devices, a time outside of the call, an energy or power reading that the device
/// does not describe.
#[track_caller]
pub fn collector<C: Clock>(
    mut make: impl FnMut() -> Box<dyn Collector>,
    clock: &C,
    mut between: impl FnMut(&C),
) {
    for processes in [&[][..], &[1, u32::MAX]] {
        let mut collector = make();
        let name = collector.name();
        assert!(
            !name.is_empty() && !name.contains(char::is_uppercase),
            "{name:?} is no short lower-case name"
        );
        collector.watch(processes);
        let mut before: HashMap<DeviceId, MonoTime> = HashMap::new();
        for tick in 1..=5 {
            let (samples, began) = (sample(&mut *collector, clock), clock.mono());
            devices(&*collector);
            let listed: HashSet<&DeviceId> = collector.devices().iter().map(|device| &device.id).collect();
            let mut seen = HashSet::new();
            for read in &samples {
                let id = &read.device.id;
                assert!(
                    listed.contains(id),
                    "{name}, tick {tick}: a sample of {id}, which is not among the devices"
                );
                assert!(seen.insert(id.clone()), "{name}, tick {tick}: two samples of {id}");
                let last = before.insert(id.clone(), read.time);
                assert!(
                    last.is_none_or(|last| last <= read.time),
                    "{name}, tick {tick}: time of {id} goes back"
                );
                assert!(read.time <= began, "{name}, tick {tick}: {id} was read after the call");
                described(name, read);
            }
            assert_eq!(
                seen.len(),
                listed.len(),
                "{name}, tick {tick}: every device gets a sample, also a vanished one"
            );
            between(clock);
        }
    }
}

#[track_caller]
fn sample(collector: &mut dyn Collector, clock: &dyn Clock) -> Vec<DeviceSample> {
    let began = clock.mono();
    let mut samples = Vec::new();
    if let Err(error) = collector.sample(&mut SampleBuffer::new(clock, &mut samples)) {
        panic!("{} could not sample: {error}", collector.name());
    }
    for read in &samples {
        // A mean over an interval has that interval's end, which was before the call where a thread of the collector's
        // own waits for it.
        let of_interval = read.device.power.is_some_and(|power| power.shape == PowerShape::IntervalMean);
        assert!(
            of_interval || read.time >= began,
            "{}: {} was read before the call",
            collector.name(),
            read.device.id
        );
    }
    samples
}

#[track_caller]
fn devices(collector: &dyn Collector) {
    let name = collector.name();
    let mut parents: HashMap<&DeviceId, Option<&DeviceId>> = HashMap::new();
    for device in collector.devices() {
        assert!(
            !device.id.as_str().is_empty() && !device.name.is_empty(),
            "{name}: a device without id or name"
        );
        assert!(
            parents.insert(&device.id, device.parent.as_ref()).is_none(),
            "{name}: two devices are {}",
            device.id
        );
        if let Some(counter) = device.counter {
            let (numerator, denominator) = counter.microjoules_per_tick;
            assert!(numerator > 0 && denominator > 0, "{name}: a tick of {} is nothing", device.id);
            assert!(counter.modulus != Some(0), "{name}: the counter of {} wraps at 0", device.id);
        }
    }
    for device in collector.devices() {
        let (mut at, mut steps) = (&device.id, 0);
        while let Some(parent) = parents.get(at).copied().flatten() {
            assert!(parents.contains_key(parent), "{name}: {parent}, parent of {at}, is not there");
            assert!(steps < parents.len(), "{name}: {} contains itself", device.id);
            (at, steps) = (parent, steps + 1);
        }
    }
}

#[track_caller]
fn described(name: &str, read: &DeviceSample) {
    let id = &read.device.id;
    assert!(
        !read.energy.is_value() || read.device.counter.is_some(),
        "{name}: {id} counts energy in unknown ticks"
    );
    assert!(
        !read.power.is_value() || read.device.power.is_some(),
        "{name}: {id} reads power of an unknown shape"
    );
    if let (Some(ticks), Some(modulus)) =
        (read.energy.as_value(), read.device.counter.and_then(|counter| counter.modulus))
    {
        assert!(*ticks <= modulus, "{name}: {id} counts {ticks} ticks, past its wrap at {modulus}");
    }
    for (what, share) in
        [("utilization", &read.gauges.utilization), ("memory utilization", &read.gauges.memory_utilization)]
    {
        let fits = share.as_value().is_none_or(|share| (0.0..=1.0).contains(&share.ratio()));
        assert!(fits, "{name}: {what} of {id} is no share of 1: {share:?}");
    }
}
