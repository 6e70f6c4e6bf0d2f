//! Packs what workers without network need of a corpus, and unpacks it there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fillrate_language::task;
use fillrate_verdict::corpus::manifest::{Manifest, SourcePin, manifest_text};
use fillrate_verdict::corpus::pack::{PackContents, PackSize, PackedCorpus, pack};
use fillrate_verdict::corpus::{Corpus, source};

use super::PlayError;
use super::events::Listener;
use super::projects::{
    AbsentProject, ExecutionPlan, PlayableProject, ProjectLoader, check_projects, load_manifest,
    none_ready,
};

/// Contents of a pack.
#[derive(Clone, Debug)]
pub struct PackPlan {
    /// The corpus: a manifest file, a folder or an address.
    pub corpus: PathBuf,
    /// The tasks file; `None` packs no tasks.
    pub tasks: Option<PathBuf>,
    /// The pack's file.
    pub out: PathBuf,
    /// Number of concurrent jobs to make what the cache lacks.
    pub threads: usize,
}

/// Result of packing.
#[derive(Debug)]
pub struct PackOutcome {
    /// Number of projects that are in the pack.
    pub projects: usize,
    /// Size of the contents.
    pub size: PackSize,
    /// The projects that are not in it.
    pub absent: Vec<AbsentProject>,
}

/// Packs sources, environments and baselines of a corpus; what the cache lacks of them is made
/// first.
///
/// # Errors
/// The corpus or the tasks are invalid, no project is ready, or the pack can't be written.
pub fn run(plan: &PackPlan, listener: &dyn Listener) -> Result<PackOutcome, PlayError> {
    let corpus = Corpus::from_environment()?;
    let manifest = load_manifest(&corpus, &plan.corpus, listener)?;
    if let Some(tasks) = &plan.tasks {
        check_projects(&task::read(tasks)?, &manifest, &plan.corpus)?;
    }
    let execution = ExecutionPlan::warm(plan.threads);
    let loader = ProjectLoader::new(&corpus, &execution, listener);
    let (projects, absent) = loader.load(&manifest)?;
    if projects.is_empty() {
        let what = format!("no project of {} can be packed", plan.corpus.display());
        return Err(none_ready(&what, &absent));
    }
    let contents = PackContents {
        corpus: keep_corpus(plan, &corpus, manifest)?,
        environments: projects
            .iter()
            .map(|project| &project.prepared.environment)
            .collect(),
        items: items(&corpus, &projects),
    };
    let size = pack(&corpus.cache, &contents, &plan.out)?;
    Ok(PackOutcome {
        projects: projects.len(),
        size,
        absent,
    })
}

/// All of the cache that preparing these projects used.
fn items(corpus: &Corpus, projects: &[PlayableProject]) -> BTreeSet<PathBuf> {
    let root = corpus.cache.root();
    let judges = projects.iter().filter_map(|project| project.judge.as_ref());
    let results = judges.flat_map(|judge| judge.kept_results());
    let mut items = corpus.cache.used_entries();
    items.extend(results.filter(|path| root.join(path).exists()));
    items
}

/// Keeps the manifest and the tasks in the cache, where the pack takes them from. The manifest
/// names what a worker has: for a source in a folder, its copy in the cache.
fn keep_corpus(
    plan: &PackPlan,
    corpus: &Corpus,
    mut manifest: Manifest,
) -> Result<PackedCorpus, PlayError> {
    // Stands for the folder in the cache, which is named after what it holds.
    let folder = Path::new("/corpus");
    let mut files = Vec::new();
    for project in &mut manifest.projects {
        if let SourcePin::Path(_) = project.source {
            let fetched = source::fetch(&corpus.cache, &corpus.toolchain, project, &|_| {})?;
            project.source = SourcePin::Path(fetched.root);
        }
        let config = project.test.as_mut().and_then(|test| test.config.as_mut());
        if let Some(config) = config {
            let text = std::fs::read(&*config).map_err(PlayError::file(&*config))?;
            let name = Path::new(&project.name).join(config.file_name().unwrap_or_default());
            *config = folder.join(&name);
            files.push((name, text));
        }
    }
    // The corpus keeps its name, which a run is known by.
    let name = format!("{}.toml", manifest.name());
    let text = manifest_text(&manifest, folder).into_bytes();
    files.insert(0, (name.into(), text));
    let tasks = Path::new("tasks.jsonl");
    if let Some(path) = &plan.tasks {
        let text = std::fs::read(path).map_err(PlayError::file(path))?;
        files.push((tasks.into(), text));
    }
    let tasks = plan.tasks.as_ref().map(|_| tasks);
    Ok(PackedCorpus::keep(&corpus.cache, &files, tasks)?)
}
