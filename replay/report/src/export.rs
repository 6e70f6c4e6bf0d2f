//! Runs for other programs. As a table, a row is an attempt or a typing, with every figure that
//! reports are made of; [`EvaluationRecord`] is a whole run in a public schema.
//!
//! The columns are [`columns`] and [`TYPING_COLUMNS`], in all formats the same. What is absent is
//! `null` in JSON lines and in Parquet, and nothing between two commas in CSV.

mod evaluation;
mod inspect;
#[cfg(feature = "parquet")]
mod parquet;
mod typings;

use std::io::Write;
use std::path::{Path, PathBuf};

use fillrate_metrics::metric::{INVOCATION, ORACLE_ACCEPTANCE, SCRIPT_INVOCATION, TYPE_CHECK};
use fillrate_metrics::{Metric, reported_text_metrics};

use super::scored::ScoredAttempt;
pub use evaluation::{EvaluationRecord, write_every_eval_ever};
pub use inspect::write_inspect;
pub use typings::{TYPING_COLUMNS, TypingRow};

use fillrate_engine::store::{AuditRecord, Run, StoreError};
use fillrate_language::task::Hole;
use fillrate_verdict::Outcome;

/// The version of the columns. It grows when one changes its meaning, its type or its name; a new
/// column leaves it as it is.
pub const SCHEMA: i64 = 3;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// A whole number of 64 bits.
    Whole,
    /// A floating-point number of 64 bits.
    Real,
    /// Yes or no.
    Truth,
}

impl ColumnType {
    /// The name in the table of the reference page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Whole => "integer",
            Self::Real => "number",
            Self::Truth => "boolean",
        }
    }
}

/// A column: its name, its type, and the function from a row to its value.
#[derive(Clone, Copy)]
pub struct ExportColumn<F> {
    /// Its name.
    pub name: &'static str,
    /// Type of its values.
    pub form: ColumnType,
    of: F,
}

/// A column of the table of attempts.
pub type AttemptColumn = ExportColumn<AttemptValue>;

/// Value of a column of the table of attempts.
#[derive(Clone, Copy)]
pub enum AttemptValue {
    /// Computed from the row.
    Computed(fn(&AttemptRow<'_>) -> ExportValue),
    /// A text metric's value.
    Text(Metric),
}

impl AttemptValue {
    fn value(self, row: &AttemptRow<'_>) -> ExportValue {
        match self {
            Self::Computed(compute) => compute(row),
            Self::Text(metric) => row.scored.text.get(metric.name).copied().into(),
        }
    }
}

/// A column of the table of typings.
pub type TypingColumn = ExportColumn<fn(&TypingRow<'_>) -> ExportValue>;

/// One attempt with all that is known of it.
pub struct AttemptRow<'a> {
    run: &'a str,
    context: Option<&'a str>,
    /// The state in which files were shown.
    view: &'a str,
    hole: &'a Hole,
    scored: &'a ScoredAttempt,
    audit: Option<&'a AuditRecord>,
}

/// Value of a column; `None` if it is absent.
pub enum ExportValue {
    /// See [`ColumnType::Text`].
    Text(Option<String>),
    /// See [`ColumnType::Whole`].
    Whole(Option<i64>),
    /// See [`ColumnType::Real`].
    Real(Option<f64>),
    /// See [`ColumnType::Truth`].
    Truth(Option<bool>),
}

impl From<&str> for ExportValue {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<&str>> for ExportValue {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<usize> for ExportValue {
    fn from(number: usize) -> Self {
        Self::Whole(i64::try_from(number).ok())
    }
}

impl From<u32> for ExportValue {
    fn from(number: u32) -> Self {
        Self::Whole(Some(number.into()))
    }
}

impl From<Option<f64>> for ExportValue {
    fn from(number: Option<f64>) -> Self {
        // JSON has no NaN and no infinity.
        Self::Real(number.filter(|number| number.is_finite()))
    }
}

impl From<bool> for ExportValue {
    fn from(truth: bool) -> Self {
        Self::Truth(Some(truth))
    }
}

impl From<Option<bool>> for ExportValue {
    fn from(truth: Option<bool>) -> Self {
        Self::Truth(truth)
    }
}

/// A column of one form.
macro_rules! column {
    ($name:expr, $form:ident, $of:expr) => {
        ExportColumn {
            name: $name,
            form: ColumnType::$form,
            of: $of,
        }
    };
}
use column;

/// A column of attempts of one form.
macro_rules! attempt_column {
    ($name:expr, $form:ident, $of:expr) => {
        column!($name, $form, AttemptValue::Computed($of))
    };
}

/// Returns every column of the table of attempts, in the order in which formats have them: one for
/// each text metric of reports, and the others around these.
pub fn columns() -> Vec<AttemptColumn> {
    let texts = reported_text_metrics()
        .map(|text| column!(text.metric.name, Real, AttemptValue::Text(text.metric)));
    let before = COLUMNS_BEFORE_TEXT.iter().copied();
    before
        .chain(texts)
        .chain(COLUMNS_AFTER_TEXT.iter().copied())
        .collect()
}

static COLUMNS_BEFORE_TEXT: &[AttemptColumn] = &[
    attempt_column!("schema", Whole, |_| ExportValue::Whole(Some(SCHEMA))),
    attempt_column!("run", Text, |row| row.run.into()),
    attempt_column!("key", Text, |row| row.scored.attempt.key.as_str().into()),
    attempt_column!("hole", Text, |row| row.hole.id.as_str().into()),
    attempt_column!("project", Text, |row| row.hole.project.as_str().into()),
    attempt_column!("language", Text, |row| row.hole.language.as_str().into()),
    attempt_column!("path", Text, |row| row.hole.path.as_str().into()),
    attempt_column!("kind", Text, |row| row.hole.kind.name().into()),
    attempt_column!("category", Text, |row| {
        let category = row.hole.category.as_ref();
        category.map(|category| category.name.name()).into()
    }),
    attempt_column!("task_id", Text, |row| row.hole.task_id.as_deref().into()),
    attempt_column!("mutation_score", Real, |row| row.scored.mutation.into()),
    attempt_column!("model", Text, |row| row
        .scored
        .attempt
        .model
        .as_str()
        .into()),
    attempt_column!("context", Text, |row| row.context.into()),
    attempt_column!("view", Text, |row| row.view.into()),
    attempt_column!("configuration", Text, |row| {
        let trace = row.scored.attempt.trace.as_ref();
        let fingerprint = trace.map(|trace| trace.configuration.as_str());
        fingerprint.filter(|text| !text.is_empty()).into()
    }),
    attempt_column!("sample", Whole, |row| row.scored.attempt.sample.into()),
    attempt_column!("repair_round", Whole, |row| row
        .scored
        .attempt
        .repair_round
        .into()),
    attempt_column!("answered", Truth, |row| {
        let is_counted = row.scored.is_counted();
        is_counted.then_some(row.scored.attempt.answered).into()
    }),
    attempt_column!("offered", Whole, |row| {
        row.scored.attempt.offered.len().into()
    }),
    attempt_column!("completion", Text, |row| {
        let offered = &row.scored.attempt.offered;
        offered.first().map(String::as_str).into()
    }),
    attempt_column!("reference", Text, |row| row.hole.reference.as_str().into()),
    attempt_column!("overlap", Text, |row| {
        let overlap = Some(row.scored.attempt.overlap.as_str());
        overlap.filter(|text| !text.is_empty()).into()
    }),
    attempt_column!("outcome", Text, |row| {
        row.scored.attempt.verdict.outcome.name().into()
    }),
    attempt_column!("passed", Truth, |row| {
        let outcome = row.scored.attempt.verdict.outcome;
        let passed = outcome == Outcome::Passed;
        outcome.is_evidence().then_some(passed).into()
    }),
    attempt_column!("proof", Text, |row| {
        let proof = row.scored.attempt.verdict.proof;
        proof.map(fillrate_verdict::Proof::name).into()
    }),
    attempt_column!("tests_unproven", Whole, |row| {
        row.scored.attempt.verdict.unproven.len().into()
    }),
    attempt_column!("reason", Text, |row| {
        row.scored.attempt.verdict.reason.as_str().into()
    }),
    attempt_column!("tests_run", Whole, |row| {
        row.scored.attempt.verdict.executed.into()
    }),
    attempt_column!("tests_failed", Whole, |row| {
        row.scored.attempt.verdict.failed.len().into()
    }),
    attempt_column!("tests_rerun", Truth, |row| {
        row.scored.attempt.verdict.rerun.into()
    }),
    attempt_column!("tests_seconds", Real, |row| {
        Some(row.scored.attempt.verdict.seconds).into()
    }),
    attempt_column!("twin_seconds", Real, |row| {
        Some(row.scored.attempt.verdict.twin_seconds).into()
    }),
    attempt_column!("sandbox", Text, |row| {
        row.scored.attempt.verdict.sandbox.as_str().into()
    }),
    attempt_column!("audit", Text, |row| {
        row.audit.map(|audit| audit.rejudged.name()).into()
    }),
    attempt_column!("latency_ms", Real, |row| { row.scored.latency_ms.into() }),
    attempt_column!("context_ms", Real, |row| traced(row, |trace| Some(
        trace.context_ms
    ))),
    attempt_column!("model_ms", Real, |row| {
        row.scored.model_trace().map(|trace| trace.model_ms).into()
    }),
    attempt_column!("first_text_ms", Real, |row| {
        let trace = row.scored.model_trace();
        trace.and_then(|trace| trace.first_text_ms).into()
    }),
    attempt_column!("cleanup_ms", Real, |row| traced(row, |trace| Some(
        trace.cleanup_ms
    ))),
    attempt_column!("prompt_tokens", Real, |row| traced(row, |trace| Some(
        trace.usage?.prompt as f64
    ))),
    attempt_column!("completion_tokens", Real, |row| traced(row, |trace| Some(
        trace.usage?.completion as f64
    ))),
    attempt_column!("cost", Real, |row| traced(row, |trace| trace.usage?.cost)),
    attempt_column!("probability", Real, |row| row.scored.probability.into()),
];

static COLUMNS_AFTER_TEXT: &[AttemptColumn] = &[
    attempt_column!(INVOCATION.name, Real, |row| {
        row.scored.invocation.repository.into()
    }),
    attempt_column!(SCRIPT_INVOCATION.name, Real, |row| {
        row.scored.invocation.repoexec.into()
    }),
    attempt_column!(ORACLE_ACCEPTANCE.name, Truth, |row| {
        row.scored.accepted.into()
    }),
    attempt_column!(TYPE_CHECK.name, Truth, |row| {
        let types = row.scored.attempt.verdict.types.as_ref();
        let types = types.filter(|_| row.scored.is_counted());
        types.map(fillrate_verdict::TypeCheck::passes).into()
    }),
];

fn traced(
    row: &AttemptRow<'_>,
    of: fn(&fillrate_server::completion::Trace) -> Option<f64>,
) -> ExportValue {
    let trace = row.scored.attempt.trace.as_ref();
    trace
        .filter(|_| row.scored.is_counted())
        .and_then(of)
        .into()
}

/// A format of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values as in [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), with the
    /// columns' names as the first line, and lines that end in `\n`.
    Csv,
    /// [Apache Parquet](https://parquet.apache.org/docs/file-format/), compressed by Snappy.
    Parquet,
}

/// Reason for which runs can't be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A run can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The export can't be written.
    #[error("the table can't be written: {0}")]
    Written(#[from] std::io::Error),
    /// The Parquet file can't be written.
    #[cfg(feature = "parquet")]
    #[error("the Parquet file can't be written: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// A folder or a file in it can't be written.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The logs can't be written by Python.
    #[error("{0}")]
    Inspect(String),
    /// This program was built without Parquet.
    #[cfg(not(feature = "parquet"))]
    #[error(
        "this program was built without Parquet: choose jsonl or csv, or install it with `cargo install --path replay --features parquet`"
    )]
    NoParquet,
}

/// Receives the values of a row.
type VisitRow<'a> = dyn FnMut(Vec<ExportValue>) -> Result<(), ExportError> + 'a;

/// Hands over each row, and returns how many there are.
type Rows<'a> = dyn Fn(&mut VisitRow<'_>) -> Result<usize, ExportError> + 'a;

/// Names and types of a table's columns.
type Head = [(&'static str, ColumnType)];

/// Writes the attempts of runs as a table and returns how many there are.
///
/// # Errors
/// A run can't be read, or the table can't be written.
pub fn export(
    runs: &[Run],
    format: ExportFormat,
    to: impl Write + Send,
) -> Result<usize, ExportError> {
    let columns = columns();
    let rows = |visit: &mut VisitRow<'_>| {
        each(runs, |row| {
            visit(columns.iter().map(|column| column.of.value(&row)).collect())
        })
    };
    write_table(&head(&columns), &rows, format, to)
}

/// Writes the holes that simulated developers typed in runs as a table, and returns how many rows
/// there are: one for each hole and policy.
///
/// # Errors
/// A run can't be read, or the table can't be written.
pub fn export_typings(
    runs: &[Run],
    format: ExportFormat,
    to: impl Write + Send,
) -> Result<usize, ExportError> {
    let rows = |visit: &mut VisitRow<'_>| typings::each(runs, visit);
    write_table(&head(TYPING_COLUMNS), &rows, format, to)
}

fn head<F>(columns: &[ExportColumn<F>]) -> Vec<(&'static str, ColumnType)> {
    let head = columns.iter().map(|column| (column.name, column.form));
    head.collect()
}

fn write_table(
    head: &Head,
    rows: &Rows<'_>,
    format: ExportFormat,
    to: impl Write + Send,
) -> Result<usize, ExportError> {
    let mut to = std::io::BufWriter::new(to);
    match format {
        ExportFormat::Jsonl => {
            let rows = rows(&mut |row| {
                serde_json::to_writer(&mut to, &object(head, row)).map_err(std::io::Error::from)?;
                Ok(to.write_all(b"\n")?)
            })?;
            to.flush()?;
            Ok(rows)
        }
        ExportFormat::Csv => {
            let mut table = csv::Writer::from_writer(to);
            let fault = |error: csv::Error| {
                ExportError::Written(match error.into_kind() {
                    csv::ErrorKind::Io(error) => error,
                    other => std::io::Error::other(format!("{other:?}")),
                })
            };
            table
                .write_record(head.iter().map(|(name, _)| name))
                .map_err(fault)?;
            let rows =
                rows(&mut |row| table.write_record(row.into_iter().map(cell)).map_err(fault))?;
            table.flush()?;
            Ok(rows)
        }
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => parquet::write(head, rows, to),
        #[cfg(not(feature = "parquet"))]
        ExportFormat::Parquet => Err(ExportError::NoParquet),
    }
}

/// Goes through the attempts of runs in their order.
fn each(
    runs: &[Run],
    mut visit: impl FnMut(AttemptRow<'_>) -> Result<(), ExportError>,
) -> Result<usize, ExportError> {
    let mut rows = 0;
    for run in runs {
        let name = run.folder().display().to_string();
        let identity = run.identity()?;
        let context = fillrate_engine::store::context_name(&identity);
        let holes = run.holes()?;
        let (audits, has_latency) = (run.audits()?, run.has_latency()?);
        // Attempts at one hole follow each other, so its file is kept at hand.
        let mut file: Option<(String, String)> = None;
        // Attempts are read one by one: traces of a whole run may not fit in memory.
        for (key, _) in run.outcomes()? {
            let attempt = run.attempt(&key)?;
            let Some(hole) = holes.get(&attempt.hole) else {
                continue;
            };
            let contents = match file {
                Some((sha256, contents)) if sha256 == hole.file_sha256 => contents,
                _ => run.source(hole)?,
            };
            let scored = ScoredAttempt::score(hole, &contents, attempt).timed(has_latency);
            file = Some((hole.file_sha256.clone(), contents));
            visit(AttemptRow {
                run: &name,
                context,
                view: fillrate_engine::store::view_name(&identity),
                hole,
                scored: &scored,
                audit: audits.get(&key),
            })?;
            rows += 1;
        }
    }
    Ok(rows)
}

fn object(head: &Head, row: Vec<ExportValue>) -> serde_json::Map<String, serde_json::Value> {
    let members = head.iter().zip(row).map(|((name, _), value)| {
        let value = match value {
            ExportValue::Text(value) => value.into(),
            ExportValue::Whole(value) => value.into(),
            ExportValue::Real(value) => value.into(),
            ExportValue::Truth(value) => value.into(),
        };
        ((*name).to_owned(), value)
    });
    members.collect()
}

/// A text that spreadsheets take for no formula: models write it, and a formula can run programs.
/// See <https://owasp.org/www-community/attacks/CSV_Injection>.
fn without_formula(text: String) -> String {
    // Spreadsheets execute cells that begin with these characters.
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text,
    }
}

fn cell(value: ExportValue) -> String {
    match value {
        ExportValue::Text(value) => value.map(without_formula),
        ExportValue::Whole(value) => value.map(|value| value.to_string()),
        ExportValue::Real(value) => value.map(|value| value.to_string()),
        ExportValue::Truth(value) => value.map(|value| value.to_string()),
    }
    .unwrap_or_default()
}

impl ExportFormat {
    /// The format that a file's name ends in.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "jsonl" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_are_no_formulas() {
        for text in ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1"] {
            assert_eq!(cell(ExportValue::from(text)), format!("'{text}"));
        }
        assert_eq!(cell(ExportValue::from("a = 1")), "a = 1");
        assert_eq!(cell(ExportValue::from(Some(-1.5))), "-1.5");
    }

    /// A pipe whose reader has ended.
    struct ClosedPipe;

    impl Write for ClosedPipe {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_known_in_every_format_of_lines() {
        let head = [("text", ColumnType::Text)];
        let rows = |visit: &mut VisitRow<'_>| {
            for _ in 0..1000 {
                visit(vec![ExportValue::from("some text that fills buffers")])?;
            }
            Ok(1000)
        };
        for format in [ExportFormat::Jsonl, ExportFormat::Csv] {
            let written = write_table(&head, &rows, format, ClosedPipe);
            let Err(ExportError::Written(error)) = written else {
                panic!("{format:?}");
            };
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "{format:?}");
        }
    }
}
