//! Pools the observations of one side: rows cluster by cluster, stated values by their n.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{ClusterTotal, SampledFigure};

use super::figure::{Figure, FigureUnit, RowSpread, StatedFigure};
use super::input::{Observation, SampleDimension, StudyError};

/// Identifies a figure of one side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FigureKey {
    pub(super) version: String,
    pub(super) configuration: Option<String>,
    /// Group of its samples in the dimension that figures are pooled by.
    pub(super) group: Option<String>,
    pub(super) metric: String,
}

impl FigureKey {
    pub(super) fn new(
        (version, configuration): &(String, Option<String>),
        group: Option<&str>,
        metric: &str,
    ) -> Self {
        Self {
            version: version.clone(),
            configuration: configuration.clone(),
            group: group.map(str::to_owned),
            metric: metric.to_owned(),
        }
    }
}

/// A figure with its unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PooledFigure {
    pub(super) figure: Figure,
    pub(super) unit: FigureUnit,
}

impl PooledFigure {
    /// The figure with the data for drawing it anew.
    pub(super) fn drawable(&self) -> SampledFigure {
        self.figure.drawable(self.unit)
    }
}

/// The figures of one side.
pub(super) type PooledFigures = BTreeMap<FigureKey, PooledFigure>;

/// Pools the observations of each version and metric, within each group of a dimension, or all of
/// them.
///
/// Observations grouped by the same dimensions are parts of the same samples. Where there are
/// several such divisions, the coarsest counts.
///
/// # Errors
/// Values without their rows occur twice, or lack the n that pooling needs.
pub(super) fn pool_observations(
    observations: &[Observation],
    by: Option<SampleDimension>,
) -> Result<PooledFigures, StudyError> {
    let mut groups: BTreeMap<FigureKey, BTreeMap<Division, Vec<&Observation>>> = BTreeMap::new();
    for observation in observations {
        let group = by.and_then(|dimension| observation.group(dimension));
        // In other dimensions than the language, samples of all kinds are no group.
        if group.is_none() && by.is_some_and(|by| by != SampleDimension::Language) {
            continue;
        }
        let key = FigureKey {
            version: observation.version.clone(),
            configuration: observation.configuration.clone(),
            group: group.map(str::to_owned),
            metric: observation.metric.clone(),
        };
        let division = (
            observation.stratum.as_ref().map(|it| it.dimension),
            observation.language.is_some(),
        );
        let divisions = groups.entry(key).or_default();
        divisions.entry(division).or_default().push(observation);
    }
    groups
        .into_iter()
        // Divisions are sorted, so the coarsest is the first.
        .filter_map(|(key, divisions)| Some((key, divisions.into_values().next()?)))
        .map(|(key, parts)| {
            let unit = parts[0].unit;
            let figure = pool(&parts, unit)?;
            Ok((key, PooledFigure { figure, unit }))
        })
        .collect()
}

/// The dimension other than language that observations are grouped by, and true if they are grouped
/// by language too; the coarsest division first.
type Division = (Option<SampleDimension>, bool);

fn pool(group: &[&Observation], unit: FigureUnit) -> Result<Figure, StudyError> {
    let [first, rest @ ..] = group else {
        // Every group is made of at least one observation.
        return Ok(Figure::Stated(StatedFigure {
            value: f64::NAN,
            ..StatedFigure::default()
        }));
    };
    if rest.is_empty() {
        return Ok(first.figure.clone());
    }
    let mut clusters: BTreeMap<String, ClusterTotal> = BTreeMap::new();
    let mut rows = 0;
    let mut spread = RowSpread::default();
    let mut stated: Vec<StatedFigure> = Vec::new();
    for one in group {
        match &one.figure {
            Figure::Sampled {
                clusters: more,
                n,
                spread: of_these,
            } => {
                rows += n;
                spread.add(*of_these);
                for (name, cluster) in more {
                    let sum = clusters.entry(name.clone()).or_default();
                    sum.sum += cluster.sum;
                    sum.weight += cluster.weight;
                }
            }
            Figure::Stated(one) => stated.push(*one),
        }
    }
    if stated.is_empty() {
        return Ok(Figure::Sampled {
            clusters,
            n: rows,
            spread,
        });
    }
    let parts: BTreeSet<_> = group
        .iter()
        .map(|one| (&one.language, &one.stratum))
        .collect();
    let (source_name, metric, version) = (
        first.source.clone(),
        first.metric.clone(),
        first.version.clone(),
    );
    // Rows in addition to a stated value, or two values of one part, would count samples twice.
    if rows > 0 || parts.len() < group.len() {
        return Err(StudyError::Duplicate {
            source_name,
            metric,
            version,
        });
    }
    let Some(whole) = stated.iter().map(|one| one.n).sum::<Option<usize>>() else {
        return Err(StudyError::NotPoolable {
            source_name,
            metric,
            version,
        });
    };
    let share = |one: &StatedFigure| one.n.unwrap_or_default() as f64 / whole as f64;
    let mean = |value: fn(&StatedFigure) -> Option<f64>| -> Option<f64> {
        stated
            .iter()
            .map(|one| Some(value(one)? * share(one)))
            .sum()
    };
    // The parts are independent samples, so the variances of their shares add up. A part of a table
    // that states errors may have none of its own: then it has that of its n.
    let variance: Option<f64> = stated
        .iter()
        .map(|one| Some((Figure::Stated(*one).error(unit)? * share(one)).powi(2)))
        .sum();
    let states_error = stated.iter().any(|one| one.error.is_some());
    // Rows without a design effect are independent ones.
    let states_design = stated.iter().any(|one| one.design_effect.is_some());
    let design_effect = mean(|one| Some(one.design_effect.unwrap_or(1.0)));
    Ok(Figure::Stated(StatedFigure {
        value: mean(|one| Some(one.value)).unwrap_or(f64::NAN),
        error: variance.filter(|_| states_error).map(f64::sqrt),
        n: Some(whole),
        clusters: stated.iter().map(|one| one.clusters).sum(),
        design_effect: design_effect.filter(|_| states_design),
        correlation: mean(|one| one.correlation),
    }))
}
