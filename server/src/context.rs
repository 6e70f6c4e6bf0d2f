//! What the server knows of the repository beside the open file: windows, indexes, rankers.

mod bm25;
mod index;
mod kept;
pub mod lines;
mod query;
mod terms;
mod windows;
pub mod words;

use serde::{Deserialize, Serialize};

pub use index::{Index, IndexError, IndexParts};
pub use kept::{
    ContentsDigest, FileStamp, KeptEntry, KeptIndex, KeptIndexError, KnownFile, KnownFiles,
    kept_indexes, prune,
};
pub use query::{
    IMPORT_BOOST, LINE_DECAY, PREFIX_LINES, Query, RECENT_BOOST, RECENT_FILES, SAME_FOLDER_BOOST,
    SIGNATURE_WEIGHT, SUFFIX_LINES,
};
pub use windows::{LARGEST_DEFINITION, SMALLEST_DEFINITION, STEP, windows};

/// A piece of another file that may help at the cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Path relative to the workspace folder, with `/`.
    pub path: String,
    /// Zero-based first line.
    #[serde(default)]
    pub first_line: usize,
    /// The lines, joined with `\n`, without a final line break.
    pub text: String,
    /// The ranker's score; larger is better, comparable only within one query.
    #[serde(default)]
    pub score: f64,
}

/// What a client may tell beside the protocol's own request, as the request's member `fillrate`:
/// what is known to an evaluator and never to an editor. A profile that is not made for it passes
/// it over, so that no other figure can depend on it by accident.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenContext {
    /// What is missing at the cursor. Heeded by the profile `reference` alone, which looks for
    /// windows with it and tells it to no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Windows, best first; `first_line` and `score` may be left out. Heeded by the profile
    /// `given` alone, which gives the model just these, as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<Window>>,
    /// What the model answered here before, under any profile. Only models that are asked as a
    /// chat is can be told it; for others it is a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierAttempt>,
    /// Id of the hole at the cursor. Only a recorded model reads it, to find the completions of
    /// this hole among those of files that are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hole: Option<String>,
}

/// An answer that did not do, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EarlierAttempt {
    /// What was put at the cursor.
    pub completion: String,
    /// What tests said of it. It may be written by hostile code.
    pub feedback: String,
}

/// How windows are written into a prompt, and how many may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowLayout {
    /// As the model's family has it, within the prompt's share for windows.
    #[default]
    Family,
    /// As the model's family has it, all of them: whoever gave them has chosen.
    Whole,
    /// As CrossCodeEval has it, whatever the family: comment lines before the file's own text.
    /// The profile has bounded them. <https://arxiv.org/abs/2310.11248>, §2.3.
    Comments,
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

    use crate::syntax::Language;
    use crate::workspace::Workspace;

    use super::*;

    #[test]
    fn what_is_hidden_is_never_retrieved() {
        let folder = tempfile::TempDir::new().expect("there is room for a folder");
        for (path, contents) in [
            (".gitignore", "local.py"),
            (".fillrateignore", "private"),
            ("open.py", "def api_token():\n    return read_token()\n"),
            ("local.py", "api_token = 'hidden 1'\n"),
            ("private/a.py", "api_token = 'hidden 2'\n"),
            ("secrets.py", "api_token = 'hidden 3'\n"),
            (".env", "api_token='hidden 4'\n"),
        ] {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().expect("a file has a folder"))
                .expect("it can be made");
            std::fs::write(file, contents).expect("it can be written");
        }
        let workspace = Workspace::new(vec![folder.path().to_path_buf()]);
        let python = Language::by_id("python").expect("the table has it");
        let index = Index::new().expect("an index in memory opens");
        for file in workspace.files() {
            let contents = workspace.read(&file).expect("it was there a moment ago");
            index
                .update(&file.path, &contents, python)
                .expect("the writer lives");
        }
        index.commit().expect("the writer lives");
        let query = Query {
            path: "main.py",
            prefix: "use(api_token",
            suffix: "",
            language: python,
            tree: None,
            recent: &[],
        };
        let found = index.retrieve(&query, 9).expect("the index can be read");
        let paths: Vec<_> = found.iter().map(|window| window.path.as_str()).collect();
        assert_eq!(paths, ["open.py"]);
    }

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
