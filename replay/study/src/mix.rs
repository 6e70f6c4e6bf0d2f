//! Compares the compositions of the sides' samples: two sides, or two versions, that measure
//! different samples are not comparable.

use std::collections::{BTreeMap, BTreeSet};

use super::input::{SampleDimension, SampleMix, SecondSide, Stratum, StudySide};
use super::join::{JoinedVersion, VersionKey};

/// The share of samples that would have to change before a warning reports a difference.
const NOTABLE: f64 = 0.1;

pub(super) type SampleCounts = BTreeMap<String, usize>;

/// Warnings about mixes that differ between the sides, or within a side between versions.
pub(super) fn warnings(
    offline: &StudySide,
    second_side: &StudySide,
    second: SecondSide,
    versions: &[JoinedVersion],
) -> Vec<String> {
    let offline_keys: Vec<VersionKey> = versions.iter().map(JoinedVersion::offline_key).collect();
    let second_keys: Vec<VersionKey> = versions.iter().map(JoinedVersion::second_key).collect();
    let sides = [
        (offline, "offline", &offline_keys),
        (second_side, second.name(), &second_keys),
    ];
    let mixes = offline.mixes.iter().chain(&second_side.mixes);
    let dimensions: BTreeSet<SampleDimension> = mixes.map(|mix| mix.dimension).collect();
    let mut warnings = Vec::new();
    for dimension in dimensions {
        let [one, other] = sides.map(|(side, _, keys)| counts(side, dimension, keys));
        if let Some(distance) = distance(&one, &other).filter(|it| *it > NOTABLE) {
            warnings.push(format!(
                "the mix of {} differs between the sides by {:.0} %: offline {}; {} {}",
                dimension.name(),
                distance * 100.0,
                shares(&one),
                second.name(),
                shares(&other)
            ));
        }
        for (side, name, keys) in sides {
            let whole = counts(side, dimension, keys);
            let furthest = versions
                .iter()
                .zip(keys)
                .filter_map(|(version, key)| {
                    let own = counts(side, dimension, std::slice::from_ref(key));
                    Some((distance(&own, &whole)?, &version.label, own))
                })
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((distance, version, own)) = furthest.filter(|it| it.0 > NOTABLE) {
                warnings.push(format!(
                    "{name}, the mix of {} differs between versions: {version} has {}, all have \
                     {} ({:.0} % apart)",
                    dimension.name(),
                    shares(&own),
                    shares(&whole),
                    distance * 100.0
                ));
            }
        }
    }
    warnings
}

/// The mixes of a version's samples in one language, given the strata of each sample.
pub(super) fn mixes(
    version: &str,
    configuration: Option<&str>,
    language: &str,
    samples: impl IntoIterator<Item = Vec<Stratum>>,
) -> Vec<SampleMix> {
    let mut mixes: BTreeMap<SampleDimension, SampleCounts> = BTreeMap::new();
    for strata in samples {
        let language = Stratum {
            dimension: SampleDimension::Language,
            name: language.to_owned(),
        };
        for stratum in strata.into_iter().chain([language]) {
            let counts = mixes.entry(stratum.dimension).or_default();
            *counts.entry(stratum.name).or_default() += 1;
        }
    }
    let mixes = mixes.into_iter();
    mixes
        .map(|(dimension, counts)| SampleMix {
            dimension,
            version: version.to_owned(),
            configuration: configuration.map(str::to_owned),
            counts,
        })
        .collect()
}

/// The samples of these versions together.
pub(super) fn counts(
    side: &StudySide,
    dimension: SampleDimension,
    versions: &[VersionKey],
) -> SampleCounts {
    let mut counts = SampleCounts::new();
    let wanted = side.mixes.iter().filter(|mix| {
        let key = (&mix.version, &mix.configuration);
        let is_wanted = |version: &VersionKey| (&version.0, &version.1) == key;
        mix.dimension == dimension && versions.iter().any(is_wanted)
    });
    for mix in wanted {
        for (name, count) in &mix.counts {
            *counts.entry(name.clone()).or_insert(0) += count;
        }
    }
    counts
}

/// The share of samples that would have to change to make one mix the other: half the sum of the
/// differences of their shares. `None` if a mix is empty.
fn distance(one: &SampleCounts, other: &SampleCounts) -> Option<f64> {
    let total = |mix: &SampleCounts| mix.values().sum::<usize>();
    let (one_total, other_total) = (total(one), total(other));
    if one_total == 0 || other_total == 0 {
        return None;
    }
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let share = |mix: &SampleCounts, name: &String, total: usize| {
        *mix.get(name).unwrap_or(&0) as f64 / total as f64
    };
    let differences = names
        .iter()
        .map(|name| (share(one, name, one_total) - share(other, name, other_total)).abs());
    Some(differences.sum::<f64>() / 2.0)
}

/// The shares of a mix with its n.
fn shares(mix: &SampleCounts) -> String {
    let total: usize = mix.values().sum();
    let parts: Vec<String> = mix
        .iter()
        .map(|(name, count)| format!("{name} {:.0} %", *count as f64 / total as f64 * 100.0))
        .collect();
    format!("{} (n {total})", parts.join(", "))
}
