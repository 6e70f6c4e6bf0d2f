//! Imported modules, matched against the paths of files.

use tree_sitter::Node;

use super::{LANGUAGES, Language};

/// Constraint of an import on the path of the imported file, as [`module_path()`] returns it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportedModule {
    /// The path is this one.
    Exact(String),
    /// The path ends with these segments.
    Tail(String),
    /// The file is in a folder whose path is a suffix of this package path, which begins with the
    /// repository's own path.
    Folder(String),
    /// The file is in a folder whose path ends with these segments.
    FolderTail(String),
}

impl ImportedModule {
    /// True if the file with this [`module_path()`] may be the imported one.
    pub fn matches(&self, module_path: &str) -> bool {
        match self {
            Self::Exact(path) => module_path == path,
            Self::Tail(tail) => ends_with_segments(module_path, tail),
            Self::FolderTail(tail) => ends_with_segments(folder_of(module_path), tail),
            Self::Folder(package) => {
                let folder = folder_of(module_path);
                // A `__init__`-style module may be the package itself, so its own path is tried
                // too.
                [folder, module_path].into_iter().any(|folder| {
                    package
                        .strip_suffix(folder)
                        .is_some_and(|rest| !folder.is_empty() && rest.ends_with('/'))
                })
            }
        }
    }
}

fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |end| &path[..end])
}

fn ends_with_segments(path: &str, tail: &str) -> bool {
    path.strip_suffix(tail)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Returns a path without the parts that imports omit: the file's ending, and the file name if
/// imports name the file by its folder. Applies the endings of every language, as a file of one may
/// import a file of another.
pub fn module_path(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    let module = LANGUAGES
        .into_iter()
        .flat_map(|language| language.module_endings)
        .find_map(|ending| path[name..].strip_suffix(ending))
        .map_or(path, |name_only| &path[..name + name_only.len()]);
    LANGUAGES
        .into_iter()
        .find_map(|language| {
            // An empty name changes nothing, and then no `/` is at the end.
            let folder = module.strip_suffix(language.folder_module)?;
            folder.strip_suffix('/')
        })
        .unwrap_or(module)
}

/// Maximum nesting depth, in statements and blocks, at which imports are searched.
const MAX_DEPTH: usize = 8;

/// Returns the modules that the imports below a node name, in order.
pub(super) fn find(
    language: &Language,
    root: Node<'_>,
    text: &str,
    folder: &str,
) -> Vec<ImportedModule> {
    let mut words: Vec<usize> = language
        .import_words
        .iter()
        .flat_map(|word| memchr::memmem::find_iter(text.as_bytes(), word.as_bytes()))
        .collect();
    // `add` divides the offsets among the children, and expects them in order.
    words.sort_unstable();
    let mut found = Vec::new();
    let imports = |node: Node<'_>| (language.imports)(node, text, folder);
    add(language, root, &imports, &words, 0, &mut found);
    found
}

/// Adds the modules of the imports below a node. `words` are the offsets in it of words that
/// imports have: only children with one are visited, which in a large file are few.
fn add(
    language: &Language,
    node: Node<'_>,
    imports: &dyn Fn(Node<'_>) -> Option<Vec<ImportedModule>>,
    mut words: &[usize],
    depth: usize,
    found: &mut Vec<ImportedModule>,
) {
    let mut cursor = node.walk();
    while let Some(word) = words.first() {
        // A search begins at the cursor's node, and the one before has moved the cursor to a child.
        cursor.reset(node);
        if cursor.goto_first_child_for_byte(*word).is_none() {
            return;
        }
        let child = cursor.node();
        let inside = words.partition_point(|word| *word < child.start_byte());
        let end = words.partition_point(|word| *word < child.end_byte());
        let own = &words[inside..end];
        // A word between two children belongs to neither.
        words = &words[end.max(1)..];
        if own.is_empty() || !child.is_named() {
            continue;
        }
        if let Some(modules) = imports(child) {
            found.extend(modules);
        } else if depth < MAX_DEPTH
            && (language.is_statement(child)
                || language.is_block(child)
                || language.is_clause(child))
        {
            add(language, child, imports, own, depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules found by a visit of all nodes.
    fn find_in_all(language: &Language, node: Node<'_>, text: &str) -> Vec<ImportedModule> {
        fn visit(
            language: &Language,
            node: Node<'_>,
            text: &str,
            depth: usize,
            found: &mut Vec<ImportedModule>,
        ) {
            for child in node.named_children(&mut node.walk()) {
                if let Some(modules) = (language.imports)(child, text, "a/b") {
                    found.extend(modules);
                } else if depth < MAX_DEPTH
                    && (language.is_statement(child)
                        || language.is_block(child)
                        || language.is_clause(child))
                {
                    visit(language, child, text, depth + 1, found);
                }
            }
        }
        let mut found = Vec::new();
        visit(language, node, text, 0, &mut found);
        found
    }

    #[test]
    fn imports_are_those_that_a_visit_of_all_nodes_finds() {
        let texts = [
            (
                "python",
                "import a, b.c as d\n'import'\nfrom . import e\nimportant = 1 # import\nclass K:\n    \
                 import f\n    def g(self):\n        try:\n            from ..h import i\n        except \
                 ImportError:\n            import j; import k\n        return __import__('l')\nfrom m import (\n    \
                 n,\n    o,\n)\nif x:\n    import p\nelse:\n    import q\nfrom import\nimport \n",
            ),
            (
                "typescript",
                "import a from './a';\nimport * as b from \"b\";\nexport * from '../c';\nexport { d } from 'd';\n\
                 import e = require('e');\nexport default function f() { return import('g'); }\nimport 'h';\n\
                 export const i = 'import';\nexport * 'j'\nimport type { K } from './k.js'\nnamespace L { export import m = n.o; }\n",
            ),
            (
                "go",
                "package a\n\nimport \"b/c\"\nimport (\n\t\"d\"\n\te \"f/g\"\n)\n\nfunc h() { importing() }\n",
            ),
            (
                "java",
                "package a;\nimport b.C;\nimport static b.C.d;\nimport e.*;\nclass F { String s = \"import g;\"; }\n",
            ),
            (
                "csharp",
                "using A.B;\nusing static C.D;\nusing E = F.G;\nnamespace H { using I; class J { void K() { using (var l = m) {} } } }\n",
            ),
        ];
        for (id, text) in texts {
            let language = Language::by_id(id).expect("it is known");
            // Any beginning of a text is one that somebody writes.
            for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                let text = &text[..end];
                let tree = language.parse(text);
                let root = tree.root_node();
                let all = find_in_all(language, root, text);
                assert_eq!(find(language, root, text, "a/b"), all, "{id}: {text}");
            }
        }
    }
}
