//! Detection of the layout of a Java repository, and of how its tests run.

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

/// Implements [`LanguageSupport::detect`](super::super::LanguageSupport) for Java.
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
    let test = match packages(files).and_then(|found| Ok((found, test_files(files)?))) {
        Ok((mut found, tests)) => {
            if tests.vintage > 0 {
                add_vintage(files, &mut found);
            }
            environment = found;
            let mut named = environment.packages.clone();
            let pom = environment.file.iter();
            named.extend(pom.map(|pom| format!("what {pom} depends on")));
            findings.push(format!("packages: {}, by mvn", named.join(", ")));
            let noun = if tests.all == 1 { "file" } else { "files" };
            let vintage = match tests.vintage {
                0 => String::new(),
                count => format!(", {count} of them by its engine for JUnit 3 and 4"),
            };
            let tests = tests.all;
            findings.push(format!("tests: {tests} {noun}, run by JUnit 5{vintage}"));
            Some(TestSettings::new(RunnerName::Jupiter))
        }
        Err(reason) => {
            findings.push(tests_not_run(&reason));
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

/// The packages that the tests need, or why they are not known.
fn packages(files: &RepositoryFiles) -> Result<Packages, String> {
    let mut packages = Packages::default();
    if let Some(pom) = files.read(POM) {
        if pom.contains("<modules>") {
            return Err("pom.xml has modules, which are not built".to_owned());
        }
        packages.file = Some(POM.to_owned());
        return Ok(packages);
    }
    let mut settings = GRADLE_SETTINGS.iter().filter_map(|path| files.read(path));
    if settings.any(|text| text.lines().any(|line| line.trim().starts_with("include"))) {
        return Err("Gradle builds several projects, which are not built".to_owned());
    }
    packages.packages.push(JUNIT.to_owned());
    packages.packages.extend(gradle_packages(files)?);
    Ok(packages)
}

/// Numbers of files with tests.
struct TestFiles {
    all: usize,
    /// Those with tests of JUnit 3 or 4.
    vintage: usize,
}

/// Returns the numbers of files with tests that can run, or the reason why none can.
fn test_files(files: &RepositoryFiles) -> Result<TestFiles, String> {
    let texts = files
        .paths()
        .filter(|path| path.ends_with(".java"))
        .filter_map(|path| files.read(path));
    let mut found = TestFiles { all: 0, vintage: 0 };
    for text in texts {
        let is_vintage = VINTAGE.iter().any(|import| text.contains(import));
        found.all += usize::from(is_vintage || text.contains("org.junit.jupiter."));
        found.vintage += usize::from(is_vintage);
    }
    match found.all {
        0 => Err("no file has tests of JUnit".to_owned()),
        _ => Ok(found),
    }
}

/// Imports of tests of JUnit 4 and 3.
const VINTAGE: [&str; 4] = [
    "import org.junit.Test;",
    "import org.junit.*;",
    "import junit.framework.TestCase;",
    "import junit.framework.*;",
];

/// The last release of JUnit 4.
const JUNIT_4: &str = "junit:junit:4.13.2";

/// Adds what runs tests of JUnit 3 and 4: [`JUNIT`] has an engine for them, but not JUnit 4 itself.
fn add_vintage(files: &RepositoryFiles, packages: &mut Packages) {
    let runs_vintage = |text: &String| text.contains("junit-vintage-engine");
    if packages.file.is_some() {
        if !files.read(POM).is_some_and(|pom| runs_vintage(&pom)) {
            packages.packages.push(JUNIT.to_owned());
        }
    } else if !packages
        .packages
        .iter()
        .any(|one| one.starts_with("junit:junit:"))
    {
        packages.packages.push(JUNIT_4.to_owned());
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

/// The packages that Gradle's files name, or the first without a plain version: without it, sources
/// may not compile. Gradle itself is not started, as its files are programs. JUnit's own packages
/// are in [`JUNIT`].
fn gradle_packages(files: &RepositoryFiles) -> Result<Vec<String>, String> {
    let mut packages = Vec::new();
    for text in GRADLE_BUILDS.iter().filter_map(|path| files.read(path)) {
        for line in text.lines().map(str::trim) {
            let Some((configuration, argument)) = line.split_once([' ', '(']) else {
                continue;
            };
            if !GRADLE_CONFIGURATIONS.contains(&configuration) || argument.contains("org.junit") {
                continue;
            }
            let argument = argument.trim_start_matches([' ', '(']);
            let named = argument
                .strip_prefix(['\'', '"'])
                .and_then(|rest| rest.split(['\'', '"']).next())
                .unwrap_or_else(|| argument.trim_end_matches(')'));
            if Jars.parse_pin(named).is_none() {
                return Err(format!(
                    "Gradle names `{named}` without a plain version; a manifest may name it"
                ));
            }
            packages.push(named.to_owned());
        }
    }
    Ok(packages)
}

/// True if a Java file is neither a test nor generated.
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
    fn tests_of_junit_4_are_run_by_the_vintage_engine() {
        let old = ("src/test/java/a/CTest.java", "import org.junit.Test;\n");
        let plain = detected(&[("src/B.java", ""), old, TEST]).unwrap();
        assert_eq!(plain.environment.packages, [JUNIT, JUNIT_4]);
        assert_eq!(
            plain.findings[2],
            "tests: 2 files, run by JUnit 5, 1 of them by its engine for JUnit 3 and 4"
        );
        let gradle = ("build.gradle", "testImplementation 'junit:junit:4.12'\n");
        let found = detected(&[("B.java", ""), old, gradle]).unwrap();
        assert_eq!(found.environment.packages, [JUNIT, "junit:junit:4.12"]);
        let pom = ("pom.xml", "<artifactId>junit</artifactId>");
        let found = detected(&[("B.java", ""), old, pom]).unwrap();
        assert_eq!(found.environment.packages, [JUNIT]);
        let own = ("pom.xml", "<artifactId>junit-vintage-engine</artifactId>");
        let found = detected(&[("B.java", ""), old, own]).unwrap();
        assert_eq!(found.environment.packages, [""; 0]);
    }

    #[test]
    fn packages_are_those_that_gradle_names_with_a_version() {
        let groovy = "dependencies {\n\
            \x20   implementation 'org.a:b:1.2'\n\
            \x20   testImplementation platform('org.junit:junit-bom:5.9.2')\n\
            \x20   testImplementation 'org.junit.jupiter:junit-jupiter'\n\
            \x20   annotationProcessor 'org.e:f:1'\n}\n";
        let kotlin = "    api(\"org.a:b:1.2\") // for all\n";
        for build in [("build.gradle", groovy), ("build.gradle.kts", kotlin)] {
            let found = detected(&[("B.java", ""), TEST, build]).unwrap();
            assert_eq!(found.environment.packages, [JUNIT, "org.a:b:1.2"]);
            assert_eq!(found.test.unwrap().runner, RunnerName::Jupiter);
        }
    }

    #[test]
    fn what_can_not_run_is_scored_by_text() {
        let modules = ("pom.xml", "<modules><module>a</module></modules>");
        let projects = ("settings.gradle", "rootProject.name = 'a'\ninclude 'b'\n");
        let variable = ("build.gradle", "implementation \"com.c:d:$version\"\n");
        let catalog = ("build.gradle.kts", "    implementation(libs.guava)\n");
        for (other, reason) in [
            (modules, "pom.xml has modules"),
            (projects, "Gradle builds several projects"),
            (variable, "Gradle names `com.c:d:$version`"),
            (catalog, "Gradle names `libs.guava`"),
        ] {
            let found = detected(&[("B.java", ""), TEST, other]).unwrap();
            assert_eq!(found.test, None);
            assert!(found.findings[1].contains(reason), "{:?}", found.findings);
        }
        let without = detected(&[("B.java", ""), ("BTest.java", "")]).unwrap();
        assert!(without.findings[1].contains("no file has tests of JUnit"));
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
