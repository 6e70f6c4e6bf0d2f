//! Files with every hole marked, and source in pieces by what they are in the syntax.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

use fillrate_language::task::Hole;
use fillrate_syntax::Language;
use serde::Serialize;
use tree_sitter::Node;

use super::{HtmlReport, HtmlReportError};
use crate::figures::passes;

/// A file of a project in which there are holes.
pub(super) struct MarkedFile {
    /// Project and path; the contents' hash too, where another file has the same name.
    name: String,
    /// The places of its holes, in order.
    holes: Vec<usize>,
}

impl MarkedFile {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// True if the hole at a place is in it.
    pub(super) fn has(&self, place: usize) -> bool {
        self.holes.binary_search(&place).is_ok()
    }
}

/// Contents of `data/files.js`: all files, column by column.
#[derive(Serialize)]
pub(super) struct FileColumns<'a> {
    name: Vec<&'a str>,
    holes: Vec<usize>,
    /// Attempts that passed, over all runs.
    passed: Vec<usize>,
    /// Attempts whose outcome says whether they passed.
    judged: Vec<usize>,
}

/// Contents of `data/file-N.js`.
#[derive(Serialize)]
pub(super) struct FileView {
    pieces: Vec<FilePiece>,
    holes: Vec<FileHole>,
}

/// A text's class in the syntax, the index of the innermost hole that it is in, and the text.
#[derive(Serialize)]
struct FilePiece(&'static str, Option<usize>, String);

#[derive(Serialize)]
struct FileHole {
    /// The hole's place.
    place: usize,
    /// Of each run, how many attempts passed, of how many.
    runs: Vec<(usize, usize)>,
}

/// A text and its class in the syntax: `k` a keyword, `s` a string, `n` a number, `c` a comment;
/// empty for any other.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct SyntaxPiece(&'static str, String);

/// The parts of a file that have a class, in order.
type Spans = Vec<(Range<usize>, &'static str)>;

/// The files of holes, in the order in which they first appear.
pub(super) fn files(holes: &[Hole]) -> Vec<MarkedFile> {
    let mut files: Vec<MarkedFile> = Vec::new();
    let mut known: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for (place, hole) in holes.iter().enumerate() {
        // Versions of one file have different holes at the same positions.
        let key = (&*hole.project, &*hole.path, &*hole.file_sha256);
        let file = *known.entry(key).or_insert_with(|| {
            let mut name = format!("{}/{}", hole.project, hole.path);
            if !names.insert(name.clone()) {
                name = format!("{name}@{}", hole.file_sha256.get(..8).unwrap_or_default());
            }
            files.push(MarkedFile {
                name,
                holes: Vec::new(),
            });
            files.len() - 1
        });
        files[file].holes.push(place);
    }
    files
}

/// The classes of a file's text.
pub(super) fn spans(path: &str, text: &str) -> Spans {
    let mut spans = Spans::new();
    if let Some(language) = Language::for_path(Path::new(path)) {
        let tree = language.parse(text);
        let mut cursor = tree.walk();
        loop {
            let node = cursor.node();
            let class = class(language, node);
            if let Some(class) = class {
                spans.push((node.byte_range(), class));
            }
            // A marked node is not descended into: its parts have its class.
            if class.is_none() && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return spans;
                }
            }
        }
    }
    spans
}

fn class(language: &Language, node: Node<'_>) -> Option<&'static str> {
    let kind = node.kind();
    if language.is_comment(node) {
        return Some("c");
    }
    if language.is_string(node) {
        return Some("s");
    }
    if node.child_count() > 0 {
        return None;
    }
    let is_word = kind.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_word && (!node.is_named() || ["true", "false", "none", "null", "nil"].contains(&kind)) {
        return Some("k");
    }
    let is_number = ["integer", "float", "number"]
        .iter()
        .any(|word| kind.contains(word));
    (node.is_named() && is_number).then_some("n")
}

/// A range of a text, cut where classes change.
pub(super) fn pieces(spans: &Spans, text: &str, range: Range<usize>) -> Vec<SyntaxPiece> {
    let mut pieces = Vec::new();
    let mut at = range.start;
    let mut push = |class, range: Range<usize>| {
        let piece = text.get(range).unwrap_or_default();
        if !piece.is_empty() {
            pieces.push(SyntaxPiece(class, piece.to_owned()));
        }
    };
    // Spans are in order and disjoint, so the first one that matters is found by bisection.
    let first = spans.partition_point(|(span, _)| span.end <= range.start);
    for (span, class) in &spans[first..] {
        if span.start >= range.end {
            break;
        }
        let (start, end) = (span.start.max(at), span.end.min(range.end));
        push("", at..start);
        push(class, start..end);
        at = end;
    }
    push("", at..range.end);
    pieces
}

impl HtmlReport {
    pub(super) fn file_columns(&self) -> FileColumns<'_> {
        let counts = self.files.iter().map(|file| {
            let runs = file.holes.iter().flat_map(|place| self.passed_of(*place));
            runs.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
        });
        let (passed, judged) = counts.unzip();
        FileColumns {
            name: self.files.iter().map(|file| &*file.name).collect(),
            holes: self.files.iter().map(|file| file.holes.len()).collect(),
            passed,
            judged,
        }
    }

    pub(super) fn file_view(&self, number: usize) -> Result<FileView, HtmlReportError> {
        let mut places = self.files[number].holes.clone();
        places.sort_by_key(|place| (self.holes[*place].start.0, *place));
        let first = &self.holes[places[0]];
        let text = self.source(first)?;
        let spans = spans(&first.path, &text);
        let ranges: Vec<Range<usize>> = places
            .iter()
            .map(|place| self.holes[*place].start.0..self.holes[*place].end.0)
            .collect();
        let mut bounds: BTreeSet<usize> = [0, text.len()].into();
        bounds.extend(ranges.iter().flat_map(|range| [range.start, range.end]));
        // A damaged hole may end after its file.
        let bounds: Vec<usize> = bounds.into_iter().filter(|at| *at <= text.len()).collect();
        let mut all = Vec::new();
        for bound in bounds.windows(2) {
            let around = ranges.iter().enumerate();
            let around = around.filter(|(_, hole)| hole.start <= bound[0] && bound[1] <= hole.end);
            // Holes may be nested; a stretch belongs to the smallest around it.
            let innermost = around
                .min_by_key(|(_, hole)| hole.len())
                .map(|(hole, _)| hole);
            let inside = pieces(&spans, &text, bound[0]..bound[1]);
            all.extend(
                inside
                    .into_iter()
                    .map(|SyntaxPiece(class, text)| FilePiece(class, innermost, text)),
            );
        }
        let holes = places.into_iter().map(|place| FileHole {
            place,
            runs: self.passed_of(place),
        });
        Ok(FileView {
            pieces: all,
            holes: holes.collect(),
        })
    }

    /// Of each run, how many first completions of a hole passed, of how many with a verdict.
    fn passed_of(&self, place: usize) -> Vec<(usize, usize)> {
        let runs = self.reported_runs.iter().map(|reported| {
            let of_hole = reported.by_hole.get(&place).into_iter().flatten();
            let first = of_hole
                .map(|at| &reported.scored[*at])
                .filter(|one| one.attempt.repair_round == 0);
            let passed = passes(&first.collect::<Vec<_>>());
            (passed.iter().filter(|one| **one).count(), passed.len())
        });
        runs.collect()
    }
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::HoleKind;

    use super::*;

    fn classes(path: &str, text: &str) -> Vec<SyntaxPiece> {
        pieces(&spans(path, text), text, 0..text.len())
    }

    #[test]
    fn pieces_are_the_text_with_its_classes() {
        let text = "def f(a):\n    return a + 12 # \u{fc}ber\n";
        let found = classes("a.py", text);
        let whole: String = found.iter().map(|piece| &*piece.1).collect();
        assert_eq!(whole, text);
        let of = |class| {
            let found = found.iter().filter(|piece| piece.0 == class);
            found.map(|piece| &*piece.1).collect::<Vec<_>>()
        };
        assert_eq!(of("k"), ["def", "return"]);
        assert_eq!(of("n"), ["12"]);
        assert_eq!(of("c"), ["# \u{fc}ber"]);
        let script = classes("a.ts", "const a = 'b';");
        assert_eq!(script[0], SyntaxPiece("k", "const".into()));
        assert!(script.contains(&SyntaxPiece("s", "'b'".into())));
        assert_eq!(classes("a.txt", "def"), [SyntaxPiece("", "def".into())]);
    }

    #[test]
    fn each_hole_is_in_the_file_of_its_version() {
        let hole = |text: &str| Hole::new("demo", "python", "a.py", HoleKind::Line, 4..5, text);
        let holes = [hole("a = 1\n"), hole("a = 2\n"), hole("a = 1\n")];
        let files = files(&holes);
        let of_holes: Vec<&str> = (0..3)
            .filter_map(|place| Some(files.iter().find(|file| file.has(place))?.name()))
            .collect();
        let other = format!("demo/a.py@{}", &holes[1].file_sha256[..8]);
        assert_eq!(of_holes, ["demo/a.py", &other, "demo/a.py"]);
    }

    #[test]
    fn a_range_cuts_pieces_at_its_ends() {
        let text = "a = 'long'";
        let spans = spans("a.py", text);
        assert_eq!(pieces(&spans, text, 6..8), [SyntaxPiece("s", "on".into())]);
        assert_eq!(pieces(&spans, text, 1..3), [SyntaxPiece("", " =".into())]);
    }
}
