//! Names against `opentelemetry-semantic-conventions`, which the OpenTelemetry project generates by itself. Its 0.33.1
//! carries conventions 1.42.0, where the GenAI names are deprecated but still have the spelling of 1.41.
//! Length: one line a name, two lists.

#![allow(deprecated)] // the oracle's GenAI names are

use opentelemetry_semantic_conventions as oracle;
use wattspan_semconv::{Profile, attr, metric};

macro_rules! pairs {
    ($ours:path, $theirs:path; $($name:ident),* $(,)?) => {{
        use $ours as ours;
        use $theirs as theirs;
        [$((stringify!($name), ours::$name, theirs::$name)),*]
    }};
}

#[test]
fn oracle_carries_the_version_that_the_lists_were_made_for() {
    assert_eq!(oracle::SCHEMA_URL, "https://opentelemetry.io/schemas/1.42.0");
}

#[test]
fn attribute_names_equal_the_oracles() {
    let live = pairs![attr, oracle::attribute;
        AWS_BEDROCK_GUARDRAIL_ID,
        AWS_BEDROCK_KNOWLEDGE_BASE_ID,
        AZURE_RESOURCE_PROVIDER_NAMESPACE,
        CLIENT_ADDRESS,
        CLIENT_PORT,
        ERROR_TYPE,
        EXCEPTION_MESSAGE,
        EXCEPTION_STACKTRACE,
        EXCEPTION_TYPE,
        GEN_AI_AGENT_DESCRIPTION,
        GEN_AI_AGENT_ID,
        GEN_AI_AGENT_NAME,
        GEN_AI_AGENT_VERSION,
        GEN_AI_CONVERSATION_ID,
        GEN_AI_DATA_SOURCE_ID,
        GEN_AI_EMBEDDINGS_DIMENSION_COUNT,
        GEN_AI_EVALUATION_EXPLANATION,
        GEN_AI_EVALUATION_NAME,
        GEN_AI_EVALUATION_SCORE_LABEL,
        GEN_AI_EVALUATION_SCORE_VALUE,
        GEN_AI_INPUT_MESSAGES,
        GEN_AI_OPERATION_NAME,
        GEN_AI_OUTPUT_MESSAGES,
        GEN_AI_OUTPUT_TYPE,
        GEN_AI_PROMPT_NAME,
        GEN_AI_PROVIDER_NAME,
        GEN_AI_REQUEST_CHOICE_COUNT,
        GEN_AI_REQUEST_ENCODING_FORMATS,
        GEN_AI_REQUEST_FREQUENCY_PENALTY,
        GEN_AI_REQUEST_MAX_TOKENS,
        GEN_AI_REQUEST_MODEL,
        GEN_AI_REQUEST_PRESENCE_PENALTY,
        GEN_AI_REQUEST_SEED,
        GEN_AI_REQUEST_STOP_SEQUENCES,
        GEN_AI_REQUEST_STREAM,
        GEN_AI_REQUEST_TEMPERATURE,
        GEN_AI_REQUEST_TOP_K,
        GEN_AI_REQUEST_TOP_P,
        GEN_AI_RESPONSE_FINISH_REASONS,
        GEN_AI_RESPONSE_ID,
        GEN_AI_RESPONSE_MODEL,
        GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
        GEN_AI_RETRIEVAL_DOCUMENTS,
        GEN_AI_RETRIEVAL_QUERY_TEXT,
        GEN_AI_SYSTEM_INSTRUCTIONS,
        GEN_AI_TOKEN_TYPE,
        GEN_AI_TOOL_CALL_ARGUMENTS,
        GEN_AI_TOOL_CALL_ID,
        GEN_AI_TOOL_CALL_RESULT,
        GEN_AI_TOOL_DEFINITIONS,
        GEN_AI_TOOL_DESCRIPTION,
        GEN_AI_TOOL_NAME,
        GEN_AI_TOOL_TYPE,
        GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
        GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
        GEN_AI_USAGE_INPUT_TOKENS,
        GEN_AI_USAGE_OUTPUT_TOKENS,
        GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
        GEN_AI_WORKFLOW_NAME,
        HW_BATTERY_CAPACITY,
        HW_BATTERY_CHEMISTRY,
        HW_BATTERY_STATE,
        HW_BIOS_VERSION,
        HW_DRIVER_VERSION,
        HW_ENCLOSURE_TYPE,
        HW_FIRMWARE_VERSION,
        HW_GPU_TASK,
        HW_ID,
        HW_LIMIT_TYPE,
        HW_LOGICAL_DISK_RAID_LEVEL,
        HW_LOGICAL_DISK_STATE,
        HW_MEMORY_TYPE,
        HW_MODEL,
        HW_NAME,
        HW_NETWORK_LOGICAL_ADDRESSES,
        HW_NETWORK_PHYSICAL_ADDRESS,
        HW_PARENT,
        HW_PHYSICAL_DISK_SMART_ATTRIBUTE,
        HW_PHYSICAL_DISK_STATE,
        HW_PHYSICAL_DISK_TYPE,
        HW_SENSOR_LOCATION,
        HW_SERIAL_NUMBER,
        HW_STATE,
        HW_TAPE_DRIVE_OPERATION_TYPE,
        HW_TYPE,
        HW_VENDOR,
        JSONRPC_PROTOCOL_VERSION,
        JSONRPC_REQUEST_ID,
        MCP_METHOD_NAME,
        MCP_PROTOCOL_VERSION,
        MCP_RESOURCE_URI,
        MCP_SESSION_ID,
        NETWORK_IO_DIRECTION,
        NETWORK_PROTOCOL_NAME,
        NETWORK_PROTOCOL_VERSION,
        NETWORK_TRANSPORT,
        OPENAI_API_TYPE,
        OPENAI_REQUEST_SERVICE_TIER,
        OPENAI_RESPONSE_SERVICE_TIER,
        OPENAI_RESPONSE_SYSTEM_FINGERPRINT,
        RPC_RESPONSE_STATUS_CODE,
        SERVER_ADDRESS,
        SERVER_PORT
    ];
    let old = pairs![attr::old, oracle::attribute;
        GEN_AI_COMPLETION,
        GEN_AI_OPENAI_REQUEST_RESPONSE_FORMAT,
        GEN_AI_OPENAI_REQUEST_SEED,
        GEN_AI_OPENAI_REQUEST_SERVICE_TIER,
        GEN_AI_OPENAI_RESPONSE_SERVICE_TIER,
        GEN_AI_OPENAI_RESPONSE_SYSTEM_FINGERPRINT,
        GEN_AI_PROMPT,
        GEN_AI_SYSTEM,
        GEN_AI_USAGE_COMPLETION_TOKENS,
        GEN_AI_USAGE_PROMPT_TOKENS
    ];
    for (constant, ours, theirs) in live.iter().chain(&old) {
        assert_eq!(ours, theirs, "{constant}");
    }
    // Both lists together are all that the core profile and the hardware conventions name.
    for def in Profile::Core.attributes().filter(|def| !def.name.starts_with("wattspan.")) {
        let list = if def.is_live() { live.as_slice() } else { old.as_slice() };
        assert!(list.iter().any(|(_, _, theirs)| *theirs == def.name), "{} is not in the oracle", def.name);
    }
}

#[test]
fn metric_names_equal_the_oracles() {
    let metrics = pairs![metric, oracle::metric;
        GEN_AI_CLIENT_OPERATION_DURATION,
        GEN_AI_CLIENT_OPERATION_TIME_PER_OUTPUT_CHUNK,
        GEN_AI_CLIENT_OPERATION_TIME_TO_FIRST_CHUNK,
        GEN_AI_CLIENT_TOKEN_USAGE,
        GEN_AI_SERVER_REQUEST_DURATION,
        GEN_AI_SERVER_TIME_PER_OUTPUT_TOKEN,
        GEN_AI_SERVER_TIME_TO_FIRST_TOKEN,
        HW_BATTERY_CHARGE,
        HW_BATTERY_CHARGE_LIMIT,
        HW_BATTERY_TIME_LEFT,
        HW_CPU_SPEED,
        HW_CPU_SPEED_LIMIT,
        HW_ENERGY,
        HW_ERRORS,
        HW_FAN_SPEED,
        HW_FAN_SPEED_LIMIT,
        HW_FAN_SPEED_RATIO,
        HW_GPU_IO,
        HW_GPU_MEMORY_LIMIT,
        HW_GPU_MEMORY_USAGE,
        HW_GPU_MEMORY_UTILIZATION,
        HW_GPU_UTILIZATION,
        HW_HOST_AMBIENT_TEMPERATURE,
        HW_HOST_ENERGY,
        HW_HOST_HEATING_MARGIN,
        HW_HOST_POWER,
        HW_LOGICAL_DISK_LIMIT,
        HW_LOGICAL_DISK_USAGE,
        HW_LOGICAL_DISK_UTILIZATION,
        HW_MEMORY_SIZE,
        HW_NETWORK_BANDWIDTH_LIMIT,
        HW_NETWORK_BANDWIDTH_UTILIZATION,
        HW_NETWORK_IO,
        HW_NETWORK_PACKETS,
        HW_NETWORK_UP,
        HW_PHYSICAL_DISK_ENDURANCE_UTILIZATION,
        HW_PHYSICAL_DISK_SIZE,
        HW_PHYSICAL_DISK_SMART,
        HW_POWER,
        HW_POWER_SUPPLY_LIMIT,
        HW_POWER_SUPPLY_USAGE,
        HW_POWER_SUPPLY_UTILIZATION,
        HW_STATUS,
        HW_TAPE_DRIVE_OPERATIONS,
        HW_TEMPERATURE,
        HW_TEMPERATURE_LIMIT,
        HW_VOLTAGE,
        HW_VOLTAGE_LIMIT,
        HW_VOLTAGE_NOMINAL,
        MCP_CLIENT_OPERATION_DURATION,
        MCP_CLIENT_SESSION_DURATION,
        MCP_SERVER_OPERATION_DURATION,
        MCP_SERVER_SESSION_DURATION
    ];
    for (constant, ours, theirs) in metrics {
        assert_eq!(ours, theirs, "{constant}");
    }
    for def in Profile::Core.metrics().filter(|def| !def.name.starts_with("wattspan.")) {
        assert!(
            metrics.iter().any(|(_, _, theirs)| *theirs == def.name),
            "{} is not in the oracle",
            def.name
        );
    }
}
