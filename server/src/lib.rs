//! The language server behind Fillrate: inline completions from any model, with context from
//! the repository, over the Language Server Protocol.
//!
//! The modules, from the ground up; a module imports only modules below it:
//! `digest`, `folders`, `json` → [`documents`] → [`workspace`] → [`context`] → [`prompt`] → [`model`] →
//! [`cleanup`] → [`configuration`] → [`completion`] → [`telemetry`] → [`lsp`]. Below all of them is
//! the crate `fillrate-syntax`.
//!
//! Architecture invariants: only [`lsp`] knows tower-lsp and JSON-RPC; offsets are converted
//! only in `fillrate_syntax::text`; this crate never depends on the evaluator, which runs it.

pub mod cleanup;
pub mod completion;
pub mod configuration;
pub mod context;
mod digest;
pub mod documents;
mod folders;
mod json;
pub mod lsp;
pub mod model;
pub mod prompt;
pub mod telemetry;
pub mod workspace;

pub use fillrate_syntax as syntax;
use fillrate_syntax::text;
