//! Holes written as tasks for other harnesses: their own scripts give the original text reward 1,
//! and nothing, or a change elsewhere, reward 0.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::endings::mine;
use crate::support::play::{TestDir, cache, demo, has_tools, repository, run, text};
use crate::support::programs::{install, search_path};

/// A task's folder, and the folders that stand for the places of its image.
struct Task {
    folder: PathBuf,
    app: PathBuf,
    /// Folders of programs that the image would have.
    programs: Vec<PathBuf>,
}

impl Task {
    /// Lays the project out as the image would, with packages from the cache.
    fn new(folder: PathBuf, app: PathBuf, go: Option<&Path>) -> Self {
        let environment = folder.join("environment");
        let copied = Command::new("cp")
            .arg("-r")
            .args([environment.join("project"), app.clone()])
            .status();
        assert!(copied.unwrap().success());
        let file = |name: &str| fs::read_to_string(environment.join("packages").join(name)).ok();
        let mut programs: Vec<PathBuf> = go.map(Path::to_owned).into_iter().collect();
        if let Some(requirements) = file("requirements.txt") {
            let installed: Vec<&str> = requirements.lines().collect();
            let has_these = |record: &Value| record["lock"] == serde_json::json!(installed);
            programs.push(environment_with(has_these).join("root/bin"));
        }
        if let Some(lock) = file("package-lock.json") {
            let of_this_lock = |folder: &Path| {
                fs::read_to_string(folder.join("package-lock.json")).is_ok_and(|text| text == lock)
            };
            let packages = environments().into_iter().find(|one| of_this_lock(one));
            let modules = packages.unwrap().join("root/node_modules");
            let own = app.join("node_modules");
            fs::create_dir(&own).unwrap();
            // Vitest writes into a folder among its packages, which other tests share.
            let shared = fs::read_dir(modules).unwrap().map(Result::unwrap);
            for package in shared.filter(|entry| entry.file_name() != ".vite") {
                symlink(package.path(), own.join(package.file_name())).unwrap();
            }
        }
        Self {
            folder,
            app,
            programs,
        }
    }

    fn script(&self, name: &str) -> String {
        let mut command = Command::new("bash");
        command
            .arg(self.folder.join(name))
            .current_dir("/")
            .env("APP", &self.app)
            .env("REWARD", self.app.with_extension("reward"));
        for folder in &self.programs {
            command.envs([search_path(folder)]);
        }
        let output = command.output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// The reward, and what the test script printed.
    fn reward(&self) -> (String, String) {
        let printed = self.script("tests/test.sh");
        let reward = fs::read_to_string(self.app.with_extension("reward")).unwrap();
        (reward.trim().to_owned(), printed)
    }
}

fn environments() -> Vec<PathBuf> {
    let folders = fs::read_dir(Path::new(&cache()).join("environments")).unwrap();
    folders.map(|folder| folder.unwrap().path()).collect()
}

/// The folder of an environment whose record satisfies a condition.
fn environment_with(condition: impl Fn(&Value) -> bool) -> PathBuf {
    let record = |folder: &PathBuf| {
        let text = fs::read(folder.join("record.json")).ok()?;
        serde_json::from_slice(&text).ok()
    };
    let mut all = environments().into_iter();
    all.find(|folder| record(folder).is_some_and(|record| condition(&record)))
        .unwrap()
}

#[test]
fn exported_tasks_reward_the_reference_alone() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let number = std::env::var("FILLRATE_TASKS").unwrap_or_else(|_| "6".to_owned());
    let go = install("go");
    let mut corpora = vec![(demo(), None)];
    if let Some(go) = &go {
        corpora.push((text(&repository("corpora/demo-go.toml")), go.parent()));
    }
    let dir = TestDir::new();
    for (corpus, programs) in corpora {
        let tasks = mine(&dir, &corpus, &number, programs);
        let name = tasks.file_stem().unwrap().to_str().unwrap();
        let out = format!("{name}-tasks");
        let arguments = [
            "export-tasks",
            &corpus,
            "--tasks",
            &text(&tasks),
            "-o",
            &out,
        ];
        let mut command = dir.command(&arguments);
        if let Some(folder) = programs {
            command.envs([search_path(folder)]);
        }
        run(&mut command).exits_with(0);
        let folders: Vec<_> = fs::read_dir(dir.path(&out)).unwrap().collect();
        assert_eq!(folders.len().to_string(), number);
        for (at, folder) in folders.into_iter().enumerate() {
            let app = dir.path(&format!("{name}-{at}"));
            let task = Task::new(folder.unwrap().path(), app, programs);
            let name = task.folder.display();
            let (reward, printed) = task.reward();
            assert_eq!(reward, "0", "{name}:\n{printed}");
            task.script("solution/solve.sh");
            let (reward, printed) = task.reward();
            assert_eq!(reward, "1", "{name}:\n{printed}");
            let settings = fs::read_to_string(task.folder.join("task.toml")).unwrap();
            let settings: toml::Table = settings.parse().unwrap();
            let file = task
                .app
                .join(settings["metadata"]["path"].as_str().unwrap());
            let filled = fs::read_to_string(&file).unwrap();
            fs::write(&file, filled + "\n").unwrap();
            let (reward, printed) = task.reward();
            assert_eq!(reward, "0", "{name}");
            assert!(printed.contains("differs outside of the hole"), "{printed}");
        }
    }
}

#[test]
fn tasks_are_not_written_over_files_or_without_a_script() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    dir.write("scale/scale.py", "def heavier(a, b):\n    return a > b\n");
    dir.write(
        "scale/test_scale.py",
        "import unittest\n\nimport scale\n\n\nclass ScaleTest(unittest.TestCase):\n    \
         def test_heavier(self):\n        self.assertTrue(scale.heavier(2, 1))\n        \
         self.assertFalse(scale.heavier(1, 2))\n",
    );
    dir.write(
        "scale.toml",
        "schema = 1\n[[project]]\nname = \"scale\"\nlanguage = \"python\"\nsource = { path = \
         \"scale\" }\nholes = [\"scale.py\"]\n[project.environment]\npackages = [\"coverage==7.10.7\"]\n\
         [project.test]\nrunner = \"unittest\"\n",
    );
    dir.fillrate(&["mine", "scale.toml", "--holes", "1", "-o", "tasks.jsonl"])
        .exits_with(0);
    let export = |out, status| {
        let arguments = [
            "export-tasks",
            "scale.toml",
            "--tasks",
            "tasks.jsonl",
            "-o",
            out,
        ];
        dir.fillrate(&arguments).exits_with(status).err
    };
    let error = export("scale", 1);
    assert!(error.contains("is not empty"), "{error}");
    let error = export("out", 3);
    let reason = "tasks can't be written for the runner `unittest`";
    assert!(error.contains(reason), "{error}");
}
