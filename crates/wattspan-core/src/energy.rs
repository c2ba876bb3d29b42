//! An energy figure and what it is worth: method, uncertainty, coverage.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{DeviceId, DeviceKind, Joules, Ratio};

/// How joules were obtained. Figures of different methods are never added without saying so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A hardware energy counter.
    Counter,
    /// Power readings times time.
    Integrated,
    /// A model: not measured.
    Estimated,
    /// Measured, by several of the methods above it.
    Mixed,
}

impl Method {
    /// The value of `wattspan.energy.method`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Integrated => "integrated",
            Self::Estimated => "estimated",
            Self::Mixed => "mixed",
        }
    }

    /// The method of a sum of two measured figures. A measured and an estimated one must not be summed: the measured
    /// one stands.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (one, same) if one == same => one,
            (Self::Estimated, measured) | (measured, Self::Estimated) => measured,
            _ => Self::Mixed,
        }
    }
}

/// Half-width of a 95 % interval around an energy figure, by origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncertainty {
    /// Both parts together, in quadrature.
    #[serde(rename = "total_joules")]
    pub total: Joules,
    /// From sampling, cutting and sharing: differs from one inference to the next.
    #[serde(rename = "random_joules")]
    pub random: Joules,
    /// From the sensor's gain: the same sign for every inference of a device.
    #[serde(rename = "systematic_joules")]
    pub systematic: Joules,
}

/// What a reader must know about one inference's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EnergyFlag {
    /// Shorter than two refreshes of the sensor: physical bounds are reported instead of a statistical interval.
    BelowResolution,
    /// The load's period is near the sensor's, which no reading can reveal.
    AliasingPossible,
    /// Counter and power readings disagree; the systematic part has grown to the disagreement.
    CrossCheckFailed,
    /// Settled before the reading that covers its end had come.
    SettledEarly,
}

impl EnergyFlag {
    /// The value in `wattspan.energy.flags`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BelowResolution => "below_resolution",
            Self::AliasingPossible => "aliasing_possible",
            Self::CrossCheckFailed => "cross_check_failed",
            Self::SettledEarly => "settled_early",
        }
    }
}

/// A closed range of energy, named as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnergyRange {
    /// Lower end.
    #[serde(rename = "low_joules")]
    pub low: Joules,
    /// Upper end.
    #[serde(rename = "high_joules")]
    pub high: Joules,
}

/// A modelled figure. It stands beside a measured one and is never added to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The model's figure.
    #[serde(rename = "value_joules")]
    pub value: Joules,
    /// The range it may lie in: from idle draw to the power limit.
    pub range: EnergyRange,
    /// What the model was fed with, such as `cpu time × TDP`.
    pub basis: String,
}

impl Estimate {
    /// Puts an estimate together.
    pub fn new(value: Joules, range: EnergyRange, basis: impl Into<String>) -> Self {
        Self { value, range, basis: basis.into() }
    }
}

/// One device's part of an inference's energy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceShare {
    /// The device.
    pub device: DeviceId,
    /// What it is.
    pub kind: DeviceKind,
    /// Its energy for this inference, idle part included.
    #[serde(rename = "energy_joules")]
    pub energy: Joules,
    /// The idle part; `None` while no idle baseline is known.
    #[serde(rename = "idle_joules")]
    pub idle: Option<Joules>,
    /// Difference from the split by time alone.
    #[serde(rename = "policy_spread_joules")]
    pub policy_spread: Joules,
    /// How it was obtained.
    pub method: Method,
    /// Its uncertainty.
    pub uncertainty: Uncertainty,
    /// Fraction of the inference's time for which the device had data.
    pub coverage: Ratio,
}

impl DeviceShare {
    /// A share of which only the energy is known so far; set the public fields for the rest.
    pub fn new(device: DeviceId, kind: DeviceKind, method: Method, energy: Joules) -> Self {
        let zero = Uncertainty { total: Joules::ZERO, random: Joules::ZERO, systematic: Joules::ZERO };
        Self {
            device,
            kind,
            energy,
            idle: None,
            policy_spread: Joules::ZERO,
            method,
            uncertainty: zero,
            coverage: Ratio::ONE,
        }
    }
}

/// All that is known of one inference's energy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InferenceEnergy {
    /// Sum over the measured devices in scope; the estimate only when nothing was measured, and then `method` says so.
    #[serde(rename = "total_joules")]
    pub total: Joules,
    /// How the total was obtained.
    pub method: Method,
    /// Its uncertainty. For an estimate the interval of `estimated` is the one to show, and this is absent.
    pub uncertainty: Option<Uncertainty>,
    /// Least coverage over the devices in scope. Below 1 the total is a lower bound.
    pub coverage: Ratio,
    /// Idle part of the total; `None` while no baseline is known on some device.
    #[serde(rename = "idle_joules")]
    pub idle: Option<Joules>,
    /// Modelled energy of devices in scope that have no sensor.
    pub estimated: Option<Estimate>,
    /// Name of the sharing policy.
    pub policy: Cow<'static, str>,
    /// Difference from the split by time alone, beside the uncertainty and not in it.
    #[serde(rename = "policy_spread_joules")]
    pub policy_spread: Joules,
    /// The measured devices' parts.
    pub devices: Vec<DeviceShare>,
    /// Physical bounds, reported where [`EnergyFlag::BelowResolution`] is raised.
    pub bounds: Option<EnergyRange>,
    /// What to know about the figure.
    pub flags: Vec<EnergyFlag>,
}

impl InferenceEnergy {
    /// A figure with full coverage and nothing else known; set the public fields for the rest.
    pub fn new(total: Joules, method: Method, policy: impl Into<Cow<'static, str>>) -> Self {
        Self {
            total,
            method,
            uncertainty: None,
            coverage: Ratio::ONE,
            idle: None,
            estimated: None,
            policy: policy.into(),
            policy_spread: Joules::ZERO,
            devices: Vec::new(),
            bounds: None,
            flags: Vec::new(),
        }
    }

    /// Energy of all devices of a kind; `None` where no such device was measured.
    pub fn of_kind(&self, kind: DeviceKind) -> Option<Joules> {
        let mut parts =
            self.devices.iter().filter(|share| share.kind == kind).map(|share| share.energy).peekable();
        parts.peek().is_some().then(|| parts.sum())
    }
}

/// What the energy of an interval was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnergyState {
    /// By inferences in flight.
    Inference,
    /// With nothing in flight on the device.
    Idle,
    /// By another process, with evidence of it.
    Other,
    /// Nobody can be told.
    Unattributed,
}

impl EnergyState {
    /// All states, in the order of their parts.
    pub const ALL: [Self; 4] = [Self::Inference, Self::Idle, Self::Other, Self::Unattributed];

    /// The value of `wattspan.energy.state`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inference => "inference",
            Self::Idle => "idle",
            Self::Other => "other",
            Self::Unattributed => "unattributed",
        }
    }
}

/// Energy by what it was used for. The parts add up to what was measured, to the microjoule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateEnergy {
    /// By inferences.
    #[serde(rename = "inference_joules")]
    pub inference: Joules,
    /// Idle.
    #[serde(rename = "idle_joules")]
    pub idle: Joules,
    /// Other processes.
    #[serde(rename = "other_joules")]
    pub other: Joules,
    /// Not to be told.
    #[serde(rename = "unattributed_joules")]
    pub unattributed: Joules,
}

impl StateEnergy {
    /// The part of one state.
    pub const fn of(&self, state: EnergyState) -> Joules {
        match state {
            EnergyState::Inference => self.inference,
            EnergyState::Idle => self.idle,
            EnergyState::Other => self.other,
            EnergyState::Unattributed => self.unattributed,
        }
    }

    /// All parts together.
    pub fn total(&self) -> Joules {
        self.inference + self.idle + self.other + self.unattributed
    }
}

impl std::ops::AddAssign for StateEnergy {
    fn add_assign(&mut self, other: Self) {
        self.inference += other.inference;
        self.idle += other.idle;
        self.other += other.other;
        self.unattributed += other.unattributed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_methods_says_what_it_is() {
        assert_eq!(Method::Counter.with(Method::Counter), Method::Counter);
        assert_eq!(Method::Counter.with(Method::Integrated), Method::Mixed);
        assert_eq!(Method::Estimated.with(Method::Counter), Method::Counter);
    }

    #[test]
    fn a_kind_that_was_not_measured_is_absent() {
        let mut energy = InferenceEnergy::new(Joules::from_millijoules(5), Method::Counter, "tokens");
        let gpu = |id| {
            DeviceShare::new(DeviceId::new(id), DeviceKind::Gpu, Method::Counter, Joules::from_millijoules(2))
        };
        energy.devices = vec![gpu("a"), gpu("b")];
        assert_eq!(energy.of_kind(DeviceKind::Gpu), Some(Joules::from_millijoules(4)));
        assert_eq!(energy.of_kind(DeviceKind::Cpu), None);
    }
}
