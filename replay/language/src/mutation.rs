//! A language's rules for the mutation operators.

use std::ops::Range;

use tree_sitter::Node;

/// Tokens and what each is replaced by.
pub(crate) type Swaps = &'static [(&'static str, &'static [&'static str])];

/// A range of the file, in bytes, and what replaces it.
pub(crate) type Replacement = (Range<usize>, String);

/// A language's tables for the mutation operators, and functions for the special cases of its
/// syntax. Kinds are tree-sitter's.
pub(crate) struct MutationRules {
    /// Kinds of expressions with an operator between operands, chained comparisons included.
    pub(crate) binary: &'static [&'static str],
    /// Kind of `-x`.
    pub(crate) unary: &'static str,
    /// Kind of `not x` or `!x`.
    pub(crate) negation: &'static str,
    /// Kind of `x += 1`.
    pub(crate) augmented_assignment: &'static str,
    /// The operators, and what replaces them.
    pub(crate) operators: Operators,
    /// Kinds that bind tighter than any operator: no parentheses are needed.
    pub(crate) primary: &'static [&'static str],
    /// Kinds that bind their operand tighter than a binary operator does.
    pub(crate) prefixes: &'static [&'static str],
    /// Kinds of `x++`.
    pub(crate) updates: &'static [&'static str],
    /// True if a condition must be of the boolean type, so that no operand of a comparison can
    /// replace the comparison.
    pub(crate) conditions_are_boolean: bool,
    /// `true` and `false`.
    pub(crate) booleans: [&'static str; 2],
    /// Kinds of boolean literals.
    pub(crate) boolean_kinds: &'static [&'static str],
    /// Kinds of number literals.
    pub(crate) numbers: &'static [&'static str],
    /// Kinds of string literals; one of adjoining strings is outermost.
    pub(crate) strings: &'static [&'static str],
    /// Kinds of loops, whose `body` field is their body.
    pub(crate) loops: &'static [&'static str],
    /// The statement that leaves a loop.
    pub(crate) break_statement: &'static str,
    /// Kinds of statements after which no other runs.
    pub(crate) terminal: &'static [&'static str],
    /// Kinds of statements that are deleted.
    pub(crate) deletable: &'static [&'static str],
    /// The statement that does nothing, in place of one that is deleted.
    pub(crate) empty_statement: &'static str,
    /// A statement without effect that changes what the code compiles to.
    pub(crate) neutral_statement: &'static str,
    /// Separator of two statements on one line.
    pub(crate) statement_separator: &'static str,
    /// Kinds within which nothing is changed: types, imports.
    pub(crate) untouched: &'static [&'static str],
    /// True if a node of another kind is left unchanged because of its position.
    pub(crate) is_untouched: fn(Node<'_>, contents: &str) -> bool,
    /// The condition of a statement or an expression that has one.
    pub(crate) condition: for<'t> fn(Node<'t>) -> Option<Node<'t>>,
    /// Makes an exception handler raise again what it caught.
    pub(crate) raise_again: fn(Node<'_>, contents: &str) -> Option<Replacement>,
    /// True if an expression with this text would be parsed as a statement.
    pub(crate) begins_statement: fn(&str) -> bool,
    /// True if a line with this text goes on with the statement before it, unless a semicolon ends
    /// that.
    pub(crate) continues_line: fn(&str) -> bool,
    /// Kinds of statements that end with a semicolon or the end of a line.
    pub(crate) ended_by_semicolons: &'static [&'static str],
}

/// A language's operators: how tightly each binds, and what replaces it.
pub(crate) struct Operators {
    /// Operators from the loosest to the tightest; those that bind equally tightly are in one
    /// group. `not` and `unary` mean prefixes.
    pub(crate) precedence: &'static [&'static [&'static str]],
    /// Pairs of operators that may not be adjacent without parentheses.
    pub(crate) unmixable: &'static [(&'static str, &'static str)],
    /// AOR on binary operators, and with `=` after each ASR.
    pub(crate) arithmetic: Swaps,
    /// IDE.
    pub(crate) update: Swaps,
    /// LCR, and with `=` after each, where the language has that, LSR.
    pub(crate) logical: Swaps,
    /// LOR, and with `=` after each LSR.
    pub(crate) bitwise: Swaps,
    /// ROR.
    pub(crate) relational: Swaps,
    /// Prefix that negates a condition in parentheses.
    pub(crate) not: &'static str,
    /// The negated form of `in`, if it has its own.
    pub(crate) not_in: Option<&'static str>,
    /// Comparisons whose negation is another comparison for all operands.
    pub(crate) opposites: &'static [&'static str],
}

impl Operators {
    /// The operators that languages in the manner of C share, with the precedence of Java's.
    pub(crate) const LIKE_C: Self = Self {
        // <https://docs.oracle.com/javase/tutorial/java/nutsandbolts/operators.html>
        precedence: &[
            &["||"],
            &["&&"],
            &["|"],
            &["^"],
            &["&"],
            &["==", "!="],
            &["<", "<=", ">", ">="],
            &["<<", ">>", ">>>"],
            &["+", "-"],
            &["*", "/", "%"],
            &["unary"],
        ],
        unmixable: &[],
        arithmetic: &[
            ("+", &["-"]),
            ("-", &["+"]),
            ("*", &["/"]),
            ("/", &["*"]),
            ("%", &["*"]),
        ],
        update: &[("++", &["--"]), ("--", &["++"])],
        logical: &[("&&", &["||"]), ("||", &["&&"])],
        bitwise: &[
            ("&", &["|"]),
            ("|", &["&"]),
            ("^", &["&"]),
            ("<<", &[">>"]),
            (">>", &["<<"]),
            (">>>", &["<<"]),
        ],
        relational: &[
            ("<", &[">", "<="]),
            (">", &["<", ">="]),
            ("<=", &[">=", "<"]),
            (">=", &["<=", ">"]),
            ("==", &["!="]),
            ("!=", &["=="]),
        ],
        not: "!",
        not_in: None,
        opposites: &["==", "!="],
    };

    /// Returns the precedence level of an operator: its index in `precedence`.
    pub(crate) fn level(&self, operator: &str) -> Option<usize> {
        self.precedence
            .iter()
            .position(|level| level.contains(&operator))
    }

    /// True if two operators may not be adjacent without parentheses.
    pub(crate) fn mixes_badly(&self, a: &str, b: &str) -> bool {
        self.unmixable.contains(&(a, b)) || self.unmixable.contains(&(b, a))
    }
}

/// The named children of a node, without comments.
pub(crate) fn named<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .filter(|child| !child.is_extra())
        .collect()
}

/// The condition of `if`, `while`, `do`, `for` and `condition ? a : b` in languages that write it
/// as C does.
pub(crate) fn condition_as_in_c(node: Node<'_>) -> Option<Node<'_>> {
    let condition = match node.kind() {
        "if_statement" | "while_statement" | "do_statement" | "for_statement"
        | "ternary_expression" => node.child_by_field_name("condition")?,
        _ => return None,
    };
    match (node.kind(), condition.kind()) {
        // `for (;;)` has an empty statement as its condition.
        (_, "empty_statement") => None,
        // Here the parentheses belong to the statement.
        ("if_statement" | "while_statement" | "do_statement", "parenthesized_expression") => {
            named(condition).first().copied()
        }
        _ => Some(condition),
    }
}

/// The body of a `catch` that does not begin with a `throw`.
pub(crate) fn body_of_catch(node: Node<'_>) -> Option<Node<'_>> {
    let body = node
        .child_by_field_name("body")
        .filter(|_| node.kind() == "catch_clause")?;
    let throws = named(body)
        .first()
        .is_some_and(|first| first.kind() == "throw_statement");
    (!throws).then_some(body)
}

/// Puts a statement that throws what was caught in place of a body's statements.
pub(crate) fn throw_in_body(body: Node<'_>, throw: &str) -> Replacement {
    let statements = named(body);
    match (statements.first(), statements.last()) {
        (Some(first), Some(last)) => (first.start_byte()..last.end_byte(), throw.to_owned()),
        _ => (body.byte_range(), format!("{{ {throw} }}")),
    }
}

#[cfg(test)]
mod tests {
    use fillrate_syntax::LANGUAGES;

    use crate::LanguageSupport;

    #[test]
    fn every_language_has_rules_that_fit_its_grammar() {
        for language in LANGUAGES {
            let rules = LanguageSupport::for_language(language).mutation;
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
                rules.updates,
                rules.boolean_kinds,
                &[rules.unary, rules.negation, rules.augmented_assignment],
            ];
            for kind in kinds.concat() {
                // Type assertions and markup exclude each other, so that not every grammar that
                // shares these rules has both.
                let known = LANGUAGES
                    .iter()
                    .filter(|other| {
                        std::ptr::eq(LanguageSupport::for_language(other).mutation, rules)
                    })
                    .any(|other| other.grammar().id_for_node_kind(kind, true) != 0);
                assert!(known, "{} has no node kind {kind}", language.name);
            }
            let swaps = [
                rules.operators.arithmetic,
                rules.operators.update,
                rules.operators.logical,
                rules.operators.bitwise,
                rules.operators.relational,
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
            for (old, replacements) in
                [rules.operators.arithmetic, rules.operators.bitwise].concat()
            {
                for token in [&[old], replacements].concat() {
                    let assignment = format!("{token}=");
                    let known = grammar.id_for_node_kind(&assignment, false) != 0;
                    assert!(known, "{} has no token {assignment}", language.id);
                }
            }
            for (old, replacements) in [
                rules.operators.arithmetic,
                rules.operators.logical,
                rules.operators.bitwise,
            ]
            .concat()
            {
                for token in [&[old], replacements].concat() {
                    assert!(
                        rules.operators.level(token).is_some(),
                        "{token} has no precedence"
                    );
                }
            }
        }
    }
}
