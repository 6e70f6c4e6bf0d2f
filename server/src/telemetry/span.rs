//! A range of text that is tracked through edits.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

use crate::documents::TextChange;
use crate::text::ByteOffset;

/// A range of a text, in bytes, that follows edits.
///
/// Text inserted strictly inside belongs to it, text inserted at its edges does not. An edit that
/// reverts earlier ones, as an undo does, restores the range before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedSpan {
    range: Range<usize>,
    /// The last edits that were not reverted, each with the range before it, the newest last.
    done: VecDeque<(TextChange, Range<usize>)>,
}

/// Maximum number of edits kept.
const MAX_EDITS: usize = 256;

/// Maximum number of edits that one undo reverts: editors join keystrokes into one undo step.
const MAX_JOINED: usize = 100;

/// Time limit for finding the unchanged parts of a replaced text.
const DIFF_TIMEOUT: Duration = Duration::from_millis(50);

impl TrackedSpan {
    /// Tracks the range between two byte offsets.
    pub fn new(range: Range<usize>) -> Self {
        Self {
            range,
            done: VecDeque::new(),
        }
    }

    /// The current range, in bytes.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Applies one change of the text.
    pub fn follow(&mut self, change: &TextChange) {
        let nothing = change.removed.is_empty() && change.inserted.is_empty();
        if nothing || self.revert(change) {
            return;
        }
        let before = self.range.clone();
        let (start, end) = (change.start.0, change.start.0 + change.removed.len());
        let beyond = start <= before.start
            && end >= before.end
            && (start, end) != (before.start, before.end);
        if beyond && !before.is_empty() && !change.inserted.is_empty() {
            // A formatter may replace the whole file. A diff finds the unchanged parts.
            for piece in split_change(change) {
                self.range = move_range(&self.range, &piece);
            }
        } else {
            self.range = move_range(&before, change);
        }
        self.done.push_back((change.clone(), before));
        if self.done.len() > MAX_EDITS {
            self.done.pop_front();
        }
    }

    /// Restores the range before the last edits, one or several, if the change reverts them.
    /// Returns true if it does.
    fn revert(&mut self, change: &TextChange) -> bool {
        let mut whole: Option<TextChange> = None;
        for (index, (earlier, before)) in self.done.iter().enumerate().rev().take(MAX_JOINED) {
            let joined = match &whole {
                None => Some(earlier.clone()),
                Some(later) => join(earlier, later),
            };
            let Some(joined) = joined else { return false };
            let back = TextChange::between(joined.start, &joined.inserted, &joined.removed);
            if back == *change {
                self.range = before.clone();
                // Reverted edits are forgotten, as they can't be reverted twice.
                self.done.truncate(index);
                return true;
            }
            whole = Some(joined);
        }
        false
    }
}

/// Joins two consecutive changes that touch; `None` if they are apart.
fn join(first: &TextChange, second: &TextChange) -> Option<TextChange> {
    let place = first.start.0..first.start.0 + first.inserted.len();
    let taken = second.start.0..second.start.0 + second.removed.len();
    if taken.end < place.start || taken.start > place.end {
        return None;
    }
    // Text that the second change removed before and after the text inserted by the first.
    let before = second
        .removed
        .get(..place.start.saturating_sub(taken.start))?;
    let after = match taken.end.checked_sub(place.end) {
        Some(length) => second.removed.get(second.removed.len() - length..)?,
        None => "",
    };
    // Text inserted by the first change that the second one kept.
    let head = first
        .inserted
        .get(..taken.start.saturating_sub(place.start))?;
    let tail = match place.end.checked_sub(taken.end) {
        Some(length) => first.inserted.get(first.inserted.len() - length..)?,
        None => "",
    };
    Some(TextChange {
        start: ByteOffset(place.start.min(taken.start)),
        removed: [before, &first.removed, after].concat(),
        inserted: [head, &second.inserted, tail].concat(),
    })
}

/// Moves an offset by a change; text inserted exactly there is after it.
pub(super) fn move_offset(offset: usize, change: &TextChange) -> usize {
    move_range(&(offset..offset), change).start
}

/// Moves a range by a change.
fn move_range(range: &Range<usize>, change: &TextChange) -> Range<usize> {
    let (removed, inserted) = (change.removed.len(), change.inserted.len());
    let (start, end) = (change.start.0, change.start.0 + removed);
    let after = |offset: usize| offset - removed + inserted;
    if (start, end) == (range.start, range.end) && removed > 0 {
        // A replacement of exactly the range becomes the range.
        start..start + inserted
    } else if start >= range.end {
        range.clone()
    } else if end <= range.start {
        after(range.start)..after(range.end)
    } else if start <= range.start && end >= range.end {
        start..start
    } else if start >= range.start && end <= range.end {
        range.start..after(range.end)
    } else if start < range.start {
        start + inserted..after(range.end)
    } else {
        range.start..start
    }
}

/// Splits a change by words into smaller ones, each relative to the text after the previous one.
fn split_change(change: &TextChange) -> Vec<TextChange> {
    let diff = TextDiff::configure()
        .deadline(Instant::now() + DIFF_TIMEOUT)
        .diff_words(change.removed.as_str(), change.inserted.as_str());
    let mut pieces: Vec<TextChange> = Vec::new();
    let mut at = change.start.0;
    let mut open = false;
    for part in diff.iter_all_changes() {
        let text = part.value();
        if part.tag() == ChangeTag::Equal {
            at += text.len();
            open = false;
            continue;
        }
        if !open {
            pieces.push(TextChange {
                start: ByteOffset(at),
                removed: String::new(),
                inserted: String::new(),
            });
            open = true;
        }
        if let Some(piece) = pieces.last_mut() {
            if part.tag() == ChangeTag::Delete {
                piece.removed.push_str(text);
            } else {
                piece.inserted.push_str(text);
                at += text.len();
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text with a flag per character that is true if the span contains it.
    #[derive(Clone, Debug)]
    struct Model {
        text: Vec<(char, bool)>,
    }

    impl Model {
        fn string(&self) -> String {
            self.text.iter().map(|(character, _)| character).collect()
        }

        fn span_text(&self) -> String {
            let inside = self.text.iter().filter(|(_, inside)| *inside);
            inside.map(|(character, _)| character).collect()
        }

        /// Replaces characters, by their indices, and returns the change.
        fn replace(&mut self, range: Range<usize>, inserted: &str) -> TextChange {
            let bytes = |characters: &[(char, bool)]| -> usize {
                characters.iter().map(|(one, _)| one.len_utf8()).sum()
            };
            let start = ByteOffset(bytes(&self.text[..range.start]));
            let removed = self.text[range.clone()]
                .iter()
                .map(|(one, _)| one)
                .collect();
            let whole = !range.is_empty()
                && self.text[range.clone()].iter().all(|(_, inside)| *inside)
                && self.text.iter().filter(|(_, inside)| *inside).count() == range.len();
            let before = range.start > 0 && self.text[range.start - 1].1;
            let after = self.text.get(range.end).is_some_and(|(_, inside)| *inside);
            // At an edge, inserted text belongs to the span if the span has characters on both
            // sides, or if it replaces only characters of the span's end.
            let own_only = self.text[range.clone()].iter().all(|(_, inside)| *inside);
            let inside =
                whole || (own_only && (before || after) && (before && after || !range.is_empty()));
            let new: Vec<(char, bool)> = inserted.chars().map(|one| (one, inside)).collect();
            self.text.splice(range, new);
            TextChange {
                start,
                removed,
                inserted: inserted.to_owned(),
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// Position, removed length and inserted length, as shares of the text's length.
        Replace(usize, usize, usize),
        Undo,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let replace = (0..1000usize, 0..6usize, 0..4usize)
            .prop_map(|(at, removed, inserted)| Step::Replace(at, removed, inserted));
        prop::collection::vec(prop_oneof![3 => replace, 2 => Just(Step::Undo)], 1..40)
    }

    proptest! {
        #[test]
        fn span_agrees_with_character_model(steps in steps(), from in 0..10usize, to in 1..10usize) {
            // Characters are unique, so that no text reappears by chance; some have several bytes.
            let mut fresh = (0x2200u32..).filter_map(char::from_u32).flat_map(|wide| {
                [wide, char::from_u32(wide as u32 - 0x2200 + 0x100).expect("it is one")]
            });
            let mut next = |count: usize| -> String { fresh.by_ref().take(count).collect() };
            let (from, to) = (from, from + to);
            let mut model = Model {
                text: next(24).chars().enumerate()
                    .map(|(index, one)| (one, (from..to).contains(&index)))
                    .collect(),
            };
            let offset = |model: &Model, index: usize| -> usize {
                model.text[..index].iter().map(|(one, _)| one.len_utf8()).sum()
            };
            let mut span = TrackedSpan::new(offset(&model, from)..offset(&model, to));
            let mut done: Vec<(Model, TextChange)> = Vec::new();
            for step in steps {
                match step {
                    Step::Replace(at, removed, inserted) => {
                        let at = at % (model.text.len() + 1);
                        let end = (at + removed).min(model.text.len());
                        let text = next(inserted);
                        // An edit that replaces more than the span is compared word by word.
                        let range = span.range();
                        let bytes = offset(&model, at)..offset(&model, end);
                        let beyond = bytes.start <= range.start && bytes.end >= range.end
                            && bytes != range;
                        let text = if beyond { String::new() } else { text };
                        if at == end && text.is_empty() {
                            continue;
                        }
                        let before = model.clone();
                        let change = model.replace(at..end, &text);
                        span.follow(&change);
                        done.push((before, change));
                    }
                    Step::Undo => {
                        let Some((before, change)) = done.pop() else { continue };
                        span.follow(&TextChange {
                            start: change.start,
                            removed: change.inserted,
                            inserted: change.removed,
                        });
                        model = before;
                    }
                }
                let text = model.string();
                prop_assert_eq!(&text[span.range()], model.span_text());
            }
        }

        #[test]
        fn span_stays_inside_text(
            text in "[ab ]{0,12}",
            edits in prop::collection::vec((0..20usize, 0..20usize, "[ab ]{0,6}"), 0..30),
            from in 0..12usize,
            to in 0..12usize,
        ) {
            let mut text = text;
            let (from, to) = (from.min(to).min(text.len()), from.max(to).min(text.len()));
            let mut span = TrackedSpan::new(from..to);
            for (start, end, inserted) in edits {
                let (start, end) = (start.min(end).min(text.len()), start.max(end).min(text.len()));
                let change = TextChange::between(ByteOffset(start), &text[start..end], &inserted);
                text.replace_range(start..end, &inserted);
                span.follow(&change);
                let range = span.range();
                prop_assert!(range.start <= range.end && range.end <= text.len());
            }
        }

        #[test]
        fn undo_of_several_edits_restores_span(
            edits in prop::collection::vec((0..4usize, 0..3usize, 0..3usize), 1..12),
            from in 0..12usize,
            to in 0..12usize,
        ) {
            // Characters are unique: with repeated ones, a change has several descriptions.
            let mut fresh = 'A'..;
            let before = "abcdefghijkl";
            let mut text = before.to_owned();
            let mut span = TrackedSpan::new(from.min(to)..from.max(to));
            let range = span.range();
            // Like keys: all edits at one place, up to the end of the previous one's text.
            let mut place = 5..5;
            for (at, removed, inserted) in edits {
                let inserted: String = fresh.by_ref().filter(|one| !before.contains(*one)).take(inserted).collect();
                let start = (place.start + at).min(place.end);
                let end = (start + removed).clamp(place.end, text.len());
                let change = TextChange::between(ByteOffset(start), &text[start..end], &inserted);
                text.replace_range(start..end, &inserted);
                place = place.start..place.end.max(end) - (end - start) + inserted.len();
                span.follow(&change);
            }
            span.follow(&TextChange::between(ByteOffset(0), &text, before));
            prop_assert_eq!(span.range(), range);
        }

        #[test]
        fn split_changes_compose_to_the_change(
            before in "([a-c]{1,3}[ \n]){0,8}",
            after in "([a-c]{1,3}[ \n]){0,8}",
        ) {
            let change = TextChange {
                start: ByteOffset(2),
                removed: before.clone(),
                inserted: after.clone(),
            };
            let mut text = ["é", &before].concat();
            for piece in split_change(&change) {
                let range = piece.start.0..piece.start.0 + piece.removed.len();
                prop_assert_eq!(&text[range.clone()], &piece.removed);
                text.replace_range(range, &piece.inserted);
            }
            prop_assert_eq!(text, ["é", &after].concat());
        }
    }

    /// The span's text after each of these edits of a text whose span is between `[` and `]`.
    fn followed(marked: &str, edits: &[(&str, &str)]) -> Vec<String> {
        let start = marked.find('[').expect("it is marked");
        let end = marked.find(']').expect("it is marked") - 1;
        let mut text = marked.replace(['[', ']'], "");
        let mut span = TrackedSpan::new(start..end);
        edits
            .iter()
            .map(|(removed, inserted)| {
                let at = text.find(removed).expect("the text contains it");
                span.follow(&TextChange::between(ByteOffset(at), removed, inserted));
                text.replace_range(at..at + removed.len(), inserted);
                text[span.range()].to_owned()
            })
            .collect()
    }

    #[test]
    fn edits_outside_move_span_and_edits_inside_belong_to_it() {
        let texts = followed(
            "a = [foo(x)]\nb\n",
            &[
                ("a =", "alpha ="),
                ("(x)", "(y, z)"),
                ("\nb", "\nbeta"),
                ("foo", "bar"),
            ],
        );
        assert_eq!(texts, ["foo(x)", "foo(y, z)", "foo(y, z)", "bar(y, z)"]);
    }

    #[test]
    fn offset_stays_before_text_inserted_there() {
        let change = |start, removed: &str, inserted: &str| TextChange {
            start: ByteOffset(start),
            removed: removed.to_owned(),
            inserted: inserted.to_owned(),
        };
        assert_eq!(move_offset(4, &change(4, "", "abc")), 4);
        assert_eq!(move_offset(4, &change(4, "x", "")), 4);
        assert_eq!(move_offset(4, &change(3, "", "abc")), 7);
        assert_eq!(move_offset(4, &change(1, "xyz", "a")), 2);
        assert_eq!(move_offset(4, &change(2, "wxyz", "a")), 2);
    }

    #[test]
    fn one_undo_reverts_deletion_by_keys() {
        let mut span = TrackedSpan::new(4..7);
        for at in (2..7).rev() {
            let removed = "x = foo"[at..=at].to_owned();
            span.follow(&TextChange {
                start: ByteOffset(at),
                removed,
                inserted: String::new(),
            });
        }
        assert_eq!(span.range(), 2..2);
        span.follow(&TextChange {
            start: ByteOffset(2),
            removed: String::new(),
            inserted: "= foo".to_owned(),
        });
        assert_eq!(span.range(), 4..7);
    }

    #[test]
    fn reformatted_file_keeps_span() {
        let texts = followed(
            "import  a\nx = [alpha + beta]\ny  =  2\n",
            &[(
                "import  a\nx = alpha + beta\ny  =  2",
                "import a\n\nx = alpha + gamma\ny = 2",
            )],
        );
        assert_eq!(texts, ["alpha + gamma"]);
    }
}
