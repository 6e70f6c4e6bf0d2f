//! Embedding vectors from a scripted server, and faults.

use std::path::Path;

use serde_json::json;

use super::super::embeddings::{EmbeddingSettings, Embeddings, Vector};
use super::server::Script;
use super::*;

fn settings(server: &Server) -> EmbeddingSettings {
    EmbeddingSettings {
        url: Some(server.url.clone()),
        name: Some("vectors-1".to_owned()),
        key_env: Some("MODEL_KEY".to_owned()),
        batch: 2,
        ..EmbeddingSettings::default()
    }
}

fn opened(settings: &EmbeddingSettings, cache: Option<&Path>) -> Embeddings {
    Embeddings::open(settings, &environment, cache).expect("the settings are sound")
}

/// Builds a response in OpenAI's format, with the entries in this order.
fn answer(entries: &[(usize, &[f64])]) -> Script {
    let entries: Vec<Value> = entries
        .iter()
        .map(|(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}))
        .collect();
    whole(&json!({"object": "list", "data": entries, "model": "vectors-1"}).to_string())
}

fn numbers(vectors: &[Vector]) -> Vec<Vec<f32>> {
    vectors.iter().map(|vector| vector.to_vec()).collect()
}

#[tokio::test]
async fn texts_are_batched_and_deduplicated_in_order() {
    let server = Server::start(vec![
        answer(&[(1, &[3.0, 4.0]), (0, &[1.0, 2.0])]),
        answer(&[(0, &[0.5, -1.5])]),
    ])
    .await;
    let embeddings = opened(&settings(&server), None);
    let texts = ["a", "b", "a", "c"];
    let vectors = embeddings.vectors(&texts).await.expect("an answer");
    let expected = vec![
        vec![1.0, 2.0],
        vec![3.0, 4.0],
        vec![1.0, 2.0],
        vec![0.5, -1.5],
    ];
    assert_eq!(numbers(&vectors), expected);
    let bodies = server.bodies();
    assert_eq!(bodies[0]["input"], json!(["a", "b"]));
    assert_eq!(bodies[1]["input"], json!(["c"]));
    assert_eq!(bodies[0]["model"], "vectors-1");
    let request = &server.requests()[0];
    assert!(request.starts_with("POST /v1/embeddings "), "{request}");
    assert!(request.contains(&format!("Bearer {KEY}")), "{request}");
    // Known texts are not requested again.
    let again = embeddings
        .vectors(&texts)
        .await
        .expect("no answer is needed");
    assert_eq!(numbers(&again), expected);
}

#[tokio::test]
async fn vectors_are_kept_on_disk_by_model_and_text() {
    let cache = tempfile::tempdir().expect("there is room for a folder");
    let script = || answer(&[(0, &[0.25, 1.0e-30])]);
    let server = Server::start(vec![script(), script(), script()]).await;
    let settings = settings(&server);
    // A new instance has no vectors in memory, like another process.
    let ask = async |settings: EmbeddingSettings| {
        let embeddings = opened(&settings, Some(cache.path()));
        numbers(&embeddings.vectors(&["text"]).await.expect("an answer"))
    };
    let first = ask(settings.clone()).await;
    assert_eq!(ask(settings.clone()).await, first);
    assert_eq!(server.requests().len(), 1);
    // Vectors of another model are kept separately.
    let other = EmbeddingSettings {
        name: Some("vectors-2".to_owned()),
        ..settings.clone()
    };
    ask(other).await;
    assert_eq!(server.requests().len(), 2);
    // A truncated file is ignored.
    let mut files = Vec::new();
    let mut folders = vec![cache.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("it is there").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => files.push(path),
            }
        }
    }
    assert_eq!(files.len(), 2);
    for file in files {
        let bytes = std::fs::read(&file).expect("it is there");
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!shown.contains("text") && !shown.contains(KEY));
        std::fs::write(&file, &bytes[..bytes.len() - 4]).expect("it can be written");
    }
    assert_eq!(ask(settings).await, first);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn llama_cpp_format_is_parsed() {
    let body = json!([
        {"index": 0, "embedding": [[1.0, 0.0]]},
        {"index": 1, "embedding": [[0.0, 1.0]]},
    ]);
    let server = Server::start(vec![whole(&body.to_string())]).await;
    let mut settings = settings(&server);
    settings.url = Some(format!("{}/embedding", server.url));
    let vectors = opened(&settings, None).vectors(&["a", "b"]).await;
    let vectors = vectors.expect("an answer");
    assert_eq!(numbers(&vectors), [[1.0, 0.0], [0.0, 1.0]]);
    assert!(server.requests()[0].starts_with("POST /embedding "));
}

#[tokio::test]
async fn faults_are_reported_without_the_key() {
    let refused = format!("{{\"error\": {{\"message\": \"{KEY} is no key\"}}}}");
    let cases = [
        Script::ModelOutput("401 Unauthorized", "", refused.clone().into_bytes()),
        whole(&refused),
        whole("<html>"),
        whole("{}"),
        answer(&[(0, &[1.0])]),
        answer(&[(0, &[1.0]), (2, &[1.0])]),
        answer(&[(0, &[1.0]), (1, &[])]),
        answer(&[(0, &[1.0]), (1, &[1.0, 2.0])]),
    ];
    let mut messages = Vec::new();
    for script in cases {
        let server = Server::start(vec![script]).await;
        let embeddings = opened(&settings(&server), None);
        let error = embeddings.vectors(&["a", "b"]).await;
        let error = error.expect_err("the script is a fault");
        let shown = format!("{error} {error:?} {embeddings:?}");
        assert!(!shown.contains(KEY), "{shown}");
        messages.push(error.to_string().replace(&server.url, "URL"));
    }
    insta::assert_snapshot!(messages.join("\n"), @r#"
    the model's server answered 401: [key] is no key (URL/v1/embeddings)
    the model failed: URL/v1/embeddings says: [key] is no key
    the answer can't be read: it is no JSON: expected value at line 1 column 1 (URL/v1/embeddings)
    the answer can't be read: it has no list `data` (URL/v1/embeddings)
    the answer can't be read: it has 1 vectors for 2 texts (URL/v1/embeddings)
    the answer can't be read: entry 1 has an `index` that no text has (URL/v1/embeddings)
    the answer can't be read: entry 1 has no `embedding` of numbers; a server of llama.cpp needs --embeddings and a --pooling other than none (URL/v1/embeddings)
    the answer can't be read: its vectors have different dimensions (URL/v1/embeddings)
    "#);
}

#[tokio::test]
async fn closed_connection_is_retried() {
    let good = answer(&[(0, &[1.0])]);
    let server = Server::start(vec![Script::HangUp, good]).await;
    let vectors = opened(&settings(&server), None).vectors(&["a"]).await;
    assert_eq!(numbers(&vectors.expect("an answer")), [[1.0]]);
}

#[test]
fn invalid_settings_are_reported() {
    let messages = |settings: EmbeddingSettings| {
        let opened = Embeddings::open(&settings, &environment, None);
        opened.expect_err("it can't be").to_string()
    };
    let with = |url: &str| EmbeddingSettings {
        url: Some(url.to_owned()),
        ..EmbeddingSettings::default()
    };
    let faults = [
        messages(EmbeddingSettings::default()),
        messages(with("ftp://host")),
        messages(EmbeddingSettings {
            batch: 0,
            ..with("http://host")
        }),
        messages(EmbeddingSettings {
            key_env: Some("NO_KEY".to_owned()),
            ..with("http://host")
        }),
    ];
    insta::assert_snapshot!(faults.join("\n"), @"
    context.embeddings: the profile needs `url`, the address of an embeddings server.
    context.embeddings: the setting url is not an address of the form http://host:port: the scheme is neither http nor https.
    context.embeddings: batch and timeout_ms must be at least 1.
    context.embeddings: the environment variable NO_KEY, which key_env names, is not set.
    ");
}
