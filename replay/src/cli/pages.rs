//! `fillrate completions` and `fillrate man`: what shells and `man` know of the command line.

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use super::{CliError, CommandLine, Success};

/// Print the completions of this command line for a shell
///
/// For example: fillrate completions bash > ~/.local/share/bash-completion/completions/fillrate
#[derive(Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Print the manual page of the program or of one subcommand
///
/// For example: fillrate man | man -l -
#[derive(Args)]
pub(super) struct ManArguments {
    /// The subcommand, e.g. `serve`; its own subcommands as further words
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Prints completions.
pub(super) fn print_completions(arguments: &CompletionsArguments) -> Result<Success, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut CommandLine::command(),
        "fillrate",
        &mut script,
    );
    out!("{}", String::from_utf8_lossy(&script));
    Ok(Success::Whole)
}

/// Prints a manual page.
pub(super) fn print_manual(arguments: &ManArguments) -> Result<Success, CliError> {
    let mut whole = CommandLine::command();
    // Names the subcommands as they are called, `fillrate serve`.
    whole.build();
    let mut command: &Command = &whole;
    for word in &arguments.command {
        command = command.find_subcommand(word).ok_or_else(|| {
            CliError::Refused(format!(
                "there is no subcommand `{word}`; `fillrate --help` lists them"
            ))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(CliError::file("the manual page"))?;
    out!("{}", String::from_utf8_lossy(&page));
    Ok(Success::Whole)
}
