//! Figures, counts and the runs' manifests: all of the first page.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::{CONFIDENCE, READ_MS, TextMetric, Unit};
use serde::Serialize;
use serde_json::Value;

use super::{Contender, OUTCOMES, Progress, SHARD, Site, SiteError};
use crate::report::comparison::{Against, against, by_hole, standings};
use crate::report::policies::{
    ACCEPTED_GIVEN_PASS, CHARACTERS, COMPLETED_CODE, KEYSTROKES_SAVED, LATE, LATENCY_SEEN,
    PASS_GIVEN_ACCEPTED, POLICY_METRICS, READ, REPAIRED, SHOWN, WASTED,
};
use crate::report::sensitivity::Sensitivity;
use crate::report::{
    ACCEPTANCE, INVOCATION, LATENCY, Round, Row, Scored, TYPES, WEIGHTED, rounds, row,
};
use crate::store::{Audit, Machine, ProjectState};
use crate::task::Kind;

/// What `data/summary.js` holds.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    /// The version of the program that wrote it.
    program: &'static str,
    /// Whether the pages ask for what is new.
    live: bool,
    progress: Progress,
    /// The probability with which an interval's method covers the true value.
    confidence: f64,
    outcomes: [&'static str; 9],
    /// How many attempts a shard holds, and how many shards there are.
    shard: usize,
    shards: usize,
    holes: usize,
    /// How many of them are in all runs.
    shared: usize,
    holes_in_detail: usize,
    runs: Vec<RunSummary<'a>>,
    metrics: Vec<Note>,
    /// Of the figures of simulated developers, by policy.
    policy_metrics: Vec<Note>,
    rows: Vec<Cell>,
    /// How the runs rank under every policy, a text for each metric that ranks them.
    rankings: Vec<String>,
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
    /// What the run is of, without what could be a secret.
    identity: Value,
    machines: Vec<Machine>,
    /// How many verdicts came about at which level of isolation.
    sandboxes: BTreeMap<&'a str, usize>,
    projects: BTreeMap<String, ProjectState>,
    funnel: Funnel,
    /// Holes whose file is another one than in an earlier run.
    other_files: usize,
    /// Verdicts for which tests were run again.
    again: usize,
    /// Verdicts that were reached again in the slow way, and those that differ.
    audited: usize,
    differing: Vec<Audit>,
    rounds: Vec<Round>,
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

/// What a metric means, below the table.
#[derive(Serialize)]
struct Note {
    name: String,
    /// `share`, `percent` or `ms`.
    unit: &'static str,
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
    row: Row,
}

impl Cell {
    /// Whether it is of all of a run's attempts.
    fn is_of_all(&self) -> bool {
        [self.kind, &self.row.project, &self.row.language] == ["*"; 3]
    }
}

/// What `data/flips.js` holds: every two runs, the later held against the earlier.
#[derive(Serialize)]
pub(super) struct Flips {
    pairs: Vec<Pair>,
}

#[derive(Serialize)]
struct Pair {
    first: usize,
    second: usize,
    /// By variant, the second minus the first on the holes that both have.
    against: Vec<(&'static str, Against)>,
    /// The numbers of the holes whose pass rates differ, and the pass rates.
    holes: Vec<usize>,
    rates: Vec<(f64, f64)>,
}

/// The metrics that flips are told of.
const COMPARED: [&str; 4] = [
    "pass@1",
    "em/cceval",
    "es/cceval-levenshtein",
    "id_f1/cceval",
];

impl Site {
    pub(super) fn summary(&self) -> Result<Summary<'_>, SiteError> {
        let mut runs = Vec::new();
        let mut rows = Vec::new();
        for (number, contender) in self.contenders.iter().enumerate() {
            runs.push(run(contender)?);
            rows.extend(self.cells(number, contender)?);
        }
        let own = self.contenders.iter().map(|contender| {
            let own: BTreeSet<usize> = contender.own.iter().copied().collect();
            own
        });
        let shared = own.reduce(|a, b| &a & &b).map_or(0, |shared| shared.len());
        let names: BTreeSet<&String> = rows
            .iter()
            .flat_map(|cell| cell.row.metrics.keys())
            .collect();
        let mut metrics: Vec<Note> = names.into_iter().map(|name| note(name)).collect();
        metrics.sort_by_key(|note| order(&note.name));
        let policy_metrics = POLICY_METRICS.iter().filter(|metric| {
            let mut figures = rows.iter().flat_map(|cell| &cell.row.policies);
            figures.any(|one| one.figure(metric).is_some())
        });
        let policy_metrics = policy_metrics.map(|name| policy_note(name)).collect();
        Ok(Summary {
            program: env!("CARGO_PKG_VERSION"),
            live: self.live,
            progress: self.progress(),
            confidence: CONFIDENCE,
            outcomes: OUTCOMES,
            shard: SHARD,
            shards: self.shards(),
            holes: self.holes.len(),
            shared,
            holes_in_detail: self.holes_in_detail(),
            runs,
            metrics,
            policy_metrics,
            rankings: self.rankings(&rows),
            rows,
        })
    }

    /// A run's figures over all, by language, by kind, by both, by project, and by project and
    /// kind.
    fn cells(&self, number: usize, contender: &Contender) -> Result<Vec<Cell>, SiteError> {
        let mut groups: BTreeMap<(&str, &str, Option<Kind>), Vec<&Scored>> = BTreeMap::new();
        let all = contender.first_answers();
        for one in &all {
            let hole = &self.holes[self.places[&one.attempt.hole]];
            let (project, language) = (hole.project.as_str(), hole.language.as_str());
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
                let mut row = row(project, language, &scored);
                row.policies = contender.developers.figures_where(&scored, |typing| {
                    let hole = &self.holes[self.places[&typing.hole]];
                    (project == "*" || hole.project == project)
                        && (language == "*" || hole.language == language)
                        && kind.is_none_or(|kind| hole.kind == kind)
                });
                Cell {
                    run: number,
                    kind: kind.map_or("*", Kind::name),
                    row,
                }
            });
        Ok(cells.collect())
    }

    /// How the runs rank under every policy.
    fn rankings(&self, rows: &[Cell]) -> Vec<String> {
        let metrics = [SHOWN, KEYSTROKES_SAVED].into_iter();
        let rankings = metrics.filter_map(|metric| {
            let mut of_runs = Vec::new();
            for (number, contender) in self.contenders.iter().enumerate() {
                let all = rows
                    .iter()
                    .find(|cell| cell.run == number && cell.is_of_all());
                let policies = all.map_or(&[][..], |cell| cell.row.policies.as_slice());
                let developers = &contender.developers;
                of_runs.extend(standings(metric, &contender.name, policies, developers));
            }
            Sensitivity::of(metric, &of_runs)
        });
        rankings.map(|ranking| ranking.text()).collect()
    }

    pub(super) fn flips(&self) -> Flips {
        let mut pairs = Vec::new();
        for (second, later) in self.contenders.iter().enumerate() {
            for (first, earlier) in self.contenders[..second].iter().enumerate() {
                let mut held = Vec::new();
                let mut differing = Vec::new();
                for metric in COMPARED {
                    let these = by_hole(metric, later.first_answers());
                    let those = by_hole(metric, earlier.first_answers());
                    if let Some(against) = against(metric, &these, &those) {
                        held.push((metric, against));
                    }
                    if metric == "pass@1" {
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
                pairs.push(Pair {
                    first,
                    second,
                    against: held,
                    holes,
                    rates,
                });
            }
        }
        Flips { pairs }
    }
}

fn run(contender: &Contender) -> Result<RunSummary<'_>, SiteError> {
    let run = &contender.run;
    let first = contender.first_answers();
    let mut funnel = Funnel {
        expected: contender.expected(),
        ..Funnel::default()
    };
    let mut sandboxes: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &contender.scored {
        *sandboxes.entry(&one.attempt.verdict.sandbox).or_default() += 1;
    }
    for one in &first {
        let attempt = &one.attempt;
        let outcome = attempt.verdict.outcome;
        funnel.asked += 1;
        let offered = attempt.answered && !attempt.offered.is_empty();
        let judged = offered && outcome.is_evidence();
        funnel.answered += usize::from(attempt.answered);
        funnel.offered += usize::from(offered);
        funnel.judged += usize::from(judged);
        funnel.passed += usize::from(judged && outcome == crate::verdict::Outcome::Passed);
    }
    let audits = &contender.audits;
    Ok(RunSummary {
        name: &contender.name,
        model: &contender.model,
        context: &contender.context,
        folder: run.folder().display().to_string(),
        finished: contender.is_finished(),
        holes: contender.own.len(),
        other_files: contender.other_files.len(),
        identity: without_secrets(&contender.identity),
        machines: run.machines()?,
        sandboxes,
        projects: run.projects()?,
        again: first.iter().filter(|one| one.attempt.verdict.rerun).count(),
        audited: audits.len(),
        differing: audits
            .values()
            .filter(|audit| audit.differs())
            .cloned()
            .collect(),
        rounds: rounds(&contender.scored),
        funnel,
    })
}

/// Settings without what could be a secret: the values of headers, commands that print keys, and
/// what stands in an address beside its host and path.
fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let value = match name.as_str() {
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
    let fits = url.set_username("").and_then(|()| url.set_password(None));
    if fits.is_err() && (!url.username().is_empty() || url.password().is_some()) {
        return "(left out)".to_owned();
    }
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// The place of a metric in the table: passing first, then texts, then what the editor sees.
fn order(name: &str) -> (usize, usize, String) {
    let k = name.strip_prefix("pass@").and_then(|k| k.parse().ok());
    let group = match name {
        _ if k.is_some() => 0,
        WEIGHTED => 1,
        _ if name.starts_with("acceptance") => 2,
        _ if TextMetric::named(name).is_some() => 3,
        INVOCATION => 4,
        TYPES => 5,
        LATENCY => 7,
        _ => 6,
    };
    (group, k.unwrap_or(0), name.to_owned())
}

/// What a metric means and what its n counts.
fn note(name: &str) -> Note {
    let text_unit = TextMetric::named(name).map(|metric| metric.unit);
    let unit = match name {
        LATENCY => "ms",
        _ if text_unit == Some(Unit::Percent) => "percent",
        _ => "share",
    };
    let about = match name {
        "pass@1" => "probability that a completion makes all tests pass, mean over holes; n counts holes".to_owned(),
        WEIGHTED => "pass@1 in which each hole counts as much as its mutation score; n counts the holes that have one".to_owned(),
        ACCEPTANCE => "completions that a simulated developer accepts who takes what is a prefix of what it was about to type; n counts completions offered. A simulation, not people".to_owned(),
        INVOCATION => "share of the repository's names which the reference uses that the completion uses too; n counts attempts at holes with such names".to_owned(),
        TYPES => "completions that add no error of TypeScript's checker; n counts the attempts it was asked about".to_owned(),
        LATENCY => "median time from request to answer, as the editor sees it; n counts answers".to_owned(),
        _ if name.starts_with("pass@") => format!(
            "probability that one of {} completions makes all tests pass, mean over holes; n counts holes with as many verdicts",
            name.trim_start_matches("pass@")
        ),
        _ => "against the reference by text; n counts attempts. The variants named cceval look at the first statement only".to_owned(),
    };
    Note {
        name: name.to_owned(),
        unit,
        about,
    }
}

/// Likewise of a metric of simulated developers.
fn policy_note(name: &str) -> Note {
    let read =
        format!("of completions shown for {READ_MS} ms or longer, or accepted, those accepted");
    let about = match name {
        SHOWN => "of completions shown, those accepted",
        READ => &read,
        CHARACTERS => "as acceptance/read, weighted by characters",
        COMPLETED_CODE => "accepted characters, of all that entered the file",
        KEYSTROKES_SAVED => "1 − keys / characters of the reference",
        PASS_GIVEN_ACCEPTED => "of completions accepted, those that pass the tests",
        ACCEPTED_GIVEN_PASS => {
            "of completions shown at an empty hole that pass the tests, those accepted"
        }
        WASTED => "of completions accepted, those that fail the tests",
        REPAIRED => "of completions accepted, those of which something was taken back",
        LATE => "of requests, those whose answer was not there before the next key",
        _ => "median time from the key to a completion that was shown",
    };
    Note {
        name: name.to_owned(),
        unit: if name == LATENCY_SEEN { "ms" } else { "share" },
        about: about.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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

    #[test]
    fn metrics_stand_in_the_order_of_reading() {
        let mut names = vec![
            LATENCY,
            "em/cceval",
            "pass@10",
            ACCEPTANCE,
            "pass@1",
            WEIGHTED,
            "pass@5",
        ];
        names.sort_by_key(|name| order(name));
        assert_eq!(
            names,
            [
                "pass@1",
                "pass@5",
                "pass@10",
                WEIGHTED,
                ACCEPTANCE,
                "em/cceval",
                LATENCY
            ]
        );
    }
}
