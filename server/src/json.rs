//! JSON as programs write it that keep texts in UTF-16.

use std::borrow::Cow;

/// Number of bytes of the escape of a UTF-16 unit, such as `\ud83d`.
const ESCAPE: usize = 6;

/// First leading surrogate.
const LEADING_FIRST: u16 = 0xd800;

/// First trailing surrogate, which follows the last leading one.
const TRAILING_FIRST: u16 = 0xdc00;

/// Last trailing surrogate.
const TRAILING_LAST: u16 = 0xdfff;

/// Replaces each escape of a lone surrogate by that of U+FFFD, which is one UTF-16 unit too, so that
/// positions stay. JavaScript writes such an escape for a text that is cut within a character.
/// `serde_json` fails on it.
pub(crate) fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut lone = Vec::new();
    let mut start = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[start..]) {
        let escape = start + found;
        let next = || bytes.get(escape + ESCAPE..).and_then(escaped_unit);
        start = match escaped_unit(&bytes[escape..]) {
            Some(LEADING_FIRST..TRAILING_FIRST)
                if matches!(next(), Some(TRAILING_FIRST..=TRAILING_LAST)) =>
            {
                escape + 2 * ESCAPE
            }
            Some(LEADING_FIRST..=TRAILING_LAST) => {
                lone.push(escape);
                escape + ESCAPE
            }
            // Of `\\ud83d`, the second backslash begins no escape.
            _ => bytes.len().min(escape + 2),
        };
    }
    if lone.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut replaced = json.to_owned();
    for escape in lone {
        replaced.replace_range(escape..escape + ESCAPE, "\\ufffd");
    }
    Cow::Owned(replaced)
}

/// The UTF-16 unit whose escape some bytes begin with.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b\uD83D\n""#, "\u{fffd}b\u{fffd}\n"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud83d\ude00\u00e9""#, "\u{1f600}\u{e9}"),
            (r#""\\ud83d\\\\ude00""#, r"\ud83d\\ude00"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
        ] {
            let read: String =
                serde_json::from_str(&replace_lone_surrogates(json)).expect("it is JSON");
            assert_eq!(read, expected, "{json}");
        }
        for broken in ["\\", "\\u", "\\ud83", "\\u+83d", "\\é", "\\ud83d\\"] {
            replace_lone_surrogates(broken);
        }
    }

    proptest! {
        #[test]
        fn any_units_are_read_as_their_lossy_text(units in prop::collection::vec(
            prop_oneof![any::<u16>(), 0xd7ff..0xe001u16], 0..12,
        )) {
            let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!("\"{escapes}\"");
            let read: String = serde_json::from_str(&replace_lone_surrogates(&json))?;
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }
    }
}
