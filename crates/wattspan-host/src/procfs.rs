//! Texts of `/proc` to facts. Pure: knows no path and opens nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use wattspan_core::{Bytes, Vendor};

/// CPU time of the whole machine, in clock ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// User, nice, system, interrupts. Guests are inside user and nice; time stolen by the hypervisor is not ours.
    pub(crate) busy: u64,
    /// Busy, idle, waiting for I/O, stolen.
    pub(crate) all: u64,
}

/// CPU time of one process and when that process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessTicks {
    /// Number of the process, as its own `/proc` counts.
    pub(crate) pid: u32,
    /// User and system time of all its threads.
    pub(crate) busy: u64,
    /// Ticks from boot to its start. With the process id it names a process for good.
    pub(crate) start: u64,
}

/// What `/proc/meminfo` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: Option<Bytes>,
    pub(crate) available: Option<Bytes>,
}

/// What `/proc/cpuinfo` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuInfo {
    pub(crate) vendor_id: Option<String>,
    pub(crate) model_name: Option<String>,
    pub(crate) family: Option<u32>,
    pub(crate) model: Option<u32>,
    pub(crate) stepping: Option<u32>,
    /// ARM: implementer and part number.
    pub(crate) arm_part: Option<(u32, u32)>,
    pub(crate) logical: u32,
    pub(crate) cores: Option<u32>,
    pub(crate) packages: Option<u32>,
    pub(crate) hypervisor: bool,
}

impl CpuInfo {
    pub(crate) fn vendor(&self) -> Vendor {
        match self.vendor_id.as_deref() {
            Some("GenuineIntel") => Vendor::Intel,
            Some("AuthenticAMD") => Vendor::Amd,
            _ if self.arm_part.is_some_and(|(implementer, _)| implementer == ARM_IMPLEMENTER_APPLE) => {
                Vendor::Apple
            }
            _ => Vendor::Unknown,
        }
    }
}

/// Time of a number of clock ticks; `None` past 584 years.
pub(crate) fn ticks_to_time(ticks: u64) -> Option<Duration> {
    let nanos = ticks.checked_mul(1_000_000_000 / TICKS_PER_SECOND)?;
    Some(Duration::from_nanos(nanos))
}

/// The first line of `/proc/stat`.
pub(crate) fn cpu_ticks(stat: &[u8]) -> Option<CpuTicks> {
    let line = stat.split(|byte| *byte == b'\n').next()?;
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    if fields.next()? != "cpu" {
        return None;
    }
    // user nice system idle iowait irq softirq steal; kernels before 2.6 end after idle.
    let mut ticks = [0_u64; 8];
    let mut count = 0;
    for (slot, field) in ticks.iter_mut().zip(fields) {
        *slot = field.parse().ok()?;
        count += 1;
    }
    if count < 4 {
        return None;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let sum = |parts: &[u64]| parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part));
    let busy = sum(&[user, nice, system, irq, softirq])?;
    Some(CpuTicks { busy, all: sum(&[busy, idle, iowait, steal])? })
}

/// `/proc/<pid>/stat`.
pub(crate) fn process_ticks(stat: &[u8]) -> Option<ProcessTicks> {
    // The name is in brackets and may hold spaces, brackets and line breaks itself: the last bracket ends it.
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = crate::files::parse_number(&stat[..open])?;
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    // Field 3 is the first of the rest: 14 and 15 are user and system time, 22 the start.
    let mut fields = rest.split_ascii_whitespace().skip(14 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let start: u64 = fields.nth(22 - 16)?.parse().ok()?;
    Some(ProcessTicks { pid: u32::try_from(pid).ok()?, busy: user.checked_add(system)?, start })
}

/// `/proc/meminfo`.
pub(crate) fn memory(meminfo: &str) -> Memory {
    let mut memory = Memory::default();
    for line in meminfo.lines() {
        let slot = match line.split_once(':') {
            Some(("MemTotal", rest)) => (&mut memory.total, rest),
            Some(("MemAvailable", rest)) => (&mut memory.available, rest),
            _ => continue,
        };
        // The file says kB and means KiB (proc(5)).
        let kibibytes: Option<u64> =
            slot.1.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
        *slot.0 = kibibytes.and_then(|kibibytes| kibibytes.checked_mul(1_024)).map(Bytes::new);
    }
    memory
}

/// `/proc/cpuinfo`.
pub(crate) fn cpu_info(cpuinfo: &str) -> CpuInfo {
    let mut info = CpuInfo::default();
    let (mut packages, mut cores) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    let (mut package, mut implementer, mut part) = (None, None, None);
    for line in cpuinfo.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        let first = |slot: &mut Option<String>| {
            if slot.is_none() && !value.is_empty() {
                *slot = Some(value.chars().take(128).collect());
            }
        };
        match key.trim() {
            "processor" if value.parse::<u32>().is_ok() => {
                info.logical += 1;
                package = None;
            }
            "vendor_id" => first(&mut info.vendor_id),
            "model name" | "Model" | "cpu model" => first(&mut info.model_name),
            "cpu family" => info.family = info.family.or(value.parse().ok()),
            "model" => info.model = info.model.or(value.parse().ok()),
            "stepping" => info.stepping = info.stepping.or(value.parse().ok()),
            "physical id" => {
                package = value.parse::<u32>().ok();
                packages.extend(package);
            }
            "core id" => {
                if let Ok(core) = value.parse::<u32>() {
                    cores.insert((package, core));
                }
            }
            "flags" | "Features" => {
                info.hypervisor |= value.split_ascii_whitespace().any(|flag| flag == "hypervisor");
            }
            "CPU implementer" => implementer = implementer.or(hexadecimal(value)),
            "CPU part" => part = part.or(hexadecimal(value)),
            _ => {}
        }
    }
    info.arm_part = implementer.zip(part);
    info.packages = (!packages.is_empty()).then_some(packages.len() as u32);
    info.cores = (!cores.is_empty()).then_some(cores.len() as u32);
    info
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// A TCP socket that listens, out of `/proc/net/tcp` or `/proc/net/tcp6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    pub(crate) inode: u64,
}

/// All listening sockets of `/proc/net/tcp` or `/proc/net/tcp6`.
pub(crate) fn listeners(table: &str) -> impl Iterator<Item = Listener> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (address, port) = fields.nth(1)?.split_once(':')?;
        let state = fields.nth(1)?;
        if state != TCP_LISTEN {
            return None;
        }
        let inode = fields.nth(9 - 4)?.parse().ok()?;
        Some(Listener { address: address_of(address)?, port: u16::from_str_radix(port, 16).ok()?, inode })
    })
}

/// Addresses are written as 32-bit words in the machine's byte order.
fn address_of(text: &str) -> Option<IpAddr> {
    let word =
        |range: std::ops::Range<usize>| u32::from_str_radix(text.get(range)?, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0..8)?))),
        32 => {
            let mut bytes = [0; 16];
            for (index, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(index * 8..index * 8 + 8)?);
            }
            Some(IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical())
        }
        _ => None,
    }
}

/// Inodes of the listening Unix sockets with a path, out of `/proc/net/unix`.
pub(crate) fn unix_listeners(table: &str, path: &str) -> Vec<u64> {
    let inode = |line: &str| {
        // Num RefCount Protocol Flags Type St Inode Path: the path may hold spaces and is the rest.
        let mut rest = line;
        let mut fields = [""; 7];
        for field in &mut fields {
            let (word, behind) = rest.trim_start().split_once(' ')?;
            (*field, rest) = (word, behind);
        }
        let accepts = u32::from_str_radix(fields[3], 16).ok()? & SO_ACCEPTCON != 0;
        (accepts && rest.trim_start() == path).then(|| fields[6].parse().ok())?
    };
    table.lines().skip(1).filter_map(inode).collect()
}

/// Inode of a socket out of a link such as `socket:[12345]` in `/proc/<pid>/fd`.
pub(crate) fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// `USER_HZ`: part of Linux's interface to programs and 100 on every architecture but the retired Alpha and Itanium
/// (`include/asm-generic/param.h`), whatever rate the kernel itself ticks at.
const TICKS_PER_SECOND: u64 = 100;

/// `TCP_LISTEN` of `include/net/tcp_states.h`, as the table writes it.
const TCP_LISTEN: &str = "0A";

/// Flag of a listening Unix socket (`__SO_ACCEPTCON`, `include/uapi/linux/net.h`).
const SO_ACCEPTCON: u32 = 1 << 16;

/// ARM's list of implementers in the main ID register.
const ARM_IMPLEMENTER_APPLE: u32 = 0x61;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_leaves_idle_waiting_stolen_and_guests_out() {
        // Guest time (last two) is inside user and nice already.
        let ticks = cpu_ticks(b"cpu  100 20 30 400 50 6 7 80 90 10\ncpu0 1 2 3 4\n").unwrap();
        assert_eq!(ticks, CpuTicks { busy: 163, all: 693 });
        assert_eq!(cpu_ticks(b"cpu 1 2 3\n"), None);
        assert_eq!(cpu_ticks(b"cpu0 1 2 3 4\n"), None);
        assert_eq!(cpu_ticks(b"cpu -1 2 3 4\n"), None);
        assert_eq!(cpu_ticks(b"cpu 18446744073709551615 2 3 4\n"), None);
    }

    #[test]
    fn a_process_name_with_brackets_does_not_move_the_fields() {
        let stat = b"4242 (a) R (b c) S 1 4242 4242 0 -1 4194560 1 2 3 4 250 50 7 8 20 0 9 0 123456 99 11\n";
        assert_eq!(process_ticks(stat), Some(ProcessTicks { pid: 4_242, busy: 300, start: 123_456 }));
        assert_eq!(process_ticks(b"4242 (a) S 1 2"), None);
        assert_eq!(process_ticks(b")("), None);
    }

    #[test]
    fn memory_is_in_kibibytes() {
        let memory = memory("MemTotal:       1056964608 kB\nMemFree: 5 kB\nMemAvailable:   4096 kB\n");
        assert_eq!(memory.total, Some(Bytes::new(1_008 << 30)));
        assert_eq!(memory.available, Some(Bytes::new(4 << 20)));
    }

    #[test]
    fn cores_are_counted_by_package() {
        let cpu = |processor: u32, package: u32, core: u32| {
            format!(
                "processor\t: {processor}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n\
                 model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\nstepping\t: 6\n\
                 physical id\t: {package}\ncore id\t\t: {core}\nflags\t\t: fpu vme\n\n"
            )
        };
        // Two packages of two cores with two threads each.
        let text: String = (0..8).map(|index| cpu(index, index / 2 % 2, index % 2)).collect();
        let info = cpu_info(&text);
        assert_eq!((info.logical, info.cores, info.packages), (8, Some(4), Some(2)));
        assert_eq!((info.vendor(), info.model, info.hypervisor), (Vendor::Intel, Some(106), false));
        assert_eq!(info.model_name.as_deref(), Some("Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"));
    }

    #[test]
    fn only_listening_sockets_are_taken() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 655 1 000000004ce2598a 100 0 0 10 0\n   \
            1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 656 1 000000004ce2598a 100 0 0 10 0\n";
        let found: Vec<Listener> = listeners(table).collect();
        // The fixture is a little-endian machine's.
        if cfg!(target_endian = "little") {
            let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
            assert_eq!(found, [Listener { address, port: 8_080, inode: 655 }]);
        }
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_unix_path_may_hold_spaces() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000239fd561: 00000002 00000000 00010000 0001 01   651 /run/my llama.sock\n\
            00000000239fd562: 00000003 00000000 00000000 0001 03   652 /run/my llama.sock\n\
            00000000239fd563: 00000003 00000000 00000000 0001 03   653\n";
        assert_eq!(unix_listeners(table, "/run/my llama.sock"), [651]);
        assert_eq!(unix_listeners(table, "/run/my"), [0_u64; 0]);
    }
}
