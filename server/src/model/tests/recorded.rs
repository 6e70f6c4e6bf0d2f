use super::*;

#[tokio::test]
async fn recording_is_read_by_key_and_seed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("recording.jsonl");
    let mut settings = ModelSettings {
        protocol: Protocol::Recorded,
        recording: Some(path.clone()),
        candidates: 2,
        ..ModelSettings::default()
    };
    let request = request(&settings);
    let record = crate::model::recorded::RecordedCompletions {
        key: crate::model::recorded::key(&request.prefix, &request.suffix),
        hole: None,
        completions: ["a", "b", "c"].map(str::to_owned).to_vec(),
    };
    let line = serde_json::to_string(&record).expect("JSON");
    std::fs::write(&path, format!("{line}\n\n")).expect("a file");
    let model = open(&settings, &environment).expect("a sound recording");
    let mut texts = Vec::new();
    for seed in [0, 1, 2, 5] {
        settings.seed = seed;
        let request = ModelRequest {
            parameters: settings.parameters(),
            ..request.clone()
        };
        let answer = model
            .complete(&request, &UnlimitedListener)
            .await
            .expect("a record");
        texts.push(
            answer
                .candidates
                .iter()
                .map(|c| c.text.as_str())
                .collect::<String>(),
        );
    }
    assert_eq!(texts, ["ab", "bc", "ca", "ca"]);

    let elsewhere = ModelRequest {
        prefix: String::new(),
        ..request
    };
    let error = model
        .complete(&elsewhere, &UnlimitedListener)
        .await
        .expect_err("no record");
    assert!(
        error
            .to_string()
            .contains("has no completion for this place in src/f.py")
    );

    std::fs::write(&path, format!("{line}\n{{\"key\": 1}}\n")).expect("a file");
    let error = open(&settings, &environment).expect_err("a faulty line");
    assert!(error.to_string().contains("is faulty in line 2"), "{error}");
}

#[tokio::test]
async fn recorded_completions_are_found_by_hole_before_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("recording.jsonl");
    let settings = ModelSettings {
        protocol: Protocol::Recorded,
        recording: Some(path.clone()),
        ..ModelSettings::default()
    };
    let request = request(&settings);
    let record = |hole: Option<&str>, text: &str| {
        let record = crate::model::recorded::RecordedCompletions {
            key: crate::model::recorded::key(&request.prefix, &request.suffix),
            hole: hole.map(str::to_owned),
            completions: vec![text.to_owned()],
        };
        serde_json::to_string(&record).expect("JSON")
    };
    let lines = [
        record(Some("north"), "north"),
        record(Some("south"), "south"),
        record(None, "any"),
    ];
    std::fs::write(&path, lines.join("\n")).expect("a file");
    let model = open(&settings, &environment).expect("a sound recording");
    let mut texts = Vec::new();
    for hole in [Some("south"), Some("north"), Some("east"), None] {
        let request = ModelRequest {
            hole: hole.map(str::to_owned),
            ..request.clone()
        };
        let answer = model.complete(&request, &UnlimitedListener).await;
        texts.push(answer.expect("a record").candidates[0].text.clone());
    }
    assert_eq!(texts, ["south", "north", "any", "any"]);
}

#[test]
fn the_key_of_a_place_is_the_hash_of_prefix_nul_suffix() {
    // printf 'a\0b' | sha256sum
    assert_eq!(
        crate::model::recorded::key("a", "b"),
        "59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138"
    );
    assert_ne!(
        crate::model::recorded::key("a", "b"),
        crate::model::recorded::key("ab", "")
    );
}

#[tokio::test]
async fn empty_model_returns_the_empty_text() {
    let settings = ModelSettings {
        protocol: Protocol::Empty,
        ..ModelSettings::default()
    };
    let model = open(&settings, &environment).expect("nothing is needed");
    let answer = model
        .complete(&request(&settings), &UnlimitedListener)
        .await
        .expect("an answer");
    assert_eq!(answer.candidates[0].text, "");
}
