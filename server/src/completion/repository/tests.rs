use async_trait::async_trait;

use super::*;
use crate::context::FileStamp;
use crate::context::lines::HitTarget;
use crate::model::{BulkLearning, ModelError, ModelOutput, ModelRequest, TextListener};

/// A model that records what it observes.
#[derive(Clone, Debug, Default)]
struct Pupil {
    notes: Arc<Mutex<Vec<String>>>,
    learns_many: bool,
}

impl Pupil {
    fn note(&self, what: &str, path: &str, contents: Option<&str>) {
        let contents = contents.unwrap_or("-");
        self.notes.lock().push(format!("{what} {path} {contents}"));
    }

    /// Returns the records since the last call, sorted, as files come in no certain order.
    fn notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut *self.notes.lock());
        notes.sort();
        notes
    }
}

#[async_trait]
impl Model for Pupil {
    fn name(&self) -> &str {
        "pupil"
    }

    async fn complete(
        &self,
        _request: &ModelRequest,
        _listener: &dyn TextListener,
    ) -> Result<ModelOutput, ModelError> {
        Err(ModelError::Failed("it only learns".to_owned()))
    }

    fn learns(&self) -> bool {
        true
    }

    fn observe(&self, path: &str, contents: Option<&str>) {
        self.note("observe", path, contents);
    }

    fn learn_many(&self) -> Option<Box<dyn BulkLearning>> {
        let learning: Box<dyn BulkLearning> = Box::new(self.clone());
        self.learns_many.then_some(learning)
    }

    fn relearn(&self, kept: Arc<Vec<u8>>, _gone: &[String]) -> bool {
        self.note("relearn", &String::from_utf8_lossy(&kept), None);
        true
    }
}

impl BulkLearning for Pupil {
    fn learn(&mut self, path: &str, contents: &str) {
        self.note("learn", path, Some(contents));
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        b"all".to_vec()
    }
}

/// Creates a folder with two files, and a repository state that teaches a pupil.
fn taught(pupil: &Pupil) -> (tempfile::TempDir, RepositoryState) {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a.py", "b.py"] {
        std::fs::write(folder.path().join(name), name).expect("it is written");
    }
    let folders = vec![folder.path().to_owned()];
    let state = RepositoryState::new(folders, Profile::Editor, None).expect("an index");
    let model: Arc<dyn Model> = Arc::new(pupil.clone());
    state.teach(&model);
    state.read(|_, _| {}).expect("it is read");
    (folder, state)
}

fn open(state: &RepositoryState, path: &Path, contents: &str) {
    let uri = format!("file://{}", path.display());
    state.document_changed(&Snapshot::new(&uri, "python", 1, contents));
}

#[test]
fn only_changed_contents_of_other_files_are_indexed() {
    let pupil = Pupil::default();
    let (folder, state) = taught(&pupil);
    assert_eq!(pupil.notes(), ["observe a.py a.py", "observe b.py b.py"]);
    let [a, b] = ["a.py", "b.py"].map(|name| folder.path().join(name));
    open(&state, &a, "edited");
    state.settle();
    assert_eq!(pupil.notes(), [""; 0], "it is the current file");
    open(&state, &b, "b.py");
    state.settle();
    assert_eq!(pupil.notes(), ["observe a.py edited"]);
    // After closing, the disk's contents count again.
    state.file_changed(&a);
    state.settle();
    assert_eq!(pupil.notes(), ["observe a.py a.py"]);
    state.file_changed(&a);
    state.file_changed(&b);
    open(&state, &a, "a.py");
    state.settle();
    assert_eq!(pupil.notes(), [""; 0], "all is as it was");
    std::fs::remove_file(&b).expect("it is removed");
    state.file_changed(&b);
    state.settle();
    assert_eq!(pupil.notes(), ["observe b.py -"]);
}

#[test]
fn changes_while_many_files_are_learnt_come_after_them() {
    let pupil = Pupil {
        learns_many: true,
        ..Pupil::default()
    };
    let _taught = taught(&pupil);
    assert_eq!(
        pupil.notes(),
        ["learn a.py a.py", "learn b.py b.py", "relearn all -"]
    );
    let model: Arc<dyn Model> = Arc::new(pupil.clone());
    let learner = Learner::new(&model, None);
    let file = |contents: &str| ReadFile::new(contents.to_owned(), None);
    learner.begin_bulk();
    assert!(learner.learn("a.py", &file("old")));
    learner.change("a.py", Some(file("new").version()));
    learner.change("b.py", None);
    let learnt = learner.finish_bulk().expect("it learns many");
    learner.change("c.py", Some(file("c").version()));
    learner.take_bulk(learnt);
    learner.change("a.py", Some(file("newer").version()));
    let notes = pupil.notes.lock().clone();
    assert_eq!(
        notes,
        [
            "learn a.py old",
            "relearn all -",
            "observe a.py new",
            "observe c.py c",
            "observe a.py newer"
        ]
    );
    assert!(!learner.learn("d.py", &file("d")), "no more at once");
}

#[test]
fn a_buffer_that_equals_the_file_leaves_its_stamp() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.py");
    std::fs::write(&path, "a").expect("it is written");
    let file = std::fs::File::options().write(true).open(&path);
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    file.and_then(|file| file.set_modified(earlier))
        .expect("a time");
    let stamp = FileStamp::read(&path);
    assert!(stamp.is_some());
    let mut known = KnownFiles::new();
    let mut note = |contents, stamp| {
        let changed = note_version(&mut known, "a.py", Some(FileVersion::new(contents, stamp)));
        (changed, known["a.py"].stamp)
    };
    assert_eq!(note("a", stamp), (true, stamp));
    assert_eq!(note("a", None), (false, stamp));
    assert_eq!(note("b", None), (true, None));
    assert_eq!(note("b", stamp), (false, stamp));
    assert!(note_version(&mut known, "a.py", None));
    assert!(!note_version(&mut known, "a.py", None));
}

/// Asks the index at the end of a text of a file that is not open.
fn found(state: &RepositoryState, prefix: &str) -> Vec<String> {
    let query = Query {
        path: "open.py",
        prefix,
        suffix: "",
        language: Language::by_id("python").expect("it is known"),
        tree: None,
        head: None,
        recent: &[],
    };
    let windows = state.indexed(&query, 50).expect("the index works");
    windows.into_iter().map(|window| window.path).collect()
}

#[test]
fn many_changes_on_disk_are_left_to_a_pause() {
    let pupil = Pupil::default();
    let (folder, state) = taught(&pupil);
    pupil.notes();
    let changed = |count: usize, word: &str| {
        for number in 0..count {
            let path = folder.path().join(format!("n{number}.py"));
            std::fs::write(&path, "old").expect("it is written");
            state.file_changed(&path);
            // The notification reads nothing.
            std::fs::write(&path, format!("number_{number} = {word}")).expect("it is written");
        }
    };
    changed(FEW_CHANGES + 1, "alpha");
    assert_eq!(found(&state, "alpha\n"), [""; 0]);
    assert_eq!(pupil.notes(), [""; 0], "they are many");
    // What is open counts all the same.
    open(&state, &folder.path().join("a.py"), "opened = alpha");
    open(&state, &folder.path().join("b.py"), "other");
    assert_eq!(found(&state, "alpha\n"), ["a.py"]);
    assert_eq!(
        pupil.notes(),
        ["observe a.py opened = alpha", "observe b.py other"]
    );
    state.settle();
    let notes = pupil.notes();
    assert_eq!(notes.len(), FEW_CHANGES + 1, "{notes:?}");
    assert!(
        notes.iter().all(|note| note.ends_with(" alpha")),
        "{notes:?}"
    );
    assert!(found(&state, "alpha\n").contains(&"n16.py".to_owned()));
    changed(2, "beta");
    let mut paths = found(&state, "beta\n");
    paths.sort();
    assert_eq!(paths, ["n0.py", "n1.py"], "they are few");
    assert_eq!(pupil.notes().len(), 2);
}

#[test]
fn many_changes_hide_files_at_once() {
    let (folder, state) = taught(&Pupil::default());
    std::fs::create_dir(folder.path().join("inner")).expect("a folder");
    for name in ["inner/c.py", "d.py"] {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("shared = '{name}'")).expect("it is written");
        state.file_changed(&path);
    }
    assert_eq!(found(&state, "shared\n").len(), 2);
    let ignore = folder.path().join(".gitignore");
    std::fs::write(&ignore, "inner/\n").expect("it is written");
    state.file_changed(&ignore);
    assert_eq!(found(&state, "shared\n"), ["d.py"]);
    assert!(state.knows("inner/c.py"), "its removal is left to a pause");
    state.settle();
    assert!(!state.knows("inner/c.py"));
    // Without the rule, the pause finds the file again.
    std::fs::remove_file(&ignore).expect("it is removed");
    state.file_changed(&ignore);
    state.settle();
    assert_eq!(found(&state, "shared\n").len(), 2);
}

#[test]
fn a_document_opened_after_its_file_changed_counts_as_it_is() {
    let pupil = Pupil::default();
    let (folder, state) = taught(&pupil);
    pupil.notes();
    let [a, b] = ["a.py", "b.py"].map(|name| folder.path().join(name));
    std::fs::write(&a, "on disk").expect("it is written");
    state.file_changed(&a);
    open(&state, &a, "in the buffer");
    open(&state, &b, "b.py");
    state.settle();
    assert_eq!(pupil.notes(), ["observe a.py in the buffer"]);
}

#[test]
fn windows_of_lines_are_checked_again_before_they_are_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, contents: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is created");
        std::fs::write(&path, contents).expect("it is written");
        path
    };
    write("private.py", "total = order.amount\n");
    write("public.py", "total = order.rate\n");
    write(".git/HEAD", "");
    let folders = vec![folder.path().to_owned()];
    let state = RepositoryState::new(folders, Profile::Cceval, None).expect("a store");
    state.read(|_, _| {}).expect("it is read");
    let found = || {
        let windows = state.lines("open.py", |candidates| {
            candidates.best(&candidates.bm25("total"), 5, HitTarget::Itself)
        });
        let paths = windows.expect("it is searched").into_iter();
        let mut paths: Vec<String> = paths.map(|window| window.path).collect();
        paths.sort();
        (
            paths,
            state.line_texts("open.py").expect("it is searched").len(),
        )
    };
    let (all, public) = (["private.py", "public.py"], ["public.py"]);
    assert_eq!(found(), (all.map(str::to_owned).to_vec(), 2));
    // No editor reports this change yet.
    let exclude = write(".git/info/exclude", "private.py\n");
    assert_eq!(found(), (public.map(str::to_owned).to_vec(), 1));
    state.file_changed(&exclude);
    state.settle();
    assert!(!state.knows("private.py"));
    write(".git/info/exclude", "");
    state.file_changed(&exclude);
    state.settle();
    assert_eq!(found(), (all.map(str::to_owned).to_vec(), 2));
}

#[test]
fn removed_folders_are_not_searched() {
    let folders = ["kept", "removed"].map(|name| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(format!("{name}.py"));
        // Windows with equal text count once.
        std::fs::write(file, format!("total = {name}\n")).expect("it is written");
        folder
    });
    let [kept, removed] = folders.each_ref().map(|folder| folder.path().to_owned());
    let both = vec![kept, removed.clone()];
    let state = RepositoryState::new(both, Profile::Editor, None).expect("an index");
    state.read(|_, _| {}).expect("it is read");
    assert_eq!(found(&state, "total").len(), 2);
    state.remove_folders(&[removed]);
    let found = found(&state, "total");
    assert!(
        found.len() == 1 && found[0].ends_with("/kept.py"),
        "{found:?}"
    );
}
