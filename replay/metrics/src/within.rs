//! Passes that arrive in time: pass@1 as a function of how long a person waits.

use super::Estimate;
use super::interval::clustered::clustered_share;

/// Times of a curve in milliseconds, from an immediate answer to one that people do not wait for.
pub const WAITING_TIMES: [f64; 15] = [
    50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 400.0, 500.0, 750.0, 1000.0, 1500.0, 2000.0, 3000.0,
    4000.0, 5000.0,
];

/// A hole's pass rate and when its completion arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedPass {
    /// The share of the hole's completions that pass, from 0 to 1.
    pub rate: f64,
    /// Milliseconds from the request; `None` if nothing arrived.
    pub arrived_ms: Option<f64>,
}

impl TimedPass {
    /// The pass rate of what arrived within a time.
    pub fn within(self, time_ms: f64) -> f64 {
        match self.arrived_ms {
            Some(arrived) if arrived <= time_ms => self.rate,
            _ => 0.0,
        }
    }
}

/// The share of holes whose completion passes and arrived within a time, as
/// [`clustered_share`]. Of each hole: its file and its pass. A completion that did not arrive
/// counts as not passed, and stays in the denominator.
pub fn pass_within<K: Ord + Clone>(holes: &[(K, TimedPass)], time_ms: f64) -> Option<Estimate> {
    let shares = holes.iter();
    let shares: Vec<(K, f64, f64)> = shares
        .map(|(file, pass)| (file.clone(), 1.0, pass.within(time_ms)))
        .collect();
    clustered_share(&shares)
}

/// A time from which on the other one of two models passes more within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderChange {
    /// The time in milliseconds.
    pub time_ms: f64,
    /// True if the first model passes more from here on.
    pub to_first: bool,
}

/// The times between the first and last of [`WAITING_TIMES`] at which the order of two models on
/// the same holes changes. Where both pass as much, the earlier order lasts.
pub fn order_changes(pairs: &[(TimedPass, TimedPass)]) -> Vec<OrderChange> {
    let (from, to) = (WAITING_TIMES[0], WAITING_TIMES[WAITING_TIMES.len() - 1]);
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (first, second) in pairs {
        for (pass, sign) in [(first, 1.0), (second, -1.0)] {
            if let Some(arrived) = pass.arrived_ms.filter(|arrived| *arrived <= to) {
                steps.push((arrived.max(from), sign * pass.rate));
            }
        }
    }
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut changes = Vec::new();
    let mut leader: Option<bool> = None;
    let mut lead = 0.0;
    for (index, (time_ms, step)) in steps.iter().enumerate() {
        lead += step;
        let is_last = steps.get(index + 1).is_none_or(|next| next.0 > *time_ms);
        // Completions that arrive at the same time count together, and a lead this small is
        // rounding.
        if !is_last || f64::abs(lead) < 1e-9 {
            continue;
        }
        let to_first = lead > 0.0;
        if leader.is_some_and(|leader| leader != to_first) {
            changes.push(OrderChange {
                time_ms: *time_ms,
                to_first,
            });
        }
        leader = Some(to_first);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clustered_proportion;

    fn pass(rate: f64, arrived_ms: impl Into<Option<f64>>) -> TimedPass {
        TimedPass {
            rate,
            arrived_ms: arrived_ms.into(),
        }
    }

    #[test]
    fn late_passes_and_missing_answers_stay_in_the_denominator() {
        let holes = [
            ("a", pass(1.0, 40.0)),
            ("a", pass(1.0, 300.0)),
            ("b", pass(1.0, 300.1)),
            ("b", pass(0.0, 10.0)),
            ("c", pass(1.0, None)),
        ];
        // As counted by hand.
        for (time, passes) in [
            (39.9, [false, false, false, false, false]),
            (300.0, [true, true, false, false, false]),
            (5000.0, [true, true, true, false, false]),
        ] {
            let files = holes.iter().map(|(file, _)| *file);
            let counted: Vec<(&str, bool)> = files.zip(passes).collect();
            assert_eq!(pass_within(&holes, time), clustered_proportion(&counted));
        }
        assert_eq!(pass_within::<&str>(&[], 100.0), None);
    }

    // 1: the fast one solves two holes by 100 ms and 120 ms. 2: the slow one solves three, by 400,
    // 410 and 900 ms. The slow one leads from the third on.
    #[test]
    fn order_changes_when_the_slow_better_model_overtakes() {
        let pairs = [
            (pass(1.0, 100.0), pass(1.0, 400.0)),
            (pass(1.0, 120.0), pass(1.0, 410.0)),
            (pass(0.0, 100.0), pass(1.0, 900.0)),
        ];
        let change = OrderChange {
            time_ms: 900.0,
            to_first: false,
        };
        assert_eq!(order_changes(&pairs), [change]);
        let swapped = pairs.map(|(first, second)| (second, first));
        let change = OrderChange {
            to_first: true,
            ..change
        };
        assert_eq!(order_changes(&swapped), [change]);
    }

    #[test]
    fn equal_models_and_what_arrives_too_late_change_no_order() {
        let equal = [(pass(0.5, 100.0), pass(0.5, 100.0)); 3];
        assert_eq!(order_changes(&equal), []);
        let late = [
            (pass(1.0, 100.0), pass(0.0, 100.0)),
            (pass(0.0, 100.0), pass(1.0, 6000.0)),
            (pass(0.0, 100.0), pass(1.0, 6000.0)),
        ];
        assert_eq!(order_changes(&late), []);
    }
}
