use std::sync::Arc;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use wattspan::core::{
    Bytes, Celsius, Device, DeviceId, DeviceKind, DeviceSample, Joules, MonoTime, Ratio, Vendor,
};

use super::super::state::Key;
use super::*;

fn gpu(index: u32) -> (DeviceSample, Reading<Watts>, Option<Joules>) {
    let mut device =
        Device::new(DeviceId::new(format!("GPU-{index:04}")), DeviceKind::Gpu, Vendor::Nvidia, "NVIDIA H200");
    device.index = Some(index);
    let mut sample = DeviceSample::new(Arc::new(device), MonoTime::ZERO);
    sample.gauges.utilization = Reading::Value(Ratio::share(0.5).unwrap());
    sample.gauges.memory_used = Reading::Value(Bytes::new(3 << 30));
    sample.gauges.memory_total = Reading::Value(Bytes::new(80 << 30));
    sample.gauges.temperature = Reading::Value(Celsius::whole(44));
    (sample, Reading::Value(watts(300.0)), Some(Joules::from_millijoules(12_000)))
}

fn watts(watts: f64) -> Watts {
    Watts::new(watts).unwrap()
}

fn server() -> ServerStats {
    let mut stats = ServerStats::new(MonoTime::ZERO, "127.0.0.1:8080");
    stats.tokens_per_second = Reading::Value(41.25);
    stats.busy_slots = Reading::Value(1);
    stats.slots = Reading::Value(4);
    stats.queued = Reading::Value(7);
    stats.kv_cache = Reading::Value(Ratio::share(0.25).unwrap());
    stats
}

fn of(gpus: u32, servers: Vec<ServerStats>) -> State {
    let mut state = State::default();
    let devices = || (0..gpus).rev().map(gpu).collect();
    let all = watts(300.0 * f64::from(gpus));
    state.set(None, None, devices(), servers.clone());
    state.set(Some(all), Some(Joules::from_millijoules(24_000)), devices(), servers);
    state
}

fn drawn(state: &State, width: u16, height: u16, colours: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, Palette { colours })).unwrap();
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    let symbols: Vec<&str> = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
    symbols.chunks(width).map(|line| line.concat().trim_end().to_owned()).collect()
}

#[test]
fn two_gpus_and_a_server_on_a_usual_screen() {
    let state = of(2, vec![server()]);
    let lines = lines(&drawn(&state, 120, 16, true));
    assert_eq!(lines[0], "600 W of all devices  24 J in 0 s");
    // The curve: nothing was known at the first look; the newest, at the right edge, is the most there was.
    assert!((1..=5).all(|line| lines[line] == format!("{:>120}", "█")), "{lines:#?}");
    assert_eq!(
        lines[6],
        "device   power     energy     util    memory                   temp     power lately     model"
    );
    let gpu = |index| {
        format!(
            "gpu{index}     300 W     12 J       50.0 %  3.00 GiB of 80.00 GiB    44.0 °C  {:>16} NVIDIA H200",
            "██"
        )
    };
    assert_eq!(lines[7..=8], [gpu(0), gpu(1)]);
    assert_eq!(lines[13], "server          tokens/s J/token  slots   waiting KV");
    assert_eq!(lines[14], "127.0.0.1:8080  41.2     –        1/4     7       25.0 %");
    assert_eq!(lines[15], "q ends");
}

#[test]
fn case_cli_06_seventy_two_gpus_scroll() {
    let mut state = of(72, Vec::new());
    let shown = |state: &State| lines(&drawn(state, 80, 24, true));
    let first = shown(&state);
    assert_eq!(first[0], "21.6 kW of all devices  24 J in 0 s");
    let area = Rect::new(0, 0, 80, 24);
    let seen = visible(area, &state);
    assert_eq!(seen, 24 - 1 - 5 - 1 - 1);
    assert!(first[7].starts_with("gpu0 ") && first[22].starts_with("gpu15 "), "{first:#?}");
    assert_eq!(first[23], "devices 1–16 of 72  q ends, ↑ ↓ PgUp PgDn Home End move");

    let mut met: Vec<String> = Vec::new();
    loop {
        for line in &shown(&state)[7..23] {
            let label = line.split(' ').next().unwrap().to_owned();
            if !met.contains(&label) {
                met.push(label);
            }
        }
        let before = state.scroll;
        state.key(Key::PageDown, seen);
        if state.scroll == before {
            break;
        }
    }
    let all: Vec<String> = (0..72).map(|index| format!("gpu{index}")).collect();
    assert_eq!(met, all, "each is met once, by number");
    assert!(shown(&state)[23].starts_with("devices 57–72 of 72"));
    state.key(Key::Down, seen);
    state.key(Key::Up, seen);
    assert!(shown(&state)[7].starts_with("gpu55 "));
    state.key(Key::First, seen);
    state.key(Key::Up, seen);
    assert_eq!(shown(&state), first);
    // A larger screen has no lines after the last device.
    state.key(Key::Last, seen);
    assert!(lines(&drawn(&state, 80, 100, true)).iter().any(|line| line.starts_with("gpu0 ")));
}

#[test]
fn a_narrow_or_low_screen_keeps_what_matters_most() {
    let state = of(2, vec![server()]);
    let narrow = lines(&drawn(&state, 30, 20, true));
    assert!(narrow.iter().any(|line| line == "gpu0     300 W     12 J"), "{narrow:#?}");
    assert!(narrow.iter().any(|line| line.starts_with("127.0.0.1:8080  41.2")), "{narrow:#?}");
    let low = lines(&drawn(&state, 80, 5, true));
    assert!(low[0].starts_with("600 W") && low[2].starts_with("gpu0 "), "{low:#?}");
    // Nothing to see, and no panic either.
    for (width, height) in [(1, 1), (1, 40), (200, 1), (3, 3), (12, 2)] {
        drawn(&state, width, height, true);
    }
}

#[test]
fn without_colours_there_are_none() {
    let mut failing = server();
    failing.tokens_per_second = Reading::failed("it does not answer");
    let mut state = of(1, vec![failing]);
    state.devices[0].power = Reading::failed("lost");
    let coloured = |colours| {
        let buffer = drawn(&state, 120, 20, colours);
        buffer.content.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert_eq!((coloured(true), coloured(false)), (true, false));
    let text = lines(&drawn(&state, 120, 20, false)).join("\n");
    assert!(text.contains("it does not answer"), "the reason is in words: {text}");
}

#[test]
fn what_is_not_known_is_a_dash_and_no_devices_are_explained() {
    let empty = lines(&drawn(&State::default(), 80, 20, true));
    assert_eq!(empty[0], "– of all devices  – in 0 s");
    assert!(empty.iter().any(|line| line.contains("`wattspan devices` says why")), "{empty:#?}");
    let mut state = State::default();
    let device = Device::new(DeviceId::new("cpu"), DeviceKind::Cpu, Vendor::Amd, "EPYC");
    let sample = DeviceSample::new(Arc::new(device), MonoTime::ZERO);
    state.set(None, None, vec![(sample, Reading::NotSupported, None)], Vec::new());
    let lines = lines(&drawn(&state, 120, 20, true));
    let line = lines.iter().find(|line| line.starts_with("cpu")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["cpu", "–", "–", "–", "–", "–", "EPYC"]);
}
