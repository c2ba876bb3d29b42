//! What a run's tables cannot say of themselves.

use wattspan_core::{Cell, Device};

use crate::schema::{InCell, records};
use crate::{Attributes, HardwareDetail, LeaderboardRow, Timestamp, redact};

records! {
    /// What a run was made with: versions, configuration, hardware, methods, and how much of its energy was measured.
    ///
    /// A sink adds the numbers of rows (`num_results`, `num_traces`, `num_metrics`) and the tables' columns (`tables`).
    pub struct Metadata {
        /// The run.
        run_id: String,
        /// Model.
        model: Option<String>,
        /// How cases were run.
        agent_type: Option<String>,
        /// Where the cases come from.
        dataset_used: Option<String>,
        /// When the run ended.
        timestamp: Option<Timestamp>,
        /// The hardware in a line.
        hardware: Option<String>,
        /// The hardware in parts.
        hardware_detail: Option<HardwareDetail>,
        /// `model` when the hardware runs the model, `runner` when it only runs the cases.
        hardware_scope: Option<String>,

        /// When the run began.
        started: Option<Timestamp>,
        /// `completed`, `interrupted`, `failed` or `recovered`.
        run_status: Option<String>,
        /// Versions, by name.
        versions: Attributes,
        /// Configuration, without secrets: use [`Metadata::configure`].
        configuration: Attributes,
        /// Devices that were read.
        devices: Vec<DeviceInfo>,
        /// Why there is no device, when there is none.
        no_devices: Option<String>,
        /// Where intensity, prices and estimates come from, by name.
        methods: Attributes,
        /// How much was measured and how much estimated.
        energy: EnergySummary,
        /// What was lost, by reason: rows dropped, sensor gaps.
        dropped: Attributes,
    }

    /// A device that was read.
    pub struct DeviceInfo {
        /// Stable id.
        id: String,
        /// What it is.
        kind: String,
        /// Who made it.
        vendor: String,
        /// Model.
        name: String,
        /// Whether its energy goes into totals.
        is_counted: bool,
        /// Whether it has an energy counter; else its power is integrated.
        has_counter: bool,
        /// Version of its driver.
        driver_version: Option<String>,
        /// What to know about its figures.
        note: Option<String>,
    }

    /// How much of a run's energy was measured.
    pub struct EnergySummary {
        /// Measured energy of the cases.
        measured_j: Option<f64> => "J",
        /// Modelled energy of the cases, beside it.
        estimated_j: Option<f64> => "J",
        /// Cases with measured energy.
        measured_tests: u64,
        /// Cases with nothing but an estimate.
        estimated_tests: u64,
        /// Cases of which nothing is known.
        unknown_tests: u64,
    }
}

impl Metadata {
    /// Takes the configuration, secrets taken out.
    pub fn configure(&mut self, configuration: Attributes) {
        if let Cell::Map(clean) = redact(Cell::Map(configuration.0)) {
            self.configuration = Attributes(clean);
        }
    }

    /// As cells, for [`DatasetSink::finish`](wattspan_core::DatasetSink::finish).
    pub fn into_cell(self) -> Cell {
        self.cell()
    }
}

impl DeviceInfo {
    /// What is worth writing down of a device.
    pub fn of(device: &Device) -> Self {
        Self {
            id: device.id.to_string(),
            kind: device.kind.as_str().to_owned(),
            vendor: device.vendor.as_str().to_owned(),
            name: device.name.clone(),
            is_counted: device.is_counted(),
            has_counter: device.counter.is_some(),
            driver_version: device.driver_version.clone(),
            note: device.note.clone(),
        }
    }
}

impl EnergySummary {
    /// From the run's row.
    pub fn of(row: &LeaderboardRow) -> Self {
        Self {
            measured_j: row.inference_energy_j,
            estimated_j: row.inference_energy_estimated_j,
            measured_tests: row.measured_tests,
            estimated_tests: row.estimated_tests,
            unknown_tests: row.total_tests.saturating_sub(row.measured_tests + row.estimated_tests),
        }
    }
}
