//! Processes that end with their test, and those left over after a program has ended.

use std::fs;
use std::net::TcpListener;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use crate::support::programs::print_uncaptured;

/// A program that ends with the test, however that ends.
pub(crate) struct RunningProgram(pub(crate) Child);

impl Deref for RunningProgram {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for RunningProgram {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port on which nothing listens: it was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Runs the rest of the calling test in a process of its own, in which no other test starts
/// programs. That process adopts the orphans below it, so that [`survivors`] lists exactly what the
/// test left running. The first statement of a test.
macro_rules! own_process {
    () => {
        // The name of a closure's type holds the name of the function around it.
        let name = std::any::type_name_of_val(&|| ());
        if !crate::support::processes::is_own_process(name) {
            return;
        }
    };
}
pub(crate) use own_process;

/// True if this process is the one for the test alone. If it isn't, runs the test in one, where
/// this returns true, and checks that it passes there.
#[track_caller]
pub(crate) fn is_own_process(closure: &str) -> bool {
    const MARKER: &str = "FILLRATE_TEST_OWN_PROCESS";
    if std::env::var_os(MARKER).is_some() {
        prctl::set_child_subreaper(true).unwrap();
        return true;
    }
    let path = closure.strip_suffix("::{{closure}}").unwrap();
    let (_, name) = path.split_once("::").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(MARKER, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    // A name that selects no test exits with 0 as well.
    let passed = output.status.success() && printed.contains("test result: ok. 1 passed");
    assert!(passed, "{name}: {}\n{printed}{errors}", output.status);
    for line in errors.lines().filter(|line| line.starts_with("skipped: ")) {
        print_uncaptured(line);
    }
    false
}

/// Waits up to ten seconds for all descendants of this process to end; returns the command lines of
/// the others. To be called in an [`own_process`], while no program is meant to run.
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

/// The command lines of the living processes below this one; reaps adopted
/// zombies.
fn descendants() -> Vec<String> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        // A process that has just ended has no status.
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
