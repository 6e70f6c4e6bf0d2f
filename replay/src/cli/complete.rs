//! `fillrate complete`: one completion on the command line, got the way an editor gets it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use fillrate_server::syntax::Language;
use fillrate_server::text::{ByteOffset, Encoding, Position, Text};

use super::serve::ServerFlags;
use super::show::{section, show_trace};
use super::{CliError, Success};
use crate::developer::{Developer, Offer, Server};

/// Complete at one place of a file, as an editor would, and tell how it came about
///
/// It starts `fillrate serve` on the repository, opens the file and asks. The best completion
/// goes to standard output, everything else to standard error.
#[derive(Args)]
pub(super) struct Arguments {
    /// FILE:LINE:COLUMN, both counted from 1, the column in characters; FILE:LINE is the line's
    /// end
    #[arg(value_name = "FILE:LINE[:COLUMN]")]
    place: Place,
    /// The folder that is the workspace [default: the nearest one above the file with a .git or
    /// a fillrate.toml, else the current one if the file is in it, else the file's own]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Read the file's text from standard input, as if it were an unsaved buffer
    #[arg(long)]
    stdin: bool,
    /// Show how it came about: windows, prompt, the model's own text, clean-up, times
    #[arg(long)]
    trace: bool,
    /// Print one JSON object with candidates and trace
    #[arg(long, conflicts_with = "trace")]
    json: bool,
    /// How long the repository's index and then the model may take, in seconds
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    patience: u64,
    #[command(flatten)]
    server: ServerFlags,
}

/// A file and a place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: PathBuf,
    /// From 1.
    line: u32,
    /// From 1, in characters; nothing is the line's end.
    column: Option<u32>,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|number| *number >= 1);
        let place = |file: &str, line, column| Place {
            file: PathBuf::from(file),
            line,
            column,
        };
        // A file's name may hold a colon, so the numbers are taken from the end.
        let (rest, last) = text.rsplit_once(':').unwrap_or((text, ""));
        let last = number(last);
        match (rest.rsplit_once(':'), last) {
            (Some((file, line)), Some(column)) if number(line).is_some() && !file.is_empty() => {
                Ok(place(file, number(line).unwrap_or(1), Some(column)))
            }
            (_, Some(line)) if !rest.is_empty() => Ok(place(rest, line, None)),
            _ => Err("write FILE:LINE:COLUMN, e.g. src/app.py:12:5, both counted from 1".into()),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let file = std::path::absolute(&arguments.place.file)
        .map_err(CliError::file(&arguments.place.file))?;
    let contents = if arguments.stdin {
        let mut contents = String::new();
        std::io::stdin()
            .read_to_string(&mut contents)
            .map_err(CliError::file("standard input"))?;
        contents
    } else {
        std::fs::read_to_string(&file).map_err(CliError::file(&arguments.place.file))?
    };
    let cursor = arguments.place.cursor(&contents)?;
    let workspace = match &arguments.workspace {
        Some(folder) => std::path::absolute(folder).map_err(CliError::file(folder))?,
        None => {
            let current = std::env::current_dir().map_err(CliError::file("."))?;
            workspace(&file, &current)
        }
    };
    let runtime = tokio::runtime::Runtime::new().map_err(CliError::file("the runtime"))?;
    let offer = runtime.block_on(ask(arguments, &workspace, &file, &contents, cursor))?;
    tell(arguments, &offer)
}

async fn ask(
    arguments: &Arguments,
    workspace: &Path,
    file: &Path,
    contents: &str,
    cursor: ByteOffset,
) -> Result<Offer, CliError> {
    let patience = Duration::from_secs(arguments.patience);
    let server = Server {
        program: PathBuf::from("/proc/self/exe"),
        arguments: [vec!["serve".to_owned()], arguments.server.again()?].concat(),
        patience,
    };
    let mut developer = Developer::start(&server, workspace).await?;
    let language = Language::for_path(file).map_or("plaintext", |language| language.id);
    let buffer = developer.open(file, language, contents).await?;
    let offer = developer.ask(&buffer, cursor, patience, None).await?;
    developer.close(buffer).await?;
    developer.leave().await?;
    Ok(offer)
}

/// Prints what came of it.
fn tell(arguments: &Arguments, offer: &Offer) -> Result<Success, CliError> {
    let fault = offer.trace.as_ref().and_then(|trace| trace.fault.clone());
    if arguments.json {
        let whole = serde_json::json!({
            "candidates": offer.candidates,
            "latency_ms": offer.latency.as_secs_f64() * 1000.0,
            "trace": offer.trace,
        });
        outln!("{whole:#}");
    } else {
        if arguments.trace
            && let Some(trace) = &offer.trace
        {
            eprint!("{}", show_trace(trace));
        }
        for (rank, candidate) in offer.candidates.iter().enumerate().skip(1) {
            eprint!("{}", section(&format!("candidate {}", rank + 1), candidate));
        }
        if let Some(best) = offer.candidates.first() {
            outln!("{best}");
        }
    }
    let nothing = offer.trace.as_ref().and_then(|trace| trace.nothing.clone());
    match (fault, nothing, offer.answered) {
        (Some(fault), ..) => Err(CliError::Refused(format!("no completion: {fault}"))),
        (None, _, false) => Err(CliError::Refused(format!(
            "no completion: the server did not answer within {} s; give it more with --patience",
            arguments.patience
        ))),
        (None, Some(nothing), true) => {
            eprintln!("fillrate: nothing to show: {nothing}");
            Ok(Success::Whole)
        }
        (None, None, true) => Ok(Success::Whole),
    }
}

impl Place {
    /// The place in these contents.
    fn cursor(&self, contents: &str) -> Result<ByteOffset, CliError> {
        let text = Text::new(contents);
        let last = text.position(text.len(), Encoding::Utf32).line + 1;
        if self.line > last {
            return Err(CliError::Refused(format!(
                "{} has {last} lines, and no line {}",
                self.file.display(),
                self.line
            )));
        }
        let position = Position {
            line: self.line - 1,
            character: self.column.map_or(u32::MAX, |column| column - 1),
        };
        Ok(text.offset(position, Encoding::Utf32))
    }
}

/// The folder an editor would have open for a file.
fn workspace(file: &Path, current: &Path) -> PathBuf {
    let own = file.parent().unwrap_or(Path::new("/"));
    let fallback = if own.starts_with(current) {
        current
    } else {
        own
    };
    own.ancestors()
        .find(|folder| folder.join(".git").exists() || folder.join("fillrate.toml").is_file())
        .unwrap_or(fallback)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_from_its_end() {
        let read = |text: &str| {
            text.parse::<Place>()
                .map(|place| (place.file.display().to_string(), place.line, place.column))
        };
        assert_eq!(read("a.py:3:5"), Ok(("a.py".into(), 3, Some(5))));
        assert_eq!(read("a.py:3"), Ok(("a.py".into(), 3, None)));
        assert_eq!(read("a:b.py:3"), Ok(("a:b.py".into(), 3, None)));
        assert_eq!(read("c:4:3:5"), Ok(("c:4".into(), 3, Some(5))));
        for wrong in ["a.py", "a.py:", "a.py:0", ":3", "a.py:x:2:", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_column_counts_characters_and_stays_on_its_line() {
        let place: Place = "a.py:1:3".parse().expect("it is one");
        assert_eq!(place.cursor("é😀x\ny").ok(), Some(ByteOffset(6)));
        let place: Place = "a.py:1:99".parse().expect("it is one");
        assert_eq!(place.cursor("é😀x\ny").ok(), Some(ByteOffset(7)));
        let place: Place = "a.py:3".parse().expect("it is one");
        let error = place.cursor("x\ny").expect_err("there is no such line");
        assert_eq!(error.to_string(), "a.py has 2 lines, and no line 3");
    }
}
