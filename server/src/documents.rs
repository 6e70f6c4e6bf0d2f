//! Open buffers and their snapshots.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tree_sitter::{InputEdit, Point, Tree};

use self::near::KeptPart;
use self::notebook::Notebooks;
use crate::syntax::Language;
use crate::text::{ByteOffset, Encoding, Position, Text};

mod near;
mod notebook;

pub use notebook::ModelView;

/// The buffers an editor has open, by URI. Callers synchronize access.
#[derive(Debug, Default)]
pub struct Documents {
    open: HashMap<String, Arc<Snapshot>>,
    notebooks: Notebooks,
}

/// A document at one version. Immutable, so that a request can keep it across awaits while edits
/// continue.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its URI in the editor.
    pub uri: String,
    /// Its file, if the URI names one; for a notebook's cell, the notebook's file.
    pub path: Option<PathBuf>,
    /// The protocol identifier of its language, as the client names it.
    pub language_id: String,
    /// Its language, if supported.
    pub language: Option<&'static Language>,
    /// The editor's version number, which grows with each edit.
    pub version: i32,
    /// Its contents.
    pub text: Text,
    syntax: Syntax,
    /// The part of a large document around the cursor.
    near: KeptPart,
    /// The beginning of a large document.
    head: KeptPart,
}

/// A document's syntax tree, parsed on first use.
#[derive(Clone, Debug, Default)]
struct Syntax {
    tree: OnceLock<Option<Tree>>,
    /// The tree of an earlier version with all edits since applied, for incremental parsing.
    earlier: Option<Tree>,
}

/// One content change of `textDocument/didChange`.
#[derive(Clone, Debug)]
pub struct ContentChange {
    /// The replaced range; `None` means the whole document.
    pub range: Option<Range<Position>>,
    /// The new text.
    pub text: String,
}

/// The effect of one edit on a text, reduced to the part that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChange {
    /// Its start.
    pub start: ByteOffset,
    /// The text before.
    pub removed: String,
    /// The text after.
    pub inserted: String,
}

impl TextChange {
    /// Creates the change that replaces one text by another at an offset.
    pub fn between(start: ByteOffset, before: &str, after: &str) -> Self {
        let alike = before
            .chars()
            .zip(after.chars())
            .take_while(|(old, new)| old == new);
        let head: usize = alike.map(|(same, _)| same.len_utf8()).sum();
        // The common end is searched behind the common start, so that the two never overlap.
        let (before, after) = (&before[head..], &after[head..]);
        let alike = before.chars().rev().zip(after.chars().rev());
        let tail: usize = alike
            .take_while(|(old, new)| old == new)
            .map(|(same, _)| same.len_utf8())
            .sum();
        Self {
            start: ByteOffset(start.0 + head),
            removed: before[..before.len() - tail].to_owned(),
            inserted: after[..after.len() - tail].to_owned(),
        }
    }
}

impl Snapshot {
    /// Creates a document with these contents.
    pub fn new(uri: &str, language_id: &str, version: i32, contents: &str) -> Self {
        let path = file_path(uri);
        let language =
            Language::by_id(language_id).or_else(|| path.as_deref().and_then(Language::for_path));
        Self {
            uri: uri.to_owned(),
            path,
            language_id: language_id.to_owned(),
            language,
            version,
            text: Text::new(contents),
            syntax: Syntax::default(),
            near: KeptPart::default(),
            head: KeptPart::default(),
        }
    }

    /// The document's syntax tree; `None` if its language is not supported or it contains carriage
    /// returns, which users of the trees do not handle.
    pub fn tree(&self) -> Option<&Tree> {
        let parsed = self.syntax.tree.get_or_init(|| {
            let language = self.language?;
            if self.text.has_carriage_return() {
                return None;
            }
            Some(language.parse_text(&self.text, self.syntax.earlier.as_ref()))
        });
        parsed.as_ref()
    }

    /// Returns the document with a range replaced by a text, and the end of that text. Editors show
    /// this document while an item of a menu is selected.
    #[must_use]
    pub fn with_replaced(&self, range: Range<ByteOffset>, text: &str) -> (Self, ByteOffset) {
        let end = ByteOffset(range.start.0 + text.len());
        let mut document = self.clone();
        document.splice(range, text);
        (document, end)
    }

    /// Returns the document with another text.
    fn with_text(&self, text: Text) -> Self {
        Self {
            text,
            syntax: Syntax::default(),
            near: KeptPart::default(),
            head: KeptPart::default(),
            uri: self.uri.clone(),
            path: self.path.clone(),
            language_id: self.language_id.clone(),
            ..*self
        }
    }

    fn apply(&mut self, edit: &ContentChange, encoding: Encoding) -> TextChange {
        let Some(range) = &edit.range else {
            let before = self.text.to_string();
            *self = self.with_text(Text::new(&edit.text));
            return TextChange::between(ByteOffset(0), &before, &edit.text);
        };
        let (a, b) = (
            // A client may send the ends of a range in the wrong order.
            self.text.offset(range.start, encoding),
            self.text.offset(range.end, encoding),
        );
        let (start, end) = (a.min(b), a.max(b));
        let removed = self.text.slice(start..end);
        self.splice(start..end, &edit.text);
        TextChange::between(start, &removed, &edit.text)
    }

    /// Replaces the text between two offsets.
    fn splice(&mut self, range: Range<ByteOffset>, text: &str) {
        self.near.splice(&range, text);
        self.head.splice(&range, text);
        // A tree that was never parsed since the last edit leaves the earlier one, edited further.
        let older = self.syntax.tree.take().flatten();
        let older = older.or_else(|| self.syntax.earlier.take());
        let point = |text: &Text, offset: ByteOffset| {
            let position = text.position(offset, Encoding::Utf8);
            Point::new(position.line as usize, position.character as usize)
        };
        let Range { start, end } = range;
        let (start_position, old_end_position) = (point(&self.text, start), point(&self.text, end));
        self.text.splice(range, text);
        let new_end = ByteOffset(start.0 + text.len());
        // A text with a carriage return has no tree, so there is nothing to parse from later.
        self.syntax.earlier = older.filter(|_| !text.contains('\r')).map(|mut tree| {
            tree.edit(&InputEdit {
                start_byte: start.0,
                old_end_byte: end.0,
                new_end_byte: new_end.0,
                start_position,
                old_end_position,
                new_end_position: point(&self.text, new_end),
            });
            tree
        });
    }
}

impl Documents {
    /// Opens a document, replacing one with the same URI.
    pub fn open(&mut self, uri: &str, language_id: &str, version: i32, contents: &str) {
        let mut snapshot = Snapshot::new(uri, language_id, version, contents);
        if let Some(notebook) = self.notebooks.holding(uri) {
            snapshot.path = file_path(notebook);
        }
        self.open.insert(uri.to_owned(), Arc::new(snapshot));
    }

    /// Applies edits in order. Returns the change of each, relative to the text after the previous
    /// edit, or `None` if the document is not open.
    pub fn change(
        &mut self,
        uri: &str,
        version: i32,
        edits: &[ContentChange],
        encoding: Encoding,
    ) -> Option<Vec<TextChange>> {
        let document = self.open.get_mut(uri)?;
        // A request may still hold the earlier snapshot: it keeps its own copy, and the rope shares
        // the unchanged parts.
        let document = Arc::make_mut(document);
        document.version = version;
        let changes = edits.iter().map(|edit| document.apply(edit, encoding));
        Some(changes.collect())
    }

    /// Closes a document.
    pub fn close(&mut self, uri: &str) {
        self.open.remove(uri);
    }

    /// The current snapshot of a document.
    pub fn snapshot(&self, uri: &str) -> Option<Arc<Snapshot>> {
        self.open.get(uri).cloned()
    }

    /// All open documents, in no particular order.
    pub fn all(&self) -> Vec<Arc<Snapshot>> {
        self.open.values().cloned().collect()
    }

    /// Finds the open document of a file.
    pub fn find_by_path(&self, path: &Path) -> Option<Arc<Snapshot>> {
        self.open
            .values()
            .find(|document| document.path.as_deref() == Some(path))
            .cloned()
    }
}

/// The path of a `file:` URI.
pub fn file_path(uri: &str) -> Option<PathBuf> {
    url::Url::parse(uri).ok()?.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_survive_later_edits() {
        let mut documents = Documents::default();
        documents.open("file:///a/b.py", "python", 1, "x = 1\n");
        let before = documents.snapshot("file:///a/b.py").expect("it was opened");
        let edit = ContentChange {
            range: Some(
                Position {
                    line: 0,
                    character: 4,
                }..Position {
                    line: 0,
                    character: 5,
                },
            ),
            text: "22".into(),
        };
        let changes = documents.change("file:///a/b.py", 2, &[edit], Encoding::Utf16);
        let expected = TextChange {
            start: ByteOffset(4),
            removed: "1".into(),
            inserted: "22".into(),
        };
        assert_eq!(changes, Some(vec![expected]));
        let after = documents
            .snapshot("file:///a/b.py")
            .expect("it is still open");
        assert_eq!(before.text.to_string(), "x = 1\n");
        assert_eq!(
            (after.version, after.text.to_string()),
            (2, "x = 22\n".into())
        );
        assert_eq!(after.language.map(|language| language.id), Some("python"));
        documents.close("file:///a/b.py");
        assert!(documents.snapshot("file:///a/b.py").is_none());
        let changes = documents.change("file:///a/b.py", 3, &[], Encoding::Utf16);
        assert!(changes.is_none());
    }

    #[test]
    fn changes_are_reduced_to_the_difference() {
        let change = |before, after| {
            let change = TextChange::between(ByteOffset(10), before, after);
            (change.start.0, change.removed, change.inserted)
        };
        let expected =
            |start, removed: &str, inserted: &str| (start, removed.to_owned(), inserted.to_owned());
        assert_eq!(change("aéc", "aéXc"), expected(13, "", "X"));
        assert_eq!(change("abc", "abc"), expected(13, "", ""));
        assert_eq!(change("", "ab"), expected(10, "", "ab"));
        // Common prefix and suffix do not overlap.
        assert_eq!(change("aa", "aaa"), expected(12, "", "a"));
        assert_eq!(change("a1b", "a2b"), expected(11, "1", "2"));
    }

    #[test]
    fn edited_tree_equals_fresh_parse() {
        let mut documents = Documents::default();
        let uri = "file:///a/b.py";
        documents.open(uri, "python", 1, "# é😀\ndef f(a):\n    return a\n");
        let at = |line, start, end| {
            let position = |character| Position { line, character };
            position(start)..position(end)
        };
        // Columns in UTF-16, with and without a tree requested between edits.
        let edits = [
            (at(0, 3, 5), "b"),
            (at(1, 4, 5), "größe"),
            (at(2, 11, 12), "größe(\n        a,\n    )"),
            (at(2, 0, 0), "    b = 1\n"),
        ];
        for (number, (range, text)) in edits.into_iter().enumerate() {
            let edit = ContentChange {
                range: Some(range),
                text: text.into(),
            };
            documents.change(uri, 2, &[edit], Encoding::Utf16);
            if number != 1 {
                let snapshot = documents.snapshot(uri).expect("it is open");
                snapshot.tree().expect("its language is known");
            }
        }
        let snapshot = documents.snapshot(uri).expect("it is open");
        let text = snapshot.text.to_string();
        assert_eq!(
            text,
            "# éb\ndef größe(a):\n    b = 1\n    return größe(\n        a,\n    )\n"
        );
        let fresh = snapshot.language.expect("it is known").parse(&text);
        let known = snapshot.tree().expect("its language is known");
        assert!(!fresh.root_node().has_error());
        assert_eq!(known.root_node().to_sexp(), fresh.root_node().to_sexp());
        let ends = |tree: &Tree| {
            let mut cursor = tree.walk();
            let children = tree.root_node().children(&mut cursor);
            children.map(|node| node.byte_range()).collect::<Vec<_>>()
        };
        assert_eq!(ends(known), ends(&fresh));
        documents.change(
            uri,
            3,
            &[ContentChange {
                range: None,
                text: "x = 1\r\n".into(),
            }],
            Encoding::Utf16,
        );
        let snapshot = documents.snapshot(uri).expect("it is open");
        assert!(snapshot.tree().is_none());
    }
}
