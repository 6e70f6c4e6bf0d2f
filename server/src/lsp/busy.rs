//! Notifies the client while a model call takes long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::reporting::report;
use super::session::EditorSession;
use super::status::ServerState;

/// Duration of a request after which the client is notified that a model is generating.
const BUSY_AFTER: Duration = Duration::from_millis(100);

/// Reports the state `asking` if the guard lives longer than [`BUSY_AFTER`], and `ready` when it is
/// dropped.
pub(super) struct BusyGuard {
    session: Arc<EditorSession>,
    reported: Arc<AtomicBool>,
    timer: tokio::task::AbortHandle,
}

impl BusyGuard {
    pub(super) fn new(session: &Arc<EditorSession>) -> Self {
        let reported = Arc::new(AtomicBool::new(false));
        let timer = {
            let (session, reported) = (Arc::clone(session), Arc::clone(&reported));
            tokio::spawn(async move {
                tokio::time::sleep(BUSY_AFTER).await;
                reported.store(true, Ordering::Relaxed);
                report(&session, ServerState::Asking).await;
            })
        };
        Self {
            session: Arc::clone(session),
            reported,
            timer: timer.abort_handle(),
        }
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.timer.abort();
        // Another request may have reported a newer state, which must stay.
        let is_busy = self.session.state().is_some_and(|session| {
            let status = session.status.as_ref();
            status.is_some_and(|status| status.state == ServerState::Asking)
        });
        if self.reported.load(Ordering::Relaxed) && is_busy {
            let session = Arc::clone(&self.session);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { report(&session, ServerState::Ready).await });
            }
        }
    }
}
