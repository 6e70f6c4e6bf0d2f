//! Requirement files of a Python repository.

/// Folders in which requirement files are looked for, the top first.
const REQUIREMENT_FOLDERS: [&str; 7] = [
    "",
    "requirements",
    "reqs",
    "tests",
    "test",
    "ci",
    "dependencies",
];
/// Words in the names of files that list what tests need, the better first.
const REQUIREMENT_WORDS: [&str; 10] = [
    "test",
    "tests",
    "testing",
    "pytest",
    "unittest",
    "ci",
    "dev",
    "develop",
    "development",
    "all",
];

/// Returns the requirement files of tests, the better first; `names_in` lists the files of a folder.
pub(super) fn requirement_files(names_in: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for (place, folder) in REQUIREMENT_FOLDERS.iter().enumerate() {
        for name in names_in(folder) {
            let Some(stem) = name.strip_suffix(".txt") else {
                continue;
            };
            let path = format!("{folder}/{name}");
            let path = path.trim_start_matches('/');
            let stem = stem.to_lowercase();
            let words: Vec<&str> = stem.split(['-', '_', '.', ' ']).collect();
            let lists = |it: &str| ["requirements", "requirement", "reqs", "deps"].contains(&it);
            let of_folder = ["requirements", "reqs", "dependencies"].contains(folder);
            if !of_folder && !words.iter().any(|word| lists(word)) {
                continue;
            }
            let known = REQUIREMENT_WORDS
                .iter()
                .position(|known| words.contains(known));
            // In the tests' own folder, `requirements.txt` is theirs.
            let of_tests = folder.starts_with("test") && lists(&stem);
            if let Some(rank) = known.or(of_tests.then_some(1)) {
                found.push((rank, place, path.to_owned()));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, _, path)| path).collect()
}

/// Contents of a requirements file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RequirementList {
    /// Its requirements, without options and comments.
    pub(super) requires: Vec<String>,
    /// The files that it includes, relative to its folder.
    pub(super) includes: Vec<String>,
    /// The extras of the repository itself that it asks for.
    pub(super) extras: Vec<String>,
    /// The folders beside its own that it installs: `-e ../core`.
    pub(super) folders: Vec<String>,
    /// True if it installs the repository itself, or something outside of it.
    pub(super) installs_itself: bool,
}

impl RequirementList {
    pub(super) fn parse(text: &str) -> Self {
        let mut list = Self::default();
        for line in text.lines() {
            // pip reads `#` as a comment only after white space, as it may be part of a URL.
            let line = line.split(" #").next().unwrap_or_default();
            // Hashes follow a requirement, mostly on lines that continue it.
            let line = line.split(" --hash=").next().unwrap_or_default();
            let line = line.trim().trim_end_matches('\\').trim_end();
            let after = |options: &[&str]| {
                options.iter().find_map(|option| {
                    let rest = line.strip_prefix(option)?;
                    let value = rest.trim_start_matches([' ', '=']);
                    // `-rFILE` is an option with its value, but `--requirementFILE` is not.
                    (value.len() < rest.len() || !option.starts_with("--")).then_some(value)
                })
            };
            if let Some(included) = after(&["--requirement", "-r"]) {
                list.includes.push(included.to_owned());
            } else if let Some(path) = after(&["--editable", "-e"]).or(Some(line))
                && (path.starts_with(['.', '/'])
                    || line.starts_with("-e")
                    || line.starts_with("--e"))
            {
                list.installs_itself = true;
                if path.starts_with("../") {
                    // Extras follow the path: `../core[test]`.
                    let folder = path.split('[').next().unwrap_or_default().trim();
                    list.folders.push(folder.to_owned());
                }
                let own = path
                    .strip_prefix('.')
                    .map(|rest| rest.trim_start_matches('/'));
                list.extras.extend(own.into_iter().flat_map(bracketed));
            } else if line.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                list.requires.push(line.to_owned());
            }
        }
        list
    }
}

/// The names in brackets that a text begins with.
pub(super) fn bracketed(text: &str) -> Vec<String> {
    let names = text
        .strip_prefix('[')
        .and_then(|rest| rest.split(']').next());
    names
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}
