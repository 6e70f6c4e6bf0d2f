//! The command line: one file for each subcommand.

/// Writes to standard output like `print!`, but ends the program silently if the reader has closed
/// its end (`fillrate show … | head`), where `print!` would panic.
macro_rules! out {
    ($($argument:tt)*) => {
        $crate::cli::write_out(format_args!($($argument)*))
    };
}

/// As [`out!`], with a line's end.
macro_rules! outln {
    ($($argument:tt)*) => {
        $crate::cli::write_out(format_args!("{}\n", format_args!($($argument)*)))
    };
}

/// As [`outln!`] for prose: what is wider than the terminal is broken between words.
macro_rules! sayln {
    ($($argument:tt)*) => {
        $crate::cli::write_out(format_args!(
            "{}\n",
            fillrate_report::table::TextWidth::of_output()
                .lines(&$crate::cli::without_error_numbers(&format!($($argument)*)))
        ))
    };
}

/// Writes a message for people to standard error, as [`sayln!`].
macro_rules! note {
    ($($argument:tt)*) => {
        $crate::cli::write_note(&format!($($argument)*))
    };
}

mod annotate;
mod audit;
mod audit_distance;
mod audit_leakage;
mod augment;
mod check;
mod color;
mod compare;
mod complete;
mod doctor;
mod events;
mod export;
mod export_tasks;
mod export_tuning;
mod fit;
mod fleet;
mod import;
mod init;
mod interrupt;
mod live;
mod location;
mod merge;
mod mine;
mod mutate;
mod pack;
mod pages;
mod plan;
mod progress;
mod replay;
mod report;
mod retrieve;
mod runs;
mod score;
mod serve;
mod show;
mod stats;
mod study;
mod telemetry;
mod unknown_option;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use fillrate_engine::developer::DeveloperError;
use fillrate_engine::play::PlayError;
use fillrate_engine::play::mining::HoleSelection;
use fillrate_engine::play::projects::{AbsentProject, ExecutionPlan};
use fillrate_engine::play::replay::ReplayPlan;
use fillrate_engine::store::ProjectStatus;
use fillrate_engine::store::{StoreError, is_object_address};
use fillrate_language::task::{HoleKind, TaskError, is_day};
use fillrate_mine::import::ImportError;
use fillrate_report::export::ExportError;
use fillrate_report::page::PageKind;
use fillrate_report::pages::HtmlReportError;
use fillrate_report::table::TextWidth;
use fillrate_verdict::corpus::manifest::ManifestError;
use fillrate_verdict::corpus::pack::PackError;
use fillrate_verdict::corpus::{Corpus, CorpusError};
use fillrate_verdict::{Engine, VerdictError};
use strum::VariantArray;
use tracing_subscriber::EnvFilter;

/// Runs the program as its command line says.
pub(crate) fn main() -> ExitCode {
    let CommandLine { wide, command } = parse();
    let width = match wide {
        true => TextWidth::UNLIMITED,
        false => TextWidth::of_output(),
    };
    start_log();
    let outcome = match command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Complete(arguments) => complete::run(&arguments),
        Command::Retrieve(arguments) => retrieve::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments, width),
        Command::Compare(arguments) => compare::run(&arguments, width),
        Command::Mine(arguments) => mine::run(&arguments),
        Command::Mutate(arguments) => mutate::run(&arguments, width),
        Command::Augment(arguments) => augment::run(&arguments),
        Command::Show(arguments) => show::run(&arguments, width),
        Command::Report(arguments) => report::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::ExportTasks(arguments) => export_tasks::run(&arguments),
        Command::ExportTuning(arguments) => export_tuning::run(&arguments, width),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Fleet(arguments) => fleet::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Pack(arguments) => pack::run(&arguments),
        Command::Unpack(arguments) => pack::run_unpack(&arguments),
        Command::AuditDistance(arguments) => audit_distance::run(&arguments, width),
        Command::AuditLeakage(arguments) => audit_leakage::run(&arguments, width),
        Command::Annotate(arguments) => annotate::run(&arguments, width),
        Command::Score(arguments) => score::run(&arguments, width),
        Command::Stats(arguments) => stats::run(&arguments, width),
        Command::Study(arguments) => study::run(&arguments, width),
        Command::Plan(arguments) => plan::run(&arguments, width),
        Command::Import(arguments) => import::run(&arguments),
        Command::Telemetry(arguments) => telemetry::run(&arguments, width),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions(arguments) => pages::print_completions(&arguments),
        Command::Man(arguments) => pages::print_manual(&arguments),
    };
    match outcome {
        Ok(Success::Whole) => ExitCode::SUCCESS,
        Ok(Success::Partial) => ExitCode::from(3),
        Err(error) => {
            let red = color::ERROR;
            let advice = advice(&error);
            let text = plain_message(&format!("fillrate: {error}{advice}"));
            let rest = text.strip_prefix("fillrate:").unwrap_or(&text);
            write_error(format_args!("{red}fillrate:{red:#}{rest}\n"));
            match error {
                CliError::Play(PlayError::Empty(_)) => ExitCode::from(3),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Subcommands as `--help` groups them, each in one group.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Serve",
        &["serve", "complete", "retrieve", "telemetry", "fit"],
    ),
    (
        "Evaluate",
        &[
            "init", "check", "import", "mine", "mutate", "augment", "replay", "compare", "audit",
            "score",
        ],
    ),
    (
        "Look",
        &[
            "show",
            "report",
            "export",
            "stats",
            "annotate",
            "audit-distance",
            "audit-leakage",
        ],
    ),
    ("Study", &["study", "plan"]),
    ("Fleets", &["fleet", "merge", "pack", "unpack"]),
    (
        "More",
        &[
            "doctor",
            "export-tasks",
            "export-tuning",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// Most columns of the help.
const HELP_WIDTH: usize = 100;

/// Parses the command line, or prints help and ends.
fn parse() -> CommandLine {
    let command = CommandLine::command();
    // As wide as clap's own part of the help.
    let template = TextWidth::of_output()
        .at_most(HELP_WIDTH)
        .lines(&help_template(&command));
    let mut command = command.help_template(template);
    let given: Vec<OsString> = std::env::args_os().collect();
    let matches = command.try_get_matches_from_mut(&given);
    let matches = matches.unwrap_or_else(|error| {
        let subcommand = given.get(1).cloned().unwrap_or_default();
        unknown_option::with_advice(error, &command, &subcommand.to_string_lossy()).exit()
    });
    CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The program's help with its subcommands in groups, which clap has none of.
fn help_template(command: &clap::Command) -> String {
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups += &format!("{title}:\n");
        for name in names {
            let about = match command
                .find_subcommand(name)
                .and_then(clap::Command::get_about)
            {
                Some(about) => about.to_string(),
                None => "Print this message or the help of a subcommand".to_owned(),
            };
            groups += &format!("  {name:15}  {about}\n");
        }
        groups.push('\n');
    }
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n"
    )
}

/// Writes the log to standard error: warnings, or what `FILLRATE_LOG` selects.
fn start_log() {
    // The protocol library's root module only reports methods that the server does not have.
    const DEFAULT: &str = "warn,tower_lsp=off,tower_lsp::codec=warn,tower_lsp::service=warn,tower_lsp::transport=warn";
    let filter =
        EnvFilter::try_from_env("FILLRATE_LOG").unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter)
        .with_ansi(false)
        .init();
}

/// A path as a word of a command that a shell reads.
fn shell_word(path: &std::path::Path) -> String {
    fillrate_verdict::corpus::shell_word(&path.display().to_string())
}

/// Measures code-completion models where they are used, in the editor.
///
/// Exit status: 0 when all went well, 1 when it did not, 2 for a command line that can't be
/// read, 3 when a part of the work failed or is missing and the rest was done, or when there was
/// no project or hole to work on.
#[derive(Parser)]
#[command(version, max_term_width = HELP_WIDTH)]
struct CommandLine {
    /// Show tables whole, even if the terminal is narrower
    #[arg(long, global = true)]
    wide: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Give inline completions to an editor, over standard input and output (LSP)
    Serve(serve::ServeArguments),
    /// Complete at one location of a file, as an editor would, and show how it came about
    Complete(complete::CompleteArguments),
    /// Show the windows of other files that a completion at one location would be given
    Retrieve(retrieve::RetrieveArguments),
    /// Write the manifest of a repository as it is detected, for changes by hand
    Init(init::InitArguments),
    /// Do all that comes before a replay, up to each project's first hole, and say what is wrong
    Check(check::CheckArguments),
    /// Play a developer on benchmark repositories and judge the completions with their tests
    Replay(replay::ReplayArguments),
    /// Compare models on the same holes and say which one passes more, and with what probability
    Compare(compare::CompareArguments),
    /// Choose holes that a corpus's tests can judge, and write them to a file
    Mine(mine::MineArguments),
    /// Put faults into the code of holes and see whether their tests notice
    ///
    /// The score and the faults that no test noticed are written into the hole's record, where
    /// `fillrate show TASKS HOLE` shows them. Each hole has two canaries: the unchanged code
    /// must pass, and with a statement that raises it must not; a hole whose canaries do otherwise
    /// gets no score, and the exit status is 3. Timeouts count neither as noticed nor as unnoticed:
    /// the score has bounds that hold in both cases. An interrupted command can be rerun: verdicts
    /// are cached.
    Mutate(mutate::MutateArguments),
    /// Have a model write tests that notice the faults which survived mutation
    Augment(augment::AugmentArguments),
    /// Show a run's figures, or one hole of it with all that was seen
    Show(show::ShowArguments),
    /// Write a report on runs as pages for a browser, or show it while they go on
    Report(report::ReportArguments),
    /// Write the attempts of runs as a table for other programs: JSON lines, CSV or Parquet
    Export(export::ExportArguments),
    /// Write holes as tasks that other harnesses run with agents
    ExportTasks(export_tasks::ExportTasksArguments),
    /// Write functions with documentation and dependencies as instruction-tuning data
    ExportTuning(export_tuning::TuningArguments),
    /// Judge a sample of a run again by the naive engine, and list the verdicts that differ
    Audit(audit::AuditArguments),
    /// Replay in parts by a scheduler: Slurm, Kubernetes or HyperQueue
    Fleet(fleet::FleetArguments),
    /// Make one run of the parts that several machines have made of it
    Merge(merge::MergeArguments),
    /// Pack what workers without network need of a corpus: sources, environments, baselines
    Pack(pack::PackArguments),
    /// Unpack what `fillrate pack` packed into this worker's cache, and print where the corpus is
    Unpack(pack::UnpackArguments),
    /// Measure how far a task set is from real code
    AuditDistance(audit_distance::DistanceArguments),
    /// Look for signs that a run's model has seen the benchmark
    AuditLeakage(audit_leakage::LeakageArguments),
    /// Have several models say why answers failed, and count their votes
    Annotate(annotate::AnnotateArguments),
    /// Score predictions by text, each metric by its published definition, or compare two models'
    Score(score::ScoreArguments),
    /// Show what holes a tasks file has: how many, of what, and how large
    Stats(stats::StatsArguments),
    /// Say whether an offline score predicts what people accept, over model versions
    Study(study::StudyArguments),
    /// Say how many versions, holes and completions shown a study needs
    Plan(plan::PlanArguments),
    /// Make holes of a public benchmark's records
    Import(import::ImportArguments),
    /// Show the statistics of this machine's telemetry, export it or delete it
    Telemetry(telemetry::TelemetryArguments),
    /// Fit a policy that accepts completions as people did
    Fit(fit::FitArguments),
    /// Say what this machine lacks and how to get it
    Doctor(doctor::DoctorArguments),
    /// Print the completions of this command line for a shell
    Completions(pages::CompletionsArguments),
    /// Print the manual page of the program or of one subcommand
    Man(pages::ManArguments),
}

/// Writes the text of `out!` and `outln!`.
fn write_out(text: std::fmt::Arguments<'_>) {
    let written = anstream::stdout().lock().write_fmt(text);
    match written {
        Ok(()) => {}
        // The status of a program that the closed pipe's signal ends: 128 + SIGPIPE.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(141),
        Err(error) => {
            note!("fillrate: standard output can't be written to: {error}");
            std::process::exit(1);
        }
    }
}

/// Writes the text of `note!`.
fn write_note(text: &str) {
    write_error(format_args!("{}\n", plain_message(text)));
}

/// Writes to standard error. A reader that went away must not stop a command.
fn write_error(text: std::fmt::Arguments<'_>) {
    let _ = anstream::stderr().lock().write_fmt(text);
}

/// A message as a person reads it: in lines that fit the terminal, without error numbers.
fn plain_message(text: &str) -> String {
    TextWidth::of_messages().lines(&without_error_numbers(text))
}

/// A text without the numbers of the system's errors, which say nothing to a person.
fn without_error_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.trim_start_matches(|c: char| c.is_ascii_digit());
        plain.push_str(after.strip_prefix(')').unwrap_or(after));
    }
    plain
}

/// Returns the advice for an error, if its cause has any: a clause to add to its message.
fn advice(error: &CliError) -> &'static str {
    // The error of a full disk may be the cause of another error.
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>()
            && error.kind() == std::io::ErrorKind::StorageFull
        {
            return ": the disk is full; free some space and rerun the command";
        }
        cause = error.source();
    }
    ""
}

/// Extent of a successful command.
enum Success {
    /// All of it was done.
    Whole,
    /// Some projects failed; the others were done.
    Partial,
}

impl Success {
    fn whole_if(is_whole: bool) -> Self {
        match is_whole {
            true => Self::Whole,
            false => Self::Partial,
        }
    }
}

/// Selection of holes to mine.
#[derive(Args, Clone, Debug)]
struct HoleArguments {
    /// The most holes, spread evenly over the corpus's projects [default: 100; of `compare`, 60]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    holes: Option<usize>,
    /// Another seed chooses other holes
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The kinds of holes, taken in turn: line, statement, block, body, span; or api, what needs
    /// another file of the repository
    #[arg(
        long,
        value_delimiter = ',',
        default_values_t = HoleKind::DEFAULT,
        value_parser = one_of::<HoleKind>()
    )]
    kinds: Vec<HoleKind>,
    /// The least mutation score of a hole, from 0 to 1: what share of the faults put into its lines
    /// its tests notice [default: none]
    ///
    /// Each hole that would be chosen is mutated, as `mutate` does; one with less, or without any
    /// fault to put in, is left out, counted as `mutation-score`, and another is tried in its
    /// place. The scores are written into the holes' records. About 10 verdicts a line of each hole
    /// tried.
    #[arg(long, value_name = "S", value_parser = share)]
    min_mutation_score: Option<f64>,
    /// Only holes with a line that changed after a date (2026-03-01) or a revision, by the git
    /// history of the repository's folder [default: holes of any age]
    ///
    /// A model can't have learned them if it was trained before. White space, moves within a file
    /// and commits listed in `.git-blame-ignore-revs` are no changes; other candidates are counted
    /// as `older`.
    #[arg(long, value_name = "DATE|REV")]
    since: Option<String>,
}

/// A corpus, or one package of a repository.
#[derive(Args, Clone, Debug)]
struct CorpusArguments {
    /// The corpus: a manifest file, or a repository: a folder, or an address with `@REVISION`
    corpus: PathBuf,
    /// One package of a repository with several, in an environment of its own: its folder or name
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
}

impl CorpusArguments {
    /// True if the corpus is a manifest file, not a repository.
    fn is_manifest(&self) -> bool {
        self.corpus
            .extension()
            .is_some_and(|ending| ending == "toml")
    }

    /// The location of the corpus or of the package.
    ///
    /// # Errors
    /// The repository has no such package.
    fn location(&self) -> Result<PathBuf, CliError> {
        match &self.package {
            Some(name) => Ok(Corpus::from_environment()?.locate_package(&self.corpus, name)?),
            None => Ok(self.corpus.clone()),
        }
    }
}

/// The holes that models are asked at, and the time they have.
#[derive(Args, Clone, Debug)]
struct ReplayedHoles {
    #[command(flatten)]
    corpus: CorpusArguments,
    /// Holes that `mine` wrote, in place of mining
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["holes", "seed", "kinds", "min_mutation_score", "since", "quick"]
    )]
    tasks: Option<PathBuf>,
    /// A first look: ten holes, from the half of the files whose tests take the least time
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    choice: HoleArguments,
    /// Timeout for a completion, in seconds; the server gives its model `model.timeout_ms`
    #[arg(
        long,
        default_value_t = ReplayPlan::REQUEST_TIMEOUT.as_secs(),
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    request_timeout: u64,
}

impl ReplayedHoles {
    /// A plan to replay them, mining `holes` unless the command line names another number.
    ///
    /// # Errors
    /// The repository has no such package.
    fn plan(
        &self,
        holes: usize,
        models: Vec<String>,
        execution: &ExecutionArguments,
    ) -> Result<ReplayPlan, CliError> {
        let holes = if self.quick { QUICK_HOLES } else { holes };
        let selection = HoleSelection {
            fast_files: self.quick,
            ..self.choice.selection(holes)
        };
        Ok(ReplayPlan {
            tasks: self.tasks.clone(),
            request_timeout: Duration::from_secs(self.request_timeout),
            ..ReplayPlan::new(self.corpus.location()?, selection, models, execution.plan())
        })
    }
}

/// Parses one of the names of an enumeration, which shells then offer and `--help` lists.
fn one_of<T>() -> impl TypedValueParser<Value = T>
where
    T: VariantArray + Copy + Into<&'static str> + Send + Sync + 'static,
{
    let names = T::VARIANTS.iter().map(|variant| (*variant).into());
    PossibleValuesParser::new(names.collect::<Vec<&'static str>>()).try_map(|name| {
        let mut variants = T::VARIANTS.iter().copied();
        // The names are those of the variants, so the parser lets no other name through.
        let named = variants.find(|variant| (*variant).into() == name);
        named.ok_or_else(|| format!("there is no `{name}`"))
    })
}

/// Parses a day as YYYY-MM-DD.
fn day(text: &str) -> Result<String, String> {
    match is_day(text) {
        true => Ok(text.to_owned()),
        false => Err("it must be a day such as 2026-03-01".to_owned()),
    }
}

/// Parses a number that is not 0.
fn at_least_one(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "it must be a number".to_owned())?;
    match number {
        0 => Err("it must be at least 1".to_owned()),
        number => Ok(number),
    }
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "it must be a number from 0 to 1".to_owned())
}

/// Settings for running tests.
#[derive(Args, Clone, Debug)]
struct ExecutionArguments {
    /// Number of concurrent jobs [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Engine that reaches verdicts: warm, cold or naive; all give the same ones
    ///
    /// warm: by means of a process that has loaded, collected or transformed the project's tests,
    /// covering tests first. cold: the same, each run from the start. naive: a copy of the
    /// project, all tests, each run from the start.
    #[arg(
        long,
        default_value_t = Engine::Warm,
        value_name = "ENGINE",
        value_parser = one_of::<Engine>(),
        hide_possible_values = true,
        verbatim_doc_comment
    )]
    engine: Engine,
    /// Ignore cached verdicts of earlier runs
    #[arg(long)]
    anew: bool,
    /// Tests to add to the projects' own: files in DIR/PROJECT/, at the paths they shall have in
    /// the project
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,
}

impl ExecutionArguments {
    fn plan(&self) -> ExecutionPlan {
        ExecutionPlan {
            threads: threads(self.jobs),
            engine: self.engine,
            anew: self.anew,
            tests: self.tests.clone(),
        }
    }

    /// Returns the way to continue if the command is interrupted.
    fn advice(&self) -> String {
        if self.anew {
            "no verdict is kept because of `--anew`; without it, each is".to_owned()
        } else {
            "verdicts are kept in the cache; rerun the command to continue".to_owned()
        }
    }
}

/// The number of holes to mine unless `--holes` names another.
const HOLES: usize = 100;
/// The number of holes of `--quick` unless `--holes` names another.
const QUICK_HOLES: usize = 10;

impl HoleArguments {
    /// The selection, of this number of holes unless `--holes` names another.
    fn selection(&self, holes: usize) -> HoleSelection {
        HoleSelection {
            holes: self.holes.unwrap_or(holes),
            seed: self.seed,
            kinds: self.kinds.clone(),
            min_mutation_score: self.min_mutation_score,
            since: self.since.clone(),
            fast_files: false,
        }
    }
}

/// Returns the number of concurrent jobs, by default the number of processors.
fn threads(jobs: Option<u16>) -> usize {
    jobs.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        usize::from,
    )
}

/// Returns a partial success if projects are left out.
fn success(absent: &[AbsentProject]) -> Success {
    let failed = |project: &AbsentProject| project.state.status == ProjectStatus::Failed;
    Success::whole_if(!absent.iter().any(failed))
}

/// Refuses a path that can't be written to, before any work is done for it: its folder, or the
/// nearest folder above that exists, must be writable.
fn check_writable(path: &Path) -> Result<(), CliError> {
    let absolute = std::path::absolute(path).map_err(CliError::file(path))?;
    let existing = absolute.ancestors().find(|folder| folder.exists());
    // A file is replaced in its folder, so the folder decides; what is missing is made later.
    let folder = match existing {
        Some(file) if file == absolute && file.is_file() => file.parent(),
        found => found,
    };
    let folder = folder.unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        return Err(CliError::Refused(format!(
            "{} can't be written, because {} is a file; name another path",
            path.display(),
            folder.display()
        )));
    }
    // Permissions don't show read-only file systems and quotas, so a file is tried.
    tempfile::NamedTempFile::new_in(folder)
        .map(drop)
        .map_err(CliError::file(path))
}

/// As [`check_writable`] for a folder, which must not be a file.
fn check_writable_folder(path: &Path) -> Result<(), CliError> {
    if path.is_file() {
        return Err(CliError::Refused(format!(
            "{} is a file; name a folder",
            path.display()
        )));
    }
    check_writable(path)
}

/// As [`check_writable_folder`] for pages: the first page replaces only one of its kind.
fn check_page_folder(folder: &Path, kind: PageKind) -> Result<(), CliError> {
    check_writable_folder(folder)?;
    let first = folder.join("index.html");
    match std::fs::read(&first) {
        Ok(page) if !kind.wrote(&String::from_utf8_lossy(&page)) => {
            Err(CliError::Refused(format!(
                "{} is a page of something else, or of another version, and would be replaced; \
                 name another folder, or delete it",
                first.display()
            )))
        }
        _ => Ok(()),
    }
}

/// As [`check_writable_folder`] for a run, which can't be in an object store.
fn check_run_folder(path: &Path) -> Result<(), CliError> {
    if is_object_address(path) {
        return Err(CliError::Refused(format!(
            "{} is an object store, which holds parts and no run; name a folder",
            path.display()
        )));
    }
    check_writable_folder(path)
}

/// As [`check_run_folder`] for `--out`, or for the folder of runs without it.
fn check_out(out: Option<&Path>) -> Result<(), CliError> {
    let Some(out) = out else {
        return check_writable_folder(Path::new("runs")).map_err(|error| {
            CliError::Refused(format!("{error}; name a folder for the run with --out"))
        });
    };
    check_run_folder(out)
}

/// As [`check_writable`] for a file: its folder must exist.
fn check_writable_file(path: &Path) -> Result<(), CliError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if path.is_dir() || !folder.is_dir() {
        let fault = if path.is_dir() {
            "is a folder; name a file"
        } else {
            "is in a folder that does not exist; make it first"
        };
        return Err(CliError::Refused(format!("{} {fault}", path.display())));
    }
    check_writable(path)
}

/// Refuses to write to a file that the command reads, which the output would replace.
fn check_not_input<P: AsRef<Path>>(
    output: &Path,
    inputs: impl IntoIterator<Item = P>,
) -> Result<(), CliError> {
    let mut inputs = inputs.into_iter();
    match inputs.any(|input| is_same_path(output, input.as_ref())) {
        true => Err(CliError::Refused(format!(
            "{} is read by this command, so it is not replaced; name another file for the output",
            output.display()
        ))),
        false => Ok(()),
    }
}

/// True if two paths name one file, even if it does not exist.
fn is_same_path(a: &Path, b: &Path) -> bool {
    // Paths that do not exist can't be made canonical and are compared as they are written.
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Says on standard error which projects take no part.
fn report_absent(absent: &[AbsentProject]) {
    for project in absent {
        note!("fillrate: {}", project.describe());
    }
}

/// Everything that ends a command.
#[derive(Debug, thiserror::Error)]
enum CliError {
    /// A corpus's manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A corpus's sources and environments.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A pack.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A tasks file, or a hole that does not fit its project.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The engine.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// The run database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The project's tests, or the sandbox.
    #[error(transparent)]
    Verdict(#[from] VerdictError),
    /// The table for other programs.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The report's pages.
    #[error(transparent)]
    HtmlReport(#[from] HtmlReportError),
    /// The session with the language server.
    #[error(transparent)]
    Developer(#[from] DeveloperError),
    /// The server's settings.
    #[error(transparent)]
    Configuration(#[from] fillrate_server::configuration::ConfigurationError),
    /// The model's settings.
    #[error(transparent)]
    Model(#[from] fillrate_server::model::ModelError),
    /// The telemetry store.
    #[error(transparent)]
    Telemetry(#[from] fillrate_server::telemetry::TelemetryError),
    /// A benchmark's records.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A side of a study.
    #[error(transparent)]
    Side(#[from] fillrate_study::sides::SideError),
    /// A study.
    #[error(transparent)]
    Study(#[from] fillrate_study::StudyError),
    /// A rule by which a comparison fails.
    #[error(transparent)]
    Rule(#[from] fillrate_report::models::RuleError),
    /// The request can't be fulfilled.
    #[error("{0}")]
    Refused(String),
}

impl CliError {
    /// Names the file that an I/O error is about.
    fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::CommandLine::command().debug_assert();
    }

    #[test]
    fn messages_have_no_error_numbers() {
        let plain = super::without_error_numbers(
            "a.toml: No such file or directory (os error 2); name one",
        );
        assert_eq!(plain, "a.toml: No such file or directory; name one");
    }

    #[test]
    fn help_groups_each_subcommand_once() {
        let command = super::CommandLine::command();
        let all: BTreeSet<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .chain(["help"])
            .collect();
        let grouped = super::GROUPS.iter().flat_map(|(_, names)| *names);
        assert_eq!(grouped.clone().count(), all.len());
        assert_eq!(grouped.copied().collect::<BTreeSet<_>>(), all);
        let help = super::help_template(&command);
        assert!(help.contains("\nStudy:\n  study "), "{help}");
    }
}
