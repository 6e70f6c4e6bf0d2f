//! Models against a scripted server, which replays exchanges in the documented format of each
//! protocol, and faults.

mod conformance;
mod embeddings;
mod exchanges;
mod faults;
mod llama;
mod loading;
mod openai;
mod reach;
mod recorded;
mod server;
mod settings;
mod streams;
mod vendors;

use parking_lot::Mutex;

use serde_json::Value;

use super::*;
use server::{Server, whole};

const KEY: &str = "sk-very-secret";

/// Settings without retries and streaming, so that each test sets what it needs.
fn settings(protocol: Protocol, url: &str) -> ModelSettings {
    ModelSettings {
        protocol,
        url: Some(url.to_owned()),
        name: Some("Qwen/Qwen2.5-Coder-1.5B".to_owned()),
        key_env: Some("MODEL_KEY".to_owned()),
        retries: 0,
        stream: false,
        // The scripted servers load nothing.
        load_timeout_ms: 0,
        ..ModelSettings::default()
    }
}

fn environment(variable: &str) -> Option<String> {
    (variable == "MODEL_KEY").then(|| KEY.to_owned())
}

fn request(settings: &ModelSettings) -> ModelRequest {
    ModelRequest {
        prefix: "def f(x):\n    return ".to_owned(),
        suffix: "\n\n# <|fim_middle|>\n".to_owned(),
        path: "src/f.py".to_owned(),
        repository: "demo".to_owned(),
        language: Language::by_id("python"),
        windows: vec![Window {
            path: "src/g.py".to_owned(),
            first_line: 3,
            text: "def g(x):\n    return f(x)".to_owned(),
            score: 2.0,
        }],
        layout: WindowLayout::default(),
        earlier: None,
        hole: None,
        question: None,
        parameters: settings.parameters(),
    }
}

async fn fails(settings: &ModelSettings) -> ModelError {
    let model = open(settings, &environment).expect("the settings are sound");
    let error = model
        .complete(&request(settings), &UnlimitedListener)
        .await
        .expect_err("the script is a fault");
    let shown = format!("{error} {error:?} {model:?}");
    assert!(!shown.contains(KEY), "{shown}");
    error
}

async fn completes(settings: &ModelSettings, listener: &dyn TextListener) -> ModelOutput {
    let model = open(settings, &environment).expect("the settings are sound");
    let answer = model
        .complete(&request(settings), listener)
        .await
        .expect("an answer");
    assert!(!format!("{answer:?}{model:?}").contains(KEY), "{answer:?}");
    answer
}

/// Texts and ends of the candidates of a response.
fn texts(answer: &ModelOutput) -> Vec<(&str, Finish)> {
    let candidates = answer.candidates.iter();
    candidates
        .map(|candidate| (candidate.text.as_str(), candidate.finish))
        .collect()
}

/// Records what it receives, and stops a candidate once its text contains this one.
struct Notes {
    streamed: Mutex<Vec<(usize, String)>>,
    enough: Option<&'static str>,
}

impl Notes {
    fn of_all() -> Self {
        Self {
            streamed: Mutex::default(),
            enough: None,
        }
    }

    fn until(text: &'static str) -> Self {
        Self {
            streamed: Mutex::default(),
            enough: Some(text),
        }
    }

    fn receive(&self) -> Vec<(usize, String)> {
        self.streamed.lock().clone()
    }
}

impl TextListener for Notes {
    fn receive(&self, candidate: usize, text: &str) -> ControlFlow<()> {
        let mut streamed = self.streamed.lock();
        streamed.push((candidate, text.to_owned()));
        match self.enough {
            Some(enough) if text.contains(enough) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}
