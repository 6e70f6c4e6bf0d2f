//! `fillrate stats`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::projects::{check_projects, prepare, retain_projects_of};
use fillrate_language::task;
use fillrate_report::dataset::{Dataset, HoleInFile};
use fillrate_report::table::TextWidth;
use fillrate_verdict::corpus::Corpus;
use serde_json::json;

use super::{CliError, Success, progress};

/// Show what holes a tasks file has: how many, of what, and how large.
#[derive(Args)]
pub(super) struct StatsArguments {
    /// The holes: a file that `mine` wrote
    tasks: PathBuf,
    /// The corpus they were mined from, to measure the code around them too
    #[arg(long, value_name = "MANIFEST")]
    corpus: Option<PathBuf>,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &StatsArguments, width: TextWidth) -> Result<Success, CliError> {
    let holes = task::read(&arguments.tasks)?;
    let (prepared, absent) = match &arguments.corpus {
        Some(path) => {
            let corpus = Corpus::from_environment()?;
            let mut manifest = corpus.load_manifest(path)?;
            check_projects(&holes, &manifest, path)?;
            retain_projects_of(&mut manifest, &holes);
            prepare(&corpus, &manifest, None, &*progress::listener())?
        }
        None => (Vec::new(), Vec::new()),
    };
    // Several holes are of one file, which is read once.
    let mut files: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for hole in &holes {
        let of_project = prepared
            .iter()
            .find(|prepared| prepared.project.name == hole.project);
        let key = (hole.project.as_str(), hole.path.as_str());
        if let Some(prepared) = of_project
            && !files.contains_key(&key)
        {
            let path = prepared.source.join(&hole.path);
            let contents = std::fs::read_to_string(&path).map_err(CliError::file(&path))?;
            files.insert(key, contents);
        }
    }
    let entries = holes
        .iter()
        .map(|hole| {
            let contents = files.get(&(hole.project.as_str(), hole.path.as_str()));
            let around = contents.map(|text| hole.cut(text)).transpose()?;
            Ok(HoleInFile { hole, around })
        })
        .collect::<Result<Vec<_>, CliError>>()?;
    let dataset = Dataset::measure(&entries);
    if arguments.json {
        let absent: BTreeMap<_, _> = absent
            .iter()
            .map(|project| (&project.name, &project.state.reason))
            .collect();
        let whole = json!({"tasks": arguments.tasks, "rows": dataset.rows, "absent": absent});
        outln!("{whole}");
    } else {
        out!("{}", dataset.table(width));
        for project in &absent {
            outln!("{}", project.describe());
        }
    }
    Ok(super::success(&absent))
}
