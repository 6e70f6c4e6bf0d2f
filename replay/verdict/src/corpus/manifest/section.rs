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
    pub(super) fn line(&self, offset: usize) -> usize {
        LineIndex::new(self.text).number(offset)
    }

    pub(super) fn error(&self, span: Range<usize>, key: &str, message: String) -> ManifestError {
        ManifestError {
            file: self.path.to_owned(),
            line: self.line(span.start),
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

pub(super) type Found<T> = Result<Option<(T, Range<usize>)>, ManifestError>;

impl<'a> Section<'a> {
    pub(super) fn dotted(&self, key: &str) -> String {
        if self.key.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.key)
        }
    }

    /// An error at a key of this table; the message starts with the key.
    pub(super) fn wrong(
        &self,
        span: Range<usize>,
        key: &str,
        message: impl fmt::Display,
    ) -> ManifestError {
        let dotted = self.dotted(key);
        let message = format!("`{dotted}` {message}");
        self.reader.error(span, &dotted, message)
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
        Err(self.wrong(
            unknown.span(),
            key,
            format!("is not a known key; {}", suggestion(key, known)),
        ))
    }

    pub(super) fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    pub(super) fn typed<T>(
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

    pub(super) fn integer(&self, key: &str) -> Found<i64> {
        self.typed(key, "an integer", |value| {
            let integer = value.as_integer()?;
            i64::from_str_radix(integer.as_str(), integer.radix()).ok()
        })
    }

    pub(super) fn string(&self, key: &str) -> Found<String> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// An array of strings, each with its place.
    pub(super) fn strings(&self, key: &str) -> Found<Vec<(String, Range<usize>)>> {
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

    pub(super) fn section(&self, key: &str) -> Result<Section<'a>, ManifestError> {
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
    pub(super) fn tables(&self, key: &str) -> Result<Vec<Section<'a>>, ManifestError> {
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

    pub(super) fn missing(&self, key: &str) -> ManifestError {
        self.wrong(self.span.clone(), key, "is missing")
    }

    pub(super) fn required<T>(
        &self,
        key: &str,
        read: impl Fn(&Self, &str) -> Found<T>,
    ) -> Result<(T, Range<usize>), ManifestError> {
        read(self, key)?.ok_or_else(|| self.missing(key))
    }

    /// Reads a string that names one of the `choices`.
    pub(super) fn choice<T: Copy>(
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
}

impl ManifestText<'_> {
    /// A path that the manifest gives relative to its own folder.
    pub(super) fn beside(&self, path: &str) -> PathBuf {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let joined = folder.join(path);
        std::path::absolute(&joined).unwrap_or(joined)
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

/// A clause that names the nearest known word, or all of them if none is near.
fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest_name(word, known) {
        Some(nearest) => format!("`{nearest}` is the nearest that is"),
        None => format!("known are `{}`", known.join("`, `")),
    }
}
