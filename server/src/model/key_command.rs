//! Runs a program that prints the key, such as a password store.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::Secret;

/// Timeout for a command: a person may have to unlock something first.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of bytes of a command's output; no key is as long.
const MOST_BYTES: u64 = 64 << 10;

/// Runs a program, without a shell, and returns its output as a key.
///
/// # Errors
/// Describes the failure in words that continue "the command"; never contains the output.
pub(super) fn run(command: &[String], timeout: Duration) -> Result<Secret, String> {
    let Some((program, arguments)) = command.split_first() else {
        return Err("is empty".to_owned());
    };
    let until = Instant::now() + timeout;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("can't be started ({program}): {error}"))?;
    let output = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    // A separate thread, as a program that the command left running may keep the output open.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.map(|output| output.take(MOST_BYTES).read_to_end(&mut bytes));
        // The receiver may have timed out.
        let _ = sender.send(read.map(|read| read.map(|_| bytes)));
    });
    let bytes = receiver.recv_timeout(until.saturating_duration_since(Instant::now()));
    let status = ended(&mut child, until);
    let (Ok(bytes), Some(status)) = (bytes, status) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("({program}) did not end within {timeout:?}"));
    };
    if !status.success() {
        return Err(format!("({program}) failed: {status}"));
    }
    let bytes = match bytes {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => return Err(format!("({program}) can't be read: {error}")),
        None => Vec::new(),
    };
    let key = String::from_utf8(bytes)
        .map_err(|_| format!("({program}) printed something that is no text"))?;
    if key.trim().is_empty() {
        return Err(format!("({program}) printed nothing"));
    }
    Ok(Secret::new(&key))
}

/// Waits for a process; `None` if it does not end in time.
fn ended(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Secret, String> {
        let command = ["sh", "-c", script].map(str::to_owned);
        run(&command, Duration::from_secs(20))
    }

    #[test]
    fn output_is_the_key() {
        assert_eq!(shell("echo ' sk-1 '"), Ok(Secret::new("sk-1")));
    }

    #[test]
    fn errors_omit_the_output() {
        let errors = [
            shell("echo sk-1; echo sk-1 >&2; exit 3"),
            shell("true"),
            shell("printf 'sk-1\\377'"),
            run(&[], TIMEOUT),
            run(&["/no/such/program".to_owned()], TIMEOUT),
        ]
        .map(|errors| errors.expect_err("each is a fault"));
        insta::assert_snapshot!(errors.join("\n"), @"
        (sh) failed: exit status: 3
        (sh) printed nothing
        (sh) printed something that is no text
        is empty
        can't be started (/no/such/program): No such file or directory (os error 2)
        ");
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let command = ["sleep", "1000"].map(str::to_owned);
        let errors = run(&command, Duration::from_millis(50)).expect_err("it takes longer");
        assert_eq!(errors, "(sleep) did not end within 50ms");
        // A program that it left running keeps its output open.
        let command = ["sh", "-c", "sleep 2 & echo sk-1"].map(str::to_owned);
        let errors = run(&command, Duration::from_millis(500)).expect_err("it takes longer");
        assert_eq!(errors, "(sh) did not end within 500ms");
    }
}
