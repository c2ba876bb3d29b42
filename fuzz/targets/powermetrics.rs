//! Any text as a report of powermetrics, in both its forms: an error or finite figures.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wattspan_apple::{powermetrics_plist, powermetrics_text};

fuzz_target!(|text: &str| {
    let _ = powermetrics_plist(text);
    let _ = powermetrics_text(text);
});
