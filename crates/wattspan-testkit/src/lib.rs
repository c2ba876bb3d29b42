//! Fakes, tapes and conformance suites for testing wattspan crates.
