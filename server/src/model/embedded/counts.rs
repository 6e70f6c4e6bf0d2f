//! Counts of the tokens that followed a context. Contexts of up to three tokens have count tables.
//! For longer ones there is a list of the positions of their last four tokens, and the texts
//! themselves: the length of the common context is read from the text. Counts of all longer orders
//! come from one pass over those positions, so a token costs four table entries to learn, not one
//! per order.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::lexer::{Indents, lex};
use super::tables::KeptTables;
use super::vocabulary::{Class, Intern, Symbol};

/// The longest context, in tokens.
pub(super) const LONGEST: usize = 12;

/// The shortest context that is looked up in the texts.
pub(super) const SHORTEST: usize = 4;

/// A text as numbers.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    symbols: Vec<Symbol>,
    classes: Vec<Class>,
    short: OnceLock<Box<Counts>>,
}

/// Texts and the counts over them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The state kept by an earlier start. Its texts have the first numbers.
    kept: Arc<KeptTables>,
    /// Numbers of its forgotten texts.
    gone: HashSet<u32>,
    /// Counts of the forgotten texts, to be subtracted.
    taken: ShortCounts,
    /// The other texts, by their number minus the number of kept texts.
    sequences: Vec<Option<Sequence>>,
    free: Vec<u32>,
    followers: ShortCounts,
    places: HashMap<u64, Places, Keyed>,
}

/// Followers of short contexts, by their order minus one.
type ShortCounts = [HashMap<u64, Followers, Keyed>; SHORTEST - 1];

/// Number of times that each symbol followed a context.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Followers {
    /// The sum of all counts.
    pub(super) total: u32,
    /// Symbols with their counts above 0, by symbol. Few contexts have more than two.
    pub(super) counts: SmallVec<[(Symbol, u32); 2]>,
}

/// A position in a text: the sequence and the index of the following token.
type Place = (u32, u32);

/// Positions of a context. Most contexts occur only once and then need no list.
#[derive(Debug)]
enum Places {
    One(Place),
    Many(Vec<Place>),
}

/// A hasher for keys that are already mixed.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

pub(super) type Keyed = BuildHasherDefault<KeyHasher>;

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = mix(key);
    }
}

/// Mixes a key's bits: the finaliser of MurmurHash3's 64-bit form.
pub(super) fn mix(mut key: u64) -> u64 {
    key ^= key >> 33;
    key = key.wrapping_mul(0xff51_afd7_ed55_8ccd);
    key ^= key >> 33;
    key = key.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ (key >> 33)
}

/// Returns the key of a context.
pub(super) fn key(classes: &[Class]) -> u64 {
    // `mix(0)` is 0, so without the 1, leading classes of number 0 would not change the key.
    classes
        .iter()
        .fold(0, |key, class| mix(key).wrapping_add(u64::from(*class) + 1))
}

impl Sequence {
    /// Creates a text of these symbols and their classes.
    pub(super) fn new(symbols: Vec<Symbol>, classes: Vec<Class>) -> Self {
        Self {
            symbols,
            classes,
            short: OnceLock::new(),
        }
    }

    /// Reads a text. `start` represents the text before it.
    pub(super) fn read(text: &str, start: Symbol, vocabulary: &mut impl Intern) -> Self {
        let mut sequence = Self::begin(start);
        sequence.read_on(text, &mut Indents::default(), vocabulary);
        sequence
    }

    /// Creates a text of which only what is before it is known.
    pub(super) fn begin(start: Symbol) -> Self {
        Self::new(vec![start], vec![start])
    }

    /// Reads a text that follows this one. `indents` is the state at its start, and afterwards at
    /// its end.
    pub(super) fn read_on(
        &mut self,
        text: &str,
        indents: &mut Indents,
        vocabulary: &mut impl Intern,
    ) {
        let mut at = 0;
        for token in lex(text, indents) {
            let end = at + token.gap.len() + token.text.len();
            if !token.text.is_empty() {
                let (symbol, class) = vocabulary.token(&token, &text[at..end]);
                self.symbols.push(symbol);
                self.classes.push(class);
            }
            at = end;
        }
    }

    /// Returns the given number of its last symbols, or all.
    pub(super) fn end(&self, symbols: usize) -> Self {
        let from = self.symbols.len().saturating_sub(symbols);
        Self::new(self.symbols[from..].to_vec(), self.classes[from..].to_vec())
    }

    /// Returns the counts of short contexts, to subtract from larger counts. Computed on first use,
    /// as only files that are open in an editor need it.
    pub(super) fn short(&self) -> &Counts {
        self.short.get_or_init(|| {
            let mut counts = Counts::default();
            count(&mut counts.followers, self, 0, Followers::add);
            Box::new(counts)
        })
    }

    /// Returns its symbols.
    pub(super) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }
}

impl Followers {
    fn add(&mut self, symbol: Symbol) {
        self.total += 1;
        match self.counts.binary_search_by_key(&symbol, |entry| entry.0) {
            Ok(index) => self.counts[index].1 += 1,
            Err(index) => self.counts.insert(index, (symbol, 1)),
        }
    }

    fn take(&mut self, symbol: Symbol) {
        if let Ok(index) = self.counts.binary_search_by_key(&symbol, |entry| entry.0) {
            self.total -= 1;
            self.counts[index].1 -= 1;
            if self.counts[index].1 == 0 {
                self.counts.remove(index);
            }
        }
    }

    /// Adds counts.
    pub(super) fn extend(&mut self, more: &Self) {
        self.total += more.total;
        for &(symbol, count) in &more.counts {
            match self.counts.binary_search_by_key(&symbol, |entry| entry.0) {
                Ok(index) => self.counts[index].1 += count,
                Err(index) => self.counts.insert(index, (symbol, count)),
            }
        }
    }

    /// Returns these counts minus a part of them.
    pub(super) fn without(&self, less: &Self) -> Self {
        let mut less_counts = less.counts.iter().peekable();
        let mut counts = SmallVec::with_capacity(self.counts.len());
        for &(symbol, count) in &self.counts {
            // Both lists are sorted by symbol, so one pass finds the counts to subtract.
            let taken = less_counts
                .next_if(|entry| entry.0 == symbol)
                .map_or(0, |entry| entry.1);
            if count > taken {
                counts.push((symbol, count - taken));
            }
        }
        Self {
            total: self.total - less.total,
            counts,
        }
    }
}

/// Applies a text's followers of short contexts, from the symbol `first` on, to counts.
fn count(
    counts: &mut ShortCounts,
    sequence: &Sequence,
    first: usize,
    change: fn(&mut Followers, Symbol),
) {
    let Sequence {
        symbols, classes, ..
    } = sequence;
    for (order, table) in (1..).zip(counts) {
        for index in first.max(order)..classes.len() {
            let followers = table
                .entry(key(&classes[index - order..index]))
                .or_default();
            change(followers, symbols[index]);
        }
    }
}

impl Counts {
    /// Creates counts from a kept state.
    pub(super) fn of_kept(kept: Arc<KeptTables>) -> Self {
        Self {
            kept,
            ..Self::default()
        }
    }

    /// Returns the kept state, if nothing was learnt or forgotten since.
    pub(super) fn unchanged(&self) -> Option<&KeptTables> {
        let same = self.gone.is_empty() && self.sequences.iter().all(Option::is_none);
        same.then_some(&*self.kept)
    }

    /// Learns a text from its symbol `first` on, of which those before are the context. Returns its
    /// number.
    pub(super) fn learn(&mut self, sequence: Sequence, first: usize) -> u32 {
        count(&mut self.followers, &sequence, first, Followers::add);
        let next = (self.kept.texts() + self.sequences.len()) as u32;
        // Numbers of forgotten texts are used again, so the list does not grow with each edit of a
        // file.
        let number = self.free.pop().unwrap_or(next);
        for index in first.max(SHORTEST)..sequence.classes.len() {
            let key = key(&sequence.classes[index - SHORTEST..index]);
            let place = (number, index as u32);
            self.places
                .entry(key)
                .and_modify(|places| places.add(place))
                .or_insert(Places::One(place));
        }
        let index = number as usize - self.kept.texts();
        if index == self.sequences.len() {
            self.sequences.push(None);
        }
        self.sequences[index] = Some(sequence);
        number
    }

    /// Forgets a text. Afterwards the counts are as if it had never been learnt.
    pub(super) fn forget(&mut self, number: u32) {
        let Some(index) = (number as usize).checked_sub(self.kept.texts()) else {
            // The kept tables never change: the counts of a text gone from them are subtracted at
            // look-up.
            if self.gone.insert(number)
                && let Some(sequence) = self.kept.sequence(number)
            {
                count(&mut self.taken, sequence, 0, Followers::add);
            }
            return;
        };
        let Some(sequence) = self.sequences.get_mut(index).and_then(Option::take) else {
            return;
        };
        count(&mut self.followers, &sequence, 0, Followers::take);
        // Contexts that only this text had are removed, or each edit would leave empty entries
        // behind.
        for (order, table) in (1..).zip(&mut self.followers) {
            for classes in sequence.classes.windows(order) {
                let key = key(classes);
                if table
                    .get(&key)
                    .is_some_and(|followers| followers.total == 0)
                {
                    table.remove(&key);
                }
            }
        }
        for index in SHORTEST..sequence.classes.len() {
            let key = key(&sequence.classes[index - SHORTEST..index]);
            if let Some(places) = self.places.get_mut(&key)
                && places.remove_all(number)
            {
                self.places.remove(&key);
            }
        }
        self.free.push(number);
    }

    /// True if nothing is counted.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.gone.len() == self.kept.texts()
            && self.places.is_empty()
            && self.followers.iter().all(HashMap::is_empty)
            && self.sequences.iter().all(Option::is_none)
    }

    /// Returns a learnt text.
    pub(super) fn sequence(&self, number: u32) -> Option<&Sequence> {
        match (number as usize).checked_sub(self.kept.texts()) {
            Some(index) => self.sequences.get(index)?.as_ref(),
            None if self.gone.contains(&number) => None,
            None => self.kept.sequence(number),
        }
    }

    /// Returns the symbols of a learnt text.
    pub(super) fn symbols(&self, number: u32) -> Vec<Symbol> {
        match (number as usize).checked_sub(self.kept.texts()) {
            Some(_) => self
                .sequence(number)
                .map_or_else(Vec::new, |sequence| sequence.symbols().to_vec()),
            // The sequence is not used, as it would stay in memory.
            None => self.kept.tokens(number).collect(),
        }
    }

    /// Returns the followers of the last `order` tokens of a context, for orders below
    /// [`SHORTEST`].
    pub(super) fn followers(&self, context: &[Class], order: usize) -> Option<Cow<'_, Followers>> {
        let last = context.get(context.len().checked_sub(order)?..)?;
        let (table, key) = (order.checked_sub(1)?, key(last));
        let followers = self.followers.get(table)?.get(&key);
        let followers = match self.kept.followers(order, key) {
            None => Cow::Borrowed(followers?),
            Some(mut kept) => {
                if let Some(taken) = self.taken[table].get(&key) {
                    kept = kept.without(taken);
                }
                if let Some(followers) = followers {
                    kept.extend(followers);
                }
                Cow::Owned(kept)
            }
        };
        (followers.total > 0).then_some(followers)
    }

    /// Visits every position at which the last [`SHORTEST`] tokens of a context occur, with the
    /// text's number, the number of the context's last tokens that agree there, at most
    /// [`LONGEST`], and the following symbol.
    pub(super) fn visit(&self, context: &[Class], mut visitor: impl FnMut(u32, usize, Symbol)) {
        let Some(start) = context.len().checked_sub(SHORTEST) else {
            return;
        };
        let key = key(&context[start..]);
        self.kept.visit(key, context, |number, agreeing, symbol| {
            if !self.gone.contains(&number) {
                visitor(number, agreeing, symbol);
            }
        });
        let places = match self.places.get(&key) {
            None => return,
            Some(Places::One(place)) => std::slice::from_ref(place),
            Some(Places::Many(places)) => places,
        };
        for &(number, index) in places {
            let Some(sequence) = self.sequence(number) else {
                continue;
            };
            let index = index as usize;
            // Different contexts may share a key, so the tokens themselves are compared.
            let agreeing = sequence.classes[..index]
                .iter()
                .rev()
                .zip(context.iter().rev())
                .take(LONGEST)
                .take_while(|(a, b)| a == b)
                .count();
            if agreeing >= SHORTEST {
                visitor(number, agreeing, sequence.symbols[index]);
            }
        }
    }
}

impl Places {
    fn add(&mut self, place: Place) {
        match self {
            Self::One(first) => *self = Self::Many(vec![*first, place]),
            Self::Many(places) => places.push(place),
        }
    }

    /// Removes a text's positions. Returns true if none remain.
    fn remove_all(&mut self, number: u32) -> bool {
        match self {
            Self::One(place) => place.0 == number,
            Self::Many(places) => {
                places.retain(|place| place.0 != number);
                places.is_empty()
            }
        }
    }
}
