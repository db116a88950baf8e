//! Rows as lines of JSON.

use base64_simd::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use verbatim_tokens::TokenId;

use crate::stored::{Arrays, Stored};
use crate::{Row, RowError};

/// One line. `loss_mask` repeats what `mask` tells by cause, for readers that only train.
#[derive(Serialize, Deserialize)]
struct Line {
    tokens: Vec<TokenId>,
    #[serde(default)]
    loss_mask: Vec<u8>,
    logprobs: Vec<Option<f32>>,
    /// Base64 of the bytes whose shape is in `experts`: `n − 1` rows, little-endian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    routed_experts: Option<String>,
    /// Likewise of the bytes whose shape is in `indexer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    indexer_topk: Option<String>,
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
            routed_experts: row.experts.as_ref().map(|experts| STANDARD.encode_to_string(experts.bytes())),
            indexer_topk: row.indexer.as_ref().map(|indexer| STANDARD.encode_to_string(indexer.bytes())),
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
            let malformed = |problem: String| RowError::Malformed { row: at, problem };
            let Line { tokens, logprobs, routed_experts, indexer_topk, reward, metadata, stored, .. } =
                serde_json::from_slice(line).map_err(|error| malformed(error.to_string()))?;
            let decode = |name: &str, text: Option<String>| {
                let bytes = text.map(|text| STANDARD.decode_to_vec(text)).transpose();
                bytes.map_err(|_| malformed(format!("{name} is no base64")))
            };
            let experts = decode("routed_experts", routed_experts)?;
            let indexer = decode("indexer_topk", indexer_topk)?;
            stored.row(at, Arrays { tokens, logprobs, experts, indexer }, reward, metadata)
        })
        .collect()
}
