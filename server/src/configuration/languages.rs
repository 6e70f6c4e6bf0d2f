//! The switch of each language: completions are offered only in documents of the enabled ones.

use std::collections::BTreeMap;

/// Name of the setting for every language without its own setting.
const EVERY: &str = "*";

/// Protocol identifiers of prose and data, where completions are off by default, each with the
/// names that editors use for it.
pub const SWITCHED_OFF: &[(&str, &[&str])] = &[
    ("asciidoc", &["asciidoctor"]),
    ("bibtex", &["bib"]),
    ("csv", &[]),
    ("diff", &["patch"]),
    ("dotenv", &["env"]),
    (
        "git-commit",
        &[
            "gitcommit",
            "scminput",
            "commit",
            "neogitcommitmessage",
            "jjdescription",
            "hgcommit",
        ],
    ),
    ("git-rebase", &["gitrebase"]),
    ("json", &["json5", "jsonc", "jsonl"]),
    ("latex", &["plaintex", "tex"]),
    ("log", &[]),
    ("mail", &["email"]),
    ("markdown", &["md", "pandoc", "quarto", "rmd"]),
    ("org", &[]),
    ("plaintext", &["help", "plain", "text", "txt"]),
    ("properties", &[]),
    ("restructuredtext", &["rst"]),
    ("tsv", &[]),
];

/// True if completions are offered in documents of a language: by its own setting, else by that of
/// its protocol identifier, else not in prose and data, else by the setting `*`.
pub(super) fn offers(settings: &BTreeMap<String, bool>, id: &str) -> bool {
    let id = id.to_lowercase();
    let set = |name: &str| {
        let mut settings = settings.iter();
        settings
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, offers)| *offers)
    };
    let canonical = SWITCHED_OFF
        .iter()
        .find(|(name, others)| *name == id || others.contains(&id.as_str()))
        .map(|(name, _)| *name);
    set(&id)
        .or_else(|| canonical.map(|name| set(name).unwrap_or(false)))
        .or_else(|| set(EVERY))
        .unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_setting_precedes_prose_and_data_and_those_precede_the_rest() {
        let settings = |pairs: &[(&str, bool)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(name, offers)| ((*name).to_owned(), *offers))
                .collect::<BTreeMap<_, _>>()
        };
        let none = settings(&[]);
        for id in [
            "markdown",
            "text",
            "JSON",
            "jsonc",
            "gitcommit",
            "git-commit",
        ] {
            assert!(!offers(&none, id), "{id}");
        }
        for id in ["python", "rust", "yaml", "", "typescriptreact"] {
            assert!(offers(&none, id), "{id}");
        }
        let some = settings(&[("*", false), ("markdown", true), ("go", true)]);
        assert!(offers(&some, "markdown") && offers(&some, "rmd") && offers(&some, "go"));
        assert!(!offers(&some, "python") && !offers(&some, "json"));
        let all = settings(&[("*", true), ("python", false)]);
        assert!(!offers(&all, "markdown") && !offers(&all, "python") && offers(&all, "go"));
    }
}
