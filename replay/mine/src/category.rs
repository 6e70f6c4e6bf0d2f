//! Topic of a hole's code, by rule: one of the thirteen categories of RepoMasterEval, §3.6.
//!
//! There, developers labelled each hole by hand. A rule does it here, from the names and the syntax
//! of the reference and of the definition around it, and gives its reason. Its agreement with
//! people is not known.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

use fillrate_language::LanguageSupport;
use fillrate_language::names::RECEIVERS;
use fillrate_language::task::{Category, Topic};
use fillrate_syntax::Language;
use tree_sitter::Node;

use super::nesting::Nesting;

/// Index of a file that gives the categories of its ranges.
pub struct CategoryIndex<'a> {
    root: Node<'a>,
    contents: &'a str,
    language: &'static Language,
    definitions: Nesting<NamedDefinition<'a>>,
    /// The names that have words of the table, in their order.
    names: Vec<TellingName>,
}

/// A definition or function that has a name.
struct NamedDefinition<'a> {
    node: Node<'a>,
    name: &'a str,
    /// Number of occurrences of each word in it.
    words: OnceCell<WordCounts>,
}

/// A name with words of the table.
struct TellingName {
    at: Range<usize>,
    words: Vec<TellingWord>,
}

/// A word with its row of [`WORDS`].
type TellingWord = (usize, &'static str);

/// Number of occurrences of each word in a text.
type WordCounts = BTreeMap<TellingWord, usize>;

impl<'a> CategoryIndex<'a> {
    /// A file with its syntax tree's root.
    pub fn new(root: Node<'a>, contents: &'a str, language: &'static Language) -> Self {
        let mut definitions = Vec::new();
        let mut names = Vec::new();
        let mut known: HashMap<&str, Vec<TellingWord>> = HashMap::new();
        let mut pending = vec![root];
        while let Some(node) = pending.pop() {
            if node.child_count() == 0 && node.kind().contains("identifier") {
                let name = &contents[node.byte_range()];
                let words = known.entry(name).or_insert_with(|| telling_words(name));
                if !words.is_empty() {
                    names.push(TellingName {
                        at: node.byte_range(),
                        words: words.clone(),
                    });
                }
            }
            if (language.is_definition(node) || language.is_function(node))
                && let Some(name) = node.child_by_field_name("name")
            {
                let definition = NamedDefinition {
                    node,
                    name: &contents[name.byte_range()],
                    words: OnceCell::new(),
                };
                definitions.push((node.byte_range(), definition));
            }
            let mut cursor = node.walk();
            pending.extend(node.children(&mut cursor));
        }
        names.sort_by_key(|name| name.at.start);
        Self {
            root,
            contents,
            language,
            definitions: Nesting::new(definitions),
            names,
        }
    }

    /// Returns the category of the code in a range of the file.
    ///
    /// A word of the reference's names counts twice, one of the names in the definition around it
    /// once, each word once; the category with most wins, if it has two or more, and of equals the
    /// first in the order of the words' table. Failing that, syntax decides: markup, what few
    /// programs use of a language, recursion and loops within loops. Everything else is
    /// [`Topic::ProgrammingBasics`].
    pub fn categorize(&self, range: &Range<usize>) -> Category {
        // The innermost one that is more than the range.
        let definition = self.definitions.around(range.start).find(|one| {
            range.end <= one.bytes.end
                && (one.bytes.start < range.start || range.end < one.bytes.end)
        });
        let definition = definition.map(|one| &one.value);
        let (inside, around) = match definition {
            Some(definition) => self.words_in(definition, range),
            None => self.words_outside_definitions(range),
        };
        let name = definition.map(|definition| definition.name);
        let of_syntax = || {
            let scope = definition.map_or(self.root, |definition| definition.node);
            let mut nodes = Vec::new();
            collect_within(scope, range, &mut nodes);
            by_syntax(&nodes, self.contents, name, self.language)
        };
        by_words(&inside, &around)
            .or_else(of_syntax)
            .unwrap_or_else(|| Category {
                name: Topic::ProgrammingBasics,
                reason: match name {
                    Some(name) => format!(
                        "Neither the reference nor the rest of `{name}` points to another category."
                    ),
                    None => "The reference points to no other category.".to_owned(),
                },
            })
    }

    /// The words in a range of a definition, and those in the rest of it.
    fn words_in(
        &self,
        definition: &NamedDefinition<'_>,
        range: &Range<usize>,
    ) -> (FoundWords, FoundWords) {
        let all = definition
            .words
            .get_or_init(|| self.count_words(&definition.node.byte_range()));
        let counts = self.count_words(range);
        let mut inside = FoundWords::default();
        inside.extend(counts.keys());
        let mut around = FoundWords::default();
        // A word is around the range if the definition has it more often than the range.
        around.extend(
            all.iter()
                .filter(|(word, count)| **count > counts.get(word).copied().unwrap_or_default())
                .map(|(word, _)| word),
        );
        (inside, around)
    }

    fn count_words(&self, range: &Range<usize>) -> WordCounts {
        let first = self
            .names
            .partition_point(|name| name.at.start < range.start);
        let mut counts = WordCounts::new();
        // Identifiers don't overlap, so their ends are in the order of their starts.
        let names = self.names[first..]
            .iter()
            .take_while(|name| name.at.end <= range.end);
        for word in names.flat_map(|name| &name.words) {
            *counts.entry(*word).or_default() += 1;
        }
        counts
    }

    /// The words in a range, and those next to it in the node around it. Without a definition, the
    /// rest of the file says little about one of its statements.
    fn words_outside_definitions(&self, range: &Range<usize>) -> (FoundWords, FoundWords) {
        let (mut inside, mut around) = (FoundWords::default(), FoundWords::default());
        let mut pending = vec![self.root];
        while let Some(node) = pending.pop() {
            if node.child_count() == 0 && node.kind().contains("identifier") {
                let found = if is_within(&node, range) {
                    &mut inside
                } else {
                    &mut around
                };
                found.extend(&telling_words(&self.contents[node.byte_range()]));
            }
            if overlap(&node, range) {
                let mut cursor = node.walk();
                pending.extend(node.children(&mut cursor));
            }
        }
        (inside, around)
    }
}

/// The words of each category, specialised ones before general ones. A word belongs to one. Each
/// matches its plural too; a name of several words is looked up whole and by its words. Words
/// common in every kind of program (`table`, `token`, `state`, `model`) are left out.
const WORDS: [(Topic, &str); 12] = [
    (
        Topic::MachineLearning,
        "backpropagation classifier cuda embedding epoch gradient hyperparameter keras logits \
         neural optimizer perceptron pytorch regression sklearn softmax tensor tensorflow torch",
    ),
    (
        Topic::NaturalLanguageProcessing,
        "bleu corpus lemma lemmatize llm ngram nlp nltk sentence spacy stem stemmer stopword \
         tokenizer vocab vocabulary",
    ),
    (
        Topic::FrontEndDevelopment,
        "addeventlistener button classname click component css dom hover html innerhtml jsx \
         layout onclick props queryselector react scroll stylesheet svelte tooltip useeffect \
         usestate viewport vue widget",
    ),
    (
        Topic::ServerSideDevelopment,
        "cookie cors django endpoint express fastapi flask graphql grpc http middleware request \
         response route router rpc server session socket webhook websocket",
    ),
    (
        Topic::SecurityAndPrivacy,
        "anonymize auth authenticate authentication authorization authorize bcrypt certificate \
         cipher credential crypto cryptography csrf decrypt encrypt encryption hmac jwt oauth \
         password permission privacy redact salt sanitize secret ssl tls xss",
    ),
    (
        Topic::Databases,
        "cursor database db migration mongo mysql orm postgres prisma query redis sql sqlalchemy \
         sqlite tablename",
    ),
    (
        Topic::DataManagementAndAnalysis,
        "aggregate analytics average chart column correlation csv dataframe dataset df groupby \
         histogram median np numpy pandas pd percentile pivot plot statistic variance",
    ),
    (
        Topic::MultimediaProcessing,
        "audio bitmap canvas codec color colour cv2 ffmpeg gif image img jpeg opencv pixel png \
         rgb subtitle svg thumbnail video waveform",
    ),
    (
        Topic::PerformanceOptimization,
        "benchmark cache cached concurrency debounce latency lazy lru memoize optimization \
         parallel prefetch profiler throttle throughput vectorize",
    ),
    (
        Topic::DataStructuresAndAlgorithms,
        "algorithm ancestor bfs bisect deque descendant dfs edge graph heap heapq matrix node \
         permutation priority queue search shortest sort sorted stack subtree topological \
         traverse tree trie vertex",
    ),
    (
        Topic::LanguageFeatures,
        "closure coroutine decorator descriptor functools generator getattr hasattr inspect \
         iterator metaclass mixin overload partial prototype proxy reflect setattr typevar wraps",
    ),
    (
        Topic::CommonTools,
        "argparse argv calendar cli config configuration convert date datetime decode directory \
         duration encode env environ escape file filename folder format formatter json locale \
         log logger logging month parse parser path pathlib regex serialize shell subprocess \
         template time timedelta timestamp timezone toml url uuid weekday xml yaml",
    ),
];

/// Least score by which words decide: one word of the reference, or two around it.
const ENOUGH: usize = 2;

static BY_WORD: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| {
    WORDS
        .iter()
        .enumerate()
        .flat_map(|(index, (_, words))| words.split_whitespace().map(move |word| (word, index)))
        .collect()
});

/// Words, by the row of [`WORDS`] they belong to.
#[derive(Default)]
struct FoundWords([BTreeSet<&'static str>; WORDS.len()]);

impl FoundWords {
    fn extend<'w>(&mut self, words: impl IntoIterator<Item = &'w TellingWord>) {
        for (row, word) in words {
            self.0[*row].insert(word);
        }
    }
}

/// Returns the words of a name that are in the table.
fn telling_words(name: &str) -> Vec<TellingWord> {
    let whole: String = name
        .chars()
        .filter(|character| *character != '_')
        .collect::<String>()
        .to_lowercase();
    let known = words(name).into_iter().chain([whole]).filter_map(|word| {
        BY_WORD.get_key_value(word.as_str()).or_else(|| {
            // Plurals.
            BY_WORD.get_key_value(word.strip_suffix('s')?)
        })
    });
    known.map(|(word, row)| (*row, *word)).collect()
}

/// The words of a name in lower case: `parseHTTPDate`, `parse_http_date` → parse, http, date.
fn words(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| characters[before]);
        // The last of several capitals begins a word: `HTTPDate`.
        let next_is_lower = characters.get(index + 1).is_some_and(|c| c.is_lowercase());
        let begins = character.is_uppercase()
            && before.is_some_and(|before| !before.is_uppercase() || next_is_lower);
        if begins || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn by_words(inside: &FoundWords, around: &FoundWords) -> Option<Category> {
    let mut best: Option<(usize, usize)> = None;
    for index in 0..WORDS.len() {
        let outside_only = around.0[index].difference(&inside.0[index]).count();
        let score = 2 * inside.0[index].len() + outside_only;
        if score >= ENOUGH && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, index));
        }
    }
    let (_, index) = best?;
    let subject = WORDS[index].0;
    let mut places = Vec::new();
    if let Some(listed) = listed(&inside.0[index]) {
        places.push(format!("{listed} in the reference"));
    }
    if let Some(listed) = listed(&around.0[index]) {
        places.push(format!("{listed} around it"));
    }
    Some(Category {
        name: subject,
        reason: format!(
            "Names speak of {} ({}).",
            subject.title(),
            places.join(", ")
        ),
    })
}

/// The first words, in quotes.
fn listed(words: &BTreeSet<&str>) -> Option<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => None,
        [first, second, third, _, ..] => Some(format!("{first}, {second}, {third} and others")),
        all => Some(all.join(", ")),
    }
}

fn by_syntax(
    nodes: &[Node<'_>],
    contents: &str,
    definition: Option<&str>,
    language: &Language,
) -> Option<Category> {
    let support = LanguageSupport::for_language(language);
    let rules = support.category;
    let category = |name, what: String| {
        Some(Category {
            name,
            reason: format!("The reference {what}."),
        })
    };
    let named = || nodes.iter().filter(|node| node.is_named());
    let markup = rules
        .markup
        .filter(|(beginning, _)| named().any(|node| node.kind().starts_with(beginning)));
    if let Some((_, what)) = markup {
        return category(Topic::FrontEndDevelopment, format!("holds {what}"));
    }
    let feature = rules
        .features
        .iter()
        .find(|(kind, _)| named().any(|node| node.kind() == *kind));
    if let Some((_, what)) = feature {
        return category(Topic::LanguageFeatures, format!("holds {what}"));
    }
    let called = named().find_map(|node| {
        let function = support.names.callee(*node)?;
        let member = (support.names.member)(function);
        let name = member.map_or(function, |(_, name)| name);
        // A call on another object, such as `other.f()`, may run another function of this name.
        let own = member
            .is_none_or(|(receiver, _)| RECEIVERS.contains(&&contents[receiver.byte_range()]));
        let text = &contents[name.byte_range()];
        (own && Some(text) == definition).then_some(text)
    });
    if let Some(name) = called {
        return category(
            Topic::DataStructuresAndAlgorithms,
            format!("calls `{name}`, the function around it: recursion"),
        );
    }
    let loops: Vec<&Node<'_>> = named()
        .filter(|node| rules.loops.contains(&node.kind()))
        .collect();
    let nested = loops.iter().any(|inner| {
        loops
            .iter()
            .any(|outer| outer.id() != inner.id() && is_within(inner, &outer.byte_range()))
    });
    if nested {
        return category(
            Topic::DataStructuresAndAlgorithms,
            "has a loop within a loop".to_owned(),
        );
    }
    None
}

/// Returns the nodes below a node that are within a range.
fn collect_within<'t>(node: Node<'t>, range: &Range<usize>, found: &mut Vec<Node<'t>>) {
    let mut cursor = node.walk();
    if cursor.goto_first_child_for_byte(range.start).is_none() {
        return;
    }
    loop {
        let child = cursor.node();
        if child.start_byte() >= range.end {
            return;
        }
        if is_within(&child, range) {
            found.push(child);
        }
        collect_within(child, range, found);
        if !cursor.goto_next_sibling() {
            return;
        }
    }
}

fn is_within(node: &Node<'_>, range: &Range<usize>) -> bool {
    range.start <= node.start_byte() && node.end_byte() <= range.end
}

fn overlap(node: &Node<'_>, range: &Range<usize>) -> bool {
    node.start_byte() < range.end && range.start < node.end_byte()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the category of the code between two `$0`.
    fn categorize_marked(id: &str, marked: &str) -> String {
        let language = Language::by_id(id).expect("the language is in the table");
        let parts: Vec<&str> = marked.split("$0").collect();
        let [before, reference, after] = parts.as_slice() else {
            panic!("the fixture has two markers");
        };
        let contents = [*before, reference, after].concat();
        let tree = language.parse(&contents);
        let range = before.len()..before.len() + reference.len();
        let category = CategoryIndex::new(tree.root_node(), &contents, language).categorize(&range);
        format!("{}: {}", category.name, category.reason)
    }

    #[test]
    fn categories_in_python() {
        let categorize_marked = |marked| categorize_marked("python", marked);
        insta::assert_snapshot!(categorize_marked("def load(connection, name):\n    cursor = connection.cursor()\n    $0cursor.execute(SQL_BY_NAME, name)$0\n    return cursor\n"), @r#"databases: Names speak of databases (`cursor`, `sql` in the reference, `cursor` around it)."#);
        insta::assert_snapshot!(categorize_marked("def train(net, data):\n    for epoch in range(9):\n        gradient = net.slope(data)\n        $0net.step(data)$0\n"), @r#"machine-learning: Names speak of machine learning (`epoch`, `gradient` around it)."#);
        insta::assert_snapshot!(categorize_marked("def double(a):\n    $0b = a + a$0\n    return b\n"), @r#"programming-basics: Neither the reference nor the rest of `double` points to another category."#);
        insta::assert_snapshot!(categorize_marked("def each(items):\n    for item in items:\n        $0yield item.name$0\n"), @r#"language-features: The reference holds a generator."#);
        insta::assert_snapshot!(categorize_marked("class A:\n    def depth(self, of):\n        $0return 1 + self.depth(of.above)$0\n"), @r#"data-structures-and-algorithms: The reference calls `depth`, the function around it: recursion."#);
        insta::assert_snapshot!(categorize_marked("def pairs(many):\n    found = []\n    $0for a in many:\n        for b in many:\n            found.append((a, b))$0\n    return found\n"), @r#"data-structures-and-algorithms: The reference has a loop within a loop."#);
        insta::assert_snapshot!(categorize_marked("$0total = 1 + 2$0\npassword = 3\n"), @r#"programming-basics: The reference points to no other category."#);
    }

    #[test]
    fn categories_in_typescript() {
        let categorize_marked = |marked| categorize_marked("typescriptreact", marked);
        insta::assert_snapshot!(categorize_marked("export function Save(): View {\n  $0return <b>save</b>;$0\n}\n"), @r#"front-end-development: The reference holds JSX."#);
        insta::assert_snapshot!(categorize_marked("export function reply(request: Request): Response {\n  const body = read(request);\n  $0return new Response(body);$0\n}\n"), @r#"server-side-development: Names speak of server-side development (`response` in the reference, `request`, `response` around it)."#);
        insta::assert_snapshot!(categorize_marked("class Login {\n  check(given: string): boolean {\n    $0return encrypt(given, this.salt) === this.passwordHash;$0\n  }\n}\n"), @r#"security-and-privacy: Names speak of security and privacy (`encrypt`, `password`, `salt` in the reference)."#);
        insta::assert_snapshot!(categorize_marked("function parseDate(text: string): Date {\n  $0const match = PATTERN.exec(text);$0\n  return new Date(match);\n}\n"), @r#"common-tools: Names speak of common tools (`date`, `parse` around it)."#);
        insta::assert_snapshot!(categorize_marked("function pick(a: number[], n: number): number {\n  $0return a[n];$0\n}\n"), @r#"programming-basics: Neither the reference nor the rest of `pick` points to another category."#);
    }

    #[test]
    fn names_come_apart_into_words() {
        assert_eq!(words("parseHTTPDate"), ["parse", "http", "date"]);
        assert_eq!(words("_parse_http_date2"), ["parse", "http", "date2"]);
        assert_eq!(words("__"), Vec::<String>::new());
    }

    #[test]
    fn a_word_belongs_to_one_category() {
        let mut seen = BTreeSet::new();
        for (_, words) in WORDS {
            for word in words.split_whitespace() {
                assert!(seen.insert(word), "`{word}` is listed twice");
            }
        }
        let subjects: BTreeSet<Topic> = WORDS.iter().map(|(subject, _)| *subject).collect();
        assert_eq!(
            subjects.len(),
            <Topic as strum::VariantArray>::VARIANTS.len() - 1
        );
    }
}
