//! Rows as lines of JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use verbatim_tokens::TokenId;

use crate::stored::Stored;
use crate::{Row, RowError};

/// One line. `loss_mask` repeats what `mask` tells by cause, for readers that only train.
#[derive(Serialize, Deserialize)]
struct Line {
    tokens: Vec<TokenId>,
    #[serde(default)]
    loss_mask: Vec<u8>,
    logprobs: Vec<Option<f32>>,
    reward: Option<f64>,
    metadata: Map<String, Value>,
    #[serde(flatten)]
    stored: Stored,
}

pub(crate) fn write(rows: &[Row]) -> Result<Vec<u8>, RowError> {
    let mut out = Vec::new();
    for row in rows {
        let line = Line {
            tokens: row.tokens.clone(),
            loss_mask: row.loss_mask(),
            logprobs: row.logprobs.clone(),
            reward: row.reward,
            metadata: row.metadata.clone(),
            stored: Stored::of(row),
        };
        serde_json::to_writer(&mut out, &line)?;
        out.push(b'\n');
    }
    Ok(out)
}

pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Row>, RowError> {
    // Lines end at line feeds only: U+2028 and its like are text.
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines
        .enumerate()
        .map(|(at, line)| {
            let Line { tokens, logprobs, reward, metadata, stored, .. } = serde_json::from_slice(line)
                .map_err(|error| RowError::Malformed { row: at, problem: error.to_string() })?;
            stored.row(at, tokens, logprobs, reward, metadata)
        })
        .collect()
}
