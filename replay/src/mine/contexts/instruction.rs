//! RepoExec's prompts for a function that is to be written from its documentation.

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::PaperContext;
use crate::language::{LanguageSupport, SourceFile};
use crate::mine::dependencies::{DependencyIndex, DocumentedFunction};
use crate::task::{Hole, HoleKind};

/// How much of a function's dependencies RepoExec shows, §5.1 of
/// [its paper](https://arxiv.org/abs/2406.11927).
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
    fn context(self) -> PaperContext {
        match self {
            Self::Full => PaperContext::RepoExecFull,
            Self::Medium => PaperContext::RepoExecMedium,
            Self::Small => PaperContext::RepoExecSmall,
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
        let contents = &self.file.contents;
        let support = LanguageSupport::for_language(self.file.language);
        let body = function.body.clone();
        let hole = Hole::new(
            "",
            support.name,
            &self.file.path,
            HoleKind::Body,
            body.clone(),
            contents,
        );
        let view = |context: PaperContext| context.view(self.repository, self.file, &hole).prefix;
        let base = view(level.context());
        let target = view(PaperContext::MrgNone);
        let DocumentedFunction {
            name,
            signature,
            documentation,
            ..
        } = function;
        let task = format!(
            "Write a {} function `{signature}` to solve the following problem:\n{documentation}",
            support.title
        );
        match form {
            PromptForm::Base => base,
            PromptForm::Instruct1 => {
                format!("### Instruction:\n{task}\n\n### Response:\n{base}")
            }
            PromptForm::Instruct2 => {
                let own = &contents[self.file.line_start(function.range.start)..body.start];
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
