//! The manifest: a TOML file that names projects, pins their sources and environments, and says
//! how their tests run. `corpora/README.md` describes it for people who write one.
//!
//! The file is read by hand from a table with positions, so that every error can name its file,
//! line and key.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The version of the format that this module reads, the manifest's `schema`.
pub const SCHEMA: u32 = 1;

/// A whole manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The file it was read from.
    pub path: PathBuf,
    /// The projects (`[[project]]`), in the file's order; no two have one name.
    pub projects: Vec<Project>,
}

/// One repository: `[[project]]`.
#[derive(Clone, Debug)]
pub struct Project {
    /// `name`: unique in the manifest; letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// `language`: the language of the holes.
    pub language: Language,
    /// `source`: where the repository comes from.
    pub source: Source,
    /// `holes`: the files that holes may be cut into.
    pub holes: Globs,
    /// `exclude`: files that are neither shown to the language server nor needed by the tests.
    /// Build output belongs here, because it gives holes away. Empty if absent.
    pub exclude: Globs,
    /// `hidden`: files that are there for the tests and that no language server is shown, but for
    /// the one with the hole. Empty if absent.
    pub hidden: Globs,
    /// `[project.environment]`: what the tests need installed. Nothing if absent.
    pub environment: Packages,
    /// `[project.test]`: how the tests run. A project without is played, and nothing is judged.
    pub test: Option<Test>,
}

/// A language whose projects can be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// `python`
    Python,
    /// `typescript`
    TypeScript,
    /// `javascript`
    JavaScript,
}

/// Where a project's source comes from: exactly one of these keys stands in `source`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `path`: a folder, relative to the manifest's. It is copied, as its ignore files allow.
    Path(PathBuf),
    /// `pypi = "NAME==VERSION"` and `sha256`: a source distribution.
    Pypi {
        /// The package's name.
        name: String,
        /// Its exact version.
        version: String,
        /// 64 lowercase hexadecimal digits.
        sha256: String,
    },
    /// `npm = "NAME@VERSION"` and `integrity`: a package as published.
    Npm {
        /// The package's name, with its scope.
        name: String,
        /// Its exact version.
        version: String,
        /// `sha512-` and 88 digits of base64, as in a lock file.
        integrity: String,
    },
    /// `git` and `revision`: one commit of a repository, without its submodules.
    Git {
        /// An address of the kinds `https`, `ssh`, `git` or `file`.
        url: String,
        /// 40 lowercase hexadecimal digits.
        revision: String,
    },
    /// `archive` and `sha256`: a `.tar.gz` with one folder at its top.
    Archive {
        /// An `https` or `http` address.
        url: String,
        /// 64 lowercase hexadecimal digits.
        sha256: String,
    },
}

/// What a project's tests need installed: `packages`, a file of the repository, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packages {
    /// `packages`: exact pins, `NAME==VERSION` for Python and `NAME@VERSION` for npm.
    pub packages: Vec<String>,
    /// `lock`: a `package-lock.json` in the repository (TypeScript, JavaScript).
    pub lock: Option<String>,
    /// `requirements`: a requirements file in the repository (Python).
    pub requirements: Option<String>,
}

/// How a project's tests run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// `runner`: one of [`Language::runners`].
    pub runner: Runner,
    /// `args`: what follows the runner's name, e.g. the folder of the tests. Empty if absent.
    pub args: Vec<String>,
    /// `path`: folders of the repository that are put before `sys.path` (Python). Empty if
    /// absent.
    pub path: Vec<String>,
    /// `config`: a configuration file beside the manifest, absolute here (vitest).
    pub config: Option<PathBuf>,
    /// `command`: the program and its arguments (junit). Empty for other runners.
    pub command: Vec<String>,
    /// `report`: the file that the command writes, inside the repository (junit).
    pub report: Option<String>,
    /// `timeout`: the seconds that the tests of a changed file may take, beside what a run of the
    /// unchanged project's takes. Several times what they take unchanged if absent.
    pub timeout: Option<u16>,
}

/// A test runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runner {
    /// `pytest`
    Pytest,
    /// `unittest`: Python's own.
    Unittest,
    /// `vitest`
    Vitest,
    /// `node`: Node's own.
    Node,
    /// `mocha`
    Mocha,
    /// `jest`
    Jest,
    /// `junit`: any command that writes JUnit XML.
    Junit,
}

/// Patterns in the language of a `.gitignore`: one without a slash matches at any depth, `**`
/// crosses folders, a folder stands for all that is in it. The last pattern that matches decides,
/// and one that starts with `!` takes files out again. (In a `.gitignore`, nothing can be taken
/// out of a folder that is in; here it can.)
#[derive(Clone, Default)]
pub struct Globs {
    patterns: Vec<String>,
    /// One for each pattern.
    matchers: Vec<Gitignore>,
}

/// What is wrong with a manifest, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct ManifestError {
    /// The manifest.
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    /// The dotted key, e.g. `project.source.sha256`; empty where no key is at fault.
    pub key: String,
    /// One sentence that names the key and says what to do.
    pub message: String,
}

impl Manifest {
    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// The first thing that is wrong with it, an unreadable file included.
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
    /// The first thing that is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ManifestError> {
        let reader = Reader { text, path };
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
        let (version, span) = top.required("schema", Section::integer)?;
        if version != i64::from(SCHEMA) {
            return Err(reader.error(
                span,
                "schema",
                format!("`schema` is {version}, but this version of Fillrate reads {SCHEMA}"),
            ));
        }
        let mut projects = Vec::new();
        let mut lines = HashMap::new();
        for section in top.tables("project")? {
            let (project, span) = section.project()?;
            if let Some(line) = lines.insert(project.name.clone(), reader.line(span.start)) {
                return Err(reader.error(
                    span,
                    "project.name",
                    format!(
                        "`project.name` is `{}`, as is the name of the project on line {line}; \
                         give each its own",
                        project.name
                    ),
                ));
            }
            projects.push(project);
        }
        Ok(Self {
            path: path.to_owned(),
            projects,
        })
    }

    /// The project of this name.
    pub fn project(&self, name: &str) -> Option<&Project> {
        self.projects.iter().find(|project| project.name == name)
    }
}

impl Project {
    /// What follows the test runner's name.
    pub fn arguments(&self) -> &[String] {
        self.test.as_ref().map_or(&[], |test| &test.args)
    }
}

impl Language {
    /// Its name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::JavaScript => "javascript",
        }
    }

    /// The runners of its tests.
    pub fn runners(self) -> &'static [Runner] {
        match self {
            Self::Python => &[Runner::Pytest, Runner::Unittest, Runner::Junit],
            Self::TypeScript => &[Runner::Vitest, Runner::Junit],
            Self::JavaScript => &[
                Runner::Vitest,
                Runner::Node,
                Runner::Mocha,
                Runner::Jest,
                Runner::Junit,
            ],
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Runner {
    /// All there are.
    pub const ALL: [Self; 7] = [
        Self::Pytest,
        Self::Unittest,
        Self::Vitest,
        Self::Node,
        Self::Mocha,
        Self::Jest,
        Self::Junit,
    ];

    /// Its name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Vitest => "vitest",
            Self::Node => "node",
            Self::Mocha => "mocha",
            Self::Jest => "jest",
            Self::Junit => "junit",
        }
    }
}

impl fmt::Display for Runner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Globs {
    /// Compiles patterns.
    ///
    /// # Errors
    /// The index of the first pattern that is none, and why.
    pub fn new(patterns: Vec<String>) -> Result<Self, (usize, String)> {
        let mut matchers = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            if pattern.trim().is_empty() || pattern.starts_with('#') {
                return Err((index, "it matches nothing".to_owned()));
            }
            // The root is only stripped from paths that start with it, and ours are relative.
            let mut builder = GitignoreBuilder::new("");
            let matcher = builder
                .add_line(None, pattern)
                .and_then(|builder| builder.build())
                .map_err(|error| (index, error.to_string()))?;
            matchers.push(matcher);
        }
        Ok(Self { patterns, matchers })
    }

    /// Whether a file matches. `path` is relative to the repository, with `/` between names.
    pub fn matches(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        let decisive = self.matchers.iter().rev().find_map(|matcher| {
            match matcher.matched_path_or_any_parents(path, false) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            }
        });
        decisive.unwrap_or(false)
    }

    /// The patterns as they stand in the manifest.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl fmt::Debug for Globs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.patterns.fmt(formatter)
    }
}

/// The manifest's text, for turning positions into lines.
struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn error(&self, span: Range<usize>, key: &str, message: String) -> ManifestError {
        ManifestError {
            file: self.path.to_owned(),
            line: self.line(span.start),
            key: key.to_owned(),
            message,
        }
    }
}

/// A table of the manifest and its place in it.
struct Section<'a> {
    reader: &'a Reader<'a>,
    /// The dotted key of the table; empty at the top.
    key: String,
    span: Range<usize>,
    table: &'a DeTable<'a>,
}

type Found<T> = Result<Option<(T, Range<usize>)>, ManifestError>;

impl<'a> Section<'a> {
    fn dotted(&self, key: &str) -> String {
        if self.key.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.key)
        }
    }

    /// An error at a key of this table; the message starts with the key.
    fn wrong(&self, span: Range<usize>, key: &str, message: impl fmt::Display) -> ManifestError {
        let dotted = self.dotted(key);
        let message = format!("`{dotted}` {message}");
        self.reader.error(span, &dotted, message)
    }

    /// Refuses keys that are not known here.
    fn only(&self, known: &[&str]) -> Result<(), ManifestError> {
        // A table is sorted by key, but the first wrong one in the file is the one to name.
        let unknown = self
            .table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        let Some(unknown) = unknown else {
            return Ok(());
        };
        let key = unknown.get_ref();
        Err(self.wrong(
            unknown.span(),
            key,
            format!("is not a known key; {}", suggestion(key, known)),
        ))
    }

    fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&'a DeValue<'a>) -> Option<T>,
    ) -> Found<T> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match read(value.get_ref()) {
            Some(read) => Ok(Some((read, value.span()))),
            None => Err(self.wrong(
                value.span(),
                key,
                format!(
                    "must be {expected}, not {} {}",
                    article(value.get_ref().type_str()),
                    value.get_ref().type_str()
                ),
            )),
        }
    }

    fn integer(&self, key: &str) -> Found<i64> {
        self.typed(key, "an integer", |value| {
            let integer = value.as_integer()?;
            i64::from_str_radix(integer.as_str(), integer.radix()).ok()
        })
    }

    fn string(&self, key: &str) -> Found<String> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// An array of strings, each with its place.
    fn strings(&self, key: &str) -> Found<Vec<(String, Range<usize>)>> {
        let Some((array, span)) = self.typed(key, "an array of strings", DeValue::as_array)? else {
            return Ok(None);
        };
        let mut strings = Vec::new();
        for item in array.iter() {
            let Some(string) = item.get_ref().as_str() else {
                let kind = item.get_ref().type_str();
                return Err(self.wrong(
                    item.span(),
                    key,
                    format!(
                        "must be an array of strings, but holds {} {kind}",
                        article(kind)
                    ),
                ));
            };
            strings.push((string.to_owned(), item.span()));
        }
        Ok(Some((strings, span)))
    }

    fn section(&self, key: &str) -> Result<Section<'a>, ManifestError> {
        let (table, span) = self.required(key, |section, key| {
            section.typed(key, "a table", DeValue::as_table)
        })?;
        Ok(Section {
            reader: self.reader,
            key: self.dotted(key),
            span,
            table,
        })
    }

    /// An array of tables with at least one.
    fn tables(&self, key: &str) -> Result<Vec<Section<'a>>, ManifestError> {
        let form = format!("must be an array of tables, so write `[[{key}]]`");
        let Some(value) = self.value(key) else {
            return Err(self.missing(key));
        };
        let Some(array) = value.get_ref().as_array() else {
            return Err(self.wrong(value.span(), key, form));
        };
        let mut sections = Vec::new();
        for item in array.iter() {
            let Some(table) = item.get_ref().as_table() else {
                return Err(self.wrong(item.span(), key, form));
            };
            sections.push(Section {
                reader: self.reader,
                key: self.dotted(key),
                span: item.span(),
                table,
            });
        }
        if sections.is_empty() {
            return Err(self.missing(key));
        }
        Ok(sections)
    }

    fn missing(&self, key: &str) -> ManifestError {
        self.wrong(self.span.clone(), key, "is missing")
    }

    fn required<T>(
        &self,
        key: &str,
        read: impl Fn(&Self, &str) -> Found<T>,
    ) -> Result<(T, Range<usize>), ManifestError> {
        read(self, key)?.ok_or_else(|| self.missing(key))
    }

    /// A string that stands for one of a few values.
    fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<(T, Range<usize>), ManifestError> {
        let (name, span) = self.required(key, Self::string)?;
        match choices.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok((*value, span)),
            None => {
                let known: Vec<_> = choices.iter().map(|(known, _)| *known).collect();
                let hint = suggestion(&name, &known);
                Err(self.wrong(span, key, format!("does not know `{name}`; {hint}")))
            }
        }
    }

    fn project(&self) -> Result<(Project, Range<usize>), ManifestError> {
        self.only(&[
            "name",
            "language",
            "source",
            "holes",
            "exclude",
            "hidden",
            "environment",
            "test",
        ])?;
        let (name, span) = self.required("name", Self::string)?;
        // The name becomes part of file names and of records.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.starts_with(['.', '-']) || name.is_empty() || !name.chars().all(plain) {
            return Err(self.wrong(
                span,
                "name",
                "must start with a letter, a digit or `_` and hold only these, `.` and `-`",
            ));
        }
        let (language, _) = self.choice(
            "language",
            &[
                ("python", Language::Python),
                ("typescript", Language::TypeScript),
                ("javascript", Language::JavaScript),
            ],
        )?;
        let source = self.section("source")?.source()?;
        let Some(holes) = self.globs("holes")? else {
            return Err(self.missing("holes"));
        };
        let test = match self.value("test") {
            Some(_) => Some(self.section("test")?.test(language)?),
            None => None,
        };
        let environment = match self.value("environment") {
            // Without tests, nothing needs anything.
            None if test.is_none() => Packages::default(),
            _ => self.section("environment")?.packages(language)?,
        };
        let project = Project {
            name,
            language,
            source,
            holes,
            exclude: self.globs("exclude")?.unwrap_or_default(),
            hidden: self.globs("hidden")?.unwrap_or_default(),
            environment,
            test,
        };
        Ok((project, span))
    }

    fn globs(&self, key: &str) -> Result<Option<Globs>, ManifestError> {
        let Some((strings, span)) = self.strings(key)? else {
            return Ok(None);
        };
        let (patterns, spans): (Vec<_>, Vec<_>) = strings.into_iter().unzip();
        Globs::new(patterns.clone())
            .map(Some)
            .map_err(|(index, message)| {
                let pattern = patterns.get(index).map_or("", String::as_str);
                let span = spans.get(index).cloned().unwrap_or(span);
                self.wrong(
                    span,
                    key,
                    format!("has the bad glob `{pattern}`: {message}"),
                )
            })
    }

    fn source(&self) -> Result<Source, ManifestError> {
        const KINDS: [&str; 5] = ["path", "pypi", "npm", "git", "archive"];
        self.only(&[
            "path",
            "pypi",
            "npm",
            "git",
            "archive",
            "sha256",
            "integrity",
            "revision",
        ])?;
        let given: Vec<_> = KINDS
            .into_iter()
            .filter(|kind| self.table.contains_key(*kind))
            .collect();
        let [kind] = given[..] else {
            let message = if given.is_empty() {
                "names no source; give one of `path`, `pypi`, `npm`, `git` and `archive`".to_owned()
            } else {
                format!("names several sources (`{}`); keep one", given.join("`, `"))
            };
            let key = self.key.clone();
            return Err(self
                .reader
                .error(self.span.clone(), &key, format!("`{key}` {message}")));
        };
        let (place, span) = self.required(kind, Self::string)?;
        let pin_key = match kind {
            "pypi" | "archive" => Some("sha256"),
            "npm" => Some("integrity"),
            "git" => Some("revision"),
            _ => None,
        };
        for key in ["sha256", "integrity", "revision"] {
            if Some(key) != pin_key
                && let Some(value) = self.value(key)
            {
                return Err(self.wrong(
                    value.span(),
                    key,
                    format!("does not go with `{kind}`; remove it"),
                ));
            }
        }
        let pin = |key, valid: fn(&str) -> bool, form: &str| {
            let Some((pin, span)) = self.string(key)? else {
                return Err(self.wrong(
                    self.span.clone(),
                    key,
                    format!("is missing; `{kind}` needs it, as {form}"),
                ));
            };
            if valid(&pin) {
                Ok(pin)
            } else {
                Err(self.wrong(span, key, format!("must be {form}")))
            }
        };
        let sha256 = || {
            pin(
                "sha256",
                |pin| is_hex(pin, 64),
                "64 lowercase hexadecimal digits",
            )
        };
        match kind {
            "pypi" => {
                let Some((name, version)) = python_pin(&place) else {
                    return Err(self.wrong(span, kind, "must be an exact pin, `NAME==VERSION`"));
                };
                Ok(Source::Pypi {
                    name,
                    version,
                    sha256: sha256()?,
                })
            }
            "npm" => {
                let Some((name, version)) = npm_pin(&place) else {
                    return Err(self.wrong(span, kind, "must be an exact pin, `NAME@VERSION`"));
                };
                Ok(Source::Npm {
                    name,
                    version,
                    integrity: pin(
                        "integrity",
                        is_integrity,
                        "`sha512-` and 88 digits of base64",
                    )?,
                })
            }
            "git" => {
                let known = ["https://", "ssh://", "git://", "file://"];
                if !known.iter().any(|scheme| place.starts_with(scheme)) {
                    return Err(self.wrong(
                        span,
                        kind,
                        "must be an address that starts with `https://`, `ssh://`, `git://` or `file://`",
                    ));
                }
                Ok(Source::Git {
                    url: place,
                    revision: pin(
                        "revision",
                        |pin| is_hex(pin, 40),
                        "40 lowercase hexadecimal digits, a whole commit",
                    )?,
                })
            }
            "archive" => {
                if !place.starts_with("https://") && !place.starts_with("http://") {
                    return Err(self.wrong(
                        span,
                        kind,
                        "must be an address that starts with `https://` or `http://`",
                    ));
                }
                Ok(Source::Archive {
                    url: place,
                    sha256: sha256()?,
                })
            }
            _ => Ok(Source::Path(self.reader.beside(&place))),
        }
    }

    fn packages(&self, language: Language) -> Result<Packages, ManifestError> {
        self.only(&["packages", "lock", "requirements"])?;
        let (lock_key, other, example): (_, _, _) = match language {
            Language::Python => ("requirements", "lock", "NAME==VERSION"),
            Language::TypeScript | Language::JavaScript => ("lock", "requirements", "NAME@VERSION"),
        };
        if let Some(value) = self.value(other) {
            return Err(self.wrong(
                value.span(),
                other,
                format!("is not for {language} projects; use `{lock_key}` or `packages`"),
            ));
        }
        let listed = self.strings("packages")?.map(|(listed, _)| listed);
        let file = self.string(lock_key)?;
        if listed.is_none() && file.is_none() {
            let (key, span) = (self.key.clone(), self.span.clone());
            let message = format!("`{key}` needs `packages`, `{lock_key}` or both");
            return Err(self.reader.error(span, &key, message));
        }
        let mut packages = Vec::new();
        for (package, span) in listed.unwrap_or_default() {
            let exact = match language {
                Language::Python => python_pin(&package).is_some(),
                Language::TypeScript | Language::JavaScript => npm_pin(&package).is_some(),
            };
            if !exact {
                return Err(self.wrong(
                    span,
                    "packages",
                    format!("holds `{package}`, which is no exact pin; write `{example}`"),
                ));
            }
            packages.push(package);
        }
        let file = match file {
            Some((path, span)) => {
                self.inside(lock_key, &path, span)?;
                Some(path)
            }
            None => None,
        };
        Ok(match language {
            Language::Python => Packages {
                packages,
                lock: None,
                requirements: file,
            },
            Language::TypeScript | Language::JavaScript => Packages {
                packages,
                lock: file,
                requirements: None,
            },
        })
    }

    fn test(&self, language: Language) -> Result<Test, ManifestError> {
        self.only(&[
            "runner", "args", "path", "config", "command", "report", "timeout",
        ])?;
        let known = Runner::ALL.map(|runner| (runner.name(), runner));
        let (runner, span) = self.choice("runner", &known)?;
        if !language.runners().contains(&runner) {
            let expected: Vec<&str> = language
                .runners()
                .iter()
                .map(|known| known.name())
                .collect();
            return Err(self.wrong(
                span,
                "runner",
                format!(
                    "is `{runner}`, but {language} projects run under `{}`",
                    expected.join("`, `")
                ),
            ));
        }
        let args = self.strings("args")?.map(|(args, _)| args);
        let paths = self.strings("path")?;
        if let Some((_, span)) = &paths
            && language != Language::Python
        {
            return Err(self.wrong(span.clone(), "path", "is only for Python projects"));
        }
        let mut path = Vec::new();
        for (folder, span) in paths.map(|(paths, _)| paths).unwrap_or_default() {
            self.inside("path", &folder, span)?;
            path.push(folder);
        }
        let config = match self.string("config")? {
            None => None,
            Some((_, span)) if runner != Runner::Vitest => {
                return Err(self.wrong(span, "config", "is only for vitest"));
            }
            Some((name, span)) => {
                let config = self.reader.beside(&name);
                if !config.is_file() {
                    return Err(self.wrong(
                        span,
                        "config",
                        format!("names `{name}`, but no such file stands beside the manifest"),
                    ));
                }
                Some(config)
            }
        };
        let (command, report) = self.command(runner)?;
        let timeout = match self.integer("timeout")? {
            None => None,
            Some((seconds, span)) => match u16::try_from(seconds).ok().filter(|it| *it > 0) {
                Some(seconds) => Some(seconds),
                None => {
                    return Err(self.wrong(span, "timeout", "must be seconds, from 1 to 65535"));
                }
            },
        };
        Ok(Test {
            runner,
            command,
            report,
            args: args
                .unwrap_or_default()
                .into_iter()
                .map(|(arg, _)| arg)
                .collect(),
            path,
            config,
            timeout,
        })
    }

    /// `command` and `report`, which junit needs and no other runner has.
    fn command(&self, runner: Runner) -> Result<(Vec<String>, Option<String>), ManifestError> {
        if runner != Runner::Junit {
            for key in ["command", "report"] {
                if let Some(value) = self.value(key) {
                    return Err(self.wrong(value.span(), key, "is only for junit"));
                }
            }
            return Ok((Vec::new(), None));
        }
        if let Some(value) = self.value("args") {
            let message = "is not for junit; write the arguments into `command`";
            return Err(self.wrong(value.span(), "args", message));
        }
        let (command, span) = self.required("command", Self::strings)?;
        let command: Vec<String> = command.into_iter().map(|(word, _)| word).collect();
        if command.first().is_none_or(String::is_empty) {
            return Err(self.wrong(span, "command", "must name a program"));
        }
        let (report, span) = self.required("report", Self::string)?;
        self.inside("report", &report, span)?;
        Ok((command, Some(report)))
    }

    /// Refuses a path that does not stay in the repository.
    fn inside(&self, key: &str, path: &str, span: Range<usize>) -> Result<(), ManifestError> {
        let stays = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if stays && !path.is_empty() {
            Ok(())
        } else {
            Err(self.wrong(
                span,
                key,
                format!("has `{path}`, which must be a path inside the repository"),
            ))
        }
    }
}

impl Reader<'_> {
    /// A path that the manifest gives relative to its own folder.
    fn beside(&self, path: &str) -> PathBuf {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let joined = folder.join(path);
        std::path::absolute(&joined).unwrap_or(joined)
    }
}

/// `NAME==VERSION`, with extras allowed after the name.
fn python_pin(pin: &str) -> Option<(String, String)> {
    let (name, version) = pin.split_once("==")?;
    let bare = match name.split_once('[') {
        Some((bare, extras)) => {
            let extras = extras.strip_suffix(']')?;
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-,".contains(c);
            extras.chars().all(plain).then_some(bare)?
        }
        None => name,
    };
    let named = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let valid = bare.starts_with(|c: char| c.is_ascii_alphanumeric())
        && bare.chars().all(named)
        && version.starts_with(|c: char| c.is_ascii_digit())
        && version
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".!+-_".contains(c));
    valid.then(|| (name.to_owned(), version.to_owned()))
}

/// `NAME@VERSION` or `@SCOPE/NAME@VERSION`, the version with three numbers.
fn npm_pin(pin: &str) -> Option<(String, String)> {
    let at = pin.rfind('@').filter(|&at| at > 0)?;
    let (name, version) = (&pin[..at], &pin[at + 1..]);
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let named = match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| word(scope) && word(name)),
        None => word(name),
    };
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let exact = core.split('.').count() == 3
        && core
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        && version
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    (named && exact).then(|| (name.to_owned(), version.to_owned()))
}

fn is_hex(pin: &str, digits: usize) -> bool {
    pin.len() == digits
        && pin
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn is_integrity(pin: &str) -> bool {
    pin.strip_prefix("sha512-").is_some_and(|digest| {
        base64::engine::general_purpose::STANDARD
            .decode(digest)
            .is_ok_and(|bytes| bytes.len() == 64)
    })
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

/// What someone may have meant: the nearest known word, or all of them if none is near.
fn suggestion(word: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(2));
    match nearest {
        Some((_, nearest)) => format!("`{nearest}` is the nearest that is"),
        None => format!("known are `{}`", known.join("`, `")),
    }
}

/// The Levenshtein distance of two words, in bytes.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}
