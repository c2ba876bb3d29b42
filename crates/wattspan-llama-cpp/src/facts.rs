//! What a model is, by its file's own account.

use wattspan_core::Bytes;

use crate::{FileType, Gguf};

/// Facts of a model. Each is **absent** where the file does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelFacts {
    /// Architecture, such as `llama`.
    pub architecture: Option<String>,
    /// Its name, such as `SmolLM2 135M Instruct`.
    pub name: Option<String>,
    /// Number of weights.
    pub parameters: u64,
    /// How most of its tensors are quantised.
    pub file_type: Option<FileType>,
    /// Tokens that it was trained to look at.
    pub context_length: Option<u64>,
    /// Size of its tensors.
    pub size: Option<Bytes>,
    /// Its size as its makers call it, such as `135M`.
    pub size_label: Option<String>,
    /// Licence of its weights.
    pub license: Option<String>,
}

impl ModelFacts {
    /// From the head of a file. Of a model in several files it counts the weights of this one.
    ///
    /// **Source** GGUF specification, `general.*` and `[llm].context_length`.
    pub fn new(gguf: &Gguf) -> Self {
        let text = |key: &str| gguf.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
        let architecture = text("general.architecture");
        let context = architecture.as_ref().map(|architecture| format!("{architecture}.context_length"));
        Self {
            name: text("general.name"),
            parameters: gguf.parameters,
            file_type: gguf.file_type(),
            context_length: context.and_then(|key| gguf.number(&key)),
            size: gguf.tensor_bytes.map(Bytes::new),
            size_label: text("general.size_label"),
            license: text("general.license"),
            architecture,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::GgufValue;

    #[test]
    fn what_the_file_does_not_say_is_absent() {
        let mut metadata = BTreeMap::new();
        metadata.insert("general.architecture".to_owned(), GgufValue::Text("llama".to_owned()));
        metadata.insert("llama.context_length".to_owned(), GgufValue::Unsigned(8_192));
        metadata.insert("gemma3.context_length".to_owned(), GgufValue::Unsigned(1));
        metadata.insert("general.name".to_owned(), GgufValue::Text(String::new()));
        let gguf = Gguf { version: 3, tensors: 1, parameters: 7, tensor_bytes: None, metadata };
        let facts = ModelFacts::new(&gguf);
        assert_eq!(facts.context_length, Some(8_192), "of its own architecture");
        assert_eq!((facts.parameters, facts.size), (7, None));
        assert_eq!((facts.name, facts.license, facts.file_type), (None, None, None));
    }
}
