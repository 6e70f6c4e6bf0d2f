//! The holes that all versions of a side were measured on: figures of different holes differ by the
//! holes.

use std::collections::{BTreeMap, BTreeSet};

use super::input::StudyError;

/// The holes that a run measured one version on.
#[derive(Clone, Debug)]
pub(super) struct MeasuredHoles {
    /// The run, for people.
    pub(super) source: String,
    /// The version: the model's name and its configuration's fingerprint.
    pub(super) version: (String, Option<String>),
    /// The ids of the holes.
    pub(super) holes: BTreeSet<String>,
    /// The keys of its attempts or sessions.
    pub(super) keys: BTreeSet<String>,
}

/// The holes of one version, and its runs.
#[derive(Default)]
struct VersionHoles<'a> {
    holes: BTreeSet<&'a str>,
    sources: Vec<&'a str>,
}

/// The holes that all versions have, if some have others, and a sentence that reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommonHoles {
    /// Their ids.
    pub(super) holes: BTreeSet<String>,
    /// The warning.
    pub(super) warning: String,
}

/// The part of a version's holes that all versions must have for them to be compared.
const LEAST_SHARE: f64 = 0.5;

/// Finds the holes that the versions of a side are compared on: `None` if they all have the same.
///
/// # Errors
/// Two runs hold the same attempts, or fewer than half of the holes of the version with the fewest
/// are those of all.
pub(super) fn common_holes(runs: &[MeasuredHoles]) -> Result<Option<CommonHoles>, StudyError> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    let mut versions: BTreeMap<&(String, Option<String>), VersionHoles<'_>> = BTreeMap::new();
    for run in runs {
        for key in &run.keys {
            if let Some(other) = known.insert(key, &run.source)
                && other != run.source
            {
                return Err(StudyError::SameAttempts {
                    first: other.to_owned(),
                    second: run.source.clone(),
                });
            }
        }
        let version = versions.entry(&run.version).or_default();
        version.holes.extend(run.holes.iter().map(String::as_str));
        version.sources.push(&run.source);
    }
    let mut all = versions.values();
    let Some(first) = all.next() else {
        return Ok(None);
    };
    let common = all.fold(first.holes.clone(), |common, one| &common & &one.holes);
    if versions.values().all(|one| one.holes == common) {
        return Ok(None);
    }
    let fewest = versions.values().min_by_key(|one| one.holes.len());
    if let Some(VersionHoles { holes, sources }) = fewest
        && (common.len() as f64) < LEAST_SHARE * holes.len() as f64
    {
        return Err(StudyError::OtherHoles {
            common: common.len(),
            sources: sources.join(", "),
            holes: holes.len(),
        });
    }
    let counts: Vec<String> = versions
        .values()
        .map(|one| format!("{} has {}", one.sources.join(" and "), one.holes.len()))
        .collect();
    Ok(Some(CommonHoles {
        warning: format!(
            "the versions were measured on different holes ({}), so they are compared on the {} \
             that all have; replay all of them with one --tasks file",
            counts.join(", "),
            common.len()
        ),
        holes: common.into_iter().map(str::to_owned).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The run of a version on holes with these numbers.
    fn run(version: &str, holes: std::ops::Range<usize>) -> MeasuredHoles {
        MeasuredHoles {
            source: format!("runs/{version}-{}", holes.start),
            version: (version.to_owned(), None),
            keys: holes
                .clone()
                .map(|hole| format!("{version}{hole}"))
                .collect(),
            holes: holes.map(|hole| hole.to_string()).collect(),
        }
    }

    #[test]
    fn versions_are_compared_on_the_holes_that_all_have() {
        let one = [run("a", 0..40), run("a", 40..80), run("b", 0..80)];
        assert_eq!(common_holes(&one), Ok(None));
        let found = common_holes(&[run("a", 0..80), run("b", 20..100), run("c", 0..90)]);
        let found = found.expect("enough are common").expect("some differ");
        // range(20, 80) of Python.
        assert_eq!(found.holes.len(), 60);
        insta::assert_snapshot!(found.warning, @"the versions were measured on different holes (runs/a-0 has 80, runs/b-20 has 80, runs/c-0 has 90), so they are compared on the 60 that all have; replay all of them with one --tasks file");
    }

    #[test]
    fn versions_without_enough_common_holes_are_refused() {
        let refused = common_holes(&[run("a", 0..72), run("b", 72..144)]).expect_err("none");
        insta::assert_snapshot!(refused, @"the versions have 0 holes in common, of the 72 of runs/a-0: figures of different holes can't be compared; replay all versions with one --tasks file");
        assert!(common_holes(&[run("a", 0..10), run("b", 5..50)]).is_ok());
        assert!(common_holes(&[run("a", 0..10), run("b", 6..50)]).is_err());
    }

    #[test]
    fn copies_of_a_run_are_refused() {
        let copy = MeasuredHoles {
            source: "copy".to_owned(),
            ..run("a", 0..3)
        };
        let refused = common_holes(&[run("a", 0..3), copy]).expect_err("they are one");
        insta::assert_snapshot!(refused, @"runs/a-0 and copy hold the same attempts, which would count twice; name one of them");
    }
}
