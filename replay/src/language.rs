//! What replay knows of each language, one folder each; everything else is generic.
//!
//! [`LANGUAGES`] is the table: a row says how the language's holes end, what its mutants are, how
//! dependencies are found, which packages and test runners its projects use, and how tests of it
//! are written. `language/README.md` says how to add one. Grammars are in the server's `syntax`.

pub(crate) mod category;
pub(crate) mod csharp;
pub(crate) mod definitions;
pub(crate) mod dependencies;
pub mod detection;
pub mod environment;
pub(crate) mod go;
pub(crate) mod holes;
pub(crate) mod imports;
pub(crate) mod java;
pub(crate) mod mutation;
pub(crate) mod names;
pub(crate) mod outline;
pub(crate) mod programs;
pub(crate) mod python;
pub mod runner;
pub mod scoring;
mod source;
mod support;
mod table;
pub(crate) mod test_conventions;
pub(crate) mod twins;
pub(crate) mod typescript;
mod unread;

pub use source::SourceFile;
pub use support::LanguageSupport;
pub use table::{LANGUAGES, name_for_path, package_manager};
