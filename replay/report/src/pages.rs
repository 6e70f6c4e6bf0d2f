//! The report as pages that a browser opens from the disk, with neither a server nor a network.
//!
//! The pages themselves are always the same and contain no data of a run. The data are in scripts
//! in a folder next to them. Each script passes one JSON text to `fillrate.put`, since a page from
//! the disk may load scripts and nothing else:
//!
//! | file | holds |
//! | --- | --- |
//! | `data/summary.js` | figures, counts and the runs' manifests: all of the first page |
//! | `data/plots.js` | the plots, as SVG, and the figures they draw |
//! | `data/flips.js` | the holes that one run has right and another has not |
//! | `data/holes.js` | all holes, column by column |
//! | `data/attempts-N.js` | [`SHARD`] attempts, column by column |
//! | `data/texts-N.js` | what they completed and why they ended so, for the search in texts |
//! | `data/files.js` | all files in which holes are, column by column |
//! | `data/file-N.js` | one of them, with its holes marked |
//! | `data/hole-N.js` | some holes with all that is known of their attempts |
//!
//! Everything that a person or a model wrote is hostile. It reaches a page only as a string of
//! such a text, which has no `<`, and is shown only as text; and the pages allow no script
//! but their own.

mod detail;
mod files;
mod plots;
mod summary;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use fillrate_engine::developer::gate::GateFit;
use fillrate_engine::store::{
    Attempt, AuditRecord, Run, StoreError, context_title, create_output_folder, expected_attempts,
};
use fillrate_language::task::Hole;
use fillrate_metrics::metric::{EM_CCEVAL, ES_CCEVAL_LEVENSHTEIN};
use fillrate_server::completion::Trace;
use fillrate_verdict::{Outcome, Proof};
use maud::html;
use serde::Serialize;
use serde_json::Value;

use self::files::MarkedFile;
use self::summary::GateFrontier;
use super::developers::DeveloperFigures;
use super::page::{Page, PageKind};
use super::scored::ScoredAttempt;

/// Number of attempts of a shard.
pub const SHARD: usize = 10_000;

/// About how many attempts one file describes in detail.
const ATTEMPTS_IN_DETAIL: usize = 60;

/// One of the report's pages.
struct ReportPage {
    /// Its file, with `.html`; its own script is the one of this name.
    name: &'static str,
    title: &'static str,
    /// True if every page links to it.
    in_navigation: bool,
}

const PAGES: [ReportPage; 8] = [
    ReportPage::new("index", "Overview"),
    ReportPage::new("plots", "Plots"),
    ReportPage::new("matrix", "Matrix"),
    ReportPage::new("attempts", "Attempts"),
    ReportPage::new("files", "Files"),
    ReportPage::new("flips", "Flips"),
    ReportPage::new("runs", "Runs"),
    ReportPage {
        in_navigation: false,
        ..ReportPage::new("hole", "Hole")
    },
];

/// Scripts and the style, by file.
const ASSETS: [(&str, &str); 11] = [
    ("style.css", include_str!("pages/style.css")),
    ("common.js", include_str!("pages/common.js")),
    ("table.js", include_str!("pages/table.js")),
    ("index.js", include_str!("pages/index.js")),
    ("plots.js", include_str!("pages/plots.js")),
    ("matrix.js", include_str!("pages/matrix.js")),
    ("attempts.js", include_str!("pages/attempts.js")),
    ("files.js", include_str!("pages/files.js")),
    ("flips.js", include_str!("pages/flips.js")),
    ("runs.js", include_str!("pages/runs.js")),
    ("hole.js", include_str!("pages/hole.js")),
];

/// Pages run their own scripts alone, from the disk too, and load nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; \
                      img-src 'self' file: data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'";

impl ReportPage {
    const fn new(name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            title,
            in_navigation: true,
        }
    }

    fn file(&self) -> String {
        format!("{}.html", self.name)
    }

    fn html(&self) -> String {
        let current = |page: &Self| (page.name == self.name).then_some("page");
        let page = Page {
            kind: PageKind::Report,
            title: &format!("{} – Fillrate", self.title),
            policy: POLICY,
            head: html! {
                link rel="icon" href="data:,";
                link rel="stylesheet" href="style.css";
                script src="common.js" {}
                script src="table.js" defer {}
                script src={ (self.name) ".js" } defer {}
            },
            body: html! {
                a.skip href="#main" { "To the content" }
                header {
                    nav aria-label="Pages" {
                        @for page in PAGES.iter().filter(|page| page.in_navigation) {
                            a href=(page.file()) aria-current=[current(page)] { (page.title) }
                        }
                    }
                    p id="progress" role="status" {}
                    button id="theme" type="button" { "Dark" }
                }
                main id="main" tabindex="-1" aria-busy="true" {
                    h1 { (self.title) }
                    p id="waiting" { "Reading the data … If nothing follows, the files beside this page are missing: a report is the whole folder." }
                    noscript {
                        p {
                            "These pages show their data by scripts of their own, which this \
                             browser has switched off."
                        }
                    }
                }
            },
        };
        page.render()
    }
}

/// The report on some runs, as files.
pub struct HtmlReport {
    reported_runs: Vec<ReportedRun>,
    /// The holes of all runs, by id.
    holes: Vec<Hole>,
    /// The files that they are cut into.
    files: Vec<MarkedFile>,
    /// Each hole's place in `holes`.
    places: HashMap<String, usize>,
    live: bool,
    /// Grows whenever something has changed.
    revision: u64,
    /// Completions that a gate would suppress.
    gate: Option<GateFrontier>,
    /// The date at which the first page divides the holes, as YYYY-MM-DD.
    since: Option<String>,
}

/// One of the runs.
struct ReportedRun {
    /// Name that is unique among the runs.
    name: String,
    model: String,
    context: String,
    run: Run,
    identity: Value,
    /// True if the run was finished before its outcomes were last read.
    finished: bool,
    /// The places of its holes.
    own: Vec<usize>,
    /// Holes whose record is another one in this run than in an earlier, by place: of another
    /// version of its file, or with other mutants or another date.
    other_holes: HashMap<usize, Hole>,
    /// Figures of simulated developers, and the state of the run's table of it.
    developers: DeveloperFigures,
    typed: (i64, i64),
    /// Audits of attempts, by key.
    audits: BTreeMap<String, AuditRecord>,
    /// Its attempts of all rounds, without test outputs, and of their traces the usage alone.
    scored: Vec<ScoredAttempt>,
    /// Of each attempt, by key, its place in `scored` and its outcome.
    known: HashMap<String, (usize, String)>,
    /// The places in `scored` of each hole's attempts.
    by_hole: HashMap<usize, Vec<usize>>,
}

/// A file of the report.
#[derive(Debug)]
pub struct ReportFile {
    /// Its media type, as HTTP names it.
    pub media_type: &'static str,
    /// Its contents.
    pub contents: Cow<'static, str>,
}

/// Reason for which a report can't be written.
#[derive(Debug, thiserror::Error)]
pub enum HtmlReportError {
    /// A run can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder holds something else.
    #[error(
        "{0} holds files and is no report; name a folder with -o that is empty or not there yet"
    )]
    Occupied(PathBuf),
    /// A file can't be written.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A plot can't be drawn.
    #[error("the plot `{plot}` can't be drawn: {reason}")]
    Plot {
        /// Its name.
        plot: &'static str,
        /// Error of the library.
        reason: String,
    },
}

impl HtmlReport {
    /// A report on runs that are there. Where it is `live`, its pages ask for what is new.
    ///
    /// # Errors
    /// A run can't be read.
    pub fn load(runs: Vec<Run>, live: bool) -> Result<Self, HtmlReportError> {
        let mut holes = BTreeMap::new();
        let mut reported_runs = Vec::new();
        for run in runs {
            let identity = run.identity()?;
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let model = text(&identity["model"]).unwrap_or_else(|| "?".to_owned());
            let context = context_title(&identity).unwrap_or_else(|| "?".to_owned());
            reported_runs.push(ReportedRun {
                developers: DeveloperFigures::load(&run)?,
                typed: run.typings_state()?,
                name: String::new(),
                model,
                context,
                run,
                identity,
                finished: false,
                own: Vec::new(),
                other_holes: HashMap::new(),
                audits: BTreeMap::new(),
                scored: Vec::new(),
                known: HashMap::new(),
                by_hole: HashMap::new(),
            });
        }
        name(&mut reported_runs);
        // Several runs may have the same hole, which is on one page.
        for reported in &reported_runs {
            for (id, hole) in reported.run.holes()? {
                holes.entry(id).or_insert(hole);
            }
        }
        let holes: Vec<Hole> = holes.into_values().collect();
        let places = holes.iter().enumerate();
        let places = places.map(|(place, hole)| (hole.id.clone(), place));
        let mut report = Self {
            places: places.collect(),
            reported_runs,
            holes,
            files: Vec::new(),
            live,
            revision: 0,
            gate: None,
            since: None,
        };
        report.refresh()?;
        Ok(report)
    }

    /// Divides the holes on the first page at a date, as YYYY-MM-DD, by when their code changed.
    pub fn divide_at(&mut self, since: &str) {
        self.since = Some(since.to_owned());
    }

    /// Shows on the first page the completions that this gate and others would suppress.
    pub fn show_gate(&mut self, fit: &GateFit) {
        self.gate = Some(GateFrontier::from_fit(fit));
    }

    /// Reads what was added to the runs since the last call. Returns true if there is anything new.
    ///
    /// # Errors
    /// A run can't be read.
    pub fn refresh(&mut self) -> Result<bool, HtmlReportError> {
        let mut changed = false;
        for reported in &mut self.reported_runs {
            // A run that had no holes yet may have been given them since.
            if reported.own.is_empty() {
                for (id, hole) in reported.run.holes()? {
                    let next = self.holes.len();
                    let place = *self.places.entry(id).or_insert(next);
                    if place == next {
                        self.holes.push(hole);
                    } else if self.holes[place] != hole {
                        reported.other_holes.insert(place, hole);
                    }
                    reported.own.push(place);
                    changed = true;
                }
            }
            changed |= reported.refresh(&self.holes, &self.places)?;
        }
        if changed {
            self.revision += 1;
            self.files = files::files(&self.holes);
        }
        Ok(changed)
    }

    /// Writes all files into a folder.
    ///
    /// # Errors
    /// The folder contains something other than a report, or can't be written to.
    pub fn write(&self, folder: &Path) -> Result<(), HtmlReportError> {
        let data = folder.join("data");
        let fault = |path: &Path| {
            let path = path.to_owned();
            |source| HtmlReportError::File { path, source }
        };
        // Only an earlier report may be overwritten, known by its summary, or an unfinished one.
        let occupied = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        let unfinished = data.join("unfinished");
        if occupied && !data.join("summary.js").is_file() && !unfinished.is_file() {
            return Err(HtmlReportError::Occupied(folder.to_owned()));
        }
        // A report that is killed while it is written may be written again.
        create_output_folder(folder).map_err(fault(folder))?;
        std::fs::create_dir_all(&data).map_err(fault(&data))?;
        std::fs::write(&unfinished, []).map_err(fault(&unfinished))?;
        for entry in std::fs::read_dir(&data).map_err(fault(&data))? {
            let path = entry.map_err(fault(&data))?.path();
            if path != unfinished {
                std::fs::remove_file(&path).map_err(fault(&path))?;
            }
        }
        // What marks a report comes last, or a half-written one would look whole.
        for path in self.paths().iter().rev() {
            let Some(file) = self.file(path)? else {
                continue;
            };
            let path = folder.join(path);
            std::fs::write(&path, file.contents.as_bytes()).map_err(fault(&path))?;
        }
        std::fs::remove_file(&unfinished).map_err(fault(&unfinished))
    }

    /// The paths of all files, with `/`.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = vec!["data/summary.js".to_owned()];
        paths.extend(PAGES.iter().map(ReportPage::file));
        paths.extend(ASSETS.iter().map(|(file, _)| (*file).to_owned()));
        paths.extend(["plots", "flips", "holes", "files"].map(|name| format!("data/{name}.js")));
        for shard in 0..self.shards() {
            paths.push(format!("data/attempts-{shard}.js"));
            paths.push(format!("data/texts-{shard}.js"));
        }
        let details = self.holes.len().div_ceil(self.holes_in_detail());
        paths.extend((0..details).map(|shard| format!("data/hole-{shard}.js")));
        paths.extend((0..self.files.len()).map(|file| format!("data/file-{file}.js")));
        paths
    }

    /// One file; nothing where there is none at this path.
    ///
    /// # Errors
    /// A run can't be read.
    pub fn file(&self, path: &str) -> Result<Option<ReportFile>, HtmlReportError> {
        if let Some(page) = PAGES.iter().find(|page| page.file() == path) {
            return Ok(Some(ReportFile {
                media_type: "text/html; charset=utf-8",
                contents: page.html().into(),
            }));
        }
        if let Some((file, contents)) = ASSETS.iter().find(|(file, _)| *file == path) {
            let media_type = match file.rsplit_once('.') {
                Some((_, "css")) => "text/css; charset=utf-8",
                _ => "text/javascript; charset=utf-8",
            };
            return Ok(Some(ReportFile {
                media_type,
                contents: (*contents).into(),
            }));
        }
        let name = path
            .strip_prefix("data/")
            .and_then(|name| name.strip_suffix(".js"));
        let Some(name) = name else {
            return Ok(None);
        };
        let numbered = name
            .rsplit_once('-')
            .and_then(|(what, number)| Some((what, number.parse::<usize>().ok()?)));
        let text = match (name, numbered) {
            ("summary", _) => json(&self.summary()?),
            ("plots", _) => json(&self.plots()?),
            ("flips", _) => json(&self.flips()),
            ("holes", _) => json(&self.hole_columns()),
            ("files", _) => json(&self.file_columns()),
            (_, Some(("file", file))) if file < self.files.len() => json(&self.file_view(file)?),
            (_, Some(("attempts", shard))) if shard < self.shards() => {
                json(&self.attempt_columns(shard))
            }
            (_, Some(("texts", shard))) if shard < self.shards() => json(&self.texts(shard)),
            (_, Some(("hole", shard))) if shard * self.holes_in_detail() < self.holes.len() => {
                json(&self.details(shard)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(ReportFile {
            media_type: "text/javascript; charset=utf-8",
            // A page opened as a file may load scripts, but not fetch data; so data is a script,
            // too.
            contents: format!("fillrate.put({}, {});\n", literal(name), literal(&text)).into(),
        }))
    }

    /// Returns the progress of the runs.
    pub fn progress(&self) -> ReportProgress {
        ReportProgress {
            revision: self.revision,
            done: self.attempts().count(),
            of: self.expected(),
            finished: self.reported_runs.iter().all(|reported| reported.finished),
        }
    }

    /// Number of attempts of the finished runs, if all runs record their number of samples.
    fn expected(&self) -> Option<usize> {
        let of_runs = self.reported_runs.iter().map(ReportedRun::expected);
        of_runs.sum()
    }

    /// Every attempt with its run's number.
    fn attempts(&self) -> impl Iterator<Item = (usize, &ScoredAttempt)> {
        let runs = self.reported_runs.iter().enumerate();
        runs.flat_map(|(run, reported)| reported.scored.iter().map(move |one| (run, one)))
    }

    fn shard(&self, shard: usize) -> impl Iterator<Item = (usize, &ScoredAttempt)> {
        self.attempts().skip(shard * SHARD).take(SHARD)
    }

    fn shards(&self) -> usize {
        self.attempts().count().div_ceil(SHARD)
    }

    /// Number of holes in each file of details, so that files are neither many nor large.
    fn holes_in_detail(&self) -> usize {
        if self.live {
            // More attempts are to come, and a hole's place must stay.
            return 1;
        }
        let attempts = self.attempts().count().max(1);
        // One file has about 60 attempts, so that neither the files nor their number grow large.
        (ATTEMPTS_IN_DETAIL * self.holes.len() / attempts).clamp(1, ATTEMPTS_IN_DETAIL)
    }

    fn attempt_columns(&self, shard: usize) -> AttemptColumns {
        let mut columns = AttemptColumns::default();
        for (run, one) in self.shard(shard) {
            let attempt = &one.attempt;
            let verdict = &attempt.verdict;
            columns.run.push(run);
            columns.hole.push(self.places[&attempt.hole]);
            columns.sample.push(attempt.sample);
            columns.round.push(attempt.repair_round);
            columns.outcome.push(number_of(verdict.outcome));
            columns.proof.push(
                verdict
                    .proof
                    .and_then(|proof| Proof::ALL.iter().position(|one| *one == proof)),
            );
            columns
                .latency
                .push(one.latency_ms.map(|value| rounded(value, 10.0)));
            columns.offered.push(attempt.offered.len());
            columns.accepted.push(one.accepted.map(u8::from));
            columns
                .exact
                .push(one.text.get(EM_CCEVAL.name).map(|value| *value as u8));
            columns.similarity.push(
                one.text
                    .get(ES_CCEVAL_LEVENSHTEIN.name)
                    .map(|value| rounded(*value, 10.0)),
            );
            columns
                .probability
                .push(one.probability.map(|value| rounded(value, 1000.0)));
            columns
                .characters
                .push(attempt.completion().chars().count());
            columns.seconds.push(rounded(verdict.seconds, 100.0));
        }
        columns
    }

    fn texts(&self, shard: usize) -> Texts {
        let cut = |text: &str| text.chars().take(LONGEST_TEXT).collect::<String>();
        let attempts = self.shard(shard).map(|(_, one)| &one.attempt);
        let (completion, reason) = attempts
            .map(|attempt| (cut(attempt.completion()), cut(&attempt.verdict.reason)))
            .unzip();
        Texts { completion, reason }
    }

    fn hole_columns(&self) -> HoleColumns<'_> {
        let scores = self.holes.iter().map(|hole| {
            let mutation = hole.mutation.as_ref()?;
            let score = fillrate_language::mutate::MutationScore::from(mutation).score()?;
            Some(rounded(score, 1000.0))
        });
        HoleColumns {
            id: self.holes.iter().map(|hole| hole.id.as_str()).collect(),
            project: self.holes.iter().map(|hole| &*hole.project).collect(),
            language: self.holes.iter().map(|hole| &*hole.language).collect(),
            kind: self.holes.iter().map(|hole| hole.kind.name()).collect(),
            category: self
                .holes
                .iter()
                .map(|hole| hole.category.as_ref().map(|category| category.name.name()))
                .collect(),
            mutation: scores.collect(),
        }
    }
}

/// The most characters of a completion that the search in texts goes through.
const LONGEST_TEXT: usize = 2000;

impl ReportedRun {
    fn refresh(
        &mut self,
        holes: &[Hole],
        places: &HashMap<String, usize>,
    ) -> Result<bool, StoreError> {
        // Read first: attempts that are added after it leave the report unfinished until the next
        // look.
        self.finished = self.run.is_finished()?;
        let audits = self.run.audits()?;
        let mut changed = audits != self.audits;
        self.audits = audits;
        let typed = self.run.typings_state()?;
        if typed != self.typed {
            self.typed = typed;
            self.developers = DeveloperFigures::load(&self.run)?;
            changed = true;
        }
        // Holes of one file follow each other, so the last file is kept at hand.
        let mut file: Option<(String, String)> = None;
        for (key, outcome) in self.run.outcomes()? {
            // An outcome changes only when an infrastructure failure is repeated.
            let known = self.known.get(&key);
            if known.is_some_and(|(_, before)| *before == outcome) {
                continue;
            }
            let attempt = self.run.attempt(&key)?;
            // As in every other figure, attempts without a hole in the run are excluded.
            let Some(at) = places.get(&attempt.hole).copied() else {
                continue;
            };
            let hole = self.hole(at, holes);
            let contents = match file {
                Some((sha256, contents)) if sha256 == hole.file_sha256 => contents,
                _ => self.run.source(hole)?,
            };
            // Samples are often alike, and then their figures are.
            let of_hole = self.by_hole.get(&at).into_iter().flatten();
            let alike = of_hole
                .map(|place| &self.scored[*place])
                .find(|one| one.is_alike(&attempt));
            let scored = match alike {
                Some(one) => one.with_verdict_of(attempt),
                None => ScoredAttempt::score(hole, &contents, attempt),
            };
            let scored = slim(scored.timed(self.run.has_latency()?));
            file = Some((hole.file_sha256.clone(), contents));
            // A repeated attempt keeps its place, which pages refer to.
            let place = known.map_or(self.scored.len(), |(place, _)| *place);
            match self.scored.get_mut(place) {
                Some(before) => *before = scored,
                None => {
                    self.scored.push(scored);
                    self.by_hole.entry(at).or_default().push(place);
                }
            }
            self.known.insert(key, (place, outcome));
            changed = true;
        }
        Ok(changed)
    }

    /// Returns a hole, given by its place, as it is in this run.
    fn hole<'a>(&'a self, place: usize, holes: &'a [Hole]) -> &'a Hole {
        self.other_holes.get(&place).unwrap_or(&holes[place])
    }

    /// First answers: those that all figures but those by round are of.
    fn first_attempts(&self) -> Vec<&ScoredAttempt> {
        let first = self
            .scored
            .iter()
            .filter(|one| one.attempt.repair_round == 0);
        first.collect()
    }

    /// True if its completions are the references.
    fn is_of_reference(&self) -> bool {
        let model = &self.identity["configuration"]["model"];
        model["protocol"] == "recorded" && model["name"] == "reference"
    }

    fn expected(&self) -> Option<usize> {
        expected_attempts(&self.identity, self.own.len())
    }
}

/// Names each run by its model, its context where models are the same, and its folder where both
/// are.
fn name(reported_runs: &mut [ReportedRun]) {
    let alike = |of: &dyn Fn(&ReportedRun) -> String| {
        let names: Vec<String> = reported_runs.iter().map(of).collect();
        let counts = names
            .iter()
            .map(|name| names.iter().filter(|n| *n == name).count());
        (counts.max() <= Some(1)).then_some(names)
    };
    let folder = |reported: &ReportedRun| {
        let folder = reported.run.folder();
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        folder
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let model = |one: &ReportedRun| one.model.clone();
    let context = |one: &ReportedRun| format!("{} · {}", one.model, one.context);
    let place = |one: &ReportedRun| format!("{} · {} · {}", one.model, one.context, folder(one));
    // The shortest kind of name that tells all runs apart.
    let names = alike(&model)
        .or_else(|| alike(&context))
        .or_else(|| alike(&place))
        .unwrap_or_else(|| {
            let numbered = reported_runs.iter().enumerate();
            numbered
                .map(|(index, one)| format!("{} · {}", place(one), index + 1))
                .collect()
        });
    for (reported, name) in reported_runs.iter_mut().zip(names) {
        reported.name = name;
    }
}

/// The most bytes of a completion that pages hold.
const MOST_OF_COMPLETION: usize = 16 << 10;

/// The beginning of a text that is too long for pages, and its length.
fn cut(text: String) -> String {
    if text.len() <= MOST_OF_COMPLETION {
        return text;
    }
    let mut end = MOST_OF_COMPLETION;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[… {} bytes in all]", &text[..end], text.len())
}

/// An attempt without what only its own page shows, which is most of it. Figures read the usage of
/// its trace.
fn slim(scored: ScoredAttempt) -> ScoredAttempt {
    let Attempt {
        trace,
        verdict,
        offered,
        ..
    } = &scored.attempt;
    let trace = trace.as_ref().map(|trace| Trace {
        usage: trace.usage,
        ..Trace::default()
    });
    let offered = offered.iter().cloned().map(cut).collect();
    let verdict = fillrate_verdict::Verdict {
        output: String::new(),
        ..verdict.clone()
    };
    ScoredAttempt {
        attempt: Attempt {
            trace,
            verdict,
            offered,
            ..scored.attempt
        },
        ..scored
    }
}

/// Progress of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReportProgress {
    /// Grows whenever something has changed.
    pub revision: u64,
    /// Attempts that were made.
    pub done: usize,
    /// Attempts that there will be, where that is known.
    pub of: Option<usize>,
    /// True if all runs are finished.
    pub finished: bool,
}

/// Attempts, column by column. What is absent is `null`.
#[derive(Default, Serialize)]
struct AttemptColumns {
    /// The run's number.
    run: Vec<usize>,
    /// The hole's number.
    hole: Vec<usize>,
    sample: Vec<u32>,
    round: Vec<u32>,
    /// Its number in [`Outcome::NAMES`].
    outcome: Vec<usize>,
    /// The number in [`Proof::ALL`] of a pass's proof.
    proof: Vec<Option<usize>>,
    /// Milliseconds; `None` without an answer.
    latency: Vec<Option<f64>>,
    /// Number of candidates.
    offered: Vec<usize>,
    accepted: Vec<Option<u8>>,
    /// `em/cceval`.
    exact: Vec<Option<u8>>,
    /// `es/cceval-levenshtein`.
    similarity: Vec<Option<f64>>,
    probability: Vec<Option<f64>>,
    /// Of the completion.
    characters: Vec<usize>,
    /// That the verdict took.
    seconds: Vec<f64>,
}

#[derive(Serialize)]
struct Texts {
    completion: Vec<String>,
    reason: Vec<String>,
}

/// Holes, column by column.
#[derive(Serialize)]
struct HoleColumns<'a> {
    id: Vec<&'a str>,
    project: Vec<&'a str>,
    language: Vec<&'a str>,
    kind: Vec<&'static str>,
    category: Vec<Option<&'static str>>,
    mutation: Vec<Option<f64>>,
}

/// Rounds a number to a multiple of 1 / `steps`, so that its text is short.
fn rounded(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// A text as a string of JavaScript that no HTML parser and no old JavaScript can misread: neither
/// `<`, `>` nor `&` is in it, and no line break of Unicode.
fn literal(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    let mut literal = String::with_capacity(quoted.len() + quoted.len() / 8);
    for character in quoted.chars() {
        // These characters could end the script element or, in older browsers, the string.
        match character {
            '<' => literal.push_str("\\u003c"),
            '>' => literal.push_str("\\u003e"),
            '&' => literal.push_str("\\u0026"),
            '\u{2028}' => literal.push_str("\\u2028"),
            '\u{2029}' => literal.push_str("\\u2029"),
            other => literal.push(other),
        }
    }
    literal
}

/// Returns the number of an outcome in shards: the index of its name in [`Outcome::NAMES`].
fn number_of(outcome: Outcome) -> usize {
    outcome as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_outcome_has_the_number_of_its_name() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::NAMES[number_of(*outcome)], outcome.name());
        }
        assert!(Outcome::ALL.contains(&Outcome::Unproven));
    }

    #[test]
    fn a_literal_ends_no_script() {
        let text = "</script><script>alert(1)</script><!-- & \u{2028}\u{2029}\"\\";
        let literal = literal(text);
        insta::assert_snapshot!(literal, @r#""\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e\u003c!-- \u0026 \u2028\u2029\"\\""#);
    }

    proptest! {
        #[test]
        fn a_literal_is_read_as_what_it_was(text: String) {
            let literal = literal(&text);
            let special = ['<', '>', '&', '\n', '\u{2028}'];
            prop_assert!(!literal.contains(special));
            prop_assert_eq!(serde_json::from_str::<String>(&literal).ok(), Some(text));
        }
    }

    #[test]
    fn every_page_names_only_files_that_are_there() {
        let mut known: Vec<String> = PAGES.iter().map(ReportPage::file).collect();
        known.extend(ASSETS.iter().map(|(file, _)| (*file).to_owned()));
        for page in &PAGES {
            let html = page.html();
            let named: Vec<&str> = html
                .split('"')
                .filter(|part| {
                    [".js", ".css", ".html"]
                        .iter()
                        .any(|end| part.ends_with(end))
                })
                .collect();
            assert!(named.len() > PAGES.len(), "{named:?}");
            for name in named {
                assert!(known.iter().any(|file| file == name), "{name}");
            }
        }
    }
}
