use std::collections::BTreeSet;

use super::*;

/// Every field with all that its mapping says, in a line each.
fn shown() -> BTreeSet<String> {
    fn look(path: &str, field: &Value, lines: &mut BTreeSet<String>) {
        let mut own = field.clone();
        let fields = own.as_object_mut().unwrap().remove("properties").unwrap_or_default();
        lines.insert(format!("{path} {own}"));
        for (name, field) in fields.as_object().into_iter().flatten() {
            look(&format!("{path}.{name}"), field, lines);
        }
    }
    let mut lines = BTreeSet::new();
    for table in Table::ALL {
        look(table.as_str(), &mappings(table, Dialect::OpenSearch), &mut lines);
    }
    lines
}

#[test]
fn a_mapping_changes_only_with_its_version() {
    let path = format!("{}/fixtures/mappings-v{TEMPLATE_VERSION}.txt", env!("CARGO_MANIFEST_DIR"));
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let known: BTreeSet<String> = known.lines().map(str::to_owned).collect();
    let now = shown();
    let (added, gone): (Vec<_>, Vec<_>) =
        (now.difference(&known).collect(), known.difference(&now).collect());
    assert!(
        added.is_empty() && gone.is_empty(),
        "the mappings are not those of version {TEMPLATE_VERSION}. If that was released, raise TEMPLATE_VERSION, or servers keep \
         the old ones. In {path} are missing:\n{}\nand too many:\n{}",
        added.into_iter().cloned().collect::<Vec<_>>().join("\n"),
        gone.into_iter().cloned().collect::<Vec<_>>().join("\n"),
    );
}

#[test]
fn each_kind_of_column_has_its_type() {
    let of = |table, path: &[&str]| {
        let mapping = mappings(table, Dialect::OpenSearch);
        let mut field = &mapping;
        for name in path {
            field = &field["properties"][name];
        }
        field.clone()
    };
    assert_eq!(of(Table::Results, &["success"]), json!({"type": "boolean"}));
    assert_eq!(of(Table::Results, &["total_tokens"]), json!({"type": "long"}));
    assert_eq!(of(Table::Results, &["energy_j"]), json!({"type": "double"}));
    assert_eq!(of(Table::Results, &["evaluation_date"]), json!({"type": "date"}));
    assert_eq!(of(Table::Results, &["prompt"]), json!({"type": "text"}));
    assert_eq!(of(Table::Results, &["model"]), json!({"type": "keyword", "ignore_above": 8_191}));
    assert_eq!(of(Table::Results, &["tools_used"])["type"], "keyword");
    assert_eq!(of(Table::Results, &["enhanced_trace_info"]), json!({"type": "text", "index": false}));
    assert_eq!(of(Table::Traces, &["spans"])["type"], "nested");
    assert_eq!(of(Table::Traces, &["spans", "attributes"]), json!({"type": "flat_object"}));
    assert_eq!(of(Table::Traces, &["spans", "resource", "attributes"]), json!({"type": "flat_object"}));
    assert_eq!(of(Table::Traces, &["spans", "events"])["type"], "object");
    assert_eq!(of(Table::Traces, &["spans", "start_time"]), json!({"type": "long"}));
    assert_eq!(of(Table::Leaderboard, &["metrics_index"])["type"], "keyword");
    assert_eq!(of(Table::Leaderboard, &["metadata"]), json!({"type": "object", "enabled": false}));
    // Elasticsearch has another word for it.
    assert_eq!(
        mappings(Table::Traces, Dialect::Elasticsearch)["properties"]["spans"]["properties"]["attributes"]["type"],
        "flattened"
    );
}

#[test]
fn no_object_guesses_types() {
    fn look(field: &Value) {
        if let Some(fields) = field["properties"].as_object() {
            assert_eq!(field["dynamic"], false, "{field}");
            fields.values().for_each(look);
        } else if field["type"] == "object" {
            assert_eq!(field["enabled"], false, "{field}");
        }
    }
    for table in Table::ALL {
        look(&mappings(table, Dialect::OpenSearch));
    }
}

#[test]
fn our_templates_stand_beside_smoltraces() {
    let body: Value = serde_json::from_str(&template("p", Table::Results)).unwrap();
    // Its priority is 100 and its name ends with `-template`.
    assert_eq!((&body["priority"], &body["index_patterns"]), (&json!(200), &json!(["p-results-*"])));
    assert_eq!(template_name("p", Table::Results), "p-results-wattspan");
    let body: Value = serde_json::from_str(&template("p", Table::Leaderboard)).unwrap();
    assert_eq!(body["index_patterns"], json!(["p-leaderboard"]));
}
