//! The syntax that decides a hole's category where no word does.

/// A language's kinds of nodes, as tree-sitter names them.
pub struct CategoryRules {
    /// Markup within code: the beginning of its kinds, and what it is called.
    pub markup: Option<(&'static str, &'static str)>,
    /// Syntax that few programs use, and what it is called; the first one found counts.
    pub features: &'static [(&'static str, &'static str)],
    /// Kinds of loops, loops within expressions included.
    pub loops: &'static [&'static str],
}

#[cfg(test)]
mod tests {
    use fillrate_syntax::LANGUAGES;

    use crate::LanguageSupport;

    #[test]
    fn the_kinds_of_syntax_exist() {
        for language in LANGUAGES {
            let rules = LanguageSupport::for_language(language).category;
            let features = rules.features.iter().map(|(kind, _)| kind);
            for kind in features.chain(rules.loops) {
                assert_ne!(
                    language.grammar().id_for_node_kind(kind, true),
                    0,
                    "{} has no node kind {kind}",
                    language.id
                );
            }
        }
    }
}
