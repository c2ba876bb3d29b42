// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! Metric names, those of both profiles, hardware and our own together.

/// `gen_ai.client.embeddings.duration`: histogram, unit `s`, in `genai` only.
pub const GEN_AI_CLIENT_EMBEDDINGS_DURATION: &str = "gen_ai.client.embeddings.duration";
/// `gen_ai.client.embeddings.operation.input_tokens`: histogram, unit `{token}`, in `genai` only.
pub const GEN_AI_CLIENT_EMBEDDINGS_OPERATION_INPUT_TOKENS: &str =
    "gen_ai.client.embeddings.operation.input_tokens";
/// `gen_ai.client.inference.duration`: histogram, unit `s`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_DURATION: &str = "gen_ai.client.inference.duration";
/// `gen_ai.client.inference.operation.input_tokens`: histogram, unit `{token}`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_OPERATION_INPUT_TOKENS: &str =
    "gen_ai.client.inference.operation.input_tokens";
/// `gen_ai.client.inference.operation.output_tokens`: histogram, unit `{token}`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_OPERATION_OUTPUT_TOKENS: &str =
    "gen_ai.client.inference.operation.output_tokens";
/// `gen_ai.client.inference.time_per_output_chunk`: histogram, unit `s`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_TIME_PER_OUTPUT_CHUNK: &str =
    "gen_ai.client.inference.time_per_output_chunk";
/// `gen_ai.client.inference.time_to_first_chunk`: histogram, unit `s`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_TIME_TO_FIRST_CHUNK: &str = "gen_ai.client.inference.time_to_first_chunk";
/// `gen_ai.client.inference.usage.cache_read.input_tokens`: counter, unit `{token}`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_READ_INPUT_TOKENS: &str =
    "gen_ai.client.inference.usage.cache_read.input_tokens";
/// `gen_ai.client.inference.usage.cache_write.input_tokens`: counter, unit `{token}`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_USAGE_CACHE_WRITE_INPUT_TOKENS: &str =
    "gen_ai.client.inference.usage.cache_write.input_tokens";
/// `gen_ai.client.inference.usage.input_tokens`: counter, unit `{token}`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_USAGE_INPUT_TOKENS: &str = "gen_ai.client.inference.usage.input_tokens";
/// `gen_ai.client.inference.usage.output_tokens`: counter, unit `{token}`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_USAGE_OUTPUT_TOKENS: &str = "gen_ai.client.inference.usage.output_tokens";
/// `gen_ai.client.inference.usage.reasoning.output_tokens`: counter, unit `{token}`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_USAGE_REASONING_OUTPUT_TOKENS: &str =
    "gen_ai.client.inference.usage.reasoning.output_tokens";
/// `gen_ai.client.operation.duration`: histogram, unit `s`, in both profiles.
pub const GEN_AI_CLIENT_OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
/// `gen_ai.client.operation.time_per_output_chunk`: histogram, unit `s`, in `core` only.
pub const GEN_AI_CLIENT_OPERATION_TIME_PER_OUTPUT_CHUNK: &str =
    "gen_ai.client.operation.time_per_output_chunk";
/// `gen_ai.client.operation.time_to_first_chunk`: histogram, unit `s`, in `core` only.
pub const GEN_AI_CLIENT_OPERATION_TIME_TO_FIRST_CHUNK: &str = "gen_ai.client.operation.time_to_first_chunk";
/// `gen_ai.client.token.usage`: histogram, unit `{token}`, in `core` only.
pub const GEN_AI_CLIENT_TOKEN_USAGE: &str = "gen_ai.client.token.usage";
/// `gen_ai.execute_tool.duration`: histogram, unit `s`, in `genai` only.
pub const GEN_AI_EXECUTE_TOOL_DURATION: &str = "gen_ai.execute_tool.duration";
/// `gen_ai.invoke_agent.duration`: histogram, unit `s`, in `genai` only.
pub const GEN_AI_INVOKE_AGENT_DURATION: &str = "gen_ai.invoke_agent.duration";
/// `gen_ai.invoke_agent.inference_calls`: histogram, unit `{inference_call}`, in `genai` only.
pub const GEN_AI_INVOKE_AGENT_INFERENCE_CALLS: &str = "gen_ai.invoke_agent.inference_calls";
/// `gen_ai.invoke_agent.tool_calls`: histogram, unit `{tool_call}`, in `genai` only.
pub const GEN_AI_INVOKE_AGENT_TOOL_CALLS: &str = "gen_ai.invoke_agent.tool_calls";
/// `gen_ai.retrieval.duration`: histogram, unit `s`, in `genai` only.
pub const GEN_AI_RETRIEVAL_DURATION: &str = "gen_ai.retrieval.duration";
/// `gen_ai.server.request.duration`: histogram, unit `s`, in both profiles.
pub const GEN_AI_SERVER_REQUEST_DURATION: &str = "gen_ai.server.request.duration";
/// `gen_ai.server.time_per_output_token`: histogram, unit `s`, in both profiles.
pub const GEN_AI_SERVER_TIME_PER_OUTPUT_TOKEN: &str = "gen_ai.server.time_per_output_token";
/// `gen_ai.server.time_to_first_token`: histogram, unit `s`, in both profiles.
pub const GEN_AI_SERVER_TIME_TO_FIRST_TOKEN: &str = "gen_ai.server.time_to_first_token";
/// `hw.battery.charge`: gauge, unit `1`, of the hardware conventions.
pub const HW_BATTERY_CHARGE: &str = "hw.battery.charge";
/// `hw.battery.charge.limit`: gauge, unit `1`, of the hardware conventions.
pub const HW_BATTERY_CHARGE_LIMIT: &str = "hw.battery.charge.limit";
/// `hw.battery.time_left`: gauge, unit `s`, of the hardware conventions.
pub const HW_BATTERY_TIME_LEFT: &str = "hw.battery.time_left";
/// `hw.cpu.speed`: gauge, unit `Hz`, of the hardware conventions.
pub const HW_CPU_SPEED: &str = "hw.cpu.speed";
/// `hw.cpu.speed.limit`: gauge, unit `Hz`, of the hardware conventions.
pub const HW_CPU_SPEED_LIMIT: &str = "hw.cpu.speed.limit";
/// `hw.energy`: counter, unit `J`, of the hardware conventions.
pub const HW_ENERGY: &str = "hw.energy";
/// `hw.errors`: counter, unit `{error}`, of the hardware conventions.
pub const HW_ERRORS: &str = "hw.errors";
/// `hw.fan.speed`: gauge, unit `rpm`, of the hardware conventions.
pub const HW_FAN_SPEED: &str = "hw.fan.speed";
/// `hw.fan.speed.limit`: gauge, unit `rpm`, of the hardware conventions.
pub const HW_FAN_SPEED_LIMIT: &str = "hw.fan.speed.limit";
/// `hw.fan.speed_ratio`: gauge, unit `1`, of the hardware conventions.
pub const HW_FAN_SPEED_RATIO: &str = "hw.fan.speed_ratio";
/// `hw.gpu.io`: counter, unit `By`, of the hardware conventions.
pub const HW_GPU_IO: &str = "hw.gpu.io";
/// `hw.gpu.memory.limit`: updowncounter, unit `By`, of the hardware conventions.
pub const HW_GPU_MEMORY_LIMIT: &str = "hw.gpu.memory.limit";
/// `hw.gpu.memory.usage`: updowncounter, unit `By`, of the hardware conventions.
pub const HW_GPU_MEMORY_USAGE: &str = "hw.gpu.memory.usage";
/// `hw.gpu.memory.utilization`: gauge, unit `1`, of the hardware conventions.
pub const HW_GPU_MEMORY_UTILIZATION: &str = "hw.gpu.memory.utilization";
/// `hw.gpu.utilization`: gauge, unit `1`, of the hardware conventions.
pub const HW_GPU_UTILIZATION: &str = "hw.gpu.utilization";
/// `hw.host.ambient_temperature`: gauge, unit `Cel`, of the hardware conventions.
pub const HW_HOST_AMBIENT_TEMPERATURE: &str = "hw.host.ambient_temperature";
/// `hw.host.energy`: counter, unit `J`, of the hardware conventions.
pub const HW_HOST_ENERGY: &str = "hw.host.energy";
/// `hw.host.heating_margin`: gauge, unit `Cel`, of the hardware conventions.
pub const HW_HOST_HEATING_MARGIN: &str = "hw.host.heating_margin";
/// `hw.host.power`: gauge, unit `W`, of the hardware conventions.
pub const HW_HOST_POWER: &str = "hw.host.power";
/// `hw.logical_disk.limit`: updowncounter, unit `By`, of the hardware conventions.
pub const HW_LOGICAL_DISK_LIMIT: &str = "hw.logical_disk.limit";
/// `hw.logical_disk.usage`: updowncounter, unit `By`, of the hardware conventions.
pub const HW_LOGICAL_DISK_USAGE: &str = "hw.logical_disk.usage";
/// `hw.logical_disk.utilization`: gauge, unit `1`, of the hardware conventions.
pub const HW_LOGICAL_DISK_UTILIZATION: &str = "hw.logical_disk.utilization";
/// `hw.memory.size`: updowncounter, unit `By`, of the hardware conventions.
pub const HW_MEMORY_SIZE: &str = "hw.memory.size";
/// `hw.network.bandwidth.limit`: updowncounter, unit `By/s`, of the hardware conventions.
pub const HW_NETWORK_BANDWIDTH_LIMIT: &str = "hw.network.bandwidth.limit";
/// `hw.network.bandwidth.utilization`: gauge, unit `1`, of the hardware conventions.
pub const HW_NETWORK_BANDWIDTH_UTILIZATION: &str = "hw.network.bandwidth.utilization";
/// `hw.network.io`: counter, unit `By`, of the hardware conventions.
pub const HW_NETWORK_IO: &str = "hw.network.io";
/// `hw.network.packets`: counter, unit `{packet}`, of the hardware conventions.
pub const HW_NETWORK_PACKETS: &str = "hw.network.packets";
/// `hw.network.up`: updowncounter, unit `1`, of the hardware conventions.
pub const HW_NETWORK_UP: &str = "hw.network.up";
/// `hw.physical_disk.endurance_utilization`: gauge, unit `1`, of the hardware conventions.
pub const HW_PHYSICAL_DISK_ENDURANCE_UTILIZATION: &str = "hw.physical_disk.endurance_utilization";
/// `hw.physical_disk.size`: updowncounter, unit `By`, of the hardware conventions.
pub const HW_PHYSICAL_DISK_SIZE: &str = "hw.physical_disk.size";
/// `hw.physical_disk.smart`: gauge, unit `1`, of the hardware conventions.
pub const HW_PHYSICAL_DISK_SMART: &str = "hw.physical_disk.smart";
/// `hw.power`: gauge, unit `W`, of the hardware conventions.
pub const HW_POWER: &str = "hw.power";
/// `hw.power_supply.limit`: updowncounter, unit `W`, of the hardware conventions.
pub const HW_POWER_SUPPLY_LIMIT: &str = "hw.power_supply.limit";
/// `hw.power_supply.usage`: updowncounter, unit `W`, of the hardware conventions.
pub const HW_POWER_SUPPLY_USAGE: &str = "hw.power_supply.usage";
/// `hw.power_supply.utilization`: gauge, unit `1`, of the hardware conventions.
pub const HW_POWER_SUPPLY_UTILIZATION: &str = "hw.power_supply.utilization";
/// `hw.status`: updowncounter, unit `1`, of the hardware conventions.
pub const HW_STATUS: &str = "hw.status";
/// `hw.tape_drive.operations`: counter, unit `{operation}`, of the hardware conventions.
pub const HW_TAPE_DRIVE_OPERATIONS: &str = "hw.tape_drive.operations";
/// `hw.temperature`: gauge, unit `Cel`, of the hardware conventions.
pub const HW_TEMPERATURE: &str = "hw.temperature";
/// `hw.temperature.limit`: gauge, unit `Cel`, of the hardware conventions.
pub const HW_TEMPERATURE_LIMIT: &str = "hw.temperature.limit";
/// `hw.voltage`: gauge, unit `V`, of the hardware conventions.
pub const HW_VOLTAGE: &str = "hw.voltage";
/// `hw.voltage.limit`: gauge, unit `V`, of the hardware conventions.
pub const HW_VOLTAGE_LIMIT: &str = "hw.voltage.limit";
/// `hw.voltage.nominal`: gauge, unit `V`, of the hardware conventions.
pub const HW_VOLTAGE_NOMINAL: &str = "hw.voltage.nominal";
/// `mcp.client.operation.duration`: histogram, unit `s`, in both profiles.
pub const MCP_CLIENT_OPERATION_DURATION: &str = "mcp.client.operation.duration";
/// `mcp.client.session.duration`: histogram, unit `s`, in both profiles.
pub const MCP_CLIENT_SESSION_DURATION: &str = "mcp.client.session.duration";
/// `mcp.server.operation.duration`: histogram, unit `s`, in both profiles.
pub const MCP_SERVER_OPERATION_DURATION: &str = "mcp.server.operation.duration";
/// `mcp.server.session.duration`: histogram, unit `s`, in both profiles.
pub const MCP_SERVER_SESSION_DURATION: &str = "mcp.server.session.duration";
/// `wattspan.cost`: counter, unit `USD`, of wattspan's own.
pub const WATTSPAN_COST: &str = "wattspan.cost";
/// `wattspan.device.energy`: counter, unit `J`, of wattspan's own.
pub const WATTSPAN_DEVICE_ENERGY: &str = "wattspan.device.energy";
/// `wattspan.emissions`: counter, unit `g`, of wattspan's own.
pub const WATTSPAN_EMISSIONS: &str = "wattspan.emissions";
/// `wattspan.inference.energy`: histogram, unit `J`, of wattspan's own.
pub const WATTSPAN_INFERENCE_ENERGY: &str = "wattspan.inference.energy";
/// `wattspan.sensor.gaps`: counter, unit `{gap}`, of wattspan's own.
pub const WATTSPAN_SENSOR_GAPS: &str = "wattspan.sensor.gaps";
/// `wattspan.telemetry.dropped`: counter, unit `{item}`, of wattspan's own.
pub const WATTSPAN_TELEMETRY_DROPPED: &str = "wattspan.telemetry.dropped";
