//! `fillrate retrieve`: the windows of other files for one location, found the way an editor's are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fillrate_engine::developer::{Developer, ServerCommand};
use fillrate_server::completion::RetrievedWindows;
use fillrate_server::context::GivenContext;
use fillrate_syntax::Language;
use fillrate_syntax::text::ByteOffset;

use super::location::{FileLocation, workspace_for};
use super::serve::ServerFlags;
use super::show::section;
use super::{CliError, Success};

/// Show the windows of other files that a completion at one location would be given
///
/// It starts `fillrate serve` on the repository, opens the file and asks for the windows alone.
#[derive(Args)]
pub(super) struct RetrieveArguments {
    /// FILE:LINE:COLUMN, both counted from 1, the column in characters; FILE:LINE is the line's
    /// end
    #[arg(value_name = "FILE:LINE[:COLUMN]")]
    location: FileLocation,
    /// The folder that is the workspace [default: as for `complete`]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Text that is missing at the location, for `--context reference`
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Timeout for the index of the repository, in seconds
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    request_timeout: u64,
    #[command(flatten)]
    server: ServerFlags,
}

pub(super) fn run(arguments: &RetrieveArguments) -> Result<Success, CliError> {
    let named = &arguments.location.file;
    let file = std::path::absolute(named).map_err(CliError::file(named))?;
    let contents = arguments.location.read()?;
    let cursor = arguments.location.cursor(&contents)?;
    let workspace = workspace_for(&file, arguments.root.as_deref())?;
    let runtime = tokio::runtime::Runtime::new().map_err(CliError::file("the runtime"))?;
    let retrieved = runtime.block_on(ask(arguments, &workspace, &file, &contents, cursor))?;
    if let Some(fault) = &retrieved.fault {
        return Err(CliError::Refused(format!("no windows: {fault}")));
    }
    if arguments.json {
        outln!("{}", serde_json::json!(retrieved));
    } else {
        print_result(&retrieved);
    }
    Ok(Success::Whole)
}

async fn ask(
    arguments: &RetrieveArguments,
    workspace: &Path,
    file: &Path,
    contents: &str,
    cursor: ByteOffset,
) -> Result<RetrievedWindows, CliError> {
    let server = ServerCommand {
        program: PathBuf::from("/proc/self/exe"),
        arguments: [vec!["serve".into()], arguments.server.for_child()?].concat(),
        start_timeout: Duration::from_secs(arguments.request_timeout),
        telemetry: None,
        keeps_index: true,
    };
    let mut developer = Developer::start(&server, workspace).await?;
    let language = Language::protocol_id(file);
    let open_file = developer.open(file, &language, contents).await?;
    let given = GivenContext {
        reference: arguments.reference.clone(),
        windows: None,
        ..GivenContext::default()
    };
    let retrieved = developer.retrieve(&open_file, cursor, Some(given)).await?;
    developer.close(open_file).await?;
    developer.shut_down().await?;
    Ok(retrieved)
}

/// Prints windows and scores, best first.
fn print_result(retrieved: &RetrievedWindows) {
    if let Some(completion) = &retrieved.first_round {
        out!("{}", section("completion of the first round", completion));
    }
    if let Some(query) = &retrieved.query {
        out!("{}", section("looked for", query));
    }
    for (rank, window) in retrieved.windows.iter().enumerate() {
        let cut = if rank < retrieved.whole_in_prompt {
            ""
        } else {
            ", not whole in a prompt"
        };
        let head = format!(
            "{}. {}:{} score {}{cut}",
            rank + 1,
            window.path,
            window.first_line + 1,
            window.score,
        );
        out!("{}", section(&head, &window.text));
    }
    outln!(
        "{} windows under the profile {} in {:.1} ms",
        retrieved.windows.len(),
        retrieved.profile,
        retrieved.milliseconds
    );
}
