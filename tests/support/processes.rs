//! What processes are left after a program has ended.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// Makes this process the one that orphans below it come to, so that none can hide. Call it
/// before the first program is started.
pub(crate) fn adopt_orphans() {
    prctl::set_child_subreaper(true).unwrap();
}

/// Waits up to ten seconds for everything below this process to be gone; what is not, by command
/// line. To be called while no program is meant to run.
pub(crate) fn survivors() -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = descendants();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command lines of the living processes below this one; dead ones that came to it are
/// buried.
fn descendants() -> Vec<String> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        // A process that has just gone has no status any more.
        let Ok(status) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // `ID (NAME) STATE PARENT …`, and the name may hold anything.
        let mut fields = status.rsplit(") ").next().unwrap().split(' ');
        let state = fields.next().unwrap().to_owned();
        let parent: i32 = fields.next().unwrap().parse().unwrap();
        processes.push((id, parent, state));
    }
    let own = Pid::this().as_raw();
    let mut below = vec![own];
    let mut index = 0;
    while let Some(parent) = below.get(index).copied() {
        below.extend(
            processes
                .iter()
                .filter(|(_, of, _)| *of == parent)
                .map(|(id, ..)| *id),
        );
        index += 1;
    }
    processes
        .iter()
        .filter(|(id, ..)| *id != own && below.contains(id))
        .filter(|(id, _, state)| {
            if state == "Z" {
                let _ = waitpid(Pid::from_raw(*id), Some(WaitPidFlag::WNOHANG));
            }
            state != "Z"
        })
        .map(|(id, ..)| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            format!(
                "{id}: {}",
                String::from_utf8_lossy(&line).replace('\0', " ")
            )
        })
        .collect()
}
