//! Typing speed of a person: a keystroke model, seeded, pure.
//!
//! The time before a key is log-normal, the shape of the times between keys in typed text
//! (Roeser, De Maeyer, Leijten and Van Waes 2021, <https://doi.org/10.1007/s11145-021-10203-z>).
//! Its mean depends on the text around the key:
//!
//! | pause | before | mean of the default | from |
//! | --- | --- | --- | --- |
//! | `key` | any other key, Backspace too | 200 ms | `K` of an average skilled typist, 55 words a minute: the keystroke-level model, Card, Moran and Newell 1980, <https://doi.org/10.1145/358886.358895> |
//! | `word` | the first letter or digit of a word | 240 ms | a word's first key takes some 20 % longer than the others: Salthouse 1986, <https://doi.org/10.1037/0033-2909.99.3.303> |
//! | `line` | the first key of a line, and of the hole | 1550 ms | `M` + `K` of the keystroke-level model, 1350 ms of mental preparation before each chunk and the key itself; a line is taken for a chunk |
//!
//! The keystroke-level model gives means alone. The default's spread, a standard deviation of .45
//! of the logarithm, is that of 238.7 ± 111.6 ms between 168,000 people (Dhakal, Feit, Kristensson
//! and Oulasvirta 2018, <https://doi.org/10.1145/3173574.3174220>); one person's own times may
//! spread less or more.
//!
//! A file gives another typist, in TOML:
//!
//! ```toml
//! schema = 1
//! name = "slow"
//! source = "where these numbers are from"
//! key = { mean_ms = 280.0, sigma = 0.45 }
//! word = { mean_ms = 336.0, sigma = 0.45 }
//! line = { mean_ms = 1630.0, sigma = 0.6 }
//! ```

use fillrate_metrics::normal_quantile;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version of the file format.
pub const SCHEMA: u32 = 1;

/// A person's keystroke model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typist {
    /// Version of the format, [`SCHEMA`].
    pub schema: u32,
    /// The name in records.
    pub name: String,
    /// Source of the numbers.
    pub source: String,
    /// Pause before any other key.
    pub key: Pause,
    /// Pause before the first letter or digit of a word.
    pub word: Pause,
    /// Pause before the first key of a line, and of a hole.
    pub line: Pause,
}

/// The time before a key: log-normal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Its mean, in milliseconds, above 0.
    pub mean_ms: f64,
    /// The standard deviation of its natural logarithm, 0 or more.
    pub sigma: f64,
}

/// Position of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPosition {
    /// Within a word, a space, a sign; a Backspace.
    Key,
    /// A word's first letter or digit.
    Word,
    /// A line's first key, or the hole's.
    Line,
}

/// Reason for which a typist's file is invalid.
#[derive(Debug, thiserror::Error)]
pub enum TypistError {
    /// The file is none of this format.
    #[error("this is no typist: {0}")]
    Format(#[from] toml::de::Error),
    /// The file is of another version.
    #[error("the typist has schema {0}, and this program reads {SCHEMA}")]
    Schema(u32),
    /// A number is out of its range.
    #[error(
        "the typist's `{0}` is out of range: mean_ms is above 0 and at most 60000, sigma from 0 \
         to 3"
    )]
    Range(&'static str),
}

impl Default for Typist {
    fn default() -> Self {
        let pause = |mean_ms| Pause {
            mean_ms,
            sigma: 0.45,
        };
        Self {
            schema: SCHEMA,
            name: "klm-55wpm".to_owned(),
            source: "Card, Moran and Newell 1980; Salthouse 1986; Dhakal et al. 2018".to_owned(),
            key: pause(200.0),
            word: pause(240.0),
            line: pause(1550.0),
        }
    }
}

impl Typist {
    /// Reads a typist's file.
    ///
    /// # Errors
    /// The text is of another format or version, or a number is out of its range.
    pub fn parse(text: &str) -> Result<Self, TypistError> {
        let typist: Self = toml::from_str(text)?;
        if typist.schema != SCHEMA {
            return Err(TypistError::Schema(typist.schema));
        }
        let pauses = [
            ("key", typist.key),
            ("word", typist.word),
            ("line", typist.line),
        ];
        for (name, pause) in pauses {
            let mean = pause.mean_ms > 0.0 && pause.mean_ms <= 60_000.0;
            if !mean || !(0.0..=3.0).contains(&pause.sigma) {
                return Err(TypistError::Range(name));
            }
        }
        Ok(typist)
    }

    /// Pause of this person before a key, in milliseconds. `draw` is the pause's place among all
    /// that are possible, between 0 and 1, exclusive.
    pub fn pause_ms(&self, before: KeyPosition, draw: f64) -> f64 {
        let Pause { mean_ms, sigma } = match before {
            KeyPosition::Key => self.key,
            KeyPosition::Word => self.word,
            KeyPosition::Line => self.line,
        };
        let standard = normal_quantile(draw);
        // Log-normal; the subtraction keeps the mean at `mean_ms`, since E[exp(σZ)] = exp(σ²/2).
        mean_ms * (sigma * standard - sigma * sigma / 2.0).exp()
    }
}

impl KeyPosition {
    /// Position of a key that is typed after `text`.
    pub fn after(text: &str, key: &str) -> Self {
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let last = text.chars().next_back();
        if last.is_none_or(|last| last == '\n' || last == '\r') {
            return Self::Line;
        }
        let begins = key.starts_with(is_word) && !last.is_some_and(is_word);
        if begins { Self::Word } else { Self::Key }
    }
}

/// A number between 0 and 1, exclusive, that looks random and follows from `parts` alone: equal
/// parts give an equal number on every machine.
pub fn draw(parts: &[&str]) -> f64 {
    let mut hash = Sha256::new();
    for part in parts {
        // The lengths tell apart lists whose concatenations are equal.
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    // 52 bits and a half: never 0 and never 1.
    ((u64::from_le_bytes(first) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_have_their_means() {
        let typist = Typist::default();
        for (before, mean) in [
            (KeyPosition::Key, 200.0),
            (KeyPosition::Word, 240.0),
            (KeyPosition::Line, 1550.0),
        ] {
            let draws = 20_000;
            let sum: f64 = (0..draws)
                .map(|n| typist.pause_ms(before, (f64::from(n) + 0.5) / f64::from(draws)))
                .sum();
            let found = sum / f64::from(draws);
            assert!((found / mean - 1.0).abs() < 1e-3, "{before:?}: {found}");
        }
    }

    #[test]
    fn key_position_follows_from_the_text() {
        for (text, key, before) in [
            ("", "x", KeyPosition::Line),
            ("x = 1\n", " ", KeyPosition::Line),
            ("x = 1\n ", " ", KeyPosition::Key),
            ("x = 1\n  ", "y", KeyPosition::Word),
            ("x.", "y", KeyPosition::Word),
            ("x", "y", KeyPosition::Key),
            ("x", ".", KeyPosition::Key),
        ] {
            assert_eq!(KeyPosition::after(text, key), before, "{text:?} {key:?}");
        }
    }

    #[test]
    fn a_file_is_read_or_refused_in_a_sentence() {
        let file = "schema = 1\nname = \"n\"\nsource = \"s\"\n\
                    key = { mean_ms = 280, sigma = 0.4 }\nword = { mean_ms = 300, sigma = 0 }\n\
                    line = { mean_ms = 900, sigma = 1 }\n";
        let typist = Typist::parse(file).expect("it is sound");
        assert_eq!(typist.pause_ms(KeyPosition::Word, 0.99), 300.0);
        let error = |text: String| Typist::parse(&text).expect_err("it is not").to_string();
        assert!(error(file.replace("280", "0")).contains("`key` is out of range"));
        assert!(error(file.replace("sigma = 1", "sigma = nan")).contains("`line`"));
        assert!(error(file.replace("schema = 1", "schema = 2")).contains("schema 2"));
        assert!(error(file.replace("name", "nome")).contains("no typist"));
    }

    proptest! {
        #[test]
        fn draws_lie_between_0_and_1_and_differ(parts in prop::collection::vec(".{0,4}", 1..4)) {
            let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let number = draw(&texts);
            prop_assert!(number > 0.0 && number < 1.0);
            prop_assert_eq!(number, draw(&texts));
            prop_assert!(draw(&[&texts[..], &["x"]].concat()) != number);
        }
    }
}
