//! The contexts of RepoExec.

use std::ops::Range;

use fillrate_language::SourceFile;
use fillrate_language::outline::Detail;

use super::super::dependencies::{Dependency, DependencyIndex, outermost};
use super::view::{HoleView, view_function};

/// RepoExec's BasePrompt, §5.1 and appendix E of [its paper](https://arxiv.org/abs/2406.11927): the
/// file's imports, the dependencies, the function without its decorators, one below the other.
/// Dependencies come in the order of the imports and of the files they are in, the file's own last.
/// Other members of a method's own class, which the paper does not have, are in the class before
/// the method.
///
/// In Python their form is that of the released data: the lines of a docstring lose their
/// indentation, in the file's own dependencies also the empty ones and those that begin with `@`,
/// and in a class the further lines of a signature have the member's indentation twice.
pub(super) fn base_prompt(
    repository: &DependencyIndex<'_>,
    file: &SourceFile,
    function: &Range<usize>,
    hole: &Range<usize>,
    detail: Detail,
) -> HoleView {
    let imports = repository.imports(&file.path);
    let shown = repository.without_decorators(&file.path, function);
    let dependencies = repository.dependencies(&file.path, &shown, function, 1);
    let from = |one: &Dependency| {
        let place = repository.import_of(&file.path, one);
        // What the file itself defines comes after all that it imports.
        place.unwrap_or(usize::MAX - usize::from(one.path != file.path))
    };
    let mut ordered = outermost(&dependencies);
    ordered.sort_by_cached_key(|one| (from(one), one.path.clone(), one.range.start));
    let mut texts: Vec<String> = Vec::new();
    let lines: Vec<&str> = imports
        .iter()
        .filter(|import| !function.contains(&import.start))
        .map(|import| file.contents[(*import).clone()].trim_end())
        .collect();
    if !lines.is_empty() {
        texts.push(lines.join("\n"));
    }
    let heads = repository.heads_around(&file.path, function);
    let mut members = String::new();
    for dependency in ordered {
        let detail = match detail {
            Detail::Documented if dependency.path == file.path => Detail::Condensed,
            _ => detail,
        };
        let text = repository.text(dependency, detail);
        if repository.shares_class(dependency, &file.path, function) {
            // The components of a record are in its first line.
            if heads.iter().any(|head| head.contains(&text)) {
                continue;
            }
            let line = file.line_start(dependency.range.start);
            let indentation = &file.contents[line..dependency.range.start];
            for line in text.lines() {
                let indentation = if line.is_empty() { "" } else { indentation };
                members += &format!("{indentation}{line}\n");
            }
            members.push('\n');
        } else if !texts.contains(&text) {
            // A statement that defines several names is shown once.
            texts.push(text);
        }
    }
    let above: String = texts.iter().map(|text| format!("{text}\n\n")).collect();
    let mut view = view_function(repository, file, &shown, hole, &members);
    view.prefix.insert_str(0, &above);
    view
}
