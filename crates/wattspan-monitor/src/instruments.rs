//! Metrics of devices and of attributed energy.
//!
//! Observable instruments serve the board's last samples. They are registered once per meter, since there is no way to
//! take one back; a callback that panicked would end metrics, so that these only read.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Counter, Histogram, Meter};
use wattspan_core::{
    Device, DeviceKind, DeviceSample, EnergyState, InferenceRecord, IntervalEnergy, Method, Ratio, Reading,
};
use wattspan_semconv::{Measure, MetricDef, Operation, Profile, attr, smoltrace};

use crate::board::{Board, DeviceSnapshot, State};

/// Which additional names are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) profile: Profile,
    pub(crate) smoltrace: bool,
}

/// Instruments that settlement records on.
pub(crate) struct Instruments {
    device_energy: Counter<f64>,
    inference_energy: Histogram<f64>,
    emissions: Counter<f64>,
    cost: Counter<f64>,
    gaps: Counter<u64>,
    dropped: Counter<u64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter, choice: Choice, board: &Board) -> Option<Self> {
        observe_hardware(meter, choice.profile, board);
        if choice.smoltrace {
            observe_smoltrace(meter, board);
        }
        let inference_energy = own(Measure::InferenceEnergy)?;
        Some(Self {
            device_energy: counter(meter, Measure::DeviceEnergy)?,
            inference_energy: meter
                .f64_histogram(inference_energy.name)
                .with_unit(inference_energy.unit)
                .with_boundaries(inference_energy.buckets.to_vec())
                .build(),
            emissions: counter(meter, Measure::Emissions)?,
            cost: counter(meter, Measure::Cost)?,
            gaps: whole_counter(meter, Measure::SensorGaps)?,
            dropped: whole_counter(meter, Measure::TelemetryDropped)?,
        })
    }

    /// A closed interval of a device.
    pub(crate) fn interval(&self, device: &Device, interval: &IntervalEnergy, new_gap: bool) {
        if let Some(reason) = interval.gap {
            if !new_gap {
                return;
            }
            let gap = KeyValue::new(attr::WATTSPAN_GAP_REASON, reason.as_str());
            self.gaps.add(1, &[KeyValue::new(attr::HW_ID, device.id.as_str().to_owned()), gap]);
            return;
        }
        let mut attributes = identity(device, true);
        attributes.push(KeyValue::new(attr::WATTSPAN_ENERGY_METHOD, interval.method.as_str()));
        attributes.push(KeyValue::new(attr::WATTSPAN_ENERGY_STATE, ""));
        let last = attributes.len() - 1;
        for state in EnergyState::ALL {
            let energy = interval.energy.of(state).joules();
            if energy > 0.0 {
                attributes[last] = KeyValue::new(attr::WATTSPAN_ENERGY_STATE, state.as_str());
                self.device_energy.add(energy, &attributes);
            }
        }
    }

    /// A settled inference.
    pub(crate) fn inference(&self, record: &InferenceRecord) {
        let begin = &record.begin;
        let mut attributes = vec![
            KeyValue::new(attr::GEN_AI_OPERATION_NAME, begin.operation.clone()),
            KeyValue::new(attr::GEN_AI_PROVIDER_NAME, begin.provider.clone()),
        ];
        attributes.extend(begin.model.clone().map(|model| KeyValue::new(attr::GEN_AI_REQUEST_MODEL, model)));
        let method = record.settlement.energy.as_ref().map(|energy| energy.method);
        attributes.extend(method.map(|method| KeyValue::new(attr::WATTSPAN_ENERGY_METHOD, method.as_str())));
        if let Some(energy) = &record.settlement.energy {
            self.inference_energy.record(energy.total.joules(), &attributes);
        }
        if let Some(cost) = &record.settlement.cost {
            let mut attributes = attributes.clone();
            attributes.push(KeyValue::new(attr::WATTSPAN_COST_SOURCE, cost.source.clone()));
            let boundary = cost.boundary.map(wattspan_core::Boundary::as_str);
            attributes.extend(boundary.map(|boundary| KeyValue::new(attr::WATTSPAN_COST_BOUNDARY, boundary)));
            self.cost.add(cost.total.usd(), &attributes);
        }
        if let Some(emissions) = &record.settlement.emissions {
            attributes.push(KeyValue::new(attr::WATTSPAN_EMISSIONS_KIND, emissions.intensity.kind.as_str()));
            attributes
                .push(KeyValue::new(attr::WATTSPAN_EMISSIONS_SOURCE, emissions.intensity.source.clone()));
            if let Some(zone) = &emissions.intensity.zone {
                attributes.push(KeyValue::new(attr::WATTSPAN_EMISSIONS_ZONE, zone.clone()));
            }
            if let Some(boundary) = emissions.boundary {
                attributes.push(KeyValue::new(attr::WATTSPAN_EMISSIONS_BOUNDARY, boundary.as_str()));
            }
            self.emissions.add(emissions.total.grams(), &attributes);
        }
    }

    /// Inferences that were not observed.
    pub(crate) fn dropped(&self, count: u64, reason: &'static str) {
        if count > 0 {
            self.dropped.add(count, &[KeyValue::new(attr::WATTSPAN_DROP_REASON, reason)]);
        }
    }
}

/// Definition of one of our own instruments; the same in every profile and operation.
fn own(measure: Measure) -> Option<&'static MetricDef> {
    Profile::Core.instruments(Operation::Chat, measure).first().map(|used| used.metric)
}

fn counter(meter: &Meter, measure: Measure) -> Option<Counter<f64>> {
    own(measure).map(|metric| meter.f64_counter(metric.name).with_unit(metric.unit).build())
}

fn whole_counter(meter: &Meter, measure: Measure) -> Option<Counter<u64>> {
    own(measure).map(|metric| meter.u64_counter(metric.name).with_unit(metric.unit).build())
}

/// `hw.type` has no value of its own for memory modules but `memory`, and none for modules that hold several devices.
fn hw_type(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Gpu | DeviceKind::GpuPartition => "gpu",
        DeviceKind::Cpu | DeviceKind::CpuPart => "cpu",
        DeviceKind::Dram => "memory",
        other => other.as_str(),
    }
}

fn identity(device: &Device, with_type: bool) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(7);
    attributes.push(KeyValue::new(attr::HW_ID, device.id.as_str().to_owned()));
    if with_type {
        attributes.push(KeyValue::new(attr::HW_TYPE, hw_type(device.kind)));
    }
    attributes.push(KeyValue::new(attr::HW_NAME, device.name.clone()));
    if let Some(index) = device.index {
        attributes.push(KeyValue::new(attr::WATTSPAN_DEVICE_INDEX, i64::from(index)));
    }
    if let Some(parent) = &device.parent {
        attributes.push(KeyValue::new(attr::HW_PARENT, parent.as_str().to_owned()));
    }
    attributes
}

fn is_gpu(device: &DeviceSnapshot) -> bool {
    matches!(device.device().kind, DeviceKind::Gpu | DeviceKind::GpuPartition)
}

fn is_cpu(device: &DeviceSnapshot) -> bool {
    device.device().kind == DeviceKind::Cpu
}

fn value<T: Clone>(reading: &Reading<T>) -> Option<T> {
    reading.as_value().cloned()
}

/// Observes one figure of every device that has it; absent is a missing point.
fn observe<T>(
    state: &State,
    instrument: &dyn AsyncInstrument<T>,
    with_type: bool,
    figure: impl Fn(&DeviceSnapshot) -> Option<T>,
) {
    for device in state.devices.values() {
        if let Some(value) = figure(device) {
            instrument.observe(value, &identity(device.device(), with_type));
        }
    }
}

/// A figure of a device, absent where it could not be read.
type Figure<T> = fn(&DeviceSnapshot) -> Option<T>;

fn observe_hardware(meter: &Meter, profile: Profile, board: &Board) {
    let define = |measure| profile.instruments(Operation::Chat, measure).first().map(|used| used.metric);
    let gauges: [(Measure, bool, Figure<f64>); 4] = [
        (Measure::HwPower, true, |device| value(&device.power).map(wattspan_core::Watts::watts)),
        (Measure::HwGpuMemoryUtilization, false, |device| {
            let gauges = &device.sample.gauges;
            let (used, total) = (value(&gauges.memory_used)?, value(&gauges.memory_total)?);
            (is_gpu(device) && total.bytes() > 0).then(|| used.bytes() as f64 / total.bytes() as f64)
        }),
        (Measure::HwTemperature, false, |device| {
            value(&device.sample.gauges.temperature).map(wattspan_core::Celsius::celsius)
        }),
        (Measure::HwFanSpeedRatio, false, |device| value(&device.sample.gauges.fan).map(Ratio::ratio)),
    ];
    for (measure, with_type, figure) in gauges {
        let Some(metric) = define(measure) else { continue };
        let board = board.clone();
        meter
            .f64_observable_gauge(metric.name)
            .with_unit(metric.unit)
            .with_callback(move |instrument| observe(&board.lock(), instrument, with_type, figure))
            .build();
    }
    if let Some(metric) = define(Measure::HwGpuUtilization) {
        let board = board.clone();
        meter
            .f64_observable_gauge(metric.name)
            .with_unit(metric.unit)
            .with_callback(move |instrument| {
                let means = board.lock().take_utilization();
                let gpus = |kind| matches!(kind, DeviceKind::Gpu | DeviceKind::GpuPartition);
                for (device, mean) in means.into_iter().filter(|(device, _)| gpus(device.kind)) {
                    instrument.observe(mean.ratio(), &identity(&device, false));
                }
            })
            .build();
    }
    let memory: [(Measure, Figure<i64>); 2] = [
        (Measure::HwGpuMemoryUsage, |device| {
            is_gpu(device)
                .then(|| value(&device.sample.gauges.memory_used).map(|bytes| bytes.bytes() as i64))?
        }),
        (Measure::HwGpuMemoryLimit, |device| {
            is_gpu(device)
                .then(|| value(&device.sample.gauges.memory_total).map(|bytes| bytes.bytes() as i64))?
        }),
    ];
    for (measure, figure) in memory {
        let Some(metric) = define(measure) else { continue };
        let board = board.clone();
        meter
            .i64_observable_up_down_counter(metric.name)
            .with_unit(metric.unit)
            .with_callback(move |instrument| observe(&board.lock(), instrument, false, figure))
            .build();
    }
    if let Some(metric) = define(Measure::HwCpuSpeed) {
        let board = board.clone();
        meter
            .u64_observable_gauge(metric.name)
            .with_unit(metric.unit)
            .with_callback(move |instrument| {
                observe(&board.lock(), instrument, false, |device| {
                    is_cpu(device)
                        .then(|| value(&device.sample.gauges.clock).map(|clock| clock.hertz() as u64))?
                });
            })
            .build();
    }
    if let Some(metric) = define(Measure::HwEnergy) {
        let board = board.clone();
        meter
            .f64_observable_counter(metric.name)
            .with_unit(metric.unit)
            .with_callback(move |instrument| {
                observe(&board.lock(), instrument, true, |device| {
                    device.method.filter(|method| *method != Method::Estimated)?;
                    Some(device.energy.total().joules())
                });
            })
            .build();
    }
    if let Some(metric) = define(Measure::HwErrors) {
        let board = board.clone();
        meter
            .u64_observable_counter(metric.name)
            .with_unit(metric.unit)
            .with_callback(move |instrument| {
                for device in board.lock().devices.values() {
                    observe_errors(&device.sample, instrument);
                }
            })
            .build();
    }
}

fn observe_errors(sample: &DeviceSample, instrument: &dyn AsyncInstrument<u64>) {
    let kinds =
        [("pcie_replay", &sample.gauges.pcie_replays), ("memory_uncorrected", &sample.gauges.memory_errors)];
    for (kind, count) in kinds {
        if let Some(count) = value(count) {
            let mut attributes = identity(&sample.device, true);
            attributes.push(KeyValue::new(attr::ERROR_TYPE, kind));
            instrument.observe(count, &attributes);
        }
    }
}

/// SMOLTRACE's seven, in its units and with its labels; a figure that is absent is left out, where SMOLTRACE writes 0.
fn observe_smoltrace(meter: &Meter, board: &Board) {
    for entry in smoltrace::metrics() {
        let metric = entry.metric;
        let figure = move |device: &DeviceSnapshot| -> Option<f64> {
            let gauges = &device.sample.gauges;
            let in_hw_unit = match entry.hw {
                Some((name, factor)) => {
                    let hw = match name {
                        wattspan_semconv::metric::HW_GPU_UTILIZATION => value(&gauges.utilization)?.ratio(),
                        wattspan_semconv::metric::HW_GPU_MEMORY_USAGE => {
                            value(&gauges.memory_used)?.bytes() as f64
                        }
                        wattspan_semconv::metric::HW_GPU_MEMORY_LIMIT => {
                            value(&gauges.memory_total)?.bytes() as f64
                        }
                        wattspan_semconv::metric::HW_TEMPERATURE => value(&gauges.temperature)?.celsius(),
                        wattspan_semconv::metric::HW_POWER => value(&device.power)?.watts(),
                        _ => return None,
                    };
                    return Some(hw / factor);
                }
                None if metric.unit == "USD" => device.cost?.usd(),
                None => device.emissions?.grams(),
            };
            device.method.map(|_| in_hw_unit)
        };
        let board = board.clone();
        let callback = move |instrument: &dyn AsyncInstrument<f64>| {
            for device in
                board.lock().devices.values().filter(|device| device.device().kind == DeviceKind::Gpu)
            {
                if let Some(value) = figure(device) {
                    let index = device.device().index.map_or_else(String::new, |index| index.to_string());
                    let mut attributes = vec![KeyValue::new("gpu_id", index)];
                    if metric.attributes.iter().any(|attribute| attribute.name == "gpu_name") {
                        attributes.push(KeyValue::new("gpu_name", device.device().name.clone()));
                    }
                    instrument.observe(value, &attributes);
                }
            }
        };
        match metric.instrument {
            wattspan_semconv::Instrument::Counter => {
                meter
                    .f64_observable_counter(metric.name)
                    .with_unit(metric.unit)
                    .with_callback(callback)
                    .build();
            }
            _ => {
                meter
                    .f64_observable_gauge(metric.name)
                    .with_unit(metric.unit)
                    .with_callback(callback)
                    .build();
            }
        }
    }
}
