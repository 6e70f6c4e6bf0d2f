//! Score of the tests on mutants.

use serde::{Deserialize, Serialize};

use crate::task::Mutation;

/// Counts of mutants by the outcome of the tests. Mutants that do not parse, or that equal the
/// original, are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutationScore {
    /// A test failed.
    pub killed: usize,
    /// All tests passed.
    pub survived: usize,
    /// The tests ran into the limit on their time: a fault that was noticed, or a slow machine.
    pub timeout: usize,
}

impl MutationScore {
    /// killed / (killed + survived), from 0 to 1; a time-out counts in neither. `None` if no
    /// mutant was killed or survived.
    pub fn score(self) -> Option<f64> {
        proportion(self.killed, self.killed + self.survived)
    }

    /// The score with every time-out as a survivor: killed / (killed + survived + timeout). `None`
    /// if there was no mutant.
    pub fn lower(self) -> Option<f64> {
        proportion(self.killed, self.total())
    }

    /// The score with every time-out as killed: (killed + timeout) / (killed + survived +
    /// timeout). `None` if there was no mutant.
    pub fn upper(self) -> Option<f64> {
        proportion(self.killed + self.timeout, self.total())
    }

    /// All mutants that were run.
    pub fn total(self) -> usize {
        self.killed + self.survived + self.timeout
    }
}

impl From<&Mutation> for MutationScore {
    fn from(mutation: &Mutation) -> Self {
        Self {
            killed: mutation.killed,
            survived: mutation.survived,
            timeout: mutation.timeout,
        }
    }
}

fn proportion(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn time_outs_stand_apart() {
        let score = MutationScore {
            killed: 6,
            survived: 2,
            timeout: 2,
        };
        assert_eq!(score.score(), Some(0.75));
        assert_eq!(score.lower(), Some(0.6));
        assert_eq!(score.upper(), Some(0.8));
    }

    #[test]
    fn nothing_has_no_score() {
        assert_eq!(MutationScore::default().score(), None);
        assert_eq!(MutationScore::default().lower(), None);
        let only_timeouts = MutationScore {
            timeout: 3,
            ..MutationScore::default()
        };
        assert_eq!(only_timeouts.score(), None);
        assert_eq!(only_timeouts.lower(), Some(0.0));
        assert_eq!(only_timeouts.upper(), Some(1.0));
    }

    proptest! {
        #[test]
        fn the_score_lies_between_its_bounds(killed in 0..9usize, survived in 0..9usize, timeout in 0..9usize) {
            let score = MutationScore { killed, survived, timeout };
            if let (Some(low), Some(mid), Some(high)) = (score.lower(), score.score(), score.upper()) {
                prop_assert!(0.0 <= low && low <= mid && mid <= high && high <= 1.0);
            }
        }
    }
}
