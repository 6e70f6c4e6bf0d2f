//! Framing of the base protocol: each JSON-RPC message follows a `Content-Length` header.
//! <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol>

use serde::Serialize;
use serde_json::Value;

use crate::json::replace_lone_surrogates;

/// Separator between a header and its body.
const HEADER_END: &[u8] = b"\r\n\r\n";
/// The separator of clients that write line feeds alone.
const BARE_HEADER_END: &[u8] = b"\n\n";
/// The header's name, in lower case.
const CONTENT_LENGTH: &str = "content-length";

/// Decodes messages from a byte stream that arrives in pieces. Bytes that are not UTF-8 and lone
/// surrogates become replacement characters.
///
/// Read some bytes, [`push`](Self::push) them, and take messages with
/// [`next_message`](Self::next_message) until it returns `None`. It does no I/O, so it serves
/// blocking and async readers, and a cancelled read loses nothing.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
}

/// Error when decoding a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The header has no valid length.
    #[error("a message without Content-Length: {0:?}")]
    Length(String),
    /// The body is not JSON.
    #[error("a message that is not JSON: {0}")]
    Body(#[from] serde_json::Error),
}

impl FrameDecoder {
    /// Appends bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next message; `None` if it is incomplete.
    ///
    /// # Errors
    /// The next frame is malformed. It is dropped, and the following one is read, even if the length
    /// was too small and leaves a part of the body.
    pub fn next_message(&mut self) -> Result<Option<Value>, FrameError> {
        let Some((end, body)) = header_end(&self.buffer) else {
            return Ok(None);
        };
        let Some(length) = content_length(&self.buffer[..end]) else {
            let header: Vec<u8> = self.buffer.drain(..body).collect();
            return Err(FrameError::Length(
                String::from_utf8_lossy(&header[..end]).into_owned(),
            ));
        };
        // The length comes from outside, so the sum may overflow.
        let Some(bytes) = self.buffer.get(body..body.saturating_add(length)) else {
            return Ok(None);
        };
        if bytes.is_empty() {
            self.buffer.drain(..body);
            return self.next_message();
        }
        let text = String::from_utf8_lossy(bytes);
        let message = serde_json::from_str(&replace_lone_surrogates(&text));
        self.buffer.drain(..body + length);
        Ok(Some(message?))
    }
}

/// Encodes a message with its header.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    let body =
        serde_json::to_string(message).expect("a message is JSON values under keys that are texts");
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn content_length(header: &[u8]) -> Option<usize> {
    String::from_utf8_lossy(header).lines().find_map(|line| {
        // What is left of an earlier body comes before the name.
        let (name, value) = line.rsplit_once(':')?;
        let is_length = name.to_ascii_lowercase().ends_with(CONTENT_LENGTH);
        is_length.then(|| value.trim().parse().ok())?
    })
}

/// Returns where the first header ends and its body begins.
fn header_end(bytes: &[u8]) -> Option<(usize, usize)> {
    let find = |bytes: &[u8], separator: &[u8]| {
        let mut windows = bytes.windows(separator.len());
        let at = windows.position(|window| window == separator)?;
        Some((at, at + separator.len()))
    };
    // What follows a header may be long, and is not searched.
    let end = find(bytes, HEADER_END);
    let before = end.map_or(bytes, |(end, _)| &bytes[..end]);
    find(before, BARE_HEADER_END).or(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn messages_survive_any_fragmentation(
            texts in prop::collection::vec(".{0,20}", 0..5),
            cuts in prop::collection::vec(1..30usize, 1..50),
        ) {
            let messages: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            let bytes: Vec<u8> = messages.iter().flat_map(encode).collect();
            let mut decoder = FrameDecoder::default();
            let mut decoded = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, next) = rest.split_at(cut.min(rest.len()));
                decoder.push(piece);
                rest = next;
                while let Some(message) = decoder.next_message()? {
                    decoded.push(message);
                }
            }
            prop_assert_eq!(decoded, messages);
        }
    }

    #[test]
    fn header_names_ignore_case_and_other_headers() {
        let mut decoder = FrameDecoder::default();
        decoder.push(b"Content-Type: x\r\ncontent-length:2\r\n\r\n[]");
        let message = decoder.next_message().expect("it is well-formed");
        assert_eq!(message, Some(json!([])));
    }

    #[test]
    fn malformed_frame_does_not_hide_the_next() {
        let mut decoder = FrameDecoder::default();
        decoder.push(b"Content-Length: many\r\n\r\nContent-Length: 1\r\n\r\n?");
        decoder.push(&encode(&json!(1)));
        let error = decoder.next_message().expect_err("its length is no number");
        assert!(matches!(error, FrameError::Length(_)), "{error}");
        let error = decoder.next_message().expect_err("its body is not JSON");
        assert!(matches!(error, FrameError::Body(_)), "{error}");
        let message = decoder.next_message().expect("it is well-formed");
        assert_eq!(message, Some(json!(1)));
    }

    #[test]
    fn wrong_lengths_and_bare_line_ends_lose_one_message_at_most() {
        let mut decoder = FrameDecoder::default();
        // A client that counts characters, a body after a bad header, and one of no length.
        decoder.push("Content-Length: 7\r\n\r\n[\"\u{e9}aa\"]".as_bytes());
        decoder.push(&encode(&json!(1)));
        decoder.push(b"Content-Length: x\r\n\r\n[\"a:b\"]");
        decoder.push(&encode(&json!(2)));
        decoder.push(b"Content-Length: 0\r\n\r\nContent-Length: 1\n\n3");
        let mut messages = Vec::new();
        let mut errors = 0;
        loop {
            match decoder.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(_) => errors += 1,
            }
        }
        assert_eq!(messages, [json!(1), json!(2), json!(3)]);
        assert_eq!(errors, 2);
    }
}
