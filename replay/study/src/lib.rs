//! Studies of whether an offline score predicts what people accept: figures of model versions from
//! replays compared with figures of the same versions from people's editors.
//!
//! Computation on plain data: two [`StudySide`]s in, a [`Study`] out, which [`Study::text`]
//! and [`Study::page`] print. `sides` reads the sides: `offline` and `simulated` take figures from
//! runs, `telemetry` from people's editors, `table` from CSV, and `common` finds the holes that
//! versions are compared on. Then `pool` pools them, `join` joins the versions, `pair` compares two metrics,
//! `view_gain` two views, `design` computes the power of a number of versions, and `trend` lists differences from the
//! first version. `plan` simulates studies before they are made.

mod common;
mod decision;
mod design;
mod figure;
mod format;
mod input;
mod join;
mod mix;
mod offline;
mod page;
mod pair;
pub mod plan;
mod plot;
mod pool;
pub mod sides;
mod simulated;
mod strata;
mod table;
pub mod telemetry;
mod text;
mod trend;
mod view_gain;

use std::collections::BTreeSet;

use fillrate_metrics::{CONFIDENCE, holm};
use serde::Serialize;

pub use decision::{BestPair, StudyDecision, Trust, VersionPrediction};
pub use design::{PowerAt, StudyDesign, VersionsNeeded};
pub use figure::{Figure, FigureUnit, MeasuredFigure, StatedFigure};
pub use input::{
    Grouping, Observation, SampleDimension, SampleMix, SecondSide, Stratum, StudyError,
    StudyOptions, StudySide,
};
pub use join::JoinedVersion;
pub use pair::{Attenuation, CoefficientFigure, Conclusion, MetricPair, SignCounts, VersionPoint};
pub use strata::WeightedFigures;
pub use trend::{Trend, TrendColumn, TrendRow};
pub use view_gain::ViewGain;

use decision::DecisionInput;
use join::VersionKey;
use pair::PairedFigures;
use pool::{FigureKey, PooledFigures, pool_observations};
use strata::{Strata, StratifiedFigures};

/// The version of `study.json`.
pub const SCHEMA: u32 = 2;

/// The result of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The format's version, [`SCHEMA`].
    pub schema: u32,
    /// Source of the second side's figures.
    pub second: SecondSide,
    /// Within what the versions are compared.
    pub by: Grouping,
    /// The nominal coverage of the intervals.
    pub confidence: f64,
    /// The numbers of draws and simulations, and the seed.
    pub method: StudyMethod,
    /// Advice on the main pair; `None` without a pair.
    pub decision: Option<StudyDecision>,
    /// The versions that both sides have, in the order of the offline side.
    pub versions: Vec<JoinedVersion>,
    /// Versions and metrics that only one side has, in sentences.
    pub left_out: Vec<String>,
    /// Reasons that make the figures hard to compare, in sentences.
    pub warnings: Vec<String>,
    /// The figures in the form of Table 9 of RepoMasterEval.
    pub trend: Trend,
    /// Each offline metric against each of the second side, the main ones first.
    pub pairs: Vec<MetricPair>,
}

/// The numbers that the precision of a study's intervals and powers depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StudyMethod {
    /// Draws of each interval's distribution.
    pub draws: u32,
    /// Draws of each bootstrap.
    pub bootstrap_draws: u32,
    /// Simulated studies for each power.
    pub simulations: usize,
    /// The seed.
    pub seed: u64,
}

impl Study {
    /// Joins the two sides and compares them.
    ///
    /// # Errors
    /// The sides have no version in common, a requested metric does not exist or has several units on
    /// a side, or values can't be pooled.
    pub fn new(
        offline: &StudySide,
        second_side: &StudySide,
        second: SecondSide,
        options: &StudyOptions,
    ) -> Result<Self, StudyError> {
        let joined = join::join_versions(offline, second_side, second)?;
        let offline_metrics = choose_metrics(offline, &options.offline_metrics, "offline")?;
        let second_metrics = choose_metrics(second_side, &options.second_metrics, second.name())?;
        for (side, metrics) in [(offline, &offline_metrics), (second_side, &second_metrics)] {
            for metric in metrics {
                side.check_unit(metric)?;
            }
        }
        let sides = SideFigures::pooled(offline, second_side, options.by.dimension())?;
        let strata = StratifiedFigures::new(offline, second_side)?;
        let mut pairs = sides.compare(
            &joined.versions,
            &offline_metrics,
            &second_metrics,
            second,
            options,
        );
        // A pair of one language has no mix of languages to depend on.
        for pair in pairs.iter_mut().filter(|pair| pair.language.is_none()) {
            let contrary = strata.contrary(&joined.versions, pair);
            pair.contradict(&contrary);
        }
        correct_for_pairs(&mut pairs);
        let weighted = pairs.first().map_or_else(Vec::new, |main| {
            strata.weighted(second_side, &joined.versions, main)
        });
        let views = pairs.first().map_or_else(Vec::new, |main| {
            ViewGain::of_views(&sides, &joined.versions, main, options)
        });
        let input = DecisionInput {
            second,
            offline_only: &joined.offline_only,
            offline: &sides.offline,
            views,
            weighted,
        };
        let decision = StudyDecision::new(&pairs, input);
        let mut left_out = joined.left_out;
        if pairs.is_empty() {
            left_out.push("the sides have no metrics in a common language".to_owned());
        }
        let mut warnings = joined.warnings;
        for warning in offline.warnings.iter().chain(&second_side.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        warnings.extend(mix::warnings(
            offline,
            second_side,
            second,
            &joined.versions,
        ));
        let (apart, missing) = language_notes(offline, second_side, second);
        match options.by {
            Grouping::Version => warnings.extend(apart),
            Grouping::VersionAndLanguage => left_out.extend(missing),
        }
        if second == SecondSide::Simulated {
            warnings.insert(
                0,
                "the acceptance is that of a simulated developer, not of people: it shows how the \
                 study works and says nothing about what people would accept"
                    .to_owned(),
            );
        }
        warnings.extend(pair::warnings(&pairs));
        Ok(Self {
            schema: SCHEMA,
            second,
            by: options.by,
            confidence: CONFIDENCE,
            method: StudyMethod {
                draws: options.draws,
                bootstrap_draws: options.bootstrap_draws,
                simulations: options.simulations,
                seed: options.seed,
            },
            decision,
            trend: Trend::new(&joined.versions, &pairs),
            versions: joined.versions,
            left_out,
            warnings,
            pairs,
        })
    }
}

/// The pooled figures of both sides.
struct SideFigures {
    offline: PooledFigures,
    second: PooledFigures,
}

impl SideFigures {
    /// Pools the observations of both sides within each group of a dimension, or all of them.
    fn pooled(
        offline: &StudySide,
        second: &StudySide,
        by: Option<SampleDimension>,
    ) -> Result<Self, StudyError> {
        Ok(Self {
            offline: pool_observations(&offline.observations, by)?,
            second: pool_observations(&second.observations, by)?,
        })
    }

    /// Compares each offline metric with each of the second side, in each language that both have.
    fn compare(
        &self,
        versions: &[JoinedVersion],
        offline_metrics: &[String],
        second_metrics: &[String],
        second: SecondSide,
        options: &StudyOptions,
    ) -> Vec<MetricPair> {
        let mut pairs = Vec::new();
        for language in self.common_groups() {
            for offline_metric in offline_metrics {
                for second_metric in second_metrics {
                    let group = language.as_deref();
                    let figures = self.paired(versions, group, offline_metric, second_metric);
                    if !figures.is_empty() {
                        let language = language.clone();
                        pairs.push(MetricPair::new(
                            language,
                            offline_metric,
                            second_metric,
                            &figures,
                            second,
                            options,
                        ));
                    }
                }
            }
        }
        pairs
    }

    /// Groups of samples that both sides have; `None` is all together.
    fn common_groups(&self) -> BTreeSet<Option<String>> {
        let groups = |figures: &PooledFigures| -> BTreeSet<Option<String>> {
            figures.keys().map(|key| key.group.clone()).collect()
        };
        &groups(&self.offline) & &groups(&self.second)
    }

    /// The offline figures of a version by group.
    fn offline_strata(&self, version: &VersionKey, metric: &str) -> Strata<'_> {
        let own = self.offline.iter().filter(|(key, _)| {
            (&key.version, &key.configuration) == (&version.0, &version.1) && key.metric == metric
        });
        own.filter_map(|(key, pooled)| Some((key.group.as_deref()?, &pooled.figure)))
            .collect()
    }

    /// The figures of each version that has both metrics.
    fn paired(
        &self,
        versions: &[JoinedVersion],
        group: Option<&str>,
        offline: &str,
        second: &str,
    ) -> Vec<PairedFigures<'_>> {
        let versions = versions.iter().enumerate();
        versions
            .filter_map(|(version, joined)| {
                let offline = FigureKey::new(&joined.offline_key(), group, offline);
                let second = FigureKey::new(&joined.second_key(), group, second);
                Some(PairedFigures {
                    version,
                    offline: self.offline.get(&offline)?,
                    second: self.second.get(&second)?,
                })
            })
            .collect()
    }
}

/// Languages that one side alone has figures of: a warning for figures that pool them, and
/// sentences for figures that leave them out.
fn language_notes(
    offline: &StudySide,
    second_side: &StudySide,
    second: SecondSide,
) -> (Option<String>, Vec<String>) {
    let languages = |side: &StudySide| -> BTreeSet<String> {
        let observations = side.observations.iter();
        observations.filter_map(|it| it.language.clone()).collect()
    };
    let (ours, theirs) = (languages(offline), languages(second_side));
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>, side: &str| -> Vec<String> {
        let missing = one.difference(other);
        missing
            .map(|language| format!("{language} has {side} figures only"))
            .collect()
    };
    if ours.is_empty() || theirs.is_empty() {
        return (None, Vec::new());
    }
    let missing = [
        only(&ours, &theirs, "offline"),
        only(&theirs, &ours, second.name()),
    ]
    .concat();
    let warning = (!missing.is_empty()).then(|| {
        format!(
            "the sides have different languages, and their pooled figures compare them with each \
             other: {}; compare within languages with --by version,language",
            missing.join(", ")
        )
    });
    (warning, missing)
}

/// Corrects the pairs' p by Holm's method.
fn correct_for_pairs(pairs: &mut [MetricPair]) {
    let p: Vec<f64> = pairs.iter().filter_map(MetricPair::pearson_p).collect();
    // `holm` keeps the order, and pairs without p have no value in it.
    let mut corrected = holm(&p).into_iter();
    for pair in pairs {
        if pair.pearson_p().is_some() {
            pair.p_holm = corrected.next();
        }
    }
}

/// The requested metrics, or all that the side has in their order.
fn choose_metrics(
    side: &StudySide,
    requested: &[String],
    name: &'static str,
) -> Result<Vec<String>, StudyError> {
    let mut there: Vec<String> = Vec::new();
    for observation in &side.observations {
        if !there.contains(&observation.metric) {
            there.push(observation.metric.clone());
        }
    }
    if requested.is_empty() {
        return Ok(there);
    }
    match requested.iter().find(|metric| !there.contains(metric)) {
        Some(metric) => Err(StudyError::NoMetric {
            side: name,
            metric: metric.clone(),
            there: there.join(", "),
        }),
        None => Ok(requested.to_vec()),
    }
}

#[cfg(test)]
mod tests;
