//! The saved objects in `deploy/opensearch` hold together, and use fields that the indexes have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wattspan_core::Table;
use wattspan_opensearch::template;

const OBJECTS: &str = include_str!("../../../deploy/opensearch/saved-objects.ndjson");
/// Where an object's index pattern stands among its references.
const INDEX: &str = "kibanaSavedObjectMeta.searchSourceJSON.index";

struct Objects(BTreeMap<(String, String), Value>);

impl Objects {
    fn read() -> Self {
        let objects = OBJECTS.lines().map(|line| {
            let object: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| object[name].as_str().unwrap().to_owned();
            ((text("type"), text("id")), object)
        });
        Self(objects.collect())
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |((known, _), _)| known == kind).map(|(_, object)| object)
    }
}

/// The table whose index pattern an object refers to.
fn table(object: &Value) -> Table {
    let references = object["references"].as_array().unwrap();
    let id = &references.iter().find(|reference| reference["name"] == INDEX).unwrap()["id"];
    let name = id.as_str().unwrap().strip_prefix("wattspan-").unwrap();
    *Table::ALL.iter().find(|table| table.as_str() == name).unwrap()
}

/// A field's type in a table's index.
#[track_caller]
fn kind(table: Table, field: &str) -> String {
    let template: Value = serde_json::from_str(&template("smoltrace", table)).unwrap();
    let found = &template["template"]["mappings"]["properties"][field]["type"];
    found.as_str().unwrap_or_else(|| panic!("{} has no field {field}", table.as_str())).to_owned()
}

fn json(object: &Value) -> Value {
    serde_json::from_str(object.as_str().unwrap()).unwrap()
}

#[test]
fn every_reference_leads_to_an_object_of_this_file() {
    let objects = Objects::read();
    assert_eq!(objects.0.len(), OBJECTS.lines().count(), "two objects have one id");
    for ((kind, id), object) in &objects.0 {
        let mut names = BTreeSet::new();
        for reference in object["references"].as_array().unwrap() {
            let text = |name: &str| reference[name].as_str().unwrap().to_owned();
            assert!(objects.0.contains_key(&(text("type"), text("id"))), "{kind} {id}: {reference}");
            assert!(names.insert(text("name")), "{kind} {id}: two references of one name");
        }
        if kind == "dashboard" {
            let panels = json(&object["attributes"]["panelsJSON"]);
            let used = panels.as_array().unwrap().iter().map(|panel| panel["panelRefName"].as_str().unwrap());
            assert_eq!(used.map(str::to_owned).collect::<BTreeSet<_>>(), names, "{id}");
        } else if kind != "index-pattern" {
            let source = json(&object["attributes"]["kibanaSavedObjectMeta"]["searchSourceJSON"]);
            assert_eq!(source["indexRefName"], INDEX, "{id}");
        }
    }
}

#[test]
fn index_patterns_match_the_names_and_times_of_the_indexes() {
    let objects = Objects::read();
    for table in Table::ALL {
        let object = &objects.0[&("index-pattern".to_owned(), format!("wattspan-{}", table.as_str()))];
        let template: Value = serde_json::from_str(&template("smoltrace", table)).unwrap();
        assert_eq!(object["attributes"]["title"], template["index_patterns"][0]);
        assert_eq!(kind(table, object["attributes"]["timeFieldName"].as_str().unwrap()), "date");
    }
}

#[test]
fn every_field_is_in_the_mappings_and_can_do_what_it_is_asked() {
    let objects = Objects::read();
    let mut fields = 0;
    for object in objects.of("visualization") {
        let table = table(object);
        let state = json(&object["attributes"]["visState"]);
        let (mut ids, mut series) = (BTreeSet::new(), BTreeSet::new());
        for aggregation in state["aggs"].as_array().unwrap() {
            assert!(ids.insert(aggregation["id"].as_str().unwrap().to_owned()), "{state}");
            let Some(field) = aggregation["params"]["field"].as_str() else {
                assert_eq!(aggregation["type"], "count");
                continue;
            };
            fields += 1;
            let kind = kind(table, field);
            let fits: &[&str] = match aggregation["type"].as_str().unwrap() {
                "terms" => &["keyword", "boolean"],
                "date_histogram" => &["date"],
                "avg" | "sum" | "max" | "histogram" => &["double", "long"],
                other => panic!("{other} is not known to this test"),
            };
            assert!(fits.contains(&kind.as_str()), "{field} is {kind}: {aggregation}");
        }
        for one in state["params"]["seriesParams"].as_array().into_iter().flatten() {
            series.insert(one["data"]["id"].as_str().unwrap().to_owned());
        }
        assert!(series.is_subset(&ids), "{state}");
    }
    for object in objects.of("search") {
        let table = table(object);
        for column in object["attributes"]["columns"].as_array().unwrap() {
            kind(table, column.as_str().unwrap());
            fields += 1;
        }
        assert_eq!(kind(table, object["attributes"]["sort"][0][0].as_str().unwrap()), "date");
    }
    assert!(fields > 50, "only {fields} fields were looked at");
}

#[test]
fn queries_and_links_name_fields_and_objects_that_are_there() {
    let objects = Objects::read();
    for object in objects.of("visualization") {
        let source = json(&object["attributes"]["kibanaSavedObjectMeta"]["searchSourceJSON"]);
        if let Some((field, _)) = source["query"]["query"].as_str().unwrap().split_once(':') {
            kind(table(object), field);
        }
    }
    let mut links = 0;
    for object in objects.of("index-pattern") {
        let name = object["id"].as_str().unwrap().strip_prefix("wattspan-").unwrap();
        let table = *Table::ALL.iter().find(|table| table.as_str() == name).unwrap();
        for (field, format) in json(&object["attributes"]["fieldFormatMap"]).as_object().unwrap() {
            assert_eq!(kind(table, field), "keyword");
            let url = format["params"]["urlTemplate"].as_str().unwrap();
            let (place, query) = url.split_once("?_a=(query:(language:kuery,query:'").unwrap();
            let (app, id) = place.split_once("#/view/").unwrap();
            let target = if app == "/app/dashboards" { "dashboard" } else { "search" };
            let target = &objects.0[&(target.to_owned(), id.to_owned())];
            // What the link asks for must be a field of where it leads.
            let (asked, value) = query.split_once(':').unwrap();
            assert_eq!(value, "%22{{value}}%22'))");
            if target["type"] == "search" {
                kind(self::table(target), asked);
            } else {
                for table in [Table::Results, Table::Traces, Table::Metrics] {
                    kind(table, asked);
                }
            }
            links += 1;
        }
    }
    // Leaderboard to run, case to trace and back, and each to its run.
    assert_eq!(links, 6);
}
