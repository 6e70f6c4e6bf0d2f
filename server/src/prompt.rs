//! Fill-in-the-middle prompts: a table of model families, each one row.

/// The characters of a prompt that count as one token where no tokenizer is at hand.
pub const CHARACTERS_PER_TOKEN: f64 = 3.5;

/// How many tokens a text has, approximately: its characters divided by
/// [`CHARACTERS_PER_TOKEN`], rounded up.
pub fn approximate_tokens(text: &str) -> usize {
    (text.chars().count() as f64 / CHARACTERS_PER_TOKEN).ceil() as usize
}
