//! What the operators need to know of a language. A new language is one more [`Rules`].

use fillrate_server::syntax::Language;
use tree_sitter::Node;

use super::operators::Site;
use super::{Edit, python, typescript};

/// Tokens and what each is replaced by.
pub(super) type Swaps = &'static [(&'static str, &'static [&'static str])];

/// A language's tables, and the few places where its syntax goes its own way. Kinds are
/// tree-sitter's.
pub(super) struct Rules {
    /// Kinds of expressions with an operator between operands, chained comparisons included.
    pub(super) binary: &'static [&'static str],
    /// Kind of `-x`.
    pub(super) unary: &'static str,
    /// Kind of `not x` or `!x`.
    pub(super) negation: &'static str,
    /// Kind of `x += 1`.
    pub(super) augmented_assignment: &'static str,
    /// Operators from the loosest to the tightest, those that bind alike together. `not` and
    /// `unary` stand for prefixes.
    pub(super) precedence: &'static [&'static [&'static str]],
    /// Operators of two kinds that may not stand side by side without parentheses.
    pub(super) unmixable: &'static [(&'static str, &'static str)],
    /// Kinds that bind tighter than any operator: no parentheses are needed.
    pub(super) primary: &'static [&'static str],
    /// Kinds that bind their operand tighter than a binary operator does.
    pub(super) prefixes: &'static [&'static str],
    /// AOR, on binary operators.
    pub(super) arithmetic: Swaps,
    /// ASR.
    pub(super) arithmetic_assignment: Swaps,
    /// IDE.
    pub(super) update: Swaps,
    /// LCR.
    pub(super) logical: Swaps,
    /// LOR.
    pub(super) bitwise: Swaps,
    /// LSR.
    pub(super) logical_assignment: Swaps,
    /// ROR.
    pub(super) relational: Swaps,
    /// What goes before a condition in parentheses to negate it.
    pub(super) not: &'static str,
    /// The negated form of `in`, if it has its own.
    pub(super) not_in: Option<&'static str>,
    /// Comparisons of which another is always the negation, whatever is compared.
    pub(super) opposites: &'static [&'static str],
    /// `true` and `false`.
    pub(super) booleans: [&'static str; 2],
    /// Kinds of number literals.
    pub(super) numbers: &'static [&'static str],
    /// Kinds of string literals; one of adjoining strings is outermost.
    pub(super) strings: &'static [&'static str],
    /// Kinds of loops, whose `body` field is their body.
    pub(super) loops: &'static [&'static str],
    /// The statement that leaves a loop.
    pub(super) break_statement: &'static str,
    /// Kinds of statements after which no other runs.
    pub(super) terminal: &'static [&'static str],
    /// Kinds of statements that are deleted.
    pub(super) deletable: &'static [&'static str],
    /// The statement that does nothing.
    pub(super) nothing: &'static str,
    /// Kinds within which nothing is changed: types, imports.
    pub(super) untouched: &'static [&'static str],
    /// Whether a node is of no such kind, but stands in such a place.
    pub(super) is_untouched: fn(Node<'_>, contents: &str) -> bool,
    /// The condition of a statement or an expression that has one.
    pub(super) condition: for<'t> fn(Node<'t>) -> Option<Node<'t>>,
    /// Makes an exception handler raise again what it caught.
    pub(super) raise_again: fn(&Site<'_, '_>) -> Option<Edit>,
    /// Whether a text that begins so would be taken for a statement where an expression stands.
    pub(super) begins_statement: fn(&str) -> bool,
}

impl Rules {
    /// The rules of a language.
    pub(super) fn of(language: &Language) -> &'static Self {
        match language.name {
            "python" => &python::RULES,
            // One grammar reads both.
            "typescript" | "javascript" => &typescript::RULES,
            name => unreachable!("{name} has no mutation rules: tested"),
        }
    }

    /// How tightly an operator binds.
    pub(super) fn level(&self, operator: &str) -> Option<usize> {
        self.precedence
            .iter()
            .position(|level| level.contains(&operator))
    }

    /// Whether two operators may not stand side by side.
    pub(super) fn mixes_badly(&self, a: &str, b: &str) -> bool {
        self.unmixable.contains(&(a, b)) || self.unmixable.contains(&(b, a))
    }
}

/// The named children of a node, without comments.
pub(super) fn named<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .filter(|child| !child.is_extra())
        .collect()
}

#[cfg(test)]
mod tests {
    use fillrate_server::syntax::LANGUAGES;

    use super::*;

    #[test]
    fn every_language_has_rules_that_fit_its_grammar() {
        for language in LANGUAGES {
            let rules = Rules::of(language);
            let grammar = language.grammar();
            let kinds = [
                rules.binary,
                rules.primary,
                rules.prefixes,
                rules.numbers,
                rules.strings,
                rules.loops,
                rules.terminal,
                rules.deletable,
                rules.untouched,
                &[rules.unary, rules.negation, rules.augmented_assignment],
            ];
            for kind in kinds.concat() {
                // Type assertions and markup exclude each other, so that not every grammar that
                // shares these rules has both.
                let known = LANGUAGES
                    .iter()
                    .filter(|other| std::ptr::eq(Rules::of(other), rules))
                    .any(|other| other.grammar().id_for_node_kind(kind, true) != 0);
                assert!(known, "{} has no node kind {kind}", language.name);
            }
            let swaps = [
                rules.arithmetic,
                rules.arithmetic_assignment,
                rules.update,
                rules.logical,
                rules.bitwise,
                rules.logical_assignment,
                rules.relational,
            ];
            for (old, replacements) in swaps.concat() {
                for token in [&[old], replacements].concat() {
                    assert_ne!(
                        grammar.id_for_node_kind(token, false),
                        0,
                        "{} has no token {token}",
                        language.id
                    );
                }
            }
            for (old, replacements) in [rules.arithmetic, rules.logical, rules.bitwise].concat() {
                for token in [&[old], replacements].concat() {
                    assert!(rules.level(token).is_some(), "{token} has no precedence");
                }
            }
        }
    }
}
