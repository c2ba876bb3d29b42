//! Names of IOReport's energy channels, and the energy of a part of the chip from them. Pure.
//!
//! A chip of one die has `CPU Energy`, `GPU Energy`, `ANE` and `DRAM`; one of two dies puts `DIE_0_` and `DIE_1_` before
//! each, and some have only a channel for each core. A die's own total and its cores are the same joules.
//!
//! [`AppleCollector`](crate::AppleCollector) leaves this to macmon. It is for tapes of channels and for readers of
//! IOReport.

use std::collections::BTreeMap;

use wattspan_core::Reading;

/// A part of an Apple chip that has energy channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChipPart {
    /// All CPU cores.
    Cpu,
    /// The GPU.
    Gpu,
    /// The Neural Engine.
    Npu,
    /// Memory.
    Dram,
}

/// What a channel's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelName {
    /// The part that it counts.
    pub part: ChipPart,
    /// The die, on chips of several.
    pub die: Option<u32>,
    /// Whether it counts the whole part of its die; else one core.
    pub whole: bool,
}

/// One channel of the group `Energy Model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnergyChannel<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its unit: `mJ`, `uJ` or `nJ`.
    pub unit: &'a str,
    /// Its count.
    pub value: u64,
}

/// Reads a channel's name; `None` when it is not one whose energy is known to be a part's own.
///
/// ```
/// use wattspan_apple::{ChipPart, channel_name};
///
/// let core = channel_name("DIE_1_EACC_CPU3").unwrap();
/// assert_eq!((core.part, core.die, core.whole), (ChipPart::Cpu, Some(1), false));
/// assert!(channel_name("DIE_0_CPU Energy").unwrap().whole);
/// assert_eq!(channel_name("EACC_CPU0_SRAM"), None);
/// ```
pub fn channel_name(name: &str) -> Option<ChannelName> {
    let (die, rest) = match name.strip_prefix("DIE_").and_then(|rest| rest.split_once('_')) {
        Some((die, rest)) => (Some(die.parse().ok()?), rest),
        None => (None, name),
    };
    let numbered = |prefix: &str| {
        rest.strip_prefix(prefix).is_some_and(|tail| tail.bytes().all(|b| b.is_ascii_digit() || b == b'_'))
    };
    let (part, whole) = match rest {
        "CPU Energy" => (ChipPart::Cpu, true),
        "GPU Energy" => (ChipPart::Gpu, true),
        _ if numbered("ANE") => (ChipPart::Npu, true),
        _ if numbered("DRAM") => (ChipPart::Dram, true),
        _ if is_core(rest) => (ChipPart::Cpu, false),
        _ => return None,
    };
    Some(ChannelName { part, die, whole })
}

/// Energy of a part over all dies.
///
/// **Unit** nanojoules, the finest that a channel has. **Absent** `NotSupported` when no channel of the part is known,
/// which is not zero; failed when a unit is not known.
pub fn channel_energy(channels: &[EnergyChannel<'_>], part: ChipPart) -> Reading<u64> {
    // By die: the sum of totals, if there are any, and the sum of cores.
    let mut dies: BTreeMap<Option<u32>, (Option<u64>, u64)> = BTreeMap::new();
    for channel in channels {
        let Some(name) = channel_name(channel.name).filter(|name| name.part == part) else {
            continue;
        };
        let nanojoules = match channel.unit.trim() {
            "mJ" => 1_000_000,
            "uJ" => 1_000,
            "nJ" => 1,
            unit => return Reading::failed(format!("channel {} counts in {unit:?}", channel.name)),
        };
        let energy = channel.value.saturating_mul(nanojoules);
        let (total, cores) = dies.entry(name.die).or_default();
        if name.whole {
            *total = Some(total.unwrap_or(0).saturating_add(energy));
        } else {
            *cores = cores.saturating_add(energy);
        }
    }
    // A total that names no die is that of the whole chip.
    if let Some((Some(total), _)) = dies.get(&None) {
        return Reading::Value(*total);
    }
    dies.into_values()
        .map(|(total, cores)| total.unwrap_or(cores))
        .reduce(u64::saturating_add)
        .map_or(Reading::NotSupported, Reading::Value)
}

/// Names of cores: `EACC_CPU0`, `PACC1_CPU3`, `EACC_ECPU0`, and without a cluster `PCPU5`, `PCPU1_CPU0`.
fn is_core(name: &str) -> bool {
    let kind = |text: &str| text.strip_prefix(['E', 'P', 'M', 'S']).map(str::to_owned);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let core = |text: &str| {
        let text = text.strip_prefix(['E', 'P', 'M', 'S']).unwrap_or(text);
        text.strip_prefix("CPU").is_some_and(digits)
    };
    let Some(rest) = kind(name) else { return false };
    if let Some(cluster) = rest.strip_prefix("ACC") {
        return cluster
            .split_once('_')
            .is_some_and(|(number, tail)| (number.is_empty() || digits(number)) && core(tail));
    }
    let Some(cpu) = rest.strip_prefix("CPU") else { return false };
    match cpu.split_once('_') {
        Some((number, tail)) => digits(number) && core(tail),
        None => digits(cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(name: &str, right: Option<(ChipPart, Option<u32>, bool)>) {
        assert_eq!(channel_name(name).map(|found| (found.part, found.die, found.whole)), right, "{name}");
    }

    #[test]
    fn names_of_every_family_are_known() {
        is("CPU Energy", Some((ChipPart::Cpu, None, true)));
        is("GPU Energy", Some((ChipPart::Gpu, None, true)));
        is("ANE", Some((ChipPart::Npu, None, true)));
        is("ANE0_1", Some((ChipPart::Npu, None, true)));
        is("DIE_1_ANE0", Some((ChipPart::Npu, Some(1), true)));
        is("DRAM0", Some((ChipPart::Dram, None, true)));
        is("PACC1_CPU3", Some((ChipPart::Cpu, None, false)));
        is("PACC0_MCPU2", Some((ChipPart::Cpu, None, false)));
        is("DIE_0_PCPU1_CPU0", Some((ChipPart::Cpu, Some(0), false)));
    }

    #[test]
    fn what_repeats_another_channel_or_is_not_known_is_left_out() {
        for name in
            ["EACC_CPU0_SRAM", "PCPM", "EACC_CPU", "GPU SRAM", "DISP", "ANE RD", "DIE_x_CPU Energy", ""]
        {
            is(name, None);
        }
    }

    #[test]
    fn units_are_told_apart_and_an_unknown_one_is_said() {
        let channel = |unit| [EnergyChannel { name: "GPU Energy", unit, value: 7 }];
        assert_eq!(channel_energy(&channel("mJ"), ChipPart::Gpu), Reading::Value(7_000_000));
        assert_eq!(channel_energy(&channel("nJ"), ChipPart::Gpu), Reading::Value(7));
        assert!(channel_energy(&channel("kWh"), ChipPart::Gpu).absence().unwrap().contains("kWh"));
    }
}
