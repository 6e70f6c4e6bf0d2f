//! The code that a verdict is on, and who wrote it.

/// A file of a project, or a new one, and the contents that it has in a run, which may be its own.
#[derive(Clone, Copy, Debug)]
pub struct FileContents<'a> {
    /// The file's path in the project.
    pub path: &'a str,
    /// Its contents.
    pub contents: &'a str,
}

/// The code that a verdict is on.
#[derive(Clone, Copy)]
pub(super) struct JudgedCode<'a> {
    /// The changed file's path in the project.
    pub(super) path: &'a str,
    /// Its contents.
    pub(super) contents: &'a str,
    pub(super) origin: CodeOrigin,
}

impl<'a> JudgedCode<'a> {
    /// Code that this program did not write.
    pub(super) fn foreign(path: &'a str, contents: &'a str) -> Self {
        let origin = CodeOrigin::Foreign;
        Self {
            path,
            contents,
            origin,
        }
    }

    /// The file that it changes.
    pub(super) fn file(self) -> FileContents<'a> {
        FileContents {
            path: self.path,
            contents: self.contents,
        }
    }

    /// Code that this program wrote.
    pub(super) fn own(path: &'a str, contents: &'a str) -> Self {
        let origin = CodeOrigin::Own;
        Self {
            path,
            contents,
            origin,
        }
    }
}

/// Author of the code that a verdict is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeOrigin {
    /// An author who may want it to pass: twins check the results of its tests.
    Foreign,
    /// This program, as a mutant or a canary.
    Own,
}
