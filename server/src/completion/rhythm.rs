//! Decides how long to wait for the next key before a model is called: a pure state machine over
//! the times of a person's edits. It is public so that a replay with a simulated clock waits as
//! long as a server would.

use std::time::Duration;

/// The typing rhythm in one document. Times are relative to any fixed moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rhythm {
    /// Time of the last key.
    last: Option<Duration>,
    /// Usual time between two keys of a burst, a moving average.
    interval: Option<Duration>,
    /// True if the last edit was one key of a burst, not a paste, an accept or a first key.
    in_burst: bool,
}

/// Usual time of a model call, in milliseconds: a moving average over its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelTime(Option<f64>);

/// Maximum usual time of a model that is called at every key: waiting would save too little.
const SOON_MS: f64 = 20.0;

/// Minimum time between two keys that counts as a pause, which says nothing about the rhythm within
/// a burst. Nine of ten intervals within words are shorter, even for slow typists (Dhakal et al.,
/// "Observations on typing from 136 million keystrokes", CHI 2018,
/// <https://doi.org/10.1145/3173574.3174220>).
const PAUSE: Duration = Duration::from_millis(500);

/// Weight of the newest interval in the moving average, which thus covers about five keys.
const NEWEST: f64 = 0.3;

/// Ratio of the wait to the usual interval, as keys come unevenly.
const MARGIN: f64 = 1.2;

/// Maximum number of bytes that one key inserts or removes: the longest character has four, and an
/// editor that closes a bracket adds one.
const KEY_BYTES: usize = 4;

impl Rhythm {
    /// Records an edit by which the text grew or shrank by this many bytes.
    pub fn edited(&mut self, at: Duration, bytes: usize) {
        let since = self.last.and_then(|last| at.checked_sub(last));
        self.in_burst = false;
        if let Some(since) = since.filter(|since| bytes <= KEY_BYTES && *since < PAUSE) {
            self.in_burst = true;
            self.interval = Some(match self.interval {
                Some(usual) => usual.mul_f64(1.0 - NEWEST) + since.mul_f64(NEWEST),
                None => since,
            });
        }
        self.last = Some(at);
    }

    /// Returns the usual time between two keys of a burst, in milliseconds, and true if the last
    /// edit was one of a burst.
    pub fn tempo(&self) -> (Option<f64>, bool) {
        let interval = self.interval.map(|usual| usual.as_secs_f64() * 1000.0);
        (interval, self.in_burst)
    }

    /// Returns the time to wait from `now` for a key that would make a request useless, at most
    /// `most` after the last key. Zero after a pause, after an edit that was not typing, and if the
    /// person types so slowly that the next key comes after `most` anyway.
    pub fn delay(&self, now: Duration, most: Duration) -> Duration {
        let (Some(last), Some(usual), true) = (self.last, self.interval, self.in_burst) else {
            return Duration::ZERO;
        };
        let expected = usual.mul_f64(MARGIN);
        if expected > most {
            return Duration::ZERO;
        }
        (last + expected).saturating_sub(now)
    }
}

impl ModelTime {
    /// Records the duration of a call.
    pub fn took(&mut self, milliseconds: f64) {
        self.0 = Some(
            self.0
                .map_or(milliseconds, |usual| 0.8 * usual + 0.2 * milliseconds),
        );
    }

    /// True if the model answers so fast that no key is waited for.
    pub fn is_short(self) -> bool {
        self.0.is_some_and(|usual| usual < SOON_MS)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: Duration = Duration::from_millis(150);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Returns the rhythm after keys typed at these times.
    fn typed(times: &[u64]) -> Rhythm {
        let mut rhythm = Rhythm::default();
        for time in times {
            rhythm.edited(ms(*time), 1);
        }
        rhythm
    }

    #[test]
    fn delay_in_a_burst_follows_its_interval() {
        let rhythm = typed(&[0, 80, 160, 240]);
        assert_eq!(rhythm.delay(ms(240), MOST), ms(96));
        assert_eq!(rhythm.delay(ms(300), MOST), ms(36));
        assert_eq!(rhythm.delay(ms(336), MOST), Duration::ZERO);
    }

    #[test]
    fn first_key_and_key_after_a_pause_have_no_delay() {
        assert_eq!(typed(&[0]).delay(ms(0), MOST), Duration::ZERO);
        assert_eq!(
            typed(&[0, 80, 160, 2000]).delay(ms(2000), MOST),
            Duration::ZERO
        );
    }

    #[test]
    fn slow_typing_has_no_delay() {
        assert_eq!(
            typed(&[0, 300, 600, 900]).delay(ms(900), MOST),
            Duration::ZERO
        );
    }

    #[test]
    fn accept_and_paste_have_no_delay() {
        let mut rhythm = typed(&[0, 80, 160]);
        rhythm.edited(ms(200), 20);
        assert_eq!(rhythm.delay(ms(200), MOST), Duration::ZERO);
    }

    #[test]
    fn the_rhythm_adapts() {
        let mut times: Vec<u64> = (0..20).map(|key| key * 120).collect();
        let slow = typed(&times).delay(ms(19 * 120), MOST);
        times.extend((1..20).map(|key| 19 * 120 + key * 60));
        let fast = typed(&times).delay(ms(19 * 120 + 19 * 60), MOST);
        assert_eq!(slow, ms(144));
        assert!(fast < ms(80), "{fast:?}");
    }

    proptest! {
        #[test]
        fn delay_never_exceeds_the_maximum(
            gaps in prop::collection::vec((0u64..2000, 0usize..9), 0..50),
            later in 0u64..500,
            most in 0u64..400,
        ) {
            let mut rhythm = Rhythm::default();
            let mut now = Duration::ZERO;
            for (gap, bytes) in gaps {
                now += ms(gap);
                rhythm.edited(now, bytes);
            }
            prop_assert!(rhythm.delay(now + ms(later), ms(most)) <= ms(most));
        }
    }
}
