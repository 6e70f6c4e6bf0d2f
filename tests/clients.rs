//! Editors and clients that nobody here wrote, with no plugin of ours.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/editor.rs"]
mod editor;
#[path = "support/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use editor::Oracle;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/clients")
        .join(name)
}

/// A workspace with settings for a model that goes on from `b` in one way.
fn workspace() -> (tempfile::TempDir, PathBuf) {
    let oracle = Oracle::new(Duration::ZERO, |_| " = a + 1".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.toml");
    std::fs::write(&settings, oracle.settings()).unwrap();
    (folder, settings)
}

#[test]
fn neovim_shows_and_takes_a_completion() {
    let Some(neovim) = programs::bring("neovim") else {
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
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(said, "def f(a):\n    b = a + 1\n");
}

#[test]
fn pytest_lsp_gets_both_kinds_of_completion() {
    let Some(python) = programs::bring("pytest-lsp") else {
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
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
