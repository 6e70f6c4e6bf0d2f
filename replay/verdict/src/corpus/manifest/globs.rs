//! Patterns of files, as a manifest has them.

use std::fmt;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Patterns in the language of a `.gitignore`: one without a slash matches at any depth, `**`
/// crosses folders, a folder includes all of its contents. The last pattern that matches decides,
/// and one that starts with `!` excludes files again. (In a `.gitignore`, no file of an included
/// folder can be excluded; here it can.)
#[derive(Clone, Default)]
pub struct Globs {
    patterns: Vec<String>,
    /// One for each pattern.
    matchers: Vec<Gitignore>,
}

impl Globs {
    /// Compiles patterns.
    ///
    /// # Errors
    /// The index of the first pattern that is none, and why.
    pub fn new(patterns: Vec<String>) -> Result<Self, (usize, String)> {
        let mut matchers = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            // In a `.gitignore`, these are blank lines and comments.
            if pattern.trim().is_empty() || pattern.starts_with('#') {
                return Err((index, "it matches nothing".to_owned()));
            }
            // The root is only stripped from paths that start with it, and ours are relative.
            let mut builder = GitignoreBuilder::new("");
            let matcher = builder
                .add_line(None, pattern)
                .and_then(|builder| builder.build())
                .map_err(|error| (index, error.to_string()))?;
            matchers.push(matcher);
        }
        Ok(Self { patterns, matchers })
    }

    /// Returns true if a file matches. `path` is relative to the repository, with `/` separators.
    pub fn matches(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        let decisive = self.matchers.iter().rev().find_map(|matcher| {
            match matcher.matched_path_or_any_parents(path, false) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            }
        });
        decisive.unwrap_or(false)
    }

    /// The patterns as written in the manifest.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl fmt::Debug for Globs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.patterns.fmt(formatter)
    }
}
