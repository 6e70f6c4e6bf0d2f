//! Makes instruction-tuning data of a corpus's functions, as RepoExec does, §6.3 of
//! [its paper](https://arxiv.org/abs/2406.11927).

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::PathBuf;

use fillrate_language::SourceFile;
use fillrate_language::task::{self, WholeFile, sha256_hex};
use fillrate_metrics::leakage_tokens;
use fillrate_mine::contexts::{ContextLevel, PromptForm, TaskPrompts};
use fillrate_mine::dependencies::{DependencyIndex, DocumentedFunction};
use fillrate_mine::minhash::NearDuplicates;
use fillrate_verdict::corpus::license::find_license;
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::corpus::{Corpus, Prepared};
use serde::Serialize;

use super::PlayError;
use super::events::Listener;
use super::mutate::whole_lines;
use super::projects::{AbsentProject, load_sources, prepare, visible_sources};

/// The version of the rows.
const SCHEMA: u32 = 1;

/// References with fewer words and signs occur in unrelated code too. They exclude functions of the
/// file that they are cut from and functions whose bodies they resemble.
const TELLING_TOKENS: usize = 10;

/// Options of the tuning data.
#[derive(Clone, Debug)]
pub struct TuningPlan {
    /// The corpus's manifest.
    pub corpus: PathBuf,
    /// The file for the rows.
    pub output: PathBuf,
    /// Levels of context that show dependencies; a row for each.
    pub levels: Vec<ContextLevel>,
    /// The forms of prompts; a row for each.
    pub forms: Vec<PromptForm>,
    /// Tasks files whose references may not be in it.
    pub exclude: Vec<PathBuf>,
    /// The similarity from which two texts are duplicates, [`NearDuplicates::LEAST`] to 1.
    pub similarity: f64,
    /// The share of projects for validation.
    pub validation: f64,
    /// Chooses other projects for validation.
    pub seed: u64,
}

/// Counts of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TuningCounts {
    /// The project's name.
    pub project: String,
    /// Its licence, if it says one.
    pub license: Option<String>,
    /// Part of the data.
    pub split: &'static str,
    /// Its functions with documentation.
    pub documented: usize,
    /// Of these, those without dependencies, which are left out.
    pub independent: usize,
    /// Those that were dropped because an earlier one resembles them.
    pub duplicates: usize,
    /// Those that were dropped because the evaluation sets have them, or all their prompts show
    /// code of these.
    pub excluded: usize,
    /// Rows that were dropped because their prompts show code of the evaluation sets.
    pub revealing: usize,
    /// Those that were written.
    pub functions: usize,
}

/// Result of making the data.
#[derive(Debug)]
pub struct TuningOutcome {
    /// By project, in the manifest's order.
    pub projects: Vec<TuningCounts>,
    /// Number of rows that were written.
    pub rows: usize,
    /// References of evaluation sets that are too short to be looked for within functions of other
    /// files than their own.
    pub short_references: usize,
    /// The projects that are excluded.
    pub absent: Vec<AbsentProject>,
}

/// A row of the file.
#[derive(Serialize)]
struct TuningRow<'a> {
    schema: u32,
    id: &'a str,
    project: &'a str,
    license: Option<&'a str>,
    split: &'a str,
    language: &'a str,
    path: &'a str,
    line: usize,
    function: &'a str,
    signature: &'a str,
    documentation: &'a str,
    dependencies: &'a [String],
    context: &'a str,
    form: &'a str,
    prompt: &'a str,
    completion: &'a str,
}

/// Writes the rows, whole or not at all.
///
/// # Errors
/// No function can be used, a tasks file can't be read, or the file can't be written.
pub fn run(plan: &TuningPlan, listener: &dyn Listener) -> Result<TuningOutcome, PlayError> {
    let evaluation = EvaluationSet::read(&plan.exclude, plan.similarity)?;
    let corpus = Corpus::from_environment()?;
    let manifest = load_sources(&corpus, &plan.corpus, listener)?;
    let validation = validation_projects(&manifest, plan);
    let (prepared, absent) = prepare(&corpus, &manifest, None, listener)?;
    let out = WholeFile::create(&plan.output).map_err(PlayError::file(&plan.output))?;
    let mut export = TuningExport {
        plan,
        evaluation: &evaluation,
        known: NearDuplicates::new(plan.similarity),
        out,
        rows: 0,
    };
    let mut projects = Vec::new();
    for project in &prepared {
        let name = &project.project.name;
        let split = match validation.contains(name) {
            // Whole projects are held out: functions of one project are alike.
            true => "validation",
            false => "train",
        };
        projects.push(export.add(project, split)?);
    }
    let TuningExport { out, rows, .. } = export;
    if rows == 0 {
        return Err(nothing_to_write(&projects, &absent));
    }
    out.finish().map_err(PlayError::file(&plan.output))?;
    Ok(TuningOutcome {
        projects,
        rows,
        short_references: evaluation.short,
        absent,
    })
}

/// The projects for validation: of two or more at least one, if the requested share is not 0, and
/// never all.
fn validation_projects(manifest: &Manifest, plan: &TuningPlan) -> BTreeSet<String> {
    let mut names: Vec<&String> = manifest.projects.iter().map(|it| &it.name).collect();
    // The hash chooses independently of the manifest's order.
    names.sort_by_cached_key(|name| sha256_hex(format!("{}\0{name}", plan.seed).as_bytes()));
    let all = names.len();
    let wanted = (plan.validation * all as f64).round() as usize;
    // A share above 0 holds out at least one project, and one always remains to train on.
    let least = usize::from(plan.validation > 0.0);
    let count = wanted.max(least).min(all.saturating_sub(1));
    names.into_iter().take(count).cloned().collect()
}

fn nothing_to_write(projects: &[TuningCounts], absent: &[AbsentProject]) -> PlayError {
    let mut reasons: Vec<String> = absent.iter().map(AbsentProject::describe).collect();
    reasons.extend(projects.iter().map(|it| {
        format!(
            "{} has {} functions with documentation, {} of them without dependencies, {} \
             duplicates, {} of the evaluation sets",
            it.project, it.documented, it.independent, it.duplicates, it.excluded
        )
    }));
    PlayError::Empty(format!("there is nothing to write: {}", reasons.join("; ")))
}

/// The file as far as it is written.
struct TuningExport<'a> {
    plan: &'a TuningPlan,
    evaluation: &'a EvaluationSet,
    known: NearDuplicates,
    out: WholeFile,
    rows: usize,
}

impl TuningExport<'_> {
    /// Adds the functions of a project.
    fn add(&mut self, prepared: &Prepared, split: &'static str) -> Result<TuningCounts, PlayError> {
        let sources = visible_sources(prepared)?;
        let repository = DependencyIndex::new(&sources);
        let hidden = self
            .evaluation
            .hidden_code(&prepared.project.name, &repository, &sources);
        let wanted: BTreeSet<String> = prepared.hole_files()?.into_iter().collect();
        let mut counts = TuningCounts {
            project: prepared.project.name.clone(),
            license: find_license(&prepared.source),
            split,
            ..TuningCounts::default()
        };
        for file in sources.iter().filter(|file| wanted.contains(&file.path)) {
            for function in repository.documented_functions(&file.path) {
                counts.documented += 1;
                let dependencies = repository.names_used(&file.path, &function.body);
                let text = &file.contents[function.range.clone()];
                let body = &file.contents[function.body.clone()];
                if dependencies.is_empty() {
                    counts.independent += 1;
                } else if self.evaluation.has(&counts.project, &file.path, text, body) {
                    counts.excluded += 1;
                // Duplicates are tested last, so that an excluded function does not stand for
                // others.
                } else if self.known.resembles_any(text) {
                    counts.duplicates += 1;
                } else {
                    let prompts = TaskPrompts {
                        repository: &repository,
                        file,
                    };
                    let rows =
                        self.write(&mut counts, &prompts, &function, &dependencies, &hidden)?;
                    if rows == 0 {
                        counts.excluded += 1;
                    } else {
                        self.known.insert(text);
                        counts.functions += 1;
                    }
                }
            }
        }
        Ok(counts)
    }

    /// Writes the rows of a function whose prompts show no hidden code, and returns how many there
    /// are.
    fn write(
        &mut self,
        counts: &mut TuningCounts,
        prompts: &TaskPrompts<'_>,
        function: &DocumentedFunction,
        dependencies: &[String],
        hidden: &[String],
    ) -> Result<usize, PlayError> {
        let rows = self.rows;
        let file: &SourceFile = prompts.file;
        let name = match &function.owner {
            Some(owner) => format!("{owner}.{}", function.name),
            None => function.name.clone(),
        };
        let above = &file.contents[..function.range.start];
        let line = above.matches('\n').count() + 1;
        let id = format!("{}/{}:{line}:{name}", counts.project, file.path);
        for level in &self.plan.levels {
            for form in &self.plan.forms {
                let prompt = prompts.render(function, *level, *form);
                // The bodies of dependencies may be those of functions that are left out.
                if self.evaluation.is_revealed_by(&prompt, hidden) {
                    counts.revealing += 1;
                    continue;
                }
                let row = TuningRow {
                    schema: SCHEMA,
                    id: &id,
                    project: &counts.project,
                    license: counts.license.as_deref(),
                    split: counts.split,
                    language: file.language.name,
                    path: &file.path,
                    line,
                    function: &name,
                    signature: &function.signature,
                    documentation: &function.documentation,
                    dependencies,
                    context: (*level).into(),
                    form: (*form).into(),
                    prompt: &prompt,
                    completion: &file.contents[function.body.clone()],
                };
                let written = serde_json::to_writer(&mut self.out, &row)
                    .map_err(std::io::Error::from)
                    .and_then(|()| self.out.write_all(b"\n"));
                written.map_err(PlayError::file(&self.plan.output))?;
                self.rows += 1;
            }
        }
        Ok(self.rows - rows)
    }
}

/// The references that may not be in the data.
struct EvaluationSet {
    references: NearDuplicates,
    /// Those that are long enough to be looked for anywhere, their words and signs apart.
    long_references: Vec<String>,
    /// All of them, by project and path.
    places: HashMap<(String, String), Vec<String>>,
    short: usize,
}

impl EvaluationSet {
    fn read(paths: &[PathBuf], similarity: f64) -> Result<Self, PlayError> {
        let mut set = Self {
            references: NearDuplicates::new(similarity),
            long_references: Vec::new(),
            places: HashMap::new(),
            short: 0,
        };
        for path in paths {
            for hole in task::read(path)? {
                let place = set.places.entry((hole.project, hole.path)).or_default();
                set.references.insert(&hole.reference);
                // A short reference, such as `return None`, is in too much code to show leakage.
                if leakage_tokens(&hole.reference).len() < TELLING_TOKENS {
                    set.short += 1;
                } else {
                    set.long_references.push(spaced(&hole.reference));
                }
                place.push(hole.reference);
            }
        }
        Ok(set)
    }

    /// Returns the code of a project that no prompt may show, its words and signs apart: functions
    /// that [have](Self::has) a reference, and long lines that have one outside of functions.
    fn hidden_code(
        &self,
        project: &str,
        repository: &DependencyIndex<'_>,
        sources: &[SourceFile],
    ) -> Vec<String> {
        let mut hidden = BTreeSet::new();
        // Without references nothing is hidden, and the search would take its time.
        for file in sources.iter().filter(|_| !self.places.is_empty()) {
            let contents = &file.contents;
            for function in repository.documented_functions(&file.path) {
                let text = &contents[function.range];
                if self.has(project, &file.path, text, &contents[function.body]) {
                    hidden.insert(spaced(text));
                }
            }
            let place = (project.to_owned(), file.path.clone());
            let references = self.places.get(&place).into_iter().flatten();
            for reference in references.filter(|it| !it.trim().is_empty()) {
                for (start, text) in contents.match_indices(reference.trim()) {
                    let range = start..start + text.len();
                    let around = repository.function_around(&file.path, &range);
                    let code = match around {
                        Some(function) => &contents[function],
                        // A short line, such as an import, is in other files, too.
                        None => match &contents[whole_lines(contents, range)] {
                            lines if leakage_tokens(lines).len() < TELLING_TOKENS => continue,
                            lines => lines,
                        },
                    };
                    hidden.insert(spaced(code));
                }
            }
        }
        hidden.into_iter().collect()
    }

    /// True if a prompt shows hidden code or a reference that is long enough.
    fn is_revealed_by(&self, prompt: &str, hidden: &[String]) -> bool {
        let words = spaced(prompt);
        let mut known = hidden.iter().chain(&self.long_references);
        known.any(|code| words.contains(code.as_str()))
    }

    /// True if a function of a file has a reference in it that is of that file or long enough, or
    /// resembles one, with its head or without.
    fn has(&self, project: &str, path: &str, function: &str, body: &str) -> bool {
        let place = (project.to_owned(), path.to_owned());
        let of_file = self.places.get(&place).into_iter().flatten();
        let words = spaced(function);
        of_file
            .into_iter()
            .any(|reference| function.contains(reference.trim()))
            || self
                .long_references
                .iter()
                .any(|one| words.contains(one.as_str()))
            || self.references.resembles_any(function)
            || self.references.resembles_any(body)
    }
}

/// A text with one space around each of its words and signs.
fn spaced(text: &str) -> String {
    let tokens = leakage_tokens(text);
    let mut spaced = String::from(" ");
    for token in tokens {
        spaced += token;
        spaced.push(' ');
    }
    spaced
}
