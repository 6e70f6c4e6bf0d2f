//! Figures, counts and the runs' manifests: all of the first page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::UNIX_EPOCH;

use fillrate_engine::developer::gate::{FrontierPoint, GateFit};
use fillrate_engine::store::{AuditRecord, Machine, ProjectState};
use fillrate_language::task::{Hole, HoleKind};
use fillrate_metrics::metric::{ACCEPTANCE_SHOWN, INVOCATION, KEYSTROKES_SAVED, PASS_AT_1};
use fillrate_metrics::{CONFIDENCE, METRICS, Metric, NumberFormat, hole_metrics};
use fillrate_verdict::{Outcome, Proof};
use serde::Serialize;
use serde_json::Value;

use super::{HtmlReport, HtmlReportError, ReportProgress, ReportedRun, SHARD};
use crate::ages::AgeFigures;
use crate::comparison::{PassConclusion, RunDifference, against, by_hole, standings};
use crate::figures::{ReportRow, report_row};
use crate::policies::POLICY_METRICS;
use crate::rounds::{RepairRound, rounds};
use crate::scored::ScoredAttempt;
use crate::sensitivity::Sensitivity;

/// Contents of `data/summary.js`.
#[derive(Serialize)]
pub(super) struct SummaryData<'a> {
    /// The version of the program that wrote it.
    program: &'static str,
    /// True if the pages poll for updates.
    live: bool,
    progress: ReportProgress,
    /// The probability with which an interval's method covers the true value.
    confidence: f64,
    outcomes: &'static [&'static str],
    /// Kinds of proof, the strongest first.
    proofs: Vec<&'static str>,
    /// Number of attempts of a shard, and of shards.
    shard: usize,
    shards: usize,
    holes: usize,
    /// Number of holes that are in all runs.
    shared: usize,
    holes_in_detail: usize,
    runs: Vec<RunSummary<'a>>,
    metrics: Vec<Note>,
    /// Those of repair rounds.
    round_metrics: [Note; 2],
    /// Of the figures of simulated developers, by policy.
    policy_metrics: Vec<Note>,
    rows: Vec<Cell>,
    /// The two best runs; `None` for one run, or without verdicts.
    best: Option<BestRuns>,
    /// Ranks of the runs under every policy, a text for each metric that ranks them.
    rankings: Vec<String>,
    /// Completions that a gate would suppress, if the report has telemetry to fit one to.
    gate: Option<&'a GateFrontier>,
    /// Each run's figures before and after a date, if the report divides its holes at one.
    ages: Vec<AgeFigures>,
    /// Format of their differences.
    age_difference: NumberFormat,
}

/// A gate fitted to shown completions, and what its threshold and others do.
#[derive(Serialize)]
pub(super) struct GateFrontier {
    /// True if no person was there.
    simulated: bool,
    shown: usize,
    accepted: usize,
    sessions: usize,
    /// Effect of each threshold on sessions left out of the fit.
    points: Vec<FrontierPoint>,
    /// The gate's own; `None` if no threshold loses as little as it may.
    chosen: Option<FrontierPoint>,
}

impl GateFrontier {
    pub(super) fn from_fit(fit: &GateFit) -> Self {
        let evidence = &fit.gate.evidence;
        Self {
            simulated: fit.gate.simulated,
            shown: evidence.shown,
            accepted: evidence.accepted,
            sessions: evidence.sessions,
            points: fit.tenths(),
            chosen: fit.chosen(),
        }
    }
}

/// One run.
#[derive(Serialize)]
struct RunSummary<'a> {
    name: &'a str,
    model: &'a str,
    context: &'a str,
    folder: String,
    finished: bool,
    holes: usize,
    /// Identity of the run, without what could be a secret.
    identity: Value,
    machines: Vec<Machine>,
    /// Time of the last change to the run, in milliseconds since 1970-01-01 in UTC, if it is known.
    written_ms: Option<u64>,
    /// Time spent by its workers, in a line, if it is known.
    time_spent: Option<String>,
    /// Number of verdicts by level of isolation.
    sandboxes: BTreeMap<&'a str, usize>,
    projects: BTreeMap<String, ProjectState>,
    funnel: Funnel,
    /// Holes whose file is another one than in an earlier run.
    other_files: usize,
    /// Verdicts for which tests were run again.
    reruns: usize,
    /// Verdicts that the naive engine judged again, and those that differ.
    audited: usize,
    differing: Vec<AuditRecord>,
    rounds: Vec<RepairRound>,
}

/// From asking to passing, of first answers; each number counts some of those before it.
#[derive(Default, Serialize)]
struct Funnel {
    /// Attempts there will be, where that is known.
    expected: Option<usize>,
    /// Attempts that were made.
    asked: usize,
    /// The server answered in time.
    answered: usize,
    /// It had a completion.
    offered: usize,
    /// The outcome says whether the completion was right.
    judged: usize,
    /// It was.
    passed: usize,
}

/// The two runs with the highest pass@1, and whether they differ.
#[derive(Serialize)]
struct BestRuns {
    /// The best run's number; `None` if both are.
    best: Option<usize>,
    /// Number of runs that were compared: all but those of the reference.
    compared: usize,
    /// The two runs' numbers, as they are paired on the page of flips.
    first: usize,
    second: usize,
    #[serde(flatten)]
    conclusion: PassConclusion,
}

/// Meaning of a metric, below the table.
#[derive(Serialize)]
struct Note {
    name: String,
    /// The name in plain words.
    title: String,
    /// Format of its values.
    unit: NumberFormat,
    about: String,
}

/// The figures of some of a run's attempts.
#[derive(Serialize)]
struct Cell {
    /// The run's number.
    run: usize,
    /// The kind of holes, or `*`.
    kind: &'static str,
    #[serde(flatten)]
    row: ReportRow,
}

impl Cell {
    /// True if it is of all of a run's attempts.
    fn is_of_all(&self) -> bool {
        [self.kind, &self.row.project, &self.row.language] == ["*"; 3]
    }
}

/// Contents of `data/flips.js`: every two runs, the later compared with the earlier.
#[derive(Serialize)]
pub(super) struct FlipsData {
    pairs: Vec<RunPair>,
}

#[derive(Serialize)]
struct RunPair {
    first: usize,
    second: usize,
    /// By variant, the second minus the first on the holes that both have, and how that is
    /// written.
    against: Vec<(&'static str, RunDifference, NumberFormat)>,
    /// The numbers of the holes whose pass rates differ, and the pass rates.
    holes: Vec<usize>,
    rates: Vec<(f64, f64)>,
}

impl HtmlReport {
    pub(super) fn summary(&self) -> Result<SummaryData<'_>, HtmlReportError> {
        let mut runs = Vec::new();
        let mut rows = Vec::new();
        for (number, reported) in self.reported_runs.iter().enumerate() {
            runs.push(run(reported, &self.holes)?);
            rows.extend(self.cells(number, reported)?);
        }
        let own = self.reported_runs.iter().map(|reported| {
            let own: BTreeSet<usize> = reported.own.iter().copied().collect();
            own
        });
        // Only holes that every run has can be compared.
        let shared = own.reduce(|a, b| &a & &b).map_or(0, |shared| shared.len());
        let names: BTreeSet<&String> = rows
            .iter()
            .flat_map(|cell| cell.row.metrics.keys())
            .collect();
        let notes = names.into_iter();
        let notes = notes.filter_map(|name| Some(Note::new(name, Metric::find(name)?)));
        let mut metrics: Vec<Note> = notes.collect();
        metrics.sort_by_key(|note| order(&note.name));
        let policy_metrics = POLICY_METRICS.iter().filter(|metric| {
            let mut figures = rows.iter().flat_map(|cell| &cell.row.policies);
            figures.any(|one| one.figure(**metric).is_some())
        });
        let policy_metrics = policy_metrics
            .map(|metric| Note::new(metric.name, *metric))
            .collect();
        Ok(SummaryData {
            program: env!("CARGO_PKG_VERSION"),
            live: self.live,
            progress: self.progress(),
            confidence: CONFIDENCE,
            outcomes: Outcome::NAMES,
            proofs: Proof::ALL.iter().map(|proof| proof.name()).collect(),
            shard: SHARD,
            shards: self.shards(),
            holes: self.holes.len(),
            shared,
            holes_in_detail: self.holes_in_detail(),
            runs,
            metrics,
            round_metrics: [PASS_AT_1, INVOCATION].map(|metric| Note::new(metric.name, metric)),
            policy_metrics,
            best: self.best(&rows),
            rankings: self.rankings(&rows),
            rows,
            gate: self.gate.as_ref(),
            ages: self.ages(),
            age_difference: PASS_AT_1.unit.format().with_sign(),
        })
    }

    /// Each run's figures before and after the report's date, if there is one.
    fn ages(&self) -> Vec<AgeFigures> {
        let Some(since) = &self.since else {
            return Vec::new();
        };
        let runs = self.reported_runs.iter();
        runs.map(|reported| {
            let changed = |id: &str| {
                let hole = reported.hole(self.places[id], &self.holes);
                hole.changed.as_deref()
            };
            AgeFigures::divide(&reported.first_attempts(), since, changed)
        })
        .collect()
    }

    /// A run's figures over all, by language, by kind, by both, by project, and by project and
    /// kind.
    fn cells(&self, number: usize, reported: &ReportedRun) -> Result<Vec<Cell>, HtmlReportError> {
        let mut groups: BTreeMap<(&str, &str, Option<HoleKind>), Vec<&ScoredAttempt>> =
            BTreeMap::new();
        let all = reported.first_attempts();
        for one in &all {
            let hole = &self.holes[self.places[&one.attempt.hole]];
            let (project, language) = (hole.project.as_str(), hole.language.as_str());
            // Each attempt counts in the row of all, of its language and of its project.
            for place in [("*", "*"), ("*", language), (project, language)] {
                for kind in [None, Some(hole.kind)] {
                    let group = groups.entry((place.0, place.1, kind));
                    group.or_default().push(one);
                }
            }
        }
        // A run without attempts has its row, too.
        groups.entry(("*", "*", None)).or_default();
        let cells = groups
            .into_iter()
            .map(|((project, language, kind), scored)| {
                let mut row = report_row(project, language, &scored);
                row.policies = reported.developers.figures_where(&scored, |typing| {
                    let hole = &self.holes[self.places[&typing.hole]];
                    (project == "*" || hole.project == project)
                        && (language == "*" || hole.language == language)
                        && kind.is_none_or(|kind| hole.kind == kind)
                });
                Cell {
                    run: number,
                    kind: kind.map_or("*", HoleKind::name),
                    row,
                }
            });
        Ok(cells.collect())
    }

    fn best(&self, rows: &[Cell]) -> Option<BestRuns> {
        // The reference is the upper bound of the candidates, not one of them.
        let is_candidate = |cell: &&Cell| !self.reported_runs[cell.run].is_of_reference();
        let rows = rows.iter().filter(|cell| cell.is_of_all());
        let rows = rows.filter(is_candidate);
        let mut rates: Vec<(usize, f64)> = rows
            .filter_map(|cell| Some((cell.run, cell.row.metrics.get(PASS_AT_1.name)?.value)))
            .collect();
        // The two highest rates are compared, since only they decide which run is best.
        rates.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let [(best, rate), (other, least), ..] = rates[..] else {
            return None;
        };
        // The later run is compared with the earlier one, as on every page.
        let (first, second) = (best.min(other), best.max(other));
        let [earlier, later] = [first, second].map(|number| &self.reported_runs[number]);
        let [those, these] =
            [earlier, later].map(|reported| by_hole(PASS_AT_1, reported.first_attempts()));
        let difference = against(PASS_AT_1, &these, &those);
        Some(BestRuns {
            best: (rate > least).then_some(best),
            compared: rates.len(),
            first,
            second,
            conclusion: PassConclusion::new(difference.as_ref(), &earlier.name, &later.name),
        })
    }

    /// Returns the ranks of the runs under every policy.
    fn rankings(&self, rows: &[Cell]) -> Vec<String> {
        let metrics = [ACCEPTANCE_SHOWN, KEYSTROKES_SAVED].into_iter();
        let rankings = metrics.filter_map(|metric| {
            let mut of_runs = Vec::new();
            for (number, reported) in self.reported_runs.iter().enumerate() {
                let all = rows
                    .iter()
                    .find(|cell| cell.run == number && cell.is_of_all());
                let policies = all.map_or(&[][..], |cell| cell.row.policies.as_slice());
                let developers = &reported.developers;
                of_runs.extend(standings(metric, &reported.name, policies, developers));
            }
            Sensitivity::rank(metric, &of_runs)
        });
        rankings.map(|ranking| ranking.text()).collect()
    }

    pub(super) fn flips(&self) -> FlipsData {
        let mut pairs = Vec::new();
        for (second, later) in self.reported_runs.iter().enumerate() {
            for (first, earlier) in self.reported_runs[..second].iter().enumerate() {
                let mut held = Vec::new();
                let mut differing = Vec::new();
                for metric in hole_metrics() {
                    let these = by_hole(metric, later.first_attempts());
                    let those = by_hole(metric, earlier.first_attempts());
                    if let Some(against) = against(metric, &these, &those) {
                        let format = metric.unit.format().with_sign_in_points();
                        held.push((metric.name, against, format));
                    }
                    // Only a change of verdicts is a flip; texts differ almost everywhere.
                    if metric == PASS_AT_1 {
                        for (hole, (_, this)) in &these {
                            if let Some((_, that)) = those.get(hole)
                                && this != that
                            {
                                differing.push((self.places[*hole], (*that, *this)));
                            }
                        }
                    }
                }
                let (holes, rates) = differing.into_iter().unzip();
                pairs.push(RunPair {
                    first,
                    second,
                    against: held,
                    holes,
                    rates,
                });
            }
        }
        FlipsData { pairs }
    }
}

fn run<'a>(reported: &'a ReportedRun, holes: &[Hole]) -> Result<RunSummary<'a>, HtmlReportError> {
    let run = &reported.run;
    let other_files = reported
        .other_holes
        .iter()
        .filter(|(place, hole)| hole.file_sha256 != holes[**place].file_sha256)
        .count();
    let first = reported.first_attempts();
    let mut funnel = Funnel {
        expected: reported.expected(),
        ..Funnel::default()
    };
    let mut sandboxes: BTreeMap<&str, usize> = BTreeMap::new();
    // Repair rounds ran in a sandbox, too.
    for one in &reported.scored {
        *sandboxes.entry(&one.attempt.verdict.sandbox).or_default() += 1;
    }
    for one in &first {
        let attempt = &one.attempt;
        let outcome = attempt.verdict.outcome;
        funnel.asked += 1;
        // Each step of the funnel is a part of the one before it.
        let offered = one.is_counted() && !attempt.offered.is_empty();
        // A prediction that is judged unchanged is no answer of a server, and was there in time.
        let answered = offered || (one.is_counted() && attempt.answered);
        let judged = offered && outcome.is_evidence();
        funnel.answered += usize::from(answered);
        funnel.offered += usize::from(offered);
        funnel.judged += usize::from(judged);
        funnel.passed += usize::from(judged && outcome == fillrate_verdict::Outcome::Passed);
    }
    let audits = &reported.audits;
    Ok(RunSummary {
        name: &reported.name,
        model: &reported.model,
        context: &reported.context,
        folder: run.folder().display().to_string(),
        finished: reported.finished,
        holes: reported.own.len(),
        other_files,
        identity: without_secrets(&reported.identity),
        machines: run.machines()?,
        written_ms: written_ms(&run.folder().join("run.db")),
        time_spent: run.time_spent()?.map(|spent| spent.to_string()),
        sandboxes,
        projects: run.projects()?,
        reruns: first.iter().filter(|one| one.attempt.verdict.rerun).count(),
        audited: audits.len(),
        differing: audits
            .values()
            .filter(|audit| audit.differs())
            .cloned()
            .collect(),
        rounds: rounds(&reported.scored),
        funnel,
    })
}

/// Time of a file's last change, in milliseconds since 1970-01-01 in UTC.
fn written_ms(file: &Path) -> Option<u64> {
    let changed = file.metadata().and_then(|it| it.modified()).ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// Settings without what could be a secret: the values of headers, commands that print keys, and
/// everything in an address but its host and path.
fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let value = match name.as_str() {
                    // A setting that is absent is shown as such, so that it does not look like a
                    // secret.
                    _ if value.is_null() => Value::Null,
                    "headers" | "key_command" | "key" => Value::from("(left out)"),
                    _ => without_secrets(value),
                };
                (name.clone(), value)
            });
            Value::Object(members.collect())
        }
        Value::Array(values) => values.iter().map(without_secrets).collect(),
        Value::String(text) if text.contains("://") => Value::from(bare_address(text)),
        other => other.clone(),
    }
}

/// An address without name, password and query, in which keys are handed over.
fn bare_address(address: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(address) else {
        return "(left out)".to_owned();
    };
    // Some addresses, such as those of files, can have no user and refuse to remove one.
    let fits = url.set_username("").and_then(|()| url.set_password(None));
    if fits.is_err() && (!url.username().is_empty() || url.password().is_some()) {
        return "(left out)".to_owned();
    }
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// Returns the order of a metric among the columns: by its family's place in [`METRICS`], then by
/// its parameter.
fn order(name: &str) -> (usize, u64) {
    let found = Metric::find(name);
    let place = METRICS.iter().position(|metric| Some(*metric) == found);
    let parameter = name
        .split_once('@')
        .and_then(|(_, number)| number.parse().ok());
    (place.unwrap_or(METRICS.len()), parameter.unwrap_or(0))
}

impl Note {
    /// Note on what a metric measures and its n counts; `name` may be that of a family's member.
    fn new(name: &str, metric: Metric) -> Self {
        let Metric {
            unit,
            meaning,
            denominator,
            ..
        } = metric;
        Self {
            name: name.to_owned(),
            title: metric.title_of(name),
            unit: unit.format(),
            about: format!("{meaning}; n counts {denominator}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use fillrate_engine::store::{Attempt, Run};
    use fillrate_language::task::Mutation;
    use fillrate_metrics::metric::{MEDIAN_LATENCY, ORACLE_ACCEPTANCE, WEIGHTED_PASS};
    use serde_json::json;

    use super::*;
    use crate::tests::{FILE, attempt};

    #[test]
    fn what_could_be_a_secret_is_left_out() {
        let identity = json!({
            "model": {
                "url": "https://me:hunter2@example.org/v1?api-key=hunter2#hunter2",
                "proxy": "socks5://me:hunter2@example.org:99",
                "headers": {"Authorization": "Bearer hunter2"},
                "key_command": ["echo", "hunter2"],
                "key_env": "MY_KEY",
            },
            "list": [{"url": "http://hunter2@[::1"}],
        });
        let shown = without_secrets(&identity);
        assert!(!shown.to_string().contains("hunter2"), "{shown}");
        assert_eq!(shown["model"]["url"], "https://example.org/v1");
        assert_eq!(shown["model"]["key_env"], "MY_KEY");
    }

    // Predictions that are judged unchanged have no answer of a server: one passes, one is wrong.
    #[test]
    fn predictions_pass_through_the_funnel() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let identity = json!({"configuration": {"model": {"protocol": "recorded"}}});
        let run = Run::open_or_begin(folder.path(), &identity).expect("it is empty");
        let hole = |path| Hole::new("demo", "python", path, HoleKind::Line, 14..27, FILE);
        let holes = ["a.py", "b.py"].map(hole);
        run.add_holes(holes.iter().map(|hole| (hole, FILE)))
            .expect("there is room");
        for (hole, outcome) in holes.iter().zip([Outcome::Passed, Outcome::Failed]) {
            let attempt = Attempt {
                answered: false,
                ..attempt(hole, 0, &["total = a + 1"], outcome)
            };
            run.add_attempt(&attempt).expect("there is room");
        }
        let report = HtmlReport::load(vec![run], false).expect("the run is readable");
        let summary = json!(report.summary().expect("the run is readable"));
        let funnel = &summary["runs"][0]["funnel"];
        let counts = ["asked", "answered", "offered", "judged", "passed"].map(|step| &funnel[step]);
        assert_eq!(counts, [2, 2, 2, 2, 1], "{funnel}");
    }

    // A hole may have mutants in one run's tasks, and none in an earlier run's.
    #[test]
    fn each_run_has_the_figures_of_its_own_holes() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 14..27, FILE);
        let mutated = Hole {
            mutation: Some(Mutation {
                killed: 3,
                survived: 1,
                ..Mutation::default()
            }),
            ..hole.clone()
        };
        let runs = [("first", &hole), ("second", &mutated)].map(|(name, hole)| {
            let run =
                Run::open_or_begin(&folder.path().join(name), &json!({})).expect("it is empty");
            run.add_holes([(hole, FILE)]).expect("there is room");
            run.add_attempt(&attempt(hole, 0, &["total = a + 1"], Outcome::Passed))
                .expect("there is room");
            run
        });
        let report = HtmlReport::load(runs.into(), false).expect("the runs are readable");
        let summary = json!(report.summary().expect("the runs are readable"));
        let of_all = |run: usize| {
            let rows = summary["rows"].as_array().expect("it has rows");
            let row = rows
                .iter()
                .find(|row| row["run"] == run && row["project"] == "*");
            row.expect("a row of all")["metrics"]["pass@1/mutation-weighted"].is_object()
        };
        assert_eq!([of_all(0), of_all(1)], [false, true], "{summary:#}");
    }

    #[test]
    fn metrics_are_in_the_order_of_reading() {
        let mut names = vec![
            MEDIAN_LATENCY.name,
            "em/cceval",
            "pass@10",
            ORACLE_ACCEPTANCE.name,
            "pass@1",
            WEIGHTED_PASS.name,
            "pass@5",
        ];
        names.sort_by_key(|name| order(name));
        assert_eq!(
            names,
            [
                "pass@1",
                "pass@5",
                "pass@10",
                WEIGHTED_PASS.name,
                ORACLE_ACCEPTANCE.name,
                "em/cceval",
                MEDIAN_LATENCY.name
            ]
        );
    }
}
