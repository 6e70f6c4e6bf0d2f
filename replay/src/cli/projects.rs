//! What `mine` and `replay` begin with: the projects of a corpus, made ready, and their holes.

use std::collections::BTreeSet;
use std::path::Path;

use fillrate_server::syntax::Language;

use super::progress::Progress;
use super::{CliError, HoleChoice, mutate};
use crate::corpus::manifest::Manifest;
use crate::corpus::{Corpus, CorpusError, Prepared, Step, tree};
use crate::language::SourceFile;
use crate::language::environment::EnvironmentError;
use crate::mine::api;
use crate::mine::candidates::{self, Candidate, Coverage};
use crate::mine::dependencies::Repository;
use crate::mine::leak::Audit;
use crate::mine::{self, Mined, Tests, Wanted};
use crate::store::{MiningCounts, ProjectState, State};
use crate::task::{Hole, Kind, sha256_hex};
use crate::verdict::{Engine, Judge};

/// A project whose own tests have been run.
pub(super) type Ready = Project<Judge>;

/// A project that can be played; its own tests have been run if it has some.
pub(super) type Playable = Project<Option<Judge>>;

/// A project that is ready, with what judges changes to it.
pub(super) struct Project<J> {
    pub(super) prepared: Prepared,
    pub(super) judge: J,
    /// The files that holes may be cut into.
    pub(super) files: Vec<SourceFile>,
}

/// A project that takes no part, by name.
pub(super) type Absent = (String, ProjectState);

/// The version of the mining rules: what older rules chose is not read from the cache.
const RULES: u32 = 6;

/// Brings the sources and environments of all projects, and lays tests over them that are kept in
/// a folder beside the corpus.
///
/// # Errors
/// The folder of tests has nothing for any project.
pub(super) fn prepare(
    corpus: &Corpus,
    manifest: &Manifest,
    tests: Option<&Path>,
) -> Result<(Vec<Prepared>, Vec<Absent>), CliError> {
    if let Some(folder) = tests
        && !manifest
            .projects
            .iter()
            .any(|project| folder.join(&project.name).is_dir())
    {
        return Err(CliError::Refused(format!(
            "{} has no tests to add: it needs a folder named after a project, such as {}",
            folder.display(),
            manifest
                .projects
                .first()
                .map_or("PROJECT", |project| &project.name)
        )));
    }
    let progress = Progress::of("preparing projects");
    let mut prepared = Vec::new();
    let mut absent = Vec::new();
    let all = manifest.projects.len();
    for (index, project) in manifest.projects.iter().enumerate() {
        progress.at(index, all);
        let tell = |name: &str, step: Step| match step {
            Step::Source | Step::Ready => {}
            Step::Environment => progress.say(&format!("{name}: preparing its environment")),
            Step::Waiting => {
                progress.say(&format!(
                    "{name}: waiting for another process to prepare it"
                ));
            }
        };
        let ready = corpus
            .prepare_project(project, &tell)
            .and_then(|prepared| match tests {
                Some(folder) => {
                    corpus.with_tests(prepared, folder, &|step| tell(&project.name, step))
                }
                None => Ok(prepared),
            });
        match ready {
            Ok(ready) => prepared.push(ready),
            Err(error) => {
                let state = match error {
                    CorpusError::Environment(EnvironmentError::MissingProgram { .. }) => {
                        State::LeftOut
                    }
                    _ => State::Failed,
                };
                progress.say(&format!("{}: {error}", project.name));
                absent.push(without(&project.name, project.language.name, state, &error));
            }
        }
    }
    progress.at(all, all);
    Ok((prepared, absent))
}

/// Runs the projects' own tests. Those without tests are left out.
pub(super) fn judge(
    prepared: Vec<Prepared>,
    cache: &Path,
    engine: Engine,
    anew: bool,
    jobs: usize,
) -> Result<(Vec<Ready>, Vec<Absent>), CliError> {
    let (playable, mut absent) = open(prepared, cache, engine, anew, jobs)?;
    let mut ready = Vec::new();
    for project in playable {
        let Project {
            prepared,
            judge,
            files,
        } = project;
        let (name, language) = (&prepared.project.name, prepared.project.language.name);
        match judge {
            Some(judge) => ready.push(Project {
                prepared,
                judge,
                files,
            }),
            None => absent.push(without(name, language, State::LeftOut, &UNTESTED)),
        }
    }
    Ok((ready, absent))
}

/// Why nothing can be said of changes to a project.
pub(super) const UNTESTED: &str = "it has no tests (`[project.test]` in the manifest)";

/// Runs the own tests of the projects that have some.
pub(super) fn open(
    prepared: Vec<Prepared>,
    cache: &Path,
    engine: Engine,
    anew: bool,
    jobs: usize,
) -> Result<(Vec<Playable>, Vec<Absent>), CliError> {
    let mut ready = Vec::new();
    let mut absent = Vec::new();
    for prepared in prepared {
        if prepared.project.test.is_none() {
            ready.push(Project {
                files: source_files(&prepared)?,
                judge: None,
                prepared,
            });
            continue;
        }
        let name = prepared.project.name.clone();
        let progress = Progress::of(format!("{name}: own tests"));
        let judge = Judge::new(&prepared, cache, engine, jobs, |done, all| {
            progress.at(done, all);
        });
        match judge {
            Ok(judge) => {
                let judge = if anew { judge } else { judge.with_cache(cache) };
                let files = source_files(&prepared)?;
                ready.push(Project {
                    prepared,
                    judge: Some(judge),
                    files,
                });
            }
            // Without a sandbox no project can be judged.
            Err(error @ crate::verdict::VerdictError::Sandbox(_)) => return Err(error.into()),
            Err(error) => {
                progress.say(&format!("{name}: {error}"));
                let language = prepared.project.language.name;
                absent.push(without(&name, language, State::Failed, &error));
            }
        }
    }
    Ok((ready, absent))
}

/// The same projects, whose verdicts say what TypeScript's checker makes of a change.
pub(super) fn checking_types(
    ready: Vec<Playable>,
    cache: &Path,
) -> Result<Vec<Playable>, CliError> {
    ready
        .into_iter()
        .map(|ready| {
            let judge = ready.judge.map(|judge| judge.with_type_checker(cache));
            Ok(Playable {
                judge: judge.transpose()?,
                ..ready
            })
        })
        .collect()
}

/// Mines one project, or reads in the cache what mining it came to.
pub(super) fn holes<J>(
    project: &Project<J>,
    judge: &Judge,
    choice: &HoleChoice,
    quota: usize,
    solved: &BTreeSet<String>,
    cache: &Path,
    jobs: usize,
) -> Result<Mined, CliError> {
    let Project {
        prepared, files, ..
    } = project;
    let name = &prepared.project.name;
    let wanted = Wanted {
        holes: quota,
        kinds: choice.kinds.clone(),
        seed: choice.seed,
        mutation_score: choice.min_mutation_score,
        solved: solved.clone(),
    };
    let version = env!("CARGO_PKG_VERSION");
    let key = format!("{version}\0{RULES}\0{name}\0{}\0{wanted:?}", judge.key());
    let folder = cache.join("mined");
    let path = folder.join(format!("{}.json", sha256_hex(key.as_bytes())));
    let known = std::fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Mined>(&bytes).ok());
    if let Some(mined) = known {
        return Ok(mined);
    }
    let visible = tree::visible_files(prepared)?;
    let audit = Audit::new(visible.iter().filter_map(|path| {
        let bytes = std::fs::read(prepared.source.join(path)).ok()?;
        // Bytecode and archives hold strings too.
        Some((path.clone(), String::from_utf8_lossy(&bytes).into_owned()))
    }));
    let baseline = judge.baseline();
    let paths: BTreeSet<&str> = visible.iter().map(String::as_str).collect();
    let mut needing_others = Vec::new();
    let mut candidates: Vec<Candidate> = files
        .iter()
        .flat_map(|file| {
            let coverage = Coverage {
                tested: &|line| baseline.covers(&file.path, line),
                at_import: &|line| baseline.runs_at_import(&file.path, line),
            };
            if wanted.kinds.contains(&Kind::Api) {
                needing_others.extend(api::find_api_candidates(
                    name,
                    file,
                    &paths,
                    coverage,
                    wanted.seed,
                ));
            }
            candidates::find_candidates(name, file, coverage)
        })
        .collect();
    candidates.extend(api::deduplicate(needing_others));
    let progress = Progress::of(format!("{name}: mining holes"));
    let mut mined = mine::admit(
        files,
        candidates,
        &audit,
        &wanted,
        &Tests {
            judge: |path: &str, contents: &str| judge.judge(path, contents, &[]),
            mutate: |hole: &Hole, least| mutate::until_below(judge, files, hole, least),
        },
        jobs,
        |done, all| progress.at(done, all),
    )?;
    let sources = visible_sources(prepared)?;
    let repository = Repository::new(&sources);
    for hole in &mut mined.holes {
        let range = hole.start.0..hole.end.0;
        hole.dependencies = Some(repository.names_used(&hole.path, &range));
    }
    std::fs::create_dir_all(&folder).map_err(CliError::file(&folder))?;
    let file = tempfile::NamedTempFile::new_in(&folder).map_err(CliError::file(&folder))?;
    serde_json::to_writer(&file, &mined).map_err(|error| CliError::File {
        path: path.clone(),
        source: error.into(),
    })?;
    file.persist(&path)
        .map_err(|error| CliError::file(&path)(error.error))?;
    Ok(mined)
}

/// How many holes each project of a corpus gets. It depends on the manifest alone, so that a
/// project left out on one machine does not change the others' holes.
pub(super) fn quota(choice: &HoleChoice, manifest: &Manifest, name: &str) -> usize {
    let all = manifest.projects.len().max(1);
    let index = manifest
        .projects
        .iter()
        .position(|project| project.name == name)
        .unwrap_or_default();
    choice.holes / all + usize::from(index < choice.holes % all)
}

/// What a run notes of a project that takes part.
pub(super) fn state(prepared: &Prepared, mined: Option<(&Judge, &Mined)>) -> ProjectState {
    ProjectState {
        language: prepared.project.language.name.to_owned(),
        state: State::Ready,
        reason: None,
        mined: mined.map(|(judge, mined)| MiningCounts {
            tests: judge.baseline().stable().len(),
            quarantined: judge.baseline().quarantined().len(),
            candidates: mined.candidates,
            admitted: mined.holes.len(),
            rejected: mined.rejected.clone(),
        }),
    }
}

fn without(name: &str, language: &str, state: State, reason: &dyn std::fmt::Display) -> Absent {
    let state = ProjectState {
        language: language.to_owned(),
        state,
        reason: Some(reason.to_string()),
        mined: None,
    };
    (name.to_owned(), state)
}

/// Every file in a language there is that a language server is shown.
///
/// # Errors
/// The source can't be read.
pub(super) fn visible_sources(prepared: &Prepared) -> Result<Vec<SourceFile>, CliError> {
    let mut files = Vec::new();
    for path in tree::visible_files(prepared)? {
        let Some(language) = Language::for_path(Path::new(&path)) else {
            continue;
        };
        // What is no text defines nothing.
        if let Ok(contents) = std::fs::read_to_string(prepared.source.join(&path)) {
            files.push(SourceFile {
                path,
                contents,
                language,
            });
        }
    }
    Ok(files)
}

fn source_files(prepared: &Prepared) -> Result<Vec<SourceFile>, CliError> {
    let mut files = Vec::new();
    for path in tree::hole_files(prepared)? {
        let absolute = prepared.source.join(&path);
        let Some(language) = Language::for_path(Path::new(&path)) else {
            continue;
        };
        let contents = std::fs::read_to_string(&absolute).map_err(CliError::file(&absolute))?;
        files.push(SourceFile {
            path,
            contents,
            language,
        });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_spread_over_the_projects_of_the_manifest() {
        let text = "schema = 1\n".to_owned()
            + &["a", "b", "c"].map(|name| {
                format!("[[project]]\nname = \"{name}\"\nlanguage = \"python\"\nsource = {{ path = \".\" }}\nholes = [\"*.py\"]\n[project.environment]\npackages = [\"pytest==8.4.2\"]\n[project.test]\nrunner = \"pytest\"\n")
            })
            .concat();
        let manifest = Manifest::parse(&text, Path::new("a.toml")).expect("it is well-formed");
        let choice = HoleChoice {
            holes: 8,
            seed: 0,
            kinds: Kind::DEFAULT.to_vec(),
            min_mutation_score: None,
        };
        let quotas = ["a", "b", "c"].map(|name| quota(&choice, &manifest, name));
        assert_eq!(quotas, [3, 3, 2]);
    }
}
