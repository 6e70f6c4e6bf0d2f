//! Resources that the tree uses at this moment, read from outside.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::statvfs::statvfs;

/// Interval between samples of the tree.
pub(super) const INTERVAL: Duration = Duration::from_millis(20);

/// The sandbox's own `/proc`, which lists exactly its tree, seen from the host.
#[derive(Debug)]
pub(super) struct TreeWatch {
    proc: PathBuf,
    tmp: PathBuf,
    units: Units,
}

/// One sample of the tree. Memory and tasks exclude pid 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ResourceSample {
    /// Resident memory in bytes. Pages shared by several processes count in each: never too
    /// little, often too much.
    pub(super) resident: u64,
    /// Processes and threads.
    pub(super) tasks: u64,
    /// Processor time so far, including that of processes that have ended.
    pub(super) cpu: Duration,
}

impl TreeWatch {
    /// Watches the sandbox whose pid 1 has this pid outside.
    pub(super) fn new(init: i32) -> io::Result<Self> {
        let root = PathBuf::from(format!("/proc/{init}/root"));
        Ok(Self {
            proc: root.join("proc"),
            tmp: root.join("tmp"),
            units: Units::read()?,
        })
    }

    /// Takes one sample.
    pub(super) fn sample(&self) -> io::Result<ResourceSample> {
        let mut sample = ResourceSample::default();
        for pid in self.pids()? {
            // A process may have ended since the listing.
            let Ok(stat) = fs::read_to_string(self.proc.join(pid.to_string()).join("stat")) else {
                continue;
            };
            let Some(usage) = Usage::parse(&stat) else {
                continue;
            };
            sample.cpu += Duration::from_micros(usage.ticks * 1_000_000 / self.units.ticks);
            if pid != 1 {
                sample.resident += usage.pages * self.units.page;
                sample.tasks += usage.threads;
            }
        }
        Ok(sample)
    }

    /// Memory in bytes with each shared page counted once, swapped pages included; slower than
    /// [`TreeWatch::sample`].
    pub(super) fn proportional(&self) -> io::Result<u64> {
        let mut total = 0;
        for pid in self.pids()? {
            if pid == 1 {
                continue;
            }
            let directory = self.proc.join(pid.to_string());
            if let Ok(rollup) = fs::read_to_string(directory.join("smaps_rollup")) {
                total += proportional_bytes(&rollup);
            } else if let Ok(stat) = fs::read_to_string(directory.join("stat")) {
                total += Usage::parse(&stat).map_or(0, |usage| usage.pages * self.units.page);
            }
        }
        Ok(total)
    }

    /// Bytes written to the sandbox's temporary file system.
    pub(super) fn disk(&self) -> io::Result<u64> {
        let figures = statvfs(&self.tmp)?;
        let used = figures.blocks().saturating_sub(figures.blocks_free());
        Ok(used * figures.fragment_size())
    }

    fn pids(&self) -> io::Result<Vec<u32>> {
        Ok(fs::read_dir(&self.proc)?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect())
    }
}

/// Values from one `/proc/<pid>/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Usage {
    ticks: u64,
    threads: u64,
    pages: u64,
}

impl Usage {
    /// Parses a line of proc_pid_stat(5). The process chooses the name in parentheses, which may
    /// contain anything, parentheses included.
    fn parse(stat: &str) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        // The first field here is number 3 of the manual.
        let field = |number: usize| fields.get(number - 3)?.parse::<i64>().ok();
        let unsigned = |number| field(number).map(|value| u64::try_from(value).unwrap_or(0));
        Some(Self {
            // Fields 16 and 17 are the time of reaped children, so that ended processes count.
            ticks: unsigned(14)? + unsigned(15)? + unsigned(16)? + unsigned(17)?,
            threads: unsigned(20)?,
            pages: unsigned(24)?,
        })
    }
}

fn proportional_bytes(rollup: &str) -> u64 {
    rollup
        .lines()
        .filter_map(|line| {
            let rest = line
                .strip_prefix("Pss:")
                .or_else(|| line.strip_prefix("SwapPss:"))?;
            rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        })
        .sum::<u64>()
        * 1024
}

#[derive(Debug)]
struct Units {
    page: u64,
    ticks: u64,
}

impl Units {
    /// Page size and clock ticks per second, from the auxiliary vector, getauxval(3).
    fn read() -> io::Result<Self> {
        const AT_PAGESZ: usize = 6;
        const AT_CLKTCK: usize = 17;
        let bytes = fs::read("/proc/self/auxv")?;
        let (words, _) = bytes.as_chunks::<{ size_of::<usize>() }>();
        let words: Vec<usize> = words.iter().copied().map(usize::from_ne_bytes).collect();
        let (pairs, _) = words.as_chunks::<2>();
        let vector: HashMap<usize, usize> =
            pairs.iter().map(|[key, value]| (*key, *value)).collect();
        let entry = |key| {
            vector
                .get(&key)
                .and_then(|value| u64::try_from(*value).ok())
                .filter(|value| *value > 0)
                .ok_or_else(|| io::Error::other("the auxiliary vector is incomplete"))
        };
        Ok(Self {
            page: entry(AT_PAGESZ)?,
            ticks: entry(AT_CLKTCK)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_cannot_fool_the_watch_by_its_name() {
        let stat = "7 (a) R 1 1 (b) S 1 7 7 0 -1 4194304 99 0 0 0 10 20 3 4 20 0 5 0 100 9000 321 18446744073709551615 1 1";
        assert_eq!(
            Usage::parse(stat),
            Some(Usage {
                ticks: 37,
                threads: 5,
                pages: 321
            })
        );
        assert_eq!(Usage::parse("7 (cut) S 1"), None);
    }

    #[test]
    fn shares_and_swapped_shares_add_up() {
        let rollup = "Rss:  900 kB\nPss:  300 kB\nPss_Dirty:  5 kB\nSwapPss:  2 kB\n";
        assert_eq!(proportional_bytes(rollup), 302 * 1024);
    }

    #[test]
    fn units_are_the_machines() {
        let units = Units::read().unwrap();
        assert!(units.page >= 4096 && units.page.is_power_of_two());
        assert_eq!(units.ticks, 100);
    }
}
