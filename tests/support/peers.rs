//! Shared parts of the tests against other programs.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fillrate_language::environment::Toolchain;
use fillrate_language::task::{Hole, HoleKind};
use fillrate_verdict::corpus::cache::Cache;
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::corpus::{Corpus, source};
use serde_json::{Value, json};

use crate::support::play::{FinishedCommand, TestDir, cache, copy, holes, repository, text};

/// True if everything is compared, and not only the part that takes seconds.
pub(crate) fn everything() -> bool {
    match std::env::var("FILLRATE_PEERS") {
        Ok(all) if all == "all" => true,
        Ok(other) => panic!("FILLRATE_PEERS is `{other}`; it can only be `all`"),
        Err(_) => false,
    }
}

/// The folder of mistune's source, as the corpus of real projects pins it.
pub(crate) fn mistune() -> PathBuf {
    let manifest = Manifest::read(&repository("corpora/real.toml")).unwrap();
    let project = manifest.project("mistune").unwrap();
    let cache = Cache::at(&cache());
    source::fetch(&cache, &Toolchain::default(), project, &|_| {})
        .unwrap()
        .root
}

/// A file whose mutants several programs judge.
pub(crate) struct Module {
    /// Its path in the project.
    pub(crate) path: String,
    #[allow(dead_code, reason = "the bench of mutants reads it")]
    pub(crate) contents: String,
    /// A file with one hole, the whole module.
    tasks: String,
    /// A manifest with the project.
    corpus: String,
    /// The program that runs the project's tests.
    pub(crate) program: PathBuf,
    /// The project's source.
    pub(crate) source: PathBuf,
}

impl Module {
    /// Gets a project of a corpus and its environment.
    pub(crate) fn prepare(dir: &TestDir, corpus: &str, project: &str, path: &str) -> Self {
        let corpus = repository(corpus);
        let manifest = Manifest::read(&corpus).unwrap();
        let ready = Corpus {
            cache: Cache::at(&cache()),
            toolchain: Toolchain::default(),
        };
        let prepared = ready
            .prepare_project(manifest.project(project).unwrap(), &|_, _| {})
            .unwrap();
        let contents = fs::read_to_string(prepared.source.join(path)).unwrap();
        let language = prepared.project.language.name;
        let all = 0..contents.len();
        let hole = Hole::new(project, language, path, HoleKind::Block, all, &contents);
        let line = serde_json::to_string(&hole).unwrap() + "\n";
        Self {
            path: path.to_owned(),
            tasks: text(&dir.write(&format!("{project}.jsonl"), &line)),
            corpus: text(&corpus),
            contents,
            program: prepared.environment.program(),
            source: prepared.source,
        }
    }

    /// Our mutants of it, as `--list` has them.
    pub(crate) fn listed(&self, dir: &TestDir) -> Vec<Value> {
        let listed = self.mutate(dir, &["--list"]);
        let lines = listed.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The diffs of those that survive, once all were judged.
    pub(crate) fn survivors(&self, dir: &TestDir, more: &[&str]) -> BTreeSet<String> {
        self.mutate(dir, more);
        let mutation = &holes(Path::new(&self.tasks))[0]["mutation"];
        let survivors = mutation["survivors"].as_array().into_iter().flatten();
        survivors
            .map(|survivor| survivor["diff"].as_str().unwrap().to_owned())
            .collect()
    }

    fn mutate(&self, dir: &TestDir, more: &[&str]) -> FinishedCommand {
        let mutate = ["mutate", &self.tasks, "--corpus", &self.corpus];
        dir.fillrate(&[&mutate[..], more].concat()).exits_with(0)
    }

    /// A copy of the project, for a program that changes it.
    pub(crate) fn copied(&self, dir: &TestDir, name: &str) -> PathBuf {
        let copied = dir.path(name);
        copy(&self.source, &copied);
        copied
    }
}

/// Returns cosmic-ray's verdicts on the shared mutants, at most the given number, or all for 0: see
/// `tests/peers/cosmic_kills.py`.
pub(crate) fn cosmic_ray(
    python: &Path,
    dir: &TestDir,
    module: &Module,
    mutants: &[Value],
    most: usize,
) -> Value {
    let project = module.copied(dir, "cosmic-ray");
    let tests = format!("{} -m pytest -x -q tests", text(&module.program));
    let mut child = Command::new(python)
        .arg(repository("tests/peers/cosmic_kills.py"))
        .args([&text(&project), &module.path, &tests, "120"])
        .env("PYTHONPATH", project.join("src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = json!({ "most": most, "mutants": mutants }).to_string();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(request.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
