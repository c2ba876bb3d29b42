//! What to do when a file may not be read. Texts only.

use std::path::Path;

/// A udev rule that lets the group `power` read the energy counters of powercap, for
/// `/etc/udev/rules.d/70-powercap.rules`.
///
/// Since Linux 5.10 they are for root alone (CVE-2020-8694: fine-grained power readings leak secrets of other
/// processes), so opening them to everybody is a decision of the machine's owner; a group keeps it narrow.
pub const POWERCAP_UDEV_RULE: &str = r#"ACTION=="add", SUBSYSTEM=="powercap", KERNEL=="intel-rapl*:*", RUN+="/bin/sh -c 'chgrp power /sys%p/energy_uj && chmod g+r /sys%p/energy_uj'""#;

pub(crate) fn powercap(path: &Path) -> String {
    format!(
        "{} is readable by root only: run `sudo setcap cap_dac_read_search=+ep <program>` (in a container: \
         `--cap-add DAC_READ_SEARCH`), or make a group `power`, add the user to it, put this line into \
         /etc/udev/rules.d/70-powercap.rules and run `sudo udevadm trigger -c add -s powercap`: {POWERCAP_UDEV_RULE}",
        path.display()
    )
}

pub(crate) fn powercap_masked() -> String {
    "the container runtime hides /sys/devices/virtual/powercap: mount the host's folders elsewhere and name that root \
     (Docker: `-v /sys:/host/sys:ro -v /proc:/host/proc:ro`, root `/host`; Kubernetes: the same two as hostPath \
     volumes), or start it with `--security-opt systempaths=unconfined`, or measure with wattspan on the host"
        .to_owned()
}

pub(crate) fn root_only(path: &Path) -> String {
    format!(
        "{} is readable by root only: run `sudo setcap cap_dac_read_search=+ep <program>`, or let a group read it \
         (`chgrp power` and `chmod g+r` on that file at boot)",
        path.display()
    )
}

pub(crate) fn other_user(path: &Path) -> String {
    format!(
        "{} belongs to another user: run as that user, or as root `setcap cap_sys_ptrace,cap_dac_read_search=+ep \
         <program>`; if /proc is mounted with `hidepid`, add the user to its `gid=` group",
        path.display()
    )
}
