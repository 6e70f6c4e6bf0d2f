//! `fillrate show`.

use std::path::{Path, PathBuf};

use clap::Args;
use fillrate_engine::store::{Attempt, FILE_NAME, Run, StoreError, expected_attempts};
use fillrate_language::mutate::MutationScore;
use fillrate_language::task::Hole;
use fillrate_report::table::TextWidth;
use fillrate_report::{AgeFigures, Comparison, NamedRun, RunReport};
use fillrate_server::completion::Trace;
use fillrate_verdict::feedback::without_control_characters;
use fillrate_verdict::{Outcome, Proof};

use super::runs::{check_unique, inner_runs, run_names};
use super::{CliError, Success, color, day, one_of};

/// Show a run's figures, or one hole of it with all that was seen.
#[derive(Args)]
pub(super) struct ShowArguments {
    /// The run: a folder that `replay` wrote; or a file of holes that `mine` wrote
    run: PathBuf,
    /// A hole's id, the beginning or end of one that names no other, or its FILE:LINE
    hole: Option<String>,
    /// List the holes with their outcomes above the figures
    #[arg(long, conflicts_with_all = ["hole", "compare_with", "since", "json"])]
    holes: bool,
    /// Another run on the same holes, with another model, context or set of tests: a table of
    /// paired differences, and the holes that one of them solves more often
    #[arg(long, value_name = "RUN", conflicts_with = "hole")]
    compare_with: Vec<PathBuf>,
    /// Count a pass only with this proof or a stronger one: `altered`, `partial`, `opposite` or
    /// `none`
    #[arg(long, value_name = "PROOF", value_parser = one_of::<Proof>(), hide_possible_values = true)]
    proof: Option<Proof>,
    /// Divide the holes at a date (2026-03-01) by when their code last changed, and show pass@1 on
    /// both sides
    #[arg(long, value_name = "DATE", value_parser = day, conflicts_with_all = ["hole", "compare_with"])]
    since: Option<String>,
    /// Print texts of more than 200 lines whole
    #[arg(long)]
    whole: bool,
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// Most lines of a text that are printed.
const MOST_LINES: usize = 200;

pub(super) fn run(arguments: &ShowArguments, width: TextWidth) -> Result<Success, CliError> {
    // A run is a folder, so a file is one of tasks.
    if arguments.run.is_file() {
        return show_tasks(arguments);
    }
    // A folder of several runs has no database of its own.
    let contexts = inner_runs(&arguments.run);
    if !contexts.is_empty() {
        return show_contexts(&contexts, arguments, width);
    }
    let run = Run::open(&arguments.run)?.with_proof(arguments.proof);
    if !arguments.compare_with.is_empty() {
        return show_comparison(run, arguments, width);
    }
    if let Some(since) = &arguments.since {
        let ages = AgeFigures::load(&run, since)?;
        if arguments.json {
            outln!("{}", json(&ages));
        } else {
            out!("{}", color::with_bold_header(&ages.table(width)));
        }
        return Ok(Success::Whole);
    }
    let Some(wanted) = &arguments.hole else {
        let report = RunReport::load(&run)?;
        if arguments.json {
            outln!("{}", json(&report));
        } else {
            if let Some(line) = unfinished_line(&run)? {
                outln!("{line}");
            }
            if arguments.holes {
                for attempt in run.attempts()? {
                    let outcome = attempt.verdict.outcome;
                    let style = color::of_outcome(outcome);
                    outln!("{style}{:14}{style:#} {}", outcome.name(), attempt.hole);
                }
            }
            out!("{}", color::with_bold_header(&report.table(width)));
        }
        return Ok(Success::Whole);
    };
    let holes = run.holes()?;
    let hole = the_one(holes.values(), wanted, arguments)?;
    let contents = run.source(hole)?;
    let (prefix, suffix) = hole.cut(&contents)?;
    let attempts: Vec<Attempt> = run
        .attempts()?
        .into_iter()
        .filter(|attempt| attempt.hole == hole.id)
        .collect();
    if arguments.json {
        let whole = serde_json::json!({
            "hole": hole, "prefix": prefix, "suffix": suffix, "attempts": attempts,
        });
        outln!("{}", json(&whole));
        return Ok(Success::Whole);
    }
    outln!("{}", hole.id);
    show_mutation(hole);
    show_dependencies(hole);
    print_section("prefix (its last lines)", &tail(prefix, 15));
    print_section("reference", &hole.reference);
    print_section("suffix (its first lines)", &head(suffix, 5));
    let has_latency = run.has_latency()?;
    let most = (!arguments.whole).then_some(MOST_LINES);
    for attempt in &attempts {
        show_attempt(attempt, has_latency, most);
    }
    Ok(Success::Whole)
}

/// Opens runs with the proof that is asked for.
fn open_runs(folders: &[PathBuf], arguments: &ShowArguments) -> Result<Vec<Run>, CliError> {
    let open = |folder: &PathBuf| Ok(Run::open(folder)?.with_proof(arguments.proof));
    folders.iter().map(open).collect()
}

/// Compares the runs with several contexts that a folder holds.
fn show_contexts(
    folders: &[PathBuf],
    arguments: &ShowArguments,
    width: TextWidth,
) -> Result<Success, CliError> {
    let is_of_one = arguments.hole.is_some() || arguments.holes || arguments.since.is_some();
    if is_of_one || !arguments.compare_with.is_empty() {
        let names: Vec<String> = folders.iter().map(|it| it.display().to_string()).collect();
        return Err(CliError::Refused(format!(
            "{} holds several runs; name one of them: {}",
            arguments.run.display(),
            names.join(", ")
        )));
    }
    let opened = open_runs(folders, arguments)?;
    let names = run_names(folders);
    let named = names.iter().zip(&opened);
    let named = named.map(|(name, run)| NamedRun { name, run });
    let comparison = Comparison::load(&named.collect::<Vec<_>>())?;
    if arguments.json {
        outln!("{}", json(&comparison));
    } else {
        out!(
            "{}",
            color::with_bold_header(&comparison.table("run", width))
        );
    }
    Ok(Success::Whole)
}

fn show_comparison(
    first: Run,
    arguments: &ShowArguments,
    width: TextWidth,
) -> Result<Success, CliError> {
    let named: Vec<_> = std::iter::once(&arguments.run)
        .chain(&arguments.compare_with)
        .collect();
    check_unique(&named)?;
    let mut opened = vec![first];
    opened.extend(open_runs(&arguments.compare_with, arguments)?);
    let names = run_names(&named);
    let runs = names.iter().zip(&opened);
    let runs: Vec<NamedRun<'_>> = runs.map(|(name, run)| NamedRun { name, run }).collect();
    let comparison = Comparison::load(&runs)?;
    if arguments.json {
        outln!("{}", json(&comparison));
        return Ok(Success::Whole);
    }
    for NamedRun { name, run } in &runs {
        if let Some(line) = unfinished_line(run)? {
            outln!("{name}: {line}");
        }
    }
    out!(
        "{}",
        color::with_bold_header(&comparison.table("run", width))
    );
    let first_name = runs[0].name;
    for compared in &comparison.contexts {
        // The first run is not compared with itself.
        let Some(flips) = &compared.flips else {
            continue;
        };
        for hole in &flips.only_this {
            outln!("passes more often in {}: {hole}", compared.context);
        }
        for hole in &flips.only_first {
            outln!("passes more often in {first_name}: {hole}");
        }
    }
    Ok(Success::Whole)
}

/// Says how far a run is; `None` if it is finished.
fn unfinished_line(run: &Run) -> Result<Option<String>, StoreError> {
    if run.is_finished()? {
        return Ok(None);
    }
    let made = run.outcomes()?.len();
    let all = expected_attempts(&run.identity()?, run.holes()?.len());
    let all = all.map_or(String::new(), |all| format!(" of {all}"));
    Ok(Some(format!(
        "not finished: {made}{all} attempts; the same command continues it, unless a comparison \
         needs no more"
    )))
}

fn show_attempt(attempt: &Attempt, has_latency: bool, most: Option<usize>) {
    let print_section = |name: &str, text: &str| out!("{}", section_of(name, text, most));
    let answer = if !has_latency {
        "a recorded completion".to_owned()
    } else if attempt.answered {
        format!("answered in {:.1} ms", attempt.latency_ms)
    } else {
        "not answered in time".to_owned()
    };
    let outcome = match attempt.verdict.outcome {
        failed @ (Outcome::Failed | Outcome::Syntax) if attempt.offered.is_empty() => {
            format!("nothing offered ({})", failed.name())
        }
        other => other.name().to_owned(),
    };
    let (bold, style) = (color::BOLD, color::of_outcome(attempt.verdict.outcome));
    outln!(
        "\n{bold}======== {} sample {}{}:{bold:#} {style}{outcome}{style:#}, {answer}",
        attempt.model,
        attempt.sample,
        match attempt.repair_round {
            0 => String::new(),
            round => format!(" repair round {round}"),
        },
    );
    print_section("completion", attempt.completion());
    if !attempt.overlap.is_empty() {
        let name = "text of the finished file that it writes too, left out where it was judged";
        print_section(name, &attempt.overlap);
    }
    if let Some(trace) = &attempt.trace {
        out!("{}", show_trace(trace, has_latency, most));
    }
    let verdict = &attempt.verdict;
    print_section(
        &format!(
            "verdict: {} ({} tests run, {:.2} s, sandbox {})",
            verdict.outcome.name(),
            verdict.executed,
            verdict.seconds,
            verdict.sandbox
        ),
        &verdict.reason,
    );
    if let Some(proof) = verdict.proof {
        print_section("proof of the pass", proof.name());
    }
    if !verdict.unproven.is_empty() {
        let name = "deciding tests that ran with no altered answer";
        print_section(name, &verdict.unproven.join("\n"));
    }
    if !verdict.twins.is_empty() {
        let name = "tests that also ran as twins, changed so that they must fail, and did";
        print_section(name, &verdict.twins.join("\n"));
    }
    if !verdict.unavailable.is_empty() {
        let names: Vec<&str> = verdict.unavailable.iter().map(|e| e.name()).collect();
        print_section(
            "evidence that its test runner can't show",
            &names.join(", "),
        );
    }
    if let Some(types) = &verdict.types {
        let (own, others) = (&types.own, &types.others);
        let name = format!(
            "type errors that it adds: {} in the file, {} in others",
            own.count, others.count
        );
        let first: Vec<&str> = own
            .first
            .iter()
            .chain(&others.first)
            .map(String::as_str)
            .collect();
        print_section(&name, &first.join("\n"));
    }
    print_section("test output", &verdict.output);
}

/// The steps that led to a completion, for people; at most `most` lines of each text. Without a
/// latency no model answered, so its times are left out.
pub(super) fn show_trace(trace: &Trace, has_latency: bool, most: Option<usize>) -> String {
    let section = |name: &str, text: &str| section_of(name, text, most);
    let mut shown = String::new();
    if let Some(reason) = trace.fault.as_ref().or(trace.nothing.as_ref()) {
        shown += &section("why there is none", reason);
    }
    for step in &trace.steps {
        // Without a decision of the clean-up, the raw completion is the one that is shown.
        if !step.decisions.is_empty() {
            shown += &section("the model's own text", &step.raw);
        }
        for decision in &step.decisions {
            shown += &section(
                &format!(
                    "{} by the clean-up rule `{}`",
                    if decision.rewritten {
                        "rewritten"
                    } else {
                        "removed"
                    },
                    decision.rule
                ),
                &decision.removed,
            );
        }
    }
    for window in &trace.windows {
        let name = format!(
            "context: {}:{} (score {:.2})",
            window.path,
            window.first_line + 1,
            window.score
        );
        shown += &section(&name, &window.text);
    }
    // The embedded model reads the repository itself and has no prompt.
    if !trace.prompt.is_empty() {
        let bound = trace
            .budget
            .map(|budget| format!(" ({})", budget.describe()));
        let name = format!("prompt{}", bound.unwrap_or_default());
        shown += &section(&name, &trace.prompt);
    }
    let first = trace.first_text_ms.map_or(String::new(), |first| {
        format!(" (first text {first:.1} ms)")
    });
    let usage = trace.usage.map_or(String::new(), |usage| {
        let about = if usage.is_approximate { "about " } else { "" };
        let cost = usage.cost.map(|cost| format!(", cost {cost:.6}"));
        format!(
            "\n{about}{} tokens read, {} written{}",
            usage.prompt,
            usage.completion,
            cost.unwrap_or_default()
        )
    });
    let model = match has_latency {
        true => format!(", model {:.1} ms{first}", trace.model_ms),
        false => String::new(),
    };
    shown
        + &section(
            &format!("model {}", trace.model),
            &format!(
                "context {:.1} ms{model}, clean-up {:.1} ms{usage}",
                trace.context_ms, trace.cleanup_ms
            ),
        )
}

/// A titled part of a page, whole.
pub(super) fn section(name: &str, text: &str) -> String {
    section_of(name, text, None)
}

/// A titled part of a page. The text may be a completion or the output of tests, which must not
/// control the terminal: its lines are indented, so that none can pass for a title.
fn section_of(name: &str, text: &str, most: Option<usize>) -> String {
    // A completion or a test's output could otherwise send commands to the terminal.
    let text = without_control_characters(text);
    let lines: Vec<&str> = text.split('\n').collect();
    let shown = most.unwrap_or(usize::MAX).min(lines.len());
    let bold = color::BOLD;
    let mut section = format!("\n{bold}--- {name}{bold:#}\n");
    for line in &lines[..shown] {
        section += format!("    {line}").trim_end();
        section.push('\n');
    }
    if shown < lines.len() {
        let more = lines.len() - shown;
        section += &format!("({more} more lines; --whole prints them)\n");
    }
    section
}

/// The only hole of these whose id begins or ends so, or that is at this FILE:LINE.
fn the_one<'a>(
    holes: impl Iterator<Item = &'a Hole>,
    wanted: &str,
    arguments: &ShowArguments,
) -> Result<&'a Hole, CliError> {
    let mut matching: Vec<&Hole> = holes
        // The end of an id suffices, because ids begin with the project and the path.
        .filter(|hole| {
            // An id is PROJECT/PATH:LINE:KIND:DIGEST.
            let location = format!("/{wanted}:");
            let is_there = hole.id.contains(&location);
            hole.id.starts_with(wanted) || hole.id.ends_with(wanted) || is_there
        })
        .collect();
    // A whole id may be the beginning or the end of another.
    if let Some(exact) = matching.iter().position(|hole| hole.id == wanted) {
        matching = vec![matching[exact]];
    }
    match matching.as_slice() {
        [hole] => Ok(hole),
        [] if Path::new(wanted).join(FILE_NAME).is_file() => Err(CliError::Refused(format!(
            "`{wanted}` is a run, not a hole; to compare two runs: `fillrate show {} \
             --compare-with {}`",
            super::shell_word(&arguments.run),
            super::shell_word(Path::new(wanted))
        ))),
        [] => Err(CliError::Refused(format!(
            "the run has no hole `{wanted}`; `fillrate show {} --holes` lists them",
            super::shell_word(&arguments.run)
        ))),
        several => Err(CliError::Refused(format!(
            "`{wanted}` names {} holes, first {} and {}",
            several.len(),
            several[0].id,
            several[1].id
        ))),
    }
}

/// The holes of a tasks file, or one of them with the faults that its tests did not notice.
fn show_tasks(arguments: &ShowArguments) -> Result<Success, CliError> {
    if arguments.proof.is_some() || arguments.since.is_some() || !arguments.compare_with.is_empty()
    {
        return Err(CliError::Refused(format!(
            "{} is a file of holes, and --proof, --since and --compare-with are for runs; leave \
             them out",
            arguments.run.display()
        )));
    }
    let holes = fillrate_language::task::read(&arguments.run)?;
    let Some(wanted) = &arguments.hole else {
        if arguments.json {
            outln!("{}", json(&holes));
            return Ok(Success::Whole);
        }
        for hole in &holes {
            let score = hole.mutation.as_ref().map(MutationScore::from);
            let score = score.and_then(|counts| Some((counts.score()?, counts)));
            let score = score.map_or_else(
                || "–".to_owned(),
                |(score, counts)| {
                    let n = counts.killed + counts.survived;
                    format!("{:.0} %, n {n}", 100.0 * score)
                },
            );
            outln!("{score:>11} {}", hole.id);
        }
        return Ok(Success::Whole);
    };
    let hole = the_one(holes.iter(), wanted, arguments)?;
    if arguments.json {
        outln!("{}", json(hole));
        return Ok(Success::Whole);
    }
    outln!("{}", hole.id);
    if let Some(category) = &hole.category {
        outln!("{:?}: {}", category.name, category.reason);
    }
    show_mutation(hole);
    show_dependencies(hole);
    print_section("reference", &hole.reference);
    Ok(Success::Whole)
}

/// The names of the repository that a hole's reference uses.
fn show_dependencies(hole: &Hole) {
    if let Some(dependencies) = &hole.dependencies {
        let names = match dependencies.as_slice() {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        outln!("dependencies: {names}");
    }
}

/// Prints the verdicts on faults in a hole's lines.
fn show_mutation(hole: &Hole) {
    let Some(mutation) = &hole.mutation else {
        return;
    };
    outln!(
        "mutants: {} killed, {} survived, {} ran into a limit",
        mutation.killed,
        mutation.survived,
        mutation.timeout
    );
    for survivor in &mutation.survivors {
        print_section(&format!("survived: {}", survivor.fault), &survivor.diff);
    }
}

fn print_section(name: &str, text: &str) {
    out!("{}", section(name, text));
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.split('\n').collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

fn head(text: &str, lines: usize) -> String {
    text.split('\n').take(lines).collect::<Vec<_>>().join("\n")
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_id_names_its_hole_even_if_another_ends_so() {
        use clap::Parser;
        use fillrate_language::task::HoleKind;

        #[derive(Parser)]
        struct Program {
            #[command(flatten)]
            arguments: ShowArguments,
        }
        let hole = |id: &str| Hole {
            id: id.to_owned(),
            ..Hole::new("p", "python", "a.py", HoleKind::Line, 0..5, "x = 1\n")
        };
        let holes = [hole("ab/a.py:1"), hole("b/a.py:1"), hole("b/a.py:12")];
        let arguments = Program::parse_from(["show", "run"]).arguments;
        let found = |wanted| the_one(holes.iter(), wanted, &arguments).map(|it| it.id.clone());
        assert_eq!(found("b/a.py:1").ok().as_deref(), Some("b/a.py:1"));
        assert_eq!(found("ab").ok().as_deref(), Some("ab/a.py:1"));
        assert!(found("b/a.py").is_err());
        let holes = [hole("p/src/a.py:12:line:0"), hole("p/src/a.py:1:line:0")];
        let found = |wanted: &str| {
            let hole = the_one(holes.iter(), wanted, &arguments);
            hole.map(|it| it.id.clone()).map_err(|it| it.to_string())
        };
        assert_eq!(found("a.py:1").as_deref(), Ok("p/src/a.py:1:line:0"));
        assert!(found("py:1").is_err());
        let run = tempfile::tempdir().expect("the system gives a temporary folder");
        Run::open_or_begin(run.path(), &serde_json::json!({})).expect("it is empty");
        let fault = found(&run.path().to_string_lossy()).expect_err("it is no hole");
        assert!(
            fault.contains("fillrate show run --compare-with"),
            "{fault}"
        );
    }

    #[test]
    fn unfinished_run_says_how_far_it_is() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let identity = serde_json::json!({"samples": 2});
        let run = Run::open_or_begin(folder.path(), &identity).expect("it is empty");
        let (file, kind) = ("x = 1\n", fillrate_language::task::HoleKind::Line);
        let hole = Hole::new("p", "python", "a.py", kind, 0..5, file);
        run.add_holes([(&hole, file)]).expect("there is room");
        assert_eq!(
            unfinished_line(&run).expect("it can be read").as_deref(),
            Some(
                "not finished: 0 of 2 attempts; the same command continues it, unless a comparison \
                 needs no more"
            )
        );
        run.set_finished().expect("there is room");
        assert_eq!(unfinished_line(&run).expect("it can be read"), None);
    }

    #[test]
    fn recorded_completions_are_shown_without_times_of_a_model() {
        let trace = Trace {
            model_ms: 60.0,
            ..Trace::default()
        };
        assert!(show_trace(&trace, true, None).contains("model 60.0 ms"));
        assert!(!show_trace(&trace, false, None).contains("60.0 ms"));
    }

    #[test]
    fn foreign_lines_are_indented_and_cut() {
        let text = "a\n--- verdict: passed\n\u{202e}b\u{2028}c";
        assert_eq!(
            section("test output", text),
            "\n\u{1b}[1m--- test output\u{1b}[0m\n    a\n    --- verdict: passed\n    bc\n"
        );
        assert_eq!(
            section_of("prompt", "1\n2\n3", Some(2)),
            "\n\u{1b}[1m--- prompt\u{1b}[0m\n    1\n    2\n(1 more lines; --whole prints them)\n"
        );
    }
}
