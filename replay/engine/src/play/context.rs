//! The context a model is given: a profile of the server, or a context of a paper.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use fillrate_language::task::Hole;
use fillrate_mine::contexts::{HoleView, PaperContext};
use fillrate_mine::dependencies::DependencyIndex;
use fillrate_server::configuration::Profile;

use super::PlayError;
use super::projects::{PlayableProject, visible_sources};

/// The context that a model is given of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayContext {
    /// The server retrieves windows itself.
    Profile(Profile),
    /// The hole is presented as in a paper, and the server is given its windows.
    Paper(PaperContext),
}

impl ReplayContext {
    /// How the server retrieves windows.
    pub(super) fn profile(self) -> Profile {
        match self {
            Self::Profile(profile) => profile,
            Self::Paper(_) => Profile::Given,
        }
    }

    /// The paper's context; `None` for a profile.
    pub(super) fn paper(self) -> Option<PaperContext> {
        match self {
            Self::Profile(_) => None,
            Self::Paper(paper) => Some(paper),
        }
    }
}

impl fmt::Display for ReplayContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(profile) => formatter.write_str(profile.name()),
            Self::Paper(paper) => paper.fmt(formatter),
        }
    }
}

impl FromStr for ReplayContext {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let paper = match name.parse::<PaperContext>() {
            Ok(paper) => return Ok(Self::Paper(paper)),
            Err(papers) => papers,
        };
        match name.parse::<Profile>() {
            Ok(Profile::Given) => Err(format!(
                "`given` is reserved for the contexts of papers: {paper}"
            )),
            Ok(profile) => Ok(Self::Profile(profile)),
            Err(profiles) => Err(format!("{profiles}; {paper}")),
        }
    }
}

/// Presents each hole to the server: by the paper whose context it is given in, and by the hole's
/// id. Without a paper a hole is presented with its whole file.
///
/// # Errors
/// A project's files can't be read, a hole is not one of them, or a paper's context is not for it.
pub(super) fn present_holes(
    papers: &HashSet<Option<PaperContext>>,
    projects: &[PlayableProject],
    holes: &[(&Hole, &str)],
) -> Result<HashMap<Option<PaperContext>, HashMap<String, HoleView>>, PlayError> {
    let mut all: HashMap<_, HashMap<_, _>> = HashMap::new();
    if papers.contains(&None) {
        let shown = all.entry(None).or_default();
        for (hole, contents) in holes {
            let (prefix, suffix) = hole.cut(contents)?;
            let whole = HoleView {
                prefix: prefix.to_owned(),
                suffix: suffix.to_owned(),
                windows: Vec::new(),
            };
            shown.insert(hole.id.clone(), whole);
        }
    }
    let papers: Vec<PaperContext> = papers.iter().copied().flatten().collect();
    for paper in &papers {
        all.insert(Some(*paper), HashMap::new());
    }
    if papers.is_empty() {
        return Ok(all);
    }
    for project in projects {
        let name = project.name();
        let sources = visible_sources(&project.prepared)?;
        let repository = DependencyIndex::new(&sources);
        for (hole, _) in holes.iter().filter(|(hole, _)| hole.project == name) {
            let file = project.source_file(hole)?;
            for paper in &papers {
                let shown = paper.view(&repository, file, hole);
                let shown = shown.map_err(|error| PlayError::Refused(error.to_string()))?;
                let of_paper = all.entry(Some(*paper)).or_default();
                of_paper.insert(hole.id.clone(), shown);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use fillrate_mine::contexts::MrgContext;

    use super::*;

    #[test]
    fn context_names_are_those_of_profiles_and_papers() {
        assert_eq!("none".parse(), Ok(ReplayContext::Profile(Profile::None)));
        assert_eq!(
            "mrg-none".parse(),
            Ok(ReplayContext::Paper(PaperContext::MrgBench(
                MrgContext::None
            )))
        );
        for name in ["given", "repoexec"] {
            let refusal = name.parse::<ReplayContext>().expect_err("it is no context");
            assert!(refusal.contains("mrg-folder"), "{refusal}");
        }
    }
}
