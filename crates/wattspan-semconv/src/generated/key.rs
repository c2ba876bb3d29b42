// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! Logical attribute keys and their names in each profile.

use super::operation::Operation;
use super::{core, genai, hw, own};
use crate::model::AttributeDef;

/// An attribute by its meaning, whatever a profile calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Key {
    /// `gen_ai.agent.description`.
    AgentDescription,
    /// `gen_ai.agent.id`.
    AgentId,
    /// `gen_ai.agent.name`.
    AgentName,
    /// `gen_ai.agent.version`.
    AgentVersion,
    /// `aws.bedrock.guardrail.id`.
    AwsBedrockGuardrailId,
    /// `aws.bedrock.knowledge_base.id`.
    AwsBedrockKnowledgeBaseId,
    /// `azure.resource_provider.namespace`.
    AzureResourceProviderNamespace,
    /// `client.address`.
    ClientAddress,
    /// `client.port`.
    ClientPort,
    /// `gen_ai.conversation.compacted`, in `genai` only.
    ConversationCompacted,
    /// `gen_ai.conversation.id`.
    ConversationId,
    /// `wattspan.cost.boundary`.
    CostBoundary,
    /// `wattspan.cost.source`.
    CostSource,
    /// `wattspan.cost.total`.
    CostTotal,
    /// `gen_ai.data_source.id`.
    DataSourceId,
    /// `wattspan.device.index`.
    DeviceIndex,
    /// `wattspan.drop.reason`.
    DropReason,
    /// `gen_ai.embeddings.dimension.count`.
    EmbeddingsDimensionCount,
    /// `wattspan.emissions.boundary`.
    EmissionsBoundary,
    /// `wattspan.emissions.intensity`.
    EmissionsIntensity,
    /// `wattspan.emissions.kind`.
    EmissionsKind,
    /// `wattspan.emissions.source`.
    EmissionsSource,
    /// `wattspan.emissions.total`.
    EmissionsTotal,
    /// `wattspan.emissions.zone`.
    EmissionsZone,
    /// `wattspan.energy.coverage`.
    EnergyCoverage,
    /// `wattspan.energy.cpu`.
    EnergyCpu,
    /// `wattspan.energy.dram`.
    EnergyDram,
    /// `wattspan.energy.estimated`.
    EnergyEstimated,
    /// `wattspan.energy.flags`.
    EnergyFlags,
    /// `wattspan.energy.gpu`.
    EnergyGpu,
    /// `wattspan.energy.idle`.
    EnergyIdle,
    /// `wattspan.energy.method`.
    EnergyMethod,
    /// `wattspan.energy.per_output_token`.
    EnergyPerOutputToken,
    /// `wattspan.energy.policy`.
    EnergyPolicy,
    /// `wattspan.energy.policy_spread`.
    EnergyPolicySpread,
    /// `wattspan.energy.scope`.
    EnergyScope,
    /// `wattspan.energy.state`.
    EnergyState,
    /// `wattspan.energy.total`.
    EnergyTotal,
    /// `wattspan.energy.uncertainty`.
    EnergyUncertainty,
    /// `error.type`.
    ErrorType,
    /// `gen_ai.evaluation.explanation`.
    EvaluationExplanation,
    /// `gen_ai.evaluation.name`.
    EvaluationName,
    /// `gen_ai.evaluation.score.label`.
    EvaluationScoreLabel,
    /// `gen_ai.evaluation.score.value`.
    EvaluationScoreValue,
    /// `exception.message`.
    ExceptionMessage,
    /// `exception.stacktrace`.
    ExceptionStacktrace,
    /// `exception.type`.
    ExceptionType,
    /// `wattspan.gap.reason`.
    GapReason,
    /// `hw.battery.capacity`.
    HwBatteryCapacity,
    /// `hw.battery.chemistry`.
    HwBatteryChemistry,
    /// `hw.battery.state`.
    HwBatteryState,
    /// `hw.bios_version`.
    HwBiosVersion,
    /// `hw.driver_version`.
    HwDriverVersion,
    /// `hw.enclosure.type`.
    HwEnclosureType,
    /// `hw.firmware_version`.
    HwFirmwareVersion,
    /// `hw.gpu.task`.
    HwGpuTask,
    /// `hw.id`.
    HwId,
    /// `hw.limit_type`.
    HwLimitType,
    /// `hw.logical_disk.raid_level`.
    HwLogicalDiskRaidLevel,
    /// `hw.logical_disk.state`.
    HwLogicalDiskState,
    /// `hw.memory.type`.
    HwMemoryType,
    /// `hw.model`.
    HwModel,
    /// `hw.name`.
    HwName,
    /// `hw.network.logical_addresses`.
    HwNetworkLogicalAddresses,
    /// `hw.network.physical_address`.
    HwNetworkPhysicalAddress,
    /// `hw.parent`.
    HwParent,
    /// `hw.physical_disk.smart_attribute`.
    HwPhysicalDiskSmartAttribute,
    /// `hw.physical_disk.state`.
    HwPhysicalDiskState,
    /// `hw.physical_disk.type`.
    HwPhysicalDiskType,
    /// `hw.sensor_location`.
    HwSensorLocation,
    /// `hw.serial_number`.
    HwSerialNumber,
    /// `hw.state`.
    HwState,
    /// `hw.tape_drive.operation_type`.
    HwTapeDriveOperationType,
    /// `hw.type`.
    HwType,
    /// `hw.vendor`.
    HwVendor,
    /// `gen_ai.input.messages`.
    InputMessages,
    /// `jsonrpc.protocol.version`.
    JsonrpcProtocolVersion,
    /// `jsonrpc.request.id`.
    JsonrpcRequestId,
    /// `gen_ai.main_agent.description`, in `genai` only.
    MainAgentDescription,
    /// `gen_ai.main_agent.id`, in `genai` only.
    MainAgentId,
    /// `gen_ai.main_agent.name`, in `genai` only.
    MainAgentName,
    /// `mcp.method.name`.
    McpMethodName,
    /// `mcp.protocol.version`.
    McpProtocolVersion,
    /// `mcp.resource.uri`.
    McpResourceUri,
    /// `mcp.session.id`.
    McpSessionId,
    /// `gen_ai.memory.query.text`, in `genai` only.
    MemoryQueryText,
    /// `gen_ai.memory.record.count`, in `genai` only.
    MemoryRecordCount,
    /// `gen_ai.memory.record.id`, in `genai` only.
    MemoryRecordId,
    /// `gen_ai.memory.records`, in `genai` only.
    MemoryRecords,
    /// `gen_ai.memory.store.id`, in `genai` only.
    MemoryStoreId,
    /// `wattspan.model.architecture`.
    ModelArchitecture,
    /// `wattspan.model.context_length`.
    ModelContextLength,
    /// `wattspan.model.license`.
    ModelLicense,
    /// `wattspan.model.name`.
    ModelName,
    /// `wattspan.model.parameters`.
    ModelParameters,
    /// `wattspan.model.quantization`.
    ModelQuantization,
    /// `wattspan.model.size`.
    ModelSize,
    /// `wattspan.model.size_label`.
    ModelSizeLabel,
    /// `network.io.direction`.
    NetworkIoDirection,
    /// `network.protocol.name`.
    NetworkProtocolName,
    /// `network.protocol.version`.
    NetworkProtocolVersion,
    /// `network.transport`.
    NetworkTransport,
    /// `openai.api.type`.
    OpenaiApiType,
    /// `openai.request.service_tier`.
    OpenaiRequestServiceTier,
    /// `openai.response.service_tier`.
    OpenaiResponseServiceTier,
    /// `openai.response.system_fingerprint`.
    OpenaiResponseSystemFingerprint,
    /// `gen_ai.operation.name`.
    OperationName,
    /// `gen_ai.output.messages`.
    OutputMessages,
    /// `gen_ai.output.type`.
    OutputType,
    /// `gen_ai.prompt.name`.
    PromptName,
    /// `gen_ai.prompt.variable`, in `genai` only.
    PromptVariable,
    /// `gen_ai.prompt.version`, in `genai` only.
    PromptVersion,
    /// `gen_ai.provider.name`.
    ProviderName,
    /// `gen_ai.request.choice.count`.
    RequestChoiceCount,
    /// `gen_ai.request.encoding_formats`.
    RequestEncodingFormats,
    /// `gen_ai.request.frequency_penalty`.
    RequestFrequencyPenalty,
    /// `gen_ai.request.max_tokens`.
    RequestMaxTokens,
    /// `gen_ai.request.model`.
    RequestModel,
    /// `gen_ai.request.presence_penalty`.
    RequestPresencePenalty,
    /// `gen_ai.request.previous_response.id`, in `genai` only.
    RequestPreviousResponseId,
    /// `gen_ai.request.reasoning.level`, in `genai` only.
    RequestReasoningLevel,
    /// `gen_ai.request.seed`.
    RequestSeed,
    /// `gen_ai.request.stop_sequences`.
    RequestStopSequences,
    /// `gen_ai.request.stream`.
    RequestStream,
    /// `gen_ai.request.stream_cursor`, in `genai` only.
    RequestStreamCursor,
    /// `gen_ai.request.temperature`.
    RequestTemperature,
    /// `gen_ai.request.top_k`; `gen_ai.retrieval.top_k` for `retrieval` in `genai`.
    RequestTopK,
    /// `gen_ai.request.top_p`.
    RequestTopP,
    /// `gen_ai.response.finish_reasons`.
    ResponseFinishReasons,
    /// `gen_ai.response.id`.
    ResponseId,
    /// `gen_ai.response.model`.
    ResponseModel,
    /// `gen_ai.response.status`, in `genai` only.
    ResponseStatus,
    /// `gen_ai.response.time_to_first_chunk`.
    ResponseTimeToFirstChunk,
    /// `gen_ai.retrieval.documents`.
    RetrievalDocuments,
    /// `gen_ai.retrieval.query.text`.
    RetrievalQueryText,
    /// `gen_ai.request.top_k` in `core`, `gen_ai.retrieval.top_k` in `genai`.
    RetrievalTopK,
    /// `rpc.response.status_code`.
    RpcResponseStatusCode,
    /// `server.address`.
    ServerAddress,
    /// `server.port`.
    ServerPort,
    /// `wattspan.settle.reason`.
    SettleReason,
    /// `gen_ai.system_instructions`.
    SystemInstructions,
    /// `gen_ai.token.modality`, in `genai` only.
    TokenModality,
    /// `gen_ai.token.type`, in `core` only.
    TokenType,
    /// `gen_ai.tool.call.arguments`.
    ToolCallArguments,
    /// `gen_ai.tool.call.id`.
    ToolCallId,
    /// `gen_ai.tool.call.result`.
    ToolCallResult,
    /// `gen_ai.tool.definitions`.
    ToolDefinitions,
    /// `gen_ai.tool.description`.
    ToolDescription,
    /// `gen_ai.tool.name`.
    ToolName,
    /// `gen_ai.tool.type`.
    ToolType,
    /// `gen_ai.usage.audio.cache_read.input_tokens`, in `genai` only.
    UsageAudioCacheReadInputTokens,
    /// `gen_ai.usage.audio.input_tokens`, in `genai` only.
    UsageAudioInputTokens,
    /// `gen_ai.usage.audio.output_tokens`, in `genai` only.
    UsageAudioOutputTokens,
    /// `gen_ai.usage.cache_read.input_tokens`.
    UsageCacheReadInputTokens,
    /// `gen_ai.usage.cache_creation.input_tokens` in `core`, `gen_ai.usage.cache_write.input_tokens` in `genai`.
    UsageCacheWriteInputTokens,
    /// `gen_ai.usage.image.cache_read.input_tokens`, in `genai` only.
    UsageImageCacheReadInputTokens,
    /// `gen_ai.usage.image.input_tokens`, in `genai` only.
    UsageImageInputTokens,
    /// `gen_ai.usage.image.output_tokens`, in `genai` only.
    UsageImageOutputTokens,
    /// `gen_ai.usage.input_tokens`.
    UsageInputTokens,
    /// `gen_ai.usage.output_tokens`.
    UsageOutputTokens,
    /// `gen_ai.usage.reasoning.output_tokens`.
    UsageReasoningOutputTokens,
    /// `gen_ai.usage.text.cache_read.input_tokens`, in `genai` only.
    UsageTextCacheReadInputTokens,
    /// `gen_ai.usage.text.input_tokens`, in `genai` only.
    UsageTextInputTokens,
    /// `gen_ai.usage.text.output_tokens`, in `genai` only.
    UsageTextOutputTokens,
    /// `gen_ai.workflow.name` in `core`, `gen_ai.agent.name` in `genai`.
    WorkflowName,
}

impl Key {
    /// Every key.
    pub const ALL: &'static [Self] = &[
        Self::AgentDescription,
        Self::AgentId,
        Self::AgentName,
        Self::AgentVersion,
        Self::AwsBedrockGuardrailId,
        Self::AwsBedrockKnowledgeBaseId,
        Self::AzureResourceProviderNamespace,
        Self::ClientAddress,
        Self::ClientPort,
        Self::ConversationCompacted,
        Self::ConversationId,
        Self::CostBoundary,
        Self::CostSource,
        Self::CostTotal,
        Self::DataSourceId,
        Self::DeviceIndex,
        Self::DropReason,
        Self::EmbeddingsDimensionCount,
        Self::EmissionsBoundary,
        Self::EmissionsIntensity,
        Self::EmissionsKind,
        Self::EmissionsSource,
        Self::EmissionsTotal,
        Self::EmissionsZone,
        Self::EnergyCoverage,
        Self::EnergyCpu,
        Self::EnergyDram,
        Self::EnergyEstimated,
        Self::EnergyFlags,
        Self::EnergyGpu,
        Self::EnergyIdle,
        Self::EnergyMethod,
        Self::EnergyPerOutputToken,
        Self::EnergyPolicy,
        Self::EnergyPolicySpread,
        Self::EnergyScope,
        Self::EnergyState,
        Self::EnergyTotal,
        Self::EnergyUncertainty,
        Self::ErrorType,
        Self::EvaluationExplanation,
        Self::EvaluationName,
        Self::EvaluationScoreLabel,
        Self::EvaluationScoreValue,
        Self::ExceptionMessage,
        Self::ExceptionStacktrace,
        Self::ExceptionType,
        Self::GapReason,
        Self::HwBatteryCapacity,
        Self::HwBatteryChemistry,
        Self::HwBatteryState,
        Self::HwBiosVersion,
        Self::HwDriverVersion,
        Self::HwEnclosureType,
        Self::HwFirmwareVersion,
        Self::HwGpuTask,
        Self::HwId,
        Self::HwLimitType,
        Self::HwLogicalDiskRaidLevel,
        Self::HwLogicalDiskState,
        Self::HwMemoryType,
        Self::HwModel,
        Self::HwName,
        Self::HwNetworkLogicalAddresses,
        Self::HwNetworkPhysicalAddress,
        Self::HwParent,
        Self::HwPhysicalDiskSmartAttribute,
        Self::HwPhysicalDiskState,
        Self::HwPhysicalDiskType,
        Self::HwSensorLocation,
        Self::HwSerialNumber,
        Self::HwState,
        Self::HwTapeDriveOperationType,
        Self::HwType,
        Self::HwVendor,
        Self::InputMessages,
        Self::JsonrpcProtocolVersion,
        Self::JsonrpcRequestId,
        Self::MainAgentDescription,
        Self::MainAgentId,
        Self::MainAgentName,
        Self::McpMethodName,
        Self::McpProtocolVersion,
        Self::McpResourceUri,
        Self::McpSessionId,
        Self::MemoryQueryText,
        Self::MemoryRecordCount,
        Self::MemoryRecordId,
        Self::MemoryRecords,
        Self::MemoryStoreId,
        Self::ModelArchitecture,
        Self::ModelContextLength,
        Self::ModelLicense,
        Self::ModelName,
        Self::ModelParameters,
        Self::ModelQuantization,
        Self::ModelSize,
        Self::ModelSizeLabel,
        Self::NetworkIoDirection,
        Self::NetworkProtocolName,
        Self::NetworkProtocolVersion,
        Self::NetworkTransport,
        Self::OpenaiApiType,
        Self::OpenaiRequestServiceTier,
        Self::OpenaiResponseServiceTier,
        Self::OpenaiResponseSystemFingerprint,
        Self::OperationName,
        Self::OutputMessages,
        Self::OutputType,
        Self::PromptName,
        Self::PromptVariable,
        Self::PromptVersion,
        Self::ProviderName,
        Self::RequestChoiceCount,
        Self::RequestEncodingFormats,
        Self::RequestFrequencyPenalty,
        Self::RequestMaxTokens,
        Self::RequestModel,
        Self::RequestPresencePenalty,
        Self::RequestPreviousResponseId,
        Self::RequestReasoningLevel,
        Self::RequestSeed,
        Self::RequestStopSequences,
        Self::RequestStream,
        Self::RequestStreamCursor,
        Self::RequestTemperature,
        Self::RequestTopK,
        Self::RequestTopP,
        Self::ResponseFinishReasons,
        Self::ResponseId,
        Self::ResponseModel,
        Self::ResponseStatus,
        Self::ResponseTimeToFirstChunk,
        Self::RetrievalDocuments,
        Self::RetrievalQueryText,
        Self::RetrievalTopK,
        Self::RpcResponseStatusCode,
        Self::ServerAddress,
        Self::ServerPort,
        Self::SettleReason,
        Self::SystemInstructions,
        Self::TokenModality,
        Self::TokenType,
        Self::ToolCallArguments,
        Self::ToolCallId,
        Self::ToolCallResult,
        Self::ToolDefinitions,
        Self::ToolDescription,
        Self::ToolName,
        Self::ToolType,
        Self::UsageAudioCacheReadInputTokens,
        Self::UsageAudioInputTokens,
        Self::UsageAudioOutputTokens,
        Self::UsageCacheReadInputTokens,
        Self::UsageCacheWriteInputTokens,
        Self::UsageImageCacheReadInputTokens,
        Self::UsageImageInputTokens,
        Self::UsageImageOutputTokens,
        Self::UsageInputTokens,
        Self::UsageOutputTokens,
        Self::UsageReasoningOutputTokens,
        Self::UsageTextCacheReadInputTokens,
        Self::UsageTextInputTokens,
        Self::UsageTextOutputTokens,
        Self::WorkflowName,
    ];
}

/// By the key's number.
pub(crate) static CORE: [Option<&AttributeDef>; 165] = [
    Some(&core::ATTRIBUTES[9]),
    Some(&core::ATTRIBUTES[10]),
    Some(&core::ATTRIBUTES[11]),
    Some(&core::ATTRIBUTES[12]),
    Some(&core::ATTRIBUTES[0]),
    Some(&core::ATTRIBUTES[1]),
    Some(&core::ATTRIBUTES[2]),
    Some(&core::ATTRIBUTES[3]),
    Some(&core::ATTRIBUTES[4]),
    None,
    Some(&core::ATTRIBUTES[14]),
    Some(&own::ATTRIBUTES[0]),
    Some(&own::ATTRIBUTES[1]),
    Some(&own::ATTRIBUTES[2]),
    Some(&core::ATTRIBUTES[15]),
    Some(&own::ATTRIBUTES[3]),
    Some(&own::ATTRIBUTES[4]),
    Some(&core::ATTRIBUTES[16]),
    Some(&own::ATTRIBUTES[5]),
    Some(&own::ATTRIBUTES[6]),
    Some(&own::ATTRIBUTES[7]),
    Some(&own::ATTRIBUTES[8]),
    Some(&own::ATTRIBUTES[9]),
    Some(&own::ATTRIBUTES[10]),
    Some(&own::ATTRIBUTES[11]),
    Some(&own::ATTRIBUTES[12]),
    Some(&own::ATTRIBUTES[13]),
    Some(&own::ATTRIBUTES[14]),
    Some(&own::ATTRIBUTES[15]),
    Some(&own::ATTRIBUTES[16]),
    Some(&own::ATTRIBUTES[17]),
    Some(&own::ATTRIBUTES[18]),
    Some(&own::ATTRIBUTES[19]),
    Some(&own::ATTRIBUTES[20]),
    Some(&own::ATTRIBUTES[21]),
    Some(&own::ATTRIBUTES[22]),
    Some(&own::ATTRIBUTES[23]),
    Some(&own::ATTRIBUTES[24]),
    Some(&own::ATTRIBUTES[25]),
    Some(&core::ATTRIBUTES[5]),
    Some(&core::ATTRIBUTES[17]),
    Some(&core::ATTRIBUTES[18]),
    Some(&core::ATTRIBUTES[19]),
    Some(&core::ATTRIBUTES[20]),
    Some(&core::ATTRIBUTES[6]),
    Some(&core::ATTRIBUTES[7]),
    Some(&core::ATTRIBUTES[8]),
    Some(&own::ATTRIBUTES[26]),
    Some(&hw::ATTRIBUTES[1]),
    Some(&hw::ATTRIBUTES[2]),
    Some(&hw::ATTRIBUTES[3]),
    Some(&hw::ATTRIBUTES[4]),
    Some(&hw::ATTRIBUTES[5]),
    Some(&hw::ATTRIBUTES[6]),
    Some(&hw::ATTRIBUTES[7]),
    Some(&hw::ATTRIBUTES[8]),
    Some(&hw::ATTRIBUTES[9]),
    Some(&hw::ATTRIBUTES[10]),
    Some(&hw::ATTRIBUTES[11]),
    Some(&hw::ATTRIBUTES[12]),
    Some(&hw::ATTRIBUTES[13]),
    Some(&hw::ATTRIBUTES[14]),
    Some(&hw::ATTRIBUTES[15]),
    Some(&hw::ATTRIBUTES[16]),
    Some(&hw::ATTRIBUTES[17]),
    Some(&hw::ATTRIBUTES[18]),
    Some(&hw::ATTRIBUTES[19]),
    Some(&hw::ATTRIBUTES[20]),
    Some(&hw::ATTRIBUTES[21]),
    Some(&hw::ATTRIBUTES[22]),
    Some(&hw::ATTRIBUTES[23]),
    Some(&hw::ATTRIBUTES[24]),
    Some(&hw::ATTRIBUTES[25]),
    Some(&hw::ATTRIBUTES[26]),
    Some(&hw::ATTRIBUTES[27]),
    Some(&core::ATTRIBUTES[21]),
    Some(&core::ATTRIBUTES[69]),
    Some(&core::ATTRIBUTES[70]),
    None,
    None,
    None,
    Some(&core::ATTRIBUTES[71]),
    Some(&core::ATTRIBUTES[72]),
    Some(&core::ATTRIBUTES[73]),
    Some(&core::ATTRIBUTES[74]),
    None,
    None,
    None,
    None,
    None,
    Some(&own::ATTRIBUTES[27]),
    Some(&own::ATTRIBUTES[28]),
    Some(&own::ATTRIBUTES[29]),
    Some(&own::ATTRIBUTES[30]),
    Some(&own::ATTRIBUTES[31]),
    Some(&own::ATTRIBUTES[32]),
    Some(&own::ATTRIBUTES[33]),
    Some(&own::ATTRIBUTES[34]),
    Some(&hw::ATTRIBUTES[28]),
    Some(&core::ATTRIBUTES[75]),
    Some(&core::ATTRIBUTES[76]),
    Some(&core::ATTRIBUTES[77]),
    Some(&core::ATTRIBUTES[78]),
    Some(&core::ATTRIBUTES[79]),
    Some(&core::ATTRIBUTES[80]),
    Some(&core::ATTRIBUTES[81]),
    Some(&core::ATTRIBUTES[27]),
    Some(&core::ATTRIBUTES[28]),
    Some(&core::ATTRIBUTES[29]),
    Some(&core::ATTRIBUTES[31]),
    None,
    None,
    Some(&core::ATTRIBUTES[32]),
    Some(&core::ATTRIBUTES[33]),
    Some(&core::ATTRIBUTES[34]),
    Some(&core::ATTRIBUTES[35]),
    Some(&core::ATTRIBUTES[36]),
    Some(&core::ATTRIBUTES[37]),
    Some(&core::ATTRIBUTES[38]),
    None,
    None,
    Some(&core::ATTRIBUTES[39]),
    Some(&core::ATTRIBUTES[40]),
    Some(&core::ATTRIBUTES[41]),
    None,
    Some(&core::ATTRIBUTES[42]),
    Some(&core::ATTRIBUTES[43]),
    Some(&core::ATTRIBUTES[44]),
    Some(&core::ATTRIBUTES[45]),
    Some(&core::ATTRIBUTES[46]),
    Some(&core::ATTRIBUTES[47]),
    None,
    Some(&core::ATTRIBUTES[48]),
    Some(&core::ATTRIBUTES[49]),
    Some(&core::ATTRIBUTES[50]),
    Some(&core::ATTRIBUTES[43]),
    Some(&core::ATTRIBUTES[82]),
    Some(&core::ATTRIBUTES[83]),
    Some(&core::ATTRIBUTES[84]),
    Some(&own::ATTRIBUTES[35]),
    Some(&core::ATTRIBUTES[52]),
    None,
    Some(&core::ATTRIBUTES[53]),
    Some(&core::ATTRIBUTES[54]),
    Some(&core::ATTRIBUTES[55]),
    Some(&core::ATTRIBUTES[56]),
    Some(&core::ATTRIBUTES[57]),
    Some(&core::ATTRIBUTES[58]),
    Some(&core::ATTRIBUTES[59]),
    Some(&core::ATTRIBUTES[60]),
    None,
    None,
    None,
    Some(&core::ATTRIBUTES[62]),
    Some(&core::ATTRIBUTES[61]),
    None,
    None,
    None,
    Some(&core::ATTRIBUTES[64]),
    Some(&core::ATTRIBUTES[65]),
    Some(&core::ATTRIBUTES[67]),
    None,
    None,
    None,
    Some(&core::ATTRIBUTES[68]),
];

/// By the key's number.
pub(crate) static GENAI: [Option<&AttributeDef>; 165] = [
    Some(&genai::ATTRIBUTES[9]),
    Some(&genai::ATTRIBUTES[10]),
    Some(&genai::ATTRIBUTES[11]),
    Some(&genai::ATTRIBUTES[12]),
    Some(&genai::ATTRIBUTES[0]),
    Some(&genai::ATTRIBUTES[1]),
    Some(&genai::ATTRIBUTES[2]),
    Some(&genai::ATTRIBUTES[3]),
    Some(&genai::ATTRIBUTES[4]),
    Some(&genai::ATTRIBUTES[13]),
    Some(&genai::ATTRIBUTES[14]),
    Some(&own::ATTRIBUTES[0]),
    Some(&own::ATTRIBUTES[1]),
    Some(&own::ATTRIBUTES[2]),
    Some(&genai::ATTRIBUTES[15]),
    Some(&own::ATTRIBUTES[3]),
    Some(&own::ATTRIBUTES[4]),
    Some(&genai::ATTRIBUTES[16]),
    Some(&own::ATTRIBUTES[5]),
    Some(&own::ATTRIBUTES[6]),
    Some(&own::ATTRIBUTES[7]),
    Some(&own::ATTRIBUTES[8]),
    Some(&own::ATTRIBUTES[9]),
    Some(&own::ATTRIBUTES[10]),
    Some(&own::ATTRIBUTES[11]),
    Some(&own::ATTRIBUTES[12]),
    Some(&own::ATTRIBUTES[13]),
    Some(&own::ATTRIBUTES[14]),
    Some(&own::ATTRIBUTES[15]),
    Some(&own::ATTRIBUTES[16]),
    Some(&own::ATTRIBUTES[17]),
    Some(&own::ATTRIBUTES[18]),
    Some(&own::ATTRIBUTES[19]),
    Some(&own::ATTRIBUTES[20]),
    Some(&own::ATTRIBUTES[21]),
    Some(&own::ATTRIBUTES[22]),
    Some(&own::ATTRIBUTES[23]),
    Some(&own::ATTRIBUTES[24]),
    Some(&own::ATTRIBUTES[25]),
    Some(&genai::ATTRIBUTES[5]),
    Some(&genai::ATTRIBUTES[17]),
    Some(&genai::ATTRIBUTES[18]),
    Some(&genai::ATTRIBUTES[19]),
    Some(&genai::ATTRIBUTES[20]),
    Some(&genai::ATTRIBUTES[6]),
    Some(&genai::ATTRIBUTES[7]),
    Some(&genai::ATTRIBUTES[8]),
    Some(&own::ATTRIBUTES[26]),
    Some(&hw::ATTRIBUTES[1]),
    Some(&hw::ATTRIBUTES[2]),
    Some(&hw::ATTRIBUTES[3]),
    Some(&hw::ATTRIBUTES[4]),
    Some(&hw::ATTRIBUTES[5]),
    Some(&hw::ATTRIBUTES[6]),
    Some(&hw::ATTRIBUTES[7]),
    Some(&hw::ATTRIBUTES[8]),
    Some(&hw::ATTRIBUTES[9]),
    Some(&hw::ATTRIBUTES[10]),
    Some(&hw::ATTRIBUTES[11]),
    Some(&hw::ATTRIBUTES[12]),
    Some(&hw::ATTRIBUTES[13]),
    Some(&hw::ATTRIBUTES[14]),
    Some(&hw::ATTRIBUTES[15]),
    Some(&hw::ATTRIBUTES[16]),
    Some(&hw::ATTRIBUTES[17]),
    Some(&hw::ATTRIBUTES[18]),
    Some(&hw::ATTRIBUTES[19]),
    Some(&hw::ATTRIBUTES[20]),
    Some(&hw::ATTRIBUTES[21]),
    Some(&hw::ATTRIBUTES[22]),
    Some(&hw::ATTRIBUTES[23]),
    Some(&hw::ATTRIBUTES[24]),
    Some(&hw::ATTRIBUTES[25]),
    Some(&hw::ATTRIBUTES[26]),
    Some(&hw::ATTRIBUTES[27]),
    Some(&genai::ATTRIBUTES[21]),
    Some(&genai::ATTRIBUTES[83]),
    Some(&genai::ATTRIBUTES[84]),
    Some(&genai::ATTRIBUTES[22]),
    Some(&genai::ATTRIBUTES[23]),
    Some(&genai::ATTRIBUTES[24]),
    Some(&genai::ATTRIBUTES[85]),
    Some(&genai::ATTRIBUTES[86]),
    Some(&genai::ATTRIBUTES[87]),
    Some(&genai::ATTRIBUTES[88]),
    Some(&genai::ATTRIBUTES[25]),
    Some(&genai::ATTRIBUTES[26]),
    Some(&genai::ATTRIBUTES[27]),
    Some(&genai::ATTRIBUTES[28]),
    Some(&genai::ATTRIBUTES[29]),
    Some(&own::ATTRIBUTES[27]),
    Some(&own::ATTRIBUTES[28]),
    Some(&own::ATTRIBUTES[29]),
    Some(&own::ATTRIBUTES[30]),
    Some(&own::ATTRIBUTES[31]),
    Some(&own::ATTRIBUTES[32]),
    Some(&own::ATTRIBUTES[33]),
    Some(&own::ATTRIBUTES[34]),
    Some(&hw::ATTRIBUTES[28]),
    Some(&genai::ATTRIBUTES[89]),
    Some(&genai::ATTRIBUTES[90]),
    Some(&genai::ATTRIBUTES[91]),
    Some(&genai::ATTRIBUTES[92]),
    Some(&genai::ATTRIBUTES[93]),
    Some(&genai::ATTRIBUTES[94]),
    Some(&genai::ATTRIBUTES[95]),
    Some(&genai::ATTRIBUTES[30]),
    Some(&genai::ATTRIBUTES[31]),
    Some(&genai::ATTRIBUTES[32]),
    Some(&genai::ATTRIBUTES[33]),
    Some(&genai::ATTRIBUTES[34]),
    Some(&genai::ATTRIBUTES[35]),
    Some(&genai::ATTRIBUTES[36]),
    Some(&genai::ATTRIBUTES[37]),
    Some(&genai::ATTRIBUTES[38]),
    Some(&genai::ATTRIBUTES[39]),
    Some(&genai::ATTRIBUTES[40]),
    Some(&genai::ATTRIBUTES[41]),
    Some(&genai::ATTRIBUTES[42]),
    Some(&genai::ATTRIBUTES[43]),
    Some(&genai::ATTRIBUTES[44]),
    Some(&genai::ATTRIBUTES[45]),
    Some(&genai::ATTRIBUTES[46]),
    Some(&genai::ATTRIBUTES[47]),
    Some(&genai::ATTRIBUTES[48]),
    Some(&genai::ATTRIBUTES[49]),
    Some(&genai::ATTRIBUTES[50]),
    Some(&genai::ATTRIBUTES[51]),
    Some(&genai::ATTRIBUTES[52]),
    Some(&genai::ATTRIBUTES[53]),
    Some(&genai::ATTRIBUTES[54]),
    Some(&genai::ATTRIBUTES[55]),
    Some(&genai::ATTRIBUTES[56]),
    Some(&genai::ATTRIBUTES[57]),
    Some(&genai::ATTRIBUTES[58]),
    Some(&genai::ATTRIBUTES[59]),
    Some(&genai::ATTRIBUTES[96]),
    Some(&genai::ATTRIBUTES[97]),
    Some(&genai::ATTRIBUTES[98]),
    Some(&own::ATTRIBUTES[35]),
    Some(&genai::ATTRIBUTES[60]),
    Some(&genai::ATTRIBUTES[61]),
    None,
    Some(&genai::ATTRIBUTES[62]),
    Some(&genai::ATTRIBUTES[63]),
    Some(&genai::ATTRIBUTES[64]),
    Some(&genai::ATTRIBUTES[65]),
    Some(&genai::ATTRIBUTES[66]),
    Some(&genai::ATTRIBUTES[67]),
    Some(&genai::ATTRIBUTES[68]),
    Some(&genai::ATTRIBUTES[69]),
    Some(&genai::ATTRIBUTES[70]),
    Some(&genai::ATTRIBUTES[71]),
    Some(&genai::ATTRIBUTES[72]),
    Some(&genai::ATTRIBUTES[73]),
    Some(&genai::ATTRIBUTES[74]),
    Some(&genai::ATTRIBUTES[75]),
    Some(&genai::ATTRIBUTES[76]),
    Some(&genai::ATTRIBUTES[77]),
    Some(&genai::ATTRIBUTES[78]),
    Some(&genai::ATTRIBUTES[79]),
    Some(&genai::ATTRIBUTES[80]),
    Some(&genai::ATTRIBUTES[81]),
    Some(&genai::ATTRIBUTES[82]),
    Some(&genai::ATTRIBUTES[11]),
];

/// Names that differ by operation.
pub(crate) fn genai_scoped(operation: Operation, key: Key) -> Option<&'static AttributeDef> {
    match (operation, key) {
        (Operation::Retrieval, Key::RequestTopK) => Some(&genai::ATTRIBUTES[59]),
        _ => None,
    }
}
