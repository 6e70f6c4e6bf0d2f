//! The first response of a local server, which may have to load the model first. Some servers abort
//! the load if the client disconnects, so the request continues when the person's is cancelled.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// State of a server's first response.
#[derive(Debug)]
pub(super) struct Loading {
    /// Timeout for the first response; `None` if the server loads no model.
    timeout: Option<Duration>,
    state: Arc<watch::Sender<LoadState>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadState {
    /// No request is running.
    Cold,
    /// A request waits for the first response; others wait for it.
    Loading,
    /// The server has responded.
    Warm,
}

/// The right to send the first request. Dropping it frees the right for another request.
#[derive(Debug)]
pub(super) struct LoadLead(Arc<watch::Sender<LoadState>>);

impl Loading {
    pub(super) fn new(timeout: Option<Duration>) -> Self {
        Self {
            timeout,
            state: Arc::new(watch::Sender::new(LoadState::Cold)),
        }
    }

    /// Timeout for the first response; `None` once there was one.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout
            .filter(|_| *self.state.borrow() != LoadState::Warm)
    }

    /// True while a request waits for the first response.
    pub(super) fn is_under_way(&self) -> bool {
        *self.state.borrow() == LoadState::Loading
    }

    /// Acquires the right to send the first request, after any other request that has it. `None`
    /// once there was a response.
    pub(super) async fn lead(&self) -> Option<LoadLead> {
        self.timeout?;
        let mut changes = self.state.subscribe();
        loop {
            // Check and change are one step, so that only one of several requests leads.
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
            // If the leading request fails, the state is cold again, and another request leads.
            let state = changes.wait_for(|state| *state != LoadState::Loading).await;
            if state.is_ok_and(|state| *state == LoadState::Warm) {
                return None;
            }
        }
    }
}

impl LoadLead {
    /// Records the first response.
    pub(super) fn answered(self) {
        self.0.send_replace(LoadState::Warm);
    }
}

impl Drop for LoadLead {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            // After `answered` the state is warm, and dropping the right changes nothing.
            let is_open = *state == LoadState::Loading;
            if is_open {
                *state = LoadState::Cold;
            }
            is_open
        });
    }
}
