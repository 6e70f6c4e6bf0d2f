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

/// Returns a clause that names what [`nearest_name`] finds, to stand before the names that are known;
/// empty if nothing is near.
pub fn nearest_clause(word: &str, known: &[&str]) -> String {
    nearest_name(word, known).map_or(String::new(), |name| format!("`{name}` is the nearest; "))
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
        assert_eq!(nearest_clause("ur", &known), "`url` is the nearest; ");
        assert_eq!(nearest_clause("temperature", &known), "");
    }
}
