//! How a repository of Java is laid out and how its tests run.

use super::super::detection::{DetectedProject, RepositoryFiles, tests_not_run};
use super::super::environment::{PackageManager, Packages};
use super::super::runner::{RunnerName, TestSettings};
use super::environment::{JUNIT, Jars};

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
    let mut findings = vec![format!("sources: {sources} {noun} in Java")];
    let mut environment = Packages::default();
    let test = match runnable(files) {
        Ok(tests) => {
            let noun = if tests == 1 { "file" } else { "files" };
            if files.has(POM) {
                findings.push("packages: what pom.xml depends on, by mvn".to_owned());
                environment.file = Some(POM.to_owned());
            } else {
                let (packages, left_out) = gradle_packages(files);
                environment.packages.push(JUNIT.to_owned());
                environment.packages.extend(packages);
                let packages = environment.packages.join(", ");
                findings.push(format!("packages: {packages}, by mvn"));
                if !left_out.is_empty() {
                    let left_out = left_out.join(", ");
                    findings.push(format!(
                        "packages left out: {left_out}; name them with versions in a manifest"
                    ));
                }
            }
            findings.push(format!("tests: {tests} {noun}, run by JUnit 5"));
            Some(TestSettings::new(RunnerName::Jupiter))
        }
        Err(reason) => {
            findings.push(tests_not_run(reason));
            None
        }
    };
    findings.push(format!("holes: {}", holes.join(" ")));
    Some(DetectedProject {
        name: files.read(POM).and_then(|text| artifact(&text)),
        holes,
        environment,
        test,
        findings,
        ..DetectedProject::default()
    })
}

/// Maven's description of a project.
const POM: &str = "pom.xml";

/// How many files hold tests that can run, or why none can.
fn runnable(files: &RepositoryFiles) -> Result<usize, &'static str> {
    if let Some(pom) = files.read(POM) {
        if pom.contains("<modules>") {
            return Err("pom.xml has modules, which are not built");
        }
    } else {
        let mut settings = GRADLE_SETTINGS.iter().filter_map(|path| files.read(path));
        if settings.any(|text| text.lines().any(|line| line.trim().starts_with("include"))) {
            return Err("Gradle builds several projects, which are not built");
        }
    }
    let tests = files
        .paths()
        .filter(|path| path.ends_with(".java"))
        .filter_map(|path| files.read(path))
        .filter(|text| text.contains("org.junit.jupiter."))
        .count();
    match tests {
        0 => Err("no file has tests of JUnit 5"),
        tests => Ok(tests),
    }
}

/// Gradle's descriptions of a project, in Groovy and in Kotlin.
const GRADLE_BUILDS: [&str; 2] = ["build.gradle", "build.gradle.kts"];

/// Gradle's lists of projects.
const GRADLE_SETTINGS: [&str; 2] = ["settings.gradle", "settings.gradle.kts"];

/// Gradle's configurations whose packages compile or run the project or its tests.
/// <https://docs.gradle.org/current/userguide/java_plugin.html>; the last two are from before 7.
const GRADLE_CONFIGURATIONS: [&str; 9] = [
    "api",
    "compileOnly",
    "implementation",
    "runtimeOnly",
    "testCompileOnly",
    "testImplementation",
    "testRuntimeOnly",
    "compile",
    "testCompile",
];

/// The packages that Gradle's files name with a version, and those that they name otherwise.
/// Gradle itself is not started, as its files are programs. JUnit's own packages are in [`JUNIT`].
fn gradle_packages(files: &RepositoryFiles) -> (Vec<String>, Vec<String>) {
    let text: String = GRADLE_BUILDS
        .iter()
        .filter_map(|path| files.read(path))
        .collect();
    let (mut packages, mut left_out) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        let Some(end) = line.find([' ', '(']) else {
            continue;
        };
        let (configuration, argument) = line.split_at(end);
        if !GRADLE_CONFIGURATIONS.contains(&configuration) {
            continue;
        }
        let argument = argument.trim_start_matches([' ', '(']);
        let quoted = argument
            .strip_prefix(['\'', '"'])
            .and_then(|rest| rest.split(['\'', '"']).next());
        if argument.contains("org.junit") {
            continue;
        }
        match quoted.filter(|pin| Jars.parse_pin(pin).is_some()) {
            Some(pin) => packages.push(pin.to_owned()),
            None => {
                let named = quoted.unwrap_or_else(|| argument.trim_end_matches(')'));
                left_out.push(format!("`{named}`"));
            }
        }
    }
    (packages, left_out)
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
    use super::*;

    fn detected(paths: &[(&str, &str)]) -> Option<DetectedProject> {
        let (_folder, files) = RepositoryFiles::written(paths);
        detect(&files)
    }

    const TEST: (&str, &str) = (
        "src/test/java/a/BTest.java",
        "import org.junit.jupiter.api.Test;\n",
    );

    #[test]
    fn sources_are_told_from_tests() {
        let found = detected(&[("src/main/java/a/B.java", ""), TEST]).unwrap();
        assert_eq!(found.findings[0], "sources: 1 file in Java");
        for path in [
            "a/BTest.java",
            "test/B.java",
            "target/B.java",
            "package-info.java",
            "a.go",
        ] {
            assert!(detected(&[(path, "")]).is_none(), "{path}");
        }
    }

    #[test]
    fn tests_of_junit_are_run() {
        let plain = detected(&[("src/B.java", ""), TEST]).unwrap();
        assert_eq!(plain.test.unwrap().runner, RunnerName::Jupiter);
        assert_eq!(plain.environment.packages, [JUNIT]);
        let built = detected(&[("B.java", ""), ("pom.xml", "<project/>"), TEST]).unwrap();
        assert_eq!(built.environment.file.as_deref(), Some("pom.xml"));
        assert_eq!(built.environment.packages, [""; 0]);
    }

    #[test]
    fn packages_are_those_that_gradle_names_with_a_version() {
        let groovy = "dependencies {\n\
            \x20   implementation 'org.a:b:1.2'\n\
            \x20   testImplementation \"com.c:d:$version\"\n\
            \x20   testImplementation platform('org.junit:junit-bom:5.9.2')\n\
            \x20   testImplementation 'org.junit.jupiter:junit-jupiter'\n\
            \x20   annotationProcessor 'org.e:f:1'\n}\n";
        let found = detected(&[("B.java", ""), TEST, ("build.gradle", groovy)]).unwrap();
        assert_eq!(found.environment.packages, [JUNIT, "org.a:b:1.2"]);
        let left_out = "packages left out: `com.c:d:$version`; name them with versions in a \
                        manifest";
        assert_eq!(found.findings[2], left_out);

        let kotlin = "    api(\"org.a:b:1.2\")\n    implementation(libs.guava)\n";
        let found = detected(&[("B.java", ""), TEST, ("build.gradle.kts", kotlin)]).unwrap();
        assert_eq!(found.environment.packages, [JUNIT, "org.a:b:1.2"]);
        assert!(
            found.findings[2].contains("`libs.guava`"),
            "{:?}",
            found.findings
        );
    }

    #[test]
    fn what_can_not_run_is_scored_by_text() {
        let modules = ("pom.xml", "<modules><module>a</module></modules>");
        let projects = ("settings.gradle", "rootProject.name = 'a'\ninclude 'b'\n");
        for (other, reason) in [
            (modules, "pom.xml has modules"),
            (projects, "Gradle builds several projects"),
        ] {
            let found = detected(&[("B.java", ""), TEST, other]).unwrap();
            assert_eq!(found.test, None);
            assert!(found.findings[1].contains(reason), "{:?}", found.findings);
        }
        let without = detected(&[("B.java", ""), ("BTest.java", "")]).unwrap();
        assert!(without.findings[1].contains("no file has tests of JUnit 5"));
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
