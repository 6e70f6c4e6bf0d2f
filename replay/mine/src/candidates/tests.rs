use super::*;

fn listed(id: &str, contents: &str, covered: &dyn Fn(usize) -> bool) -> String {
    let file = SourceFile {
        path: "a".into(),
        contents: contents.into(),
        language: Language::by_id(id).expect("the language is in the table"),
    };
    find_candidates("demo", &file, tested(covered))
        .iter()
        .map(|candidate| format!("{} {:?}\n", candidate.hole.kind, candidate.hole.reference))
        .collect()
}

fn tested(tested: &dyn Fn(usize) -> bool) -> LineCoverage<'_> {
    LineCoverage {
        tested,
        at_import: &|_| false,
    }
}

const PYTHON: &str = r#"import os

LIMIT = 3


def total(items, rate):
    """Adds up."""
    result = 0
    for item in items:  # each
        if item.free:
            continue
        result += item.price * rate
    log(
        "done",
        result,
    )
    return result
"#;

#[test]
fn candidates_in_python() {
    insta::assert_snapshot!(listed("python", PYTHON, &|_| true), @r#"
line "result = 0"
statement "result = 0"
block "result = 0\n    for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate"
block "result = 0\n    for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate\n    log(\n        \"done\",\n        result,\n    )"
body "result = 0\n    for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate\n    log(\n        \"done\",\n        result,\n    )\n    return result"
block "for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate\n    log(\n        \"done\",\n        result,\n    )"
block "for item in items:  # each\n        if item.free:\n            continue\n        result += item.price * rate\n    log(\n        \"done\",\n        result,\n    )\n    return result"
line "if item.free:"
block "if item.free:\n            continue\n        result += item.price * rate"
line "continue"
statement "continue"
line "result += item.price * rate"
statement "result += item.price * rate"
span "* rate"
line "log("
statement "log(\n        \"done\",\n        result,\n    )"
block "log(\n        \"done\",\n        result,\n    )\n    return result"
span "(\n        \"done\",\n        result,\n    )"
line "\"done\","
line "result,"
line "return result"
statement "return result"
span "result"
"#);
}

// A model of code is not asked to complete text and comments.
#[test]
fn text_of_markup_is_no_line() {
    let code = "function A() {\n  return (\n    <p>\n      plain words here\n      &nbsp;words too\n      {/* why it is so */}\n      {a.title}\n      <b>bold</b>\n    </p>\n  );\n}\n";
    let listed = listed("typescriptreact", code, &|_| true);
    let lines = listed.lines().filter(|line| line.starts_with("line "));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
line "return ("
line "{a.title}"
line "<b>bold</b>"
"#);
}

#[test]
fn candidates_in_typescript() {
    let contents = "export function pick(a: number[], n: number): number {\n  const sorted = [...a].sort();\n  if (n < 0) {\n    throw new Error('n');\n  }\n  switch (n) {\n    case 0: return sorted[0];\n    default:\n      return sorted[n];\n  }\n}\n";
    insta::assert_snapshot!(listed("typescript", contents, &|_| true), @r#"
line "const sorted = [...a].sort();"
statement "const sorted = [...a].sort();"
block "const sorted = [...a].sort();\n  if (n < 0) {\n    throw new Error('n');\n  }"
body "const sorted = [...a].sort();\n  if (n < 0) {\n    throw new Error('n');\n  }\n  switch (n) {\n    case 0: return sorted[0];\n    default:\n      return sorted[n];\n  }"
span ".sort();"
line "if (n < 0) {"
block "if (n < 0) {\n    throw new Error('n');\n  }\n  switch (n) {\n    case 0: return sorted[0];\n    default:\n      return sorted[n];\n  }"
line "throw new Error('n');"
statement "throw new Error('n');"
span "Error('n');"
line "switch (n) {"
line "case 0: return sorted[0];"
statement "return sorted[0];"
span "sorted[0];"
line "default:"
line "return sorted[n];"
statement "return sorted[n];"
span "sorted[n];"
"#);
}

#[test]
fn uncovered_lines_give_no_candidate() {
    assert_eq!(listed("python", PYTHON, &|_| false), "");
    let without_continue = listed("python", PYTHON, &|line| line != 11);
    assert!(!without_continue.contains("continue"), "{without_continue}");
    assert!(without_continue.contains("result += item.price * rate"));
}

#[test]
fn a_raising_statement_goes_before_the_holes_statement() {
    let contents = "def f(a):\n    b = g(\n        a,\n    )\n    return b\n";
    let file = SourceFile {
        path: "a.py".into(),
        contents: contents.into(),
        language: Language::by_id("python").expect("Python is in the table"),
    };
    let candidates = find_candidates("demo", &file, tested(&|_| true));
    for candidate in candidates {
        let raising = candidate.raising(contents);
        assert!(file.language.parses(&raising), "{raising}");
        assert!(raising.contains("    raise RuntimeError(\"this place was reached\")\n    "));
    }
}

#[test]
fn holes_tell_that_their_lines_run_at_import() {
    let contents = "def f(a):\n    b = g(\n        a,\n    )\n    return b\n\nC = f(1)\n";
    let file = SourceFile {
        path: "a.py".into(),
        contents: contents.into(),
        language: Language::by_id("python").expect("Python is in the table"),
    };
    let at_import = |line: usize| {
        let coverage = LineCoverage {
            tested: &|_| true,
            at_import: &|run| run == line,
        };
        let mut marked: Vec<String> = find_candidates("demo", &file, coverage)
            .into_iter()
            .filter(|candidate| candidate.hole.at_import)
            .map(|candidate| format!("{}:{}", candidate.hole.kind, candidate.hole.reference))
            .collect();
        marked.sort();
        marked
    };
    // A line within a statement marks what holds the line.
    assert_eq!(
        at_import(3),
        [
            "body:b = g(\n        a,\n    )\n    return b",
            "span:g(\n        a,\n    )",
            "statement:b = g(\n        a,\n    )",
        ]
    );
    assert_eq!(at_import(7), Vec::<String>::new());
}

#[test]
fn candidates_in_go() {
    let code = "package shop\n\nvar limit = 3\n\n// Total adds up.\nfunc (c Cart) Total(rate int) int {\n\tsum := 0\n\tfor _, item := range c.items { // each\n\t\tif item.Free {\n\t\t\tcontinue\n\t\t}\n\t\tsum += item.Price * rate\n\t}\n\tswitch {\n\tcase sum > limit:\n\t\tlog(`much\nmore`)\n\t}\n\treturn sum\n}\n";
    insta::assert_snapshot!(listed("go", code, &|_| true), @r#"
line "sum := 0"
statement "sum := 0"
block "sum := 0\n\tfor _, item := range c.items { // each\n\t\tif item.Free {\n\t\t\tcontinue\n\t\t}\n\t\tsum += item.Price * rate\n\t}"
block "sum := 0\n\tfor _, item := range c.items { // each\n\t\tif item.Free {\n\t\t\tcontinue\n\t\t}\n\t\tsum += item.Price * rate\n\t}\n\tswitch {\n\tcase sum > limit:\n\t\tlog(`much\nmore`)\n\t}"
body "sum := 0\n\tfor _, item := range c.items { // each\n\t\tif item.Free {\n\t\t\tcontinue\n\t\t}\n\t\tsum += item.Price * rate\n\t}\n\tswitch {\n\tcase sum > limit:\n\t\tlog(`much\nmore`)\n\t}\n\treturn sum"
block "for _, item := range c.items { // each\n\t\tif item.Free {\n\t\t\tcontinue\n\t\t}\n\t\tsum += item.Price * rate\n\t}\n\tswitch {\n\tcase sum > limit:\n\t\tlog(`much\nmore`)\n\t}"
block "for _, item := range c.items { // each\n\t\tif item.Free {\n\t\t\tcontinue\n\t\t}\n\t\tsum += item.Price * rate\n\t}\n\tswitch {\n\tcase sum > limit:\n\t\tlog(`much\nmore`)\n\t}\n\treturn sum"
line "if item.Free {"
block "if item.Free {\n\t\t\tcontinue\n\t\t}\n\t\tsum += item.Price * rate"
line "continue"
statement "continue"
line "sum += item.Price * rate"
statement "sum += item.Price * rate"
span ".Price * rate"
line "switch {"
block "switch {\n\tcase sum > limit:\n\t\tlog(`much\nmore`)\n\t}\n\treturn sum"
line "case sum > limit:"
line "log(`much"
statement "log(`much\nmore`)"
span "(`much\nmore`)"
line "return sum"
statement "return sum"
span "sum"
"#);
}

#[test]
fn candidates_in_java() {
    let code = "class Cart {\n  static int limit = 3;\n\n  Cart(int limit) {\n    super();\n    this.limit = limit;\n  }\n\n  /** Adds up. */\n  int total(int rate) {\n    int sum = 0;\n    for (var item : items) { // each\n      if (item.free) continue;\n      sum += item.price * rate;\n    }\n    switch (sum) {\n      case 1:\n        log(\"much\");\n      default:\n    }\n    return switch (rate) {\n      case 0 -> sum;\n      default -> { yield sum + 1; }\n    };\n  }\n}\n";
    insta::assert_snapshot!(listed("java", code, &|_| true), @r#"
line "super();"
statement "super();"
body "super();\n    this.limit = limit;"
line "this.limit = limit;"
statement "this.limit = limit;"
span "limit = limit;"
line "int sum = 0;"
statement "int sum = 0;"
block "int sum = 0;\n    for (var item : items) { // each\n      if (item.free) continue;\n      sum += item.price * rate;\n    }"
block "int sum = 0;\n    for (var item : items) { // each\n      if (item.free) continue;\n      sum += item.price * rate;\n    }\n    switch (sum) {\n      case 1:\n        log(\"much\");\n      default:\n    }"
body "int sum = 0;\n    for (var item : items) { // each\n      if (item.free) continue;\n      sum += item.price * rate;\n    }\n    switch (sum) {\n      case 1:\n        log(\"much\");\n      default:\n    }\n    return switch (rate) {\n      case 0 -> sum;\n      default -> { yield sum + 1; }\n    };"
span "sum = 0;"
block "for (var item : items) { // each\n      if (item.free) continue;\n      sum += item.price * rate;\n    }\n    switch (sum) {\n      case 1:\n        log(\"much\");\n      default:\n    }"
block "for (var item : items) { // each\n      if (item.free) continue;\n      sum += item.price * rate;\n    }\n    switch (sum) {\n      case 1:\n        log(\"much\");\n      default:\n    }\n    return switch (rate) {\n      case 0 -> sum;\n      default -> { yield sum + 1; }\n    };"
line "if (item.free) continue;"
block "if (item.free) continue;\n      sum += item.price * rate;"
line "sum += item.price * rate;"
statement "sum += item.price * rate;"
span ".price * rate;"
line "switch (sum) {"
block "switch (sum) {\n      case 1:\n        log(\"much\");\n      default:\n    }\n    return switch (rate) {\n      case 0 -> sum;\n      default -> { yield sum + 1; }\n    };"
line "case 1:"
line "log(\"much\");"
statement "log(\"much\");"
span "\"much\");"
line "default:"
line "return switch (rate) {"
line "case 0 -> sum;"
line "default -> { yield sum + 1; }"
statement "yield sum + 1;"
span "sum + 1;"
"#);
}

#[test]
fn candidates_in_csharp() {
    let code = "namespace Shop;\n\nclass Cart {\n  static int limit = 3;\n\n  public Cart(int limit) {\n    this.limit = limit;\n  }\n\n  public int Rate { get { return rate; } set => rate = value; }\n\n  /// Adds up.\n  int Total(int rate) {\n    int sum = 0;\n    foreach (var item in items) { // each\n      if (item.Free) continue;\n      sum += item.Price * rate;\n    }\n    switch (sum) {\n      case 1:\n        Log(\"much\");\n        break;\n      default:\n        break;\n    }\n    return rate switch { 0 => sum, _ => sum + 1 };\n  }\n}\n";
    insta::assert_snapshot!(listed("csharp", code, &|_| true), @r#"
line "this.limit = limit;"
statement "this.limit = limit;"
body "this.limit = limit;"
span ".limit = limit;"
statement "return rate;"
body "return rate;"
span "rate;"
line "int sum = 0;"
statement "int sum = 0;"
block "int sum = 0;\n    foreach (var item in items) { // each\n      if (item.Free) continue;\n      sum += item.Price * rate;\n    }"
block "int sum = 0;\n    foreach (var item in items) { // each\n      if (item.Free) continue;\n      sum += item.Price * rate;\n    }\n    switch (sum) {\n      case 1:\n        Log(\"much\");\n        break;\n      default:\n        break;\n    }"
body "int sum = 0;\n    foreach (var item in items) { // each\n      if (item.Free) continue;\n      sum += item.Price * rate;\n    }\n    switch (sum) {\n      case 1:\n        Log(\"much\");\n        break;\n      default:\n        break;\n    }\n    return rate switch { 0 => sum, _ => sum + 1 };"
span "sum = 0;"
block "foreach (var item in items) { // each\n      if (item.Free) continue;\n      sum += item.Price * rate;\n    }\n    switch (sum) {\n      case 1:\n        Log(\"much\");\n        break;\n      default:\n        break;\n    }"
block "foreach (var item in items) { // each\n      if (item.Free) continue;\n      sum += item.Price * rate;\n    }\n    switch (sum) {\n      case 1:\n        Log(\"much\");\n        break;\n      default:\n        break;\n    }\n    return rate switch { 0 => sum, _ => sum + 1 };"
line "if (item.Free) continue;"
block "if (item.Free) continue;\n      sum += item.Price * rate;"
line "sum += item.Price * rate;"
statement "sum += item.Price * rate;"
span "Price * rate;"
line "switch (sum) {"
block "switch (sum) {\n      case 1:\n        Log(\"much\");\n        break;\n      default:\n        break;\n    }\n    return rate switch { 0 => sum, _ => sum + 1 };"
line "case 1:"
line "Log(\"much\");"
statement "Log(\"much\");"
span "\"much\");"
line "break;"
statement "break;"
line "default:"
line "break;"
statement "break;"
line "return rate switch { 0 => sum, _ => sum + 1 };"
statement "return rate switch { 0 => sum, _ => sum + 1 };"
span ", _ => sum + 1 };"
"#);
}
