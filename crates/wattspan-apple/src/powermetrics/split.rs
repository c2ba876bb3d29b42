//! Cuts a stream of bytes into reports. Pure: the time at which bytes came is handed in.

use std::time::Instant;

/// What a stream holds, told by its first report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Plist,
    Text,
}

/// Collects bytes until a report is whole.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    buffer: Vec<u8>,
    /// When the report that is being collected began to arrive.
    began: Option<Instant>,
}

/// The report of a machine with many processes has some hundred kilobytes; more than this is not powermetrics.
const LARGEST: usize = 8 << 20;

const PLIST_START: &[u8] = b"<?xml";
const PLIST_END: &[u8] = b"</plist>";
const TEXT_START: &[u8] = b"*** Sampled";

impl Splitter {
    /// Takes what came at a time; answers with the reports that it completes and when each began to arrive. A report is
    /// printed in one go at the end of its interval, so that this is the interval's end. One of the plain form is known
    /// to be whole only when the next begins.
    pub(crate) fn push(&mut self, bytes: &[u8], at: Instant) -> Vec<(Format, String, Instant)> {
        self.buffer.extend_from_slice(bytes);
        let mut whole = Vec::new();
        loop {
            let plist = find(&self.buffer, PLIST_START);
            let text = find(&self.buffer, TEXT_START);
            let (format, start) = match (plist, text) {
                (Some(plist), None) => (Format::Plist, plist),
                (Some(plist), Some(text)) if plist < text => (Format::Plist, plist),
                (_, Some(text)) => (Format::Text, text),
                (None, None) => {
                    // Nothing has begun: keep only what may be the front of a mark.
                    let keep = TEXT_START.len().min(self.buffer.len());
                    self.buffer.drain(..self.buffer.len() - keep);
                    return whole;
                }
            };
            self.buffer.drain(..start);
            let began = *self.began.get_or_insert(at);
            let end = match format {
                Format::Plist => find(&self.buffer, PLIST_END).map(|end| end + PLIST_END.len()),
                Format::Text => {
                    find(&self.buffer[TEXT_START.len()..], TEXT_START).map(|end| end + TEXT_START.len())
                }
            };
            let Some(end) = end else {
                if self.buffer.len() > LARGEST {
                    self.buffer.clear();
                    self.began = None;
                }
                return whole;
            };
            let report: Vec<u8> = self.buffer.drain(..end).collect();
            self.began = None;
            whole.push((format, String::from_utf8_lossy(&report).into_owned(), began));
        }
    }

    /// The last report of the plain form, when the stream has ended.
    pub(crate) fn finish(&mut self) -> Option<(Format, String, Instant)> {
        let began = self.began.take()?;
        let rest = std::mem::take(&mut self.buffer);
        rest.starts_with(TEXT_START)
            .then(|| (Format::Text, String::from_utf8_lossy(&rest).into_owned(), began))
    }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}
