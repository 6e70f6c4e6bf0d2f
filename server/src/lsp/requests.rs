//! One file per request. Handlers copy what they need from the state before their first await.

mod answer;
pub(super) mod completion;
pub(super) mod execute_command;
pub(super) mod explain;
pub(super) mod inline_completion;
pub(super) mod models;
pub(super) mod new_session;
pub(super) mod purge;
pub(super) mod retrieve;
