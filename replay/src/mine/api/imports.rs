//! What a file imports from its own repository.

use std::collections::BTreeSet;

use fillrate_server::syntax::Language;
use tree_sitter::Node;

use super::super::SourceFile;

/// The names that a file imports from its repository, as the file calls them; `files` are all of
/// the repository. Relative
/// paths are, and names that are found from a folder above the file: in Python from those that
/// are no packages, as one of them is where the interpreter looks.
pub(super) fn local(root: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> BTreeSet<String> {
    let mut imports = BTreeSet::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let names = match node.kind() {
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
        imports.extend(names);
    }
    imports
}

/// Whether a node is a statement that imports, from anywhere.
pub(super) fn is_import(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "import_statement" | "import_from_statement" | "future_import_statement"
    )
}

/// `from .module import name, other as alias`.
fn from_module(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<String> {
    let Some(module) = node.child_by_field_name("module_name") else {
        return Vec::new();
    };
    let is_local =
        module.kind() == "relative_import" || is_module(text(module, file), &file.path, files);
    if !is_local {
        return Vec::new();
    }
    let mut cursor = node.walk();
    node.children_by_field_name("name", &mut cursor)
        .map(|name| {
            let bound = name.child_by_field_name("alias").unwrap_or(name);
            text(bound, file).to_owned()
        })
        .collect()
}

/// `import package.module, other as alias`.
fn modules(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<String> {
    let mut cursor = node.walk();
    node.children_by_field_name("name", &mut cursor)
        .filter_map(|name| {
            let module = name.child_by_field_name("name").unwrap_or(name);
            let module = text(module, file);
            if !is_module(module, &file.path, files) {
                return None;
            }
            Some(match name.child_by_field_name("alias") {
                Some(alias) => text(alias, file).to_owned(),
                // This form binds the package alone.
                None => module.split('.').next().unwrap_or(module).to_owned(),
            })
        })
        .collect()
}

/// Whether a dotted name is a module of the repository, looked for from the folders above a file.
fn is_module(name: &str, from: &str, files: &BTreeSet<&str>) -> bool {
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
            return true;
        }
        if folder.is_empty() {
            return false;
        }
        folder = parent(folder);
    }
}

/// Whether a folder has a Python file in it.
fn has_below(files: &BTreeSet<&str>, folder: &str) -> bool {
    let prefix = format!("{folder}/");
    files
        .range(prefix.as_str()..)
        .take_while(|path| path.starts_with(&prefix))
        .any(|path| path.ends_with(".py"))
}

/// `import main, { name, other as alias } from "./path"`, `import * as all from "./path"`.
fn from_path(node: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Vec<String> {
    let path = node
        .child_by_field_name("source")
        .map(|source| text(source, file).trim_matches(['"', '\'', '`']));
    if !path.is_some_and(|path| is_script(path, &file.path, files)) {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut pending: Vec<Node<'_>> = vec![node];
    while let Some(current) = pending.pop() {
        match current.kind() {
            "import_specifier" => {
                let bound = current
                    .child_by_field_name("alias")
                    .or_else(|| current.child_by_field_name("name"));
                names.extend(bound.map(|bound| text(bound, file).to_owned()));
            }
            "identifier" => names.push(text(current, file).to_owned()),
            _ => {
                let mut cursor = current.walk();
                let children: Vec<Node<'_>> = current.named_children(&mut cursor).collect();
                pending.extend(children.into_iter().rev());
            }
        }
    }
    names
}

/// Whether a relative path, as an import has it, leads to TypeScript of the repository:
/// <https://www.typescriptlang.org/docs/handbook/modules/reference.html#file-extension-substitution>
fn is_script(path: &str, from: &str, files: &BTreeSet<&str>) -> bool {
    let relative = path == "."
        || path == ".."
        || ["./", "../"]
            .iter()
            .any(|beginning| path.starts_with(beginning));
    let Some(base) = normal(parent(from), path).filter(|_| relative) else {
        return false;
    };
    let stem = [".js", ".jsx", ".mjs", ".cjs"]
        .iter()
        .find_map(|ending| base.strip_suffix(ending))
        .unwrap_or(&base);
    Language::for_path(std::path::Path::new(&base)).is_some() && files.contains(base.as_str())
        || ["ts", "tsx", "mts", "cts", "d.ts"].iter().any(|ending| {
            [stem, &base].iter().any(|base| {
                files.contains(format!("{base}.{ending}").as_str())
                    || files.contains(join(base, &format!("index.{ending}")).as_str())
            })
        })
}

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
