//! Rules on paths: hidden names, secrets, ignore files.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use super::{HiddenReason, has_language};
use crate::folders::below_home;

/// Name patterns of files that hold secrets, in any language, case-insensitive. A pattern that ends
/// with `/` matches a folder and everything in it.
pub const SECRET_PATTERNS: &[&str] = &[
    // Settings of the environment: `.env`, `.env.local`, `.envrc`.
    ".env*",
    "*.env",
    // Private keys and key stores.
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.pkcs12",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.asc",
    "*.gpg",
    "*.ppk",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    // Certificates and requests for them.
    "*.crt",
    "*.cer",
    "*.der",
    "*.csr",
    // Passwords and tokens of tools.
    ".npmrc",
    ".yarnrc*",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".vault-token",
    "kubeconfig*",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "service-account*.json",
    "service_account*.json",
    // Generic names.
    "credentials*",
    "secrets",
    "secrets.*",
    "secrets-*",
    "secrets_*",
    // Folders of such files.
    ".ssh/",
    ".gnupg/",
    ".aws/",
    ".azure/",
    ".kube/",
    ".docker/",
];

static SECRETS: LazyLock<Gitignore> = LazyLock::new(|| {
    let mut builder = GitignoreBuilder::new("");
    // Neither call fails on the table above; a test checks every pattern.
    let _ = builder.case_insensitive(true);
    for pattern in SECRET_PATTERNS {
        let _ = builder.add_line(None, pattern);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
});

/// The ignore files that apply to a folder, from the outermost folder to it.
pub(super) struct IgnoreRules {
    layers: Vec<Arc<Layer>>,
    /// Number of layers above the workspace folder, which stay.
    outer: usize,
}

/// The ignore files of one folder. Each kind has a chain of its own, so a `.fillrateignore` cannot
/// restore what Git ignores.
struct Layer {
    chains: [Gitignore; 2],
    /// True if one of the files exists and can't be read. Then everything in the folder is hidden.
    is_unreadable: bool,
}

/// The layers of folders that were entered, so that the rules of several files load each once.
#[derive(Default)]
pub(super) struct LayerCache(HashMap<PathBuf, Arc<Layer>>);

/// A repository's ignore file outside of its working tree.
const EXCLUDE_FILE: &str = ".git/info/exclude";

const IGNORE_FILES: [&str; 2] = [".gitignore", ".fillrateignore"];

impl IgnoreRules {
    /// Loads the rules of the folders between a folder and the top of its Git repository, or of all
    /// folders above it without one. They do not apply if they ignore the folder itself, since it
    /// was opened on purpose.
    pub(super) fn above(root: &Path, cache: &mut LayerCache) -> Self {
        Self::above_if(root, &|_| true, cache)
    }

    /// As [`Self::above`] for a folder at the end of a path with links: the rules of the folders that
    /// are not above its target, too.
    pub(super) fn above_link(root: &Path, target: &Path, cache: &mut LayerCache) -> Self {
        let is_apart = |folder: &Path| {
            let resolved = folder.canonicalize();
            resolved.is_ok_and(|resolved| !target.starts_with(resolved))
        };
        Self::above_if(root, &is_apart, cache)
    }

    fn above_if(root: &Path, counts: &dyn Fn(&Path) -> bool, cache: &mut LayerCache) -> Self {
        let mut rules = Self::empty();
        let Some(top) = git_top(root).or_else(|| root.ancestors().last()) else {
            return rules;
        };
        let mut between: Vec<PathBuf> = root
            .ancestors()
            .take_while(|folder| *folder != top)
            .map(Path::to_path_buf)
            .collect();
        between.reverse();
        let mut current = top.to_path_buf();
        for folder in between {
            if counts(&current) {
                rules.enter(&current, cache);
            }
            if rules.rule(&folder, true) == Some(HiddenReason::Ignored) {
                rules.layers.clear();
                break;
            }
            current = folder;
        }
        rules.outer = rules.layers.len();
        rules
    }

    /// Rules without any layer, for a walk from the top of a tree.
    pub(super) fn empty() -> Self {
        Self {
            layers: Vec::new(),
            outer: 0,
        }
    }

    /// Enters a folder.
    pub(super) fn enter(&mut self, folder: &Path, cache: &mut LayerCache) {
        let layer = cache.0.entry(folder.to_owned());
        let layer = layer.or_insert_with(|| Arc::new(Layer::load(folder)));
        self.layers.push(Arc::clone(layer));
    }

    /// Leaves the folder entered last.
    pub(super) fn leave(&mut self) {
        if self.layers.len() > self.outer {
            self.layers.pop();
        }
    }

    /// Why an entry of the folder entered last is hidden; `None` if it is visible.
    pub(super) fn reason(
        &self,
        path: &Path,
        is_folder: bool,
        is_link: bool,
    ) -> Option<HiddenReason> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Some(HiddenReason::Name);
        };
        if let Some(pattern) = secret(name, is_folder) {
            Some(HiddenReason::Secret(pattern))
        } else if name.starts_with('.') {
            Some(HiddenReason::DotFile)
        } else if let Some(reason) = self.rule(path, is_folder) {
            Some(reason)
        } else if is_link {
            Some(HiddenReason::Symlink)
        } else if !is_folder && !has_language(path) {
            Some(HiddenReason::Language)
        } else {
            None
        }
    }

    /// Why ignore files of the folders entered hide an entry of the last one.
    pub(super) fn rule(&self, path: &Path, is_folder: bool) -> Option<HiddenReason> {
        // What can't be read may hide anything.
        if self.layers.iter().any(|layer| layer.is_unreadable) {
            return Some(HiddenReason::UnreadableRules);
        }
        let is_ignored = (0..IGNORE_FILES.len()).any(|kind| {
            // The pattern of the innermost folder decides.
            let decision = self
                .layers
                .iter()
                .rev()
                .map(|layer| layer.chains[kind].matched(path, is_folder))
                .find(|decision| !decision.is_none());
            decision.is_some_and(|decision| decision.is_ignore())
        });
        is_ignored.then_some(HiddenReason::Ignored)
    }
}

impl Layer {
    fn load(folder: &Path) -> Self {
        let chains = Self::chains(folder).inspect_err(|error| {
            tracing::warn!(folder = %folder.display(), %error, "an ignore file can't be read");
        });
        Self {
            is_unreadable: chains.is_err(),
            chains: chains.unwrap_or([Gitignore::empty(), Gitignore::empty()]),
        }
    }

    fn chains(folder: &Path) -> io::Result<[Gitignore; 2]> {
        let [git, own] = IGNORE_FILES.map(|name| folder.join(name));
        // Within one chain the last match counts: a repository's `.gitignore` is over its
        // `info/exclude`, and that over `core.excludesFile`.
        let mut git_files = match GitDirectory::at(folder)? {
            Some(directory) => directory.exclude_files()?,
            None => Vec::new(),
        };
        git_files.push(git);
        Ok([read(folder, &git_files)?, read(folder, &[own])?])
    }
}

/// The administrative folders of a Git repository.
struct GitDirectory {
    /// The working tree's own: `.git`, or what a `.git` file of a linked worktree or a submodule
    /// names.
    own: PathBuf,
    /// The one that linked worktrees share.
    common: PathBuf,
}

impl GitDirectory {
    /// The repository whose working tree begins at a folder; `None` if there is none.
    fn at(folder: &Path) -> io::Result<Option<Self>> {
        let dot_git = folder.join(".git");
        let own = if dot_git.is_dir() {
            dot_git
        } else {
            let file = text(&dot_git)?.unwrap_or_default();
            let Some(named) = file.strip_prefix("gitdir:") else {
                return Ok(None);
            };
            folder.join(named.trim())
        };
        let common = match text(&own.join("commondir"))? {
            Some(shared) => own.join(shared.trim()),
            None => own.clone(),
        };
        Ok(Some(Self { own, common }))
    }

    /// The ignore files outside the working tree, the weakest first.
    fn exclude_files(&self) -> io::Result<Vec<PathBuf>> {
        let mut configured = None;
        // The working tree's own configuration takes precedence over the shared one.
        for file in [self.own.join("config.worktree"), self.common.join("config")] {
            if configured.is_none() {
                configured = text(&file)?.as_deref().and_then(excludes_file);
            }
        }
        let configured = configured.map(|path| self.own.parent().unwrap_or(&self.own).join(path));
        Ok(configured
            .or_else(gitconfig_excludes_path)
            .into_iter()
            .chain([self.common.join("info/exclude")])
            .collect())
    }
}

/// Returns a file's text; `None` if there is no such file. Bytes that are not UTF-8 become
/// replacement characters, so that a comment in another encoding costs no other line.
fn text(file: &Path) -> io::Result<Option<String>> {
    match fs::metadata(file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
        Ok(metadata) if !metadata.is_file() => Ok(None),
        Ok(_) => Ok(Some(String::from_utf8_lossy(&fs::read(file)?).into_owned())),
    }
}

/// The last `core.excludesFile` of a repository's configuration.
fn excludes_file(configuration: &str) -> Option<PathBuf> {
    let mut in_core = false;
    let mut found = None;
    for line in configuration.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section
                .split(']')
                .next()
                .is_some_and(|name| name.trim().eq_ignore_ascii_case("core"));
        } else if in_core
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    Some(below_home(Path::new(&found?)))
}

/// Reads the ignore files of a folder that exist, the weakest first.
fn read(folder: &Path, files: &[PathBuf]) -> io::Result<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for file in files {
        // Most folders have none.
        let Some(rules) = text(file)? else {
            continue;
        };
        for line in rules.trim_start_matches('\u{feff}').lines() {
            if let Err(error) = builder.add_line(Some(file.clone()), line) {
                tracing::warn!(file = %file.display(), %error, "an ignore file has a line that is no pattern");
            }
        }
    }
    builder.build().map_err(io::Error::other)
}

/// Returns the folder in which changes of an ignore file may hide or show files; `None` for other
/// files.
pub fn folder_of_ignore_file(path: &Path) -> Option<&Path> {
    let mut names = IGNORE_FILES.iter().chain([&EXCLUDE_FILE]);
    let name = names.find(|name| path.ends_with(name))?;
    path.ancestors().nth(Path::new(name).components().count())
}

/// The folder in which the working tree of a path's Git repository begins.
pub(super) fn git_top(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.join(".git").exists())
}

/// The pattern of secret folders, such as `.ssh/`, that matches a folder's name.
pub(super) fn secret_folder(name: &str) -> Option<&'static str> {
    secret(name, true).filter(|pattern| pattern.ends_with('/'))
}

/// The secret pattern that matches a name.
pub(super) fn secret(name: &str, is_folder: bool) -> Option<&'static str> {
    let decision = SECRETS.matched(name, is_folder);
    let found = decision.inner()?.original();
    SECRET_PATTERNS
        .iter()
        .copied()
        .find(|pattern| *pattern == found)
}
