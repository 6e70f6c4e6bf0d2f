//! Java's archives of classes, of which none is installed: tests of Java are not run.

use std::path::Path;

use super::super::environment::{
    EnvironmentError, EnvironmentKind, InstallRequest, Interpreter, NamedText, PackageManager,
    ProgramProbe, Toolchain,
};

/// Archives of classes.
pub(crate) struct Jars;

impl PackageManager for Jars {
    fn kind(&self) -> EnvironmentKind {
        EnvironmentKind::Java
    }

    fn file_key(&self) -> &'static str {
        "pom"
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["pom"]
    }

    fn interpreter_key(&self) -> &'static str {
        "java"
    }

    fn pin_form(&self) -> &'static str {
        "GROUP:ARTIFACT:VERSION"
    }

    /// `GROUP:ARTIFACT:VERSION`
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

    fn interpreter(&self, _: &Toolchain, _: Option<&str>) -> Result<Interpreter, EnvironmentError> {
        Err(not_run("a project in Java"))
    }

    fn probes(&self, _: &Toolchain) -> Vec<ProgramProbe> {
        Vec::new()
    }

    fn requested_files(
        &self,
        project: &str,
        _: &str,
        _: &Path,
    ) -> Result<Vec<NamedText>, EnvironmentError> {
        Err(not_run(project))
    }

    fn binds_interpreter(&self) -> bool {
        true
    }

    fn is_intact(&self, _: &Path) -> bool {
        false
    }

    fn install(
        &self,
        request: &InstallRequest<'_>,
        _: &Path,
    ) -> Result<Vec<String>, EnvironmentError> {
        Err(not_run(request.project))
    }
}

fn not_run(project: &str) -> EnvironmentError {
    EnvironmentError::Unusable {
        project: project.to_owned(),
        message: "tests of Java are not run, so it needs nothing; leave out its `environment`"
            .to_owned(),
    }
}
