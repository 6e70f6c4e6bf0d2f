//! Numbers for tokens.

use std::collections::HashMap;
use std::sync::Arc;

use super::lexer::Token;
use super::tables::KeptTables;

/// A token as it is written: its blanks and its text, or a turn's form.
pub(super) type Symbol = u32;

/// A token as it is matched: without the blanks before it, a turn without its blank lines.
pub(super) type Class = u32;

/// The symbol and class that stand before a text.
pub(super) const START: Symbol = 0;

/// The symbol and class that stand before a piece cut from a text. Its text is one that the lexer
/// never gives a token.
pub(super) const CUT: Symbol = 1;

/// The class of a text that has none: no other token's, so that nothing is counted after it.
pub(super) const UNKNOWN: Class = Class::MAX;

/// Numbers for symbols and classes, in order of first sight. Nothing may depend on their values
/// but equality: they tell the order in which files came.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// What was kept comes first.
    kept: Arc<KeptTables>,
    numbers: HashMap<Box<str>, Symbol>,
    entries: Vec<(Box<str>, Class)>,
}

/// A vocabulary with additions that last for one request.
#[derive(Debug)]
pub(super) struct Extended<'a> {
    base: &'a Vocabulary,
    more: Vocabulary,
}

/// Gives tokens their numbers.
pub(super) trait Intern {
    /// The number of a text; `class` is the number of its class, if that is another text.
    fn intern(&mut self, text: &str, class: Option<Class>) -> Symbol;

    /// The number of a text that is known.
    fn find(&self, text: &str) -> Option<Symbol>;

    /// The text and class of a number.
    fn entry(&self, symbol: Symbol) -> (&str, Class);

    /// The class of a number.
    fn class(&self, symbol: Symbol) -> Class;

    /// The symbol and class of a token. `source` is the token with its gap.
    fn token(&mut self, token: &Token<'_>, source: &str) -> (Symbol, Class) {
        let form;
        let (text, class_text) = match &token.turn {
            Some(turn) => {
                form = (turn.form(true), turn.form(false));
                (form.0.as_str(), form.1.as_str())
            }
            None => (source, token.text),
        };
        let symbol = match self.find(text) {
            Some(symbol) => symbol,
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
        empty.intern("", None);
        empty.intern(" ", None);
        empty
    }
}

impl Vocabulary {
    /// What was kept.
    pub(super) fn of_kept(kept: Arc<KeptTables>) -> Self {
        Self {
            kept,
            ..Self::empty()
        }
    }

    /// How many symbols there are.
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
    /// A vocabulary without additions yet.
    pub(super) fn new(base: &'a Vocabulary) -> Self {
        Self {
            base,
            more: Vocabulary::empty(),
        }
    }
}

impl Intern for Extended<'_> {
    fn intern(&mut self, text: &str, class: Option<Class>) -> Symbol {
        if let Some(symbol) = self.find(text) {
            return symbol;
        }
        let symbol = (self.base.len() + self.more.entries.len()) as Symbol;
        self.more.add(text, symbol, class.unwrap_or(symbol));
        symbol
    }

    fn find(&self, text: &str) -> Option<Symbol> {
        self.base.find(text).or_else(|| self.more.find(text))
    }

    fn entry(&self, symbol: Symbol) -> (&str, Class) {
        match (symbol as usize).checked_sub(self.base.len()) {
            None => self.base.entry(symbol),
            Some(index) => {
                let (text, class) = &self.more.entries[index];
                (text, *class)
            }
        }
    }

    fn class(&self, symbol: Symbol) -> Class {
        match (symbol as usize).checked_sub(self.base.len()) {
            None => self.base.class(symbol),
            Some(index) => self.more.entries[index].1,
        }
    }
}
