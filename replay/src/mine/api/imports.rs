//! What a file imports from its own repository.

use std::collections::BTreeSet;

use fillrate_server::syntax::Language;
use tree_sitter::Node;

use super::super::SourceFile;

/// A name that a file imports from its own repository, or all names of a file of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mine) struct Import {
    /// What the file calls it; nothing where it takes all there are.
    pub(in crate::mine) name: Option<String>,
    /// Where it comes from. In Python this is a module's path without its ending, which may be a
    /// folder's; in TypeScript it is a file's path.
    pub(in crate::mine) from: String,
    /// What it is there.
    pub(in crate::mine) what: Imported,
    /// Where the statement begins in the file.
    pub(in crate::mine) at: usize,
}

/// What is imported of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mine) enum Imported {
    /// The module itself: its names are members of the imported one.
    Module,
    /// What it calls so; `default` is the one without a name in TypeScript.
    Member(String),
    /// All that it gives away, each under its own name.
    Everything,
}

/// The names that a file imports from its repository, as the file calls them; `files` are all of
/// the repository. Relative
/// paths are, and names that are found from a folder above the file: in Python from those that
/// are no packages, as one of them is where the interpreter looks.
pub(super) fn local(root: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> BTreeSet<String> {
    all(root, file, files)
        .into_iter()
        .filter_map(|import| import.name)
        .collect()
}

/// Everything that a file imports from its repository, in its order, from inside functions too.
pub(in crate::mine) fn all(
    root: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Vec<Import> {
    let mut imports = Vec::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let found = match node.kind() {
            "import_from_statement" => from_module(node, file, files),
            "import_statement" if file.language.name == "python" => modules(node, file, files),
            "import_statement" => from_path(node, file, files),
            _ => {
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                pending.extend(children.into_iter().rev());
                continue;
            }
        };
        imports.extend(found);
    }
    imports
}

/// Whether a node is a statement that imports, from anywhere.
pub(in crate::mine) fn is_import(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "import_statement" | "import_from_statement" | "future_import_statement"
    )
}

/// `from .module import name, other as alias`.
fn from_module(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<Import> {
    let Some(from) =
        node.child_by_field_name("module_name")
            .and_then(|module| match module.kind() {
                "relative_import" => Some(relative_module(text(module, file), &file.path)),
                _ => find_module(text(module, file), &file.path, files),
            })
    else {
        return Vec::new();
    };
    let import = |name: Option<String>, what: Imported| Import {
        name,
        from: from.clone(),
        what,
        at: node.start_byte(),
    };
    let mut cursor = node.walk();
    let mut imports: Vec<Import> = node
        .children_by_field_name("name", &mut cursor)
        .map(|name| {
            let bound = name.child_by_field_name("alias").unwrap_or(name);
            let member = name.child_by_field_name("name").unwrap_or(name);
            import(
                Some(text(bound, file).to_owned()),
                Imported::Member(text(member, file).to_owned()),
            )
        })
        .collect();
    let mut cursor = node.walk();
    if node
        .named_children(&mut cursor)
        .any(|child| child.kind() == "wildcard_import")
    {
        imports.push(import(None, Imported::Everything));
    }
    imports
}

/// `import package.module, other as alias`.
fn modules(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<Import> {
    let mut cursor = node.walk();
    node.children_by_field_name("name", &mut cursor)
        .filter_map(|name| {
            let module = name.child_by_field_name("name").unwrap_or(name);
            let module = text(module, file);
            let from = find_module(module, &file.path, files)?;
            let (bound, from) = match name.child_by_field_name("alias") {
                Some(alias) => (text(alias, file), from),
                // This form binds the package alone.
                None => {
                    let first = module.split('.').next().unwrap_or(module);
                    let below = module.len() - first.len();
                    (first, from[..from.len() - below].to_owned())
                }
            };
            Some(Import {
                name: Some(bound.to_owned()),
                from,
                what: Imported::Module,
                at: node.start_byte(),
            })
        })
        .collect()
}

/// The module that a dotted name with dots before it leads to, whether it is there or not. Dots
/// that lead above the repository lead to its root.
fn relative_module(name: &str, from: &str) -> String {
    let rest = name.trim_start_matches(['.', ' ', '\t']);
    let dots = name[..name.len() - rest.len()].matches('.').count();
    let mut folder = parent(from);
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
                || has_below(files, &base)
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

/// Whether a folder has a Python file in it.
pub(in crate::mine) fn has_below(files: &BTreeSet<&str>, folder: &str) -> bool {
    let prefix = format!("{folder}/");
    files
        .range(prefix.as_str()..)
        .take_while(|path| path.starts_with(&prefix))
        .any(|path| path.ends_with(".py"))
}

/// `import main, { name, other as alias } from "./path"`, `import * as all from "./path"`.
fn from_path(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<Import> {
    let Some(from) = source(node, file, files) else {
        return Vec::new();
    };
    let mut imports = Vec::new();
    let mut import = |name: Node<'_>, what: Imported| {
        imports.push(Import {
            name: Some(text(name, file).to_owned()),
            from: from.clone(),
            what,
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
                    let name = text(name, file).trim_matches(['"', '\'']);
                    import(bound, Imported::Member(name.to_owned()));
                }
            }
            "namespace_import" => {
                if let Some(name) = current.named_child(0) {
                    import(name, Imported::Module);
                }
            }
            "identifier" => import(current, Imported::Member("default".to_owned())),
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
pub(in crate::mine) fn source(
    statement: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Option<String> {
    let source = statement.child_by_field_name("source")?;
    let path = text(source, file).trim_matches(['"', '\'', '`']);
    find_script(path, &file.path, files)
}

/// The file that a relative path, as an import has it, leads to:
/// <https://www.typescriptlang.org/docs/handbook/modules/reference.html#file-extension-substitution>
fn find_script(path: &str, from: &str, files: &BTreeSet<&str>) -> Option<String> {
    let relative = path == "."
        || path == ".."
        || ["./", "../"]
            .iter()
            .any(|beginning| path.starts_with(beginning));
    let base = normal(parent(from), path).filter(|_| relative)?;
    let stem = [".js", ".jsx", ".mjs", ".cjs"]
        .iter()
        .find_map(|ending| base.strip_suffix(ending))
        .unwrap_or(&base);
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

/// What TypeScript's files end in, as its compiler looks for them.
const ENDINGS: [&str; 5] = ["ts", "tsx", "mts", "cts", "d.ts"];

/// A path below the repository's root without `.` and `..`; nothing above the root.
fn normal(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |end| &path[..end])
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn text<'a>(node: Node<'_>, file: &'a SourceFile) -> &'a str {
    &file.contents[node.byte_range()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(id: &str, path: &str, contents: &str, files: &[&str]) -> Vec<String> {
        let file = SourceFile {
            path: path.into(),
            contents: contents.into(),
            language: Language::by_id(id).expect("the language is in the table"),
        };
        let tree = file.language.parse(contents);
        local(
            tree.root_node(),
            &file,
            &files.iter().copied().collect::<BTreeSet<_>>(),
        )
        .into_iter()
        .collect()
    }

    #[test]
    fn imports_of_the_repository_in_python() {
        let files = [
            "src/shop/__init__.py",
            "src/shop/cart.py",
            "src/shop/json.py",
            "src/shop/deep/price.py",
            "tests/helper.py",
        ];
        let contents = "from __future__ import annotations\nimport json\nimport shop.cart\nimport shop.deep.price as price, os\nfrom shop import cart as basket\nfrom requests import get\nimport helper\nfrom . import deep\nfrom .json import (\n    load,\n    dump as write,\n)\nfrom ..far import *\n\ndef f():\n    from shop.cart import Cart\n";
        assert_eq!(
            names("python", "src/shop/main.py", contents, &files),
            ["Cart", "basket", "deep", "load", "price", "shop", "write"]
        );
    }

    #[test]
    fn imports_of_the_repository_in_typescript() {
        let files = [
            "src/main.ts",
            "src/cart.ts",
            "src/view/index.tsx",
            "lib/far.ts",
            "src/data.json",
        ];
        let contents = "import main, { add, take as grab } from './cart.js';\nimport * as view from \"./view\";\nimport type { Far } from '../lib/far';\nimport { gone } from './gone';\nimport data from './data.json';\nimport fs from 'node:fs';\nimport './cart';\nimport { above } from '../../above';\n";
        assert_eq!(
            names("typescript", "src/main.ts", contents, &files),
            ["Far", "add", "grab", "main", "view"]
        );
    }
}
