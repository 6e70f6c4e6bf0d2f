//! Everyday idioms, which tests of editors have a scripted model write:
//! `tests/clients/idioms.json`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// An idiom that is written at a cursor between two texts.
#[derive(Deserialize)]
pub(crate) struct Idiom {
    name: String,
    file: String,
    before: String,
    after: String,
    answer: String,
    /// Files of which one is right after the accept, without white space at the end.
    right: Vec<String>,
}

/// The file with the idioms.
pub(crate) fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients/idioms.json")
}

/// The idioms.
pub(crate) fn all() -> Vec<Idiom> {
    serde_json::from_str(&std::fs::read_to_string(path()).unwrap()).unwrap()
}

/// Returns the model's answer where a prompt ends its prefix as an idiom does.
pub(crate) fn answer(idioms: &[Idiom], prompt: &str) -> String {
    let before = prompt.split("<|fim_suffix|>").next().unwrap();
    let here = |idiom: &&Idiom| before.ends_with(&format!("<|fim_prefix|>{}", idiom.before));
    let found = idioms.iter().find(here);
    found.map_or_else(String::new, |idiom| idiom.answer.clone())
}

impl Idiom {
    /// Writes the file as it is before the accept.
    pub(crate) fn write(&self, folder: &Path) {
        let text = [&*self.before, &self.after].concat();
        std::fs::write(folder.join(&self.file), text).unwrap();
    }

    /// Returns the file after the accept if it is wrong.
    pub(crate) fn fault(&self, folder: &Path) -> Option<String> {
        let text = std::fs::read_to_string(folder.join(&self.file)).unwrap();
        let is_right = self.right.iter().any(|right| right == text.trim_end());
        (!is_right).then(|| format!("{}: {text:?}", self.name))
    }
}
