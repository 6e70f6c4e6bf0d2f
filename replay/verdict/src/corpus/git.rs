//! Commands of Git.

use std::path::Path;
use std::process::Command;

/// Variables by which Git would work on another repository than the one of its folder, as in a hook.
const OF_REPOSITORIES: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
];

/// A command of Git, given its program, on the repository of a folder.
pub(super) fn command(program: &Path, folder: &Path) -> Command {
    let mut git = Command::new(program);
    // Git would start a configured file monitor.
    git.args(["-c", "core.fsmonitor=false"]).current_dir(folder);
    for variable in OF_REPOSITORIES {
        git.env_remove(variable);
    }
    git
}
