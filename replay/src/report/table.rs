//! Tables of text for people.

use std::fmt::{self, Display, Formatter};

use comfy_table::{Cell, CellAlignment, Table, presets};
use fillrate_metrics::{Estimate, Metric};

/// What stands in a cell without a value.
pub const ABSENT: &str = "–";

/// A table of text with a header. Every table that the program prints is one.
pub struct TextTable(Table);

impl TextTable {
    /// A table without rows.
    pub fn new<T: Into<Cell>>(header: impl IntoIterator<Item = T>) -> Self {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        let header: Vec<Cell> = header.into_iter().map(Into::into).collect();
        table.set_header(header);
        Self(table)
    }

    /// Adds a row: of each cell a text, which stands at the left, or a [`right`] one.
    pub fn add_row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        self.0.add_row(cells);
    }
}

impl Display for TextTable {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A cell at the right, as numbers stand.
pub fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The cell of a metric's figure: value, interval and n, or [`ABSENT`].
pub fn figure(metric: &str, estimate: Option<&Estimate>) -> Cell {
    right(figure_text(metric, estimate))
}

/// What [`figure`] holds.
pub fn figure_text(metric: &str, estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(
        || ABSENT.to_owned(),
        |estimate| Metric::unit_of(metric).render(estimate).lines(),
    )
}
