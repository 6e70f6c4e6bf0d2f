//! What the server knows of the repository beside the open file: windows, indexes, rankers.

use serde::{Deserialize, Serialize};

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
