//! Tasks that belong to a request.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

/// A separate task that is aborted, with its HTTP exchange, when this value is dropped.
///
/// Completions need computation, so they run outside the one task that all handlers share.
pub(super) struct AbortOnDrop<T>(JoinHandle<T>);

impl<T: Send + 'static> AbortOnDrop<T> {
    /// Spawns a task.
    pub(super) fn spawn(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(future))
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for AbortOnDrop<T> {
    /// `None` if the runtime is shutting down. A panic of the task continues in the awaiting task.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map(|joined| match joined {
                Ok(value) => Some(value),
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    Err(_) => None,
                },
            })
    }
}
