//! A stretch of text that is followed through edits.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

use crate::documents::Change;
use crate::text::ByteOffset;

/// A stretch of a text, in bytes, as edits move, grow and shrink it.
///
/// What is inserted strictly inside belongs to it, what is inserted at its edges does not. An edit
/// that takes earlier ones back, as an undo does, takes back what they did to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    range: Range<usize>,
    /// The last edits that were not taken back, and where it stood before each, newest last.
    done: VecDeque<(Change, Range<usize>)>,
}

/// The most edits that are remembered.
const MOST_DONE: usize = 256;

/// The most edits that one may take back: editors join keys of one kind to one step of undo.
const MOST_JOINED: usize = 100;

/// How long may be looked for what an edit left alone inside of what it replaced.
const DIFF_TIME: Duration = Duration::from_millis(50);

impl Span {
    /// The stretch of a text between two bytes.
    pub fn new(range: Range<usize>) -> Self {
        Self {
            range,
            done: VecDeque::new(),
        }
    }

    /// Where it stands now, in bytes.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Follows one change of the text.
    pub fn follow(&mut self, change: &Change) {
        let nothing = change.removed.is_empty() && change.inserted.is_empty();
        if nothing || self.takes_back(change) {
            return;
        }
        let before = self.range.clone();
        let (start, end) = (change.start.0, change.start.0 + change.removed.len());
        let beyond = start <= before.start
            && end >= before.end
            && (start, end) != (before.start, before.end);
        if beyond && !before.is_empty() && !change.inserted.is_empty() {
            // More than it gave way, as where a formatter writes a whole file anew. What that left
            // alone inside is told by comparing the two.
            for piece in pieces(change) {
                self.range = moved(&self.range, &piece);
            }
        } else {
            self.range = moved(&before, change);
        }
        self.done.push_back((change.clone(), before));
        if self.done.len() > MOST_DONE {
            self.done.pop_front();
        }
    }

    /// Whether the change takes the last edits back, one or several; if so, it stands where it
    /// stood before them.
    fn takes_back(&mut self, change: &Change) -> bool {
        let mut whole: Option<Change> = None;
        for (index, (earlier, before)) in self.done.iter().enumerate().rev().take(MOST_JOINED) {
            let joined = match &whole {
                None => Some(earlier.clone()),
                Some(later) => joined(earlier, later),
            };
            let Some(joined) = joined else { return false };
            let back = Change::between(joined.start, &joined.inserted, &joined.removed);
            if back == *change {
                self.range = before.clone();
                self.done.truncate(index);
                return true;
            }
            whole = Some(joined);
        }
        false
    }
}

/// Two changes, one after the other at one place, as one; nothing where they are apart.
fn joined(first: &Change, second: &Change) -> Option<Change> {
    let place = first.start.0..first.start.0 + first.inserted.len();
    let taken = second.start.0..second.start.0 + second.removed.len();
    if taken.end < place.start || taken.start > place.end {
        return None;
    }
    // What the second took before and after what the first had put there.
    let before = second
        .removed
        .get(..place.start.saturating_sub(taken.start))?;
    let after = match taken.end.checked_sub(place.end) {
        Some(length) => second.removed.get(second.removed.len() - length..)?,
        None => "",
    };
    // And what it left of that.
    let head = first
        .inserted
        .get(..taken.start.saturating_sub(place.start))?;
    let tail = match place.end.checked_sub(taken.end) {
        Some(length) => first.inserted.get(first.inserted.len() - length..)?,
        None => "",
    };
    Some(Change {
        start: ByteOffset(place.start.min(taken.start)),
        removed: [before, &first.removed, after].concat(),
        inserted: [head, &second.inserted, tail].concat(),
    })
}

/// Where a place stands after a change; what is inserted just there comes after it.
pub(super) fn place_after(place: usize, change: &Change) -> usize {
    moved(&(place..place), change).start
}

/// Where a stretch stands after a change.
fn moved(range: &Range<usize>, change: &Change) -> Range<usize> {
    let (removed, inserted) = (change.removed.len(), change.inserted.len());
    let (start, end) = (change.start.0, change.start.0 + removed);
    let after = |offset: usize| offset - removed + inserted;
    if (start, end) == (range.start, range.end) && removed > 0 {
        // What replaces just it stands in its place.
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

/// A change as the smaller ones that it comes to, word by word, each in the text that the one
/// before leaves.
fn pieces(change: &Change) -> Vec<Change> {
    let diff = TextDiff::configure()
        .deadline(Instant::now() + DIFF_TIME)
        .diff_words(change.removed.as_str(), change.inserted.as_str());
    let mut pieces: Vec<Change> = Vec::new();
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
            pieces.push(Change {
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

    /// A text with its span, every character of which is known by itself.
    #[derive(Clone, Debug)]
    struct Model {
        text: Vec<(char, bool)>,
    }

    impl Model {
        fn string(&self) -> String {
            self.text.iter().map(|(character, _)| character).collect()
        }

        fn of_span(&self) -> String {
            let inside = self.text.iter().filter(|(_, inside)| *inside);
            inside.map(|(character, _)| character).collect()
        }

        /// Replaces characters, by their indices, and gives the change.
        fn replace(&mut self, range: Range<usize>, inserted: &str) -> Change {
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
            // At an edge something belongs to it if some of it stands on both sides, or, in place
            // of its own end, nothing but its own is replaced.
            let own_only = self.text[range.clone()].iter().all(|(_, inside)| *inside);
            let inside =
                whole || (own_only && (before || after) && (before && after || !range.is_empty()));
            let new: Vec<(char, bool)> = inserted.chars().map(|one| (one, inside)).collect();
            self.text.splice(range, new);
            Change {
                start,
                removed,
                inserted: inserted.to_owned(),
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// Where, how much, and how much instead, as shares of what there is.
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
        fn a_span_is_what_a_naive_model_says(steps in steps(), from in 0..10usize, to in 1..10usize) {
            // No character comes twice, so that nothing comes back by chance; some have several
            // bytes.
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
            let mut span = Span::new(offset(&model, from)..offset(&model, to));
            let mut done: Vec<(Model, Change)> = Vec::new();
            for step in steps {
                match step {
                    Step::Replace(at, removed, inserted) => {
                        let at = at % (model.text.len() + 1);
                        let end = (at + removed).min(model.text.len());
                        let text = next(inserted);
                        // An edit that replaces more than all of it is compared word by word.
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
                        span.follow(&Change {
                            start: change.start,
                            removed: change.inserted,
                            inserted: change.removed,
                        });
                        model = before;
                    }
                }
                let text = model.string();
                prop_assert_eq!(&text[span.range()], model.of_span());
            }
        }

        #[test]
        fn any_change_leaves_the_span_inside_the_text(
            text in "[ab ]{0,12}",
            edits in prop::collection::vec((0..20usize, 0..20usize, "[ab ]{0,6}"), 0..30),
            from in 0..12usize,
            to in 0..12usize,
        ) {
            let mut text = text;
            let (from, to) = (from.min(to).min(text.len()), from.max(to).min(text.len()));
            let mut span = Span::new(from..to);
            for (start, end, inserted) in edits {
                let (start, end) = (start.min(end).min(text.len()), start.max(end).min(text.len()));
                let change = Change::between(ByteOffset(start), &text[start..end], &inserted);
                text.replace_range(start..end, &inserted);
                span.follow(&change);
                let range = span.range();
                prop_assert!(range.start <= range.end && range.end <= text.len());
            }
        }

        #[test]
        fn several_edits_taken_back_at_once_leave_it_as_it_was(
            edits in prop::collection::vec((0..4usize, 0..3usize, 0..3usize), 1..12),
            from in 0..12usize,
            to in 0..12usize,
        ) {
            // No character comes twice: where some do, one change has several descriptions.
            let mut fresh = 'A'..;
            let before = "abcdefghijkl";
            let mut text = before.to_owned();
            let mut span = Span::new(from.min(to)..from.max(to));
            let range = span.range();
            // As with keys: all of them at one place, up to the end of what the one before left.
            let mut place = 5..5;
            for (at, removed, inserted) in edits {
                let inserted: String = fresh.by_ref().filter(|one| !before.contains(*one)).take(inserted).collect();
                let start = (place.start + at).min(place.end);
                let end = (start + removed).clamp(place.end, text.len());
                let change = Change::between(ByteOffset(start), &text[start..end], &inserted);
                text.replace_range(start..end, &inserted);
                place = place.start..place.end.max(end) - (end - start) + inserted.len();
                span.follow(&change);
            }
            span.follow(&Change::between(ByteOffset(0), &text, before));
            prop_assert_eq!(span.range(), range);
        }

        #[test]
        fn the_pieces_of_a_change_come_to_the_change(
            before in "([a-c]{1,3}[ \n]){0,8}",
            after in "([a-c]{1,3}[ \n]){0,8}",
        ) {
            let change = Change {
                start: ByteOffset(2),
                removed: before.clone(),
                inserted: after.clone(),
            };
            let mut text = ["é", &before].concat();
            for piece in pieces(&change) {
                let range = piece.start.0..piece.start.0 + piece.removed.len();
                prop_assert_eq!(&text[range.clone()], &piece.removed);
                text.replace_range(range, &piece.inserted);
            }
            prop_assert_eq!(text, ["é", &after].concat());
        }
    }

    /// The span's text after each of these edits of a text whose span stands between `[` and `]`.
    fn followed(marked: &str, edits: &[(&str, &str)]) -> Vec<String> {
        let start = marked.find('[').expect("it is marked");
        let end = marked.find(']').expect("it is marked") - 1;
        let mut text = marked.replace(['[', ']'], "");
        let mut span = Span::new(start..end);
        edits
            .iter()
            .map(|(removed, inserted)| {
                let at = text.find(removed).expect("it stands there");
                span.follow(&Change::between(ByteOffset(at), removed, inserted));
                text.replace_range(at..at + removed.len(), inserted);
                text[span.range()].to_owned()
            })
            .collect()
    }

    #[test]
    fn edits_around_it_move_it_and_edits_inside_are_its_own() {
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
    fn a_place_stays_before_what_is_inserted_there() {
        let change = |start, removed: &str, inserted: &str| Change {
            start: ByteOffset(start),
            removed: removed.to_owned(),
            inserted: inserted.to_owned(),
        };
        assert_eq!(place_after(4, &change(4, "", "abc")), 4);
        assert_eq!(place_after(4, &change(4, "x", "")), 4);
        assert_eq!(place_after(4, &change(3, "", "abc")), 7);
        assert_eq!(place_after(4, &change(1, "xyz", "a")), 2);
        assert_eq!(place_after(4, &change(2, "wxyz", "a")), 2);
    }

    #[test]
    fn what_is_deleted_key_by_key_comes_back_at_once() {
        let mut span = Span::new(4..7);
        for at in (2..7).rev() {
            let removed = "x = foo"[at..=at].to_owned();
            span.follow(&Change {
                start: ByteOffset(at),
                removed,
                inserted: String::new(),
            });
        }
        assert_eq!(span.range(), 2..2);
        span.follow(&Change {
            start: ByteOffset(2),
            removed: String::new(),
            inserted: "= foo".to_owned(),
        });
        assert_eq!(span.range(), 4..7);
    }

    #[test]
    fn a_file_that_is_written_anew_keeps_what_it_says() {
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
