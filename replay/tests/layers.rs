//! Checks the table of crates in `ARCHITECTURE.md` against `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

const PAGE: &str = include_str!("../ARCHITECTURE.md");

/// The last row's imports.
const ALL: &str = "all of the above";

/// One row of the table.
struct CrateRow {
    name: String,
    folder: String,
    imports: BTreeSet<String>,
}

/// The names in backticks of a cell.
fn names(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

fn rows() -> Vec<CrateRow> {
    let mut rows: Vec<CrateRow> = Vec::new();
    for line in PAGE.lines().filter(|line| line.starts_with("| `fillrate")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let [name, folder, _, imports] = cells[..] else {
            panic!("not four cells: {line}");
        };
        // The last crate imports all others, which its row does not repeat.
        let imports = if imports.trim() == ALL {
            rows.iter().map(|row| row.name.clone()).collect()
        } else {
            names(imports).collect()
        };
        rows.push(CrateRow {
            name: names(name)
                .next()
                .expect("the table and the metadata have it"),
            folder: names(folder)
                .next()
                .expect("the table and the metadata have it"),
            imports,
        });
    }
    rows
}

/// The workspace's packages by name, as `cargo metadata` prints them.
fn packages() -> BTreeMap<String, Value> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the table and the metadata have it");
    assert!(output.status.success(), "{output:?}");
    let metadata: Value =
        serde_json::from_slice(&output.stdout).expect("the table and the metadata have it");
    let packages = metadata["packages"]
        .as_array()
        .expect("the table and the metadata have it");
    let named = |package: &Value| {
        (
            package["name"]
                .as_str()
                .expect("the table and the metadata have it")
                .to_owned(),
            package.clone(),
        )
    };
    packages.iter().map(named).collect()
}

/// The names of the packages that a package imports outside its tests.
fn imports(package: &Value) -> BTreeSet<&str> {
    let all = package["dependencies"]
        .as_array()
        .expect("the table and the metadata have it")
        .iter();
    // Dependencies of tests have the kind `dev` and those of build scripts `build`.
    all.filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| {
            dependency["name"]
                .as_str()
                .expect("the table and the metadata have it")
        })
        .collect()
}

#[test]
fn table_of_crates_equals_cargo_metadata() {
    let (rows, packages) = (rows(), packages());
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    assert_eq!(
        names.iter().copied().collect::<BTreeSet<_>>(),
        packages.keys().map(String::as_str).collect(),
    );
    for (index, row) in rows.iter().enumerate() {
        let package = &packages[&row.name];
        let found: BTreeSet<String> = imports(package)
            .into_iter()
            .filter(|name| packages.contains_key(*name))
            .map(str::to_owned)
            .collect();
        assert_eq!(row.imports, found, "imports of {}", row.name);
        for import in &found {
            // The rows are in the order of the layers, so an import of a later row is upwards.
            assert!(
                names[..index].contains(&&**import),
                "{} imports {import}, which is below it",
                row.name
            );
        }
        let manifest = package["manifest_path"].as_str().unwrap();
        assert!(
            manifest.ends_with(&format!("{}/Cargo.toml", row.folder)),
            "{manifest}"
        );
    }
}

#[test]
fn protocol_and_command_line_are_at_the_edge() {
    let packages = packages();
    for (dependency, only) in [("tower-lsp", "fillrate-server"), ("clap", "fillrate")] {
        let users: Vec<&str> = packages
            .iter()
            .filter(|(_, package)| imports(package).contains(dependency))
            .map(|(name, _)| &**name)
            .collect();
        assert_eq!(users, [only], "{dependency}");
    }
}
