//! Clean-up that CrossCodeEval's reference scorer applies to a prediction before it compares
//! (<https://github.com/amazon-science/cceval>), and its exact match.

use std::cell::OnceCell;

use super::identifiers::identifiers_cceval;
use super::python;
use super::sample::{Sample, ScoringSyntax};

/// The first statement of a completion, as CrossCodeEval cuts it.
///
/// - Where indentation delimits blocks (Python): the text before the first newline, not at the
///   very beginning, at which prompt and completion so far parse without an ERROR node; a
///   MISSING node is allowed. White space at the end is dropped. Without such a newline, the
///   completion is unchanged.
/// - Elsewhere: up to the first `;`, `}` or `{`, inclusive. A completion that starts with one
///   of them is returned whole: the reference takes index 0 for "not found".
///
/// The reference parses after every character, but a cut can only come before a newline, so
/// only those places are parsed here. Each is parsed from scratch: an incremental parse may
/// recover from an error in another way and so answer differently. The reference gives up a
/// parse after five seconds and a tree deeper than Python's recursion limit; this does not.
pub fn truncate_cceval<'c>(
    prompt: &str,
    completion: &'c str,
    syntax: &dyn ScoringSyntax,
) -> &'c str {
    if syntax.indented_blocks() {
        return first_parsing_lines(prompt, completion, syntax);
    }
    match completion.find([';', '}', '{']) {
        // All three characters are one byte long.
        Some(at) if at > 0 => &completion[..=at],
        _ => completion,
    }
}

fn first_parsing_lines<'c>(
    prompt: &str,
    completion: &'c str,
    syntax: &dyn ScoringSyntax,
) -> &'c str {
    let ends: Vec<usize> = completion
        .match_indices('\n')
        .map(|(at, _)| prompt.len() + at)
        .filter(|&end| end > prompt.len())
        .collect();
    match syntax.first_parsing_end(&[prompt, completion].concat(), &ends) {
        Some(end) => python::strip_end(&completion[..end - prompt.len()]),
        None => completion,
    }
}

/// A text without comments, as CrossCodeEval removes them: from `#` to the end of the line and
/// then from `//` to the end of the line, in every language, inside strings too. So `a // b`
/// loses its divisor in Python; the figures of the field include that.
pub fn remove_comments_cceval(text: &str) -> String {
    text.split('\n')
        .map(|line| {
            let line = line.split_once('#').map_or(line, |(code, _)| code);
            line.split_once("//").map_or(line, |(code, _)| code)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Prediction and reference as the `*/cceval` metrics compare them.
#[derive(Debug)]
pub(super) struct Cleaned<'a> {
    syntax: &'a dyn ScoringSyntax,
    /// The first statement of the prediction, without comments.
    pub(super) prediction: String,
    /// The reference without comments.
    pub(super) reference: String,
    /// Those of the two above. Four metrics look at them.
    identifiers: OnceCell<[Vec<String>; 2]>,
}

impl<'a> Cleaned<'a> {
    pub(super) fn new(sample: &Sample<'a>) -> Self {
        let truncated = truncate_cceval(sample.prompt, sample.prediction, sample.syntax);
        Self {
            syntax: sample.syntax,
            prediction: remove_comments_cceval(truncated),
            reference: remove_comments_cceval(sample.reference),
            identifiers: OnceCell::new(),
        }
    }

    /// The identifiers of prediction and reference.
    pub(super) fn identifiers(&self) -> &[Vec<String>; 2] {
        self.identifiers.get_or_init(|| {
            [&self.prediction, &self.reference].map(|text| identifiers_cceval(text, self.syntax))
        })
    }
}

/// `em/cceval`: the stripped, non-blank lines are equal lists.
pub(super) fn exact_match(cleaned: &Cleaned<'_>) -> f64 {
    let lines = |text| {
        str::split(text, '\n')
            .map(python::strip)
            .filter(|line| !line.is_empty())
    };
    f64::from(lines(cleaned.prediction.as_str()).eq(lines(cleaned.reference.as_str())))
}
