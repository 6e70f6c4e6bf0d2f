//! The first answer of a server of one's own, which may have to load the model before: some abort
//! the load when the client hangs up, so the request goes on without the person's.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// State of a server's first answer.
#[derive(Debug)]
pub(super) struct Loading {
    /// Timeout for the first answer; `None` if the server is not waited for.
    timeout: Option<Duration>,
    state: Arc<watch::Sender<LoadState>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadState {
    /// No request is under way.
    Cold,
    /// A request waits for the first answer; others join it.
    Loading,
    /// The server has answered.
    Warm,
}

/// The right to send the first request. Dropping it passes the right on.
#[derive(Debug)]
pub(super) struct LoadLead(Arc<watch::Sender<LoadState>>);

impl Loading {
    pub(super) fn new(timeout: Option<Duration>) -> Self {
        Self {
            timeout,
            state: Arc::new(watch::Sender::new(LoadState::Cold)),
        }
    }

    /// Timeout for the first answer, while there has been none.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout
            .filter(|_| *self.state.borrow() != LoadState::Warm)
    }

    /// True while a request waits for the first answer.
    pub(super) fn is_under_way(&self) -> bool {
        *self.state.borrow() == LoadState::Loading
    }

    /// Waits while another request waits for the first answer. `None` once there has been one.
    pub(super) async fn lead(&self) -> Option<LoadLead> {
        self.timeout?;
        let mut changes = self.state.subscribe();
        loop {
            let leads = self.state.send_if_modified(|state| {
                let is_cold = *state == LoadState::Cold;
                if is_cold {
                    *state = LoadState::Loading;
                }
                is_cold
            });
            if leads {
                return Some(LoadLead(Arc::clone(&self.state)));
            }
            let state = changes.wait_for(|state| *state != LoadState::Loading).await;
            if state.is_ok_and(|state| *state == LoadState::Warm) {
                return None;
            }
        }
    }
}

impl LoadLead {
    /// Takes note of the first answer.
    pub(super) fn answered(self) {
        self.0.send_replace(LoadState::Warm);
    }
}

impl Drop for LoadLead {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            let is_open = *state == LoadState::Loading;
            if is_open {
                *state = LoadState::Cold;
            }
            is_open
        });
    }
}
