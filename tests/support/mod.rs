//! Shared parts of the whole-system tests.

pub(crate) mod browser;
pub(crate) mod editor;
pub(crate) mod idioms;
pub(crate) mod pairs;
pub(crate) mod peers;
pub(crate) mod play;
pub(crate) mod processes;
pub(crate) mod programs;
