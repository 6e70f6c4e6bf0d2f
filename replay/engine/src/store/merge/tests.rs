use std::path::{Path, PathBuf};

use fillrate_language::task::HoleKind;
use fillrate_verdict::Verdict;
use serde_json::json;

use super::*;
use crate::developer::policy::Policy;
use crate::developer::typing::{Pace, TypistSettings};
use crate::developer::typist::Typist;
use crate::store::Run;

const CONTENTS: &str = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\n";

/// One hole in each line.
fn holes() -> Vec<Hole> {
    (0..6)
        .map(|line| {
            let range = 6 * line..6 * line + 5;
            Hole::new("demo", "python", "a.py", HoleKind::Line, range, CONTENTS)
        })
        .collect()
}

fn attempt(hole: &Hole, outcome: Outcome, latency_ms: f64) -> Attempt {
    Attempt {
        key: sha256_hex(hole.id.as_bytes()),
        hole: hole.id.clone(),
        project: "demo".into(),
        model: "embedded".into(),
        sample: 0,
        repair_round: 0,
        offered: vec!["x".into()],
        overlap: String::new(),
        answered: true,
        latency_ms,
        trace: None,
        verdict: Verdict::from_outcome(outcome),
    }
}

fn state(status: ProjectStatus) -> ProjectState {
    ProjectState {
        language: "python".into(),
        status,
        reason: None,
        mined: None,
    }
}

/// Makes a part whose attempts all have one outcome.
fn make_part(shared: &Path, part: (u32, u32), outcome: Outcome, status: ProjectStatus) {
    let partition = Partition::new(part.0, part.1).unwrap();
    let run = Run::begin_part(shared, partition, &json!({"model": "embedded"})).unwrap();
    run.set_project("demo", &state(status)).unwrap();
    let own: Vec<Hole> = holes()
        .into_iter()
        .filter(|hole| partition.includes(&hole.id))
        .collect();
    run.add_holes(own.iter().map(|hole| (hole, CONTENTS)))
        .unwrap();
    for hole in &own {
        let made = attempt(hole, outcome, 1.5);
        run.add_attempt(&made).unwrap();
        run.add_audit(&AuditRecord {
            attempt: made.key,
            hole: hole.id.clone(),
            outcome,
            rejudged: outcome,
            reason: String::new(),
        })
        .unwrap();
        run.write_segment().unwrap();
    }
    run.set_finished().unwrap();
}

fn make_parts(shared: &Path, parts: u32) {
    for part in 1..=parts {
        make_part(shared, (part, parts), Outcome::Passed, ProjectStatus::Ready);
    }
}

/// Runs a division's only part as a replay does: it makes only missing attempts, in a segment
/// before the end.
fn run_only_part_again(shared: &Path) {
    let partition = Partition::new(1, 1).unwrap();
    let run = Run::begin_part(shared, partition, &json!({"model": "embedded"})).unwrap();
    run.set_project("demo", &state(ProjectStatus::Ready))
        .unwrap();
    let holes = holes();
    run.add_holes(holes.iter().map(|hole| (hole, CONTENTS)))
        .unwrap();
    let known: Vec<String> = run.attempts().unwrap().into_iter().map(|a| a.key).collect();
    let made = holes.iter().map(|hole| attempt(hole, Outcome::Passed, 2.5));
    for attempt in made.filter(|one| !known.contains(&one.key)) {
        run.add_attempt(&attempt).unwrap();
    }
    run.write_segment().unwrap();
    run.set_finished().unwrap();
}

fn merged(folders: &[PathBuf], out: &Path) -> Vec<u8> {
    let parts = MergedParts::read(folders).unwrap();
    parts.write(out, &[]).unwrap();
    std::fs::read(out.join(FILE_NAME)).unwrap()
}

/// The folder of a part and its segments.
fn part(shared: &Path, name: &str) -> (PathBuf, Vec<PathBuf>) {
    let folder = shared.join(PARTS).join(name);
    let segments = segments_in(&folder).unwrap();
    (folder, segments)
}

#[test]
fn any_division_gives_the_same_bytes_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for parts in [1, 2, 7] {
        let shared = folder.path().join(format!("parts-{parts}"));
        make_parts(&shared, parts);
        let out = folder.path().join(format!("run-{parts}"));
        all.push(merged(&[shared], &out));
        let run = Run::open(&out).unwrap();
        assert_eq!(run.attempts().unwrap().len(), 6);
        assert_eq!(run.audits().unwrap().len(), 6);
        assert!(run.is_finished().unwrap());
        assert_eq!(run.source(&holes()[0]).unwrap(), CONTENTS);
        drop(run);
        // Reading a run changes nothing of it.
        assert_eq!(std::fs::read(out.join(FILE_NAME)).unwrap(), all[0]);
    }
    assert!(all.iter().all(|bytes| *bytes == all[0]));
    let shared = folder.path().join("parts-2");
    let mut parts: Vec<PathBuf> = ["2-of-2", "1-of-2"]
        .map(|name| part(&shared, name).0)
        .into();
    assert_eq!(merged(&parts, &folder.path().join("again")), all[0]);
    // The same part twice, together with other divisions.
    parts.extend(["parts-1", "parts-7", "parts-2"].map(|name| folder.path().join(name)));
    let all_of_them = MergedParts::read(&parts).unwrap();
    assert_eq!(all_of_them.attempts(), 6);
    assert_eq!(all_of_them.repeated(), 12);
    assert_eq!(merged(&parts, &folder.path().join("all")), all[0]);
    // A merge that is repeated changes nothing; another run is not overwritten.
    assert_eq!(merged(&parts, &folder.path().join("all")), all[0]);
    make_part(
        &shared,
        (1, 3),
        Outcome::Infrastructure,
        ProjectStatus::Ready,
    );
    let (first, _) = part(&shared, "1-of-3");
    let error = MergedParts::read(&[first])
        .unwrap()
        .write(&folder.path().join("all"), &[]);
    assert!(error.unwrap_err().to_string().contains("holds another run"));
}

#[test]
fn parts_that_are_lost_unfinished_or_without_a_project_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("parts");
    make_parts(&shared, 3);
    let missing = |folders: &[PathBuf]| -> Vec<String> {
        let missing = MergedParts::read(folders).unwrap().missing();
        missing.iter().map(MissingPart::to_string).collect()
    };
    let shared_only = [shared.clone()];
    assert_eq!(missing(&shared_only), Vec::<String>::new());

    // A segment is lost: whichever it is, its part is named.
    let (second, segments) = part(&shared, "2-of-3");
    assert!(segments.len() > 1, "{segments:?}");
    for segment in &segments {
        let aside = folder.path().join("aside");
        std::fs::rename(segment, &aside).unwrap();
        let missing = missing(&shared_only);
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(missing[0].starts_with("2/3: it"), "{missing:?}");
        std::fs::rename(&aside, segment).unwrap();
    }
    std::fs::remove_dir_all(&second).unwrap();
    assert_eq!(missing(&shared_only), ["2/3: it was never begun"]);
    let out = folder.path().join("run");
    merged(&shared_only, &out);
    assert!(!Run::open(&out).unwrap().is_finished().unwrap());

    make_part(&shared, (2, 3), Outcome::Passed, ProjectStatus::LeftOut);
    assert_eq!(
        missing(&shared_only),
        ["2/3: its machine left out the project `demo`, which other machines have"]
    );
    make_part(&shared, (2, 3), Outcome::Passed, ProjectStatus::Ready);
    assert_eq!(missing(&shared_only), Vec::<String>::new());
    // A finished part that is run again adds nothing.
    let before = part(&shared, "2-of-3").1;
    make_part(&shared, (2, 3), Outcome::Passed, ProjectStatus::Ready);
    assert_eq!(part(&shared, "2-of-3").1, before);
}

#[test]
fn damaged_segments_and_sources_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("parts");
    make_parts(&shared, 1);
    let (_, segments) = part(&shared, "1-of-1");
    let source = shared.join(SOURCES).join(sha256_hex(CONTENTS.as_bytes()));
    for path in segments.iter().chain([&source]) {
        let whole = std::fs::read(path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damaged in [&whole[..whole.len() - 1], &flipped, b""] {
            std::fs::write(path, damaged).unwrap();
            let merging = MergedParts::read(std::slice::from_ref(&shared))
                .and_then(|parts| parts.write(&folder.path().join("run"), &[]));
            let error = merging.expect_err("the file is damaged").to_string();
            let named = format!("{} is damaged", path.display());
            assert!(error.starts_with(&named), "{error}");
            assert!(!folder.path().join("run").exists());
        }
        std::fs::write(path, whole).unwrap();
    }
    std::fs::remove_file(&source).unwrap();
    let parts = MergedParts::read(&[shared]).unwrap();
    let error = parts.write(&folder.path().join("run"), &[]).unwrap_err();
    assert!(
        error.to_string().contains("no folder of the parts has"),
        "{error}"
    );
}

#[test]
fn removed_source_is_written_by_running_its_part_again() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("parts");
    make_parts(&shared, 1);
    let whole = merged(std::slice::from_ref(&shared), &folder.path().join("whole"));
    let (_, segments) = part(&shared, "1-of-1");
    let source = shared.join(SOURCES).join(sha256_hex(CONTENTS.as_bytes()));
    std::fs::remove_file(&source).unwrap();
    run_only_part_again(&shared);
    assert_eq!(std::fs::read_to_string(&source).unwrap(), CONTENTS);
    assert_eq!(part(&shared, "1-of-1").1, segments);
    assert_eq!(merged(&[shared], &folder.path().join("again")), whole);
}

#[test]
fn lost_segments_are_replaced_by_running_their_part_again() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("parts");
    make_parts(&shared, 1);
    let (_, segments) = part(&shared, "1-of-1");
    assert!(segments.len() > 1);
    for segment in &segments {
        std::fs::remove_file(segment).unwrap();
        let missing = MergedParts::read(std::slice::from_ref(&shared)).unwrap();
        assert_eq!(missing.missing().len(), 1, "{}", segment.display());

        run_only_part_again(&shared);
        let again = MergedParts::read(std::slice::from_ref(&shared)).unwrap();
        assert_eq!(again.missing(), []);
        assert_eq!(again.attempts(), 6);
    }
}

#[test]
fn unequal_verdicts_conflict_and_infrastructure_failures_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    make_part(
        &first,
        (1, 1),
        Outcome::Infrastructure,
        ProjectStatus::Ready,
    );
    make_part(&second, (1, 1), Outcome::Passed, ProjectStatus::Ready);
    let both = [first.clone(), second];
    let parts = MergedParts::read(&both).unwrap();
    assert!(parts.conflicts().unwrap().is_empty());

    // The failures are made again with another outcome.
    make_part(&first, (1, 1), Outcome::Failed, ProjectStatus::Ready);
    let parts = MergedParts::read(&both).unwrap();
    let conflicts = parts.conflicts().unwrap();
    assert_eq!(conflicts.len(), 6);
    let outcomes: Vec<Outcome> = conflicts[0]
        .attempts
        .iter()
        .map(|attempt| attempt.verdict.outcome)
        .collect();
    assert_eq!(outcomes, [Outcome::Passed, Outcome::Failed]);
    assert!(parts.write(&folder.path().join("run"), &[]).is_err());
    let settled: Vec<(Settlement, Attempt)> = conflicts
        .iter()
        .map(|conflict| {
            let settlement = Settlement {
                attempt: conflict.key.clone(),
                hole: conflict.hole.id.clone(),
                outcomes: outcomes.clone(),
                rejudged: Outcome::Failed,
            };
            (settlement, conflict.attempts[1].clone())
        })
        .collect();
    parts.write(&folder.path().join("run"), &settled).unwrap();
    let run = Run::open(&folder.path().join("run")).unwrap();
    assert_eq!(run.settlements().unwrap().len(), 6);
    let attempts = run.attempts().unwrap();
    assert!(
        attempts
            .iter()
            .all(|one| one.verdict.outcome == Outcome::Failed)
    );
}

#[test]
fn parts_of_different_runs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let partition = Partition::new(1, 1).unwrap();
    for (shared, model) in [(&first, "a"), (&second, "b")] {
        let run = Run::begin_part(shared, partition, &json!({"model": model})).unwrap();
        run.set_finished().unwrap();
    }
    let error = MergedParts::read(&[first.clone(), second]).err().unwrap();
    assert!(error.to_string().contains("`model` of"), "{error}");
    let other = Run::begin_part(&first, partition, &json!({"model": "b"}));
    assert!(other.err().unwrap().to_string().contains("`model` differs"));
    let empty = MergedParts::read(&[folder.path().to_owned()]);
    assert!(empty.err().unwrap().to_string().contains("has no segments"));
}

#[test]
fn order_of_parts_does_not_decide_over_developer_settings() {
    let folder = tempfile::tempdir().unwrap();
    let estimating = |name: &str, part: u32, policy: &str| {
        let shared = folder.path().join(name);
        let partition = Partition::new(part, 2).unwrap();
        let run = Run::begin_part(&shared, partition, &json!({"model": "embedded"})).unwrap();
        let policy = Policy::parse(policy, |_| Err("there is none".to_owned())).unwrap();
        run.set_developer_settings(&DeveloperSettings {
            policies: vec![policy],
            typing: TypistSettings {
                typist: Typist::default(),
                seed: 1,
                pace: Pace::Virtual,
                latency_ms: None,
            },
        })
        .unwrap();
        run.set_finished().unwrap();
    };
    // Segments are read in the order of their paths.
    for (name, policies) in [("a", ["line", "accept-all"]), ("b", ["accept-all", "line"])] {
        for (part, policy) in (1..).zip(policies) {
            estimating(name, part, policy);
        }
    }
    let settings = ["a", "b"].map(|name| {
        let out = folder.path().join(format!("run-{name}"));
        merged(&[folder.path().join(name)], &out);
        Run::open(&out).unwrap().developer_settings().unwrap()
    });
    assert!(settings[0].is_some());
    assert_eq!(settings[0], settings[1]);
}

#[test]
fn part_that_lacks_a_project_is_merged_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let begin = |part: u32, other: serde_json::Value, status: ProjectStatus| {
        let partition = Partition::new(part, 2).unwrap();
        let projects = json!({"demo": "1", "other": other});
        let identity = json!({"model": "embedded", "projects": projects});
        let run = Run::begin_part(folder.path(), partition, &identity).unwrap();
        run.set_project("demo", &state(ProjectStatus::Ready))
            .unwrap();
        run.set_project("other", &state(status)).unwrap();
        run.set_finished().unwrap();
    };
    let missing = || -> Vec<String> {
        let parts = MergedParts::read(&[folder.path().to_owned()]).unwrap();
        parts.missing().iter().map(MissingPart::to_string).collect()
    };
    begin(1, json!(null), ProjectStatus::Failed);
    begin(2, json!("2"), ProjectStatus::Ready);
    assert_eq!(
        missing(),
        ["1/2: its machine left out the project `other`, which other machines have"]
    );
    // The part is run again where the project can be prepared.
    begin(1, json!("2"), ProjectStatus::Ready);
    assert_eq!(missing(), [""; 0]);
    let out = folder.path().join("run");
    merged(&[folder.path().to_owned()], &out);
    let identity = Run::open(&out).unwrap().identity().unwrap();
    assert_eq!(identity["projects"], json!({"demo": "1", "other": "2"}));
}
