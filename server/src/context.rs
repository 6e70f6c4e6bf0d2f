//! What the server knows of the repository beside the open file: windows, indexes, rankers.

mod index;
mod query;
mod terms;
mod windows;

use serde::{Deserialize, Serialize};

pub use index::{Index, IndexError};
pub use query::{IMPORT_BOOST, PREFIX_LINES, Query, SAME_FOLDER_BOOST, SUFFIX_LINES};
pub use windows::{LARGEST_DEFINITION, SMALLEST_DEFINITION, STEP, windows};

/// A piece of another file that may help at the cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Path relative to the workspace folder, with `/`.
    pub path: String,
    /// Zero-based first line.
    pub first_line: usize,
    /// The lines, joined with `\n`, without a final line break.
    pub text: String,
    /// The ranker's score; larger is better, comparable only within one query.
    pub score: f64,
}

/// The windows that fit into so many tokens together, by `count`, the best (first) first. One
/// that does not fit is left out, and smaller ones after it still get their chance.
pub fn budget(windows: Vec<Window>, tokens: usize, count: impl Fn(&str) -> usize) -> Vec<Window> {
    let mut left = tokens;
    windows
        .into_iter()
        .filter(|window| {
            let needed = count(&window.text);
            let fits = needed <= left;
            if fits {
                left -= needed;
            }
            fits
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(text: &str) -> Window {
        Window {
            path: "a.py".into(),
            first_line: 0,
            text: text.into(),
            score: 1.0,
        }
    }

    #[test]
    fn a_window_too_large_leaves_room_for_a_smaller_one() {
        let windows = ["aa", "bbbbbb", "cc", "d"].map(window).to_vec();
        let taken = budget(windows, 4, str::len);
        let texts: Vec<_> = taken.iter().map(|window| window.text.as_str()).collect();
        assert_eq!(texts, ["aa", "cc"]);
    }

    proptest! {
        #[test]
        fn the_budget_is_kept_and_the_best_is_taken_if_it_fits(
            texts in prop::collection::vec("[a-z]{0,9}", 0..9),
            tokens in 0usize..30,
        ) {
            let windows: Vec<_> = texts.iter().map(|text| window(text)).collect();
            let taken = budget(windows, tokens, str::len);
            prop_assert!(taken.iter().map(|window| window.text.len()).sum::<usize>() <= tokens);
            if let Some(first) = texts.first() && first.len() <= tokens {
                prop_assert_eq!(&taken[0].text, first);
            }
        }
    }
}
