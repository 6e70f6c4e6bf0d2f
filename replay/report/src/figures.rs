//! The figures of a group of attempts, each with its interval and n.

use std::collections::BTreeMap;

use fillrate_engine::store::Attempt;
use fillrate_metrics::metric::{
    COMPLETION_TOKENS, COST, INVOCATION, MEDIAN_LATENCY, ORACLE_ACCEPTANCE, PROMPT_TOKENS,
    SCRIPT_INVOCATION, TYPE_CHECK, WEIGHTED_PASS,
};
use fillrate_metrics::{
    Estimate, Metric, TextMetric, clustered_proportion, clustered_share, median, pass_at_k,
    reported_text_metrics,
};
use fillrate_mine::invocation::InvocationRates;
use fillrate_server::model::TokenUsage;
use fillrate_verdict::{Outcome, Proof};
use serde::Serialize;

use super::policies::PolicyFigures;
use super::scored::ScoredAttempt;

/// The figures of one project under one model.
#[derive(Clone, Debug, Serialize)]
pub struct ReportRow {
    /// The project's name, or `*` for all.
    pub project: String,
    /// The language's name, or `*` where there are several.
    pub language: String,
    /// The model's name.
    pub model: String,
    /// Holes that were attempted.
    pub holes: usize,
    /// Attempts with a completion, except those left out.
    pub completions: usize,
    /// By variant. Rates are between 0 and 1, `es/*` between 0 and 100, latencies in
    /// milliseconds.
    pub metrics: BTreeMap<String, Estimate>,
    /// Attempts by outcome, including those that no figure counts.
    pub outcomes: BTreeMap<&'static str, usize>,
    /// Attempts that failed by machinery or whose tests are flaky: no figure counts them.
    pub left_out: usize,
    /// Passes by proof, of those whose record has one.
    pub proofs: BTreeMap<&'static str, usize>,
    /// Attempts whose failed tests run no line of the completion and were therefore rerun. If the
    /// unchanged project fails them as well, the outcome is `flaky`.
    pub reruns: usize,
    /// Figures of simulated developers, by policy; empty if no policy was named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyFigures>,
}

/// The row of a group of attempts.
pub(super) fn report_row(project: &str, language: &str, scored: &[&ScoredAttempt]) -> ReportRow {
    let by_hole = by_hole(scored);
    let mut metrics = BTreeMap::new();
    let mut put = |name: &str, estimate: Option<Estimate>| {
        if let Some(estimate) = estimate {
            metrics.insert(name.to_owned(), estimate);
        }
    };

    // Rows of one run get the same columns, so samples without evidence count here.
    let samples = by_hole.values().map(Vec::len);
    let (fewest, most) = (samples.clone().min(), samples.max().unwrap_or(0));
    // As papers have it, and the largest that all holes have enough samples for. Holes with fewer
    // than k verdicts are not in pass@k, as its n shows.
    let usual = [5, 10, 100].into_iter().filter(|k| *k <= most);
    for k in [1, fewest.unwrap_or(1).max(1)].into_iter().chain(usual) {
        put(&format!("pass@{k}"), pass_at(&by_hole, k));
    }
    let weighted: Vec<(&str, f64, f64)> = by_hole
        .values()
        .filter_map(|of_hole| {
            // All samples of a hole have its mutation score.
            let weight = of_hole[0].mutation?;
            Some((
                of_hole[0].cluster.as_str(),
                weight,
                pass_probability(of_hole, 1)?,
            ))
        })
        .collect();
    put(WEIGHTED_PASS.name, clustered_share(&weighted));
    for TextMetric { metric, .. } in reported_text_metrics() {
        let values: Vec<(&str, f64, f64)> = scored
            .iter()
            .filter_map(|one| Some((one.cluster.as_str(), 1.0, *one.text.get(metric.name)?)))
            .collect();
        put(metric.name, metric.unit.mean(&values));
    }
    let mut put_invocation = |name: &str, of: fn(&InvocationRates) -> Option<f64>| {
        let rates: Vec<(&str, f64, f64)> = scored
            .iter()
            .filter_map(|one| Some((one.cluster.as_str(), 1.0, of(&one.invocation)?)))
            .collect();
        put(name, clustered_share(&rates));
    };
    put_invocation(INVOCATION.name, |rates| rates.repository);
    put_invocation(SCRIPT_INVOCATION.name, |rates| rates.repoexec);
    let accepted: Vec<(&str, bool)> = scored
        .iter()
        .filter_map(|one| Some((one.cluster.as_str(), one.accepted?)))
        .collect();
    put(ORACLE_ACCEPTANCE.name, clustered_proportion(&accepted));
    let typed: Vec<(&str, bool)> = scored
        .iter()
        .filter(|one| one.is_counted())
        .filter_map(|one| {
            let types = one.attempt.verdict.types.as_ref()?;
            Some((one.cluster.as_str(), types.passes()))
        })
        .collect();
    put(TYPE_CHECK.name, clustered_proportion(&typed));
    let latencies: Vec<f64> = scored.iter().filter_map(|one| one.latency_ms).collect();
    // The median, since a few slow requests would dominate a mean.
    put(MEDIAN_LATENCY.name, median(&latencies));
    let usages: Vec<(&str, TokenUsage)> = scored
        .iter()
        .filter_map(|one| Some((one.cluster.as_str(), usage(&one.attempt)?)))
        .collect();
    for (metric, value) in usage_figures(&usages) {
        put(metric.name, value);
    }

    let mut outcomes: BTreeMap<&'static str, usize> = BTreeMap::new();
    for one in scored {
        *outcomes
            .entry(one.attempt.verdict.outcome.name())
            .or_default() += 1;
    }
    ReportRow {
        project: project.to_owned(),
        language: language.to_owned(),
        model: scored
            .first()
            .map(|one| one.attempt.model.clone())
            .unwrap_or_default(),
        holes: by_hole.len(),
        // Only attempts that offered something have an entry.
        completions: accepted.len(),
        metrics,
        outcomes,
        proofs: proofs(scored),
        left_out: scored.iter().filter(|one| !one.is_counted()).count(),
        reruns: scored
            .iter()
            .filter(|one| one.attempt.verdict.rerun)
            .count(),
        policies: Vec::new(),
    }
}

/// Tokens that an attempt's completion took; `None` if no figure counts the attempt, or no server
/// was asked.
pub(super) fn usage(attempt: &Attempt) -> Option<TokenUsage> {
    let trace = attempt.trace.as_ref()?;
    trace.usage.filter(|_| attempt.verdict.outcome.is_counted())
}

/// The figures of tokens and their cost, each sample with its cluster.
pub(super) fn usage_figures<K: Ord + Clone>(
    usages: &[(K, TokenUsage)],
) -> [(Metric, Option<Estimate>); 3] {
    let mean = |metric: Metric, of: fn(&TokenUsage) -> Option<f64>| {
        let samples: Vec<(K, f64, f64)> = usages
            .iter()
            .filter_map(|(cluster, usage)| Some((cluster.clone(), 1.0, of(usage)?)))
            .collect();
        (metric, metric.unit.mean(&samples))
    };
    [
        mean(PROMPT_TOKENS, |usage| Some(usage.prompt as f64)),
        mean(COMPLETION_TOKENS, |usage| Some(usage.completion as f64)),
        mean(COST, |usage| Some(1000.0 * usage.cost?)),
    ]
}

/// One sentence on the tokens of a row's completions, if a server was asked for them.
pub(super) fn usage_line(row: &ReportRow) -> Option<String> {
    let sentence = |metric: Metric| {
        let estimate = row.metrics.get(metric.name)?;
        Some(metric.unit.render(estimate).sentence())
    };
    let (prompt, completion) = (sentence(PROMPT_TOKENS)?, sentence(COMPLETION_TOKENS)?);
    let cost = sentence(COST).map_or(String::new(), |cost| {
        format!("; 1,000 completions cost {cost}")
    });
    Some(format!(
        "A completion takes {prompt} to read and {completion} to write{cost}."
    ))
}

/// The attempts at each hole.
pub(super) fn by_hole<'a>(
    scored: &[&'a ScoredAttempt],
) -> BTreeMap<&'a str, Vec<&'a ScoredAttempt>> {
    let mut by_hole: BTreeMap<&str, Vec<&ScoredAttempt>> = BTreeMap::new();
    for one in scored {
        by_hole.entry(&one.attempt.hole).or_default().push(one);
    }
    by_hole
}

/// pass@k, over the holes with at least `k` verdicts.
pub(super) fn pass_at(by_hole: &BTreeMap<&str, Vec<&ScoredAttempt>>, k: usize) -> Option<Estimate> {
    let chances: Vec<(&str, f64, f64)> = by_hole
        .values()
        .filter_map(|of_hole| {
            let chance = pass_probability(of_hole, k)?;
            Some((of_hole[0].cluster.as_str(), 1.0, chance))
        })
        .collect();
    clustered_share(&chances)
}

/// The probability that one of `k` of a hole's attempts passes; `None` if it has fewer verdicts.
pub(super) fn pass_probability(of_hole: &[&ScoredAttempt], k: usize) -> Option<f64> {
    let verdicts = passes(of_hole);
    let correct = verdicts.iter().filter(|passed| **passed).count();
    pass_at_k(verdicts.len() as u64, correct as u64, k as u64)
}

/// True for each attempt that passed, of those whose outcome is evidence.
pub(super) fn passes(scored: &[&ScoredAttempt]) -> Vec<bool> {
    scored
        .iter()
        .map(|one| one.attempt.verdict.outcome)
        .filter(|outcome| outcome.is_evidence())
        .map(|outcome| outcome == Outcome::Passed)
        .collect()
}

/// Passes by proof.
fn proofs(scored: &[&ScoredAttempt]) -> BTreeMap<&'static str, usize> {
    let mut proofs = BTreeMap::new();
    for one in scored {
        let verdict = &one.attempt.verdict;
        if let (Outcome::Passed, Some(proof)) = (verdict.outcome, verdict.proof) {
            *proofs.entry(proof.name()).or_default() += 1;
        }
    }
    proofs
}

/// The share of passes that may be unproven before a table begins with it.
const QUIET_UNPROVEN: f64 = 0.05;

/// A table's first line if many passes are not proven by altered answers, otherwise nothing.
pub(super) fn unproven_line(row: &ReportRow) -> String {
    let passes: usize = row.proofs.values().sum();
    let proven = row.proofs.get(Proof::Altered.name()).unwrap_or(&0);
    // Passes without a recorded proof are in neither number.
    let unproven = passes - proven;
    let share = unproven as f64 / passes.max(1) as f64;
    if share <= QUIET_UNPROVEN {
        return String::new();
    }
    let weaker = Proof::ALL.iter().filter(|proof| **proof != Proof::Altered);
    let counts: Vec<String> = weaker
        .filter_map(|proof| {
            Some(format!(
                "{} {}",
                proof.name(),
                row.proofs.get(proof.name())?
            ))
        })
        .collect();
    format!(
        "Warning: {unproven} of {passes} passes ({:.1} %) are not proven by altered answers: {}; \
         `show RUN --proof altered` counts none of them\n",
        100.0 * share,
        counts.join(", ")
    )
}

/// The share of attempts that may be left out of the figures before a table begins with it.
const QUIET_LEFT_OUT: f64 = 0.01;

/// A table's first line where many attempts are left out of its figures, otherwise nothing.
pub(super) fn left_out_line(row: &ReportRow) -> String {
    let attempts: usize = row.outcomes.values().sum();
    let share = row.left_out as f64 / attempts.max(1) as f64;
    if share <= QUIET_LEFT_OUT {
        return String::new();
    }
    let reasons: Vec<String> = row
        .outcomes
        .iter()
        .filter(|(name, _)| {
            [Outcome::Infrastructure, Outcome::Flaky]
                .iter()
                .any(|outcome| outcome.name() == **name)
        })
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    format!(
        "Warning: {} of {attempts} attempts ({:.1} %) are left out of every figure: {}\n",
        row.left_out,
        100.0 * share,
        reasons.join(", ")
    )
}
