//! Conventions of a language's tests, for detection and for models that are asked to write tests.

use std::ops::Range;

use fillrate_syntax::Language;
use tree_sitter::Node;

use super::detection::matches_name;
use super::twins::{FoundFunction, ParsedFile};

/// A language's conventions for tests.
pub struct TestConventions {
    /// The names of files of tests.
    pub files: TestFileNames,
    /// The language and its test framework, as a sentence names them.
    pub framework: &'static str,
    /// Form of a single test, as a phrase in a request.
    pub form: &'static str,
    /// Info string of a fenced code block.
    pub fence: &'static str,
    /// The test in a statement of a file's outermost scope.
    pub test_in: fn(Node<'_>, &str) -> Option<FoundTest>,
    /// Lists the functions below a node that may be tests.
    pub(crate) collect_tests: TestCollector,
    /// Returns the parts of a node that only say why a test fails, or what it is about.
    pub(crate) messages: for<'t> fn(Node<'t>, &str) -> Vec<Node<'t>>,
    /// Beginnings of calls that print or log texts.
    pub(crate) logging: &'static [&'static str],
    /// Returns a file of tests in which values are compared by their contents, whatever their
    /// classes say; `None` if it compares none whose class could say something else.
    pub(crate) with_plain_comparisons: fn(&'static Language, &str) -> Option<String>,
    /// Returns the name of a file of added tests that the framework finds as it finds the example:
    /// from the example's file name, the name of the file under test without its endings, and a
    /// digest.
    pub file_name: fn(example: &str, stem: &str, digest: &str) -> String,
    /// Returns a file with the same behaviour and different compiled code, if the language can run
    /// text.
    pub recompiled: fn(&str) -> String,
    /// The name under which compiled code is found at run time.
    pub code_object: Option<&'static str>,
}

/// Lists the functions below a node of the first file that may be tests, in the order of the file,
/// each with the edits that make twins of it. It gets and extends the names of what encloses the
/// node and what was found before.
pub(crate) type TestCollector =
    fn(Node<'_>, &[ParsedFile<'_>], &mut Vec<String>, &mut Vec<FoundFunction>);

/// Names by which a language's files of tests are known, as patterns: `*` matches any text.
pub struct TestFileNames {
    /// Folders all of whose files, at any depth, are of tests.
    pub folders: &'static [&'static str],
    /// Names of files.
    pub names: &'static [&'static str],
}

impl TestFileNames {
    /// True if a file of the language is one of tests, by its name or by a folder that it is in.
    pub fn is_file(&self, path: &str) -> bool {
        self.is_name(path.rsplit('/').next().unwrap_or(path)) || self.is_within(path)
    }

    /// True if a file's name is one of tests.
    pub(crate) fn is_name(&self, name: &str) -> bool {
        self.names.iter().any(|pattern| matches_name(pattern, name))
    }

    /// True if a file is in a folder of tests.
    pub(crate) fn is_within(&self, path: &str) -> bool {
        let mut folders = path.split('/').rev().skip(1);
        folders.any(|folder| {
            self.folders
                .iter()
                .any(|pattern| matches_name(pattern, folder))
        })
    }
}

/// A test, or several that are written as one.
pub struct FoundTest {
    /// Range of the test in its file, in bytes.
    pub range: Range<usize>,
    /// Its name, if it is a single test.
    pub name: Option<String>,
}
