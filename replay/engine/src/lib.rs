//! The engine of a replay: plays a developer against the language server, has the completions
//! judged and stores the attempts.
//!
//! - [`developer`]: the LSP client that plays a person.
//! - [`store`]: a run on disk, its parts and their merge.
//! - [`play`]: one queue of jobs, workers, resume and events.

pub mod developer;
pub mod play;
pub mod store;
