use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

const KEY: &str = "sk-very-secret";

/// What the scripted server does with one connection.
#[derive(Clone)]
enum Script {
    /// Answers with this status line and body.
    Answer(&'static str, String),
    /// Reads the request and says nothing.
    Silence,
    /// Closes the connection at once.
    HangUp,
}

/// A server that plays one script per request and keeps what it was sent.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            let mut silent = Vec::new();
            for script in scripts {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                if matches!(script, Script::HangUp) {
                    continue;
                }
                let mut bytes = Vec::new();
                loop {
                    let mut chunk = [0; 4096];
                    let count = stream.read(&mut chunk).await.expect("a request");
                    bytes.extend_from_slice(&chunk[..count]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        continue;
                    };
                    let length = head
                        .lines()
                        .find_map(|line| {
                            line.to_lowercase()
                                .strip_prefix("content-length: ")?
                                .parse()
                                .ok()
                        })
                        .unwrap_or(0);
                    if body.len() >= length {
                        kept.lock().expect("no other holder panics").push(text);
                        break;
                    }
                }
                match script {
                    Script::Answer(status, body) => {
                        let answer = format!(
                            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                            body.len()
                        );
                        stream.write_all(answer.as_bytes()).await.expect("a reader");
                    }
                    Script::Silence => silent.push(stream),
                    Script::HangUp => {}
                }
            }
            std::future::pending::<()>().await;
        });
        Self {
            url,
            requests,
            task,
        }
    }

    fn requests(&self) -> Vec<String> {
        self.requests
            .lock()
            .expect("no other holder panics")
            .clone()
    }

    fn bodies(&self) -> Vec<serde_json::Value> {
        self.requests()
            .iter()
            .map(|text| {
                let (_, body) = text.split_once("\r\n\r\n").expect("a head");
                serde_json::from_str(body).expect("JSON")
            })
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn settings(protocol: Protocol, url: &str) -> Settings {
    Settings {
        protocol,
        url: Some(url.to_owned()),
        name: Some("Qwen/Qwen2.5-Coder-1.5B".to_owned()),
        key_env: Some("MODEL_KEY".to_owned()),
        retries: 0,
        stream: false,
        ..Settings::default()
    }
}

fn environment(variable: &str) -> Option<String> {
    (variable == "MODEL_KEY").then(|| KEY.to_owned())
}

fn request(settings: &Settings) -> Request {
    Request {
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
        parameters: settings.parameters(),
    }
}

fn answer(body: &str) -> Script {
    Script::Answer("200 OK", body.to_owned())
}

async fn fails(settings: &Settings) -> ModelError {
    let model = open(settings, &environment).expect("the settings are sound");
    let error = model
        .complete(&request(settings), &Whole)
        .await
        .expect_err("the script is a fault");
    let shown = format!("{error} {error:?} {model:?}");
    assert!(!shown.contains(KEY), "{shown}");
    error
}

#[tokio::test]
async fn openai_completions_asks_and_reads() {
    let server = Server::start(vec![answer(
        r#"{"choices": [
            {"text": "x + 1<|fim_middle|>junk", "finish_reason": "length"},
            {"text": "x", "finish_reason": "length"},
            {"text": "", "finish_reason": "stop"}
        ]}"#,
    )])
    .await;
    let settings = Settings {
        candidates: 3,
        temperature: 0.5,
        ..settings(Protocol::OpenAiCompletions, &format!("{}/v1/", server.url))
    };
    let model = open(&settings, &environment).expect("the settings are sound");
    let answer = model
        .complete(&request(&settings), &Whole)
        .await
        .expect("an answer");
    insta::assert_snapshot!(format!("{:#}", server.bodies()[0]), @r#"
    {
      "model": "Qwen/Qwen2.5-Coder-1.5B",
      "prompt": "<|repo_name|>demo\n<|file_sep|>src/g.py\ndef g(x):\n    return f(x)\n<|file_sep|>src/f.py\n<|fim_prefix|>def f(x):\n    return <|fim_suffix|>\n\n# < |fim_middle|>\n<|fim_middle|>",
      "max_tokens": 128,
      "temperature": 0.5,
      "top_p": 1.0,
      "seed": 0,
      "n": 3,
      "stop": [
        "<|endoftext|>",
        "<|file_sep|>",
        "<|fim_pad|>",
        "<|repo_name|>"
      ],
      "stream": false
    }
    "#);
    insta::assert_debug_snapshot!(answer.candidates, @r#"
    [
        Candidate {
            text: "x + 1",
            finish: Stop,
            mean_log_probability: None,
        },
        Candidate {
            text: "x",
            finish: Length,
            mean_log_probability: None,
        },
        Candidate {
            text: "",
            finish: Stop,
            mean_log_probability: None,
        },
    ]
    "#);
    let head = server.requests()[0].to_lowercase();
    assert!(head.starts_with("post /v1/completions http/1.1\r\n"));
    assert!(head.contains(&format!("authorization: bearer {KEY}\r\n")));
    assert_eq!(answer.prompt, server.bodies()[0]["prompt"]);
    assert!(!format!("{answer:?}{model:?}").contains(KEY));
}

#[tokio::test]
async fn completions_are_heard_while_they_are_written() {
    let server = Server::start(vec![answer(concat!(
        "data: {\"choices\": [{\"index\": 1, \"text\": \"ab\", \"finish_reason\": null}]}\n\n",
        "data: {\"choices\": [{\"index\": 0, \"text\": \"x <|file\"}]}\n\n",
        "data: {\"choices\": [{\"index\": 0, \"text\": \"_sep|>\"}]}\n\n",
        "data: {\"choices\": [{\"index\": 1, \"text\": \"c\", \"finish_reason\": \"length\"}]}\n\n",
        "data: [DONE]\n\n",
    ))])
    .await;
    let settings = Settings {
        candidates: 2,
        temperature: 0.5,
        stream: true,
        ..settings(Protocol::OpenAiCompletions, &server.url)
    };
    let model = open(&settings, &environment).expect("the settings are sound");
    let heard = Heard::default();
    let answer = model
        .complete(&request(&settings), &heard)
        .await
        .expect("an answer");
    assert_eq!(server.bodies()[0]["stream"], true);
    let texts: Vec<_> = answer
        .candidates
        .iter()
        .map(|candidate| (candidate.text.as_str(), candidate.finish))
        .collect();
    assert_eq!(texts, [("x ", Finish::Stop), ("abc", Finish::Length)]);
    let heard = heard.0.into_inner().expect("no other holder panics");
    let expected = [(1, "ab"), (0, "x "), (1, "abc")];
    assert_eq!(
        heard,
        expected.map(|(index, text)| (index, text.to_owned()))
    );
}

/// Keeps what it hears.
#[derive(Default)]
struct Heard(Mutex<Vec<(usize, String)>>);

impl Listener for Heard {
    fn heard(&self, candidate: usize, text: &str) -> ControlFlow<()> {
        let mut heard = self.0.lock().expect("no other holder panics");
        heard.push((candidate, text.to_owned()));
        ControlFlow::Continue(())
    }
}

#[tokio::test]
async fn openai_completions_asks_again_where_the_server_gives_fewer() {
    let one = r#"{"choices": [{"text": "x", "finish_reason": "stop"}]}"#;
    let server = Server::start(vec![answer(one), answer(one)]).await;
    let settings = Settings {
        candidates: 2,
        temperature: 1.0,
        seed: 7,
        ..settings(Protocol::OpenAiCompletions, &server.url)
    };
    let model = open(&settings, &environment).expect("the settings are sound");
    let answer = model
        .complete(&request(&settings), &Whole)
        .await
        .expect("an answer");
    assert_eq!(answer.candidates.len(), 2);
    let asked: Vec<_> = server
        .bodies()
        .iter()
        .map(|body| (body["n"].clone(), body["seed"].clone()))
        .collect();
    assert_eq!(asked, [(2.into(), 7.into()), (1.into(), 8.into())]);
}

#[tokio::test]
async fn llama_infill_asks_and_reads() {
    let server = Server::start(vec![
        answer(r#"{"content": "x + 1<|endoftext|>", "stop_type": "limit"}"#),
        answer(r#"{"content": "x", "stop_type": "limit"}"#),
    ])
    .await;
    let settings = Settings {
        candidates: 2,
        temperature: 0.5,
        seed: 3,
        ..settings(Protocol::LlamaInfill, &server.url)
    };
    let model = open(&settings, &environment).expect("the settings are sound");
    let answer = model
        .complete(&request(&settings), &Whole)
        .await
        .expect("an answer");
    insta::assert_snapshot!(format!("{:#}", server.bodies()[0]), @r#"
    {
      "input_prefix": "def f(x):\n    return ",
      "input_suffix": "\n\n# < |fim_middle|>\n",
      "input_extra": [
        {
          "filename": "src/g.py",
          "text": "def g(x):\n    return f(x)"
        }
      ],
      "n_predict": 128,
      "temperature": 0.5,
      "top_p": 1.0,
      "top_k": 0,
      "min_p": 0.0,
      "seed": 3,
      "stop": [
        "<|endoftext|>",
        "<|file_sep|>",
        "<|fim_pad|>",
        "<|repo_name|>"
      ],
      "cache_prompt": true,
      "stream": false
    }
    "#);
    insta::assert_debug_snapshot!(answer.candidates, @r#"
    [
        Candidate {
            text: "x + 1",
            finish: Stop,
            mean_log_probability: None,
        },
        Candidate {
            text: "x",
            finish: Length,
            mean_log_probability: None,
        },
    ]
    "#);
    assert_eq!(server.bodies()[1]["seed"], 4);
    assert!(server.requests()[0].starts_with("POST /infill HTTP/1.1\r\n"));
}

#[tokio::test]
async fn faults_of_a_server_are_told_without_the_key() {
    for protocol in [Protocol::OpenAiCompletions, Protocol::LlamaInfill] {
        let long = format!("bad key {KEY} {}", "x".repeat(1000));
        let server = Server::start(vec![
            Script::Answer("401 Unauthorized", long),
            answer("<html>"),
            answer(r#"{"choices": []}"#),
            Script::HangUp,
            Script::Answer("307 Temporary Redirect", String::new()),
        ])
        .await;
        let settings = settings(protocol, &server.url);
        match fails(&settings).await {
            ModelError::Status {
                status: 401, body, ..
            } => {
                assert!(body.starts_with("bad key [key] xxx"), "{body}");
                assert!(body.chars().count() <= 301);
            }
            other => panic!("{other}"),
        }
        assert!(matches!(
            fails(&settings).await,
            ModelError::Malformed { .. }
        ));
        assert!(matches!(
            fails(&settings).await,
            ModelError::Malformed { .. }
        ));
        assert!(matches!(
            fails(&settings).await,
            ModelError::Unreachable { .. }
        ));
        assert!(matches!(
            fails(&settings).await,
            ModelError::Status { status: 307, .. }
        ));
    }
}

#[tokio::test]
async fn a_key_cut_by_shortening_does_not_show() {
    // The key begins before the 300th character and ends after it.
    let body = format!("{}{KEY}", "x ".repeat(146));
    let server = Server::start(vec![Script::Answer("500 Oops", body)]).await;
    let error = fails(&settings(Protocol::LlamaInfill, &server.url)).await;
    assert!(!error.to_string().contains("sk-"), "{error}");
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    for protocol in [Protocol::OpenAiCompletions, Protocol::LlamaInfill] {
        let server = Server::start(vec![Script::Silence]).await;
        let settings = Settings {
            timeout_ms: 50,
            ..settings(protocol, &server.url)
        };
        assert!(matches!(fails(&settings).await, ModelError::Timeout(_)));
    }
}

#[tokio::test]
async fn no_server_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    drop(listener);
    let error = fails(&settings(Protocol::OpenAiCompletions, &url)).await;
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error}");
}

#[test]
fn faulty_settings_are_told_in_one_sentence() {
    let openai = settings(Protocol::OpenAiCompletions, "http://127.0.0.1:1");
    let faulty = [
        Settings {
            url: None,
            ..openai.clone()
        },
        Settings {
            url: Some("localhost:8080".to_owned()),
            ..openai.clone()
        },
        Settings {
            url: Some("http://me:pw@host".to_owned()),
            ..openai.clone()
        },
        Settings {
            name: None,
            ..openai.clone()
        },
        Settings {
            name: Some("gpt-4o".to_owned()),
            ..openai.clone()
        },
        Settings {
            family: Some("gpt".to_owned()),
            ..openai.clone()
        },
        Settings {
            key_env: Some("OTHER".to_owned()),
            ..openai.clone()
        },
        Settings {
            protocol: Protocol::LlamaInfill,
            url: None,
            ..openai.clone()
        },
        Settings {
            protocol: Protocol::Recorded,
            ..openai.clone()
        },
        Settings {
            top_p: 0.0,
            ..openai.clone()
        },
        Settings {
            temperature: f64::NAN,
            ..openai.clone()
        },
        Settings {
            candidates: 0,
            ..openai.clone()
        },
        Settings {
            max_tokens: 0,
            ..openai.clone()
        },
        Settings {
            timeout_ms: 0,
            ..openai.clone()
        },
        Settings {
            context_tokens: 1,
            ..openai.clone()
        },
    ];
    let told: String = faulty
        .iter()
        .map(|settings| match open(settings, &environment) {
            Err(ModelError::Settings(sentence)) => format!("{sentence}\n"),
            other => format!("{other:?}\n"),
        })
        .collect();
    insta::assert_snapshot!(told, @r#"
    model: the protocol "openai-completions" needs the setting url, the address of the model's server.
    model: the setting url is not an address of the form http://host:port: the scheme is neither http nor https.
    model: the setting url is not an address of the form http://host:port: it holds a user name or password, use key_env.
    model: the protocol "openai-completions" needs the setting name, the model's name as its server knows it.
    model: the name "gpt-4o" does not tell how the model is asked to fill in the middle: set `family` to one of starcoder2, starcoder, deepseek-coder-v2, deepseek-coder, codellama, qwen2.5-coder, codegemma, codestral, granite-code.
    model: there is no family "gpt": use one of starcoder2, starcoder, deepseek-coder-v2, deepseek-coder, codellama, qwen2.5-coder, codegemma, codestral, granite-code.
    model: the environment variable OTHER, which key_env names, is not set.
    model: the protocol "llama-infill" needs the setting url, the address of the model's server.
    model: the protocol "recorded" needs the setting recording, a file of JSON lines.
    model: top_p must be above 0 and at most 1.
    model: temperature must be a number of at least 0.
    model: candidates must be at least 1.
    model: max_tokens must be at least 1.
    model: timeout_ms must be at least 1.
    model: context_tokens must be at least 64.
    "#);
    let read = |text: &str| match toml::from_str::<Settings>(text) {
        Ok(settings) => format!("{:?}", settings.protocol),
        Err(error) => error.message().to_owned(),
    };
    insta::assert_snapshot!(read("protocol = \"openai\""), @r#"model: there is no protocol "openai": use one of embedded, openai-completions, openai-chat, vllm, llama-infill, llama-completion, recorded, empty."#);
    insta::assert_snapshot!(read("key = \"sk-1\""), @"unknown field `key`, expected one of `protocol`, `url`, `name`, `family`, `infill`, `key_env`, `key_command`, `proxy`, `ca_file`, `recording`, `max_tokens`, `temperature`, `top_p`, `seed`, `timeout_ms`, `context_tokens`, `candidates`, `stream`, `retries`");
    assert_eq!(read("protocol = \"llama-infill\""), "LlamaInfill");
    assert_eq!(read(""), "Embedded");
}

#[test]
fn every_protocol_opens_and_goes_there_and_back() {
    for protocol in Protocol::ALL {
        let text = serde_json::to_string(&protocol).expect("a name");
        assert_eq!(text, format!("\"{protocol}\""));
        let back: Protocol = serde_json::from_str(&text).expect("its own name");
        assert_eq!(back, protocol);
    }
    let settings = Settings::default();
    assert_eq!(
        open(&settings, &|_| None)
            .map(|model| model.name().to_owned())
            .ok(),
        Some("embedded".to_owned())
    );
}

#[tokio::test]
async fn a_recording_answers_by_place_and_seed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("recording.jsonl");
    let mut settings = Settings {
        protocol: Protocol::Recorded,
        recording: Some(path.clone()),
        candidates: 2,
        ..Settings::default()
    };
    let request = request(&settings);
    let record = recorded::Record {
        key: recorded::key(&request.prefix, &request.suffix),
        completions: ["a", "b", "c"].map(str::to_owned).to_vec(),
    };
    let line = serde_json::to_string(&record).expect("JSON");
    std::fs::write(&path, format!("{line}\n\n")).expect("a file");
    let model = open(&settings, &environment).expect("a sound recording");
    let mut texts = Vec::new();
    for seed in [0, 1, 2, 5] {
        settings.seed = seed;
        let request = Request {
            parameters: settings.parameters(),
            ..request.clone()
        };
        let answer = model.complete(&request, &Whole).await.expect("a record");
        texts.push(
            answer
                .candidates
                .iter()
                .map(|c| c.text.as_str())
                .collect::<String>(),
        );
    }
    assert_eq!(texts, ["ab", "bc", "ca", "ca"]);

    let elsewhere = Request {
        prefix: String::new(),
        ..request
    };
    let error = model
        .complete(&elsewhere, &Whole)
        .await
        .expect_err("no record");
    assert!(
        error
            .to_string()
            .contains("has nothing for this place in src/f.py")
    );

    std::fs::write(&path, format!("{line}\n{{\"key\": 1}}\n")).expect("a file");
    let error = open(&settings, &environment).expect_err("a faulty line");
    assert!(error.to_string().contains("is faulty in line 2"), "{error}");
}

#[test]
fn the_key_of_a_place_is_the_hash_of_prefix_nul_suffix() {
    // printf 'a\0b' | sha256sum
    assert_eq!(
        recorded::key("a", "b"),
        "59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138"
    );
    assert_ne!(recorded::key("a", "b"), recorded::key("ab", ""));
}

#[tokio::test]
async fn the_empty_model_says_nothing() {
    let settings = Settings {
        protocol: Protocol::Empty,
        ..Settings::default()
    };
    let model = open(&settings, &environment).expect("nothing is needed");
    let answer = model
        .complete(&request(&settings), &Whole)
        .await
        .expect("an answer");
    assert_eq!(answer.candidates[0].text, "");
}
