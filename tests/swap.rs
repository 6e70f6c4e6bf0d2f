//! A changed file's functions replace the original's only where that equals an import of the
//! changed file: the cases are in `swap.py`.

use std::process::Command;

use crate::support::play::{has_tools, repository};

#[test]
fn replaced_functions_equal_an_import_of_the_changed_file() {
    if !has_tools(&["python3"]) {
        return;
    }
    let output = Command::new("python3")
        .arg(repository("tests/swap.py"))
        .arg(repository("replay/verdict/src/harness"))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    // One line for each case shows that the script went through all of them.
    let cases = printed.lines().filter(|line| line.starts_with("ok: "));
    assert!(cases.count() > 30, "{printed}");
}
