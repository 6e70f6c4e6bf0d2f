//! Output of an import: a tasks file, a manifest, and the sources of made projects.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fillrate_language::task::{Hole, WholeFile, sha256_hex};
use fillrate_verdict::corpus::tree;
use tempfile::TempDir;

use super::error::{ImportError, RecordFault};
use super::task::{FileOrigin, ImportedTask, TaskRunner, TaskTests, is_playable};
use crate::dependencies::DependencyIndex;

/// Result of an import.
#[derive(Debug, Default)]
pub struct ImportSummary {
    /// Holes in the tasks file.
    pub holes: usize,
    /// Those of them that tests decide over.
    pub judged: usize,
    /// Those of them that can't be played, by their language.
    pub unplayable: BTreeMap<String, usize>,
    /// Projects in the manifest.
    pub projects: usize,
    /// The manifest, if there is any project.
    pub manifest: Option<PathBuf>,
    /// The records that can't be used, each with the reason.
    pub unusable: Vec<ImportError>,
    /// The records whose task got another id, because an earlier record has it.
    pub renamed: Vec<ImportError>,
}

/// The manifest's name in the corpus folder.
const MANIFEST: &str = "corpus.toml";

/// The folder of the tests that are added to a repository.
pub(super) const TESTS: &str = "fillrate_tests";

/// The line by which a manifest shows that an import wrote it, so that it may be replaced.
const MARK: &str = "# Written by `fillrate import";

/// An import under way: everything is written to temporary files first.
pub(super) struct ImportWriter {
    format: &'static str,
    to: PathBuf,
    corpus: PathBuf,
    tasks: WholeFile,
    /// In the order of the records.
    holes: Vec<Hole>,
    folder: TempDir,
    projects: BTreeMap<String, WrittenProject>,
    summary: ImportSummary,
}

/// State of a project while the import runs.
struct WrittenProject {
    language: &'static str,
    /// True if its holes can be played.
    playable: bool,
    /// Folder of the repository, if it comes from one.
    repository: Option<PathBuf>,
    /// True once the repository is copied.
    copied: bool,
    /// Files with holes.
    holes: BTreeSet<String>,
    /// Files of tests.
    tests: BTreeSet<String>,
    /// Runner of the tests; `None` without tests.
    runner: Option<TaskRunner>,
    packages: Vec<String>,
    timeout: Option<u16>,
    /// By path, the hash of what was written there.
    written: BTreeMap<String, String>,
}

/// Reason why a task can't be added.
pub(super) enum AddError {
    /// Its record is at fault.
    Record(RecordFault),
    /// Something else is.
    Import(ImportError),
}

impl From<ImportError> for AddError {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

impl ImportWriter {
    pub(super) fn begin(format: &'static str, to: &Path) -> Result<Self, ImportError> {
        let parent = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let Some(name) = to.file_stem().filter(|_| !to.is_dir()) else {
            return Err(ImportError::Refused(format!(
                "{} can't be the tasks file: it is a folder",
                to.display()
            )));
        };
        let corpus = to.with_file_name(format!("{}.corpus", name.to_string_lossy()));
        let manifest = corpus.join(MANIFEST);
        let ours = fs::read_to_string(&manifest).is_ok_and(|text| text.starts_with(MARK));
        if corpus.exists() && !ours {
            return Err(ImportError::Refused(format!(
                "{} is there already, and no import wrote it; move it, or name another tasks file",
                corpus.display()
            )));
        }
        let fault = |error| ImportError::file(parent)(error);
        Ok(Self {
            format,
            to: to.to_owned(),
            corpus,
            // Both next to the result, as files are renamed only within one file system.
            tasks: WholeFile::create(to).map_err(fault)?,
            folder: tempfile::Builder::new()
                .prefix(".import")
                // It becomes the corpus, which is like any other folder.
                .permissions(Permissions::from_mode(0o777))
                .tempdir_in(parent)
                .map_err(fault)?,
            holes: Vec::new(),
            projects: BTreeMap::new(),
            summary: ImportSummary::default(),
        })
    }

    /// Number of holes.
    pub(super) fn holes(&self) -> usize {
        self.holes.len()
    }

    /// Adds a task's hole and writes its files.
    pub(super) fn add(&mut self, task: ImportedTask) -> Result<(), AddError> {
        let hole = task.hole();
        let playable = is_playable(&task.path);
        let (language, has_tests) = (task.language, task.tests.is_some());
        let root = self.folder.path().join(&task.project);
        let made = matches!(task.text.origin, FileOrigin::Record) || task.tests.is_some();
        let repository = match &task.text.origin {
            FileOrigin::Repository(folder) => {
                Some(std::path::absolute(folder).map_err(ImportError::file(folder))?)
            }
            FileOrigin::Record => None,
        };
        let name = task.project.clone();
        let project = self.projects.entry(name).or_insert_with(|| WrittenProject {
            language: task.language,
            playable,
            repository: repository.clone(),
            copied: false,
            holes: BTreeSet::new(),
            tests: BTreeSet::new(),
            runner: None,
            packages: Vec::new(),
            timeout: None,
            written: BTreeMap::new(),
        });
        if project.repository != repository {
            return Err(AddError::Record(RecordFault::new(
                "project",
                format!("`{}` names two repositories", task.project),
            )));
        }
        let mixed = !project.holes.is_empty()
            && (project.language != task.language
                || project.tests.is_empty() != task.tests.is_none());
        if mixed {
            return Err(AddError::Record(RecordFault::new(
                "project",
                format!(
                    "`{}` has holes in {} already, and tests for all of them or for none",
                    task.project, project.language
                ),
            )));
        }
        // Tests are added to a copy, so that the repository stays unchanged.
        if made && let (Some(repository), false) = (&repository, project.copied) {
            tree::copy_folder(repository, &root).map_err(ImportError::from)?;
            project.copied = true;
        }
        if repository.is_none() {
            project.write(&root, &task.path, &task.text.contents)?;
        }
        if let Some(tests) = task.tests {
            project.lay(&root, tests)?;
        }
        project.holes.insert(task.path);
        self.holes.push(hole);
        self.summary.holes += 1;
        self.summary.judged += usize::from(has_tests);
        if !playable {
            let count = self.summary.unplayable.entry(language.to_owned());
            *count.or_default() += 1;
        }
        Ok(())
    }

    /// Finds what the holes in repositories depend on, and writes all of them.
    fn write_holes(&mut self) -> Result<(), ImportError> {
        for (name, project) in &self.projects {
            let Some(repository) = &project.repository else {
                continue;
            };
            let files = tree::source_files(repository)?;
            let index = DependencyIndex::new(&files);
            for hole in self.holes.iter_mut().filter(|hole| hole.project == *name) {
                let range = hole.start.0..hole.end.0;
                hole.dependencies = Some(index.names_used(&hole.path, &range));
                if hole.repoexec_dependencies.is_none() {
                    let names = index.names_used_or_imported(&hole.path, &range);
                    hole.repoexec_dependencies = Some(names);
                }
            }
        }
        for hole in &self.holes {
            let line = serde_json::to_string(hole)
                .map_err(|error| ImportError::file(&self.to)(error.into()))?;
            writeln!(self.tasks, "{line}").map_err(ImportError::file(&self.to))?;
        }
        Ok(())
    }

    /// Puts everything in its place. `packages` are those that a person gave.
    pub(super) fn finish(mut self, packages: &[String]) -> Result<ImportSummary, ImportError> {
        let is_used = |pin: &String| self.projects.values().any(|it| it.packages.contains(pin));
        if let Some(unused) = packages.iter().find(|pin| !is_used(pin)) {
            return Err(ImportError::Refused(format!(
                "no project that this import makes installs the package `{unused}`"
            )));
        }
        self.write_holes()?;
        let manifest = self.folder.path().join(MANIFEST);
        let mut text = format!(
            "{MARK} {}`; the next import to here replaces it.\n",
            self.format
        );
        text.push_str("schema = 1\n");
        for (name, project) in &self.projects {
            if project.playable && !project.holes.is_empty() {
                self.summary.projects += 1;
                text.push_str(&project.manifest(name));
            }
        }
        fs::write(&manifest, text).map_err(ImportError::file(&manifest))?;
        if self.summary.projects > 0 {
            self.summary.manifest = Some(self.corpus.join(MANIFEST));
        }
        let to = self.to;
        self.tasks.flush().map_err(ImportError::file(&to))?;
        // A folder can't be put in another's place in one step: the old one is moved aside first.
        let fault = |error| ImportError::file(&self.corpus)(error);
        let parent = self.corpus.parent().filter(|it| !it.as_os_str().is_empty());
        let aside = tempfile::Builder::new()
            .prefix(".import")
            .tempdir_in(parent.unwrap_or(Path::new(".")))
            .map_err(fault)?;
        if self.corpus.exists() {
            fs::rename(&self.corpus, aside.path().join("old")).map_err(fault)?;
        }
        let fresh = self.folder.keep();
        fs::rename(&fresh, &self.corpus).map_err(fault)?;
        // The tasks come last, so that they never name a corpus that is not there.
        self.tasks.finish().map_err(ImportError::file(&to))?;
        Ok(self.summary)
    }
}

impl WrittenProject {
    /// Writes a file of a made project; two tasks may share one.
    fn write(&mut self, root: &Path, path: &str, contents: &str) -> Result<(), AddError> {
        let hash = sha256_hex(contents.as_bytes());
        match self.written.get(path) {
            Some(known) if *known == hash => return Ok(()),
            Some(_) => {
                return Err(AddError::Record(RecordFault::new(
                    "task_id",
                    format!("leads to {path}, which another task has with other contents"),
                )));
            }
            None => {}
        }
        let file = root.join(path);
        put(&file, contents.as_bytes())?;
        self.written.insert(path.to_owned(), hash);
        Ok(())
    }

    /// Lays tests into the project.
    fn lay(&mut self, root: &Path, tests: TaskTests) -> Result<(), AddError> {
        // A file that this import has written is no file of the repository.
        if root.join(&tests.path).exists() && !self.written.contains_key(&tests.path) {
            return Err(AddError::Record(RecordFault::new(
                "project",
                format!("has a file {} of its own", tests.path),
            )));
        }
        self.write(root, &tests.path, &tests.text)?;
        if self.repository.is_none() && tests.runner == TaskRunner::Pytest {
            // So that tests are named from the project's top.
            self.write(root, "pytest.ini", "[pytest]\n")?;
        }
        for (from, to) in &tests.more_files {
            let bytes = fs::read(from).map_err(ImportError::file(from))?;
            put(&root.join(to), &bytes)?;
        }
        self.tests.insert(tests.path);
        let own = tests.runner.packages().iter().map(ToString::to_string);
        self.packages = own.chain(tests.packages).collect();
        self.runner = Some(tests.runner);
        self.timeout = tests.timeout;
        Ok(())
    }

    /// Its lines in the manifest.
    fn manifest(&self, name: &str) -> String {
        let source = match &self.repository {
            Some(folder) if self.tests.is_empty() => folder.display().to_string(),
            _ => name.to_owned(),
        };
        let mut lines = format!(
            "\n[[project]]\nname = {}\nlanguage = {}\nsource = {{ path = {} }}\n",
            quoted(name),
            quoted(self.language),
            quoted(&source)
        );
        if self.repository.is_some() {
            let holes = self.holes.iter().map(|path| pattern(path));
            lines += &format!("holes = {}\n", list(holes));
            if !self.tests.is_empty() {
                let hidden = [format!("/{TESTS}/"), "/output/".to_owned()];
                lines += &format!("hidden = {}\n", list(hidden.into_iter()));
            }
        } else {
            let holes: BTreeSet<String> = match self.tests.is_empty() {
                true => ["*".to_owned()].into(),
                // Programs have a folder of their own, beside the tests'.
                false => {
                    let folders = self.holes.iter().filter_map(|path| path.split_once('/'));
                    folders.map(|(top, _)| format!("/{top}/")).collect()
                }
            };
            // Other tasks of the same benchmark can give a hole away.
            let holes = list(holes.into_iter());
            lines += &format!("holes = {holes}\nhidden = [\"*\"]\n");
        }
        if let Some(runner) = self.runner {
            let args = if self.repository.is_some() {
                &["--rootdir=.", TESTS]
            } else {
                runner.arguments()
            };
            lines += &format!(
                "\n[project.environment]\npackages = {}\n\n[project.test]\nrunner = {}\nargs = {}\n",
                list(self.packages.iter().cloned()),
                quoted(runner.name()),
                list(args.iter().map(ToString::to_string)),
            );
            if runner == TaskRunner::Pytest {
                lines += "path = [\".\"]\n";
            }
            if let Some(seconds) = self.timeout {
                lines += &format!("timeout = {seconds}\n");
            }
            if self.repository.is_none() {
                // Each program is a task of its own and does not depend on the others.
                lines += "min_share = 0.0\n";
            }
        }
        lines
    }
}

fn put(file: &Path, bytes: &[u8]) -> Result<(), ImportError> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(ImportError::file(folder))?;
    }
    fs::write(file, bytes).map_err(ImportError::file(file))
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn list(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.map(|text| quoted(&text)).collect();
    format!("[{}]", texts.join(", "))
}

/// The pattern of a manifest that matches one file at the top.
fn pattern(path: &str) -> String {
    let escaped: String = path
        .chars()
        .flat_map(|c| {
            let special = "\\*?[]!#{} ".contains(c);
            special.then_some('\\').into_iter().chain([c])
        })
        .collect();
    format!("/{escaped}")
}
