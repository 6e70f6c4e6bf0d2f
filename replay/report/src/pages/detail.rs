//! Holes with all that is known of their attempts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fillrate_engine::store::{Attempt, AuditRecord, TypingAttempt};
use fillrate_language::task::Hole;
use fillrate_server::completion::{CandidateStep, Trace};
use fillrate_server::context::Window;
use fillrate_syntax::text::LineIndex;
use serde::Serialize;
use similar::{Algorithm, ChangeTag, TextDiff};

use super::files::{self, MarkedFile, SyntaxPiece};
use super::{HtmlReport, HtmlReportError, cut};
use crate::scored::ScoredAttempt;

/// The most lines that are shown before a hole and after it.
const LINES_AROUND: usize = 200;

/// Timeout for finding the smallest difference; after it, a larger one is shown.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// Contents of `data/hole-N.js`.
#[derive(Serialize)]
pub(super) struct Details<'a> {
    /// The number of the first of these holes among all.
    first: usize,
    holes: Vec<Detail<'a>>,
}

#[derive(Serialize)]
struct Detail<'a> {
    #[serde(flatten)]
    hole: &'a Hole,
    /// Name of its file among all.
    file: &'a str,
    /// The one-based number of the first line of `before`.
    first_line: usize,
    before: Vec<SyntaxPiece>,
    inside: Vec<SyntaxPiece>,
    after: Vec<SyntaxPiece>,
    /// Lines of the file that are left out above and below.
    left_out: (usize, usize),
    /// The contexts that models received; an attempt has the index of its own.
    prompts: Vec<ModelInput>,
    attempts: Vec<AttemptDetail>,
    /// Typings of simulated developers, each with its run's number.
    typings: Vec<(usize, &'a TypingAttempt)>,
}

/// The context that a model received.
#[derive(PartialEq, Serialize)]
struct ModelInput {
    windows: Vec<Window>,
    prompt: String,
}

#[derive(Serialize)]
struct AttemptDetail {
    /// The run's number.
    run: usize,
    #[serde(flatten)]
    attempt: Attempt,
    /// Latency of the answer in milliseconds; `None` for completions that were recorded.
    measured_ms: Option<f64>,
    accepted: Option<bool>,
    probability: Option<f64>,
    invocation: Option<f64>,
    /// The text metrics of the report.
    text: BTreeMap<&'static str, f64>,
    /// From the reference to the completion: −1 what only the reference has, 0 what both have, 1
    /// what only the completion has.
    difference: Vec<(i8, String)>,
    /// The index of the context that the model received.
    input: Option<usize>,
    /// Origin of the candidates.
    steps: Vec<CandidateStep>,
    audit: Option<AuditRecord>,
}

impl HtmlReport {
    pub(super) fn details(&self, shard: usize) -> Result<Details<'_>, HtmlReportError> {
        let size = self.holes_in_detail();
        let first = shard * size;
        let mut holes = Vec::new();
        let end = (first + size).min(self.holes.len());
        for place in first..end {
            holes.push(self.detail(place)?);
        }
        Ok(Details { first, holes })
    }

    fn detail(&self, place: usize) -> Result<Detail<'_>, HtmlReportError> {
        let hole = &self.holes[place];
        let mut prompts: Vec<ModelInput> = Vec::new();
        let mut attempts = Vec::new();
        for (run, reported) in self.reported_runs.iter().enumerate() {
            let Some(of_hole) = reported.by_hole.get(&place) else {
                continue;
            };
            // A run of another version of the file scores its completions in that one.
            let hole = reported.hole(place, &self.holes);
            let contents = reported.run.source(hole)?;
            for at in of_hole {
                let key = &reported.scored[*at].attempt.key;
                let attempt = reported.run.attempt(key)?;
                let audit = reported.audits.get(key).cloned();
                let scored = ScoredAttempt::score(hole, &contents, attempt)
                    .timed(reported.run.has_latency()?);
                attempts.push(attempt_detail(run, hole, scored, audit, &mut prompts));
            }
        }
        let typings = self.reported_runs.iter().enumerate();
        let typings = typings.flat_map(|(run, reported)| {
            let of_hole = reported.developers.typed_where(|one| one.hole == hole.id);
            of_hole.into_iter().map(move |one| (run, one.typing))
        });
        let typings = typings.collect();
        attempts.sort_by_key(|one| (one.run, one.attempt.sample, one.attempt.repair_round));
        let contents = self.source(hole)?;
        let spans = files::spans(&hole.path, &contents);
        let (start, end) = (hole.start.0, hole.end.0);
        let (before, after) = hole.cut(&contents).unwrap_or_default();
        let (before, above) = last_lines(before);
        let (after, below) = first_lines(after);
        let file = self.files.iter().find(|file| file.has(place));
        Ok(Detail {
            hole,
            file: file.map_or("", MarkedFile::name),
            first_line: above + 1,
            before: files::pieces(&spans, &contents, start - before.len()..start),
            inside: files::pieces(&spans, &contents, start..end),
            after: files::pieces(&spans, &contents, end..end + after.len()),
            left_out: (above, below),
            prompts,
            attempts,
            typings,
        })
    }

    /// A hole's file, of the first run that has it.
    pub(super) fn source(&self, hole: &Hole) -> Result<String, HtmlReportError> {
        let mut last = Ok(String::new());
        for reported in &self.reported_runs {
            last = reported.run.source(hole);
            if last.is_ok() {
                break;
            }
        }
        Ok(last?)
    }
}

fn attempt_detail(
    run: usize,
    hole: &Hole,
    scored: ScoredAttempt,
    audit: Option<AuditRecord>,
    prompts: &mut Vec<ModelInput>,
) -> AttemptDetail {
    let mut attempt = scored.attempt;
    attempt.offered = attempt.offered.into_iter().map(cut).collect();
    let difference = difference(&hole.reference, attempt.completion());
    let mut input = None;
    let mut steps = Vec::new();
    if let Some(trace) = &mut attempt.trace {
        steps = std::mem::take(&mut trace.steps);
        for step in &mut steps {
            step.raw = cut(std::mem::take(&mut step.raw));
            for decision in &mut step.decisions {
                decision.removed = cut(std::mem::take(&mut decision.removed));
            }
        }
        let Trace {
            windows, prompt, ..
        } = trace;
        let this = ModelInput {
            windows: std::mem::take(windows),
            prompt: std::mem::take(prompt),
        };
        // Samples of one hole mostly have the same prompt, which is stored once.
        let known = prompts.iter().position(|known| *known == this);
        input = Some(known.unwrap_or_else(|| {
            prompts.push(this);
            prompts.len() - 1
        }));
    }
    AttemptDetail {
        run,
        attempt,
        measured_ms: scored.latency_ms,
        accepted: scored.accepted,
        probability: scored.probability,
        invocation: scored.invocation.repository,
        text: scored.text,
        difference,
        input,
        steps,
        audit,
    }
}

/// Returns the changes from the reference to the completion, token by token, in as few pieces as
/// there are.
fn difference(reference: &str, completion: &str) -> Vec<(i8, String)> {
    let (old, new) = (tokens(reference), tokens(completion));
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .deadline(Instant::now() + DIFF_TIMEOUT)
        .diff_slices(&old, &new);
    let mut pieces: Vec<(i8, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        let tag = match change.tag() {
            ChangeTag::Delete => -1,
            ChangeTag::Equal => 0,
            ChangeTag::Insert => 1,
        };
        match pieces.last_mut() {
            Some((last, text)) if *last == tag => text.push_str(change.value()),
            _ => pieces.push((tag, change.value().to_owned())),
        }
    }
    pieces
}

/// A text's words, runs of white space without line breaks, and other characters one by one.
fn tokens(text: &str) -> Vec<&str> {
    let class = |character: char| match character {
        '\n' => 0,
        _ if character.is_whitespace() => 1,
        _ if character.is_alphanumeric() || character == '_' => 2,
        _ => 3,
    };
    let mut tokens = Vec::new();
    let mut from = 0;
    let mut before = None;
    for (at, character) in text.char_indices() {
        let this = class(character);
        // Words and runs of blanks are one token each, line breaks and signs single ones.
        let goes_on = before == Some(this) && (this == 1 || this == 2);
        if !goes_on && at > from {
            tokens.push(&text[from..at]);
            from = at;
        }
        before = Some(this);
    }
    if from < text.len() {
        tokens.push(&text[from..]);
    }
    tokens
}

/// The last of a text's lines, and the number of lines before them.
fn last_lines(text: &str) -> (&str, usize) {
    let index = LineIndex::new(text);
    let above = (index.count() - 1).saturating_sub(LINES_AROUND);
    let from = index.range(above).map_or(0, |line| line.start);
    (&text[from..], above)
}

/// The first of a text's lines, and the number of lines after them.
fn first_lines(text: &str) -> (&str, usize) {
    let index = LineIndex::new(text);
    let to = index
        .range(LINES_AROUND)
        .map_or(text.len(), |line| line.end);
    let below = (index.count() - 1).saturating_sub(LINES_AROUND);
    (&text[..to], below)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_falls_apart_into_tokens() {
        let found = tokens("a_1 = f(x,\n\n  é)");
        let expected = [
            "a_1", " ", "=", " ", "f", "(", "x", ",", "\n", "\n", "  ", "é", ")",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn difference_is_a_list_of_whole_words() {
        insta::assert_debug_snapshot!(difference("total = a + 1", "total = b + 1"), @r#"
        [
            (
                0,
                "total = ",
            ),
            (
                -1,
                "a",
            ),
            (
                1,
                "b",
            ),
            (
                0,
                " + 1",
            ),
        ]
        "#);
    }

    proptest! {
        #[test]
        fn a_difference_holds_both_texts(reference in "[ab \n]{0,12}", completion in "[ab \n]{0,12}") {
            let pieces = difference(&reference, &completion);
            let side = |without: i8| -> String {
                pieces.iter().filter(|(tag, _)| *tag != without).map(|(_, text)| text.as_str()).collect()
            };
            prop_assert_eq!(side(1), reference);
            prop_assert_eq!(side(-1), completion);
            prop_assert!(pieces.windows(2).all(|two| two[0].0 != two[1].0));
        }

        #[test]
        fn lines_are_shown_or_counted(lines in 0..600usize, end in "[a\n]?") {
            let text = "x\n".repeat(lines) + &end;
            let breaks = text.matches('\n').count();
            let (last, above) = last_lines(&text);
            prop_assert!(text.ends_with(last));
            prop_assert_eq!(last.matches('\n').count() + above, breaks);
            let (first, below) = first_lines(&text);
            prop_assert!(text.starts_with(first));
            prop_assert_eq!(first.matches('\n').count() + below, breaks);
        }
    }
}
