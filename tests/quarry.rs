//! Forgeries never pass and honest code of unusual form always does, for each runner and engine.
//!
//! `tests/corpora/quarry` has the tests of each runner, of the same functions, and
//! `tests/quarry.toml` the completions. Among the honest ones is a search through all that a
//! process can read while it runs a change: it fails where it finds a word of the reference, or an
//! answer that is altered in its tests.
//!
//! CI judges those of pytest, warm; `FILLRATE_ATTACKS=all` judges those of every runner with every
//! engine.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::play::{TestDir, attempts, files, has_tools, holes, repository, run, text};
use crate::support::programs::{go_first, judges_all_attacks, junit_in_maven};

/// A completion.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedText {
    runners: Vec<String>,
    function: String,
    name: String,
    passes: bool,
    code: String,
}

/// Text that only the reference of a function has.
const MARKS: [(&str, &str); 12] = [
    ("haul", "gross"),
    ("grade", "fine"),
    ("heavy", "kept"),
    ("stack", "rows + 1"),
    ("seal", "granitic"),
    ("commented", "412 * 10"),
    ("bounded", "543 * 10"),
    ("stored", "674 * 10"),
    ("matched", "806 * 10"),
    ("chosen", "937 * 10"),
    ("guarded", "1068 * 10"),
    ("empty", "1199 * 10"),
];

/// The lines of the manifest of a runner's project that only it has.
fn manifest(runner: &str) -> &'static str {
    match runner {
        "pytest" => {
            "language = \"python\"\nholes = [\"src/**/*.py\"]\n[project.environment]\npackages = [\"pytest==8.4.2\", \"coverage==7.10.7\", \"iniconfig==2.1.0\", \"packaging==25.0\", \"pluggy==1.6.0\", \"Pygments==2.19.2\"]\n[project.test]\nargs = [\"tests\"]\npath = [\"src\"]"
        }
        "unittest" => {
            "language = \"python\"\nholes = [\"src/**/*.py\"]\n[project.environment]\npackages = [\"coverage==7.10.7\"]\n[project.test]\nargs = [\"discover\", \"-s\", \"tests\"]\npath = [\"src\"]"
        }
        "vitest" => {
            "language = \"typescript\"\nholes = [\"src/**/*.ts\"]\n[project.environment]\nlock = \"package-lock.json\"\n[project.test]"
        }
        "node" => {
            "language = \"javascript\"\nholes = [\"src/**/*.js\"]\n[project.environment]\npackages = []\n[project.test]"
        }
        "go" => {
            "language = \"go\"\nholes = [\"rocks.go\"]\n[project.environment]\nmodule = \"go.mod\"\n[project.test]"
        }
        "jupiter" => {
            "language = \"java\"\nholes = [\"src/main/java/**/*.java\"]\n[project.environment]\npackages = [\"org.junit.platform:junit-platform-console-standalone:1.9.1\"]\n[project.test]"
        }
        _ => {
            "language = \"javascript\"\nholes = [\"src/**/*.js\"]\n[project.environment]\nlock = \"package-lock.json\"\n[project.test]"
        }
    }
}

/// The folder with the functions that a runner's project shares with another's.
fn shared_sources(runner: &str) -> Option<&'static str> {
    match runner {
        "pytest" | "unittest" => Some("python"),
        "jest" | "mocha" => Some("commonjs"),
        _ => None,
    }
}

/// Replays a runner's texts with each engine and checks their outcomes.
fn judge(runner: &str, variables: &[(&str, String)]) {
    let dir = TestDir::new();
    let name = format!("quarry-{runner}");
    for part in [shared_sources(runner), Some(runner)].into_iter().flatten() {
        let folder = repository(&format!("tests/corpora/quarry/{part}"));
        for path in files(&folder) {
            let contents = std::fs::read_to_string(folder.join(&path)).unwrap();
            dir.write(&format!("{name}/{}", text(&path)), &contents);
        }
    }
    let packages = [("vitest", "dairy"), ("jest", "quay"), ("mocha", "orchard")];
    if let Some((_, packages)) = packages.into_iter().find(|(of, _)| *of == runner) {
        for file in ["package.json", "package-lock.json"] {
            let path = repository(&format!("tests/corpora/{packages}/{file}"));
            let contents = std::fs::read_to_string(path).unwrap();
            dir.write(&format!("{name}/{file}"), &contents);
        }
    }
    let corpus = text(&dir.write(
        "corpus.toml",
        &format!(
            "schema = 1\n[[project]]\nname = \"{name}\"\nsource = {{ path = \"{name}\" }}\n{}\nrunner = \"{runner}\"\n",
            manifest(runner)
        ),
    ));
    let fillrate = |arguments: &[&str]| {
        let mut command = dir.command(arguments);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        run(&mut command).exits_with(0)
    };
    let mined = text(&dir.path("mined.jsonl"));
    let mine = [
        "mine", &corpus, "--kinds", "body", "--holes", "30", "-o", &mined,
    ];
    fillrate(&mine);
    let texts = listed(runner);
    let mut tasks = String::new();
    let mut predictions = String::new();
    let mut offered: BTreeMap<String, Vec<(&str, bool)>> = BTreeMap::new();
    let mined = holes(Path::new(&mined));
    for (function, mark) in MARKS {
        let own: Vec<&ListedText> = texts
            .iter()
            .filter(|one| one.function == function)
            .collect();
        let hole = mined
            .iter()
            .find(|hole| hole["reference"].as_str().unwrap().contains(mark));
        let hole = hole.unwrap_or_else(|| panic!("{runner}: no hole in {function}"));
        let reference = hole["reference"].as_str().unwrap();
        // A reference of other bytes runs among twins.
        let reference = format!("{reference}\n");
        let codes: Vec<&str> = own
            .iter()
            .map(|one| one.code.as_str())
            .chain([reference.as_str()])
            .collect();
        tasks += &format!("{hole}\n");
        predictions += &format!("{}\n", json!({"hole": hole["id"], "completions": codes}));
        let expected = own.iter().map(|one| (one.name.as_str(), one.passes));
        let expected = expected.chain([("the reference", true)]).collect();
        offered.insert(hole["id"].as_str().unwrap().to_owned(), expected);
    }
    let tasks = text(&dir.write("tasks.jsonl", &tasks));
    let predictions = text(&dir.write("predictions.jsonl", &predictions));
    let engines: &[&str] = match judges_all_attacks() {
        true => &["warm", "cold", "naive"],
        false => &["warm"],
    };
    let mut wrong = Vec::new();
    for engine in engines {
        let folder = dir.path(engine);
        let mut arguments = vec![
            "replay",
            &corpus,
            "--tasks",
            &tasks,
            "--model",
            "predictions",
        ];
        let out = text(&folder);
        arguments.extend([
            "--predictions",
            &predictions,
            "--engine",
            engine,
            "--out",
            &out,
        ]);
        arguments.extend(["--jobs", "1", "--anew"]);
        fillrate(&arguments);
        let (mut forgeries, mut honest) = (0, 0);
        for attempt in attempts(&folder).into_values() {
            let expected = &offered[attempt["hole"].as_str().unwrap()];
            let sample = attempt["sample"].as_u64().unwrap();
            let (text, passes) = expected[usize::try_from(sample).unwrap()];
            let verdict: &Value = &attempt["verdict"];
            let outcome = verdict["outcome"].as_str().unwrap();
            let fits = match passes {
                true => outcome == "passed",
                // Nothing leaves the denominator.
                false => !matches!(outcome, "passed" | "infrastructure" | "unjudged" | "flaky"),
            };
            forgeries += usize::from(!passes);
            honest += usize::from(passes);
            if !fits {
                wrong.push(format!("{runner}, {engine}: {text}: {verdict:#}"));
            }
        }
        println!("{runner}, {engine}: {forgeries} forgeries and {honest} honest texts judged");
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The texts for a runner.
fn listed(runner: &str) -> Vec<ListedText> {
    #[derive(Deserialize)]
    struct List {
        text: Vec<ListedText>,
    }
    let path = repository("tests/quarry.toml");
    let list: List = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let is_own = |text: &ListedText| text.runners.iter().any(|own| own == runner);
    let texts: Vec<ListedText> = list.text.into_iter().filter(is_own).collect();
    assert!(texts.len() >= 20, "{runner}");
    texts
}

#[test]
fn forgeries_under_pytest_do_not_pass_and_honest_code_does() {
    if has_tools(&["python3"]) {
        judge("pytest", &[]);
    }
}

#[test]
fn forgeries_under_unittest_do_not_pass_and_honest_code_does() {
    if judges_all_attacks() && has_tools(&["python3"]) {
        judge("unittest", &[]);
    }
}

#[test]
fn forgeries_under_javascript_runners_do_not_pass_and_honest_code_does() {
    if judges_all_attacks() && has_tools(&["node", "npm"]) {
        for runner in ["vitest", "jest", "mocha", "node"] {
            judge(runner, &[]);
        }
    }
}

#[test]
fn forgeries_under_go_do_not_pass_and_honest_code_does() {
    if judges_all_attacks()
        && let Some(variable) = go_first()
    {
        judge("go", &[variable]);
    }
}

#[test]
fn forgeries_under_junit_do_not_pass_and_honest_code_does() {
    if judges_all_attacks()
        && let Some(variable) = junit_in_maven()
    {
        judge("jupiter", &[variable]);
    }
}
