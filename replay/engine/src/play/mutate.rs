//! Puts faults into the lines of holes and judges whether the tests notice them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fillrate_language::SourceFile;
use fillrate_language::mutate::{self, Mutant, MutationOperator};
use fillrate_language::task::{self, Hole, Mutation, Survivor};
use fillrate_syntax::Language;
use fillrate_syntax::text::line_start;
use fillrate_verdict::corpus::Corpus;
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::queue::run_jobs;
use fillrate_verdict::{Engine, Judge, Outcome, VerdictError};

use super::PlayError;
use super::audit::is_sampled;
use super::events::{Event, Listener, Phase, PhaseProgress};
use super::projects::{
    AbsentProject, ExecutionPlan, ProjectLoader, TestedProject, check_projects, retain_projects_of,
};
use crate::store::Partition;

/// Holes to mutate, and the sample to audit.
#[derive(Clone, Debug)]
pub struct MutationPlan {
    /// The tasks file.
    pub tasks: PathBuf,
    /// The manifest of the corpus that the holes were mined from.
    pub corpus: PathBuf,
    /// The share of the verdicts that is audited, from 0 to 1.
    pub audit: f64,
    /// Part of the holes that is mutated; `None` for all.
    pub partition: Option<Partition>,
    /// Settings for running tests.
    pub execution: ExecutionPlan,
}

/// Result of mutating holes.
#[derive(Debug)]
pub struct MutationOutcome {
    /// All holes of the tasks file; those that were judged have new scores, or none if a canary
    /// failed.
    pub holes: Vec<Hole>,
    /// Indexes of the holes that this run gave a score. The others have none or an earlier one.
    pub scored: Vec<usize>,
    /// The mutants of the scored holes by operator, each with one count for each hole.
    pub by_operator: Vec<(MutationOperator, Mutation)>,
    /// The ids of the holes whose canaries failed, and why.
    pub void: Vec<(String, String)>,
    /// The verdicts that were audited.
    pub audits: Vec<MutantAudit>,
    /// Number of mutants that got their verdict from a process that they shared with others.
    pub in_shared_process: usize,
    /// The projects that are excluded.
    pub absent: Vec<AbsentProject>,
}

/// A mutant that was judged twice.
#[derive(Clone, Debug)]
pub struct MutantAudit {
    /// The hole's id.
    pub hole: String,
    /// The fault in a line.
    pub fault: String,
    /// The outcome of the chosen engine.
    pub outcome: Outcome,
    /// The outcome of the naive engine.
    pub rejudged: Outcome,
    /// Reason of the second verdict.
    pub reason: String,
}

impl MutantAudit {
    /// True if the two outcomes differ.
    pub fn differs(&self) -> bool {
        self.outcome != self.rejudged
    }
}

impl std::fmt::Display for MutantAudit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            hole,
            fault,
            outcome,
            rejudged,
            reason,
        } = self;
        let (outcome, rejudged) = (outcome.name(), rejudged.name());
        write!(
            formatter,
            "{hole}: {fault}: {outcome}, and {rejudged} by the naive engine ({reason})"
        )
    }
}

/// One hole's mutants in its file.
pub struct MutatedHole<'a> {
    /// The hole's index in the tasks file.
    index: usize,
    /// The hole.
    pub hole: &'a Hole,
    project: &'a TestedProject,
    /// The file with the reference in it.
    pub contents: &'a str,
    /// The mutants, in the order of their edits.
    pub mutants: Vec<Mutant>,
    /// The file with a statement that raises; `None` if the hole can't contain one.
    raising: Option<String>,
}

/// Versions of one file to judge.
struct MutantJob<'a> {
    of: &'a MutatedHole<'a>,
    changes: Vec<Change>,
}

/// Change of the file of a [`MutantJob`].
#[derive(Clone, Copy)]
enum Change {
    /// Not at all: the tests must pass.
    Unchanged,
    /// By a statement that raises: the tests must fail.
    Raising,
    /// By the mutant with this index.
    Mutant(usize),
}

/// Result of judging a version.
struct JudgedMutant {
    change: Change,
    /// `None` if there was no file to judge.
    outcome: Option<Outcome>,
    audit: Option<MutantAudit>,
}

/// The most mutants of one job. What they have in common is done once for each job, and a job
/// occupies one processor.
const MOST_MUTANTS: usize = 16;

/// The score of one hole.
enum HoleScore {
    Scored(Mutation, BTreeMap<MutationOperator, Mutation>),
    /// A canary failed, for this reason.
    Void(String),
}

/// Judges the mutants of all holes of a tasks file.
///
/// # Errors
/// A file does not fit, or the sandbox is unavailable.
pub fn run(plan: &MutationPlan, listener: &dyn Listener) -> Result<MutationOutcome, PlayError> {
    let corpus = Corpus::from_environment()?;
    let (holes, manifest) = read_holes(plan, &corpus)?;
    let loader = ProjectLoader::new(&corpus, &plan.execution, listener);
    let (projects, absent) = loader.load_tested(&manifest)?;
    let mutated = mutate_holes(&projects, &holes)?;
    let (scores, audits) = judge_mutants(&mutated, plan, listener)?;
    // Several holes have one judge, whose count must not be added for each.
    let judges: BTreeMap<&str, &Judge> = mutated
        .iter()
        .map(|of| (of.project.name(), &of.project.judge))
        .collect();
    let mut outcome = MutationOutcome {
        holes: holes.clone(),
        scored: Vec::new(),
        by_operator: Vec::new(),
        void: Vec::new(),
        audits,
        in_shared_process: judges
            .values()
            .map(|judge| judge.judged_in_shared_process())
            .sum(),
        absent,
    };
    for (index, score) in scores {
        outcome.holes[index].mutation = match score {
            HoleScore::Scored(mutation, by_operator) => {
                outcome.scored.push(index);
                outcome.by_operator.extend(by_operator);
                Some(mutation)
            }
            HoleScore::Void(reason) => {
                let id = holes[index].id.clone();
                outcome.void.push((id, reason));
                None
            }
        };
    }
    Ok(outcome)
}

/// The mutants of a hole, to be listed.
pub struct ListedMutants<'a> {
    /// The hole.
    pub hole: &'a Hole,
    /// The file with the reference in it.
    pub contents: &'a str,
    /// The mutants, in the order of their edits.
    pub mutants: Vec<Mutant>,
}

/// Lists the mutants of all holes of a tasks file to `visit` and judges none. In projects without
/// tests, those that compile to the same are among them.
///
/// # Errors
/// A file does not fit, or the sandbox is unavailable.
pub fn list(
    plan: &MutationPlan,
    listener: &dyn Listener,
    visit: impl Fn(&ListedMutants<'_>),
) -> Result<Vec<AbsentProject>, PlayError> {
    let corpus = Corpus::from_environment()?;
    let (holes, manifest) = read_holes(plan, &corpus)?;
    let loader = ProjectLoader::new(&corpus, &plan.execution, listener);
    let (projects, absent) = loader.load(&manifest)?;
    for hole in &holes {
        let Some(project) = projects.iter().find(|one| one.name() == hole.project) else {
            continue;
        };
        let file = project.source_file(hole)?;
        hole.cut(&file.contents)?;
        visit(&ListedMutants {
            hole,
            contents: &file.contents,
            mutants: distinct_mutants(project.judge.as_ref(), file, hole)?,
        });
    }
    Ok(absent)
}

/// The holes of a plan, and the projects that they are of.
fn read_holes(plan: &MutationPlan, corpus: &Corpus) -> Result<(Vec<Hole>, Manifest), PlayError> {
    let mut holes = task::read(&plan.tasks)?;
    if let Some(partition) = plan.partition {
        holes.retain(|hole| partition.includes(&hole.id));
    }
    let mut manifest = corpus.load_manifest(&plan.corpus)?;
    check_projects(&holes, &manifest, &plan.corpus)?;
    retain_projects_of(&mut manifest, &holes);
    Ok((holes, manifest))
}

/// Judges a hole's mutants in sequence. Stops when enough have survived that the score must be
/// below `least`.
///
/// # Errors
/// The sandbox is unavailable.
pub(super) fn until_below(
    judge: &Judge,
    files: &[SourceFile],
    hole: &Hole,
    least: f64,
) -> Result<Mutation, VerdictError> {
    let mut mutation = Mutation::default();
    let Some(file) = files.iter().find(|file| file.path == hole.path) else {
        return Ok(mutation);
    };
    let mutants = distinct_mutants(Some(judge), file, hole)?;
    // Chunks, so that a hole that can't reach the least score is given up early.
    for some in mutants.chunks(MOST_MUTANTS / 2) {
        let texts = some.iter().map(|mutant| mutant.edit.apply(&file.contents));
        let texts: Vec<String> = texts.collect();
        let verdicts = judge.judge_own_versions(&hole.path, &texts, &hole.tests)?;
        for (mutant, verdict) in some.iter().zip(verdicts) {
            count(&mut mutation, mutant, &file.contents, verdict.outcome);
            // The score that remains possible if every other mutant is killed.
            let most_killed = mutants.len() - mutation.survived;
            if (most_killed as f64) < least * mutants.len() as f64 {
                return Ok(mutation);
            }
        }
    }
    Ok(mutation)
}

/// The mutants of a hole's lines that differ in what they compile to, as far as a judge knows it.
fn distinct_mutants(
    judge: Option<&Judge>,
    file: &SourceFile,
    hole: &Hole,
) -> Result<Vec<Mutant>, VerdictError> {
    // Whole lines: an operator may change code that a hole within a line only touches.
    let range = whole_lines(&file.contents, hole.start.0..hole.end.0);
    let mutants = mutate::find_mutants(file.language, &file.contents, range);
    let texts: Vec<String> = mutants
        .iter()
        .map(|mutant| mutant.edit.apply(&file.contents))
        .collect();
    let compiled = match judge {
        Some(judge) => judge.compiled_forms(&hole.path, &file.contents, &texts)?,
        None => None,
    };
    Ok(match compiled {
        // Mutants that compile to the same as the original or another one are equivalent.
        Some(compiled) => mutate::deduplicate(mutants, compiled.original, compiled.others),
        None => mutants,
    })
}

/// The mutants of each hole whose project is present.
fn mutate_holes<'a>(
    projects: &'a [TestedProject],
    holes: &'a [Hole],
) -> Result<Vec<MutatedHole<'a>>, PlayError> {
    let mut mutated = Vec::new();
    for (index, hole) in holes.iter().enumerate() {
        let Some(project) = projects.iter().find(|one| one.name() == hole.project) else {
            continue;
        };
        let file = project.source_file(hole)?;
        hole.cut(&file.contents)?;
        let language: &'static Language = file.language;
        // Of a line with several statements, the hole may be in one that does not run.
        let range = hole.start.0..hole.end.0;
        let raising = mutate::raising_mutant(language, &file.contents, range)
            .map(|edit| edit.apply(&file.contents));
        mutated.push(MutatedHole {
            index,
            hole,
            project,
            contents: &file.contents,
            mutants: distinct_mutants(Some(&project.judge), file, hole)?,
            raising,
        });
    }
    Ok(mutated)
}

/// Widens a range to whole lines, without the indentation of the first. Lines that the range only
/// touches with white space are left out.
pub(super) fn whole_lines(contents: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    // A line break at an end of the range is part of it, and the line beyond the break is not.
    let text = &contents[range.clone()];
    let range = match text.trim().len() {
        0 => range,
        _ => range.end - text.trim_start().len()..range.start + text.trim_end().len(),
    };
    let line = line_start(contents, range.start);
    let blanks = contents[line..range.start].len() - contents[line..range.start].trim_start().len();
    let end = contents[range.end..]
        .find(['\n', '\r'])
        .map_or(contents.len(), |end| range.end + end);
    line + blanks..end
}

/// Judges every mutant and canary, and audits a share of the mutants. Returns the score of each
/// hole by its index.
fn judge_mutants(
    mutated: &[MutatedHole<'_>],
    plan: &MutationPlan,
    listener: &dyn Listener,
) -> Result<(BTreeMap<usize, HoleScore>, Vec<MutantAudit>), PlayError> {
    let jobs = mutant_jobs(mutated, plan.execution.threads);
    let all = jobs.iter().map(|job| job.changes.len()).sum();
    let progress = PhaseProgress::start(listener, Phase::JudgeMutants, None, all);
    let judged = run_jobs(
        &jobs,
        plan.execution.threads,
        || (),
        |(), job| {
            let judged = judge_job(job, plan.audit, listener);
            progress.advance(job.changes.len());
            judged
        },
        |_| {},
    )?;
    drop(progress);
    let mut scores: BTreeMap<usize, HoleScore> = mutated
        .iter()
        .map(|of| {
            let score = HoleScore::Scored(Mutation::default(), BTreeMap::new());
            (of.index, score)
        })
        .collect();
    let mut audits = Vec::new();
    for (job, judged) in jobs.iter().zip(judged) {
        for one in judged {
            audits.extend(one.audit);
            if let Some(score) = scores.get_mut(&job.of.index) {
                score.add(job.of, one.change, one.outcome);
            }
        }
    }
    audits.sort_by(|a, b| (&a.hole, &a.fault).cmp(&(&b.hole, &b.fault)));
    Ok((scores, audits))
}

/// The canaries and mutants of holes in jobs: several mutants of a hole in each, as long as there
/// are several jobs for each thread.
fn mutant_jobs<'a>(mutated: &'a [MutatedHole<'a>], threads: usize) -> Vec<MutantJob<'a>> {
    let all: usize = mutated.iter().map(|of| of.mutants.len()).sum();
    // Four jobs for each thread even out their durations; more mutants in one share a process.
    let size = all.div_ceil(4 * threads.max(1)).clamp(1, MOST_MUTANTS);
    let mut jobs = Vec::new();
    for of in mutated {
        // The checks are jobs of their own, since their processes must not be shared with mutants.
        let changes = [Change::Unchanged, Change::Raising].map(|change| vec![change]);
        let mutants: Vec<Change> = (0..of.mutants.len()).map(Change::Mutant).collect();
        let changes = changes
            .into_iter()
            .chain(mutants.chunks(size).map(<[_]>::to_vec));
        jobs.extend(changes.map(|changes| MutantJob { of, changes }));
    }
    jobs
}

fn judge_job(
    job: &MutantJob<'_>,
    audited_share: f64,
    listener: &dyn Listener,
) -> Result<Vec<JudgedMutant>, VerdictError> {
    let MutatedHole { hole, project, .. } = job.of;
    let texts: Vec<Option<String>> = job
        .changes
        .iter()
        .map(|change| job.of.text(*change))
        .collect();
    let versions: Vec<String> = texts.iter().flatten().cloned().collect();
    let judge = &project.judge;
    let verdicts = judge.judge_own_versions(&hole.path, &versions, &hole.tests)?;
    let mut verdicts = versions.iter().zip(verdicts);
    let mut judged = Vec::new();
    for (change, text) in job.changes.iter().copied().zip(&texts) {
        // Verdicts are of the changes that have a text, in their order.
        let of_text = text.as_ref().and_then(|_| verdicts.next());
        let outcome = of_text.as_ref().map(|(_, verdict)| verdict.outcome);
        let audit = match (change, of_text) {
            (Change::Mutant(index), Some((text, verdict))) => {
                let mutant = (&job.of.mutants[index], text.as_str());
                job.of
                    .report(mutant, verdict.outcome, audited_share, listener)?
            }
            _ => None,
        };
        judged.push(JudgedMutant {
            change,
            outcome,
            audit,
        });
    }
    Ok(judged)
}

impl MutatedHole<'_> {
    /// The file with a change; `None` if the hole can't contain it.
    fn text(&self, change: Change) -> Option<String> {
        match change {
            Change::Unchanged => Some(self.contents.to_owned()),
            Change::Raising => self.raising.clone(),
            Change::Mutant(index) => Some(self.mutants[index].edit.apply(self.contents)),
        }
    }

    /// Tells the listener how a mutant was judged. Judges it again if it is in the sample.
    fn report(
        &self,
        (mutant, text): (&Mutant, &str),
        outcome: Outcome,
        audited_share: f64,
        listener: &dyn Listener,
    ) -> Result<Option<MutantAudit>, VerdictError> {
        let Self { hole, project, .. } = self;
        let fault = mutant.describe(self.contents);
        listener.receive(&Event::MutantJudged {
            project: hole.project.clone(),
            hole: hole.id.clone(),
            operator: mutant.operator.name().to_owned(),
            fault: fault.clone(),
            outcome,
        });
        if !is_sampled(&format!("{}\0{text}", hole.id), audited_share, 0) {
            return Ok(None);
        }
        let judge = &project.judge;
        let rejudged = judge.judge_own_with(Engine::Naive, &hole.path, text, &hole.tests)?;
        listener.receive(&Event::VerdictAudited {
            hole: hole.id.clone(),
            attempt: None,
            fault: Some(fault.clone()),
            outcome,
            rejudged: rejudged.outcome,
            agrees: outcome == rejudged.outcome,
            reason: rejudged.reason.clone(),
        });
        Ok(Some(MutantAudit {
            hole: hole.id.clone(),
            fault,
            outcome,
            rejudged: rejudged.outcome,
            reason: rejudged.reason,
        }))
    }
}

impl HoleScore {
    /// Counts the outcome of a version of the hole's file.
    fn add(&mut self, of: &MutatedHole<'_>, change: Change, outcome: Option<Outcome>) {
        match (change, outcome) {
            // Mutants show nothing of tests that fail unchanged, or that don't run the hole.
            (Change::Unchanged, Some(Outcome::Passed)) => {}
            (Change::Unchanged, outcome) => {
                let outcome = outcome.map_or("nothing", Outcome::name);
                *self = Self::Void(format!("the unchanged code ends as {outcome}"));
            }
            (Change::Raising, None) => {
                *self = Self::Void("no statement that raises can be put before it".to_owned());
            }
            (Change::Raising, Some(Outcome::Passed)) => {
                *self = Self::Void("its tests pass with a statement that raises".to_owned());
            }
            (Change::Raising, Some(_)) => {}
            (Change::Mutant(index), outcome) => {
                // A void score stays void, whichever job ends last.
                if let (Self::Scored(mutation, by_operator), Some(outcome)) = (self, outcome) {
                    let mutant = &of.mutants[index];
                    let of_operator = by_operator.entry(mutant.operator).or_default();
                    for mutation in [mutation, of_operator] {
                        count(mutation, mutant, of.contents, outcome);
                    }
                }
            }
        }
    }
}

fn count(mutation: &mut Mutation, mutant: &Mutant, contents: &str, outcome: Outcome) {
    match outcome {
        Outcome::Passed => {
            mutation.survived += 1;
            mutation.survivors.push(Survivor {
                operator: mutant.operator.name().to_owned(),
                fault: mutant.describe(contents),
                diff: mutant.edit.diff(contents),
            });
        }
        Outcome::Failed => mutation.killed += 1,
        Outcome::Timeout | Outcome::Memory | Outcome::Sandbox => mutation.timeout += 1,
        // Every mutant parses: this one does not compile, which shows nothing of the tests.
        Outcome::Syntax
        | Outcome::Forged
        | Outcome::Unproven
        | Outcome::Infrastructure
        | Outcome::Flaky
        | Outcome::Unjudged => mutation.unjudged += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutation_covers_whole_lines_of_hole() {
        let contents = "def f(a):\n    x = a + 1  # why\n    return x\n";
        let at = contents.find("a + 1").unwrap_or_default();
        let range = whole_lines(contents, at..at + 5);
        assert_eq!(&contents[range], "x = a + 1  # why");
        for end in ["\r", "\r\n"] {
            let contents = contents.replace('\n', end);
            let at = contents.find("a + 1").unwrap_or_default();
            let range = whole_lines(&contents, at..at + 5);
            assert_eq!(&contents[range], "x = a + 1  # why");
        }
    }

    #[test]
    fn mutation_leaves_out_lines_beyond_line_breaks_of_hole() {
        for end in ["\n", "\r\n"] {
            let contents = "def f(a):\n    x = a + 1\n    return x\n".replace('\n', end);
            let at = contents.find("    x").unwrap_or_default();
            let next = contents.find("    return").unwrap_or_default();
            for hole in [
                at..next,
                at - end.len()..next - end.len(),
                at - end.len()..next,
            ] {
                let range = whole_lines(&contents, hole);
                assert_eq!(&contents[range], "x = a + 1");
            }
            let blank = at - end.len()..at;
            assert!(contents[whole_lines(&contents, blank)].starts_with("def f(a):"));
        }
    }
}
