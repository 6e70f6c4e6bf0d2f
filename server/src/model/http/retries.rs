//! Decides if a failed request is retried, and after which pause.

use std::time::{Duration, SystemTime};

use rand::Rng;

/// Pause before the first retry, without jitter; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Maximum pause that the server did not request.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Fault that prevented a response, as far as retries depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestFault {
    /// The connection was refused.
    Refused,
    /// The connection closed before the response began, as an idle one may at any time.
    Closed,
    /// An HTTP status, and the `Retry-After` of the server.
    Status(u16, Option<Duration>),
}

/// Number of remaining retries, and a source of jitter.
#[derive(Debug)]
pub(super) struct Retries<R> {
    left: u32,
    pause: Duration,
    random: R,
}

impl<R: Rng> Retries<R> {
    pub(super) fn new(most: u32, random: R) -> Self {
        Self {
            left: most,
            pause: FIRST_PAUSE,
            random,
        }
    }

    /// Returns the pause before the next request, or `None` if there should be none: the fault is
    /// not temporary, no retries are left, or the pause would exceed `remaining`, the rest of the
    /// timeout.
    ///
    /// Pauses double, with jitter over their upper half, so that many clients that failed at once
    /// don't return at once:
    /// <https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/>. A pause
    /// is at least the server's `Retry-After`.
    pub(super) fn pause(&mut self, fault: RequestFault, remaining: Duration) -> Option<Duration> {
        let retry_after = match fault {
            RequestFault::Refused | RequestFault::Closed => Duration::ZERO,
            RequestFault::Status(429 | 500 | 502 | 503 | 504 | 529, retry_after) => {
                retry_after.unwrap_or_default()
            }
            RequestFault::Status(..) => return None,
        };
        self.left = self.left.checked_sub(1)?;
        // 53 random bits give every fraction that a double represents evenly in [0, 1).
        let fraction = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let jittered = self.pause.mul_f64(0.5 + fraction / 2.0);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        let pause = if retry_after.is_zero() {
            jittered
        } else {
            // The jitter spreads clients that all got the same time.
            retry_after.saturating_add(jittered - jittered / 2)
        };
        (pause < remaining).then_some(pause)
    }
}

/// Parses a `Retry-After` header: seconds, or a date; `None` if the date has passed.
/// <https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    date.duration_since(now).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn retries(most: u32, seed: u64) -> Retries<ChaCha8Rng> {
        Retries::new(most, ChaCha8Rng::seed_from_u64(seed))
    }

    #[test]
    fn only_temporary_faults_are_retried() {
        let again: Vec<u16> = (100..600)
            .filter(|&status| {
                retries(1, 0)
                    .pause(RequestFault::Status(status, None), LONG)
                    .is_some()
            })
            .collect();
        assert_eq!(again, [429, 500, 502, 503, 504, 529]);
        for fault in [RequestFault::Refused, RequestFault::Closed] {
            assert!(retries(1, 0).pause(fault, LONG).is_some());
        }
    }

    #[test]
    fn retries_are_limited() {
        for most in 0..4 {
            let mut retries = retries(most, 1);
            let count = (0..10)
                .filter(|_| retries.pause(RequestFault::Refused, LONG).is_some())
                .count();
            assert_eq!(count, most as usize);
        }
    }

    #[test]
    fn retry_after_beyond_the_remaining_time_ends_retries() {
        let retry_after = Some(Duration::from_secs(20));
        let fault = RequestFault::Status(429, retry_after);
        assert!(
            retries(3, 0)
                .pause(fault, Duration::from_secs(10))
                .is_none()
        );
        assert!(
            retries(3, 0)
                .pause(fault, Duration::from_secs(30))
                .is_some()
        );
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(retry_after(" 120 ", now), Some(Duration::from_secs(120)));
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now),
            Some(Duration::from_secs(10))
        );
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:27 GMT", now), None);
        assert_eq!(retry_after("-1", now), None);
        assert_eq!(retry_after("soon", now), None);
    }

    proptest! {
        #[test]
        fn pauses_double_within_their_jitter(seed: u64, retry_after in 0u64..100) {
            let mut plain = retries(5, seed);
            let mut with_retry_after = retries(5, seed);
            let retry_after = Duration::from_secs(retry_after);
            for nth in 0..5 {
                let most = FIRST_PAUSE * 2u32.pow(nth);
                let pause = plain.pause(RequestFault::Refused, LONG).expect("there is time");
                prop_assert!(pause >= most / 2 && pause <= most, "{pause:?} of {most:?}");
                let pause = with_retry_after
                    .pause(RequestFault::Status(503, Some(retry_after)), LONG)
                    .expect("there is time");
                prop_assert!(pause >= retry_after && pause <= retry_after + most, "{pause:?} for {retry_after:?}");
            }
        }

        #[test]
        fn no_pause_is_longer_than_the_remaining_time(seed: u64, remaining in 0u64..1000) {
            let remaining = Duration::from_millis(remaining);
            let mut retries = retries(9, seed);
            while let Some(pause) = retries.pause(RequestFault::Refused, remaining) {
                prop_assert!(pause < remaining);
            }
        }
    }
}
