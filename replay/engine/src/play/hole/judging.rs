//! Verdicts on completions of holes, under the limit of concurrent verdicts.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fillrate_language::task::{Hole, TaskError};
use fillrate_mine::written::CodeView;
use fillrate_syntax::Language;
use fillrate_verdict::{Outcome, Verdict};

use crate::play::events::Listener;
use crate::play::permits::WorkerPermits;
use crate::play::projects::{PlayableProject, UNTESTED};
use crate::play::{PlayError, audit};
use crate::store::{Attempt, AuditRecord};

/// A hole with the file and project that a job works on.
pub(super) struct HoleSite<'a> {
    pub(super) hole: &'a Hole,
    pub(super) project: &'a PlayableProject,
    /// The file with the reference in it.
    pub(super) contents: &'a str,
    /// The state of the file that the model is shown.
    pub(super) view: CodeView,
}

/// The judge of a subject's completions.
pub(super) struct CompletionJudge<'a> {
    /// The permits of the workers.
    pub(super) permits: Arc<WorkerPermits>,
    /// The listener to audits.
    pub(super) listener: &'a dyn Listener,
}

impl CompletionJudge<'_> {
    /// Judges a completion once a permit is free, in place of the hole and of the overlap after it.
    ///
    /// # Errors
    /// The file has changed.
    pub(super) fn judge(
        &self,
        site: &HoleSite<'_>,
        completion: &str,
        overlap: &str,
    ) -> Result<Verdict, TaskError> {
        // The clock starts after the wait for the permit, which counts as idle time.
        let permit = self.permits.judging.take();
        let began = Instant::now();
        let verdict = site.judge(completion, overlap)?;
        drop(permit);
        self.permits
            .add_verdict(began.elapsed(), verdict.seconds, verdict.twin_seconds);
        Ok(verdict)
    }

    /// Audits a small share of all attempts while the run is made.
    ///
    /// # Errors
    /// The sandbox is unavailable, or the file has changed.
    pub(super) fn audit(
        &self,
        site: &HoleSite<'_>,
        attempt: &Attempt,
    ) -> Result<Option<AuditRecord>, PlayError> {
        if attempt.verdict.outcome == Outcome::Infrastructure
            || !audit::is_sampled(&attempt.key, audit::CONTINUOUS_SHARE, 0)
        {
            return Ok(None);
        }
        let Some(judge) = &site.project.judge else {
            return Ok(None);
        };
        let filled = attempt.filled(site.hole, site.contents)?;
        let _permit = self.permits.judging.take();
        let began = Instant::now();
        let record = audit::audit_attempt(judge, attempt, site.hole, &filled, self.listener)?;
        self.permits.add(|spent| &mut spent.audit, began.elapsed());
        Ok(Some(record))
    }
}

impl HoleSite<'_> {
    /// The text after the hole that a completion writes as well, because the view lacks it.
    pub(super) fn overlap(&self, completion: &str) -> &str {
        let (view, contents) = (self.view, self.contents);
        view.overlap(self.language(), contents, &self.range(), completion)
    }

    /// The text that a person goes on to write after the hole's own.
    pub(super) fn continuation(&self) -> &str {
        let (view, contents) = (self.view, self.contents);
        view.continuation(self.language(), contents, &self.range())
    }

    fn language(&self) -> Option<&'static Language> {
        Language::for_path(Path::new(&self.hole.path))
    }

    fn range(&self) -> Range<usize> {
        self.hole.start.0..self.hole.end.0
    }

    /// Judges the file with a completion in its hole.
    fn judge(&self, completion: &str, overlap: &str) -> Result<Verdict, TaskError> {
        let filled = self.hole.filled_over(self.contents, completion, overlap)?;
        let Some(judge) = &self.project.judge else {
            return Ok(Verdict {
                reason: UNTESTED.to_owned(),
                ..Verdict::from_outcome(Outcome::Unjudged)
            });
        };
        Ok(judge
            .judge(self.hole, &filled)
            .unwrap_or_else(|error| Verdict::infrastructure(&error)))
    }
}
