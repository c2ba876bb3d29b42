// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! The spans of each operation.

use super::operation::Operation;
use super::{core, genai, own};
use crate::model::SpanDef;

static CORE_SPANS_0: [&SpanDef; 1] = [&core::SPANS[6]];
static CORE_SPANS_1: [&SpanDef; 1] = [&core::SPANS[4]];
static CORE_SPANS_2: [&SpanDef; 1] = [&core::SPANS[10]];
static CORE_SPANS_3: [&SpanDef; 1] = [&core::SPANS[3]];
static CORE_SPANS_4: [&SpanDef; 2] = [&core::SPANS[7], &core::SPANS[8]];
static CORE_SPANS_5: [&SpanDef; 1] = [&core::SPANS[5]];
static CORE_SPANS_6: [&SpanDef; 1] = [&core::SPANS[9]];
static CORE_SPANS_7: [&SpanDef; 1] = [&own::SPANS[0]];
static CORE_SPANS_8: [&SpanDef; 1] = [&own::SPANS[1]];

pub(crate) fn core_spans(operation: Operation) -> &'static [&'static SpanDef] {
    match operation {
        Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => &CORE_SPANS_0,
        Operation::Embeddings => &CORE_SPANS_1,
        Operation::Retrieval => &CORE_SPANS_2,
        Operation::CreateAgent => &CORE_SPANS_3,
        Operation::InvokeAgent => &CORE_SPANS_4,
        Operation::ExecuteTool => &CORE_SPANS_5,
        Operation::InvokeWorkflow => &CORE_SPANS_6,
        Operation::Load => &CORE_SPANS_7,
        Operation::Rerank => &CORE_SPANS_8,
        _ => &[],
    }
}

static GENAI_SPANS_0: [&SpanDef; 1] = [&genai::SPANS[4]];
static GENAI_SPANS_1: [&SpanDef; 1] = [&genai::SPANS[3]];
static GENAI_SPANS_2: [&SpanDef; 1] = [&genai::SPANS[12]];
static GENAI_SPANS_3: [&SpanDef; 1] = [&genai::SPANS[6]];
static GENAI_SPANS_4: [&SpanDef; 1] = [&genai::SPANS[9]];
static GENAI_SPANS_5: [&SpanDef; 1] = [&genai::SPANS[7]];
static GENAI_SPANS_6: [&SpanDef; 1] = [&genai::SPANS[8]];
static GENAI_SPANS_7: [&SpanDef; 1] = [&genai::SPANS[11]];
static GENAI_SPANS_8: [&SpanDef; 1] = [&genai::SPANS[10]];
static GENAI_SPANS_9: [&SpanDef; 1] = [&own::SPANS[0]];
static GENAI_SPANS_10: [&SpanDef; 1] = [&own::SPANS[1]];

pub(crate) fn genai_spans(operation: Operation) -> &'static [&'static SpanDef] {
    match operation {
        Operation::Chat | Operation::GenerateContent | Operation::TextCompletion => &GENAI_SPANS_0,
        Operation::Embeddings => &GENAI_SPANS_1,
        Operation::Retrieval => &GENAI_SPANS_2,
        Operation::CreateAgent => &GENAI_SPANS_3,
        Operation::InvokeAgent | Operation::InvokeWorkflow => &GENAI_SPANS_4,
        Operation::ExecuteTool => &GENAI_SPANS_5,
        Operation::FetchResponse => &GENAI_SPANS_6,
        Operation::Plan => &GENAI_SPANS_7,
        Operation::SearchMemory
        | Operation::CreateMemory
        | Operation::UpdateMemory
        | Operation::UpsertMemory
        | Operation::DeleteMemory
        | Operation::CreateMemoryStore
        | Operation::DeleteMemoryStore => &GENAI_SPANS_8,
        Operation::Load => &GENAI_SPANS_9,
        Operation::Rerank => &GENAI_SPANS_10,
        _ => &[],
    }
}
