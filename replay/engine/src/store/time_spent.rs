//! Time spent by a run's workers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Time spent by a run's workers, in seconds of all of them together. Resumed runs add to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// Wall-clock time, independent of the number of workers.
    pub wall: f64,
    /// Workers waited for completions: from the request to the response.
    pub models: f64,
    /// Servers started, read repositories or changed holes.
    pub servers: f64,
    /// Tests ran.
    pub tests: f64,
    /// Twins of tests ran.
    pub twins: f64,
    /// The rest of verdicts: sandboxes were made and cleared, tests chosen, evidence checked, and
    /// kept verdicts read.
    pub sandbox: f64,
    /// The audit of one in a hundred attempts.
    #[serde(default)]
    pub audit: f64,
    /// Workers waited for a permit, for the end of a model's `Retry-After`, or for the last of the
    /// others.
    pub idle: f64,
}

impl TimeSpent {
    /// Adds further time.
    pub fn add(&mut self, more: &Self) {
        self.wall += more.wall;
        self.models += more.models;
        self.servers += more.servers;
        self.tests += more.tests;
        self.twins += more.twins;
        self.sandbox += more.sandbox;
        self.audit += more.audit;
        self.idle += more.idle;
    }

    /// Returns the time in which workers were not idle.
    pub fn busy(&self) -> f64 {
        self.models + self.servers + self.tests + self.twins + self.sandbox + self.audit
    }
}

/// In one line: the time on the wall, and the shares of the workers' time.
impl fmt::Display for TimeSpent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.1} s", self.wall)?;
        let all = self.busy() + self.idle;
        if all <= 0.0 {
            return Ok(());
        }
        let shares = [
            ("models", self.models),
            ("servers", self.servers),
            ("tests", self.tests),
            ("twins", self.twins),
            ("sandbox", self.sandbox),
            ("audit", self.audit),
            ("idle", self.idle),
        ];
        for (index, (name, seconds)) in shares.into_iter().enumerate() {
            let mark = if index == 0 { ":" } else { "," };
            write!(formatter, "{mark} {name} {:.0} %", 100.0 * seconds / all)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_all_workers_time() {
        let mut spent = TimeSpent {
            wall: 5.0,
            models: 2.0,
            servers: 1.0,
            tests: 3.0,
            twins: 0.5,
            sandbox: 1.5,
            audit: 0.5,
            idle: 1.5,
        };
        let line = "5.0 s: models 20 %, servers 10 %, tests 30 %, twins 5 %, sandbox 15 %, \
                    audit 5 %, idle 15 %";
        assert_eq!(spent.to_string(), line);
        spent.add(&spent.clone());
        assert_eq!(spent.to_string(), line.replace("5.0 s", "10.0 s"));
        assert_eq!(TimeSpent::default().to_string(), "0.0 s");
    }
}
