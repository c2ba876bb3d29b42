//! The machine's own packages: apt on Debian and Ubuntu, Homebrew on macOS.

use super::found;
use crate::Outcome;
use crate::process::{answers, capture, program};

/// Which package manager there is, and whether its lists are fresh.
pub struct Installer {
    kind: Kind,
    lists_are_fresh: bool,
}

enum Kind {
    AptAsRoot,
    AptBySudo,
    AptForbidden,
    Brew,
    Unknown,
}

impl Installer {
    pub fn detect() -> Self {
        let kind = if answers("apt-get", &["--version"]) {
            if capture(program("id").arg("-u")).is_ok_and(|id| id.trim() == "0") {
                Kind::AptAsRoot
            } else if answers("sudo", &["-n", "true"]) {
                Kind::AptBySudo
            } else {
                Kind::AptForbidden
            }
        } else if answers("brew", &["--version"]) {
            Kind::Brew
        } else {
            Kind::Unknown
        };
        Self { kind, lists_are_fresh: false }
    }

    /// Installs Debian packages, or the one brew formula that stands for them.
    pub fn install(&mut self, debian: &[&str], brew: Option<&str>) -> Outcome {
        let names = debian.join(" ");
        match self.kind {
            Kind::AptAsRoot | Kind::AptBySudo => {
                if !self.lists_are_fresh {
                    found("apt-get", "update");
                    self.apt(&["update"])?;
                    self.lists_are_fresh = true;
                }
                found("apt-get", format!("install {names}"));
                self.apt(&[&["install", "-y", "--no-install-recommends"], debian].concat())
            }
            Kind::AptForbidden => Err(format!("needs root: `sudo apt-get install {names}`")),
            Kind::Brew => match brew {
                Some(formula) => {
                    found("brew", format!("install {formula}"));
                    capture(program("brew").args(["install", formula])).map(|_| ())
                }
                None => Err(format!("no Homebrew formula stands for {names}")),
            },
            Kind::Unknown => {
                Err(format!("neither apt-get nor brew is here; what Debian calls {names} is needed"))
            }
        }
    }

    fn apt(&self, args: &[&str]) -> Outcome {
        let mut command = if matches!(self.kind, Kind::AptBySudo) {
            let mut sudo = program("sudo");
            sudo.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
            sudo
        } else {
            let mut apt = program("apt-get");
            apt.env("DEBIAN_FRONTEND", "noninteractive");
            apt
        };
        capture(command.args(args)).map(|_| ())
    }
}
