//! Imports of a Python file from its repository.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::imports::{Import, ImportTarget, join, parent};
use super::super::source::SourceFile;

/// Returns what a statement imports from the repository. Relative modules belong to the repository,
/// and so do those that are found from a folder above the file that is not a package: the
/// interpreter looks in one of these folders.
pub(super) fn imports(
    node: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Option<Vec<Import>> {
    match node.kind() {
        "import_from_statement" => Some(from_module(node, file, files)),
        "import_statement" => Some(modules(node, file, files)),
        _ => None,
    }
}

/// The files that a module may be; at the repository's root there may be a package.
pub(super) fn module_files(module: &str, _: &BTreeSet<&str>) -> Vec<String> {
    let mut files = vec![
        format!("{module}.py"),
        format!("{module}/__init__.py"),
        format!("{module}.pyi"),
    ];
    if module.is_empty() {
        files.push("__init__.py".to_owned());
    }
    files
}

/// True if a folder has a Python file below it.
pub(super) fn has_python_below(files: &BTreeSet<&str>, folder: &str) -> bool {
    let prefix = format!("{folder}/");
    files
        .range(prefix.as_str()..)
        .take_while(|path| path.starts_with(&prefix))
        .any(|path| path.ends_with(".py"))
}

/// `from .module import name, other as alias`.
fn from_module(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<Import> {
    let Some(from) =
        node.child_by_field_name("module_name")
            .and_then(|module| match module.kind() {
                "relative_import" => Some(relative_module(file.text(module), &file.path)),
                _ => find_module(file.text(module), &file.path, files),
            })
    else {
        return Vec::new();
    };
    let import = |name: Option<String>, target: ImportTarget| Import {
        name,
        from: from.clone(),
        target,
        at: node.start_byte(),
    };
    let mut cursor = node.walk();
    let mut imports: Vec<Import> = node
        .children_by_field_name("name", &mut cursor)
        .map(|name| {
            let bound = name.child_by_field_name("alias").unwrap_or(name);
            let member = name.child_by_field_name("name").unwrap_or(name);
            import(
                Some(file.text(bound).to_owned()),
                ImportTarget::Member(file.text(member).to_owned()),
            )
        })
        .collect();
    let mut cursor = node.walk();
    if node
        .named_children(&mut cursor)
        .any(|child| child.kind() == "wildcard_import")
    {
        imports.push(import(None, ImportTarget::Everything));
    }
    imports
}

/// `import package.module, other as alias`.
fn modules(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<Import> {
    let mut cursor = node.walk();
    node.children_by_field_name("name", &mut cursor)
        .filter_map(|name| {
            let module = name.child_by_field_name("name").unwrap_or(name);
            let module = file.text(module);
            let from = find_module(module, &file.path, files)?;
            let (bound, from) = match name.child_by_field_name("alias") {
                Some(alias) => (file.text(alias), from),
                // This form binds the package alone.
                None => {
                    let first = module.split('.').next().unwrap_or(module);
                    // `.` and `/` both have one byte, so the path ends with as many bytes as the
                    // name.
                    let below = module.len() - first.len();
                    (first, from[..from.len() - below].to_owned())
                }
            };
            Some(Import {
                name: Some(bound.to_owned()),
                from,
                target: ImportTarget::Module,
                at: node.start_byte(),
            })
        })
        .collect()
}

/// The module that a dotted name with dots before it leads to, whether it exists or not. Dots
/// that lead above the repository lead to its root.
fn relative_module(name: &str, from: &str) -> String {
    let rest = name.trim_start_matches(['.', ' ', '\t']);
    let dots = name[..name.len() - rest.len()].matches('.').count();
    let mut folder = parent(from);
    // One dot is the file's own folder, each further dot one folder above.
    for _ in 1..dots {
        folder = parent(folder);
    }
    match rest {
        "" => folder.to_owned(),
        _ => join(folder, &rest.replace('.', "/")),
    }
}

/// The module of the repository that a dotted name leads to, looked for from the folders above a
/// file.
fn find_module(name: &str, from: &str, files: &BTreeSet<&str>) -> Option<String> {
    let relative = name.replace('.', "/");
    let mut folder = parent(from);
    loop {
        let is_package = files.contains(join(folder, "__init__.py").as_str());
        let base = join(folder, &relative);
        let is_here = !is_package
            && (files.contains(format!("{base}.py").as_str())
                || has_python_below(files, &base)
                || files.contains(format!("{base}.pyi").as_str()));
        if is_here {
            return Some(base);
        }
        if folder.is_empty() {
            return None;
        }
        folder = parent(folder);
    }
}
