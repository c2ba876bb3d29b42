//! Watts per logical CPU by processor family, for machines without a sensor. Figures of a table, not of this machine.
//!
//! **Source** Cloud Carbon Footprint, `ccf-coefficients` at b0032d92, `output/coefficients-aws-use.csv`, and
//! `cloud-carbon-footprint` at b7a049c7, `AwsFootprintEstimationConstants.ts` (Apache-2.0; see NOTICE), which derived
//! them from SPECpower results of servers. Its figure for EPYC of the fifth generation is four times its neighbours'
//! and is left out as an outlier.

use wattspan_core::Watts;

use crate::procfs::CpuInfo;

/// What the CPUs of this machine may draw, by a table.
///
/// **Range** idle to full load of all logical CPUs. On a virtual machine those are its own share of the host.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CpuPower {
    /// With nothing to do.
    pub idle: Watts,
    /// At full load.
    pub full: Watts,
    /// Which entry of the table it is, such as `Cascade Lake`.
    pub family: &'static str,
}

impl CpuPower {
    /// The table's figures for a processor; an average of servers where its family is not in the table.
    pub(crate) fn of(info: &CpuInfo) -> Option<Self> {
        if info.logical == 0 {
            return None;
        }
        let family = family(info);
        let (family, idle, full) =
            TABLE.into_iter().find(|(name, ..)| Some(*name) == family).unwrap_or(AVERAGE);
        let all = f64::from(info.logical);
        Some(Self { idle: Watts::new(idle * all)?, full: Watts::new(full * all)?, family })
    }
}

/// The processor family, by the numbers that CPUID gives (Linux, `arch/x86/include/asm/intel-family.h` and
/// `arch/x86/kernel/cpu/amd.c`) or ARM's part number.
fn family(info: &CpuInfo) -> Option<&'static str> {
    if let Some((implementer, part)) = info.arm_part {
        return match (implementer, part) {
            (0x41, 0xd0c) => Some("Graviton2"),
            (0x41, 0xd40) => Some("Graviton3"),
            (0x41, 0xd4f) => Some("Graviton4"),
            _ => None,
        };
    }
    let stepping = info.stepping.unwrap_or(0);
    match (info.vendor_id.as_deref()?, info.family?, info.model?) {
        ("GenuineIntel", 6, 0x2d) => Some("Sandy Bridge"),
        ("GenuineIntel", 6, 0x3e) => Some("Ivy Bridge"),
        ("GenuineIntel", 6, 0x3f) => Some("Haswell"),
        ("GenuineIntel", 6, 0x4f | 0x56) => Some("Broadwell"),
        ("GenuineIntel", 6, 0x55) if stepping >= 5 => Some("Cascade Lake"),
        ("GenuineIntel", 6, 0x55) => Some("Skylake"),
        ("GenuineIntel", 6, 0x9e) if stepping >= 10 => Some("Coffee Lake"),
        ("GenuineIntel", 6, 0x6a | 0x6c) => Some("Ice Lake"),
        ("GenuineIntel", 6, 0x8f) => Some("Sapphire Rapids"),
        ("GenuineIntel", 6, 0xcf) => Some("Emerald Rapids"),
        ("GenuineIntel", 6, 0xad | 0xae) => Some("Granite Rapids"),
        ("AuthenticAMD", 0x17, 0x01) => Some("EPYC 1st Gen"),
        ("AuthenticAMD", 0x17, 0x31) => Some("EPYC 2nd Gen"),
        ("AuthenticAMD", 0x19, 0x00..=0x0f) => Some("EPYC 3rd Gen"),
        ("AuthenticAMD", 0x19, 0x10..=0x1f | 0xa0..=0xaf) => Some("EPYC 4th Gen"),
        _ => None,
    }
}

/// Family, watts of one logical CPU when idle and at full load.
const TABLE: [(&str, f64, f64); 18] = [
    ("Sandy Bridge", 2.2122, 8.6309),
    ("Ivy Bridge", 1.7074, 5.5569),
    ("Haswell", 1.8574, 5.5954),
    ("Broadwell", 0.7128, 3.6853),
    ("Skylake", 0.613, 4.1042),
    ("Cascade Lake", 0.6903, 4.0632),
    ("Coffee Lake", 1.1384, 5.4218),
    ("Ice Lake", 0.7668, 3.7582),
    ("Sapphire Rapids", 1.0363, 4.1605),
    ("Emerald Rapids", 0.814, 4.482),
    ("Granite Rapids", 0.5816, 2.5275),
    ("EPYC 1st Gen", 0.8468, 2.6042),
    ("EPYC 2nd Gen", 0.4743, 1.693),
    ("EPYC 3rd Gen", 0.4556, 1.9573),
    ("EPYC 4th Gen", 0.7391, 2.2822),
    ("Graviton2", 0.4743, 1.693),
    ("Graviton3", 0.4743, 1.693),
    ("Graviton4", 0.4743, 1.693),
];

/// The source's mean over the servers of one provider, for what is not in the table.
const AVERAGE: (&str, f64, f64) = ("server average", 0.74, 3.5);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(vendor: &str, family: u32, model: u32, stepping: u32, name: &str) {
        let info = CpuInfo {
            vendor_id: Some(vendor.to_owned()),
            family: Some(family),
            model: Some(model),
            stepping: Some(stepping),
            logical: 8,
            ..CpuInfo::default()
        };
        assert_eq!(CpuPower::of(&info).unwrap().family, name);
    }

    #[test]
    fn a_family_goes_by_its_numbers() {
        check("GenuineIntel", 6, 85, 4, "Skylake");
        check("GenuineIntel", 6, 85, 7, "Cascade Lake");
        check("GenuineIntel", 6, 143, 8, "Sapphire Rapids");
        check("AuthenticAMD", 25, 17, 1, "EPYC 4th Gen");
        check("AuthenticAMD", 26, 2, 1, "server average");
        check("Unheard", 1, 1, 1, "server average");
    }

    #[test]
    fn power_is_that_of_all_logical_cpus() {
        let info = CpuInfo { logical: 10, ..CpuInfo::default() };
        let power = CpuPower::of(&info).unwrap();
        assert_eq!((power.idle.watts(), power.full.watts()), (7.4, 35.0));
        assert_eq!(CpuPower::of(&CpuInfo::default()), None);
    }
}
