//! Folders of the server's own files.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the cache's folder: `$FILLRATE_CACHE`, else `$XDG_CACHE_HOME/fillrate`, else
/// `~/.cache/fillrate`; `None` if none of the variables is set.
pub(crate) fn cache_folder(environment: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name| environment(name).filter(|value| !value.is_empty());
    let own = set("FILLRATE_CACHE").map(PathBuf::from);
    own.or_else(|| Some(Path::new(&set("XDG_CACHE_HOME")?).join("fillrate")))
        .or_else(|| Some(Path::new(&set("HOME")?).join(".cache/fillrate")))
}

/// Returns the folder of a user's files that this variable names, or else the one below the home
/// folder: <https://specifications.freedesktop.org/basedir-spec/latest/>. A relative path is ignored,
/// since a repository that is opened would then supply these files.
pub(crate) fn base_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}

/// Returns a path in which a leading `~` is the home folder, if that is known.
pub(crate) fn below_home(path: &Path) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let whole = path
        .strip_prefix("~")
        .ok()
        .and_then(|inner| Some(home()?.join(inner)));
    whole.unwrap_or_else(|| path.to_owned())
}

/// Creates a folder, and its missing parents, readable by its owner only.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
