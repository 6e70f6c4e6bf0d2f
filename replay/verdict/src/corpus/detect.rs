//! Makes a manifest of a repository that has none: a folder, or the repository at an address.
//!
//! The crate `language` recognizes a language's repositories; this module makes the manifest of its
//! findings.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use fillrate_language::detection::{
    DetectedProject, RepositoryFiles, is_part_of_workspace, is_top_of_workspace,
};
use fillrate_language::environment::Packages;
use fillrate_language::java;
use fillrate_language::programs::{self, CHECK_NETWORK};
use fillrate_language::python;
use fillrate_language::{LANGUAGES, LanguageSupport, is_test_file};
use fillrate_syntax::Language;
use fillrate_syntax::spelling::nearest_name;

use super::manifest::{Globs, Manifest, Project, SourcePin, plain_project_name};
use super::step::CorpusStep;
use super::{Corpus, CorpusError, environment, shell_word, source, tree};

/// See [`Corpus::load_manifest`].
pub(super) fn load_manifest(corpus: &Corpus, location: &Path) -> Result<Manifest, CorpusError> {
    if let Some(address) = address_of(location) {
        return match address.split_once(PACKAGE_MARK) {
            Some((address, folder)) => {
                let (top, _, pin) = fetch_address(corpus, address)?;
                if !top.join(folder).is_dir() {
                    let message = format!("it has no folder `{folder}`");
                    return Err(CorpusError::unusable(address, message));
                }
                let paths = tree::entries(&top)?.into_iter().map(|entry| entry.path);
                let files = RepositoryFiles::new(&top, paths.collect());
                detect_package(&files, location, folder, &pin)
            }
            None => detect_at(corpus, &address),
        };
    }
    // A broken link and a folder that can't be read exist: reading them says more.
    if location
        .symlink_metadata()
        .is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        return Err(CorpusError::Missing {
            path: location.to_owned(),
            nearest: nearest_path(location),
        });
    }
    if !location.is_dir() {
        return Ok(Manifest::read(location)?);
    }
    let root = std::path::absolute(location).map_err(CorpusError::io("reading", location))?;
    let folder_name = root
        .canonicalize()
        .ok()
        .and_then(|root| Some(root.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_default();
    if let Some((top, folder)) = workspace_around(&root, Path::new("/")) {
        let name = package_name(&folder, &root);
        let paths = tree::kept_entries(&top)?
            .into_iter()
            .map(|entry| entry.path);
        let files = RepositoryFiles::new(&top, paths.collect()).focused(&folder);
        return detect(&files, location, &name, &SourcePin::Path(top));
    }
    let files = files_of(&root)?;
    detect(&files, location, &folder_name, &SourcePin::Path(root))
}

/// Returns the path beside one that does not exist whose name is the nearest to its own, if one is
/// near.
fn nearest_path(missing: &Path) -> Option<PathBuf> {
    let name = missing.file_name()?.to_str()?;
    let folder = missing.parent().filter(|it| !it.as_os_str().is_empty());
    let entries = folder.unwrap_or(Path::new(".")).read_dir().ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Some(missing.with_file_name(nearest_name(name, &names)?))
}

/// Returns the top of the workspace that a folder is a part of, and the folder relative to it. The
/// part can't be built without the others. The top is `limit` or below.
fn workspace_around(root: &Path, limit: &Path) -> Option<(PathBuf, String)> {
    let mut found = None;
    let tops = root.ancestors().skip(1);
    for top in tops.take_while(|top| top.starts_with(limit)) {
        // A repository within another one is its own.
        let is_inside = root.ancestors().take_while(|folder| *folder != top);
        if is_inside
            .into_iter()
            .any(|folder| folder.join(".git").exists())
        {
            break;
        }
        let folder = root.strip_prefix(top).ok()?.to_str()?;
        if is_top_of_workspace(top, folder) {
            // No `break`: of nested workspaces, the outermost counts.
            found = Some((top.to_owned(), folder.to_owned()));
        }
    }
    found
}

/// The files of a folder of this machine.
fn files_of(root: &Path) -> Result<RepositoryFiles, CorpusError> {
    let entries = tree::kept_entries(root)?;
    let paths = entries.into_iter().map(|entry| entry.path).collect();
    Ok(RepositoryFiles::new(root, paths))
}

/// Detects the projects of the package in a folder of a repository: together with the others if it
/// is a part of their workspace, or else by itself.
fn detect_package(
    files: &RepositoryFiles,
    location: &Path,
    folder: &str,
    source: &SourcePin,
) -> Result<Manifest, CorpusError> {
    let root = files.root().join(folder);
    let name = package_name(folder, &root);
    if is_part_of_workspace(files.root(), folder) {
        return detect_alone(&files.focused(folder), location, &name, source, &[]);
    }
    let (top, focus) = workspace_around(&root, files.root()).unwrap_or((root, String::new()));
    // An address keeps its pin, and names the folder.
    let source = match source {
        SourcePin::Git { url, revision, .. } => SourcePin::Git {
            url: url.clone(),
            revision: revision.clone(),
            folder: top
                .strip_prefix(files.root())
                .ok()
                .and_then(Path::to_str)
                .filter(|folder| !folder.is_empty())
                .map(str::to_owned),
        },
        _ => SourcePin::Path(top.clone()),
    };
    let files = files_of(&top)?.focused(&focus);
    detect_alone(&files, location, &name, &source, &[])
}

/// The most packages that are looked at for tests that can run.
const LOOKED_AT: usize = 5;

/// Returns the projects of the package with the most files of tests, of those whose tests can run.
fn detect_most_tested(
    files: &RepositoryFiles,
    location: &Path,
    packages: &[String],
    source: &SourcePin,
) -> Option<Manifest> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in files.paths().filter(|path| is_test_file(path)) {
        // A test counts for the innermost package that it is in.
        let mut folders = path.rmatch_indices('/').map(|(end, _)| &path[..end]);
        let owner = folders.find(|folder| packages.iter().any(|package| package == folder));
        if let Some(owner) = owner {
            *counts.entry(owner).or_default() += 1;
        }
    }
    let mut counted: Vec<(&str, usize)> = counts.into_iter().collect();
    counted.sort_by_key(|(folder, count)| (std::cmp::Reverse(*count), *folder));
    counted.into_iter().take(LOOKED_AT).find_map(|(folder, _)| {
        let mut found = detect_package(files, location, folder, source).ok()?;
        let is_tested = has_tests(&found);
        let (_, findings) = found.findings.first_mut().filter(|_| is_tested)?;
        findings.insert(
            0,
            format!(
                "package: {folder}, since the top has no tests that can run: of those whose tests \
                 can, it has the most"
            ),
        );
        Some(found)
    })
}

/// Separates an address from the folder of a package in its repository.
const PACKAGE_MARK: char = '#';

/// Returns the location of a package of the repository at a location. `name` is its folder, the
/// last part of it, or the name in its metadata.
///
/// # Errors
/// The location is no repository, or has no such package or several; the message lists all.
pub(super) fn locate_package(
    corpus: &Corpus,
    location: &Path,
    name: &str,
) -> Result<PathBuf, CorpusError> {
    let address = address_of(location);
    let (root, entries) = match &address {
        Some(address) => {
            let root = fetch_address(corpus, address)?.0;
            let entries = tree::entries(&root)?;
            (root, entries)
        }
        None if location.is_dir() => (location.to_owned(), tree::kept_entries(location)?),
        None => {
            let message = "`--package` selects one in a repository, and this is a manifest: name \
                           the repository, or leave the option out";
            let shown = location.display().to_string();
            return Err(CorpusError::unusable(&shown, message.to_owned()));
        }
    };
    let paths = entries.into_iter().map(|entry| entry.path).collect();
    let files = RepositoryFiles::new(&root, paths);
    let packages = inner_packages(&files);
    let name = name.trim_end_matches('/').trim_start_matches("./");
    // A whole path is unique, whereas two packages may have folders or metadata of the same name.
    let by_folder = packages.iter().filter(|folder| *folder == name);
    let mut found: Vec<&String> = by_folder.collect();
    if found.is_empty() {
        let is_named = |folder: &&String| {
            folder.rsplit('/').next() == Some(name)
                || package_name(folder, &root.join(folder.as_str())) == name
        };
        found = packages.iter().filter(is_named).collect();
    }
    match (found.as_slice(), address) {
        ([folder], Some(address)) => Ok(format!("{address}{PACKAGE_MARK}{folder}").into()),
        ([folder], None) => Ok(location.join(folder)),
        (others, _) => {
            let message = match others.len() {
                0 => format!("it has no package `{name}`; "),
                count => format!("it has {count} packages `{name}`; "),
            };
            let commands = match packages.is_empty() {
                true => "it has no packages below its top".to_owned(),
                false => own_commands(location, &packages),
            };
            let shown = location.display().to_string();
            Err(CorpusError::unusable(&shown, message + &commands))
        }
    }
}

/// Returns the name of a package in its metadata, or else its folder's.
fn package_name(folder: &str, root: &Path) -> String {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).ok();
    let python = || python::workspaces::name_of(&read("pyproject.toml")?.parse().ok()?);
    let node = || {
        let package: serde_json::Value = serde_json::from_str(&read("package.json")?).ok()?;
        Some(package.get("name")?.as_str()?.to_owned())
    };
    let go = || {
        let text = read("go.mod")?;
        let module = text.lines().find_map(|line| line.strip_prefix("module"))?;
        Some(module.trim().trim_matches('"').to_owned())
    };
    let last = || folder.rsplit('/').next().unwrap_or_default().to_owned();
    let java = || java::modules::module_name("", &read);
    let named = python().or_else(node).or_else(go).or_else(java);
    named.unwrap_or_else(last)
}

/// Hosts of repositories whose addresses people paste without a scheme.
const HOSTS: [&str; 5] = [
    "bitbucket.org",
    "codeberg.org",
    "git.sr.ht",
    "github.com",
    "gitlab.com",
];

/// Returns the address of the repository that a corpus is named by, in the form that git takes,
/// with its revision; `None` for a path. An existing path is a path, except a repository's folder
/// with a revision: `DIR@REVISION`.
fn address_of(location: &Path) -> Option<String> {
    let text = location.to_str()?;
    let has_scheme = ["https://", "ssh://", "git://", "file://"]
        .iter()
        .any(|scheme| text.starts_with(scheme));
    if has_scheme {
        return Some(from_page(text));
    }
    if location.symlink_metadata().is_ok() {
        return None;
    }
    let host = text.trim_start_matches("www.").split('/').next()?;
    if HOSTS.contains(&host) {
        return Some(from_page(&format!(
            "https://{}",
            text.trim_start_matches("www.")
        )));
    }
    // As `git clone` takes it: USER@HOST:PATH.
    if let Some((place, path)) = text.split_once(':')
        && place.contains('@')
        && !place.contains('/')
        && !path.is_empty()
    {
        return Some(format!("ssh://{place}/{}", path.trim_start_matches('/')));
    }
    let (folder, revision) = text.rsplit_once('@')?;
    let folder = Path::new(folder).canonicalize().ok()?;
    let is_repository = !revision.is_empty() && folder.join(".git").exists();
    // git decodes what follows the scheme.
    let path = folder.display().to_string().replace('%', "%25");
    is_repository.then(|| format!("file://{path}@{revision}"))
}

/// Returns the address of the repository of a GitHub or GitLab page: `…/tree/REVISION`.
fn from_page(address: &str) -> String {
    let parts = ["/-/tree/", "/tree/", "/-/commit/", "/commit/"];
    let found = parts
        .iter()
        .find_map(|part| address.split_once(part))
        .filter(|_| address.starts_with("https://") && !address.contains('@'));
    match found {
        // A branch's name may have a slash, but what follows it is a folder far more often.
        Some((repository, revision)) => match revision.split(['/', '?', '#']).next() {
            Some(revision) if !revision.is_empty() => format!("{repository}@{revision}"),
            _ => repository.to_owned(),
        },
        None => address.to_owned(),
    }
}

/// Fetches the repository at an address and looks at its files.
fn detect_at(corpus: &Corpus, address: &str) -> Result<Manifest, CorpusError> {
    let (root, name, pin) = fetch_address(corpus, address)?;
    let entries = tree::entries(&root)?;
    let paths = entries.into_iter().map(|entry| entry.path).collect();
    let files = RepositoryFiles::new(&root, paths);
    detect(&files, Path::new(address), &name, &pin)
}

/// Fetches the repository at an address: its folder in the cache, its name and its pin.
fn fetch_address(
    corpus: &Corpus,
    address: &str,
) -> Result<(PathBuf, String, SourcePin), CorpusError> {
    let (url, wanted) = split_revision(address);
    if let Some(plain) = without_password(url) {
        return Err(CorpusError::unusable(
            &plain,
            "its address holds a password, which records and messages would show; leave it out, \
             and let git's credential helper supply it"
                .to_owned(),
        ));
    }
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
        folder: None,
    };
    // Only the source of this project is needed; its language is detected there.
    let bare = project(
        LANGUAGES[0],
        plain_name(name),
        pin.clone(),
        DetectedProject::default(),
    )?;
    let fetched = source::fetch(&corpus.cache, &corpus.toolchain, &bare, &|_: CorpusStep| {})?;
    Ok((fetched.root, name.to_owned(), pin))
}

/// The address without the user's name and password; `None` if it holds no password.
pub(super) fn without_password(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = host.rsplit_once('@')?;
    user.contains(':')
        .then(|| format!("{scheme}://{host}/{path}"))
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

/// Resolves a branch, a tag or nothing to a commit.
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
    // After `--`, an address that begins with a hyphen is no option.
    git.args(["ls-remote", "--", url, wanted])
        .arg(format!("{wanted}^{{}}"))
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "https:ssh:git:file");
    let listed = programs::run(&mut git, url, CHECK_NETWORK)?;
    let found: Vec<(&str, &str)> = listed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    listed_commit(&found, wanted)
        .map(str::to_owned)
        .ok_or_else(|| {
            let message =
                format!("it has no branch or tag `{wanted}`; name one of these, or a whole commit");
            CorpusError::unusable(url, message)
        })
}

/// Returns the commit of a name, of those that `git ls-remote` lists: it lists all whose last parts
/// are the name, and a tag's commit after an annotated tag. Tags come before branches, as in
/// [gitrevisions](https://git-scm.com/docs/gitrevisions).
fn listed_commit<'a>(listed: &[(&'a str, &str)], wanted: &str) -> Option<&'a str> {
    let names = [
        format!("{wanted}^{{}}"),
        wanted.to_owned(),
        format!("refs/tags/{wanted}^{{}}"),
        format!("refs/tags/{wanted}"),
        format!("refs/heads/{wanted}"),
        format!("refs/remotes/{wanted}"),
    ];
    let mut names = names.iter();
    names.find_map(|wanted| {
        let found = listed.iter().find(|(_, name)| name == wanted);
        found.map(|(commit, _)| *commit)
    })
}

/// One project for each language that has tests, or else those of the package with the most tests,
/// or else one for the first language that has sources.
fn detect(
    files: &RepositoryFiles,
    location: &Path,
    name: &str,
    source: &SourcePin,
) -> Result<Manifest, CorpusError> {
    let packages = match files.focus() {
        "" => inner_packages(files),
        _ => Vec::new(),
    };
    let alone = detect_alone(files, location, name, source, &packages);
    if alone.as_ref().is_ok_and(has_tests) {
        return alone;
    }
    let Some(mut found) = detect_most_tested(files, location, &packages, source) else {
        return alone;
    };
    if let Some((_, findings)) = found.findings.first_mut().filter(|_| packages.len() > 1) {
        findings.push(own_commands(location, &packages));
    }
    Ok(found)
}

/// True if a project of a manifest has tests.
fn has_tests(manifest: &Manifest) -> bool {
    let mut projects = manifest.projects.iter();
    projects.any(|project| project.test.is_some())
}

/// One project for each language that has tests, or else for the first that has sources. `packages`
/// are the folders below that are packages by themselves.
fn detect_alone(
    files: &RepositoryFiles,
    location: &Path,
    name: &str,
    source: &SourcePin,
    packages: &[String],
) -> Result<Manifest, CorpusError> {
    let mut detected: Vec<(&'static LanguageSupport, DetectedProject)> = LANGUAGES
        .into_iter()
        .filter_map(|language| Some((language, (language.detect)(files)?)))
        .collect();
    if detected.iter().any(|(_, found)| found.test.is_some()) {
        detected.retain(|(_, found)| found.test.is_some());
    } else {
        // Of equals, the first in the table.
        detected.sort_by_cached_key(|(language, _)| {
            let of_files = files
                .paths()
                .filter_map(|path| Language::for_path(Path::new(path)));
            let sources = of_files.filter(|of_file| of_file.name == language.name);
            std::cmp::Reverse(sources.count())
        });
        detected.truncate(1);
    }
    let commands = own_commands(location, packages);
    if detected.is_empty() && !packages.is_empty() {
        return Err(CorpusError::unusable(
            &location.display().to_string(),
            format!("it has no sources of its own; {commands}"),
        ));
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
        let mut findings = std::mem::take(&mut found.findings);
        if packages.len() > 1 {
            findings.push(commands.clone());
        }
        manifest.findings.push((named.clone(), findings));
        let project = project(language, named, source.clone(), found)?;
        manifest.projects.push(project);
    }
    Ok(manifest)
}

/// Folders that hold no packages of the repository's own.
const NO_PACKAGES: [&str; 10] = [
    "benchmarks",
    "docs",
    "e2e",
    "examples",
    "fixtures",
    "node_modules",
    "templates",
    "test",
    "tests",
    "vendor",
];

/// The folders below the top that are packages by themselves: those with metadata that has a name.
fn inner_packages(files: &RepositoryFiles) -> Vec<String> {
    let is_package = |path: &&str| {
        let Some((folder, name)) = path.rsplit_once('/') else {
            return false;
        };
        let marks: &[&str] = match name {
            "pyproject.toml" => &["[project]", "[tool.poetry]"],
            "setup.cfg" => &["[metadata]"],
            "setup.py" => &["setup("],
            "package.json" => &["\"name\"", "\"scripts\""],
            "go.mod" => &["module ", "module\t"],
            _ => return false,
        };
        let is_own = folder
            .split('/')
            .all(|part| !NO_PACKAGES.contains(&part) && !part.starts_with(['.', '_']));
        let has_mark = |text: String| marks.iter().any(|mark| text.contains(mark));
        is_own && files.read(path).is_some_and(has_mark)
    };
    let folders = files.paths().filter(is_package);
    let folders = folders.filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned()));
    let mut folders: Vec<String> = folders.collect();
    let modules = java::modules::module_folders(&|path| files.read(path)).into_iter();
    folders
        .extend(modules.filter(|folder| files.below(folder).any(|path| path.ends_with(".java"))));
    folders.sort();
    folders.dedup();
    folders
}

/// A clause that names the packages below a repository's top, with the command for each.
fn own_commands(location: &Path, packages: &[String]) -> String {
    const LISTED: usize = 12;
    let commands: Vec<String> = packages
        .iter()
        .take(LISTED)
        .map(|folder| {
            format!(
                "`fillrate replay {} --package {}`",
                shell_word(&location.display().to_string()),
                shell_word(folder)
            )
        })
        .collect();
    let more = match packages.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let commands = commands.join(", ");
    match packages.len() {
        1 => format!(
            "1 package below the top has an environment of its own; to replay it: {commands}"
        ),
        count => format!(
            "{count} packages below the top have environments of their own; to replay one of them: \
             {commands}{more}"
        ),
    }
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

/// Returns the location of a corpus as a run records it: an address in git's form, anything else
/// as an absolute path.
pub fn recorded_location(location: &Path) -> PathBuf {
    if let Some(address) = address_of(location) {
        return address.into();
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
    fn a_name_is_the_commit_that_git_takes_it_for() {
        let listed = [
            ("a", "refs/heads/dev/main"),
            ("b", "refs/heads/main"),
            ("c", "refs/tags/sdk/v1"),
            ("d", "refs/tags/sdk/v1^{}"),
            ("e", "refs/tags/v1"),
            ("f", "refs/tags/v2"),
            ("g", "refs/tags/v2^{}"),
        ];
        let commit = |wanted| listed_commit(&listed, wanted);
        assert_eq!(commit("main"), Some("b"));
        assert_eq!(commit("v1"), Some("e"));
        assert_eq!(commit("v2"), Some("g"));
        assert_eq!(commit("refs/heads/dev/main"), Some("a"));
        assert_eq!(commit("v3"), None);
    }

    #[test]
    fn addresses_are_taken_as_people_paste_them() {
        for (pasted, address) in [
            ("https://github.com/o/n", Some("https://github.com/o/n")),
            ("github.com/o/n", Some("https://github.com/o/n")),
            ("www.github.com/o/n@v1", Some("https://github.com/o/n@v1")),
            (
                "https://github.com/o/n/tree/main/src",
                Some("https://github.com/o/n@main"),
            ),
            (
                "https://gitlab.com/g/o/n/-/tree/v2?ref=x",
                Some("https://gitlab.com/g/o/n@v2"),
            ),
            (
                "git@github.com:o/n.git",
                Some("ssh://git@github.com/o/n.git"),
            ),
            ("git@github.com:o/n@v1", Some("ssh://git@github.com/o/n@v1")),
            ("pypi:attrs", None),
            ("no/such/folder", None),
            ("no/such@folder", None),
        ] {
            assert_eq!(
                address_of(Path::new(pasted)).as_deref(),
                address,
                "{pasted}"
            );
        }
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("it exists");
        std::fs::create_dir_all(real.join("here/.git")).expect("a folder");
        let named = format!("{}@v1", real.join("here").display());
        assert_eq!(
            address_of(Path::new(&named)),
            Some(format!("file://{}/here@v1", real.display()))
        );
        std::fs::create_dir_all(real.join("here@v1")).expect("a folder");
        assert_eq!(address_of(Path::new(&named)), None);
        std::fs::create_dir_all(real.join("a%20b/.git")).expect("a folder");
        let encoded = format!("{}@v1", real.join("a%20b").display());
        assert_eq!(
            address_of(Path::new(&encoded)),
            Some(format!("file://{}/a%2520b@v1", real.display()))
        );
        // The message must not repeat what it refuses.
        assert_eq!(
            without_password("https://me:secret@host/o/n").as_deref(),
            Some("https://host/o/n")
        );
        assert_eq!(without_password("ssh://git@host/o/n"), None);
    }

    #[test]
    fn packages_below_the_top_are_listed_with_commands() {
        let folder = tempfile::tempdir().expect("a folder");
        let written = [
            ("package.json", "{\"workspaces\": [\"packages/*\"]}"),
            ("packages/a/package.json", "{\"scripts\": {}}"),
            ("packages/b/package.json", "{\"scripts\": {}}"),
            (
                "packages/b/test/fixtures/x/package.json",
                "{\"main\": \"x\"}",
            ),
            ("tools/gen/go.mod", "module gen\n"),
            ("libs/c/pyproject.toml", "[tool.ruff]\n"),
            ("libs/d/pyproject.toml", "[project]\nname = \"d\"\n"),
        ];
        for (name, text) in &written {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let paths = written.iter().map(|(name, _)| (*name).to_owned()).collect();
        let files = RepositoryFiles::new(folder.path(), paths);
        let packages = inner_packages(&files);
        assert_eq!(
            packages,
            ["libs/d", "packages/a", "packages/b", "tools/gen"]
        );
        insta::assert_snapshot!(own_commands(Path::new("mono"), &packages[..1]), @"1 package below the top has an environment of its own; to replay it: `fillrate replay mono --package libs/d`");
        insta::assert_snapshot!(own_commands(Path::new("a b"), &["c d".to_owned()]), @"1 package below the top has an environment of its own; to replay it: `fillrate replay 'a b' --package 'c d'`");
        insta::assert_snapshot!(own_commands(Path::new("mono"), &packages[..2]), @"2 packages below the top have environments of their own; to replay one of them: `fillrate replay mono --package libs/d`, `fillrate replay mono --package packages/a`");
    }

    #[test]
    fn packages_are_found_by_folder_by_its_end_and_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [
            ("libs/d/pyproject.toml", "[project]\nname = \"demo-d\"\n"),
            (
                "js/e/package.json",
                "{\"name\": \"@demo/e\", \"main\": \"a.js\"}",
            ),
            ("go/e/go.mod", "module demo.org/e\n\ngo 1.22\n"),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let corpus = Corpus::from_environment().expect("a cache");
        let locate = |name: &str| {
            let found = locate_package(&corpus, folder.path(), name);
            found.map(|path| path.strip_prefix(folder.path()).expect("inside").to_owned())
        };
        for (name, expected) in [
            ("libs/d", "libs/d"),
            ("./libs/d/", "libs/d"),
            ("d", "libs/d"),
            ("demo-d", "libs/d"),
            ("@demo/e", "js/e"),
            ("demo.org/e", "go/e"),
        ] {
            assert_eq!(
                locate(name).expect("it exists"),
                Path::new(expected),
                "{name}"
            );
        }
        let several = locate("e").expect_err("there are two").to_string();
        assert!(
            several.contains("it has 2 packages `e`; 3 packages below"),
            "{several}"
        );
        let none = locate("f").expect_err("there is none").to_string();
        assert!(none.contains("--package js/e`"), "{none}");
    }

    #[test]
    fn names_are_made_plain() {
        for (name, plain) in [("@scope/a b", "a-b"), (".x", "x"), ("", "repository")] {
            assert_eq!(plain_name(name), plain);
        }
    }
}
