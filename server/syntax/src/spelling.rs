//! Words that were probably misspelt.

/// Returns the known name that is nearest to a word, if it is near enough to be the one meant: at
/// most a third of its letters, or two, differ.
pub fn nearest_name<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (strsim::levenshtein(word, candidate), *candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(2))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_returned() {
        let known = ["protocol", "url", "name"];
        assert_eq!(nearest_name("protcol", &known), Some("protocol"));
        assert_eq!(nearest_name("nmae", &known), Some("name"));
        assert_eq!(nearest_name("temperature", &known), None);
        assert_eq!(nearest_name("url", &[]), None);
    }
}
