//! Modules that a project's tests import and its environment lacks.

use std::collections::BTreeSet;

/// Messages of runtimes before the quoted name of a module that is not installed.
const MISSING: [&str; 3] = [
    "No module named ",
    "Cannot find module ",
    "Cannot find package ",
];

/// Modules that are not installed according to these reasons. Paths are ignored: they are the
/// project's own files.
pub fn missing_modules<'a>(reasons: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for reason in reasons {
        for marks in MISSING {
            // What is before the first mark names no module.
            let names = reason.split(marks).skip(1).filter_map(|rest| {
                let rest = rest.strip_prefix(['\'', '"'])?;
                rest.split(['\'', '"']).next()
            });
            let is_package = |name: &&str| !name.is_empty() && !name.starts_with(['.', '/']);
            modules.extend(names.filter(is_package).map(str::to_owned));
        }
    }
    modules
}

/// A clause with the remedy for modules that are not installed; empty without any.
pub fn missing_advice(modules: &BTreeSet<String>) -> String {
    let names: Vec<String> = modules.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(
            "{one} is not installed: add the package that has it to `requires` under \
             [project.environment] of the manifest that `fillrate init` writes, or to the project's \
             own list"
        ),
        several => format!(
            "{} are not installed: add the packages that have them to `requires` under \
             [project.environment] of the manifest that `fillrate init` writes, or to the \
             project's own list",
            several.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_are_not_installed_are_named_with_what_to_do() {
        let reasons = [
            "ModuleNotFoundError: No module named 'yaml.nodes'; is it there?",
            "Error: Cannot find module 'chai'\nRequire stack:",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package \"@scope/x\" imported from a.js",
            "Error: Cannot find module '../src/a'",
            "AssertionError: assert 1 == 2",
        ];
        let modules = missing_modules(reasons);
        assert_eq!(
            modules.iter().collect::<Vec<_>>(),
            ["@scope/x", "chai", "yaml.nodes"]
        );
        insta::assert_snapshot!(missing_advice(&modules), @"`@scope/x`, `chai`, `yaml.nodes` are not installed: add the packages that have them to `requires` under [project.environment] of the manifest that `fillrate init` writes, or to the project's own list");
        assert_eq!(missing_advice(&BTreeSet::new()), "");
    }
}
