//! Server-sent events, as far as model servers use them: `data:` lines, events ended by an empty line.

/// Collects bytes and gives out whole events' data.
#[derive(Debug, Default)]
pub(crate) struct Events {
    buffer: Vec<u8>,
}

impl Events {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The data of the next whole event, lines joined.
    pub(crate) fn next(&mut self) -> Option<String> {
        loop {
            let (length, separator) = end_of_event(&self.buffer)?;
            let event: Vec<u8> = self.buffer.drain(..length + separator).take(length).collect();
            let text = String::from_utf8_lossy(&event);
            let data: Vec<&str> = text
                .lines()
                .filter_map(|line| {
                    line.strip_prefix("data:").map(|data| data.strip_prefix(' ').unwrap_or(data))
                })
                .collect();
            if !data.is_empty() {
                return Some(data.join("\n"));
            }
        }
    }
}

fn end_of_event(buffer: &[u8]) -> Option<(usize, usize)> {
    (0..buffer.len()).find_map(|at| {
        if buffer[at..].starts_with(b"\r\n\r\n") {
            Some((at, 4))
        } else if buffer[at..].starts_with(b"\n\n") {
            Some((at, 2))
        } else {
            None
        }
    })
}
