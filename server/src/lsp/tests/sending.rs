//! Requests that reach model servers, over random settings, documents, folders and moments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use proptest::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A file of the tree, and what the pages allow of it.
struct FixtureFile {
    path: &'static str,
    /// A request may be for it.
    is_sendable: bool,
    /// Windows of it may be in requests for other files, if a workspace folder holds it.
    is_indexable: bool,
}

const fn file(path: &'static str, is_sendable: bool, is_indexable: bool) -> FixtureFile {
    FixtureFile {
        path,
        is_sendable,
        is_indexable,
    }
}

const FILES: &[FixtureFile] = &[
    file("repo/visible.py", true, true),
    file("repo/package/module.py", true, true),
    file("repo/target.py", true, true),
    file("repo/ignored/a.py", false, false),
    file("repo/private.py", false, false),
    file("repo/excluded.py", false, false),
    file("repo/local_settings.py", false, false),
    file("repo/.env", false, false),
    file("repo/.hidden.py", false, false),
    file("repo/secrets.py", false, false),
    file("repo/id_rsa.py", false, false),
    file("repo/.ssh/config.py", false, false),
    file("repo/notes.md", false, false),
    file("outside/free.py", true, true),
    file("outside/.env", false, false),
    file("outside/credentials.py", false, false),
    file("other/source.py", true, true),
    file("other/generated.py", false, false),
    file("tree/seen.py", true, true),
    file("tree/excluded.py", false, false),
    file("sub/seen.py", true, true),
    file("sub/excluded.py", false, false),
    // Links: to a file of the workspace, and to a secret.
    file("repo/link.py", true, true),
    file("repo/secret_link.py", false, false),
];

/// Targets of the links among [`FILES`].
const LINKS: [(&str, &str); 2] = [
    ("repo/link.py", "repo/target.py"),
    ("repo/secret_link.py", "outside/.env"),
];

/// Files of Git and of ignore rules.
const RULES: &[(&str, &str)] = &[
    ("repo/.git/info/exclude", "excluded.py\n"),
    ("repo/.git/config", "[core]\n\texcludesFile = everywhere\n"),
    ("repo/everywhere", "local_*.py\n"),
    ("repo/.gitignore", "ignored/\n"),
    ("repo/.fillrateignore", "private.py\n"),
    ("repo/.git/worktrees/tree/commondir", "../..\n"),
    ("repo/.git/modules/sub/info/exclude", "excluded.py\n"),
    ("tree/.git", "gitdir: ../repo/.git/worktrees/tree\n"),
    ("sub/.git", "gitdir: ../repo/.git/modules/sub\n"),
    ("other/.git/HEAD", "ref: refs/heads/main\n"),
    ("other/.gitignore", "generated.py\n"),
];

/// Folders that a client may open.
const WORKSPACES: &[&[&str]] = &[
    &[],
    &["repo"],
    &["repo", "other"],
    &["tree"],
    &["sub", "outside"],
    &[""],
];

/// A choice of model: settings, and the servers that may be asked under them.
const CHOICES: &[(&str, &[&str])] = &[
    ("{}", &["first"]),
    ("[]", &["first"]),
    (r#"{"pylsp": {"plugins": {}}}"#, &["first"]),
    (r#"{"fillrate": {"use": "first"}}"#, &["first"]),
    (r#"{"fillrate": {"use": "second"}}"#, &["second"]),
    (r#"{"use": "second"}"#, &["second"]),
    (
        r#"{"fillrate": {"use": "second", "typing": {"wait_ms": 1}}}"#,
        &["second"],
    ),
    (
        r#"{"fillrate": {"trial": {"models": ["first", "second"]}}}"#,
        &["first", "second"],
    ),
    (r#"{"fillrate": {"use": "no-such-model"}}"#, &[]),
    (r#"{"fillrate": {"use": "unusable"}}"#, &[]),
    (
        r#"{"fillrate": {"models": {"first": {"protocol": "telepathy"}}}}"#,
        &[],
    ),
    (r#"{"fillrate": {"languages": {"python": false}}}"#, &[]),
    (r#"{"fillrate": {"unheard": 1}}"#, &[]),
];

/// Those of [`CHOICES`] that say nothing.
const NEUTRAL: [usize; 3] = [0, 1, 2];

/// Those of [`CHOICES`] that may be initialization options.
const OPTIONS: [usize; 5] = [0, 1, 3, 4, 5];

/// A step of a client.
#[derive(Clone, Debug)]
enum Step {
    /// Sets this one of [`CHOICES`].
    Choose(usize),
    /// Opens this one of [`FILES`].
    Open(usize),
    /// Edits a file and asks, and waits for the response.
    Ask(usize),
    /// Edits a file and asks for an explanation.
    Explain(usize),
    /// Asks, and sets one of [`CHOICES`] before the response.
    AskAndChoose(usize, usize),
    /// Has an ignore file hide one of the first files.
    Hide(usize),
    /// Waits until the server is ready or has a fault.
    Settle,
    /// Waits for the given number of milliseconds.
    Pause(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (file, choice) = (0..FILES.len(), 0..CHOICES.len());
    prop_oneof![
        2 => choice.clone().prop_map(Step::Choose),
        4 => file.clone().prop_map(Step::Open),
        6 => file.clone().prop_map(Step::Ask),
        1 => file.clone().prop_map(Step::Explain),
        1 => (file, choice).prop_map(|(file, choice)| Step::AskAndChoose(file, choice)),
        1 => (0..2_usize).prop_map(Step::Hide),
        2 => Just(Step::Settle),
        1 => (0..30_u64).prop_map(Step::Pause),
    ]
}

/// A request that a model server got: the server's name and the body.
type Received = Arc<Mutex<Vec<(&'static str, String)>>>;

/// Starts a model server. Returns its address.
async fn model_server(name: &'static str, received: &Received) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let received = Arc::clone(received);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_requests(stream, name, Arc::clone(&received)));
        }
    });
    format!("http://{address}")
}

async fn answer_requests(mut stream: TcpStream, name: &'static str, received: Received) {
    let (input, mut output) = stream.split();
    let mut input = BufReader::new(input);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            match input.read_line(&mut line).await {
                Ok(read) if read > 0 => {}
                _ => return,
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if input.read_exact(&mut body).await.is_err() {
            return;
        }
        received
            .lock()
            .push((name, String::from_utf8_lossy(&body).into_owned()));
        let answer = r#"{"content": "value_1", "stop": true, "stop_type": "eos"}"#;
        let response = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if output.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Rules for the request that holds a mark.
struct Allowed {
    is_sendable: bool,
    servers: BTreeSet<&'static str>,
    document: usize,
    /// The files whose windows may be in it.
    windows: BTreeSet<usize>,
}

/// A client, its folder and what it did.
struct Person {
    client: TestClient,
    root: PathBuf,
    /// The folders of the workspace.
    folders: &'static [&'static str],
    /// The initialization options and the settings, of [`CHOICES`].
    choices: [usize; 2],
    open: BTreeSet<usize>,
    hidden: BTreeSet<usize>,
    version: i32,
    /// The mark of the first request. Each case has its own, since a request of an ended one may
    /// arrive late.
    first_mark: usize,
    allowed: BTreeMap<usize, Allowed>,
    /// The ids of requests that were not waited for, with their marks.
    late: Vec<(String, usize)>,
}

impl Person {
    fn uri(&self, file: usize) -> String {
        format!("file://{}", self.root.join(FILES[file].path).display())
    }

    /// The servers that may be asked. Settings are over the options.
    fn servers(&self) -> &'static [&'static str] {
        let [options, settings] = self.choices;
        let is_silent = NEUTRAL.contains(&settings);
        CHOICES[if is_silent { options } else { settings }].1
    }

    async fn choose(&mut self, choice: usize) {
        self.choices[1] = choice;
        let settings: Value = serde_json::from_str(CHOICES[choice].0).expect("it is JSON");
        // A request that waits for engines is answered under the settings of the time.
        let servers = self.servers();
        for (id, mark) in &self.late {
            let is_answered = self
                .client
                .messages
                .iter()
                .any(|message| message["id"] == **id);
            if !is_answered
                && let Some(allowed) = self.allowed.get_mut(mark)
                && allowed.is_sendable
            {
                allowed.servers.extend(servers);
            }
        }
        let params = json!({"settings": settings});
        self.client
            .notify("workspace/didChangeConfiguration", params)
            .await;
    }

    async fn open(&mut self, file: usize) {
        if self.open.insert(file) {
            let language = match FILES[file].path.ends_with(".md") {
                true => "markdown",
                false => "python",
            };
            let document = json!({
                "uri": self.uri(file), "languageId": language, "version": 0,
                "text": contents("buffer", file),
            });
            let params = json!({"textDocument": document});
            self.client.notify("textDocument/didOpen", params).await;
        }
    }

    /// Edits an open file, notes what is allowed of a request there, and returns its parameters.
    async fn edit(&mut self, file: usize) -> Value {
        self.open(file).await;
        self.version += 1;
        let mark = self.first_mark + self.allowed.len();
        let text = format!(
            "{}mark_{mark}_ = 1\ncompute_total = ",
            contents("buffer", file)
        );
        let line = text.matches('\n').count();
        let is_inside = |path: &str| {
            let mut folders = self.folders.iter();
            folders.any(|folder| folder.is_empty() || Path::new(path).starts_with(folder))
        };
        let windows = FILES.iter().enumerate().filter(|(index, file)| {
            file.is_indexable && is_inside(file.path) && !self.hidden.contains(index)
        });
        let windows = windows.map(|(index, _)| index).collect();
        let is_sendable = FILES[file].is_sendable && !self.hidden.contains(&file);
        let servers = self.servers().iter().copied();
        let servers = servers.filter(|_| is_sendable).collect();
        self.allowed.insert(
            mark,
            Allowed {
                is_sendable,
                servers,
                document: file,
                windows,
            },
        );
        let document = json!({"uri": self.uri(file), "version": self.version});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        self.client.notify("textDocument/didChange", params).await;
        json!({
            "textDocument": {"uri": self.uri(file)},
            "position": {"line": line, "character": 16},
            "context": {"triggerKind": 1},
        })
    }

    async fn take(&mut self, step: &Step) {
        match *step {
            Step::Choose(choice) => self.choose(choice).await,
            Step::Open(file) => self.open(file).await,
            Step::Ask(file) => {
                let params = self.edit(file).await;
                self.client.request(INLINE_COMPLETION, params).await;
            }
            Step::Explain(file) => {
                let params = self.edit(file).await;
                self.client.request(EXPLAIN, params).await;
            }
            Step::AskAndChoose(file, choice) => {
                let params = self.edit(file).await;
                let mark = self.first_mark + self.allowed.len() - 1;
                let id = format!("late {}", self.version);
                let request = json!({
                    "jsonrpc": "2.0", "id": id, "method": INLINE_COMPLETION, "params": params,
                });
                self.late.push((id, mark));
                let sent = self.client.stream.write_all(&encode(&request)).await;
                sent.expect("the server reads");
                self.choose(choice).await;
                // Whatever is asked has arrived once the next request is answered.
                self.client.request("fillrate/models", json!({})).await;
            }
            Step::Hide(file) => {
                let (path, ignore) = (FILES[file].path, self.root.join("repo/.fillrateignore"));
                let rule = path.strip_prefix("repo/").unwrap_or(path);
                let before = std::fs::read_to_string(&ignore).expect("it is there");
                // Replaced at once: a request that is still running never reads half of it.
                let written = self.root.join("repo/.fillrateignore.new");
                std::fs::write(&written, format!("{before}{rule}\n")).expect("it can be written");
                std::fs::rename(&written, &ignore).expect("it can be replaced");
                self.hidden.insert(file);
                let uri = format!("file://{}", ignore.display());
                let params = json!({"changes": [{"uri": uri, "type": 2}]});
                self.client
                    .notify("workspace/didChangeWatchedFiles", params)
                    .await;
            }
            Step::Settle => {
                self.client.request("fillrate/models", json!({})).await;
                let is_over = |message: &Value| {
                    message["method"] == "fillrate/status"
                        && ["ready", "fault"]
                            .contains(&message["params"]["state"].as_str().unwrap_or(""))
                };
                while !self.client.messages.iter().any(is_over) {
                    let message = self.client.receive().await;
                    self.client.messages.push(message);
                }
            }
            Step::Pause(milliseconds) => {
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            }
        }
    }
}

/// A file's text on disk or in a buffer, by which it is recognised in a request.
fn contents(origin: &str, file: usize) -> String {
    format!("def compute_total(items):\n    return {origin}_{file}_(items)\n")
}

fn write_tree(root: &Path) {
    let write = |path: &str, contents: &str| {
        let path = root.join(path);
        let folder = path.parent().expect("it is in a folder");
        std::fs::create_dir_all(folder).expect("it can be made");
        std::fs::write(path, contents).expect("it can be written");
    };
    for (path, contents) in RULES {
        write(path, contents);
    }
    for (index, file) in FILES.iter().enumerate() {
        if !LINKS.iter().any(|(link, _)| *link == file.path) {
            write(file.path, &contents("disk", index));
        }
    }
    #[cfg(unix)]
    for (link, target) in LINKS {
        let made = std::os::unix::fs::symlink(root.join(target), root.join(link));
        made.expect("links can be made");
    }
}

/// The numbers after each occurrence of a word in a text.
fn numbers(text: &str, word: &str) -> BTreeSet<usize> {
    let after = text.split(word).skip(1);
    after
        .filter_map(|rest| rest.split('_').next()?.parse().ok())
        .collect()
}

/// Contents of the requests of all cases.
#[derive(Debug, Default)]
struct Seen {
    servers: BTreeSet<&'static str>,
    windows: BTreeSet<usize>,
}

/// Compares what model servers got with what is allowed. `None` if nothing else was sent.
fn violation(
    received: &[(&'static str, String)],
    allowed: &BTreeMap<usize, Allowed>,
    seen: &mut Seen,
) -> Option<String> {
    for (server, body) in received {
        // A request that waited for engines may hold newer windows, with later marks.
        let value: Value = serde_json::from_str(body).unwrap_or_default();
        let own = value["input_prefix"].as_str().unwrap_or_default();
        let last = numbers(own, "mark_").last().copied();
        let Some(request) = last.and_then(|mark| allowed.get(&mark)) else {
            if last < allowed.keys().next().copied() || allowed.is_empty() {
                continue;
            }
            return Some(format!("a request of nobody: {body}"));
        };
        if !request.servers.contains(server) {
            let document = FILES[request.document].path;
            return Some(format!("{server} was asked in {document}: {body}"));
        }
        seen.servers.insert(server);
        let files = &numbers(body, "disk_") | &numbers(body, "buffer_");
        for file in files {
            if file == request.document {
                continue;
            }
            if !request.windows.contains(&file) {
                return Some(format!("{} was sent to {server}: {body}", FILES[file].path));
            }
            seen.windows.insert(file);
        }
    }
    None
}

/// More than the steps of a case.
const MOST_MARKS: usize = 100;

/// Number of cases: enough to see each kind of step, or what `FILLRATE_SENDING` says.
fn cases() -> u32 {
    let given = std::env::var("FILLRATE_SENDING").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(64)
}

#[test]
fn model_servers_get_only_what_the_pages_allow() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let received = Received::default();
    let [first, second] = runtime.block_on(async {
        [
            model_server("first", &received).await,
            model_server("second", &received).await,
        ]
    });
    let settings = format!(
        "use = \"first\"\n[context]\nkeep_index = false\n[typing]\nwait_ms = 0\nreuse = false\n\
         [models.first]\nprotocol = \"llama-infill\"\nurl = \"{first}\"\n\
         [models.second]\nprotocol = \"llama-infill\"\nurl = \"{second}\"\n\
         [models.unusable]\nprotocol = \"openai-completions\"\nurl = \"{second}\"\nname = \"of-no-family\"\n"
    );
    let seen = Mutex::new(Seen::default());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases())
    });
    let strategy = (
        0..WORKSPACES.len(),
        prop::sample::select(OPTIONS.to_vec()),
        prop::collection::vec(0..CHOICES.len(), 0..2),
        prop::collection::vec(step(), 4..24),
    );
    let cases_begun = std::sync::atomic::AtomicUsize::new(1);
    let outcome = runner.run(&strategy, |(workspace, options, early, steps)| {
        let case = cases_begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let root = folder.path().canonicalize().expect("it is there");
        write_tree(&root);
        let allowed = runtime.block_on(async {
            let mut person = Person {
                client: TestClient::start_with(&settings, |builder| builder),
                root: root.clone(),
                folders: WORKSPACES[workspace],
                choices: [options, 0],
                open: BTreeSet::new(),
                hidden: BTreeSet::new(),
                version: 0,
                first_mark: MOST_MARKS * case,
                allowed: BTreeMap::new(),
                late: Vec::new(),
            };
            let folders = person.folders.iter().map(|folder| {
                json!({"uri": format!("file://{}", root.join(folder).display()), "name": folder})
            });
            let mut params = json!({
                "capabilities": {},
                "workspaceFolders": folders.collect::<Vec<_>>(),
            });
            let options: Value = serde_json::from_str(CHOICES[options].0).expect("it is JSON");
            params["initializationOptions"] = options;
            let initialized = person.client.initialize(params).await;
            assert!(initialized["result"].is_object(), "{initialized}");
            for &choice in &early {
                person.choose(choice).await;
            }
            person.client.notify("initialized", json!({})).await;
            for step in &steps {
                person.take(step).await;
            }
            person.client.request("shutdown", Value::Null).await;
            person.allowed
        });
        let received = std::mem::take(&mut *received.lock());
        let violation = violation(&received, &allowed, &mut seen.lock());
        if let Some(violation) = &violation {
            println!("{violation}\n{workspace} {options} {early:?} {steps:?}");
        }
        prop_assert_eq!(violation, None);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let seen = seen.into_inner();
    assert_eq!(seen.servers.len(), 2, "{seen:?}");
    assert!(!seen.windows.is_empty(), "{seen:?}");
}
