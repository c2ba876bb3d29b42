//! The collector over trees of files, and the parsers over made-up bytes.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Bytes, Celsius, Clock, Collector, CounterSpec, DeviceId, DeviceKind, DeviceSample, PowerShape, Ratio,
    Reading, SampleBuffer, ScriptedClock, Watts,
};

use crate::tree::Source;
use crate::{AmdCollector, AmdOptions, ApuEnergy};

mod cases;
mod collector;
mod metrics;

/// Offsets of every table, kept apart from the parser's.
const LAYOUTS: &str = include_str!("../fixtures/gpu_metrics_layouts.csv");

/// Files in memory that a test changes while the collector reads them. A number stands for an errno.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Files>>, Arc<Mutex<Vec<String>>>);

type Files = BTreeMap<String, Result<Vec<u8>, i32>>;

impl Memory {
    /// Reads a fixture: `[folder]`, then `name = text` with `\n` and `\t`, or `name = table <revision> <size> field=value …`.
    fn new(fixture: &str) -> Self {
        let memory = Self::default();
        let mut folder = String::new();
        for line in fixture.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                name.clone_into(&mut folder);
            } else {
                let (name, value) = line.split_once(" = ").expect("a fixture's line is `name = value`");
                memory.set(&format!("{folder}/{name}"), value);
            }
        }
        memory
    }

    fn set(&self, path: &str, value: &str) {
        let bytes = match value.strip_prefix("table ") {
            Some(table) => table_from(table),
            None => format!("{}\n", value.replace("\\n", "\n").replace("\\t", "\t")).into_bytes(),
        };
        self.put(path, Ok(bytes));
    }

    fn put(&self, path: &str, content: Result<Vec<u8>, i32>) {
        self.0.lock().unwrap().insert(path.to_owned(), content);
    }

    /// Every path that was read or listed since the call before.
    fn touched(&self) -> Vec<String> {
        std::mem::take(&mut self.1.lock().unwrap())
    }

    fn remove(&self, folder: &str) {
        self.0.lock().unwrap().retain(|path, _| !path.starts_with(folder));
    }
}

impl Source for Memory {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.1.lock().unwrap().push(path.to_owned());
        match self.0.lock().unwrap().get(path) {
            Some(Ok(bytes)) => Ok(bytes.clone()),
            Some(Err(code)) => Err(error(*code)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.1.lock().unwrap().push(path.to_owned());
        let files = self.0.lock().unwrap();
        if let Some(Err(code)) = files.get(path) {
            return Err(error(*code));
        }
        let inside = format!("{path}/");
        let mut names: Vec<String> = files
            .keys()
            .filter_map(|file| Some(file.strip_prefix(&inside)?.split('/').next()?.to_owned()))
            .collect();
        names.dedup();
        if names.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(names) }
    }
}

/// What Linux's number means to std; written out, since other systems number differently.
fn error(code: i32) -> io::Error {
    match code {
        EPERM | EACCES => io::ErrorKind::PermissionDenied.into(),
        EBUSY => io::ErrorKind::ResourceBusy.into(),
        _ => io::ErrorKind::Other.into(),
    }
}

const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const EIO: i32 = 5;

/// A table in which all is absent but the fields given: `1.3 120 average_socket_power=94`.
fn table_from(text: &str) -> Vec<u8> {
    let mut words = text.split(' ');
    let revision = words.next().expect("a table has a revision");
    let size: u16 = words.next().expect("a table has a size").parse().expect("a size is a number");
    let fields: Vec<(&str, u64)> = words
        .map(|word| word.split_once('=').expect("a field is `name=value`"))
        .map(|(name, value)| (name, value.parse().expect("a field's value is a number")))
        .collect();
    table(revision, size, &fields)
}

fn table(revision: &str, size: u16, fields: &[(&str, u64)]) -> Vec<u8> {
    let mut bytes = vec![0xff; usize::from(size)];
    bytes[..2].copy_from_slice(&size.to_le_bytes());
    let (format, content) = revision.split_once('.').unwrap();
    bytes[2] = format.parse().unwrap();
    bytes[3] = content.parse().unwrap();
    for (name, value) in fields {
        let (offset, width) =
            place(revision, size, name).unwrap_or_else(|| panic!("{revision} has no {name}"));
        bytes[offset..offset + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    bytes
}

fn place(revision: &str, size: u16, field: &str) -> Option<(usize, usize)> {
    LAYOUTS.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let matches = cells[0] == revision && cells[1] == size.to_string() && cells[2] == field;
        matches.then(|| (cells[3].parse().unwrap(), cells[4].parse().unwrap()))
    })
}

/// Every layout: revision and size.
fn layouts() -> Vec<(&'static str, u16)> {
    let mut all: Vec<(&str, u16)> = LAYOUTS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut cells = line.split(',');
            (cells.next().unwrap(), cells.next().unwrap().parse().unwrap())
        })
        .collect();
    all.dedup();
    all
}

/// A collector over a tree, with its clock.
struct Bench {
    files: Memory,
    clock: ScriptedClock,
    collector: AmdCollector,
}

impl Bench {
    fn new(fixture: &str) -> Self {
        Self::with(Memory::new(fixture), &AmdOptions::default())
    }

    fn with(files: Memory, options: &AmdOptions) -> Self {
        let collector = AmdCollector::open_source(Box::new(files.clone()), options).unwrap().unwrap();
        Self { files, clock: ScriptedClock::new(SystemTime::UNIX_EPOCH), collector }
    }

    fn sample(&mut self) -> Vec<DeviceSample> {
        let mut samples = Vec::new();
        self.collector.sample(&mut SampleBuffer::new(&self.clock, &mut samples)).unwrap();
        samples
    }

    /// Moves the clock on and samples the first device.
    fn first_after(&mut self, time: Duration) -> DeviceSample {
        self.clock.advance(time);
        self.sample().remove(0)
    }
}

fn watts(sample: &DeviceSample) -> Option<f64> {
    sample.power.as_value().map(|power| power.watts())
}
