//! Signs in a run that its model has seen the benchmark.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_engine::store::{Attempt, Run, StoreError};
use fillrate_metrics::{
    Estimate, clustered_proportion, clustered_share, ngram_overlap, ngrams, peakedness,
};
use serde::Serialize;

/// Parameters of the test for leakage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeakageParameters {
    /// The share of the length up to which an output counts as a copy of the greedy one.
    pub alpha: f64,
    /// The share of copies above which a hole counts as leaked.
    pub xi: f64,
    /// The length of n-grams, in tokens.
    pub n: usize,
}

impl Default for LeakageParameters {
    /// Those published with the method, and n-grams of ten tokens.
    fn default() -> Self {
        Self {
            alpha: 0.05,
            xi: 0.01,
            n: 10,
        }
    }
}

/// The signs of leakage in a run.
#[derive(Clone, Debug, Serialize)]
pub struct LeakageAudit {
    /// Parameters of the test.
    pub parameters: LeakageParameters,
    /// The share of holes that leaked, of those with samples, clustered by file.
    pub leaked: Option<Estimate>,
    /// The share of a reference's n-grams that the greedy output has; mean over holes whose
    /// references have at least n tokens, clustered by file.
    pub overlap: Option<Estimate>,
    /// Each hole.
    pub holes: Vec<HoleLeakage>,
}

/// The signs of leakage at a hole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HoleLeakage {
    /// The hole's id.
    pub hole: String,
    /// Number of samples that are compared with the greedy output.
    pub samples: usize,
    /// The share of them that are copies of it; absent without samples.
    pub peakedness: Option<f64>,
    /// True if that is above the bound.
    pub leaked: bool,
    /// The share of the reference's n-grams that the greedy output has; absent for a reference of
    /// fewer tokens.
    pub overlap: Option<f64>,
}

impl LeakageAudit {
    /// Looks for leakage in a run. The greedy outputs are those of another run, or of the run
    /// itself the first samples, which are then no samples.
    ///
    /// # Errors
    /// A run can't be read.
    pub fn load(
        run: &Run,
        greedy: Option<&Run>,
        parameters: LeakageParameters,
    ) -> Result<Self, StoreError> {
        let mut outputs = first_rounds(run.attempts()?);
        let greedy = match greedy {
            Some(greedy) => first_rounds(greedy.attempts()?),
            None => {
                // Without a greedy run, sample 0 takes its place and must not be compared with
                // itself.
                let firsts = outputs.iter_mut().filter_map(|(hole, outputs)| {
                    let first = outputs.remove(&0)?;
                    Some((hole.clone(), BTreeMap::from([(0, first)])))
                });
                firsts.collect()
            }
        };
        let mut holes = Vec::new();
        let mut leaked: Vec<(String, bool)> = Vec::new();
        let mut overlaps: Vec<(String, f64, f64)> = Vec::new();
        for (id, hole) in run.holes()? {
            // A hole without a greedy output, such as after an infrastructure failure, is left out.
            let Some(first) = greedy.get(&id).and_then(|of_hole| of_hole.values().next()) else {
                continue;
            };
            let samples: Vec<&str> = outputs
                .get(&id)
                .map(|of_hole| of_hole.values().map(String::as_str).collect())
                .unwrap_or_default();
            let peakedness = peakedness(first, &samples, parameters.alpha);
            let known: BTreeSet<Vec<&str>> = ngrams(first, parameters.n);
            let overlap = ngram_overlap(&hole.reference, &known, parameters.n);
            // Holes of one file leak together, so they are no independent samples.
            let cluster = format!("{}\0{}", hole.project, hole.path);
            // CDD's decision: the output is peaked if more than the share `xi` is close to the
            // greedy one.
            let has_leaked = peakedness.map(|share| share > parameters.xi);
            leaked.extend(has_leaked.map(|leaked| (cluster.clone(), leaked)));
            overlaps.extend(overlap.map(|share| (cluster, 1.0, share)));
            holes.push(HoleLeakage {
                hole: id,
                samples: samples.len(),
                peakedness,
                leaked: has_leaked == Some(true),
                overlap,
            });
        }
        Ok(Self {
            parameters,
            leaked: clustered_proportion(&leaked),
            overlap: clustered_share(&overlaps),
            holes,
        })
    }
}

/// The outputs by hole and sample, without repairs and infrastructure failures.
fn first_rounds(attempts: Vec<Attempt>) -> BTreeMap<String, BTreeMap<u32, String>> {
    let mut outputs: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
    for attempt in attempts {
        let has_output = !attempt.offered.is_empty() && attempt.verdict.outcome.is_counted();
        if attempt.repair_round == 0 && has_output {
            let text = attempt.completion().to_owned();
            let of_hole = outputs.entry(attempt.hole).or_default();
            of_hole.insert(attempt.sample, text);
        }
    }
    outputs
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::{Hole, HoleKind};
    use fillrate_verdict::Outcome;

    use super::*;
    use crate::tests::{FILE, attempt};

    #[test]
    fn shares_of_zero_have_an_interval_of_some_width() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &serde_json::json!({})).expect("it is empty");
        let hole = |path| Hole::new("demo", "python", path, HoleKind::Line, 14..27, FILE);
        let holes = [hole("a.py"), hole("b.py"), hole("c.py")];
        run.add_holes(holes.iter().map(|hole| (hole, FILE)))
            .expect("there is room");
        for hole in &holes {
            for (sample, text) in [(0, "return 5 * b"), (1, "raise Unknown()")] {
                run.add_attempt(&attempt(hole, sample, &[text], Outcome::Failed))
                    .expect("there is room");
            }
        }
        let parameters = LeakageParameters {
            n: 2,
            ..LeakageParameters::default()
        };
        let audit = LeakageAudit::load(&run, None, parameters).expect("the run is readable");
        for estimate in [audit.leaked, audit.overlap] {
            let estimate = estimate.expect("there are holes");
            assert_eq!((estimate.value, estimate.clusters), (0.0, Some(3)));
            assert!(estimate.high > Some(0.1), "{estimate:?}");
        }
    }
}
