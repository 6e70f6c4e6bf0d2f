//! Generates text from counts.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::counts::{Counts, Followers, Keyed, LONGEST, SHORTEST, Sequence};
use super::lexer::{Indents, LineBreak, is_word, lex};
use super::settled::{OwnText, SettledText};
use super::vocabulary::{CUT, Class, Extended, Intern, START, Symbol, UNKNOWN};
use crate::model::{Finish, ModelRequest, RawCandidate};

/// Minimum remaining probability for which shorter contexts are looked up.
const LEFT_OVER: f64 = 1e-2;

/// Weight, in occurrences, of each distinct symbol after a context, for the probability passed on
/// to shorter contexts. Witten & Bell's 1 trusts contexts seen once too much: 2 got about one
/// percentage point more of the rests of lines exactly right (the bench on three Python
/// repositories, 1500 holes).
const ESCAPE: f64 = 2.0;

/// Minimum probability of the whole text for which another line is added. About half of the lines
/// added at this level are right, at 0.3 a fifth (the same bench).
const CONFIDENT: f64 = 0.7;

/// Number of lines that the beam search extends at once.
const BEAM: usize = 6;

/// Number of tokens after the cursor by which lines are ranked.
const LOOK_AHEAD: usize = 10;

/// Maximum number of ways to complete a token begun before the cursor.
const MOST_ENDINGS: usize = 64;

/// Weight of the tokens after the cursor. It is below 1, as a person may be about to write more
/// lines before them.
const AHEAD: f64 = 0.5;

/// Minimum probability of a token after the cursor.
const UNSEEN: f64 = 1e-4;

/// Maximum number of bytes of the file's own text, before and after the cursor each, that a request
/// learns from. Larger files are mostly data, and a request must be fast.
pub(crate) const OWN_TEXT: usize = 65_536;

/// Number of bytes by which a longer text is shortened at once.
const OWN_TEXT_STEP: usize = OWN_TEXT / 4;

/// Number of tokens before the cursor that [`Start`] reads: the longest context and the current
/// line.
const TAIL: usize = 4 * LONGEST;

/// Maximum number of tokens of a line.
const LONGEST_LINE: usize = 80;

/// Counts used for generation, from the nearest cache to the farthest.
pub(super) struct Knowledge<'a> {
    /// Numbers of all tokens.
    pub(super) vocabulary: Extended<'a>,
    /// The file's text before and after the cursor, without its settled part.
    pub(super) file: Counts,
    /// The settled part.
    pub(super) settled: Option<&'a SettledText>,
    /// The text before the cursor, after the settled part.
    pub(super) rest: &'a str,
    /// The request's windows.
    pub(super) windows: Counts,
    /// The repository.
    pub(super) repository: &'a Counts,
    /// True if the text of this number is in the file's folder.
    pub(super) in_folder: &'a dyn Fn(u32) -> bool,
    /// The text that is excluded: the file as it was last observed.
    pub(super) left_out: Option<u32>,
    /// Its counts of short contexts.
    pub(super) left_out_counts: Option<&'a Counts>,
    /// Cache of the repository's counts by short context: generation looks up the same few contexts
    /// repeatedly.
    pub(super) short: RefCell<HashMap<Vec<Class>, Option<Rc<Followers>>>>,
}

/// A symbol and its probability.
type Choice = (Symbol, f64);

/// State of the text written so far.
#[derive(Clone)]
struct Pen {
    context: Vec<Class>,
    indents: Indents,
    text: String,
    log_probability: f64,
    tokens: usize,
    /// Number of brackets opened since the cursor minus those closed.
    depth: i32,
}

/// Parameters of drawing a symbol.
struct Sampling {
    random: ChaCha8Rng,
    temperature: f64,
    top_p: f64,
}

/// A completed line.
struct Line {
    pen: Pen,
    end: LineEnd,
    /// Its log-probability, plus a share of that of the tokens after the cursor.
    score: f64,
}

/// End of a line.
#[derive(Clone, Copy)]
enum LineEnd {
    /// With this line break.
    Break(Choice),
    /// Before the text after the cursor, or no symbol was known.
    Stop,
    /// The token limit was reached.
    Length,
}

impl Knowledge<'_> {
    /// Returns the symbols that may follow a context with their probabilities, in arbitrary order.
    fn next(&self, context: &[Class]) -> Vec<Choice> {
        let mut choices: Vec<Choice> = Vec::new();
        let mut places: HashMap<u64, usize, Keyed> = HashMap::default();
        self.share_out(context, |share, counts| {
            for &(symbol, count) in counts {
                let next = choices.len();
                let index = *places.entry(u64::from(symbol)).or_insert(next);
                if index == next {
                    choices.push((symbol, 0.0));
                }
                choices[index].1 += share * f64::from(count);
            }
        });
        choices
    }

    /// Returns the probability of a class after a context.
    fn probability(&self, context: &[Class], class: Class) -> f64 {
        let mut sum = 0.0;
        self.share_out(context, |share, counts| {
            sum += share
                * counts
                    .iter()
                    .filter(|(symbol, _)| self.class(*symbol) == class)
                    .map(|(_, count)| f64::from(*count))
                    .sum::<f64>();
        });
        sum
    }

    /// Distributes the probability among the symbols that followed a context. `receive` gets
    /// counts, and the probability of each unit of them.
    ///
    /// From the longest context to the shortest, and for each from the nearest cache to the
    /// farthest, the followers get a share of the remaining probability. With *n* the number of
    /// times the context was seen and *t* the number of distinct symbols after it, *n* / (*n* +
    /// 2*t*) is distributed and the rest passed on. With 1*t* this is the interpolation of Witten &
    /// Bell (1991); see [`ESCAPE`]. The caches are nested as in Hellendoorn & Devanbu (2017), §4.
    fn share_out(&self, context: &[Class], mut receive: impl FnMut(f64, &[(Symbol, u32)])) {
        let mut left = 1.0;
        let mut give = |total: u32, counts: &[(Symbol, u32)]| {
            if total > 0 {
                // Each distinct follower is evidence that others, not seen yet, may follow too.
                let kinds = ESCAPE * counts.len() as f64;
                let all = f64::from(total) + kinds;
                receive(left / all, counts);
                left *= kinds / all;
            }
            left
        };
        let mut hits: [Hits; 4] = Default::default();
        for counts in self.own() {
            counts.visit(context, |_, length, symbol| hits[0].add(length, symbol));
        }
        self.windows
            .visit(context, |_, length, symbol| hits[1].add(length, symbol));
        self.repository.visit(context, |number, length, symbol| {
            if Some(number) != self.left_out {
                // A file of the folder counts in the repository as well, since the caches are
                // nested.
                if (self.in_folder)(number) {
                    hits[2].add(length, symbol);
                }
                hits[3].add(length, symbol);
            }
        });
        let mut seen: [Tally; 4] = Default::default();
        // Positions that agree in more tokens also agree in fewer, so the tallies are never reset.
        for order in (SHORTEST..=LONGEST).rev() {
            for (hits, tally) in hits.iter().zip(&mut seen) {
                for symbol in hits.of_length(order) {
                    tally.add(*symbol);
                }
                if give(tally.total, &tally.counts) < LEFT_OVER {
                    return;
                }
            }
        }
        for order in (1..SHORTEST).rev() {
            // The tables of short contexts do not distinguish folders, so these have three caches.
            let repository = self.short(context, order);
            for followers in [
                self.own_followers(context, order),
                self.windows.followers(context, order),
                repository.as_deref().map(Cow::Borrowed),
            ]
            .into_iter()
            .flatten()
            {
                if give(followers.total, &followers.counts) < LEFT_OVER {
                    return;
                }
            }
        }
    }

    /// Returns the counts of the file's own text.
    fn own(&self) -> impl Iterator<Item = &Counts> {
        let settled = self.settled.map(|settled| &settled.counts);
        settled.into_iter().chain([&self.file])
    }

    /// Returns the counts of a short context in the file's own text.
    fn own_followers(&self, context: &[Class], order: usize) -> Option<Cow<'_, Followers>> {
        let found = self
            .own()
            .filter_map(|counts| counts.followers(context, order));
        found.reduce(|sum, more| {
            let mut sum = sum.into_owned();
            sum.extend(&more);
            Cow::Owned(sum)
        })
    }

    /// Returns the repository's counts of a short context, minus those of the excluded text.
    fn short(&self, context: &[Class], order: usize) -> Option<Rc<Followers>> {
        let last = context.get(context.len().checked_sub(order)?..)?;
        if let Some(known) = self.short.borrow().get(last) {
            return known.clone();
        }
        let counted = self.repository.followers(context, order).map(|whole| {
            let less = self
                .left_out_counts
                .and_then(|counts| counts.followers(context, order));
            Rc::new(match less {
                Some(less) => whole.without(&less),
                None => whole.into_owned(),
            })
        });
        let mut short = self.short.borrow_mut();
        short.insert(last.to_vec(), counted.clone());
        counted
    }

    /// Orders the likeliest first, ties by text.
    fn compare(&self, a: &Choice, b: &Choice) -> Ordering {
        b.1.total_cmp(&a.1)
            .then_with(|| self.text(a.0).cmp(self.text(b.0)))
    }

    fn text(&self, symbol: Symbol) -> &str {
        self.vocabulary.entry(symbol).0
    }

    fn class(&self, symbol: Symbol) -> Class {
        self.vocabulary.class(symbol)
    }
}

/// Symbols that followed a context, by the number of its tokens that agree there.
#[derive(Default)]
struct Hits([Vec<Symbol>; LONGEST - SHORTEST + 1]);

impl Hits {
    fn add(&mut self, length: usize, symbol: Symbol) {
        self.0[length - SHORTEST].push(symbol);
    }

    fn of_length(&self, length: usize) -> &[Symbol] {
        &self.0[length - SHORTEST]
    }
}

/// Symbols with their counts.
#[derive(Default)]
struct Tally {
    total: u32,
    counts: Vec<(Symbol, u32)>,
    index: HashMap<u64, usize, Keyed>,
}

impl Tally {
    fn add(&mut self, symbol: Symbol) {
        self.total += 1;
        let next = self.counts.len();
        let index = *self.index.entry(u64::from(symbol)).or_insert(next);
        if index == next {
            self.counts.push((symbol, 0));
        }
        self.counts[index].1 += 1;
    }
}

/// Writes the request's candidates: the best of a beam search at temperature 0, else one drawing
/// per candidate.
pub(super) fn candidates(
    knowledge: &mut Knowledge<'_>,
    request: &ModelRequest,
) -> Vec<RawCandidate> {
    let parameters = &request.parameters;
    let start = Start::read(knowledge);
    let after = After::read(knowledge, &request.suffix);
    let writer = Writer {
        knowledge,
        after: &after,
        line_break: line_break(&request.prefix),
        max_tokens: parameters.max_tokens as usize,
    };
    if parameters.temperature > 0.0 {
        return (0..parameters.candidates)
            .map(|index| {
                let seed = parameters.seed.wrapping_add(index as u64);
                let mut chooser = Sampling {
                    random: ChaCha8Rng::seed_from_u64(seed),
                    temperature: parameters.temperature,
                    top_p: parameters.top_p,
                };
                writer.draw(&start, &mut chooser)
            })
            .collect();
    }
    let mut candidates: Vec<RawCandidate> = Vec::new();
    for line in writer.lines(&start, parameters.candidates.max(1)) {
        let candidate = writer.go_on(line);
        if candidates.iter().all(|other| other.text != candidate.text) {
            candidates.push(candidate);
        }
        if candidates.len() >= parameters.candidates {
            break;
        }
    }
    candidates
}

fn line_break(prefix: &str) -> &'static str {
    match prefix.find('\n') {
        Some(index) if prefix[..index].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

impl Sampling {
    /// Draws the index of one of these probabilities, which come in descending order. The order of
    /// equal ones must not depend on that of files.
    fn draw_index(&mut self, probabilities: &[f64]) -> Option<usize> {
        let all: f64 = probabilities.iter().sum();
        let weights: Vec<f64> = probabilities
            .iter()
            // At temperature *T*, a choice of probability *p* has the weight *p*^(1/*T*).
            .map(|probability| (probability / all).powf(1.0 / self.temperature))
            .collect();
        let whole: f64 = weights.iter().sum();
        let mut nucleus = 0.0;
        let mut kept = 0;
        for weight in &weights {
            nucleus += weight;
            kept += 1;
            if nucleus >= self.top_p * whole {
                break;
            }
        }
        // 53 random bits give every fraction that a double represents evenly in [0, 1).
        let fraction = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut rest = fraction * nucleus;
        for (index, weight) in weights.iter().enumerate().take(kept) {
            if rest < *weight {
                return Some(index);
            }
            rest -= weight;
        }
        // Rounding may leave a remainder after the last weight.
        kept.checked_sub(1)
    }

    /// Draws a symbol.
    fn draw_symbol(
        &mut self,
        knowledge: &Knowledge<'_>,
        mut choices: Vec<Choice>,
    ) -> Option<Choice> {
        choices.sort_by(|a, b| knowledge.compare(a, b));
        let probabilities: Vec<f64> = choices.iter().map(|choice| choice.1).collect();
        Some(choices[self.draw_index(&probabilities)?])
    }
}

/// State at the cursor.
struct Start {
    context: Vec<Class>,
    indents: Indents,
    /// Tokens begun before the cursor, in the order in which they are tried.
    begun: Vec<Begun>,
}

/// A token of which the text before the cursor may be the beginning.
struct Begun {
    /// Context before the token.
    context: Vec<Class>,
    /// Indentations open before the token.
    indents: Indents,
    /// Its text so far, including the blanks before it; for a line break only the indentation.
    text: String,
    /// True if it is a line break.
    is_break: bool,
    /// True if it may be complete already.
    may_be_whole: bool,
}

impl Start {
    /// Creates a pen at the cursor.
    fn pen(&self) -> Pen {
        Pen {
            context: self.context.clone(),
            indents: self.indents.clone(),
            text: String::new(),
            log_probability: 0.0,
            tokens: 0,
            depth: 0,
        }
    }

    fn read(knowledge: &mut Knowledge<'_>) -> Self {
        let settled = knowledge.settled.map(|settled| &settled.indents);
        let first = settled.cloned().unwrap_or_default();
        let mut indents = first.clone();
        let prefix = knowledge.rest;
        let tokens = lex(prefix, &mut indents);
        let mut context = vec![START];
        // Only the tail matters: the longest context and the current line.
        let tail = tokens.len().saturating_sub(TAIL);
        let mut at: usize = tokens[..tail]
            .iter()
            .map(|token| token.gap.len() + token.text.len())
            .sum();
        let mut starts = Vec::new();
        for token in &tokens[tail..] {
            let end = at + token.gap.len() + token.text.len();
            starts.push((at, context.len()));
            if !token.text.is_empty() {
                let (_, class) = knowledge.vocabulary.token(token, &prefix[at..end]);
                context.push(class);
            }
            at = end;
        }
        let mut begun = Vec::new();
        if let (Some(last), Some(&(start, length))) = (tokens.last(), starts.last()) {
            let before = |length: usize| context[..length].to_vec();
            // An unclosed string literal without blanks.
            let open = tokens[tail..]
                .iter()
                .zip(&starts)
                .rev()
                .enumerate()
                .take_while(|(index, (token, _))| {
                    token.line_break.is_none() && (*index == 0 || !token.text.is_empty())
                })
                .scan(false, |spaced, (_, (token, place))| {
                    if *spaced {
                        return None;
                    }
                    *spaced = !token.gap.is_empty();
                    Some((token, place))
                })
                .find(|(token, _)| matches!(token.text, "\"" | "'" | "`"));
            if let Some((_, &(start, length))) = open {
                begun.push(Begun {
                    context: before(length),
                    indents: indents.clone(),
                    text: prefix[start..].to_owned(),
                    is_break: false,
                    may_be_whole: false,
                });
            }
            if last.line_break.is_some() {
                // The indentation may go on after the cursor, so the break is tried from the state
                // before it.
                let mut outer = first.clone();
                lex(&prefix[..start], &mut outer);
                begun.push(Begun {
                    context: before(length),
                    indents: outer,
                    text: indents.current().to_owned(),
                    is_break: true,
                    may_be_whole: true,
                });
            } else if last.text.is_empty() || last.text.chars().all(is_word) {
                begun.push(Begun {
                    context: before(length),
                    indents: indents.clone(),
                    text: prefix[start..].to_owned(),
                    is_break: false,
                    may_be_whole: !last.text.is_empty(),
                });
            }
        }
        Self {
            context,
            indents,
            begun,
        }
    }
}

/// The text after the cursor.
struct After {
    /// The class of the first token on the cursor's line; `None` if the rest of the line is blank.
    on_line: Option<Class>,
    /// The first tokens after the cursor: their classes, and the indentation after a break.
    tokens: Vec<(Class, Option<String>)>,
    /// The next nonblank line, trimmed.
    next_line: String,
}

impl After {
    fn read(knowledge: &mut Knowledge<'_>, suffix: &str) -> Self {
        let suffix = near_start(suffix);
        let rest = suffix.split(['\n', '\r']).next().unwrap_or_default();
        let next_line = suffix[rest.len()..]
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .to_owned();
        // Far more bytes than `LOOK_AHEAD` tokens have.
        let begin = &suffix[..suffix.floor_char_boundary(1000)];
        let mut indents = Indents::default();
        let mut tokens = Vec::new();
        for token in lex(begin, &mut indents).iter().take(LOOK_AHEAD) {
            if token.text.is_empty() {
                continue;
            }
            let (_, class) = knowledge.vocabulary.token(token, token.text);
            let indentation = token.line_break.is_some().then(|| {
                token
                    .text
                    .rsplit(['\n', '\r'])
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            });
            tokens.push((class, indentation));
        }
        // A final line break says nothing about the line before it.
        if next_line.is_empty() && rest.trim().is_empty() {
            tokens.clear();
        }
        let on_line = tokens
            .first()
            .filter(|(_, indentation)| indentation.is_none())
            .map(|(class, _)| *class);
        Self {
            on_line,
            tokens,
            next_line,
        }
    }
}

/// Writer of candidates.
struct Writer<'a, 'b> {
    knowledge: &'a Knowledge<'b>,
    after: &'a After,
    line_break: &'static str,
    max_tokens: usize,
}

impl Writer<'_, '_> {
    /// Returns the best first lines, by beam search. A line's score is its log-probability, plus
    /// that of its end, plus a share of that of the tokens after the cursor given the line.
    fn lines(&self, start: &Start, wanted: usize) -> Vec<Line> {
        let width = BEAM.max(wanted);
        let mut active = self.begin(start, width);
        let mut lines: Vec<Line> = Vec::new();
        // Score of the worst line that is still among the wanted ones: longer lines only lose
        // score.
        let mut beaten = f64::NEG_INFINITY;
        for _ in 0..LONGEST_LINE {
            let mut grown: Vec<(usize, Choice, f64)> = Vec::new();
            for (index, pen) in active.iter().enumerate() {
                if pen.tokens >= self.max_tokens {
                    lines.push(Line {
                        pen: pen.clone(),
                        end: LineEnd::Length,
                        score: pen.log_probability,
                    });
                    continue;
                }
                let choices = self.knowledge.next(&pen.context).into_iter();
                let (ends, mut choices): (Vec<Choice>, Vec<Choice>) =
                    choices.partition(|choice| self.ends(pen, choice.0));
                if let Some((end, probability)) = self.end(ends) {
                    let score = pen.log_probability + probability.ln();
                    // The tokens after the cursor only lower the score, so this skips no line that
                    // could win.
                    if score > beaten {
                        lines.push(Line {
                            pen: pen.clone(),
                            end,
                            score: score + AHEAD * self.ahead(pen),
                        });
                    }
                }
                if choices.len() > width {
                    choices.select_nth_unstable_by(width, |a, b| self.knowledge.compare(a, b));
                    choices.truncate(width);
                }
                grown.extend(
                    choices
                        .into_iter()
                        .map(|choice| (index, choice, pen.log_probability + choice.1.ln())),
                );
            }
            grown.sort_by(|a, b| {
                b.2.total_cmp(&a.2)
                    // The choices come in arbitrary order, so ties need a fixed one.
                    .then(a.0.cmp(&b.0))
                    .then_with(|| self.knowledge.compare(&a.1, &b.1))
            });
            grown.truncate(width);
            lines.sort_by(|a, b| {
                b.score
                    .total_cmp(&a.score)
                    .then_with(|| a.pen.text.cmp(&b.pen.text))
            });
            if let Some(line) = lines.get(wanted - 1) {
                beaten = line.score;
            }
            grown.retain(|(_, _, score)| *score > beaten);
            if grown.is_empty() {
                break;
            }
            active = grown
                .into_iter()
                .map(|(index, choice, _)| {
                    let mut pen = active[index].clone();
                    self.put(&mut pen, choice);
                    pen
                })
                .collect();
        }
        if lines.is_empty() {
            // No line ended within the limits, so the best unfinished one is the result.
            lines.extend(active.into_iter().take(1).map(|pen| Line {
                score: pen.log_probability,
                end: LineEnd::Stop,
                pen,
            }));
        }
        lines
    }

    /// True if a symbol ends the line: a line break, or the token after the cursor on its line.
    fn ends(&self, pen: &Pen, symbol: Symbol) -> bool {
        let (text, class) = self.knowledge.vocabulary.entry(symbol);
        text.starts_with('\n') || (pen.depth <= 0 && self.after.on_line == Some(class))
    }

    /// Returns the likeliest of the symbols that end a line, and the probability of any of them.
    fn end(&self, mut ends: Vec<Choice>) -> Option<(LineEnd, f64)> {
        // Floating-point sums depend on their order, and the choices are unordered.
        ends.sort_by(|a, b| self.knowledge.compare(a, b));
        let likeliest = *ends.first()?;
        let probability = ends.iter().map(|choice| choice.1).sum();
        let end = match self.knowledge.text(likeliest.0).starts_with('\n') {
            true => LineEnd::Break(likeliest),
            false => LineEnd::Stop,
        };
        Some((end, probability))
    }

    /// Returns the log-probability of the tokens after the cursor, given a line.
    fn ahead(&self, pen: &Pen) -> f64 {
        let mut context = pen.context.clone();
        let mut indents = pen.indents.clone();
        let mut sum = 0.0;
        for (class, indentation) in &self.after.tokens {
            let class = match indentation {
                Some(indentation) => {
                    // The form of a break depends on the indentation that is open at the end of the
                    // line before.
                    let form = indents.move_to(1, indentation).form(false);
                    self.knowledge.vocabulary.find(&form).unwrap_or(UNKNOWN)
                }
                None => *class,
            };
            let probability = self.knowledge.probability(&context, class);
            sum += probability.max(UNSEEN).ln();
            context.push(class);
        }
        sum
    }

    /// Draws a candidate.
    fn draw(&self, start: &Start, chooser: &mut Sampling) -> RawCandidate {
        let pens = self.begin(start, usize::MAX);
        let probabilities: Vec<f64> = pens.iter().map(|pen| pen.log_probability.exp()).collect();
        let drawn = match start.begun.is_empty() {
            true => Some(0),
            false => chooser.draw_index(&probabilities),
        };
        let mut pen = drawn
            .and_then(|index| pens.into_iter().nth(index))
            .unwrap_or_else(|| start.pen());
        let mut end = LineEnd::Length;
        for _ in 0..LONGEST_LINE {
            if pen.tokens >= self.max_tokens {
                break;
            }
            match chooser.draw_symbol(self.knowledge, self.knowledge.next(&pen.context)) {
                None => {
                    end = LineEnd::Stop;
                    break;
                }
                Some(choice) if self.ends(&pen, choice.0) => {
                    end = match self.knowledge.text(choice.0).starts_with('\n') {
                        true => LineEnd::Break(choice),
                        false => LineEnd::Stop,
                    };
                    break;
                }
                Some(choice) => self.put(&mut pen, choice),
            }
        }
        let score = pen.log_probability;
        self.go_on(Line { pen, end, score })
    }

    /// Adds further lines while the whole text stays probable enough and inside the block. Returns
    /// the candidate.
    fn go_on(&self, line: Line) -> RawCandidate {
        let Line {
            mut pen, mut end, ..
        } = line;
        let home = pen.indents.current().to_owned();
        while let LineEnd::Break(choice) = end {
            end = LineEnd::Stop;
            // The rest of the cursor's line would follow the last of the added lines.
            if self.after.on_line.is_some() {
                break;
            }
            let mut further = pen.clone();
            self.put(&mut further, choice);
            // A line that is indented less than the cursor's is outside of its block.
            if !further.indents.current().starts_with(&home) {
                break;
            }
            let begin = further.text.len();
            let next = self.greedy_line(&mut further);
            let line = further.text[begin..].trim();
            let before = pen.text.lines().next_back().unwrap_or_default().trim();
            // A line repeated at once begins a loop, and the line after the cursor is in the file
            // already.
            if line.is_empty()
                || line == before
                || line == self.after.next_line
                || further.log_probability < CONFIDENT.ln()
            {
                break;
            }
            pen = further;
            end = next;
        }
        RawCandidate {
            text: pen.text,
            finish: match end {
                LineEnd::Length => Finish::Length,
                _ => Finish::Stop,
            },
            mean_log_probability: (pen.tokens > 0).then(|| pen.log_probability / pen.tokens as f64),
            thought: false,
        }
    }

    /// Writes the likeliest symbols up to the end of the line.
    fn greedy_line(&self, pen: &mut Pen) -> LineEnd {
        for _ in 0..LONGEST_LINE {
            if pen.tokens >= self.max_tokens {
                break;
            }
            let choices = self.knowledge.next(&pen.context);
            match choices
                .into_iter()
                .min_by(|a, b| self.knowledge.compare(a, b))
            {
                None => return LineEnd::Stop,
                Some(choice) if self.knowledge.text(choice.0).starts_with('\n') => {
                    return LineEnd::Break(choice);
                }
                Some(choice) => self.put(pen, choice),
            }
        }
        LineEnd::Length
    }

    /// Returns pens at the cursor, likeliest first and equally likely ones by the texts of their
    /// symbols: one for each known completion of the token begun before it, or else one just at the
    /// cursor.
    fn begin(&self, start: &Start, most: usize) -> Vec<Pen> {
        start
            .begun
            .iter()
            .map(|begun| self.finish(begun, most))
            .find(|pens| !pens.is_empty())
            .unwrap_or_else(|| vec![start.pen()])
    }

    fn finish(&self, begun: &Begun, most: usize) -> Vec<Pen> {
        let known = self.knowledge;
        let rest = |symbol: Symbol| -> Option<String> {
            let text = known.text(symbol);
            if !begun.is_break {
                return text.strip_prefix(&begun.text).map(str::to_owned);
            }
            // A break is counted as a change of indentation, so its text is only known after
            // applying it.
            let mut indents = begun.indents.clone();
            indents.take(&LineBreak::from_form(text)?);
            indents
                .current()
                .strip_prefix(&begun.text)
                .map(str::to_owned)
        };
        let mut fitting: Vec<(Choice, String)> = known
            .next(&begun.context)
            .into_iter()
            .filter_map(|choice| Some((choice, rest(choice.0)?)))
            .filter(|(_, rest)| begun.may_be_whole || !rest.is_empty())
            .collect();
        fitting.sort_by(|a, b| known.compare(&a.0, &b.0));
        let all: f64 = fitting.iter().map(|(choice, _)| choice.1).sum();
        fitting.truncate(MOST_ENDINGS);
        // Breaks with and without blank lines end the same way, so they are merged.
        let mut pens: Vec<Pen> = Vec::new();
        for ((symbol, probability), rest) in fitting {
            let mut pen = Pen {
                context: begun.context.clone(),
                indents: begun.indents.clone(),
                text: String::new(),
                log_probability: 0.0,
                tokens: 0,
                depth: 0,
            };
            self.put(&mut pen, (symbol, probability / all));
            pen.text = rest;
            let alike = |other: &&mut Pen| {
                other.text == pen.text && other.context.last() == pen.context.last()
            };
            match pens.iter_mut().find(alike) {
                Some(other) => {
                    // Both write the same text, so their probabilities add up, not their
                    // logarithms.
                    let sum = other.log_probability.exp() + pen.log_probability.exp();
                    other.log_probability = sum.ln();
                }
                None => pens.push(pen),
            }
        }
        pens.sort_by(|a, b| b.log_probability.total_cmp(&a.log_probability));
        pens.truncate(most);
        pens
    }

    fn put(&self, pen: &mut Pen, (symbol, probability): Choice) {
        let (text, class) = self.knowledge.vocabulary.entry(symbol);
        match LineBreak::from_form(text) {
            Some(line_break) => {
                pen.text
                    .push_str(&line_break.text(&pen.indents, self.line_break));
                pen.indents.take(&line_break);
            }
            None => pen.text.push_str(text),
        }
        match text.trim_start() {
            "(" | "[" | "{" => pen.depth += 1,
            ")" | "]" | "}" => pen.depth -= 1,
            _ => {}
        }
        pen.context.push(class);
        pen.log_probability += probability.ln();
        pen.tokens += 1;
    }
}

/// Counts over texts of a request, each with the symbol that represents the text before it.
fn cache<'a>(
    texts: impl Iterator<Item = (&'a str, Symbol)>,
    vocabulary: &mut Extended<'_>,
) -> Counts {
    let mut counts = Counts::default();
    for (text, start) in texts {
        counts.learn(Sequence::read(text, start, vocabulary), 0);
    }
    counts
}

/// Returns the text of a file from which a request learns.
pub(super) fn own_text(request: &ModelRequest) -> OwnText<'_> {
    let prefix = near_end(&request.prefix);
    let is_whole = prefix.len() == request.prefix.len();
    OwnText {
        start: if is_whole { START } else { CUT },
        prefix,
        suffix: near_start(&request.suffix),
    }
}

/// Returns the counts of a file whose cursor is between two texts.
pub(super) fn file_cache(own: OwnText<'_>, vocabulary: &mut Extended<'_>) -> Counts {
    let texts = [(own.prefix, own.start), (own.suffix, CUT)];
    cache(texts.into_iter(), vocabulary)
}

/// True if the rest of a text has all tokens that [`Start`] reads of the whole.
pub(super) fn is_long_enough(rest: &str, own: OwnText<'_>, settled: &SettledText) -> bool {
    rest.len() == own.prefix.len() || lex(rest, &mut settled.indents.clone()).len() > TAIL
}

/// Returns the last [`OWN_TEXT`] bytes of a text at most, in whole lines if possible. Its start
/// moves in steps, so that it mostly stays while a person types.
fn near_end(text: &str) -> &str {
    let Some(over) = text.len().checked_sub(OWN_TEXT) else {
        return text;
    };
    // Rounding up to steps keeps the start in place while a person types a few thousand bytes.
    let least = over.div_ceil(OWN_TEXT_STEP) * OWN_TEXT_STEP;
    let least = text.ceil_char_boundary(least);
    match text[least..].find('\n') {
        Some(index) => &text[least + index..],
        None => &text[least..],
    }
}

/// Returns the first [`OWN_TEXT`] bytes of a text.
fn near_start(text: &str) -> &str {
    &text[..text.floor_char_boundary(OWN_TEXT)]
}

/// Returns the counts of a request's windows.
pub(super) fn window_cache(request: &ModelRequest, vocabulary: &mut Extended<'_>) -> Counts {
    let texts = request
        .windows
        .iter()
        .map(|window| (window.text.as_str(), CUT));
    cache(texts, vocabulary)
}
