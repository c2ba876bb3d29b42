//! A decode loop of the program's own: sequences in one batch share it by tokens.

use std::num::NonZeroU32;

use wattspan_genai::Request;
use wattspan_llama_cpp::llama_cpp_2::context::params::LlamaContextParams;
use wattspan_llama_cpp::llama_cpp_2::llama_batch::LlamaBatch;
use wattspan_llama_cpp::llama_cpp_2::sampling::LlamaSampler;
use wattspan_llama_cpp::llama_cpp_2::token::LlamaToken;
use wattspan_llama_cpp::{Error, Model, Sequences, Work};

use crate::support::{Rig, facts, number, text};

fn params() -> LlamaContextParams {
    LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(256))
        .with_n_seq_max(2)
        .with_n_threads(2)
        .with_n_threads_batch(2)
}

fn tokens(model: &Model, text: &str) -> Vec<LlamaToken> {
    model.llama().vocab().tokenize(text.as_bytes(), true, false)
}

#[test]
fn two_sequences_in_one_batch_share_it_by_tokens() {
    let rig = Rig::new();
    let model = rig.model();
    let mut context = model.new_context(params()).unwrap();
    let mut batch = LlamaBatch::new(64, 2);
    let mut sequences = Sequences::new(&rig.genai);

    let prompts = [tokens(&model, "The three primary colours are"), tokens(&model, "Hello world")];
    assert_eq!([prompts[0].len(), prompts[1].len()], [5, 2]);
    let mut work = Vec::new();
    let mut outputs = Vec::new();
    for (sequence, prompt) in (0..).zip(&prompts) {
        sequences.begin(sequence, Request::completion(model.name()));
        batch.add_sequence(prompt, sequence, false).unwrap();
        work.push(Work::prompt(sequence, prompt.len() as u64));
        outputs.push(batch.n_tokens() - 1);
    }
    sequences.decode(&mut context, &mut batch, &work).unwrap();

    // The first draws three tokens, the second five: a batch has one of each as long as both draw.
    let wanted = [3, 5];
    let mut sampler = LlamaSampler::greedy();
    let mut drawn = [0, 0];
    loop {
        let mut next = Vec::new();
        for (sequence, output) in (0_i32..).zip(&outputs) {
            let at = sequence as usize;
            if drawn[at] < wanted[at] {
                let token = sampler.sample(&context, *output);
                sequences.drawn(sequence).unwrap();
                drawn[at] += 1;
                next.push((sequence, token, (prompts[at].len() + drawn[at] - 1) as i32));
            }
        }
        let going_on =
            next.iter().filter(|(sequence, ..)| drawn[*sequence as usize] < wanted[*sequence as usize]);
        batch.clear();
        work.clear();
        for (sequence, token, position) in going_on {
            outputs[*sequence as usize] = batch.n_tokens();
            batch.add(*token, *position, &[*sequence], true).unwrap();
            work.push(Work::token(*sequence));
        }
        if work.is_empty() {
            break;
        }
        sequences.decode(&mut context, &mut batch, &work).unwrap();
    }
    sequences.finish(0, "length").unwrap();
    sequences.finish(1, "length").unwrap();

    let seen = rig.all_seen();
    let [load, first, second] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((load.prompted, load.decoded), (0, 0));
    // Tokens computed in batches: the last drawn one of each is not.
    assert_eq!((first.prompted, first.decoded), (5, 2));
    assert_eq!((second.prompted, second.decoded), (2, 4));
    assert!(facts(first).first_token.is_some());
    let spans = rig.spans();
    assert_eq!(
        (number(&spans[1], "gen_ai.usage.input_tokens"), number(&spans[1], "gen_ai.usage.output_tokens")),
        (5, 3)
    );
    assert_eq!(
        (number(&spans[2], "gen_ai.usage.input_tokens"), number(&spans[2], "gen_ai.usage.output_tokens")),
        (2, 5)
    );
}

#[test]
fn a_batch_that_is_described_wrongly_is_not_computed() {
    let rig = Rig::new();
    let model = rig.model();
    let mut context = model.new_context(params()).unwrap();
    let mut batch = LlamaBatch::new(64, 2);
    let mut sequences = Sequences::new(&rig.genai);
    sequences.begin(0, Request::completion(model.name()));
    batch.add_sequence(&tokens(&model, "Hello world"), 0, false).unwrap();
    let wrong = sequences.decode(&mut context, &mut batch, &[Work::prompt(0, 3)]).unwrap_err();
    assert!(matches!(wrong, Error::WrongWork { batch: 2, described: 3 }));
    let unknown = sequences.decode(&mut context, &mut batch, &[Work::prompt(1, 2)]).unwrap_err();
    assert!(matches!(unknown, Error::UnknownSequence { sequence: 1 }));
    assert!(matches!(sequences.drawn(1), Err(Error::UnknownSequence { sequence: 1 })));
    assert_eq!(context.kv_cache_seq_pos_max(0), -1, "the cache is empty");
    assert_eq!(rig.seen().prompted, 0);
}

#[test]
fn llama_cpps_own_code_names_a_failure() {
    let rig = Rig::new();
    let model = rig.model();
    let mut context = model.new_context(params()).unwrap();
    let mut sequences = Sequences::new(&rig.genai);
    sequences.begin(0, Request::completion(model.name()));
    let mut batch = LlamaBatch::new(8, 1);
    // A sequence that the context has no room for: llama.cpp answers −1, which the binding calls an empty batch.
    batch.add(tokens(&model, "Hello")[0], 0, &[7], true).unwrap();
    let error = sequences.decode(&mut context, &mut batch, &[Work::prompt(0, 1)]).unwrap_err();
    assert!(matches!(error, Error::Decode { code: -1 }), "{error:?}");
    assert_eq!(error.error_type(), "invalid_batch");
    sequences.fail_all(&error);
    let span = rig.spans().pop().unwrap();
    assert_eq!(text(&span, "error.type").as_deref(), Some("invalid_batch"));
    assert_eq!(facts(&rig.seen()).error_type.as_deref(), Some("invalid_batch"));
}

#[test]
fn sequences_that_are_dropped_end_as_cancelled() {
    let rig = Rig::new();
    let mut sequences = Sequences::new(&rig.genai);
    sequences.begin(3, Request::completion("any"));
    sequences.cached(3, 40).unwrap();
    sequences.drawn(3).unwrap();
    drop(sequences);
    let span = rig.span();
    assert_eq!(text(&span, "error.type").as_deref(), Some("cancelled"));
    assert_eq!(number(&span, "gen_ai.usage.input_tokens"), 40);
    assert_eq!(number(&span, "gen_ai.usage.output_tokens"), 1);
}
