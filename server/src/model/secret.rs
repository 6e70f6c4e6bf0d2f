//! A key that can be used but not shown.

use std::fmt;

/// A key to a model's server. Its `Debug` form hides it, it has no `Display` and can't be
/// serialised, so it reaches neither a log nor a record by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret. White space around the key, which shells and files add, is dropped.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// Returns the key itself, for the header that carries it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the key in a text, as servers may echo it.
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret([key])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_not_show() {
        let key = Secret::new(" sk-123\n");
        assert_eq!(format!("{key:?}"), "Secret([key])");
        assert_eq!(key.redact("bad key sk-123!"), "bad key [key]!");
        assert_eq!(key.expose(), "sk-123");
        assert_eq!(Secret::new("").redact("abc"), "abc");
    }
}
