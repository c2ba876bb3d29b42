// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! Known values of enumerations, one module for each attribute.

/// Values of `error.type`; others are allowed.
pub mod error_type {
    /// `_OTHER`.
    pub const OTHER: &str = "_OTHER";
}
/// Values of `gen_ai.operation.name`; others are allowed.
pub mod gen_ai_operation_name {
    /// `chat`.
    pub const CHAT: &str = "chat";
    /// `generate_content`.
    pub const GENERATE_CONTENT: &str = "generate_content";
    /// `text_completion`.
    pub const TEXT_COMPLETION: &str = "text_completion";
    /// `embeddings`.
    pub const EMBEDDINGS: &str = "embeddings";
    /// `retrieval`.
    pub const RETRIEVAL: &str = "retrieval";
    /// `create_agent`.
    pub const CREATE_AGENT: &str = "create_agent";
    /// `invoke_agent`.
    pub const INVOKE_AGENT: &str = "invoke_agent";
    /// `execute_tool`.
    pub const EXECUTE_TOOL: &str = "execute_tool";
    /// `invoke_workflow`.
    pub const INVOKE_WORKFLOW: &str = "invoke_workflow";
    /// `fetch_response`.
    pub const FETCH_RESPONSE: &str = "fetch_response";
    /// `plan`.
    pub const PLAN: &str = "plan";
    /// `search_memory`.
    pub const SEARCH_MEMORY: &str = "search_memory";
    /// `create_memory`.
    pub const CREATE_MEMORY: &str = "create_memory";
    /// `update_memory`.
    pub const UPDATE_MEMORY: &str = "update_memory";
    /// `upsert_memory`.
    pub const UPSERT_MEMORY: &str = "upsert_memory";
    /// `delete_memory`.
    pub const DELETE_MEMORY: &str = "delete_memory";
    /// `create_memory_store`.
    pub const CREATE_MEMORY_STORE: &str = "create_memory_store";
    /// `delete_memory_store`.
    pub const DELETE_MEMORY_STORE: &str = "delete_memory_store";
}
/// Values of `gen_ai.output.type`; others are allowed.
pub mod gen_ai_output_type {
    /// `text`.
    pub const TEXT: &str = "text";
    /// `json`.
    pub const JSON: &str = "json";
    /// `image`.
    pub const IMAGE: &str = "image";
    /// `speech`.
    pub const SPEECH: &str = "speech";
}
/// Values of `gen_ai.provider.name`; others are allowed.
pub mod gen_ai_provider_name {
    /// `openai`.
    pub const OPENAI: &str = "openai";
    /// `gcp.gen_ai`.
    pub const GCP_GEN_AI: &str = "gcp.gen_ai";
    /// `gcp.vertex_ai`.
    pub const GCP_VERTEX_AI: &str = "gcp.vertex_ai";
    /// `gcp.gemini`.
    pub const GCP_GEMINI: &str = "gcp.gemini";
    /// `anthropic`.
    pub const ANTHROPIC: &str = "anthropic";
    /// `cohere`.
    pub const COHERE: &str = "cohere";
    /// `azure.ai.inference`.
    pub const AZURE_AI_INFERENCE: &str = "azure.ai.inference";
    /// `azure.ai.openai`.
    pub const AZURE_AI_OPENAI: &str = "azure.ai.openai";
    /// `ibm.watsonx.ai`.
    pub const IBM_WATSONX_AI: &str = "ibm.watsonx.ai";
    /// `aws.bedrock`.
    pub const AWS_BEDROCK: &str = "aws.bedrock";
    /// `perplexity`.
    pub const PERPLEXITY: &str = "perplexity";
    /// `x_ai`.
    pub const X_AI: &str = "x_ai";
    /// `deepseek`.
    pub const DEEPSEEK: &str = "deepseek";
    /// `groq`.
    pub const GROQ: &str = "groq";
    /// `mistral_ai`.
    pub const MISTRAL_AI: &str = "mistral_ai";
    /// `moonshot_ai`.
    pub const MOONSHOT_AI: &str = "moonshot_ai";
}
/// Values of `gen_ai.response.status`; others are allowed.
pub mod gen_ai_response_status {
    /// `queued`.
    pub const QUEUED: &str = "queued";
    /// `in_progress`.
    pub const IN_PROGRESS: &str = "in_progress";
    /// `completed`.
    pub const COMPLETED: &str = "completed";
    /// `incomplete`.
    pub const INCOMPLETE: &str = "incomplete";
    /// `failed`.
    pub const FAILED: &str = "failed";
    /// `cancelled`.
    pub const CANCELLED: &str = "cancelled";
}
/// Values of `gen_ai.token.modality`; others are allowed.
pub mod gen_ai_token_modality {
    /// `text`.
    pub const TEXT: &str = "text";
    /// `image`.
    pub const IMAGE: &str = "image";
    /// `audio`.
    pub const AUDIO: &str = "audio";
    /// `unknown`.
    pub const UNKNOWN: &str = "unknown";
}
/// Values of `gen_ai.token.type`; others are allowed.
pub mod gen_ai_token_type {
    /// `input`.
    pub const INPUT: &str = "input";
    /// `output`.
    pub const OUTPUT: &str = "output";
}
/// Values of `hw.battery.state`; others are allowed.
pub mod hw_battery_state {
    /// `charging`.
    pub const CHARGING: &str = "charging";
    /// `discharging`.
    pub const DISCHARGING: &str = "discharging";
}
/// Values of `hw.gpu.task`; others are allowed.
pub mod hw_gpu_task {
    /// `decoder`.
    pub const DECODER: &str = "decoder";
    /// `encoder`.
    pub const ENCODER: &str = "encoder";
    /// `general`.
    pub const GENERAL: &str = "general";
}
/// Values of `hw.limit_type`; others are allowed.
pub mod hw_limit_type {
    /// `critical`.
    pub const CRITICAL: &str = "critical";
    /// `degraded`.
    pub const DEGRADED: &str = "degraded";
    /// `high.critical`.
    pub const HIGH_CRITICAL: &str = "high.critical";
    /// `high.degraded`.
    pub const HIGH_DEGRADED: &str = "high.degraded";
    /// `low.critical`.
    pub const LOW_CRITICAL: &str = "low.critical";
    /// `low.degraded`.
    pub const LOW_DEGRADED: &str = "low.degraded";
    /// `max`.
    pub const MAX: &str = "max";
    /// `throttled`.
    pub const THROTTLED: &str = "throttled";
    /// `turbo`.
    pub const TURBO: &str = "turbo";
}
/// Values of `hw.logical_disk.state`; others are allowed.
pub mod hw_logical_disk_state {
    /// `used`.
    pub const USED: &str = "used";
    /// `free`.
    pub const FREE: &str = "free";
}
/// Values of `hw.physical_disk.state`; others are allowed.
pub mod hw_physical_disk_state {
    /// `remaining`.
    pub const REMAINING: &str = "remaining";
}
/// Values of `hw.state`; others are allowed.
pub mod hw_state {
    /// `degraded`.
    pub const DEGRADED: &str = "degraded";
    /// `failed`.
    pub const FAILED: &str = "failed";
    /// `needs_cleaning`.
    pub const NEEDS_CLEANING: &str = "needs_cleaning";
    /// `ok`.
    pub const OK: &str = "ok";
    /// `predicted_failure`.
    pub const PREDICTED_FAILURE: &str = "predicted_failure";
}
/// Values of `hw.tape_drive.operation_type`; others are allowed.
pub mod hw_tape_drive_operation_type {
    /// `mount`.
    pub const MOUNT: &str = "mount";
    /// `unmount`.
    pub const UNMOUNT: &str = "unmount";
    /// `clean`.
    pub const CLEAN: &str = "clean";
}
/// Values of `hw.type`; others are allowed.
pub mod hw_type {
    /// `battery`.
    pub const BATTERY: &str = "battery";
    /// `cpu`.
    pub const CPU: &str = "cpu";
    /// `disk_controller`.
    pub const DISK_CONTROLLER: &str = "disk_controller";
    /// `enclosure`.
    pub const ENCLOSURE: &str = "enclosure";
    /// `fan`.
    pub const FAN: &str = "fan";
    /// `gpu`.
    pub const GPU: &str = "gpu";
    /// `logical_disk`.
    pub const LOGICAL_DISK: &str = "logical_disk";
    /// `memory`.
    pub const MEMORY: &str = "memory";
    /// `network`.
    pub const NETWORK: &str = "network";
    /// `physical_disk`.
    pub const PHYSICAL_DISK: &str = "physical_disk";
    /// `power_supply`.
    pub const POWER_SUPPLY: &str = "power_supply";
    /// `tape_drive`.
    pub const TAPE_DRIVE: &str = "tape_drive";
    /// `temperature`.
    pub const TEMPERATURE: &str = "temperature";
    /// `voltage`.
    pub const VOLTAGE: &str = "voltage";
}
/// Values of `mcp.method.name`; others are allowed.
pub mod mcp_method_name {
    /// `notifications/cancelled`.
    pub const NOTIFICATIONS_CANCELLED: &str = "notifications/cancelled";
    /// `initialize`.
    pub const INITIALIZE: &str = "initialize";
    /// `notifications/initialized`.
    pub const NOTIFICATIONS_INITIALIZED: &str = "notifications/initialized";
    /// `notifications/progress`.
    pub const NOTIFICATIONS_PROGRESS: &str = "notifications/progress";
    /// `ping`.
    pub const PING: &str = "ping";
    /// `resources/list`.
    pub const RESOURCES_LIST: &str = "resources/list";
    /// `resources/templates/list`.
    pub const RESOURCES_TEMPLATES_LIST: &str = "resources/templates/list";
    /// `resources/read`.
    pub const RESOURCES_READ: &str = "resources/read";
    /// `notifications/resources/list_changed`.
    pub const NOTIFICATIONS_RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
    /// `resources/subscribe`.
    pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
    /// `resources/unsubscribe`.
    pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
    /// `notifications/resources/updated`.
    pub const NOTIFICATIONS_RESOURCES_UPDATED: &str = "notifications/resources/updated";
    /// `prompts/list`.
    pub const PROMPTS_LIST: &str = "prompts/list";
    /// `prompts/get`.
    pub const PROMPTS_GET: &str = "prompts/get";
    /// `notifications/prompts/list_changed`.
    pub const NOTIFICATIONS_PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
    /// `tools/list`.
    pub const TOOLS_LIST: &str = "tools/list";
    /// `tools/call`.
    pub const TOOLS_CALL: &str = "tools/call";
    /// `notifications/tools/list_changed`.
    pub const NOTIFICATIONS_TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
    /// `logging/setLevel`.
    pub const LOGGING_SET_LEVEL: &str = "logging/setLevel";
    /// `notifications/message`.
    pub const NOTIFICATIONS_MESSAGE: &str = "notifications/message";
    /// `sampling/createMessage`.
    pub const SAMPLING_CREATE_MESSAGE: &str = "sampling/createMessage";
    /// `completion/complete`.
    pub const COMPLETION_COMPLETE: &str = "completion/complete";
    /// `roots/list`.
    pub const ROOTS_LIST: &str = "roots/list";
    /// `notifications/roots/list_changed`.
    pub const NOTIFICATIONS_ROOTS_LIST_CHANGED: &str = "notifications/roots/list_changed";
    /// `elicitation/create`.
    pub const ELICITATION_CREATE: &str = "elicitation/create";
}
/// Values of `network.io.direction`; others are allowed.
pub mod network_io_direction {
    /// `transmit`.
    pub const TRANSMIT: &str = "transmit";
    /// `receive`.
    pub const RECEIVE: &str = "receive";
}
/// Values of `network.transport`; others are allowed.
pub mod network_transport {
    /// `tcp`.
    pub const TCP: &str = "tcp";
    /// `udp`.
    pub const UDP: &str = "udp";
    /// `pipe`.
    pub const PIPE: &str = "pipe";
    /// `unix`.
    pub const UNIX: &str = "unix";
    /// `quic`.
    pub const QUIC: &str = "quic";
}
/// Values of `openai.api.type`; others are allowed.
pub mod openai_api_type {
    /// `chat_completions`.
    pub const CHAT_COMPLETIONS: &str = "chat_completions";
    /// `responses`.
    pub const RESPONSES: &str = "responses";
}
/// Values of `openai.request.service_tier`; others are allowed.
pub mod openai_request_service_tier {
    /// `auto`.
    pub const AUTO: &str = "auto";
    /// `default`.
    pub const DEFAULT: &str = "default";
}
/// Values of `wattspan.cost.boundary`; no others.
pub mod wattspan_cost_boundary {
    /// `device`.
    pub const DEVICE: &str = "device";
    /// `host`.
    pub const HOST: &str = "host";
    /// `facility`.
    pub const FACILITY: &str = "facility";
}
/// Values of `wattspan.emissions.boundary`; no others.
pub mod wattspan_emissions_boundary {
    /// `device`.
    pub const DEVICE: &str = "device";
    /// `host`.
    pub const HOST: &str = "host";
    /// `facility`.
    pub const FACILITY: &str = "facility";
}
/// Values of `wattspan.emissions.kind`; no others.
pub mod wattspan_emissions_kind {
    /// `average`.
    pub const AVERAGE: &str = "average";
    /// `marginal`.
    pub const MARGINAL: &str = "marginal";
}
/// Values of `wattspan.energy.flags`; no others.
pub mod wattspan_energy_flags {
    /// `below_resolution`.
    pub const BELOW_RESOLUTION: &str = "below_resolution";
    /// `aliasing_possible`.
    pub const ALIASING_POSSIBLE: &str = "aliasing_possible";
    /// `cross_check_failed`.
    pub const CROSS_CHECK_FAILED: &str = "cross_check_failed";
    /// `settled_early`.
    pub const SETTLED_EARLY: &str = "settled_early";
}
/// Values of `wattspan.energy.method`; no others.
pub mod wattspan_energy_method {
    /// `counter`.
    pub const COUNTER: &str = "counter";
    /// `integrated`.
    pub const INTEGRATED: &str = "integrated";
    /// `estimated`.
    pub const ESTIMATED: &str = "estimated";
    /// `mixed`.
    pub const MIXED: &str = "mixed";
}
/// Values of `wattspan.energy.policy`; others are allowed.
pub mod wattspan_energy_policy {
    /// `tokens`.
    pub const TOKENS: &str = "tokens";
    /// `time`.
    pub const TIME: &str = "time";
}
/// Values of `wattspan.energy.state`; no others.
pub mod wattspan_energy_state {
    /// `inference`.
    pub const INFERENCE: &str = "inference";
    /// `idle`.
    pub const IDLE: &str = "idle";
    /// `other`.
    pub const OTHER: &str = "other";
    /// `unattributed`.
    pub const UNATTRIBUTED: &str = "unattributed";
}
/// Values of `wattspan.gap.reason`; no others.
pub mod wattspan_gap_reason {
    /// `counter_reset`.
    pub const COUNTER_RESET: &str = "counter_reset";
    /// `counter_frozen`.
    pub const COUNTER_FROZEN: &str = "counter_frozen";
    /// `wrap_ambiguous`.
    pub const WRAP_AMBIGUOUS: &str = "wrap_ambiguous";
    /// `implausible`.
    pub const IMPLAUSIBLE: &str = "implausible";
    /// `suspended`.
    pub const SUSPENDED: &str = "suspended";
    /// `missing`.
    pub const MISSING: &str = "missing";
    /// `clock_jump`.
    pub const CLOCK_JUMP: &str = "clock_jump";
    /// `device_lost`.
    pub const DEVICE_LOST: &str = "device_lost";
}
/// Values of `wattspan.settle.reason`; no others.
pub mod wattspan_settle_reason {
    /// `covered`.
    pub const COVERED: &str = "covered";
    /// `timed_out`.
    pub const TIMED_OUT: &str = "timed_out";
    /// `shutdown`.
    pub const SHUTDOWN: &str = "shutdown";
    /// `no_sensor`.
    pub const NO_SENSOR: &str = "no_sensor";
    /// `remote`.
    pub const REMOTE: &str = "remote";
    /// `not_observed`.
    pub const NOT_OBSERVED: &str = "not_observed";
    /// `overload`.
    pub const OVERLOAD: &str = "overload";
}
