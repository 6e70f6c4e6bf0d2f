//! Completions read from a file of JSON lines, one object a line:
//!
//! ```json
//! {"key": "<hexadecimal SHA-256 of prefix, NUL, suffix>", "completions": ["a", "b"]}
//! ```
//!
//! A line may also have `"hole"`, the id of a hole. Its completions are only for requests with that
//! id, which prefer them: files with the same text around their holes have the same key.
//!
//! A request with seed *s* and *n* candidates gets the completions *s*, *s* + 1, …, *s* + *n* − 1,
//! each index taken modulo the number of completions. So the seed selects the sample, as it does
//! with a model that generates. A key may be on several lines: their completions are joined in file
//! order.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Finish, Model, ModelError, ModelOutput, ModelRequest, ModelSettings, RawCandidate, TextListener,
};
use crate::digest::hex;

/// A model that only returns recorded completions.
#[derive(Debug)]
pub struct RecordedModel {
    name: String,
    path: PathBuf,
    /// By the id of the hole, if the line has one, and by the key.
    completions: HashMap<(Option<String>, String), Vec<String>>,
}

/// One line of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCompletions {
    /// The place: see [`key`].
    pub key: String,
    /// Id of the hole that the completions are for; `None` if they are for every request with the
    /// key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hole: Option<String>,
    /// Completions of a model at this place, at least one.
    pub completions: Vec<String>,
}

/// Returns the key of a place: the hexadecimal SHA-256 of the prefix, a NUL byte and the suffix.
pub fn key(prefix: &str, suffix: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(prefix);
    hash.update([0]);
    hash.update(suffix);
    hex(&hash.finalize())
}

impl RecordedModel {
    /// Reads the recording that the settings name.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if none is named, or it can't be read or has an invalid line.
    pub(super) fn open(settings: &ModelSettings) -> Result<Self, ModelError> {
        let Some(path) = &settings.recording else {
            return Err(ModelError::Settings(
                "model: the protocol \"recorded\" needs the setting recording, a file of JSON \
                 lines."
                    .to_owned(),
            ));
        };
        let name = settings.name.as_deref().unwrap_or("recorded");
        Self::read(name, path)
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// [`ModelError::Settings`] if it can't be read, or has an invalid line, whose number it names.
    pub fn read(name: &str, path: &Path) -> Result<Self, ModelError> {
        let fault = |what: String| {
            ModelError::Settings(format!("model: the recording {} {what}.", path.display()))
        };
        let text =
            fs::read_to_string(path).map_err(|error| fault(format!("can't be read: {error}")))?;
        // Editors on Windows may begin a file with a byte order mark, which JSON does not allow.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut completions: HashMap<_, Vec<String>> = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let record: RecordedCompletions = serde_json::from_str(line)
                .map_err(|error| fault(format!("is faulty in line {}: {error}", index + 1)))?;
            if record.completions.is_empty() {
                return Err(fault(format!("has no completion in line {}", index + 1)));
            }
            completions
                .entry((record.hole, record.key))
                .or_default()
                .extend(record.completions);
        }
        Ok(Self {
            name: name.to_owned(),
            path: path.to_owned(),
            completions,
        })
    }
}

#[async_trait]
impl Model for RecordedModel {
    fn name(&self) -> &str {
        &self.name
    }

    // A completion is found by the text around its cursor.
    fn reads_whole_files(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        listener: &dyn TextListener,
    ) -> Result<ModelOutput, ModelError> {
        let key = key(&request.prefix, &request.suffix);
        let of_hole = request.hole.is_some().then(|| request.hole.clone());
        let completions = of_hole
            .into_iter()
            .chain([None])
            .find_map(|hole| self.completions.get(&(hole, key.clone())));
        let Some(completions) = completions else {
            return Err(ModelError::NotRecorded {
                recording: self.path.display().to_string(),
                path: request.path.clone(),
                key,
            });
        };
        let count = completions.len() as u64;
        let first = request.parameters.seed % count;
        let candidates = (0..request.parameters.candidates as u64)
            .map(|index| RawCandidate {
                text: completions[((first + index) % count) as usize].clone(),
                finish: Finish::Stop,
                mean_log_probability: None,
                thought: false,
            })
            .enumerate()
            .map(|(index, candidate)| candidate.announce(index, listener))
            .collect();
        Ok(ModelOutput {
            candidates,
            prompt: key,
            notice: None,
            usage: None,
            is_delayed: false,
        })
    }
}
