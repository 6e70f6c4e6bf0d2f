//! A benchmark's records: lines of a file, and the fields of one.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use fillrate_language::task::skip_byte_order_mark;
use flate2::bufread::MultiGzDecoder;
use serde_json::{Map, Value};

use super::error::{ImportError, RecordFault};

/// One record.
pub(super) struct BenchmarkRecord<'a> {
    fields: &'a Map<String, Value>,
    /// The file it is in.
    pub(super) file: &'a Path,
    names: &'a FileNames,
}

/// The names of files that are made of the ids of tasks.
#[derive(Default)]
pub(super) struct FileNames {
    taken: RefCell<HashSet<String>>,
}

impl FileNames {
    /// Makes a name that no call returned before: ids may differ only in case or in signs.
    fn unique(&self, id: &str) -> String {
        let plain = plain_file_name(id);
        let mut taken = self.taken.borrow_mut();
        let mut name = plain.clone();
        let mut count = 1;
        while !taken.insert(name.clone()) {
            count += 1;
            name = format!("{plain}_{count}");
        }
        name
    }
}

impl<'a> BenchmarkRecord<'a> {
    /// A record, if it is a JSON object.
    pub(super) fn new(value: &'a Value, file: &'a Path, names: &'a FileNames) -> Option<Self> {
        let fields = value.as_object()?;
        Some(Self {
            fields,
            file,
            names,
        })
    }

    /// A name for files of its own, made of its task's id.
    pub(super) fn file_name(&self, id: &str) -> String {
        self.names.unique(id)
    }

    /// True if it has a field that is not `null`.
    pub(super) fn has(&self, field: &str) -> bool {
        self.value(field).is_some()
    }

    /// A text.
    pub(super) fn text(&self, field: &str) -> Result<&'a str, RecordFault> {
        let value = self.required(field)?;
        value
            .as_str()
            .ok_or_else(|| RecordFault::new(field, format!("must be a text, not {}", kind(value))))
    }

    /// A text, if the field is there.
    pub(super) fn optional_text(&self, field: &str) -> Result<Option<&'a str>, RecordFault> {
        match self.value(field) {
            None => Ok(None),
            Some(_) => self.text(field).map(Some),
        }
    }

    /// A text or a number, as text.
    pub(super) fn name(&self, field: &str) -> Result<String, RecordFault> {
        match self.required(field)? {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(RecordFault::new(
                field,
                format!("must be a text or a number, not {}", kind(other)),
            )),
        }
    }

    /// A whole number from 0, which a table may have written as a text.
    pub(super) fn number(&self, field: &str) -> Result<usize, RecordFault> {
        let value = self.required(field)?;
        value
            .as_u64()
            .or_else(|| value.as_str()?.parse().ok())
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| RecordFault::new(field, "must be a whole number from 0"))
    }

    /// A list of texts.
    pub(super) fn texts(&self, field: &str) -> Result<Vec<&'a str>, RecordFault> {
        let fault = || RecordFault::new(field, "must be a list of texts");
        let values = self.required(field)?.as_array().ok_or_else(fault)?;
        values
            .iter()
            .map(|value| value.as_str().ok_or_else(fault))
            .collect()
    }

    /// Two whole numbers, the second not less than the first.
    pub(super) fn lines(&self, field: &str) -> Result<(usize, usize), RecordFault> {
        let fault = || RecordFault::new(field, "must be two line numbers, first and last");
        let values = self.required(field)?.as_array().ok_or_else(fault)?;
        let number = |place: usize| usize::try_from(values.get(place)?.as_u64()?).ok();
        match (number(0), number(1), values.len()) {
            (Some(first), Some(last), 2) if 0 < first && first <= last => Ok((first, last)),
            _ => Err(fault()),
        }
    }

    /// Returns a relative path that stays within its base folder.
    pub(super) fn path(&self, field: &str) -> Result<&'a str, RecordFault> {
        let path = self.text(field)?;
        inside(field, path).map(|()| path)
    }

    /// Any value.
    pub(super) fn required(&self, field: &str) -> Result<&'a Value, RecordFault> {
        self.value(field)
            .ok_or_else(|| RecordFault::new(field, "is missing"))
    }

    fn value(&self, field: &str) -> Option<&'a Value> {
        // A dot in a field's name leads into the object before it.
        let mut names = field.split('.');
        let mut value = self.fields.get(names.next()?)?;
        for name in names {
            value = value.get(name)?;
        }
        Some(value).filter(|value| !value.is_null())
    }
}

/// A benchmark's task id as the name of a file.
pub(super) fn plain_file_name(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect::<String>()
        .to_ascii_lowercase()
}

/// Refuses a path that leaves its base folder.
pub(super) fn inside(field: &str, path: &str) -> Result<(), RecordFault> {
    // `..`, a root and a drive are components of other kinds.
    let stays = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if stays && !path.is_empty() && !path.contains(['\\', '\n']) {
        Ok(())
    } else {
        Err(RecordFault::new(
            field,
            format!("has `{path}`, which must be a path inside the repository"),
        ))
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The lines of a file of JSON lines, unpacked as they are read.
pub(super) struct RecordLines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    line: usize,
    bytes: Rc<Cell<u64>>,
}

/// A reader that counts what goes through it.
struct Counted {
    file: File,
    bytes: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// First bytes of files of other kinds, and advice for each.
const FOREIGN: [(&[u8], &str); 4] = [
    (b"\x28\xb5\x2f\xfd", "is packed by zstd; unpack it first"),
    (
        b"PAR1",
        "is Parquet; write its rows as JSON lines first, as pandas' `to_json(\"F.jsonl\", \
         orient=\"records\", lines=True)` does",
    ),
    (
        b"PK\x03\x04",
        "is a zip archive or a spreadsheet; unpack it first, or write its rows as JSON lines, as \
         pandas' `read_excel(F).to_json(\"F.jsonl\", orient=\"records\", lines=True)` does",
    ),
    (b"\xfd7zXZ\x00", "is packed by xz; unpack it first"),
];

impl RecordLines {
    /// Opens a file, plain or gzip.
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        let fault = |error| ImportError::file(path)(error);
        let bytes = Rc::new(Cell::new(0));
        let file = File::open(path).map_err(fault)?;
        let counted = Counted {
            file,
            bytes: Rc::clone(&bytes),
        };
        let mut plain = BufReader::with_capacity(1 << 16, counted);
        let start = plain.fill_buf().map_err(fault)?;
        if let Some((_, what)) = FOREIGN.iter().find(|(magic, _)| start.starts_with(magic)) {
            return Err(ImportError::Refused(format!("{} {what}", path.display())));
        }
        let reader: Box<dyn BufRead> = if start.starts_with(b"\x1f\x8b") {
            // Archives that were joined are one file of several gzip members.
            Box::new(BufReader::new(MultiGzDecoder::new(plain)))
        } else {
            Box::new(plain)
        };
        Ok(Self {
            path: path.to_owned(),
            reader,
            line: 0,
            bytes,
        })
    }

    /// The next line that is not blank, with its number from 1.
    pub(super) fn next_line(&mut self) -> Result<Option<(usize, String)>, ImportError> {
        loop {
            let mut text = String::new();
            let begun = match self.line {
                0 => skip_byte_order_mark(&mut self.reader),
                _ => Ok(()),
            };
            let read = begun.and_then(|()| self.reader.read_line(&mut text));
            self.line += 1;
            match read {
                Ok(0) => return Ok(None),
                Ok(_) if text.trim().is_empty() => {}
                Ok(_) => return Ok(Some((self.line, text))),
                Err(error) => {
                    return Err(ImportError::Record {
                        path: self.path.clone(),
                        line: self.line,
                        reason: format!("it can't be read: {error}"),
                    });
                }
            }
        }
    }

    /// Number of bytes read from the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}
