//! A study as one page that opens from disk, with nothing to load.

use fillrate_metrics::{Coefficient, MOST_EXACT};

use super::pair::{bound, decimals};
use super::{Answer, By, Pair, Second, Study, shown};

/// The page's style: light or dark as the reader's system is, and fit to be printed.
const STYLE: &str = include_str!("study.css");

impl Study {
    /// The page, an HTML document of its own.
    pub fn page(&self) -> String {
        let simulated = self.second == Second::Simulated;
        let title = match self.second {
            Second::Online => "Offline score and online acceptance",
            Second::Simulated => "Offline score and simulated acceptance",
        };
        let mut body = format!("<h1>{title}</h1>\n");
        if simulated {
            body.push_str(
                "<p class=\"banner\" role=\"note\"><strong>Simulated.</strong> The acceptance on \
                 this page is that of a simulated developer, not of people. It shows how a study \
                 works and says nothing of what people would accept.</p>\n",
            );
        }
        body.push_str(&format!(
            "<p class=\"answer\">{}</p>\n",
            escaped(&self.headline())
        ));
        body.push_str(&list("Warnings", &self.warnings));
        body.push_str(&list("Left out", &self.left_out));
        body.push_str(&self.versions_section());
        body.push_str(&self.trend_section());
        body.push_str(&self.pairs_section());
        for (at, pair) in self.pairs.iter().enumerate() {
            body.push_str(&self.pair_section(at, pair));
        }
        body.push_str(&self.method_section());
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
             name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta \
             name=\"color-scheme\" content=\"light dark\">\n<meta \
             http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'unsafe-inline'\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\
             \n<main>\n{body}</main>\n</body>\n</html>\n"
        )
    }

    fn versions_section(&self) -> String {
        let rows = self.versions.iter().map(|version| {
            let configuration =
                |it: &Option<String>| it.clone().unwrap_or_else(|| "not told".to_owned());
            vec![
                version.label.clone(),
                version.model.clone(),
                configuration(&version.offline_configuration),
                configuration(&version.second_configuration),
            ]
        });
        let header = [
            "version",
            "model",
            "offline configuration",
            &format!("{} configuration", self.second.name()),
        ]
        .map(str::to_owned);
        format!("<h2>Versions</h2>\n{}", table(&header, rows, 4))
    }

    fn trend_section(&self) -> String {
        let mut header = vec!["version".to_owned()];
        header.extend(self.trend.columns.iter().map(|column| {
            let side = if column.second {
                self.second.name()
            } else {
                "offline"
            };
            let language = column
                .language
                .as_ref()
                .map_or_else(String::new, |language| format!("{language} "));
            format!(
                "{language}{} ({side}, {})",
                column.metric,
                shown::difference_unit(column.unit)
            )
        }));
        let rows = self.trend.rows.iter().enumerate().map(|(at, row)| {
            let mut cells = vec![self.versions[row.version].label.clone()];
            let columns = row.differences.iter().zip(&self.trend.columns);
            cells.extend(columns.map(|(difference, column)| match (at, difference) {
                (0, Some(_)) => "baseline".to_owned(),
                _ => shown::difference(column.unit, *difference),
            }));
            cells
        });
        format!(
            "<h2>Trend</h2>\n<p>Differences from the first version, in the form of Table 9 of <a \
             href=\"https://arxiv.org/abs/2408.03519\">RepoMasterEval</a>.</p>\n{}",
            table(&header, rows, 1)
        )
    }

    fn pairs_section(&self) -> String {
        let header = [
            "offline",
            self.second.name(),
            "versions",
            "signs agree",
            "Pearson r",
            "95 % interval",
            "p",
            "p (Holm)",
            "Spearman (p)",
            "Kendall (p)",
            "corrected r",
            "answer",
        ]
        .map(str::to_owned);
        let rows = self.pairs.iter().map(|pair| {
            let dash = || "–".to_owned();
            let of = |coefficient| {
                pair.coefficient(coefficient).map_or_else(dash, |it| {
                    format!("{} ({})", decimals(it.value, 3), decimals(it.p, 3))
                })
            };
            let language = pair
                .language
                .as_ref()
                .map_or_else(String::new, |language| format!("{language}: "));
            vec![
                format!("{language}{}", pair.offline),
                pair.second.clone(),
                pair.points.len().to_string(),
                pair.signs.short(),
                pair.pearson.map_or_else(dash, |it| decimals(it.value, 3)),
                pair.pearson.map_or_else(dash, |it| {
                    format!("{} to {}", bound(it.low), bound(it.high))
                }),
                pair.pearson_p().map_or_else(dash, |p| decimals(p, 3)),
                pair.p_holm.map_or_else(dash, |p| decimals(p, 3)),
                of(Coefficient::Spearman),
                of(Coefficient::Kendall),
                pair.attenuation.map_or_else(
                    || "can't tell".to_owned(),
                    |it| {
                        format!(
                            "{} [{}, {}]",
                            decimals(it.corrected, 3),
                            bound(it.low),
                            bound(it.high)
                        )
                    },
                ),
                pair.answer.in_words().to_owned(),
            ]
        });
        format!("<h2>All pairs</h2>\n{}", table(&header, rows, 2))
    }

    fn pair_section(&self, at: usize, pair: &Pair) -> String {
        let class = match pair.answer {
            Answer::CantTell => "unknown",
            _ => "found",
        };
        let sentences: String = pair
            .sentences
            .iter()
            .map(|it| format!("<p class=\"{class}\">{}</p>\n", escaped(it)))
            .collect();
        let details: String = pair
            .details(self.second)
            .iter()
            .map(|it| format!("<li>{}</li>\n", escaped(it)))
            .collect();
        let header = [
            "version".to_owned(),
            format!("{} (offline)", pair.offline),
            format!("{} ({})", pair.second, self.second.name()),
        ];
        let rows = pair.points.iter().map(|point| {
            vec![
                self.versions[point.version].label.clone(),
                shown::measured(pair.offline_unit, &point.offline),
                shown::measured(pair.second_unit, &point.second),
            ]
        });
        // What the backend escapes is text; the labels in it were given to it as text.
        let scatter = self.scatter(pair).map_or_else(String::new, |svg| {
            let title = escaped(&format!(
                "Scatter of {} ({}) over the versions, with intervals",
                pair.title(),
                self.second.name()
            ));
            format!(
                "<figure role=\"img\" aria-label=\"{title}\">{svg}<figcaption>Bars are 95 % \
                 intervals.</figcaption></figure>\n"
            )
        });
        format!(
            "<section id=\"pair-{at}\">\n<h2>{}</h2>\n{sentences}{scatter}{}<ul>\n{details}</ul>\n\
             </section>\n",
            escaped(&pair.title()),
            table(&header, rows, 1)
        )
    }

    fn method_section(&self) -> String {
        let by = match self.by {
            By::Version => "all languages together",
            By::VersionAndLanguage => "each language by itself",
        };
        format!(
            "<h2>Method</h2>\n<ul>\n<li>Versions are joined by the model's name and its \
             configuration's fingerprint and compared with {by}.</li>\n<li>Pearson's interval is \
             exact where both sides are normally distributed, for any number of versions; its \
             bounds come from {} draws. The two-level bootstrap draws versions, then clusters \
             within them, {} times; with few versions it holds the truth more or less often than it says, which \
             is measured by simulation and told beside it.</li>\n<li>p are of permutations of the \
             versions, all of them up to {} versions.</li>\n<li>Powers come from {} simulated \
             studies each. Intervals are at 95 %. The seed is {}.</li>\n<li>A correlation over \
             versions says that two figures go together, not that one brings about the other.\
             </li>\n</ul>\n",
            self.method.draws,
            self.method.bootstrap_draws,
            MOST_EXACT,
            self.method.simulations,
            self.method.seed
        )
    }
}

fn list(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items
        .iter()
        .map(|item| format!("<li>{}</li>\n", escaped(item)))
        .collect();
    format!("<h2>{title}</h2>\n<ul class=\"notes\">\n{items}</ul>\n")
}

/// A table whose first columns, so many, are words and whose others are figures.
fn table(header: &[String], rows: impl Iterator<Item = Vec<String>>, words: usize) -> String {
    let class = |at: usize| if at < words { "" } else { " class=\"figure\"" };
    let mut html = "<div class=\"table\"><table>\n<thead><tr>".to_owned();
    for (at, cell) in header.iter().enumerate() {
        html.push_str(&format!(
            "<th scope=\"col\"{}>{}</th>",
            class(at),
            escaped(cell)
        ));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let cell = escaped(cell);
            html.push_str(&match at {
                0 => format!("<th scope=\"row\">{cell}</th>"),
                _ => format!("<td{}>{cell}</td>", class(at)),
            });
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

/// Text that a page shows as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
