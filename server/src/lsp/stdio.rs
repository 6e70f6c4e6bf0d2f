//! Standard input and output as the runtime polls them.
//!
//! tokio's own read and write on threads beside the runtime, so that every message waits for a
//! thread to wake, twice. Editors give a language server pipes or sockets, which need no threads.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as BlockingStream;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

/// Standard input.
pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    let descriptor = || io::stdin().as_fd().try_clone_to_owned();
    if let Ok(pipe) = descriptor().and_then(Receiver::from_owned_fd) {
        Box::new(pipe)
    } else if let Ok(stream) = descriptor().and_then(stream) {
        Box::new(stream)
    } else {
        Box::new(tokio::io::stdin())
    }
}

/// Standard output.
pub(super) fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    let descriptor = || io::stdout().as_fd().try_clone_to_owned();
    if let Ok(pipe) = descriptor().and_then(Sender::from_owned_fd) {
        Box::new(pipe)
    } else if let Ok(stream) = descriptor().and_then(stream) {
        Box::new(stream)
    } else {
        Box::new(tokio::io::stdout())
    }
}

/// A Unix socket; an error if the descriptor is anything else, such as a file or a terminal.
fn stream(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let stream = BlockingStream::from(descriptor);
    stream.local_addr()?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
