//! The isolation that was reached, as it is written into every record.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SandboxError;

/// Level of a job's isolation. Namespaces (user, mount, pid, ipc, network, uts), an own `/proc`,
/// no capabilities and the system call filter are part of every level: without them nothing runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Level {
    /// Method of showing directories copy-on-write.
    pub overlay: OverlayKind,
    /// Mechanism that limits the tree's memory and number of processes.
    pub memory: MemoryControl,
}

/// Method of showing directories copy-on-write, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverlayKind {
    /// A copy into memory: the same to the program, but slow and counted in
    /// [`super::Limits::disk`].
    Copy,
    /// The kernel's overlay file system. Also the kind of a job that has no overlays.
    Overlayfs,
}

/// Mechanism that limits the tree's memory and number of processes, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryControl {
    /// The caller's side adds up the tree's resident memory and its tasks every 20 ms and kills
    /// it. It detects a burst within one interval late, and does not detect memory that is in no
    /// process (a shared mapping whose pages were unmapped).
    Watch,
    /// A version 1 control group in addition to the watch.
    CgroupV1,
    /// A version 2 control group in addition to the watch.
    CgroupV2,
}

impl Level {
    /// The lowest level.
    pub const LOWEST: Self = Self {
        overlay: OverlayKind::Copy,
        memory: MemoryControl::Watch,
    };

    /// Checks that this level is at least `required`. Both versions of control groups are equal.
    ///
    /// # Errors
    ///
    /// [`SandboxError::BelowLevel`], which names the part that is too low.
    pub fn satisfies(&self, required: &Self) -> Result<(), SandboxError> {
        if self.overlay < required.overlay {
            return Err(SandboxError::BelowLevel {
                refused: "a directory can only be copied, because the kernel refuses an overlay over it or it belongs to another user".into(),
                remedy: "use Linux 5.11 or newer with the overlay module loaded (`modprobe overlay`) and directories of your own, or accept a copy".into(),
            });
        }
        if self.memory == MemoryControl::Watch && required.memory != MemoryControl::Watch {
            return Err(SandboxError::BelowLevel {
                refused: "no control group with memory and process limits can be made".into(),
                remedy: "run as root, or inside `systemd-run --user --scope -p Delegate=yes`, or accept the watch".into(),
            });
        }
        Ok(())
    }
}

impl fmt::Display for Level {
    /// The short form for records and tables: `full/cgroup-v1`, `copy/watch`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let overlay = match self.overlay {
            OverlayKind::Overlayfs => "full",
            OverlayKind::Copy => "copy",
        };
        let memory = match self.memory {
            MemoryControl::CgroupV1 => "cgroup-v1",
            MemoryControl::CgroupV2 => "cgroup-v2",
            MemoryControl::Watch => "watch",
        };
        write!(f, "{overlay}/{memory}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERLAYS: [OverlayKind; 2] = [OverlayKind::Copy, OverlayKind::Overlayfs];
    const MEMORIES: [MemoryControl; 3] = [
        MemoryControl::Watch,
        MemoryControl::CgroupV1,
        MemoryControl::CgroupV2,
    ];

    fn levels() -> impl Iterator<Item = Level> {
        OVERLAYS.into_iter().flat_map(|overlay| {
            MEMORIES
                .into_iter()
                .map(move |memory| Level { overlay, memory })
        })
    }

    #[test]
    fn every_level_satisfies_itself_and_the_lowest() {
        for level in levels() {
            assert!(level.satisfies(&level).is_ok());
            assert!(level.satisfies(&Level::LOWEST).is_ok());
        }
    }

    #[test]
    fn the_lowest_satisfies_nothing_else_and_says_why() {
        let refused: Vec<String> = levels()
            .filter(|level| *level != Level::LOWEST)
            .map(|level| match Level::LOWEST.satisfies(&level) {
                Err(error) => format!("{level}: {error}"),
                Ok(()) => format!("{level}: accepted"),
            })
            .collect();
        assert_eq!(refused.len(), 5);
        for line in refused {
            assert!(line.contains("below the required level"), "{line}");
        }
    }

    #[test]
    fn both_versions_of_control_groups_count_the_same() {
        let [v1, v2] = [MemoryControl::CgroupV1, MemoryControl::CgroupV2].map(|memory| Level {
            overlay: OverlayKind::Copy,
            memory,
        });
        assert!(v1.satisfies(&v2).is_ok() && v2.satisfies(&v1).is_ok());
    }

    #[test]
    fn short_forms() {
        let forms: Vec<String> = levels().map(|level| level.to_string()).collect();
        assert_eq!(
            forms,
            [
                "copy/watch",
                "copy/cgroup-v1",
                "copy/cgroup-v2",
                "full/watch",
                "full/cgroup-v1",
                "full/cgroup-v2"
            ]
        );
    }
}
