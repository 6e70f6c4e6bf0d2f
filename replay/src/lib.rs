//! The evaluator behind Fillrate: plays a developer against the language server and judges the
//! result with the project's own tests.
//!
//! The rooms, from the ground up; a room imports only rooms below it:
//! `queue`, `task` → `language` → `mutate` → `corpus` → `import` → `verdict` → `mine` →
//! `developer` → `store` → `play` → `report` → `study` → `cli`.
//!
//! Architecture invariants: `mutate` is pure and knows nothing of the rest; metrics
//! are the crate `fillrate-metrics`; model keys never reach a test process; code written by a
//! model runs only in the crate `fillrate-sandbox`.

pub mod cli;
pub mod corpus;
pub mod developer;
pub mod import;
pub mod language;
pub mod mine;
pub mod mutate;
pub mod play;
mod queue;
pub mod report;
pub mod store;
pub mod study;
pub mod task;
pub mod verdict;
