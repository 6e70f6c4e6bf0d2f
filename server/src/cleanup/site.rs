//! A place with its syntax: the file is parsed once, and a completion in it only makes a
//! difference to that.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tree_sitter::{InputEdit, Point, Tree};

use super::Place;
use crate::syntax::Language;

/// A place whose file is parsed when a rule first asks.
#[derive(Debug)]
pub(super) struct Site<'a> {
    place: Place<'a>,
    /// The file with nothing at the cursor, where the place has no tree.
    base: OnceLock<Tree>,
    /// The file with the completion that was asked for last.
    last: Mutex<Option<(String, Arc<Parsed>)>>,
}

/// A file with a completion in it.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) language: &'static Language,
    pub(super) tree: Tree,
}

impl<'a> Site<'a> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self {
            place,
            base: OnceLock::new(),
            last: Mutex::default(),
        }
    }

    /// The file with this completion, where its language is known.
    pub(super) fn with(&self, text: &str) -> Option<Arc<Parsed>> {
        let language = self.place.language?;
        let mut last = self.last.lock();
        if let Some((_, parsed)) = last.as_ref().filter(|(known, _)| known == text) {
            return Some(Arc::clone(parsed));
        }
        let Place { prefix, suffix, .. } = self.place;
        let mut old = match self.place.tree {
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

impl<'a> Deref for Site<'a> {
    type Target = Place<'a>;

    fn deref(&self) -> &Place<'a> {
        &self.place
    }
}

/// Where a text ends, from the file's beginning. Tree-sitter counts columns in bytes.
fn point(text: &str) -> Point {
    after(Point::new(0, 0), text)
}

fn after(start: Point, text: &str) -> Point {
    match text.rfind('\n') {
        Some(at) => Point::new(start.row + text.matches('\n').count(), text.len() - at - 1),
        None => Point::new(start.row, start.column + text.len()),
    }
}
