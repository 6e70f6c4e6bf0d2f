//! Has a model write tests that notice the faults which survived mutation, or that run lines which
//! no test runs, and judges the tests.

mod requested_tests;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fillrate_language::SourceFile;
use fillrate_language::mutate;
use fillrate_language::runner::RunnerName;
use fillrate_language::task::{self, Hole, Survivor, WholeFile, sha256_hex};
use fillrate_server::model::ChatQuestion;
use fillrate_syntax::Language;
use fillrate_syntax::text::LineIndex;
use fillrate_verdict::corpus::Corpus;
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::queue::run_jobs;
use fillrate_verdict::{FileContents, Outcome, Verdict, VerdictError};
use serde::{Deserialize, Serialize};

use self::requested_tests::{
    self as augment, RequestedTests, SurvivingFault, TestProposal, TestRequest,
};
use super::PlayError;
use super::chat::{self, ChatModel};
use super::events::{Event, Listener, Phase, PhaseProgress};
use super::mutate::whole_lines;
use super::projects::{
    AbsentProject, ExecutionPlan, ProjectLoader, TestedProject, check_projects, retain_projects_of,
};

/// Holes to write tests for, and the model.
#[derive(Clone, Debug)]
pub struct AugmentationPlan {
    /// The tasks file; for faults, with survivors.
    pub tasks: PathBuf,
    /// Goal of the tests.
    pub goal: TestGoal,
    /// The manifest of the corpus that the holes were mined from.
    pub corpus: PathBuf,
    /// A settings file (.toml) whose model has a chat protocol.
    pub model: PathBuf,
    /// The folder for the tests.
    pub output: PathBuf,
    /// The most requests for each hole, at least 1.
    pub requests: u32,
    /// Number of candidates that each request asks for.
    pub candidates: u16,
    /// Settings for running tests.
    pub execution: ExecutionPlan,
}

/// Goal of written tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestGoal {
    /// To notice survivors of mutation.
    Faults,
    /// To run lines of holes that no test runs: the coverage enhancement of RepoExec, §4.2.2 of
    /// [its paper](https://arxiv.org/abs/2406.11927).
    Coverage,
}

/// Number of lines of the holes, and of those that tests run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoverageCounts {
    /// The lines on which statements begin.
    pub lines: usize,
    /// Those that the project's own tests run.
    pub before: usize,
    /// Those that its tests and the kept ones run.
    pub after: usize,
    /// The holes.
    pub holes: usize,
    /// The holes of whose lines fewer than [`LEAST_COVERAGE`] are run.
    pub too_low: usize,
}

/// The least share of lines that a hole's tests must run, as RepoExec has it.
pub const LEAST_COVERAGE: f64 = 0.4;

/// Result of writing tests.
#[derive(Debug)]
pub struct AugmentationOutcome {
    /// The tests that were kept.
    pub kept: Vec<TestProvenance>,
    /// Number of tests that were rejected, by reason.
    pub rejected: BTreeMap<TestRejection, usize>,
    /// Number of survivors or lines that tests were wanted for.
    pub wanted: usize,
    /// Number of them that no test notices or runs yet.
    pub left: usize,
    /// The coverage of the holes, if that is the goal.
    pub coverage: Option<CoverageCounts>,
    /// Failures, in sentences.
    pub failures: Vec<String>,
}

/// Number of runs in which a test must pass.
const PASSES: usize = 10;
/// The file that says where tests come from.
const PROVENANCE: &str = "provenance.jsonl";
/// The version of its records.
const PROVENANCE_SCHEMA: u32 = 1;

/// Provenance of a kept test: a line of `provenance.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestProvenance {
    /// The version of the format.
    pub schema: u32,
    /// The project's name.
    pub project: String,
    /// The file's path in the project.
    pub path: String,
    /// The test's id in the project.
    pub test: String,
    /// The id of the hole whose survivors were shown.
    pub hole: String,
    /// The model's name.
    pub model: String,
    /// SHA-256 of the prompt: instructions, a NUL, and the text.
    pub prompt_sha256: String,
    /// The survivors it notices that no test kept before it does.
    pub kills: Vec<Survivor>,
    /// The one-based lines of the hole's file that it runs and no test before it does, if it was
    /// written for coverage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<usize>,
}

/// Gaps in the tests of a hole.
enum MissingTests<'a> {
    /// The survivors that no kept test notices yet, with the files they are.
    Faults(Vec<(&'a Survivor, String)>),
    /// The lines that no test runs yet.
    Lines(BTreeSet<usize>),
}

impl MissingTests<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Faults(faults) => faults.len(),
            Self::Lines(lines) => lines.len(),
        }
    }
}

/// Gain of a project's tests by a proposed test.
#[derive(Default)]
struct TestGain {
    /// The diffs of the survivors that it notices.
    kills: BTreeSet<String>,
    /// The lines that it runs and no own test does.
    lines: BTreeSet<usize>,
}

/// A hole whose tests lack something.
struct AugmentedHole<'a> {
    hole: &'a Hole,
    project: &'a TestedProject,
    contents: &'a str,
    language: &'static Language,
    /// One of the project's files of tests, by its path, and its contents.
    example: (String, String),
    /// Gaps that no kept test closes yet.
    left: MissingTests<'a>,
    /// The lines of the hole on which statements begin, where coverage is the goal.
    statements: usize,
    /// True if the model is to be asked about it again.
    open: bool,
}

/// Reason for which a test is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestRejection {
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
    /// It notices no survivor and runs no line, or none that an earlier one does not.
    Useless,
    /// With it, the project's other tests don't all pass.
    Disturbs,
}

impl TestRejection {
    /// The reason, for people.
    pub fn name(self) -> &'static str {
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

/// A proposed test.
struct TestCandidate {
    /// The index of its hole.
    target: usize,
    proposal: TestProposal,
    path: String,
    prompt_sha256: String,
}

/// Writes tests until no survivor is left, a request gains nothing or all requests are made.
///
/// # Errors
/// There are no survivors, the model answers no request, or the sandbox is unavailable.
pub fn run(
    plan: &AugmentationPlan,
    listener: &dyn Listener,
) -> Result<AugmentationOutcome, PlayError> {
    let holes = task::read(&plan.tasks)?;
    let corpus = Corpus::from_environment()?;
    let mut manifest = corpus.load_manifest(&plan.corpus)?;
    check_projects(&holes, &manifest, &plan.corpus)?;
    let author = TestAuthor::open(plan)?;
    let survivors = |hole: &Hole| hole.mutation.as_ref().map_or(0, |m| m.survivors.len());
    let holes: Vec<Hole> = holes
        .into_iter()
        .filter(|hole| plan.goal == TestGoal::Coverage || survivors(hole) > 0)
        .collect();
    if holes.is_empty() {
        return Err(PlayError::Refused(format!(
            "no hole of {} has a survivor; `fillrate mutate` finds them",
            plan.tasks.display()
        )));
    }
    // Projects are left out before they are loaded, which runs their tests.
    let mut failures = retain_supported(&mut manifest, &holes);
    let loader = ProjectLoader::new(&corpus, &plan.execution, listener);
    let (projects, absent) = loader.load_tested(&manifest)?;
    failures.extend(absent.iter().map(AbsentProject::describe));
    let (targets, without_example) = find_targets(&projects, &holes, plan.goal)?;
    failures.extend(without_example);
    let wanted: usize = targets.iter().map(|target| target.left.len()).sum();
    if plan.goal == TestGoal::Coverage && wanted == 0 && !targets.is_empty() {
        return Err(PlayError::Refused(format!(
            "no test is missing: tests run every line of the {} holes",
            targets.len()
        )));
    }
    let mut augmentation = Augmentation {
        wanted,
        plan,
        author: &author,
        listener,
        targets,
        seen: HashSet::new(),
        kept: Vec::new(),
        rejected: BTreeMap::new(),
        failures,
    };
    let mut answered = false;
    for number in 0..plan.requests {
        let open = augmentation.targets.iter().filter(|one| one.open).count();
        if open == 0 {
            break;
        }
        // One answered request is enough: later failures don't discard tests that were written.
        answered |= augmentation.ask_and_judge(number)? < open;
    }
    if !answered {
        return Err(PlayError::Refused(format!(
            "no hole could be asked about, so no test was written: {}",
            augmentation.failures.join("; ")
        )));
    }
    Ok(augmentation.finish())
}

/// Keeps the projects that have holes and whose runner tests can be written for. Returns what is
/// said about the others.
fn retain_supported(manifest: &mut Manifest, holes: &[Hole]) -> Vec<String> {
    retain_projects_of(manifest, holes);
    let mut failures = Vec::new();
    manifest.projects.retain(|project| {
        let runner = project.test.as_ref().map(|test| test.runner);
        let fits = matches!(runner, Some(RunnerName::Pytest | RunnerName::Vitest));
        if !fits {
            failures.push(format!(
                "{}: tests are written for pytest and vitest only, so it is left out",
                project.name
            ));
        }
        fits
    });
    failures
}

/// An augmentation under way.
struct Augmentation<'a> {
    plan: &'a AugmentationPlan,
    author: &'a TestAuthor,
    listener: &'a dyn Listener,
    targets: Vec<AugmentedHole<'a>>,
    wanted: usize,
    /// The tests that were proposed, by hole and path.
    seen: HashSet<(usize, String)>,
    kept: Vec<TestProvenance>,
    rejected: BTreeMap<TestRejection, usize>,
    failures: Vec<String>,
}

impl Augmentation<'_> {
    /// Asks about every open hole once and judges the answers. Returns how many requests failed.
    fn ask_and_judge(&mut self, number: u32) -> Result<usize, PlayError> {
        let (candidates, failures) = self.author.ask(&mut self.targets, number, self.listener)?;
        let failed = failures.len();
        self.failures.extend(failures);
        let mut fresh = Vec::new();
        for candidate in candidates {
            match candidate {
                Ok(candidate) if self.seen.insert((candidate.target, candidate.path.clone())) => {
                    fresh.push(candidate);
                }
                Ok(_) => self.reject(TestRejection::Repeated),
                Err(rejection) => self.reject(rejection),
            }
        }
        let judged = self.judge(&fresh, number)?;
        // A hole whose request gained nothing is not asked about again.
        for target in &mut self.targets {
            target.open = false;
        }
        // In the order of the answers, so that equal answers keep equal tests.
        for (candidate, judged) in fresh.iter().zip(judged) {
            match judged {
                Ok(gain) => self.keep_if_useful(candidate, &gain)?,
                Err(rejection) => self.reject(rejection),
            }
        }
        Ok(failed)
    }

    fn reject(&mut self, rejection: TestRejection) {
        *self.rejected.entry(rejection).or_default() += 1;
    }

    /// Keeps a test that notices survivors or runs lines, if no test kept before it does for all.
    fn keep_if_useful(
        &mut self,
        candidate: &TestCandidate,
        gain: &TestGain,
    ) -> Result<(), PlayError> {
        let target = &mut self.targets[candidate.target];
        let mut kills: Vec<Survivor> = Vec::new();
        let mut lines: Vec<usize> = Vec::new();
        match &mut target.left {
            MissingTests::Faults(left) => {
                let new = left
                    .iter()
                    .filter(|(survivor, _)| gain.kills.contains(&survivor.diff));
                kills.extend(new.map(|(survivor, _)| (*survivor).clone()));
                left.retain(|(survivor, _)| !kills.contains(survivor));
            }
            MissingTests::Lines(left) => {
                lines.extend(left.intersection(&gain.lines));
                left.retain(|line| !gain.lines.contains(line));
            }
        }
        if kills.is_empty() && lines.is_empty() {
            self.reject(TestRejection::Useless);
            return Ok(());
        }
        target.open = target.left.len() > 0;
        let provenance = TestProvenance {
            schema: PROVENANCE_SCHEMA,
            project: target.hole.project.clone(),
            path: candidate.path.clone(),
            test: target.id(candidate),
            hole: target.hole.id.clone(),
            model: self.author.model.name().to_owned(),
            prompt_sha256: candidate.prompt_sha256.clone(),
            kills,
            lines,
        };
        store_test(&self.plan.output, &provenance, &candidate.proposal.contents)?;
        self.kept.push(provenance);
        Ok(())
    }

    /// Judges candidates, several at once.
    fn judge(
        &self,
        candidates: &[TestCandidate],
        number: u32,
    ) -> Result<Vec<JudgedTest>, PlayError> {
        let subject = (number + 1).to_string();
        let progress = PhaseProgress::start(
            self.listener,
            Phase::JudgeTests,
            Some(&subject),
            candidates.len(),
        );
        Ok(run_jobs(
            candidates,
            self.plan.execution.threads,
            || (),
            |(), candidate| {
                let target = &self.targets[candidate.target];
                let judged = judge_one(target, candidate)?;
                self.listener.receive(&Event::TestJudged {
                    project: target.hole.project.clone(),
                    hole: target.hole.id.clone(),
                    path: candidate.path.clone(),
                    kills: judged.as_ref().map_or(0, |gain| gain.kills.len()),
                    rejection: judged.as_ref().err().map(|one| one.name().to_owned()),
                });
                progress.advance(1);
                Ok::<_, VerdictError>(judged)
            },
            |_| {},
        )?)
    }

    fn finish(self) -> AugmentationOutcome {
        let left = self.targets.iter().map(|target| target.left.len()).sum();
        let lines: usize = self.targets.iter().map(|target| target.statements).sum();
        let is_low = |target: &&AugmentedHole<'_>| {
            let run = target.statements - target.left.len();
            (run as f64) < LEAST_COVERAGE * target.statements as f64
        };
        let coverage = (self.plan.goal == TestGoal::Coverage).then(|| CoverageCounts {
            lines,
            before: lines - self.wanted,
            after: lines - left,
            holes: self.targets.len(),
            too_low: self.targets.iter().filter(is_low).count(),
        });
        AugmentationOutcome {
            left,
            coverage,
            kept: self.kept,
            rejected: self.rejected,
            wanted: self.wanted,
            failures: self.failures,
        }
    }
}

/// The holes of the projects that are present, with what their tests lack.
fn find_targets<'a>(
    projects: &'a [TestedProject],
    holes: &'a [Hole],
    goal: TestGoal,
) -> Result<(Vec<AugmentedHole<'a>>, Vec<String>), PlayError> {
    let mut targets = Vec::new();
    let mut without_example = Vec::new();
    for hole in holes {
        let Some(project) = projects.iter().find(|one| one.name() == hole.project) else {
            continue;
        };
        let file = project.source_file(hole)?;
        hole.cut(&file.contents)?;
        let (left, statements) = match goal {
            TestGoal::Faults => (MissingTests::Faults(find_survivors(hole, file)?), 0),
            TestGoal::Coverage => {
                let statements = statement_lines(hole, file);
                let baseline = project.judge.baseline();
                let uncovered = statements
                    .iter()
                    .copied()
                    .filter(|line| !baseline.covers(&hole.path, *line));
                (MissingTests::Lines(uncovered.collect()), statements.len())
            }
        };
        let Some(example) = find_example(project, hole, &file.contents) else {
            without_example.push(format!(
                "{}: no file of its project's tests can be read as an example, so it is left out",
                hole.id
            ));
            continue;
        };
        targets.push(AugmentedHole {
            hole,
            project,
            contents: &file.contents,
            language: file.language,
            example,
            open: left.len() > 0,
            left,
            statements,
        });
    }
    Ok((targets, without_example))
}

/// The survivors of a hole, with the files they are.
fn find_survivors<'a>(
    hole: &'a Hole,
    file: &SourceFile,
) -> Result<Vec<(&'a Survivor, String)>, PlayError> {
    let range = whole_lines(&file.contents, hole.start.0..hole.end.0);
    let mutants: BTreeMap<String, String> =
        mutate::find_mutants(file.language, &file.contents, range)
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
    survivors
        .map(|survivor| {
            let text = mutants.get(&survivor.diff).cloned().ok_or_else(|| {
                PlayError::Refused(format!(
                    "{}: its survivor at {} is none that this program makes; run `fillrate \
                     mutate` again",
                    hole.id, survivor.fault
                ))
            })?;
            Ok((survivor, text))
        })
        .collect()
}

/// The one-based lines of a hole on which statements begin, documentation aside.
fn statement_lines(hole: &Hole, file: &SourceFile) -> BTreeSet<usize> {
    let index = LineIndex::new(&file.contents);
    let wanted = hole.lines(&file.contents);
    let tree = file.language.parse(&file.contents);
    let mut pending = vec![tree.root_node()];
    let mut found = BTreeSet::new();
    while let Some(node) = pending.pop() {
        // An expression statement whose only child is a string is documentation.
        let only = node
            .named_child(0)
            .filter(|_| node.named_child_count() == 1);
        let is_text = node.kind() == "expression_statement"
            && only.is_some_and(|only| only.kind() == "string");
        let line = index.number(node.start_byte());
        if file.language.is_statement(node) && !is_text && wanted.contains(&line) {
            found.insert(line);
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    found
}

/// Returns the path and contents of a file of tests, if possible of one that runs the hole. `None`
/// if none can be read: it is not UTF-8, or another program made the tests.
fn find_example(project: &TestedProject, hole: &Hole, contents: &str) -> Option<(String, String)> {
    let baseline = project.judge.baseline();
    // A test that runs the hole is the best example; any stable test is second.
    let covering = baseline.covering(&hole.path, hole.lines(contents));
    let stable = baseline.stable();
    let ids = covering.into_iter().chain(stable);
    let source = &project.prepared.source;
    for id in ids {
        let path = id.split(separator(project)).next().unwrap_or_default();
        if let Ok(text) = fs::read_to_string(source.join(path)) {
            return Some((path.to_owned(), text));
        }
    }
    None
}

/// Separator between a file and a test in the ids of the project's framework.
fn separator(project: &TestedProject) -> &'static str {
    match project
        .prepared
        .project
        .test
        .as_ref()
        .map(|test| test.runner)
    {
        Some(RunnerName::Vitest) => " > ",
        _ => "::",
    }
}

impl AugmentedHole<'_> {
    fn focus(&self) -> TestRequest<'_> {
        TestRequest {
            language: self.language,
            path: &self.hole.path,
            contents: self.contents,
            range: self.hole.start.0..self.hole.end.0,
            example: (&self.example.0, &self.example.1),
            missing: match &self.left {
                MissingTests::Faults(left) => RequestedTests::Faults(
                    left.iter()
                        .map(|(survivor, _)| SurvivingFault {
                            description: &survivor.fault,
                            diff: &survivor.diff,
                        })
                        .collect(),
                ),
                MissingTests::Lines(left) => RequestedTests::Lines(left.iter().copied().collect()),
            },
        }
    }

    /// The id that the framework gives a candidate's test.
    fn id(&self, candidate: &TestCandidate) -> String {
        format!(
            "{}{}{}",
            candidate.path,
            separator(self.project),
            candidate.proposal.test
        )
    }
}

/// The model that writes tests.
struct TestAuthor {
    model: ChatModel,
    runtime: tokio::runtime::Runtime,
    /// Number of holes that the model is asked about at once.
    threads: usize,
}

impl TestAuthor {
    fn open(plan: &AugmentationPlan) -> Result<Self, PlayError> {
        let file = &plan.model;
        if file.extension().is_none_or(|extension| extension != "toml") {
            return Err(PlayError::Refused(format!(
                "`{}` can't write tests; name a settings file that ends in .toml and whose \
                 `[model]` speaks openai-chat or anthropic-messages",
                file.display()
            )));
        }
        Ok(Self {
            model: ChatModel::open(file, plan.candidates.into(), "be asked for tests")?,
            runtime: chat::runtime()?,
            threads: plan.execution.threads,
        })
    }

    /// Asks about every open hole. A hole whose request fails is closed. Returns the tests and what
    /// failed.
    fn ask(
        &self,
        targets: &mut [AugmentedHole<'_>],
        number: u32,
        listener: &dyn Listener,
    ) -> Result<(Vec<ProposedTest>, Vec<String>), PlayError> {
        let open = targets.iter().enumerate().filter(|(_, target)| target.open);
        let jobs: Vec<(usize, &Hole, ChatQuestion)> = open
            .map(|(index, target)| (index, target.hole, augment::ask_for_tests(&target.focus())))
            .collect();
        let subject = (number + 1).to_string();
        let progress =
            PhaseProgress::start(listener, Phase::WriteTests, Some(&subject), jobs.len());
        let answers = run_jobs(
            &jobs,
            self.threads,
            || self.runtime.handle().clone(),
            |runtime, (_, hole, question)| {
                // Another seed each round: else a deterministic model gives the same tests again.
                let answers = self.model.ask(runtime, hole, question.clone(), number);
                progress.advance(1);
                Ok::<_, PlayError>(answers)
            },
            |_| {},
        )?;
        drop(progress);
        let (mut candidates, mut failures) = (Vec::new(), Vec::new());
        for ((index, _, question), answers) in jobs.iter().zip(answers) {
            let target = &mut targets[*index];
            let answers = match answers {
                Ok(answers) => answers,
                Err(failure) => {
                    target.open = false;
                    failures.push(format!("{}: {failure}", target.hole.id));
                    continue;
                }
            };
            let ChatQuestion { instructions, text } = question;
            let prompt_sha256 = sha256_hex(format!("{instructions}\0{text}").as_bytes());
            for answer in answers {
                let proposals = augment::parse_tests(target.language, &answer);
                if proposals.is_empty() {
                    candidates.push(Err(TestRejection::Unreadable));
                }
                candidates.extend(proposals.into_iter().map(|proposal| {
                    Ok(TestCandidate {
                        target: *index,
                        path: augment::test_path(&target.focus(), &proposal),
                        proposal,
                        prompt_sha256: prompt_sha256.clone(),
                    })
                }));
            }
        }
        Ok((candidates, failures))
    }
}

/// A test that a model proposed, or why its answer has none.
type ProposedTest = Result<TestCandidate, TestRejection>;

/// Gain by a test, or the reason of its rejection.
type JudgedTest = Result<TestGain, TestRejection>;

fn judge_one(
    target: &AugmentedHole<'_>,
    candidate: &TestCandidate,
) -> Result<JudgedTest, VerdictError> {
    let AugmentedHole {
        hole,
        project,
        contents,
        language,
        ..
    } = target;
    let judge = &project.judge;
    let id = target.id(candidate);
    let tests = [id.as_str()];
    let added = FileContents {
        path: &candidate.path,
        contents: &candidate.proposal.contents,
    };
    let denied = |verdict: &Verdict, otherwise: TestRejection| match verdict.outcome {
        Outcome::Passed => None,
        _ if notices(verdict, &id) => Some(otherwise),
        _ => Some(TestRejection::Unproved),
    };

    // This is checked first because it needs no run.
    if augment::names_code_objects(&candidate.proposal.contents) {
        return Ok(Err(TestRejection::ReadsText));
    }
    // The first of the runs records coverage, which the others need not.
    let (verdict, ran) = judge.judge_added_tests_with_coverage(added, &tests, &hole.path)?;
    if let Some(rejection) = denied(&verdict, TestRejection::Fails) {
        return Ok(Err(rejection));
    }
    if !hole.lines(contents).any(|line| ran.contains(&line)) {
        return Ok(Err(TestRejection::Uncalled));
    }
    // The run with coverage above is the first of the passes.
    for _ in 1..PASSES {
        let verdict = judge.judge_added_tests(added, None, &tests)?;
        if let Some(rejection) = denied(&verdict, TestRejection::Flaky) {
            return Ok(Err(rejection));
        }
    }
    let text = augment::disguise(language, contents, hole.start.0..hole.end.0);
    let disguised = FileContents {
        path: &hole.path,
        contents: &text,
    };
    let verdict = judge.judge_added_tests(added, Some(disguised), &tests)?;
    if let Some(rejection) = denied(&verdict, TestRejection::ReadsText) {
        return Ok(Err(rejection));
    }
    let gain = match &target.left {
        MissingTests::Faults(left) => TestGain {
            kills: noticed_faults(target, added, &id, left)?,
            ..TestGain::default()
        },
        MissingTests::Lines(left) => TestGain {
            lines: left
                .iter()
                .copied()
                .filter(|line| ran.contains(line))
                .collect(),
            ..TestGain::default()
        },
    };
    // The run of all tests is the costliest, so useless tests are rejected before it.
    if gain.kills.is_empty() && gain.lines.is_empty() {
        return Ok(Err(TestRejection::Useless));
    }
    // State that a test leaves behind is noticed only by the tests that run after it.
    let mut all = judge.baseline().stable();
    all.push(&id);
    if judge.judge_added_tests(added, None, &all)?.outcome != Outcome::Passed {
        return Ok(Err(TestRejection::Disturbs));
    }
    Ok(Ok(gain))
}

/// The diffs of the survivors that a test notices.
fn noticed_faults(
    target: &AugmentedHole<'_>,
    added: FileContents<'_>,
    id: &str,
    left: &[(&Survivor, String)],
) -> Result<BTreeSet<String>, VerdictError> {
    let judge = &target.project.judge;
    let mut kills = BTreeSet::new();
    for (survivor, text) in left {
        let change = Some(FileContents {
            path: &target.hole.path,
            contents: text,
        });
        // Twice, since chance may fail a test once that passed ten times.
        let mut noticed = true;
        for _ in 0..2 {
            noticed = noticed && notices(&judge.judge_added_tests(added, change, &[id])?, id);
        }
        if noticed {
            kills.insert(survivor.diff.clone());
        }
    }
    Ok(kills)
}

/// True if a test failed by itself, with all the evidence that a pass needs.
fn notices(verdict: &Verdict, id: &str) -> bool {
    verdict.outcome == Outcome::Failed
        && verdict.missing.is_empty()
        && verdict.failed.iter().any(|failed| failed == id)
}

/// Writes a test and where it comes from. The record is written last, and whole or not at all.
fn store_test(output: &Path, provenance: &TestProvenance, contents: &str) -> Result<(), PlayError> {
    let path = output.join(&provenance.project).join(&provenance.path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(PlayError::file(folder))?;
    }
    fs::write(&path, contents).map_err(PlayError::file(&path))?;
    let path = output.join(PROVENANCE);
    let mut lines: Vec<String> = match fs::read_to_string(&path) {
        Ok(text) => text.lines().map(str::to_owned).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(PlayError::file(&path)(error)),
    };
    let record = serde_json::to_string(provenance).map_err(|error| PlayError::File {
        path: path.clone(),
        source: error.into(),
    })?;
    // The same command again writes the same tests, each with one record.
    if !lines.contains(&record) {
        lines.push(record);
    }
    let mut file = WholeFile::create(&path).map_err(PlayError::file(&path))?;
    file.write_all((lines.join("\n") + "\n").as_bytes())
        .and_then(|()| file.finish())
        .map_err(PlayError::file(&path))
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::HoleKind;

    use super::*;

    #[test]
    fn statements_of_a_string_alone_are_no_documentation() {
        let cases = [
            (
                "a.py",
                "def f(a):\n    \"\"\"Names it.\"\"\"\n    if a:\n        return \"x\"\n    raise \"y\"\n",
                vec![1, 3, 4, 5],
            ),
            (
                "a.ts",
                "function f() {\n  'use strict';\n  return 'x';\n}\n",
                vec![1, 3],
            ),
        ];
        for (path, contents, expected) in cases {
            let language = Language::for_path(Path::new(path)).expect("it is known");
            let file = SourceFile {
                path: path.to_owned(),
                contents: contents.to_owned(),
                language,
            };
            let whole = 0..contents.len();
            let hole = Hole::new("p", language.name, path, HoleKind::Block, whole, contents);
            let lines: Vec<usize> = statement_lines(&hole, &file).into_iter().collect();
            assert_eq!(lines, expected, "{path}");
        }
    }
}
