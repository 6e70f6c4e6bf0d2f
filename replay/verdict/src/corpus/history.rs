//! The times at which the lines of a project changed, from its git history.

use std::path::{Path, PathBuf};
use std::process::Output;

use fillrate_language::task::is_day;

use super::git;
use super::manifest::{Project, SourcePin};

/// The git history of a project's own folder.
pub struct LineHistory {
    git: PathBuf,
    folder: PathBuf,
    /// The file of the repository that lists commits that only format, if it has one.
    formatting_commits: Option<PathBuf>,
}

/// Reasons why the times of a project's lines are unknown.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The source is no folder of a repository.
    #[error(
        "`{project}` has no git history, so --since can't tell when its lines changed; name a \
         folder of a git repository, or leave the option out"
    )]
    Absent {
        /// The project's name.
        project: String,
    },
    /// The repository lacks older commits, to which it would attribute older lines.
    #[error(
        "{} lacks older commits, so --since can't tell when its lines changed; run `git fetch \
         --unshallow` there",
        folder.display()
    )]
    Shallow {
        /// The project's folder.
        folder: PathBuf,
    },
    /// Neither a date nor a revision.
    #[error(
        "--since `{given}` is neither a date, such as 2026-03-01, nor a revision of {}",
        folder.display()
    )]
    Unknown {
        /// The date or revision as it was given.
        given: String,
        /// The project's folder.
        folder: PathBuf,
    },
    /// Git can't be run, or refuses.
    #[error("git can't tell when the lines of {} changed: {reason}", folder.display())]
    Git {
        /// The project's folder.
        folder: PathBuf,
        /// Its own message.
        reason: String,
    },
}

/// Name by which `git blame` calls the commit of lines that are in none.
const NO_COMMIT: &[u8] = b"0000000000000000000000000000000000000000 ";

/// The file that by convention lists commits that only format, for `git blame`.
const FORMATTING_COMMITS: &str = ".git-blame-ignore-revs";

impl LineHistory {
    /// Opens the history of a project's folder.
    ///
    /// # Errors
    /// The source is no folder in a git repository, or its history is cut off.
    pub fn open(git: &Path, project: &Project) -> Result<Self, HistoryError> {
        let absent = || HistoryError::Absent {
            project: project.name.clone(),
        };
        let SourcePin::Path(folder) = &project.source else {
            return Err(absent());
        };
        let mut history = Self {
            git: git.to_owned(),
            folder: folder.clone(),
            formatting_commits: None,
        };
        let found = history.run(&["rev-parse", "--is-shallow-repository", "--verify", "HEAD"])?;
        if !found.status.success() {
            return Err(absent());
        }
        if text(&found.stdout).starts_with("true") {
            return Err(HistoryError::Shallow {
                folder: folder.clone(),
            });
        }
        // The project may be a folder of its repository, at whose top the file is.
        let top = history.run(&["rev-parse", "--show-toplevel"])?;
        let top = Path::new(text(&top.stdout).trim_end_matches('\n')).join(FORMATTING_COMMITS);
        history.formatting_commits = Some(top).filter(|file| file.is_file());
        Ok(history)
    }

    /// Returns the time of a date (YYYY-MM-DD, at its beginning in UTC) or of a revision's commit,
    /// in seconds since 1970.
    ///
    /// # Errors
    /// It is neither.
    pub fn time(&self, given: &str) -> Result<i64, HistoryError> {
        let unknown = || HistoryError::Unknown {
            given: given.to_owned(),
            folder: self.folder.clone(),
        };
        let (output, prefix) = if is_day(given) {
            // `git rev-parse --since=DATE` prints the date's time as `--max-age=SECONDS`.
            let since = format!("--since={given}T00:00:00Z");
            (self.run(&["rev-parse", &since])?, "--max-age=")
        } else {
            let commit = format!("{given}^{{commit}}");
            // After `--end-of-options`, a revision that begins with a hyphen is no option.
            let shown = ["show", "--no-patch", "--format=%at", "--end-of-options"];
            (self.run(&[&shown[..], &[&commit]].concat())?, "")
        };
        let said = text(&output.stdout);
        let seconds = said.trim().strip_prefix(prefix);
        seconds
            .filter(|_| output.status.success())
            .and_then(|seconds| seconds.parse().ok())
            .ok_or_else(unknown)
    }

    /// Returns the commit that is checked out.
    ///
    /// # Errors
    /// Git can't be run.
    pub fn head(&self) -> Result<String, HistoryError> {
        let output = self.run(&["rev-parse", "HEAD"])?;
        Ok(text(&output.stdout).trim().to_owned())
    }

    /// Returns the times at which the lines of a file were written, in seconds since 1970, in the
    /// lines' order: `None` for a line of no commit, and no lines for a file of none. Moves within
    /// the file, white space and commits listed in `.git-blame-ignore-revs` are no changes.
    ///
    /// # Errors
    /// Git can't be run.
    pub fn line_times(&self, path: &str) -> Result<Vec<Option<i64>>, HistoryError> {
        let mut arguments = vec!["blame", "--line-porcelain", "-w", "-M"];
        let formatting = self.formatting_commits.as_ref();
        if let Some(file) = formatting.and_then(|file| file.to_str()) {
            arguments.extend(["--ignore-revs-file", file]);
        }
        arguments.extend(["--", path]);
        let output = self.run(&arguments)?;
        if !output.status.success() {
            let reason = text(&output.stderr);
            if reason.contains("no such path") {
                return Ok(Vec::new());
            }
            return Err(self.failed(reason.trim()));
        }
        let mut times = Vec::new();
        let mut is_committed = true;
        // The file's own lines begin with a tab. Before each are the line of its commit, and others
        // that begin with a word.
        for line in output.stdout.split(|byte| *byte == b'\n') {
            if line.starts_with(NO_COMMIT) {
                is_committed = false;
            } else if let Some(time) = line.strip_prefix(b"author-time ") {
                let time = text(time).trim().parse().ok();
                times.push(time.filter(|_| std::mem::replace(&mut is_committed, true)));
            }
        }
        Ok(times)
    }

    fn run(&self, arguments: &[&str]) -> Result<Output, HistoryError> {
        git::command(&self.git, &self.folder)
            // Git would fail on a configured list that is missing.
            .args(["-c", "blame.ignoreRevsFile="])
            .args(arguments)
            // Its messages are recognised.
            .env("LC_ALL", "C")
            .output()
            .map_err(|error| self.failed(&error.to_string()))
    }

    fn failed(&self, reason: &str) -> HistoryError {
        HistoryError::Git {
            folder: self.folder.clone(),
            reason: reason.to_owned(),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::corpus::manifest::Manifest;

    fn git(folder: &Path, time: i64, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs(
                ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"]
                    .map(|name| (name, format!("@{time} +0000"))),
            )
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "{output:?}");
    }

    fn project(folder: &Path) -> Project {
        let text = "schema = 1\n[[project]]\nname = \"a\"\nlanguage = \"python\"\nsource = { path = \".\" }\nholes = [\"*.py\"]\n";
        let manifest = Manifest::parse(text, &folder.join("m.toml")).expect("it is well-formed");
        manifest.projects.into_iter().next().expect("there is one")
    }

    /// 2026-03-01 at noon.
    const NOON: i64 = 1_772_366_400;

    #[test]
    fn lines_have_the_times_of_their_newest_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, program) = (folder.path(), Path::new("git"));
        let opened = LineHistory::open(program, &project(root));
        assert!(matches!(opened, Err(HistoryError::Absent { .. })));

        let write =
            |name: &str, text: &str| std::fs::write(root.join(name), text).expect("it is written");
        git(root, 0, &["init", "--quiet"]);
        write("old.py", "a = 1\nb = 2\nc = 3\n");
        git(root, NOON - 86_400, &["add", "."]);
        git(root, NOON - 86_400, &["commit", "--quiet", "-m", "First"]);
        git(root, NOON, &["mv", "old.py", "new.py"]);
        git(root, NOON, &["commit", "--quiet", "-m", "Rename"]);
        write("new.py", "a = 1\nb = 5\n    c = 3\n");
        git(
            root,
            NOON,
            &["commit", "--quiet", "-am", "Change and indent"],
        );
        write("new.py", "a = 1\nb = 5\n    c = 3\nd = 6\n");
        write("other.py", "d = 4\n");

        let history = LineHistory::open(program, &project(root)).expect("it has a history");
        let times = history.line_times("new.py").expect("git runs");
        let day_before = Some(NOON - 86_400);
        assert_eq!(times, [day_before, Some(NOON), day_before, None]);
        assert_eq!(history.line_times("other.py").expect("git runs"), []);
        assert_eq!(history.time("2026-03-01").expect("a date"), NOON - 43_200);
        assert_eq!(history.time("HEAD").expect("a revision"), NOON);
        for unknown in ["yesterday", "2026-3-1", "--all"] {
            let error = history.time(unknown).expect_err("it is neither");
            assert!(error.to_string().contains("neither a date"), "{error}");
        }
    }

    // The file is at the top of the repository, and the project may be a folder of it.
    #[test]
    fn formatting_commits_are_those_of_the_whole_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let (top, root) = (folder.path(), folder.path().join("package"));
        std::fs::create_dir(&root).expect("a folder");
        git(top, 0, &["init", "--quiet"]);
        for (time, text) in [(1, "a = 1\n"), (2, "a  =  f(1)\n")] {
            std::fs::write(root.join("a.py"), text).expect("it is written");
            git(top, time, &["add", "."]);
            git(top, time, &["commit", "--quiet", "-m", "Commit"]);
        }
        let open = || LineHistory::open(Path::new("git"), &project(&root)).expect("it has one");
        let times = || open().line_times("a.py").expect("git runs");
        assert_eq!(times(), [Some(2)]);
        let newest = open().head().expect("git runs");
        std::fs::write(top.join(FORMATTING_COMMITS), newest).expect("it is written");
        assert_eq!(times(), [Some(1)]);
    }

    #[test]
    fn histories_that_are_cut_off_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("all");
        std::fs::create_dir(&root).expect("a folder");
        git(&root, 0, &["init", "--quiet"]);
        for time in [1, 2] {
            std::fs::write(root.join("a.py"), format!("a = {time}\n")).expect("it is written");
            git(&root, time, &["add", "."]);
            git(&root, time, &["commit", "--quiet", "-m", "Commit"]);
        }
        let url = format!("file://{}", root.display());
        git(
            folder.path(),
            0,
            &["clone", "--quiet", "--depth", "1", &url, "part"],
        );
        let opened = LineHistory::open(Path::new("git"), &project(&folder.path().join("part")));
        assert!(matches!(opened, Err(HistoryError::Shallow { .. })));
    }
}
