//! Runs outside programs and describes their failures in one sentence.

use std::io;
use std::process::{Command, Output, Stdio};

use super::environment::EnvironmentError;

/// The advice for a client that talks to a registry or a remote.
pub const CHECK_NETWORK: &str =
    "check the network, the pin and the client's own settings, then run this again";

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// [`EnvironmentError::Command`] if it cannot be started or its status is not 0.
pub fn run(
    command: &mut Command,
    project: &str,
    advice: &'static str,
) -> Result<String, EnvironmentError> {
    let output = capture(command);
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(failure(command, project, &output, advice)),
        Err(error) => Err(EnvironmentError::Command {
            project: project.to_owned(),
            command: typed(command),
            message: error.to_string(),
            advice,
        }),
    }
}

/// Runs a command to its end and accepts any exit status.
pub fn capture(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).output()
}

/// The standard output of a program, or how it failed.
pub fn answer(ask: &mut Command) -> Result<String, String> {
    match capture(ask) {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(last_line(&output)),
        Err(error) => Err(error.to_string()),
    }
}

/// The error for a command that ran and failed.
fn failure(
    command: &Command,
    project: &str,
    output: &Output,
    advice: &'static str,
) -> EnvironmentError {
    EnvironmentError::Command {
        project: project.to_owned(),
        command: typed(command),
        message: last_line(output),
        advice,
    }
}

/// Returns the line that most likely gives the reason: the last line of standard error that is not
/// empty, without pip's hints. npm ends with a page of usage and Maven with a page of advice, so of
/// their lines it is the first sentence. If standard error is empty, as Maven's, the line is from
/// standard output.
pub fn last_line(output: &Output) -> String {
    let written = [&output.stderr, &output.stdout].map(|bytes| without_colors(bytes));
    let text = written
        .iter()
        .find(|text| text.contains(char::is_alphanumeric))
        .map_or("", String::as_str);
    let lines = || {
        text.lines()
            .map(str::trim)
            .filter(|line| line.contains(char::is_alphanumeric))
    };
    let sentence = |line: &str| {
        let marks = ["npm error ", "[ERROR] ", "[FATAL] "];
        let said = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
        let field = ["code ", "errno ", "syscall ", "path ", "dest "];
        // Maven announces a list.
        let is_title = said.ends_with(':') && !said.contains(": ");
        let is_field = field.iter().any(|field| said.starts_with(field));
        (!is_field && !is_title).then(|| said.to_owned())
    };
    // pip quotes what a build wrote, and refers to it afterwards.
    let of_build = || {
        let all: Vec<&str> = lines().collect();
        let end = all.iter().position(|line| *line == "[end of output]")?;
        let start = all[..end]
            .iter()
            .rposition(|line| line.contains("lines of output]"));
        let quoted = &all[start.map_or(0, |at| at + 1)..end];
        let is_reason = |line: &&&str| {
            let (name, _) = line.split_once(": ").unwrap_or_default();
            !name.contains(' ') && name.to_lowercase().ends_with("error")
        };
        let reason = quoted.iter().rfind(is_reason).or(quoted.last())?;
        Some((*reason).to_owned())
    };
    let aside = |line: &&str| {
        ["npm ", "note:", "hint:", "[notice]"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    // Git's reason has several lines, and the last of them is only its advice.
    let begins_reason = |line: &str| {
        ["fatal: ", "ERROR: ", "error: ", "remote: "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let of_git = || {
        lines().find(|line| line.starts_with("fatal: "))?;
        let reason: Vec<&str> = lines()
            .skip_while(|line| !begins_reason(line))
            .filter(|line| !aside(line))
            .collect();
        Some(reason.join(" "))
    };
    // Pip's last lines are a list, or where to read on.
    let of_pip = || {
        let mut lines = lines();
        let reason = lines.find_map(|line| line.strip_prefix("ERROR: "))?;
        match reason.ends_with(':') {
            true => Some(format!("{reason} {}", lines.next().unwrap_or_default())),
            false => Some(reason.to_owned()),
        }
    };
    let said = of_git()
        .or_else(of_build)
        .or_else(of_pip)
        .or_else(|| lines().find_map(sentence))
        .or_else(|| lines().rfind(|line| !aside(line)).map(str::to_owned))
        .or_else(|| lines().next_back().map(str::to_owned));
    match said {
        Some(line) => line.trim_end_matches('.').to_owned(),
        None => format!("it wrote nothing and ended with {}", output.status),
    }
}

/// Text without the escape sequences that set colors.
fn without_colors(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    rest.fold(first, |text, part| {
        text + part.strip_prefix('m').unwrap_or(part)
    })
}

/// Returns the command as it could be typed. Long arguments, such as a script, are cut, and of many
/// only the first are shown.
fn typed(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let line = argument.lines().next().unwrap_or_default();
        let short: String = line.chars().take(120).collect();
        let cut = if short.len() < argument.len() {
            "…"
        } else {
            ""
        };
        words.push(format!("{short}{cut}"));
    }
    if words.len() > WORDS_SHOWN {
        words.truncate(WORDS_SHOWN);
        words.push("…".to_owned());
    }
    words.join(" ")
}

/// Number of words of a command that are shown.
const WORDS_SHOWN: usize = 12;

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn output(text: &str) -> Output {
        Output {
            status: std::process::ExitStatus::from_raw(128 << 8),
            stdout: Vec::new(),
            stderr: text.as_bytes().to_vec(),
        }
    }

    #[test]
    fn reasons_of_builds_are_those_that_pip_quotes() {
        let quoted = "  error: subprocess-exited-with-error\n  \n  × Getting requirements to build \
                      wheel did not run successfully.\n  │ exit code: 1\n  ╰─> [4 lines of output]\n\
                      \x20     error: Multiple top-level packages discovered in a flat-layout: ['a', \
                      'b'].\n      \n      To avoid accidental inclusion,\n      setuptools will \
                      not proceed with this build.\n      [end of output]\n  \n  note: This error \
                      originates from a subprocess.\nerror: subprocess-exited-with-error\n\n╰─> See \
                      above for output.\n";
        assert_eq!(
            last_line(&output(quoted)),
            "error: Multiple top-level packages discovered in a flat-layout: ['a', 'b']"
        );
    }

    #[test]
    fn reasons_of_pip_are_its_first_sentences() {
        for (said, reason) in [
            (
                "ERROR: In --require-hashes mode, all must be pinned. These are not:\n    b>=1 from \
                 https://a.b/c.whl\n",
                "In --require-hashes mode, all must be pinned. These are not: b>=1 from \
                 https://a.b/c.whl",
            ),
            (
                "ERROR: Cannot install a and b.\n\nThe conflict is caused by:\n    c\nERROR: \
                 ResolutionImpossible: for help visit https://a.b/\n",
                "Cannot install a and b",
            ),
        ] {
            assert_eq!(last_line(&output(said)), reason);
        }
    }

    #[test]
    fn titles_of_mavens_lists_are_no_reasons() {
        let listed = "[ERROR] Some problems were encountered while processing the POMs:\n\
                      [FATAL] Non-resolvable parent POM for a:b:1: Could not find artifact c:d:pom:7\n";
        assert_eq!(
            last_line(&output(listed)),
            "Non-resolvable parent POM for a:b:1: Could not find artifact c:d:pom:7"
        );
    }

    #[test]
    fn reasons_of_git_are_quoted_whole() {
        let refused = output(
            "Cloning into 'n'...\nERROR: Repository not found.\nfatal: Could not read from remote \
             repository.\n\nPlease make sure you have the correct access rights\nand the \
             repository exists.\n",
        );
        assert_eq!(
            last_line(&refused),
            "ERROR: Repository not found. fatal: Could not read from remote repository. Please make \
             sure you have the correct access rights and the repository exists"
        );
        let hinted = output("hint: try this\nfatal: couldn't find remote ref v9\n");
        assert_eq!(last_line(&hinted), "fatal: couldn't find remote ref v9");
    }
}
