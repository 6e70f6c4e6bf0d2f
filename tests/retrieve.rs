//! `fillrate retrieve`: the windows for a place, through the server that editors ask.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = |path: &str, contents: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    };
    let body = |name: &str| -> String {
        let lines = (0..24).map(|line| format!("    {name}_{line} = step({line})\n"));
        format!("def {name}(items):\n{}", lines.collect::<String>())
    };
    file("shop/tax.py", &body("tax"));
    file("shop/log.py", &body("log"));
    file(
        "main.py",
        "from shop import tax\n\n\ntotal = tax_3\nrest = \n",
    );
    folder
}

fn retrieve(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fillrate"))
        .arg("retrieve")
        .args(arguments)
        .current_dir(folder)
        // Independent of the user's own settings.
        .env("XDG_CONFIG_HOME", folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = retrieve(folder, &[arguments, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn each_profile_finds_its_own_windows() {
    let folder = workspace();
    let at = |profile: &str| json(folder.path(), &["main.py:5:8", "--context", profile]);
    let first = |found: &Value| {
        let window = &found["windows"][0];
        let text = window["text"].as_str().unwrap();
        let first = text.lines().next().unwrap().trim().to_owned();
        (window["path"].as_str().unwrap().to_owned(), first)
    };
    // What resembles `tax_3` is the file's first window, and selects the one after it.
    let cceval = at("cceval");
    assert_eq!(
        first(&cceval),
        ("shop/tax.py".into(), "tax_9 = step(9)".into())
    );
    assert_eq!(
        cceval["query"],
        "from shop import tax\ntotal = tax_3\nrest = "
    );
    assert!(cceval["windows"][0]["score"].as_f64().unwrap() > 0.0);
    // Five hits of six windows, of which two select the last of a file.
    let count = cceval["windows"].as_array().unwrap().len();
    assert!((3..5).contains(&count), "{count}");
    assert_eq!(cceval["whole_in_prompt"], count);

    let editor = at("editor");
    assert_eq!(first(&editor).0, "shop/tax.py");
    assert_eq!(editor["query"], Value::Null);
    for nothing in ["none", "in-file"] {
        let none = at(nothing);
        assert_eq!(none["windows"], Value::Array(Vec::new()));
        assert_eq!(none["profile"], "none");
    }
}

#[test]
fn repocoders_second_query_contains_the_first_completion() {
    let folder = workspace();
    std::fs::write(
        folder.path().join("other.py"),
        "def rest_of():\n    rest = log_20\n    return rest\n",
    )
    .unwrap();
    let found = json(folder.path(), &["main.py:5:8", "--context", "repocoder"]);
    let completion = found["first_round"]
        .as_str()
        .expect("the embedded model completes");
    let query = found["query"].as_str().unwrap();
    assert_eq!(
        query,
        format!("from shop import tax\ntotal = tax_3\nrest = {completion}")
    );
    assert!(!found["windows"].as_array().unwrap().is_empty());
}

#[test]
fn the_profile_reference_requires_a_reference() {
    let folder = workspace();
    let arguments = ["main.py:5:8", "--context=reference"];
    let found = json(
        folder.path(),
        &[&arguments[..], &["--reference", "log_15 + log_16 + log_17"]].concat(),
    );
    let text = found["windows"][0]["text"].as_str().unwrap();
    assert!(text.contains("log_15 = "), "{text}");
    let output = retrieve(folder.path(), &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("`fillrate.reference`"), "{said}");
}

#[test]
fn retrieve_prints_positions_scores_and_texts() {
    let folder = workspace();
    let output = retrieve(folder.path(), &["main.py:4", "--context=cceval"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains("--- looked for\n    from shop import tax\n    total = tax_3\n"),
        "{shown}"
    );
    assert!(shown.contains("--- 1. shop/tax.py:11 score "), "{shown}");
    assert!(shown.contains("under the profile cceval in "), "{shown}");
    let output = retrieve(folder.path(), &["main.py:4", "--context=bm26"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("the profiles are none, editor, cceval, "),
        "{said}"
    );
}
