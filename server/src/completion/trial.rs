//! Draws the model of a trial: a pure function of the trial's seed and a key.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::configuration::{TrialSettings, TrialUnit};

/// The models that were drawn for a completion in a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialAssignment {
    /// The trial's models, by their names in the configuration.
    pub models: Vec<String>,
    /// Unit for which the models were drawn.
    pub unit: TrialUnit,
    /// The trial's seed.
    pub seed: u64,
    /// True if the models are hidden from the person.
    pub blind: bool,
    /// The drawn models: one, or the two of a pair in the order of their candidates.
    pub asked: Vec<String>,
    /// For each candidate, the index into `asked` of its model. In pairs, equal texts of both
    /// models are one candidate, which says nothing about either.
    pub whose: Vec<usize>,
}

/// Draws a number below `choices`. It is the same for the same seed and key, and independent for
/// different keys: the first eight bytes of the SHA-256 of the seed and the key, as a big-endian
/// number of 64 bits, times `choices`, divided by 2⁶⁴. `choices` is above 0. The probabilities of
/// two numbers differ by at most `choices` in 2⁶⁴.
pub fn draw(seed: u64, key: &[&str], choices: usize) -> usize {
    let mut hash = Sha256::new();
    hash.update(seed.to_be_bytes());
    for part in key {
        // The length prevents two parts from being confused with others.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let mut number = [0; 8];
    number.copy_from_slice(&digest[..8]);
    let scaled = u128::from(u64::from_be_bytes(number)) * choices as u128;
    // The product's upper half is below `choices`, which is a usize.
    (scaled >> 64) as usize
}

/// Keys for the units of a trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawKeys<'a> {
    /// The cursor: path, prefix and suffix. The same cursor gets the same model.
    pub(super) cursor: [&'a str; 3],
    /// The run of the server.
    pub(super) session: &'a str,
    /// The current time.
    pub(super) now: SystemTime,
}

/// Returns the drawn models, as indices into the trial's models; two in order in a trial by pairs.
pub(super) fn assign(trial: &TrialSettings, keys: DrawKeys<'_>) -> Vec<usize> {
    let models = trial.models.len();
    let [path, prefix, suffix] = keys.cursor;
    let unit = trial.unit.name();
    match trial.unit {
        TrialUnit::Request => vec![draw(trial.seed, &[unit, path, prefix, suffix], models)],
        TrialUnit::Session => vec![draw(trial.seed, &[unit, keys.session], models)],
        TrialUnit::Day => {
            let day = days_since_1970(keys.now).to_string();
            vec![draw(trial.seed, &[unit, &day], models)]
        }
        TrialUnit::Pairs => {
            let others = models - 1;
            let pair = draw(trial.seed, &[unit, path, prefix, suffix], models * others);
            // The second model's number skips the first model, so each ordered pair is equally
            // likely.
            let (first, other) = (pair / others, pair % others);
            vec![first, other + usize::from(other >= first)]
        }
    }
}

/// Returns the day by UTC, counted from 1 January 1970; 0 before it.
fn days_since_1970(now: SystemTime) -> u64 {
    const SECONDS_A_DAY: u64 = 86_400;
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / SECONDS_A_DAY
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn trial(unit: TrialUnit, seed: u64, models: usize) -> TrialSettings {
        TrialSettings {
            models: (0..models).map(|number| format!("m{number}")).collect(),
            unit,
            seed,
            blind: false,
        }
    }

    fn at<'a>(prefix: &'a str, session: &'a str, days: u64) -> DrawKeys<'a> {
        DrawKeys {
            cursor: ["a.py", prefix, "\n"],
            session,
            now: UNIX_EPOCH + Duration::from_secs(days * 86_400 + 7),
        }
    }

    /// The expected values are from Python: `int.from_bytes(sha256(seed.to_bytes(8, "big") +
    /// b"".join( len(p).to_bytes(8, "big") + p for p in key)).digest()[:8], "big") * n >> 64`.
    #[test]
    fn draw_equals_its_definition() {
        let drawn: Vec<usize> = ["a", "b", "c", "d", "e", "f"]
            .into_iter()
            .map(|key| draw(7, &["session", key], 1000))
            .collect();
        assert_eq!(drawn, [823, 168, 302, 472, 798, 737]);
    }

    #[test]
    fn each_unit_has_its_own_key() {
        let differs = |unit, changed: &dyn Fn(u64) -> Vec<usize>| {
            let drawn: std::collections::BTreeSet<_> = (0..40).map(changed).collect();
            assert!(drawn.len() > 1, "{unit} stays the same");
        };
        let same = |unit, changed: &dyn Fn(u64) -> Vec<usize>| {
            let drawn: std::collections::BTreeSet<_> = (0..40).map(changed).collect();
            assert_eq!(drawn.len(), 1, "{unit} changes");
        };
        for &unit in TrialUnit::ALL {
            let trial = trial(unit, 3, 2);
            let by_cursor = |n: u64| assign(&trial, at(&n.to_string(), "s", 1));
            let by_session = |n: u64| assign(&trial, at("x", &n.to_string(), 1));
            let by_day = |n: u64| assign(&trial, at("x", "s", n));
            match unit {
                TrialUnit::Request | TrialUnit::Pairs => {
                    differs(unit, &by_cursor);
                    same(unit, &by_session);
                    same(unit, &by_day);
                }
                TrialUnit::Session => {
                    same(unit, &by_cursor);
                    differs(unit, &by_session);
                    same(unit, &by_day);
                }
                TrialUnit::Day => {
                    same(unit, &by_cursor);
                    same(unit, &by_session);
                    differs(unit, &by_day);
                }
            }
        }
    }

    proptest! {
        /// Six standard deviations: a fair draw exceeds them once in 500 million times.
        #[test]
        fn shares_are_near_equal(seed: u64, models in 2usize..6, pairs: bool) {
            const DRAWS: usize = 2000;
            let unit = if pairs { TrialUnit::Pairs } else { TrialUnit::Request };
            let trial = trial(unit, seed, models);
            let mut first = vec![0usize; models];
            for number in 0..DRAWS {
                let asked = assign(&trial, at(&number.to_string(), "s", 0));
                first[asked[0]] += 1;
                prop_assert_eq!(asked.len(), 1 + usize::from(pairs));
                prop_assert!(asked.iter().all(|index| *index < models));
                prop_assert!(!pairs || asked[0] != asked[1]);
            }
            let share = 1.0 / models as f64;
            let deviation = (DRAWS as f64 * share * (1.0 - share)).sqrt();
            for count in first {
                prop_assert!((count as f64 - DRAWS as f64 * share).abs() < 6.0 * deviation);
            }
        }

        #[test]
        fn the_same_seed_and_key_give_the_same_model(
            seed: u64, before in ".{0,20}", session in "[a-z]{4}", days in 0u64..99_999,
        ) {
            for &unit in TrialUnit::ALL {
                let trial = trial(unit, seed, 3);
                let keys = at(&before, &session, days);
                prop_assert_eq!(assign(&trial, keys), assign(&trial, keys));
            }
        }
    }
}
