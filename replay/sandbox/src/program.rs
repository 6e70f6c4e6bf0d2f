//! Starts programs inside and exchanges input and replies with them.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::poll::PollFlags;

use super::Job;

/// The argument that makes the binary the program of a worker's sandbox.
pub(super) const PROGRAM_STAGE: &str = "sandbox-program";
/// User and group of everything inside. A fixed number, so that runs by different people do not
/// differ, and not 0, so that tests see the ordinary user they expect.
pub(super) const INSIDE_ID: u32 = 1000;

/// Sets the environment and the process group with which every program inside is started.
pub(super) fn command(mut command: Command, job: &Job) -> Command {
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/tmp")
        .env("LANG", "C.UTF-8")
        .envs(&job.environment)
        .process_group(0);
    command
}

/// The exchange with a program over its standard input.
#[derive(Debug)]
pub(super) struct InputChannel {
    pub(super) socket: UnixStream,
    /// Input that is not yet written.
    pub(super) left: Vec<u8>,
    pub(super) said: Vec<u8>,
    /// Maximum number of bytes it may write.
    most: u64,
    /// True if the program may still write.
    pub(super) open: bool,
    pub(super) too_much: bool,
}

impl InputChannel {
    /// The channel and the program's end of it.
    pub(super) fn begin(input: &str, most: u64) -> io::Result<(Self, UnixStream)> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut channel = Self {
            socket,
            left: input.as_bytes().to_vec(),
            said: Vec::new(),
            most,
            open: true,
            too_much: false,
        };
        channel.socket.set_nonblocking(true)?;
        channel.write_input();
        Ok((channel, theirs))
    }

    /// Writes input and reads replies as far as possible without blocking.
    pub(super) fn exchange(&mut self) {
        self.write_input();
        let mut bytes = [0; 64 << 10];
        while self.open && !self.too_much {
            match self.socket.read(&mut bytes) {
                Ok(0) => self.open = false,
                Ok(length) => {
                    self.said.extend_from_slice(&bytes[..length]);
                    self.too_much = self.said.len() as u64 > self.most;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.open = false,
            }
        }
    }

    pub(super) fn write_input(&mut self) {
        while !self.left.is_empty() {
            match self.socket.write(&self.left) {
                Ok(length) => drop(self.left.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It no longer listens, which is its own affair.
                Err(_) => self.left.clear(),
            }
        }
    }

    pub(super) fn poll_flags(&self) -> PollFlags {
        if self.left.is_empty() {
            PollFlags::POLLIN
        } else {
            PollFlags::POLLIN | PollFlags::POLLOUT
        }
    }
}
