//! Tasks from a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Map, Value, json};
use verbatim_agents::Input;

use crate::{RolloutError, media};

/// A dataset and which of its columns mean what. Source of the keys and of how prompts become
/// messages: Relax, "input JSON".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// `.jsonl` or `.parquet`.
    pub path: PathBuf,
    /// The column of the prompt: text, messages, or empty.
    pub input_key: String,
    /// The column of the agent's metadata, an object; without it there is none.
    pub metadata_key: Option<String>,
    /// The column of what a reward function compares with; agents are not given it.
    pub label_key: Option<String>,
    /// For each kind of media the column that holds it: `image = "images"`.
    pub multimodal_keys: BTreeMap<String, String>,
    /// Take only so many rows.
    pub limit: Option<usize>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its position in the dataset.
    pub index: usize,
    /// What its agents are given.
    pub input: Input,
    /// What a reward function compares with.
    pub label: Option<Value>,
}

impl Dataset {
    /// Reads the tasks.
    ///
    /// # Errors
    /// [`RolloutError`], naming the row and the column.
    pub fn read(&self) -> Result<Vec<Task>, RolloutError> {
        let rows = match self.path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => self.jsonl()?,
            Some("parquet") => self.parquet()?,
            _ => return Err(self.bad("unknown kind of dataset; use .jsonl or .parquet".into())),
        };
        rows.into_iter()
            .take(self.limit.unwrap_or(usize::MAX))
            .enumerate()
            .map(|(index, mut row)| {
                let label = self.label_key.as_ref().and_then(|key| row.remove(key));
                let label = label.filter(|label| !label.is_null());
                let input = self.input(row).map_err(|problem| RolloutError::Row {
                    path: self.path.clone(),
                    row: index,
                    problem,
                })?;
                Ok(Task { index, input, label })
            })
            .collect()
    }

    fn bad(&self, problem: String) -> RolloutError {
        RolloutError::Dataset { path: self.path.clone(), problem }
    }

    fn jsonl(&self) -> Result<Vec<Map<String, Value>>, RolloutError> {
        let bytes = std::fs::read(&self.path)
            .map_err(|source| RolloutError::File { path: self.path.clone(), source })?;
        // Lines end at line feeds only: U+2028 and its like are text.
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        lines
            .take(self.limit.unwrap_or(usize::MAX))
            .enumerate()
            .map(|(row, line)| {
                serde_json::from_slice(line).map_err(|error| RolloutError::Row {
                    path: self.path.clone(),
                    row,
                    problem: format!("not a JSON object: {error}"),
                })
            })
            .collect()
    }

    fn parquet(&self) -> Result<Vec<Map<String, Value>>, RolloutError> {
        let file = std::fs::File::open(&self.path)
            .map_err(|source| RolloutError::File { path: self.path.clone(), source })?;
        let bad = |error: parquet::errors::ParquetError| self.bad(error.to_string());
        let reader = SerializedFileReader::new(file).map_err(bad)?;
        let rows = reader.get_row_iter(None).map_err(bad)?;
        rows.take(self.limit.unwrap_or(usize::MAX))
            .map(|row| match row.map_err(bad)?.to_json_value() {
                Value::Object(fields) => Ok(fields),
                other => Err(self.bad(format!("a record is no object: {other}"))),
            })
            .collect()
    }

    fn input(&self, mut row: Map<String, Value>) -> Result<Input, String> {
        let metadata = match self.metadata_key.as_deref().map(|key| (key, row.get(key))) {
            None | Some((_, None | Some(Value::Null))) => Map::new(),
            Some((_, Some(Value::Object(fields)))) => fields.clone(),
            // Tables often keep objects as JSON text.
            Some((key, Some(Value::String(text)))) => serde_json::from_str(text)
                .map_err(|_| format!("{key}: the text is not a JSON object; give an object"))?,
            Some((key, Some(other))) => return Err(format!("{key}: {other} is not an object")),
        };
        let mut media = media::Queues::new();
        for (kind, column) in &self.multimodal_keys {
            let values = match row.remove(column) {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(values)) => values,
                Some(one) => vec![one],
            };
            media.insert(kind.clone(), values.into());
        }
        let prompt = row.remove(&self.input_key).unwrap_or(Value::Null);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let messages = messages(&self.input_key, prompt)?;
        Ok(Input { messages: media::place(messages, media, folder)?, metadata })
    }
}

/// A prompt as messages: text is one user message, an empty one is none.
fn messages(key: &str, prompt: Value) -> Result<Vec<Value>, String> {
    match prompt {
        Value::Null => Ok(Vec::new()),
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => Ok(vec![json!({"role": "user", "content": text})]),
        Value::Array(messages) => {
            if let Some(at) = messages.iter().position(|message| !message.is_object()) {
                return Err(format!("{key}[{at}]: a message must be an object"));
            }
            let placeholder = messages.len() == 1
                && messages.iter().all(|message| message.get("content").and_then(Value::as_str) == Some(""));
            Ok(if placeholder { Vec::new() } else { messages })
        }
        other => Err(format!("{key}: {other} is neither text nor a list of messages")),
    }
}
