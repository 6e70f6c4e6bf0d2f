//! The table of typings: what simulated developers were shown, accepted and typed at each hole
//! under each policy.

use fillrate_engine::developer::typing::{RequestResult, TypedAcceptance, TypingRequest};
use fillrate_engine::store::{Run, TypingAttempt};
use fillrate_language::task::Hole;
use fillrate_verdict::Outcome;

use super::{
    ColumnType, ExportColumn, ExportError, ExportValue, SCHEMA, TypingColumn, VisitRow, column,
};
use crate::policies;

/// One hole that was typed under a policy.
pub struct TypingRow<'a> {
    run: &'a str,
    context: Option<&'a str>,
    view: &'a str,
    hole: &'a Hole,
    typing: &'a TypingAttempt,
}

impl TypingRow<'_> {
    fn requests(&self) -> &[TypingRequest] {
        &self.typing.session.requests
    }

    /// Number of requests with this result.
    fn ended(&self, result: RequestResult) -> usize {
        let requests = self.requests().iter();
        requests.filter(|request| request.result == result).count()
    }

    fn accepted(&self) -> impl Iterator<Item = TypedAcceptance> {
        self.requests()
            .iter()
            .filter_map(|request| request.accepted)
    }
}

/// Every column of the table of typings, in the order in which formats have them.
pub static TYPING_COLUMNS: &[TypingColumn] = &[
    column!("schema", Whole, |_| ExportValue::Whole(Some(SCHEMA))),
    column!("run", Text, |row| row.run.into()),
    column!("key", Text, |row| row.typing.key.as_str().into()),
    column!("hole", Text, |row| row.hole.id.as_str().into()),
    column!("project", Text, |row| row.hole.project.as_str().into()),
    column!("language", Text, |row| row.hole.language.as_str().into()),
    column!("path", Text, |row| row.hole.path.as_str().into()),
    column!("kind", Text, |row| row.hole.kind.name().into()),
    column!("model", Text, |row| row.typing.model.as_str().into()),
    column!("context", Text, |row| row.context.into()),
    column!("view", Text, |row| row.view.into()),
    column!("configuration", Text, |row| {
        let fingerprint = Some(row.typing.configuration.as_str());
        fingerprint.filter(|text| !text.is_empty()).into()
    }),
    column!("policy", Text, |row| row.typing.policy.as_str().into()),
    column!("policy_version", Whole, |row| row
        .typing
        .policy_version
        .into()),
    column!("counted", Truth, |row| row.typing.is_counted().into()),
    column!("characters", Whole, |row| policies::characters(row.hole)
        .into()),
    column!("requests", Whole, |row| row.requests().len().into()),
    column!("shown", Whole, |row| row.ended(RequestResult::Shown).into()),
    column!("late", Whole, |row| row.ended(RequestResult::Late).into()),
    column!("cancelled", Whole, |row| row
        .ended(RequestResult::Cancelled)
        .into()),
    column!("accepted", Whole, |row| row.accepted().count().into()),
    column!("accepted_passed", Whole, |row| {
        let requests = row.requests().iter();
        let passed = requests.filter(|request| {
            // Completions at the empty hole are judged as well, accepted or not.
            request.accepted.is_some() && request.outcome == Some(Outcome::Passed)
        });
        passed.count().into()
    }),
    column!("characters_kept", Whole, |row| {
        row.accepted().map(|one| one.kept).sum::<usize>().into()
    }),
    column!("characters_removed", Whole, |row| {
        row.accepted().map(|one| one.removed).sum::<usize>().into()
    }),
    column!("keys_typed", Whole, |row| row
        .typing
        .session
        .keys
        .typed
        .into()),
    column!("keys_accepts", Whole, |row| row
        .typing
        .session
        .keys
        .accepts
        .into()),
    column!("keys_deletes", Whole, |row| row
        .typing
        .session
        .keys
        .deletes
        .into()),
    column!("shown_ms", Real, |row| {
        Some(
            row.requests()
                .iter()
                .map(|request| request.shown_ms)
                .sum::<f64>(),
        )
        .into()
    }),
    column!("duration_ms", Real, |row| Some(
        row.typing.session.duration_ms
    )
    .into()),
];

/// Hands over the typings of runs in their order, and returns how many there are.
pub(super) fn each(runs: &[Run], visit: &mut VisitRow<'_>) -> Result<usize, ExportError> {
    let mut rows = 0;
    for run in runs {
        let name = run.folder().display().to_string();
        let identity = run.identity()?;
        let holes = run.holes()?;
        for typing in run.typings()? {
            let Some(hole) = holes.get(&typing.hole) else {
                continue;
            };
            let row = TypingRow {
                run: &name,
                context: fillrate_engine::store::context_name(&identity),
                view: fillrate_engine::store::view_name(&identity),
                hole,
                typing: &typing,
            };
            visit(
                TYPING_COLUMNS
                    .iter()
                    .map(|column| (column.of)(&row))
                    .collect(),
            )?;
            rows += 1;
        }
    }
    Ok(rows)
}
