//! Imports of a Java file from its repository.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::imports::{Import, ImportTarget, files_in_folder, parent};
use super::super::source::SourceFile;

/// The ending of a file's name.
pub(super) const ENDING: &str = ".java";

/// Returns what a declaration imports from the repository: `import a.b.C` a class, `import a.b.*`
/// those of a package. Members that are imported by `static` are not followed.
pub(super) fn imports(
    node: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Option<Vec<Import>> {
    if node.kind() != "import_declaration" {
        return None;
    }
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    let has = |kind: &str| children.iter().any(|child| child.kind() == kind);
    let name = children
        .iter()
        .find(|child| matches!(child.kind(), "identifier" | "scoped_identifier"))
        .map(|name| file.text(*name))
        .filter(|_| !has("static"));
    let found = name.and_then(|name| {
        let path = name.replace('.', "/");
        if has("asterisk") {
            return Some((
                None,
                package_folder(&path, file, files)?,
                ImportTarget::Everything,
            ));
        }
        let class = name.rsplit('.').next().unwrap_or(name).to_owned();
        let from = class_file(&path, file, files)?;
        Some((Some(class.clone()), from, ImportTarget::Member(class)))
    });
    let import = found.map(|(name, from, target)| Import {
        name,
        from,
        target,
        at: node.start_byte(),
    });
    Some(import.into_iter().collect())
}

/// The file of a class, given its full name with `/` between parts: below the folder that holds
/// the importing file's own package, or else below any other.
fn class_file(path: &str, file: &SourceFile, files: &BTreeSet<&str>) -> Option<String> {
    let name = format!("{path}{ENDING}");
    find_below(&name, file, files, |candidate| {
        files.get(candidate).map(|found| (*found).to_owned())
    })
}

/// The folder of a package.
fn package_folder(path: &str, file: &SourceFile, files: &BTreeSet<&str>) -> Option<String> {
    let name = format!("{path}/");
    find_below(&name, file, files, |folder| {
        let folder = folder.trim_end_matches('/');
        let mut there = files_in_folder(folder, ENDING, files);
        there.next().map(|_| folder.to_owned())
    })
}

/// Looks for a path below the folder with the file's own package, and then, if its first part is
/// also the first of that package, as those of other libraries are not, below every other folder.
fn find_below(
    path: &str,
    file: &SourceFile,
    files: &BTreeSet<&str>,
    known: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let package = package_path(file);
    let own = parent(&file.path);
    let root = own
        .strip_suffix(package.as_str())
        // The package `b` must not match the end of the folder `ab`.
        .filter(|root| root.is_empty() || root.ends_with('/'));
    if let Some(found) = root.and_then(|root| known(&format!("{root}{path}"))) {
        return Some(found);
    }
    let first = |path: &str| path.split('/').next().map(str::to_owned);
    if !package.is_empty() && first(path) != first(&package) {
        return None;
    }
    let inside = format!("/{path}");
    files
        .iter()
        .filter_map(|candidate| Some(&candidate[..candidate.find(&inside)? + inside.len()]))
        .find_map(known)
}

/// The package of a file, with `/` between its parts.
fn package_path(file: &SourceFile) -> String {
    let declaration = file
        .contents
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("package "));
    let name = declaration.and_then(|rest| rest.split(';').next());
    name.map_or(String::new(), |name| name.trim().replace('.', "/"))
}
