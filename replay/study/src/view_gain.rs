//! Compares views of a hole's file by how well the main offline metric predicts in them.

use fillrate_metrics::{Coefficient, Estimate, ModelVersion, SampledFigure, correlation_gain};
use fillrate_mine::written::CodeView;
use serde::Serialize;

use super::format::{bound, decimals};
use super::input::StudyOptions;
use super::join::JoinedVersion;
use super::offline::named_in;
use super::{MetricPair, SideFigures};

/// The main offline metric, compared with itself in another [view](CodeView) by how well the two
/// predict the second side's main metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ViewGain {
    /// The main offline metric.
    pub offline: String,
    /// The same metric in the other view.
    pub other: String,
    /// The second side's metric.
    pub second: String,
    /// Pearson's r of the main offline metric, over the versions that have both. It is positive if
    /// a better figure goes with a better one.
    pub r: f64,
    /// The same of the other view.
    pub other_r: f64,
    /// The second minus the first, with the interval of a two-level bootstrap; n is the number of
    /// versions.
    pub gain: Estimate,
}

impl ViewGain {
    /// Compares the main pair with each view that the offline side has.
    pub(super) fn of_views(
        sides: &SideFigures,
        versions: &[JoinedVersion],
        main: &MetricPair,
        options: &StudyOptions,
    ) -> Vec<Self> {
        let others = CodeView::all().filter(|view| *view != CodeView::Finished);
        let others = others.map(|view| named_in(view, &main.offline));
        others
            .filter_map(|other| Self::new(sides, versions, main, other, options))
            .collect()
    }

    fn new(
        sides: &SideFigures,
        versions: &[JoinedVersion],
        main: &MetricPair,
        other: String,
        options: &StudyOptions,
    ) -> Option<Self> {
        let language = main.language.as_deref();
        let of_view = sides.paired(versions, language, &other, &main.second);
        let own = sides.paired(versions, language, &main.offline, &main.second);
        let both = own.into_iter().filter_map(|one| {
            let other = of_view.iter().find(|it| it.version == one.version)?;
            let version = ModelVersion {
                offline: one.offline.drawable(),
                online: one.second.drawable(),
            };
            Some((version, other.offline.drawable()))
        });
        let (figures, others): (Vec<ModelVersion>, Vec<SampledFigure>) = both.unzip();
        let (draws, seed) = (options.bootstrap_draws, options.seed);
        let found = correlation_gain(&figures, &others, Coefficient::Pearson, draws, seed)?;
        let gain = found.gain.estimate;
        // Of a metric that is better if it is lower, the signs are those of a good prediction.
        let sign = main.direction();
        let (low, high) = match sign < 0.0 {
            true => (gain.high, gain.low),
            false => (gain.low, gain.high),
        };
        Some(Self {
            offline: main.offline.clone(),
            other,
            second: main.second.clone(),
            r: sign * found.own,
            other_r: sign * found.other,
            gain: Estimate {
                value: sign * gain.value,
                low: low.map(|low| sign * low),
                high: high.map(|high| sign * high),
                ..gain
            },
        })
    }

    /// The comparison in a sentence.
    pub(super) fn sentence(&self) -> String {
        let (low, high) = (self.gain.low, self.gain.high);
        let conclusion = if low.is_some_and(|low| low > 0.0) {
            format!("{} predicts it better", self.other)
        } else if high.is_some_and(|high| high < 0.0) {
            format!("{} predicts it better", self.offline)
        } else {
            "these versions can't tell which predicts it better".to_owned()
        };
        format!(
            "{} predicts {} with r = {}, {} with r = {}: a difference of {} (two-level bootstrap {} \
             to {}, n = {} versions), so {conclusion}.",
            self.offline,
            self.second,
            decimals(self.r, 3),
            self.other,
            decimals(self.other_r, 3),
            decimals(self.gain.value, 3),
            bound(low),
            bound(high),
            self.gain.n,
        )
    }
}
