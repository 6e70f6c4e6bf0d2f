//! Two runs against each other in Markdown, for a pull request.

use fillrate_engine::store::StoreError;
use fillrate_metrics::hole_metrics;
use fillrate_metrics::metric::PASS_AT_1;

use super::comparison::{ComparedRun, LoadedRun, NamedRun, PassConclusion, RunDifference};

/// The most holes listed of each kind of flip.
const LISTED: usize = 30;

/// Compares the second of two runs with the first: the conclusion, the figures with their paired
/// differences and McNemar's test, and the holes that flip.
///
/// # Errors
/// A run can't be read.
pub fn compare_in_markdown(old: &NamedRun<'_>, new: &NamedRun<'_>) -> Result<String, StoreError> {
    let (old, new) = (LoadedRun::load(old)?, LoadedRun::load(new)?);
    Ok(markdown(&old.compare(None), &new.compare(Some(&old))))
}

fn markdown(first: &ComparedRun, second: &ComparedRun) -> String {
    let (old, new) = (code(&first.context), code(&second.context));
    let PassConclusion {
        conclusion,
        grounds,
    } = PassConclusion::new(second.against_first.get(PASS_AT_1.name), &old, &new);
    let mut text = format!("### {new} against {old}\n\n**{conclusion}**: {grounds}.\n\n");
    text.push_str(&format!(
        "| metric | {old} | {new} | difference | only {old} | only {new} | p |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    ));
    for metric in hole_metrics() {
        let figures = [first, second].map(|run| run.row.metrics.get(metric.name));
        // A metric that one run has no figure for can't be compared.
        let [Some(one), Some(other)] = figures else {
            continue;
        };
        let unit = metric.unit;
        let against = second.against_first.get(metric.name);
        let difference = against.map_or_else(
            || "–".to_owned(),
            |against| unit.format().with_sign().render(&against.difference).line(),
        );
        let [only_first, only_second, p] = test_cells(against);
        text.push_str(&format!(
            "| {} | {} | {} | {difference} | {only_first} | {only_second} | {p} |\n",
            metric.name,
            unit.render(one).line(),
            unit.render(other).line(),
        ));
    }
    text.push_str(
        "\nRates in %, each with its 95 % interval and its n in a number of files, the clusters. The \
         difference is paired, on the holes that both runs have; p is of McNemar's exact test.\n",
    );
    for run in [first, second] {
        if run.row.left_out > 0 {
            text.push_str(&format!(
                "\n{} leaves {} attempts out of every figure: they say nothing about the model.\n",
                code(&run.context),
                run.row.left_out
            ));
        }
    }
    if let Some(flips) = &second.flips {
        text.push_str(&listed(&flips.only_this, &second.context));
        text.push_str(&listed(&flips.only_first, &first.context));
    }
    text
}

fn test_cells(against: Option<&RunDifference>) -> [String; 3] {
    let test = against.and_then(|against| against.mcnemar);
    test.map_or_else(
        || ["–", "–", "–"].map(str::to_owned),
        |test| {
            [
                test.only_first.to_string(),
                test.only_this.to_string(),
                test.p_text(""),
            ]
        },
    )
}

/// The holes that a run alone solves, or solves more often, folded.
fn listed(holes: &[String], run: &str) -> String {
    if holes.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n<details><summary>{} hole{} that {} passes more often</summary>\n\n",
        holes.len(),
        if holes.len() == 1 { "" } else { "s" },
        escaped(run)
    );
    for hole in holes.iter().take(LISTED) {
        text.push_str(&format!("- {}\n", code(hole)));
    }
    if holes.len() > LISTED {
        text.push_str(&format!("- and {} more\n", holes.len() - LISTED));
    }
    text + "\n</details>\n"
}

/// A name as code, in which it ends neither the code nor a table's cell.
pub(super) fn code(name: &str) -> String {
    // A backtick ends the code, and a bar ends the cell of a table.
    let name = name.replace('`', "'").replace('|', "¦");
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("`{name}`")
}

fn escaped(name: &str) -> String {
    let name = name.replace('&', "&amp;").replace('<', "&lt;");
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fillrate_metrics::Estimate;

    use super::*;
    use crate::figures::report_row;

    fn compared(context: &str, difference: Option<Estimate>) -> ComparedRun {
        let against = difference.map(|difference| RunDifference {
            difference,
            mcnemar: None,
        });
        ComparedRun {
            context: context.to_owned(),
            run: context.to_owned(),
            row: report_row("*", "*", &[]),
            no_difference: None,
            against_first: BTreeMap::from_iter(
                against.map(|against| (PASS_AT_1.name.to_owned(), against)),
            ),
            flips: None,
            rounds: Vec::new(),
        }
    }

    #[test]
    fn conclusion_needs_an_interval() {
        let conclude = |bounds: Option<(f64, f64)>| {
            let (low, high) = bounds.unzip();
            let difference = Estimate {
                value: 0.2,
                low,
                high,
                n: 10,
                clusters: Some(if bounds.is_some() { 4 } else { 1 }),
            };
            markdown(&compared("a", None), &compared("b", Some(difference)))
        };
        for (bounds, expected) in [
            (
                None,
                "**Can't tell**: all holes are in one file, so the difference has no interval; \
                 pass@1 of `b` minus that of `a` is +20.0 points ",
            ),
            (
                Some((-0.1, 0.5)),
                "**No difference shown**: pass@1 of `b` minus that of `a` is +20.0 points ",
            ),
            (
                Some((0.1, 0.3)),
                "**`b` passes more often than `a`**: by 20.0 points of pass@1 [10.0, 30.0], n 10 in 4 files",
            ),
        ] {
            let text = conclude(bounds);
            let start = format!("### `b` against `a`\n\n{expected}");
            assert!(text.starts_with(&start), "{text}");
        }
    }

    #[test]
    fn names_cannot_leave_their_place() {
        assert_eq!(code("a`b|c\n# d"), "`a'b¦c # d`");
        let list = listed(&["h".to_owned()], "<b>&x");
        assert!(list.contains("that &lt;b>&amp;x passes"), "{list}");
        let many: Vec<String> = (0..40).map(|at| format!("h{at}")).collect();
        let list = listed(&many, "r");
        assert!(
            list.contains("- and 10 more") && !list.contains("h30"),
            "{list}"
        );
        assert_eq!(listed(&[], "r"), "");
    }
}
