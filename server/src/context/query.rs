//! What is asked of the index at a cursor: terms with weights, and files to favour.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::syntax::Language;

use super::terms::Terms;
use super::windows::with_line_feeds;

/// A place to find windows for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The file's path as in [`super::Window::path`]; none of its windows is an answer.
    pub path: &'a str,
    /// The file's text before the cursor.
    pub prefix: &'a str,
    /// The file's text after the cursor.
    pub suffix: &'a str,
    /// The file's language. Answers are of files of languages with the same name.
    pub language: &'static Language,
}

/// How many lines before the cursor are searched for, blank ones aside.
pub const PREFIX_LINES: usize = 10;

/// How many lines after the cursor are searched for, blank ones aside.
pub const SUFFIX_LINES: usize = 5;

/// The factor on the score of windows of a file that the open one imports.
pub const IMPORT_BOOST: f64 = 1.5;

/// The factor on the score of windows of a file in the open one's folder.
pub const SAME_FOLDER_BOOST: f64 = 1.1;

/// How many bytes of a definition's head are searched for, as a default value may be long.
const LONGEST_SIGNATURE: usize = 1000;

/// A query, taken apart.
pub(super) struct Wanted {
    /// Each term and how often it is asked for. Sorted, so that sums have one order.
    pub(super) terms: BTreeMap<String, f32>,
    folder: String,
    imports: Vec<Module>,
}

/// What an import says about the path of the file it means, without its ending.
#[derive(Debug, PartialEq, Eq)]
enum Module {
    /// It is this path.
    Exact(String),
    /// It ends with these segments.
    Tail(String),
}

impl Wanted {
    pub(super) fn new(query: &Query<'_>) -> Self {
        let before = with_line_feeds(query.prefix);
        let after = with_line_feeds(query.suffix);
        let text = format!("{before}{after}");
        let tree = query.language.parse(&text);
        let root = tree.root_node();

        let mut parts: Vec<&str> = Vec::new();
        parts.extend(filled(before.split('\n').rev()).take(PREFIX_LINES));
        parts.extend(filled(after.split('\n')).take(SUFFIX_LINES));
        parts.extend(signatures(query.language, root, &text, before.len()));
        let mut terms = BTreeMap::new();
        for part in parts {
            for term in Terms::of(part, query.language).iter() {
                *terms.entry(term.to_owned()).or_insert(0.0) += 1.0;
            }
        }

        let mut imports = Vec::new();
        let folder = folder(query.path);
        modules(query.language, root, &text, folder, 0, &mut imports);
        Self {
            terms,
            folder: folder.to_owned(),
            imports,
        }
    }

    /// The factor on the score of windows of a file.
    pub(super) fn boost(&self, path: &str) -> f64 {
        let stem = stem(path);
        let imported = self.imports.iter().any(|module| module.means(stem));
        let near = folder(path) == self.folder;
        (if imported { IMPORT_BOOST } else { 1.0 }) * (if near { SAME_FOLDER_BOOST } else { 1.0 })
    }
}

impl Module {
    fn means(&self, stem: &str) -> bool {
        match self {
            Self::Exact(path) => stem == path,
            Self::Tail(tail) => stem
                .strip_suffix(tail.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('/')),
        }
    }
}

fn filled<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    lines.filter(|line| !line.trim().is_empty())
}

/// The heads, up to the body, of the definitions around a place.
fn signatures<'a>(
    language: &Language,
    root: Node<'_>,
    text: &'a str,
    place: usize,
) -> Vec<&'a str> {
    let mut heads = Vec::new();
    let mut node = root.descendant_for_byte_range(place.saturating_sub(1), place);
    while let Some(around) = node {
        if (language.is_definition(around) || language.is_function(around))
            && let Some(body) = around.child_by_field_name("body")
        {
            let end = body
                .start_byte()
                .min(around.start_byte() + LONGEST_SIGNATURE);
            heads.extend(text.get(around.start_byte()..end));
        }
        node = around.parent();
    }
    heads
}

/// Adds what the imports in a node name. Imports inside of functions count too, those deep in
/// expressions don't.
fn modules(
    language: &Language,
    node: Node<'_>,
    text: &str,
    folder: &str,
    depth: usize,
    found: &mut Vec<Module>,
) {
    const DEEPEST: usize = 8;
    for child in node.named_children(&mut node.walk()) {
        let part = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
        if let Some(source) = child.child_by_field_name("source") {
            // TypeScript: `import … from "…"`, `export … from "…"`.
            found.extend(path_module(part(source), folder));
        } else if child.kind().starts_with("import_") {
            // Python: `import a.b`, `from a.b import c`.
            let module = child.child_by_field_name("module_name").map(part);
            if let Some(module) = module {
                found.extend(dotted_module(module, None, folder));
            }
            for name in child.children_by_field_name("name", &mut child.walk()) {
                let name = part(name.child_by_field_name("name").unwrap_or(name));
                found.extend(match module {
                    Some(module) => dotted_module(module, Some(name), folder),
                    None => dotted_module(name, None, folder),
                });
            }
        } else if depth < DEEPEST
            && (language.is_statement(child) || language.is_block(child) || has_block(child))
        {
            modules(language, child, text, folder, depth + 1, found);
        }
    }
}

/// Whether a node is a clause of a statement, such as `else:`.
fn has_block(node: Node<'_>) -> bool {
    node.kind().ends_with("_clause")
}

/// The module a quoted path means.
fn path_module(quoted: &str, folder: &str) -> Option<Module> {
    let path = quoted.trim_matches(['"', '\'', '`']);
    let stem = stem(path);
    if path.starts_with('.') {
        let mut segments: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for segment in stem.split('/') {
            match segment {
                "" | "." => {}
                ".." => drop(segments.pop()),
                name => segments.push(name),
            }
        }
        Some(Module::Exact(segments.join("/")))
    } else {
        // What stands first is often an alias: `@/parts/x`, `~/parts/x`, `#parts/x`.
        let tail = stem.trim_start_matches(['@', '~', '#', '/']);
        (!tail.is_empty()).then(|| Module::Tail(tail.to_owned()))
    }
}

/// The module a dotted name means, or a name imported from it if that is a module.
fn dotted_module(module: &str, name: Option<&str>, folder: &str) -> Option<Module> {
    let inner = module.trim_start_matches('.');
    let dots = module.len() - inner.len();
    let segments = inner.split('.').chain(name).map(str::trim);
    let segments: Vec<&str> = segments.filter(|part| !part.is_empty()).collect();
    if dots == 0 {
        return (!segments.is_empty()).then(|| Module::Tail(segments.join("/")));
    }
    let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    path.truncate(path.len().checked_sub(dots - 1)?);
    path.extend(segments);
    Some(Module::Exact(path.join("/")))
}

/// A path without what an import leaves out: the ending, `/__init__` and `/index`.
fn stem(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    let known = [
        ".d.ts", ".pyi", ".py", ".mts", ".cts", ".tsx", ".ts", ".mjs", ".cjs", ".jsx", ".js",
    ];
    let stem = known
        .iter()
        .find_map(|ending| path[name..].strip_suffix(ending))
        .map_or(path, |stem| &path[..name + stem.len()]);
    ["/__init__", "/index"]
        .iter()
        .find_map(|file| stem.strip_suffix(file))
        .unwrap_or(stem)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(path: &str, text: &str) -> Wanted {
        let (prefix, suffix) = text.split_once("$0").expect("the text has a cursor");
        Wanted::new(&Query {
            path,
            prefix,
            suffix,
            language: Language::for_path(path.as_ref()).expect("the path has a known ending"),
        })
    }

    #[test]
    fn the_lines_around_the_cursor_and_the_heads_around_it_are_asked_for() {
        let body: String = (0..12)
            .map(|n| format!("        line{n:02}()\n\n"))
            .collect();
        let after: String = (0..9).map(|n| format!("        after{n:02}()\n")).collect();
        let text = format!(
            "import far\nclass Shop(Base):\n    def total(self, cart: Cart):\n{body}        here.$0\n{after}"
        );
        let terms = wanted("a.py", &text).terms;
        let counts: Vec<_> = terms
            .iter()
            .map(|(term, weight)| format!("{term} {weight}"))
            .collect();
        insta::assert_snapshot!(counts.join(", "), @"00 1, 01 1, 02 1, 03 2, 04 2, 05 1, 06 1, 07 1, 08 1, 09 1, 10 1, 11 1, after 5, after00 1, after01 1, after02 1, after03 1, after04 1, base 1, cart 2, here 1, line 9, line03 1, line04 1, line05 1, line06 1, line07 1, line08 1, line09 1, line10 1, line11 1, self 1, shop 1, total 1");
    }

    #[test]
    fn imports_say_which_files_to_favour() {
        let python = wanted(
            "shop/cart/view.py",
            "import os.path as p\nfrom . import tax\nfrom ..core.money import (Cents, rate as r)\nfrom shop import log\ntry:\n    import fast.parse\nexcept ImportError:\n    import slow\n$0",
        );
        let typescript = wanted(
            "web/src/view.tsx",
            "import { a } from './parts/a.js';\nexport * from \"../core\";\nimport type B from '@/models/b';\n$0",
        );
        let boosts = |wanted: &Wanted, paths: &[&str]| -> Vec<String> {
            let boost = |path: &&str| format!("{path} {:.2}", wanted.boost(path));
            paths.iter().map(boost).collect()
        };
        let python = boosts(
            &python,
            &[
                "shop/cart/tax.py",
                "shop/cart/other.py",
                "shop/cart/__init__.py",
                "shop/core/money.py",
                "shop/core/money/rate.py",
                "lib/shop/log.py",
                "shop/__init__.py",
                "workshop/log.py",
                "x/fast/parse.pyi",
                "slow.py",
                "tax.py",
            ],
        );
        let typescript = boosts(
            &typescript,
            &[
                "web/src/parts/a.ts",
                "web/core/index.ts",
                "web/core.ts",
                "web/core/x.ts",
                "web/src/models/b.d.ts",
                "web/src/b.ts",
                "a.ts",
            ],
        );
        insta::assert_debug_snapshot!((python, typescript), @r#"
        (
            [
                "shop/cart/tax.py 1.65",
                "shop/cart/other.py 1.10",
                "shop/cart/__init__.py 1.65",
                "shop/core/money.py 1.50",
                "shop/core/money/rate.py 1.50",
                "lib/shop/log.py 1.50",
                "shop/__init__.py 1.50",
                "workshop/log.py 1.00",
                "x/fast/parse.pyi 1.50",
                "slow.py 1.50",
                "tax.py 1.00",
            ],
            [
                "web/src/parts/a.ts 1.50",
                "web/core/index.ts 1.50",
                "web/core.ts 1.50",
                "web/core/x.ts 1.00",
                "web/src/models/b.d.ts 1.50",
                "web/src/b.ts 1.10",
                "a.ts 1.00",
            ],
        )
        "#);
    }
}
