//! Signs in a run that its model has seen the benchmark.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{Estimate, clustered_mean, ngram_overlap, ngrams, peakedness, wilson};
use serde::Serialize;

use crate::store::{Attempt, Run, StoreError};

/// What is taken for leakage.
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
    /// What is taken for leakage.
    pub parameters: LeakageParameters,
    /// The share of holes that leaked, of those with samples.
    pub leaked: Option<Estimate>,
    /// The share of a reference's n-grams that the greedy output has; mean over holes with as many
    /// tokens.
    pub overlap: Option<Estimate>,
    /// Each hole.
    pub holes: Vec<HoleLeakage>,
}

/// The signs of leakage at a hole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HoleLeakage {
    /// The hole's id.
    pub hole: String,
    /// How many samples are compared with the greedy output.
    pub samples: usize,
    /// The share of them that are copies of it; absent without samples.
    pub peakedness: Option<f64>,
    /// Whether that is above the bound.
    pub leaked: bool,
    /// The share of the reference's n-grams that the greedy output has; absent for a reference of
    /// fewer tokens.
    pub overlap: Option<f64>,
}

impl LeakageAudit {
    /// Looks for leakage in a run. The greedy outputs are those of another run, or of the run itself
    /// the first samples, which are then no samples.
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
                let firsts = outputs.iter_mut().filter_map(|(hole, outputs)| {
                    let first = outputs.remove(&0)?;
                    Some((hole.clone(), BTreeMap::from([(0, first)])))
                });
                firsts.collect()
            }
        };
        let mut holes = Vec::new();
        let mut overlaps: Vec<(String, f64)> = Vec::new();
        for (id, hole) in run.holes()? {
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
            overlaps
                .extend(overlap.map(|share| (format!("{}\0{}", hole.project, hole.path), share)));
            holes.push(HoleLeakage {
                hole: id,
                samples: samples.len(),
                peakedness,
                leaked: peakedness.is_some_and(|share| share > parameters.xi),
                overlap,
            });
        }
        let sampled = holes.iter().filter(|hole| hole.peakedness.is_some());
        let leaked = holes.iter().filter(|hole| hole.leaked).count();
        let overlaps: Vec<(&str, f64)> = overlaps
            .iter()
            .map(|(cluster, share)| (cluster.as_str(), *share))
            .collect();
        Ok(Self {
            parameters,
            leaked: wilson(leaked, sampled.count()),
            overlap: clustered_mean(&overlaps).map(|estimate| estimate.within(0.0..=1.0)),
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
