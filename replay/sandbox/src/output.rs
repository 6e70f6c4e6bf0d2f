//! One captured output stream: its beginning, its end and its true length.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::encoded;

/// The part of a stream that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The first bytes; all of them if nothing was dropped.
    #[serde(with = "encoded::bytes")]
    pub head: Vec<u8>,
    /// The last bytes; empty if nothing was dropped.
    #[serde(with = "encoded::bytes")]
    pub tail: Vec<u8>,
    /// Number of bytes between the two that were dropped.
    pub dropped: u64,
}

impl Captured {
    /// The stream as text, with a line in place of what was dropped. Bytes that are no UTF-8
    /// become replacement characters.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let head = String::from_utf8_lossy(&self.head);
        if self.dropped == 0 {
            return head;
        }
        let tail = String::from_utf8_lossy(&self.tail);
        Cow::Owned(format!("{head}\n[{} bytes left out]\n{tail}", self.dropped))
    }
}

/// A stream while it is being captured.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    dropped: u64,
}

impl Capture {
    /// Keeps the first and the last half of `kept` bytes.
    pub(super) fn new(kept: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: kept / 2,
            dropped: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.half - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.dropped += surplus as u64;
    }

    pub(super) fn finish(self) -> Captured {
        let mut head = self.head;
        let mut tail = Vec::from(self.tail);
        if self.dropped == 0 {
            head.append(&mut tail);
        }
        Captured {
            head,
            tail,
            dropped: self.dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn beginning_end_and_length_are_true(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
            kept in 0usize..100,
        ) {
            let all = chunks.concat();
            let mut capture = Capture::new(kept);
            for chunk in &chunks {
                capture.push(chunk);
            }
            let captured = capture.finish();
            prop_assert!(all.starts_with(&captured.head));
            prop_assert!(all.ends_with(&captured.tail));
            prop_assert_eq!(
                captured.head.len() as u64 + captured.tail.len() as u64 + captured.dropped,
                all.len() as u64
            );
            prop_assert!(captured.head.len() + captured.tail.len() <= kept);
            if all.len() <= kept / 2 * 2 {
                prop_assert_eq!(captured.head, all);
            }
        }
    }

    #[test]
    fn what_was_dropped_is_said() {
        let mut capture = Capture::new(4);
        capture.push(b"abcdefgh");
        assert_eq!(capture.finish().text(), "ab\n[4 bytes left out]\ngh");
    }
}
