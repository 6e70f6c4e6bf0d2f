//! `fillrate export`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::store::{Run, create_output_folder};
use fillrate_report::export::{self, ExportError, ExportFormat};
use fillrate_verdict::corpus::tree;
use strum::{IntoStaticStr, VariantArray};

use super::{CliError, Success, one_of};

/// Write runs for other programs: attempts or typings as a table, or whole evaluations.
///
/// The evaluator's reference page lists the columns.
#[derive(Args)]
pub(super) struct ExportArguments {
    /// The runs: folders that `replay` wrote; a folder of runs with several contexts includes all
    /// of them
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The format, of which the last two need a folder as -o [default: as FILE ends, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = one_of::<Format>())]
    format: Option<Format>,
    /// Rows for what simulated developers typed, one for each hole and policy, not for attempts
    #[arg(long)]
    typings: bool,
    /// The Python that has `inspect_ai`, for `--format inspect`
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// The file to write [default: standard output], or the folder
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Format of the output.
#[derive(Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
enum Format {
    Jsonl,
    Csv,
    Parquet,
    EveryEvalEver,
    Inspect,
}

impl Format {
    /// The format of a table; `None` for whole evaluations.
    fn of_table(self) -> Option<ExportFormat> {
        match self {
            Self::Jsonl => Some(ExportFormat::Jsonl),
            Self::Csv => Some(ExportFormat::Csv),
            Self::Parquet => Some(ExportFormat::Parquet),
            Self::EveryEvalEver | Self::Inspect => None,
        }
    }
}

pub(super) fn run(arguments: &ExportArguments) -> Result<Success, CliError> {
    let out = arguments.out.as_deref();
    let named = out.and_then(ExportFormat::from_path);
    let format = match arguments.format {
        None => named.unwrap_or(ExportFormat::Jsonl),
        Some(format) => match format.of_table() {
            Some(format) => format,
            None => return write_evaluations(arguments, format),
        },
    };
    if let Some(out) = out {
        // An unknown ending is an error only if nothing else names the format.
        if let (None, None, Some(ending)) = (named, arguments.format, out.extension()) {
            return Err(CliError::Refused(format!(
                "{}: there is no format `{}`; name a file that ends in .jsonl, .csv or .parquet, or \
                 give --format",
                out.display(),
                ending.display()
            )));
        }
        super::check_writable_file(out)?;
        super::check_not_input(out, super::runs::database_files(&arguments.runs))?;
    }
    let runs = super::runs::open_runs(&arguments.runs)?;
    let Some(out) = out else {
        if format == ExportFormat::Parquet && std::io::IsTerminal::is_terminal(&std::io::stdout()) {
            return Err(CliError::Refused(
                "Parquet is nothing for a terminal; name a file with -o".to_owned(),
            ));
        }
        return match write_table(arguments, &runs, format, std::io::stdout()) {
            // The reader has closed its end, as in `fillrate export RUN | head`.
            Err(ExportError::Written(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                std::process::exit(141)
            }
            written => Ok(written.map(|_| Success::Whole)?),
        };
    };
    // Under another name until it is whole.
    let mut part = out.to_owned().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let file = std::fs::File::create(&part).map_err(CliError::file(&part))?;
    let rows = write_table(arguments, &runs, format, file)?;
    std::fs::rename(&part, out).map_err(CliError::file(out))?;
    let what = if arguments.typings {
        "typings"
    } else {
        "attempts"
    };
    outln!("{}: {rows} {what}", out.display());
    if let Some(repository) = tree::repository_with(out) {
        note!(
            "fillrate: the file is now part of the source of {}, and a replay of it begins anew; \
             move the file or add it to `.gitignore`",
            repository.display()
        );
    }
    Ok(Success::Whole)
}

fn write_table(
    arguments: &ExportArguments,
    runs: &[Run],
    format: ExportFormat,
    to: impl std::io::Write + Send,
) -> Result<usize, ExportError> {
    if arguments.typings {
        return export::export_typings(runs, format, to);
    }
    export::export(runs, format, to)
}

fn write_evaluations(arguments: &ExportArguments, format: Format) -> Result<Success, CliError> {
    let refused = |reason: &str| Err(CliError::Refused(reason.to_owned()));
    if arguments.typings {
        return refused("typings are no evaluation; export them as jsonl, csv or parquet");
    }
    let Some(folder) = &arguments.out else {
        return refused("evaluations are several files; name a folder with -o");
    };
    if folder.is_file() {
        return Err(CliError::Refused(format!(
            "{} is a file; name a folder",
            folder.display()
        )));
    }
    let runs = super::runs::open_runs(&arguments.runs)?;
    create_output_folder(folder).map_err(CliError::file(folder))?;
    let written = match format {
        Format::Inspect => export::write_inspect(&runs, &arguments.python, folder),
        _ => export::write_every_eval_ever(&runs, folder),
    };
    for path in written? {
        outln!("{}", path.display());
    }
    Ok(Success::Whole)
}
