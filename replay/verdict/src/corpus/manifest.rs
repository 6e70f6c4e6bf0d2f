//! The manifest: a TOML file that names projects, pins their sources and environments, and has the
//! settings of their tests. `corpora/README.md` documents the format.
//!
//! The file is read by hand from a table with positions, so that every error can name its file,
//! line and key.

mod globs;
mod project;
mod read;
mod section;
mod write;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

pub use globs::Globs;
pub use project::{Project, SourcePin, plain_project_name};
pub use section::ManifestError;
use section::{ManifestText, Section};
pub use write::manifest_text;

/// The version of the format that this module reads, the manifest's `schema`.
pub const SCHEMA: u32 = 1;

/// A manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The file it was read from, or the folder or address in which its projects were detected.
    pub path: PathBuf,
    /// The projects (`[[project]]`), in the file's order; no two have one name.
    pub projects: Vec<Project>,
    /// Findings and decisions of detection, by project, a sentence each; empty for a file.
    pub findings: Vec<(String, Vec<String>)>,
}

impl Manifest {
    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// The first error in it, an unreadable file included.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let text = std::fs::read_to_string(path).map_err(|error| ManifestError {
            file: path.to_owned(),
            line: 1,
            key: String::new(),
            message: format!("the manifest cannot be read: {error}"),
        })?;
        Self::parse(&text, path)
    }

    /// Checks a manifest's text. `path` names it in errors, and paths in it are relative to
    /// `path`'s folder.
    ///
    /// # Errors
    /// The first error in it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ManifestError> {
        let reader = ManifestText { text, path };
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = format!(
                "this is not TOML: {}",
                error.message().trim_end_matches('.')
            );
            reader.error(span, "", message)
        })?;
        let top = Section {
            reader: &reader,
            key: String::new(),
            span: table.span(),
            table: table.get_ref(),
        };
        top.only(&["schema", "project"])?;
        let version = top.required("schema", top.integer("schema")?)?;
        if version != i64::from(SCHEMA) {
            let message = format!("is {version}, but this version of Fillrate reads {SCHEMA}");
            return Err(top.wrong("schema", message));
        }
        let mut projects = Vec::new();
        let mut lines = HashMap::new();
        for section in top.tables("project")? {
            let project = section.project()?;
            let name = &project.name;
            if let Some(line) = lines.insert(name.clone(), section.line("name")) {
                let message = format!(
                    "is `{name}`, as is the name of the project on line {line}; give each its own"
                );
                return Err(section.wrong("name", message));
            }
            projects.push(project);
        }
        Ok(Self {
            path: path.to_owned(),
            projects,
            findings: Vec::new(),
        })
    }

    /// The name of the corpus: its file's without the ending, or that of the detected project.
    pub fn name(&self) -> String {
        match self.projects.first().filter(|_| !self.findings.is_empty()) {
            Some(project) => project.name.clone(),
            None => {
                let stem = self.path.file_stem().unwrap_or_default();
                stem.to_string_lossy().into_owned()
            }
        }
    }

    /// The project of this name.
    pub fn project(&self, name: &str) -> Option<&Project> {
        self.projects.iter().find(|project| project.name == name)
    }
}
