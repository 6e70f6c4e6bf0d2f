//! Modules of a repository that are compiled with others of it.

use super::super::detection::RepositoryFiles;
use super::super::imports::{joined_path, parent};

/// The file at the top of a repository that names the modules of a workspace.
pub(super) const WORKSPACE: &str = "go.work";

/// Reads a file of the repository by its path.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// True if the module in a folder is compiled with others of the repository, and the top is the
/// innermost folder that holds all of them: the workspace at the top uses it, or it replaces a
/// module of another by a folder.
pub(crate) fn is_member(folder: &str, read: Read<'_>) -> bool {
    let Some(text) = read(&module_file(folder)) else {
        return false;
    };
    let first = folder.split('/').next();
    let mut replacements = directives(&text, "replace")
        .into_iter()
        .filter_map(|words| words.rsplit_once("=>").map(|(_, new)| folder_of(new)))
        .filter(|new| new.starts_with('.'))
        .filter_map(|new| joined_path(folder, &new));
    let is_beside =
        |other: String| other.split('/').next() != first && read(&module_file(&other)).is_some();
    is_used(folder, read) || replacements.any(is_beside)
}

/// True if the workspace at the top uses the module in a folder.
pub(super) fn is_used(folder: &str, read: Read<'_>) -> bool {
    used(read).iter().any(|used| used == folder)
}

/// The files that decide which modules a workspace needs, if it uses the one in a folder.
pub(super) fn workspace_files(folder: &str, read: Read<'_>) -> Vec<(String, String)> {
    let used = used(read);
    if !used.iter().any(|used| used == folder) {
        return Vec::new();
    }
    let of_module = |folder: &String| {
        let file = module_file(folder);
        let sums = match parent(&file) {
            "" => "go.sum".to_owned(),
            folder => format!("{folder}/go.sum"),
        };
        [file, sums]
    };
    let top = [WORKSPACE.to_owned(), format!("{WORKSPACE}.sum")];
    let all = top.into_iter().chain(used.iter().flat_map(of_module));
    all.filter_map(|path| read(&path).map(|text| (path, text)))
        .collect()
}

/// The folders of the modules that the workspace at the top uses.
fn used(read: Read<'_>) -> Vec<String> {
    let text = read(WORKSPACE).unwrap_or_default();
    let folders = directives(&text, "use").into_iter();
    folders
        .filter_map(|words| joined_path("", &folder_of(words)))
        .collect()
}

/// The path of the `go.mod` of the module in a folder.
fn module_file(folder: &str) -> String {
    match folder {
        "" => "go.mod".to_owned(),
        folder => format!("{folder}/go.mod"),
    }
}

/// A folder's name without the quotes around it.
fn folder_of(word: &str) -> String {
    word.trim().trim_matches(['"', '`']).to_owned()
}

/// The words after each directive of a name, alone or in a block, without comments.
fn directives<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    let mut block = None;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let (word, rest) = line.split_once([' ', '\t', '(']).unwrap_or((line, ""));
        match block {
            Some(_) if line == ")" => block = None,
            Some(true) if !line.is_empty() => found.push(line),
            Some(_) => {}
            None if line.ends_with('(') => block = Some(word == name),
            None if word == name => found.push(rest.trim()),
            None => {}
        }
    }
    found
}

/// The `go.mod` of the package that is detected, if it is one in a folder of its own.
pub(super) fn focused_module(files: &RepositoryFiles) -> Option<&str> {
    let file = module_file(files.focus());
    files.paths().find(|path| *path == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_member_in(files: &[(&str, &str)], folder: &str) -> bool {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        is_member(folder, &read)
    }

    #[test]
    fn modules_of_a_workspace_are_compiled_together() {
        let files = [
            (
                "go.work",
                "go 1.22\n\nuse (\n\t./a // one\n\t\"./x/b\"\n)\nuse ./c\n",
            ),
            ("a/go.mod", "module a\n"),
            ("x/b/go.mod", "module b\n"),
            ("c/go.mod", "module c\n"),
            ("d/go.mod", "module d\n"),
        ];
        for (folder, expected) in [("a", true), ("x/b", true), ("c", true), ("d", false)] {
            assert_eq!(is_member_in(&files, folder), expected, "{folder}");
        }
    }

    #[test]
    fn a_module_is_compiled_with_the_one_that_it_is_given_by_a_folder() {
        let module = "module b\n\nreplace example.com/a v1.0.0 => ../a // here\n";
        let block = "module c\nreplace (\n\texample.com/a => ../a\n)\n";
        let other = "module d\nreplace example.com/a => example.com/fork v1.2.3\n";
        let files = [
            ("a/go.mod", "module a\n"),
            ("b/go.mod", module),
            ("c/go.mod", block),
            ("d/go.mod", other),
            ("x/a/go.mod", "module a\n"),
            ("x/b/go.mod", module),
        ];
        // The folder `x` holds both of its modules, and the top is not the innermost.
        for (folder, expected) in [
            ("a", false),
            ("b", true),
            ("c", true),
            ("d", false),
            ("x/b", false),
        ] {
            assert_eq!(is_member_in(&files, folder), expected, "{folder}");
        }
    }
}
