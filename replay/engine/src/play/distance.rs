//! Measures how far a task set is from real code: the reconstruction error of MRG-Bench, §5.1.1 of
//! [its paper](https://arxiv.org/abs/2508.02998).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fillrate_language::SourceFile;
use fillrate_language::task::{self, Hole, sha256_hex};
use fillrate_metrics::{Estimate, clustered_mean, nearest_distances, nearest_lexical_distances};
use fillrate_mine::dependencies::{DependencyIndex, DocumentedFunction};
use fillrate_server::configuration::Layers;
use fillrate_server::model::embeddings::{Embeddings, Vector};
use fillrate_verdict::corpus::{Corpus, Prepared};
use serde::Serialize;
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::PlayError;
use super::events::Listener;
use super::projects::{
    AbsentProject, check_projects, load_sources, prepare, retain_projects_of, visible_sources,
};

/// Corpora to measure, and the part of functions.
#[derive(Clone, Debug)]
pub struct DistancePlan {
    /// The tasks.
    pub tasks: PathBuf,
    /// The manifest of their projects.
    pub corpus: PathBuf,
    /// The manifest of the projects of real code.
    pub real: PathBuf,
    /// Part of a function that is compared.
    pub part: FunctionPart,
    /// The most functions of real code, by language.
    pub samples: usize,
    /// Chooses other functions.
    pub seed: u64,
    /// The settings file (.toml) with a server of vectors; `None` for vectors of words.
    pub embeddings: Option<PathBuf>,
}

/// Part of a function that is compared.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantArray, Serialize,
)]
#[serde(rename_all = "kebab-case")]
#[strum(
    serialize_all = "kebab-case",
    parse_err_ty = String,
    parse_err_fn = unknown_part
)]
pub enum FunctionPart {
    /// Its documentation, as in the paper.
    Documentation,
    /// All of it.
    Whole,
}

fn unknown_part(_: &str) -> String {
    "it is documentation or whole".to_owned()
}

/// The distance of a language's tasks.
#[derive(Clone, Debug, Serialize)]
pub struct TaskDistance {
    /// The language's name.
    pub language: &'static str,
    /// The documented functions that the tasks are cut from, each once.
    pub tasks: usize,
    /// The tasks that are cut from no documented function.
    pub undocumented: usize,
    /// Of a server's vectors (`reconstruction-error`) or of words (`reconstruction-error/lexical`).
    pub variant: &'static str,
    /// The mean distance of a real function from the nearest task, clustered by file.
    pub error: Option<Estimate>,
    /// The same for [`tasks`](Self::tasks) random functions of real code in place of the tasks.
    pub random: Option<Estimate>,
}

/// Result of measuring.
#[derive(Debug)]
pub struct DistanceOutcome {
    /// By language.
    pub languages: Vec<TaskDistance>,
    /// The projects that are excluded.
    pub absent: Vec<AbsentProject>,
}

/// A documented function's text.
struct FunctionText {
    /// Its project and file.
    file: (String, String),
    text: String,
}

/// Measures each language's tasks.
///
/// # Errors
/// Nothing can be compared, a file can't be read, or the server of vectors fails.
pub fn run(plan: &DistancePlan, listener: &dyn Listener) -> Result<DistanceOutcome, PlayError> {
    let vectors = plan.embeddings.as_deref().map(VectorSource::open);
    let vectors = vectors.transpose()?;
    let corpus = Corpus::from_environment()?;
    let holes = task::read(&plan.tasks)?;
    let mut manifest = load_sources(&corpus, &plan.corpus, listener)?;
    check_projects(&holes, &manifest, &plan.corpus)?;
    let names: BTreeSet<&str> = holes.iter().map(|hole| hole.project.as_str()).collect();
    retain_projects_of(&mut manifest, &holes);
    let (prepared, mut absent) = prepare(&corpus, &manifest, None, listener)?;
    let mut tasks: BTreeMap<&'static str, TaskTexts> = BTreeMap::new();
    for project in &prepared {
        add_tasks(project, &holes, plan.part, &mut tasks)?;
    }
    // Projects of the tasks are no real code to compare with: their functions are the tasks.
    let mut manifest = load_sources(&corpus, &plan.real, listener)?;
    manifest
        .projects
        .retain(|project| !names.contains(project.name.as_str()));
    let (prepared, missing) = prepare(&corpus, &manifest, None, listener)?;
    absent.extend(missing);
    let mut real: BTreeMap<&'static str, Vec<FunctionText>> = BTreeMap::new();
    for project in &prepared {
        add_real(project, plan, &mut real)?;
    }
    let mut languages = Vec::new();
    for (language, tasks) in tasks {
        let real = real.remove(language).unwrap_or_default();
        languages.push(measure(language, &tasks, real, plan, vectors.as_ref())?);
    }
    if languages.iter().all(|it| it.error.is_none()) {
        return Err(PlayError::Empty(nothing_to_compare(&languages, &absent)));
    }
    Ok(DistanceOutcome { languages, absent })
}

fn nothing_to_compare(languages: &[TaskDistance], absent: &[AbsentProject]) -> String {
    let mut reasons: Vec<String> = absent.iter().map(AbsentProject::describe).collect();
    reasons.extend(languages.iter().map(|it| {
        format!(
            "{}: {} documented functions of tasks, {} tasks of none, and too few documented \
             functions of real code in projects of other names",
            it.language, it.tasks, it.undocumented
        )
    }));
    format!("there is nothing to compare: {}", reasons.join("; "))
}

/// The tasks of a language.
#[derive(Default)]
struct TaskTexts {
    texts: Vec<String>,
    undocumented: usize,
}

fn add_tasks(
    project: &Prepared,
    holes: &[Hole],
    part: FunctionPart,
    tasks: &mut BTreeMap<&'static str, TaskTexts>,
) -> Result<(), PlayError> {
    let sources = visible_sources(project)?;
    let repository = DependencyIndex::new(&sources);
    let mut seen: BTreeSet<(&str, usize)> = BTreeSet::new();
    let own = |hole: &&Hole| hole.project == project.project.name;
    for hole in holes.iter().filter(own) {
        let file = sources.iter().find(|file| file.path == hole.path);
        let of_language = tasks.entry(project.project.language.name).or_default();
        let Some(file) = file else {
            of_language.undocumented += 1;
            continue;
        };
        hole.cut(&file.contents)?;
        let around = |function: &DocumentedFunction| {
            function.range.start <= hole.start.0 && hole.end.0 <= function.range.end
        };
        let functions = repository.documented_functions(&file.path);
        // Functions may be nested; the last one around the hole is the innermost.
        match functions.iter().rfind(|it| around(it)) {
            // Several holes of one function are one task.
            Some(function) if seen.insert((&file.path, function.range.start)) => {
                of_language.texts.push(text(file, function, part));
            }
            Some(_) => {}
            None => of_language.undocumented += 1,
        }
    }
    Ok(())
}

fn add_real(
    project: &Prepared,
    plan: &DistancePlan,
    real: &mut BTreeMap<&'static str, Vec<FunctionText>>,
) -> Result<(), PlayError> {
    let name = &project.project.name;
    let sources = visible_sources(project)?;
    let repository = DependencyIndex::new(&sources);
    let wanted: BTreeSet<String> = project.hole_files()?.into_iter().collect();
    let of_language = real.entry(project.project.language.name).or_default();
    for file in sources.iter().filter(|file| wanted.contains(&file.path)) {
        for function in repository.documented_functions(&file.path) {
            of_language.push(FunctionText {
                file: (name.clone(), file.path.clone()),
                text: text(file, &function, plan.part),
            });
        }
    }
    Ok(())
}

fn text(file: &SourceFile, function: &DocumentedFunction, part: FunctionPart) -> String {
    match part {
        FunctionPart::Documentation => function.documentation.clone(),
        FunctionPart::Whole => file.contents[function.range.clone()].to_owned(),
    }
}

/// Compares the tasks of a language, and the same number of random functions, with other
/// functions.
fn measure(
    language: &'static str,
    tasks: &TaskTexts,
    mut real: Vec<FunctionText>,
    plan: &DistancePlan,
    vectors: Option<&VectorSource>,
) -> Result<TaskDistance, PlayError> {
    let mut distance = TaskDistance {
        language,
        tasks: tasks.texts.len(),
        undocumented: tasks.undocumented,
        variant: match vectors {
            Some(_) => "reconstruction-error",
            None => "reconstruction-error/lexical",
        },
        error: None,
        random: None,
    };
    real.sort_by_cached_key(|function| {
        let (project, path) = &function.file;
        let key = format!("{}\0{project}\0{path}\0{}", plan.seed, function.text);
        sha256_hex(key.as_bytes())
    });
    // Random functions replace the tasks in the baseline, and at least one more must be left.
    if tasks.texts.is_empty() || real.len() <= tasks.texts.len() {
        return Ok(distance);
    }
    // The measured functions are disjoint from the random ones; else each would be its own nearest.
    let rest = real.split_off(tasks.texts.len());
    let rest = &rest[..rest.len().min(plan.samples)];
    let texts: Vec<&str> = rest.iter().map(|function| function.text.as_str()).collect();
    let nearest = |tasks: &[&str]| -> Result<Option<Estimate>, PlayError> {
        let distances = match vectors {
            Some(source) => source.nearest(&texts, tasks)?,
            None => nearest_lexical_distances(&texts, tasks),
        };
        let files = rest.iter().map(|function| &function.file);
        let samples: Vec<(&(String, String), f64)> = files.zip(distances).collect();
        Ok(clustered_mean(&samples))
    };
    let tasks: Vec<&str> = tasks.texts.iter().map(String::as_str).collect();
    let random: Vec<&str> = real.iter().map(|function| function.text.as_str()).collect();
    distance.error = nearest(&tasks)?;
    distance.random = nearest(&random)?;
    Ok(distance)
}

/// A server of vectors.
struct VectorSource {
    embeddings: Embeddings,
    runtime: tokio::runtime::Runtime,
}

impl VectorSource {
    fn open(settings: &Path) -> Result<Self, PlayError> {
        let mut layers = Layers::default();
        layers.file(settings)?;
        let settings = layers.merged()?.context.embeddings;
        let cache = Corpus::from_environment()?.cache;
        let environment = |name: &str| std::env::var(name).ok();
        Ok(Self {
            embeddings: Embeddings::open(&settings, &environment, Some(cache.root()))?,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(PlayError::file("the runtime"))?,
        })
    }

    fn nearest(&self, real: &[&str], tasks: &[&str]) -> Result<Vec<f64>, PlayError> {
        let ask = |texts: &[&str]| self.runtime.block_on(self.embeddings.vectors(texts));
        let (real, tasks) = (ask(real)?, ask(tasks)?);
        let mut all = real.iter().chain(&tasks);
        let length = all.next().map_or(0, |vector| vector.len());
        if all.any(|vector| vector.len() != length) {
            return Err(PlayError::Refused(
                "the server gave vectors of different dimensions; name another model under \
                 `context.embeddings.name`, so that kept vectors of an earlier one aren't used"
                    .to_owned(),
            ));
        }
        Ok(nearest_distances(&slices(&real), &slices(&tasks)))
    }
}

fn slices(vectors: &[Vector]) -> Vec<&[f32]> {
    vectors.iter().map(|vector| &**vector).collect()
}
