//! `fillrate mine`: what the records say of holes, with the real program and real tests.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/play.rs"]
mod play;

use play::{Place, copy, has, holes, kitchen, repository, text};

/// A copy of the small project, to be changed.
fn copied(place: &Place) -> String {
    copy(&repository("tests/corpora/kitchen"), &place.path("kitchen"));
    let manifest = std::fs::read_to_string(kitchen()).unwrap();
    text(&place.write("kitchen.toml", &manifest))
}

#[test]
fn a_function_that_is_called_at_import_marks_its_holes() {
    if !has(&["python3"]) {
        return;
    }
    let place = Place::new();
    let corpus = copied(&place);
    let path = place.path("kitchen/src/kitchen/timer.py");
    let timer = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, timer + "\n\nMINUTE = parse(\"1:00\")\n").unwrap();
    let tasks = place.path("tasks.jsonl");
    place
        .fillrate(&[
            "mine",
            &corpus,
            "--holes",
            "40",
            "--kinds",
            "line",
            "-o",
            &text(&tasks),
        ])
        .ended(0);
    let marked: Vec<String> = holes(&tasks)
        .iter()
        .filter(|hole| hole["at_import"] == true)
        .map(|hole| hole["reference"].as_str().unwrap().to_owned())
        .collect();
    // The last line of the function is another branch.
    assert_eq!(
        marked,
        [
            "minutes, separator, seconds = text.rpartition(\":\")",
            "if separator:",
            "return int(minutes) * 60 + int(seconds)",
        ]
    );
}
