//! Which processes use a GPU: DRM clients by `fdinfo`, compute processes by KFD.
//!
//! `fdinfo` has times but shows only processes that it was asked for and may read; KFD lists every compute process with
//! its memory, without times. A process in both is one process.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use wattspan_core::{Bytes, MonoTime, ProcessUse, Ratio, Reading};

use crate::parse;
use crate::tree::{self, Source};

/// How long a process's list of DRM descriptors is believed; walking all descriptors of a server costs milliseconds.
const RESCAN: Duration = Duration::from_secs(1);

/// Follows the processes that the collector was asked about.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    watched: Vec<u32>,
    /// Descriptors of DRM clients by process, and when they were looked for.
    descriptors: BTreeMap<u32, (MonoTime, Vec<String>)>,
    /// Busy time by GPU address and process at the tick before.
    busy: BTreeMap<(String, u32), (MonoTime, Duration)>,
    /// Memory by KFD's GPU id and process, and when it was read; `None` without KFD.
    kfd: Option<BTreeMap<(u64, u32), Bytes>>,
    kfd_read: Option<MonoTime>,
    tick: Snapshot,
}

/// What one tick found.
#[derive(Debug, Default)]
struct Snapshot {
    /// By GPU address and process.
    clients: BTreeMap<(String, u32), Client>,
    /// Whether anything could be asked at all.
    answered: bool,
    denied: Option<String>,
}

#[derive(Debug, Default)]
struct Client {
    busy: Duration,
    memory: Option<Bytes>,
}

impl Processes {
    pub(crate) fn watch(&mut self, processes: &[u32]) {
        self.watched = processes.to_vec();
        self.watched.sort_unstable();
        self.watched.dedup();
        let watched = &self.watched;
        self.descriptors.retain(|pid, _| watched.contains(pid));
        self.busy.retain(|(_, pid), _| watched.contains(pid));
    }

    /// Reads the watched processes, and KFD's list when the last is older than a period; [`Processes::on`] then answers
    /// per GPU.
    pub(crate) fn refresh(&mut self, source: &dyn Source, now: MonoTime, period: Duration) {
        let mut tick = Snapshot::default();
        self.read_clients(source, now, &mut tick);
        if self.kfd_read.is_none_or(|at| now.since(at) >= period) {
            self.kfd = kfd(source);
            self.kfd_read = Some(now);
        }
        tick.answered |= self.kfd.is_some();
        self.tick = tick;
    }

    fn read_clients(&mut self, source: &dyn Source, now: MonoTime, tick: &mut Snapshot) {
        for &pid in &self.watched {
            let folder = format!("proc/{pid}/fdinfo");
            let known = self.descriptors.get(&pid).filter(|(at, _)| now.since(*at) < RESCAN);
            let (names, rescan) = match known {
                Some((_, names)) => (names.clone(), false),
                None => match source.list(&folder) {
                    Ok(names) => (names, true),
                    Err(error) => {
                        if error.kind() == io::ErrorKind::PermissionDenied {
                            tick.denied =
                                Some(format!("run as the user of process {pid}, or with CAP_SYS_PTRACE"));
                        }
                        // Otherwise it has ended: not a fault, and nothing of it is left to read.
                        self.descriptors.remove(&pid);
                        continue;
                    }
                },
            };
            tick.answered = true;
            let mut seen = Vec::new();
            let mut drm = Vec::new();
            for name in names {
                let Some(client) =
                    tree::text(source, &format!("{folder}/{name}")).and_then(|text| parse::drm_client(&text))
                else {
                    continue;
                };
                drm.push(name);
                let key = (client.pci_address.clone(), client.client);
                if seen.contains(&key) {
                    continue;
                }
                seen.push(key);
                let entry = tick.clients.entry((client.pci_address, pid)).or_default();
                entry.busy = entry.busy.saturating_add(client.busy);
                entry.memory = match (entry.memory, client.memory) {
                    (Some(one), Some(other)) => Some([one, other].into_iter().sum()),
                    (one, other) => one.or(other),
                };
            }
            if rescan {
                self.descriptors.insert(pid, (now, drm));
            }
        }
    }

    /// The processes on one GPU. `kfd_ids` are KFD's ids of the GPU and its partitions.
    pub(crate) fn on(
        &mut self,
        pci_address: Option<&str>,
        kfd_ids: &[u64],
        now: MonoTime,
    ) -> Reading<Vec<ProcessUse>> {
        if !self.tick.answered {
            return match &self.tick.denied {
                Some(remedy) => Reading::denied(remedy.clone()),
                None => Reading::NotSupported,
            };
        }
        let mut found: BTreeMap<u32, ProcessUse> = BTreeMap::new();
        for (&(id, pid), &memory) in self.kfd.iter().flatten() {
            if kfd_ids.contains(&id) {
                let process = found.entry(pid).or_insert_with(|| ProcessUse::new(pid));
                let before = process.memory.as_value().copied().unwrap_or_default();
                process.memory = Reading::Value([before, memory].into_iter().sum());
            }
        }
        for ((address, pid), client) in &self.tick.clients {
            if Some(address.as_str()) != pci_address {
                continue;
            }
            let process = found.entry(*pid).or_insert_with(|| ProcessUse::new(*pid));
            process.busy = Reading::Value(client.busy);
            // KFD's memory is also in fdinfo on kernels that show it there; the larger is the whole.
            let memory = client.memory.into_iter().chain(process.memory.as_value().copied()).max();
            process.memory = Reading::from(memory);
            let before = self.busy.insert((address.clone(), *pid), (now, client.busy));
            process.utilization = match before {
                Some((then, busy)) => match client.busy.checked_sub(busy) {
                    Some(used) if now > then => {
                        // Graphics and compute engines run side by side, so their sum can pass the time.
                        let share = used.as_secs_f64() / now.since(then).as_secs_f64();
                        Reading::from(Ratio::share(share.min(1.0)))
                    }
                    _ => Reading::failed("a client of the process has gone since the sample before"),
                },
                None => Reading::failed("the first sample of a process has nothing to compare with"),
            };
        }
        Reading::Value(found.into_values().collect())
    }
}

/// Memory of every compute process. KFD counts it in bytes, a file for each GPU.
fn kfd(source: &dyn Source) -> Option<BTreeMap<(u64, u32), Bytes>> {
    let folder = "sys/class/kfd/kfd/proc";
    let mut found = BTreeMap::new();
    for name in source.list(folder).ok()? {
        let Ok(pid) = name.parse::<u32>() else { continue };
        for file in source.list(&format!("{folder}/{name}")).unwrap_or_default() {
            let Some(id) = file.strip_prefix("vram_").and_then(|id| id.parse::<u64>().ok()) else {
                continue;
            };
            // KFD keeps a file for every GPU of the machine; one that holds nothing is not used.
            if let Some(bytes) = tree::number(source, &format!("{folder}/{name}/{file}")).value()
                && bytes > 0
            {
                found.insert((id, pid), Bytes::new(bytes));
            }
        }
    }
    Some(found)
}
