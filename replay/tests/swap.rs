//! A changed file's functions are put in place of the original's only where nothing could tell that
//! from an import of the changed file: what `swap.py` tries, in Python.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../tests/support/play.rs"]
mod play;

use std::path::Path;
use std::process::Command;

#[test]
fn what_is_put_in_place_is_what_an_import_would_have_made() {
    if !play::has(&["python3"]) {
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ended = Command::new("python3")
        .arg(here.join("tests/swap.py"))
        .arg(here.join("src/verdict/harness"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}{errors}");
    // One line for each case: that the script went through all of them shows there.
    assert!(
        said.lines().filter(|line| line.starts_with("ok: ")).count() > 30,
        "{said}"
    );
}
