//! Parses tables of figures, for teams that can't share rows: CSV with the columns `version`,
//! `language`, `metric`, `value` and `n`, in any order.
//!
//! `language` and `n` may be empty; `*` is all languages. Optional columns are `error`, the figure's
//! standard error, and `configuration`, the fingerprint of the settings. If every value of a metric
//! has its n and lies between 0 and 1, it is a share of n independent outcomes; any other value is
//! taken as stated, and its error is unknown without `error`. Any other column is an error, so that
//! a misspelt one is not ignored.

use super::figure::{Figure, FigureUnit};
use super::input::Observation;

/// Why a table is invalid.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It is not CSV, or a row has more or fewer fields than the header.
    #[error("{name}: {source}")]
    Csv {
        /// The table's name.
        name: String,
        /// What is wrong.
        source: csv::Error,
    },
    /// A column is missing or unknown.
    #[error(
        "{name}: {what}; the columns are version, language, metric, value, n, and optionally error \
         and configuration"
    )]
    Columns {
        /// The table's name.
        name: String,
        /// What is wrong with them.
        what: String,
    },
    /// A field is invalid.
    #[error("{name}, line {line}: {what}")]
    Field {
        /// The table's name.
        name: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// It has no row.
    #[error("{0} has no rows")]
    Empty(String),
}

const COLUMNS: [&str; 7] = [
    "version",
    "language",
    "metric",
    "value",
    "n",
    "error",
    "configuration",
];

/// Parses a table; errors call it `name`.
///
/// # Errors
/// The text is no such table.
pub fn parse_table(text: &str, name: &str) -> Result<Vec<Observation>, TableError> {
    let fault = |source| TableError::Csv {
        name: name.to_owned(),
        source,
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.strip_prefix('\u{feff}').unwrap_or(text).as_bytes());
    let header = reader.headers().map_err(fault)?.clone();
    let columns = |what: String| TableError::Columns {
        name: name.to_owned(),
        what,
    };
    if let Some(unknown) = header.iter().find(|column| !COLUMNS.contains(column)) {
        return Err(columns(format!("there is no column `{unknown}`")));
    }
    if let Some(missing) = COLUMNS[..5]
        .iter()
        .find(|column| !header.iter().any(|it| it == **column))
    {
        return Err(columns(format!("the column `{missing}` is missing")));
    }
    let mut observations = Vec::new();
    for record in reader.records() {
        let record = record.map_err(fault)?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |column: &str| {
            let at = header.iter().position(|it| it == column)?;
            record.get(at).filter(|text| !text.is_empty())
        };
        let wrong = |what: String| TableError::Field {
            name: name.to_owned(),
            line,
            what,
        };
        let needed =
            |column: &str| field(column).ok_or_else(|| wrong(format!("`{column}` is empty")));
        let number = |column: &str, least: f64| match field(column) {
            None => Ok(None),
            Some(text) => match text.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= least => Ok(Some(number)),
                _ => Err(wrong(format!(
                    "`{column}` is no number it can be: `{text}`"
                ))),
            },
        };
        let n = match field("n") {
            None => None,
            Some(text) => match text.parse::<usize>() {
                Ok(n) if n > 0 => Some(n),
                _ => {
                    return Err(wrong(format!(
                        "`n` must be a whole number above 0, not `{text}`"
                    )));
                }
            },
        };
        needed("value")?;
        let value = number("value", f64::NEG_INFINITY)?.unwrap_or_default();
        observations.push(Observation {
            version: needed("version")?.to_owned(),
            configuration: field("configuration").map(str::to_owned),
            label: None,
            language: field("language")
                .filter(|language| *language != "*")
                .map(str::to_lowercase),
            metric: needed("metric")?.to_owned(),
            unit: FigureUnit::Plain,
            figure: Figure::Stated {
                value,
                error: number("error", 0.0)?,
                n,
            },
            source: name.to_owned(),
        });
    }
    if observations.is_empty() {
        return Err(TableError::Empty(name.to_owned()));
    }
    mark_shares(&mut observations);
    Ok(observations)
}

/// Marks metrics all of whose values are shares of n.
fn mark_shares(observations: &mut [Observation]) {
    let of_shares = |metric: &str, all: &[Observation]| {
        all.iter().filter(|it| it.metric == metric).all(|it| {
            matches!(
                it.figure,
                Figure::Stated { value, n: Some(_), .. } if (0.0..=1.0).contains(&value)
            )
        })
    };
    let shares: Vec<bool> = observations
        .iter()
        .map(|it| of_shares(&it.metric, observations))
        .collect();
    for (observation, share) in observations.iter_mut().zip(shares) {
        if share {
            observation.unit = FigureUnit::Share;
        }
    }
}
