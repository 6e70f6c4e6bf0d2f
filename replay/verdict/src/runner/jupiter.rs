//! The runner for Java's tests under JUnit 5.

use std::path::PathBuf;

use fillrate_language::java::environment::{
    BUILT, DRIVER, JARS, LOADED, MAIN_CLASS, also_compiled, driver_archive, project_folder,
};
use fillrate_sandbox::{Bind, Overlay};

use super::framework::{
    Compilation, SandboxView, StartFile, TestFramework, TestIds, UNAVAILABLE_IN_SHARED_PROCESS,
    WarmStart, environment_binds,
};
use super::layout::{REPOSITORY, TRANSFORMED};
use crate::corpus::Prepared;
use crate::corpus::manifest::Project;
use crate::outcome::Evidence;

/// JUnit's launcher, started by a program that compiles the project and reports out of band.
pub(super) struct Jupiter;

/// The environment.
const ENVIRONMENT: &str = "/box/java";

impl TestFramework for Jupiter {
    fn scripts(&self) -> &'static [(&'static str, &'static str)] {
        &DRIVER
    }

    fn sentinels(&self) -> &'static [&'static str] {
        &["assertion", "exception", "nested"]
    }

    fn unavailable_evidence(&self) -> &'static [Evidence] {
        UNAVAILABLE_IN_SHARED_PROCESS
    }

    fn command(&self, prepared: &Prepared) -> (String, Vec<String>) {
        let packages = &prepared.project.environment;
        let folder = project_folder(packages.file.as_deref(), packages.install.as_deref());
        let java = prepared.environment.interpreter.display().to_string();
        let class_path = format!("{ENVIRONMENT}/{}:{ENVIRONMENT}/{JARS}/*", driver_archive());
        let arguments = [
            // It lives for seconds, and leaves no file behind.
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-cp",
            &class_path,
            MAIN_CLASS,
            ENVIRONMENT,
            &format!("--built={TRANSFORMED}"),
            &format!("-C={REPOSITORY}/{folder}"),
        ];
        let also = also_compiled(&prepared.environment.root);
        let also = also.iter().map(|folder| format!("--also={folder}"));
        let arguments = arguments.map(str::to_owned).into_iter().chain(also);
        (java, arguments.collect())
    }

    fn environment(&self, _: &Project) -> Vec<(&'static str, String)> {
        vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("LC_ALL", "C.UTF-8".to_owned()),
        ]
    }
}

impl SandboxView for Jupiter {
    fn binds(&self, prepared: &Prepared) -> Vec<Bind> {
        let driver = driver_archive();
        let mut names = vec![JARS, &driver];
        // It is absent while it is written.
        if prepared.environment.root.join(LOADED).is_file() {
            names.push(LOADED);
        }
        environment_binds(prepared, ENVIRONMENT, &names)
    }

    /// The classes of the unchanged project, over which those of a change are laid. Tests must
    /// not change them.
    fn overlays(&self, prepared: &Prepared) -> Vec<Overlay> {
        let built = prepared.environment.root.join(BUILT);
        // Hidden and ignored files may be classes' resources, so no filter applies.
        let files = ignore::WalkBuilder::new(&built)
            .standard_filters(false)
            .build();
        let inside = files.flatten().filter_map(|entry| {
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let path = entry.path().strip_prefix(&built).ok()?;
            is_file.then(|| path.to_owned())
        });
        let guarded = inside.collect();
        vec![Overlay {
            guarded,
            ..Overlay::new(built, TRANSFORMED)
        }]
    }
}

impl TestIds for Jupiter {
    /// Ids under each package that the class may have: the package is some end of its file's
    /// folder.
    fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        let Some(file) = path.strip_suffix(".java") else {
            return Vec::new();
        };
        let (folder, stem) = file.rsplit_once('/').unwrap_or(("", file));
        let (outermost, inner) = match names.split_first() {
            Some((outermost, inner)) => (outermost.as_str(), inner.join("/")),
            None => (stem, String::new()),
        };
        // The source root is unknown, so each end of the folder may be the package.
        let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        (0..=parts.len())
            .map(|start| {
                let package: String = parts[start..]
                    .iter()
                    .map(|part| format!("{part}."))
                    .collect();
                format!("{package}{outermost}::{inner}")
            })
            .collect()
    }

    fn leave_out(&self, file: &str) -> Option<String> {
        Some(format!("--leave-out={file}"))
    }

    fn compiled_ending(&self) -> Option<&'static str> {
        Some(".java")
    }
}

impl WarmStart for Jupiter {
    fn waits_for_instructions(&self) -> bool {
        true
    }

    fn start_file(&self, prepared: &Prepared) -> Option<StartFile> {
        let written = PathBuf::from("/tmp").join(LOADED);
        let (program, mut arguments) = self.command(prepared);
        arguments.push(format!("--load={}", written.display()));
        Some(StartFile {
            program,
            arguments,
            written,
            kept: prepared.environment.root.join(LOADED),
        })
    }
}

impl Compilation for Jupiter {
    fn compile_checker(&self, prepared: &Prepared) -> Option<(String, Vec<String>)> {
        let (program, mut arguments) = self.command(prepared);
        arguments.push(format!("--check={REPOSITORY}"));
        Some((program, arguments))
    }

    fn compiled_files(&self) -> Option<PathBuf> {
        Some(PathBuf::from(TRANSFORMED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_the_class_in_every_package_it_may_be_of() {
        let names = ["MoneyTest", "Adding", "adds"].map(str::to_owned);
        assert_eq!(
            Jupiter.test_ids("test/shop/MoneyTest.java", &names),
            [
                "test.shop.MoneyTest::Adding/adds",
                "shop.MoneyTest::Adding/adds",
                "MoneyTest::Adding/adds"
            ]
        );
        assert_eq!(Jupiter.test_ids("MoneyTest.java", &[]), ["MoneyTest::"]);
        assert_eq!(Jupiter.test_ids("Money.kt", &names), [""; 0]);
    }
}
