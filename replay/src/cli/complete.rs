//! `fillrate complete`: one completion on the command line, made the way an editor gets it.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fillrate_engine::developer::{CompletionReply, Developer, ServerCommand};
use fillrate_syntax::Language;
use fillrate_syntax::text::ByteOffset;

use super::location::{FileLocation, decode, workspace_for};
use super::serve::ServerFlags;
use super::show::{section, show_trace};
use super::{CliError, Success, write_error};

/// Complete at one location of a file, as an editor would, and show how it came about
///
/// It starts `fillrate serve` on the repository, opens the file and asks. The best completion
/// goes to standard output, everything else to standard error.
#[derive(Args)]
pub(super) struct CompleteArguments {
    /// FILE:LINE:COLUMN, both counted from 1, the column in characters; FILE:LINE is the line's
    /// end
    #[arg(value_name = "FILE:LINE[:COLUMN]")]
    location: FileLocation,
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
    /// Timeout for the index of the repository, and then for the completion, in seconds
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    request_timeout: u64,
    #[command(flatten)]
    server: ServerFlags,
}

pub(super) fn run(arguments: &CompleteArguments) -> Result<Success, CliError> {
    let file = std::path::absolute(&arguments.location.file)
        .map_err(CliError::file(&arguments.location.file))?;
    let contents = if arguments.stdin {
        let mut contents = Vec::new();
        std::io::stdin()
            .read_to_end(&mut contents)
            .map_err(CliError::file("standard input"))?;
        decode(contents, Path::new("standard input"))?
    } else {
        arguments.location.read()?
    };
    let cursor = arguments.location.cursor(&contents)?;
    let workspace = workspace_for(&file, arguments.workspace.as_deref())?;
    let runtime = tokio::runtime::Runtime::new().map_err(CliError::file("the runtime"))?;
    let flags = arguments.server.for_child()?;
    let timeout = Duration::from_secs(arguments.request_timeout);
    let place = (file.as_path(), contents.as_str(), cursor);
    let reply = runtime.block_on(complete_once(flags, timeout, &workspace, place))?;
    print_result(arguments, &reply)
}

/// Starts a server with these flags in a workspace, and asks it at a cursor in a file, which has
/// these contents, for a completion.
pub(super) async fn complete_once(
    flags: Vec<OsString>,
    timeout: Duration,
    workspace: &Path,
    (file, contents, cursor): (&Path, &str, ByteOffset),
) -> Result<CompletionReply, CliError> {
    let server = ServerCommand {
        program: PathBuf::from("/proc/self/exe"),
        arguments: [vec!["serve".into()], flags].concat(),
        start_timeout: timeout,
        telemetry: None,
        keeps_index: true,
    };
    let mut developer = Developer::start(&server, workspace).await?;
    let language = Language::protocol_id(file);
    let open_file = developer.open(file, &language, contents).await?;
    let reply = developer
        .request_completion(&open_file, cursor, timeout, None)
        .await?;
    developer.close(open_file).await?;
    developer.shut_down().await?;
    Ok(reply)
}

/// Prints the completion, or says why there is none.
fn print_result(
    arguments: &CompleteArguments,
    reply: &CompletionReply,
) -> Result<Success, CliError> {
    let fault = reply
        .trace
        .as_ref()
        .and_then(|trace| trace.fault_with_advice());
    if arguments.json {
        let whole = serde_json::json!({
            "candidates": reply.candidates,
            "latency_ms": reply.latency.as_secs_f64() * 1000.0,
            "trace": reply.trace,
        });
        outln!("{whole:#}");
    } else {
        if arguments.trace
            && let Some(trace) = &reply.trace
        {
            write_error(format_args!("{}", show_trace(trace, true, None)));
        }
        for (rank, candidate) in reply.candidates.iter().enumerate().skip(1) {
            let section = section(&format!("candidate {}", rank + 1), candidate);
            write_error(format_args!("{section}"));
        }
        if let Some(best) = reply.candidates.first() {
            outln!("{best}");
        }
    }
    let nothing = reply.trace.as_ref().and_then(|trace| trace.nothing.clone());
    // A fault explains an empty reply, so it is reported before a timeout.
    match (fault, nothing, reply.answered) {
        (Some(fault), ..) => Err(CliError::Refused(format!("no completion: {fault}"))),
        (None, _, false) => Err(CliError::Refused(format!(
            "no completion: the server did not answer within {} s; raise --request-timeout",
            arguments.request_timeout
        ))),
        (None, Some(nothing), true) => {
            note!("fillrate: nothing to show: {nothing}");
            Ok(Success::Whole)
        }
        (None, None, true) => Ok(Success::Whole),
    }
}
