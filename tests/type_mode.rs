//! `fillrate replay --mode type` end to end: the real program types the references of
//! the holes, and its figures are those of a calculation that knows nothing of it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::errors::{ModelServer, settings};
use crate::support::play::{
    FinishedCommand, TestDir, attempts, demo, has_tools, holes, kitchen, text,
};

/// The typings of a run, by hole and policy.
fn typings(run: &Path) -> BTreeMap<(String, String), Value> {
    let database = rusqlite::Connection::open(run.join("run.db")).unwrap();
    let mut statement = database
        .prepare("SELECT hole, policy, record FROM typings")
        .unwrap();
    let rows = statement
        .query_map([], |row| {
            let key = (row.get::<_, String>(0)?, row.get::<_, String>(1)?);
            Ok((key, row.get::<_, String>(2)?))
        })
        .unwrap();
    rows.map(|row| {
        let (key, record) = row.unwrap();
        (key, serde_json::from_str(&record).unwrap())
    })
    .collect()
}

/// Returns the export of a run in which no clock counts: all that was typed, and the report without
/// its folder.
fn exported(run: &Path, finished: &FinishedCommand) -> String {
    let mut report = finished.json();
    report.as_object_mut().unwrap().remove("run");
    let typed: Vec<Value> = typings(run).into_values().collect();
    json!([report, typed]).to_string()
}

/// Replays a corpus with a developer who types.
fn typed(dir: &TestDir, corpus: &str, run: &str, more: &[&str]) -> FinishedCommand {
    let run = text(&dir.path(run));
    let always = ["--mode", "type", "--jobs", "1", "--json", "--out"];
    let arguments = [&["replay", corpus], &always[..], &[&run], more].concat();
    dir.fillrate(&arguments)
}

/// The figures of one policy over all projects.
fn figures(report: &Value, policy: &str) -> BTreeMap<String, Value> {
    let all = report["rows"].as_array().unwrap().last().unwrap();
    let policies = all["policies"].as_array().unwrap();
    let of = policies.iter().find(|one| one["policy"] == policy).unwrap();
    let metrics = of["metrics"].as_object().unwrap();
    metrics
        .iter()
        .map(|(name, figure)| {
            let bare = name.strip_suffix(&format!("({policy})")).unwrap();
            (bare.to_owned(), figure.clone())
        })
        .collect()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// True if a developer who is about to type `remaining` takes this text under `oracle-prefix`, by
/// the definition alone.
fn takes(remaining: &str, offered: &str) -> bool {
    let offered = offered.trim_end();
    if offered.is_empty() || !remaining.starts_with(offered) {
        return false;
    }
    let next = remaining[offered.len()..].chars().next();
    let last = offered.chars().last();
    !(last.is_some_and(is_word) && next.is_some_and(is_word))
}

/// The same developer once more, from what the server answered at each place alone: nothing of
/// the program's is used. Returns shown, accepted, keys and accepted characters.
fn again(reference: &str, requests: &[Value]) -> [usize; 4] {
    let at: BTreeMap<usize, Vec<&str>> = requests
        .iter()
        .map(|request| {
            let candidates = request["candidates"].as_array().unwrap();
            let candidates = candidates.iter().map(|one| one.as_str().unwrap()).collect();
            (request["written"].as_u64().unwrap() as usize, candidates)
        })
        .collect();
    let (mut shown, mut accepted, mut keys, mut characters) = (0, 0, 0, 0);
    let mut written = 0;
    let mut on_display: Option<String> = None;
    while written < reference.len() {
        let remaining = &reference[written..];
        // An accept is right to its end but for white space behind it, after which nothing is
        // asked before the next key.
        let candidates = at.get(&written).cloned().unwrap_or_default();
        let whole = candidates
            .first()
            .map(|text| format!("{}{text}", &reference[..written]));
        if whole.is_some() && whole != on_display {
            on_display = whole;
            shown += 1;
            let longest = candidates.iter().filter(|text| takes(remaining, text));
            if let Some(text) = longest.max_by_key(|text| text.trim_end().len()) {
                let kept = text
                    .char_indices()
                    .zip(remaining.chars())
                    .take_while(|((_, a), b)| a == b)
                    .map(|((index, a), _)| index + a.len_utf8())
                    .last()
                    .unwrap_or(0);
                accepted += 1;
                keys += 1 + text[kept..].chars().count();
                characters += text.chars().count();
                written += kept;
                on_display = None;
                continue;
            }
        }
        keys += 1;
        written += remaining.chars().next().unwrap().len_utf8();
    }
    [shown, accepted, keys, characters]
}

/// The demo, twice: to the byte the same; and by `oracle-prefix` what an independent calculation
/// makes of the same completions.
#[test]
fn typing_the_demo_is_reproducible_and_counts_keys() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let tasks = text(&dir.path("tasks.jsonl"));
    let mine = ["mine", &demo(), "--holes", "4", "-o", &tasks];
    dir.fillrate(&mine).exits_with(0);
    let more = [
        "--tasks",
        &tasks,
        "--policy",
        "oracle-prefix,line+latency",
        "--latency",
        "120",
        "--typing-seed",
        "7",
    ];
    let first = typed(&dir, &demo(), "one", &more).exits_with(0);
    let second = typed(&dir, &demo(), "two", &more).exits_with(0);
    assert_eq!(
        exported(&dir.path("one"), &first),
        exported(&dir.path("two"), &second)
    );

    let references: BTreeMap<String, String> = holes(Path::new(&tasks))
        .into_iter()
        .map(|hole| {
            let text = |key: &str| hole[key].as_str().unwrap().to_owned();
            (text("id"), text("reference"))
        })
        .collect();
    let (mut shown, mut accepted, mut keys, mut entered, mut taken) = (0, 0, 0, 0, 0);
    let mut characters = 0;
    for ((hole, policy), typing) in typings(&dir.path("one")) {
        if policy != "oracle-prefix" {
            continue;
        }
        let reference = &references[&hole];
        let session = &typing["session"];
        let requests = session["requests"].as_array().unwrap();
        let [of_hole, accepts, pressed, chars] = again(reference, requests);
        shown += of_hole;
        accepted += accepts;
        keys += pressed;
        taken += chars;
        characters += reference.chars().count();
        entered += chars + session["keys"]["typed"].as_u64().unwrap() as usize;
    }
    assert!(
        accepted > 0,
        "nothing was accepted, so nothing is held against anything"
    );
    assert!(shown > accepted);
    let found = figures(&first.json(), "oracle-prefix");
    let close = |name: &str, expected: f64| {
        let value = found[name]["value"].as_f64().unwrap();
        assert!(
            (value - expected).abs() < 1e-12,
            "{name}: {value}, not {expected}"
        );
    };
    close("acceptance/shown", accepted as f64 / shown as f64);
    assert_eq!(found["acceptance/shown"]["n"], shown);
    close("keystrokes-saved", 1.0 - keys as f64 / characters as f64);
    close("completed-code", taken as f64 / entered as f64);
    // Who types on accepts no more than who waits for each answer, and sees what is late.
    let hurried = figures(&first.json(), "line+latency");
    assert!(hurried["late"]["value"].as_f64().unwrap() > 0.0);
    assert_eq!(found["late"]["value"], 0.0);
}

/// The reference as a model is accepted whole after one request, and passes; a restarted run
/// repeats nothing; another policy is another run.
#[test]
fn the_reference_is_accepted_at_once() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let more = [
        "--holes",
        "3",
        "--model",
        "reference",
        "--policy",
        "oracle-prefix,accept-all",
    ];
    let report = typed(&dir, &kitchen(), "run", &more).exits_with(0).json();
    for policy in ["oracle-prefix", "accept-all"] {
        let found = figures(&report, policy);
        for metric in [
            "acceptance/shown",
            "P(pass|accepted)",
            "P(accepted|pass)",
            "completed-code",
        ] {
            assert_eq!(found[metric]["value"], 1.0, "{metric}({policy})");
        }
        assert_eq!(found["wasted-accept"]["value"], 0.0);
        assert_eq!(found["repaired"]["value"], 0.0);
        assert!(found["keystrokes-saved"]["value"].as_f64().unwrap() > 0.8);
    }
    let before = typings(&dir.path("run"));
    assert_eq!(before.len(), 6);
    for typing in before.values() {
        let requests = typing["session"]["requests"].as_array().unwrap();
        assert_eq!(requests.len(), 1, "{typing:#}");
        assert_eq!(requests[0]["outcome"], "passed");
    }
    typed(&dir, &kitchen(), "run", &more).exits_with(0);
    assert_eq!(typings(&dir.path("run")), before);
    let other = [&more[..5], &["line"]].concat();
    let refusal = typed(&dir, &kitchen(), "run", &other).exits_with(1);
    assert!(
        refusal.error_message().contains("`typing` differs"),
        "{refusal:#?}"
    );
}

/// A run with missing typing records, as after a kill, makes only those.
#[test]
fn only_a_missing_typing_record_is_replayed() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let more = [
        "--holes",
        "3",
        "--policy",
        "first-token,accept-all",
        "--latency",
        "30",
    ];
    typed(&dir, &kitchen(), "run", &more).exits_with(0);
    let before = typings(&dir.path("run"));
    {
        let database = rusqlite::Connection::open(dir.path("run").join("run.db")).unwrap();
        let gone = "DELETE FROM typings WHERE policy = 'accept-all'";
        assert_eq!(database.execute(gone, []).unwrap(), 3);
        let marked = "UPDATE typings SET record = json_set(record, '$.model', 'kept')";
        assert_eq!(database.execute(marked, []).unwrap(), 3);
    }
    typed(&dir, &kitchen(), "run", &more).exits_with(0);
    for (key, typing) in typings(&dir.path("run")) {
        match key.1.as_str() {
            "first-token" => assert_eq!(typing["model"], "kept"),
            _ => assert_eq!(typing, before[&key]),
        }
    }
}

/// A typing that one of several models lost is missing, and is made by the same command.
#[test]
fn lost_typings_of_several_models_are_reported_and_made_again() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The first requests are the one that is not counted, a completion and the first key.
    let _server = ModelServer::failing(listener, 4);
    // Without requests ahead of the developer, whose failures lose nothing.
    let more = "stream = false\nretries = 0\n\n[typing]\nahead = false\n";
    dir.write("model.toml", &settings(port, more));
    let run = text(&dir.path("run"));
    let replay = || {
        let corpus = kitchen();
        let mut arguments = vec!["replay", &corpus, "--mode", "type", "--out", &run];
        arguments.extend(["--model", "model.toml", "--model", "empty"]);
        arguments.extend(["--holes", "2", "--policy", "oracle-prefix"]);
        dir.fillrate(&arguments)
    };
    let incomplete = replay().exits_with(3);
    assert!(
        incomplete.err.contains("some attempts of"),
        "{incomplete:#?}"
    );
    assert_eq!(typings(&dir.path("run/model")).len(), 1);
    assert_eq!(typings(&dir.path("run/empty")).len(), 2);
    replay().exits_with(0);
    assert_eq!(typings(&dir.path("run/model")).len(), 2);
}

/// Policies applied to a finished run's completions send no request and do not change the run: its
/// identity and its attempts' keys stay.
#[test]
fn policies_on_filled_holes_send_no_request_and_change_no_key() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let run = text(&dir.path("run"));
    let fill = [
        "replay",
        &kitchen(),
        "--holes",
        "3",
        "--json",
        "--out",
        &run,
    ];
    let plain = dir.fillrate(&fill).exits_with(0).json();
    assert!(plain["rows"][0].get("policies").is_none(), "{plain:#}");
    let before = attempts(&dir.path("run"));
    let policies = [
        "--policy",
        "accept-all,oracle-prefix,line,first-token+latency",
    ];
    let held = dir
        .fillrate(&[&fill[..], &policies].concat())
        .exits_with(0)
        .json();
    assert_eq!(attempts(&dir.path("run")), before);
    assert_eq!(typings(&dir.path("run")), BTreeMap::new());
    let all = figures(&held, "accept-all");
    assert_eq!(all["acceptance/shown"]["value"], 1.0);
    // If every completion is accepted, the accepted ones pass as often as all do.
    let row = held["rows"].as_array().unwrap().last().unwrap();
    assert_eq!(row["completions"], row["holes"]);
    assert_eq!(
        all["P(pass|accepted)"]["value"],
        row["metrics"]["pass@1"]["value"]
    );
    assert_eq!(
        figures(&held, "oracle-prefix")["acceptance/shown"]["value"],
        row["metrics"]["acceptance/oracle-prefix"]["value"]
    );
}

/// With a real clock the server's own wait is served, and every pause is slept.
#[test]
fn real_pace_takes_the_recorded_time() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let typist = dir.write(
        "typist.toml",
        "schema = 1\nname = \"quick\"\nsource = \"this test\"\n\
         key = { mean_ms = 20, sigma = 0 }\nword = { mean_ms = 20, sigma = 0 }\n\
         line = { mean_ms = 40, sigma = 0 }\n",
    );
    let more = [
        "--holes",
        "1",
        "--kinds",
        "line",
        "--pace",
        "real",
        "--policy",
        "oracle-prefix+latency",
        "--typist",
        &text(&typist),
    ];
    let started = std::time::Instant::now();
    let report = typed(&dir, &kitchen(), "run", &more).exits_with(0).json();
    let took = started.elapsed().as_secs_f64() * 1000.0;
    let typings = typings(&dir.path("run"));
    let session = &typings.values().next().unwrap()["session"];
    let virtually = session["duration_ms"].as_f64().unwrap();
    assert!(took >= virtually, "{took} {virtually}");
    // The editor waits longer than this typist: after the first key there is no request.
    assert_eq!(figures(&report, "oracle-prefix+latency")["late"]["n"], 1);
}

/// Completions that the developer is shown and accepts reach the server as from an editor: a store
/// of telemetry has it, marked as simulated.
#[test]
fn a_store_records_what_the_developer_saw_and_accepted() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let store = dir.path("telemetry.db");
    let more = [
        "--holes",
        "2",
        "--policy",
        "accept-all",
        "--latency",
        "30",
        "--telemetry",
        &text(&store),
    ];
    typed(&dir, &kitchen(), "run", &more).exits_with(0);
    let (mut on_display, mut accepts) = (0, 0);
    for typing in typings(&dir.path("run")).into_values() {
        for request in typing["session"]["requests"].as_array().unwrap() {
            on_display += usize::from(request["result"] == "shown");
            accepts += usize::from(request.get("accepted").is_some());
        }
    }
    assert!(accepts > 0);
    let noted = fillrate_server::telemetry::read(&store)
        .unwrap()
        .completions;
    assert!(noted.iter().all(|one| one.answered.simulated));
    // When filling, the developer takes what is offered at once, and does not report its display.
    let typed: Vec<_> = noted.iter().filter(|one| !one.answered.invoked).collect();
    let taken = typed.iter().filter(|one| one.accepted.is_some()).count();
    let timed = typed.iter().filter_map(|one| one.shown?.ms).count();
    assert_eq!((timed, taken), (on_display, accepts));
}

#[test]
fn meaningless_options_are_refused_in_one_sentence() {
    let dir = TestDir::new();
    let refusal = |more: &[&str]| {
        let finished = dir.fillrate(&[&["replay", &kitchen()], more].concat());
        finished.exits_with(1).error_message().to_owned()
    };
    let none = refusal(&["--policy", "greedy"]);
    assert!(
        none.starts_with("`greedy` is no policy; the policies are `accept-all`"),
        "{none}"
    );
    assert!(refusal(&["--policy", "line,line"]).contains("twice"));
    assert!(refusal(&["--latency", "3"]).contains("--mode type"));
    assert!(refusal(&["--typist", "none.toml"]).contains("--mode type"));
    assert!(refusal(&["--predictions", "none.jsonl"]).contains("--model predictions"));
    assert!(refusal(&["--mode", "type", "--pace", "real", "--latency", "3"]).contains("wall"));
    let recorded = refusal(&["--mode", "type", "--model", "answers.jsonl"]);
    assert!(recorded.contains("beginning alone"), "{recorded}");
    assert!(refusal(&["--policy", "probabilistic=gone.toml"]).contains("gone.toml is no policy"));
}
