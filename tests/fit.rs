//! `fillrate fit`: from an export of telemetry to a policy that a replay takes, with the real
//! program.

use fillrate_server::completion::{FittedGate, GateFeature, GateSignals, TokenBefore};
use fillrate_server::telemetry::{
    AcceptedCandidate, Certainty, CompletionRow, CursorKind, Displayed, ExportLine,
    RecordedCompletion, TextSize, Timings,
};

use crate::support::play::{TestDir, has_tools, kitchen, text};

/// Completions, the shorter the likelier accepted; every tenth was not shown, which is all of two
/// of the 20 sessions.
fn export(count: usize, simulated: impl Fn(usize) -> bool) -> String {
    let completion = |index: usize| {
        let characters = 4 + index * 37 % 60;
        // Spread evenly, in another order than the lengths.
        let chance = (index * 53 % 97) as f64 / 97.0;
        let accepted = chance < 8.0 / (characters as f64 + 4.0);
        let shown = index % 10 != 9;
        let place = match index % 3 {
            0 => CursorKind::MidLine,
            1 => CursorKind::LineEnd,
            _ => CursorKind::NewBlock,
        };
        let recorded = RecordedCompletion {
            answered: CompletionRow {
                completion: format!("c{index}"),
                at_ms: 1_760_000_000_000 + index as i64 * 60_000,
                session: format!("s{}", index % 20),
                simulated: simulated(index),
                place,
                candidates: vec![TextSize {
                    characters,
                    lines: 1 + index % 4,
                }],
                timings: Timings {
                    latency_ms: (index * 13 % 400) as f64,
                    ..Timings::default()
                },
                signals: Some(GateSignals {
                    before: match index % 2 {
                        0 => TokenBefore::Word,
                        _ => TokenBefore::Other,
                    },
                    characters,
                    lines: 1 + index % 4,
                    ..GateSignals::default()
                }),
                ..CompletionRow::default()
            },
            shown: shown.then_some(Displayed {
                certainty: Certainty::Confirmed,
                ms: Some(900.0),
            }),
            accepted: (shown && accepted).then_some(AcceptedCandidate {
                at_ms: 1_760_000_000_000,
                candidate: 0,
                characters,
                text: None,
            }),
            ..RecordedCompletion::default()
        };
        ExportLine::Completion(Box::new(recorded))
            .to_json()
            .to_string()
    };
    (0..count).map(completion).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_fitted_policy_accepts_in_a_replay() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let telemetry = text(&dir.write("telemetry.jsonl", &export(2000, |_| false)));
    let policy = text(&dir.path("people.toml"));
    let finished = dir
        .fillrate(&["fit", &telemetry, "-o", &policy])
        .exits_with(0);
    assert!(finished.out.starts_with("policy people: "), "{finished:#?}");
    assert!(
        finished
            .out
            .contains("of 1800 shown completions accepted, in 18 sessions"),
        "{finished:#?}"
    );
    let file = std::fs::read_to_string(&policy).unwrap();
    let fitted: toml::Table = file.parse().unwrap();
    assert_eq!(fitted["simulated"].as_bool(), Some(false));
    assert_eq!(fitted["data"]["first_day"].as_str(), Some("2025-10-09"));
    let of_length = &fitted["coefficients"].as_array().unwrap()[0];
    assert_eq!(of_length["feature"].as_str(), Some("log_characters"));
    let (value, se) = (&of_length["value"], &of_length["se"]);
    assert!(value.as_float().unwrap() + 4.0 * se.as_float().unwrap() < 0.0);
    // The same twice over is the same.
    dir.fillrate(&["fit", &telemetry, &telemetry, "-o", &policy])
        .exits_with(0);
    assert_eq!(std::fs::read_to_string(&policy).unwrap(), file);

    let run = text(&dir.path("run"));
    let name = format!("probabilistic={policy}");
    let corpus = kitchen();
    let replay = [
        "replay",
        &corpus,
        "--holes",
        "2",
        "--mode",
        "type",
        "--policy",
        &name,
        "--latency",
        "50",
        "--json",
        "--out",
        &run,
    ];
    let report = dir.fillrate(&replay).exits_with(0).json();
    let policies = &report["rows"][0]["policies"][0];
    assert_eq!(policies["policy"], "probabilistic: people");
    let shown = &policies["metrics"]["acceptance/shown(probabilistic: people)"];
    assert!(shown["n"].as_u64().unwrap() > 0, "{report:#}");
    let pages = text(&dir.path("pages"));
    dir.fillrate(&["report", &run, "--gate", &telemetry, "-o", &pages])
        .exits_with(0);
    let summary = std::fs::read_to_string(dir.path("pages/data/summary.js")).unwrap();
    let gate = summary.rsplit("\\\"gate\\\":").next().unwrap();
    assert!(
        gate.contains("1800") && gate.contains("held_back"),
        "{gate}"
    );
}

#[test]
fn a_fitted_gate_says_what_it_holds_back() {
    let dir = TestDir::new();
    let telemetry = text(&dir.write("telemetry.jsonl", &export(2000, |_| false)));
    let path = dir.path("gate.toml");
    let fit = ["fit", "--gate", &telemetry, "-o", &text(&path)];
    let finished = dir.fillrate(&fit).exits_with(0);
    let out = &finished.out;
    assert!(out.starts_with("gate: "), "{out}");
    assert!(
        out.contains("of 1800 shown completions accepted, in 18 sessions"),
        "{out}"
    );
    assert_eq!(out.matches("the gate's").count(), 1, "{out}");
    let gate = FittedGate::load(&path).unwrap();
    assert!(!gate.simulated);
    assert!(gate.coefficients[&GateFeature::LogCharacters] < 0.0);
    assert!(gate.evidence.characters_lost <= 0.02, "{gate:?}");
    let chance = |characters| {
        let signals = GateSignals {
            characters,
            lines: 1,
            ..GateSignals::default()
        };
        gate.probability(&signals).unwrap()
    };
    assert!(chance(4) > 0.6 && chance(60) < 0.25);

    let few = text(&dir.write("few.jsonl", &export(60, |_| false)));
    let refused = dir.fillrate(&["fit", "--gate", &few, "-o", &text(&path)]);
    let refused = refused.exits_with(1).error_message().to_owned();
    assert!(
        refused.starts_with("too little to fit a gate to"),
        "{refused}"
    );
}

#[test]
fn fit_refuses_simulated_or_too_few_completions() {
    let dir = TestDir::new();
    let policy = text(&dir.path("policy.toml"));
    let refusal = |name: &str, export: String, more: &[&str]| {
        let telemetry = text(&dir.write(name, &export));
        let finished = dir.fillrate(&[&["fit", &telemetry, "-o", &policy], more].concat());
        finished.exits_with(1).error_message().to_owned()
    };
    let few = refusal("few.jsonl", export(100, |_| false), &[]);
    assert!(few.starts_with("too little to fit a policy to"), "{few}");
    let mixed = refusal("mixed.jsonl", export(2000, |index| index == 0), &[]);
    assert!(
        mixed.starts_with("1 of 1800 completions are simulated"),
        "{mixed}"
    );
    let people = refusal("people.jsonl", export(2000, |_| false), &["--simulated"]);
    assert_eq!(people, "there are no simulated completions that were shown");
    let none = dir
        .fillrate(&["fit", "gone.db", "-o", &policy])
        .exits_with(1);
    assert!(none.error_message().contains("gone.db"), "{none:#?}");
    assert!(!dir.path("policy.toml").exists());

    let simulated = text(&dir.write("simulated.jsonl", &export(2000, |_| true)));
    let fit = ["fit", &simulated, "-o", &policy, "--simulated"];
    let finished = dir.fillrate(&fit).exits_with(0);
    assert!(
        finished
            .out
            .contains("simulated completions (not a person's) accepted"),
        "{finished:#?}"
    );
    let file = std::fs::read_to_string(&policy).unwrap();
    assert!(file.contains("simulated = true"), "{file}");
}

#[test]
fn a_study_refuses_completions_that_would_count_twice() {
    let dir = TestDir::new();
    let offline = dir.write(
        "offline.csv",
        "version,language,metric,value,n\nm,python,pass@1,0.5,100\n",
    );
    let copies =
        ["one.jsonl", "two.jsonl"].map(|name| text(&dir.write(name, &export(100, |_| false))));
    let study = [
        "study",
        "--offline",
        &text(&offline),
        "--online",
        &copies[0],
        &copies[1],
    ];
    let finished = dir.fillrate(&study).exits_with(1);
    let message = finished.error_message();
    assert!(message.contains("hold the same completions"), "{message}");
}
