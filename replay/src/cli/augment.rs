//! `fillrate augment`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use fillrate_server::configuration::Layers;
use fillrate_server::context::Form;
use fillrate_server::model::{self, Model, Question, Request, Whole};
use fillrate_server::syntax::Language;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::progress::Progress;
use super::projects::{self, Ready};
use super::{CliError, Execution, Success};
use crate::corpus::Corpus;
use crate::corpus::manifest::Manifest;
use crate::language::runner::RunnerName;
use crate::mutate;
use crate::mutate::augment::{self, Fault, Focus, Proposal};
use crate::task::{self, Hole, Survivor, sha256_hex};
use crate::verdict::{Outcome, Verdict, VerdictError};

/// Have a model write tests that notice the faults which survived mutation.
///
/// A test is kept if it passes ten times with the code as it is, with nothing tampered with, runs
/// lines of the hole, does not look at how the code is written, fails with at least one survivor,
/// twice, and leaves the project's other tests alone. Kept tests go to DIR/PROJECT/, at their
/// paths in the project, and DIR/provenance.jsonl tells where they come from; tests of your own
/// can be put there, too. `--tests DIR` of `mutate`, `mine` and `replay` then adds them to the
/// project's own.
#[derive(Args)]
pub(super) struct Arguments {
    /// The holes with their survivors: a file that `mutate` wrote
    tasks: PathBuf,
    /// The corpus they were mined from
    #[arg(long, value_name = "MANIFEST")]
    corpus: PathBuf,
    /// A settings file (.toml) whose `[model]` is one that chats
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The folder for the tests
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The most times to ask about a hole; it is asked again while survivors are left and the
    /// last time gained something
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How many answers to ask for each time; of a greedy model, whose temperature is 0, it is one
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    candidates: u16,
    #[command(flatten)]
    execution: Execution,
}

/// How often a test must pass.
const PASSES: usize = 10;
/// The least that a model may write, in tokens: the settings are those for a completion.
const LEAST_TOKENS: u32 = 2048;
/// The least time that a model has, in milliseconds.
const LEAST_TIME: u64 = 120_000;
/// The file that tells where tests come from.
const PROVENANCE: &str = "provenance.jsonl";
/// The version of its records.
const SCHEMA: u32 = 1;

/// Where a kept test comes from: a line of [`PROVENANCE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Provenance {
    schema: u32,
    project: String,
    /// The file's path in the project.
    path: String,
    /// The test's id in the project.
    test: String,
    /// The id of the hole whose survivors were shown.
    hole: String,
    /// The model's name.
    model: String,
    /// Of what the model was asked: instructions, a NUL, and the text.
    prompt_sha256: String,
    /// The survivors it notices, of those that no test kept before it does.
    kills: Vec<Survivor>,
}

/// A hole with survivors.
struct Target<'a> {
    hole: &'a Hole,
    ready: &'a Ready,
    contents: &'a str,
    language: &'static Language,
    /// One of the project's files of tests, by its path, and its contents.
    example: (String, String),
    /// What test ids have in front of a path in the project, cut off: usually nothing.
    root: String,
    /// The survivors that no kept test notices yet, with the files they are.
    left: Vec<(&'a Survivor, String)>,
    /// Whether to ask about it again.
    open: bool,
}

/// Why a test is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rejection {
    /// The answer has no test that can be tried.
    Unreadable,
    /// It was proposed before.
    Repeated,
    /// It fails with the code as it is.
    Fails,
    /// It passes at times.
    Flaky,
    /// It can't be loaded, exceeds a limit, or passes without the evidence that a pass needs.
    Unproved,
    /// It runs no line of the hole.
    Uncalled,
    /// It fails with code that does the same and is written otherwise.
    ReadsText,
    /// It notices no survivor, or none that an earlier one does not.
    Useless,
    /// With it, the project's other tests don't all pass.
    Disturbs,
}

impl Rejection {
    fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "no test to be found",
            Self::Repeated => "proposed before",
            Self::Fails => "fails with the code as it is",
            Self::Flaky => "passes at times",
            Self::Unproved => "does not run, or tampers with the run",
            Self::Uncalled => "does not run the code",
            Self::ReadsText => "looks at how the code is written",
            Self::Useless => "notices nothing new",
            Self::Disturbs => "disturbs other tests",
        }
    }
}

/// A proposal under way.
struct Candidate {
    /// The index of its target.
    target: usize,
    proposal: Proposal,
    path: String,
    prompt_sha256: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let holes = task::read(&arguments.tasks)?;
    let mut manifest = Manifest::read(&arguments.corpus)?;
    super::replay::check_projects(&holes, &manifest, &arguments.corpus)?;
    let author = Author::open(arguments)?;
    let survivors = |hole: &Hole| hole.mutation.as_ref().map_or(0, |m| m.survivors.len());
    let holes: Vec<Hole> = holes
        .into_iter()
        .filter(|hole| survivors(hole) > 0)
        .collect();
    if holes.is_empty() {
        return Err(CliError::Refused(format!(
            "no hole of {} has a survivor; `fillrate mutate` finds them",
            arguments.tasks.display()
        )));
    }
    manifest
        .projects
        .retain(|project| holes.iter().any(|hole| hole.project == project.name));
    let mut complaints: Vec<String> = Vec::new();
    manifest.projects.retain(|project| {
        let runner = project.test.as_ref().map(|test| test.runner);
        let fits = matches!(runner, Some(RunnerName::Pytest | RunnerName::Vitest));
        if !fits {
            complaints.push(format!(
                "{}: tests are written for pytest and vitest only, so it is left out",
                project.name
            ));
        }
        fits
    });
    let corpus = Corpus::from_environment()?;
    let cache = corpus.cache.root().to_owned();
    let jobs = arguments.execution.jobs();
    let (prepared, mut absent) =
        projects::prepare(&corpus, &manifest, arguments.execution.tests.as_deref())?;
    let Execution { engine, anew, .. } = arguments.execution;
    let (ready, failed) = projects::judge(prepared, &cache, engine, anew, jobs)?;
    absent.extend(failed);
    complaints.extend(absent.iter().map(|(name, state)| {
        let reason = state.reason.as_deref().unwrap_or("left out");
        format!("{name}: {reason}")
    }));
    let mut targets = targets(&ready, &holes)?;
    let all: usize = targets.iter().map(|target| target.left.len()).sum();

    let mut kept: Vec<Provenance> = Vec::new();
    let mut rejected: BTreeMap<Rejection, usize> = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut answered = false;
    for round in 0..arguments.rounds {
        if targets.iter().all(|target| !target.open) {
            break;
        }
        let asked = targets.iter().filter(|target| target.open).count();
        let (candidates, faults) = author.ask(&mut targets, round);
        answered |= faults.len() < asked;
        complaints.extend(faults);
        let mut fresh = Vec::new();
        for candidate in candidates {
            match candidate {
                Ok(candidate) if seen.insert((candidate.target, candidate.path.clone())) => {
                    fresh.push(candidate);
                }
                Ok(_) => *rejected.entry(Rejection::Repeated).or_default() += 1,
                Err(rejection) => *rejected.entry(rejection).or_default() += 1,
            }
        }
        let judged = judge(&targets, &fresh, jobs, round)?;
        for target in &mut targets {
            target.open = false;
        }
        for (candidate, outcome) in fresh.iter().zip(judged) {
            let target = &mut targets[candidate.target];
            let kills = outcome.and_then(|kills| {
                let new: Vec<Survivor> = target
                    .left
                    .iter()
                    .filter(|(survivor, _)| kills.contains(&survivor.diff))
                    .map(|(survivor, _)| (*survivor).clone())
                    .collect();
                if new.is_empty() {
                    Err(Rejection::Useless)
                } else {
                    Ok(new)
                }
            });
            match kills {
                Ok(kills) => {
                    target
                        .left
                        .retain(|(survivor, _)| !kills.contains(survivor));
                    target.open = !target.left.is_empty();
                    let provenance = Provenance {
                        schema: SCHEMA,
                        project: target.hole.project.clone(),
                        path: candidate.path.clone(),
                        test: target.id(candidate),
                        hole: target.hole.id.clone(),
                        model: author.model.name().to_owned(),
                        prompt_sha256: candidate.prompt_sha256.clone(),
                        kills,
                    };
                    keep(&arguments.output, &provenance, &candidate.proposal.contents)?;
                    kept.push(provenance);
                }
                Err(rejection) => *rejected.entry(rejection).or_default() += 1,
            }
        }
    }

    for complaint in &complaints {
        eprintln!("fillrate: {complaint}");
    }
    if !answered {
        return Err(CliError::Refused(
            "no hole could be asked about, so no test was written".to_owned(),
        ));
    }
    for provenance in &kept {
        outln!(
            "{}: {} survivors noticed",
            provenance.test,
            provenance.kills.len()
        );
    }
    let left: usize = targets.iter().map(|target| target.left.len()).sum();
    // A test that notices survivors of several holes is one test.
    let files: BTreeSet<(&str, &str)> = kept
        .iter()
        .map(|provenance| (provenance.project.as_str(), provenance.path.as_str()))
        .collect();
    outln!(
        "{} tests kept, which notice {} of {all} survivors: {}",
        files.len(),
        all - left,
        arguments.output.display()
    );
    for (rejection, count) in &rejected {
        outln!("{count} not kept: {}", rejection.name());
    }
    if complaints.is_empty() {
        Ok(Success::Whole)
    } else {
        Ok(Success::Partial)
    }
}

/// The holes of the projects at hand, with their survivors.
fn targets<'a>(ready: &'a [Ready], holes: &'a [Hole]) -> Result<Vec<Target<'a>>, CliError> {
    let mut targets = Vec::new();
    for hole in holes {
        let Some(ready) = ready
            .iter()
            .find(|ready| ready.prepared.project.name == hole.project)
        else {
            continue;
        };
        let file = ready.files.iter().find(|file| file.path == hole.path);
        let file = file.ok_or_else(|| task::TaskError::OtherFile {
            id: hole.id.clone(),
            path: hole.path.clone(),
        })?;
        hole.cut(&file.contents)?;
        let range = super::mutate::lines_of(&file.contents, hole.start.0..hole.end.0);
        let mutants: BTreeMap<String, String> =
            mutate::mutants(file.language, &file.contents, range)
                .into_iter()
                .map(|mutant| {
                    let diff = mutant.edit.diff(&file.contents);
                    (diff, mutant.edit.apply(&file.contents))
                })
                .collect();
        let survivors = hole
            .mutation
            .iter()
            .flat_map(|mutation| &mutation.survivors);
        let left = survivors
            .map(|survivor| {
                let text = mutants.get(&survivor.diff).cloned().ok_or_else(|| {
                    CliError::Refused(format!(
                        "{}: its survivor at {} is none that this program makes; run `fillrate \
                         mutate` again",
                        hole.id, survivor.fault
                    ))
                })?;
                Ok((survivor, text))
            })
            .collect::<Result<Vec<_>, CliError>>()?;
        let (root, example) = example(ready, hole, &file.contents)?;
        targets.push(Target {
            hole,
            ready,
            contents: &file.contents,
            language: file.language,
            example,
            root,
            left,
            open: true,
        });
    }
    Ok(targets)
}

/// What test ids leave out at the beginning of paths, and the file of a test that runs the hole.
fn example(
    ready: &Ready,
    hole: &Hole,
    contents: &str,
) -> Result<(String, (String, String)), CliError> {
    let baseline = ready.judge.baseline();
    let covering = baseline.covering(&hole.path, lines(hole, contents));
    let stable = baseline.stable();
    let ids = covering.into_iter().chain(stable);
    let source = &ready.prepared.source;
    for id in ids {
        let name = id.split(ready.separator()).next().unwrap_or_default();
        // Ids begin at pytest's own root, which may be a folder of the project.
        let folders = std::iter::once(String::new()).chain(
            ready
                .prepared
                .project
                .arguments()
                .iter()
                .map(|folder| format!("{}/", folder.trim_end_matches('/'))),
        );
        for folder in folders {
            let path = format!("{folder}{name}");
            if let Ok(text) = fs::read_to_string(source.join(&path)) {
                return Ok((folder, (path, text)));
            }
        }
    }
    Err(CliError::Refused(format!(
        "{}: the file of none of its project's tests can be found",
        hole.id
    )))
}

impl Ready {
    /// What stands between a file and a test in the ids that the project's framework gives.
    fn separator(&self) -> &'static str {
        match self.prepared.project.test.as_ref().map(|test| test.runner) {
            Some(RunnerName::Vitest) => " > ",
            _ => "::",
        }
    }
}

/// The one-based lines of a hole.
fn lines(hole: &Hole, contents: &str) -> std::ops::RangeInclusive<usize> {
    let line = |byte: usize| 1 + contents[..byte].matches('\n').count();
    let text = contents[hole.start.0..hole.end.0].trim_end();
    line(hole.start.0)..=line(hole.start.0 + text.len())
}

impl Target<'_> {
    fn focus(&self) -> Focus<'_> {
        Focus {
            language: self.language,
            path: &self.hole.path,
            contents: self.contents,
            range: self.hole.start.0..self.hole.end.0,
            example: (&self.example.0, &self.example.1),
            faults: self
                .left
                .iter()
                .map(|(survivor, _)| Fault {
                    description: &survivor.fault,
                    diff: &survivor.diff,
                })
                .collect(),
        }
    }

    /// The id that the framework gives a candidate's test.
    fn id(&self, candidate: &Candidate) -> String {
        let path = candidate.path.strip_prefix(&self.root);
        let path = path.unwrap_or(&candidate.path);
        format!(
            "{path}{}{}",
            self.ready.separator(),
            candidate.proposal.test
        )
    }
}

/// The model that writes tests.
struct Author {
    model: Arc<dyn Model>,
    parameters: model::Parameters,
    runtime: tokio::runtime::Runtime,
    /// How many holes are asked about at once.
    jobs: usize,
}

impl Author {
    fn open(arguments: &Arguments) -> Result<Self, CliError> {
        let file = &arguments.model;
        if file.extension().is_none_or(|extension| extension != "toml") {
            return Err(CliError::Refused(format!(
                "`{}` can't write tests; name a settings file that ends in .toml and whose \
                 `[model]` speaks openai-chat or anthropic-messages",
                file.display()
            )));
        }
        let mut layers = Layers::default();
        layers.file(file)?;
        let mut settings = layers.merged()?.model;
        settings.max_tokens = settings.max_tokens.max(LEAST_TOKENS);
        settings.timeout_ms = settings.timeout_ms.max(LEAST_TIME);
        settings.candidates = usize::from(arguments.candidates);
        let model = model::open(&settings, &|name| std::env::var(name).ok())?;
        if !model.chats() {
            return Err(CliError::Refused(format!(
                "{} only fills in and can't be asked for tests; use a model that speaks \
                 openai-chat or anthropic-messages",
                model.name()
            )));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CliError::file("the runtime"))?;
        Ok(Self {
            model,
            parameters: settings.parameters(),
            runtime,
            jobs: arguments.execution.jobs(),
        })
    }

    /// Asks about every open target. A target whose exchange fails is closed and complained of.
    fn ask(
        &self,
        targets: &mut [Target<'_>],
        round: u32,
    ) -> (Vec<Result<Candidate, Rejection>>, Vec<String>) {
        let questions: BTreeMap<usize, Question> = targets
            .iter()
            .enumerate()
            .filter(|(_, target)| target.open)
            .map(|(index, target)| (index, augment::question(&target.focus())))
            .collect();
        let requests = questions
            .iter()
            .map(|(index, question)| (*index, self.request(&targets[*index], question, round)))
            .collect();
        let (mut candidates, mut faults) = (Vec::new(), Vec::new());
        for (index, answers) in self.answers(requests, round) {
            let target = &mut targets[index];
            let answers = match answers {
                Ok(answers) => answers,
                Err(fault) => {
                    target.open = false;
                    faults.push(format!("{}: {fault}", target.hole.id));
                    continue;
                }
            };
            let Question { instructions, text } = &questions[&index];
            let prompt_sha256 = sha256_hex(format!("{instructions}\0{text}").as_bytes());
            for answer in answers {
                let proposals = augment::proposals(target.language, &answer);
                if proposals.is_empty() {
                    candidates.push(Err(Rejection::Unreadable));
                }
                candidates.extend(proposals.into_iter().map(|proposal| {
                    Ok(Candidate {
                        target: index,
                        path: augment::path(&target.focus(), &proposal),
                        proposal,
                        prompt_sha256: prompt_sha256.clone(),
                    })
                }));
            }
        }
        (candidates, faults)
    }

    fn request(&self, target: &Target<'_>, question: &Question, round: u32) -> Request {
        let mut parameters = self.parameters.clone();
        parameters.seed = parameters.seed.wrapping_add(u64::from(round));
        Request {
            prefix: String::new(),
            suffix: String::new(),
            path: target.hole.path.clone(),
            repository: target.hole.project.clone(),
            language: Some(target.language),
            windows: Vec::new(),
            form: Form::default(),
            earlier: None,
            question: Some(question.clone()),
            parameters,
        }
    }

    /// What the model answers to requests, several at once: texts, or what went wrong.
    fn answers(
        &self,
        requests: Vec<(usize, Request)>,
        round: u32,
    ) -> BTreeMap<usize, Result<Vec<String>, String>> {
        let progress = Progress::of(format!("round {}: asking", round + 1));
        let all = requests.len();
        progress.at(0, all);
        let permits = Arc::new(Semaphore::new(self.jobs));
        self.runtime.block_on(async {
            let mut exchanges = JoinSet::new();
            for (index, request) in requests {
                let (model, permits) = (Arc::clone(&self.model), Arc::clone(&permits));
                exchanges.spawn(async move {
                    let _permit = permits.acquire().await;
                    (index, model.complete(&request, &Whole).await)
                });
            }
            let mut answers = BTreeMap::new();
            while let Some(ended) = exchanges.join_next().await {
                // One that panicked has no answer, and the panic has been told.
                let Ok((index, answer)) = ended else { continue };
                let texts = answer.map_err(|error| error.to_string()).map(|answer| {
                    let candidates = answer.candidates.into_iter();
                    candidates.map(|candidate| candidate.text).collect()
                });
                answers.insert(index, texts);
                progress.at(answers.len(), all);
            }
            answers
        })
    }
}

/// What each candidate came to: the diffs of the survivors it notices, or why it is not kept.
type Judged = Result<BTreeSet<String>, Rejection>;

fn judge(
    targets: &[Target<'_>],
    candidates: &[Candidate],
    jobs: usize,
    round: u32,
) -> Result<Vec<Judged>, CliError> {
    let progress = Progress::of(format!("round {}: judging tests", round + 1));
    progress.at(0, candidates.len());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failure = Mutex::new(None);
    let judged = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(candidate) = candidates.get(place) else {
                        break;
                    };
                    match judge_one(&targets[candidate.target], candidate) {
                        Ok(outcome) => {
                            let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
                            judged.insert(place, outcome);
                        }
                        Err(error) => {
                            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            break;
                        }
                    }
                    progress.at(done.fetch_add(1, Ordering::Relaxed) + 1, candidates.len());
                }
            });
        }
    });
    drop(progress);
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error.into());
    }
    let judged = judged.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(judged.into_values().collect())
}

fn judge_one(target: &Target<'_>, candidate: &Candidate) -> Result<Judged, VerdictError> {
    let Target {
        hole,
        ready,
        contents,
        language,
        ..
    } = target;
    let judge = &ready.judge;
    let id = target.id(candidate);
    let tests = [id.as_str()];
    let added = (
        candidate.path.as_str(),
        candidate.proposal.contents.as_str(),
    );
    let denied = |verdict: &Verdict, otherwise: Rejection| match verdict.outcome {
        Outcome::Passed => None,
        _ if notices(verdict, &id) => Some(otherwise),
        _ => Some(Rejection::Unproved),
    };

    if augment::names_code_objects(&candidate.proposal.contents) {
        return Ok(Err(Rejection::ReadsText));
    }
    let (verdict, ran) = judge.judge_added_tests_with_coverage(added, &tests, &hole.path)?;
    if let Some(rejection) = denied(&verdict, Rejection::Fails) {
        return Ok(Err(rejection));
    }
    if !lines(hole, contents).any(|line| ran.contains(&line)) {
        return Ok(Err(Rejection::Uncalled));
    }
    for _ in 1..PASSES {
        let verdict = judge.judge_added_tests(added, None, &tests)?;
        if let Some(rejection) = denied(&verdict, Rejection::Flaky) {
            return Ok(Err(rejection));
        }
    }
    let range = super::mutate::lines_of(contents, hole.start.0..hole.end.0);
    let text = augment::disguised(language, contents, range);
    let verdict = judge.judge_added_tests(added, Some((&hole.path, &text)), &tests)?;
    if let Some(rejection) = denied(&verdict, Rejection::ReadsText) {
        return Ok(Err(rejection));
    }
    let mut kills = BTreeSet::new();
    for (survivor, text) in &target.left {
        let change = Some((hole.path.as_str(), text.as_str()));
        // Twice, since chance may fail a test once that passed ten times.
        let mut noticed = true;
        for _ in 0..2 {
            noticed = noticed && notices(&judge.judge_added_tests(added, change, &tests)?, &id);
        }
        if noticed {
            kills.insert(survivor.diff.clone());
        }
    }
    if kills.is_empty() {
        return Ok(Err(Rejection::Useless));
    }
    let mut all = judge.baseline().stable();
    all.push(&id);
    if judge.judge_added_tests(added, None, &all)?.outcome != Outcome::Passed {
        return Ok(Err(Rejection::Disturbs));
    }
    Ok(Ok(kills))
}

/// Whether a test failed by itself, with all the evidence there that a pass would need.
fn notices(verdict: &Verdict, id: &str) -> bool {
    verdict.outcome == Outcome::Failed
        && verdict.missing.is_empty()
        && verdict.failed.iter().any(|failed| failed == id)
}

/// Writes a test and where it comes from. The record is written last, and whole or not at all.
fn keep(output: &Path, provenance: &Provenance, contents: &str) -> Result<(), CliError> {
    let path = output.join(&provenance.project).join(&provenance.path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(CliError::file(folder))?;
    }
    fs::write(&path, contents).map_err(CliError::file(&path))?;
    let path = output.join(PROVENANCE);
    let mut lines: Vec<String> = match fs::read_to_string(&path) {
        Ok(text) => text.lines().map(str::to_owned).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(CliError::file(&path)(error)),
    };
    let record = serde_json::to_string(provenance).map_err(|error| CliError::File {
        path: path.clone(),
        source: error.into(),
    })?;
    if !lines.contains(&record) {
        lines.push(record);
    }
    let file = tempfile::NamedTempFile::new_in(output).map_err(CliError::file(output))?;
    fs::write(file.path(), lines.join("\n") + "\n").map_err(CliError::file(&path))?;
    file.persist(&path)
        .map_err(|error| CliError::file(&path)(error.error))?;
    Ok(())
}
