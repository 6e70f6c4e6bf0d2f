//! Output that notifies when it fails, as the client has then disconnected.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::sync::Notify;

/// Notifies when the wrapped writer fails, and discards everything from then on.
pub(super) struct EndNotifyingWriter<W> {
    /// `None` once it has failed.
    inner: Option<W>,
    ended: Arc<Notify>,
}

impl<W> EndNotifyingWriter<W> {
    /// Notifies `ended` when writing to `inner` fails.
    pub(super) fn new(inner: W, ended: Arc<Notify>) -> Self {
        Self {
            inner: Some(inner),
            ended,
        }
    }

    /// Runs an operation of the wrapped writer; `discarded` is the result once it has failed.
    fn poll<T>(
        &mut self,
        discarded: T,
        operation: impl FnOnce(&mut W) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Some(inner) = &mut self.inner {
            let outcome = operation(inner);
            if !matches!(outcome, Poll::Ready(Err(_))) {
                return outcome;
            }
            self.inner = None;
            self.ended.notify_one();
        }
        Poll::Ready(Ok(discarded))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for EndNotifyingWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(bytes.len(), |inner| {
            Pin::new(inner).poll_write(context, bytes)
        })
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll((), |inner| Pin::new(inner).poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll((), |inner| Pin::new(inner).poll_shutdown(context))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn failed_output_notifies_and_discards() {
        let (client, server) = tokio::io::duplex(64);
        let ended = Arc::new(Notify::new());
        let mut output = EndNotifyingWriter::new(server, Arc::clone(&ended));
        output.write_all(b"ab").await.expect("there is a reader");
        drop(client);
        output.write_all(b"cd").await.expect("it is discarded");
        output.flush().await.expect("it is discarded");
        ended.notified().await;
    }
}
