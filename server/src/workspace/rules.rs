//! What a file's place and name say: hidden names, secrets, ignore files.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{HiddenReason, has_language};

/// Names under which secrets are kept, whatever the language they seem to be in; upper and lower
/// case count as one. A pattern that ends with `/` means a folder with all that is in it.
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
    // Whatever is called by its name.
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
    // Neither call can fail on the table above, which a test goes through one by one.
    let _ = builder.case_insensitive(true);
    for pattern in SECRET_PATTERNS {
        let _ = builder.add_line(None, pattern);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
});

/// The ignore files that hold at a place, from the outermost folder to it.
pub(super) struct IgnoreRules {
    layers: Vec<Layer>,
    /// Layers of folders above the workspace folder, which stay.
    outer: usize,
}

/// The ignore files of one folder. Each kind has a chain of its own: a `.fillrateignore` cannot
/// bring back what Git leaves out.
struct Layer {
    chains: [Gitignore; 2],
}

const IGNORE_FILES: [&str; 2] = [".gitignore", ".fillrateignore"];

impl IgnoreRules {
    /// The rules that reach into a folder from above: those of the folders between it and the top
    /// of its Git repository. None do if they leave out the folder itself, as whoever opened it
    /// meant to see it. The person's global ignore file is not read, so that a repository has the
    /// same files on every machine.
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
        let mut place = top.to_path_buf();
        rules.layers.push(Layer::exclude(top));
        for folder in between {
            rules.enter(&place);
            if rules.ignored(&folder, true) {
                rules.layers.clear();
                break;
            }
            place = folder;
        }
        rules.outer = rules.layers.len();
        rules
    }

    /// Goes into a folder.
    pub(super) fn enter(&mut self, folder: &Path) {
        self.layers.push(Layer::of(folder));
    }

    /// Goes out of the folder entered last.
    pub(super) fn leave(&mut self) {
        if self.layers.len() > self.outer {
            self.layers.pop();
        }
    }

    /// Why an entry of the folder entered last is hidden; nothing if it may be looked at.
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
    fn of(folder: &Path) -> Self {
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

    /// The repository's own list beside `.gitignore`, weaker than any of these.
    fn exclude(top: &Path) -> Self {
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

/// Whether a file says by its name that it hides others: where it changes, so may what may be seen.
pub fn is_ignore_file(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| IGNORE_FILES.iter().any(|known| name == *known))
}

fn is_git_top(folder: &Path) -> bool {
    folder.join(".git").exists()
}

/// The pattern by which a name is a secret's.
fn secret(name: &str, is_folder: bool) -> Option<&'static str> {
    let decision = SECRETS.matched(name, is_folder);
    let found = decision.inner()?.original();
    SECRET_PATTERNS
        .iter()
        .copied()
        .find(|pattern| *pattern == found)
}
