//! Location of an npm repository's sources.

use super::super::super::detection::{RepositoryFiles, escaped_glob, matches_name};
use super::super::test_conventions::CONVENTIONS;

/// The files that holes may be cut into.
#[derive(Debug)]
pub(super) struct ScriptLayout {
    /// The folders at the top with sources.
    folders: Vec<String>,
    /// Sources at the top.
    files: Vec<String>,
    /// The endings of the sources.
    endings: Vec<&'static str>,
    /// Patterns of the files among the sources that are not sources.
    not_sources: Vec<String>,
    /// Folders of build output.
    built: Vec<String>,
    count: usize,
}

/// All endings of sources.
const ENDINGS: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "mjs", "cjs", "jsx"];
/// Folders at the top that hold no part of a library or an application.
const OTHER_FOLDERS: [&str; 31] = [
    "__fixtures__",
    "__mocks__",
    "__tests__",
    "bench",
    "benchmark",
    "benchmarks",
    "config",
    "cypress",
    "demo",
    "doc",
    "docs",
    "e2e",
    "example",
    "examples",
    "fixtures",
    "integration",
    "patches",
    "perf",
    "playground",
    "sample",
    "samples",
    "script",
    "scripts",
    "spec",
    "support",
    "task",
    "tasks",
    "test",
    "tests",
    "tools",
    "website",
];
/// Folders at the top with the types of a package in JavaScript.
const TYPES: [&str; 3] = ["@types/", "types/", "typings/"];
/// Folders of build output and of code of others, at any depth.
const BUILT_FOLDERS: [&str; 14] = [
    "build", "bundles", "cjs", "coverage", "dist", "es", "esm", "esm2015", "esm5", "min", "out",
    "umd", "vendor", "_site",
];
/// Patterns of files and folders among the sources that are neither sources nor tests.
const NOT_SOURCES: [&str; 10] = [
    "*.d.ts",
    "*.test-d.*",
    "*.tst.*",
    "*.bench.*",
    "*.stories.*",
    "*.generated.*",
    "*.gen.*",
    "*.min.*",
    "**/__mocks__/",
    "**/fixtures/",
];
/// Sources at the top that only configure tools.
const CONFIGURES: [&str; 6] = ["config", "conf", "rc", "gulpfile", "gruntfile", "setup"];

impl ScriptLayout {
    /// Finds the sources; `None` if there are none with these endings, or more with others.
    pub(super) fn find(files: &RepositoryFiles, endings: &'static [&'static str]) -> Option<Self> {
        let all: Vec<&str> = files.paths().filter(|path| is_source(path)).collect();
        let (own, others): (Vec<&str>, Vec<&str>) = all
            .into_iter()
            .partition(|path| endings.contains(&ending(path)));
        // Files in folders count first: configurations and tools are mostly at the top. What a
        // package in JavaScript has of types decides nothing.
        let counts = |paths: &[&str]| {
            let is_code = |path: &&&str| !TYPES.iter().any(|folder| path.starts_with(folder));
            let code: Vec<&&str> = paths.iter().filter(is_code).collect();
            let in_folders = code.iter().filter(|path| path.contains('/')).count();
            (in_folders, code.len())
        };
        let is_less = counts(&own) < counts(&others);
        if own.is_empty() || is_less {
            return None;
        }
        let mut layout = Self {
            folders: Vec::new(),
            files: Vec::new(),
            endings: endings
                .iter()
                .copied()
                .filter(|it| own.iter().any(|path| ending(path) == *it))
                .collect(),
            not_sources: Vec::new(),
            built: Vec::new(),
            count: own.len(),
        };
        for path in own {
            match path.split_once('/') {
                None => layout.files.push(path.to_owned()),
                Some((folder, _)) => {
                    // Paths are sorted, so the files of a folder are adjacent.
                    if layout.folders.last().is_none_or(|last| last != folder) {
                        layout.folders.push(folder.to_owned());
                    }
                }
            }
        }
        // If there are folders of sources, files at the top are tools.
        if !layout.folders.is_empty() {
            let is_entry = |file: &String| {
                ["index.", "main.", "mod."]
                    .iter()
                    .any(|start| file.starts_with(start))
            };
            layout.files.retain(is_entry);
        }
        let among = |path: &&str| {
            path.split_once('/')
                .is_some_and(|(folder, _)| layout.folders.iter().any(|it| it == folder))
        };
        // Only patterns that match a file are written, so that the manifest stays short.
        let among: Vec<&str> = files.paths().filter(among).collect();
        let tests = &CONVENTIONS.files;
        let folders = tests.folders.iter().map(|folder| format!("**/{folder}/"));
        let patterns = NOT_SOURCES.iter().chain(tests.names).copied();
        layout.not_sources = patterns
            .map(str::to_owned)
            .chain(folders)
            .filter(|pattern| among.iter().any(|path| matches(pattern, path)))
            .collect();
        layout.built = files
            .folders_in("")
            .into_iter()
            .filter(|name| BUILT_FOLDERS.contains(name))
            .map(str::to_owned)
            .collect();
        Some(layout)
    }

    /// `holes`.
    pub(super) fn holes(&self) -> Vec<String> {
        let files = self.files.iter().map(|file| escaped_glob(file));
        let mut globs: Vec<String> = files.map(|file| format!("/{file}")).collect();
        for folder in &self.folders {
            let folder = escaped_glob(folder);
            globs.extend(self.endings.iter().map(|it| format!("/{folder}/**/*.{it}")));
        }
        globs.extend(self.not_sources.iter().map(|pattern| format!("!{pattern}")));
        // Packages of a workspace have build output of their own.
        if self.folders.iter().any(|folder| folder == "packages") {
            globs.extend(["dist", "build"].map(|name| format!("!**/{name}/")));
        }
        globs
    }

    /// `exclude`: the build output, which holds every source a second time.
    pub(super) fn exclude(&self) -> Vec<String> {
        self.built.iter().map(|name| format!("/{name}/")).collect()
    }

    pub(super) fn describe(&self, title: &str) -> String {
        let s = if self.count == 1 { "" } else { "s" };
        let mut places = self.folders.clone();
        if !self.files.is_empty() {
            places.push("the top".to_owned());
        }
        format!(
            "sources: {} file{s} in {title}, in {}",
            self.count,
            places.join(", ")
        )
    }
}

fn ending(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// True if a file is a script, by its ending.
pub(super) fn is_script(path: &str) -> bool {
    ENDINGS.contains(&ending(path))
}

/// True if a file is a source, by its path: no test, no setting of a tool, no build output.
fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.to_lowercase();
    let stem = stem.split_once('.').map_or("", |(stem, _)| stem);
    let configures = !path.contains('/')
        && (name.contains(".config.")
            || name.contains(".conf.")
            || CONFIGURES.iter().any(|it| stem.ends_with(it))
            || stem.starts_with("test")
            || stem.is_empty());
    is_script(path)
        && !configures
        && !path.split('/').next().is_some_and(|folder| {
            folder != name && (OTHER_FOLDERS.contains(&folder) || folder.starts_with('.'))
        })
        && !is_built(path)
        && !CONVENTIONS.files.is_file(path)
        && !NOT_SOURCES.iter().any(|pattern| matches(pattern, path))
}

fn is_built(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    folders
        .iter()
        .take(1)
        .any(|folder| BUILT_FOLDERS.contains(folder))
        || folders
            .iter()
            .skip(1)
            .any(|folder| ["dist", "build"].contains(folder))
}

/// True if a pattern matches a path: one of a file's name, or of a folder, as in [`NOT_SOURCES`].
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_prefix("**/") {
        Some(folder) => {
            let folder = folder.trim_end_matches('/');
            path.rsplit_once('/')
                .is_some_and(|(folders, _)| folders.split('/').any(|it| it == folder))
        }
        None => matches_name(pattern, path.rsplit('/').next().unwrap_or(path)),
    }
}
