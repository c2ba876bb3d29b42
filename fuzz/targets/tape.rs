//! Any text: the reader answers with a tape or with a place in the text, and a tape that was read is written and read
//! back as the same one.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use wattspan_testkit::tape::{Player, Tape, TapeError};

fuzz_target!(|text: &str| {
    let tape = match Tape::read(text) {
        Ok(tape) => tape,
        Err(TapeError::Line { line, column, .. }) => {
            assert!(line >= 1 && line <= text.lines().count().max(1), "line {line} is not in the text");
            assert!(column >= 1);
            return;
        }
        Err(other) => panic!("{other}"),
    };
    let written = tape.write();
    let again = Tape::read(&written).expect("what was written can be read");
    assert_eq!(again.write(), written);

    let (mut played, mut last) = (0, 0);
    // Far apart, since a tape may last for centuries.
    let mut player = Player::new(&tape).ticking(Duration::from_secs(1 << 32), Duration::ZERO);
    let clock = player.clock();
    while let Some(step) = player.step() {
        let now = wattspan_core::Clock::mono(&*clock).nanos();
        assert!(now >= last, "the clock went back");
        last = now;
        played += usize::from(matches!(step, wattspan_testkit::tape::Step::Event(_)));
    }
    assert_eq!(played, tape.events.len());
});
