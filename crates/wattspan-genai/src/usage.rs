//! Tokens by what they encode.

/// Tokens by modality. They are parts of the token counts and are never added to them.
///
/// **Absent** a part that nobody reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModalityUsage {
    /// Text.
    pub text: ModalityTokens,
    /// Images.
    pub image: ModalityTokens,
    /// Audio.
    pub audio: ModalityTokens,
}

/// Tokens of one modality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModalityTokens {
    /// Input tokens, cached ones included.
    pub input: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Input tokens that came from a cache.
    pub cache_read: Option<u64>,
}

impl ModalityUsage {
    /// The parts of a count by modality, and what is left of it as `unknown`.
    pub(crate) fn split(
        &self,
        total: u64,
        part: impl Fn(&ModalityTokens) -> Option<u64>,
    ) -> Vec<(&'static str, u64)> {
        let known = [("text", &self.text), ("image", &self.image), ("audio", &self.audio)];
        let mut parts: Vec<(&'static str, u64)> =
            known.into_iter().filter_map(|(name, tokens)| Some((name, part(tokens)?))).collect();
        let told: u64 = parts.iter().map(|(_, count)| count).sum();
        if told > total {
            // The parts contradict the total, which is what a bill rests on: the total stands, unsplit.
            return vec![("unknown", total)];
        }
        if told < total {
            parts.push(("unknown", total - told));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_total() {
        let mut usage = ModalityUsage::default();
        usage.text.input = Some(60);
        usage.image.input = Some(30);
        assert_eq!(usage.split(100, |m| m.input), [("text", 60), ("image", 30), ("unknown", 10)]);
        assert_eq!(usage.split(80, |m| m.input), [("unknown", 80)]);
        assert_eq!(usage.split(5, |m| m.output), [("unknown", 5)]);
    }
}
