//! Reports of runs: figures by project, as a table or as JSON.

mod ages;
mod comparison;
pub mod dataset;
mod developers;
pub mod export;
mod figures;
pub mod leakage;
mod markdown;
pub mod models;
pub mod page;
pub mod pages;
pub mod policies;
mod rounds;
mod scored;
pub mod sensitivity;
pub mod table;
pub mod text_scores;

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::Cell;
use fillrate_engine::store::{ProjectState, ProjectStatus, Run, StoreError};
use fillrate_metrics::hole_metrics;
use fillrate_metrics::metric::{INVOCATION, MEDIAN_LATENCY, ORACLE_ACCEPTANCE, TYPE_CHECK};
use fillrate_mine::Rejection;
use fillrate_verdict::Outcome;
use serde::Serialize;

use self::developers::DeveloperFigures;
use self::figures::{left_out_line, report_row, unproven_line, usage_line};
use self::rounds::{rounds, rounds_table};
use self::scored::{ScoredAttempt, load_scored, without_repairs};
use self::table::{TextTable, TextWidth, figure, right};

pub use ages::AgeFigures;
pub use comparison::{ComparedRun, Comparison, HoleFlips, McNemar, NamedRun, RunDifference};
pub use figures::ReportRow;
pub use markdown::compare_in_markdown;
pub use policies::PolicyFigures;
pub use rounds::RepairRound;
pub use scored::solved_alone;

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// One row for each project, and a last one for all.
    pub rows: Vec<ReportRow>,
    /// The run's folder.
    pub run: String,
    /// Each project's state.
    pub projects: BTreeMap<String, ProjectState>,
    /// Verdicts that the naive engine judged again.
    pub audited: usize,
    /// Those that differ.
    pub differing: usize,
    /// Verdicts in which the parts of the run differed, judged again when they were merged.
    #[serde(skip_serializing_if = "is_zero")]
    pub settled: usize,
    /// By project, shortcuts to verdicts that failed, a sentence each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub slow_paths: BTreeMap<String, BTreeSet<String>>,
    /// Figures by repair round; empty without repair rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RepairRound>,
}

impl RunReport {
    /// Reads a run and calculates its figures.
    ///
    /// # Errors
    /// The run can't be read.
    pub fn load(run: &Run) -> Result<Self, StoreError> {
        let scored = load_scored(run)?;
        let rounds = rounds(&scored);
        let scored = without_repairs(scored);
        let developers = DeveloperFigures::load(run)?;
        let projects = run.projects()?;
        let mut rows = Vec::new();
        let names: Vec<&String> = projects
            .iter()
            .filter(|(name, state)| {
                // Of a project that is absent since the run was resumed, attempts may be there.
                let has_attempts = || scored.iter().any(|one| one.attempt.project == **name);
                state.status == ProjectStatus::Ready || has_attempts()
            })
            .map(|(name, _)| name)
            .collect();
        for name in &names {
            let of_project: Vec<&ScoredAttempt> = scored
                .iter()
                .filter(|scored| scored.attempt.project == **name)
                .collect();
            let mut row = report_row(name, &projects[*name].language, &of_project);
            row.policies = developers.figures(Some(name), &of_project);
            rows.push(row);
        }
        let languages: BTreeSet<&str> = names
            .iter()
            .map(|name| projects[*name].language.as_str())
            .collect();
        let language = match languages.len() {
            1 => languages.iter().next().copied().unwrap_or("*"),
            _ => "*",
        };
        let audits = run.audits()?;
        let all: Vec<&ScoredAttempt> = scored.iter().collect();
        let mut of_all = report_row("*", language, &all);
        of_all.policies = developers.figures(None, &all);
        rows.push(of_all);
        Ok(Self {
            rows,
            run: run.folder().display().to_string(),
            projects,
            audited: audits.len(),
            differing: audits.values().filter(|audit| audit.differs()).count(),
            settled: run.settlements()?.len(),
            slow_paths: run.slow_paths()?,
            rounds,
        })
    }

    /// The table for people, with what was left out below it.
    pub fn table(&self, width: TextWidth) -> String {
        let columns: Vec<&str> = hole_metrics()
            .chain([INVOCATION, ORACLE_ACCEPTANCE, MEDIAN_LATENCY])
            .map(|metric| metric.name)
            .collect();
        let mut header = vec!["project", "language", "holes", "completions"];
        header.extend(&columns);
        let mut table = TextTable::new(header);
        // For one project, a row for all of them says the same again.
        let shown = match &self.rows[..] {
            [only, _] => std::slice::from_ref(only),
            rows => rows,
        };
        for row in shown {
            let mut cells = vec![
                Cell::new(&row.project),
                Cell::new(&row.language),
                right(row.holes),
                right(row.completions),
            ];
            cells.extend(
                columns
                    .iter()
                    .map(|name| figure(name, row.metrics.get(*name))),
            );
            table.add_row(cells);
        }
        let mut text = table.render(width) + "\n";
        // The last row is that of all projects.
        let Some(all) = self.rows.last() else {
            return text;
        };
        // Warnings come before the table, where they can't be overlooked.
        text.insert_str(0, &width.lines(&left_out_line(all)));
        text.insert_str(0, &width.lines(&unproven_line(all)));
        let outcomes = all.outcomes.iter();
        let outcomes: Vec<String> = outcomes
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        text.push_str(&width.paragraph(&format!(
            "model {}; outcomes: {}",
            all.model,
            outcomes.join(", ")
        )));
        if let Some(typed) = all.metrics.get(TYPE_CHECK.name) {
            text.push_str(&format!(
                "type-check without a new error: {}\n",
                TYPE_CHECK.unit.render(typed).sentence()
            ));
        }
        if let Some(line) = usage_line(all) {
            text.push_str(&width.paragraph(&line));
        }
        text.push_str(&width.paragraph(
            "Rates in %, each with its 95 % interval and its n in a number of files, the \
             clusters; pass@1 over holes, text metrics over attempts, acceptance over completions \
             offered: simulated, not a person's. em/cceval and id_f1/cceval look at the first \
             statement only.",
        ));
        if all.reruns > 0 {
            let judged: usize = all.outcomes.values().sum();
            let flaky = all.outcomes.get(Outcome::Flaky.name()).unwrap_or(&0);
            text.push_str(&width.paragraph(&format!(
                "{} of {judged} verdicts depended on tests that run no line of the completion and \
                 were rerun; {flaky} ({:.1} %) are flaky and left out of every figure",
                all.reruns,
                100.0 * *flaky as f64 / judged as f64,
            )));
        }
        text.push_str(&policies::table(&all.policies, width));
        text.push_str(&rounds_table(&self.rounds, width));
        if self.settled > 0 {
            text.push_str(&format!(
                "{} verdicts in which the parts of the run differed were judged again\n",
                self.settled
            ));
        }
        if self.audited > 0 {
            text.push_str(&format!(
                "{} verdict{} judged again by the naive engine, {} differ\n",
                self.audited,
                if self.audited == 1 { "" } else { "s" },
                self.differing
            ));
        }
        text.push_str(&self.mining(width));
        text
    }

    /// Lists what was mined, and the projects left out.
    fn mining(&self, width: TextWidth) -> String {
        let mut text = String::new();
        for (name, project) in &self.projects {
            if let Some(mined) = &project.mined {
                let rejected = Rejection::describe(&mined.rejected);
                if mined.tests == 0 {
                    text.push_str(&width.paragraph(&format!(
                        "{name}: no tests, so nothing was executed and text alone is scored; {} \
                         candidates, {} holes chosen by syntax; rejected: {rejected}",
                        mined.candidates, mined.admitted,
                    )));
                    continue;
                }
                text.push_str(&width.paragraph(&format!(
                    "{name}: {} tests, {} quarantined{}; {} candidates, {} holes admitted; \
                     rejected: {rejected}",
                    mined.tests,
                    mined.quarantined,
                    match mined.set_aside.len() {
                        0 => String::new(),
                        count => format!(", {count} set aside"),
                    },
                    mined.candidates,
                    mined.admitted,
                )));
            }
        }
        // A machine's lack and a project's fault are listed apart, since they ask for different
        // actions.
        for (state, what) in [
            (ProjectStatus::LeftOut, "left out"),
            (ProjectStatus::Failed, "failed"),
        ] {
            let of_state: Vec<_> = self
                .projects
                .iter()
                .filter(|(_, project)| project.status == state)
                .collect();
            if !of_state.is_empty() {
                text.push_str(&format!("{} {what}:\n", projects_count(of_state.len())));
            }
            for (name, project) in of_state {
                let reason = project.reason.as_deref().unwrap_or("no reason known");
                text.push_str(&format!("  {name}: {reason}\n"));
            }
        }
        for (name, reasons) in &self.slow_paths {
            for reason in reasons {
                text.push_str(&width.paragraph(&format!("{name}: {reason}")));
            }
        }
        text
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn projects_count(count: usize) -> String {
    match count {
        1 => "1 project".to_owned(),
        _ => format!("{count} projects"),
    }
}

#[cfg(test)]
mod tests {
    use fillrate_engine::developer::policy::{Policy, Rule};
    use fillrate_engine::developer::typing::{Pace, TypistSettings};
    use fillrate_engine::developer::typist::Typist;
    use fillrate_engine::store::{Attempt, DeveloperSettings, MiningCounts};
    use fillrate_language::task::{Hole, HoleKind};
    use fillrate_mine::Rejection;
    use fillrate_server::completion::Trace;
    use fillrate_server::model::TokenUsage;
    use fillrate_verdict::{Proof, Verdict};

    use super::figures::{usage, usage_figures};
    use super::*;

    pub(super) const FILE: &str = "def f(a):\n    total = a + 1\n    return total\n";

    pub(super) fn attempt(hole: &Hole, sample: u32, offered: &[&str], outcome: Outcome) -> Attempt {
        Attempt {
            key: format!("{}-{sample}", hole.id),
            hole: hole.id.clone(),
            project: hole.project.clone(),
            model: "embedded".into(),
            sample,
            repair_round: 0,
            offered: offered.iter().map(|text| (*text).to_owned()).collect(),
            overlap: String::new(),
            answered: true,
            latency_ms: f64::from(10 + sample),
            trace: None,
            verdict: Verdict::from_outcome(outcome),
        }
    }

    /// A run of three holes in two files with two samples each, and a project left out.
    fn report() -> (tempfile::TempDir, RunReport) {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &serde_json::json!({})).expect("it is empty");
        let hole = |path, range| Hole::new("demo", "python", path, HoleKind::Line, range, FILE);
        let mut holes = [
            hole("a.py", 14..27),
            hole("a.py", 32..44),
            hole("b.py", 14..27),
        ];
        // As if the names were the repository's.
        holes[0].dependencies = Some(vec!["total".into(), "a".into(), "b".into()]);
        holes[1].dependencies = Some(Vec::new());
        holes[2].dependencies = Some(vec!["total".into()]);
        run.add_holes(holes.iter().map(|hole| (hole, FILE)))
            .expect("there is room");
        let [first, second, third] = &holes;
        let attempts = [
            attempt(first, 0, &["total = a + 1"], Outcome::Passed),
            attempt(first, 1, &["total = a"], Outcome::Failed),
            attempt(second, 0, &["return total"], Outcome::Passed),
            attempt(second, 1, &["return total"], Outcome::Passed),
            attempt(third, 0, &[], Outcome::Failed),
            attempt(third, 1, &["total = 2"], Outcome::Infrastructure),
        ];
        for attempt in &attempts {
            run.add_attempt(attempt).expect("there is room");
        }
        let ready = ProjectState {
            language: "python".into(),
            status: ProjectStatus::Ready,
            reason: None,
            mined: Some(MiningCounts {
                tests: 9,
                quarantined: 1,
                set_aside: Vec::new(),
                candidates: 20,
                admitted: 3,
                rejected: [(Rejection::EmptyPasses, 2), (Rejection::Leak, 1)].into(),
            }),
        };
        let left_out = ProjectState {
            language: "typescript".into(),
            status: ProjectStatus::LeftOut,
            reason: Some("node is needed".into()),
            mined: None,
        };
        run.set_project("demo", &ready).expect("there is room");
        run.set_project("other", &left_out).expect("there is room");
        let report = RunReport::load(&run).expect("the run can be read");
        (folder, report)
    }

    /// A developer who accepts everything that is offered.
    pub(crate) fn accepts_all() -> DeveloperSettings {
        DeveloperSettings {
            policies: vec![Policy {
                rule: Rule::AcceptAll,
                latency: false,
            }],
            typing: TypistSettings {
                typist: Typist::default(),
                seed: 1,
                pace: Pace::Virtual,
                latency_ms: None,
            },
        }
    }

    #[test]
    fn figures_are_calculated_over_their_own_denominators() {
        let (_folder, report) = report();
        let [demo, all] = report.rows.as_slice() else {
            panic!("one project takes part: {:?}", report.rows);
        };
        assert_eq!((demo.project.as_str(), all.project.as_str()), ("demo", "*"));
        assert_eq!((demo.holes, demo.completions, demo.left_out), (3, 4, 1));
        let figure = |name: &str| {
            let estimate = demo.metrics[name];
            (estimate.value, estimate.n)
        };
        // (1/2 + 1 + 0/1) / 3: an infrastructure failure does not count as a sample.
        assert_eq!(figure("pass@1"), (0.5, 3));
        // Three of five attempts, the unanswered one among them.
        assert_eq!(figure("em/cceval"), (0.6, 5));
        // "total = a" is a prefix of the reference too, so all four that were offered.
        assert_eq!(figure(ORACLE_ACCEPTANCE.name), (1.0, 4));
        assert_eq!(figure(MEDIAN_LATENCY.name), (10.0, 5));
        // 2/3 twice, and 0 of an unanswered attempt: the second hole has no dependencies, and
        // an infrastructure failure names nothing.
        let (rate, n) = figure(INVOCATION.name);
        assert!((rate - 4.0 / 9.0).abs() < 1e-12 && n == 3, "{rate}, {n}");
        let outcomes: Vec<_> = demo.outcomes.iter().map(|(name, n)| (*name, *n)).collect();
        assert_eq!(
            outcomes,
            [("failed", 2), ("infrastructure", 1), ("passed", 3)]
        );
    }

    #[test]
    fn attempts_of_a_project_that_became_absent_have_their_row() {
        let (folder, _) = report();
        let run = Run::open(folder.path()).expect("it was begun");
        let state = |name: &str| run.projects().expect("they are readable")[name].clone();
        let absent = ProjectState {
            reason: Some("its environment can't be made".into()),
            status: ProjectStatus::Failed,
            ..state("demo")
        };
        let ready = ProjectState {
            status: ProjectStatus::Ready,
            ..state("other")
        };
        run.set_project("demo", &absent).expect("there is room");
        run.set_project("other", &ready).expect("there is room");
        let report = RunReport::load(&run).expect("the run can be read");
        let holes: Vec<(&str, usize)> = report
            .rows
            .iter()
            .map(|row| (row.project.as_str(), row.holes))
            .collect();
        assert_eq!(holes, [("demo", 3), ("other", 0), ("*", 3)]);
    }

    #[test]
    fn tokens_and_their_cost_are_means_over_completions() {
        let used = |prompt, completion, cost| TokenUsage {
            prompt,
            completion,
            is_approximate: false,
            cost,
        };
        let usages = [
            ("a.py", used(100, 10, Some(0.002))),
            ("b.py", used(300, 30, None)),
        ];
        let figures = usage_figures(&usages).map(|(metric, estimate)| {
            let estimate = estimate.expect("there are samples");
            (metric.name, estimate.value, estimate.n)
        });
        assert_eq!(
            figures,
            [
                ("tokens/prompt", 200.0, 2),
                ("tokens/completion", 20.0, 2),
                ("cost/1000", 2.0, 1)
            ]
        );
        let (_folder, report) = report();
        let mut row = report.rows[0].clone();
        assert_eq!(usage_line(&row), None);
        for (metric, estimate) in usage_figures(&usages) {
            row.metrics
                .extend(estimate.map(|estimate| (metric.name.to_owned(), estimate)));
        }
        let line = usage_line(&row).expect("there are tokens");
        assert!(
            line.starts_with("A completion takes 200.0 tokens ["),
            "{line}"
        );
        assert!(line.contains("; 1,000 completions cost 2.0000 "), "{line}");
        // Like the other figures, without what failed by machinery.
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 14..27, FILE);
        let counted = |outcome| {
            let trace = Trace {
                usage: Some(used(1, 1, None)),
                ..Trace::default()
            };
            let attempt = attempt(&hole, 0, &["x"], outcome);
            usage(&Attempt {
                trace: Some(trace),
                ..attempt
            })
        };
        assert!(counted(Outcome::Failed).is_some());
        assert_eq!(counted(Outcome::Infrastructure), None);
    }

    #[test]
    fn the_table_says_what_was_left_out() {
        let (_folder, report) = report();
        let table = report.table(TextWidth::UNLIMITED);
        let (_, below) = table
            .split_once("model embedded")
            .expect("the table names the model");
        insta::assert_snapshot!(below, @"
        ; outcomes: failed 2, infrastructure 1, passed 3
        Rates in %, each with its 95 % interval and its n in a number of files, the clusters; pass@1 over
        holes, text metrics over attempts, acceptance over completions offered: simulated, not a person's.
        em/cceval and id_f1/cceval look at the first statement only.
        demo: 9 tests, 1 quarantined; 20 candidates, 3 holes admitted; rejected: leak 1, empty-passes 2
        1 project left out:
          other: node is needed
        ");
    }

    #[test]
    fn a_table_begins_with_passes_that_are_not_proven() {
        let (_folder, report) = report();
        let mut all = report.rows.last().expect("a row for all").clone();
        all.proofs = BTreeMap::from([("altered", 95), ("partial", 5)]);
        assert_eq!(unproven_line(&all), "", "5 of 100");
        all.proofs = BTreeMap::from([("altered", 90), ("partial", 6), ("none", 1)]);
        let line = unproven_line(&all);
        assert!(
            line.starts_with("Warning: 7 of 97 passes (7.2 %)"),
            "{line}"
        );
        assert!(line.contains("partial 6, none 1"), "{line}");
    }

    #[test]
    fn passes_with_less_proof_than_asked_for_do_not_count() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &serde_json::json!({})).expect("it is empty");
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 14..27, FILE);
        run.add_holes([(&hole, FILE)]).expect("there is room");
        // A pass without a recorded proof is of an older program.
        let proofs = [Some(Proof::Altered), Some(Proof::Partial), None];
        for (sample, proof) in (0..).zip(proofs) {
            let mut passed = attempt(&hole, sample, &["total = a + 1"], Outcome::Passed);
            passed.verdict.proof = proof;
            run.add_attempt(&passed).expect("there is room");
        }
        let outcomes = |run: &Run| -> Vec<&str> {
            let attempts = run.attempts().expect("they were written").into_iter();
            attempts.map(|one| one.verdict.outcome.name()).collect()
        };
        assert_eq!(outcomes(&run), ["passed"; 3]);
        let run = run.with_proof(Some(Proof::Altered));
        assert_eq!(outcomes(&run), ["passed", "unproven", "unproven"]);
        let run = run.with_proof(Some(Proof::Partial));
        assert_eq!(outcomes(&run), ["passed", "passed", "unproven"]);
    }

    #[test]
    fn reference_is_not_best_run_and_rows_have_same_columns() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = |name: &str, protocol: &str, second: Outcome| {
            let model = serde_json::json!({"protocol": protocol, "name": name});
            let identity = serde_json::json!({"model": name, "configuration": {"model": model}});
            let run = Run::open_or_begin(&folder.path().join(name), &identity).expect("it is new");
            for (path, outcome) in [("a.py", Outcome::Passed), ("b.py", second)] {
                let hole = Hole::new("demo", "python", path, HoleKind::Line, 14..27, FILE);
                run.add_holes([(&hole, FILE)]).expect("there is room");
                for (sample, outcome) in (0..).zip([Outcome::Passed, Outcome::Passed, outcome]) {
                    let made = attempt(&hole, sample, &["total = a + 1"], outcome);
                    run.add_attempt(&made).expect("there is room");
                }
            }
            run
        };
        let runs = || {
            vec![
                run("a", "openai-completions", Outcome::Failed),
                run("b", "openai-completions", Outcome::Infrastructure),
                run("reference", "recorded", Outcome::Passed),
            ]
        };
        let report = crate::pages::HtmlReport::load(runs(), false).expect("they can be read");
        let summary = report.file("data/summary.js").expect("it can be made");
        let summary = summary.expect("there is one").contents;
        assert!(summary.contains(r#"\"first\":0,\"second\":1"#), "{summary}");
        // One of three samples is without evidence.
        let report = RunReport::load(&runs()[1]).expect("it can be read");
        let names = report.rows[0]
            .metrics
            .keys()
            .filter(|name| name.starts_with("pass@"));
        assert_eq!(names.collect::<Vec<_>>(), ["pass@1", "pass@3"]);
    }

    #[test]
    fn a_table_begins_with_what_is_left_out_of_its_figures() {
        let (_folder, report) = report();
        let table = report.table(TextWidth::UNLIMITED);
        let first = table.lines().next();
        assert_eq!(
            first,
            Some(
                "Warning: 1 of 6 attempts (16.7 %) are left out of every figure: infrastructure 1"
            )
        );
        let mut all = report.rows[1].clone();
        all.outcomes.insert("passed", 97);
        assert_eq!(left_out_line(&all), "", "1 of 100");
        all.outcomes.insert("passed", 96);
        assert!(left_out_line(&all).starts_with("Warning: 1 of 99"));
    }

    #[test]
    fn attempts_that_failed_by_machinery_change_no_figure() {
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 14..27, FILE);
        let score = |sample, offered: &[&str], outcome| {
            ScoredAttempt::score(&hole, FILE, attempt(&hole, sample, offered, outcome))
        };
        let right = score(0, &["total = a + 1"], Outcome::Passed);
        let wrong = score(1, &["total = b"], Outcome::Failed);
        let untested = score(2, &["total = a + 1"], Outcome::Unjudged);
        let refused = score(90, &[], Outcome::Infrastructure);
        let broken = score(91, &["pass"], Outcome::Infrastructure);
        let flaky = score(92, &["pass"], Outcome::Flaky);
        let alone = report_row("*", "*", &[&right, &wrong, &untested]);
        let with_left_out = report_row(
            "*",
            "*",
            &[&right, &refused, &wrong, &broken, &untested, &flaky],
        );
        assert_eq!(with_left_out.metrics, alone.metrics);
        assert_eq!(with_left_out.completions, 3);
        assert_eq!((alone.left_out, with_left_out.left_out), (0, 3));
        assert_eq!(alone.metrics["em/cceval"].n, 3, "no tests, but a text");
        let settings = accepts_all();
        let figures = |scored: &[&ScoredAttempt]| {
            let figures = policies::estimate_attempts(scored, &settings);
            figures.into_iter().next().map(|one| one.metrics)
        };
        assert_eq!(
            figures(&[&right, &broken, &wrong, &flaky]),
            figures(&[&right, &wrong])
        );
    }
}
