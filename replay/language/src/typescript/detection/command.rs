//! Reads the commands of scripts in a package.json.

use std::collections::BTreeMap;

use super::Package;

/// One command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptCommand {
    /// The variables set for it.
    pub(super) environment: BTreeMap<String, String>,
    /// The program by its plain name, without those that only start or watch it.
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// The script that contains it.
    pub(super) script: String,
}

/// Maximum depth of scripts that call scripts.
const DEPTH: usize = 6;
/// Programs that run the command in their arguments, with their options that have a value.
const WRAPPERS: [(&str, &[&str]); 15] = [
    ("bunx", &["-p", "--package"]),
    (
        "c8",
        &[
            "-r",
            "--reporter",
            "-o",
            "--reports-dir",
            "--report-dir",
            "--include",
            "--exclude",
            "-x",
            "-n",
            "--src",
            "--temp-directory",
            "--lines",
            "--branches",
            "--functions",
            "--statements",
            "--config",
            "-c",
            "--extension",
            "-e",
        ],
    ),
    ("cross-env", &[]),
    ("cross-env-shell", &[]),
    ("dotenv", &["-e", "-v", "-c"]),
    ("dotenvx", &["-f", "--env-file", "-e", "--env"]),
    ("env", &["-u", "--unset", "-C", "--chdir"]),
    ("env-cmd", &["-f", "--file", "-e", "--environments", "-r"]),
    ("exec", &[]),
    ("nice", &["-n"]),
    (
        "nodemon",
        &[
            "-w", "--watch", "-e", "--ext", "-i", "--ignore", "-d", "--delay", "--config",
        ],
    ),
    ("npx", &["-p", "--package"]),
    (
        "nyc",
        &[
            "-r",
            "--reporter",
            "--cwd",
            "-n",
            "--include",
            "-x",
            "--exclude",
            "-i",
            "--require",
            "-e",
            "--extension",
            "-t",
            "--temp-dir",
            "--temp-directory",
            "--report-dir",
            "--nycrc-path",
            "--lines",
            "--branches",
            "--functions",
            "--statements",
            "--cache-dir",
        ],
    ),
    ("time", &["-f", "-o"]),
    ("xvfb-run", &["-s", "--server-args", "-n", "-e", "-f"]),
];
/// Subcommands that run the command after them.
const RUNNING: [(&str, &str); 7] = [
    ("dotenvx", "run"),
    ("npm", "exec"),
    ("pnpm", "dlx"),
    ("pnpm", "exec"),
    ("yarn", "dlx"),
    ("yarn", "exec"),
    ("yarn", "node"),
];
/// Programs that start tests: such a word is not the value of a wrapper's option.
const STARTERS: [&str; 14] = [
    "ava", "bun", "jest", "mocha", "node", "npm", "npx", "pnpm", "tap", "tape", "ts-node", "tsx",
    "vitest", "yarn",
];

/// The commands of a script, with those of the scripts that it calls in their places.
pub(super) fn commands(package: &Package, script: &str) -> Vec<ScriptCommand> {
    let mut found = Vec::new();
    expand(package, script, DEPTH, &BTreeMap::new(), &mut found);
    found
}

/// One step of a script: a command of its own, or a script that it calls.
#[derive(Debug)]
pub(super) struct ScriptStep {
    /// The step as a user would type it at the repository's top.
    pub(super) line: String,
    command: ScriptCommand,
}

impl ScriptStep {
    /// Returns the commands that the step runs.
    pub(super) fn commands(&self, package: &Package) -> Vec<ScriptCommand> {
        let called = called_scripts(package, &self.command);
        if called.is_empty() {
            return vec![self.command.clone()];
        }
        called
            .iter()
            .flat_map(|name| commands(package, name))
            .collect()
    }
}

/// The steps of a script, in its order.
pub(super) fn steps(package: &Package, script: &str) -> Vec<ScriptStep> {
    let text = package.script(script).unwrap_or_default();
    let read = |words: Vec<String>| {
        let command = read_command(words.clone(), script, &BTreeMap::new())?;
        // A step that calls a script is run by npm, which sets the script's own variables and path.
        let called = called_scripts(package, &command);
        let line = match &called[..] {
            [name] => format!("npm run {name}"),
            _ => format!("npx {}", words.join(" ")),
        };
        Some(ScriptStep { line, command })
    };
    split(text).into_iter().filter_map(read).collect()
}

fn expand(
    package: &Package,
    script: &str,
    depth: usize,
    environment: &BTreeMap<String, String>,
    found: &mut Vec<ScriptCommand>,
) {
    let Some(text) = package.script(script) else {
        return;
    };
    for words in split(text) {
        let Some(command) = read_command(words, script, environment) else {
            continue;
        };
        let called = called_scripts(package, &command);
        // Scripts may call each other in a circle, which the depth ends.
        if called.is_empty() || depth == 0 {
            found.push(command);
            continue;
        }
        for name in called {
            expand(package, &name, depth - 1, &command.environment, found);
        }
    }
}

/// The scripts that a command runs.
fn called_scripts(package: &Package, command: &ScriptCommand) -> Vec<String> {
    let mut words = command
        .arguments
        .iter()
        // Options may be before the name of the script.
        .filter(|word| !word.starts_with('-'));
    let known = |name: &str| package.script(name).is_some();
    match command.program.as_str() {
        "npm" | "pnpm" | "yarn" | "bun" | "node-run" => {
            let Some(first) = words.next() else {
                return Vec::new();
            };
            let name = match first.as_str() {
                "run" | "run-script" => words.next(),
                // npm accepts these for `test`.
                "t" | "tst" => return vec!["test".to_owned()],
                _ => Some(first),
            };
            name.into_iter()
                .filter(|name| known(name))
                .cloned()
                .collect()
        }
        "run-s" | "run-p" | "npm-run-all" | "npm-run-all2" => {
            let matching = |pattern: &String| -> Vec<String> {
                match pattern.strip_suffix('*') {
                    Some(start) => package
                        .scripts()
                        .filter(|name| name.starts_with(start))
                        .map(str::to_owned)
                        .collect(),
                    None => vec![pattern.clone()],
                }
            };
            words
                .flat_map(matching)
                .filter(|name| known(name))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// A command from its words: variables, wrappers, program, arguments.
fn read_command(
    mut words: Vec<String>,
    script: &str,
    environment: &BTreeMap<String, String>,
) -> Option<ScriptCommand> {
    let mut environment = environment.clone();
    let mut wrapper: Option<(&str, &[&str])> = None;
    // What nyc has the processes that it starts load, which is the runner's to load without it.
    let mut loaded: Vec<String> = Vec::new();
    let mut after_option = false;
    loop {
        let word = words.first()?.clone();
        let name = program_name(&word);
        let starter = |word: &String| STARTERS.contains(&program_name(word).as_str());
        if let Some((variable, value)) = assignment(&word) {
            // Only a shell can expand a value with `$`.
            if !value.contains('$') {
                environment.insert(variable.to_owned(), value.to_owned());
            }
            words.remove(0);
        } else if word.starts_with('-') {
            // An option of the wrapper before it.
            let (option, joined) = match word.split_once('=') {
                Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
                None => (word.clone(), None),
            };
            let (named, options) = wrapper.unwrap_or(("", &[]));
            // The next word is the value only of an option that takes one and has none after `=`.
            let has_value = joined.is_none() && options.contains(&option.as_str());
            let value = joined.or_else(|| words.get(1).filter(|_| has_value).cloned());
            if named == "nyc" && ["-i", "--require"].contains(&option.as_str()) {
                loaded.extend(value);
            }
            words.drain(..(1 + usize::from(has_value)).min(words.len()));
            after_option = !has_value && word != "--";
            continue;
        } else if let Some((named, known)) = WRAPPERS.iter().find(|(it, _)| *it == name) {
            wrapper = Some((named, known));
            let runs = |word: &String| RUNNING.contains(&(*named, word.as_str()));
            let also = words.get(1).is_some_and(runs);
            words.drain(..1 + usize::from(also));
        } else if let Some(running) = words.get(1)
            && RUNNING.contains(&(name.as_str(), running.as_str()))
        {
            // In `yarn node FILE`, `node` is the program itself.
            let skipped = if running == "node" { 1 } else { 2 };
            words.drain(..skipped);
            wrapper = None;
        } else if let Some(at) = words.iter().position(starter)
            && after_option
            && at > 0
        {
            // An option that is not listed has a value.
            words.drain(..at);
        } else {
            words.remove(0);
            // Only these runners take `--require`.
            if ["mocha", "node", "_mocha"].contains(&name.as_str()) {
                let options = loaded
                    .into_iter()
                    .flat_map(|it| ["--require".to_owned(), it]);
                words.splice(0..0, options);
            }
            return Some(ScriptCommand {
                environment,
                program: name,
                arguments: words,
                script: script.to_owned(),
            });
        }
        after_option = false;
    }
}

/// The name of a program without its folder and ending: `node_modules/mocha/bin/_mocha` is mocha.
pub(super) fn program_name(word: &str) -> String {
    // A program may be named by its path, such as `node_modules/mocha/bin/_mocha`.
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name
        .split_once(".js")
        .or(name.split_once(".mjs"))
        .or(name.split_once(".cjs"))
        .map_or(name, |(name, _)| name);
    // A version, as npx has it.
    let name = name
        .split_once('@')
        .filter(|(name, _)| !name.is_empty())
        .map_or(name, |(name, _)| name);
    name.trim_start_matches('_').to_owned()
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}

/// Splits a shell's text into commands and these into words, without quotes.
fn split(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            // In single quotes, a backslash is a character like any other.
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                // An empty pair of quotes is an empty word.
                word.get_or_insert_default();
            }
            (None, ';' | '&' | '|' | '\n' | '(' | ')') => {
                let last = commands.len() - 1;
                commands[last].extend(word.take());
                commands.push(Vec::new());
            }
            (None, c) if c.is_whitespace() => {
                let last = commands.len() - 1;
                commands[last].extend(word.take());
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    let last = commands.len() - 1;
    commands[last].extend(word);
    // `&&` and `||` leave an empty command between their two signs.
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_as_a_shell_does() {
        assert_eq!(
            split(r#"a 'b c' "d \" e"&&f\ g; h"#),
            [vec!["a", "b c", "d \" e"], vec!["f g"], vec!["h"]]
        );
    }

    #[test]
    fn programs_have_plain_names() {
        for (word, name) in [
            ("./node_modules/mocha/bin/_mocha", "mocha"),
            ("node_modules/jest/bin/jest.js", "jest"),
            ("vitest@3", "vitest"),
            ("@scope/x", "x"),
        ] {
            assert_eq!(program_name(word), name);
        }
    }
}
