//! A recorder, as the server uses it.

use super::*;
use crate::completion::Trace;
use crate::documents::{Documents, Edit};
use crate::text::{Encoding, Position};

const URI: &str = "file:///w/a.py";

/// A recorder with one open document and a store.
struct Desk {
    folder: tempfile::TempDir,
    recorder: Arc<Recorder>,
    documents: Documents,
    version: i32,
    configuration: Configuration,
}

impl Desk {
    fn new(contents: &str) -> Self {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let (complaints, _) = mpsc::unbounded_channel();
        let recorder = Arc::new(Recorder::new(None, None, complaints));
        let mut configuration = Configuration::default();
        configuration.telemetry.path = Some(folder.path().join("store.db"));
        configuration.telemetry.retention_s = vec![1];
        recorder.configure(&configuration.telemetry);
        let mut desk = Self {
            folder,
            recorder,
            documents: Documents::default(),
            version: 1,
            configuration,
        };
        desk.documents.open(URI, "python", 1, contents);
        desk.recorder.opened(&desk.document());
        desk
    }

    fn document(&self) -> Arc<Snapshot> {
        self.documents.snapshot(URI).expect("it is open")
    }

    /// Replaces characters of a line.
    fn edit(&mut self, line: u32, characters: Range<u32>, text: &str) {
        self.version += 1;
        let at = |character| Position { line, character };
        let edit = Edit {
            range: Some(at(characters.start)..at(characters.end)),
            text: text.to_owned(),
        };
        let changes = self
            .documents
            .change(URI, self.version, &[edit], Encoding::Utf8)
            .expect("it is open");
        self.recorder.edited(&self.document(), &changes);
    }

    /// Offers texts at a byte, and gives the completion's id.
    fn offer(&self, form: Form, cursor: usize, candidates: &[&str]) -> String {
        let completion = Completion {
            candidates: candidates.iter().map(|&text| text.to_owned()).collect(),
            trace: Trace::default(),
        };
        let document = self.document();
        let request = Request {
            form,
            trigger: Trigger::Typing,
            document: &document,
            cursor: ByteOffset(cursor),
            latency: Duration::from_millis(3),
            configuration: &self.configuration,
        };
        self.recorder.answered(request, &completion)
    }

    /// What the store has when all is over.
    async fn ended(self) -> Vec<Recorded> {
        self.recorder.end().await;
        let path = self.folder.path().join("store.db");
        read(&path).expect("it is a store").completions
    }
}

/// Long enough for the horizon of these tests.
async fn horizon() {
    tokio::time::sleep(Duration::from_millis(1500)).await;
}

#[tokio::test]
async fn the_same_text_at_the_same_place_counts_once_in_a_row() {
    let mut desk = Desk::new("a = 1\nb = \n");
    let first = desk.offer(Form::Inline, 10, &["foo()"]);
    // The place moved, and is the same.
    desk.edit(0, 4..5, "1000");
    assert_eq!(desk.offer(Form::Inline, 13, &["foo()"]), first);
    // Another way of asking is another display.
    assert_ne!(desk.offer(Form::List, 13, &["foo()"]), first);
    assert_eq!(desk.offer(Form::Inline, 13, &["foo()"]), first);
    // Something else in between, and it is no longer in a row.
    let second = desk.offer(Form::Inline, 13, &["bar()"]);
    let third = desk.offer(Form::Inline, 13, &["foo()"]);
    assert!(second != first && third != first && third != second);
    // What was accepted is another thing when it comes again.
    desk.recorder.accepted(&third, 0, None).await;
    assert_ne!(desk.offer(Form::Inline, 13, &["foo()"]), third);
    let completions = desk.ended().await;
    let superseded: Vec<bool> = completions.iter().map(|one| one.superseded).collect();
    assert_eq!(superseded, [true, false, true, false, false]);
}

#[tokio::test]
async fn a_command_may_come_before_its_edit() {
    let mut desk = Desk::new("a = \n");
    let id = desk.offer(Form::Inline, 4, &["größe(1)"]);
    desk.recorder.accepted(&id, 0, None).await;
    desk.edit(0, 4..4, "größe(1)");
    desk.edit(0, 0..1, "alpha");
    horizon().await;
    let completions = desk.ended().await;
    let left = completions[0].retention[&1].expect("it was found");
    assert_eq!((left.distance, left.removed), (0.0, false));
}

#[tokio::test]
async fn an_item_of_a_list_replaces_the_word_before_it() {
    let mut desk = Desk::new("value = pri\n");
    let id = desk.offer(Form::List, 11, &["ce * rate"]);
    desk.edit(0, 8..11, "price * rate");
    desk.recorder.accepted(&id, 0, None).await;
    desk.edit(0, 16..20, "tax");
    horizon().await;
    let completions = desk.ended().await;
    let left = completions[0].retention[&1].expect("it was found");
    // `ce * rate` is `ce * tax` now: `r` and `te` went, and `t` and `x` came around the `a`.
    assert!((left.distance - 3.0 / 9.0).abs() < 1e-9, "{left:?}");
}

#[tokio::test]
async fn what_stands_nowhere_is_unobserved() {
    let mut desk = Desk::new("a = \n");
    let id = desk.offer(Form::Inline, 4, &["foo()"]);
    desk.edit(0, 4..4, "something else");
    desk.recorder.accepted(&id, 0, None).await;
    horizon().await;
    let completions = desk.ended().await;
    assert!(completions[0].accepted.is_some());
    assert_eq!(completions[0].retention[&1], None);
}

#[tokio::test]
async fn parts_are_followed_together_without_what_was_typed() {
    let mut desk = Desk::new("a = \n");
    let id = desk.offer(Form::Inline, 4, &["foo.bar.baz"]);
    let take = |desk: &Desk, characters| {
        let told = Told::PartlyAccepted {
            characters,
            unit: Some("word".to_owned()),
        };
        desk.recorder.told(&id, 0, None, told);
    };
    // `fo` by hand, then `o.` and `bar` taken.
    desk.edit(0, 4..4, "fo");
    desk.edit(0, 6..6, "o.");
    take(&desk, 2);
    desk.edit(0, 8..8, "bar");
    take(&desk, 3);
    desk.edit(0, 8..11, "qux");
    horizon().await;
    let completions = desk.ended().await;
    let partly = completions[0].partly.clone().expect("two steps");
    assert_eq!((partly.steps, partly.characters), (2, 5));
    let left = completions[0].retention[&1].expect("it was found");
    assert!((left.distance - 3.0 / 5.0).abs() < 1e-9, "{left:?}");
}

#[test]
fn a_text_is_found_at_its_place_or_else_nearest() {
    let document = Text::new("foo\n  é foo\nfoo\n");
    assert_eq!(located(&document, 0, "foo"), Some(0..3));
    assert_eq!(located(&document, 9, "foo"), Some(9..12));
    assert_eq!(located(&document, 8, "foo"), Some(9..12));
    assert_eq!(located(&document, 15, "foo"), Some(13..16));
    assert_eq!(located(&document, 3, "bar"), None);
    let far = Text::new(&["x".repeat(1000).as_str(), "foo"].concat());
    assert_eq!(located(&far, 0, "foo"), None);
}
