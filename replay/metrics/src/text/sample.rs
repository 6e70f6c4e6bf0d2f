//! Input of a text metric: one prediction, its reference, and its language's syntax.

use std::fmt::Debug;

/// One prediction and its reference.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The language of the file. It decides the truncation rule and the keywords.
    pub syntax: &'a dyn ScoringSyntax,
    /// The file's text before the hole. Truncation parses it together with the prediction;
    /// cross-file context does not belong here.
    pub prompt: &'a str,
    /// The model's raw output: each metric truncates it as its own definition says.
    pub prediction: &'a str,
    /// The text that the hole replaced.
    pub reference: &'a str,
}

/// Syntax of a language that CrossCodeEval's scorer needs: the end of a statement, and the
/// keywords.
pub trait ScoringSyntax: Debug {
    /// True if a word is a keyword, and so no identifier.
    fn is_keyword(&self, word: &str) -> bool;

    /// True if indentation delimits blocks, so that a statement's end is found by parsing, with
    /// [`first_parsing_end`](Self::first_parsing_end).
    fn indented_blocks(&self) -> bool;

    /// Returns the first of `ends`, byte offsets into `text`, up to which the text parses without
    /// an ERROR node; a MISSING node does not count as one. Called only if blocks are
    /// [indented](Self::indented_blocks).
    fn first_parsing_end(&self, text: &str, ends: &[usize]) -> Option<usize>;
}
