//! Without tests, holes are mined by syntax and completions scored by text, with a folder for all
//! input.

use crate::support::play::{TestDir, holes, run, text};

const AMOUNT_IN_JAVA: &str = "\
package shop.money;

public record Amount(long cents) {
    public static Amount of(long units, int cents) {
        long sum = units * 100 + cents;
        return new Amount(sum);
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

const AMOUNT_IN_CSHARP: &str = "\
namespace Shop.Money;

public record Amount(long Cents)
{
    public static Amount Of(long units, int cents)
    {
        var sum = units * 100 + cents;
        return new Amount(sum);
    }

    public Amount Plus(Amount other)
    {
        var sum = Cents + other.Cents;
        if (sum < Cents && other.Cents > 0)
        {
            throw new OverflowException(\"too much\");
        }
        return new Amount(sum);
    }

    public override string ToString()
    {
        var rest = Math.Abs(Cents % 100);
        return Cents / 100 + \".\" + (rest < 10 ? \"0\" : \"\") + rest;
    }
}
";

#[test]
fn java_is_mined_by_syntax_and_scored_by_text() {
    let dir = TestDir::new();
    let path = "src/main/java/shop/money/Amount.java";
    dir.write(&format!("shop/{path}"), AMOUNT_IN_JAVA);
    dir.write(
        "shop/src/test/java/shop/money/AmountTest.java",
        "class AmountTest {}\n",
    );
    is_mined_and_scored(&dir, "java", path);
}

#[test]
fn csharp_is_mined_by_syntax_and_scored_by_text() {
    let dir = TestDir::new();
    let path = "src/Shop/Money/Amount.cs";
    dir.write(&format!("shop/{path}"), AMOUNT_IN_CSHARP);
    dir.write(
        "shop/src/Shop.Tests/AmountTests.cs",
        "class AmountTests { }\n",
    );
    is_mined_and_scored(&dir, "csharp", path);
}

/// Mines and replays the folder `shop`, which has sources in one file.
fn is_mined_and_scored(dir: &TestDir, language: &str, path: &str) {
    let folder = text(&dir.path("shop"));
    let mined = dir.path("mined.jsonl");
    run(&mut dir.command(&["mine", &folder, "--holes", "6", "-o", &text(&mined)])).exits_with(0);
    let list = ["mutate", &text(&mined), "--corpus", &folder, "--list"];
    let listed = run(&mut dir.command(&list)).exits_with(0);
    assert!(listed.out.lines().count() > 1, "{listed:#?}");
    let mined = holes(&mined);
    assert_eq!(mined.len(), 6);
    for hole in &mined {
        assert_eq!(hole["path"], path);
        assert_eq!(hole["language"], language);
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
