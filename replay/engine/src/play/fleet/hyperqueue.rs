//! HyperQueue: a program that submits the parts to its server, waits for them and merges them.

use std::path::PathBuf;

use serde_json::json;

use super::FleetPlan;
use crate::play::PlayError;

/// Submits the parts of the plan in the same folder through HyperQueue's Python interface.
const PROGRAM: &str = include_str!("run.py");

/// Writes the program and the plan that it reads into the folder that the parts share, and returns
/// the program's path.
///
/// # Errors
/// The folder can't be written to.
pub fn write_program(plan: &FleetPlan) -> Result<PathBuf, PlayError> {
    plan.write_file("hyperqueue", "plan.json", &plan_file(plan))?;
    plan.write_file("hyperqueue", "run.py", PROGRAM)
}

/// The commands and the resources. `{part}` in a part's command is a placeholder for `k/n`.
fn plan_file(plan: &FleetPlan) -> String {
    let program = plan.program.display().to_string();
    let command = |arguments: Vec<String>| {
        let mut words = vec![program.clone()];
        words.extend(arguments);
        words
    };
    let [missing, merge] = plan.merge_arguments();
    let file = json!({
        "parts": plan.parts,
        "processors": plan.processors,
        "minutes": plan.minutes,
        "folder": plan.start_folder,
        "out": plan.out,
        "run": plan.run,
        "variables": {"FILLRATE_CACHE": plan.cache},
        "part": command(plan.arguments("{part}")),
        "missing": command(missing),
        "merge": command(merge),
    });
    format!("{file:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::fleet::tests::plan;

    #[test]
    fn the_plan_holds_commands_resources_and_the_shared_cache() {
        let file: serde_json::Value = serde_json::from_str(&plan_file(&plan())).unwrap();
        assert_eq!(file["parts"], 200);
        assert_eq!(file["processors"], 4);
        assert_eq!(file["folder"], "/home/me");
        assert_eq!(file["minutes"], 90);
        assert_eq!(file["variables"]["FILLRATE_CACHE"], "/data/cache");
        let words = |name: &str| -> Vec<String> {
            let words = file[name].as_array().unwrap().iter();
            words
                .map(|word| word.as_str().unwrap().to_owned())
                .collect()
        };
        let mut part = plan().arguments("{part}");
        part.insert(0, "/opt/fillrate".to_owned());
        assert_eq!(words("part"), part);
        let missing = ["/opt/fillrate", "merge", "/data/parts", "--missing"];
        assert_eq!(words("missing"), missing);
        let merge = words("merge").join(" ");
        assert_eq!(
            merge,
            "/opt/fillrate merge /data/parts -o /data/run --settle --jobs 4"
        );
    }
}
