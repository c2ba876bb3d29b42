//! The journal: every row as a line, in the order of writing, from which the run's files are made at its end, or after a
//! crash.
//!
//! A line is `{"results":ROW}`, `{"traces":ROW}`, `{"metrics":ROW}`, `{"leaderboard":ROW}` or `{"metadata":CELLS}`; the
//! first is `{"journal":1,"run_id":…}`. A write that fails is cut off again, so that the file always ends with a whole
//! line while this program runs; what a crash leaves of a line is cut off when the journal is opened.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wattspan_core::{Cell, Row, RunId, SinkError, Table};

use super::dataset::run_of;
use super::fault::{at, fatal};
use super::keys::{Recent, key, live_key};
use super::text::write_row;

/// What the journal does to its file; a fault can be put in its place.
pub(crate) trait Storage: Send + Sync {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
}

impl Storage for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Where a row stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    offset: u64,
    length: usize,
}

/// An open journal, its lines indexed.
pub(crate) struct Journal {
    pub(crate) path: PathBuf,
    pub(crate) run: RunId,
    storage: Box<dyn Storage>,
    length: u64,
    /// Part of a line that could not be cut off may follow `length`.
    torn: bool,
    /// Lines that are none, which only a damaged disk leaves: they are stepped over, and what follows is kept.
    damaged: HashSet<u64>,
    /// Of results, traces and leaderboard: the latest version of each row, in the order of first versions.
    kept: [Kept; 3],
    recent: Recent,
    metrics: u64,
    metadata: Option<Span>,
    buffer: Vec<u8>,
}

#[derive(Default)]
struct Kept {
    rows: Vec<Span>,
    known: HashMap<u128, usize>,
}

/// What a line adds, once it is written.
#[derive(Clone, Copy)]
enum Entry {
    Kept(usize, u128, Span),
    Metric(u128),
}

#[derive(Deserialize, Serialize)]
struct Header {
    journal: u32,
    run_id: RunId,
}

impl Journal {
    /// Opens a journal for writing, or begins one, and locks it against other programs.
    pub(crate) fn open(path: &Path, run: &RunId) -> Result<Self, SinkError> {
        let open = |error| at("open its journal", path, &error);
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(open)?;
        lock(&file, path)?;
        let length = file.metadata().map_err(open)?.len();
        let mut journal = Self::with(path, run, Box::new(file));
        let found = if length == 0 { None } else { journal.index(Some(run))? };
        match found {
            None => {
                // Nothing, or a first line that a crash cut off: there is no row yet.
                journal.storage.truncate(0).map_err(open)?;
                journal.length = 0;
                let header = Header { journal: FORMAT, run_id: run.clone() };
                let mut line = serde_json::to_vec(&header).map_err(|error| not_json(&error))?;
                line.push(b'\n');
                journal.append(&line)?;
            }
            Some(known) if known == *run => {}
            Some(known) => {
                return Err(fatal(
                    "open its journal",
                    format!("{} is of run {known}", path.display()),
                    "choose another output folder",
                ));
            }
        }
        Ok(journal)
    }

    /// Opens a journal that a crash left.
    pub(crate) fn recover(path: &Path) -> Result<Self, SinkError> {
        let open = |error| at("open its journal", path, &error);
        let file = OpenOptions::new().read(true).append(true).open(path).map_err(open)?;
        lock(&file, path)?;
        let placeholder =
            RunId::new("unknown").map_err(|error| fatal("open its journal", error.to_string(), ""))?;
        let mut journal = Self::with(path, &placeholder, Box::new(file));
        let named = path.parent().and_then(|folder| run_of(folder.file_name()?.to_str()?));
        let named = named.and_then(|run| RunId::new(run).ok());
        journal.run = journal.index(named.as_ref())?.ok_or_else(|| {
            fatal(
                "recover a run",
                format!("{} holds no rows", path.display()),
                "delete the folder: the run ended before anything was written",
            )
        })?;
        Ok(journal)
    }

    fn with(path: &Path, run: &RunId, storage: Box<dyn Storage>) -> Self {
        Self {
            path: path.to_owned(),
            run: run.clone(),
            storage,
            length: 0,
            torn: false,
            damaged: HashSet::new(),
            kept: Default::default(),
            recent: Recent::default(),
            metrics: 0,
            metadata: None,
            buffer: Vec::new(),
        }
    }

    /// Reads all lines, cuts off the part of one that a crash left at the end, and answers which run it is: none when there
    /// is no whole line. `likely` is the run where the first line is damaged.
    fn index(&mut self, likely: Option<&RunId>) -> Result<Option<RunId>, SinkError> {
        let fault = |path: &Path, error: &io::Error| at("read its journal", path, error);
        let file = File::open(&self.path).map_err(|error| fault(&self.path, &error))?;
        let total = file.metadata().map_err(|error| fault(&self.path, &error))?.len();
        let mut reader = BufReader::with_capacity(BLOCK, file);
        let mut run = None;
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(|error| fault(&self.path, &error))?;
            let Some(body) = line.strip_suffix(b"\n") else { break };
            if run.is_none() {
                run = Some(self.header(body, likely)?);
            } else if !self.index_line(body) {
                self.damaged.insert(self.length);
            }
            self.length += line.len() as u64;
        }
        if run.is_some() && self.length < total {
            self.storage.truncate(self.length).map_err(|error| fault(&self.path, &error))?;
        }
        Ok(run)
    }

    /// The run in the first line. What cannot be read is never taken for an empty journal, since rows may follow.
    fn header(&self, body: &[u8], likely: Option<&RunId>) -> Result<RunId, SinkError> {
        let unknown = |reason: &str, remedy: &'static str| {
            fatal("read its journal", format!("{}: {reason}", self.path.display()), remedy)
        };
        match serde_json::from_slice::<Header>(body) {
            Ok(header) if header.journal == FORMAT => Ok(header.run_id),
            Ok(_) => Err(unknown(
                "another version of this program wrote it",
                "use that version, or choose another output folder",
            )),
            Err(_) => likely.cloned().ok_or_else(|| {
                unknown(
                    "its first line is damaged",
                    "name its folder YYYYMMDD_HHMMSS_RUN, which tells the run too, or choose another output folder",
                )
            }),
        }
    }

    /// Whether a line is whole.
    fn index_line(&mut self, body: &[u8]) -> bool {
        if body.starts_with(METADATA) {
            let whole = serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
            self.metadata = whole.then(|| self.inner(METADATA, body.len() + 1));
            return whole;
        }
        let Some((table, prefix)) = PREFIXES.into_iter().find(|(_, prefix)| body.starts_with(prefix)) else {
            return false;
        };
        let Some(row) = body.get(prefix.len()..body.len().saturating_sub(1)).filter(|_| body.ends_with(b"}"))
        else {
            return false;
        };
        let Some(key) = key(table, row) else { return false };
        let entry = if let Some(slot) = slot(table) {
            Entry::Kept(slot, key, self.inner(prefix, body.len() + 1))
        } else {
            self.recent.insert(key);
            Entry::Metric(key)
        };
        self.commit(entry);
        true
    }

    /// The row inside the line that comes next.
    fn inner(&self, prefix: &[u8], line: usize) -> Span {
        Span { offset: self.length + prefix.len() as u64, length: line - prefix.len() - 2 }
    }

    fn commit(&mut self, entry: Entry) {
        match entry {
            Entry::Metric(_) => self.metrics += 1,
            Entry::Kept(slot, key, span) => {
                let kept = &mut self.kept[slot];
                if let Some(earlier) = kept.known.get(&key).and_then(|index| kept.rows.get_mut(*index)) {
                    *earlier = span;
                } else {
                    kept.known.insert(key, kept.rows.len());
                    kept.rows.push(span);
                }
            }
        }
    }

    /// Adds rows. When that fails, rows of this call may have been added already; calling again adds the rest.
    pub(crate) fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError> {
        let (_, prefix) = PREFIXES[table as usize];
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut pending = Vec::new();
        let mut result = Ok(());
        for row in rows {
            let start = buffer.len();
            buffer.extend_from_slice(prefix);
            if let Err(error) = write_row(&mut buffer, row) {
                buffer.truncate(start);
                result = Err(not_json(&error));
                break;
            }
            let inner = start + prefix.len();
            let key = live_key(table, &buffer[inner..]);
            let span = Span { offset: self.length + inner as u64, length: buffer.len() - inner };
            match slot(table) {
                Some(slot) => pending.push(Entry::Kept(slot, key, span)),
                None if self.recent.insert(key) => pending.push(Entry::Metric(key)),
                None => {
                    buffer.truncate(start);
                    continue;
                }
            }
            buffer.extend_from_slice(b"}\n");
            if buffer.len() >= BLOCK {
                result = self.append_entries(&mut buffer, &mut pending);
                if result.is_err() {
                    break;
                }
            }
        }
        let rest = self.append_entries(&mut buffer, &mut pending);
        // One huge trace must not hold its memory for the rest of the run.
        buffer.shrink_to(2 * BLOCK);
        self.buffer = buffer;
        result.and(rest)
    }

    fn append_entries(&mut self, buffer: &mut Vec<u8>, pending: &mut Vec<Entry>) -> Result<(), SinkError> {
        if buffer.is_empty() {
            return Ok(());
        }
        let result = self.append(buffer);
        buffer.clear();
        for entry in pending.drain(..) {
            match (&result, entry) {
                (Ok(()), entry) => self.commit(entry),
                (Err(_), Entry::Metric(key)) => self.recent.remove(key),
                (Err(_), Entry::Kept(..)) => {}
            }
        }
        result
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        let fault = |error| at("write to its journal", &self.path, &error);
        if self.torn {
            self.storage.truncate(self.length).map_err(fault)?;
            self.torn = false;
        }
        if let Err(error) = self.storage.append(bytes) {
            // Part of it may be there. If it cannot be cut off now, the next write or opening it again does.
            self.torn = self.storage.truncate(self.length).is_err();
            return Err(fault(error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Notes the metadata down, so that a crash from here on loses nothing.
    pub(crate) fn write_metadata(&mut self, metadata: &Cell) -> Result<(), SinkError> {
        let mut line = METADATA.to_vec();
        serde_json::to_writer(&mut line, metadata).map_err(|error| not_json(&error))?;
        line.extend_from_slice(b"}\n");
        let span = self.inner(METADATA, line.len());
        self.append(&line)?;
        self.metadata = Some(span);
        self.storage.sync().map_err(|error| at("store its journal", &self.path, &error))
    }

    pub(crate) fn rows(&self, table: Table) -> u64 {
        slot(table).map_or(self.metrics, |slot| self.kept[slot].rows.len() as u64)
    }

    pub(crate) fn has_metadata(&self) -> bool {
        self.metadata.is_some()
    }

    /// Calls with the JSON of each kept row of a small table, in order.
    pub(crate) fn each(
        &self,
        table: Table,
        mut show: impl FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        let Some(slot) = slot(table) else { return self.each_metric(show) };
        let mut reader = self.reader()?;
        for span in &self.kept[slot].rows {
            show(&self.read(&mut reader, *span)?)?;
        }
        Ok(())
    }

    pub(crate) fn metadata(&self) -> Result<Option<Vec<u8>>, SinkError> {
        self.metadata.map(|span| self.read(&mut self.reader()?, span)).transpose()
    }

    /// Metric rows are not indexed: the journal is read through.
    fn each_metric(&self, mut show: impl FnMut(&[u8]) -> Result<(), SinkError>) -> Result<(), SinkError> {
        let (_, prefix) = PREFIXES[Table::Metrics as usize];
        let mut reader = self.reader()?.take(self.length);
        let mut line = Vec::new();
        let mut offset = 0;
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line);
            let read = read.map_err(|error| at("read its journal", &self.path, &error))?;
            if read == 0 {
                return Ok(());
            }
            let is_damaged = self.damaged.contains(&offset);
            offset += read as u64;
            if is_damaged {
                continue;
            }
            if let Some(row) = line.strip_prefix(prefix).and_then(|row| row.strip_suffix(b"}\n")) {
                show(row)?;
            }
        }
    }

    fn reader(&self) -> Result<BufReader<File>, SinkError> {
        let file = File::open(&self.path).map_err(|error| at("read its journal", &self.path, &error))?;
        Ok(BufReader::with_capacity(BLOCK, file))
    }

    fn read(&self, reader: &mut BufReader<File>, span: Span) -> Result<Vec<u8>, SinkError> {
        let mut row = vec![0; span.length];
        // Rows mostly stand one after the other: a relative seek keeps what is buffered.
        let here = reader.stream_position();
        let found = here.and_then(|here| {
            match i64::try_from(span.offset).and_then(|offset| Ok(offset - i64::try_from(here)?)) {
                Ok(step) => reader.seek_relative(step),
                Err(_) => reader.seek(SeekFrom::Start(span.offset)).map(drop),
            }
        });
        found
            .and_then(|()| reader.read_exact(&mut row))
            .map_err(|error| at("read its journal", &self.path, &error))?;
        Ok(row)
    }

    #[cfg(test)]
    pub(crate) fn replace_storage(&mut self, make: impl FnOnce(Box<dyn Storage>) -> Box<dyn Storage>) {
        struct Nowhere;
        impl Storage for Nowhere {
            fn append(&mut self, _: &[u8]) -> io::Result<()> {
                Err(io::ErrorKind::Unsupported.into())
            }
            fn truncate(&mut self, _: u64) -> io::Result<()> {
                Err(io::ErrorKind::Unsupported.into())
            }
            fn sync(&self) -> io::Result<()> {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
        let real = std::mem::replace(&mut self.storage, Box::new(Nowhere));
        self.storage = make(real);
    }
}

/// Two programs that write one run would mix their lines.
fn lock(file: &File, path: &Path) -> Result<(), SinkError> {
    match file.try_lock() {
        // Some network file systems have no locks: then this protection is missing.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(fatal(
            "open its journal",
            format!("{} is being written by another program", path.display()),
            "wait for it to end or choose another run id",
        )),
    }
}

/// Index in the lists of tables whose rows are replaced by key; metrics are not.
fn slot(table: Table) -> Option<usize> {
    match table {
        Table::Results => Some(0),
        Table::Traces => Some(1),
        Table::Leaderboard => Some(2),
        Table::Metrics => None,
    }
}

fn not_json(error: &serde_json::Error) -> SinkError {
    fatal("write rows", error.to_string(), "write rows that JSON can hold")
}

const FORMAT: u32 = 1;
const METADATA: &[u8] = br#"{"metadata":"#;
/// In the order of [`Table`].
const PREFIXES: [(Table, &[u8]); 4] = [
    (Table::Results, br#"{"results":"#),
    (Table::Traces, br#"{"traces":"#),
    (Table::Metrics, br#"{"metrics":"#),
    (Table::Leaderboard, br#"{"leaderboard":"#),
];
/// Bytes that are written or read at once.
const BLOCK: usize = 256 * 1024;
