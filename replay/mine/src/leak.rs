//! Search for references in the other files that a server sees.

use fillrate_language::task::{Hole, HoleKind};
use fillrate_syntax::text::LineIndex;

/// The files a server sees, ready to be searched.
#[derive(Debug, Default)]
pub struct LeakIndex {
    /// Path and text with each run of white space made one space.
    files: Vec<(String, String)>,
}

/// A reference with at least this many characters that are no white space is a leak if any other
/// file contains it. Shorter ones, such as `return None`, are common; they leak only together with
/// their neighbouring lines.
const TELLING_CHARACTERS: usize = 30;

impl LeakIndex {
    /// An audit of these files, given as path and text.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            files: files
                .into_iter()
                .map(|(path, text)| (path, folded(&text)))
                .collect(),
        }
    }

    /// True if a file other than the hole's own contains the reference, or, for a short reference,
    /// the reference with the lines around it. `contents` is the hole's own file. Of
    /// [`HoleKind::Api`], every reference leaks by itself, as in CrossCodeEval (§2.3).
    pub fn leaks(&self, hole: &Hole, contents: &str) -> bool {
        let ink = hole
            .reference
            .chars()
            .filter(|c| !c.is_whitespace())
            .count();
        // A short reference occurs everywhere, so the lines around it must occur with it.
        let needle = if ink >= TELLING_CHARACTERS || hole.kind == HoleKind::Api {
            folded(&hole.reference)
        } else {
            folded(&contents[around(contents, hole.start.0, hole.end.0)])
        };
        self.files
            .iter()
            // Formatting is no difference: both texts have single blanks between words.
            .any(|(path, text)| *path != hole.path && text.contains(&needle))
    }
}

/// The hole with the line before it and the line after it.
fn around(contents: &str, start: usize, end: usize) -> std::ops::Range<usize> {
    let index = LineIndex::new(contents);
    let above = index.range(index.line(start).saturating_sub(1));
    let below = index.range(index.line(end) + 1);
    above.map_or(0, |line| line.start)..below.map_or(contents.len(), |line| line.end)
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "def f(a):\n    b = a\n    return b\n";

    fn leaks(range: std::ops::Range<usize>, own: &str, other: &str) -> bool {
        let hole = Hole::new("demo", "python", "src/a.py", HoleKind::Line, range, own);
        LeakIndex::new([
            ("src/a.py".to_owned(), own.to_owned()),
            ("build/lib/a.py".to_owned(), other.to_owned()),
        ])
        .leaks(&hole, own)
    }

    #[test]
    fn a_short_reference_leaks_only_with_its_neighbours() {
        assert!(!leaks(14..19, OWN, "x = 1\nb = a\ny = 2\n"));
        assert!(leaks(
            14..19,
            OWN,
            "def f(a):\n        b = a\n        return b\n"
        ));
    }

    #[test]
    fn a_long_reference_leaks_anywhere() {
        let own = "def f(a):\n    return compute_the_total_of(a, rounding=True)\n";
        let start = 14;
        assert!(leaks(
            start..own.len() - 1,
            own,
            "return  compute_the_total_of(a, rounding=True)"
        ));
        assert!(!leaks(
            start..own.len() - 1,
            own,
            "return compute_the_total_of(a)"
        ));
    }

    #[test]
    fn a_short_reference_of_kind_api_leaks_anywhere() {
        let other = [("b.py".to_owned(), "x = 1\nb = a\ny = 2\n".to_owned())];
        let leaks = |kind| {
            let hole = Hole::new("demo", "python", "src/a.py", kind, 14..19, OWN);
            LeakIndex::new(other.clone()).leaks(&hole, OWN)
        };
        assert!(leaks(HoleKind::Api) && !leaks(HoleKind::Span));
    }

    #[test]
    fn the_own_file_is_no_leak() {
        let hole = Hole::new("demo", "python", "src/a.py", HoleKind::Line, 14..19, OWN);
        assert!(!LeakIndex::new([("src/a.py".to_owned(), OWN.to_owned())]).leaks(&hole, OWN));
    }
}
