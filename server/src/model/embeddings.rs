//! Embedding vectors of texts, from any server with OpenAI's `/v1/embeddings`, and from llama.cpp's
//! own `/embedding`.
//! <https://platform.openai.com/docs/api-reference/embeddings/create>
//! <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::http::JsonExchange;
use super::{ModelError, ModelSettings};
use crate::digest::hex;

/// Settings of a server of embeddings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddingSettings {
    /// Base address of the server, with or without a final `/v1`; one that ends in `/embedding` or
    /// `/embeddings` is used unchanged.
    pub url: Option<String>,
    /// The model's name as its server knows it. Vectors are kept under it.
    pub name: Option<String>,
    /// The *name* of the environment variable that holds the server's key.
    pub key_env: Option<String>,
    /// A program and its arguments that print the server's key.
    pub key_command: Option<Vec<String>>,
    /// Maximum number of texts in one request, at least 1.
    pub batch: usize,
    /// Timeout for one request in milliseconds, at least 1.
    pub timeout_ms: u64,
}

impl Default for EmbeddingSettings {
    fn default() -> Self {
        Self {
            url: None,
            name: None,
            key_env: None,
            key_command: None,
            batch: 32,
            timeout_ms: 60_000,
        }
    }
}

/// A text's vector.
pub type Vector = Arc<[f32]>;

/// A text's hash, under which its vector is kept.
type Hash = [u8; 32];

/// Maximum number of bytes of a response: 64 texts with vectors of 4096 dimensions are 6 MB.
const MOST_BYTES: usize = 64 << 20;

/// Maximum number of vectors in memory; at the limit all are dropped, and read from disk when
/// needed.
const MOST_VECTORS: usize = 100_000;

/// A source of vectors. Each text is sent only once: vectors are kept in memory, and on disk under
/// the model's name and the text's hash. No text and no key is written to disk.
#[derive(Debug)]
pub struct Embeddings {
    exchange: JsonExchange,
    name: String,
    batch: usize,
    /// Folder of kept vectors; `None` disables keeping.
    folder: Option<PathBuf>,
    known: Mutex<HashMap<Hash, Vector>>,
}

impl Embeddings {
    /// Opens the source that the settings describe, with its vectors kept under a cache folder.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if the address is missing or a setting is invalid.
    pub fn open(
        settings: &EmbeddingSettings,
        environment: &dyn Fn(&str) -> Option<String>,
        cache: Option<&Path>,
    ) -> Result<Self, ModelError> {
        let fault = |text: &str| ModelError::Settings(format!("context.embeddings: {text}."));
        let url = settings
            .url
            .as_deref()
            .map(|url| url.trim().trim_end_matches('/'))
            .ok_or_else(|| fault("the profile needs `url`, the address of an embeddings server"))?;
        if settings.batch == 0 || settings.timeout_ms == 0 {
            return Err(fault("batch and timeout_ms must be at least 1"));
        }
        let own = ["/embedding", "/embeddings"]
            .into_iter()
            .find_map(|path| Some((url.strip_suffix(path)?, path)));
        let (base, path) = match own {
            Some((base, path)) if base.ends_with("/v1") => (base, format!("/v1{path}")),
            Some((base, path)) => (base, path.to_owned()),
            None => (url, "/v1/embeddings".to_owned()),
        };
        let reach = ModelSettings {
            key_env: settings.key_env.clone(),
            key_command: settings.key_command.clone(),
            timeout_ms: settings.timeout_ms,
            ..ModelSettings::default()
        };
        let exchange = JsonExchange::new(&reach, environment, base, &path).map_err(|error| {
            // Errors about the address are worded for the model's settings.
            let message = error.to_string();
            let message = message.strip_prefix("model: ").unwrap_or(&message);
            fault(message.trim_end_matches('.'))
        })?;
        let name = settings.name.clone().unwrap_or_default();
        // Without a name, the vectors of two models at one address can't be distinguished.
        let folder = cache.filter(|_| !name.is_empty()).map(|cache| {
            let model = hex(&Sha256::digest(format!("{url}\0{name}")));
            cache.join("embeddings").join(&model[..16])
        });
        Ok(Self {
            exchange,
            name,
            batch: settings.batch,
            folder,
            known: Mutex::default(),
        })
    }

    /// Returns the vectors of texts, in order.
    ///
    /// # Errors
    /// The server did not return them.
    pub async fn vectors(&self, texts: &[&str]) -> Result<Vec<Vector>, ModelError> {
        let hashes: Vec<Hash> = texts
            .iter()
            .map(|text| Sha256::digest(text).into())
            .collect();
        let mut vectors: HashMap<Hash, Vector> = HashMap::new();
        let mut missing: Vec<(Hash, &str)> = Vec::new();
        for (hash, text) in hashes.iter().zip(texts) {
            if vectors.contains_key(hash) || missing.iter().any(|(other, _)| other == hash) {
                continue;
            }
            match self.recall(hash) {
                Some(vector) => drop(vectors.insert(*hash, vector)),
                None => missing.push((*hash, text)),
            }
        }
        for batch in missing.chunks(self.batch) {
            for ((hash, _), vector) in batch.iter().zip(self.ask(batch).await?) {
                self.keep(hash, &vector);
                vectors.insert(*hash, vector);
            }
        }
        Ok(hashes
            .iter()
            .map(|hash| Arc::clone(&vectors[hash]))
            .collect())
    }

    async fn ask(&self, batch: &[(Hash, &str)]) -> Result<Vec<Vector>, ModelError> {
        let input: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
        let mut body = json!({"input": input, "encoding_format": "float"});
        if !self.name.is_empty() {
            body["model"] = json!(self.name);
        }
        self.exchange
            .ask(&body, MOST_BYTES, |value| parse(value, batch.len()))
            .await
    }

    /// Returns a vector that is in memory or on disk.
    fn recall(&self, hash: &Hash) -> Option<Vector> {
        if let Some(vector) = self.known().get(hash) {
            return Some(Arc::clone(vector));
        }
        let bytes = std::fs::read(self.file(hash)?).ok()?;
        let vector = unpacked(&bytes)?;
        self.remember(hash, &vector);
        Some(vector)
    }

    /// Keeps a vector in memory and, if possible, on disk.
    fn keep(&self, hash: &Hash, vector: &Vector) {
        self.remember(hash, vector);
        let Some(file) = self.file(hash) else { return };
        let written = || -> std::io::Result<()> {
            let folder = file.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            // Written to a temporary file first, as another server may read the file at this
            // moment.
            let aside = file.with_extension(format!("{}.part", std::process::id()));
            std::fs::write(&aside, packed(vector))?;
            std::fs::rename(&aside, &file)
        };
        if let Err(error) = written() {
            tracing::warn!(file = %file.display(), %error, "a vector can't be kept");
        }
    }

    fn remember(&self, hash: &Hash, vector: &Vector) {
        let mut known = self.known();
        if known.len() >= MOST_VECTORS {
            known.clear();
        }
        known.insert(*hash, Arc::clone(vector));
    }

    fn file(&self, hash: &Hash) -> Option<PathBuf> {
        let name = hex(hash);
        let folder = self.folder.as_ref()?;
        Some(folder.join(&name[..2]).join(&name[2..]))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Hash, Vector>> {
        self.known.lock()
    }
}

/// Parses the vectors of a response: OpenAI's `{"data": [{"index", "embedding"}]}`, or llama.cpp's
/// own `[{"index", "embedding"}]`, whose embedding may be a list of one vector.
fn parse(value: &Value, wanted: usize) -> Result<Vec<Vector>, String> {
    let entries = value.get("data").unwrap_or(value);
    let entries = entries.as_array().ok_or("it has no list `data`")?;
    let mut vectors: Vec<Option<Vector>> = vec![None; wanted];
    for (place, entry) in entries.iter().enumerate() {
        let index = match &entry["index"] {
            // A server may omit the index and keep the order of the texts.
            Value::Null => Some(place),
            index => index.as_u64().and_then(|index| usize::try_from(index).ok()),
        };
        let slot = index
            .and_then(|index| vectors.get_mut(index))
            .ok_or_else(|| format!("entry {place} has an `index` that no text has"))?;
        let numbers = match entry["embedding"].as_array().map(Vec::as_slice) {
            Some([Value::Array(inner)]) => inner.as_slice(),
            Some(numbers) => numbers,
            None => &[],
        };
        let vector: Option<Vec<f32>> = numbers
            .iter()
            .map(|number| number.as_f64().map(|number| number as f32))
            .collect();
        match vector {
            Some(vector) if !vector.is_empty() && vector.iter().all(|x| x.is_finite()) => {
                *slot = Some(vector.into());
            }
            _ => {
                return Err(format!(
                    "entry {place} has no `embedding` of numbers; a server of llama.cpp needs \
                     --embeddings and a --pooling other than none"
                ));
            }
        }
    }
    let vectors: Option<Vec<Vector>> = vectors.into_iter().collect();
    let vectors =
        vectors.ok_or_else(|| format!("it has {} vectors for {wanted} texts", entries.len()))?;
    if vectors
        .windows(2)
        .any(|pair| pair[0].len() != pair[1].len())
    {
        return Err("its vectors have different dimensions".to_owned());
    }
    Ok(vectors)
}

/// Serialises a vector: its numbers in four bytes each, little-endian, then the first four bytes of
/// their hash, by which a truncated file is detected.
fn packed(vector: &[f32]) -> Vec<u8> {
    let mut bytes: Vec<u8> = vector
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let check = Sha256::digest(&bytes);
    bytes.extend(&check[..4]);
    bytes
}

fn unpacked(bytes: &[u8]) -> Option<Vector> {
    let (numbers, check) = bytes.split_last_chunk::<4>()?;
    if numbers.is_empty() || numbers.len() % 4 != 0 || Sha256::digest(numbers)[..4] != check[..] {
        return None;
    }
    let numbers = numbers.chunks_exact(4);
    let vector: Vec<f32> = numbers
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect();
    Some(vector.into())
}
