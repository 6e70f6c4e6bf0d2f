//! Splits the bytes of a response into JSON values: server-sent events, a sequence of JSON values,
//! or one JSON value.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use crate::json::replace_lone_surrogates;

/// Framing of a response that a protocol streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Framing {
    /// Server-sent events, one JSON value each.
    /// <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>
    Events,
    /// JSON values, each on a line of its own.
    Lines,
}

/// A unit of a response.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Frame {
    /// A value.
    Value(Value),
    /// The mark `[DONE]`: the end of the response.
    Done,
    /// Text that is not a value, with the reason.
    Unreadable {
        /// Error of the parser.
        reason: String,
        /// The text that is not a value.
        text: String,
    },
}

/// Reads a response piece by piece. Bytes that are not UTF-8 and lone surrogates become replacement
/// characters. A piece may end within a character, as only whole lines are decoded.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    form: BodyForm,
    /// The bytes of the line that has not ended yet, or all bytes of a whole response.
    pending: Vec<u8>,
    /// The last byte was a carriage return, so that a line feed now ends no line.
    after_return: bool,
    /// The data of the event or value that has not ended yet.
    data: String,
    /// Minimum length of the data at which an unfinished value over several lines is parsed again:
    /// twice its length at the last attempt, so that the total time stays linear.
    reparse_length: usize,
}

/// Detected format of the bytes, which may differ from the requested one: some servers never
/// stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyForm {
    /// No line has ended yet.
    Unknown,
    /// Frame by frame.
    Streamed,
    /// One JSON value, or text that is not JSON.
    Whole,
}

impl Frames {
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            framing,
            form: match framing {
                Framing::Events => BodyForm::Unknown,
                // A whole response is read as a stream with one value.
                Framing::Lines => BodyForm::Streamed,
            },
            pending: Vec::new(),
            after_return: false,
            data: String::new(),
            reparse_length: 0,
        }
    }

    /// True if the response is one value instead of the expected events.
    pub(super) fn is_whole(&self) -> bool {
        self.form == BodyForm::Whole
    }

    /// Adds bytes and returns the frames that end in them.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for &byte in bytes {
            if self.form == BodyForm::Whole {
                self.pending.push(byte);
                continue;
            }
            match byte {
                // A CRLF ends one line, even if its two bytes arrive in different pieces.
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    self.end_line(byte, &mut frames);
                }
                _ => {
                    self.after_return = false;
                    self.pending.push(byte);
                }
            }
        }
        frames
    }

    /// Ends the response and returns the remaining frames.
    pub(super) fn end(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        // The last line may lack its end.
        if self.form != BodyForm::Whole && !self.pending.is_empty() {
            self.end_line(b'\n', &mut frames);
        }
        if self.form == BodyForm::Whole {
            let text = String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned();
            frames.push(
                match serde_json::from_str(&replace_lone_surrogates(&text)) {
                    Ok(value) => Frame::Value(value),
                    Err(error) => Frame::Unreadable {
                        reason: error.to_string(),
                        text,
                    },
                },
            );
            return frames;
        }
        // The last event may lack the blank line that ends it.
        self.end_data(&mut frames);
        frames
    }

    fn end_line(&mut self, end: u8, frames: &mut Vec<Frame>) {
        let line = String::from_utf8_lossy(&self.pending).into_owned();
        if self.form == BodyForm::Unknown {
            let beginning = line.strip_prefix('\u{feff}').unwrap_or(&line);
            if is_event_line(beginning) {
                self.form = BodyForm::Streamed;
            } else if !beginning.trim().is_empty() {
                self.form = BodyForm::Whole;
                self.pending.push(end);
                return;
            }
        }
        self.pending.clear();
        match self.framing {
            Framing::Events => self.event_line(line.trim_start_matches('\u{feff}'), frames),
            Framing::Lines => {
                self.data.push_str(&line);
                // An indented value spans lines; short ones are parsed after every line.
                self.data.push('\n');
                if self.data.len() < self.reparse_length {
                    return;
                }
                if breaks_off(&self.data) {
                    let long = self.data.len() > 4096;
                    self.reparse_length = if long { 2 * self.data.len() } else { 0 };
                } else {
                    self.reparse_length = 0;
                    self.end_data(frames);
                }
            }
        }
    }

    fn event_line(&mut self, line: &str, frames: &mut Vec<Frame>) {
        if line.is_empty() {
            self.end_data(frames);
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        // llama.cpp's server reported errors in a field of that name before 2025.
        if matches!(field, "data" | "error") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            self.data.push_str(value);
            self.data.push('\n');
            // No JSON value contains only this mark, so it needs no blank line after it.
            if value.trim() == DONE {
                self.end_data(frames);
            }
        }
    }

    /// Returns the values in the data.
    fn end_data(&mut self, frames: &mut Vec<Frame>) {
        let data = std::mem::take(&mut self.data);
        let data = replace_lone_surrogates(&data);
        let (text, done) = match data.trim_end().strip_suffix(DONE) {
            Some(text) => (text, true),
            None => (&*data, false),
        };
        let mut values = Deserializer::from_str(text).into_iter::<Value>();
        let mut read = 0;
        while let Some(value) = values.next() {
            match value {
                Ok(value) => frames.push(Frame::Value(value)),
                Err(error) => {
                    let reason = if error.is_eof() {
                        "it breaks off".to_owned()
                    } else {
                        error.to_string()
                    };
                    let text = text[read..].to_owned();
                    frames.push(Frame::Unreadable { reason, text });
                    break;
                }
            }
            read = values.byte_offset();
        }
        if done {
            frames.push(Frame::Done);
        }
    }
}

/// True if a text is the beginning of a value.
fn breaks_off(text: &str) -> bool {
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.any(|value| value.is_err_and(|error| error.is_eof()))
}

/// Mark that ends a stream in OpenAI's format.
/// <https://platform.openai.com/docs/api-reference/completions/create>
const DONE: &str = "[DONE]";

/// True if a first line is that of server-sent events, comments included.
fn is_event_line(line: &str) -> bool {
    line.split_once(':')
        .is_some_and(|(field, _)| matches!(field, "" | "data" | "event" | "id" | "retry" | "error"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(framing: Framing, pieces: &[&[u8]]) -> Vec<Frame> {
        let mut frames = Frames::new(framing);
        let mut all = Vec::new();
        for piece in pieces {
            all.extend(frames.push(piece));
        }
        all.extend(frames.end());
        all
    }

    fn values(framing: Framing, text: &str) -> Vec<Value> {
        read(framing, &[text.as_bytes()])
            .into_iter()
            .map(|frame| match frame {
                Frame::Value(value) => value,
                Frame::Done => json!("done"),
                Frame::Unreadable { reason, text } => json!([reason, text]),
            })
            .collect()
    }

    const STREAM: &str = "\u{feff}: a comment\r\nevent: piece\r\ndata: {\"a\": \"é\u{1f600}\"}\r\n\r\n\
        data:{\"b\":\ndata: 2}\n\nid: 7\rretry: 10\r\rdata\n\n:\n\ndata: [DONE]\n\n";

    #[test]
    fn events_are_read_in_every_form_that_is_allowed() {
        assert_eq!(
            values(Framing::Events, STREAM),
            [json!({"a": "é\u{1f600}"}), json!({"b": 2}), json!("done")]
        );
    }

    #[test]
    fn the_end_may_lack_its_blank_line() {
        assert_eq!(
            values(Framing::Events, "data: 1\n\ndata: 2"),
            [json!(1), json!(2)]
        );
        assert_eq!(
            values(Framing::Events, "data: 1\ndata: [DONE]"),
            [json!(1), json!("done")]
        );
        assert_eq!(values(Framing::Lines, "1\n{}"), [json!(1), json!({})]);
    }

    #[test]
    fn truncated_values_are_reported() {
        for framing in [Framing::Events, Framing::Lines] {
            let text = match framing {
                Framing::Events => "data: {\"a\":\n\n",
                Framing::Lines => "{\"a\":\n",
            };
            let frames = read(framing, &[text.as_bytes()]);
            assert!(
                matches!(&frames[..], [Frame::Unreadable { reason, .. }] if reason == "it breaks off"),
                "{frames:?}"
            );
        }
    }

    #[test]
    fn whole_response_is_read_instead_of_a_stream() {
        let pretty = "\n{\n  \"a\": [\n    1\n  ]\n}\n";
        for framing in [Framing::Events, Framing::Lines] {
            assert_eq!(values(framing, pretty), [json!({"a": [1]})]);
        }
        let mut frames = Frames::new(Framing::Events);
        frames.push(b"{\"a\":");
        frames.push(b"1}\r\n");
        assert!(frames.is_whole());
        assert_eq!(frames.end(), [Frame::Value(json!({"a": 1}))]);
    }

    #[test]
    fn value_over_several_lines_is_returned_before_the_end() {
        let mut frames = Frames::new(Framing::Lines);
        assert_eq!(frames.push(b"{\n"), []);
        let read = frames.push(b"  \"a\": 1\n}\n");
        assert_eq!(read, [Frame::Value(json!({"a": 1}))]);
    }

    #[test]
    fn long_value_over_many_lines_is_parsed_in_linear_time() {
        // Parsing after every line would take hours.
        let text = format!("[\n{}0]\n7\n", "1,\n".repeat(1 << 20));
        let read = values(Framing::Lines, &text);
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].as_array().map(Vec::len), Some((1 << 20) + 1));
    }

    #[test]
    fn unreadable_text_is_reported() {
        for framing in [Framing::Events, Framing::Lines] {
            let frames = read(framing, &[b"<html>\n<body>no</body>"]);
            assert!(
                matches!(&frames[..], [Frame::Unreadable { text, .. }, ..] if text.starts_with("<html>")),
                "{frames:?}"
            );
        }
        assert!(matches!(
            &read(Framing::Events, &[b"data: {]\n\n"])[..],
            [Frame::Unreadable { .. }]
        ));
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let read = read(Framing::Events, &[b"data: \"a\xf0\x9f", b"b\"\n\n"]);
        assert_eq!(read, [Frame::Value(json!("a\u{fffd}b"))]);
    }

    #[test]
    fn emoji_that_is_split_over_events_fails_no_response() {
        let stream = b"data: \"a\\ud83d\"\n\ndata: \"\\ude00b\"\n\n";
        let expected = ["a\u{fffd}", "\u{fffd}b"].map(|text| Frame::Value(json!(text)));
        assert_eq!(read(Framing::Events, &[stream]), expected);
        let read = read(Framing::Events, &[b"{\"a\": \"\\ud83d\"}"]);
        assert_eq!(read, [Frame::Value(json!({"a": "\u{fffd}"}))]);
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_chunk_boundaries(cuts in prop::collection::vec(0..STREAM.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut start = 0;
            for cut in cuts {
                pieces.push(&STREAM.as_bytes()[start..cut]);
                start = cut;
            }
            pieces.push(&STREAM.as_bytes()[start..]);
            prop_assert_eq!(
                read(Framing::Events, &pieces),
                read(Framing::Events, &[STREAM.as_bytes()])
            );
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for framing in [Framing::Events, Framing::Lines] {
                let mut stream = b"data: ".to_vec();
                stream.extend(&bytes);
                read(framing, &[&stream]);
                read(framing, &[&bytes]);
            }
        }
    }
}
