//! Foreign editors and clients, without our plugins.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fillrate_server::telemetry::{self, Certainty, RecordedCompletion, RequestKind};
use serde_json::{Value, json};

use crate::support::editor::ScriptedModel;
use crate::support::programs;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/clients")
        .join(name)
}

/// A workspace with settings for a model that goes on in one way.
fn workspace(completion: &'static str) -> (tempfile::TempDir, PathBuf) {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| completion.to_owned());
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.toml");
    std::fs::write(&settings, scripted.settings()).unwrap();
    (folder, settings)
}

/// Returns the store that these clients' servers write to, once it has an accept: an editor may end
/// before its server has.
fn accepted_in(folder: &tempfile::TempDir) -> Vec<RecordedCompletion> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let mut noted = noted(folder);
        noted.retain(|one| one.accepted.is_some());
        if !noted.is_empty() || Instant::now() > end {
            return noted;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the contents of the store that these clients' servers write to.
fn noted(folder: &tempfile::TempDir) -> Vec<RecordedCompletion> {
    let store = folder.path().join("data/fillrate/telemetry.db");
    telemetry::read(&store).unwrap().completions
}

#[test]
fn neovim_shows_and_accepts_a_completion() {
    let Some(neovim) = programs::install("neovim") else {
        return;
    };
    let (folder, settings) = workspace(" = a + 1");
    let file = folder.path().join("open.py");
    std::fs::write(&file, "def f(a):\n").unwrap();
    let output = Command::new(neovim)
        .arg("-l")
        .arg(script("neovim.lua"))
        .arg(&file)
        .args([env!("CARGO_BIN_EXE_fillrate"), "serve", "--config"])
        .arg(&settings)
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .env("XDG_DATA_HOME", folder.path().join("data"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(said, "def f(a):\n    b = a + 1\n");
    let accepted = accepted_in(&folder);
    // Nothing in this Neovim knows Fillrate: it ran the item's command.
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].answered.client.as_deref(), Some("Neovim"));
    assert_eq!(accepted[0].accepted.as_ref().unwrap().characters, 8);
}

#[test]
fn pytest_lsp_receives_both_kinds_of_completion() {
    let Some(python) = programs::install("pytest-lsp") else {
        return;
    };
    let (folder, settings) = workspace(" = a + 1");
    let output = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir"])
        .arg(folder.path())
        .arg(script("test_generic_client.py"))
        .env("FILLRATE_TEST_SERVER", env!("CARGO_BIN_EXE_fillrate"))
        .env("FILLRATE_TEST_SETTINGS", &settings)
        .env("FILLRATE_TEST_WORKSPACE", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("XDG_DATA_HOME", folder.path().join("data"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let noted = noted(&folder);
    let accepted: Vec<_> = noted
        .iter()
        .filter(|one| one.is_offered())
        .map(|one| (one.answered.form, one.accepted.is_some()))
        .collect();
    assert_eq!(
        accepted,
        [(RequestKind::Inline, true), (RequestKind::List, true)]
    );
}

/// A block with an empty third line, where a completion is accepted.
const OPEN: &str = "def f(a):\n    if a:\n        \n    return 0\n";

/// The text after `na` there: a snippet would expand it, and an editor that indents it again would
/// break it.
const REST: &str = "me = \"${HOME}\"\n        return name";

/// A project with `OPEN` as its file, a home of its own, and settings for a model that says `REST`.
fn project() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let (folder, settings) = workspace(REST);
    let project = folder.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let file = project.join("open.py");
    std::fs::write(&file, OPEN).unwrap();
    (folder, settings, file)
}

/// Runs an editor and checks that it accepted the completion as it is, which is recorded once.
fn assert_accepted(mut editor: Command, folder: &tempfile::TempDir, file: &Path, client: &str) {
    let place = |name: &str| folder.path().join(name);
    let output = editor
        .current_dir(file.parent().unwrap())
        .env("HOME", place("home"))
        .env("XDG_CONFIG_HOME", place("config"))
        .env("XDG_CACHE_HOME", place("cache"))
        .env("XDG_STATE_HOME", place("state"))
        .env("XDG_DATA_HOME", place("data"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let written = format!("        na{REST}\n");
    assert_eq!(
        std::fs::read_to_string(file).unwrap(),
        OPEN.replace("        \n", &written),
        "{output:?}"
    );
    let accepted = accepted_in(folder);
    let [one] = &accepted[..] else {
        panic!("not one accept: {accepted:#?}, {output:?}");
    };
    assert_eq!(one.answered.client.as_deref(), Some(client));
    assert_eq!(one.accepted.as_ref().unwrap().characters, REST.len());
    assert_eq!(one.shown.unwrap().certainty, Certainty::Estimated);
}

/// An editor in a terminal, which opens a file and gets the keys of these steps.
fn in_terminal(editor: &Path, steps: &Value, file: &Path) -> Command {
    let mut command = Command::new("python3");
    command
        .arg(script("terminal.py"))
        .arg(steps.to_string())
        .args([editor, file]);
    command
}

/// A person who starts it by hand sees no program that hangs.
#[test]
fn a_server_in_a_terminal_says_who_starts_it() {
    // Ctrl-D ends its input.
    let steps = json!([
        {"keys": "", "until": "Ctrl-C ends it."},
        {"keys": "\u{4}", "until": ""},
    ]);
    let mut server = Command::new("python3");
    server.arg(script("terminal.py")).arg(steps.to_string());
    server.args([env!("CARGO_BIN_EXE_fillrate"), "serve"]);
    let output = server.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn helix_inserts_a_completion_as_it_is() {
    let Some(helix) = programs::install("helix") else {
        return;
    };
    let (folder, settings, file) = project();
    let server = json!([env!("CARGO_BIN_EXE_fillrate"), settings]);
    let languages = format!(
        "[language-server.fillrate]\ncommand = {}\nargs = [\"serve\", \"--config\", {}]\n\
         [[language]]\nname = \"python\"\nlanguage-servers = [\"fillrate\"]\n",
        server[0], server[1]
    );
    std::fs::create_dir_all(folder.path().join("config/helix")).unwrap();
    std::fs::write(folder.path().join("config/helix/languages.toml"), languages).unwrap();
    let settings = "[editor]\nauto-completion = false\n";
    std::fs::write(folder.path().join("config/helix/config.toml"), settings).unwrap();
    // The list opens by Control+X; Control+N goes to the first item.
    let steps = json!([
        {"keys": "", "until": "open.py"},
        {"keys": "3ggA", "until": "INS"},
        {"keys": "na", "until": "a"},
        {"keys": "\u{18}", "until": "name = ", "again": true},
        {"keys": "\u{e}", "until": "\"${HOME}\""},
        {"keys": "\r\u{1b}", "until": "NOR"},
        {"keys": ":write\r", "until": "written"},
        {"keys": ":quit\r", "until": ""},
    ]);
    let editor = in_terminal(&helix, &steps, &file);
    assert_accepted(editor, &folder, &file, "helix");
}

#[test]
fn eglot_inserts_a_completion_as_it_is() {
    let Some(emacs) = programs::install("emacs") else {
        return;
    };
    let (folder, settings, file) = project();
    let mut editor = Command::new(emacs);
    editor
        .args(["--quick", "--batch", "--load"])
        .arg(script("eglot.el"))
        .arg(env!("CARGO_BIN_EXE_fillrate"))
        .args([&settings, &file])
        .args(["3", "na"]);
    assert_accepted(editor, &folder, &file, "Eglot");
}

#[test]
fn kakoune_inserts_a_completion_as_it_is() {
    let Some(kakoune) = programs::install("kakoune") else {
        return;
    };
    let (folder, settings, file) = project();
    let server = json!([env!("CARGO_BIN_EXE_fillrate"), settings]);
    let configuration = format!(
        "eval %sh{{kak-lsp}}\nlsp-enable\n\
         hook global BufSetOption filetype=(python|typescript|javascript) %{{\n\
         set-option buffer lsp_servers %{{\n\
         [fillrate]\nroot_globs = [\".git\"]\ncommand = {}\nargs = [\"serve\", \"--config\", {}]\n\
         }}\n}}\n",
        server[0], server[1]
    );
    std::fs::create_dir_all(folder.path().join("config/kak")).unwrap();
    std::fs::write(folder.path().join("config/kak/kakrc"), configuration).unwrap();
    // The list opens while a person types; until the server has started, there is nothing in it.
    // Control+N selects the first item.
    let steps = json!([
        {"keys": "", "until": "open.py"},
        {"keys": "3gA", "until": "insert"},
        {"keys": "na", "until": "na"},
        {"keys": "\u{7f}a", "until": "me = ", "again": true},
        {"keys": "\u{e}", "until": "4:20"},
        {"keys": "\u{1b}", "until": "[+] 1 sel"},
        {"keys": ":write\r", "until": "4:20  1 sel"},
        // kakoune-lsp sends an edit once typing pauses, or by this command. It draws the server's
        // capabilities after it has sent the edit.
        {"keys": ":lsp-did-change\r:lsp-capabilities\r", "until": "fillrate.accept"},
        {"keys": ":quit\r", "until": ""},
    ]);
    // Its sockets have names of limited length.
    let sockets = tempfile::tempdir().unwrap();
    let mut editor = in_terminal(&kakoune, &steps, &file);
    editor.env("XDG_RUNTIME_DIR", sockets.path());
    assert_accepted(editor, &folder, &file, "kakoune-lsp");
}

#[test]
fn the_tests_that_the_editors_page_names_exist() {
    let page = include_str!("../editors/README.md");
    // The recipes above have code of their own.
    let (_, page) = page.split_once("## What is tested").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let names = page.split('`').skip(1).step_by(2);
    let names: Vec<&str> = names.filter(|name| name.contains("::")).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let (module, test) = name.rsplit_once("::").unwrap();
        let file = format!("{}.rs", module.replace("::", "/"));
        let mut folders = ["tests", "server/src"].into_iter();
        let source =
            folders.find_map(|folder| std::fs::read_to_string(root.join(folder).join(&file)).ok());
        let source = source.unwrap_or_else(|| panic!("there is no module {module}"));
        assert!(
            source.contains(&format!("fn {test}(")),
            "there is no {name}"
        );
    }
}
