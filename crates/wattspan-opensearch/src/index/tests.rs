use super::*;

#[test]
fn an_index_name_has_the_runs_own_time() {
    // `date -u -d @1796161598`.
    assert_eq!(suffix(SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_161_598)), "20261201-214638");
}

#[test]
fn only_fields_that_are_missing_are_added() {
    let found = json!({
        "same": {"type": "keyword"},
        "other": {"type": "integer"},
        "spans": {"type": "nested", "properties": {"name": {"type": "keyword"}, "kind": {"type": "text"}}},
        "opaque": {"type": "object", "enabled": false},
        "shape": {"properties": {"a": {"type": "long"}}},
    });
    let wanted = json!({
        "same": {"type": "keyword", "ignore_above": 8191},
        "other": {"type": "long"},
        "new": {"type": "double"},
        "spans": {"type": "nested", "properties": {
            "name": {"type": "keyword"}, "kind": {"type": "keyword"}, "scope": {"type": "keyword"},
        }},
        "opaque": {"type": "object", "properties": {"a": {"type": "long"}}},
        "shape": {"type": "object", "properties": {"a": {"type": "long"}}},
    });
    let mut other = Vec::new();
    let added = missing(&found, &wanted, "", &mut other).unwrap();
    assert_eq!(
        Value::Object(added),
        json!({
            "new": {"type": "double"},
            "spans": {"type": "nested", "properties": {"scope": {"type": "keyword"}}},
        })
    );
    assert_eq!(other, ["other as integer", "spans.kind as text"]);
    assert_eq!(missing(&wanted, &wanted, "", &mut other), None);
}
