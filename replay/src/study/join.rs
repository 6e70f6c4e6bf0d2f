//! Which version of one side is which of the other.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Mix, Observation, Second, Side, StudyError};

/// A model version that both sides have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JoinedVersion {
    /// What it is called in tables: the model's name; where several share it, the run's own name,
    /// or else the model's with the beginning of its configuration's fingerprint.
    pub label: String,
    /// The model's name.
    pub model: String,
    /// The fingerprint of the settings on the offline side, where it is known.
    pub offline_configuration: Option<String>,
    /// That of the second side.
    pub second_configuration: Option<String>,
}

impl JoinedVersion {
    pub(super) fn offline_key(&self) -> (String, Option<String>) {
        (self.model.clone(), self.offline_configuration.clone())
    }

    pub(super) fn second_key(&self) -> (String, Option<String>) {
        (self.model.clone(), self.second_configuration.clone())
    }
}

/// What joining came to.
pub(super) struct Joined {
    pub(super) versions: Vec<JoinedVersion>,
    pub(super) left_out: Vec<String>,
    pub(super) warnings: Vec<String>,
}

type Version = (String, Option<String>);

/// How much two mixes may differ, as the share that would have to change, before it is told.
const MIX_DIFFERS: f64 = 0.1;

/// Joins versions by the model's name and the fingerprint of its configuration. Where a side does
/// not know the fingerprint, as a table may not, or both sides have but one of a name, the name
/// decides, and a difference of configuration is told.
pub(super) fn join(
    offline: &Side,
    second_side: &Side,
    second: Second,
) -> Result<Joined, StudyError> {
    let (ours, theirs) = (versions(offline), versions(second_side));
    let mut taken: BTreeSet<&Version> = BTreeSet::new();
    let mut pairs: Vec<(&Version, &Version)> = Vec::new();
    let mut warnings = Vec::new();
    for one in ours.iter().filter(|one| one.1.is_some()) {
        if let Some(other) = theirs.iter().find(|other| *other == one) {
            taken.insert(other);
            pairs.push((one, other));
        }
    }
    for one in &ours {
        if pairs.iter().any(|(done, _)| *done == one) {
            continue;
        }
        let of_name = |side: &[Version]| side.iter().filter(|it| it.0 == one.0).count();
        let free: Vec<&Version> = theirs
            .iter()
            .filter(|other| other.0 == one.0 && !taken.contains(other))
            .collect();
        let &[other] = free.as_slice() else { continue };
        if of_name(&ours) > 1 && one.1.is_some() && other.1.is_some() {
            continue;
        }
        match (&one.1, &other.1) {
            (Some(one_configuration), Some(configuration)) => warnings.push(format!(
                "{}: the configurations differ (offline {one_configuration}, {} {configuration}): \
                 context, clean-up or sampling were not the same, so a difference between the \
                 sides may come from that",
                one.0,
                second.name()
            )),
            (None, None) => {}
            _ => warnings.push(format!(
                "{}: joined by its name alone, since only one side tells its configuration",
                one.0
            )),
        }
        taken.insert(other);
        pairs.push((one, other));
    }
    if pairs.is_empty() {
        let named = |side: &[Version]| match side {
            [] => "none".to_owned(),
            _ => side.iter().map(in_full).collect::<Vec<_>>().join(", "),
        };
        return Err(StudyError::NothingInCommon {
            offline: named(&ours),
            second: second.name(),
            other: named(&theirs),
        });
    }
    // In the order of the offline side: the first is the baseline.
    pairs.sort_by_key(|(one, _)| ours.iter().position(|it| it == *one));
    let mut left_out = Vec::new();
    for one in &ours {
        if !pairs.iter().any(|(done, _)| *done == one) {
            left_out.push(format!("{} has offline figures only", in_full(one)));
        }
    }
    for other in &theirs {
        if !taken.contains(other) {
            left_out.push(format!(
                "{} has {} figures only",
                in_full(other),
                second.name()
            ));
        }
    }
    let versions: Vec<JoinedVersion> = pairs
        .iter()
        .map(|(one, other)| {
            let alone = pairs.iter().filter(|(it, _)| it.0 == one.0).count() == 1;
            let fingerprint = one.1.as_ref().or(other.1.as_ref()).filter(|_| !alone);
            JoinedVersion {
                label: match (own_label(offline, one), fingerprint) {
                    (Some(label), Some(_)) => label.to_owned(),
                    (None, Some(fingerprint)) => format!("{}@{}", one.0, short(fingerprint)),
                    (_, None) => one.0.clone(),
                },
                model: one.0.clone(),
                offline_configuration: one.1.clone(),
                second_configuration: other.1.clone(),
            }
        })
        .collect();
    warnings.extend(mixes(offline, second_side, second, &versions));
    Ok(Joined {
        versions,
        left_out,
        warnings,
    })
}

/// The versions of a side, in the order in which they come.
fn versions(side: &Side) -> Vec<Version> {
    let mut versions: Vec<Version> = Vec::new();
    for observation in &side.observations {
        let version = (
            observation.version.clone(),
            observation.configuration.clone(),
        );
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

/// The label of a version that no other version of the side has.
fn own_label<'a>(side: &'a Side, version: &Version) -> Option<&'a str> {
    let is = |one: &Observation| one.version == version.0 && one.configuration == version.1;
    let own = side.observations.iter().find(|one| is(one))?;
    let label = own.label.as_deref()?;
    let mut others = side.observations.iter().filter(|one| !is(one));
    others
        .all(|one| one.label.as_deref() != Some(label))
        .then_some(label)
}

fn in_full((name, configuration): &Version) -> String {
    match configuration {
        Some(configuration) => format!("{name} ({})", short(configuration)),
        None => name.clone(),
    }
}

fn short(fingerprint: &str) -> &str {
    fingerprint.get(..8).unwrap_or(fingerprint)
}

/// Where the two sides are not of the same: between the sides, and within a side between versions.
fn mixes(
    offline: &Side,
    second_side: &Side,
    second: Second,
    versions: &[JoinedVersion],
) -> Vec<String> {
    let mut warnings = Vec::new();
    let of = |side: &Side, what: &str, version: Option<&str>| -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let wanted = side.mixes.iter().filter(|mix: &&Mix| {
            mix.what == what
                && version.is_none_or(|version| mix.version == version)
                && versions.iter().any(|joined| joined.model == mix.version)
        });
        for mix in wanted {
            for (name, count) in &mix.counts {
                *counts.entry(name.clone()).or_insert(0) += count;
            }
        }
        counts
    };
    let kinds: BTreeSet<&'static str> = offline
        .mixes
        .iter()
        .chain(&second_side.mixes)
        .map(|mix| mix.what)
        .collect();
    for what in kinds {
        let (one, other) = (of(offline, what, None), of(second_side, what, None));
        if let Some(distance) = distance(&one, &other).filter(|it| *it > MIX_DIFFERS) {
            warnings.push(format!(
                "the mix of {what} differs between the sides by {:.0} %: offline {}; {} {}",
                distance * 100.0,
                in_words(&one),
                second.name(),
                in_words(&other)
            ));
        }
        for (side, name) in [(offline, "offline"), (second_side, second.name())] {
            let whole = of(side, what, None);
            let furthest = versions
                .iter()
                .filter_map(|version| {
                    let own = of(side, what, Some(&version.model));
                    Some((distance(&own, &whole)?, &version.model, own))
                })
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((distance, version, own)) = furthest.filter(|it| it.0 > MIX_DIFFERS) {
                warnings.push(format!(
                    "{name}, the mix of {what} differs between versions: {version} has {}, all \
                     have {} ({:.0} % apart)",
                    in_words(&own),
                    in_words(&whole),
                    distance * 100.0
                ));
            }
        }
    }
    warnings
}

/// The share that would have to change to make one mix the other: half the sum of the differences
/// between their shares. `None` where a side has none.
fn distance(one: &BTreeMap<String, usize>, other: &BTreeMap<String, usize>) -> Option<f64> {
    let whole = |mix: &BTreeMap<String, usize>| mix.values().sum::<usize>();
    let (all_one, all_other) = (whole(one), whole(other));
    if all_one == 0 || all_other == 0 {
        return None;
    }
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let share = |mix: &BTreeMap<String, usize>, name: &String, all: usize| {
        *mix.get(name).unwrap_or(&0) as f64 / all as f64
    };
    let apart = names
        .iter()
        .map(|name| (share(one, name, all_one) - share(other, name, all_other)).abs());
    Some(apart.sum::<f64>() / 2.0)
}

fn in_words(mix: &BTreeMap<String, usize>) -> String {
    let all: usize = mix.values().sum();
    let parts: Vec<String> = mix
        .iter()
        .map(|(name, count)| format!("{name} {:.0} %", *count as f64 / all as f64 * 100.0))
        .collect();
    format!("{} (n {all})", parts.join(", "))
}
