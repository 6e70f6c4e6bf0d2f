//! Statistics of a tasks file: numbers and sizes of its holes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use comfy_table::Cell;
use fillrate_language::task::Hole;
use fillrate_mine::tokens;
use fillrate_server::prompt::approximate_tokens;
use fillrate_syntax::Language;
use fillrate_syntax::text::LineIndex;
use serde::Serialize;

use super::table::{ABSENT, TextTable, TextWidth, right};

/// The figures of a tasks file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dataset {
    /// One row for each project, each language, each kind and each category, and a last one for
    /// all. Holes without a category are in no row of one.
    pub rows: Vec<DatasetRow>,
}

/// The figures of some holes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetRow {
    /// Dimension that the holes are grouped by: `project`, `language`, `kind` or `category`, or
    /// `all`.
    pub by: &'static str,
    /// Value in that dimension, or `*` for all.
    pub name: String,
    /// Number of their projects.
    pub repositories: usize,
    /// Number of files that they are cut into.
    pub files: usize,
    /// Number of holes.
    pub holes: usize,
    /// By name, of those in [`MEASURES`] that any of the holes has.
    pub measures: BTreeMap<&'static str, SizeRange>,
}

/// Range of a size over some holes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeRange {
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// Number of holes that have it.
    pub n: usize,
}

/// A hole with what its file has around it, where the file is at hand.
#[derive(Clone, Copy, Debug)]
pub struct HoleInFile<'a> {
    /// The hole.
    pub hole: &'a Hole,
    /// The file's text before and after it.
    pub around: Option<(&'a str, &'a str)>,
}

/// Measure of a hole. A measure gives nothing for a hole that lacks it.
pub struct SizeMeasure {
    /// Its name in `--json`.
    pub name: &'static str,
    /// Heading of its column; `None` if only `--json` has it.
    heading: Option<&'static str>,
    of: fn(&HoleInFile<'_>) -> Option<f64>,
}

/// Everything that is measured. Lines are those that have begun. `tokens/syntax` are those of
/// [`tokens::count`], `tokens/approximate` those of [`approximate_tokens`]: no model's own
/// tokenizer is used for either.
pub static MEASURES: [SizeMeasure; 8] = [
    SizeMeasure {
        name: "reference/lines",
        heading: Some("reference lines"),
        of: |entry| Some(lines(&entry.hole.reference)),
    },
    SizeMeasure {
        name: "reference/tokens/syntax",
        heading: Some("reference tokens/syntax"),
        of: |entry| {
            let language = Language::for_path(Path::new(&entry.hole.path))?;
            Some(tokens::count(&entry.hole.reference, language) as f64)
        },
    },
    SizeMeasure {
        name: "reference/tokens/approximate",
        heading: None,
        of: |entry| Some(approximate_tokens(&entry.hole.reference) as f64),
    },
    SizeMeasure {
        name: "prefix/lines",
        heading: Some("prefix lines"),
        of: |entry| entry.around.map(|(prefix, _)| lines(prefix)),
    },
    SizeMeasure {
        name: "prefix/tokens/approximate",
        heading: None,
        of: |entry| {
            let (prefix, _) = entry.around?;
            Some(approximate_tokens(prefix) as f64)
        },
    },
    SizeMeasure {
        name: "suffix/lines",
        heading: Some("suffix lines"),
        of: |entry| entry.around.map(|(_, suffix)| lines(suffix)),
    },
    SizeMeasure {
        name: "suffix/tokens/approximate",
        heading: None,
        of: |entry| {
            let (_, suffix) = entry.around?;
            Some(approximate_tokens(suffix) as f64)
        },
    },
    SizeMeasure {
        name: "dependencies",
        heading: Some("dependencies"),
        of: |entry| Some(entry.hole.dependencies.as_ref()?.len() as f64),
    },
];

/// Grouping of holes: its name, and a hole's group, in the order of the first part.
type Grouping = (&'static str, fn(&Hole) -> Option<(usize, String)>);

const GROUPINGS: [Grouping; 4] = [
    ("project", |hole| Some((0, hole.project.clone()))),
    ("language", |hole| Some((0, hole.language.clone()))),
    ("kind", |hole| {
        Some((hole.kind as usize, hole.kind.to_string()))
    }),
    ("category", |hole| {
        let subject = hole.category.as_ref()?.name;
        Some((subject as usize, subject.to_string()))
    }),
];

impl Dataset {
    /// Counts and measures holes.
    pub fn measure(entries: &[HoleInFile<'_>]) -> Self {
        let measured: Vec<Measured<'_>> = entries
            .iter()
            .map(|entry| Measured {
                hole: entry.hole,
                values: MEASURES.each_ref().map(|measure| (measure.of)(entry)),
            })
            .collect();
        let mut rows = Vec::new();
        for (by, group) in GROUPINGS {
            let mut groups: BTreeMap<(usize, String), Vec<&Measured<'_>>> = BTreeMap::new();
            for one in &measured {
                // Holes without a category are in no group by category, but in all other rows.
                if let Some(name) = group(one.hole) {
                    // The number in the key keeps kinds and categories in the order of their
                    // definitions.
                    groups.entry(name).or_default().push(one);
                }
            }
            for ((_, name), members) in &groups {
                rows.push(row(by, name, members));
            }
        }
        rows.push(row("all", "*", &measured.iter().collect::<Vec<_>>()));
        Self { rows }
    }

    /// The table for people. Columns that no hole has a value for are left out.
    pub fn table(&self, width: TextWidth) -> String {
        let columns: Vec<(&str, &str)> = MEASURES
            .iter()
            .filter(|measure| {
                self.rows
                    .iter()
                    .any(|row| row.measures.contains_key(measure.name))
            })
            .filter_map(|measure| Some((measure.name, measure.heading?)))
            .collect();
        let mut header = vec!["by", "name", "repositories", "files", "holes"];
        header.extend(columns.iter().map(|(_, heading)| heading));
        let mut table = TextTable::new(header);
        for row in &self.rows {
            let mut cells = vec![Cell::new(row.by), Cell::new(&row.name)];
            cells.extend([row.repositories, row.files, row.holes].map(right));
            for (name, _) in &columns {
                let extent = row.measures.get(name);
                let text = extent.map_or_else(|| ABSENT.to_owned(), |it| it.text(row.holes));
                cells.push(right(text));
            }
            table.add_row(cells);
        }
        format!(
            "{}\nSizes as mean (least–most), over the row's holes or the n that have one. \
             tokens/syntax are the leaves of the\nreference's own syntax tree, a string or \
             comment being one; no model's tokenizer is used.\n",
            table.render(width)
        )
    }
}

/// A hole with the values of [`MEASURES`].
struct Measured<'a> {
    hole: &'a Hole,
    values: [Option<f64>; MEASURES.len()],
}

fn row(by: &'static str, name: &str, members: &[&Measured<'_>]) -> DatasetRow {
    let repositories: BTreeSet<&str> = members.iter().map(|one| &*one.hole.project).collect();
    let files: BTreeSet<(&str, &str)> = members
        .iter()
        .map(|one| (&*one.hole.project, &*one.hole.path))
        .collect();
    let measures = MEASURES
        .iter()
        .enumerate()
        .filter_map(|(index, measure)| {
            let values: Vec<f64> = members.iter().filter_map(|one| one.values[index]).collect();
            Some((measure.name, extent(&values)?))
        })
        .collect();
    DatasetRow {
        by,
        name: name.to_owned(),
        repositories: repositories.len(),
        files: files.len(),
        holes: members.len(),
        measures,
    }
}

/// Nothing of nothing.
fn extent(values: &[f64]) -> Option<SizeRange> {
    let first = *values.first()?;
    Some(SizeRange {
        mean: values.iter().sum::<f64>() / values.len() as f64,
        min: values.iter().copied().fold(first, f64::min),
        max: values.iter().copied().fold(first, f64::max),
        n: values.len(),
    })
}

impl SizeRange {
    /// The text of a table's cell: n is left out if all of the row's holes have the measure, since
    /// the row says how many these are.
    fn text(&self, holes: usize) -> String {
        let Self { mean, min, max, n } = self;
        let n = match n {
            _ if *n == holes => String::new(),
            n => format!(" n={n}"),
        };
        format!("{mean:.1} ({min}–{max}){n}")
    }
}

fn lines(text: &str) -> f64 {
    LineIndex::new(text).lines(0..text.len()).len() as f64
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::{Category, HoleKind, Topic};

    use super::*;

    const PYTHON: &str = "def f(a):\n    b = a + 1\n    log(b)\n    return b\n";
    const TYPESCRIPT: &str = "export function g(a: number) {\n  return a;\n}\n";

    fn holes() -> Vec<Hole> {
        let python = |path: &str, kind, range| Hole::new("p", "python", path, kind, range, PYTHON);
        vec![
            python("a.py", HoleKind::Body, 14..PYTHON.len() - 1),
            python("a.py", HoleKind::Line, 14..23),
            Hole {
                category: Some(Category {
                    name: Topic::CommonTools,
                    reason: "It logs.".to_owned(),
                }),
                ..python("b.py", HoleKind::Line, 28..34)
            },
            Hole::new(
                "t",
                "typescript",
                "c.ts",
                HoleKind::Line,
                34..43,
                TYPESCRIPT,
            ),
        ]
    }

    #[test]
    fn holes_are_counted_by_project_language_and_kind() {
        let holes = holes();
        let entries: Vec<HoleInFile<'_>> = holes
            .iter()
            .map(|hole| HoleInFile { hole, around: None })
            .collect();
        insta::assert_snapshot!(Dataset::measure(&entries).table(TextWidth::UNLIMITED), @r#"
────────────────────────────────────────────────────────────────────────────────────────────────────
 by         name           repositories   files   holes   reference lines   reference tokens/syntax 
════════════════════════════════════════════════════════════════════════════════════════════════════
 project    p                         1       2       3         1.7 (1–3)                6.7 (4–11) 
────────────────────────────────────────────────────────────────────────────────────────────────────
 project    t                         1       1       1         1.0 (1–1)                 3.0 (3–3) 
────────────────────────────────────────────────────────────────────────────────────────────────────
 language   python                    1       2       3         1.7 (1–3)                6.7 (4–11) 
────────────────────────────────────────────────────────────────────────────────────────────────────
 language   typescript                1       1       1         1.0 (1–1)                 3.0 (3–3) 
────────────────────────────────────────────────────────────────────────────────────────────────────
 kind       line                      2       3       3         1.0 (1–1)                 4.0 (3–5) 
────────────────────────────────────────────────────────────────────────────────────────────────────
 kind       body                      1       1       1         3.0 (3–3)              11.0 (11–11) 
────────────────────────────────────────────────────────────────────────────────────────────────────
 category   common-tools              1       1       1         1.0 (1–1)                 4.0 (4–4) 
────────────────────────────────────────────────────────────────────────────────────────────────────
 all        *                         2       3       4         1.5 (1–3)                5.8 (3–11) 
────────────────────────────────────────────────────────────────────────────────────────────────────
Sizes as mean (least–most), over the row's holes or the n that have one. tokens/syntax are the leaves of the
reference's own syntax tree, a string or comment being one; no model's tokenizer is used.
"#);
    }

    #[test]
    fn what_is_around_is_measured_of_the_files_at_hand() {
        let holes = holes();
        let entries: Vec<HoleInFile<'_>> = holes
            .iter()
            .map(|hole| HoleInFile {
                hole,
                around: hole.cut(PYTHON).ok(),
            })
            .collect();
        let dataset = Dataset::measure(&entries);
        let all = dataset.rows.last().expect("there is a row for all");
        // Prefixes of 2, 2 and 3 lines; the file of the fourth hole is not at hand.
        assert_eq!(
            all.measures["prefix/lines"],
            SizeRange {
                mean: 7.0 / 3.0,
                min: 2.0,
                max: 3.0,
                n: 3
            }
        );
        let typescript = dataset
            .rows
            .iter()
            .find(|row| row.name == "typescript")
            .expect("there is a row for each language");
        assert!(!typescript.measures.contains_key("suffix/lines"));
        assert!(
            dataset.table(TextWidth::UNLIMITED).contains(" n=3"),
            "{}",
            dataset.table(TextWidth::UNLIMITED)
        );
    }

    #[test]
    fn nothing_is_measured_of_nothing() {
        let dataset = Dataset::measure(&[]);
        assert_eq!(dataset.rows.len(), 1);
        assert_eq!(dataset.rows[0].holes, 0);
        assert!(dataset.rows[0].measures.is_empty());
    }
}
