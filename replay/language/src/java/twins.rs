//! Twins of Java's tests: methods that JUnit runs, with the assertions of JUnit and of AssertJ.

use tree_sitter::Node;

use super::super::twins::{
    self, Assertion, CallFrame, Cells, Evaluation, FoundFunction, Grammar, LiteralKinds,
    NeutralName, ParsedFile, RowNames, SourceEdit, differing, failing_branch, named_children,
    opposite, raised_in_branch,
};

/// Assertions and their complements, of JUnit first and then of AssertJ.
const OPPOSITES: [(&str, &str); 13] = [
    ("assertEquals", "assertNotEquals"),
    ("assertTrue", "assertFalse"),
    ("assertNull", "assertNotNull"),
    ("assertSame", "assertNotSame"),
    ("isEqualTo", "isNotEqualTo"),
    ("isTrue", "isFalse"),
    ("isNull", "isNotNull"),
    ("isSameAs", "isNotSameAs"),
    ("isEmpty", "isNotEmpty"),
    ("contains", "doesNotContain"),
    ("isInstanceOf", "isNotInstanceOf"),
    ("startsWith", "doesNotStartWith"),
    ("endsWith", "doesNotEndWith"),
];

/// Assertions that compare with an expected value: which argument it is.
const EQUALITIES: [(&str, usize); 11] = [
    ("assertEquals", 0),
    ("assertArrayEquals", 0),
    ("assertIterableEquals", 0),
    ("assertLinesMatch", 0),
    ("isEqualTo", 0),
    ("hasSize", 0),
    ("contains", 0),
    ("containsExactly", 0),
    ("hasMessage", 0),
    ("startsWith", 0),
    ("endsWith", 0),
];

/// Classes of exceptions of the language.
const EXCEPTIONS: [&str; 4] = [
    "IllegalStateException.class",
    "IllegalArgumentException.class",
    "UnsupportedOperationException.class",
    "IndexOutOfBoundsException.class",
];

/// Annotations of methods that JUnit runs.
const ANNOTATIONS: [&str; 5] = [
    "Test",
    "ParameterizedTest",
    "RepeatedTest",
    "TestFactory",
    "TestTemplate",
];

/// Literals that may be altered in a value that is compared with the code's result.
const LITERALS: LiteralKinds = LiteralKinds {
    numbers: &["decimal_floating_point_literal", "decimal_integer_literal"],
    strings: &["string_fragment"],
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    nothing: ("", ""),
    untouched: &["lambda_expression", "string_interpolation"],
};

const GRAMMAR: Grammar = Grammar {
    literals: LITERALS,
    identifiers: &["identifier"],
    calls: &["method_invocation"],
    members: &[
        ("field_access", "object", "field"),
        ("array_access", "array", "index"),
    ],
    assignments: &[
        ("variable_declarator", "name", "value"),
        ("assignment_expression", "left", "right"),
    ],
    functions: &["method_declaration", "lambda_expression"],
    returns: "return_statement",
    lists: &["array_initializer", "argument_list"],
    empty: &[
        ("string_literal", "\"\"", "\"x\""),
        ("method_invocation", "List.of()", "List.of(0)"),
        ("method_invocation", "Set.of()", "Set.of(0)"),
        ("method_invocation", "Map.of()", "Map.of(0, 0)"),
        ("method_invocation", "Optional.empty()", "Optional.of(0)"),
    ],
    is_pure: |name| PURE.contains(&name),
    evaluation: Evaluation {
        nothing: "{}",
        around: ["java.util.stream.Stream.of(", ");"],
        keeps_function: false,
        messages,
    },
    assertion: |node, text| match node.kind() {
        "method_invocation" => call(node, text),
        "if_statement" => failing_branch(node, text, compared),
        "assert_statement" => node
            .named_child(0)
            .map(|condition| Assertion::comparing(compared(condition, text))),
        // An expression that says whether a value is right.
        "binary_expression" => node
            .parent()
            .filter(|parent| matches!(parent.kind(), "lambda_expression" | "return_statement"))
            .map(|_| Assertion::comparing(compared(node, text)))
            .filter(|assertion| !assertion.compared.is_empty()),
        "switch_label" => Some(Assertion::comparing(named_children(node))),
        _ => None,
    },
    cells: |used, frame| parameter_cells(used, frame).or_else(|| method_cells(used, frame)),
};

/// Methods whose results depend only on their arguments.
const PURE: [&str; 20] = [
    "of",
    "asList",
    "valueOf",
    "parseInt",
    "format",
    "formatted",
    "split",
    "trim",
    "strip",
    "repeat",
    "join",
    "toUpperCase",
    "toLowerCase",
    "toString",
    "replace",
    "ofSeconds",
    "ofMinutes",
    "ofDays",
    "parse",
    "singletonList",
];

/// The tests of a file or of a class, with the classes around them.
pub(super) fn collect_tests(
    node: Node<'_>,
    files: &[ParsedFile<'_>],
    around: &mut Vec<String>,
    functions: &mut Vec<FoundFunction>,
) {
    let text = files[0].text;
    for child in named_children(node) {
        let name = child.child_by_field_name("name");
        let body = child.child_by_field_name("body");
        let (Some(name), Some(body)) = (name, body) else {
            continue;
        };
        around.push(text[name.byte_range()].to_owned());
        if child.kind() == "class_declaration" {
            collect_tests(body, files, around, functions);
        } else if is_test(child, text) {
            let new = format!("t{}", functions.len());
            let edits = vec![SourceEdit::new(name.byte_range(), &new)];
            functions.push(FoundFunction {
                names: around.clone(),
                inherited: Vec::new(),
                file: 0,
                span: child.byte_range(),
                assertions: CallFrame::new(&GRAMMAR, files, child).assertions(),
                neutral: Some(NeutralName {
                    name: new,
                    single: edits.clone(),
                    several: edits,
                    rows: RowNames::Kept,
                    suites: Vec::new(),
                }),
            });
        }
        around.pop();
    }
}

/// The cells of a parameter of a test that `@CsvSource` or `@ValueSource` gives values.
fn parameter_cells<'t>(used: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Cells<'t>> {
    let (index, _) = parameter_index(used, frame)?;
    let annotations = named_children(modifiers(frame.function)?).into_iter();
    let (is_text, arguments) = annotations
        .filter_map(|annotation| {
            let name = frame.source(annotation.child_by_field_name("name")?);
            let arguments = annotation.child_by_field_name("arguments")?;
            match name.rsplit('.').next()? {
                "CsvSource" => Some((true, arguments)),
                "ValueSource" => Some((false, arguments)),
                _ => None,
            }
        })
        .next()?;
    let mut cells = Vec::new();
    let mut pending = vec![arguments];
    while let Some(node) = pending.pop() {
        // A row of `@CsvSource` is one string with commas between its columns.
        let is_cell = match is_text {
            true => node.kind() == "string_literal",
            false => node.kind().ends_with("_literal"),
        };
        match is_cell {
            true => cells.push(node),
            false => pending.extend(named_children(node)),
        }
    }
    Some(Cells {
        cells,
        // JUnit's invocations of one method are parts of one test.
        is_tests: false,
        column: is_text.then_some(index),
    })
}

/// The index of the parameter that a variable is, and the number of parameters.
fn parameter_index(used: Node<'_>, frame: &CallFrame<'_, '_>) -> Option<(usize, usize)> {
    let parameters = named_children(frame.function.child_by_field_name("parameters")?);
    let index = parameters.iter().position(|parameter| {
        parameter
            .child_by_field_name("name")
            .is_some_and(|name| frame.source(name) == frame.source(used))
    })?;
    Some((index, parameters.len()))
}

/// The modifiers of a declaration, which are its annotations too.
fn modifiers(declaration: Node<'_>) -> Option<Node<'_>> {
    named_children(declaration)
        .into_iter()
        .find(|child| child.kind() == "modifiers")
}

/// Messages of assertions and of errors that tests throw, and names for people.
pub(super) fn messages<'t>(node: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let name = node.child_by_field_name("name");
    let word = name.map_or("", |name| &text[name.byte_range()]);
    let arguments = node
        .child_by_field_name("arguments")
        .map_or_else(Vec::new, named_children);
    let is_text = |argument: &Node<'t>| {
        let kinds = ["string_literal", "binary_expression", "lambda_expression"];
        kinds.contains(&argument.kind())
    };
    match node.kind() {
        "throw_statement" => raised_in_branch(node),
        "annotation" if word.ends_with("DisplayName") => arguments,
        "annotation" if word.ends_with("ParameterizedTest") || word.ends_with("RepeatedTest") => {
            let is_name = |argument: &Node<'t>| {
                let key = argument.child_by_field_name("key");
                key.is_some_and(|key| &text[key.byte_range()] == "name")
            };
            let names = arguments.into_iter().filter(is_name);
            let names = names.filter_map(|pair| pair.child_by_field_name("value"));
            // JUnit refuses a blank name, and placeholders stay.
            names
                .filter(|name| text[name.byte_range()].contains('{'))
                .collect()
        }
        "method_invocation" if word == "fail" => arguments,
        "method_invocation" if word.starts_with("assert") => {
            let values = match word {
                "assertTrue" | "assertFalse" | "assertNull" | "assertNotNull" => 1,
                _ => 2,
            };
            let is_older = text.contains("org.junit.Assert") && arguments.len() == values + 1;
            let found = match is_older {
                true => 0..1,
                false => values.min(arguments.len())..arguments.len(),
            };
            arguments[found].iter().copied().filter(is_text).collect()
        }
        _ => Vec::new(),
    }
}

/// The cells of a parameter of a test whose rows a method of the class makes.
fn method_cells<'t>(used: Node<'t>, frame: &CallFrame<'t, '_>) -> Option<Cells<'t>> {
    let (index, parameters) = parameter_index(used, frame)?;
    let modifiers = modifiers(frame.function)?;
    let annotation = named_children(modifiers).into_iter().find(|annotation| {
        annotation
            .child_by_field_name("name")
            .is_some_and(|name| frame.source(name).ends_with("MethodSource"))
    })?;
    let named = annotation
        .child_by_field_name("arguments")
        .and_then(|arguments| frame.source(arguments).split('"').nth(1));
    let own = frame.source(frame.function.child_by_field_name("name")?);
    let name = named.unwrap_or(own);
    let mut cells = Vec::new();
    let mut pending: Vec<Node<'t>> = named_children(frame.function.parent()?);
    pending.retain(|member| {
        member.id() != frame.function.id()
            && member
                .child_by_field_name("name")
                .is_some_and(|own| frame.source(own) == name)
    });
    while let Some(node) = pending.pop() {
        let inside = named_children(node);
        let list = match node.kind() {
            "method_invocation" => node
                .child_by_field_name("name")
                .filter(|name| matches!(frame.source(*name), "of" | "arguments"))
                .and_then(|_| node.child_by_field_name("arguments")),
            "array_initializer" => Some(node),
            _ => None,
        };
        let list = list.map_or_else(Vec::new, named_children);
        let is_row = list.len() == parameters
            && !list.iter().any(|cell| {
                matches!(cell.kind(), "array_initializer")
                    || frame.source(*cell).contains("rguments")
            });
        match list.get(index) {
            Some(cell) if is_row => cells.push(*cell),
            _ => pending.extend(inside),
        }
    }
    // JUnit's invocations of one method are parts of one test.
    Some(Cells {
        cells,
        is_tests: false,
        column: None,
    })
    .filter(|found| !found.cells.is_empty())
}

/// True if a member of a class is a method that JUnit runs.
pub(super) fn is_test(member: Node<'_>, text: &str) -> bool {
    member.kind() == "method_declaration"
        && annotations(member, text).any(|name| ANNOTATIONS.contains(&name))
}

/// The names of the annotations of a declaration, without their packages.
fn annotations<'a>(declaration: Node<'_>, text: &'a str) -> impl Iterator<Item = &'a str> {
    let mut names = Vec::new();
    for annotation in modifiers(declaration).map_or_else(Vec::new, named_children) {
        let name = annotation.child_by_field_name("name");
        names.extend(name.map(|name| &text[name.byte_range()]));
    }
    names
        .into_iter()
        .map(|name| name.rsplit('.').next().unwrap_or(name))
}

/// `assertEquals(3, f())`, `assertThat(f()).isEqualTo(3)`.
fn call<'t>(node: Node<'t>, text: &str) -> Option<Assertion<'t>> {
    let name = node.child_by_field_name("name")?;
    let word = &text[name.byte_range()];
    let is_own = word.starts_with("assert") || follows_assert_that(node, text);
    let arguments = node.child_by_field_name("arguments").filter(|_| is_own)?;
    let expected = EQUALITIES
        .iter()
        .find(|(equality, _)| *equality == word)
        .and_then(|(_, index)| named_children(arguments).get(*index).copied());
    // Numbers that differ by less than a third argument count as equal, and nothing as unequal to
    // that.
    let third = named_children(arguments).get(2).copied();
    let is_message = |third: Node<'_>| {
        matches!(
            third.kind(),
            "string_literal" | "lambda_expression" | "binary_expression"
        )
    };
    let has_tolerance = matches!(word, "assertEquals" | "assertArrayEquals")
        && third.is_some_and(|third| !is_message(third));
    let complement = opposite(word, &OPPOSITES).filter(|_| !has_tolerance);
    let condition = named_children(arguments).into_iter().next();
    let is_value = condition.is_some_and(|value| value.kind() == "method_invocation");
    let class = condition.filter(|class| word == "assertThrows" && class.kind() == "class_literal");
    let comparing = match class {
        Some(class) => Assertion::expecting(class, text, &EXCEPTIONS),
        None => match expected.filter(|_| has_tolerance) {
            Some(expected) => {
                let tolerance = third.and_then(|third| twins::number(third, text));
                Assertion::near(expected, tolerance)
            }
            None => Assertion::comparing(expected.into_iter().collect()),
        },
    };
    // `assertThat(got, is(3))` of Hamcrest, and a message before the values of JUnit 4.
    let is_hamcrest = word == "assertThat" && named_children(arguments).len() > 1;
    let is_older = word.starts_with("assert") && text.contains("org.junit.Assert");
    let others: Vec<Node<'t>> = match named_children(arguments).as_slice() {
        [.., last] if is_hamcrest => vec![*last],
        [_, second, _] if is_older && expected.is_some() && comparing.tolerance.is_none() => {
            vec![*second]
        }
        [_, condition] if is_older && word == "assertTrue" => compared(*condition, text),
        [condition, ..] if word == "assertFalse" => differing(*condition, text, compared),
        _ => Vec::new(),
    };
    let is_condition = word == "assertTrue";
    let conditions = || condition.filter(|_| is_condition).into_iter();
    let comparing = Assertion {
        compared: conditions()
            .flat_map(|condition| compared(condition, text))
            .chain(comparing.compared)
            .chain(others)
            .collect(),
        bounds: conditions()
            .flat_map(|condition| bounds(condition, text))
            .chain(comparing.bounds)
            .collect(),
        choices: conditions()
            .flat_map(|condition| choices(condition, text))
            .collect(),
        ..comparing
    };
    let assertion = Assertion {
        is_truth: matches!(word, "assertTrue" | "assertFalse") && is_value,
        complement: complement.map(|other| {
            let class = "org.junit.jupiter.api.Assertions";
            // A file may import the one name and not the other.
            let is_imported = node.child_by_field_name("object").is_none() && text.contains(class);
            match is_imported {
                true => SourceEdit::new(name.byte_range(), &format!("{class}.{other}")),
                false => SourceEdit::new(name.byte_range(), other),
            }
        }),
        ..comparing
    };
    let is_assertion = !assertion.compared.is_empty()
        || !assertion.other_exceptions.is_empty()
        || !assertion.bounds.is_empty()
        || assertion.complement.is_some();
    is_assertion.then_some(assertion)
}

/// The values that a condition compares with.
fn compared<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let word = |field: &str| {
        let node = condition.child_by_field_name(field);
        node.map(|node| &text[node.byte_range()])
    };
    let parts = || named_children(condition).into_iter();
    match condition.kind() {
        "binary_expression" if word("operator") == Some("==") => parts().rev().collect(),
        "binary_expression" if word("operator") == Some("&&") => {
            parts().flat_map(|part| compared(part, text)).collect()
        }
        "parenthesized_expression" => parts().flat_map(|part| compared(part, text)).collect(),
        "method_invocation"
            if matches!(
                word("name"),
                Some("equals" | "matches" | "startsWith" | "endsWith" | "contains")
            ) =>
        {
            // Other values may be inputs of a collection under test.
            let is_text = |argument: &Node<'_>| {
                word("name") != Some("contains") || argument.kind() == "string_literal"
            };
            // `"wanted".equals(got)`.
            let object = condition.child_by_field_name("object");
            let object = object.filter(|_| word("name") == Some("equals"));
            let arguments = condition.child_by_field_name("arguments");
            let arguments = arguments.map_or_else(Vec::new, named_children);
            arguments
                .into_iter()
                .filter(is_text)
                .chain(object)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The operands of orderings that all hold.
fn bounds<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    twins::bounds(condition, text, "&&", &["parenthesized_expression"])
}

/// The elements of the list that a membership names, such as `List.of(1, 2).contains(value)`.
fn choices<'t>(condition: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let name = condition.child_by_field_name("name");
    name.filter(|name| &text[name.byte_range()] == "contains")
        .and_then(|_| condition.child_by_field_name("object"))
        .filter(|list| text[list.byte_range()].contains(".of("))
        .and_then(|list| list.child_by_field_name("arguments"))
        .map_or_else(Vec::new, named_children)
}

/// True if a call is chained to `assertThat(…)`.
fn follows_assert_that(node: Node<'_>, text: &str) -> bool {
    let mut object = node.child_by_field_name("object");
    while let Some(call) = object.filter(|object| object.kind() == "method_invocation") {
        let name = call.child_by_field_name("name");
        if name.is_some_and(|name| text[name.byte_range()].starts_with("assertThat")) {
            return true;
        }
        object = call.child_by_field_name("object");
    }
    false
}
