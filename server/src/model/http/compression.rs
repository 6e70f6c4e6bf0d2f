//! Reads a response's body, and decompresses it if a server compresses it without a request for it.

use std::io::Write;

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

/// A response's body, read piece by piece.
#[derive(Debug)]
pub(super) struct Body {
    response: Response,
    decoder: Decoder,
    /// A piece that was read while waiting for the response.
    first: Option<Result<Vec<u8>, BodyFault>>,
}

#[derive(Debug)]
enum Decoder {
    /// Nothing has been read yet, and the head names no compression.
    Unknown,
    Plain,
    Gzip(MultiGzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
    /// Compressed with an unsupported method.
    Other(String),
}

/// Reason why a piece of a body can't be read.
#[derive(Debug)]
pub(super) enum BodyFault {
    /// The connection failed.
    Broken(reqwest::Error),
    /// The bytes can't be decompressed; holds the reason.
    Compressed(String),
}

impl Body {
    pub(super) fn new(response: Response) -> Self {
        let encodings = response.headers().get_all(CONTENT_ENCODING).iter();
        let encodings: Vec<String> = encodings
            .flat_map(|value| value.to_str().unwrap_or("unknown").split(','))
            .map(|name| name.trim().to_ascii_lowercase())
            .filter(|name| !name.is_empty() && name != "identity")
            .collect();
        let decoder = match encodings.as_slice() {
            [] => Decoder::Unknown,
            [only] if matches!(only.as_str(), "gzip" | "x-gzip") => {
                Decoder::Gzip(MultiGzDecoder::new(Vec::new()))
            }
            // In HTTP, `deflate` means the zlib format: RFC 9110, §8.4.1.2.
            [only] if only == "deflate" => Decoder::Zlib(ZlibDecoder::new(Vec::new())),
            several => Decoder::Other(several.join(", ")),
        };
        Self {
            response,
            decoder,
            first: None,
        }
    }

    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    /// The connection broke, or the compression is unsupported.
    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, BodyFault> {
        if let Some(first) = self.first.take() {
            return first.map(Some);
        }
        if let Decoder::Other(encoding) = &self.decoder {
            return Err(BodyFault::Compressed(format!(
                "it is compressed as {encoding}, which can't be read: turn compression off in \
                 the server or the proxy before it"
            )));
        }
        let Some(bytes) = self.response.chunk().await.map_err(BodyFault::Broken)? else {
            return self.finish();
        };
        if matches!(self.decoder, Decoder::Unknown) && !bytes.is_empty() {
            // Some proxies compress without declaring it. No JSON and no event starts with these
            // bytes.
            self.decoder = if bytes.starts_with(&[0x1f, 0x8b]) {
                Decoder::Gzip(MultiGzDecoder::new(Vec::new()))
            } else {
                Decoder::Plain
            };
        }
        let written = match &mut self.decoder {
            // Without the flush, the decoder may hold back text of a stream.
            Decoder::Gzip(decoder) => decoder
                .write_all(&bytes)
                .and_then(|()| decoder.flush())
                .map(|()| std::mem::take(decoder.get_mut())),
            Decoder::Zlib(decoder) => decoder
                .write_all(&bytes)
                .and_then(|()| decoder.flush())
                .map(|()| std::mem::take(decoder.get_mut())),
            _ => return Ok(Some(bytes.to_vec())),
        };
        written.map(Some).map_err(damaged)
    }

    /// Returns the rest in the decoder at the end.
    fn finish(&mut self) -> Result<Option<Vec<u8>>, BodyFault> {
        let rest = match std::mem::replace(&mut self.decoder, Decoder::Plain) {
            Decoder::Gzip(decoder) => decoder.finish().map_err(damaged)?,
            Decoder::Zlib(decoder) => decoder.finish().map_err(damaged)?,
            _ => Vec::new(),
        };
        Ok((!rest.is_empty()).then_some(rest))
    }

    /// Waits for the first bytes, which the next [`Body::chunk`] returns.
    pub(super) async fn begin(&mut self) {
        self.first = self.chunk().await.transpose();
    }
}

fn damaged(error: std::io::Error) -> BodyFault {
    BodyFault::Compressed(format!("its compression is damaged: {error}"))
}
