//! The collector as a stranger uses it, on a tree of real files and links.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use wattspan_core::{Collector, DeviceSample, Joules, Method, Reading, SampleBuffer, ScriptedClock};
use wattspan_energy::Meter;
use wattspan_host::{CgroupCpu, HostCollector, HostFacts, HostOptions, process_by_port, process_by_socket};

/// A folder that is removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("wattspan-host-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).unwrap();
        let tree = Self(root);
        tree.put("proc/stat", "cpu  100 0 50 850 0 0 0 0 0 0\n");
        tree.put("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon\nflags : fpu\n");
        tree
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A zone as the kernel lays it out: a folder under `devices`, a link to it in the class.
    fn zone(&self, path: &str, name: &str, energy_uj: u64) {
        let folder = format!("sys/devices/virtual/powercap/intel-rapl/{path}");
        self.put(&format!("{folder}/name"), name);
        self.put(&format!("{folder}/max_energy_range_uj"), "262143328850\n");
        self.put(&format!("{folder}/energy_uj"), &format!("{energy_uj}\n"));
        // The link that every device has back to its class must not lead in circles.
        let _ = symlink("../../../../../class/powercap", self.0.join(&folder).join("subsystem"));
        self.list(&format!("intel-rapl/{path}"));
    }

    fn list(&self, device: &str) {
        let class = self.0.join("sys/class/powercap");
        fs::create_dir_all(&class).unwrap();
        let id = device.rsplit('/').next().unwrap();
        let _ = symlink(format!("../../devices/virtual/powercap/{device}"), class.join(id));
    }

    fn open(&self) -> HostCollector {
        let mut options = HostOptions::default();
        options.root.clone_from(&self.0);
        HostCollector::open(options).unwrap().unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sample(host: &mut HostCollector, clock: &ScriptedClock) -> Vec<DeviceSample> {
    let mut samples = Vec::new();
    host.sample(&mut SampleBuffer::new(clock, &mut samples)).unwrap();
    samples
}

#[test]
fn case_rapl_01_wrap_is_joules_to_the_meter() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0\n", 261_439_421_273);
    tree.zone("intel-rapl:0/intel-rapl:0:0", "dram\n", 5);
    let mut host = tree.open();
    let ids: Vec<&str> = host.devices().iter().map(|device| device.id.as_str()).collect();
    assert_eq!(ids, ["powercap:intel-rapl:package-0", "powercap:intel-rapl:package-0/dram"]);

    let clock = ScriptedClock::new(SystemTime::UNIX_EPOCH);
    let mut meter = Meter::new(Arc::clone(&host.devices()[0]));
    let mut measured = Vec::new();
    meter.read(&sample(&mut host, &clock)[0], &mut measured);
    clock.advance(Duration::from_secs(15));
    // Written over in place: the file stays open, as the kernel's does.
    tree.zone("intel-rapl:0", "package-0\n", 708_461_094);
    meter.read(&sample(&mut host, &clock)[0], &mut measured);

    assert_eq!(measured.len(), 1);
    assert_eq!(measured[0].method, Method::Counter);
    let off = measured[0].energy.unwrap() - Joules::from_microjoules(1_412_368_671);
    assert!(off.microjoules().abs() <= 100, "{off}");
}

#[test]
fn links_into_a_hidden_folder_are_a_masked_container() {
    let tree = Tree::new();
    tree.list("intel-rapl");
    tree.list("intel-rapl/intel-rapl:0");
    let mut host = tree.open();
    let samples = sample(&mut host, &ScriptedClock::new(SystemTime::UNIX_EPOCH));
    assert_eq!(samples.len(), 1);
    assert!(matches!(samples[0].energy, Reading::Denied(_)), "{:?}", samples[0].energy);
    assert_eq!(samples[0].gauges.cpu_busy, Reading::Value(Duration::from_millis(1_500)));
}

#[test]
fn this_machine_can_be_asked() {
    // What is there differs from machine to machine; that nothing is made up does not.
    let root = Path::new("/");
    let facts = HostFacts::read(root);
    assert!(facts.logical_cpus.unwrap() >= 1);
    if let Some(mut group) = CgroupCpu::open(root) {
        assert!(group.busy().is_value());
    }
    let clock = ScriptedClock::new(SystemTime::UNIX_EPOCH);
    if let Some(mut host) = HostCollector::open(HostOptions::default()).unwrap() {
        host.watch(&[std::process::id()]);
        for sample in sample(&mut host, &clock) {
            if let Some(processes) = sample.processes.as_value() {
                assert_eq!(processes.len(), 1);
                assert!(processes[0].busy.is_value());
            }
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_listener_of_this_process_is_found() {
    let root = Path::new("/");
    let server = std::net::TcpListener::bind("[::1]:0")
        .or_else(|_| std::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let found = process_by_port(root, server.local_addr().unwrap().port());
    assert_eq!(found, Reading::Value(std::process::id()));

    let tree = Tree::new();
    let path = tree.0.join("llama server.sock");
    let _server = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert_eq!(process_by_socket(root, &path), Reading::Value(std::process::id()));
}
