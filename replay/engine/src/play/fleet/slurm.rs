//! Slurm: an array of the parts, and a job that merges them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{FleetPlan, shell_word};
use crate::play::PlayError;
use crate::play::events::{Listener, Phase, PhaseProgress};
use crate::store::PARTITIONS_VARIABLE;

/// The scripts for `sbatch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmScripts {
    /// The array of the parts.
    pub parts: PathBuf,
    /// The job that merges them.
    pub merge: PathBuf,
}

/// The numbers of submitted jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJobs {
    /// The array's.
    pub parts: String,
    /// The one of the job that merges.
    pub merge: String,
}

/// Interval between two queries of the queue.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Writes the scripts into the folder that the parts share. `memory` is a part's, in GiB.
///
/// # Errors
/// The folder can't be written to.
pub fn write_scripts(plan: &FleetPlan, memory: u16) -> Result<SlurmScripts, PlayError> {
    let write = |name: &str, text: String| plan.write_file("slurm", name, &text);
    Ok(SlurmScripts {
        parts: write("parts.sh", parts_script(plan, memory))?,
        merge: write("merge.sh", merge_script(plan, memory))?,
    })
}

/// A task for each part. A task that lost its node is queued again and does what is missing.
fn parts_script(plan: &FleetPlan, memory: u16) -> String {
    let FleetPlan {
        parts,
        processors,
        minutes,
        ..
    } = plan;
    let (variables, line) = (variables(plan), plan.replay_line());
    format!(
        "#!/bin/bash\n\
         #SBATCH --job-name=fillrate\n\
         #SBATCH --array=1-{parts}\n\
         #SBATCH --requeue\n\
         #SBATCH --ntasks=1\n\
         #SBATCH --cpus-per-task={processors}\n\
         #SBATCH --mem={memory}G\n\
         #SBATCH --time={minutes}\n\
         {}\
         {variables}\
         exec {line}\n",
        output(plan, "part-%a")
    )
}

fn merge_script(plan: &FleetPlan, memory: u16) -> String {
    format!(
        "#!/bin/bash\n\
         #SBATCH --job-name=fillrate-merge\n\
         #SBATCH --requeue\n\
         #SBATCH --ntasks=1\n\
         #SBATCH --cpus-per-task={}\n\
         #SBATCH --mem={memory}G\n\
         #SBATCH --time={}\n\
         {}\
         set -eu\n\
         {}{}",
        plan.processors,
        plan.minutes,
        output(plan, "merge"),
        variables(plan),
        plan.merge_lines()
    )
}

/// Path of a job's output. A task that is queued again adds to it.
fn output(plan: &FleetPlan, name: &str) -> String {
    // In a directive, quotes hold a path together, and `%` of its own folders is doubled.
    let folder = plan
        .folder("slurm")
        .display()
        .to_string()
        .replace('%', "%%");
    format!("#SBATCH --output=\"{folder}/{name}.log\"\n#SBATCH --open-mode=append\n")
}

/// Sets what the commands depend on: the folder that options are relative to, and variables.
fn variables(plan: &FleetPlan) -> String {
    let word = |path: &Path| shell_word(&path.display().to_string());
    let start = plan.start_folder.as_deref();
    format!(
        "{}export {PARTITIONS_VARIABLE}={}\nexport FILLRATE_CACHE={}\n",
        start.map_or(String::new(), |folder| format!(
            "cd {} || exit\n",
            word(folder)
        )),
        plan.parts,
        word(&plan.cache)
    )
}

/// Submits the array, and the job that merges once no part is left in the queue.
///
/// # Errors
/// Slurm refuses.
pub fn submit(plan: &FleetPlan, scripts: &SlurmScripts) -> Result<SlurmJobs, PlayError> {
    let parts = sbatch(&[], &scripts.parts)?;
    // A part that failed must not keep the others from being merged, or from being named.
    let merge = sbatch(&[format!("--dependency=afterany:{parts}")], &scripts.merge)?;
    let jobs = SlurmJobs { parts, merge };
    let path = jobs_file(plan);
    let text = format!("{}\n{}\n", jobs.parts, jobs.merge);
    std::fs::write(&path, text).map_err(PlayError::file(&path))?;
    Ok(jobs)
}

/// The jobs that were submitted last.
///
/// # Errors
/// None were.
pub fn submitted(plan: &FleetPlan) -> Result<SlurmJobs, PlayError> {
    let text = std::fs::read_to_string(jobs_file(plan)).unwrap_or_default();
    let mut lines = text.lines().map(str::to_owned);
    match (lines.next(), lines.next()) {
        (Some(parts), Some(merge)) => Ok(SlurmJobs { parts, merge }),
        _ => Err(PlayError::Refused(format!(
            "no jobs were submitted for {}; submit them by --submit",
            plan.out.display()
        ))),
    }
}

/// Waits until no part is in the queue, and then for the job that merges them.
///
/// # Errors
/// Slurm does not answer.
pub fn follow(
    plan: &FleetPlan,
    jobs: &SlurmJobs,
    listener: &dyn Listener,
) -> Result<(), PlayError> {
    let parts = plan.parts as usize;
    let progress = PhaseProgress::start(listener, Phase::Fleet, None, parts);
    loop {
        let left = queued(&jobs.parts)?;
        progress.set(parts.saturating_sub(left), parts);
        if left == 0 {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    drop(progress);
    while queued(&jobs.merge)? > 0 {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Returns the number of a job's tasks that wait or run.
fn queued(job: &str) -> Result<usize, PlayError> {
    let asked = run(
        "squeue",
        &["--noheader", "--array", "--format=%i", "--jobs", job],
    );
    match asked {
        Ok(text) => Ok(text.lines().filter(|line| !line.trim().is_empty()).count()),
        // A job that ended some minutes ago is not known any more.
        Err(PlayError::Refused(reason)) if reason.contains("Invalid job id") => Ok(0),
        Err(error) => Err(error),
    }
}

fn sbatch(options: &[String], script: &std::path::Path) -> Result<String, PlayError> {
    let script = script.display().to_string();
    let mut arguments = vec!["--parsable"];
    arguments.extend(options.iter().map(String::as_str));
    arguments.push(&script);
    let answer = run("sbatch", &arguments)?;
    // `JOB`, or `JOB;CLUSTER`.
    let job = answer.trim().split(';').next().unwrap_or_default();
    Ok(job.to_owned())
}

/// Runs a program of Slurm and returns what it prints.
fn run(program: &str, arguments: &[&str]) -> Result<String, PlayError> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| {
        PlayError::Refused(format!(
            "`{program}` can't be run ({error}); run the command on a machine of the Slurm \
             cluster, or submit the scripts there"
        ))
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().replace('\n', "; ");
    Err(PlayError::Refused(format!("`{program}` fails: {said}")))
}

fn jobs_file(plan: &FleetPlan) -> PathBuf {
    plan.folder("slurm").join("jobs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::fleet::tests::plan;

    #[test]
    fn scripts_name_resources_parts_and_the_shared_cache() {
        let parts = parts_script(&plan(), 8);
        for line in [
            "#SBATCH --array=1-200",
            "#SBATCH --requeue",
            "#SBATCH --cpus-per-task=4",
            "#SBATCH --mem=8G",
            "#SBATCH --time=90",
            "#SBATCH --output=\"/data/parts/slurm/part-%a.log\"",
            "cd /home/me || exit",
            "export FILLRATE_PARTITIONS=200",
            "export FILLRATE_CACHE=/data/cache",
        ] {
            assert!(parts.lines().any(|one| one == line), "{line}\n{parts}");
        }
        let merge = merge_script(&plan(), 8);
        let missing = merge.find("merge /data/parts --missing\n");
        let merged = merge.find("merge /data/parts -o /data/run --settle --jobs 4\n");
        assert!(missing.is_some() && missing < merged, "{merge}");
        assert!(merge.contains("\nset -eu\n"), "{merge}");
    }

    #[test]
    fn percent_signs_of_folders_are_doubled() {
        let plan = FleetPlan {
            out: "/data/50%a parts".into(),
            ..plan()
        };
        let parts = parts_script(&plan, 8);
        let line = "#SBATCH --output=\"/data/50%%a parts/slurm/part-%a.log\"";
        assert!(parts.lines().any(|one| one == line), "{parts}");
    }
}
