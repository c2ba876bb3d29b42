//! Index mappings, made from the tables' columns, and the templates that carry them. Pure.

use serde_json::{Map, Value, json};
use wattspan_core::Table;
use wattspan_dataset::{Column, ColumnType, columns};

use crate::dialect::Dialect;

/// Version of the index templates. One more whenever a mapping changes: a server that has an older one gets ours, one that
/// has a newer one keeps it.
pub const TEMPLATE_VERSION: u64 = 1;

/// The name of a table's index template, such as `smoltrace-results-wattspan`. SMOLTRACE's own is `smoltrace-results-template`.
pub fn template_name(prefix: &str, table: Table) -> String {
    format!("{prefix}-{}-wattspan", table.as_str())
}

/// A table's index template as JSON, the body of `PUT /_index_template/NAME`: for whoever may install templates where the
/// exporting user may not. For OpenSearch; Elasticsearch calls `flat_object` `flattened`.
pub fn template(prefix: &str, table: Table) -> String {
    template_body(prefix, table, Dialect::OpenSearch).to_string()
}

pub(crate) fn template_body(prefix: &str, table: Table, dialect: Dialect) -> Value {
    json!({
        "index_patterns": [pattern(prefix, table)],
        // Above SMOLTRACE's 100: two templates for one name may not have the same priority.
        "priority": 200,
        "version": TEMPLATE_VERSION,
        "_meta": {"managed_by": MANAGED_BY},
        "template": {
            // Small indexes, one for each run: one shard each, and a copy where there is a second node to hold it.
            "settings": {"number_of_shards": 1, "auto_expand_replicas": "0-1"},
            "mappings": mappings(table, dialect),
        },
    })
}

/// Which index names a table has.
pub(crate) fn pattern(prefix: &str, table: Table) -> String {
    match table {
        Table::Leaderboard => format!("{prefix}-leaderboard"),
        _ => format!("{prefix}-{}-*", table.as_str()),
    }
}

pub(crate) fn mappings(table: Table, dialect: Dialect) -> Value {
    let mut fields = properties(columns(table), dialect);
    if table == Table::Leaderboard {
        for index in [Table::Results, Table::Traces, Table::Metrics] {
            fields.insert(index_field(index).to_owned(), keyword());
        }
        fields.insert(METADATA.to_owned(), json!({"type": "object", "enabled": false}));
    }
    // What is not mapped stays in the document and is not indexed: no value ever fixes a type by guess, and fields do not
    // grow.
    json!({"dynamic": false, "properties": fields})
}

/// The leaderboard's field that names a run's index.
pub(crate) const fn index_field(table: Table) -> &'static str {
    match table {
        Table::Results => "results_index",
        Table::Traces => "traces_index",
        Table::Metrics => "metrics_index",
        Table::Leaderboard => "leaderboard_index",
    }
}

/// The leaderboard's field for the run's metadata.
pub(crate) const METADATA: &str = "metadata";
/// How our templates are told from others'.
pub(crate) const MANAGED_BY: &str = "wattspan";

fn properties(columns: &[Column], dialect: Dialect) -> Map<String, Value> {
    columns.iter().map(|column| (column.name.to_owned(), field(column.name, column.kind, dialect))).collect()
}

fn field(name: &str, kind: ColumnType, dialect: Dialect) -> Value {
    match kind {
        ColumnType::Bool => json!({"type": "boolean"}),
        // SMOLTRACE's `integer` ends at 2^31, and a `float` has seven digits.
        ColumnType::Int => json!({"type": "long"}),
        ColumnType::Float => json!({"type": "double"}),
        ColumnType::Time => json!({"type": "date"}),
        // Both words and whole, as SMOLTRACE's.
        ColumnType::Text if name == "run_stop_reason" => {
            json!({"type": "text", "fields": {"keyword": keyword()}})
        }
        ColumnType::Text if PROSE.contains(&name) => json!({"type": "text"}),
        ColumnType::Text if UNSEARCHED.contains(&name) => json!({"type": "text", "index": false}),
        ColumnType::Text => keyword(),
        // A list has the type of its items; only of objects each is to be searched by itself.
        ColumnType::List(ColumnType::Struct(parts)) => {
            let kind = if NESTED.contains(&name) { "nested" } else { "object" };
            json!({"type": kind, "dynamic": false, "properties": properties(parts, dialect)})
        }
        ColumnType::List(item) => field(name, *item, dialect),
        ColumnType::Struct(parts) => {
            json!({"type": "object", "dynamic": false, "properties": properties(parts, dialect)})
        }
        // `x` and `x.y` are two keys of one flat object and two contradicting fields of any other. A kind of column that
        // this crate does not know is kept and not indexed.
        ColumnType::Map => json!({"type": dialect.flat()}),
        _ => json!({"type": "object", "enabled": false}),
    }
}

/// A term has at most 32 766 bytes (Lucene, `IndexWriter.MAX_TERM_LENGTH`) and a longer one fails its whole document; a
/// character has up to four.
fn keyword() -> Value {
    json!({"type": "keyword", "ignore_above": 8_191})
}

/// Texts that people write or models answer: searched by word, not by whole.
const PROSE: [&str; 6] = ["prompt", "response", "error", "notes", "tool_output", "description"];
/// Texts that only a reader of the document needs.
const UNSEARCHED: [&str; 2] = ["enhanced_trace_info", "generation_settings"];
/// Lists of objects of which a query means one at a time. Each item is a document of its own inside, of which one trace may
/// have 10 000 (`index.mapping.nested_objects.limit`): events and links would use them up.
const NESTED: [&str; 1] = ["spans"];

#[cfg(test)]
mod tests;
