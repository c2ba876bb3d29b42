//! JSON schemas, of tool arguments and of answers.

use serde_json::Value;

/// Something that is not a JSON schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON schema: {reason}")]
pub struct InvalidSchema {
    reason: String,
}

/// A compiled schema. References into files and to other hosts are not followed.
pub(crate) struct Schema(Option<jsonschema::Validator>);

impl Schema {
    /// One that everything fits.
    pub(crate) const fn anything() -> Self {
        Self(None)
    }

    pub(crate) fn new(schema: &Value) -> Result<Self, InvalidSchema> {
        // Patterns run in linear time: a case file may come from others.
        let options = jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex());
        match options.build(schema) {
            Ok(validator) => Ok(Self(Some(validator))),
            Err(error) => Err(InvalidSchema { reason: error.to_string() }),
        }
    }

    /// What does not fit. **Absent** when it does.
    pub(crate) fn fault(&self, value: &Value) -> Option<String> {
        let error = self.0.as_ref()?.validate(value).err()?;
        let place = error.instance_path().to_string();
        Some(if place.is_empty() { error.to_string() } else { format!("{error} at {place}") })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = json!({
            "type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo"]}, "n": {"minimum": 2}},
            "required": ["city"], "additionalProperties": false,
        });
        let schema = Schema::new(&schema).unwrap();
        assert_eq!(schema.fault(&json!({"city": "Oslo", "n": 2})), None);
        for (value, word) in [
            (json!({"city": "Rome"}), "/city"),
            (json!({"n": 1, "city": "Oslo"}), "/n"),
            (json!({}), "city"),
            (json!({"city": "Oslo", "x": 1}), "x"),
            (json!("Oslo"), "object"),
        ] {
            let fault = schema.fault(&value).unwrap_or_default();
            assert!(fault.contains(word), "{value}: {fault}");
        }
    }

    #[test]
    fn what_is_no_schema_is_refused_and_nothing_is_fetched() {
        assert!(Schema::new(&json!({"type": "objekt"})).is_err());
        assert!(Schema::new(&json!({"$ref": "https://example.invalid/schema.json"})).is_err());
        assert!(Schema::new(&json!({"$ref": "file:///etc/passwd"})).is_err());
        assert!(Schema::new(&json!({"pattern": "("})).is_err());
        assert_eq!(Schema::anything().fault(&json!(null)), None);
    }
}
