//! Server-sent events: bytes in, each event's data out. Knows nothing of models.
//!
//! Each byte is looked at once, however the network cuts the stream: lines are found from where the last search
//! stopped, and a consumed prefix is given back in one move per push.
//!
//! **Source** HTML Living Standard, 9.2 "Server-sent events".

/// One event is larger than the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge(pub(crate) usize);

/// Collects bytes and gives out whole events' data.
#[derive(Debug)]
pub(crate) struct Events {
    buffer: Vec<u8>,
    /// Start of the first line that was not taken yet.
    line: usize,
    /// Up to here no line end was found.
    searched: usize,
    /// The last line ended with CR at the very end of what was there: an LF that follows belongs to it.
    after_cr: bool,
    /// Data of the event under way; `None` before its first `data` line.
    data: Option<String>,
    limit: usize,
    /// Whether the first line, which may begin with a byte order mark, was taken.
    started: bool,
}

impl Events {
    /// Keeps at most `limit` bytes of one event.
    pub(crate) fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), line: 0, searched: 0, after_cr: false, data: None, limit, started: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.line > 0 {
            self.buffer.drain(..self.line);
            self.searched -= self.line;
            self.line = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The data of the next whole event, its lines joined; `None` until more bytes come.
    ///
    /// # Errors
    /// When an event grows beyond the bound; the stream cannot be read on then.
    pub(crate) fn next(&mut self) -> Result<Option<String>, TooLarge> {
        loop {
            if self.after_cr {
                match self.buffer.get(self.line) {
                    Some(b'\n') => {
                        self.line += 1;
                        self.searched = self.line;
                    }
                    Some(_) => {}
                    None => return Ok(None),
                }
                self.after_cr = false;
            }
            let unsearched = &self.buffer[self.searched..];
            let Some(found) = unsearched.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.searched = self.buffer.len();
                let held = self.buffer.len() - self.line + self.data.as_ref().map_or(0, String::len);
                return if held > self.limit { Err(TooLarge(self.limit)) } else { Ok(None) };
            };
            let end = self.searched + found;
            let mut line = &self.buffer[self.line..end];
            self.after_cr = self.buffer[end] == b'\r';
            (self.line, self.searched) = (end + 1, end + 1);
            if !std::mem::replace(&mut self.started, true) {
                line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
            }
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Ok(Some(data));
                }
                continue;
            }
            let Some(value) = data_of(line) else { continue };
            // A whole line was found, so no character is cut in two here.
            let value = String::from_utf8_lossy(value);
            let data = match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                    &*data
                }
                none => &*none.insert(value.into_owned()),
            };
            if data.len() > self.limit {
                return Err(TooLarge(self.limit));
            }
        }
    }

    /// At the stream's end: the data of an event whose closing empty line is missing. The standard drops it; servers
    /// of models end `[DONE]` that way, so it is kept.
    pub(crate) fn rest(&mut self) -> Option<String> {
        self.push(b"\n\n");
        self.next().ok().flatten()
    }
}

/// The value of a `data` line; `None` for comments and other fields.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    match rest.split_first() {
        None => Some(rest),
        Some((b':', value)) => Some(value.strip_prefix(b" ").unwrap_or(value)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All events of a stream, cut into pieces of every size from 1 byte up: each cut must give the same.
    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        for size in 1..=stream.len() {
            let mut events = Events::new(1 << 20);
            let mut found = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                events.push(piece);
                while let Some(data) = events.next().unwrap() {
                    found.push(data);
                }
            }
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn all_three_line_ends_are_understood() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\rdata: c\n\n", &["a", "b", "c"]);
    }

    #[test]
    fn lines_of_data_are_joined_and_other_fields_skipped() {
        check(
            ": comment\nevent: x\nid: 7\ndata: one\ndata:two\ndata:  three\nretry: 5\n\n",
            &["one\ntwo\n three"],
        );
        check(":\n\n:keep-alive\n\ndata\n\n", &[""]);
        check("database: no\n\ndata: yes\n\n", &["yes"]);
    }

    #[test]
    fn a_character_cut_by_the_network_stays_whole() {
        check("data: grün 🌍 水\n\ndata: [DONE]\n\n", &["grün 🌍 水", "[DONE]"]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        check("\u{feff}data: a\n\n", &["a"]);
    }

    #[test]
    fn an_event_without_its_empty_line_is_given_at_the_end() {
        let mut events = Events::new(100);
        events.push(b"data: [DONE]");
        assert_eq!(events.next(), Ok(None));
        assert_eq!(events.rest().as_deref(), Some("[DONE]"));
        assert_eq!(events.rest(), None);
    }

    #[test]
    fn an_endless_line_is_refused_and_so_is_an_endless_event() {
        let mut events = Events::new(64);
        events.push(&[b'x'; 65]);
        assert_eq!(events.next(), Err(TooLarge(64)));

        let mut events = Events::new(64);
        for _ in 0..20 {
            events.push(b"data: 12345\n");
        }
        assert_eq!(events.next(), Err(TooLarge(64)));
    }

    #[test]
    fn a_long_stream_keeps_little() {
        let mut events = Events::new(64);
        for _ in 0..10_000 {
            events.push(b"data: 1234567890\n\n");
            assert_eq!(events.next().unwrap().as_deref(), Some("1234567890"));
            assert_eq!(events.next(), Ok(None));
        }
        assert!(events.buffer.capacity() < 1_000, "{} bytes", events.buffer.capacity());
    }
}
