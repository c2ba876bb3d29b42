//! A GGUF file in this process.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use opentelemetry::Context;
use tokio::sync::Semaphore;
use wattspan_core::Cell;
use wattspan_llama_cpp::{
    Cancel, ChatMessage, Error, GenerateParams, Generation as Generated, Model, Session, SessionOptions,
};

use super::{Answer, Ask, Generation, Target, TargetError, TargetFacts};
use crate::Provider;

/// A model in this process. As many requests are answered at once as it has sessions; further ones wait.
///
/// **Limits** It cannot offer tools to the model: llama.cpp's templates for them are the server's. Each session keeps its
/// prompt cache, as a server's slot does.
pub struct LlamaCppTarget {
    facts: TargetFacts,
    idle: Arc<Mutex<Vec<Session>>>,
    places: Semaphore,
}

impl LlamaCppTarget {
    /// Makes this many sessions on a model that was loaded with instrumentation whose sinks are the run's recorder.
    /// Loading comes before the run, so that it is part of no case.
    ///
    /// # Errors
    /// When a session does not fit into memory.
    pub fn new(model: &Model, options: &SessionOptions, sessions: usize) -> Result<Self, TargetError> {
        let sessions = sessions.max(1);
        let mut facts = TargetFacts::new(model.name(), Provider::LlamaCpp.as_str());
        facts.versions.push(("llama-cpp-2".to_owned(), LLAMA_CPP_2.to_owned()));
        facts.configuration.push(("sessions".to_owned(), Cell::Int(sessions as i64)));
        let made = (0..sessions).map(|_| Session::new(model, options)).collect::<Result<Vec<_>, _>>();
        let made = made.map_err(|error| TargetError::unusable(error.to_string()))?;
        Ok(Self { facts, idle: Arc::new(Mutex::new(made)), places: Semaphore::new(sessions) })
    }
}

#[async_trait]
impl Target for LlamaCppTarget {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn offers_tools(&self) -> bool {
        false
    }

    async fn answer(&self, ask: &Ask<'_>) -> Result<Answer, TargetError> {
        let gone = || TargetError::unusable("the model's sessions are gone: an earlier request panicked");
        let _place = self.places.acquire().await.map_err(|_| gone())?;
        let cancel = Cancel::new();
        let params = params(&ask.generation).cancel(cancel.clone());
        let messages: Vec<ChatMessage> = ask
            .messages
            .iter()
            .map(|message| ChatMessage::new(message.role.clone(), message.content.clone()))
            .collect();
        let context = Context::current();
        let idle = Arc::clone(&self.idle);
        // A time limit or a stop drops this future; the thread then ends at its next token.
        let _on_drop = CancelOnDrop(cancel.clone());
        let work = tokio::task::spawn_blocking(move || {
            let mut session = take(&idle)?;
            let _inside = context.attach();
            let generated = session.generate(messages, &params, |_| ControlFlow::Continue(()));
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
            Some(generated)
        });
        let generated = match ask.timeout {
            Some(limit) => tokio::time::timeout(limit, work).await.map_err(|_| {
                TargetError::failed("timeout", format!("the answer took longer than {limit:?}"))
            })?,
            None => work.await,
        };
        match generated {
            Ok(Some(Ok(generated))) => Ok(answer(generated, &self.facts.model)),
            Ok(Some(Err(error))) => Err(target_error(&error)),
            Ok(None) | Err(_) => Err(gone()),
        }
    }
}

/// Waits for a session that a cancelled request still holds: it gives it back at its next token.
fn take(idle: &Mutex<Vec<Session>>) -> Option<Session> {
    for _ in 0..MOST_LOOKS {
        if let Some(session) = idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Some(session);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    None
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn params(generation: &Generation) -> GenerateParams {
    let mut params = GenerateParams::default();
    params.max_tokens = generation.max_tokens;
    params.seed = generation.seed;
    params.stop.clone_from(&generation.stop);
    if let Some(temperature) = generation.temperature {
        params.temperature = temperature as f32;
    }
    if let Some(top_p) = generation.top_p {
        params.top_p = top_p as f32;
    }
    if let Some(top_k) = generation.top_k {
        params.top_k = top_k;
    }
    if let Some(min_p) = generation.min_p {
        params.min_p = min_p as f32;
    }
    params
}

fn answer(generated: Generated, model: &str) -> Answer {
    Answer {
        text: generated.text,
        finish_reason: Some(generated.finish.as_str().to_owned()),
        model: Some(model.to_owned()),
        ..Answer::default()
    }
}

fn target_error(error: &Error) -> TargetError {
    TargetError::failed(error.error_type(), error.to_string())
}

impl std::fmt::Debug for LlamaCppTarget {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LlamaCppTarget").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// The binding's version is pinned in the workspace.
const LLAMA_CPP_2: &str = "0.1.160";
/// Ten minutes: a session that does not come back by then never will.
const MOST_LOOKS: u32 = 120_000;
