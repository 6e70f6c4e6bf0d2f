//! The contexts of RepoExec.

use std::ops::Range;

use super::super::dependencies::{Dependency, DependencyIndex, outermost};
use super::view::{HoleView, view_function};
use crate::language::SourceFile;
use crate::language::definitions::DefinitionKind;
use crate::language::outline::Detail;

/// RepoExec's BasePrompt.
pub(super) fn base_prompt(
    repository: &DependencyIndex<'_>,
    file: &SourceFile,
    function: &Range<usize>,
    hole: &Range<usize>,
    dependencies: &[Dependency],
    detail: Detail,
) -> HoleView {
    let imports = repository.imports(&file.path);
    let from = |path: &str| {
        let place = repository.import_of(&file.path, path);
        // What the file itself defines comes after all that it imports.
        place.unwrap_or(usize::MAX - usize::from(path != file.path))
    };
    let mut ordered = outermost(dependencies);
    ordered.sort_by_cached_key(|one| {
        let variable = one.kind == DefinitionKind::Variable;
        (
            !variable,
            from(&one.path),
            one.path.clone(),
            one.range.start,
        )
    });
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
        let text = repository.text(dependency, detail);
        if repository.shares_class(dependency, &file.path, function) {
            // The components of a record stand in the line that begins it.
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
    let mut view = view_function(repository, file, function, hole, &members);
    view.prefix.insert_str(0, &above);
    view
}
