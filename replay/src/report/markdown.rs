//! Two runs against each other in Markdown, for a pull request.

use super::comparison::{COMPARED, ComparedRun, Comparison, McNemar, RunDifference};
use fillrate_metrics::{FigureText, Metric};

/// The most holes listed of each kind of flip.
const LISTED: usize = 30;

/// The level at which a difference is called one.
const LEVEL: f64 = 0.05;

impl Comparison {
    /// The second run against the first: the conclusion, the figures with their paired differences
    /// and McNemar's test, and the holes that flip. `None` unless there are two runs.
    pub fn markdown(&self) -> Option<String> {
        let [first, second] = self.contexts.as_slice() else {
            return None;
        };
        let (old, new) = (code(&first.context), code(&second.context));
        let mut text = format!(
            "### {new} against {old}\n\n{}\n\n",
            conclusion(first, second)
        );
        text.push_str(&format!(
            "| metric | {old} | {new} | difference | only {old} | only {new} | p |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        ));
        for metric in COMPARED {
            let figures = [first, second].map(|run| run.row.metrics.get(metric));
            let [Some(one), Some(other)] = figures else {
                continue;
            };
            let unit = Metric::unit_of(metric);
            let cell = |figure: FigureText| {
                format!("{} {} {}", figure.value, figure.interval, figure.size())
            };
            let against = second.against_first.get(metric);
            let difference = against.map_or_else(
                || "–".to_owned(),
                |against| cell(unit.format().with_sign().render(&against.difference)),
            );
            let [only_first, only_second, p] = test_cells(against);
            text.push_str(&format!(
                "| {metric} | {} | {} | {difference} | {only_first} | {only_second} | {p} |\n",
                cell(unit.render(one)),
                cell(unit.render(other)),
            ));
        }
        text.push_str(
            "\nRates in %, each with its 95 % interval and its n in so many files, its clusters. The \
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
        Some(text)
    }
}

/// The first line: which run passes more often, if any.
fn conclusion(first: &ComparedRun, second: &ComparedRun) -> String {
    let Some(against) = second.against_first.get("pass@1") else {
        return "**The runs have no judged hole in common, so nothing can be compared.**"
            .to_owned();
    };
    let unit = Metric::unit_of("pass@1").format().with_sign();
    let difference = unit.render(&against.difference).sentence();
    let test = against.mcnemar.map_or_else(String::new, |test| {
        format!(", McNemar's exact p = {:.3}", test.p)
    });
    let bounds = against.difference.low.zip(against.difference.high);
    let excludes_0 = bounds.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
    let is_significant = excludes_0 && against.mcnemar.is_none_or(|test| test.p <= LEVEL);
    let better = match against.difference.value > 0.0 {
        true => &second.context,
        false => &first.context,
    };
    match is_significant {
        true => format!(
            "**{} passes more often**: pass@1 differs by {difference}{test}.",
            code(better)
        ),
        false => format!("**No difference beyond chance**: pass@1 differs by {difference}{test}."),
    }
}

fn test_cells(against: Option<&RunDifference>) -> [String; 3] {
    let test = against.and_then(|against| against.mcnemar);
    test.map_or_else(
        || ["–", "–", "–"].map(str::to_owned),
        |McNemar {
             only_this,
             only_first,
             p,
         }| {
            [
                only_first.to_string(),
                only_this.to_string(),
                format!("{p:.3}"),
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
fn code(name: &str) -> String {
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
    use super::*;

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
