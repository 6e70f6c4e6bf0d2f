//! A location in a file, as the command line names it, and the workspace around it.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use fillrate_syntax::text::{ByteOffset, Encoding, Position, Text};

use super::CliError;

/// A file and a location in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileLocation {
    pub(super) file: PathBuf,
    /// From 1.
    pub(super) line: u32,
    /// From 1, in characters; `None` is the line's end.
    pub(super) column: Option<u32>,
}

impl FromStr for FileLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|number| *number >= 1);
        let location = |file: &str, line, column| FileLocation {
            file: PathBuf::from(file),
            line,
            column,
        };
        // A file's name may hold a colon, so the numbers are taken from the end.
        let (rest, last) = text.rsplit_once(':').unwrap_or((text, ""));
        let last = number(last);
        match (rest.rsplit_once(':'), last) {
            (Some((file, line)), Some(column)) if number(line).is_some() && !file.is_empty() => {
                Ok(location(file, number(line).unwrap_or(1), Some(column)))
            }
            (_, Some(line)) if !rest.is_empty() => Ok(location(rest, line, None)),
            _ => Err("write FILE:LINE:COLUMN, e.g. src/app.py:12:5, both counted from 1".into()),
        }
    }
}

impl FileLocation {
    /// Reads the file as an editor does: without a byte order mark.
    ///
    /// # Errors
    /// The file can't be read or is not in UTF-8.
    pub(super) fn read(&self) -> Result<String, CliError> {
        let bytes = std::fs::read(&self.file).map_err(CliError::file(&self.file))?;
        decode(bytes, &self.file)
    }

    /// The byte offset in these contents.
    ///
    /// # Errors
    /// The line does not exist.
    pub(super) fn cursor(&self, contents: &str) -> Result<ByteOffset, CliError> {
        let text = Text::new(contents);
        let last = text.position(text.len(), Encoding::Utf32).line + 1;
        if self.line > last {
            return Err(CliError::Refused(format!(
                "{} has {last} lines, and no line {}",
                self.file.display(),
                self.line
            )));
        }
        let position = Position {
            line: self.line - 1,
            // Without a column, the cursor is at the end of the line.
            character: self.column.map_or(u32::MAX, |column| column - 1),
        };
        Ok(text.offset(position, Encoding::Utf32))
    }
}

/// Decodes a source text, without its byte order mark.
///
/// # Errors
/// The text is not in UTF-8.
pub(super) fn decode(bytes: Vec<u8>, origin: &Path) -> Result<String, CliError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        CliError::Refused(format!(
            "{} is not text in UTF-8: byte {} can't be read; convert it first, for example with \
             `iconv -f latin1 -t utf-8`, whose output --stdin of `fillrate complete` reads",
            origin.display(),
            error.utf8_error().valid_up_to() + 1
        ))
    })?;
    // An editor does not count a byte order mark as a character of the first line.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    })
}

/// The workspace's folder: the named one, else the one that an editor would have open for a file
/// with this absolute path.
pub(super) fn workspace_for(file: &Path, named: Option<&Path>) -> Result<PathBuf, CliError> {
    match named {
        Some(folder) => std::path::absolute(folder).map_err(CliError::file(folder)),
        None => {
            let current = std::env::current_dir().map_err(CliError::file("."))?;
            Ok(workspace(file, &current))
        }
    }
}

/// The folder an editor would have open for a file.
fn workspace(file: &Path, current: &Path) -> PathBuf {
    let own = file.parent().unwrap_or(Path::new("/"));
    let fallback = if own.starts_with(current) {
        current
    } else {
        own
    };
    own.ancestors()
        .find(|folder| folder.join(".git").exists() || folder.join("fillrate.toml").is_file())
        .unwrap_or(fallback)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_is_parsed_from_its_end() {
        let read = |text: &str| {
            text.parse::<FileLocation>()
                .map(|it| (it.file.display().to_string(), it.line, it.column))
        };
        assert_eq!(read("a.py:3:5"), Ok(("a.py".into(), 3, Some(5))));
        assert_eq!(read("a.py:3"), Ok(("a.py".into(), 3, None)));
        assert_eq!(read("a:b.py:3"), Ok(("a:b.py".into(), 3, None)));
        assert_eq!(read("c:4:3:5"), Ok(("c:4".into(), 3, Some(5))));
        for wrong in ["a.py", "a.py:", "a.py:0", ":3", "a.py:x:2:", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn byte_order_mark_is_no_character_and_other_encodings_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.py");
        let read = |contents: &[u8]| {
            std::fs::write(&file, contents).expect("it is written");
            let location = FileLocation {
                file: file.clone(),
                line: 1,
                column: None,
            };
            location.read()
        };
        assert_eq!(read(b"\xef\xbb\xbfx = 1").ok().as_deref(), Some("x = 1"));
        let error = read(b"# caf\xe9").expect_err("it is Latin-1").to_string();
        assert!(
            error.contains("a.py is not text in UTF-8: byte 6"),
            "{error}"
        );
        assert!(error.contains("iconv"), "{error}");
    }

    #[test]
    fn column_counts_characters_and_stays_on_its_line() {
        let location: FileLocation = "a.py:1:3".parse().expect("it is one");
        assert_eq!(location.cursor("é😀x\ny").ok(), Some(ByteOffset(6)));
        let location: FileLocation = "a.py:1:99".parse().expect("it is one");
        assert_eq!(location.cursor("é😀x\ny").ok(), Some(ByteOffset(7)));
        let location: FileLocation = "a.py:3".parse().expect("it is one");
        let error = location.cursor("x\ny").expect_err("there is no such line");
        assert_eq!(error.to_string(), "a.py has 2 lines, and no line 3");
    }
}
