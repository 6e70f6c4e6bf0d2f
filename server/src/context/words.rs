//! Words as CrossCodeEval's retriever splits them: NLTK's word tokenizer, then `\w+` on each token.
//!
//! NLTK's tokenizer splits text at many characters, nearly all of which `\w+` drops anyway. Only
//! its splits of contractions within a run of word characters have an effect: `cannot` is `can` and
//! `not`, `don't` before a blank is `do`, `n` and `t`. So a text without possible contractions is
//! split into runs, and other texts go through the tokenizer's rules in order.
//!
//! The rules are those of NLTK 3.8.1, the release of the months in which CrossCodeEval's data was
//! made. Version 3.10.4 also splits `can't` before a line's end, and its scores differ from the
//! published ones. <https://github.com/nltk/nltk/blob/3.8.1/nltk/tokenize/destructive.py>
//! NLTK first splits a text into sentences with a trained model. This step is omitted: it affects
//! only a contraction right before a sentence's end in the middle of a window.

use std::sync::LazyLock;

use regex::Regex;

/// Returns the words of a text, in order, with repetitions.
pub fn words(text: &str) -> Vec<String> {
    if may_split(text) {
        let rewritten: String = rewritten(text).into_iter().collect();
        runs(&rewritten).map(str::to_owned).collect()
    } else {
        runs(text).map(str::to_owned).collect()
    }
}

/// Returns the longest runs of characters that Python's `\w` matches.
pub(super) fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character| !is_word(character))
        .filter(|run| !run.is_empty())
}

/// True if Python's `\w` matches a character: a letter, a numeric character, or `_`.
fn is_word(character: char) -> bool {
    // `char::is_alphanumeric` also includes combining vowel signs and the like, which `\w`
    // excludes.
    static WORD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{N}]").expect("the pattern is fixed and sound"));
    if character.is_ascii() {
        character.is_ascii_alphanumeric() || character == '_'
    } else {
        WORD.is_match(character.encode_utf8(&mut [0; 4]))
    }
}

/// True if Python's `\d` matches a character.
fn is_digit(character: char) -> bool {
    static DIGIT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\p{Nd}").expect("the pattern is fixed and sound"));
    if character.is_ascii() {
        character.is_ascii_digit()
    } else {
        DIGIT.is_match(character.encode_utf8(&mut [0; 4]))
    }
}

/// True if Python's `\s` matches a character.
fn is_space(character: char) -> bool {
    // Python counts these four separators as white space; Unicode's `White_Space` does not.
    character.is_whitespace() || matches!(character, '\x1c'..='\x1f')
}

/// Words that are split in two, with the length of the first part.
const SPLIT_WORDS: [(&str, usize); 6] = [
    ("cannot", 3),
    ("gimme", 3),
    ("gonna", 3),
    ("gotta", 3),
    ("lemme", 3),
    ("wanna", 3),
];

/// True if the rules might split a run of word characters of this text.
fn may_split(text: &str) -> bool {
    // Most windows have no run of the right length and beginning.
    let apostrophe = text.contains('\'');
    if apostrophe && (text.contains("n't") || text.contains("N'T")) {
        return true;
    }
    runs(text).any(|run| {
        let first = run.as_bytes()[0].to_ascii_lowercase();
        match first {
            b'c' | b'g' | b'l' | b'w' => SPLIT_WORDS.iter().any(|(word, _)| same(run, word)),
            b't' => apostrophe && (same(run, "tis") || same(run, "twas")),
            _ => false,
        }
    })
}

/// True if a text equals a word of ASCII letters under Python's `(?i)`.
fn same(text: &str, word: &str) -> bool {
    let mut characters = text.chars();
    word.chars()
        .all(|letter| characters.next().is_some_and(|other| alike(other, letter)))
        && characters.next().is_none()
}

/// True if Python's `(?i)` equates a character with a lower-case ASCII letter.
fn alike(character: char, letter: char) -> bool {
    character.to_ascii_lowercase() == letter
        // These four are all non-ASCII characters that Python's `(?i)` equates with ASCII letters.
        || match letter {
            'i' => matches!(character, '\u{130}' | '\u{131}'),
            's' => character == '\u{17f}',
            'k' => character == '\u{212a}',
            _ => false,
        }
}

/// Applies all of the tokenizer's rules; tokens are separated by blanks.
fn rewritten(text: &str) -> Vec<char> {
    let mut text = punctuation_apart(starting_quotes_apart(text.chars().collect()));
    text.insert(0, ' ');
    text.push(' ');
    contractions_apart(ending_quotes_apart(text))
}

fn starting_quotes_apart(mut text: Vec<char>) -> Vec<char> {
    text = replaced(&text, |rest, _| match rest[0] {
        '«' | '“' | '‘' | '„' => Some((1, padded(&rest[..1]))),
        '`' => {
            let run = rest.iter().take_while(|c| **c == '`').count();
            Some((run, padded(&rest[..run])))
        }
        _ => None,
    });
    // A quote at the start of the text is an opening one.
    if text.first() == Some(&'"') {
        text.splice(..1, ['`', '`']);
    }
    text = replaced(&text, |rest, _| {
        rest.starts_with(&['`', '`'])
            .then(|| (2, padded(&['`', '`'])))
    });
    text = replaced(&text, |rest, _| {
        let quotes = match &rest[1..] {
            ['"', ..] => 1,
            ['\'', '\'', ..] => 2,
            _ => return None,
        };
        [' ', '(', '[', '{', '<']
            .contains(&rest[0])
            .then(|| (1 + quotes, vec![rest[0], ' ', '`', '`', ' ']))
    });
    replaced(&text, |rest, _| {
        let [quote @ '\'', letter, after @ ..] = rest else {
            return None;
        };
        // NLTK's lookahead also lists `re`, `ve` and `ll`, which a single letter cannot match.
        let clitic = ['m', 't', 's', 'd', 'n'];
        let alone = is_word(*letter) && !after.first().is_some_and(|next| is_word(*next));
        (alone && !clitic.into_iter().any(|clitic| alike(*letter, clitic)))
            .then(|| (2, vec![*quote, ' ', *letter]))
    })
}

fn punctuation_apart(mut text: Vec<char>) -> Vec<char> {
    text = last_period(text, true);
    text = replaced(&text, |rest, _| match rest {
        [sign @ (':' | ','), next, ..] if !is_digit(*next) => {
            Some((2, vec![' ', *sign, ' ', *next]))
        }
        _ => None,
    });
    text = replaced(&text, |rest, _| match rest {
        // Python's `$` also matches before a line feed that ends the text.
        [sign @ (':' | ',')] | [sign @ (':' | ','), '\n'] => Some((1, padded(&[*sign]))),
        _ => None,
    });
    text = replaced(&text, |rest, _| {
        let run = rest.iter().take_while(|c| **c == '.').count();
        (run > 1).then(|| (run, padded(&rest[..run])))
    });
    text = each(&text, &[';', '@', '#', '$', '%', '&']);
    text = last_period(text, false);
    text = each(&text, &['?', '!']);
    text = replaced(&text, |rest, _| match rest {
        [before, '\'', ' ', ..] if *before != '\'' => Some((3, vec![*before, ' ', '\'', ' '])),
        _ => None,
    });
    text = each(&text, &['*']);
    text = each(&text, &['[', ']', '(', ')', '{', '}', '<', '>']);
    replaced(&text, |rest, _| {
        rest.starts_with(&['-', '-'])
            .then(|| (2, padded(&['-', '-'])))
    })
}

fn ending_quotes_apart(mut text: Vec<char>) -> Vec<char> {
    text = each(&text, &['»', '”', '’']);
    text = replaced(&text, |rest, _| {
        rest.starts_with(&['\'', '\''])
            .then(|| (2, padded(&['\'', '\''])))
    });
    text = replaced(&text, |rest, _| {
        (rest[0] == '"').then(|| (1, padded(&['\'', '\''])))
    });
    let clitics = ["'s", "'S", "'m", "'M", "'d", "'D", "'"];
    text = replaced(&text, |rest, _| clitic(rest, &clitics));
    let clitics = ["'ll", "'LL", "'re", "'RE", "'ve", "'VE", "n't", "N'T"];
    replaced(&text, |rest, _| clitic(rest, &clitics))
}

/// Splits contractions, one rule after the other.
fn contractions_apart(mut text: Vec<char>) -> Vec<char> {
    for (word, first) in [
        ("cannot", 3),
        ("d'ye", 1),
        ("gimme", 3),
        ("gonna", 3),
        ("gotta", 3),
        ("lemme", 3),
        ("more'n", 4),
        ("wanna", 3),
    ] {
        text = replaced(&text, |rest, before| {
            let length = word.len();
            let found = before.is_none_or(|before| !is_word(before)) && begins(rest, word);
            let after = rest.get(length);
            // NLTK's pattern for `wanna` ends with `\s`, unlike the others.
            let ended = if word == "wanna" {
                after.is_some_and(|after| is_space(*after))
            } else {
                after.is_none_or(|after| !is_word(*after))
            };
            (found && ended).then(|| (length, in_two(&rest[..length], first)))
        });
    }
    for word in [" 'tis", " 'twas"] {
        text = replaced(&text, |rest, _| {
            let length = word.len();
            let ended = rest.get(length).is_none_or(|after| !is_word(*after));
            (begins(rest, word) && ended).then(|| (length, in_two(&rest[1..length], 2)))
        });
    }
    text
}

/// Replaces every match of a rule, from left to right, as `re.sub` does. A rule gets the rest of
/// the text, never empty, and the character before it. It returns the number of characters that it
/// matches there, at least one, and their replacement.
fn replaced(
    text: &[char],
    rule: impl Fn(&[char], Option<char>) -> Option<(usize, Vec<char>)>,
) -> Vec<char> {
    let mut result = Vec::with_capacity(text.len() + 16);
    let mut place = 0;
    while place < text.len() {
        let before = place.checked_sub(1).map(|before| text[before]);
        if let Some((length, with)) = rule(&text[place..], before) {
            result.extend(with);
            place += length;
        } else {
            result.push(text[place]);
            place += 1;
        }
    }
    result
}

fn padded(signs: &[char]) -> Vec<char> {
    [&[' '], signs, &[' ']].concat()
}

/// Puts blanks around each of these signs.
fn each(text: &[char], signs: &[char]) -> Vec<char> {
    replaced(text, |rest, _| {
        signs.contains(&rest[0]).then(|| (1, padded(&rest[..1])))
    })
}

/// Matches a character other than an apostrophe or a blank, then one of these clitics, then a
/// blank.
fn clitic(rest: &[char], clitics: &[&str]) -> Option<(usize, Vec<char>)> {
    let before = *rest.first().filter(|c| !matches!(c, '\'' | ' '))?;
    let clitic = clitics.iter().find(|clitic| {
        let length = clitic.len();
        rest[1..].get(length) == Some(&' ') && clitic.chars().zip(&rest[1..]).all(|(a, b)| a == *b)
    })?;
    let mut with = vec![before, ' '];
    with.extend(clitic.chars());
    with.push(' ');
    Some((clitic.len() + 2, with))
}

/// True if a text begins with a word of lower-case ASCII letters and apostrophes, ignoring case.
fn begins(rest: &[char], word: &str) -> bool {
    rest.len() >= word.len() && word.chars().zip(rest).all(|(letter, c)| alike(*c, letter))
}

/// Splits a word in two parts, with blanks around them.
fn in_two(word: &[char], first: usize) -> Vec<char> {
    [&[' '], &word[..first], &[' '], &word[first..], &[' ']].concat()
}

/// Puts a blank before the period that ends the text, unless it belongs to an ellipsis. Closing
/// brackets, quotes and then white space may follow the period. With `wide`, the first of the two
/// rules, typographic quotes and blanks may follow too.
fn last_period(text: Vec<char>, wide: bool) -> Vec<char> {
    let Some(period) = text.iter().rposition(|c| *c == '.') else {
        return text;
    };
    let closes = |c: &char| {
        matches!(c, ']' | ')' | '}' | '>' | '"' | '\'')
            || (wide && matches!(c, '»' | '”' | '’' | ' '))
    };
    let after = &text[period + 1..];
    let closing = after.iter().take_while(|c| closes(c)).count();
    let ends = after[closing..].iter().all(|c| is_space(*c));
    // NLTK's pattern begins with a character other than a period, so a leading period stays.
    if period == 0 || text[period - 1] == '.' || !ends {
        return text;
    }
    let mut result = text[..period].to_vec();
    result.extend([' ', '.']);
    if wide {
        result.push(' ');
    }
    result.extend(&after[..closing]);
    result.push(' ');
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_are_split_as_in_nltk() {
        for (text, expected) in [
            ("x = don't do(it)", "x do n t do it"),
            // The rule matches at a text's end, but not at a line's end.
            ("can't\nbe", "can t be"),
            ("we can't", "we ca n t"),
            ("we can't.", "we ca n t"),
            ("(can't)", "ca n t"),
            ("'can't'", "ca n t"),
            ("Cannot gonna GOTTA", "Can not gon na GOT TA"),
            ("cannot_x xcannot", "cannot_x xcannot"),
            ("wanna", "wan na"),
            ("wanna.x", "wanna x"),
            ("so 'tis, 'twas", "so t is t was"),
            ("more'n d'ye it's", "more n d ye it s"),
            (
                "snake_case CamelCase 3.14 größe",
                "snake_case CamelCase 3 14 größe",
            ),
            ("", ""),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text:?}");
        }
    }
}
