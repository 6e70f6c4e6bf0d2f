//! Dependencies and contexts compared with published ones: the tasks of
//! [RepoExec](https://github.com/FSoft-AI4Code/RepoExec) on packages that PyPI has. A record's
//! `code` is its medium context, in front of the function's own text.
//!
//! The records are in a folder next to the repository, not in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use fillrate_language::SourceFile;
use fillrate_language::environment::Toolchain;
use fillrate_language::task::{Hole, HoleKind};
use fillrate_mine::contexts::{ContextLevel, PaperContext, PromptForm};
use fillrate_mine::dependencies::{DependencyIndex, outermost};
use fillrate_syntax::Language;
use fillrate_verdict::corpus::cache::Cache;
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::corpus::{Corpus, source};
use serde::Deserialize;

use crate::support::play::{self, TestDir, cache, has_tools, kitchen};
use crate::support::programs::recorded_results;

/// The packages, as their tasks name them, with the hashes of their source distributions.
const PACKAGES: [(&str, &str); 2] = [
    (
        "python-string-utils==1.0.0",
        "dcf9060b03f07647c0a603408dc8b03f807f3b54a05c6e19eb14460256fac0cb",
    ),
    (
        "docstring-parser==0.7.3",
        "cde5fbf8b846433dfbde1e0f96b7f909336a634d5df34a38cb75050c7346734a",
    ),
];

#[derive(Deserialize)]
struct Task {
    pypi: String,
    record: Record,
}

#[derive(Deserialize)]
struct Record {
    focal_function: String,
    module: String,
    code: String,
    entry_point: String,
}

#[test]
fn dependencies_and_contexts_equal_recorded_ones() {
    let Some(records) = recorded_results("repoexec") else {
        return;
    };
    let tasks = fs::read_to_string(records.join("tasks.jsonl")).unwrap();
    if !has_tools(&["python3"]) {
        return;
    }
    let packages = packages();
    let (mut all, mut same_names, mut same_context) = (0, 0, 0);
    let mut differing = Vec::new();
    for line in tasks.lines() {
        let task: Task = serde_json::from_str(line).unwrap();
        let files = &packages[&task.pypi];
        let path = task.record.module.replace('.', "/") + ".py";
        let file = files.iter().find(|file| file.path == path).unwrap();
        let function = &task.record.focal_function;
        let start = file.contents.find(function.as_str()).unwrap();
        let range = start..start + function.len();
        let repository = DependencyIndex::new(files);
        let found = repository.dependencies(&path, &range, &range, 1);
        let ours: BTreeSet<&str> = outermost(&found).iter().map(|one| &*one.name).collect();
        let before = &task.record.code[..task.record.code.find(function.as_str()).unwrap()];
        let theirs = defined(before);
        let entry = format!("{}.{}", task.record.module, task.record.entry_point);
        all += 1;
        if ours == theirs {
            same_names += 1;
        } else {
            differing.push(format!("{entry}: {ours:?}, recorded {theirs:?}"));
        }

        let last = function.rfind('\n').map_or(0, |line| line + 1);
        let hole = start + last..range.end;
        let hole = Hole::new("a", "python", &path, HoleKind::Body, hole, &file.contents);
        let context = PaperContext::RepoExec(ContextLevel::Medium, PromptForm::Base);
        let shown = context.view(&repository, file, &hole).unwrap();
        let rest = shown.prefix.find(&function[..last]).unwrap();
        let ours = &shown.prefix[..rest];
        if ours == before {
            same_context += 1;
        } else {
            let only = |a: &str, b: &str| {
                let b: BTreeSet<&str> = b.split("\n\n").collect();
                let others = a.split("\n\n").filter(|section| !b.contains(section));
                let firsts = others.filter_map(|section| section.lines().next());
                firsts.collect::<Vec<_>>().join(" … ")
            };
            differing.push(format!(
                "{entry}: shows {:?}, recorded {:?}",
                only(ours, before),
                only(before, ours)
            ));
        }
    }
    println!(
        "repoexec: {all} tasks, {same_names} with the same dependencies, {same_context} with the same context"
    );
    // `re` reaches these functions by a `*` from a file that imports it, which the records make
    // an import of their own. Of `is_isbn`, they take the methods that it calls for the functions
    // of the same names.
    insta::assert_snapshot!(differing.join("\n"), @r#"
string_utils.manipulation.slugify: shows "import base64", recorded "import re"
string_utils.validation.is_snake_case: shows "import json", recorded "import re"
string_utils.validation.is_slug: shows "import json", recorded "import re"
string_utils.validation.is_isbn: {"__ISBNChecker"}, recorded {"__ISBNChecker", "is_isbn_10", "is_isbn_13"}
string_utils.validation.is_isbn: shows "", recorded "def is_isbn_10(input_string: str, normalize: bool = True) -> bool: … def is_isbn_13(input_string: str, normalize: bool = True) -> bool:"
"#);
    assert_eq!((all, same_names, same_context), (42, 41, 38));
}

/// The names that a context defines.
fn defined(context: &str) -> BTreeSet<&str> {
    context
        .lines()
        .filter_map(|line| {
            let line = line.strip_prefix("async ").unwrap_or(line);
            let rest = line
                .strip_prefix("def ")
                .or_else(|| line.strip_prefix("class "));
            let name = match (rest, line.split_once(" = ")) {
                (Some(rest), _) => rest,
                (None, Some((name, _))) => name,
                _ => return None,
            };
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            Some(&name[..end.unwrap_or(name.len())])
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// Every file of Python of each package.
fn packages() -> BTreeMap<String, Vec<SourceFile>> {
    let corpus = Corpus {
        cache: Cache::at(&cache()),
        toolchain: Toolchain::default(),
    };
    let dir = TestDir::new();
    let kitchen = fs::read_to_string(kitchen()).unwrap();
    PACKAGES
        .iter()
        .map(|(pin, sha256)| {
            let from = format!("pypi = \"{pin}\", sha256 = \"{sha256}\"");
            let manifest = kitchen.replace("path = \"kitchen\"", &from);
            let manifest = Manifest::parse(&manifest, &dir.path("package.toml")).unwrap();
            let source = source::fetch(
                &corpus.cache,
                &corpus.toolchain,
                &manifest.projects[0],
                &|_| {},
            )
            .unwrap();
            let files = play::files(&source.root)
                .into_iter()
                .filter_map(|path| {
                    Some(SourceFile {
                        language: Language::for_path(&path)?,
                        contents: fs::read_to_string(source.root.join(&path)).ok()?,
                        path: path.to_str()?.to_owned(),
                    })
                })
                .collect();
            ((*pin).to_owned(), files)
        })
        .collect()
}
