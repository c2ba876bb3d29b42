//! Two runs that look like real ones, the same at every call: one that completed, one that was interrupted and went on half
//! an hour later.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wattspan_core::{Cell, DatasetSink, Row, RunId, Table};
use wattspan_dataset::{
    Attributes, EventRow, GpuMemory, HardwareDetail, JsonDataset, LeaderboardRow, Metadata, MetricRow,
    ResultRow, RunAggregate, SpanRow, TableRow, TraceRow,
};

/// What sets one run apart.
pub(crate) struct Plan {
    pub(crate) run: &'static str,
    pub(crate) model: &'static str,
    pub(crate) cases: usize,
    pub(crate) planned: u64,
    /// Tokens a second.
    pub(crate) speed: f64,
    /// Watts that work adds to a GPU.
    pub(crate) work: f64,
    pub(crate) seed: u64,
    /// Second at which the run is interrupted, and for how many seconds.
    pub(crate) pause: Option<(u64, u64)>,
    pub(crate) status: &'static str,
}

pub(crate) const COMPLETED: Plan = Plan {
    run: "tools-8b-q4",
    model: "Llama-3.1-8B-Instruct-Q4_K_M",
    cases: 60,
    planned: 60,
    speed: 46.0,
    work: 205.0,
    seed: 7,
    pause: None,
    status: "completed",
};

pub(crate) const INTERRUPTED: Plan = Plan {
    run: "tools-3b-q8",
    model: "Llama-3.2-3B-Instruct-Q8_0",
    cases: 34,
    planned: 60,
    speed: 88.0,
    work: 150.0,
    seed: 11,
    pause: Some((40, 1_800)),
    status: "interrupted",
};

/// A case on the time axis.
struct Slot {
    begin: u64,
    millis: u64,
    lane: usize,
    output: u64,
    energy: f64,
    passed: bool,
}

struct Sensor {
    id: &'static str,
    kind: &'static str,
    name: &'static str,
    vendor: &'static str,
    parent: Option<&'static str>,
    index: Option<&'static str>,
    idle: f64,
    share_of_work: f64,
}

const SENSORS: [Sensor; 5] = [
    Sensor {
        id: "GPU-0c1f",
        kind: "gpu",
        name: "NVIDIA L40S",
        vendor: "nvidia",
        parent: None,
        index: Some("0"),
        idle: 34.0,
        share_of_work: 1.0,
    },
    Sensor {
        id: "GPU-7e22",
        kind: "gpu",
        name: "NVIDIA L40S",
        vendor: "nvidia",
        parent: None,
        index: Some("1"),
        idle: 33.0,
        share_of_work: 0.85,
    },
    Sensor {
        id: "MIG-7e22-1",
        kind: "gpu_partition",
        name: "NVIDIA L40S MIG 1g",
        vendor: "nvidia",
        parent: Some("GPU-7e22"),
        index: None,
        idle: 5.0,
        share_of_work: 0.4,
    },
    Sensor {
        id: "cpu:package-0",
        kind: "cpu",
        name: "AMD EPYC 9354",
        vendor: "amd",
        parent: None,
        index: None,
        idle: 61.0,
        share_of_work: 0.22,
    },
    Sensor {
        id: "dram:0",
        kind: "dram",
        name: "DRAM",
        vendor: "amd",
        parent: None,
        index: None,
        idle: 0.0,
        share_of_work: 0.0,
    },
];

/// Writes both runs below a folder and names their folders.
pub(crate) fn write(base: &Path) -> [PathBuf; 2] {
    [write_run(base, &COMPLETED, |_| {}), write_run(base, &INTERRUPTED, |_| {})]
}

/// Writes one run. `change` may alter each case before it is written.
pub(crate) fn write_run(base: &Path, plan: &Plan, change: impl Fn(&mut ResultRow)) -> PathBuf {
    let mut random = Random(plan.seed);
    let mut slots = slots(plan, &mut random);
    let metrics = metrics(plan, &mut slots, &mut random);
    let results: Vec<ResultRow> = slots
        .iter()
        .enumerate()
        .map(|(index, slot)| {
            let mut row = result(plan, index, slot);
            change(&mut row);
            row
        })
        .collect();
    let traces: Vec<TraceRow> =
        slots.iter().enumerate().map(|(index, slot)| trace(plan, index, slot)).collect();
    let mut sums = RunAggregate::new();
    for row in &results {
        sums.result(row);
    }
    for row in &traces {
        sums.trace(row);
    }
    for row in &metrics {
        sums.metric(row);
    }

    let mut sink = JsonDataset::new(base).begun(at(0, 0)).peer_series(false);
    now(sink.create(&RunId::new(plan.run).unwrap())).unwrap();
    write_rows(&mut sink, Table::Results, results);
    write_rows(&mut sink, Table::Traces, traces);
    write_rows(&mut sink, Table::Metrics, metrics);
    write_rows(&mut sink, Table::Leaderboard, vec![leaderboard(plan, &sums, &slots)]);
    now(sink.finish(&metadata(plan).into_cell())).unwrap().into()
}

/// The sink never waits, so its futures are done when they are asked.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    futures_util::FutureExt::now_or_never(future).expect("files are written without waiting")
}

fn write_rows<T: TableRow>(sink: &mut JsonDataset, table: Table, rows: Vec<T>) {
    let rows: Vec<Row> = rows.into_iter().map(TableRow::into_row).collect();
    now(sink.write(table, &rows)).unwrap();
}

/// Three lanes, each case after the other.
fn slots(plan: &Plan, random: &mut Random) -> Vec<Slot> {
    let mut free = [3_u64, 4, 6];
    (0..plan.cases)
        .map(|index| {
            let lane = (0..3).min_by_key(|lane| free[*lane]).unwrap_or(0);
            let output = 60 + random.below(240);
            let millis = (output as f64 / plan.speed * 1e3 * (0.85 + random.part() * 0.4)) as u64 + 180;
            let mut begin = free[lane];
            if let Some((second, length)) = plan.pause
                && begin >= second
                && begin < second + length
            {
                begin = second + length + begin % 5;
            }
            free[lane] = begin + millis.div_ceil(1_000) + random.below(3);
            Slot { begin, millis, lane, output, energy: 0.0, passed: index % 9 != 4 }
        })
        .collect()
}

/// A row a second and device. What the devices draw while cases run is shared among them, so that the tables agree.
fn metrics(plan: &Plan, slots: &mut [Slot], random: &mut Random) -> Vec<MetricRow> {
    let end = slots.iter().map(|slot| slot.begin + slot.millis.div_ceil(1_000)).max().unwrap_or(0) + 6;
    let mut rows = Vec::new();
    let mut used = [[0.0_f64; 3]; SENSORS.len()];
    let mut started = 0;
    for second in 0..end {
        if let Some((from, length)) = plan.pause {
            if (from..from + length).contains(&second) {
                continue;
            }
            if second == from + length {
                // Another process with another collector: its counts begin at 0.
                used = [[0.0; 3]; SENSORS.len()];
                started = second;
            }
        }
        let running: Vec<usize> = (0..slots.len())
            .filter(|index| {
                let slot = &slots[*index];
                (slot.begin..slot.begin + slot.millis.div_ceil(1_000)).contains(&second)
            })
            .collect();
        for (device, sensor) in SENSORS.iter().enumerate() {
            let level = [0.0, 0.72, 0.9, 1.0][running.len().min(3)];
            let noise = (random.part() - 0.5) * 0.06 * sensor.idle.max(20.0);
            let power = sensor.idle + plan.work * sensor.share_of_work * level + noise;
            // In the last second before a row one joule in fifty was somebody else's.
            let other = if sensor.kind == "cpu" { power * 0.08 } else { 0.0 };
            let mine = power - other;
            let parts = &mut used[device];
            if running.is_empty() {
                parts[1] += mine;
            } else {
                parts[0] += mine;
                for slot in running.iter().filter(|_| sensor.parent.is_none() && sensor.kind != "dram") {
                    slots[*slot].energy += mine / running.len() as f64;
                }
            }
            parts[2] += other;
            rows.push(metric(plan, sensor, second, started, power, level, parts));
        }
    }
    rows
}

fn metric(
    plan: &Plan,
    sensor: &Sensor,
    second: u64,
    started: u64,
    power: f64,
    level: f64,
    parts: &[f64; 3],
) -> MetricRow {
    let mut row = MetricRow::default();
    let is_gpu = sensor.kind == "gpu";
    row.run_id = plan.run.into();
    row.service_name = "wattspan eval".into();
    row.timestamp = at(second, 0).into();
    row.timestamp_unix_nano = nanos(second, 0).to_string();
    row.started_unix_nano = nanos(started, 0).to_string();
    row.device_id = sensor.id.into();
    row.device_kind = sensor.kind.into();
    row.device_name = sensor.name.into();
    row.device_vendor = sensor.vendor.into();
    row.device_parent = sensor.parent.map(str::to_owned);
    row.device_is_counted = sensor.parent.is_none();
    if sensor.kind == "dram" {
        row.absence =
            Some("denied: let the user read /sys/class/powercap/intel-rapl:0:0/energy_uj".to_owned());
        return row;
    }
    row.power_watts = Some(power);
    row.power_peak_watts = Some(power * 1.04);
    row.energy_inference_j = Some(parts[0]);
    row.energy_idle_j = Some(parts[1]);
    row.energy_other_j = Some(parts[2]);
    row.energy_unattributed_j = Some(0.0);
    row.energy_j = Some(parts.iter().sum());
    row.energy_method = Some(if is_gpu { "counter" } else { "integrated" }.to_owned());
    row.co2_emissions_gco2e = row.energy_j.map(|joules| joules / 3.6e6 * 332.0);
    row.power_cost_usd = row.energy_j.map(|joules| joules / 3.6e6 * 0.31);
    row.utilization_percent = Some(level * 97.0);
    if is_gpu {
        row.gpu_id = sensor.index.map(str::to_owned);
        row.gpu_name = Some(sensor.name.to_owned());
        row.gpu_power_watts = Some(power);
        row.gpu_utilization_percent = row.utilization_percent;
        row.gpu_memory_used_mib = Some(6_200.0 + level * 900.0);
        row.gpu_memory_total_mib = Some(46_068.0);
        row.gpu_temperature_celsius = Some(41.0 + level * 22.0);
        row.temperature_celsius = row.gpu_temperature_celsius;
        row.power_limit_watts = Some(350.0);
        row.throttle =
            Some(if level >= 1.0 && second.is_multiple_of(50) { "sw_power_cap" } else { "" }.to_owned());
    }
    row
}

fn result(plan: &Plan, index: usize, slot: &Slot) -> ResultRow {
    let mut row = ResultRow::default();
    let case = format!("{}_{index:02}", ["weather", "capital", "sum", "translate"][index % 4]);
    row.run_id = plan.run.into();
    row.model = Some(plan.model.to_owned());
    row.provider = Some("llama_cpp".to_owned());
    row.evaluation_date = Some(at(slot.begin, 0).into());
    row.test_case_uid = Some(format!("none:{case}"));
    row.task_id = Some(case);
    row.agent_type = Some("none".to_owned());
    row.attempt = Some(1);
    row.prompt = Some(format!("What is the answer to question {index}?\nAnswer in one sentence."));
    row.response = Some(format!("The answer to question {index} is {}.", index * 3));
    row.success = Some(slot.passed);
    row.pass_at_1_passed = Some(slot.passed);
    row.response_correct = Some(slot.passed);
    row.stop_reason = Some(if index % 17 == 13 { "length" } else { "stop" }.to_owned());
    if index % 27 == 22 {
        row.error = Some("the server closed the connection".to_owned());
        row.stop_reason = Some("error".to_owned());
    }
    row.trace_id = Some(trace_id(plan, index));
    row.locality = Some("local_server".to_owned());
    row.inferences = Some(1);
    row.execution_time_ms = Some(slot.millis as f64);
    row.time_to_first_token_ms = Some(90.0 + slot.lane as f64 * 31.0 + (index % 7) as f64 * 8.5);
    row.input_tokens = Some(120 + (index as u64 * 37) % 400);
    row.cache_read_tokens = Some(64);
    row.output_tokens = Some(slot.output);
    row.total_tokens = row.input_tokens.map(|input| input + slot.output);
    if index % 20 == 19 {
        // Too short for the sensors, say: there is nothing but a model of the machine.
        row.energy_method = Some("estimated".to_owned());
        row.energy_estimated_j = Some(slot.energy * 1.2);
        row.settle_reason = Some("no reading covers it".to_owned());
        return row;
    }
    let energy = (slot.energy * 1e6).round() / 1e6;
    row.energy_j = Some(energy);
    row.energy_uncertainty_j = Some(energy * 0.055);
    row.energy_method = Some("counter".to_owned());
    row.energy_coverage = Some(if index % 13 == 12 { 0.94 } else { 1.0 });
    row.energy_gpu_j = Some(energy * 0.8);
    row.energy_cpu_j = Some(energy * 0.2);
    row.joules_per_output_token = Some(energy / slot.output as f64);
    row.co2_emissions_g = Some(energy / 3.6e6 * 332.0);
    row.carbon_intensity_g_per_kwh = Some(332.0);
    row.carbon_zone = Some("DE".to_owned());
    row.carbon_source = Some("owid-ember-2026-04".to_owned());
    row.carbon_kind = Some("average".to_owned());
    row.cost_usd = Some(energy / 3.6e6 * 0.31);
    row.cost_source = Some("electricity".to_owned());
    row
}

fn trace(plan: &Plan, index: usize, slot: &Slot) -> TraceRow {
    let id = trace_id(plan, index);
    let span = |number: u64, parent: Option<String>, name: &str, operation: &str| {
        let mut span = SpanRow::default();
        span.trace_id.clone_from(&id);
        span.span_id = format!("{:016x}", index as u64 * 16 + number + 1);
        span.parent_span_id = parent;
        span.name = name.into();
        span.start_time = nanos(slot.begin, 0);
        span.end_time = nanos(slot.begin, slot.millis);
        span.duration_ms = slot.millis as f64;
        span.kind = "CLIENT".into();
        span.status.code = "UNSET".into();
        span.attributes.push("gen_ai.operation.name", Cell::Text(operation.to_owned().into()));
        span
    };
    let agent = span(0, None, "invoke_agent case", "invoke_agent");
    let mut chat = span(1, Some(agent.span_id.clone()), &format!("chat {}", plan.model), "chat");
    if index % 27 == 22 {
        chat.status.code = "ERROR".into();
    }
    let mut event = EventRow::default();
    event.name = "gen_ai.evaluation.result".into();
    event.timestamp = chat.end_time;
    for (name, value) in [
        ("gen_ai.evaluation.name", if index.is_multiple_of(2) { "contains" } else { "regex" }),
        ("gen_ai.evaluation.score.label", if slot.passed { "pass" } else { "fail" }),
    ] {
        event.attributes.push(name, Cell::Text(value.into()));
    }
    chat.events.push(event);
    TraceRow::from_spans(plan.run, &id, vec![agent, chat])
}

fn leaderboard(plan: &Plan, sums: &RunAggregate, slots: &[Slot]) -> LeaderboardRow {
    let mut row = LeaderboardRow::default();
    row.run_id = plan.run.into();
    row.model = Some(plan.model.to_owned());
    row.provider = Some("llama_cpp".to_owned());
    row.agent_type = Some("none".to_owned());
    let end = slots.iter().map(|slot| slot.begin + slot.millis / 1_000 + 1).max().unwrap_or(0);
    row.timestamp = Some(at(end, 0).into());
    row.hardware = Some("2 × NVIDIA L40S, AMD EPYC 9354".to_owned());
    let mut detail = HardwareDetail::default();
    detail.cpu_model = Some("AMD EPYC 9354".to_owned());
    detail.gpus = vec![GpuMemory::default(); 2];
    row.hardware_detail = Some(detail);
    row.dataset_used = Some("cases/tools.jsonl".to_owned());
    row.run_status = Some(plan.status.to_owned());
    row.planned_tests = Some(plan.planned);
    sums.fill(&mut row);
    row
}

fn metadata(plan: &Plan) -> Metadata {
    let text = |text: &str| Cell::Text(text.to_owned().into());
    let mut metadata = Metadata::default();
    metadata.run_id = plan.run.into();
    metadata.model = Some(plan.model.to_owned());
    metadata.run_status = Some(plan.status.to_owned());
    metadata.started = Some(at(0, 0).into());
    metadata.versions =
        Attributes(vec![("wattspan".into(), text("0.1.0")), ("llama-server".into(), text("b7200"))]);
    metadata.configure(Attributes(vec![
        ("temperature".into(), Cell::Float(0.0)),
        ("concurrency".into(), Cell::Int(3)),
        ("api_key".into(), text("sk-not-for-anybody")),
    ]));
    metadata.methods = Attributes(vec![
        (
            "carbon_intensity".into(),
            Cell::Map(vec![
                ("source".into(), text("owid-ember-2026-04")),
                ("zone".into(), text("DE")),
                ("year".into(), Cell::Int(2025)),
                ("kind".into(), text("average")),
                ("provenance".into(), text("bundled")),
            ]),
        ),
        ("electricity_price".into(), text("0.31 USD/kWh, given by the user")),
    ]);
    metadata
}

fn trace_id(plan: &Plan, index: usize) -> String {
    format!("{:016x}{:016x}", plan.seed, index + 1)
}

/// Nanoseconds since 1970 of a second and a millisecond of the run, which begins on 2026-12-01 at 21:46:38 UTC.
fn nanos(second: u64, millis: u64) -> u64 {
    (1_796_161_598 + second) * 1_000_000_000 + millis * 1_000_000
}

fn at(second: u64, millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(nanos(second, millis))
}

/// Numbers that look random and are always the same. (Knuth's MMIX constants.)
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn part(&mut self) -> f64 {
        self.next() as f64 / f64::from(1_u32 << 31)
    }
}
