//! Whether an offline score predicts what people accept: figures of model versions from replays,
//! held against figures of the same versions from people's editors.
//!
//! Pure computation on plain data: [`Observation`]s in, a [`Study`] out, which [`Study::text`] and
//! [`Study::page`] show. What reads runs, telemetry and tables is `cli`.

pub mod aggregate;
mod design;
mod figure;
mod join;
pub mod offline;
pub mod online;
mod page;
mod pair;
pub mod plan;
mod plot;
mod shown;
pub mod simulated;
mod text;
mod trend;

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{CONFIDENCE, holm};
use serde::Serialize;

pub use design::{Design, Needed, PowerAt};
pub use figure::{Figure, Measured, Unit};
pub use join::JoinedVersion;
pub use pair::{Answer, Attenuation, CoefficientFigure, Pair, Point, Signs};
pub use trend::{Column, Trend, TrendRow};

/// The version of `study.json`.
pub const SCHEMA: u32 = 1;

/// A figure of one model version on one side, before anything is joined.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The model version: the model's name.
    pub version: String,
    /// Which settings it was asked under: see `Configuration::fingerprint`. `None` where that was
    /// not told.
    pub configuration: Option<String>,
    /// A short name for people, told where several versions have one model's name.
    pub label: Option<String>,
    /// The language's name; `None` for all languages together.
    pub language: Option<String>,
    /// The metric's name with its variant, e.g. `pass@1`.
    pub metric: String,
    /// What it is counted in.
    pub unit: Unit,
    /// Its value, and what tells how sure it is.
    pub figure: Figure,
    /// What it was read from, for people.
    pub source: String,
}

/// Of what places a side's figures are, so that two sides that measured different things are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// What is counted, e.g. `language`.
    pub what: &'static str,
    /// The model version, as in [`Observation`].
    pub version: String,
    /// How many of each there are.
    pub counts: BTreeMap<String, usize>,
}

/// One side of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Its figures.
    pub observations: Vec<Observation>,
    /// Of what they are.
    pub mixes: Vec<Mix>,
}

/// Where the second side's figures come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Second {
    /// From people.
    Online,
    /// From a simulated developer. Never shown as people's.
    Simulated,
}

impl Second {
    /// As a word before a metric's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Simulated => "simulated",
        }
    }
}

/// What the versions are compared within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// All languages together.
    #[default]
    Version,
    /// Each language by itself.
    VersionAndLanguage,
}

/// How a study is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What the versions are compared within.
    pub by: By,
    /// The offline metrics to look at, the main one first; all there are if empty.
    pub offline_metrics: Vec<String>,
    /// Those of the second side, likewise.
    pub second_metrics: Vec<String>,
    /// How often an interval's distribution is drawn from.
    pub draws: u32,
    /// How often a bootstrap draws, which costs as much as there are clusters.
    pub bootstrap_draws: u32,
    /// How many studies are simulated for a power or a coverage.
    pub simulations: usize,
    /// Equal seeds give equal studies.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            by: By::Version,
            offline_metrics: Vec::new(),
            second_metrics: Vec::new(),
            draws: 20_000,
            bootstrap_draws: 2_000,
            simulations: 2_000,
            seed: 0,
        }
    }
}

/// What a study came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The format's version, [`SCHEMA`].
    pub schema: u32,
    /// Where the second side's figures come from.
    pub second: Second,
    /// What the versions were compared within.
    pub by: By,
    /// The probability with which an interval's method is meant to hold the true value.
    pub confidence: f64,
    /// How often a bootstrap drew, how many studies were simulated for each power, and the seed.
    pub method: Method,
    /// The versions that both sides have.
    pub versions: Vec<JoinedVersion>,
    /// Versions and metrics that only one side has, in sentences.
    pub left_out: Vec<String>,
    /// What makes the figures hard to compare, in sentences.
    pub warnings: Vec<String>,
    /// The figures in the form of the paper's Table 9.
    pub trend: Trend,
    /// Each offline metric against each of the second side, the main ones first.
    pub pairs: Vec<Pair>,
}

/// The numbers that a study's chances hang on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Method {
    /// Draws of each interval's distribution.
    pub draws: u32,
    /// Draws of each bootstrap.
    pub bootstrap_draws: u32,
    /// Simulated studies for each power.
    pub simulations: usize,
    /// The seed.
    pub seed: u64,
}

/// Why there is no study.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StudyError {
    /// The sides have no version in common.
    #[error(
        "no version is on both sides: offline there is {offline}, {second} there is {other}; \
         versions are joined by the model's name and its configuration"
    )]
    NothingInCommon {
        /// The versions of the offline side.
        offline: String,
        /// What the second side is called.
        second: &'static str,
        /// Its versions.
        other: String,
    },
    /// A metric that was asked for is not there.
    #[error("no {side} figure is named `{metric}`; there are {there}")]
    NoMetric {
        /// The side.
        side: &'static str,
        /// What was asked for.
        metric: String,
        /// The names there are.
        there: String,
    },
    /// One figure is given twice and can't be put together.
    #[error(
        "{source_name}: `{metric}` of {version} is given twice, and values without their rows \
         can't be put together; leave one out"
    )]
    Twice {
        /// Where it was read.
        source_name: String,
        /// The metric.
        metric: String,
        /// The version.
        version: String,
    },
    /// Languages can't be pooled.
    #[error(
        "{source_name}: `{metric}` of {version} is given for several languages without the n of \
         each, so they can't be put together; compare within languages with --by version,language"
    )]
    NoPool {
        /// Where it was read.
        source_name: String,
        /// The metric.
        metric: String,
        /// The version.
        version: String,
    },
}

impl Study {
    /// Joins the two sides and compares them.
    ///
    /// # Errors
    /// The sides have no version in common, or a figure that was asked for is not there.
    pub fn of(
        offline: &Side,
        second_side: &Side,
        second: Second,
        options: &Options,
    ) -> Result<Self, StudyError> {
        let joined = join::join(offline, second_side, second)?;
        let offline_metrics = chosen(offline, &options.offline_metrics, "offline")?;
        let second_metrics = chosen(second_side, &options.second_metrics, second.name())?;
        let offline_figures = figure::gather(&offline.observations, options.by)?;
        let second_figures = figure::gather(&second_side.observations, options.by)?;
        let languages = |figures: &figure::Gathered| -> BTreeSet<Option<String>> {
            figures.keys().map(|key| key.language.clone()).collect()
        };
        let languages: Vec<Option<String>> = languages(&offline_figures)
            .intersection(&languages(&second_figures))
            .cloned()
            .collect();
        let mut pairs = Vec::new();
        let mut left_out = joined.left_out;
        for language in &languages {
            for offline_metric in &offline_metrics {
                for second_metric in &second_metrics {
                    let points: Vec<(usize, &figure::Entry, &figure::Entry)> = joined
                        .versions
                        .iter()
                        .enumerate()
                        .filter_map(|(at, version)| {
                            let one = offline_figures.get(&figure::Key::new(
                                &version.offline_key(),
                                language.as_deref(),
                                offline_metric,
                            ))?;
                            let other = second_figures.get(&figure::Key::new(
                                &version.second_key(),
                                language.as_deref(),
                                second_metric,
                            ))?;
                            Some((at, one, other))
                        })
                        .collect();
                    if points.is_empty() {
                        continue;
                    }
                    pairs.push(Pair::of(
                        language.clone(),
                        (offline_metric, second_metric),
                        &points,
                        second,
                        options,
                    ));
                }
            }
        }
        if pairs.is_empty() {
            left_out.push(
                "no metric of one side meets one of the other in a language that both have"
                    .to_owned(),
            );
        }
        let p: Vec<f64> = pairs.iter().filter_map(Pair::pearson_p).collect();
        let mut corrected = holm(&p).into_iter();
        for pair in &mut pairs {
            if pair.pearson_p().is_some() {
                pair.p_holm = corrected.next();
            }
        }
        let trend = Trend::of(&joined.versions, &pairs);
        let mut warnings = joined.warnings;
        if second == Second::Simulated {
            warnings.insert(
                0,
                "the acceptance is that of a simulated developer, not of people: it shows how the \
                 study works and says nothing of what people would accept"
                    .to_owned(),
            );
        }
        warnings.extend(pair::warnings(&pairs));
        Ok(Self {
            schema: SCHEMA,
            second,
            by: options.by,
            confidence: CONFIDENCE,
            method: Method {
                draws: options.draws,
                bootstrap_draws: options.bootstrap_draws,
                simulations: options.simulations,
                seed: options.seed,
            },
            versions: joined.versions,
            left_out,
            warnings,
            trend,
            pairs,
        })
    }
}

/// The metrics to look at: those asked for, or all there are in the order in which they come.
fn chosen(side: &Side, asked: &[String], name: &'static str) -> Result<Vec<String>, StudyError> {
    let mut there: Vec<String> = Vec::new();
    for observation in &side.observations {
        if !there.contains(&observation.metric) {
            there.push(observation.metric.clone());
        }
    }
    if asked.is_empty() {
        return Ok(there);
    }
    match asked.iter().find(|metric| !there.contains(metric)) {
        Some(metric) => Err(StudyError::NoMetric {
            side: name,
            metric: metric.clone(),
            there: there.join(", "),
        }),
        None => Ok(asked.to_vec()),
    }
}

#[cfg(test)]
mod tests;
