//! Alters expectations to values that make sense: other literals of the tests, exchanged elements,
//! another digit or letter at a place that is drawn.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::evaluation::{AnswerForm, LeftOutAnswer};
use super::expected::ParsedFile;
use super::{SourceEdit, TYPE_SUFFIXES, parsed_number};

/// A literal or a list that an assertion compares with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    file: usize,
    range: Range<usize>,
    form: Form,
    /// The place where the altered value is written if it is another one.
    copy: Option<ValueCopy>,
}

/// A value that is written in place of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueCopy {
    /// The bytes of the value.
    pub(super) value: Range<usize>,
    /// The bytes of the variable.
    pub(super) place: Range<usize>,
    /// Texts around the value.
    pub(super) around: [String; 2],
}

/// The form of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Number,
    /// The contents of a string.
    Text,
    /// A word that has this one as its opposite.
    Word(&'static str),
    /// A list, by the ranges of its elements.
    Elements(Vec<Range<usize>>),
    /// A text of several lines, which holds values in quotes or digits.
    Snapshot,
    /// A named constant or a member, such as `Season.Summer`.
    Constant,
}

impl Candidate {
    pub(super) fn new(file: usize, range: Range<usize>, form: Form) -> Self {
        Self {
            file,
            range,
            form,
            copy: None,
        }
    }

    /// Returns the edit that puts another text in its place.
    fn edit(&self, replacement: &str, files: &[ParsedFile<'_>]) -> SourceEdit {
        let Some(ValueCopy {
            value,
            place,
            around,
        }) = &self.copy
        else {
            return SourceEdit::new(self.range.clone(), replacement);
        };
        let [before, after] = around;
        let text = files[self.file].text;
        let start = &text[value.start..self.range.start];
        let end = &text[self.range.end..value.end];
        let copy = format!("{before}{start}{replacement}{end}{after}");
        SourceEdit::new(place.clone(), &copy)
    }
}

/// The way in which an expectation is altered. Twins of one test differ in it if they can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Way {
    /// Two elements take each other's place.
    Exchanged,
    /// Two neighbours of its words, letters or digits take each other's place.
    Rearranged,
    /// Another literal of the tests takes its place.
    Other,
    /// The first digit is another.
    First,
    /// A digit or letter anywhere is another.
    Anywhere,
    /// The opposite word takes its place.
    Opposite,
}

/// An edit that alters an expectation.
#[derive(Clone, Debug)]
pub(super) struct DrawnEdit {
    /// The index of its file.
    pub(super) file: usize,
    pub(super) way: Way,
    /// Number of rows with answers, of which it alters a drawn part; 0 if it alters all it can.
    pub(super) rows: usize,
    pub(super) edit: SourceEdit,
}

/// A place where an expectation is written: one literal, or one of each row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Site {
    rows: Vec<Vec<Candidate>>,
    /// All rows of the table, if these are some of them.
    table: Arc<[Vec<Candidate>]>,
    /// True if each row is a test of its own. Each edit alters some of them: if all were altered, code
    /// that is right for one row would see there when to answer the others as they are written.
    are_tests: bool,
    /// True if the numbers are bounds, all of which move by the same amount.
    moves: bool,
    /// The distance from the numbers at which values still pass.
    tolerance: Option<f64>,
    /// True if the code's value need only contain the text: it may contain other words of the tests
    /// too.
    is_part: bool,
    /// True if the text or number is all that the assertion compares with, and not part of it.
    is_sought: bool,
}

impl Site {
    pub(super) fn single(candidate: Candidate) -> Self {
        Self {
            rows: vec![vec![candidate]],
            ..Self::default()
        }
    }

    /// Marks the site as one of an assertion that values near the numbers pass.
    pub(super) fn accept_near(&mut self, tolerance: f64) {
        self.tolerance = Some(tolerance);
    }

    /// Marks the site as one of an assertion that looks for a part of a text.
    pub(super) fn find_a_part(&mut self) {
        self.is_part = true;
    }

    /// Marks the site as all that an assertion looks for.
    pub(super) fn be_sought(&mut self) {
        self.is_sought = true;
    }

    /// True if a literal of the site is one of other sites.
    pub(super) fn shares(&self, others: &[Self]) -> bool {
        let candidates = || self.rows.iter().flatten();
        others
            .iter()
            .flat_map(|other| &other.rows)
            .flatten()
            .any(|other| {
                candidates().any(|own| {
                    own.file == other.file
                        && own.range.start < other.range.end
                        && other.range.start < own.range.end
                })
            })
    }

    /// Joins another site with the same literals, unless it is one of these.
    pub(super) fn join(&mut self, other: Self) {
        if !self.shares(std::slice::from_ref(&other)) {
            self.rows.extend(other.rows);
        }
    }

    /// True if all of the site is within a range of a file.
    pub(super) fn is_in(&self, file: usize, range: &Range<usize>) -> bool {
        self.rows.iter().flatten().all(|own| {
            own.file == file && range.start <= own.range.start && own.range.end <= range.end
        })
    }

    /// Returns the site with the altered value written at another place, so that the value stays.
    pub(super) fn copied(mut self, copy: &ValueCopy) -> Self {
        for candidate in self.rows.iter_mut().flatten() {
            candidate.copy = Some(copy.clone());
        }
        self
    }

    /// Numbers that bound a value: another value must fit all of them once they are altered.
    /// `None` for fewer than two: one bounds from one side, or from both with what is not written
    /// here.
    pub(super) fn bounds(candidates: Vec<Candidate>) -> Option<Self> {
        let is_number = |candidate: &Candidate| candidate.form == Form::Number;
        let numbers: Vec<Candidate> = candidates.into_iter().filter(is_number).collect();
        (numbers.len() > 1).then(|| Self {
            rows: vec![numbers],
            moves: true,
            ..Self::default()
        })
    }

    /// Candidates of rows, of each of which one is altered; `None` for no rows.
    pub(super) fn rows(rows: Vec<Vec<Candidate>>) -> Option<Self> {
        (!rows.is_empty()).then_some(Self {
            rows,
            ..Self::default()
        })
    }

    /// The same of rows that are tests of their own.
    pub(super) fn tests(rows: Vec<Vec<Candidate>>) -> Option<Self> {
        let site = Self::rows(rows)?;
        Some(Self {
            are_tests: true,
            ..site
        })
    }

    /// A site for each row; rows that are alike are altered together.
    pub(super) fn alike(rows: Vec<Vec<Candidate>>, files: &[ParsedFile<'_>]) -> Vec<Self> {
        let mut sites: Vec<Self> = Vec::new();
        let table: Arc<[Vec<Candidate>]> = rows.into();
        for row in table.iter().cloned() {
            let texts = row_texts(&row, files);
            match sites
                .iter_mut()
                .find(|site| row_texts(&site.rows[0], files) == texts)
            {
                Some(site) => site.rows.push(row),
                None => sites.push(Self {
                    rows: vec![row],
                    table: Arc::clone(&table),
                    ..Self::default()
                }),
            }
        }
        sites
    }

    /// The answers within a range of a file, by their ranges.
    pub(super) fn answers_in<'a>(
        &'a self,
        file: usize,
        range: &'a Range<usize>,
        text: &'a str,
    ) -> impl Iterator<Item = LeftOutAnswer> + 'a {
        let is_inside = move |own: &&Candidate| {
            own.file == file && range.start <= own.range.start && own.range.end <= range.end
        };
        let candidates = self.rows.iter().flatten().filter(is_inside);
        candidates.filter_map(move |own| {
            let form = match &own.form {
                Form::Number => AnswerForm::Number,
                Form::Text | Form::Snapshot => AnswerForm::Text,
                Form::Word(opposite) => AnswerForm::Word((*opposite).to_owned()),
                // The elements are answers of their own.
                Form::Elements(_) | Form::Constant => return None,
            };
            let source = &text[own.range.clone()];
            Some(LeftOutAnswer::new(own.range.clone(), source, form))
        })
    }

    pub(super) fn into_candidates(self) -> Vec<Candidate> {
        self.rows.into_iter().flatten().collect()
    }

    /// Draws edits that each alter the expectation in another way, with the index of their file.
    /// Literals that are alike are altered alike, in all rows, sites and files, if the generators
    /// have one seed. Otherwise code that reads the answer of another row would fail a twin of one
    /// of them, like code that can't read; and code that takes the answer that most tests give is
    /// wrong only once theirs are altered together.
    pub(super) fn draw(&self, files: &[ParsedFile<'_>], rng: &mut ChaCha8Rng) -> Vec<DrawnEdit> {
        if self.moves {
            return self.moved(files, rng);
        }
        let mut edits: Vec<DrawnEdit> = Vec::new();
        // By row: its file, and edits that each alter the row.
        type RowEdits = (usize, Vec<(Way, SourceEdit)>);
        let drawn: Option<Vec<RowEdits>> = self
            .rows
            .iter()
            .map(|row| {
                let mut of_row = generator_of(&row_texts(row, files), rng);
                let mut altered = row_alterations(row, self.table(), files, &mut of_row);
                if self.is_part {
                    let is_own = |one: &RowAlteration| {
                        row[one.candidate].form != Form::Text || one.way != Way::Other
                    };
                    altered.retain(is_own);
                }
                if self.is_part && self.is_sought {
                    for one in &mut altered {
                        one.make_distinct(&row[one.candidate].form, &mut of_row);
                    }
                }
                altered.retain(|one| self.is_beyond(one, &row[one.candidate], files));
                let edits = altered.iter().map(|altered| {
                    let candidate = &row[altered.candidate];
                    (altered.way, candidate.edit(&altered.replacement, files))
                });
                Some((row.first()?.file, edits.collect()))
            })
            .collect();
        let drawn = drawn.unwrap_or_default();
        let most = drawn
            .iter()
            .map(|(_, edits)| edits.len())
            .max()
            .unwrap_or(0);
        let parts = self.parts(most, files, rng);
        for index in 0..most.max(parts.len()) {
            let Some((file, _)) = drawn.first() else {
                break;
            };
            let rows = if parts.is_empty() { 0 } else { self.rows.len() };
            let part = (!parts.is_empty()).then(|| &parts[index % parts.len()]);
            // A row with fewer edits repeats them, so that each edit alters every row of its part.
            let parts: Vec<&(Way, SourceEdit)> = drawn
                .iter()
                .enumerate()
                .filter(|(row, _)| part.is_none_or(|part| part.contains(row)))
                .filter(|(_, (of, edits))| of == file && !edits.is_empty())
                .map(|(_, (_, edits))| &edits[index % edits.len()])
                .collect();
            let way = parts.first().map_or(Way::Anywhere, |(way, _)| *way);
            let parts = parts.into_iter().map(|(_, edit)| edit.clone()).collect();
            let (file, text) = (*file, files[*file].text);
            if let Some(edit) = SourceEdit::joined(parts, text) {
                edits.push(DrawnEdit {
                    file,
                    way,
                    rows,
                    edit,
                });
            }
        }
        // Of a wide tolerance, no number that looks like the expected one is outside.
        if self.tolerance.is_some() && edits.is_empty() {
            return self.moved(files, rng);
        }
        edits
    }

    /// The indexes of the rows that each of some edits alters: one half of them, and then the other.
    /// None if all rows are altered together.
    fn parts(
        &self,
        number: usize,
        files: &[ParsedFile<'_>],
        rng: &ChaCha8Rng,
    ) -> Vec<BTreeSet<usize>> {
        let texts: Vec<Vec<&str>> = self.rows.iter().map(|row| row_texts(row, files)).collect();
        let mut different: Vec<&Vec<&str>> =
            texts.iter().collect::<BTreeSet<_>>().into_iter().collect();
        if !self.are_tests || different.len() < 2 {
            return Vec::new();
        }
        // Tests of one table share their edits.
        let mut rng = generator_of(&texts.concat(), rng);
        let mut parts = Vec::new();
        while parts.len() < number.max(2) {
            different.shuffle(&mut rng);
            let (first, second) = different.split_at(different.len() / 2);
            parts.extend([first, second].map(|part| {
                let rows = texts.iter().enumerate();
                let rows = rows.filter(|(_, texts)| part.contains(texts));
                rows.map(|(row, _)| row).collect()
            }));
        }
        parts
    }

    /// The rows of the table.
    fn table(&self) -> &[Vec<Candidate>] {
        match self.table.is_empty() {
            true => &self.rows,
            false => &self.table,
        }
    }

    /// True if no value is within the tolerance of a number before and after it was altered, nor
    /// nearly; always, without a tolerance.
    fn is_beyond(
        &self,
        altered: &RowAlteration,
        candidate: &Candidate,
        files: &[ParsedFile<'_>],
    ) -> bool {
        let Some(tolerance) = self.tolerance else {
            return true;
        };
        let before = parsed_number(&files[candidate.file].text[candidate.range.clone()]);
        let after = parsed_number(&altered.replacement);
        before
            .zip(after)
            .is_some_and(|(before, after)| (before - after).abs() > 2.5 * tolerance)
    }
}

impl Site {
    /// Draws edits that each add an amount to all numbers, or subtract it. The amount is more than
    /// their distance, so that no value fits before and after.
    fn moved(&self, files: &[ParsedFile<'_>], rng: &mut impl Rng) -> Vec<DrawnEdit> {
        let numbers = self.rows.iter().flatten();
        let numbers: Vec<&Candidate> = numbers
            .filter(|candidate| candidate.form == Form::Number)
            .collect();
        let [first, ..] = numbers[..] else {
            return Vec::new();
        };
        let file = first.file;
        let text = files[file].text;
        let values: Option<Vec<(f64, usize)>> = numbers
            .iter()
            .map(|number| {
                let source = &text[number.range.clone()];
                let decimals = source.split_once('.').map_or(0, |(_, digits)| digits.len());
                Some((source.parse::<f64>().ok()?, decimals)).filter(|_| number.file == file)
            })
            .collect();
        let Some(values) = values else {
            return Vec::new();
        };
        let most = values
            .iter()
            .map(|(value, _)| *value)
            .fold(f64::MIN, f64::max);
        let least = values
            .iter()
            .map(|(value, _)| *value)
            .fold(f64::MAX, f64::min);
        let distance = most - least + 2.0 * self.tolerance.unwrap_or_default();
        let amount = (distance + most.abs() * rng.random_range(0.5..2.0)).ceil() + 2.0;
        let mut edits = Vec::new();
        for (way, amount) in [(Way::First, amount), (Way::Anywhere, -amount)] {
            // The sign of a number is not among its literals.
            if least + amount < 0.0 {
                continue;
            }
            let parts = numbers.iter().zip(&values);
            let parts = parts.map(|(number, (value, decimals))| {
                // With as many decimals as before, an integer stays an integer.
                number.edit(&format!("{:.*}", *decimals, value + amount), files)
            });
            if let Some(edit) = SourceEdit::joined(parts.collect(), text) {
                let rows = 0;
                edits.push(DrawnEdit {
                    file,
                    way,
                    rows,
                    edit,
                });
            }
        }
        edits.shuffle(rng);
        edits
    }
}

/// The generator of random numbers that depends only on these texts and on another's seed.
fn generator_of(texts: &[&str], rng: &ChaCha8Rng) -> ChaCha8Rng {
    let mut hasher = DefaultHasher::new();
    (rng.get_seed(), texts).hash(&mut hasher);
    ChaCha8Rng::seed_from_u64(hasher.finish())
}

/// The texts of a row's candidates.
fn row_texts<'t>(row: &[Candidate], files: &[ParsedFile<'t>]) -> Vec<&'t str> {
    row.iter()
        .map(|candidate| &files[candidate.file].text[candidate.range.clone()])
        .collect()
}

/// A replacement of one of a row's candidates.
struct RowAlteration {
    way: Way,
    candidate: usize,
    replacement: String,
}

/// The most bytes of a text that others contain by chance.
const SHORT: usize = 3;

impl RowAlteration {
    /// Adds digits to a number or a short text, which a right value may contain beside the expected
    /// one.
    fn make_distinct(&mut self, form: &Form, rng: &mut impl Rng) {
        let is_short = match form {
            Form::Number => self.replacement.ends_with(|end: char| end.is_ascii_digit()),
            Form::Text => (1..=SHORT).contains(&self.replacement.len()),
            _ => false,
        };
        if is_short {
            let digits = rng.random_range(101..999);
            self.replacement.push_str(&digits.to_string());
        }
    }
}

/// Draws alterations of a row of a table: a list's elements are exchanged, or one of its literals is
/// altered.
fn row_alterations(
    row: &[Candidate],
    table: &[Vec<Candidate>],
    files: &[ParsedFile<'_>],
    rng: &mut impl Rng,
) -> Vec<RowAlteration> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.shuffle(rng);
    let mut altered = Vec::new();
    for candidate in order {
        let column: Vec<&str> = table
            .iter()
            .filter(|other| other.len() == row.len())
            .map(|other| &other[candidate])
            .filter(|other| other.form == row[candidate].form)
            .map(|other| &files[other.file].text[other.range.clone()])
            .collect();
        let file = &files[row[candidate].file];
        let replacements = replacements(&row[candidate], file, &column, rng);
        altered.extend(
            replacements
                .into_iter()
                .map(|(way, replacement)| RowAlteration {
                    way,
                    candidate,
                    replacement,
                }),
        );
    }
    // Not all edits of a place are tried: exchanges must be among those that are.
    altered.sort_by_key(|altered| altered.way != Way::Exchanged);
    altered
}

/// Texts that each alter a candidate in another way. `column` has the literals of all rows in its
/// place.
fn replacements(
    candidate: &Candidate,
    file: &ParsedFile<'_>,
    column: &[&str],
    rng: &mut impl Rng,
) -> Vec<(Way, String)> {
    let source = &file.text[candidate.range.clone()];
    let mut replacements: Vec<(Way, String)> = match &candidate.form {
        Form::Number => {
            let altered = altered_numbers(source, file.text, column, rng);
            match is_of_calendar(file.text, candidate.range.start) {
                true => kept_in_calendar(source, altered),
                false => altered,
            }
        }
        Form::Text => altered_texts(source, file.text, column, rng),
        Form::Word(other) => vec![(Way::Opposite, (*other).to_owned())],
        // The parts of a date have different ranges.
        Form::Elements(elements) if is_of_calendar(file.text, elements[0].start) => Vec::new(),
        Form::Elements(elements) => exchanged(&candidate.range, elements, file.text, rng)
            .map(|list| (Way::Exchanged, list))
            .into_iter()
            .collect(),
        Form::Snapshot => altered_snapshot(source, rng),
        Form::Constant => other_constant(source, file.text, rng)
            .map(|other| (Way::Other, other))
            .into_iter()
            .collect(),
    };
    replacements.retain(|(_, replacement)| replacement != source);
    replacements
}

/// Exchanges two elements of a list.
fn exchanged(
    list: &Range<usize>,
    elements: &[Range<usize>],
    text: &str,
    rng: &mut impl Rng,
) -> Option<String> {
    let mut pairs = Vec::new();
    for (index, one) in elements.iter().enumerate() {
        for other in &elements[index + 1..] {
            if text[one.clone()] != text[other.clone()] {
                pairs.push((one.clone(), other.clone()));
            }
        }
    }
    let (one, other) = pairs.choose(rng)?;
    Some(format!(
        "{}{}{}{}{}",
        &text[list.start..one.start],
        &text[other.clone()],
        &text[one.end..other.start],
        &text[one.clone()],
        &text[other.end..list.end]
    ))
}

/// Other numbers that look like this one: with another first digit, with another digit anywhere,
/// with two digits exchanged, and another number of its column or else of the file.
fn altered_numbers(
    source: &str,
    text: &str,
    column: &[&str],
    rng: &mut impl Rng,
) -> Vec<(Way, String)> {
    let (range, base) = digits_of(source);
    let [prefix, plain, suffix] =
        [0..range.start, range.clone(), range.end..source.len()].map(|part| &source[part]);
    if base != 10 {
        let altered = altered_in_base(plain, base, rng);
        let altered = altered.map(|digits| (Way::Anywhere, format!("{prefix}{digits}")));
        return altered.into_iter().collect();
    }
    let is_plain = |number: &str| {
        number.starts_with(|digit: char| digit.is_ascii_digit())
            && number
                .chars()
                .all(|digit| digit.is_ascii_digit() || digit == '.' || digit == '_')
    };
    if !is_plain(plain) {
        return Vec::new();
    }
    let digits: Vec<(usize, char)> = plain
        .char_indices()
        .filter(|(_, digit)| digit.is_ascii_digit())
        .collect();
    let is_float = plain.contains('.');
    let is_other = |word: &&&str| {
        let is_alike = is_plain(word) && word.contains('.') == is_float && !word.ends_with('.');
        is_alike && **word != plain && !has_leading_zero(word)
    };
    let mut others: Vec<&str> = column.iter().filter(is_other).copied().collect();
    if others.is_empty() {
        let is_end = |letter: char| !letter.is_ascii_alphanumeric() && !"._".contains(letter);
        let words: Vec<&str> = text.split(is_end).collect();
        others.extend(words.iter().filter(is_other));
    }
    let anywhere = digits.choose(rng).map(|(at, _)| *at);
    let drawn = [
        Some((Way::First, with_other_digit(plain, digits[0].0, rng))),
        anywhere.map(|at| (Way::Anywhere, with_other_digit(plain, at, rng))),
        with_exchange(plain, &digits, rng)
            .filter(|number| !has_leading_zero(number))
            .map(|number| (Way::Rearranged, number)),
        others
            .choose(rng)
            .map(|other| (Way::Other, (*other).to_owned())),
    ];
    let mut all: Vec<(Way, String)> = drawn.into_iter().flatten().collect();
    all.shuffle(rng);
    all.into_iter()
        .map(|(way, number)| (way, number + suffix))
        .collect()
}

/// The range of a number's digits, and their base: without the prefix of the base, an exponent and
/// the suffix for its type.
pub(super) fn digits_of(source: &str) -> (Range<usize>, u32) {
    let base = match source.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => {
            let plain = source.trim_end_matches(TYPE_SUFFIXES);
            return (0..plain.find(['e', 'E']).unwrap_or(plain.len()), 10);
        }
    };
    (2..source.len(), base)
}

/// True for an integer with a leading zero, which is octal in some languages and an error in others.
fn has_leading_zero(number: &str) -> bool {
    number.len() > 1 && number.starts_with('0') && !number.starts_with("0.")
}

/// Exchanges two neighbours that differ, of letters at their places in a text.
fn with_exchange(source: &str, letters: &[(usize, char)], rng: &mut impl Rng) -> Option<String> {
    let pairs: Vec<&[(usize, char)]> = letters
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .collect();
    let [(at, one), (other_at, other)] = **pairs.choose(rng)? else {
        return None;
    };
    let between = &source[at + one.len_utf8()..other_at];
    let after = &source[other_at + other.len_utf8()..];
    Some(format!("{}{other}{between}{one}{after}", &source[..at]))
}

/// True if a place in a text is among the arguments of a call that makes a date or a time, which
/// raises for numbers that no calendar or clock has.
fn is_of_calendar(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let is_argument = |letter: char| letter.is_alphanumeric() || " \t\n_=,.".contains(letter);
    let call = before.trim_end_matches(is_argument);
    let Some(call) = call.strip_suffix('(') else {
        return false;
    };
    let mut names = call.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '.');
    names
        .next()
        .is_some_and(|name| match name.rsplit('.').next() {
            Some("date" | "datetime" | "time") => true,
            Some("of") => name.starts_with("Local") || name.starts_with("Year"),
            _ => false,
        })
}

/// Of other numbers, those that a date or a time may have in the place of this one. A day or an hour
/// before another is as good as that.
fn kept_in_calendar(source: &str, altered: Vec<(Way, String)>) -> Vec<(Way, String)> {
    let Ok(number) = source.parse::<u32>() else {
        return altered;
    };
    let mut kept: Vec<(Way, String)> = altered
        .into_iter()
        .filter(|(_, other)| {
            other
                .parse()
                .is_ok_and(|other| (1..number).contains(&other))
        })
        .collect();
    if kept.is_empty() {
        let other = if number > 1 { number - 1 } else { number + 1 };
        kept.push((Way::Anywhere, other.to_string()));
    }
    kept
}

/// Digits of a number in a base with another decimal digit, or with another letter if they have none.
fn altered_in_base(digits: &str, base: u32, rng: &mut impl Rng) -> Option<String> {
    let places = |base: u32| -> Vec<(usize, char)> {
        let letters = digits.char_indices();
        letters.filter(|(_, digit)| digit.is_digit(base)).collect()
    };
    let of = base.min(10);
    let (found, of) = match places(of) {
        found if found.is_empty() => (places(base), base),
        found => (found, of),
    };
    let (at, digit) = *found.choose(rng)?;
    let value = digit.to_digit(of)?;
    let other = match value + 1 < of {
        true => value + 1,
        false => value - 1,
    };
    let mut other = char::from_digit(other, of)?;
    if digit.is_ascii_uppercase() {
        other = other.to_ascii_uppercase();
    }
    let mut altered = digits.to_owned();
    altered.replace_range(at..=at, other.encode_utf8(&mut [0; 4]));
    Some(altered)
}

/// A number with the next or the previous digit at a place; never with a zero in front.
fn with_other_digit(number: &str, at: usize, rng: &mut impl Rng) -> String {
    let digit = number.as_bytes()[at];
    let least = if at == 0 && number.len() > 1 {
        b'1'
    } else {
        b'0'
    };
    let mut others = vec![digit + 1, digit.saturating_sub(1)];
    others.retain(|other| (least..=b'9').contains(other));
    let mut bytes = number.as_bytes().to_vec();
    bytes[at] = *others.choose(rng).unwrap_or(&b'1');
    String::from_utf8(bytes).unwrap_or_default()
}

/// The characters of a text, by their places, that belong to no escape, quote or placeholder.
pub(super) fn own_characters(source: &str) -> Vec<(usize, char)> {
    let escaped = escaped(source);
    // Letters after `%` and `{` belong to placeholders.
    let is_own = |(at, letter): &(usize, char)| {
        !"\\%{}\"'".contains(*letter)
            && !source[..*at].ends_with(['%', '{'])
            && !escaped.iter().any(|range| range.contains(at))
    };
    source.char_indices().filter(is_own).collect()
}

/// Other strings that look like this one: another string of its column or else of the file, and this
/// one with words or letters exchanged, and with another letter or digit. Empty for one of escapes
/// and placeholders alone, whose letters are not the string's.
fn altered_texts(
    source: &str,
    text: &str,
    column: &[&str],
    rng: &mut impl Rng,
) -> Vec<(Way, String)> {
    // `${` begins code within a template.
    if source.contains("${") {
        return Vec::new();
    }
    let all_own = own_characters(source);
    let letters: Vec<(usize, char)> = all_own
        .iter()
        .copied()
        .filter(|(_, letter)| letter.is_ascii_alphanumeric())
        .collect();
    let digits: Vec<(usize, char)> = letters
        .iter()
        .copied()
        .filter(|(_, letter)| letter.is_ascii_digit())
        .collect();
    let mut all: Vec<(Way, String)> = other_text(source, text, column, rng)
        .map(|other| (Way::Other, other))
        .into_iter()
        .collect();
    let places = match letters.len() {
        0 | 1 => &all_own,
        _ => &letters,
    };
    let exchanged =
        with_words_exchanged(source, rng).or_else(|| with_exchange(source, places, rng));
    all.extend(exchanged.map(|exchanged| (Way::Rearranged, exchanged)));
    for places in [&digits, &letters] {
        if let Some((at, letter)) = places.choose(rng) {
            let mut result = source.to_owned();
            result.replace_range(*at..=*at, &other_letter(*letter, rng).to_string());
            all.push((Way::Anywhere, result));
        }
    }
    // Of signs and of letters of other scripts, there are others that would make no sense.
    if letters.is_empty()
        && let Some((at, letter)) = all_own.choose(rng)
    {
        let mut result = source.to_owned();
        result.insert(*at, *letter);
        all.push((Way::Anywhere, result));
    }
    all.shuffle(rng);
    all
}

/// Another string of a text's column or else of the file, or else the text with a word of the file in
/// place of one of its words.
fn other_text(source: &str, text: &str, column: &[&str], rng: &mut impl Rng) -> Option<String> {
    let is_plain = |word: &str| {
        word.chars()
            .all(|letter| letter.is_alphanumeric() || " _-.".contains(letter))
    };
    if !is_plain(source) {
        return None;
    }
    let is_as_long = |own: &str, other: &str| {
        (own.len() / 2..=own.len() * 2 + 2).contains(&other.len()) && own != other
    };
    let mut others: Vec<&str> = column.to_vec();
    others.retain(|other| *other != source && is_plain(other));
    if others.is_empty() {
        let quoted = quoted(text).into_iter().map(|range| &text[range]);
        let is_alike = |other: &&str| {
            is_plain(other)
                && other.contains(' ') == source.contains(' ')
                && is_as_long(source, other)
        };
        others.extend(quoted.filter(is_alike));
        others.dedup();
    }
    if let Some(other) = others.choose(rng) {
        return Some((*other).to_owned());
    }
    let own = *words(source).choose(rng)?;
    let mut others = words(text);
    others.retain(|other| has_case_of(own, other) && is_as_long(own, other));
    Some(source.replacen(own, others.choose(rng)?, 1))
}

/// The words of a text of more than two letters.
fn words(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    words.filter(|word| word.len() > 2).collect()
}

/// True if two words are written alike: small, capitalized or in capitals.
fn has_case_of(one: &str, other: &str) -> bool {
    let case = |word: &str| {
        let is_capital = |letter: &u8| letter.is_ascii_uppercase();
        let bytes = word.as_bytes();
        let inner = bytes[1..]
            .iter()
            .filter(|letter| is_capital(letter))
            .count();
        (is_capital(&bytes[0]), inner == 0, inner + 1 == bytes.len())
    };
    case(one) == case(other) && (case(one).1 || case(one).2)
}

/// Exchanges two neighbours of a text's words that differ; `None` for one word.
fn with_words_exchanged(source: &str, rng: &mut impl Rng) -> Option<String> {
    let mut words: Vec<&str> = source.split(' ').collect();
    let is_word = |word: &str| !word.is_empty() && word.chars().all(char::is_alphanumeric);
    let pairs: Vec<usize> = (1..words.len())
        .filter(|at| words[at - 1] != words[*at] && is_word(words[at - 1]) && is_word(words[*at]))
        .collect();
    let at = *pairs.choose(rng)?;
    words.swap(at - 1, at);
    Some(words.join(" "))
}

/// The ranges of a string's escapes, whose letters are not the string's.
fn escaped(source: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = source[at..].find('\\').map(|start| at + start) {
        let rest = &source[start + 1..];
        // Each length counts the letter and the digits after it.
        let length = match rest.chars().next() {
            Some('x') => 3,
            Some('u') => 5,
            Some('U') => 9,
            Some('0'..='7') => rest.bytes().take(3).take_while(u8::is_ascii_digit).count(),
            Some('N' | 'p' | 'k') => rest.find('}').map_or(1, |end| end + 1),
            Some(letter) => letter.len_utf8(),
            None => 0,
        };
        at = (start + 1 + length).min(source.len());
        while !source.is_char_boundary(at) {
            at += 1;
        }
        found.push(start..at);
    }
    found
}

/// Another constant of the file: another member of the same value, or another name in capitals.
fn other_constant(source: &str, text: &str, rng: &mut impl Rng) -> Option<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words = text
        .split(|letter: char| !is_part(letter) && letter != '.')
        .filter(|word| *word != source);
    let is_capital = |word: &str| {
        word.len() > 1
            && word.starts_with(|letter: char| letter.is_ascii_uppercase())
            && !word.contains(|letter: char| letter.is_lowercase() || letter == '.')
    };
    let others: Vec<&str> = match source.rsplit_once('.') {
        Some((object, _)) => words
            .filter(|word| word.rsplit_once('.').is_some_and(|(of, _)| of == object))
            // A member that is called is a function and no constant.
            .filter(|word| !text.contains(&format!("{word}(")))
            .collect(),
        None => words
            .filter(|word| is_capital(word) && !text.contains(&format!("{word}(")))
            .collect(),
    };
    others.choose(rng).map(|other| (*other).to_owned())
}

/// Another letter or digit of the same kind.
fn other_letter(letter: char, rng: &mut impl Rng) -> char {
    let of = match letter {
        '0'..='9' => "0123456789",
        'a' | 'e' | 'i' | 'o' | 'u' => "aeiou",
        'a'..='z' => "bcdfgklmnprst",
        'A'..='Z' => "ABCDEFGKLMNOPRST",
        _ => "abc",
    };
    let others: Vec<char> = of.chars().filter(|other| *other != letter).collect();
    others.choose(rng).copied().unwrap_or('a')
}

/// The contents of the strings of a text, in single or double quotes on one line.
fn quoted(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(['"', '\'']).map(|start| at + start) {
        let quote = char::from(text.as_bytes()[start]);
        let rest = &text[start + 1..];
        match rest.find([quote, '\n']) {
            Some(length) if rest[length..].starts_with(quote) => {
                if length > 0 {
                    found.push(start + 1..start + 1 + length);
                }
                at = start + length + 2;
            }
            // A quote without its pair on the line, such as an apostrophe, opens no string.
            _ => at = start + 1,
        }
    }
    found
}

/// A snapshot with two of its values exchanged, and one with a value altered.
fn altered_snapshot(source: &str, rng: &mut impl Rng) -> Vec<(Way, String)> {
    let values = quoted(source);
    let whole = 0..source.len();
    let mut all: Vec<(Way, String)> = exchanged(&whole, &values, source, rng)
        .map(|snapshot| (Way::Exchanged, snapshot))
        .into_iter()
        .collect();
    let mut places: Vec<(usize, char)> = source
        .char_indices()
        .filter(|(_, letter)| letter.is_ascii_digit())
        .collect();
    for value in &values {
        places.extend(
            source[value.clone()]
                .char_indices()
                .map(|(at, letter)| (value.start + at, letter))
                .filter(|(_, letter)| letter.is_ascii_alphanumeric()),
        );
    }
    if places.is_empty() {
        places.extend(
            source
                .char_indices()
                .filter(|(_, letter)| letter.is_ascii_alphabetic()),
        );
    }
    for _ in 0..2 {
        if let Some((at, letter)) = places.choose(rng) {
            let mut result = source.to_owned();
            result.replace_range(*at..=*at, &other_letter(*letter, rng).to_string());
            all.push((Way::Anywhere, result));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(text: &str) -> tree_sitter::Tree {
        let language = fillrate_syntax::Language::by_id("python").expect("it is known");
        language.parse(text)
    }

    fn parsed<'t>(text: &'t str, tree: &'t tree_sitter::Tree) -> ParsedFile<'t> {
        ParsedFile {
            name: "test.py",
            root: tree.root_node(),
            text,
            is_data: false,
            is_text: false,
        }
    }

    #[test]
    fn altered_literals_stay_literals_of_their_kind() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..50 {
            for (_, number) in altered_numbers("1.9", "f(0.25) == 1.9", &[], &mut rng) {
                assert!(
                    number.parse::<f64>().is_ok() && number.contains('.'),
                    "{number}"
                );
            }
            for (_, number) in altered_numbers("10L", "f(25) == 10", &[], &mut rng) {
                assert!(
                    number.ends_with('L') && !number.starts_with('0'),
                    "{number}"
                );
            }
        }
        for (source, altered) in [
            ("0x1f", "0x2f"),
            ("0xff", "0x"),
            ("9n", "8n"),
            ("0b1", "0b0"),
            ("0o7", "0o6"),
            ("9e3", "8e3"),
        ] {
            let found = altered_numbers(source, "", &[], &mut rng);
            assert!(!found.is_empty(), "{source}");
            for (_, number) in found {
                assert!(number.starts_with(altered), "{number}");
                assert_ne!(number, source);
            }
        }
        for source in ["\\n", "%s", "{}"] {
            assert!(
                altered_texts(source, "", &[], &mut rng).is_empty(),
                "{source}"
            );
        }
        for (_, altered) in altered_texts("\\x41\\n\\u00e9b", "", &[], &mut rng) {
            assert!(altered.starts_with("\\x41\\n\\u00e9"), "{altered}");
        }
    }

    #[test]
    fn altered_texts_are_other_texts_or_have_parts_exchanged() {
        let seen = |source: &str, text: &str, column: &[&str]| -> BTreeSet<(Way, String)> {
            let mut rng = ChaCha8Rng::seed_from_u64(2);
            let drawn = (0..50).flat_map(|_| altered_texts(source, text, column, &mut rng));
            drawn
                .filter(|(way, _)| *way != Way::Anywhere || !source.is_ascii() || source == "--")
                .collect()
        };
        let expected = |pairs: &[(Way, &str)]| -> BTreeSet<(Way, String)> {
            let pairs = pairs.iter().map(|(way, text)| (*way, (*text).to_owned()));
            pairs.collect()
        };
        use Way::{Anywhere, Other, Rearranged};
        for (source, text, column, altered) in [
            (
                "ab",
                "f('xy')",
                &[][..],
                &[(Rearranged, "ba"), (Other, "xy")][..],
            ),
            (
                "ab",
                "f('xy')",
                &["ab", "a, b", "cde"],
                &[(Rearranged, "ba"), (Other, "cde")],
            ),
            (
                "old cat",
                "that Sheep",
                &[],
                &[
                    (Rearranged, "cat old"),
                    (Other, "that cat"),
                    (Other, "old that"),
                ],
            ),
            ("--", "", &[], &[(Anywhere, "---")]),
            (
                "日本",
                "",
                &[],
                &[
                    (Rearranged, "本日"),
                    (Anywhere, "日日本"),
                    (Anywhere, "日本本"),
                ],
            ),
        ] {
            assert_eq!(seen(source, text, column), expected(altered), "{source}");
        }
    }

    #[test]
    fn edits_of_rows_that_are_tests_alter_some_of_them() {
        let text = "[(1, 41), (2, 52), (3, 63), (4, 41)]";
        let tree = python(text);
        let files = [parsed(text, &tree)];
        let answer = |at: usize| vec![Candidate::new(0, at..at + 2, Form::Number)];
        let site = Site::tests([5, 14, 23, 32].map(answer).to_vec()).expect("there are rows");
        for seed in 0..20 {
            let drawn = site.draw(&files, &mut ChaCha8Rng::seed_from_u64(seed));
            let altered = drawn.iter().map(|drawn| {
                let altered = super::super::apply(&[&drawn.edit], text);
                ["(1, 41)", "(2, 52)", "(3, 63)", "(4, 41)"].map(|row| !altered.contains(row))
            });
            let altered: Vec<[bool; 4]> = altered.collect();
            for row in 0..4 {
                assert!(altered.iter().any(|rows| rows[row]), "{altered:?}");
            }
            for rows in altered {
                assert_eq!(rows[0], rows[3], "rows that are alike are altered alike");
                assert!(rows.contains(&true) && rows.contains(&false));
            }
        }
    }

    /// Code that knows which values a cell may have sees that a misspelled one is altered.
    #[test]
    fn cells_are_altered_to_others_of_their_column() {
        let text = "[\"1, red\", \"2, red\", \"3, blue\"]";
        let tree = python(text);
        let file = parsed(text, &tree);
        let cell = |range: Range<usize>| vec![Candidate::new(0, range, Form::Text)];
        let table = vec![cell(5..8), cell(15..18), cell(25..29)];
        let files = [file];
        let mut sites = Site::alike(table.clone(), &files);
        sites.extend(Site::rows(table.clone()));
        for site in sites {
            let altered: Vec<String> = (0..30)
                .flat_map(|seed| site.draw(&files, &mut ChaCha8Rng::seed_from_u64(seed)))
                .map(|drawn| super::super::apply(&[&drawn.edit], text))
                .collect();
            let others = ["1, blue", "2, blue", "3, red"];
            let others = others.map(|cell| altered.iter().any(|text| text.contains(cell)));
            let is_last = site.rows[0] == *table.last().expect("there are rows");
            assert_eq!(
                others,
                [!is_last, !is_last, is_last || site.rows.len() == 3]
            );
        }
    }

    /// A date that can't be raises where its table is made, so that no test of the file runs.
    #[test]
    fn parts_of_dates_stay_possible() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let text = "[(f(75), date(1985, 12, 31)), (g(88), dt.time(hour=23, minute=0)), h(99)]";
        let tree = python(text);
        let file = parsed(text, &tree);
        let range = |source: &str| {
            let start = text.find(source).expect("a part of the text");
            start..start + source.len()
        };
        for _ in 0..50 {
            for source in ["1985", "12", "31", "23", "0"] {
                let source_range = match source {
                    "0" => range("0))").start..range("0))").start + 1,
                    _ => range(source),
                };
                let number = Candidate::new(0, source_range, Form::Number);
                let altered = replacements(&number, &file, &[], &mut rng);
                assert!(!altered.is_empty());
                let most = source.parse::<u32>().expect("a number").max(2);
                for (_, altered) in altered {
                    assert!((1..most).contains(&altered.parse().expect("a number")));
                }
            }
        }
        let of_calendar = ["75", "1985", "31", "88", "23", "99"]
            .map(|source| is_of_calendar(text, range(source).start));
        assert_eq!(of_calendar, [false, true, true, false, true, false]);
        // The parts have different ranges.
        let parts = Form::Elements(vec![range("1985"), range("12"), range("31")]);
        let list = Candidate::new(0, range("(1985, 12, 31)"), parts);
        assert!(replacements(&list, &file, &[], &mut rng).is_empty());
    }

    #[test]
    fn bounds_move_together_and_away() {
        let text = "40.5 < f() < 44";
        let tree = python(text);
        let file = parsed(text, &tree);
        let bounds = [
            Candidate::new(0, 0..4, Form::Number),
            Candidate::new(0, 13..15, Form::Number),
        ];
        let site = Site::bounds(bounds.to_vec()).expect("there are two numbers");
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for drawn in site.draw(&[file], &mut rng) {
            let altered = super::super::apply(&[&drawn.edit], text);
            let (least, most) = altered.split_once(" < f() < ").expect("both bounds");
            let (least, most): (f64, f64) = (least.parse().unwrap(), most.parse().unwrap());
            assert!((most - least - 3.5).abs() < 1e-9, "{altered}");
            assert!(least > 44.0 || most < 40.5, "{altered}");
        }
    }

    #[test]
    fn no_value_is_near_an_expected_one_before_and_after() {
        let text = "f() == approx(105.5, abs=5.0)";
        let tree = python(text);
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let suffixed = "assertEquals(105.5f, f(), 0.5f)";
        let mut site = Site::single(Candidate::new(0, 13..19, Form::Number));
        site.accept_near(0.5);
        let drawn = site.draw(&[parsed(suffixed, &tree)], &mut rng);
        assert!(
            drawn
                .iter()
                .any(|drawn| drawn.edit.replacement.ends_with('f'))
        );
        for tolerance in [0.5, 5.0, 500.0] {
            let file = parsed(text, &tree);
            let mut site = Site::single(Candidate::new(0, 14..19, Form::Number));
            site.accept_near(tolerance);
            let mut rng = ChaCha8Rng::seed_from_u64(7);
            let drawn = site.draw(&[file], &mut rng);
            assert!(!drawn.is_empty(), "{tolerance}");
            for drawn in drawn {
                let altered: f64 = drawn.edit.replacement.parse().unwrap();
                assert!((altered - 105.5).abs() > 2.0 * tolerance, "{altered}");
            }
        }
    }

    #[test]
    fn constants_have_others_of_their_kind() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let text = "f() is Season.SUMMER; Season.WINTER; Other.X; Season.parse(); EUR, USD, Eur";
        let other = |source, rng: &mut ChaCha8Rng| other_constant(source, text, rng);
        assert_eq!(
            other("Season.SUMMER", &mut rng).as_deref(),
            Some("Season.WINTER")
        );
        assert_eq!(other("USD", &mut rng).as_deref(), Some("EUR"));
        assert_eq!(other("Other.X", &mut rng), None);
    }

    #[test]
    fn altered_numbers_differ_in_any_digit_or_are_others_of_the_file() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let altered = altered_numbers("2.35", "f([1, 2.5]) == 2.35", &[], &mut rng);
            seen.extend(altered.into_iter().map(|(_, number)| number));
        }
        for expected in ["1.35", "3.35", "2.25", "2.45", "2.34", "2.36", "2.5"] {
            assert!(seen.contains(expected), "{expected} of {seen:?}");
        }
    }

    #[test]
    fn exchanges_come_before_other_edits_of_a_list() {
        let text = "[\"b\", \"c\"]";
        let tree = python(text);
        let file = parsed(text, &tree);
        let candidates = [
            Candidate::new(0, 2..3, Form::Text),
            Candidate::new(0, 7..8, Form::Text),
            Candidate::new(0, 0..text.len(), Form::Elements(vec![1..4, 6..9])),
        ];
        let site = Site::rows(vec![candidates.to_vec()]).expect("there is a row");
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for _ in 0..20 {
            let ways: Vec<Way> = site
                .draw(&[file], &mut rng)
                .iter()
                .map(|one| one.way)
                .collect();
            assert_eq!(ways[0], Way::Exchanged);
            assert!(
                ways.len() > 2 && !ways[1..].contains(&Way::Exchanged),
                "{ways:?}"
            );
        }
    }

    #[test]
    fn rows_that_are_alike_are_altered_alike() {
        let text = "[(1, 4127), (2, 4127), (3, 98)]";
        let tree = python(text);
        let file = parsed(text, &tree);
        let number =
            |at: usize, length: usize| vec![Candidate::new(0, at..at + length, Form::Number)];
        let site = Site::rows(vec![number(5, 4), number(16, 4), number(27, 2)]);
        let site = site.expect("there are rows");
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for drawn in site.draw(&[file], &mut rng) {
            let altered = super::super::apply(&[&drawn.edit], text);
            let numbers: Vec<&str> = altered
                .split("), ")
                .filter_map(|row| Some(row.rsplit_once(' ')?.1))
                .collect();
            assert!(
                numbers[0] == numbers[1] && numbers[0] != "4127",
                "{altered}"
            );
        }
    }

    /// Code may take the answer that most tests give, in any file.
    #[test]
    fn answers_that_are_alike_are_altered_alike_in_all_files() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut drawn = |text: &str| {
            let tree = python(text);
            let at = text.find("4127").expect("it is the answer");
            let site = Site::single(Candidate::new(0, at..at + 4, Form::Number));
            // As if other sites were drawn before.
            rng.random::<u64>();
            let drawn = site.draw(&[parsed(text, &tree)], &mut rng).into_iter();
            // Another literal is one of the file.
            let altered = drawn.filter(|one| one.way != Way::Other);
            let altered = altered.map(|one| (one.way, one.edit.replacement));
            altered.collect::<BTreeSet<_>>()
        };
        let first = drawn("assert f(1) == 4127");
        assert_eq!(first.len(), 3);
        assert_eq!(first, drawn("x = 98\nassert g(2, 3) == 4127"));
    }

    #[test]
    fn lists_have_two_elements_exchanged() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let text = "[\"b\", \"c\"]";
        let exchanged = exchanged(&(0..text.len()), &[1..4, 6..9], text, &mut rng);
        assert_eq!(exchanged.as_deref(), Some("[\"c\", \"b\"]"));
    }
}
