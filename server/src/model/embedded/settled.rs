//! Counts of the part of an open file's text that stays the same while a person types, so that a
//! request counts only the rest.

use super::counts::{Counts, LONGEST, Sequence};
use super::lexer::Indents;
use super::vocabulary::{CUT, Extended, Symbol, Vocabulary};

/// The text of a file from which a request learns.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnText<'a> {
    /// Symbol before the text: it is whole, or cut.
    pub(super) start: Symbol,
    /// The text before the cursor.
    pub(super) prefix: &'a str,
    /// The text after the cursor.
    pub(super) suffix: &'a str,
}

/// The beginning of the text before a cursor, up to a line break or empty, and the text after it.
#[derive(Debug)]
pub(super) struct SettledText {
    /// Identifies the state of the vocabulary that the additions extend.
    generation: u64,
    start: Symbol,
    prefix: Box<str>,
    suffix: Box<str>,
    /// Numbers of the texts' tokens that the vocabulary lacks.
    pub(super) additions: Vocabulary,
    pub(super) counts: Counts,
    /// The indentations open at the end of the beginning.
    pub(super) indents: Indents,
    /// The end of the beginning: the context of what follows.
    context: Sequence,
}

/// Minimum number of bytes before the cursor that are counted at each request.
const LEAST_UNSETTLED: usize = 2 << 10;

/// Maximum number of these bytes.
const MOST_UNSETTLED: usize = 8 << 10;

/// Blanks and line breaks, as the lexer has them.
const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];

impl SettledText {
    /// Counts the settled part of a text; `None` if it is short.
    pub(super) fn new(own: OwnText<'_>, vocabulary: &Vocabulary, generation: u64) -> Option<Self> {
        if own.prefix.len() + own.suffix.len() <= MOST_UNSETTLED {
            return None;
        }
        // Text near the cursor is about to change, which would make a settled part invalid.
        let most = own.prefix.len().saturating_sub(LEAST_UNSETTLED);
        let most = own.prefix.floor_char_boundary(most);
        let most = own.prefix[..most].rfind('\n').unwrap_or(0);
        // The blanks and blank lines before a line break belong to its token.
        let prefix = own.prefix[..most].trim_end_matches(WHITE);
        let mut vocabulary = Extended::new(vocabulary, None);
        let mut indents = Indents::default();
        let mut sequence = Sequence::begin(own.start);
        sequence.read_on(prefix, &mut indents, &mut vocabulary);
        let context = sequence.end(LONGEST);
        let mut counts = Counts::default();
        counts.learn(sequence, 0);
        counts.learn(Sequence::read(own.suffix, CUT, &mut vocabulary), 0);
        Some(Self {
            generation,
            start: own.start,
            prefix: prefix.into(),
            suffix: own.suffix.into(),
            additions: vocabulary.into_additions(),
            counts,
            indents,
            context,
        })
    }

    /// Returns the rest of the text before the cursor, if this is the settled part of a text.
    pub(super) fn rest<'a>(&self, own: OwnText<'a>, generation: u64) -> Option<&'a str> {
        let is_same =
            generation == self.generation && own.start == self.start && *own.suffix == *self.suffix;
        let rest = own.prefix.strip_prefix(&*self.prefix)?;
        // If the rest began in the middle of a token, the settled part would end with half of one.
        let begins_with_break = rest
            .trim_start_matches([' ', '\t'])
            .starts_with(['\n', '\r']);
        let begins_with_token = begins_with_break || self.prefix.is_empty();
        (is_same && begins_with_token && rest.len() <= MOST_UNSETTLED).then_some(rest)
    }

    /// Returns the counts of the rest of the text before the cursor.
    pub(super) fn count_rest(&self, rest: &str, vocabulary: &mut Extended<'_>) -> Counts {
        let mut sequence = self.context.end(LONGEST);
        // The symbols of the context are counted in the settled part already.
        let known = sequence.symbols().len();
        sequence.read_on(rest, &mut self.indents.clone(), vocabulary);
        let mut counts = Counts::default();
        counts.learn(sequence, known);
        counts
    }
}
