//! Which devices are meant: parses selections and finds them in a list. Pure.

use std::fmt;
use std::str::FromStr;

/// Which devices to read.
///
/// Parsed from text with [`str::parse`]: `all`, `none`, or a list of numbers, UUIDs and PCI addresses, separated by
/// commas.
///
/// ```
/// use wattspan_nvidia::Selection;
///
/// assert_eq!("1, 3".parse(), Ok(Selection::indices([1, 3])));
/// assert_eq!("none".parse(), Ok(Selection::None));
/// assert!("x".parse::<Selection>().unwrap_err().to_string().contains("\"x\""));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// Every device that the driver lists.
    #[default]
    All,
    /// None: the driver is not even loaded.
    None,
    /// These. One that is not there is an error.
    Only(Vec<DeviceName>),
    /// What CUDA programs see that have this list in `CUDA_VISIBLE_DEVICES`: the entries up to the first that names
    /// no device. Build it with [`Selection::cuda_visible_devices`].
    Cuda(Vec<DeviceName>),
}

/// One device of a [`Selection`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceName {
    /// Number, in the order of PCI addresses, as `nvidia-smi` counts.
    Index(u32),
    /// UUID of a GPU or a MIG device, or the unambiguous beginning of one, with its `GPU-` or `MIG-`.
    Uuid(String),
    /// MIG device as drivers before 470 name it: `MIG-GPU-<uuid>/<GPU instance>/<compute instance>`.
    Instance {
        /// UUID of the GPU.
        gpu: String,
        /// GPU instance.
        gpu_instance: u32,
        /// Compute instance.
        compute_instance: u32,
    },
    /// PCI address.
    Pci(PciAddress),
}

/// PCI address of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PciAddress {
    /// Domain.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device on the bus.
    pub device: u8,
}

/// A word that names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{word:?} names no device: give numbers, `GPU-…` or `MIG-…` UUIDs, or PCI addresses, separated by commas"
)]
pub struct InvalidSelection {
    /// The word.
    pub word: String,
}

impl Selection {
    /// These numbers.
    pub fn indices(indices: impl IntoIterator<Item = u32>) -> Self {
        Self::Only(indices.into_iter().map(DeviceName::Index).collect())
    }

    /// What a value of `CUDA_VISIBLE_DEVICES` means; `None` is an unset variable.
    ///
    /// Unset is every device, an empty list none. A negative number ends the list, as CUDA has it. Numbers follow
    /// the order of PCI addresses, which is CUDA's own only with `CUDA_DEVICE_ORDER=PCI_BUS_ID` or when all GPUs are
    /// of one model.
    ///
    /// # Errors
    /// When a word before the end of the list has none of CUDA's forms. (CUDA would silently see fewer devices.)
    pub fn cuda_visible_devices(value: Option<&str>) -> Result<Self, InvalidSelection> {
        let Some(value) = value else { return Ok(Self::All) };
        let mut names = Vec::new();
        for word in words(value) {
            if word.parse::<i64>().is_ok_and(|number| number < 0) || word.eq_ignore_ascii_case("NoDevFiles") {
                break;
            }
            let name: DeviceName = word.parse()?;
            if matches!(name, DeviceName::Pci(_)) {
                return Err(InvalidSelection { word: word.to_owned() });
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(if names.is_empty() { Self::None } else { Self::Cuda(names) })
    }

    /// What `CUDA_VISIBLE_DEVICES` of this process means.
    ///
    /// # Errors
    /// As [`Selection::cuda_visible_devices`]; a value that is not UTF-8 names no device either.
    pub fn from_env() -> Result<Self, InvalidSelection> {
        let value = std::env::var_os("CUDA_VISIBLE_DEVICES");
        Self::cuda_visible_devices(value.map(|value| value.to_string_lossy().into_owned()).as_deref())
    }

    /// Whether numbers are used that CUDA may count otherwise.
    pub(crate) fn counts_as_cuda(&self) -> bool {
        matches!(self, Self::Cuda(names) if names.iter().any(|name| matches!(name, DeviceName::Index(_))))
    }

    /// Whether the GPU at a position is meant as a whole, with the MIG devices that it has or gets.
    pub(crate) fn takes_whole(&self, list: &[Entry], at: usize) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(names) | Self::Cuda(names) => {
                let found = names.iter().map_while(|name| name.find(list));
                found.into_iter().any(|found| found == at)
            }
        }
    }

    /// Positions in `list` of the devices that are meant, ascending: a MIG device with its GPU, whose energy its own
    /// is a part of, and a GPU with its MIG devices.
    ///
    /// The error is the first name that is not there; a list for CUDA is an error only if nothing is left of it.
    pub(crate) fn resolve(&self, list: &[Entry]) -> Result<Vec<usize>, DeviceName> {
        let (names, lenient) = match self {
            Self::All => return Ok((0..list.len()).collect()),
            Self::None => return Ok(Vec::new()),
            Self::Only(names) => (names, false),
            Self::Cuda(names) => (names, true),
        };
        let mut found = vec![false; list.len()];
        for (position, name) in names.iter().enumerate() {
            let Some(at) = name.find(list) else {
                if lenient && position > 0 {
                    break;
                }
                return Err(name.clone());
            };
            found[at] = true;
            match list[at].parent {
                Some(parent) => found[parent] = true,
                None => {
                    for (slice, entry) in list.iter().enumerate() {
                        found[slice] |= entry.parent == Some(at);
                    }
                }
            }
        }
        Ok((0..list.len()).filter(|&at| found[at]).collect())
    }
}

/// The words of a list; brackets of a JSON or TOML array around it are let pass.
fn words(list: &str) -> impl Iterator<Item = &str> {
    let list = list.trim();
    let list = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(list);
    list.split(',').map(|word| word.trim().trim_matches('"')).filter(|word| !word.is_empty())
}

impl FromStr for Selection {
    type Err = InvalidSelection;

    fn from_str(text: &str) -> Result<Self, InvalidSelection> {
        match text.trim() {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            list => {
                let names = words(list).map(str::parse).collect::<Result<Vec<DeviceName>, _>>()?;
                Ok(if names.is_empty() { Self::None } else { Self::Only(names) })
            }
        }
    }
}

impl DeviceName {
    fn find(&self, list: &[Entry]) -> Option<usize> {
        let same = |entry: &Entry| match self {
            Self::Index(index) => entry.parent.is_none() && entry.index == Some(*index),
            Self::Uuid(uuid) => entry.uuid.as_deref().is_some_and(|full| full.eq_ignore_ascii_case(uuid)),
            Self::Pci(address) => entry.parent.is_none() && entry.pci == Some(*address),
            Self::Instance { gpu, gpu_instance, compute_instance } => {
                let parent = entry.parent.and_then(|parent| list.get(parent));
                parent.is_some_and(|parent| parent.uuid_begins(gpu))
                    && entry.instance == Some((*gpu_instance, *compute_instance))
            }
        };
        if let Some(at) = list.iter().position(same) {
            return Some(at);
        }
        // Whatever is not a whole UUID may be the beginning of one, if of one only.
        let Self::Uuid(prefix) = self else { return None };
        let mut beginning = (0..list.len()).filter(|&at| list[at].uuid_begins(prefix));
        let at = beginning.next()?;
        beginning.next().is_none().then_some(at)
    }
}

impl FromStr for DeviceName {
    type Err = InvalidSelection;

    fn from_str(word: &str) -> Result<Self, InvalidSelection> {
        let invalid = || InvalidSelection { word: word.to_owned() };
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return word.parse().map(Self::Index).map_err(|_| invalid());
        }
        let begins = |prefix: &str| {
            word.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
                && word.len() > prefix.len()
        };
        if begins("MIG-GPU-") || (begins("MIG-") && word.contains('/')) {
            let mut parts = word["MIG-".len()..].split('/');
            let gpu = parts.next().unwrap_or_default();
            let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or_else(invalid);
            let (gpu_instance, compute_instance) = (number()?, number()?);
            if parts.next().is_some() || gpu.is_empty() {
                return Err(invalid());
            }
            return Ok(Self::Instance { gpu: gpu.to_owned(), gpu_instance, compute_instance });
        }
        if begins("GPU-") || begins("MIG-") {
            let (_, uuid) = word.split_at("GPU-".len());
            let right = uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
            return if right { Ok(Self::Uuid(word.to_owned())) } else { Err(invalid()) };
        }
        word.parse().map(Self::Pci).map_err(|_| invalid())
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(out, "{index}"),
            Self::Uuid(uuid) => out.write_str(uuid),
            Self::Instance { gpu, gpu_instance, compute_instance } => {
                write!(out, "MIG-{gpu}/{gpu_instance}/{compute_instance}")
            }
            Self::Pci(address) => address.fmt(out),
        }
    }
}

impl FromStr for PciAddress {
    type Err = InvalidSelection;

    /// `domain:bus:device.function` in hexadecimal, as NVML and Linux write it; domain and function may be left out.
    fn from_str(text: &str) -> Result<Self, InvalidSelection> {
        let read = || {
            let (address, function) = text.split_once('.').unwrap_or((text, "0"));
            let (rest, device) = address.rsplit_once(':')?;
            let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
            let hex = |part: &str| {
                let digits = part.bytes().all(|byte| byte.is_ascii_hexdigit());
                u32::from_str_radix(part, 16).ok().filter(|_| digits)
            };
            hex(function).filter(|&function| function < 8)?;
            Some(Self {
                domain: hex(domain)?,
                bus: u8::try_from(hex(bus)?).ok()?,
                device: u8::try_from(hex(device)?).ok().filter(|&device| device < 32)?,
            })
        };
        read().ok_or_else(|| InvalidSelection { word: text.to_owned() })
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04x}:{:02x}:{:02x}.0", self.domain, self.bus, self.device)
    }
}

/// What a selection is matched against: one device that the driver lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) index: Option<u32>,
    pub(crate) uuid: Option<String>,
    pub(crate) pci: Option<PciAddress>,
    /// GPU instance and compute instance.
    pub(crate) instance: Option<(u32, u32)>,
    /// Position of the GPU that a MIG device is a part of.
    pub(crate) parent: Option<usize>,
}

impl Entry {
    fn uuid_begins(&self, prefix: &str) -> bool {
        self.uuid
            .as_deref()
            .and_then(|uuid| uuid.get(..prefix.len()))
            .is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
