//! Where a row of the rename table holds, read from the registry's short phrases.

/// Where a row of the rename table holds.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scope {
    /// Operations it is limited to; empty: all, or all that no other row of the name claims.
    pub(super) operations: Vec<String>,
    /// Value of the core profile's `gen_ai.token.type` it is limited to.
    pub(super) token_type: Option<String>,
}

/// Reads the scopes that the registry writes as short phrases.
pub(super) fn scope(phrase: &str) -> Result<Scope, String> {
    let words = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let inference = || words(&["chat", "generate_content", "text_completion"]);
    if let Some(rest) = phrase.strip_prefix("gen_ai.token.type = ") {
        let (token_type, on) =
            rest.split_once(", ").ok_or_else(|| format!("scope `{phrase}` is not understood"))?;
        let operations = match on.split(' ').next() {
            Some("inference") => inference(),
            Some("embeddings") => words(&["embeddings"]),
            _ => return Err(format!("scope `{phrase}` is not understood")),
        };
        return Ok(Scope { operations, token_type: Some(token_type.to_owned()) });
    }
    let operations = if let Some(names) = phrase.strip_prefix("gen_ai.operation.name in ") {
        names.split(", ").map(ToOwned::to_owned).collect()
    } else if let Some(rest) = phrase.strip_prefix("gen_ai.operation.name = ") {
        rest.split(' ').take(1).map(ToOwned::to_owned).collect()
    } else {
        match phrase {
            "" | "every other client operation" => Vec::new(),
            "retrieval spans only" => words(&["retrieval"]),
            "inference spans" | "inference" => inference(),
            "tool execution" => words(&["execute_tool"]),
            _ => return Err(format!("scope `{phrase}` is not understood")),
        }
    };
    Ok(Scope { operations, token_type: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(phrase: &str, operations: &[&str], token_type: Option<&str>) {
        let operations = operations.iter().map(|&name| name.to_owned()).collect();
        let wanted = Scope { operations, token_type: token_type.map(ToOwned::to_owned) };
        assert_eq!(scope(phrase), Ok(wanted), "{phrase}");
    }

    #[test]
    fn phrases_become_operations_and_token_types() {
        check("", &[], None);
        check("every other client operation", &[], None);
        check("gen_ai.operation.name in chat, generate_content", &["chat", "generate_content"], None);
        check("gen_ai.operation.name = invoke_agent on a remote agent", &["invoke_agent"], None);
        check("gen_ai.token.type = input, embeddings", &["embeddings"], Some("input"));
        let inference = ["chat", "generate_content", "text_completion"];
        check("gen_ai.token.type = output, inference (distribution)", &inference, Some("output"));
    }

    #[test]
    fn a_phrase_that_is_new_is_refused() {
        assert_eq!(scope("on Sundays"), Err("scope `on Sundays` is not understood".to_owned()));
        assert!(scope("gen_ai.token.type = input, on Sundays").is_err());
    }
}
