//! Brackets and strings, read letter by letter while a model writes.

use super::brackets::around;
use super::extent::block_of;
use super::site::Site;
use super::{Extent, indentation, last_line};
use crate::syntax::Language;

/// What is open at a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    /// How many brackets a completion may close; nothing where the cursor is in a string or a
    /// comment, or the language is not known.
    closable: Option<usize>,
    /// How many brackets are open.
    open: usize,
    /// The indentation of the cursor's line.
    block: usize,
}

impl Opening {
    pub(super) fn at(place: &Site<'_>) -> Self {
        Self {
            closable: closable(place),
            open: around("", place).map_or(0, |around| around.open_at_cursor),
            block: indentation(last_line(place.prefix)),
        }
    }

    /// The rule by which lines have left the block or the brackets they began in, where they
    /// have.
    pub(super) fn left_by(&self, lines: &str, place: &Site<'_>) -> Option<&'static str> {
        let (Some(closable), Some(language)) = (self.closable, place.language) else {
            return None;
        };
        if place.extent == Extent::Anything {
            return None;
        }
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
                return around(lines, place)?.strays().then_some("brackets");
            }
        }
        None
    }
}

/// How many brackets a completion may close, where the cursor is in code.
fn closable(place: &Site<'_>) -> Option<usize> {
    let language = place.language?;
    let parsed = place.with("")?;
    let at = place.prefix.len().saturating_sub(1);
    let mut node = parsed
        .tree
        .root_node()
        .descendant_for_byte_range(at, place.prefix.len());
    while let Some(inner) = node {
        let starts_before = inner.start_byte() < place.prefix.len();
        let ends_after = inner.end_byte() >= place.prefix.len();
        let literal = language.strings.contains(&inner.kind()) || language.is_comment(inner);
        if literal && starts_before && ends_after {
            return None;
        }
        node = inner.parent();
    }
    Some(around("", place)?.closable())
}

/// A reader of code that knows brackets, strings and comments, and nothing else.
#[derive(Debug)]
struct Scan {
    language: &'static Language,
    /// Brackets that the text opened and has not closed.
    open: usize,
    /// Brackets that it closed and had not opened.
    closed: usize,
    /// What ends the string that is open.
    string: Option<&'static str>,
}

/// What begins and ends strings, the longer before those that begin them.
const PYTHON_QUOTES: [&str; 4] = ["\"\"\"", "'''", "\"", "'"];
const OTHER_QUOTES: [&str; 3] = ["\"", "'", "`"];

impl Scan {
    fn new(language: &'static Language) -> Self {
        Self {
            language,
            open: 0,
            closed: 0,
            string: None,
        }
    }

    /// Whether a new line begins a statement, or may.
    fn is_plain(&self) -> bool {
        self.open == 0 && self.string.is_none()
    }

    fn read(&mut self, line: &str) {
        let quotes: &[&'static str] = if self.language.indented_blocks {
            &PYTHON_QUOTES
        } else {
            &OTHER_QUOTES
        };
        let mut rest = line;
        while let Some(character) = rest.chars().next() {
            let mut width = character.len_utf8();
            if let Some(quote) = self.string {
                if character == '\\' {
                    width += rest[width..].chars().next().map_or(0, char::len_utf8);
                } else if rest.starts_with(quote) {
                    self.string = None;
                    width = quote.len();
                } else if character == '\n' && quote.len() == 1 && quote != "`" {
                    // A string of one line that has no end: the text is faulty here.
                    self.string = None;
                }
            } else if rest.starts_with(self.language.line_comment) {
                return;
            } else if let Some(quote) = quotes.iter().find(|quote| rest.starts_with(**quote)) {
                self.string = Some(quote);
                width = quote.len();
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
