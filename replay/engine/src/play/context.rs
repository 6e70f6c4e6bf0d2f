//! The context a model is given: a profile of the server, or a context of a paper.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use fillrate_language::task::Hole;
use fillrate_mine::contexts::{HoleView, PaperContext};
use fillrate_mine::dependencies::DependencyIndex;
use fillrate_mine::written::CodeView;
use fillrate_server::configuration::Profile;
use fillrate_syntax::Language;
use fillrate_syntax::spelling::nearest_clause;

use super::PlayError;
use super::projects::{PlayableProject, visible_sources};
use super::subject::ModelUnderTest;

/// The context that a model is given of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayContext {
    /// The server retrieves windows itself.
    Profile(Profile),
    /// The hole is presented as in a paper, and the server is given its windows.
    Paper(PaperContext),
}

impl ReplayContext {
    /// Returns the server's context profile.
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
            Err(profiles) => {
                let papers: Vec<String> = PaperContext::all().map(|it| it.to_string()).collect();
                let own = Profile::ALL.iter().filter(|it| **it != Profile::Given);
                let own = own.map(|profile| profile.name());
                let known: Vec<&str> = own.chain(papers.iter().map(String::as_str)).collect();
                let nearest = nearest_clause(name, &known);
                Err(format!("{nearest}{profiles}; {paper}"))
            }
        }
    }
}

/// The presentation of holes: in the context of a paper, or in the file in some state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HolePresentation {
    /// As in a paper.
    Paper(PaperContext),
    /// In its file.
    File(CodeView),
}

impl HolePresentation {
    /// The presentation that a subject gets.
    pub(super) fn for_subject(subject: &ModelUnderTest) -> Self {
        subject.paper.map_or(Self::File(subject.view), Self::Paper)
    }
}

/// The holes as they are presented to the server, by id.
pub(super) type PresentedHoles = HashMap<HolePresentation, HashMap<String, HoleView>>;

/// Presents each hole to the server in each of these ways.
///
/// # Errors
/// A project's files can't be read, a hole is not one of them, or a paper's context is not for it.
pub(super) fn present_holes(
    presentations: &HashSet<HolePresentation>,
    projects: &[PlayableProject],
    holes: &[(&Hole, &str)],
) -> Result<PresentedHoles, PlayError> {
    let mut all = PresentedHoles::new();
    let mut papers = Vec::new();
    for presentation in presentations {
        let shown = all.entry(*presentation).or_default();
        let view = match presentation {
            HolePresentation::Paper(paper) => {
                papers.push(*paper);
                continue;
            }
            HolePresentation::File(view) => view,
        };
        for (hole, contents) in holes {
            let (prefix, _) = hole.cut(contents)?;
            let language = Language::for_path(Path::new(&hole.path));
            let in_file = HoleView {
                prefix: prefix.to_owned(),
                suffix: view.suffix(language, contents, &(hole.start.0..hole.end.0)),
                windows: Vec::new(),
            };
            shown.insert(hole.id.clone(), in_file);
        }
    }
    if papers.is_empty() {
        return Ok(all);
    }
    // The index of a project is costly, so all papers share it.
    for project in projects {
        let name = project.name();
        let sources = visible_sources(&project.prepared)?;
        let repository = DependencyIndex::new(&sources);
        for (hole, _) in holes.iter().filter(|(hole, _)| hole.project == name) {
            let file = project.source_file(hole)?;
            for paper in &papers {
                let shown = paper.view(&repository, file, hole);
                let shown = shown.map_err(|error| PlayError::Refused(error.to_string()))?;
                let of_paper = all.entry(HolePresentation::Paper(*paper)).or_default();
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
        let refusal = "edtor"
            .parse::<ReplayContext>()
            .expect_err("it is no context");
        assert!(
            refusal.starts_with("`editor` is the nearest; "),
            "{refusal}"
        );
    }
}
