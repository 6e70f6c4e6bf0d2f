//! Imported modules, matched against the paths of files.

use tree_sitter::Node;

use super::{LANGUAGES, Language};

/// Constraint of an import on the path of the imported file, as [`module_path()`] returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    let mut found = Vec::new();
    add(
        language,
        root,
        &|node| (language.imports)(node, text, folder),
        0,
        &mut found,
    );
    found
}

fn add(
    language: &Language,
    node: Node<'_>,
    imports: &dyn Fn(Node<'_>) -> Option<Vec<ImportedModule>>,
    depth: usize,
    found: &mut Vec<ImportedModule>,
) {
    for child in node.named_children(&mut node.walk()) {
        if let Some(modules) = imports(child) {
            found.extend(modules);
        } else if depth < MAX_DEPTH
            && (language.is_statement(child)
                || language.is_block(child)
                || language.is_clause(child))
        {
            add(language, child, imports, depth + 1, found);
        }
    }
}
