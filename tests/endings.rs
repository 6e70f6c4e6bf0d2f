//! Clean-up ends a model's answer with what the model was to write, however the answer goes on: at
//! mined holes of the demos, in each view of their files.

use std::path::{Path, PathBuf};

use fillrate_mine::written::{CodeView, ViewExtent};
use fillrate_server::cleanup::{Cleaner, CompletionExtent, CursorSite};
use fillrate_server::model::Finish;
use fillrate_syntax::Language;
use serde_json::Value;

use crate::support::play::{TestDir, demo, has_tools, holes, repository, run, text};
use crate::support::programs::{install, search_path};

/// A hole in its finished file.
struct FinishedHole {
    name: String,
    language: &'static Language,
    contents: String,
    start: usize,
    end: usize,
}

/// What a model that knows the reference answers.
const ANSWERS: [&str; 4] = [
    "goes on",
    "goes on with a new function",
    "repeats the suffix",
    "stops one token early",
];

/// Length of an answer whose model does not stop, in bytes.
const LENGTH: usize = 400;

impl FinishedHole {
    fn new(hole: &Value) -> Self {
        let part = |name: &str| hole[name].as_str().unwrap();
        let offset = |name: &str| usize::try_from(hole[name].as_u64().unwrap()).unwrap();
        let path = format!("corpora/{}/{}", part("project"), part("path"));
        let contents = std::fs::read_to_string(repository(&path)).unwrap();
        let (start, end) = (offset("start"), offset("end"));
        assert_eq!(&contents[start..end], part("reference"));
        Self {
            name: part("id").to_owned(),
            language: Language::for_path(Path::new(&path)).unwrap(),
            contents,
            start,
            end,
        }
    }

    fn suffix(&self, view: CodeView) -> String {
        let hole = self.start..self.end;
        view.suffix(Some(self.language), &self.contents, &hole)
    }

    /// The end of what may be missing in a view: of the hole, or of the definition around it.
    fn extent(&self, view: CodeView) -> usize {
        match view {
            CodeView::Finished => self.end,
            _ => {
                let rest = self.suffix(CodeView::AsWritten(ViewExtent::Definition));
                self.contents.len() - rest.len()
            }
        }
    }

    /// An answer of [`ANSWERS`], with the reason for its end.
    fn answer(&self, kind: &str) -> (String, Finish) {
        let rest = &self.contents[self.start..];
        let reference = &self.contents[self.start..self.end];
        match kind {
            "goes on" => {
                let cut = (LENGTH.min(rest.len())..).find(|at| rest.is_char_boundary(*at));
                (rest[..cut.unwrap()].to_owned(), Finish::Length)
            }
            "goes on with a new function" => {
                let written = self.extent(CodeView::AsWritten(ViewExtent::Definition));
                let further = match self.language.id {
                    "python" => "\n\n\ndef further(a, b):\n    c = a.value\n    return b.val",
                    "go" => "\n\nfunc Further(a int) int {\n\tb := a.Value\n\treturn b.Val",
                    "java" => {
                        "\n\n    int further(int a) {\n        int b = 1;\n        return b.val"
                    }
                    _ => "\n\nfunction further(a) {\n  const b = 1;\n  return b.val",
                };
                let written = &self.contents[self.start..written];
                ([written, further].concat(), Finish::Length)
            }
            "repeats the suffix" => {
                let following = self.contents[self.end..].split_inclusive('\n').take(4);
                let repeated: String = following.collect();
                ([reference, repeated.trim_end()].concat(), Finish::Stop)
            }
            _ => {
                let ink = reference.trim_end();
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let early = match ink.trim_end_matches(is_word) {
                    same if same.len() == ink.len() => {
                        ink.char_indices().next_back().map(|(at, _)| &ink[..at])
                    }
                    early => Some(early),
                };
                (early.unwrap_or_default().to_owned(), Finish::Stop)
            }
        }
    }

    /// The text that is inserted, after the answer streamed to its end.
    fn accepted(&self, suffix: &str, answer: &str, finish: Finish) -> String {
        let cleaner = Cleaner::new(CursorSite {
            prefix: &self.contents[..self.start],
            suffix,
            path: None,
            language: Some(self.language),
            tree: None,
            extent: CompletionExtent::Block,
            chat: false,
        });
        cleaner.clean(answer, finish).0
    }

    /// The fault of an inserted text, if any.
    fn fault(&self, view: CodeView, kind: &str, inserted: &str) -> Option<&'static str> {
        let extent = self.extent(view);
        let Some(stop) = self.reached(inserted) else {
            return Some("differs from the file's own text");
        };
        if stop > extent && has_code(&self.contents[extent..stop]) {
            return Some("goes on too far");
        }
        // Closing brackets and separators alone are no code.
        if stop <= self.end && !has_code(&self.contents[stop..self.end]) {
            return None;
        }
        let fits = |text: &str, suffix: &str| {
            self.language
                .parses(&[&self.contents[..self.start], text, suffix].concat())
        };
        let suffix = self.suffix(view);
        if view != CodeView::AsWritten(ViewExtent::Definition)
            && fits(&self.contents[self.start..self.end], &suffix)
            && !fits(inserted, &suffix)
            && !fits(&format!("{inserted};"), &suffix)
        {
            return Some("breaks the file");
        }
        let at = stop..stop;
        let closed = CodeView::Closed(ViewExtent::Definition).suffix(
            Some(self.language),
            &self.contents,
            &at,
        );
        if !fits(inserted, &closed) && !fits(&format!("{inserted};"), &closed) {
            return Some("ends within a statement");
        }
        // A model that stops by itself may end a line where another would go on.
        let rest = self.contents[stop..]
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start();
        let is_end = rest.is_empty()
            || rest.starts_with([';', ',', ')', ']', '}', '"', '\'', '`'])
            || rest.starts_with(self.language.line_comment)
            || inserted
                .trim_end()
                .ends_with([';', '}', ')', ']', '"', '\'', '`'])
            || inserted.ends_with('\n')
            || stop == self.end;
        (!is_end && kind != "stops one token early").then_some("ends within a line")
    }

    /// The offset up to which an inserted text is the file's own, white space aside.
    fn reached(&self, inserted: &str) -> Option<usize> {
        let mut stop = self.start;
        let mut own = self.contents[self.start..]
            .char_indices()
            .filter(|(_, each)| !each.is_whitespace());
        for each in inserted.chars().filter(|each| !each.is_whitespace()) {
            let (at, found) = own.next()?;
            if found != each {
                return None;
            }
            stop = self.start + at + found.len_utf8();
        }
        Some(stop)
    }
}

/// True if a text has more than closing brackets and separators.
fn has_code(text: &str) -> bool {
    text.contains(|c: char| !c.is_whitespace() && !")]};,".contains(c))
}

/// Judges every answer at every hole in every view.
fn check(tasks: &[PathBuf]) {
    let views = [
        CodeView::Finished,
        CodeView::AsWritten(ViewExtent::Definition),
        CodeView::Closed(ViewExtent::Definition),
    ];
    let holes: Vec<FinishedHole> = tasks
        .iter()
        .flat_map(|tasks| holes(tasks))
        .map(|hole| FinishedHole::new(&hole))
        .collect();
    let (mut shown, mut asked, mut whole) = (0, 0, 0);
    let mut faults = Vec::new();
    for view in views {
        for kind in ANSWERS {
            let (mut shown_here, mut faults_here) = (0, 0);
            for hole in &holes {
                let suffix = hole.suffix(view);
                let (answer, finish) = hole.answer(kind);
                let inserted = hole.accepted(&suffix, &answer, finish);
                asked += 1;
                if inserted.trim().is_empty() {
                    continue;
                }
                shown_here += 1;
                let reference = &hole.contents[hole.start..hole.end];
                whole += usize::from(inserted.trim_start().starts_with(reference.trim()));
                if let Some(fault) = hole.fault(view, kind, &inserted) {
                    faults_here += 1;
                    faults.push(format!(
                        "{}, {view}, {kind}: {fault}\n{reference:?}\n{inserted:?}",
                        hole.name
                    ));
                }
            }
            println!(
                "{view}, {kind}: {faults_here} of {shown_here} wrong, n {}",
                holes.len()
            );
            shown += shown_here;
        }
    }
    println!(
        "{} of {shown} wrong, {whole} whole, n {asked}",
        faults.len()
    );
    assert!(
        faults.len() * 100 <= shown,
        "{} of {shown}:\n{}",
        faults.len(),
        faults.join("\n\n")
    );
    // Most of what can be shown is.
    assert!(
        shown * 10 >= asked * 8 && whole * 2 >= asked,
        "{shown} and {whole} of {asked}"
    );
    println!("{}", faults.join("\n\n"));
}

/// Mines a corpus of demos, with a folder of programs first on the search path.
pub(crate) fn mine(dir: &TestDir, corpus: &str, number: &str, programs: Option<&Path>) -> PathBuf {
    let name = Path::new(corpus).file_stem().unwrap().to_str().unwrap();
    let tasks = dir.path(&format!("{name}.jsonl"));
    let mut command = dir.command(&["mine", corpus, "--holes", number, "-o", &text(&tasks)]);
    if let Some(folder) = programs {
        command.envs([search_path(folder)]);
    }
    run(&mut command).exits_with(0);
    tasks
}

#[test]
fn answers_at_mined_holes_end_where_their_statement_does() {
    if !has_tools(&["python3", "node", "npm"]) {
        return;
    }
    let number = std::env::var("FILLRATE_ENDINGS").unwrap_or_else(|_| "40".to_owned());
    let dir = TestDir::new();
    let mut tasks = vec![mine(&dir, &demo(), &number, None)];
    if let Some(go) = install("go") {
        let corpus = text(&repository("corpora/demo-go.toml"));
        tasks.push(mine(&dir, &corpus, "40", go.parent()));
    }
    check(&tasks);
}
