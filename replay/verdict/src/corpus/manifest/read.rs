//! Reads and checks a project's tables of a manifest.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path};

use base64::Engine;
use fillrate_language::environment::{PackageManager, Packages};
use fillrate_language::python::environment::Pip;
use fillrate_language::runner::{RunnerName, TestSettings};
use fillrate_language::typescript::environment::Npm;
use fillrate_language::{LANGUAGES, LanguageSupport};
use strum::VariantArray;
use toml::de::DeValue;

use super::globs::Globs;
use super::project::{Project, SourcePin};
use super::section::{ManifestError, Section};

impl Section<'_> {
    pub(super) fn project(&self) -> Result<(Project, Range<usize>), ManifestError> {
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
            &LANGUAGES.map(|language| (language.name, language)),
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

    fn source(&self) -> Result<SourcePin, ManifestError> {
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
        let kind = self.source_kind()?;
        let (location, span) = self.required(kind, Self::string)?;
        self.refuse_other_pins(kind)?;
        let expect = |is_valid: bool, message: &str| match is_valid {
            true => Ok(()),
            false => Err(self.wrong(span.clone(), kind, message)),
        };
        let starts_with =
            |schemes: &[&str]| schemes.iter().any(|scheme| location.starts_with(scheme));
        match kind {
            "pypi" => {
                let pin = Pip.parse_pin(&location);
                expect(pin.is_some(), "must be an exact pin, `NAME==VERSION`")?;
                // Without a pin, `expect` has returned an error.
                let (name, version) = pin.unwrap_or_default();
                let sha256 = self.sha256(kind)?;
                Ok(SourcePin::Pypi {
                    name,
                    version,
                    sha256,
                })
            }
            "npm" => {
                let pin = Npm.parse_pin(&location);
                expect(pin.is_some(), "must be an exact pin, `NAME@VERSION`")?;
                let (name, version) = pin.unwrap_or_default();
                let form = "`sha512-` and 88 digits of base64";
                Ok(SourcePin::Npm {
                    name,
                    version,
                    integrity: self.pin(kind, "integrity", is_integrity, form)?,
                })
            }
            "git" => {
                expect(
                    starts_with(&["https://", "ssh://", "git://", "file://"]),
                    "must be an address that starts with `https://`, `ssh://`, `git://` or `file://`",
                )?;
                let form = "40 lowercase hexadecimal digits, a whole commit";
                let revision = self.pin(kind, "revision", |pin| is_hex(pin, 40), form)?;
                Ok(SourcePin::Git {
                    url: location,
                    revision,
                })
            }
            "archive" => {
                expect(
                    starts_with(&["https://", "http://"]),
                    "must be an address that starts with `https://` or `http://`",
                )?;
                let sha256 = self.sha256(kind)?;
                Ok(SourcePin::Archive {
                    url: location,
                    sha256,
                })
            }
            _ => Ok(SourcePin::Path(self.reader.beside(&location))),
        }
    }

    /// The one key that names a source.
    fn source_kind(&self) -> Result<&'static str, ManifestError> {
        const KINDS: [&str; 5] = ["path", "pypi", "npm", "git", "archive"];
        let given: Vec<_> = KINDS
            .into_iter()
            .filter(|kind| self.table.contains_key(*kind))
            .collect();
        if let [kind] = given[..] {
            return Ok(kind);
        }
        let message = if given.is_empty() {
            "names no source; give one of `path`, `pypi`, `npm`, `git` and `archive`".to_owned()
        } else {
            format!("names several sources (`{}`); keep one", given.join("`, `"))
        };
        let key = self.key.clone();
        Err(self
            .reader
            .error(self.span.clone(), &key, format!("`{key}` {message}")))
    }

    /// Refuses pins of other kinds of sources.
    fn refuse_other_pins(&self, kind: &str) -> Result<(), ManifestError> {
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
        Ok(())
    }

    fn sha256(&self, kind: &str) -> Result<String, ManifestError> {
        let form = "64 lowercase hexadecimal digits";
        self.pin(kind, "sha256", |pin| is_hex(pin, 64), form)
    }

    /// The text that pins a source of this kind.
    fn pin(
        &self,
        kind: &str,
        key: &str,
        is_valid: fn(&str) -> bool,
        form: &str,
    ) -> Result<String, ManifestError> {
        let Some((pin, span)) = self.string(key)? else {
            return Err(self.wrong(
                self.span.clone(),
                key,
                format!("is missing; `{kind}` needs it, as {form}"),
            ));
        };
        if is_valid(&pin) {
            Ok(pin)
        } else {
            Err(self.wrong(span, key, format!("must be {form}")))
        }
    }

    fn packages(&self, language: &LanguageSupport) -> Result<Packages, ManifestError> {
        let manager = language.packages;
        // The keys of other languages count as known here: below, their message names the right
        // ones.
        let every = LANGUAGES.iter().flat_map(|one| one.packages.own_keys());
        let mut known = vec!["packages", "requires", "install", "env", "before"];
        known.extend(every.clone());
        known.sort_unstable();
        known.dedup();
        self.only(&known)?;
        let file_key = manager.file_key();
        for key in every.filter(|key| !manager.own_keys().contains(key)) {
            if let Some(value) = self.value(key) {
                return Err(self.wrong(
                    value.span(),
                    key,
                    format!("is not for {language} projects; use `{file_key}` or `packages`"),
                ));
            }
        }
        let list = |key: &str| -> Result<Vec<String>, ManifestError> {
            let found = self.strings(key)?.map(|(listed, _)| listed);
            let texts = found.into_iter().flatten().map(|(text, _)| text);
            Ok(texts.collect())
        };
        let listed = self.strings("packages")?.map(|(listed, _)| listed);
        let file = self.string(file_key)?;
        let install = self.string("install")?;
        let given = [listed.is_some(), file.is_some(), install.is_some()];
        let (requires, groups) = (list("requires")?, list("groups")?);
        if given == [false; 3] && requires.is_empty() && groups.is_empty() {
            let (key, span) = (self.key.clone(), self.span.clone());
            let message = format!(
                "`{key}` needs at least one of `packages`, `requires`, `install` and `{file_key}`"
            );
            return Err(self.reader.error(span, &key, message));
        }
        let mut packages = Vec::new();
        for (package, span) in listed.unwrap_or_default() {
            if manager.parse_pin(&package).is_none() {
                return Err(self.wrong(
                    span,
                    "packages",
                    format!(
                        "holds `{package}`, which is no exact pin; write `{}`, or name it in \
                         `requires`",
                        manager.pin_form()
                    ),
                ));
            }
            packages.push(package);
        }
        for (key, value) in [(file_key, &file), ("install", &install)] {
            if let Some((path, span)) = value {
                self.inside(key, path, span.clone())?;
            }
        }
        if let Some(option) = requires.iter().find(|text| text.starts_with('-')) {
            let span = self.span.clone();
            let message = format!("holds `{option}`, which is an option and names no package");
            return Err(self.wrong(span, "requires", message));
        }
        Ok(Packages {
            packages,
            requires,
            spare: Vec::new(),
            before_may_fail: false,
            file: file.map(|(path, _)| path),
            install: install.map(|(path, _)| path),
            extras: list("extras")?,
            groups,
            interpreter: self
                .string(manager.interpreter_key())?
                .map(|(text, _)| text),
            env: self.variables()?,
            before: list("before")?,
        })
    }

    /// `env`: a table of strings.
    fn variables(&self) -> Result<BTreeMap<String, String>, ManifestError> {
        let mut variables = BTreeMap::new();
        if self.value("env").is_none() {
            return Ok(variables);
        }
        let section = self.section("env")?;
        for key in section.table.keys() {
            let name = key.get_ref().as_ref();
            let (value, _) = section.required(name, Self::string)?;
            variables.insert(name.to_owned(), value);
        }
        Ok(variables)
    }

    fn test(&self, language: &LanguageSupport) -> Result<TestSettings, ManifestError> {
        self.only(&[
            "runner",
            "args",
            "folder",
            "path",
            "config",
            "command",
            "report",
            "timeout",
            "min_share",
        ])?;
        let known: Vec<(&str, RunnerName)> = RunnerName::VARIANTS
            .iter()
            .map(|runner| (runner.into(), *runner))
            .collect();
        let (runner, span) = self.choice("runner", &known)?;
        if !language.runners.contains(&runner) {
            let expected: Vec<&str> = language.runners.iter().map(Into::into).collect();
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
            && !language.has_module_path
        {
            let titles: Vec<&str> = LANGUAGES
                .iter()
                .filter(|language| language.has_module_path)
                .map(|language| language.title)
                .collect();
            let message = format!("is only for {} projects", titles.join(" and "));
            return Err(self.wrong(span.clone(), "path", message));
        }
        let mut path = Vec::new();
        for (folder, span) in paths.map(|(paths, _)| paths).unwrap_or_default() {
            self.inside("path", &folder, span)?;
            path.push(folder);
        }
        let config = match self.string("config")? {
            None => None,
            Some((_, span)) if runner != RunnerName::Vitest => {
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
        let folder = match self.string("folder")? {
            None => None,
            Some((folder, span)) => {
                let runners = [
                    RunnerName::Vitest,
                    RunnerName::Node,
                    RunnerName::Mocha,
                    RunnerName::Jest,
                ];
                if !runners.contains(&runner) {
                    let message = "is only for vitest, node, mocha and jest";
                    return Err(self.wrong(span, "folder", message));
                }
                self.inside("folder", &folder, span)?;
                Some(folder.trim_end_matches('/').to_owned())
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
        Ok(TestSettings {
            runner,
            command,
            report,
            args: args
                .unwrap_or_default()
                .into_iter()
                .map(|(arg, _)| arg)
                .collect(),
            folder,
            path,
            config,
            timeout,
            min_share: self.share("min_share")?,
        })
    }

    /// `command` and `report`, which junit needs and no other runner has.
    fn command(&self, runner: RunnerName) -> Result<(Vec<String>, Option<String>), ManifestError> {
        if runner != RunnerName::Junit {
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

    /// A number from 0 to 1.
    fn share(&self, key: &str) -> Result<Option<f64>, ManifestError> {
        let number = self.typed(key, "a number from 0 to 1", |value| match value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => integer.as_str().parse().ok(),
            _ => None,
        })?;
        match number {
            None => Ok(None),
            Some((share, _)) if (0.0..=1.0).contains(&share) => Ok(Some(share)),
            Some((_, span)) => Err(self.wrong(span, key, "must be a number from 0 to 1")),
        }
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
