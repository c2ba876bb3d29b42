//! Which processes use a device, from lists and samples that the driver gives. Pure, but for one look at `/proc`.

use wattspan_core::{Bytes, ProcessUse, Ratio, Reading};

use crate::sys::{Listed, Used};

/// Whose process ids the driver's are.
///
/// The driver knows no namespaces: it always gives the ids of the host. In a container with ids of its own they name
/// nothing, or another process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PidNamespace {
    /// Looks whether this process is in the host's namespace. Where that cannot be told, it is not.
    #[default]
    Detect,
    /// The host's: ids are reported. Say so where a sandbox hides `/proc/self/ns`.
    Host,
    /// Another: no ids are reported, so that none is taken for a process here.
    Container,
}

impl PidNamespace {
    pub(crate) fn is_host(self) -> bool {
        match self {
            Self::Host => true,
            Self::Container => false,
            // Windows has no such namespaces.
            Self::Detect if !cfg!(target_os = "linux") => true,
            Self::Detect => {
                let link = std::fs::read_link("/proc/self/ns/pid").ok();
                link.as_deref().and_then(|link| link.to_str()).is_some_and(is_initial)
            }
        }
    }
}

/// Whether the target of `/proc/self/ns/pid` is the namespace that the kernel starts with.
fn is_initial(link: &str) -> bool {
    // PROC_PID_INIT_INO, 0xEFFFFFFC, of Linux' include/linux/proc_ns.h.
    link == "pid:[4026531836]"
}

/// Why there are no processes in a container with process ids of its own.
pub(crate) const FOREIGN: &str = "NVML names processes by the host's ids, which mean nothing in this pid namespace: \
     run with `hostPID: true` or `--pid=host`";

/// The last second of samples stands for a process: the driver's buffer holds many seconds.
const RECENT_US: u64 = 1_000_000;

/// What came of the driver's samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Process, sum of percentages, number of them.
    sums: Vec<(u32, u64, u64)>,
    /// Samples that made no sense.
    pub(crate) rejected: u64,
    /// Time of the newest of the others, on the driver's clock.
    pub(crate) newest: Option<u64>,
}

impl Shares {
    /// Sorts samples out. Drops process 0, more than the whole, and, where the driver's lists are complete, processes
    /// that are in none of them: they have died.
    pub(crate) fn take(&mut self, samples: &[Used], listed: Option<&[Listed]>) {
        let makes_sense = |sample: &&Used| {
            let alive = listed.is_none_or(|listed| listed.iter().any(|one| one.pid == sample.pid));
            sample.pid != 0 && sample.multiprocessors <= 100 && alive
        };
        self.sums.clear();
        self.newest = samples.iter().filter(makes_sense).map(|sample| sample.time).max();
        self.rejected = samples.len() as u64;
        for sample in samples.iter().filter(makes_sense) {
            self.rejected -= 1;
            if self.newest.is_some_and(|newest| sample.time.saturating_add(RECENT_US) <= newest) {
                continue;
            }
            let percent = u64::from(sample.multiprocessors);
            match self.sums.iter_mut().find(|(pid, ..)| *pid == sample.pid) {
                Some((_, sum, count)) => {
                    *sum += percent;
                    *count += 1;
                }
                None => self.sums.push((sample.pid, percent, 1)),
            }
        }
    }

    /// Whether there is no share of any process.
    pub(crate) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    fn of(&self, pid: u32) -> Reading<Ratio> {
        self.sums
            .iter()
            .find(|(one, ..)| *one == pid)
            .and_then(|(_, sum, count)| Ratio::percent(*sum as f64 / *count as f64))
            .map_or_else(|| Reading::failed("the driver has no sample of this process"), Reading::Value)
    }
}

/// Joins lists and shares: one entry for each process, in the order in which they were listed. A process that is in
/// several lists has the same memory in each.
pub(crate) fn join(listed: &[Listed], shares: &Reading<&Shares>) -> Vec<ProcessUse> {
    let mut joined: Vec<ProcessUse> = Vec::with_capacity(listed.len());
    for one in listed.iter().filter(|one| one.pid != 0) {
        if joined.iter().any(|process| process.pid == one.pid) {
            continue;
        }
        let memory =
            listed.iter().filter(|other| other.pid == one.pid).filter_map(|other| other.memory).max();
        let mut process = ProcessUse::new(one.pid);
        process.memory = memory.map(Bytes::new).into();
        process.utilization = match shares {
            Reading::Value(shares) => shares.of(one.pid),
            Reading::NotSupported => Reading::NotSupported,
            Reading::Denied(remedy) => Reading::Denied(remedy.clone()),
            Reading::Failed(failure) => Reading::Failed(failure.clone()),
        };
        joined.push(process);
    }
    // A driver that lacks a list still tells who works.
    if let Reading::Value(shares) = shares {
        for &(pid, ..) in &shares.sums {
            if joined.iter().all(|process| process.pid != pid) {
                let mut process = ProcessUse::new(pid);
                process.utilization = shares.of(pid);
                joined.push(process);
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(pid: u32, time: u64, multiprocessors: u32) -> Used {
        Used { pid, time, multiprocessors }
    }

    fn listed(pids: &[u32]) -> Vec<Listed> {
        pids.iter().map(|&pid| Listed { pid, memory: Some(1 << 20) }).collect()
    }

    fn shares_of(processes: &[ProcessUse]) -> Vec<(u32, Option<Ratio>)> {
        processes.iter().map(|process| (process.pid, process.utilization.as_value().copied())).collect()
    }

    #[test]
    fn case_attribution_07_rubbish_is_dropped_and_counted() {
        let samples = [
            used(7044, 5, 12),
            used(0, 5, u32::MAX),
            used(999_999, 5, 3_100),
            used(7180, 5, 7),
            // The same dead process with a share that would pass, at a time that would hide everything else.
            used(999_999, u64::MAX, 31),
        ];
        let listed = listed(&[7044, 7180]);
        let mut shares = Shares::default();
        shares.take(&samples, Some(&listed));
        assert_eq!(shares.rejected, 3);
        let joined = join(&listed, &Reading::Value(&shares));
        assert_eq!(shares_of(&joined), [(7044, Ratio::percent(12.0)), (7180, Ratio::percent(7.0))]);
    }

    #[test]
    fn share_is_the_mean_of_the_last_second() {
        let samples = [used(1, 0, 90), used(1, 4_000_000, 20), used(1, 4_500_000, 40)];
        let mut shares = Shares::default();
        shares.take(&samples, None);
        assert_eq!(shares_of(&join(&[], &Reading::Value(&shares))), [(1, Ratio::percent(30.0))]);
    }

    #[test]
    fn process_in_two_lists_is_one_process() {
        let twice = [Listed { pid: 5, memory: None }, Listed { pid: 5, memory: Some(7) }];
        let joined = join(&twice, &Reading::NotSupported);
        assert_eq!(joined.len(), 1);
        assert_eq!(joined[0].memory, Reading::Value(Bytes::new(7)));
        assert_eq!(joined[0].utilization, Reading::NotSupported);
    }

    #[test]
    fn only_the_kernels_first_namespace_is_the_hosts() {
        assert!(is_initial("pid:[4026531836]"));
        assert!(!is_initial("pid:[4026532201]"));
        assert!(!is_initial(""));
        assert!(PidNamespace::Host.is_host());
        assert!(!PidNamespace::Container.is_host());
    }
}
