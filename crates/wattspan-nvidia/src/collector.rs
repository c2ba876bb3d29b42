//! Reads every NVIDIA GPU that the driver shows.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::error::NvmlError;
use wattspan_core::{
    Bytes, Celsius, CollectError, Collector, CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, OpenError,
    PowerShape, PowerSpec, Ratio, Reading, SampleBuffer, Vendor, Watts,
};

/// What to open.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NvidiaOptions {
    /// The NVML library; `None` looks in the usual places.
    pub library: Option<PathBuf>,
}

/// The collector.
#[derive(Debug)]
pub struct NvidiaCollector {
    nvml: Nvml,
    devices: Vec<Arc<Device>>,
}

impl NvidiaCollector {
    /// Opens NVML; `Ok(None)` on a machine without it.
    ///
    /// # Errors
    /// When the library is there and does not work.
    pub fn open(options: &NvidiaOptions) -> Result<Option<Self>, OpenError> {
        let mut builder = Nvml::builder();
        if let Some(path) = &options.library {
            builder.lib_path(path.as_os_str());
        }
        let nvml = match builder.init() {
            Ok(nvml) => nvml,
            Err(NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound) => return Ok(None),
            Err(error) => {
                return Err(OpenError::Broken {
                    what: "NVML".to_owned(),
                    remedy: "check that the NVIDIA driver is loaded with nvidia-smi".into(),
                    source: Some(Box::new(error)),
                });
            }
        };
        let count = nvml.device_count().unwrap_or(0);
        let devices = (0..count).filter_map(|index| describe(&nvml, index).map(Arc::new)).collect();
        Ok(Some(Self { nvml, devices }))
    }
}

fn describe(nvml: &Nvml, index: u32) -> Option<Device> {
    let gpu = nvml.device_by_index(index).ok()?;
    let id = gpu.uuid().unwrap_or_else(|_| format!("nvidia:{index}"));
    let mut device = Device::new(DeviceId::new(id), DeviceKind::Gpu, Vendor::Nvidia, gpu.name().unwrap_or_default());
    device.index = Some(index);
    device.power_limit = gpu.power_management_limit().ok().map(Watts::from_milliwatts);
    if gpu.total_energy_consumption().is_ok() {
        device.counter = Some(CounterSpec { microjoules_per_tick: (1_000, 1), modulus: None, refresh: None });
    }
    if gpu.power_usage().is_ok() {
        let shape = PowerShape::TrailingMean { window: Duration::from_secs(1) };
        device.power = Some(PowerSpec { shape, refresh: Some(Duration::from_millis(100)) });
    }
    Some(device)
}

impl Collector for NvidiaCollector {
    fn name(&self) -> &'static str {
        "nvidia"
    }

    fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        for device in &self.devices {
            let gpu = self.nvml.device_by_index(device.index.unwrap_or_default());
            let gpu = match gpu {
                Ok(gpu) => gpu,
                Err(error) => {
                    let mut sample = DeviceSample::new(Arc::clone(device), into.now());
                    sample.energy = reading(Err(error));
                    into.push(sample);
                    continue;
                }
            };
            let energy = reading(gpu.total_energy_consumption());
            let mut sample = DeviceSample::new(Arc::clone(device), into.now());
            sample.energy = energy;
            sample.power = reading(gpu.power_usage()).map(Watts::from_milliwatts);
            sample.gauges.utilization = reading(gpu.utilization_rates())
                .and_then(|rates| Ratio::percent(f64::from(rates.gpu)).into());
            let memory = reading(gpu.memory_info());
            sample.gauges.memory_used = memory.clone().map(|memory| Bytes::new(memory.used));
            sample.gauges.memory_total = memory.map(|memory| Bytes::new(memory.total));
            sample.gauges.temperature =
                reading(gpu.temperature(TemperatureSensor::Gpu)).map(Celsius::whole);
            into.push(sample);
        }
        Ok(())
    }

    fn watch(&mut self, _processes: &[u32]) {
        // The driver lists every process by itself.
    }
}

fn reading<T>(result: Result<T, NvmlError>) -> Reading<T> {
    match result {
        Ok(value) => Reading::Value(value),
        Err(NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_)) => Reading::NotSupported,
        Err(NvmlError::NoPermission) => Reading::denied("run with the right to query the GPU"),
        Err(error) => Reading::failed(error.to_string()),
    }
}
