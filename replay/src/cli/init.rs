//! `fillrate init`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use fillrate_language::task::WholeFile;
use fillrate_verdict::corpus::Corpus;
use fillrate_verdict::corpus::manifest::manifest_text;

use super::{CliError, Success, check_writable_file, shell_word};

/// Write the manifest of a repository as it is detected, for changes by hand.
///
/// `replay` and `mine` need no manifest for a folder or an address; this shows what they would use.
#[derive(Args)]
pub(super) struct InitArguments {
    /// The repository: a folder or an address, with `@REVISION` after it if need be
    #[arg(default_value = ".", value_name = "PATH")]
    repository: PathBuf,
    /// One package of a repository with several: its folder or name
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// The file for the manifest, which must not exist; `-` for standard output
    #[arg(
        short,
        long,
        default_value = "fillrate-corpus.toml",
        value_name = "FILE"
    )]
    output: PathBuf,
}

pub(super) fn run(arguments: &InitArguments) -> Result<Success, CliError> {
    let is_standard_output = arguments.output == Path::new("-");
    if !is_standard_output {
        check_new(&arguments.output)?;
    }
    let corpus = Corpus::from_environment()?;
    let manifest = match &arguments.package {
        Some(name) => corpus.load_manifest(&corpus.locate_package(&arguments.repository, name)?)?,
        None => corpus.load_manifest(&arguments.repository)?,
    };
    // Paths in the manifest are relative to its own folder.
    let folder = match arguments.output.parent() {
        Some(folder) if !is_standard_output && !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let text = manifest_text(&manifest, folder);
    if is_standard_output {
        out!("{text}");
        return Ok(Success::Whole);
    }
    // What is written in part is no manifest, so it appears whole.
    let written = WholeFile::create(&arguments.output).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.finish_new()
    });
    written.map_err(CliError::file(&arguments.output))?;
    for (project, findings) in &manifest.findings {
        outln!("detected {project}");
        for finding in findings {
            outln!("  {finding}");
        }
    }
    let path = arguments.output.display();
    let word = shell_word(&arguments.output);
    outln!("{path} is written; correct it as needed, then run `fillrate replay {word}`");
    Ok(Success::Whole)
}

/// Refuses a manifest that exists, which may have been corrected by hand, and one that can't be
/// written, before a repository is fetched.
fn check_new(output: &Path) -> Result<(), CliError> {
    if output.is_file() {
        return Err(CliError::Refused(format!(
            "{} exists, and may have been corrected by hand; remove it, or name another file with -o",
            output.display()
        )));
    }
    check_writable_file(output)
}
