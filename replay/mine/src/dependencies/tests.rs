use fillrate_syntax::Language;

use super::*;

/// Files under headings `//- path`, one of which has `$0` in the function under test.
fn repository(fixture: &str) -> (Vec<SourceFile>, String, usize) {
    let mut files: Vec<SourceFile> = Vec::new();
    let mut cursor = None;
    for section in fixture.split("//- ").skip(1) {
        let (path, contents) = section.split_once('\n').expect("a heading ends its line");
        let mut contents = contents.to_owned();
        if let Some(at) = contents.find("$0") {
            contents.replace_range(at..at + 2, "");
            cursor = Some((path.to_owned(), at));
        }
        files.push(SourceFile {
            path: path.to_owned(),
            language: Language::for_path(std::path::Path::new(path)).expect("it is in the table"),
            contents,
        });
    }
    let (path, at) = cursor.expect("the fixture has a cursor");
    (files, path, at)
}

/// Dependencies of the function around the cursor, one a line: its depth, name, owner and sort, its
/// file, and the first line of its definition.
fn listed(fixture: &str, depth: usize) -> String {
    let (files, path, at) = repository(fixture);
    let repository = DependencyIndex::new(&files);
    let function = repository
        .function_around(&path, &(at..at))
        .expect("the cursor is in a function");
    let lines: Vec<String> = repository
        .dependencies(&path, &function, &function, depth)
        .iter()
        .map(|found| {
            let owner = found
                .owner
                .as_ref()
                .map_or(String::new(), |owner| format!("{owner}."));
            let text = repository.text(found, Detail::Whole);
            format!(
                "{} {owner}{}{} {:?} in {}: {}",
                found.depth,
                found.name,
                if found.called { "()" } else { "" },
                found.kind,
                found.path,
                text.lines().next().unwrap_or_default(),
            )
        })
        .collect();
    lines.join("\n")
}

const PYTHON: &str = r#"//- shop/__init__.py
from .cart import Cart as Basket, total
from . import rates
//- shop/cart.py
import json

from shop import rates

LIMIT = 3


class Base:
    """What all have."""

    kind = "base"

    def size(self):
        return len(self.items) + LIMIT


class Cart(Base):
    """Items to buy."""

    @classmethod
    def of(cls, items):
        """Makes one."""
        return cls(items)

    def __init__(self, items):
        self.items = items

    @property
    def price(self) -> float:
        """What all
        items cost."""
        return sum(rates.of(item) for item in self.items)


def total(cart: Cart) -> float:
    """The price in full."""
    return rates.rounded(cart.price)
//- shop/rates.py
TABLE = {}


def of(item):
    return TABLE[item]


def rounded(number):
    return rounded(number - 1)
"#;

fn python(function: &str) -> String {
    listed(&format!("{PYTHON}//- main.py\n{function}"), 1)
}

#[test]
fn names_through_packages_aliases_and_modules() {
    insta::assert_snapshot!(python(
        "import os\nimport shop.cart as c, shop.rates\nfrom shop import Basket, rates as r, gone\n\nBEST = 3\n\n\ndef f(item, BEST):\n    $0os.remove(item, total=BEST)\n    if gone():\n        return g(f)\n    return c.total(Basket(item)) + r.of(item) + shop.rates.rounded(2)\n\n\n@decorated\ndef g(a):\n    return a\n"
    ), @r#"
1 g() Function in main.py: @decorated
1 total() Function in shop/cart.py: def total(cart: Cart) -> float:
1 Basket() Class in shop/cart.py: class Cart(Base):
1 of() Function in shop/rates.py: def of(item):
1 rounded() Function in shop/rates.py: def rounded(number):
"#);
}

#[test]
fn members_of_classes_and_instances() {
    insta::assert_snapshot!(python(
        "from shop.cart import *\n\nshared = Cart([])\n\n\nclass Big(Cart):\n    def size(self):\n        $0own = self.extra() + super().size()\n        cart = Cart.of(own)\n        other = Cart(own)\n        return other.price + self.kind + shared.price + cart.price\n\n    def extra(self):\n        return 1\n"
    ), @r#"
1 Big.extra() Function in main.py: def extra(self):
1 Base.size() Function in shop/cart.py: def size(self):
1 Cart() Class in shop/cart.py: class Cart(Base):
1 Cart.of() Function in shop/cart.py: @classmethod
1 Cart.price Function in shop/cart.py: @property
1 Base.kind Variable in shop/cart.py: kind = "base"
1 shared Variable in main.py: shared = Cart([])
"#);
}

#[test]
fn what_a_function_binds_itself_is_no_dependency() {
    insta::assert_snapshot!(python(
        "from shop import total, rates, Basket\n\ncount = 0\n\n\ndef f(total, cart: Basket):\n    $0global count\n    count = 1\n    rates = [total for Basket in total]\n    def g():\n        return count\n    return g() + rates.of + cart.price + (lambda Basket: Basket)(1)\n"
    ), @r#"
1 Basket Class in shop/cart.py: class Cart(Base):
1 count Variable in main.py: count = 0
1 Cart.price Function in shop/cart.py: @property
"#);
}

/// A comment behind the decorator hid it.
#[test]
fn overloads_are_no_definitions() {
    insta::assert_snapshot!(python(
        "import typing\n\n\n@typing.overload  # noqa\ndef g(a: int): ...\n\n\n@overload\ndef g(a: str): ...\n\n\ndef g(a):\n    return a\n\n\ndef f(a):\n    $0return g(a)\n"
    ), @"1 g() Function in main.py: def g(a):");
}

#[test]
fn dependencies_of_dependencies() {
    let all = listed(
        &format!(
            "{PYTHON}//- main.py\nfrom shop import total\n\n\ndef f(item):\n    return $0total(item)\n"
        ),
        9,
    );
    insta::assert_snapshot!(all, @r#"
1 total() Function in shop/cart.py: def total(cart: Cart) -> float:
2 Cart Class in shop/cart.py: class Cart(Base):
2 rounded() Function in shop/rates.py: def rounded(number):
2 Cart.price Function in shop/cart.py: @property
3 Base Class in shop/cart.py: class Base:
3 of() Function in shop/rates.py: def of(item):
4 LIMIT Variable in shop/cart.py: LIMIT = 3
4 TABLE Variable in shop/rates.py: TABLE = {}
"#);
}

const TYPESCRIPT: &str = r#"//- src/index.ts
export * from './cart';
export { rate as rateOf, default as Table } from './rates.js';
export * as rates from './rates';
//- src/cart/index.ts
import { rate } from '../rates';

/** What is bought. */
export interface Item {
  id: string;
}

/**
 * Items to buy.
 */
export class Cart {
  private items: Item[] = [];

  constructor(readonly owner: string) {}

  /** Their price. */
  price(): number {
    return this.items.map(rate).reduce((a, b) => a + b, 0);
  }
}

export const total = (cart: Cart): number => cart.price();
const hidden = 1;
//- src/rates.ts
import type { Item } from './cart';

export default class Table {}

// The rate of an item.
export function rate(item: Item): number {
  return item.id.length;
}
"#;

fn typescript(function: &str) -> String {
    listed(&format!("{TYPESCRIPT}//- src/main.ts\n{function}"), 1)
}

#[test]
fn names_through_barrels_defaults_and_namespaces() {
    insta::assert_snapshot!(typescript(
        "import fs from 'node:fs';\nimport { Cart, total as sum, rateOf, rates, hidden } from '.';\nimport Best, * as direct from './rates';\n\nconst LIMIT = 3;\n\nexport function f(item: Item): number {\n  $0const cart = new Cart('a');\n  const table = new Best();\n  fs.rm(item, { total: LIMIT });\n  return sum(cart) + rateOf(item) + rates.rate(item) + direct.rate(item) + cart.price() + hidden;\n}\n"
    ), @r#"
1 Cart() Class in src/cart/index.ts: /**
1 Best() Class in src/rates.ts: export default class Table {}
1 LIMIT Variable in src/main.ts: const LIMIT = 3;
1 sum() Function in src/cart/index.ts: export const total = (cart: Cart): number => cart.price();
1 rateOf() Function in src/rates.ts: // The rate of an item.
1 Cart.price() Function in src/cart/index.ts: /** Their price. */
"#);
}

#[test]
fn members_of_typescript_classes() {
    insta::assert_snapshot!(typescript(
        "import { Cart, type Item } from './index';\n\nclass Big extends Cart {\n  limit: number = 3;\n  size(item: Item, other: Cart): number {\n    $0return this.limit + super.price() + other.price() + this.price() + item.id.length;\n  }\n}\n"
    ), @r#"
1 Item Type in src/cart/index.ts: /** What is bought. */
1 Cart Class in src/cart/index.ts: /**
1 Big.limit Variable in src/main.ts: limit: number = 3
1 Cart.price() Function in src/cart/index.ts: /** Their price. */
1 Item.id Variable in src/cart/index.ts: id: string
"#);
}

#[test]
fn three_forms_of_a_definition() {
    let forms = |fixture: String| {
        let (files, path, at) = repository(&fixture);
        let repository = DependencyIndex::new(&files);
        let around = repository
            .function_around(&path, &(at..at))
            .expect("it is in one");
        let found = repository.dependencies(&path, &around, &around, 1);
        let mut shown = String::new();
        for form in [Detail::Documented, Detail::Signature] {
            shown += &format!("== {form:?}\n");
            for dependency in outermost(&found) {
                shown += &format!("{}\n", repository.text(dependency, form));
            }
        }
        shown
    };
    insta::assert_snapshot!(forms(format!(
        "{PYTHON}//- main.py\nfrom shop.cart import Cart, LIMIT, total\n\ndef f():\n    return $0total(Cart(LIMIT)).price\n"
    )), @r#"
== Documented
def total(cart: Cart) -> float:
    """The price in full."""
class Cart(Base):
    """Items to buy."""

    def of(cls, items):
        """Makes one."""

    def __init__(self, items):

    def price(self) -> float:
        """What all
        items cost."""
LIMIT = 3
== Signature
def total(cart: Cart) -> float:
class Cart(Base):

    def of(cls, items):

    def __init__(self, items):

    def price(self) -> float:
LIMIT = 3
"#);
    insta::assert_snapshot!(forms(format!(
        "{TYPESCRIPT}//- src/main.ts\nimport {{ Cart, Item, rateOf, total }} from './index';\n\nfunction f(a: Item) {{\n  return $0total(new Cart(rateOf(a)));\n}}\n"
    )), @r#"
== Documented
/** What is bought. */
export interface Item {
  id: string;
}
export const total = (cart: Cart): number =>
/**
 * Items to buy.
 */
export class Cart {
  private items: Item[] = []
  constructor(readonly owner: string)
  /** Their price. */
  price(): number
}
// The rate of an item.
export function rate(item: Item): number
== Signature
export interface Item {
  id: string;
}
export const total = (cart: Cart): number =>
export class Cart {
  private items: Item[] = []
  constructor(readonly owner: string)
  price(): number
}
export function rate(item: Item): number
"#);
}

/// Regression: each file was searched once for every path that leads to it.
#[test]
fn files_that_give_on_all_of_each_other_are_gone_through_once() {
    let all: String = (0..12)
        .map(|index| format!("export * from './f{index}';\n"))
        .collect();
    let files: String = (0..12)
        .map(|index| format!("//- f{index}.ts\n{all}export const a{index} = 1;\n"))
        .collect();
    let fixture = format!(
        "{files}//- main.ts\nimport {{ a7, gone }} from './f0';\n\nfunction f() {{\n  return $0gone(a7);\n}}\n"
    );
    insta::assert_snapshot!(listed(&fixture, 3), @"1 a7 Variable in f7.ts: export const a7 = 1;");
}

#[test]
fn circles_end() {
    insta::assert_snapshot!(listed(
        "//- a.py\nfrom b import *\nfrom b import x as y\nz = y\n\n\ndef f():\n    $0y()\n    z.w()\n    return g()\n//- b.py\nfrom a import *\nfrom a import y as x\n\n\nclass A(B):\n    pass\n\n\nclass B(A):\n    pass\n\n\ndef g():\n    return f() + B.c\n\n\ndef f():\n    return g()\n",
        5,
    ), @r#"
1 z Variable in a.py: z = y
1 g() Function in b.py: def g():
2 f() Function in b.py: def f():
2 B Class in b.py: class B(A):
3 A Class in b.py: class A(B):
"#);
}

const STATEMENTS: [&str; 8] = [
    "a = Basket(a)",
    "b = a.price + of",
    "import shop.rates as r",
    "total = r.of(a)",
    "return total(a, LIMIT)",
    "for of in helper(a): other.price()",
    "g = lambda r: r.of + shop.rates.TABLE",
    "helper(f(Other().size()).price)",
];

const HEADS: [&str; 5] = [
    "from shop import *",
    "from shop import Basket, total as other",
    "import shop.rates",
    "from shop.cart import LIMIT, Cart as Other",
    "from shop.rates import of",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn dependencies_are_named_where_they_are_used_and_lie_apart_from_the_code(
        heads in proptest::sample::subsequence(&HEADS[..], 0..=5),
        statements in proptest::sample::subsequence(&STATEMENTS[..], 1..=8),
        depth in 2_usize..6,
    ) {
        let helper = "def helper(a):\n    return other(helper(a))\n";
        let body = statements.join("\n    ");
        let fixture = format!(
            "{PYTHON}//- main.py\n{}\n\n\ndef f(a):\n    $0{body}\n\n\n{helper}",
            heads.join("\n")
        );
        let (files, path, at) = repository(&fixture);
        let repository = DependencyIndex::new(&files);
        let function = repository.function_around(&path, &(at..at)).expect("it is in one");
        let near = repository.dependencies(&path, &function, &function, 1);
        let far = repository.dependencies(&path, &function, &function, depth);
        proptest::prop_assert_eq!(&far[..near.len()], &near[..]);
        let source = |path: &str| {
            let file = files.iter().find(|file| file.path == path);
            file.map(|file| file.contents.as_str()).expect("it is one of them")
        };
        for found in &near {
            proptest::prop_assert!(source(&path)[function.clone()].contains(&found.name));
        }
        let mut places = BTreeSet::new();
        for found in &far {
            let there = &found.range;
            proptest::prop_assert!(places.insert((found.path.clone(), there.start, there.end, found.index)));
            proptest::prop_assert!(source(&found.path).get(there.clone()).is_some());
            let touches = there.start < function.end && function.start < there.end;
            proptest::prop_assert!(found.path != path || !touches);
            let whole = repository.text(found, Detail::Whole).len();
            let documented = repository.text(found, Detail::Documented).len();
            let signature = repository.text(found, Detail::Signature).len();
            // A blank line is before each member if documentation is shown.
            proptest::prop_assert!(signature <= documented && documented <= whole + 16);
        }
        let apart = outermost(&far);
        for (index, one) in apart.iter().enumerate() {
            for other in &apart[index + 1..] {
                let same = one.path == other.path && one.range != other.range;
                let touch = one.range.start < other.range.end && other.range.start < one.range.end;
                proptest::prop_assert!(!(same && touch));
            }
        }
    }
}

#[test]
fn dependencies_in_go() {
    let fixture = r#"//- shop/money/money.go
package money

// Amount is a sum.
type Amount int

func (a Amount) Double() Amount { return a * two() }

func New(n int) Amount { return Amount(n) }
//- shop/money/more.go
package money

const factor = 2

func two() Amount { return factor }
//- shop/cart.go
package shop

import "example.com/shop/money"

type Cart struct {
	Name string
	sum  money.Amount
}

func (c *Cart) Add(a money.Amount) {
	c.sum += a.Double() + $0limit
	other := &Cart{Name: "x"}
	other.reset(money.New(1))
}

func (c *Cart) reset(limit money.Amount) { c.sum = limit }
//- shop/limits.go
package shop

var limit = money.Amount(3)
"#;
    insta::assert_snapshot!(listed(fixture, 2), @r#"
1 Cart() Class in shop/cart.go: type Cart struct {
1 Amount Class in shop/money/money.go: // Amount is a sum.
1 Cart.sum Variable in shop/cart.go: sum  money.Amount
1 Amount.Double() Function in shop/money/money.go: func (a Amount) Double() Amount { return a * two() }
1 limit Variable in shop/limits.go: var limit = money.Amount(3)
1 Cart.reset() Function in shop/cart.go: func (c *Cart) reset(limit money.Amount) { c.sum = limit }
1 New() Function in shop/money/money.go: func New(n int) Amount { return Amount(n) }
2 two() Function in shop/money/more.go: func two() Amount { return factor }
"#);
}

#[test]
fn dependencies_in_java() {
    let fixture = r#"//- src/main/java/shop/money/Amount.java
package shop.money;

/** A sum. */
public record Amount(long cents) implements Comparable<Amount> {
    public static Amount of(long cents) { return new Amount(cents); }

    public Amount plus(Amount other) { return new Amount(cents + other.cents); }
}
//- src/main/java/shop/cart/Line.java
package shop.cart;

class Line extends Part {
    int count() { return 1; }
}
//- src/main/java/shop/cart/Part.java
package shop.cart;

class Part {
    static final int LIMIT = 3;

    int weight() { return LIMIT; }
}
//- src/main/java/shop/cart/Cart.java
package shop.cart;

import java.util.List;
import shop.money.Amount;

public class Cart {
    private final Line first = new Line();
    private Amount sum;
    private List<Line> lines;

    Cart(Amount sum) { this.sum = sum; }

    Amount add(Line line) {
        int lines = line.count() + first.weight();
        check(lines);$0
        sum = sum.plus(Amount.of(lines));
        return new Cart(sum).total();
    }

    private void check(int count) { if (count > Part.LIMIT) throw new IllegalStateException(); }

    Amount total() { return this.sum; }
}
"#;
    insta::assert_snapshot!(listed(fixture, 2), @r#"
1 Amount Class in src/main/java/shop/money/Amount.java: /** A sum. */
1 Line Class in src/main/java/shop/cart/Line.java: class Line extends Part {
1 Line.count() Function in src/main/java/shop/cart/Line.java: int count() { return 1; }
1 Cart.first Variable in src/main/java/shop/cart/Cart.java: private final Line first = new Line();
1 Part.weight() Function in src/main/java/shop/cart/Part.java: int weight() { return LIMIT; }
1 Cart.check() Function in src/main/java/shop/cart/Cart.java: private void check(int count) { if (count > Part.LIMIT) throw new IllegalStateException(); }
1 Cart.sum Variable in src/main/java/shop/cart/Cart.java: private Amount sum;
1 Amount.plus() Function in src/main/java/shop/money/Amount.java: public Amount plus(Amount other) { return new Amount(cents + other.cents); }
1 Amount.of() Function in src/main/java/shop/money/Amount.java: public static Amount of(long cents) { return new Amount(cents); }
1 Cart.total() Function in src/main/java/shop/cart/Cart.java: Amount total() { return this.sum; }
2 Amount.cents Variable in src/main/java/shop/money/Amount.java: long cents
2 Part Class in src/main/java/shop/cart/Part.java: class Part {
2 Part.LIMIT Variable in src/main/java/shop/cart/Part.java: static final int LIMIT = 3;
"#);
}

#[test]
fn outlines_of_java() {
    let fixture = r#"//- shop/Cart.java
package shop;

/** What is bought. */
public class Cart<T extends Item> {
    /** The most. */
    public static final int LIMIT = 3;
    static { load(); }

    /** An empty one. */
    public Cart() {
        super();
    }

    /** Its price. */
    @Override
    public int price(T item) throws Gone {
        return item.price();
    }

    enum Size {
        SMALL, LARGE;

        int factor() { return 1; }
    }
}
//- shop/Main.java
package shop;

class Main {
    int f() { return new Cart().price(1)$0; }
}
"#;
    let (files, path, at) = repository(fixture);
    let repository = DependencyIndex::new(&files);
    let function = repository
        .function_around(&path, &(at..at))
        .expect("it is in one");
    let found = repository.dependencies(&path, &function, &function, 1);
    let class = found
        .iter()
        .find(|found| found.name == "Cart")
        .expect("it is used");
    insta::assert_snapshot!(repository.text(class, Detail::Documented), @r#"
/** What is bought. */
public class Cart<T extends Item> {
    /** The most. */
    public static final int LIMIT = 3;
    /** An empty one. */
    public Cart()
    /** Its price. */
    @Override
    public int price(T item) throws Gone
    enum Size {
        SMALL,
        LARGE;
        int factor()
    }
}
"#);
    insta::assert_snapshot!(repository.text(class, Detail::Signature), @r#"
public class Cart<T extends Item> {
    public static final int LIMIT = 3;
    public Cart()
    @Override
    public int price(T item) throws Gone
    enum Size {
        SMALL,
        LARGE;
        int factor()
    }
}
"#);
    let method = found
        .iter()
        .find(|found| found.name == "price")
        .expect("it is used");
    insta::assert_snapshot!(repository.text(method, Detail::Documented), @r#"
/** Its price. */
@Override
public int price(T item) throws Gone
"#);
    insta::assert_snapshot!(repository.text(method, Detail::Signature), @r#"
@Override
public int price(T item) throws Gone
"#);
}

#[test]
fn dependencies_in_csharp() {
    let fixture = r#"//- src/Shop/Money/Amount.cs
namespace Shop.Money;

/// A sum.
public record Amount(long Cents) {
    public Amount Plus(Amount other) { return new Amount(Cents + other.Cents); }
    public static Amount Of(long cents) => new Amount(cents);
}
//- src/Shop/Cart/Line.cs
namespace Shop.Cart
{
    class Line : Part {
        int Count() { return 1; }
    }
}
//- src/Shop/Cart/Part.cs
namespace Shop.Cart;

class Part {
    internal const int Limit = 3;
    public int Size { get; set; } = 1;
    int Weight() => Limit;
}
//- src/Shop/Cart/Cart.cs
using Shop.Money;

namespace Shop.Cart;

class Cart {
    private readonly Line first = new Line();
    private Amount sum;

    Cart(Amount sum) { this.sum = sum; }

    Amount Add(Line line) {
        var lines = line.Count() + first.Weight() + line.Size;
        Check(lines);$0
        sum = sum.Plus(Amount.Of(lines));
        return new Cart(sum).Total();
    }

    private void Check(int count) { if (count > Part.Limit) throw new Exception(); }

    Amount Total() { return this.sum; }
}
"#;
    insta::assert_snapshot!(listed(fixture, 2), @r#"
1 Amount Class in src/Shop/Money/Amount.cs: /// A sum.
1 Line Class in src/Shop/Cart/Line.cs: class Line : Part {
1 Line.Count() Function in src/Shop/Cart/Line.cs: int Count() { return 1; }
1 Cart.first Variable in src/Shop/Cart/Cart.cs: private readonly Line first = new Line();
1 Part.Weight() Function in src/Shop/Cart/Part.cs: int Weight() => Limit;
1 Part.Size Variable in src/Shop/Cart/Part.cs: public int Size { get; set; } = 1;
1 Cart.Check() Function in src/Shop/Cart/Cart.cs: private void Check(int count) { if (count > Part.Limit) throw new Exception(); }
1 Cart.sum Variable in src/Shop/Cart/Cart.cs: private Amount sum;
1 Amount.Plus() Function in src/Shop/Money/Amount.cs: public Amount Plus(Amount other) { return new Amount(Cents + other.Cents); }
1 Amount.Of() Function in src/Shop/Money/Amount.cs: public static Amount Of(long cents) => new Amount(cents);
1 Cart.Total() Function in src/Shop/Cart/Cart.cs: Amount Total() { return this.sum; }
2 Amount.Cents Variable in src/Shop/Money/Amount.cs: long Cents
2 Part Class in src/Shop/Cart/Part.cs: class Part {
2 Part.Limit Variable in src/Shop/Cart/Part.cs: internal const int Limit = 3;
"#);
}

#[test]
fn outlines_of_csharp() {
    let fixture = r#"//- Shop/Cart.cs
namespace Shop;

/// What is bought.
public class Cart<T> where T : Item {
    /// The most.
    public const int Limit = 3;

    /// An empty one.
    public Cart() : base() {
        Load();
    }

    public string Name { get; init; } = "";

    public int Count { get { return items.Count; } }

    /// Its price.
    [Pure]
    public int Price(T item) => item.Price();

    enum Size {
        Small, Large
    }
}
//- Shop/Main.cs
namespace Shop;

class Main {
    int F() { return new Cart().Price(1)$0; }
}
"#;
    let (files, path, at) = repository(fixture);
    let repository = DependencyIndex::new(&files);
    let function = repository
        .function_around(&path, &(at..at))
        .expect("it is in one");
    let found = repository.dependencies(&path, &function, &function, 1);
    let class = found
        .iter()
        .find(|found| found.name == "Cart")
        .expect("it is used");
    insta::assert_snapshot!(repository.text(class, Detail::Documented), @r#"
/// What is bought.
public class Cart<T> where T : Item {
    /// The most.
    public const int Limit = 3;
    /// An empty one.
    public Cart() : base()
    public string Name { get; init; } = "";
    public int Count
    /// Its price.
    [Pure]
    public int Price(T item)
    enum Size {
        Small,
        Large
    }
}
"#);
    insta::assert_snapshot!(repository.text(class, Detail::Signature), @r#"
public class Cart<T> where T : Item {
    public const int Limit = 3;
    public Cart() : base()
    public string Name { get; init; } = "";
    public int Count
    [Pure]
    public int Price(T item)
    enum Size {
        Small,
        Large
    }
}
"#);
}
