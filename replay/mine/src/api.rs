//! Holes that need another file of the same repository: the construction of
//! [CrossCodeEval](https://arxiv.org/abs/2310.11248), §2.2 and appendices A.1 and A.3.
//!
//! There, each name that a file imports from its own repository becomes an empty class, and Pylint
//! (its E1101, no member) or `tsc` (TS2304, cannot find name; TS2339, no such property) reports
//! what is undefined then. Neither program is run here: the syntax tree, the file's scopes and the
//! repository's file names replace them. That finds less than they do: members inherited from an
//! imported class, members of what a function or a member returns, and imports by `*`, by a path
//! alias of `tsconfig.json` or by a name looked up at run time are not found.
//!
//! The cursor is at a token before the undefined name on its line, chosen by the seed, and never
//! before the line's first token; the reference goes to the end of the statement, which in
//! TypeScript is the next `;`, `{` or `}`, with none of them before that. Of several uses of one
//! undefined name, the first in the file counts.
//!
//! Of the paper's filters, the number of lines before the cursor and of tokens in the reference are
//! here, duplicates in [`deduplicate`], references in another file in
//! [`LeakIndex`](super::leak::LeakIndex). What a small model completes without other files is left
//! out where a run of it is given (`mine --unless-solved`).

use std::collections::BTreeSet;
use std::ops::Range;

use fillrate_language::task::{HoleKind, sha256_hex};
use fillrate_language::{LanguageSupport, SourceFile};
use fillrate_syntax::Language;
use tree_sitter::Node;

use super::candidates::{CoveredFile, HoleCandidate, LineCoverage, find_ranges};
use super::imports::{imported_names, is_import};
use super::nesting::Nesting;
use super::tokens::leaves;
use super::uses::{NameUse, find_undefined};

/// Finds every candidate of [`HoleKind::Api`] in a file. `files` are all of the repository.
pub fn find_api_candidates(
    project: &str,
    file: &SourceFile,
    files: &BTreeSet<&str>,
    coverage: LineCoverage<'_>,
    seed: u64,
) -> Vec<HoleCandidate> {
    let tree = file.language.parse(&file.contents);
    let imports = imported_names(tree.root_node(), file, files);
    let statements = find_ranges(file, &tree, &|_| true).statements;
    let covered = CoveredFile::new(project, file, &tree, &statements, coverage);
    let tokens = FileTokens::new(tree.root_node(), file);
    let mut seen = BTreeSet::new();
    find_undefined(tree.root_node(), file, &imports)
        .into_iter()
        // Only the first use of a name: later ones could be copied from it.
        .filter(|used| seen.insert(used.name.clone()))
        .filter_map(|used| {
            let range = hole(&used, file, &tokens, seed)?;
            if tokens.pass_filters(&range) {
                covered.candidate(HoleKind::Api, range)
            } else {
                None
            }
        })
        .collect()
}

/// Removes candidates with the reference of one before them.
pub fn deduplicate(candidates: Vec<HoleCandidate>) -> Vec<HoleCandidate> {
    let mut seen = BTreeSet::new();
    candidates
        .into_iter()
        .filter(|candidate| {
            let reference = &candidate.hole.reference;
            let words: Vec<&str> = reference.split_whitespace().collect();
            seen.insert(words.join(" "))
        })
        .collect()
}

/// The paper's bounds on a reference. It does not say which tokens it counts; these are the
/// syntax tree's.
const REFERENCE_TOKENS: std::ops::RangeInclusive<usize> = 3..=30;

/// The range from a token before the undefined name to the end of the statement.
fn hole(
    used: &NameUse<'_>,
    file: &SourceFile,
    tokens: &FileTokens<'_>,
    seed: u64,
) -> Option<Range<usize>> {
    let rules = &LanguageSupport::for_language(file.language).holes;
    let statement = {
        let mut node = used.token;
        while !file.language.is_statement(node) {
            node = node.parent()?;
        }
        node
    };
    let row = used.token.start_position().row;
    let end = (rules.header_end)(used.token, statement).unwrap_or_else(|| {
        tokens
            .beginning_at(used.token.end_byte())
            .iter()
            .take_while(|token| token.end_byte() <= statement.end_byte())
            .find(|token| rules.ends_statement(file, **token))
            .map_or(statement.end_byte(), Node::end_byte)
    });
    let before: Vec<&Node<'_>> = tokens
        .beginning_in_row(row)
        .iter()
        .take_while(|token| token.start_byte() <= used.token.start_byte())
        .collect();
    // What ends a statement would end the reference before the name.
    let first = before
        .iter()
        .rposition(|token| rules.ends_statement(file, **token))
        // A hole never begins with the first token of its line.
        .map_or(1, |index| (index + 1).max(1));
    let starts: Vec<usize> = before
        .iter()
        .skip(first)
        .map(|token| token.start_byte())
        .filter(|start| *start >= statement.start_byte())
        .filter(|start| !rules.is_cut(&file.contents[*start..end]))
        .collect();
    if starts.is_empty() {
        return None;
    }
    // A hash draws, so that changes of other places don't change the choice here.
    let key = format!("{seed}\0{}\0{}", file.path, used.token.start_byte());
    let draw = usize::from_str_radix(&sha256_hex(key.as_bytes())[..8], 16).unwrap_or_default();
    Some(starts[draw % starts.len()]..end)
}

/// The tokens of a file, ready to be searched.
struct FileTokens<'t> {
    language: &'static Language,
    /// Without comments, in their order.
    tokens: Vec<Node<'t>>,
    /// Of each token: the number of lines that hold a token before it, without imports.
    lines_before: Vec<usize>,
}

impl<'t> FileTokens<'t> {
    fn new(root: Node<'t>, file: &SourceFile) -> Self {
        let language = file.language;
        let tokens: Vec<Node<'t>> = leaves(root, language)
            .into_iter()
            .filter(|leaf| !leaf.byte_range().is_empty() && !language.is_comment(*leaf))
            .collect();
        let imports = import_statements(root, language);
        let mut lines_before = Vec::with_capacity(tokens.len());
        let (mut lines, mut next_line) = (0, 0);
        for token in &tokens {
            lines_before.push(lines);
            if imports.around(token.start_byte()).next().is_none() {
                let end = token.end_position().row + 1;
                // Several tokens of one line count it once.
                let start = token.start_position().row.max(next_line);
                lines += end.saturating_sub(start);
                next_line = next_line.max(end);
            }
        }
        Self {
            language,
            tokens,
            lines_before,
        }
    }

    /// Those that begin at an offset or behind it.
    fn beginning_at(&self, offset: usize) -> &[Node<'t>] {
        &self.tokens[self.place(offset)..]
    }

    /// Those that begin in a line, counted from 0.
    fn beginning_in_row(&self, row: usize) -> &[Node<'t>] {
        let first = |row| {
            self.tokens
                .partition_point(|token| token.start_position().row < row)
        };
        &self.tokens[first(row)..first(row + 1)]
    }

    fn place(&self, offset: usize) -> usize {
        self.tokens
            .partition_point(|token| token.start_byte() < offset)
    }

    /// True if a hole in a range satisfies the paper's bounds on the lines before it and on its
    /// length.
    fn pass_filters(&self, range: &Range<usize>) -> bool {
        let (start, end) = (self.place(range.start), self.place(range.end));
        let lines = self.lines_before.get(start).copied().unwrap_or_default();
        let least_lines = LanguageSupport::for_language(self.language)
            .holes
            .least_lines;
        lines >= least_lines && REFERENCE_TOKENS.contains(&(end - start))
    }
}

/// Returns the ranges of the statements that import something, from anywhere.
fn import_statements(root: Node<'_>, language: &Language) -> Nesting<()> {
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if is_import(language, node) {
            found.push((node.byte_range(), ()));
            continue;
        }
        let mut cursor = node.walk();
        pending.extend(node.named_children(&mut cursor));
    }
    Nesting::new(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTHON_FILES: [&str; 2] = ["shop/cart.py", "shop/rates.py"];

    /// Enough lines of code before the cursor.
    const PYTHON_HEAD: &str = "import os\nfrom shop.cart import Cart, total as sum_up\nfrom . import rates\n\nA = 1\nB = 2\nC = 3\nD = 4\nE = 5\nF = 6\nG = 7\nH = 8\nI = 9\n\n\n";

    const TYPESCRIPT_FILES: [&str; 2] = ["src/cart.ts", "src/rates.ts"];

    fn found(
        id: &str,
        path: &str,
        contents: &str,
        files: &[&str],
        seed: u64,
    ) -> Vec<HoleCandidate> {
        let file = SourceFile {
            path: path.into(),
            contents: contents.into(),
            language: Language::by_id(id).expect("the language is in the table"),
        };
        let coverage = LineCoverage {
            tested: &|_| true,
            at_import: &|_| false,
        };
        find_api_candidates(
            "demo",
            &file,
            &files.iter().copied().collect(),
            coverage,
            seed,
        )
    }

    /// Returns each hole, marked in its lines, over some seeds.
    fn marked(id: &str, path: &str, contents: &str, files: &[&str]) -> String {
        let mut shown: BTreeSet<(usize, String)> = BTreeSet::new();
        for seed in 0..12 {
            for candidate in found(id, path, contents, files, seed) {
                let (start, end) = (candidate.hole.start.0, candidate.hole.end.0);
                let from = contents[..start].rfind('\n').map_or(0, |index| index + 1);
                let to = contents[end..]
                    .find('\n')
                    .map_or(contents.len(), |index| end + index);
                let line = format!(
                    "{}[{}]{}",
                    contents[from..start].trim_start(),
                    &contents[start..end],
                    &contents[end..to]
                );
                shown.insert((start, line));
            }
        }
        let lines: Vec<String> = shown.into_iter().map(|(_, line)| line).collect();
        lines.join("\n")
    }

    fn python(function: &str) -> String {
        let contents = format!("{PYTHON_HEAD}{function}");
        marked("python", "shop/main.py", &contents, &PYTHON_FILES)
    }

    fn typescript(function: &str) -> String {
        let head: String = (0..30)
            .map(|index| format!("const a{index} = {index};\n"))
            .collect();
        let contents = format!(
            "import fs from 'node:fs';\nimport {{ Cart, total }} from './cart';\nimport * as rates from './rates.js';\n\n{head}{function}"
        );
        marked("typescript", "src/main.ts", &contents, &TYPESCRIPT_FILES)
    }

    #[test]
    fn members_of_imported_names_in_python() {
        insta::assert_snapshot!(python(
            "def f(item):\n    cart = Cart(item)\n    os.remove(item)\n    price = 2 * cart.price(item)\n    again = cart.price(item)\n    if item and rates.of(item) > 3:\n        return sum_up(item).in_euros(price, again)\n    return item.price(1)\n"
        ), @r#"
price [= 2 * cart.price(item)]
price = [2 * cart.price(item)]
price = 2 [* cart.price(item)]
price = 2 * cart[.price(item)]
price = 2 * cart.[price(item)]
if [item and rates.of(item) > 3:]
if item [and rates.of(item) > 3:]
if item and [rates.of(item) > 3:]
if item and rates[.of(item) > 3:]
if item and rates.[of(item) > 3:]
return [sum_up(item).in_euros(price, again)]
return sum_up[(item).in_euros(price, again)]
return sum_up([item).in_euros(price, again)]
return sum_up(item[).in_euros(price, again)]
return sum_up(item)[.in_euros(price, again)]
return sum_up(item).[in_euros(price, again)]
"#);
    }

    #[test]
    fn names_and_members_in_typescript() {
        insta::assert_snapshot!(typescript(
            "export function f(item: Item, cart: Cart | undefined): number {\n  const sum = total(item, cart);\n  const fresh = new Cart(item);\n  if (sum > fresh.limit(item)) { return 1; }\n  const rate = item.rate + rates.of(item, fs)\n  item.put(total(item));\n  return cart?.price(item);\n}\n"
        ), @r#"
const [sum = total(item, cart);]
const sum [= total(item, cart);]
const sum = [total(item, cart);]
if [(sum > fresh.limit(item)) {] return 1; }
if ([sum > fresh.limit(item)) {] return 1; }
if (sum [> fresh.limit(item)) {] return 1; }
if (sum > [fresh.limit(item)) {] return 1; }
if (sum > fresh[.limit(item)) {] return 1; }
const [rate = item.rate + rates.of(item, fs)]
const rate = [item.rate + rates.of(item, fs)]
const rate = item[.rate + rates.of(item, fs)]
const rate = item.[rate + rates.of(item, fs)]
const rate = item.rate [+ rates.of(item, fs)]
const rate = item.rate + [rates.of(item, fs)]
const rate = item.rate + rates[.of(item, fs)]
const rate = item.rate + rates.[of(item, fs)]
return [cart?.price(item);]
return cart[?.price(item);]
return cart?.[price(item);]
"#);
    }

    #[test]
    fn members_of_what_attributes_hold() {
        let uses = |shown: &str| -> BTreeSet<String> {
            let lines = shown.lines();
            lines.map(|line| line.replace(['[', ']'], "")).collect()
        };
        let held = python(
            "class Basket:\n    def __init__(self, other):\n        self.cart = Cart(other)\n        self.other = other\n        self.both = Cart(other)\n        self.both = other\n\n    def fill(self, item):\n        return 1 + self.cart.price(item)\n\n    def drop(self, item):\n        return 1 + self.other.price(item) + self.both.price(item)\n\n    def safe(self, item):\n        try:\n            return 0\n        except rates as caught:\n            return 1 + caught.told(item)\n\n\n@dataclass(frozen=True)\nclass Line:\n    cart: Cart\n    item: Item\n\n    def total(self, item):\n        return 1 + self.cart.total(item) + self.item.total(item)\n\n\nclass Plain:\n    cart: Cart\n\n    def total(self, item):\n        return 1 + self.cart.last(item)\n",
        );
        assert_eq!(
            uses(&held),
            BTreeSet::from([
                "return 1 + caught.told(item)".to_owned(),
                "return 1 + self.cart.price(item)".to_owned(),
                "return 1 + self.cart.total(item) + self.item.total(item)".to_owned(),
            ])
        );
        let held = typescript(
            "class Basket {\n  private fresh = new Cart();\n  item: Item;\n  constructor(private readonly cart: Cart, plain: Cart) {\n    this.item = plain;\n  }\n  fill(item: Item): number {\n    return 1 + this.cart.price(item);\n  }\n  more(item: Item): number {\n    return 1 + this.item.price(item) + this.plain.limit(item);\n  }\n  last(item: Item): number {\n    return 1 + this.fresh.last(item);\n  }\n}\n",
        );
        assert_eq!(
            uses(&held),
            BTreeSet::from([
                "return 1 + this.cart.price(item);".to_owned(),
                "return 1 + this.fresh.last(item);".to_owned(),
            ])
        );
    }

    #[test]
    fn other_things_of_the_same_name_are_no_use() {
        for function in [
            "def f(rates):\n    return 1 + rates.of(1)\n",
            "def f(many):\n    for rates in many:\n        log(rates.of(1))\n",
            "def f(many):\n    return [rates.of(1) for rates in many]\n",
            "def f(many):\n    cart = Cart(1)\n    cart = many\n    return cart.price(1)\n",
            "def f(many):\n    return rates.__name__ + many\n",
        ] {
            assert_eq!(python(function), "");
        }
        for function in [
            "function f(total: Adder) {\n  return 1 + total(1, 2);\n}\n",
            "function f() {\n  const { total, other } = make();\n  return 1 + total(1, 2);\n}\n",
            "function f(item: Item) {\n  return item.total(1, 2) + item.Cart(3);\n}\n",
        ] {
            assert_eq!(typescript(function), "");
        }
        assert_ne!(
            typescript("function f() {\n  return 1 + total(1, 2);\n}\n"),
            ""
        );
    }

    #[test]
    fn no_reference_goes_on_after_what_the_scorer_cuts_at() {
        let function = |argument: &str| {
            typescript(&format!(
                "function f(a: number) {{\n  return 1 + total(a, {argument});\n}}\n"
            ))
        };
        assert_ne!(function("`a`"), "");
        assert_eq!(function("`${a}`"), "");
        assert_eq!(function("\";\""), "");
        let before = "function f(a: number) {\n  return add(a, `${a}`) + total(a, a);\n}\n";
        let shown = typescript(before);
        assert!(
            shown.contains("total(a, a)") && !shown.contains("[add"),
            "{shown}"
        );
    }

    #[test]
    fn of_one_undefined_name_the_first_use_counts() {
        let twice = "def f(a):\n    b = rates.of(a)\n    return b + rates.of(b)\n";
        assert!(!python(twice).contains("rates.of(b)"), "{}", python(twice));
        // The first use has no token before it in its line, and the second is not the first.
        let begins = "function f(a: number) {\n  total(a, 1);\n  return 1 + total(a, 2);\n}\n";
        assert_eq!(typescript(begins), "");
    }

    #[test]
    fn filters_are_those_of_the_paper() {
        let function = "def f(a):\n    return 1 + rates.of(a)\n";
        let count = |head: &str| {
            let contents = format!("{head}{function}");
            found("python", "shop/main.py", &contents, &PYTHON_FILES, 0).len()
        };
        assert_eq!(count(PYTHON_HEAD), 1);
        // Nine lines of code, the cursor's among them; imports, remarks and blank lines are none.
        let short = PYTHON_HEAD.replace("G = 7\nH = 8\n", "import a\n# one\n\n# two\n");
        assert_eq!(count(&short), 0);
        let tokens = |arguments: &str| {
            let contents = format!("{PYTHON_HEAD}def f(a):\n    return rates.of({arguments})\n");
            found("python", "shop/main.py", &contents, &PYTHON_FILES, 1).len()
        };
        assert_eq!(tokens("a"), 1);
        assert_eq!(tokens(&["a"; 20].join(", ")), 0);
        let contents = format!("{PYTHON_HEAD}def f(a):\n    return 1 + rates.of\n");
        let ends: BTreeSet<usize> = (0..12)
            .flat_map(|seed| found("python", "shop/main.py", &contents, &PYTHON_FILES, seed))
            .map(|candidate| contents.len() - 1 - candidate.hole.start.0)
            .collect();
        // `rates.of` has three tokens, `of` and `.of` have fewer.
        assert_eq!(ends, BTreeSet::from([8, 10, 12]));
    }

    #[test]
    fn duplicate_references_are_left_out() {
        let contents = format!("{PYTHON_HEAD}def f(a):\n    return 1 + rates.of(a)\n");
        let mut both = found("python", "shop/main.py", &contents, &PYTHON_FILES, 0);
        both.extend(found(
            "python",
            "shop/other.py",
            &contents,
            &PYTHON_FILES,
            0,
        ));
        both[1].hole.reference = both[0].hole.reference.replace(' ', "  ");
        let left = deduplicate(both);
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].hole.path, "shop/main.py");
    }

    #[test]
    fn members_of_imported_classes_in_csharp() {
        let head: String = (0..20)
            .map(|index| format!("  int a{index} = {index};\n"))
            .collect();
        let contents = format!(
            "using System.Collections.Generic;\nusing Shop.Cart;\n\nnamespace Shop.Main;\n\nclass Main {{\n  private readonly Cart cart = Cart.Empty();\n{head}\n  int F(List<Cart> carts, Rates rates) {{\n    carts.Add(cart);\n    var price = cart.PriceOf(rates);\n    foreach (Cart one in carts) price += one.Total(carts).Cents();\n    var fresh = new Cart(price);\n    string label = fresh.Name(price).Trim();\n    return label.Length + fresh.GetHashCode() + Rates.Of(label);\n  }}\n}}\n"
        );
        let files = ["src/Cart/Cart.cs", "src/Cart/Rates.cs", "src/Main/Main.cs"];
        insta::assert_snapshot!(marked("csharp", "src/Main/Main.cs", &contents, &files), @r#"
var [price = cart.PriceOf(rates);]
var price [= cart.PriceOf(rates);]
var price = [cart.PriceOf(rates);]
var price = cart[.PriceOf(rates);]
var price = cart.[PriceOf(rates);]
foreach (Cart one in carts) [price += one.Total(carts).Cents();]
foreach (Cart one in carts) price [+= one.Total(carts).Cents();]
foreach (Cart one in carts) price += [one.Total(carts).Cents();]
foreach (Cart one in carts) price += one[.Total(carts).Cents();]
foreach (Cart one in carts) price += one.[Total(carts).Cents();]
string [label = fresh.Name(price).Trim();]
string label [= fresh.Name(price).Trim();]
string label = [fresh.Name(price).Trim();]
string label = fresh[.Name(price).Trim();]
string label = fresh.[Name(price).Trim();]
return [label.Length + fresh.GetHashCode() + Rates.Of(label);]
return label.[Length + fresh.GetHashCode() + Rates.Of(label);]
return label.Length + [fresh.GetHashCode() + Rates.Of(label);]
return label.Length + fresh.[GetHashCode() + Rates.Of(label);]
return label.Length + fresh.GetHashCode([) + Rates.Of(label);]
return label.Length + fresh.GetHashCode() [+ Rates.Of(label);]
return label.Length + fresh.GetHashCode() + [Rates.Of(label);]
return label.Length + fresh.GetHashCode() + Rates.[Of(label);]
"#);
    }

    #[test]
    fn members_of_imported_classes_in_java() {
        let head: String = (0..20)
            .map(|index| format!("  int a{index} = {index};\n"))
            .collect();
        let contents = format!(
            "package shop.main;\n\nimport java.util.List;\nimport shop.cart.Cart;\nimport shop.cart.Rates;\n\nclass Main {{\n  private final Cart cart = Cart.empty();\n{head}\n  int f(List<Cart> carts, Rates rates) {{\n    carts.add(cart);\n    int price = cart.priceOf(rates);\n    for (Cart one : carts) price += one.total(carts).cents();\n    Cart fresh = new Cart(price);\n    String label = fresh.name(price).trim();\n    return label.length() + fresh.hashCode() + Rates.of(label);\n  }}\n}}\n"
        );
        let files = [
            "src/shop/cart/Cart.java",
            "src/shop/cart/Rates.java",
            "src/shop/main/Main.java",
        ];
        insta::assert_snapshot!(marked("java", "src/shop/main/Main.java", &contents, &files), @r"
int [price = cart.priceOf(rates);]
int price [= cart.priceOf(rates);]
int price = [cart.priceOf(rates);]
int price = cart[.priceOf(rates);]
int price = cart.[priceOf(rates);]
for (Cart one : carts) [price += one.total(carts).cents();]
for (Cart one : carts) price += [one.total(carts).cents();]
for (Cart one : carts) price += one[.total(carts).cents();]
for (Cart one : carts) price += one.[total(carts).cents();]
String [label = fresh.name(price).trim();]
String label [= fresh.name(price).trim();]
String label = [fresh.name(price).trim();]
String label = fresh[.name(price).trim();]
String label = fresh.[name(price).trim();]
return label[.length() + fresh.hashCode() + Rates.of(label);]
return label.[length() + fresh.hashCode() + Rates.of(label);]
return label.length[() + fresh.hashCode() + Rates.of(label);]
return label.length([) + fresh.hashCode() + Rates.of(label);]
return label.length() + fresh.[hashCode() + Rates.of(label);]
return label.length() + fresh.hashCode[() + Rates.of(label);]
return label.length() + fresh.hashCode([) + Rates.of(label);]
return label.length() + fresh.hashCode() + [Rates.of(label);]
return label.length() + fresh.hashCode() + Rates.[of(label);]
");
    }
}
