//! Number literals.

/// Returns a literal of the number that is greater by one, in the same base. `None` if a double
/// can't represent that number or the literal is not a real number.
pub(super) fn incremented(literal: &str) -> Option<String> {
    let digits = literal.replace('_', "");
    let lower = digits.to_ascii_lowercase();
    for (prefix, base) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = lower.strip_prefix(prefix) {
            let (rest, suffix) = big(rest);
            let prefix = &digits[..prefix.len()];
            return Some([prefix, &successor(rest, base)?, suffix].concat());
        }
    }
    let (whole, suffix) = big(&lower);
    if whole.bytes().all(|byte| byte.is_ascii_digit()) {
        let significant = whole.trim_start_matches('0');
        // A leading zero once meant base eight, and now is an error.
        if significant.len() < whole.len() && !significant.is_empty() {
            return None;
        }
        return Some([&successor(significant, 10)?, suffix].concat());
    }
    let value: f64 = lower.parse().ok()?;
    let next = value + 1.0;
    // Above 2^53 a double may equal its successor; `Debug` keeps the `.0` of a whole number.
    (next.is_finite() && next != value).then(|| format!("{next:?}"))
}

/// The digits and the suffix of a `bigint` or a `long`.
fn big(digits: &str) -> (&str, &str) {
    [('n', "n"), ('l', "L")]
        .into_iter()
        .find_map(|(letter, suffix)| Some((digits.strip_suffix(letter)?, suffix)))
        .unwrap_or((digits, ""))
}

/// The next number of a row of digits, however long; no digits mean zero.
fn successor(digits: &str, base: u32) -> Option<String> {
    let mut result = Vec::new();
    let mut carry = 1;
    for digit in digits.chars().rev() {
        let sum = digit.to_digit(base)? + carry;
        result.push(char::from_digit(sum % base, base)?);
        carry = sum / base;
    }
    if carry > 0 {
        result.push('1');
    }
    Some(result.into_iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn literals_of_every_form() {
        let cases = [
            ("0", Some("1")),
            ("00", Some("1")),
            ("9", Some("10")),
            ("1_000", Some("1001")),
            ("99999999999999999999999", Some("100000000000000000000000")),
            ("0xFf", Some("0x100")),
            ("0X1e", Some("0X1f")),
            ("0b101", Some("0b110")),
            ("0o17", Some("0o20")),
            ("7n", Some("8n")),
            ("0xffn", Some("0x100n")),
            ("9L", Some("10L")),
            ("0xfl", Some("0x10L")),
            ("1.5", Some("2.5")),
            ("1.", Some("2.0")),
            (".5", Some("1.5")),
            ("1e3", Some("1001.0")),
            ("2.5e-1", Some("1.25")),
            ("1e300", None),
            ("1e999", None),
            ("2j", None),
            ("017", None),
        ];
        for (literal, expected) in cases {
            assert_eq!(incremented(literal).as_deref(), expected, "{literal}");
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_grow_by_one(value in 0..u64::MAX) {
            prop_assert_eq!(incremented(&value.to_string()), Some((value + 1).to_string()));
            prop_assert_eq!(incremented(&format!("0x{value:x}")), Some(format!("0x{:x}", value + 1)));
            prop_assert_eq!(incremented(&format!("0b{value:b}")), Some(format!("0b{:b}", value + 1)));
        }
    }
}
