//! RepoExec's prompts for a function that is to be written from its documentation.

use std::ops::Range;

use fillrate_language::outline::Detail;
use fillrate_language::{LanguageSupport, SourceFile};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::repoexec::base_prompt;
use super::view::{HoleView, view_function};
use crate::dependencies::{DependencyIndex, DocumentedFunction};

/// Part of a function's dependencies that RepoExec shows, §5.1 of [its
/// paper](https://arxiv.org/abs/2406.11927).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(
    serialize_all = "kebab-case",
    parse_err_ty = String,
    parse_err_fn = unknown_level
)]
pub enum ContextLevel {
    /// All of them.
    Full,
    /// Signatures and documentation.
    Medium,
    /// Signatures.
    Small,
}

impl ContextLevel {
    fn detail(self) -> Detail {
        match self {
            Self::Full => Detail::Whole,
            Self::Medium => Detail::Documented,
            Self::Small => Detail::Signature,
        }
    }
}

/// A form of RepoExec's prompts, appendix E of [its paper](https://arxiv.org/abs/2406.11927).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(parse_err_ty = String, parse_err_fn = unknown_form)]
pub enum PromptForm {
    /// BasePrompt: code alone.
    #[strum(serialize = "base")]
    Base,
    /// InstructPrompt 1: the task in words, then code with the dependencies.
    #[strum(serialize = "instruct-1")]
    Instruct1,
    /// InstructPrompt 2: the dependencies and the task in words, then the function's head.
    #[strum(serialize = "instruct-2")]
    Instruct2,
}

/// Renders prompts for the functions of a repository's file.
pub struct TaskPrompts<'a> {
    /// The repository.
    pub repository: &'a DependencyIndex<'a>,
    /// The file.
    pub file: &'a SourceFile,
}

impl TaskPrompts<'_> {
    /// The prompt for a function: it ends where the body begins.
    pub fn render(
        &self,
        function: &DocumentedFunction,
        level: ContextLevel,
        form: PromptForm,
    ) -> String {
        let base = self.base(&function.range, &function.body, level).prefix;
        self.instruct(function, &function.range, &function.body, base, form)
    }

    /// A hole in a function as a model sees it; `None` if the form has an instruction, and the hole
    /// is not in the body of a documented function.
    pub(super) fn view(
        &self,
        function: &Range<usize>,
        hole: &Range<usize>,
        level: ContextLevel,
        form: PromptForm,
    ) -> Option<HoleView> {
        let mut view = self.base(function, hole, level);
        if form != PromptForm::Base {
            let documented = self.repository.documented_functions(&self.file.path);
            let documented = documented.iter().find(|one| {
                let body = one.body.start;
                function.start <= body && body <= hole.start && hole.end <= one.body.end
            })?;
            view.prefix = self.instruct(documented, function, hole, view.prefix, form);
        }
        Some(view)
    }

    fn base(&self, function: &Range<usize>, hole: &Range<usize>, level: ContextLevel) -> HoleView {
        base_prompt(self.repository, self.file, function, hole, level.detail())
    }

    /// The form of a BasePrompt.
    fn instruct(
        &self,
        documented: &DocumentedFunction,
        function: &Range<usize>,
        hole: &Range<usize>,
        base: String,
        form: PromptForm,
    ) -> String {
        let DocumentedFunction {
            name,
            signature,
            documentation,
            ..
        } = documented;
        let language = LanguageSupport::for_language(self.file.language).title;
        let task = format!(
            "Write a {language} function `{signature}` to solve the following problem:\n{documentation}"
        );
        match form {
            PromptForm::Base => base,
            PromptForm::Instruct1 => {
                format!("### Instruction:\n{task}\n\n### Response:\n{base}")
            }
            PromptForm::Instruct2 => {
                let file = self.file;
                let shown = self.repository.without_decorators(&file.path, function);
                let target = view_function(self.repository, file, &shown, hole, "").prefix;
                // Members of a method's class are before it, below the class's first line.
                let own = &file.contents[file.line_start(shown.start)..hole.start];
                let above = base
                    .strip_suffix(&target)
                    .or_else(|| base.strip_suffix(own))
                    .unwrap_or(&base)
                    .trim_end();
                format!(
                    "### Instruction:\n{above}\n\nThe provided code snippet includes necessary \
                     dependencies for implementing the `{name}` function. {task}\n\n\
                     ### Response:\n{target}"
                )
            }
        }
    }
}

fn unknown_level(_: &str) -> String {
    unknown("levels of context", ContextLevel::VARIANTS)
}

fn unknown_form(_: &str) -> String {
    unknown("forms of prompts", PromptForm::VARIANTS)
}

fn unknown<T: Copy + Into<&'static str>>(what: &str, known: &[T]) -> String {
    let names: Vec<&str> = known.iter().map(|one| (*one).into()).collect();
    format!("the {what} are {}", names.join(", "))
}
