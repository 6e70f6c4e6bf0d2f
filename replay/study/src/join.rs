//! Joins the versions of the two sides.

use std::collections::BTreeSet;

use serde::Serialize;

use super::input::{Observation, SecondSide, StudyError, StudySide};

/// A model version that both sides have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JoinedVersion {
    /// The name in tables: the model's name; if several versions share it, the run's own name, or
    /// else the model's with the beginning of its configuration's fingerprint.
    pub label: String,
    /// The model's name on the offline side.
    pub model: String,
    /// Its name on the second side, which may differ in case.
    #[serde(skip)]
    pub second_model: String,
    /// The fingerprint of the settings on the offline side, if known.
    pub offline_configuration: Option<String>,
    /// That of the second side.
    pub second_configuration: Option<String>,
}

impl JoinedVersion {
    pub(super) fn offline_key(&self) -> VersionKey {
        (self.model.clone(), self.offline_configuration.clone())
    }

    pub(super) fn second_key(&self) -> VersionKey {
        (self.second_model.clone(), self.second_configuration.clone())
    }
}

/// Identifies a version of one side: the model's name and its configuration's fingerprint.
pub(super) type VersionKey = (String, Option<String>);

/// The versions that both sides have, and what is to be said of the others.
pub(super) struct JoinedVersions {
    pub(super) versions: Vec<JoinedVersion>,
    pub(super) left_out: Vec<String>,
    /// The versions that have offline figures only.
    pub(super) offline_only: Vec<VersionKey>,
    pub(super) warnings: Vec<String>,
}

/// Joins versions by the model's name, in either case where no name is equal, and the fingerprint of
/// its configuration. If a side does not know the fingerprint, as a table may not, or both sides have
/// only one version of a name, the name decides, and a warning reports a difference of configuration.
///
/// # Errors
/// The sides have no version in common.
pub(super) fn join_versions(
    offline: &StudySide,
    second_side: &StudySide,
    second: SecondSide,
) -> Result<JoinedVersions, StudyError> {
    let (ours, theirs) = (versions(offline), versions(second_side));
    let (pairs, warnings) = pair_versions(&ours, &theirs, second);
    if pairs.is_empty() {
        let named = |side: &[VersionKey]| match side {
            [] => "none".to_owned(),
            _ => side.iter().map(full_name).collect::<Vec<_>>().join(", "),
        };
        return Err(StudyError::NothingInCommon {
            offline: named(&ours),
            second: second.name(),
            other: named(&theirs),
        });
    }
    let mut left_out = Vec::new();
    let mut offline_only = Vec::new();
    for one in &ours {
        if !pairs.iter().any(|(joined, _)| *joined == one) {
            left_out.push(format!("{} has offline figures only", full_name(one)));
            offline_only.push(one.clone());
        }
    }
    for other in &theirs {
        if !pairs.iter().any(|(_, joined)| *joined == other) {
            let (name, side) = (full_name(other), second.name());
            left_out.push(format!("{name} has {side} figures only"));
        }
    }
    let versions = pairs.iter().map(|(one, other)| {
        let unique = pairs.iter().filter(|(it, _)| it.0 == one.0).count() == 1;
        let fingerprint = one.1.as_ref().or(other.1.as_ref()).filter(|_| !unique);
        JoinedVersion {
            label: match (own_label(offline, one), fingerprint) {
                (Some(label), Some(_)) => label.to_owned(),
                (None, Some(fingerprint)) => format!("{}@{}", one.0, short(fingerprint)),
                (_, None) => one.0.clone(),
            },
            model: one.0.clone(),
            second_model: other.0.clone(),
            offline_configuration: one.1.clone(),
            second_configuration: other.1.clone(),
        }
    });
    Ok(JoinedVersions {
        versions: versions.collect(),
        left_out,
        offline_only,
        warnings,
    })
}

/// The pairs of versions, in the order of the offline side, with warnings about those that the name
/// alone decides.
fn pair_versions<'a>(
    ours: &'a [VersionKey],
    theirs: &'a [VersionKey],
    second: SecondSide,
) -> (Vec<(&'a VersionKey, &'a VersionKey)>, Vec<String>) {
    let mut taken: BTreeSet<&VersionKey> = BTreeSet::new();
    let mut pairs: Vec<(&VersionKey, &VersionKey)> = Vec::new();
    let mut warnings = Vec::new();
    // Equal fingerprints come first, so that no match by name alone takes their place.
    for one in ours.iter().filter(|one| one.1.is_some()) {
        if let Some(other) = theirs.iter().find(|other| *other == one) {
            taken.insert(other);
            pairs.push((one, other));
        }
    }
    // Likewise all equal names come before names that differ in case, of what remains.
    let by_name = ours.iter().map(|one| (one, false));
    let by_case = ours.iter().map(|one| (one, true));
    for (one, ignores_case) in by_name.chain(by_case) {
        let is_joined = |it: &VersionKey| pairs.iter().any(|(joined, _)| *joined == it);
        if is_joined(one) {
            continue;
        }
        let is_name = |name: &str| match ignores_case {
            true => name.to_lowercase() == one.0.to_lowercase(),
            false => name == one.0,
        };
        let is_another_spelling =
            |it: &VersionKey| it.0 != one.0 && is_name(&it.0) && !is_joined(it);
        let free: Vec<&VersionKey> = theirs
            .iter()
            .filter(|other| is_name(&other.0) && !taken.contains(other))
            .collect();
        // With several candidates, the name alone does not decide.
        let &[other] = free.as_slice() else { continue };
        // What its equal name does not decide, another spelling does not either.
        if ignores_case && (one.0 == other.0 || ours.iter().any(is_another_spelling)) {
            continue;
        }
        let is_ambiguous = ours.iter().filter(|it| it.0 == one.0).count() > 1;
        // With several versions of a name, another configuration may mean another version.
        if is_ambiguous && one.1.is_some() && other.1.is_some() {
            continue;
        }
        if one.0 != other.0 {
            warnings.push(format!(
                "{} (offline) is joined with {} ({}): the names differ in case alone",
                one.0,
                other.0,
                second.name()
            ));
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
                "{}: joined by its name alone, since only one side has its configuration",
                one.0
            )),
        }
        taken.insert(other);
        pairs.push((one, other));
    }
    // The first version of the offline side is the baseline.
    pairs.sort_by_key(|(one, _)| ours.iter().position(|it| it == *one));
    (pairs, warnings)
}

/// The versions of a side, in their order.
fn versions(side: &StudySide) -> Vec<VersionKey> {
    let mut versions: Vec<VersionKey> = Vec::new();
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

/// The label of a version, if no other version of the side has it.
fn own_label<'a>(side: &'a StudySide, version: &VersionKey) -> Option<&'a str> {
    let is = |one: &Observation| one.version == version.0 && one.configuration == version.1;
    let own = side.observations.iter().find(|one| is(one))?;
    let label = own.label.as_deref()?;
    let mut others = side.observations.iter().filter(|one| !is(one));
    others
        .all(|one| one.label.as_deref() != Some(label))
        .then_some(label)
}

/// The model's name, with the beginning of its configuration's fingerprint if that is known.
pub(super) fn full_name((name, configuration): &VersionKey) -> String {
    match configuration {
        Some(configuration) => format!("{name} ({})", short(configuration)),
        None => name.clone(),
    }
}

fn short(fingerprint: &str) -> &str {
    fingerprint.get(..8).unwrap_or(fingerprint)
}
