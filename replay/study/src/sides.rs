//! Reads the sides of a study from runs, telemetry and tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use fillrate_engine::developer::typing::TypistSettings;
use fillrate_engine::store::{
    DeveloperSettings, FILE_NAME, Run, StoreError, TypingAttempt, view_name,
};
use fillrate_language::task::Hole;
use fillrate_mine::written::CodeView;
use fillrate_server::telemetry::{StoreContents, TelemetryError};

use super::common::{MeasuredHoles, common_holes};
use super::input::{StudyError, StudySide};
use super::offline::{ReplayedAttempt, offline_side, run_configuration};
use super::simulated::simulated_side;
use super::table::{TableError, parse_table};
use super::telemetry::online::online_side;

/// Reason for which a side can't be read.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// A run can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A telemetry store can't be read.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// A table is invalid.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The versions have no holes in common.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A file can't be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Two runs of one version were typed by different developers.
    #[error(
        "{first} and {second}: developers of different settings typed with {model}, and their \
         figures would have the same names; name the runs of one developer"
    )]
    Developers {
        /// A run.
        first: String,
        /// Another one.
        second: String,
        /// The version's model.
        model: String,
    },
    /// Two sources of telemetry have a completion in common, which would count twice.
    #[error(
        "{first} and {second} hold the same completions, such as a store and its export, and each \
         would count twice; name one of them"
    )]
    SameCompletions {
        /// A store or an export.
        first: PathBuf,
        /// Another one.
        second: PathBuf,
    },
    /// A source has no figure.
    #[error("{0}")]
    Empty(String),
}

/// Reads the offline side from runs and tables. If its versions were measured on different holes,
/// only what they have in common counts.
///
/// # Errors
/// A source can't be read or has no figure.
pub fn read_offline_side(paths: &[PathBuf]) -> Result<StudySide, SideError> {
    let measured = |folder: &Path| {
        let run = Run::open(folder)?;
        let attempts = run.attempts()?;
        let configuration = run_configuration(&attempts).map(str::to_owned);
        // All attempts that any offline figure counts.
        let counted = attempts
            .iter()
            .filter(|one| one.repair_round == 0 && one.verdict.outcome.is_counted());
        let rows = counted.map(|one| (&*one.model, configuration.clone(), &*one.hole, &*one.key));
        Ok(measured_holes(folder, rows))
    };
    read_run_side(paths, measured, read_offline_run)
}

/// Reads the side of simulated developers from runs and tables, as [`read_offline_side`] does.
///
/// # Errors
/// A source can't be read or has no figure, or different developers typed with one version.
pub fn read_typed_side(paths: &[PathBuf]) -> Result<StudySide, SideError> {
    let mut developers: Vec<(MeasuredHoles, DeveloperSettings)> = Vec::new();
    let measured = |folder: &Path| {
        let run = Run::open(folder)?;
        let (attempts, typings) = (run.attempts()?, run.typings()?);
        let configuration = run_configuration(&attempts);
        let rows = typings.iter().filter(|one| one.is_counted()).map(|one| {
            // It is empty if the session requested nothing.
            let own = Some(&*one.configuration).filter(|own| !own.is_empty());
            let configuration = own.or(configuration).map(str::to_owned);
            (&*one.model, configuration, &*one.hole, &*one.key)
        });
        let measured = measured_holes(folder, rows);
        if let Some(settings) = run.developer_settings()? {
            for version in &measured {
                let other = developers.iter().find(|(known, other)| {
                    known.version == version.version && !is_same_developer(other, &settings)
                });
                if let Some((known, _)) = other {
                    return Err(SideError::Developers {
                        first: known.source.clone(),
                        second: version.source.clone(),
                        model: version.version.0.clone(),
                    });
                }
                developers.push((version.clone(), settings.clone()));
            }
        }
        Ok(measured)
    };
    read_run_side(paths, measured, read_typed_run)
}

/// True if settings differ in seeds alone, or in policies of different names.
fn is_same_developer(one: &DeveloperSettings, other: &DeveloperSettings) -> bool {
    let typing = TypistSettings {
        seed: one.typing.seed,
        ..other.typing.clone()
    };
    let mut pairs = one
        .policies
        .iter()
        .flat_map(|policy| other.policies.iter().map(move |other| (policy, other)));
    typing == one.typing && pairs.all(|(a, b)| a == b || a.name() != b.name())
}

/// Reads the online side from people's telemetry and tables.
///
/// # Errors
/// A source can't be read or has no figure.
pub fn read_online_side(paths: &[PathBuf]) -> Result<StudySide, SideError> {
    let mut known: HashMap<String, PathBuf> = HashMap::new();
    read_side(paths, |path| {
        let contents = read_telemetry(path)?;
        for completion in &contents.completions {
            let id = completion.answered.completion.clone();
            let first = known.entry(id).or_insert_with(|| path.to_owned());
            if first != path {
                return Err(SideError::SameCompletions {
                    first: first.clone(),
                    second: path.to_owned(),
                });
            }
        }
        telemetry_side(&contents, path)
    })
}

/// Reads the sources of a side: tables here, others by `read_other`.
fn read_side(
    paths: &[PathBuf],
    mut read_other: impl FnMut(&Path) -> Result<StudySide, SideError>,
) -> Result<StudySide, SideError> {
    let mut whole = StudySide::default();
    for path in paths {
        if is_table(path) {
            let text = std::fs::read_to_string(path).map_err(|source| SideError::File {
                path: path.clone(),
                source,
            })?;
            let observations = parse_table(&text, &path.display().to_string())?;
            whole.observations.extend(observations);
        } else {
            let more = read_other(path)?;
            whole.observations.extend(more.observations);
            whole.mixes.extend(more.mixes);
        }
    }
    Ok(whole)
}

/// True if a source of a side is a table of figures.
fn is_table(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
}

/// Reads a side of runs and tables. If its versions were measured on different holes, only what
/// they have in common counts: `measured` says what a run was measured on, and `read` takes the
/// figures of the holes of a set, or of all.
fn read_run_side(
    paths: &[PathBuf],
    mut measured: impl FnMut(&Path) -> Result<Vec<MeasuredHoles>, SideError>,
    read: impl Fn(&Path, Option<&BTreeSet<String>>) -> Result<StudySide, SideError>,
) -> Result<StudySide, SideError> {
    let mut all = Vec::new();
    // The figures of a table don't name their holes.
    for run in paths.iter().filter(|path| !is_table(path)) {
        all.extend(measured(run)?);
    }
    let common = common_holes(&all)?;
    let mut side = read_side(paths, |path| {
        read(path, common.as_ref().map(|common| &common.holes))
    })?;
    side.warnings.extend(common.map(|common| common.warning));
    Ok(side)
}

/// The holes of a run by version, of rows of model, configuration, hole and key.
fn measured_holes<'a>(
    folder: &Path,
    rows: impl Iterator<Item = (&'a str, Option<String>, &'a str, &'a str)>,
) -> Vec<MeasuredHoles> {
    let mut versions: BTreeMap<(String, Option<String>), MeasuredHoles> = BTreeMap::new();
    for (model, configuration, hole, key) in rows {
        let version = (model.to_owned(), configuration);
        let of_version = versions
            .entry(version.clone())
            .or_insert_with(|| MeasuredHoles {
                source: folder.display().to_string(),
                version,
                holes: BTreeSet::new(),
                keys: BTreeSet::new(),
            });
        of_version.holes.insert(hole.to_owned());
        of_version.keys.insert(key.to_owned());
    }
    versions.into_values().collect()
}

/// Reads the offline figures of a run, of the holes of a set or of all.
fn read_offline_run(
    folder: &Path,
    common: Option<&BTreeSet<String>>,
) -> Result<StudySide, SideError> {
    let run = Run::open(folder)?;
    let (mut attempts, holes) = (run.attempts()?, run.holes()?);
    attempts.retain(|one| common.is_none_or(|common| common.contains(&one.hole)));
    let mut files: HashMap<&str, String> = HashMap::new();
    for hole in holes.values() {
        if !files.contains_key(hole.file_sha256.as_str()) {
            files.insert(&hole.file_sha256, run.source(hole)?);
        }
    }
    let attempts: Vec<ReplayedAttempt<'_>> = attempts
        .iter()
        .filter_map(|attempt| {
            let hole = holes.get(&attempt.hole)?;
            Some(ReplayedAttempt {
                attempt,
                hole,
                contents: files.get(hole.file_sha256.as_str())?,
            })
        })
        .collect();
    if attempts.is_empty() {
        return Err(SideError::Empty(format!(
            "{} has no attempt, so it has no offline figure",
            folder.display()
        )));
    }
    let source = folder.display().to_string();
    let view = view(&run)?;
    Ok(offline_side(&attempts, &source, run_name(folder), view))
}

/// Reads what simulated developers accepted in a run, in the holes of a set or in all.
fn read_typed_run(
    folder: &Path,
    common: Option<&BTreeSet<String>>,
) -> Result<StudySide, SideError> {
    let run = Run::open(folder)?;
    let (attempts, holes, mut typings) = (run.attempts()?, run.holes()?, run.typings()?);
    typings.retain(|one| common.is_none_or(|common| common.contains(&one.hole)));
    let typed: Vec<(&TypingAttempt, &Hole)> = typings
        .iter()
        .filter_map(|typing| Some((typing, holes.get(&typing.hole)?)))
        .collect();
    if typed.is_empty() {
        return Err(SideError::Empty(format!(
            "{}: this run has no typed hole, so nothing was accepted; replay it with `replay \
             --mode type`",
            folder.display()
        )));
    }
    let source = folder.display().to_string();
    Ok(simulated_side(
        &typed,
        run_configuration(&attempts),
        &source,
        run_name(folder),
        view(&run)?,
    ))
}

/// The view in which a run showed its holes' files.
fn view(run: &Run) -> Result<CodeView, SideError> {
    view_name(&run.identity()?)
        .parse()
        .map_err(SideError::Empty)
}

/// Reads the telemetry of people's editors.
fn read_telemetry(path: &Path) -> Result<StoreContents, SideError> {
    if path.join(FILE_NAME).is_file() {
        return Err(SideError::Empty(format!(
            "{}: a run's acceptance is that of a simulated developer, not of people; use \
             --simulated for it",
            path.display()
        )));
    }
    Ok(fillrate_server::telemetry::read(path)?)
}

/// Returns the online side of a store's contents.
fn telemetry_side(contents: &StoreContents, path: &Path) -> Result<StudySide, SideError> {
    online_side(contents, &path.display().to_string()).ok_or_else(|| {
        SideError::Empty(format!(
            "{} has no completion that was offered to a person; sessions of a replay are \
             simulated and never count as online",
            path.display()
        ))
    })
}

/// A run's own name: its folder's.
fn run_name(folder: &Path) -> Option<&str> {
    folder.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use fillrate_engine::developer::policy::{Policy, Rule};
    use fillrate_engine::developer::typing::{KeyCounts, Pace, TypingSession};
    use fillrate_engine::developer::typist::Typist;
    use fillrate_language::task::HoleKind;
    use serde_json::{Value, json};

    use super::*;

    /// A run in which a hole was typed, at this scripted latency.
    fn typed_run(folder: &Path, seed: u64, latency_ms: f64) -> PathBuf {
        let path = folder.join(format!("{seed}-{latency_ms}"));
        typed_in(&path, seed, latency_ms, &json!({}))
    }

    /// A run of this identity in which a hole was typed.
    fn typed_in(path: &Path, seed: u64, latency_ms: f64, identity: &Value) -> PathBuf {
        let run = Run::open_or_begin(path, identity).expect("the folder is empty");
        let contents = "x = 1\n";
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 0..5, contents);
        run.add_holes([(&hole, contents)]).expect("there is room");
        run.add_typing(&TypingAttempt {
            key: path.display().to_string(),
            hole: hole.id.clone(),
            project: hole.project.clone(),
            model: "m".into(),
            configuration: "c".into(),
            policy: "accept-all".into(),
            policy_version: 1,
            session: TypingSession {
                requests: Vec::new(),
                keys: KeyCounts::default(),
                duration_ms: 1.0,
            },
        })
        .expect("there is room");
        run.set_developer_settings(&DeveloperSettings {
            policies: vec![Policy {
                rule: Rule::AcceptAll,
                latency: false,
            }],
            typing: TypistSettings {
                typist: Typist::default(),
                seed,
                pace: Pace::Virtual,
                latency_ms: Some(latency_ms),
            },
        })
        .expect("there is room");
        path.to_owned()
    }

    #[test]
    fn what_is_accepted_in_another_view_is_a_metric_of_its_own() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = |view| {
            let identity = json!({"view": view});
            typed_in(&folder.path().join(view), 1, 100.0, &identity)
        };
        let side = read_typed_side(&[run("finished"), run("as-written")]);
        let observations = side.expect("both are typed").observations;
        let metrics: BTreeSet<&str> = observations.iter().map(|it| &*it.metric).collect();
        for metric in ["(accept-all)", "(accept-all, as-written)"] {
            assert!(metrics.iter().any(|it| it.ends_with(metric)), "{metrics:?}");
        }
    }

    #[test]
    fn runs_of_different_developers_are_not_pooled() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = |seed, latency_ms| typed_run(folder.path(), seed, latency_ms);
        let (first, reseeded, slower) = (run(1, 100.0), run(2, 100.0), run(1, 300.0));
        read_typed_side(&[first.clone(), reseeded]).expect("they differ in their seeds alone");
        let error = read_typed_side(&[first, slower]).err();
        let error = error.expect("their latencies differ");
        assert!(matches!(error, SideError::Developers { .. }), "{error}");
    }
}
