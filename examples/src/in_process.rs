//! The demo's part that runs llama.cpp in this process.

use std::ops::ControlFlow;
use std::path::Path;

use wattspan::genai::GenAi;
use wattspan::llama_cpp::{Error, GenerateParams, Model, ModelOptions, Prompt, Session, SessionOptions};

/// Loads a model and answers the prompts one after another; shows each piece of text as it comes.
///
/// # Errors
/// When the model cannot be loaded or llama.cpp fails.
pub fn run(genai: &GenAi, model: &Path, prompts: &[String], show: &dyn Fn(&str)) -> Result<(), Error> {
    let model = Model::load(genai, model, &ModelOptions::default())?;
    let mut session = Session::new(&model, &SessionOptions::default().context(2_048))?;
    let params = GenerateParams::greedy().max_tokens(48);
    for prompt in prompts {
        session.generate(Prompt::user(prompt.as_str()), &params, |piece| {
            show(&piece.text);
            ControlFlow::Continue(())
        })?;
        show("\n");
    }
    Ok(())
}
