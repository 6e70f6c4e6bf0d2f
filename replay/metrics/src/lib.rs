//! Metrics of code completion and the statistics to report them: pure functions over plain data.
//!
//! | topic | items |
//! | --- | --- |
//! | names, units and text of figures | [`Metric`], [`metric`], [`Unit`], [`FigureText`] |
//! | text metrics | [`TEXT_METRICS`], [`Sample`], [`Scorer`]; [`dependency_invocation_rate`] |
//! | agreement of judges | [`fleiss_kappa`] |
//! | leakage | [`peakedness`], [`ngram_overlap`], [`ngrams`], [`leakage_tokens`] |
//! | distance of task sets | [`nearest_distances`], [`nearest_lexical_distances`] |
//! | tests | [`pass_at_k`] |
//! | acceptance | [`oracle_prefix`], [`READ_MS`] |
//! | intervals | [`Estimate`]; [`clustered_mean`], [`clustered_proportion`], [`wilson`], [`quantile`] |
//! | pairs and groups | [`paired_difference`], [`mcnemar_exact`], [`clustered_difference`], [`holm`] |
//! | order of models | [`OrderDecisions`], [`confidence_sequence`]; [`pass_within`], [`order_changes`] |
//! | correlation | [`Coefficient`], [`exact_permutation_p`], [`pearson_interval`], [`two_level_bootstrap`] |
//! | decisions | [`selection`], [`LinearPrediction`], [`best_predictor`] |
//! | models | [`Logistic`], [`bradley_terry`] |
//! | sample size | [`outcomes_per_group`], [`correlation_power`] |
//!
//! All intervals are at [`CONFIDENCE`]. A bound that the data do not support is absent rather
//! than guessed.
//!
//! Architecture invariants: no I/O, no parser, no async runtime. What a metric needs of a
//! language's syntax comes through [`ScoringSyntax`]; what is not plain data stays with the caller.

mod acceptance;
mod agreement;
mod bradley_terry;
mod correlation;
mod distribution;
mod execution;
mod interval;
mod logistic;
mod matrix;
pub mod metric;
mod multiple;
mod order;
mod power;
mod text;
mod within;

pub use acceptance::{READ_MS, first_line, first_token, oracle_prefix};
pub use agreement::fleiss_kappa;
pub use bradley_terry::bradley_terry;
pub use correlation::bootstrap::{
    Bootstrap, ClusterTotal, CorrelationGain, ModelVersion, SampledFigure, correlation_gain,
    two_level_bootstrap,
};
pub use correlation::coefficient::{
    Coefficient, CorrelationTest, MOST_EXACT, SignAgreement, attenuation_corrected, centred,
    correlation_power, exact_permutation_p, permutation_p_by_draws, reliability, sign_agreement,
};
pub use correlation::latent::{bootstrap_coverage, latent_correlation, pearson_interval};
pub use correlation::prediction::{BestPredictor, LinearPrediction, best_predictor};
pub use correlation::selection::{Selection, selection};
pub use distribution::normal_quantile;
pub use execution::pass_at_k;
pub use interval::clustered::{
    clustered_mean, clustered_proportion, clustered_share, clustered_standard_error,
    clustered_weighted_mean, effective_share_bounds, paired_difference, share_bounds,
};
pub use interval::difference::{
    clustered_difference, clustered_difference_of_proportions, clustered_difference_of_shares,
    design_effect,
};
pub use interval::proportion::{mcnemar_exact, wilson, wilson_bounds};
pub use interval::quantile::{median, quantile};
pub use interval::{CONFIDENCE, Estimate, chi_squared_quantile, student_quantile};
pub use logistic::{Logistic, LogisticError, LogisticSample};
pub use metric::{FigureText, METRICS, Metric, NumberFormat, Unit};
pub use multiple::holm;
pub use order::{EARLY_ERROR, OrderDecisions, confidence_sequence};
pub use power::{POWER, choices_to_tell, outcomes_per_group};
pub use text::cceval::{remove_comments_cceval, truncate_cceval};
pub use text::dependencies::dependency_invocation_rate;
pub use text::distance::{nearest_distances, nearest_lexical_distances};
pub use text::edit::{difflib_ratio, indel_distance, levenshtein};
pub use text::identifiers::identifiers_cceval;
pub use text::leakage::{leakage_tokens, ngram_overlap, ngrams, peakedness};
pub use text::sample::{Sample, ScoringSyntax};
pub use text::{Scorer, Shown, TEXT_METRICS, TextMetric, hole_metrics, reported_text_metrics};
pub use within::{OrderChange, TimedPass, WAITING_TIMES, order_changes, pass_within};

#[cfg(test)]
mod tests;
