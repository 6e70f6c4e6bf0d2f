//! Hostile programs against the real sandbox.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fillrate::sandbox::{Job, Sandbox};
use std::path::PathBuf;

fn sandbox() -> Sandbox {
    Sandbox {
        executable: PathBuf::from(env!("CARGO_BIN_EXE_fillrate")),
    }
}

#[test]
fn smoke() {
    let mut job = Job::new("/bin/sh", "/");
    job.arguments = vec!["-c".into(), "id; ls -la / /dev /etc; cat /proc/self/status; cat /proc/self/mountinfo; env; ls /proc; ip a; python3 -c 'print(1)'; exit 3".into()];
    let f = sandbox().run(&job).unwrap();
    println!(
        "{}\n{}\n{:?} {:?} {:?} {} {}",
        f.stdout.text(),
        f.stderr.text(),
        f.end,
        f.wall,
        f.cpu,
        f.peak_memory,
        f.level
    );
    println!("{}", sandbox().probe().unwrap());
}
