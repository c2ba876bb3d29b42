//! Texts of sysfs, procfs and KFD, as pure functions. Must not know files.

use std::collections::BTreeMap;
use std::time::Duration;

use wattspan_core::Bytes;

/// The first line of a sysfs file as a decimal number.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    line(text)?.parse().ok()
}

/// The first line of a sysfs file, without white space around it; `None` when there is nothing.
pub(crate) fn line(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?.lines().next()?.trim();
    (!text.is_empty()).then_some(text)
}

/// The value of a key in a `KEY=value` file such as `uevent`.
pub(crate) fn uevent<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(str::trim)
}

/// What one file descriptor's `fdinfo` says about a DRM client.
///
/// **Source** Linux, `Documentation/gpu/drm-usage-stats.rst`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrmClient {
    /// PCI address of the GPU.
    pub pci_address: String,
    /// Number of the client; several descriptors of one client have the same.
    pub client: u64,
    /// Time on the graphics and compute engines, together, since the client began.
    pub busy: Duration,
    /// Video memory that it holds. **Absent** when the kernel does not say.
    pub memory: Option<Bytes>,
}

/// Reads an `fdinfo` file; `None` when it is not that of an amdgpu client.
///
/// ```
/// let text = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\n\
///     drm-memory-vram:\t2048 KiB\ndrm-engine-compute:\t1500000 ns\n";
/// let client = wattspan_amd::drm_client(text).unwrap();
/// assert_eq!(client.client, 7);
/// assert_eq!(client.busy, std::time::Duration::from_micros(1500));
/// ```
pub fn drm_client(text: &str) -> Option<DrmClient> {
    let keys: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key, value.trim()))
        .collect();
    if keys.get("drm-driver") != Some(&"amdgpu") {
        return None;
    }
    let busy = ["drm-engine-gfx", "drm-engine-compute"]
        .iter()
        .filter_map(|key| keys.get(key)?.strip_suffix("ns")?.trim().parse::<u64>().ok())
        .fold(0_u64, u64::saturating_add);
    Some(DrmClient {
        pci_address: keys.get("drm-pdev")?.to_ascii_lowercase(),
        client: keys.get("drm-client-id")?.parse().ok()?,
        busy: Duration::from_nanos(busy),
        memory: keys.get("drm-memory-vram").and_then(|text| memory(text)),
    })
}

/// A memory size as `fdinfo` writes it: a number and `KiB`, `MiB` or nothing (bytes).
fn memory(text: &str) -> Option<Bytes> {
    let mut words = text.split_ascii_whitespace();
    let count: u64 = words.next()?.parse().ok()?;
    let unit = match words.next() {
        None => 1,
        Some("KiB") => 1 << 10,
        Some("MiB") => 1 << 20,
        Some(_) => return None,
    };
    count.checked_mul(unit).map(Bytes::new)
}

/// A node of KFD's topology that has a GPU or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KfdNode {
    /// PCI address of the GPU.
    pub pci_address: String,
    /// Number of the partition inside the GPU; 0 when it is whole.
    pub partition: u32,
    /// Whether CPU cores are in the same node.
    pub has_cpu: bool,
}

/// Reads the `properties` of a topology node; `None` for a CPU.
///
/// **Source** Linux, `drivers/gpu/drm/amd/amdkfd/kfd_topology.c`: `location_id` holds bus, device and function in its
/// low 16 bits and the partition in its top four.
pub fn kfd_node(text: &str) -> Option<KfdNode> {
    let property = |key: &str| -> Option<u64> {
        text.lines().find_map(|line| {
            let (name, value) = line.trim().split_once(' ')?;
            (name == key).then(|| value.trim().parse().ok())?
        })
    };
    if property("simd_count")? == 0 {
        return None;
    }
    let location = property("location_id")?;
    let domain = property("domain").unwrap_or(0);
    let (bus, device, function) = (location >> 8 & 0xff, location >> 3 & 0x1f, location & 0x7);
    Some(KfdNode {
        pci_address: format!("{domain:04x}:{bus:02x}:{device:02x}.{function}"),
        partition: (location >> 28 & 0xf) as u32,
        has_cpu: property("cpu_cores_count").is_some_and(|cores| cores > 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fdinfo_of_another_driver_is_not_ours() {
        assert_eq!(drm_client("drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t1\n"), None);
        assert_eq!(drm_client("pos:\t0\nflags:\t02\n"), None);
    }

    #[test]
    fn fdinfo_adds_graphics_and_compute_and_leaves_video_out() {
        let client = drm_client(
            "drm-driver: amdgpu\ndrm-pdev: 0000:C1:00.0\ndrm-client-id: 12\ndrm-memory-vram: 3 MiB\n\
             drm-engine-gfx: 100 ns\ndrm-engine-compute: 23 ns\ndrm-engine-dec: 9999 ns\n",
        );
        let right = DrmClient {
            pci_address: "0000:c1:00.0".to_owned(),
            client: 12,
            busy: Duration::from_nanos(123),
            memory: Some(Bytes::new(3 * 1024 * 1024)),
        };
        assert_eq!(client, Some(right));
    }

    #[test]
    fn a_location_names_address_and_partition() {
        // Partition 3 of 0001:c1:00.1: 3 << 28 | 0xc1 << 8 | 1.
        let node = kfd_node("cpu_cores_count 0\nsimd_count 152\nlocation_id 805355777\ndomain 1\n").unwrap();
        assert_eq!((node.pci_address.as_str(), node.partition, node.has_cpu), ("0001:c1:00.1", 3, false));
        assert_eq!(kfd_node("cpu_cores_count 64\nsimd_count 0\nlocation_id 0\n"), None);
    }
}
