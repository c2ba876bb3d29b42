//! Every collector keeps the duties of the trait, each on its own kind of fake hardware.

use std::time::{Duration, SystemTime};

use wattspan_amd::{AmdCollector, AmdOptions};
use wattspan_apple::AppleCollector;
use wattspan_core::{Clock, Collector, ScriptedClock};
use wattspan_fake_nvml::FakeNvml;
use wattspan_host::{HostCollector, HostOptions};
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};
use wattspan_testkit::{FakeTree, conformance};

fn clock() -> ScriptedClock {
    ScriptedClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000))
}

#[test]
fn nvidia_keeps_the_duties_of_a_collector() {
    let driver = FakeNvml::builder().gpus(2).load().unwrap();
    driver.all_gpus().idle_watts(60.0).unwrap();
    let mut options = NvidiaOptions::default();
    options.library = Some(driver.path().to_owned());
    let clock = clock();
    conformance::collector(
        || Box::new(NvidiaCollector::open(&options).unwrap().expect("the fake driver has GPUs")),
        &clock,
        |clock: &ScriptedClock| {
            clock.advance(Duration::from_millis(100));
            driver.set_time_us(clock.mono().nanos() / 1_000).unwrap();
        },
    );
}

#[test]
fn nvidia_keeps_them_while_a_gpu_is_lost() {
    let driver = FakeNvml::builder().gpus(2).load().unwrap();
    let mut options = NvidiaOptions::default();
    options.library = Some(driver.path().to_owned());
    let clock = clock();
    let mut ticks = 0;
    conformance::collector(
        || {
            // Each round begins with both GPUs there.
            Box::new(NvidiaCollector::open(&options).unwrap().expect("the fake driver has GPUs"))
        },
        &clock,
        |clock: &ScriptedClock| {
            clock.advance(Duration::from_millis(100));
            driver.set_time_us(clock.mono().nanos() / 1_000).unwrap();
            ticks += 1;
            if ticks == 2 {
                driver.gpu(1).lose().unwrap();
            }
            if ticks == 4 {
                driver.gpu(1).return_at(None).unwrap();
            }
        },
    );
}

fn intel_server() -> FakeTree {
    let zone = "sys/class/powercap/intel-rapl/intel-rapl:0";
    FakeTree::new()
        .file(format!("{zone}/name"), "package-0\n")
        .file(format!("{zone}/energy_uj"), "1000000\n")
        .file(format!("{zone}/max_energy_range_uj"), "262143328850\n")
        .file(format!("{zone}/intel-rapl:0:0/name"), "dram\n")
        .file(format!("{zone}/intel-rapl:0:0/energy_uj"), "500000\n")
        .file(format!("{zone}/intel-rapl:0:0/max_energy_range_uj"), "65712999613\n")
        .file(
            "proc/stat",
            "cpu  100 0 50 1000 0 0 0 0 0 0\ncpu0 100 0 50 1000 0 0 0 0 0 0\nbtime 1700000000\n",
        )
        .file("proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n")
        .file("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Example CPU\n")
}

#[test]
fn host_keeps_the_duties_of_a_collector() {
    let tree = intel_server();
    let mut options = HostOptions::default();
    options.root = tree.root().to_owned();
    let clock = clock();
    let mut energy = 1_000_000_u64;
    conformance::collector(
        || Box::new(HostCollector::open(options.clone()).unwrap().expect("there is a CPU")),
        &clock,
        |clock: &ScriptedClock| {
            clock.advance(Duration::from_millis(100));
            energy += 4_000_000;
            tree.replace("sys/class/powercap/intel-rapl/intel-rapl:0/energy_uj", format!("{energy}\n"));
        },
    );
}

#[test]
fn amd_keeps_the_duties_of_a_collector() {
    let card = "sys/class/drm/card0/device";
    let tree = FakeTree::new()
        .file(format!("{card}/vendor"), "0x1002\n")
        .file(format!("{card}/device"), "0x73bf\n")
        .file(format!("{card}/uevent"), "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n")
        .file(format!("{card}/gpu_busy_percent"), "37\n")
        .file(format!("{card}/mem_info_vram_total"), "17163091968\n")
        .file(format!("{card}/mem_info_vram_used"), "1000000000\n")
        .file(format!("{card}/hwmon/hwmon3/name"), "amdgpu\n")
        .file(format!("{card}/hwmon/hwmon3/power1_average"), "45000000\n")
        .file(format!("{card}/hwmon/hwmon3/power1_cap"), "272000000\n");
    let mut options = AmdOptions::default();
    options.root = tree.root().to_owned();
    let clock = clock();
    let mut microwatts = 45_000_000_u64;
    conformance::collector(
        || Box::new(AmdCollector::open(&options).unwrap().expect("there is a card")),
        &clock,
        |clock: &ScriptedClock| {
            clock.advance(Duration::from_millis(100));
            microwatts += 1_000_000;
            tree.replace(format!("{card}/hwmon/hwmon3/power1_average"), format!("{microwatts}\n"));
        },
    );
}

#[test]
fn apple_keeps_the_duties_of_a_collector() {
    let text = "*** Sampled system activity (Mon Jan  1 00:00:00 2024 +0000) (1000.00ms elapsed) ***\n\n\
                CPU Power: 900 mW\nGPU Power: 150 mW\nANE Power: 0 mW\nCombined Power (CPU + GPU + ANE): 1050 mW\n\n";
    conformance::collector(
        || {
            Box::new(AppleCollector::from_powermetrics(std::io::Cursor::new(text.repeat(3))))
                as Box<dyn Collector>
        },
        &clock(),
        |clock: &ScriptedClock| clock.advance(Duration::from_millis(1_000)),
    );
}
