//! Finds the Node.js that a manifest asks for.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::super::environment::{
    EnvironmentError, EnvironmentKind, Interpreter, Toolchain, beyond_usr,
};
use super::super::super::programs::answer;
use super::OLDEST_NODE;
use super::ranges::NodeRange;

/// Folders of version managers below the home folder: each has a folder per version, in which the
/// program is at the second path.
const VERSION_MANAGERS: [(&str, &str); 5] = [
    (".nvm/versions/node", "bin/node"),
    (".local/share/fnm/node-versions", "installation/bin/node"),
    (".volta/tools/image/node", "bin/node"),
    (".local/share/mise/installs/node", "bin/node"),
    (".asdf/installs/nodejs", "bin/node"),
];

/// A Node.js of a version such as `20` or `20.11`, or in a range such as `>=22.12`: the one on the
/// search path, a version manager's, or one that npm fetches.
///
/// # Errors
/// [`EnvironmentError::MissingProgram`] if there is none.
pub(super) fn find(toolchain: &Toolchain, wanted: &str) -> Result<Interpreter, EnvironmentError> {
    let missing = |how_to_get: String| {
        EnvironmentError::missing(
            &format!("node {wanted}"),
            "a project of the corpus",
            how_to_get,
        )
    };
    let parsed = NodeRange::parse(wanted);
    let range = parsed.filter(|_| wanted.contains(|letter: char| letter.is_ascii_digit()));
    let found = range.and_then(|range| {
        // Of what a project allows, what works here.
        let range = range.from(OLDEST_NODE).unwrap_or(range);
        Some((range.oldest()?, range))
    });
    let Some((oldest, range)) = found else {
        return Err(missing(
            "`node` in its manifest must be a version such as `20` or `20.11`, or a range such as \
             `>=22.12`, so correct that"
                .to_owned(),
        ));
    };
    let is_wanted = |found: &Interpreter| range.contains(&found.version);
    let usual = ask(&toolchain.node);
    if let Ok(found) = &usual
        && is_wanted(found)
    {
        return Ok(found.clone());
    }
    let mut kept: Vec<Interpreter> = managed()
        .iter()
        .filter_map(|path| ask(path).ok())
        .filter(is_wanted)
        .collect();
    // Compared as numbers: as text, 9 would be newer than 20.
    kept.sort_by_key(|found| {
        let parts = found.version.split('.');
        parts
            .map(|part| part.parse().unwrap_or(0))
            .collect::<Vec<u32>>()
    });
    if let Some(newest) = kept.pop() {
        return Ok(newest);
    }
    let found = match &usual {
        Ok(found) => format!("the one found is {}", found.version),
        Err(found) => format!("none could be run ({found})"),
    };
    fetch(toolchain, &oldest, &range).map_err(|reason| {
        missing(format!(
            "{found}, and npm could not fetch another ({reason}), so install one, e.g. by `nvm \
             install {oldest}`"
        ))
    })
}

/// The program at a path.
///
/// # Errors
/// Why it can't be used.
pub(super) fn ask(program: &Path) -> Result<Interpreter, String> {
    const ASK: &str = "console.log(require('fs').realpathSync(process.execPath));
console.log(process.versions.node);
console.log(process.platform, process.arch, process.versions.modules)";
    let mut ask = Command::new(program);
    ask.args(["-e", ASK]);
    let answer = answer(&mut ask)?;
    let mut lines = answer.lines();
    let (Some(path), Some(version), Some(platform)) = (lines.next(), lines.next(), lines.next())
    else {
        return Err("it gave no version".to_owned());
    };
    let path = PathBuf::from(path);
    Ok(Interpreter {
        kind: EnvironmentKind::Node,
        roots: beyond_usr(vec![path.clone()]),
        path,
        version: version.to_owned(),
        platform: platform.to_owned(),
    })
}

/// The programs that version managers keep.
fn managed() -> Vec<PathBuf> {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else {
        return Vec::new();
    };
    let versions = |(folder, program): (&str, &str)| {
        let entries = std::fs::read_dir(home.join(folder))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .map(|entry| entry.path().join(program))
            .filter(|path| path.is_file())
            .collect::<Vec<_>>()
    };
    VERSION_MANAGERS.into_iter().flat_map(versions).collect()
}

/// A version that npm has as a package, fetched into npm's own cache.
fn fetch(toolchain: &Toolchain, wanted: &str, range: &NodeRange) -> Result<Interpreter, String> {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let mut npm = Command::new(&toolchain.npm);
    npm.args(["exec", "--yes"])
        .arg(format!("--package=node-linux-{machine}@{wanted}"))
        .args(["--", "node", "-p", "process.execPath"])
        .current_dir(std::env::temp_dir());
    let said = answer(&mut npm)?;
    let path = said.lines().last().unwrap_or_default().trim();
    let found = ask(Path::new(path))?;
    match range.contains(&found.version) {
        true => Ok(found),
        false => Err(format!("it started {}", found.version)),
    }
}
