//! One row per case.

use wattspan_core::{InferenceRecord, Locality, RunId};

use crate::Timestamp;
use crate::collect::CaseTotals;
use crate::schema::records;

records! {
    /// A case of a run: what was asked, what came back, what it took. Energy, grams and cost are sums over the case's
    /// inferences, each counted once.
    pub struct ResultRow in Results {
        /// Model asked for.
        model: Option<String>,
        /// When the case began.
        evaluation_date: Option<Timestamp>,
        /// Id of the test case.
        task_id: Option<String>,
        /// Id of the test case as one kind of agent runs it, such as `tool:weather_1`. Rows with the same one and the same
        /// `attempt` are the same row.
        test_case_uid: Option<String>,
        /// How it is run: `none`, `tool`.
        agent_type: Option<String>,
        /// Difficulty, as the case says.
        difficulty: Option<String>,
        /// What was asked. **Absent** when texts are not kept.
        prompt: Option<String>,
        /// Whether all checks passed.
        success: Option<bool>,
        /// The same for a first attempt; false for later ones that pass.
        pass_at_1_passed: Option<bool>,
        /// Whether any tool was called.
        tool_called: Option<bool>,
        /// Whether the expected tool was called. **Absent** when the case expects none.
        correct_tool: Option<bool>,
        /// Whether the agent gave a final answer.
        final_answer_called: Option<bool>,
        /// Whether the answer is right. **Absent** without a check of it.
        response_correct: Option<bool>,
        /// Tools called, in order.
        tools_used: Vec<String>,
        /// Steps of the agent.
        steps: Option<i64>,
        /// What came back. **Absent** when texts are not kept, or nothing did.
        response: Option<String>,
        /// What failed.
        error: Option<String>,
        /// Why it ended: `stop`, `length`, `final_answer`, `max_steps`, `timeout`, `error`.
        stop_reason: Option<String>,
        /// Whether its time limit ended it.
        timed_out: Option<bool>,
        /// Trace id, 32 lower-case hexadecimal digits.
        trace_id: Option<String>,
        /// Id of the case's root span, 16 lower-case hexadecimal digits.
        span_id: Option<String>,
        /// The run.
        run_id: String,
        /// Time from begin to end of the case, not the sum of its spans.
        execution_time_ms: Option<f64> => "ms",
        /// Input and output tokens.
        total_tokens: Option<u64> => "{token}",
        /// What its inferences cost, from `cost_source`.
        cost_usd: Option<f64> => "USD",
        /// Always absent: what SMOLTRACE keeps in this text stands in the traces table.
        enhanced_trace_info: Option<String>,

        /// Which repetition of the case, from 1.
        attempt: Option<u64>,
        /// Provider, as `gen_ai.provider.name` has it.
        provider: Option<String>,
        /// Model that answered.
        response_model: Option<String>,
        /// Id of the response.
        response_id: Option<String>,
        /// `in_process`, `local_server` or `remote`.
        locality: Option<String>,
        /// Tags of the case.
        tags: Vec<String>,
        /// Inferences of the case.
        inferences: Option<u64>,
        /// Input tokens, those from a cache included.
        input_tokens: Option<u64> => "{token}",
        /// Part of the input taken from a cache.
        cache_read_tokens: Option<u64> => "{token}",
        /// Part of the input written to a cache.
        cache_write_tokens: Option<u64> => "{token}",
        /// Output tokens, reasoning included.
        output_tokens: Option<u64> => "{token}",
        /// Part of the output that is reasoning.
        reasoning_tokens: Option<u64> => "{token}",
        /// Time to the first token of the first inference.
        time_to_first_token_ms: Option<f64> => "ms",
        /// Measured energy. **Absent** when nothing was measured.
        energy_j: Option<f64> => "J",
        /// Half-width of its 95 % interval.
        energy_uncertainty_j: Option<f64> => "J",
        /// How it was obtained: `counter`, `integrated`, `mixed`; `estimated` when there is only an estimate.
        energy_method: Option<String>,
        /// Fraction of the time for which all devices had data; below 1 the energy is a lower bound.
        energy_coverage: Option<f64> => "1",
        /// Part of the measured energy used by GPUs.
        energy_gpu_j: Option<f64> => "J",
        /// Part of the measured energy used by CPU packages.
        energy_cpu_j: Option<f64> => "J",
        /// Part of the measured energy used by memory.
        energy_dram_j: Option<f64> => "J",
        /// Idle part of the measured energy.
        energy_idle_j: Option<f64> => "J",
        /// Modelled energy. Stands beside the measured one and is never part of it.
        energy_estimated_j: Option<f64> => "J",
        /// Measured energy per output token.
        joules_per_output_token: Option<f64> => "J/{token}",
        /// Emissions.
        co2_emissions_g: Option<f64> => "g",
        /// Intensity they were worked out with; of the last inference when it changed.
        carbon_intensity_g_per_kwh: Option<f64> => "g/kW.h",
        /// Grid zone of the intensity.
        carbon_zone: Option<String>,
        /// Source of the intensity.
        carbon_source: Option<String>,
        /// `average` or `marginal`.
        carbon_kind: Option<String>,
        /// What the emissions cover: `device`, `host` or `facility`; `mixed` where the inferences' differ.
        carbon_boundary: Option<String>,
        /// Where the cost comes from: `electricity`, `price_book`, … .
        cost_source: Option<String>,
        /// What the electricity in the cost covers, as `carbon_boundary`.
        cost_boundary: Option<String>,
        /// Why energy was settled when it was; of the last inference.
        settle_reason: Option<String>,
    }
}

impl ResultRow {
    /// A case that is one inference. Whether it succeeded is whether it failed: there is no check.
    pub fn from_record(record: &InferenceRecord, run: &RunId) -> Self {
        let mut row = Self {
            run_id: run.to_string(),
            model: record.begin.model.as_deref().map(str::to_owned),
            provider: Some(record.begin.provider.as_ref().to_owned()),
            evaluation_date: Some(record.begin.wall.into()),
            execution_time_ms: Some(record.duration().as_secs_f64() * 1e3),
            success: Some(record.facts.error_type.is_none()),
            error: record.facts.error_type.as_deref().map(str::to_owned),
            stop_reason: record.facts.finish_reasons.first().cloned(),
            trace_id: record.facts.trace.as_ref().map(wattspan_core::TraceRef::trace_hex),
            span_id: record.facts.trace.as_ref().map(wattspan_core::TraceRef::span_hex),
            response_id: record.facts.response_id.clone(),
            response_model: record.facts.response_model.clone(),
            locality: Some(
                match record.begin.locality {
                    Locality::InProcess => "in_process",
                    Locality::LocalServer { .. } => "local_server",
                    _ => "remote",
                }
                .to_owned(),
            ),
            ..Self::default()
        };
        row.task_id.clone_from(&row.span_id);
        row.test_case_uid.clone_from(&row.span_id);
        let mut totals = CaseTotals::default();
        totals.add(record);
        totals.apply(&mut row);
        row
    }
}
