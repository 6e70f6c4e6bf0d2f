//! How much code uses what its repository has for it.

use std::collections::BTreeSet;

use fillrate_server::syntax::Language;

/// The Dependency Invocation Rate of RepoExec, §3 of
/// [its paper](https://arxiv.org/abs/2406.11927): the share of a hole's dependencies whose names
/// are among the identifiers of a completion, from 0 to 1. Nothing where there are no
/// dependencies, as such a hole counts in no mean.
///
/// Identifiers are those of the completion's own syntax tree; what strings and comments spell is
/// none. A dependency that is named twice counts once.
pub fn dependency_invocation_rate(
    completion: &str,
    dependencies: &[String],
    language: &Language,
) -> Option<f64> {
    let dependencies: BTreeSet<&str> = dependencies.iter().map(String::as_str).collect();
    if dependencies.is_empty() {
        return None;
    }
    let identifiers = identifiers(completion, language);
    let invoked = dependencies.intersection(&identifiers).count();
    Some(invoked as f64 / dependencies.len() as f64)
}

fn identifiers<'a>(text: &'a str, language: &Language) -> BTreeSet<&'a str> {
    let tree = language.parse(text);
    let mut found = BTreeSet::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        // Every grammar has several kinds: of types, of members, of what a pattern binds.
        if node.child_count() == 0 && node.kind().contains("identifier") {
            found.insert(&text[node.byte_range()]);
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(id: &str, completion: &str, dependencies: &[&str]) -> Option<f64> {
        let names: Vec<String> = dependencies.iter().map(|name| (*name).to_owned()).collect();
        let language = Language::by_id(id).expect("the language is in the table");
        dependency_invocation_rate(completion, &names, language)
    }

    #[test]
    fn the_share_of_the_dependencies_that_are_named() {
        // The paper's example: both dependencies in the first, none in the second.
        let dependencies = ["is_string", "InvalidInputError"];
        let right = "if not is_string(a):\n        raise InvalidInputError(a)\n    return a[::-1]";
        assert_eq!(rate("python", right, &dependencies), Some(1.0));
        assert_eq!(rate("python", "return a[::-1]", &dependencies), Some(0.0));
        assert_eq!(rate("python", "is_string(a)", &dependencies), Some(0.5));
        assert_eq!(rate("python", "is_string(a)", &[]), None);
        assert_eq!(rate("python", "", &["f"]), Some(0.0));
        assert_eq!(rate("python", "f", &["f", "f"]), Some(1.0));
    }

    #[test]
    fn strings_and_comments_name_nothing() {
        let names = ["f", "g", "h"];
        let third = Some(1.0 / 3.0);
        assert_eq!(rate("python", "x = \"f\"  # g\nh()", &names), third);
        assert_eq!(rate("python", "x = f\"{h} g\"", &["g", "h"]), Some(0.5));
        assert_eq!(rate("typescript", "x = `f ${h}`; // g", &names), third);
    }

    #[test]
    fn members_types_and_parts_of_statements_count() {
        assert_eq!(rate("python", ".price(item) > 3:", &["price"]), Some(1.0));
        assert_eq!(
            rate(
                "typescript",
                "a as Item).#size + { total };",
                &["Item", "total"]
            ),
            Some(1.0)
        );
    }

    proptest! {
        #[test]
        fn more_code_names_no_fewer(
            words in prop::collection::vec("[a-d]{1,2}", 0..6),
            more in "[a-d]{1,2}",
            names in prop::collection::vec("[a-d]{1,2}", 1..5),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let text = words.join("\n");
            let before = rate("python", &text, &names).expect("there are names");
            let after = rate("python", &format!("{text}\n{more}"), &names).expect("there are names");
            prop_assert!((0.0..=1.0).contains(&before) && after >= before);
        }
    }
}
