//! Imports of a C# file from its repository.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::imports::{Import, ImportTarget, files_in_folder, join, parent};
use super::super::source::SourceFile;

/// The ending of a file's name.
pub(super) const ENDING: &str = ".cs";

/// Returns what a directive imports from the repository: `using A.B` the classes of a namespace,
/// and `using C = A.B.D` a class. Members that are imported by `static` are not followed.
///
/// By convention only, a namespace is a folder whose path ends with the namespace; a folder's name
/// may hold several parts with dots between them. The first parts, which are those of the project,
/// may be missing if the importing file's own namespace begins with the same part.
pub(super) fn imports(
    node: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Option<Vec<Import>> {
    if node.kind() != "using_directive" {
        return None;
    }
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    let has = |kind: &str| children.iter().any(|child| child.kind() == kind);
    // The last named child is the namespace or class; an alias comes before it.
    let name = children
        .iter()
        .rfind(|child| child.is_named())
        .map(|name| file.text(*name))
        .filter(|_| !has("static"));
    let alias = node.child_by_field_name("name").filter(|_| has("="));
    let imported = match (name, alias) {
        (None, _) => Vec::new(),
        (Some(name), Some(alias)) => aliased(name, file.text(alias), file, files)
            .into_iter()
            .collect(),
        (Some(name), None) => classes(name, file, files),
    };
    let at = node.start_byte();
    let import = |(name, from, target)| Import {
        name,
        from,
        target,
        at,
    };
    Some(imported.into_iter().map(import).collect())
}

/// The name, the origin and the target of an [`Import`].
type Imported = (Option<String>, String, ImportTarget);

/// The class of `using ALIAS = A.B.C`.
fn aliased(name: &str, alias: &str, file: &SourceFile, files: &BTreeSet<&str>) -> Option<Imported> {
    let (namespace, class) = name.rsplit_once('.')?;
    let folder = namespace_folder(namespace, file, files)?;
    let from = files.get(join(&folder, &format!("{class}{ENDING}")).as_str())?;
    let target = ImportTarget::Member(class.to_owned());
    Some((Some(alias.to_owned()), (*from).to_owned(), target))
}

/// Returns the contents of a namespace: by convention one class per file, with the file's name, and
/// everything else.
fn classes(name: &str, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<Imported> {
    let Some(folder) = namespace_folder(name, file, files) else {
        return Vec::new();
    };
    let mut found: Vec<Imported> = files_in_folder(&folder, ENDING, files)
        .filter_map(|path| {
            let class = path.rsplit('/').next()?.split('.').next()?.to_owned();
            let target = ImportTarget::Member(class.clone());
            Some((Some(class), path.to_owned(), target))
        })
        .collect();
    found.push((None, folder, ImportTarget::Everything));
    found
}

/// Returns the folder of a namespace: the one whose path ends with the most parts of it.
fn namespace_folder(name: &str, file: &SourceFile, files: &BTreeSet<&str>) -> Option<String> {
    let own = namespace(file);
    let may_lack_project = own.split('.').next() == name.split('.').next();
    let parts: Vec<&str> = name.split('.').collect();
    let mut best: Option<(usize, &str)> = None;
    let mut last = None;
    for path in files.iter().filter(|path| path.ends_with(ENDING)) {
        let folder = parent(path);
        // Paths are sorted, so most files of a folder are adjacent, and it is compared once.
        if last == Some(folder) {
            continue;
        }
        last = Some(folder);
        let shared = folder
            .rsplit(['/', '.'])
            .zip(parts.iter().rev())
            .take_while(|(part, wanted)| part == *wanted)
            .count();
        let fits = shared == parts.len() || (may_lack_project && shared > 0);
        if fits && best.is_none_or(|(most, _)| shared > most) {
            best = Some((shared, folder));
        }
    }
    best.map(|(_, folder)| folder.to_owned())
}

/// The first namespace that a file declares; empty if there is none.
fn namespace(file: &SourceFile) -> &str {
    let lines = file.contents.lines();
    let declaration = lines
        .filter_map(|line| line.trim_start().strip_prefix("namespace "))
        .next();
    let end = |rest: &str| rest.find([';', '{', ' ']).unwrap_or(rest.len());
    declaration.map_or("", |rest| rest[..end(rest)].trim())
}
