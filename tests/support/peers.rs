//! What tests against other programs share.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use fillrate::corpus::cache::Cache;
use fillrate::corpus::manifest::Manifest;
use fillrate::corpus::{Toolchain, source};

use super::play::{cache, repository};

/// Whether all is compared, and not only what is done in seconds.
pub(crate) fn everything() -> bool {
    match std::env::var("FILLRATE_PEERS") {
        Ok(all) if all == "all" => true,
        Ok(other) => panic!("FILLRATE_PEERS is `{other}`; it can only be `all`"),
        Err(_) => false,
    }
}

/// The folder of mistune's source, as the corpus of real projects pins it.
pub(crate) fn mistune() -> PathBuf {
    let manifest = Manifest::read(&repository("corpora/real.toml")).unwrap();
    let project = manifest.project("mistune").unwrap();
    let cache = Cache::at(&cache());
    source::bring(&cache, &Toolchain::default(), project, &|_| {})
        .unwrap()
        .root
}
