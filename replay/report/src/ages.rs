//! Figures of holes by the age of their code: before and after a date.

use std::collections::BTreeSet;

use comfy_table::Cell;
use fillrate_engine::store::{Run, StoreError};
use fillrate_metrics::metric::PASS_AT_1;
use fillrate_metrics::{Estimate, clustered_difference_of_shares};
use serde::Serialize;

use super::figures::{by_hole, pass_at, pass_probability};
use super::scored::{ScoredAttempt, load_scored, without_repairs};
use super::table::{TextTable, TextWidth, figure};

/// pass@1 of the holes whose code changed since a date, and of the others: how much a model gains
/// where it may have learned the answer.
#[derive(Clone, Debug, Serialize)]
pub struct AgeFigures {
    /// The date, as YYYY-MM-DD.
    pub since: String,
    /// pass@1 of the holes that changed on this day or later.
    pub later: Option<Estimate>,
    /// pass@1 of the other holes.
    pub earlier: Option<Estimate>,
    /// The former minus the latter.
    pub difference: Option<Estimate>,
    /// Number of holes of which the run has no date.
    pub undated: usize,
}

impl AgeFigures {
    /// Reads a run and divides its holes at a date.
    ///
    /// # Errors
    /// The run can't be read.
    pub fn load(run: &Run, since: &str) -> Result<Self, StoreError> {
        let holes = run.holes()?;
        let scored = without_repairs(load_scored(run)?);
        let scored: Vec<&ScoredAttempt> = scored.iter().collect();
        let changed = |id: &str| holes.get(id).and_then(|hole| hole.changed.as_deref());
        Ok(Self::divide(&scored, since, changed))
    }

    /// Divides attempts at a date; `changed` returns the date of a hole's code, as YYYY-MM-DD.
    pub(super) fn divide<'a>(
        scored: &[&'a ScoredAttempt],
        since: &str,
        changed: impl Fn(&str) -> Option<&'a str>,
    ) -> Self {
        let (mut later, mut earlier, mut undated) = (Vec::new(), Vec::new(), BTreeSet::new());
        for &one in scored {
            match changed(&one.attempt.hole) {
                None => {
                    undated.insert(one.attempt.hole.as_str());
                }
                // The order of such dates is that of their text.
                Some(day) if day >= since => later.push(one),
                Some(_) => earlier.push(one),
            }
        }
        Self {
            since: since.to_owned(),
            later: pass_at(&by_hole(&later), 1),
            earlier: pass_at(&by_hole(&earlier), 1),
            // The two groups have different holes, so their difference is not paired.
            difference: clustered_difference_of_shares(&pass_rates(&later), &pass_rates(&earlier)),
            undated: undated.len(),
        }
    }

    /// The table for people.
    pub fn table(&self, width: TextWidth) -> String {
        let Self { since, .. } = self;
        let mut table = TextTable::new(["code changed", PASS_AT_1.name]);
        for (age, value) in [("since", &self.later), ("before", &self.earlier)] {
            let age = Cell::new(format!("{age} {since}"));
            table.add_row([age, figure(PASS_AT_1.name, value.as_ref())]);
        }
        let mut text = table.render(width) + "\n";
        let difference = self.difference.as_ref().map(|difference| {
            let format = PASS_AT_1.unit.format().with_sign();
            format.render(difference).line()
        });
        text.push_str(&width.paragraph(&match difference {
            Some(difference) => format!(
                "Since the date, the model passes {difference} points more; a model that learned \
                 the older code from its training passes less of what is newer."
            ),
            None => format!(
                "There is no difference to show: the run needs holes on both sides of {since}."
            ),
        }));
        if self.undated > 0 {
            text.push_str(&width.paragraph(&format!(
                "{} holes have no date: their projects have no git history, or their lines are not \
                 committed yet; see `fillrate mine --help`, --since",
                self.undated
            )));
        }
        text
    }
}

/// Pass rates of the holes with a verdict, by file.
fn pass_rates(scored: &[&ScoredAttempt]) -> Vec<(String, f64)> {
    let by_hole = by_hole(scored);
    let rates = by_hole.values().filter_map(|of_hole| {
        let rate = pass_probability(of_hole, 1)?;
        Some((of_hole[0].cluster.clone(), rate))
    });
    rates.collect()
}

#[cfg(test)]
mod tests {
    use fillrate_engine::store::Run;
    use fillrate_language::task::{Hole, HoleKind};
    use fillrate_verdict::Outcome;

    use super::*;
    use crate::tests::{FILE, attempt};

    // By hand: of the newer holes one passes always and one never, of the older ones one in half of
    // its samples and one never. Over attempts the newer ones would have 3 of 4, the older ones 1
    // of 3.
    #[test]
    fn difference_of_ages_is_that_of_the_two_figures() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &serde_json::json!({})).expect("it is empty");
        let hole = |path: &str, changed: &str| Hole {
            changed: Some(changed.to_owned()),
            ..Hole::new("demo", "python", path, HoleKind::Line, 14..27, FILE)
        };
        let holes = [
            hole("a.py", "2026-03-01"),
            hole("b.py", "2026-04-01"),
            hole("c.py", "2026-02-28"),
            hole("d.py", "2025-01-01"),
        ];
        run.add_holes(holes.iter().map(|hole| (hole, FILE)))
            .expect("there is room");
        let outcomes = [
            &[Outcome::Passed, Outcome::Passed, Outcome::Passed][..],
            &[Outcome::Failed],
            &[Outcome::Passed, Outcome::Failed],
            &[Outcome::Failed, Outcome::Infrastructure],
        ];
        for (hole, outcomes) in holes.iter().zip(outcomes) {
            for (sample, outcome) in (0..).zip(outcomes) {
                run.add_attempt(&attempt(hole, sample, &["x"], *outcome))
                    .expect("there is room");
            }
        }
        let ages = AgeFigures::load(&run, "2026-03-01").expect("the run is readable");
        let value = |estimate: Option<Estimate>| estimate.map(|it| (it.value, it.n));
        assert_eq!(value(ages.later), Some((0.5, 2)));
        assert_eq!(value(ages.earlier), Some((0.25, 2)));
        assert_eq!(value(ages.difference), Some((0.25, 4)));
    }
}
