//! Every published library opens with an example that is compiled and run as a doc test.

use super::{Findings, read, shown};
use crate::Outcome;
use crate::metadata::Metadata;

pub fn check(metadata: &Metadata) -> Outcome<Findings> {
    let mut findings = Vec::new();
    for package in metadata.members().filter(|package| package.is_published) {
        let Some(library) = package.library() else { continue };
        if !has_example(&read(&library.source)?) {
            findings
                .push(format!("{}: no runnable example in the crate's `//!` docs", shown(&library.source)));
        }
    }
    Ok(findings)
}

/// Whether the `//!` docs at the top hold a code block that rustdoc runs.
fn has_example(source: &str) -> bool {
    let mut inside = false;
    for line in source.lines().filter_map(|line| line.trim_start().strip_prefix("//!")) {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        inside = !inside;
        if inside && runs(info) {
            return true;
        }
    }
    false
}

/// Whether rustdoc runs a block with these words behind its fence: Rust is the default, and it is not held back.
fn runs(info: &str) -> bool {
    let words = info.split([',', ' ', '\t']).map(str::trim).filter(|word| !word.is_empty());
    words.into_iter().all(|word| word == "rust" || word == "should_panic" || word.starts_with("edition"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rust_block_in_the_crate_docs_is_an_example() {
        for good in [
            "//! One.\n//!\n//! ```\n//! let x = 1;\n//! ```\n",
            "//! ```text\n//! a\n//! ```\n//! ```rust\n//! ```\n",
        ] {
            assert!(has_example(good), "{good}");
        }
    }

    #[test]
    fn other_blocks_and_other_docs_are_not() {
        for bad in [
            "//! No block.\n",
            "//! ```text\n//! a\n//! ```\n",
            "//! ```toml\n//! [x]\n//! ```\n//! ```sh\n//! ```\n",
            "//! ```no_run\n//! f();\n//! ```\n",
            "//! ```rust,ignore\n//! f();\n//! ```\n",
            "/// ```\n/// f();\n/// ```\nfn f() {}\n",
        ] {
            assert!(!has_example(bad), "{bad}");
        }
    }
}
