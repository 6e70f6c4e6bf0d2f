//! Figures with what tells how sure they are.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{CONFIDENCE, ClusterTotal, SampledFigure, student_quantile, wilson};
use serde::Serialize;

use super::{By, Observation, StudyError};

/// What a metric is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A share from 0 to 1, shown in %.
    Share,
    /// Milliseconds.
    Milliseconds,
    /// Whatever a table of others has, shown as it stands.
    Plain,
}

/// A figure's value, and what tells how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// The rows themselves, by the cluster that they stand or fall with. The value is Σ sum /
    /// Σ weight.
    Sampled {
        /// The clusters by their names, which are the same for every version that has them: two
        /// versions on the same holes are compared hole by hole.
        clusters: BTreeMap<String, ClusterTotal>,
        /// How many rows there are.
        n: usize,
    },
    /// A value without its rows.
    Stated {
        /// The value.
        value: f64,
        /// Its standard error, where that was told.
        error: Option<f64>,
        /// How many rows it rests on, where that was told.
        n: Option<usize>,
    },
}

impl Figure {
    /// A figure of rows: of each its cluster, its weight and its value.
    pub fn of<K: Into<String>>(rows: impl IntoIterator<Item = (K, f64, f64)>) -> Self {
        let mut clusters: BTreeMap<String, ClusterTotal> = BTreeMap::new();
        let mut n = 0;
        for (cluster, weight, value) in rows {
            let cluster = clusters.entry(cluster.into()).or_default();
            cluster.sum += weight * value;
            cluster.weight += weight;
            n += 1;
        }
        Self::Sampled { clusters, n }
    }

    /// The value; `None` without rows.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Sampled { .. } => self.drawable(Unit::Plain).value(),
            Self::Stated { value, .. } => Some(*value),
        }
    }

    /// How many rows it rests on, where that is known.
    pub fn n(&self) -> Option<usize> {
        match self {
            Self::Sampled { n, .. } => Some(*n),
            Self::Stated { n, .. } => *n,
        }
    }

    /// Its standard error: clustered where the rows are there; of a stated share without one,
    /// that of so many independent outcomes (Agresti and Coull 1998,
    /// <https://doi.org/10.1080/00031305.1998.10480550>). `None` where nothing tells it.
    pub(super) fn error(&self, unit: Unit) -> Option<f64> {
        match self {
            Self::Sampled { .. } => {
                let pulls = self.pulls()?;
                Some(pulls.values().map(|pull| pull * pull).sum::<f64>().sqrt())
            }
            Self::Stated {
                error: Some(error), ..
            } => Some(*error),
            Self::Stated {
                value, n: Some(n), ..
            } if unit == Unit::Share => {
                let n = *n as f64;
                let share = (value * n + 2.0) / (n + 4.0);
                Some((share * (1.0 - share) / (n + 4.0)).sqrt())
            }
            Self::Stated { .. } => None,
        }
    }

    /// What the value, the interval and the n are.
    pub(super) fn measured(&self, unit: Unit) -> Option<Measured> {
        let value = self.value()?;
        let error = self.error(unit);
        let (low, high) = self.bounds(value, unit, error).unzip();
        Some(Measured {
            value,
            error,
            low,
            high,
            n: self.n(),
        })
    }

    fn bounds(&self, value: f64, unit: Unit, error: Option<f64>) -> Option<(f64, f64)> {
        let (tail, cut) = (f64::midpoint(CONFIDENCE, 1.0), unit == Unit::Share);
        let kept = |(low, high): (f64, f64)| match cut {
            true => (low.max(0.0), high.min(1.0)),
            false => (low, high),
        };
        let unanimous = cut && (value == 0.0 || value == 1.0);
        match self {
            Self::Sampled { clusters, .. } if unanimous => {
                // As if each cluster were one outcome: see `fillrate_metrics::clustered_proportion`.
                let yes = if value == 1.0 { clusters.len() } else { 0 };
                let estimate = wilson(yes, clusters.len())?;
                (clusters.len() > 1).then_some(())?;
                estimate.low.zip(estimate.high)
            }
            Self::Sampled { clusters, .. } => {
                let freedom = clusters.len() as f64 - 1.0;
                let half = student_quantile(tail, freedom)? * error?;
                Some(kept((value - half, value + half)))
            }
            Self::Stated {
                error: None,
                n: Some(n),
                ..
            } if cut => {
                let estimate = wilson((value * *n as f64).round() as usize, *n)?;
                estimate.low.zip(estimate.high)
            }
            Self::Stated { .. } => {
                // Student's t with as many degrees of freedom as there are numbers: the normal
                // distribution.
                let half = student_quantile(tail, 1e6)? * error?;
                Some(kept((value - half, value + half)))
            }
        }
    }

    /// What a bootstrap draws.
    pub(super) fn drawable(&self, unit: Unit) -> SampledFigure {
        match self {
            Self::Sampled { clusters, .. } => {
                SampledFigure::Clusters(clusters.values().copied().collect())
            }
            Self::Stated { value, .. } => SampledFigure::Normal {
                value: *value,
                error: self.error(unit).unwrap_or(0.0),
            },
        }
    }

    /// How far each cluster pulls the value from where it is, so that the sum of the squares is
    /// the square of the clustered standard error: see [`fillrate_metrics::clustered_standard_error`].
    /// `None` with fewer than two clusters.
    fn pulls(&self) -> Option<BTreeMap<&str, f64>> {
        let Self::Sampled { clusters, .. } = self else {
            return None;
        };
        let count = clusters.len() as f64;
        let value = self.value().filter(|_| count >= 2.0)?;
        let whole: f64 = clusters.values().map(|cluster| cluster.weight).sum();
        let scale = (count / (count - 1.0)).sqrt() / whole;
        let pulls = clusters.iter().map(|(name, cluster)| {
            (
                name.as_str(),
                scale * (cluster.sum - value * cluster.weight),
            )
        });
        Some(pulls.collect())
    }
}

/// A figure as a report shows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The value.
    pub value: f64,
    /// Its standard error, where anything tells it.
    pub error: Option<f64>,
    /// The lower end of its interval, likewise.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// How many rows it rests on, where that is known.
    pub n: Option<usize>,
}

/// How much of the variance between versions is the error of measuring them: the mean over pairs
/// of versions of half the squared error of their difference. What moves all versions alike, such
/// as a hard hole that all of them had, is no error between them; where versions share no
/// cluster, this is the mean of the squared standard errors.
///
/// `None` where the error of any is not known, or with fewer than two.
pub(super) fn noise(figures: &[(&Figure, Unit)]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for (at, (one, unit)) in figures.iter().enumerate() {
        for (other, other_unit) in &figures[..at] {
            let squared = match (one.pulls(), other.pulls()) {
                (Some(one), Some(other)) => {
                    let names: BTreeSet<&str> = one.keys().chain(other.keys()).copied().collect();
                    let of = |pulls: &BTreeMap<&str, f64>, name| *pulls.get(name).unwrap_or(&0.0);
                    let apart = names
                        .into_iter()
                        .map(|name| of(&one, name) - of(&other, name));
                    apart.map(|apart| apart * apart).sum::<f64>()
                }
                _ => one.error(*unit)?.powi(2) + other.error(*other_unit)?.powi(2),
            };
            sum += squared / 2.0;
            count += 1.0;
        }
    }
    (count > 0.0).then(|| sum / count)
}

/// Whether two figures differ by more than chance: 0 lies outside the interval of their
/// difference. `None` where an error is not known.
pub(super) fn differ(one: (&Figure, Unit), other: (&Figure, Unit)) -> Option<bool> {
    let noise = noise(&[one, other])?;
    let difference = (one.0.value()? - other.0.value()?).abs();
    Some(difference > 1.959_963_984_540_054 * (2.0 * noise).sqrt())
}

/// What a figure is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) version: String,
    pub(super) configuration: Option<String>,
    pub(super) language: Option<String>,
    pub(super) metric: String,
}

impl Key {
    pub(super) fn new(
        (version, configuration): &(String, Option<String>),
        language: Option<&str>,
        metric: &str,
    ) -> Self {
        Self {
            version: version.clone(),
            configuration: configuration.clone(),
            language: language.map(str::to_owned),
            metric: metric.to_owned(),
        }
    }
}

/// A figure under its key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) figure: Figure,
    pub(super) unit: Unit,
}

/// Figures by what they are of.
pub(super) type Gathered = BTreeMap<Key, Entry>;

/// Puts together what is of one version, language and metric.
pub(super) fn gather(observations: &[Observation], by: By) -> Result<Gathered, StudyError> {
    let mut groups: BTreeMap<Key, Vec<&Observation>> = BTreeMap::new();
    for observation in observations {
        let language = match by {
            By::Version => None,
            By::VersionAndLanguage => observation.language.clone(),
        };
        let key = Key {
            version: observation.version.clone(),
            configuration: observation.configuration.clone(),
            language,
            metric: observation.metric.clone(),
        };
        groups.entry(key).or_default().push(observation);
    }
    groups
        .into_iter()
        .map(|(key, group)| {
            // A figure of all languages stands for those of each.
            let whole: Vec<&Observation> = match by {
                By::Version => group
                    .iter()
                    .filter(|one| one.language.is_none())
                    .copied()
                    .collect(),
                By::VersionAndLanguage => Vec::new(),
            };
            let group = if whole.is_empty() { group } else { whole };
            let figure = pooled(&group)?;
            let unit = group[0].unit;
            Ok((key, Entry { figure, unit }))
        })
        .collect()
}

fn pooled(group: &[&Observation]) -> Result<Figure, StudyError> {
    let [first, rest @ ..] = group else {
        return Ok(Figure::Stated {
            value: f64::NAN,
            error: None,
            n: None,
        });
    };
    if rest.is_empty() {
        return Ok(first.figure.clone());
    }
    let mut clusters: BTreeMap<String, ClusterTotal> = BTreeMap::new();
    let mut rows = 0;
    let mut stated: Vec<(f64, Option<f64>, Option<usize>)> = Vec::new();
    for one in group {
        match &one.figure {
            Figure::Sampled { clusters: more, n } => {
                rows += n;
                for (name, cluster) in more {
                    let sum = clusters.entry(name.clone()).or_default();
                    sum.sum += cluster.sum;
                    sum.weight += cluster.weight;
                }
            }
            Figure::Stated { value, error, n } => stated.push((*value, *error, *n)),
        }
    }
    if stated.is_empty() {
        return Ok(Figure::Sampled { clusters, n: rows });
    }
    let languages: BTreeSet<&Option<String>> = group.iter().map(|one| &one.language).collect();
    let (source_name, metric, version) = (
        first.source.clone(),
        first.metric.clone(),
        first.version.clone(),
    );
    if rows > 0 || languages.len() < group.len() {
        return Err(StudyError::Twice {
            source_name,
            metric,
            version,
        });
    }
    let counted: Option<Vec<(f64, Option<f64>, usize)>> = stated
        .iter()
        .map(|(value, error, n)| Some((*value, *error, (*n)?)))
        .collect();
    let Some(counted) = counted else {
        return Err(StudyError::NoPool {
            source_name,
            metric,
            version,
        });
    };
    let whole: usize = counted.iter().map(|(_, _, n)| n).sum();
    let share = |n: usize| n as f64 / whole as f64;
    let error: Option<f64> = counted
        .iter()
        .map(|(_, error, n)| Some((error.as_ref()? * share(*n)).powi(2)))
        .sum();
    Ok(Figure::Stated {
        value: counted.iter().map(|(value, _, n)| value * share(*n)).sum(),
        error: error.map(f64::sqrt),
        n: Some(whole),
    })
}
