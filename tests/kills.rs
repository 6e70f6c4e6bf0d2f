//! Our verdicts on mutants compared with those of cosmic-ray, which runs all tests from the start
//! in a copy of the project: one module of mistune, the mutants that both programs make.
//!
//! The test judges a few, or with `FILLRATE_PEERS=all` each that both have.

use std::collections::BTreeSet;

use crate::support::peers::{Module, cosmic_ray, everything};
use crate::support::play::{TestDir, has_tools};
use crate::support::programs::install;

/// Number of mutants judged, unless all are requested.
const FEW: usize = 8;

#[test]
fn the_same_mutants_are_killed_as_by_cosmic_ray() {
    if !has_tools(&["python3"]) {
        return;
    }
    let Some(python) = install("cosmic-ray") else {
        return;
    };
    let dir = TestDir::new();
    // A short one, so that ours are soon judged, and a long one, of which both have many.
    let (path, most) = match everything() {
        false => ("src/mistune/util.py", FEW),
        true => ("src/mistune/helpers.py", 0),
    };
    let module = Module::prepare(&dir, "corpora/real.toml", "mistune", path);
    let mutants = module.listed(&dir);
    let survivors = module.survivors(&dir, &[]);
    let theirs = cosmic_ray(&python, &dir, &module, &mutants, most);
    let verdicts = theirs["verdicts"].as_array().unwrap();
    println!(
        "{}: ours {}, theirs {}, shared {}, judged {}",
        module.path,
        theirs["ours"],
        theirs["theirs"],
        theirs["shared"],
        verdicts.len()
    );
    assert!(verdicts.len() >= FEW, "{theirs:#}");
    let mut seen = BTreeSet::new();
    for verdict in verdicts {
        let mutant = &mutants[usize::try_from(verdict["index"].as_u64().unwrap()).unwrap()];
        let survives = survivors.contains(mutant["diff"].as_str().unwrap());
        seen.insert(survives);
        // Both count a time-out as no survivor: cosmic-ray as a kill, the program here apart.
        assert_eq!(
            verdict["killed"],
            !survives,
            "{verdict:#}\n{}",
            mutant["diff"].as_str().unwrap()
        );
    }
    if everything() {
        assert_eq!(seen.len(), 2, "of these mutants, none survives or all do");
    }
}
