//! What papers give a model beside the function that it is to write, made for any hole.
//!
//! In both papers a model sees the function alone, and around it only what the context is: never
//! the rest of its file. So a hole is shown in a text of its own, as if it were the file: the
//! function's head, its lines before and after the hole, and around a method the line that begins
//! its class. Nothing is shown that has the reference in it.

mod instruction;
mod mrg_bench;
mod repoexec;
mod view;

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::dependencies::DependencyIndex;
use crate::language::SourceFile;
use crate::language::outline::Detail;
use crate::task::Hole;
pub use instruction::{ContextLevel, PromptForm, TaskPrompts};
pub use mrg_bench::{FILE_TOKENS, FOLDER_TOKENS};
use mrg_bench::{callees, cut, window, within};
use repoexec::base_prompt;
pub use view::HoleView;
use view::view_function;

/// A context of a paper.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(parse_err_ty = String, parse_err_fn = unknown_context)]
pub enum PaperContext {
    /// The function's dependencies, whole.
    #[strum(serialize = "repoexec-full")]
    RepoExecFull,
    /// Their signatures and documentation.
    #[strum(serialize = "repoexec-medium")]
    RepoExecMedium,
    /// Their signatures.
    #[strum(serialize = "repoexec-small")]
    RepoExecSmall,
    /// Nothing.
    #[strum(serialize = "mrg-none")]
    MrgNone,
    /// The rest of the file.
    #[strum(serialize = "mrg-in-file")]
    MrgInFile,
    /// The functions of the repository that the function calls.
    #[strum(serialize = "mrg-callee-bodies")]
    MrgCalleeBodies,
    /// Their signatures.
    #[strum(serialize = "mrg-callee-signatures")]
    MrgCalleeSignatures,
    /// The files of the function's folder.
    #[strum(serialize = "mrg-folder")]
    MrgFolder,
}

impl PaperContext {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// A hole of a file as the model sees it.
    ///
    /// RepoExec's contexts are its BasePrompt, §5.1 and appendix E of
    /// [its paper](https://arxiv.org/abs/2406.11927): the file's imports, the dependencies, the
    /// function, one below the other. Variables come first, then functions and classes in the
    /// order of the imports, the file's own last. Other members of a method's own class, which the
    /// paper does not have, stand in the class before the method.
    ///
    /// MRG-Bench's contexts, §5.2.1 of [its paper](https://arxiv.org/abs/2508.02998), go before
    /// the function as windows. The folder is the file's own with all below it.
    pub fn view(
        self,
        repository: &DependencyIndex<'_>,
        file: &SourceFile,
        hole: &Hole,
    ) -> HoleView {
        let around = hole.start.0..hole.end.0;
        let function = repository
            .function_around(&file.path, &around)
            .unwrap_or(0..file.contents.len());
        let mut view = view_function(repository, file, &function, &around, "");
        let dependencies = || repository.dependencies(&file.path, &function, &function, 1);
        match self {
            Self::RepoExecFull | Self::RepoExecMedium | Self::RepoExecSmall => {
                let detail = match self {
                    Self::RepoExecFull => Detail::Whole,
                    Self::RepoExecMedium => Detail::Documented,
                    _ => Detail::Signature,
                };
                view = base_prompt(
                    repository,
                    file,
                    &function,
                    &around,
                    &dependencies(),
                    detail,
                );
            }
            Self::MrgNone => {}
            Self::MrgInFile => {
                let text = cut(&file.contents, &around);
                view.windows = within(vec![window(&file.path, 0, text)], FILE_TOKENS);
            }
            Self::MrgCalleeBodies | Self::MrgCalleeSignatures => {
                let detail = match self {
                    Self::MrgCalleeBodies => Detail::Whole,
                    _ => Detail::Signature,
                };
                view.windows = callees(repository, &dependencies(), detail);
            }
            Self::MrgFolder => {
                let folder = &file.path[..file.path.rfind('/').map_or(0, |end| end + 1)];
                let files = repository
                    .files()
                    .filter(|other| other.path.starts_with(folder))
                    .map(|other| {
                        let text = match other.path == file.path {
                            true => cut(&other.contents, &around),
                            false => other.contents.clone(),
                        };
                        window(&other.path, 0, text)
                    });
                view.windows = within(files.collect(), FOLDER_TOKENS);
            }
        }
        view
    }
}

fn unknown_context(_: &str) -> String {
    let known: Vec<&str> = PaperContext::VARIANTS.iter().map(Into::into).collect();
    format!("the contexts of papers are {}", known.join(", "))
}

#[cfg(test)]
mod tests;
