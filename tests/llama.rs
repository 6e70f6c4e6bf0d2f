//! Replays against a real `llama-server` with a tiny model of random weights: what it says is
//! noise, so only the way there is tested.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/play.rs"]
mod play;
#[path = "support/programs.rs"]
mod programs;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use play::{Place, attempts, demo, has, text};

/// A `llama-server` on a port of its own.
struct LlamaServer {
    child: Child,
    address: String,
}

impl LlamaServer {
    /// Nothing where the program can't be had on this machine.
    fn start() -> Option<Self> {
        let program = programs::bring("llama-server")?;
        let model = programs::bring("tiny-gguf")?;
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let child = Command::new(program)
            .args([
                "-m",
                &text(&model),
                "--host",
                "127.0.0.1",
                "-c",
                "65536",
                "-np",
                "2",
                "-t",
                "1",
            ])
            .args(["--port", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            child,
            address: format!("http://127.0.0.1:{port}"),
        };
        let until = Instant::now() + Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "llama-server did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Replays a few holes of the demo over a protocol and gives the prompts that were sent.
fn prompts(protocol: &str) -> Option<Vec<String>> {
    if !has(&["python3", "node"]) {
        return None;
    }
    let server = LlamaServer::start()?;
    let place = Place::new();
    place.write(
        "model.toml",
        &format!(
            "[model]\nprotocol = \"{protocol}\"\nurl = \"{}\"\nname = \"qwen2.5-coder-tiny\"\n\
             max_tokens = 16\n",
            server.address
        ),
    );
    let run = text(&place.path("run"));
    let arguments = ["replay", &demo(), "--holes", "4", "--model", "model.toml"];
    let said = place
        .fillrate(&[&arguments[..], &["--out", &run]].concat())
        .ended(0);
    assert!(
        said.out.contains("pass@1") && !said.out.contains("infrastructure"),
        "{said:#?}"
    );
    let attempts = attempts(&place.path("run"));
    assert_eq!(attempts.len(), 4);
    let prompts = attempts.values().map(|attempt| {
        let trace = &attempt["trace"];
        assert!(!trace["steps"].as_array().unwrap().is_empty(), "{trace}");
        let windows = trace["windows"].as_array().unwrap();
        assert!(!windows.is_empty(), "no context at {}", attempt["hole"]);
        let prompt = trace["prompt"].as_str().unwrap().to_owned();
        // The best window stands in what was sent: its longest line does, at least.
        let lines = windows[0]["text"].as_str().unwrap().lines();
        let longest = lines.max_by_key(|line| line.len()).unwrap().trim();
        let escaped = serde_json::to_string(longest).unwrap();
        let quoted = escaped.trim_matches('"');
        assert!(
            prompt.contains(longest) || prompt.contains(quoted),
            "{longest}\n{prompt}"
        );
        prompt
    });
    Some(prompts.collect())
}

#[test]
fn completions_with_a_template_carry_context() {
    let Some(prompts) = prompts("openai-completions") else {
        return;
    };
    for prompt in prompts {
        let tokens = [
            "<|repo_name|>",
            "<|file_sep|>",
            "<|fim_prefix|>",
            "<|fim_suffix|>",
            "<|fim_middle|>",
        ];
        let places: Vec<usize> = tokens
            .iter()
            .map(|token| prompt.find(token).unwrap())
            .collect();
        assert!(places.is_sorted(), "{prompt}");
        assert!(prompt.ends_with("<|fim_middle|>"), "{prompt}");
    }
}

#[test]
fn infill_carries_context() {
    let Some(prompts) = prompts("llama-infill") else {
        return;
    };
    for prompt in prompts {
        let body: serde_json::Value = serde_json::from_str(&prompt).unwrap();
        assert!(
            body["input_prefix"].is_string() && body["input_suffix"].is_string(),
            "{prompt}"
        );
        assert!(
            !body["input_extra"].as_array().unwrap().is_empty(),
            "{prompt}"
        );
    }
}
