//! A cursor site with its syntax: the file is parsed once, and again incrementally with each
//! completion.

use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use tree_sitter::{InputEdit, Point, Tree};

use super::CursorSite;
use crate::syntax::Language;

/// A [`CursorSite`] whose file is parsed when a rule first needs it.
#[derive(Debug)]
pub(super) struct SyntaxSite<'a> {
    site: CursorSite<'a>,
    /// The tree of the file without a completion, if the cursor site has none.
    base: OnceLock<Tree>,
    /// The file with the completion it was last parsed with.
    last: Mutex<Option<(String, Arc<Parsed>)>>,
}

/// A file with a completion in it.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) language: &'static Language,
    pub(super) tree: Tree,
}

impl<'a> SyntaxSite<'a> {
    pub(super) fn new(site: CursorSite<'a>) -> Self {
        Self {
            site,
            base: OnceLock::new(),
            last: Mutex::default(),
        }
    }

    /// Parses the file with this completion; `None` if its language is unknown.
    pub(super) fn with(&self, text: &str) -> Option<Arc<Parsed>> {
        let language = self.site.language?;
        let mut last = self.last.lock();
        if let Some((_, parsed)) = last.as_ref().filter(|(known, _)| known == text) {
            return Some(Arc::clone(parsed));
        }
        let CursorSite { prefix, suffix, .. } = self.site;
        let mut old = match self.site.tree {
            Some(tree) => tree.clone(),
            None => self
                .base
                .get_or_init(|| language.parse(&[prefix, suffix].concat()))
                .clone(),
        };
        let start = prefix.len();
        let end = start + text.len();
        let here = point(prefix);
        old.edit(&InputEdit {
            start_byte: start,
            old_end_byte: start,
            new_end_byte: end,
            start_position: here,
            old_end_position: here,
            new_end_position: after(here, text),
        });
        let whole = [prefix, text, suffix].concat();
        let tree = language.parse_again(&whole, &old);
        let parsed = Arc::new(Parsed { language, tree });
        *last = Some((text.to_owned(), Arc::clone(&parsed)));
        Some(parsed)
    }
}

impl<'a> Deref for SyntaxSite<'a> {
    type Target = CursorSite<'a>;

    fn deref(&self) -> &CursorSite<'a> {
        &self.site
    }
}

/// Where a text ends, from the file's beginning. Tree-sitter counts columns in bytes.
fn point(text: &str) -> Point {
    after(Point::new(0, 0), text)
}

/// The point past a text that begins at another. Tree-sitter's rows end with a line feed alone, so
/// these are not the lines of [`crate::text::LineIndex`].
fn after(start: Point, text: &str) -> Point {
    match text.rfind('\n') {
        Some(at) => Point::new(start.row + text.matches('\n').count(), text.len() - at - 1),
        None => Point::new(start.row, start.column + text.len()),
    }
}
