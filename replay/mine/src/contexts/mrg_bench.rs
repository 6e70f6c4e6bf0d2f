//! The contexts of MRG-Bench.

use std::ops::Range;

use fillrate_language::SourceFile;
use fillrate_language::outline::Detail;
use fillrate_server::context::Window;
use fillrate_server::prompt::approximate_tokens;
use strum::{Display, VariantArray};

use super::super::dependencies::{Dependency, DependencyIndex};
use super::view::{HoleView, view_function};

/// A context of MRG-Bench: the windows before the function, §5.2.1 of [its
/// paper](https://arxiv.org/abs/2508.02998).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum MrgContext {
    /// Nothing.
    None,
    /// The rest of the file.
    InFile,
    /// The functions of the repository that the function calls.
    CalleeBodies,
    /// Their signatures.
    CalleeSignatures,
    /// The files of the function's folder and of all folders below it.
    Folder,
}

/// The most tokens of the file, in MRG-Bench's context of it. §5.2.1 of
/// [its paper](https://arxiv.org/abs/2508.02998) counts them by the tokenizer of GPT-3.5-Turbo,
/// here they are [approximate](approximate_tokens).
pub const FILE_TOKENS: usize = 6_000;

/// The most tokens of the folder, in MRG-Bench's context of it, likewise.
pub const FOLDER_TOKENS: usize = 100_000;

impl MrgContext {
    /// A hole of a function as the model sees it.
    pub(super) fn view(
        self,
        repository: &DependencyIndex<'_>,
        file: &SourceFile,
        function: &Range<usize>,
        hole: &Range<usize>,
    ) -> HoleView {
        let callees = |detail: Detail| {
            let dependencies = repository.dependencies(&file.path, function, function, 1);
            // The constructor of a called class may be the function itself, with the reference.
            let is_other = |callee: &Dependency| {
                let range = &callee.range;
                let overlaps = range.start < function.end && function.start < range.end;
                callee.path != file.path || !overlaps
            };
            callees(repository, &dependencies, detail, &is_other)
        };
        let windows = match self {
            Self::None => Vec::new(),
            Self::InFile => {
                let text = cut(&file.contents, hole);
                within(vec![window(&file.path, 0, text)], FILE_TOKENS)
            }
            Self::CalleeBodies => callees(Detail::Whole),
            Self::CalleeSignatures => callees(Detail::Signature),
            Self::Folder => {
                let folder = &file.path[..file.path.rfind('/').map_or(0, |end| end + 1)];
                let files = repository
                    .files()
                    .filter(|other| other.path.starts_with(folder))
                    .map(|other| {
                        let text = match other.path == file.path {
                            true => cut(&other.contents, hole),
                            false => other.contents.clone(),
                        };
                        window(&other.path, 0, text)
                    });
                within(files.collect(), FOLDER_TOKENS)
            }
        };
        HoleView {
            windows,
            ..view_function(repository, file, function, hole, "")
        }
    }
}

/// The wanted functions that are called, each once, in the order of the calls.
fn callees(
    repository: &DependencyIndex<'_>,
    dependencies: &[Dependency],
    detail: Detail,
    is_wanted: &dyn Fn(&Dependency) -> bool,
) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for dependency in dependencies.iter().filter(|one| one.called) {
        let Some(callee) = repository.callee(dependency).filter(is_wanted) else {
            continue;
        };
        let text = repository.text(&callee, detail);
        let window = window(&callee.path, repository.line_of(&callee), text);
        if !windows.contains(&window) {
            windows.push(window);
        }
    }
    windows
}

/// The file without what is missing.
fn cut(contents: &str, hole: &Range<usize>) -> String {
    [&contents[..hole.start], &contents[hole.end..]].concat()
}

pub(super) fn window(path: &str, first_line: usize, text: String) -> Window {
    Window {
        path: path.to_owned(),
        first_line,
        text,
        score: 0.0,
    }
}

/// Returns the windows up to `tokens` tokens; the last one is cut at the end of a line.
pub(super) fn within(windows: Vec<Window>, tokens: usize) -> Vec<Window> {
    let mut left = tokens;
    let mut kept = Vec::new();
    for mut window in windows {
        let needed = approximate_tokens(&window.text);
        if needed <= left {
            left -= needed;
            kept.push(window);
            continue;
        }
        let mut text = String::new();
        for line in window.text.split_inclusive('\n') {
            let longer = [&text, line].concat();
            if approximate_tokens(&longer) > left {
                break;
            }
            text = longer;
        }
        if !text.trim().is_empty() {
            window.text = text;
            kept.push(window);
        }
        break;
    }
    kept
}
