//! CPU time, processes, memory, control groups and machines without a sensor.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    Bytes, Collector, DeviceKind, Estimate, Joules, OpenError, ProcessUse, Ratio, Reading, Vendor, Watts,
};

use wattspan_energy::{MemoryPower, MemorySize, PowerCurve, cpu_estimate, utilization_estimate};

use super::tree::{Host, Tree, find};
use crate::facts::CgroupCpu;
use crate::{ContainerRef, HostCollector, HostFacts, HostOptions, owner};

const ROOT: &str = "/fixture";

fn virtual_machine() -> Tree {
    Tree::machine("AuthenticAMD", "AMD EPYC", "hypervisor")
}

fn processes(host: &mut Host) -> Vec<ProcessUse> {
    let samples = host.tick();
    let cpu = samples.into_iter().find(|sample| sample.device.kind == DeviceKind::Cpu).unwrap();
    cpu.processes.value().unwrap()
}

fn busy(processes: &[ProcessUse], pid: u32) -> Reading<Duration> {
    processes.iter().find(|process| process.pid == pid).unwrap().busy.clone()
}

#[test]
fn case_cloud_01_no_powercap_on_a_virtual_machine() {
    let tree = virtual_machine();
    let mut host = tree.open();
    assert_eq!(host.collector.facts().virtual_machine, Some(true));
    let samples = host.tick();
    assert_eq!(samples.len(), 1);
    let cpu = find(&samples, "host:cpu");
    // No sensor is made up: energy and power are absent, and the CPU time for a labelled estimate is there.
    assert_eq!((&cpu.energy, &cpu.power), (&Reading::NotSupported, &Reading::NotSupported));
    assert_eq!((cpu.device.counter, cpu.device.power), (None, None));
    assert!(cpu.device.note.as_deref().unwrap().contains("virtual machine"));
    assert_eq!(cpu.device.vendor, Vendor::Amd);
    assert!(cpu.gauges.cpu_busy.is_value());
}

#[test]
fn case_cloud_05_nothing_but_the_users_figure_enters() {
    let tree = virtual_machine();
    let mut host = tree.open();
    for (seconds, joules) in [(10.0, 750.0), (60.0, 4_500.0), (61.7, 4_627.5)] {
        let length = Duration::from_secs_f64(seconds);
        tree.cpu((seconds * 37.0) as u64, 5_000);
        let samples = host.after(length);
        assert!(samples.iter().all(|sample| !sample.energy.is_value() && !sample.power.is_value()));
        // 150 W at 50 %, whatever the machine did.
        let curve = PowerCurve::proportional(Watts::whole(150)).unwrap();
        let estimate = utilization_estimate(curve, Ratio::share(0.5).unwrap(), length);
        assert_eq!(estimate.value.joules(), joules);
    }
}

#[test]
fn case_attribution_01_processes_never_use_more_than_the_host() {
    let tree = virtual_machine();
    let own = std::process::id();
    let other = own + 1;
    let mut host = tree.open();
    host.collector.watch(&[other]);
    tree.cpu(0, 0).process("self", own, 0, 10).process(&other.to_string(), other, 0, 20);
    let before = host.tick();
    // A 300, B 100 and idle 600 of a thousand ticks.
    tree.cpu(400, 600).process("self", own, 300, 10).process(&other.to_string(), other, 100, 20);
    let after = host.tick();
    let (before, after) = (find(&before, "host:cpu"), find(&after, "host:cpu"));
    let used = |pid: u32| {
        let at = |sample: &wattspan_core::DeviceSample| {
            busy(sample.processes.as_value().unwrap(), pid).value().unwrap()
        };
        at(after).checked_sub(at(before)).unwrap()
    };
    let cpu = |sample: &wattspan_core::DeviceSample| *sample.gauges.cpu_busy.as_value().unwrap();
    let machine = cpu(after).checked_sub(cpu(before)).unwrap();
    assert_eq!((used(own), used(other)), (Duration::from_secs(3), Duration::from_secs(1)));
    assert_eq!(used(own) + used(other), machine);
    assert_eq!(after.gauges.utilization, Reading::Value(Ratio::share(0.4).unwrap()));
    // 10 J: the busy four tenths go 3:1, the idle rest to nobody, and all of it adds up in whole microjoules.
    let microjoules = |time: Duration| 10_000_000 * time.as_millis() / 10_000;
    let (ours, others) = (microjoules(used(own)), microjoules(used(other)));
    assert_eq!((ours, others, 10_000_000 - ours - others), (3_000_000, 1_000_000, 6_000_000));
}

#[test]
fn case_attribution_05_only_watched_processes_are_named() {
    let tree = virtual_machine();
    for pid in [100, 200, 300] {
        tree.process(&pid.to_string(), pid, 50, 5);
    }
    let mut host = tree.open();
    host.collector.watch(&[200]);
    let found: Vec<u32> = processes(&mut host).iter().map(|process| process.pid).collect();
    assert_eq!(found, [std::process::id(), 200]);
    host.collector.watch(&[]);
    let found: Vec<u32> = processes(&mut host).iter().map(|process| process.pid).collect();
    assert_eq!(found, [std::process::id()]);
}

#[test]
fn a_number_given_to_another_process_is_not_the_old_one() {
    let tree = virtual_machine();
    tree.process("4242", 4_242, 100, 7_000);
    let mut host = tree.open();
    host.collector.watch(&[4_242]);
    assert_eq!(busy(&processes(&mut host), 4_242), Reading::Value(Duration::from_secs(1)));
    tree.process("4242", 4_242, 900, 8_000);
    for _ in 0..3 {
        let Reading::Failed(reason) = busy(&processes(&mut host), 4_242) else {
            panic!("it is another process")
        };
        assert!(reason.as_str().contains("another's"));
        // Naming the same list again does not make the new process the old one.
        host.collector.watch(&[4_242]);
    }
    host.collector.watch(&[]);
    host.collector.watch(&[4_242]);
    assert_eq!(busy(&processes(&mut host), 4_242), Reading::Value(Duration::from_secs(9)));
}

#[test]
fn a_process_that_ended_is_failed_and_not_zero() {
    let tree = virtual_machine();
    tree.process("4242", 4_242, 100, 7_000);
    let mut host = tree.open();
    host.collector.watch(&[4_242, 4_243]);
    assert!(busy(&processes(&mut host), 4_242).is_value());
    assert_eq!(
        busy(&processes(&mut host), 4_243),
        Reading::failed("there is no process 4243, or /proc hides it (hidepid)")
    );
    tree.remove("proc/4242/stat");
    assert_eq!(busy(&processes(&mut host), 4_242), Reading::failed("the process has ended"));
    tree.refuse("proc/4243/stat", ErrorKind::PermissionDenied);
    let Reading::Denied(remedy) = busy(&processes(&mut host), 4_243) else { panic!("refused is denied") };
    assert!(remedy.as_str().contains("proc/4243/stat"));
}

#[test]
fn machine_wide_figures_stand_on_every_package_and_memory_on_the_first() {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    tree.zone("intel-rapl:0", "package-0", 1).zone("intel-rapl:1", "package-1", 2);
    let mut host = tree.open();
    let samples = host.tick();
    assert!(samples.iter().all(|sample| sample.gauges.cpu_busy.is_value() && sample.processes.is_value()));
    let used: Vec<_> = samples.iter().map(|sample| sample.gauges.memory_used.clone().value()).collect();
    assert_eq!(used, [Some(Bytes::new(12 << 30)), None]);
    assert_eq!(samples[0].gauges.memory_total, Reading::Value(Bytes::new(16 << 30)));
}

#[test]
fn a_tick_opens_no_file_again() {
    let tree = virtual_machine();
    tree.process("4242", 4_242, 100, 7_000);
    let mut host = tree.open();
    host.collector.watch(&[4_242]);
    host.tick();
    let before = tree.opens();
    for _ in 0..50 {
        host.after(Duration::from_millis(10));
    }
    assert_eq!(tree.opens(), before);
}

#[test]
fn utilization_stays_while_the_clock_does_not_tick() {
    let tree = virtual_machine();
    let mut host = tree.open();
    assert!(matches!(host.tick()[0].gauges.utilization, Reading::Failed(_)));
    tree.cpu(25, 75);
    let quarter = Reading::Value(Ratio::share(0.25).unwrap());
    assert_eq!(host.tick()[0].gauges.utilization, quarter);
    assert_eq!(host.tick()[0].gauges.utilization, quarter);
    tree.cpu(20, 90);
    assert!(matches!(host.tick()[0].gauges.utilization, Reading::Failed(_)));
}

#[test]
fn a_machine_that_shows_nothing_is_none_and_a_wrong_root_is_an_error() {
    let tree = Tree::default();
    tree.put("etc/hostname", "none\n");
    assert!(HostCollector::open_with(Arc::new(tree), Tree::options()).unwrap().is_none());
    let wrong = HostCollector::open_with(Arc::new(Tree::default()), Tree::options());
    let Err(OpenError::Broken { what, .. }) = wrong else { panic!("there is no such folder") };
    assert!(what.contains(ROOT));
}

#[test]
fn case_container_01_a_pid_is_looked_up_and_never_assumed() {
    let tree = virtual_machine();
    // Inside, number 28290 is another process: it is not taken for ours, and nobody named it.
    tree.process("28290", 28_290, 500, 3);
    let mut host = tree.open();
    let found = processes(&mut host);
    assert_eq!(found.iter().map(|process| process.pid).collect::<Vec<_>>(), [std::process::id()]);
    // With the host's pids visible, its control group names the container.
    let text =
        "0::/system.slice/docker-72e5a5ff5eef3c4222a6551b992b9360a99122f77d2229783f0ee0946dfd800e.scope\n";
    let container = ContainerRef::parse(text).unwrap();
    assert_eq!(
        container.container_id.as_deref(),
        Some("72e5a5ff5eef3c4222a6551b992b9360a99122f77d2229783f0ee0946dfd800e")
    );
}

fn memory(limit: &str) -> (Watts, Estimate) {
    let tree = virtual_machine();
    tree.put("proc/meminfo", "MemTotal: 1056964608 kB\nMemAvailable: 1000000000 kB\n");
    tree.put("proc/self/cgroup", "0::/\n");
    tree.put("sys/fs/cgroup/memory.max", limit);
    let facts = HostFacts::of(&tree, Path::new(ROOT));
    let power = MemoryPower::by_size(MemorySize::usable(facts.memory_total.unwrap(), facts.memory_limit));
    (power.typical(), power.over(Duration::from_secs(1)))
}

#[test]
fn case_container_03_the_limit_is_the_basis() {
    let (power, estimate) = memory("107374182400\n");
    assert_eq!(power.watts(), 37.5);
    assert!(estimate.basis.contains("cgroup limit"), "{}", estimate.basis);
    let (power, estimate) = memory("max\n");
    assert_eq!(power.watts(), 378.0);
    assert!(!estimate.basis.contains("cgroup limit"), "{}", estimate.basis);
}

#[test]
fn the_smallest_limit_on_the_way_up_holds() {
    let tree = virtual_machine();
    tree.put("proc/self/cgroup", "0::/a.slice/b.scope\n");
    tree.put("sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
    tree.put("sys/fs/cgroup/a.slice/memory.max", "4294967296\n");
    tree.put("sys/fs/cgroup/a.slice/b.scope/cpu.max", "400000 100000\n");
    tree.put("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
    let facts = HostFacts::of(&tree, Path::new(ROOT));
    assert_eq!((facts.memory_limit, facts.cpu_limit), (Some(Bytes::new(4 << 30)), Some(1.5)));
}

#[test]
fn version_1_limits_are_read_and_its_no_limit_is_none() {
    let tree = virtual_machine();
    tree.put("proc/self/cgroup", "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n");
    // The container sees its own group at the mount, not at its path on the host.
    tree.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    tree.put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
        .put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    let facts = HostFacts::of(&tree, Path::new(ROOT));
    assert_eq!((facts.memory_limit, facts.cpu_limit), (None, None));
    tree.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
    tree.put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    let facts = HostFacts::of(&tree, Path::new(ROOT));
    assert_eq!((facts.memory_limit, facts.cpu_limit), (Some(Bytes::new(1 << 30)), Some(2.5)));
}

#[test]
fn facts_feed_the_estimate() {
    let facts = HostFacts::of(&Tree::machine("GenuineIntel", "Xeon", "hypervisor"), Path::new(ROOT));
    assert_eq!((facts.logical_cpus, facts.physical_cores, facts.packages), (Some(2), Some(2), Some(1)));
    let power = facts.cpu_power.unwrap();
    // Sapphire Rapids: 1.0363 and 4.1605 W for each of two.
    assert_eq!((power.family, power.idle.watts(), power.full.watts()), ("Sapphire Rapids", 2.072_6, 8.321));
    assert_eq!(HostFacts::of(&Tree::default(), Path::new(ROOT)), HostFacts::default());
    // Half of two CPUs at work for ten seconds: halfway between the two figures.
    let curve = PowerCurve::new(power.idle, power.full).unwrap();
    let cpus = std::num::NonZeroU32::new(facts.logical_cpus.unwrap()).unwrap();
    let estimate = cpu_estimate(curve, Duration::from_secs(10), cpus, Duration::from_secs(10));
    assert_eq!(estimate.value, Joules::from_microjoules(51_968_000));
}

#[test]
fn the_own_groups_cpu_time_is_read_in_both_versions() {
    let tree = virtual_machine();
    let root = Path::new(ROOT);
    tree.put("proc/self/cgroup", "0::/docker/abc\n");
    tree.put("sys/fs/cgroup/docker/abc/cpu.stat", "usage_usec 2500000\nuser_usec 1\n");
    tree.put("sys/fs/cgroup/docker/abc/cgroup.events", "populated 1\n");
    let mut group = CgroupCpu::find(&tree, root).unwrap();
    assert_eq!(group.read(&tree), Reading::Value(Duration::from_millis(2_500)));
    tree.put("sys/fs/cgroup/docker/abc/cpu.stat", "nothing\n");
    assert!(matches!(group.read(&tree), Reading::Failed(_)));

    tree.put("proc/self/cgroup", "2:cpu,cpuacct:/docker/abc\n0::/\n");
    tree.put("sys/fs/cgroup/cpuacct/cpuacct.usage", "1500000000\n");
    let mut group = CgroupCpu::find(&tree, root).unwrap();
    assert_eq!(group.read(&tree), Reading::Value(Duration::from_millis(1_500)));
}

#[test]
fn the_root_group_is_the_machine_and_not_ours() {
    let tree = virtual_machine();
    tree.put("proc/self/cgroup", "0::/\n").put("sys/fs/cgroup/cpu.stat", "usage_usec 2500000\n");
    assert!(CgroupCpu::find(&tree, Path::new(ROOT)).is_none());
    tree.put("proc/self/cgroup", "2:cpuacct:/\n").put("sys/fs/cgroup/cpuacct/cpuacct.usage", "1\n");
    tree.put("sys/fs/cgroup/cpuacct/release_agent", "\n");
    assert!(CgroupCpu::find(&tree, Path::new(ROOT)).is_none());
}

/// A server on port 8080 of loopback with a forked worker, and another one on the network's side of that port.
fn servers() -> Tree {
    let tree = virtual_machine();
    let address = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let line = |address: String, inode: u32| {
        format!(
            "   0: {address}:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0 100 0 0 10 0\n"
        )
    };
    let head =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
    let table = head.to_owned() + &line(address([192, 168, 0, 7]), 901) + &line(address([127, 0, 0, 1]), 900);
    tree.put("proc/net/tcp", table).put("proc/net/tcp6", head);
    tree.put(
        "proc/net/unix",
        "Num RefCount Protocol Flags Type St Inode Path\n00000000239fd561: 00000002 00000000 00010000 0001 01   902 /run/llama.sock\n",
    );
    for (pid, start, inode) in [(30, 500, 901), (40, 900, 900), (50, 600, 900), (60, 100, 902)] {
        tree.process(&pid.to_string(), pid, 0, start);
        tree.link(&format!("proc/{pid}/fd/3"), &format!("socket:[{inode}]"));
        tree.link(&format!("proc/{pid}/fd/0"), "/dev/null");
    }
    tree
}

#[test]
fn a_server_is_found_by_its_port_and_its_socket() {
    let (tree, root) = (servers(), PathBuf::from(ROOT));
    // The listener on loopback is the one that a local client reaches; of its two holders the older one is the server.
    assert_eq!(owner::by_port(&tree, &root, 8_080), Reading::Value(50));
    assert_eq!(owner::by_socket(&tree, &root, Path::new("/run/llama.sock")), Reading::Value(60));
    assert!(matches!(owner::by_port(&tree, &root, 8_081), Reading::Failed(_)));
    assert!(matches!(owner::by_socket(&tree, &root, Path::new("/run/other.sock")), Reading::Failed(_)));
}

#[test]
fn a_server_of_another_user_is_denied() {
    let (tree, root) = (servers(), PathBuf::from(ROOT));
    for pid in [40, 50] {
        tree.remove(&format!("proc/{pid}/fd/3"));
        tree.remove(&format!("proc/{pid}/fd/0"));
        tree.refuse(&format!("proc/{pid}/fd"), ErrorKind::PermissionDenied);
    }
    let Reading::Denied(remedy) = owner::by_port(&tree, &root, 8_080) else {
        panic!("its files are refused")
    };
    assert!(remedy.as_str().contains("proc/40/fd"), "{remedy}");
    assert_eq!(owner::by_port(&Tree::default(), &root, 8_080), Reading::NotSupported);
}

#[test]
fn case_k8s_05_a_process_leads_to_its_container_or_to_a_failure() {
    let (tree, root) = (virtual_machine(), Path::new(ROOT));
    for (pid, path) in [
        (
            4_242,
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234.slice/cri-containerd-abcd.scope\n",
        ),
        (4_243, "0::/user.slice/user-1000.slice/session-2.scope\n"),
    ] {
        tree.process(&pid.to_string(), pid, 0, 5).put(&format!("proc/{pid}/cgroup"), path);
    }
    let found = owner::container(&tree, root, 4_242).value().unwrap().unwrap();
    assert_eq!((found.container_id.as_deref(), found.pod_uid.as_deref()), (Some("abcd"), Some("1234")));
    assert_eq!(owner::container(&tree, root, 4_243), Reading::Value(None));
    // Gone is not "outside containers", and neither is a number that was given away while its files were read.
    let gone = Reading::failed("the process has ended");
    assert_eq!(owner::container(&tree, root, 4_244), gone);
    let stat = "4242 (new) S 1 1 1 0 -1 4194560 9 0 0 0 0 0 0 0 20 0 9 0 99 99 11 1\n";
    tree.script_text("proc/4242/stat", stat);
    assert_eq!(owner::container(&tree, root, 4_242), gone);
    tree.refuse("proc/4243/cgroup", ErrorKind::PermissionDenied);
    assert!(matches!(owner::container(&tree, root, 4_243), Reading::Denied(_)));
}

#[test]
fn the_options_can_be_set_one_by_one() {
    let options = HostOptions { battery: true, ..HostOptions::default() };
    assert_eq!((options.root, options.core_zones, options.per_core), (PathBuf::from("/"), true, false));
}
