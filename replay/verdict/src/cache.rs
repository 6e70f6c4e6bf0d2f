//! The verdict cache: one small file for each verdict, named by the change.

use std::path::{Path, PathBuf};

use fillrate_language::task::{WholeFile, sha256_hex};

use super::outcome::{Outcome, Verdict};

/// The version of the rules for verdicts and of the keys of changes; verdicts of other versions
/// are not loaded.
const VERSION: u32 = 25;

/// Cached verdicts on one project, its environment and its test configuration included.
#[derive(Debug)]
pub(super) struct VerdictCache {
    folder: PathBuf,
}

impl VerdictCache {
    /// The cached verdicts of the judge with this key.
    pub(super) fn new(cache: &Path, key: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let name = sha256_hex(format!("{version}\0{VERSION}\0{key}").as_bytes());
        Self {
            folder: cache.join("verdicts").join(&name[..16]),
        }
    }

    /// The verdict on a change, if it is cached.
    pub(super) fn load(&self, change: &str) -> Option<Verdict> {
        let bytes = std::fs::read(self.path(change)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Stores a reproducible verdict and ignores others. A verdict that can't be written is logged
    /// and computed again another time.
    pub(super) fn store(&self, change: &str, verdict: &Verdict) {
        // The other outcomes depend on the machine's load, so the next run judges them again.
        if !matches!(
            verdict.outcome,
            Outcome::Passed | Outcome::Failed | Outcome::Syntax
        ) {
            return;
        }
        if let Err(error) = WholeFile::write_json(&self.path(change), verdict) {
            tracing::warn!("a verdict is not cached: {error}");
        }
    }

    fn path(&self, change: &str) -> PathBuf {
        let name = sha256_hex(change.as_bytes());
        self.folder.join(&name[..2]).join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reproducible_verdicts_are_stored_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let cache = VerdictCache::new(folder.path(), "project");
        for outcome in [Outcome::Failed, Outcome::Timeout, Outcome::Infrastructure] {
            cache.store(outcome.name(), &Verdict::from_outcome(outcome));
        }
        assert_eq!(
            cache.load("failed"),
            Some(Verdict::from_outcome(Outcome::Failed))
        );
        assert_eq!(cache.load("timeout"), None);
        assert_eq!(cache.load("infrastructure"), None);
        let other = VerdictCache::new(folder.path(), "another");
        assert_eq!(other.load("failed"), None);
    }
}
