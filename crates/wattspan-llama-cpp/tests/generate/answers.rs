//! Answers: counts, text, stop texts, cancelling, the prompt cache, grammars, embeddings.

use std::ops::ControlFlow;
use std::sync::Arc;

use opentelemetry::trace::Status;
use wattspan_core::Workload;
use wattspan_genai::ContentPolicy;
use wattspan_llama_cpp::{
    Cancel, ChatMessage, Embedder, FinishReason, GenerateParams, Generation, Piece, Pooling, Prompt, Session,
};

use crate::support::{Rig, facts, number, small, text, value};

const COLOURS: &str = "The three primary colours are";

fn on(_: &Piece) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn answer(session: &mut Session, prompt: &str, params: &GenerateParams) -> Generation {
    session.generate(Prompt::text(prompt), params, on).unwrap()
}

#[test]
fn an_answer_is_one_inference_with_its_tokens() {
    let rig = Rig::new();
    let mut session = rig.session();
    let mut pieces = Vec::new();
    let params = GenerateParams::greedy().max_tokens(12).ignore_end();
    let answer = session
        .generate(Prompt::text(COLOURS), &params, |piece| {
            pieces.push(piece.clone());
            ControlFlow::Continue(())
        })
        .unwrap();

    // A llama-server with this model says that this prompt has 5 tokens.
    assert_eq!((answer.usage.fresh, answer.usage.cache_read), (Some(5), Some(0)));
    assert_eq!((answer.usage.output, answer.finish), (Some(12), FinishReason::Length));
    assert_eq!(pieces.iter().filter(|piece| piece.token.is_some()).count(), 12);
    let shown: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(shown, answer.text);
    assert!(!answer.text.is_empty());
    assert!(answer.prompt_rate().is_some() && answer.token_rate().is_some());

    let span = rig.span();
    assert_eq!(span.name, "text_completion smollm2");
    assert_eq!(number(&span, "gen_ai.usage.input_tokens"), 5);
    assert_eq!(number(&span, "gen_ai.usage.output_tokens"), 12);
    assert_eq!(number(&span, "gen_ai.request.max_tokens"), 12);
    assert_eq!(value(&span, "gen_ai.response.finish_reasons").unwrap().as_str(), r#"["length"]"#);
    assert_eq!(text(&span, "error.type"), None);

    // Marked as it was computed: the first token comes out of the prompt, and each is a mark.
    let seen = rig.seen();
    assert_eq!((seen.prompted, seen.decoded), (5, 12));
    assert_eq!(seen.begin.workload, Workload::Generation);
    assert!(facts(&seen).first_token.is_some());
}

#[test]
fn a_chat_is_rendered_and_counted_as_llama_server_does() {
    let rig = Rig::new();
    let mut session = rig.session();
    let system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
    let chat = |user: &str| Prompt::from(vec![ChatMessage::system(system), ChatMessage::user(user)]);
    // What llama-server's /apply-template answers for this model and message.
    assert_eq!(
        session.model().render(&chat("Hi")).unwrap(),
        format!(
            "<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
        )
    );
    // Its /tokenize: "Hello world" is 19556, 905.
    assert_eq!(session.model().tokenize(&Prompt::text("Hello world")).unwrap(), [19_556, 905]);
    // And its /v1/chat/completions: this chat has 33 prompt tokens.
    let answer = session.generate(chat("Say hello."), &GenerateParams::greedy().max_tokens(2), on).unwrap();
    assert_eq!(answer.usage.input(), Some(33));
    assert_eq!(rig.span().name, "chat smollm2");
}

#[test]
fn a_long_prompt_is_computed_in_batches_and_marked_in_each() {
    let rig = Rig::new();
    let mut session = rig.session_of(512);
    let prompt = "one two three four five six seven eight ".repeat(20);
    let tokens = session.model().tokenize(&Prompt::text(&prompt)).unwrap().len() as u64;
    assert!(tokens > 128, "more than two batches of 64");
    let answer = answer(&mut session, &prompt, &GenerateParams::greedy().max_tokens(1));
    assert_eq!(answer.usage.fresh, Some(tokens));
    assert_eq!(rig.seen().prompted, tokens);
}

#[test]
fn a_stop_text_ends_the_answer_and_is_not_shown() {
    let rig = Rig::new();
    let mut session = rig.session();
    let params = GenerateParams::greedy().max_tokens(16).ignore_end();
    let whole = answer(&mut session, COLOURS, &params);
    // A stop text of the model's own words, from the middle of one to the middle of another.
    let words: Vec<&str> = whole.text.split_inclusive(' ').collect();
    let cut = whole.text.find(words[3]).unwrap() + 1;
    let stop = &whole.text[cut..=cut + words[3].len()];
    let first = whole.text.find(stop).unwrap();

    let mut shown = String::new();
    let stopped = session
        .generate(Prompt::text(COLOURS), &params.clone().stop(stop), |piece| {
            shown.push_str(&piece.text);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((stopped.finish, stopped.stop_text.as_deref()), (FinishReason::StopText, Some(stop)));
    assert_eq!(stopped.text, whole.text[..first]);
    assert_eq!(shown, stopped.text);
    assert!(stopped.usage.output < whole.usage.output);
    assert!(String::from_utf8_lossy(&stopped.bytes).contains(stop), "the bytes keep it");
    let span = rig.spans().pop().unwrap();
    assert_eq!(value(&span, "gen_ai.response.finish_reasons").unwrap().as_str(), r#"["stop"]"#);
}

#[test]
fn the_model_ends_its_answer() {
    let rig = Rig::new();
    let mut session = rig.session();
    let grammar = r#"root ::= "yes" | "no""#;
    let params = GenerateParams::greedy().max_tokens(20).grammar(grammar);
    let answer = session.generate(Prompt::user("Is water wet?"), &params, on).unwrap();
    assert!(["yes", "no"].contains(&answer.text.as_str()), "{:?}", answer.text);
    assert_eq!(answer.finish, FinishReason::End);
    // The token with which it ends was computed, and counts.
    let text_tokens = session.model().tokenize(&Prompt::text(&answer.text)).unwrap().len() as u64;
    assert!(answer.usage.output > Some(text_tokens - 1));
    assert_eq!(rig.seen().decoded, answer.usage.output.unwrap());
}

#[test]
fn an_answer_follows_a_json_schema() {
    let rig = Rig::new();
    let mut session = rig.session();
    let schema = r#"{"type":"object","properties":{"wet":{"type":"boolean"}},"required":["wet"],"additionalProperties":false}"#;
    let params = GenerateParams::greedy().max_tokens(40).json_schema(schema);
    let answer = session.generate(Prompt::user("Is water wet? Answer in JSON."), &params, on).unwrap();
    let json: serde_json::Value = serde_json::from_str(&answer.text).expect(&answer.text);
    assert!(json["wet"].is_boolean(), "{json}");
}

#[test]
fn an_answer_cancelled_by_the_caller_keeps_what_came() {
    let rig = Rig::new();
    let mut session = rig.session();
    let mut count = 0;
    let answer = session
        .generate(Prompt::text(COLOURS), &GenerateParams::greedy().ignore_end(), |_| {
            count += 1;
            if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((answer.finish, answer.usage.output), (FinishReason::Cancelled, Some(3)));
    let span = rig.span();
    assert_eq!(text(&span, "error.type").as_deref(), Some("cancelled"));
    assert!(matches!(span.status, Status::Error { .. }));
    assert_eq!(number(&span, "gen_ai.usage.output_tokens"), 3);
    assert_eq!(facts(&rig.seen()).error_type.as_deref(), Some("cancelled"));

    // The session goes on.
    let next = session.generate(Prompt::text(COLOURS), &GenerateParams::greedy().max_tokens(1), on).unwrap();
    assert_eq!(next.usage.output, Some(1));
}

#[test]
fn a_dropped_iterator_ends_its_span() {
    let rig = Rig::new();
    let mut session = rig.session();
    let mut tokens = session.tokens(Prompt::text(COLOURS), &GenerateParams::greedy().ignore_end()).unwrap();
    assert!(tokens.next().unwrap().unwrap().token.is_some());
    assert!(tokens.next().unwrap().is_ok());
    drop(tokens);
    let span = rig.span();
    assert_eq!(text(&span, "error.type").as_deref(), Some("cancelled"));
    assert_eq!(number(&span, "gen_ai.usage.output_tokens"), 2);
    assert_eq!(number(&span, "gen_ai.usage.input_tokens"), 5);
}

#[test]
fn a_switch_cancels_before_the_prompt_is_computed() {
    let rig = Rig::new();
    let mut session = rig.session();
    let cancel = Cancel::new();
    cancel.cancel();
    let answer = answer(&mut session, COLOURS, &GenerateParams::greedy().cancel(cancel));
    assert_eq!(
        (answer.finish, answer.usage.fresh, answer.usage.output),
        (FinishReason::Cancelled, Some(0), Some(0))
    );
    assert_eq!(rig.seen().prompted, 0);
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("cancelled"));
}

#[test]
fn a_panic_of_the_caller_ends_the_span() {
    let rig = Rig::new();
    let mut session = rig.session();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.generate(Prompt::text(COLOURS), &GenerateParams::greedy(), |_| panic!("of the caller"))
    }));
    assert!(panicked.is_err());
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("panic"));
}

#[test]
fn what_two_prompts_share_is_computed_once() {
    let rig = Rig::new();
    let mut session = rig.session();
    let params = GenerateParams::greedy().max_tokens(4).ignore_end();
    let first = answer(&mut session, COLOURS, &params);
    // The next prompt goes on from the first and its answer: all but the last drawn token is in the cache.
    let longer = format!("{COLOURS}{}", first.text);
    let tokens = session.model().tokenize(&Prompt::text(&longer)).unwrap().len() as u64;
    let second = answer(&mut session, &longer, &params);
    assert_eq!(second.usage.input(), Some(tokens));
    assert_eq!(second.usage.cache_read, Some(5 + 3));
    assert_eq!(rig.seen().prompted, second.usage.fresh.unwrap());
    let span = rig.spans().pop().unwrap();
    assert_eq!(number(&span, "gen_ai.usage.input_tokens"), tokens as i64);

    // The same answer as without the cache.
    session.clear();
    let again = answer(&mut session, &longer, &params);
    assert_eq!((again.usage.cache_read, &again.text), (Some(0), &second.text));
}

#[test]
fn case_tokens_11_a_fully_cached_prompt_is_no_computed_token() {
    let rig = Rig::new();
    let mut session = rig.session();
    let prompt = "Hello world!";
    let tokens = session.model().tokenize(&Prompt::text(prompt)).unwrap().len();
    assert_eq!(tokens, 3);
    let warm = answer(&mut session, prompt, &GenerateParams::greedy().max_tokens(0));
    assert_eq!((warm.usage.fresh, warm.usage.output), (Some(3), Some(0)));

    let cached = answer(&mut session, prompt, &GenerateParams::greedy().max_tokens(3).ignore_end());
    assert_eq!((cached.usage.fresh, cached.usage.cache_read), (Some(0), Some(3)));
    assert_eq!((cached.usage.input(), cached.usage.output), (Some(3), Some(3)));
    assert_eq!(cached.prompt_rate(), None, "no division by 0 and no 1");
    assert_eq!(rig.seen().prompted, 0);

    // The same text as when nothing is cached.
    session.clear();
    let fresh = answer(&mut session, prompt, &GenerateParams::greedy().max_tokens(3).ignore_end());
    assert_eq!((fresh.usage.fresh, &fresh.text), (Some(3), &cached.text));
}

#[test]
fn a_prompt_that_is_a_part_of_the_one_before_has_its_last_token_computed() {
    let rig = Rig::new();
    let mut session = rig.session();
    let one = GenerateParams::greedy().max_tokens(1);
    answer(&mut session, COLOURS, &one);
    let shorter = answer(&mut session, "The three primary", &one);
    assert_eq!((shorter.usage.cache_read, shorter.usage.fresh), (Some(2), Some(1)), "its logits are gone");
}

#[test]
fn a_seed_makes_the_draw_repeatable() {
    let rig = Rig::new();
    let mut session = rig.session();
    let mut params = GenerateParams::default().temperature(1.5).seed(7).max_tokens(12).ignore_end();
    params.repeat_penalty = 1.1;
    let first = answer(&mut session, COLOURS, &params);
    session.clear();
    let second = answer(&mut session, COLOURS, &params);
    assert_eq!(first.text, second.text);
    assert_eq!(number(&rig.spans()[0], "gen_ai.request.seed"), 7);
    let others = (8..12).map(|seed| answer(&mut session, COLOURS, &params.clone().seed(seed)).text);
    assert!(others.into_iter().any(|text| text != first.text), "four other seeds gave the same");
}

#[test]
fn sessions_of_one_model_work_on_threads_of_their_own() {
    let rig = Rig::new();
    let model = rig.model();
    let answers: Vec<Generation> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut session = Session::new(&model, &small(64).threads(1)).unwrap();
                    answer(&mut session, COLOURS, &GenerateParams::greedy().max_tokens(4).ignore_end())
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(answers[0].text, answers[1].text);
    assert_eq!(rig.spans().len(), 3, "a load and two answers");
}

#[test]
fn content_is_recorded_only_by_choice() {
    let rig = Rig::new();
    let mut session = rig.session();
    answer(&mut session, COLOURS, &GenerateParams::greedy().max_tokens(2));
    assert!(value(&rig.span(), "gen_ai.input.messages").is_none());
    drop((session, rig));

    let rig = Rig::with(|builder| builder.content(ContentPolicy::on()));
    let mut session = rig.session();
    let params = GenerateParams::greedy().max_tokens(2).conversation(Arc::from("talk-1"));
    let answer = session.generate(Prompt::user("Hi there"), &params, on).unwrap();
    let span = rig.span();
    assert!(text(&span, "gen_ai.input.messages").unwrap().contains("Hi there"));
    let shown = serde_json::to_string(&answer.text).unwrap();
    assert!(text(&span, "gen_ai.output.messages").unwrap().contains(shown.trim_matches('"')));
    assert_eq!(text(&span, "gen_ai.conversation.id").as_deref(), Some("talk-1"));
}

#[test]
fn texts_become_vectors_of_length_one() {
    let rig = Rig::new();
    let model = rig.model();
    let mut embedder = Embedder::new(&model, &small(64), Pooling::default()).unwrap();
    let embeddings = embedder.embed(&["Hello world", "Hello world", "Bananas are yellow"]).unwrap();
    // SmolLM2-135M has 576 dimensions.
    assert!(embeddings.vectors.iter().all(|vector| vector.len() == 576));
    let dot = |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f32>();
    let [first, same, other] = &embeddings.vectors[..] else { panic!("three texts") };
    assert!((dot(first, first) - 1.0).abs() < 1e-4);
    assert!(dot(first, same) > 0.9999 && dot(first, other) < 0.9999);
    // "Hello world" is two tokens, twice.
    let others = model.tokenize(&Prompt::text("Bananas are yellow")).unwrap().len() as u64;
    assert_eq!(embeddings.usage.input(), Some(4 + others));

    let span = rig.spans().pop().unwrap();
    assert_eq!(span.name, "embeddings smollm2");
    assert_eq!(number(&span, "gen_ai.embeddings.dimension.count"), 576);
    let seen = rig.seen();
    assert_eq!((seen.begin.workload, seen.prompted, seen.decoded), (Workload::Encoding, 4 + others, 0));
}
