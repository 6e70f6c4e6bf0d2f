//! Contexts that papers give a model together with the function that it is to write, made for any
//! hole.
//!
//! In both papers a model sees the function alone, and around it only the context, never the rest
//! of its file. A hole is therefore shown in a text of its own, as if it were the file: the
//! function's head, its lines before and after the hole, and around a method the line that begins
//! its class. Nothing that contains the reference is shown.

mod instruction;
mod mrg_bench;
mod repoexec;
mod view;

use std::fmt;
use std::str::FromStr;

use fillrate_language::SourceFile;
use fillrate_language::task::Hole;
use strum::VariantArray;

use super::dependencies::DependencyIndex;
pub use instruction::{ContextLevel, PromptForm, TaskPrompts};
pub use mrg_bench::{FILE_TOKENS, FOLDER_TOKENS, MrgContext};
pub use view::HoleView;

/// A context of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaperContext {
    /// RepoExec's: the part of a function's dependencies that it shows, and the form.
    RepoExec(ContextLevel, PromptForm),
    /// MRG-Bench's.
    MrgBench(MrgContext),
}

/// Reason why a hole has no such context.
#[derive(Debug, thiserror::Error)]
#[error(
    "--context {context} describes a function by its documentation, but none is before the \
     hole {id}; choose tasks that are bodies of documented functions, or a context without \
     instruction"
)]
pub struct Undocumented {
    context: PaperContext,
    id: String,
}

impl PaperContext {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let forms = PromptForm::VARIANTS.iter();
        let repoexec = forms.flat_map(|form| {
            let levels = ContextLevel::VARIANTS.iter();
            levels.map(|level| Self::RepoExec(*level, *form))
        });
        repoexec.chain(MrgContext::VARIANTS.iter().copied().map(Self::MrgBench))
    }

    /// A hole of a file as the model sees it.
    ///
    /// # Errors
    /// The context has an instruction, and the hole is not in the body of a documented function.
    pub fn view(
        self,
        repository: &DependencyIndex<'_>,
        file: &SourceFile,
        hole: &Hole,
    ) -> Result<HoleView, Undocumented> {
        let around = hole.start.0..hole.end.0;
        let function = repository
            .function_around(&file.path, &around)
            .unwrap_or(0..file.contents.len());
        match self {
            Self::RepoExec(level, form) => {
                let prompts = TaskPrompts { repository, file };
                let view = prompts.view(&function, &around, level, form);
                view.ok_or_else(|| Undocumented {
                    context: self,
                    id: hole.id.clone(),
                })
            }
            Self::MrgBench(context) => Ok(context.view(repository, file, &function, &around)),
        }
    }
}

impl fmt::Display for PaperContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RepoExec(level, PromptForm::Base) => write!(formatter, "repoexec-{level}"),
            Self::RepoExec(level, form) => write!(formatter, "repoexec-{level}-{form}"),
            Self::MrgBench(context) => write!(formatter, "mrg-{context}"),
        }
    }
}

impl FromStr for PaperContext {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::all().find(|context| context.to_string() == name);
        found.ok_or_else(|| {
            let known: Vec<String> = Self::all().map(|context| context.to_string()).collect();
            format!("the contexts of papers are {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests;
