//! `fillrate export`.

use std::path::PathBuf;

use clap::Args;

use super::{CliError, Success};
use crate::report::export::{self, ExportFormat};

/// Write the attempts of runs as a table for other programs.
///
/// Its columns stand in the evaluator's reference page.
#[derive(Args)]
pub(super) struct ExportArguments {
    /// The runs: folders that `replay` wrote; one that holds runs with several contexts stands for
    /// all of them
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// jsonl, csv or parquet [default: as FILE ends, else jsonl]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExportFormat>,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &ExportArguments) -> Result<Success, CliError> {
    let named = arguments.out.as_deref().and_then(ExportFormat::from_path);
    if let Some(out) = &arguments.out {
        if let (None, None, Some(ending)) = (named, arguments.format, out.extension()) {
            return Err(CliError::Refused(format!(
                "{}: there is no format `{}`; name a file that ends in .jsonl, .csv or .parquet, or \
                 give --format",
                out.display(),
                ending.display()
            )));
        }
        super::check_writable_file(out)?;
    }
    let format = arguments.format.or(named).unwrap_or(ExportFormat::Jsonl);
    let runs = super::report::open(&arguments.runs)?;
    let Some(out) = &arguments.out else {
        if format == ExportFormat::Parquet && std::io::IsTerminal::is_terminal(&std::io::stdout()) {
            return Err(CliError::Refused(
                "Parquet is nothing for a terminal; name a file with -o".to_owned(),
            ));
        }
        let written = export::export(&runs, format, std::io::stdout());
        return match written {
            // A reader that has gone away, as in `fillrate export RUN | head`.
            Err(export::ExportError::Written(error))
                if error.kind() == std::io::ErrorKind::BrokenPipe =>
            {
                std::process::exit(141)
            }
            written => Ok(written.map(|_| Success::Whole)?),
        };
    };
    // Under another name until it is whole.
    let mut part = out.clone().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let file = std::fs::File::create(&part).map_err(CliError::file(&part))?;
    let rows = export::export(&runs, format, file)?;
    std::fs::rename(&part, out).map_err(CliError::file(out))?;
    outln!("{}: {rows} attempts", out.display());
    Ok(Success::Whole)
}
