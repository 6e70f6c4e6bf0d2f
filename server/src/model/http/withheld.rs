//! The blank before the cursor, which a prompt leaves out and an answer repeats.
//!
//! Tokenizers join the last blank with the word after it: ` for`, not ` ` and `for`. A prompt that
//! ends in a blank is one that a model hardly ever saw, and its answer begins with another blank, a
//! line end or in the wrong place. All blanks but the last stay: they tell how deep the line is.

use std::ops::ControlFlow;

use crate::model::TextListener;

/// The blank that a prompt leaves out at its prefix's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WithheldBlank<'a>(&'a str);

impl<'a> WithheldBlank<'a> {
    /// The part of a prefix that a prompt has, and the blank that it leaves out, if it ends in one.
    pub(super) fn split(prefix: &'a str) -> Option<(&'a str, Self)> {
        let kept = prefix.strip_suffix([' ', '\t'])?;
        Some((kept, Self(&prefix[kept.len()..])))
    }

    /// The text of an answer after the blank that is before the cursor already.
    pub(super) fn strip(self, text: &str) -> &str {
        text.strip_prefix(self.0).unwrap_or(text)
    }
}

/// Passes streamed text on without the blank that is before the cursor.
pub(super) struct StrippingListener<'a> {
    pub(super) withheld: WithheldBlank<'a>,
    pub(super) listener: &'a dyn TextListener,
}

impl TextListener for StrippingListener<'_> {
    fn receive(&self, candidate: usize, text: &str) -> ControlFlow<()> {
        self.listener.receive(candidate, self.withheld.strip(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_blank_is_withheld_and_stripped() {
        let (kept, withheld) = WithheldBlank::split("def f():\n    ").expect("it ends in a blank");
        assert_eq!(kept, "def f():\n   ");
        assert_eq!(withheld.strip(" return 1"), "return 1");
        assert_eq!(withheld.strip("return 1"), "return 1");
        assert_eq!(withheld.strip("     return 1"), "    return 1");
        let (kept, withheld) = WithheldBlank::split("x =\t").expect("it ends in a blank");
        assert_eq!((kept, withheld.strip("\t1")), ("x =", "1"));
    }

    #[test]
    fn other_prefixes_are_sent_whole() {
        for prefix in ["", "x", "x\n", "é"] {
            assert_eq!(WithheldBlank::split(prefix), None);
        }
    }
}
