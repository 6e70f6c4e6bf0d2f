//! Reports and tables of runs, looked at as people and programs look at them: in a real browser,
//! and by a real reader of Parquet.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fillrate_engine::developer::typing::{
    KeyCounts, RequestResult, TypedAcceptance, TypingRequest, TypingSession,
};
use fillrate_engine::store::{
    Attempt, AuditRecord, Machine, MiningCounts, ProjectState, ProjectStatus, Run, TypingAttempt,
};
use fillrate_language::task::{Category, Hole, HoleKind, Mutation, Survivor, Topic};
use fillrate_mine::Rejection;
use fillrate_server::cleanup::Decision;
use fillrate_server::completion::{CandidateStep, Trace};
use fillrate_server::context::Window;
use fillrate_server::model::TokenUsage;
use fillrate_verdict::{Outcome, Proof, Verdict};
use rusqlite::params;
use serde_json::{Value, json};

use crate::support::browser::{Browser, Live, assert_accessible, seen};
use crate::support::play::{self, TestDir, text};
use crate::support::processes::free_port;
use crate::support::programs::{install, print_uncaptured};

const SOURCE: &str = "def f(a):\n    total = a + 1\n    return total\n\n\ndef g(b):\n    rest = b - 1\n    return rest\n";

/// A line hole and a statement hole in each of `files` files.
fn holes(files: usize) -> Vec<(Hole, String)> {
    let mut holes = Vec::new();
    for file in 0..files {
        let source = SOURCE.replace("total", &format!("total_{file}"));
        let path = format!("src/module_{file:04}.py");
        for (needle, kind) in [
            ("    total_", HoleKind::Line),
            ("    rest = ", HoleKind::Statement),
        ] {
            let start = source.find(needle).unwrap() + 4;
            let end = start + source[start..].find('\n').unwrap();
            let hole = Hole::new("garden", "python", &path, kind, start..end, &source);
            holes.push((hole, source.clone()));
        }
    }
    holes
}

/// A run of one project that is ready, without attempts.
fn begin(folder: &Path, model: &str, samples: u32, holes: &[(Hole, String)]) -> Run {
    let identity = json!({
        "program": "0.1.0",
        "model": model,
        "samples": samples,
        "projects": {"garden": ["0123456789abcdef", []], "gone": null},
        "configuration": {"model": {"url": "https://me:hunter2@models.example/v1?key=hunter2"}, "context": {"profile": "editor"}},
    });
    let run = Run::open_or_begin(folder, &identity).unwrap();
    run.add_machine(&Machine::this()).unwrap();
    let state = ProjectState {
        language: "python".into(),
        status: ProjectStatus::Ready,
        reason: None,
        mined: Some(MiningCounts {
            tests: 9,
            set_aside: Vec::new(),
            quarantined: 1,
            candidates: 5000,
            admitted: holes.len(),
            rejected: [(Rejection::Leak, 3), (Rejection::EmptyPasses, 2)].into(),
        }),
    };
    run.set_project("garden", &state).unwrap();
    let with_files = holes.iter().map(|(hole, source)| (hole, source.as_str()));
    run.add_holes(with_files).unwrap();
    run
}

fn attempt(hole: &Hole, model: &str, sample: u32, completion: &str, outcome: Outcome) -> Attempt {
    Attempt {
        key: format!("{model}-{}-{sample}", hole.id),
        hole: hole.id.clone(),
        project: hole.project.clone(),
        model: model.into(),
        sample,
        repair_round: 0,
        offered: vec![completion.to_owned()],
        overlap: String::new(),
        answered: true,
        latency_ms: 5.0 + f64::from(sample) * 1.37 + (completion.len() % 17) as f64,
        trace: Some(Trace {
            model: model.into(),
            steps: vec![CandidateStep {
                raw: completion.to_owned(),
                decisions: Vec::new(),
                mean_log_probability: Some(-0.1 * f64::from(sample % 20)),
            }],
            usage: Some(TokenUsage {
                prompt: 100 + u64::from(sample),
                completion: 10,
                is_approximate: false,
                cost: Some(0.001),
            }),
            ..Trace::default()
        }),
        verdict: Verdict {
            executed: 4,
            seconds: 0.25,
            sandbox: "full/cgroup-v2".into(),
            reason: "tests/test_f.py::test_f failed".into(),
            ..Verdict::from_outcome(outcome)
        },
    }
}

/// Adds many attempts at once.
fn add(folder: &Path, attempts: impl Iterator<Item = Attempt>) {
    let mut database = rusqlite::Connection::open(folder.join("run.db")).unwrap();
    let transaction = database.transaction().unwrap();
    for attempt in attempts {
        let record = serde_json::to_string(&attempt).unwrap();
        let outcome = attempt.verdict.outcome.name();
        transaction
            .execute(
                "INSERT INTO attempts VALUES (?1, ?2, ?3, ?4, ?5)",
                params![attempt.key, attempt.hole, attempt.sample, outcome, record],
            )
            .unwrap();
    }
    transaction.commit().unwrap();
}

/// A hole at which a developer saw one completion.
fn typing(hole: &Hole, model: &str, policy: &str, accepts: bool) -> TypingAttempt {
    let characters = hole.reference.chars().count();
    TypingAttempt {
        key: format!("{model}-{}-{policy}", hole.id),
        hole: hole.id.clone(),
        project: hole.project.clone(),
        model: model.into(),
        configuration: String::new(),
        policy: policy.into(),
        policy_version: 1,
        session: TypingSession {
            requests: vec![TypingRequest {
                at_ms: 0.0,
                written: 0,
                pause_ms: 900.0,
                latency_ms: Some(20.0),
                candidates: vec![hole.reference.clone()],
                result: RequestResult::Shown,
                shown_ms: 880.0,
                accepted: accepts.then_some(TypedAcceptance {
                    candidate: 0,
                    kept: characters,
                    removed: 0,
                }),
                outcome: Some(Outcome::Passed),
            }],
            keys: KeyCounts {
                typed: if accepts { 0 } else { characters },
                accepts: usize::from(accepts),
                deletes: 0,
            },
            duration_ms: 1000.0,
        },
    }
}

/// Two runs on twelve holes: the second passes where the first does not, and more often.
fn small(dir: &TestDir) -> [PathBuf; 2] {
    let mut holes = holes(6);
    for (index, (hole, _)) in holes.iter_mut().enumerate() {
        hole.mutation = Some(Mutation {
            killed: index,
            survived: 12 - index,
            ..Mutation::default()
        });
    }
    let folders = ["first", "second"].map(|name| dir.path(name));
    for (number, folder) in folders.iter().enumerate() {
        let model = ["alpha", "beta"][number];
        let run = begin(folder, model, 3, &holes);
        let attempts = holes.iter().enumerate().flat_map(|(index, (hole, _))| {
            (0..3).map(move |sample| {
                let passes = (index + sample as usize) % 3 < number + 1;
                let (completion, outcome) = match passes {
                    true => (hole.reference.as_str(), Outcome::Passed),
                    false => ("return None", Outcome::Failed),
                };
                attempt(hole, model, sample, completion, outcome)
            })
        });
        add(folder, attempts);
        for (hole, _) in &holes {
            for policy in ["accept-all", "oracle-prefix"] {
                // Under one policy the first run looks better, under the other the second.
                let accepts =
                    (policy == "accept-all") == (number == 0) || hole.kind == HoleKind::Line;
                run.add_typing(&typing(hole, model, policy, accepts))
                    .unwrap();
            }
        }
        let first = &holes[0].0;
        run.add_audit(&AuditRecord {
            attempt: format!("{model}-{}-0", first.id),
            hole: first.id.clone(),
            outcome: Outcome::Passed,
            rejudged: Outcome::Failed,
            reason: "a test failed that time".into(),
        })
        .unwrap();
        run.set_finished().unwrap();
    }
    folders
}

/// Writes a report on runs.
fn report(dir: &TestDir, runs: &[&Path]) -> PathBuf {
    let out = dir.path("report");
    let mut arguments = vec!["report".to_owned()];
    arguments.extend(runs.iter().map(|run| text(run)));
    arguments.extend(["-o".to_owned(), text(&out)]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let finished = dir.fillrate(&arguments).exits_with(0);
    assert_eq!(Path::new(finished.out.trim()), out.join("index.html"));
    out
}

/// Returns the data of a script in `data/`.
pub(crate) fn data(report: &Path, name: &str) -> Value {
    let script = fs::read_to_string(report.join(format!("data/{name}.js"))).unwrap();
    let arguments = script
        .strip_prefix("fillrate.put(")
        .and_then(|rest| rest.strip_suffix(");\n"))
        .unwrap();
    let both: Vec<String> = serde_json::from_str(&format!("[{arguments}]")).unwrap();
    assert_eq!(both[0], name);
    serde_json::from_str(&both[1]).unwrap()
}

/// Checks what a telephone of 400 pixels shows of a page: no letter too small to read, no value
/// squeezed into a column of letters, and outcomes and first figures without moving the page.
fn assert_is_legible(name: &str, telephone: &Value) {
    let of = |part: &str| telephone[part].as_f64();
    let at_least = |part: &str, pixels: f64| {
        assert!(
            of(part).is_none_or(|size| size >= pixels),
            "{name}: {part} of {telephone}"
        );
    };
    at_least("letters", 11.0);
    at_least("values", 200.0);
    for part in ["outcome", "first"] {
        assert!(
            of(part).is_none_or(|right| right <= 400.0),
            "{name}: {part} of {telephone}"
        );
    }
    assert!(of("row").is_none_or(|height| height < 420.0), "{name}");
    // A table that goes on at its right says so.
    assert_eq!(of("wide"), of("marked"), "{name}: {telephone}");
    let has = |part: &str| of(part).is_some();
    let (page, _) = name.split_once(' ').unwrap();
    match page {
        "index" => assert!(has("letters") && has("first"), "{telephone}"),
        "plots" => assert!(has("letters"), "{telephone}"),
        "matrix" => assert!(has("outcome"), "{name}: {telephone}"),
        "attempts" => assert!(has("outcome") && of("wide") == Some(1.0), "{telephone}"),
        "hole" => assert!(has("values"), "{telephone}"),
        _ => {}
    }
}

#[test]
fn every_page_opens_from_disk_in_light_and_dark() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    let report = report(&dir, &[&first, &second]);
    let seen = browser.look("pages", &report);
    let pages = seen["pages"].as_object().unwrap();
    assert_eq!(pages.len(), 18, "{:?}", pages.keys());
    for (name, page) in pages {
        assert_accessible(name, page);
        assert_eq!(page["busy"], "false", "{name}");
        let light = name.ends_with("light");
        assert_eq!(page["ground"] == "rgb(255, 255, 255)", light, "{name}");
        assert_is_legible(name, &page["telephone"]);
    }
    let says = |name: &str, what: &str| {
        let text = pages[&format!("{name} light")]["text"].as_str().unwrap();
        assert!(text.contains(what), "{name} does not say {what:?}:\n{text}");
    };
    for metric in [
        "pass@1",
        "pass@3",
        "accepted by a simulated developer",
        "edit similarity (CrossCodeEval)",
        "exact match (tokens)",
    ] {
        says("index", metric);
    }
    says("index", "not 100 even against itself");
    for plot in [
        "pass@k",
        "Acceptance against pass rate",
        "Latency",
        "Mutation score",
        "Calibration",
    ] {
        says("plots", plot);
    }
    assert!(
        !pages["plots light"]["text"]
            .to_string()
            .contains("nothing to draw")
    );
    says("index", "Simulated developers");
    says("index", "keystrokes-saved");
    says("index", "REVERSED: alpha leads beta under accept-all");
    says("plots", "Simulated acceptance by policy against pass rate");
    says("hole", "Typed by simulated developers");
    says("flips", "Passes more often with “beta”");
    // Metrics have their names for people on every page.
    says("flips", "exact match (CrossCodeEval)");
    says("plots", "accepted by a simulated developer");
    says("runs", "full/cgroup-v2, verdicts: 36");
    says(
        "runs",
        "judged again by the naive engine: 1; of these differ: 1",
    );
    says("runs", "empty-passes");
    says("hole", "Reference against completion");
    for name in [
        "index", "plots", "matrix", "attempts", "files", "file", "flips", "runs", "hole",
    ] {
        for scheme in ["light", "dark"] {
            let picture = browser.pictures.join(format!("{name}-{scheme}.png"));
            assert!(picture.is_file(), "{picture:?}");
        }
    }
}

/// Twelve versions in two languages, with five metrics on one side and three on the other.
fn study(dir: &TestDir) -> PathBuf {
    let table = |name: &str, metrics: &[&str], noise: usize| {
        let mut rows = "version,language,metric,value,n\n".to_owned();
        for (number, metric) in metrics.iter().enumerate() {
            for (shift, language) in ["python", "typescript"].iter().enumerate() {
                for version in 0..12 {
                    let wave = (version * (7 + number) + 5 * shift + noise) % 9;
                    let value = 0.2 + 0.03 * version as f64 + 0.006 * wave as f64;
                    rows += &format!("v{version},{language},{metric},{value:.3},400\n");
                }
            }
        }
        text(&dir.write(name, &rows))
    };
    let offline = ["pass@1", "em", "es", "id_f1", "repository"];
    let offline = table("offline.csv", &offline, 2);
    let online = ["acceptance", "retained", "completed"];
    let online = table("online.csv", &online, 5);
    let out = text(&dir.path("study"));
    let sides = ["study", "--offline", &offline, "--online", &online];
    let arguments = [&sides[..], &["--by", "version,language", "-o", &out]].concat();
    dir.fillrate(&arguments).exits_with(0);
    PathBuf::from(out)
}

#[test]
fn five_questions_take_two_clicks_at_most() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    report(&dir, &[&first, &second]);
    study(&dir);
    let seen = browser.look("questions", &dir.path(""));
    let says = |place: &str, what: &str| {
        let text = seen[place].as_str().unwrap();
        assert!(
            text.contains(what),
            "{place} does not say {what:?}:\n{text}"
        );
    };
    // Which model is best, and is it significant?
    says("best", "beta");
    says("answer", "No difference shown");
    says(
        "answer",
        "pass@1 of beta minus that of alpha is +33.3 points [−36.5, +77.3], n 12 in 6 files",
    );
    // Where do they differ? Show me such a hole.
    says("flips", "Passes more often with “beta”: 12 holes");
    says("hole", "Reference against completion");
    // May I trust this to choose?
    assert_eq!(seen["trust"], "Trust");
}

#[test]
fn a_study_answers_on_its_first_screen() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let dir = TestDir::new();
    let study = study(&dir);
    let seen = browser.look("study", &study);
    let screens = seen["screens"].as_object().unwrap();
    assert_eq!(screens.len(), 4);
    for (name, screen) in screens {
        assert_accessible(name, screen);
        let height = screen["height"].as_u64().unwrap();
        assert!(height < 6000, "{name} is {height} pixels high");
        assert!(screen["folded"].as_u64().unwrap() >= 30, "{name}: {screen}");
        // Pairs of metrics are folded as one.
        let sections = screen["sections"].as_u64().unwrap();
        assert!(sections <= 9, "{name}: {sections} sections");
        let letters = screen["letters"].as_f64().unwrap();
        assert!(letters >= 11.0, "{name}: letters of {letters} pixels");
        assert_eq!(screen["scrolled"], 0, "{name}: a plot is cut off");
        // The badge, the answer, the next step and the plot.
        let least = if name.starts_with("1400") { 4 } else { 3 };
        let on_first = screen["firstScreen"].as_u64().unwrap();
        assert!(on_first >= least, "{name}: {on_first} on the first screen");
        print_uncaptured(&format!(
            "study {name}: painted in {} ms\n",
            screen["painted"]
        ));
    }
}

#[test]
fn holes_of_runs_are_weighted_to_the_kinds_of_a_table() {
    let dir = TestDir::new();
    let [first, second] = small(&dir).map(|run| text(&run));
    let mut table = "version,language,metric,value,n,kind\n".to_owned();
    for (version, value) in [("alpha", 0.2), ("beta", 0.4)] {
        for (kind, n) in [("line", 300), ("statement", 100)] {
            table += &format!("{version},,acceptance,{value},{n},{kind}\n");
        }
    }
    let online = text(&dir.write("online.csv", &table));
    let sides = ["study", "--offline", &first, &second, "--online", &online];
    let arguments = [&sides[..], &["-o", "study", "--json"]].concat();
    let study = dir.fillrate(&arguments).exits_with(0).json();
    let weighted = &study["decision"]["weighted"];
    assert_eq!(weighted.as_array().unwrap().len(), 1, "{weighted}");
    assert_eq!(weighted[0]["dimension"], "kind");
    assert_eq!(
        weighted[0]["shares"],
        json!({"line": 0.75, "statement": 0.25})
    );
    let figures = weighted[0]["figures"].as_array().unwrap();
    for (figure, share) in figures.iter().zip([1.0 / 3.0, 2.0 / 3.0]) {
        assert!((figure[1]["value"].as_f64().unwrap() - share).abs() < 1e-12);
        assert_eq!(figure[1]["n"], 12);
    }
}

#[test]
fn the_overview_is_grouped_sorted_and_coloured() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    let report = report(&dir, &[&first, &second]);
    let seen = browser.look("overview", &report);
    assert_eq!((&seen["together"], &seen["byKind"]), (&json!(2), &json!(4)));
    assert_eq!(seen["descending"]["sort"], "descending");
    assert_eq!(seen["ascending"]["sort"], "ascending");
    let values = |order: &str| -> Vec<f64> {
        serde_json::from_value(seen[order]["values"].clone()).unwrap()
    };
    let (down, up) = (values("descending"), values("ascending"));
    assert_eq!(down.len(), 4);
    assert!(down.is_sorted_by(|a, b| a >= b), "{down:?}");
    assert!(up.is_sorted(), "{up:?}");
    assert!(down != up);
    assert_ne!(seen["light"], seen["dark"]);
    assert_eq!(seen["firstStop"], "To the content");
    assert_eq!(seen["printed"]["header"], false);
    assert_eq!(seen["printed"]["ground"], "rgb(255, 255, 255)");
    // A point of a plot has its figures, and leads to the attempts behind them.
    let figures = seen["figures"].as_str().expect("a point has a title");
    assert!(figures.contains("pass@1"), "{figures}");
    assert!(figures.contains("n "), "{figures}");
    let behind = seen["behind"].as_str().expect("an address");
    assert!(behind.starts_with("#run=0&language="), "{behind}");
}

#[test]
fn a_file_shows_every_hole_by_outcome() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    let report = report(&dir, &[&first, &second]);
    let seen = browser.look("files", &report);
    assert_eq!(seen["listed"], 6);
    assert_eq!(seen["heading"], "garden/src/module_0000.py");
    assert_eq!(seen["text"], SOURCE.replace("total", "total_0"));
    // Of both holes one attempt of three passes in the first run, and two in the second.
    let holes = [
        ["hole mixed", "total_0 = a + 1"],
        ["hole mixed", "rest = b - 1"],
    ];
    assert_eq!(seen["all"], json!(holes));
    assert_eq!(seen["second"], json!(holes));
    assert_eq!(seen["keywords"], json!(["def", "return", "def", "return"]));
    assert!(
        seen["opened"]
            .as_str()
            .unwrap()
            .starts_with("garden/src/module_0000.py:2:line:")
    );
    assert_eq!(seen["marked"], "total_0 = a + 1");
    assert_eq!(seen["back"], seen["heading"]);
}

#[test]
fn figures_equal_those_of_show() {
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    let report = report(&dir, &[&first, &second]);
    let summary = data(&report, "summary");
    for (number, run) in [&first, &second].into_iter().enumerate() {
        let shown = dir
            .fillrate(&["show", &text(run), "--json"])
            .exits_with(0)
            .json();
        let all = shown["rows"].as_array().unwrap().last().unwrap();
        let ours = summary["rows"].as_array().unwrap().iter().find(|row| {
            row["run"] == number
                && [&row["kind"], &row["project"], &row["language"]] == [&json!("*"); 3]
        });
        let ours = ours.unwrap();
        assert_eq!(ours["metrics"], all["metrics"]);
        assert_eq!(all["metrics"]["tokens/prompt"]["value"], 101.0);
        assert_eq!(ours["outcomes"], all["outcomes"]);
        assert_eq!(ours["policies"], all["policies"]);
        let policies = ours["policies"].as_array().unwrap();
        let accepted = &policies[1]["metrics"]["acceptance/shown(oracle-prefix)"];
        assert_eq!(
            (&accepted["value"], &accepted["n"]),
            (&json!([0.5, 1.0][number]), &json!(12))
        );
        assert!(
            ours["metrics"]["pass@1/mutation-weighted"]["n"] == 12,
            "{ours}"
        );
    }
    // Each pass rate by its definition: a hole passes with one of three samples, or with two.
    let rates = summary["rows"].as_array().unwrap();
    let rate = |run: usize| {
        &rates.iter().find(|row| row["run"] == run).unwrap()["metrics"]["pass@1"]["value"]
    };
    assert!((rate(0).as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert!((rate(1).as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12);
    let rankings = summary["rankings"].to_string();
    assert!(
        rankings.contains("REVERSED: alpha leads beta under accept-all"),
        "{rankings}"
    );
    let flips = data(&report, "flips");
    let pair = &flips["pairs"][0];
    assert_eq!(pair["against"][0][0], "pass@1");
    assert_eq!(pair["holes"].as_array().unwrap().len(), 12);
}

#[test]
fn matrix_finds_holes_that_only_one_run_solves() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let dir = TestDir::new();
    let holes = holes(6);
    let folders = [("alpha", 2), ("beta", 3)].map(|(model, step)| {
        let folder = dir.path(model);
        begin(&folder, model, 1, &holes);
        add(
            &folder,
            holes.iter().enumerate().map(|(index, (hole, _))| {
                let outcome = match index % step {
                    // Which says nothing about the second run, so it does not differ there.
                    0 if (model, index) == ("beta", 9) => Outcome::Infrastructure,
                    0 => Outcome::Passed,
                    _ => Outcome::Failed,
                };
                let mut attempt = attempt(hole, model, 0, &hole.reference, outcome);
                if model == "beta" && outcome != Outcome::Passed {
                    attempt.offered.clear();
                }
                // Of the passes at 0, 2, … 10, two are proven.
                attempt.verdict.proof = (index < 4).then_some(Proof::Altered);
                attempt
            }),
        );
        folder
    });
    let report = report(&dir, &[&folders[0], &folders[1]]);
    let seen = browser.look("matrix", &report);
    assert_eq!(seen["all"], "12 of 12 holes");
    // Of 0, 2, 4, 6, 8 and 10 the second passes 0 and 6.
    assert_eq!(seen["only"], "4 of 12 holes");
    assert_eq!(seen["address"], "#run-0=passes&run-1=fails");
    // The second run's failures are of nothing.
    assert_eq!(seen["cells"], json!(["passed", "empty"]));
    let saved: Vec<&str> = seen["saved"].as_str().unwrap().lines().collect();
    assert_eq!(saved[0], "hole,project,language,kind,alpha,beta");
    assert_eq!(saved.len(), 5, "{saved:?}");
    assert!(saved[1].ends_with(",passed,failed"), "{saved:?}");
    // Both runs' attempts are on the hole's page, open side by side, and Back leads to the filters
    // as they were.
    assert_eq!(seen["opened"], 2);
    let tops: [f64; 2] = serde_json::from_value(seen["tops"].clone()).unwrap();
    assert_eq!(tops[0], tops[1]);
    assert!(seen["copy"].as_u64() > Some(0), "{seen}");
    // What the second run's attempt lacks is left out of the page.
    let without = seen["texts"][1].as_str().unwrap();
    assert!(without.contains("There was no completion"), "{without}");
    assert!(without.contains("Nothing was offered"), "{without}");
    assert!(!without.contains("false"), "{without}");
    assert_eq!(seen["back"], "4 of 12 holes");
    assert_eq!(seen["before"], "6 of 12 holes");
    assert_eq!(seen["unproven"], "4 of 12 holes");
    // Back leads to an address without the order that came later.
    assert_eq!(seen["sorted"], "kind");
    assert_eq!(seen["unsorted"], 0);
    // The second alone passes 3; only the first has a verdict at 9.
    assert_eq!(seen["patterns"], json!(["5 of 12 holes", "6 of 12 holes"]));
    let empty: Vec<String> = serde_json::from_value(seen["empty"].clone()).unwrap();
    assert!(
        !empty.is_empty() && empty.iter().all(|text| text == "empty"),
        "{empty:?}"
    );
}

#[test]
fn a_hundred_thousand_attempts_stay_responsive() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let dir = TestDir::new();
    let folder = dir.path("run");
    let holes = holes(1000);
    let samples = 50;
    let run = begin(&folder, "many", samples, &holes);
    add(
        &folder,
        holes.iter().enumerate().flat_map(|(index, (hole, _))| {
            (0..samples).map(move |sample| {
                let (completion, outcome) = match (index + sample as usize) % 4 {
                    0 => (hole.reference.clone(), Outcome::Passed),
                    1 if index == 7 && sample == 2 => {
                        ("needle_in_it()".to_owned(), Outcome::Failed)
                    }
                    1 => ("return None".to_owned(), Outcome::Failed),
                    2 => ("total = (".to_owned(), Outcome::Syntax),
                    _ => ("while True: pass".to_owned(), Outcome::Timeout),
                };
                attempt(hole, "many", sample, &completion, outcome)
            })
        }),
    );
    run.set_finished().unwrap();
    let report = report(&dir, &[&folder]);
    let files = play::files(&report);
    assert!(files.len() < 5000, "{} files", files.len());

    let seen = browser.look("attempts", &report);
    let says = |what: &str| seen[what].as_str().unwrap();
    print_uncaptured(&format!(
        "100,000 attempts: first view after {:.0} ms, all read after {:.0} ms, sorted in {} ms",
        seen["firstView"].as_f64().unwrap(),
        seen["allRead"].as_f64().unwrap(),
        seen["sorting"]
    ));
    // Two seconds are what is promised; other tests may have this machine's processors.
    assert!(seen["firstView"].as_f64().unwrap() < 20_000.0);
    assert_eq!(says("everything"), "100,000 of 100,000");
    assert_eq!(says("rowCount"), "100001");
    assert_eq!(says("passed"), "25,000 of 100,000");
    assert_eq!(seen["outcomes"], json!(["passed"]));
    assert!(says("bookmark").contains("outcome=passed"));
    // The first file's two holes: of the 50 samples 13 are of one remainder of four, 12 of others.
    assert!(
        says("searched").starts_with("25 of") || says("searched").starts_with("26 of"),
        "{}",
        says("searched")
    );
    assert_eq!(says("cleared"), "100,000 of 100,000");
    assert_eq!(says("needle"), "1 of 100,000");
    // `total = (` and `return None`, but for the one that is the needle.
    assert_eq!(says("short"), "49,999 of 100,000");
    assert!(says("nothing").contains("No attempt matches"));
    // One column less, also in the address.
    assert_eq!(seen["fewer"]["cells"], 12);
    assert!(!seen["fewer"]["heads"].to_string().contains("chars"));
    assert_eq!(seen["fewer"]["address"], "#without=chars");
    // Where there is little room, a path loses its beginning and keeps the file and the line.
    let cut = &seen["cut"];
    assert_eq!(cut["inside"], true, "{cut}");
    assert!(cut["shown"].as_u64() < cut["needed"].as_u64(), "{cut}");
    assert_eq!(cut["text"], seen["firstHole"]);
    // On a telephone, it loses its folders.
    let telephone = &seen["telephone"];
    assert_eq!(telephone["inside"], true, "{telephone}");
    assert_eq!(telephone["text"], "module_0000.py:2");
    assert_eq!(telephone["all"], cut["all"]);
    let sorted: Vec<f64> = serde_json::from_value(seen["sorted"].clone()).unwrap();
    assert!(
        sorted.is_sorted_by(|a, b| a >= b) && sorted.len() > 10,
        "{sorted:?}"
    );
    assert_eq!(says("last"), "100001");
    assert_eq!(says("second"), "3");
    // The page contains only the visible rows.
    for rows in ["rowsAtFirst", "atEnd"] {
        let rows = seen[rows].as_u64().unwrap();
        assert!((10..200).contains(&rows), "{rows}");
    }
    assert!(says("opened").starts_with("garden/src/module_"));
    assert_eq!(seen["openAttempts"], 1);
}

const EVIL: &str = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\u{2028}${alert(2)}`'\"&amp;\\";

#[test]
fn displayed_text_is_never_executed() {
    let dir = TestDir::new();
    let folder = dir.path("run");
    let source = format!("x = 1\n# {EVIL}\ny = 2\n");
    let mut hole = Hole::new(
        "garden",
        "python",
        &format!("src/{EVIL}.py"),
        HoleKind::Line,
        0..5,
        &source,
    );
    hole.project = EVIL.into();
    hole.language = "python".into();
    hole.id = format!("{EVIL}/a.py:1:line:01234567");
    hole.task_id = Some(EVIL.into());
    hole.dependencies = Some(vec![EVIL.into(), "__proto__".into()]);
    hole.category = Some(Category {
        name: Topic::CommonTools,
        reason: EVIL.into(),
    });
    hole.mutation = Some(Mutation {
        killed: 1,
        survived: 1,
        survivors: vec![Survivor {
            operator: "AOR".into(),
            fault: EVIL.into(),
            diff: EVIL.into(),
        }],
        ..Mutation::default()
    });
    let run = begin(&folder, EVIL, 1, &[(hole.clone(), source)]);
    let state = ProjectState {
        language: EVIL.into(),
        status: ProjectStatus::Failed,
        reason: Some(EVIL.into()),
        mined: None,
    };
    run.set_project("__proto__", &state).unwrap();
    run.set_project(
        EVIL,
        &ProjectState {
            status: ProjectStatus::Ready,
            ..state.clone()
        },
    )
    .unwrap();
    let mut hostile = attempt(&hole, EVIL, 0, EVIL, Outcome::Failed);
    hostile.offered.push(format!("second {EVIL}"));
    hostile.verdict.reason = EVIL.into();
    hostile.verdict.output = EVIL.into();
    hostile.verdict.failed = vec![EVIL.into()];
    hostile.verdict.sandbox = EVIL.into();
    hostile.trace = Some(Trace {
        model: EVIL.into(),
        about: EVIL.into(),
        windows: vec![Window {
            path: EVIL.into(),
            first_line: 0,
            text: EVIL.into(),
            score: 1.0,
        }],
        prompt: EVIL.into(),
        steps: vec![CandidateStep {
            raw: EVIL.into(),
            decisions: vec![Decision {
                rule: EVIL.into(),
                removed: EVIL.into(),
                rewritten: false,
            }],
            mean_log_probability: Some(-0.5),
        }],
        ..Trace::default()
    });
    add(&folder, [hostile].into_iter());
    run.add_audit(&AuditRecord {
        attempt: format!("{EVIL}-{}-0", hole.id),
        hole: hole.id.clone(),
        outcome: Outcome::Failed,
        rejudged: Outcome::Passed,
        reason: EVIL.into(),
    })
    .unwrap();
    // A run that is named twice is refused.
    let copy = dir.path("copy");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([&folder, &copy])
        .status();
    assert!(copied.unwrap().success());
    let report = report(&dir, &[&folder, &copy]);

    for file in play::files(&report) {
        let contents = fs::read_to_string(report.join(&file)).unwrap();
        assert!(!contents.contains("alert('x')</"), "{file:?}");
        assert!(!contents.contains("hunter2"), "{file:?} holds a secret");
        if file.starts_with("data") {
            assert!(!contents.contains(['<', '>', '&', '\u{2028}']), "{file:?}");
        }
    }
    let Some(browser) = Browser::new() else {
        return;
    };
    let seen = browser.look("hostile", &report);
    assert_eq!(seen["heading"], hole.id);
    assert_eq!(seen["images"], 0);
    let scripts: Vec<String> = serde_json::from_value(seen["scripts"].clone()).unwrap();
    assert_eq!(scripts, ["common.js", "table.js", "hole.js"]);
    assert_eq!(seen["ran"], false);
    assert_eq!(seen["refused"], 1);
    for (page, text) in seen["texts"].as_object().unwrap() {
        let shown = text
            .as_str()
            .unwrap()
            .contains("<script>alert('x')</script>");
        assert!(shown, "{page} does not show the text:\n{text}");
    }
}

#[test]
fn runs_of_different_tasks_are_marked() {
    let dir = TestDir::new();
    let [first, _] = small(&dir);
    let other = dir.path("other");
    let holes = holes(7);
    let run = begin(&other, "gamma", 1, &holes[2..]);
    add(
        &other,
        holes[2..]
            .iter()
            .map(|(hole, _)| attempt(hole, "gamma", 0, "x", Outcome::Failed)),
    );
    run.set_finished().unwrap();
    let report = report(&dir, &[&first, &other]);
    let summary = data(&report, "summary");
    assert_eq!(summary["shared"], 10);
    assert_eq!(summary["holes"], 14);
    let names: Vec<&Value> = summary["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["name"])
        .collect();
    assert_eq!(names, ["alpha", "gamma"]);
    let flips = data(&report, "flips");
    assert_eq!(flips["pairs"][0]["against"][0][1]["difference"]["n"], 10);
    let Some(browser) = Browser::new() else {
        return;
    };
    let seen = browser.look("pages", &report);
    let text = seen["pages"]["index light"]["text"].as_str().unwrap();
    assert!(
        text.contains("different tasks: they share 10 of 14 holes"),
        "{text}"
    );
}

#[test]
fn a_folder_with_other_files_is_not_overwritten() {
    let dir = TestDir::new();
    let [first, _] = small(&dir);
    let mine = dir.write("mine/thesis.txt", "years of work");
    let out = text(mine.parent().unwrap());
    let finished = dir
        .fillrate(&["report", &text(&first), "-o", &out])
        .exits_with(1);
    assert!(
        finished
            .error_message()
            .contains("holds files and is no report"),
        "{finished:?}"
    );
    assert_eq!(
        play::files(mine.parent().unwrap()),
        [Path::new("thesis.txt")]
    );
    // An earlier report is replaced, and no shard of it is left.
    let report = report(&dir, &[&first]);
    // A replay of the repository around it does not read it.
    assert_eq!(
        fs::read_to_string(report.join(".gitignore")).unwrap(),
        "*\n"
    );
    fs::write(report.join("data/attempts-99.js"), "").unwrap();
    dir.fillrate(&["report", &text(&first), "-o", &text(&report)])
        .exits_with(0);
    assert!(!report.join("data/attempts-99.js").exists());
    let finished = dir
        .fillrate(&["report", &text(&dir.path("nowhere")), "-o", &text(&report)])
        .exits_with(1);
    assert!(
        finished.error_message().contains("holds no run"),
        "{finished:?}"
    );
}

#[test]
fn the_live_server_answers_only_its_own_pages() {
    let dir = TestDir::new();
    let [first, _] = small(&dir);
    let live = Live::start(dir.command(&["report", "--live", &text(&first)]));
    let host = live
        .address
        .trim_start_matches("http://")
        .trim_end_matches('/');
    let ours = format!("Host: {host}\r\n");
    let page = live.get("/", &ours);
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(
        page.contains("cross-origin-resource-policy: same-origin"),
        "{page}"
    );
    assert!(
        live.get("/data/summary.js?revision=3", &ours)
            .contains("fillrate.put(")
    );
    for path in [
        "/../run.db",
        "/data/..%2f..%2frun.db",
        "/data/attempts-9.js",
        "/run.db",
    ] {
        let answer = live.get(path, &ours);
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
    }
    // The name of a site that was made to point at this machine.
    let rebound = live.get("/data/summary.js", "Host: evil.example\r\n");
    assert!(rebound.starts_with("HTTP/1.1 421 "), "{rebound}");
    assert!(!rebound.contains("alpha"));
    let script = live.get(
        "/data/summary.js",
        &format!("{ours}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"),
    );
    assert!(script.starts_with("HTTP/1.1 403 "), "{script}");
}

#[test]
fn a_live_report_follows_a_run() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let dir = TestDir::new();
    let folder = dir.path("run");
    let holes = holes(3);
    let run = begin(&folder, "delta", 2, &holes);
    let first = &holes[0].0;
    run.add_attempt(&attempt(
        first,
        "delta",
        0,
        &first.reference,
        Outcome::Passed,
    ))
    .unwrap();
    let live = Live::start(dir.command(&["report", "--live", &text(&folder)]));
    let mut child = browser
        .command("live", &live.address)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut finished = BufReader::new(child.stderr.take().unwrap());
    finished.read_line(&mut line).unwrap();
    assert_eq!(line, "seen\n");
    for (hole, _) in &holes[1..] {
        run.add_attempt(&attempt(hole, "delta", 0, "return None", Outcome::Failed))
            .unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let mut rest = String::new();
    finished.read_to_string(&mut rest).unwrap();
    assert!(output.status.success(), "{rest}");
    let seen = seen(&output.stdout);
    assert_eq!(seen["before"], "1 of 12 attempts, going on");
    assert_eq!(seen["after"], "6 of 12 attempts, going on");
    assert_eq!(seen["hole"], first.id);
}

/// True if two values are the same, but for the last digit of a number that was read.
fn alike(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs(),
        _ => a == b,
    }
}

#[test]
fn a_run_is_exported_in_every_format() {
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    let export = |name: &str| {
        let out = dir.path(name);
        let finished = dir
            .fillrate(&["export", &text(&first), &text(&second), "-o", &text(&out)])
            .exits_with(0);
        assert!(
            finished.out.trim_end().ends_with("72 attempts"),
            "{finished:?}"
        );
        out
    };
    let lines = fs::read_to_string(export("table.jsonl")).unwrap();
    let rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 72);
    let passed = rows.iter().filter(|row| row["passed"] == true).count();
    assert_eq!(passed, 12 + 24);
    let one = &rows[0];
    assert_eq!(one["schema"], 3);
    assert_eq!(one["model"], "alpha");
    assert_eq!(one["context"], "editor");
    assert_eq!(one["configuration"], Value::Null);
    assert_eq!(one["acceptance/oracle-prefix"], one["outcome"] == "passed");
    assert_eq!(one["task_id"], Value::Null);
    assert_eq!(one["probability"], 1.0);
    assert_eq!(one["audit"], "failed");
    assert!(!lines.contains("hunter2"));

    // The same table, however it is written.
    let mut table = csv::Reader::from_path(export("table.csv")).unwrap();
    let names = table.headers().unwrap().clone();
    let ours: Vec<&str> = one
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(names.iter().collect::<Vec<_>>(), ours);
    let mut count = 0;
    for (record, row) in table.records().zip(&rows) {
        for (name, cell) in names.iter().zip(record.unwrap().iter()) {
            let value = match &row[name] {
                Value::Null => json!(""),
                Value::Bool(truth) => json!(truth.to_string()),
                value => value.clone(),
            };
            let cell = match value {
                Value::Number(_) => json!(cell.parse::<f64>().unwrap()),
                _ => json!(cell),
            };
            assert!(alike(&cell, &value), "{name}: {cell} is not {value}");
        }
        count += 1;
    }
    assert_eq!(count, 72);

    #[cfg(feature = "parquet")]
    {
        let parquet = export("table.parquet");
        use parquet::file::reader::FileReader as _;
        let file = fs::File::open(&parquet).unwrap();
        let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
        let mut count = 0;
        for (record, row) in reader.get_row_iter(None).unwrap().zip(&rows) {
            for ((name, field), (key, value)) in record
                .unwrap()
                .get_column_iter()
                .zip(row.as_object().unwrap())
            {
                assert_eq!(name, key);
                use parquet::record::Field;
                let field = match field {
                    Field::Null => Value::Null,
                    Field::Bool(truth) => json!(truth),
                    Field::Long(whole) => json!(whole),
                    Field::Double(real) => json!(real),
                    Field::Str(text) => json!(text),
                    other => panic!("{name} is {other}"),
                };
                assert!(alike(&field, value), "{name}: {field} is not {value}");
            }
            count += 1;
        }
        assert_eq!(count, 72);
    }

    // And to standard output, for a pipe.
    let finished = dir
        .fillrate(&["export", &text(&first), "--format", "csv"])
        .exits_with(0);
    assert!(
        finished.out.starts_with("schema,run,key,hole,"),
        "{finished:?}"
    );
    assert_eq!(finished.out.lines().count(), 37);
    let finished = dir
        .fillrate(&["export", &text(&first), "--format", "xls"])
        .exits_with(2);
    assert!(
        finished
            .err
            .contains("jsonl, csv, parquet, every-eval-ever, inspect"),
        "{finished:?}"
    );
}

#[test]
fn typings_are_exported_as_rows() {
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    let runs = [text(&first), text(&second)];
    let out = dir
        .fillrate(&["export", &runs[0], &runs[1], "--typings"])
        .exits_with(0)
        .out;
    let rows: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 2 * 12 * 2);
    let one = &rows[0];
    assert_eq!(one["policy"], "accept-all");
    assert_eq!((&one["requests"], &one["shown"]), (&json!(1), &json!(1)));
    assert_eq!(one["accepted"], 1);
    assert_eq!(one["characters_kept"], one["characters"]);
    // Figures of reports follow from the rows.
    let accepted = |model: &str, policy: &str| -> f64 {
        let of = rows
            .iter()
            .filter(|row| row["model"] == model && row["policy"] == policy);
        let sum = |column: &str| {
            of.clone()
                .map(|row| row[column].as_f64().unwrap())
                .sum::<f64>()
        };
        sum("accepted") / sum("shown")
    };
    assert_eq!(accepted("alpha", "oracle-prefix"), 0.5);
    assert_eq!(accepted("beta", "oracle-prefix"), 1.0);
    let table = dir.path(match cfg!(feature = "parquet") {
        true => "typings.parquet",
        false => "typings.csv",
    });
    let finished = dir
        .fillrate(&["export", &runs[0], "--typings", "-o", &text(&table)])
        .exits_with(0);
    assert!(finished.out.trim_end().ends_with("24 typings"));
}

/// Runs a program of Python and returns its output.
fn python(python: &Path, script: &str, arguments: &[&Path]) -> String {
    let output = Command::new(python)
        .args(["-c", script])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn evaluations_are_valid_by_the_published_schema() {
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    let out = dir.path("store");
    let runs = [text(&first), text(&second)];
    let format = ["--format", "every-eval-ever", "-o", &text(&out)];
    let finished = dir
        .fillrate(&[&["export", &runs[0], &runs[1]], &format[..]].concat())
        .exits_with(0);
    assert!(out.join(".gitignore").is_file());
    let records: Vec<&Path> = finished.out.lines().map(Path::new).collect();
    assert_eq!(records.len(), 2);
    let record: Value = serde_json::from_str(&fs::read_to_string(records[0]).unwrap()).unwrap();
    let results = record["evaluation_results"].as_array().unwrap();
    let pass = results
        .iter()
        .find(|one| one["evaluation_result_id"] == "pass@1");
    let pass = pass.unwrap();
    let shown = dir
        .fillrate(&["show", &runs[0], "--json"])
        .exits_with(0)
        .json();
    let all = &shown["rows"].as_array().unwrap().last().unwrap()["metrics"]["pass@1"];
    assert_eq!(pass["score_details"]["score"], all["value"]);
    let simulated = |name: &str| {
        let id = format!("acceptance/shown({name})");
        let one = results
            .iter()
            .find(|one| one["evaluation_result_id"] == *id);
        one.unwrap()["score_details"]["score"].clone()
    };
    assert_eq!(
        [simulated("accept-all"), simulated("oracle-prefix")],
        [1.0, 0.5]
    );
    let interval = &pass["score_details"]["uncertainty"]["confidence_interval"];
    assert_eq!(
        (&interval["lower"], &interval["upper"]),
        (&all["low"], &all["high"])
    );
    let rows_path = record["detailed_evaluation_results"]["file_path"]
        .as_str()
        .unwrap();
    let rows = fs::read_to_string(out.join(rows_path)).unwrap();
    assert_eq!(rows.lines().count(), 36);
    assert!(!rows.contains("hunter2") && !record.to_string().contains("hunter2"));
    let first_row: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    let input = first_row["input"]["raw"].as_str().unwrap();
    let reference = first_row["input"]["reference"][0].as_str().unwrap();
    assert_eq!(
        input.replace("<|hole|>", reference),
        SOURCE.replace("total", "total_0")
    );
    // Exported again, a run has the same files.
    let again = dir
        .fillrate(&[&["export", &runs[0]], &format[..]].concat())
        .exits_with(0);
    assert_eq!(again.out.trim(), text(records[0]));

    let Some(validator) = install("every-eval-ever") else {
        return;
    };
    let script = "import hashlib, json, pathlib, sys, jsonschema\n\
                  schemas = pathlib.Path(sys.prefix) / 'schemas'\n\
                  def check(name, value):\n\
                  \x20   schema = json.loads((schemas / name).read_text())\n\
                  \x20   jsonschema.Draft7Validator(schema).validate(value)\n\
                  root = pathlib.Path(sys.argv[1])\n\
                  for path in root.glob('data/*/*/*/*.json'):\n\
                  \x20   record = json.loads(path.read_text())\n\
                  \x20   check('eval.schema.json', record)\n\
                  \x20   detail = record['detailed_evaluation_results']\n\
                  \x20   data = (root / detail['file_path']).read_bytes()\n\
                  \x20   assert hashlib.sha256(data).hexdigest() == detail['checksum']\n\
                  \x20   rows = [json.loads(line) for line in data.splitlines()]\n\
                  \x20   assert len(rows) == detail['total_rows']\n\
                  \x20   for row in rows:\n\
                  \x20       check('instance_level_eval.schema.json', row)\n\
                  \x20       assert row['evaluation_id'] == record['evaluation_id']\n\
                  \x20   print(len(rows))";
    assert_eq!(python(&validator, script, &[&out]), "36\n36\n");
}

#[test]
fn inspect_reads_the_logs_that_it_writes() {
    let dir = TestDir::new();
    let [first, _] = small(&dir);
    let out = dir.path("logs");
    let export = |python: &Path| {
        let arguments = [
            "export",
            &text(&first),
            "--format",
            "inspect",
            "-o",
            &text(&out),
        ];
        dir.fillrate(&[&arguments[..], &["--python", &text(python)]].concat())
    };
    // This Python has no packages at all.
    let bare = dir.write("bare", "#!/bin/sh\nexec python3 -S -I \"$@\"\n");
    let mut permissions = fs::metadata(&bare).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&bare, permissions).unwrap();
    let refused = export(&bare).exits_with(1);
    assert!(
        refused
            .error_message()
            .contains("install inspect_ai for this Python"),
        "{refused:?}"
    );
    let Some(inspect) = install("inspect") else {
        return;
    };
    let log = export(&inspect).exits_with(0).out;
    let log = Path::new(log.trim());
    let script = "import json, sys\n\
                  from inspect_ai.log import read_eval_log\n\
                  log = read_eval_log(sys.argv[1])\n\
                  score = log.results.scores[0]\n\
                  print(json.dumps({'status': log.status, 'model': log.eval.model, 'samples': len(log.samples),\n\
                  \x20   'pass': score.metrics['pass@1'].value, 'passed': sum(s.scores['tests'].value == 'C' for s in log.samples),\n\
                  \x20   'epochs': log.eval.config.epochs, 'answer': log.samples[0].scores['tests'].answer,\n\
                  \x20   'output': log.samples[0].output.completion, 'target': log.samples[0].target}))";
    let read: Value = serde_json::from_str(&python(&inspect, script, &[log])).unwrap();
    assert_eq!(
        (&read["status"], &read["model"]),
        (&json!("success"), &json!("alpha"))
    );
    assert_eq!(
        (&read["samples"], &read["passed"]),
        (&json!(36), &json!(12))
    );
    assert_eq!(read["epochs"], 3);
    assert!((read["pass"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(read["answer"], read["output"]);
    assert_eq!(read["target"], json!(["total_0 = a + 1"]));

    let Some(browser) = Browser::new() else {
        return;
    };
    let port = free_port().to_string();
    let mut viewer = Command::new(inspect.with_file_name("inspect"))
        .args(["view", "start", "--port", &port, "--log-dir"])
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = browser
        .command("inspect", &format!("http://127.0.0.1:{port}/"))
        .output()
        .unwrap();
    viewer.kill().unwrap();
    viewer.wait().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = seen(&output.stdout)["text"].as_str().unwrap().to_owned();
    assert!(
        text.contains("alpha") && text.contains("return None"),
        "{text}"
    );
    assert!(!text.contains("NaN"), "{text}");
}

#[test]
fn the_notebook_of_the_page_computes_the_pass_rates_of_reports() {
    let Some(pandas) = install("pyarrow") else {
        return;
    };
    let page = fs::read_to_string(play::repository("replay/docs/export.md")).unwrap();
    let (_, notebook) = page.split_once("```python\n").unwrap();
    let (notebook, _) = notebook.split_once("```").unwrap();
    assert!(notebook.trim().lines().count() <= 3, "{notebook}");
    let dir = TestDir::new();
    let [first, second] = small(&dir);
    let report = report(&dir, &[&first, &second]);
    dir.fillrate(&[
        "export",
        &text(&first),
        "-o",
        &text(&dir.path("attempts.jsonl")),
    ])
    .exits_with(0);
    let output = Command::new(pandas)
        .args(["-c", &format!("{notebook}print(rates.to_json())")])
        .current_dir(dir.path(""))
        .output()
        .unwrap();
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{fault}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let rates: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    let rows = data(&report, "summary")["rows"].clone();
    for kind in ["line", "statement"] {
        let row = rows.as_array().unwrap().iter().find(|row| {
            row["run"] == 0
                && row["kind"] == kind
                && row["project"] == "*"
                && row["language"] == "*"
        });
        let ours = row.unwrap()["metrics"]["pass@1"]["value"].as_f64().unwrap();
        assert!(
            (rates[kind].as_f64().unwrap() - ours).abs() < 1e-9,
            "{kind}: {rates}"
        );
    }
}

#[cfg(feature = "parquet")]
#[test]
fn pyarrow_reads_the_parquet_file() {
    let Some(python) = install("pyarrow") else {
        return;
    };
    let dir = TestDir::new();
    let [first, _] = small(&dir);
    let out = dir.path("table.parquet");
    dir.fillrate(&["export", &text(&first), "-o", &text(&out)])
        .exits_with(0);
    let lines = dir.fillrate(&["export", &text(&first)]).exits_with(0).out;
    let script = "import json, sys, pyarrow.parquet as p\n\
                  for row in p.read_table(sys.argv[1]).to_pylist(): print(json.dumps(row))";
    let output = Command::new(python)
        .args(["-c", script])
        .arg(&out)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs = String::from_utf8(output.stdout).unwrap();
    let read = |text: &str| -> Vec<Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    assert_eq!(read(&theirs), read(&lines));
    assert_eq!(read(&theirs).len(), 36);
}

#[test]
fn the_scripts_of_the_pages_type_check() {
    let Some(packages) = install("playwright") else {
        return;
    };
    let pages = play::repository("replay/report/src/pages");
    let scripts = [
        "common", "table", "index", "plots", "matrix", "attempts", "files", "flips", "runs", "hole",
    ];
    let output = Command::new("node")
        .arg(packages.join("node_modules/typescript/bin/tsc"))
        .args([
            "--noEmit",
            "--allowJs",
            "--checkJs",
            "--strict",
            "--target",
            "es2022",
        ])
        .args(["--lib", "es2022,dom,dom.iterable"])
        .args(scripts.map(|script| pages.join(format!("{script}.js"))))
        .output()
        .unwrap();
    let finished = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{finished}");
}

/// 1 of 16 is 6.25 %, which the terminal rounds to the even digit.
#[test]
fn pages_round_numbers_as_the_terminal_does() {
    if Command::new("node").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "node is missing");
        return;
    }
    let values: Vec<f64> = (-800..=800).map(|part| f64::from(part) / 1600.0).collect();
    let script = "const [common, values] = process.argv.slice(1);
        const source = require('fs').readFileSync(common, 'utf8');
        const get = (_, name) => name === Symbol.toPrimitive ? () => '' : page;
        const page = new Proxy(function () {}, {get, apply: () => page});
        for (const name of ['document', 'localStorage', 'matchMedia', 'addEventListener']) {
            globalThis[name] = page;
        }
        const fillrate = new Function(`${source}; return fillrate;`)();
        const unit = {scale: 100, symbol: '%', decimals: 1, signed: false};
        const text = (value) => fillrate.figure({value, low: null, high: null, n: 1}, unit).value;
        console.log(JSON.stringify(JSON.parse(values).map(text)));";
    let output = Command::new("node")
        .args(["-e", script])
        .arg(play::repository("replay/report/src/pages/common.js"))
        .arg(json!(values).to_string())
        .output()
        .unwrap();
    let pages: Vec<String> = serde_json::from_slice(&output.stdout).unwrap();
    let format = fillrate_metrics::Unit::Saving.format();
    let terminal: Vec<String> = values.iter().map(|value| format.number(*value)).collect();
    assert_eq!(pages, terminal);
    assert_eq!(format.number(1.0 / 16.0), "6.2");
}

#[test]
fn options_of_one_run_are_refused_for_several() {
    let dir = TestDir::new();
    for name in ["a", "b"] {
        begin(&dir.path("several").join(name), name, 1, &holes(1));
    }
    let several = text(&dir.path("several"));
    for option in [&["--since", "2026-03-01"][..], &["--holes"]] {
        let refused = dir
            .fillrate(&[&["show", &several], option].concat())
            .exits_with(1);
        let message = refused.error_message();
        assert!(message.contains("holds several runs"), "{message}");
    }
}
