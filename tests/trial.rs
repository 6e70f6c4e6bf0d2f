//! Several models on trial, the whole way: a scripted person works in files with the real server,
//! and the statistics report the result.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::browser::{Browser, Live, assert_accessible, seen};
use crate::support::editor::{Editor, ScriptedModel, TIME_LIMIT, uri};
use crate::support::play::text;
use crate::support::processes::RunningProgram;

/// Two configurations of the embedded model that differ in quality: one writes to the end of what
/// it is sure of, the other breaks off after three tokens.
const SHARP_AND_BLUNT: &str = "
[models.sharp]
protocol = \"embedded\"

[models.blunt]
protocol = \"embedded\"
max_tokens = 3
";

/// Number of files that the person works in.
const FILES: usize = 10;

/// The lines that are missing in each file, and how each begins.
const MISSING: [(&str, &str); 3] = [
    ("    total = ", "item.price * item.count"),
    ("    tax = ", "total * RATE"),
    ("    return ", "total + tax"),
];

/// A file of the person's: alike others, so that the next line is predictable from the others.
fn file(number: usize) -> String {
    let mut file = format!("RATE = 0.2\n\n\ndef price_{number}(item):\n");
    for (begin, end) in MISSING {
        file.push_str(&format!("{begin}{end}\n"));
    }
    file
}

/// A person at an editor.
struct Person {
    folder: tempfile::TempDir,
    editor: Editor,
    store: PathBuf,
    /// Every answer the server gave.
    answers: Vec<Value>,
    versions: i32,
}

/// The result of a request.
struct Offer {
    items: Vec<Value>,
    /// The trial's assignment, from the trace.
    trial: Value,
}

impl Offer {
    fn texts(&self) -> Vec<&str> {
        let items = self.items.iter();
        items
            .map(|item| item["insertText"].as_str().unwrap())
            .collect()
    }

    /// Returns the index of the candidate that begins with a line.
    fn position(&self, line: &str) -> Option<usize> {
        let mut texts = self.texts().into_iter();
        texts.position(|text| text.lines().next() == Some(line))
    }

    fn models_called(&self) -> Vec<&str> {
        let models_called = self.trial["asked"].as_array().unwrap().iter();
        models_called.map(|name| name.as_str().unwrap()).collect()
    }
}

impl Person {
    fn at_work(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..FILES {
            std::fs::write(folder.path().join(format!("f{number}.py")), file(number)).unwrap();
        }
        let store = folder.path().join(".telemetry.db");
        let settings = format!(
            "{settings}\n[telemetry]\npath = {:?}\nretention_s = [1]\n[typing]\nahead = false\n\
             [cleanup]\nextent = \"line\"\n",
            store.display().to_string()
        );
        let editor = Editor::ready(folder.path(), &settings);
        Self {
            folder,
            editor,
            store,
            answers: Vec::new(),
            versions: 1,
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.editor.request(method, params);
        self.answers.push(answer.clone());
        answer["result"].clone()
    }

    /// Opens a file whose missing line has just been begun, and requests the rest.
    fn ask_at(&mut self, number: usize, missing: usize) -> Offer {
        let (begin, end) = MISSING[missing];
        let whole = file(number);
        let before = whole.split_once(&format!("{begin}{end}\n")).unwrap().0;
        let uri = self.uri(number);
        self.versions += 1;
        let opened = format!("{before}{begin}\n");
        if missing == 0 {
            self.editor.open(&uri, "python", &opened);
        } else {
            self.editor.change(&uri, self.versions, &opened);
        }
        let line = u32::try_from(before.lines().count()).unwrap();
        self.request_completion(&uri, line, u32::try_from(begin.len()).unwrap())
    }

    fn request_completion(&mut self, uri: &str, line: u32, character: u32) -> Offer {
        let answer = self.request(
            "textDocument/inlineCompletion",
            json!({
                "textDocument": {"uri": uri},
                "position": {"line": line, "character": character},
                "context": {"triggerKind": 2},
            }),
        );
        let explained = self.request("fillrate/explain", json!({"textDocument": {"uri": uri}}));
        Offer {
            items: answer["items"].as_array().cloned().unwrap_or_default(),
            trial: explained["trace"]["trial"].clone(),
        }
    }

    /// Accepts a candidate that is right. Otherwise rejects the display and types the right text.
    fn judge(&mut self, offer: &Offer, number: usize, missing: usize) {
        match offer.position(MISSING[missing].1) {
            Some(index) => self.accept(&offer.items[index]),
            None if !offer.items.is_empty() => {
                let argument = &offer.items[0]["command"]["arguments"][0];
                self.editor.notify(
                    "fillrate/event",
                    json!({
                        "completion": argument["completion"], "candidate": 0,
                        "event": "dismissed", "certainty": "confirmed", "shownMs": 900,
                    }),
                );
            }
            None => {}
        }
        self.finish(number, missing);
    }

    /// Has the missing line in the file, be it taken or typed.
    fn finish(&mut self, number: usize, missing: usize) {
        let (begin, end) = MISSING[missing];
        let line = format!("{begin}{end}\n");
        let whole = file(number);
        let before = whole.split_once(&line).unwrap().0;
        let uri = self.uri(number);
        self.versions += 1;
        let finished = format!("{before}{line}");
        self.editor.change(&uri, self.versions, &finished);
    }

    fn accept(&mut self, item: &Value) {
        let mut argument = item["command"]["arguments"][0].clone();
        argument["certainty"] = json!("confirmed");
        argument["shownMs"] = json!(900);
        self.request(
            "workspace/executeCommand",
            json!({"command": item["command"]["command"], "arguments": [argument]}),
        );
    }

    /// Works through every missing line of every file.
    fn work(&mut self) -> Vec<Vec<String>> {
        self.work_in(0..FILES)
    }

    /// Works through every missing line of some files.
    fn work_in(&mut self, files: Range<usize>) -> Vec<Vec<String>> {
        let mut models_called = Vec::new();
        for number in files {
            for (missing, _) in MISSING.iter().enumerate() {
                let offer = self.ask_at(number, missing);
                assert!(!offer.items.is_empty(), "nothing for {number}, {missing}");
                let names = offer.models_called().into_iter();
                models_called.push(names.map(str::to_owned).collect());
                self.judge(&offer, number, missing);
            }
        }
        models_called
    }

    fn settings(&mut self, settings: Value) {
        let params = json!({"settings": {"fillrate": settings}});
        self.editor
            .notify("workspace/didChangeConfiguration", params);
    }

    fn models(&mut self) -> Value {
        self.request("fillrate/models", json!({}))
    }

    fn uri(&self, number: usize) -> String {
        uri(self.folder.path(), &format!("f{number}.py"))
    }

    /// Waits for the last status to be so.
    fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) {
        let until = Instant::now() + TIME_LIMIT;
        loop {
            let mut said = self.editor.notifications.iter().rev();
            let status = said.find(|message| message["method"] == "fillrate/status");
            if status.is_some_and(|status| holds(&status["params"])) {
                return;
            }
            assert!(
                Instant::now() < until,
                "{what}: {:?}",
                self.editor.notifications
            );
            self.editor.receive(Duration::from_millis(50));
        }
    }

    /// Returns the number of times that the server indexed the repository.
    fn indexings(&self) -> usize {
        let said = self.editor.notifications.iter();
        said.filter(|message| message["params"]["text"] == "indexing 0 %")
            .count()
    }

    /// Ends the session, so that all is in the store.
    fn leave(mut self) -> (tempfile::TempDir, PathBuf) {
        self.request("shutdown", Value::Null);
        (self.folder, self.store)
    }
}

/// Returns the output of `fillrate telemetry stats`.
fn stats(store: &std::path::Path, more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fillrate"))
        .args(["telemetry", "stats", "--store"])
        .arg(store)
        .args(more)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn stats_json(store: &std::path::Path, more: &[&str]) -> Value {
    serde_json::from_str(&stats(store, &[&["--json"], more].concat())).unwrap()
}

fn trial(unit: &str, seed: u64, blind: bool) -> String {
    format!(
        "{SHARP_AND_BLUNT}[trial]\nmodels = [\"sharp\", \"blunt\"]\nunit = \"{unit}\"\n\
         seed = {seed}\nblind = {blind}\n"
    )
}

#[test]
fn a_trial_identifies_the_better_model() {
    let mut person = Person::at_work(&trial("request", 1, false));
    person.work();
    // What was taken is looked at after a second.
    let until = Instant::now() + TIME_LIMIT;
    loop {
        let so_far = stats_json(&person.store, &[]);
        let sharp = &so_far["trial"]["arms"][0];
        if sharp["retained@1"]["n"] == sharp["accepted"] {
            break;
        }
        assert!(Instant::now() < until, "{so_far:#}");
        person.editor.receive(Duration::from_millis(200));
    }
    let (_folder, store) = person.leave();
    let stats_of = stats_json(&store, &[]);
    let trial = &stats_of["trial"];
    assert_eq!(trial["arms"][0]["retained@1"]["value"], 1.0);
    let arms = trial["arms"].as_array().unwrap();
    let names: Vec<_> = arms
        .iter()
        .map(|arm| arm["model"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["sharp", "blunt"]);
    for arm in arms {
        assert!(arm["shown"].as_u64().unwrap() >= 5, "{trial:#}");
        assert!(
            arm["latency_ms/median"]["n"].as_u64().unwrap() >= 5,
            "{trial:#}"
        );
        assert_eq!(arm["acceptance/shown"]["n"], arm["shown"]);
    }
    let difference = &trial["differences"][0];
    assert_eq!(difference["first"], "sharp");
    assert_eq!(difference["clear"], true, "{trial:#}");
    assert!(
        difference["difference"]["low"].as_f64().unwrap() > 0.0,
        "{trial:#}"
    );
    assert!(difference["shown_needed"].is_null());
    let rows = stats_of["rows"].as_array().unwrap();
    let by: BTreeSet<_> = rows
        .iter()
        .map(|row| row["by"].as_object().unwrap().len())
        .collect();
    assert_eq!(by, BTreeSet::from([1, 2]));
    let confirmed: u64 = rows[..2]
        .iter()
        .map(|row| row["shown"]["confirmed"].as_u64().unwrap())
        .sum();
    let shown: u64 = arms.iter().map(|arm| arm["shown"].as_u64().unwrap()).sum();
    assert_eq!(confirmed, shown);
    assert_eq!(shown, (FILES * MISSING.len()) as u64, "{stats_of:#}");

    let table = stats(&store, &[]);
    assert!(
        table.contains("sharp is accepted more often than blunt: sharp − blunt is +"),
        "{table}"
    );
    assert!(table.contains("Too few samples"), "{table}");
    eprintln!("{table}");
    // A day without completions.
    let none = stats_json(&store, &["--simulated"]);
    assert_eq!(
        (none["rows"].as_array().unwrap().len(), &none["trial"]),
        (0, &Value::Null)
    );
}

/// People who ended a trial send its figures, or watch them while it goes on.
#[test]
fn a_page_shows_a_trial_at_every_width_and_as_it_goes_on() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let mut person = Person::at_work(&trial("request", 1, false));
    person.work_in(0..FILES - 1);
    let out = person.folder.path().join("page");
    stats(&person.store, &["-o", &text(&out)]);
    let found = browser.look("acceptance", &out);
    let screens = found["screens"].as_object().unwrap();
    assert_eq!(screens.len(), 6);
    for (name, screen) in screens {
        assert_accessible(name, screen);
        let shown = screen["text"].as_str().unwrap();
        assert!(shown.contains("sharp is accepted most"), "{shown}");
        assert!(shown.contains("sharp − blunt is +"), "{shown}");
    }
    // A page of something else is not replaced.
    std::fs::write(out.join("index.html"), "<h1>Mine</h1>").unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_fillrate"))
        .args(["telemetry", "stats", "-o"])
        .arg(&out)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && error.contains("is a page of something else"),
        "{error}"
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_fillrate"));
    command
        .args(["telemetry", "stats", "--live", "--store"])
        .arg(&person.store);
    let live = Live::start(command);
    let watching = browser
        .command("watch", &live.address)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut watching = RunningProgram(watching.unwrap());
    let mut steps = BufReader::new(watching.0.stderr.take().unwrap()).lines();
    assert_eq!(steps.next().unwrap().unwrap(), "seen");
    person.work_in(FILES - 1..FILES);
    let _left = person.leave();
    assert_eq!(steps.next().unwrap().unwrap(), "changed");
    drop(live);
    let mut output = String::new();
    let mut stdout = watching.0.stdout.take().unwrap();
    stdout.read_to_string(&mut output).unwrap();
    let watched = seen(output.as_bytes());
    assert_ne!(watched["before"], watched["after"]);
    let last = watched["last"].as_str().unwrap();
    assert!(last.contains("fillrate was stopped"), "{last}");
}

#[test]
fn assignments_are_reproducible_from_the_seed() {
    let drawn = |seed| Person::at_work(&trial("request", seed, false)).work();
    let first = drawn(5);
    assert_eq!(first, drawn(5));
    assert_ne!(first, drawn(6));
    let arms: BTreeSet<_> = first.iter().flatten().collect();
    assert_eq!(arms.len(), 2, "{first:?}");
}

#[test]
fn a_session_uses_one_model() {
    let mut person = Person::at_work(&trial("session", 5, false));
    let models_called = person.work();
    let arms: BTreeSet<_> = models_called.iter().flatten().cloned().collect();
    assert_eq!(arms.len(), 1, "{models_called:?}");
    let name = arms.into_iter().next().unwrap();
    person.until("the answering model is named", |status| {
        status["trial"] == true && status["model"] == *name
    });
}

#[test]
fn a_blind_trial_reveals_no_model_until_it_ends() {
    let mut person = Person::at_work(&trial("request", 1, true));
    let models_called = person.work_blindly();
    assert!(models_called > 0);
    // The list of completions, too.
    let uri = person.uri(0);
    person.request(
        "textDocument/completion",
        json!({"textDocument": {"uri": uri}, "position": {"line": 4, "character": 8}}),
    );
    person.request(
        "fillrate/explain",
        json!({"textDocument": {"uri": uri}, "position": {"line": 4, "character": 8}}),
    );
    let names_model = |said: &str| {
        ["sharp", "blunt", "embedded"]
            .iter()
            .any(|name| said.contains(name))
    };
    for said in person.answers.iter().chain(&person.editor.notifications) {
        assert!(!names_model(&said.to_string()), "{said}");
        assert!(said["params"]["model"].is_null(), "{said}");
    }
    assert!(!names_model(&person.editor.errors.lock().unwrap()));
    // The models of the trial are public; the one that answers is hidden.
    let models = person.models();
    assert_eq!(models["trial"]["models"], json!(["sharp", "blunt"]));
    assert_eq!(models["trial"]["blind"], true);
    let mut active = models["models"].as_array().unwrap().iter();
    assert!(active.all(|model| model["active"] == false), "{models}");
    assert_eq!(
        models["telemetry"]["path"],
        person.store.display().to_string()
    );

    // An accept waits for the store, so all before it is there.
    let offer = person.ask_at(3, 0);
    person.accept(&offer.items[0]);
    let hidden = stats(&person.store, &[]);
    assert!(
        !names_model(&hidden) && hidden.contains("blind trial"),
        "{hidden}"
    );
    let hidden = stats_json(&person.store, &[]);
    assert!(!names_model(&hidden.to_string()), "{hidden:#}");
    assert_eq!(hidden["trial"]["arms"][0]["model"], "A");
    assert_eq!(hidden["trial"]["hidden"], true);
    assert!(names_model(&stats(&person.store, &["--unblind"])));

    person.settings(json!({"trial": null, "use": "sharp"}));
    person.until("the trial is over", |status| {
        status["trial"] == false && status["model"] == "sharp"
    });
    let offer = person.ask_at(4, 0);
    person.accept(&offer.items[0]);
    let shown = stats_json(&person.store, &[]);
    assert_eq!(shown["trial"]["arms"][0]["model"], "sharp", "{shown:#}");
    assert_eq!(person.indexings(), 1);
}

impl Person {
    /// As [`Person::work`], in a blind trial.
    fn work_blindly(&mut self) -> usize {
        let mut offered = 0;
        for number in 0..3 {
            for (missing, _) in MISSING.iter().enumerate() {
                let offer = self.ask_at(number, missing);
                assert!(offer.trial.is_null());
                offered += offer.items.len();
                self.judge(&offer, number, missing);
            }
        }
        offered
    }
}

#[test]
fn pairs_have_a_drawn_order_and_choices_count() {
    let mut person = Person::at_work(&trial("pairs", 2, false));
    let mut orders = BTreeSet::new();
    let mut refused = 0;
    for number in 0..FILES {
        for (missing, (_, right)) in MISSING.iter().enumerate() {
            let offer = person.ask_at(number, missing);
            let models_called = offer.models_called();
            assert_eq!(models_called.len(), 2);
            let of: Vec<u64> = offer.trial["whose"]
                .as_array()
                .unwrap()
                .iter()
                .map(|of| of.as_u64().unwrap())
                .collect();
            assert_eq!(of.len(), offer.items.len());
            orders.insert(models_called[0].to_owned());
            let other = (0..of.len()).find(|index| Some(*index) != offer.position(right));
            match other.filter(|_| refused < 3 && of.len() == 2) {
                // Now and then the person takes the worse one.
                Some(other) => {
                    refused += 1;
                    person.accept(&offer.items[other]);
                    person.finish(number, missing);
                }
                None => person.judge(&offer, number, missing),
            }
        }
    }
    assert_eq!(orders.len(), 2, "one is always first: {orders:?}");
    let (_folder, store) = person.leave();
    let stats_of = stats_json(&store, &[]);
    let trial = &stats_of["trial"];
    assert_eq!(trial["unit"], "pairs");
    // Of a pair, neither counts as a model's that was shown alone.
    assert_eq!(stats_of["rows"], json!([]));
    let strength = |name: &str| trial["strengths"][name]["value"].as_f64().unwrap();
    assert!(strength("sharp") > strength("blunt"), "{trial:#}");
    let chosen: u64 = trial["arms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arm| arm["accepted"].as_u64().unwrap())
        .sum();
    assert_eq!(trial["strengths"]["sharp"]["n"], chosen, "{trial:#}");
    assert_eq!(trial["differences"][0]["variant"], "acceptance/pairs");
}

#[test]
fn switching_models_does_not_reindex_the_repository() {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| "alpha(beta)".to_owned());
    let mut person = Person::at_work(&format!("{}{SHARP_AND_BLUNT}", scripted.settings()));
    let offer = person.ask_at(0, 0);
    assert_eq!(offer.texts(), ["alpha(beta)"]);
    assert!(offer.trial.is_null());
    person.until("the answering model is named", |status| {
        status["model"] == "qwen2.5-coder" && status["trial"] == false
    });
    person.settings(json!({"use": "sharp"}));
    person.until("the other answers", |status| status["model"] == "sharp");
    // It was not there when the files were read, and knows them all the same.
    let offer = person.ask_at(1, 0);
    assert_eq!(offer.position(MISSING[0].1), Some(0), "{:?}", offer.texts());
    let models = person.models();
    let active: Vec<_> = models["models"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|model| model["active"] == true)
        .map(|model| model["name"].as_str().unwrap())
        .collect();
    assert_eq!(active, ["sharp"]);
    // One that does not exist is refused, and nothing is asked until one that exists is chosen.
    person.settings(json!({"use": "none"}));
    person.until("it is refused", |status| {
        let message = status["message"].as_str().unwrap_or_default();
        message.contains("`use` names the model `none`")
    });
    let offer = person.ask_at(2, 0);
    assert!(offer.texts().is_empty(), "{:?}", offer.texts());
    person.settings(json!({}));
    person.until("the first answers again", |status| {
        status["model"] == "qwen2.5-coder"
    });
    let offer = person.ask_at(3, 0);
    assert_eq!(offer.texts(), ["alpha(beta)"]);
    assert_eq!(person.indexings(), 1);
}

#[test]
fn typed_through_completions_stay_with_their_model() {
    let first = ScriptedModel::new(Duration::ZERO, |_| "alpha(beta, gamma)".to_owned());
    let second = ScriptedModel::new(Duration::ZERO, |_| "alpha(delta, epsilon)".to_owned());
    let settings = format!(
        "{}\n{}\n[trial]\nmodels = [\"default\", \"other\"]\nseed = 3\n",
        first.settings(),
        second.settings().replace("[model]", "[models.other]")
    );
    let mut person = Person::at_work(&settings);
    let mut arms = BTreeSet::new();
    for number in 0..4 {
        let uri = uri(person.folder.path(), &format!("new_{number}.py"));
        person
            .editor
            .open(&uri, "python", &format!("x_{number} = \n"));
        let offer = person.request_completion(&uri, 0, 6);
        let (whole, arm) = (
            offer.texts()[0].to_owned(),
            offer.models_called()[0].to_owned(),
        );
        for typed in 1..8 {
            let (version, at) = (typed + 1, 5 + u32::try_from(typed).unwrap());
            let index = usize::try_from(typed).unwrap();
            let key = &whole[index - 1..index];
            person.editor.insert(&uri, version, 0, at, key);
            let offer = person.request_completion(&uri, 0, at + 1);
            assert_eq!(offer.texts(), [&whole[index..]]);
            assert_eq!(offer.models_called(), [&*arm]);
        }
        arms.insert(arm);
    }
    assert_eq!(arms.len(), 2, "all of the files were one model's");
    let prompts = |scripted: &ScriptedModel| scripted.prompts.lock().unwrap().len();
    assert_eq!(prompts(&first) + prompts(&second), 4);
}

#[test]
fn an_invalid_trial_is_refused_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let settings = format!("{SHARP_AND_BLUNT}[trial]\nmodels = [\"sharp\"]\n");
    let path = folder.path().join("s.toml");
    std::fs::write(&path, settings).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fillrate"))
        .args(["serve", "--config"])
        .arg(&path)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(
        errors.contains("`trial.models` names `sharp` alone"),
        "{errors}"
    );
}
