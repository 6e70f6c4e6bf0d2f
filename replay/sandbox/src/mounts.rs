//! The root that the program sees, built in a mount namespace of its own.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{chdir, pivot_root};

use super::changes::{Before, opened};
use super::kernel::{Kernel, refused_namespaces};
use super::program::INSIDE_ID;
use super::{Job, Overlay, OverlayKind, Replaced, SandboxError};

/// While building, this process's root is a small tmpfs with the host under `/old`, the future
/// root under `/new`, the job's one writable file system under `/disk` and the overlays' lower
/// directories under `/lower`.
const OLD: &str = "/old";
const NEW: &str = "/new";

/// Directories of the system's programs and libraries. If one is a symbolic link, as on merged-usr
/// systems, the link is made again.
const SYSTEM: [&str; 8] = [
    "usr",
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "nix/store",
];
/// Parts of `/etc` that programs need and that hold no secrets.
const ETC: [&str; 8] = [
    "etc/ld.so.cache",
    "etc/alternatives",
    "etc/ssl/certs",
    "etc/ssl/openssl.cnf",
    "etc/mime.types",
    "etc/services",
    "etc/protocols",
    "etc/locale.alias",
];
/// The users that a Debian system has, with their numbers, homes and shells: programs look them up
/// by name. Written here so that results don't depend on who has an account on a machine.
const USERS: &str = "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
bin:x:2:2:bin:/bin:/usr/sbin/nologin
sys:x:3:3:sys:/dev:/usr/sbin/nologin
sync:x:4:65534:sync:/bin:/bin/sync
games:x:5:60:games:/usr/games:/usr/sbin/nologin
man:x:6:12:man:/var/cache/man:/usr/sbin/nologin
lp:x:7:7:lp:/var/spool/lpd:/usr/sbin/nologin
mail:x:8:8:mail:/var/mail:/usr/sbin/nologin
news:x:9:9:news:/var/spool/news:/usr/sbin/nologin
uucp:x:10:10:uucp:/var/spool/uucp:/usr/sbin/nologin
proxy:x:13:13:proxy:/bin:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
backup:x:34:34:backup:/var/backups:/usr/sbin/nologin
list:x:38:38:Mailing List Manager:/var/list:/usr/sbin/nologin
irc:x:39:39:ircd:/run/ircd:/usr/sbin/nologin
";
/// The groups of such a system, as `NAME:NUMBER`.
const GROUPS: &str = "daemon:1 bin:2 sys:3 adm:4 tty:5 disk:6 lp:7 mail:8 news:9 uucp:10 man:12 \
    proxy:13 kmem:15 dialout:20 fax:21 voice:22 cdrom:24 floppy:25 tape:26 sudo:27 audio:29 \
    dip:30 www-data:33 backup:34 operator:37 list:38 irc:39 src:40 shadow:42 utmp:43 video:44 \
    sasl:45 plugdev:46 staff:50 games:60 users:100";
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Files of `/proc` with data of the host's kernel and memory that a host's root could read even
/// without capabilities, or with counters that a run changes and no program needs: the next run
/// could read them.
const MASKED: [&str; 25] = [
    "buddyinfo",
    "interrupts",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "locks",
    "pagetypeinfo",
    "sched_debug",
    "schedstat",
    "slabinfo",
    "softirqs",
    "sys/fs/dentry-state",
    "sys/fs/file-nr",
    "sys/fs/inode-nr",
    "sys/fs/inode-state",
    "sys/kernel/ns_last_pid",
    "sys/kernel/pty/nr",
    "timer_list",
    "vmallocinfo",
    "vmstat",
    "zoneinfo",
];
/// Number of the last process before a worker's waiting program starts.
const LAST_PID: &str = "300";

/// A mount point below `/new` and whether writes are meant to reach it.
struct MountPoint {
    at: PathBuf,
    writable: bool,
    /// An overlay, in which missing mount points may be made: they stay in memory.
    in_memory: bool,
}

/// Builds the root of `job`, enters it and leaves the host's behind.
///
/// With `renewable`, the overlays are only tried out: [`Renewal::renew`] mounts them.
pub(super) fn build(job: &Job, kernel: Kernel, renewable: bool) -> Result<Root, SandboxError> {
    // Modes of new files must not depend on the caller's mask.
    umask(Mode::from_bits_truncate(0o022));
    // A mount of the sandbox must not propagate to the host.
    mount_at(None, "/", None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None)
        .map_err(|errno| refused_namespaces("mounts in a new namespace", errno))?;
    let sources = resolve(job)?;
    // Usually a link, which resolves only while the host's root is the root.
    let localtime = fs::read("/etc/localtime").ok();

    enter_base(job)?;
    let mut places = Vec::new();
    system(&mut places)?;
    etc(localtime.as_deref(), &mut places)?;
    devices()?;
    let last_pid = proc(renewable, &mut places)?;
    for (name, inside) in TEMPORARY {
        let source = PathBuf::from(format!("/disk/{name}"));
        directory(&source, 0o1777)?;
        let at = below(NEW, Path::new(inside));
        directory(&at, 0o1777)?;
        bind(&source, &at)?;
        places.push(MountPoint {
            at,
            writable: true,
            in_memory: true,
        });
    }
    let mut root = job_mounts(job, &sources, kernel, renewable, &mut places)?;
    root.renewal.last_pid = last_pid;
    protect(&places)?;
    enter_new_root()?;
    if renewable {
        tmpfs(HIDDEN, 4096, 8)?;
    }
    Ok(root)
}

/// The root that was built.
#[derive(Debug)]
pub(super) struct Root {
    /// The least of the overlays' kinds.
    pub(super) kind: OverlayKind,
    /// The overlays before anything ran in them.
    pub(super) before: Vec<Before>,
    /// The part that can be made anew.
    pub(super) renewal: Renewal,
}

/// All of a root that can be written to, made anew for every run.
#[derive(Debug)]
pub(super) struct Renewal {
    /// Size of the one writable file system, in bytes.
    disk: u64,
    overlays: Vec<(Overlay, File)>,
    /// Binds below the temporary directories, which new ones would cover: their mount points, and
    /// descriptors of what is mounted there.
    covered: Vec<(PathBuf, File)>,
    /// Mount points that hold something of the run before.
    mounted: Vec<PathBuf>,
    /// Sets the number of the last process; `None` if the kernel has no such file.
    last_pid: Option<File>,
}

/// Temporary directories, with their names on the writable file system.
const TEMPORARY: [(&str, &str); 2] = [("tmp", "/tmp"), ("shm", "/dev/shm")];
/// Mount point of the writable file system while it is being filled.
const STAGING: &str = "/staging";
/// Directory in which the overlays' lower directories are mounted; another mount covers it, and
/// they are reached through descriptors that pid 1 opened before.
const HIDDEN: &str = "/hidden";

impl Renewal {
    /// Discards everything that was written and restores the initial state, with `replaced` laid
    /// over the first overlay.
    pub(super) fn renew(&mut self, replaced: &[Replaced]) -> Result<Vec<Before>, SandboxError> {
        for at in self.mounted.drain(..) {
            umount2(&at, MntFlags::MNT_DETACH)
                .map_err(|errno| SandboxError::at("unmount", &at, errno))?;
        }
        if let Some(file) = self.last_pid.as_ref() {
            // The kernel ignores writes beyond the beginning of such a file:
            // https://docs.kernel.org/admin-guide/sysctl/kernel.html#sysctl-writes-strict
            file.write_all_at(LAST_PID.as_bytes(), 0)
                .map_err(|error| SandboxError::setup("number its processes anew", error))?;
        }
        tmpfs(STAGING, self.disk, inodes(self.disk))?;
        let staging = Path::new(STAGING);
        for (name, at) in TEMPORARY {
            directory(&staging.join(name), 0o1777)?;
            bind(&staging.join(name), Path::new(at))?;
            self.mounted.push(at.into());
        }
        for (at, mounted) in &self.covered {
            let failed = |error: io::Error| SandboxError::at("look at", at, error);
            if mounted.metadata().map_err(failed)?.is_dir() {
                fs::create_dir_all(at).map_err(failed)?;
            } else {
                fs::create_dir_all(at.parent().unwrap_or(at)).map_err(failed)?;
                File::create(at).map_err(failed)?;
            }
            // A bind keeps the flags of its source, such as read-only.
            bind(&opened(mounted), at)?;
        }
        let mut all = Vec::new();
        for (index, (overlay, lower)) in self.overlays.iter().enumerate() {
            let failed = |error: io::Error| SandboxError::at("look at", &overlay.at, error);
            let own = staging.join(format!("overlay-{index}"));
            let mode = lower.metadata().map_err(failed)?.permissions().mode() & 0o777;
            directory(&own, 0o755)?;
            directory(&own.join("upper"), mode)?;
            let lower_path = opened(lower);
            mount_overlay(&lower_path, &own, &overlay.at)?;
            self.mounted.push(overlay.at.clone());
            let mut overlay = overlay.clone();
            if index == 0 {
                overlay.replaced.extend(replaced.iter().cloned());
            }
            for replaced in &overlay.replaced {
                replace(&overlay.at, replaced)?;
            }
            let before =
                Before::layers(&overlay, &own.join("upper"), &lower_path).map_err(failed)?;
            all.push(before);
        }
        // The mounts above keep it; nothing inside may reach it by another name.
        umount2(staging, MntFlags::MNT_DETACH)
            .map_err(|errno| SandboxError::at("unmount", staging, errno))?;
        Ok(all)
    }
}

/// An inode costs the kernel about one KiB that the size does not count.
fn inodes(disk: u64) -> u64 {
    (disk / 8192).clamp(4096, 1 << 20)
}

/// Absolute, and of plain names only.
pub(super) fn is_plain_absolute(path: &Path) -> bool {
    let mut components = path.components();
    components.next() == Some(Component::RootDir) && components.all(is_name)
}

/// Relative, not empty, and of plain names only.
pub(super) fn is_plain_relative(path: &Path) -> bool {
    path.components().next().is_some() && path.components().all(is_name)
}

fn is_name(component: Component) -> bool {
    matches!(component, Component::Normal(_))
}

/// Host paths with every link followed, as long as the host's own root is the root.
struct Sources {
    binds: Vec<PathBuf>,
    lowers: Vec<PathBuf>,
}

fn resolve(job: &Job) -> Result<Sources, SandboxError> {
    let real = |path: &PathBuf| {
        fs::canonicalize(path)
            .map_err(|error| SandboxError::at("find the host's", path, error))
            .map(|real| below(OLD, &real))
    };
    Ok(Sources {
        binds: job
            .binds
            .iter()
            .map(|b| real(&b.source))
            .collect::<Result<_, _>>()?,
        lowers: job
            .overlays
            .iter()
            .map(|o| real(&o.lower))
            .collect::<Result<_, _>>()?,
    })
}

/// The absolute `path` moved below `root`.
fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

fn enter_base(job: &Job) -> Result<(), SandboxError> {
    // Any directory serves: the host's files below it are visible again, under the old root, once
    // the new mount is the root.
    let base = "/tmp";
    tmpfs(base, 4 << 20, 4096)?;
    let old = format!("{base}{OLD}");
    directory(Path::new(&old), 0o700)?;
    pivot_root(base, old.as_str())
        .and_then(|()| chdir("/"))
        .map_err(|errno| SandboxError::setup("leave the host's root", errno))?;
    for name in [NEW, "/disk", "/lower"] {
        directory(Path::new(name), 0o755)?;
    }
    tmpfs(NEW, 4 << 20, 16_384)?;
    tmpfs("/disk", job.limits.disk, inodes(job.limits.disk))
}

fn system(places: &mut Vec<MountPoint>) -> Result<(), SandboxError> {
    for name in SYSTEM {
        let source = Path::new(OLD).join(name);
        let at = Path::new(NEW).join(name);
        let Ok(metadata) = fs::symlink_metadata(&source) else {
            continue;
        };
        if metadata.is_symlink() {
            fs::read_link(&source)
                .and_then(|target| symlink(target, &at))
                .map_err(|error| SandboxError::at("link", &at, error))?;
        } else {
            show(&source, at, places)?;
        }
    }
    Ok(())
}

fn etc(localtime: Option<&[u8]>, places: &mut Vec<MountPoint>) -> Result<(), SandboxError> {
    let passwd = format!(
        "root:x:0:0::/root:/bin/sh\n{USERS}sandbox:x:{INSIDE_ID}:{INSIDE_ID}::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
    );
    let listed = GROUPS.split_whitespace();
    let named = listed.filter_map(|group| group.split_once(':'));
    let groups: String = named
        .filter(|(_, number)| *number != INSIDE_ID.to_string())
        .map(|(name, number)| format!("{name}:x:{number}:\n"))
        .collect();
    let group = format!("root:x:0:\n{groups}sandbox:x:{INSIDE_ID}:\nnogroup:x:65534:\n");
    let mut files = vec![
        ("passwd", passwd.as_bytes()),
        ("group", group.as_bytes()),
        (
            "hosts",
            b"127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
        ),
        ("timezone", b"Etc/UTC\n"),
        ("hostname", b"sandbox\n"),
        (
            "nsswitch.conf",
            b"passwd: files\ngroup: files\nhosts: files\n",
        ),
    ];
    if let Some(localtime) = localtime {
        files.push(("localtime", localtime));
    }
    let etc = Path::new(NEW).join("etc");
    directory(&etc, 0o755)?;
    for (name, content) in files {
        let at = etc.join(name);
        fs::write(&at, content).map_err(|error| SandboxError::at("write", &at, error))?;
    }
    for name in ETC {
        let source = Path::new(OLD).join(name);
        // A link leads elsewhere on the host and is left out; programs work without it.
        if fs::symlink_metadata(&source).is_ok_and(|metadata| !metadata.is_symlink()) {
            show(&source, Path::new(NEW).join(name), places)?;
        }
    }
    Ok(())
}

fn devices() -> Result<(), SandboxError> {
    let dev = Path::new(NEW).join("dev");
    directory(&dev, 0o755)?;
    for name in DEVICES {
        let at = dev.join(name);
        File::create(&at).map_err(|error| SandboxError::at("make", &at, error))?;
        bind(&Path::new(OLD).join("dev").join(name), &at)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        let at = dev.join(name);
        symlink(target, &at).map_err(|error| SandboxError::at("link", &at, error))?;
    }
    Ok(())
}

/// A `/proc` of the new pid namespace, read-only as a whole: files such as `sysrq-trigger`,
/// `sys/kernel/core_pattern` or `irq/*/smp_affinity` ask for no capability but only for the user
/// that a host's root still is to the kernel.
///
/// Its processes are those that the reader may trace. Pid 1 and a worker's waiting program count
/// what their runs do, such as page faults of children, and would show it to the next run.
///
/// For a worker, returns the file that sets the number of the last process.
fn proc(renewable: bool, places: &mut Vec<MountPoint>) -> Result<Option<File>, SandboxError> {
    let at = Path::new(NEW).join("proc");
    directory(&at, 0o755)?;
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let mount = |data| mount_at(Some(Path::new("proc")), &at, Some("proc"), flags, data);
    // Kernels before 5.8 don't know the option. https://docs.kernel.org/filesystems/proc.html
    mount(Some("hidepid=ptraceable"))
        .or_else(|errno| match errno {
            Errno::EINVAL => mount(None),
            errno => Err(errno),
        })
        .map_err(|errno| match errno {
            Errno::EPERM | Errno::EACCES => SandboxError::BelowLevel {
                refused:
                    "the kernel refuses an own /proc, because parts of this system's are hidden"
                        .into(),
                remedy: "start the container with `--security-opt systempaths=unconfined`".into(),
            },
            errno => SandboxError::at("mount", &at, errno),
        })?;
    let last_pid = if renewable {
        writable_last_pid(flags - MsFlags::MS_RDONLY)?
    } else {
        None
    };
    let null = Path::new(OLD).join("dev/null");
    for name in MASKED {
        let file = at.join(name);
        if file.exists() {
            bind(&null, &file)?;
        }
    }
    still_stat(&at.join("stat"), places)?;
    Ok(last_pid)
}

/// Covers `/proc/stat`, in which programs look for processors, with a copy that counts nothing: a
/// run could raise its numbers of processes and switches, and the next run could read them.
fn still_stat(stat: &Path, places: &mut Vec<MountPoint>) -> Result<(), SandboxError> {
    let text = fs::read_to_string(stat).map_err(|error| SandboxError::at("read", stat, error))?;
    let still: String = text
        .lines()
        .map(|line| match line.split_once(' ') {
            Some((name, values)) if name != "btime" => {
                let fields = values.split_whitespace().count().min(10);
                format!("{name}{}\n", " 0".repeat(fields))
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let copy = Path::new("/stat");
    fs::write(copy, still).map_err(|error| SandboxError::at("write", copy, error))?;
    show(copy, stat.to_owned(), places)
}

/// The file that sets the number of the last process, in a `/proc` that can be written to and that
/// is out of sight once the file is open.
fn writable_last_pid(flags: MsFlags) -> Result<Option<File>, SandboxError> {
    let at = Path::new("/numbers");
    directory(at, 0o755)?;
    mount_at(Some(Path::new("proc")), at, Some("proc"), flags, None)
        .map_err(|errno| SandboxError::at("mount", at, errno))?;
    let file = File::options()
        .write(true)
        .open(at.join("sys/kernel/ns_last_pid"))
        .ok();
    umount2(at, MntFlags::MNT_DETACH).map_err(|errno| SandboxError::at("unmount", at, errno))?;
    Ok(file)
}

/// Mounts the job's own binds and overlays, outer ones before those inside them.
fn job_mounts(
    job: &Job,
    sources: &Sources,
    kernel: Kernel,
    renewable: bool,
    places: &mut Vec<MountPoint>,
) -> Result<Root, SandboxError> {
    enum Wanted<'a> {
        Bind(&'a Path, bool),
        Overlay(usize, &'a Path, &'a Overlay),
    }
    let binds = job.binds.iter().zip(&sources.binds);
    let overlays = job.overlays.iter().zip(&sources.lowers).enumerate();
    let mut wanted: Vec<(&Path, Wanted)> = binds
        .map(|(bind, source)| (bind.at.as_path(), Wanted::Bind(source, bind.writable)))
        .chain(overlays.map(|(index, (overlay, lower))| {
            (overlay.at.as_path(), Wanted::Overlay(index, lower, overlay))
        }))
        .collect();
    wanted.sort_by_key(|(at, _)| at.components().count());

    let mut root = Root {
        kind: OverlayKind::Overlayfs,
        before: Vec::new(),
        renewal: Renewal {
            disk: job.limits.disk,
            overlays: Vec::new(),
            covered: Vec::new(),
            mounted: Vec::new(),
            last_pid: None,
        },
    };
    if renewable {
        for name in [STAGING, HIDDEN] {
            directory(&below(NEW, Path::new(name)), 0o700)?;
        }
    }
    for (inside, wanted) in wanted {
        let at = below(NEW, inside);
        match wanted {
            Wanted::Bind(source, writable) => {
                mount_point(&at, source.is_dir(), places)?;
                bind(source, &at)?;
                if renewable && TEMPORARY.iter().any(|(_, top)| inside.starts_with(top)) {
                    let mounted = File::open(&at)
                        .map_err(|error| SandboxError::at("look at", source, error))?;
                    root.renewal.covered.push((inside.to_owned(), mounted));
                }
                places.push(MountPoint {
                    at,
                    writable,
                    in_memory: false,
                });
            }
            Wanted::Overlay(index, lower, overlay) => {
                mount_point(&at, true, places)?;
                let kind = overlay_at(index, lower, &at, kernel)?;
                root.kind = root.kind.min(kind);
                if renewable {
                    umount2(&at, MntFlags::MNT_DETACH)
                        .map_err(|errno| SandboxError::at("unmount", &at, errno))?;
                    let hidden = below(NEW, Path::new(HIDDEN)).join(index.to_string());
                    directory(&hidden, 0o755)?;
                    bind(lower, &hidden)?;
                    let opened = File::open(&hidden)
                        .map_err(|error| SandboxError::at("look at", lower, error))?;
                    root.renewal.overlays.push((overlay.clone(), opened));
                    continue;
                }
                for replaced in &overlay.replaced {
                    replace(&at, replaced)?;
                }
                let before = match kind {
                    OverlayKind::Overlayfs => {
                        let upper = PathBuf::from(format!("/disk/overlay-{index}/upper"));
                        Before::layers(overlay, &upper, lower)
                    }
                    OverlayKind::Copy => Before::copy(overlay, &at),
                };
                let before = before.map_err(|error| SandboxError::at("look at", &at, error))?;
                root.before.push(before);
                places.push(MountPoint {
                    at,
                    writable: true,
                    in_memory: true,
                });
            }
        }
    }
    Ok(root)
}

/// Shows a directory of the host copy-on-write: by overlay where the kernel allows it and the
/// directory is the caller's own, by copy elsewhere.
fn overlay_at(
    index: usize,
    lower: &Path,
    at: &Path,
    kernel: Kernel,
) -> Result<OverlayKind, SandboxError> {
    // A bind gives the lower directory a name that needs no escaping among mount options.
    let plain_lower = PathBuf::from(format!("/lower/{index}"));
    let own = PathBuf::from(format!("/disk/overlay-{index}"));
    let metadata =
        fs::metadata(lower).map_err(|error| SandboxError::at("look at", lower, error))?;
    if !metadata.is_dir() {
        return Err(SandboxError::at("lay over", lower, "it is not a directory"));
    }
    let mode = metadata.permissions().mode() & 0o777;
    directory(&plain_lower, 0o755)?;
    bind(lower, &plain_lower)?;
    directory(&own, 0o755)?;
    let upper = own.join("upper");
    directory(&upper, mode)?;
    // An overlay can't change files of another user, whose number does not exist in this
    // namespace.
    let own_files = metadata.uid() == INSIDE_ID;
    if own_files && mount_overlay(&plain_lower, &own, at).is_ok() {
        if kernel.at_least(6, 6) || overlay_replaces_directories()? {
            return Ok(OverlayKind::Overlayfs);
        }
        umount2(at, MntFlags::MNT_DETACH)
            .map_err(|errno| SandboxError::at("unmount", at, errno))?;
    }
    copy_tree(lower, &upper).map_err(|error| SandboxError::at("copy", lower, error))?;
    bind(&upper, at)?;
    Ok(OverlayKind::Copy)
}

fn mount_overlay(lower: &Path, own: &Path, at: &Path) -> Result<(), SandboxError> {
    directory(&own.join("work"), 0o755)?;
    let options = format!(
        "lowerdir={},upperdir={}/upper,workdir={}/work,userxattr",
        lower.display(),
        own.display(),
        own.display()
    );
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount_at(
        Some(Path::new("overlay")),
        at,
        Some("overlay"),
        flags,
        Some(&options),
    )
    .map_err(|errno| SandboxError::at("mount an overlay at", at, errno))
}

/// Before Linux 6.6 a tmpfs keeps no user attributes, and an overlay on it cannot replace a
/// directory by an empty one. Tests it by trial, as a version number is not conclusive.
fn overlay_replaces_directories() -> Result<bool, SandboxError> {
    let own = Path::new("/disk/overlay-trial");
    let at = own.join("at");
    let kept = own.join("lower/directory/file");
    for name in ["", "lower", "lower/directory", "upper", "at"] {
        directory(&own.join(name), 0o755)?;
    }
    fs::write(&kept, "").map_err(|error| SandboxError::at("write", &kept, error))?;
    mount_overlay(&own.join("lower"), own, &at)?;
    let replaced = fs::remove_dir_all(at.join("directory"))
        .and_then(|()| fs::create_dir(at.join("directory")))
        .is_ok_and(|()| !at.join("directory/file").exists());
    umount2(&at, MntFlags::MNT_DETACH).map_err(|errno| SandboxError::at("unmount", &at, errno))?;
    Ok(replaced)
}

/// Copies what is in `from` into `to`, with modes, times and links as they are. Sockets, fifos
/// and devices are left out, as they are of no use in a copy.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata()?;
        if metadata.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if metadata.is_dir() {
            fs::create_dir(&target)?;
            copy_tree(&source, &target)?;
            fs::set_permissions(&target, metadata.permissions())?;
        } else if metadata.is_file() {
            fs::copy(&source, &target)?;
            // Python recognises a stale .pyc by its source's time.
            File::open(&target)?.set_modified(metadata.modified()?)?;
        }
    }
    Ok(())
}

/// Lays files over the overlays of a root that is entered, in their order, before anything of the
/// program's could change them.
pub(super) fn lay_over(
    job: &Job,
    before: &mut [Before],
    replaced: &[Vec<Replaced>],
) -> Result<(), SandboxError> {
    for (overlay, files) in job.overlays.iter().zip(replaced) {
        for file in files {
            replace(&overlay.at, file)?;
        }
        let before = before.iter_mut().filter(|one| one.is_at(&overlay.at));
        for before in before {
            before
                .add_replaced(files)
                .map_err(|error| SandboxError::at("look at", &overlay.at, error))?;
        }
    }
    Ok(())
}

/// Lays one file over the mounted overlay `at`. Links in the repository are followed only as far
/// as they stay inside it: this process still has rights that the repository must not borrow.
fn replace(at: &Path, replaced: &Replaced) -> Result<(), SandboxError> {
    let wanted = at.join(&replaced.path);
    let failed = |error: io::Error| SandboxError::at("replace", &replaced.path, error);
    let outside = || SandboxError::Job {
        reason: format!(
            "the replaced file {} leads out of its overlay through a symbolic link",
            replaced.path.display()
        ),
    };
    // The part that exists, with its links followed, and the names that are still to be made.
    let mut existing = wanted.clone();
    let mut missing = Vec::new();
    while fs::symlink_metadata(&existing).is_err() {
        match (existing.file_name(), existing.parent()) {
            (Some(name), Some(parent)) => {
                missing.push(name.to_owned());
                existing = parent.to_owned();
            }
            _ => return Err(outside()),
        }
    }
    let mut real = fs::canonicalize(&existing).map_err(|_| outside())?;
    if !real.starts_with(at) {
        return Err(outside());
    }
    while let Some(name) = missing.pop() {
        if !real.exists() {
            fs::create_dir(&real).map_err(failed)?;
        }
        real.push(name);
    }
    match fs::write(&real, &replaced.content) {
        // After giving up its rights, pid 1 can't write to a read-only file.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let mode = fs::metadata(&real).map_err(failed)?.permissions();
            fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).map_err(failed)?;
            fs::write(&real, &replaced.content).map_err(failed)?;
            fs::set_permissions(&real, mode).map_err(failed)
        }
        written => written.map_err(failed),
    }
}

/// Makes the mount point `at` below `/new` if it is missing.
fn mount_point(at: &Path, is_directory: bool, places: &[MountPoint]) -> Result<(), SandboxError> {
    let relative = at.strip_prefix(NEW).unwrap_or(at);
    let mut current = PathBuf::from(NEW);
    let last = relative.components().count().saturating_sub(1);
    for (index, name) in relative.components().enumerate() {
        current.push(name);
        match fs::symlink_metadata(&current) {
            // A link could lead back to the host, which is still mounted below /old.
            Ok(metadata) if metadata.is_symlink() => {
                return Err(SandboxError::Job {
                    reason: format!(
                        "the mount point {} goes through a symbolic link; name the real path",
                        below("/", relative).display()
                    ),
                });
            }
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(SandboxError::at("look at", &current, error)),
        }
        if innermost(places, &current).is_some_and(|place| !place.in_memory) {
            return Err(SandboxError::Job {
                reason: format!(
                    "the mount point {} does not exist in the host directory shown around it",
                    below("/", relative).display()
                ),
            });
        }
        if index == last && !is_directory {
            File::create(&current).map_err(|error| SandboxError::at("make", &current, error))?;
        } else {
            directory(&current, 0o755)?;
        }
    }
    Ok(())
}

fn innermost<'a>(places: &'a [MountPoint], path: &Path) -> Option<&'a MountPoint> {
    places
        .iter()
        .filter(|place| path.starts_with(&place.at))
        .max_by_key(|place| place.at.components().count())
}

/// Sets the flags that each mount in the new root requires. A recursive bind includes the host's
/// own mounts below it, each of which keeps its flags and gains the missing ones.
fn protect(places: &[MountPoint]) -> Result<(), SandboxError> {
    let list = Path::new(OLD).join("proc/self/mountinfo");
    let list = fs::read_to_string(&list).map_err(|error| SandboxError::at("read", &list, error))?;
    for (at, options) in list.lines().filter_map(mount_entry) {
        let Some(place) = innermost(places, &at) else {
            continue;
        };
        let mut flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        if !place.writable {
            flags |= MsFlags::MS_RDONLY;
        }
        // A user namespace may not clear the flags of mounts that it got from the host.
        for option in options.split(',') {
            flags |= match option {
                "ro" => MsFlags::MS_RDONLY,
                "noexec" => MsFlags::MS_NOEXEC,
                "noatime" => MsFlags::MS_NOATIME,
                "nodiratime" => MsFlags::MS_NODIRATIME,
                "relatime" => MsFlags::MS_RELATIME,
                _ => MsFlags::empty(),
            };
        }
        flags |= MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
        mount_at(None, &at, None, flags, None)
            .map_err(|errno| SandboxError::at("protect", &at, errno))?;
    }
    Ok(())
}

/// Mount point and options of one line of `/proc/self/mountinfo`, proc_pid_mountinfo(5).
fn mount_entry(line: &str) -> Option<(PathBuf, &str)> {
    let mut fields = line.split(' ').skip(4);
    let (at, options) = (fields.next()?, fields.next()?);
    // Space, tab, line feed and backslash are written as octal numbers.
    let at = at
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\");
    Some((PathBuf::from(at), options))
}

fn enter_new_root() -> Result<(), SandboxError> {
    let read_only = MsFlags::MS_REMOUNT
        | MsFlags::MS_BIND
        | MsFlags::MS_RDONLY
        | MsFlags::MS_NOSUID
        | MsFlags::MS_NODEV;
    // `pivot_root` stacks both roots at one mount point, and `umount2` removes the old one.
    chdir(NEW)
        .and_then(|()| pivot_root(".", "."))
        .and_then(|()| umount2(".", MntFlags::MNT_DETACH))
        .and_then(|()| chdir("/"))
        .and_then(|()| mount_at(None, "/", None, read_only, None))
        .map_err(|errno| SandboxError::setup("enter its new root", errno))
}

/// Binds a file or directory read-only once [`protect`] has run.
fn show(source: &Path, at: PathBuf, places: &mut Vec<MountPoint>) -> Result<(), SandboxError> {
    mount_point(&at, source.is_dir(), places)?;
    bind(source, &at)?;
    places.push(MountPoint {
        at,
        writable: false,
        in_memory: false,
    });
    Ok(())
}

/// Binds a path with everything mounted below it: a user namespace may not uncover files that the
/// host had covered.
fn bind(source: &Path, at: &Path) -> Result<(), SandboxError> {
    mount_at(
        Some(source),
        at,
        None,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        None,
    )
    .map_err(|errno| SandboxError::at("bind to", at, errno))
}

fn tmpfs(at: &str, size: u64, inodes: u64) -> Result<(), SandboxError> {
    let options = format!("mode=0755,size={size},nr_inodes={inodes}");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount_at(
        Some(Path::new("tmpfs")),
        at,
        Some("tmpfs"),
        flags,
        Some(&options),
    )
    .map_err(|errno| SandboxError::at("mount", Path::new(at), errno))
}

fn mount_at(
    source: Option<&Path>,
    at: impl AsRef<Path>,
    kind: Option<&str>,
    flags: MsFlags,
    options: Option<&str>,
) -> Result<(), Errno> {
    mount(source, at.as_ref(), kind, flags, options)
}

/// Makes a directory with exactly this mode, if it is not there.
fn directory(path: &Path, mode: u32) -> Result<(), SandboxError> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .mode(0o755)
        .create(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .map_err(|error| SandboxError::at("make", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_plain_or_refused() {
        let absolute = |path: &str| is_plain_absolute(Path::new(path));
        assert!(absolute("/") && absolute("/a/b"));
        assert!(!absolute("a") && !absolute("/a/../b") && !absolute(""));
        let relative = |path: &str| is_plain_relative(Path::new(path));
        assert!(relative("a/b.py"));
        assert!(!relative("") && !relative("/a") && !relative("../a") && !relative("a/../../b"));
    }

    #[test]
    fn a_mount_line_gives_its_point_with_escapes_undone() {
        let line = "36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 - ext3 /dev/root rw";
        let (at, options) = mount_entry(line).unwrap();
        assert_eq!((at.to_str(), options), (Some("/mnt two"), "rw,noatime"));
    }

    #[test]
    fn a_copy_keeps_modes_times_and_links() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let script = from.path().join("bin/run");
        fs::create_dir(from.path().join("bin")).unwrap();
        fs::write(&script, "x").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        File::options()
            .write(true)
            .open(&script)
            .unwrap()
            .set_modified(old)
            .unwrap();
        symlink("bin/run", from.path().join("link")).unwrap();
        copy_tree(from.path(), to.path()).unwrap();
        let copied = fs::metadata(to.path().join("bin/run")).unwrap();
        assert_eq!(copied.permissions().mode() & 0o777, 0o755);
        assert_eq!(copied.modified().unwrap(), old);
        assert_eq!(
            fs::read_link(to.path().join("link")).unwrap(),
            Path::new("bin/run")
        );
    }
}
