//! One offline metric against one of the second side.

use std::collections::BTreeSet;

use fillrate_metrics::{
    Coefficient, Estimate, LinearPrediction, Metric, ModelVersion, SampledFigure, Selection,
    SignAgreement, attenuation_corrected, bootstrap_coverage, centred, exact_permutation_p,
    latent_correlation, pearson_interval, permutation_p_by_draws, selection, sign_agreement,
    two_level_bootstrap,
};
use serde::Serialize;

use super::design::{ENOUGH_POWER, PERMUTATIONS, StudyDesign, VersionsNeeded};
use super::figure::{self, Figure, FigureUnit, MeasuredFigure};
use super::format::{bound, decimals, p_value};
use super::input::{SecondSide, StudyOptions};
use super::pool::PooledFigure;
use super::strata::ContraryStratum;

/// Two metrics compared over the versions that have both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricPair {
    /// The language; `None` for all together.
    pub language: Option<String>,
    /// The offline metric.
    pub offline: String,
    /// Its unit.
    pub offline_unit: FigureUnit,
    /// The second side's metric.
    pub second: String,
    /// Its unit.
    pub second_unit: FigureUnit,
    /// The conclusion in a word.
    pub conclusion: Conclusion,
    /// The conclusion in sentences.
    pub sentences: Vec<String>,
    /// Each version's figures.
    pub points: Vec<VersionPoint>,
    /// Counts of pairs of versions by the signs of their two differences.
    pub signs: SignCounts,
    /// Pearson, Spearman, Kendall, where they are defined.
    pub coefficients: Vec<CoefficientFigure>,
    /// Pearson's r with an interval that is exact where both sides are normally distributed.
    pub pearson: Option<Estimate>,
    /// Pearson's exact p, corrected for all pairs of the study by Holm's method.
    pub p_holm: Option<f64>,
    /// Correlation without measurement error, if that is known.
    pub attenuation: Option<Attenuation>,
    /// Reason for which it is not known.
    pub no_attenuation: Option<String>,
    /// Power with this number of versions; `None` for fewer than three.
    pub design: Option<StudyDesign>,
    /// Result of choosing by the offline figure; `None` if an error is unknown or versions are too
    /// few.
    pub selection: Option<Selection>,
    /// The step that would make the study show more; `None` if its power is enough.
    pub advice: Option<String>,
}

/// Conclusion on whether two metrics go together over the versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// A better offline figure goes with a better one on the second side.
    Together,
    /// A better offline figure goes with a worse one.
    Opposed,
    /// Groups of the samples contradict the pooled figures.
    DependsOnMix,
    /// These figures support no conclusion.
    CantTell,
}

/// One version's two figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VersionPoint {
    /// The index of the version in [`Study::versions`](super::Study::versions).
    pub version: usize,
    /// Its offline figure.
    pub offline: MeasuredFigure,
    /// Its figure on the second side.
    pub second: MeasuredFigure,
}

/// Over all pairs of versions, whether the two figures' differences have the same sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SignCounts {
    /// Pairs of versions whose two differences have the same sign.
    pub agreeing: usize,
    /// Opposite signs.
    pub disagreeing: usize,
    /// No difference on a side.
    pub tied: usize,
    /// Of the agreeing ones, those whose differences are beyond chance on both sides; `None` if
    /// errors are unknown.
    pub agreeing_beyond_chance: Option<usize>,
    /// Of the disagreeing ones, likewise.
    pub disagreeing_beyond_chance: Option<usize>,
}

/// A coefficient with its p and its bootstrap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoefficientFigure {
    /// `pearson`, `spearman` or `kendall`.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// The two-sided permutation p.
    pub p: f64,
    /// The number of random permutations; `None` if all were evaluated.
    pub p_draws: Option<u32>,
    /// The interval of the two-level bootstrap.
    pub bootstrap: Option<Estimate>,
    /// Draws of the bootstrap in which the coefficient is undefined.
    pub undefined: u32,
    /// The coverage of such a bootstrap's interval, in simulated studies like this one.
    pub coverage: Option<Estimate>,
}

/// Correlation without measurement error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Attenuation {
    /// The share of the variance between versions that is not error, offline.
    pub offline_reliability: f64,
    /// On the second side.
    pub second_reliability: f64,
    /// r / √(reliability × reliability); may lie beyond ±1 by chance.
    pub corrected: f64,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// Assumptions of the correction for attenuation, for reports.
pub(super) const ASSUMPTIONS: &str = "Assumptions of the correction: the versions are drawn at \
    random from versions like them, with both figures normally distributed; the errors of the two \
    sides are independent of each other and of the true figures; and their size is known, from \
    clusters that are themselves independent. None of this can be checked with so few versions.";

/// The significance level.
const LEVEL: f64 = 0.05;

/// Draws of the true figures for [`Selection`].
const SELECTION_DRAWS: u32 = 4_000;

/// Draws of each bootstrap whose coverage is simulated, in a tenth of the simulated studies.
const COVERAGE_DRAWS: u32 = 200;

/// One version's pooled figures on both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairedFigures<'a> {
    /// As in [`VersionPoint`].
    pub(super) version: usize,
    pub(super) offline: &'a PooledFigure,
    pub(super) second: &'a PooledFigure,
}

/// The versions' figures, offline and on the second side, each with its unit.
type BothSides<'a> = (Vec<(&'a Figure, FigureUnit)>, Vec<(&'a Figure, FigureUnit)>);

impl MetricPair {
    pub(super) fn new(
        language: Option<String>,
        offline: &str,
        second: &str,
        paired: &[PairedFigures<'_>],
        side: SecondSide,
        options: &StudyOptions,
    ) -> Self {
        let whole: Vec<(VersionPoint, PairedFigures<'_>)> = paired
            .iter()
            .filter_map(|one| {
                let point = VersionPoint {
                    version: one.version,
                    offline: one.offline.figure.measured(one.offline.unit)?,
                    second: one.second.figure.measured(one.second.unit)?,
                };
                Some((point, *one))
            })
            .collect();
        let points: Vec<VersionPoint> = whole.iter().map(|(point, _)| *point).collect();
        let values: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (point.offline.value, point.second.value))
            .collect();
        let units = whole
            .first()
            .map(|(_, one)| (one.offline.unit, one.second.unit));
        let (offline_unit, second_unit) = units.unwrap_or((FigureUnit::Plain, FigureUnit::Plain));
        let figures: BothSides<'_> = whole
            .iter()
            .map(|(_, one)| {
                let (offline, second) = (one.offline, one.second);
                (
                    (&offline.figure, offline.unit),
                    (&second.figure, second.unit),
                )
            })
            .unzip();
        let pearson = pearson_interval(&values, options.draws, options.seed);
        let error_variances = (
            figure::error_variance(&figures.0),
            figure::error_variance(&figures.1),
        );
        let (attenuation, no_attenuation) =
            match attenuation(&values, error_variances, side, options) {
                Ok(attenuation) => (Some(attenuation), None),
                Err(reason) => (None, Some(reason)),
            };
        let reliabilities = known_reliabilities(&values, error_variances);
        let coefficients = coefficients(&values, &figures, reliabilities, options);
        let design = StudyDesign::new(points.len(), reliabilities, options);
        let mut pair = Self {
            language,
            offline: offline.to_owned(),
            offline_unit,
            second: second.to_owned(),
            second_unit,
            conclusion: Conclusion::CantTell,
            sentences: Vec::new(),
            signs: count_signs(&values, &figures),
            points,
            coefficients,
            pearson,
            p_holm: None,
            attenuation,
            no_attenuation,
            design,
            selection: None,
            advice: None,
        };
        pair.selection = error_variances
            .0
            .zip(error_variances.1)
            .and_then(|noise| selection(&pair.goodness(), noise, SELECTION_DRAWS, options.seed));
        let better = pair.measure_better(error_variances, side);
        pair.advice = pair
            .design
            .as_ref()
            .and_then(|design| advise(design, better));
        (pair.conclusion, pair.sentences) = pair.conclude(side);
        pair
    }

    /// Each version's two values.
    pub(super) fn values(&self) -> Vec<(f64, f64)> {
        let points = self.points.iter();
        points
            .map(|point| (point.offline.value, point.second.value))
            .collect()
    }

    /// Each version's two values with the sign that makes a larger one the better one.
    pub(super) fn goodness(&self) -> Vec<(f64, f64)> {
        let (first, second) = (direction(&self.offline), direction(&self.second));
        let values = self.values().into_iter();
        values
            .map(|(offline, online)| (first * offline, second * online))
            .collect()
    }

    /// True if a better offline figure goes with a better second one; `None` without a correlation.
    pub(super) fn rises(&self) -> Option<bool> {
        Some(self.direction() * self.pearson?.value > 0.0)
    }

    /// 1 if larger figures are better of both metrics or of none, otherwise −1.
    pub(super) fn direction(&self) -> f64 {
        direction(&self.offline) * direction(&self.second)
    }

    /// Predicts the second figure of a version from its offline one. `None` for fewer than three
    /// versions or equal offline figures, and where the conclusion depends on the mix: figures that
    /// show the mix of samples say nothing of versions.
    pub(super) fn prediction(&self) -> Option<LinearPrediction> {
        if self.conclusion == Conclusion::DependsOnMix {
            return None;
        }
        LinearPrediction::fit(&self.values())
    }

    /// True if fewer than half of studies like this one find a true r of .8.
    pub(super) fn is_weak(&self) -> bool {
        let Some(design) = &self.design else {
            return true;
        };
        let at = design.power.iter().find(|power| power.true_r == 0.8);
        at.is_none_or(|at| at.permutation.unwrap_or(at.student).value < 0.5)
    }

    /// The figures of a coefficient, where it is defined.
    pub fn coefficient(&self, coefficient: Coefficient) -> Option<&CoefficientFigure> {
        self.coefficients
            .iter()
            .find(|figure| figure.name == coefficient.name())
    }

    /// Pearson's two-sided permutation p.
    pub fn pearson_p(&self) -> Option<f64> {
        self.coefficient(Coefficient::Pearson)
            .map(|figure| figure.p)
    }

    /// The two metrics, for headings.
    pub fn title(&self) -> String {
        let language = self.language_prefix();
        format!("{language}{} against {}", self.offline, self.second)
    }

    /// The language with a colon, before a sentence or a metric; empty for all languages together.
    pub(super) fn language_prefix(&self) -> String {
        self.language
            .as_ref()
            .map_or_else(String::new, |language| format!("{language}: "))
    }

    /// Returns the conclusion with p corrected for all pairs of the study.
    pub(super) fn corrected_conclusion(&self) -> Conclusion {
        match self.p_holm {
            // Without p there was no test, so there is nothing to correct.
            Some(p) if p > LEVEL => Conclusion::CantTell,
            _ => self.conclusion,
        }
    }

    /// Takes back a conclusion that strata of the samples contradict.
    pub(super) fn contradict(&mut self, strata: &[ContraryStratum]) {
        let is_conclusive = [Conclusion::Together, Conclusion::Opposed].contains(&self.conclusion);
        if strata.is_empty() || !is_conclusive {
            return;
        }
        let names: Vec<String> = strata
            .iter()
            .map(|ContraryStratum { name, r, versions }| {
                format!("{name} (r = {}, n = {versions} versions)", decimals(*r, 3))
            })
            .collect();
        self.conclusion = Conclusion::DependsOnMix;
        self.sentences.insert(
            0,
            format!(
                "Depends on the mix: within {} the two figures go the other way than pooled, so \
                 the pooled r shows how samples are mixed, not what versions do. Compare within \
                 languages with --by version,language, and versions on the same holes.",
                names.join(" and ")
            ),
        );
        // The first sentence before the insertion was that of the pooled figures.
        if let Some(pooled) = self.sentences.get_mut(1) {
            *pooled = format!("Pooled: {pooled}");
        }
    }

    /// The advice to measure better, if measurement error is more than half of the variance between
    /// versions on a side: with the samples per version that make it a fifth.
    fn measure_better(
        &self,
        error_variances: (Option<f64>, Option<f64>),
        side: SecondSide,
    ) -> Option<String> {
        let figures = |of: fn(&VersionPoint) -> &MeasuredFigure| -> Vec<MeasuredFigure> {
            self.points.iter().map(|point| *of(point)).collect()
        };
        let sides = [
            (
                "offline",
                figures(|point| &point.offline),
                error_variances.0,
            ),
            (
                side.name(),
                figures(|point| &point.second),
                error_variances.1,
            ),
        ];
        let advice: Vec<String> = sides
            .into_iter()
            .filter_map(|(name, figures, error)| {
                let error = error?;
                let count = figures.len() as f64;
                let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
                let (_, differences) = centred(&values);
                let squares = differences.iter().map(|difference| difference.powi(2));
                // For a single figure this is no number, but the next line returns for fewer than
                // three.
                let variance = squares.sum::<f64>() / (count - 1.0);
                if count < 3.0 || variance <= 0.0 || error < variance / 2.0 {
                    return None;
                }
                // If error explains all differences, the true ones are unknown: at most a quarter.
                let signal = (variance - error).max(variance / 4.0);
                // An error of a quarter of the signal is a fifth of the variance.
                let factor = error / (signal / 4.0);
                // If the samples of one version are unknown, their sum is, too.
                let n: Option<usize> = figures.iter().map(|figure| figure.n).sum();
                let samples = match n.map(|n| n as f64 / count) {
                    Some(n) => format!(
                        "about {:.0} samples per version (now {n:.0})",
                        (n * factor).ceil()
                    ),
                    None => format!("about {factor:.0} times as many samples per version"),
                };
                let share = (error / variance * 100.0).min(100.0);
                Some(format!(
                    "{name} {share:.0} % of the variance between versions is measurement error, \
                     and it takes {samples}"
                ))
            })
            .collect();
        (!advice.is_empty()).then(|| {
            format!(
                "Measure better, before adding versions: {}.",
                advice.join("; ")
            )
        })
    }

    fn conclude(&self, side: SecondSide) -> (Conclusion, Vec<String>) {
        let n = self.points.len();
        let mut sentences = Vec::new();
        let Some((pearson, design)) = self.pearson.zip(self.design.as_ref()) else {
            let reason = match n {
                0..=2 => format!(
                    "{n} version{} with both figures: a correlation takes at least three, and one \
                     that can differ from chance at least four",
                    if n == 1 { "" } else { "s" }
                ),
                _ => format!(
                    "all {n} versions have the same figure on one side, so there is no correlation"
                ),
            };
            return (Conclusion::CantTell, vec![format!("Can't tell: {reason}.")]);
        };
        let p = self.pearson_p().unwrap_or(1.0);
        let outside =
            pearson.low.is_some_and(|low| low > 0.0) || pearson.high.is_some_and(|high| high < 0.0);
        // Both must say so: the interval assumes normal figures, the permutations do not.
        let found = p <= LEVEL && outside;
        let p_text = self
            .coefficients
            .first()
            .map_or_else(String::new, |figure| match figure.p_draws {
                None => format!("exact permutation p {}", p_value("= ", figure.p, 3)),
                Some(draws) => format!(
                    "permutation p {}, estimated from {draws} draws",
                    p_value("= ", figure.p, 4)
                ),
            });
        let interval = format!(
            "r = {}, 95 % interval {} to {}, {p_text}, n = {n} versions",
            decimals(pearson.value, 3),
            bound(pearson.low),
            bound(pearson.high)
        );
        let conclusion = match (found, self.rises()) {
            (true, Some(true)) => Conclusion::Together,
            (true, Some(false)) => Conclusion::Opposed,
            _ => Conclusion::CantTell,
        };
        let names = [&self.offline, &self.second];
        let lower = names.into_iter().filter(|name| direction(name) < 0.0);
        let interval = lower.fold(interval, |text, name| {
            format!("{text}; of {name}, lower is better")
        });
        sentences.push(match conclusion {
            Conclusion::Together => format!(
                "{} and {} {} go together over these versions: {interval}.",
                self.offline,
                side.name(),
                self.second
            ),
            Conclusion::Opposed => format!(
                "{} and {} {} go against each other over these versions: {interval}.",
                self.offline,
                side.name(),
                self.second
            ),
            Conclusion::DependsOnMix | Conclusion::CantTell if design.least_p > LEVEL => format!(
                "Can't tell: with {n} versions no result differs from chance at the 5 % level, since \
                 the least possible p is {}; {interval}.",
                p_value("", design.least_p, 3)
            ),
            Conclusion::DependsOnMix | Conclusion::CantTell => {
                format!("Can't tell: {interval}.")
            }
        });
        sentences.extend(describe_power(n, design, found, self.advice.as_ref()));
        (conclusion, sentences)
    }
}

/// 1 if a larger value of a metric is better, otherwise −1. A metric of another program is better if
/// it is larger.
fn direction(metric: &str) -> f64 {
    let is_better = Metric::find(metric).is_none_or(|metric| metric.higher_is_better);
    if is_better { 1.0 } else { -1.0 }
}

/// A number of versions with its range, which is wide as few versions say little about how much of
/// their differences is error.
fn versions_with_range(needed: &VersionsNeeded, versions: usize, has_errors: bool) -> String {
    let count = |count: Option<usize>| {
        count.map_or_else(|| "more than 400".to_owned(), |count| count.to_string())
    };
    if has_errors {
        let (low, high) = (count(needed.low), count(needed.high));
        format!("{versions} such versions (95 % range {low} to {high})")
    } else {
        format!("at least {versions} versions, as their errors are unknown,")
    }
}

/// The step that gives a design enough power, if it has too little.
fn advise(design: &StudyDesign, better: Option<String>) -> Option<String> {
    // The design has this constant itself as an r, so the comparison is exact.
    let at = design.power.iter().find(|power| power.true_r == 0.8)?;
    if at.permutation.unwrap_or(at.student).value >= ENOUGH_POWER {
        return None;
    }
    let needed = design.needed.iter().find(|needed| needed.true_r == 0.8);
    let versions = needed.and_then(|needed| Some((needed, needed.versions?)));
    Some(match (better, versions) {
        (Some(better), _) => better,
        (None, Some((needed, versions))) => format!(
            "It would take {} to find a true r of .8 in 80 of 100 studies.",
            versions_with_range(needed, versions, design.seen_of_one.is_some())
        ),
        (None, None) => "More versions are not enough: the figures must be measured better, with \
                         more holes or more shown completions."
            .to_owned(),
    })
}

/// Describes the power of few versions, in sentences.
fn describe_power(
    n: usize,
    design: &StudyDesign,
    found: bool,
    advice: Option<&String>,
) -> Vec<String> {
    let mut sentences = Vec::new();
    let Some(at) = design.power.iter().find(|power| power.true_r == 0.8) else {
        return sentences;
    };
    let power = at.permutation.unwrap_or(at.student).value;
    if power < ENOUGH_POWER {
        let known = match design.seen_of_one {
            Some(_) => "measured as well as these",
            None => "even measured without any error",
        };
        sentences.push(format!(
            "{n} versions are {}: {known}, a true r of .8 is found in {} of 100 such studies by the \
             permutation test{} ({} by Student's t), and the least possible p is {}.",
            if power < 0.5 { "weak" } else { "few" },
            (power * 100.0).round(),
            match at.permutation {
                Some(_) => "",
                None => " or a similar one",
            },
            (at.student.value * 100.0).round(),
            p_value("", design.least_p, 3)
        ));
        sentences.extend(advice.cloned());
        if found {
            sentences.push(
                "A finding of so weak a design is more often luck, and its r more often too large, \
                 than p suggests: take it as a reason to measure more versions."
                    .to_owned(),
            );
        }
    }
    sentences
}

/// The reliabilities of the two sides, `None` if an error is unknown. Each is the share of the
/// variance between versions that is not measurement error: 0 if their error explains all of it.
fn known_reliabilities(
    values: &[(f64, f64)],
    error_variances: (Option<f64>, Option<f64>),
) -> Option<[f64; 2]> {
    let (offline, second) = error_variances.0.zip(error_variances.1)?;
    let [one, other] = reliabilities(values, [offline, second]);
    Some([one.unwrap_or(0.0), other.unwrap_or(0.0)])
}

/// The reliability of each side; `None` if its error leaves no variance between versions.
fn reliabilities(values: &[(f64, f64)], error_variances: [f64; 2]) -> [Option<f64>; 2] {
    let (offline, second): (Vec<f64>, Vec<f64>) = values.iter().copied().unzip();
    let [offline_variance, second_variance] = error_variances;
    [(offline, offline_variance), (second, second_variance)].map(|(values, variance)| {
        let error = variance.sqrt();
        let figures: Vec<(f64, f64)> = values.into_iter().map(|it| (it, error)).collect();
        fillrate_metrics::reliability(&figures)
    })
}

fn attenuation(
    values: &[(f64, f64)],
    error_variances: (Option<f64>, Option<f64>),
    side: SecondSide,
    options: &StudyOptions,
) -> Result<Attenuation, String> {
    let (Some(offline), Some(second)) = error_variances else {
        let which = match error_variances {
            (None, None) => "either side".to_owned(),
            (None, _) => "the offline side".to_owned(),
            _ => format!("the {} side", side.name()),
        };
        return Err(format!(
            "can't tell what measurement error hides: the errors of {which} are unknown (a table needs \
             n or error, rows need two clusters)"
        ));
    };
    let Some(latent) = latent_correlation(values, (offline, second), options.draws, options.seed)
    else {
        return Err("can't tell: r is not defined".to_owned());
    };
    let r = Coefficient::Pearson.correlate(values).unwrap_or_default();
    match reliabilities(values, [offline, second]) {
        [Some(one), Some(other)] => attenuation_corrected(r, one, other)
            .map(|corrected| Attenuation {
                offline_reliability: one,
                second_reliability: other,
                corrected,
                low: latent.low,
                high: latent.high,
            })
            .ok_or_else(|| "can't tell: a reliability is out of range".to_owned()),
        [one, _] => Err(format!(
            "can't tell what r would be without measurement error: the {} figures differ no more \
             between versions than their own error explains, so they don't distinguish the \
             versions at all",
            if one.is_none() {
                "offline"
            } else {
                side.name()
            }
        )),
    }
}

fn coefficients(
    values: &[(f64, f64)],
    figures: &BothSides<'_>,
    reliabilities: Option<[f64; 2]>,
    options: &StudyOptions,
) -> Vec<CoefficientFigure> {
    let drawable =
        |(figure, unit): &(&Figure, FigureUnit)| -> SampledFigure { figure.drawable(*unit) };
    // The bootstrap draws versions, then samples within them: both vary in another study.
    let versions: Vec<ModelVersion> = figures
        .0
        .iter()
        .zip(&figures.1)
        .map(|(one, other)| ModelVersion {
            offline: drawable(one),
            online: drawable(other),
        })
        .collect();
    let draws = options.bootstrap_draws;
    let r = Coefficient::Pearson.correlate(values).unwrap_or_default();
    // A reliability is the share of the variance that is not measurement error.
    let noise = reliabilities.map_or((0.0, 0.0), |[offline, second]| {
        (1.0 - offline, 1.0 - second)
    });
    let figure = |coefficient: Coefficient| {
        let value = coefficient.correlate(values)?;
        // Draws add an error of their own, so all orders are preferred where they are few enough.
        let exact = exact_permutation_p(coefficient, values);
        let p_draws = exact.is_none().then_some(PERMUTATIONS);
        let p = exact
            .or_else(|| permutation_p_by_draws(coefficient, values, PERMUTATIONS, options.seed))?;
        let bootstrap = two_level_bootstrap(&versions, coefficient, draws, options.seed);
        let coverage = bootstrap_coverage(
            coefficient,
            // At an r of ±1, the simulated true figures of the two sides would be on one line.
            r.clamp(-0.99, 0.99),
            values.len(),
            noise,
            // Each of these studies takes a whole bootstrap, hence the tenth.
            options.simulations / 10,
            COVERAGE_DRAWS,
            options.seed,
        );
        Some(CoefficientFigure {
            name: coefficient.name(),
            value,
            p,
            p_draws,
            bootstrap: bootstrap.map(|bootstrap| bootstrap.estimate),
            undefined: bootstrap.map_or(0, |bootstrap| bootstrap.undefined),
            coverage,
        })
    };
    Coefficient::ALL.into_iter().filter_map(figure).collect()
}

fn count_signs(values: &[(f64, f64)], figures: &BothSides<'_>) -> SignCounts {
    let SignAgreement {
        agreeing,
        disagreeing,
        tied,
    } = sign_agreement(values);
    let mut beyond = Some((0, 0));
    for (at, one) in values.iter().enumerate() {
        for (earlier, other) in values[..at].iter().enumerate() {
            let differ = |side: &[(&Figure, FigureUnit)]| figure::differ(side[at], side[earlier]);
            // One pair whose difference is of unknown certainty leaves both counts unknown.
            beyond = beyond.and_then(|(agreeing, disagreeing)| {
                let both = differ(&figures.0)? && differ(&figures.1)?;
                // The product is positive if both sides rank the two versions alike.
                let same = (one.0 - other.0) * (one.1 - other.1);
                Some((
                    agreeing + usize::from(both && same > 0.0),
                    disagreeing + usize::from(both && same < 0.0),
                ))
            });
        }
    }
    SignCounts {
        agreeing,
        disagreeing,
        tied,
        agreeing_beyond_chance: beyond.map(|beyond| beyond.0),
        disagreeing_beyond_chance: beyond.map(|beyond| beyond.1),
    }
}

/// Warnings about the pairs together.
pub(super) fn warnings(pairs: &[MetricPair]) -> Vec<String> {
    let mut warnings = Vec::new();
    let tested = pairs.iter().filter(|pair| pair.pearson_p().is_some());
    let tested = tested.count();
    // One pair chosen in advance needs no correction.
    if tested > 1 {
        warnings.push(format!(
            "{tested} of {} pairs of metrics are tested, so the smallest p may be small by chance \
             alone: choose one pair before looking, or take p corrected by Holm's method",
            pairs.len()
        ));
    }
    let missing: BTreeSet<&str> = pairs
        .iter()
        .filter(|pair| {
            let most = pairs.iter().map(|pair| pair.points.len()).max();
            Some(pair.points.len()) < most
        })
        .map(|pair| pair.offline.as_str())
        .collect();
    if !missing.is_empty() {
        let missing: Vec<&str> = missing.into_iter().collect();
        warnings.push(format!(
            "not every version has every figure: pairs with {} rest on fewer versions",
            missing.join(", ")
        ));
    }
    warnings
}
