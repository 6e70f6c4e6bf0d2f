//! Input of a study: the figures of its two sides, its options, and what can be wrong with them.

use std::collections::BTreeMap;

use fillrate_metrics::{Metric, Unit};
use serde::Serialize;

use super::figure::{Figure, FigureUnit};

/// A figure of one model version on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The model version: the model's name.
    pub version: String,
    /// The fingerprint of its settings: see `Configuration::fingerprint`. `None` if unknown.
    pub configuration: Option<String>,
    /// A short name for people, where several versions share the model's name.
    pub label: Option<String>,
    /// The language's name; `None` for all languages together.
    pub language: Option<String>,
    /// The part of the samples that it is of; `None` for all of them.
    pub stratum: Option<Stratum>,
    /// The metric's name with its variant, e.g. `pass@1`.
    pub metric: String,
    /// The unit of its value.
    pub unit: FigureUnit,
    /// Its value, and how sure it is.
    pub figure: Figure,
    /// The run, store or table it was read from, for people.
    pub source: String,
}

impl Observation {
    /// Returns the unit of its figure, for people; `None` if its value is possible in several.
    fn unit_in_words(&self) -> Option<&'static str> {
        if self.unit.is_percent() {
            return Some("a share");
        }
        let metric = Metric::find(&self.metric).map(|metric| metric.unit);
        if !matches!(metric, Some(Unit::ZeroOrOne | Unit::Fraction)) {
            return Some("a plain number");
        }
        // A table takes a rate without n as stated, in either unit.
        match self.figure.value() {
            Some(value) if value > 1.0 => Some("a percentage without n"),
            Some(value) if value > 0.0 && value < 1.0 => Some("a fraction without n"),
            _ => None,
        }
    }

    /// Returns the group of its samples in a dimension; `None` if they are of all kinds.
    pub(super) fn group(&self, dimension: SampleDimension) -> Option<&str> {
        match (&self.stratum, dimension) {
            (_, SampleDimension::Language) => self.language.as_deref(),
            (Some(stratum), _) if stratum.dimension == dimension => Some(&stratum.name),
            _ => None,
        }
    }
}

/// Dimension that samples are grouped by.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SampleDimension {
    /// The language.
    Language,
    /// The hole's kind, which people's editors don't record.
    Kind,
    /// The cursor's position in its line.
    Place,
    /// The lines of a hole's reference, or of a completion that was shown.
    Length,
}

impl SampleDimension {
    /// The name in tables and sentences.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A part of the samples: those that share a value of a dimension other than the language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stratum {
    /// Dimension of the group; not the language.
    pub dimension: SampleDimension,
    /// Name of the group, e.g. `mid_line`.
    pub name: String,
}

impl Stratum {
    /// The stratum of a text with the given number of lines.
    pub(super) fn of_length(lines: usize) -> Self {
        let name = match lines {
            0 | 1 => "1 line",
            2..=5 => "2 to 5 lines",
            _ => "6 lines or more",
        };
        Self {
            dimension: SampleDimension::Length,
            name: name.to_owned(),
        }
    }
}

/// The composition of a version's samples by one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleMix {
    /// The dimension.
    pub dimension: SampleDimension,
    /// The model version, as in [`Observation`].
    pub version: String,
    /// Its configuration, as in [`Observation`].
    pub configuration: Option<String>,
    /// Number of samples by value of the dimension.
    pub counts: BTreeMap<String, usize>,
}

/// One side of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudySide {
    /// Its figures: of all samples, and of parts of them.
    pub observations: Vec<Observation>,
    /// The compositions of their samples.
    pub mixes: Vec<SampleMix>,
    /// Reasons that make them hard to compare, in sentences.
    pub warnings: Vec<String>,
}

impl StudySide {
    /// Checks that a metric has one unit in all sources: a table states no unit, so each table by
    /// itself may have another.
    ///
    /// # Errors
    /// Some figures are shares and others plain numbers, or some fractions and others percentages.
    pub(super) fn check_unit(&self, metric: &str) -> Result<(), StudyError> {
        let observations = self.observations.iter();
        let mut known: Option<(&'static str, &str)> = None;
        for one in observations.filter(|one| one.metric == metric) {
            let Some(unit) = one.unit_in_words() else {
                continue;
            };
            let (other_unit, other_source) = *known.get_or_insert((unit, one.source.as_str()));
            if unit != other_unit {
                return Err(StudyError::Units {
                    source_name: one.source.clone(),
                    metric: metric.to_owned(),
                    unit,
                    other_source: other_source.to_owned(),
                    other_unit,
                });
            }
        }
        Ok(())
    }
}

/// Source of the second side's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SecondSide {
    /// From people's editors.
    Online,
    /// From a simulated developer. Never called online.
    Simulated,
}

impl SecondSide {
    /// The word before a metric's name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Within what versions are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(parse_err_ty = String, parse_err_fn = unknown_grouping)]
pub enum Grouping {
    /// All languages together.
    #[default]
    #[strum(serialize = "version")]
    Version,
    /// Each language by itself.
    #[strum(serialize = "version,language")]
    VersionAndLanguage,
}

impl Grouping {
    /// The dimension within which figures are pooled.
    pub(super) fn dimension(self) -> Option<SampleDimension> {
        match self {
            Self::Version => None,
            Self::VersionAndLanguage => Some(SampleDimension::Language),
        }
    }
}

fn unknown_grouping(_: &str) -> String {
    "it is `version` or `version,language`".to_owned()
}

/// Options of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyOptions {
    /// Within what versions are compared.
    pub by: Grouping,
    /// The offline metrics, the main one first; all of them if empty.
    pub offline_metrics: Vec<String>,
    /// The second side's metrics, likewise.
    pub second_metrics: Vec<String>,
    /// Draws of each interval's distribution.
    pub draws: u32,
    /// Draws of each bootstrap, whose cost grows with the number of clusters.
    pub bootstrap_draws: u32,
    /// Simulated studies for each power and coverage.
    pub simulations: usize,
    /// Equal seeds give equal studies.
    pub seed: u64,
}

impl Default for StudyOptions {
    fn default() -> Self {
        Self {
            by: Grouping::Version,
            offline_metrics: Vec::new(),
            second_metrics: Vec::new(),
            draws: 20_000,
            bootstrap_draws: 2_000,
            simulations: 2_000,
            seed: 0,
        }
    }
}

/// Reason for which a study is impossible.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StudyError {
    /// The sides have no version in common.
    #[error(
        "no version is on both sides: offline has {offline}, {second} has {other}; versions are \
         joined by the model's name and its configuration"
    )]
    NothingInCommon {
        /// The versions of the offline side.
        offline: String,
        /// The second side's name.
        second: &'static str,
        /// Its versions.
        other: String,
    },
    /// A requested metric does not exist.
    #[error("no {side} figure is named `{metric}`; there are {there}")]
    NoMetric {
        /// The side.
        side: &'static str,
        /// The requested metric.
        metric: String,
        /// The existing metrics.
        there: String,
    },
    /// A figure occurs twice and can't be pooled.
    #[error(
        "{source_name}: `{metric}` of {version} occurs twice, and values without their rows can't \
         be pooled; remove one"
    )]
    Duplicate {
        /// Name of the source.
        source_name: String,
        /// The metric.
        metric: String,
        /// The version.
        version: String,
    },
    /// A metric has different units on one side.
    #[error(
        "{source_name}: `{metric}` is {unit}, but {other_unit} in {other_source}; figures of one side \
         need one unit: write every value of a rate as a fraction with its n"
    )]
    Units {
        /// Name of the source.
        source_name: String,
        /// The metric.
        metric: String,
        /// The unit, for people.
        unit: &'static str,
        /// Name of the source with the other unit; it may be the same.
        other_source: String,
        /// The other unit.
        other_unit: &'static str,
    },
    /// Versions were measured on different holes.
    #[error(
        "the versions have {common} holes in common, of the {holes} of {sources}: figures of \
         different holes can't be compared; replay all versions with one --tasks file"
    )]
    OtherHoles {
        /// The holes that all versions have.
        common: usize,
        /// The runs of the version with the fewest holes.
        sources: String,
        /// The holes of that version.
        holes: usize,
    },
    /// Two runs hold the same attempts.
    #[error(
        "{first} and {second} hold the same attempts, which would count twice; name one of them"
    )]
    SameAttempts {
        /// The run that was named first.
        first: String,
        /// The other run.
        second: String,
    },
    /// Languages can't be pooled.
    #[error(
        "{source_name}: `{metric}` of {version} has values for several languages without the n of \
         each, so they can't be pooled; compare within languages with --by version,language"
    )]
    NotPoolable {
        /// Name of the source.
        source_name: String,
        /// The metric.
        metric: String,
        /// The version.
        version: String,
    },
}
