//! The tables against the registry, read here by itself.

use std::collections::BTreeSet;

use serde_json::Value;
use wattspan_semconv::{
    AttributeDef, Evidence, Key, Level, Measure, MetricDef, Operation, Profile, Sensitivity, SpanKind,
    Standing, attr_name, metric_name, smoltrace,
};

fn registry() -> Value {
    serde_json::from_str(include_str!("../registry/semconv.json")).unwrap()
}

fn profiles() -> [(Profile, &'static str); 2] {
    [(Profile::Core, "core_1_41"), (Profile::GenAi, "genai_0_1")]
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap()
}

#[test]
fn attributes_have_the_registrys_type_values_and_standing() {
    let registry = registry();
    let mut seen = 0;
    for (profile, id) in profiles() {
        let all =
            items(&registry["profiles"][id], "attributes").iter().chain(items(&registry["hw"], "attributes"));
        for wanted in all {
            let def: &AttributeDef = profile.attribute_def(name(wanted)).unwrap();
            let kind = wanted["type"].as_str().unwrap();
            assert_eq!(def.kind.as_str(), if kind == "enum" { "string" } else { kind }, "{}", def.name);
            let members = wanted["members"].as_array().map(Vec::as_slice).unwrap_or_default();
            let live = members.iter().filter(|member| member.get("deprecated").is_none());
            let values: Vec<&str> = live.map(|member| member["value"].as_str().unwrap()).collect();
            assert_eq!(def.values, values, "{}", def.name);
            assert!(!def.closed, "{}: the conventions' enumerations are open", def.name);
            let standing = match wanted["deprecated"]["reason"].as_str() {
                None => Standing::Live,
                Some("renamed") => {
                    let newer = wanted["deprecated"]["renamed_to"].as_str().unwrap();
                    assert_eq!(profile.attribute_def(newer).map(|def| def.name), Some(newer));
                    assert!(matches!(def.standing, Standing::RenamedTo(to) if to == newer), "{}", def.name);
                    continue;
                }
                Some(_) => Standing::Obsolete,
            };
            assert_eq!(def.standing, standing, "{}", def.name);
            let sensitivity = match wanted["sensitive"].as_str() {
                None => Sensitivity::None,
                Some("possible") => Sensitivity::Possible,
                Some(_) => Sensitivity::Likely,
            };
            assert_eq!(def.sensitivity, sensitivity, "{}", def.name);
            seen += 1;
        }
    }
    // All but the eight renamed ones of core, which the loop leaves early.
    assert_eq!(seen, 85 + 99 + 2 * 29 - 8);
}

#[test]
fn metrics_have_the_registrys_unit_instrument_buckets_and_attributes() {
    let registry = registry();
    let mut histograms = 0;
    for (profile, id) in profiles() {
        let all = items(&registry["profiles"][id], "metrics").iter().chain(items(&registry["hw"], "metrics"));
        for wanted in all {
            let def: &MetricDef = profile.metric_def(name(wanted)).unwrap();
            assert_eq!(def.unit, wanted["unit"], "{}", def.name);
            assert_eq!(def.instrument.as_str(), wanted["instrument"], "{}", def.name);
            if let Some(value_type) = wanted["value_type"].as_str() {
                assert_eq!(def.value_type.as_str(), value_type, "{}", def.name);
            }
            let buckets = wanted["buckets"].as_array().map(Vec::as_slice).unwrap_or_default();
            let buckets: Vec<f64> = buckets.iter().map(|bound| bound.as_f64().unwrap()).collect();
            assert_eq!(def.buckets, buckets, "{}", def.name);
            histograms += usize::from(!buckets.is_empty());
            check_references(def.attributes, wanted, def.name);
        }
    }
    // 11 of core and 19 of genai state boundaries.
    assert_eq!(histograms, 30);
}

#[test]
fn spans_have_the_registrys_template_kinds_and_attributes() {
    let registry = registry();
    for (profile, id) in profiles() {
        for wanted in items(&registry["profiles"][id], "spans") {
            let id = wanted["id"].as_str().unwrap();
            let def = profile.span_by_id(id).unwrap();
            assert_eq!(def.kind.as_str(), wanted["kind"], "{id}");
            assert_eq!(def.name_template, wanted["name_template"], "{id}");
            assert_eq!(def.name_fallback, wanted["name_fallback"].as_str(), "{id}");
            check_references(def.attributes, wanted, id);
            for reference in items(wanted, "attributes") {
                let place = def.attribute(reference["ref"].as_str().unwrap()).unwrap();
                assert_eq!(
                    place.sampling_relevant,
                    reference["sampling_relevant"] == true,
                    "{id} {}",
                    place.name
                );
            }
        }
    }
}

#[test]
fn events_have_the_registrys_severity() {
    let registry = registry();
    for (profile, id) in profiles() {
        for wanted in items(&registry["profiles"][id], "events") {
            let def = profile.event_def(name(wanted)).unwrap();
            assert_eq!(def.severity.map(u64::from), wanted["severity_number"].as_u64(), "{}", def.name);
            check_references(def.attributes, wanted, def.name);
        }
    }
}

#[track_caller]
fn check_references(refs: &[wattspan_semconv::AttributeRef], wanted: &Value, what: &str) {
    let refs: Vec<(&str, Level)> = refs.iter().map(|r| (r.name, r.level)).collect();
    let wanted = items(wanted, "attributes").iter().map(|reference| {
        let level = match reference["requirement_level"].as_str().unwrap() {
            "required" => Level::Required,
            "conditionally_required" => Level::ConditionallyRequired,
            "recommended" => Level::Recommended,
            _ => Level::OptIn,
        };
        (reference["ref"].as_str().unwrap(), level)
    });
    assert_eq!(refs, wanted.collect::<Vec<_>>(), "{what}");
}

#[test]
fn every_llamatelemetry_name_resolves() {
    let registry = registry();
    let peer = &registry["peer_names"]["llamatelemetry"];
    let (attributes, metrics) = (items(peer, "attributes"), items(peer, "metrics"));
    assert_eq!((attributes.len(), metrics.len()), (46, 5));
    for full in attributes.iter().map(name) {
        assert_eq!(attr_name(full.strip_prefix("gen_ai.").unwrap()), Ok(full));
        assert!(Profile::Core.attribute_def(full).is_some_and(AttributeDef::is_live), "{full}");
    }
    for wanted in metrics {
        let full = name(wanted);
        assert_eq!(metric_name(full.strip_prefix("gen_ai.").unwrap()), Ok(full));
        let def = Profile::Core.metric_def(full).unwrap();
        assert_eq!((def.instrument.as_str(), def.unit), ("histogram", wanted["unit"].as_str().unwrap()));
    }
}

#[test]
fn smoltrace_has_its_seven_metrics_with_columns_and_factors() {
    let registry = registry();
    let wanted = items(&registry["peer_names"], "smoltrace");
    assert_eq!(smoltrace::metrics().len(), 7);
    for (entry, wanted) in smoltrace::metrics().iter().zip(wanted) {
        assert_eq!(entry.metric.name, name(wanted));
        assert_eq!(entry.metric.unit, wanted["unit"]);
        assert_eq!(entry.metric.instrument.as_str(), wanted["instrument"]);
        assert_eq!(entry.flat_column, wanted["flat_column"]);
        assert_eq!(entry.hw.map(|(name, _)| name), wanted["hw_name"].as_str());
        assert_eq!(entry.hw.map(|(_, factor)| factor), wanted["to_hw_factor"].as_f64());
        if let Some((hw, _)) = entry.hw {
            assert!(Profile::Core.metric_def(hw).is_some(), "{hw}");
            assert_eq!(smoltrace::for_hardware(hw).map(|e| e.metric.name), Some(entry.metric.name));
        }
        assert!(smoltrace::flat_columns().iter().any(|(column, _)| *column == entry.flat_column));
    }
}

#[test]
fn no_look_up_gives_an_inferred_name() {
    let registry = registry();
    let genai = &registry["profiles"]["genai_0_1"];
    let mut inferred = BTreeSet::new();
    for list in ["attributes", "metrics", "spans", "events"] {
        for entry in items(genai, list).iter().filter(|entry| entry["evidence"] == "inferred") {
            inferred.insert(entry["id"].as_str().unwrap_or_else(|| name(entry)));
        }
    }
    assert!(inferred.contains("gen_ai.client.invoke_agent.duration"));
    let operations = Operation::ALL.iter().copied().chain([Operation::Custom("own")]);
    for (profile, operation) in
        operations.flat_map(|operation| Profile::ALL.map(|profile| (profile, operation)))
    {
        for &measure in Measure::ALL {
            for used in profile.instruments(operation, measure) {
                assert!(!inferred.contains(used.metric.name), "{}", used.metric.name);
                assert_ne!(used.metric.evidence, Evidence::Inferred);
            }
        }
        for &key in Key::ALL {
            let name = profile.attribute(operation, key).map(|def| def.name);
            assert!(name.is_none_or(|name| !inferred.contains(name)), "{name:?}");
        }
        for kind in [SpanKind::Client, SpanKind::Internal, SpanKind::Server] {
            let id = profile.span(operation, kind).map(|def| def.id);
            assert!(id.is_none_or(|id| !inferred.contains(id)), "{id:?}");
        }
    }
}

#[test]
fn every_live_attribute_has_a_key_and_every_name_a_definition() {
    for profile in Profile::ALL {
        let with_key: BTreeSet<&str> = Key::ALL
            .iter()
            .flat_map(|&key| {
                [Operation::Chat, Operation::Retrieval].map(|operation| profile.attribute(operation, key))
            })
            .flatten()
            .map(|def| def.name)
            .collect();
        for def in profile.attributes().filter(|def| def.is_live()) {
            assert!(with_key.contains(def.name), "{profile}: {}", def.name);
        }
        let lists =
            profile.metrics().map(|def| def.attributes).chain(profile.spans().map(|def| def.attributes));
        for reference in lists.chain(profile.events().map(|def| def.attributes)).flatten() {
            let def = profile.attribute_def(reference.name);
            assert!(def.is_some_and(AttributeDef::is_live), "{profile}: {}", reference.name);
        }
    }
}

#[test]
fn profile_states_the_registrys_version_and_schema() {
    let registry = registry();
    for (profile, id) in profiles() {
        let wanted = &registry["profiles"][id];
        assert_eq!(profile.version(), wanted["version"]);
        assert_eq!(profile.schema_url(), wanted["schema_url"].as_str());
    }
}

#[test]
fn own_enumerations_are_closed_where_the_input_says_so() {
    let own: Value = serde_json::from_str(include_str!("../registry/wattspan.json")).unwrap();
    let closed: Vec<&str> = Profile::Core.attributes().filter(|def| def.closed).map(|def| def.name).collect();
    let wanted: Vec<&str> =
        items(&own, "attributes").iter().filter(|a| a["closed"] == true).map(name).collect();
    assert_eq!(closed.iter().collect::<BTreeSet<_>>(), wanted.iter().collect::<BTreeSet<_>>());
    assert!(wanted.contains(&"wattspan.energy.method"));
}

#[test]
fn prompts_answers_tool_data_and_documents_are_content() {
    let content = |profile: Profile| {
        profile.attributes().filter(|def| def.content).map(|def| def.name).collect::<Vec<_>>()
    };
    let both = [
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.retrieval.documents",
        "gen_ai.retrieval.query.text",
        "gen_ai.system_instructions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.tool.definitions",
    ];
    assert_eq!(content(Profile::Core), both);
    let newer = ["gen_ai.memory.query.text", "gen_ai.memory.records", "gen_ai.prompt.variable"];
    let mut all: Vec<&str> = both.into_iter().chain(newer).collect();
    all.sort_unstable();
    assert_eq!(content(Profile::GenAi), all);
    // What the conventions leave to choice on an inference is content, and nothing else of it is.
    for (profile, kind) in [(Profile::Core, SpanKind::Client), (Profile::GenAi, SpanKind::Client)] {
        for reference in profile.span(Operation::Chat, kind).unwrap().attributes {
            let def = profile.attribute_def(reference.name).unwrap();
            assert_eq!(def.content, reference.level == Level::OptIn, "{}", def.name);
        }
    }
}
