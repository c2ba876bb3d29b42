use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Check, Judge, Message, ToolSpec};

#[track_caller]
fn parse(text: &str, format: CaseFormat) -> Vec<Case> {
    match Cases::parse(text, format) {
        Ok(cases) => cases.as_slice().to_vec(),
        Err(error) => panic!("{error}"),
    }
}

/// A faulty text is refused at this place, with these words.
#[track_caller]
fn refused(text: &str, format: CaseFormat, place: (u64, u64), words: &[&str]) {
    let error = Cases::parse(text, format).expect_err(text);
    assert_eq!((error.line(), error.column()), place, "{error}");
    let told = error.to_string();
    for word in words {
        assert!(told.contains(word), "{told:?} lacks {word:?}");
    }
}

#[test]
fn everything_that_a_case_can_have_is_read() {
    let text = r#"{
        "name": "suite", "version": "3",
        "tools": [{"name": "get_weather", "description": "The weather", "otherwise": "rain",
            "parameters": {"type": "object", "required": ["city"]},
            "answers": [{"arguments": {"city": "Rome"}, "result": {"sky": "clear"}}]}],
        "cases": [
            {"id": "a", "prompt": "Hi", "expected": "Hello", "tags": ["x", "y"], "difficulty": "easy",
             "checks": ["exact", {"type": "contains", "value": "ell", "ignore_case": true}, {"type": "regex", "pattern": "^H"},
                {"type": "json_schema", "schema": {"type": "object"}},
                {"type": "judge", "command": ["python3", "judge.py"], "timeout_s": 2.5, "pass_score": 0.75}],
             "time_limit_s": 0.5, "max_tokens": 7},
            {"id": "b", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
             "tools": ["get_weather", {"name": "clock", "command": ["date"], "timeout_s": 1}], "expected_tool": "clock"}
        ]
    }"#;
    let cases = Cases::parse(text, CaseFormat::Json).unwrap();
    assert_eq!((cases.name(), cases.version(), cases.len()), (Some("suite"), Some("3"), 2));
    let judge = Judge::new(["python3", "judge.py"]).timeout(Duration::from_millis(2_500)).pass_score(0.75);
    let mut first = Case::new("a", "Hi").expected("Hello").tag("x").tag("y");
    first = first.time_limit(Duration::from_millis(500)).max_tokens(7);
    first.difficulty = Some("easy".to_owned());
    first.checks = vec![
        Check::exact("Hello"),
        Check::contains("ell").ignore_case(),
        Check::regex("^H").unwrap(),
        Check::json_schema(&json!({"type": "object"})).unwrap(),
        Check::judge(judge),
    ];
    let weather = ToolSpec::table("get_weather", "The weather")
        .parameters(json!({"type": "object", "required": ["city"]}))
        .unwrap()
        .answer(json!({"city": "Rome"}), json!({"sky": "clear"}))
        .otherwise("rain");
    let second = Case::chat("b", vec![Message::new("system", "Be brief."), Message::new("user", "Hi")])
        .tool(weather)
        .tool(ToolSpec::command("clock", "", ["date"], Duration::from_secs(1)))
        .expected_tool("clock");
    assert_eq!(cases.as_slice(), [first, second]);
    assert_eq!(cases.as_slice()[0].programs().collect::<Vec<_>>(), ["python3"]);
    assert_eq!(cases.as_slice()[1].programs().collect::<Vec<_>>(), ["date"]);
    assert_eq!(cases.as_slice()[1].prompt(), "system: Be brief.\nuser: Hi");
}

#[test]
fn the_three_formats_say_the_same() {
    let list = r#"[{"id":"a","prompt":"One, two","expected":"three","tags":["x","y"],"checks":["exact","contains"]},
        {"id":"b","prompt":"\"Hi\""}]"#;
    let lines = "\u{feff}{\"id\":\"a\",\"prompt\":\"One, two\",\"expected\":\"three\",\"tags\":[\"x\",\"y\"],\
        \"checks\":[\"exact\",\"contains\"]}\r\n\r\n{\"id\":\"b\",\"prompt\":\"\\\"Hi\\\"\"}";
    let table =
        "id,prompt,expected,tags,checks\na,\"One, two\",three,x; y,exact;contains\r\nb,\"\"\"Hi\"\"\",,,\n";
    let cases = parse(list, CaseFormat::Json);
    assert_eq!(cases.len(), 2);
    assert_eq!(parse(lines, CaseFormat::JsonLines), cases);
    assert_eq!(parse(table, CaseFormat::Csv), cases);
}

#[test]
fn faults_in_json_are_told_with_their_place_and_case() {
    let json = CaseFormat::Json;
    refused(
        "[\n  {\"id\": \"a\", \"prompt\": \"Hi\"},\n  {\"id\" \"b\"}\n]",
        json,
        (3, 9),
        &["expected `:`", "mend"],
    );
    refused("[{\"id\": \"a\",\n\"promt\": \"Hi\"}]", json, (2, 7), &["`promt`", "`prompt`"]);
    refused("[{\"id\": \"a\", \"prompt\": 1}]", json, (1, 24), &["integer `1`", "string"]);
    refused("[\n{\"prompt\": \"Hi\"}]", json, (2, 16), &["`id`"]);
    refused("[{\"id\": \"a\"}]", json, (1, 12), &["case \"a\"", "`prompt` or `messages`"]);
    refused(
        "[{\"id\": \"a\", \"prompt\": \"x\"},\n{\"id\": \"a\", \"prompt\": \"y\"}]",
        json,
        (2, 26),
        &["case \"a\"", "same id"],
    );
    refused(
        "[\n{\"id\": \"q7\", \"prompt\": \"x\", \"checks\": [{\"type\": \"regex\", \"pattern\": \"(\"}]}]",
        json,
        (2, 74),
        &["case \"q7\"", "regular expression"],
    );
    refused(
        "[{\"id\": \"a\", \"prompt\": \"x\", \"checks\": [\"exact\"]}]",
        json,
        (1, 48),
        &["case \"a\"", "`expected`"],
    );
    refused(
        "[{\"id\": \"a\", \"prompt\": \"x\", \"checks\": [\"exakt\"]}]",
        json,
        (1, 48),
        &["\"exakt\"", "`contains`"],
    );
    refused(
        "[{\"id\": \"a\", \"prompt\": \"x\", \"checks\": [{\"type\": \"jugde\"}]}]",
        json,
        (1, 55),
        &["`jugde`", "`judge`"],
    );
    refused(
        "[{\"id\": \"a\", \"prompt\": \"x\", \"messages\": [{\"role\": \"robot\", \"content\": \"x\"}]}]",
        json,
        (1, 76),
        &["both `prompt` and `messages`"],
    );
    refused(
        "[{\"id\": \"a\", \"messages\": [{\"role\": \"robot\", \"content\": \"x\"}]}]",
        json,
        (1, 61),
        &["case \"a\"", "\"robot\"", "`user`"],
    );
    refused(
        "[{\"id\": \"a\", \"prompt\": \"x\", \"time_limit_s\": -1}]",
        json,
        (1, 47),
        &["`time_limit_s`", "above 0"],
    );
    refused("[{\"id\": \"\", \"prompt\": \"x\"}]", json, (1, 26), &["1 to 256"]);
    refused("[", json, (1, 1), &["EOF"]);
    refused("[]", json, (0, 0), &["no case"]);
    refused("7", json, (1, 1), &["a list of cases"]);
    refused("[{\"id\": \"a\", \"prompt\": \"x\"}] x", json, (1, 30), &["trailing characters"]);
}

#[test]
fn faults_of_tools_are_told() {
    let with = |tool: &str| format!("[{{\"id\": \"a\", \"prompt\": \"x\", \"tools\": [{tool}]}}]");
    let fault = |tool: &str, words: &[&str]| {
        let error = Cases::parse(&with(tool), CaseFormat::Json).unwrap_err().to_string();
        for word in words.iter().chain(&["case \"a\""]) {
            assert!(error.contains(word), "{error:?} lacks {word:?}");
        }
    };
    fault(r#"{"name": "t"}"#, &["tool \"t\"", "`answers`"]);
    fault(r#"{"name": "t", "otherwise": 1, "command": ["x"]}"#, &["leave one out"]);
    fault(
        r#"{"name": "t", "otherwise": 1, "parameters": {"type": "objekt"}}"#,
        &["`parameters`", "JSON schema"],
    );
    fault(r#"{"name": "t", "command": [""]}"#, &["its command is empty"]);
    fault(r#""t""#, &["no tool \"t\"", "`tools`"]);
    fault(r#"{"name": "t", "otherwise": 1}, {"name": "t", "otherwise": 2}"#, &["twice"]);
    let text = r#"[{"id": "a", "prompt": "x", "expected_tool": "t"}]"#;
    let error = Cases::parse(text, CaseFormat::Json).unwrap_err().to_string();
    assert!(error.contains("`expected_tool` \"t\""), "{error}");
}

#[test]
fn faults_in_lines_are_told_with_their_line() {
    let lines = CaseFormat::JsonLines;
    let good = r#"{"id":"a","prompt":"x"}"#;
    refused(&format!("{good}\n\n{{\"id\":\"b\",\"prompt\":}}"), lines, (3, 20), &["expected value"]);
    refused(&format!("{good}\n{good}"), lines, (2, 23), &["case \"a\"", "same id"]);
    refused(&format!("{good}\n{{\"id\":\"b\"}}"), lines, (2, 10), &["case \"b\"", "`prompt`"]);
    refused("\n \n", lines, (0, 0), &["no case"]);
}

#[test]
fn faults_in_tables_are_told_with_their_line_and_cell() {
    let table = CaseFormat::Csv;
    refused("id,promt\na,x\n", table, (1, 2), &["\"promt\"", "`prompt`"]);
    refused("id\na\n", table, (1, 1), &["`prompt` is missing"]);
    refused("id,prompt,id\na,x,b\n", table, (1, 1), &["\"id\" is there twice"]);
    refused("id,prompt\na,x\nb,y,z\n", table, (3, 1), &["3 cells", "2", "quotes"]);
    refused("id,prompt\na,x\n\na,y\n", table, (4, 1), &["case \"a\"", "same id"]);
    refused("id,prompt,max_tokens\na,x,many\n", table, (2, 3), &["`max_tokens`", "\"many\""]);
    refused("id,prompt,max_tokens\na,x,1.5\n", table, (2, 3), &["whole number"]);
    refused("id,prompt,checks\na,x,exact\n", table, (2, 1), &["case \"a\"", "`expected`"]);
    refused("id,prompt,expected,checks\na,x,(,regex\n", table, (2, 1), &["regular expression"]);
    refused("id,prompt\n,x\n", table, (2, 1), &["case \"\"", "the id"]);
    refused("", table, (1, 1), &["`id` is missing"]);
}

#[test]
fn a_file_is_named_with_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let error = |name: &str| Cases::read(path(name)).unwrap_err().to_string();
    std::fs::write(path("cases.json"), "[{\"id\": \"a\", \"prompt\": \"x\"}]").unwrap();
    assert_eq!(Cases::read(path("cases.json")).unwrap().len(), 1);
    std::fs::write(path("cases.txt"), "").unwrap();
    assert!(error("cases.txt").contains(".jsonl"));
    assert!(error("none.csv").contains("none.csv: cannot be read"));
    std::fs::write(path("latin.csv"), b"id,prompt\na,caf\xe9\n").unwrap();
    let told = error("latin.csv");
    assert!(told.contains("latin.csv, line 2, column 6: is not UTF-8"), "{told}");
    std::fs::write(path("bad.JSONL"), "{}").unwrap();
    assert!(error("bad.JSONL").contains("bad.JSONL, line 1, column 2"));
}

#[test]
fn cases_that_a_program_made_are_checked_too() {
    assert!(Cases::new(vec![Case::new("a", "x"), Case::new("a", "y")]).is_err());
    assert!(Cases::new(vec![Case::new(" ", "x")]).is_err());
    assert!(Cases::new(vec![Case::chat("a", vec![])]).is_err());
    let mut cases = Cases::new(vec![Case::new("a", "x").tag("t"), Case::new("b", "y")]).unwrap();
    cases.retain(|case| case.tags.contains(&"t".to_owned()));
    assert_eq!(cases.len(), 1);
}

fn text() -> impl Strategy<Value = String> {
    // Quotes, commas and line ends are what the formats trip over.
    "[a-zé\"',;\\\\\n\r\t ]{0,12}x"
}

proptest! {
    #[test]
    fn any_text_comes_through_json_lines_and_csv(texts in prop::collection::vec((text(), text()), 1..8)) {
        let mut expected = Vec::new();
        let (mut list, mut lines, mut table) = (Vec::new(), String::new(), String::from("id,prompt,expected\n"));
        for (number, (prompt, answer)) in texts.iter().enumerate() {
            let id = format!("case {number}");
            expected.push(Case::new(&id, prompt).expected(answer));
            let case = json!({"id": id, "prompt": prompt, "expected": answer});
            lines += &[&case.to_string(), "\n"].concat();
            list.push(case);
            let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
            table += &[&id, ",", &quoted(prompt), ",", &quoted(answer), "\n"].concat();
        }
        prop_assert_eq!(parse(&json!(list).to_string(), CaseFormat::Json), expected.clone());
        prop_assert_eq!(parse(&lines, CaseFormat::JsonLines), expected.clone());
        prop_assert_eq!(parse(&table, CaseFormat::Csv), expected);
    }

    #[test]
    fn no_text_makes_it_panic_and_each_fault_has_words(text in "\\PC{0,80}") {
        for format in [CaseFormat::Json, CaseFormat::JsonLines, CaseFormat::Csv] {
            if let Err(error) = Cases::parse(&text, format) {
                prop_assert!(error.to_string().len() > 10);
            }
        }
    }
}
