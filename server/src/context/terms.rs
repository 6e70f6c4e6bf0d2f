//! Splits code into the terms of the index.

use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::syntax::Language;

/// Maximum length in bytes of a word: a longer one is an encoded blob, not a name.
const LONGEST_WORD: usize = 100;

/// The terms of a piece of code, in order, with repetitions.
///
/// A word is a run of letters, digits and `_`; keywords of the language are dropped. Each word
/// gives itself in lower case and, if it has several parts, its parts. Parts end at `_`, between a
/// lower-case and an upper-case letter (`parse|Config`), before the last of several upper-case
/// letters (`HTTP|Server`), and between letters and digits (`sha|256`). Terms of one character are
/// dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct CodeTerms {
    /// All terms, concatenated, so that a window costs two allocations and not thousands.
    text: String,
    ends: Vec<usize>,
}

impl CodeTerms {
    pub(super) fn extract(code: &str, language: &Language) -> Self {
        let mut terms = Self::default();
        for word in code.split(|character: char| !(character.is_alphanumeric() || character == '_'))
        {
            if word.len() > 1 && word.len() <= LONGEST_WORD && !language.keywords.contains(&word) {
                terms.push_word(word);
            }
        }
        terms
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|index| &self.text[self.range(index)])
    }

    fn push_word(&mut self, word: &str) {
        let trimmed = word.trim_matches('_');
        if trimmed.is_empty() {
            return;
        }
        self.push(word);
        let mut start = 0;
        let mut before: Option<char> = None;
        let mut characters = word.char_indices().peekable();
        while let Some((index, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if before.is_some_and(|before| splits_between(before, character, next)) {
                self.push_part(word, start..index);
                start = index;
            }
            before = Some(character);
        }
        if start > 0 {
            self.push_part(word, start..word.len());
        } else if trimmed.len() < word.len() {
            // `name_` has one part, which differs from the word.
            self.push(trimmed);
        }
    }

    fn push_part(&mut self, word: &str, part: Range<usize>) {
        self.push(word[part].trim_matches('_'));
    }

    fn push(&mut self, term: &str) {
        let mut characters = term.chars();
        if characters.next().is_none() || characters.next().is_none() {
            return;
        }
        if term.is_ascii() {
            self.text.push_str(term);
            let start = self.text.len() - term.len();
            self.text[start..].make_ascii_lowercase();
        } else {
            self.text.extend(term.chars().flat_map(char::to_lowercase));
        }
        self.ends.push(self.text.len());
    }

    fn range(&self, index: usize) -> Range<usize> {
        let start = match index {
            0 => 0,
            _ => self.ends[index - 1],
        };
        start..self.ends[index]
    }
}

/// True if a part of a word ends between two characters; `next` follows the second.
fn splits_between(before: char, character: char, next: Option<char>) -> bool {
    // Underscores stay at the end of the part before them, where `push_part` trims them.
    if before == '_' {
        return character != '_';
    }
    if character == '_' {
        return false;
    }
    let capital_starts = character.is_uppercase()
        && (!before.is_uppercase() || next.is_some_and(char::is_lowercase));
    capital_starts || (before.is_numeric() != character.is_numeric())
}

/// Adapter of [`CodeTerms`] to tantivy.
#[derive(Clone)]
pub(super) struct TermTokenizer(pub(super) &'static Language);

/// The terms of one text, one at a time.
pub(super) struct TermStream {
    terms: CodeTerms,
    next: usize,
    token: Token,
}

impl Tokenizer for TermTokenizer {
    type TokenStream<'a> = TermStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermStream {
        TermStream {
            terms: CodeTerms::extract(text, self.0),
            next: 0,
            token: Token::default(),
        }
    }
}

impl TokenStream for TermStream {
    fn advance(&mut self) -> bool {
        if self.next == self.terms.ends.len() {
            return false;
        }
        self.token.text.clear();
        let range = self.terms.range(self.next);
        self.token.text.push_str(&self.terms.text[range]);
        // Offsets stay unset, as nothing is ever highlighted.
        self.token.position = self.next;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(code: &str) -> Vec<String> {
        let python = Language::by_id("python").expect("the table has it");
        CodeTerms::extract(code, python)
            .iter()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn words_are_split_where_their_parts_meet() {
        assert_eq!(terms("parseConfig"), ["parseconfig", "parse", "config"]);
        assert_eq!(terms("parse_config"), ["parse_config", "parse", "config"]);
        assert_eq!(terms("HTTPServer"), ["httpserver", "http", "server"]);
        assert_eq!(terms("sha256_sum"), ["sha256_sum", "sha", "256", "sum"]);
        assert_eq!(terms("_private"), ["_private", "private"]);
        assert_eq!(terms("__init__"), ["__init__", "init"]);
        assert_eq!(terms("MAX_SIZE"), ["max_size", "max", "size"]);
        assert_eq!(terms("getX"), ["getx", "get"]);
        assert_eq!(terms("größeÄndern"), ["größeändern", "größe", "ändern"]);
    }

    #[test]
    fn keywords_and_single_characters_are_no_terms() {
        assert_eq!(terms("for i in range(x): return i"), ["range"]);
        assert_eq!(terms("_ __ a_b é"), ["a_b"]);
        assert_eq!(terms(&"x".repeat(101)), [""; 0]);
    }
}
