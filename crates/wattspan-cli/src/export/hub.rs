//! The Hugging Face Hub.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wattspan::hub::{Hub, HubOptions, Mark, Progress, Token, Visibility};

use super::args::secret_file;
use super::{EndArgs, Look};
use crate::bars;
use crate::exit::{Failure, PUSH, USAGE};

pub(super) fn open(ends: &EndArgs) -> Result<Hub, Failure> {
    let args = &ends.hub;
    let mut options = HubOptions::from_env(|name| std::env::var(name).ok());
    if let Some(path) = &args.hf_token_file {
        options = options.token(Token::new(secret_file("--hf-token-file", path)?, "--hf-token-file"));
    } else if let Some(token) = &args.hf_token {
        options = options.token(Token::new(&token.0, "--hf-token"));
    }
    if let Some(endpoint) = &args.hub_endpoint {
        options = options.endpoint(endpoint);
    }
    if let Some(namespace) = &args.hub_namespace {
        options = options.namespace(namespace);
    }
    if let Some(prefix) = &args.hub_prefix {
        options = options.prefix(prefix);
    }
    if let Some(patience) = ends.push_patience {
        options = options.patience(patience);
    }
    let visibility = if args.public { Visibility::Public } else { Visibility::Private };
    let options = options.visibility(visibility).allow_plain_http(args.hub_allow_plain_http);
    Hub::new(options).map_err(|error| Failure::of(USAGE, &error))
}

pub(super) fn push(ends: &EndArgs, folder: &Path, quiet: bool) -> Result<Value, Failure> {
    let hub = open(ends)?;
    let bar = bars::spinner(quiet);
    let pushed = hub.push(folder, &mut |progress| {
        if let Progress::Uploading { sent, total, .. } = &progress {
            bars::bytes(&bar, *sent, *total);
        }
        bar.set_message(progress.to_string());
    });
    bar.finish_and_clear();
    let pushed = pushed.map_err(|error| Failure::of(PUSH, &error))?;
    Ok(json!({
        "results": pushed.results.url,
        "traces": pushed.traces.url,
        "metrics": pushed.metrics.url,
        "leaderboard": pushed.leaderboard.url,
    }))
}

pub(super) fn dry_run(ends: &EndArgs, folder: &Path, out: &Path) -> Result<Vec<PathBuf>, Failure> {
    open(ends)?.dry_run(folder, out).map_err(|error| Failure::of(PUSH, &error))
}

pub(super) fn look(ends: &EndArgs) -> Vec<Look> {
    let hub = match open(ends) {
        Ok(hub) => hub,
        Err(failure) => {
            return vec![Look { works: Some(false), about: "Hub".to_owned(), text: failure.message }];
        }
    };
    let looks = hub.check().into_iter().map(|finding| Look {
        works: match finding.mark {
            Mark::Ok => Some(true),
            Mark::Note => None,
            Mark::Problem => Some(false),
        },
        about: format!("Hub, {}", finding.what),
        text: finding.detail,
    });
    looks.collect()
}
