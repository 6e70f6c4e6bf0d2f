//! Parses tables of figures, for teams that can't share rows: CSV with the columns `version`,
//! `language`, `metric`, `value` and `n`, in any order and either case. Fields are separated by
//! commas, or as spreadsheets export them by semicolons or tabs; then a decimal comma is a point.
//!
//! `language` and `n` may be empty; `*` is all languages. Optional columns are `error`, the
//! figure's standard error, `configuration`, the fingerprint of the settings, `clusters`, the
//! number of files or people that the n come in, `design_effect`, the factor by which clusters
//! increase the variance, `error_correlation`, that of the errors of two versions on the same
//! holes, and `kind`, `place` and `length`, of which a row may have one: the part of the samples
//! that it is of. If every value of a metric has its n and is between 0 and 1, or in percent
//! between 0 and 100, it is a share of n independent outcomes. Edit similarities are shares with or
//! without n: they are in percent if one of them is above 1. Any other value is taken as stated,
//! and its error is unknown without `error`. Any other column is an error, so that a misspelt one
//! is not ignored. So is a rate below 0 or above 100, a column that mixes fractions and
//! percentages, and a name in two spellings that differ in case alone.

use std::collections::BTreeMap;

use fillrate_metrics::{Metric, Unit};
use strum::VariantArray as _;

use super::figure::{Figure, FigureUnit, StatedFigure};
use super::input::{Observation, SampleDimension, Stratum};

/// Reason for which a table is invalid.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It is not CSV, or a row has more or fewer fields than the header.
    #[error("{name}: {source}")]
    Csv {
        /// The table's name.
        name: String,
        /// Reason, for people.
        source: csv::Error,
    },
    /// A column is missing or unknown.
    #[error(
        "{name}: {what}; the columns are version, language, metric, value, n, and optionally error, \
         configuration, clusters, design_effect, error_correlation, kind, place and length"
    )]
    Columns {
        /// The table's name.
        name: String,
        /// Reason, for people.
        what: String,
    },
    /// A field is invalid.
    #[error("{name}, line {line}: {what}")]
    Field {
        /// The table's name.
        name: String,
        /// The line, from 1.
        line: u64,
        /// Reason, for people.
        what: String,
    },
    /// It has no row.
    #[error("{0} has no rows")]
    Empty(String),
}

const COLUMNS: [&str; 13] = [
    "version",
    "language",
    "metric",
    "value",
    "n",
    "error",
    "configuration",
    "clusters",
    "design_effect",
    "error_correlation",
    "kind",
    "place",
    "length",
];

/// Parses a table; errors call it `name`.
///
/// # Errors
/// The text is not a valid table.
pub(super) fn parse_table(text: &str, name: &str) -> Result<Vec<Observation>, TableError> {
    let fault = |source| TableError::Csv {
        name: name.to_owned(),
        source,
    };
    // Spreadsheet programs write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let delimiter = find_delimiter(text);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let header: Vec<String> = reader
        .headers()
        .map_err(fault)?
        .iter()
        .map(str::to_lowercase)
        .collect();
    check_header(&header).map_err(|what| TableError::Columns {
        name: name.to_owned(),
        what,
    })?;
    let wrong = |line: u64, what: String| TableError::Field {
        name: name.to_owned(),
        line,
        what,
    };
    let mut rows: Vec<TableRow> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(fault)?;
        let line = record.position().map_or(0, csv::Position::line);
        let fields = Fields {
            header: &header,
            record: &record,
            // A comma is a decimal mark only if it does not separate fields.
            decimal_comma: delimiter != b',',
        };
        let observation = fields.observation(name).map_err(|what| wrong(line, what))?;
        rows.push(TableRow { line, observation });
    }
    if rows.is_empty() {
        return Err(TableError::Empty(name.to_owned()));
    }
    check_spellings(&rows).map_err(|(line, what)| wrong(line, what))?;
    check_ranges(&rows).map_err(|(line, what)| wrong(line, what))?;
    let mut observations: Vec<Observation> = rows.into_iter().map(|row| row.observation).collect();
    take_percentages(&mut observations);
    mark_shares(&mut observations);
    Ok(observations)
}

/// An observation with its line in the table, from 1.
struct TableRow {
    line: u64,
    observation: Observation,
}

/// A line that is wrong, and why.
type WrongLine = (u64, String);

/// The separator that the header has most of.
fn find_delimiter(text: &str) -> u8 {
    let header = text.lines().next().unwrap_or_default();
    let count = |delimiter: u8| header.bytes().filter(|byte| *byte == delimiter).count();
    // Of equal counts the last one wins.
    [b'\t', b';', b',']
        .into_iter()
        .max_by_key(|delimiter| count(*delimiter))
        .unwrap_or(b',')
}

fn check_header(header: &[String]) -> Result<(), String> {
    let is_known = |column: &String| COLUMNS.contains(&column.as_str());
    if let Some(unknown) = header.iter().find(|column| !is_known(column)) {
        return Err(format!("there is no column `{unknown}`"));
    }
    let has = |column: &str| header.iter().any(|it| it == column);
    match COLUMNS[..5].iter().find(|column| !has(column)) {
        Some(missing) => Err(format!("the column `{missing}` is missing")),
        None => Ok(()),
    }
}

/// The fields of one row.
struct Fields<'a> {
    header: &'a [String],
    record: &'a csv::StringRecord,
    decimal_comma: bool,
}

impl Fields<'_> {
    fn get(&self, column: &str) -> Option<&str> {
        let index = self.header.iter().position(|it| it == column)?;
        self.record.get(index).filter(|text| !text.is_empty())
    }

    fn required(&self, column: &str) -> Result<&str, String> {
        self.get(column)
            .ok_or_else(|| format!("`{column}` is empty"))
    }

    fn number(&self, column: &str, least: f64) -> Result<Option<f64>, String> {
        let Some(text) = self.get(column) else {
            return Ok(None);
        };
        let parsed = match self.decimal_comma {
            true => text.replace(',', ".").parse::<f64>(),
            false => text.parse::<f64>(),
        };
        match parsed {
            Ok(number) if number.is_finite() && number >= least => Ok(Some(number)),
            _ => Err(format!("`{column}` is not a valid number: `{text}`")),
        }
    }

    /// A whole number, at least the given minimum.
    fn count(&self, column: &str, least: usize) -> Result<Option<usize>, String> {
        match self.get(column).map(|text| (text, text.parse::<usize>())) {
            None => Ok(None),
            Some((_, Ok(count))) if count >= least => Ok(Some(count)),
            Some((text, _)) => Err(format!(
                "`{column}` must be a whole number above {}, not `{text}`",
                least - 1
            )),
        }
    }

    fn correlation(&self) -> Result<Option<f64>, String> {
        let correlation = self.number("error_correlation", -1.0)?;
        match correlation.filter(|correlation| *correlation > 1.0) {
            Some(beyond) => Err(format!(
                "`error_correlation` is {beyond}, but lies between -1 and 1"
            )),
            None => Ok(correlation),
        }
    }

    /// The part of the samples that the row is of.
    fn stratum(&self) -> Result<Option<Stratum>, String> {
        let named = SampleDimension::VARIANTS.iter().filter_map(|&dimension| {
            let name = self.get(dimension.name()).filter(|name| *name != "*")?;
            (dimension != SampleDimension::Language).then(|| Stratum {
                dimension,
                name: name.to_lowercase(),
            })
        });
        match named.collect::<Vec<_>>().as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            [one, other, ..] => Err(format!(
                "the row has both a `{}` and a `{}`; give one, and the other in rows of its own",
                one.dimension.name(),
                other.dimension.name()
            )),
        }
    }

    fn observation(&self, source: &str) -> Result<Observation, String> {
        self.required("value")?;
        Ok(Observation {
            version: self.required("version")?.to_owned(),
            configuration: self.get("configuration").map(str::to_owned),
            label: None,
            language: self
                .get("language")
                .filter(|language| *language != "*")
                .map(str::to_lowercase),
            stratum: self.stratum()?,
            metric: self.required("metric")?.to_owned(),
            unit: FigureUnit::Plain,
            figure: Figure::Stated(StatedFigure {
                value: self.number("value", f64::NEG_INFINITY)?.unwrap_or_default(),
                error: self.number("error", 0.0)?,
                n: self.count("n", 1)?,
                clusters: self.count("clusters", 2)?,
                design_effect: self.number("design_effect", 0.01)?,
                correlation: self.correlation()?,
            }),
            source: source.to_owned(),
        })
    }
}

/// Checks that no version or metric has two spellings that differ in case alone: they would be two
/// versions.
fn check_spellings(rows: &[TableRow]) -> Result<(), WrongLine> {
    for (column, name) in [
        (
            "version",
            (|row| &row.observation.version) as fn(&TableRow) -> &String,
        ),
        ("metric", |row| &row.observation.metric),
    ] {
        let mut first: BTreeMap<String, &TableRow> = BTreeMap::new();
        for row in rows {
            let earlier = *first.entry(name(row).to_lowercase()).or_insert(row);
            if name(earlier) != name(row) {
                return Err((
                    row.line,
                    format!(
                        "`{column}` is `{}`, and `{}` on line {}; use one spelling",
                        name(row),
                        name(earlier),
                        earlier.line
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// A figure's value with its line.
struct StatedValue {
    line: u64,
    value: f64,
    has_n: bool,
}

/// Checks that rates are in their range and in one unit.
fn check_ranges(rows: &[TableRow]) -> Result<(), WrongLine> {
    let mut metrics: BTreeMap<&str, Vec<StatedValue>> = BTreeMap::new();
    for row in rows {
        if let Figure::Stated(StatedFigure { value, n, .. }) = row.observation.figure {
            let metric = metrics.entry(&row.observation.metric).or_default();
            metric.push(StatedValue {
                line: row.line,
                value,
                has_n: n.is_some(),
            });
        }
    }
    for (metric, values) in metrics {
        // A metric of another tool is a rate if all its values are shares of an n.
        let is_rate = match Metric::find(metric).map(|metric| metric.unit) {
            Some(unit) => matches!(unit, Unit::ZeroOrOne | Unit::Fraction | Unit::Percent),
            None => values.iter().all(|one| one.has_n),
        };
        if !is_rate {
            continue;
        }
        let outside = |one: &&StatedValue| !(0.0..=100.0).contains(&one.value);
        if let Some(StatedValue { line, value, .. }) = values.iter().find(outside) {
            let what = format!(
                "`value` of `{metric}` is {value}, but a rate lies between 0 and 1, or between 0 \
                 and 100 in percent"
            );
            return Err((*line, what));
        }
        // 0 and 1 are possible in both units.
        let fraction = values.iter().find(|one| one.value > 0.0 && one.value < 1.0);
        let percent = values.iter().find(|one| one.value > 1.0);
        if let (Some(fraction), Some(percent)) = (fraction, percent) {
            let what = format!(
                "`value` of `{metric}` is {}, and {} on line {}: the column mixes percentages and \
                 fractions; write all as fractions",
                percent.value, fraction.value, fraction.line
            );
            return Err((percent.line, what));
        }
    }
    Ok(())
}

/// Turns the percentages of a rate, or of an edit similarity, into shares: as such they have the
/// same errors as fractions.
fn take_percentages(observations: &mut [Observation]) {
    let mut of_metric: BTreeMap<String, Vec<StatedFigure>> = BTreeMap::new();
    for one in observations.iter() {
        if let Figure::Stated(stated) = one.figure {
            of_metric
                .entry(one.metric.clone())
                .or_default()
                .push(stated);
        }
    }
    of_metric.retain(|metric, values| {
        let in_range = values.iter().all(|one| (0.0..=100.0).contains(&one.value));
        // A fraction above 1 is a percentage: the ranges are checked.
        let is_percent = in_range && values.iter().any(|one| one.value > 1.0);
        match Metric::find(metric).map(|metric| metric.unit) {
            Some(Unit::Percent) => is_percent,
            Some(Unit::Saving | Unit::Milliseconds | Unit::Tokens | Unit::Number | Unit::Money) => {
                false
            }
            Some(Unit::ZeroOrOne | Unit::Fraction) | None => {
                is_percent && values.iter().all(|one| one.n.is_some())
            }
        }
    });
    for one in observations {
        if let Figure::Stated(stated) = &mut one.figure
            && of_metric.contains_key(&one.metric)
        {
            stated.value /= 100.0;
            stated.error = stated.error.map(|error| error / 100.0);
            one.unit = FigureUnit::Share;
        }
    }
}

/// Marks metrics all of whose values are shares of n, edit similarities and savings.
fn mark_shares(observations: &mut [Observation]) {
    let fraction_unit = |metric: &str, all: &[Observation]| {
        let known = Metric::find(metric);
        let is_fraction = match known.map(|metric| metric.unit) {
            Some(Unit::Milliseconds | Unit::Tokens | Unit::Number | Unit::Money) => false,
            Some(Unit::Saving | Unit::ZeroOrOne | Unit::Fraction | Unit::Percent) | None => true,
        };
        let unit = known.map_or(FigureUnit::Share, FigureUnit::of_fraction);
        // A similarity is a mean of shares, so that it is one without n, too.
        let is_similarity = known.is_some_and(|metric| metric.unit == Unit::Percent);
        let holds = |it: &Observation| {
            let Figure::Stated(stated) = it.figure else {
                return false;
            };
            match unit {
                // A number beyond these is a percentage, or of an unknown unit.
                FigureUnit::Saving => (-1.0..=1.0).contains(&stated.value),
                _ => {
                    let is_share = stated.n.is_some() || is_similarity;
                    is_share && unit.range().contains(&stated.value)
                }
            }
        };
        let mut own = all.iter().filter(|it| it.metric == metric);
        (is_fraction && own.all(holds)).then_some(unit)
    };
    let units: Vec<Option<FigureUnit>> = observations
        .iter()
        .map(|it| fraction_unit(&it.metric, observations))
        .collect();
    for (observation, unit) in observations.iter_mut().zip(units) {
        observation.unit = unit.unwrap_or(observation.unit);
    }
}
