//! What a simulated developer would take of a completion.

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

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
