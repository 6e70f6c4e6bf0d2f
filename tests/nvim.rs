//! Our plugin in a real Neovim, driven by keys, with the events that end up in the store.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::editor::ScriptedModel;
use crate::support::idioms;
use crate::support::pairs;
use crate::support::play;
use crate::support::programs;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A person's machine: a project, settings and a home of its own.
struct Machine {
    neovim: PathBuf,
    folder: tempfile::TempDir,
}

impl Machine {
    /// `None` if Neovim is unavailable.
    fn new(settings: &str) -> Option<Self> {
        let neovim = programs::install("neovim")?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let machine = Self { neovim, folder };
        let telemetry = format!(
            "\n[telemetry]\npath = {:?}\nretention_s = [1, 2]\n",
            machine.store()
        );
        std::fs::write(machine.settings(), settings.to_owned() + &telemetry).unwrap();
        Some(machine)
    }

    /// A machine whose server asks a model at each key, without a wait and not ahead.
    fn asking_at_once(scripted: &ScriptedModel) -> Option<Self> {
        Self::new(&(scripted.settings() + "[typing]\nwait_ms = 0\nahead = false\n"))
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("settings.toml")
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("telemetry.db")
    }

    /// Runs a subcommand on the store and returns its output.
    fn fillrate(&self, command: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_fillrate"))
            .args(command)
            .arg("--store")
            .arg(self.store())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the completions in the store, in the order of their requests.
    fn completions(&self) -> Vec<Value> {
        self.fillrate(&["telemetry", "export"])
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["record"] == "completion")
            .collect()
    }

    /// Writes a file of the project.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join("project").join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs a script of `tests/clients/nvim`, and returns its output.
    fn play(&self, script: &str, arguments: &[&str]) -> String {
        let home = |name: &str| self.folder.path().join(name);
        let output = Command::new(&self.neovim)
            .arg("-l")
            .arg(root().join("tests/clients/nvim").join(script))
            .arg(env!("CARGO_BIN_EXE_fillrate"))
            .arg(self.settings())
            .args(arguments)
            .env("XDG_STATE_HOME", home("state"))
            .env("XDG_DATA_HOME", home("data"))
            .env("XDG_CONFIG_HOME", home("config"))
            .env("XDG_CACHE_HOME", home("cache"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        said
    }
}

/// A model that completes a few beginnings of lines, and nothing else.
fn scripted() -> ScriptedModel {
    ScriptedModel::new(Duration::ZERO, |prompt| {
        let before = prompt.split("<|fim_suffix|>").next().unwrap();
        let going_on = match before.rsplit('\n').next().unwrap() {
            "    b" => " = a + 1\n    g = b",
            "    c" => "ount = total(a)",
            "    d" => " = 1\n    e = 2\n    g = 3",
            "    l" => " = 1\n\n    m = 2\n    n = 3",
            "    t" => " = 1\t# one",
            "    x" => "yz = 4",
            "    s = \"ä€😀\"; x" => "yz = '…'\n    y = 55",
            _ => "",
        };
        going_on.to_owned()
    })
}

/// Everything that can be done with ghost text, and the resulting records.
fn journey(display: &str) {
    let model = scripted();
    let settings = model.settings() + "[typing]\nwait_ms = 0\nahead = false\n";
    let Some(machine) = Machine::new(&settings) else {
        return;
    };
    let file = machine.write("open.py", "def f(a):\n");
    machine.play("journey.lua", &[file.to_str().unwrap(), display, "3500"]);
    let prompts = model.prompts.lock().unwrap();
    let snoozed = prompts.iter().find(|prompt| prompt.contains("# snoozed"));
    assert_eq!(snoozed, None);

    let completions = machine.completions();
    let accepted: Vec<_> = completions
        .iter()
        .filter(|one| one["accepted"].is_object())
        .collect();
    let sizes: Vec<_> = accepted
        .iter()
        .map(|one| one["accepted"]["characters"].as_u64().unwrap())
        .collect();
    let length = |text: &str| Some(text.len() as u64);
    assert_eq!(
        sizes.first().copied(),
        length(" = a + 1\n    g = b"),
        "{sizes:?}"
    );
    assert_eq!(sizes.last().copied(), length("yz = 4"), "{sizes:?}");
    let by_neovim = usize::from(display == "core");
    let whole = sizes
        .iter()
        .filter(|size| Some(**size) == sizes.first().copied());
    assert_eq!(whole.count(), 1 + by_neovim, "{sizes:?}");
    for one in &accepted {
        assert_eq!(one["shown"]["certainty"], "confirmed", "{one:#}");
        assert!(one["shown"]["ms"].as_f64().unwrap() > 0.0, "{one:#}");
        assert_eq!(one["client"], "Neovim", "{one:#}");
        assert_eq!(one["language"], "python", "{one:#}");
    }
    // The last one is unchanged when the clocks of a second and two have run out.
    for horizon in ["1", "2"] {
        let left = &accepted.last().unwrap()["retention"][horizon];
        assert_eq!(left["distance"], 0.0, "{left:#}");
        assert_eq!(left["removed"], false, "{left:#}");
    }
    // Two words and two lines; what is taken after them is accepted, or one more part.
    let (steps, characters) = completions.iter().fold((0, 0), |(steps, characters), one| {
        (
            steps + one["partly"]["steps"].as_u64().unwrap_or(0),
            characters + one["partly"]["characters"].as_u64().unwrap_or(0),
        )
    });
    let least = "ount".len() + " =".len() + " = 1".len() + "\n    e = 2".len();
    assert!(steps >= 4, "{completions:#?}");
    assert!(characters >= least as u64, "{completions:#?}");
    // By the key, by Escape and by CTRL-C.
    let dismissed: Vec<_> = completions
        .iter()
        .filter(|one| one["dismissed"] == true)
        .collect();
    assert_eq!(dismissed.len(), 3, "{completions:#?}");
    for one in dismissed {
        assert_eq!(one["shown"]["certainty"], "confirmed", "{one:#}");
        assert!(one["shown"]["ms"].as_f64().is_some(), "{one:#}");
    }
}

#[test]
fn ghost_text_of_neovim_is_accepted_dismissed_and_recorded() {
    journey("core");
}

#[test]
fn ghost_text_of_the_plugin_is_accepted_dismissed_and_recorded() {
    journey("own");
}

#[test]
fn commands_help_and_health_print_what_they_document() {
    let models = "[model]\nprotocol = \"embedded\"\n\
                  [models.plain]\nprotocol = \"embedded\"\nmax_tokens = 4\n\
                  [models.wild]\nprotocol = \"embedded\"\ntemperature = 2.0\n\
                  [typing]\nwait_ms = 0\n";
    let Some(machine) = Machine::new(models) else {
        return;
    };
    let bodies = [
        "width * height",
        "width + height",
        "max(width, height)",
        "width - height",
        "abs(width)",
        "len(items)",
    ];
    let text: String = bodies
        .iter()
        .enumerate()
        .map(|(number, body)| {
            format!("def area_{number}(width, height):\n    total = {body}\n    return total\n\n")
        })
        .collect();
    let file = machine.write("open.py", &text);
    let said = machine.play("commands.lua", &[file.to_str().unwrap()]);
    let windows: Value = serde_json::from_str(&said).unwrap();
    for window in ["stats", "days"] {
        let table = windows[window].as_str().unwrap();
        assert!(table.contains("acceptance/shown"), "{table}");
        assert!(table.contains("wild"), "{table}");
    }
    // The purge was the last word.
    assert_eq!(machine.completions(), Vec::<Value>::new());
}

/// Whatever asks for ghost text or keeps it away; what a menu's source gives is recorded as
/// accepted, and what is accepted in parts as one completion.
#[test]
fn ghost_text_comes_by_hand_and_gives_way_to_switches_and_menus() {
    let settings = scripted().settings() + "[typing]\nwait_ms = 0\nahead = false\n";
    let Some(machine) = Machine::new(&settings) else {
        return;
    };
    let file = machine.write("open.py", "def f(a):\n");
    machine.play("modes.lua", &[file.to_str().unwrap()]);
    let length = " = a + 1\n    g = b".len();
    let accepted = |one: &&Value| one["accepted"]["characters"] == length;
    let completions = machine.completions();
    assert_eq!(completions.iter().filter(accepted).count(), 1);
    let parts = " = 1\n\n    m = 2\n    n = 3".len();
    let partly = |one: &&Value| {
        one["accepted"].is_null()
            && one["partly"]["steps"] == 3
            && one["partly"]["characters"] == parts
    };
    assert_eq!(
        completions.iter().filter(partly).count(),
        1,
        "{completions:#?}"
    );
}

#[test]
fn a_wrong_setup_is_reported_in_one_sentence() {
    let Some(machine) = Machine::new("") else {
        return;
    };
    let file = machine.write("open.py", "");
    let program = |name: &str, says: &str| {
        let path = machine.folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho {says}\n")).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    };
    let (old, other) = (program("old", "fillrate 0.0.9"), program("other", "hello"));
    let arguments = [&file, &old, &other].map(|path| path.to_str().unwrap());
    machine.play("faults.lua", &arguments);
}

/// The result of a person who filled thirty holes during a trial of two models.
struct Filled {
    machine: Machine,
    /// The folder of the project's sources, as they were.
    sources: PathBuf,
    /// Counts that the person made.
    counts: Value,
    /// The trial in the statistics.
    trial: Value,
}

/// A person empties holes, takes what is right of what two models complete there, and refuses the
/// rest. Both are the
/// embedded model; `short` may write three tokens.
fn thirty_holes(unit: &str) -> Option<Filled> {
    let models = format!(
        "[models.whole]\nprotocol = \"embedded\"\n\
         [models.short]\nprotocol = \"embedded\"\nmax_tokens = 3\n\
         [trial]\nmodels = [\"short\", \"whole\"]\nunit = \"{unit}\"\n\
         [typing]\nwait_ms = 0\nahead = false\nafter_deletion = true\n\
         [cleanup]\nextent = \"line\"\n"
    );
    let machine = Machine::new(&models)?;
    let project = machine.folder.path().join("project");
    let sources = root().join("corpora/demo-python");
    play::copy(&sources, &project);
    let said = machine.play("thirty.lua", &[project.to_str().unwrap()]);
    let statistics = machine.fillrate(&["telemetry", "stats", "--json"]);
    let statistics: Value = serde_json::from_str(&statistics).unwrap();
    let filled = Filled {
        counts: serde_json::from_str(&said).unwrap(),
        trial: statistics["trial"].clone(),
        machine,
        sources,
    };
    let table = filled.machine.fillrate(&["telemetry", "stats"]);
    programs::print_uncaptured(&format!("by {unit}: {}\n{table}", filled.counts));
    Some(filled)
}

impl Filled {
    /// A count of the person's.
    fn counted(&self, name: &str) -> u64 {
        self.counts[name].as_u64().unwrap()
    }

    /// A count of the statistics, of both models together.
    fn noted(&self, name: &str) -> u64 {
        let arms = self.trial["arms"].as_array().unwrap();
        arms.iter().map(|arm| arm[name].as_u64().unwrap()).sum()
    }

    /// Fails if the store or its export has a line of the sources or the name of one of them.
    fn assert_no_code_is_kept(&self) {
        let export = self.machine.fillrate(&["telemetry", "export"]);
        assert!(export.lines().count() as u64 >= self.counted("shown"));
        let mut kept = export.into_bytes();
        for ending in ["", "-wal"] {
            let path = format!("{}{ending}", self.machine.store().display());
            kept.extend(std::fs::read(path).unwrap_or_default());
        }
        // The conversion replaces bytes that are not text and keeps the text around them.
        let kept = String::from_utf8_lossy(&kept);
        let holds = |text: &str| kept.contains(text);
        assert!(holds("Neovim"), "nothing was found in the store at all");
        let mut searched = 0;
        for path in play::files(&self.sources.join("src")) {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(!holds(name), "the store has the name {name}");
            let text = std::fs::read_to_string(self.sources.join("src").join(&path)).unwrap();
            for line in text.lines().map(str::trim).filter(|line| line.len() >= 10) {
                searched += 1;
                assert!(!holds(line), "the store has {line:?}");
            }
        }
        assert!(searched > 500, "{searched} lines were looked for");
    }
}

#[test]
fn choices_at_thirty_holes_identify_the_better_model() {
    let Some(filled) = thirty_holes("pairs") else {
        return;
    };
    let strength = |name: &str, bound: &str| {
        let estimate = &filled.trial["strengths"][name];
        estimate[bound].as_f64().unwrap()
    };
    assert!(
        strength("whole", "low") > strength("short", "high"),
        "{:#}",
        filled.trial
    );
    // Where both complete alike there is one candidate, and no choice.
    let chosen = filled.noted("accepted");
    assert!(
        chosen > 0 && chosen <= filled.counted("taken"),
        "{:#}",
        filled.trial
    );
    filled.assert_no_code_is_kept();
}

#[test]
fn turns_at_thirty_holes_are_reported_as_they_happened() {
    let Some(filled) = thirty_holes("request") else {
        return;
    };
    // Ghost text that arrived after the person left was on the screen anyway.
    assert!(
        filled.noted("shown") >= filled.counted("shown"),
        "{:#}",
        filled.trial
    );
    assert_eq!(
        filled.noted("accepted"),
        filled.counted("taken"),
        "{:#}",
        filled.trial
    );
    let difference = &filled.trial["differences"][0];
    let of = |name: &str| difference["difference"][name].as_f64().unwrap();
    assert!(
        of("low") < of("value") && of("value") < of("high"),
        "{difference:#}"
    );
    // Either the interval says which is better, or how many more are needed, if any.
    let clear = of("low") > 0.0 || of("high") < 0.0;
    assert_eq!(difference["clear"], clear, "{difference:#}");
    assert!(
        clear || of("value") == 0.0 || difference["shown_needed"].as_u64() > Some(0),
        "{difference:#}"
    );
    filled.assert_no_code_is_kept();
}

#[test]
fn accepted_text_fits_between_closed_pairs_after_a_rename_and_beside_a_menu() {
    let scripted = ScriptedModel::new(Duration::ZERO, |prompt| {
        let before = prompt.split("<|fim_suffix|>").next().unwrap();
        let going_on = match before.rsplit('\n').next().unwrap() {
            "    print(" => "'hello', name)",
            "    prices = {" => "'a': 1, 'b': 2}",
            "    word = '" => "hello'",
            "    p" => "rint(word)",
            "    b" => " = a + 1",
            "    answer = 1" => "00",
            "    undo" => " = 1 + 2",
            "    one = " => "1",
            _ => "",
        };
        going_on.to_owned()
    });
    let Some(machine) = Machine::asking_at_once(&scripted) else {
        return;
    };
    let file = machine.write("open.py", "def f(a):\n");
    let renamed = machine.folder.path().join("project/renamed.py");
    let arguments = [&file, &renamed].map(|path| path.to_str().unwrap());
    machine.play("complaints.lua", &arguments);
    assert_eq!(
        std::fs::read_to_string(renamed).unwrap(),
        "def f(a):\n    print('hello', name)\n    prices = {'a': 1, 'b': 2}\n    \
         word = 'hello'\n    print(word)\n    answer = 100\n    undo\n    one = 1\n    \
         two = 1\n    b = a + 1\n"
    );
    let asked = |line: &str| {
        let end = format!("\n{line}<|fim_suffix|>");
        let prompts = scripted.prompts.lock().unwrap();
        prompts.iter().any(|prompt| prompt.contains(&end))
    };
    assert!(asked("    answer = 1"));
    assert!(!asked("    answer = 4") && !asked("    answer = "));
}

#[test]
fn everyday_idioms_are_accepted_right() {
    let idioms = idioms::all();
    let scripted = ScriptedModel::new(Duration::ZERO, |prompt| {
        idioms::answer(&idioms::all(), prompt)
    });
    let Some(machine) = Machine::asking_at_once(&scripted) else {
        return;
    };
    let folder = machine.folder.path().join("project");
    for idiom in &idioms {
        idiom.write(&folder);
    }
    let arguments = [&folder, &idioms::path()].map(|path| path.to_str().unwrap().to_owned());
    machine.play("idioms.lua", &arguments.each_ref().map(String::as_str));
    let faults = idioms.iter().filter_map(|idiom| idiom.fault(&folder));
    assert_eq!(faults.collect::<Vec<_>>(), Vec::<String>::new());
}

/// As plugins that close pairs do; what they close, the model closes as well.
#[test]
fn pairs_are_closed_once_in_every_language() {
    let languages = pairs::all();
    let scripted = ScriptedModel::new(Duration::ZERO, |prompt| {
        pairs::completion(&pairs::all(), prompt)
    });
    let Some(machine) = Machine::asking_at_once(&scripted) else {
        return;
    };
    let folder = machine.folder.path().join("project");
    let arguments = [&folder, &pairs::path()].map(|path| path.to_str().unwrap().to_owned());
    machine.play("pairs.lua", &arguments.each_ref().map(String::as_str));
    for language in &languages {
        language.assert_written(&folder);
    }
}

#[test]
fn the_picture_shows_what_a_person_sees() {
    let scripted = ScriptedModel::new(Duration::ZERO, |prompt| {
        let before = prompt.split("<|fim_suffix|>").next().unwrap();
        let ghost = "net = sum(item.price * item.count for item in basket)\n    \
                     return net + tax(net, rates)";
        if before.ends_with("\n    ") {
            ghost
        } else {
            ""
        }
        .to_owned()
    });
    let settings = scripted.settings() + "[typing]\nwait_ms = 0\n";
    let Some(machine) = Machine::new(&settings) else {
        return;
    };
    let file = machine.write(
        "basket.py",
        "\"\"\"Prices of what is in a basket.\"\"\"\n\n\n\
         def tax(amount, rates):\n    return amount * rates[\"standard\"]\n",
    );
    let drawn = machine.play("picture.lua", &[file.to_str().unwrap()]);
    let committed = root().join("editors/nvim/picture.svg");
    if std::fs::read_to_string(&committed).ok().as_ref() != Some(&drawn) {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvim.svg");
        std::fs::write(&path, &drawn).unwrap();
        panic!(
            "{} is not what the screen looks like now: look at {}, and put it in its place",
            committed.display(),
            path.display()
        );
    }
}

/// Installs on a machine with nothing but Neovim.
#[test]
fn a_tarball_installs_program_manual_completions_and_plugin() {
    let Some(neovim) = programs::install("neovim") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let packed = run(Command::new(root().join("replay/tarball"))
        .arg(env!("CARGO_BIN_EXE_fillrate"))
        .arg(folder.path()));
    let prefix = folder.path().join("prefix");
    std::fs::create_dir(&prefix).unwrap();
    run(Command::new("tar")
        .args(["--strip-components=1", "-xzf", packed.trim(), "-C"])
        .arg(&prefix));
    let version = run(Command::new(prefix.join("bin/fillrate")).arg("--version"));
    assert!(version.starts_with("fillrate "), "{version}");
    for (path, holds) in [
        ("man/man1/fillrate.1", "fillrate\\-serve(1)"),
        ("man/man1/fillrate-serve.1", "LSP"),
        ("bash-completion/completions/fillrate", "_fillrate"),
        ("zsh/site-functions/_fillrate", "#compdef fillrate"),
        (
            "fish/vendor_completions.d/fillrate.fish",
            "complete -c fillrate",
        ),
    ] {
        let text = std::fs::read_to_string(prefix.join("share").join(path)).unwrap();
        assert!(text.contains(holds), "{path} holds no {holds}");
    }
    let loaded = run(Command::new(neovim)
        .args(["--headless", "-c", "lua require('fillrate').setup()"])
        .args(["-c", "lua vim.wait(9000, function() return #vim.fn.getcompletion('fillrate-keys', 'help') > 0 end)"])
        .args(["-c", "help fillrate-keys", "-c", "lua io.stdout:write(vim.fn.expand('%:t'))"])
        .args(["-c", "quitall!"])
        .env("HOME", folder.path())
        .env("PATH", format!("{}/bin:/usr/bin:/bin", prefix.display()))
        .env("XDG_DATA_HOME", prefix.join("share"))
        .env_remove("XDG_CONFIG_HOME"));
    assert_eq!(loaded, "fillrate.txt");
}

#[test]
fn the_lua_is_formatted_and_passes_its_linter() {
    let folders = ["editors/nvim", "tests/clients/nvim"].map(|folder| root().join(folder));
    for (program, arguments) in [
        (
            "stylua",
            ["--check", "--config-path", "stylua.toml"].as_slice(),
        ),
        (
            "luacheck",
            ["--no-color", "--config", ".luacheckrc"].as_slice(),
        ),
    ] {
        let Some(path) = programs::install(program) else {
            continue;
        };
        let output = Command::new(path)
            .args(arguments)
            .args(&folders)
            .current_dir(root().join("editors/nvim"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
