//! Words that were probably misspelt.

/// Returns the known name that is nearest to a word, if it is near enough to be the one meant: at
/// most a third of its letters, or two, differ or are exchanged. Of equally near ones, it is the one
/// whose length is nearest.
pub fn nearest_name<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| {
            let length = candidate.len().abs_diff(word.len());
            (strsim::osa_distance(word, candidate), length, *candidate)
        })
        .min()
        .filter(|(distance, _, candidate)| *distance <= (candidate.len() / 3).max(2))
        .map(|(.., candidate)| candidate)
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
        assert_eq!(nearest_name("modle", &["mode", "model"]), Some("model"));
        assert_eq!(nearest_name("url", &[]), None);
        assert_eq!(nearest_clause("ur", &known), "`url` is the nearest; ");
        assert_eq!(nearest_clause("temperature", &known), "");
    }
}
