//! Verdicts that outlive a run, in the cache: one small file each, by contents.

use std::path::{Path, PathBuf};

use super::{Outcome, Verdict};
use crate::task::sha256_hex;

/// The version of the rules by which verdicts are reached; what older rules said is not recalled.
const RULES: u32 = 2;

/// The verdicts on one project, its environment and its way of being tested included.
#[derive(Debug)]
pub(super) struct Memory {
    folder: PathBuf,
}

impl Memory {
    /// What is known of the project whose judge has this key.
    pub(super) fn new(cache: &Path, key: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let name = sha256_hex(format!("{version}\0{RULES}\0{key}").as_bytes());
        Self {
            folder: cache.join("verdicts").join(&name[..16]),
        }
    }

    /// The verdict on a change, if it is known.
    pub(super) fn recall(&self, change: &str) -> Option<Verdict> {
        let bytes = std::fs::read(self.path(change)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps a verdict that would be the same again. Where it can't be written, it is reached
    /// again another time.
    pub(super) fn keep(&self, change: &str, verdict: &Verdict) {
        if !matches!(
            verdict.outcome,
            Outcome::Passed | Outcome::Failed | Outcome::Syntax
        ) {
            return;
        }
        let path = self.path(change);
        let write = || -> std::io::Result<()> {
            let folder = path.parent().unwrap_or(&self.folder);
            std::fs::create_dir_all(folder)?;
            let file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&file, verdict)?;
            file.persist(&path)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::debug!("a verdict is not kept: {error}");
        }
    }

    fn path(&self, change: &str) -> PathBuf {
        let name = sha256_hex(change.as_bytes());
        self.folder.join(&name[..2]).join(name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn what_would_be_the_same_again_is_kept_and_nothing_else() {
        let cache = tempfile::tempdir().unwrap();
        let memory = Memory::new(cache.path(), "project");
        for outcome in [Outcome::Failed, Outcome::Timeout, Outcome::Infrastructure] {
            memory.keep(outcome.name(), &Verdict::bare(outcome));
        }
        assert_eq!(
            memory.recall("failed"),
            Some(Verdict::bare(Outcome::Failed))
        );
        assert_eq!(memory.recall("timeout"), None);
        assert_eq!(memory.recall("infrastructure"), None);
        let other = Memory::new(cache.path(), "another");
        assert_eq!(other.recall("failed"), None);
    }
}
