//! How a repository of Java is laid out.

use super::super::detection::{DetectedProject, RepositoryFiles};

/// Folders of files that are no sources.
const OTHER_FOLDERS: [&str; 6] = [
    "build",
    "generated",
    "node_modules",
    "out",
    "target",
    "testdata",
];

/// Patterns of files that are no sources.
const NOT_SOURCES: [&str; 7] = [
    "!**/test/",
    "!**/tests/",
    "!*Test.java",
    "!*Tests.java",
    "!*IT.java",
    "!package-info.java",
    "!module-info.java",
];

/// What [`LanguageSupport::detect`](super::super::LanguageSupport) returns of Java.
pub(super) fn detect(files: &RepositoryFiles) -> Option<DetectedProject> {
    let sources = files.paths().filter(|path| is_source(path)).count();
    if sources == 0 {
        return None;
    }
    let noun = if sources == 1 { "file" } else { "files" };
    let mut holes = vec!["**/*.java".to_owned()];
    holes.extend(NOT_SOURCES.map(str::to_owned));
    holes.extend(OTHER_FOLDERS.map(|folder| format!("!**/{folder}/")));
    let findings = vec![
        format!("sources: {sources} {noun} in Java"),
        "tests: those of Java are not run, so holes are chosen \
         by syntax and scored by text"
            .to_owned(),
        format!("holes: {}", holes.join(" ")),
    ];
    Some(DetectedProject {
        name: files.read("pom.xml").and_then(|text| artifact(&text)),
        holes,
        findings,
        ..DetectedProject::default()
    })
}

/// Whether a file of Java is neither a test nor generated.
fn is_source(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(class) = name.strip_suffix(".java") else {
        return false;
    };
    let is_other =
        |folder: &str| matches!(folder, "test" | "tests") || OTHER_FOLDERS.contains(&folder);
    let is_test = ["Test", "Tests", "IT"]
        .iter()
        .any(|end| class.ends_with(end));
    !folders.split('/').any(is_other) && !is_test && !class.ends_with("-info")
}

/// The project's own name in a `pom.xml`: the first that is not its parent's.
fn artifact(pom: &str) -> Option<String> {
    let own = match pom.split_once("</parent>") {
        Some((_, rest)) => rest,
        None => pom,
    };
    let (_, rest) = own.split_once("<artifactId>")?;
    let (name, _) = rest.split_once("</artifactId>")?;
    Some(name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::path::Path;

    use super::*;

    #[test]
    fn sources_are_told_from_tests() {
        let found = |paths: &[&str]| {
            let names = paths.iter().map(|path| (*path).to_owned()).collect();
            detect(&RepositoryFiles::new(Path::new("/nowhere"), names))
        };
        let detected = found(&["src/main/java/a/B.java", "src/test/java/a/BTest.java"]).unwrap();
        assert_eq!(detected.findings[0], "sources: 1 file in Java");
        assert_eq!(detected.test, None);
        for path in [
            "a/BTest.java",
            "test/B.java",
            "target/B.java",
            "package-info.java",
            "a.go",
        ] {
            assert!(found(&[path]).is_none(), "{path}");
        }
    }

    #[test]
    fn a_project_has_the_name_of_its_artifact() {
        let parent = "<project><parent><artifactId>all</artifactId></parent>";
        let own = "<artifactId> shop </artifactId></project>";
        assert_eq!(artifact(&format!("{parent}{own}")).as_deref(), Some("shop"));
        assert_eq!(artifact(own).as_deref(), Some("shop"));
        assert_eq!(artifact("<project/>"), None);
    }
}
