//! Every dependency's licence expression can be met with licences on the list of `deny.toml`.

use super::{Findings, read};
use crate::Outcome;
use crate::metadata::Metadata;
use crate::process::root;

pub fn check(metadata: &Metadata) -> Outcome<Findings> {
    let list = Allowed::parse(&read(&root().join("deny.toml"))?).map_err(|e| format!("deny.toml: {e}"))?;
    let packages = metadata.packages.iter().map(|p| (p.name.as_str(), p.license.as_deref()));
    Ok(packages.filter_map(|(name, licence)| list.fault(name, licence)).collect())
}

/// The `[licenses]` table of `deny.toml`, so that cargo-deny and we judge by one list.
struct Allowed {
    everywhere: Vec<String>,
    /// (crate, licences that this crate may have besides).
    exceptions: Vec<(String, Vec<String>)>,
}

impl Allowed {
    fn parse(text: &str) -> Outcome<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let licenses = table.get("licenses").ok_or("no [licenses]")?;
        let strings = |value: Option<&toml::Value>| -> Vec<String> {
            let list = value.and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
            list.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect()
        };
        let exceptions =
            licenses.get("exceptions").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
        let exceptions = exceptions.iter().map(|entry| {
            let name = entry.get("crate").and_then(toml::Value::as_str).unwrap_or_default();
            (name.to_owned(), strings(entry.get("allow")))
        });
        Ok(Self { everywhere: strings(licenses.get("allow")), exceptions: exceptions.collect() })
    }

    fn fault(&self, name: &str, licence: Option<&str>) -> Option<String> {
        let Some(expression) = licence else {
            return Some(format!("{name}: states no licence"));
        };
        let special = self.exceptions.iter().filter(|(known, _)| known == name).flat_map(|(_, list)| list);
        let allowed: Vec<&str> = self.everywhere.iter().chain(special).map(String::as_str).collect();
        match satisfied(expression, &allowed) {
            Ok(true) => None,
            Ok(false) => Some(format!("{name}: licence `{expression}` is not on the list in deny.toml")),
            Err(e) => Some(format!("{name}: cannot read the licence `{expression}`: {e}")),
        }
    }
}

/// Evaluates an SPDX expression (`OR`, `AND`, `WITH`, brackets; the old `/` is an `OR`).
fn satisfied(expression: &str, allowed: &[&str]) -> Outcome<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (value, rest) = either(&words, allowed)?;
    if rest.is_empty() { Ok(value) } else { Err(format!("`{}` is left over", rest.join(" "))) }
}

type Parsed<'a> = Outcome<(bool, &'a [&'a str])>;

fn either<'a>(words: &'a [&'a str], allowed: &[&str]) -> Parsed<'a> {
    let (mut value, mut rest) = both(words, allowed)?;
    while let Some((&"OR", after)) = rest.split_first() {
        let (right, after) = both(after, allowed)?;
        (value, rest) = (value || right, after);
    }
    Ok((value, rest))
}

fn both<'a>(words: &'a [&'a str], allowed: &[&str]) -> Parsed<'a> {
    let (mut value, mut rest) = one(words, allowed)?;
    while let Some((&"AND", after)) = rest.split_first() {
        let (right, after) = one(after, allowed)?;
        (value, rest) = (value && right, after);
    }
    Ok((value, rest))
}

fn one<'a>(words: &'a [&'a str], allowed: &[&str]) -> Parsed<'a> {
    match words {
        ["(", inner @ ..] => match either(inner, allowed)? {
            (value, [")", rest @ ..]) => Ok((value, rest)),
            _ => Err("a bracket is not closed".into()),
        },
        // A licence with an exception is another licence: it stands on the list as a whole.
        [licence, "WITH", exception, rest @ ..] => {
            let whole = format!("{licence} WITH {exception}");
            Ok((allowed.contains(&whole.as_str()), rest))
        }
        [word @ (")" | "AND" | "OR" | "WITH"), ..] => Err(format!("`{word}` where a licence should be")),
        [licence, rest @ ..] => Ok((allowed.contains(licence), rest)),
        [] => Err("it ends where a licence should be".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: Outcome<bool>) {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];
        assert_eq!(satisfied(expression, &allowed).map_err(drop), expected.map_err(drop), "{expression}");
    }

    #[test]
    fn expressions_are_met_or_not() {
        check("MIT", Ok(true));
        check("GPL-3.0", Ok(false));
        check("GPL-3.0 OR MIT", Ok(true));
        check("Unlicense/MIT", Ok(true));
        check("GPL-3.0 AND MIT", Ok(false));
        check("(MIT OR GPL-3.0) AND Unicode-3.0", Ok(true));
        check("(MIT OR Apache-2.0) AND OpenSSL", Ok(false));
        check("MIT OR GPL-3.0 AND OpenSSL", Ok(true)); // AND binds closer
        check("Apache-2.0 WITH LLVM-exception", Ok(true));
        check("MIT WITH LLVM-exception", Ok(false));
    }

    #[test]
    fn broken_expressions_are_faults() {
        for broken in ["", "MIT OR", "(MIT", "MIT)", "MIT Apache-2.0", "AND MIT"] {
            check(broken, Err(String::new()));
        }
    }

    #[test]
    fn an_exception_holds_for_its_crate_only() {
        let list = Allowed::parse(
            "[licenses]\nallow = [\"MIT\"]\n[[licenses.exceptions]]\ncrate = \"ring\"\nallow = [\"ISC\"]\n",
        )
        .unwrap();
        assert_eq!(list.fault("ring", Some("MIT AND ISC")), None);
        assert!(list.fault("other", Some("ISC")).unwrap().contains("not on the list"));
        assert!(list.fault("other", None).unwrap().contains("no licence"));
        assert!(Allowed::parse("[bans]\n").is_err());
    }
}
