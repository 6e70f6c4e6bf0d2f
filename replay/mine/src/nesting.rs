//! Nested ranges of a file, such as the nodes of its syntax tree.

use std::cmp::Reverse;
use std::ops::Range;

/// Stretches of which any two are disjoint or one is within the other, indexed to find those around
/// an offset by binary search. A scan of all of them would take quadratic time for a file.
pub(super) struct Nesting<T> {
    /// Each before those within it.
    stretches: Vec<Stretch<T>>,
}

/// One of them.
pub(super) struct Stretch<T> {
    /// Its range in the file.
    pub(super) bytes: Range<usize>,
    /// The value attached to it.
    pub(super) value: T,
    /// Index of the innermost one around it.
    outer: Option<usize>,
}

impl<T> Nesting<T> {
    /// Of equal ranges, a later one counts as within an earlier one.
    pub(super) fn new(stretches: impl IntoIterator<Item = (Range<usize>, T)>) -> Self {
        let mut stretches: Vec<Stretch<T>> = stretches
            .into_iter()
            .map(|(bytes, value)| Stretch {
                bytes,
                value,
                outer: None,
            })
            .collect();
        stretches.sort_by_key(|one| (one.bytes.start, Reverse(one.bytes.end)));
        let mut open: Vec<usize> = Vec::new();
        for index in 0..stretches.len() {
            let end = stretches[index].bytes.end;
            // No two overlap in part, so an open one that ends earlier is before this one.
            while open
                .pop_if(|outer| stretches[*outer].bytes.end < end)
                .is_some()
            {}
            stretches[index].outer = open.last().copied();
            open.push(index);
        }
        Self { stretches }
    }

    /// Those that hold the byte at an offset, the innermost first.
    pub(super) fn around(&self, offset: usize) -> impl Iterator<Item = &Stretch<T>> {
        // The last one that begins at or before the offset holds it, or one around that one does.
        let last = self
            .stretches
            .partition_point(|one| one.bytes.start <= offset)
            .checked_sub(1);
        let outwards = |index: &usize| self.stretches[*index].outer;
        std::iter::successors(last, outwards)
            .map(|index| &self.stretches[index])
            .filter(move |one| one.bytes.contains(&offset))
    }

    /// Those that begin in a range.
    pub(super) fn beginning_in(&self, range: &Range<usize>) -> &[Stretch<T>] {
        let first = |offset| {
            self.stretches
                .partition_point(|one| one.bytes.start < offset)
        };
        let start = first(range.start);
        &self.stretches[start..first(range.end).max(start)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Nested stretches: halves of halves, some of them left out.
    fn halves(range: Range<usize>, kept: &mut impl Iterator<Item = u8>) -> Vec<Range<usize>> {
        let choice = kept.next().unwrap_or(0);
        if choice == 0 || range.len() < 2 {
            return vec![range];
        }
        let middle = range.start + range.len() / 2;
        let mut found = Vec::new();
        if choice.is_multiple_of(2) {
            found.push(range.clone());
        }
        found.extend(halves(range.start..middle, kept));
        found.extend(halves(middle + usize::from(choice > 2)..range.end, kept));
        found
    }

    proptest! {
        #[test]
        fn answers_are_those_of_a_look_at_each(
            choices in prop::collection::vec(0_u8..5, 1..60),
            offset in 0_usize..130,
            length in 0_usize..40,
        ) {
            let all = halves(0..128, &mut choices.into_iter().chain(std::iter::repeat(0)));
            let nesting = Nesting::new(all.iter().cloned().zip(0..));
            let found: Vec<&Range<usize>> =
                nesting.around(offset).map(|one| &one.bytes).collect();
            let mut expected: Vec<&Range<usize>> =
                all.iter().filter(|one| one.contains(&offset)).collect();
            expected.sort_by_key(|one| one.len());
            prop_assert_eq!(found, expected);
            let range = offset..offset + length;
            let mut beginning: Vec<i32> =
                nesting.beginning_in(&range).iter().map(|one| one.value).collect();
            beginning.sort_unstable();
            let expected: Vec<i32> = all
                .iter()
                .zip(0..)
                .filter(|(one, _)| range.contains(&one.start))
                .map(|(_, value)| value)
                .collect();
            prop_assert_eq!(beginning, expected);
        }
    }
}
