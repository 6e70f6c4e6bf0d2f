//! Replays the holes of a subject: what is asked, judged and stored at each.

mod failures;
mod judging;
mod recorder;
mod session;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fillrate_language::task::{Hole, TaskError};
use fillrate_mine::contexts::HoleView;
use fillrate_verdict::Verdict;
use fillrate_verdict::queue::run_jobs;

use self::failures::ModelFailures;
use self::judging::{CompletionJudge, HoleSite};
use self::recorder::RunRecorder;
use self::session::{HoleSession, TypedReference, server_command};
use super::PlayError;
use super::editor::{TypingFailure, requests_to_judge};
use super::events::{Listener, Phase, PhaseProgress};
use super::permits::WorkerPermits;
use super::schedule::{
    CompletionSource, HoleJob, MissingSample, ReplayParameters, earlier_attempt,
};
use super::subject::VerbatimCompletions;
use super::worker::ReplayWorker;
use crate::developer::policy::Policy;
use crate::developer::{CompletionReply, Developer};
use crate::store::{Attempt, Run, TypingAttempt};

/// Replays the holes of one subject into its run.
pub(super) struct SubjectReplay<'a> {
    parameters: ReplayParameters<'a>,
    recorder: RunRecorder<'a>,
    judge: CompletionJudge<'a>,
    failures: ModelFailures<'a>,
    listener: &'a dyn Listener,
    permits: Arc<WorkerPermits>,
    /// The most workers.
    workers: usize,
}

impl<'a> SubjectReplay<'a> {
    /// A replay into a run, with the given numbers of jobs and, if they are apart, connections.
    pub(super) fn new(
        parameters: ReplayParameters<'a>,
        run: Run,
        listener: &'a dyn Listener,
        jobs: usize,
        connections: Option<usize>,
    ) -> Self {
        let is_asked = matches!(parameters.source, CompletionSource::Server(_));
        // Given completions open no connection, so their workers are the jobs alone.
        let connections = connections.filter(|_| is_asked);
        let permits = Arc::new(WorkerPermits::new(connections.unwrap_or(jobs), jobs));
        Self {
            recorder: RunRecorder::new(run, listener),
            judge: CompletionJudge {
                permits: Arc::clone(&permits),
                listener,
            },
            failures: ModelFailures::new(&parameters.subject.name, listener),
            permits,
            // One worker per connection, plus those that are judging.
            workers: connections.map_or(jobs, |connections| connections + jobs),
            parameters,
            listener,
        }
    }

    /// Makes the attempts that are missing and returns the run.
    ///
    /// # Errors
    /// A server, the sandbox or the database fails, or the model fails several times in a row.
    pub(super) fn play(self, holes: &[Hole]) -> Result<Run, PlayError> {
        // Not from `new` on: the replays of all subjects exist before the first is played.
        let began = Instant::now();
        let jobs = self.missing_jobs(holes)?;
        let missing: usize = jobs.iter().map(HoleJob::units).sum();
        let total = self.total(holes);
        let name = self.parameters.subject.name.as_str();
        let done = total - missing;
        let progress = PhaseProgress::resume(self.listener, Phase::Replay, Some(name), done, total);
        let played = run_jobs(
            &jobs,
            self.workers,
            ReplayWorker::default,
            |worker, job| self.run_job(job, worker, &progress),
            |_| {},
        );
        // The phase is reported as finished before `finish` reports the time spent.
        drop(progress);
        let workers = self.workers.min(jobs.len());
        drop(jobs);
        self.finish(played.map(drop), workers, began.elapsed())
    }

    /// Returns the attempts that each hole lacks.
    pub(super) fn missing_jobs<'h>(
        &'h self,
        holes: &'h [Hole],
    ) -> Result<Vec<HoleJob<'h>>, PlayError> {
        let run = self.recorder.run();
        let (attempts, typings) = (run.attempts()?, run.typings()?);
        Ok(self.parameters.missing_jobs(holes, attempts, typings))
    }

    /// Returns the number of samples and typings of all holes.
    pub(super) fn total(&self, holes: &[Hole]) -> usize {
        self.parameters.total(holes)
    }

    /// The run as it is until now.
    pub(super) fn with_run<T>(&self, read: impl FnOnce(&Run) -> T) -> T {
        read(&self.recorder.run())
    }

    /// Records where the time of the workers went, in this wall-clock time, and returns the run.
    ///
    /// # Errors
    /// An attempt failed, or the database does.
    pub(super) fn finish(
        self,
        played: Result<(), PlayError>,
        workers: usize,
        wall: Duration,
    ) -> Result<Run, PlayError> {
        let spent = self.permits.spent(workers, wall);
        self.recorder
            .finish(played, &self.parameters, workers, spent)
    }

    /// Makes what is missing at one hole. Each hole is a session of its own, so none sees another.
    fn run_job(
        &self,
        job: &HoleJob<'_>,
        worker: &mut ReplayWorker,
        progress: &PhaseProgress<'_>,
    ) -> Result<(), PlayError> {
        let site = self.site(job.hole)?;
        match &self.parameters.source {
            CompletionSource::Verbatim(texts) => {
                for (sample, reply) in verbatim_replies(texts, job) {
                    if let Some(reply) = reply {
                        self.judge_and_store(&site, sample, reply)?;
                    }
                    progress.advance(1);
                }
                Ok(())
            }
            CompletionSource::Server(presented) => {
                self.with_cut_file(&site, presented, worker, |worker, session| {
                    self.run_sessions(session, job, worker, progress)
                })
            }
        }
    }

    /// Requests what is missing at one hole without judging the samples, so that no verdict runs
    /// while a model is asked. Typed text is judged immediately.
    pub(super) fn ask_job(
        &self,
        job: &HoleJob<'_>,
        worker: &mut ReplayWorker,
    ) -> Result<Vec<CompletionReply>, PlayError> {
        let site = self.site(job.hole)?;
        let presented = match &self.parameters.source {
            CompletionSource::Verbatim(texts) => {
                let replies = verbatim_replies(texts, job);
                return Ok(replies.filter_map(|(_, reply)| reply).collect());
            }
            CompletionSource::Server(presented) => presented,
        };
        self.with_cut_file(&site, presented, worker, |worker, session| {
            let mut replies = Vec::new();
            if !job.samples.is_empty() {
                replies = session.run(worker, async |developer| {
                    let mut replies = Vec::new();
                    for sample in &job.samples {
                        session.configure_sample(developer, sample).await?;
                        replies.push(session.ask(developer, None).await?);
                    }
                    Ok(replies)
                })?;
            }
            for policy in &job.policies {
                session.run(worker, async |developer| {
                    self.type_in(session, developer, policy).await
                })?;
            }
            Ok(replies)
        })
    }

    /// Judges the replies to a job's samples and stores the attempts.
    pub(super) fn judge_reply(
        &self,
        hole: &Hole,
        sample: &MissingSample,
        reply: CompletionReply,
    ) -> Result<(), PlayError> {
        let site = self.site(hole)?;
        self.judge_and_store(&site, sample, reply).map(drop)
    }

    /// Requests a completion at a hole and discards it: the first request to a server may load a
    /// model, which must not count in the latency of a measured one.
    pub(super) fn warm_up(&self, hole: &Hole, worker: &mut ReplayWorker) -> Result<(), PlayError> {
        let CompletionSource::Server(presented) = &self.parameters.source else {
            return Ok(());
        };
        let site = self.site(hole)?;
        self.with_cut_file(&site, presented, worker, |worker, session| {
            session.run(worker, async |developer| {
                Ok(session.ask(developer, None).await.map(drop)?)
            })
        })
    }

    /// The hole in its project.
    fn site<'s>(&'s self, hole: &'s Hole) -> Result<HoleSite<'s>, PlayError> {
        let project = *self
            .parameters
            .projects
            .get(hole.project.as_str())
            .ok_or_else(|| TaskError::other_file(hole))?;
        Ok(HoleSite {
            hole,
            project,
            contents: &project.source_file(hole)?.contents,
            view: self.parameters.subject.view,
        })
    }

    /// Works in a copy of the project in which the hole is cut out of its file.
    fn with_cut_file<T>(
        &self,
        site: &HoleSite<'_>,
        presented: &HashMap<String, HoleView>,
        worker: &mut ReplayWorker,
        work: impl FnOnce(&mut ReplayWorker, &HoleSession<'_>) -> Result<T, PlayError>,
    ) -> Result<T, PlayError> {
        let hole = site.hole;
        let shown = presented
            .get(&hole.id)
            .ok_or_else(|| TaskError::other_file(hole))?;
        let cut = match self.parameters.subject.paper {
            // A paper's text is not that of a file of the project.
            Some(_) => {
                let (prefix, suffix) = hole.cut(site.contents)?;
                [prefix, suffix].concat()
            }
            None => [shown.prefix.as_str(), &shown.suffix].concat(),
        };
        let telemetry = self.parameters.telemetry.clone();
        let server = self.with_run(|run| server_command(run.folder(), telemetry))?;
        let session = HoleSession {
            parameters: &self.parameters,
            permits: &self.permits,
            listener: self.listener,
            site,
            shown,
            server,
            workspace: worker.write_cut_file(site.project, hole, &cut)?,
        };
        let done = work(worker, &session);
        let restored = worker.restore_file(site.project, hole);
        PlayError::first_of(done, restored)
    }

    /// Runs the sessions of one hole: one for its samples, one for each policy.
    fn run_sessions(
        &self,
        session: &HoleSession<'_>,
        job: &HoleJob<'_>,
        worker: &mut ReplayWorker,
        progress: &PhaseProgress<'_>,
    ) -> Result<(), PlayError> {
        if !job.samples.is_empty() {
            session.run(worker, async |developer| {
                self.fill(session, developer, &job.samples, progress).await
            })?;
        }
        for policy in &job.policies {
            session.run(worker, async |developer| {
                self.type_in(session, developer, policy).await
            })?;
            progress.advance(1);
        }
        Ok(())
    }

    /// Requests the missing samples of a hole, each with its repair rounds. The tests run between
    /// the requests of a session.
    async fn fill(
        &self,
        session: &HoleSession<'_>,
        developer: &mut Developer,
        samples: &[MissingSample],
        progress: &PhaseProgress<'_>,
    ) -> Result<(), PlayError> {
        for sample in samples {
            session.configure_sample(developer, sample).await?;
            let mut sample = MissingSample {
                earlier: sample.earlier.clone(),
                ..*sample
            };
            // A resumed sample starts at its missing round, with the attempt of the round before.
            loop {
                let reply = session.ask(developer, sample.earlier.take()).await?;
                let attempt = self.judge_and_store(session.site, &sample, reply)?;
                // Flaky tests and infrastructure failures are no feedback on the code, so they end
                // the sample.
                if !attempt.is_repairable() || sample.repair_round == self.parameters.repair_rounds
                {
                    break;
                }
                sample.repair_round += 1;
                sample.earlier = Some(earlier_attempt(&attempt));
            }
            progress.advance(1);
        }
        Ok(())
    }

    /// Types the reference under a policy, judges the accepted completions and stores the session.
    /// If the model fails, nothing is stored.
    async fn type_in(
        &self,
        session: &HoleSession<'_>,
        developer: &mut Developer,
        policy: &Policy,
    ) -> Result<(), PlayError> {
        let Some(settings) = self.parameters.developer else {
            return Ok(());
        };
        let (site, hole) = (session.site, session.site.hole);
        let typed = session.type_reference(developer, &settings.typing, policy);
        let TypedReference {
            mut session,
            configuration,
        } = match typed.await {
            Ok(typed) => typed,
            Err(TypingFailure::Session(error)) => return Err(error.into()),
            Err(TypingFailure::Model(reason)) => return self.failures.count(hole, &reason),
        };
        self.failures.reset();
        for index in requests_to_judge(&session.requests) {
            let request = &session.requests[index];
            // The tests get the file as it is right after the acceptance: the typed part and the
            // completion.
            let completion = [
                &hole.reference[..request.written],
                request.text().unwrap_or_default(),
            ]
            .concat();
            let overlap = site.overlap(&completion);
            let verdict = self.judge.judge(site, &completion, overlap)?;
            session.requests[index].outcome = Some(verdict.outcome);
        }
        self.recorder.add_typing(TypingAttempt {
            key: self.parameters.typing_key(hole, policy),
            hole: hole.id.clone(),
            project: hole.project.clone(),
            model: self.parameters.subject.name.clone(),
            configuration,
            policy: policy.name(),
            policy_version: policy.version(),
            session,
        })?;
        Ok(())
    }

    /// Judges a reply and stores the attempt.
    fn judge_and_store(
        &self,
        site: &HoleSite<'_>,
        sample: &MissingSample,
        reply: CompletionReply,
    ) -> Result<Attempt, PlayError> {
        let hole = site.hole;
        let shown = reply.candidates.first();
        let completion = shown.map(String::as_str).unwrap_or_default();
        let overlap = site.overlap(completion);
        let verdict = match reply.trace.as_ref().and_then(|it| it.fault.as_ref()) {
            // A failed request is the model's, not a wrong completion: it must not count as a
            // failed test.
            Some(fault) => {
                self.failures.count(hole, fault)?;
                Verdict::infrastructure(fault)
            }
            None => {
                self.failures.reset();
                self.judge.judge(site, completion, overlap)?
            }
        };
        let overlap = overlap.to_owned();
        let repair_round = sample.repair_round;
        let attempt = Attempt {
            key: self
                .parameters
                .attempt_key(hole, sample.number, repair_round),
            hole: hole.id.clone(),
            project: hole.project.clone(),
            model: self.parameters.subject.name.clone(),
            sample: sample.number,
            repair_round,
            answered: reply.answered,
            // A scripted latency replaces the measured one, so that reruns have equal figures.
            latency_ms: self
                .parameters
                .scripted_latency()
                .unwrap_or(reply.latency.as_secs_f64() * 1000.0),
            offered: reply.candidates,
            overlap,
            trace: reply.trace,
            verdict,
        };
        // An attempt that is stored is never audited again, so it is stored last.
        if let Some(audit) = self.judge.audit(site, &attempt)? {
            self.recorder.run().add_audit(&audit)?;
        }
        self.recorder.add_attempt(&attempt)?;
        Ok(attempt)
    }
}

/// The predictions for a job's samples, each as if a server had offered it, or nothing where they
/// lack one.
fn verbatim_replies<'j>(
    texts: &'j VerbatimCompletions,
    job: &'j HoleJob<'_>,
) -> impl Iterator<Item = (&'j MissingSample, Option<CompletionReply>)> {
    let texts = texts.get(&job.hole.id).map_or(&[][..], Vec::as_slice);
    job.samples.iter().map(|sample| {
        let text = texts.get(sample.number as usize);
        (sample, text.map(|text| verbatim_reply(text)))
    })
}

/// A prediction as if a server had offered it; it has no latency.
fn verbatim_reply(text: &str) -> CompletionReply {
    CompletionReply {
        candidates: vec![text.to_owned()],
        latency: Duration::ZERO,
        answered: false,
        trace: None,
        commands: Vec::new(),
    }
}
