//! Every protocol that llama.cpp's server speaks, and replays, against a real `llama-server` with
//! a tiny model of random weights: its text is noise, so only the path is tested. One test replays
//! holes with a small real model.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fillrate_server::context::{Window, WindowLayout};
use fillrate_server::model::{
    self, Finish, ModelOutput, ModelRequest, ModelSettings, Protocol, TextListener,
};
use fillrate_syntax::Language;

use crate::support::editor::{Editor, uri};
use crate::support::play::{TestDir, attempts, demo, has_tools, text};
use crate::support::processes::{RunningProgram, free_port};
use crate::support::programs;

/// A `llama-server` on a port of its own.
struct LlamaServer {
    child: RunningProgram,
    address: String,
}

impl LlamaServer {
    /// `None` if the program is unavailable.
    fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    fn start_with(more: &[&str]) -> Option<Self> {
        let program = programs::install("llama-server")?;
        let model = programs::install("tiny-gguf")?;
        Some(Self::serve(&mut Command::new(program), &model, more))
    }

    /// A server of SmolLM2-135M.
    fn start_small() -> Option<Self> {
        let program = programs::install("llama-server")?;
        let model = programs::install("smollm2")?;
        Some(Self::serve(
            &mut Command::new(program),
            &model,
            &["-c", "4096"],
        ))
    }

    fn serve(command: &mut Command, model: &Path, more: &[&str]) -> Self {
        let port = free_port();
        let log = tempfile::NamedTempFile::new().unwrap();
        let child = command
            .args([
                "-m",
                &text(model),
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
            .args(more)
            .stdout(Stdio::null())
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let mut server = Self {
            child: RunningProgram(child),
            address: format!("http://127.0.0.1:{port}"),
        };
        let until = Instant::now() + Duration::from_secs(180);
        // It accepts connections while it loads the model.
        while !(TcpStream::connect(("127.0.0.1", port)).is_ok() && server.get_ok("/health")) {
            let ended = server.child.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < until,
                "llama-server is not ready ({ended:?}):\n{}",
                std::fs::read_to_string(log.path()).unwrap()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// True if the server answers a request for this path with status 200.
    fn get_ok(&self, path: &str) -> bool {
        self.exchange(&format!("GET {path} HTTP/1.0\r\n\r\n"))
            .lines()
            .next()
            .is_some_and(|status| status.contains(" 200 "))
    }

    /// The server's count of tokens that it reads of a prompt, and of those in its cache.
    fn read(&self, prompt: &str) -> (u64, u64) {
        let body = serde_json::json!({"prompt": prompt, "n_predict": 1, "cache_prompt": true});
        let body = body.to_string();
        let response = self.exchange(&format!(
            "POST /completion HTTP/1.0\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        let answer: serde_json::Value = serde_json::from_str(body).unwrap();
        let count = |name: &str| answer["timings"][name].as_u64().unwrap();
        (count("prompt_n"), count("cache_n"))
    }

    fn exchange(&self, request: &str) -> String {
        let address = self.address.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        String::from_utf8_lossy(&response).into_owned()
    }
}

/// The protocols that this server speaks. vLLM's is OpenAI's with more settings, which this server
/// passes over.
const SPOKEN: [Protocol; 6] = [
    Protocol::OpenAiCompletions,
    Protocol::OpenAiChat,
    Protocol::AnthropicMessages,
    Protocol::Vllm,
    Protocol::LlamaInfill,
    Protocol::LlamaCompletion,
];

fn settings(protocol: Protocol, server: &LlamaServer) -> ModelSettings {
    ModelSettings {
        protocol,
        url: Some(server.address.clone()),
        name: Some("qwen2.5-coder-tiny".to_owned()),
        max_tokens: 12,
        seed: 7,
        ..ModelSettings::default()
    }
}

fn request(settings: &ModelSettings) -> ModelRequest {
    ModelRequest {
        prefix: "def f(x):\n    return ".to_owned(),
        suffix: "\n\n\ndef h():\n    pass\n".to_owned(),
        path: "src/f.py".to_owned(),
        repository: "demo".to_owned(),
        language: Language::by_id("python"),
        windows: vec![Window {
            path: "src/g.py".to_owned(),
            first_line: 1,
            text: "def g(x):\n    return x".to_owned(),
            score: 1.0,
        }],
        layout: WindowLayout::default(),
        earlier: None,
        hole: None,
        question: None,
        parameters: settings.parameters(),
    }
}

/// Keeps what it hears, and has enough of a candidate once it has this many bytes.
struct Notes {
    streamed: Mutex<Vec<(usize, String)>>,
    enough: usize,
}

impl Notes {
    fn new(enough: usize) -> Self {
        Self {
            streamed: Mutex::default(),
            enough,
        }
    }
}

impl TextListener for Notes {
    fn receive(&self, candidate: usize, text: &str) -> ControlFlow<()> {
        let mut streamed = self.streamed.lock().unwrap();
        streamed.push((candidate, text.to_owned()));
        if text.len() >= self.enough {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

fn completes(settings: &ModelSettings, listener: &dyn TextListener) -> ModelOutput {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let model = model::open(settings, &|_| None).unwrap();
    let answer = runtime.block_on(model.complete(&request(settings), listener));
    answer.unwrap_or_else(|error| panic!("{}: {error}", settings.protocol))
}

#[test]
fn every_protocol_streams_its_whole_completion() {
    let Some(server) = LlamaServer::start() else {
        return;
    };
    for protocol in SPOKEN {
        let streamed = settings(protocol, &server);
        let whole = ModelSettings {
            stream: false,
            ..streamed.clone()
        };
        let notes = Notes::new(usize::MAX);
        let answer = completes(&streamed, &notes);
        let streamed = notes.streamed.into_inner().unwrap();
        assert!(streamed.len() > 1, "{protocol}: {streamed:?}");
        assert_eq!(
            streamed.last(),
            Some(&(0, answer.candidates[0].text.clone())),
            "{protocol}"
        );
        // Greedy, so that the text repeats.
        assert_eq!(
            completes(&whole, &model::UnlimitedListener).candidates,
            answer.candidates,
            "{protocol}"
        );
        assert_eq!(answer.candidates[0].finish, Finish::Length, "{protocol}");
        assert!(answer.prompt.contains("def g(x):"), "{}", answer.prompt);
        match protocol {
            Protocol::LlamaInfill => assert!(answer.prompt.contains("\"input_extra\"")),
            Protocol::OpenAiChat | Protocol::AnthropicMessages => {
                let body: serde_json::Value = serde_json::from_str(&answer.prompt).unwrap();
                let messages = body["messages"].as_array().unwrap();
                let question = messages.last().unwrap()["content"].as_str().unwrap();
                assert!(question.contains("return <<CURSOR>>\n"), "{question}");
            }
            _ => template_is_whole(&answer.prompt),
        }
    }
}

#[test]
fn every_protocol_returns_several_candidates() {
    let Some(server) = LlamaServer::start() else {
        return;
    };
    for protocol in SPOKEN {
        for stream in [true, false] {
            let several = ModelSettings {
                // More than the server has slots.
                candidates: 3,
                temperature: 1.0,
                stream,
                ..settings(protocol, &server)
            };
            // Anthropic's protocol has no seed, so the server draws, and draws equal texts at times.
            let drawings = if protocol == Protocol::AnthropicMessages {
                20
            } else {
                1
            };
            let mut last = Vec::new();
            let differ = (0..drawings).any(|_| {
                let answer = completes(&several, &model::UnlimitedListener);
                last = answer.candidates.into_iter().map(|it| it.text).collect();
                assert_eq!(last.len(), 3, "{protocol}, stream {stream}");
                last[0] != last[1] && last[1] != last[2]
            });
            assert!(differ, "{protocol}, stream {stream}: {last:?}");
        }
    }
}

#[test]
fn every_protocol_can_be_stopped_early() {
    let Some(server) = LlamaServer::start() else {
        return;
    };
    for protocol in SPOKEN {
        let long = ModelSettings {
            max_tokens: 50_000,
            // Far less than that many tokens take, so that a stream that is not ended fails.
            timeout_ms: 60_000,
            ..settings(protocol, &server)
        };
        let answer = completes(&long, &Notes::new(3));
        assert_eq!(answer.candidates[0].finish, Finish::Enough, "{protocol}");
        assert!(answer.candidates[0].text.len() < 100, "{protocol}");
    }
}

/// Replays a few holes of the demo over a protocol and returns the prompts that were sent.
fn prompts(protocol: &str) -> Option<Vec<String>> {
    if !has_tools(&["python3", "node"]) {
        return None;
    }
    let server = LlamaServer::start()?;
    let dir = TestDir::new();
    dir.write(
        "model.toml",
        &format!(
            "[model]\nprotocol = \"{protocol}\"\nurl = \"{}\"\nname = \"qwen2.5-coder-tiny\"\n\
             max_tokens = 16\ntimeout_ms = 120000\n",
            server.address
        ),
    );
    let run = text(&dir.path("run"));
    let arguments = ["replay", &demo(), "--holes", "4", "--model", "model.toml"];
    let finished = dir
        .fillrate(&[&arguments[..], &["--out", &run]].concat())
        .exits_with(0);
    assert!(
        finished.out.contains("pass@1") && !finished.out.contains("infrastructure"),
        "{finished:#?}"
    );
    let attempts = attempts(&dir.path("run"));
    assert_eq!(attempts.len(), 4);
    let prompts = attempts.values().map(|attempt| {
        let trace = &attempt["trace"];
        assert!(!trace["steps"].as_array().unwrap().is_empty(), "{trace}");
        let windows = trace["windows"].as_array().unwrap();
        assert!(!windows.is_empty(), "no context at {}", attempt["hole"]);
        let prompt = trace["prompt"].as_str().unwrap().to_owned();
        // The prompt contains the best window, or at least its longest line.
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
fn prompts_from_templates_contain_context() {
    let Some(prompts) = prompts("openai-completions") else {
        return;
    };
    for prompt in prompts {
        template_is_whole(&prompt);
    }
}

fn template_is_whole(prompt: &str) {
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

#[test]
fn left_to_right_models_get_the_prompts_of_papers() {
    if !has_tools(&["python3"]) {
        return;
    }
    let Some(server) = LlamaServer::start() else {
        return;
    };
    let dir = TestDir::new();
    dir.write(
        "shop/shop.py",
        "RATE = 3\n\n\ndef price(count):\n    \"\"\"The price of a count.\"\"\"\n    total = count * RATE\n    return total\n",
    );
    dir.write(
        "shop/test_shop.py",
        "from shop import price\n\n\ndef test_price():\n    assert price(2) == 6\n",
    );
    dir.write(
        "model.toml",
        &format!(
            "[model]\nprotocol = \"openai-completions\"\nurl = \"{}\"\nname = \"tiny\"\n\
             family = \"left-to-right\"\nmax_tokens = 16\ntimeout_ms = 120000\n",
            server.address
        ),
    );
    let mut arguments = vec!["replay", "shop", "--kinds", "body", "--model", "model.toml"];
    arguments.extend(["--context", "repoexec-small-instruct-2", "--out", "run"]);
    let finished = dir.fillrate(&arguments).exits_with(0);
    assert!(!finished.out.contains("infrastructure"), "{finished:#?}");
    let attempts = attempts(&dir.path("run"));
    let prompts: Vec<_> = attempts
        .values()
        .map(|attempt| attempt["trace"]["prompt"].as_str().unwrap())
        .collect();
    insta::assert_snapshot!(prompts.join("\n==\n"), @r#"
### Instruction:
RATE = 3

The provided code snippet includes necessary dependencies for implementing the `price` function. Write a Python function `price(count)` to solve the following problem:
"""The price of a count."""

### Response:
def price(count):
    """The price of a count."""
"#);
}

#[test]
fn small_real_model_replays_twenty_holes() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let Some(server) = LlamaServer::start_small() else {
        return;
    };
    let dir = TestDir::new();
    dir.write(
        "model.toml",
        &format!(
            "[model]\nprotocol = \"llama-completion\"\nurl = \"{}\"\nname = \"smollm2-135m\"\n\
             family = \"left-to-right\"\ncontext_tokens = 256\nmax_tokens = 32\n\
             timeout_ms = 600000\n",
            server.address
        ),
    );
    let finished = dir
        .fillrate(&[
            "replay",
            &demo(),
            "--holes",
            "20",
            "--model",
            "model.toml",
            "--request-timeout",
            "600",
            "--out",
            "run",
        ])
        .exits_with(0);
    assert!(finished.out.contains("pass@1"), "{finished:#?}");
    let attempts = attempts(&dir.path("run"));
    assert_eq!(attempts.len(), 20);
    let mut offered = 0;
    for attempt in attempts.values() {
        let trace = &attempt["trace"];
        assert_ne!(attempt["verdict"]["outcome"], "infrastructure", "{attempt}");
        let raw = trace["steps"][0]["raw"].as_str().unwrap();
        assert!(!raw.contains('\u{fffd}'), "{raw}");
        offered += usize::from(!attempt["offered"].as_array().unwrap().is_empty());
    }
    assert!(offered >= 10, "only {offered} of 20 holes got a completion");
}

/// The prompts that a model of a family gets while a person types a line in a long file.
fn typed_prompts(server: &LlamaServer, family: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let lines = |name: &str| -> String {
        let lines = (0..120).map(|at| format!("{name}_{at} = step({at}) + {name}_total\n"));
        lines.collect()
    };
    write("tax.py", &lines("tax"));
    let (before, after) = (lines("cart"), lines("rest"));
    write("cart.py", &format!("{before}\n{after}"));
    let mut editor = Editor::ready(
        folder.path(),
        &format!(
            "[model]\nprotocol = \"openai-completions\"\nurl = \"{}\"\n\
             name = \"tiny\"\nfamily = \"{family}\"\nmax_tokens = 4\n\
             context_tokens = 1024\ntimeout_ms = 120000\n[context]\nbudget_ms = 0\n\
             [typing]\nreuse = false\nwait_ms = 0\n",
            server.address
        ),
    );
    let uri = uri(folder.path(), "cart.py");
    editor.open(&uri, "python", &format!("{before}\n{after}"));
    let typed = "total = tax_3 + cart_9";
    let mut prompts: Vec<String> = Vec::new();
    for (at, character) in typed.char_indices() {
        let column = u32::try_from(at).unwrap();
        let version = i32::try_from(at).unwrap() + 2;
        editor.insert(&uri, version, 120, column, &character.to_string());
        let request = editor.request_completion(&uri, 120, column + 1);
        editor.response(request);
        let document = serde_json::json!({"textDocument": {"uri": uri}});
        let explained = editor.request("fillrate/explain", document);
        let prompt = explained["result"]["trace"]["prompt"].as_str().unwrap();
        if !character.is_whitespace() {
            prompts.push(prompt.to_owned());
        }
    }
    prompts
}

#[test]
fn typing_leaves_the_prompt_in_the_servers_cache() {
    // Without a suffix, nearly the whole prompt stays the same. With one after the cursor, the
    // prompt's end moves.
    for (family, least_share) in [("left-to-right", 95), ("qwen2.5-coder", 50)] {
        let Some(server) = LlamaServer::start_with(&["--slot-prompt-similarity", "0"]) else {
            return;
        };
        let prompts = typed_prompts(&server, family);
        assert!(prompts.len() > 10, "{prompts:?}");
        server.read(&prompts[0]);
        let (mut all_read, mut all_cached) = (0, 0);
        for prompt in &prompts[1..] {
            let (read, cached) = server.read(prompt);
            // The model has a token for each byte, so no more tokens than bytes from the line on.
            let line = prompt.rfind("\ntotal").or(prompt.rfind("\nt")).unwrap();
            let rest = (prompt.len() - line) as u64;
            assert!(
                read <= rest && cached > 1000,
                "{family}: {read} of {rest}, {cached} cached:\n{prompt}"
            );
            all_read += read;
            all_cached += cached;
        }
        let share = 100 * all_cached / (all_read + all_cached);
        println!("{family}: {all_cached} of {} tokens", all_read + all_cached);
        assert!(share >= least_share, "{family}: {share} %");
    }
}

/// LiteLLM's gateway in front of a `llama-server`, with a key.
struct Gateway {
    child: RunningProgram,
    address: String,
    _dir: TestDir,
}

impl Gateway {
    const KEY: &'static str = "sk-gateway";

    /// `None` if the program is unavailable.
    fn start(server: &LlamaServer) -> Option<Self> {
        let python = programs::install("litellm")?;
        let dir = TestDir::new();
        let model = |name: &str, provider: &str| {
            serde_json::json!({"model_name": name, "litellm_params": {
                "model": format!("{provider}/tiny"),
                "api_base": format!("{}/v1", server.address),
                "api_key": "none",
            }})
        };
        let models = [
            model("chat", "openai"),
            model("text", "text-completion-openai"),
        ];
        let configuration = serde_json::json!({"model_list": models});
        dir.write("gateway.yaml", &configuration.to_string());
        let port = free_port();
        let child = Command::new(python.with_file_name("litellm"))
            .args(["--config", &text(&dir.path("gateway.yaml"))])
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .envs([
                ("LITELLM_MASTER_KEY", Self::KEY),
                // Else it fetches a list of prices.
                ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut gateway = Self {
            child: RunningProgram(child),
            address: format!("http://127.0.0.1:{port}"),
            _dir: dir,
        };
        let until = Instant::now() + Duration::from_secs(180);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = gateway.child.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < until,
                "the gateway is not ready ({ended:?})"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(gateway)
    }

    fn settings(&self, protocol: Protocol, name: &str) -> ModelSettings {
        ModelSettings {
            protocol,
            url: Some(self.address.clone()),
            name: Some(name.to_owned()),
            family: (protocol != Protocol::OpenAiChat).then(|| "qwen2.5-coder".to_owned()),
            key_env: Some("GATEWAY_KEY".to_owned()),
            max_tokens: 12,
            ..ModelSettings::default()
        }
    }
}

#[test]
fn gateway_passes_completions_and_refusals_on() {
    let Some(server) = LlamaServer::start() else {
        return;
    };
    let Some(gateway) = Gateway::start(&server) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ask = |settings: &ModelSettings, key: &str| {
        let key = |name: &str| (name == "GATEWAY_KEY").then(|| key.to_owned());
        let model = model::open(settings, &key).unwrap();
        runtime.block_on(model.complete(&request(settings), &model::UnlimitedListener))
    };
    for (protocol, name) in [
        (Protocol::OpenAiChat, "chat"),
        (Protocol::OpenAiCompletions, "text"),
    ] {
        let streamed = gateway.settings(protocol, name);
        let whole = ModelSettings {
            stream: false,
            ..streamed.clone()
        };
        let answer = ask(&streamed, Gateway::KEY).unwrap();
        assert!(!answer.candidates[0].text.is_empty(), "{protocol}");
        assert_eq!(answer.candidates[0].finish, Finish::Length, "{protocol}");
        assert_eq!(
            ask(&whole, Gateway::KEY).unwrap().candidates,
            answer.candidates,
            "{protocol}"
        );
        let unknown = gateway.settings(protocol, "unknown");
        let error = ask(&unknown, Gateway::KEY).unwrap_err().to_string();
        assert!(
            error.contains("Invalid model name passed in model=unknown") && !error.contains("{\""),
            "{error}"
        );
        let error = ask(&streamed, "sk-other").unwrap_err().to_string();
        assert!(
            !error.contains("sk-other") && !error.contains("{\""),
            "{error}"
        );
    }
}

#[test]
fn infill_requests_contain_context() {
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

#[test]
fn complete_uses_the_real_server() {
    let Some(server) = LlamaServer::start() else {
        return;
    };
    // Outside of this repository, which ignores what tests leave behind.
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "other.py",
        "def compute_total(items):\n    return sum(items)\n",
    );
    write("cart.py", "x = 1\ny = compute_total(\n");
    let paths = [
        ("llama-infill", "\"input_prefix\""),
        ("openai-completions", "<|fim_middle|>"),
        ("openai-chat", "\"messages\""),
    ];
    for (protocol, form) in paths {
        let output = Command::new(env!("CARGO_BIN_EXE_fillrate"))
            .current_dir(folder.path())
            .args([
                "complete",
                "cart.py:2",
                "--json",
                "--model=qwen2.5-coder-tiny",
            ])
            .arg(format!("--protocol={protocol}"))
            .arg(format!("--url={}", server.address))
            .output()
            .unwrap();
        let finished = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{protocol}: {finished}");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let trace = &answer["trace"];
        // The text is noise and clean-up may remove all of it; the trace shows that there was some.
        assert!(
            !trace["steps"].as_array().unwrap().is_empty(),
            "{protocol}: {answer}"
        );
        assert!(trace["first_text_ms"].is_number(), "{protocol}: {answer}");
        let prompt_tokens = trace["usage"]["prompt"].as_u64();
        assert!(
            prompt_tokens.is_some_and(|count| count > 0),
            "{protocol}: {answer}"
        );
        let prompt = trace["prompt"].as_str().unwrap();
        assert!(prompt.contains(form), "{protocol}: {prompt}");
        assert!(prompt.contains("return sum(items)"), "{protocol}: {prompt}");
    }
}

#[test]
fn embeddings_of_the_real_server_rank_windows_and_are_cached() {
    let Some(server) = LlamaServer::start_with(&["--embeddings", "--pooling", "mean"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for name in ["tax", "log", "cart"] {
        let lines = (0..24).map(|line| format!("{name}_{line} = step({line})\n"));
        std::fs::write(at(&format!("{name}.py")), lines.collect::<String>()).unwrap();
    }
    std::fs::write(at("main.py"), "total = tax_3\nrest = \n").unwrap();
    let address = server.address.clone();
    let settings = |path: &str| {
        format!("[context.embeddings]\nurl = \"{address}{path}\"\nname = \"tiny\"\nbatch = 4\n")
    };
    let retrieve = |settings: &str, context: &str| {
        std::fs::write(at("settings.toml"), settings).unwrap();
        Command::new(env!("CARGO_BIN_EXE_fillrate"))
            .args([
                "retrieve",
                "main.py:2:8",
                "--json",
                "--config",
                "settings.toml",
            ])
            .args(["--context", context])
            .current_dir(folder.path())
            .env("FILLRATE_CACHE", at("cache"))
            .output()
            .unwrap()
    };
    let found = |settings: &str, context: &str| -> Vec<(String, f64)> {
        let output = retrieve(settings, context);
        let finished = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{finished}");
        let retrieved: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let windows = retrieved["windows"].as_array().unwrap().iter();
        let shown = windows.map(|window| {
            let dir = format!("{}:{}", window["path"], window["first_line"]);
            (dir, window["score"].as_f64().unwrap())
        });
        shown.collect()
    };
    // OpenAI's form, and llama.cpp's own.
    let (theirs, own) = (settings(""), settings("/embedding"));
    let dense = found(&theirs, "dense");
    assert!(dense.len() >= 3, "{dense:?}");
    assert!(
        dense.iter().all(|(_, score)| (-1.0..=1.0).contains(score)),
        "{dense:?}"
    );
    assert!(
        dense.windows(2).all(|pair| pair[0].1 >= pair[1].1),
        "{dense:?}"
    );
    assert_eq!(found(&own, "dense"), dense);
    let mix = found(&theirs, "mix");
    assert!(
        mix.iter()
            .all(|(_, score)| *score > 0.0 && *score <= 2.0 / 61.0),
        "{mix:?}"
    );

    // What is kept needs no server.
    drop(server);
    assert_eq!(found(&theirs, "dense"), dense);
    std::fs::write(at("main.py"), "another = \nrest = \n").unwrap();
    let output = retrieve(&theirs, "dense");
    let finished = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        finished.contains("no windows: no vectors for the profile's windows: "),
        "{finished}"
    );
    assert!(finished.contains("cannot be reached"), "{finished}");
}
