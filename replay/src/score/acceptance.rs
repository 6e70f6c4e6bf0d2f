//! What a simulated developer would take of a completion.

/// How long a completion must be on display to count as read, in milliseconds: Cody's, for its
/// completion acceptance rate.
pub const READ_MS: f64 = 750.0;

/// How many bytes of a completion the acceptance policy `oracle-prefix` takes, given what
/// remains to be typed. This is the policy of a developer who knows what they are about to
/// write and accepts a completion only as a whole: without the white space at its end, it is
/// not empty, is a prefix of the reference and ends at a token boundary of the reference.
/// `None` is a dismissal.
///
/// A token is a run of letters, numbers and `_`, or a single other character; so `3.14` is
/// three. White space, like either end of the text, is a boundary.
pub fn oracle_prefix(reference: &str, completion: &str) -> Option<usize> {
    let completion = completion.trim_end();
    let remaining = reference.strip_prefix(completion)?;
    let last = completion.chars().next_back()?;
    let splits_token = is_word(last) && remaining.chars().next().is_some_and(is_word);
    (!splits_token).then_some(completion.len())
}

/// The first token of a text, without the white space before it; `None` where there is nothing
/// else. Tokens are those of [`oracle_prefix`].
pub fn first_token(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let first = text.chars().next()?;
    let end = if is_word(first) {
        text.find(|character| !is_word(character))
            .unwrap_or(text.len())
    } else {
        first.len_utf8()
    };
    Some(&text[..end])
}

/// The first line of a text that is not blank, with what stands before it and without the white
/// space at its end; `None` where all lines are blank.
pub fn first_line(text: &str) -> Option<&str> {
    let begin = text.len() - text.trim_start().len();
    let end = text[begin..]
        .find(['\n', '\r'])
        .map_or(text.len(), |length| begin + length);
    (begin < text.len()).then(|| text[..end].trim_end())
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
