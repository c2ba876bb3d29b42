//! What fails, fails clearly: a typed error, and a span that says so.

use std::ops::ControlFlow;

use wattspan_llama_cpp::{Embedder, Error, GenerateParams, Pooling, Prompt, Session, SessionOptions};

use crate::support::{Rig, facts, number, small, text, value};

#[track_caller]
fn fails(
    rig: &Rig,
    session: &mut Session,
    prompt: Prompt,
    params: &GenerateParams,
    error_type: &str,
) -> Error {
    let error = session.generate(prompt, params, |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error.error_type(), error_type);
    let span = rig.span();
    assert_eq!(text(&span, "error.type").as_deref(), Some(error_type));
    let seen = rig.seen();
    assert_eq!((seen.prompted, seen.decoded), (0, 0), "nothing was computed");
    assert_eq!(facts(&seen).error_type.as_deref(), Some(error_type));
    error
}

#[test]
fn a_prompt_that_does_not_fit_is_told_before_it_is_computed() {
    let rig = Rig::new();
    let mut session = rig.session_of(256);
    let context = session.context_size();
    let prompt = Prompt::text("word ".repeat(context + 10));
    let tokens = session.model().tokenize(&prompt).unwrap().len();
    let error = fails(&rig, &mut session, prompt, &GenerateParams::greedy(), "context_exceeded");
    let told = (tokens, context);
    assert!(
        matches!(error, Error::ContextExceeded { tokens, context } if (tokens, context) == told),
        "{error:?}"
    );
}

#[test]
fn an_answer_ends_where_the_context_does() {
    let rig = Rig::new();
    let mut session = rig.session_of(256);
    let context = session.context_size();
    let prompt = Prompt::text("word ".repeat(context - 10));
    let tokens = session.model().tokenize(&prompt).unwrap().len();
    let answer = session
        .generate(prompt, &GenerateParams::greedy().ignore_end(), |_| ControlFlow::Continue(()))
        .unwrap();
    // Each place is taken, and the last token is drawn without one.
    assert_eq!(answer.usage.output, Some((context - tokens) as u64 + 1));
    assert_eq!(value(&rig.span(), "gen_ai.response.finish_reasons").unwrap().as_str(), r#"["length"]"#);
    assert_eq!(number(&rig.span(), "gen_ai.usage.input_tokens"), tokens as i64);
}

#[test]
fn calls_that_make_no_sense_are_told() {
    let rig = Rig::new();
    let mut session = rig.session();
    fails(&rig, &mut session, Prompt::Chat(vec![]), &GenerateParams::greedy(), "empty_prompt");
    drop((session, rig));

    let rig = Rig::new();
    let mut session = rig.session();
    fails(&rig, &mut session, Prompt::user("a\0b"), &GenerateParams::greedy(), "nul_in_text");
    drop((session, rig));

    for grammar in ["root ::= <<<", "other ::= \"a\"", "root ::= \"a\0\""] {
        let rig = Rig::new();
        let mut session = rig.session();
        let params = GenerateParams::greedy().grammar(grammar);
        fails(&rig, &mut session, Prompt::text("Hi"), &params, "bad_grammar");
    }
    let both = GenerateParams::greedy().grammar("root ::= \"a\"").json_schema("{}");
    for params in [both, GenerateParams::greedy().json_schema("{not json")] {
        let rig = Rig::new();
        let mut session = rig.session();
        fails(&rig, &mut session, Prompt::text("Hi"), &params, "bad_grammar");
    }
}

#[test]
fn a_text_that_an_embedder_cannot_hold_is_told() {
    let rig = Rig::new();
    let model = rig.model();
    let mut embedder = Embedder::new(&model, &small(256), Pooling::Last).unwrap();
    let error = embedder.embed(&["short", &"word ".repeat(600)]).unwrap_err();
    assert_eq!(error.error_type(), "context_exceeded");
    let span = rig.spans().pop().unwrap();
    assert_eq!(text(&span, "error.type").as_deref(), Some("context_exceeded"));
    assert_eq!(rig.seen().prompted, 0);
}

#[test]
fn a_context_that_memory_cannot_hold_is_told() {
    // Where the system hands out memory that it does not have, asking for too much is no error.
    let overcommit = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    if overcommit.trim() == "1" {
        return;
    }
    let rig = Rig::new();
    let model = rig.model();
    // 30 layers × 2 × 192 values × 2 bytes: 23 KB a token, so 2.3 TB.
    let error = Session::new(&model, &SessionOptions::default().context(100_000_000)).unwrap_err();
    assert_eq!(error.error_type(), "out_of_memory", "{error}");
    assert!(error.to_string().starts_with("not enough memory to make a context: "), "{error}");
    // The model is as good as before.
    Session::new(&model, &small(64)).unwrap();
}
