//! Brackets and strings, scanned character by character while a model streams.

use super::brackets::{Around, around};
use super::extent::block_of;
use super::syntax_site::SyntaxSite;
use super::{indentation, last_line};
use crate::syntax::{Language, Quote};

/// The brackets and the block that are open at a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    /// How many brackets a completion may close; `None` if the cursor is in a string or a comment,
    /// or the language is unknown.
    closable: Option<usize>,
    /// How many brackets are open.
    open: usize,
    /// The indentation of the cursor's line.
    block: usize,
}

impl Opening {
    pub(super) fn at(site: &SyntaxSite<'_>) -> Self {
        let around = around("", site);
        Self {
            closable: closable(site, around),
            open: around.map_or(0, |around| around.open_at_cursor),
            block: indentation(last_line(site.prefix)),
        }
    }

    /// The rule by which lines have left the block or the brackets they began in; `None` if they
    /// have not.
    pub(super) fn left_by(&self, lines: &str, site: &SyntaxSite<'_>) -> Option<&'static str> {
        let (Some(closable), Some(language)) = (self.closable, site.language) else {
            return None;
        };
        let block = block_of(lines, self.block);
        let mut scan = Scan::new(language);
        for (index, line) in lines.split_inclusive('\n').enumerate() {
            let leaves = language.indented_blocks
                && self.open == 0
                && index > 0
                && scan.is_plain()
                && !line.trim().is_empty()
                && indentation(line) < block;
            if leaves {
                return Some("block");
            }
            scan.read(line);
            if scan.closed > closable {
                // What looks like a bracket may be part of a regular expression or of markup.
                return around(lines, site)?.strays().then_some("brackets");
            }
        }
        None
    }
}

/// How many brackets a completion may close; `None` if the cursor is not in code.
fn closable(site: &SyntaxSite<'_>, around: Option<Around>) -> Option<usize> {
    let language = site.language?;
    let parsed = site.with("")?;
    let at = site.prefix.len().saturating_sub(1);
    let mut node = parsed
        .tree
        .root_node()
        .descendant_for_byte_range(at, site.prefix.len());
    while let Some(inner) = node {
        let starts_before = inner.start_byte() < site.prefix.len();
        let ends_after = inner.end_byte() >= site.prefix.len();
        let literal = language.is_string(inner) || language.is_comment(inner);
        if literal && starts_before && ends_after {
            return None;
        }
        node = inner.parent();
    }
    Some(around?.closable())
}

/// Whether a text closes every bracket that it opens, strings and comments aside.
pub(super) fn closes_its_brackets(text: &str, language: &'static Language) -> bool {
    let mut scan = Scan::new(language);
    for line in text.split_inclusive('\n') {
        scan.read(line);
    }
    scan.open == 0
}

/// A scanner of brackets, strings and line comments.
#[derive(Debug)]
struct Scan {
    language: &'static Language,
    /// Brackets that the text has opened and not closed.
    open: usize,
    /// Brackets that it has closed without opening them.
    closed: usize,
    /// The mark of the open string literal.
    string: Option<Quote>,
}

impl Scan {
    fn new(language: &'static Language) -> Self {
        Self {
            language,
            open: 0,
            closed: 0,
            string: None,
        }
    }

    /// Whether a new line may begin a statement.
    fn is_plain(&self) -> bool {
        self.open == 0 && self.string.is_none()
    }

    /// The mark of a string literal that a text begins with.
    fn opening_quote(&self, text: &str) -> Option<Quote> {
        let mut quotes = self.language.quotes.iter();
        quotes.find(|quote| text.starts_with(quote.mark)).copied()
    }

    fn read(&mut self, line: &str) {
        let mut rest = line;
        while let Some(character) = rest.chars().next() {
            let mut width = character.len_utf8();
            if let Some(quote) = self.string {
                if character == '\\' {
                    width += rest[width..].chars().next().map_or(0, char::len_utf8);
                } else if rest.starts_with(quote.mark) {
                    self.string = None;
                    width = quote.mark.len();
                } else if character == '\n' && !quote.spans_lines {
                    // A one-line string without an end: the code is faulty here.
                    self.string = None;
                }
            } else if rest.starts_with(self.language.line_comment) {
                return;
            } else if let Some(quote) = self.opening_quote(rest) {
                self.string = Some(quote);
                width = quote.mark.len();
            } else if matches!(character, '(' | '[' | '{') {
                self.open += 1;
            } else if matches!(character, ')' | ']' | '}') {
                if self.open > 0 {
                    self.open -= 1;
                } else {
                    self.closed += 1;
                }
            }
            rest = &rest[width..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(id: &str, text: &str) -> (usize, usize, bool) {
        let mut scan = Scan::new(Language::by_id(id).expect("it is in the table"));
        for line in text.split_inclusive('\n') {
            scan.read(line);
        }
        (scan.open, scan.closed, scan.string.is_some())
    }

    #[test]
    fn brackets_in_strings_and_comments_are_none() {
        assert_eq!(read("python", "f(')', \"(\\\")\") # )\n"), (0, 0, false));
        assert_eq!(read("python", "x = '''(\n)\n"), (0, 0, true));
        assert_eq!(read("python", "a)] = (1\n"), (1, 2, false));
        assert_eq!(read("typescript", "`a ) \n } b` + { // }\n"), (1, 0, false));
        assert_eq!(read("typescript", "it's (\n)\n"), (0, 1, false));
    }
}
