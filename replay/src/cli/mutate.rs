//! `fillrate mutate`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::audit::CONTINUOUS_SHARE;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::mutate::{
    self, ListedMutants, MutantAudit, MutationOutcome, MutationPlan,
};
use fillrate_engine::store::Partition;
use fillrate_language::mutate::MutationScore;
use fillrate_language::task::{self, Mutation};
use fillrate_report::table::{TextTable, TextWidth};
use fillrate_syntax::text::LineIndex;
use serde_json::{Value, json};

use super::events::EventArguments;
use super::{CliError, ExecutionArguments, Success, report_absent, success};

/// Put faults into the code of each hole and see whether its tests notice.
#[derive(Args)]
pub(super) struct MutateArguments {
    /// The holes: a file that `mine` wrote
    tasks: PathBuf,
    /// The corpus they were mined from
    #[arg(long, value_name = "MANIFEST")]
    corpus: PathBuf,
    /// File for the holes with their scores [default: the same file]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The share of the verdicts that is judged again by the naive engine, from 0 to 1
    #[arg(long, default_value_t = CONTINUOUS_SHARE, value_name = "P", value_parser = super::share)]
    audit: f64,
    /// Mutate one of n parts of the holes, from 1, and write only these: k/n, or `auto` for what
    /// the scheduler says
    #[arg(long, value_name = "k/n|auto")]
    partition: Option<Partition>,
    /// List the faults as JSON lines, and neither judge nor write anything
    #[arg(long, conflicts_with_all = ["output", "json"])]
    list: bool,
    /// Print the counts by project and by operator as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    execution: ExecutionArguments,
    #[command(flatten)]
    events: EventArguments,
}

pub(super) fn run(arguments: &MutateArguments, width: TextWidth) -> Result<Success, CliError> {
    let advice = arguments.execution.advice();
    arguments.events.listen("mutate", advice, |listener| {
        mutate(arguments, listener, width)
    })
}

fn mutate(
    arguments: &MutateArguments,
    listener: &dyn Listener,
    width: TextWidth,
) -> Result<Success, CliError> {
    let plan = MutationPlan {
        tasks: arguments.tasks.clone(),
        corpus: arguments.corpus.clone(),
        audit: arguments.audit,
        partition: arguments.partition,
        execution: arguments.execution.plan(),
    };
    if arguments.list {
        let absent = mutate::list(&plan, listener, print_mutants)?;
        report_absent(&absent);
        return Ok(success(&absent));
    }
    let output = arguments.output.as_ref().unwrap_or(&arguments.tasks);
    if let Some(partition) = arguments.partition
        && super::is_same_path(output, &arguments.tasks)
    {
        return Err(CliError::Refused(format!(
            "part {partition} would replace {} by some of its holes; name another file with -o",
            output.display()
        )));
    }
    super::check_writable_file(output)?;
    super::check_not_input(output, [&arguments.corpus])?;
    let outcome = mutate::run(&plan, listener)?;
    task::write(output, &outcome.holes)?;
    let differing: Vec<&MutantAudit> = outcome.audits.iter().filter(|one| one.differs()).collect();
    print_counts(arguments, &outcome, differing.len(), width);
    for audit in &differing {
        note!("fillrate: {audit}");
    }
    for (hole, reason) in &outcome.void {
        note!("fillrate: {hole}: {reason}");
    }
    report_absent(&outcome.absent);
    if !differing.is_empty() {
        return Err(CliError::Refused(format!(
            "{} verdicts differ from those of the naive engine",
            differing.len()
        )));
    }
    // A small task set may leave a part without holes, which is no failure.
    let is_empty_part = arguments.partition.is_some() && outcome.holes.is_empty();
    if outcome.scored.is_empty() && !is_empty_part {
        return Err(CliError::Refused("no hole got a score".to_owned()));
    }
    Ok(Success::whole_if(
        outcome.scored.len() == outcome.holes.len(),
    ))
}

/// Prints the counts by operator and by project.
fn print_counts(
    arguments: &MutateArguments,
    outcome: &MutationOutcome,
    differing: usize,
    width: TextWidth,
) {
    let mut operators: Tallies = Vec::new();
    for (operator, mutation) in &outcome.by_operator {
        add(&mut operators, operator.name(), mutation);
    }
    operators.sort_by(|(a, _), (b, _)| a.cmp(b));
    let projects = by_project(outcome);
    let (holes, scored) = (outcome.holes.len(), outcome.scored.len());
    let audited = outcome.audits.len();
    if arguments.json {
        let by = |tallies: &Tallies| -> serde_json::Map<String, Value> {
            let entry = |(name, tally): &(String, Tally)| (name.clone(), tally.json());
            tallies.iter().map(entry).collect()
        };
        outln!(
            "{}",
            json!({
                "holes": holes,
                "scored": scored,
                "projects": by(&projects),
                "operators": by(&operators),
                "in_shared_process": outcome.in_shared_process,
                "audited": audited,
                "differing": differing,
            })
        );
        return;
    }
    let output = arguments.output.as_ref().unwrap_or(&arguments.tasks);
    outln!("{}", table("operator", &operators).render(width));
    outln!("{}", table("project", &projects).render(width));
    outln!(
        "{scored} of {holes} holes have a score: {}",
        output.display()
    );
    if outcome.in_shared_process > 0 {
        outln!(
            "{} mutants were judged one after the other in processes that they shared",
            outcome.in_shared_process
        );
    }
    if audited > 0 {
        outln!("{audited} verdicts judged again by the naive engine, {differing} differ");
    }
}

/// The counts of the holes that this run gave a score, by project.
fn by_project(outcome: &MutationOutcome) -> Tallies {
    let mut projects: Tallies = Vec::new();
    // Holes of absent projects keep the scores of an earlier run.
    for hole in outcome.scored.iter().map(|index| &outcome.holes[*index]) {
        if let Some(mutation) = &hole.mutation {
            add(&mut projects, &hole.project, mutation);
        }
    }
    projects
}

/// Prints every mutant of a hole, as it would be judged.
fn print_mutants(mutated: &ListedMutants<'_>) {
    for mutant in &mutated.mutants {
        let start = mutant.edit.range.start;
        outln!(
            "{}",
            json!({
                "hole": mutated.hole.id,
                "project": mutated.hole.project,
                "path": mutated.hole.path,
                "line": LineIndex::new(mutated.contents).number(start),
                "operator": mutant.operator,
                "start": start,
                "end": mutant.edit.range.end,
                "replacement": mutant.edit.replacement,
                "diff": mutant.edit.diff(mutated.contents),
            })
        );
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
    let index = match tallies.iter().position(|(known, _)| known == name) {
        Some(index) => index,
        None => {
            tallies.push((name.to_owned(), Tally::default()));
            tallies.len() - 1
        }
    };
    let tally = &mut tallies[index].1;
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
fn table(name: &str, tallies: &Tallies) -> TextTable {
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
    table
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::{Hole, HoleKind};

    use super::*;

    #[test]
    fn earlier_scores_of_absent_projects_are_not_counted() {
        let hole = |project: &str| Hole {
            mutation: Some(Mutation {
                killed: 3,
                ..Mutation::default()
            }),
            ..Hole::new(project, "python", "a.py", HoleKind::Line, 0..5, "x = 1\n")
        };
        let outcome = MutationOutcome {
            holes: vec![hole("absent"), hole("present")],
            scored: vec![1],
            by_operator: Vec::new(),
            void: Vec::new(),
            audits: Vec::new(),
            in_shared_process: 0,
            absent: Vec::new(),
        };
        let projects = by_project(&outcome);
        let names: Vec<&str> = projects.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["present"]);
    }
}
