//! What is known of this machine without a sensor: the inputs of an estimate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use wattspan_core::{Bytes, Reading, Vendor};

use crate::cgroup::{Line, cpu_max, cpu_stat_usage, cpus, lines};
use crate::files::{Disk, Files, Polled, number, text, word};
use crate::{ContainerRef, CpuPower, procfs, remedy};

/// Facts about the machine, the virtual machine or the container that this program runs in.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HostFacts {
    /// Model name of the CPU. **Absent** on most ARM machines.
    pub cpu_model: Option<String>,
    /// Who made the CPU.
    pub cpu_vendor: Option<Vendor>,
    /// CPUs that the system schedules on: hardware threads, or a virtual machine's vCPUs.
    pub logical_cpus: Option<u32>,
    /// Physical cores. **Absent** where the system does not say.
    pub physical_cores: Option<u32>,
    /// CPU packages. **Absent** where the system does not say.
    pub packages: Option<u32>,
    /// Whether a hypervisor is below; such a machine has no energy counter of its own. **Absent** outside Linux.
    pub virtual_machine: Option<bool>,
    /// Whether this is a container, as far as its files tell.
    pub container: bool,
    /// CPUs that the control group may keep busy, such as 1.5. **Absent** without a limit.
    pub cpu_limit: Option<f64>,
    /// Memory of the machine.
    pub memory_total: Option<Bytes>,
    /// Memory that the control group may use, and so the basis of an estimate: a container is not charged for the host's.
    /// **Absent** without a limit below the machine's memory; then [`HostFacts::memory_total`] is the basis.
    pub memory_limit: Option<Bytes>,
    /// What the CPUs may draw by a table of servers. **Absent** where the CPUs cannot be counted.
    pub cpu_power: Option<CpuPower>,
}

impl HostFacts {
    /// Reads the facts; `root` is `/` but for tests. Outside Linux only the number of CPUs is known.
    pub fn read(root: &Path) -> Self {
        Self::of(&Disk, root)
    }

    pub(crate) fn of(files: &dyn Files, root: &Path) -> Self {
        let proc = root.join("proc");
        let cpuinfo = text(files, &proc.join("cpuinfo")).ok();
        let mut info = cpuinfo.as_deref().map(procfs::cpu_info).unwrap_or_default();
        if info.logical == 0 && root == Path::new("/") {
            info.logical = std::thread::available_parallelism().map_or(0, |count| count.get() as u32);
        }
        let groups = text(files, &proc.join("self/cgroup")).unwrap_or_default();
        let memory_total =
            text(files, &proc.join("meminfo")).ok().and_then(|text| procfs::memory(&text).total);
        let marked =
            ["run/.containerenv", ".dockerenv"].iter().any(|mark| files.open(&root.join(mark)).is_ok());
        Self {
            cpu_power: CpuPower::of(&info),
            cpu_vendor: cpuinfo.as_ref().map(|_| info.vendor()),
            logical_cpus: (info.logical > 0).then_some(info.logical),
            physical_cores: info.cores,
            packages: info.packages,
            virtual_machine: cpuinfo.as_ref().map(|_| info.hypervisor),
            container: marked || ContainerRef::parse(&groups).is_some(),
            cpu_limit: cpu_limit(files, root, &groups),
            memory_total,
            memory_limit: memory_limit(files, root, &groups)
                .filter(|limit| memory_total.is_none_or(|total| *limit < total)),
            cpu_model: info.model_name,
        }
    }
}

/// CPU time of this program's whole control group: the container's, with all its processes.
///
/// An upper bound for what is ours where a program works through children or threads of other processes in its
/// container.
pub struct CgroupCpu {
    file: Polled,
    is_v2: bool,
}

impl std::fmt::Debug for CgroupCpu {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("CgroupCpu").field("file", &self.file.path()).finish_non_exhaustive()
    }
}

impl CgroupCpu {
    /// Finds the group; `root` is `/` but for tests. `None` for a program in the root group, whose count would be the
    /// whole machine's, and outside Linux.
    pub fn open(root: &Path) -> Option<Self> {
        Self::find(&Disk, root)
    }

    /// CPU time that the group has used so far.
    pub fn busy(&mut self) -> Reading<Duration> {
        self.read(&Disk)
    }

    pub(crate) fn find(files: &dyn Files, root: &Path) -> Option<Self> {
        let groups = text(files, &root.join("proc/self/cgroup")).ok()?;
        let (is_v2, folders) = folders(files, root, &groups, "cpuacct")?;
        let file = if is_v2 { "cpu.stat" } else { "cpuacct.usage" };
        let folder = folders.iter().find(|folder| files.open(&folder.join(file)).is_ok())?;
        // Only the root of a hierarchy lacks the first, or has the second, of these.
        let is_root = if is_v2 {
            files.open(&folder.join("cgroup.events")).is_err()
        } else {
            files.open(&folder.join("release_agent")).is_ok()
        };
        (!is_root).then(|| Self { file: Polled::new(folder.join(file), remedy::root_only), is_v2 })
    }

    pub(crate) fn read(&mut self, files: &dyn Files) -> Reading<Duration> {
        let mut buffer = [0; 1_024];
        let bytes = match self.file.read(files, &mut buffer) {
            Ok(bytes) => bytes,
            Err(absent) => return absent.reading(),
        };
        let time = if self.is_v2 {
            std::str::from_utf8(bytes).ok().and_then(cpu_stat_usage).map(Duration::from_micros)
        } else {
            crate::files::parse_number(bytes).map(Duration::from_nanos)
        };
        time.map_or_else(
            || Reading::failed(format!("{} holds no CPU time", self.file.path().display())),
            Reading::Value,
        )
    }
}

/// Folders of this program's group in the hierarchy that has a controller, from the group up to the mount's root, and
/// whether that is version 2.
fn folders(files: &dyn Files, root: &Path, groups: &str, controller: &str) -> Option<(bool, Vec<PathBuf>)> {
    let class = root.join("sys/fs/cgroup");
    let all: Vec<Line<'_>> = lines(groups).collect();
    if let Some(line) = all.iter().find(|line| line.has(controller)) {
        // Controllers that share a hierarchy are mounted under both names: `cpu,cpuacct`, with a link from each.
        return Some((false, chain(&class.join(controller), line.path)));
    }
    let line = all.iter().find(|line| line.is_v2())?;
    let unified = class.join("unified");
    let mount = if files.open(&unified.join("cgroup.controllers")).is_ok() { unified } else { class };
    Some((true, chain(&mount, line.path)))
}

/// A path below a mount and all folders above it. A path that leads out of this namespace, or is seen from outside
/// it, is not below the mount: then only the mount's root, which is the container's own group, can be read.
fn chain(mount: &Path, path: &str) -> Vec<PathBuf> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let inside = if segments.contains(&"..") { &[][..] } else { &segments[..] };
    let below = (0..=inside.len())
        .rev()
        .map(|count| inside[..count].iter().fold(mount.to_owned(), |folder, segment| folder.join(segment)));
    below.collect()
}

/// The smallest memory limit on the way from the group to the root.
fn memory_limit(files: &dyn Files, root: &Path, groups: &str) -> Option<Bytes> {
    let (is_v2, folders) = folders(files, root, groups, "memory")?;
    let file = if is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
    folders
        .iter()
        .filter_map(|folder| number(files, &folder.join(file)))
        .filter(|limit| *limit > 0)
        .min()
        .map(Bytes::new)
}

/// The smallest CPU limit on the way from the group to the root.
fn cpu_limit(files: &dyn Files, root: &Path, groups: &str) -> Option<f64> {
    let (is_v2, folders) = folders(files, root, groups, "cpu")?;
    let limits = folders.iter().filter_map(|folder| {
        if is_v2 {
            return cpu_max(&word(files, &folder.join("cpu.max"))?);
        }
        let value = |file| word(files, &folder.join(file))?.parse().ok();
        cpus(value("cpu.cfs_quota_us")?, value("cpu.cfs_period_us")?)
    });
    limits.reduce(f64::min)
}
