//! `wattspan push`, and the same after an evaluation: a finished run's folder goes to the Hub or to OpenSearch.

mod args;
mod hub;
mod opensearch;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::args::PushArgs;
use crate::exit::{Failure, OK, USAGE};
use crate::output::{Output, say};

pub(crate) use args::{EndArgs, To, secret_file};

impl EndArgs {
    /// What can be found wrong with the options before anything is sent.
    pub(crate) fn check(&self, to: To) -> Result<(), Failure> {
        match to {
            To::Hub => hub::open(self).map(|_| ()),
            To::OpenSearch => opensearch::options(self).map(|_| ()),
        }
    }

    /// Pushes a finished run; answers where it is. The folder is only read.
    pub(crate) fn push(&self, to: To, folder: &Path, quiet: bool) -> Result<Value, Failure> {
        match to {
            To::Hub => hub::push(self, folder, quiet),
            To::OpenSearch => opensearch::push(self, folder, quiet),
        }
    }

    /// What is in the way of a push, found out without writing.
    pub(crate) fn look(&self, to: To) -> Vec<Look> {
        match to {
            To::Hub => hub::look(self),
            To::OpenSearch => opensearch::look(self),
        }
    }
}

/// One thing that was looked at.
pub(crate) struct Look {
    /// Whether it works; `None` is worth knowing and breaks nothing.
    pub(crate) works: Option<bool>,
    pub(crate) about: String,
    pub(crate) text: String,
}

/// How to push again what is on the disk.
pub(crate) fn again(to: To, folder: &Path) -> String {
    format!("wattspan push {} --to {}", quoted(folder), to.as_str())
}

/// As a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

pub(crate) fn push(args: &PushArgs) -> Result<u8, Failure> {
    if let Some(out) = &args.dry_run {
        if args.to != To::Hub {
            return Err(Failure::new(USAGE, "--dry-run is for --to hub, where files are what is pushed"));
        }
        let mut files: Vec<PathBuf> = Vec::new();
        for folder in &args.folders {
            files.extend(hub::dry_run(&args.ends, folder, out)?);
        }
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let text =
            if args.json { format!("{:#}\n", json!({ "files": names })) } else { names.join("\n") + "\n" };
        return Output::Stdout.text(&text).map(|()| OK);
    }
    args.ends.check(args.to)?;
    let (mut pushed, mut failed) = (Vec::new(), None);
    for folder in &args.folders {
        match args.ends.push(args.to, folder, args.quiet) {
            Ok(places) => {
                if !args.json && !args.quiet {
                    say(&format!("wattspan: {} is at", folder.display()));
                    for (name, place) in places.as_object().into_iter().flatten() {
                        say(&format!("  {name:<11} {}", place.as_str().unwrap_or_default()));
                    }
                }
                pushed.push(json!({ "folder": folder, "to": args.to.as_str(), "places": places }));
            }
            Err(failure) => {
                say(&format!("wattspan: {}", failure.message));
                failed = Some(failure.code);
                pushed.push(json!({ "folder": folder, "to": args.to.as_str(), "error": failure.message }));
            }
        }
    }
    if args.json {
        Output::Stdout.text(&format!("{:#}\n", json!({ "pushed": pushed })))?;
    }
    Ok(failed.unwrap_or(OK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_pushes_again_can_be_pasted() {
        assert_eq!(again(To::Hub, Path::new("runs/a-1")), "wattspan push runs/a-1 --to hub");
        assert_eq!(
            again(To::OpenSearch, Path::new("my runs/it's")),
            r"wattspan push 'my runs/it'\''s' --to opensearch"
        );
    }
}
