//! Context from other files of the repository: windows, indexes, rankers.

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
pub(crate) use windows::with_line_feeds;
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

/// Additional context that a client may send as the request's member `fillrate`. An evaluator knows
/// these values; an editor never does. A profile ignores the members made for other profiles, so
/// that no other result can depend on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenContext {
    /// Text that is missing at the cursor. Only the profile `reference` uses it, to search windows;
    /// no model receives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Windows, best first; `first_line` and `score` are optional. Only the profile `given` uses
    /// them. It gives the model exactly these, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<Window>>,
    /// Earlier completion at this place, under any profile. Only chat models can be given it; for
    /// other models it is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierAttempt>,
    /// Id of the hole at the cursor. Only a recorded model reads it, to choose between holes with
    /// the same prefix and suffix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hole: Option<String>,
}

/// A completion that failed, and the reported failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EarlierAttempt {
    /// The completion.
    pub completion: String,
    /// Output of the failed tests. It may be written by hostile code.
    pub feedback: String,
}

/// Layout of windows in a prompt, and the limit on their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowLayout {
    /// Layout of the model's family, within the prompt's share for windows.
    #[default]
    Family,
    /// Layout of the model's family, without a limit: the client has chosen the windows.
    Whole,
    /// Layout of CrossCodeEval, for every family: comment lines before the file's own text. The
    /// profile has limited their size. <https://arxiv.org/abs/2310.11248>, §2.3.
    Comments,
}

/// Keeps the windows that fit into `tokens` tokens together, measured by `count`, the best (first)
/// first. Omits a window that does not fit, and continues with the smaller ones after it.
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
    fn hidden_files_are_never_retrieved() {
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
            head: None,
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
    fn budget_skips_windows_that_are_too_large() {
        let windows = ["aa", "bbbbbb", "cc", "d"].map(window).to_vec();
        let taken = budget(windows, 4, str::len);
        let texts: Vec<_> = taken.iter().map(|window| window.text.as_str()).collect();
        assert_eq!(texts, ["aa", "cc"]);
    }

    proptest! {
        #[test]
        fn budget_is_kept_and_prefers_the_best(
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
