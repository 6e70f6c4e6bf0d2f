//! Python's notions of white space, lines and word characters, which the reference scorers
//! are written in and which differ from Rust's in corners.

/// True if Python's `str.isspace` holds: for the Unicode property White_Space and the four
/// information separators, which Unicode counts as paragraph or segment separators:
/// <https://docs.python.org/3/library/stdtypes.html#str.isspace>.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// Python's `str.strip()`.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Python's `str.rstrip()`.
pub(super) fn strip_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Python's `str.split()`.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|piece| !piece.is_empty())
}

/// The lines of Python's `str.splitlines()`, stripped, without the blank ones. Python breaks
/// lines at more characters than the newline:
/// <https://docs.python.org/3/library/stdtypes.html#str.splitlines>.
pub(super) fn stripped_lines(text: &str) -> impl Iterator<Item = &str> {
    // A CRLF makes an empty line between its two halves here, which falls out as blank.
    text.split(|character| {
        matches!(
            character,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    })
    .map(strip)
    .filter(|line| !line.is_empty())
}
