//! Queries of the index at a cursor: terms with weights, and files to prefer.

use std::collections::BTreeMap;

use tree_sitter::{Node, Tree};

use crate::syntax::{ImportedModule, Language};

use super::terms::CodeTerms;
use super::windows::with_line_feeds;

/// A place that needs windows.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The file's path as in [`super::Window::path`]. Its own windows are never returned.
    pub path: &'a str,
    /// The file's text before the cursor; of a large file, the part near it.
    pub prefix: &'a str,
    /// The file's text after the cursor; of a large file, the part near it.
    pub suffix: &'a str,
    /// The file's language. Results come from files of languages with the same name.
    pub language: &'static Language,
    /// The syntax tree of prefix and suffix, if available; otherwise they are parsed.
    pub tree: Option<&'a Tree>,
    /// The beginning of a large file with its syntax tree, for its imports, if the prefix begins
    /// after it.
    pub head: Option<(&'a str, &'a Tree)>,
    /// Paths of files that were opened or edited, the last first.
    pub recent: &'a [String],
}

/// Number of nonblank lines before the cursor whose terms are searched.
pub const PREFIX_LINES: usize = 10;

/// Number of nonblank lines after the cursor whose terms are searched.
pub const SUFFIX_LINES: usize = 5;

/// Factor on the weight of a line's terms, per line of distance from the cursor.
///
/// This and the three factors below were tuned on the share of words new to their file that the
/// best 5 windows contain (`benches/context.rs`). Compared with equal lines, full heads and boosts
/// of 1.5 and 1.1, that share rose by 0.7 to 4.4 points, from 33–52 %, in each of five
/// repositories: four in Python and one in TypeScript. The factors were tuned on these same five.
pub const LINE_DECAY: f32 = 0.8;

/// Weight of the terms in the heads of the definitions around the cursor.
pub const SIGNATURE_WEIGHT: f32 = 0.25;

/// Factor on the score of windows of files that the open file imports.
pub const IMPORT_BOOST: f64 = 1.3;

/// Factor on the score of windows of files in the open file's folder.
pub const SAME_FOLDER_BOOST: f64 = 1.25;

/// Factor on the score of windows of recently opened or edited files.
pub const RECENT_BOOST: f64 = 1.2;

/// Number of files that count as recently opened or edited.
pub const RECENT_FILES: usize = 5;

/// Maximum number of bytes of a definition's head that are searched, as a default value may be
/// long.
const LONGEST_SIGNATURE: usize = 1000;

/// A query, reduced to terms and preferences.
#[derive(Default)]
pub(super) struct ParsedQuery {
    /// Each term and the sum of its weights. Sorted, so that sums have one order.
    pub(super) terms: BTreeMap<String, f32>,
    folder: String,
    imports: Vec<ImportedModule>,
    recent: Vec<String>,
}

impl ParsedQuery {
    pub(super) fn new(query: &Query<'_>) -> Self {
        let before = with_line_feeds(query.prefix);
        let after = with_line_feeds(query.suffix);
        let text = format!("{before}{after}");
        // A tree is usable only if it is of the same text: no line end was replaced.
        let known = query
            .tree
            .filter(|tree| tree.root_node().end_byte() <= text.len())
            .filter(|_| text.len() == query.prefix.len() + query.suffix.len());
        let parsed = known.is_none().then(|| query.language.parse(&text));
        let Some(tree) = known.or(parsed.as_ref()) else {
            return Self::default();
        };
        let root = tree.root_node();

        let before_cursor = filled(before.split('\n').rev()).take(PREFIX_LINES);
        let after_cursor = filled(after.split('\n')).take(SUFFIX_LINES);
        let heads = signatures(query.language, root, &text, before.len());
        let parts = near_to_far(before_cursor)
            .chain(near_to_far(after_cursor))
            .chain(heads.into_iter().map(|head| (SIGNATURE_WEIGHT, head)));
        let mut terms = BTreeMap::new();
        for (weight, part) in parts {
            for term in CodeTerms::extract(part, query.language).iter() {
                *terms.entry(term.to_owned()).or_insert(0.0) += weight;
            }
        }

        let folder = folder(query.path);
        let mut imports = query.language.imported_modules(root, &text, folder);
        if let Some((text, tree)) = query.head {
            let root = tree.root_node();
            imports.extend(query.language.imported_modules(root, text, folder));
        }
        // Each is compared with the path of every file that has a hit.
        imports.sort_unstable();
        imports.dedup();
        Self {
            terms,
            folder: folder.to_owned(),
            imports,
            recent: query.recent.iter().take(RECENT_FILES).cloned().collect(),
        }
    }

    /// Returns the factor on the score of windows of a file with this
    /// [`module_path`](crate::syntax::module_path).
    pub(super) fn boost(&self, path: &str, module_path: &str) -> f64 {
        let imported = self
            .imports
            .iter()
            .any(|module| module.matches(module_path));
        let near = folder(path) == self.folder;
        let recent = self.recent.iter().any(|recent| recent == path);
        [
            (imported, IMPORT_BOOST),
            (near, SAME_FOLDER_BOOST),
            (recent, RECENT_BOOST),
        ]
        .into_iter()
        .filter_map(|(holds, boost)| holds.then_some(boost))
        .product()
    }
}

fn filled<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    lines.filter(|line| !line.trim().is_empty())
}

/// Pairs lines with the weight of their terms.
fn near_to_far<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (f32, &'a str)> {
    let weights = std::iter::successors(Some(1.0), |weight| Some(weight * LINE_DECAY));
    weights.zip(lines)
}

/// Returns the heads, up to the body, of the definitions around a place.
fn signatures<'a>(
    language: &Language,
    root: Node<'_>,
    text: &'a str,
    place: usize,
) -> Vec<&'a str> {
    let mut heads = Vec::new();
    // The range includes the byte before the cursor, so that a definition that ends there counts.
    let mut node = root.descendant_for_byte_range(place.saturating_sub(1), place);
    while let Some(around) = node {
        if (language.is_definition(around) || language.is_function(around))
            && let Some(body) = around.child_by_field_name("body")
        {
            let end = body
                .start_byte()
                .min(around.start_byte() + LONGEST_SIGNATURE);
            // `get` returns `None` if the maximum length ends within a character.
            heads.extend(text.get(around.start_byte()..end));
        }
        node = around.parent();
    }
    heads
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use crate::syntax::module_path;

    use super::*;

    fn parsed(path: &str, text: &str) -> ParsedQuery {
        let (prefix, suffix) = text.split_once("$0").expect("the text has a cursor");
        ParsedQuery::new(&Query {
            path,
            prefix,
            suffix,
            language: Language::for_path(path.as_ref()).expect("the path has a known ending"),
            tree: None,
            head: None,
            recent: &[],
        })
    }

    #[test]
    fn query_has_terms_of_near_lines_and_enclosing_heads() {
        let body: String = (0..12)
            .map(|n| format!("        line{n:02}()\n\n"))
            .collect();
        let after: String = (0..9).map(|n| format!("        after{n:02}()\n")).collect();
        let text = format!(
            "import far\nclass Shop(Base):\n    def total(self, cart: Cart):\n{body}        here.$0\n{after}"
        );
        let terms = parsed("a.py", &text).terms;
        let counts: Vec<_> = terms
            .iter()
            .map(|(term, weight)| format!("{term} {weight:.2}"))
            .collect();
        insta::assert_snapshot!(counts.join(", "), @"00 1.00, 01 0.80, 02 0.64, 03 0.65, 04 0.58, 05 0.21, 06 0.26, 07 0.33, 08 0.41, 09 0.51, 10 0.64, 11 0.80, after 3.36, after00 1.00, after01 0.80, after02 0.64, after03 0.51, after04 0.41, base 0.25, cart 0.50, here 1.00, line 3.46, line03 0.13, line04 0.17, line05 0.21, line06 0.26, line07 0.33, line08 0.41, line09 0.51, line10 0.64, line11 0.80, self 0.25, shop 0.25, total 0.25");
    }

    #[test]
    fn imported_files_are_boosted() {
        let python = parsed(
            "shop/cart/view.py",
            "import os.path as p\nfrom . import tax\nfrom ..core.money import (Cents, rate as r)\nfrom shop import log\ntry:\n    import fast.parse\nexcept ImportError:\n    import slow\n$0",
        );
        let typescript = parsed(
            "web/src/view.tsx",
            "import { a } from './parts/a.js';\nexport * from \"../core\";\nimport type B from '@/models/b';\n$0",
        );
        let boosts = |parsed: &ParsedQuery, paths: &[&str]| -> Vec<String> {
            let boost =
                |path: &&str| format!("{path} {:.2}", parsed.boost(path, module_path(path)));
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
                "shop/cart/tax.py 1.62",
                "shop/cart/other.py 1.25",
                "shop/cart/__init__.py 1.62",
                "shop/core/money.py 1.30",
                "shop/core/money/rate.py 1.30",
                "lib/shop/log.py 1.30",
                "shop/__init__.py 1.30",
                "workshop/log.py 1.00",
                "x/fast/parse.pyi 1.30",
                "slow.py 1.30",
                "tax.py 1.00",
            ],
            [
                "web/src/parts/a.ts 1.30",
                "web/core/index.ts 1.30",
                "web/core.ts 1.30",
                "web/core/x.ts 1.00",
                "web/src/models/b.d.ts 1.30",
                "web/src/b.ts 1.25",
                "a.ts 1.00",
            ],
        )
        "#);
    }
}
