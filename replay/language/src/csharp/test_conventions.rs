//! Conventions of C# tests. No C# test is run, so none is looked for.

use super::super::test_conventions::{TestConventions, TestFileNames};

pub(super) static CONVENTIONS: TestConventions = TestConventions {
    files: TestFileNames {
        folders: &["test", "tests", "*.Tests", "*.Test"],
        names: &["*Test.cs", "*Tests.cs"],
    },
    framework: "C# with xUnit",
    form: "a method `[Fact] public void NAME() { … }` in a public class of its own",
    fence: "csharp",
    test_in: |_, _| None,
    collect_tests: |_, _, _, _| {},
    messages: |_, _| Vec::new(),
    logging: &[],
    with_plain_comparisons: |_, _| None,
    file_name: |_, stem, digest| format!("Added{stem}{digest}Tests.cs"),
    recompiled: str::to_owned,
    code_object: None,
};
