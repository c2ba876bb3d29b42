// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! Operations, the values of `gen_ai.operation.name`.

/// What a GenAI call does: the value of `gen_ai.operation.name`.
///
/// The list is open. A custom value is low in cardinality, so it is a constant of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// `chat`, in both profiles.
    Chat,
    /// `generate_content`, in both profiles.
    GenerateContent,
    /// `text_completion`, in both profiles.
    TextCompletion,
    /// `embeddings`, in both profiles.
    Embeddings,
    /// `retrieval`, in both profiles.
    Retrieval,
    /// `create_agent`, in both profiles.
    CreateAgent,
    /// `invoke_agent`, in both profiles.
    InvokeAgent,
    /// `execute_tool`, in both profiles.
    ExecuteTool,
    /// `invoke_workflow`, in both profiles.
    InvokeWorkflow,
    /// `fetch_response`, in `genai` only.
    FetchResponse,
    /// `plan`, in `genai` only.
    Plan,
    /// `search_memory`, in `genai` only.
    SearchMemory,
    /// `create_memory`, in `genai` only.
    CreateMemory,
    /// `update_memory`, in `genai` only.
    UpdateMemory,
    /// `upsert_memory`, in `genai` only.
    UpsertMemory,
    /// `delete_memory`, in `genai` only.
    DeleteMemory,
    /// `create_memory_store`, in `genai` only.
    CreateMemoryStore,
    /// `delete_memory_store`, in `genai` only.
    DeleteMemoryStore,
    /// `load`, a custom value of wattspan's.
    Load,
    /// `rerank`, a custom value of wattspan's.
    Rerank,
    /// Any other.
    Custom(&'static str),
}

impl Operation {
    /// Every operation that has a variant.
    pub const ALL: &'static [Self] = &[
        Self::Chat,
        Self::GenerateContent,
        Self::TextCompletion,
        Self::Embeddings,
        Self::Retrieval,
        Self::CreateAgent,
        Self::InvokeAgent,
        Self::ExecuteTool,
        Self::InvokeWorkflow,
        Self::FetchResponse,
        Self::Plan,
        Self::SearchMemory,
        Self::CreateMemory,
        Self::UpdateMemory,
        Self::UpsertMemory,
        Self::DeleteMemory,
        Self::CreateMemoryStore,
        Self::DeleteMemoryStore,
        Self::Load,
        Self::Rerank,
    ];

    /// The attribute's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::GenerateContent => "generate_content",
            Self::TextCompletion => "text_completion",
            Self::Embeddings => "embeddings",
            Self::Retrieval => "retrieval",
            Self::CreateAgent => "create_agent",
            Self::InvokeAgent => "invoke_agent",
            Self::ExecuteTool => "execute_tool",
            Self::InvokeWorkflow => "invoke_workflow",
            Self::FetchResponse => "fetch_response",
            Self::Plan => "plan",
            Self::SearchMemory => "search_memory",
            Self::CreateMemory => "create_memory",
            Self::UpdateMemory => "update_memory",
            Self::UpsertMemory => "upsert_memory",
            Self::DeleteMemory => "delete_memory",
            Self::CreateMemoryStore => "create_memory_store",
            Self::DeleteMemoryStore => "delete_memory_store",
            Self::Load => "load",
            Self::Rerank => "rerank",
            Self::Custom(name) => name,
        }
    }

    /// The operation with this name, when it has a variant.
    pub fn known(name: &str) -> Option<Self> {
        match name {
            "chat" => Some(Self::Chat),
            "generate_content" => Some(Self::GenerateContent),
            "text_completion" => Some(Self::TextCompletion),
            "embeddings" => Some(Self::Embeddings),
            "retrieval" => Some(Self::Retrieval),
            "create_agent" => Some(Self::CreateAgent),
            "invoke_agent" => Some(Self::InvokeAgent),
            "execute_tool" => Some(Self::ExecuteTool),
            "invoke_workflow" => Some(Self::InvokeWorkflow),
            "fetch_response" => Some(Self::FetchResponse),
            "plan" => Some(Self::Plan),
            "search_memory" => Some(Self::SearchMemory),
            "create_memory" => Some(Self::CreateMemory),
            "update_memory" => Some(Self::UpdateMemory),
            "upsert_memory" => Some(Self::UpsertMemory),
            "delete_memory" => Some(Self::DeleteMemory),
            "create_memory_store" => Some(Self::CreateMemoryStore),
            "delete_memory_store" => Some(Self::DeleteMemoryStore),
            "load" => Some(Self::Load),
            "rerank" => Some(Self::Rerank),
            _ => None,
        }
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
