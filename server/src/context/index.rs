//! The editor profile's index: BM25 over tantivy's postings.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use tantivy::columnar::StrColumn;
use tantivy::directory::{Directory, RamDirectory, TerminatingWrite};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::postings::Postings;
use tantivy::query::Bm25Weight;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{
    DocAddress, DocSet, IndexReader, IndexWriter, Opstamp, ReloadPolicy, Searcher, SegmentReader,
    TERMINATED, TantivyDocument, TantivyError, Term,
};

use crate::syntax::{LANGUAGES, Language, module_path};

use super::query::{ParsedQuery, Query};
use super::terms::TermTokenizer;
use super::{Window, windows};

/// A searchable index of the windows of the repository's files. All methods may be called from any
/// thread; a search sees the last commit.
///
/// Results depend on the committed files alone, not on the order of updates. tantivy's own search
/// does not guarantee that: it counts deleted windows in its statistics until segments merge, sums
/// 32-bit floats in an order that depends on the segments, and prunes by bounds that depend on
/// both. Here tantivy stores the postings and computes each term's score ([`Bm25Weight`]: k1 1.2, b
/// 0.75). The statistics count the windows of the query's language that are not deleted and not in
/// the query's own file, and scores are summed in the order of the terms.
pub struct Index {
    /// Storage of the engine's files.
    memory: RamDirectory,
    fields: Fields,
    writer: Mutex<IndexWriter>,
    reader: IndexReader,
    catalogue: RwLock<Arc<Catalogue>>,
}

/// The files of an index, by name.
pub type IndexParts = BTreeMap<PathBuf, Arc<Vec<u8>>>;

/// Error of the index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The search engine under the index failed.
    #[error("the context index failed: {0}; restart the server to build it anew")]
    Engine(#[from] TantivyError),
    /// A part of the index's memory could not be read back.
    #[error("the context index can't be read: {0}; restart the server to build it anew")]
    Io(#[from] std::io::Error),
}

struct Fields {
    path: Field,
    first_line: Field,
    text: Field,
    /// One field of terms per language name, so that each language has its own statistics.
    terms: BTreeMap<&'static str, Field>,
}

/// Memory of the writer: tantivy's minimum. Further windows start a new segment, which costs
/// little.
const WRITER_BYTES: usize = 15_000_000;

/// The engine's list of its own files.
const FILE_LIST: &str = ".managed.json";

const FIRST_LINE: &str = "first_line";
const PATH: &str = "path";

impl Index {
    /// Creates an empty index in memory.
    ///
    /// # Errors
    /// The engine can't start its threads.
    pub fn new() -> Result<Self, IndexError> {
        Self::from_parts(IndexParts::new())
    }

    /// Opens the index of these files, which [`Index::parts`] returned.
    ///
    /// # Errors
    /// The files are no index, or one with other fields.
    pub fn from_parts(parts: IndexParts) -> Result<Self, IndexError> {
        let memory = RamDirectory::create();
        for (name, bytes) in parts {
            let mut file = memory.open_write(&name).map_err(TantivyError::from)?;
            file.write_all(&bytes)?;
            file.terminate()?;
        }
        let (schema, fields) = schema();
        let index = tantivy::Index::builder()
            .schema(schema)
            .open_or_create(memory.clone())?;
        for language in LANGUAGES {
            index
                .tokenizers()
                .register(language.name, TermTokenizer(language));
        }
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        let mut merging = LogMergePolicy::default();
        // A file that is saved often leaves many deleted windows; merging reclaims them.
        merging.set_del_docs_ratio_before_merge(0.5);
        writer.set_merge_policy(Box::new(merging));
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        let catalogue = Catalogue::new(&fields, reader.searcher(), &[])?;
        Ok(Self {
            memory,
            fields,
            writer: Mutex::new(writer),
            reader,
            catalogue: RwLock::new(Arc::new(catalogue)),
        })
    }

    /// Returns the index's files as of the last commit.
    ///
    /// # Errors
    /// The engine can't read its own files.
    pub fn parts(&self) -> Result<IndexParts, IndexError> {
        // Copied first, since merges remove files at any time.
        let copy = RamDirectory::create();
        self.memory.persist(&copy)?;
        let read = |name: &Path| -> Result<Arc<Vec<u8>>, IndexError> {
            let file = copy.open_read(name).map_err(TantivyError::from)?;
            Ok(Arc::new(file.read_bytes()?.as_slice().to_vec()))
        };
        let list = read(Path::new(FILE_LIST))?;
        let names: Vec<PathBuf> = serde_json::from_slice(&list).map_err(std::io::Error::from)?;
        let mut parts = IndexParts::from([(PathBuf::from(FILE_LIST), list)]);
        for name in names {
            // The list may name files that are not written yet.
            if copy.exists(&name).map_err(TantivyError::from)? {
                parts.insert(name.clone(), read(&name)?);
            }
        }
        Ok(parts)
    }

    /// Replaces a file's windows, from the next commit on.
    ///
    /// # Errors
    /// The engine's writer has died.
    pub fn update(
        &self,
        path: &str,
        contents: &str,
        language: &'static Language,
    ) -> Result<(), IndexError> {
        self.put(path, windows(path, contents, language), language)
    }

    /// As [`Index::update`], for given windows.
    ///
    /// # Errors
    /// The engine's writer has died.
    pub fn put(
        &self,
        path: &str,
        windows: Vec<Window>,
        language: &'static Language,
    ) -> Result<(), IndexError> {
        let writer = self.writer();
        // A deletion applies only to documents added before it, so the windows added below stay.
        writer.delete_term(Term::from_field_text(self.fields.path, path));
        let Some(terms) = self.fields.terms.get(language.name) else {
            return Ok(());
        };
        for window in windows {
            let mut document = TantivyDocument::default();
            document.add_text(self.fields.path, path);
            document.add_u64(self.fields.first_line, window.first_line as u64);
            document.add_text(self.fields.text, &window.text);
            document.add_text(*terms, &window.text);
            writer.add_document(document)?;
        }
        Ok(())
    }

    /// Removes a file's windows, from the next commit on.
    ///
    /// # Errors
    /// None at present; reserved for engines that can fail here.
    pub fn remove(&self, path: &str) -> Result<(), IndexError> {
        self.writer()
            .delete_term(Term::from_field_text(self.fields.path, path));
        Ok(())
    }

    /// Makes all updates and removals so far visible to searches.
    ///
    /// # Errors
    /// The engine's writer has died.
    pub fn commit(&self) -> Result<(), IndexError> {
        // The lock is held to the end, so that searches see the later of two commits.
        let mut writer = self.writer();
        writer.commit()?;
        self.reader.reload()?;
        let older = self.catalogue();
        let newer = Catalogue::new(&self.fields, self.reader.searcher(), &older.segments)?;
        *self.catalogue.write() = Arc::new(newer);
        Ok(())
    }

    /// Returns the best windows for a query, best first, at most `limit`: windows of other files in
    /// the same language that share a term with the query. Equal texts are returned once. Equal
    /// scores are ordered by path and line.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn retrieve(&self, query: &Query<'_>, limit: usize) -> Result<Vec<Window>, IndexError> {
        let Some(field) = self.fields.terms.get(query.language.name).copied() else {
            return Ok(Vec::new());
        };
        let parsed = ParsedQuery::new(query);
        let catalogue = self.catalogue();
        let mut hits = catalogue.found(field, query, &parsed)?;
        // Sorting the best few is enough, unless many windows have the same text.
        let likely = hits.len().min(limit.saturating_mul(8));
        if (1..hits.len()).contains(&likely) {
            hits.select_nth_unstable_by(likely - 1, |a, b| b.cmp(a));
        }
        // Unstable sorting is deterministic here: a path and a line occur once among the hits.
        hits[..likely].sort_unstable_by(|a, b| b.cmp(a));
        let mut sorted = likely;
        let mut next = 0;
        let mut texts = HashSet::new();
        let mut answer = Vec::new();
        while answer.len() < limit && next < hits.len() {
            if next == sorted {
                hits[next..].sort_unstable_by(|a, b| b.cmp(a));
                sorted = hits.len();
            }
            let hit = &hits[next];
            next += 1;
            let document: TantivyDocument = catalogue.searcher.doc(hit.address)?;
            let text = document
                .get_first(self.fields.text)
                .and_then(|value| value.as_str())
                .unwrap_or_default();
            if texts.insert(text.to_owned()) {
                answer.push(Window {
                    path: hit.path.to_owned(),
                    first_line: usize::try_from(hit.first_line).unwrap_or(usize::MAX),
                    text: text.to_owned(),
                    score: hit.score,
                });
            }
        }
        Ok(answer)
    }

    /// Returns the catalogue of the last commit.
    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read())
    }

    fn writer(&self) -> MutexGuard<'_, IndexWriter> {
        self.writer.lock()
    }
}

/// Defines the fields of a window.
fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    // Indexed as a single term, to delete a file's windows; a column, to group windows by file.
    let path = schema.add_text_field(PATH, STRING | FAST);
    let first_line = schema.add_u64_field(FIRST_LINE, FAST);
    let text = schema.add_text_field("text", STORED);
    let mut terms = BTreeMap::new();
    for language in LANGUAGES {
        terms.entry(language.name).or_insert_with(|| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(language.name)
                // Scores need frequencies; no phrase is searched, so positions are not stored.
                .set_index_option(IndexRecordOption::WithFreqs);
            let options = TextOptions::default().set_indexing_options(indexing);
            schema.add_text_field(&format!("terms_{}", language.name), options)
        });
    }
    let fields = Fields {
        path,
        first_line,
        text,
        terms,
    };
    (schema.build(), fields)
}

impl fmt::Debug for Index {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Index")
            .field("windows", &self.reader.searcher().num_docs())
            .finish_non_exhaustive()
    }
}

/// Statistics over all windows of a commit, which searches need, computed once.
struct Catalogue {
    searcher: Searcher,
    segments: Vec<Arc<Segment>>,
}

/// Statistics of a segment, which change only if windows of it are deleted.
struct Segment {
    id: (SegmentId, Option<Opstamp>),
    /// Rounded lengths of windows in terms, by the name of the language.
    norms: Arc<BTreeMap<&'static str, FieldNormReader>>,
    /// Files by ordinal.
    files: Vec<File>,
    /// Per window: the ordinal of its file, or [`GONE`] if it was deleted or has no terms.
    file_of: Vec<u32>,
    /// Number of deleted windows and of those without terms.
    gone: u64,
    first_lines: tantivy::columnar::Column<u64>,
}

/// A file as far as it is in one segment.
#[derive(Clone)]
struct File {
    path: Arc<str>,
    /// The length of its [`module_path`], with which the path begins.
    module_end: usize,
    /// The name of its language; empty if unknown.
    language: &'static str,
    /// Number of its windows that have terms and are not deleted.
    windows: u64,
    /// Sum of their lengths in terms, rounded as scoring rounds them.
    length: u64,
}

/// Minimum number of windows above which a term is ignored as too common. The threshold is the
/// larger of this and a [`COMMON_SHARE`]th of the windows. A common term says little about the
/// place and would take most of a search's time.
const COMMON_WINDOWS: u64 = 500;

/// See [`COMMON_WINDOWS`].
const COMMON_SHARE: u64 = 16;

/// File ordinal of a window that no query may return.
const GONE: u32 = u32::MAX;

impl Catalogue {
    /// Builds the catalogue of a searcher's state. Reuses unchanged segments of an older catalogue.
    fn new(
        fields: &Fields,
        searcher: Searcher,
        older: &[Arc<Segment>],
    ) -> Result<Self, IndexError> {
        let mut segments = Vec::new();
        for reader in searcher.segment_readers() {
            // A segment is immutable except for deletions, and each of these changes its delete
            // opstamp.
            let id = (reader.segment_id(), reader.delete_opstamp());
            let known = older.iter().find(|segment| segment.id.0 == id.0);
            segments.push(match known {
                Some(known) if known.id == id => Arc::clone(known),
                Some(known) => Arc::new(known.without_the_deleted(reader, id)),
                None => Arc::new(Segment::read(fields, reader, id)?),
            });
        }
        Ok(Self { searcher, segments })
    }

    /// Number of windows of a language outside one file, and their mean length in terms.
    fn statistics(&self, language: &str, own: &str) -> (u64, f32) {
        let files = self.segments.iter().flat_map(|segment| &segment.files);
        let (windows, length) = files
            .filter(|file| file.language == language && *file.path != *own)
            .fold((0, 0), |(windows, length), file| {
                (windows + file.windows, length + file.length)
            });
        // A language without windows has a length of 0, and 0 / 0 would be NaN.
        (windows, length as f32 / windows.max(1) as f32)
    }

    /// Number of listed windows that this query may not return: deleted ones and those of its own
    /// file.
    fn hidden(&self, own: &[u32]) -> u64 {
        let segments = self.segments.iter().zip(own);
        let hidden = segments.map(|(segment, own)| {
            let file = segment.files.get(*own as usize);
            segment.gone + file.map_or(0, |file| file.windows)
        });
        hidden.sum()
    }

    /// Scores the windows that match a query, in no order. Scores are summed in the order of the
    /// terms.
    fn found(
        &self,
        field: Field,
        query: &Query<'_>,
        parsed: &ParsedQuery,
    ) -> Result<Vec<Hit<'_>>, IndexError> {
        let language = query.language.name;
        let (windows, mean_length) = self.statistics(language, query.path);
        let norms: Vec<_> = self
            .segments
            .iter()
            .map(|segment| segment.norms.get(language))
            .collect();
        let own: Vec<u32> = self
            .segments
            .iter()
            .map(|segment| {
                // A string column's dictionary is sorted, so the files are in the order of their
                // paths.
                let place = segment
                    .files
                    .binary_search_by(|file| (*file.path).cmp(query.path));
                place.map_or(GONE, |place| u32::try_from(place).unwrap_or(GONE))
            })
            .collect();
        let common = (windows / COMMON_SHARE).max(COMMON_WINDOWS);
        let hidden = self.hidden(&own);
        let mut scores: Vec<Vec<f64>> = self
            .segments
            .iter()
            .map(|segment| vec![0.0; segment.file_of.len()])
            .collect();
        let mut occurrences: Vec<(u32, u32, u32)> = Vec::new();
        for (term, weight) in &parsed.terms {
            occurrences.clear();
            let term = Term::from_field_text(field, term);
            // tantivy's count includes deleted windows and those of the query's own file. If a term
            // is rare without them, its exact count follows from the postings.
            let listed = self.searcher.doc_freq(&term)?;
            if listed.saturating_sub(hidden) > common {
                continue;
            }
            for (index, reader) in (0_u32..).zip(self.searcher.segment_readers()) {
                let postings = reader
                    .inverted_index(field)?
                    .read_postings(&term, IndexRecordOption::WithFreqs)?;
                let Some(mut postings) = postings else {
                    continue;
                };
                let file_of = &self.segments[index as usize].file_of;
                let own = own[index as usize];
                let mut window = postings.doc();
                while window != TERMINATED {
                    let file = file_of[window as usize];
                    if file != GONE && file != own {
                        occurrences.push((index, window, postings.term_freq()));
                    }
                    window = postings.advance();
                }
            }
            if occurrences.len() as u64 > common {
                continue;
            }
            let bm25 = Bm25Weight::for_one_term_without_explain(
                occurrences.len() as u64,
                windows,
                mean_length,
            );
            for (index, window, count) in &occurrences {
                let Some(norms) = norms[*index as usize] else {
                    continue;
                };
                let score = bm25.score(norms.fieldnorm_id(*window), *count);
                scores[*index as usize][*window as usize] += f64::from(score) * f64::from(*weight);
            }
        }
        Ok(self.hits(&scores, parsed))
    }

    /// Returns the windows with a positive score, given all scores by segment.
    fn hits(&self, scores: &[Vec<f64>], parsed: &ParsedQuery) -> Vec<Hit<'_>> {
        let mut hits = Vec::new();
        for ((segment, scores), number) in self.segments.iter().zip(scores).zip(0..) {
            let mut boosts: Vec<Option<f64>> = vec![None; segment.files.len()];
            // The boost depends on the file alone, so it is computed once per file.
            for ((file, score), window) in segment.file_of.iter().zip(scores).zip(0..) {
                if *score > 0.0 {
                    let File {
                        path, module_end, ..
                    } = &segment.files[*file as usize];
                    let boost = boosts[*file as usize]
                        .get_or_insert_with(|| parsed.boost(path, &path[..*module_end]));
                    hits.push(Hit {
                        score: score * *boost,
                        path,
                        first_line: segment.first_lines.first(window).unwrap_or_default(),
                        address: DocAddress::new(number, window),
                    });
                }
            }
        }
        hits
    }
}

impl Segment {
    fn read(
        fields: &Fields,
        reader: &SegmentReader,
        id: (SegmentId, Option<Opstamp>),
    ) -> Result<Self, IndexError> {
        let mut norms = BTreeMap::new();
        for (language, field) in &fields.terms {
            norms.insert(*language, reader.get_fieldnorms_reader(*field)?);
        }
        let columns = reader.fast_fields();
        let mut files = Vec::new();
        let mut file_of = vec![GONE; reader.max_doc() as usize];
        if let Some(column) = columns.str(PATH)? {
            files = strings(&column)?
                .into_iter()
                .map(|path| File {
                    language: Language::for_path(Path::new(&path))
                        .map_or("", |language| language.name),
                    module_end: module_path(&path).len(),
                    path: path.into(),
                    windows: 0,
                    length: 0,
                })
                .collect();
            for window in reader.doc_ids_alive() {
                let ordinal = column.ords().first(window);
                let Some(ordinal) = ordinal.and_then(|ordinal| u32::try_from(ordinal).ok()) else {
                    continue;
                };
                let Some(file) = files.get_mut(ordinal as usize) else {
                    continue;
                };
                let terms = norms
                    .get(file.language)
                    .map_or(0, |norms| norms.fieldnorm(window));
                // A window without terms has no postings, and counting it would lower the mean
                // length.
                if terms > 0 {
                    file_of[window as usize] = ordinal;
                    file.windows += 1;
                    file.length += u64::from(terms);
                }
            }
        }
        Ok(Self {
            id,
            norms: Arc::new(norms),
            files,
            gone: file_of.iter().filter(|file| **file == GONE).count() as u64,
            file_of,
            first_lines: columns.u64(FIRST_LINE)?,
        })
    }
}

impl Segment {
    /// Returns the segment after more of its windows were deleted.
    fn without_the_deleted(
        &self,
        reader: &SegmentReader,
        id: (SegmentId, Option<Opstamp>),
    ) -> Self {
        let mut files = self.files.clone();
        let mut file_of = self.file_of.clone();
        let mut gone = self.gone;
        if let Some(alive) = reader.alive_bitset() {
            for (ordinal, window) in file_of.iter_mut().zip(0..) {
                if *ordinal == GONE || alive.is_alive(window) {
                    continue;
                }
                let file = &mut files[*ordinal as usize];
                let terms = self
                    .norms
                    .get(file.language)
                    .map_or(0, |norms| norms.fieldnorm(window));
                file.windows -= 1;
                file.length -= u64::from(terms);
                gone += 1;
                *ordinal = GONE;
            }
        }
        Self {
            id,
            norms: Arc::clone(&self.norms),
            files,
            file_of,
            gone,
            first_lines: self.first_lines.clone(),
        }
    }
}

/// A scored window. The greatest is the best match.
#[derive(PartialEq)]
struct Hit<'a> {
    score: f64,
    path: &'a str,
    first_line: u64,
    address: DocAddress,
}

impl Eq for Hit<'_> {}

impl Ord for Hit<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| other.path.cmp(self.path))
            .then_with(|| other.first_line.cmp(&self.first_line))
    }
}

impl PartialOrd for Hit<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns all strings of a column, by ordinal.
fn strings(column: &StrColumn) -> Result<Vec<String>, IndexError> {
    let mut strings = Vec::with_capacity(column.num_terms());
    let mut stream = column.dictionary().stream()?;
    while stream.advance() {
        strings.push(String::from_utf8_lossy(stream.key()).into_owned());
    }
    Ok(strings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn language(path: &str) -> &'static Language {
        Language::for_path(path.as_ref()).expect("the path has a known ending")
    }

    fn index(files: &[(&str, &str)]) -> Index {
        let index = Index::new().expect("an index in memory opens");
        for (path, contents) in files {
            index
                .update(path, contents, language(path))
                .expect("the writer lives");
        }
        index.commit().expect("the writer lives");
        index
    }

    fn ask(index: &Index, path: &str, text: &str) -> Vec<Window> {
        let (prefix, suffix) = text.split_once("$0").expect("the text has a cursor");
        let query = Query {
            path,
            prefix,
            suffix,
            language: language(path),
            tree: None,
            head: None,
            recent: &[],
        };
        index.retrieve(&query, 100).expect("the index can be read")
    }

    fn paths(windows: &[Window]) -> Vec<&str> {
        windows.iter().map(|window| window.path.as_str()).collect()
    }

    const TAX: &str =
        "def compute_tax(amount, rate):\n    cents = amount * rate\n    return cents\n";
    const LOG: &str = "def write_log(line):\n    stream = open_log()\n    stream.write(line)\n";

    #[test]
    fn definition_of_the_called_function_ranks_first() {
        let index = index(&[
            ("shop/tax.py", TAX),
            ("shop/log.py", LOG),
            ("main.py", "tax = 1\n"),
        ]);
        let found = ask(&index, "main.py", "total = computeTax($0)\n");
        assert_eq!(paths(&found), ["shop/tax.py"]);
        assert_eq!(found[0].text, TAX.trim_end());
        assert_eq!(found[0].first_line, 0);
    }

    #[test]
    fn recently_edited_file_ranks_first() {
        let index = index(&[
            ("a/tax.py", TAX),
            ("b/tax.py", &TAX.replace("cents", "whole")),
        ]);
        let ask = |recent: &[String]| {
            let query = Query {
                path: "main.py",
                prefix: "total = compute_tax(",
                suffix: ")\n",
                language: language("main.py"),
                tree: None,
                head: None,
                recent,
            };
            let found = index.retrieve(&query, 9).expect("the index can be read");
            found
                .iter()
                .map(|window| window.path.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(ask(&[]), ["a/tax.py", "b/tax.py"]);
        assert_eq!(ask(&["b/tax.py".to_owned()]), ["b/tax.py", "a/tax.py"]);
    }

    #[test]
    fn a_file_is_no_context_of_itself_nor_of_another_language() {
        let files = [
            ("tax.py", TAX),
            (
                "tax.ts",
                "function compute_tax(amount) {\n  return amount;\n}\n",
            ),
            (
                "view.tsx",
                "function compute_tax_view() {\n  return <p>compute_tax</p>;\n}\n",
            ),
        ];
        let index = index(&files);
        assert!(ask(&index, "tax.py", "compute_tax$0").is_empty());
        assert_eq!(paths(&ask(&index, "tax.ts", "compute_tax$0")), ["view.tsx"]);
        assert_eq!(paths(&ask(&index, "view.tsx", "compute_tax$0")), ["tax.ts"]);
    }

    #[test]
    fn equal_texts_come_once_and_equal_scores_by_path() {
        let index = index(&[
            ("b.py", TAX),
            ("a.py", TAX),
            ("c.py", &TAX.replace("cents", "pence")),
        ]);
        let found = ask(&index, "d.py", "compute_tax($0)");
        assert_eq!(paths(&found), ["a.py", "c.py"]);
        assert_eq!(found[0].score, found[1].score);
    }

    #[test]
    fn imported_files_and_neighbours_are_favoured() {
        let index = index(&[
            ("a/x.py", TAX),
            ("b/y.py", &TAX.replace("cents", "pence")),
            ("c/z.py", &TAX.replace("cents", "pennies")),
        ]);
        let found = ask(
            &index,
            "b/main.py",
            "from c import z\n\n\nz.compute_tax($0)",
        );
        assert_eq!(paths(&found), ["c/z.py", "b/y.py", "a/x.py"]);
    }

    #[test]
    fn a_file_that_moved_is_only_where_it_is_now() {
        let index = index(&[("old.py", TAX)]);
        index.remove("old.py").expect("the writer lives");
        index
            .update("new.py", TAX, language("new.py"))
            .expect("the writer lives");
        assert_eq!(
            paths(&ask(&index, "main.py", "compute_tax($0)")),
            ["old.py"]
        );
        index.commit().expect("the writer lives");
        assert_eq!(
            paths(&ask(&index, "main.py", "compute_tax($0)")),
            ["new.py"]
        );
    }

    #[test]
    fn empty_index_or_empty_query_returns_nothing() {
        assert!(ask(&index(&[]), "a.py", "x_y$0").is_empty());
        assert!(ask(&index(&[("b.py", TAX)]), "a.py", "$0").is_empty());
    }

    #[test]
    fn searches_go_on_while_files_change() {
        let index = index(&[("a.py", TAX), ("b.py", LOG)]);
        let before = ask(&index, "main.py", "compute_tax($0)");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20 {
                    index
                        .update("a.py", TAX, language("a.py"))
                        .expect("the writer lives");
                    index.commit().expect("the writer lives");
                }
            });
            for _ in 0..50 {
                assert_eq!(ask(&index, "main.py", "compute_tax($0)"), before);
            }
        });
    }

    const FILES: [&str; 6] = ["a.py", "b/c.py", "b/d.py", "e.ts", "e/f.tsx", "g.pyi"];

    /// A small file with few words, so that scores and texts often coincide.
    fn contents() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "def load_config(path):\n    data = read(path)\n    return data\n",
            "def save_config(path, data):\n    write(path, data)\n    return path\n",
            "load_config(path)\n",
            "class Config:\n    path = read\n    data = None\n\n",
            "function readConfig() {\n  return path;\n}\n",
            "const data = readConfig();\n",
            "\n",
        ]);
        prop::collection::vec(line, 0..30).prop_map(|lines| lines.concat())
    }

    /// A step in the life of an index: a file's new contents (`None` removes it), and true if a
    /// commit follows.
    fn step() -> impl Strategy<Value = (&'static str, Option<String>, bool)> {
        (
            prop::sample::select(FILES.to_vec()),
            prop::option::weighted(0.8, contents()),
            any::<bool>(),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// After any sequence of updates, an index returns bit-identical scores to a new one that
        /// was given the files' last contents.
        #[test]
        fn answers_depend_on_the_files_alone(
            steps in prop::collection::vec(step(), 0..40),
            own in prop::sample::select(FILES.to_vec()),
            query in contents(),
        ) {
            let old = index(&[]);
            let mut files = BTreeMap::new();
            for (path, contents, commit) in &steps {
                match contents {
                    Some(contents) => {
                        files.insert(*path, contents.as_str());
                        old.update(path, contents, language(path)).expect("the writer lives");
                    }
                    None => {
                        files.remove(path);
                        old.remove(path).expect("the writer lives");
                    }
                }
                if *commit {
                    old.commit().expect("the writer lives");
                }
            }
            old.commit().expect("the writer lives");

            let mut fresh: Vec<_> = files.into_iter().collect();
            let text = format!("{query}$0");
            let expected = ask(&index(&fresh), own, &text);
            prop_assert_eq!(&ask(&old, own, &text), &expected);
            // The query's own file changes nothing, not even a score.
            fresh.retain(|(path, _)| *path != own);
            prop_assert_eq!(&ask(&index(&fresh), own, &text), &expected);
            prop_assert!(expected.iter().all(|window| window.path != own));
        }

        /// BM25 by the textbook formula, over the windows and terms of this module.
        #[test]
        fn scores_are_those_of_the_formula(
            first in contents(),
            second in contents(),
            query in contents(),
        ) {
            let files = [("b/a.py", first.as_str()), ("c/b.py", second.as_str())];
            let python = language("a.py");
            let all: Vec<(Window, Vec<String>)> = files
                .iter()
                .flat_map(|(path, contents)| windows(path, contents, python))
                .map(|window| {
                    let terms = super::super::terms::CodeTerms::extract(&window.text, python);
                    (window, terms.iter().map(str::to_owned).collect::<Vec<_>>())
                })
                .filter(|(_, terms)| !terms.is_empty())
                .collect();
            // Up to 40 terms, a field norm holds a window's exact length; above, the formula
            // differs.
            prop_assume!(all.iter().all(|(_, terms)| terms.len() <= 40));
            let text = format!("{query}$0");
            let parsed = ParsedQuery::new(&Query { path: "d/x.py", prefix: &query, suffix: "", language: python, tree: None, head: None, recent: &[] });
            let count = all.len() as f64;
            let mean = all.iter().map(|(_, terms)| terms.len()).sum::<usize>() as f64 / count;
            let score = |terms: &[String]| -> f64 {
                parsed.terms.iter().map(|(term, weight)| {
                    let holding = all.iter().filter(|(_, terms)| terms.contains(term)).count() as f64;
                    let idf = (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln();
                    let frequency = terms.iter().filter(|other| *other == term).count() as f64;
                    let length = 1.2 * (1.0 - 0.75 + 0.75 * terms.len() as f64 / mean);
                    f64::from(*weight) * idf * frequency * 2.2 / (frequency + length)
                }).sum()
            };
            for window in ask(&index(&files), "d/x.py", &text) {
                let (_, terms) = all
                    .iter()
                    .find(|(other, _)| (&other.path, other.first_line) == (&window.path, window.first_line))
                    .expect("an answer is a window of a file");
                let expected = score(terms);
                prop_assert!((window.score - expected).abs() <= 1e-5 * expected.max(1.0),
                    "{} for {}", window.score, expected);
            }
        }
    }
}
