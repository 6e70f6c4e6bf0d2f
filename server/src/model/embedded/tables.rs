//! Learnt state as it is kept between two starts: flat tables that are searched in place, so that a
//! start reads one file and builds nothing.
//!
//! Numbers are little-endian. The sections follow each other. After them come the footer (the paths
//! of the texts and the sections' lengths in bytes) and the length of the footer as eight bytes.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::counts::{Followers, LONGEST, SHORTEST, Sequence, key, mix};
use super::vocabulary::{Class, Intern, Symbol, Vocabulary};

/// A kept state. Empty by default.
#[derive(Debug, Default)]
pub(super) struct KeptTables {
    bytes: Arc<Vec<u8>>,
    /// The symbols' texts, as in their section, validated once as UTF-8.
    symbols: String,
    paths: Vec<String>,
    sections: Vec<Range<usize>>,
    /// Texts that were requested as a whole.
    sequences: Vec<OnceLock<Box<Sequence>>>,
}

/// Content of the footer.
#[derive(Serialize, Deserialize)]
struct Footer {
    paths: Vec<String>,
    sections: Vec<usize>,
}

/// A state to be kept.
#[derive(Debug, Default)]
pub(super) struct LearntTexts {
    /// The texts of the symbols by number, concatenated, and the end of each.
    symbols: String,
    symbol_ends: Vec<u32>,
    /// The symbols' classes.
    classes: Vec<Class>,
    /// The texts' paths.
    paths: Vec<String>,
    /// Their symbols, concatenated, and the end of each text.
    tokens: Vec<Symbol>,
    text_ends: Vec<u32>,
}

/// The sections, in their order. Each table has four: keys, the bounds of its buckets, the end of
/// each key's values, and the values.
const SYMBOLS: usize = 0;
const SYMBOL_ENDS: usize = 1;
const CLASSES: usize = 2;
/// Symbols by the key of their text.
const SYMBOL_ORDER: usize = 3;
const SYMBOL_BUCKETS: usize = 4;
const TOKENS: usize = 5;
const TEXT_ENDS: usize = 6;
/// The tables of the followers of one token, two and three, and of the positions of the shortest
/// context that is looked up in the texts.
const TABLES: usize = 7;
const KEYS: usize = 0;
const BUCKETS: usize = 1;
const ENDS: usize = 2;
const VALUES: usize = 3;

/// Number of sections.
const SECTIONS: usize = TABLES + 4 * SHORTEST;

impl KeptTables {
    /// Opens the tables that [`LearntTexts::encode`] wrote; `None` if the bytes are not of this
    /// format.
    pub(super) fn read(bytes: Arc<Vec<u8>>) -> Option<Self> {
        // The last eight bytes are the length of the footer before them.
        let (rest, length) = bytes.split_last_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (rest, footer) = rest.split_at_checked(rest.len().checked_sub(length)?)?;
        let footer: Footer = serde_json::from_slice(footer).ok()?;
        let mut start = 0;
        let sections: Vec<Range<usize>> = footer
            .sections
            .iter()
            .map(|length| {
                let section = start..start + length;
                start = section.end;
                section
            })
            .collect();
        if sections.len() != SECTIONS || start != rest.len() {
            return None;
        }
        let symbols = std::str::from_utf8(&rest[sections[SYMBOLS].clone()]).ok()?;
        Some(Self {
            symbols: symbols.to_owned(),
            sequences: footer.paths.iter().map(|_| OnceLock::new()).collect(),
            paths: footer.paths,
            sections,
            bytes,
        })
    }

    /// Returns the bytes that it was read from.
    pub(super) fn bytes(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.bytes)
    }

    /// Returns the texts' paths, by number.
    pub(super) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Number of texts.
    pub(super) fn texts(&self) -> usize {
        self.paths.len()
    }

    /// Number of symbols.
    pub(super) fn symbols(&self) -> usize {
        self.count(CLASSES)
    }

    /// Returns the text and class of a symbol.
    pub(super) fn entry(&self, symbol: Symbol) -> (&str, Class) {
        let index = symbol as usize;
        let start = self.end_before(SYMBOL_ENDS, index);
        let end = self.number(SYMBOL_ENDS, index) as usize;
        (&self.symbols[start..end], self.class(symbol))
    }

    /// Returns the class of a symbol.
    pub(super) fn class(&self, symbol: Symbol) -> Class {
        self.number(CLASSES, symbol as usize)
    }

    /// Returns the symbol of a text.
    pub(super) fn find(&self, text: &str) -> Option<Symbol> {
        self.bucket(SYMBOL_BUCKETS, text_key(text))
            .map(|index| self.number(SYMBOL_ORDER, index))
            .find(|symbol| self.entry(*symbol).0 == text)
    }

    /// Returns the followers of the contexts of an order below [`SHORTEST`] with this key.
    pub(super) fn followers(&self, order: usize, key: u64) -> Option<Followers> {
        let values = self.values(order - 1, key)?;
        let section = TABLES + 4 * (order - 1) + VALUES;
        // The values are pairs of a symbol and its count, and the ends of keys count pairs.
        let counts: SmallVec<[(Symbol, u32); 2]> = values
            .map(|pair| {
                let symbol = self.number(section, 2 * pair);
                (symbol, self.number(section, 2 * pair + 1))
            })
            .collect();
        Some(Followers {
            total: counts.iter().map(|(_, count)| count).sum(),
            counts,
        })
    }

    /// Visits the positions with this key at which the last tokens of a context occur: see
    /// [`Counts::visit`](super::counts::Counts::visit).
    pub(super) fn visit(
        &self,
        key: u64,
        context: &[Class],
        mut visitor: impl FnMut(u32, usize, Symbol),
    ) {
        let table = SHORTEST - 1;
        let section = TABLES + 4 * table + VALUES;
        let mut text = 0;
        let mut bounds = 0..0;
        for value in self.values(table, key).into_iter().flatten() {
            let place = self.number(section, value) as usize;
            // Positions are sorted, so most are in the text of the previous one.
            if place >= bounds.end {
                text = self.text_at(place);
                bounds = self.bounds(text);
            }
            let before = context.iter().rev().take(LONGEST.min(place - bounds.start));
            // Different contexts may share a key, so the tokens are compared.
            let agreeing = (1..)
                .zip(before)
                .take_while(|(back, class)| self.class_at(place - back) == **class)
                .count();
            if agreeing >= SHORTEST {
                visitor(text as u32, agreeing, self.number(TOKENS, place));
            }
        }
    }

    /// Returns the tokens of a text.
    pub(super) fn tokens(&self, text: u32) -> impl Iterator<Item = Symbol> {
        self.bounds(text as usize)
            .map(|place| self.number(TOKENS, place))
    }

    /// Returns a text, by its number.
    pub(super) fn sequence(&self, text: u32) -> Option<&Sequence> {
        let sequence = self.sequences.get(text as usize)?;
        let make = || {
            let symbols: Vec<Symbol> = self.tokens(text).collect();
            let classes = symbols.iter().map(|symbol| self.class(*symbol)).collect();
            Box::new(Sequence::new(symbols, classes))
        };
        Some(sequence.get_or_init(make))
    }

    fn class_at(&self, place: usize) -> Class {
        self.class(self.number(TOKENS, place))
    }

    /// Returns the text that contains a position.
    fn text_at(&self, place: usize) -> usize {
        let (mut low, mut high) = (0, self.texts());
        while low < high {
            let middle = low.midpoint(high);
            if self.number(TEXT_ENDS, middle) as usize <= place {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn bounds(&self, text: usize) -> Range<usize> {
        self.end_before(TEXT_ENDS, text)..self.number(TEXT_ENDS, text) as usize
    }

    /// Returns the range of a key's values in a table.
    fn values(&self, table: usize, key: u64) -> Option<Range<usize>> {
        let first = TABLES + 4 * table;
        // The keys are stored mixed, so that their first bits spread evenly over the buckets.
        let wanted = mix(key);
        let index = self
            .bucket(first + BUCKETS, wanted)
            .find(|index| self.long(first + KEYS, *index) == wanted)?;
        let end = self.number(first + ENDS, index) as usize;
        Some(self.end_before(first + ENDS, index)..end)
    }

    /// Returns the range of the keys that share a bucket with a mixed key.
    fn bucket(&self, section: usize, key: u64) -> Range<usize> {
        // A table has one bound more than buckets, whose number is a power of two.
        let Some(buckets) = self.count(section).checked_sub(1) else {
            return 0..0;
        };
        let bucket = bucket_of(key, buckets.ilog2());
        let bound = |bucket| self.number(section, bucket) as usize;
        bound(bucket)..bound(bucket + 1)
    }

    /// Returns the end of the item before this one in a section of ends.
    fn end_before(&self, section: usize, index: usize) -> usize {
        index
            .checked_sub(1)
            .map_or(0, |before| self.number(section, before) as usize)
    }

    fn section(&self, section: usize) -> &[u8] {
        let range = self.sections.get(section).cloned();
        &self.bytes[range.unwrap_or_default()]
    }

    /// Number of numbers in a section.
    fn count(&self, section: usize) -> usize {
        self.sections
            .get(section)
            .map_or(0, |range| range.len() / 4)
    }

    fn number(&self, section: usize, index: usize) -> u32 {
        number(self.section(section), index)
    }

    fn long(&self, section: usize, index: usize) -> u64 {
        let bytes = self.section(section)[8 * index..].first_chunk();
        bytes.copied().map_or(0, u64::from_le_bytes)
    }
}

impl LearntTexts {
    /// Adds a text.
    pub(super) fn add(&mut self, path: &str, symbols: impl IntoIterator<Item = Symbol>) {
        self.tokens.extend(symbols);
        self.text_ends.push(self.tokens.len() as u32);
        self.paths.push(path.to_owned());
    }

    /// Adds all symbols.
    pub(super) fn add_vocabulary(&mut self, vocabulary: &Vocabulary) {
        for symbol in 0..vocabulary.len() as u32 {
            let (text, class) = vocabulary.entry(symbol);
            self.symbols.push_str(text);
            self.symbol_ends.push(self.symbols.len() as u32);
            self.classes.push(class);
        }
    }

    /// Serialises the state for [`KeptTables::read`].
    pub(super) fn encode(self) -> Vec<u8> {
        let mut order: Vec<(u64, u32)> = Vec::new();
        let mut start = 0;
        for (symbol, end) in (0..).zip(&self.symbol_ends) {
            let end = *end as usize;
            order.push((text_key(&self.symbols[start..end]), symbol));
            start = end;
        }
        order.par_sort_unstable();
        let order_keys: Vec<u64> = order.iter().map(|(key, _)| *key).collect();
        let mut written = Sections {
            // Larger than necessary, to avoid a reallocation; unwritten pages use no memory.
            bytes: Vec::with_capacity(MAX_BYTES_PER_TOKEN * self.tokens.len()),
            lengths: Vec::new(),
        };
        written.section(self.symbols.bytes());
        written.numbers(self.symbol_ends.iter().copied());
        written.numbers(self.classes.iter().copied());
        written.numbers(order.iter().map(|(_, symbol)| *symbol));
        written.numbers(bucket_bounds(&order_keys));
        written.numbers(self.tokens.iter().copied());
        written.numbers(self.text_ends.iter().copied());
        drop((order, order_keys));
        let texts = TextClasses {
            of_symbols: self.classes,
            ends: self.text_ends,
        };
        // Written data is dropped to save memory, here and below: a table is as large as its
        // sections.
        drop((self.symbols, self.symbol_ends, self.tokens));
        for order in 1..=SHORTEST {
            let table = texts.table(order, written.written(TOKENS));
            let bounds = bucket_bounds(&table.keys);
            written.section(table.keys.into_iter().flat_map(u64::to_le_bytes));
            written.numbers(bounds);
            written.numbers(table.ends);
            written.numbers(table.values);
        }
        let footer = Footer {
            paths: self.paths,
            sections: written.lengths,
        };
        let mut bytes = written.bytes;
        let start = bytes.len();
        // Serialising texts and numbers never fails.
        bytes.extend(serde_json::to_vec(&footer).unwrap_or_default());
        let length = (bytes.len() - start) as u64;
        bytes.extend(length.to_le_bytes());
        bytes.shrink_to_fit();
        bytes
    }
}

/// The classes of all symbols, and the end of each text.
struct TextClasses {
    of_symbols: Vec<Class>,
    ends: Vec<u32>,
}

/// Upper bound on the size of all sections: 21 in sympy 1.14.0 with 7.6 million tokens.
const MAX_BYTES_PER_TOKEN: usize = 32;

/// Number of parts, as a power of two, in which a table's entries are sorted, split by the first
/// bits of their keys. So all cores sort, and few entries are in memory at once.
const PART_BITS: u32 = 3;

impl TextClasses {
    /// Returns the followers of all contexts of an order, or, for the shortest context that is
    /// looked up in the texts, its positions. `tokens` has the symbols, as a section does.
    fn table(&self, order: usize, tokens: &[u8]) -> Table {
        let mut table = Table::default();
        let parts: Vec<usize> = (0..1 << PART_BITS).collect();
        // One part per thread at a time bounds the memory for the entries.
        for together in parts.chunks(rayon::current_num_threads()) {
            let sorted = together.par_iter().map(|part| {
                let mut entries = self.entries(order, tokens, *part);
                entries.sort_unstable();
                Table::of_sorted(&entries, order < SHORTEST)
            });
            // Parts come in the order of their keys, so the concatenated table is sorted.
            for part in sorted.collect::<Vec<_>>() {
                table.append(part);
            }
        }
        table
    }

    /// Returns the mixed keys in one part of all contexts of an order, each with its follower or
    /// position.
    fn entries(&self, order: usize, tokens: &[u8], part: usize) -> Vec<(u64, u32)> {
        let mut entries = Vec::with_capacity((tokens.len() / 4) >> PART_BITS);
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut classes: Vec<Class> = Vec::new();
        let mut start = 0;
        for end in &self.ends {
            let end = *end as usize;
            symbols.clear();
            symbols.extend((start..end).map(|place| number(tokens, place)));
            classes.clear();
            classes.extend(
                symbols
                    .iter()
                    .map(|symbol| self.of_symbols[*symbol as usize]),
            );
            for (context, at) in classes.windows(order).zip(order..symbols.len()) {
                let key = mix(key(context));
                if bucket_of(key, PART_BITS) == part {
                    let value = match order < SHORTEST {
                        true => symbols[at],
                        false => (start + at) as u32,
                    };
                    entries.push((key, value));
                }
            }
            start = end;
        }
        entries
    }
}

/// A table, sorted by ascending keys.
#[derive(Default)]
struct Table {
    keys: Vec<u64>,
    /// End of each key's values.
    ends: Vec<u32>,
    values: Vec<u32>,
}

impl Table {
    /// Builds a table from sorted entries, whose values are counted or listed.
    fn of_sorted(entries: &[(u64, u32)], counted: bool) -> Self {
        let mut table = Self::default();
        for of_key in entries.chunk_by(|a, b| a.0 == b.0) {
            table.keys.push(of_key[0].0);
            if counted {
                for of_value in of_key.chunk_by(|a, b| a.1 == b.1) {
                    table.values.extend([of_value[0].1, of_value.len() as u32]);
                }
                table.ends.push(table.values.len() as u32 / 2);
            } else {
                table.values.extend(of_key.iter().map(|(_, value)| *value));
                table.ends.push(table.values.len() as u32);
            }
        }
        table
    }

    /// Appends a table with greater keys.
    fn append(&mut self, more: Self) {
        let before = self.ends.last().copied().unwrap_or(0);
        self.keys.extend(more.keys);
        self.ends.extend(more.ends.iter().map(|end| before + end));
        self.values.extend(more.values);
    }
}

/// Concatenated sections, and their lengths.
#[derive(Default)]
struct Sections {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Sections {
    fn section(&mut self, bytes: impl IntoIterator<Item = u8>) {
        let start = self.bytes.len();
        self.bytes.extend(bytes);
        self.lengths.push(self.bytes.len() - start);
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u32>) {
        self.section(numbers.into_iter().flat_map(u32::to_le_bytes));
    }

    /// Returns a section that was written.
    fn written(&self, section: usize) -> &[u8] {
        let start = self.lengths[..section].iter().sum();
        &self.bytes[start..start + self.lengths[section]]
    }
}

/// Returns the start of each bucket of sorted keys, and the end of the last. A bucket has about
/// four keys.
fn bucket_bounds(keys: &[u64]) -> Vec<u32> {
    // At least one bit, since `bucket_of` can't shift a key by all its 64 bits.
    let bits = (keys.len() / 4).max(2).ilog2();
    let mut bounds = vec![0; (1 << bits) + 1];
    for key in keys {
        bounds[bucket_of(*key, bits) + 1] += 1;
    }
    for bucket in 1..bounds.len() {
        bounds[bucket] += bounds[bucket - 1];
    }
    bounds
}

/// Returns the bucket of a key, by its first bits.
fn bucket_of(key: u64, bits: u32) -> usize {
    (key >> (64 - bits)) as usize
}

/// Returns the key of a symbol's text.
fn text_key(text: &str) -> u64 {
    let fold = |key, byte: &u8| mix(key ^ u64::from(*byte)).wrapping_add(1);
    mix(text.as_bytes().iter().fold(0, fold))
}

/// Reads a number from a section of numbers.
fn number(section: &[u8], index: usize) -> u32 {
    let bytes = section[4 * index..].first_chunk();
    bytes.copied().map_or(0, u32::from_le_bytes)
}
