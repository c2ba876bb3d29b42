//! The token, which cannot be printed, and where it is looked for.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use wattspan_core::Secret;

/// A token of the Hub, with the place it was set.
///
/// `Debug` and `Display` show that it is set and from where; never a part of it and not its length.
///
/// ```
/// let token = wattspan_hub::Token::new("not-for-logs", "HF_TOKEN");
/// assert_eq!(token.to_string(), "set by HF_TOKEN");
/// assert_eq!(format!("{token:?}"), "Token(set by HF_TOKEN)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Secret);

impl Token {
    /// Wraps a token; blanks around it are taken off. `origin` is where it was set: an option, a variable, a file.
    pub fn new(text: impl AsRef<str>, origin: impl Into<Cow<'static, str>>) -> Self {
        Self(Secret::new(text.as_ref().trim(), origin))
    }

    /// Where it was set.
    pub fn origin(&self) -> &str {
        self.0.origin()
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The token of the environment: `HF_TOKEN`, or else the file that `hf auth login` writes, which `HF_TOKEN_PATH`,
    /// `HF_HOME` and `XDG_CACHE_HOME` move. (huggingface_hub, `constants.py` and `utils/_auth.py`.)
    pub(crate) fn find(lookup: &impl Fn(&str) -> Option<String>) -> Option<Self> {
        for name in ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"] {
            if let Some(text) = set(lookup, name) {
                return Some(Self::new(text, name));
            }
        }
        let path = file(lookup)?;
        let text = std::fs::read_to_string(&path).ok()?;
        (!text.trim().is_empty()).then(|| Self::new(text, path.display().to_string()))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Token({})", self.0)
    }
}

/// A variable that is there and not blank.
pub(crate) fn set(lookup: &impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    lookup(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn file(lookup: &impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = || set(lookup, "HOME").or_else(|| set(lookup, "USERPROFILE"));
    let expand = |text: String| match text.strip_prefix("~/") {
        Some(rest) => home().map(|home| Path::new(&home).join(rest)),
        None => Some(PathBuf::from(text)),
    };
    if let Some(path) = set(lookup, "HF_TOKEN_PATH") {
        return expand(path);
    }
    let hf_home = match set(lookup, "HF_HOME") {
        Some(path) => expand(path)?,
        None => match set(lookup, "XDG_CACHE_HOME") {
            Some(path) => expand(path)?.join("huggingface"),
            None => Path::new(&home()?).join(".cache/huggingface"),
        },
    };
    Some(hf_home.join("token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], token: Option<(&str, &str)>) {
        let lookup = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let found = Token::find(&lookup);
        assert_eq!(found.as_ref().map(|token| (token.expose(), token.origin())), token);
    }

    #[test]
    fn the_variable_goes_before_the_file_and_the_file_is_where_the_official_client_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (name, text) in [
            ("own", "t-own\n"),
            ("hf/token", "t-hf"),
            ("xdg/huggingface/token", " t-xdg "),
            ("home/.cache/huggingface/token", "t-home"),
            ("home/mine", "t-mine"),
            ("blank/token", " \n"),
        ] {
            std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let (own, hf, xdg, home, blank) = (path("own"), path("hf"), path("xdg"), path("home"), path("blank"));
        let token = |folder: &str| format!("{folder}/token");
        check(&[("HF_TOKEN", " t-env\n"), ("HF_TOKEN_PATH", &own)], Some(("t-env", "HF_TOKEN")));
        check(&[("HF_TOKEN", ""), ("HF_TOKEN_PATH", &own), ("HF_HOME", &hf)], Some(("t-own", own.as_str())));
        check(&[("HF_HOME", &hf), ("XDG_CACHE_HOME", &xdg)], Some(("t-hf", &token(&hf))));
        check(
            &[("XDG_CACHE_HOME", &xdg), ("HOME", &home)],
            Some(("t-xdg", &format!("{xdg}/huggingface/token"))),
        );
        check(&[("HOME", &home)], Some(("t-home", &format!("{home}/.cache/huggingface/token"))));
        check(&[("HOME", &home), ("HF_TOKEN_PATH", "~/mine")], Some(("t-mine", &format!("{home}/mine"))));
        check(&[("HF_HOME", &blank)], None);
        check(&[], None);
    }

    #[derive(Debug)]
    #[allow(dead_code)] // Read by the derived `Debug`, which is what the test is about.
    struct Settings {
        prefix: &'static str,
        token: Option<Token>,
    }

    #[test]
    fn case_security_02_no_part_of_a_token_is_shown() {
        let token = Token::new("tok-EXAMPLE-0123456789", "HF_TOKEN");
        let settings = Settings { prefix: "wattspan", token: Some(token.clone()) };
        let options = crate::HubOptions::default().token(token.clone());
        let hub = crate::Hub::new(options.clone()).unwrap();
        for shown in [
            format!("{settings:?}"),
            format!("{settings:#?}"),
            format!("{token}"),
            format!("{options:?}"),
            format!("{hub:?}"),
        ] {
            assert!(shown.contains("set by HF_TOKEN"), "{shown}");
            for part in token.expose().as_bytes().windows(4) {
                let part = std::str::from_utf8(part).unwrap();
                assert!(!shown.contains(part), "{shown} shows {part}");
            }
        }
    }
}
