//! Checks of attribute lists: names, types, values, what must stand beside what.

use super::data::{Attributes, Value};
use super::violation::{Fault, Place, Violation};
use crate::attr;
use crate::model::{AttributeDef, AttributeRef, AttributeType, Level};
use crate::names::provider_name;
use crate::profile::Profile;
use crate::rename::names_in;

/// Namespaces in which the conventions and we name everything.
const NAMESPACES: [&str; 5] = ["gen_ai.", "mcp.", "openai.", "hw.", "wattspan."];

pub(super) fn is_convention_name(name: &str) -> bool {
    NAMESPACES.iter().any(|namespace| name.starts_with(namespace))
}

pub(super) fn get<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a Value> {
    attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

pub(super) fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    get(attributes, name).and_then(Value::as_str)
}

/// Everything that can be said of the attributes without knowing what they stand on.
pub(super) fn check(profile: Profile, place: &Place, attributes: &Attributes, out: &mut Vec<Violation>) {
    let mut report = |fault| out.push(Violation { place: place.clone(), fault });
    let operation = text(attributes, attr::GEN_AI_OPERATION_NAME);
    for (at, (name, value)) in attributes.iter().enumerate() {
        if attributes[..at].iter().any(|(earlier, _)| earlier == name) {
            let reported_before = attributes[..at].iter().filter(|(earlier, _)| earlier == name).count() > 1;
            if !reported_before {
                report(Fault::DuplicateAttribute { name: name.clone() });
            }
            continue;
        }
        let Some(def) = profile.attribute_def(name) else {
            if is_convention_name(name) {
                report(unknown(profile, name, operation));
            }
            continue;
        };
        if !def.is_live() {
            let instead = names_in(profile, name, operation);
            report(Fault::DeprecatedAttribute { name: name.clone(), instead });
            continue;
        }
        if !has_type(value, def.kind) {
            report(Fault::WrongType { name: name.clone(), expected: def.kind.as_str(), found: value.kind() });
            continue;
        }
        check_values(def, value, &mut report);
        for required in def.requires.iter().filter(|required| get(attributes, required).is_none()) {
            report(Fault::MissingAttribute {
                name: (*required).to_owned(),
                because: "required beside what it qualifies",
            });
        }
    }
}

/// The attributes that a span, metric or event asks for in any case, and the port that goes with an address.
pub(super) fn check_required(
    place: &Place,
    wanted: &[AttributeRef],
    attributes: &Attributes,
    out: &mut Vec<Violation>,
) {
    let mut missing = |name: &str, because| {
        if get(attributes, name).is_none() {
            let fault = Fault::MissingAttribute { name: name.to_owned(), because };
            out.push(Violation { place: place.clone(), fault });
        }
    };
    for wanted in wanted {
        if wanted.level == Level::Required {
            missing(wanted.name, "required");
        }
        let conditional = wanted.level == Level::ConditionallyRequired;
        if conditional && wanted.name == attr::SERVER_PORT && get(attributes, attr::SERVER_ADDRESS).is_some()
        {
            missing(wanted.name, "required beside `server.address`");
        }
    }
}

/// A name of a convention that the profile lacks: deprecated when older conventions had it, else unknown.
fn unknown(profile: Profile, name: &str, operation: Option<&str>) -> Fault {
    let instead = names_in(profile, name, operation);
    let name = name.to_owned();
    match Profile::Core.attribute_def(&name) {
        Some(def) if !def.is_live() => Fault::DeprecatedAttribute { name, instead },
        _ => Fault::UnknownAttribute { name, instead },
    }
}

fn has_type(value: &Value, kind: AttributeType) -> bool {
    match kind {
        AttributeType::String | AttributeType::Template => matches!(value, Value::String(_)),
        AttributeType::Int => matches!(value, Value::Int(_)),
        AttributeType::Double => matches!(value, Value::Double(_)),
        AttributeType::Boolean => matches!(value, Value::Bool(_)),
        AttributeType::StringArray => value.kind() == "string[]",
        AttributeType::Any => *value != Value::Empty,
    }
}

fn check_values(def: &AttributeDef, value: &Value, report: &mut impl FnMut(Fault)) {
    let texts: Vec<&str> = match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    };
    for text in texts {
        if def.closed && !def.values.contains(&text) {
            report(Fault::UnknownValue { name: def.name.to_owned(), value: text.to_owned() });
        }
        if def.name == attr::GEN_AI_PROVIDER_NAME && provider_name(text) != text {
            let instead = provider_name(text).to_owned();
            report(Fault::DeprecatedValue { name: def.name.to_owned(), value: text.to_owned(), instead });
        }
    }
}
