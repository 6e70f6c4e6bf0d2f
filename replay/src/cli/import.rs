//! `fillrate import`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::events::{Phase, PhaseProgress};
use fillrate_mine::import::{self, FORMATS, ImportError, ImportOptions};

use super::{CliError, Success, progress};

/// Make holes of a public benchmark's records.
///
/// Writes the tasks file and, next to it, a folder `NAME.corpus`, whose `corpus.toml` is the corpus
/// to replay them on. Holes of languages that can't be played are written too, and reported.
#[derive(Args)]
pub(super) struct ImportArguments {
    /// The benchmark's format
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(FORMATS.iter().map(|format| format.name)))]
    format: String,
    /// Its records: JSON lines, plain or gzip
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// File for the holes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The folder with the benchmark's repositories, each named as the records name it
    #[arg(long, value_name = "DIR")]
    repositories: Option<PathBuf>,
    /// Files that the benchmark's tests know as `/output` (repoexec)
    #[arg(long, value_name = "DIR")]
    outputs: Option<PathBuf>,
    /// Packages that the tests need in addition to the format's: exact pins, as a manifest's; may
    /// be repeated
    #[arg(long = "package", value_name = "PIN")]
    packages: Vec<String>,
    /// Let a hole take the place of a whole function, signature included, as the benchmark's
    /// predictions do (repoexec, mrg-bench); else of its body
    #[arg(long)]
    whole_functions: bool,
    /// Stop at the first record that can't be used, or whose id occurred before; else such records
    /// are reported, and left out or renamed
    #[arg(long)]
    strict: bool,
    /// The most holes to write
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(super) fn run(arguments: &ImportArguments) -> Result<Success, CliError> {
    let Some(format) = import::format_by_name(&arguments.format) else {
        return Err(CliError::Refused(format!(
            "`{}` is no format",
            arguments.format
        )));
    };
    super::check_not_input(&arguments.output, &arguments.files)?;
    let options = ImportOptions {
        repositories: arguments.repositories.clone(),
        outputs: arguments.outputs.clone(),
        packages: arguments.packages.clone(),
        whole_functions: arguments.whole_functions,
        strict: arguments.strict,
        limit: arguments.limit,
    };
    let listener = progress::listener();
    let progress = PhaseProgress::start(&*listener, Phase::Import, Some(format.name), 0);
    let summary = import::import(
        format,
        &arguments.files,
        &options,
        &arguments.output,
        &|read, all| {
            let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            progress.set(bytes(read), bytes(all));
        },
    )?;
    // The bar is cleared before the lines below it are written.
    drop(progress);
    report("can't be used", &summary.unusable);
    report("got another id", &summary.renamed);
    outln!(
        "{} holes in {}, {} with tests that decide over them",
        summary.holes,
        arguments.output.display(),
        summary.judged
    );
    match &summary.manifest {
        Some(manifest) => {
            let projects = match summary.projects {
                1 => "1 project".to_owned(),
                count => format!("{count} projects"),
            };
            outln!("{projects} in {}", manifest.display());
        }
        None => outln!("no project that can be played"),
    }
    for (language, count) in &summary.unplayable {
        outln!("{count} holes in {language}: they can't be played, only their text be scored");
    }
    Ok(Success::Whole)
}

/// Reports records on standard error: the first ones, and how many there are.
fn report(what: &str, records: &[ImportError]) {
    const MOST: usize = 20;
    if records.is_empty() {
        return;
    }
    for error in records.iter().take(MOST) {
        note!("fillrate: {error}");
    }
    let more = match records.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(", of which {more} are not listed"),
    };
    note!("fillrate: {} records {what}{more}", records.len());
}
