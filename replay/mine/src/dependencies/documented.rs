//! The functions of a file that have documentation.

use std::ops::Range;

use fillrate_language::LanguageSupport;
use fillrate_language::definitions::DefinitionKind;
use fillrate_language::outline::with_body;
use fillrate_language::scoring::head_of;

use super::DependencyIndex;

/// A function or method with documentation and a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentedFunction {
    /// Its name, without its class's.
    pub name: String,
    /// The class it is a method of.
    pub owner: Option<String>,
    /// Its range in its file, with decorators and the documentation before it.
    pub range: Range<usize>,
    /// Its signature on one line, without the keyword and the sign that begin and end it in Python.
    pub signature: String,
    /// Its documentation, with its marks.
    pub documentation: String,
    /// Range from the end of signature and documentation to its end.
    pub body: Range<usize>,
}

impl DependencyIndex<'_> {
    /// The functions of a file's outermost scope and the methods of its classes that have
    /// documentation, in the order of the file.
    pub fn documented_functions(&self, path: &str) -> Vec<DocumentedFunction> {
        let Some((known, parsed)) = self.files.get(path).zip(self.parsed(path)) else {
            return Vec::new();
        };
        let file = known.file;
        let contents = &file.contents;
        let docstrings = LanguageSupport::for_language(file.language).has_docstrings;
        let all = &parsed.definitions.all;
        let mut found: Vec<DocumentedFunction> = all
            .iter()
            .filter(|definition| definition.kind == DefinitionKind::Function)
            .filter_map(|definition| {
                let core = &definition.core;
                let core = parsed
                    .tree
                    .root_node()
                    .descendant_for_byte_range(core.start, core.end)?;
                let function = with_body(core, file)?;
                let head = head_of(function, file.language)?;
                let (documentation, start) = if docstrings {
                    (head.documentation?, function.start_byte())
                } else {
                    let before = definition.range.start..definition.statement;
                    (before, definition.statement)
                };
                let mut body = head.signature_end.max(documentation.end);
                // The documentation is before the function, whose body begins after the brace.
                if !docstrings {
                    let block = function.child_by_field_name("body")?.start_byte();
                    body = block + usize::from(contents[block..].starts_with('{'));
                }
                let documentation = contents[documentation].trim();
                let body = body..definition.range.end;
                let owner = definition.owner.map(|owner| all[owner].name.clone());
                let is_whole =
                    !documentation.is_empty() && !contents[body.clone()].trim().is_empty();
                is_whole.then(|| DocumentedFunction {
                    name: definition.name.clone(),
                    owner,
                    range: definition.range.clone(),
                    signature: plain_signature(&contents[start..head.signature_end]),
                    documentation: documentation.to_owned(),
                    body,
                })
            })
            .collect();
        found.sort_by_key(|function| function.range.start);
        found.dedup_by_key(|function| function.range.clone());
        found
    }
}

/// A signature on one line, without Python's `def` and colon, and an arrow function's arrow.
fn plain_signature(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.strip_prefix("async ").unwrap_or(&line);
    let line = line.strip_prefix("def ").unwrap_or(line);
    let line = line.strip_suffix("=>").unwrap_or(line);
    line.trim_end_matches(':').trim_end().to_owned()
}
