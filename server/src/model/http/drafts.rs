//! Candidates while they are streamed: their stops, ends, and updates to a listener.

use super::protocol::CandidatePiece;
use crate::model::{Finish, RawCandidate, TextListener};

/// The candidates of one response.
#[derive(Debug)]
pub(super) struct Drafts(Vec<Draft>);

/// One candidate so far.
#[derive(Debug, Default)]
struct Draft {
    text: String,
    /// Number of bytes of the text before any possible beginning of a stop.
    safe: usize,
    /// True if the server has sent a piece of it.
    begun: bool,
    /// True if the listener has received any of it.
    announced: bool,
    finish: Option<Finish>,
    /// True if the server sent reasoning separately from the text.
    thought: bool,
    log_probability: f64,
    tokens: usize,
}

impl Drafts {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Draft::default()).collect())
    }

    /// Adds a piece to a candidate. Passes new text to the listener, except an end that may be the
    /// beginning of a stop. Pieces after a candidate's end are dropped.
    pub(super) fn push(
        &mut self,
        index: usize,
        piece: &CandidatePiece,
        stops: &[String],
        listener: &dyn TextListener,
    ) {
        let draft = &mut self.0[index];
        draft.begun = true;
        if draft.finish.is_some() {
            return;
        }
        draft.text.push_str(&piece.text);
        draft.thought |= piece.thought;
        draft.tokens += piece.log_probabilities.len();
        draft.log_probability += piece.log_probabilities.iter().sum::<f64>();
        // No stop begins in the safe part, so only the rest is searched. The stop that completes
        // first counts, as on servers, however the text is split into pieces.
        let rest = &draft.text[draft.safe..];
        let stop = stops
            .iter()
            .filter_map(|stop| Some((rest.find(stop.as_str())?, stop.len())))
            .min_by_key(|(at, length)| (at + length, *at))
            .map(|(at, _)| at);
        let end = match stop {
            Some(at) => {
                draft.text.truncate(draft.safe + at);
                Some(Finish::Stop)
            }
            None => piece.finish,
        };
        let safe = match end {
            Some(_) => draft.text.len(),
            None => draft.text.len() - open_stop(&draft.text[draft.safe..], stops),
        };
        // A candidate that ends without any text is announced, too.
        let news = safe > draft.safe || (end.is_some() && !draft.announced);
        draft.safe = safe;
        draft.finish = end;
        if news {
            draft.announced = true;
            if listener.receive(index, &draft.text[..safe]).is_break() {
                draft.text.truncate(safe);
                draft.finish = Some(Finish::Enough);
            }
        }
    }

    /// Ends a candidate that has begun and not ended.
    pub(super) fn end(&mut self, index: usize, listener: &dyn TextListener) {
        if self.0[index].begun {
            let last = CandidatePiece {
                finish: Some(Finish::Stop),
                ..CandidatePiece::default()
            };
            self.push(index, &last, &[], listener);
        }
    }

    /// Begins and ends a candidate for which the server sent nothing.
    pub(super) fn end_empty(&mut self, index: usize, listener: &dyn TextListener) {
        self.0[index].begun = true;
        self.end(index, listener);
    }

    /// True if the server has sent a piece of this candidate.
    pub(super) fn has_begun(&self, index: usize) -> bool {
        self.0[index].begun
    }

    /// True if this candidate has ended.
    pub(super) fn has_ended(&self, index: usize) -> bool {
        self.0[index].finish.is_some()
    }

    /// True if a listener has ended some candidate.
    pub(super) fn has_enough(&self) -> bool {
        self.0
            .iter()
            .any(|draft| draft.finish == Some(Finish::Enough))
    }

    /// Returns the candidates that have ended.
    pub(super) fn candidates(self) -> Vec<RawCandidate> {
        let ended = self.0.into_iter().filter_map(|draft| {
            Some(RawCandidate {
                finish: draft.finish?,
                thought: draft.thought,
                mean_log_probability: (draft.tokens > 0)
                    .then(|| draft.log_probability / draft.tokens as f64),
                text: draft.text,
            })
        });
        ended.collect()
    }
}

/// Returns the length in bytes of the longest end of a text that is the beginning of a stop.
fn open_stop(text: &str, stops: &[String]) -> usize {
    stops
        .iter()
        .flat_map(|stop| (1..stop.len()).map(|length| &stop.as_bytes()[..length]))
        .filter(|beginning| text.as_bytes().ends_with(beginning))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use std::ops::ControlFlow;

    use proptest::prelude::*;

    use super::*;

    /// Records what it receives, and ends a candidate once its text has this length.
    struct Notes {
        streamed: Mutex<Vec<String>>,
        enough: usize,
    }

    impl TextListener for Notes {
        fn receive(&self, _candidate: usize, text: &str) -> ControlFlow<()> {
            let mut streamed = self.streamed.lock();
            streamed.push(text.to_owned());
            if text.len() >= self.enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }

    fn played(pieces: &[&str], stops: &[&str], enough: usize) -> (Vec<String>, String, Finish) {
        let notes = Notes {
            streamed: Mutex::default(),
            enough,
        };
        let stops: Vec<_> = stops.iter().map(|&stop| stop.to_owned()).collect();
        let mut drafts = Drafts::new(1);
        for &text in pieces {
            let piece = CandidatePiece {
                text: text.to_owned(),
                ..CandidatePiece::default()
            };
            drafts.push(0, &piece, &stops, &notes);
        }
        drafts.end(0, &notes);
        let candidate = drafts.candidates().remove(0);
        let streamed = notes.streamed.into_inner();
        (streamed, candidate.text, candidate.finish)
    }

    #[test]
    fn a_stop_in_pieces_does_not_leak() {
        let (streamed, text, finish) = played(
            &["a <", "|fi", "le", "_sep|", "> b"],
            &["<|endoftext|>", "<|file_sep|>"],
            usize::MAX,
        );
        assert_eq!(streamed, ["a "]);
        assert_eq!((text.as_str(), finish), ("a ", Finish::Stop));
    }

    #[test]
    fn partial_stop_is_passed_on_once_refuted() {
        let (streamed, text, _) =
            played(&["a <", "|fil", "e<", "|"], &["<|file_sep|>"], usize::MAX);
        assert_eq!(streamed, ["a ", "a <|file", "a <|file<|"]);
        assert_eq!(text, "a <|file<|");
    }

    #[test]
    fn the_first_of_several_stops_counts() {
        let (_, text, _) = played(&["ab<2>c<1>"], &["<1>", "<2>"], usize::MAX);
        assert_eq!(text, "ab");
    }

    #[test]
    fn stops_of_wide_characters_are_held_back_whole() {
        let (streamed, text, _) =
            played(&["é<｜", "fim▁", "end｜>x"], &["<｜fim▁end｜>"], usize::MAX);
        assert_eq!(streamed, ["é"]);
        assert_eq!(text, "é");
    }

    #[test]
    fn candidate_ends_where_the_listener_breaks() {
        let (streamed, text, finish) = played(&["ab", "cd<", "ef", "gh"], &["<|"], 4);
        assert_eq!(streamed, ["ab", "abcd"]);
        assert_eq!((text.as_str(), finish), ("abcd", Finish::Enough));
    }

    #[test]
    fn empty_candidate_is_reported_once() {
        let (streamed, text, finish) = played(&["", ""], &[], usize::MAX);
        assert_eq!(streamed, [""]);
        assert_eq!((text.as_str(), finish), ("", Finish::Stop));
    }

    #[test]
    fn the_mean_is_over_the_tokens() {
        let mut drafts = Drafts::new(2);
        for (text, log_probabilities) in [("a", vec![-1.0, -2.0]), ("b", vec![-6.0])] {
            let piece = CandidatePiece {
                text: text.to_owned(),
                log_probabilities,
                ..CandidatePiece::default()
            };
            drafts.push(0, &piece, &[], &crate::model::UnlimitedListener);
        }
        drafts.end(0, &crate::model::UnlimitedListener);
        drafts.end(1, &crate::model::UnlimitedListener);
        let candidates = drafts.candidates();
        assert_eq!(candidates.len(), 1, "the other never began");
        assert_eq!(candidates[0].mean_log_probability, Some(-3.0));
    }

    proptest! {
        #[test]
        fn text_does_not_depend_on_pieces(
            pieces in prop::collection::vec("[ab<>|é]{0,3}", 0..12),
            stops in prop::collection::vec("[ab<>|é]{1,4}", 0..4),
        ) {
            let whole = pieces.concat();
            // The stop that completes first counts; of several, the longest.
            let expected = stops
                .iter()
                .filter_map(|stop| Some((whole.find(stop.as_str())?, stop.len())))
                .min_by_key(|(at, length)| (at + length, *at))
                .map(|(at, _)| at);
            let expected = &whole[..expected.unwrap_or(whole.len())];
            let pieces: Vec<_> = pieces.iter().map(String::as_str).collect();
            let stops: Vec<_> = stops.iter().map(String::as_str).collect();
            prop_assume!(!pieces.is_empty());
            let (streamed, text, _) = played(&pieces, &stops, usize::MAX);
            prop_assert_eq!(&text, expected);
            for pair in streamed.windows(2) {
                let (shorter, longer) = (&pair[0], &pair[1]);
                prop_assert!(longer.starts_with(shorter.as_str()) && longer.len() > shorter.len());
            }
            prop_assert_eq!(streamed.last().map(String::as_str), Some(expected));
        }
    }
}
