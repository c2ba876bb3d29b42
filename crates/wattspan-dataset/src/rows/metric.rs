//! One row per device and moment.

use crate::Timestamp;
use crate::schema::records;

records! {
    /// What one device's sensors said at one moment, and what it has used since collecting began. Long form: a machine with
    /// 72 devices has 72 rows a moment, so that a device that comes or goes changes no column.
    pub struct MetricRow in Metrics {
        /// The run.
        run_id: String,
        /// `service.name` of the program.
        service_name: String,
        /// When the sensors were read.
        timestamp: Timestamp,
        /// The same in nanoseconds since 1970, as text: JSON numbers of that size are not exact everywhere.
        timestamp_unix_nano: String,
        /// Number of the GPU as the vendor's tool counts, or its id. **Absent** for what is not a GPU.
        gpu_id: Option<String>,
        /// Model of the GPU.
        gpu_name: Option<String>,
        /// Emissions of this device since `started_unix_nano`. **Absent** while no intensity is known.
        co2_emissions_gco2e: Option<f64> => "g",
        /// Electricity cost of this device since `started_unix_nano`. **Absent** while no price is known.
        power_cost_usd: Option<f64> => "USD",
        /// Time at work.
        gpu_utilization_percent: Option<f64> => "%",
        /// Memory in use.
        gpu_memory_used_mib: Option<f64> => "MiBy",
        /// All memory.
        gpu_memory_total_mib: Option<f64> => "MiBy",
        /// Core temperature.
        gpu_temperature_celsius: Option<f64> => "Cel",
        /// Power.
        gpu_power_watts: Option<f64> => "W",

        /// Stable id of the device.
        device_id: String,
        /// What it is: `gpu`, `cpu`, `dram`, … .
        device_kind: String,
        /// Its model.
        device_name: String,
        /// Who made it.
        device_vendor: String,
        /// The device that contains this one and already counts its energy; such a row is never added to a total.
        device_parent: Option<String>,
        /// Whether its energy goes into totals.
        device_is_counted: bool,
        /// Power of any device.
        power_watts: Option<f64> => "W",
        /// Highest power read since the row before.
        power_peak_watts: Option<f64> => "W",
        /// Power limit in force.
        power_limit_watts: Option<f64> => "W",
        /// Utilization of any device.
        utilization_percent: Option<f64> => "%",
        /// Time in which its memory was read or written.
        memory_utilization_percent: Option<f64> => "%",
        /// Memory temperature.
        memory_temperature_celsius: Option<f64> => "Cel",
        /// Temperature of any device.
        temperature_celsius: Option<f64> => "Cel",
        /// Clock of the compute units.
        clock_mhz: Option<f64> => "MHz",
        /// Clock of the memory.
        memory_clock_mhz: Option<f64> => "MHz",
        /// Fan speed.
        fan_percent: Option<f64> => "%",
        /// Why clocks are held back, separated by commas; empty when they are not.
        throttle: Option<String>,
        /// Measured energy since `started_unix_nano`. The four parts below add up to it. **Absent** until it is known.
        energy_j: Option<f64> => "J",
        /// Part used by inferences.
        energy_inference_j: Option<f64> => "J",
        /// Part with nothing in flight.
        energy_idle_j: Option<f64> => "J",
        /// Part used by other processes.
        energy_other_j: Option<f64> => "J",
        /// Part of which nobody can be told.
        energy_unattributed_j: Option<f64> => "J",
        /// How the energy was obtained.
        energy_method: Option<String>,
        /// Stretches without energy since `started_unix_nano`.
        gaps: u64,
        /// Reason of the latest such stretch.
        gap_reason: Option<String>,
        /// Why this row has neither power nor an energy count, when it has neither.
        absence: Option<String>,
        /// When the cumulative columns began at 0, in nanoseconds since 1970. Another value means another collector.
        started_unix_nano: String,
    }
}
