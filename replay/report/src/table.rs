//! Tables of text for people.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use comfy_table::{Cell, CellAlignment, Table, presets};
use fillrate_metrics::{Estimate, Metric};

/// Text of a cell without a value.
pub const ABSENT: &str = "–";

/// A table of text with a header. Every table that the program prints is one.
///
/// On a terminal that is too narrow, its columns are shown in several parts, each with the first
/// column.
pub struct TextTable {
    header: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

/// Most columns of text of a table; `None` if it may have any number.
#[derive(Clone, Copy, Debug)]
pub struct TextWidth(Option<usize>);

/// Most columns of text of a paragraph.
const READABLE: usize = 100;

impl TextWidth {
    /// Tables of any width.
    pub const UNLIMITED: Self = Self(None);

    /// The width of the terminal that standard output is; `COLUMNS` in the environment goes before.
    pub fn of_output() -> Self {
        Self::of(std::io::stdout())
    }

    /// The width of the terminal that standard error is; `COLUMNS` in the environment goes before.
    pub fn of_messages() -> Self {
        Self::of(std::io::stderr())
    }

    /// The width that `COLUMNS` in the environment says, or else that of an output's terminal.
    fn of(output: impl IsTerminal + AsFd) -> Self {
        let set = std::env::var("COLUMNS").ok();
        let asked = set.and_then(|columns| columns.parse().ok());
        let terminal = || {
            let size = output
                .is_terminal()
                .then(|| terminal_size::terminal_size_of(output));
            size.flatten().map(|(width, _)| usize::from(width.0))
        };
        // A terminal may report a width of 0, which means that it is unknown.
        Self(asked.or_else(terminal).filter(|width| *width > 0))
    }

    /// The width, or the given one if that is smaller. An unknown width remains unknown.
    #[must_use]
    pub fn at_most(self, columns: usize) -> Self {
        Self(self.0.map(|width| width.min(columns)))
    }

    /// Breaks the lines of a text that are wider than the terminal between words. A line goes on
    /// below its own text: after its indentation, or where its last column begins, which two spaces
    /// or more set off. Where the width is unknown, nothing is changed.
    pub fn lines(self, text: &str) -> String {
        let Some(width) = self.0 else {
            return text.to_owned();
        };
        let lines = text.split('\n').map(|line| broken(line, width));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Wraps a text to the width that tables may have, with a line end after it.
    pub fn paragraph(self, text: &str) -> String {
        let width = self.0.map_or(READABLE, |width| width.min(READABLE));
        wrapped(text, width)
    }
}

/// A line that is too wide in several lines, each but the first indented as [`TextWidth::lines`]
/// says.
fn broken(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let indentation = line.chars().take_while(|c| *c == ' ').count();
    // A column that begins in the right half would leave no room for what goes on below it.
    let before: Vec<char> = line.chars().take(columns / 2).collect();
    let last_gap = (indentation.max(1)..before.len().saturating_sub(1))
        .rev()
        .find(|at| before[at - 1] == ' ' && before[*at] == ' ' && before[at + 1] != ' ');
    let hang = last_gap.map_or(indentation, |at| at + 1);
    let (head, rest): (String, String) = (
        line.chars().take(hang).collect(),
        line.chars().skip(hang).collect(),
    );
    let room = columns.saturating_sub(hang).max(1);
    let rest = wrapped(&rest, room);
    let separator = format!("\n{}", " ".repeat(hang));
    head + &rest
        .trim_end()
        .split('\n')
        .collect::<Vec<_>>()
        .join(&separator)
}

/// The words of a text. Code between backquotes is one word, so that a command can be pasted.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_code = false;
    for word in text.split_whitespace() {
        match words.last_mut().filter(|_| in_code) {
            Some(code) => *code += &format!(" {word}"),
            None => words.push(word.to_owned()),
        }
        in_code ^= word.matches('`').count() % 2 == 1;
    }
    // A quote that nothing closes begins no code.
    match in_code {
        true => text.split_whitespace().map(str::to_owned).collect(),
        false => words,
    }
}

/// A text in lines of at most the given number of columns, as far as single words fit.
fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in words(text) {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > columns {
            lines.push('\n');
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(&word);
        used += length;
    }
    lines.push('\n');
    lines
}

impl TextTable {
    /// A table without rows.
    pub fn new<T: Into<Cell>>(header: impl IntoIterator<Item = T>) -> Self {
        Self {
            header: header.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: of each cell a text, aligned left, or a [`right`] one.
    pub fn add_row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table of some columns.
    fn with_columns(&self, columns: &[usize]) -> Table {
        let chosen = |cells: &[Cell]| -> Vec<Cell> {
            let cells = columns.iter().filter_map(|index| cells.get(*index));
            cells.cloned().collect()
        };
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(chosen(&self.header));
        for row in &self.rows {
            table.add_row(chosen(row));
        }
        table
    }

    /// The table in parts that fit into the width, as far as single columns do.
    pub fn render(&self, width: TextWidth) -> String {
        let all: Vec<usize> = (0..self.header.len()).collect();
        let fits = |columns: &[usize]| {
            let table = self.with_columns(columns).to_string();
            let widest = table.lines().map(|line| line.chars().count()).max();
            width
                .0
                .is_none_or(|width| widest.unwrap_or_default() <= width)
        };
        let mut parts = Vec::new();
        let mut part: Vec<usize> = Vec::new();
        for column in all {
            part.push(column);
            // A part needs a second column to make progress, even if that is too wide.
            if !fits(&part) && part.len() > 2 {
                part.pop();
                // Each further part repeats the first column, which names the rows.
                parts.push(std::mem::replace(&mut part, vec![0, column]));
            }
        }
        parts.push(part);
        let texts = parts.iter().map(|part| self.with_columns(part).to_string());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// A cell aligned right, for numbers.
pub fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The cell of a metric's figure: value, interval and n, or [`ABSENT`].
pub fn figure(metric: &str, estimate: Option<&Estimate>) -> Cell {
    right(figure_text(metric, estimate))
}

/// Returns the text of [`figure`].
pub fn figure_text(metric: &str, estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(
        || ABSENT.to_owned(),
        |estimate| Metric::of_figure(metric).unit.render(estimate).lines(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_between_backquotes_are_not_broken() {
        let width = TextWidth(Some(30));
        assert_eq!(
            width.lines(
                "nothing was chosen; run `fillrate mine demo.toml -o tasks.jsonl`, then this"
            ),
            "nothing was chosen; run\n`fillrate mine demo.toml -o tasks.jsonl`,\nthen this"
        );
        assert_eq!(
            width.lines("a quote ` that nothing closes is a word"),
            "a quote ` that nothing closes\nis a word"
        );
    }

    #[test]
    fn wide_tables_are_shown_in_parts_that_fit() {
        let mut table = TextTable::new(["project", "first", "second", "third"]);
        table.add_row(["demo", "1", "2", "3"]);
        let narrow = table.render(TextWidth(Some(28)));
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 28),
            "{narrow}"
        );
        assert_eq!(narrow.matches("demo").count(), 2, "{narrow}");
        assert!(narrow.contains("third"), "{narrow}");
        assert_eq!(
            table.render(TextWidth::UNLIMITED).matches("demo").count(),
            1
        );
    }

    #[test]
    fn lines_are_broken_below_their_last_column() {
        let narrow = |text: &str| TextWidth(Some(30)).lines(text);
        assert_eq!(
            narrow("a short line\nand one that is longer than thirty columns"),
            "a short line\nand one that is longer than\nthirty columns"
        );
        assert_eq!(
            narrow("  serve     gives completions to an editor"),
            "  serve     gives completions\n            to an editor"
        );
        assert_eq!(
            narrow("  - a point of a list that goes on"),
            "  - a point of a list that\n  goes on"
        );
        let whole = "https://example.org/a/path/of/no/space";
        assert_eq!(narrow(whole), whole);
        assert_eq!(TextWidth::UNLIMITED.lines(whole), whole);
    }

    #[test]
    fn paragraphs_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree\n");
        assert_eq!(wrapped("extraordinary it is", 7), "extraordinary\nit is\n");
        assert_eq!(wrapped("", 7), "\n");
    }
}
