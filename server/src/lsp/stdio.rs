//! Asynchronous standard input and output.
//!
//! tokio's own versions read and write on separate threads, so that every message waits twice for a
//! thread to wake. Editors give a language server pipes or sockets, which need no threads.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as BlockingStream;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

/// Opens standard input.
pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    // A copy of the descriptor, as a pipe or stream closes its own when it is dropped.
    let descriptor = || io::stdin().as_fd().try_clone_to_owned();
    if let Ok(pipe) = descriptor().and_then(Receiver::from_owned_fd) {
        Box::new(pipe)
    } else if let Ok(stream) = descriptor().and_then(stream) {
        Box::new(stream)
    } else {
        Box::new(tokio::io::stdin())
    }
}

/// Opens standard output.
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

/// Opens a Unix socket. Fails if the descriptor is anything else, such as a file or a terminal.
fn stream(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let stream = BlockingStream::from(descriptor);
    // Only a socket has an address.
    stream.local_addr()?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
