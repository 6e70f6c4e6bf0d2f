//! Detects edits that only take text back, such as Backspace and undo. A person who deletes text
//! writes nothing that a completion could continue.

use std::collections::VecDeque;

use crate::documents::TextChange;

/// The latest edits of a document.
#[derive(Debug, Default)]
pub(super) struct RecentEdits {
    /// Changes that an undo may revert, the newest last.
    changes: VecDeque<TextChange>,
    takes_back: bool,
}

/// Maximum number of edits in which an undo is recognised.
const MAX_CHANGES: usize = 32;

/// Maximum size of a recorded change, so that pasted files use no memory.
const MAX_BYTES: usize = 4096;

impl RecentEdits {
    /// Records an edit, which may change several places.
    pub(super) fn edited(&mut self, changes: &[TextChange]) {
        let is_effective =
            |change: &&TextChange| !change.removed.is_empty() || !change.inserted.is_empty();
        let mut effective = changes.iter().filter(is_effective).peekable();
        self.takes_back = effective.peek().is_some()
            && effective.all(|change| change.inserted.is_empty() || self.is_undo(change));
        for change in changes {
            if change.removed.len() + change.inserted.len() <= MAX_BYTES {
                self.changes.push_back(change.clone());
            }
        }
        let old = self.changes.len().saturating_sub(MAX_CHANGES);
        self.changes.drain(..old);
    }

    /// True if the last edit only took text back.
    pub(super) fn takes_back(&self) -> bool {
        self.takes_back
    }

    /// True if a change reverts a recent one. A single reinserted character is more likely typed
    /// again than restored by an undo, so it counts as typed.
    fn is_undo(&self, change: &TextChange) -> bool {
        change.inserted.chars().nth(1).is_some()
            && self.changes.iter().any(|earlier| {
                earlier.start == change.start
                    && earlier.removed == change.inserted
                    && earlier.inserted == change.removed
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::ByteOffset;

    /// True if the last of these edits takes text back.
    fn takes_back(edits: &[(usize, &str, &str)]) -> bool {
        let mut recent = RecentEdits::default();
        for (start, removed, inserted) in edits {
            recent.edited(&[TextChange {
                start: ByteOffset(*start),
                removed: (*removed).to_owned(),
                inserted: (*inserted).to_owned(),
            }]);
        }
        recent.takes_back()
    }

    #[test]
    fn backspace_takes_back_and_typing_does_not() {
        assert!(!takes_back(&[(4, "", "a")]));
        assert!(takes_back(&[(4, "", "a"), (4, "a", "")]));
        assert!(!takes_back(&[(4, "", "a"), (4, "a", ""), (4, "", "a")]));
        // The typed text replaces a selection.
        assert!(!takes_back(&[(4, "word", "x")]));
        assert!(!takes_back(&[]));
    }

    #[test]
    fn an_undo_takes_back_what_was_deleted_or_replaced() {
        assert!(takes_back(&[(4, "word", ""), (4, "", "word")]));
        assert!(takes_back(&[(4, "word", "x"), (4, "x", "word")]));
        assert!(!takes_back(&[(4, "word", ""), (5, "", "word")]));
        assert!(!takes_back(&[(4, "", "pasted")]));
    }

    #[test]
    fn an_edit_of_several_places_takes_back_if_all_of_it_does() {
        let change = |start, removed: &str, inserted: &str| TextChange {
            start: ByteOffset(start),
            removed: removed.to_owned(),
            inserted: inserted.to_owned(),
        };
        let mut recent = RecentEdits::default();
        recent.edited(&[change(4, "a", ""), change(9, "a", "")]);
        assert!(recent.takes_back());
        recent.edited(&[change(4, "a", ""), change(9, "", "a")]);
        assert!(!recent.takes_back());
        recent.edited(&[change(4, "a", ""), change(9, "", "")]);
        assert!(recent.takes_back());
    }
}
