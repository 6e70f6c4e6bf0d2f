//! The extension for VS Code: packaged, in a real editor in a real browser; and its schema
//! compared with the code.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fillrate_server::configuration::{Profile, TrialUnit};
use fillrate_server::model::Protocol;
use fillrate_server::prompt::FAMILIES;
use fillrate_syntax::CompletionExtent;
use serde_json::{Value, json};

use crate::support::{idioms, pairs, programs};

const SCHEMA: &str = include_str!("../editors/vscode/schema/fillrate.schema.json");
const SETTINGS: &str = include_str!("../server/docs/settings.md");

/// Folder in which the extension is built and tried, and pictures are kept.
fn place() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("vscode")
}

/// A copy of the extension, for this purpose alone, with the packages it is built with, since
/// nothing is built among the sources. `None` if they are unavailable.
fn sources(purpose: &str) -> Option<PathBuf> {
    let packages = programs::install("vscode-extension")?;
    let to = place().join(purpose);
    if to.exists() {
        std::fs::remove_dir_all(&to).unwrap();
    }
    std::fs::create_dir_all(&to).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors/vscode");
    copy(&from, &to);
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let path = from.join("../..").join(licence);
        std::fs::copy(path, to.join(licence)).unwrap();
    }
    std::os::unix::fs::symlink(packages.join("node_modules"), to.join("node_modules")).unwrap();
    Some(to)
}

/// Copies a folder, without build results and installed packages.
fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name();
        if name == "node_modules"
            || name == "dist"
            || path.extension().is_some_and(|it| it == "vsix")
        {
            continue;
        }
        if path.is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// Runs one of the extension's own scripts.
fn run(sources: &Path, script: &[&str]) -> Output {
    let output = Command::new("npm")
        .arg("run")
        .arg("--silent")
        .args(script)
        .current_dir(sources)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "npm run {script:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

#[test]
fn the_extension_passes_types_style_and_unit_tests() {
    let Some(sources) = sources("checked") else {
        return;
    };
    run(&sources, &["check"]);
    run(&sources, &["test"]);
}

#[test]
fn a_package_for_this_platform_has_the_program_in_it() {
    let Some(sources) = sources("with-program") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, says: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho {says}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    let own = write("own", "fillrate 0.1.0");
    run(&sources, &["package", "--", "--out", "own.vsix", &own]);
    let unpacked = folder.path().join("unpacked");
    let status = Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .arg(sources.join("own.vsix"))
        .arg(&unpacked)
        .status()
        .unwrap();
    assert!(status.success());
    let packed = std::fs::read(unpacked.join("extension/bin/fillrate")).unwrap();
    assert_eq!(packed, std::fs::read(&own).unwrap());
    let manifest = std::fs::read_to_string(unpacked.join("extension.vsixmanifest")).unwrap();
    assert!(manifest.contains("TargetPlatform=\"linux-"), "{manifest}");

    let refused = |arguments: &[&str]| {
        let output = Command::new("npm")
            .args(["run", "--silent", "package", "--"])
            .args(arguments)
            .current_dir(&sources)
            .output()
            .unwrap();
        assert!(!output.status.success());
        assert!(!sources.join("bin").exists());
        String::from_utf8(output.stderr).unwrap()
    };
    let other = write("other", "something else");
    let said = refused(&[&other]);
    assert!(said.contains("is not Fillrate"), "{said}");
    let said = refused(&["--target", "linux-arm64"]);
    assert!(
        said.contains("needs the program built for aarch64"),
        "{said}"
    );
}

/// Plays a person in a real editor: `tests/clients/vscode.mjs` with this input, in this folder.
/// Gives what was seen; `None` if a program is unavailable. Fails if the extension writes no log.
fn play(folder: &Path, mut input: Value) -> Option<Value> {
    let tools = programs::install("code-server")?;
    let chromium = programs::install("chromium")?;
    let pictures = place().join("pictures");
    std::fs::create_dir_all(&pictures).unwrap();
    for name in ["extensions", "home"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    let common = json!({
        "tools": tools, "chromium": chromium, "fillrate": env!("CARGO_BIN_EXE_fillrate"),
        "folder": folder, "pictures": pictures, "pairs": pairs::path(), "idioms": idioms::path(),
    });
    let input = input.as_object_mut().unwrap();
    input.extend(common.as_object().unwrap().clone());
    let path = folder.join("input.json");
    std::fs::write(&path, json!(input).to_string()).unwrap();
    let output = Command::new(tools.join("bin/node"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients/vscode.mjs"))
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    assert!(
        output.status.success(),
        "{said}\nSee {}",
        pictures.display()
    );
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Without its module in C++, the editor writes no logs.
    let vscode = tools.join("node_modules/code-server/lib/vscode");
    match vscode.join(LOG_MODULE).is_file() {
        true => assert_eq!(seen["logged"], true, "the extension has no log"),
        false => programs::print_uncaptured("skipped: the editor's logs, it writes none here\n"),
    }
    Some(seen)
}

/// The compiled part of the module by which VS Code writes its logs.
const LOG_MODULE: &str = "node_modules/@vscode/spdlog/build/Release/spdlog.node";

/// With the editor and the package, without a toolchain and without settings. How long it takes is
/// printed: that depends on what else the machine does.
#[test]
fn a_package_gives_ghost_text_without_a_toolchain() {
    let Some(sources) = sources("minute") else {
        return;
    };
    let vsix = sources.join("fillrate.vsix");
    let program = env!("CARGO_BIN_EXE_fillrate");
    let arguments = ["package", "--", "--out", "fillrate.vsix", program];
    run(&sources, &arguments);
    let folder = tempfile::tempdir().unwrap();
    let Some(seen) = play(folder.path(), json!({"vsix": vsix})) else {
        return;
    };
    let seconds = seen["seconds"].as_f64().unwrap();
    programs::print_uncaptured(&format!(
        "ghost text after {seconds:.1} s: {}\n",
        seen["ghost"]
    ));
    let text = |member: &str| seen[member].as_str().unwrap();
    assert_ne!(text("ghost"), "");
    let line = format!("total = {}", text("ghost"));
    assert!(text("accepted").trim_end().ends_with(&line), "{seen:#}");
    assert_eq!(seen["errors"], json!([]));
}

/// The packaged extension, unpacked into a folder of extensions as an editor would.
fn installed(sources: &Path, extensions: &Path) {
    run(sources, &["package", "--", "--out", "fillrate.vsix"]);
    let unpacked = extensions.join("unpacked");
    // A package is a zip file, and Python is there for the demo anyway.
    let status = Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .arg(sources.join("fillrate.vsix"))
        .arg(&unpacked)
        .status()
        .unwrap();
    assert!(status.success());
    let name = "fillrate.fillrate-0.1.0";
    std::fs::rename(unpacked.join("extension"), extensions.join(name)).unwrap();
    std::fs::remove_dir_all(unpacked).unwrap();
}

#[test]
fn a_person_completes_and_explains_in_a_real_editor() {
    let Some(sources) = sources("packaged") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let extensions = folder.path().join("extensions");
    std::fs::create_dir(&extensions).unwrap();
    installed(&sources, &extensions);
    let Some(seen) = play(folder.path(), json!({})) else {
        return;
    };
    let faults: Vec<_> = idioms::all()
        .iter()
        .filter_map(|idiom| idiom.fault(&folder.path().join("work")))
        .collect();
    assert_eq!(faults, Vec::<String>::new());
    for language in pairs::all() {
        language.assert_written(&folder.path().join("work"));
    }

    let line = |member: &str| {
        seen[member]
            .as_str()
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .trim()
    };
    assert_eq!(seen["ghost"], "max(values)");
    assert_eq!(line("accepted"), "highest = max(values)");
    assert_eq!(line("dismissed"), "lowest =");
    assert_eq!(line("word"), "result = compute");
    assert_eq!(line("line"), "result = compute(total, rate)");
    assert_eq!(seen["candidates"], json!(["sum(values)", "len(values)"]));
    assert_eq!(line("second"), "total = len(values)");
    assert_eq!(line("other"), "average = total / count");

    assert_listed(&seen["models"], &["default", "eager", "steady"]);
    assert_listed(&seen["units"], &["request", "session", "day", "pairs"]);
    // Without the setting a trial of a file would go on.
    assert_eq!(seen["trial"], false);
    let explanation = seen["explanation"].as_str().unwrap();
    for part in [
        "Completion at open.py:",
        "qwen2.5-coder-eager",
        "What is offered",
        "max(values)",
    ] {
        assert!(explanation.contains(part), "no “{part}” in {explanation}");
    }
    let explained = seen["explained"].as_str().unwrap();
    for part in [
        "table \"Milliseconds of each step\"",
        "region \"What is offered\"",
        "region \"Prompt: Before the cursor\"",
    ] {
        assert!(explained.contains(part), "no “{part}” in {explained}");
    }
    assert_complaints_are_unfounded(&seen);
    assert_modes(&seen);
    assert_faults(&seen);
    assert_connected(&seen, &folder.path().join("config/fillrate/fillrate.toml"));
    let outline = seen["outline"].as_str().unwrap();
    for part in [
        "combobox \"Span of time\"",
        "table \"Figures by model\"",
        "rowheader",
        "columnheader",
    ] {
        assert!(outline.contains(part), "no “{part}” in {outline}");
    }
    assert!(
        seen["charts"].as_u64().unwrap() >= 1,
        "{}",
        seen["statistics"]
    );
    assert_eq!(seen["errors"], json!([]));
    assert_recorded(&seen["recorded"]);
    assert_eq!(seen["afterNo"], seen["recorded"].as_array().unwrap().len());
}

/// Checks that common complaints about such tools do not apply: see the table in
/// `editors/README.md`.
fn assert_complaints_are_unfounded(seen: &Value) {
    let text = |member: &str| seen[member].as_str().unwrap();
    let head = "def f(values, count):\n    # one\n    # two\n";
    let highest = "    highest = max(values)";
    assert_eq!(
        text("cursors"),
        format!("def f(values, count):\n    # one\n{highest}\n    # two\n{highest}\n")
    );
    assert_eq!(text("taken"), format!("{head}{highest}"));
    assert_eq!(text("undone"), format!("{head}    highest = "));
    assert_eq!(text("taken_back"), format!("{head}    highesty"));
    assert_eq!(seen["askedAfterDeletion"], 0);
    assert_eq!(
        text("pairs").trim_end(),
        format!(
            "{head}    show(values, count)\n    prices = {{'a': 1, 'b': 2}}\n    word = 'hello'"
        )
    );
    assert_eq!(text("renamed"), format!("{head}{highest}"));

    let notebook: Value = serde_json::from_str(text("notebook")).unwrap();
    let cells = notebook["cells"].as_array().unwrap();
    assert_eq!(
        cells[3]["source"],
        json!(["pass\n", "highest = max(values)"]),
        "{notebook:#}"
    );
    let prefix = "values = [1, 2]\n\ncount = len(values)\n\npass\nhighest = ";
    let prompt = text("cellPrompt");
    assert!(
        prompt.contains(&format!("<|fim_prefix|>{prefix}<|fim_suffix|>")),
        "{prompt}"
    );
    let bar = text("cellBar");
    assert!(!bar.contains("are not completed"), "{bar}");
}

/// Checks what was seen without automatic completions, in a snooze and in a language that is off.
fn assert_modes(seen: &Value) {
    for step in [
        "notAutomatic",
        "automatic",
        "late",
        "snoozed5",
        "snoozed30",
        "languageOff",
    ] {
        assert_eq!(seen[step], true, "{step}");
    }
    let by_hand = seen["byHand"].as_str().unwrap();
    assert!(by_hand.ends_with("    highest = max(values)"), "{by_hand}");
    let prose = seen["prose"].as_str().unwrap();
    assert!(
        prose.contains("Switch This Language On or Off") && !prose.contains("languages.markdown"),
        "{prose}"
    );
    // A sentence ends once.
    assert!(!prose.contains(".."), "{prose}");
    // Icons came and went in a bar of one width.
    assert_eq!(seen["bar"]["widths"].as_array().unwrap().len(), 1);
    assert!(seen["bar"]["icons"].as_u64().unwrap() >= 2, "{seen:#}");
}

/// Checks the messages about faults: each once, without the words of the model's server.
fn assert_faults(seen: &Value) {
    for (step, cause, button) in [
        (
            "fault",
            "Fillrate: Model or address is unknown. Check",
            "Pick Model",
        ),
        (
            "otherFault",
            "Fillrate: Access was denied. Check",
            "Enter Key",
        ),
    ] {
        let [message] = seen[step].as_array().unwrap().as_slice() else {
            panic!("{step}: {}", seen[step]);
        };
        let message = message.as_str().unwrap();
        for part in [cause, button, "Open fillrate.toml", "Show Log"] {
            assert!(message.contains(part), "no “{part}” in {message}");
        }
        assert!(!message.contains("BODY"), "{message}");
    }
    assert_eq!(seen["faultsOfOneKind"], 1);
}

/// Checks that a person was led to a model, with its key in no file, and to every setting.
fn assert_connected(seen: &Value, settings: &Path) {
    let text = |member: &str| seen[member].as_str().unwrap();
    assert_listed(&seen["providers"], &["llama.cpp", "Ollama", "Codestral"]);
    assert!(
        text("connected").contains("The family fits"),
        "{}",
        text("connected")
    );
    let table = "\n\n[models.codestral]\nprotocol = \"mistral-fim\"\nurl = ";
    let written = text("written");
    assert!(written.starts_with("use = \"steady\"\n"), "{written}");
    assert!(written.contains(table), "{written}");
    assert!(written.ends_with("\nname = \"codestral-latest\"\nkey_env = \"CODESTRAL_API_KEY\"\n"));
    let after = std::fs::read_to_string(settings).unwrap();
    assert!(after.starts_with(written), "{after}");
    assert_eq!(seen["keyInFiles"], json!([]));
    assert!(
        text("api").ends_with("    highest = max(values)"),
        "{}",
        text("api")
    );
    assert!(
        text("replace").contains("has a model “codestral” already"),
        "{}",
        text("replace")
    );
    assert_eq!(seen["untouched"], true);
    assert!(
        text("noOllama").contains("ollama serve"),
        "{}",
        text("noOllama")
    );
    assert_listed(&seen["ollama"], &["qwen2.5-coder:0.5b-base"]);
    let unanswered = text("unanswered");
    assert!(unanswered.contains("Check model.name"), "{unanswered}");
    assert!(!unanswered.contains("BODY"), "{unanswered}");
    let refused = text("refusedKey");
    assert!(
        refused.contains("refuses the key") && refused.contains("Check the key"),
        "{refused}"
    );
    let fault = text("settingsFault");
    assert!(
        fault.contains("fillrate.toml") && fault.contains("modle"),
        "{fault}"
    );
    let misfits = text("misfits");
    assert!(misfits.contains("3 of 3 holes are not filled"), "{misfits}");
    let table = "name = \"my-own\"\nfamily = \"qwen2.5-coder\"\n";
    assert!(text("family").ends_with(table), "{}", text("family"));
    let page = text("settingsPage");
    assert!(page.contains("(9)\nFillrate"), "{page}");
    assert!(page.contains("Fillrate: Path"), "{page}");
    assert_listed(&seen["suggested"], &["key_env", "family"]);
    let page = text("page");
    assert!(
        page.starts_with("Fillrate for VS Code\n\nCompletes code"),
        "{page}"
    );
    assert!(text("pagePicture").ends_with("/editors/vscode/picture.png"));
}

/// Each of these begins a row of a list.
fn assert_listed(rows: &Value, names: &[&str]) {
    for name in names {
        let mut rows = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row.as_str().unwrap().trim());
        assert!(
            rows.any(|row| row.starts_with(name)),
            "no {name} in {rows:?}"
        );
    }
}

/// Checks that the record has the results of the completions and no code.
fn assert_recorded(recorded: &Value) {
    assert!(!recorded.to_string().contains("values"), "{recorded}");
    let recorded = recorded.as_array().unwrap();
    for one in recorded {
        assert!(one["client"].is_string(), "{one}");
        assert_eq!(one["language"], "python");
        assert_eq!(one["simulated"], false);
        let certainty = &one["shown"]["certainty"];
        assert!(certainty.is_null() || certainty == "estimated", "{one}");
    }
    // In the order of the steps: `max(values)` was read, taken and edited; `len(values)` was the
    // second candidate; `total / count` came from the other model.
    let accepted: Vec<_> = recorded
        .iter()
        .filter(|one| !one["accepted"].is_null())
        .collect();
    let of = |one: &Value| {
        let model = one["model"].as_str().unwrap();
        json!([
            model.rsplit('-').next(),
            one["accepted"]["candidate"],
            one["accepted"]["characters"]
        ])
    };
    assert_eq!(
        accepted.iter().map(|one| of(one)).collect::<Vec<_>>(),
        [
            json!(["steady", 0, 11]),
            json!(["steady", 1, 11]),
            json!(["eager", 0, 13])
        ]
    );
    let shown_ms = accepted[0]["shown"]["ms"].as_f64().unwrap();
    assert!(
        shown_ms >= 900.0,
        "it was shown for longer than {shown_ms} ms"
    );
    let distance = |one: &Value| one["retention"]["2"]["distance"].as_f64().unwrap();
    // Three characters of fourteen were put into it.
    assert!(
        (distance(accepted[0]) - 3.0 / 14.0).abs() < 1e-9,
        "{}",
        accepted[0]
    );
    assert!(distance(accepted[2]).abs() < 1e-9, "{}", accepted[2]);
    let dismissed = |one: &&Value| one["dismissed"] == true && one["shown"]["ms"].is_number();
    assert_eq!(recorded.iter().filter(dismissed).count(), 2);
    // `compute` as a word, then `(total, rate)`, the rest of its line, with the line's end.
    let partly: Vec<_> = recorded.iter().map(|one| &one["partly"]).collect();
    let sum = |member: &str| {
        partly
            .iter()
            .filter_map(|one| one[member].as_u64())
            .sum::<u64>()
    };
    assert_eq!((sum("steps"), sum("characters")), (2, 21), "{partly:?}");
}

/// The settings in a schema's tables under a path, each with its default as the reference page
/// writes it. Tables whose keys are a person's own names have no row.
fn settings(schema: &Value, path: &str, table: &Value, rows: &mut BTreeMap<String, String>) {
    let table = resolved(schema, table);
    let Some(properties) = table["properties"].as_object() else {
        if table["additionalProperties"].is_object() && table.get("default").is_none() {
            return;
        }
        let default = match &table["default"] {
            Value::Null => "none".to_owned(),
            default => format!("`{default}`"),
        };
        rows.insert(path.to_owned(), default);
        return;
    };
    // The languages are a person's own choice.
    let by_language = path == "languages" && table["additionalProperties"]["type"] == "boolean";
    let is_closed = table["additionalProperties"] == false;
    assert!(is_closed || by_language, "{path} takes any key");
    for (key, value) in properties {
        let path = format!("{path}.{key}");
        settings(schema, path.trim_start_matches('.'), value, rows);
    }
}

/// Returns the schema that a schema refers to, or itself.
fn resolved<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let reference = [&part["$ref"], &part["allOf"][0]["$ref"]];
    match reference.into_iter().find_map(Value::as_str) {
        Some(reference) => schema.pointer(reference.trim_start_matches('#')).unwrap(),
        None => part,
    }
}

#[test]
fn the_settings_schema_equals_the_reference_page() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut have = BTreeMap::new();
    settings(&schema, "", &schema, &mut have);
    let rows = SETTINGS
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
            let name = cells.next().unwrap().trim_matches('`');
            (name.to_owned(), cells.next().unwrap().to_owned())
        });
    let expected: BTreeMap<_, _> = rows.collect();
    assert_eq!(have, expected);
    // The named models have the keys of `[model]`.
    let named = resolved(
        &schema,
        &schema["properties"]["models"]["additionalProperties"],
    );
    assert_eq!(named, &schema["definitions"]["model"]);
}

#[test]
fn the_settings_schema_lists_the_values_of_the_code() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let values = |pointer: &str| schema.pointer(pointer).unwrap().clone();
    let extents = [
        CompletionExtent::Line,
        CompletionExtent::Statement,
        CompletionExtent::Block,
        CompletionExtent::Definition,
        CompletionExtent::Anything,
    ];
    let families: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
    for (pointer, expected) in [
        (
            "/definitions/model/properties/protocol",
            json!(Protocol::ALL),
        ),
        ("/definitions/model/properties/family", json!(families)),
        (
            "/properties/context/properties/profile",
            json!(Profile::ALL),
        ),
        ("/properties/cleanup/properties/extent", json!(extents)),
        ("/properties/trial/properties/unit", json!(TrialUnit::ALL)),
    ] {
        assert_eq!(values(&format!("{pointer}/enum")), expected, "{pointer}");
    }
}
