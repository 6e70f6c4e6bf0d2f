//! Conventions of a language's tests, for models that are asked to write tests.

use std::ops::Range;

use tree_sitter::Node;

use super::twins::{FoundFunction, ParsedFile};

/// A language's conventions for tests.
pub struct TestConventions {
    /// The language and its test framework, as a sentence names them.
    pub framework: &'static str,
    /// Form of a single test, as a phrase in a request.
    pub form: &'static str,
    /// Info string of a fenced code block.
    pub fence: &'static str,
    /// The test in a statement of a file's outermost scope.
    pub test_in: fn(Node<'_>, &str) -> Option<FoundTest>,
    /// Returns the functions of the first file that may be tests, in the order of the file, each
    /// with the edits that make twins of it.
    pub(crate) test_functions: fn(&[ParsedFile<'_>]) -> Vec<FoundFunction>,
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

/// A test, or several that are written as one.
pub struct FoundTest {
    /// Range of the test in its file, in bytes.
    pub range: Range<usize>,
    /// Its name, if it is a single test.
    pub name: Option<String>,
}
