//! `fillrate mutate`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use fillrate_server::syntax::Language;
use serde_json::{Value, json};

use super::progress::Progress;
use super::projects::{self, Ready};
use super::stop::tell_when_stopped;
use super::{CliError, Execution, Success, audit};
use crate::corpus::Corpus;
use crate::corpus::manifest::Manifest;
use crate::language::SourceFile;
use crate::mutate::{self, Mutant, MutationScore, Operator};
use crate::report::table::TextTable;
use crate::task::{self, Hole, Mutation, Survivor};
use crate::verdict::{Engine, Judge, Outcome, VerdictError};

/// Put faults into the code of each hole and see whether its tests notice.
#[derive(Args)]
pub(super) struct Arguments {
    /// The holes: a file that `mine` wrote
    tasks: PathBuf,
    /// The corpus they were mined from
    #[arg(long, value_name = "MANIFEST")]
    corpus: PathBuf,
    /// Where the holes with their scores go [default: the same file]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The share of the verdicts that is judged again by the naive engine, from 0 to 1
    #[arg(long, default_value_t = audit::CONTINUOUS, value_name = "P", value_parser = audit::share_or_none)]
    audit: f64,
    /// List the faults as JSON lines, and neither judge nor write anything
    #[arg(long, conflicts_with_all = ["output", "json"])]
    list: bool,
    /// Print the counts by project and by operator as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    execution: Execution,
}

/// One hole's mutants in its file.
struct Round<'a> {
    index: usize,
    hole: &'a Hole,
    ready: &'a Ready,
    contents: &'a str,
    mutants: Vec<Mutant>,
    /// The mutant that must die.
    canary: Option<String>,
}

/// What a round came to.
enum Ended {
    Scored(Mutation, BTreeMap<Operator, Mutation>),
    /// A canary did otherwise.
    Void(String),
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let mut holes = task::read(&arguments.tasks)?;
    let mut manifest = Manifest::read(&arguments.corpus)?;
    super::replay::check_projects(&holes, &manifest, &arguments.corpus)?;
    manifest
        .projects
        .retain(|project| holes.iter().any(|hole| hole.project == project.name));
    let corpus = Corpus::from_environment()?;
    let cache = corpus.cache.root().to_owned();
    let Execution { engine, anew, .. } = arguments.execution;
    let jobs = arguments.execution.jobs();
    tell_when_stopped(arguments.execution.kept());
    let (prepared, mut absent) =
        projects::prepare(&corpus, &manifest, arguments.execution.tests.as_deref())?;
    let (ready, failed) = projects::judge(prepared, &cache, engine, anew, jobs)?;
    absent.extend(failed);
    let rounds = rounds(&ready, &holes)?;
    if arguments.list {
        list(&rounds);
        say_absent(&absent);
        return Ok(super::replay::success(&absent));
    }
    let (ended, audits) = play(&rounds, jobs, arguments.audit)?;

    let void: Vec<(String, String)> = ended
        .iter()
        .filter_map(|(index, ended)| match ended {
            Ended::Void(why) => Some((holes[*index].id.clone(), why.clone())),
            Ended::Scored(..) => None,
        })
        .collect();
    let scored = ended.len() - void.len();
    let mut operators: Tallies = Vec::new();
    for (index, ended) in ended {
        holes[index].mutation = match ended {
            Ended::Scored(mutation, by_operator) => {
                for (operator, mutation) in &by_operator {
                    add(&mut operators, operator.name(), mutation);
                }
                Some(mutation)
            }
            Ended::Void(_) => None,
        };
    }
    operators.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut projects: Tallies = Vec::new();
    for hole in &holes {
        if let Some(mutation) = &hole.mutation {
            add(&mut projects, &hole.project, mutation);
        }
    }
    let output = arguments.output.as_ref().unwrap_or(&arguments.tasks);
    task::write(output, &holes)?;
    let differing: Vec<&Audit> = audits.iter().filter(|audit| audit.differs()).collect();
    if arguments.json {
        let by = |tallies: &Tallies| -> serde_json::Map<String, Value> {
            let entry = |(name, tally): &(String, Tally)| (name.clone(), tally.json());
            tallies.iter().map(entry).collect()
        };
        outln!(
            "{}",
            json!({
                "holes": holes.len(),
                "scored": scored,
                "projects": by(&projects),
                "operators": by(&operators),
                "audited": audits.len(),
                "differing": differing.len(),
            })
        );
    } else {
        out!("{}", table("operator", &operators));
        out!("{}", table("project", &projects));
        outln!(
            "{scored} of {} holes have a score: {}",
            holes.len(),
            output.display()
        );
        if !audits.is_empty() {
            outln!(
                "{} verdicts judged again by the naive engine, {} differ",
                audits.len(),
                differing.len()
            );
        }
    }
    for audit in &differing {
        eprintln!("fillrate: {audit}");
    }
    for (hole, why) in &void {
        eprintln!("fillrate: {hole}: {why}");
    }
    say_absent(&absent);
    if !differing.is_empty() {
        return Err(CliError::Refused(format!(
            "{} verdicts differ from those of the naive engine",
            differing.len()
        )));
    }
    if scored == 0 {
        return Err(CliError::Refused("no hole got a score".to_owned()));
    }
    if scored < holes.len() {
        return Ok(Success::Partial);
    }
    Ok(Success::Whole)
}

/// A mutant that was judged twice.
struct Audit {
    hole: String,
    fault: String,
    outcome: Outcome,
    /// What the naive engine says.
    again: Outcome,
    /// Why it says so.
    reason: String,
}

impl Audit {
    fn differs(&self) -> bool {
        self.outcome != self.again
    }
}

impl std::fmt::Display for Audit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            hole,
            fault,
            outcome,
            again,
            reason,
        } = self;
        let (outcome, again) = (outcome.name(), again.name());
        write!(
            formatter,
            "{hole}: {fault}: {outcome}, and {again} by the naive engine ({reason})"
        )
    }
}

fn say_absent(absent: &[projects::Absent]) {
    for (name, state) in absent {
        eprintln!(
            "fillrate: {name}: {}",
            state.reason.as_deref().unwrap_or("left out")
        );
    }
}

/// Prints every mutant, as it would be judged.
fn list(rounds: &[Round<'_>]) {
    for round in rounds {
        for mutant in &round.mutants {
            let start = mutant.edit.range.start;
            outln!(
                "{}",
                json!({
                    "hole": round.hole.id,
                    "project": round.hole.project,
                    "path": round.hole.path,
                    "line": 1 + round.contents[..start].matches('\n').count(),
                    "operator": mutant.operator,
                    "start": start,
                    "end": mutant.edit.range.end,
                    "replacement": mutant.edit.replacement,
                    "diff": mutant.edit.diff(round.contents),
                })
            );
        }
    }
}

/// What a hole's tests make of its mutants, one after the other. Once so many survived that the
/// score must be below `least`, the others are left out.
///
/// # Errors
/// The sandbox can't be had.
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
    let mutants = mutants_of(judge, file, hole)?;
    for mutant in &mutants {
        let text = mutant.edit.apply(&file.contents);
        let outcome = judge.judge(&hole.path, &text, &hole.tests)?.outcome;
        count(&mut mutation, mutant, &file.contents, outcome);
        let most_killed = mutants.len() - mutation.survived;
        if (most_killed as f64) < least * mutants.len() as f64 {
            break;
        }
    }
    Ok(mutation)
}

/// The mutants of a hole's lines that differ in what they compile to.
fn mutants_of(judge: &Judge, file: &SourceFile, hole: &Hole) -> Result<Vec<Mutant>, VerdictError> {
    let range = lines_of(&file.contents, hole.start.0..hole.end.0);
    let mutants = mutate::mutants(file.language, &file.contents, range);
    let texts: Vec<String> = mutants
        .iter()
        .map(|mutant| mutant.edit.apply(&file.contents))
        .collect();
    let compiled = judge.compiled_forms(&hole.path, &file.contents, &texts)?;
    Ok(match compiled {
        Some(compiled) => mutate::distinct(mutants, compiled.original, compiled.others),
        None => mutants,
    })
}

/// The mutants of each hole of the projects at hand.
fn rounds<'a>(ready: &'a [Ready], holes: &'a [Hole]) -> Result<Vec<Round<'a>>, CliError> {
    let mut rounds = Vec::new();
    for (index, hole) in holes.iter().enumerate() {
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
        let language: &'static Language = file.language;
        let range = lines_of(&file.contents, hole.start.0..hole.end.0);
        let mutants = mutants_of(&ready.judge, file, hole)?;
        let canary =
            mutate::canary(language, &file.contents, range).map(|edit| edit.apply(&file.contents));
        rounds.push(Round {
            index,
            hole,
            ready,
            contents: &file.contents,
            mutants,
            canary,
        });
    }
    Ok(rounds)
}

/// A range widened to whole lines, without the blanks that indent the first.
pub(super) fn lines_of(contents: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let line = contents[..range.start].rfind('\n').map_or(0, |end| end + 1);
    let blanks = contents[line..range.start].len() - contents[line..range.start].trim_start().len();
    let end = contents[range.end..]
        .find('\n')
        .map_or(contents.len(), |end| range.end + end);
    line + blanks..end
}

/// Judges every mutant and canary, and a share of the mutants once more.
fn play(
    rounds: &[Round<'_>],
    jobs: usize,
    share: f64,
) -> Result<(BTreeMap<usize, Ended>, Vec<Audit>), CliError> {
    /// What is judged: a canary or a mutant of a round.
    #[derive(Clone, Copy)]
    enum Errand {
        Unchanged,
        Raising,
        Mutant(usize),
    }
    let errands: Vec<(usize, Errand)> = rounds
        .iter()
        .enumerate()
        .flat_map(|(number, round)| {
            let mutants = (0..round.mutants.len()).map(Errand::Mutant);
            [Errand::Unchanged, Errand::Raising]
                .into_iter()
                .chain(mutants)
                .map(move |errand| (number, errand))
        })
        .collect();
    let progress = Progress::of("mutants");
    progress.at(0, errands.len());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failure = Mutex::new(None);
    let audits = Mutex::new(Vec::new());
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; errands.len()]);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some((number, errand)) = errands.get(place) else {
                        break;
                    };
                    let round = &rounds[*number];
                    let text = match errand {
                        Errand::Unchanged => Some(round.contents.to_owned()),
                        Errand::Raising => round.canary.clone(),
                        Errand::Mutant(index) => {
                            Some(round.mutants[*index].edit.apply(round.contents))
                        }
                    };
                    let judge = &round.ready.judge;
                    let verdict = text
                        .as_ref()
                        .map(|text| judge.judge(&round.hole.path, text, &round.hole.tests));
                    let verdict = verdict.transpose().and_then(|verdict| {
                        let outcome = verdict.map(|verdict| verdict.outcome);
                        if let (Errand::Mutant(index), Some(text), Some(outcome)) =
                            (errand, text, outcome)
                            && audit::chosen(&format!("{}\0{text}", round.hole.id), share, 0)
                        {
                            let again = judge.judge_with(
                                Engine::Naive,
                                &round.hole.path,
                                &text,
                                &round.hole.tests,
                            )?;
                            let audit = Audit {
                                hole: round.hole.id.clone(),
                                fault: round.mutants[*index].describe(round.contents),
                                outcome,
                                again: again.outcome,
                                reason: again.reason,
                            };
                            let mut audits = audits.lock().unwrap_or_else(PoisonError::into_inner);
                            audits.push(audit);
                        }
                        Ok(outcome)
                    });
                    match verdict {
                        Ok(outcome) => {
                            outcomes.lock().unwrap_or_else(PoisonError::into_inner)[place] =
                                outcome;
                        }
                        Err(error) => {
                            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            break;
                        }
                    }
                    progress.at(done.fetch_add(1, Ordering::Relaxed) + 1, errands.len());
                }
            });
        }
    });
    drop(progress);
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error.into());
    }
    let outcomes = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let mut ended: BTreeMap<usize, Ended> = rounds
        .iter()
        .map(|round| {
            let scored = Ended::Scored(Mutation::default(), BTreeMap::new());
            (round.index, scored)
        })
        .collect();
    for ((number, errand), outcome) in errands.iter().zip(outcomes) {
        let round = &rounds[*number];
        let Some(state) = ended.get_mut(&round.index) else {
            continue;
        };
        match (errand, outcome) {
            (Errand::Unchanged, Some(Outcome::Passed)) => {}
            (Errand::Unchanged, outcome) => {
                let outcome = outcome.map_or("nothing", Outcome::name);
                *state = Ended::Void(format!("the unchanged code ends as {outcome}"));
            }
            (Errand::Raising, None) => {
                *state = Ended::Void("no statement that raises can be put before it".to_owned());
            }
            (Errand::Raising, Some(Outcome::Passed)) => {
                *state = Ended::Void("its tests pass with a statement that raises".to_owned());
            }
            (Errand::Raising, Some(_)) => {}
            (Errand::Mutant(index), outcome) => {
                if let (Ended::Scored(mutation, by_operator), Some(outcome)) = (state, outcome) {
                    let mutant = &round.mutants[*index];
                    let of_operator = by_operator.entry(mutant.operator).or_default();
                    for mutation in [mutation, of_operator] {
                        count(mutation, mutant, round.contents, outcome);
                    }
                }
            }
        }
    }
    let mut audits = audits.into_inner().unwrap_or_else(PoisonError::into_inner);
    audits.sort_by(|a, b| (&a.hole, &a.fault).cmp(&(&b.hole, &b.fault)));
    Ok((ended, audits))
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
        Outcome::Failed | Outcome::Syntax => mutation.killed += 1,
        Outcome::Timeout | Outcome::Memory | Outcome::Sandbox => mutation.timeout += 1,
        Outcome::Infrastructure | Outcome::Flaky | Outcome::Unjudged => mutation.unjudged += 1,
    }
}

/// Counts of the mutants of several holes.
#[derive(Default)]
struct Tally {
    holes: usize,
    score: MutationScore,
    unjudged: usize,
}

/// Counts by name.
type Tallies = Vec<(String, Tally)>;

fn add(tallies: &mut Tallies, name: &str, mutation: &Mutation) {
    let place = match tallies.iter().position(|(known, _)| known == name) {
        Some(place) => place,
        None => {
            tallies.push((name.to_owned(), Tally::default()));
            tallies.len() - 1
        }
    };
    let tally = &mut tallies[place].1;
    tally.holes += 1;
    tally.score.killed += mutation.killed;
    tally.score.survived += mutation.survived;
    tally.score.timeout += mutation.timeout;
    tally.unjudged += mutation.unjudged;
}

impl Tally {
    fn json(&self) -> Value {
        json!({
            "holes": self.holes,
            "mutants": self.score.total() + self.unjudged,
            "killed": self.score.killed,
            "survived": self.score.survived,
            "timeout": self.score.timeout,
            "unjudged": self.unjudged,
            "score": self.score.score(),
            "lower": self.score.lower(),
            "upper": self.score.upper(),
        })
    }
}

/// Counts and scores, with the bounds that time-outs leave.
fn table(name: &str, tallies: &Tallies) -> String {
    let mut table = TextTable::new([
        name,
        "holes",
        "mutants",
        "killed",
        "survived",
        "timeout",
        "unjudged",
        "killed / (killed + survived)",
        "bounds",
    ]);
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    for (name, tally) in tallies {
        let score = tally.score.score();
        let bounds = tally.score.lower().zip(tally.score.upper());
        table.add_row([
            name.clone(),
            tally.holes.to_string(),
            (tally.score.total() + tally.unjudged).to_string(),
            tally.score.killed.to_string(),
            tally.score.survived.to_string(),
            tally.score.timeout.to_string(),
            tally.unjudged.to_string(),
            score.map_or_else(|| "–".to_owned(), |score| percent(score) + " %"),
            bounds.map_or_else(
                || "–".to_owned(),
                |(lower, upper)| format!("{}–{} %", percent(lower), percent(upper)),
            ),
        ]);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_is_mutated_on_its_whole_lines() {
        let contents = "def f(a):\n    x = a + 1  # why\n    return x\n";
        let at = contents.find("a + 1").unwrap_or_default();
        let range = lines_of(contents, at..at + 5);
        assert_eq!(&contents[range], "x = a + 1  # why");
    }
}
