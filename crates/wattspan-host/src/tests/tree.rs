//! A `/sys` and `/proc` in memory, and the machines that the tests run on.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use wattspan_core::{Collector, DeviceSample, Reading, SampleBuffer, ScriptedClock};

use crate::files::{Files, ReadAt};
use crate::{HostCollector, HostOptions};

/// Where the tree stands; not `/`, which is the real machine.
const ROOT: &str = "/fixture";

#[derive(Clone, Default)]
pub(super) struct Tree(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    entries: BTreeMap<PathBuf, Entry>,
    opens: usize,
    /// A file that takes the next of these texts each time it has been read.
    scripts: BTreeMap<PathBuf, Vec<String>>,
}

enum Entry {
    Bytes(Vec<u8>),
    Link(String),
    Refused(ErrorKind),
}

impl Tree {
    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        self.set(path, Entry::Bytes(content.as_ref().to_vec()))
    }

    pub(super) fn link(&self, path: &str, target: &str) -> &Self {
        self.set(path, Entry::Link(target.to_owned()))
    }

    pub(super) fn refuse(&self, path: &str, kind: ErrorKind) -> &Self {
        self.set(path, Entry::Refused(kind))
    }

    pub(super) fn remove(&self, path: &str) {
        self.0.lock().unwrap().entries.remove(&at(path));
    }

    /// After each read of the file its content becomes the next of these.
    pub(super) fn script(&self, path: &str, next: &[u64]) {
        let texts = next.iter().rev().map(|value| format!("{value}\n")).collect();
        self.0.lock().unwrap().scripts.insert(at(path), texts);
    }

    /// After the end of the file was read, its content becomes this.
    pub(super) fn script_text(&self, path: &str, next: &str) {
        // A whole text is read in two steps: its bytes, and that no more follow.
        let now = self.text(path);
        self.0.lock().unwrap().scripts.insert(at(path), vec![next.to_owned(), now]);
    }

    fn text(&self, path: &str) -> String {
        match self.0.lock().unwrap().entries.get(&at(path)) {
            Some(Entry::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        }
    }

    pub(super) fn opens(&self) -> usize {
        self.0.lock().unwrap().opens
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap().entries.keys().cloned().collect()
    }

    pub(super) fn overwrite(&self, path: &Path, content: Vec<u8>) {
        self.0.lock().unwrap().entries.insert(path.to_owned(), Entry::Bytes(content));
    }

    fn set(&self, path: &str, entry: Entry) -> &Self {
        self.0.lock().unwrap().entries.insert(at(path), entry);
        self
    }

    /// A powercap zone with the range of an Intel server's package.
    pub(super) fn zone(&self, id: &str, name: &str, energy_uj: u64) -> &Self {
        self.put(&format!("sys/class/powercap/{id}/name"), format!("{name}\n"));
        self.put(&format!("sys/class/powercap/{id}/max_energy_range_uj"), "262143328850\n");
        self.put(&format!("sys/class/powercap/{id}/enabled"), "1\n");
        self.energy(id, energy_uj)
    }

    pub(super) fn energy(&self, id: &str, energy_uj: u64) -> &Self {
        self.put(&format!("sys/class/powercap/{id}/energy_uj"), format!("{energy_uj}\n"))
    }

    /// `/proc` of a machine with two threads that has done nothing yet.
    pub(super) fn machine(vendor: &str, model: &str, flags: &str) -> Self {
        let tree = Self::default();
        let cpu = |index: u32| {
            format!(
                "processor\t: {index}\nvendor_id\t: {vendor}\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: {model}\n\
                 stepping\t: 8\nphysical id\t: 0\ncore id\t\t: {index}\nflags\t\t: fpu {flags}\n\n"
            )
        };
        tree.put("proc/cpuinfo", cpu(0) + &cpu(1));
        tree.put("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\n");
        tree.put("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n");
        tree.cpu(0, 0);
        tree.process("self", std::process::id(), 0, 10);
        tree
    }

    /// Busy and idle ticks of the whole machine.
    pub(super) fn cpu(&self, busy: u64, idle: u64) -> &Self {
        self.put("proc/stat", format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"))
    }

    pub(super) fn process(&self, folder: &str, pid: u32, busy: u64, start: u64) -> &Self {
        let stat = format!(
            "{pid} (llama-server) S 1 1 1 0 -1 4194560 9 0 0 0 {busy} 0 0 0 20 0 9 0 {start} 99 11 18446744073709551615\n"
        );
        self.put(&format!("proc/{folder}/stat"), stat)
    }

    pub(super) fn options() -> HostOptions {
        HostOptions { root: PathBuf::from(ROOT), ..HostOptions::default() }
    }

    pub(super) fn open(&self) -> Host {
        self.open_with(Self::options())
    }

    pub(super) fn open_with(&self, options: HostOptions) -> Host {
        let collector = HostCollector::open_with(Arc::new(self.clone()), options).unwrap().unwrap();
        Host { collector, clock: ScriptedClock::new(SystemTime::UNIX_EPOCH) }
    }
}

/// A collector with its clock.
pub(super) struct Host {
    pub(super) collector: HostCollector,
    clock: ScriptedClock,
}

impl Host {
    pub(super) fn ids(&self) -> Vec<&str> {
        self.collector.devices().iter().map(|device| device.id.as_str()).collect()
    }

    /// One second later, a sample of every device.
    pub(super) fn tick(&mut self) -> Vec<DeviceSample> {
        self.after(Duration::from_secs(1))
    }

    pub(super) fn after(&mut self, time: Duration) -> Vec<DeviceSample> {
        self.clock.advance(time);
        let mut samples = Vec::new();
        self.collector.sample(&mut SampleBuffer::new(&self.clock, &mut samples)).unwrap();
        assert_eq!(samples.len(), self.collector.devices().len());
        samples
    }

    /// Energy count of one device.
    #[track_caller]
    pub(super) fn energy(&mut self, id: &str) -> Reading<u64> {
        let samples = self.tick();
        find(&samples, id).energy.clone()
    }
}

#[track_caller]
pub(super) fn find<'a>(samples: &'a [DeviceSample], id: &str) -> &'a DeviceSample {
    samples.iter().find(|sample| sample.device.id.as_str() == id).unwrap_or_else(|| panic!("no device {id}"))
}

fn at(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

impl Files for Tree {
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadAt>> {
        self.0.lock().unwrap().opens += 1;
        let file = Handle { tree: self.clone(), path: path.to_owned() };
        file.content()?;
        Ok(Box::new(file))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.0.lock().unwrap();
        if let Some(Entry::Refused(kind)) = state.entries.get(path) {
            return Err((*kind).into());
        }
        let inside = state.entries.keys().filter_map(|entry| entry.strip_prefix(path).ok()?.iter().next());
        let mut names: Vec<String> = inside.map(|name| name.to_string_lossy().into_owned()).collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(names) }
    }

    fn link(&self, path: &Path) -> io::Result<String> {
        match self.0.lock().unwrap().entries.get(path) {
            Some(Entry::Link(target)) => Ok(target.clone()),
            Some(Entry::Refused(kind)) => Err((*kind).into()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }
}

struct Handle {
    tree: Tree,
    path: PathBuf,
}

impl Handle {
    fn content(&self) -> io::Result<Vec<u8>> {
        match self.tree.0.lock().unwrap().entries.get(&self.path) {
            Some(Entry::Bytes(bytes)) => Ok(bytes.clone()),
            Some(Entry::Refused(kind)) => Err((*kind).into()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }
}

impl ReadAt for Handle {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = self.content()?;
        let rest = content.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        let mut state = self.tree.0.lock().unwrap();
        if let Some(next) = state.scripts.get_mut(&self.path).and_then(Vec::pop) {
            state.entries.insert(self.path.clone(), Entry::Bytes(next.into_bytes()));
        }
        Ok(count)
    }
}
