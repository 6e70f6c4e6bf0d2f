//! Finds the Python that a project asks for.

use std::path::PathBuf;
use std::process::Command;

use super::super::super::environment::{EnvironmentError, Interpreter, Toolchain};
use super::super::super::programs::answer;
use super::{OLDEST_PYTHON, interpreter_at, python};

/// The newest minor version of Python 3 that is looked for by name.
const NEWEST_MINOR: u32 = 14;

/// The usual Python if it satisfies `wanted`, else an installed one that does, else uv's.
///
/// # Errors
/// [`EnvironmentError::MissingProgram`] if there is none.
pub(super) fn find(toolchain: &Toolchain, wanted: &str) -> Result<Interpreter, EnvironmentError> {
    let usual = python(toolchain);
    if let Ok(found) = &usual
        && satisfies(&found.version, wanted)
    {
        return usual;
    }
    let installed = candidates(toolchain, wanted)
        .into_iter()
        .filter_map(|program| interpreter_at(&program).ok())
        .find(|found| satisfies(&found.version, wanted));
    installed.ok_or_else(|| {
        let found = match &usual {
            Ok(found) => format!("the one found is {}", found.version),
            Err(_) => "none was found".to_owned(),
        };
        let version = (OLDEST_PYTHON.1..=NEWEST_MINOR)
            .rev()
            .map(|minor| format!("3.{minor}"))
            .find(|version| satisfies(version, wanted))
            .unwrap_or_else(|| wanted.to_owned());
        EnvironmentError::missing(
            &format!("Python {wanted}"),
            "a project of the corpus",
            format!(
                "{found}; install it from your system's packages or with `uv python install \
                 {version}`"
            ),
        )
    })
}

/// Programs that may be the Python that is wanted, the newest first.
fn candidates(toolchain: &Toolchain, wanted: &str) -> Vec<PathBuf> {
    let minors = || (OLDEST_PYTHON.1..=NEWEST_MINOR).rev();
    let mut programs: Vec<PathBuf> = minors()
        .map(|minor| PathBuf::from(format!("python3.{minor}")))
        .collect();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let pyenv = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| home.map(|home| home.join(".pyenv")));
    let versions = pyenv.and_then(|root| std::fs::read_dir(root.join("versions")).ok());
    let mut kept: Vec<_> = versions
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| (numbers(&entry.file_name().to_string_lossy()), entry.path()))
        .collect();
    // As text, 3.9 would follow 3.10.
    kept.sort();
    let newest_first = kept.into_iter().rev();
    programs.extend(newest_first.map(|(_, folder)| folder.join("bin/python")));
    let mut ask = Command::new(&toolchain.uv);
    ask.args(["python", "find", wanted]);
    if let Ok(found) = answer(&mut ask) {
        programs.push(PathBuf::from(found.trim()));
    }
    programs
}

/// True if a version is the wanted one (`3.8`) or satisfies a specifier (`>=3.8,<4`). A clause that
/// is neither counts as satisfied: the installer refuses what does not fit.
fn satisfies(version: &str, wanted: &str) -> bool {
    let version = numbers(version);
    wanted.split(',').map(str::trim).all(|clause| {
        let operator: String = clause
            .chars()
            .take_while(|c| "<>=!~^".contains(*c))
            .collect();
        let bound = clause[operator.len()..].trim();
        let least = numbers(bound);
        let prefix = |length: usize| {
            let length = length.min(version.len());
            version[..length] == least[..length.min(least.len())]
        };
        match operator.as_str() {
            "" | "==" | "===" => prefix(least.len()),
            "!=" => !prefix(least.len()),
            ">=" => version >= least,
            ">" => version > least,
            "<=" => version <= least || prefix(least.len()),
            "<" => version < least,
            // `~=3.8.1` fixes all numbers but the last.
            "~=" => version >= least && prefix(least.len().saturating_sub(1)),
            "^" => version >= least && prefix(1),
            _ => true,
        }
    })
}

fn numbers(version: &str) -> Vec<u32> {
    version
        .split('.')
        .map_while(|part| part.trim().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_satisfy_specifiers() {
        for (version, wanted) in [
            ("3.8.10", "3.8"),
            ("3.11.7", ">=3.8"),
            ("3.11.7", ">=3.8,<4,!=3.9.*"),
            ("3.11.7", "~=3.8"),
            ("3.11.7", "^3.8"),
            ("3.8.10", "<=3.8"),
            ("3.8.10", ">3.8"),
        ] {
            assert!(satisfies(version, wanted), "{version} {wanted}");
        }
        for (version, wanted) in [
            ("3.11.7", "3.8"),
            ("3.11.7", "3.1"),
            ("3.11.7", ">=3.12"),
            ("3.11.7", "<3.11"),
            ("3.11.7", ">3.11.7"),
            ("3.9.1", ">=3.8,!=3.9.*"),
            ("3.11.7", "~=3.8.0"),
        ] {
            assert!(!satisfies(version, wanted), "{version} {wanted}");
        }
    }
}
