//! Asks several models for the reasons of failures, and counts their votes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use fillrate_language::task::Hole;
use fillrate_metrics::{Estimate, fleiss_kappa};
use fillrate_server::model::ChatQuestion;
use fillrate_verdict::Outcome;
use fillrate_verdict::queue::run_jobs;
use serde::{Deserialize, Serialize};

use super::PlayError;
use super::chat::{self, ChatModel};
use crate::store::{Attempt, Run, context_title};

/// Attempts to annotate, and the judges.
#[derive(Clone, Debug)]
pub struct AnnotationPlan {
    /// The run's folder.
    pub run: PathBuf,
    /// Settings files (.toml) whose models have a chat protocol.
    pub judges: Vec<PathBuf>,
    /// The file with the instructions; `None` for the program's own.
    pub prompt: Option<PathBuf>,
    /// Files of labels that people or other programs gave.
    pub labels: Vec<PathBuf>,
    /// Number of concurrent requests.
    pub threads: usize,
}

/// The information that the model of a failed answer lacked: the classes of MRG-Bench, §5.3 of
/// [its paper](https://arxiv.org/abs/2508.02998).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureLabel {
    /// Purpose of the code.
    What,
    /// Implementation of the purpose.
    How,
}

impl FailureLabel {
    /// Every label, in the order of tables.
    pub const ALL: [Self; 2] = [Self::What, Self::How];

    /// The label in an answer: between `<label>` and `</label>`, the last one.
    fn parse(answer: &str) -> Option<Self> {
        // The last label counts, because a model may quote the instructions before its judgement.
        let (_, rest) = answer.rsplit_once("<label>")?;
        let (label, _) = rest.split_once("</label>")?;
        let label = label.trim().to_lowercase();
        match (label.starts_with("what"), label.starts_with("how")) {
            (true, _) => Some(Self::What),
            (_, true) => Some(Self::How),
            _ => None,
        }
    }
}

/// A label that somebody gave: a line of a file of labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenLabel {
    /// The attempt's key.
    pub attempt: String,
    /// Who gave it.
    pub judge: String,
    /// The label.
    pub label: FailureLabel,
    /// Reason, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A failed answer with its votes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnnotatedAttempt {
    /// The attempt's key.
    pub attempt: String,
    /// The hole's id.
    pub hole: String,
    /// The hole's language.
    pub language: String,
    /// Context that the model was shown.
    pub context: String,
    /// The labels, by judge.
    pub labels: Vec<GivenLabel>,
    /// The label of more than half of the judges; `None` without one.
    pub majority: Option<FailureLabel>,
}

/// Result of annotating.
#[derive(Debug)]
pub struct AnnotationOutcome {
    /// Every failed answer.
    pub attempts: Vec<AnnotatedAttempt>,
    /// The judges, sorted.
    pub judges: Vec<String>,
    /// Fleiss' kappa over the answers that all judges labelled.
    pub kappa: Option<Estimate>,
    /// Reason for which requests failed.
    pub failures: Vec<String>,
}

/// The instructions of the program's own.
pub const PROMPT: &str = "You review code that a model wrote into a repository and that fails the \
repository's tests. You get the code that was expected and the model's code. Decide which \
information the model lacked.\n\nWhat: information on what the code is to do. Without it, the \
code has another function than expected.\nHow: information on how to do it, such as the functions \
and frameworks to use. Without it, the code aims at the right function and implements it wrongly.\n\n\
First compare the two pieces of code and give your reason. Then write the judgement, What or How, \
between <label> and </label>.";

/// Has judges label the failed answers of a run.
///
/// # Errors
/// A file can't be read, a judge can't be asked, or the run has no failed answer.
pub fn run(plan: &AnnotationPlan) -> Result<AnnotationOutcome, PlayError> {
    let run = Run::open(&plan.run)?;
    let identity = run.identity()?;
    let context = context_title(&identity).unwrap_or_default();
    let holes = run.holes()?;
    let failed: Vec<(Attempt, &Hole)> = run
        .attempts()?
        .into_iter()
        .filter(|one| one.repair_round == 0 && one.verdict.outcome == Outcome::Failed)
        .filter_map(|one| {
            let hole = holes.get(&one.hole)?;
            Some((one, hole))
        })
        .collect();
    if failed.is_empty() {
        return Err(PlayError::Empty(format!(
            "{} has no answer that failed its tests, so there is nothing to annotate",
            plan.run.display()
        )));
    }
    let prompt = match &plan.prompt {
        Some(path) => std::fs::read_to_string(path).map_err(PlayError::file(path))?,
        None => PROMPT.to_owned(),
    };
    let mut given = read_labels(plan, &failed)?;
    let judges: Vec<ChatModel> = plan
        .judges
        .iter()
        .map(|path| ChatModel::open(path, 1, "judge"))
        .collect::<Result<_, _>>()?;
    check_names(&judges)?;
    let names = judges.iter().map(|judge| judge.name().to_owned()).collect();
    let (labels, failures) = ask(&judges, &failed, &prompt, plan.threads)?;
    given.extend(labels);
    Ok(count_votes(&failed, names, given, &context, failures))
}

/// Refuses two judges of one name, of which only one would have a vote.
fn check_names(judges: &[ChatModel]) -> Result<(), PlayError> {
    let mut names = BTreeSet::new();
    for judge in judges {
        let name = judge.name();
        if !names.insert(name) {
            return Err(PlayError::Refused(format!(
                "two judges are the model `{name}`, and a model has one vote; leave one of them out"
            )));
        }
    }
    Ok(())
}

/// Reads the labels that were given elsewhere.
fn read_labels(
    plan: &AnnotationPlan,
    failed: &[(Attempt, &Hole)],
) -> Result<Vec<GivenLabel>, PlayError> {
    let known: BTreeSet<&str> = failed.iter().map(|(one, _)| one.key.as_str()).collect();
    let mut labels = Vec::new();
    for path in &plan.labels {
        let text = std::fs::read_to_string(path).map_err(PlayError::file(path))?;
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let refuse = |reason: String| {
                PlayError::Refused(format!("{}, line {}: {reason}", path.display(), index + 1))
            };
            let label: GivenLabel =
                serde_json::from_str(line).map_err(|error| refuse(error.to_string()))?;
            if !known.contains(label.attempt.as_str()) {
                return Err(refuse(format!(
                    "`attempt` is {}, which is no failed answer of the run",
                    label.attempt
                )));
            }
            labels.push(label);
        }
    }
    Ok(labels)
}

fn question(attempt: &Attempt, hole: &Hole, prompt: &str) -> ChatQuestion {
    ChatQuestion {
        instructions: prompt.to_owned(),
        text: format!(
            "Expected code, from {}:\n```{}\n{}\n```\n\nThe model's code:\n```{}\n{}\n```\n",
            hole.path,
            hole.language,
            hole.reference,
            hole.language,
            attempt.completion()
        ),
    }
}

/// Puts every answer to every judge. Returns the labels, and what failed.
fn ask(
    judges: &[ChatModel],
    failed: &[(Attempt, &Hole)],
    prompt: &str,
    threads: usize,
) -> Result<(Vec<GivenLabel>, Vec<String>), PlayError> {
    let runtime = chat::runtime()?;
    let jobs: Vec<(&ChatModel, &Attempt, &Hole)> = failed
        .iter()
        .flat_map(|(attempt, hole)| judges.iter().map(move |judge| (judge, attempt, *hole)))
        .collect();
    let answers: Vec<Result<GivenLabel, String>> = run_jobs(
        &jobs,
        threads,
        || runtime.handle().clone(),
        |runtime, (judge, attempt, hole)| {
            let name = judge.name();
            let answers = judge.ask(runtime, hole, question(attempt, hole, prompt), 0);
            let label = answers.and_then(|answers| {
                let text = answers.into_iter().next().ok_or("no answer")?;
                let label = FailureLabel::parse(&text)
                    .ok_or("the answer has no What or How between <label> and </label>")?;
                Ok(GivenLabel {
                    attempt: attempt.key.clone(),
                    judge: name.to_owned(),
                    label,
                    reason: Some(text),
                })
            });
            Ok::<_, PlayError>(label.map_err(|error| format!("{name}, {}: {error}", hole.id)))
        },
        |_| {},
    )?;
    let (mut labels, mut failures) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(label) => labels.push(label),
            Err(failure) => failures.push(failure),
        }
    }
    Ok((labels, failures))
}

/// Counts the votes of the judges that were asked, `judges`, and of those that gave labels elsewhere.
fn count_votes(
    failed: &[(Attempt, &Hole)],
    mut judges: BTreeSet<String>,
    given: Vec<GivenLabel>,
    context: &str,
    failures: Vec<String>,
) -> AnnotationOutcome {
    // A judge whose requests all failed has no vote and yet is one of them.
    judges.extend(given.iter().map(|label| label.judge.clone()));
    let mut by_attempt: BTreeMap<String, Vec<GivenLabel>> = BTreeMap::new();
    for label in given {
        let labels = by_attempt.entry(label.attempt.clone()).or_default();
        // A judge has one vote: the last one.
        labels.retain(|other| other.judge != label.judge);
        labels.push(label);
    }
    let mut attempts = Vec::new();
    let mut table = Vec::new();
    for (attempt, hole) in failed {
        let mut labels = by_attempt.remove(&attempt.key).unwrap_or_default();
        labels.sort_by(|one, other| one.judge.cmp(&other.judge));
        let votes = FailureLabel::ALL
            .map(|label| labels.iter().filter(|given| given.label == label).count());
        // Fleiss' kappa needs the same number of votes for each answer.
        if labels.len() == judges.len() {
            table.push(votes.to_vec());
        }
        let majority = FailureLabel::ALL
            .into_iter()
            .zip(votes)
            .find(|(_, count)| 2 * count > judges.len());
        attempts.push(AnnotatedAttempt {
            attempt: attempt.key.clone(),
            hole: hole.id.clone(),
            language: hole.language.clone(),
            context: context.to_owned(),
            labels,
            majority: majority.map(|(label, _)| label),
        });
    }
    AnnotationOutcome {
        attempts,
        kappa: fleiss_kappa(&table),
        judges: judges.into_iter().collect(),
        failures,
    }
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::HoleKind;
    use fillrate_verdict::Verdict;

    use super::*;

    #[test]
    fn one_vote_of_three_judges_is_no_majority() {
        let hole = Hole::new("p", "python", "a.py", HoleKind::Line, 0..5, "x = 1\n");
        let attempt = Attempt {
            key: "k".to_owned(),
            hole: hole.id.clone(),
            project: "p".to_owned(),
            model: "m".to_owned(),
            sample: 0,
            repair_round: 0,
            offered: vec!["x = 2".to_owned()],
            overlap: String::new(),
            answered: true,
            latency_ms: 1.0,
            trace: None,
            verdict: Verdict::from_outcome(Outcome::Failed),
        };
        let failed = [(attempt, &hole)];
        let majority = |votes: &[&str]| {
            let given = votes.iter().map(|judge| GivenLabel {
                attempt: "k".to_owned(),
                judge: (*judge).to_owned(),
                label: FailureLabel::How,
                reason: None,
            });
            let judges = ["a", "b", "c"].map(str::to_owned).into();
            let outcome = count_votes(&failed, judges, given.collect(), "", Vec::new());
            assert_eq!(outcome.judges, ["a", "b", "c"]);
            outcome.attempts[0].majority
        };
        assert_eq!(majority(&["b"]), None);
        assert_eq!(majority(&["b", "c"]), Some(FailureLabel::How));
    }

    #[test]
    fn labels_are_read_from_answers() {
        let labels = [
            "It computes another thing. <label>What</label>",
            "<label>x</label> then <label> how to do </label>.",
            "What: the sum",
            "<label>neither</label>",
        ]
        .map(FailureLabel::parse);
        let expected = [
            Some(FailureLabel::What),
            Some(FailureLabel::How),
            None,
            None,
        ];
        assert_eq!(labels, expected);
    }
}
