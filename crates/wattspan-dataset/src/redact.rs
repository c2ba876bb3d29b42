//! Secrets out of a configuration before it is written down.

use wattspan_core::Cell;

/// The same value with everything secret replaced by `[redacted]`: what stands under a name such as `api_key`, `token` or
/// `password`, what looks like a credential by itself, and user and password inside a URL. Names stay.
///
/// ```
/// use wattspan_core::Cell;
/// let cell = Cell::Map(vec![
///     ("hf_token".into(), Cell::Text("hf_abc".into())),
///     ("max_tokens".into(), Cell::Int(64)),
/// ]);
/// let Cell::Map(clean) = wattspan_dataset::redact(cell) else { unreachable!() };
/// assert_eq!(clean[0].1, Cell::Text("[redacted]".into()));
/// assert_eq!(clean[1].1, Cell::Int(64));
/// ```
pub fn redact(cell: Cell) -> Cell {
    match cell {
        Cell::Map(values) => Cell::Map(
            values
                .into_iter()
                .map(|(name, value)| {
                    let value = match value {
                        Cell::Null => Cell::Null,
                        _ if is_secret_name(&name) => Cell::Text(REDACTED.into()),
                        other => redact(other),
                    };
                    (name, value)
                })
                .collect(),
        ),
        Cell::List(values) => Cell::List(values.into_iter().map(redact).collect()),
        Cell::Text(text) if looks_secret(&text) => Cell::Text(REDACTED.into()),
        Cell::Text(text) => match without_userinfo(&text) {
            Some(clean) => Cell::Text(clean.into()),
            None => Cell::Text(text),
        },
        other => other,
    }
}

/// Whether a name announces a secret. Words are told apart by anything but letters and digits, and by camel case, so that
/// `max_tokens` and `keyboard` are none.
fn is_secret_name(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut lower_before = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && lower_before) {
            words.push(String::new());
        }
        lower_before = letter.is_lowercase() || letter.is_ascii_digit();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    let is_word = words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()));
    let is_key = words
        .windows(2)
        .any(|pair| matches!(pair[1].as_str(), "key" | "keys") && KEY_OWNERS.contains(&pair[0].as_str()));
    is_word || is_key
}

fn looks_secret(text: &str) -> bool {
    let is_one_word = text.len() >= 12 && !text.contains(char::is_whitespace);
    let has_scheme = ["Bearer ", "bearer ", "Basic ", "basic "].iter().any(|scheme| text.starts_with(scheme));
    has_scheme || (is_one_word && PREFIXES.iter().any(|prefix| text.starts_with(prefix)))
}

/// A URL without what stands before `@` in its authority; `None` when there is nothing to take out.
fn without_userinfo(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    let (_, host) = authority.rsplit_once('@')?;
    Some(format!("{scheme}://{REDACTED}@{host}{path}"))
}

const REDACTED: &str = "[redacted]";
const SECRET_WORDS: [&str; 15] = [
    "token",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "cookies",
    "bearer",
    "pwd",
    "auth",
];
/// Before `key`: a `primary_key` is none of our business, an `api_key` is.
const KEY_OWNERS: [&str; 8] =
    ["api", "access", "secret", "private", "app", "application", "account", "license"];
/// Of Hugging Face, OpenAI and its likes, GitHub, Slack, AWS.
const PREFIXES: [&str; 9] = ["hf_", "sk-", "ghp_", "gho_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "glpat-"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_announce_a_secret_are_told_from_those_that_do_not() {
        for name in
            ["api_key", "OPENAI_API_KEY", "hfToken", "db.password", "Authorization", "x-api-key", "accessKey"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["max_tokens", "keyboard", "tokenizer", "primary_key", "author", "monkey", ""] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn values_are_cleaned_at_any_depth() {
        let text = |text: &'static str| Cell::Text(text.into());
        let cell = Cell::List(vec![
            Cell::Map(vec![("url".into(), text("https://me:pw@host:9200/x?a=b@c"))]),
            text("hf_abcdefghijkl"),
            text("Bearer abc"),
            text("see http://host/a@b"),
            Cell::Map(vec![("token".into(), Cell::Null)]),
        ]);
        let expected = Cell::List(vec![
            Cell::Map(vec![("url".into(), text("https://[redacted]@host:9200/x?a=b@c"))]),
            text(REDACTED),
            text(REDACTED),
            text("see http://host/a@b"),
            Cell::Map(vec![("token".into(), Cell::Null)]),
        ]);
        assert_eq!(redact(cell), expected);
    }
}
