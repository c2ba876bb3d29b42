//! One row per run.

use crate::Timestamp;
use crate::schema::records;

records! {
    /// A run in one row: what it was, how it went, what it took. [`RunAggregate`](crate::RunAggregate) fills in what can be
    /// summed; the rest is for whoever ran it.
    pub struct LeaderboardRow in Leaderboard {
        /// The run. Rows with the same one are the same row.
        run_id: String,
        /// Model.
        model: Option<String>,
        /// How cases were run.
        agent_type: Option<String>,
        /// Provider.
        provider: Option<String>,
        /// When the run ended.
        timestamp: Option<Timestamp>,
        /// Who submits it.
        submitted_by: Option<String>,
        /// What for.
        use_case: Option<String>,
        /// By which team.
        team: Option<String>,
        /// Why.
        purpose: Option<String>,
        /// Version of the suite of cases.
        suite_version: Option<String>,
        /// The hardware in a line.
        hardware: Option<String>,
        /// The hardware in parts.
        hardware_detail: Option<HardwareDetail>,
        /// `model` when the hardware runs the model, `runner` when it only runs the cases.
        hardware_scope: Option<String>,
        /// Where the results table is.
        results_dataset: Option<String>,
        /// Where the traces table is.
        traces_dataset: Option<String>,
        /// Where the metrics table is.
        metrics_dataset: Option<String>,
        /// Where the cases come from.
        dataset_used: Option<String>,
        /// Cases that ended.
        total_tests: u64,
        /// Of them, those that succeeded.
        successful_tests: u64,
        /// Those that did not.
        failed_tests: u64,
        /// Successful ones in per cent. **Absent** without cases.
        success_rate: Option<f64> => "%",
        /// Fraction of the prompts that passed at the first attempt. **Absent** without cases.
        pass_at_1: Option<f64> => "1",
        /// What passing means.
        pass_rule: Option<String>,
        /// Attempts that count for `pass_at_1`.
        pass_attempts: Option<u64>,
        /// Prompts that were tried at least once.
        evaluated_prompts: u64,
        /// Of them, those that passed at the first attempt.
        passed_prompts: u64,
        /// Mean steps of a case.
        avg_steps: Option<f64>,
        /// Mean time of a case.
        avg_duration_ms: Option<f64> => "ms",
        /// Sum of the cases' times. Cases that ran side by side add up to more than the run took.
        total_duration_ms: Option<f64> => "ms",
        /// Input and output tokens of all cases.
        total_tokens: Option<u64> => "{token}",
        /// Tokens per case that reports them.
        avg_tokens_per_test: Option<f64> => "{token}",
        /// Cost of all cases.
        total_cost_usd: Option<f64> => "USD",
        /// Cost per case that reports one.
        avg_cost_per_test_usd: Option<f64> => "USD",
        /// Input tokens of all cases.
        total_prompt_tokens: Option<u64> => "{token}",
        /// Output tokens of all cases.
        total_completion_tokens: Option<u64> => "{token}",
        /// `completed`, `interrupted`, `failed` or `recovered`.
        run_status: Option<String>,
        /// Why it ended.
        run_stop_reason: Option<String>,
        /// Cases that were to run.
        planned_tests: Option<u64>,
        /// Cases that no time limit ended, those with an error included.
        completed_tests: u64,
        /// Planned cases that did not end. **Absent** when it is not known how many were planned.
        interrupted_tests: Option<u64>,
        /// Cases that their time limit ended.
        timed_out_tests: u64,
        /// Cases that the limit on steps ended.
        max_steps_tests: u64,
        /// Cases that ended with an error.
        errored_tests: u64,
        /// Time limit of a case.
        task_timeout_s: Option<f64> => "s",
        /// Time limit of a request.
        request_timeout_s: Option<f64> => "s",
        /// Time limit of a tool.
        tool_timeout_s: Option<f64> => "s",
        /// Sampling parameters as JSON text.
        generation_settings: Option<String>,
        /// Emissions of all counted devices while metrics were collected. **Absent** when no intensity was known.
        co2_emissions_g: Option<f64> => "g",
        /// Electricity cost of all counted devices in that time. **Absent** when no price was known.
        power_cost_total_usd: Option<f64> => "USD",
        /// Mean utilization over GPUs and time.
        gpu_utilization_avg: Option<f64> => "%",
        /// Highest utilization of any GPU.
        gpu_utilization_max: Option<f64> => "%",
        /// Memory in use: mean over time, summed over GPUs.
        gpu_memory_avg_mib: Option<f64> => "MiBy",
        /// Memory in use: peak over time of the sum over GPUs.
        gpu_memory_max_mib: Option<f64> => "MiBy",
        /// Mean temperature over GPUs and time.
        gpu_temperature_avg: Option<f64> => "Cel",
        /// Highest temperature of any GPU.
        gpu_temperature_max: Option<f64> => "Cel",
        /// Power: mean over time, summed over GPUs.
        gpu_power_avg_w: Option<f64> => "W",
        /// Remarks.
        notes: Option<String>,

        /// Power: peak over time of the sum over GPUs.
        gpu_power_max_w: Option<f64> => "W",
        /// Each GPU by itself.
        gpus: Vec<GpuSummary>,
        /// Measured energy of all counted devices while metrics were collected.
        device_energy_j: Option<f64> => "J",
        /// Measured energy of all cases: part of the devices' energy.
        inference_energy_j: Option<f64> => "J",
        /// Half-width of its 95 % interval.
        inference_energy_uncertainty_j: Option<f64> => "J",
        /// How it was obtained.
        energy_method: Option<String>,
        /// Least coverage of any case.
        energy_coverage: Option<f64> => "1",
        /// Modelled energy of the cases, never part of the measured one.
        inference_energy_estimated_j: Option<f64> => "J",
        /// Cases with measured energy.
        measured_tests: u64,
        /// Cases with nothing but an estimate.
        estimated_tests: u64,
        /// Measured energy per output token, of the cases that have both.
        joules_per_output_token: Option<f64> => "J/{token}",
        /// Emissions of all cases.
        inference_co2_g: Option<f64> => "g",
        /// Median time of a case.
        duration_p50_ms: Option<f64> => "ms",
        /// Nine in ten cases took no longer.
        duration_p90_ms: Option<f64> => "ms",
        /// 95 % took no longer.
        duration_p95_ms: Option<f64> => "ms",
        /// 99 % took no longer.
        duration_p99_ms: Option<f64> => "ms",
        /// Median time to the first token.
        time_to_first_token_p50_ms: Option<f64> => "ms",
        /// Nine in ten first tokens took no longer.
        time_to_first_token_p90_ms: Option<f64> => "ms",
        /// 95 % took no longer.
        time_to_first_token_p95_ms: Option<f64> => "ms",
        /// 99 % took no longer.
        time_to_first_token_p99_ms: Option<f64> => "ms",
        /// Cached input tokens of all cases.
        cache_read_tokens: Option<u64> => "{token}",
        /// Traces of the run.
        traces: u64,
        /// Spans of the run.
        spans: u64,
    }

    /// One GPU over a run.
    pub struct GpuSummary {
        /// Stable id.
        device_id: String,
        /// Model.
        name: String,
        /// Measured energy.
        energy_j: Option<f64> => "J",
        /// Mean power.
        power_avg_w: Option<f64> => "W",
        /// Highest power read.
        power_max_w: Option<f64> => "W",
        /// Mean memory in use.
        memory_avg_mib: Option<f64> => "MiBy",
        /// Most memory in use.
        memory_max_mib: Option<f64> => "MiBy",
        /// Mean utilization.
        utilization_avg_percent: Option<f64> => "%",
        /// Highest utilization.
        utilization_max_percent: Option<f64> => "%",
        /// Mean temperature.
        temperature_avg_celsius: Option<f64> => "Cel",
        /// Highest temperature.
        temperature_max_celsius: Option<f64> => "Cel",
    }

    /// A machine.
    pub struct HardwareDetail {
        /// Model of the CPU.
        cpu_model: Option<String>,
        /// Hardware threads.
        logical_cores: Option<u64>,
        /// Main memory.
        memory_gb: Option<f64> => "GBy",
        /// Operating system.
        os: Option<String>,
        /// GPUs.
        gpus: Vec<GpuMemory>,
    }

    /// A GPU of a machine.
    pub struct GpuMemory {
        /// Model.
        name: String,
        /// Its memory.
        memory_gb: Option<f64> => "GBy",
    }
}
