//! What papers give a model beside the function that it is to write, made for any hole.
//!
//! In both papers a model sees the function alone, and around it only what the context is: never
//! the rest of its file. So a hole is shown in a text of its own, as if it were the file: the
//! function's head, its lines before and after the hole, and around a method the line that begins
//! its class. Nothing is shown that has the reference in it.

mod mrg_bench;
mod repoexec;
mod view;

use std::fmt;
use std::str::FromStr;

use super::dependencies::Repository;
use crate::language::SourceFile;
use crate::language::outline::Detail;
use crate::task::Hole;
pub use mrg_bench::{FILE_TOKENS, FOLDER_TOKENS};
use mrg_bench::{callees, cut, window, within};
use repoexec::base_prompt;
pub use view::Shown;
use view::alone;

/// A context of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paper {
    /// The function's dependencies, whole.
    RepoExecFull,
    /// Their signatures and documentation.
    RepoExecMedium,
    /// Their signatures.
    RepoExecSmall,
    /// Nothing.
    MrgNone,
    /// The rest of the file.
    MrgInFile,
    /// The functions of the repository that the function calls.
    MrgCalleeBodies,
    /// Their signatures.
    MrgCalleeSignatures,
    /// The files of the function's folder.
    MrgFolder,
}

impl Paper {
    /// Every context, in the order of the reference page.
    pub const ALL: [Self; 8] = [
        Self::RepoExecFull,
        Self::RepoExecMedium,
        Self::RepoExecSmall,
        Self::MrgNone,
        Self::MrgInFile,
        Self::MrgCalleeBodies,
        Self::MrgCalleeSignatures,
        Self::MrgFolder,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RepoExecFull => "repoexec-full",
            Self::RepoExecMedium => "repoexec-medium",
            Self::RepoExecSmall => "repoexec-small",
            Self::MrgNone => "mrg-none",
            Self::MrgInFile => "mrg-in-file",
            Self::MrgCalleeBodies => "mrg-callee-bodies",
            Self::MrgCalleeSignatures => "mrg-callee-signatures",
            Self::MrgFolder => "mrg-folder",
        }
    }

    /// A hole of a file as a model is to see it.
    ///
    /// RepoExec's contexts are its BasePrompt, §5.1 and appendix E of
    /// [its paper](https://arxiv.org/abs/2406.11927): the file's imports, the dependencies, the
    /// function, one below the other. Variables come first, then functions and classes in the
    /// order of the imports, the file's own last. Other members of a method's own class, which the
    /// paper does not have, stand in the class before the method.
    ///
    /// MRG-Bench's contexts, §5.2.1 of [its paper](https://arxiv.org/abs/2508.02998), go before
    /// the function as windows. The folder is the file's own with all below it.
    pub fn show(self, repository: &Repository<'_>, file: &SourceFile, hole: &Hole) -> Shown {
        let around = hole.start.0..hole.end.0;
        let function = repository
            .function_around(&file.path, &around)
            .unwrap_or(0..file.contents.len());
        let mut shown = alone(repository, file, &function, &around, "");
        let dependencies = || repository.dependencies(&file.path, &function, &function, 1);
        match self {
            Self::RepoExecFull | Self::RepoExecMedium | Self::RepoExecSmall => {
                let detail = match self {
                    Self::RepoExecFull => Detail::Whole,
                    Self::RepoExecMedium => Detail::Documented,
                    _ => Detail::Signature,
                };
                shown = base_prompt(
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
                shown.windows = within(vec![window(&file.path, 0, text)], FILE_TOKENS);
            }
            Self::MrgCalleeBodies | Self::MrgCalleeSignatures => {
                let detail = match self {
                    Self::MrgCalleeBodies => Detail::Whole,
                    _ => Detail::Signature,
                };
                shown.windows = callees(repository, &dependencies(), detail);
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
                shown.windows = within(files.collect(), FOLDER_TOKENS);
            }
        }
        shown
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Paper {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|paper| paper.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                format!("the contexts of papers are {known}")
            })
    }
}

#[cfg(test)]
mod tests;
