//! `fillrate complete`: what an editor would get at a place, on the command line.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::editor::ScriptedModel;

const CART: &str = "def compute_total(items):\n    return sum(items)\n\n\nx = \n";

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cart.py"), CART).unwrap();
    std::fs::write(
        folder.path().join("other.py"),
        "from cart import compute_total\n\nx = compute_total([1, 2])\n",
    )
    .unwrap();
    folder
}

fn complete(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fillrate"))
        .arg("complete")
        .args(arguments)
        .current_dir(folder)
        // Independent of the user's own settings.
        .env("XDG_CONFIG_HOME", folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_embedded_model_completes_without_settings() {
    let folder = workspace();
    let output = complete(folder.path(), &["cart.py:5:5", "--trace"]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(text(&output.stdout), "compute_total([1, 2])\n");
    assert!(said.contains("--- context: other.py:"), "{said}");
    assert!(said.contains("--- model embedded"), "{said}");
}

#[test]
fn a_repository_supplies_no_settings_of_the_user() {
    let folder = workspace();
    let settings = folder.path().join("fillrate");
    std::fs::create_dir(&settings).unwrap();
    std::fs::write(
        settings.join("fillrate.toml"),
        "[languages]\npython = false\n",
    )
    .unwrap();
    let home = tempfile::tempdir().unwrap();
    // The specification calls a relative path invalid.
    for relative in ["", "."] {
        let output = Command::new(env!("CARGO_BIN_EXE_fillrate"))
            .args(["complete", "cart.py:5:5"])
            .current_dir(folder.path())
            .env("XDG_CONFIG_HOME", relative)
            .env("HOME", home.path())
            .output()
            .unwrap();
        assert_eq!(
            text(&output.stdout),
            "compute_total([1, 2])\n",
            "{relative:?}"
        );
    }
}

#[test]
fn an_address_without_a_protocol_is_refused() {
    let folder = workspace();
    let output = complete(folder.path(), &["cart.py:5:5", "--url=http://127.0.0.1:9"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(text(&output.stderr), @"fillrate: `model.url` has no effect without `model.protocol`, since the embedded model would answer; add the protocol of the model's server");
}

#[test]
fn a_model_is_chosen_by_the_name_of_its_table() {
    let folder = workspace();
    let config = folder.path().join("models.toml");
    let models = "[models.a]\nprotocol = \"empty\"\n\n[models.c]\nprotocol = \"embedded\"\n";
    std::fs::write(&config, models).unwrap();
    let config = format!("--config={}", config.display());
    let with = |model| complete(folder.path(), &["cart.py:5:5", &config, "--model", model]);
    assert_eq!(text(&with("c").stdout), "compute_total([1, 2])\n");
    assert_eq!(text(&with("a").stdout), "");
    let unknown = with("b");
    assert_eq!(unknown.status.code(), Some(1));
    insta::assert_snapshot!(text(&unknown.stderr), @"fillrate: `--model b` names none of the models under `[models]`, of which there are `a`, `c`; for another model, add `--protocol`");
    let none = complete(folder.path(), &["cart.py:5:5", "--model=b"]);
    insta::assert_snapshot!(text(&none.stderr), @"fillrate: `--model b` names none of the models under `[models]`, of which there are none; for another model, add `--protocol`");
}

#[test]
fn json_output_has_the_whole_trace() {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| "1)\ny = 2".to_owned());
    let folder = workspace();
    let arguments = [
        "cart.py:5",
        "--json",
        "--protocol=openai-completions",
        "--model=qwen2.5-coder",
        &format!("--url={}", scripted.address),
    ];
    let output = complete(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["candidates"][0], "1");
    assert_eq!(answer["trace"]["steps"][0]["raw"], "1)\ny = 2");
    assert_eq!(
        answer["trace"]["steps"][0]["decisions"][0]["rule"],
        "brackets"
    );
    assert_eq!(
        answer["trace"]["prompt"],
        scripted.prompts.lock().unwrap()[0]
    );
}

#[test]
fn errors_are_one_sentence_and_an_exit_status() {
    let folder = workspace();
    let faults = [
        (vec!["cart.py:99"], "cart.py has 6 lines, and no line 99"),
        (vec!["none.py:1"], "none.py: No such file or directory"),
        (
            vec![
                "cart.py:5",
                "--protocol=openai-completions",
                "--model=qwen2.5-coder",
                "--url=http://127.0.0.1:9",
            ],
            "http://127.0.0.1:9/v1/completions cannot be reached. Start the model's server",
        ),
        (
            vec!["cart.py:5", "--protocol=openai-completions", "--model=gpt"],
            "identifies no model family: set `family`",
        ),
    ];
    for (arguments, sentence) in faults {
        let output = complete(folder.path(), &arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(sentence), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn an_empty_completion_has_a_reason_and_exits_with_success() {
    let folder = workspace();
    let output = complete(folder.path(), &["cart.py:5:5", "--protocol=empty"]);
    assert!(output.status.success());
    assert!(output.stdout.is_empty());
    let said = text(&output.stderr);
    assert!(
        said.contains("nothing to show: the model returned an empty completion"),
        "{said}"
    );
}
