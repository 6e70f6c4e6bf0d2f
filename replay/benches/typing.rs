//! How fast the server is at a keyboard.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

fn main() {}
