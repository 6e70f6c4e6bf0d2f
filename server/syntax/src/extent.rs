//! The extent of a completion.

use serde::{Deserialize, Serialize};

/// Limit on the length of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionExtent {
    /// To the end of the cursor's line.
    Line,
    /// To the end of the statement that the cursor is in, or that begins at it.
    Statement,
    /// To the end of the block that the cursor is in.
    #[default]
    Block,
    /// To the end of the function, method or class that the cursor is in, or else of the first
    /// one that begins in the completion.
    Definition,
    /// To the end of the raw completion, whose layout is kept: only text that is not code is
    /// removed.
    Anything,
}
