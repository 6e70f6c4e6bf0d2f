//! `fillrate fleet`.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::fleet::FleetPlan;
use fillrate_engine::play::fleet::hyperqueue;
use fillrate_engine::play::fleet::kubernetes::{self, KubernetesCluster};
use fillrate_engine::play::fleet::slurm::{self, SlurmScripts};
use fillrate_engine::store::{Run, StoreError, is_object_address};
use fillrate_verdict::corpus::cache::Cache;

use super::events::EventArguments;
use super::replay::ReplayArguments;
use super::{CliError, Command, CommandLine, Success};

/// Replay in parts by a scheduler: Slurm, Kubernetes or HyperQueue.
#[derive(Args)]
pub(super) struct FleetArguments {
    #[command(subcommand)]
    scheduler: Scheduler,
}

#[derive(Subcommand)]
enum Scheduler {
    /// Write the scripts of a Slurm array, and optionally submit them and follow it
    Slurm(SlurmArguments),
    /// Print the manifest of a Kubernetes Indexed Job
    Kubernetes(KubernetesArguments),
    /// Write a program that runs the parts by HyperQueue, whose Python package it needs
    ///
    /// The program, OUT/hyperqueue/run.py, submits the parts to the running server, or with --local
    /// WORKERS to one that it starts on this machine, waits for them and merges them. Started
    /// again, it runs the parts that are missing. Commands and resources are in
    /// OUT/hyperqueue/plan.json.
    Hyperqueue(PlanArguments),
}

/// The replay, and the size of its parts.
#[derive(Args)]
struct PlanArguments {
    /// The corpus: a manifest file
    corpus: PathBuf,
    /// The holes, which `mine` wrote
    #[arg(long, value_name = "FILE")]
    tasks: PathBuf,
    /// The folder that all parts share, on every worker
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The merged run's folder [default: `run` in the folder of the parts]
    #[arg(long, value_name = "RUN")]
    run: Option<PathBuf>,
    /// Number of parts: each should take longer than its start, 30 s to some minutes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    parts: u32,
    /// Processors of a part, each of which runs a job
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    processors: u16,
    /// The most time of a part, in minutes
    #[arg(long, default_value_t = 60, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// Further options of `replay`, after `--`
    #[arg(last = true, value_name = "REPLAY OPTIONS")]
    options: Vec<String>,
}

/// Memory limit of a part, for schedulers that have one.
#[derive(Args)]
struct MemoryArguments {
    /// Memory of a part, in GiB
    #[arg(long, default_value_t = 4, value_name = "GIB", value_parser = clap::value_parser!(u16).range(1..))]
    memory: u16,
}

#[derive(Args)]
struct SlurmArguments {
    #[command(flatten)]
    plan: PlanArguments,
    #[command(flatten)]
    memory: MemoryArguments,
    /// Submit the scripts as well
    #[arg(long)]
    submit: bool,
    /// Show how many parts are done until all are merged; without --submit those submitted last
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    events: EventArguments,
}

#[derive(Args)]
struct KubernetesArguments {
    #[command(flatten)]
    plan: PlanArguments,
    #[command(flatten)]
    memory: MemoryArguments,
    /// The image that holds this program, as the Containerfile makes it
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// Number of concurrent parts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: u32,
    /// The claim of a volume that several machines can write: with corpus, tasks, parts and cache,
    /// all of which are named as they are there
    #[arg(long, value_name = "CLAIM")]
    claim: String,
    /// Path at which the volume is mounted
    #[arg(long, default_value = "/fillrate", value_name = "PATH")]
    mount: String,
    /// The secret with the environment variables of models' keys
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
}

pub(super) fn run(arguments: &FleetArguments) -> Result<Success, CliError> {
    match &arguments.scheduler {
        Scheduler::Slurm(arguments) => run_slurm(arguments),
        Scheduler::Hyperqueue(arguments) => {
            let program = hyperqueue::write_program(&arguments.local_plan()?)?;
            outln!("python3 {}", super::shell_word(&program));
            Ok(Success::Whole)
        }
        Scheduler::Kubernetes(arguments) => {
            let cluster = KubernetesCluster {
                image: arguments.image.clone(),
                workers: arguments.workers,
                memory: arguments.memory.memory,
                claim: arguments.claim.clone(),
                mount: arguments.mount.clone(),
                secret: arguments.secret.clone(),
            };
            // The workers keep their cache on the volume, so that each environment is built once.
            let cache = Path::new(&arguments.mount).join("cache");
            let (plan, replay) =
                arguments
                    .plan
                    .plan("fillrate".into(), None, Path::to_owned, cache)?;
            let files = replay.iter().flat_map(|replay| replay.files());
            let own = [&plan.corpus, &plan.tasks, &plan.out, &plan.run].map(PathBuf::as_path);
            for path in own.into_iter().chain(files) {
                // Parts may be in an object store as well.
                if path == plan.out && is_object_address(path) {
                    continue;
                }
                if !path.starts_with(&arguments.mount) {
                    return Err(CliError::Refused(format!(
                        "{} is not on the volume, which is mounted at {}; name it as it is there",
                        path.display(),
                        arguments.mount
                    )));
                }
            }
            out!("{}", kubernetes::manifest(&plan, &cluster));
            Ok(Success::Whole)
        }
    }
}

impl PlanArguments {
    /// The plan for workers that have the same paths as this machine.
    fn local_plan(&self) -> Result<FleetPlan, CliError> {
        for path in [&self.corpus, &self.tasks] {
            path.metadata().map_err(CliError::file(path))?;
        }
        if is_object_address(&self.out) {
            return Err(CliError::Refused(format!(
                "{} is an object store, and what the scheduler is given is written beside the \
                 parts; name a folder that the workers share",
                self.out.display()
            )));
        }
        let program = std::env::current_exe().map_err(CliError::file("this program"))?;
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or(path.to_owned());
        let cache = Cache::from_environment()?.root().to_owned();
        let folder = std::env::current_dir().map_err(CliError::file("."))?;
        let (plan, replay) = self.plan(program, Some(folder), absolute, cache)?;
        if let Some(replay) = replay {
            for file in replay.files() {
                file.metadata().map_err(CliError::file(file))?;
            }
            replay.developer_settings()?;
        }
        Ok(plan)
    }

    /// The plan, and the replay that every worker starts.
    fn plan(
        &self,
        program: PathBuf,
        start_folder: Option<PathBuf>,
        place: impl Fn(&Path) -> PathBuf,
        cache: PathBuf,
    ) -> Result<(FleetPlan, Option<ReplayArguments>), CliError> {
        let out = place(&self.out);
        let plan = FleetPlan {
            program,
            corpus: place(&self.corpus),
            tasks: place(&self.tasks),
            run: self.run.as_deref().map_or_else(|| out.join("run"), &place),
            start_folder,
            out,
            cache,
            parts: self.parts,
            processors: self.processors,
            minutes: self.minutes,
            options: self.options.clone(),
        };
        let replay = check_options(&plan)?;
        Ok((plan, replay))
    }
}

/// Returns the arguments of the replay that every worker starts. Refuses options that `replay` would
/// refuse there, and several models, contexts or views, whose runs can't be merged into one.
fn check_options(plan: &FleetPlan) -> Result<Option<ReplayArguments>, CliError> {
    // On this machine, no scheduler says which part it is.
    // The options are parsed as the workers will, so a mistake shows here and not in 200 jobs.
    let mut words = plan.arguments("1/1");
    words.insert(0, "fillrate".to_owned());
    let parsed = CommandLine::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default();
        CliError::Refused(format!(
            "replay refuses what is after `--`: {}",
            reason.trim_start_matches("error: ")
        ))
    })?;
    let Command::Replay(replay) = parsed.command else {
        return Ok(None);
    };
    let several = [
        ("model", replay.model.len()),
        ("context", replay.context.len()),
        ("view", replay.view.len()),
    ];
    match several.into_iter().find(|(_, number)| *number > 1) {
        Some((what, _)) => Err(CliError::Refused(format!(
            "a fleet replays one {what}; start a fleet for each, with its own --out"
        ))),
        None => Ok(Some(replay)),
    }
}

fn run_slurm(arguments: &SlurmArguments) -> Result<Success, CliError> {
    let plan = arguments.plan.local_plan()?;
    if arguments.submit || !arguments.follow {
        let scripts = slurm::write_scripts(&plan, arguments.memory.memory)?;
        if !arguments.submit {
            print_commands(&scripts);
            return Ok(Success::Whole);
        }
        let jobs = slurm::submit(&plan, &scripts)?;
        outln!(
            "submitted {} parts as job {}, their merge as {}",
            plan.parts,
            jobs.parts,
            jobs.merge
        );
        if !arguments.follow {
            return Ok(Success::Whole);
        }
    }
    let advice = "the jobs go on; `--follow` without `--submit` follows them again".to_owned();
    arguments
        .events
        .listen("fleet", advice, |listener| follow_slurm(&plan, listener))
}

fn print_commands(SlurmScripts { parts, merge }: &SlurmScripts) {
    outln!(
        "job=$(sbatch --parsable {})\nsbatch --dependency=afterany:\"$job\" {}",
        super::shell_word(parts),
        super::shell_word(merge)
    );
}

fn follow_slurm(plan: &FleetPlan, listener: &dyn Listener) -> Result<Success, CliError> {
    let jobs = slurm::submitted(plan)?;
    slurm::follow(plan, &jobs, listener)?;
    let missing = plan.missing_parts()?;
    let folder = plan.folder("slurm");
    let merging = format!(
        "read merge.log in {}, and merge by sbatch {}",
        folder.display(),
        super::shell_word(&folder.join("merge.sh"))
    );
    if missing.is_empty() {
        return match Run::open(&plan.run) {
            Ok(_) => {
                outln!("run: {}", plan.run.display());
                Ok(Success::Whole)
            }
            Err(StoreError::NoRun(run)) => Err(CliError::Refused(format!(
                "all parts are finished and {} holds no run; {merging}",
                run.display()
            ))),
            Err(error) => Err(error.into()),
        };
    }
    for part in &missing {
        note!("fillrate: part {part}");
    }
    let numbers: Vec<String> = missing
        .iter()
        .map(|one| one.partition.part().to_string())
        .collect();
    Err(CliError::Refused(format!(
        "{} of {} parts are missing; read their output in {}, and run them again by sbatch \
         --array={} {}; then {merging}",
        missing.len(),
        plan.parts,
        folder.display(),
        numbers.join(","),
        super::shell_word(&folder.join("parts.sh"))
    )))
}
