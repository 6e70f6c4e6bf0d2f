//! Valid earlier completions: for the same request again, and while the person types their
//! beginning.

use std::collections::VecDeque;
use std::sync::Arc;

use super::trace::Completion;
use crate::context::Window;

/// The latest completions, newest first, limited in number and size.
#[derive(Debug, Default)]
pub(super) struct CompletionCache {
    completions: VecDeque<CachedCompletion>,
    /// Number of bytes of all prefixes and suffixes.
    bytes: usize,
}

/// Key of a request: a cursor and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestKey {
    /// The document.
    pub(super) uri: String,
    /// The protocol identifier of its language, which a client may change.
    pub(super) language_id: String,
    /// The document up to the cursor; of a large document, its end.
    pub(super) prefix: Arc<str>,
    /// The document from the cursor on; of a large document, its beginning.
    pub(super) suffix: Arc<str>,
    /// Number of bytes of the document before the prefix.
    pub(super) before: usize,
    /// Number of bytes of the document after the suffix.
    pub(super) after: usize,
    /// The settings, with the request's own context if the settings use it.
    pub(super) settings: SettingsKey,
}

/// A completion with the request it was made for.
#[derive(Clone, Debug)]
pub(super) struct CachedCompletion {
    pub(super) key: Arc<RequestKey>,
    pub(super) completion: Arc<Completion>,
}

/// A hash of settings.
pub(super) type SettingsKey = [u8; 32];

/// Maximum number of completions.
const MAX_COMPLETIONS: usize = 64;

/// Maximum number of bytes of prefixes and suffixes.
const MAX_BYTES: usize = 16 << 20;

/// Characters that editors insert after the cursor when a person opens a bracket or a string.
const CLOSERS: [char; 6] = [')', ']', '}', '"', '\'', '`'];

impl RequestKey {
    /// Returns the cursor's offset in the document.
    pub(super) fn cursor(&self) -> usize {
        self.before + self.prefix.len()
    }

    /// Returns the number of bytes of the document after the cursor.
    pub(super) fn rest(&self) -> usize {
        self.suffix.len() + self.after
    }

    /// Returns the text typed between this request and a later one, without characters inserted by
    /// the editor, and then these; `None` if the later one does not continue this one.
    pub(super) fn leads_to<'a>(&self, now: &'a Self) -> Option<(&'a str, &'a str)> {
        let is_same_document = self.uri == now.uri && self.language_id == now.language_id;
        if !is_same_document || self.settings != now.settings {
            return None;
        }
        let typed = now.cursor().checked_sub(self.cursor())?;
        let (before, typed) = now
            .prefix
            .split_at_checked(now.prefix.len().checked_sub(typed)?)?;
        let (closers, after) = now
            .suffix
            .split_at_checked(now.rest().checked_sub(self.rest())?)?;
        // The parts of a large document may begin and end elsewhere.
        let is_same = (before.ends_with(&*self.prefix) || self.prefix.ends_with(before))
            && (after.starts_with(&*self.suffix) || self.suffix.starts_with(after));
        // An editor inserts closers only when something is typed; otherwise another edit added
        // them.
        let closed = closers.chars().all(|closer| CLOSERS.contains(&closer));
        (is_same && closed && (closers.is_empty() || !typed.is_empty())).then_some((typed, closers))
    }
}

impl CompletionCache {
    /// Adds a completion, and drops the oldest ones beyond the limits.
    pub(super) fn keep(&mut self, cached: CachedCompletion) {
        self.remove(|kept| kept.key == cached.key);
        self.bytes += size(&cached);
        self.completions.push_front(cached);
        while self.completions.len() > MAX_COMPLETIONS
            // The newest completion stays at any size, as the person may be typing through it.
            || (self.bytes > MAX_BYTES && self.completions.len() > 1)
        {
            if let Some(oldest) = self.completions.pop_back() {
                self.bytes -= size(&oldest);
            }
        }
    }

    /// Returns the rest of the newest completion whose beginning was typed since.
    pub(super) fn typed_through(&self, now: &RequestKey) -> Option<(&Completion, Vec<String>)> {
        self.completions.iter().find_map(|cached| {
            let left = remaining_candidates(&cached.key, &cached.completion.candidates, now)?;
            // At the same cursor nothing was typed; `same` serves that case, as it compares the
            // windows too.
            (cached.key.cursor() != now.cursor()).then_some((&*cached.completion, left))
        })
    }

    /// Returns the completion of the same request with the same windows.
    pub(super) fn same(&self, now: &RequestKey, windows: &[Window]) -> Option<&Completion> {
        self.completions
            .iter()
            .find(|cached| {
                *cached.key == *now && prompt_equally(&cached.completion.trace.windows, windows)
            })
            .map(|cached| &*cached.completion)
    }

    fn remove(&mut self, which: impl Fn(&CachedCompletion) -> bool) {
        let bytes = &mut self.bytes;
        self.completions.retain(|cached| {
            let removed = which(cached);
            if removed {
                *bytes -= size(cached);
            }
            !removed
        });
    }
}

fn size(cached: &CachedCompletion) -> usize {
    cached.key.prefix.len() + cached.key.suffix.len()
}

/// True if windows give the same prompt; it does not contain scores.
fn prompt_equally(a: &[Window], b: &[Window]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.path == b.path && a.text == b.text)
}

/// Returns the rest of an earlier request's candidates after the person typed on; `None` if the
/// later request does not continue it, or no candidate begins with the typed text. If the editor
/// closed a bracket or a string after the cursor, the rest ends before that closer.
pub(super) fn remaining_candidates(
    earlier: &RequestKey,
    candidates: &[String],
    now: &RequestKey,
) -> Option<Vec<String>> {
    // Most completions of a document are shorter than what was typed since, which needs no
    // comparison of the texts around.
    let typed = now.cursor().checked_sub(earlier.cursor())?;
    if candidates.iter().all(|candidate| candidate.len() <= typed) {
        return None;
    }
    let (typed, closers) = earlier.leads_to(now)?;
    let left: Vec<String> = candidates
        .iter()
        .filter_map(|candidate| {
            let rest = candidate.strip_prefix(typed)?;
            let rest = if closers.is_empty() {
                rest
            } else {
                // Text after the candidate's first line would follow the closers, so it is dropped.
                let line = rest.split(['\n', '\r']).next().unwrap_or_default();
                line.strip_suffix(closers)?
            };
            (!rest.is_empty()).then(|| rest.to_owned())
        })
        .collect();
    (!left.is_empty()).then_some(left)
}

/// True if a candidate that begins with `streamed` may still fit after `typed` was typed.
pub(super) fn agrees(streamed: &str, typed: &str) -> bool {
    // The text between prefix and suffix ends with the closers that the editor has inserted.
    let opened = typed.trim_end_matches(CLOSERS);
    streamed.starts_with(typed)
        || typed.starts_with(streamed)
        || (opened.len() < typed.len()
            && !opened.is_empty()
            && (streamed.starts_with(opened) || opened.starts_with(streamed)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::trace::Trace;
    use super::*;

    /// The request at the `$0` of a fixture.
    fn key(fixture: &str) -> RequestKey {
        let (prefix, suffix) = fixture.split_once("$0").expect("a cursor");
        RequestKey {
            uri: "file:///a.py".to_owned(),
            language_id: "python".to_owned(),
            prefix: prefix.into(),
            suffix: suffix.into(),
            before: 0,
            after: 0,
            settings: [1; 32],
        }
    }

    fn cached(fixture: &str, candidates: &[&str]) -> CachedCompletion {
        CachedCompletion {
            key: Arc::new(key(fixture)),
            completion: Arc::new(Completion {
                candidates: candidates.iter().map(|text| (*text).to_owned()).collect(),
                trace: Trace::default(),
            }),
        }
    }

    fn left(earlier: &str, candidates: &[&str], now: &str) -> Vec<String> {
        let mut cache = CompletionCache::default();
        cache.keep(cached(earlier, candidates));
        cache
            .typed_through(&key(now))
            .map(|(_, left)| left)
            .unwrap_or_default()
    }

    #[test]
    fn candidates_hold_while_their_beginning_is_typed() {
        assert_eq!(
            left("x = $0\n", &["foo(a)", "fob"], "x = fo$0\n"),
            ["o(a)", "b"]
        );
        assert_eq!(left("x = $0\n", &["foo(a)", "fob"], "x = foo$0\n"), ["(a)"]);
    }

    #[test]
    fn candidates_typed_whole_or_otherwise_do_not_hold() {
        assert!(left("x = $0\n", &["foo"], "x = foo$0\n").is_empty());
        assert!(left("x = $0\n", &["foo"], "x = g$0\n").is_empty());
        assert!(left("x = $0\n", &["foo"], "y = f$0\n").is_empty());
        assert!(left("x = $0\n", &["foo"], "x = f$0\ny\n").is_empty());
        assert!(left("x = $0\n", &["foo"], "x =$0\n").is_empty());
    }

    #[test]
    fn closer_inserted_by_editor_is_not_offered_again() {
        assert_eq!(left("f$0\n", &["(a, b)\ng()"], "f($0)\n"), ["a, b"]);
        assert_eq!(left("s = $0\n", &["\"abc\""], "s = \"$0\"\n"), ["abc"]);
        assert!(left("f$0\n", &["(a, b) + 1"], "f($0)\n").is_empty());
    }

    #[test]
    fn same_request_gets_cached_completion() {
        let mut cache = CompletionCache::default();
        cache.keep(cached("x = $0\n", &["1"]));
        let request = key("x = $0\n");
        assert!(cache.same(&request, &[]).is_some());
        let window = Window {
            path: "b.py".to_owned(),
            first_line: 0,
            text: "y = 2".to_owned(),
            score: 1.0,
        };
        assert!(cache.same(&request, &[window]).is_none());
        let elsewhere = RequestKey {
            uri: "file:///b.py".to_owned(),
            ..request.clone()
        };
        assert!(cache.same(&elsewhere, &[]).is_none());
        let otherwise = RequestKey {
            settings: [2; 32],
            ..request
        };
        assert!(cache.same(&otherwise, &[]).is_none());
    }

    #[test]
    fn another_language_gets_no_cached_completion() {
        let mut cache = CompletionCache::default();
        cache.keep(cached("x = $0\n", &["foo"]));
        let in_ruby = |fixture| RequestKey {
            language_id: "ruby".to_owned(),
            ..key(fixture)
        };
        assert!(cache.same(&in_ruby("x = $0\n"), &[]).is_none());
        assert!(cache.typed_through(&in_ruby("x = f$0\n")).is_none());
    }

    #[test]
    fn newest_completion_holds_and_oldest_is_dropped() {
        let mut cache = CompletionCache::default();
        for number in 0..2 * MAX_COMPLETIONS {
            cache.keep(cached(&format!("x{number} = $0\n"), &["1"]));
        }
        cache.keep(cached("x = $0\n", &["first"]));
        cache.keep(cached("x = $0\n", &["fast"]));
        assert_eq!(cache.completions.len(), MAX_COMPLETIONS);
        let (_, left) = cache
            .typed_through(&key("x = f$0\n"))
            .expect("it begins so");
        assert_eq!(left, ["ast"]);
        let held: usize = cache.completions.iter().map(size).sum();
        assert_eq!(cache.bytes, held);
    }

    #[test]
    fn streamed_text_agrees_with_typing_either_way() {
        assert!(agrees("foo", "f"));
        assert!(agrees("f", "foo"));
        assert!(agrees("", "foo"));
        assert!(agrees("(a, b)", "()"));
        assert!(!agrees("foo", "b"));
        assert!(!agrees("foo", ")"));
    }

    proptest! {
        /// Typed text and rest add up to the candidate.
        #[test]
        fn typed_text_and_rest_make_up_the_candidate(
            prefix in "[a-z \n]{0,8}", suffix in "[a-z \n]{0,8}",
            candidate in "[a-z()\n é]{1,12}", at in 0usize..12,
        ) {
            let cut = candidate.char_indices().map(|(index, _)| index).nth(at).unwrap_or(0);
            let (typed, rest) = candidate.split_at(cut);
            let earlier = key(&format!("{prefix}$0{suffix}"));
            let now = key(&format!("{prefix}{typed}$0{suffix}"));
            let left = remaining_candidates(&earlier, std::slice::from_ref(&candidate), &now);
            prop_assert_eq!(left, Some(vec![rest.to_owned()]));
            // Of a large document, the later request may have another part.
            let (cut, end) = (prefix.len() / 2, suffix.len() / 2);
            let part = RequestKey {
                prefix: now.prefix[cut..].into(),
                suffix: now.suffix[..end].into(),
                before: cut,
                after: suffix.len() - end,
                ..now
            };
            let left = remaining_candidates(&earlier, std::slice::from_ref(&candidate), &part);
            prop_assert_eq!(left, Some(vec![rest.to_owned()]));
        }
    }
}
