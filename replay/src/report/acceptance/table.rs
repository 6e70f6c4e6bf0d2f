//! Statistics for people: tables, and in words what can be told and what can't.

use comfy_table::Cell;

use fillrate_metrics::{NumberFormat, POWER, Unit};

use super::{Acceptance, Figures, Row, Trial};
use crate::report::table::{TextTable, figure, right};

/// With fewer shown completions, a share says little, whatever its interval.
const FEW: usize = 30;

/// The columns of every table, where any row has them.
const SHARES: [&str; 4] = [
    "acceptance/shown",
    "acceptance/read",
    "acceptance/chars",
    "completed-code",
];

impl Acceptance {
    /// The tables and what they come to.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut rows = self.rows.as_slice();
        while let Some(first) = rows.first() {
            let of_grouping = |row: &&Row| row.by.keys().eq(first.by.keys());
            let count = rows.iter().take_while(of_grouping).count();
            let (grouping, rest) = rows.split_at(count);
            text.push_str(&table_of(grouping));
            rows = rest;
        }
        if self.rows.is_empty() && self.trial.is_some() {
            text.push_str("Nothing was offered by one model alone.\n");
        } else if self.rows.is_empty() {
            text.push_str("Nothing was offered in this time, so there is nothing to tell.\n");
        } else {
            text.push_str(
                "Rates in %, each with its 95 % interval (clustered by session and file) and its \
                 n; times in ms. \"?\": the data\nsupport no bound, as where all comes from one \
                 file in one session. A name says what is divided by what. Shown:\nas the editor \
                 confirms it + as it estimates it. A partial accept counts in completed-code \
                 alone.\n",
            );
            let few: Vec<String> = self
                .rows
                .iter()
                .filter(|row| row.shown.values().sum::<usize>() < FEW)
                .map(|row| row.by.values().cloned().collect::<Vec<_>>().join(", "))
                .collect();
            let untold: usize = self.rows.iter().map(|row| row.untold).sum();
            if untold > 0 {
                text.push_str(&format!(
                    "{untold} more were accepted in editors that do not say what they show: no \
                     rate of acceptance counts them.\n"
                ));
            }
            if !few.is_empty() {
                text.push_str(&format!(
                    "Too little to tell much (fewer than {FEW} shown): {}.\n",
                    few.join("; ")
                ));
            }
        }
        if let Some(trial) = &self.trial {
            text.push_str(&trial.table());
        }
        text
    }
}

/// The columns that any of these figures has, in the order in which they are shown.
fn columns<'a>(figures: impl Iterator<Item = &'a Figures>, first: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = first.iter().map(|name| (*name).to_owned()).collect();
    let mut kept: Vec<(&str, u64, String)> = Vec::new();
    for name in figures.flat_map(|figures| figures.keys()) {
        if let Some((kind, horizon)) = name.split_once('@') {
            let horizon = horizon.parse().unwrap_or(u64::MAX);
            kept.push((kind, horizon, name.clone()));
        }
    }
    kept.sort();
    kept.dedup();
    names.extend(kept.into_iter().map(|(_, _, name)| name));
    names.push("latency_ms/median".to_owned());
    names
}

fn table_of(rows: &[Row]) -> String {
    let columns = columns(rows.iter().map(|row| &row.figures), &SHARES);
    let by = rows
        .iter()
        .flat_map(|row| row.by.keys().copied())
        .take(rows.first().map_or(0, |row| row.by.len()));
    let mut header: Vec<String> = by.map(str::to_owned).collect();
    header.extend(["offered", "shown", "accepted"].map(str::to_owned));
    header.extend(columns.iter().cloned());
    let mut table = TextTable::new(header);
    for row in rows {
        let mut cells: Vec<Cell> = row.by.values().map(Cell::new).collect();
        cells.push(right(row.offered));
        let shown = |certainty: &str| row.shown.get(certainty).copied().unwrap_or(0);
        cells.push(right(format!(
            "{} + {}",
            shown("confirmed"),
            shown("estimated")
        )));
        cells.push(right(row.accepted));
        cells.extend(
            columns
                .iter()
                .map(|name| figure(name, row.figures.get(name))),
        );
        table.add_row(cells);
    }
    format!("{table}\n")
}

impl Trial {
    /// The trial's table, and in words what it comes to.
    fn table(&self) -> String {
        let pairs = self.strengths.is_some()
            || self
                .arms
                .iter()
                .any(|arm| arm.figures.contains_key("acceptance/pairs"));
        let first: &[&str] = if pairs {
            &["acceptance/pairs"]
        } else {
            &["acceptance/shown", "acceptance/read", "acceptance/chars"]
        };
        let columns = columns(self.arms.iter().map(|arm| &arm.figures), first);
        let mut header = vec!["trial", "shown", "accepted"];
        header.extend(columns.iter().map(String::as_str));
        let mut table = TextTable::new(header);
        for arm in &self.arms {
            let mut cells = vec![Cell::new(&arm.model), right(arm.shown), right(arm.accepted)];
            cells.extend(
                columns
                    .iter()
                    .map(|name| figure(name, arm.figures.get(name))),
            );
            table.add_row(cells);
        }
        let mut text = format!(
            "\n{table}\nTrial by {}, seed {}; intervals clustered by {}.\n",
            self.unit, self.seed, self.clusters
        );
        if self.hidden {
            text.push_str(
                "It is blind and goes on, so its models stand as letters; `--unblind` ends that.\n",
            );
        }
        for difference in &self.differences {
            text.push_str(&difference.words());
        }
        if let Some(strengths) = &self.strengths {
            let strengths: Vec<String> = strengths
                .iter()
                .map(|(model, strength)| {
                    let bound = |value: Option<f64>| {
                        value.map_or_else(|| "?".to_owned(), |value| format!("{value:+.2}"))
                    };
                    format!(
                        "{model} {:+.2} [{}, {}], n {}",
                        strength.value,
                        bound(strength.low),
                        bound(strength.high),
                        strength.n
                    )
                })
                .collect();
            text.push_str(&format!(
                "Strengths by choices (Bradley–Terry, natural logarithms, mean 0): {}.\n",
                strengths.join("; ")
            ));
        } else if pairs {
            text.push_str("Strengths need each model to be chosen at least once.\n");
        }
        text
    }
}

impl super::Difference {
    /// One sentence on what is known of it.
    fn words(&self) -> String {
        let Self { first, second, .. } = self;
        let points = NumberFormat {
            symbol: "points",
            ..Unit::Fraction.format().with_sign()
        };
        let interval = points.render(&self.difference).sentence();
        if self.clear {
            let (more, less) = if self.difference.value > 0.0 {
                (first, second)
            } else {
                (second, first)
            };
            return format!(
                "{more} is accepted more often than {less}: {first} − {second} is {interval}.\n"
            );
        }
        match self.shown_needed {
            Some(more) => format!(
                "{first} or {second}: can't tell yet. {first} − {second} is {interval}; if that is \
                 how they differ, about {more} more shown\ncompletions would show it ({:.0} % \
                 power at the 5 % level).\n",
                100.0 * POWER
            ),
            None => {
                format!("{first} or {second}: can't tell; so far they do not differ: {interval}.\n")
            }
        }
    }
}
