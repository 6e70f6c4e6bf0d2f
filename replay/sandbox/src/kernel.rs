//! The running kernel's version and the features it grants.

use std::fs;

use nix::errno::Errno;
use nix::libc;

use super::SandboxError;

/// The running kernel's version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel(Option<(u32, u32)>);

impl Kernel {
    /// Reads it from `/proc`, which must be in place.
    pub(super) fn running() -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Self(Some((major, minor))),
            _ => Self(None),
        }
    }

    /// Returns true if it is this version or newer; an unknown one counts as old.
    pub(super) fn at_least(self, major: u32, minor: u32) -> bool {
        self.0.is_some_and(|version| version >= (major, minor))
    }
}

/// The error for a kernel that does not grant user namespaces, with the switch that forbids them
/// if it can be found.
pub(super) fn refused_namespaces(what: &str, errno: Errno) -> SandboxError {
    let reads = |path: &str, value: &str| {
        fs::read_to_string(path).is_ok_and(|content| content.trim() == value)
    };
    let remedy = if reads("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "run `sysctl kernel.unprivileged_userns_clone=1`"
    } else if reads("/proc/sys/user/max_user_namespaces", "0") {
        "run `sysctl user.max_user_namespaces=15000`"
    } else if reads(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ) {
        "run `sysctl kernel.apparmor_restrict_unprivileged_userns=0` or give the binary an AppArmor profile that allows `userns`"
    } else {
        "allow unprivileged user namespaces; in a container, start it with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`"
    };
    SandboxError::BelowLevel {
        refused: format!("the kernel refuses {what} to this user ({})", name(errno)),
        remedy: remedy.into(),
    }
}

fn name(errno: Errno) -> String {
    match errno as i32 {
        libc::EPERM => "EPERM".into(),
        libc::ENOSPC => "ENOSPC: too many namespaces".into(),
        _ => errno.to_string(),
    }
}
