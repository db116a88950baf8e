//! One line of an event log.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One thing that happened, as far as stages look at it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "docs/src/events.md says what each field means")]
pub enum Entry {
    SessionOpened {
        session: String,
    },
    SessionClosed {
        session: String,
    },
    TurnCommitted {
        session: String,
        parent: Option<u32>,
        shared: Option<u32>,
        messages: usize,
        sampled_tokens: u64,
        #[serde(default)]
        versions: BTreeMap<String, u64>,
        finish: Option<String>,
        #[serde(default)]
        attempts: u32,
        #[serde(default)]
        tool_calls: usize,
    },
    Lost {
        session: String,
        cause: String,
        #[serde(default)]
        detail: String,
    },
    GroupStarted {
        group: String,
        sessions: usize,
    },
    AgentStarted {
        group: String,
        place: u32,
        attempt: u32,
    },
    AgentEnded {
        group: String,
        place: u32,
        attempt: u32,
        failed: Option<String>,
    },
    GroupReady {
        group: String,
    },
    GroupLeased {
        group: String,
        step: u64,
    },
    GroupFinalised {
        group: String,
    },
    SessionScored {
        session: String,
        group: String,
        reward: Option<f64>,
    },
    GroupScored {
        group: String,
    },
    GroupFinished {
        group: String,
        rows: usize,
        step: u64,
        is_last: bool,
    },
    GroupDropped {
        group: String,
        cause: String,
        #[serde(default)]
        detail: String,
    },
    StepOpened {
        step: u64,
    },
    StepClosed {
        step: u64,
    },
    OptimizerStep {
        step: u64,
        rows: u64,
        #[serde(default)]
        groups: Vec<String>,
    },
    Evaluated {
        dataset: String,
        sessions: usize,
        failed: usize,
    },
    UpdateBegun {},
    UpdateEnded {},
    #[serde(other)]
    Unknown,
}

/// A line that is no event.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the event log cannot be read: {error}")]
pub struct LogError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub error: serde_json::Error,
}

/// Reads an event log's text. A last line without its end is one that was being written.
///
/// # Errors
/// [`LogError`], which names the line.
pub fn read_log(text: &str) -> Result<Vec<Entry>, LogError> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| LogError { line: at + 1, error }))
        .collect()
}
