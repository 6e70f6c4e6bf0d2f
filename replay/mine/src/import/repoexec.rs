//! [RepoExec](https://github.com/FSoft-AI4Code/RepoExec): `data_with_test_case/*/pass_data.jsonl`.
//!
//! `focal_function` is in the module `module` of the repository `project`, a folder such as
//! `test-apps/python-string-utils`; `test` is a file of pytest functions that were written for it.
//! They look for the repository in `/input` and for pickled values in `/output`, which is
//! `data_with_test_case` (`--outputs`); both are made relative to the project here. Records do not
//! list the packages that a repository needs (`--package`).

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use fillrate_language::scoring::{function_head, syntax_identifiers, without_head};
use fillrate_language::task::HoleKind;
use fillrate_syntax::Language;
use tree_sitter::Node;

use super::error::RecordFault;
use super::located_hole::{self, LocatedHole};
use super::record::{self, BenchmarkRecord};
use super::task::{
    BenchmarkFormat, ImportOptions, ImportedTask, TaskRunner, TaskTests, project_name,
};
use super::writer::TESTS;

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "repoexec",
    link: "https://github.com/FSoft-AI4Code/RepoExec",
    marks: &["focal_function", "module", "test"],
    options: &["--repositories", "--outputs", "--whole-functions"],
    read,
};

/// Packages that the tests load in addition to the repository.
const LOADED: [&str; 2] = ["numpy==2.2.6", "timeout-decorator==0.5.0"];

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let id = record.name("problem_ids")?;
    let name = record.text("project")?;
    let module = record.text("module")?;
    let function = record.text("focal_function")?;
    let test = record.text("test")?;
    let named = |c: char| c.is_alphanumeric() || c == '_';
    if !module
        .split('.')
        .all(|part| !part.is_empty() && part.chars().all(named))
    {
        return Err(RecordFault::new(
            "module",
            "must be names with dots between",
        ));
    }
    let Some(repository) = located_hole::repository(options, "project", name)? else {
        return Err(RecordFault::new(
            "project",
            "names a repository, without which nothing can be run; give the folder that holds it \
             by `--repositories`",
        ));
    };
    let (path, package) = file_of(&repository, module).ok_or_else(|| {
        RecordFault::new(
            "module",
            format!("is `{module}`, which {name} does not have"),
        )
    })?;
    let contents = located_hole::read(&repository, "module", &path)?;
    let whole = located_hole::locate(
        &contents,
        ("focal_function", ""),
        ("focal_function", function),
        None,
    )
    .map_err(|_| {
        let times = contents.matches(function).count();
        RecordFault::new(
            "focal_function",
            format!("is {times} times in {path} of the repository, not once"),
        )
    })?;
    let start = if options.whole_functions {
        whole.start
    } else {
        let language = Language::for_path(Path::new(&path));
        let body = language.and_then(|language| body(language, &contents, whole.clone()));
        body.ok_or_else(|| RecordFault::new("focal_function", "is no function with a body"))?
    };
    let repoexec_dependencies = match record.optional_text("code")? {
        Some(code) => {
            let entry_point = record.text("entry_point")?;
            Language::for_path(Path::new(&path))
                .map(|language| script_dependencies(language, code, entry_point, function))
        }
        None => None,
    };
    let (text, more_files) = tests(test, &package, options)?;
    let plain = record.file_name(&id);
    let loaded = LOADED.map(str::to_owned).into_iter();
    let hole = LocatedHole::in_repository(repository, contents, start..whole.end);
    let project = project_name(name.rsplit_once('/').map_or(name, |(_, last)| last));
    Ok(ImportedTask {
        tests: Some(TaskTests {
            runner: TaskRunner::Pytest,
            path: format!("{TESTS}/test_{plain}.py"),
            text,
            more_files,
            packages: loaded.chain(options.packages.iter().cloned()).collect(),
            timeout: None,
        }),
        repoexec_dependencies,
        ..hole.into_task(id, project, HoleKind::Body, "python", path)
    })
}

/// A module's file, and the package that its relative imports start from.
fn file_of(repository: &Path, module: &str) -> Option<(String, String)> {
    let path = module.replace('.', "/");
    let plain = format!("{path}.py");
    if repository.join(&plain).is_file() {
        let package = module.rsplit_once('.').map_or("", |(package, _)| package);
        return Some((plain, package.to_owned()));
    }
    // Imports in the file of a package itself are relative to that package.
    let own = format!("{path}/__init__.py");
    repository
        .join(&own)
        .is_file()
        .then(|| (own, module.to_owned()))
}

/// Returns the offset of the body of the function in this range: of its first statement that is not
/// documentation.
fn body(language: &Language, contents: &str, function: Range<usize>) -> Option<usize> {
    let tree = language.parse(contents);
    let mut node: Node<'_> = tree
        .root_node()
        .descendant_for_byte_range(function.start, function.end.saturating_sub(1))?;
    // A function's first word is found within it; a decorated one begins with its decorators.
    loop {
        if let Some(definition) = node.child_by_field_name("definition") {
            node = definition;
        }
        if language.is_function(node) {
            break;
        }
        node = node.parent()?;
    }
    let body = node.child_by_field_name("body")?;
    let mut cursor = body.walk();
    let documentation = |statement: &Node<'_>| {
        statement.kind() == "expression_statement"
            && statement.named_child_count() == 1
            && statement
                .named_child(0)
                .is_some_and(|child| child.kind() == "string")
    };
    let mut statements = body
        .named_children(&mut cursor)
        .filter(|child| !language.is_comment(*child));
    let first = statements.next()?;
    let first = if documentation(&first) {
        statements.next()?
    } else {
        first
    };
    let start = first.start_byte();
    function.contains(&start).then_some(start)
}

/// The dependencies as `get_dir.py` of the benchmark finds them in `code`, the function with what
/// it needs: of each import every name, of each other statement the first, if the function's body
/// has it, too.
pub(super) fn script_dependencies(
    language: &Language,
    code: &str,
    entry_point: &str,
    function: &str,
) -> Vec<String> {
    let head = function_head(function, language).unwrap_or_default();
    let solution = without_head(function, head);
    let used = syntax_identifiers(&solution, language);
    let tree = language.parse(code);
    let root = tree.root_node();
    let mut found = BTreeSet::new();
    let mut cursor = root.walk();
    for statement in root.children(&mut cursor) {
        let text = |node: Node<'_>| &code[node.byte_range()];
        let names = identifiers(statement).into_iter().map(text);
        let counted = if statement.kind().contains("import") {
            usize::MAX
        } else {
            1
        };
        let names = names.take(counted);
        found.extend(names.filter(|name| *name != entry_point && used.contains(name)));
    }
    found.into_iter().map(str::to_owned).collect()
}

/// The identifiers in a part of a tree, in their order.
fn identifiers(root: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if node.kind() == "identifier" {
            found.push(node);
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        pending.extend(children.into_iter().rev());
    }
    found
}

/// The tests as they run at the top of the project, with the files they read there.
type Moved = (String, Vec<(std::path::PathBuf, String)>);

fn tests(test: &str, package: &str, options: &ImportOptions) -> Result<Moved, RecordFault> {
    let mut text = String::new();
    for line in test.lines() {
        // `/input/` is a folder of the benchmark's container.
        if line.starts_with("sys.path.insert(") && line.contains("/input/") {
            continue;
        }
        match line.strip_prefix("from .") {
            Some(rest) => text.push_str(&absolute(package, rest)?),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    let mut more_files = Vec::new();
    let parts: Vec<String> = text.split("/output/").map(str::to_owned).collect();
    let mut moved = String::with_capacity(text.len());
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            let quoted = moved.ends_with(['"', '\'']);
            let name = part.split(['"', '\'']).next().unwrap_or_default();
            if !quoted {
                // Only a string that begins with it names a file: this one may be an address.
                moved.push_str("/output/");
                moved.push_str(part);
                continue;
            }
            let Some(outputs) = &options.outputs else {
                return Err(RecordFault::new(
                    "test",
                    format!(
                        "reads `/output/{name}`; give the benchmark's `data_with_test_case` by \
                         `--outputs`"
                    ),
                ));
            };
            record::inside("test", name)?;
            let from = outputs.join(name);
            if !from.is_file() {
                return Err(RecordFault::new(
                    "test",
                    format!("reads `/output/{name}`, and {} is no file", from.display()),
                ));
            }
            more_files.push((from, format!("output/{name}")));
            moved.push_str("output/");
        }
        moved.push_str(part);
    }
    Ok((moved, more_files))
}

/// A relative import from a package's module as an absolute one; `rest` follows `from .`.
fn absolute(package: &str, rest: &str) -> Result<String, RecordFault> {
    let names = rest.trim_start_matches('.');
    let mut base = package;
    // The first dot, which `rest` lacks, stands for the package itself.
    for _ in 0..rest.len() - names.len() {
        base = base.rsplit_once('.').map_or("", |(above, _)| above);
    }
    if base.is_empty() {
        return Err(RecordFault::new(
            "test",
            format!("has `from .{rest}`, which leads out of the package"),
        ));
    }
    Ok(if names.starts_with(' ') {
        format!("from {base}{names}")
    } else {
        format!("from {base}.{names}")
    })
}
