//! Maps tokens to numbers.

use std::collections::HashMap;
use std::sync::Arc;

use super::lexer::Token;
use super::tables::KeptTables;

/// A token with the blanks before it, or the form of a line break.
pub(super) type Symbol = u32;

/// A token without the blanks before it, or the form of a line break without blank lines. Contexts
/// are matched by class.
pub(super) type Class = u32;

/// The symbol and class before a text.
pub(super) const START: Symbol = 0;

/// The symbol and class before a piece cut from a text. Its text is never a token of the lexer.
pub(super) const CUT: Symbol = 1;

/// The class of an unknown text. No token has it, so nothing is counted after it.
pub(super) const UNKNOWN: Class = Class::MAX;

/// Numbers of symbols and classes, in order of first occurrence. Code may only compare them for
/// equality, as they depend on the order of files.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// The kept state, whose numbers come first.
    kept: Arc<KeptTables>,
    numbers: HashMap<Box<str>, Symbol>,
    entries: Vec<(Box<str>, Class)>,
}

/// A vocabulary with temporary additions for one request.
#[derive(Debug)]
pub(super) struct Extended<'a> {
    base: &'a Vocabulary,
    /// Additions of earlier requests.
    earlier: Option<&'a Vocabulary>,
    more: Vocabulary,
}

/// Assigns numbers to tokens.
pub(super) trait Intern {
    /// Returns the number of a text, and assigns it if necessary; `class` is the number of its
    /// class, if that is another text.
    fn intern(&mut self, text: &str, class: Option<Class>) -> Symbol;

    /// Returns the number of a known text.
    fn find(&self, text: &str) -> Option<Symbol>;

    /// Returns the text and class of a number.
    fn entry(&self, symbol: Symbol) -> (&str, Class);

    /// Returns the class of a number.
    fn class(&self, symbol: Symbol) -> Class;

    /// Returns the symbol and class of a token. `source` is the token with its gap.
    fn token(&mut self, token: &Token<'_>, source: &str) -> (Symbol, Class) {
        let form;
        let (text, class_text) = match &token.line_break {
            Some(line_break) => {
                form = (line_break.form(true), line_break.form(false));
                (form.0.as_str(), form.1.as_str())
            }
            None => (source, token.text),
        };
        let symbol = match self.find(text) {
            Some(symbol) => symbol,
            // A known symbol has its class already, so only a new one needs it.
            None => {
                let class = (text != class_text).then(|| self.intern(class_text, None));
                self.intern(text, class)
            }
        };
        (symbol, self.class(symbol))
    }
}

impl Default for Vocabulary {
    fn default() -> Self {
        let mut empty = Self::empty();
        // The first two numbers are those of `START` and `CUT`.
        empty.intern("", None);
        empty.intern(" ", None);
        empty
    }
}

impl Vocabulary {
    /// Creates a vocabulary from a kept state.
    pub(super) fn of_kept(kept: Arc<KeptTables>) -> Self {
        Self {
            kept,
            // The kept symbols begin with `START` and `CUT` themselves.
            ..Self::empty()
        }
    }

    /// Number of symbols.
    pub(super) fn len(&self) -> usize {
        self.kept.symbols() + self.entries.len()
    }

    fn empty() -> Self {
        Self {
            kept: Arc::default(),
            numbers: HashMap::new(),
            entries: Vec::new(),
        }
    }

    fn add(&mut self, text: &str, symbol: Symbol, class: Class) {
        self.numbers.insert(text.into(), symbol);
        self.entries.push((text.into(), class));
    }
}

impl Intern for Vocabulary {
    fn intern(&mut self, text: &str, class: Option<Class>) -> Symbol {
        if let Some(symbol) = self.find(text) {
            return symbol;
        }
        let symbol = self.len() as Symbol;
        self.add(text, symbol, class.unwrap_or(symbol));
        symbol
    }

    fn find(&self, text: &str) -> Option<Symbol> {
        let number = self.numbers.get(text).copied();
        number.or_else(|| self.kept.find(text))
    }

    fn entry(&self, symbol: Symbol) -> (&str, Class) {
        match (symbol as usize).checked_sub(self.kept.symbols()) {
            None => self.kept.entry(symbol),
            Some(index) => {
                let (text, class) = &self.entries[index];
                (text, *class)
            }
        }
    }

    fn class(&self, symbol: Symbol) -> Class {
        match (symbol as usize).checked_sub(self.kept.symbols()) {
            None => self.kept.class(symbol),
            Some(index) => self.entries[index].1,
        }
    }
}

impl<'a> Extended<'a> {
    /// Creates a vocabulary with the additions of earlier requests, which extend the same one.
    pub(super) fn new(base: &'a Vocabulary, earlier: Option<&'a Vocabulary>) -> Self {
        Self {
            base,
            earlier,
            more: Vocabulary::empty(),
        }
    }

    /// Returns the additions of this request.
    pub(super) fn into_additions(self) -> Vocabulary {
        self.more
    }

    /// Returns an addition.
    fn addition(&self, index: usize) -> &(Box<str>, Class) {
        let earlier = self.earlier.map_or(&[][..], |earlier| &earlier.entries);
        match index.checked_sub(earlier.len()) {
            None => &earlier[index],
            Some(index) => &self.more.entries[index],
        }
    }
}

impl Intern for Extended<'_> {
    fn intern(&mut self, text: &str, class: Option<Class>) -> Symbol {
        if let Some(symbol) = self.find(text) {
            return symbol;
        }
        let earlier = self.earlier.map_or(0, |earlier| earlier.entries.len());
        let symbol = (self.base.len() + earlier + self.more.entries.len()) as Symbol;
        self.more.add(text, symbol, class.unwrap_or(symbol));
        symbol
    }

    fn find(&self, text: &str) -> Option<Symbol> {
        let earlier = || self.earlier.and_then(|earlier| earlier.find(text));
        let base = self.base.find(text);
        base.or_else(earlier).or_else(|| self.more.find(text))
    }

    fn entry(&self, symbol: Symbol) -> (&str, Class) {
        match (symbol as usize).checked_sub(self.base.len()) {
            None => self.base.entry(symbol),
            Some(index) => {
                let (text, class) = self.addition(index);
                (text, *class)
            }
        }
    }

    fn class(&self, symbol: Symbol) -> Class {
        match (symbol as usize).checked_sub(self.base.len()) {
            None => self.base.class(symbol),
            Some(index) => self.addition(index).1,
        }
    }
}
