//! What to write in place of an option that a subcommand does not have.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use fillrate_syntax::spelling::nearest_name;

/// Adds advice to the error of a command line, given its first word, the subcommand: the option that
/// takes the unknown option's name as a value, the subcommands that have such an option, or the
/// option with the nearest name. The command has parsed before: without, its options have no values.
pub(super) fn with_advice(
    mut error: clap::Error,
    command: &clap::Command,
    subcommand: &str,
) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let (Some(name), Some(own)) = (
        given.strip_prefix("--"),
        command.find_subcommand(subcommand),
    ) else {
        return error;
    };
    let (kind, advice) = if let Some(place) = place_of(name, command, own) {
        let place = ContextValue::StyledStrs(vec![StyledStr::from(place)]);
        (ContextKind::Suggested, place)
    } else if let Some(nearest) = nearest_option(name, own) {
        let nearest = ContextValue::String(format!("--{nearest}"));
        (ContextKind::SuggestedArg, nearest)
    } else {
        return error;
    };
    // One piece of advice is enough, and clap's own usage shows the option that it would advise.
    error.remove(ContextKind::SuggestedArg);
    error.insert(kind, advice);
    let usage = own.clone().render_usage();
    error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    error
}

/// The option of a subcommand that is nearest to a name.
fn nearest_option<'a>(name: &str, own: &'a clap::Command) -> Option<&'a str> {
    let options: Vec<&str> = own
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    nearest_name(name, &options)
}

/// A sentence on what else has an option's name: a value of a subcommand's own option, or an option
/// of other subcommands.
fn place_of(name: &str, command: &clap::Command, own: &clap::Command) -> Option<String> {
    let takes = |option: &&clap::Arg| {
        let values = option.get_possible_values();
        option.get_long().is_some() && values.iter().any(|value| value.matches(name, true))
    };
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
    let (last, rest) = others.split_last()?;
    let others = match rest {
        [] => last.clone(),
        rest => format!("{} and {last}", rest.join(", ")),
    };
    Some(format!("'--{name}' is an option of {others}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::CommandLine;

    fn error_of(words: &[&str]) -> String {
        let mut command = CommandLine::command();
        let error = command.try_get_matches_from_mut(words).unwrap_err();
        with_advice(error, &command, words[1]).to_string()
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

        Usage: fillrate export [OPTIONS] <RUN>...

        For more information, try '--help'.
        ");
        insta::assert_snapshot!(error_of(&["fillrate", "replay", ".", "--modle", "x"]), @"
        error: unexpected argument '--modle' found

          tip: a similar argument exists: '--model'

        Usage: fillrate replay [OPTIONS] <CORPUS>

        For more information, try '--help'.
        ");
        let unknown = error_of(&["fillrate", "export", "run", "--excel"]);
        assert!(!unknown.contains("option of"), "{unknown}");
    }
}
