//! Lines whose brackets and quotes the editor closes, in every language:
//! `tests/clients/pairs.json`.

use std::path::{Path, PathBuf};

use fillrate_syntax::Language;
use serde::Deserialize;

/// The lines of one language, and the file that they are written into.
#[derive(Deserialize)]
pub(crate) struct PairedLines {
    language: String,
    file: String,
    /// Text above the lines.
    head: String,
    /// Text below the lines.
    tail: String,
    lines: Vec<Line>,
}

/// Beginning of a line, up to the opening bracket or quote; the model's completion; the buffer
/// after its acceptance; and the text that the person types next.
type Line = (String, String, String, String);

/// The file with the lines of every language.
pub(crate) fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients/pairs.json")
}

/// The lines of every language.
pub(crate) fn all() -> Vec<PairedLines> {
    serde_json::from_str(&std::fs::read_to_string(path()).unwrap()).unwrap()
}

/// Returns the model's completion, before the opening bracket or quote of a line and after it.
pub(crate) fn completion(languages: &[PairedLines], prompt: &str) -> String {
    let before = prompt.split("<|fim_suffix|>").next().unwrap();
    let line = before.rsplit('\n').next().unwrap().trim_start();
    let language = languages.iter().find(|one| before.contains(&one.head));
    let lines = language.map_or(&[][..], |language| &language.lines);
    lines
        .iter()
        .find_map(|(beginning, rest, ..)| {
            let (above, opening) = beginning.split_at(beginning.len() - 1);
            (line == beginning)
                .then(|| rest.clone())
                .or_else(|| (line == above).then(|| format!("{opening}{rest}")))
        })
        .unwrap_or_default()
}

impl PairedLines {
    /// Fails unless the files in a folder have the lines as they should be, which is correct code:
    /// those of the lines whose opening bracket or quote was typed before ghost text came, and
    /// over it. Indentation is the editor's.
    pub(crate) fn assert_written(&self, folder: &Path) {
        for way in ["after", "over"] {
            let name = format!("{way}-{}", self.file);
            let text = std::fs::read_to_string(folder.join(&name)).unwrap();
            self.assert_are_lines(&name, &text);
        }
    }

    fn assert_are_lines(&self, name: &str, text: &str) {
        let lines = self.lines.iter();
        let wanted: String = lines
            .map(|(_, _, written, rest)| format!("{written}{rest}\n"))
            .collect();
        let wanted = format!("{}{wanted}{}", self.head, self.tail);
        let trimmed = |text: &str| -> Vec<String> {
            let lines = text.lines().map(str::trim);
            let lines = lines.filter(|line| !line.is_empty());
            lines.map(str::to_owned).collect()
        };
        assert_eq!(trimmed(text), trimmed(&wanted), "{name}");
        let language = Language::by_id(&self.language).unwrap();
        assert!(language.parses(text), "{name}: {text}");
    }
}
