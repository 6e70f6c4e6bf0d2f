//! Detection of the layout of a Java repository, and of how its tests run.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::detection::{DetectedProject, RepositoryFiles, escaped_glob, tests_not_run};
use super::super::environment::Packages;
use super::super::imports::joined_path;
use super::super::runner::{RunnerName, TestSettings};
use super::environment::JUNIT;
use super::gradle::BUILDS;
use super::modules::JavaBuild;
use super::pom::POM;
use super::test_conventions::CONVENTIONS;

/// Folders of files that are no sources, if they are beside a build's description or beside
/// `src`: packages have such names as well. The harness has those of them that a build writes.
const OTHER_FOLDERS: [&str; 5] = ["build", "generated", "out", "target", "testdata"];

/// Patterns of files that are neither tests nor sources.
const NOT_SOURCES: [&str; 2] = ["!package-info.java", "!module-info.java"];

/// Implements [`LanguageSupport::detect`](super::super::LanguageSupport) for Java.
pub(super) fn detect(files: &RepositoryFiles) -> Option<DetectedProject> {
    let module = JavaModule::choose(files);
    let others = other_folders(files, &module.folder);
    let sources = module
        .files(files)
        .filter(|path| is_source(path, &others))
        .count();
    if sources == 0 {
        return None;
    }
    let start = match module.folder.as_str() {
        "" => "**/".to_owned(),
        folder => format!("/{}/**/", escaped_glob(folder)),
    };
    let mut holes = vec![format!("{start}*.java")];
    let tests = &CONVENTIONS.files;
    holes.extend(tests.folders.iter().map(|folder| format!("!**/{folder}/")));
    holes.extend(tests.names.iter().map(|name| format!("!{name}")));
    holes.extend(NOT_SOURCES.map(str::to_owned));
    holes.push("!**/node_modules/".to_owned());
    holes.extend(others.iter().map(|it| format!("!/{}/", escaped_glob(it))));
    let noun = if sources == 1 { "file" } else { "files" };
    let mut findings = vec![match module.folder.as_str() {
        "" => format!("sources: {sources} {noun} in Java"),
        folder => format!("sources: {sources} {noun} in Java, in the module {folder}"),
    }];
    let mut environment = Packages::default();
    let test = match module
        .packages(files)
        .and_then(|found| Ok((found, module.test_files(files)?)))
    {
        Ok((mut found, tests)) => {
            if tests.vintage > 0 {
                module.add_vintage(files, &mut found);
            }
            environment = found;
            let mut named = environment.packages.clone();
            named.extend(environment.requires.iter().cloned());
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
        name: match &module.build {
            Some(JavaBuild::Maven(build)) => build.name(&module.folder).map(str::to_owned),
            _ if !module.folder.is_empty() => module.folder.rsplit('/').next().map(str::to_owned),
            _ => None,
        },
        holes,
        exclude: module.excluded(files),
        environment,
        test,
        findings,
        ..DetectedProject::default()
    })
}

/// The part of a repository whose tests are run.
struct JavaModule {
    /// Its folder; empty for the top.
    folder: String,
    /// Folders of other modules within it.
    inner: Vec<String>,
    build: Option<JavaBuild>,
}

impl JavaModule {
    /// The module in the folder that is looked at, or else the one with the most tests.
    fn choose(files: &RepositoryFiles) -> Self {
        let read = |path: &str| files.read(path);
        let focus = files.focus();
        let build = match focus {
            "" => JavaBuild::at_top(&read),
            folder => JavaBuild::around(folder, &read),
        };
        let others = build.as_ref().map_or_else(Vec::new, JavaBuild::folders);
        // Folders with a build of their own, such as examples, are other projects as well.
        let built: Vec<&str> = match build.is_some() {
            true => build_folders(files),
            false => Vec::new(),
        };
        let within = |folder: &str| {
            let start = format!("{folder}/");
            let others = others
                .iter()
                .map(String::as_str)
                .chain(built.iter().copied());
            let inner = others.filter(|other| folder.is_empty() || other.starts_with(&start));
            inner.map(str::to_owned).collect::<Vec<String>>()
        };
        let tests = |folder: &str| {
            let module = Self {
                folder: folder.to_owned(),
                inner: within(folder),
                build: None,
            };
            module.test_files(files).map_or(0, |found| found.all)
        };
        let mut folder = focus.to_owned();
        if focus.is_empty() {
            let mut most = tests("");
            for other in &others {
                // The module with the most tests is the one whose holes can be judged best.
                let count = tests(other);
                if count > most {
                    most = count;
                    folder.clone_from(other);
                }
            }
        }
        Self {
            inner: within(&folder),
            folder,
            build,
        }
    }

    /// Its files.
    fn files<'a>(&'a self, files: &'a RepositoryFiles) -> impl Iterator<Item = &'a str> {
        let is_inner = |path: &str| {
            // The `/` keeps `lib-extra` from counting as inside `lib`.
            let inside = |folder: &String| {
                let rest = path.strip_prefix(folder.as_str());
                rest.is_some_and(|rest| rest.starts_with('/'))
            };
            self.inner.iter().any(inside)
        };
        let below = files.below(&self.folder);
        below.filter(move |path| path.ends_with(".java") && !is_inner(path))
    }

    /// Globs of files that its build does not compile for its tests.
    fn excluded(&self, files: &RepositoryFiles) -> Vec<String> {
        let mut globs = Vec::new();
        if let Some(JavaBuild::Gradle(build)) = &self.build {
            let patterns = build.excluded(&self.folder).iter();
            let named = patterns.map(|pattern| pattern.trim_start_matches("**/"));
            globs.extend(named.map(|pattern| format!("**/{pattern}")));
        }
        if self.build.is_some() {
            globs.extend(self.other_source_sets(files));
        }
        globs
    }

    /// Globs of the folders next to `src/main` and `src/test` with sources of other purposes, such
    /// as benchmarks: they need packages of their own. Those that a setting of folders names stay.
    fn other_source_sets(&self, files: &RepositoryFiles) -> Vec<String> {
        const OWN: [&str; 3] = ["main", "test", "testFixtures"];
        let within = |path: &str| joined_path(&self.folder, path).unwrap_or_default();
        let sets = within("src");
        let has = |set: &str| files.has_folder(&format!("{sets}/{set}/java"));
        // Other layouts name their folders themselves, so nothing follows from a name.
        if !has("main") || !has("test") {
            return Vec::new();
        }
        let builds = BUILDS.iter().chain(&[POM]);
        let text: String = builds
            .filter_map(|name| files.read(&within(name)))
            .collect();
        let is_named = |set: &str| {
            let mut lines = text.lines();
            lines.any(|line| {
                // Without their first letters, these fit `<directory>` and `<sourceDirectory>`.
                (line.contains("srcDir") || line.contains("ource>") || line.contains("irectory>"))
                    && line.contains(&format!("src/{set}"))
            })
        };
        let others = files.folders_in(&sets).into_iter();
        let others = others.filter(|set| !OWN.contains(set) && has(set) && !is_named(set));
        others
            .map(|set| format!("/{}/", escaped_glob(&format!("{sets}/{set}"))))
            .collect()
    }

    /// The packages that its tests need, or why they are not known.
    fn packages(&self, files: &RepositoryFiles) -> Result<Packages, String> {
        let mut packages = Packages::default();
        if let Some(JavaBuild::Maven(_)) = self.build {
            // Maven resolves versions of parents and of managed dependencies itself.
            packages.file = joined_path(&self.folder, POM);
            return Ok(packages);
        }
        // Gradle's file names a version of JUnit that may not fit the harness.
        packages.packages.push(JUNIT.to_owned());
        if let Some(JavaBuild::Gradle(build)) = &self.build {
            packages.requires = build.packages(&self.folder)?;
        }
        packages.install = (!self.folder.is_empty() && files.has_folder(&self.folder))
            .then(|| self.folder.clone());
        Ok(packages)
    }

    /// Returns the numbers of its files with tests that can run, or the reason why none can.
    fn test_files(&self, files: &RepositoryFiles) -> Result<TestFiles, String> {
        let mut found = TestFiles { all: 0, vintage: 0 };
        for text in self.files(files).filter_map(|path| files.read(path)) {
            let is_vintage = VINTAGE.iter().any(|import| text.contains(import));
            // A file may use both generations of JUnit and counts once in all.
            found.all += usize::from(is_vintage || text.contains("org.junit.jupiter."));
            found.vintage += usize::from(is_vintage);
        }
        match found.all {
            0 => Err("no file has tests of JUnit".to_owned()),
            _ => Ok(found),
        }
    }

    /// Adds what runs tests of JUnit 3 and 4: [`JUNIT`] has an engine for them, but not JUnit 4
    /// itself.
    fn add_vintage(&self, files: &RepositoryFiles, packages: &mut Packages) {
        // The engine in the POM brings JUnit 4 along; `JUNIT` has the engine only.
        if let Some(JavaBuild::Maven(build)) = &self.build {
            let root = files.root().display().to_string();
            let archives = build.archives_pom(&self.folder, &root);
            if !archives.is_some_and(|pom| pom.contains("<artifactId>junit-vintage-engine<")) {
                packages.packages.push(JUNIT.to_owned());
            }
        } else if !packages
            .requires
            .iter()
            .any(|one| one.starts_with("junit:junit:"))
        {
            packages.packages.push(JUNIT_4.to_owned());
        }
    }
}

/// The folders below the top with a build's description.
fn build_folders(files: &RepositoryFiles) -> Vec<&str> {
    let named = files.paths().filter_map(|path| path.rsplit_once('/'));
    let is_build = |name: &str| name == POM || BUILDS.contains(&name);
    let built = named.filter(|(_, name)| is_build(name));
    built.map(|(folder, _)| folder).collect()
}

/// Numbers of files with tests.
struct TestFiles {
    all: usize,
    /// Those with tests of JUnit 3 or 4.
    vintage: usize,
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

/// The folders named as in [`OTHER_FOLDERS`] that hold no sources: those of a module, whether or not
/// they exist yet, and those below it.
fn other_folders(files: &RepositoryFiles, module: &str) -> BTreeSet<String> {
    let within = |folder: &str, name: &str| match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    };
    let built: BTreeSet<&str> = build_folders(files).into_iter().collect();
    let is_top = |folder: &str| built.contains(folder) || files.has_folder(&within(folder, "src"));
    // Beside `src/main/java`, a folder is no package.
    let is_set = |folder: &str| {
        Path::new(folder).ends_with("src") || Path::new(folder).ends_with("src/main")
    };
    let mut others: BTreeSet<String> = OTHER_FOLDERS.map(|name| within(module, name)).into();
    for path in files.below(module) {
        for (end, _) in path.match_indices('/') {
            let folder = &path[..end];
            let (beside, name) = folder.rsplit_once('/').unwrap_or(("", folder));
            let is_other = is_top(beside) || name == "generated" && is_set(beside);
            if OTHER_FOLDERS.contains(&name) && is_other {
                others.insert(folder.to_owned());
            }
        }
    }
    others
}

/// True if a Java file is neither a test nor in one of the `others`.
fn is_source(path: &str, others: &BTreeSet<String>) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(class) = name.strip_suffix(".java") else {
        return false;
    };
    let mut ends = path.match_indices('/').map(|(end, _)| end);
    !ends.any(|end| others.contains(&path[..end]))
        && folders.split('/').all(|folder| folder != "node_modules")
        && !CONVENTIONS.files.is_file(path)
        && !class.ends_with("-info")
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
    fn packages_may_be_named_as_what_a_build_writes() {
        let found = detected(&[
            ("pom.xml", "<project/>"),
            ("src/main/java/com/x/build/A.java", ""),
            ("src/main/java/com/x/generated/B.java", ""),
            ("target/generated-sources/com/x/C.java", ""),
            ("src/main/generated/com/x/C.java", ""),
            ("examples/one/pom.xml", "<project/>"),
            ("examples/one/build/D.java", ""),
            ("examples/two/src/E.java", ""),
            ("examples/two/out/E.java", ""),
            TEST,
        ])
        .unwrap();
        assert_eq!(found.findings[0], "sources: 3 files in Java");
        let others: Vec<&str> = found
            .holes
            .iter()
            .filter_map(|glob| glob.strip_prefix("!/"))
            .collect();
        assert_eq!(
            others,
            [
                "build/",
                "examples/one/build/",
                "examples/two/out/",
                "generated/",
                "out/",
                "src/main/generated/",
                "target/",
                "testdata/"
            ]
        );
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
        assert_eq!(found.environment.packages, [JUNIT]);
        assert_eq!(found.environment.requires, ["junit:junit:4.12"]);
        let pom = (
            "pom.xml",
            "<project><artifactId>junit</artifactId></project>",
        );
        let found = detected(&[("B.java", ""), old, pom]).unwrap();
        assert_eq!(found.environment.packages, [JUNIT]);
        let own = (
            "pom.xml",
            "<project><dependencies><dependency><artifactId>junit-vintage-engine</artifactId>\
             </dependency></dependencies></project>",
        );
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
            assert_eq!(found.environment.packages, [JUNIT]);
            assert_eq!(found.environment.requires, ["org.a:b:1.2"]);
            assert_eq!(found.test.unwrap().runner, RunnerName::Jupiter);
        }
    }

    #[test]
    fn sources_of_other_purposes_are_left_out_of_a_build() {
        let files = |build: &'static str| {
            [
                ("build.gradle", build),
                ("src/main/java/B.java", ""),
                ("src/jmh/java/BBench.java", ""),
                ("src/testFixtures/java/Made.java", ""),
                TEST,
            ]
        };
        assert_eq!(detected(&files("")).unwrap().exclude, ["/src/jmh/"]);
        let named = "sourceSets { main { java { srcDir 'src/jmh/java' } } }\n";
        assert_eq!(detected(&files(named)).unwrap().exclude, [""; 0]);
        // Without a build, all is compiled.
        assert_eq!(detected(&files("")[1..]).unwrap().exclude, [""; 0]);
    }

    #[test]
    fn what_can_not_run_is_scored_by_text() {
        let variable = ("build.gradle", "implementation \"com.c:d:$version\"\n");
        let catalog = ("build.gradle.kts", "    implementation(libs.guava)\n");
        for (other, reason) in [
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
    fn the_module_with_the_most_tests_is_chosen_unless_one_is_named() {
        let named = |name: &str| {
            format!(
                "<project><parent><artifactId>all</artifactId></parent>\
                 <artifactId> {name} </artifactId></project>"
            )
        };
        let (shop, extra) = (named("shop"), named("extra"));
        let maven = [
            (
                "pom.xml",
                "<project><artifactId>all</artifactId><modules><module>a</module>\
                 <module>a/extra</module></modules></project>",
            ),
            ("a/pom.xml", shop.as_str()),
            ("a/src/main/java/B.java", ""),
            ("a/src/test/java/BTest.java", TEST.1),
            ("a/src/test/java/CTest.java", TEST.1),
            ("a/extra/pom.xml", extra.as_str()),
            ("a/extra/src/main/java/D.java", ""),
            ("a/extra/src/test/java/DTest.java", TEST.1),
            // Not a part of the build.
            ("old/pom.xml", "<project/>"),
            ("old/A.java", ""),
            ("old/ATest.java", TEST.1),
            ("old/BTest.java", TEST.1),
            ("old/CTest.java", TEST.1),
        ];
        let gradle = [
            ("settings.gradle", "include 'a', 'a:extra'\n"),
            ("build.gradle", "allprojects {}\n"),
            ("a/build.gradle", "implementation 'org.a:b:1'\n"),
            ("a/extra/build.gradle", "api project(':a')\n"),
        ];
        let (_folder, files) = RepositoryFiles::written(&maven);
        let found = detect(&files).unwrap();
        assert_eq!(found.name.as_deref(), Some("shop"));
        assert_eq!(found.environment.file.as_deref(), Some("a/pom.xml"));
        assert_eq!(found.holes[0], "/a/**/*.java");
        assert_eq!(
            found.findings[0],
            "sources: 1 file in Java, in the module a"
        );
        assert_eq!(found.findings[2], "tests: 2 files, run by JUnit 5");
        let found = detect(&files.focused("a/extra")).unwrap();
        assert_eq!(found.name.as_deref(), Some("extra"));
        assert_eq!(found.environment.file.as_deref(), Some("a/extra/pom.xml"));
        let built = maven
            .into_iter()
            .filter(|(path, _)| path.starts_with('a') && path.ends_with(".java"));
        let (_folder, files) =
            RepositoryFiles::written(&gradle.into_iter().chain(built).collect::<Vec<_>>());
        let found = detect(&files).unwrap();
        assert_eq!(found.environment.install.as_deref(), Some("a"));
        assert_eq!(found.environment.requires, ["org.a:b:1"]);
        let found = detect(&files.focused("a/extra")).unwrap();
        assert_eq!(found.environment.install.as_deref(), Some("a/extra"));
        assert_eq!(found.environment.requires, ["org.a:b:1"]);
    }
}
