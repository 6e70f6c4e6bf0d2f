//! `fillrate study` and `fillrate plan` with the real program.

use std::fs;

use serde_json::Value;

use crate::support::play::{self, TestDir, text};

/// Table 9 of RepoMasterEval (<https://arxiv.org/abs/2408.03519>), in percentage points from the
/// first version, which is at 0.
const TABLE_9_OFFLINE: &str = "\
version,language,metric,value,n
1.0,python,pass rate,0,
1.1,python,pass rate,-0.9,
1.2,python,pass rate,6.3,
1.3,python,pass rate,5.1,
1.0,python,HumanEval,0,
1.1,python,HumanEval,0.8,
1.2,python,HumanEval,-8.9,
1.3,python,HumanEval,-14.8,
1.0,typescript,pass rate,0,
1.1,typescript,pass rate,5.2,
1.2,typescript,pass rate,5.2,
1.3,typescript,pass rate,8.1,
";

const TABLE_9_ONLINE: &str = "\
version,language,metric,value,n
1.0,python,acceptance rate,0,
1.1,python,acceptance rate,-0.1,
1.2,python,acceptance rate,1.4,
1.3,python,acceptance rate,1.2,
1.0,typescript,acceptance rate,0,
1.1,typescript,acceptance rate,1.2,
1.2,typescript,acceptance rate,1.7,
1.3,typescript,acceptance rate,3.9,
";

fn pair<'a>(study: &'a Value, language: &str, offline: &str) -> &'a Value {
    let pairs = study["pairs"].as_array().unwrap();
    pairs
        .iter()
        .find(|pair| pair["language"] == language && pair["offline"] == offline)
        .unwrap_or_else(|| panic!("there is no {language} {offline}: {pairs:#?}"))
}

#[test]
fn table_9_is_reproduced_as_published() {
    let dir = TestDir::new();
    let offline = text(&dir.write("offline.csv", TABLE_9_OFFLINE));
    let online = text(&dir.write("online.csv", TABLE_9_ONLINE));
    let finished = dir
        .fillrate(&[
            "study",
            "--offline",
            &offline,
            "--online",
            &online,
            "--by",
            "version,language",
            "-o",
            "out",
        ])
        .exits_with(0);
    assert!(dir.path("out/.gitignore").is_file());
    let json = fs::read_to_string(dir.path("out/study.json")).unwrap();
    let study: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(study["schema"], 2);
    assert_eq!(study["pairs"].as_array().unwrap().len(), 3);
    for (language, metric, r, p, answer) in [
        ("python", "pass rate", 0.998, 1.0 / 24.0, "together"),
        ("typescript", "pass rate", 0.922, 4.0 / 24.0, "cant-tell"),
        ("python", "HumanEval", -0.908, 7.0 / 24.0, "cant-tell"),
    ] {
        let pair = pair(&study, language, metric);
        let pearson = &pair["coefficients"][0];
        assert_eq!(pearson["name"], "pearson");
        let value = pearson["value"].as_f64().unwrap();
        assert!((value - r).abs() < 0.0005, "{language} {metric}: {value}");
        let found = pearson["p"].as_f64().unwrap();
        assert!((found - p).abs() < 1e-12, "{language} {metric}: {found}");
        assert_eq!(pearson["p_draws"], Value::Null);
        assert_eq!(pair["conclusion"], answer);
        // Four versions have little power with any result.
        let power = pair["design"]["power"].as_array().unwrap();
        let of_eight = power.iter().find(|at| at["true_r"] == 0.8).unwrap();
        let student = of_eight["student"]["value"].as_f64().unwrap();
        assert!((student - 0.253).abs() < 0.03, "{student}");
        // The errors of published differences are unknown.
        assert_eq!(pair["attenuation"], Value::Null);
    }
    let page = fs::read_to_string(dir.path("out/index.html")).unwrap();
    for text in [&finished.out, &page] {
        assert!(text.contains("4 versions are weak"), "{text}");
        assert!(text.contains("r = .998"), "{text}");
        assert!(text.contains("exact permutation p = .042"), "{text}");
        assert!(text.contains("↓14.8"), "{text}");
        assert!(text.contains("→0.0") || text.contains("baseline"), "{text}");
    }
    // The same command gives the same bytes.
    let again = dir.fillrate(&[
        "study",
        "--offline",
        &offline,
        "--online",
        &online,
        "--by",
        "version,language",
        "-o",
        "again",
    ]);
    again.exits_with(0);
    let again = fs::read_to_string(dir.path("again/study.json")).unwrap();
    assert_eq!(again, json);
}

#[test]
fn a_study_without_one_side_is_refused() {
    let dir = TestDir::new();
    let offline = text(&dir.write("offline.csv", TABLE_9_OFFLINE));
    dir.fillrate(&["study", "--offline", &offline])
        .exits_with(2);
    let finished = dir
        .fillrate(&["study", "--offline", &offline, "--online", "nowhere.csv"])
        .exits_with(1);
    assert!(
        finished.error_message().starts_with("nowhere.csv: "),
        "{finished:?}"
    );
    let online = text(&dir.write("online.csv", TABLE_9_ONLINE));
    let finished = dir
        .fillrate(&["study", "--offline", &offline, "--online", &online])
        .exits_with(1);
    assert!(
        finished.error_message().contains("--by version,language"),
        "{finished:?}"
    );
    let finished = dir
        .fillrate(&[
            "study",
            "--offline",
            &offline,
            "--online",
            &online,
            "--by",
            "version,language",
            "--metrics",
            "pass@1",
        ])
        .exits_with(1);
    assert_eq!(
        finished.error_message(),
        "no offline figure is named `pass@1`; there are pass rate, HumanEval"
    );
}

#[test]
fn options_of_the_demo_are_refused_without_it() {
    let dir = TestDir::new();
    let offline = text(&dir.write("offline.csv", TABLE_9_OFFLINE));
    let online = text(&dir.write("online.csv", TABLE_9_ONLINE));
    for option in [["--corpus", "corpora/demo.toml"], ["--holes", "80"]] {
        let arguments = ["study", "--offline", &offline, "--online", &online];
        let finished = dir
            .fillrate(&[&arguments[..], &option].concat())
            .exits_with(2);
        for word in [option[0], "cannot be used with"] {
            assert!(finished.err.contains(word), "{finished:?}");
        }
        let alone = dir.fillrate(&[&["study"][..], &option].concat());
        let message = alone.exits_with(2).err;
        assert!(
            message.contains("--demo") && message.contains("--model"),
            "{message}"
        );
    }
    let finished = dir
        .fillrate(&["study", "--model", "embedded"])
        .exits_with(1);
    assert_eq!(
        finished.error_message(),
        "corpora/demo.toml does not exist; run this in the project's folder, or name a corpus with --corpus"
    );
    let corpus = play::demo();
    let one = ["study", "--corpus", &corpus, "--model", "embedded"];
    let finished = dir.fillrate(&one).exits_with(1);
    assert_eq!(
        finished.error_message(),
        "a study compares versions; add another --model"
    );
    let predictions = [&one[..], &["--model", "p.jsonl"]].concat();
    let finished = dir.fillrate(&predictions).exits_with(1);
    assert!(finished.error_message().contains("`--model p.jsonl`"));
}

#[test]
fn a_plan_reports_the_required_size() {
    let dir = TestDir::new();
    let plan = |more: &[&str]| {
        let arguments = [
            "plan",
            "--versions",
            "4,16",
            "--holes",
            "300",
            "--shown",
            "10000",
            "--simulations",
            "400",
            "--json",
        ];
        dir.fillrate(&[&arguments[..], more].concat())
            .exits_with(0)
            .json()
    };
    let found =
        |plan: &Value, at: usize, test: &str| plan["sizes"][at][test]["value"].as_f64().unwrap();
    // Versions far apart are measured almost without error: the powers of definitions.
    let apart = plan(&[
        "--spread",
        "0.3",
        "--acceptance-spread",
        "0.3",
        "--pass-rate",
        "0.5",
        "--acceptance",
        "0.5",
    ]);
    assert!(
        (found(&apart, 0, "student") - 0.25).abs() < 0.07,
        "{apart:#}"
    );
    assert!(
        (found(&apart, 0, "permutation") - 0.178).abs() < 0.06,
        "{apart:#}"
    );
    assert!(found(&apart, 1, "student") > 0.93, "{apart:#}");
    assert_eq!(apart["sizes"][1]["permutation"], Value::Null);
    // Close together they drown in the error of measuring.
    let close = plan(&["--spread", "0.01"]);
    assert!(found(&close, 1, "student") < 0.5, "{close:#}");
    let zero = plan(&["--true-r", "0"]);
    assert!(
        (found(&zero, 1, "student") - 0.05).abs() < 0.035,
        "{zero:#}"
    );
    assert_eq!(plan(&[]), plan(&[]));

    let finished = dir
        .fillrate(&["plan", "--versions", "2", "--simulations", "9"])
        .exits_with(1);
    assert!(
        finished.error_message().contains("at least 3 versions"),
        "{finished:?}"
    );
    let finished = dir.fillrate(&["plan", "--true-r", "1.5"]).exits_with(1);
    assert_eq!(
        finished.error_message(),
        "the true r must be from -1 to 1, not 1.5"
    );
}

/// The demo, small: five versions are played in both modes, and what a simulated developer
/// accepted is never called online. Its simulated figures are those of the runs' own reports.
#[test]
fn the_demo_study_replays_five_versions_and_is_labelled_simulated() {
    if !play::has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = play::demo();
    let arguments = [
        "study", "--demo", "--holes", "2", "--corpus", &corpus, "-o", "demo", "--json",
    ];
    let finished = dir.fillrate(&arguments).exits_with(0);
    assert!(
        !finished.out.to_lowercase().contains("online"),
        "{}",
        finished.out
    );
    let study = finished.json();
    assert_eq!(study["second"], "simulated");
    assert_eq!(study["versions"].as_array().unwrap().len(), 5);
    let pairs = study["pairs"].as_array().unwrap();
    let main = &pairs[0];
    assert_eq!(main["offline"], "pass@1");
    assert_eq!(main["second"], "acceptance/shown(oracle-prefix)");
    for point in main["points"].as_array().unwrap() {
        let version = point["version"].as_u64().unwrap() as usize;
        let label = study["versions"][version]["label"].as_str().unwrap();
        let run = format!("demo/versions/{label}");
        let report = dir.fillrate(&["show", &run, "--json"]).exits_with(0).json();
        let rows = report["rows"].as_array().unwrap();
        let all = rows.iter().find(|row| row["project"] == "*").unwrap();
        let passing = &all["metrics"]["pass@1"];
        assert_eq!(point["offline"]["value"], passing["value"]);
        assert_eq!(point["offline"]["n"], passing["n"]);
        let name = "acceptance/shown(oracle-prefix)";
        let accepted = &all["policies"][0]["metrics"][name];
        assert_eq!(point["second"]["value"], accepted["value"], "{all:#}");
        assert_eq!(point["second"]["n"], accepted["n"]);
    }
    let page = fs::read_to_string(dir.path("demo/index.html")).unwrap();
    assert!(page.contains("<strong>Simulated.</strong>"), "{page}");
    assert!(!page.to_lowercase().contains("online"), "{page}");
    // What was played is not played again.
    let again = dir.fillrate(&arguments).exits_with(0);
    assert_eq!(again.json(), study);
}

/// Models are versions, each replayed in finished files and as they were written.
#[test]
fn a_study_of_models_compares_views() {
    if !play::has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let corpus = play::demo();
    let hot = "[model]\nprotocol = \"embedded\"\ntemperature = 1.2\n";
    let hot = text(&dir.write("hot.toml", hot));
    let alone = "[model]\nprotocol = \"embedded\"\n[context]\nprofile = \"none\"\n";
    let alone = text(&dir.write("alone.toml", alone));
    let models = ["--model", "embedded", "--model", &hot, "--model", &alone];
    let arguments = [
        "study", "--corpus", &corpus, "--holes", "2", "-o", "s", "--json",
    ];
    let study = dir
        .fillrate(&[&arguments[..], &models].concat())
        .exits_with(0)
        .json();
    assert_eq!(study["versions"].as_array().unwrap().len(), 3);
    let main = &study["pairs"][0];
    assert_eq!(main["offline"], "pass@1");
    assert_eq!(
        main["second"],
        "acceptance/shown(oracle-prefix+latency, as-written)"
    );
    let metrics: Vec<&str> = study["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| pair["offline"].as_str().unwrap())
        .collect();
    assert!(metrics.contains(&"pass@1, as-written"), "{metrics:?}");
}
