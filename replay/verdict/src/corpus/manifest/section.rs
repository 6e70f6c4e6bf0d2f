//! Tables of a TOML file with positions, so that every error names its file, line and key.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fillrate_syntax::spelling::nearest_name;
use fillrate_syntax::text::LineIndex;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error in a manifest, with its file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct ManifestError {
    /// The manifest.
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    /// The dotted key, e.g. `project.source.sha256`; empty where no key is at fault.
    pub key: String,
    /// One sentence that names the key and the remedy.
    pub message: String,
}

/// The manifest's text, for turning positions into lines.
pub(super) struct ManifestText<'a> {
    pub(super) text: &'a str,
    pub(super) path: &'a Path,
}

impl ManifestText<'_> {
    pub(super) fn error(&self, span: Range<usize>, key: &str, message: String) -> ManifestError {
        ManifestError {
            file: self.path.to_owned(),
            line: LineIndex::new(self.text).number(span.start),
            key: key.to_owned(),
            message,
        }
    }
}

/// A table of the manifest and its place in it.
pub(super) struct Section<'a> {
    pub(super) reader: &'a ManifestText<'a>,
    /// The dotted key of the table; empty at the top.
    pub(super) key: String,
    pub(super) span: Range<usize>,
    pub(super) table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    fn dotted(&self, key: &str) -> String {
        match (self.key.as_str(), key) {
            ("", key) | (key, "") => key.to_owned(),
            (outer, key) => format!("{outer}.{key}"),
        }
    }

    /// The value of a key, with its place.
    fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn wrong_at(&self, span: Range<usize>, key: &str, message: impl fmt::Display) -> ManifestError {
        let dotted = self.dotted(key);
        let message = format!("`{dotted}` {message}");
        self.reader.error(span, &dotted, message)
    }

    /// An error at the value of a key, or at the table if it has no such key; the message starts
    /// with the key. The key `""` is the table itself.
    pub(super) fn wrong(&self, key: &str, message: impl fmt::Display) -> ManifestError {
        let span = self.value(key).map_or(self.span.clone(), Spanned::span);
        self.wrong_at(span, key, message)
    }

    /// An error at an item of the array of a key.
    pub(super) fn wrong_item(
        &self,
        key: &str,
        item: &str,
        message: impl fmt::Display,
    ) -> ManifestError {
        let array = self.value(key).and_then(|value| value.get_ref().as_array());
        let mut items = array.into_iter().flat_map(|array| array.iter());
        match items.find(|value| value.get_ref().as_str() == Some(item)) {
            Some(value) => self.wrong_at(value.span(), key, message),
            None => self.wrong(key, message),
        }
    }

    /// The number of the line of a key's value, from 1.
    pub(super) fn line(&self, key: &str) -> usize {
        self.wrong(key, "").line
    }

    /// Refuses keys that are not known here.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ManifestError> {
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
        let message = format!("is not a known key; {}", suggestion(key, known));
        Err(self.wrong_at(unknown.span(), key, message))
    }

    pub(super) fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&'a DeValue<'a>) -> Option<T>,
    ) -> Result<Option<T>, ManifestError> {
        let Some(value) = self.value(key).map(Spanned::get_ref) else {
            return Ok(None);
        };
        let wrong = || self.wrong(key, format!("must be {expected}, not {}", kind(value)));
        read(value).map(Some).ok_or_else(wrong)
    }

    pub(super) fn integer(&self, key: &str) -> Result<Option<i64>, ManifestError> {
        self.typed(key, "an integer", |value| {
            let integer = value.as_integer()?;
            i64::from_str_radix(integer.as_str(), integer.radix()).ok()
        })
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<String>, ManifestError> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// An array of strings; empty if the key is absent.
    pub(super) fn strings(&self, key: &str) -> Result<Vec<String>, ManifestError> {
        let form = "an array of strings";
        let array = self.typed(key, form, DeValue::as_array)?;
        let items = array.into_iter().flat_map(|array| array.iter());
        items
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                other => {
                    let message = format!("must be {form}, but holds {}", kind(other));
                    Err(self.wrong_at(item.span(), key, message))
                }
            })
            .collect()
    }

    /// False if it is absent.
    pub(super) fn flag(&self, key: &str) -> Result<bool, ManifestError> {
        Ok(self
            .typed(key, "`true` or `false`", DeValue::as_bool)?
            .unwrap_or_default())
    }

    pub(super) fn section(&self, key: &str) -> Result<Section<'a>, ManifestError> {
        let table = self.typed(key, "a table", DeValue::as_table)?;
        let table = self.required(key, table)?;
        let span = self.value(key).map_or(self.span.clone(), Spanned::span);
        Ok(self.inner(key, span, table))
    }

    fn inner(&self, key: &str, span: Range<usize>, table: &'a DeTable<'a>) -> Section<'a> {
        Section {
            reader: self.reader,
            key: self.dotted(key),
            span,
            table,
        }
    }

    /// An array of tables with at least one.
    pub(super) fn tables(&self, key: &str) -> Result<Vec<Section<'a>>, ManifestError> {
        let form = format!("must be an array of tables, so write `[[{key}]]`");
        let value = self.required(key, self.value(key))?;
        let Some(array) = value.get_ref().as_array() else {
            return Err(self.wrong(key, form));
        };
        if array.is_empty() {
            return self.required(key, None);
        }
        let sections = array.iter().map(|item| match item.get_ref().as_table() {
            Some(table) => Ok(self.inner(key, item.span(), table)),
            None => Err(self.wrong_at(item.span(), key, &form)),
        });
        sections.collect()
    }

    /// Returns the value of a key, or the error that it is missing.
    pub(super) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T, ManifestError> {
        let missing = || self.wrong_at(self.span.clone(), key, "is missing");
        value.ok_or_else(missing)
    }

    /// Reads a string that names one of the `choices`.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<T, ManifestError> {
        let name = self.required(key, self.string(key)?)?;
        match choices.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(*value),
            None => {
                let known: Vec<_> = choices.iter().map(|(known, _)| *known).collect();
                let hint = suggestion(&name, &known);
                Err(self.wrong(key, format!("does not know `{name}`; {hint}")))
            }
        }
    }

    /// A path that the manifest gives relative to its own folder.
    pub(super) fn beside(&self, path: &str) -> PathBuf {
        let folder = self.reader.path.parent().unwrap_or(Path::new(""));
        let joined = folder.join(path);
        std::path::absolute(&joined).unwrap_or(joined)
    }
}

/// A value's type with its article.
fn kind(value: &DeValue<'_>) -> String {
    let noun = value.type_str();
    match noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {noun}"),
        false => format!("a {noun}"),
    }
}

/// A clause that names the nearest known word, or all of them if none is near.
fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest_name(word, known) {
        Some(nearest) => format!("`{nearest}` is the nearest that is"),
        None => format!("known are `{}`", known.join("`, `")),
    }
}
