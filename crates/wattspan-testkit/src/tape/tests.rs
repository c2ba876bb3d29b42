//! Tests of tapes.

use super::*;
use proptest::prelude::*;
use std::time::Duration;
use wattspan_core::{
    Bytes, Celsius, Clock, CounterSpec, DeviceId, DeviceKind, DeviceScope, Gauges, Locality, PowerShape,
    PowerSpec, ProcessUse, Ratio, Reading, Vendor, Watts, Workload,
};

const HEADER: &str = r#"{"wattspan_tape":1,"wall_unix_ms":1767225600000}"#;
const GPU: &str =
    r#"{"event":"device","device":{"id":"GPU-0","kind":"gpu","vendor":"nvidia","name":"test"}}"#;

fn ms(millis: u64) -> MonoTime {
    MonoTime::from_nanos(millis * 1_000_000)
}

/// A tape with one of everything.
fn full() -> Tape {
    let mut gpu = Device::new(DeviceId::new("GPU-0"), DeviceKind::Gpu, Vendor::Nvidia, "test");
    gpu.counter = Some(CounterSpec { microjoules_per_tick: (1_000, 1), modulus: None, refresh: None });
    gpu.power = Some(PowerSpec {
        shape: PowerShape::TrailingMean { window: Duration::from_secs(1) },
        refresh: Some(Duration::from_millis(100)),
    });
    let gpu = Arc::new(gpu);
    let mut sample = DeviceSample::new(Arc::clone(&gpu), ms(5));
    sample.energy = Reading::Value(u64::MAX);
    sample.power = Reading::denied("add the group");
    sample.gauges.utilization = Reading::Value(Ratio::ONE);
    sample.gauges.temperature = Reading::Value(Celsius::whole(40));
    sample.gauges.memory_used = Reading::Value(Bytes::new(7));
    sample.gauges.throttle = Reading::Value(vec!["sw_power_cap"]);
    sample.gauges.cpu_busy = Reading::Value(Duration::from_nanos(12));
    sample.gauges.fan = Reading::failed("stuck");
    let mut process = ProcessUse::new(7_044);
    process.utilization = Reading::Value(Ratio::percent(12.0).unwrap());
    process.busy = Reading::Value(Duration::from_millis(3));
    sample.processes = Reading::Value(vec![process, ProcessUse::new(7_180)]);
    let mut tape = Tape::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600));
    let inference = InferenceId::new(1);
    let mut begin = Begin::new(ms(1), tape.wall + Duration::from_millis(1), "chat", "llama_cpp");
    begin.model = Some("m".into());
    begin.workload = Workload::Encoding;
    begin.locality = Locality::LocalServer { pid: Some(9) };
    begin.devices = DeviceScope::Only([DeviceId::new("GPU-0")].into());
    let mut facts = Facts::default();
    facts.first_token = Some(ms(3));
    facts.error_type = Some("timeout".into());
    facts.tokens.output = Some(3);
    facts.finish_reasons = vec!["stop".into()];
    let mut phases = LatePhases::default();
    phases.prompt = Some(Duration::from_millis(2));
    tape.note = Some("one of everything".into());
    tape.events = vec![
        Event::Device(gpu),
        Event::Begin { inference, begin },
        Event::Begin {
            inference: InferenceId::new(2),
            begin: Begin::new(ms(1), tape.wall + Duration::from_millis(1), "chat", "p"),
        },
        Event::Prompted { time: ms(2), inference, tokens: 11 },
        Event::Decoded { time: ms(3), inference, steps: 1 },
        Event::WallStep { time: ms(4), seconds: -30 },
        Event::Sample(sample),
        Event::Finish { time: ms(6), inference, facts, phases },
        Event::GiveUp { time: ms(7), inference: InferenceId::new(2) },
    ];
    tape
}

#[test]
fn what_is_written_is_read_back() {
    let tape = full();
    let text = tape.write();
    let again = Tape::read(&text).unwrap();
    // Not all parts can be compared, and all of them are shown.
    assert_eq!(format!("{again:?}"), format!("{tape:?}"));
    assert_eq!(again.write(), text);
    assert_eq!(text.lines().count(), 10);
}

#[test]
fn absent_readings_keep_their_reason() {
    let line = r#"{"event":"sample","t_ns":1,"device":"GPU-0","energy":null,"power_watts":{"denied":"be root"},"processes":{"failed":"gone"}}"#;
    let tape = Tape::read(&[HEADER, GPU, "", line].join("\n")).unwrap();
    let Event::Sample(sample) = &tape.events[1] else { panic!("{:?}", tape.events) };
    assert_eq!(sample.energy, Reading::NotSupported);
    assert_eq!(sample.power, Reading::<Watts>::denied("be root"));
    assert_eq!(sample.processes, Reading::failed("gone"));
    assert_eq!(sample.gauges, Gauges::default());
}

#[track_caller]
fn fails(lines: &[&str], line: usize, column: usize, part: &str) {
    match Tape::read(&lines.join("\n")) {
        Err(TapeError::Line { line: at, column: within, reason }) => {
            assert_eq!((at, within), (line, column), "{reason}");
            assert!(reason.contains(part), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fault_is_named_by_line_and_column() {
    fails(&[], 1, 1, "begins with its header");
    fails(&[GPU], 1, 8, "begins with its header");
    fails(&[r#"{"wattspan_tape":2,"wall_unix_ms":0}"#], 1, 2, "version 2 is not known");
    fails(&[HEADER, "{"], 2, 1, "EOF");
    fails(&[HEADER, r#"{"t_ns":1}"#], 2, 10, "missing field `event`");
    fails(&[HEADER, "", r#"{"t_ns":1,"event":"smaple"}"#], 3, 11, "there are: device, sample, begin");
    fails(&[HEADER, r#"{"event":"wall_step","t_ns":-1,"seconds":1}"#], 2, 30, "-1");
    fails(&[HEADER, r#"{"event":"wall_step","t_ns":1,"secs":1}"#], 2, 36, "unknown field `secs`");
    fails(
        &[HEADER, r#"{"event":"sample","t_ns":1,"device":"GPU-1"}"#],
        2,
        28,
        "no line before names the device \"GPU-1\"",
    );
    fails(&[HEADER, GPU, GPU], 3, 29, "here already");
    fails(&[HEADER, GPU, r#"{"event":"sample","t_ns":1,"device":"GPU-0","energy":-3}"#], 3, 55, "-3");
    fails(
        &[HEADER, GPU, r#"{"event":"sample","t_ns":1,"device":"GPU-0","energy":{"lost":"x"}}"#],
        3,
        60,
        "lost",
    );
    fails(
        &[HEADER, r#"{"event":"decoded","t_ns":1,"inference":4,"steps":1}"#],
        2,
        29,
        "no line before begins inference 4",
    );
    let begin = r#"{"event":"begin","t_ns":1,"inference":4,"operation":"chat","provider":"p"}"#;
    let end = r#"{"event":"give_up","t_ns":2,"inference":4}"#;
    fails(&[HEADER, begin, begin], 3, 27, "has begun already");
    fails(&[HEADER, begin, end, end], 4, 29, "has ended already");
}

#[test]
fn a_missing_file_is_named() {
    let error = Tape::load("/nowhere/at/all.ndjson").unwrap_err().to_string();
    assert!(error.contains("/nowhere/at/all.ndjson"), "{error}");
}

#[test]
fn events_are_played_by_time_and_the_clock_goes_along() {
    let mut tape = full();
    tape.events.reverse();
    let player = Player::new(&tape);
    let clock = player.clock();
    let mut seen = Vec::new();
    player.play(|event| {
        let wall = clock
            .wall()
            .duration_since(tape.wall)
            .map_or_else(|before| -before.duration().as_secs_f64(), |after| after.as_secs_f64());
        seen.push((event.time().map(MonoTime::nanos), clock.mono().nanos() / 1_000_000, wall.round() as i64));
    });
    let times: Vec<_> = seen.iter().map(|(_, now, _)| *now).collect();
    assert_eq!(times, [0, 1, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(seen[0].0, None, "the device comes first");
    assert_eq!(seen.last().unwrap().2, -30, "the wall clock was stepped");
    assert_eq!(tape.devices().len(), 1);
}

#[test]
fn ticks_come_between_the_events_and_after_those_of_their_time() {
    let mut player = Player::new(&full()).ticking(Duration::from_millis(2), Duration::from_millis(3));
    let mut seen = Vec::new();
    while let Some(step) = player.step() {
        match step {
            Step::Event(_) => seen.push("e".to_owned()),
            Step::Tick(time) => seen.push(format!("|{}", time.nanos() / 1_000_000)),
        }
    }
    assert_eq!(seen.concat(), "e|0eee|2ee|4ee|6e|8|10");
    let mut exact = Player::new(&full()).ticking(Duration::from_millis(7), Duration::from_millis(7));
    let ticks = std::iter::from_fn(|| exact.step()).filter_map(|step| match step {
        Step::Tick(time) => Some(time.nanos() / 1_000_000),
        Step::Event(_) => None,
    });
    assert_eq!(ticks.collect::<Vec<_>>(), [0, 7, 14]);
    let mut never = Player::new(&full()).ticking(Duration::ZERO, Duration::MAX);
    let events = std::iter::from_fn(|| never.step()).inspect(|step| assert!(matches!(step, Step::Event(_))));
    assert_eq!(events.count(), full().events.len());
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(lines in prop::collection::vec("[\\[\\]{}\"a-z_:,.0-9é-]{0,60}", 0..6), headed: bool) {
        let mut text = if headed { format!("{HEADER}\n{GPU}\n") } else { String::new() };
        text.push_str(&lines.join("\n"));
        if let Err(TapeError::Line { line, column, .. }) = Tape::read(&text) {
            prop_assert!(line >= 1 && column >= 1);
        }
    }

    #[test]
    fn samples_survive_the_text(energy: u64, millis in 0_u64..10_000_000, watts in 0.0_f64..1e6, reason in "\\PC{0,20}") {
        let mut tape = full();
        let device = tape.devices()[0].clone();
        let mut sample = DeviceSample::new(device, ms(millis));
        (sample.energy, sample.power) = (Reading::Value(energy), Watts::new(watts).into());
        sample.gauges.clock = Reading::failed(reason);
        tape.events = vec![tape.events[0].clone(), Event::Sample(sample.clone())];
        let again = Tape::read(&tape.write()).unwrap();
        match &again.events[1] {
            Event::Sample(read) => prop_assert_eq!(read, &sample),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
