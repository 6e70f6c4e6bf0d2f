//! Imports of a Go file from its repository.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::imports::{Import, ImportTarget, files_in_folder, neighbours};
use super::super::source::SourceFile;

/// Returns what a declaration imports from the repository: packages, which are folders.
pub(super) fn imports(
    node: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Option<Vec<Import>> {
    if node.kind() != "import_declaration" {
        return None;
    }
    let mut imports = Vec::new();
    let mut pending = vec![node];
    while let Some(current) = pending.pop() {
        if current.kind() == "import_spec" {
            imports.extend(package(current, file, files));
            continue;
        }
        let mut cursor = current.walk();
        let children: Vec<Node<'_>> = current.named_children(&mut cursor).collect();
        // Reversed, so that the stack returns them in the order of the file.
        pending.extend(children.into_iter().rev());
    }
    Some(imports)
}

/// `"a/b"`, `name "a/b"`, `. "a/b"`; nothing for `_ "a/b"`.
fn package(spec: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Option<Import> {
    let path = file.text(spec.child_by_field_name("path")?);
    let path = path.trim_matches(['"', '`']);
    let from = find_folder(path, files)?;
    let name = spec.child_by_field_name("name");
    let (name, target) = match name.map(|name| (name.kind(), file.text(name))) {
        Some(("blank_identifier", _)) => return None,
        Some(("dot", _)) => (None, ImportTarget::Everything),
        Some((_, name)) => (Some(name.to_owned()), ImportTarget::Module),
        None => (Some(usual_name(path).to_owned()), ImportTarget::Module),
    };
    Some(Import {
        name,
        from,
        target,
        at: spec.start_byte(),
    })
}

/// Returns the likeliest name of a package, given its path: the last part that is not a version.
pub(super) fn usual_name(path: &str) -> &str {
    let is_version = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|digits| digits.parse::<u32>().is_ok())
    };
    let mut parts = path.rsplit('/').filter(|part| !is_version(part));
    parts.next().unwrap_or(path)
}

/// Returns the folder of the repository that an import path leads to. The path begins with that of
/// the module, which no Go file contains: the longest ending that is a folder with sources counts,
/// if what is before it may be a module's path.
fn find_folder(path: &str, files: &BTreeSet<&str>) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let module = least_module_parts(parts[0])?;
    (module..parts.len())
        .map(|start| parts[start..].join("/"))
        .find(|folder| first_file(folder, files).is_some())
}

/// Minimum number of parts in the path of a module that begins with `first`; `None` for the
/// standard library.
fn least_module_parts(first: &str) -> Option<usize> {
    const WITH_OWNERS: [&str; 4] = ["github.com", "gitlab.com", "bitbucket.org", "golang.org"];
    if WITH_OWNERS.contains(&first) {
        return Some(3);
    }
    (!STANDARD_LIBRARY.contains(&first)).then_some(1)
}

/// The first part of the paths of the standard library's packages.
const STANDARD_LIBRARY: [&str; 46] = [
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "structs",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "unique",
];

/// The first file of a package in a folder: it knows the names of all others.
pub(super) fn package_file(folder: &str, files: &BTreeSet<&str>) -> Vec<String> {
    first_file(folder, files).map_or_else(Vec::new, |file| vec![file.to_owned()])
}

fn first_file<'a>(folder: &str, files: &BTreeSet<&'a str>) -> Option<&'a str> {
    files_in_folder(folder, ".go", files).find(|path| !path.ends_with("_test.go"))
}

/// The other files of a file's package, whose names it knows without an import. Files of tests may
/// be of a package of their own, and no other file knows their names.
pub(super) fn siblings(path: &str, files: &BTreeSet<&str>) -> Vec<String> {
    neighbours(path, ".go", files)
        .filter(|other| !other.ends_with("_test.go"))
        .collect()
}
