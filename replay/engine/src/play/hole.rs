//! Replays one hole at a time: the session with the server, the verdict, the record.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fillrate_language::task::{Hole, TaskError};
use fillrate_mine::contexts::HoleView;
use fillrate_server::context::EarlierAttempt;
use fillrate_syntax::text::ByteOffset;
use fillrate_syntax::{CompletionExtent, Language};
use fillrate_verdict::queue::run_jobs;
use fillrate_verdict::{Judge, Outcome, Verdict};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::editor::{ServerEditor, TypingFailure, requests_to_judge};
use super::events::{Event, Listener, Phase, PhaseProgress};
use super::permits::WorkerPermits;
use super::projects::{PlayableProject, UNTESTED};
use super::schedule::{
    CompletionSource, HoleJob, MissingSample, ReplayParameters, earlier_attempt,
};
use super::subject::{SERVER_SETTINGS, VerbatimCompletions};
use super::worker::ReplayWorker;
use super::{PlayError, audit};
use crate::developer::policy::Policy;
use crate::developer::typing::{HoleText, Pace, type_hole};
use crate::developer::{CompletionReply, Developer, DeveloperError, ServerCommand};
use crate::store::{Attempt, Run, TypingAttempt};

/// Replays the holes of one subject into its run.
pub(super) struct SubjectReplay<'a> {
    parameters: ReplayParameters<'a>,
    run: Mutex<Run>,
    listener: &'a dyn Listener,
    /// Requests in a row that the model failed.
    failures: AtomicUsize,
    permits: WorkerPermits,
    /// The most workers.
    workers: usize,
}

/// Number of successive requests that a model may fail before the run is stopped.
const MOST_FAILURES_IN_A_ROW: usize = 4;

/// Timeout for a language server to start and to index a repository.
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(120);

/// Upper limit for the wait before a retry, also for a server's `Retry-After`.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);

/// A hole with the file and project that a job works on.
struct HoleSite<'a> {
    hole: &'a Hole,
    project: &'a PlayableProject,
    /// The file with the reference in it.
    contents: &'a str,
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
        let connections = connections.filter(|_| is_asked);
        Self {
            permits: WorkerPermits::new(connections.unwrap_or(jobs), jobs),
            // One worker per connection, plus those that are judging.
            workers: connections.map_or(jobs, |connections| connections + jobs),
            parameters,
            run: Mutex::new(run),
            listener,
            failures: AtomicUsize::new(0),
        }
    }

    /// Makes the attempts that are missing and returns the run.
    ///
    /// # Errors
    /// A server, the sandbox or the database fails, or the model fails several times in a row.
    pub(super) fn play(self, holes: &[Hole]) -> Result<Run, PlayError> {
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
        drop(progress);
        let workers = self.workers.min(jobs.len());
        drop(jobs);
        self.finish(played.map(drop), workers)
    }

    /// Returns the attempts that each hole lacks.
    pub(super) fn missing_jobs<'h>(
        &'h self,
        holes: &'h [Hole],
    ) -> Result<Vec<HoleJob<'h>>, PlayError> {
        let run = self.run.lock();
        let (attempts, typings) = (run.attempts()?, run.typings()?);
        Ok(self.parameters.missing_jobs(holes, attempts, typings))
    }

    /// Returns the number of samples and typings of all holes.
    pub(super) fn total(&self, holes: &[Hole]) -> usize {
        self.parameters.total(holes)
    }

    /// The run as it is until now.
    pub(super) fn with_run<T>(&self, read: impl FnOnce(&Run) -> T) -> T {
        read(&self.run.lock())
    }

    /// Records where the time of the workers went, and returns the run.
    ///
    /// # Errors
    /// An attempt failed, or the database does.
    pub(super) fn finish(
        self,
        played: Result<(), PlayError>,
        workers: usize,
    ) -> Result<Run, PlayError> {
        let recorded = self
            .report_slow_paths()
            .and_then(|()| self.tell_time(workers));
        if played.is_err() {
            // A part keeps what it made before the error.
            self.run.lock().write_segment()?;
        }
        played?;
        recorded?;
        Ok(self.run.into_inner())
    }

    /// Records and reports the shortcuts to verdicts that failed.
    fn report_slow_paths(&self) -> Result<(), PlayError> {
        for (name, project) in &self.parameters.projects {
            let judge = project.judge.as_ref();
            let reasons = judge.map(Judge::slow_paths).unwrap_or_default();
            if reasons.is_empty() {
                continue;
            }
            self.run.lock().add_slow_paths(name, &reasons)?;
            for reason in reasons {
                self.listener.receive(&Event::SlowPath {
                    project: (*name).to_owned(),
                    reason,
                });
            }
        }
        Ok(())
    }

    /// Records the time spent by the given number of workers, and reports it.
    fn tell_time(&self, workers: usize) -> Result<(), PlayError> {
        if workers == 0 {
            return Ok(());
        }
        let spent = self.permits.spent(workers);
        let run = self.run.lock();
        run.add_time_spent(&spent)?;
        self.listener.receive(&Event::TimeSpent {
            model: self.parameters.subject.name.clone(),
            context: self.parameters.subject.context_name(),
            workers,
            spent,
        });
        Ok(())
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
                self.with_cut_file(&site, presented, worker, |worker, workspace, shown| {
                    self.run_sessions(&site, job, worker, workspace, shown, progress)
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
        self.with_cut_file(&site, presented, worker, |worker, workspace, shown| {
            let command = self.server_command()?;
            let path = workspace.join(&site.hole.path);
            let mut replies = Vec::new();
            if !job.samples.is_empty() {
                replies = worker.run_session(&command, workspace, &path, async |developer| {
                    let mut replies = Vec::new();
                    for sample in &job.samples {
                        self.configure_sample(developer, site.hole, sample).await?;
                        replies.push(self.ask(developer, site.hole, &path, shown, None).await?);
                    }
                    Ok(replies)
                })?;
            }
            for policy in &job.policies {
                worker.run_session(&command, workspace, &path, async |developer| {
                    self.type_in(developer, &site, policy, &path, shown).await
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
        self.with_cut_file(&site, presented, worker, |worker, workspace, shown| {
            let path = workspace.join(&hole.path);
            worker.run_session(
                &self.server_command()?,
                workspace,
                &path,
                async |developer| {
                    self.ask(developer, hole, &path, shown, None)
                        .await
                        .map(drop)
                },
            )
        })
    }

    /// The hole in its project.
    fn site<'s>(&'s self, hole: &'s Hole) -> Result<HoleSite<'s>, PlayError> {
        let project = *self
            .parameters
            .projects
            .get(hole.project.as_str())
            .ok_or_else(|| missing_file(hole))?;
        Ok(HoleSite {
            hole,
            project,
            contents: &project.source_file(hole)?.contents,
        })
    }

    /// Works in a copy of the project in which the hole is cut out of its file.
    fn with_cut_file<T>(
        &self,
        site: &HoleSite<'_>,
        presented: &HashMap<String, HoleView>,
        worker: &mut ReplayWorker,
        work: impl FnOnce(&mut ReplayWorker, &Path, &HoleView) -> Result<T, PlayError>,
    ) -> Result<T, PlayError> {
        let hole = site.hole;
        let shown = presented.get(&hole.id).ok_or_else(|| missing_file(hole))?;
        let cut = match self.parameters.subject.paper {
            // A paper's text is not that of a file of the project.
            Some(_) => {
                let (prefix, suffix) = hole.cut(site.contents)?;
                [prefix, suffix].concat()
            }
            None => [shown.prefix.as_str(), &shown.suffix].concat(),
        };
        let workspace = worker.write_cut_file(site.project, hole, &cut)?;
        let done = work(worker, &workspace, shown);
        worker.restore_file(site.project, hole)?;
        done
    }

    /// Runs the sessions of one hole: one for its samples, one for each policy.
    fn run_sessions(
        &self,
        site: &HoleSite<'_>,
        job: &HoleJob<'_>,
        worker: &mut ReplayWorker,
        workspace: &Path,
        shown: &HoleView,
        progress: &PhaseProgress<'_>,
    ) -> Result<(), PlayError> {
        let command = self.server_command()?;
        let path = workspace.join(&site.hole.path);
        if !job.samples.is_empty() {
            let began = Instant::now();
            worker.run_session(&command, workspace, &path, async |developer| {
                self.permits
                    .add(|spent| &mut spent.servers, began.elapsed());
                self.fill(developer, site, &job.samples, &path, shown, progress)
                    .await
            })?;
        }
        for policy in &job.policies {
            let began = Instant::now();
            worker.run_session(&command, workspace, &path, async |developer| {
                self.permits
                    .add(|spent| &mut spent.servers, began.elapsed());
                self.type_in(developer, site, policy, &path, shown).await
            })?;
            progress.advance(1);
        }
        Ok(())
    }

    /// Requests the missing samples of a hole, each with its repair rounds. The tests run between
    /// the requests of a session.
    async fn fill(
        &self,
        developer: &mut Developer,
        site: &HoleSite<'_>,
        samples: &[MissingSample],
        path: &Path,
        shown: &HoleView,
        progress: &PhaseProgress<'_>,
    ) -> Result<(), PlayError> {
        for sample in samples {
            self.configure_sample(developer, site.hole, sample).await?;
            let mut sample = MissingSample {
                earlier: sample.earlier.clone(),
                ..*sample
            };
            loop {
                let earlier = sample.earlier.take();
                let reply = self.ask(developer, site.hole, path, shown, earlier).await?;
                let attempt = self.judge_and_store(site, &sample, reply)?;
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

    /// Changes the server's settings to those of one of a hole's samples.
    async fn configure_sample(
        &self,
        developer: &mut Developer,
        hole: &Hole,
        sample: &MissingSample,
    ) -> Result<(), DeveloperError> {
        let mut settings = self.hole_settings(hole);
        if self.parameters.samples_at(hole) > 1 {
            let seed = self.parameters.subject.configuration.model.seed;
            let seed = seed + u64::from(sample.number);
            settings.insert("model".to_owned(), json!({"seed": seed}));
        }
        configure(developer, settings).await
    }

    /// Requests a completion once a permit is free, and repeats the request after the server's
    /// `Retry-After`, if it sends one.
    async fn ask(
        &self,
        developer: &mut Developer,
        hole: &Hole,
        path: &Path,
        shown: &HoleView,
        earlier: Option<EarlierAttempt>,
    ) -> Result<CompletionReply, PlayError> {
        loop {
            let permit = self.permits.asking.take();
            let began = Instant::now();
            let reply = self
                .request_completion(developer, hole, path, shown, earlier.clone())
                .await?;
            drop(permit);
            self.permits.add(|spent| &mut spent.models, began.elapsed());
            let retry_after = reply.trace.as_ref().and_then(|trace| trace.retry_after_ms);
            let Some(retry_after) = retry_after else {
                return Ok(reply);
            };
            self.listener.receive(&Event::ModelBusy {
                model: self.parameters.subject.name.clone(),
                hole: hole.id.clone(),
                seconds: retry_after / 1000.0,
            });
            let pause =
                Duration::try_from_secs_f64(retry_after / 1000.0).unwrap_or(LONGEST_RETRY_AFTER);
            self.permits.asking.pause(pause.min(LONGEST_RETRY_AFTER));
        }
    }

    /// Opens the hole's file, requests a completion and accepts it.
    async fn request_completion(
        &self,
        developer: &mut Developer,
        hole: &Hole,
        path: &Path,
        shown: &HoleView,
        earlier: Option<EarlierAttempt>,
    ) -> Result<CompletionReply, PlayError> {
        let HoleView { prefix, suffix, .. } = shown;
        let cursor = ByteOffset(prefix.len());
        let given = self.parameters.subject.given(hole, shown, earlier);
        let cut = [prefix.as_str(), suffix].concat();
        let mut file = developer.open(path, language_id(hole), &cut).await?;
        let reply = developer
            .request_completion(&file, cursor, self.parameters.request_timeout, given)
            .await?;
        if let Some(text) = reply.candidates.first() {
            developer.accept(&mut file, cursor, text).await?;
            if let Some(command) = reply
                .commands
                .first()
                .filter(|_| self.parameters.telemetry.is_some())
            {
                developer.run_command(command).await?;
            }
            // The tests get what the editor shows.
            check_contents(hole, &file.contents(), &[prefix.as_str(), text, suffix])?;
        }
        developer.close(file).await?;
        Ok(reply)
    }

    /// Types the reference under a policy, judges the accepted completions and stores the session.
    /// If the model fails, nothing is stored.
    async fn type_in(
        &self,
        developer: &mut Developer,
        site: &HoleSite<'_>,
        policy: &Policy,
        path: &Path,
        shown: &HoleView,
    ) -> Result<(), PlayError> {
        let Some(settings) = self.parameters.developer else {
            return Ok(());
        };
        let (hole, subject) = (site.hole, self.parameters.subject);
        let HoleView { prefix, suffix, .. } = shown;
        let mut server_settings = self.hole_settings(hole);
        if settings.typing.pace == Pace::Virtual {
            // The wait for the next key is counted and does not pass.
            server_settings.insert("typing".to_owned(), json!({"wait_ms": 0}));
        }
        configure(developer, server_settings).await?;
        let cut = [prefix.as_str(), suffix].concat();
        let file = developer.open(path, language_id(hole), &cut).await?;
        let mut editor = ServerEditor {
            developer: &mut *developer,
            file,
            given: subject.given(hole, shown, None),
            configuration: String::new(),
            accept_commands: self.parameters.telemetry.is_some().then(Vec::new),
        };
        let text = HoleText {
            id: &hole.id,
            prefix,
            suffix,
            reference: &hole.reference,
            wait_ms: subject.configuration.typing.wait_ms,
            timeout: self.parameters.request_timeout,
        };
        let permit = self.permits.asking.take();
        let began = Instant::now();
        let typed = type_hole(&mut editor, text, &settings.typing, policy).await;
        drop(permit);
        self.permits.add(|spent| &mut spent.models, began.elapsed());
        let mut session = match typed {
            Ok(session) => session,
            Err(TypingFailure::Session(error)) => return Err(error.into()),
            Err(TypingFailure::Model(reason)) => return self.count_model_failure(hole, &reason),
        };
        self.failures.store(0, Ordering::Relaxed);
        let (file, configuration) = (editor.file, editor.configuration);
        check_contents(hole, &file.contents(), &[prefix, &hole.reference, suffix])?;
        developer.close(file).await?;
        for index in requests_to_judge(&session.requests) {
            let request = &session.requests[index];
            let completion = [
                &hole.reference[..request.written],
                request.text().unwrap_or_default(),
            ]
            .concat();
            session.requests[index].outcome = Some(self.judge(site, &completion)?.outcome);
        }
        let typing = TypingAttempt {
            key: self.parameters.typing_key(hole, policy),
            hole: hole.id.clone(),
            project: hole.project.clone(),
            model: subject.name.clone(),
            configuration,
            policy: policy.name(),
            policy_version: policy.version(),
            session,
        };
        self.run.lock().add_typing(&typing)?;
        self.listener.receive(&Event::TypingFinished {
            key: typing.key,
            project: typing.project,
            hole: typing.hole,
            model: typing.model,
            policy: typing.policy,
            accepts: typing.session.keys.accepts,
        });
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
        let verdict = self.verdict(site, &reply)?;
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
            latency_ms: self
                .parameters
                .scripted_latency()
                .unwrap_or(reply.latency.as_secs_f64() * 1000.0),
            offered: reply.candidates,
            trace: reply.trace,
            verdict,
        };
        // An attempt that is stored is never audited again, so it is stored last.
        self.audit(site, &attempt)?;
        self.run.lock().add_attempt(&attempt)?;
        self.listener.receive(&Event::AttemptFinished {
            key: attempt.key.clone(),
            project: attempt.project.clone(),
            hole: attempt.hole.clone(),
            model: attempt.model.clone(),
            sample: attempt.sample,
            repair_round,
            answered: attempt.answered,
            latency_ms: attempt.latency_ms,
            outcome: attempt.verdict.outcome,
        });
        Ok(attempt)
    }

    fn verdict(&self, site: &HoleSite<'_>, reply: &CompletionReply) -> Result<Verdict, PlayError> {
        if let Some(fault) = reply.trace.as_ref().and_then(|trace| trace.fault.as_ref()) {
            self.count_model_failure(site.hole, fault)?;
            return Ok(Verdict::infrastructure(fault));
        }
        self.failures.store(0, Ordering::Relaxed);
        let completion = reply
            .candidates
            .first()
            .map(String::as_str)
            .unwrap_or_default();
        self.judge(site, completion)
    }

    /// Judges a completion once a permit is free.
    fn judge(&self, site: &HoleSite<'_>, completion: &str) -> Result<Verdict, PlayError> {
        let permit = self.permits.judging.take();
        let began = Instant::now();
        let verdict = site.judge(completion)?;
        drop(permit);
        self.permits
            .add_verdict(began.elapsed(), verdict.seconds, verdict.twin_seconds);
        Ok(verdict)
    }

    /// Audits a small share of all attempts while the run is made.
    fn audit(&self, site: &HoleSite<'_>, attempt: &Attempt) -> Result<(), PlayError> {
        if attempt.verdict.outcome == Outcome::Infrastructure
            || !audit::is_sampled(&attempt.key, audit::CONTINUOUS_SHARE, 0)
        {
            return Ok(());
        }
        if let Some(judge) = &site.project.judge {
            let filled = site.hole.filled(site.contents, attempt.completion())?;
            let _permit = self.permits.judging.take();
            let began = Instant::now();
            let record = audit::audit_attempt(judge, attempt, site.hole, &filled, self.listener)?;
            self.permits.add(|spent| &mut spent.audit, began.elapsed());
            self.run.lock().add_audit(&record)?;
        }
        Ok(())
    }

    /// Counts requests in a row that the model failed.
    ///
    /// # Errors
    /// There are too many.
    fn count_model_failure(&self, hole: &Hole, reason: &str) -> Result<(), PlayError> {
        let in_a_row = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        let model = &self.parameters.subject.name;
        self.listener.receive(&Event::ModelFailed {
            hole: hole.id.clone(),
            model: model.clone(),
            reason: reason.to_owned(),
            in_a_row,
        });
        if in_a_row >= MOST_FAILURES_IN_A_ROW {
            return Err(PlayError::Refused(format!(
                "the model {model} gave no answer {in_a_row} times in a row: {reason}; fix that \
                 and rerun the command, finished attempts are kept"
            )));
        }
        Ok(())
    }

    /// The server's settings at a hole that differ from the run's: the extent that the hole's
    /// benchmark asks for, unless the run's settings name one.
    fn hole_settings(&self, hole: &Hole) -> Map<String, Value> {
        let chosen = self.parameters.subject.configuration.cleanup.extent;
        let extent = hole
            .extent
            .filter(|_| chosen == CompletionExtent::default());
        extent
            .map(|extent| ("cleanup".to_owned(), json!({"extent": extent})))
            .into_iter()
            .collect()
    }

    /// Returns the command that starts the language server.
    fn server_command(&self) -> Result<ServerCommand, PlayError> {
        let folder = self.run.lock().folder().to_owned();
        let settings =
            std::path::absolute(folder.join(SERVER_SETTINGS)).map_err(PlayError::file(&folder))?;
        Ok(ServerCommand {
            // This very program, even if its file was replaced since it started.
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec![
                "serve".to_owned(),
                "--config".to_owned(),
                settings.display().to_string(),
            ],
            start_timeout: SERVER_START_TIMEOUT,
            telemetry: self.parameters.telemetry.clone(),
            // Its workspace is a copy that is removed afterwards.
            keeps_index: false,
        })
    }
}

impl HoleSite<'_> {
    /// Judges the file with a completion in its hole.
    fn judge(&self, completion: &str) -> Result<Verdict, TaskError> {
        let filled = self.hole.filled(self.contents, completion)?;
        let Some(judge) = &self.project.judge else {
            return Ok(Verdict {
                reason: UNTESTED.to_owned(),
                ..Verdict::from_outcome(Outcome::Unjudged)
            });
        };
        Ok(judge
            .judge(&self.hole.path, &filled, &self.hole.tests)
            .unwrap_or_else(|error| Verdict::infrastructure(&error)))
    }
}

/// Changes the server's settings, if there are any to change.
async fn configure(
    developer: &mut Developer,
    settings: Map<String, Value>,
) -> Result<(), DeveloperError> {
    if settings.is_empty() {
        return Ok(());
    }
    developer.configure(&Value::Object(settings)).await
}

/// The language's identifier in LSP.
fn language_id(hole: &Hole) -> &'static str {
    Language::for_path(Path::new(&hole.path)).map_or("", |language| language.id)
}

/// Compares what the editor shows with what it should show.
fn check_contents(hole: &Hole, shown: &str, expected: &[&str]) -> Result<(), DeveloperError> {
    if shown == expected.concat() {
        return Ok(());
    }
    Err(DeveloperError::Garbled(format!(
        "{}: the editor's text differs from what was inserted",
        hole.id
    )))
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

/// The error of a hole whose project or file is missing.
fn missing_file(hole: &Hole) -> TaskError {
    TaskError::OtherFile {
        id: hole.id.clone(),
        path: hole.path.clone(),
    }
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
