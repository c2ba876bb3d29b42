//! Any text as a file of test cases, in each format: cases with distinct ids and something to say, or a fault with words
//! and a place inside the text.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use wattspan_eval::{CaseFormat, Cases};

fuzz_target!(|text: &str| {
    for format in [CaseFormat::Json, CaseFormat::JsonLines, CaseFormat::Csv] {
        match Cases::parse(text, format) {
            Ok(cases) => {
                let ids: HashSet<&str> = cases.as_slice().iter().map(|case| case.id.as_str()).collect();
                assert_eq!(ids.len(), cases.len());
                assert!(cases.as_slice().iter().all(|case| !case.id.is_empty() && !case.messages.is_empty()));
            }
            Err(error) => {
                assert!(error.to_string().len() > 10, "{error}");
                let lines = text.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
                assert!(error.line() <= lines, "{error}");
            }
        }
    }
});
