//! Whose work a device did between two samples, by evidence of processes.

use std::collections::HashMap;
use std::time::Duration;

use wattspan_core::{DeviceId, DeviceKind, DeviceSample, ProcessUse, Ratio, Reading};
use wattspan_energy::Ownership;

/// Remembers each device's process times, to take differences.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    cpu: HashMap<DeviceId, CpuTimes>,
    /// The CPU's owner in this tick, which memory modules share: they have no process times of their own.
    last_cpu: Option<Ownership>,
}

#[derive(Debug, Default)]
struct CpuTimes {
    busy: Duration,
    processes: HashMap<u32, Duration>,
}

/// CPU time used between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuUse {
    pub(crate) ours: Duration,
    pub(crate) all: Duration,
}

impl Owners {
    /// Judges a sample, with the processes in which our inferences run. `None` for a process that is not known: then
    /// nothing can be told apart.
    pub(crate) fn judge(
        &mut self,
        sample: &DeviceSample,
        ours: Option<&[u32]>,
    ) -> (Ownership, Option<CpuUse>) {
        match sample.device.kind {
            DeviceKind::Dram => (self.last_cpu.unwrap_or(NOBODY), None),
            DeviceKind::Cpu => {
                let used = self.cpu_use(sample, ours);
                let shared = used.and_then(|used| {
                    let fraction = used.ours.as_secs_f64() / used.all.as_secs_f64();
                    let ours = Ratio::share(fraction.min(1.0))?;
                    Some(Ownership { ours, others: Ratio::share(1.0 - ours.ratio())? })
                });
                self.last_cpu = shared;
                (shared.unwrap_or(NOBODY), used)
            }
            _ => (gpu_owner(&sample.processes, ours), None),
        }
    }

    fn cpu_use(&mut self, sample: &DeviceSample, ours: Option<&[u32]>) -> Option<CpuUse> {
        let busy = sample.gauges.cpu_busy.as_value().copied()?;
        let processes = sample.processes.as_value()?;
        let before = self.cpu.entry(sample.device.id.clone()).or_default();
        let first = before.busy.is_zero();
        let all = busy.saturating_sub(before.busy);
        let mut used = Duration::ZERO;
        let mut now = HashMap::with_capacity(processes.len());
        for process in processes {
            let Some(time) = process.busy.as_value().copied() else { continue };
            if let Some(earlier) = before.processes.get(&process.pid)
                && ours.is_some_and(|ours| ours.contains(&process.pid))
            {
                used += time.saturating_sub(*earlier);
            }
            now.insert(process.pid, time);
        }
        *before = CpuTimes { busy, processes: now };
        let ours_known = ours.is_some_and(|ours| ours.iter().any(|pid| before.processes.contains_key(pid)));
        (!first && !all.is_zero() && ours_known).then_some(CpuUse { ours: used.min(all), all })
    }
}

/// Without evidence the draw above idle can be anybody's.
const NOBODY: Ownership = Ownership { ours: Ratio::ZERO, others: Ratio::ZERO };

fn gpu_owner(processes: &Reading<Vec<ProcessUse>>, ours: Option<&[u32]>) -> Ownership {
    let (Some(processes), Some(ours)) = (processes.as_value(), ours) else { return Ownership::OURS };
    let work = |process: &ProcessUse| process.utilization.as_value().map_or(0.0, |ratio| ratio.ratio());
    let (mut own, mut other) = (0.0, 0.0);
    for process in processes {
        if ours.contains(&process.pid) {
            own += work(process);
        } else {
            other += work(process);
        }
    }
    // Only work that was seen is evidence: a process that merely holds memory draws nothing of note.
    if other <= 0.0 {
        return Ownership::OURS;
    }
    let listed = processes.iter().any(|process| ours.contains(&process.pid));
    if !listed && !visible(processes) {
        // None of the driver's process ids means anything here: they are those of another pid namespace.
        return NOBODY;
    }
    match (Ratio::share(own / (own + other)), Ratio::share(other / (own + other))) {
        (Some(ours), Some(others)) => Ownership { ours, others },
        _ => Ownership::OURS,
    }
}

/// Whether at least one of the driver's processes can be seen from here.
fn visible(processes: &[ProcessUse]) -> bool {
    let proc = std::path::Path::new("/proc");
    !proc.is_dir() || processes.iter().any(|process| proc.join(process.pid.to_string()).is_dir())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wattspan_core::{Device, MonoTime, Vendor};

    use super::*;

    fn cpu(busy: u64, processes: &[(u32, u64)]) -> DeviceSample {
        let device = Device::new(DeviceId::new("cpu"), DeviceKind::Cpu, Vendor::Intel, "cpu");
        let mut sample = DeviceSample::new(Arc::new(device), MonoTime::ZERO);
        sample.gauges.cpu_busy = Reading::Value(Duration::from_secs(busy));
        sample.processes = Reading::Value(
            processes
                .iter()
                .map(|(pid, seconds)| {
                    let mut process = ProcessUse::new(*pid);
                    process.busy = Reading::Value(Duration::from_secs(*seconds));
                    process
                })
                .collect(),
        );
        sample
    }

    fn gpu(processes: &[(u32, f64)]) -> Reading<Vec<ProcessUse>> {
        Reading::Value(
            processes
                .iter()
                .map(|(pid, utilization)| {
                    let mut process = ProcessUse::new(*pid);
                    process.utilization = Ratio::share(*utilization).into();
                    process
                })
                .collect(),
        )
    }

    #[test]
    fn cpu_work_is_shared_by_cpu_time() {
        let mut owners = Owners::default();
        let (before, none) = owners.judge(&cpu(100, &[(7, 10)]), Some(&[7]));
        assert_eq!((before.ours, none), (Ratio::ZERO, None));
        let (shared, used) = owners.judge(&cpu(104, &[(7, 13)]), Some(&[7]));
        assert_eq!(used, Some(CpuUse { ours: Duration::from_secs(3), all: Duration::from_secs(4) }));
        assert_eq!((shared.ours.ratio(), shared.others.ratio()), (0.75, 0.25));
    }

    #[test]
    fn a_process_that_is_not_watched_leaves_cpu_work_unattributed() {
        let mut owners = Owners::default();
        owners.judge(&cpu(100, &[(7, 10)]), None);
        let (shared, _) = owners.judge(&cpu(104, &[(7, 13)]), None);
        assert_eq!((shared.ours, shared.others), (Ratio::ZERO, Ratio::ZERO));
    }

    #[test]
    fn a_gpu_is_ours_until_another_process_is_seen_at_work() {
        assert_eq!(gpu_owner(&Reading::NotSupported, Some(&[7])), Ownership::OURS);
        assert_eq!(gpu_owner(&gpu(&[]), Some(&[7])), Ownership::OURS);
        assert_eq!(gpu_owner(&gpu(&[(7, 0.4), (9, 0.0)]), Some(&[7])), Ownership::OURS);
        let shared = gpu_owner(&gpu(&[(7, 0.6), (9, 0.2)]), Some(&[7]));
        assert!((shared.ours.ratio() - 0.75).abs() < 1e-12 && (shared.others.ratio() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn case_container_01_host_pids_are_never_taken_for_ours() {
        // No process has this number: the largest pid that Linux gives is 4 194 304.
        let shared = gpu_owner(&gpu(&[(4_200_000, 0.5)]), Some(&[7]));
        if std::path::Path::new("/proc").is_dir() {
            assert_eq!((shared.ours, shared.others), (Ratio::ZERO, Ratio::ZERO));
        }
    }
}
