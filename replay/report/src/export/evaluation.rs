//! Runs in the schema of [Every Eval Ever](https://github.com/evaleval/every_eval_ever), version
//! [`SCHEMA_VERSION`]: an aggregate record of a run, and a row for each attempt with a verdict.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use fillrate_engine::store::{Run, StoreError, context_title};
use fillrate_language::task::{Hole, sha256_hex};
use fillrate_metrics::metric::{Metric, PASS_AT_1, Unit};
use fillrate_metrics::{CONFIDENCE, Estimate};
use fillrate_verdict::Outcome;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::ExportError;
use crate::developers::DeveloperFigures;
use crate::figures::{ReportRow, report_row};
use crate::scored::{ScoredAttempt, load_scored, without_repairs};

/// The version of the schema.
const SCHEMA_VERSION: &str = "0.3.0";

/// Placeholder of the hole in a row's input.
const HOLE: &str = "<|hole|>";

/// The result that rows belong to.
const PASS: &str = PASS_AT_1.name;

/// A run's first completions, as one evaluation of one model.
pub struct EvaluationRecord<'a> {
    run: &'a Run,
    identity: Value,
    figures: ReportRow,
    scored: Vec<ScoredAttempt>,
    /// Time of the record, in seconds since 1970.
    made_at: u64,
}

impl<'a> EvaluationRecord<'a> {
    /// Reads a run and computes its figures.
    ///
    /// # Errors
    /// The run can't be read.
    pub fn load(run: &'a Run) -> Result<Self, StoreError> {
        let scored = without_repairs(load_scored(run)?);
        let all: Vec<&ScoredAttempt> = scored.iter().collect();
        let mut figures = report_row("*", "*", &all);
        figures.policies = DeveloperFigures::load(run)?.figures(None, &all);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Self {
            run,
            identity: run.identity()?,
            figures,
            scored,
            made_at: since.map_or(0, |since| since.as_secs()),
        })
    }

    /// Name of the evaluation: the corpus under the context and view.
    fn name(&self) -> String {
        let context = context_title(&self.identity).unwrap_or_else(|| "unknown".to_owned());
        format!("{}.{context}", self.corpus())
    }

    fn corpus(&self) -> &str {
        self.identity["corpus"].as_str().unwrap_or("unknown")
    }

    fn model(&self) -> &str {
        self.identity["model"].as_str().unwrap_or("unknown")
    }

    /// The fingerprint of the settings, if an attempt knows it.
    fn configuration(&self) -> &str {
        let mut traces = self
            .scored
            .iter()
            .filter_map(|one| one.attempt.trace.as_ref());
        // Requests that failed early have no fingerprint.
        let known = traces.find(|trace| !trace.configuration.is_empty());
        known.map_or("unknown", |trace| &trace.configuration)
    }

    fn id(&self) -> String {
        let (name, model) = (self.name(), self.model());
        format!("{name}.{}/{model}/{}", self.configuration(), self.made_at)
    }

    /// The paths of record and rows in a data store: `data/COLLECTION/DEVELOPER/MODEL/UUID…`.
    /// They depend on the run alone.
    fn paths(&self) -> [String; 2] {
        let (developer, model) = self
            .model()
            .split_once('/')
            .unwrap_or(("unknown", self.model()));
        let [corpus, developer, model] = [self.corpus(), developer, model].map(portable);
        let folder = self.run.folder();
        // The same run has the same path of its record, so a second export replaces the first.
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let hash = sha256_hex(format!("{}\0{}", folder.display(), self.identity).as_bytes());
        // The form of a random UUID.
        let id = [&hash[..8], &hash[8..12], &format!("4{}", &hash[13..16])].join("-");
        let stem = format!(
            "data/{corpus}/{developer}/{model}/{id}-a{}-{}",
            &hash[17..20],
            &hash[20..32]
        );
        [format!("{stem}.json"), format!("{stem}_samples.jsonl")]
    }

    /// The aggregate record.
    pub fn aggregate(&self) -> Value {
        let policies = self.figures.policies.iter();
        let results = self.figures.metrics.iter();
        let results = results.chain(policies.flat_map(|policy| &policy.metrics));
        let results: Vec<Value> = results.map(|(name, one)| self.result(name, one)).collect();
        json!({
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self.id(),
            "retrieved_timestamp": self.made_at.to_string(),
            "source_metadata": {
                "source_name": "fillrate",
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": "fillrate", "version": self.identity["program"].as_str().unwrap_or("unknown")},
            "model_info": {
                "name": self.model(),
                "id": self.model(),
                "additional_details": {
                    "deployment_type": "unknown",
                    "model_availability": "unknown",
                    "configuration": self.configuration(),
                },
            },
            "evaluation_results": results,
        })
    }

    fn result(&self, name: &str, estimate: &Estimate) -> Value {
        let metric = Metric::find(name);
        let unit = Metric::of_figure(name).unit;
        let mut config = json!({
            "metric_id": format!("fillrate.{name}"),
            "metric_name": name,
            "metric_unit": match unit {
                Unit::ZeroOrOne | Unit::Fraction | Unit::Saving => "proportion",
                Unit::Percent => "points",
                Unit::Milliseconds => "ms",
                Unit::Tokens => "tokens",
                Unit::Number => "number",
                Unit::Money => "currency",
            },
            "lower_is_better": metric.is_some_and(|metric| !metric.higher_is_better),
            "score_type": "continuous",
            "min_score": bound(*unit.range().start()),
            "max_score": bound(*unit.range().end()),
        });
        if let Some(metric) = metric {
            config["evaluation_description"] = metric.meaning.into();
        }
        if let Some(k) = name
            .strip_prefix("pass@")
            .and_then(|k| k.parse::<u64>().ok())
        {
            config["metric_id"] = "pass_at_k".into();
            config["metric_kind"] = "pass_rate".into();
            config["metric_parameters"] = json!({"k": k});
        }
        let mut details =
            json!({"n_counts": metric.map_or("samples", |metric| metric.denominator)});
        let mut uncertainty = json!({"num_samples": estimate.n});
        if let (Some(lower), Some(upper)) = (estimate.low, estimate.high) {
            let method = match estimate.clusters {
                Some(_) => "analytic, clustered by file",
                None => "analytic",
            };
            uncertainty["confidence_interval"] = json!({
                "lower": lower,
                "upper": upper,
                "confidence_level": CONFIDENCE,
                "method": method,
            });
        }
        if let Some(clusters) = estimate.clusters {
            details["clusters"] = clusters.to_string().into();
        }
        json!({
            "evaluation_result_id": name,
            "evaluation_name": self.name(),
            "source_data": {
                "dataset_name": self.corpus(),
                "source_type": "other",
                "additional_details": {
                    "holes": self.figures.holes.to_string(),
                    "selection": self.identity["holes"].to_string(),
                },
            },
            "metric_config": config,
            "score_details": {"score": estimate.value, "details": details, "uncertainty": uncertainty},
            "generation_config": self.generation(),
        })
    }

    /// The settings that decide a model's text.
    fn generation(&self) -> Value {
        let model = &self.identity["configuration"]["model"];
        let mut arguments = json!({});
        // Recorded completions and the empty one were not sampled.
        let is_sampled = !["recorded", "empty"].contains(&model["protocol"].as_str().unwrap_or(""));
        for name in ["temperature", "top_p", "max_tokens"] {
            if is_sampled && model[name].is_number() {
                arguments[name] = model[name].clone();
            }
        }
        // Those that `each_row` has no row for.
        let is_left_out = |one: &&ScoredAttempt| !one.attempt.verdict.outcome.is_evidence();
        let left_out = self.scored.iter().filter(is_left_out).count();
        let mut details = json!({"left_out": left_out.to_string()});
        let of_sampling = ["family", "infill", "seed"].into_iter();
        for name in of_sampling.filter(|_| is_sampled).chain(["protocol"]) {
            match &model[name] {
                Value::Null => {}
                Value::String(text) => details[name] = text.as_str().into(),
                other => details[name] = other.to_string().into(),
            }
        }
        json!({"generation_args": arguments, "additional_details": details})
    }

    /// Hands over a row for each attempt whose outcome says something about the completion, and
    /// returns how many there are.
    ///
    /// # Errors
    /// The run can't be read, or `visit` fails.
    pub fn each_row(
        &self,
        mut visit: impl FnMut(Value) -> Result<(), ExportError>,
    ) -> Result<usize, ExportError> {
        let holes = self.run.holes()?;
        let (id, name) = (self.id(), self.name());
        let mut rows = 0;
        for one in &self.scored {
            let hole = holes.get(&one.attempt.hole);
            // Only attempts with a verdict have a score.
            let Some(hole) = hole.filter(|_| one.attempt.verdict.outcome.is_evidence()) else {
                continue;
            };
            let contents = self.run.source(hole)?;
            let mut row = row(hole, &contents, one);
            row["evaluation_id"] = id.as_str().into();
            row["model_id"] = self.model().into();
            row["evaluation_name"] = name.as_str().into();
            visit(row)?;
            rows += 1;
        }
        Ok(rows)
    }
}

/// The row of an attempt, without what names the evaluation.
fn row(hole: &Hole, contents: &str, one: &ScoredAttempt) -> Value {
    let attempt = &one.attempt;
    let trace = attempt.trace.as_ref();
    let passed = attempt.verdict.outcome == Outcome::Passed;
    let input = match hole.cut(contents) {
        Ok((prefix, suffix)) => format!("{prefix}{HOLE}{suffix}"),
        Err(_) => HOLE.to_owned(),
    };
    let mut metadata = json!({
        "project": hole.project,
        "language": hole.language,
        "path": hole.path,
        "kind": hole.kind.name(),
        "sample": attempt.sample.to_string(),
        "outcome": attempt.verdict.outcome.name(),
        "key": attempt.key,
    });
    for (name, value) in [
        (
            "reason",
            Some(attempt.verdict.reason.as_str()).filter(|text| !text.is_empty()),
        ),
        ("task_id", hole.task_id.as_deref()),
        (
            "category",
            hole.category.as_ref().map(|category| category.name.name()),
        ),
    ] {
        if let Some(value) = value {
            metadata[name] = value.into();
        }
    }
    json!({
        "schema_version": SCHEMA_VERSION,
        "evaluation_result_id": PASS,
        "sample_id": hole.id,
        "sample_hash": sha256_hex(format!("{input}{}", hole.reference).as_bytes()),
        "interaction_type": "single_turn",
        "input": {
            "raw": input,
            "formatted": trace.map(|trace| &trace.prompt).filter(|prompt| !prompt.is_empty()),
            "reference": [hole.reference],
        },
        "output": {"raw": attempt.offered},
        "answer_attribution": [{
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": attempt.completion(),
            "extraction_method": "custom",
            "is_terminal": true,
        }],
        "evaluation": {"score": u8::from(passed), "is_correct": passed},
        "performance": {
            "latency_ms": one.latency_ms,
            "time_to_first_token_ms": one.model_trace().and_then(|trace| trace.first_text_ms),
            "generation_time_ms": one.model_trace().map(|trace| trace.model_ms),
        },
        "metadata": metadata,
    })
}

/// A bound of a metric's values; JSON has no infinite numbers.
fn bound(value: f64) -> Value {
    match value {
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value => value.into(),
    }
}

/// A name that every file system takes for one component of a path.
fn portable(name: &str) -> String {
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() || "-_".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(kept).collect();
    match name.trim_matches('-') {
        "" | "data" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}

/// Writes a record of each run and its rows below `data` in a folder, and returns the records'
/// paths.
///
/// # Errors
/// A run can't be read, or a file can't be written.
pub fn write_every_eval_ever(runs: &[Run], folder: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let mut written = Vec::new();
    for run in runs {
        let record = EvaluationRecord::load(run)?;
        let [path, rows_path] = record.paths();
        let fault = |path: &Path| {
            let path = path.to_owned();
            |source| ExportError::File { path, source }
        };
        let (to, rows_to) = (folder.join(path), folder.join(&rows_path));
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).map_err(fault(parent))?;
        }
        let file = std::fs::File::create(&rows_to).map_err(fault(&rows_to))?;
        let mut file = BufWriter::new(file);
        let mut hash = Sha256::new();
        let rows = record.each_row(|row| {
            let line = format!("{row}\n");
            hash.update(&line);
            file.write_all(line.as_bytes()).map_err(fault(&rows_to))
        })?;
        file.flush().map_err(fault(&rows_to))?;
        let checksum: String = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        // The aggregate refers to the rows by checksum, so it is written after them.
        let mut aggregate = record.aggregate();
        aggregate["detailed_evaluation_results"] = json!({
            "format": "jsonl",
            "file_path": rows_path,
            "hash_algorithm": "sha256",
            "checksum": checksum,
            "total_rows": rows,
        });
        std::fs::write(&to, format!("{aggregate:#}\n")).map_err(fault(&to))?;
        written.push(to);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use fillrate_engine::store::Attempt;
    use fillrate_language::task::HoleKind;
    use fillrate_server::completion::Trace;

    use super::*;
    use crate::tests::{FILE, attempt};

    #[test]
    fn recorded_completions_have_no_times_of_a_model() {
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 14..27, FILE);
        let scored = || {
            let attempt = Attempt {
                trace: Some(Trace {
                    first_text_ms: Some(10.0),
                    model_ms: 60.0,
                    ..Trace::default()
                }),
                ..attempt(&hole, 0, &["total = a + 1"], Outcome::Passed)
            };
            ScoredAttempt::score(&hole, FILE, attempt)
        };
        let performance =
            |has_latency| row(&hole, FILE, &scored().timed(has_latency))["performance"].clone();
        assert_eq!(
            performance(true),
            json!({"latency_ms": 10.0, "time_to_first_token_ms": 10.0, "generation_time_ms": 60.0})
        );
        assert_eq!(
            performance(false),
            json!({"latency_ms": null, "time_to_first_token_ms": null, "generation_time_ms": null})
        );
        assert!(scored().timed(false).model_trace().is_none());
    }
}
