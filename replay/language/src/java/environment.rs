//! Java's archives of classes, and what is compiled of an unchanged project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::environment::{
    EnvironmentError, EnvironmentKind, EnvironmentRules, InstallRequest, InstalledPackages,
    Interpreter, NamedText, PackageManager, ProgramProbe, Toolchain, at_least, beyond_usr,
    read_requested,
};
use super::super::imports::joined_path;
use super::super::programs::{self, CHECK_NETWORK};
use super::modules::siblings;
use super::pom::{self, MavenBuild, POM};
use crate::task::sha256_hex;

/// The program that compiles and runs tests, and the class that records lines: their sources,
/// which every environment has compiled, in the archive [`driver_archive`].
pub const DRIVER: [(&str, &str); 9] = [
    ("Driver.java", include_str!("harness/Driver.java")),
    (
        "CompileChecker.java",
        include_str!("harness/CompileChecker.java"),
    ),
    ("Json.java", include_str!("harness/Json.java")),
    ("Sources.java", include_str!("harness/Sources.java")),
    (
        "KnownClasses.java",
        include_str!("harness/KnownClasses.java"),
    ),
    ("ClassFace.java", include_str!("harness/ClassFace.java")),
    ("Recorder.java", include_str!("harness/Recorder.java")),
    ("Runner.java", include_str!("harness/Runner.java")),
    ("Lines.java", include_str!("harness/Lines.java")),
];

/// The class of the driver that is started.
pub const MAIN_CLASS: &str = "fillratedriver.Driver";

/// The folder of an environment with the archives.
pub const JARS: &str = "jars";

/// The folder of an environment with what is compiled of the unchanged project.
pub const BUILT: &str = "built";

/// The file of an environment with the loaded classes of JUnit and of the driver, from which the
/// process of tests starts; see `Driver.java`. Empty if Java can't write it.
pub const LOADED: &str = "loaded.jsa";

/// All of JUnit 5 in one archive.
pub const JUNIT: &str = "org.junit.platform:junit-platform-console-standalone:1.9.1";

/// The oldest Java that works, as (major, minor).
const OLDEST_JAVA: (u32, u32) = (17, 0);

/// Archives of classes, fetched by Maven.
pub(crate) struct Jars;

impl PackageManager for Jars {
    fn rules(&self) -> &'static EnvironmentRules {
        &EnvironmentRules {
            kind: EnvironmentKind::Java,
            file_key: "pom",
            own_keys: &["java", "pom"],
            interpreter_key: "java",
            pin_form: "GROUP:ARTIFACT:VERSION",
            binds_interpreter: true,
        }
    }

    fn parse_pin(&self, pin: &str) -> Option<(String, String)> {
        let (name, version) = pin.rsplit_once(':')?;
        let (group, artifact) = name.split_once(':')?;
        let is_plain = |part: &str| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || ".-_".contains(letter))
        };
        let valid = [group, artifact, version].into_iter().all(is_plain);
        valid.then(|| (name.to_owned(), version.to_owned()))
    }

    fn interpreter(
        &self,
        toolchain: &Toolchain,
        wanted: Option<&str>,
    ) -> Result<Interpreter, EnvironmentError> {
        java(toolchain)?.if_wanted("java", wanted)
    }

    fn probes(&self, toolchain: &Toolchain) -> Vec<ProgramProbe> {
        vec![ProgramProbe {
            program: "java",
            version: java(toolchain).map(|found| found.version),
        }]
    }

    fn requested_files(
        &self,
        project: &str,
        pom: &str,
        source: &Path,
    ) -> Result<Vec<NamedText>, EnvironmentError> {
        let text = read_requested(project, source, pom)?;
        let folder = joined_path("", project_folder(Some(pom), None)).unwrap_or_default();
        let read = |path: &str| fs::read_to_string(source.join(path)).ok();
        // A description under another name is no module that others depend on.
        let build = MavenBuild::around(&folder, &read).filter(|_| pom.ends_with(POM));
        let archives =
            build.and_then(|build| build.archives_pom(&folder, &source.display().to_string()));
        Ok(vec![(POM.to_owned(), archives.unwrap_or(text))])
    }

    fn is_build_input(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        path.ends_with(".java")
            || name == POM
            || name.ends_with(".gradle")
            || name.ends_with(".kts")
    }

    fn compiles_project(&self) -> bool {
        true
    }

    fn is_intact(&self, root: &Path) -> bool {
        let folders = [JARS, BUILT].map(|name| root.join(name));
        root.join(driver_archive()).is_file() && folders.iter().all(|folder| folder.is_dir())
    }

    fn install(
        &self,
        request: &InstallRequest<'_>,
        root: &Path,
    ) -> Result<InstalledPackages, EnvironmentError> {
        let packages = request.packages;
        let unusable = |message: String| EnvironmentError::Unusable {
            project: request.project.to_owned(),
            message,
        };
        let jars = root.join(JARS);
        fs::create_dir_all(&jars).map_err(EnvironmentError::io("creating", &jars))?;
        let pom = request.files.first().map(|(_, text)| text.as_str());
        if let Some(pom) = pom::with_requirements(pom, &packages.requires) {
            let path = root.join(POM);
            fs::write(&path, pom).map_err(EnvironmentError::io("writing", &path))?;
            let mut maven = maven(request);
            maven
                .arg("-f")
                .arg(&path)
                .arg("dependency:copy-dependencies")
                .arg(format!("-DoutputDirectory={}", jars.display()));
            programs::run(&mut maven, request.project, CHECK_NETWORK)?;
        }
        if request.files.is_empty() && packages.packages.iter().any(|pin| pin == JUNIT) {
            remove_parts_of_junit(&jars)?;
        }
        for pin in &packages.packages {
            fetch(request, pin, &jars)?;
        }
        let names = names_in(&jars)?;
        let has = |start: &str| names.iter().any(|name| name.starts_with(start));
        if !has("junit-platform-console-standalone-") && !has("junit-platform-launcher-") {
            // The launcher must have the version of the engine that the project's packages brought.
            let version = names.iter().find_map(|name| {
                name.strip_prefix("junit-platform-engine-")?
                    .strip_suffix(".jar")
            });
            let version = version.ok_or_else(|| {
                unusable(format!(
                    "its tests need JUnit 5, which is not among its archives; name `{JUNIT}` in \
                     `packages`"
                ))
            })?;
            let launcher = format!("org.junit.platform:junit-platform-launcher:{version}");
            fetch(request, &launcher, &jars)?;
        }
        compile(request, root)?;
        Ok(lines(request, &jars)?.into())
    }
}

/// The name of the archive of an environment with the compiled driver.
pub fn driver_archive() -> String {
    let texts = DRIVER.map(|(_, text)| text).concat();
    format!("driver-{}.jar", &sha256_hex(texts.as_bytes())[..16])
}

/// The folder of the repository with the project, given its `pom.xml` or its `install`.
pub fn project_folder<'a>(pom: Option<&'a str>, install: Option<&'a str>) -> &'a str {
    match pom {
        Some(pom) => pom.rsplit_once('/').map_or(".", |(folder, _)| folder),
        None => install.unwrap_or("."),
    }
}

/// The file of an environment that lists the folders of other modules that are compiled with the
/// project, one a line.
const ALSO: &str = "also";

/// Returns the folders of other modules that are compiled with the project of an environment,
/// relative to the repository.
pub fn also_compiled(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join(ALSO)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The folders with the sources of the modules that a module depends on.
fn sibling_sources(source: &Path, folder: &str) -> Vec<String> {
    let folders = siblings(source, folder).into_iter().map(|sibling| {
        let sources = joined_path(&sibling.folder, "src/main/java").unwrap_or_default();
        match !sibling.has_tests && source.join(&sources).is_dir() {
            true => sources,
            false => sibling.folder,
        }
    });
    folders.collect()
}

/// Removes archives that are parts of [`JUNIT`]: two versions of one class are one too many.
fn remove_parts_of_junit(jars: &Path) -> Result<(), EnvironmentError> {
    let parts = ["junit-jupiter", "junit-platform-", "junit-vintage-"];
    for name in names_in(jars)? {
        if parts.iter().any(|part| name.starts_with(part)) {
            let path = jars.join(name);
            fs::remove_file(&path).map_err(EnvironmentError::io("removing", &path))?;
        }
    }
    Ok(())
}

fn maven(request: &InstallRequest<'_>) -> Command {
    let mut maven = Command::new(&request.toolchain.mvn);
    maven.args(["--batch-mode", "--quiet"]);
    maven
}

/// Copies an archive from Maven's local repository, into which Maven fetches it if need be.
fn fetch(request: &InstallRequest<'_>, pin: &str, jars: &Path) -> Result<(), EnvironmentError> {
    let mut parts = pin.split(':');
    let mut part = || parts.next().unwrap_or_default();
    let (group, artifact, version) = (part(), part(), part());
    let name = format!("{artifact}-{version}.jar");
    // Maven keeps an archive below its group, with a folder for each part of the name.
    let path = local_repository()
        .join(group.replace('.', "/"))
        .join(artifact)
        .join(version)
        .join(&name);
    if !path.is_file() {
        let mut maven = maven(request);
        maven
            .args(["dependency:get", "-Dtransitive=false"])
            .arg(format!("-Dartifact={pin}"));
        programs::run(&mut maven, request.project, CHECK_NETWORK)?;
    }
    let copy = jars.join(name);
    fs::copy(&path, &copy).map_err(EnvironmentError::io("reading", &path))?;
    Ok(())
}

/// The folder that Maven keeps what it fetched in.
fn local_repository() -> PathBuf {
    let options = std::env::var("MAVEN_OPTS").unwrap_or_default();
    let set = options
        .split_whitespace()
        .find_map(|option| option.strip_prefix("-Dmaven.repo.local="));
    let home = std::env::home_dir().unwrap_or_default();
    set.map_or_else(|| home.join(".m2/repository"), PathBuf::from)
}

fn names_in(folder: &Path) -> Result<Vec<String>, EnvironmentError> {
    let entries = fs::read_dir(folder).map_err(EnvironmentError::io("reading", folder))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Writes the driver's sources into an environment, and returns the commands that make
/// [`driver_archive`] of them, in their order. `java` is the interpreter, beside which the JDK has
/// its other programs.
///
/// # Errors
/// The environment can't be written to.
pub fn driver_commands(java: &Path, root: &Path) -> Result<[Command; 2], EnvironmentError> {
    let classes = root.join("driver");
    let mut javac = Command::new(java.with_file_name("javac"));
    javac.args(["-encoding", "UTF-8", "-nowarn", "-cp"]);
    javac.arg(format!("{}/{JARS}/*", root.display()));
    javac.arg("-d").arg(&classes);
    for (name, text) in DRIVER {
        let path = root.join(name);
        fs::write(&path, text).map_err(EnvironmentError::io("writing", &path))?;
        javac.arg(path);
    }
    // Classes in a folder can't be among those that are loaded at once.
    let mut jar = Command::new(java.with_file_name("jar"));
    jar.arg("--create")
        .arg("--file")
        .arg(root.join(driver_archive()));
    jar.arg("-C").arg(&classes).arg(".");
    Ok([javac, jar])
}

/// Compiles the driver and, with it, the unchanged project. The baseline reports a project that
/// does not compile.
fn compile(request: &InstallRequest<'_>, root: &Path) -> Result<(), EnvironmentError> {
    let advice = "name archives of JUnit 5.8 or newer, then run this again";
    for mut command in driver_commands(&request.interpreter.path, root)? {
        programs::run(&mut command, request.project, advice)?;
    }
    let class_path = format!("{}/{JARS}/*", root.display());
    let driver = root.join(driver_archive());
    let packages = request.packages;
    let folder = project_folder(packages.file.as_deref(), packages.install.as_deref());
    let folder = joined_path("", folder).unwrap_or_default();
    let also = sibling_sources(request.source, &folder);
    let list = root.join(ALSO);
    fs::write(&list, also.join("\n")).map_err(EnvironmentError::io("writing", &list))?;
    let mut prepare = Command::new(&request.interpreter.path);
    prepare
        // Of other locales, Java reads no names of files beyond ASCII.
        .env("LC_ALL", "C.UTF-8")
        .arg("-cp")
        .arg(format!("{}:{class_path}", driver.display()))
        .arg(MAIN_CLASS)
        .arg(root)
        .arg("--prepare")
        .arg(request.source.join(&folder))
        .args(also.iter().map(|folder| request.source.join(folder)));
    programs::run(&mut prepare, request.project, CHECK_NETWORK)?;
    Ok(())
}

/// Lists what was installed: Java, and each archive with its hash.
fn lines(request: &InstallRequest<'_>, jars: &Path) -> Result<Vec<String>, EnvironmentError> {
    let mut lines = vec![format!("java {}", request.interpreter.version)];
    for name in names_in(jars)? {
        let path = jars.join(&name);
        let bytes = fs::read(&path).map_err(EnvironmentError::io("reading", &path))?;
        lines.push(format!("{name} sha256:{}", sha256_hex(&bytes)));
    }
    lines.sort();
    Ok(lines)
}

/// Java from the search path, with its compiler.
fn java(toolchain: &Toolchain) -> Result<Interpreter, EnvironmentError> {
    let missing = |how_to_get| EnvironmentError::missing("java ≥ 17", "Java projects", how_to_get);
    let mut ask = Command::new(&toolchain.java);
    ask.args(["-XshowSettings:properties", "-version"]);
    let output = programs::capture(&mut ask).map_err(|error| {
        missing(format!(
            "it could not be run ({error}), so install it with its compiler, e.g. your \
             distribution's package `default-jdk-headless`, and put it on the PATH"
        ))
    })?;
    // `java -version` and `-XshowSettings` write to standard error.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let property = |name: &str| {
        said.lines()
            .filter_map(|line| line.trim().split_once(" = "))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    };
    let (Some(home), Some(version)) = (property("java.home"), property("java.version")) else {
        return Err(missing("it gave no version, so install another".to_owned()));
    };
    if !at_least(&version, OLDEST_JAVA) {
        return Err(missing(format!(
            "the one found is {version}, so install a newer one"
        )));
    }
    let home = PathBuf::from(home);
    if !home.join("bin/javac").is_file() {
        return Err(missing(format!(
            "the one found is {version} without its compiler, so install a whole JDK"
        )));
    }
    let mut roots = vec![home.clone()];
    // Distributions keep its settings elsewhere.
    let settings = home.join("conf/security/java.security").canonicalize();
    if let Ok(settings) = settings
        && let Some(folder) = settings.ancestors().nth(2)
    {
        roots.push(folder.to_owned());
    }
    Ok(Interpreter {
        kind: EnvironmentKind::Java,
        path: home.join("bin/java"),
        version,
        roots: beyond_usr(roots),
        platform: property("os.arch").unwrap_or_default(),
    })
}
