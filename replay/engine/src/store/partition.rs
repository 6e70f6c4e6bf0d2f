//! A part of the work, for one of several machines that know nothing of each other.

use std::fmt;
use std::str::FromStr;

use fillrate_language::task::sha256_hex;

/// One of several parts of the holes: which holes are in it depends on their ids alone, so that it
/// is independent of their order and of the other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    /// Number of parts, at least 1.
    parts: u32,
    /// Number of the part, from 1.
    part: u32,
}

/// The variable that says how many parts there are, where a scheduler does not.
pub const PARTITIONS_VARIABLE: &str = "FILLRATE_PARTITIONS";

impl Partition {
    /// Part number `part` of `parts`, from 1; `None` if the number is out of range.
    pub fn new(part: u32, parts: u32) -> Option<Self> {
        (1..=parts).contains(&part).then_some(Self { parts, part })
    }

    /// All parts of a division into this number of parts.
    pub fn all(parts: u32) -> impl Iterator<Item = Self> {
        (1..=parts).map(move |part| Self { parts, part })
    }

    /// Returns the number of the part, from 1.
    pub fn part(self) -> u32 {
        self.part
    }

    /// Returns the number of parts.
    pub fn parts(self) -> u32 {
        self.parts
    }

    /// True if the hole with this id is in the part.
    pub fn includes(self, hole: &str) -> bool {
        // The prefix makes the hash independent of the other samples that are drawn by the same
        // ids.
        let hash = sha256_hex(format!("partition\0{hole}").as_bytes());
        let number = u64::from_str_radix(&hash[..16], 16).unwrap_or_default();
        number % u64::from(self.parts) + 1 == u64::from(self.part)
    }

    /// The name of the part's folder.
    pub(super) fn folder_name(self) -> String {
        format!("{}-of-{}", self.part, self.parts)
    }

    /// The part that a scheduler gave this process: a task of HyperQueue (`HQ_TASK_ID`), an index
    /// of a Kubernetes Job (`JOB_COMPLETION_INDEX`) or a task of a Slurm array
    /// (`SLURM_ARRAY_TASK_ID`), in this order, because the first may run inside the last.
    ///
    /// # Errors
    /// No scheduler gave one, or the variables don't fit together.
    pub fn from_environment(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| -> Result<Option<u32>, String> {
            let Some(text) = get(name).filter(|text| !text.is_empty()) else {
                return Ok(None);
            };
            let parsed = text.parse().map(Some);
            parsed.map_err(|_| format!("{name} is `{text}`, which is no number of a part"))
        };
        let given = number(PARTITIONS_VARIABLE)?;
        // The second value is added to the number: Kubernetes counts its indices from 0.
        let sources = [
            ("HQ_TASK_ID", 0),
            ("JOB_COMPLETION_INDEX", 1),
            ("SLURM_ARRAY_TASK_ID", 0),
        ];
        for (variable, first) in sources {
            let Some(task) = number(variable)? else {
                continue;
            };
            let (part, parts) = match given {
                Some(parts) => (task.saturating_add(first), parts),
                None if variable == "SLURM_ARRAY_TASK_ID" => slurm_array(task, &number)?,
                None => {
                    return Err(format!(
                        "{variable} says which part this is; set {PARTITIONS_VARIABLE} to how many \
                         there are"
                    ));
                }
            };
            return Self::new(part, parts)
                .ok_or_else(|| format!("{variable} asks for part {part} of {parts}"));
        }
        Err(
            "no scheduler says which part this is: none of HQ_TASK_ID, JOB_COMPLETION_INDEX and \
             SLURM_ARRAY_TASK_ID is set; name the part as k/n"
                .to_owned(),
        )
    }
}

/// The part and the number of parts of a Slurm array without gaps.
fn slurm_array(
    task: u32,
    number: &dyn Fn(&str) -> Result<Option<u32>, String>,
) -> Result<(u32, u32), String> {
    let bounds = [
        number("SLURM_ARRAY_TASK_MIN")?,
        number("SLURM_ARRAY_TASK_MAX")?,
        number("SLURM_ARRAY_TASK_COUNT")?,
    ];
    // Of an array with gaps, as of parts that are run again, the count is not that of all parts.
    match bounds {
        [Some(least), Some(most), Some(count)]
            if least <= task && u64::from(most) + 1 == u64::from(least) + u64::from(count) =>
        {
            Ok((task - least + 1, count))
        }
        _ => Err(format!(
            "the tasks of the Slurm array do not follow each other, so they don't say how many \
             parts there are; set {PARTITIONS_VARIABLE}"
        )),
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.part, self.parts)
    }
}

impl FromStr for Partition {
    type Err = String;

    /// Parses `k/n`, or `auto` for [`Partition::from_environment`].
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Self::from_environment(&|name| std::env::var(name).ok());
        }
        numbered(text)
            .ok_or_else(|| "a part is k/n with k from 1 to n, such as 3/200, or auto".to_owned())
    }
}

/// The part `k/n`.
fn numbered(text: &str) -> Option<Partition> {
    let (part, parts) = text.split_once('/')?;
    Partition::new(part.parse().ok()?, parts.parse().ok()?)
}

impl serde::Serialize for Partition {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Partition {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        numbered(&text).ok_or_else(|| serde::de::Error::custom("it is no part k/n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduled(variables: &[(&str, &str)]) -> Result<String, String> {
        let get = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Partition::from_environment(&get).map(|part| part.to_string())
    }

    #[test]
    fn every_hole_is_in_exactly_one_part() {
        let holes: Vec<String> = (0..2000).map(|number| format!("hole{number}")).collect();
        for parts in [1, 2, 7, 64] {
            let sizes: Vec<usize> = (1..=parts)
                .map(|part| {
                    let part = Partition::new(part, parts).expect("there is such a part");
                    holes.iter().filter(|hole| part.includes(hole)).count()
                })
                .collect();
            assert_eq!(sizes.iter().sum::<usize>(), holes.len());
            let even = holes.len() / parts as usize;
            assert!(sizes.iter().all(|size| *size > even / 3), "{sizes:?}");
        }
    }

    #[test]
    fn holes_keep_their_parts() {
        // Another hash would make finished parts worthless.
        let part = |hole: &str| {
            (1..=7).find(|part| Partition::new(*part, 7).is_some_and(|one| one.includes(hole)))
        };
        assert_eq!(["a", "b", "c"].map(part), [Some(3), Some(4), Some(3)]);
    }

    #[test]
    fn parts_are_parsed() {
        assert_eq!(
            "3/200".parse(),
            Ok(Partition {
                part: 3,
                parts: 200
            })
        );
        for wrong in ["0/2", "3/2", "1/0", "1", "a/b", "-1/2", ""] {
            assert!(wrong.parse::<Partition>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn schedulers_say_which_part_it_is() {
        let slurm = |task, least, most, count| {
            scheduled(&[
                ("SLURM_ARRAY_TASK_ID", task),
                ("SLURM_ARRAY_TASK_MIN", least),
                ("SLURM_ARRAY_TASK_MAX", most),
                ("SLURM_ARRAY_TASK_COUNT", count),
            ])
        };
        assert_eq!(slurm("0", "0", "3", "4"), Ok("1/4".to_owned()));
        assert_eq!(slurm("13", "10", "13", "4"), Ok("4/4".to_owned()));
        assert!(
            slurm("7", "3", "9", "3").is_err_and(|error| error.contains("FILLRATE_PARTITIONS"))
        );
        let parts = ("FILLRATE_PARTITIONS", "8");
        // Parts that are run again: the array has gaps.
        let again = [("SLURM_ARRAY_TASK_ID", "7"), parts];
        assert_eq!(scheduled(&again), Ok("7/8".to_owned()));
        let kubernetes = [("JOB_COMPLETION_INDEX", "0"), parts];
        assert_eq!(scheduled(&kubernetes), Ok("1/8".to_owned()));
        let nested = [("HQ_TASK_ID", "5"), ("SLURM_ARRAY_TASK_ID", "1"), parts];
        assert_eq!(scheduled(&nested), Ok("5/8".to_owned()));
        assert!(scheduled(&[("HQ_TASK_ID", "5")]).is_err());
        assert!(scheduled(&[("HQ_TASK_ID", "9"), parts]).is_err());
        assert!(scheduled(&[("HQ_TASK_ID", "x"), parts]).is_err());
        assert!(scheduled(&[]).is_err());
    }
}
