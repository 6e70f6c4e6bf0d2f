//! The engine: replaying, mining, mutating, augmenting and auditing as jobs of one queue.
//!
//! Each file that does work takes plain data, a plan, and returns plain data, an outcome; while it
//! works it sends [`Event`]s to a [`Listener`]. All parallel work goes through
//! `run_jobs`: jobs are taken in order, the first error stops the queue.
//! A run that is killed is resumed by the keys of its attempts: see [`replay`].

pub mod annotate;
pub mod audit;
pub mod augment;
mod chat;
pub mod compare;
pub mod context;
pub mod distance;
mod editor;
mod error;
pub mod events;
pub mod fleet;
mod hole;
pub mod merge;
pub mod mining;
pub mod mutate;
pub mod pack;
mod permits;
mod plan;
mod predictions;
pub mod projects;
pub mod replay;
mod schedule;
pub mod score;
mod subject;
pub mod tasks;
pub mod tuning;
mod worker;

pub use error::PlayError;
pub use events::{Event, Listener};
pub use subject::check_model_name;
