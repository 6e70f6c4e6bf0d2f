//! Part of a completion that a simulated developer accepts.

/// Least time on display for a completion to count as read, in milliseconds: Cody's, for its
/// completion acceptance rate.
pub const READ_MS: f64 = 750.0;

/// Returns the number of bytes of a completion that the acceptance policy `oracle-prefix` takes,
/// given what remains to be typed. This is the policy of a developer who knows what they are about
/// to write and accepts a completion only as a whole: without the white space at its end, it is not
/// empty, is a prefix of the reference and ends at a token boundary of the reference. `None` is a
/// dismissal.
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

/// The first token of a text, without the white space before it; `None` if there is nothing else.
/// Tokens are those of [`oracle_prefix`].
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

/// The first line of a text that is not blank, with the text before it and without the white space
/// at its end; `None` if all lines are blank.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn oracle_prefix_takes_whole_completions_at_token_boundaries() {
        for (reference, completion, accepted) in [
            ("foo(bar)", "foo", Some(3)),
            ("foo(bar)", "foo(", Some(4)),
            ("foo(bar)", "fo", None),
            ("foo(bar)", "foo(baz", None),
            ("foo(bar)", "foo(bar)", Some(8)),
            ("foo(bar)", "foo(bar)\n\n", Some(8)),
            ("foo(bar)", "foo(bar))", None),
            ("foo(bar)", " \n", None),
            ("foo(bar)", "", None),
            ("", "foo", None),
            ("a == b", "a =", Some(3)),
            ("a == b", "a ", Some(1)),
            ("x = 3.14", "x = 3", Some(5)),
            ("x = 314", "x = 3", None),
            ("\n  a", "\n  a", Some(4)),
            ("größe = 1", "größe", Some(7)),
            ("größe = 1", "größ", None),
        ] {
            assert_eq!(
                oracle_prefix(reference, completion),
                accepted,
                "{completion:?} of {reference:?}"
            );
        }
    }

    #[test]
    fn first_tokens_and_lines_are_those_that_are_not_blank() {
        for (text, token, line) in [
            ("foo(bar)\nbaz", Some("foo"), Some("foo(bar)")),
            ("  (x) \n", Some("("), Some("  (x)")),
            (
                "\n    größe = 1  \n  y",
                Some("größe"),
                Some("\n    größe = 1"),
            ),
            ("a\r\nb", Some("a"), Some("a")),
            (" \n\t", None, None),
            ("", None, None),
        ] {
            assert_eq!(first_token(text), token, "{text:?}");
            assert_eq!(first_line(text), line, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_oracle_prefix_accepts_is_a_prefix(reference in "[a-c1 .\n]{0,9}", cut in 0..10_usize) {
            let completion = &reference[..cut.min(reference.len())];
            if let Some(length) = oracle_prefix(&reference, completion) {
                prop_assert_eq!(&reference[..length], completion.trim_end());
                prop_assert!(length > 0);
            } else {
                let splits = |at: usize| {
                    let word = |byte: &u8| byte.is_ascii_alphanumeric();
                    at > 0
                        && word(&reference.as_bytes()[at - 1])
                        && reference.as_bytes().get(at).is_some_and(word)
                };
                let length = completion.trim_end().len();
                prop_assert!(length == 0 || splits(length));
            }
        }
    }
}
