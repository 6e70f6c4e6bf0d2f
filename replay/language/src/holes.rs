//! Rules for the start and the end of a language's holes.

use tree_sitter::Node;

use super::source::SourceFile;

/// A language's rules for holes.
#[derive(Clone, Copy)]
pub struct HoleRules {
    /// Kinds whose children are statements although they are no blocks: the cases of a `switch`.
    pub case_blocks: &'static [&'static str],
    /// The least lines of code before the cursor of an API hole, imports aside: CrossCodeEval's
    /// number, §2.2 of [its paper](https://arxiv.org/abs/2310.11248).
    pub least_lines: usize,
    /// Tokens at which CrossCodeEval's scorer cuts a completion, within strings too; empty where
    /// it parses instead.
    pub statement_ends: &'static [&'static str],
    /// End of the header that contains a token of a compound statement, as a byte; `None` for a
    /// token of a simple statement, and if `statement_ends` decide.
    pub header_end: for<'t> fn(token: Node<'t>, statement: Node<'t>) -> Option<usize>,
}

impl HoleRules {
    /// True if a token ends a statement.
    pub fn ends_statement(&self, file: &SourceFile, token: Node<'_>) -> bool {
        self.statement_ends.contains(&file.text(token))
    }

    /// True if the paper's scorer would cut a reference before its end, so that no completion could
    /// match it.
    pub fn is_cut(&self, reference: &str) -> bool {
        // The reference itself may end with such a token.
        let end = self
            .statement_ends
            .iter()
            .find_map(|end| reference.strip_suffix(end))
            .unwrap_or(reference);
        self.statement_ends
            .iter()
            .any(|statement_end| end.contains(statement_end))
    }
}
