//! Whole-system tests: the real binary, real editors, real servers. One module for each promise.
//!
//! `cargo test --test system hostile` runs one module, and
//! `cargo test --test system hostile::completions_that_exhaust_resources_hit_limits` one test.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ages;
mod answers;
mod audit;
mod augment;
mod by_syntax;
mod clients;
mod compare;
mod complete;
mod connections;
mod dependencies;
mod doctor;
mod endings;
mod errors;
mod fit;
mod flaky;
mod fleet;
mod go;
mod hostile;
mod import;
mod java;
mod kills;
mod llama;
mod mine;
mod mutate;
mod nvim;
mod operators;
mod papers;
mod protocol;
mod quarry;
mod replay;
mod repoexec;
mod report;
mod repositories;
mod resume;
mod retrieve;
mod rounds;
mod runners;
mod score;
mod serve;
mod sessions;
mod soak;
mod stats;
mod study;
mod support;
mod swap;
mod tasks;
mod telemetry;
mod trial;
mod type_mode;
mod typing;
mod views;
mod vscode;
