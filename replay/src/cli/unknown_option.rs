//! What to write in place of an option that a subcommand does not have.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use fillrate_syntax::spelling::nearest_name;

/// Adds advice to the error of a command line, given its first word, the subcommand: the option that
/// takes the unknown option's name as a value, the subcommands that have such an option, or the
/// option with the nearest name.
pub(super) fn with_advice(
    mut error: clap::Error,
    mut command: clap::Command,
    subcommand: &str,
) -> clap::Error {
    // Options have no values before.
    command.build();
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(name) = given.strip_prefix("--")
        && let Some(advice) = advice(&command, subcommand, name)
    {
        let advice = ContextValue::StyledStrs(vec![StyledStr::from(advice)]);
        error.insert(ContextKind::Suggested, advice);
    }
    error
}

fn advice(command: &clap::Command, subcommand: &str, name: &str) -> Option<String> {
    let takes = |option: &&clap::Arg| {
        let values = option.get_possible_values();
        option.get_long().is_some() && values.iter().any(|value| value.matches(name, true))
    };
    let own = command.find_subcommand(subcommand)?;
    if let Some(option) = own.get_arguments().find(takes) {
        return Some(format!("write '--{} {name}'", option.get_long()?));
    }
    let has = |other: &&clap::Command| {
        let mut options = other.get_arguments();
        options.any(|option| option.get_long() == Some(name) && !option.is_hide_set())
    };
    let others: Vec<String> = command
        .get_subcommands()
        .filter(has)
        .map(|other| format!("'{} {}'", command.get_name(), other.get_name()))
        .collect();
    match others.as_slice() {
        [] => {
            let names = own.get_arguments().filter_map(clap::Arg::get_long);
            let nearest = nearest_name(name, &names.collect::<Vec<_>>())?;
            Some(format!("a similar argument exists: '--{nearest}'"))
        }
        [one] => Some(format!("'--{name}' is an option of {one}")),
        [rest @ .., last] => {
            let rest = rest.join(", ");
            Some(format!("'--{name}' is an option of {rest} and {last}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::CommandLine;

    fn error_of(words: &[&str]) -> String {
        let command = CommandLine::command();
        let error = command.clone().try_get_matches_from(words).unwrap_err();
        with_advice(error, command, words[1]).to_string()
    }

    #[test]
    fn an_option_of_another_subcommand_is_found_there() {
        insta::assert_snapshot!(error_of(&["fillrate", "serve", "--samples", "3"]), @"
        error: unexpected argument '--samples' found

          tip: '--samples' is an option of 'fillrate replay' and 'fillrate audit-distance'

        Usage: fillrate serve [OPTIONS]

        For more information, try '--help'.
        ");
        insta::assert_snapshot!(error_of(&["fillrate", "export", "run", "--csv"]), @"
        error: unexpected argument '--csv' found

          tip: write '--format csv'

        Usage: fillrate export <RUN>...

        For more information, try '--help'.
        ");
        let misspelled = error_of(&["fillrate", "replay", ".", "--modle", "embedded"]);
        assert!(misspelled.contains("'--model'"), "{misspelled}");
        let unknown = error_of(&["fillrate", "export", "run", "--excel"]);
        assert!(!unknown.contains("option of"), "{unknown}");
    }
}
