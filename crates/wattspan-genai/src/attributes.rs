//! Attributes under the names that a profile has for them, each key once.

use std::borrow::Cow;

use opentelemetry::{Array, KeyValue, StringValue, Value};
use wattspan_semconv::{AttributeType, Key, Operation, Profile};

/// Which keys were written, so that none is written twice: an SDK exports a repeated key beside the first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeySet([u64; 3]);

impl KeySet {
    /// Adds a key; false when it was there.
    fn insert(&mut self, key: Key) -> bool {
        let (word, bit) = Self::place(key);
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    fn place(key: Key) -> (usize, u64) {
        let number = key as usize;
        (number / 64, 1 << (number % 64))
    }
}

// One bit for each key.
const _: () = assert!(Key::ALL.len() <= 192);

/// A list under construction. A key that the profile does not have is left out.
#[derive(Debug)]
pub(crate) struct Attributes {
    pub(crate) profile: Profile,
    pub(crate) operation: Operation,
    pub(crate) list: Vec<KeyValue>,
    pub(crate) written: KeySet,
}

impl Attributes {
    pub(crate) fn new(profile: Profile, operation: Operation, room: usize) -> Self {
        Self { profile, operation, list: Vec::with_capacity(room), written: KeySet::default() }
    }

    /// A further list for the same span: what the first one wrote stays written.
    pub(crate) fn after(profile: Profile, operation: Operation, written: KeySet, room: usize) -> Self {
        Self { profile, operation, list: Vec::with_capacity(room), written }
    }

    /// Writes a key unless it was written before; the first value stands.
    pub(crate) fn set(&mut self, key: Key, value: impl Into<Value>) {
        let Some(attribute) = self.profile.attribute(self.operation, key) else { return };
        if self.written.insert(canonical(self.profile, self.operation, key)) {
            self.list.push(KeyValue::new(attribute.name, fitted(value.into(), attribute.kind)));
        }
    }

    pub(crate) fn set_option(&mut self, key: Key, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }

    pub(crate) fn set_count(&mut self, key: Key, count: Option<u64>) {
        if let Some(count) = count {
            self.set(key, count_value(count));
        }
    }

    pub(crate) fn set_list(&mut self, key: Key, values: impl IntoIterator<Item = Cow<'static, str>>) {
        self.set(key, text_list(values));
    }
}

/// Two meanings that a profile calls the same are one key.
fn canonical(profile: Profile, operation: Operation, key: Key) -> Key {
    match (key, profile) {
        (Key::WorkflowName, Profile::GenAi) => Key::AgentName,
        (Key::RetrievalTopK, Profile::Core) => Key::RequestTopK,
        (Key::RetrievalTopK, Profile::GenAi) if operation == Operation::Retrieval => Key::RequestTopK,
        _ => key,
    }
}

/// A number in the type that the profile asks for: `top_k` is a double in one and an integer in the other.
fn fitted(value: Value, kind: AttributeType) -> Value {
    match (value, kind) {
        (Value::I64(whole), AttributeType::Double) => Value::F64(whole as f64),
        (Value::F64(number), AttributeType::Int) if number.fract() == 0.0 && number.abs() < 9.0e15 => {
            Value::I64(number as i64)
        }
        (value, _) => value,
    }
}

/// A count as OpenTelemetry's signed integer; what does not fit becomes text and never a negative number.
pub(crate) fn count_value(count: u64) -> Value {
    i64::try_from(count).map_or_else(|_| Value::from(count.to_string()), Value::I64)
}

pub(crate) fn text_list(values: impl IntoIterator<Item = Cow<'static, str>>) -> Value {
    let values: Vec<StringValue> = values.into_iter().map(Into::into).collect();
    Value::Array(Array::String(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_place_of_its_own() {
        let mut set = KeySet::default();
        for key in Key::ALL {
            assert!(set.insert(*key), "{key:?}");
            assert!(!set.insert(*key), "{key:?}");
        }
    }

    #[test]
    fn names_that_two_keys_share_are_written_once() {
        let names = |profile, operation, keys: [Key; 2]| {
            let mut attributes = Attributes::new(profile, operation, 4);
            for key in keys {
                attributes.set(key, 1_i64);
            }
            attributes.list.iter().map(|pair| pair.key.as_str().to_owned()).collect::<Vec<_>>()
        };
        let top_k = [Key::RequestTopK, Key::RetrievalTopK];
        assert_eq!(names(Profile::Core, Operation::Retrieval, top_k), ["gen_ai.request.top_k"]);
        assert_eq!(names(Profile::GenAi, Operation::Retrieval, top_k), ["gen_ai.retrieval.top_k"]);
        let agent = [Key::AgentName, Key::WorkflowName];
        assert_eq!(names(Profile::GenAi, Operation::InvokeWorkflow, agent), ["gen_ai.agent.name"]);
        assert_eq!(
            names(Profile::Core, Operation::InvokeWorkflow, agent),
            ["gen_ai.agent.name", "gen_ai.workflow.name"]
        );
    }

    #[test]
    fn a_number_takes_the_type_of_the_profile() {
        for (profile, want) in [(Profile::Core, Value::F64(40.0)), (Profile::GenAi, Value::I64(40))] {
            let mut attributes = Attributes::new(profile, Operation::Chat, 1);
            attributes.set(Key::RequestTopK, 40_i64);
            assert_eq!(attributes.list[0].value, want);
        }
    }
}
