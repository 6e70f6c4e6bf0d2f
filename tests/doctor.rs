//! `fillrate doctor --model` with models that are asked rightly and wrongly, `fillrate doctor --cache`,
//! `fillrate completions` and `fillrate man`.

use std::process::{Command, Output};
use std::time::Duration;

use crate::support::editor::ScriptedModel;
use crate::support::processes::free_port;

fn fillrate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fillrate"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Exit status, output and errors of a probe of a model that answers so.
fn probe(reply: impl Fn(&str) -> String + Send + Sync + 'static) -> (Option<i32>, String) {
    let scripted = ScriptedModel::new(Duration::ZERO, reply);
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("model.toml");
    std::fs::write(&settings, scripted.settings()).unwrap();
    let output = fillrate(&["doctor", "--model", settings.to_str().unwrap()]);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

/// A model's completion for a prompt.
type Reply = fn(&str) -> String;

/// Returns the text that fills each hole of the probe.
fn filling(prompt: &str) -> &'static str {
    let (before, _) = prompt.split_once("<|fim_suffix|>").unwrap();
    match before {
        before if before.ends_with("return (") => "a * b",
        before if before.ends_with("return ") => "a - b;",
        _ => "return max(numbers)",
    }
}

#[test]
fn a_probe_tells_whether_the_family_fits() {
    let (status, said) = probe(|prompt| filling(prompt).to_owned());
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("The family fits"), "{said}");
    assert!(
        said.contains("\"a * b\" after ") && said.contains("qwen2.5-coder"),
        "{said}"
    );
    // What is requested is said first.
    assert!(
        said.contains("POST http://127.0.0.1:") && said.contains("temperature = 0.0"),
        "{said}"
    );

    let wrong: [(&str, Reply); 5] = [
        ("tokens come back as text", |prompt| {
            filling(prompt).to_owned() + " <EOT>\nnext"
        }),
        ("the answer repeats the prompt", |prompt| {
            let (before, _) = prompt.split_once("<|fim_suffix|>").unwrap();
            let from = before.rfind("\n\n").unwrap_or(0);
            before[from..].to_owned() + filling(prompt)
        }),
        (
            "the answer does not end where the suffix begins",
            |prompt| {
                let (_, after) = prompt.split_once("<|fim_suffix|>").unwrap();
                filling(prompt).to_owned() + &after.replace("<|fim_middle|>", "")
            },
        ),
        ("the answer is empty", |_| String::new()),
        ("nothing of the answer fits the hole", |_| {
            "largest(".to_owned()
        }),
    ];
    for (fault, reply) in wrong {
        let (status, said) = probe(reply);
        assert_eq!(status, Some(3), "{said}");
        assert!(said.contains(fault), "{fault}: {said}");
        assert!(said.contains("check `model.family`"), "{said}");
    }
}

#[test]
fn a_probe_of_a_model_that_does_not_answer_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("model.toml");
    let port = free_port();
    let text = format!(
        "[model]\nprotocol = \"openai-completions\"\nurl = \"http://127.0.0.1:{port}\"\nname = \"qwen2.5-coder\"\nretries = 0\n"
    );
    std::fs::write(&settings, text).unwrap();
    let output = fillrate(&["doctor", "--model", settings.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("cannot be reached. Start the model's server"),
        "{said}"
    );
}

#[test]
fn a_probe_with_unusable_settings_speaks_of_them_alone() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("model.toml");
    let model = "[model]\nprotocol = \"openai-chat\"\nurl = \"http://127.0.0.1:9\"\nname = \"m\"\n\
                 key_env = \"FILLRATE_NO_SUCH_KEY\"\n";
    std::fs::write(&settings, model).unwrap();
    let output = fillrate(&["doctor", "--model", settings.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("FILLRATE_NO_SUCH_KEY"), "{said}");
    assert!(
        !said.contains("initialize") && !said.contains("language server"),
        "{said}"
    );
}

#[test]
fn a_probe_asks_one_model_that_was_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("model.toml");
    let models = "[models.a]\nprotocol = \"empty\"\n[models.b]\nprotocol = \"empty\"\n";
    let trial = format!("[trial]\nmodels = [\"a\", \"b\"]\n{models}");
    for (text, fault) in [
        (models, "none of them is in use"),
        (trial.as_str(), "`trial` has several models"),
    ] {
        std::fs::write(&settings, text).unwrap();
        let output = fillrate(&["doctor", "--model", settings.to_str().unwrap()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.replace('\n', " ").contains(fault), "{said}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_subcommand() {
    let help = String::from_utf8(fillrate(&["--help"]).stdout).unwrap();
    let (_, commands) = help.split_once("Serve:").unwrap();
    let (commands, _) = commands.split_once("Options:").unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 20, "{names:?}");
    let page = String::from_utf8(fillrate(&["man"]).stdout).unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = fillrate(&["completions", shell]);
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        for name in &names {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    for name in names.iter().filter(|name| **name != "help") {
        let escaped = name.replace('-', "\\-");
        assert!(
            page.contains(&format!("fillrate\\-{escaped}(1)")),
            "{name}: {page}"
        );
        let own = fillrate(&["man", name]);
        assert!(own.status.success());
        assert!(String::from_utf8(own.stdout).unwrap().contains("SYNOPSIS"));
    }
    let unknown = fillrate(&["man", "sing"]);
    assert_eq!(unknown.status.code(), Some(1));
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert!(said.contains("there is no subcommand `sing`"), "{said}");
}

#[test]
fn kept_indexes_are_listed_until_their_workspace_is_gone() {
    let cache = tempfile::tempdir().unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let file = workspace.path().join("a.py");
    std::fs::write(&file, "def tax(amount):\n    return amount\n").unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_fillrate"))
            .args(arguments)
            .current_dir(cache.path())
            .env("FILLRATE_CACHE", cache.path())
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    let place = format!("{}:2:5", file.display());
    run(&["retrieve", &place]);
    let name = workspace.path().display().to_string();
    let kept = run(&["doctor", "--cache"]);
    assert!(kept.contains(&name) && !kept.contains("Removed"), "{kept}");
    workspace.close().unwrap();
    let removed = run(&["doctor", "--cache"]);
    let (_, removed) = removed.split_once("Removed").unwrap();
    assert!(removed.contains(&name), "{removed}");
    assert!(!run(&["doctor", "--cache"]).contains(&name));
}
