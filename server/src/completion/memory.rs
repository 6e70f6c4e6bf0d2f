//! What was answered before and still holds: the same place asked for again, and a completion
//! whose beginning the person types.

use std::collections::VecDeque;
use std::sync::Arc;

use super::trace::Completion;
use crate::context::Window;

/// The last answers, newest first, within bounds of number and size.
#[derive(Debug, Default)]
pub(super) struct Memory {
    answers: VecDeque<Answered>,
    /// Bytes of prefixes and suffixes held.
    bytes: usize,
}

/// A place that a completion was asked for, and under which settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The document.
    pub(super) uri: String,
    /// All before the cursor.
    pub(super) prefix: Arc<str>,
    /// All after the cursor.
    pub(super) suffix: Arc<str>,
    /// The settings of model, context and clean-up, with what the request gave beside the place
    /// where that is heeded.
    pub(super) settings: u64,
}

/// An answer with its question.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) asked: Arc<Asked>,
    pub(super) completion: Arc<Completion>,
}

/// The most answers kept.
const MOST_ANSWERS: usize = 64;

/// The most bytes of text kept with them.
const MOST_BYTES: usize = 16 << 20;

/// What editors put after the cursor by themselves when a person opens a bracket or a string.
const CLOSERS: [char; 6] = [')', ']', '}', '"', '\'', '`'];

impl Asked {
    /// What was typed from here to a later place, without what the editor closed by itself;
    /// nothing where the places don't belong together.
    pub(super) fn leads_to<'a>(&self, now: &'a Self) -> Option<&'a str> {
        if self.uri != now.uri || self.settings != now.settings {
            return None;
        }
        let closers = now.suffix.strip_suffix(&*self.suffix)?;
        let typed = now.prefix.strip_prefix(&*self.prefix)?;
        let closed = closers.chars().all(|closer| CLOSERS.contains(&closer));
        (closed && (closers.is_empty() || !typed.is_empty())).then_some(typed)
    }
}

impl Memory {
    /// Keeps an answer, and forgets the oldest where there are too many.
    pub(super) fn keep(&mut self, answered: Answered) {
        self.forget(|kept| kept.asked == answered.asked);
        self.bytes += size(&answered);
        self.answers.push_front(answered);
        while self.answers.len() > MOST_ANSWERS
            || (self.bytes > MOST_BYTES && self.answers.len() > 1)
        {
            if let Some(oldest) = self.answers.pop_back() {
                self.bytes -= size(&oldest);
            }
        }
    }

    /// What is left of the newest answer whose beginning was typed since.
    pub(super) fn typed_through(&self, now: &Asked) -> Option<(&Completion, Vec<String>)> {
        self.answers.iter().find_map(|answered| {
            let left = carried(&answered.asked, &answered.completion.candidates, now)?;
            (answered.asked.prefix != now.prefix).then_some((&*answered.completion, left))
        })
    }

    /// The answer to the same question with the same windows.
    pub(super) fn same(&self, now: &Asked, windows: &[Window]) -> Option<&Completion> {
        self.answers
            .iter()
            .find(|answered| {
                *answered.asked == *now && alike(&answered.completion.trace.windows, windows)
            })
            .map(|answered| &*answered.completion)
    }

    fn forget(&mut self, which: impl Fn(&Answered) -> bool) {
        let bytes = &mut self.bytes;
        self.answers.retain(|answered| {
            let forgotten = which(answered);
            if forgotten {
                *bytes -= size(answered);
            }
            !forgotten
        });
    }
}

fn size(answered: &Answered) -> usize {
    answered.asked.prefix.len() + answered.asked.suffix.len()
}

/// Whether a model would be told the same; scores are not told.
fn alike(a: &[Window], b: &[Window]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.path == b.path && a.text == b.text)
}

/// What is left of candidates for `earlier` when the person typed on to `now`; nothing where the
/// places don't belong together or no candidate begins with what was typed. Where the editor
/// closed a bracket or a string after the cursor, the rest up to that closer is left.
pub(super) fn carried(earlier: &Asked, candidates: &[String], now: &Asked) -> Option<Vec<String>> {
    let typed = earlier.leads_to(now)?;
    let closers = now.suffix.strip_suffix(&*earlier.suffix)?;
    let left: Vec<String> = candidates
        .iter()
        .filter_map(|candidate| {
            let rest = candidate.strip_prefix(typed)?;
            let rest = if closers.is_empty() {
                rest
            } else {
                let line = rest.split(['\n', '\r']).next().unwrap_or_default();
                line.strip_suffix(closers)?
            };
            (!rest.is_empty()).then(|| rest.to_owned())
        })
        .collect();
    (!left.is_empty()).then_some(left)
}

/// Whether a model that has written `heard` so far for `earlier` may still be right, when `typed`
/// stands between the earlier prefix and suffix now.
pub(super) fn agrees(heard: &str, typed: &str) -> bool {
    let opened = typed.trim_end_matches(CLOSERS);
    heard.starts_with(typed)
        || typed.starts_with(heard)
        || (opened.len() < typed.len()
            && !opened.is_empty()
            && (heard.starts_with(opened) || opened.starts_with(heard)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::trace::Trace;
    use super::*;

    /// The place at the `$0` of a fixture.
    fn asked(fixture: &str) -> Asked {
        let (prefix, suffix) = fixture.split_once("$0").expect("a cursor");
        Asked {
            uri: "file:///a.py".to_owned(),
            prefix: prefix.into(),
            suffix: suffix.into(),
            settings: 1,
        }
    }

    fn answered(fixture: &str, candidates: &[&str]) -> Answered {
        Answered {
            asked: Arc::new(asked(fixture)),
            completion: Arc::new(Completion {
                candidates: candidates.iter().map(|text| (*text).to_owned()).collect(),
                trace: Trace::default(),
            }),
        }
    }

    fn left(earlier: &str, candidates: &[&str], now: &str) -> Vec<String> {
        let mut memory = Memory::default();
        memory.keep(answered(earlier, candidates));
        memory
            .typed_through(&asked(now))
            .map(|(_, left)| left)
            .unwrap_or_default()
    }

    #[test]
    fn what_is_shown_stays_while_its_beginning_is_typed() {
        assert_eq!(
            left("x = $0\n", &["foo(a)", "fob"], "x = fo$0\n"),
            ["o(a)", "b"]
        );
        assert_eq!(left("x = $0\n", &["foo(a)", "fob"], "x = foo$0\n"), ["(a)"]);
    }

    #[test]
    fn what_was_typed_whole_or_otherwise_is_asked_anew() {
        assert!(left("x = $0\n", &["foo"], "x = foo$0\n").is_empty());
        assert!(left("x = $0\n", &["foo"], "x = g$0\n").is_empty());
        assert!(left("x = $0\n", &["foo"], "y = f$0\n").is_empty());
        assert!(left("x = $0\n", &["foo"], "x = f$0\ny\n").is_empty());
        assert!(left("x = $0\n", &["foo"], "x =$0\n").is_empty());
    }

    #[test]
    fn a_closer_that_the_editor_put_in_is_not_offered_again() {
        assert_eq!(left("f$0\n", &["(a, b)\ng()"], "f($0)\n"), ["a, b"]);
        assert_eq!(left("s = $0\n", &["\"abc\""], "s = \"$0\"\n"), ["abc"]);
        assert!(left("f$0\n", &["(a, b) + 1"], "f($0)\n").is_empty());
    }

    #[test]
    fn the_same_question_gets_the_same_answer() {
        let mut memory = Memory::default();
        memory.keep(answered("x = $0\n", &["1"]));
        let place = asked("x = $0\n");
        assert!(memory.same(&place, &[]).is_some());
        let window = Window {
            path: "b.py".to_owned(),
            first_line: 0,
            text: "y = 2".to_owned(),
            score: 1.0,
        };
        assert!(memory.same(&place, &[window]).is_none());
        let elsewhere = Asked {
            uri: "file:///b.py".to_owned(),
            ..place.clone()
        };
        assert!(memory.same(&elsewhere, &[]).is_none());
        let otherwise = Asked {
            settings: 2,
            ..place
        };
        assert!(memory.same(&otherwise, &[]).is_none());
    }

    #[test]
    fn the_newest_answer_counts_and_the_oldest_goes() {
        let mut memory = Memory::default();
        for number in 0..2 * MOST_ANSWERS {
            memory.keep(answered(&format!("x{number} = $0\n"), &["1"]));
        }
        memory.keep(answered("x = $0\n", &["first"]));
        memory.keep(answered("x = $0\n", &["fast"]));
        assert_eq!(memory.answers.len(), MOST_ANSWERS);
        let (_, left) = memory
            .typed_through(&asked("x = f$0\n"))
            .expect("it begins so");
        assert_eq!(left, ["ast"]);
        let held: usize = memory.answers.iter().map(size).sum();
        assert_eq!(memory.bytes, held);
    }

    #[test]
    fn a_running_answer_agrees_with_typing_either_way() {
        assert!(agrees("foo", "f"));
        assert!(agrees("f", "foo"));
        assert!(agrees("", "foo"));
        assert!(agrees("(a, b)", "()"));
        assert!(!agrees("foo", "b"));
        assert!(!agrees("foo", ")"));
    }

    proptest! {
        /// Typed text and what is left make up the candidate.
        #[test]
        fn nothing_is_lost_or_added(
            prefix in "[a-z \n]{0,8}", suffix in "[a-z \n]{0,8}",
            candidate in "[a-z()\n é]{1,12}", at in 0usize..12,
        ) {
            let cut = candidate.char_indices().map(|(index, _)| index).nth(at).unwrap_or(0);
            let (typed, rest) = candidate.split_at(cut);
            let earlier = asked(&format!("{prefix}$0{suffix}"));
            let now = asked(&format!("{prefix}{typed}$0{suffix}"));
            let left = carried(&earlier, std::slice::from_ref(&candidate), &now);
            prop_assert_eq!(left, Some(vec![rest.to_owned()]));
        }
    }
}
