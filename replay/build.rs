//! Strips the released program of its symbols, which are a fifth of it.
//!
//! `strip` of a profile does not reach a package that has a table in that profile: Cargo then asks
//! the compiler for `strip=debuginfo`. `replay` has such a table for the sake of its `opt-level`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // The profile `profiling` inherits from `release`, but keeps line tables.
    if is("PROFILE", "release") && is("DEBUG", "false") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bin=fillrate=-Wl,--strip-all");
    }
}
