//! The attempts of a run: a developer at each hole, and the tests' verdict.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fillrate_server::context::Earlier;
use fillrate_server::syntax::Language;
use fillrate_server::text::ByteOffset;
use serde_json::{Value, json};

use super::super::progress::Progress;
use super::super::projects::{Playable, UNTESTED};
use super::super::{CliError, audit};
use super::contestant::{Contestant, SETTINGS, Verbatim};
use super::typing::{Broken, Keyboard, to_judge};
use crate::corpus::tree;
use crate::developer::policy::Policy;
use crate::developer::typing::{self, Pace, Scene};
use crate::developer::{Developer, DeveloperError, Offer, Server};
use crate::mine::contexts::Shown;
use crate::store::{Attempt, Behaviour, Run, Typing};
use crate::task::{Hole, sha256_hex};
use crate::verdict::{Outcome, Verdict};

/// A replay under way.
pub(super) struct Replay<'a> {
    /// How many completions are asked for at each hole; as many as there are if nothing.
    samples: Option<u32>,
    /// How many failing answers of its own the model is told of at most.
    rounds: u32,
    /// How long the developer waits for one.
    patience: Duration,
    contestant: &'a Contestant,
    answers: Answers<'a>,
    /// How the holes are typed, where they are.
    typed: Option<&'a Behaviour>,
    ready: BTreeMap<&'a str, &'a Playable>,
    run: Mutex<Run>,
    /// The store that notes what becomes of completions; nothing notes nothing.
    telemetry: Option<PathBuf>,
    /// Attempts in a row that found no model.
    faults: AtomicUsize,
    /// What ends the run before its time.
    stop: Mutex<Option<CliError>>,
}

/// Where the completions of a replay come from.
pub(super) enum Answers<'a> {
    /// They are given, and are judged as they stand: no server is asked.
    Verbatim(Verbatim),
    /// A server is shown the holes: by their ids, how.
    Server(&'a HashMap<String, Shown>),
}

/// What is left to do at one hole.
struct Errand<'a> {
    hole: &'a Hole,
    /// Samples that are missing, or lack a round.
    samples: Vec<Sample>,
    /// Policies under which it was not typed.
    policies: Vec<&'a Policy>,
}

/// A sample that is not done.
struct Sample {
    number: u32,
    /// The round that is missing.
    round: u32,
    /// What the model answered in the round before, and what came of it.
    earlier: Option<Earlier>,
}

impl<'a> Replay<'a> {
    /// A replay of these projects into a run.
    pub(super) fn new(
        samples: Option<u32>,
        rounds: u32,
        patience: Duration,
        contestant: &'a Contestant,
        answers: Answers<'a>,
        ready: &'a [Playable],
        run: Run,
    ) -> Self {
        Self {
            samples,
            rounds,
            patience,
            contestant,
            answers,
            typed: None,
            ready: ready
                .iter()
                .map(|ready| (ready.prepared.project.name.as_str(), ready))
                .collect(),
            run: Mutex::new(run),
            telemetry: None,
            faults: AtomicUsize::new(0),
            stop: Mutex::new(None),
        }
    }

    /// The same with a developer who also types what stood in the holes.
    pub(super) fn typing(self, typed: Option<&'a Behaviour>) -> Self {
        Self { typed, ..self }
    }

    /// The same replay with what becomes of completions noted in a store.
    pub(super) fn noting(self, telemetry: Option<PathBuf>) -> Self {
        Self { telemetry, ..self }
    }

    /// Makes the attempts that are missing, and gives the run back.
    pub(super) fn play(self, holes: &[Hole], jobs: usize) -> Result<Run, CliError> {
        let errands = self.errands(holes)?;
        let policies = self.typed.map_or(0, |typed| typed.policies.len());
        let all = holes
            .iter()
            .map(|hole| self.samples(hole) as usize + policies)
            .sum();
        let missing: usize = errands
            .iter()
            .map(|errand| errand.samples.len() + errand.policies.len())
            .sum();
        let done = AtomicUsize::new(all - missing);
        let queue = Mutex::new(VecDeque::from(errands));
        let progress = Progress::of(format!("replaying {}", self.contestant.name));
        progress.at(all - missing, all);
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    let mut desk = Desk::default();
                    loop {
                        let Some(errand) = lock(&queue).pop_front() else {
                            break;
                        };
                        let outcome = self.run_errand(&errand, &mut desk, || {
                            progress.at(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                        });
                        if let Err(error) = outcome {
                            lock(&self.stop).get_or_insert(error);
                        }
                        if lock(&self.stop).is_some() {
                            break;
                        }
                    }
                });
            }
        });
        drop(progress);
        match lock(&self.stop).take() {
            Some(error) => Err(error),
            None => Ok(self
                .run
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// How many completions there are to be at a hole.
    fn samples(&self, hole: &Hole) -> u32 {
        let given = match &self.answers {
            Answers::Verbatim(texts) => texts.get(&hole.id),
            Answers::Server(_) => None,
        };
        let given = given.map(|texts| u32::try_from(texts.len()).unwrap_or(u32::MAX));
        match (self.samples, given) {
            (Some(wanted), Some(given)) => wanted.min(given),
            (Some(wanted), None) => wanted,
            (None, given) => given.unwrap_or(1),
        }
    }

    fn errands<'h>(&'h self, holes: &'h [Hole]) -> Result<Vec<Errand<'h>>, CliError> {
        // What the machinery spoiled is tried again.
        let done: HashMap<String, Attempt> = lock(&self.run)
            .attempts()?
            .into_iter()
            .filter(|attempt| attempt.verdict.outcome != Outcome::Infrastructure)
            .map(|attempt| (attempt.key.clone(), attempt))
            .collect();
        let typed: HashSet<String> = lock(&self.run)
            .typings()?
            .into_iter()
            .filter(|typing| !typing.is_spoiled())
            .map(|typing| typing.key)
            .collect();
        let policies = self.typed.map_or(&[][..], |typed| &typed.policies);
        let errands = holes.iter().map(|hole| Errand {
            hole,
            samples: (0..self.samples(hole))
                .filter_map(|number| self.missing(hole, number, &done))
                .collect(),
            policies: policies
                .iter()
                .filter(|policy| !typed.contains(&self.typing_key(hole, policy)))
                .collect(),
        });
        Ok(errands
            .filter(|errand| !errand.samples.is_empty() || !errand.policies.is_empty())
            .collect())
    }

    /// The first round of a sample that is not done, if there is one to come.
    fn missing(&self, hole: &Hole, number: u32, done: &HashMap<String, Attempt>) -> Option<Sample> {
        let mut earlier = None;
        for round in 0..=self.rounds {
            let Some(attempt) = done.get(&self.key(hole, number, round)) else {
                return Some(Sample {
                    number,
                    round,
                    earlier,
                });
            };
            if !attempt.can_be_mended() {
                return None;
            }
            earlier = Some(earlier_of(attempt));
        }
        None
    }

    /// The hash of all that an attempt depends on. What a round is told follows from the rounds
    /// before it, which depend on the same.
    fn key(&self, hole: &Hole, sample: u32, round: u32) -> String {
        let mut parts = self.parts(hole, sample);
        if let Some(latency) = self.scripted_latency() {
            parts.push(json!({"latency": latency}));
        }
        if round > 0 {
            parts.push(json!({"round": round}));
        }
        hash(parts)
    }

    /// How long every answer takes, in milliseconds, where that is not measured.
    fn scripted_latency(&self) -> Option<f64> {
        self.typed?.hands.latency_ms
    }

    /// The hash of all that a typing depends on.
    fn typing_key(&self, hole: &Hole, policy: &Policy) -> String {
        let mut parts = self.parts(hole, 0);
        parts.push(json!({
            "policy": policy,
            "version": policy.version(),
            "hands": self.typed.map(|typed| &typed.hands),
        }));
        hash(parts)
    }

    /// What all that is done at a hole depends on.
    fn parts(&self, hole: &Hole, sample: u32) -> Vec<Value> {
        let judge = self
            .ready
            .get(hole.project.as_str())
            .and_then(|ready| Some(ready.judge.as_ref()?.key()));
        let mut parts = vec![
            json!(hole.id),
            json!(hole.file_sha256),
            json!(self.contestant.name),
            json!(self.contestant.configuration),
            json!(sample),
            json!(judge),
            json!(self.patience.as_secs()),
        ];
        if let Some(paper) = self.contestant.paper {
            parts.push(json!(paper.name()));
        }
        parts
    }

    /// Does one errand: a fresh server, so that no hole knows of another, and an attempt for each
    /// missing sample and round.
    fn run_errand(
        &self,
        errand: &Errand<'_>,
        desk: &mut Desk,
        progress: impl Fn(),
    ) -> Result<(), CliError> {
        let hole = errand.hole;
        let Some(ready) = self.ready.get(hole.project.as_str()) else {
            return Ok(());
        };
        let contents = ready
            .files
            .iter()
            .find(|file| file.path == hole.path)
            .map(|file| file.contents.as_str())
            .unwrap_or_default();
        let (prefix, suffix) = hole.cut(contents)?;
        match &self.answers {
            Answers::Verbatim(texts) => {
                let texts = texts.get(&hole.id).map_or(&[][..], Vec::as_slice);
                for sample in &errand.samples {
                    if let Some(text) = texts.get(sample.number as usize) {
                        self.keep(ready, hole, contents, sample, verbatim(text))?;
                    }
                    progress();
                }
                Ok(())
            }
            Answers::Server(shown) => {
                let Some(shown) = shown.get(&hole.id) else {
                    return Ok(());
                };
                let workspace = desk.show(ready, hole, &[prefix, suffix].concat())?;
                let done = desk.runtime()?.block_on(async {
                    if !errand.samples.is_empty() {
                        self.converse(ready, errand, contents, &workspace, shown, &progress)
                            .await?;
                    }
                    for policy in &errand.policies {
                        self.type_in(ready, hole, policy, contents, &workspace, shown)
                            .await?;
                        progress();
                    }
                    Ok(())
                });
                desk.put_back(ready, hole)?;
                done
            }
        }
    }

    /// Judges an offer and keeps the attempt.
    fn keep(
        &self,
        ready: &Playable,
        hole: &Hole,
        contents: &str,
        sample: &Sample,
        offer: Offer,
    ) -> Result<Attempt, CliError> {
        let verdict = self.verdict(ready, hole, contents, &offer)?;
        let attempt = Attempt {
            key: self.key(hole, sample.number, sample.round),
            hole: hole.id.clone(),
            project: hole.project.clone(),
            model: self.contestant.name.clone(),
            sample: sample.number,
            round: sample.round,
            answered: offer.answered,
            latency_ms: self
                .scripted_latency()
                .unwrap_or(offer.latency.as_secs_f64() * 1000.0),
            offered: offer.candidates,
            trace: offer.trace,
            verdict,
        };
        lock(&self.run).add_attempt(&attempt)?;
        self.audit(ready, hole, contents, &attempt)?;
        Ok(attempt)
    }

    /// How the language server is started.
    fn server(&self) -> Result<Server, CliError> {
        let folder = lock(&self.run).folder().to_owned();
        let settings =
            std::path::absolute(folder.join(SETTINGS)).map_err(CliError::file(&folder))?;
        Ok(Server {
            // This very program, even where its file has been replaced since it was started.
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec![
                "serve".to_owned(),
                "--config".to_owned(),
                settings.display().to_string(),
            ],
            patience: Duration::from_secs(120),
            telemetry: self.telemetry.clone(),
        })
    }

    /// Has the developer type what stood in a hole, with a server that knows of nothing before,
    /// and judges what was accepted. What the model's faults spoil is left to be done again.
    async fn type_in(
        &self,
        ready: &Playable,
        hole: &Hole,
        policy: &Policy,
        contents: &str,
        workspace: &Path,
        shown: &Shown,
    ) -> Result<(), CliError> {
        let Some(Behaviour { hands, .. }) = self.typed else {
            return Ok(());
        };
        let Shown { prefix, suffix, .. } = shown;
        let mut developer = Developer::start(&self.server()?, workspace).await?;
        if hands.pace == Pace::Virtual {
            // Its wait for the next key is counted, not served.
            developer
                .configure(&json!({"typing": {"wait_ms": 0}}))
                .await?;
        }
        let language = Language::for_path(Path::new(&hole.path)).map_or("", |language| language.id);
        let cut = [prefix.as_str(), suffix].concat();
        let path = workspace.join(&hole.path);
        let buffer = developer.open(&path, language, &cut).await?;
        let mut keyboard = Keyboard {
            developer: &mut developer,
            buffer,
            given: self.contestant.given(hole, shown, None),
            configuration: String::new(),
            noted: self.telemetry.is_some().then(Vec::new),
        };
        let scene = Scene {
            hole: &hole.id,
            prefix,
            suffix,
            reference: &hole.reference,
            wait_ms: self.contestant.configuration.typing.wait_ms,
            patience: self.patience,
        };
        let mut session = match typing::play(&mut keyboard, scene, hands, policy).await {
            Ok(session) => session,
            Err(Broken::Developer(error)) => return Err(error.into()),
            Err(Broken::Fault(fault)) => return self.note_fault(&fault),
        };
        self.faults.store(0, Ordering::Relaxed);
        let (buffer, configuration) = (keyboard.buffer, keyboard.configuration);
        if buffer.contents() != [prefix.as_str(), &hole.reference, suffix].concat() {
            return Err(DeveloperError::Garbled(format!(
                "{}: the editor shows something else than what was typed",
                hole.id
            ))
            .into());
        }
        developer.close(buffer).await?;
        developer.leave().await?;
        for index in to_judge(&session.requests) {
            let request = &session.requests[index];
            let completion = [
                &hole.reference[..request.written],
                request.text().unwrap_or_default(),
            ]
            .concat();
            let filled = hole.filled(contents, &completion)?;
            session.requests[index].outcome = Some(judge(ready, hole, &filled).outcome);
        }
        let typing = Typing {
            key: self.typing_key(hole, policy),
            hole: hole.id.clone(),
            project: hole.project.clone(),
            model: self.contestant.name.clone(),
            configuration,
            policy: policy.name(),
            policy_version: policy.version(),
            session,
        };
        lock(&self.run).add_typing(&typing)?;
        Ok(())
    }

    /// Counts attempts in a row that found no model.
    ///
    /// # Errors
    /// There were too many.
    fn note_fault(&self, fault: &str) -> Result<(), CliError> {
        let faults = self.faults.fetch_add(1, Ordering::Relaxed) + 1;
        if faults >= FAULTS_IN_A_ROW {
            return Err(CliError::Refused(format!(
                "the model {} gave no answer {faults} times in a row: {fault}; mend that and \
                 start the same command again, nothing that was done is lost",
                self.contestant.name
            )));
        }
        Ok(())
    }

    /// Plays the developer at one hole. The tests are waited for in between: nothing else goes on
    /// in the conversation.
    async fn converse(
        &self,
        ready: &Playable,
        errand: &Errand<'_>,
        contents: &str,
        workspace: &Path,
        shown: &Shown,
        progress: impl Fn(),
    ) -> Result<(), CliError> {
        let hole = errand.hole;
        let mut developer = Developer::start(&self.server()?, workspace).await?;
        let seed = self.contestant.configuration.model.seed;
        for sample in &errand.samples {
            if self.samples(hole) > 1 {
                let seed = seed + u64::from(sample.number);
                developer
                    .configure(&json!({"model": {"seed": seed}}))
                    .await?;
            }
            let mut sample = Sample {
                earlier: sample.earlier.clone(),
                ..*sample
            };
            loop {
                let path = workspace.join(&hole.path);
                let earlier = sample.earlier.take();
                let offer = self
                    .ask(&mut developer, hole, &path, shown, earlier)
                    .await?;
                let attempt = self.keep(ready, hole, contents, &sample, offer)?;
                if !attempt.can_be_mended() || sample.round == self.rounds {
                    break;
                }
                sample.round += 1;
                sample.earlier = Some(earlier_of(&attempt));
            }
            progress();
        }
        developer.leave().await?;
        Ok(())
    }

    /// Opens the hole's file, asks for a completion and takes it.
    async fn ask(
        &self,
        developer: &mut Developer,
        hole: &Hole,
        path: &Path,
        shown: &Shown,
        earlier: Option<Earlier>,
    ) -> Result<Offer, CliError> {
        let Shown { prefix, suffix, .. } = shown;
        let language = Language::for_path(Path::new(&hole.path)).map_or("", |language| language.id);
        let cursor = ByteOffset(prefix.len());
        let given = self.contestant.given(hole, shown, earlier);
        let cut = [prefix.as_str(), suffix].concat();
        let mut buffer = developer.open(path, language, &cut).await?;
        let offer = developer.ask(&buffer, cursor, self.patience, given).await?;
        if let Some(text) = offer.candidates.first() {
            developer.accept(&mut buffer, cursor, text).await?;
            if let Some(command) = offer.commands.first().filter(|_| self.telemetry.is_some()) {
                developer.run(command).await?;
            }
            // What the editor shows is what the tests are given.
            if buffer.contents() != [prefix.as_str(), text, suffix].concat() {
                return Err(DeveloperError::Garbled(format!(
                    "{}: the editor shows something else than the completion in its place",
                    hole.id
                ))
                .into());
            }
        }
        developer.close(buffer).await?;
        Ok(offer)
    }

    /// Judges a small share of all attempts again in the slow way.
    fn audit(
        &self,
        ready: &Playable,
        hole: &Hole,
        contents: &str,
        attempt: &Attempt,
    ) -> Result<(), CliError> {
        let evidence = attempt.verdict.outcome != Outcome::Infrastructure;
        if evidence
            && let Some(judge) = &ready.judge
            && audit::chosen(&attempt.key, audit::CONTINUOUS, 0)
        {
            let filled = hole.filled(contents, attempt.completion())?;
            let audit = audit::judge_again(judge, attempt, hole, &filled)?;
            lock(&self.run).add_audit(&audit)?;
        }
        Ok(())
    }

    fn verdict(
        &self,
        ready: &Playable,
        hole: &Hole,
        contents: &str,
        offer: &Offer,
    ) -> Result<Verdict, CliError> {
        if let Some(fault) = offer.trace.as_ref().and_then(|trace| trace.fault.as_ref()) {
            self.note_fault(fault)?;
            return Ok(Verdict::infrastructure(fault));
        }
        self.faults.store(0, Ordering::Relaxed);
        let completion = offer
            .candidates
            .first()
            .map(String::as_str)
            .unwrap_or_default();
        let filled = hole.filled(contents, completion)?;
        Ok(judge(ready, hole, &filled))
    }
}

/// What a project's tests say of a hole's file as it stands.
fn judge(ready: &Playable, hole: &Hole, filled: &str) -> Verdict {
    let Some(judge) = &ready.judge else {
        return Verdict {
            reason: UNTESTED.to_owned(),
            ..Verdict::from_outcome(Outcome::Unjudged)
        };
    };
    judge
        .judge(&hole.path, filled, &hole.tests)
        .unwrap_or_else(|error| Verdict::infrastructure(&error))
}

fn hash(parts: Vec<Value>) -> String {
    sha256_hex(Value::Array(parts).to_string().as_bytes())
}

/// A prediction as if it had been offered; no time was measured.
fn verbatim(text: &str) -> Offer {
    Offer {
        candidates: vec![text.to_owned()],
        latency: Duration::ZERO,
        answered: false,
        trace: None,
        commands: Vec::new(),
    }
}

/// What the model is told of an attempt of its own that failed.
fn earlier_of(attempt: &Attempt) -> Earlier {
    Earlier {
        completion: attempt.completion().to_owned(),
        feedback: attempt.verdict.feedback(),
    }
}

/// A worker's own place: a copy of each project it works on, as the server is to see it.
#[derive(Default)]
struct Desk {
    copies: HashMap<String, tempfile::TempDir>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Desk {
    fn runtime(&mut self) -> Result<&tokio::runtime::Runtime, CliError> {
        if self.runtime.is_none() {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(CliError::file("the runtime"))?;
            self.runtime = Some(runtime);
        }
        self.runtime
            .as_ref()
            .ok_or_else(|| CliError::Refused("the runtime is gone".to_owned()))
    }

    /// The workspace folder with the hole cut out of its file: the server never sees it filled.
    fn show(&mut self, ready: &Playable, hole: &Hole, cut: &str) -> Result<PathBuf, CliError> {
        let name = &ready.prepared.project.name;
        if !self.copies.contains_key(name) {
            let folder = tempfile::tempdir().map_err(CliError::file(std::env::temp_dir()))?;
            tree::materialise(&ready.prepared, &folder.path().join(name))?;
            self.copies.insert(name.clone(), folder);
        }
        // The folder has the project's name: models are told it.
        let workspace = self.copies[name].path().join(name);
        let path = workspace.join(&hole.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(CliError::file(folder))?;
        }
        std::fs::write(&path, cut).map_err(CliError::file(&path))?;
        Ok(workspace)
    }

    fn put_back(&self, ready: &Playable, hole: &Hole) -> Result<(), CliError> {
        let name = &ready.prepared.project.name;
        if let Some(folder) = self.copies.get(name) {
            let path = folder.path().join(name).join(&hole.path);
            if ready.prepared.project.hidden.matches(&hole.path) {
                std::fs::remove_file(&path).map_err(CliError::file(&path))?;
            } else {
                let source = ready.prepared.source.join(&hole.path);
                std::fs::copy(&source, &path).map_err(CliError::file(&path))?;
            }
        }
        Ok(())
    }
}

/// How many attempts in a row may find no model before the run is stopped.
const FAULTS_IN_A_ROW: usize = 4;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
