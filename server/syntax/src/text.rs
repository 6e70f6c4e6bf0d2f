//! Positions, encodings, lines and edits: the one place where offsets and line numbers are
//! converted and lines are counted.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use ropey::Rope;
use serde::{Deserialize, Serialize};

/// A document's text. Cloning is cheap: the rope is shared until an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(Rope);

/// Converts between byte offsets and line numbers of a text that does not change.
///
/// LF, CRLF and a lone CR end a line, as for [`Position`]. A text that ends with a line break has
/// an empty last line. Lines are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    /// The bytes of each line without its line break; never empty.
    lines: Vec<Range<usize>>,
}

/// An offset into a text in bytes of its UTF-8 form.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ByteOffset(pub usize);

/// A zero-based line and a zero-based column in code units of some [`Encoding`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Zero-based line. Only CR, LF and CRLF end a line.
    pub line: u32,
    /// Zero-based column, in code units of the negotiated encoding.
    pub character: u32,
}

/// The unit in which a peer counts columns.
/// <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#positionEncodingKind>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units: the protocol's default, which every client understands.
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl Text {
    /// Creates a text with these contents.
    pub fn new(contents: &str) -> Self {
        Self(Rope::from_str(contents))
    }

    /// Length in bytes, which is also the offset just past the end.
    pub fn len(&self) -> ByteOffset {
        ByteOffset(self.0.len_bytes())
    }

    /// True if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.len_bytes() == 0
    }

    /// Returns the text between two offsets. An offset past the end, or inside a character, is
    /// moved back to the nearest boundary. An inverted range is empty.
    pub fn slice(&self, range: Range<ByteOffset>) -> String {
        let start = self.char_index(range.start);
        let end = self.char_index(range.end);
        if start >= end {
            return String::new();
        }
        self.0.slice(start..end).to_string()
    }

    /// Returns the text between two offsets, which shares its contents with this one. Offsets are
    /// moved as by [`Text::slice`].
    #[must_use]
    pub fn part(&self, range: Range<ByteOffset>) -> Self {
        let start = self.char_index(range.start);
        let end = self.char_index(range.end).max(start);
        Self(Rope::from(self.0.slice(start..end)))
    }

    /// Replaces the text between two offsets, which are moved as by [`Text::slice`].
    pub fn splice(&mut self, range: Range<ByteOffset>, new_text: &str) {
        let start = self.char_index(range.start);
        let end = self.char_index(range.end).max(start);
        self.0.remove(start..end);
        self.0.insert(start, new_text);
    }

    /// Returns the number of an offset's line.
    pub fn line_number(&self, offset: ByteOffset) -> usize {
        self.0.byte_to_line(offset.0.min(self.0.len_bytes()))
    }

    /// Returns the offset at which a line begins; past the last line, the text's end.
    pub fn line_offset(&self, number: usize) -> ByteOffset {
        ByteOffset(self.0.line_to_byte(number.min(self.0.len_lines())))
    }

    /// Returns a line with its line break; empty past the last line.
    pub fn line(&self, number: usize) -> Cow<'_, str> {
        self.0.get_line(number).map(Cow::from).unwrap_or_default()
    }

    /// Returns the lines from a number on, each with its line break.
    pub fn lines_from(&self, number: usize) -> impl Iterator<Item = Cow<'_, str>> {
        let number = number.min(self.0.len_lines());
        self.0.lines_at(number).map(Cow::from)
    }

    /// Bytes from an offset on, at least one unless it is the end.
    pub fn bytes_from(&self, offset: ByteOffset) -> &[u8] {
        if offset.0 >= self.0.len_bytes() {
            return &[];
        }
        let (chunk, start, ..) = self.0.chunk_at_byte(offset.0);
        &chunk.as_bytes()[offset.0 - start..]
    }

    /// True if the text has a carriage return.
    pub fn has_carriage_return(&self) -> bool {
        let mut chunks = self.0.chunks();
        chunks.any(|chunk| memchr::memchr(b'\r', chunk.as_bytes()).is_some())
    }

    /// Number of characters before an offset.
    pub fn characters_before(&self, offset: ByteOffset) -> usize {
        self.char_index(offset)
    }

    /// The parts of an offset's line before and after the offset, without the line break.
    pub fn line_around(&self, offset: ByteOffset) -> (String, String) {
        let index = self.char_index(offset);
        let number = self.0.char_to_line(index);
        let line = self.0.line(number).to_string();
        let line = line.trim_end_matches(['\n', '\r']);
        let column = self.0.char_to_byte(index) - self.0.line_to_byte(number);
        let (before, after) = line.split_at(column.min(line.len()));
        (before.to_owned(), after.to_owned())
    }

    /// True if a text is at an offset.
    pub fn has_at(&self, offset: ByteOffset, text: &str) -> bool {
        let end = offset.0.saturating_add(text.len());
        if end > self.0.len_bytes() {
            return false;
        }
        // The text may cross the boundaries of the rope's chunks.
        let (chunks, start, ..) = self.0.chunks_at_byte(offset.0);
        let mut skipped = offset.0 - start;
        let mut rest = text.as_bytes();
        for chunk in chunks {
            let chunk = &chunk.as_bytes()[skipped..];
            skipped = 0;
            let same = chunk.len().min(rest.len());
            if chunk[..same] != rest[..same] {
                return false;
            }
            rest = &rest[same..];
            if rest.is_empty() {
                break;
            }
        }
        rest.is_empty()
    }

    /// The offset of a position. As the protocol asks, a line past the end means the text's end,
    /// a column past a line's end means that line's end (before its line break), and a column
    /// inside a character means that character's start.
    pub fn offset(&self, position: Position, encoding: Encoding) -> ByteOffset {
        let line = position.line as usize;
        if line >= self.0.len_lines() {
            return self.len();
        }
        let start = self.0.line_to_char(line);
        let contents = self.0.line(line);
        let mut offset = self.0.char_to_byte(start);
        let mut column = 0;
        for character in contents.chars() {
            // The line includes its line break, inside of which the protocol has no position.
            if matches!(character, '\n' | '\r') {
                break;
            }
            column += encoding.units(character);
            if column > position.character as usize {
                break;
            }
            offset += character.len_utf8();
        }
        ByteOffset(offset)
    }

    /// Converts an offset to a position. An offset past the end is the end.
    pub fn position(&self, offset: ByteOffset, encoding: Encoding) -> Position {
        let index = self.char_index(offset);
        let line = self.0.char_to_line(index);
        let start = self.0.line_to_char(line);
        let character = self
            .0
            .slice(start..index)
            .chars()
            .map(|character| encoding.units(character))
            .sum::<usize>();
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            character: u32::try_from(character).unwrap_or(u32::MAX),
        }
    }

    /// Replaces a range with new text, as one content change of `textDocument/didChange` does. The
    /// ends of an inverted range are swapped.
    pub fn replace(&mut self, range: Range<Position>, encoding: Encoding, new_text: &str) {
        let a = self.offset(range.start, encoding);
        let b = self.offset(range.end, encoding);
        self.splice(a.min(b)..a.max(b), new_text);
    }

    /// Returns the rope's character index of a byte offset, moved back to a character's start.
    fn char_index(&self, offset: ByteOffset) -> usize {
        self.0.byte_to_char(offset.0.min(self.0.len_bytes()))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .chunks()
            .try_for_each(|chunk| formatter.write_str(chunk))
    }
}

impl LineIndex {
    /// Finds the lines of a text.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut lines = Vec::new();
        let (mut start, mut next) = (0, 0);
        while let Some(byte) = bytes.get(next) {
            let end = next;
            next += 1;
            match byte {
                b'\n' => {}
                b'\r' => next += usize::from(bytes.get(next) == Some(&b'\n')),
                _ => continue,
            }
            lines.push(start..end);
            start = next;
        }
        lines.push(start..bytes.len());
        Self { lines }
    }

    /// Number of lines, at least 1: one more than the number of line breaks.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Returns the line of a byte offset. A line break belongs to the line it ends. An offset past
    /// the text's end is on the last line.
    pub fn line(&self, offset: usize) -> usize {
        // The first line starts at 0, so at least one line starts at or before any offset.
        self.lines.partition_point(|line| line.start <= offset) - 1
    }

    /// Returns the line number of a byte offset, counted from 1 as people and test tools count.
    pub fn number(&self, offset: usize) -> usize {
        self.line(offset) + 1
    }

    /// Returns the bytes of a line without its line break; `None` past the last line.
    pub fn range(&self, line: usize) -> Option<Range<usize>> {
        self.lines.get(line).cloned()
    }

    /// Returns the lines that hold at least one byte of a range; none for an empty range.
    pub fn lines(&self, bytes: Range<usize>) -> Range<usize> {
        let first = self.line(bytes.start);
        match bytes.end.checked_sub(1) {
            Some(last) if last >= bytes.start => first..self.line(last) + 1,
            _ => first..first,
        }
    }
}

/// Returns the offset at which the line of a byte offset begins, as [`LineIndex`] defines lines.
/// Reads only that line.
pub fn line_start(text: &str, offset: usize) -> usize {
    let bytes = text.as_bytes();
    // Between CR and LF there is no line: the LF belongs to the line that the CR ends.
    let inside_crlf = offset > 0 && bytes.get(offset - 1..=offset) == Some(b"\r\n");
    let end = offset.min(bytes.len()) - usize::from(inside_crlf);
    let last = bytes[..end]
        .iter()
        .rposition(|byte| matches!(byte, b'\n' | b'\r'));
    last.map_or(0, |at| at + 1)
}

impl Encoding {
    /// Number of code units of a character.
    fn units(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }

    /// Returns the protocol's name of the encoding.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    /// Returns the encoding with this protocol name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Utf8, Self::Utf16, Self::Utf32]
            .into_iter()
            .find(|encoding| encoding.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

    /// Splits a text into lines without their ends, each with its start offset: a naive reference
    /// for the rope.
    fn reference_lines(text: &str) -> Vec<(usize, &str)> {
        let mut lines = Vec::new();
        let (mut start, mut index) = (0, 0);
        let bytes = text.as_bytes();
        while index < bytes.len() {
            let width = match bytes[index] {
                b'\r' if bytes.get(index + 1) == Some(&b'\n') => 2,
                b'\r' | b'\n' => 1,
                _ => {
                    index += 1;
                    continue;
                }
            };
            lines.push((start, &text[start..index]));
            index += width;
            start = index;
        }
        lines.push((start, &text[start..]));
        lines
    }

    fn reference_offset(text: &str, position: Position, encoding: Encoding) -> usize {
        let lines = reference_lines(text);
        let Some((start, line)) = lines.get(position.line as usize) else {
            return text.len();
        };
        let mut column = 0;
        for (index, character) in line.char_indices() {
            column += match encoding {
                Encoding::Utf8 => character.len_utf8(),
                Encoding::Utf16 => character.len_utf16(),
                Encoding::Utf32 => 1,
            };
            if column > position.character as usize {
                return start + index;
            }
        }
        start + line.len()
    }

    #[test]
    fn line_index_counts_lf_crlf_and_lone_cr() {
        let index = LineIndex::new("a\r\nb\rc\n");
        assert_eq!(index.count(), 4);
        let lines: Vec<_> = (0..8).map(|offset| index.line(offset)).collect();
        assert_eq!(lines, [0, 0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(index.number(5), 3);
        assert_eq!(index.line(99), 3);
        assert_eq!(index.range(0), Some(0..1));
        assert_eq!(index.range(1), Some(3..4));
        assert_eq!(index.range(3), Some(7..7));
        assert_eq!(index.range(4), None);
        assert_eq!(index.lines(1..4), 0..2);
        assert_eq!(index.lines(3..5), 1..2);
        assert_eq!(index.lines(5..7), 2..3);
        assert_eq!(index.lines(5..5), 2..2);
        assert_eq!(index.lines(0..0), 0..0);
        assert_eq!(LineIndex::new("").count(), 1);
    }

    #[test]
    fn offset_clamps_as_the_protocol_requires() {
        let text = Text::new("a😀b\r\nc\u{2028}d");
        let at = |line, character| Position { line, character };
        assert_eq!(text.offset(at(0, 2), Encoding::Utf16), ByteOffset(1));
        assert_eq!(text.offset(at(0, 3), Encoding::Utf16), ByteOffset(5));
        assert_eq!(text.offset(at(0, 99), Encoding::Utf16), ByteOffset(6));
        assert_eq!(text.offset(at(1, 3), Encoding::Utf16), ByteOffset(13));
        assert_eq!(text.offset(at(9, 0), Encoding::Utf16), text.len());
        assert_eq!(text.position(ByteOffset(5), Encoding::Utf16), at(0, 3));
        assert_eq!(text.position(ByteOffset(5), Encoding::Utf8), at(0, 5));
        assert_eq!(text.position(ByteOffset(5), Encoding::Utf32), at(0, 2));
    }

    fn piece() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec![
                "a",
                "Z9",
                "é",
                "e\u{301}",
                "😀",
                "漢",
                "👩\u{200d}👧",
                "\n",
                "\r\n",
                "\r",
                "\u{2028}",
                "\t",
                "",
            ]),
            0..8,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// Runs each of ten thousand edit sequences in all three encodings.
        #[test]
        fn edits_equal_those_of_a_plain_string(
            start in piece(),
            edits in prop::collection::vec((0u32..6, 0u32..9, 0u32..6, 0u32..9, piece()), 1..12),
        ) {
            for encoding in ENCODINGS {
                let mut plain = start.clone();
                let mut text = Text::new(&start);
                for (line_a, column_a, line_b, column_b, new_text) in &edits {
                    let a = Position { line: *line_a, character: *column_a };
                    let b = Position { line: *line_b, character: *column_b };
                    let (from, to) = (a.min(b), a.max(b));
                    let start = reference_offset(&plain, from, encoding);
                    let end = reference_offset(&plain, to, encoding);
                    plain.replace_range(start.min(end)..start.max(end), new_text);
                    text.replace(from..to, encoding, new_text);
                    prop_assert_eq!(text.to_string(), plain.clone());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn line_index_equals_a_naive_definition(contents in piece(), from in 0usize..30, to in 0usize..30) {
            let index = LineIndex::new(&contents);
            let lines = reference_lines(&contents);
            prop_assert_eq!(index.count(), lines.len());
            for (line, (start, text)) in lines.iter().enumerate() {
                prop_assert_eq!(index.range(line), Some(*start..start + text.len()));
            }
            let rope = Text::new(&contents);
            let naive = |offset: usize| {
                lines.iter().filter(|(start, _)| *start <= offset).count() - 1
            };
            for offset in 0..contents.len() + 2 {
                prop_assert_eq!(index.line(offset), naive(offset));
                prop_assert_eq!(line_start(&contents, offset), lines[naive(offset)].0);
                let position = rope.position(ByteOffset(offset), Encoding::Utf8);
                prop_assert_eq!(index.line(offset.min(contents.len())), position.line as usize);
            }
            let touched: std::collections::BTreeSet<_> = (from..to).map(naive).collect();
            prop_assert_eq!(index.lines(from..to).collect::<std::collections::BTreeSet<_>>(), touched);
        }

        #[test]
        fn a_text_is_where_its_bytes_are(
            contents in piece(),
            repeated in 1usize..400,
            text in piece(),
            at in 0usize..3000,
        ) {
            let contents = contents.repeat(repeated);
            let rope = Text::new(&contents);
            let bytes = contents.as_bytes().get(at..at + text.len());
            prop_assert_eq!(rope.has_at(ByteOffset(at), &text), bytes == Some(text.as_bytes()));
            let offset = ByteOffset(at);
            let index = contents.floor_char_boundary(at.min(contents.len()));
            let before = contents[..index].rsplit(['\n', '\r']).next().unwrap_or_default();
            let after = contents[index..].split(['\n', '\r']).next().unwrap_or_default();
            // Between CR and LF there is no line.
            if !(contents[..index].ends_with('\r') && contents[index..].starts_with('\n')) {
                prop_assert_eq!(rope.line_around(offset), (before.to_owned(), after.to_owned()));
            }
            prop_assert_eq!(rope.characters_before(offset), contents[..index].chars().count());
            let (head, tail) = contents.split_at(index);
            let parts = [ByteOffset(0)..offset, offset..rope.len()].map(|range| rope.part(range));
            prop_assert_eq!(parts.map(|part| part.to_string()), [head.to_owned(), tail.to_owned()]);
            let mut spliced = rope.clone();
            spliced.splice(offset..rope.len(), &text);
            prop_assert_eq!(spliced.to_string(), [head, text.as_str()].concat());
            let number = rope.line_number(offset);
            let (start, line) = reference_lines(&contents)[number];
            prop_assert_eq!(rope.line_offset(number).0, start);
            let whole = rope.line(number).into_owned();
            prop_assert_eq!(whole.trim_end_matches(['\n', '\r']), line);
            prop_assert!(start <= index && (index <= start + line.len() + 2));
            prop_assert_eq!(rope.has_carriage_return(), contents.contains('\r'));
            let at = at.min(contents.len());
            let rest = String::from_utf8_lossy(&contents.as_bytes()[at..]);
            if contents.is_char_boundary(at) {
                prop_assert!(rope.has_at(ByteOffset(at), &rest));
            }
        }

        #[test]
        fn a_position_goes_there_and_back(
            contents in piece(),
            encoding in prop::sample::select(ENCODINGS.to_vec()),
        ) {
            let text = Text::new(&contents);
            for (offset, _) in contents.char_indices() {
                let position = text.position(ByteOffset(offset), encoding);
                let back = text.offset(position, encoding);
                // Between CR and LF there is no position of its own: it means the line's end.
                let inside_crlf = offset > 0 && &contents.as_bytes()[offset - 1..=offset] == b"\r\n";
                prop_assert_eq!(back, ByteOffset(offset - usize::from(inside_crlf)));
            }
        }
    }
}
