//! A control group for one sandbox, if this process may make one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{End, Limits, MemoryControl};

/// A group made for one sandbox; removed when dropped, which must be after the sandbox's end.
#[derive(Debug)]
pub(super) struct Group {
    memory: PathBuf,
    /// The same as `memory` in version 2.
    processes: PathBuf,
    control: MemoryControl,
}

impl Group {
    /// Makes a group with these limits; `None` if the permission or a controller is missing.
    pub(super) fn create(limits: &Limits) -> Option<Self> {
        static PARENTS: OnceLock<Option<Parents>> = OnceLock::new();
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let parents = PARENTS.get_or_init(|| {
            let parents = Parents::find()?;
            parents.sweep();
            Some(parents)
        });
        let parents = parents.as_ref()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let group = Self {
            memory: parents.memory.join(&name),
            processes: parents.processes.join(&name),
            control: parents.control,
        };
        // On failure, dropping removes the part that was made.
        group.fill(limits).ok()?;
        Some(group)
    }

    fn fill(&self, limits: &Limits) -> io::Result<()> {
        fs::create_dir(&self.memory)?;
        // Pid 1 of the sandbox is in the group too.
        let processes = (u64::from(limits.processes) + 1).to_string();
        let memory = limits.memory.to_string();
        if self.control == MemoryControl::CgroupV2 {
            fs::write(self.memory.join("memory.max"), memory)?;
            // Absent without swap, and then not needed.
            let _ = fs::write(self.memory.join("memory.swap.max"), "0");
            // The kernel then kills the whole group, where it would otherwise kill one process of
            // it.
            let _ = fs::write(self.memory.join("memory.oom.group"), "1");
        } else {
            fs::create_dir(&self.processes)?;
            fs::write(self.memory.join("memory.limit_in_bytes"), &memory)?;
            let _ = fs::write(self.memory.join("memory.memsw.limit_in_bytes"), memory);
        }
        fs::write(self.processes.join("pids.max"), processes)
    }

    /// Version of the control group.
    pub(super) fn control(&self) -> MemoryControl {
        self.control
    }

    /// Moves a process into the group; processes that it starts from now on are in the group.
    pub(super) fn admit(&self, pid: i32) -> io::Result<()> {
        let pid = pid.to_string();
        fs::write(self.memory.join("cgroup.procs"), &pid)?;
        if self.processes != self.memory {
            fs::write(self.processes.join("cgroup.procs"), &pid)?;
        }
        Ok(())
    }

    /// The limit that was reached inside. Processes come before memory, since too many processes
    /// exceed the memory limit too, sooner or later.
    pub(super) fn limit_met(&self) -> Option<End> {
        if self.ran_out_of_processes() {
            Some(End::TooManyProcesses)
        } else if self.ran_out_of_memory() {
            Some(End::OutOfMemory)
        } else {
            None
        }
    }

    /// Returns true if the kernel killed a process of the group because memory ran out.
    fn ran_out_of_memory(&self) -> bool {
        let file = match self.control {
            MemoryControl::CgroupV2 => "memory.events",
            _ => "memory.oom_control",
        };
        counter(&self.memory.join(file), "oom_kill") > 0
    }

    /// Returns true if the kernel refused a new process or thread of the group.
    fn ran_out_of_processes(&self) -> bool {
        counter(&self.processes.join("pids.events"), "max") > 0
    }

    /// Peak memory in bytes, if the kernel records it.
    pub(super) fn peak_memory(&self) -> Option<u64> {
        let file = match self.control {
            MemoryControl::CgroupV2 => "memory.peak",
            _ => "memory.max_usage_in_bytes",
        };
        let figure = fs::read_to_string(self.memory.join(file)).ok()?;
        figure.trim().parse().ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for directory in [&self.memory, &self.processes] {
            // The group may be empty only a moment after its last process is dead. A later run
            // removes a group that stays.
            for _ in 0..20 {
                match fs::remove_dir(directory) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    _ => break,
                }
            }
        }
    }
}

const PREFIX: &str = "fillrate-sandbox-";

/// The number behind `key` in a file of `key number` lines.
fn counter(file: &Path, key: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, number)| number.trim().parse().ok())
        .unwrap_or(0)
}

/// Directories in which groups can be made.
#[derive(Debug)]
struct Parents {
    memory: PathBuf,
    processes: PathBuf,
    control: MemoryControl,
}

impl Parents {
    fn find() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let v2 = locate(&own, &mounts, None).and_then(|own| {
            // A version 2 group with processes passes no controllers to its children. A sibling
            // serves as well, and a delegated scope allows it.
            [own.as_path(), own.parent()?]
                .into_iter()
                .find(|parent| {
                    fs::read_to_string(parent.join("cgroup.subtree_control")).is_ok_and(|have| {
                        ["memory", "pids"]
                            .iter()
                            .all(|wanted| have.split_whitespace().any(|name| name == *wanted))
                    })
                })
                .map(|parent| Self {
                    memory: parent.to_owned(),
                    processes: parent.to_owned(),
                    control: MemoryControl::CgroupV2,
                })
        });
        v2.or_else(|| {
            Some(Self {
                memory: locate(&own, &mounts, Some("memory"))?,
                processes: locate(&own, &mounts, Some("pids"))?,
                control: MemoryControl::CgroupV1,
            })
        })
    }

    /// Removes empty groups whose maker was killed.
    fn sweep(&self) {
        for parent in [&self.memory, &self.processes] {
            for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let maker = name
                    .to_str()
                    .and_then(|name| name.strip_prefix(PREFIX))
                    .and_then(|rest| rest.split('-').next());
                if maker.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                    // Removal fails for a group that is still in use.
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }
}

/// The directory of the group that this process is in, of the version 1 hierarchy with this
/// controller or, for `None`, of version 2.
fn locate(own: &str, mounts: &str, controller: Option<&str>) -> Option<PathBuf> {
    // `number:controllers:path`; version 2 has number 0 and no controllers, cgroups(7).
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let matches = match controller {
            None => controllers.is_empty(),
            Some(wanted) => controllers.split(',').any(|name| name == wanted),
        };
        matches.then_some(path)
    })?;
    // `id parent device root point options ... - type source super-options`.
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1)?);
        let matches = match controller {
            None => kind == "cgroup2",
            Some(wanted) => kind == "cgroup" && options.split(',').any(|name| name == wanted),
        };
        if !matches {
            return None;
        }
        let relative = Path::new(path).strip_prefix(root).ok()?;
        Some(Path::new(point).join(relative))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "8:pids:/\n4:memory,hugetlb:/jobs/7\n0::/\n";
    const V1_MOUNTS: &str = "\
30 29 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory,hugetlb
34 29 0:30 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
36 29 0:32 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn version_1_hierarchies_are_found_by_controller() {
        let at = |controller| locate(V1, V1_MOUNTS, controller);
        assert_eq!(
            at(Some("memory")),
            Some("/sys/fs/cgroup/memory/jobs/7".into())
        );
        assert_eq!(at(Some("pids")), Some("/sys/fs/cgroup/pids".into()));
        assert_eq!(at(None), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(at(Some("cpu")), None);
    }

    #[test]
    fn a_containers_group_lies_below_the_root_of_its_mount() {
        let own = "0::/docker/abc/job\n";
        let mounts = "36 29 0:32 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(locate(own, mounts, None), Some("/sys/fs/cgroup/job".into()));
        // A group can't be made in a mount that does not show this process's group.
        let mounts = "36 29 0:32 /docker/xyz /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(locate(own, mounts, None), None);
    }
}
