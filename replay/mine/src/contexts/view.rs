//! A hole as a model sees it.

use std::ops::Range;

use fillrate_language::SourceFile;
use fillrate_server::context::Window;

use super::super::dependencies::DependencyIndex;

/// A hole as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct HoleView {
    /// The text before the cursor.
    pub prefix: String,
    /// The text after the cursor.
    pub suffix: String,
    /// The windows of the prompt.
    pub windows: Vec<Window>,
}

/// Returns a view of a function with a hole, the heads of the classes it is in, and before it the
/// `members` of the innermost class, without the rest of its file.
pub(super) fn view_function(
    repository: &DependencyIndex<'_>,
    file: &SourceFile,
    function: &Range<usize>,
    hole: &Range<usize>,
    members: &str,
) -> HoleView {
    let contents = &file.contents;
    // A function at the beginning of its line keeps its indentation.
    let line = file.line_start(function.start);
    let start = match contents[line..function.start].trim() {
        "" => line,
        _ => function.start,
    };
    let mut prefix = String::new();
    let mut suffix = contents[hole.end..function.end.max(hole.end)].to_owned();
    suffix.push('\n');
    for head in repository.heads_around(&file.path, function) {
        prefix += head.trim_end();
        prefix.push('\n');
        if !file.language.indented_blocks {
            // Every head opens a brace, which the suffix closes.
            suffix += "}\n";
        }
    }
    prefix += members;
    prefix += &contents[start.min(hole.start)..hole.start];
    HoleView {
        prefix,
        suffix,
        windows: Vec::new(),
    }
}
