//! Tokens' bytes become text: characters that are split over tokens are put together, and stop texts are found without
//! showing their beginning.

/// Collects the bytes of tokens and hands out text as soon as it is certain.
#[derive(Debug)]
pub(crate) struct TextStream {
    stops: Vec<String>,
    /// Bytes of a character whose rest has not come.
    partial: Vec<u8>,
    /// Text that may be the beginning of a stop text.
    held: String,
    stopped: Option<usize>,
}

impl TextStream {
    /// Looks out for these stop texts; empty ones are ignored.
    pub(crate) fn new(stops: &[String]) -> Self {
        Self { stops: stops.to_vec(), partial: Vec::new(), held: String::new(), stopped: None }
    }

    /// Adds a token's bytes to `out` as far as they are certain to be text that is to be shown.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut String) {
        if self.stopped.is_some() {
            return;
        }
        self.partial.extend_from_slice(bytes);
        self.complete(false);
        self.release(false, out);
    }

    /// No more tokens come: what was held back is text after all. Bytes that are no text become U+FFFD.
    pub(crate) fn end(&mut self, out: &mut String) {
        if self.stopped.is_none() {
            self.complete(true);
            self.release(true, out);
        }
    }

    /// Which of the stop texts was found.
    pub(crate) fn stopped(&self) -> Option<&str> {
        self.stopped.map(|at| self.stops[at].as_str())
    }

    /// Moves whole characters to the held text.
    fn complete(&mut self, last: bool) {
        let mut rest = self.partial.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.held.push_str(text);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (text, after) = rest.split_at(error.valid_up_to());
                    self.held.push_str(&String::from_utf8_lossy(text));
                    let Some(bad) = error.error_len().or(last.then_some(after.len())) else {
                        rest = after;
                        break;
                    };
                    self.held.push(char::REPLACEMENT_CHARACTER);
                    rest = &after[bad..];
                }
            }
        }
        self.partial = rest.to_vec();
    }

    fn release(&mut self, last: bool, out: &mut String) {
        let found = self.stops.iter().enumerate().filter(|(_, stop)| !stop.is_empty());
        let found = found.filter_map(|(at, stop)| self.held.find(stop.as_str()).map(|place| (place, at)));
        if let Some((place, at)) = found.min() {
            out.push_str(&self.held[..place]);
            self.held.clear();
            self.stopped = Some(at);
            return;
        }
        let keep = if last { 0 } else { self.overlap() };
        let certain = self.held.len() - keep;
        out.push_str(&self.held[..certain]);
        self.held.drain(..certain);
    }

    /// Length of the longest end of the held text with which a stop text could begin.
    fn overlap(&self) -> usize {
        let starts =
            |end: &str| self.stops.iter().any(|stop| stop.len() > end.len() && stop.starts_with(end));
        let places = self.held.char_indices().map(|(at, _)| at);
        places.map(|at| &self.held[at..]).find(|end| starts(end)).map_or(0, str::len)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pieces as they are shown, and the stop text that was found.
    #[track_caller]
    fn check(stops: &[&str], tokens: &[&[u8]], shown: &[&str], stopped: Option<&str>) {
        let stops: Vec<String> = stops.iter().map(|&stop| stop.to_owned()).collect();
        let mut stream = TextStream::new(&stops);
        let mut pieces = Vec::new();
        for token in tokens {
            let mut piece = String::new();
            stream.push(token, &mut piece);
            pieces.push(piece);
        }
        let mut piece = String::new();
        stream.end(&mut piece);
        pieces.push(piece);
        assert_eq!(pieces, shown);
        assert_eq!(stream.stopped(), stopped);
    }

    #[test]
    fn a_character_that_is_split_over_tokens_comes_whole() {
        // U+1F600 is F0 9F 98 80.
        check(&[], &[b"a\xF0\x9F", b"\x98", b"\x80b"], &["a", "", "\u{1F600}b", ""], None);
    }

    #[test]
    fn bytes_that_are_no_text_are_marked_and_take_nothing_with_them() {
        check(&[], &[b"a\xFFb", b"c"], &["a\u{FFFD}b", "c", ""], None);
        check(&[], &[b"a\xE2\x82", b"b"], &["a", "\u{FFFD}b", ""], None);
        check(&[], &[b"a\xE2\x82"], &["a", "\u{FFFD}"], None);
    }

    #[test]
    fn a_stop_text_over_several_tokens_is_never_shown() {
        check(&["</end>"], &[b"hi <", b"/en", b"d> more", b"x"], &["hi ", "", "", "", ""], Some("</end>"));
    }

    #[test]
    fn what_only_looked_like_a_stop_text_is_shown_later() {
        check(&["</end>"], &[b"a </", b"b", b"<"], &["a ", "</b", "", "<"], None);
    }

    #[test]
    fn the_first_stop_text_wins_and_empty_ones_are_ignored() {
        check(&["", "b", "ab"], &[b"xab"], &["x", ""], Some("ab"));
        check(&["aab"], &[b"aa", b"ab"], &["", "a", ""], Some("aab"));
    }

    proptest! {
        #[test]
        fn pieces_add_up_to_the_whole(text in "[ab<é\u{1F600}]{0,24}", cuts in proptest::collection::vec(0_usize..60, 0..8)) {
            // However the bytes are cut into tokens, what is shown is the text up to the stop text.
            let stops = vec!["<a".to_owned(), "bb".to_owned()];
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut stream = TextStream::new(&stops);
            let mut shown = String::new();
            for pair in cuts.windows(2) {
                stream.push(&text.as_bytes()[pair[0]..pair[1]], &mut shown);
            }
            stream.end(&mut shown);
            let stop = stops.iter().filter_map(|stop| text.find(stop.as_str())).min();
            prop_assert_eq!(&shown, &text[..stop.unwrap_or(text.len())]);
            prop_assert_eq!(stream.stopped().is_some(), stop.is_some());
        }
    }
}
