//! Files that are laid over a project's source: tests that are kept with a corpus, and files that
//! building the project generated.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cache::{Cache, SOURCES, entry_name};
use super::error::CorpusError;
use super::prepared::Prepared;
use super::step::CorpusStep;
use super::tree::{self, EntryKind, TreeEntry};

/// The cache's record of a source with files added.
#[derive(Serialize, Deserialize)]
struct AddedFilesRecord {
    /// [`tree::digest`] of the tree when it was made.
    digest: String,
    /// [`Prepared::failed_before`] of the commands that made it.
    #[serde(default)]
    failed: Vec<String>,
}

/// Counts up when a cached tree would come out differently from the same two.
const SCHEMA: &str = "1";

/// See [`super::Corpus::with_tests`].
pub(super) fn lay_over(
    cache: &Cache,
    prepared: Prepared,
    tests: &Path,
    report_step: &dyn Fn(CorpusStep),
) -> Result<Prepared, CorpusError> {
    let name = prepared.project.name.clone();
    let from = tests.join(&name);
    if !from.is_dir() {
        return Ok(prepared);
    }
    let entries = tree::kept_entries(&from)?;
    if entries.is_empty() {
        return Ok(prepared);
    }
    check(&prepared, &from, &entries)?;
    lay(cache, prepared, "tests", &from, &entries, report_step)
}

/// The project with the files that building it generated; they replace nothing.
pub(super) fn with_generated(
    cache: &Cache,
    prepared: Prepared,
    report_step: &dyn Fn(CorpusStep),
) -> Result<Prepared, CorpusError> {
    let Some(from) = prepared.environment.generated.clone() else {
        return Ok(prepared);
    };
    let mut entries = tree::entries(&from)?;
    // `exists` would follow links, and miss one whose target is missing.
    entries.retain(|entry| fs::symlink_metadata(prepared.source.join(&entry.path)).is_err());
    if entries.is_empty() {
        return Ok(prepared);
    }
    lay(cache, prepared, "built", &from, &entries, report_step)
}

/// See [`super::Corpus::with_changed_source`].
pub(super) fn with_changes(
    cache: &Cache,
    prepared: Prepared,
    parts: &[&str],
    change: impl FnOnce(&Path) -> Result<Vec<String>, CorpusError>,
    report_step: &dyn Fn(CorpusStep),
) -> Result<Prepared, CorpusError> {
    let name = prepared.project.name.clone();
    let fill = |root: &Path| {
        let failed = change(root)?;
        // A command may have made a link that leads out of the tree.
        tree::check_links(&name, root)?;
        Ok(failed)
    };
    derive(cache, prepared, "changed", parts, fill, report_step)
}

/// The project with entries of a folder laid over its source.
fn lay(
    cache: &Cache,
    prepared: Prepared,
    label: &str,
    from: &Path,
    entries: &[TreeEntry],
    report_step: &dyn Fn(CorpusStep),
) -> Result<Prepared, CorpusError> {
    let digest = tree::digest_of(from, entries)?;
    let fill = |root: &Path| tree::copy(from, entries, root).map(|()| Vec::new());
    derive(cache, prepared, label, &[&digest], fill, report_step)
}

/// Returns the project with a copy of its source that `fill` adds to. The cache keeps the copy
/// under the source's digest, the label and the parts, which identify the additions of `fill`. What
/// that returns is added to [`Prepared::failed_before`].
fn derive(
    cache: &Cache,
    prepared: Prepared,
    label: &str,
    parts: &[&str],
    fill: impl FnOnce(&Path) -> Result<Vec<String>, CorpusError>,
    report_step: &dyn Fn(CorpusStep),
) -> Result<Prepared, CorpusError> {
    let name = &prepared.project.name;
    let mut all = vec![SCHEMA, prepared.digest.as_str()];
    all.extend(parts);
    let (folder, record) = cache.entry(
        SOURCES,
        &entry_name(&format!("{name}-{label}"), &all),
        report_step,
        |folder, record: &AddedFilesRecord| {
            tree::digest(&folder.join("tree")).is_ok_and(|digest| digest == record.digest)
        },
        |folder| {
            let root = folder.join("tree");
            prepared.copy_source(&root)?;
            let failed = fill(&root)?;
            Ok(AddedFilesRecord {
                digest: tree::digest(&root)?,
                failed,
            })
        },
    )?;
    let source = folder.join("tree");
    let mut added = prepared.added;
    let new = tree::entries(&source)?.into_iter().map(|entry| entry.path);
    added.extend(new.filter(|path| fs::symlink_metadata(prepared.source.join(path)).is_err()));
    added.sort();
    let mut failed_before = prepared.failed_before;
    failed_before.extend(record.failed);
    Ok(Prepared {
        source,
        digest: record.digest,
        added,
        failed_before,
        ..prepared
    })
}

/// Tests are added: they replace nothing and are no code that holes are cut into.
fn check(prepared: &Prepared, from: &Path, entries: &[TreeEntry]) -> Result<(), CorpusError> {
    for entry in entries {
        let fault = if matches!(entry.kind, EntryKind::Link(_)) {
            "is a symbolic link; put the file itself there"
        } else if fs::symlink_metadata(prepared.source.join(&entry.path)).is_ok() {
            "is in the project already, and tests are only added; give it another name"
        } else if prepared.project.holes.matches(&entry.path) {
            "matches the project's `holes`, and tests are no code that holes are cut into; move it"
        } else {
            continue;
        };
        return Err(CorpusError::unusable(
            &prepared.project.name,
            format!("{} {fault}", from.join(&entry.path).display()),
        ));
    }
    Ok(())
}
