//! Rows in Miles' samples layout.
//!
//! For row `i`: `tokens.i` I64 \[n\], `loss_mask.i` U8 and `rollout_log_probs.i` F64
//! \[response_length\], where the response runs from the first sampled token to the row's end,
//! `rollout_routed_experts.i` and `rollout_indexer_topk.i` I32 \[n − 1, layers, top-k\] where they are known; and one
//! tensor `_samples_meta`, U8, the JSON of everything else. A token without a logprob has the value 0
//! there and mask 0. Miles' decoder refuses tensors it does not know, so what is ours (causes,
//! versions per token, turns) is in each sample's `metadata.verbatim`.

use std::borrow::Cow;

use ::safetensors::tensor::{Dtype, SafeTensors, View};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use verbatim_tokens::{Runs, TokenId, Width};

use crate::stored::{Arrays, Shape, Stored, covered};
use crate::{EmptyReason, Row, RowError};

/// The names of the replay payloads.
const EXPERTS: &str = "rollout_routed_experts";
const INDEXER: &str = "rollout_indexer_topk";

/// What goes around the rows.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    /// The session's own data.
    pub session_metadata: Map<String, Value>,
    /// Why there is no row.
    pub empty: Option<EmptyReason>,
}

#[derive(Serialize, Deserialize)]
struct Meta {
    samples: Vec<Sample>,
    session_metadata: Map<String, Value>,
    empty_reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Sample {
    response: String,
    response_length: usize,
    status: crate::Status,
    weight_versions: Vec<String>,
    prefix_cache_info: crate::CacheUse,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spec_info: Option<SpecInfo>,
    metadata: Map<String, Value>,
    reward: Option<Value>,
    nulls: Vec<String>,
}

/// Speculative decoding in the names of Miles' sample, which its own server loses on the way.
#[derive(Serialize, Deserialize)]
struct SpecInfo {
    spec_accept_token_num: u32,
    spec_draft_token_num: u32,
    spec_verify_ct: u32,
    completion_token_num: usize,
}

/// What is ours in a sample's metadata.
#[derive(Serialize, Deserialize)]
struct Own {
    #[serde(flatten)]
    stored: Stored,
    /// Whether a token has a logprob, in stretches: the tensor holds 0 where it has none.
    known: Vec<(bool, usize)>,
    /// What the row's metadata holds under our name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shadowed: Option<Value>,
}

struct Tensor(Dtype, Vec<usize>, Bytes);

impl View for Tensor {
    fn dtype(&self) -> Dtype {
        self.0
    }
    fn shape(&self) -> &[usize] {
        &self.1
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.2)
    }
    fn data_len(&self) -> usize {
        self.2.len()
    }
}

/// Writes rows; `decode` gives the text of a row's response.
///
/// # Errors
/// [`RowError::Safetensors`].
pub fn write_safetensors(
    rows: &[Row],
    envelope: &Envelope,
    decode: impl Fn(&[TokenId]) -> String,
) -> Result<Vec<u8>, RowError> {
    let mut tensors = Vec::with_capacity(rows.len() * 3 + 1);
    let mut samples = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let response = &row.tokens[row.prompt_length..];
        let ids: Vec<u8> = row.tokens.iter().flat_map(|id| i64::from(id.0).to_le_bytes()).collect();
        let mask = row.loss_mask().split_off(row.prompt_length);
        let logprobs = row.logprobs[row.prompt_length..].iter();
        let logprobs: Vec<u8> =
            logprobs.flat_map(|value| f64::from(value.unwrap_or_default()).to_le_bytes()).collect();
        tensors.push((format!("tokens.{at}"), Tensor(Dtype::I64, vec![row.tokens.len()], ids.into())));
        tensors.push((format!("loss_mask.{at}"), Tensor(Dtype::U8, vec![response.len()], mask.into())));
        tensors.push((
            format!("rollout_log_probs.{at}"),
            Tensor(Dtype::F64, vec![response.len()], logprobs.into()),
        ));
        for (name, payload) in [(EXPERTS, &row.experts), (INDEXER, &row.indexer)] {
            if let Some(payload) = payload {
                let shape = vec![payload.rows(), payload.layers(), payload.top_k()];
                let wide = payload.widened(Width::I32).bytes().clone();
                tensors.push((format!("{name}.{at}"), Tensor(Dtype::I32, shape, wide)));
            }
        }
        samples.push(sample(row, decode(response)));
    }
    let meta = Meta {
        samples,
        session_metadata: envelope.session_metadata.clone(),
        empty_reason: envelope.empty.map(|reason| match reason {
            EmptyReason::NoRecords => "no_records".to_owned(),
            EmptyReason::AllTruncated => "all_truncated".to_owned(),
        }),
    };
    let meta = serde_json::to_vec(&meta)?;
    tensors.push(("_samples_meta".to_owned(), Tensor(Dtype::U8, vec![meta.len()], meta.into())));
    Ok(::safetensors::serialize(tensors, None)?)
}

fn sample(row: &Row, response: String) -> Sample {
    let mut metadata = row.metadata.clone();
    let mut known = Runs::default();
    row.logprobs.iter().for_each(|logprob| known.extend(logprob.is_some(), 1));
    let known = known.iter().map(|(known, count)| (*known, count)).collect();
    let own = Own { stored: Stored::of(row), known, shadowed: metadata.remove("verbatim") };
    metadata.insert("verbatim".to_owned(), json!(own));
    // Miles keeps one version a turn; the exact ones are in `metadata.verbatim`.
    let weight_versions = row
        .turns
        .iter()
        .filter_map(|turn| row.versions.get(turn.start)?.as_ref().map(ToString::to_string))
        .collect();
    Sample {
        response,
        response_length: row.tokens.len() - row.prompt_length,
        status: row.status,
        weight_versions,
        prefix_cache_info: row.cache,
        spec_info: row.speculation.map(|speculation| SpecInfo {
            spec_accept_token_num: speculation.accepted,
            spec_draft_token_num: speculation.proposed,
            spec_verify_ct: speculation.verified,
            completion_token_num: row.turns.iter().map(|turn| turn.end - turn.start).sum(),
        }),
        metadata,
        reward: reward(row),
        nulls: [(EXPERTS, &row.experts), (INDEXER, &row.indexer)]
            .into_iter()
            .filter(|(_, payload)| payload.is_none())
            .map(|(name, _)| name.to_owned())
            .collect(),
    }
}

/// The row's reward, or the object that the agent gave in its place.
fn reward(row: &Row) -> Option<Value> {
    let object = || row.metadata.get("reward").filter(|reward| reward.is_object()).cloned();
    row.reward.map(Value::from).or_else(object)
}

/// Reads rows back.
///
/// # Errors
/// [`RowError`]; also for Miles' own files, which do not say where each token came from.
pub fn read_safetensors(bytes: &[u8]) -> Result<Vec<Row>, RowError> {
    let tensors = SafeTensors::deserialize(bytes)?;
    let meta: Meta = serde_json::from_slice(tensors.tensor("_samples_meta")?.data())?;
    let mut rows = Vec::with_capacity(meta.samples.len());
    for (at, mut sample) in meta.samples.into_iter().enumerate() {
        let malformed = |problem: &str| RowError::Malformed { row: at, problem: problem.to_owned() };
        let own = sample.metadata.remove("verbatim").ok_or_else(|| {
            malformed("metadata.verbatim is missing: this file was not written by verbatim")
        })?;
        let Own { stored, known, shadowed } = serde_json::from_value(own)?;
        sample.metadata.extend(shadowed.map(|value| ("verbatim".to_owned(), value)));
        let data = |name: &str, dtype| match tensors.tensor(&format!("{name}.{at}")) {
            Ok(tensor) if tensor.dtype() == dtype => Ok(tensor.data().as_chunks::<8>().0),
            Ok(_) => Err(malformed(&format!("{name} is not {dtype:?}"))),
            Err(error) => Err(error.into()),
        };
        let tokens = data("tokens", Dtype::I64)?
            .iter()
            .map(|bytes| u32::try_from(i64::from_le_bytes(*bytes)).map(TokenId))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| malformed("a token id does not fit 32 bits"))?;
        if stored.prompt_length > tokens.len() || covered(&known) != tokens.len() {
            return Err(malformed(&format!("its lengths do not belong to {} tokens", tokens.len())));
        }
        let mut logprobs = vec![None; stored.prompt_length];
        let values = data("rollout_log_probs", Dtype::F64)?;
        logprobs.extend(values.iter().map(|bytes| Some(f64::from_le_bytes(*bytes) as f32)));
        let payload = |name: &str, shape: &Option<Shape>| -> Result<_, RowError> {
            let Some(shape) = shape else { return Ok(None) };
            let tensor = tensors.tensor(&format!("{name}.{at}"))?;
            // They were widened on the way out.
            let numbers = tensor.data().as_chunks::<4>().0.iter();
            Ok(Some(numbers.flat_map(|number| &number[..shape.width.bytes()]).copied().collect()))
        };
        let experts = payload(EXPERTS, &stored.experts)?;
        let indexer = payload(INDEXER, &stored.indexer)?;
        let arrays = Arrays { tokens, logprobs, experts, indexer };
        let reward = sample.reward.as_ref().and_then(Value::as_f64);
        let mut row = stored.row(at, arrays, reward, sample.metadata)?;
        forget_invented(&mut row.logprobs, &known);
        rows.push(row);
    }
    Ok(rows)
}

/// Zeros that stand for "no logprob" become none again.
fn forget_invented(logprobs: &mut [Option<f32>], known: &[(bool, usize)]) {
    let mut at = 0;
    for (known, count) in known {
        if !known {
            logprobs[at..at + count].fill(None);
        }
        at += count;
    }
}
