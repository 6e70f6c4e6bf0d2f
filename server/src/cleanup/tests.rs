use std::path::Path;

use proptest::prelude::*;

use super::*;

/// The `$0` of a fixture, as the site of a completion.
pub(super) fn site_at<'a>(id: &str, fixture: &'a str) -> CursorSite<'a> {
    let (prefix, suffix) = fixture
        .split_once("$0")
        .expect("a fixture marks its cursor");
    CursorSite {
        prefix,
        suffix,
        path: None,
        language: Language::by_id(id),
        tree: None,
        extent: CompletionExtent::Block,
        chat: false,
    }
}

/// Cleans `completion` at the `$0` of a fixture. Returns the remaining text and the rules that cut.
fn check(id: &str, fixture: &str, completion: &str) -> (String, Vec<String>) {
    let (text, decisions) = clean(completion, &site_at(id, fixture));
    let rules = decisions
        .into_iter()
        .map(|decision| decision.rule)
        .collect();
    (text, rules)
}

fn kept(id: &str, fixture: &str, completion: &str) {
    assert_eq!(
        check(id, fixture, completion),
        (completion.to_owned(), Vec::new())
    );
}

#[test]
fn text_after_cursor_ends_completion_at_its_line() {
    assert_eq!(
        check("python", "x = f($0)\n", "a, b\ny = 2"),
        ("a, b".into(), vec!["line".into()])
    );
    // Outside of all blocks, the completion ends with its statement.
    assert_eq!(
        check("python", "x = $0\n", "f(a)\ny = 2"),
        ("f(a)".into(), vec!["block".into()])
    );
    kept("python", "def f(a):\n    x = $0\n", "f(a)\n    y = 2");
}

#[test]
fn whole_lines_are_inserted_before_a_line() {
    let fixture = "def f(a):\n$0    return b\n";
    kept("python", fixture, "    b = a\n");
    kept("python", fixture, "    b = [\n        a,\n    ]\n");
    // The completion repeats the beginning of the next line.
    kept("python", "def f(a):\n$0 + a\n", "    b = a\n    return b");
    assert_eq!(
        check("python", fixture, "    b = a\n    c = (a +"),
        ("    b = a\n".into(), vec!["line".into()])
    );
    let indented = "def f(a):\n    $0return b\n";
    kept("python", indented, "b = a\n    ");
    assert_eq!(
        check("python", indented, "b = a\n    c = (a +"),
        ("b = a\n    ".into(), vec!["line".into()])
    );
}

#[test]
fn function_continues_after_its_block_ends() {
    let fixture = "def f(a):\n    if a:\n        return 1$0\n    return a\n";
    kept("python", fixture, "\n    a = g()\n    a += 1");
    assert_eq!(
        check("python", fixture, "\n\ndef g():\n    pass").0,
        String::new()
    );
}

#[test]
fn completion_ends_with_its_block() {
    let fixture = "def f(a):\n    b = a\n    $0\n\ndef g():\n    pass\n";
    assert_eq!(
        check("python", fixture, "return b\n\ndef h():\n    pass"),
        ("return b".into(), vec!["block".into(), "blank-end".into()])
    );
    kept("python", fixture, "if b:\n        return b\n    return a");
    kept("python", fixture, "b = (a,\n  b)\n    return b");
    kept("python", fixture, "b = \"\"\"\nleft\n\"\"\"\n    return b");
}

#[test]
fn stray_closing_bracket_ends_completion() {
    let fixture = "function f(a: number) {\n  $0\n}\n";
    assert_eq!(
        check("typescript", fixture, "return a;\n}\nfunction g() {}"),
        (
            "return a;".into(),
            vec!["block".into(), "brackets".into(), "blank-end".into()]
        )
    );
    kept("typescript", fixture, "if (a) {\n    return a;\n  }");
    kept("typescript", "f(a$0\n", ", b);");
    // The completion closes the call before it repeats the end of the function.
    assert_eq!(
        check(
            "typescript",
            "function f(a: number) {\n  g($0\n}\n",
            "a);\n}"
        )
        .0,
        "a);"
    );
    assert_eq!(
        check("typescript", "f(g(a$0));\n", "))"),
        (String::new(), vec!["brackets".into()])
    );
    kept("typescript", "const s = $0;\n", "\")}\"");
    kept("typescript", "const s = $0;\n", "`a ${b} c`");
}

/// Editors insert the closing bracket or quote with the opening one.
#[test]
fn auto_closed_pairs_are_not_closed_twice() {
    let complete = |id: &str, fixture: &str, completion: &str| {
        let (text, _) = check(id, fixture, completion);
        fixture.replace("$0", &text)
    };
    assert_eq!(
        complete("typescript", "if ($0)\n", "a > 1) {"),
        "if (a > 1)\n"
    );
    assert_eq!(
        complete("typescript", "const s = '$0'\n", "hello world';"),
        "const s = 'hello world'\n"
    );
    assert_eq!(
        complete("python", "print('$0')\n", "hello %s' % name)"),
        "print('hello %s')\n"
    );
    assert_eq!(
        complete(
            "typescript",
            "function area($0)\n",
            "width: number, height: number) {\n  return width * height;\n}"
        ),
        "function area(width: number, height: number)\n"
    );
    assert_eq!(
        complete(
            "python",
            "x = {$0}\n",
            "\n    'a': 1,\n    'b': 2,\n}\ny = 1\n"
        ),
        "x = {\n    'a': 1,\n    'b': 2,\n}\n"
    );
    assert_eq!(
        complete("javascript", "  if (a) {$0}\n", "\n    return a;\n  }"),
        "  if (a) {\n    return a;\n  }\n"
    );
    assert_eq!(
        complete("python", "x = f(g($0))\n", "a, b))"),
        "x = f(g(a, b))\n"
    );
    // The other quote is text of a string before.
    assert_eq!(
        complete("python", "x = a.replace('\"', \"$0\")\n", "&quot;\")"),
        "x = a.replace('\"', \"&quot;\")\n"
    );
    assert_eq!(complete("python", "x = a[$0]\n", "i]"), "x = a[i]\n");
    assert_eq!(
        complete("python", "x = f'{$0}'\n", "name}'"),
        "x = f'{name}'\n"
    );
    assert_eq!(
        complete("typescript", "if ($0)\n", "a > 1) { b(a); }"),
        "if (a > 1)\n"
    );
    // A statement without its semicolon is invalid with and without the string's end.
    for language in ["java", "csharp"] {
        let block = |line: &str| format!("class C {{ void f(int a) {{\n    {line}\n}} }}\n");
        for (line, completion, wanted) in [
            ("c = '$0'", "x';", "c = 'x'"),
            ("s = \"$0\"", "hello world\";", "s = \"hello world\""),
            ("s = \"$0\"", "a \\\"b\\\" c\";", "s = \"a \\\"b\\\" c\""),
            ("s = \"hel$0\"", "lo\" + a;", "s = \"hello\""),
            ("f($0)", "a);", "f(a)"),
            ("x[$0]", "a] = 1;", "x[a]"),
        ] {
            assert_eq!(complete(language, &block(line), completion), block(wanted));
        }
    }
}

/// The bracket or quote that the editor closed closes the last one of the completion.
// A parser may end a string that is left open at a quote of a later line, without an error here.
#[test]
fn quotes_that_the_editor_closed_are_not_closed_twice() {
    for (id, fixture, completion, wanted) in [
        (
            "java",
            "class A {\n    String f() {\n        return \"$0\";\n    }\n\n    String g() {\n        return \"x\";\n    }\n}\n",
            "Lines\" + file;",
            "Lines",
        ),
        (
            "java",
            "class A {\n    void f() {\n        new Table(\"$0\");\n        g(\"x\");\n    }\n}\n",
            "a\", \"b\");",
            "a\", \"b",
        ),
        ("python", "x = '$0'\n", "'.join(b)", ""),
        ("typescript", "f(\"$0\");\ng(\"x\");\n", "\");", ""),
        ("go", "package a\n\nvar s = f(\"$0\")\n", "\")", ""),
    ] {
        assert_eq!(check(id, fixture, completion).0, wanted, "{id}: {fixture}");
    }
    // Of the comment's apostrophe, the line is as it was.
    kept("python", "f(\"$0\")  # it's\n", "a");
    kept("python", "x = f(\"$0\")\n", "a\", \"b");
}

#[test]
fn brackets_end_completions_in_languages_without_a_grammar() {
    for (fixture, completion, wanted) in [
        ("foo($0);\n", "a, 1);", "a, 1"),
        ("foo($0);\n", "g(a), \")\"", "g(a), \")\""),
        ("println!(\"$0\");\n", "hello {}\", a);", "hello {}"),
        (
            "fn f() {\n    $0\n}\n",
            "if a {\n        b();\n    }\n}\n\nfn g() {\n    c();\n}",
            "if a {\n        b();\n    }",
        ),
    ] {
        assert_eq!(check("rust", fixture, completion).0, wanted, "{fixture}");
    }
}

#[test]
fn arguments_over_lines_are_kept_in_languages_without_a_grammar() {
    for (id, fixture, completion, wanted) in [
        (
            "rust",
            "fn main() {\n    spawn($0)\n}\n",
            "|| {\n        work();\n    }",
            "|| {\n        work();\n    }",
        ),
        (
            "rust",
            "fn main() {\n    x.map($0).collect();\n}\n",
            "|a| {\n        a + 1\n    }).collect();\n    b();\n",
            "|a| {\n        a + 1\n    }",
        ),
        (
            "cpp",
            "void f() {\n    std::sort(a, b, $0);\n}\n",
            "[](int c, int d) {\n        return c < d;\n    });\n}\n",
            "[](int c, int d) {\n        return c < d;\n    }",
        ),
        (
            "c",
            "int f(void) {\n    g($0);\n}\n",
            "a,\n      b",
            "a,\n      b",
        ),
        (
            "c",
            "int a = $0;\n",
            "f(\n    b\n);\nint c = 2;",
            "f(\n    b\n)",
        ),
        ("c", "int a = f($0, b);\n", "1,\n  2", "1"),
        ("c", "f($0);\n", "a,\n  b,\n", "a,\n  b,\n"),
        (
            "rust",
            "fn main() {\n    f($0, b);\n}\n",
            "|x| {\n        x;\n    }, b);\n    c();",
            "|x| {\n        x;\n    }",
        ),
        (
            "rust",
            "fn main() {\n    if $0 {\n    }\n}\n",
            "a && b {\n        c();\n    }",
            "a && b",
        ),
        ("rust", "fn main() {\n    spawn($0)\n}\n", "|| {\n", ""),
    ] {
        assert_eq!(check(id, fixture, completion).0, wanted, "{id}: {fixture}");
    }
}

#[test]
fn completions_without_a_grammar_end_before_the_next_thing() {
    for (id, fixture, completion, wanted) in [
        (
            "rust",
            "fn f() {\n    $0\n",
            "a();\n\n    b();\n}\n\nfn g() {\n    c();\n}\n",
            "a();\n\n    b();\n}",
        ),
        // More of the function follows.
        (
            "rust",
            "fn f() {\n    if a {\n        $0\n\n    d();\n}\n",
            "b();\n    }\n\n    c();",
            "b();\n    }\n\n    c();",
        ),
        (
            "css",
            ".a {$0\n",
            "\n  color: red;\n\n  margin: 0;\n}\n\n.b {\n}\n",
            "\n  color: red;\n\n  margin: 0;\n}",
        ),
        (
            "cpp",
            "$0\n",
            "namespace a {\n\nint b();\n\n}\n\nint c();\n",
            "namespace a {\n\nint b();\n\n}",
        ),
        (
            "markdown",
            "# Use$0\n",
            "\n\nRun it:\n```\na\n\nb\n```\n\nThen stop.\n",
            "\n\nRun it:\n```\na\n\nb\n```",
        ),
    ] {
        assert_eq!(check(id, fixture, completion).0, wanted, "{id}: {fixture}");
    }
}

#[test]
fn type_arguments_that_the_editor_closed_are_not_closed_twice() {
    for (id, fixture, completion, wanted) in [
        (
            "typescript",
            "const cache = new Map<$0>()\n",
            "string, Coin>();\n\nexport function f() {",
            "string, Coin",
        ),
        (
            "typescript",
            "const [a, setA] = useState<$0>()\n",
            "Coin[]>([]);\n",
            "Coin[]",
        ),
        (
            "java",
            "class A {\n    List<$0> a;\n}\n",
            "Coin> a = new ArrayList<>();\n\n    int b;",
            "Coin",
        ),
        (
            "java",
            "class A {\n    void f() {\n        var a = new HashMap<$0>()\n    }\n}\n",
            "String, List<Coin>>();\n        b();",
            "String, List<Coin>",
        ),
        (
            "csharp",
            "class A {\n    Dictionary<$0> coins;\n}\n",
            "string, List<Coin>> coins = new();",
            "string, List<Coin>",
        ),
        (
            "java",
            "class A {\n    private final Map<$0>\n}\n",
            "String, List<Coin>> coins = new HashMap<>();\n\n    int b;",
            "String, List<Coin>",
        ),
        (
            "java",
            "class A {\n    void f() {\n        var a = new HashMap<$0>()\n    }\n}\n",
            "String, List<Coin>",
            "String, List<Coin>",
        ),
        // These are operators.
        (
            "typescript",
            "const a = b $0> c;\n",
            "+ (d > e ? 1 : 0) ",
            "+ (d > e ? 1 : 0) ",
        ),
        (
            "typescript",
            "let a: Array<$0>;\n",
            "(b: B) => void",
            "(b: B) => void",
        ),
    ] {
        assert_eq!(check(id, fixture, completion).0, wanted, "{id}: {fixture}");
    }
}

#[test]
fn completions_go_on_after_a_bracket_that_the_editor_closed() {
    for (id, fixture, completion, text) in [
        ("python", "x = f($0)\n", "a).g(b)\ny = 2\n", "a).g(b"),
        ("python", "x = f($0)\n", "a) + g(b)", "a) + g(b"),
        ("python", "print(len($0))\n", "a) + len(b))\n", "a) + len(b"),
        ("python", "x = a[$0]\n", "0][1]\n", "0][1"),
        ("python", "x = f(\"$0\")\n", "a\", \"b\")\n", "a\", \"b"),
        (
            "python",
            "if f($0):\n",
            "a) and g(b):\n    return a\n",
            "a) and g(b",
        ),
        (
            "go",
            "func f() {\n\tx := g($0)\n}\n",
            "a).h(b)\n\treturn x\n",
            "a).h(b",
        ),
        (
            "typescript",
            "expect($0)\n",
            "sum).toBe(3);\nexpect(b)",
            "sum).toBe(3",
        ),
        (
            "typescript",
            "expect($0);\n",
            "sum).toBe(3);\nexpect(b)",
            "sum).toBe(3",
        ),
        // The blocks around are not closed yet.
        (
            "typescript",
            "function f() {\n  if (a) {\n    g('$0')\n",
            "b', 'c');\n",
            "b', 'c",
        ),
        (
            "java",
            "class C {\n  void f() {\n    g($0)\n",
            "a).h(b);\n",
            "a).h(b",
        ),
        (
            "python",
            "def f():\n    if a:\n        g($0)\n",
            "a).h(b)\n",
            "a).h(b",
        ),
        // The block is the next completion; a header of Python is no statement without its colon.
        (
            "python",
            "def f():\n    if g($0)\n",
            "a) and h(b):\n        return a\n",
            "a",
        ),
        (
            "typescript",
            "if (f(a, $0))\n",
            "b) && g(c)) {\n  d();\n}\n",
            "b) && g(c",
        ),
        // The statement may lack its semicolon.
        (
            "java",
            "class C {\n  String f() {\n    return s.map($0)\n  }\n}\n",
            "A::n).orElse(\"x\"",
            "A::n).orElse(\"x\"",
        ),
        (
            "csharp",
            "class C {\n  void F() {\n    map.Get($0)\n  }\n}\n",
            "a).Add(b",
            "a).Add(b",
        ),
        // A model that knows the suffix stops before it.
        ("typescript", "expect($0)\n", "sum).toBe(3", "sum).toBe(3"),
        (
            "typescript",
            "f($0)\n",
            "a).then(() => {\n  b();\n});\n",
            "a",
        ),
        // What follows has no bracket for the rest to close, or is a comment.
        ("python", "x = f($0)\n", "a) + b\n", "a"),
        ("python", "x = f($0)\n", "a)  # g(b)\n", "a"),
        ("javascript", "g({$0})\n", "a}, {b});\n", "a}, {b"),
    ] {
        assert_eq!(check(id, fixture, completion).0, text, "{id}: {fixture}");
    }
}

/// A completion within a line may continue if its first line alone is not correct there.
#[test]
fn lines_that_fit_before_the_rest_of_a_line_are_kept() {
    let fixture = "x = $0 + b\n";
    kept("python", fixture, "f(\n    a,\n)");
    assert_eq!(
        check("python", fixture, "f(a)\ny = 2"),
        ("f(a)".into(), vec!["line".into()])
    );
    assert_eq!(
        check("python", fixture, "f(\n    a,\n    (").0,
        // No line leaves a bracket open.
        String::new()
    );
}

/// A line that fits alone is no end where the next one continues its expression.
#[test]
fn expressions_over_lines_are_kept_up_to_their_closing_bracket() {
    let ts = "function f(coins) {\n  return $0;\n}\n";
    let call = "function f(a) {\n  log($0);\n}\n";
    let java = |line: &str| format!("class A {{\n  void f() {{\n    {line}\n  }}\n}}\n");
    let [names, info] = ["var names = $0;", "log.info($0);"].map(java);
    let csharp = "class A\n{\n    void F()\n    {\n        coins.Add($0);\n    }\n}\n";
    for (id, fixture, answer, wanted) in [
        (
            "python",
            "if ($0):\n",
            "a\n        and b):\n    go()",
            "a\n        and b",
        ),
        (
            "python",
            "if ($0):\n",
            "a\n        and (b or\n        c)\n",
            "a\n        and (b or\n        c)",
        ),
        (
            "python",
            "x = f($0)\n",
            "a if b\n    else c)\n",
            "a if b\n    else c",
        ),
        (
            "python",
            "x = [$0]\n",
            "a\n    if b\n    else c",
            "a\n    if b\n    else c",
        ),
        (
            "python",
            "names = [$0]\n",
            "coin.name\n   for coin in coins\n   if coin.value > 1]\nprint(names)\n",
            "coin.name\n   for coin in coins\n   if coin.value > 1",
        ),
        (
            "python",
            "raise ValueError($0)\n",
            "\"no coin \"\n    f\"in {purse} \"\n    f\"of {name}\")\n",
            "\"no coin \"\n    f\"in {purse} \"\n    f\"of {name}\"",
        ),
        ("python", "f($0)\n", "a,\n    b,\n  ", "a,\n    b,\n  "),
        (
            "python",
            "x = (\n    session\n    .filter($0)\n)\n",
            "x\n        for x in xs\n        if x",
            "x\n        for x in xs\n        if x",
        ),
        ("python", "x = go($0))\n", "a,\n    bar(b", "a,\n    bar(b"),
        (
            "typescript",
            ts,
            "coins\n    .filter(a)\n    .map(b)",
            "coins\n    .filter(a)\n    .map(b)",
        ),
        (
            "typescript",
            ts,
            "coins\n    // The rare ones.\n    .map((a) => {\n      go(a);\n    });\n  go();\n}",
            "coins\n    // The rare ones.\n    .map((a) => {\n      go(a);\n    })",
        ),
        (
            "typescript",
            ts,
            "coins\n    && a\n    || b;\n}",
            "coins\n    && a\n    || b",
        ),
        (
            "typescript",
            call,
            "a\n    ? b\n    : c);\n}",
            "a\n    ? b\n    : c",
        ),
        (
            "typescript",
            "type A = Array<$0>;\n",
            "\n  | \"a\"\n  | \"b\">;\nlet c;",
            "\n  | \"a\"\n  | \"b\"",
        ),
        (
            "typescriptreact",
            "const a = <b>{$0}</b>;\n",
            "open\n  ? <List/>\n  : <p/>}</b>;\n",
            "open\n  ? <List/>\n  : <p/>",
        ),
        (
            "java",
            &names,
            "coins.stream()\n      .map(a)\n      .toList();\n    go();",
            "coins.stream()\n      .map(a)\n      .toList()",
        ),
        (
            "java",
            &info,
            "\"a \" + a\n      + b);\n  }",
            "\"a \" + a\n      + b",
        ),
        (
            "csharp",
            csharp,
            "new Coin\n        {\n            Name = a,\n        });\n        Go();",
            "new Coin\n        {\n            Name = a,\n        }",
        ),
    ] {
        assert_eq!(check(id, fixture, answer).0, wanted, "{id}: {fixture}");
    }
    // A statement on the next line, even after a comment, continues nothing.
    for answer in [
        "coins\n  go()\n  stop()",
        "coins\n  // Done.\n  go()",
        "coins\n  if (a) {\n    go();\n  }",
    ] {
        assert_eq!(check("typescript", ts, answer).0, "coins", "{answer}");
    }
}

/// A line that also fits, or that begins like the rest of an expression, need not be its rest.
#[test]
fn lines_after_a_completed_line_are_no_part_of_it() {
    let case = "switch (a) {\n  case 1: return $0;\n}\n";
    let go = "package p\n\nfunc f() {\n\ts := $0.Trim(1)\n}\n";
    for (id, fixture, answer, wanted) in [
        (
            "python",
            "def f(xs):\n    mean = $0 / len(xs)\n",
            "sum(xs)\n    if mean > 3:\n        return mean\n",
            "sum(xs)",
        ),
        (
            "python",
            "def f(xs):\n    total = $0  # the sum\n",
            "sum(xs)\n    if total:\n        go()\n    for x in xs:\n        go(x)\n",
            "sum(xs)",
        ),
        (
            "python",
            "while $0:\n    pass\n",
            "xs\n        if a:\n            go()\n",
            "xs",
        ),
        (
            "typescript",
            "const s = $0.trim();\n",
            "read()\n++n;\nconst t = read()",
            "read()",
        ),
        ("typescript", case, "a;\n  case 2:\n    return b;", "a"),
        (
            "java",
            "class A { int f(int a) {\n  switch (a) {\n    case 1: return $0;\n  }\n} }\n",
            "a;\n    case 2:\n      return b;",
            "a",
        ),
        ("go", go, "read()\n\t*p = 3\n\tt := read()", "read()"),
        (
            "go",
            "package p\n\ntype C struct {\n\tName $0 // the name\n}\n",
            "string\n\tValue int\n\tMetal Metal\n",
            "string",
        ),
        (
            "typescript",
            "interface C {\n  name: $0 // the name\n}\n",
            "string;\n  value: number;\n  metal: Metal;\n",
            "string;",
        ),
        (
            "typescript",
            "const s = $0;\n",
            "(x) => {\n  return x;\n};\n",
            "(x) => {\n  return x;\n}",
        ),
        (
            "typescript",
            "import {$0} from \"a\";\n",
            " name\u{a0}",
            " name",
        ),
        (
            "typescript",
            "const o = {\n  a: 1,\n  b: $0,\n  z: 9,\n};\n",
            "go(xs),\n  c: 2,\n};\ngo(o);\n",
            "go(xs)",
        ),
    ] {
        assert_eq!(check(id, fixture, answer).0, wanted, "{id}: {fixture}");
    }
}

#[test]
fn repeated_suffix_is_removed() {
    let fixture = "def f(a):\n    $0\n    c = g(a)\n    return c\n";
    assert_eq!(
        check("python", fixture, "b = a\n    c = g(a)\n    return c"),
        ("b = a".into(), vec!["suffix".into(), "blank-end".into()])
    );
    assert_eq!(
        check("python", fixture, "b = a\n    c = g(a)"),
        ("b = a".into(), vec!["suffix".into(), "blank-end".into()])
    );
    kept("python", fixture, "b = a\n    c = h(a)");
}

#[test]
fn repeated_suffix_is_removed_up_to_its_semicolons() {
    let fixture = "function F() {\n  return (\n    <ul>\n      $0\n    </ul>\n  )\n}\n";
    let lines = "<li>one</li>\n      <li>two</li>";
    let answer = [lines, "\n    </ul>\n  );\n}\n"].concat();
    assert_eq!(check("typescriptreact", fixture, &answer).0, lines);
    // The end of a tag.
    let fixture = "function F() {\n  return (\n    <A\n      $0\n    />\n  )\n}\n";
    let answer = "b={1}\n      c={2}\n    />\n  );\n}\n";
    let text = check("typescriptreact", fixture, answer).0;
    assert_eq!(text, "b={1}\n      c={2}");
}

#[test]
fn repeated_lines_below_the_rest_of_a_line_are_removed() {
    let lines = "\n        <B />\n      ) : (\n        <C />\n      ";
    let fixture = "function F() {\n  return (\n    <div>\n      {a ? ($0)}\n    </div>\n  )\n}\n";
    for end in [")}\n    </div>", ")}\n    </div>\n  );\n}\n"] {
        let answer = [lines, end].concat();
        assert_eq!(check("typescriptreact", fixture, &answer).0, lines, "{end}");
    }
    // The closing brackets are the completion's own.
    let fixture = "run($0)\n}\n";
    kept("typescript", fixture, "() => {\n  f(\n    a\n  )\n}");
}

#[test]
fn repeated_suffix_is_removed_before_a_trailing_comment() {
    let fixture = "def f(a):\n    $0  # Sets b.\n    c = g(a)  # Sets c.\n    return c\n";
    for (answer, wanted) in [
        ("b = a  # Sets b.\n    c = g(a)  # Sets c.", "b = a"),
        ("b = a\n    c = g(a)  # Sets c.\n    return c", "b = a"),
    ] {
        assert_eq!(check("python", fixture, answer).0, wanted, "{answer}");
    }
}

#[test]
fn trailing_blanks_are_removed() {
    assert_eq!(
        check("python", "x = $0\n", "1  \n\n"),
        ("1".into(), vec!["blank-end".into()])
    );
    // Blanks that separate the completion from the next word are kept.
    kept("python", "x = $0len(a)\n", "1 if a else ");
    assert_eq!(
        check("python", "f(a, $0)\n", "b "),
        ("b".into(), vec!["blank-end".into()])
    );
}

#[test]
fn blanks_inside_of_brackets_are_kept_on_both_sides() {
    for (id, fixture, answer, wanted) in [
        ("typescript", "const {$0} = c;\n", " a, b ", " a, b "),
        ("typescript", "const {$0} = c;\n", " a, b } = c;", " a, b "),
        (
            "typescript",
            "import {$0} from \"a\";\n",
            " a, b  } from \"a\";",
            " a, b ",
        ),
        ("typescript", "const { $0} = c;\n", "a, b ", "a, b "),
        (
            "typescript",
            "const a = () => ({$0});\n",
            " b: 1 });",
            " b: 1 ",
        ),
        (
            "typescriptreact",
            "const a = <p style={{$0}}>A</p>;\n",
            " b: 1 }}>A</p>;",
            " b: 1 ",
        ),
        (
            "csharp",
            "class A { void F() {\n    var c = new Coin {$0};\n} }\n",
            " A = 1 };",
            " A = 1 ",
        ),
        (
            "go",
            "package p\n\nvar f = func() int {$0}\n",
            " return a + b }",
            " return a + b ",
        ),
        ("typescript", "const {$0} = c;\n", "a, b }", "a, b"),
        ("typescript", "f(a, $0)\n", "{ b: 1 } ", "{ b: 1 }"),
    ] {
        assert_eq!(
            check(id, fixture, answer).0,
            wanted,
            "{id}: {fixture}{answer}"
        );
    }
}

#[test]
fn unknown_language_is_unchanged() {
    let site = CursorSite {
        prefix: "a ",
        suffix: "\n",
        path: None,
        language: None,
        tree: None,
        extent: CompletionExtent::Block,
        chat: false,
    };
    assert_eq!(clean("}\nb", &site).0, "}\nb");
}

/// As [`check`], for a completion with another extent or from a chat model.
fn check_as(
    id: &str,
    extent: CompletionExtent,
    chat: bool,
    fixture: &str,
    completion: &str,
) -> String {
    let site = CursorSite {
        extent,
        chat,
        ..site_at(id, fixture)
    };
    let (text, decisions) = clean(completion, &site);
    let rules: Vec<String> = decisions
        .into_iter()
        .map(|decision| decision.rule)
        .collect();
    format!("{text}\n[{}]", rules.join(" "))
}

fn chat(fixture: &str, reply: &str) -> String {
    check_as("python", CompletionExtent::Block, true, fixture, reply)
}

#[test]
fn reasoning_is_removed() {
    insta::assert_snapshot!(chat("x = $0\n", "<think>\nf or g?\n</think>\n\nf(1)"), @r"
    f(1)
    [think]
    ");
    insta::assert_snapshot!(chat("x = $0\n", "<think>\nf or g?\n").trim(), @"[think]");
}

/// The remaining code of a chat model's reply at a hole in Python.
fn code_of(reply: &str) -> String {
    let fixture = "def area(width, height):\n    return $0\n\n\nprint(area(2, 3))\n";
    let site = CursorSite {
        chat: true,
        ..site_at("python", fixture)
    };
    clean(reply, &site).0
}

#[test]
fn reasoning_in_any_format_is_removed() {
    for reply in [
        "<think>\nA product.\n</think>\n\nwidth * height",
        "<THINK>A product.</THINK>width * height",
        "A product of both sides.\n</think>\n\nwidth * height",
        "So it is width * height.</think>width * height",
        "I write </think> here.\n</think>\nwidth * height",
        "<thinking>\nA product.\n</thinking>\nwidth * height",
        "A product.\n</thinking>\nwidth * height",
        "[THINK]A product.[/THINK]width * height",
        "<seed:think>A product.</seed:think>width * height",
        "A product.</seed:think>width * height",
        "\u{25c1}think\u{25b7}A product.\u{25c1}/think\u{25b7}width * height",
        "<|channel|>analysis<|message|>A product.<|end|><|start|>assistant<|channel|>final\
         <|message|>width * height<|return|>",
        "<|channel|>final<|message|>width * height",
        "<|start|>assistant<|channel|>commentary<|message|>Hm.<|end|><|start|>assistant\
         <|channel|>final <|constrain|>code<|message|>width * height",
        "analysisA product.assistantfinalwidth * height",
        "Let me try:\n\n```python\nwidth + height\n```\n\nNo.\n</think>\nwidth * height",
        "<think>\n```python\nwidth + height\n```\n</think>\n```python\nwidth * height\n```",
    ] {
        assert_eq!(code_of(reply), "width * height", "{reply}");
    }
    for reply in [
        "<think>\nA product is",
        "[THINK]A product is",
        "<seed:think>A product is",
        "<|channel|>analysis<|message|>A product is",
        "<|start|>assistant",
    ] {
        assert_eq!(code_of(reply), "", "{reply}");
    }
    // A file about such marks contains them itself.
    let fixture = "mark = \"</think>\"\nother = $0\n";
    assert_eq!(
        chat(fixture, "mark + \"</think>\""),
        "mark + \"</think>\"\n[]"
    );
}

#[test]
fn own_mark_is_always_removed() {
    for reply in [
        "<<CURSOR>>width * height",
        "width * height<<CURSOR>>",
        "<<CURSOR>>width * height<<CURSOR>>",
        "<<CURSOR-2>>width * height",
        "    return <<CURSOR>>width * height",
        "width * height<<CURS",
        "width * height<<CURSOR-",
        "```python\n<<CURSOR>>width * height\n```",
        "width * height<<CURSOR>>\n\n\nprint(area(2, 3))",
    ] {
        assert_eq!(code_of(reply), "width * height", "{reply}");
    }
    let fixture = "mark = \"<<CURSOR>>\"\nother = $0\n";
    assert_eq!(chat(fixture, "\"<<CURSOR>>\""), "\"<<CURSOR>>\"\n[]");
}

#[test]
fn wrapping_of_reply_is_removed() {
    for reply in [
        "~~~python\nwidth * height\n~~~",
        "````python\nwidth * height\n````",
        "```python width * height```",
        "```width * height```",
        "```python\nwidth * height```",
        "`width * height`",
        "``width * height``",
        "<code>width * height</code>",
        "<pre><code class=\"language-python\">\nwidth * height\n</code></pre>",
        "<answer>\nwidth * height\n</answer>",
        "**Answer:**\n\nwidth * height",
        "Completion:\nwidth * height",
        "Here is the code:\n~~~\nwidth * height\n~~~\nIt multiplies.",
    ] {
        assert_eq!(code_of(reply), "width * height", "{reply}");
    }
    // A template literal is code.
    let literal = check_as(
        "typescript",
        CompletionExtent::Block,
        true,
        "const a = $0;\n",
        "`x`",
    );
    assert_eq!(literal, "`x`\n[]");
}

#[test]
fn replies_that_say_nothing_is_missing_are_empty() {
    for reply in [
        "Nothing is missing.",
        "Nothing is missing here; the code is complete.",
        "*Nothing is missing at the mark.*",
        "(nothing)",
        "[empty]",
        "# Nothing to add",
        "No code is needed here.",
        "The code is already complete.",
        "```\nNothing is missing.\n```",
    ] {
        assert_eq!(code_of(reply), "", "{reply}");
    }
    for reply in ["None", "nothing_is_missing()", "empty", "\"nothing\""] {
        assert_eq!(code_of(reply), reply);
    }
}

#[test]
fn fenced_code_of_reply_is_kept() {
    let reply = "Here is the code:\n\n```python\nf(1)\n```\n\nIt calls f.";
    insta::assert_snapshot!(chat("x = $0\n", reply), @r"
    f(1)
    [fence fence]
    ");
    insta::assert_snapshot!(chat("x = $0\n", "```\nf(\n    1,\n)"), @r"
    f(
        1,
    )
    [fence]
    ");
    insta::assert_snapshot!(chat("x = $0\n", "Sure, here you go:\n\nf(1)"), @r"
    f(1)
    [preamble]
    ");
    // Code that looks like prose is kept: a name, a statement that ends with a colon.
    insta::assert_snapshot!(chat("$0\n", "sure = 1\nif sure:\n    pass"), @r"
    sure = 1
    if sure:
        pass
    []
    ");
}

#[test]
fn repeated_prefix_of_reply_is_removed() {
    let fixture = "def total(items):\n    count = len(items)\n    return $0\n";
    insta::assert_snapshot!(chat(fixture, "return sum(items) / count"), @r"
    sum(items) / count
    [prefix]
    ");
    let whole = "def total(items):\n    count = len(items)\n    return sum(items) / count\n";
    insta::assert_snapshot!(chat(fixture, whole), @r"
    sum(items) / count
    [prefix definition]
    ");
    let fixture = "def total(items):\n    count = len(items)\n    $0\n";
    insta::assert_snapshot!(chat(fixture, "    count = len(items)\n    return count"), @r"
    return count
    [prefix]
    ");
    insta::assert_snapshot!(chat(fixture, "    for item in items:\n        count += item"), @r"
    for item in items:
            count += item
    [prefix]
    ");
}

#[test]
fn further_functions_of_reply_are_removed() {
    let fixture = "def total(items):\n    return $0\n";
    insta::assert_snapshot!(chat(fixture, "sum(items)\n\ndef mean(items):\n    return 1"), @r"
    sum(items)
    [block definition]
    ");
    let reply = "function total(items: number[]) {\n  return 1;\n}\n\nfunction mean() {}\n";
    insta::assert_snapshot!(check_as("typescript", CompletionExtent::Block, true, "$0\n", reply), @r"
    function total(items: number[]) {
      return 1;
    }
    [block]
    ");
}

#[test]
fn template_tokens_are_removed() {
    assert_eq!(
        check("python", "x = $0\n", "1<|fim_pad|>\n<|file_sep|>b.py"),
        ("1".into(), vec!["tokens".into()])
    );
    assert_eq!(
        check("python", "x = $0\n", "<|fim_middle|>1<|endoftext|>"),
        ("1".into(), vec!["tokens".into()])
    );
    kept(
        "typescript",
        "const s = $0;\n",
        "a < b ? \"<s>\" : \"<pad>\"",
    );
}

#[test]
fn every_foreign_token_is_removed() {
    for token in FOREIGN_TOKENS {
        let raw = format!("total + 1\n{}\nmore", token.text);
        let (text, rules) = check("python", "def f(total):\n    x = $0\n", &raw);
        assert_eq!(
            (text.as_str(), rules[0].as_str()),
            ("total + 1", "tokens"),
            "{token:?}"
        );
    }
    for token in [
        "</s>",
        "<EOT>",
        "<PRE>",
        "<|eot_id|>",
        "<|im_end|>",
        "<[fim-middle]>",
        "\u{fffd}",
    ] {
        for (id, fixture) in [("python", "x = $0\n"), ("typescript", "const x = $0;\n")] {
            let (text, _) = check(id, fixture, &format!("f(1) {token}"));
            assert_eq!(text.trim_end(), "f(1)", "{token}");
            let (text, _) = check(id, fixture, &format!("{token}f(1)"));
            if token.starts_with("<|") || token.starts_with("<[") {
                assert_eq!(text, "f(1)", "{token}");
            }
        }
    }
}

#[test]
fn code_that_looks_like_foreign_tokens_is_kept() {
    kept("python", "x = $0\n", "STATES[DONE]");
    kept("python", "x = f($0)\n", "[DONE]");
    kept("python", "x = $0\n", "\"<|im_end|>\"");
    kept("python", "x = $0\n", "\"<s>\" + text + \"</s>\"");
    kept("python", "END = '</s>'\nx = $0\n", "text + '</s>'");
    kept("typescript", "const x: $0\n", "Frame<EOT>");
    kept("typescript", "const x = $0;\n", "a <| b");
    kept("typescriptreact", "const x = $0;\n", "<p><s>old</s></p>");
    kept("typescriptreact", "const x = <s>old$0;\n", "</s>");
    kept("python", "x = $0\n", "\"<|user|>\\n\" + text");
    kept("python", "x = \"$0\n", "<|user|>\\n\" + text");
    kept("python", "x = $0\n", "\"a \u{FFFD} b\"");
    kept(
        "python",
        "def f():\n    $0\n",
        "print(\"usage: <filename>\")",
    );
}

#[test]
fn fences_in_code_without_a_grammar_are_removed() {
    let at = |path| CursorSite {
        path: Some(path),
        ..site_at("rust", "fn f() -> $0 {\n    1\n}\n")
    };
    let cleaned = |path| clean("```rust\nu32\n```\n", &at(path)).0;
    assert_eq!(cleaned("src/a.rs"), "u32");
    assert!(cleaned("docs/a.md").starts_with("```rust"));
}

#[test]
fn leaked_fences_are_removed_under_every_protocol() {
    assert_eq!(
        check("python", "x = $0\n", "```python\nf(1)\n```\nThis calls f.").0,
        "f(1)"
    );
    assert_eq!(
        check(
            "python",
            "def f(a):\n$0\n",
            "    return a\n```\nThat returns a.\n"
        )
        .0,
        "    return a"
    );
    assert_eq!(
        check("typescript", "$0\n", "const a = 1;\n```\n\nIt is one.").0,
        "const a = 1;"
    );
    // A fence after a doc string with fences.
    assert_eq!(
        check(
            "python",
            "def f():\n    $0\n",
            "\"\"\"Runs.\n\n```\nf()\n```\n\"\"\"\n    return 1\n```\nThat runs."
        )
        .0,
        "\"\"\"Runs.\n\n```\nf()\n```\n\"\"\"\n    return 1"
    );
    // A doc string's own fence.
    kept(
        "python",
        "def f():\n    $0\n",
        "\"\"\"Runs.\n\n```\nf()\n```\n\"\"\"",
    );
    kept(
        "python",
        "def f():\n    \"\"\"\n$0\n    \"\"\"\n",
        "```\nf()\n```",
    );
    kept("typescript", "$0\n", "/**\n```\nf()\n```\n*/");
}

#[test]
fn repeated_path_headers_are_removed() {
    let clean_at = |prefix: &str, raw: &str| {
        let site = CursorSite {
            prefix,
            suffix: "\n",
            path: Some("src/cart.py"),
            language: Language::by_id("python"),
            tree: None,
            extent: CompletionExtent::Block,
            chat: false,
        };
        clean(raw, &site).0
    };
    assert_eq!(clean_at("import a\n", "#src/cart.py\nx = 1"), "x = 1");
    assert_eq!(
        clean_at("import a\n", "x = 1\n# File: src/cart.py\nimport a"),
        "x = 1"
    );
    assert_eq!(
        clean_at("import a\n", "x = 1\n+++++ src/cart.py\nimport a"),
        "x = 1"
    );
    // A new file's first line, another file, an indented comment.
    assert_eq!(clean_at("", "# src/cart.py\nx = 1"), "# src/cart.py\nx = 1");
    assert_eq!(
        clean_at("a = 1\n", "# src/tax.py\nx = 1"),
        "# src/tax.py\nx = 1"
    );
    assert_eq!(
        clean_at("if a:\n", "    # src/cart.py\n    x = 1"),
        "    # src/cart.py\n    x = 1"
    );
}

#[test]
fn extent_statement_ends_with_statement() {
    let statement = |id: &str, fixture: &str, text: &str| {
        check_as(id, CompletionExtent::Statement, false, fixture, text)
    };
    insta::assert_snapshot!(statement("python", "x = $0\n", "f(\n    a,\n)\ny = 2"), @r"
    f(
        a,
    )
    [statement]
    ");
    insta::assert_snapshot!(statement("python", "$0\n", "if a:\n    b\nelse:\n    c\nd\n"), @r"
    if a:
        b
    else:
        c
    [statement]
    ");
    insta::assert_snapshot!(statement("typescript", "const x = $0\n", "f(\n  a,\n);\nconst y = 2;"), @r"
    f(
      a,
    );
    [statement]
    ");
}

#[test]
fn extent_definition_ends_with_definition() {
    let definition = |id: &str, fixture: &str, text: &str| {
        check_as(id, CompletionExtent::Definition, false, fixture, text)
    };
    insta::assert_snapshot!(
        definition("python", "$0\n", "def f():\n    return 1\n\n\ndef g():\n    pass"), @r"
    def f():
        return 1
    [definition]
    ");
    insta::assert_snapshot!(
        definition("typescript", "class A {\n  f() {\n    $0", "return 1;\n  }\n  g() {}\n}"), @r"
    return 1;
      }
    [definition]
    ");
}

#[test]
fn extent_line_ends_at_line_end() {
    insta::assert_snapshot!(check_as("python", CompletionExtent::Line, false, "x = $0\n", "1\ny = 2"), @r"
    1
    [line]
    ");
}

#[test]
fn repeated_rest_of_line_is_removed() {
    let check = |fixture: &str, text: &str| check("python", fixture, text);
    assert_eq!(
        check("x = f(a$0, key=total)\n", ", b, key=total)"),
        (", b".into(), vec!["rest-of-line".into()])
    );
    assert_eq!(
        check("x = \"$0\"\n", "total\""),
        ("total".into(), vec!["rest-of-line".into()])
    );
    assert_eq!(
        check("x = f(a$0)\n", ", b)"),
        (", b".into(), vec!["rest-of-line".into()])
    );
    kept("python", "x = f(a$0)\n", ", g(b)");
    kept("python", "x = f(\"a\",$0 \"b\")\n", " \"c\",");
    kept(
        "python",
        "def f(a):\n    if a:\n        if a > 1:\n            return True\n$0    return False\n",
        "        return False\n",
    );
}

#[test]
fn repeated_line_above_is_removed() {
    let fixture = "def f(a):\n    total = compute(a)\n    $0\n";
    assert_eq!(
        check("python", fixture, "total = compute(a)\n    return total"),
        ("return total".into(), vec!["line-above".into()])
    );
    kept("python", "f(a)\n$0\n", "f(a)\nf(b)");
}

#[test]
fn loops_are_kept_once() {
    let line = "self.assertEqual(a, b)\n";
    let (text, rules) = check("python", "$0\n", &line.repeat(5));
    assert_eq!(
        (text.as_str(), rules[0].as_str()),
        (line.trim_end(), "loop")
    );
    let run = "a = read()\nwrite(a)\n";
    let (text, rules) = check("python", "$0\n", &run.repeat(4));
    assert_eq!((text.as_str(), rules[0].as_str()), (run.trim_end(), "loop"));
    kept("python", "$0\n", "x.append(1)\n".repeat(3).trim_end());
}

#[test]
fn stutter_is_kept_once() {
    let (text, rules) = check("python", "x = [$0\n", &format!("a{}", ", 10".repeat(30)));
    assert_eq!(
        (text.as_str(), rules),
        ("a, 10", vec!["stutter".to_owned()])
    );
    kept("python", "x = [$0\n", "0, ".repeat(12).trim_end());
    kept("python", "# $0\n", &"=".repeat(78));
}

#[test]
fn indentation_matches_file() {
    let tabs = "def f(a):\n\tif a:\n\t\treturn 1\n\t$0\n";
    let (text, rules) = check("python", tabs, "for b in a:\n\t    g(b)");
    assert_eq!(
        (text.as_str(), rules[0].as_str()),
        ("for b in a:\n\t\tg(b)", "indentation")
    );
    let four = "def f(a):\n    if a:\n        return 1\n    $0\n";
    let (text, _) = check(
        "python",
        four,
        "for b in a:\n      g(b)\n      if b:\n        h(b)",
    );
    assert_eq!(
        text,
        "for b in a:\n        g(b)\n        if b:\n            h(b)"
    );
    kept("python", four, "g(a,\n      b)");
    kept("python", four, "for b in a:\n        g(b)");
    // At the beginning of a line, the completion brings the line's indentation along.
    let outer = "def f(a):\n    if a:\n        return 1\n$0\n";
    kept("python", outer, "    for b in a:\n        g(b)");
    // Steps of 4, 1 and 3: mostly prose, so no unit is established.
    let prose = "def f(a):\n    \"\"\"F.\n\n     An example:\n        f(1)\n    \"\"\"\n$0\n";
    kept("python", prose, "\n    for b in a:\n        g(b)");
}

#[test]
fn indentation_follows_surrounding_block() {
    let four = "def f(a):\n    if a:\n        return 1\n    while a:\n        a -= 1\n\n\n";
    let two = "def g(a):\n  if a:\n    $0\n  for b in a:\n    a(b)\n";
    let mixed = [four, two].concat();
    kept("python", &mixed, "if a[0]:\n      return 2");
    let (text, rules) = check("python", &mixed, "if a[0]:\n        return 2");
    assert_eq!(
        (text.as_str(), rules[0].as_str()),
        ("if a[0]:\n      return 2", "indentation")
    );
    // One step is not enough evidence to reject a completion with the same unit.
    let single = [four, "def g(a):\n  if a:\n    $0\n"].concat();
    kept("python", &single, "if a[0]:\n      return 2");
    // Prose and continuation lines are not blocks.
    let prose = "def f(a):\n    \"\"\"F.\n\n    Example:\n      f(1)\n    Note:\n      Slow.\n    See:\n      g\n    \"\"\"\n    b = [1,\n         2]\n    c = [1,\n         2]\n$0    return c\n";
    kept("python", prose, "    for b in a:\n        g(b)\n");
    let script = "function f() {\n  const text = `\n        a:\n            b\n        c:\n            d`;\n  if (text) {\n    g();\n  }\n  $0\n}\n";
    let (text, _) = check("typescript", script, "if (h) {\n      g();\n  }");
    assert_eq!(text, "if (h) {\n    g();\n  }");
}

#[test]
fn line_ends_match_file() {
    let (text, rules) = check("python", "if a:\r\n    $0\r\n", "b = 1\n    c = 2");
    assert_eq!(
        (text.as_str(), rules[0].as_str()),
        ("b = 1\r\n    c = 2", "line-ends")
    );
}

#[test]
fn bracket_in_regular_expression_ends_nothing() {
    let fixture = "function f(s: string) {\n  $0\n}\n";
    kept(
        "typescript",
        fixture,
        "const t = s.replace(/\\)/g, '');\n  return t;",
    );
    let fixture = "function f() {\n  return $0;\n}\n";
    kept("typescriptreact", fixture, "<p>it's {a}</p>");
}

#[test]
fn template_token_in_file_is_kept() {
    kept(
        "python",
        "END = \"<|endoftext|>\"\n$0\n",
        "x = \"<|endoftext|>\"",
    );
}

/// The text at which an end detector stops, and the rule that fires there.
#[test]
fn end_detector_stops_model_early() {
    let long = "z = 9\n".repeat(20);
    let endings = [
        // The second line shows that it does not continue the first.
        ("python", "x = f($0)\n", "a\nz = 9\n".to_owned()),
        ("python", "x = f($0)\n", "a\nif z > 9:\n".to_owned()),
        (
            "python",
            "x = f($0)\n",
            "a\n# One.\n# Two.\n# Three.\n".to_owned(),
        ),
        (
            "python",
            "def f():\n    $0\n",
            "return 1\n\ndef g():\n".to_owned(),
        ),
        (
            "typescript",
            "function f() {\n  $0\n}\n",
            "return 1;\n}\n".to_owned(),
        ),
        ("python", "$0\n", "a = 1\n<|file_sep|>b.py\n".to_owned()),
        ("python", "$0\n", "total(a)\n".repeat(4)),
        (
            "python",
            "$0\nfirst = 1\nsecond = 2\nthird = 3\n",
            "zero = 0\nfirst = 1\nsecond = 2\nthird = 3\n".to_owned(),
        ),
    ];
    for (id, fixture, text) in endings {
        let cleaner = Cleaner::new(site_at(id, fixture));
        let whole = [text.as_str(), &long].concat();
        let mut detector = cleaner.end_detector();
        let stopped = (1..=whole.len()).find(|end| detector.is_complete(&whole[..*end]));
        assert_eq!(stopped, Some(text.len()), "{fixture}{text}");
    }
    let cleaner = Cleaner::new(CursorSite {
        prefix: "",
        suffix: "",
        path: None,
        language: Language::by_id("python"),
        tree: None,
        extent: CompletionExtent::Block,
        chat: true,
    });
    let mut detector = cleaner.end_detector();
    let reply = "Sure:\n```python\nf(1)\n```\nThis calls f, and";
    let stopped = (1..=reply.len()).find(|end| detector.is_complete(&reply[..*end]));
    assert_eq!(stopped, Some(reply.len() - "This calls f, and".len()));
}

/// Pieces of typical model output.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c(){}\\[\\]\"'`#:,;= ]{0,6}",
        Just("\n".to_owned()),
        Just("\n    ".to_owned()),
        Just("    return a\n".to_owned()),
        Just("def f(a):\n".to_owned()),
        Just("}\n".to_owned()),
        Just("```\n".to_owned()),
        Just("<think>".to_owned()),
        Just("</think>\n".to_owned()),
        Just("<|file_sep|>".to_owned()),
        Just("total(a)\n".to_owned()),
        Just("\r\n".to_owned()),
    ]
}

fn text_of_pieces(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..most).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A completion that was stopped early gives the same result as one streamed to its end.
    #[test]
    fn text_after_detected_end_changes_nothing(
        prefix in text_of_pieces(6), suffix in text_of_pieces(6),
        written in text_of_pieces(12), on in text_of_pieces(8),
        python: bool, chat: bool, extent in 0usize..5,
    ) {
        let site = CursorSite {
            tree: None,
            prefix: &prefix,
            suffix: &suffix,
            path: None,
            language: Language::by_id(if python { "python" } else { "typescript" }),
            extent: [
                CompletionExtent::Line, CompletionExtent::Statement, CompletionExtent::Block, CompletionExtent::Definition,
                CompletionExtent::Anything,
            ][extent],
            chat,
        };
        let cleaner = Cleaner::new(site);
        let mut detector = cleaner.end_detector();
        if detector.is_complete(&written) {
            let whole = [written.as_str(), &on].concat();
            prop_assert_eq!(cleaner.clean(&whole, Finish::Stop).0, cleaner.clean(&written, Finish::Stop).0);
        }
    }

    /// A cleaner that has cleaned other texts gives the same result as a new one.
    #[test]
    fn cleaner_is_independent_of_earlier_texts(
        prefix in text_of_pieces(6), suffix in text_of_pieces(6),
        first in text_of_pieces(8), second in text_of_pieces(8), python: bool,
    ) {
        let site = CursorSite {
            prefix: &prefix,
            suffix: &suffix,
            path: None,
            language: Language::by_id(if python { "python" } else { "typescript" }),
            tree: None,
            extent: CompletionExtent::Block,
            chat: false,
        };
        let cleaner = Cleaner::new(site);
        cleaner.clean(&first, Finish::Stop);
        prop_assert_eq!(cleaner.clean(&second, Finish::Stop), clean(&second, &site));
    }
}

/// A reference is right, so no rule may cut it.
#[test]
fn references_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora");
    let (mut holes, mut changed) = (0, Vec::new());
    for (folder, id) in [
        ("demo-python/src/ledgerline", "python"),
        ("demo-typescript/src", "typescript"),
    ] {
        let language = Language::by_id(id).expect("it is in the table");
        let files = std::fs::read_dir(root.join(folder)).expect("the demo is there");
        let mut paths: Vec<_> = files.map(|file| file.expect("an entry").path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.is_file()) {
            let source = std::fs::read_to_string(path).expect("a text");
            for (start, end) in references(&source, language) {
                let site = CursorSite {
                    prefix: &source[..start],
                    suffix: &source[end..],
                    path: None,
                    language: Some(language),
                    tree: None,
                    extent: CompletionExtent::Block,
                    chat: false,
                };
                holes += 1;
                let (text, decisions) = clean(&source[start..end], &site);
                if text.trim_end() != source[start..end].trim_end() {
                    changed.push(format!(
                        "{}:{} {:?} {:?}",
                        path.display(),
                        source[..start].lines().count(),
                        &source[start..end],
                        decisions
                    ));
                }
            }
        }
    }
    println!("{} of {holes} changed", changed.len());
    assert!(holes > 1000, "{holes}");
    assert!(
        changed.is_empty(),
        "{} of {holes}: {changed:#?}",
        changed.len()
    );
}

/// Ranges of a source that make holes: statements, bodies and rests of lines.
fn references(source: &str, language: &'static Language) -> Vec<(usize, usize)> {
    let tree = language.parse(source);
    let mut found = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        if language.is_statement(node) {
            found.push((node.start_byte(), node.end_byte()));
        }
        if language.is_function(node)
            && language.indented_blocks
            && let Some(body) = node.child_by_field_name("body")
        {
            found.push((body.start_byte(), body.end_byte()));
        }
        let mut cursor = node.walk();
        pending.extend(node.named_children(&mut cursor));
    }
    let mut offset = 0;
    for line in source.split_inclusive('\n') {
        let ink = line.trim_end();
        if ink.len() > 8 {
            let middle = (ink.len() / 2..).find(|at| ink.is_char_boundary(*at));
            found.push((offset + middle.unwrap_or(0), offset + ink.len()));
        }
        offset += line.len();
    }
    found
}

#[test]
fn completions_of_java_end_as_its_syntax_does() {
    let fixture = "class A {\n  int f(int a) {\n    $0\n  }\n}\n";
    kept("java", fixture, "if (a > 1) {\n      return a;\n    }");
    kept("java", "class A { String s = $0; }\n", "\")}\"");
    assert_eq!(
        check("java", fixture, "return a;\n  }\n\n  int g() {").0,
        "return a;"
    );
    assert_eq!(
        check("java", "class A { int b = f(g(a$0)); }\n", "))").0,
        ""
    );
    let at = |extent, fixture: &str, completion: &str| {
        let site = CursorSite {
            extent,
            ..site_at("java", fixture)
        };
        clean(completion, &site).0
    };
    let statement = "class A {\n  void f() {\n    var x = $0\n  }\n}\n";
    assert_eq!(
        at(
            CompletionExtent::Statement,
            statement,
            "g(\n        1);\n    h();"
        ),
        "g(\n        1);"
    );
    let definition = "class A {\n  int f() {\n    $0";
    assert_eq!(
        at(
            CompletionExtent::Definition,
            definition,
            "return 1;\n  }\n\n  int g() { return 2; }"
        ),
        "return 1;\n  }"
    );
}

#[test]
fn completions_of_csharp_end_as_its_syntax_does() {
    let fixture = "class A {\n  int F(int a) {\n    $0\n  }\n}\n";
    kept("csharp", fixture, "if (a > 1) {\n      return a;\n    }");
    kept("csharp", "class A { string s = $0; }\n", "$\"{a}):\"");
    kept("csharp", "class A { string s = $0; }\n", "\")}\"");
    assert_eq!(
        check("csharp", fixture, "return a;\n  }\n\n  int G() {").0,
        "return a;"
    );
    assert_eq!(
        check("csharp", "class A { int b = F(G(a$0)); }\n", "))").0,
        ""
    );
}

#[test]
fn header_without_its_block_is_not_left_before_a_comment() {
    assert_eq!(
        check(
            "python",
            "def f():$0  # note\n\n\ndef g():\n    pass\n",
            "\n    with a:\n        b({})  # note\n\n\ndef g():\n"
        ),
        (
            "\n    with a:\n        b({})".into(),
            vec!["line".into(), "rest-of-line".into()]
        )
    );
    // The block of this header follows.
    assert_eq!(
        check(
            "python",
            "def f(a)$0  # note\n    return a\n",
            ":\n    b = 1\n"
        ),
        (":".into(), vec!["line".into()])
    );
}

#[test]
fn lines_of_an_open_text_are_kept_whole() {
    // Right infills: strings, comments and elements that the editor closed.
    let lines = "Does it.\n\n    More text about a.\n    ";
    kept(
        "python",
        "def f(a):\n    \"\"\"$0\"\"\"\n    return a\n",
        lines,
    );
    kept("typescript", "const x = `$0`;\n", "a\nb\nc");
    kept(
        "go",
        "package a\n\nfunc f() {\n\tq := `$0`\n\tuse(q)\n}\n",
        "SELECT a\nFROM b",
    );
    kept(
        "java",
        "class A {\n  /** $0 */\n  int a;\n}\n",
        "One.\n   * Two.\n  ",
    );
    kept(
        "typescriptreact",
        "const a = (\n  <p>$0</p>\n);\n",
        "one\n    two",
    );
    // Among statements, lines of a text are none.
    let query = "\nSELECT a\nFROM b\nWHERE c = 1\n\"\"\"";
    assert_eq!(
        check("python", "SQL = \"\"\"$0", &format!("{query}\nrun(SQL)\n")).0,
        query
    );
}

#[test]
fn a_text_that_a_later_line_closes_is_closed_once() {
    let end = |id, fixture, completion| check(id, fixture, completion).0;
    assert_eq!(
        end(
            "typescript",
            "const s = `\n  $0\n`;\nfoo(s);\n",
            "abc\n`;\n"
        ),
        "abc"
    );
    let block = "class A {\n  String a = \"\"\"\n    $0\n    \"\"\";\n}\n";
    assert_eq!(end("java", block, "{\"a\": 1}\n    \"\"\";"), "{\"a\": 1}");
    let documented = "def f(a):\n    \"\"\"$0\n    \"\"\"\n    return 1\n";
    let beyond = "Does it.\n    \"\"\"\n    x = 1\n    return x";
    assert_eq!(end("python", documented, beyond), "Does it.");
}

#[test]
fn marks_of_reasoning_in_code_are_code() {
    kept(
        "python",
        "def f(reply):\n    return $0\n",
        "re.sub(r\"<think>.*?</think>\", \"\", reply)",
    );
    kept(
        "python",
        "def f(reply):\n    $0\n",
        "if \"</think>\" in reply:\n        return 1",
    );
    kept(
        "rust",
        "fn f() {\n    $0\n}\n",
        "reply.split(\"</think>\").last().unwrap_or(reply)",
    );
    kept(
        "typescriptreact",
        "const a = $0;\n",
        "<p><thought>{b}</thought></p>",
    );
}

#[test]
fn reasoning_with_apostrophes_before_code_with_quotes_is_removed() {
    let completion = "It's the caller's turn.</think>x = 'a'";
    assert_eq!(check("python", "$0\n", completion).0, "x = 'a'");
}

#[test]
fn code_that_splits_at_the_end_of_reasoning_is_kept() {
    for completion in [
        "\"</think>\\n\")[1].strip()",
        "\"x </think> y\" in text",
        "text.indexOf(\"\\n</think>\")",
    ] {
        kept("python", "parts = f($0\n", completion);
    }
}

#[test]
fn code_like_prose_or_markup_of_chat_models_is_kept() {
    let chat = |id: &str, fixture: &str, completion: &str| {
        let site = CursorSite {
            chat: true,
            ..site_at(id, fixture)
        };
        let kept = clean(completion, &site).0;
        // Outside of all blocks, a completion ends with its statement.
        let is_begun = completion.starts_with(&kept) && !kept.is_empty();
        assert!(is_begun, "{kept:?} of {completion:?}");
    };
    chat("python", "$0\n", "okay()\n\nprint(1)");
    chat("python", "$0\n", "sure = 1\n\nprint(sure)");
    chat("yaml", "$0\n", "result:\n  a: 1");
    chat("html", "<p>$0</p>\n", "<code>x</code>");
    chat("shellscript", "x=$0\n", "`date`");
    chat("typescript", "const a = `<p>$0</p>`;\n", "<code>x</code>");
}
