//! An evaluation on a machine with a fake GPU at a known power, in this process or in one that can be killed.

use std::path::{Path, PathBuf};

use serde_json::json;
use wattspan::{Setting, Wattspan};
use wattspan_core::RunId;
use wattspan_dataset::JsonDataset;
use wattspan_eval::{
    AgentType, Case, Cases, Check, Earlier, Evaluation, Event, Generation, Outcome, Provider, Recorder,
    ServerTarget, Stop, ToolSpec, run_evaluation,
};
use wattspan_fake_nvml::FakeNvml;

use crate::WATTS;

/// Grams of a kilowatt-hour.
pub const INTENSITY: f64 = 475.0;
/// Dollars of a kilowatt-hour.
pub const PRICE: f64 = 0.12;
/// Cases of the evaluation; the last one declares a tool and is run in both ways.
pub const CASES: usize = 20;
/// Attempts that they make.
pub const ATTEMPTS: usize = CASES + 1;

fn cases() -> Cases {
    let number = |number: usize| {
        Case::new(format!("number-{number}"), format!("What comes after {number}?"))
            .expected((number + 1).to_string())
            .check(Check::contains("e").ignore_case())
            .tag("numbers")
    };
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let weather = ToolSpec::table("get_weather", "The weather in a city").otherwise("rain");
    let weather = weather.parameters(schema).expect("a schema");
    let mut cases: Vec<Case> = (1..CASES).map(number).collect();
    cases.push(Case::new("weather", "Weather in Oslo?").tool(weather).expected_tool("get_weather"));
    Cases::new(cases).expect("cases of different ids")
}

/// An evaluation of [`CASES`] cases against a llama-server: two at a time, up to four tokens an answer.
pub struct EvalRun {
    /// The server.
    pub url: String,
    /// Where the run's folder is made.
    pub folder: PathBuf,
    /// The run.
    pub run: RunId,
    /// Stop dead, with a case in flight, when this many attempts are finished.
    pub freeze_after: Option<u64>,
}

impl EvalRun {
    /// Runs it, or goes on with it.
    ///
    /// # Panics
    /// When anything fails.
    pub fn run(&self) -> Outcome {
        let driver = FakeNvml::builder().gpus(1).real_clock().load().expect("the fake driver");
        let gpu = driver.gpu(0);
        gpu.idle_watts(WATTS).and_then(|gpu| gpu.counter_refresh(20_000, 0)).expect("a known power");
        let recorder = Recorder::new(&self.run);
        let library = driver.path().to_str().expect("a path of plain text");
        let wattspan = Wattspan::builder()
            .set(Setting::NvmlLibrary, library)
            .set(Setting::Host, "off")
            .set(Setting::Estimate, "off")
            .set(Setting::SettleWithin, "60s")
            .set(Setting::Intensity, INTENSITY.to_string())
            .set(Setting::ElectricityPrice, PRICE.to_string())
            .sample_sink(recorder.sample_sink())
            .record_sink(recorder.record_sink())
            .span_exporter(recorder.span_exporter())
            .not_global()
            .start()
            .expect("wattspan");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let outcome = runtime.block_on(self.evaluate(&wattspan, &recorder));
        // Before the driver, whose library the collector uses.
        drop(wattspan);
        outcome
    }

    async fn evaluate(&self, wattspan: &Wattspan, recorder: &Recorder) -> Outcome {
        let client = wattspan.llama_server(&self.url).build().expect("a client");
        let target = ServerTarget::new(client, "SmolLM2", Provider::LlamaServer).probe().await;
        let mut sink = JsonDataset::new(&self.folder);
        let earlier = Earlier::open(&mut sink, &self.run).await.expect("the earlier part");
        let evaluation = Evaluation::new(cases(), target.expect("a server"))
            .agent(AgentType::Both)
            .concurrency(2)
            .max_steps(2)
            .generation(Generation::greedy().max_tokens(4))
            .settle_within(std::time::Duration::from_secs(120))
            .resume(earlier);
        let freeze_after = self.freeze_after;
        let progress = move |event: &Event<'_>| {
            if let Event::Finished { done, .. } = event
                && Some(*done) == freeze_after
            {
                loop {
                    std::thread::park();
                }
            }
        };
        let genai = wattspan.genai(Provider::LlamaServer.genai_name());
        run_evaluation(&evaluation, &genai, recorder, &mut sink, &progress, &Stop::new())
            .await
            .expect("a run")
    }

    /// How many results are in its journal.
    pub fn journalled(&self) -> usize {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let journal = entries.map(|entry| entry.path().join("journal.ndjson")).find(|path| path.exists());
        let text = journal.map(|path| read(&path)).unwrap_or_default();
        text.lines().filter(|line| line.starts_with(r#"{"results":"#) && line.ends_with('}')).count()
    }
}

/// A journal that is being written may end in the middle of a character.
fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}
