//! Imports of a file from its own repository.

use std::collections::BTreeSet;

use fillrate_language::imports::Import;
use fillrate_language::{LanguageSupport, SourceFile};
use fillrate_syntax::Language;
use tree_sitter::Node;

/// The names that a file imports from its repository, as the file calls them; `files` are all
/// paths of the repository.
pub(super) fn imported_names(
    root: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> BTreeSet<String> {
    find_imports(root, file, files)
        .into_iter()
        .filter_map(|import| import.name)
        .collect()
}

/// Everything that a file imports from its repository, in its order, from inside functions too.
pub(super) fn find_imports(
    root: Node<'_>,
    file: &SourceFile,
    files: &BTreeSet<&str>,
) -> Vec<Import> {
    let rules = LanguageSupport::for_language(file.language).dependencies;
    let mut imports = Vec::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if let Some(found) = (rules.imports)(node, file, files) {
            imports.extend(found);
            continue;
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        // Reversed, so that the stack returns them in the order of the file.
        pending.extend(children.into_iter().rev());
    }
    imports
}

/// True if a node is a statement that imports, from anywhere.
pub(super) fn is_import(language: &Language, node: Node<'_>) -> bool {
    let rules = LanguageSupport::for_language(language).dependencies;
    rules.import_statements.contains(&node.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(id: &str, path: &str, contents: &str, files: &[&str]) -> Vec<String> {
        let file = SourceFile {
            path: path.into(),
            contents: contents.into(),
            language: Language::by_id(id).expect("the language is in the table"),
        };
        let tree = file.language.parse(contents);
        imported_names(
            tree.root_node(),
            &file,
            &files.iter().copied().collect::<BTreeSet<_>>(),
        )
        .into_iter()
        .collect()
    }

    #[test]
    fn imports_of_the_repository_in_python() {
        let files = [
            "src/shop/__init__.py",
            "src/shop/cart.py",
            "src/shop/json.py",
            "src/shop/deep/price.py",
            "tests/helper.py",
        ];
        let contents = "from __future__ import annotations\nimport json\nimport shop.cart\nimport shop.deep.price as price, os\nfrom shop import cart as basket\nfrom requests import get\nimport helper\nfrom . import deep\nfrom .json import (\n    load,\n    dump as write,\n)\nfrom ..far import *\n\ndef f():\n    from shop.cart import Cart\n";
        assert_eq!(
            names("python", "src/shop/main.py", contents, &files),
            ["Cart", "basket", "deep", "load", "price", "shop", "write"]
        );
    }

    #[test]
    fn imports_of_the_repository_in_go() {
        let files = [
            "money/money.go",
            "internal/text/text.go",
            "ledger/v2/ledger.go",
            "json/json_test.go",
            "sort/sort.go",
        ];
        let contents = "package main\n\nimport \"sort\"\nimport (\n\t\"fmt\"\n\tm \"example.com/shop/money\"\n\t\"example.com/shop/internal/text\"\n\t\"example.com/shop/ledger/v2\"\n\t_ \"example.com/shop/sort\"\n\t\"github.com/other/text\"\n\t\"example.com/shop/json\"\n)\n";
        assert_eq!(
            names("go", "main.go", contents, &files),
            ["ledger", "m", "text"]
        );
    }

    #[test]
    fn imports_of_the_repository_in_java() {
        let files = [
            "app/src/main/java/shop/cart/Cart.java",
            "app/src/main/java/shop/cart/Line.java",
            "lib/src/main/java/shop/money/Amount.java",
            "app/src/main/java/org/other/List.java",
        ];
        let contents = "package shop.main;\n\nimport java.util.List;\nimport shop.cart.Cart;\nimport shop.money.Amount;\nimport static shop.cart.Line.of;\nimport shop.cart.*;\nimport shop.cart.Gone;\n\nclass Main {}\n";
        let path = "app/src/main/java/shop/main/Main.java";
        assert_eq!(names("java", path, contents, &files), ["Amount", "Cart"]);
        let elsewhere = "package other;\n\nimport shop.cart.Cart;\n";
        let path = "app/src/test/java/other/Main.java";
        assert_eq!(names("java", path, elsewhere, &files), [""; 0]);
    }

    #[test]
    fn imports_of_the_repository_in_csharp() {
        let files = [
            "src/Shop.Core/Cart/Cart.cs",
            "src/Shop.Core/Money/Amount.cs",
            "src/Shop.Core/Money/Rates.g.cs",
            "src/Other/Text/List.cs",
        ];
        let contents = "using System.Text;\nusing Shop.Core.Money;\nusing static Shop.Core.Cart.Cart;\nusing Basket = Shop.Core.Cart.Cart;\nusing Gone = Shop.Core.Cart.Gone;\n\nnamespace Shop.Main;\n\nclass Main {}\n";
        let path = "src/Shop.Main/Main.cs";
        assert_eq!(
            names("csharp", path, contents, &files),
            ["Amount", "Basket", "Rates"]
        );
        let short = ["Cart/Cart.cs", "Money/Amount.cs"];
        let own = "using Shop.Money;\n\nnamespace Shop.Cart { }\n";
        assert_eq!(names("csharp", "Cart/Cart.cs", own, &short), ["Amount"]);
        let foreign = "using Other.Money;\n\nnamespace Shop.Cart { }\n";
        assert_eq!(names("csharp", "Cart/Cart.cs", foreign, &short), [""; 0]);
    }

    #[test]
    fn imports_of_the_repository_in_typescript() {
        let files = [
            "src/main.ts",
            "src/cart.ts",
            "src/view/index.tsx",
            "lib/far.ts",
            "src/data.json",
        ];
        let contents = "import main, { add, take as grab } from './cart.js';\nimport * as view from \"./view\";\nimport type { Far } from '../lib/far';\nimport { gone } from './gone';\nimport data from './data.json';\nimport fs from 'node:fs';\nimport './cart';\nimport { above } from '../../above';\n";
        assert_eq!(
            names("typescript", "src/main.ts", contents, &files),
            ["Far", "add", "grab", "main", "view"]
        );
    }
}
