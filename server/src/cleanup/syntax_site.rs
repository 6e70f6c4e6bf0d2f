//! A cursor site with its syntax. The file is parsed once, and then incrementally with each
//! completion.

use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use tree_sitter::{InputEdit, Point, Tree};

use super::CursorSite;
use super::written::Beginning;
use crate::syntax::{Language, OpenText};

/// A [`CursorSite`] whose file is parsed when a rule first needs it.
#[derive(Debug)]
pub(super) struct SyntaxSite<'a> {
    site: CursorSite<'a>,
    /// The whole file.
    file: Syntax<'a>,
    /// The file up to the cursor.
    written: Syntax<'a>,
    /// The string or comment that is open at the start of the cursor's line.
    open_text: OnceLock<Option<OpenText>>,
    /// The syntax that is open at the cursor.
    beginning: OnceLock<Option<Beginning>>,
}

/// A file with a completion in it.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) language: &'static Language,
    pub(super) tree: Tree,
}

/// A text with a cursor, parsed with one completion after another.
#[derive(Debug)]
struct Syntax<'a> {
    prefix: &'a str,
    suffix: &'a str,
    /// End of the prefix.
    here: OnceLock<Point>,
    /// The tree without a completion.
    base: OnceLock<Tree>,
    /// The completion of the last parse, with its result.
    last: Mutex<Option<(String, Arc<Parsed>)>>,
}

impl<'a> SyntaxSite<'a> {
    pub(super) fn new(site: CursorSite<'a>) -> Self {
        Self {
            site,
            file: Syntax::new(site.prefix, site.suffix),
            written: Syntax::new(site.prefix, ""),
            open_text: OnceLock::new(),
            beginning: OnceLock::new(),
        }
    }

    /// True if a string that may span lines is open at the cursor.
    pub(super) fn is_in_long_string(&self) -> bool {
        self.is_in_long_string_after("")
    }

    /// True if a string that may span lines is open at the end of a completion.
    pub(super) fn is_in_long_string_after(&self, text: &str) -> bool {
        matches!(self.open_text_after(text), Some(OpenText::String(_)))
    }

    /// Returns the string or comment that may span lines and is open at the end of a completion.
    pub(super) fn open_text_after(&self, text: &str) -> Option<OpenText> {
        let language = self.site.language?;
        let prefix = self.site.prefix;
        let start = prefix.rfind('\n').map_or(0, |end| end + 1);
        let before = || language.open_text(&prefix[..start], None);
        let open = *self.open_text.get_or_init(before);
        let line = [&prefix[start..], text].concat();
        language.open_text(&line, open)
    }

    /// Parses the file with this completion; `None` if its language is unknown.
    pub(super) fn with(&self, text: &str) -> Option<Arc<Parsed>> {
        let language = self.site.language?;
        Some(self.file.with(text, language, || self.file_tree(language)))
    }

    /// Returns the tree of the file without a completion; `None` if its language is unknown.
    pub(super) fn file(&self) -> Option<Tree> {
        Some(self.file_tree(self.site.language?))
    }

    /// Parses the file up to the cursor with this completion, without the suffix; `None` if its
    /// language is unknown.
    pub(super) fn written_with(&self, text: &str) -> Option<Arc<Parsed>> {
        let language = self.site.language?;
        let base = || {
            let CursorSite { prefix, suffix, .. } = self.site;
            let mut tree = self.file_tree(language);
            let here = self.written.here();
            // Tree-sitter reuses the tree only if it knows the edit: here the suffix is removed.
            tree.edit(&InputEdit {
                start_byte: prefix.len(),
                old_end_byte: prefix.len() + suffix.len(),
                new_end_byte: prefix.len(),
                start_position: here,
                old_end_position: after(here, suffix),
                new_end_position: here,
            });
            language.parse_parts(&[prefix], Some(&tree))
        };
        Some(self.written.with(text, language, base))
    }

    /// Returns the syntax that is open at the cursor; `None` if the language is unknown.
    pub(super) fn beginning(&self) -> Option<&Beginning> {
        let beginning = self.beginning.get_or_init(|| Beginning::at(self));
        beginning.as_ref()
    }

    fn file_tree(&self, language: &'static Language) -> Tree {
        let CursorSite { prefix, suffix, .. } = self.site;
        let known = self.site.tree.or_else(|| self.file.base.get());
        known.cloned().unwrap_or_else(|| {
            let base = || language.parse_parts(&[prefix, suffix], None);
            self.file.base.get_or_init(base).clone()
        })
    }
}

impl<'a> Syntax<'a> {
    fn new(prefix: &'a str, suffix: &'a str) -> Self {
        Self {
            prefix,
            suffix,
            here: OnceLock::new(),
            base: OnceLock::new(),
            last: Mutex::default(),
        }
    }

    fn here(&self) -> Point {
        *self
            .here
            .get_or_init(|| after(Point::new(0, 0), self.prefix))
    }

    fn with(
        &self,
        text: &str,
        language: &'static Language,
        base: impl FnOnce() -> Tree,
    ) -> Arc<Parsed> {
        let mut last = self.last.lock();
        if let Some((_, parsed)) = last.as_ref().filter(|(known, _)| known == text) {
            return Arc::clone(parsed);
        }
        let mut old = match self.base.get() {
            Some(tree) => tree.clone(),
            None => {
                let tree = base();
                // `base` itself may have set it already: see `file_tree`.
                self.base.get_or_init(|| tree).clone()
            }
        };
        let start = self.prefix.len();
        let end = start + text.len();
        let here = self.here();
        old.edit(&InputEdit {
            start_byte: start,
            old_end_byte: start,
            new_end_byte: end,
            start_position: here,
            old_end_position: here,
            new_end_position: after(here, text),
        });
        let tree = language.parse_parts(&[self.prefix, text, self.suffix], Some(&old));
        let parsed = Arc::new(Parsed { language, tree });
        *last = Some((text.to_owned(), Arc::clone(&parsed)));
        parsed
    }
}

impl<'a> Deref for SyntaxSite<'a> {
    type Target = CursorSite<'a>;

    fn deref(&self) -> &CursorSite<'a> {
        &self.site
    }
}

/// The point past a text that begins at another, its column in bytes. Tree-sitter's rows end with a
/// line feed alone, so these are not the lines of [`crate::text::LineIndex`].
fn after(start: Point, text: &str) -> Point {
    match text.rfind('\n') {
        Some(at) => {
            let rows = memchr::memchr_iter(b'\n', text.as_bytes()).count();
            Point::new(start.row + rows, text.len() - at - 1)
        }
        None => Point::new(start.row, start.column + text.len()),
    }
}
