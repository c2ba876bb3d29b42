//! The table of settings. `docs/configuration.md` is checked against it.

use std::fmt;

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Text,
    Flag,
    Duration,
    Number {
        least: f64,
        most: f64,
    },
    Pairs,
    OneOf(&'static [&'static str]),
    /// As `CUDA_VISIBLE_DEVICES`: empty means none.
    DeviceList,
    /// An IP address and a port.
    Address,
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => out.write_str("text"),
            Self::Flag => out.write_str("true or false"),
            Self::Duration => out.write_str("a duration such as 500ms, 5s or 1m"),
            Self::Number { least, most } if most.is_finite() => {
                write!(out, "a number from {least} to {most}")
            }
            Self::Number { least, .. } => write!(out, "a number from {least}"),
            Self::Pairs => out.write_str("key=value pairs with commas between them"),
            Self::OneOf(choices) => write!(out, "one of {}", choices.join(", ")),
            Self::Address => out.write_str("an IP address and a port such as 127.0.0.1:9464"),
            Self::DeviceList => {
                out.write_str("device indices, UUIDs or PCI addresses with commas between them")
            }
        }
    }
}

pub(crate) struct Definition {
    pub(crate) setting: Setting,
    pub(crate) name: &'static str,
    pub(crate) variables: &'static [&'static str],
    pub(crate) kind: Kind,
    pub(crate) default: Option<&'static str>,
    pub(crate) secret: bool,
}

macro_rules! settings {
    ($($(#[$doc:meta])* $variant:ident $name:literal [$($variable:literal),+] $kind:expr, $default:expr, $secret:literal;)*) => {
        /// Something that can be set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Setting {
            $($(#[$doc])* $variant,)*
        }

        /// In the order of the enum, so that a setting is its own index.
        pub(crate) const SETTINGS: &[Definition] = &[
            $(Definition {
                setting: Setting::$variant,
                name: $name,
                variables: &[$($variable),+],
                kind: $kind,
                default: $default,
                secret: $secret,
            },)*
        ];
    };
}

const POSITIVE: Kind = Kind::Number { least: 0.0, most: f64::INFINITY };

settings! {
    /// Name of the service in resource attributes.
    ServiceName "service.name" ["WATTSPAN_SERVICE_NAME", "OTEL_SERVICE_NAME"] Kind::Text, Some("wattspan"), false;
    /// Version of the service.
    ServiceVersion "service.version" ["WATTSPAN_SERVICE_VERSION"] Kind::Text, None, false;
    /// More resource attributes.
    ResourceAttributes "resource.attributes" ["WATTSPAN_RESOURCE_ATTRIBUTES", "OTEL_RESOURCE_ATTRIBUTES"] Kind::Pairs, None, false;
    /// Where spans and metrics are sent. Without it nothing leaves the program.
    OtlpEndpoint "otlp.endpoint" ["WATTSPAN_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] Kind::Text, None, false;
    /// Headers for the receiver.
    OtlpHeaders "otlp.headers" ["WATTSPAN_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"] Kind::Pairs, None, true;
    /// Protocol of the receiver.
    OtlpProtocol "otlp.protocol" ["WATTSPAN_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"] Kind::OneOf(&["http/protobuf", "http/json", "grpc"]), Some("http/protobuf"), false;
    /// Time between two exports of metrics.
    ExportInterval "export.interval" ["WATTSPAN_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_INTERVAL"] Kind::Duration, Some("5s"), false;
    /// Address on which metrics can be scraped, such as `127.0.0.1:9464`.
    PrometheusListen "prometheus.listen" ["WATTSPAN_PROMETHEUS_LISTEN"] Kind::Address, None, false;
    /// What every scraped metric's name begins with.
    PrometheusPrefix "prometheus.prefix" ["WATTSPAN_PROMETHEUS_PREFIX"] Kind::Text, None, false;
    /// Whether dcgm-exporter's common names are served too, for dashboards that know those.
    PrometheusDcgm "prometheus.dcgm" ["WATTSPAN_PROMETHEUS_DCGM"] Kind::Flag, Some("false"), false;
    /// A Pushgateway that metrics are pushed to, for jobs that end.
    Pushgateway "prometheus.pushgateway" ["WATTSPAN_PUSHGATEWAY"] Kind::Text, None, false;
    /// Whether each inference is printed as a line.
    Console "export.console" ["WATTSPAN_CONSOLE"] Kind::Flag, Some("false"), false;
    /// Which names spans and metrics have.
    Profile "profile" ["WATTSPAN_PROFILE"] Kind::OneOf(&["core", "genai"]), Some("core"), false;
    /// Whether SMOLTRACE's seven metrics are recorded too.
    SmoltraceMetrics "smoltrace_metrics" ["WATTSPAN_SMOLTRACE_METRICS"] Kind::Flag, Some("false"), false;
    /// Whether GPUs are opened.
    Gpu "gpu.enabled" ["WATTSPAN_GPU"] Kind::Flag, Some("true"), false;
    /// Which GPUs inferences use; unset means all, empty means none.
    GpuDevices "gpu.devices" ["WATTSPAN_GPU_DEVICES", "CUDA_VISIBLE_DEVICES"] Kind::DeviceList, None, false;
    /// Whether the driver's process ids are those that this program sees.
    PidNamespace "gpu.pid_namespace" ["WATTSPAN_PID_NAMESPACE"] Kind::OneOf(&["detect", "host", "container"]), Some("detect"), false;
    /// The NVML library, where it is not in a usual place.
    NvmlLibrary "gpu.nvml_library" ["WATTSPAN_NVML_LIBRARY"] Kind::Text, None, false;
    /// Whether the CPU and memory are measured.
    Host "host.enabled" ["WATTSPAN_HOST"] Kind::Flag, Some("true"), false;
    /// Whether a battery's discharge is read.
    Battery "host.battery" ["WATTSPAN_BATTERY"] Kind::Flag, Some("false"), false;
    /// Whether what has no sensor is estimated, labelled so.
    Estimate "estimate" ["WATTSPAN_ESTIMATE"] Kind::Flag, Some("true"), false;
    /// Time between two polls while an inference is in flight.
    SamplingBusy "sampling.busy" ["WATTSPAN_SAMPLING_BUSY"] Kind::Duration, Some("20ms"), false;
    /// Time between two polls when nothing has happened for a while.
    SamplingIdle "sampling.idle" ["WATTSPAN_SAMPLING_IDLE"] Kind::Duration, Some("1s"), false;
    /// Longest wait for the reading that covers an inference's end.
    SettleWithin "sampling.settle_within" ["WATTSPAN_SETTLE_WITHIN"] Kind::Duration, Some("3s"), false;
    /// Country: ISO code or name.
    Country "place.country" ["WATTSPAN_COUNTRY"] Kind::Text, None, false;
    /// State or province: ISO 3166-2 code or name.
    Subdivision "place.subdivision" ["WATTSPAN_SUBDIVISION"] Kind::Text, None, false;
    /// Grid zone of a live source.
    Zone "place.zone" ["WATTSPAN_ZONE"] Kind::Text, None, false;
    /// Latitude and longitude in degrees.
    Coordinates "place.coordinates" ["WATTSPAN_COORDINATES"] Kind::Text, None, false;
    /// Cloud provider.
    CloudProvider "place.cloud_provider" ["WATTSPAN_CLOUD_PROVIDER"] Kind::Text, None, false;
    /// Cloud region.
    CloudRegion "place.cloud_region" ["WATTSPAN_CLOUD_REGION"] Kind::Text, None, false;
    /// Whether a cloud's metadata service is asked, on a machine that looks like a cloud's.
    CloudMetadata "place.cloud_metadata" ["WATTSPAN_CLOUD_METADATA"] Kind::Flag, Some("true"), false;
    /// Whether time zone or locale may stand in for an unknown place, labelled a guess.
    GuessPlace "place.guess" ["WATTSPAN_GUESS_PLACE"] Kind::Flag, Some("true"), false;
    /// A fixed carbon intensity in grams per kilowatt-hour.
    Intensity "carbon.intensity" ["WATTSPAN_CARBON_INTENSITY"] POSITIVE, None, false;
    /// A CSV file of carbon intensities over time.
    IntensitySeries "carbon.series" ["WATTSPAN_CARBON_SERIES"] Kind::Text, None, false;
    /// Key for Electricity Maps.
    ElectricityMapsKey "carbon.electricity_maps_key" ["WATTSPAN_ELECTRICITY_MAPS_KEY"] Kind::Text, None, true;
    /// Key for the old CO2Signal interface.
    Co2SignalKey "carbon.co2signal_key" ["WATTSPAN_CO2SIGNAL_KEY"] Kind::Text, None, true;
    /// User for WattTime.
    WattTimeUser "carbon.watttime_user" ["WATTSPAN_WATTTIME_USER"] Kind::Text, None, false;
    /// Password for WattTime.
    WattTimePassword "carbon.watttime_password" ["WATTSPAN_WATTTIME_PASSWORD"] Kind::Text, None, true;
    /// Whether the UK's Carbon Intensity service is asked.
    UkCarbonIntensity "carbon.uk" ["WATTSPAN_UK_CARBON_INTENSITY"] Kind::Flag, Some("false"), false;
    /// Factor for what a data centre draws beside its machines.
    Pue "pue" ["WATTSPAN_PUE"] Kind::Number { least: 1.0, most: 10.0 }, None, false;
    /// Price of electricity in USD per kilowatt-hour.
    ElectricityPrice "cost.electricity_price" ["WATTSPAN_ELECTRICITY_PRICE"] POSITIVE, None, false;
    /// Price of the hardware in USD per hour of use.
    HardwarePrice "cost.hardware_per_hour" ["WATTSPAN_HARDWARE_PER_HOUR"] POSITIVE, None, false;
    /// A file of token prices: TOML, JSON or LiteLLM's JSON.
    PriceBook "cost.price_book" ["WATTSPAN_PRICE_BOOK"] Kind::Text, None, false;
    /// Whether local models' tokens are priced by the price book instead of their electricity.
    PriceLocalTokens "cost.price_local_tokens" ["WATTSPAN_PRICE_LOCAL_TOKENS"] Kind::Flag, Some("false"), false;
    /// A llama-server whose gauges are polled.
    LlamaServer "llama_server.url" ["WATTSPAN_LLAMA_SERVER"] Kind::Text, None, false;
    /// Its API key.
    LlamaServerKey "llama_server.api_key" ["WATTSPAN_LLAMA_SERVER_KEY"] Kind::Text, None, true;
    /// Time between two polls of it.
    LlamaServerInterval "llama_server.interval" ["WATTSPAN_LLAMA_SERVER_INTERVAL"] Kind::Duration, Some("15s"), false;
    /// Whether prompts and answers are recorded.
    CaptureContent "content.capture" ["WATTSPAN_CAPTURE_CONTENT", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] Kind::Flag, Some("false"), false;
    /// Longest text of one recorded message, in characters.
    ContentLimit "content.limit" ["WATTSPAN_CONTENT_LIMIT"] Kind::Number { least: 1.0, most: 1e9 }, Some("4096"), false;
    /// Id of the run that records belong to.
    Run "run.id" ["WATTSPAN_RUN_ID"] Kind::Text, None, false;
}

impl Setting {
    /// All settings.
    pub fn all() -> impl Iterator<Item = Self> {
        SETTINGS.iter().map(|known| known.setting)
    }

    /// The name in a TOML file, tables and keys with dots between them.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// The setting with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        SETTINGS.iter().find(|known| known.name == name).map(|known| known.setting)
    }

    /// The environment variables that set it; the first that is set wins.
    pub fn variables(self) -> &'static [&'static str] {
        self.definition().variables
    }

    /// The value that holds when nobody sets it.
    pub fn default(self) -> Option<&'static str> {
        self.definition().default
    }

    /// Whether its value is never shown.
    pub fn is_secret(self) -> bool {
        self.definition().secret
    }

    pub(crate) fn definition(self) -> &'static Definition {
        &SETTINGS[self as usize]
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_variables_are_unique_and_defaults_fit() {
        for (index, known) in SETTINGS.iter().enumerate() {
            assert_eq!(known.setting as usize, index);
            let others = SETTINGS.iter().filter(|other| other.setting != known.setting);
            for other in others {
                assert_ne!(known.name, other.name);
                assert!(known.variables.iter().all(|name| !other.variables.contains(name)), "{}", known.name);
            }
        }
    }

    #[test]
    fn every_setting_stands_in_the_documentation() {
        let docs = include_str!("../../../docs/configuration.md");
        for known in SETTINGS {
            assert!(
                docs.contains(&format!("| `{}` |", known.name)),
                "{} is missing in docs/configuration.md",
                known.name
            );
            for name in known.variables {
                assert!(docs.contains(&format!("`{name}`")), "{name} is missing in docs/configuration.md");
            }
        }
    }
}
