// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! Attribute names, those of both profiles, hardware and our own together.

/// `aws.bedrock.guardrail.id`: `string`, in both profiles.
pub const AWS_BEDROCK_GUARDRAIL_ID: &str = "aws.bedrock.guardrail.id";
/// `aws.bedrock.knowledge_base.id`: `string`, in both profiles.
pub const AWS_BEDROCK_KNOWLEDGE_BASE_ID: &str = "aws.bedrock.knowledge_base.id";
/// `azure.resource_provider.namespace`: `string`, in both profiles.
pub const AZURE_RESOURCE_PROVIDER_NAMESPACE: &str = "azure.resource_provider.namespace";
/// `client.address`: `string`, in both profiles.
pub const CLIENT_ADDRESS: &str = "client.address";
/// `client.port`: `int`, in both profiles.
pub const CLIENT_PORT: &str = "client.port";
/// `error.type`: `string`, in both profiles.
pub const ERROR_TYPE: &str = "error.type";
/// `exception.message`: `string`, in both profiles.
pub const EXCEPTION_MESSAGE: &str = "exception.message";
/// `exception.stacktrace`: `string`, in both profiles.
pub const EXCEPTION_STACKTRACE: &str = "exception.stacktrace";
/// `exception.type`: `string`, in both profiles.
pub const EXCEPTION_TYPE: &str = "exception.type";
/// `gen_ai.agent.description`: `string`, in both profiles.
pub const GEN_AI_AGENT_DESCRIPTION: &str = "gen_ai.agent.description";
/// `gen_ai.agent.id`: `string`, in both profiles.
pub const GEN_AI_AGENT_ID: &str = "gen_ai.agent.id";
/// `gen_ai.agent.name`: `string`, in both profiles.
pub const GEN_AI_AGENT_NAME: &str = "gen_ai.agent.name";
/// `gen_ai.agent.version`: `string`, in both profiles.
pub const GEN_AI_AGENT_VERSION: &str = "gen_ai.agent.version";
/// `gen_ai.conversation.compacted`: `boolean`, in `genai` only.
pub const GEN_AI_CONVERSATION_COMPACTED: &str = "gen_ai.conversation.compacted";
/// `gen_ai.conversation.id`: `string`, in both profiles.
pub const GEN_AI_CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// `gen_ai.data_source.id`: `string`, in both profiles.
pub const GEN_AI_DATA_SOURCE_ID: &str = "gen_ai.data_source.id";
/// `gen_ai.embeddings.dimension.count`: `int`, in both profiles.
pub const GEN_AI_EMBEDDINGS_DIMENSION_COUNT: &str = "gen_ai.embeddings.dimension.count";
/// `gen_ai.evaluation.explanation`: `string`, in both profiles.
pub const GEN_AI_EVALUATION_EXPLANATION: &str = "gen_ai.evaluation.explanation";
/// `gen_ai.evaluation.name`: `string`, in both profiles.
pub const GEN_AI_EVALUATION_NAME: &str = "gen_ai.evaluation.name";
/// `gen_ai.evaluation.score.label`: `string`, in both profiles.
pub const GEN_AI_EVALUATION_SCORE_LABEL: &str = "gen_ai.evaluation.score.label";
/// `gen_ai.evaluation.score.value`: `double`, in both profiles.
pub const GEN_AI_EVALUATION_SCORE_VALUE: &str = "gen_ai.evaluation.score.value";
/// `gen_ai.input.messages`: `any`, in both profiles.
pub const GEN_AI_INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// `gen_ai.main_agent.description`: `string`, in `genai` only.
pub const GEN_AI_MAIN_AGENT_DESCRIPTION: &str = "gen_ai.main_agent.description";
/// `gen_ai.main_agent.id`: `string`, in `genai` only.
pub const GEN_AI_MAIN_AGENT_ID: &str = "gen_ai.main_agent.id";
/// `gen_ai.main_agent.name`: `string`, in `genai` only.
pub const GEN_AI_MAIN_AGENT_NAME: &str = "gen_ai.main_agent.name";
/// `gen_ai.memory.query.text`: `string`, in `genai` only.
pub const GEN_AI_MEMORY_QUERY_TEXT: &str = "gen_ai.memory.query.text";
/// `gen_ai.memory.record.count`: `int`, in `genai` only.
pub const GEN_AI_MEMORY_RECORD_COUNT: &str = "gen_ai.memory.record.count";
/// `gen_ai.memory.record.id`: `string`, in `genai` only.
pub const GEN_AI_MEMORY_RECORD_ID: &str = "gen_ai.memory.record.id";
/// `gen_ai.memory.records`: `any`, in `genai` only.
pub const GEN_AI_MEMORY_RECORDS: &str = "gen_ai.memory.records";
/// `gen_ai.memory.store.id`: `string`, in `genai` only.
pub const GEN_AI_MEMORY_STORE_ID: &str = "gen_ai.memory.store.id";
/// `gen_ai.operation.name`: `string`, in both profiles.
pub const GEN_AI_OPERATION_NAME: &str = "gen_ai.operation.name";
/// `gen_ai.output.messages`: `any`, in both profiles.
pub const GEN_AI_OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// `gen_ai.output.type`: `string`, in both profiles.
pub const GEN_AI_OUTPUT_TYPE: &str = "gen_ai.output.type";
/// `gen_ai.prompt.name`: `string`, in both profiles.
pub const GEN_AI_PROMPT_NAME: &str = "gen_ai.prompt.name";
/// `gen_ai.prompt.variable`: `template[string]`, in `genai` only.
pub const GEN_AI_PROMPT_VARIABLE: &str = "gen_ai.prompt.variable";
/// `gen_ai.prompt.version`: `string`, in `genai` only.
pub const GEN_AI_PROMPT_VERSION: &str = "gen_ai.prompt.version";
/// `gen_ai.provider.name`: `string`, in both profiles.
pub const GEN_AI_PROVIDER_NAME: &str = "gen_ai.provider.name";
/// `gen_ai.request.choice.count`: `int`, in both profiles.
pub const GEN_AI_REQUEST_CHOICE_COUNT: &str = "gen_ai.request.choice.count";
/// `gen_ai.request.encoding_formats`: `string[]`, in both profiles.
pub const GEN_AI_REQUEST_ENCODING_FORMATS: &str = "gen_ai.request.encoding_formats";
/// `gen_ai.request.frequency_penalty`: `double`, in both profiles.
pub const GEN_AI_REQUEST_FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
/// `gen_ai.request.max_tokens`: `int`, in both profiles.
pub const GEN_AI_REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// `gen_ai.request.model`: `string`, in both profiles.
pub const GEN_AI_REQUEST_MODEL: &str = "gen_ai.request.model";
/// `gen_ai.request.presence_penalty`: `double`, in both profiles.
pub const GEN_AI_REQUEST_PRESENCE_PENALTY: &str = "gen_ai.request.presence_penalty";
/// `gen_ai.request.previous_response.id`: `string`, in `genai` only.
pub const GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: &str = "gen_ai.request.previous_response.id";
/// `gen_ai.request.reasoning.level`: `string`, in `genai` only.
pub const GEN_AI_REQUEST_REASONING_LEVEL: &str = "gen_ai.request.reasoning.level";
/// `gen_ai.request.seed`: `int`, in both profiles.
pub const GEN_AI_REQUEST_SEED: &str = "gen_ai.request.seed";
/// `gen_ai.request.stop_sequences`: `string[]`, in both profiles.
pub const GEN_AI_REQUEST_STOP_SEQUENCES: &str = "gen_ai.request.stop_sequences";
/// `gen_ai.request.stream`: `boolean`, in both profiles.
pub const GEN_AI_REQUEST_STREAM: &str = "gen_ai.request.stream";
/// `gen_ai.request.stream_cursor`: `string`, in `genai` only.
pub const GEN_AI_REQUEST_STREAM_CURSOR: &str = "gen_ai.request.stream_cursor";
/// `gen_ai.request.temperature`: `double`, in both profiles.
pub const GEN_AI_REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
/// `gen_ai.request.top_k`: `double`, in both profiles.
pub const GEN_AI_REQUEST_TOP_K: &str = "gen_ai.request.top_k";
/// `gen_ai.request.top_p`: `double`, in both profiles.
pub const GEN_AI_REQUEST_TOP_P: &str = "gen_ai.request.top_p";
/// `gen_ai.response.finish_reasons`: `string[]`, in both profiles.
pub const GEN_AI_RESPONSE_FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// `gen_ai.response.id`: `string`, in both profiles.
pub const GEN_AI_RESPONSE_ID: &str = "gen_ai.response.id";
/// `gen_ai.response.model`: `string`, in both profiles.
pub const GEN_AI_RESPONSE_MODEL: &str = "gen_ai.response.model";
/// `gen_ai.response.status`: `string`, in `genai` only.
pub const GEN_AI_RESPONSE_STATUS: &str = "gen_ai.response.status";
/// `gen_ai.response.time_to_first_chunk`: `double`, in both profiles.
pub const GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
/// `gen_ai.retrieval.documents`: `any`, in both profiles.
pub const GEN_AI_RETRIEVAL_DOCUMENTS: &str = "gen_ai.retrieval.documents";
/// `gen_ai.retrieval.query.text`: `string`, in both profiles.
pub const GEN_AI_RETRIEVAL_QUERY_TEXT: &str = "gen_ai.retrieval.query.text";
/// `gen_ai.retrieval.top_k`: `int`, in `genai` only.
pub const GEN_AI_RETRIEVAL_TOP_K: &str = "gen_ai.retrieval.top_k";
/// `gen_ai.system_instructions`: `any`, in both profiles.
pub const GEN_AI_SYSTEM_INSTRUCTIONS: &str = "gen_ai.system_instructions";
/// `gen_ai.token.modality`: `string`, in `genai` only.
pub const GEN_AI_TOKEN_MODALITY: &str = "gen_ai.token.modality";
/// `gen_ai.token.type`: `string`, in `core` only.
pub const GEN_AI_TOKEN_TYPE: &str = "gen_ai.token.type";
/// `gen_ai.tool.call.arguments`: `any`, in both profiles.
pub const GEN_AI_TOOL_CALL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// `gen_ai.tool.call.id`: `string`, in both profiles.
pub const GEN_AI_TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// `gen_ai.tool.call.result`: `any`, in both profiles.
pub const GEN_AI_TOOL_CALL_RESULT: &str = "gen_ai.tool.call.result";
/// `gen_ai.tool.definitions`: `any`, in both profiles.
pub const GEN_AI_TOOL_DEFINITIONS: &str = "gen_ai.tool.definitions";
/// `gen_ai.tool.description`: `string`, in both profiles.
pub const GEN_AI_TOOL_DESCRIPTION: &str = "gen_ai.tool.description";
/// `gen_ai.tool.name`: `string`, in both profiles.
pub const GEN_AI_TOOL_NAME: &str = "gen_ai.tool.name";
/// `gen_ai.tool.type`: `string`, in both profiles.
pub const GEN_AI_TOOL_TYPE: &str = "gen_ai.tool.type";
/// `gen_ai.usage.audio.cache_read.input_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_AUDIO_CACHE_READ_INPUT_TOKENS: &str = "gen_ai.usage.audio.cache_read.input_tokens";
/// `gen_ai.usage.audio.input_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_AUDIO_INPUT_TOKENS: &str = "gen_ai.usage.audio.input_tokens";
/// `gen_ai.usage.audio.output_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_AUDIO_OUTPUT_TOKENS: &str = "gen_ai.usage.audio.output_tokens";
/// `gen_ai.usage.cache_creation.input_tokens`: `int`, in `core` only.
pub const GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
/// `gen_ai.usage.cache_read.input_tokens`: `int`, in both profiles.
pub const GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// `gen_ai.usage.cache_write.input_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: &str = "gen_ai.usage.cache_write.input_tokens";
/// `gen_ai.usage.image.cache_read.input_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_IMAGE_CACHE_READ_INPUT_TOKENS: &str = "gen_ai.usage.image.cache_read.input_tokens";
/// `gen_ai.usage.image.input_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_IMAGE_INPUT_TOKENS: &str = "gen_ai.usage.image.input_tokens";
/// `gen_ai.usage.image.output_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_IMAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.image.output_tokens";
/// `gen_ai.usage.input_tokens`: `int`, in both profiles.
pub const GEN_AI_USAGE_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// `gen_ai.usage.output_tokens`: `int`, in both profiles.
pub const GEN_AI_USAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// `gen_ai.usage.reasoning.output_tokens`: `int`, in both profiles.
pub const GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
/// `gen_ai.usage.text.cache_read.input_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_TEXT_CACHE_READ_INPUT_TOKENS: &str = "gen_ai.usage.text.cache_read.input_tokens";
/// `gen_ai.usage.text.input_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_TEXT_INPUT_TOKENS: &str = "gen_ai.usage.text.input_tokens";
/// `gen_ai.usage.text.output_tokens`: `int`, in `genai` only.
pub const GEN_AI_USAGE_TEXT_OUTPUT_TOKENS: &str = "gen_ai.usage.text.output_tokens";
/// `gen_ai.workflow.name`: `string`, in `core` only.
pub const GEN_AI_WORKFLOW_NAME: &str = "gen_ai.workflow.name";
/// `hw.battery.capacity`: `string`, of the hardware conventions.
pub const HW_BATTERY_CAPACITY: &str = "hw.battery.capacity";
/// `hw.battery.chemistry`: `string`, of the hardware conventions.
pub const HW_BATTERY_CHEMISTRY: &str = "hw.battery.chemistry";
/// `hw.battery.state`: `string`, of the hardware conventions.
pub const HW_BATTERY_STATE: &str = "hw.battery.state";
/// `hw.bios_version`: `string`, of the hardware conventions.
pub const HW_BIOS_VERSION: &str = "hw.bios_version";
/// `hw.driver_version`: `string`, of the hardware conventions.
pub const HW_DRIVER_VERSION: &str = "hw.driver_version";
/// `hw.enclosure.type`: `string`, of the hardware conventions.
pub const HW_ENCLOSURE_TYPE: &str = "hw.enclosure.type";
/// `hw.firmware_version`: `string`, of the hardware conventions.
pub const HW_FIRMWARE_VERSION: &str = "hw.firmware_version";
/// `hw.gpu.task`: `string`, of the hardware conventions.
pub const HW_GPU_TASK: &str = "hw.gpu.task";
/// `hw.id`: `string`, of the hardware conventions.
pub const HW_ID: &str = "hw.id";
/// `hw.limit_type`: `string`, of the hardware conventions.
pub const HW_LIMIT_TYPE: &str = "hw.limit_type";
/// `hw.logical_disk.raid_level`: `string`, of the hardware conventions.
pub const HW_LOGICAL_DISK_RAID_LEVEL: &str = "hw.logical_disk.raid_level";
/// `hw.logical_disk.state`: `string`, of the hardware conventions.
pub const HW_LOGICAL_DISK_STATE: &str = "hw.logical_disk.state";
/// `hw.memory.type`: `string`, of the hardware conventions.
pub const HW_MEMORY_TYPE: &str = "hw.memory.type";
/// `hw.model`: `string`, of the hardware conventions.
pub const HW_MODEL: &str = "hw.model";
/// `hw.name`: `string`, of the hardware conventions.
pub const HW_NAME: &str = "hw.name";
/// `hw.network.logical_addresses`: `string[]`, of the hardware conventions.
pub const HW_NETWORK_LOGICAL_ADDRESSES: &str = "hw.network.logical_addresses";
/// `hw.network.physical_address`: `string`, of the hardware conventions.
pub const HW_NETWORK_PHYSICAL_ADDRESS: &str = "hw.network.physical_address";
/// `hw.parent`: `string`, of the hardware conventions.
pub const HW_PARENT: &str = "hw.parent";
/// `hw.physical_disk.smart_attribute`: `string`, of the hardware conventions.
pub const HW_PHYSICAL_DISK_SMART_ATTRIBUTE: &str = "hw.physical_disk.smart_attribute";
/// `hw.physical_disk.state`: `string`, of the hardware conventions.
pub const HW_PHYSICAL_DISK_STATE: &str = "hw.physical_disk.state";
/// `hw.physical_disk.type`: `string`, of the hardware conventions.
pub const HW_PHYSICAL_DISK_TYPE: &str = "hw.physical_disk.type";
/// `hw.sensor_location`: `string`, of the hardware conventions.
pub const HW_SENSOR_LOCATION: &str = "hw.sensor_location";
/// `hw.serial_number`: `string`, of the hardware conventions.
pub const HW_SERIAL_NUMBER: &str = "hw.serial_number";
/// `hw.state`: `string`, of the hardware conventions.
pub const HW_STATE: &str = "hw.state";
/// `hw.tape_drive.operation_type`: `string`, of the hardware conventions.
pub const HW_TAPE_DRIVE_OPERATION_TYPE: &str = "hw.tape_drive.operation_type";
/// `hw.type`: `string`, of the hardware conventions.
pub const HW_TYPE: &str = "hw.type";
/// `hw.vendor`: `string`, of the hardware conventions.
pub const HW_VENDOR: &str = "hw.vendor";
/// `jsonrpc.protocol.version`: `string`, in both profiles.
pub const JSONRPC_PROTOCOL_VERSION: &str = "jsonrpc.protocol.version";
/// `jsonrpc.request.id`: `string`, in both profiles.
pub const JSONRPC_REQUEST_ID: &str = "jsonrpc.request.id";
/// `mcp.method.name`: `string`, in both profiles.
pub const MCP_METHOD_NAME: &str = "mcp.method.name";
/// `mcp.protocol.version`: `string`, in both profiles.
pub const MCP_PROTOCOL_VERSION: &str = "mcp.protocol.version";
/// `mcp.resource.uri`: `string`, in both profiles.
pub const MCP_RESOURCE_URI: &str = "mcp.resource.uri";
/// `mcp.session.id`: `string`, in both profiles.
pub const MCP_SESSION_ID: &str = "mcp.session.id";
/// `network.io.direction`: `string`, of the hardware conventions.
pub const NETWORK_IO_DIRECTION: &str = "network.io.direction";
/// `network.protocol.name`: `string`, in both profiles.
pub const NETWORK_PROTOCOL_NAME: &str = "network.protocol.name";
/// `network.protocol.version`: `string`, in both profiles.
pub const NETWORK_PROTOCOL_VERSION: &str = "network.protocol.version";
/// `network.transport`: `string`, in both profiles.
pub const NETWORK_TRANSPORT: &str = "network.transport";
/// `openai.api.type`: `string`, in both profiles.
pub const OPENAI_API_TYPE: &str = "openai.api.type";
/// `openai.request.service_tier`: `string`, in both profiles.
pub const OPENAI_REQUEST_SERVICE_TIER: &str = "openai.request.service_tier";
/// `openai.response.service_tier`: `string`, in both profiles.
pub const OPENAI_RESPONSE_SERVICE_TIER: &str = "openai.response.service_tier";
/// `openai.response.system_fingerprint`: `string`, in both profiles.
pub const OPENAI_RESPONSE_SYSTEM_FINGERPRINT: &str = "openai.response.system_fingerprint";
/// `rpc.response.status_code`: `string`, in both profiles.
pub const RPC_RESPONSE_STATUS_CODE: &str = "rpc.response.status_code";
/// `server.address`: `string`, in both profiles.
pub const SERVER_ADDRESS: &str = "server.address";
/// `server.port`: `int`, in both profiles.
pub const SERVER_PORT: &str = "server.port";
/// `wattspan.cost.boundary`: `string`, of wattspan's own.
pub const WATTSPAN_COST_BOUNDARY: &str = "wattspan.cost.boundary";
/// `wattspan.cost.source`: `string`, of wattspan's own.
pub const WATTSPAN_COST_SOURCE: &str = "wattspan.cost.source";
/// `wattspan.cost.total`: `double`, of wattspan's own.
pub const WATTSPAN_COST_TOTAL: &str = "wattspan.cost.total";
/// `wattspan.device.index`: `int`, of wattspan's own.
pub const WATTSPAN_DEVICE_INDEX: &str = "wattspan.device.index";
/// `wattspan.drop.reason`: `string`, of wattspan's own.
pub const WATTSPAN_DROP_REASON: &str = "wattspan.drop.reason";
/// `wattspan.emissions.boundary`: `string`, of wattspan's own.
pub const WATTSPAN_EMISSIONS_BOUNDARY: &str = "wattspan.emissions.boundary";
/// `wattspan.emissions.intensity`: `double`, of wattspan's own.
pub const WATTSPAN_EMISSIONS_INTENSITY: &str = "wattspan.emissions.intensity";
/// `wattspan.emissions.kind`: `string`, of wattspan's own.
pub const WATTSPAN_EMISSIONS_KIND: &str = "wattspan.emissions.kind";
/// `wattspan.emissions.source`: `string`, of wattspan's own.
pub const WATTSPAN_EMISSIONS_SOURCE: &str = "wattspan.emissions.source";
/// `wattspan.emissions.total`: `double`, of wattspan's own.
pub const WATTSPAN_EMISSIONS_TOTAL: &str = "wattspan.emissions.total";
/// `wattspan.emissions.zone`: `string`, of wattspan's own.
pub const WATTSPAN_EMISSIONS_ZONE: &str = "wattspan.emissions.zone";
/// `wattspan.energy.coverage`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_COVERAGE: &str = "wattspan.energy.coverage";
/// `wattspan.energy.cpu`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_CPU: &str = "wattspan.energy.cpu";
/// `wattspan.energy.dram`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_DRAM: &str = "wattspan.energy.dram";
/// `wattspan.energy.estimated`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_ESTIMATED: &str = "wattspan.energy.estimated";
/// `wattspan.energy.flags`: `string[]`, of wattspan's own.
pub const WATTSPAN_ENERGY_FLAGS: &str = "wattspan.energy.flags";
/// `wattspan.energy.gpu`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_GPU: &str = "wattspan.energy.gpu";
/// `wattspan.energy.idle`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_IDLE: &str = "wattspan.energy.idle";
/// `wattspan.energy.method`: `string`, of wattspan's own.
pub const WATTSPAN_ENERGY_METHOD: &str = "wattspan.energy.method";
/// `wattspan.energy.per_output_token`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_PER_OUTPUT_TOKEN: &str = "wattspan.energy.per_output_token";
/// `wattspan.energy.policy`: `string`, of wattspan's own.
pub const WATTSPAN_ENERGY_POLICY: &str = "wattspan.energy.policy";
/// `wattspan.energy.policy_spread`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_POLICY_SPREAD: &str = "wattspan.energy.policy_spread";
/// `wattspan.energy.scope`: `string[]`, of wattspan's own.
pub const WATTSPAN_ENERGY_SCOPE: &str = "wattspan.energy.scope";
/// `wattspan.energy.state`: `string`, of wattspan's own.
pub const WATTSPAN_ENERGY_STATE: &str = "wattspan.energy.state";
/// `wattspan.energy.total`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_TOTAL: &str = "wattspan.energy.total";
/// `wattspan.energy.uncertainty`: `double`, of wattspan's own.
pub const WATTSPAN_ENERGY_UNCERTAINTY: &str = "wattspan.energy.uncertainty";
/// `wattspan.gap.reason`: `string`, of wattspan's own.
pub const WATTSPAN_GAP_REASON: &str = "wattspan.gap.reason";
/// `wattspan.model.architecture`: `string`, of wattspan's own.
pub const WATTSPAN_MODEL_ARCHITECTURE: &str = "wattspan.model.architecture";
/// `wattspan.model.context_length`: `int`, of wattspan's own.
pub const WATTSPAN_MODEL_CONTEXT_LENGTH: &str = "wattspan.model.context_length";
/// `wattspan.model.license`: `string`, of wattspan's own.
pub const WATTSPAN_MODEL_LICENSE: &str = "wattspan.model.license";
/// `wattspan.model.name`: `string`, of wattspan's own.
pub const WATTSPAN_MODEL_NAME: &str = "wattspan.model.name";
/// `wattspan.model.parameters`: `int`, of wattspan's own.
pub const WATTSPAN_MODEL_PARAMETERS: &str = "wattspan.model.parameters";
/// `wattspan.model.quantization`: `string`, of wattspan's own.
pub const WATTSPAN_MODEL_QUANTIZATION: &str = "wattspan.model.quantization";
/// `wattspan.model.size`: `int`, of wattspan's own.
pub const WATTSPAN_MODEL_SIZE: &str = "wattspan.model.size";
/// `wattspan.model.size_label`: `string`, of wattspan's own.
pub const WATTSPAN_MODEL_SIZE_LABEL: &str = "wattspan.model.size_label";
/// `wattspan.settle.reason`: `string`, of wattspan's own.
pub const WATTSPAN_SETTLE_REASON: &str = "wattspan.settle.reason";

/// Names that older telemetry carries. For readers; nothing of ours writes them.
pub mod old {
    /// `gen_ai.completion`, withdrawn without a replacement.
    pub const GEN_AI_COMPLETION: &str = "gen_ai.completion";
    /// `gen_ai.openai.request.response_format`, which became `gen_ai.output.type`.
    pub const GEN_AI_OPENAI_REQUEST_RESPONSE_FORMAT: &str = "gen_ai.openai.request.response_format";
    /// `gen_ai.openai.request.seed`, which became `gen_ai.request.seed`.
    pub const GEN_AI_OPENAI_REQUEST_SEED: &str = "gen_ai.openai.request.seed";
    /// `gen_ai.openai.request.service_tier`, which became `openai.request.service_tier`.
    pub const GEN_AI_OPENAI_REQUEST_SERVICE_TIER: &str = "gen_ai.openai.request.service_tier";
    /// `gen_ai.openai.response.service_tier`, which became `openai.response.service_tier`.
    pub const GEN_AI_OPENAI_RESPONSE_SERVICE_TIER: &str = "gen_ai.openai.response.service_tier";
    /// `gen_ai.openai.response.system_fingerprint`, which became `openai.response.system_fingerprint`.
    pub const GEN_AI_OPENAI_RESPONSE_SYSTEM_FINGERPRINT: &str = "gen_ai.openai.response.system_fingerprint";
    /// `gen_ai.prompt`, withdrawn without a replacement.
    pub const GEN_AI_PROMPT: &str = "gen_ai.prompt";
    /// `gen_ai.system`, which became `gen_ai.provider.name`.
    pub const GEN_AI_SYSTEM: &str = "gen_ai.system";
    /// `gen_ai.usage.completion_tokens`, which became `gen_ai.usage.output_tokens`.
    pub const GEN_AI_USAGE_COMPLETION_TOKENS: &str = "gen_ai.usage.completion_tokens";
    /// `gen_ai.usage.prompt_tokens`, which became `gen_ai.usage.input_tokens`.
    pub const GEN_AI_USAGE_PROMPT_TOKENS: &str = "gen_ai.usage.prompt_tokens";
}
