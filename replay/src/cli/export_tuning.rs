//! `fillrate export-tuning`.

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::tuning::{self, TuningOutcome, TuningPlan};
use fillrate_mine::contexts::{ContextLevel, PromptForm};
use fillrate_mine::minhash::NearDuplicates;
use fillrate_report::table::{TextTable, TextWidth};
use serde_json::json;
use strum::VariantArray;

use super::{CliError, Success, progress, success};

/// Write functions with documentation and dependencies as instruction-tuning data.
///
/// Each function of the files that holes may be cut into becomes prompts that end where its body
/// begins, as RepoExec has them (§6.3 of its paper), and a completion, its body. The evaluator's
/// reference page documents the rows. No test runs, and no package is installed.
#[derive(Args)]
pub(super) struct TuningArguments {
    /// The corpus: a manifest file, or a repository: a folder, or an address with `@REVISION`
    corpus: PathBuf,
    /// The file for the rows, as JSON lines
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Level of context of a function's dependencies: full, medium, small; a row for each
    #[arg(long, value_delimiter = ',', value_name = "LEVEL", default_values_t = ContextLevel::VARIANTS.to_vec())]
    contexts: Vec<ContextLevel>,
    /// The forms of prompts: base, instruct-1, instruct-2; a row for each
    #[arg(long, value_delimiter = ',', value_name = "FORM", default_values_t = [PromptForm::Instruct1, PromptForm::Instruct2])]
    prompts: Vec<PromptForm>,
    /// Leave out functions that contain or resemble these tasks' references; may be repeated
    #[arg(long, value_name = "TASKS")]
    exclude: Vec<PathBuf>,
    /// The share of common shingles of five words and signs from which two texts are duplicates
    #[arg(long, value_name = "SHARE", default_value_t = 0.7, value_parser = similarity)]
    similarity: f64,
    /// The share of repositories for validation: of two or more at least one
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = super::share)]
    validation: f64,
    /// Another seed chooses other repositories for validation
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

/// A similarity that duplicates may have.
fn similarity(text: &str) -> Result<f64, String> {
    let least = NearDuplicates::LEAST;
    super::share(text)
        .ok()
        .filter(|share| *share >= least)
        .ok_or_else(|| format!("it must be a number from {least} to 1"))
}

pub(super) fn run(arguments: &TuningArguments, width: TextWidth) -> Result<Success, CliError> {
    super::check_writable_file(&arguments.output)?;
    let inputs = arguments.exclude.iter().chain([&arguments.corpus]);
    super::check_not_input(&arguments.output, inputs)?;
    let plan = TuningPlan {
        corpus: arguments.corpus.clone(),
        output: arguments.output.clone(),
        levels: arguments.contexts.clone(),
        forms: arguments.prompts.clone(),
        exclude: arguments.exclude.clone(),
        similarity: arguments.similarity,
        validation: arguments.validation,
        seed: arguments.seed,
    };
    let outcome = tuning::run(&plan, &*progress::listener())?;
    super::report_absent(&outcome.absent);
    if arguments.json {
        outln!(
            "{}",
            json!({"rows": outcome.rows, "projects": outcome.projects,
                   "short_references": outcome.short_references})
        );
    } else {
        print_table(&plan, &outcome, width);
    }
    Ok(success(&outcome.absent))
}

fn print_table(plan: &TuningPlan, outcome: &TuningOutcome, width: TextWidth) {
    let mut table = TextTable::new([
        "repository",
        "license",
        "split",
        "documented",
        "no dependencies",
        "of evaluation sets",
        "duplicates",
        "functions",
    ]);
    for one in &outcome.projects {
        let counts = [
            one.documented,
            one.independent,
            one.excluded,
            one.duplicates,
            one.functions,
        ];
        let mut cells = vec![
            one.project.clone(),
            one.license.clone().unwrap_or_else(|| "–".to_owned()),
            one.split.to_owned(),
        ];
        cells.extend(counts.map(|count| count.to_string()));
        table.add_row(cells);
    }
    outln!("{}", table.render(width));
    if outcome.short_references > 0 {
        outln!(
            "{} references of the evaluation sets have fewer than 10 words and signs; beyond their own \
             file, they exclude only functions whose bodies they resemble",
            outcome.short_references
        );
    }
    let revealing: usize = outcome.projects.iter().map(|one| one.revealing).sum();
    if revealing > 0 {
        outln!(
            "{revealing} rows are left out, because their prompts show code of the evaluation sets"
        );
    }
    let functions: usize = outcome.projects.iter().map(|one| one.functions).sum();
    outln!(
        "{} rows of {functions} functions in {}",
        outcome.rows,
        plan.output.display()
    );
}
