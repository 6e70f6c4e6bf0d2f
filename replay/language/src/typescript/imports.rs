//! Imports of a TypeScript or JavaScript file from its repository.

use std::collections::BTreeSet;

use fillrate_syntax::Language;
use tree_sitter::Node;

use super::super::imports::{Import, ImportTarget, join, joined_path, parent};
use super::super::source::SourceFile;

/// Returns what a statement imports from the repository: relative paths.
pub(super) fn imports(
    node: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Option<Vec<Import>> {
    (node.kind() == "import_statement").then(|| from_path(node, file, files))
}

/// `import main, { name, other as alias } from "./path"`, `import * as all from "./path"`.
fn from_path(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<Import> {
    let Some(from) = source(node, file, files) else {
        return Vec::new();
    };
    let mut imports = Vec::new();
    let mut import = |name: Node<'_>, target: ImportTarget| {
        imports.push(Import {
            name: Some(file.text(name).to_owned()),
            from: from.clone(),
            target,
            at: node.start_byte(),
        });
    };
    let mut pending: Vec<Node<'_>> = vec![node];
    while let Some(current) = pending.pop() {
        match current.kind() {
            "import_specifier" => {
                let name = current.child_by_field_name("name");
                let bound = current.child_by_field_name("alias").or(name);
                if let (Some(bound), Some(name)) = (bound, name) {
                    let name = file.text(name).trim_matches(['"', '\'']);
                    import(bound, ImportTarget::Member(name.to_owned()));
                }
            }
            "namespace_import" => {
                if let Some(name) = current.named_child(0) {
                    import(name, ImportTarget::Module);
                }
            }
            "identifier" => import(current, ImportTarget::Member("default".to_owned())),
            _ => {
                let mut cursor = current.walk();
                let children: Vec<Node<'_>> = current.named_children(&mut cursor).collect();
                pending.extend(children.into_iter().rev());
            }
        }
    }
    imports
}

/// The file of the repository that an import, or an export of what is elsewhere, names.
pub(super) fn source(
    statement: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Option<String> {
    let source = statement.child_by_field_name("source")?;
    let path = file.text(source).trim_matches(['"', '\'', '`']);
    find_script(path, &file.path, files)
}

/// Returns the file that a relative path of an import leads to:
/// <https://www.typescriptlang.org/docs/handbook/modules/reference.html#file-extension-substitution>
pub(super) fn find_script(path: &str, from: &str, files: &BTreeSet<&str>) -> Option<String> {
    let relative = path == "."
        || path == ".."
        || ["./", "../"]
            .iter()
            .any(|beginning| path.starts_with(beginning));
    let base = joined_path(parent(from), path).filter(|_| relative)?;
    let stem = [".js", ".jsx", ".mjs", ".cjs"]
        .iter()
        .find_map(|ending| base.strip_suffix(ending))
        .unwrap_or(&base);
    // A file of exactly this name takes precedence.
    if Language::for_path(std::path::Path::new(&base)).is_some() && files.contains(base.as_str()) {
        return Some(base);
    }
    [stem, &base]
        .iter()
        .flat_map(|base| ENDINGS.map(|ending| format!("{base}.{ending}")))
        .chain(
            [stem, &base]
                .iter()
                .flat_map(|base| ENDINGS.map(|ending| join(base, &format!("index.{ending}")))),
        )
        .find(|path| files.contains(path.as_str()))
}

/// Endings of TypeScript's files, in the order in which its compiler looks for them.
const ENDINGS: [&str; 5] = ["ts", "tsx", "mts", "cts", "d.ts"];
