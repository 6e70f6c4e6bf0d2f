//! The licence of a repository, from its metadata or the text of its licence.

use std::path::Path;

use serde_json::Value;

/// Returns the licence that a repository's metadata names, else that of its licence's text as an
/// SPDX identifier; `None` if neither is recognized. A file that can't be read is ignored.
pub fn find_license(root: &Path) -> Option<String> {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).ok();
    let declared = [
        read("package.json").and_then(|text| in_package_json(&text)),
        read("pyproject.toml").and_then(|text| in_pyproject(&text)),
        read("setup.cfg").and_then(|text| line_value(&text, &["license"], '=')),
        read("PKG-INFO")
            .and_then(|text| line_value(&text, &["License-Expression", "License"], ':')),
    ];
    let named = declared
        .into_iter()
        .flatten()
        .map(|license| license.trim().to_owned())
        .find(|license| is_name(license));
    named.or_else(|| {
        let mut names: Vec<String> = std::fs::read_dir(root)
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| {
                let name = name.to_lowercase();
                ["license", "licence", "copying", "unlicense"]
                    .iter()
                    .any(|start| name.starts_with(start))
            })
            .collect();
        // The order in which a folder lists its files differs between machines.
        names.sort();
        let known: Vec<&str> = names
            .iter()
            .filter_map(|name| recognize(&read(name)?))
            .collect();
        // Several texts, such as `LICENSE-MIT` and `LICENSE-APACHE`, are a choice.
        (!known.is_empty()).then(|| known.join(" OR "))
    })
}

/// Returns true if metadata names a licence instead of holding or pointing to its text.
fn is_name(license: &str) -> bool {
    (1..=100).contains(&license.len())
        && !license.contains('\n')
        && !license.to_lowercase().starts_with("see ")
        && !license.to_lowercase().starts_with("file:")
        // Setuptools writes this into the metadata of a package without a licence.
        && license != "UNKNOWN"
}

fn in_package_json(text: &str) -> Option<String> {
    let package: Value = serde_json::from_str(text).ok()?;
    let license = &package["license"];
    // Packages of early versions of npm have an object with `type` and `url`.
    let name = license.as_str().or_else(|| license["type"].as_str())?;
    Some(name.to_owned())
}

fn in_pyproject(text: &str) -> Option<String> {
    let project: toml::Table = text.parse().ok()?;
    let own = project.get("project").and_then(|it| it.get("license"));
    let poetry = || project.get("tool")?.get("poetry")?.get("license");
    let license = own.or_else(poetry)?;
    // PEP 621 has a table with `text` or `file` here, and PEP 639 a string.
    let name = license
        .as_str()
        .or_else(|| license.get("text").and_then(toml::Value::as_str))?;
    Some(name.to_owned())
}

/// The value of the first of these keys at the beginning of a line.
fn line_value(text: &str, keys: &[&str], sign: char) -> Option<String> {
    keys.iter().find_map(|key| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(sign)?;
            (name.trim() == *key).then(|| value.trim().to_owned())
        })
    })
}

/// Titles of licences' texts, all words lowercase, each with the licence's identifier.
const TITLES: [(&str, &str); 10] = [
    ("gnu affero general public license version 3", "AGPL-3.0"),
    ("gnu lesser general public license version 3", "LGPL-3.0"),
    ("gnu lesser general public license version 2.1", "LGPL-2.1"),
    ("gnu general public license version 3", "GPL-3.0"),
    ("gnu general public license version 2", "GPL-2.0"),
    ("mozilla public license version 2.0", "MPL-2.0"),
    ("mozilla public license, version 2.0", "MPL-2.0"),
    ("apache license version 2.0", "Apache-2.0"),
    ("apache license, version 2.0", "Apache-2.0"),
    ("eclipse public license - v 2.0", "EPL-2.0"),
];

/// Sentences in the texts of licences without a version, each with the licence's identifier; the
/// first that fits decides.
const SENTENCES: [(&str, &str); 6] = [
    (
        "permission is hereby granted, free of charge, to any person obtaining a copy",
        "MIT",
    ),
    (
        "permission to use, copy, modify, and/or distribute this software",
        "ISC",
    ),
    ("this is free and unencumbered software", "Unlicense"),
    ("neither the name of", "BSD-3-Clause"),
    ("may not be used to endorse or promote", "BSD-3-Clause"),
    (
        "redistribution and use in source and binary forms",
        "BSD-2-Clause",
    ),
];

/// The identifier of a licence's text.
fn recognize(text: &str) -> Option<&'static str> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    // Only the title is searched, as the texts of licences mention other licences.
    let title = words[..words.len().min(40)].join(" ");
    let whole = words.join(" ");
    let titled = TITLES.iter().find(|(says, _)| title.contains(says));
    let spoken = || SENTENCES.iter().find(|(says, _)| whole.contains(says));
    Some(titled.or_else(spoken)?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn license_of(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("there is room");
        }
        find_license(folder.path())
    }

    #[test]
    fn metadata_is_read_before_the_text() {
        let text = "Copyright (c) 2020 A\n\nPermission is hereby granted, free of charge, to any\nperson obtaining a copy\n";
        let of = |name: &'static str, metadata: &'static str| {
            license_of(&[("LICENSE", text), (name, metadata)])
        };
        let expected = |name: &str| Some(name.to_owned());
        assert_eq!(
            of("package.json", r#"{"license": "0BSD"}"#),
            expected("0BSD")
        );
        assert_eq!(
            of(
                "pyproject.toml",
                "[project]\nlicense = { text = \"Zlib\" }\n"
            ),
            expected("Zlib")
        );
        assert_eq!(
            of("pyproject.toml", "[tool.poetry]\nlicense = \"MPL-2.0\"\n"),
            expected("MPL-2.0")
        );
        assert_eq!(
            of(
                "PKG-INFO",
                "Metadata-Version: 2.1\nLicense: Apache 2.0\nLicense-File: LICENSE\n"
            ),
            expected("Apache 2.0")
        );
        assert_eq!(
            of("package.json", r#"{"license": "SEE LICENSE IN LICENSE"}"#),
            expected("MIT")
        );
        assert_eq!(
            of(
                "pyproject.toml",
                "[project]\nlicense = { file = \"LICENSE\" }\n"
            ),
            expected("MIT")
        );
    }

    #[test]
    fn texts_are_recognized() {
        let apache = "                                 Apache License\n                           Version 2.0, January 2004\n";
        let bsd = "Redistribution and use in source and binary forms, with or without\nmodification, are permitted\n";
        let gpl = "GNU GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007\n consider the GNU Lesser General Public License";
        let of = |text| license_of(&[("COPYING", text)]);
        assert_eq!(of(apache).as_deref(), Some("Apache-2.0"));
        assert_eq!(of(bsd).as_deref(), Some("BSD-2-Clause"));
        let three = format!("{bsd} * Neither the name of the holder");
        assert_eq!(
            license_of(&[("LICENCE.txt", &three)]).as_deref(),
            Some("BSD-3-Clause")
        );
        assert_eq!(of(gpl).as_deref(), Some("GPL-3.0"));
        assert_eq!(of("All rights reserved."), None);
        assert_eq!(license_of(&[]), None);
        assert_eq!(
            license_of(&[("LICENSE-APACHE", apache), ("LICENSE-BSD", bsd)]).as_deref(),
            Some("Apache-2.0 OR BSD-2-Clause")
        );
    }
}
