// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! Logical measures and the instruments that each profile records them on.

use super::operation::Operation;
use super::{core, genai, hw, own};
use crate::model::InstrumentUse;

/// A thing that is measured, whatever a profile calls its instruments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Measure {
    /// Inferences within one agent invocation.
    AgentInferenceCalls,
    /// Tool calls within one agent invocation.
    AgentToolCalls,
    /// Input tokens that came from a cache; a part of the input tokens.
    CacheReadTokens,
    /// Input tokens that were written to a cache; a part of the input tokens.
    CacheWriteTokens,
    /// Cost of settled inferences. Carries the method where the cost rests on energy.
    Cost,
    /// Energy of a device by where it went. Summed over the states it equals what was measured; a child device is not part of its parent's sum.
    DeviceEnergy,
    /// Grams of CO2-equivalent of settled inferences.
    Emissions,
    /// `hw.battery.charge`.
    HwBatteryCharge,
    /// `hw.battery.charge.limit`.
    HwBatteryChargeLimit,
    /// `hw.battery.time_left`.
    HwBatteryTimeLeft,
    /// `hw.cpu.speed`.
    HwCpuSpeed,
    /// `hw.cpu.speed.limit`.
    HwCpuSpeedLimit,
    /// `hw.energy`.
    HwEnergy,
    /// `hw.errors`.
    HwErrors,
    /// `hw.fan.speed`.
    HwFanSpeed,
    /// `hw.fan.speed.limit`.
    HwFanSpeedLimit,
    /// `hw.fan.speed_ratio`.
    HwFanSpeedRatio,
    /// `hw.gpu.io`.
    HwGpuIo,
    /// `hw.gpu.memory.limit`.
    HwGpuMemoryLimit,
    /// `hw.gpu.memory.usage`.
    HwGpuMemoryUsage,
    /// `hw.gpu.memory.utilization`.
    HwGpuMemoryUtilization,
    /// `hw.gpu.utilization`.
    HwGpuUtilization,
    /// `hw.host.ambient_temperature`.
    HwHostAmbientTemperature,
    /// `hw.host.energy`.
    HwHostEnergy,
    /// `hw.host.heating_margin`.
    HwHostHeatingMargin,
    /// `hw.host.power`.
    HwHostPower,
    /// `hw.logical_disk.limit`.
    HwLogicalDiskLimit,
    /// `hw.logical_disk.usage`.
    HwLogicalDiskUsage,
    /// `hw.logical_disk.utilization`.
    HwLogicalDiskUtilization,
    /// `hw.memory.size`.
    HwMemorySize,
    /// `hw.network.bandwidth.limit`.
    HwNetworkBandwidthLimit,
    /// `hw.network.bandwidth.utilization`.
    HwNetworkBandwidthUtilization,
    /// `hw.network.io`.
    HwNetworkIo,
    /// `hw.network.packets`.
    HwNetworkPackets,
    /// `hw.network.up`.
    HwNetworkUp,
    /// `hw.physical_disk.endurance_utilization`.
    HwPhysicalDiskEnduranceUtilization,
    /// `hw.physical_disk.size`.
    HwPhysicalDiskSize,
    /// `hw.physical_disk.smart`.
    HwPhysicalDiskSmart,
    /// `hw.power`.
    HwPower,
    /// `hw.power_supply.limit`.
    HwPowerSupplyLimit,
    /// `hw.power_supply.usage`.
    HwPowerSupplyUsage,
    /// `hw.power_supply.utilization`.
    HwPowerSupplyUtilization,
    /// `hw.status`.
    HwStatus,
    /// `hw.tape_drive.operations`.
    HwTapeDriveOperations,
    /// `hw.temperature`.
    HwTemperature,
    /// `hw.temperature.limit`.
    HwTemperatureLimit,
    /// `hw.voltage`.
    HwVoltage,
    /// `hw.voltage.limit`.
    HwVoltageLimit,
    /// `hw.voltage.nominal`.
    HwVoltageNominal,
    /// Energy of one settled inference. Two boundaries a decade: from ten millijoules (an embedding on an efficient chip) to a hundred kilojoules (a long reasoning run on several boards).
    InferenceEnergy,
    /// Input tokens of one operation, cached ones included.
    InputTokens,
    /// `mcp.client.operation.duration`.
    McpClientOperationDuration,
    /// `mcp.client.session.duration`.
    McpClientSessionDuration,
    /// `mcp.server.operation.duration`.
    McpServerOperationDuration,
    /// `mcp.server.session.duration`.
    McpServerSessionDuration,
    /// How long the whole operation took, as its caller saw it.
    OperationDuration,
    /// Output tokens of one operation, reasoning included.
    OutputTokens,
    /// Output tokens spent on reasoning; a part of the output tokens.
    ReasoningTokens,
    /// Stretches of a sensor's series that were lost.
    SensorGaps,
    /// How long the server worked on a request, as the server saw it.
    ServerRequestDuration,
    /// Decode time of each token after the first, as the server saw it. Successful answers only.
    ServerTimePerOutputToken,
    /// Queue and prefill up to the first token, as the server saw it. Successful answers only.
    ServerTimeToFirstToken,
    /// Spans, records and points that never reached their destination.
    TelemetryDropped,
    /// Between two chunks of a streamed answer, as its caller saw it.
    TimePerOutputChunk,
    /// From the request to the first chunk of a streamed answer, as its caller saw it.
    TimeToFirstChunk,
}

impl Measure {
    /// Every measure.
    pub const ALL: &'static [Self] = &[
        Self::AgentInferenceCalls,
        Self::AgentToolCalls,
        Self::CacheReadTokens,
        Self::CacheWriteTokens,
        Self::Cost,
        Self::DeviceEnergy,
        Self::Emissions,
        Self::HwBatteryCharge,
        Self::HwBatteryChargeLimit,
        Self::HwBatteryTimeLeft,
        Self::HwCpuSpeed,
        Self::HwCpuSpeedLimit,
        Self::HwEnergy,
        Self::HwErrors,
        Self::HwFanSpeed,
        Self::HwFanSpeedLimit,
        Self::HwFanSpeedRatio,
        Self::HwGpuIo,
        Self::HwGpuMemoryLimit,
        Self::HwGpuMemoryUsage,
        Self::HwGpuMemoryUtilization,
        Self::HwGpuUtilization,
        Self::HwHostAmbientTemperature,
        Self::HwHostEnergy,
        Self::HwHostHeatingMargin,
        Self::HwHostPower,
        Self::HwLogicalDiskLimit,
        Self::HwLogicalDiskUsage,
        Self::HwLogicalDiskUtilization,
        Self::HwMemorySize,
        Self::HwNetworkBandwidthLimit,
        Self::HwNetworkBandwidthUtilization,
        Self::HwNetworkIo,
        Self::HwNetworkPackets,
        Self::HwNetworkUp,
        Self::HwPhysicalDiskEnduranceUtilization,
        Self::HwPhysicalDiskSize,
        Self::HwPhysicalDiskSmart,
        Self::HwPower,
        Self::HwPowerSupplyLimit,
        Self::HwPowerSupplyUsage,
        Self::HwPowerSupplyUtilization,
        Self::HwStatus,
        Self::HwTapeDriveOperations,
        Self::HwTemperature,
        Self::HwTemperatureLimit,
        Self::HwVoltage,
        Self::HwVoltageLimit,
        Self::HwVoltageNominal,
        Self::InferenceEnergy,
        Self::InputTokens,
        Self::McpClientOperationDuration,
        Self::McpClientSessionDuration,
        Self::McpServerOperationDuration,
        Self::McpServerSessionDuration,
        Self::OperationDuration,
        Self::OutputTokens,
        Self::ReasoningTokens,
        Self::SensorGaps,
        Self::ServerRequestDuration,
        Self::ServerTimePerOutputToken,
        Self::ServerTimeToFirstToken,
        Self::TelemetryDropped,
        Self::TimePerOutputChunk,
        Self::TimeToFirstChunk,
    ];
}

static CORE_COST_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[0], fixed: &[] }];
static CORE_DEVICE_ENERGY_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[1], fixed: &[] }];
static CORE_EMISSIONS_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[2], fixed: &[] }];
static CORE_HW_BATTERY_CHARGE_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[0], fixed: &[] }];
static CORE_HW_BATTERY_CHARGE_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[1], fixed: &[] }];
static CORE_HW_BATTERY_TIME_LEFT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[2], fixed: &[] }];
static CORE_HW_CPU_SPEED_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[3], fixed: &[] }];
static CORE_HW_CPU_SPEED_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[4], fixed: &[] }];
static CORE_HW_ENERGY_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[5], fixed: &[] }];
static CORE_HW_ERRORS_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[6], fixed: &[] }];
static CORE_HW_FAN_SPEED_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[7], fixed: &[] }];
static CORE_HW_FAN_SPEED_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[8], fixed: &[] }];
static CORE_HW_FAN_SPEED_RATIO_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[9], fixed: &[] }];
static CORE_HW_GPU_IO_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[10], fixed: &[] }];
static CORE_HW_GPU_MEMORY_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[11], fixed: &[] }];
static CORE_HW_GPU_MEMORY_USAGE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[12], fixed: &[] }];
static CORE_HW_GPU_MEMORY_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[13], fixed: &[] }];
static CORE_HW_GPU_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[14], fixed: &[] }];
static CORE_HW_HOST_AMBIENT_TEMPERATURE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[15], fixed: &[] }];
static CORE_HW_HOST_ENERGY_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[16], fixed: &[] }];
static CORE_HW_HOST_HEATING_MARGIN_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[17], fixed: &[] }];
static CORE_HW_HOST_POWER_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[18], fixed: &[] }];
static CORE_HW_LOGICAL_DISK_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[19], fixed: &[] }];
static CORE_HW_LOGICAL_DISK_USAGE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[20], fixed: &[] }];
static CORE_HW_LOGICAL_DISK_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[21], fixed: &[] }];
static CORE_HW_MEMORY_SIZE_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[22], fixed: &[] }];
static CORE_HW_NETWORK_BANDWIDTH_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[23], fixed: &[] }];
static CORE_HW_NETWORK_BANDWIDTH_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[24], fixed: &[] }];
static CORE_HW_NETWORK_IO_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[25], fixed: &[] }];
static CORE_HW_NETWORK_PACKETS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[26], fixed: &[] }];
static CORE_HW_NETWORK_UP_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[27], fixed: &[] }];
static CORE_HW_PHYSICAL_DISK_ENDURANCE_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[28], fixed: &[] }];
static CORE_HW_PHYSICAL_DISK_SIZE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[29], fixed: &[] }];
static CORE_HW_PHYSICAL_DISK_SMART_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[30], fixed: &[] }];
static CORE_HW_POWER_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[31], fixed: &[] }];
static CORE_HW_POWER_SUPPLY_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[32], fixed: &[] }];
static CORE_HW_POWER_SUPPLY_USAGE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[33], fixed: &[] }];
static CORE_HW_POWER_SUPPLY_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[34], fixed: &[] }];
static CORE_HW_STATUS_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[35], fixed: &[] }];
static CORE_HW_TAPE_DRIVE_OPERATIONS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[36], fixed: &[] }];
static CORE_HW_TEMPERATURE_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[37], fixed: &[] }];
static CORE_HW_TEMPERATURE_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[38], fixed: &[] }];
static CORE_HW_VOLTAGE_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[39], fixed: &[] }];
static CORE_HW_VOLTAGE_LIMIT_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[40], fixed: &[] }];
static CORE_HW_VOLTAGE_NOMINAL_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[41], fixed: &[] }];
static CORE_INFERENCE_ENERGY_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[3], fixed: &[] }];
static CORE_INPUT_TOKENS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[3], fixed: &[("gen_ai.token.type", "input")] }];
static CORE_MCP_CLIENT_OPERATION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[7], fixed: &[] }];
static CORE_MCP_CLIENT_SESSION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[8], fixed: &[] }];
static CORE_MCP_SERVER_OPERATION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[9], fixed: &[] }];
static CORE_MCP_SERVER_SESSION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[10], fixed: &[] }];
static CORE_OPERATION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[0], fixed: &[] }];
static CORE_OUTPUT_TOKENS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[3], fixed: &[("gen_ai.token.type", "output")] }];
static CORE_SENSOR_GAPS_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[4], fixed: &[] }];
static CORE_SERVER_REQUEST_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[4], fixed: &[] }];
static CORE_SERVER_TIME_PER_OUTPUT_TOKEN_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[5], fixed: &[] }];
static CORE_SERVER_TIME_TO_FIRST_TOKEN_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[6], fixed: &[] }];
static CORE_TELEMETRY_DROPPED_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &own::METRICS[5], fixed: &[] }];
static CORE_TIME_PER_OUTPUT_CHUNK_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[1], fixed: &[] }];
static CORE_TIME_TO_FIRST_CHUNK_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &core::METRICS[2], fixed: &[] }];

pub(crate) fn core_instruments(operation: Operation, measure: Measure) -> &'static [InstrumentUse] {
    match measure {
        Measure::Cost => &CORE_COST_0,
        Measure::DeviceEnergy => &CORE_DEVICE_ENERGY_0,
        Measure::Emissions => &CORE_EMISSIONS_0,
        Measure::HwBatteryCharge => &CORE_HW_BATTERY_CHARGE_0,
        Measure::HwBatteryChargeLimit => &CORE_HW_BATTERY_CHARGE_LIMIT_0,
        Measure::HwBatteryTimeLeft => &CORE_HW_BATTERY_TIME_LEFT_0,
        Measure::HwCpuSpeed => &CORE_HW_CPU_SPEED_0,
        Measure::HwCpuSpeedLimit => &CORE_HW_CPU_SPEED_LIMIT_0,
        Measure::HwEnergy => &CORE_HW_ENERGY_0,
        Measure::HwErrors => &CORE_HW_ERRORS_0,
        Measure::HwFanSpeed => &CORE_HW_FAN_SPEED_0,
        Measure::HwFanSpeedLimit => &CORE_HW_FAN_SPEED_LIMIT_0,
        Measure::HwFanSpeedRatio => &CORE_HW_FAN_SPEED_RATIO_0,
        Measure::HwGpuIo => &CORE_HW_GPU_IO_0,
        Measure::HwGpuMemoryLimit => &CORE_HW_GPU_MEMORY_LIMIT_0,
        Measure::HwGpuMemoryUsage => &CORE_HW_GPU_MEMORY_USAGE_0,
        Measure::HwGpuMemoryUtilization => &CORE_HW_GPU_MEMORY_UTILIZATION_0,
        Measure::HwGpuUtilization => &CORE_HW_GPU_UTILIZATION_0,
        Measure::HwHostAmbientTemperature => &CORE_HW_HOST_AMBIENT_TEMPERATURE_0,
        Measure::HwHostEnergy => &CORE_HW_HOST_ENERGY_0,
        Measure::HwHostHeatingMargin => &CORE_HW_HOST_HEATING_MARGIN_0,
        Measure::HwHostPower => &CORE_HW_HOST_POWER_0,
        Measure::HwLogicalDiskLimit => &CORE_HW_LOGICAL_DISK_LIMIT_0,
        Measure::HwLogicalDiskUsage => &CORE_HW_LOGICAL_DISK_USAGE_0,
        Measure::HwLogicalDiskUtilization => &CORE_HW_LOGICAL_DISK_UTILIZATION_0,
        Measure::HwMemorySize => &CORE_HW_MEMORY_SIZE_0,
        Measure::HwNetworkBandwidthLimit => &CORE_HW_NETWORK_BANDWIDTH_LIMIT_0,
        Measure::HwNetworkBandwidthUtilization => &CORE_HW_NETWORK_BANDWIDTH_UTILIZATION_0,
        Measure::HwNetworkIo => &CORE_HW_NETWORK_IO_0,
        Measure::HwNetworkPackets => &CORE_HW_NETWORK_PACKETS_0,
        Measure::HwNetworkUp => &CORE_HW_NETWORK_UP_0,
        Measure::HwPhysicalDiskEnduranceUtilization => &CORE_HW_PHYSICAL_DISK_ENDURANCE_UTILIZATION_0,
        Measure::HwPhysicalDiskSize => &CORE_HW_PHYSICAL_DISK_SIZE_0,
        Measure::HwPhysicalDiskSmart => &CORE_HW_PHYSICAL_DISK_SMART_0,
        Measure::HwPower => &CORE_HW_POWER_0,
        Measure::HwPowerSupplyLimit => &CORE_HW_POWER_SUPPLY_LIMIT_0,
        Measure::HwPowerSupplyUsage => &CORE_HW_POWER_SUPPLY_USAGE_0,
        Measure::HwPowerSupplyUtilization => &CORE_HW_POWER_SUPPLY_UTILIZATION_0,
        Measure::HwStatus => &CORE_HW_STATUS_0,
        Measure::HwTapeDriveOperations => &CORE_HW_TAPE_DRIVE_OPERATIONS_0,
        Measure::HwTemperature => &CORE_HW_TEMPERATURE_0,
        Measure::HwTemperatureLimit => &CORE_HW_TEMPERATURE_LIMIT_0,
        Measure::HwVoltage => &CORE_HW_VOLTAGE_0,
        Measure::HwVoltageLimit => &CORE_HW_VOLTAGE_LIMIT_0,
        Measure::HwVoltageNominal => &CORE_HW_VOLTAGE_NOMINAL_0,
        Measure::InferenceEnergy => &CORE_INFERENCE_ENERGY_0,
        Measure::InputTokens => match operation {
            Operation::Chat
            | Operation::GenerateContent
            | Operation::TextCompletion
            | Operation::Embeddings
            | Operation::Rerank => &CORE_INPUT_TOKENS_0,
            _ => &[],
        },
        Measure::McpClientOperationDuration => &CORE_MCP_CLIENT_OPERATION_DURATION_0,
        Measure::McpClientSessionDuration => &CORE_MCP_CLIENT_SESSION_DURATION_0,
        Measure::McpServerOperationDuration => &CORE_MCP_SERVER_OPERATION_DURATION_0,
        Measure::McpServerSessionDuration => &CORE_MCP_SERVER_SESSION_DURATION_0,
        Measure::OperationDuration => match operation {
            Operation::Chat
            | Operation::GenerateContent
            | Operation::TextCompletion
            | Operation::Embeddings
            | Operation::Retrieval
            | Operation::CreateAgent
            | Operation::InvokeAgent
            | Operation::Rerank => &CORE_OPERATION_DURATION_0,
            _ => &[],
        },
        Measure::OutputTokens => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => &CORE_OUTPUT_TOKENS_0,
            _ => &[],
        },
        Measure::SensorGaps => &CORE_SENSOR_GAPS_0,
        Measure::ServerRequestDuration => &CORE_SERVER_REQUEST_DURATION_0,
        Measure::ServerTimePerOutputToken => &CORE_SERVER_TIME_PER_OUTPUT_TOKEN_0,
        Measure::ServerTimeToFirstToken => &CORE_SERVER_TIME_TO_FIRST_TOKEN_0,
        Measure::TelemetryDropped => &CORE_TELEMETRY_DROPPED_0,
        Measure::TimePerOutputChunk => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &CORE_TIME_PER_OUTPUT_CHUNK_0
            }
            _ => &[],
        },
        Measure::TimeToFirstChunk => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &CORE_TIME_TO_FIRST_CHUNK_0
            }
            _ => &[],
        },
        Measure::AgentInferenceCalls
        | Measure::AgentToolCalls
        | Measure::CacheReadTokens
        | Measure::CacheWriteTokens
        | Measure::ReasoningTokens => &[],
    }
}

static GENAI_AGENT_INFERENCE_CALLS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[16], fixed: &[] }];
static GENAI_AGENT_TOOL_CALLS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[17], fixed: &[] }];
static GENAI_CACHE_READ_TOKENS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[7], fixed: &[] }];
static GENAI_CACHE_WRITE_TOKENS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[8], fixed: &[] }];
static GENAI_COST_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[0], fixed: &[] }];
static GENAI_DEVICE_ENERGY_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[1], fixed: &[] }];
static GENAI_EMISSIONS_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[2], fixed: &[] }];
static GENAI_HW_BATTERY_CHARGE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[0], fixed: &[] }];
static GENAI_HW_BATTERY_CHARGE_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[1], fixed: &[] }];
static GENAI_HW_BATTERY_TIME_LEFT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[2], fixed: &[] }];
static GENAI_HW_CPU_SPEED_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[3], fixed: &[] }];
static GENAI_HW_CPU_SPEED_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[4], fixed: &[] }];
static GENAI_HW_ENERGY_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[5], fixed: &[] }];
static GENAI_HW_ERRORS_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[6], fixed: &[] }];
static GENAI_HW_FAN_SPEED_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[7], fixed: &[] }];
static GENAI_HW_FAN_SPEED_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[8], fixed: &[] }];
static GENAI_HW_FAN_SPEED_RATIO_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[9], fixed: &[] }];
static GENAI_HW_GPU_IO_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[10], fixed: &[] }];
static GENAI_HW_GPU_MEMORY_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[11], fixed: &[] }];
static GENAI_HW_GPU_MEMORY_USAGE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[12], fixed: &[] }];
static GENAI_HW_GPU_MEMORY_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[13], fixed: &[] }];
static GENAI_HW_GPU_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[14], fixed: &[] }];
static GENAI_HW_HOST_AMBIENT_TEMPERATURE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[15], fixed: &[] }];
static GENAI_HW_HOST_ENERGY_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[16], fixed: &[] }];
static GENAI_HW_HOST_HEATING_MARGIN_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[17], fixed: &[] }];
static GENAI_HW_HOST_POWER_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[18], fixed: &[] }];
static GENAI_HW_LOGICAL_DISK_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[19], fixed: &[] }];
static GENAI_HW_LOGICAL_DISK_USAGE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[20], fixed: &[] }];
static GENAI_HW_LOGICAL_DISK_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[21], fixed: &[] }];
static GENAI_HW_MEMORY_SIZE_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[22], fixed: &[] }];
static GENAI_HW_NETWORK_BANDWIDTH_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[23], fixed: &[] }];
static GENAI_HW_NETWORK_BANDWIDTH_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[24], fixed: &[] }];
static GENAI_HW_NETWORK_IO_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[25], fixed: &[] }];
static GENAI_HW_NETWORK_PACKETS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[26], fixed: &[] }];
static GENAI_HW_NETWORK_UP_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[27], fixed: &[] }];
static GENAI_HW_PHYSICAL_DISK_ENDURANCE_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[28], fixed: &[] }];
static GENAI_HW_PHYSICAL_DISK_SIZE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[29], fixed: &[] }];
static GENAI_HW_PHYSICAL_DISK_SMART_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[30], fixed: &[] }];
static GENAI_HW_POWER_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[31], fixed: &[] }];
static GENAI_HW_POWER_SUPPLY_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[32], fixed: &[] }];
static GENAI_HW_POWER_SUPPLY_USAGE_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[33], fixed: &[] }];
static GENAI_HW_POWER_SUPPLY_UTILIZATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[34], fixed: &[] }];
static GENAI_HW_STATUS_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[35], fixed: &[] }];
static GENAI_HW_TAPE_DRIVE_OPERATIONS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[36], fixed: &[] }];
static GENAI_HW_TEMPERATURE_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[37], fixed: &[] }];
static GENAI_HW_TEMPERATURE_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[38], fixed: &[] }];
static GENAI_HW_VOLTAGE_0: [InstrumentUse; 1] = [InstrumentUse { metric: &hw::METRICS[39], fixed: &[] }];
static GENAI_HW_VOLTAGE_LIMIT_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[40], fixed: &[] }];
static GENAI_HW_VOLTAGE_NOMINAL_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &hw::METRICS[41], fixed: &[] }];
static GENAI_INFERENCE_ENERGY_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &own::METRICS[3], fixed: &[] }];
static GENAI_INPUT_TOKENS_0: [InstrumentUse; 2] = [
    InstrumentUse { metric: &genai::METRICS[9], fixed: &[] },
    InstrumentUse { metric: &genai::METRICS[3], fixed: &[] },
];
static GENAI_INPUT_TOKENS_1: [InstrumentUse; 1] = [InstrumentUse { metric: &genai::METRICS[1], fixed: &[] }];
static GENAI_MCP_CLIENT_OPERATION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[22], fixed: &[] }];
static GENAI_MCP_CLIENT_SESSION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[23], fixed: &[] }];
static GENAI_MCP_SERVER_OPERATION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[24], fixed: &[] }];
static GENAI_MCP_SERVER_SESSION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[25], fixed: &[] }];
static GENAI_OPERATION_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[2], fixed: &[] }];
static GENAI_OPERATION_DURATION_1: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[0], fixed: &[] }];
static GENAI_OPERATION_DURATION_2: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[18], fixed: &[] }];
static GENAI_OPERATION_DURATION_3: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[14], fixed: &[] }];
static GENAI_OPERATION_DURATION_4: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[15], fixed: &[] }];
static GENAI_OPERATION_DURATION_5: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[13], fixed: &[] }];
static GENAI_OUTPUT_TOKENS_0: [InstrumentUse; 2] = [
    InstrumentUse { metric: &genai::METRICS[10], fixed: &[] },
    InstrumentUse { metric: &genai::METRICS[4], fixed: &[] },
];
static GENAI_REASONING_TOKENS_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[11], fixed: &[] }];
static GENAI_SENSOR_GAPS_0: [InstrumentUse; 1] = [InstrumentUse { metric: &own::METRICS[4], fixed: &[] }];
static GENAI_SERVER_REQUEST_DURATION_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[19], fixed: &[] }];
static GENAI_SERVER_TIME_PER_OUTPUT_TOKEN_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[20], fixed: &[] }];
static GENAI_SERVER_TIME_TO_FIRST_TOKEN_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[21], fixed: &[] }];
static GENAI_TELEMETRY_DROPPED_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &own::METRICS[5], fixed: &[] }];
static GENAI_TIME_PER_OUTPUT_CHUNK_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[5], fixed: &[] }];
static GENAI_TIME_TO_FIRST_CHUNK_0: [InstrumentUse; 1] =
    [InstrumentUse { metric: &genai::METRICS[6], fixed: &[] }];

pub(crate) fn genai_instruments(operation: Operation, measure: Measure) -> &'static [InstrumentUse] {
    match measure {
        Measure::AgentInferenceCalls => match operation {
            Operation::InvokeAgent | Operation::InvokeWorkflow => &GENAI_AGENT_INFERENCE_CALLS_0,
            _ => &[],
        },
        Measure::AgentToolCalls => match operation {
            Operation::InvokeAgent | Operation::InvokeWorkflow => &GENAI_AGENT_TOOL_CALLS_0,
            _ => &[],
        },
        Measure::CacheReadTokens => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &GENAI_CACHE_READ_TOKENS_0
            }
            _ => &[],
        },
        Measure::CacheWriteTokens => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &GENAI_CACHE_WRITE_TOKENS_0
            }
            _ => &[],
        },
        Measure::Cost => &GENAI_COST_0,
        Measure::DeviceEnergy => &GENAI_DEVICE_ENERGY_0,
        Measure::Emissions => &GENAI_EMISSIONS_0,
        Measure::HwBatteryCharge => &GENAI_HW_BATTERY_CHARGE_0,
        Measure::HwBatteryChargeLimit => &GENAI_HW_BATTERY_CHARGE_LIMIT_0,
        Measure::HwBatteryTimeLeft => &GENAI_HW_BATTERY_TIME_LEFT_0,
        Measure::HwCpuSpeed => &GENAI_HW_CPU_SPEED_0,
        Measure::HwCpuSpeedLimit => &GENAI_HW_CPU_SPEED_LIMIT_0,
        Measure::HwEnergy => &GENAI_HW_ENERGY_0,
        Measure::HwErrors => &GENAI_HW_ERRORS_0,
        Measure::HwFanSpeed => &GENAI_HW_FAN_SPEED_0,
        Measure::HwFanSpeedLimit => &GENAI_HW_FAN_SPEED_LIMIT_0,
        Measure::HwFanSpeedRatio => &GENAI_HW_FAN_SPEED_RATIO_0,
        Measure::HwGpuIo => &GENAI_HW_GPU_IO_0,
        Measure::HwGpuMemoryLimit => &GENAI_HW_GPU_MEMORY_LIMIT_0,
        Measure::HwGpuMemoryUsage => &GENAI_HW_GPU_MEMORY_USAGE_0,
        Measure::HwGpuMemoryUtilization => &GENAI_HW_GPU_MEMORY_UTILIZATION_0,
        Measure::HwGpuUtilization => &GENAI_HW_GPU_UTILIZATION_0,
        Measure::HwHostAmbientTemperature => &GENAI_HW_HOST_AMBIENT_TEMPERATURE_0,
        Measure::HwHostEnergy => &GENAI_HW_HOST_ENERGY_0,
        Measure::HwHostHeatingMargin => &GENAI_HW_HOST_HEATING_MARGIN_0,
        Measure::HwHostPower => &GENAI_HW_HOST_POWER_0,
        Measure::HwLogicalDiskLimit => &GENAI_HW_LOGICAL_DISK_LIMIT_0,
        Measure::HwLogicalDiskUsage => &GENAI_HW_LOGICAL_DISK_USAGE_0,
        Measure::HwLogicalDiskUtilization => &GENAI_HW_LOGICAL_DISK_UTILIZATION_0,
        Measure::HwMemorySize => &GENAI_HW_MEMORY_SIZE_0,
        Measure::HwNetworkBandwidthLimit => &GENAI_HW_NETWORK_BANDWIDTH_LIMIT_0,
        Measure::HwNetworkBandwidthUtilization => &GENAI_HW_NETWORK_BANDWIDTH_UTILIZATION_0,
        Measure::HwNetworkIo => &GENAI_HW_NETWORK_IO_0,
        Measure::HwNetworkPackets => &GENAI_HW_NETWORK_PACKETS_0,
        Measure::HwNetworkUp => &GENAI_HW_NETWORK_UP_0,
        Measure::HwPhysicalDiskEnduranceUtilization => &GENAI_HW_PHYSICAL_DISK_ENDURANCE_UTILIZATION_0,
        Measure::HwPhysicalDiskSize => &GENAI_HW_PHYSICAL_DISK_SIZE_0,
        Measure::HwPhysicalDiskSmart => &GENAI_HW_PHYSICAL_DISK_SMART_0,
        Measure::HwPower => &GENAI_HW_POWER_0,
        Measure::HwPowerSupplyLimit => &GENAI_HW_POWER_SUPPLY_LIMIT_0,
        Measure::HwPowerSupplyUsage => &GENAI_HW_POWER_SUPPLY_USAGE_0,
        Measure::HwPowerSupplyUtilization => &GENAI_HW_POWER_SUPPLY_UTILIZATION_0,
        Measure::HwStatus => &GENAI_HW_STATUS_0,
        Measure::HwTapeDriveOperations => &GENAI_HW_TAPE_DRIVE_OPERATIONS_0,
        Measure::HwTemperature => &GENAI_HW_TEMPERATURE_0,
        Measure::HwTemperatureLimit => &GENAI_HW_TEMPERATURE_LIMIT_0,
        Measure::HwVoltage => &GENAI_HW_VOLTAGE_0,
        Measure::HwVoltageLimit => &GENAI_HW_VOLTAGE_LIMIT_0,
        Measure::HwVoltageNominal => &GENAI_HW_VOLTAGE_NOMINAL_0,
        Measure::InferenceEnergy => &GENAI_INFERENCE_ENERGY_0,
        Measure::InputTokens => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => &GENAI_INPUT_TOKENS_0,
            Operation::Embeddings => &GENAI_INPUT_TOKENS_1,
            _ => &[],
        },
        Measure::McpClientOperationDuration => &GENAI_MCP_CLIENT_OPERATION_DURATION_0,
        Measure::McpClientSessionDuration => &GENAI_MCP_CLIENT_SESSION_DURATION_0,
        Measure::McpServerOperationDuration => &GENAI_MCP_SERVER_OPERATION_DURATION_0,
        Measure::McpServerSessionDuration => &GENAI_MCP_SERVER_SESSION_DURATION_0,
        Measure::OperationDuration => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &GENAI_OPERATION_DURATION_0
            }
            Operation::Embeddings => &GENAI_OPERATION_DURATION_1,
            Operation::Retrieval => &GENAI_OPERATION_DURATION_2,
            Operation::ExecuteTool => &GENAI_OPERATION_DURATION_3,
            Operation::InvokeAgent | Operation::InvokeWorkflow => &GENAI_OPERATION_DURATION_4,
            Operation::CreateAgent
            | Operation::FetchResponse
            | Operation::Rerank
            | Operation::SearchMemory
            | Operation::CreateMemory
            | Operation::UpdateMemory
            | Operation::UpsertMemory
            | Operation::DeleteMemory
            | Operation::CreateMemoryStore
            | Operation::DeleteMemoryStore => &GENAI_OPERATION_DURATION_5,
            _ => &[],
        },
        Measure::OutputTokens => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &GENAI_OUTPUT_TOKENS_0
            }
            _ => &[],
        },
        Measure::ReasoningTokens => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &GENAI_REASONING_TOKENS_0
            }
            _ => &[],
        },
        Measure::SensorGaps => &GENAI_SENSOR_GAPS_0,
        Measure::ServerRequestDuration => &GENAI_SERVER_REQUEST_DURATION_0,
        Measure::ServerTimePerOutputToken => &GENAI_SERVER_TIME_PER_OUTPUT_TOKEN_0,
        Measure::ServerTimeToFirstToken => &GENAI_SERVER_TIME_TO_FIRST_TOKEN_0,
        Measure::TelemetryDropped => &GENAI_TELEMETRY_DROPPED_0,
        Measure::TimePerOutputChunk => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &GENAI_TIME_PER_OUTPUT_CHUNK_0
            }
            _ => &[],
        },
        Measure::TimeToFirstChunk => match operation {
            Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => {
                &GENAI_TIME_TO_FIRST_CHUNK_0
            }
            _ => &[],
        },
    }
}
