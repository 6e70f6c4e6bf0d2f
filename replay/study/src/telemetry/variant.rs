//! The variants of acceptance and retention: what each is the mean of, for statistics and studies
//! alike.

use std::collections::BTreeMap;

use fillrate_metrics::metric::{
    ACCEPTANCE_CHARACTERS, ACCEPTANCE_READ, ACCEPTANCE_SHOWN, COMPLETED_CODE,
};
use fillrate_metrics::{Estimate, clustered_share};
use fillrate_server::telemetry::EnteredCharacters;

use super::impression::{Cluster, Impression};

/// A share among completions or characters. Ordered as reports print them, the main one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variant {
    /// Accepted / shown.
    Shown,
    /// Accepted / shown for [`READ_MS`](fillrate_metrics::READ_MS) or longer, or accepted.
    Read,
    /// As [`Variant::Read`], weighted by characters.
    Characters,
    /// Accepted characters / all characters that entered the files, by file.
    CompletedCode,
    /// Retained / accepted and observed the given number of seconds later, in one of two measures.
    AfterAccept(u64, RetentionMeasure),
}

/// Measure of the rest of an accepted completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RetentionMeasure {
    /// See [`Remainder::is_retained`](fillrate_server::telemetry::Remainder::is_retained).
    Retained,
    /// See
    /// [`Remainder::is_still_in_code`](fillrate_server::telemetry::Remainder::is_still_in_code).
    StillInCode,
}

impl Variant {
    /// The name in reports.
    pub(super) fn name(self) -> String {
        match self {
            Self::Shown => ACCEPTANCE_SHOWN.name.to_owned(),
            Self::Read => ACCEPTANCE_READ.name.to_owned(),
            Self::Characters => ACCEPTANCE_CHARACTERS.name.to_owned(),
            Self::CompletedCode => COMPLETED_CODE.name.to_owned(),
            Self::AfterAccept(seconds, RetentionMeasure::Retained) => format!("retained@{seconds}"),
            Self::AfterAccept(seconds, RetentionMeasure::StillInCode) => {
                format!("still-in-code@{seconds}")
            }
        }
    }

    /// True if its samples have weights, so that it is not a proportion of counts.
    fn is_weighted(self) -> bool {
        matches!(self, Self::Characters | Self::CompletedCode)
    }
}

/// A sample: its cluster, its weight and its value from 0 to 1.
pub(super) type VariantSample = (Cluster, f64, f64);

/// The samples of each variant that has any.
#[derive(Debug, Default)]
pub(super) struct VariantSamples(BTreeMap<Variant, Vec<VariantSample>>);

impl VariantSamples {
    /// Collects the samples of impressions, clustered as `cluster` says.
    pub(super) fn from_impressions(
        impressions: &[&Impression<'_>],
        cluster: &dyn Fn(&Impression<'_>) -> Cluster,
    ) -> Self {
        let mut samples = Self::default();
        for one in impressions {
            let mut add = |variant, weight: f64, holds: bool| {
                samples.add(variant, (cluster(one), weight, f64::from(u8::from(holds))));
            };
            let accepted = one.accepted.is_some();
            if one.shown.is_some() {
                add(Variant::Shown, 1.0, accepted);
            }
            if one.is_read() {
                add(Variant::Read, 1.0, accepted);
                add(Variant::Characters, one.characters() as f64, accepted);
            }
            // What could not be observed is unknown.
            let observed = one.retention.iter().filter(|_| accepted);
            for (seconds, left) in observed.filter_map(|(at, left)| Some((*at, left.as_ref()?))) {
                let variant = |measure| Variant::AfterAccept(seconds, measure);
                add(variant(RetentionMeasure::Retained), 1.0, left.is_retained());
                add(
                    variant(RetentionMeasure::StillInCode),
                    1.0,
                    left.is_still_in_code(),
                );
            }
        }
        samples
    }

    /// Adds the samples of [`Variant::CompletedCode`]: of each file the share of the characters
    /// that entered it which were accepted, weighted by the former.
    #[must_use]
    pub(super) fn with_entered(
        mut self,
        impressions: &[&Impression<'_>],
        entered: &[&EnteredCharacters],
    ) -> Self {
        let mut files: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
        for one in entered {
            files.entry((&one.session, &one.file)).or_default().0 += one.characters;
        }
        for one in impressions {
            let file = (&*one.answered.session, &*one.answered.file);
            if let Some(file) = files.get_mut(&file) {
                file.1 += one.accepted_characters();
            }
        }
        for ((session, file), (entered, accepted)) in files {
            if entered > 0 {
                let cluster = (session.to_owned(), file.to_owned());
                // What was accepted entered the file, even if the editor's count lacks it.
                let entered = entered.max(accepted) as f64;
                let sample = (cluster, entered, accepted as f64 / entered);
                self.add(Variant::CompletedCode, sample);
            }
        }
        self
    }

    fn add(&mut self, variant: Variant, sample: VariantSample) {
        self.0.entry(variant).or_default().push(sample);
    }

    /// The samples by variant, the main variant first.
    pub(super) fn into_variants(self) -> impl Iterator<Item = (Variant, Vec<VariantSample>)> {
        self.0.into_iter()
    }

    /// By name, the outcomes of each variant that is a proportion of counts.
    pub(super) fn outcomes(&self) -> BTreeMap<String, Vec<(Cluster, bool)>> {
        let counted = self.0.iter().filter(|(variant, _)| !variant.is_weighted());
        counted
            .map(|(variant, samples)| (variant.name(), outcomes(samples)))
            .collect()
    }

    /// By name, the estimate of each variant, with a clustered interval.
    pub(super) fn estimates(&self) -> BTreeMap<String, Estimate> {
        let estimates = self.0.iter();
        estimates
            .filter_map(|(variant, samples)| Some((variant.name(), clustered_share(samples)?)))
            .collect()
    }
}

fn outcomes(samples: &[VariantSample]) -> Vec<(Cluster, bool)> {
    // These values are 0 or 1.
    let outcomes = samples.iter();
    outcomes
        .map(|(cluster, _, value)| (cluster.clone(), *value > 0.5))
        .collect()
}
