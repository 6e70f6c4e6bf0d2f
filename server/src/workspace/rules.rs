//! Rules on paths: hidden names, secrets, ignore files.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{HiddenReason, has_language};

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
    layers: Vec<Layer>,
    /// Number of layers above the workspace folder, which stay.
    outer: usize,
}

/// The ignore files of one folder. Each kind has a chain of its own, so a `.fillrateignore` cannot
/// restore what Git ignores.
struct Layer {
    chains: [Gitignore; 2],
}

const IGNORE_FILES: [&str; 2] = [".gitignore", ".fillrateignore"];

impl IgnoreRules {
    /// Loads the rules of the folders between a folder and the top of its Git repository. They do not
    /// apply if they ignore the folder itself, since it was opened on purpose. The user's global
    /// ignore file is not read, so that a repository has the same files on every machine.
    pub(super) fn above(root: &Path) -> Self {
        let mut rules = Self {
            layers: Vec::new(),
            outer: 0,
        };
        let Some(top) = root.ancestors().find(|folder| is_git_top(folder)) else {
            return rules;
        };
        let mut between: Vec<PathBuf> = root
            .ancestors()
            .take_while(|folder| *folder != top)
            .map(Path::to_path_buf)
            .collect();
        between.reverse();
        let mut current = top.to_path_buf();
        rules.layers.push(Layer::load_exclude(top));
        for folder in between {
            rules.enter(&current);
            if rules.ignored(&folder, true) {
                rules.layers.clear();
                break;
            }
            current = folder;
        }
        rules.outer = rules.layers.len();
        rules
    }

    /// Enters a folder.
    pub(super) fn enter(&mut self, folder: &Path) {
        self.layers.push(Layer::load(folder));
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
        } else if self.ignored(path, is_folder) {
            Some(HiddenReason::Ignored)
        } else if is_link {
            Some(HiddenReason::Symlink)
        } else if !is_folder && !has_language(path) {
            Some(HiddenReason::Language)
        } else {
            None
        }
    }

    fn ignored(&self, path: &Path, is_folder: bool) -> bool {
        (0..IGNORE_FILES.len()).any(|kind| {
            let decision = self
                .layers
                .iter()
                .rev()
                .map(|layer| layer.chains[kind].matched(path, is_folder))
                .find(|decision| !decision.is_none());
            decision.is_some_and(|decision| decision.is_ignore())
        })
    }
}

impl Layer {
    fn load(folder: &Path) -> Self {
        Self {
            chains: IGNORE_FILES.map(|name| {
                let file = folder.join(name);
                // Most folders have none, and a missing file is no error.
                if !file.is_file() {
                    return Gitignore::empty();
                }
                read(folder, &file)
            }),
        }
    }

    /// Loads the repository's `info/exclude`, which is weaker than any `.gitignore`.
    fn load_exclude(top: &Path) -> Self {
        let file = top.join(".git/info/exclude");
        let git = if file.is_file() {
            read(top, &file)
        } else {
            Gitignore::empty()
        };
        Self {
            chains: [git, Gitignore::empty()],
        }
    }
}

fn read(folder: &Path, file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    if let Some(error) = builder.add(file) {
        tracing::warn!(file = %file.display(), %error, "an ignore file has lines that can't be read");
    }
    builder.build().unwrap_or_else(|error| {
        tracing::warn!(file = %file.display(), %error, "an ignore file can't be used");
        Gitignore::empty()
    })
}

/// Whether a file is an ignore file, whose changes may hide or show other files.
pub fn is_ignore_file(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| IGNORE_FILES.iter().any(|known| name == *known))
}

fn is_git_top(folder: &Path) -> bool {
    folder.join(".git").exists()
}

/// The secret pattern that matches a name.
fn secret(name: &str, is_folder: bool) -> Option<&'static str> {
    let decision = SECRETS.matched(name, is_folder);
    let found = decision.inner()?.original();
    SECRET_PATTERNS
        .iter()
        .copied()
        .find(|pattern| *pattern == found)
}
