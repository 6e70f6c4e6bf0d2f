//! Pacing of requests to one server: its pauses apply to every request, and a refused key is not
//! sent again.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::model::ModelError;

/// Pause after the first overload without `Retry-After`; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Maximum pause that the server did not request.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Pauses and refusals of one server, for all requests to it.
#[derive(Debug, Default)]
pub(super) struct Pacing(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    block: Option<Block>,
    /// Overloads since the last success.
    overloads: u32,
}

#[derive(Debug)]
struct Block {
    /// End of the pause; `None` until the settings change.
    until: Option<Instant>,
    url: String,
    status: u16,
    body: String,
}

/// Reason why no request is sent now.
#[derive(Debug)]
pub(super) struct Blocked {
    /// The error that caused the block, with the rest of its pause.
    pub(super) error: ModelError,
    /// Rest of the pause; `None` until the settings change.
    pub(super) rest: Option<Duration>,
}

impl Pacing {
    /// Returns the block in force, if any.
    pub(super) fn blocked(&self, now: Instant) -> Option<Blocked> {
        let state = self.0.lock();
        let block = state.block.as_ref()?;
        let rest = match block.until {
            Some(until) => Some(
                until
                    .checked_duration_since(now)
                    .filter(|rest| !rest.is_zero())?,
            ),
            None => None,
        };
        Some(Blocked {
            error: ModelError::Status {
                url: block.url.clone(),
                status: block.status,
                body: block.body.clone(),
                retry_after: rest,
            },
            rest,
        })
    }

    /// Records an error response. After an overload, nothing is sent for the time in `retry_after`,
    /// or else for twice the previous pause. After a refused key, nothing is sent until the
    /// settings change.
    pub(super) fn failed(&self, error: &ModelError, now: Instant) {
        let ModelError::Status {
            url,
            status,
            body,
            retry_after,
        } = error
        else {
            return;
        };
        let mut state = self.0.lock();
        let until = match status {
            401 => None,
            429 | 503 | 529 => {
                // A longer shift could overflow, and the pause is bounded anyway.
                let doubled = FIRST_PAUSE.saturating_mul(1 << state.overloads.min(16));
                state.overloads += 1;
                let pause = retry_after.unwrap_or(doubled.min(LONGEST_PAUSE));
                // A pause beyond the clock's range blocks without end.
                now.checked_add(pause)
            }
            _ => return,
        };
        state.block = Some(Block {
            until,
            url: url.clone(),
            status: *status,
            body: body.clone(),
        });
    }

    /// Records a success.
    pub(super) fn succeeded(&self) {
        *self.0.lock() = State::default();
    }

    /// True once the key was refused.
    pub(super) fn is_refused(&self) -> bool {
        let state = self.0.lock();
        state
            .block
            .as_ref()
            .is_some_and(|block| block.status == 401)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16, retry_after: Option<Duration>) -> ModelError {
        ModelError::Status {
            url: "http://h".to_owned(),
            status,
            body: "busy".to_owned(),
            retry_after,
        }
    }

    #[test]
    fn pauses_double_until_a_success() {
        let pacing = Pacing::default();
        let mut now = Instant::now();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            pacing.failed(&status(429, None), now);
            let blocked = pacing.blocked(now).expect("it is blocked");
            let rest = blocked.rest.expect("it ends");
            pauses.push(rest.as_millis());
            now += rest;
            assert!(pacing.blocked(now).is_none());
        }
        assert_eq!(pauses[..3], [250, 500, 1000]);
        assert_eq!(pauses[9], 60_000);
        pacing.succeeded();
        pacing.failed(&status(503, None), now);
        let rest = pacing.blocked(now).expect("it is blocked").rest;
        assert_eq!(rest, Some(Duration::from_millis(250)));
    }

    #[test]
    fn retry_after_is_kept_to_its_end() {
        let pacing = Pacing::default();
        let now = Instant::now();
        pacing.failed(&status(429, Some(Duration::from_secs(30))), now);
        let blocked = pacing.blocked(now + Duration::from_secs(10));
        let error = blocked.expect("it is blocked").error;
        assert_eq!(error.retry_after(), Some(Duration::from_secs(20)));
        assert!(pacing.blocked(now + Duration::from_secs(30)).is_none());
    }

    #[test]
    fn refused_key_blocks_without_end() {
        let pacing = Pacing::default();
        let now = Instant::now();
        pacing.failed(&status(401, None), now);
        let later = now + Duration::from_secs(1 << 20);
        assert!(pacing.blocked(later).expect("it is blocked").rest.is_none());
        assert!(pacing.is_refused());
        pacing.succeeded();
        for other in [400, 404, 500, 502] {
            pacing.failed(&status(other, None), now);
            assert!(pacing.blocked(now).is_none(), "{other}");
        }
    }
}
