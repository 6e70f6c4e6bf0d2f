//! Tests of the recorder through its public methods.

use super::*;
use crate::completion::Trace;
use crate::documents::{ContentChange, Documents};
use crate::text::{Encoding, Position};

const URI: &str = "file:///w/a.py";

/// A recorder with one open document and a store.
struct RecordedSession {
    folder: tempfile::TempDir,
    recorder: Arc<Recorder>,
    documents: Documents,
    version: i32,
    configuration: Configuration,
}

impl RecordedSession {
    fn new(contents: &str) -> Self {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let (warnings, _) = mpsc::unbounded_channel();
        let recorder = Arc::new(Recorder::new(None, None, warnings));
        let mut configuration = Configuration::default();
        configuration.telemetry.path = Some(folder.path().join("store.db"));
        configuration.telemetry.retention_s = vec![1];
        recorder.configure(&configuration.telemetry);
        let mut session = Self {
            folder,
            recorder,
            documents: Documents::default(),
            version: 1,
            configuration,
        };
        session.documents.open(URI, "python", 1, contents);
        session.recorder.document_opened(&session.document());
        session
    }

    fn document(&self) -> Arc<Snapshot> {
        self.documents.snapshot(URI).expect("it is open")
    }

    /// Replaces characters of a line.
    fn edit(&mut self, line: u32, characters: Range<u32>, text: &str) {
        self.edit_at_once(line, &[(characters, text)]);
    }

    /// Replaces characters of a line several times, sent in one notification.
    fn edit_at_once(&mut self, line: u32, edits: &[(Range<u32>, &str)]) {
        self.version += 1;
        let at = |character| Position { line, character };
        let edit = |(characters, text): &(Range<u32>, &str)| ContentChange {
            range: Some(at(characters.start)..at(characters.end)),
            text: (*text).to_owned(),
        };
        let edits: Vec<ContentChange> = edits.iter().map(edit).collect();
        let changes = self
            .documents
            .change(URI, self.version, &edits, Encoding::Utf8)
            .expect("it is open");
        self.recorder.document_edited(&self.document(), &changes);
    }

    /// Offers texts at a byte offset and returns the completion's id.
    fn offer(&self, kind: RequestKind, cursor: usize, candidates: &[&str]) -> String {
        self.offer_in(&self.document(), kind, ByteOffset(cursor), "", candidates)
    }

    /// Offers texts while a suggestion that replaces bytes of the document is selected.
    fn offer_after(&self, replaced: Range<usize>, selected: &str, candidates: &[&str]) -> String {
        let replaced = ByteOffset(replaced.start)..ByteOffset(replaced.end);
        let (document, cursor) = self.document().with_replaced(replaced, selected);
        let document = Arc::new(document);
        self.offer_in(&document, RequestKind::Inline, cursor, selected, candidates)
    }

    fn offer_in(
        &self,
        document: &Arc<Snapshot>,
        kind: RequestKind,
        cursor: ByteOffset,
        selected: &str,
        candidates: &[&str],
    ) -> String {
        let completion = Completion {
            candidates: candidates.iter().map(|&text| text.to_owned()).collect(),
            trace: Trace::default(),
        };
        let request = CompletionRequest {
            kind,
            trigger: Trigger::Typing,
            document,
            cursor,
            selected,
            latency: Duration::from_millis(3),
            configuration: &self.configuration,
        };
        self.recorder.record_answer(request, &completion)
    }

    /// The stored completions after the recorder finished.
    async fn finish(self) -> Vec<RecordedCompletion> {
        self.recorder.finish().await;
        let path = self.folder.path().join("store.db");
        read(&path).expect("it is a store").completions
    }
}

/// Waits past the horizon of these tests.
async fn horizon() {
    tokio::time::sleep(Duration::from_millis(1500)).await;
}

#[tokio::test]
async fn repeated_offer_at_same_cursor_keeps_id() {
    let mut session = RecordedSession::new("a = 1\nb = \n");
    let first = session.offer(RequestKind::Inline, 10, &["foo()"]);
    // The cursor moved with the edit, so it is still the same place.
    session.edit(0, 4..5, "1000");
    assert_eq!(session.offer(RequestKind::Inline, 13, &["foo()"]), first);
    // Another request method means another display.
    assert_ne!(session.offer(RequestKind::List, 13, &["foo()"]), first);
    assert_eq!(session.offer(RequestKind::Inline, 13, &["foo()"]), first);
    // Another text offered in between starts a new completion.
    let second = session.offer(RequestKind::Inline, 13, &["bar()"]);
    let third = session.offer(RequestKind::Inline, 13, &["foo()"]);
    assert!(second != first && third != first && third != second);
    // After acceptance the same text is a new completion.
    session.recorder.record_acceptance(&third, 0, None).await;
    assert_ne!(session.offer(RequestKind::Inline, 13, &["foo()"]), third);
    let completions = session.finish().await;
    let superseded: Vec<bool> = completions.iter().map(|one| one.superseded).collect();
    assert_eq!(superseded, [true, false, true, false, false]);
}

#[tokio::test]
async fn accept_command_may_precede_edit() {
    let mut session = RecordedSession::new("a = \n");
    let id = session.offer(RequestKind::Inline, 4, &["größe(1)"]);
    session.recorder.record_acceptance(&id, 0, None).await;
    session.edit(0, 4..4, "größe(1)");
    session.edit(0, 0..1, "alpha");
    horizon().await;
    let completions = session.finish().await;
    let left = completions[0].retention[&1].expect("it was found");
    assert_eq!((left.distance, left.removed), (0.0, false));
}

#[tokio::test]
async fn list_item_replaces_word_before_cursor() {
    let mut session = RecordedSession::new("value = pri\n");
    let id = session.offer(RequestKind::List, 11, &["ce * rate"]);
    session.edit(0, 8..11, "price * rate");
    session.recorder.record_acceptance(&id, 0, None).await;
    session.edit(0, 16..20, "tax");
    horizon().await;
    let completions = session.finish().await;
    let left = completions[0].retention[&1].expect("it was found");
    // `ce * rate` is now `ce * tax`: `r` and `te` were removed, and `t` and `x` inserted around the
    // `a`.
    assert!((left.distance - 3.0 / 9.0).abs() < 1e-9, "{left:?}");
}

#[tokio::test]
async fn text_after_a_selected_suggestion_is_tracked_where_it_is() {
    // The same text follows near by.
    let mut session = RecordedSession::new("import x\npr\ny = 1\nprint(a, b)\n");
    let id = session.offer_after(9..11, "print_table", &["(a, b)"]);
    session.edit(1, 0..2, "print_table(a, b)");
    session.recorder.record_acceptance(&id, 0, None).await;
    session.edit(1, 0..17, "");
    horizon().await;
    let completions = session.finish().await;
    let left = completions[0].retention[&1].expect("it was found");
    assert!(left.removed, "{left:?}");
}

#[tokio::test]
async fn insertion_after_a_selected_suggestion_is_an_accept() {
    let mut session = RecordedSession::new("pr\n");
    session.offer_after(0..2, "print_table", &["(a, b)"]);
    session.edit(0, 0..2, "print_table(a, b)");
    let completions = session.finish().await;
    let accepted = completions[0].accepted.as_ref().expect("it was inserted");
    assert_eq!(accepted.characters, 6);
}

#[tokio::test]
async fn text_not_found_is_unobserved() {
    let mut session = RecordedSession::new("a = \n");
    let id = session.offer(RequestKind::Inline, 4, &["foo()"]);
    session.edit(0, 4..4, "something else");
    session.recorder.record_acceptance(&id, 0, None).await;
    horizon().await;
    let completions = session.finish().await;
    assert!(completions[0].accepted.is_some());
    assert_eq!(completions[0].retention[&1], None);
}

#[tokio::test]
async fn accepted_parts_are_tracked_together_without_typed_text() {
    let mut session = RecordedSession::new("a = \n");
    let id = session.offer(RequestKind::Inline, 4, &["foo.bar.baz"]);
    let take = |session: &RecordedSession, characters| {
        let event = ClientEvent::PartlyAccepted {
            characters,
            unit: Some("word".to_owned()),
        };
        session.recorder.record_client_event(&id, 0, None, event);
    };
    // `fo` is typed, then `o.` and `bar` are accepted.
    session.edit(0, 4..4, "fo");
    session.edit(0, 6..6, "o.");
    take(&session, 2);
    session.edit(0, 8..8, "bar");
    take(&session, 3);
    session.edit(0, 8..11, "qux");
    horizon().await;
    let completions = session.finish().await;
    let partly = completions[0].partly.clone().expect("two steps");
    assert_eq!((partly.steps, partly.characters), (2, 5));
    let left = completions[0].retention[&1].expect("it was found");
    assert!((left.distance - 3.0 / 5.0).abs() < 1e-9, "{left:?}");
}

#[tokio::test]
async fn insertions_of_candidates_are_accepts_and_typing_is_not() {
    let mut session = RecordedSession::new("value = pri\nb = \nc = \nd = \ne = \n");
    let id = |line: usize, session: &RecordedSession, text| {
        let lines = session.document().text.to_string();
        let end: usize = lines
            .lines()
            .take(line + 1)
            .map(|line| line.len() + 1)
            .sum();
        session.offer(RequestKind::List, end - 1, &["no such", text])
    };
    // An item replaces the word before it and earlier text inserted by the editor.
    let replaced = id(0, &session, "ce * rate");
    let edits = [(11..11, "ce"), (8..13, "pri"), (8..11, "price * rate")];
    session.edit_at_once(0, &edits);
    // The beginning is typed, the rest inserted.
    let continued = id(1, &session, "größe(1)");
    session.edit(1, 4..4, "g");
    session.edit(1, 5..5, "röße(1)");
    // Editors may send several keys together, and insert closing brackets.
    let typed = id(2, &session, "ab()");
    session.edit_at_once(2, &[(4..4, "a"), (5..5, "b"), (6..6, "()")]);
    let paired = id(3, &session, "()");
    session.edit(3, 4..4, "()");
    // Later edits don't matter once the accept was inferred.
    session.edit(0, 8..9, "P");
    let completions = session.finish().await;
    let accepted = |id: &str| {
        let one = completions.iter().find(|one| one.answered.completion == id);
        let one = one.expect("it is recorded");
        assert_eq!(one.accepted.is_some(), one.shown.is_some());
        one.accepted.as_ref().map(|accepted| accepted.characters)
    };
    assert_eq!(
        [accepted(&replaced), accepted(&continued)],
        [Some(9), Some(8)]
    );
    assert_eq!([accepted(&typed), accepted(&paired)], [None, None]);
}

#[test]
fn text_is_found_at_cursor_or_nearest() {
    let document = Text::new("foo\n  é foo\nfoo\n");
    assert_eq!(find_near(&document, 0, "foo"), Some(0..3));
    assert_eq!(find_near(&document, 9, "foo"), Some(9..12));
    assert_eq!(find_near(&document, 8, "foo"), Some(9..12));
    assert_eq!(find_near(&document, 15, "foo"), Some(13..16));
    assert_eq!(find_near(&document, 3, "bar"), None);
    let far = Text::new(&["x".repeat(1000).as_str(), "foo"].concat());
    assert_eq!(find_near(&far, 0, "foo"), None);
}
