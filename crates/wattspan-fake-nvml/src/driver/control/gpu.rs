//! Lines that begin with `gpu`.

use super::super::Driver;
use super::super::device::{Device, Limits, MemoryUse, Mig, Pci, Process, ProcessKind, Slice};
use super::words::Words;
use super::{Wrong, error_rule, forgive, unknown};
use crate::model::{ModelError, PowerReading, PowerSensor, Preset, Profile, Utilisation};

/// Order of `nvmlClockType_t`.
const CLOCKS: [&str; 4] = ["graphics", "sm", "mem", "video"];
/// Order of `nvmlTemperatureThresholds_t`.
const THRESHOLDS: [&str; 8] = [
    "shutdown",
    "slowdown",
    "mem_max",
    "gpu_max",
    "acoustic_min",
    "acoustic_curr",
    "acoustic_max",
    "gps_curr",
];

impl Driver {
    pub(super) fn gpu_line(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        let which = words.word()?;
        let line = words.rest();
        let slots = if which == "all" {
            0..self.devices.len()
        } else {
            let slot: usize = which.parse().map_err(|_| format!("{which} is no GPU"))?;
            slot..slot + 1
        };
        for slot in slots {
            let mut words = Words::new(line, words.at);
            let command = words.word()?;
            let device = self.devices.get_mut(slot).ok_or_else(|| format!("no GPU {slot}"))?;
            match command {
                "lost" => {
                    device.lost = true;
                    device.epoch += 1;
                }
                "return" => self.return_gpu(slot, &mut words)?,
                command => device_line(device, command, &mut words)?,
            }
            words.end()?;
        }
        Ok(())
    }

    /// `return [index K] [keep]`: the board is back, its counter at nought unless kept.
    fn return_gpu(&mut self, slot: usize, words: &mut Words<'_>) -> Result<(), Wrong> {
        let mut keep = false;
        while let Some(word) = words.next() {
            match word {
                "keep" => keep = true,
                "index" => {
                    let index = words.number()? as usize;
                    self.order.retain(|&other| other != slot);
                    self.order.insert(index.min(self.order.len()), slot);
                }
                other => return Err(unknown(other)),
            }
        }
        let device = &mut self.devices[slot];
        device.lost = false;
        device.epoch += 1;
        if !keep {
            device.power.reset_counter(words.at);
        }
        Ok(())
    }
}

fn device_line(device: &mut Device, command: &str, words: &mut Words<'_>) -> Result<(), Wrong> {
    match command {
        "name" => words.rest().clone_into(&mut device.name),
        "uuid" => words.word()?.clone_into(&mut device.uuid),
        "serial" => device.serial = words.next().map(str::to_owned),
        "minor" => device.minor = words.small()?,
        "brand" => device.brand = words.small()?,
        "arch" => device.arch = words.small()?,
        "cc" => device.compute_capability = (words.small()? as i32, words.small()? as i32),
        "pci" => {
            let word = words.word()?;
            device.pci = Pci::parse(word).ok_or_else(|| format!("{word} is no PCI address"))?;
        }
        "preset" => {
            let word = words.word()?;
            let preset = Preset::parse(word).ok_or_else(|| format!("no preset {word}"))?;
            device.arch = preset.arch();
            device.compute_capability = preset.compute_capability();
            device.power.set_preset(preset);
        }
        "idle" => set_profile(device, &Profile::Constant { watts: words.decimal()? }, words.at)?,
        "profile" => {
            let profile = profile(words)?;
            set_profile(device, &profile, words.at)?;
        }
        "load" => load(device, words)?,
        "counter" => counter(device, words)?,
        "module" => device.power.set_module_watts(words.decimal()?).map_err(wrong)?,
        "sensor" => sensor(device, words)?,
        "util" => utilisation(device, words)?,
        "memory" => {
            device.memory =
                MemoryUse { total: words.number()?, reserved: words.number()?, used: words.number()? };
        }
        "temp" => {
            let word = words.word()?;
            device.temperature = word.parse().map_err(|_| format!("{word} is no temperature"))?;
            device.memory_temperature =
                words.next().map(str::parse).transpose().map_err(|_| "no temperature")?;
        }
        "threshold" => {
            let kind = position(&THRESHOLDS, words.word()?)?;
            device.thresholds[kind] = match words.word()? {
                "off" => None,
                word => Some(word.parse().map_err(|_| format!("{word} is no temperature"))?),
            };
        }
        "limit" => limit(&mut device.limit, words)?,
        "clock" => {
            let kind = position(&CLOCKS, words.word()?)?;
            device.clocks[kind] = (words.small()?, words.small()?);
        }
        "reasons" => device.event_reasons = words.number()?,
        "fan" => {
            device.fans.clear();
            while let Some(word) = words.next() {
                if word != "off" {
                    device.fans.push(word.parse().map_err(|_| format!("{word} is no percentage"))?);
                }
            }
        }
        "pstate" => device.performance_state = words.small()?,
        "pcie" => pcie(device, words)?,
        "ecc" => {
            device.ecc = match words.word()? {
                "off" => None,
                word => {
                    let corrected = word.parse().map_err(|_| format!("{word} is no whole number"))?;
                    Some((corrected, words.number()?))
                }
            };
        }
        "proc" => process(device, words)?,
        "mig" => mig(device, words)?,
        "err" => device.errors.push(error_rule(words)?),
        "ok" => forgive(&mut device.errors, words.word()?),
        other => return Err(unknown(other)),
    }
    Ok(())
}

fn wrong(error: ModelError) -> Wrong {
    error.to_string()
}

fn position(names: &[&str], word: &str) -> Result<usize, Wrong> {
    names.iter().position(|name| *name == word).ok_or_else(|| unknown(word))
}

fn set_profile(device: &mut Device, profile: &Profile, at: u64) -> Result<(), Wrong> {
    device.power.set_profile(at, profile).map_err(wrong)
}

fn profile(words: &mut Words<'_>) -> Result<Profile, Wrong> {
    Ok(match words.word()? {
        "constant" => Profile::Constant { watts: words.decimal()? },
        "ramp" => Profile::Ramp {
            from: words.decimal()?,
            to: words.decimal()?,
            begin_us: words.number()?,
            end_us: words.number()?,
        },
        "square" => Profile::Square {
            low: words.decimal()?,
            high: words.decimal()?,
            period_us: words.number()?,
            duty: words.decimal_or(0.5)?,
            phase_us: words.number_or(0)?,
        },
        "burst" => Profile::Burst {
            base: words.decimal()?,
            high: words.decimal()?,
            begin_us: words.number()?,
            length_us: words.number()?,
        },
        "steps" => Profile::Steps(pairs(words)?),
        "points" => Profile::Points(pairs(words)?),
        other => return Err(unknown(other)),
    })
}

fn pairs(words: &mut Words<'_>) -> Result<Vec<(u64, f64)>, Wrong> {
    let mut pairs = Vec::new();
    while let Some(word) = words.next() {
        let pair =
            word.split_once(':').and_then(|(time, watts)| Some((time.parse().ok()?, watts.parse().ok()?)));
        pairs.push(pair.ok_or_else(|| format!("{word} is not TIME:WATTS"))?);
    }
    Ok(pairs)
}

fn load(device: &mut Device, words: &mut Words<'_>) -> Result<(), Wrong> {
    match words.word()? {
        "add" => {
            let (id, begin) = (words.word()?, words.time()?);
            let end = words.time_or_open()?;
            let (watts, tail) = (words.decimal()?, words.number_or(0)?);
            device.power.add_load(id, begin, end, watts, tail).map_err(wrong)
        }
        "begin" => {
            let (id, watts, begin) = (words.word()?, words.decimal()?, words.time_or_now()?);
            device.power.add_load(id, begin, None, watts, 0).map_err(wrong)
        }
        "end" => {
            let (id, tail, end) = (words.word()?, words.number_or(0)?, words.time_or_now()?);
            device.power.end_load(id, end, tail).map_err(wrong)
        }
        "forget" => {
            device.power.forget_before(words.time_or_now()?);
            Ok(())
        }
        other => Err(unknown(other)),
    }
}

fn counter(device: &mut Device, words: &mut Words<'_>) -> Result<(), Wrong> {
    let power = &mut device.power;
    match words.word()? {
        "on" => power.set_counter_supported(true),
        "off" => power.set_counter_supported(false),
        "refresh" => power.set_counter_refresh(words.number()?, words.number_or(0)?),
        "quantum" => power.set_counter_quantum(words.number()?),
        "start" => power.set_counter_start(words.number()?),
        "gain" => power.set_counter_gain(words.decimal()?).map_err(wrong)?,
        "reset" => power.reset_counter(words.at),
        "freeze" => power.freeze_counter(words.at),
        "thaw" => power.thaw_counter(words.at),
        "wrap" => {
            let word = words.word()?;
            let wrap = word.parse().map(Some).or_else(|_| if word == "off" { Ok(None) } else { Err(()) });
            power.set_counter_wrap(wrap.map_err(|()| format!("{word} is no whole number"))?);
        }
        other => return Err(unknown(other)),
    }
    Ok(())
}

/// `sensor usage|average|instant off|exact|[update US] [window US] [phase US]` or `sensor gain F`.
fn sensor(device: &mut Device, words: &mut Words<'_>) -> Result<(), Wrong> {
    let reading = match words.word()? {
        "usage" => PowerReading::Usage,
        "average" => PowerReading::Average,
        "instant" => PowerReading::Instant,
        "gain" => return device.power.set_power_gain(words.decimal()?).map_err(wrong),
        other => return Err(unknown(other)),
    };
    let mut sensor = Some(PowerSensor::EXACT);
    while let Some(word) = words.next() {
        match (word, &mut sensor) {
            ("off", sensor) => *sensor = None,
            ("exact", sensor) => *sensor = Some(PowerSensor::EXACT),
            ("update", Some(sensor)) => sensor.update_us = words.number()?,
            ("window", Some(sensor)) => sensor.window_us = words.number()?,
            ("phase", Some(sensor)) => sensor.phase_us = words.number()?,
            (other, _) => return Err(unknown(other)),
        }
    }
    device.power.set_sensor(reading, sensor);
    Ok(())
}

fn utilisation(device: &mut Device, words: &mut Words<'_>) -> Result<(), Wrong> {
    let utilisation = match words.word()? {
        "fixed" => Utilisation::Fixed { gpu: words.small()?, memory: words.small()? },
        "loads" => Utilisation::Loads {
            window_us: words.number_or(1_000_000)?,
            update_us: words.number_or(0)?,
            memory_share: words.decimal_or(0.5)?,
        },
        other => return Err(unknown(other)),
    };
    device.power.set_utilisation(utilisation);
    Ok(())
}

/// `limit WATTS [min W] [max W] [default W] [enforced W]`.
fn limit(limits: &mut Limits, words: &mut Words<'_>) -> Result<(), Wrong> {
    limits.current = milliwatts(words)?;
    limits.enforced = limits.current;
    limits.max = limits.max.max(limits.current);
    limits.min = limits.min.min(limits.current);
    while let Some(word) = words.next() {
        let field = match word {
            "min" => &mut limits.min,
            "max" => &mut limits.max,
            "default" => &mut limits.default,
            "enforced" => &mut limits.enforced,
            other => return Err(unknown(other)),
        };
        *field = milliwatts(words)?;
    }
    Ok(())
}

fn milliwatts(words: &mut Words<'_>) -> Result<u32, Wrong> {
    crate::model::check_watts(words.decimal()?).map_err(wrong).map(|nanowatts| (nanowatts / 1_000_000) as u32)
}

fn pcie(device: &mut Device, words: &mut Words<'_>) -> Result<(), Wrong> {
    while let Some(word) = words.next() {
        let field = match word {
            "tx" => &mut device.pcie.tx_kib,
            "rx" => &mut device.pcie.rx_kib,
            "replay" => &mut device.pcie.replays,
            "gen" => &mut device.pcie.generation,
            "width" => &mut device.pcie.width,
            other => return Err(unknown(other)),
        };
        *field = words.small()?;
    }
    Ok(())
}

/// `proc add PID BYTES|na [kind C|G|M] [gi N] [ci N] [util SM MEM]`, `proc del PID`, `proc clear`.
fn process(device: &mut Device, words: &mut Words<'_>) -> Result<(), Wrong> {
    match words.word()? {
        "clear" => device.processes.clear(),
        "del" => {
            let pid = words.small()?;
            device.processes.retain(|process| process.pid != pid);
        }
        "add" => {
            let pid = words.small()?;
            let memory = match words.word()? {
                "na" => None,
                word => Some(word.parse().map_err(|_| format!("{word} is no number of bytes"))?),
            };
            let mut process = Process {
                pid,
                memory,
                kind: ProcessKind::Compute,
                gpu_instance: None,
                compute_instance: None,
                utilisation: None,
            };
            while let Some(word) = words.next() {
                match word {
                    "kind" => {
                        process.kind = match words.word()? {
                            "C" => ProcessKind::Compute,
                            "G" => ProcessKind::Graphics,
                            "M" => ProcessKind::Mps,
                            other => return Err(unknown(other)),
                        };
                    }
                    "gi" => process.gpu_instance = Some(words.small()?),
                    "ci" => process.compute_instance = Some(words.small()?),
                    "util" => process.utilisation = Some((words.small()?, words.small()?)),
                    other => return Err(unknown(other)),
                }
            }
            device.processes.push(process);
        }
        other => return Err(unknown(other)),
    }
    Ok(())
}

/// A handle has eight bits for the MIG device; none of seven that live comes near one that went so long ago.
const MOST_SERIALS: usize = 250;

fn mig(device: &mut Device, words: &mut Words<'_>) -> Result<(), Wrong> {
    match words.word()? {
        "unsupported" => device.mig = Mig::Unsupported,
        "off" => device.mig = Mig::Disabled,
        "on" => device.mig = Mig::Enabled(Vec::new()),
        "add" => {
            let total = words.number()?;
            let Mig::Enabled(slices) = &mut device.mig else { return Err("MIG is not on".to_owned()) };
            let index = slices.len() as u32;
            // Seven is the most that any board takes, and handles have room for more.
            if index >= 7 {
                return Err("at most 7 MIG devices".to_owned());
            }
            let parent = device.uuid.rsplit('-').next().unwrap_or("0");
            device.slices_made += 1;
            let mut slice = Slice {
                serial: device.slices_made % MOST_SERIALS,
                name: None,
                uuid: format!("MIG-fa4e0000-0000-4000-8{index:03}-{parent:0>12}"),
                gpu_instance: index + 1,
                compute_instance: 0,
                memory: MemoryUse { total, reserved: 0, used: 0 },
                multiprocessors: 14,
                gpu_slices: 1,
                compute_slices: 1,
                errors: Vec::new(),
            };
            while let Some(word) = words.next() {
                match word {
                    "gi" => slice.gpu_instance = words.small()?,
                    "ci" => slice.compute_instance = words.small()?,
                    "uuid" => words.word()?.clone_into(&mut slice.uuid),
                    "used" => slice.memory.used = words.number()?,
                    "reserved" => slice.memory.reserved = words.number()?,
                    "sms" => slice.multiprocessors = words.small()?,
                    "slices" => {
                        slice.gpu_slices = words.small()?;
                        slice.compute_slices = slice.gpu_slices;
                    }
                    "name" => slice.name = Some(words.rest().to_owned()),
                    other => return Err(unknown(other)),
                }
            }
            slices.push(slice);
        }
        "remove" => {
            let index = words.number()? as usize;
            let Mig::Enabled(slices) = &mut device.mig else { return Err("MIG is not on".to_owned()) };
            if index >= slices.len() {
                return Err(format!("no MIG device {index}"));
            }
            slices.remove(index);
        }
        which => {
            let index: usize = which.parse().map_err(|_| unknown(which))?;
            let Mig::Enabled(slices) = &mut device.mig else { return Err("MIG is not on".to_owned()) };
            let slice = slices.get_mut(index).ok_or_else(|| format!("no MIG device {index}"))?;
            match words.word()? {
                "err" => slice.errors.push(error_rule(words)?),
                "ok" => forgive(&mut slice.errors, words.word()?),
                "memory" => {
                    slice.memory = MemoryUse {
                        total: words.number()?,
                        reserved: words.number()?,
                        used: words.number()?,
                    };
                }
                other => return Err(unknown(other)),
            }
        }
    }
    Ok(())
}
