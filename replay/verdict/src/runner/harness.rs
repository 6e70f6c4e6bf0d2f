//! The scripts that run with the tests, and their instructions on standard input.

use std::path::{Path, PathBuf};

use fillrate_language::task::sha256_hex;
use serde::Serialize;

use crate::error::VerdictError;

/// Scripts of the folder `harness`, as name and contents.
macro_rules! harness_scripts {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../harness/", $name)))),+]
    };
}
pub(super) use harness_scripts;

/// Instructions that the scripts read on their standard input: a line of JSON.
#[derive(Serialize)]
pub(super) struct RunInstructions<'a> {
    /// Repeated in every line of the report. The scripts read it before any code of the project
    /// runs, and it is written nowhere else.
    pub(super) nonce: String,
    /// Part of every sentinel's failure message.
    pub(super) token: String,
    /// The tests to run; `None` selects all.
    pub(super) select: Option<&'a [&'a str]>,
    /// The files whose lines are recorded by test; `None` disables recording.
    pub(super) coverage: Option<&'a [String]>,
    pub(super) first_failure_ends: bool,
    /// The time after which a test ends the run; `None` sets no limit.
    pub(super) test_seconds: Option<u64>,
    /// The files that differ from the project's own.
    pub(super) changed: Vec<&'a str>,
}

impl RunInstructions<'_> {
    /// A secret that code under test can't guess.
    pub(super) fn secret() -> String {
        format!("{:032x}", rand::random::<u128>())
    }

    /// The line of JSON.
    pub(super) fn line(&self) -> String {
        instruction_line(self)
    }
}

/// Instructions as a line of JSON.
pub(super) fn instruction_line(instructions: &impl Serialize) -> String {
    // Instructions are plain data, so their encoding can't fail.
    let line = serde_json::to_string(instructions).unwrap_or_default();
    line + "\n"
}

/// Writes scripts, each a name and contents, into a folder of the cache, once for each version of
/// them. Returns the folder.
///
/// # Errors
/// The cache can't be written.
pub(crate) fn write_scripts(
    scripts: &[(&str, &str)],
    cache: &Path,
) -> Result<PathBuf, VerdictError> {
    // Names count too: renamed scripts are another version.
    let all: Vec<&str> = scripts
        .iter()
        .flat_map(|(name, text)| [*name, *text])
        .collect();
    let parent = cache.join("harness");
    let folder = parent.join(&sha256_hex(all.join("\0").as_bytes())[..16]);
    if folder.is_dir() {
        return Ok(folder);
    }
    let cache_error = |path: &Path| {
        let path = path.to_owned();
        move |source| VerdictError::Cache { path, source }
    };
    std::fs::create_dir_all(&parent).map_err(cache_error(&parent))?;
    let fresh = tempfile::tempdir_in(&parent).map_err(cache_error(&parent))?;
    for (name, text) in scripts {
        let path = fresh.path().join(name);
        std::fs::write(&path, text).map_err(cache_error(&path))?;
    }
    // The folder is renamed as a whole, so no reader sees a part of the scripts.
    let fresh = fresh.keep();
    make_readable(&fresh).map_err(cache_error(&fresh))?;
    if let Err(error) = std::fs::rename(&fresh, &folder) {
        // Another process was faster; its files are the same.
        let _ = std::fs::remove_dir_all(&fresh);
        if !folder.is_dir() {
            return Err(cache_error(&folder)(error));
        }
    }
    Ok(folder)
}

/// Makes a folder readable for every user: inside the sandbox the process has another user id.
pub(super) fn make_readable(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}
