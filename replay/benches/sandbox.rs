//! Cost of the sandbox: the same program with and without isolation, run alternately.
//!
//! `cargo bench -p fillrate --bench sandbox [runs]` prints one line per program with the median
//! and the 90th percentile of the wall-clock time in milliseconds.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use comfy_table::Table;
use fillrate_sandbox::{End, Job, Overlay, Sandbox};

fn main() {
    let runs: usize = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(50);
    let sandbox = Sandbox {
        executable: PathBuf::from(env!("CARGO_BIN_EXE_fillrate")),
    };
    let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut table = Table::new();
    table.set_header([
        "program",
        "runs",
        "bare ms (p90)",
        "sandboxed ms (p90)",
        "added ms",
    ]);
    for (program, arguments) in [
        ("/usr/bin/true", &[][..]),
        ("/usr/bin/python3", &["-I", "-c", "pass"][..]),
    ] {
        let mut job = Job::new(program, "/repository");
        job.arguments = arguments.iter().map(ToString::to_string).collect();
        job.overlays
            .push(Overlay::new(&repository, "/repository").replacing("src/lib.rs", "// changed\n"));
        let (mut bare, mut isolated) = (Vec::new(), Vec::new());
        let mut level = None;
        for _ in 0..runs {
            let start = Instant::now();
            let status = Command::new(program)
                .args(arguments)
                .stdin(Stdio::null())
                .status()
                .unwrap();
            bare.push(start.elapsed());
            assert!(status.success());
            let start = Instant::now();
            let finished = sandbox.run(&job).unwrap();
            isolated.push(start.elapsed());
            assert_eq!(finished.end, End::Exited(0));
            level = Some(finished.level);
        }
        let (bare, isolated) = (Quantiles::of(bare), Quantiles::of(isolated));
        let name = [&[program], arguments].concat().join(" ");
        table.add_row([
            format!("{name} [{}]", level.unwrap()),
            runs.to_string(),
            bare.to_string(),
            isolated.to_string(),
            format!("{:.1}", isolated.median - bare.median),
        ]);
    }
    println!("{table}");
}

struct Quantiles {
    median: f64,
    p90: f64,
}

impl Quantiles {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |part: usize| times[(times.len() - 1) * part / 10].as_secs_f64() * 1000.0;
        Self {
            median: at(5),
            p90: at(9),
        }
    }
}

impl std::fmt::Display for Quantiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ({:.1})", self.median, self.p90)
    }
}
