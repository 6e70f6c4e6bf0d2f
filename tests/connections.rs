//! The number of concurrent model requests is independent of that of concurrent verdicts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fillrate_engine::store::Run;
use serde_json::json;

use crate::support::play::{self, FinishedCommand, TestDir, text};

/// A slow model server on loopback, which refuses some requests as if it were overloaded.
#[derive(Default)]
struct SlowModel {
    requests: AtomicUsize,
    /// Number of requests in progress.
    now: AtomicUsize,
    /// Highest number of concurrent requests.
    most: AtomicUsize,
}

/// The requests that are refused, by their number.
const REFUSED: [usize; 3] = [2, 3, 7];

impl SlowModel {
    fn start() -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let model = Arc::new(Self::default());
        let answering = Arc::clone(&model);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = Arc::clone(&answering);
                std::thread::spawn(move || while model.answer(&stream).is_some() {});
            }
        });
        (model, address)
    }

    fn answer(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        let mut first = String::new();
        reader.read_line(&mut first).ok()?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let line = line.trim().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        let mut output = stream;
        if !first.starts_with("POST") {
            // A look at what the server is.
            let none = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            return output.write_all(none.as_bytes()).ok();
        }
        let others = self.now.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(others + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(400));
        self.now.fetch_sub(1, Ordering::SeqCst);
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let head = match REFUSED.contains(&number) {
            true => "429 Too Many Requests\r\nRetry-After: 1",
            false => "200 OK",
        };
        let answer = json!({"object": "chat.completion", "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": "return 1"},
            "finish_reason": "stop",
        }]})
        .to_string();
        write!(
            output,
            "HTTP/1.1 {head}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        )
        .ok()
    }
}

/// Replays a folder without tests.
fn replay(dir: &TestDir, address: &str, run: &str, options: &[&str]) -> FinishedCommand {
    let mut source = String::new();
    for number in 0..12 {
        source += &format!(
            "def f{number}(a, b):\n    c = a + b * {number}\n    return c - {number}\n\n\n"
        );
    }
    dir.write("plain/plain.py", &source);
    let settings = format!(
        "[model]\nprotocol = \"openai-chat\"\nurl = \"{address}\"\nname = \"x\"\nstream = false\n\
         retries = 0\n\n[typing]\nahead = false\n"
    );
    let model = text(&dir.write("model.toml", &settings));
    let arguments = [
        "replay", "plain", "--holes", "10", "--model", &model, "--out", run, "--json",
    ];
    play::run(&mut dir.command(&[&arguments[..], options].concat()))
}

#[test]
fn connections_ask_at_once_and_wait_together_for_a_server_with_too_much_to_do() {
    let dir = TestDir::new();
    let (model, address) = SlowModel::start();
    let options = ["--jobs", "1", "--connections", "4"];
    let ended = replay(&dir, &address, "run", &options).exits_with(0);
    assert_eq!(model.most.load(Ordering::SeqCst), 4);
    // A refusal is asked again, and no failure.
    assert_eq!(model.requests.load(Ordering::SeqCst), 10 + REFUSED.len());
    let refused = "x has too much to do; it is asked again in 1 s\n";
    assert!(ended.err.contains(refused), "{ended:#?}");
    let run = Run::open(&dir.path("run")).unwrap();
    let attempts = run.attempts().unwrap();
    assert_eq!(attempts.len(), 10);
    for attempt in &attempts {
        let trace = attempt.trace.as_ref().unwrap();
        assert_eq!((&trace.fault, trace.retry_after_ms), (&None, None));
        // The wait is none of the model's latency.
        assert!(attempt.latency_ms >= 400.0);
    }

    // The last line says where the time went, and the run keeps it.
    let spent = run.time_spent().unwrap().unwrap();
    assert!(spent.models >= 0.4 * 13.0, "{spent:?}");
    assert!(spent.wall < spent.models && spent.wall > 1.0, "{spent:?}");
    let line = format!("5 workers: {spent}\n");
    assert!(ended.err.ends_with(&line), "{ended:#?}");
}

#[test]
fn without_connections_each_job_asks_in_turn() {
    let dir = TestDir::new();
    let (model, address) = SlowModel::start();
    replay(&dir, &address, "run", &["--jobs", "1"]).exits_with(0);
    assert_eq!(model.most.load(Ordering::SeqCst), 1);
}
