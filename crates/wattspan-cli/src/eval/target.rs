//! What answers, as the options have it.

use std::path::Path;
use std::sync::Arc;

use wattspan::eval::{Provider, ServerTarget, Target, TargetError};
use wattspan::llama_server::LlamaServer;
use wattspan::{Setting, Wattspan};

use super::EvalArgs;
use crate::exit::{Failure, UNAVAILABLE, USAGE};
use crate::export::secret_file;

pub(super) async fn open(args: &EvalArgs, wattspan: &Wattspan) -> Result<Arc<dyn Target>, Failure> {
    if !args.provider.is_server() {
        return in_process(args, wattspan);
    }
    let url = url(args, wattspan)?;
    let mut builder = match args.provider {
        Provider::LlamaServer => wattspan.llama_server(&url),
        other => LlamaServer::builder(&url, wattspan.genai(other.genai_name())).pid_resolver(pid),
    };
    if let Some(key) = key(args, wattspan)? {
        builder = builder.api_key(key);
    }
    let client = builder.build().map_err(|error| Failure::of(USAGE, &error))?;
    let model = args.model.clone().unwrap_or_default();
    let target = ServerTarget::new(client, model, args.provider).stream(!args.how.no_stream);
    let target = target.probe().await.map_err(|error| unusable(&error))?;
    Ok(Arc::new(target))
}

fn unusable(error: &TargetError) -> Failure {
    Failure::of(UNAVAILABLE, error)
}

fn pid(port: u16) -> Option<u32> {
    wattspan::host::process_by_port(Path::new("/"), port).value()
}

fn url(args: &EvalArgs, wattspan: &Wattspan) -> Result<String, Failure> {
    let setting = || {
        let url = wattspan.config().text(Setting::LlamaServer);
        url.filter(|_| args.provider == Provider::LlamaServer).map(str::to_owned)
    };
    let usual = || args.provider.default_url().map(str::to_owned);
    args.base_url.clone().or_else(setting).or_else(usual).ok_or_else(|| {
        Failure::new(
            USAGE,
            format!("--provider {}: say where its server is with --base-url URL", args.provider),
        )
    })
}

fn key(args: &EvalArgs, wattspan: &Wattspan) -> Result<Option<String>, Failure> {
    if let Some(path) = &args.api_key_file {
        return secret_file("--api-key-file", path).map(Some);
    }
    let setting = || {
        let key = wattspan.config().text(Setting::LlamaServerKey);
        key.filter(|_| args.provider == Provider::LlamaServer).map(str::to_owned)
    };
    let variable = args.provider.key_variable().and_then(|name| std::env::var(name).ok());
    Ok(variable.filter(|key| !key.is_empty()).or_else(setting))
}

#[cfg(feature = "llama-cpp")]
fn in_process(args: &EvalArgs, wattspan: &Wattspan) -> Result<Arc<dyn Target>, Failure> {
    use wattspan::eval::LlamaCppTarget;
    use wattspan::llama_cpp::{Model, ModelOptions, SessionOptions};

    let path = args
        .model
        .as_deref()
        .ok_or_else(|| Failure::new(USAGE, "--provider llama-cpp: name a GGUF file with --model FILE"))?;
    let genai = wattspan.genai(args.provider.genai_name());
    let model = Model::load(&genai, path, &ModelOptions::default())
        .map_err(|error| Failure::of(UNAVAILABLE, &error))?;
    let target = LlamaCppTarget::new(&model, &SessionOptions::default(), args.how.concurrency.into());
    Ok(Arc::new(target.map_err(|error| unusable(&error))?))
}

#[cfg(not(feature = "llama-cpp"))]
fn in_process(args: &EvalArgs, _: &Wattspan) -> Result<Arc<dyn Target>, Failure> {
    let message = format!(
        "--provider {}: this program was built without it: start `llama-server -m FILE` and take llama-server, or install \
         with `cargo install wattspan-cli --features llama-cpp`",
        args.provider
    );
    Err(Failure::new(USAGE, message))
}
