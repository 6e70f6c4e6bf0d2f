//! Strings and comments that span lines, found without a parser.

use super::{Language, Quote};

/// A string or comment that is open at the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenText {
    /// A string literal that may span lines.
    String(&'static Quote),
    /// A comment between `/*` and `*/`.
    Comment,
}

impl OpenText {
    /// The mark that ends the string or comment.
    pub fn end_mark(self) -> &'static str {
        match self {
            Self::String(quote) => quote.mark,
            Self::Comment => COMMENT[1],
        }
    }
}

/// Start and end of a comment that may span lines, in languages whose line comments begin with two
/// slashes.
const COMMENT: [&str; 2] = ["/*", "*/"];

impl Language {
    /// Returns the string or comment that is open at the end of a text. `open` is the one that is
    /// open at its start, which is a line's. A regular expression counts as code: a quote in it may
    /// hide the rest of its line.
    pub fn open_text(&self, text: &str, open: Option<OpenText>) -> Option<OpenText> {
        let lines = text.split_inclusive('\n');
        lines.fold(open, |open, line| self.open_after_line(line, open))
    }

    fn open_after_line(&self, line: &str, mut open: Option<OpenText>) -> Option<OpenText> {
        let has_comments = self.line_comment == "//";
        let spans = |quote: &&Quote| quote.spans_lines && line.contains(quote.mark);
        let may_open = self.quotes.iter().any(|quote| spans(&quote))
            || has_comments && line.contains(COMMENT[0]);
        // Most lines have no such mark, so they need no scan.
        if open.is_none() && !may_open {
            return None;
        }
        let mut rest = line;
        // The string within the line that is open.
        let mut short: Option<&Quote> = None;
        let mut before = ' ';
        while let Some(first) = rest.chars().next() {
            let mut length = first.len_utf8();
            let quote = match open {
                Some(OpenText::String(quote)) => Some(quote),
                Some(OpenText::Comment) => None,
                None => short,
            };
            if open == Some(OpenText::Comment) {
                if rest.starts_with(COMMENT[1]) {
                    length = COMMENT[1].len();
                    open = None;
                }
            } else if let Some(quote) = quote {
                if first == '\\' && !quote.is_raw {
                    let escaped = rest[length..].chars().next();
                    length += escaped.map_or(0, char::len_utf8);
                } else if rest.starts_with(quote.mark) {
                    length = quote.mark.len();
                    (open, short) = (None, None);
                }
            } else if rest.starts_with(self.line_comment) {
                // Nothing is open here, so the comment takes the rest of the line.
                return None;
            } else if has_comments
                && rest.starts_with(COMMENT[0])
                && (before.is_whitespace() || "({[,;=".contains(before))
            {
                // After other characters, it is more likely a part of a regular expression or a
                // glob.
                length = COMMENT[0].len();
                open = Some(OpenText::Comment);
            } else if let Some(quote) = self.quotes.iter().find(|it| rest.starts_with(it.mark)) {
                length = quote.mark.len();
                match quote.spans_lines {
                    true => open = Some(OpenText::String(quote)),
                    false => short = Some(quote),
                }
            }
            before = first;
            rest = &rest[length..];
        }
        // A string that can't span lines ends here even without its quote.
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strings_and_comments_that_span_lines_stay_open() {
        for (id, text, open) in [
            ("python", "a = \"\"\"b\n", Some("\"\"\"")),
            ("python", "a = \"\"\"b\n'''\"\"\"\n", None),
            ("python", "# it's \"\"\"\n", None),
            ("python", "a = '\"\"\"'\n", None),
            ("python", "a = '''\\'''\n", Some("'''")),
            ("python", "a = 'b\nc = 1\n", None),
            ("typescript", "// a ` b\nf();\n", None),
            ("typescript", "/**\n * a ` b\n */\nf();\n", None),
            ("typescript", "/**\n * a ` b\n", Some("/*")),
            ("typescript", "a.replace(/\\/*$/, '');\nb(`\n", Some("`")),
            ("typescript", "a(`${b(`c`)}\n", Some("`")),
            ("typescript", "a('`');\n", None),
            ("typescript", "a(`//\n`);\n", None),
            ("go", "a := `C:\\`\n", None),
            ("java", "char c = '\"'; // \"\"\"\n", None),
            ("java", "String s = \"\"\"\n", Some("\"\"\"")),
        ] {
            let language = Language::by_id(id).expect("it is in the table");
            let found = match language.open_text(text, None) {
                Some(OpenText::String(quote)) => Some(quote.mark),
                Some(OpenText::Comment) => Some("/*"),
                None => None,
            };
            assert_eq!(found, open, "{id}: {text}");
        }
    }
}
