//! OpenSearch and Elasticsearch.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use wattspan::dataset::{JsonRun, Replay, ReplayError};
use wattspan::opensearch::{OpenSearchSink, Options, Retry, Right, Secret, check};

use super::args::secret_file;
use super::{EndArgs, Look, To, again};
use crate::bars;
use crate::exit::{Failure, PUSH, SYSTEM, USAGE};
use crate::output::say;

pub(super) fn options(ends: &EndArgs) -> Result<Options, Failure> {
    let args = &ends.opensearch;
    let mut options = Options::default();
    if let Some(url) = &args.opensearch_url {
        options = options.url(url);
    }
    if let Some(host) = &args.opensearch_host {
        options = options.host(host);
    }
    if let Some(port) = args.opensearch_port {
        options = options.port(port);
    }
    if let Some(user) = &args.opensearch_user {
        options = options.user(user);
    }
    if let Some(path) = &args.opensearch_password_file {
        let secret = secret_file("--opensearch-password-file", path)?;
        options = options.password(Secret::new(secret, "--opensearch-password-file"));
    } else if let Some(password) = &args.opensearch_password {
        options = options.password(Secret::new(password.0.as_str(), "--opensearch-password"));
    }
    if let Some(prefix) = &args.opensearch_index_prefix {
        options = options.index_prefix(prefix);
    }
    if let Some(patience) = ends.push_patience {
        options = options.retry(retry(patience));
    }
    let options = options
        .ssl(args.opensearch_ssl)
        .verify_certs(!args.opensearch_no_verify_certs)
        .allow_insecure_remote(args.opensearch_allow_insecure_remote)
        .environment(|name| std::env::var(name).ok());
    // Finds what is wrong with them before anything is sent.
    options.endpoint().map_err(|error| Failure::of(USAGE, &error))?;
    Ok(options)
}

pub(super) fn push(ends: &EndArgs, folder: &Path, quiet: bool) -> Result<Value, Failure> {
    let options = options(ends)?;
    for warning in options.warnings() {
        say(&format!("wattspan: {warning}"));
    }
    let bar = bars::spinner(quiet);
    let shown = bar.clone();
    let sink = OpenSearchSink::new(options).map_err(|error| Failure::of(USAGE, &error))?;
    let mut sink = sink.of_folder(folder).on_progress(move |progress| {
        shown.set_message(format!("{} documents stored, {} waiting", progress.stored, progress.waiting()));
    });
    let run = JsonRun::open(folder);
    let replayed = blocking(Replay::new(&run).write_into(&mut sink));
    bar.finish_and_clear();
    replayed?.map_err(|error| {
        let code = if matches!(error, ReplayError::Read(_)) { USAGE } else { PUSH };
        let failure = Failure::of(code, &error);
        let again = again(To::OpenSearch, folder);
        match code {
            PUSH => Failure::new(
                code,
                format!("{}: the files are kept, and `{again}` sends what is missing", failure.message),
            ),
            _ => failure,
        }
    })?;
    Ok(sink.indexes().map_or(Value::Null, |indexes| {
        json!({
            "results": indexes.results,
            "traces": indexes.traces,
            "metrics": indexes.metrics,
            "leaderboard": indexes.leaderboard,
        })
    }))
}

pub(super) fn look(ends: &EndArgs) -> Vec<Look> {
    let one = |works, about: &str, text: String| Look { works, about: about.to_owned(), text };
    let found = options(ends).and_then(|options| {
        let found = blocking(async { check(&options).await })?;
        found.map_err(|error| Failure::of(PUSH, &error))
    });
    let found = match found {
        Ok(found) => found,
        Err(failure) => return vec![one(Some(false), "OpenSearch", failure.message)],
    };
    let user = found.user.map_or_else(String::new, |user| format!(" as {user}"));
    let mut looks =
        vec![one(Some(true), "OpenSearch", format!("{} at {}{user}", found.server, found.endpoint))];
    looks.extend(found.rights.into_iter().map(|(what, right)| match right {
        Right::Granted => one(Some(true), "OpenSearch, rights", format!("it may {what}")),
        // Without its own templates it writes into indexes that the server guesses the types of.
        Right::Denied if what.contains("template") => {
            one(None, "OpenSearch, rights", format!("it may not {what}"))
        }
        Right::Denied => one(Some(false), "OpenSearch, rights", format!("it may not {what}: grant it")),
        _ => one(None, "OpenSearch, rights", format!("whether it may {what} is not told")),
    }));
    looks.extend(
        found
            .templates
            .into_iter()
            .map(|(name, state)| one(None, "OpenSearch, templates", format!("{name}: {state}"))),
    );
    if let Some(runs) = found.runs {
        looks.push(one(Some(true), "OpenSearch, leaderboard", format!("{runs} runs")));
    }
    looks.extend(found.warnings.into_iter().map(|warning| one(None, "OpenSearch", warning)));
    looks
}

/// As many tries as fit into a time.
fn retry(patience: Duration) -> Retry {
    let mut retry = Retry { times: 0, ..Retry::default() };
    retry.timeout = retry.timeout.min(patience);
    let (mut wait, mut waited) = (retry.first, Duration::ZERO);
    while waited + wait <= patience && !wait.is_zero() {
        (retry.times, waited, wait) = (retry.times + 1, waited + wait, (wait * 2).min(retry.longest));
    }
    retry
}

fn blocking<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(SYSTEM, format!("cannot start a runtime: {error}")))?;
    Ok(runtime.block_on(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_tries_as_fit_into_a_time() {
        let times = |seconds| retry(Duration::from_secs_f64(seconds)).times;
        // Waits of 0.25, 0.5, 1, 2, 4, 8 and then 10 s.
        assert_eq!([0.1, 0.25, 1.75, 15.75, 25.75, 35.0].map(times), [0, 1, 3, 6, 7, 7]);
        assert_eq!(retry(Duration::from_secs(2)).timeout, Duration::from_secs(2));
    }
}
