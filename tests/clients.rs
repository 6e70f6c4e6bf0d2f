//! Foreign editors and clients, without our plugins.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fillrate_server::telemetry::{self, RecordedCompletion, RequestKind};

use crate::support::editor::ScriptedModel;
use crate::support::programs;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/clients")
        .join(name)
}

/// A workspace with settings for a model that goes on from `b` in one way.
fn workspace() -> (tempfile::TempDir, PathBuf) {
    let scripted = ScriptedModel::new(Duration::ZERO, |_| " = a + 1".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.toml");
    std::fs::write(&settings, scripted.settings()).unwrap();
    (folder, settings)
}

/// What the store that these clients' servers write to has.
fn noted(folder: &tempfile::TempDir) -> Vec<RecordedCompletion> {
    let store = folder.path().join("data/fillrate/telemetry.db");
    telemetry::read(&store).unwrap().completions
}

#[test]
fn neovim_shows_and_accepts_a_completion() {
    let Some(neovim) = programs::install("neovim") else {
        return;
    };
    let (folder, settings) = workspace();
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
    let accepted: Vec<RecordedCompletion> = noted(&folder)
        .into_iter()
        .filter(|one| one.accepted.is_some())
        .collect();
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
    let (folder, settings) = workspace();
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
    let told: Vec<_> = noted
        .iter()
        .filter(|one| one.is_offered())
        .map(|one| (one.answered.form, one.accepted.is_some()))
        .collect();
    assert_eq!(
        told,
        [(RequestKind::Inline, true), (RequestKind::List, true)]
    );
}
