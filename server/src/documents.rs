//! Open buffers and their snapshots.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::syntax::Language;
use crate::text::{Encoding, Position, Text};

/// The buffers an editor has open, by URI. Whoever holds it answers for its locking.
#[derive(Debug, Default)]
pub struct Documents {
    open: HashMap<String, Arc<Snapshot>>,
}

/// One document as it stood at one version. Immutable, so that a request can keep it across
/// awaits while edits go on.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The URI the editor knows it by.
    pub uri: String,
    /// The file it belongs to, where the URI names one.
    pub path: Option<PathBuf>,
    /// Its language, where the server knows it.
    pub language: Option<&'static Language>,
    /// The editor's version number, which grows with each edit.
    pub version: i32,
    /// Its contents.
    pub text: Text,
}

/// One content change of `textDocument/didChange`.
#[derive(Clone, Debug)]
pub struct Edit {
    /// What is replaced; nothing means the whole document.
    pub range: Option<Range<Position>>,
    /// What stands there afterwards.
    pub text: String,
}

impl Documents {
    /// Takes a document that an editor opened, in place of one with the same URI.
    pub fn open(&mut self, uri: &str, language_id: &str, version: i32, contents: &str) {
        let path = file_path(uri);
        let language =
            Language::by_id(language_id).or_else(|| path.as_deref().and_then(Language::for_path));
        let snapshot = Snapshot {
            uri: uri.to_owned(),
            path,
            language,
            version,
            text: Text::new(contents),
        };
        self.open.insert(uri.to_owned(), Arc::new(snapshot));
    }

    /// Applies edits in order. False where no such document is open.
    pub fn change(&mut self, uri: &str, version: i32, edits: &[Edit], encoding: Encoding) -> bool {
        let Some(document) = self.open.get_mut(uri) else {
            return false;
        };
        // A snapshot taken earlier keeps its own copy: the rope shares what did not change.
        let document = Arc::make_mut(document);
        document.version = version;
        for edit in edits {
            match &edit.range {
                Some(range) => document.text.replace(range.clone(), encoding, &edit.text),
                None => document.text = Text::new(&edit.text),
            }
        }
        true
    }

    /// Forgets a document.
    pub fn close(&mut self, uri: &str) {
        self.open.remove(uri);
    }

    /// The document as it stands now.
    pub fn snapshot(&self, uri: &str) -> Option<Arc<Snapshot>> {
        self.open.get(uri).cloned()
    }

    /// All open documents, in no particular order.
    pub fn all(&self) -> Vec<Arc<Snapshot>> {
        self.open.values().cloned().collect()
    }

    /// The open document of a file.
    pub fn of_path(&self, path: &Path) -> Option<Arc<Snapshot>> {
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
    fn a_snapshot_outlives_later_edits() {
        let mut documents = Documents::default();
        documents.open("file:///a/b.py", "python", 1, "x = 1\n");
        let before = documents.snapshot("file:///a/b.py").expect("it was opened");
        let edit = Edit {
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
        assert!(documents.change("file:///a/b.py", 2, &[edit], Encoding::Utf16));
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
        assert!(!documents.change("file:///a/b.py", 3, &[], Encoding::Utf16));
    }
}
