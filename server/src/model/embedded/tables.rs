//! What was learnt in the form in which it is kept between two starts: flat tables, which are
//! searched where they lie, so that a start reads one file and builds nothing.
//!
//! Numbers are little-endian. The sections follow each other behind a line that gives the paths of
//! the texts and the sections' lengths in bytes.

use std::ops::Range;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::counts::{Followers, LONGEST, SHORTEST, Sequence, key, mix};
use super::vocabulary::{Class, Symbol};

/// What was kept. By default nothing.
#[derive(Debug, Default)]
pub(super) struct KeptTables {
    bytes: Vec<u8>,
    paths: Vec<String>,
    sections: Vec<Range<usize>>,
    /// Texts that were asked for whole.
    sequences: Vec<OnceLock<Box<Sequence>>>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    paths: Vec<String>,
    sections: Vec<usize>,
}

/// What is to be kept, taken at one moment.
#[derive(Debug, Default)]
pub(super) struct LearntTexts {
    /// The texts of symbols, by number, one behind the other, and where each ends.
    pub(super) symbols: String,
    pub(super) symbol_ends: Vec<u32>,
    /// The symbols' classes.
    pub(super) classes: Vec<Class>,
    /// The texts' paths.
    pub(super) paths: Vec<String>,
    /// Their symbols, one text behind the other, and where each ends.
    pub(super) tokens: Vec<Symbol>,
    pub(super) text_ends: Vec<u32>,
}

/// The sections, in their order. Each table has four: keys, the bounds of its buckets, where the
/// values of each key end, and the values.
const SYMBOLS: usize = 0;
const SYMBOL_ENDS: usize = 1;
const CLASSES: usize = 2;
/// Symbols by the key of their text.
const SYMBOL_ORDER: usize = 3;
const SYMBOL_BUCKETS: usize = 4;
const TOKENS: usize = 5;
const TEXT_ENDS: usize = 6;
/// The tables of what followed one token, two and three, and of the places of the shortest context
/// that is looked up in the texts.
const TABLES: usize = 7;
const KEYS: usize = 0;
const BUCKETS: usize = 1;
const ENDS: usize = 2;
const VALUES: usize = 3;

/// All sections.
const SECTIONS: usize = TABLES + 4 * SHORTEST;

impl KeptTables {
    /// The tables that [`LearntTexts::encode`] made; `None` if these are others.
    pub(super) fn read(mut bytes: Vec<u8>) -> Option<Self> {
        let line = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: Header = serde_json::from_slice(&bytes[..line]).ok()?;
        bytes.drain(..=line);
        let mut start = 0;
        let sections: Vec<Range<usize>> = header
            .sections
            .iter()
            .map(|length| {
                let section = start..start + length;
                start = section.end;
                section
            })
            .collect();
        (sections.len() == SECTIONS && start == bytes.len()).then(|| Self {
            bytes,
            sequences: header.paths.iter().map(|_| OnceLock::new()).collect(),
            paths: header.paths,
            sections,
        })
    }

    /// The texts' paths, by number.
    pub(super) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// How many texts there are.
    pub(super) fn texts(&self) -> usize {
        self.paths.len()
    }

    /// How many symbols there are.
    pub(super) fn symbols(&self) -> usize {
        self.count(CLASSES)
    }

    /// The text and class of a symbol.
    pub(super) fn entry(&self, symbol: Symbol) -> (&str, Class) {
        let symbol = symbol as usize;
        let start = self.end_before(SYMBOL_ENDS, symbol);
        let end = self.number(SYMBOL_ENDS, symbol) as usize;
        let text = &self.section(SYMBOLS)[start..end];
        let text = std::str::from_utf8(text).unwrap_or_default();
        (text, self.number(CLASSES, symbol))
    }

    /// The symbol of a text.
    pub(super) fn find(&self, text: &str) -> Option<Symbol> {
        self.bucket(SYMBOL_BUCKETS, text_key(text))
            .map(|index| self.number(SYMBOL_ORDER, index))
            .find(|symbol| self.entry(*symbol).0 == text)
    }

    /// What followed contexts of an order below [`SHORTEST`] that have this key.
    pub(super) fn followers(&self, order: usize, key: u64) -> Option<Followers> {
        let values = self.values(order - 1, key)?;
        let section = TABLES + 4 * (order - 1) + VALUES;
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

    /// Visits the places where the last tokens of a context stand that have this key: see
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
            // Places come in order, so most are in the text of the one before.
            if place >= bounds.end {
                text = self.text_at(place);
                bounds = self.bounds(text);
            }
            let before = context.iter().rev().take(LONGEST.min(place - bounds.start));
            let agreeing = (1..)
                .zip(before)
                .take_while(|(back, class)| self.class_at(place - back) == **class)
                .count();
            if agreeing >= SHORTEST {
                visitor(text as u32, agreeing, self.number(TOKENS, place));
            }
        }
    }

    /// The tokens of a text.
    pub(super) fn tokens(&self, text: u32) -> impl Iterator<Item = Symbol> {
        self.bounds(text as usize)
            .map(|place| self.number(TOKENS, place))
    }

    /// A text, by its number.
    pub(super) fn sequence(&self, text: u32) -> Option<&Sequence> {
        let sequence = self.sequences.get(text as usize)?;
        let make = || {
            let symbols: Vec<Symbol> = self.tokens(text).collect();
            let class = |symbol: &Symbol| self.number(CLASSES, *symbol as usize);
            let classes = symbols.iter().map(class).collect();
            Box::new(Sequence::new(symbols, classes))
        };
        Some(sequence.get_or_init(make))
    }

    fn class_at(&self, place: usize) -> Class {
        self.number(CLASSES, self.number(TOKENS, place) as usize)
    }

    /// The text that a place is in.
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

    /// The places of a key's values in a table.
    fn values(&self, table: usize, key: u64) -> Option<Range<usize>> {
        let first = TABLES + 4 * table;
        let wanted = mix(key);
        let index = self
            .bucket(first + BUCKETS, wanted)
            .find(|index| self.long(first + KEYS, *index) == wanted)?;
        let end = self.number(first + ENDS, index) as usize;
        Some(self.end_before(first + ENDS, index)..end)
    }

    /// What may have a key that is mixed.
    fn bucket(&self, section: usize, key: u64) -> Range<usize> {
        let Some(buckets) = self.count(section).checked_sub(1) else {
            return 0..0;
        };
        let bucket = bucket_of(key, buckets.ilog2());
        let bound = |bucket| self.number(section, bucket) as usize;
        bound(bucket)..bound(bucket + 1)
    }

    /// Where what is before an item of a list of ends ends.
    fn end_before(&self, section: usize, index: usize) -> usize {
        index
            .checked_sub(1)
            .map_or(0, |before| self.number(section, before) as usize)
    }

    fn section(&self, section: usize) -> &[u8] {
        let range = self.sections.get(section).cloned();
        &self.bytes[range.unwrap_or_default()]
    }

    /// How many numbers a section has.
    fn count(&self, section: usize) -> usize {
        self.sections
            .get(section)
            .map_or(0, |range| range.len() / 4)
    }

    fn number(&self, section: usize, index: usize) -> u32 {
        let bytes = self.section(section)[4 * index..].first_chunk();
        bytes.copied().map_or(0, u32::from_le_bytes)
    }

    fn long(&self, section: usize, index: usize) -> u64 {
        let bytes = self.section(section)[8 * index..].first_chunk();
        bytes.copied().map_or(0, u64::from_le_bytes)
    }
}

impl LearntTexts {
    /// The bytes that [`KeptTables::read`] reads.
    pub(super) fn encode(mut self) -> Vec<u8> {
        let mut order: Vec<(u64, u32)> = Vec::new();
        let mut start = 0;
        for (symbol, end) in (0..).zip(&self.symbol_ends) {
            let end = *end as usize;
            order.push((text_key(&self.symbols[start..end]), symbol));
            start = end;
        }
        order.sort_unstable();
        let order_keys: Vec<u64> = order.iter().map(|(key, _)| *key).collect();
        let mut sections = vec![
            std::mem::take(&mut self.symbols).into_bytes(),
            numbers(self.symbol_ends.iter().copied()),
            numbers(self.classes.iter().copied()),
            numbers(order.iter().map(|(_, symbol)| *symbol)),
            numbers(bucket_bounds(&order_keys)),
            numbers(self.tokens.iter().copied()),
            numbers(self.text_ends.iter().copied()),
        ];
        drop((order, order_keys));
        let classes: Vec<Class> = self
            .tokens
            .iter()
            .map(|symbol| self.classes[*symbol as usize])
            .collect();
        for order in 1..=SHORTEST {
            let mut entries = self.entries(order, &classes);
            entries.sort_unstable();
            sections.extend(table(&entries, order < SHORTEST));
        }
        let header = Header {
            paths: self.paths,
            sections: sections.iter().map(Vec::len).collect(),
        };
        let mut bytes = serde_json::to_vec(&header).unwrap_or_default();
        bytes.reserve_exact(1 + header.sections.iter().sum::<usize>());
        bytes.push(b'\n');
        for section in sections {
            bytes.extend(section);
        }
        bytes
    }

    /// The mixed keys of all contexts of an order with what followed, or, for the shortest context
    /// that is looked up in the texts, with where that stands. `classes` are those of all tokens.
    fn entries(&self, order: usize, classes: &[Class]) -> Vec<(u64, u32)> {
        let mut entries = Vec::with_capacity(self.tokens.len());
        let mut start = 0;
        for end in &self.text_ends {
            let end = *end as usize;
            for place in start + order..end {
                let value = match order < SHORTEST {
                    true => self.tokens[place],
                    false => place as u32,
                };
                entries.push((mix(key(&classes[place - order..place])), value));
            }
            start = end;
        }
        entries
    }
}

/// The sections of a table of sorted entries, whose values are counted or listed.
fn table(entries: &[(u64, u32)], counted: bool) -> [Vec<u8>; 4] {
    let mut keys = Vec::new();
    let mut ends = Vec::new();
    let mut values = Vec::new();
    for of_key in entries.chunk_by(|a, b| a.0 == b.0) {
        keys.push(of_key[0].0);
        if counted {
            for of_value in of_key.chunk_by(|a, b| a.1 == b.1) {
                values.extend([of_value[0].1, of_value.len() as u32]);
            }
            ends.push(values.len() as u32 / 2);
        } else {
            values.extend(of_key.iter().map(|(_, value)| *value));
            ends.push(values.len() as u32);
        }
    }
    [
        keys.iter().flat_map(|key| key.to_le_bytes()).collect(),
        numbers(bucket_bounds(&keys)),
        numbers(ends),
        numbers(values),
    ]
}

/// Where each of so many buckets of sorted keys that about four share one begins, and where the
/// last ends.
fn bucket_bounds(keys: &[u64]) -> Vec<u32> {
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

/// The bucket of a key, by its first bits.
fn bucket_of(key: u64, bits: u32) -> usize {
    (key >> (64 - bits)) as usize
}

/// The key of a symbol's text.
fn text_key(text: &str) -> u64 {
    let fold = |key, byte: &u8| mix(key ^ u64::from(*byte)).wrapping_add(1);
    mix(text.as_bytes().iter().fold(0, fold))
}

fn numbers(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}
