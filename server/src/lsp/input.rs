//! Standard input that says when it has come to its end: the client is gone.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

/// A reader around another. tower-lsp, when its input ends, waits for every answer that is under
/// way; a model may take long over one that nobody reads any more.
pub(super) struct Input<R> {
    inner: R,
    ended: Arc<Notify>,
}

impl<R> Input<R> {
    /// `ended` is told when there is nothing more to read.
    pub(super) fn new(inner: R, ended: Arc<Notify>) -> Self {
        Self { inner, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let room = buffer.remaining();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
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
    async fn the_end_is_told_and_nothing_before_it() {
        let ended = Arc::new(Notify::new());
        let mut input = Input::new(&b"ab"[..], Arc::clone(&ended));
        let told = |ended: &Notify| {
            let mut context = Context::from_waker(futures::task::noop_waker_ref());
            std::pin::pin!(ended.notified())
                .as_mut()
                .poll(&mut context)
                .is_ready()
        };
        let mut bytes = [0; 2];
        input.read_exact(&mut bytes).await.expect("there are two");
        assert!(!told(&ended));
        assert_eq!(
            input.read(&mut bytes).await.expect("the end is no error"),
            0
        );
        assert!(told(&ended));
    }
}
