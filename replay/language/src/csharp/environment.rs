//! Packages of .NET, of which none is installed: tests of C# are not run.

use std::path::Path;

use super::super::environment::{
    EnvironmentError, EnvironmentKind, EnvironmentRules, InstallRequest, InstalledPackages,
    Interpreter, NamedText, PackageManager, ProgramProbe, Toolchain,
};

/// The registry of .NET.
pub(super) struct Nuget;

impl PackageManager for Nuget {
    fn rules(&self) -> &'static EnvironmentRules {
        &EnvironmentRules {
            kind: EnvironmentKind::Dotnet,
            file_key: "csproj",
            own_keys: &["csproj", "dotnet"],
            interpreter_key: "dotnet",
            pin_form: "NAME/VERSION",
            binds_interpreter: true,
        }
    }

    fn parse_pin(&self, pin: &str) -> Option<(String, String)> {
        let (name, version) = pin.split_once('/')?;
        Some((name.to_owned(), version.to_owned()))
    }

    fn interpreter(&self, _: &Toolchain, _: Option<&str>) -> Result<Interpreter, EnvironmentError> {
        Err(not_run("a project in C#"))
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

    fn is_intact(&self, _: &Path) -> bool {
        false
    }

    fn install(
        &self,
        request: &InstallRequest<'_>,
        _: &Path,
    ) -> Result<InstalledPackages, EnvironmentError> {
        Err(not_run(request.project))
    }
}

fn not_run(project: &str) -> EnvironmentError {
    EnvironmentError::Unusable {
        project: project.to_owned(),
        message: "tests of C# are not run, so it needs nothing; leave out its `environment`"
            .to_owned(),
    }
}
