//! Chooses the holes of projects that tests can judge.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use fillrate_language::SourceFile;
use fillrate_language::task::{Hole, HoleKind, WholeFile, sha256_hex};
use fillrate_mine::candidates::{self, HoleCandidate, LineCoverage};
use fillrate_mine::dependencies::DependencyIndex;
use fillrate_mine::leak::LeakIndex;
use fillrate_mine::{self, HoleJudge, MinedHoles, MiningRequest, Rejection, api};
use fillrate_verdict::Judge;
use fillrate_verdict::baseline::Baseline;
use fillrate_verdict::corpus::history::{HistoryError, LineHistory};
use fillrate_verdict::corpus::manifest::{Globs, Manifest};
use fillrate_verdict::corpus::{Corpus, Prepared};
use fillrate_verdict::queue::run_jobs;
use serde_json::json;

use super::PlayError;
use super::events::{Event, Listener, Phase, PhaseProgress};
use super::mutate;
use super::projects::{
    AbsentProject, ExecutionPlan, PlayableProject, ProjectLoader, UNTESTED, load_manifest,
    none_ready, visible_sources,
};
use crate::developer::fit::utc_day;
use crate::store::{MiningCounts, ProjectState, ProjectStatus};

/// Selection of holes.
#[derive(Clone, Debug)]
pub struct HoleSelection {
    /// The most holes, spread evenly over the projects of the corpus.
    pub holes: usize,
    /// Chooses other holes.
    pub seed: u64,
    /// The kinds of holes, taken in turn.
    pub kinds: Vec<HoleKind>,
    /// The least mutation score of a hole, from 0 to 1; `None` asks for none.
    pub min_mutation_score: Option<f64>,
    /// A date or a revision, after which a line of each hole has to have changed; `None` for holes
    /// of any age.
    pub since: Option<String>,
    /// True if holes are only in the half of the files whose tests take the least time.
    pub fast_files: bool,
}

/// Corpus to mine, and the selection of holes.
#[derive(Clone, Debug)]
pub struct MiningPlan {
    /// The corpus's manifest.
    pub corpus: PathBuf,
    /// The selection of holes.
    pub selection: HoleSelection,
    /// The ids of holes that are left out because a model wrote the reference without other files.
    pub solved: BTreeSet<String>,
    /// Settings for running tests.
    pub execution: ExecutionPlan,
}

/// Result of mining a corpus.
#[derive(Debug)]
pub struct MiningOutcome {
    /// By project, in the manifest's order.
    pub projects: Vec<(String, MinedHoles)>,
    /// The projects that are excluded.
    pub absent: Vec<AbsentProject>,
}

/// Mines the projects of a corpus.
///
/// # Errors
/// No project can be mined, or the sandbox is unavailable.
pub fn run(plan: &MiningPlan, listener: &dyn Listener) -> Result<MiningOutcome, PlayError> {
    let corpus = Corpus::from_environment()?;
    let manifest = load_manifest(&corpus, &plan.corpus, listener)?;
    let loader = ProjectLoader {
        after_first_runs: true,
        ..ProjectLoader::new(&corpus, &plan.execution, listener)
    };
    let (playable, absent) = loader.load(&manifest)?;
    if playable.is_empty() {
        let what = "no project of the corpus could be mined";
        return Err(none_ready(what, &absent));
    }
    let mut projects = Vec::new();
    for project in &playable {
        let name = project.name();
        let quota = quota(&plan.selection, &manifest, name);
        let mined = mine_project(project, &plan.selection, quota, &plan.solved, &loader)?;
        projects.push((name.to_owned(), mined));
    }
    check_any(projects.iter().map(|(name, mined)| (name.as_str(), mined)))?;
    Ok(MiningOutcome { projects, absent })
}

/// Refuses to go on without any hole.
///
/// # Errors
/// No hole was admitted. The error gives the reason for each project.
pub(super) fn check_any<'a>(
    mined: impl Iterator<Item = (&'a str, &'a MinedHoles)>,
) -> Result<(), PlayError> {
    let mut reasons = Vec::new();
    for (name, mined) in mined {
        if !mined.holes.is_empty() {
            return Ok(());
        }
        reasons.push(match mined.candidates {
            0 => format!(
                "{name} has no candidate, because no passing test runs a line of the files that \
                 match its `holes`"
            ),
            count => format!(
                "{name} has {count} candidates; rejected: {}",
                Rejection::describe(&mined.rejected)
            ),
        });
    }
    Err(PlayError::Empty(format!(
        "no hole was admitted: {}; correct the globs or the tests in the manifest, or ask for other \
         --kinds or more --holes",
        reasons.join("; ")
    )))
}

/// The version of the mining rules: the cache's holes of older rules are ignored.
const RULES: u32 = 13;

/// Mines one project, or reads its holes from the cache.
///
/// # Errors
/// The sandbox is unavailable, or the cache can't be written.
pub(super) fn mine_project(
    project: &PlayableProject,
    selection: &HoleSelection,
    quota: usize,
    solved: &BTreeSet<String>,
    loader: &ProjectLoader<'_>,
) -> Result<MinedHoles, PlayError> {
    let cache = loader.corpus.cache.root();
    let name = project.name();
    if project.judge.is_none() && selection.min_mutation_score.is_some() {
        return Err(PlayError::Refused(format!(
            "`{name}` can't have --min-mutation-score: {UNTESTED}"
        )));
    }
    let age = match &selection.since {
        Some(since) => Some(AgeLimit::new(project, since, loader)?),
        None => None,
    };
    let wanted = MiningRequest {
        holes: quota,
        kinds: selection.kinds.clone(),
        seed: selection.seed,
        mutation_score: selection.min_mutation_score,
        solved: solved.clone(),
    };
    let definition = &project.prepared.project;
    let globs = [&definition.holes, &definition.exclude, &definition.hidden];
    let patterns = globs.map(Globs::patterns);
    // The key has everything that the choice depends on; a cached choice is used unchecked.
    let version = env!("CARGO_PKG_VERSION");
    let key = json!([
        version,
        RULES,
        name,
        // Without a judge, the digest of the files identifies the state of the project.
        match &project.judge {
            Some(judge) => judge.key(),
            None => project.prepared.digest.clone(),
        },
        wanted.holes,
        wanted.kinds,
        wanted.seed,
        wanted.mutation_score,
        wanted.solved,
        patterns,
        age.as_ref().map(AgeLimit::key),
        selection.fast_files,
    ]);
    let path = cache
        .join("mined")
        .join(format!("{}.json", sha256_hex(key.to_string().as_bytes())));
    let known = std::fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<MinedHoles>(&bytes).ok());
    let mined = match known {
        Some(mined) => mined,
        None => {
            let filter = CandidateFilter {
                age: age.as_ref(),
                fast_files: selection.fast_files,
            };
            let mined = choose_settled_holes(project, &wanted, filter, loader)?;
            WholeFile::write_json(&path, &mined).map_err(PlayError::file(&path))?;
            mined
        }
    };
    loader.listener.receive(&Event::HolesMined {
        project: name.to_owned(),
        candidates: mined.candidates,
        admitted: mined.holes.len(),
        rejected: mined.rejected.clone(),
    });
    Ok(mined)
}

/// Mines one project until no test that decided proves flaky: its lines may have no other test.
fn choose_settled_holes(
    project: &PlayableProject,
    wanted: &MiningRequest,
    filter: CandidateFilter<'_>,
    loader: &ProjectLoader<'_>,
) -> Result<MinedHoles, PlayError> {
    let quarantined = |judge: &Judge| judge.baseline().quarantined().len();
    loop {
        let before = project.judge.as_ref().map(quarantined);
        let mined = choose_holes(project, wanted, filter, loader)?;
        let Some(judge) = &project.judge else {
            return Ok(mined);
        };
        // Settling may quarantine tests, on which the chosen holes depend; the number only grows.
        if judge.settle()? && before == Some(quarantined(judge)) {
            return Ok(mined);
        }
    }
}

/// Selection of the candidates that are tried.
#[derive(Clone, Copy)]
struct CandidateFilter<'a> {
    age: Option<&'a AgeLimit>,
    /// True for only the half of the files whose tests take the least time.
    fast_files: bool,
}

/// The time after which a line of each hole has to have changed.
struct AgeLimit {
    history: LineHistory,
    /// In seconds since 1970.
    time: i64,
    /// The commit that is checked out, on which the lines' times depend.
    head: String,
}

impl AgeLimit {
    fn new(
        project: &PlayableProject,
        since: &str,
        loader: &ProjectLoader<'_>,
    ) -> Result<Self, HistoryError> {
        let git = &loader.corpus.toolchain.git;
        let history = LineHistory::open(git, &project.prepared.project)?;
        Ok(Self {
            time: history.time(since)?,
            head: history.head()?,
            history,
        })
    }

    /// Everything that the choice of candidates depends on.
    fn key(&self) -> (i64, &str) {
        (self.time, &self.head)
    }

    /// Removes candidates none of whose lines changed later, and returns their number.
    fn remove_older(&self, candidates: &mut Vec<HoleCandidate>, ages: &CodeAges<'_>) -> usize {
        let before = candidates.len();
        // Lines of no commit are later than any.
        candidates.retain(|one| ages.newest(&one.hole).is_none_or(|time| time > self.time));
        before - candidates.len()
    }
}

/// The contents of files, and the times at which their lines changed.
struct CodeAges<'a>(HashMap<&'a str, (&'a str, Vec<Option<i64>>)>);

impl<'a> CodeAges<'a> {
    /// Reads the times of the files that have one of these holes.
    fn read<'h>(
        history: &LineHistory,
        holes: impl Iterator<Item = &'h Hole>,
        files: &'a [SourceFile],
        threads: usize,
    ) -> Result<Self, HistoryError> {
        let paths: BTreeSet<&str> = holes.map(|hole| hole.path.as_str()).collect();
        let read = files.iter().filter(|file| paths.contains(&*file.path));
        let ages = run_jobs(
            &read.collect::<Vec<_>>(),
            threads,
            || (),
            |(), file| {
                let times = history.line_times(&file.path)?;
                Ok((file.path.as_str(), (file.contents.as_str(), times)))
            },
            |_| {},
        )?;
        Ok(Self(ages.into_iter().collect()))
    }

    /// Returns the time of a hole's newest line, in seconds since 1970; `None` if one is in no
    /// commit.
    fn newest(&self, hole: &Hole) -> Option<i64> {
        let (contents, times) = self.0.get(hole.path.as_str())?;
        // Git does not end a line at a lone carriage return.
        let breaks = |text: &str| text.matches('\n').count();
        let text = contents.get(hole.start.0..hole.end.0)?;
        let first = breaks(&contents[..hole.start.0]);
        let last = first + breaks(text.strip_suffix('\n').unwrap_or(text));
        let own = times.get(first..=last)?;
        // `None` is the least of options.
        own.iter().min().copied().flatten()?;
        own.iter().copied().max().flatten()
    }
}

/// Mines one project.
fn choose_holes(
    project: &PlayableProject,
    wanted: &MiningRequest,
    filter: CandidateFilter<'_>,
    loader: &ProjectLoader<'_>,
) -> Result<MinedHoles, PlayError> {
    let PlayableProject {
        prepared,
        files,
        judge,
    } = project;
    let name = project.name();
    let visible = prepared.visible_files()?;
    let audit = LeakIndex::new(visible.iter().filter_map(|path| {
        let bytes = std::fs::read(prepared.source.join(path)).ok()?;
        // Bytecode and archives hold strings too.
        Some((path.clone(), String::from_utf8_lossy(&bytes).into_owned()))
    }));
    let baseline = judge.as_ref().map(Judge::baseline);
    let paths: BTreeSet<&str> = visible.iter().map(String::as_str).collect();
    let mut needing_others = Vec::new();
    let mut candidates: Vec<HoleCandidate> = files
        .iter()
        .flat_map(|file| {
            let coverage = LineCoverage {
                // Without tests, every line counts.
                tested: &|line| baseline.is_none_or(|it| it.covers(&file.path, line)),
                at_import: &|line| baseline.is_some_and(|it| it.runs_at_import(&file.path, line)),
            };
            if wanted.kinds.contains(&HoleKind::Api) {
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
    let threads = loader.execution.threads;
    // Candidates are dropped by age before tests are run for them.
    let (mut older, mut ages) = (0, None);
    if let Some(age) = filter.age {
        let holes = candidates.iter().map(|one| &one.hole);
        let read = CodeAges::read(&age.history, holes, files, threads)?;
        older = age.remove_older(&mut candidates, &read);
        ages = Some(read);
    }
    if filter.fast_files
        && let Some(baseline) = baseline
    {
        keep_fast_files(&mut candidates, |path| baseline.covering_seconds(path));
    }
    let progress = PhaseProgress::start(loader.listener, Phase::Mine, Some(name), 0);
    let mut mined = match judge {
        None => fillrate_mine::admit_untested(files, candidates, &audit, wanted),
        Some(judge) => fillrate_mine::admit(
            files,
            candidates,
            &audit,
            wanted,
            &HoleJudge {
                judge: |path: &str, contents: &str| judge.judge_own(path, contents, &[]),
                mutate: |hole: &Hole, least| mutate::until_below(judge, files, hole, least),
            },
            loader.execution.threads,
            |done, all| progress.set(done, all),
        )?,
    };
    // Older candidates were removed before admission, which therefore did not count them.
    if older > 0 {
        mined.candidates += older;
        mined.rejected.insert(Rejection::Older, older);
    }
    let sources = visible_sources(prepared)?;
    let repository = DependencyIndex::new(&sources);
    let git = &loader.corpus.toolchain.git;
    // A project without a history has holes without dates.
    if ages.is_none()
        && let Ok(history) = LineHistory::open(git, &prepared.project)
    {
        ages = Some(CodeAges::read(
            &history,
            mined.holes.iter(),
            files,
            threads,
        )?);
    }
    for hole in &mut mined.holes {
        let newest = ages.as_ref().and_then(|ages| ages.newest(hole));
        hole.changed = newest.map(|time| utc_day(time * 1000));
    }
    for hole in &mut mined.holes {
        let range = hole.start.0..hole.end.0;
        hole.dependencies = Some(repository.names_used(&hole.path, &range));
        hole.repoexec_dependencies = Some(repository.names_used_or_imported(&hole.path, &range));
    }
    Ok(mined)
}

/// Keeps the candidates in the half of their files, rounded up, whose tests take the least time.
fn keep_fast_files(candidates: &mut Vec<HoleCandidate>, time: impl Fn(&str) -> Duration) {
    let paths: BTreeSet<&str> = candidates.iter().map(|one| &*one.hole.path).collect();
    let mut by_time: Vec<(Duration, String)> = paths
        .into_iter()
        .map(|path| (time(path), path.to_owned()))
        .collect();
    // Paths break ties, so equal times give the same choice.
    by_time.sort();
    by_time.truncate(by_time.len().div_ceil(2));
    candidates.retain(|one| by_time.iter().any(|(_, path)| *path == one.hole.path));
}

/// Number of holes each project of a corpus gets. It depends on the manifest alone, so a project
/// that is absent on one machine does not change the others' holes.
pub(super) fn quota(selection: &HoleSelection, manifest: &Manifest, name: &str) -> usize {
    let all = manifest.projects.len().max(1);
    let index = manifest
        .projects
        .iter()
        .position(|project| project.name == name)
        .unwrap_or_default();
    selection.holes / all + usize::from(index < selection.holes % all)
}

/// Record of a project that takes part in a run.
pub(super) fn project_state(
    prepared: &Prepared,
    judge: Option<&Judge>,
    mined: Option<&MinedHoles>,
) -> ProjectState {
    let baseline = judge.map(Judge::baseline);
    ProjectState {
        language: prepared.project.language.name.to_owned(),
        status: ProjectStatus::Ready,
        reason: None,
        mined: mined.map(|mined| MiningCounts {
            tests: baseline.map_or(0, |it| it.stable().len()),
            quarantined: baseline.map_or(0, |it| it.quarantined().len()),
            set_aside: baseline
                .into_iter()
                .flat_map(Baseline::set_aside)
                .map(|(id, _)| id)
                .collect(),
            candidates: mined.candidates,
            admitted: mined.holes.len(),
            rejected: mined.rejected.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fillrate_language::SourceFile;
    use fillrate_syntax::Language;

    use super::*;

    // Git and this program end lines at different characters.
    #[test]
    fn a_lone_carriage_return_ends_no_line_of_the_history() {
        let text = "a = \"x\ry\"\nb = 2\nc = 3\n";
        let ages = CodeAges(HashMap::from([(
            "a.py",
            (text, vec![Some(1), Some(2), None]),
        )]));
        let newest = |part: &str| {
            let start = text.find(part).expect("it is in the text");
            let range = start..start + part.len();
            ages.newest(&Hole::new(
                "p",
                "python",
                "a.py",
                HoleKind::Line,
                range,
                text,
            ))
        };
        assert_eq!(newest("b = 2"), Some(2));
        assert_eq!(newest("a = \"x\ry\"\nb = 2\n"), Some(2));
        assert_eq!(newest("b = 2\nc"), None);
    }

    #[test]
    fn a_quick_selection_keeps_the_half_of_the_files_with_the_fastest_tests() {
        let text = "def f(a):\n    b = a\n    return b\n";
        let python = Language::by_id("python").expect("Python is in the table");
        let mut candidates = Vec::new();
        for path in ["a.py", "b.py", "c.py"] {
            let file = SourceFile {
                path: path.to_owned(),
                contents: text.to_owned(),
                language: python,
            };
            let coverage = LineCoverage {
                tested: &|_| true,
                at_import: &|_| false,
            };
            candidates.extend(candidates::find_candidates("demo", &file, coverage));
        }
        let all = candidates.len();
        keep_fast_files(&mut candidates, |path| {
            Duration::from_secs(if path == "b.py" { 9 } else { 1 })
        });
        let paths: BTreeSet<&str> = candidates.iter().map(|one| &*one.hole.path).collect();
        assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["a.py", "c.py"]);
        assert_eq!(candidates.len(), all / 3 * 2);
    }

    #[test]
    fn holes_are_spread_over_the_projects_of_the_manifest() {
        let text = "schema = 1\n".to_owned()
            + &["a", "b", "c"].map(|name| {
                format!("[[project]]\nname = \"{name}\"\nlanguage = \"python\"\nsource = {{ path = \".\" }}\nholes = [\"*.py\"]\n[project.environment]\npackages = [\"pytest==8.4.2\"]\n[project.test]\nrunner = \"pytest\"\n")
            })
            .concat();
        let manifest = Manifest::parse(&text, Path::new("a.toml")).expect("it is well-formed");
        let selection = HoleSelection {
            holes: 8,
            seed: 0,
            kinds: HoleKind::DEFAULT.to_vec(),
            min_mutation_score: None,
            since: None,
            fast_files: false,
        };
        let quotas = ["a", "b", "c"].map(|name| quota(&selection, &manifest, name));
        assert_eq!(quotas, [3, 3, 2]);
    }
}
