//! Figures of holes by the age of their code: before and after a date.

use std::collections::BTreeSet;

use comfy_table::Cell;
use fillrate_engine::store::{Run, StoreError};
use fillrate_metrics::metric::PASS_AT_1;
use fillrate_metrics::{Estimate, clustered_difference_of_proportions};
use serde::Serialize;

use super::figures::{by_hole, pass_at, passes};
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
    /// The passes' share of the former minus that of the latter, over attempts.
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
            difference: clustered_difference_of_proportions(&outcomes(&later), &outcomes(&earlier)),
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
                "{} holes have no date, because their projects have no git history; see `fillrate \
                 mine --help`, --since",
                self.undated
            )));
        }
        text
    }
}

/// The attempts' outcomes that are evidence, by file.
fn outcomes(scored: &[&ScoredAttempt]) -> Vec<(String, bool)> {
    scored
        .iter()
        .flat_map(|one| {
            let passed = passes(&[*one]).into_iter();
            passed.map(|passed| (one.cluster.clone(), passed))
        })
        .collect()
}
