//! What people look at after a run: figures by project, as a table or as JSON.

mod comparison;
pub mod dataset;
pub mod export;
pub mod page;
pub mod pages;
pub mod policies;
pub mod sensitivity;
pub mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use comfy_table::Cell;
use fillrate_metrics::metric::{
    INVOCATION, MEDIAN_LATENCY, ORACLE_ACCEPTANCE, TYPE_CHECK, WEIGHTED_PASS,
};
use fillrate_metrics::{
    Estimate, Metric, Sample, TextMetric, Unit, clustered_mean, clustered_proportion,
    clustered_weighted_mean, dependency_invocation_rate, median, oracle_prefix, pass_at_k,
    text_scores,
};
use fillrate_server::syntax::Language;
use serde::Serialize;

use self::table::{TextTable, figure, right};
use crate::developer::policy::LinePosition;
use crate::language::scoring::{ScoringLanguage, syntax_identifiers};
use crate::mutate::MutationScore;
use crate::store::{
    Attempt, DeveloperSettings, ProjectState, ProjectStatus, Run, StoreError, TypingAttempt,
};
use crate::task::Hole;
use crate::verdict::Outcome;

pub use comparison::{ComparedRun, Comparison, McNemar, RunDifference};
pub use policies::PolicyFigures;

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// One row for each project, and a last one for all.
    pub rows: Vec<ReportRow>,
    /// The run's folder.
    pub run: String,
    /// What became of each project.
    pub projects: BTreeMap<String, ProjectState>,
    /// Verdicts that were reached again in the slow way.
    pub audited: usize,
    /// Those of them that differ.
    pub differing: usize,
    /// What became of the attempts when the model was told what was wrong with them; empty where
    /// it was not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RepairRound>,
}

/// Where things stand after some rounds of mending: §6.2 of
/// [RepoExec](https://arxiv.org/abs/2406.11927).
#[derive(Clone, Debug, Serialize)]
pub struct RepairRound {
    /// How many failing answers of its own the model had been told of, at most.
    pub round: u32,
    /// Attempts that were made in this very round.
    pub attempts: usize,
    /// `pass@1` and `DIR` of each sample's last answer up to this round, under those names.
    pub metrics: BTreeMap<String, Estimate>,
}

/// The figures of one project under one model.
#[derive(Clone, Debug, Serialize)]
pub struct ReportRow {
    /// The project's name, or `*` for all.
    pub project: String,
    /// The language's name, or `*` where there are several.
    pub language: String,
    /// The model's name.
    pub model: String,
    /// Holes that were attempted.
    pub holes: usize,
    /// Completions that were offered: attempts that the server had an answer to, but those that
    /// are left out.
    pub completions: usize,
    /// By variant. Rates are between 0 and 1, `es/*` between 0 and 100, latencies in
    /// milliseconds.
    pub metrics: BTreeMap<String, Estimate>,
    /// How many attempts ended how, those that no figure counts included.
    pub outcomes: BTreeMap<&'static str, usize>,
    /// Attempts that failed by machinery or whose tests are flaky: no figure counts them.
    pub left_out: usize,
    /// Attempts for whose verdicts tests were run again, since the completion can hardly have made
    /// them fail. Those that then did not agree with themselves have the outcome `flaky`.
    pub again: usize,
    /// What simulated developers made of them, by policy; empty where none was named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyFigures>,
}

/// Text metrics of the report.
const TEXT_METRICS: [&str; 4] = [
    "em/cceval",
    "em/tokens",
    "es/cceval-levenshtein",
    "id_f1/cceval",
];

impl RunReport {
    /// Reads a run and calculates its figures.
    ///
    /// # Errors
    /// The run can't be read.
    pub fn load(run: &Run) -> Result<Self, StoreError> {
        let scored = scored(run)?;
        let rounds = rounds(&scored);
        let scored = first_answers(scored);
        let developers = DeveloperFigures::load(run)?;
        let projects = run.projects()?;
        let mut rows = Vec::new();
        let names: Vec<&String> = projects
            .iter()
            .filter(|(_, state)| state.status == ProjectStatus::Ready)
            .map(|(name, _)| name)
            .collect();
        for name in &names {
            let of_project: Vec<&ScoredAttempt> = scored
                .iter()
                .filter(|scored| scored.attempt.project == **name)
                .collect();
            let mut row = row(name, &projects[*name].language, &of_project);
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
        let mut of_all = row("*", language, &all);
        of_all.policies = developers.figures(None, &all);
        rows.push(of_all);
        Ok(Self {
            rows,
            run: run.folder().display().to_string(),
            projects,
            audited: audits.len(),
            differing: audits.values().filter(|audit| audit.differs()).count(),
            rounds,
        })
    }

    /// The table for people, with what was left out below it.
    pub fn table(&self) -> String {
        let columns = [
            "pass@1",
            "em/cceval",
            "es/cceval-levenshtein",
            "id_f1/cceval",
            INVOCATION.name,
            ORACLE_ACCEPTANCE.name,
            MEDIAN_LATENCY.name,
        ];
        let mut header = vec!["project", "language", "holes", "completions"];
        header.extend(columns);
        let mut table = TextTable::new(header);
        for row in &self.rows {
            let mut cells = vec![
                Cell::new(&row.project),
                Cell::new(&row.language),
                right(row.holes),
                right(row.completions),
            ];
            cells.extend(columns.map(|name| figure(name, row.metrics.get(name))));
            table.add_row(cells);
        }
        let mut text = format!("{table}\n");
        if let Some(all) = self.rows.last() {
            text.insert_str(0, &left_out_line(all));
            let outcomes: Vec<String> = all
                .outcomes
                .iter()
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            text.push_str(&format!(
                "model {}; outcomes: {}\n",
                all.model,
                outcomes.join(", ")
            ));
        }
        let typed = self
            .rows
            .last()
            .and_then(|all| all.metrics.get(TYPE_CHECK.name));
        if let Some(typed) = typed {
            text.push_str(&format!(
                "type-check without a new error: {}\n",
                TYPE_CHECK.unit.render(typed).sentence()
            ));
        }
        text.push_str(
            "Rates in %, each with its 95 % interval (clustered by file) and its n; pass@1 over \
             holes, text metrics over attempts,\nacceptance over completions offered: simulated, \
             not a person's. em/cceval and id_f1/cceval look at the first statement only.\n",
        );
        if let Some(all) = self.rows.last()
            && all.again > 0
        {
            let judged: usize = all.outcomes.values().sum();
            let flaky = all.outcomes.get(Outcome::Flaky.name()).unwrap_or(&0);
            text.push_str(&format!(
                "{} of {judged} verdicts hung on tests that run no line of the completion and \
                 were run again; {flaky} ({:.1} %) are flaky and left out of every figure\n",
                all.again,
                100.0 * *flaky as f64 / judged as f64,
            ));
        }
        if let Some(all) = self.rows.last() {
            text.push_str(&policies::table(&all.policies));
        }
        text.push_str(&rounds_table(&self.rounds));
        if self.audited > 0 {
            text.push_str(&format!(
                "{} verdicts judged again in the slow way, {} differ\n",
                self.audited, self.differing
            ));
        }
        text.push_str(&self.mining());
        text
    }

    /// What mining came to, and what was left out.
    fn mining(&self) -> String {
        let mut text = String::new();
        for (name, project) in &self.projects {
            if let Some(mined) = &project.mined {
                let rejected: Vec<String> = mined
                    .rejected
                    .iter()
                    .map(|(reason, count)| format!("{} {count}", reason.name()))
                    .collect();
                let rejected = if rejected.is_empty() {
                    "none".to_owned()
                } else {
                    rejected.join(", ")
                };
                text.push_str(&format!(
                    "{name}: {} tests, {} quarantined; {} candidates, {} holes admitted; \
                     rejected: {rejected}\n",
                    mined.tests, mined.quarantined, mined.candidates, mined.admitted,
                ));
            }
        }
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
        text
    }
}

/// The share of attempts that may be left out of the figures before a table begins with it.
const QUIET_LEFT_OUT: f64 = 0.01;

/// A table's first line where many attempts are left out of its figures, otherwise nothing.
fn left_out_line(row: &ReportRow) -> String {
    let attempts: usize = row.outcomes.values().sum();
    let share = row.left_out as f64 / attempts.max(1) as f64;
    if share <= QUIET_LEFT_OUT {
        return String::new();
    }
    let reasons: Vec<String> = row
        .outcomes
        .iter()
        .filter(|(name, _)| {
            [Outcome::Infrastructure, Outcome::Flaky]
                .iter()
                .any(|outcome| outcome.name() == **name)
        })
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    format!(
        "Warning: {} of {attempts} attempts ({:.1} %) are left out of every figure: {}\n",
        row.left_out,
        100.0 * share,
        reasons.join(", ")
    )
}

fn projects_count(count: usize) -> String {
    match count {
        1 => "1 project".to_owned(),
        _ => format!("{count} projects"),
    }
}

/// A run's attempts with what can be calculated of them.
fn scored(run: &Run) -> Result<Vec<ScoredAttempt>, StoreError> {
    let holes = run.holes()?;
    let mut scored = Vec::new();
    for attempt in run.attempts()? {
        if let Some(hole) = holes.get(&attempt.hole) {
            let contents = run.source(hole)?;
            scored.push(ScoredAttempt::score(hole, &contents, attempt));
        }
    }
    Ok(scored)
}

/// How many attempts of a run were made without being shown another file, and the holes for which
/// one of these has the reference, as `em/cceval` compares them.
///
/// # Errors
/// The run can't be read.
pub fn solved_alone(run: &Run) -> Result<(usize, BTreeSet<String>), StoreError> {
    let mut alone = 0;
    let mut solved = BTreeSet::new();
    for one in first_answers(scored(run)?) {
        let trace = one.attempt.trace.as_ref();
        if !trace.is_some_and(|trace| trace.windows.is_empty()) {
            continue;
        }
        alone += 1;
        if one.text.get("em/cceval") == Some(&1.0) {
            solved.insert(one.attempt.hole);
        }
    }
    Ok((alone, solved))
}

/// The attempts but those that a model made after it was told what was wrong with one: they are no
/// part of any figures but those by round.
fn first_answers(mut scored: Vec<ScoredAttempt>) -> Vec<ScoredAttempt> {
    scored.retain(|one| one.attempt.repair_round == 0);
    scored
}

/// The context that a run's identity names: a paper's, or a profile of the server.
fn context_of(identity: &serde_json::Value) -> Option<&str> {
    let profile = &identity["configuration"]["context"]["profile"];
    identity["context"].as_str().or_else(|| profile.as_str())
}

/// One attempt with what can be calculated of it: nothing where its
/// [outcome is not counted](Outcome::is_counted).
struct ScoredAttempt {
    attempt: Attempt,
    /// Holes of one file stand or fall together, so intervals are clustered by it.
    cluster: String,
    text: BTreeMap<&'static str, f64>,
    /// The share of the hole's dependencies that the completion names.
    invocation: Option<f64>,
    /// Whether a simulated developer accepts a candidate; nothing where none was offered.
    accepted: Option<bool>,
    /// Milliseconds from request to answer; nothing where no answer came.
    latency_ms: Option<f64>,
    reference: String,
    place: LinePosition,
    /// The hole's mutation score.
    mutation: Option<f64>,
    /// The geometric mean of the probabilities that the model gave the tokens of what was spliced
    /// in, where it told them and clean-up left its text whole or cut it.
    probability: Option<f64>,
}

/// What simulated developers did in a run.
struct DeveloperFigures {
    behaviour: Option<DeveloperSettings>,
    /// Each with its cluster and the characters of its hole.
    typings: Vec<(String, usize, TypingAttempt)>,
}

impl DeveloperFigures {
    fn load(run: &Run) -> Result<Self, StoreError> {
        let holes = run.holes()?;
        let typings = run.typings()?.into_iter().filter_map(|typing| {
            let hole = holes.get(&typing.hole).filter(|_| typing.is_counted())?;
            Some((cluster(hole), policies::characters(hole), typing))
        });
        Ok(Self {
            behaviour: run.developer_settings()?,
            typings: typings.collect(),
        })
    }

    /// Their figures in a project, or in all: of what was typed, or else of the attempts alone.
    fn figures(&self, project: Option<&str>, scored: &[&ScoredAttempt]) -> Vec<PolicyFigures> {
        self.figures_where(scored, |typing| {
            project.is_none_or(|project| typing.project == project)
        })
    }

    /// Likewise, of some holes: of what was typed there, or else of these attempts alone.
    fn figures_where(
        &self,
        scored: &[&ScoredAttempt],
        wanted: impl Fn(&TypingAttempt) -> bool,
    ) -> Vec<PolicyFigures> {
        let typed = self.typed_where(wanted);
        match &self.behaviour {
            Some(behaviour) if typed.is_empty() => policies::estimate_attempts(scored, behaviour),
            _ => policies::estimate_typed(&typed),
        }
    }

    fn typed(&self, project: Option<&str>) -> Vec<policies::TypedHole<'_>> {
        self.typed_where(|typing| project.is_none_or(|project| typing.project == project))
    }

    fn typed_where(&self, wanted: impl Fn(&TypingAttempt) -> bool) -> Vec<policies::TypedHole<'_>> {
        let typings = self.typings.iter();
        typings
            .filter(|(_, _, typing)| wanted(typing))
            .map(|(cluster, characters, typing)| policies::TypedHole {
                cluster,
                characters: *characters,
                typing,
            })
            .collect()
    }
}

/// Holes of one file stand or fall together, so intervals are clustered by it.
fn cluster(hole: &Hole) -> String {
    format!("{}\0{}", hole.project, hole.path)
}

impl ScoredAttempt {
    fn score(hole: &Hole, contents: &str, attempt: Attempt) -> Self {
        let mut text = BTreeMap::new();
        let is_counted = attempt.verdict.outcome.is_counted();
        let language = Language::for_path(Path::new(&hole.path)).filter(|_| is_counted);
        if let (Some(language), Ok((prefix, _))) = (language, hole.cut(contents)) {
            let sample = Sample {
                syntax: &ScoringLanguage::from(language),
                prompt: prefix,
                prediction: attempt.completion(),
                reference: &hole.reference,
            };
            for (TextMetric { metric, .. }, value) in text_scores(&sample) {
                if TEXT_METRICS.contains(&metric.name) {
                    text.insert(metric.name, value);
                }
            }
        }
        let invocation =
            language
                .zip(hole.dependencies.as_ref())
                .and_then(|(language, dependencies)| {
                    let completion = attempt.completion();
                    dependency_invocation_rate(
                        &syntax_identifiers(completion, language),
                        dependencies,
                    )
                });
        let has_offer = is_counted && !attempt.offered.is_empty();
        let accepted = has_offer.then(|| {
            let mut offered = attempt.offered.iter();
            offered.any(|candidate| oracle_prefix(&hole.reference, candidate).is_some())
        });
        Self {
            cluster: cluster(hole),
            text,
            invocation,
            accepted,
            latency_ms: latency_ms(&attempt),
            reference: hole.reference.clone(),
            place: policies::place(hole, contents),
            mutation: hole
                .mutation
                .as_ref()
                .and_then(|mutation| MutationScore::from(mutation).score()),
            probability: probability(&attempt),
            attempt,
        }
    }
}

impl ScoredAttempt {
    /// Whether any figure counts the attempt.
    fn is_counted(&self) -> bool {
        self.attempt.verdict.outcome.is_counted()
    }

    /// Whether an attempt at the same hole has the same figures, those of its verdict left out.
    fn is_alike(&self, attempt: &Attempt) -> bool {
        self.attempt.offered == attempt.offered
            && self.is_counted() == attempt.verdict.outcome.is_counted()
    }

    /// The figures of an attempt that [is alike](Self::is_alike).
    fn with_verdict_of(&self, attempt: Attempt) -> Self {
        Self {
            cluster: self.cluster.clone(),
            text: self.text.clone(),
            invocation: self.invocation,
            accepted: self.accepted,
            latency_ms: latency_ms(&attempt),
            reference: self.reference.clone(),
            place: self.place,
            mutation: self.mutation,
            probability: probability(&attempt),
            attempt,
        }
    }
}

/// See [`ScoredAttempt::latency_ms`].
fn latency_ms(attempt: &Attempt) -> Option<f64> {
    let has_latency = attempt.answered && attempt.verdict.outcome.is_counted();
    has_latency.then_some(attempt.latency_ms)
}

/// See [`ScoredAttempt::probability`].
fn probability(attempt: &Attempt) -> Option<f64> {
    if !attempt.verdict.outcome.is_counted() {
        return None;
    }
    let completion = attempt.offered.first()?;
    let steps = &attempt.trace.as_ref()?.steps;
    let step = steps.iter().find(|step| step.raw.contains(completion))?;
    step.mean_log_probability.map(f64::exp)
}

/// What stands after each round; nothing where there is but one.
fn rounds(scored: &[ScoredAttempt]) -> Vec<RepairRound> {
    let last = scored.iter().map(|one| one.attempt.repair_round).max();
    let Some(last) = last.filter(|last| *last > 0) else {
        return Vec::new();
    };
    (0..=last)
        .map(|round| {
            let mut standing: BTreeMap<(&str, u32), &ScoredAttempt> = BTreeMap::new();
            // A later answer stands for an earlier one, unless the machinery broken it.
            let so_far = scored.iter().filter(|one| {
                let attempt = &one.attempt;
                let broken = attempt.verdict.outcome == Outcome::Infrastructure;
                let counts = attempt.repair_round == 0 || !broken;
                attempt.repair_round <= round && counts
            });
            for one in so_far {
                let place = (one.attempt.hole.as_str(), one.attempt.sample);
                let stands = standing.entry(place).or_insert(one);
                if stands.attempt.repair_round < one.attempt.repair_round {
                    *stands = one;
                }
            }
            let standing: Vec<&ScoredAttempt> = standing.into_values().collect();
            let mut metrics = row("*", "*", &standing).metrics;
            metrics.retain(|name, _| name == "pass@1" || name == INVOCATION.name);
            RepairRound {
                round,
                attempts: scored
                    .iter()
                    .filter(|one| one.attempt.repair_round == round)
                    .count(),
                metrics,
            }
        })
        .collect()
}

/// The table of rounds, where there were any.
fn rounds_table(rounds: &[RepairRound]) -> String {
    if rounds.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(["round", "attempts", "pass@1", INVOCATION.name]);
    for round in rounds {
        let figures = ["pass@1", INVOCATION.name].map(|name| figure(name, round.metrics.get(name)));
        let counts = [round.round as usize, round.attempts].map(right);
        table.add_row(counts.into_iter().chain(figures));
    }
    format!(
        "{table}\nRounds: what stands after the model was told that often what its tests said; \
         all other figures are of round 0.\n"
    )
}

fn row(project: &str, language: &str, scored: &[&ScoredAttempt]) -> ReportRow {
    let by_hole = of_holes(scored);
    let mut metrics = BTreeMap::new();
    let mut put = |name: &str, estimate: Option<Estimate>| {
        if let Some(estimate) = estimate {
            metrics.insert(name.to_owned(), estimate);
        }
    };

    let samples = by_hole.values().map(|of_hole| evidence(of_hole).len());
    let (fewest, most) = (samples.clone().min(), samples.max().unwrap_or(0));
    // As papers have it, and the largest that all holes have enough samples for. Holes with less
    // than k are not in pass@k, as its n shows.
    let usual = [5, 10, 100].into_iter().filter(|k| *k <= most);
    for k in [1, fewest.unwrap_or(1).max(1)].into_iter().chain(usual) {
        put(&format!("pass@{k}"), pass_at(&by_hole, k));
    }
    let weighted: Vec<(&str, f64, f64)> = by_hole
        .values()
        .filter_map(|of_hole| {
            let weight = of_hole[0].mutation?;
            Some((of_hole[0].cluster.as_str(), weight, chance(of_hole, 1)?))
        })
        .collect();
    let weighted = clustered_weighted_mean(&weighted);
    put(
        WEIGHTED_PASS.name,
        weighted.map(|estimate| match estimate.within(0.0..=1.0) {
            // Where all holes agree, the spread between them tells nothing of the next.
            alike if alike.low == alike.high => Estimate {
                low: None,
                high: None,
                ..alike
            },
            estimate => estimate,
        }),
    );
    for name in TEXT_METRICS {
        let values: Vec<(&str, f64)> = scored
            .iter()
            .filter_map(|one| Some((one.cluster.as_str(), *one.text.get(name)?)))
            .collect();
        let unit = Metric::unit_of(name);
        let estimate = match unit {
            Unit::Percent => clustered_mean(&values),
            _ => rate(&values),
        };
        put(name, estimate.map(|estimate| estimate.within(unit.range())));
    }
    let invocations: Vec<(&str, f64)> = scored
        .iter()
        .filter_map(|one| Some((one.cluster.as_str(), one.invocation?)))
        .collect();
    let invocation = rate(&invocations).map(|estimate| estimate.within(0.0..=1.0));
    put(INVOCATION.name, invocation);
    let accepted: Vec<(&str, bool)> = scored
        .iter()
        .filter_map(|one| Some((one.cluster.as_str(), one.accepted?)))
        .collect();
    put(ORACLE_ACCEPTANCE.name, clustered_proportion(&accepted));
    let typed: Vec<(&str, bool)> = scored
        .iter()
        .filter(|one| one.is_counted())
        .filter_map(|one| {
            let types = one.attempt.verdict.types.as_ref()?;
            Some((one.cluster.as_str(), types.passes()))
        })
        .collect();
    put(TYPE_CHECK.name, clustered_proportion(&typed));
    let latencies: Vec<f64> = scored.iter().filter_map(|one| one.latency_ms).collect();
    put(MEDIAN_LATENCY.name, median(&latencies));

    let mut outcomes: BTreeMap<&'static str, usize> = BTreeMap::new();
    for one in scored {
        *outcomes
            .entry(one.attempt.verdict.outcome.name())
            .or_default() += 1;
    }
    ReportRow {
        project: project.to_owned(),
        language: language.to_owned(),
        model: scored
            .first()
            .map(|one| one.attempt.model.clone())
            .unwrap_or_default(),
        holes: by_hole.len(),
        completions: accepted.len(),
        metrics,
        outcomes,
        left_out: scored.iter().filter(|one| !one.is_counted()).count(),
        again: scored
            .iter()
            .filter(|one| one.attempt.verdict.rerun)
            .count(),
        policies: Vec::new(),
    }
}

/// The attempts at each hole.
fn of_holes<'a>(scored: &[&'a ScoredAttempt]) -> BTreeMap<&'a str, Vec<&'a ScoredAttempt>> {
    let mut by_hole: BTreeMap<&str, Vec<&ScoredAttempt>> = BTreeMap::new();
    for one in scored {
        by_hole.entry(&one.attempt.hole).or_default().push(one);
    }
    by_hole
}

/// pass@k, over the holes with as many verdicts.
fn pass_at(by_hole: &BTreeMap<&str, Vec<&ScoredAttempt>>, k: usize) -> Option<Estimate> {
    let chances: Vec<(&str, f64)> = by_hole
        .values()
        .filter_map(|of_hole| Some((of_hole[0].cluster.as_str(), chance(of_hole, k)?)))
        .collect();
    rate(&chances)
}

/// The chance that one of `k` of a hole's attempts passes; nothing where it has fewer verdicts.
fn chance(of_hole: &[&ScoredAttempt], k: usize) -> Option<f64> {
    let verdicts = evidence(of_hole);
    let correct = verdicts.iter().filter(|passed| **passed).count();
    pass_at_k(verdicts.len() as u64, correct as u64, k as u64)
}

/// Whether each attempt passed, of those whose outcome says so.
fn evidence(scored: &[&ScoredAttempt]) -> Vec<bool> {
    scored
        .iter()
        .map(|one| one.attempt.verdict.outcome)
        .filter(|outcome| outcome.is_evidence())
        .map(|outcome| outcome == Outcome::Passed)
        .collect()
}

/// The mean of values between 0 and 1: as a proportion where all are 0 or 1, since its interval
/// then stays within 0 and 1.
fn rate(values: &[(&str, f64)]) -> Option<Estimate> {
    let whole: Option<Vec<(&str, bool)>> = values
        .iter()
        .map(|(cluster, value)| match *value {
            0.0 => Some((*cluster, false)),
            1.0 => Some((*cluster, true)),
            _ => None,
        })
        .collect();
    match whole {
        Some(whole) => clustered_proportion(&whole),
        None => clustered_mean(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::developer::policy::{Policy, Rule};
    use crate::developer::typing::{Pace, TypistSettings};
    use crate::developer::typist::Typist;
    use crate::mine::Rejection;
    use crate::store::MiningCounts;
    use crate::task::HoleKind;
    use crate::verdict::Verdict;

    const FILE: &str = "def f(a):\n    total = a + 1\n    return total\n";

    fn attempt(hole: &Hole, sample: u32, offered: &[&str], outcome: Outcome) -> Attempt {
        Attempt {
            key: format!("{}-{sample}", hole.id),
            hole: hole.id.clone(),
            project: hole.project.clone(),
            model: "embedded".into(),
            sample,
            repair_round: 0,
            offered: offered.iter().map(|text| (*text).to_owned()).collect(),
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
        // (1/2 + 1 + 0/1) / 3: what the machinery broken is no sample.
        assert_eq!(figure("pass@1"), (0.5, 3));
        // Three of five attempts, the unanswered one among them.
        assert_eq!(figure("em/cceval"), (0.6, 5));
        // "total = a" is a prefix of the reference too, so all four that were offered.
        assert_eq!(figure(ORACLE_ACCEPTANCE.name), (1.0, 4));
        assert_eq!(figure(MEDIAN_LATENCY.name), (10.0, 5));
        // 2/3 twice, and 0 of an unanswered attempt: the second hole has no dependencies, and
        // what the machinery broken names nothing.
        let (rate, n) = figure(INVOCATION.name);
        assert!((rate - 4.0 / 9.0).abs() < 1e-12 && n == 3, "{rate}, {n}");
        let outcomes: Vec<_> = demo.outcomes.iter().map(|(name, n)| (*name, *n)).collect();
        assert_eq!(
            outcomes,
            [("failed", 2), ("infrastructure", 1), ("passed", 3)]
        );
    }

    #[test]
    fn the_table_says_what_was_left_out() {
        let (_folder, report) = report();
        let table = report.table();
        let (_, below) = table
            .split_once("model embedded")
            .expect("the table names the model");
        insta::assert_snapshot!(below, @"
        ; outcomes: failed 2, infrastructure 1, passed 3
        Rates in %, each with its 95 % interval (clustered by file) and its n; pass@1 over holes, text metrics over attempts,
        acceptance over completions offered: simulated, not a person's. em/cceval and id_f1/cceval look at the first statement only.
        demo: 9 tests, 1 quarantined; 20 candidates, 3 holes admitted; rejected: leak 1, empty-passes 2
        1 project left out:
          other: node is needed
        ");
    }

    #[test]
    fn a_table_begins_with_what_is_left_out_of_its_figures() {
        let (_folder, report) = report();
        let table = report.table();
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
        let alone = row("*", "*", &[&right, &wrong, &untested]);
        let beside = row(
            "*",
            "*",
            &[&right, &refused, &wrong, &broken, &untested, &flaky],
        );
        assert_eq!(beside.metrics, alone.metrics);
        assert_eq!(beside.completions, 3);
        assert_eq!((alone.left_out, beside.left_out), (0, 3));
        assert_eq!(alone.metrics["em/cceval"].n, 3, "no tests, but a text");
        let behaviour = DeveloperSettings {
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
        };
        let figures = |scored: &[&ScoredAttempt]| {
            let figures = policies::estimate_attempts(scored, &behaviour);
            figures.into_iter().next().map(|one| one.metrics)
        };
        assert_eq!(
            figures(&[&right, &broken, &wrong, &flaky]),
            figures(&[&right, &wrong])
        );
    }
}
