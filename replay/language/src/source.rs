//! A file of a repository.

use std::path::Path;

use fillrate_syntax::Language;
use fillrate_syntax::text::line_start;
use tree_sitter::{Node, Tree};

/// A file that holes may be cut into.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Relative to the project's root, with `/`.
    pub path: String,
    /// Its text.
    pub contents: String,
    /// Its language.
    pub language: &'static Language,
}

/// Maximum nesting of a file's syntax tree: functions that walk trees recurse once per level.
const DEEPEST: usize = 500;

impl SourceFile {
    /// Reads a file of the repository in the folder `root`, by its path there.
    ///
    /// # Errors
    /// The reason, as a clause, why no hole can be cut into it: it can't be read as UTF-8, or
    /// it nests too deeply.
    pub fn read(root: &Path, path: &str, language: &'static Language) -> Result<Self, String> {
        let bytes = std::fs::read(root.join(path)).map_err(|error| error.to_string())?;
        let contents = String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            format!("line {line} is not UTF-8; save it as UTF-8 to have holes in it")
        })?;
        if is_too_deep(&language.parse(&contents)) {
            return Err(format!(
                "its code nests deeper than {DEEPEST} levels, as generated tables do"
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            contents,
            language,
        })
    }

    /// The text of a node of the file's syntax tree.
    pub fn text(&self, node: Node<'_>) -> &str {
        &self.contents[node.byte_range()]
    }

    /// Returns the start of the line that contains a byte.
    pub fn line_start(&self, byte: usize) -> usize {
        line_start(&self.contents, byte)
    }
}

/// True if a tree nests too deeply for code that calls itself for each level.
pub(crate) fn is_too_deep(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > DEEPEST {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a file with these bytes.
    fn read(path: &str, bytes: &[u8]) -> Result<SourceFile, String> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(path), bytes).expect("a file");
        let language = Language::for_path(Path::new(path)).expect("it is supported");
        SourceFile::read(folder.path(), path, language)
    }

    #[test]
    fn files_that_are_not_utf8_are_refused_with_the_line() {
        let reason = read("a.py", b"# coding: latin-1\nx = 1\n# caf\xe9\n").expect_err("Latin-1");
        assert!(reason.starts_with("line 3 is not UTF-8"), "{reason}");
        assert!(read("a.py", "# caf\u{e9}\n".as_bytes()).is_ok());
    }

    #[test]
    fn deep_nesting_is_refused_before_anything_calls_itself() {
        for path in ["a.js", "a.py", "a.go", "A.java"] {
            let deep = ["x = 1", &" + 1".repeat(16_000), "\n"].concat();
            let reason = read(path, deep.as_bytes()).expect_err("too deep");
            assert!(reason.contains("deeper than 500"), "{path}: {reason}");
        }
        let usual = ["x = 1", &" + 1".repeat(400), "\n"].concat();
        assert!(read("a.py", usual.as_bytes()).is_ok());
    }
}
