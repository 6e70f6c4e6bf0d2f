//! Metrics of code's use of its repository.

use std::collections::BTreeSet;

/// The Dependency Invocation Rate of RepoExec, §3 of
/// [its paper](https://arxiv.org/abs/2406.11927): the share of a hole's dependencies whose names
/// are among the identifiers of a completion, from 0 to 1. `None` without dependencies: such a
/// hole counts in no mean.
///
/// A dependency that is named twice counts once.
pub fn dependency_invocation_rate(
    identifiers: &BTreeSet<&str>,
    dependencies: &[String],
) -> Option<f64> {
    let dependencies: BTreeSet<&str> = dependencies.iter().map(String::as_str).collect();
    let invoked = dependencies.intersection(identifiers).count();
    (!dependencies.is_empty()).then(|| invoked as f64 / dependencies.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(identifiers: &[&str], dependencies: &[&str]) -> Option<f64> {
        let names: Vec<String> = dependencies.iter().map(|name| (*name).to_owned()).collect();
        dependency_invocation_rate(&identifiers.iter().copied().collect(), &names)
    }

    #[test]
    fn rate_is_share_of_named_dependencies() {
        assert_eq!(rate(&["a", "f", "g"], &["f", "g"]), Some(1.0));
        assert_eq!(rate(&["a", "f"], &["f", "g"]), Some(0.5));
        assert_eq!(rate(&[], &["f"]), Some(0.0));
        assert_eq!(rate(&["f"], &["f", "f"]), Some(1.0));
        assert_eq!(rate(&["f"], &[]), None);
    }

    proptest! {
        #[test]
        fn more_identifiers_never_lower_the_rate(
            identifiers in prop::collection::vec("[a-d]{1,2}", 0..6),
            more in "[a-d]{1,2}",
            names in prop::collection::vec("[a-d]{1,2}", 1..5),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut all: Vec<&str> = identifiers.iter().map(String::as_str).collect();
            let before = rate(&all, &names).expect("there are names");
            all.push(&more);
            let after = rate(&all, &names).expect("there are names");
            prop_assert!((0.0..=1.0).contains(&before) && after >= before);
        }
    }
}
