//! Runs the parts of a replay by a scheduler that is there: what it is given, submitting and
//! following.
//!
//! Every scheduler starts the same command, `fillrate replay … --partition`, with `auto` for the
//! part if its own variables say which that is.

pub mod hyperqueue;
pub mod kubernetes;
pub mod slurm;

use std::path::{Path, PathBuf};

use fillrate_verdict::corpus::shell_word;

use super::PlayError;
use crate::store::{MergedParts, MissingPart, StoreError};

/// A replay by a fleet, and the resources of each part.
#[derive(Clone, Debug)]
pub struct FleetPlan {
    /// This program on the workers.
    pub program: PathBuf,
    /// The corpus's manifest.
    pub corpus: PathBuf,
    /// The tasks file.
    pub tasks: PathBuf,
    /// The folder in which parts run, which their options are relative to; `None` for that of the
    /// image.
    pub start_folder: Option<PathBuf>,
    /// The folder that all parts share.
    pub out: PathBuf,
    /// The folder of the merged run.
    pub run: PathBuf,
    /// The cache that all parts share.
    pub cache: PathBuf,
    /// Number of parts.
    pub parts: u32,
    /// Number of processors of a part.
    pub processors: u16,
    /// Time limit of a part, in minutes.
    pub minutes: u32,
    /// Further options of `replay`.
    pub options: Vec<String>,
}

impl FleetPlan {
    /// The arguments of the command of a part, as `k/n` or `auto`, without the program.
    pub fn arguments(&self, partition: &str) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        let mut arguments = vec![
            "replay".to_owned(),
            text(&self.corpus),
            "--tasks".to_owned(),
            text(&self.tasks),
            "--out".to_owned(),
            text(&self.out),
            "--partition".to_owned(),
            partition.to_owned(),
            "--jobs".to_owned(),
            self.processors.to_string(),
        ];
        arguments.extend(self.options.iter().cloned());
        arguments
    }

    /// The arguments of the commands that print the missing parts and that merge them, without the
    /// program.
    fn merge_arguments(&self) -> [Vec<String>; 2] {
        let text = |path: &Path| path.display().to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (out, run) = (text(&self.out), text(&self.run));
        let jobs = self.processors.to_string();
        [
            words(&["merge", &out, "--missing"]),
            words(&["merge", &out, "-o", &run, "--settle", "--jobs", &jobs]),
        ]
    }

    /// The line of a shell that runs the program.
    fn line(&self, arguments: &[String]) -> String {
        let words = arguments.iter().map(|argument| shell_word(argument));
        let program = shell_word(&self.program.display().to_string());
        std::iter::once(program)
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The line of a shell that runs a part.
    fn replay_line(&self) -> String {
        self.line(&self.arguments("auto"))
    }

    /// The lines of a shell that merge the parts, or print which are missing and fail.
    fn merge_lines(&self) -> String {
        let [missing, merge] = self.merge_arguments().map(|one| self.line(&one));
        format!(
            "# Prints the parts to run again and ends here, if there are any.\n{missing}\n{merge}\n"
        )
    }

    /// The parts to run again; none if the run is whole, also by another division.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn missing_parts(&self) -> Result<Vec<MissingPart>, PlayError> {
        match MergedParts::read(std::slice::from_ref(&self.out)) {
            Ok(merged) => Ok(merged.missing_of(Some(self.parts))),
            // Each part failed before it wrote anything.
            Err(StoreError::NoSegments(_)) => Ok(MissingPart::all(self.parts)),
            Err(error) => Err(error.into()),
        }
    }

    /// The folder of what the scheduler is given and of the parts' output.
    pub fn folder(&self, scheduler: &str) -> PathBuf {
        self.out.join(scheduler)
    }

    /// Writes a file that the scheduler is given, and returns its path.
    fn write_file(&self, scheduler: &str, name: &str, text: &str) -> Result<PathBuf, PlayError> {
        let folder = self.folder(scheduler);
        std::fs::create_dir_all(&folder).map_err(PlayError::file(&folder))?;
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(PlayError::file(&path))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::{Partition, Run};

    pub(super) fn plan() -> FleetPlan {
        FleetPlan {
            program: "/opt/fillrate".into(),
            corpus: "/data/real.toml".into(),
            tasks: "/data/my tasks.jsonl".into(),
            start_folder: Some("/home/me".into()),
            out: "/data/parts".into(),
            run: "/data/run".into(),
            cache: "/data/cache".into(),
            parts: 200,
            processors: 4,
            minutes: 90,
            options: vec!["--model".into(), "it's.toml".into()],
        }
    }

    #[test]
    fn missing_parts_are_all_if_none_began_and_never_of_another_division() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let plan = |parts| FleetPlan {
            out: folder.path().to_owned(),
            parts,
            ..plan()
        };
        let missing = |parts| -> Result<Vec<String>, String> {
            let missing = plan(parts).missing_parts();
            let missing = missing.map_err(|error| error.to_string())?;
            Ok(missing.iter().map(ToString::to_string).collect())
        };
        let never = |part: &str| format!("{part}: it was never begun");
        assert_eq!(missing(2), Ok(vec![never("1/2"), never("2/2")]));
        for (part, parts) in [(1, 2), (1, 4)] {
            let partition = Partition::new(part, parts).expect("it is a part");
            let run = Run::begin_part(folder.path(), partition, &json!({}));
            let run = run.expect("there is room");
            run.set_finished().expect("there is room");
        }
        assert_eq!(missing(2), Ok(vec![never("2/2")]));
        let others = ["2/4", "3/4", "4/4"].map(never).to_vec();
        assert_eq!(missing(4), Ok(others), "the division in two lacks fewer");
        assert_eq!(missing(3), Ok(["1/3", "2/3", "3/3"].map(never).to_vec()));
        let last = Partition::new(2, 2).expect("it is a part");
        let run = Run::begin_part(folder.path(), last, &json!({})).expect("there is room");
        run.set_finished().expect("there is room");
        assert_eq!(missing(4), Ok(Vec::new()), "the division in two is whole");
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(shell_word("--model=a/b.toml"), "--model=a/b.toml");
        assert_eq!(shell_word("a b$c"), "'a b$c'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
        let line = plan().replay_line();
        assert!(line.starts_with("/opt/fillrate replay /data/real.toml --tasks '/data/my tasks"));
        assert!(line.ends_with("--partition auto --jobs 4 --model 'it'\\''s.toml'"));
    }
}
