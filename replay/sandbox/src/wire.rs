//! Messages between the caller and the two stages: JSON frames, each after its length as four
//! little-endian bytes, over the socket that is the stages' standard input.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::changes::FileChanges;
use super::{Captured, End, Job, Level, MemoryControl, OverlayKind, Replaced, SandboxError};

/// From the stages to the caller.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StageReport {
    /// First stage: pid 1 of the sandbox exists, under this pid outside.
    Started(i32),
    /// Second stage: the root is built and the program is about to start.
    Ready(OverlayKind),
    /// Second stage: the number of lines of the program's reply that are counted. The program can
    /// write any lines, so that the number is only good to be shown.
    Counted(usize),
    /// Second stage: the program ended; the base64 files are in the order of the request.
    Ended {
        /// The program's status.
        status: ProgramStatus,
        /// Bytes that the program wrote to its standard input, in base64.
        reply: String,
        /// Changes that the program made to files.
        files: FileChanges,
        /// Contents of [`Job::collect`], `None` for a file that can't be taken.
        collected: Vec<Option<String>>,
    },
    /// First stage: pid 1 and with it everything inside is dead, but not yet reaped, so that its
    /// pid stays its own until the caller closes its side for writing.
    Gone,
    /// First stage, last report: resources that the dead tree used.
    Used {
        /// User and system time in microseconds.
        cpu_us: u64,
        /// The largest resident size of any one process, in bytes.
        peak_process: u64,
    },
    /// Second stage of a spare's or worker's sandbox: the program waits.
    Idle,
    /// Second stage of a spare's or worker's sandbox: everything is new and a run begins.
    Begun,
    /// Second stage of a worker's sandbox: a run is over and nothing of it is left.
    RunOver {
        /// The status with which it ended.
        status: ProgramStatus,
        /// As in [`StageReport::Ended`].
        reply: String,
        /// As in [`StageReport::Ended`].
        files: FileChanges,
        stdout: Captured,
        stderr: Captured,
        /// True if the waiting program is dead, so that no other run follows.
        last: bool,
    },
    /// Either stage: it gives up.
    Failed(Failure),
}

/// The program's own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ProgramStatus {
    Exited(i32),
    Signalled(i32),
    /// It was killed because it wrote more than its limit.
    SaidTooMuch,
}

impl ProgramStatus {
    pub(super) fn end(self) -> End {
        match self {
            Self::Exited(code) => End::Exited(code),
            Self::Signalled(signal) => End::Signalled(signal),
            Self::SaidTooMuch => End::TooMuchOutput,
        }
    }
}

/// A [`SandboxError`] on its way out of a stage.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    BelowLevel { refused: String, remedy: String },
    Program { program: String, reason: String },
    Unfit { reason: String },
    Job { reason: String },
    Setup { step: String, reason: String },
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::BelowLevel { refused, remedy } => Self::BelowLevel { refused, remedy },
            SandboxError::Program { program, reason } => Self::Program { program, reason },
            SandboxError::Unfit { reason } => Self::Unfit { reason },
            SandboxError::Job { reason } => Self::Job { reason },
            SandboxError::Setup { step, reason } => Self::Setup { step, reason },
            SandboxError::Lost { reason } => Self::Setup {
                step: "reach its caller".into(),
                reason,
            },
        }
    }
}

impl From<Failure> for SandboxError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::BelowLevel { refused, remedy } => Self::BelowLevel { refused, remedy },
            Failure::Program { program, reason } => Self::Program { program, reason },
            Failure::Unfit { reason } => Self::Unfit { reason },
            Failure::Job { reason } => Self::Job { reason },
            Failure::Setup { step, reason } => Self::Setup { step, reason },
        }
    }
}

/// From the caller to the second stage.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StageOrder {
    /// The job to run.
    pub(super) job: Job,
    /// The mechanism that limits memory, chosen outside; part of the level.
    pub(super) memory: MemoryControl,
    /// Number and time of the program's runs.
    pub(super) course: Course,
    /// The text at whose occurrence a line of the reply is counted; `None` counts none.
    pub(super) counted: Option<String>,
}

/// Number and time of the runs of a sandbox's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Course {
    /// At once, and once.
    Once,
    /// Once: it is started, and waits for its input.
    Spare,
    /// In the runs of a worker's sandbox, which is kept.
    Worker,
}

/// From the caller to the second stage of a spare's or worker's sandbox, in answer to
/// [`StageReport::Idle`] or [`StageReport::RunOver`]: begin a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunRequest {
    /// Laid over the overlays, in their order; a worker's over the first only.
    pub(super) replaced: Vec<Vec<Replaced>>,
    /// [`Job::input`] of the run.
    pub(super) input: String,
    /// True if the waiting program answers the input itself, with a line: it does not fork, and
    /// nothing is made anew.
    pub(super) without_fork: bool,
}

impl StageOrder {
    /// The level reached with this kind of overlay.
    pub(super) fn level(&self, overlay: OverlayKind) -> Level {
        Level {
            overlay,
            memory: self.memory,
        }
    }
}

/// From the caller to the second stage, in answer to [`StageReport::Ready`]: start the program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartSignal;

/// Writes one frame.
pub(super) fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&body);
    to.write_all(&frame)
}

/// Reads one frame, waiting for it.
pub(super) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut body = Vec::new();
    let length = u64::from(u32::from_le_bytes(length));
    let read = from.take(length).read_to_end(&mut body)?;
    if read as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&body)?)
}

/// Removes the first complete frame from `buffer` and returns it, if there is one.
pub(super) fn take<T: DeserializeOwned>(buffer: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some((length, rest)) = buffer.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    let Some(body) = rest.get(..length) else {
        return Ok(None);
    };
    let message = serde_json::from_slice(body)?;
    buffer.drain(..4 + length);
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overlay;

    #[test]
    fn a_job_survives_the_wire_whatever_bytes_it_carries() {
        let mut job = Job::new("python3", "/repo");
        job.overlays
            .push(Overlay::new("/host", "/repo").replacing("a.py", (0..=255).collect::<Vec<u8>>()));
        let mut bytes = Vec::new();
        send(&mut bytes, &job).unwrap();
        assert_eq!(receive::<Job>(&bytes[..]).unwrap(), job);
        assert_eq!(take::<Job>(&mut bytes).unwrap(), Some(job));
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_frame_is_taken_only_when_it_is_whole() {
        let mut whole = Vec::new();
        send(&mut whole, &StageReport::Gone).unwrap();
        for cut in 0..whole.len() {
            let mut part = whole[..cut].to_vec();
            assert!(take::<StageReport>(&mut part).unwrap().is_none());
            assert_eq!(part.len(), cut);
            assert!(receive::<StageReport>(&part[..]).is_err());
        }
    }
}
