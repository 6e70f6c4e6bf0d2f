//! Makes a manifest of a repository that has none: a folder, or the repository at an address.
//!
//! What a language's repositories look like is known to `language`; here is what becomes of it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use fillrate_language::detection::{DetectedProject, RepositoryFiles};
use fillrate_language::environment::Packages;
use fillrate_language::programs::{self, CHECK_NETWORK};
use fillrate_language::{LANGUAGES, LanguageSupport};

use super::manifest::{Globs, Manifest, Project, SourcePin, plain_project_name};
use super::step::CorpusStep;
use super::{Corpus, CorpusError, environment, source, tree};

/// See [`Corpus::load_manifest`].
pub(super) fn load_manifest(corpus: &Corpus, location: &Path) -> Result<Manifest, CorpusError> {
    if let Some(address) = location.to_str().filter(|text| is_address(text)) {
        return detect_at(corpus, address);
    }
    // A broken link and a folder that can't be read exist: reading them says more.
    if location
        .symlink_metadata()
        .is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        return Err(CorpusError::Missing {
            path: location.to_owned(),
        });
    }
    if !location.is_dir() {
        return Ok(Manifest::read(location)?);
    }
    let root = std::path::absolute(location).map_err(CorpusError::io("reading", location))?;
    let entries = tree::kept_entries(&root)?;
    let paths = entries.into_iter().map(|entry| entry.path).collect();
    let folder_name = root
        .canonicalize()
        .ok()
        .and_then(|root| Some(root.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_default();
    let files = RepositoryFiles::new(&root, paths);
    detect(
        &files,
        location,
        &folder_name,
        &SourcePin::Path(root.clone()),
    )
}

/// Whether a corpus is named by the address of a repository.
pub fn is_address(text: &str) -> bool {
    ["https://", "ssh://", "git://", "file://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

/// Fetches the repository at an address and looks at its files.
fn detect_at(corpus: &Corpus, address: &str) -> Result<Manifest, CorpusError> {
    let (url, wanted) = split_revision(address);
    let name = url
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".git");
    let revision = resolve_revision(corpus, url, wanted)?;
    let pin = SourcePin::Git {
        url: url.to_owned(),
        revision,
    };
    // Only its source is needed of this project; the language is set after a look at it.
    let bare = project(
        LANGUAGES[0],
        plain_name(name),
        pin.clone(),
        DetectedProject::default(),
    )?;
    let fetched = source::fetch(&corpus.cache, &corpus.toolchain, &bare, &|_: CorpusStep| {})?;
    let entries = tree::entries(&fetched.root)?;
    let paths = entries.into_iter().map(|entry| entry.path).collect();
    let files = RepositoryFiles::new(&fetched.root, paths);
    detect(&files, Path::new(address), name, &pin)
}

/// The address and the revision after its last `@`; the user's name of `ssh://git@…` is none.
fn split_revision(address: &str) -> (&str, Option<&str>) {
    let path = address.find("://").map_or(0, |at| at + 3);
    let path = address[path..]
        .find('/')
        .map_or(address.len(), |at| path + at);
    match address[path..].rfind('@') {
        Some(at) => (&address[..path + at], Some(&address[path + at + 1..])),
        None => (address, None),
    }
}

/// The commit that a branch, a tag or nothing stands for.
fn resolve_revision(
    corpus: &Corpus,
    url: &str,
    wanted: Option<&str>,
) -> Result<String, CorpusError> {
    if let Some(commit) = wanted
        && commit.len() == 40
        && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return Ok(commit.to_lowercase());
    }
    environment::git(&corpus.toolchain)?;
    let wanted = wanted.unwrap_or("HEAD");
    let mut git = Command::new(&corpus.toolchain.git);
    git.args(["ls-remote", "--", url, wanted])
        .arg(format!("{wanted}^{{}}"))
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "https:ssh:git:file");
    let listed = programs::run(&mut git, url, CHECK_NETWORK)?;
    let found: Vec<(&str, &str)> = listed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    // The commit of an annotated tag is listed after the tag.
    let tagged = found.iter().find(|(_, name)| name.ends_with("^{}"));
    tagged
        .or(found.first())
        .map(|(commit, _)| (*commit).to_owned())
        .ok_or_else(|| {
            let message =
                format!("it has no branch or tag `{wanted}`; name one of these, or a whole commit");
            CorpusError::unusable(url, message)
        })
}

/// One project for each language that has tests, or else for the first that has sources.
fn detect(
    files: &RepositoryFiles,
    location: &Path,
    name: &str,
    source: &SourcePin,
) -> Result<Manifest, CorpusError> {
    let mut detected: Vec<(&'static LanguageSupport, DetectedProject)> = LANGUAGES
        .into_iter()
        .filter_map(|language| Some((language, (language.detect)(files)?)))
        .collect();
    if detected.iter().any(|(_, found)| found.test.is_some()) {
        detected.retain(|(_, found)| found.test.is_some());
    } else {
        detected.truncate(1);
    }
    if detected.is_empty() {
        let titles: Vec<&str> = LANGUAGES.iter().map(|language| language.title).collect();
        return Err(CorpusError::unusable(
            &location.display().to_string(),
            format!(
                "it has no sources in any of {}; name a folder that has some, or write a manifest \
                 (corpora/README.md)",
                titles.join(", ")
            ),
        ));
    }
    let several = detected.len() > 1;
    let mut manifest = Manifest {
        path: location.to_owned(),
        projects: Vec::new(),
        findings: Vec::new(),
    };
    for (language, mut found) in detected {
        let mut named = plain_name(found.name.as_deref().unwrap_or(name));
        if several {
            named = format!("{named}-{}", language.name);
        }
        let findings = std::mem::take(&mut found.findings);
        manifest.findings.push((named.clone(), findings));
        let project = project(language, named, source.clone(), found)?;
        manifest.projects.push(project);
    }
    Ok(manifest)
}

fn project(
    language: &'static LanguageSupport,
    name: String,
    source: SourcePin,
    found: DetectedProject,
) -> Result<Project, CorpusError> {
    let globs = |patterns: Vec<String>| {
        Globs::new(patterns.clone()).map_err(|(index, message)| {
            let pattern = patterns.get(index).map_or("", String::as_str);
            let message = format!("its file `{pattern}` can't be named in a glob: {message}");
            CorpusError::unusable(&name, message)
        })
    };
    Ok(Project {
        language,
        source,
        holes: globs(found.holes)?,
        exclude: globs(found.exclude)?,
        hidden: globs(found.hidden)?,
        environment: match found.test {
            Some(_) => found.environment,
            None => Packages::default(),
        },
        test: found.test,
        name: name.clone(),
    })
}

/// A name that a manifest may give a project, of the last part of a path.
fn plain_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or_default();
    plain_project_name(last, "repository")
}

/// Where a corpus is, as a run records it: an address as it is, anything else as an absolute path.
pub fn recorded_location(location: &Path) -> PathBuf {
    if location.to_str().is_some_and(is_address) {
        return location.to_owned();
    }
    std::path::absolute(location).unwrap_or_else(|_| location.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_stand_behind_the_path() {
        for (address, url, revision) in [
            ("https://a.b/c/d", "https://a.b/c/d", None),
            ("https://a.b/c/d@v1.2", "https://a.b/c/d", Some("v1.2")),
            (
                "ssh://git@a.b/c/d.git@main",
                "ssh://git@a.b/c/d.git",
                Some("main"),
            ),
            ("ssh://git@a.b/c", "ssh://git@a.b/c", None),
        ] {
            assert_eq!(split_revision(address), (url, revision));
        }
    }

    #[test]
    fn names_are_made_plain() {
        for (name, plain) in [("@scope/a b", "a-b"), (".x", "x"), ("", "repository")] {
            assert_eq!(plain_name(name), plain);
        }
    }
}
