//! Tokens of the syntax tree: the unit of sizes that do not depend on a model's tokenizer.

use fillrate_syntax::Language;
use tree_sitter::Node;

/// Returns the number of tokens of a text: the leaves of its syntax tree; a string and a comment
/// count as one each. A part of a program, such as a reference, is counted as if it were the whole
/// text.
pub fn count(text: &str, language: &Language) -> usize {
    leaves(language.parse(text).root_node(), language)
        .into_iter()
        .filter(|leaf| !leaf.byte_range().is_empty())
        .count()
}

/// The tokens of a node in order; a string counts as one.
pub(super) fn leaves<'t>(node: Node<'t>, language: &Language) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    let mut pending = vec![node];
    while let Some(current) = pending.pop() {
        if current.child_count() == 0 || language.is_string(current) {
            found.push(current);
            continue;
        }
        let mut cursor = current.walk();
        let children: Vec<Node<'t>> = current.children(&mut cursor).collect();
        pending.extend(children.into_iter().rev());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_the_leaves_of_the_syntax_tree() {
        let count = |id: &str, text: &str| {
            count(
                text,
                Language::by_id(id).expect("the language is in the table"),
            )
        };
        assert_eq!(count("python", ""), 0);
        assert_eq!(count("python", "result += item.price * rate"), 7);
        assert_eq!(count("python", "log(f\"{a} and {b}\")  # told"), 5);
        assert_eq!(count("typescript", "const a = `${b} c`;"), 5);
        assert_eq!(count("go", "log(\"a %d\\n\", b)"), 6);
        assert_eq!(count("java", "log(\"a number of words\");"), 5);
        assert_eq!(count("csharp", "Log($\"{a} and {b}\");"), 5);
        // Parts of programs: the end of a call, and a header without its block.
        assert_eq!(count("typescript", ".sort();"), 5);
        assert_eq!(count("python", "if item.free:"), 5);
    }
}
