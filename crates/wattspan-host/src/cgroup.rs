//! Control group paths and files to facts: which container a process is in, what it may use. Pure.

/// The container that a process runs in, as its `/proc/<pid>/cgroup` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainerRef {
    /// Id of the container, mostly 64 hexadecimal digits. **Absent** for a process of a pod that is in none of its
    /// containers, such as the monitor of CRI-O.
    pub container_id: Option<String>,
    /// Container runtime. **Absent** where the path does not tell.
    pub runtime: Option<&'static str>,
    /// Unique id of the Kubernetes pod, with dashes. **Absent** outside Kubernetes.
    pub pod_uid: Option<String>,
    /// The pod's quality-of-service class. **Absent** outside Kubernetes.
    pub qos_class: Option<&'static str>,
}

impl ContainerRef {
    /// Reads the text of `/proc/<pid>/cgroup`; `None` for a process outside containers.
    ///
    /// Understands version 1 and 2, the systemd and the cgroupfs driver, and the paths of Docker, Podman, containerd
    /// and CRI-O. Where containers are nested the innermost one is named.
    ///
    /// ```
    /// use wattspan_host::ContainerRef;
    ///
    /// let text = "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod48d25824_cbe2_4fdc_9928_\
    ///             5bb49e05473d.slice/cri-containerd-c40dff48f1d53c3f07a50aa12bb9ae0e58c0927dc6b1d77e3f166784722642ad.scope";
    /// let found = ContainerRef::parse(text).unwrap();
    /// assert_eq!(found.pod_uid.as_deref(), Some("48d25824-cbe2-4fdc-9928-5bb49e05473d"));
    /// assert_eq!(found.runtime, Some("containerd"));
    /// assert_eq!(ContainerRef::parse("0::/user.slice/user-1000.slice/session-2.scope"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        // The version 2 line comes last and is the poorest on hybrid systems ("0::/"): take the richest line.
        lines(text)
            .map(|line| Self::of_path(line.path))
            .max_by_key(Self::richness)
            .filter(|found| found.richness() > 0)
    }

    /// Reads one control group path.
    fn of_path(path: &str) -> Self {
        let mut found = Self::default();
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        for (index, segment) in segments.iter().enumerate() {
            if let Some((uid, class)) = pod(segment, index.checked_sub(1).map(|above| segments[above])) {
                (found.pod_uid, found.qos_class) = (Some(uid), Some(class));
                // A pod inside a container (kind, k3d) hides the outer container.
                (found.container_id, found.runtime) = (None, None);
            } else if let Some((id, runtime)) = container(segment) {
                let runtime = runtime.or_else(|| match index.checked_sub(1).map(|above| segments[above]) {
                    Some("docker") => Some("docker"),
                    Some("libpod" | "libpod_parent") => Some("podman"),
                    // Kubernetes with the cgroupfs driver: Docker has been gone from it since 1.24, and CRI-O writes
                    // its own prefix.
                    _ if found.pod_uid.is_some() => Some("containerd"),
                    _ => None,
                });
                (found.container_id, found.runtime) = (Some(id.to_owned()), runtime);
            }
        }
        found
    }

    fn richness(&self) -> u8 {
        2 * u8::from(self.container_id.is_some()) + u8::from(self.pod_uid.is_some())
    }
}

/// One line of `/proc/<pid>/cgroup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Controllers of a version 1 hierarchy, comma separated; empty for version 2.
    controllers: &'a str,
    pub(crate) path: &'a str,
}

impl Line<'_> {
    pub(crate) fn is_v2(&self) -> bool {
        self.controllers.is_empty()
    }

    /// Whether a version 1 hierarchy has a controller.
    pub(crate) fn has(&self, controller: &str) -> bool {
        self.controllers.split(',').any(|name| name == controller)
    }
}

/// The lines of `/proc/<pid>/cgroup` that can be read.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Line { controllers, path: path.trim_end() })
    })
}

/// `usage_usec` of version 2's `cpu.stat`, in microseconds.
pub(crate) fn cpu_stat_usage(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("usage_usec ")).and_then(|value| value.trim().parse().ok())
}

/// Version 2's `cpu.max`: how many CPUs the group may keep busy; `None` without a limit.
pub(crate) fn cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    cpus(words.next()?.parse().ok()?, words.next()?.parse().ok()?)
}

/// A quota of CPU time over a period, as a number of CPUs; `None` without a limit (version 1 writes −1).
pub(crate) fn cpus(quota: i64, period: i64) -> Option<f64> {
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// A pod's uid and class out of a path segment and the segment above it.
fn pod(segment: &str, above: Option<&str>) -> Option<(String, &'static str)> {
    if let Some(name) = segment.strip_suffix(".slice") {
        // systemd: kubepods-burstable-pod<uid with underscores>.slice, perhaps below kubelet-kubepods.
        let within = &name[name.rfind("kubepods")? + "kubepods".len()..];
        let (level, uid) = within.rsplit_once("-pod")?;
        let class = match level {
            "" => "Guaranteed",
            "-burstable" => "Burstable",
            "-besteffort" => "BestEffort",
            _ => return None,
        };
        return is_uid(uid).then(|| (uid.replace('_', "-"), class));
    }
    let class = match above? {
        "kubepods" => "Guaranteed",
        "burstable" => "Burstable",
        "besteffort" => "BestEffort",
        _ => return None,
    };
    let uid = segment.strip_prefix("pod")?;
    is_uid(uid).then(|| (uid.to_owned(), class))
}

fn is_uid(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-' || byte == b'_')
}

/// A container's id and runtime out of a path segment.
fn container(segment: &str) -> Option<(&str, Option<&'static str>)> {
    let scope = segment.strip_suffix(".scope");
    let name = scope.unwrap_or(segment);
    for (prefix, runtime) in RUNTIMES {
        if let Some(id) = name.strip_prefix(prefix) {
            // systemd made the scope for this prefix, so the id is one whatever its length; a bare folder must have
            // the full length to be told from a helper's.
            let fits = if scope.is_some() { is_hexadecimal(id) } else { is_full_id(id) };
            return fits.then_some((id, Some(runtime)));
        }
    }
    // containerd without systemd, on a host of its own: <namespace>:<prefix>:<id> or the id alone.
    let id = name.rsplit(':').next()?;
    is_full_id(id).then_some((id, None))
}

fn is_hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_full_id(text: &str) -> bool {
    text.len() == 64 && is_hexadecimal(text)
}

/// Prefixes that runtimes put before the id.
const RUNTIMES: [(&str, &str); 5] = [
    ("cri-containerd-", "containerd"),
    ("nerdctl-", "containerd"),
    ("crio-", "cri-o"),
    ("docker-", "docker"),
    ("libpod-", "podman"),
];

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "c40dff48f1d53c3f07a50aa12bb9ae0e58c0927dc6b1d77e3f166784722642ad";
    const OUTER: &str = "dd479c33249f6c3f0f1189aa88f07dad3eeb3e6fedfc71385c27ddd699994831";
    const UID: &str = "48d25824-cbe2-4fdc-9928-5bb49e05473d";

    #[track_caller]
    fn check(text: &str, container: Option<&str>, runtime: Option<&str>, pod: Option<(&str, &str)>) {
        let text = text.replace("<id>", ID).replace("<outer>", OUTER).replace("<uid>", UID);
        let text = text.replace("<uid_>", &UID.replace('-', "_"));
        let found = ContainerRef::parse(&text).unwrap_or_default();
        assert_eq!(found.container_id.as_deref(), container, "{text}");
        assert_eq!(found.runtime, runtime, "{text}");
        assert_eq!(found.pod_uid.as_deref().zip(found.qos_class), pod, "{text}");
    }

    #[test]
    fn every_runtime_and_driver_is_understood() {
        let (burstable, guaranteed) = (Some((UID, "Burstable")), Some((UID, "Guaranteed")));
        check("10:memory:/kubepods/burstable/pod<uid>/<id>", Some(ID), Some("containerd"), burstable);
        check("10:memory:/kubepods/pod<uid>/<id>", Some(ID), Some("containerd"), guaranteed);
        check("10:memory:/kubepods/pod<uid>/crio-<id>", Some(ID), Some("cri-o"), guaranteed);
        check("0::/kubepods/pod<uid>/crio-<id>.scope", Some(ID), Some("cri-o"), guaranteed);
        check("12:memory:/docker/<id>", Some(ID), Some("docker"), None);
        check("4:cpu,cpuacct:/docker/<id>", Some(ID), Some("docker"), None);
        check("0::/system.slice/docker-<id>.scope", Some(ID), Some("docker"), None);
        check("0::/machine.slice/libpod-<id>.scope/container", Some(ID), Some("podman"), None);
        check(
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid_>.slice/cri-containerd-<id>.scope",
            Some(ID),
            Some("containerd"),
            burstable,
        );
        check(
            "0::/kubepods.slice/kubepods-pod<uid_>.slice/crio-<id>.scope",
            Some(ID),
            Some("cri-o"),
            guaranteed,
        );
        check(
            "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod<uid_>.slice/cri-containerd-<id>.scope",
            Some(ID),
            Some("containerd"),
            Some((UID, "BestEffort")),
        );
        check("0::/../cri-containerd-<id>.scope", Some(ID), Some("containerd"), None);
    }

    #[test]
    fn a_static_pod_has_an_id_without_dashes() {
        check(
            "10:memory:/kubepods/besteffort/podd76e26fba3bf2bfd215eb29011d55250/<id>",
            Some(ID),
            Some("containerd"),
            Some(("d76e26fba3bf2bfd215eb29011d55250", "BestEffort")),
        );
    }

    #[test]
    fn what_is_not_a_container_has_no_id() {
        let pod = Some((UID, "Guaranteed"));
        check("0::/kubepods/pod<uid>/crio-conmon-<id>", None, None, pod);
        check("0::/kubepods/pod<uid>/crio-<id>.mount", None, None, pod);
        check("0::/kubepods/pod<uid>/crio-990803c383229c9680ce964738d5e566", None, None, pod);
        check("0::/", None, None, None);
        check("0::/user.slice/user-1000.slice/session-2.scope", None, None, None);
        check("", None, None, None);
    }

    #[test]
    fn the_innermost_container_is_named() {
        check(
            "0::/docker/<outer>/kubelet/kubepods/burstable/pod<uid>/crio-conmon-<id>",
            None,
            None,
            Some((UID, "Burstable")),
        );
        check(
            "0::/docker/<outer>/kubelet/kubepods/burstable/pod<uid>/<id>",
            Some(ID),
            Some("containerd"),
            Some((UID, "Burstable")),
        );
        check("0::/system.slice/docker-<outer>.scope/docker/<id>", Some(ID), Some("docker"), None);
    }

    #[test]
    fn a_hybrid_system_has_its_path_in_a_version_1_line() {
        check("9:name=systemd:/\n4:memory:/docker/<id>\n2:cpuacct:/\n0::/\n", Some(ID), Some("docker"), None);
    }

    #[test]
    fn case_k8s_05_pid_to_container_by_its_cgroup() {
        let first = "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234.slice/cri-containerd-abcd.scope";
        check(first, Some("abcd"), Some("containerd"), Some(("1234", "Burstable")));
        let second = "12:memory:/kubepods/burstable/pod1234/<id>\n";
        check(second, Some(ID), Some("containerd"), Some(("1234", "Burstable")));
    }

    #[test]
    fn limits_are_read_in_their_units() {
        assert_eq!(cpu_stat_usage("usage_usec 1234567\nuser_usec 1\n"), Some(1_234_567));
        assert_eq!(cpu_stat_usage("user_usec 1\n"), None);
        assert_eq!(cpu_max("150000 100000\n"), Some(1.5));
        assert_eq!(cpu_max("max 100000\n"), None);
        assert_eq!(cpus(-1, 100_000), None);
    }
}
