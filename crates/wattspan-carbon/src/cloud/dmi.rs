//! Which cloud a machine's firmware names, if any.

use std::fs;
use std::path::Path;

/// Clouds whose metadata service is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cloud {
    Aws,
    Gcp,
    Azure,
}

/// Chassis tag of every Azure machine. Its vendor and product are those of any Hyper-V guest, so they prove nothing.
/// (Microsoft, "Azure Instance Metadata Service", and cloud-init's ds-identify.)
const AZURE_CHASSIS: &str = "7783-7084-3265-9085-8269-3286-77";

/// Reads `/sys/class/dmi/id` below a root. Files that may not be read say nothing.
pub(crate) fn cloud(root: &Path) -> Option<Cloud> {
    let read = |name: &str| {
        fs::read_to_string(root.join("sys/class/dmi/id").join(name)).unwrap_or_default().trim().to_owned()
    };
    if read("chassis_asset_tag") == AZURE_CHASSIS {
        return Some(Cloud::Azure);
    }
    let (vendor, product) = (read("sys_vendor"), read("product_name"));
    if product == "Google Compute Engine" || (vendor == "Google" && product.starts_with("Google")) {
        return Some(Cloud::Gcp);
    }
    // Xen machines of the older generations name Amazon in the BIOS version only.
    let amazon = vendor == "Amazon EC2"
        || read("board_vendor") == "Amazon EC2"
        || read("bios_vendor") == "Amazon EC2"
        || read("bios_version").to_lowercase().contains("amazon");
    amazon.then_some(Cloud::Aws)
}
