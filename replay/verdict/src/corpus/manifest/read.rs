//! Reads and checks a project's tables of a manifest.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use base64::Engine;
use fillrate_language::environment::{PackageManager, Packages};
use fillrate_language::python::environment::Pip;
use fillrate_language::runner::{RunnerName, TestSettings};
use fillrate_language::typescript::environment::Npm;
use fillrate_language::{LANGUAGES, LanguageSupport};
use strum::VariantArray;
use toml::de::DeValue;

use super::super::detect::without_password;
use super::globs::Globs;
use super::project::{Project, SourcePin};
use super::section::{ManifestError, Section};

impl Section<'_> {
    pub(super) fn project(&self) -> Result<Project, ManifestError> {
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
        let name = self.required("name", self.string("name")?)?;
        // The name becomes part of file names and of records.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.starts_with(['.', '-']) || name.is_empty() || !name.chars().all(plain) {
            let message =
                "must start with a letter, a digit or `_` and hold only these, `.` and `-`";
            return Err(self.wrong("name", message));
        }
        let languages = LANGUAGES.map(|language| (language.name, language));
        let language = self.choice("language", &languages)?;
        let source = self.section("source")?.source()?;
        let holes = self.globs("holes")?;
        let holes = self.required("holes", self.has("holes").then_some(holes))?;
        let test = match self.has("test") {
            true => Some(self.section("test")?.test(language)?),
            false => None,
        };
        let environment = match self.has("environment") || test.is_some() {
            true => self.section("environment")?.packages(language)?,
            // Without tests, nothing needs anything.
            false => Packages::default(),
        };
        Ok(Project {
            name,
            language,
            source,
            holes,
            exclude: self.globs("exclude")?,
            hidden: self.globs("hidden")?,
            environment,
            test,
        })
    }

    fn globs(&self, key: &str) -> Result<Globs, ManifestError> {
        let patterns = self.strings(key)?;
        Globs::new(patterns.clone()).map_err(|(index, message)| {
            let pattern = patterns.get(index).map_or("", String::as_str);
            let message = format!("has the bad glob `{pattern}`: {message}");
            self.wrong_item(key, pattern, message)
        })
    }

    fn source(&self) -> Result<SourcePin, ManifestError> {
        // Each with the key of its pin.
        const KINDS: [(&str, &str); 5] = [
            ("path", ""),
            ("pypi", "sha256"),
            ("npm", "integrity"),
            ("git", "revision"),
            ("archive", "sha256"),
        ];
        const PINS: [&str; 3] = ["sha256", "integrity", "revision"];
        self.only(&[&KINDS.map(|(kind, _)| kind)[..], &PINS, &["folder"]].concat())?;
        let given: Vec<_> = KINDS.iter().filter(|(kind, _)| self.has(kind)).collect();
        let (kind, pin_key) = match given[..] {
            [kind] => *kind,
            [] => {
                let message =
                    "names no source; give one of `path`, `pypi`, `npm`, `git` and `archive`";
                return Err(self.wrong("", message));
            }
            _ => {
                let given: Vec<_> = given.iter().map(|(kind, _)| *kind).collect();
                let given = given.join("`, `");
                return Err(self.wrong("", format!("names several sources (`{given}`); keep one")));
            }
        };
        let location = self.required(kind, self.string(kind)?)?;
        let is_other = |key: &&str| *key != pin_key && self.has(key);
        if let Some(key) = PINS.into_iter().find(is_other) {
            return Err(self.wrong(key, format!("does not go with `{kind}`; remove it")));
        }
        let folder = self.string("folder")?;
        if folder.is_some() && kind != "git" {
            let message = format!("does not go with `{kind}`; remove it");
            return Err(self.wrong("folder", message));
        }
        self.inside("folder", folder.as_slice())?;
        let invalid = |form: &str| self.wrong(kind, format!("must be {form}"));
        let is_at = |schemes: &[&str]| schemes.iter().any(|scheme| location.starts_with(scheme));
        let sha256 = || {
            let form = "64 lowercase hexadecimal digits";
            self.pin(kind, pin_key, |pin| is_hex(pin, 64), form)
        };
        match kind {
            "pypi" => {
                let pin = Pip.parse_pin(&location);
                let (name, version) =
                    pin.ok_or_else(|| invalid("an exact pin, `NAME==VERSION`"))?;
                Ok(SourcePin::Pypi {
                    name,
                    version,
                    sha256: sha256()?,
                })
            }
            "npm" => {
                let pin = Npm.parse_pin(&location);
                let (name, version) = pin.ok_or_else(|| invalid("an exact pin, `NAME@VERSION`"))?;
                let form = "`sha512-` and 88 digits of base64";
                Ok(SourcePin::Npm {
                    name,
                    version,
                    integrity: self.pin(kind, pin_key, is_integrity, form)?,
                })
            }
            "git" if !is_at(&["https://", "ssh://", "git://", "file://"]) => Err(invalid(
                "an address that starts with `https://`, `ssh://`, `git://` or `file://`",
            )),
            "git" if without_password(&location).is_some() => {
                let message = "holds a password, which records would show; leave it out, and let \
                               git's credential helper supply it";
                Err(self.wrong(kind, message))
            }
            "git" => {
                let form = "40 lowercase hexadecimal digits, a whole commit";
                let revision = self.pin(kind, pin_key, |pin| is_hex(pin, 40), form)?;
                Ok(SourcePin::Git {
                    url: location,
                    revision,
                    folder,
                })
            }
            "archive" if !is_at(&["https://", "http://"]) => Err(invalid(
                "an address that starts with `https://` or `http://`",
            )),
            "archive" => Ok(SourcePin::Archive {
                sha256: sha256()?,
                url: location,
            }),
            _ => Ok(SourcePin::Path(self.beside(&location))),
        }
    }

    /// The text that pins a source of this kind.
    fn pin(
        &self,
        kind: &str,
        key: &str,
        is_valid: fn(&str) -> bool,
        form: &str,
    ) -> Result<String, ManifestError> {
        match self.string(key)? {
            None => Err(self.wrong(key, format!("is missing; `{kind}` needs it, as {form}"))),
            Some(pin) if is_valid(&pin) => Ok(pin),
            Some(_) => Err(self.wrong(key, format!("must be {form}"))),
        }
    }

    /// Refuses a table about tests in a language whose tests are not run.
    fn has_runners(&self, language: &LanguageSupport) -> Result<(), ManifestError> {
        if language.runners.is_empty() {
            let message = format!("is not for {language} projects, whose tests are not run");
            return Err(self.wrong("", format!("{message}; remove it")));
        }
        Ok(())
    }

    fn packages(&self, language: &LanguageSupport) -> Result<Packages, ManifestError> {
        let manager = language.packages;
        // The keys of other languages count as known here: below, their message names the right
        // ones.
        let every = LANGUAGES
            .iter()
            .flat_map(|one| one.packages.rules().own_keys);
        let common = [
            "packages",
            "requires",
            "install",
            "env",
            "before",
            "before_may_fail",
        ];
        let mut known = common.to_vec();
        known.extend(every.clone());
        known.sort_unstable();
        known.dedup();
        self.only(&known)?;
        self.has_runners(language)?;
        let file_key = manager.rules().file_key;
        for key in every.filter(|key| !manager.rules().own_keys.contains(key)) {
            if self.has(key) {
                let message =
                    format!("is not for {language} projects; use `{file_key}` or `packages`");
                return Err(self.wrong(key, message));
            }
        }
        let packages = self.strings("packages")?;
        let file = self.string(file_key)?;
        let install = self.string("install")?;
        let requires = self.strings("requires")?;
        let groups = self.strings("groups")?;
        let extras = self.strings("extras")?;
        if !extras.is_empty() && install.is_none() {
            let message = "are of the project itself, which is not installed; add `install`";
            return Err(self.wrong("extras", message));
        }
        let is_given = ["packages", file_key, "install"].map(|key| self.has(key));
        if is_given == [false; 3] && requires.is_empty() && groups.is_empty() {
            let message =
                format!("needs at least one of `packages`, `requires`, `install` and `{file_key}`");
            return Err(self.wrong("", message));
        }
        let is_unpinned = |package: &&String| manager.parse_pin(package).is_none();
        if let Some(package) = packages.iter().find(is_unpinned) {
            let message = format!(
                "holds `{package}`, which is no exact pin; write `{}`, or name it in `requires`",
                manager.rules().pin_form
            );
            return Err(self.wrong_item("packages", package, message));
        }
        for (key, path) in [(file_key, &file), ("install", &install)] {
            self.inside(key, path.as_slice())?;
        }
        if let Some(option) = requires.iter().find(|text| text.starts_with('-')) {
            let message = format!("holds `{option}`, which is an option and names no package");
            return Err(self.wrong_item("requires", option, message));
        }
        Ok(Packages {
            packages,
            requires,
            spare: Vec::new(),
            before_may_fail: self.flag("before_may_fail")?,
            file,
            install,
            extras,
            groups,
            interpreter: self.string(manager.rules().interpreter_key)?,
            env: self.variables()?,
            before: self.strings("before")?,
        })
    }

    /// `env`: a table of strings.
    fn variables(&self) -> Result<BTreeMap<String, String>, ManifestError> {
        if !self.has("env") {
            return Ok(BTreeMap::new());
        }
        let section = self.section("env")?;
        let names = section.table.keys().map(|key| key.get_ref().to_string());
        names
            .map(|name| {
                let value = section.required(&name, section.string(&name)?)?;
                Ok((name, value))
            })
            .collect()
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
        self.has_runners(language)?;
        let runner = self.choice("runner", &known)?;
        if !language.runners.contains(&runner) {
            let expected: Vec<&str> = language.runners.iter().map(Into::into).collect();
            let expected = expected.join("`, `");
            let message = format!("is `{runner}`, but {language} projects run under `{expected}`");
            return Err(self.wrong("runner", message));
        }
        let args = self.strings("args")?;
        let path = self.strings("path")?;
        if self.has("path") && !language.has_module_path {
            let titles: Vec<&str> = LANGUAGES
                .iter()
                .filter(|language| language.has_module_path)
                .map(|language| language.title)
                .collect();
            let message = format!("is only for {} projects", titles.join(" and "));
            return Err(self.wrong("path", message));
        }
        self.inside("path", &path)?;
        let config = match self.string("config")? {
            None => None,
            Some(_) if runner != RunnerName::Vitest => {
                return Err(self.wrong("config", "is only for vitest"));
            }
            Some(name) => {
                let config = self.beside(&name);
                if !config.is_file() {
                    let message =
                        format!("names `{name}`, but no such file is next to the manifest");
                    return Err(self.wrong("config", message));
                }
                Some(config)
            }
        };
        let folder = self.string("folder")?;
        let with_folder = [
            RunnerName::Vitest,
            RunnerName::Node,
            RunnerName::Mocha,
            RunnerName::Jest,
        ];
        if folder.is_some() && !with_folder.contains(&runner) {
            return Err(self.wrong("folder", "is only for vitest, node, mocha and jest"));
        }
        self.inside("folder", folder.as_slice())?;
        let (command, report) = self.command(runner)?;
        let timeout = match self.integer("timeout")? {
            None => None,
            Some(seconds) => match u16::try_from(seconds) {
                Ok(seconds @ 1..) => Some(seconds),
                _ => return Err(self.wrong("timeout", "must be seconds, from 1 to 65535")),
            },
        };
        Ok(TestSettings {
            runner,
            command,
            report,
            args,
            folder: folder.map(|folder| folder.trim_end_matches('/').to_owned()),
            path,
            config,
            timeout,
            min_share: self.share("min_share")?,
        })
    }

    /// `command` and `report`, which junit needs and no other runner has.
    fn command(&self, runner: RunnerName) -> Result<(Vec<String>, Option<String>), ManifestError> {
        if runner != RunnerName::Junit {
            return match ["command", "report"].into_iter().find(|key| self.has(key)) {
                Some(key) => Err(self.wrong(key, "is only for junit")),
                None => Ok((Vec::new(), None)),
            };
        }
        if self.has("args") {
            let message = "is not for junit; write the arguments into `command`";
            return Err(self.wrong("args", message));
        }
        let command = self.strings("command")?;
        let command = self.required("command", self.has("command").then_some(command))?;
        if command.first().is_none_or(String::is_empty) {
            return Err(self.wrong("command", "must name a program"));
        }
        let report = self.required("report", self.string("report")?)?;
        self.inside("report", std::slice::from_ref(&report))?;
        Ok((command, Some(report)))
    }

    /// A number from 0 to 1.
    fn share(&self, key: &str) -> Result<Option<f64>, ManifestError> {
        let form = "a number from 0 to 1";
        let share = self.typed(key, form, |value| match value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => integer.as_str().parse().ok(),
            _ => None,
        })?;
        match share {
            Some(share) if !(0.0..=1.0).contains(&share) => {
                Err(self.wrong(key, format!("must be {form}")))
            }
            share => Ok(share),
        }
    }

    /// Refuses paths that do not stay in the repository.
    fn inside(&self, key: &str, paths: &[String]) -> Result<(), ManifestError> {
        let leaves = |path: &&String| {
            let is_inner = |part| matches!(part, Component::Normal(_) | Component::CurDir);
            path.is_empty() || !Path::new(path).components().all(is_inner)
        };
        let Some(path) = paths.iter().find(leaves) else {
            return Ok(());
        };
        let message = format!("has `{path}`, which must be a path inside the repository");
        Err(self.wrong_item(key, path, message))
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
