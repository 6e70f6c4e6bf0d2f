//! The first stage: leaves the host's namespaces, starts pid 1 and waits for it.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};

use caps::CapSet;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, close, getegid, geteuid, setsid};

use super::kernel::refused_namespaces;
use super::program::{INSIDE_ID, PROGRAM_STAGE};
use super::wire::{StageReport, send};
use super::{SandboxError, init};

/// The argument that makes the binary a sandbox's first stage.
pub(super) const FIRST_STAGE: &str = "sandbox-init";
/// The argument that makes the binary pid 1 inside.
pub(super) const SECOND_STAGE: &str = "sandbox-pid1";

/// Becomes a stage of a sandbox if the command line asks for one, and then returns the status to
/// exit with. Call it first in `main`: the kernel lets only a process without threads into a new
/// user namespace.
#[must_use]
pub fn enter_if_requested() -> Option<ExitCode> {
    let stage = std::env::args_os().nth(1)?;
    if stage == OsStr::new(PROGRAM_STAGE) {
        // It returns only if it fails. Its standard input is not a stage's socket, so the error
        // goes to standard error.
        if let Err(error) = init::program_stage() {
            eprintln!("{error}");
        }
        return Some(ExitCode::FAILURE);
    }
    let become_stage: fn(&UnixStream) -> Result<(), SandboxError> =
        if stage == OsStr::new(FIRST_STAGE) {
            first_stage
        } else if stage == OsStr::new(SECOND_STAGE) {
            init::second_stage
        } else {
            return None;
        };
    let socket = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(stdin) => UnixStream::from(stdin),
        Err(error) => {
            eprintln!("a sandbox stage is started by fillrate alone: {error}");
            return Some(ExitCode::FAILURE);
        }
    };
    let Err(error) = become_stage(&socket) else {
        return Some(ExitCode::SUCCESS);
    };
    let message = error.to_string();
    if send(&socket, &StageReport::Failed(error.into())).is_err() {
        eprintln!("{message}");
    }
    Some(ExitCode::FAILURE)
}

fn first_stage(socket: &UnixStream) -> Result<(), SandboxError> {
    prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(|errno| SandboxError::setup("tie itself to its caller's life", errno))?;
    close_inherited(socket)?;
    SigSet::empty()
        .thread_set_mask()
        .map_err(|errno| SandboxError::setup("let go of its caller's signal mask", errno))?;
    // In a session of its own it gets no signals of the caller's terminal.
    setsid().map_err(|errno| SandboxError::setup("start a session", errno))?;
    new_namespaces()?;
    let mut child = Command::new("/proc/self/exe")
        .arg(SECOND_STAGE)
        .env_clear()
        .spawn()
        .map_err(|error| SandboxError::setup("start its second stage", error))?;
    let lost = |error: io::Error| SandboxError::Lost {
        reason: error.to_string(),
    };
    let pid = i32::try_from(child.id()).map_err(|error| lost(io::Error::other(error)))?;
    send(socket, &StageReport::Started(pid)).map_err(lost)?;

    // Waits without reaping: until the caller has answered, no other process can get this pid, so
    // the caller never inspects or kills another process.
    let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(Pid::from_raw(pid)), peek) == Err(Errno::EINTR) {}
    send(socket, &StageReport::Gone).map_err(lost)?;
    let mut socket_reader = socket;
    socket_reader.read_to_end(&mut Vec::new()).map_err(lost)?;
    child.wait().map_err(lost)?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|errno| SandboxError::setup("read what the job used", errno))?;
    let microseconds = |time: nix::sys::time::TimeVal| {
        u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000
            + u64::try_from(time.tv_usec()).unwrap_or(0)
    };
    let used = StageReport::Used {
        cpu_us: microseconds(usage.user_time()) + microseconds(usage.system_time()),
        // The kernel counts ru_maxrss in KiB.
        peak_process: u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
    };
    send(socket, &used).map_err(lost)?;
    socket.shutdown(Shutdown::Both).map_err(lost)
}

/// Closes descriptors that the caller's own parent may have left open across its exec: only the
/// standard three may reach the program.
fn close_inherited(socket: &UnixStream) -> Result<(), SandboxError> {
    let open: io::Result<Vec<i32>> = fs::read_dir("/proc/self/fd").and_then(|entries| {
        entries
            .map(|entry| {
                Ok(entry?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok()))
            })
            .filter_map(Result::transpose)
            .collect()
    });
    let open = open.map_err(|error| SandboxError::setup("list its open files", error))?;
    for fd in open {
        if fd > 2 && fd != socket.as_raw_fd() {
            // The listing's own descriptor is among them and closed by now, so one error is
            // expected.
            let _ = close(fd);
        }
    }
    Ok(())
}

fn new_namespaces() -> Result<(), SandboxError> {
    // Read before `unshare`: afterwards both are the overflow id until the maps are written.
    let (uid, gid) = (geteuid(), getegid());
    unshare(
        CloneFlags::CLONE_NEWUSER
            | CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWPID
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWUTS,
    )
    .map_err(|errno| refused_namespaces("new namespaces", errno))?;
    // Hides only the path of the caller's control group, so it may fail on old kernels.
    let _ = unshare(CloneFlags::CLONE_NEWCGROUP);
    // Without rights, `gid_map` can be written only once setgroups(2) is denied,
    // user_namespaces(7).
    for (file, content) in [
        ("setgroups", "deny".to_owned()),
        ("gid_map", format!("{INSIDE_ID} {gid} 1")),
        ("uid_map", format!("{INSIDE_ID} {uid} 1")),
    ] {
        fs::write(format!("/proc/self/{file}"), content)
            .map_err(|error| SandboxError::setup(format!("write its {file}"), error))?;
    }
    // An ordinary user loses the namespace's capabilities on exec unless they are ambient; the
    // second stage needs them to mount and gives them up before it starts the program.
    caps::read(None, CapSet::Permitted)
        .and_then(|all| {
            caps::set(None, CapSet::Inheritable, &all)?;
            caps::set(None, CapSet::Ambient, &all)
        })
        .map_err(|error| refused_namespaces(&format!("capabilities ({error})"), Errno::EPERM))
}
