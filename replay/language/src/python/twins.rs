//! Twins of Python tests: pytest's functions and methods, and unittest's methods.

use tree_sitter::Node;

use super::super::twins::{
    self, Assertion, CallFrame, Cells, Evaluation, FoundFunction, Grammar, LiteralKinds,
    NeutralName, ParsedFile, RowNames, SourceEdit, differing, failing_branch, loop_cells,
    named_children, operator, opposite, raised_in_branch, unquoted,
};

/// An exception class that no code under test raises.
const UNRAISED: &str = "type(\"ValueError\", (Exception,), {})";

/// unittest's assertions and their complements.
const OPPOSITES: [(&str, &str); 10] = [
    ("assertEqual", "assertNotEqual"),
    ("assertTrue", "assertFalse"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIn", "assertNotIn"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertGreater", "assertLessEqual"),
    ("assertLess", "assertGreaterEqual"),
    ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertRegex", "assertNotRegex"),
];

/// unittest's assertions that compare with an expected value.
const EQUALITIES: [&str; 11] = [
    "assertEqual",
    "assertIs",
    "assertAlmostEqual",
    "assertEquals",
    "assertListEqual",
    "assertTupleEqual",
    "assertDictEqual",
    "assertSetEqual",
    "assertSequenceEqual",
    "assertMultiLineEqual",
    "assertCountEqual",
];

/// Functions of a file or of a class.
pub(super) fn collect_tests(
    node: Node<'_>,
    files: &[ParsedFile<'_>],
    around: &mut Vec<String>,
    functions: &mut Vec<FoundFunction>,
) {
    let text = files[0].text;
    let classes = classes(node, text);
    for child in named_children(node) {
        let (decorated, definition) = match child.kind() {
            "decorated_definition" => (Some(child), child.child_by_field_name("definition")),
            _ => (None, Some(child)),
        };
        let Some(definition) = definition else {
            continue;
        };
        let name = definition.child_by_field_name("name");
        match (definition.kind(), name) {
            ("class_definition", Some(name)) => {
                let (name, first) = (&text[name.byte_range()], functions.len());
                around.push(name.to_owned());
                if let Some(body) = definition.child_by_field_name("body") {
                    collect_tests(body, files, around, functions);
                }
                around.pop();
                for function in &mut functions[first..] {
                    // Functions of classes inside have more names.
                    if let [.., _, method] = function.names.as_slice()
                        && function.names.len() == around.len() + 2
                    {
                        let heirs = heirs(&classes, name, method).into_iter();
                        let names = |heir: &str| [heir.to_owned(), method.clone()];
                        function.inherited = heirs
                            .map(|heir| [around.as_slice(), &names(heir)].concat())
                            .collect();
                    }
                }
            }
            ("function_definition", Some(name)) => {
                let mut names = around.clone();
                names.push(text[name.byte_range()].to_owned());
                let frame = CallFrame::new(&GRAMMAR, files, definition);
                functions.push(FoundFunction {
                    names,
                    inherited: Vec::new(),
                    file: 0,
                    span: child.byte_range(),
                    assertions: frame.assertions(),
                    neutral: neutral(decorated, name, functions.len(), &frame),
                });
            }
            // Tests may be under a condition.
            ("if_statement" | "else_clause" | "try_statement" | "block", _) => {
                collect_tests(definition, files, around, functions);
            }
            _ => {}
        }
    }
    if node == files[0].root {
        collect_inherited(files, functions);
    }
}

/// Adds the methods of classes of other files that the file of tests imports or that its classes
/// inherit. They keep their names, which are those of tests of their own file too.
fn collect_inherited(files: &[ParsedFile<'_>], functions: &mut Vec<FoundFunction>) {
    let code = || files.iter().enumerate().filter(|(_, file)| !file.is_data);
    let all: Vec<TestClass<'_>> = code()
        .flat_map(|(_, file)| classes(file.root, file.text))
        .collect();
    let own = classes(files[0].root, files[0].text);
    let own: Vec<&str> = own.iter().map(|class| class.name).collect();
    let imported = imported_names(files[0].root, files[0].text);
    for (index, file) in code().skip(1) {
        let classes = named_children(file.root)
            .into_iter()
            .filter_map(undecorated);
        for class in classes.filter(|class| class.kind() == "class_definition") {
            let field = |name| class.child_by_field_name(name);
            let (Some(name), Some(body)) = (field("name"), field("body")) else {
                continue;
            };
            let name = &file.text[name.byte_range()];
            let methods = named_children(body).into_iter().filter_map(undecorated);
            for definition in methods.filter(|method| method.kind() == "function_definition") {
                let method = definition.child_by_field_name("name");
                let method = method.map_or("", |name| &file.text[name.byte_range()]);
                let mut names = heirs(&all, name, method);
                names.insert(0, name);
                names.retain(|name| own.contains(name) || imported.contains(name));
                let mut names = names.into_iter();
                let Some(first) = names.next().filter(|_| method.starts_with("test")) else {
                    continue;
                };
                let of = |class: &str| vec![class.to_owned(), method.to_owned()];
                let frame = CallFrame::in_file(&GRAMMAR, files, index, definition);
                functions.push(FoundFunction {
                    names: of(first),
                    inherited: names.map(of).collect(),
                    file: index,
                    span: definition.byte_range(),
                    assertions: frame.assertions(),
                    neutral: None,
                });
            }
        }
    }
}

/// The names that a file imports from modules.
fn imported_names<'t>(root: Node<'_>, text: &'t str) -> Vec<&'t str> {
    let imports = named_children(root).into_iter();
    let imports = imports.filter(|child| child.kind() == "import_from_statement");
    let names = imports.flat_map(|import| {
        let mut cursor = import.walk();
        let names = import.children_by_field_name("name", &mut cursor);
        names.collect::<Vec<_>>()
    });
    names.map(|name| &text[name.byte_range()]).collect()
}

/// A class of a file of tests.
struct TestClass<'t> {
    name: &'t str,
    bases: Vec<&'t str>,
    methods: Vec<&'t str>,
}

/// The classes of a block.
fn classes<'t>(block: Node<'_>, text: &'t str) -> Vec<TestClass<'t>> {
    let mut classes = Vec::new();
    for class in named_children(block).into_iter().filter_map(undecorated) {
        if class.kind() != "class_definition" {
            continue;
        }
        let Some(name) = class.child_by_field_name("name") else {
            continue;
        };
        let mut found = TestClass {
            name: &text[name.byte_range()],
            bases: Vec::new(),
            methods: Vec::new(),
        };
        if let Some(bases) = class.child_by_field_name("superclasses") {
            let bases = named_children(bases).into_iter();
            let bases = bases.filter(|base| base.kind() == "identifier");
            found
                .bases
                .extend(bases.map(|base| &text[base.byte_range()]));
        }
        if let Some(body) = class.child_by_field_name("body") {
            let methods = named_children(body)
                .into_iter()
                .filter_map(undecorated)
                .filter(|child| child.kind() == "function_definition")
                .filter_map(|method| method.child_by_field_name("name"));
            found
                .methods
                .extend(methods.map(|name| &text[name.byte_range()]));
        }
        classes.push(found);
    }
    classes
}

/// A definition without its decorators; any other node as it is.
fn undecorated(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "decorated_definition" => node.child_by_field_name("definition"),
        _ => Some(node),
    }
}

/// The names of the classes that inherit a method of a class.
fn heirs<'t>(classes: &[TestClass<'t>], class: &str, method: &str) -> Vec<&'t str> {
    let mut heirs: Vec<&str> = Vec::new();
    loop {
        let known = heirs.len();
        for other in classes {
            let mut bases = other.bases.iter();
            let inherits = bases.any(|base| *base == class || heirs.contains(base));
            let is_new = !heirs.contains(&other.name);
            if inherits && is_new && !other.methods.contains(&method) {
                heirs.push(other.name);
            }
        }
        // Classes of several files are in no order.
        if heirs.len() == known {
            return heirs;
        }
    }
}

/// A name without meaning, and ids without meaning for the rows of a table.
fn neutral(
    decorated: Option<Node<'_>>,
    name: Node<'_>,
    index: usize,
    frame: &CallFrame<'_, '_>,
) -> Option<NeutralName> {
    let text = frame.text();
    if !text[name.byte_range()].starts_with("test") {
        return None;
    }
    let new = format!("test_{index:03}");
    let mut edits = vec![SourceEdit::new(name.byte_range(), &new)];
    let tables: Vec<Vec<Node<'_>>> = decorated
        .map_or_else(Vec::new, named_children)
        .into_iter()
        .filter_map(|decorator| parametrize(decorator, text))
        .collect();
    if let [arguments] = tables.as_slice() {
        // pytest takes as many ids from an iterator as there are rows.
        let ids = "map(str, range(100_000))";
        let given = arguments.iter().find(|argument| {
            argument
                .child_by_field_name("name")
                .is_some_and(|name| &text[name.byte_range()] == "ids")
        });
        match given {
            Some(given) => {
                let value = given.child_by_field_name("value")?;
                edits.push(SourceEdit::new(value.byte_range(), ids));
            }
            None => {
                let end = arguments.get(1)?.end_byte();
                edits.push(SourceEdit::new(end..end, &format!(", ids={ids}")));
            }
        }
        own_ids(*arguments.get(1)?, text, &mut edits);
        let around = frame.function.parent().unwrap_or(frame.function);
        edits.extend(frame.unused_names(around));
    } else if !tables.is_empty() {
        // Stacked tables combine their ids, so no index names a row.
        return None;
    }
    let values = tables.first().and_then(|arguments| arguments.get(1));
    let rows = match values {
        None => RowNames::Kept,
        Some(values) if frame.written(*values, &["set"]).is_some() => RowNames::Unordered,
        Some(_) => RowNames::Bracketed,
    };
    Some(NeutralName {
        name: new,
        single: edits.clone(),
        several: edits,
        rows,
        suites: Vec::new(),
    })
}

/// Adds the edits that remove the ids that rows have of their own, `pytest.param(…, id="x")`.
fn own_ids(values: Node<'_>, text: &str, edits: &mut Vec<SourceEdit>) {
    let is_row = |row: &Node<'_>| {
        let function = row.child_by_field_name("function");
        function.is_some_and(|function| text[function.byte_range()].ends_with("param"))
    };
    let rows = named_children(values).into_iter().filter(is_row);
    let arguments = rows.filter_map(|row| row.child_by_field_name("arguments"));
    for argument in arguments.flat_map(named_children) {
        let name = argument.child_by_field_name("name");
        let is_id = name.is_some_and(|name| &text[name.byte_range()] == "id");
        if let Some(value) = argument.child_by_field_name("value").filter(|_| is_id) {
            edits.push(SourceEdit::new(value.byte_range(), "None"));
        }
    }
}

/// The arguments of `@pytest.mark.parametrize`.
fn parametrize<'t>(decorator: Node<'t>, text: &str) -> Option<Vec<Node<'t>>> {
    if decorator.kind() != "decorator" {
        return None;
    }
    let call = named_children(decorator)
        .into_iter()
        .find(|child| child.kind() == "call")?;
    let function = call.child_by_field_name("function")?;
    let arguments = named_children(call.child_by_field_name("arguments")?).into_iter();
    text[function.byte_range()]
        .ends_with("parametrize")
        .then(|| arguments.filter(|it| it.kind() != "comment").collect())
}

/// Loops over tables that are written out.
const LOOPS: (&str, &[&str], &[&str]) = (
    "for_statement",
    &["pattern_list", "tuple_pattern"],
    &["list", "tuple", "array"],
);

/// Functions whose results depend only on their arguments.
const PURE: [&str; 44] = [
    "approx",
    "Decimal",
    "Fraction",
    "set",
    "frozenset",
    "list",
    "tuple",
    "dict",
    "float",
    "bytes",
    "bytearray",
    "OrderedDict",
    "Counter",
    "str",
    "int",
    "bool",
    "complex",
    "sum",
    "range",
    "len",
    "sorted",
    "reversed",
    "min",
    "max",
    "abs",
    "round",
    "repr",
    "chr",
    "ord",
    "zip",
    "Path",
    "PurePath",
    "date",
    "datetime",
    "timedelta",
    "time",
    "array",
    "split",
    "join",
    "replace",
    "strip",
    "encode",
    "dedent",
    "format",
];

/// Tree-sitter's kinds of literals that can be altered.
const LITERALS: LiteralKinds = LiteralKinds {
    numbers: &["integer", "float"],
    strings: &["string_content"],
    booleans: ["True", "False"],
    boolean_kinds: &["true", "false"],
    nothing: ("none", "0"),
    untouched: &["lambda"],
};

const GRAMMAR: Grammar = Grammar {
    literals: LITERALS,
    identifiers: &["identifier"],
    calls: &["call"],
    members: &[
        ("attribute", "object", "attribute"),
        ("subscript", "value", "subscript"),
    ],
    assignments: &[("assignment", "left", "right")],
    functions: &["function_definition", "lambda"],
    returns: "return_statement",
    lists: &["list", "tuple"],
    empty: &[
        ("list", "[]", "[0]"),
        ("tuple", "()", "(0,)"),
        ("dictionary", "{}", "{0: 0}"),
        ("string", "\"\"", "\"x\""),
        ("string", "''", "'x'"),
    ],
    is_pure: |name| PURE.contains(&name.rsplit('.').next().unwrap_or(name)),
    evaluation: Evaluation {
        nothing: "pass",
        around: ["(", ",)"],
        keeps_function: false,
        messages,
    },
    assertion: |node, text| match node.kind() {
        "assert_statement" => assert_statement(node, text).map(|it| roughly(it, node, text)),
        "call" => call(node, text).map(|it| roughly(it, node, text)),
        "if_statement" => branch(node, text),
        "case_clause" => Some(Assertion::comparing(
            node.named_child(0).into_iter().collect(),
        )),
        // An expression that says whether a value is right.
        "comparison_operator" => node
            .parent()
            .filter(|parent| {
                matches!(
                    parent.kind(),
                    "generator_expression" | "list_comprehension" | "lambda" | "return_statement"
                )
            })
            .map(|_| Assertion::comparing(compared(node, text)))
            .filter(|assertion| !assertion.compared.is_empty()),
        _ => None,
    },
    cells: |used, frame| {
        parameter_cells(used, frame)
            .or_else(|| loop_cells(used, frame, LOOPS))
            .or_else(|| items_cells(used, frame))
            .or_else(|| member_cells(used, frame))
    },
};

/// `if got != wanted: raise …`.
fn branch<'t>(node: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let condition = node.child_by_field_name("condition")?;
    Some(Assertion {
        complement: Some(negated(condition, text)),
        ..failing_branch(node, text, compared)?
    })
}

/// The cells of a variable of a loop over the items of a dictionary that is written, over lists side
/// by side, or over a list and its indexes.
fn items_cells<'t>(used: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Cells<'t>> {
    let mut around = used.parent();
    while let Some(node) = around {
        around = node.parent();
        if !matches!(node.kind(), "for_statement" | "for_in_clause") {
            continue;
        }
        let left = node.child_by_field_name("left")?;
        let right = node.child_by_field_name("right")?;
        let names = named_children(left);
        let Some(index) = names
            .iter()
            .position(|name| frame.source(*name) == frame.source(used))
        else {
            continue;
        };
        let function = right.child_by_field_name("function")?;
        let cells = match (function.kind(), frame.source(function)) {
            ("attribute", source) if source.ends_with(".items") => {
                let dictionary = function.child_by_field_name("object")?;
                let dictionary = frame.written(dictionary, &["dictionary", "object"])?;
                let field = ["key", "value"].get(index)?;
                let pairs = named_children(dictionary).into_iter();
                pairs
                    .filter_map(|pair| pair.child_by_field_name(field))
                    .collect()
            }
            (_, "enumerate") if index == 1 => {
                let list = named_children(right.child_by_field_name("arguments")?);
                named_children(frame.written(*list.first()?, &["list", "tuple"])?)
            }
            (_, "zip") => {
                let lists = named_children(right.child_by_field_name("arguments")?);
                named_children(frame.written(*lists.get(index)?, &["list", "tuple"])?)
            }
            _ => return None,
        };
        return Some(Cells {
            cells,
            is_tests: false,
            column: None,
        });
    }
    None
}

/// The cells of a member of a row, such as `row["wanted"]` or `row.wanted`.
fn member_cells<'t>(used: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Cells<'t>> {
    let (object, key) = match used.kind() {
        "attribute" => (
            used.child_by_field_name("object")?,
            used.child_by_field_name("attribute")?,
        ),
        "subscript" => (
            used.child_by_field_name("value")?,
            used.child_by_field_name("subscript")?,
        ),
        _ => return None,
    };
    let rows = parameter_cells(object, frame).or_else(|| loop_cells(object, frame, LOOPS))?;
    let key = unquoted(frame.source(key));
    let text = frame.text_of_table(*rows.cells.first()?);
    let cell = |row: Node<'t>| {
        let field = row
            .child_by_field_name("function")
            .and_then(|class| field_index(&text[class.byte_range()], key, frame));
        let parts = match row.child_by_field_name("arguments") {
            Some(arguments) => named_children(arguments),
            None => named_children(row),
        };
        let mut named = parts.iter().filter(|part| {
            let name = part.child_by_field_name("key");
            let name = name.or_else(|| part.child_by_field_name("name"));
            name.is_some_and(|name| unquoted(&text[name.byte_range()]) == key)
        });
        match named.next() {
            Some(part) => part.child_by_field_name("value"),
            None => parts.get(key.parse().ok().or(field)?).copied(),
        }
    };
    Some(Cells {
        cells: rows.cells.into_iter().filter_map(cell).collect(),
        ..rows
    })
}

/// The place of a field among those of a class of the tests' file, such as of a `NamedTuple`, which
/// is that among the arguments of a call that makes one.
fn field_index(class: &str, field: &str, frame: &CallFrame<'_, '_>) -> Option<usize> {
    let classes = named_children(frame.root()).into_iter();
    let mut classes = classes.map(|node| node.child_by_field_name("definition").unwrap_or(node));
    let class = classes.find(|node| {
        let name = node.child_by_field_name("name");
        node.kind() == "class_definition" && name.is_some_and(|name| frame.source(name) == class)
    })?;
    let fields = named_children(class.child_by_field_name("body")?).into_iter();
    let mut fields = fields
        .filter_map(|statement| statement.named_child(0))
        .filter(|part| part.kind() == "assignment" && part.child_by_field_name("type").is_some());
    fields.position(|part| {
        let name = part.child_by_field_name("left");
        name.is_some_and(|name| frame.source(name) == field)
    })
}

fn assert_statement<'t>(statement: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let condition = named_children(statement).into_iter().next()?;
    let opposite = match (condition.kind(), operator(condition)) {
        // Only a comparison of two operands has an opposite operator; a chain is negated as a
        // whole.
        ("comparison_operator", Some(operator)) if named_children(condition).len() == 2 => {
            let opposite = match &text[operator.byte_range()] {
                "==" => Some("!="),
                "!=" => Some("=="),
                "in" => Some("not in"),
                "not in" => Some("in"),
                "is" => Some("is not"),
                "is not" => Some("is"),
                _ => None,
            };
            opposite.map(|opposite| SourceEdit::new(operator.byte_range(), opposite))
        }
        _ => None,
    };
    let mut value = condition;
    while matches!(value.kind(), "not_operator" | "parenthesized_expression") {
        value = value.named_child(0)?;
    }
    Some(Assertion {
        complement: Some(opposite.unwrap_or_else(|| negated(condition, text))),
        is_truth: matches!(
            value.kind(),
            "call" | "attribute" | "subscript" | "identifier"
        ),
        bounds: bounds(condition, text),
        choices: choices(condition, text),
        ..Assertion::comparing(compared(condition, text))
    })
}

/// The assertion with what a call with a tolerance compares as values that others may be near.
fn roughly<'t>(mut assertion: Assertion<'t>, node: Node<'t>, text: &str) -> Assertion<'t> {
    let Some((values, tolerance)) = near_values(node, text) else {
        return assertion;
    };
    // Another input would be another expectation only without a tolerance.
    assertion.compared.clear();
    if tolerance.is_some() && assertion.bounds.is_empty() {
        assertion.bounds = values;
        assertion.tolerance = tolerance;
    }
    assertion
}

/// Kind of an argument that says how far a value may be from another one.
#[derive(Clone, Copy)]
enum ToleranceKind {
    /// A distance.
    Absolute,
    /// A share of the expected value.
    Relative,
    /// Decimal places to which both are rounded.
    Places,
    /// Decimal places, of which NumPy accepts one and a half units:
    /// <https://numpy.org/doc/stable/reference/generated/numpy.testing.assert_almost_equal.html>
    Decimal,
}

use ToleranceKind::{Absolute, Decimal, Places, Relative};

/// Functions that compare roughly: their name, the number of values that they compare, and what
/// arguments after these say of the tolerance.
const COMPARERS: [(&str, usize, &[ToleranceKind]); 9] = [
    ("approx", 1, &[Relative, Absolute]),
    ("isclose", 2, &[Relative, Absolute]),
    ("allclose", 2, &[Relative, Absolute]),
    ("assert_allclose", 2, &[Relative, Absolute]),
    ("assertAlmostEqual", 2, &[Places]),
    ("assert_almost_equal", 2, &[Decimal]),
    ("assert_array_almost_equal", 2, &[Decimal]),
    ("assert_approx_equal", 2, &[Relative]),
    ("close_to", 1, &[Absolute]),
];

/// Returns what the first rough comparison in a node compares, and its tolerance: `None` for one
/// that is relative, or is not written as a number.
fn near_values<'t>(node: Node<'t>, text: &str) -> Option<(Vec<Node<'t>>, Option<f64>)> {
    if let Some(near) = near_arguments(node, text).or_else(|| near_difference(node, text)) {
        return Some(near);
    }
    let children = named_children(node).into_iter();
    children
        .filter(|child| child.kind() != "lambda")
        .find_map(|child| near_values(child, text))
}

/// `approx(0.5, abs=0.1)`; `None` for a call without a tolerance of its own.
fn near_arguments<'t>(call: Node<'t>, text: &str) -> Option<(Vec<Node<'t>>, Option<f64>)> {
    let function = call.child_by_field_name("function")?;
    let name = text[function.byte_range()].rsplit('.').next()?;
    let (_, count, kinds) = COMPARERS.iter().find(|(own, ..)| *own == name)?;
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let (named, mut values): (Vec<Node<'t>>, Vec<Node<'t>>) = arguments
        .into_iter()
        .filter(|argument| argument.kind() != "comment")
        .partition(|argument| argument.kind() == "keyword_argument");
    let positional = values.split_off(values.len().min(*count));
    let kind_of = |argument: Node<'t>| {
        let name = argument.child_by_field_name("name")?;
        let value = argument.child_by_field_name("value")?;
        let kind = match &text[name.byte_range()] {
            "abs" | "atol" | "abs_tol" | "delta" => Absolute,
            "rel" | "rtol" | "rel_tol" | "significant" => Relative,
            "places" => Places,
            "decimal" => Decimal,
            _ => return None,
        };
        Some((kind, value))
    };
    let given = kinds.iter().copied().zip(positional);
    let given: Vec<_> = given.chain(named.into_iter().filter_map(kind_of)).collect();
    if given.is_empty() {
        return None;
    }
    let distances = given.into_iter().map(|(kind, value)| {
        let number = twins::number(value, text)?;
        match kind {
            Absolute => Some(number),
            Places => Some(twins::half_of_place(number)),
            Decimal => Some(3.0 * twins::half_of_place(number)),
            Relative => (number == 0.0).then_some(0.0),
        }
    });
    // The larger of two tolerances counts.
    let distances: Option<Vec<f64>> = distances.collect();
    let most = distances.and_then(|distances| distances.into_iter().reduce(f64::max));
    Some((values, most))
}

/// `abs(a - b) < 0.1`.
fn near_difference<'t>(condition: Node<'t>, text: &str) -> Option<(Vec<Node<'t>>, Option<f64>)> {
    let operator = operator(condition).filter(|_| condition.kind() == "comparison_operator")?;
    let [call, limit] = named_children(condition)[..] else {
        return None;
    };
    let is_below = matches!(&text[operator.byte_range()], "<" | "<=");
    let function = call.child_by_field_name("function").filter(|_| is_below)?;
    let name = text[function.byte_range()].rsplit('.').next()?;
    let [difference] = named_children(call.child_by_field_name("arguments")?)[..] else {
        return None;
    };
    let is_difference = difference.kind() == "binary_operator"
        && difference
            .child_by_field_name("operator")
            .is_some_and(|sign| &text[sign.byte_range()] == "-");
    (matches!(name, "abs" | "fabs") && is_difference)
        .then(|| (named_children(difference), twins::number(limit, text)))
}

/// Returns the values in a condition that are compared for equality or tested for membership, the
/// right side of each comparison first. If several values are correct, none of them is altered:
/// code may return a different one than the reference does.
fn compared<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let word = |node: Node<'_>| &text[node.byte_range()];
    let mut found = Vec::new();
    match (condition.kind(), operator(condition).map(word)) {
        ("comparison_operator", Some("==" | "is")) => {
            found.extend(named_children(condition).into_iter().rev());
        }
        ("call", _) => found.extend(searched(condition, text)),
        ("not_operator", _) => {
            let parts = named_children(condition).into_iter();
            found.extend(parts.flat_map(|part| differing(part, text, compared)));
        }
        // `abs(got - wanted) < 0.1`.
        ("comparison_operator", Some("<" | "<=")) => {
            let left = condition.named_child(0);
            let distance = left
                .filter(|left| text[left.byte_range()].starts_with("abs("))
                .and_then(|call| call.child_by_field_name("arguments")?.named_child(0));
            found.extend(
                distance
                    .map_or_else(Vec::new, named_children)
                    .into_iter()
                    .rev(),
            );
        }
        ("comparison_operator", Some("in")) => found.extend(condition.named_child(0)),
        ("boolean_operator", Some("or")) | ("lambda" | "interpolation" | "subscript", _) => {}
        _ => {
            for child in named_children(condition) {
                found.extend(compared(child, text));
            }
        }
    }
    found
}

/// Messages of assertions and of failures, and what describes a subtest.
pub(super) fn messages<'t>(node: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let children = || named_children(node).into_iter();
    match node.kind() {
        "assert_statement" => children().skip(1).collect(),
        "raise_statement" => raised_in_branch(node),
        "call" => {
            let function = node.child_by_field_name("function");
            let word = function
                .and_then(|function| text[function.byte_range()].rsplit('.').next())
                .unwrap_or_default();
            let arguments = node.child_by_field_name("arguments");
            let arguments = arguments.map_or_else(Vec::new, named_children);
            let is_named = |argument: &Node<'t>| {
                let name = argument.child_by_field_name("name");
                argument.kind() == "keyword_argument"
                    && name.is_some_and(|name| text[name.byte_range()].ends_with("msg"))
            };
            let is_method = word
                .strip_prefix("assert")
                .is_some_and(|rest| rest.starts_with(char::is_uppercase));
            // These pass their arguments on.
            let calls = ["assertRaises", "assertWarns", "assertLogs"];
            let first = match word {
                "fail" => 0,
                "assertTrue" | "assertFalse" | "assertIsNone" | "assertIsNotNone" => 1,
                _ if is_method && !calls.iter().any(|call| word.starts_with(call)) => 2,
                _ => usize::MAX,
            };
            if word == "subTest" {
                let value = |argument: &Node<'t>| {
                    argument
                        .child_by_field_name("value")
                        .unwrap_or(*argument)
                        .kind()
                };
                let written = ["string", "concatenated_string", "integer", "float"];
                let is_written = |argument: &Node<'t>| written.contains(&value(argument));
                return arguments.into_iter().filter(is_written).collect();
            }
            let is_text = |argument: &Node<'t>| {
                let kinds = ["string", "concatenated_string", "binary_operator", "call"];
                kinds.contains(&argument.kind())
            };
            let arguments = arguments.into_iter().enumerate();
            arguments
                .filter(|(index, argument)| {
                    is_named(argument) || *index >= first && is_text(argument)
                })
                .map(|(_, argument)| argument)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// What a call looks for in its value, or compares it with: a pattern, a beginning or an end,
/// another value.
fn searched<'t>(call: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let Some(function) = call.child_by_field_name("function") else {
        return Vec::new();
    };
    let object = function.child_by_field_name("object");
    let arguments = call
        .child_by_field_name("arguments")
        .map_or_else(Vec::new, named_children);
    match text[function.byte_range()].rsplit('.').next() {
        // Of several beginnings or alternatives, each is right.
        Some("match" | "fullmatch" | "search" | "startswith" | "endswith") => arguments
            .into_iter()
            .take(1)
            .filter(|argument| {
                argument.kind() != "tuple" && !text[argument.byte_range()].contains('|')
            })
            .collect(),
        Some("eq" | "isclose" | "allclose" | "array_equal") => {
            arguments.into_iter().take(2).rev().collect()
        }
        Some("__eq__") => arguments.into_iter().chain(object).collect(),
        // `(got == wanted).all()`.
        Some("all" | "any") => object.map_or_else(Vec::new, |object| compared(object, text)),
        _ => Vec::new(),
    }
}

/// The operands of orderings that all hold, such as `3 < value < 7`.
fn bounds<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    twins::bounds(condition, text, "and", &["parenthesized_expression"])
}

/// The elements of the list that a membership names, such as `value in (1, 2)`.
fn choices<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let word = |node: Node<'_>| &text[node.byte_range()];
    let list = match (condition.kind(), operator(condition).map(word)) {
        ("comparison_operator", Some("in")) => condition.named_child(1),
        // Of several beginnings, each is right.
        ("call", _) => condition
            .child_by_field_name("function")
            .filter(|function| word(*function).ends_with("swith"))
            .and_then(|_| condition.child_by_field_name("arguments")?.named_child(0)),
        // `got == 1 or got == 2`.
        ("boolean_operator", Some("or")) => {
            let parts = named_children(condition).into_iter();
            return parts
                .flat_map(|part| match operator(part).map(word) {
                    Some("==") => part.named_child(1).into_iter().collect(),
                    _ => choices(part, text),
                })
                .collect();
        }
        _ => None,
    };
    list.filter(|list| matches!(list.kind(), "list" | "tuple" | "set"))
        .map_or_else(Vec::new, named_children)
}

fn negated(condition: Node<'_>, text: &str) -> SourceEdit {
    let range = condition.byte_range();
    if condition.kind() == "not_operator"
        && let Some(argument) = condition.child_by_field_name("argument")
    {
        return SourceEdit::new(range, &text[argument.byte_range()]);
    }
    let plain = matches!(
        condition.kind(),
        "identifier" | "call" | "attribute" | "subscript" | "parenthesized_expression"
    );
    let source = &text[range.clone()];
    let replacement = if plain {
        format!("not {source}")
    } else {
        format!("not ({source})")
    };
    SourceEdit::new(range, &replacement)
}

/// An assertion made by a call: unittest's methods, and what expects an exception.
fn call<'t>(call: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let function = call.child_by_field_name("function")?;
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let positional: Vec<Node<'t>> = arguments
        .into_iter()
        .filter(|argument| !matches!(argument.kind(), "keyword_argument" | "comment"))
        .collect();
    let name = match function.kind() {
        "attribute" => function.child_by_field_name("attribute")?,
        "identifier" => function,
        _ => return None,
    };
    let word = &text[name.byte_range()];
    if matches!(
        word,
        "raises"
            | "warns"
            | "assertRaises"
            | "assertRaisesRegex"
            | "assertWarns"
            | "assertWarnsRegex"
    ) {
        let class = *positional.first()?;
        let others = [
            "KeyError",
            "TypeError",
            "ValueError",
            "RuntimeError",
            "OSError",
        ];
        let matched = named_children(call.child_by_field_name("arguments")?);
        let matched = matched.into_iter().filter_map(|argument| {
            let name = argument.child_by_field_name("name")?;
            argument
                .child_by_field_name("value")
                .filter(|_| &text[name.byte_range()] == "match")
        });
        let pattern = positional.get(1).filter(|_| word.ends_with("Regex"));
        return Some(Assertion {
            compared: matched
                .chain(pattern.copied())
                .filter(|pattern| !text[pattern.byte_range()].contains('|'))
                .collect(),
            complement: Some(SourceEdit::new(class.byte_range(), UNRAISED)),
            ..Assertion::expecting(class, text, &others)
        });
    }
    let opposite = opposite(word, &OPPOSITES);
    let is_equality = EQUALITIES.contains(&word);
    if opposite.is_none() && !is_equality {
        return other_call(call, function, word, text);
    }
    let compared = match positional.as_slice() {
        [condition, ..] if word == "assertFalse" => differing(*condition, text, compared),
        // As in `compared`, the right side comes first.
        [first, second, ..] if is_equality => vec![*second, *first],
        [member, ..] if word == "assertIn" => vec![*member],
        [_, pattern, ..] if word == "assertRegex" => vec![*pattern],
        [condition, ..] if word == "assertTrue" => self::compared(*condition, text),
        _ => Vec::new(),
    };
    let bounds = match positional.as_slice() {
        [condition, ..] if word == "assertTrue" => self::bounds(*condition, text),
        _ => Vec::new(),
    };
    let choices = match positional.as_slice() {
        [_, list, ..] if word == "assertIn" && matches!(list.kind(), "list" | "tuple" | "set") => {
            named_children(*list)
        }
        [condition, ..] if word == "assertTrue" => self::choices(*condition, text),
        _ => Vec::new(),
    };
    let is_truth = matches!(word, "assertTrue" | "assertFalse")
        && positional
            .first()
            .is_some_and(|value| matches!(value.kind(), "call" | "attribute" | "identifier"));
    Some(Assertion {
        complement: opposite.map(|opposite| SourceEdit::new(name.byte_range(), opposite)),
        is_truth,
        bounds,
        choices,
        ..Assertion::comparing(compared)
    })
}

/// Functions that make matchers of the values that they get.
const MATCHERS: [&str; 8] = [
    "equal_to",
    "is_",
    "close_to",
    "has_length",
    "contains_string",
    "contains_exactly",
    "contains_inanyorder",
    "has_entries",
];

/// An assertion of another library, by its name: `assert_allclose(a, b)`, `eq_(a, b)`,
/// `mock.assert_called_with(a)`, `assert_that(a).is_equal_to(b)`.
fn other_call<'t>(
    call: Node<'t>,
    function: Node<'t>,
    word: &str,
    text: &str,
) -> Option<Assertion<'t>> {
    let is_chained =
        text[function.byte_range()].contains("assert_that(") && function.kind() == "attribute";
    let is_statement = call
        .parent()
        .is_some_and(|parent| parent.kind() == "expression_statement");
    let is_assertion = word.starts_with("assert") || word == "eq_";
    let is_checked = is_chained || is_assertion && is_statement;
    if !is_checked {
        return None;
    }
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let values = arguments.into_iter().rev().map(|argument| {
        argument
            .child_by_field_name("value")
            .filter(|_| argument.kind() == "keyword_argument")
            .unwrap_or(argument)
    });
    // Arguments of other calls are inputs.
    let is_expected = |value: &Node<'t>| {
        let function = value.child_by_field_name("function");
        let name = function.and_then(|function| text[function.byte_range()].rsplit('.').next());
        name.is_none_or(|name| PURE.contains(&name) || MATCHERS.contains(&name))
    };
    let compared: Vec<Node<'t>> = values.filter(is_expected).collect();
    (!compared.is_empty()).then(|| Assertion::comparing(compared))
}

/// The cells of a parameter that `@pytest.mark.parametrize` gives values.
fn parameter_cells<'t>(used: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Cells<'t>> {
    if used.kind() != "identifier" {
        return None;
    }
    let text = frame.text();
    // The class around a test may have parameters, too.
    let around = std::iter::successors(frame.function.parent(), Node::parent);
    let decorated = around.filter(|node| node.kind() == "decorated_definition");
    for decorator in decorated.flat_map(named_children) {
        let Some(arguments) = parametrize(decorator, text) else {
            continue;
        };
        let [names, values, ..] = arguments.as_slice() else {
            continue;
        };
        let names = parameter_names(*names, text);
        let Some(index) = names.iter().position(|name| name == frame.source(used)) else {
            continue;
        };
        let table = frame.written(*values, &["list", "tuple", "set", "array"])?;
        let is_param = |call: Node<'t>| {
            let function = call.child_by_field_name("function");
            function.is_some_and(|name| text[name.byte_range()].ends_with("param"))
        };
        // A call is `pytest.param(…)`. With one parameter, any other value is the parameter's.
        let cell = |row: Node<'t>| match (names.len(), row.kind()) {
            (1, "call") if !is_param(row) => Some(row),
            (_, "tuple" | "list" | "array" | "call") => {
                let cells = match row.child_by_field_name("arguments") {
                    Some(arguments) => named_children(arguments),
                    None if names.len() == 1 => vec![row],
                    None => named_children(row),
                };
                cells.get(index).copied()
            }
            (1, _) => Some(row),
            _ => None,
        };
        return Some(Cells {
            cells: named_children(table).into_iter().filter_map(cell).collect(),
            is_tests: true,
            column: None,
        });
    }
    None
}

fn parameter_names(names: Node<'_>, text: &str) -> Vec<String> {
    let word = |node: Node<'_>| unquoted(&text[node.byte_range()]).trim().to_owned();
    match names.kind() {
        "string" => word(names)
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect(),
        _ => named_children(names).into_iter().map(word).collect(),
    }
}
