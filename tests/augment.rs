//! Tests written by a model: what is kept of them, and what they are good for.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fillrate_language::task::{Hole, HoleKind};
use serde_json::{Value, json};

use crate::support::play::{self, TestDir, files, has_tools, holes, kitchen, text};

/// A model server on loopback that speaks `/v1/chat/completions`: each request gets the next
/// list of answers as its choices, and none when there are no more.
pub(crate) struct Chat {
    address: String,
    pub(crate) requests: Arc<Mutex<Vec<Value>>>,
}

impl Chat {
    pub(crate) fn new(rounds: Vec<Vec<String>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let chat = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            requests: Arc::default(),
        };
        let requests = Arc::clone(&chat.requests);
        let rounds = Arc::new(Mutex::new(VecDeque::from(rounds)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, rounds) = (Arc::clone(&requests), Arc::clone(&rounds));
                std::thread::spawn(move || while answer(&stream, &requests, &rounds).is_some() {});
            }
        });
        chat
    }

    pub(crate) fn settings(&self, protocol: &str) -> String {
        format!(
            "[model]\nprotocol = \"{protocol}\"\nurl = \"{}\"\nname = \"qwen2.5-coder\"\n\
             temperature = 0.8\nstream = false\nretries = 0\n",
            self.address
        )
    }
}

fn answer(
    stream: &TcpStream,
    requests: &Mutex<Vec<Value>>,
    rounds: &Mutex<VecDeque<Vec<String>>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    requests.lock().unwrap().push(body.clone());
    let mut answers = rounds.lock().unwrap().pop_front().unwrap_or_default();
    let wanted = usize::try_from(body["n"].as_u64().unwrap_or(1)).ok()?;
    answers.resize(wanted, "I have no further idea.".to_owned());
    let choices: Vec<Value> = answers
        .iter()
        .enumerate()
        .map(|(index, answer)| {
            json!({
                "index": index,
                "message": {"role": "assistant", "content": answer},
                "finish_reason": "stop",
            })
        })
        .collect();
    let answer = json!({"object": "chat.completion", "choices": choices}).to_string();
    let mut output = stream;
    write!(
        output,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
        answer.len()
    )
    .ok()
}

const SHOP: &str = "def price(count, member):
    total = count * 3
    if count > 10:
        total -= 5
    if member:
        total -= 1
    return total
";

/// A project with a function that its one test hardly looks at, and the function's body as a
/// hole, with its survivors.
fn shop(dir: &TestDir) -> (PathBuf, PathBuf) {
    dir.write("shop/shop.py", SHOP);
    dir.write(
        "shop/test_shop.py",
        "from shop import price\n\n\ndef test_one():\n    assert price(1, False) == 3\n",
    );
    let manifest = fs::read_to_string(kitchen()).unwrap();
    let manifest = manifest
        .replace("kitchen", "shop")
        .replace("src/**/*.py", "shop.py")
        .replace("args = [\"tests\"]", "args = []")
        .replace("path = [\"src\"]", "path = [\".\"]");
    let corpus = dir.write("shop.toml", &manifest);
    let start = SHOP.find("total = count").unwrap();
    let range = start..SHOP.trim_end().len();
    let hole = Hole::new("shop", "python", "shop.py", HoleKind::Body, range, SHOP);
    let line = serde_json::to_string(&hole).unwrap() + "\n";
    (corpus, dir.write("tasks.jsonl", &line))
}

fn count(tasks: &Path, name: &str) -> u64 {
    holes(tasks)[0]["mutation"][name].as_u64().unwrap()
}

#[test]
fn only_tests_that_detect_faults_honestly_are_kept() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let (corpus, tasks) = shop(&dir);
    let corpus = text(&corpus);
    let mutate = |more: &[&str]| {
        let tasks = text(&tasks);
        let mut arguments = vec!["mutate", &tasks, "--corpus", &corpus];
        arguments.extend(more);
        dir.fillrate(&arguments).exits_with(0);
    };
    mutate(&[]);
    let before = (count(&tasks, "killed"), count(&tasks, "survived"));
    assert!(before.1 > 5, "{before:?}");

    let code = |tests: &str| {
        format!("Here they are.\n```python\nfrom shop import price\n\n\n{tests}```\nGood luck!\n")
    };
    let first = vec![
        code(
            "def test_many():\n    assert price(12, False) == 31\n\n\n\
             def test_wrong():\n    assert price(12, False) == 36\n\n\n\
             def test_chance():\n    import random\n\n    assert price(12, False) == 31\n    \
             assert random.random() < 0.3\n",
        ),
        code(
            "def test_exit():\n    import os\n\n    assert price(12, False) == 31\n    \
             os._exit(0)\n\n\n\
             def test_patch():\n    import pytest\n\n    pytest.raises = print\n    \
             assert price(12, False) == 31\n\n\n\
             def test_settings():\n    from pathlib import Path\n\n    \
             Path(__file__).with_name(\"conftest.py\").write_text(\"\")\n    \
             assert price(12, False) == 31\n\n\n\
             def test_skip():\n    import pytest\n\n    \
             if price(12, False) == 31:\n        pytest.skip()\n    assert False\n",
        ),
        code(
            "def test_nothing_new():\n    assert price(2, False) == 6\n\n\n\
             def test_no_question():\n    price(12, True)\n\n\n\
             def test_elsewhere():\n    assert 1 + 1 == 2\n\n\n\
             def test_text():\n    import inspect\n\n    assert price(1, False) == 3\n    \
             assert \"total -= 5\" in inspect.getsource(price)\n\n\n\
             def test_bytecode():\n    assert price(1, False) == 3\n    \
             assert 10 in price.__code__.co_consts\n",
        ),
        "I would rather not.".to_owned(),
    ];
    let second = vec![code(
        "def test_many():\n    assert price(12, False) == 31\n\n\n\
         def test_member():\n    assert price(1, True) == 2\n",
    )];
    let chat = Chat::new(vec![first, second]);
    let model = text(&dir.write("model.toml", &chat.settings("openai-chat")));
    let kept = dir.path("kept");
    let (tests, answers) = (text(&kept), text(&tasks));
    let finished = dir
        .fillrate(&[
            "augment", &answers, "--corpus", &corpus, "--model", &model, "-o", &tests,
        ])
        .exits_with(0);

    let records = fs::read_to_string(kept.join("provenance.jsonl")).unwrap();
    let records: Vec<Value> = records
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = records
        .iter()
        .map(|record| record["test"].as_str().unwrap().rsplit(':').next().unwrap())
        .collect();
    assert_eq!(names, ["test_many", "test_member"], "{}", finished.out);
    let hole = &holes(&tasks)[0];
    for record in &records {
        assert_eq!(record["hole"], hole["id"]);
        assert_eq!(record["model"], "qwen2.5-coder");
        assert_eq!(record["prompt_sha256"].as_str().unwrap().len(), 64);
        let survivors = hole["mutation"]["survivors"].as_array().unwrap();
        let kills = record["kills"].as_array().unwrap();
        assert!(!kills.is_empty() && kills.iter().all(|kill| survivors.contains(kill)));
    }
    let mut paths: Vec<PathBuf> = records
        .iter()
        .map(|record| Path::new("shop").join(record["path"].as_str().unwrap()))
        .collect();
    paths.push("provenance.jsonl".into());
    paths.sort();
    assert_eq!(files(&kept), paths);
    for reason in [
        "no test to be found",
        "proposed before",
        "does not run, or tampers with the run",
        "does not run the code",
        "looks at how the code is written",
        "notices nothing new",
    ] {
        assert!(finished.out.contains(reason), "{reason}: {}", finished.out);
    }

    // The prompt has the faults, and the second time only the remaining ones.
    let requests = chat.requests.lock().unwrap();
    let question = |round: usize| requests[round]["messages"][1]["content"].as_str().unwrap();
    assert!(question(0).contains("def price(count, member):"));
    assert!(question(0).contains("def test_one():"));
    let faults = |round: usize| question(round).matches("```diff").count();
    assert!(
        faults(0) > faults(1) && faults(1) > faults(2),
        "{finished:#?}"
    );
    assert_eq!(requests.len(), 3);

    // The model's tests kill mutants, and so does one that a person adds.
    mutate(&["--tests", &tests]);
    let with = (count(&tasks, "killed"), count(&tasks, "survived"));
    let kills: u64 = records
        .iter()
        .map(|record| record["kills"].as_array().unwrap().len() as u64)
        .sum();
    assert_eq!(with, (before.0 + kills, before.1 - kills));
    let own = "from shop import price\n\n\ndef test_edge():\n    assert price(11, False) == 28\n";
    dir.write("kept/shop/test_own.py", own);
    mutate(&["--tests", &tests]);
    assert!(count(&tasks, "killed") > with.0);
    mutate(&[]);
    assert_eq!(count(&tasks, "killed"), before.0);

    // A replay judges with them, and so does its audit.
    let out = text(&dir.path("run"));
    let replay = [
        "replay",
        &corpus,
        "--tasks",
        &answers,
        "--model",
        "reference",
        "--out",
        &out,
        "--tests",
        &tests,
        "--json",
    ];
    let report = dir.fillrate(&replay).exits_with(0);
    assert_eq!(play::attempts(Path::new(&out)).len(), 1, "{report:#?}");
    dir.fillrate(&["audit", &out, "--sample", "1"])
        .exits_with(0);
    let without = [&replay[..replay.len() - 3], &["--json"]].concat();
    let finished = dir.fillrate(&without).exits_with(1);
    assert!(finished.error_message().contains("run"), "{finished:#?}");

    // What the project's own tests pass and these fail is listed side by side.
    let completion = "total = count * 3\n    return total";
    let record = json!({"hole": holes(&tasks)[0]["id"], "completions": [completion]});
    let predictions = text(&dir.write("predictions.jsonl", &format!("{record}\n")));
    let (before, after) = (text(&dir.path("before")), text(&dir.path("after")));
    for (out, tests) in [(&before, None), (&after, Some(&tests))] {
        let mut replay = vec!["replay", &corpus, "--tasks", &answers, "--out", out];
        replay.extend(["--model", &predictions]);
        if let Some(tests) = tests {
            replay.extend(["--tests", tests]);
        }
        dir.fillrate(&replay).exits_with(0);
    }
    let finished = dir
        .fillrate(&["show", &before, "--compare-with", &after])
        .exits_with(0);
    let only = format!(
        "passes more often in before: {}",
        holes(&tasks)[0]["id"].as_str().unwrap()
    );
    assert!(finished.out.contains(&only), "{finished:#?}");
    compared_in_markdown(
        &dir,
        [&before, &after],
        holes(&tasks)[0]["id"].as_str().unwrap(),
    );
}

/// The same as a pull request shows it, from the program and from the action around it.
fn compared_in_markdown(dir: &TestDir, [before, after]: [&str; 2], hole: &str) {
    let finished = dir
        .fillrate(&["report", "--compare", before, after])
        .exits_with(0);
    let markdown = &finished.out;
    assert!(
        markdown.starts_with("### `after` against `before`\n"),
        "{markdown}"
    );
    assert!(
        markdown.contains("**Can't tell**: all holes are in one file"),
        "{markdown}"
    );
    assert!(markdown.contains("McNemar's exact p = 1.000"), "{markdown}");
    let flip = format!("1 hole that before passes more often</summary>\n\n- `{hole}`\n");
    assert!(markdown.contains(&flip), "{markdown}");
    let refused = dir
        .fillrate(&["report", "--compare", before, "nowhere"])
        .exits_with(1);
    assert!(refused.error_message().contains("nowhere"), "{refused:?}");
    dir.fillrate(&["report", "--compare", before, after, "-o", "pages"])
        .exits_with(2);

    let [summary, output] = ["summary.md", "output"].map(|name| dir.path(name));
    std::fs::write(&summary, "before\n").unwrap();
    let status = std::process::Command::new("bash")
        .arg(play::repository(".github/actions/compare/compare.sh"))
        .env("PROGRAM", env!("CARGO_BIN_EXE_fillrate"))
        .env("OLD", before)
        .env("NEW", after)
        .env("RUNNER_TEMP", dir.path("."))
        .env("GITHUB_STEP_SUMMARY", &summary)
        .env("GITHUB_OUTPUT", &output)
        .status()
        .unwrap();
    assert!(status.success());
    let summary = std::fs::read_to_string(&summary).unwrap();
    assert_eq!(summary, format!("before\n{markdown}"));
    let output = std::fs::read_to_string(&output).unwrap();
    let file = output.trim_end().strip_prefix("file=").unwrap();
    assert_eq!(&std::fs::read_to_string(file).unwrap(), markdown);
}

const PRICE: &str = "export function price(count: number, member: boolean): number {
  let total = count * 3;
  if (count > 10) {
    total -= 5;
  }
  return member ? total - 1 : total;
}
";

#[test]
fn typescript_holes_get_tests() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora");
    for name in ["package.json", "package-lock.json"] {
        let file = fs::read_to_string(demo.join("demo-typescript").join(name)).unwrap();
        dir.write(&format!("shop/{name}"), &file);
    }
    dir.write("shop/src/price.ts", PRICE);
    dir.write(
        "shop/tests/price.test.ts",
        "import { expect, test } from \"vitest\";\nimport { price } from \"../src/price\";\n\n\
         test(\"one\", () => {\n  expect(price(1, false)).toBe(3);\n});\n",
    );
    let corpus = "schema = 1\n[[project]]\nname = \"shop\"\nlanguage = \"typescript\"\nsource = { \
                  path = \"shop\" }\nholes = [\"src/*.ts\"]\n[project.environment]\nlock = \
                  \"package-lock.json\"\n[project.test]\nrunner = \"vitest\"\n";
    let corpus = text(&dir.write("shop.toml", corpus));
    let range = PRICE.find("let total").unwrap()..PRICE.rfind("\n}").unwrap();
    let hole = Hole::new(
        "shop",
        "typescript",
        "src/price.ts",
        HoleKind::Body,
        range,
        PRICE,
    );
    let line = serde_json::to_string(&hole).unwrap() + "\n";
    let tasks = dir.write("tasks.jsonl", &line);
    let answers = text(&tasks);
    dir.fillrate(&["mutate", &answers, "--corpus", &corpus])
        .exits_with(0);
    let survived = count(&tasks, "survived");
    assert!(survived > 1);

    let answer = "```ts\nimport { describe, expect, it, test } from \"vitest\";\nimport { price } \
                  from \"../src/price\";\n\ntest(\"many\", () => {\n  expect(price(12, \
                  false)).toBe(31);\n});\n\ntest(\"wrong\", () => {\n  expect(price(12, \
                  false)).toBe(36);\n});\n\nit(\"leaves\", () => {\n  price(12, false);\n  \
                  process.exit(0);\n});\n\ntest(\"reads\", () => {\n  \
                  expect(price.toString()).toContain(\"5\");\n});\n\ndescribe(\"price\", () => {\n  \
                  it(\"is\", () => expect(price(12, false)).toBe(31));\n});\n```\n";
    let chat = Chat::new(vec![vec![answer.to_owned()]]);
    let model = text(&dir.write("model.toml", &chat.settings("openai-chat")));
    let kept = text(&dir.path("kept"));
    let finished = dir
        .fillrate(&[
            "augment", &answers, "--corpus", &corpus, "--model", &model, "-o", &kept,
        ])
        .exits_with(0);
    let records = fs::read_to_string(dir.path("kept/provenance.jsonl")).unwrap();
    let records: Vec<Value> = records
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(records.len(), 1, "{finished:#?}");
    let test = records[0]["test"].as_str().unwrap();
    assert!(test.starts_with("tests/added_price_") && test.ends_with(".test.ts > many"));
    dir.fillrate(&["mutate", &answers, "--corpus", &corpus, "--tests", &kept])
        .exits_with(0);
    assert_eq!(
        count(&tasks, "survived"),
        survived - records[0]["kills"].as_array().unwrap().len() as u64
    );
}

#[test]
fn models_and_projects_that_can_not_write_tests_are_refused() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let (corpus, tasks) = shop(&dir);
    let chat = Chat::new(Vec::new());
    let fills = text(&dir.write("fills.toml", &chat.settings("openai-completions")));
    let chats = text(&dir.write("chats.toml", &chat.settings("openai-chat")));
    let error_message = |model: &str| {
        let (corpus, tasks, output) = (text(&corpus), text(&tasks), text(&dir.path("kept")));
        let arguments = [
            "augment", &tasks, "--corpus", &corpus, "--model", model, "-o", &output,
        ];
        let finished = dir.fillrate(&arguments).exits_with(1);
        finished.error_message().to_owned()
    };
    assert!(error_message("embedded").starts_with("`embedded` can't write tests"));
    assert!(error_message(&fills).starts_with("qwen2.5-coder only fills in"));
    assert!(error_message(&chats).ends_with("has a survivor; `fillrate mutate` finds them"));
    let (corpus, tasks) = (text(&corpus), text(&tasks));
    let nowhere = text(&dir.path("nowhere"));
    let finished = dir
        .fillrate(&["mutate", &tasks, "--corpus", &corpus, "--tests", &nowhere])
        .exits_with(1);
    assert!(
        finished.error_message().contains("has no tests to add"),
        "{finished:#?}"
    );
    assert!(chat.requests.lock().unwrap().is_empty());
}

fn coverage_arguments<'a>(
    tasks: &'a str,
    corpus: &'a str,
    model: &'a str,
    out: &'a str,
) -> [&'a str; 9] {
    [
        "augment",
        tasks,
        "--corpus",
        corpus,
        "--model",
        model,
        "-o",
        out,
        "--coverage",
    ]
}

#[test]
fn only_tests_that_pass_and_run_new_lines_are_kept_for_coverage() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let (corpus, tasks) = shop(&dir);
    let (corpus, tasks) = (text(&corpus), text(&tasks));
    let code = |tests: &str| format!("```python\nfrom shop import price\n\n\n{tests}```\n");
    let chat = Chat::new(vec![
        vec![
            code(
                "def test_wrong():\n    assert price(12, False) == 36\n\n\n\
                 def test_known():\n    assert price(2, False) == 6\n\n\n\
                 def test_elsewhere():\n    assert 1 + 1 == 2\n",
            ),
            code(
                "def test_many():\n    assert price(12, False) == 31\n\n\n\
                 def test_more():\n    assert price(20, False) == 55\n",
            ),
        ],
        vec![code("def test_member():\n    assert price(1, True) == 2\n")],
    ]);
    let model = text(&dir.write("model.toml", &chat.settings("openai-chat")));
    let augment = |out: &str| dir.fillrate(&coverage_arguments(&tasks, &corpus, &model, out));
    let finished = augment("kept").exits_with(0);
    let records = fs::read_to_string(dir.path("kept/provenance.jsonl")).unwrap();
    let records: Vec<Value> = records
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kept: Vec<(&str, &Value)> = records
        .iter()
        .map(|record| {
            let name = record["test"].as_str().unwrap().rsplit(':').next();
            (name.unwrap(), &record["lines"])
        })
        .collect();
    // `total -= 5` and `total -= 1`, of six lines.
    let (five, one) = (json!([4]), json!([6]));
    assert_eq!(
        kept,
        [("test_many", &five), ("test_member", &one)],
        "{finished:?}"
    );
    for said in [
        "2 tests kept, which run 2 of 2 lines that no test ran",
        "of 6 of 1 holes: 66.7 % before, 100.0 % now; 0 holes below 40 %",
        "1 not kept: fails with the code as it is",
        "1 not kept: does not run the code",
        "2 not kept: notices nothing new",
    ] {
        assert!(finished.out.contains(said), "{said}: {}", finished.out);
    }
    let requests = chat.requests.lock().unwrap();
    let asked = requests[0].to_string();
    assert!(asked.contains("Lines that no test runs"), "{asked}");
    assert!(
        asked.contains("total -= 5") && !asked.contains("diff"),
        "{asked}"
    );
}

#[test]
fn hole_without_example_is_left_out_and_named() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let (corpus, tasks) = shop(&dir);
    // Python reads the encoding that a file names; an example is UTF-8.
    dir.write("deep/shop.py", SHOP);
    let test = "from shop import price\n\n\ndef test_one():\n    assert price(1, False) == 3\n";
    let latin = [b"# -*- coding: latin-1 -*-\n# \xe9\n", test.as_bytes()].concat();
    fs::write(dir.path("deep/test_deep.py"), latin).unwrap();
    let manifest = fs::read_to_string(&corpus).unwrap();
    let (_, project) = manifest.split_once("[[project]]").unwrap();
    let project = project.replace("\"shop\"", "\"deep\"");
    let both = format!("{manifest}\n[[project]]{project}");
    let corpus = text(&dir.write("both.toml", &both));
    let line = fs::read_to_string(&tasks).unwrap();
    let mut hole: Hole = serde_json::from_str(&line).unwrap();
    let range = hole.start.0..hole.end.0;
    hole = Hole::new("deep", "python", "shop.py", HoleKind::Body, range, SHOP);
    let lines = serde_json::to_string(&hole).unwrap() + "\n" + &line;
    let tasks = text(&dir.write("both.jsonl", &lines));
    let test = "def test_member():\n    assert price(1, True) == 2\n";
    let code = format!("```python\nfrom shop import price\n\n\n{test}```\n");
    let chat = Chat::new(vec![vec![code]]);
    let model = text(&dir.write("model.toml", &chat.settings("openai-chat")));
    let arguments = coverage_arguments(&tasks, &corpus, &model, "kept");
    let finished = dir.fillrate(&arguments).exits_with(3);
    let named = format!("{}: no file of its project's tests can be read", hole.id);
    assert!(finished.err.contains(&named), "{finished:#?}");
    assert!(finished.out.contains("1 tests kept"), "{finished:#?}");
}
