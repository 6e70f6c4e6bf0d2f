//! Figures of simulated developers in a run.

use fillrate_engine::store::{DeveloperSettings, Run, StoreError, TypingAttempt};

use super::policies::{self, PolicyFigures};
use super::scored::{ScoredAttempt, cluster};

/// The typings of a run, or what its attempts are estimated with.
pub(super) struct DeveloperFigures {
    /// Settings to estimate figures with; `None` if holes were typed.
    estimation: Option<DeveloperSettings>,
    /// Each with its cluster and the characters of its hole.
    typings: Vec<(String, usize, TypingAttempt)>,
}

impl DeveloperFigures {
    pub(super) fn load(run: &Run) -> Result<Self, StoreError> {
        let holes = run.holes()?;
        let typings = run.typings()?;
        // Without typing, the policies decide over the completions at the empty hole. In a run of
        // typings, a project none of whose typings count has no figures: estimates would have the
        // names of figures of typings.
        let is_typed = !typings.is_empty() || run.identity()?.get("typing").is_some();
        let estimation = run.developer_settings()?.filter(|_| !is_typed);
        let typings = typings.into_iter().filter_map(|typing| {
            // Typings with flaky tests or an infrastructure failure are in no figure.
            let hole = holes.get(&typing.hole).filter(|_| typing.is_counted())?;
            Some((cluster(hole), policies::characters(hole), typing))
        });
        Ok(Self {
            estimation,
            typings: typings.collect(),
        })
    }

    /// Figures of one project or of all: of the typings, or estimated from attempts if the run has
    /// no typings.
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
        match &self.estimation {
            Some(settings) => policies::estimate_attempts(scored, settings),
            None => policies::estimate_typed(&self.typed_where(wanted)),
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

#[cfg(test)]
mod tests {
    use fillrate_language::task::{Hole, HoleKind};
    use fillrate_verdict::Outcome;
    use serde_json::json;

    use super::*;
    use crate::tests::{FILE, accepts_all, attempt};

    #[test]
    fn run_of_typings_has_no_estimates() {
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 14..27, FILE);
        let attempt = attempt(&hole, 0, &["total = a + 1"], Outcome::Passed);
        let scored = ScoredAttempt::score(&hole, FILE, attempt);
        let policies = |identity| -> usize {
            let folder = tempfile::tempdir().expect("the system gives a temporary folder");
            let run = Run::open_or_begin(folder.path(), &identity).expect("it is empty");
            run.set_developer_settings(&accepts_all())
                .expect("there is room");
            let developers = DeveloperFigures::load(&run).expect("the run is readable");
            developers.figures(Some("demo"), &[&scored]).len()
        };
        assert_eq!(policies(json!({})), 1);
        // Its typings are missing or don't count, and no estimate takes their place.
        assert_eq!(policies(json!({"typing": {"policies": ["accept-all"]}})), 0);
    }
}
