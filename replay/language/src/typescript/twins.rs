//! Twins of JavaScript's and TypeScript's tests: `it` and `test` of vitest, jest, mocha and Node's
//! runner, with `expect`, chai and `node:assert`.

use tree_sitter::Node;

use super::super::twins::{
    self, ANY_TITLE, Assertion, CallFrame, Cells, Evaluation, FoundFunction, Grammar, LiteralKinds,
    NeutralName, ParsedFile, RowNames, SourceEdit, failing_branch, has_word, loop_cells,
    named_children, opposite, raised_in_branch, unquoted,
};

/// Matchers that compare with an expected value.
const EQUALITIES: [&str; 42] = [
    "toMatch",
    "toHaveBeenCalledWith",
    "toHaveBeenLastCalledWith",
    "toHaveBeenNthCalledWith",
    "toHaveBeenCalledExactlyOnceWith",
    "toHaveBeenCalledTimes",
    "toHaveReturnedWith",
    "toHaveLastReturnedWith",
    "toHaveNthReturnedWith",
    "toBeCalledWith",
    "lastCalledWith",
    "nthCalledWith",
    "calledWith",
    "calledOnceWith",
    "partialDeepStrictEqual",
    "deepInclude",
    "is",
    "same",
    "match",
    "toMatchInlineSnapshot",
    "toThrowErrorMatchingInlineSnapshot",
    "toBe",
    "toEqual",
    "toStrictEqual",
    "toHaveLength",
    "toContain",
    "toContainEqual",
    "toMatchObject",
    "toHaveProperty",
    "toThrow",
    "toThrowError",
    "equal",
    "equals",
    "eql",
    "eq",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "lengthOf",
    "include",
    "contain",
    "members",
];

/// Matchers that can't be turned into their complement.
const ONE_SIDED: [&str; 6] = [
    "toMatchSnapshot",
    "toMatchInlineSnapshot",
    "toMatchFileSnapshot",
    "toThrowErrorMatchingSnapshot",
    "toThrowErrorMatchingInlineSnapshot",
    "assertions",
];

/// Functions of `node:assert` and of chai's, and their complements.
const OPPOSITES: [(&str, &str); 12] = [
    ("equal", "notEqual"),
    ("strictEqual", "notStrictEqual"),
    ("deepEqual", "notDeepEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
    ("throws", "doesNotThrow"),
    ("rejects", "doesNotReject"),
    ("match", "doesNotMatch"),
    ("isTrue", "isNotTrue"),
    ("isFalse", "isNotFalse"),
    ("isNull", "isNotNull"),
    ("isUndefined", "isDefined"),
    ("include", "notInclude"),
];

const LITERALS: LiteralKinds = LiteralKinds {
    numbers: &["number"],
    strings: &["string_fragment", "regex_pattern"],
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    nothing: ("null", "0"),
    untouched: &[
        "arrow_function",
        "function_expression",
        "property_identifier",
        "regex_flags",
    ],
};

const GRAMMAR: Grammar = Grammar {
    literals: LITERALS,
    identifiers: &["identifier", "shorthand_property_identifier"],
    calls: &["call_expression"],
    members: &[
        ("member_expression", "object", "property"),
        ("subscript_expression", "object", "index"),
    ],
    assignments: &[
        ("variable_declarator", "name", "value"),
        ("assignment_expression", "left", "right"),
    ],
    functions: &[
        "function_declaration",
        "method_definition",
        "arrow_function",
        "function_expression",
    ],
    returns: "return_statement",
    lists: &["array"],
    empty: &[
        ("array", "[]", "[0]"),
        ("object", "{}", "{ x: 0 }"),
        ("string", "\"\"", "\"x\""),
        ("string", "''", "'x'"),
        ("undefined", "undefined", "0"),
    ],
    is_pure: |name| PURE.contains(&name),
    evaluation: Evaluation {
        nothing: "{}",
        around: ["void [", "];"],
        keeps_function: false,
        messages,
    },
    assertion: |node, text| match node.kind() {
        "call_expression" => call(node, text),
        "if_statement" => failing_branch(node, text, compared),
        "switch_case" => Some(Assertion::comparing(vec![
            node.child_by_field_name("value")?,
        ])),
        // A function that says whether a value is right.
        "binary_expression" => node
            .parent()
            .filter(|parent| matches!(parent.kind(), "arrow_function" | "return_statement"))
            .map(|_| Assertion::comparing(compared(node, text)))
            .filter(|assertion| !assertion.compared.is_empty()),
        _ => None,
    },
    cells: |used, frame| {
        loop_cells(used, frame, LOOPS)
            .or_else(|| table_cells(used, frame))
            .or_else(|| row_cells(used, frame))
    },
};

/// An assertion that a call makes.
fn call<'t>(node: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let function = node.child_by_field_name("function")?;
    let arguments = named_children(node.child_by_field_name("arguments")?);
    match subject(function, text) {
        Some("expect") => expectation(function, &arguments, text),
        Some("assert") => assertion(function, &arguments, text),
        _ if is_named_assertion(function, text) => assertion(function, &arguments, text),
        _ => None,
    }
}

/// Messages of assertions and of errors that tests throw.
pub(super) fn messages<'t>(node: Node<'t>, text: &str) -> Vec<Node<'t>> {
    match node.kind() {
        "throw_statement" => raised_in_branch(node),
        "call_expression" => {
            let (Some(function), Some(arguments)) = (
                node.child_by_field_name("function"),
                node.child_by_field_name("arguments"),
            ) else {
                return Vec::new();
            };
            let word = text[function.byte_range()].rsplit('.').next();
            let first = match word.unwrap_or_default() {
                "fail" => 0,
                "expect" | "assert" | "ok" | "isTrue" | "isFalse" => 1,
                _ if is_named_assertion(function, text)
                    || text[function.byte_range()].starts_with("assert.") =>
                {
                    2
                }
                _ => return Vec::new(),
            };
            let arguments = named_children(arguments).into_iter().skip(first);
            let is_text = |argument: &Node<'t>| {
                let kinds = ["string", "template_string", "binary_expression"];
                kinds.contains(&argument.kind())
            };
            arguments.filter(is_text).collect()
        }
        _ => Vec::new(),
    }
}

/// True for a function of `node:assert` or of a similar library under whatever name its module
/// has: `equal(a, b)`, `t.assert.equal(a, b)`, `a.should.equal(b)`.
fn is_named_assertion(function: Node<'_>, text: &str) -> bool {
    // A result that is used is a value, and the function may be under test.
    let is_statement = function.parent().and_then(|call| call.parent());
    let is_statement = is_statement.is_some_and(|parent| {
        let kinds = [
            "expression_statement",
            "await_expression",
            "return_statement",
            "arrow_function",
        ];
        kinds.contains(&parent.kind())
    });
    if !is_statement {
        return false;
    }
    let name = function
        .child_by_field_name("property")
        .filter(|_| function.kind() == "member_expression")
        .unwrap_or(function);
    let word = &text[name.byte_range()];
    let is_member = name.id() != function.id();
    let is_equality = EQUALITIES.contains(&word) && !(is_member && word == "match");
    // An object's own `ok` is seldom an assertion.
    is_equality || matches!(word, "throws" | "rejects") || word == "ok" && !is_member
}

/// Functions and methods whose results depend only on their arguments.
const PURE: [&str; 26] = [
    "Number",
    "String",
    "BigInt",
    "Boolean",
    "Array",
    "Date",
    "Set",
    "Map",
    "split",
    "join",
    "map",
    "slice",
    "concat",
    "repeat",
    "trim",
    "replace",
    "toFixed",
    "toString",
    "padStart",
    "sort",
    "filter",
    "stringify",
    "fill",
    "from",
    "freeze",
    "fromEntries",
];

/// Tests of a file.
pub(super) fn collect_tests(
    root: Node<'_>,
    files: &[ParsedFile<'_>],
    _around: &mut Vec<String>,
    functions: &mut Vec<FoundFunction>,
) {
    collect_suite(root, files, &mut Vec::new(), functions);
}

/// Tests of a file or of a suite, within suites.
fn collect_suite<'t>(
    node: Node<'t>,
    files: &[ParsedFile<'t>],
    around: &mut Vec<Titled<'t>>,
    functions: &mut Vec<FoundFunction>,
) {
    for child in named_children(node) {
        let Some(titled) = titled(child, files[0].text) else {
            collect_suite(child, files, around, functions);
            continue;
        };
        let body = child
            .child_by_field_name("arguments")
            .and_then(|arguments| named_children(arguments).into_iter().find(is_function));
        match (titled.block, body) {
            (Block::Describe, Some(body)) => {
                around.push(titled);
                collect_suite(body, files, around, functions);
                around.pop();
            }
            (Block::Test, Some(body)) => {
                let names = around.iter().chain([&titled]);
                let frame = CallFrame::new(&GRAMMAR, files, body);
                functions.push(FoundFunction {
                    names: names.map(|titled| titled.name.clone()).collect(),
                    inherited: Vec::new(),
                    file: 0,
                    span: child.byte_range(),
                    assertions: frame.assertions(),
                    neutral: Some(neutral(&titled, around, functions.len(), &frame)),
                });
            }
            (_, None) => {}
        }
    }
}

/// Returns a title without meaning; for each test of a loop its number, and for each row of a table
/// its index.
fn neutral(
    test: &Titled<'_>,
    around: &[Titled<'_>],
    index: usize,
    frame: &CallFrame<'_, '_>,
) -> NeutralName {
    let name = format!("t{index}");
    let edit = |titled: &Titled<'_>, text: &str| SourceEdit::new(titled.title.byte_range(), text);
    // In the titles of a table, `%#` is the row's index.
    let row = format!("\"{name} %#\"");
    // A loop evaluates the same title for each of its tests, so a global counter numbers them.
    let counted = format!("`{name} ${{globalThis.{name} = (globalThis.{name} ?? -1) + 1}}`");
    let (single, several) = match test.is_table {
        true => (row.clone(), row),
        false => (format!("\"{name}\""), counted),
    };
    // Each row of a table of suites has a name of its own.
    let keeps_its_name = |suite: &Titled<'_>| suite.is_table || suite.name.contains('\0');
    let suites = around.iter().map(|suite| {
        let name = format!("s{}", suite.title.start_byte());
        let edit = edit(suite, &format!("\"{name}\""));
        (name, edit)
    });
    let rows = if test.is_table {
        names_of_rows(test, frame)
    } else {
        Vec::new()
    };
    NeutralName {
        single: [vec![edit(test, &single)], rows.clone()].concat(),
        several: [vec![edit(test, &several)], rows].concat(),
        rows: RowNames::Numbered,
        suites: match around.iter().any(keeps_its_name) {
            true => Vec::new(),
            false => suites.collect(),
        },
        name,
    }
}

/// The edits that empty the names of a table's rows: texts that only titles use, such as those of
/// `$name`.
fn names_of_rows(test: &Titled<'_>, frame: &CallFrame<'_, '_>) -> Vec<SourceEdit> {
    let arguments = frame.function.parent();
    let Some(around) = arguments.and_then(|arguments| arguments.parent()) else {
        return Vec::new();
    };
    let mut edits = frame.unused_names(around);
    // A row that is taken whole may be used whole.
    let pattern = frame.function.child_by_field_name("parameters");
    let pattern = pattern.map_or("", |parameters| frame.source(parameters));
    if !pattern
        .trim_start_matches('(')
        .trim_start()
        .starts_with('{')
        || pattern.contains("...")
    {
        return edits;
    }
    let title = frame.source(test.title);
    let is_name = |pair: &Node<'_>| {
        let key = pair.child_by_field_name("key");
        let key = key.map_or("", |key| unquoted(frame.source(key)));
        has_word(title, key)
            && title.contains(&format!("${key}"))
            && !has_word(frame.source(frame.function), key)
    };
    let rows = table_rows(frame).unwrap_or_default();
    let pairs = rows.into_iter().flat_map(named_children).filter(is_name);
    let names = pairs.filter_map(|pair| frame.emptied(pair.child_by_field_name("value")?, around));
    for edit in names {
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }
    edits
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Describe,
    Test,
}

fn is_function(node: &Node<'_>) -> bool {
    matches!(
        node.kind(),
        "arrow_function" | "function_expression" | "function"
    )
}

/// A call of `describe`, `it`, `test` or their kin.
struct Titled<'t> {
    block: Block,
    title: Node<'t>,
    /// The title, see [`with_placeholders`].
    name: String,
    is_table: bool,
}

/// A node as a call of `describe`, `it`, `test` or their kin, such as `it.each(table)`.
fn titled<'t>(node: Node<'t>, text: &str) -> Option<Titled<'t>> {
    if node.kind() != "call_expression" {
        return None;
    }
    let function = node.child_by_field_name("function")?;
    let word = text[function.byte_range()]
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .next()?;
    let block = match word {
        "describe" | "suite" | "context" => Block::Describe,
        "it" | "test" | "specify" => Block::Test,
        _ => return None,
    };
    let title = named_children(node.child_by_field_name("arguments")?)
        .into_iter()
        .next()?;
    let is_table = text[function.byte_range()].contains(".each")
        || text[function.byte_range()].contains(".for(");
    let name = match title.kind() {
        "string" | "template_string" => {
            with_placeholders(unquoted(&text[title.byte_range()]), is_table)
        }
        // A computed title, as of the tests of a loop. Hooks (`test.before(…)`) have none, and
        // options (`test({ timeout: 1 }, …)`) are no title.
        "identifier"
        | "member_expression"
        | "subscript_expression"
        | "call_expression"
        | "binary_expression"
        | "ternary_expression"
            if block == Block::Test && function.kind() == "identifier" =>
        {
            computed_title(title, text)
        }
        _ => return None,
    };
    Some(Titled {
        block,
        title,
        name,
        is_table,
    })
}

/// A computed title, with `\0` for all that is not written in a sum of texts.
fn computed_title(title: Node<'_>, text: &str) -> String {
    match title.kind() {
        "string" => unquoted(&text[title.byte_range()]).to_owned(),
        "binary_expression" if is_sum(title, text) => {
            let sides = ["left", "right"].map(|side| title.child_by_field_name(side));
            let sides = sides.into_iter().flatten();
            let parts: String = sides.map(|side| computed_title(side, text)).collect();
            parts.replace("\0\0", ANY_TITLE)
        }
        _ => ANY_TITLE.to_owned(),
    }
}

fn is_sum(node: Node<'_>, text: &str) -> bool {
    let operator = node.child_by_field_name("operator");
    operator.is_some_and(|operator| &text[operator.byte_range()] == "+")
}

/// A title with `\0` for each of its placeholders: `${…}` of a template, and `%s` and `$name` of a
/// table.
fn with_placeholders(title: &str, is_table: bool) -> String {
    let mut result = String::new();
    let mut rest = title;
    while let Some(letter) = rest.chars().next() {
        let length = if rest.starts_with("${") {
            rest.find('}').map(|end| end + 1)
        } else if is_table && letter == '%' {
            Some(rest.chars().take(2).map(char::len_utf8).sum())
        } else if is_table && letter == '$' {
            let end = rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
            Some(end.map_or(rest.len(), |end| end + 1))
        } else if letter == '\\' {
            // An escape, of any meaning.
            Some(rest.chars().take(2).map(char::len_utf8).sum())
        } else {
            None
        };
        match length {
            Some(length) => {
                result.push('\0');
                rest = &rest[length..];
            }
            None => {
                result.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    result
}

/// Loops over tables that are written out.
const LOOPS: (&str, &[&str], &[&str]) = ("for_in_statement", &["array_pattern"], &["array"]);

/// The cells of a parameter of a test with a table, as in `test.each([[1, 2]])("title", (a, b) =>
/// …)`; rows are arrays, objects or single values.
fn table_cells<'t>(used: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Cells<'t>> {
    let (key, variable) = match used.kind() {
        "member_expression" => (
            Some(used.child_by_field_name("property")?),
            used.child_by_field_name("object")?,
        ),
        _ => (None, used),
    };
    let name = frame.source(variable);
    let is_name = |node: &Node<'_>| frame.source(*node) == name;
    let body = frame.function;
    // `a => …` has a single parameter without a list.
    let parameters = body
        .child_by_field_name("parameters")
        .map(named_children)
        .or_else(|| Some(vec![body.child_by_field_name("parameter")?]))?;
    let patterns: Vec<Node<'t>> = parameters
        .into_iter()
        .map(|node| node.child_by_field_name("pattern").unwrap_or(node))
        .collect();
    let index = patterns.iter().position(is_name);
    let is_property = patterns.first().is_some_and(|pattern| {
        pattern.kind() == "object_pattern" && named_children(*pattern).iter().any(is_name)
    });
    if index.is_none() && !is_property {
        return None;
    }
    let rows = table_rows(frame)?;
    let text = frame.text_of_table(*rows.first()?);
    let key = key.map_or(name, |key| frame.source(key));
    let property = |row: Node<'t>| {
        let pairs = named_children(row).into_iter();
        let mut named = pairs.filter(|pair| {
            pair.child_by_field_name("key")
                .is_some_and(|own| unquoted(&text[own.byte_range()]) == key)
        });
        named.next()?.child_by_field_name("value")
    };
    let cell = |row: Node<'t>| match (row.kind(), index) {
        ("object", _) => property(row),
        ("array", Some(index)) => named_children(row).get(index).copied(),
        (_, Some(0)) => Some(row),
        _ => None,
    };
    Some(Cells {
        cells: rows.into_iter().filter_map(cell).collect(),
        is_tests: true,
        column: None,
    })
}

/// The rows of a test's table. In `test.each(table)("title", body)`, the table is an argument of the
/// called function.
fn table_rows<'t>(frame: &CallFrame<'t, '_>) -> Option<Vec<Node<'t>>> {
    let call = frame.function.parent()?.parent()?;
    let table = call.child_by_field_name("function")?;
    let table = named_children(table.child_by_field_name("arguments")?)
        .into_iter()
        .next()?;
    frame.written(table, &["array"]).map(named_children)
}

/// Methods that call a function for each element of a list.
const EACH: [&str; 6] = ["forEach", "map", "every", "some", "flatMap", "filter"];

/// The cells of a variable that takes its values from the rows of a table: in a loop whose variable
/// is a pattern or has members, in a function that a method of the table calls, and in the function
/// of a suite with a table.
fn row_cells<'t>(used: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Cells<'t>> {
    let (name, key) = match used.kind() {
        "member_expression" => (
            used.child_by_field_name("object")?,
            used.child_by_field_name("property"),
        ),
        "subscript_expression" => (
            used.child_by_field_name("object")?,
            used.child_by_field_name("index"),
        ),
        _ => (used, None),
    };
    let name = frame.source(name);
    // A row around the test makes a test of each row; one within the test does not.
    let is_tests = |around: Node<'t>| !frame.function.byte_range().contains(&around.start_byte());
    let mut around = used.parent();
    while let Some(node) = around {
        around = node.parent();
        if let Some(pairs) = key.and_then(|key| pairs_around(node, name, key, frame)) {
            let values = pairs.into_iter();
            return Some(Cells {
                cells: values
                    .filter_map(|pair| pair.child_by_field_name("value"))
                    .collect(),
                is_tests: is_tests(node),
                column: None,
            });
        }
        let Some((patterns, table)) = rows_around(node, frame) else {
            continue;
        };
        let Some(path) = patterns
            .iter()
            .enumerate()
            .find_map(|(index, pattern)| path_of(*pattern, name, frame, index, patterns.len()))
        else {
            continue;
        };
        let cells = match table.kind() {
            "template_string" => template_cells(table, &path, frame),
            _ => {
                let rows = rows_of(table, frame)?;
                let text = frame.text_of_table(*rows.first()?);
                let key = key.map(|key| unquoted(frame.source(key)));
                let cells = rows.into_iter();
                cells
                    .filter_map(|row| cell_of(row, &path, key, text))
                    .collect()
            }
        };
        return Some(Cells {
            cells,
            is_tests: is_tests(node),
            column: None,
        });
    }
    None
}

/// The pairs of an object of this name in a loop over its keys: `for (const key in object)`.
fn pairs_around<'t>(
    node: Node<'t>,
    object: &str,
    key: Node<'t>,
    frame: &CallFrame<'t, '_>,
) -> Option<Vec<Node<'t>>> {
    let field = |name: &str| node.child_by_field_name(name);
    if node.kind() != "for_in_statement" || frame.source(field("operator")?) != "in" {
        return None;
    }
    if key.parent()?.kind() != "subscript_expression" {
        return None;
    }
    let table = field("right")?;
    let is_of_both =
        frame.source(field("left")?) == frame.source(key) && frame.source(table) == object;
    let written = is_of_both.then(|| frame.written(table, &["object"]));
    written?.map(named_children)
}

/// The patterns of the variables of a loop or function that goes through a table, and the table.
fn rows_around<'t>(node: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<(Vec<Node<'t>>, Node<'t>)> {
    if node.kind() == "for_in_statement" {
        let left = node.child_by_field_name("left")?;
        let is_of = frame.source(node.child_by_field_name("operator")?) == "of";
        return is_of.then_some((vec![left], node.child_by_field_name("right")?));
    }
    if !is_function(&node) {
        return None;
    }
    let parameters = node
        .child_by_field_name("parameters")
        .map(named_children)
        .or_else(|| Some(vec![node.child_by_field_name("parameter")?]))?;
    let patterns = parameters
        .into_iter()
        .map(|node| node.child_by_field_name("pattern").unwrap_or(node));
    let function = node.parent()?.parent()?.child_by_field_name("function")?;
    match function.kind() {
        "member_expression" => {
            let method = function.child_by_field_name("property")?;
            // Those after the first are the index and the list.
            EACH.contains(&frame.source(method)).then_some((
                patterns.take(1).collect(),
                function.child_by_field_name("object")?,
            ))
        }
        "call_expression" => {
            let named = frame.source(function.child_by_field_name("function")?);
            let table = function.child_by_field_name("arguments")?;
            let table = match table.kind() {
                "template_string" => table,
                _ => table.named_child(0)?,
            };
            match named.rsplit('.').next()? {
                "each" if table.kind() == "template_string" => {
                    Some((patterns.take(1).collect(), table))
                }
                "each" => Some((patterns.collect(), table)),
                "for" => Some((patterns.take(1).collect(), table)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A step from a row to the value of a variable.
enum Step<'t> {
    Index(usize),
    Key(&'t str),
}

/// The steps to a name in a pattern, which is one of several if a row's elements are arguments.
fn path_of<'t>(
    pattern: Node<'t>,
    name: &str,
    frame: &CallFrame<'t, '_>,
    index: usize,
    count: usize,
) -> Option<Vec<Step<'t>>> {
    let is_name = |node: &Node<'t>| frame.source(*node) == name;
    let mut path = match count {
        1 => Vec::new(),
        _ => vec![Step::Index(index)],
    };
    match pattern.kind() {
        "array_pattern" => {
            path.push(Step::Index(
                named_children(pattern).iter().position(is_name)?,
            ));
        }
        "object_pattern" => {
            let key = named_children(pattern).into_iter().find_map(|part| {
                let value = part.child_by_field_name("value").unwrap_or(part);
                let value = value.child_by_field_name("left").unwrap_or(value);
                let key = part.child_by_field_name("key").unwrap_or(value);
                is_name(&value).then(|| frame.source(key))
            });
            path.push(Step::Key(key?));
        }
        _ if is_name(&pattern) => {}
        _ => return None,
    }
    Some(path)
}

/// The rows of a table: a list, or the entries of an object or a map.
fn rows_of<'t>(table: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Vec<Node<'t>>> {
    let list = match table.kind() {
        "new_expression" => table.child_by_field_name("arguments")?.named_child(0)?,
        "call_expression" => {
            let function = table.child_by_field_name("function")?;
            let argument = table.child_by_field_name("arguments")?.named_child(0)?;
            if frame.source(function) != "Object.entries" {
                return None;
            }
            argument
        }
        _ => table,
    };
    Some(named_children(frame.written(list, &["array", "object"])?))
}

/// The cells of a column of a table that is a template: names in its first line, then values.
fn template_cells<'t>(
    table: Node<'t>,
    path: &[Step<'t>],
    frame: &CallFrame<'t, '_>,
) -> Vec<Node<'t>> {
    let [Step::Key(key)] = path else {
        return Vec::new();
    };
    let source = frame.source(table).trim_start_matches('`').trim_start();
    let header = source.lines().next().unwrap_or_default();
    let names: Vec<&str> = header.split('|').map(str::trim).collect();
    let Some(column) = names.iter().position(|name| name == key) else {
        return Vec::new();
    };
    let values = named_children(table).into_iter();
    values
        .filter(|part| part.kind() == "template_substitution")
        .skip(column)
        .step_by(names.len())
        .filter_map(|part| part.named_child(0))
        .collect()
}

/// The value in a row of a text that a variable has, or its member with this key.
fn cell_of<'t>(
    row: Node<'t>,
    path: &[Step<'t>],
    key: Option<&'t str>,
    text: &str,
) -> Option<Node<'t>> {
    let step = |row: Node<'t>, step: &Step<'t>| {
        let parts = named_children(row);
        match (row.kind(), step) {
            // An entry has its key first.
            ("pair", Step::Index(1)) => row.child_by_field_name("value"),
            ("array", Step::Index(index)) => parts.get(*index).copied(),
            ("object", Step::Key(key)) => parts
                .into_iter()
                .find(|pair| {
                    pair.child_by_field_name("key")
                        .is_some_and(|own| unquoted(&text[own.byte_range()]) == *key)
                })?
                .child_by_field_name("value"),
            _ => None,
        }
    };
    let value = path.iter().try_fold(row, step)?;
    let Some(key) = key else {
        return Some(value);
    };
    match key.parse() {
        Ok(index) => step(value, &Step::Index(index)),
        Err(_) => step(value, &Step::Key(key)),
    }
}

/// Returns the values that are compared for equality in a condition, the right side of each
/// comparison first. If several values are correct, none of them is altered.
fn compared<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let operator = condition.child_by_field_name("operator");
    let operator = operator.map(|operator| &text[operator.byte_range()]);
    match (condition.kind(), operator) {
        ("binary_expression", Some("==" | "===")) => {
            return named_children(condition).into_iter().rev().collect();
        }
        ("binary_expression", Some("in")) => return condition.named_child(0).into_iter().collect(),
        ("binary_expression", Some("||")) => return Vec::new(),
        _ => {}
    }
    if condition.kind() == "call_expression"
        && let Some(function) = condition.child_by_field_name("function")
        && let Some(name) = function.child_by_field_name("property")
        && let Some(object) = function.child_by_field_name("object")
    {
        let first = || condition.child_by_field_name("arguments")?.named_child(0);
        return match &text[name.byte_range()] {
            "test" if object.kind() == "regex" => vec![object],
            "startsWith" | "endsWith" => first().into_iter().collect(),
            "is" if &text[object.byte_range()] == "Object" => {
                let arguments = condition.child_by_field_name("arguments");
                arguments.map_or_else(Vec::new, |list| {
                    named_children(list).into_iter().rev().collect()
                })
            }
            // A list that is written has the accepted values, see `choices`.
            "includes" if object.kind() != "array" => first().into_iter().collect(),
            _ => Vec::new(),
        };
    }
    let is_looked_into = !LITERALS.untouched.contains(&condition.kind())
        && !matches!(
            condition.kind(),
            "call_expression" | "new_expression" | "subscript_expression"
        );
    if !is_looked_into {
        return Vec::new();
    }
    let parts = named_children(condition).into_iter();
    parts.flat_map(|part| compared(part, text)).collect()
}

/// Returns the name at the start of a chain of members and calls: `expect` of `expect(a).not.toBe`,
/// if a member follows it, and `assert` of `assert` and `assert.equal`.
fn subject<'t>(function: Node<'_>, text: &'t str) -> Option<&'t str> {
    let mut node = function;
    let mut is_called = false;
    loop {
        match node.kind() {
            "member_expression" => node = node.child_by_field_name("object")?,
            "call_expression" => {
                is_called = true;
                node = node.child_by_field_name("function")?;
            }
            "identifier" => break,
            _ => return None,
        }
    }
    match &text[node.byte_range()] {
        "expect" if is_called && function.kind() == "member_expression" => Some("expect"),
        "assert" if !is_called => Some("assert"),
        _ => None,
    }
}

fn expectation<'t>(
    function: Node<'t>,
    arguments: &[Node<'t>],
    text: &str,
) -> Option<Assertion<'t>> {
    let matcher = function.child_by_field_name("property")?;
    let word = &text[matcher.byte_range()];
    let chain = &text[function.byte_range()];
    let negated = chain.contains(".not.");
    let mut compared = Vec::new();
    let mut choices = Vec::new();
    if EQUALITIES.contains(&word) && !negated {
        // In `toHaveProperty(path, value)`, the expected value is the last argument.
        compared.extend(arguments.iter().rev().copied());
    }
    let mut bounds = Vec::new();
    let tolerance = tolerance(word, arguments, text).filter(|_| !negated);
    bounds.extend(tolerance.and_then(|_| arguments.first().copied()));
    if let Some(actual) = function.child_by_field_name("object") {
        for part in actual_arguments(actual) {
            compared.extend(self::compared(part, text));
            bounds.extend(self::bounds(part, text));
            choices.extend(self::choices(part, text));
            if part.kind() == "array" && word.starts_with("toContain") && !negated {
                // The value of the code is the argument of the matcher, and the list has the
                // accepted ones.
                choices.extend(named_children(part));
                compared.clear();
            }
        }
    }
    let start = function.start_byte();
    let complement = if ONE_SIDED.contains(&word) {
        None
    } else if negated {
        chain
            .rfind(".not.")
            .map(|at| SourceEdit::new(start + at..start + at + ".not".len(), ""))
    } else {
        // chai's `to` precedes its `not`, which reads better and is the same.
        let at = matcher.start_byte();
        Some(SourceEdit::new(at..at, "not."))
    };
    let class = arguments
        .last()
        .filter(|class| word.starts_with("toThrow") && !negated && class.kind() == "identifier");
    Some(Assertion {
        complement,
        is_truth: matches!(word, "toBeTruthy" | "toBeFalsy"),
        is_stored: matches!(word, "toMatchSnapshot" | "toThrowErrorMatchingSnapshot"),
        bounds,
        tolerance,
        choices,
        ..exception(class, text, compared)
    })
}

/// The distance at which a matcher that compares roughly passes: `toBeCloseTo(value, decimals)` or
/// `closeTo(value, distance)`, with the expected value first. `None` for another matcher, and for a
/// distance that is not written as a number.
fn tolerance(word: &str, arguments: &[Node<'_>], text: &str) -> Option<f64> {
    let second = arguments.get(1);
    match word {
        // Two decimals are the default: https://jestjs.io/docs/expect#tobeclosetonumber-numdigits
        "toBeCloseTo" => second
            .map_or(Some(2.0), |places| twins::number(*places, text))
            .map(twins::half_of_place),
        "closeTo" | "approximately" => twins::number(*second?, text),
        _ => None,
    }
}

/// The arguments of `expect`, of whose parts some may be compared, as in
/// `expect(a === 3).toBe(true)`.
fn actual_arguments(chain: Node<'_>) -> Vec<Node<'_>> {
    let mut node = chain;
    while node.kind() == "member_expression" {
        match node.child_by_field_name("object") {
            Some(object) => node = object,
            None => return Vec::new(),
        }
    }
    let arguments = node.child_by_field_name("arguments").map(named_children);
    arguments.unwrap_or_default()
}

/// The operands of orderings that all hold.
fn bounds<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    twins::bounds(condition, text, "&&", &["parenthesized_expression"])
}

/// The elements of the list that a membership names, such as `[1, 2].includes(value)`.
fn choices<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let list = condition
        .child_by_field_name("function")
        .filter(|function| function.kind() == "member_expression")
        .filter(|function| text[function.byte_range()].ends_with(".includes"))
        .and_then(|function| function.child_by_field_name("object"));
    list.filter(|list| list.kind() == "array")
        .map_or_else(Vec::new, named_children)
}

fn assertion<'t>(function: Node<'t>, arguments: &[Node<'t>], text: &str) -> Option<Assertion<'t>> {
    let method = match function.kind() {
        "member_expression" => function.child_by_field_name("property"),
        _ => None,
    };
    let word = method.unwrap_or(function);
    let word = match &text[word.byte_range()] {
        "assert" => "ok",
        word => word,
    };
    let condition = arguments.first()?;
    let compared = if EQUALITIES.contains(&word) {
        // A third argument is a message.
        arguments.iter().take(2).rev().copied().collect()
    } else {
        compared(*condition, text)
    };
    let mut bounds = bounds(*condition, text);
    // `closeTo(actual, expected, distance)`.
    let tolerance = arguments
        .get(1..)
        .and_then(|expected| tolerance(word, expected, text));
    bounds.extend(tolerance.and_then(|_| arguments.get(1).copied()));
    let opposite = opposite(word, &OPPOSITES);
    let complement = match (method, opposite) {
        (Some(method), Some(opposite)) => Some(SourceEdit::new(method.byte_range(), opposite)),
        (_, None) if word == "ok" => {
            let source = &text[condition.byte_range()];
            let negated = format!("!({source})");
            Some(SourceEdit::new(condition.byte_range(), &negated))
        }
        _ => None,
    };
    let thrown = arguments
        .get(1)
        .filter(|_| matches!(word, "throws" | "rejects"));
    let class = thrown.filter(|class| class.kind() == "identifier");
    let described = thrown.filter(|thrown| matches!(thrown.kind(), "regex" | "object"));
    let compared = match described {
        Some(described) => vec![*described],
        None => compared,
    };
    let is_value = !matches!(condition.kind(), "binary_expression" | "arrow_function");
    Some(Assertion {
        complement,
        is_truth: word == "ok" && is_value,
        bounds,
        tolerance,
        choices: choices(*condition, text),
        ..exception(class, text, compared)
    })
}

/// An assertion that expects an exception of a class, if there is one, or compares values.
fn exception<'t>(class: Option<&Node<'t>>, text: &str, compared: Vec<Node<'t>>) -> Assertion<'t> {
    let others = ["TypeError", "RangeError", "SyntaxError", "URIError"];
    match class {
        Some(class) => Assertion {
            compared,
            ..Assertion::expecting(*class, text, &others)
        },
        None => Assertion::comparing(compared),
    }
}
