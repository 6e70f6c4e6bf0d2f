//! The part of a large document around a cursor, so that a completion costs the statements near it
//! and not the whole file.
//!
//! A part begins and ends where statements of the top level begin, so its syntax is that of the
//! whole document there. Its bounds depend on the text and the cursor alone.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::Snapshot;
use crate::syntax::{Language, OpenText};
use crate::text::{ByteOffset, Text};

/// A part of a document, as a document of its own under the same URI.
#[derive(Clone, Debug)]
struct DocumentPart {
    range: Range<usize>,
    document: Box<Snapshot>,
    /// True if nothing before the part changed since it was found to begin outside of strings that
    /// span lines.
    starts_in_code: bool,
}

/// A part of a document that is kept from version to version, for incremental parsing.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptPart {
    /// The first part of this version.
    current: OnceLock<DocumentPart>,
    /// That of an earlier version with all edits since applied.
    earlier: Option<Box<DocumentPart>>,
}

/// Maximum size in bytes of a document whose part is the whole.
const WHOLE: usize = 16 << 10;

/// Minimum number of bytes of a part before the cursor, and after it. A part's bounds move in steps
/// of this size, so that its tree can be parsed incrementally while a person types.
const REACH: usize = 4 << 10;

/// Maximum number of bytes beyond [`REACH`] in which a part's end is searched outside of strings
/// that span lines: a string may be open at the cursor.
const LONGEST_END: usize = 16 << 10;

impl Snapshot {
    /// Returns the part of the document around a cursor, and the offset at which it begins. A small
    /// document is its own part.
    pub fn near(&self, cursor: ByteOffset) -> (ByteOffset, Cow<'_, Self>) {
        if self.text.len().0 <= WHOLE {
            return (ByteOffset(0), Cow::Borrowed(self));
        }
        let range = near_range(&self.text, self.language, cursor.0, self.near.known_start());
        (ByteOffset(range.start), self.near.get(self, range))
    }

    /// Returns the beginning of a large document up to the start of a statement, which has most of
    /// its imports; `None` if the part at a cursor begins there too.
    pub fn head(&self, cursor: ByteOffset) -> Option<Cow<'_, Self>> {
        let (start, _) = self.near(cursor);
        let range = || near_range(&self.text, self.language, 0, None);
        (start.0 > 0).then(|| self.head.get(self, range()))
    }
}

impl KeptPart {
    /// Returns a part of a document, which is the part's own document.
    fn get(&self, whole: &Snapshot, range: Range<usize>) -> Cow<'_, Snapshot> {
        let new = || match &self.earlier {
            Some(part) if part.range == range => DocumentPart {
                starts_in_code: true,
                ..(**part).clone()
            },
            _ => DocumentPart::new(whole, range.clone()),
        };
        let part = self.current.get_or_init(new);
        match part.range == range {
            true => Cow::Borrowed(&part.document),
            // The kept part is that of another cursor in the same version.
            false => Cow::Owned(*DocumentPart::new(whole, range).document),
        }
    }

    /// Returns an offset known to be outside of strings that span lines.
    fn known_start(&self) -> Option<usize> {
        let part = self.current.get().or(self.earlier.as_deref());
        let part = part.filter(|part| part.starts_in_code);
        part.map(|part| part.range.start)
    }

    /// Applies a change of the whole document.
    pub(super) fn splice(&mut self, range: &Range<ByteOffset>, text: &str) {
        let part = self.current.take().map(Box::new).or(self.earlier.take());
        self.earlier = part
            .and_then(|part| part.spliced(range, text))
            .map(Box::new);
    }
}

impl DocumentPart {
    fn new(whole: &Snapshot, range: Range<usize>) -> Self {
        let text = whole
            .text
            .part(ByteOffset(range.start)..ByteOffset(range.end));
        Self {
            document: Box::new(whole.with_text(text)),
            range,
            starts_in_code: true,
        }
    }

    /// Applies a change of the whole document; `None` if it crosses a bound of the part.
    fn spliced(mut self, range: &Range<ByteOffset>, text: &str) -> Option<Self> {
        let (start, end) = (range.start.0, range.end.0);
        let moved = |offset: usize| offset - (end - start) + text.len();
        if self.range.start <= start && end <= self.range.end {
            let own = |offset| ByteOffset(offset - self.range.start);
            self.document.splice(own(start)..own(end), text);
            self.range.end = moved(self.range.end);
        } else if end <= self.range.start {
            self.range = moved(self.range.start)..moved(self.range.end);
            // The change may begin or end a string that reaches into the part.
            self.starts_in_code = false;
        } else if start < self.range.end {
            return None;
        }
        Some(self)
    }
}

/// Returns the range of a document's part around a cursor. `known` is an offset known to be outside
/// of strings that span lines.
fn near_range(
    text: &Text,
    language: Option<&Language>,
    cursor: usize,
    known: Option<usize>,
) -> Range<usize> {
    let length = text.len().0;
    let before = cursor.saturating_sub(REACH) / REACH * REACH;
    let after = (cursor + REACH).div_ceil(REACH) * REACH;
    let start = part_start(text, language, before, known);
    start..part_end(text, language, start, after.min(length))
}

/// Returns the last offset, at most `latest`, at which a statement begins; 0 if there is none.
fn part_start(
    text: &Text,
    language: Option<&Language>,
    latest: usize,
    known: Option<usize>,
) -> usize {
    let number = text.line_number(ByteOffset(latest));
    let Some(language) = language else {
        return text.line_offset(number).0;
    };
    if !language.has_flat_files {
        return 0;
    }
    let known = known.filter(|known| *known <= latest).unwrap_or(0);
    let before = line_starts(text, known, language).take_while(|line| line.offset <= latest);
    let last = before
        .filter(|line| line.begins && line.open.is_none())
        .last();
    last.map_or(known, |line| line.offset)
}

/// Start of a line.
struct LineStart {
    offset: usize,
    /// The string or comment that is open there.
    open: Option<OpenText>,
    /// True if the line looks like the start of a statement of the top level.
    begins: bool,
}

/// Returns the starts of the lines from the one that begins at `start`, outside of strings and
/// comments.
fn line_starts(text: &Text, start: usize, language: &Language) -> impl Iterator<Item = LineStart> {
    let mut offset = start;
    let mut open = None;
    let mut before: Option<Cow<'_, str>> = None;
    let lines = text.lines_from(text.line_number(ByteOffset(start)));
    lines.map(move |line| {
        let begins = |before: &Cow<'_, str>| begins_statement(before, &line, language);
        let begins = before.as_ref().is_some_and(begins);
        let start = LineStart {
            offset,
            open,
            begins,
        };
        offset += line.len();
        open = language.open_text(&line, open);
        before = Some(line);
        start
    })
}

/// Returns the first offset from `least` on at which a statement begins, or else the text's end.
fn part_end(text: &Text, language: Option<&Language>, start: usize, least: usize) -> usize {
    let length = text.len().0;
    let first = text.line_number(ByteOffset(least)) + 1;
    let Some(language) = language else {
        return text.line_offset(first).0;
    };
    if !language.has_flat_files {
        return length;
    }
    let first = text.line_offset(first).0;
    let lines = line_starts(text, start, language);
    let mut lines = lines.skip_while(|line| line.offset < first).peekable();
    // A string begun at the cursor hides the code after it until its end is typed.
    let in_string = lines.peek().is_some_and(|line| line.open.is_some());
    let mut end_in_string = None;
    for LineStart { offset, open, .. } in lines.filter(|line| line.begins) {
        if open.is_none() || end_in_string.is_some() && offset > least + LONGEST_END {
            return end_in_string.filter(|_| open.is_some()).unwrap_or(offset);
        }
        if in_string {
            end_in_string.get_or_insert(offset);
        }
    }
    end_in_string.unwrap_or(length)
}

/// True if a line begins a statement of the top level: it is not indented, and begins with a word
/// that continues neither the statement before nor its decorators.
fn begins_statement(before: &str, line: &str, language: &Language) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = line.split(|c: char| !is_word(c)).next().unwrap_or_default();
    (!word.is_empty() || line.starts_with('@'))
        && !language.begins_clause(word)
        && !before.starts_with(['@', ')', ']', '}'])
        && !before.trim_end().ends_with('\\')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cleanup::{CompletionExtent, CursorSite, clean};
    use crate::documents::{ContentChange, Documents};
    use crate::text::Encoding;

    const URI: &str = "file:///a/b.py";

    const PIECES: [&str; 8] = [
        "def f(a):\n    if a:\n        return g(a)\n    return [1, (2)]\n\n\n",
        "@cached\ndef f(a):\n    x = {'a': [a]}\n    return x\n\n\n",
        "class K(Base):\n    y = 1\n\n    def m(self):\n        for z in self.a:\n            h(z)\n\n\n",
        "x = [\n    1,\n\n    2,\n]\n\n",
        "s = '''\n\ndef not_code():\n    pass\n'''\n\n",
        "def größe():\n    \"\"\"Says it.\n\n    Twice.\n    \"\"\"\n    return 'é'\n\n\n",
        "# A comment.\nimport b\n\n\n",
        "async def w():\n    await v()\n\n\n",
    ];

    fn file() -> impl Strategy<Value = String> {
        prop::collection::vec((prop::sample::select(PIECES.to_vec()), 1..40usize), 1..60)
            .prop_map(|pieces| pieces.iter().map(|(piece, n)| piece.repeat(*n)).collect())
    }

    fn naive_starts(text: &str) -> Vec<usize> {
        let mut starts = vec![0];
        let mut before = "";
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let is_odd = |mark| text[..at].matches(mark).count() % 2 == 1;
            let python = Language::by_id("python").expect("it is known");
            let begins = begins_statement(before, line, python);
            if begins && !is_odd("'''") && !is_odd("\"\"\"") {
                starts.push(at);
            }
            before = line;
            at += line.len();
        }
        starts
    }

    #[test]
    fn statements_begin_at_the_first_column() {
        let python = Language::by_id("python").expect("it is known");
        let begins = |before, line| begins_statement(before, line, python);
        assert!(begins("\n", "def f():\n") && begins("x = 1\n", "y = 2\n"));
        assert!(begins("    return 1\n", "@cached\n"));
        assert!(!begins("@cached\n", "def f():\n") && !begins(")\n", "def f():\n"));
        assert!(!begins("\n", "    x = 1\n") && !begins("\n", "\n") && !begins("\n", "]\n"));
        assert!(!begins("    pass\n", "else:\n") && !begins("x = \\\n", "y\n"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_part_begins_at_the_last_statement(text in file(), share in 0.0..1.0_f64) {
            let cursor = text.floor_char_boundary((text.len() as f64 * share) as usize);
            let document = Snapshot::new(URI, "python", 1, &text);
            let (start, part) = document.near(ByteOffset(cursor));
            let part = part.text.to_string();
            prop_assert_eq!(&text[start.0..start.0 + part.len()], part.as_str());
            if text.len() <= WHOLE {
                prop_assert_eq!(part, text);
            } else {
                let latest = cursor.saturating_sub(REACH) / REACH * REACH;
                let expected = naive_starts(&text).into_iter().rfind(|start| *start <= latest);
                prop_assert_eq!(Some(start.0), expected);
                let end = start.0 + part.len();
                prop_assert!(end == text.len() || end >= cursor + REACH);
            }
        }

        #[test]
        fn edited_parts_equal_fresh_ones(
            text in file(),
            edits in prop::collection::vec((0.0..1.0_f64, 0usize..30, 0usize..8, prop::bool::ANY), 1..12),
        ) {
            let mut documents = Documents::default();
            documents.open(URI, "python", 1, &text);
            let mut here = text.len() / 2;
            for (share, removed, piece, stays) in edits {
                let whole = documents.snapshot(URI).expect("it is open").text.clone();
                if !stays {
                    here = (whole.len().0 as f64 * share) as usize;
                }
                let start = whole.position(ByteOffset(here), Encoding::Utf8);
                let end = whole.position(ByteOffset(here + removed), Encoding::Utf8);
                let edit = ContentChange {
                    range: Some(start..end),
                    text: PIECES[piece][..PIECES[piece].floor_char_boundary(removed / 3)].to_owned(),
                };
                documents.change(URI, 2, &[edit], Encoding::Utf8);
                let edited = documents.snapshot(URI).expect("it is open");
                let fresh = Snapshot::new(URI, "python", 2, &edited.text.to_string());
                let (start, part) = edited.near(ByteOffset(here));
                let (fresh_start, fresh_part) = fresh.near(ByteOffset(here));
                prop_assert_eq!(start, fresh_start);
                prop_assert_eq!(part.text.to_string(), fresh_part.text.to_string());
                let sexp = |part: &Snapshot| part.tree().expect("it is Python").root_node().to_sexp();
                if !sexp(&fresh_part).contains("ERROR") {
                    prop_assert_eq!(sexp(&part), sexp(&fresh_part));
                }
                let head = |document: &Snapshot| {
                    let head = document.head(ByteOffset(here));
                    head.map(|head| head.text.to_string())
                };
                prop_assert_eq!(head(&edited), head(&fresh));
            }
        }

        #[test]
        fn completions_are_cleaned_up_as_in_the_whole_file(
            text in file(),
            share in 0.0..1.0_f64,
            completion in prop::sample::select(vec![
                "return a\n\n\ndef other():\n    pass\n",
                "a, b)\nx = 1\n",
                "total = [1\n",
                "'''\n",
                "    return g(a)\n    return [1, (2)]\n\n\n",
                "x = {'a': 1}\n    y = 2\n}\n",
            ]),
        ) {
            let at = text.floor_char_boundary((text.len() as f64 * share) as usize);
            let cursor = text[..at].rfind('\n').map_or(at, |end| end + 1);
            let document = Snapshot::new(URI, "python", 1, &text);
            let (start, part) = document.near(ByteOffset(cursor));
            let (near, own) = (part.text.to_string(), cursor - start.0);
            let site = |prefix, suffix, tree| CursorSite {
                prefix,
                suffix,
                path: Some("a/b.py"),
                language: document.language,
                tree,
                extent: CompletionExtent::Block,
                chat: false,
            };
            let whole = clean(completion, &site(&text[..cursor], &text[cursor..], document.tree()));
            let of_part = clean(completion, &site(&near[..own], &near[own..], part.tree()));
            prop_assert_eq!(of_part, whole);
        }
    }

    #[test]
    fn marks_in_comments_and_lines_of_strings_divide_no_class() {
        let method =
            "  m() {\n    // As `m of old.\n    fail(`Expecting\none of ${this.all}`);\n  }\n\n";
        let class = format!("class A {{\n{}}}\n", method.repeat(600));
        let text = format!("const a = 1;\n\n{class}\n{class}");
        for at in [text.len() / 3, text.len() * 2 / 3] {
            let document = Snapshot::new("file:///a/a.ts", "typescript", 1, &text);
            let (start, part) = document.near(ByteOffset(at));
            let part = part.text.to_string();
            assert!(text[start.0..].starts_with("class A {\n"), "{}", start.0);
            assert!(part.ends_with("\n}\n") || part.ends_with("\n}\n\n"), "{at}");
        }
    }

    #[test]
    fn a_file_of_one_class_is_whole() {
        let text = format!("class A {{\n\n{}}}\n", "  int b;\n\n".repeat(3000));
        let document = Snapshot::new("file:///a/A.java", "java", 1, &text);
        let (start, part) = document.near(ByteOffset(text.len() / 2));
        assert_eq!((start.0, part.text.len().0), (0, text.len()));
    }
}
