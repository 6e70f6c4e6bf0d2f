//! Every range of a file that could be a hole, from its syntax and its lines that tests run.

mod ranges;

use std::ops::Range;

use fillrate_language::SourceFile;
use fillrate_language::mutate;
use fillrate_language::task::{Hole, HoleKind, HoledFile};
use fillrate_syntax::Language;
use tree_sitter::Tree;

use super::category::CategoryIndex;
use super::nesting::Nesting;
pub(super) use ranges::{FoundRanges, StatementSite, find_ranges};

/// The most lines of a hole.
pub const MOST_LINES: usize = 30;

/// A hole that could be cut.
#[derive(Clone, Debug)]
pub struct HoleCandidate {
    /// The hole.
    pub hole: Hole,
    /// Offset of the statement that the hole begins in.
    statement: usize,
    language: &'static Language,
}

impl HoleCandidate {
    /// The file with a statement that raises before the one the hole begins in: tests that still
    /// pass do not reach it.
    pub fn raising(&self, contents: &str) -> String {
        mutate::raise_before(self.language, contents, self.statement).apply(contents)
    }
}

/// Lines of a file that the tests run, one-based.
#[derive(Clone, Copy)]
pub struct LineCoverage<'a> {
    /// True if a test runs a line.
    pub tested: &'a dyn Fn(usize) -> bool,
    /// True if a line runs when the file is imported.
    pub at_import: &'a dyn Fn(usize) -> bool,
}

/// Every candidate in a file. Holes are within functions: code outside them runs at import, for
/// every test. A function may be called at import too, which its holes record.
pub fn find_candidates(
    project: &str,
    file: &SourceFile,
    coverage: LineCoverage<'_>,
) -> Vec<HoleCandidate> {
    let tree = file.language.parse(&file.contents);
    let found = find_ranges(file, &tree, coverage.tested);
    let FoundRanges { statements, ranges } = found;
    let covered = CoveredFile::new(project, file, &tree, &statements, coverage);
    let mut candidates: Vec<HoleCandidate> = ranges
        .into_iter()
        .filter_map(|(kind, range)| covered.candidate(kind, range))
        .collect();
    candidates.sort_by(|a, b| {
        let key = |candidate: &HoleCandidate| {
            (
                candidate.hole.start,
                candidate.hole.end,
                candidate.hole.kind,
            )
        };
        key(a).cmp(&key(b))
    });
    candidates.dedup_by(|a, b| a.hole.id == b.hole.id);
    candidates
}

/// A file with its syntax, its statements and its coverage.
pub(super) struct CoveredFile<'a> {
    file: &'a SourceFile,
    holed: HoledFile<'a>,
    /// As [`find_ranges`] returns them.
    statements: &'a Nesting<StatementSite>,
    categories: CategoryIndex<'a>,
    coverage: LineCoverage<'a>,
}

impl<'a> CoveredFile<'a> {
    pub(super) fn new(
        project: &'a str,
        file: &'a SourceFile,
        tree: &'a Tree,
        statements: &'a Nesting<StatementSite>,
        coverage: LineCoverage<'a>,
    ) -> Self {
        let language = file.language;
        Self {
            file,
            holed: HoledFile::new(project, language.name, &file.path, &file.contents),
            statements,
            categories: CategoryIndex::new(tree.root_node(), &file.contents, language),
            coverage,
        }
    }

    /// The candidate in a range, if the range is short enough and tests run all of it.
    pub(super) fn candidate(&self, kind: HoleKind, range: Range<usize>) -> Option<HoleCandidate> {
        let lines = self.holed.lines().lines(range.clone()).len();
        if !(1..=MOST_LINES).contains(&lines) {
            return None;
        }
        let begins_in = self.statements.around(range.start).next()?;
        // Where a statement begins, coverage shows whether tests run it; they must run each one.
        let all_covered = self
            .statements
            .beginning_in(&range)
            .iter()
            .all(|statement| (self.coverage.tested)(statement.value.line));
        if !all_covered || !(self.coverage.tested)(begins_in.value.line) {
            return None;
        }
        let first_line = self.holed.lines().number(range.start);
        let category = self.categories.categorize(&range);
        let mut hole = self.holed.hole(kind, range);
        hole.category = Some(category);
        hole.at_import = (first_line..first_line + lines).any(self.coverage.at_import);
        Some(HoleCandidate {
            hole,
            statement: begins_in.bytes.start,
            language: self.file.language,
        })
    }
}

#[cfg(test)]
mod tests;
