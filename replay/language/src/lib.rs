//! Replay's support for languages, one folder each; everything else is generic.
//!
//! [`LANGUAGES`] is the table: a row says how the language's holes end, what its mutants are, how
//! dependencies are found, which packages and test runners its projects use, and how tests of it
//! are written. `README.md` in this crate's folder says how to add one. Grammars are in
//! `fillrate-syntax`. [`mutate`] makes mutants and [`task`] holds the record of a hole; both are
//! pure.

pub(crate) mod category;
pub(crate) mod csharp;
pub mod definitions;
pub(crate) mod dependencies;
pub mod detection;
pub mod environment;
pub mod go;
pub(crate) mod holes;
pub mod imports;
pub mod java;
pub mod mutate;
pub(crate) mod mutation;
pub mod names;
pub mod outline;
pub mod programs;
pub mod python;
pub mod runner;
pub mod scoring;
mod source;
mod support;
mod table;
pub mod task;
pub mod test_conventions;
pub mod twins;
pub mod typescript;
mod unread;

pub use source::SourceFile;
pub use support::LanguageSupport;
pub use table::{LANGUAGES, is_test_file, name_for_path, package_manager};
