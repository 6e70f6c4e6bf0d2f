//! Brings a project's source into the cache, from wherever its manifest says, verified against
//! its pin.
//!
//! Packages are fetched with the user's own clients, so that their settings (mirrors, proxies,
//! certificates, credentials) count. None of them runs code of the package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fillrate_language::environment::{EnvironmentError, Toolchain};
use fillrate_language::programs::{self, CHECK_NETWORK};
use fillrate_language::python::environment as pip;
use fillrate_language::typescript::environment as npm;
use serde::{Deserialize, Serialize};

use super::archive::{self, Hash};
use super::cache::{Cache, SOURCES, entry_name};
use super::error::CorpusError;
use super::manifest::{Project, SourcePin};
use super::step::CorpusStep;
use super::{environment, git, tree};

/// A source in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedSource {
    /// The folder that is the repository's root.
    pub root: PathBuf,
    /// [`tree::digest`] of it.
    pub digest: String,
    /// The names of files that it lacks because they are not UTF-8.
    pub unnamed: Vec<String>,
}

/// The cache's record of a source.
#[derive(Serialize, Deserialize)]
struct SourceRecord {
    /// Version of the format of this record and its tree.
    schema: u32,
    /// [`tree::digest`] of the tree when it was made.
    digest: String,
    /// See [`CachedSource::unnamed`]; of a folder they are looked up each time.
    #[serde(default)]
    unnamed: Vec<String>,
}

/// Counts up when a cached tree would come out differently from the same pin.
const SCHEMA: u32 = 1;

/// Pip, made to fetch a source distribution without running code of it.
const DOWNLOAD_SDIST: &str = include_str!("download_sdist.py");

/// Brings a project's source into the cache. A cached tree that was changed is fetched again.
///
/// # Errors
/// See [`CorpusError`]. Nothing that fails its pin is unpacked.
pub fn fetch(
    cache: &Cache,
    toolchain: &Toolchain,
    project: &Project,
    report_step: &dyn Fn(CorpusStep),
) -> Result<CachedSource, CorpusError> {
    let fetch = Fetch { toolchain, project };
    let (label, pin) = fetch.pin()?;
    let (folder, record) = cache.entry(
        SOURCES,
        &entry_name(&label, &[&SCHEMA.to_string(), &pin]),
        report_step,
        |folder, record: &SourceRecord| {
            tree::digest(&folder.join("tree")).is_ok_and(|digest| digest == record.digest)
        },
        |folder| {
            let root = folder.join("tree");
            fs::create_dir(&root).map_err(CorpusError::io("creating", &root))?;
            let scratch = folder.join("scratch");
            fs::create_dir(&scratch).map_err(CorpusError::io("creating", &scratch))?;
            let unnamed = fetch.fill(&root, &scratch)?;
            fs::remove_dir_all(&scratch).map_err(CorpusError::io("removing", &scratch))?;
            Ok(SourceRecord {
                schema: SCHEMA,
                digest: tree::digest(&root)?,
                unnamed,
            })
        },
    )?;
    let unnamed = match &project.source {
        // The pin does not depend on these files, so they may change without a new record.
        SourcePin::Path(path) => tree::unnamed_entries(path)?,
        _ => record.unnamed,
    };
    Ok(CachedSource {
        root: folder.join("tree"),
        digest: record.digest,
        unnamed,
    })
}

struct Fetch<'a> {
    toolchain: &'a Toolchain,
    project: &'a Project,
}

impl Fetch<'_> {
    /// A human-readable label and a text that differs whenever the source does.
    fn pin(&self) -> Result<(String, String), CorpusError> {
        let name = &self.project.name;
        Ok(match &self.project.source {
            SourcePin::Path(path) => {
                if !path.is_dir() {
                    return Err(CorpusError::unusable(
                        name,
                        format!(
                            "its source `{}` is not a folder; correct `path`",
                            path.display()
                        ),
                    ));
                }
                let digest = tree::digest_of(path, &tree::kept_entries(path)?)?;
                (name.clone(), format!("path {digest}"))
            }
            SourcePin::Pypi {
                name,
                version,
                sha256,
            } => (format!("{name}-{version}"), format!("pypi {sha256}")),
            SourcePin::Npm {
                name,
                version,
                integrity,
            } => (format!("{name}-{version}"), format!("npm {integrity}")),
            SourcePin::Git {
                url,
                revision,
                folder,
            } => {
                let mut pin = format!("git {url} {revision}");
                if let Some(folder) = folder {
                    pin = format!("{pin} {folder}");
                }
                (name.clone(), pin)
            }
            SourcePin::Archive { sha256, .. } => (name.clone(), format!("archive {sha256}")),
        })
    }

    /// Fills `root`; `scratch` holds temporary files, removed afterwards. Returns the names of
    /// files that are left out because they are not UTF-8.
    fn fill(&self, root: &Path, scratch: &Path) -> Result<Vec<String>, CorpusError> {
        let project = self.project.name.as_str();
        let mut unnamed = Vec::new();
        match &self.project.source {
            SourcePin::Path(path) => self.copy(path, root),
            SourcePin::Pypi {
                name,
                version,
                sha256,
            } => {
                let archive = self.download_sdist(name, version, sha256, scratch)?;
                archive::verify(project, &archive, Hash::Sha256, sha256)?;
                archive::unpack(project, &archive, root)
            }
            SourcePin::Npm {
                name,
                version,
                integrity,
            } => {
                let archive = self.pack(name, version, scratch)?;
                archive::verify(project, &archive, Hash::Integrity, integrity)?;
                archive::unpack(project, &archive, root)
            }
            SourcePin::Archive { url, sha256 } => {
                let archive = scratch.join("archive");
                download(project, url, &archive)?;
                archive::verify(project, &archive, Hash::Sha256, sha256)?;
                archive::unpack(project, &archive, root)
            }
            SourcePin::Git {
                url,
                revision,
                folder,
            } => {
                let clone = scratch.join("clone");
                self.check_out(url, revision, &clone)?;
                tree::check_links(project, &clone)?;
                let mut top = clone;
                if let Some(folder) = folder {
                    top.push(folder);
                    if !top.is_dir() {
                        let message = format!("revision {revision} has no folder `{folder}`");
                        return Err(CorpusError::unusable(project, message));
                    }
                    // Alone, it may have links to files outside.
                    tree::check_links(project, &top)?;
                }
                unnamed = tree::unnamed_entries(&top)?;
                tree::copy(&top, &tree::entries(&top)?, root)
            }
        }?;
        Ok(unnamed)
    }

    fn copy(&self, path: &Path, root: &Path) -> Result<(), CorpusError> {
        let entries = tree::kept_entries(path)?;
        let before = tree::digest_of(path, &entries)?;
        tree::copy(path, &entries, root)?;
        // The pin was taken before the copy, and somebody may be editing the folder.
        let (_, pin) = self.pin()?;
        if tree::digest(root)? != before || pin != format!("path {before}") {
            return Err(CorpusError::unusable(
                &self.project.name,
                format!(
                    "`{}` changed while it was copied; run this again",
                    path.display()
                ),
            ));
        }
        tree::check_links(&self.project.name, root)
    }

    fn download_sdist(
        &self,
        name: &str,
        version: &str,
        sha256: &str,
        scratch: &Path,
    ) -> Result<PathBuf, CorpusError> {
        let project = &self.project.name;
        let python = pip::python_with_pip(self.toolchain, project, scratch)?;
        let requirements = scratch.join("requirements.txt");
        fs::write(
            &requirements,
            format!("{name}=={version} --hash=sha256:{sha256}\n"),
        )
        .map_err(CorpusError::io("writing", &requirements))?;
        let into = scratch.join("fetched");
        let mut pip = Command::new(python);
        pip.args(["-c", DOWNLOAD_SDIST])
            .args(["download", "--no-input", "--disable-pip-version-check"])
            .args(["--no-deps", "--no-binary", ":all:", "--require-hashes"])
            .arg("--requirement")
            .arg(&requirements)
            .arg("--dest")
            .arg(&into)
            // What pip and the script leave behind is removed with the folder.
            .env("TMPDIR", scratch)
            .current_dir(scratch);
        let output = programs::capture(&mut pip).map_err(CorpusError::io("running", scratch))?;
        if !output.status.success() {
            // Pip compares before it unpacks; its finding is reported as ours would be.
            let text = String::from_utf8_lossy(&output.stderr);
            let got = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("Got "))
                .map(|digest| digest.trim().to_owned());
            return Err(match got {
                Some(actual) => CorpusError::HashMismatch {
                    project: project.clone(),
                    expected: sha256.to_owned(),
                    actual,
                },
                None => CorpusError::Environment(EnvironmentError::Command {
                    project: project.clone(),
                    command: format!("pip download --no-binary :all: {name}=={version}"),
                    message: programs::last_line(&output),
                    advice: CHECK_NETWORK,
                }),
            });
        }
        self.only_file(&into)
    }

    fn pack(&self, name: &str, version: &str, scratch: &Path) -> Result<PathBuf, CorpusError> {
        npm::npm(self.toolchain)?;
        let into = scratch.join("fetched");
        fs::create_dir(&into).map_err(CorpusError::io("creating", &into))?;
        let mut npm = Command::new(&self.toolchain.npm);
        npm.arg("pack")
            .arg(format!("{name}@{version}"))
            .args(["--ignore-scripts", "--pack-destination"])
            .arg(&into)
            .current_dir(scratch);
        programs::run(&mut npm, &self.project.name, CHECK_NETWORK)?;
        self.only_file(&into)
    }

    fn only_file(&self, folder: &Path) -> Result<PathBuf, CorpusError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).map_err(CorpusError::io("reading", folder))? {
            files.push(entry.map_err(CorpusError::io("reading", folder))?.path());
        }
        match &files[..] {
            [file]
                if file
                    .to_str()
                    .is_some_and(|name| name.ends_with(".tar.gz") || name.ends_with(".tgz")) =>
            {
                Ok(file.clone())
            }
            _ => Err(CorpusError::unusable(
                &self.project.name,
                "its package is not published as one `.tar.gz`; use `archive` or `git`".to_owned(),
            )),
        }
    }

    fn check_out(&self, url: &str, revision: &str, clone: &Path) -> Result<(), CorpusError> {
        let project = &self.project.name;
        environment::git(self.toolchain)?;
        fs::create_dir(clone).map_err(CorpusError::io("creating", clone))?;
        let git = |arguments: &[&str]| {
            let mut git = git::command(&self.toolchain.git, clone);
            // Neither git's configuration nor hooks decide over what is checked out.
            git.args(["-c", "core.hooksPath=/dev/null"])
                .args(["-c", "core.autocrlf=false"])
                .args(["-c", "advice.detachedHead=false"])
                .args(arguments)
                // Without these, git would ask someone who is not there, or run a remote helper
                // that the address names.
                .env("GIT_TERMINAL_PROMPT", "0")
                .env("GIT_ALLOW_PROTOCOL", "https:ssh:git:file")
                .env("GIT_LFS_SKIP_SMUDGE", "1");
            programs::run(&mut git, project, CHECK_NETWORK)
        };
        // A template of the machine could bring hooks and ignore files.
        git(&["init", "--quiet", "--template="])?;
        git(&[
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--",
            url,
            revision,
        ])?;
        git(&["checkout", "--quiet", "--detach", "FETCH_HEAD"])?;
        let head = git(&["rev-parse", "HEAD"])?;
        if head.trim() != revision {
            return Err(CorpusError::HashMismatch {
                project: project.clone(),
                expected: revision.to_owned(),
                actual: head.trim().to_owned(),
            });
        }
        let internal = clone.join(".git");
        fs::remove_dir_all(&internal).map_err(CorpusError::io("removing", &internal))
    }
}

fn download(project: &str, url: &str, into: &Path) -> Result<(), CorpusError> {
    let failed = |message: String| CorpusError::Download {
        project: project.to_owned(),
        url: url.to_owned(),
        message,
    };
    let get = || -> Result<Vec<u8>, String> {
        // Two providers cannot be installed; if there is one already, it is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let client = reqwest::Client::builder()
                .user_agent(concat!("fillrate/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(std::time::Duration::from_secs(30))
                .read_timeout(std::time::Duration::from_secs(60))
                .build()
                .map_err(|error| in_full(&error))?;
            let response = client
                .get(url)
                .send()
                .await
                .and_then(reqwest::Response::error_for_status)
                .map_err(|error| in_full(&error.without_url()))?;
            let bytes = response.bytes().await;
            bytes
                .map(|bytes| bytes.to_vec())
                .map_err(|error| in_full(&error.without_url()))
        })
    };
    // A thread of its own, because the caller may be inside another runtime.
    let fetched = std::thread::scope(|scope| scope.spawn(get).join());
    let bytes = fetched
        .unwrap_or_else(|_| Err("the client stopped".to_owned()))
        .map_err(failed)?;
    fs::write(into, bytes).map_err(CorpusError::io("writing", into))
}

/// Formats an error with its causes: the client's outer message alone is uninformative.
fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
