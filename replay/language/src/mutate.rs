//! Makes mutants of code: faults inserted on purpose, to find out whether tests detect them. There
//! are sixteen operators, for every language with rules here.
//!
//! A mutant is one edit of a file. The reference page, `replay/docs/mutation.md`, describes each
//! operator in each language, and the differences from other tools. Everything here is a pure
//! function of the file's text; other crates run tests on mutants.

mod number;
mod operators;
mod score;

use std::collections::HashSet;
use std::hash::Hash;
use std::ops::Range;

use fillrate_syntax::Language;
use fillrate_syntax::text::{LineIndex, line_start};
use operators::MutationSite;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use strum::{Display, IntoStaticStr, VariantArray};
use tree_sitter::{Node, Tree};

use crate::LanguageSupport;
pub use score::MutationScore;

/// Returns every mutant whose edit is within a byte range of a file, such as a hole's, ordered by
/// place, operator and replacement.
///
/// Left out are mutants that do not parse, that have the original's tokens, or that have the same
/// text as a mutant of an operator before theirs. A file that does not parse has no mutants. Type
/// annotations, imports and documentation are never changed.
pub fn find_mutants(
    language: &'static Language,
    contents: &str,
    range: Range<usize>,
) -> Vec<Mutant> {
    let tree = language.parse(contents);
    if tree.root_node().has_error() {
        return Vec::new();
    }
    let mut found = edits(language, contents, tree.root_node(), &range);
    // The first operator wins where two give the same text.
    found.sort_by(|a, b| (a.operator, a.place()).cmp(&(b.operator, b.place())));
    let original: Vec<&str> = tokens(language, &tree, contents).collect();
    let mut texts = HashSet::new();
    found.retain(|mutant| {
        let text = mutant.edit.apply(contents);
        if !texts.insert(Sha256::digest(&text)) {
            return false;
        }
        let tree = language.parse(&text);
        !tree.root_node().has_error() && tokens(language, &tree, &text).ne(original.iter().copied())
    });
    found.sort_by(|a, b| a.order().cmp(&b.order()));
    found
}

/// The mutant that must be killed: a statement that raises, before the statement a range begins in.
/// If tests pass with it, no surviving mutant in the range is evidence about them.
///
/// The range must be within the file, on character boundaries. `None` if it begins in no statement,
/// or the file does not parse.
pub fn raising_mutant(
    language: &'static Language,
    contents: &str,
    range: Range<usize>,
) -> Option<MutantEdit> {
    before_statement(language, contents, range, language.raising_statement)
}

/// The mutant that must survive: a statement without effect, where [`raising_mutant`] puts one that
/// raises. It changes the code's text, its lines and what it compiles to. A test that fails with it
/// depends on these, and not on the code's behaviour.
///
/// The range and `None` are as for [`raising_mutant`].
pub fn neutral_mutant(
    language: &'static Language,
    contents: &str,
    range: Range<usize>,
) -> Option<MutantEdit> {
    let rules = LanguageSupport::for_language(language).mutation;
    before_statement(language, contents, range, rules.neutral_statement)
}

/// Puts a statement before the one that a range begins in.
fn before_statement(
    language: &'static Language,
    contents: &str,
    range: Range<usize>,
    statement: &str,
) -> Option<MutantEdit> {
    let tree = language.parse(contents);
    if tree.root_node().has_error() {
        return None;
    }
    let start = first_token(language, tree.root_node(), contents, &range);
    let mut node = tree.root_node().descendant_for_byte_range(start, start);
    while let Some(current) = node {
        if language.is_statement(current) {
            let edit = insert_at(language, contents, current, statement);
            // No statement can be among the members of a class; before the class one can.
            if language.parses(&edit.apply(contents)) {
                return Some(edit);
            }
        }
        node = current.parent();
    }
    None
}

/// Kinds of statements whose body may be a statement without braces. The arm of a `switch` is none:
/// it may have to give a value.
const WITH_LONE_BODY: [&str; 11] = [
    "do_statement",
    "else_clause",
    "enhanced_for_statement",
    "fixed_statement",
    "for_in_statement",
    "for_statement",
    "foreach_statement",
    "if_statement",
    "lock_statement",
    "using_statement",
    "while_statement",
];

/// Puts a statement before another one. The body of an `if` or a loop without braces gets them:
/// otherwise it would no longer be the body.
fn insert_at(
    language: &Language,
    contents: &str,
    statement: Node<'_>,
    inserted: &str,
) -> MutantEdit {
    let has_lone_body = |parent: Node<'_>| WITH_LONE_BODY.contains(&parent.kind());
    if !statement.parent().is_some_and(has_lone_body) {
        return insert_before(language, contents, statement.start_byte(), inserted);
    }
    let own = &contents[statement.byte_range()];
    MutantEdit {
        range: statement.byte_range(),
        replacement: format!("{{ {inserted} {own} }}"),
    }
}

/// Puts the language's raising statement before the statement that begins at a byte.
pub fn raise_before(language: &Language, contents: &str, statement: usize) -> MutantEdit {
    insert_before(language, contents, statement, language.raising_statement)
}

fn insert_before(
    language: &Language,
    contents: &str,
    statement: usize,
    inserted: &str,
) -> MutantEdit {
    let lead = lead(contents, statement);
    let indentation: String = lead.chars().take_while(|c| c.is_whitespace()).collect();
    // After other code on the line (`case 1: return x`) a line break would leave the block.
    let separator = if lead.trim().is_empty() {
        format!("\n{indentation}")
    } else {
        let rules = LanguageSupport::for_language(language).mutation;
        rules.statement_separator.to_owned()
    };
    MutantEdit {
        range: statement..statement,
        replacement: [inserted, &separator].concat(),
    }
}

/// Leaves out mutants that compile to what the original or a mutant before them compiles to, and
/// those that do not compile. `compiled` holds the compiled form of each mutant, `None` where
/// compiling fails. For Python that is the bytecode, which only Python itself can give, without
/// line numbers and of `ast.unparse(ast.parse(text))`: line breaks leave `NOP`s behind.
pub fn deduplicate<K: Eq + Hash>(
    mutants: Vec<Mutant>,
    original: K,
    compiled: impl IntoIterator<Item = Option<K>>,
) -> Vec<Mutant> {
    let mut seen = HashSet::from([original]);
    mutants
        .into_iter()
        .zip(compiled)
        .filter_map(|(mutant, key)| seen.insert(key?).then_some(mutant))
        .collect()
}

/// One fault put into a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mutant {
    /// Operator that made it.
    pub operator: MutationOperator,
    /// Its change to the file.
    #[serde(flatten)]
    pub edit: MutantEdit,
}

impl Mutant {
    /// Describes the mutant in one line: `line 3: AOR: "+" → "-"`.
    pub fn describe(&self, contents: &str) -> String {
        let line = LineIndex::new(contents).number(self.edit.range.start);
        let [before, after] = [
            &contents[self.edit.range.clone()],
            self.edit.replacement.as_str(),
        ]
        .map(excerpt);
        let change = match (before.is_empty(), after.is_empty()) {
            (true, _) => format!("insert \"{after}\""),
            (_, true) => format!("delete \"{before}\""),
            _ => format!("\"{before}\" → \"{after}\""),
        };
        format!("line {line}: {}: {change}", self.operator)
    }

    fn place(&self) -> (usize, usize, &str) {
        let MutantEdit { range, replacement } = &self.edit;
        (range.start, range.end, replacement)
    }

    fn order(&self) -> (usize, MutationOperator, &str, usize) {
        let MutantEdit { range, replacement } = &self.edit;
        (range.start, self.operator, replacement, range.end)
    }
}

/// A range of a file replaced by another text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MutantEdit {
    /// Bytes of the original file; empty for an insertion.
    pub range: Range<usize>,
    /// Replacement text; empty for a deletion.
    pub replacement: String,
}

impl MutantEdit {
    /// The file with the edit made.
    pub fn apply(&self, contents: &str) -> String {
        [
            &contents[..self.range.start],
            &self.replacement,
            &contents[self.range.end..],
        ]
        .concat()
    }

    /// Returns the edit as a unified diff with three lines of context and no file names.
    pub fn diff(&self, contents: &str) -> String {
        similar::TextDiff::from_lines(contents, &self.apply(contents))
            .unified_diff()
            .to_string()
    }
}

/// The mutation operators of RepoMasterEval
/// ([Wu et al. 2024](https://arxiv.org/abs/2408.03519), table 4), with the meanings of
/// [MutPy](https://github.com/mutpy/mutpy) where it has them.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum MutationOperator {
    /// Arithmetic operator replacement.
    Aor,
    /// Arithmetic assignment operator replacement.
    Asr,
    /// Break and continue replacement.
    Bcr,
    /// Binary operator deletion.
    Bod,
    /// Conditional operator deletion.
    Cod,
    /// Conditional operator insertion.
    Coi,
    /// Constant replacement.
    Crp,
    /// Decorator deletion.
    Ddl,
    /// Exception handler deletion.
    Ehd,
    /// Increment and decrement exchange.
    Ide,
    /// Logical connector replacement.
    Lcr,
    /// Logical (bitwise) operator replacement.
    Lor,
    /// Logical assignment operator replacement.
    Lsr,
    /// One-iteration loop.
    Oil,
    /// Relational operator replacement.
    Ror,
    /// Statement deletion.
    Sdl,
}

impl MutationOperator {
    /// The operator's name, as tables and records have it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Returns all edits of the operators within a range, good or not.
fn edits(
    language: &'static Language,
    contents: &str,
    root: Node<'_>,
    range: &Range<usize>,
) -> Vec<Mutant> {
    let rules = LanguageSupport::for_language(language).mutation;
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let site = MutationSite {
            language,
            rules,
            contents,
            range,
            node,
        };
        // A node that only touches the range may have an insertion at its bound.
        if node.end_byte() < range.start || node.start_byte() > range.end || site.is_untouched() {
            continue;
        }
        for operator in MutationOperator::VARIANTS.iter().copied() {
            let inside = site
                .edits(operator)
                .into_iter()
                .filter(|edit| range.start <= edit.range.start && edit.range.end <= range.end)
                .filter(|edit| !site.joins_statement_before(edit));
            found.extend(inside.map(|edit| Mutant { operator, edit }));
        }
        let mut cursor = node.walk();
        pending.extend(node.named_children(&mut cursor));
    }
    found
}

/// The tokens of a file, without comments and blanks; a string counts as one.
fn tokens<'a>(
    language: &'static Language,
    tree: &'a Tree,
    contents: &'a str,
) -> impl Iterator<Item = &'a str> {
    let mut cursor = tree.walk();
    let mut ended = false;
    std::iter::from_fn(move || {
        while !ended {
            let node = cursor.node();
            let comment = language.is_comment(node);
            let whole = comment || language.strings.contains(&node.kind());
            if !whole && cursor.goto_first_child() {
                continue;
            }
            while !ended && !cursor.goto_next_sibling() {
                ended = !cursor.goto_parent();
            }
            let token = &contents[node.byte_range()];
            // Tokens without text, such as the end of an indented block, follow from the others.
            if !comment && !token.trim().is_empty() {
                return Some(token);
            }
        }
        None
    })
}

/// Returns the text before a byte on its line.
fn lead(contents: &str, byte: usize) -> &str {
    &contents[line_start(contents, byte)..byte]
}

/// Returns the byte at which the first token of a range begins, after blanks and comments.
fn first_token(language: &Language, root: Node<'_>, contents: &str, range: &Range<usize>) -> usize {
    let mut start = range.start;
    loop {
        let rest = &contents[start..range.end];
        start += rest.len() - rest.trim_start().len();
        match root.descendant_for_byte_range(start, start) {
            Some(node) if start < range.end && language.is_comment(node) => {
                start = node.end_byte().min(range.end);
            }
            _ => return start,
        }
    }
}

/// A text on one line, shortened.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
