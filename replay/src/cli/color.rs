//! Colours of text on a terminal. `out!` removes them elsewhere, and where `NO_COLOR` is set.

use anstyle::{AnsiColor, Style};
use fillrate_verdict::Outcome;

/// Headers and titles.
pub(super) const BOLD: Style = Style::new().bold();

/// The prefix of an error.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Returns green for a pass, red for a wrong completion, and yellow for an attempt that counts in
/// no figure.
pub(super) fn of_outcome(outcome: Outcome) -> Style {
    let color = match outcome {
        Outcome::Passed => AnsiColor::Green,
        outcome if outcome.is_counted() => AnsiColor::Red,
        _ => AnsiColor::Yellow,
    };
    color.on_default()
}

/// Returns a table with bold header lines: those above its first double rule.
pub(super) fn with_bold_header(table: &str) -> String {
    let Some(rule) = table.find('═') else {
        return table.to_owned();
    };
    let start = table[..rule].rfind('─').map_or(0, |at| at + '─'.len_utf8());
    let (header, body) = (&table[start..rule], &table[rule..]);
    format!("{}{BOLD}{header}{BOLD:#}{body}", &table[..start])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bold_ends_with_the_header() {
        let table = "note\n──\n a b\n══\n 1 2\n──\n";
        assert_eq!(
            with_bold_header(table),
            "note\n──\u{1b}[1m\n a b\n\u{1b}[0m══\n 1 2\n──\n"
        );
        assert_eq!(with_bold_header("no table"), "no table");
    }
}
