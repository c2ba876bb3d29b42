//! The lines of a tape, as serde reads and writes them. Units stand in the keys.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wattspan_core::{
    Bytes, Celsius, Device, DeviceId, DeviceScope, Gauges, Hertz, LatePhases, Locality, ProcessUse, Ratio,
    Reading, TokenUsage, Watts, Workload,
};

#[derive(Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) wattspan_tape: u32,
    pub(super) wall_unix_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

/// The part of a line that says how to read the rest.
#[derive(serde::Deserialize)]
pub(super) struct Kind {
    pub(super) event: String,
}

macro_rules! line {
    ($(#[$doc:meta])* $name:ident $kind:literal { $($(#[$attr:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            pub(super) event: String,
            $($(#[$attr])* pub(super) $field: $type,)*
        }

        impl $name {
            pub(super) const KIND: &str = $kind;
        }
    };
}

line!(DeviceLine "device" { device: Arc<Device>, });
line!(SampleLine "sample" {
    t_ns: u64,
    device: DeviceId,
    #[serde(default, skip_serializing_if = "Wire::is_missing")] energy: Wire<u64>,
    #[serde(default, skip_serializing_if = "Wire::is_missing")] power_watts: Wire<Watts>,
    #[serde(default, skip_serializing_if = "GaugeLine::is_empty")] gauges: GaugeLine,
    #[serde(default, skip_serializing_if = "Wire::is_missing")] processes: Wire<Vec<ProcessLine>>,
});
line!(BeginLine "begin" {
    t_ns: u64,
    inference: u64,
    operation: String,
    provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")] model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] workload: Option<Workload>,
    #[serde(default, skip_serializing_if = "Option::is_none")] locality: Option<LocalityWord>,
    #[serde(default, skip_serializing_if = "Option::is_none")] devices: Option<ScopeWord>,
});
line!(PromptedLine "prompted" { t_ns: u64, inference: u64, tokens: u64, });
line!(DecodedLine "decoded" { t_ns: u64, inference: u64, steps: u64, });
line!(FinishLine "finish" {
    t_ns: u64,
    inference: u64,
    #[serde(default, skip_serializing_if = "is_default")] tokens: TokenUsage,
    #[serde(default, skip_serializing_if = "is_default")] phases: LatePhases,
    #[serde(default, skip_serializing_if = "Option::is_none")] first_token_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")] finish_reasons: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] response_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] response_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] error_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")] conversation_id: Option<String>,
});
line!(GiveUpLine "give_up" { t_ns: u64, inference: u64, });
line!(WallStepLine "wall_step" { t_ns: u64, seconds: i64, });

/// All kinds, for the message about an unknown one.
pub(super) const KINDS: [&str; 8] = [
    DeviceLine::KIND,
    SampleLine::KIND,
    BeginLine::KIND,
    PromptedLine::KIND,
    DecodedLine::KIND,
    FinishLine::KIND,
    GiveUpLine::KIND,
    WallStepLine::KIND,
];

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LocalityWord {
    InProcess,
    LocalServer {
        #[serde(default)]
        pid: Option<u32>,
    },
    Remote,
}

impl LocalityWord {
    pub(super) fn of(locality: Locality) -> Option<Self> {
        match locality {
            Locality::LocalServer { pid } => Some(Self::LocalServer { pid }),
            Locality::Remote => Some(Self::Remote),
            _ => None,
        }
    }

    pub(super) fn locality(self) -> Locality {
        match self {
            Self::InProcess => Locality::InProcess,
            Self::LocalServer { pid } => Locality::LocalServer { pid },
            Self::Remote => Locality::Remote,
        }
    }
}

#[derive(Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScopeWord {
    Gpus(Vec<DeviceId>),
    Only(Vec<DeviceId>),
}

impl ScopeWord {
    pub(super) fn of(scope: &DeviceScope) -> Option<Self> {
        match scope {
            DeviceScope::Gpus(ids) => Some(Self::Gpus(ids.to_vec())),
            DeviceScope::Only(ids) => Some(Self::Only(ids.to_vec())),
            _ => None,
        }
    }

    pub(super) fn scope(self) -> DeviceScope {
        match self {
            Self::Gpus(ids) => DeviceScope::Gpus(ids.into()),
            Self::Only(ids) => DeviceScope::Only(ids.into()),
        }
    }
}

/// A reading: its value, or an object with the reason of its absence.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wire<T>(pub(super) Reading<T>);

impl<T> Wire<T> {
    pub(super) fn is_missing(&self) -> bool {
        matches!(self.0, Reading::NotSupported)
    }
}

impl<T> Default for Wire<T> {
    fn default() -> Self {
        Self(Reading::NotSupported)
    }
}

impl<T: Serialize> Serialize for Wire<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, reason) = match &self.0 {
            Reading::Value(value) => return value.serialize(serializer),
            Reading::NotSupported => return serializer.serialize_none(),
            Reading::Denied(remedy) => ("denied", remedy.as_str()),
            Reading::Failed(failure) => ("failed", failure.as_str()),
        };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(key, reason)?;
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Wire<T> {
    /// By hand rather than untagged, so that an error keeps its column.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WireVisitor(PhantomData))
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Absence {
    Denied(String),
    Failed(String),
}

struct WireVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for WireVisitor<T> {
    type Value = Wire<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(r#"a value, null, {"denied":"…"} or {"failed":"…"}"#)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Wire::default())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|value| Wire(Reading::Value(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|value| Wire(Reading::Value(value)))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(|value| Wire(Reading::Value(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(seq)).map(|value| Wire(Reading::Value(value)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Ok(Wire(match Absence::deserialize(MapAccessDeserializer::new(map))? {
            Absence::Denied(remedy) => Reading::denied(remedy),
            Absence::Failed(reason) => Reading::failed(reason),
        }))
    }
}

#[derive(Clone, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessLine {
    pid: u32,
    #[serde(default, skip_serializing_if = "Wire::is_missing")]
    memory_bytes: Wire<u64>,
    #[serde(default, skip_serializing_if = "Wire::is_missing")]
    utilization: Wire<Ratio>,
    #[serde(default, skip_serializing_if = "Wire::is_missing")]
    busy_ns: Wire<u64>,
}

impl ProcessLine {
    pub(super) fn of(process: &ProcessUse) -> Self {
        Self {
            pid: process.pid,
            memory_bytes: Wire(process.memory.clone().map(count)),
            utilization: Wire(process.utilization.clone()),
            busy_ns: Wire(process.busy.clone().map(nanos)),
        }
    }

    pub(super) fn process(self) -> ProcessUse {
        let mut process = ProcessUse::new(self.pid);
        process.memory = self.memory_bytes.0.map(Bytes::new);
        process.utilization = self.utilization.0;
        process.busy = self.busy_ns.0.map(Duration::from_nanos);
        process
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Declares the gauges: key, field, type of the value, and the ways there and back.
macro_rules! gauges {
    ($($key:ident = $field:ident: $type:ty, $to:expr, $from:expr;)*) => {
        #[derive(Default, Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct GaugeLine {
            $(#[serde(default, skip_serializing_if = "Wire::is_missing")] $key: Wire<$type>,)*
        }

        impl GaugeLine {
            pub(super) fn is_empty(&self) -> bool {
                true $(&& self.$key.is_missing())*
            }

            pub(super) fn of(gauges: &Gauges) -> Self {
                Self { $($key: Wire(gauges.$field.clone().map($to)),)* }
            }

            pub(super) fn gauges(self) -> Gauges {
                let mut gauges = Gauges::default();
                $(gauges.$field = self.$key.0.map($from);)*
                gauges
            }
        }
    };
}

fn same<T>(value: T) -> T {
    value
}

gauges! {
    utilization = utilization: Ratio, same, same;
    memory_utilization = memory_utilization: Ratio, same, same;
    memory_used_bytes = memory_used: u64, count, Bytes::new;
    memory_total_bytes = memory_total: u64, count, Bytes::new;
    memory_reserved_bytes = memory_reserved: u64, count, Bytes::new;
    temperature_celsius = temperature: Celsius, same, same;
    memory_temperature_celsius = memory_temperature: Celsius, same, same;
    clock_hertz = clock: Hertz, same, same;
    memory_clock_hertz = memory_clock: Hertz, same, same;
    power_limit_watts = power_limit: Watts, same, same;
    fan = fan: Ratio, same, same;
    throttle = throttle: Vec<Name>, names, strs;
    pcie_replays = pcie_replays: u64, same, same;
    memory_errors = memory_errors: u64, same, same;
    cpu_busy_ns = cpu_busy: u64, nanos, Duration::from_nanos;
}

fn count(bytes: Bytes) -> u64 {
    bytes.bytes()
}

fn names(list: Vec<&'static str>) -> Vec<Name> {
    list.into_iter().map(Name).collect()
}

fn strs(list: Vec<Name>) -> Vec<&'static str> {
    list.into_iter().map(|name| name.0).collect()
}

/// The name of a reason to throttle. Gauges hold static text, as drivers' reasons are a closed list; those of a tape are
/// kept for the life of the process, and only so many of them.
#[derive(Clone, Copy, Serialize)]
#[serde(transparent)]
pub(super) struct Name(&'static str);

const MOST_NAMES: usize = 256;
const LONGEST_NAME: usize = 64;

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let name = String::deserialize(deserializer)?;
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name.as_str()) {
            return Ok(Self(known));
        }
        if name.len() > LONGEST_NAME || names.len() >= MOST_NAMES {
            return Err(de::Error::custom(format!(
                "no throttle reason: names have up to {LONGEST_NAME} characters, and there are up to {MOST_NAMES}"
            )));
        }
        let kept: &'static str = name.leak();
        names.insert(kept);
        Ok(Self(kept))
    }
}
