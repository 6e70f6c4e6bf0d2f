//! Java: holes are mined by syntax where tests can't run, and completions are scored by text.

use crate::support::play::{TestDir, holes, run, text};

const MONEY: &str = "package shop.money;

/** A sum of money, in cents. */
public record Amount(long cents) {
    public static Amount of(long units, long cents) {
        return new Amount(units * 100 + cents);
    }

    public Amount plus(Amount other) {
        long sum = cents + other.cents;
        if (sum < cents && other.cents > 0) {
            throw new ArithmeticException(\"too much\");
        }
        return new Amount(sum);
    }

    @Override
    public String toString() {
        long rest = Math.abs(cents % 100);
        return cents / 100 + \".\" + (rest < 10 ? \"0\" : \"\") + rest;
    }
}
";

const TEST: &str = "package shop.money;

class AmountTest {
    void adds() {
        assert Amount.of(1, 50).plus(Amount.of(0, 50)).cents() == 200;
    }
}
";

/// A plain folder needs neither a manifest nor tests that run.
#[test]
fn a_folder_is_mined_by_syntax_and_scored_by_text() {
    let dir = TestDir::new();
    dir.write("shop/src/main/java/shop/money/Amount.java", MONEY);
    dir.write("shop/src/test/java/shop/money/AmountTest.java", TEST);
    let folder = text(&dir.path("shop"));
    let mined = dir.path("mined.jsonl");
    run(&mut dir.command(&["mine", &folder, "--holes", "6", "-o", &text(&mined)])).exits_with(0);
    let mined = holes(&mined);
    assert_eq!(mined.len(), 6);
    for hole in &mined {
        assert_eq!(hole["path"], "src/main/java/shop/money/Amount.java");
        assert_eq!(hole["language"], "java");
    }
    for (model, similarity) in [("reference", 1.0), ("empty", 0.0)] {
        let out = text(&dir.path(model));
        let report = run(&mut dir.command(&[
            "replay", &folder, "--holes", "4", "--model", model, "--out", &out, "--json",
        ]))
        .exits_with(0)
        .json();
        let rows = report["rows"].as_array().expect("a report has rows");
        let row = rows.iter().find(|row| row["project"] == "shop");
        let row = row.unwrap_or_else(|| panic!("{report:#}"));
        assert_eq!(row["holes"], 4, "{row:#}");
        let metrics = &row["metrics"];
        assert_eq!(metrics["em/tokens"]["value"], similarity, "{row:#}");
        assert!(
            metrics
                .get("pass@1")
                .is_none_or(|pass| pass["value"].is_null()),
            "{row:#}"
        );
    }
}
