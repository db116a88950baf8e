//! `[[eval]]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::DatasetConfig;

/// `[[eval]]`: a dataset that is evaluated beside training.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvalConfig {
    /// Its name.
    pub(crate) name: String,
    /// A `.jsonl` or `.parquet` file.
    pub(crate) path: PathBuf,
    /// The column of the prompt, else that of `[dataset]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input_key: Option<String>,
    /// The column of the agent's metadata, else that of `[dataset]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata_key: Option<String>,
    /// The column of what a reward function compares with, else that of `[dataset]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label_key: Option<String>,
    /// Take only so many rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    /// Sessions a task.
    #[serde(default = "one")]
    pub(crate) samples: usize,
    /// Sessions at once.
    #[serde(default = "sessions_at_once")]
    pub(crate) concurrency: usize,
    /// What every turn is sampled with, whatever its request says: `sampling = { temperature = 0.0 }`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) sampling: Map<String, Value>,
    /// A session whose reward is at least this has passed.
    #[serde(default = "passes")]
    pub(crate) pass: f64,
}

fn one() -> usize {
    1
}

fn sessions_at_once() -> usize {
    8
}

fn passes() -> f64 {
    1.0
}

impl EvalConfig {
    /// As a dataset; what it does not say is `[dataset]`'s.
    pub(crate) fn dataset(&self, training: &DatasetConfig) -> DatasetConfig {
        DatasetConfig {
            path: self.path.clone(),
            input_key: self.input_key.clone().unwrap_or_else(|| training.input_key.clone()),
            metadata_key: self.metadata_key.clone().or_else(|| training.metadata_key.clone()),
            label_key: self.label_key.clone().or_else(|| training.label_key.clone()),
            limit: self.limit,
            ..training.clone()
        }
    }
}
