//! Figures of simulated developers in a run.

use fillrate_engine::store::{DeveloperSettings, Run, StoreError, TypingAttempt};

use super::policies::{self, PolicyFigures};
use super::scored::{ScoredAttempt, cluster};

/// The typings of a run, or what its attempts are estimated with.
pub(super) struct DeveloperFigures {
    settings: Option<DeveloperSettings>,
    /// Each with its cluster and the characters of its hole.
    typings: Vec<(String, usize, TypingAttempt)>,
}

impl DeveloperFigures {
    pub(super) fn load(run: &Run) -> Result<Self, StoreError> {
        let holes = run.holes()?;
        let typings = run.typings()?.into_iter().filter_map(|typing| {
            // Typings with flaky tests or an infrastructure failure are in no figure.
            let hole = holes.get(&typing.hole).filter(|_| typing.is_counted())?;
            Some((cluster(hole), policies::characters(hole), typing))
        });
        Ok(Self {
            settings: run.developer_settings()?,
            typings: typings.collect(),
        })
    }

    /// Figures of one project or of all: of the typings, or estimated from attempts if there are
    /// none.
    pub(super) fn figures(
        &self,
        project: Option<&str>,
        scored: &[&ScoredAttempt],
    ) -> Vec<PolicyFigures> {
        self.figures_where(scored, |typing| {
            project.is_none_or(|project| typing.project == project)
        })
    }

    /// The same for the selected typings.
    pub(super) fn figures_where(
        &self,
        scored: &[&ScoredAttempt],
        wanted: impl Fn(&TypingAttempt) -> bool,
    ) -> Vec<PolicyFigures> {
        let typed = self.typed_where(wanted);
        match &self.settings {
            // Without typing, the policies decide over the completions at the empty hole.
            Some(settings) if typed.is_empty() => policies::estimate_attempts(scored, settings),
            _ => policies::estimate_typed(&typed),
        }
    }

    pub(super) fn typed(&self, project: Option<&str>) -> Vec<policies::TypedHole<'_>> {
        self.typed_where(|typing| project.is_none_or(|project| typing.project == project))
    }

    pub(super) fn typed_where(
        &self,
        wanted: impl Fn(&TypingAttempt) -> bool,
    ) -> Vec<policies::TypedHole<'_>> {
        let typings = self.typings.iter();
        typings
            .filter(|(_, _, typing)| wanted(typing))
            .map(|(cluster, characters, typing)| policies::TypedHole {
                cluster,
                characters: *characters,
                typing,
            })
            .collect()
    }
}
