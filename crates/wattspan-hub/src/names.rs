//! Names of the repositories.

use ring::digest;
use wattspan_core::{RunId, Table};

use crate::HubError;
use crate::file::hex;

/// The repositories of a run. They follow from the run alone, so that a second push finds them again.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    namespace: String,
    prefix: String,
    stamp: String,
    /// Tells two runs of the same second apart.
    mark: String,
}

impl Names {
    pub(crate) fn new(namespace: &str, prefix: &str, stamp: &str, run: &RunId) -> Result<Self, HubError> {
        let mark = digest::digest(&digest::SHA256, run.as_str().as_bytes());
        let names = Self {
            namespace: namespace.to_owned(),
            prefix: prefix.to_owned(),
            stamp: stamp.to_owned(),
            mark: hex(&mark.as_ref()[..4]),
        };
        if names.candidates(Table::Results).iter().all(|id| bare(id).len() <= LONGEST) {
            return Ok(names);
        }
        Err(HubError::Setting {
            setting: "the prefix",
            value: prefix.to_owned(),
            remedy: "take a shorter one",
        })
    }

    /// The names under which a table may be, the usual one first. The second is for a run that ended up in the same second
    /// as another one.
    pub(crate) fn candidates(&self, table: Table) -> Vec<String> {
        let Self { namespace, prefix, stamp, mark } = self;
        if table == Table::Leaderboard {
            return vec![format!("{namespace}/{prefix}-leaderboard")];
        }
        let first = format!("{namespace}/{prefix}-{}-{stamp}", table.as_str());
        let second = format!("{first}-{mark}");
        vec![first, second]
    }

    pub(crate) fn leaderboard(&self) -> String {
        format!("{}/{}-leaderboard", self.namespace, self.prefix)
    }
}

/// A repository's name without its owner.
pub(crate) fn bare(id: &str) -> &str {
    id.rsplit_once('/').map_or(id, |(_, name)| name)
}

/// Whether the Hub takes it as part of a name. (huggingface_hub, `utils/_validators.py`.)
pub(crate) fn is_name(text: &str) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'.' | b'-'));
    let bytes = text.as_bytes();
    !is_edge(bytes.first())
        && !is_edge(bytes.last())
        && !text.contains("--")
        && !text.contains("..")
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Of a repository's name, as the Hub limits it.
const LONGEST: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_the_run() {
        let run = RunId::new("r").unwrap();
        let names = Names::new("me", "wattspan", "20261201_214638", &run).unwrap();
        // The mark is from `printf r | sha256sum`.
        assert_eq!(
            names.candidates(Table::Traces),
            ["me/wattspan-traces-20261201_214638", "me/wattspan-traces-20261201_214638-454349e4"]
        );
        assert_eq!(names.leaderboard(), "me/wattspan-leaderboard");
        assert!(Names::new("me", &"x".repeat(80), "20261201_214638", &run).is_err());
    }

    #[test]
    fn only_what_the_hub_takes_is_a_name() {
        for good in ["wattspan", "a", "A.b_c-1"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "a/b", "-a", "a-", ".a", "a..b", "a--b", "é", "a b"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
