//! Writes a manifest that parses back to the same projects.

use std::fmt::Write;
use std::path::Path;

use fillrate_language::environment::Packages;
use fillrate_language::runner::TestSettings;
use toml::Value;

use super::project::{Project, SourcePin};
use super::{Manifest, SCHEMA};

/// A manifest as the text of a file in `folder`, with detection's findings as comments. Sources and
/// configurations below the folder are named relative to it.
pub fn manifest_text(manifest: &Manifest, folder: &Path) -> String {
    let mut text = format!("schema = {SCHEMA}\n");
    for project in &manifest.projects {
        text.push('\n');
        let found = manifest.findings.iter();
        let findings = found
            .filter(|(name, _)| *name == project.name)
            .flat_map(|(_, findings)| findings);
        for finding in findings {
            // A line end would end the comment, and the rest would be read as a setting.
            text.push_str(&format!("# {}\n", finding.replace('\n', " ")));
        }
        write_project(&mut text, project, folder);
    }
    text
}

fn write_project(text: &mut String, project: &Project, folder: &Path) {
    text.push_str("[[project]]\n");
    key(text, "name", quote(&project.name));
    key(text, "language", quote(project.language.name));
    key(text, "source", source(&project.source, folder));
    for (name, globs) in [
        ("holes", &project.holes),
        ("exclude", &project.exclude),
        ("hidden", &project.hidden),
    ] {
        strings(text, name, globs.patterns());
    }
    if project.environment != Packages::default() {
        let packages = &project.environment;
        let manager = project.language.packages;
        text.push_str("\n[project.environment]\n");
        optional(
            text,
            manager.rules().interpreter_key,
            packages.interpreter.as_deref(),
        );
        optional(text, "install", packages.install.as_deref());
        strings(text, "extras", &packages.extras);
        strings(text, "groups", &packages.groups);
        optional(text, manager.rules().file_key, packages.file.as_deref());
        strings(text, "packages", &packages.packages);
        strings(text, "requires", &packages.requires);
        strings(text, "before", &packages.before);
        if packages.before_may_fail {
            key(text, "before_may_fail", "true".to_owned());
        }
        if !packages.env.is_empty() {
            let pairs: Vec<String> = packages
                .env
                .iter()
                .map(|(name, value)| format!("{} = {}", quote(name), quote(value)))
                .collect();
            key(text, "env", format!("{{ {} }}", pairs.join(", ")));
        }
    }
    if let Some(test) = &project.test {
        write_test(text, test, folder);
    }
}

fn write_test(text: &mut String, test: &TestSettings, folder: &Path) {
    text.push_str("\n[project.test]\n");
    key(text, "runner", quote(&test.runner.to_string()));
    strings(text, "args", &test.args);
    optional(text, "folder", test.folder.as_deref());
    strings(text, "path", &test.path);
    if let Some(config) = &test.config {
        key(text, "config", quote(&relative(config, folder)));
    }
    strings(text, "command", &test.command);
    optional(text, "report", test.report.as_deref());
    if let Some(seconds) = test.timeout {
        key(text, "timeout", seconds.to_string());
    }
    if let Some(share) = test.min_share {
        // `Debug` writes a whole number with a decimal point, as a float of TOML has it.
        key(text, "min_share", format!("{share:?}"));
    }
}

fn source(source: &SourcePin, folder: &Path) -> String {
    let pairs: Vec<(&str, String)> = match source {
        SourcePin::Path(path) => vec![("path", relative(path, folder))],
        SourcePin::Pypi {
            name,
            version,
            sha256,
        } => vec![
            ("pypi", format!("{name}=={version}")),
            ("sha256", sha256.clone()),
        ],
        SourcePin::Npm {
            name,
            version,
            integrity,
        } => vec![
            ("npm", format!("{name}@{version}")),
            ("integrity", integrity.clone()),
        ],
        SourcePin::Git {
            url,
            revision,
            folder,
        } => {
            let mut pairs = vec![("git", url.clone()), ("revision", revision.clone())];
            pairs.extend(folder.clone().map(|folder| ("folder", folder)));
            pairs
        }
        SourcePin::Archive { url, sha256 } => {
            vec![("archive", url.clone()), ("sha256", sha256.clone())]
        }
    };
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name} = {}", quote(value)))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A path as seen from a folder, if it is below it; else as it is.
fn relative(path: &Path, folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    match path.strip_prefix(&folder) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}

fn quote(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn key(text: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing into a string can't fail.
    let _ = writeln!(text, "{name} = {value}");
}

fn optional(text: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        key(text, name, quote(value));
    }
}

/// An array, on one line if it is short; nothing if it is empty.
fn strings(text: &mut String, name: &str, values: &[String]) {
    if values.is_empty() {
        return;
    }
    let quoted: Vec<String> = values.iter().map(|value| quote(value)).collect();
    let line = quoted.join(", ");
    if line.len() < 80 {
        key(text, name, format!("[{line}]"));
    } else {
        key(text, name, format!("[\n  {},\n]", quoted.join(",\n  ")));
    }
}
