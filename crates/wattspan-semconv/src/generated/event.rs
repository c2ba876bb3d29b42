// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! Names of log events.

/// `gen_ai.client.inference.exception`, in `genai` only.
pub const GEN_AI_CLIENT_INFERENCE_EXCEPTION: &str = "gen_ai.client.inference.exception";
/// `gen_ai.client.inference.operation.details`, in both profiles.
pub const GEN_AI_CLIENT_INFERENCE_OPERATION_DETAILS: &str = "gen_ai.client.inference.operation.details";
/// `gen_ai.client.operation.exception`, in both profiles.
pub const GEN_AI_CLIENT_OPERATION_EXCEPTION: &str = "gen_ai.client.operation.exception";
/// `gen_ai.evaluation.result`, in both profiles.
pub const GEN_AI_EVALUATION_RESULT: &str = "gen_ai.evaluation.result";
/// `gen_ai.execute_tool.exception`, in `genai` only.
pub const GEN_AI_EXECUTE_TOOL_EXCEPTION: &str = "gen_ai.execute_tool.exception";
