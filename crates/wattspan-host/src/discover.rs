//! Finds the powercap zones of a machine. Reads files; what the zones mean is decided in `powercap`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::files::{Files, number, parse_number, text, word};
use crate::powercap::Zone;

/// What powercap showed.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) zones: Vec<Zone>,
    /// Zones are listed, but what they point to is hidden, as container runtimes do.
    pub(crate) masked: bool,
}

/// The RAPL zones below `/sys/class/powercap`.
pub(crate) fn zones(files: &dyn Files, class: &Path) -> Found {
    let mut found = Found::default();
    let mut folders = BTreeMap::new();
    let mut waiting = vec![class.to_owned()];
    // The class lists all zones side by side; a copy of the tree may hold them inside each other only.
    while let Some(folder) = waiting.pop() {
        for name in files.list(&folder).unwrap_or_default() {
            let depth = name.matches(':').count();
            let inner = folder.join(&name);
            if is_rapl(&name) && depth <= DEEPEST && !folders.contains_key(&name) {
                folders.insert(name, inner.clone());
                waiting.push(inner);
            }
        }
    }
    for (id, folder) in folders.into_iter().filter(|(id, _)| id.contains(':')) {
        let Some(name) = word(files, &folder.join("name")) else {
            found.masked = true;
            continue;
        };
        let energy = folder.join("energy_uj");
        let energy_uj = match text(files, &energy) {
            Ok(text) => parse_number(text.as_bytes()),
            // A zone may limit power without counting energy.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => None,
        };
        let limits = (0..CONSTRAINTS).filter_map(|index| {
            let name = word(files, &folder.join(format!("constraint_{index}_name")))?;
            Some((name, number(files, &folder.join(format!("constraint_{index}_power_limit_uw")))?))
        });
        found.zones.push(Zone {
            name,
            energy_uj,
            range_uj: number(files, &folder.join("max_energy_range_uj")),
            limits_uw: limits.collect(),
            energy,
            id,
        });
    }
    found.masked &= found.zones.is_empty();
    found
}

/// A RAPL control type (`intel-rapl`, `intel-rapl-mmio`) or one of its zones.
fn is_rapl(name: &str) -> bool {
    let mut parts = name.split(':');
    matches!(parts.next(), Some("intel-rapl" | "intel-rapl-mmio"))
        && parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Package and zone inside it; no kernel nests deeper than one more.
const DEEPEST: usize = 3;

/// Long term, short term and peak (Linux, `drivers/powercap/intel_rapl_common.c`).
const CONSTRAINTS: u32 = 3;
