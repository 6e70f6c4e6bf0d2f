//! What a model is told of the repository: a profile of the server, or a context of a paper.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use fillrate_server::configuration::Profile;

use super::super::CliError;
use super::super::projects::{self, Playable};
use crate::mine::contexts::{Paper, Shown};
use crate::mine::dependencies::Repository;
use crate::task::Hole;

/// What `--context` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// The server looks for windows itself.
    Profile(Profile),
    /// The hole is shown as a paper shows it, and the server is given its windows.
    Paper(Paper),
}

impl Context {
    /// The name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Profile(profile) => profile.name(),
            Self::Paper(paper) => paper.name(),
        }
    }

    /// How the server looks for windows.
    pub(super) fn profile(self) -> Profile {
        match self {
            Self::Profile(profile) => profile,
            Self::Paper(_) => Profile::Given,
        }
    }

    /// The paper's context, where it is one.
    pub(super) fn paper(self) -> Option<Paper> {
        match self {
            Self::Profile(_) => None,
            Self::Paper(paper) => Some(paper),
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Context {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let paper = match name.parse::<Paper>() {
            Ok(paper) => return Ok(Self::Paper(paper)),
            Err(papers) => papers,
        };
        match name.parse::<Profile>() {
            Ok(Profile::Given) => Err(format!(
                "`given` is what the contexts of papers come to the server by: {paper}"
            )),
            Ok(profile) => Ok(Self::Profile(profile)),
            Err(profiles) => Err(format!("{profiles}; {paper}")),
        }
    }
}

/// How each hole is shown to the server, by the paper that shows it and by its id: where none
/// does, with its whole file around it.
///
/// # Errors
/// A project's files can't be read, or a hole is not one of them.
pub(super) fn show(
    papers: &HashSet<Option<Paper>>,
    ready: &[Playable],
    holes: &[(&Hole, &str)],
) -> Result<HashMap<Option<Paper>, HashMap<String, Shown>>, CliError> {
    let mut all: HashMap<_, HashMap<_, _>> = HashMap::new();
    if papers.contains(&None) {
        let shown = all.entry(None).or_default();
        for (hole, contents) in holes {
            let (prefix, suffix) = hole.cut(contents)?;
            let whole = Shown {
                prefix: prefix.to_owned(),
                suffix: suffix.to_owned(),
                windows: Vec::new(),
            };
            shown.insert(hole.id.clone(), whole);
        }
    }
    let papers: Vec<Paper> = papers.iter().copied().flatten().collect();
    for paper in &papers {
        all.insert(Some(*paper), HashMap::new());
    }
    if papers.is_empty() {
        return Ok(all);
    }
    for ready in ready {
        let name = &ready.prepared.project.name;
        let sources = projects::visible_sources(&ready.prepared)?;
        let repository = Repository::new(&sources);
        for (hole, _) in holes.iter().filter(|(hole, _)| hole.project == *name) {
            let Some(file) = ready.files.iter().find(|file| file.path == hole.path) else {
                continue;
            };
            for paper in &papers {
                let shown = paper.show(&repository, file, hole);
                let of_paper = all.entry(Some(*paper)).or_default();
                of_paper.insert(hole.id.clone(), shown);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_profiles_and_papers() {
        assert_eq!("none".parse(), Ok(Context::Profile(Profile::None)));
        assert_eq!(
            "repoexec-small".parse(),
            Ok(Context::Paper(Paper::RepoExecSmall))
        );
        for name in ["given", "repoexec"] {
            let refusal = name.parse::<Context>().expect_err("it is no context");
            assert!(refusal.contains("mrg-folder"), "{refusal}");
        }
    }
}
