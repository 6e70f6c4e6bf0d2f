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
    /// open at its start, which is a line's.
    pub fn open_text(&self, text: &str, open: Option<OpenText>) -> Option<OpenText> {
        let lines = text.split_inclusive('\n');
        lines.fold(open, |open, line| self.open_after_line(line, open))
    }

    /// Returns the quote of the string that is open at the end of a line, if it begins on the line.
    /// A quote in a string of another is text, as in `"'"`.
    pub fn open_quote(&self, line: &str) -> Option<&'static Quote> {
        match self.scan_line(line, None) {
            (Some(OpenText::String(quote)), _) => Some(quote),
            (_, short) => short,
        }
    }

    fn open_after_line(&self, line: &str, open: Option<OpenText>) -> Option<OpenText> {
        let has_comments = self.line_comment == "//";
        let spans = |quote: &&Quote| quote.spans_lines && line.contains(quote.start);
        let may_open = self.quotes.iter().any(|quote| spans(&quote))
            || has_comments && line.contains(COMMENT[0]);
        // Most lines have no such mark, so they need no scan.
        if open.is_none() && !may_open {
            return None;
        }
        self.scan_line(line, open).0
    }

    /// Returns what is open at the end of a line: a string or comment that may span lines, and the
    /// quote of a string that may not.
    fn scan_line(
        &self,
        line: &str,
        mut open: Option<OpenText>,
    ) -> (Option<OpenText>, Option<&'static Quote>) {
        let has_comments = self.line_comment == "//";
        let mut rest = line;
        // The string within the line that is open.
        let mut short: Option<&'static Quote> = None;
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
                    // In a verbatim string of C#, a quote is doubled.
                    match quote.start != quote.mark && rest[length..].starts_with(quote.mark) {
                        true => length *= 2,
                        false => (open, short) = (None, None),
                    }
                }
            } else if rest.starts_with(self.line_comment) {
                // Nothing is open here, so the comment takes the rest of the line.
                return (None, None);
            } else if let Some(end) = self.regular_expression(line, rest) {
                length = end;
            } else if has_comments
                && rest.starts_with(COMMENT[0])
                && (before.is_whitespace() || "({[,;=".contains(before))
            {
                // After other characters, it is more likely a part of a regular expression or a
                // glob.
                length = COMMENT[0].len();
                open = Some(OpenText::Comment);
            } else if let Some(quote) = self.quotes.iter().find(|it| rest.starts_with(it.start)) {
                length = quote.start.len();
                match quote.spans_lines {
                    true => open = Some(OpenText::String(quote)),
                    false => short = Some(quote),
                }
            }
            before = first;
            rest = &rest[length..];
        }
        (open, short)
    }

    /// Returns the length of the regular expression that the rest of a line begins with, in
    /// languages that have such literals.
    fn regular_expression(&self, line: &str, rest: &str) -> Option<usize> {
        if !self.has_regular_expressions || !rest.starts_with('/') {
            return None;
        }
        let before = line[..line.len() - rest.len()].trim_end();
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next();
        // After a value, the slash divides.
        let begins_value = before.is_empty()
            || before.ends_with(['(', ',', '=', ':', '[', '!', '&', '|', '?', '{', ';', '>'])
            || ["return", "case", "typeof", "in", "of"].contains(&word?);
        if !begins_value {
            return None;
        }
        let mut in_class = false;
        let mut letters = rest.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => {
                    letters.next();
                }
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => return (at > 1).then_some(at + 1),
                // A comment, or the end of a tag.
                '*' | '>' if at == 1 => return None,
                _ => {}
            }
        }
        None
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
            ("typescript", "const r = /`/;\nf();\n", None),
            ("typescript", "if (/[/`]\\//.test(a)) f();\n", None),
            ("typescript", "const r = a / b; // `\nf(`\n", Some("`")),
            ("typescript", "const half = a / `b\n", Some("`")),
            ("go", "a := `C:\\`\n", None),
            ("java", "char c = '\"'; // \"\"\"\n", None),
            ("java", "String s = \"\"\"\n", Some("\"\"\"")),
            ("csharp", "var s = @\"a \"\"b\"\"\n", Some("\"")),
            ("csharp", "var s = $@\"a\nb\\\";\n", None),
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
