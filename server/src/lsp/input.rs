//! Input that notifies when it ends, as the client has then disconnected.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

/// Notifies when the wrapped reader ends. At the end of its input, `transport` itself waits for every
/// pending response, although the client has disconnected and a model may take long.
pub(super) struct EndNotifyingReader<R> {
    inner: R,
    ended: Arc<Notify>,
}

impl<R> EndNotifyingReader<R> {
    /// Notifies `ended` at the end of `inner` or when reading it fails.
    pub(super) fn new(inner: R, ended: Arc<Notify>) -> Self {
        Self { inner, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for EndNotifyingReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let room = buffer.remaining();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        // An empty buffer reads nothing without being at the end.
        if let Poll::Ready(outcome) = &read
            && room > 0
            && (outcome.is_err() || buffer.filled().len() == before)
        {
            self.ended.notify_one();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn end_of_input_notifies_once_reached() {
        let ended = Arc::new(Notify::new());
        let mut input = EndNotifyingReader::new(&b"ab"[..], Arc::clone(&ended));
        let notified = |ended: &Notify| {
            let mut context = Context::from_waker(futures::task::noop_waker_ref());
            std::pin::pin!(ended.notified())
                .as_mut()
                .poll(&mut context)
                .is_ready()
        };
        let mut bytes = [0; 2];
        input.read_exact(&mut bytes).await.expect("there are two");
        assert!(!notified(&ended));
        assert_eq!(
            input.read(&mut bytes).await.expect("the end is no error"),
            0
        );
        assert!(notified(&ended));
    }
}
