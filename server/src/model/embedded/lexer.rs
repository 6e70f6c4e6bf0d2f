//! A lossless lexer for any language, made for counting: equal code gives equal tokens, and the
//! code can be reconstructed from them.
//!
//! A token is a word, a number, an operator, a whole short string literal, or a line break. A line
//! break includes the blank lines after it and the next line's indentation, relative to the lines
//! before, so that code counted at one depth can be written at another. Spaces before a token
//! belong to it.

use std::fmt::Write;

/// Maximum length of a string literal that is one token, in bytes with its quotes. Longer ones, and
/// those with blanks, are split into quotes and words.
const LONGEST_STRING: usize = 40;

/// Operators of more than one character, longest first. Others are single characters.
const OPERATORS: &[&str] = &[
    ">>>=", "\"\"\"", "'''", "...", "===", "!==", "**=", "//=", "<<=", ">>=", ">>>", "&&=", "||=",
    "??=", "```", "->", "=>", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", ":=", "**", "//", "/*", "*/", "<<", ">>", "&&", "||", "??", "?.", "::", "++", "--", "</",
    "/>",
];

/// A piece of a text. The concatenation of all pieces, each `gap` then `text`, is the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// Blanks before the token on its line.
    pub(super) gap: &'a str,
    /// The token's text. Empty only at the end, after blanks.
    pub(super) text: &'a str,
    /// Effect of a line break on the indentation; `None` for other tokens.
    pub(super) line_break: Option<LineBreak>,
}

/// A line break's effect on the indentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineBreak {
    /// Number of line breaks, at least 1.
    breaks: usize,
    /// Number of open indentations that end.
    closes: usize,
    /// Indentation beyond the innermost indentation that stays open.
    opens: String,
}

/// The open indentations, from the outermost. Each begins with the one before.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Indents(Vec<String>);

impl Indents {
    /// Returns the current line's indentation.
    pub(super) fn current(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Moves to a line with this indentation. Returns the line break that leads there.
    pub(super) fn move_to(&mut self, breaks: usize, indentation: &str) -> LineBreak {
        let before = self.0.len();
        // Indentations that the line does not begin with have ended, even if it is indented as
        // deeply.
        while self
            .0
            .last()
            .is_some_and(|open| !indentation.starts_with(open.as_str()))
        {
            self.0.pop();
        }
        let closes = before - self.0.len();
        let opens = indentation[self.current().len()..].to_owned();
        if !opens.is_empty() {
            self.0.push(indentation.to_owned());
        }
        LineBreak {
            breaks,
            closes,
            opens,
        }
    }

    /// Applies a line break.
    pub(super) fn take(&mut self, line_break: &LineBreak) {
        for _ in 0..line_break.closes {
            self.0.pop();
        }
        if !line_break.opens.is_empty() {
            let indentation = format!("{}{}", self.current(), line_break.opens);
            self.0.push(indentation);
        }
    }
}

impl LineBreak {
    /// Returns the form under which a line break is counted, which no other token has.
    pub(super) fn form(&self, with_blank_lines: bool) -> String {
        let mut form = "\n".repeat(if with_blank_lines { self.breaks } else { 1 });
        let _ = write!(form, "<{}>{}", self.closes, self.opens);
        form
    }

    /// Parses the form of a line break.
    pub(super) fn from_form(form: &str) -> Option<Self> {
        let rest = form.trim_start_matches('\n');
        let (closes, opens) = rest.strip_prefix('<')?.split_once('>')?;
        Some(Self {
            breaks: form.len() - rest.len(),
            closes: closes.parse().ok()?,
            opens: opens.to_owned(),
        })
    }

    /// Returns the text of the line break, with the given line end.
    pub(super) fn text(&self, indents: &Indents, line_break: &str) -> String {
        let mut after = indents.clone();
        after.take(self);
        format!("{}{}", line_break.repeat(self.breaks), after.current())
    }
}

/// Splits a text into tokens. `indents` is the state at its start, and afterwards at its end.
pub(super) fn lex<'a>(text: &'a str, indents: &mut Indents) -> Vec<Token<'a>> {
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && matches!(bytes[at], b' ' | b'\t') {
            at += 1;
        }
        let gap = &text[start..at];
        let length = match bytes.get(at) {
            None => 0,
            Some(b'\n' | b'\r') => {
                let (length, breaks, indentation) = line_break(&text[at..]);
                tokens.push(Token {
                    gap,
                    text: &text[at..at + length],
                    line_break: Some(indents.move_to(breaks, indentation)),
                });
                at += length;
                continue;
            }
            Some(_) => token_length(&text[at..]),
        };
        // A first line has no line break before it, so its indentation is opened here.
        if start == 0 && !gap.is_empty() && indents.current().is_empty() && length > 0 {
            indents.move_to(1, gap);
        }
        tokens.push(Token {
            gap,
            text: &text[at..at + length],
            line_break: None,
        });
        at += length;
    }
    tokens
}

/// True if a character belongs to words.
pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// Returns the length of the line break at a text's start, its number of line ends, and the
/// indentation it ends with. Blank lines in between belong to it.
fn line_break(text: &str) -> (usize, usize, &str) {
    let bytes = text.as_bytes();
    let (mut at, mut breaks, mut line) = (0, 0, 0);
    loop {
        match bytes.get(at) {
            Some(b'\n') => {
                at += 1;
                breaks += 1;
                line = at;
            }
            Some(b'\r') => {
                at += if bytes.get(at + 1) == Some(&b'\n') {
                    2
                } else {
                    1
                };
                breaks += 1;
                line = at;
            }
            Some(b' ' | b'\t') => at += 1,
            _ => return (at, breaks, &text[line..at]),
        }
    }
}

/// Returns the length of the token at a text's start, which is not a blank.
fn token_length(text: &str) -> usize {
    let Some(first) = text.chars().next() else {
        return 0;
    };
    if is_word(first) {
        return text.find(|other| !is_word(other)).unwrap_or(text.len());
    }
    let second = text.as_bytes().get(first.len_utf8());
    // The second character of every longer operator is punctuation, so most need no search.
    if second.is_some_and(u8::is_ascii_punctuation)
        && let Some(operator) = OPERATORS
            .iter()
            .find(|operator| text.starts_with(**operator))
    {
        return operator.len();
    }
    if matches!(first, '"' | '\'' | '`') {
        let mut escaped = false;
        for (index, character) in text.char_indices().skip(1).take(LONGEST_STRING) {
            match character {
                _ if index >= LONGEST_STRING || character.is_whitespace() => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if character == first => return index + 1,
                _ => {}
            }
        }
    }
    first.len_utf8()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forms(text: &str) -> String {
        lex(text, &mut Indents::default())
            .iter()
            .map(|token| match &token.line_break {
                Some(line_break) => format!("{:?}\n", line_break.form(true)),
                None => format!("{}|{}| ", token.gap, token.text),
            })
            .collect()
    }

    #[test]
    fn code_becomes_tokens_and_relative_indentation() {
        let text =
            "def f(x):\n    if x != \"a b\":\n        return d['key']\n\n    y **= 2  # don't é\n";
        insta::assert_snapshot!(forms(text), @r#"
    |def|  |f| |(| |x| |)| |:| "\n<0>    "
    |if|  |x|  |!=|  |"| |a|  |b| |"| |:| "\n<0>    "
    |return|  |d| |[| |'key'| |]| "\n\n<1>"
    |y|  |**=|  |2|   |#|  |don| |'| |t|  |é| "\n<1>"
    "#);
    }

    #[test]
    fn equal_blocks_at_two_depths_have_equal_tokens() {
        let block = |indentation: &str| {
            let text =
                "if a:\n    b()\nelse:\n    c()\n".replace('\n', &format!("\n{indentation}"));
            let text = format!("x\n{indentation}{}", text.trim_end());
            let mut indents = Indents::default();
            lex(&text, &mut indents)
                .into_iter()
                .skip(2)
                .map(|token| (token.text.trim().to_owned(), token.line_break))
                .collect::<Vec<_>>()
        };
        assert_eq!(block(""), block("        "));
    }

    proptest! {
        #[test]
        fn tokens_reproduce_the_text(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "_b1", " ", "  ", "\t", "\n", "\r\n", "\r", "\"", "'s'", "é", "😀", "===",
                    "\\", "`", "(", "\u{2028}", "\u{a0}", "//", "0.5",
                ]),
                0..40,
            ),
        ) {
            let text = pieces.concat();
            let tokens = lex(&text, &mut Indents::default());
            let back: String = tokens
                .iter()
                .map(|token| format!("{}{}", token.gap, token.text))
                .collect();
            prop_assert_eq!(back, text);
        }

        #[test]
        fn code_is_reconstructed_from_line_breaks(
            depths in prop::collection::vec((0usize..5, 0usize..3), 1..20),
        ) {
            let text: String = depths
                .iter()
                .map(|&(depth, blank)| format!("x{}{}", "\n".repeat(blank + 1), "  ".repeat(depth)))
                .collect();
            let mut indents = Indents::default();
            let mut written = String::new();
            for token in lex(&text, &mut Indents::default()) {
                match &token.line_break {
                    Some(line_break) => {
                        let line_break = LineBreak::from_form(&line_break.form(true)).expect("its own form");
                        written.push_str(&line_break.text(&indents, "\n"));
                        indents.take(&line_break);
                    }
                    None => written.push_str(token.text),
                }
            }
            prop_assert_eq!(written, text);
        }
    }
}
