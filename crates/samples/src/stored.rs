//! What every format stores beside the arrays, and the checks of reading back.

use serde::{Deserialize, Serialize};
use verbatim_events::{GroupId, NodeId, SessionId};
use verbatim_tokens::{LogprobKind, MaskCause, Replay, Runs, Speculation, TokenId, Version, Width};

use crate::images::StoredImage;
use crate::{Advantages, CacheUse, Row, RowError, Status, Turn};

/// A row without its arrays and its metadata. Stretches are `[value, count]` pairs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) session: SessionId,
    pub(crate) group: Option<GroupId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group_index: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sample_index: Option<u64>,
    pub(crate) leaf: NodeId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    pub(crate) prompt_length: usize,
    pub(crate) mask: Vec<(Option<MaskCause>, usize)>,
    pub(crate) logprob_kind: LogprobKind,
    pub(crate) versions: Vec<(Option<Version>, usize)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<StoredImage>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) advantages: Option<Advantages>,
    pub(crate) weight: f64,
    pub(crate) cache: CacheUse,
    #[serde(default)]
    pub(crate) speculation: Option<Speculation>,
    #[serde(default)]
    pub(crate) experts: Option<Shape>,
    #[serde(default)]
    pub(crate) indexer: Option<Shape>,
}

/// The shape of a replay payload, whose bytes each format keeps in its own way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) layers: usize,
    pub(crate) top_k: usize,
    pub(crate) width: Width,
}

/// The arrays of a row.
pub(crate) struct Arrays {
    pub(crate) tokens: Vec<TokenId>,
    pub(crate) logprobs: Vec<Option<f32>>,
    pub(crate) experts: Option<Vec<u8>>,
    pub(crate) indexer: Option<Vec<u8>>,
}

impl Stored {
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            session: row.session.clone(),
            group: row.group.clone(),
            group_index: row.group_index,
            sample_index: row.sample_index,
            leaf: row.leaf,
            name: row.name.clone(),
            prompt_length: row.prompt_length,
            mask: row.mask.iter().map(|(cause, count)| (*cause, count)).collect(),
            logprob_kind: row.logprob_kind,
            versions: row.versions.iter().map(|(version, count)| (version.clone(), count)).collect(),
            images: row.images.iter().map(StoredImage::of).collect(),
            turns: row.turns.clone(),
            status: row.status,
            advantages: row.advantages.clone(),
            weight: row.weight,
            cache: row.cache,
            speculation: row.speculation,
            experts: row.experts.as_ref().map(Shape::of),
            indexer: row.indexer.as_ref().map(Shape::of),
        }
    }

    /// The row, if its parts belong together. `at` is its position, for the error.
    pub(crate) fn row(
        self,
        at: usize,
        arrays: Arrays,
        reward: Option<f64>,
        metadata: serde_json::Map<String, serde_json::Value>,
    ) -> Result<Row, RowError> {
        let Arrays { tokens, logprobs, experts, indexer } = arrays;
        let n = tokens.len();
        let malformed = |problem: String| RowError::Malformed { row: at, problem };
        let (masks, told) = (covered(&self.mask), covered(&self.versions));
        if masks != n || told != n || logprobs.len() != n {
            return Err(malformed(format!(
                "{n} tokens came with {masks} mask values, {} logprobs and {told} versions",
                logprobs.len()
            )));
        }
        if self.prompt_length > n || self.turns.iter().any(|turn| turn.start > turn.end || turn.end > n) {
            return Err(malformed(format!("a turn lies outside the row's {n} tokens")));
        }
        if let Some(Advantages::Turns(values)) = &self.advantages
            && values.len() != self.turns.len()
        {
            let (values, turns) = (values.len(), self.turns.len());
            return Err(malformed(format!("{turns} turns came with {values} advantages")));
        }
        let experts = payload("routed experts", self.experts, experts, n).map_err(malformed)?;
        let indexer = payload("indexer choices", self.indexer, indexer, n).map_err(malformed)?;
        let (mut mask, mut versions) = (Runs::default(), Runs::default());
        self.mask.into_iter().for_each(|(cause, count)| mask.extend(cause, count));
        self.versions.into_iter().for_each(|(version, count)| versions.extend(version, count));
        let images = self.images.into_iter().map(|image| image.span(&tokens, &mask));
        let images = images.collect::<Result<_, _>>().map_err(malformed)?;
        Ok(Row {
            session: self.session,
            group: self.group,
            group_index: self.group_index,
            sample_index: self.sample_index,
            leaf: self.leaf,
            name: self.name,
            tokens,
            prompt_length: self.prompt_length,
            mask,
            logprobs,
            logprob_kind: self.logprob_kind,
            versions,
            experts,
            indexer,
            images,
            turns: self.turns,
            status: self.status,
            reward,
            advantages: self.advantages,
            weight: self.weight,
            cache: self.cache,
            speculation: self.speculation,
            metadata,
        })
    }
}

impl Shape {
    fn of(payload: &Replay) -> Self {
        Self { layers: payload.layers(), top_k: payload.top_k(), width: payload.width() }
    }
}

/// A payload of a row of `n` tokens, or what is wrong with it.
fn payload(
    name: &str,
    shape: Option<Shape>,
    bytes: Option<Vec<u8>>,
    n: usize,
) -> Result<Option<Replay>, String> {
    match (shape, bytes) {
        (Some(shape), Some(bytes)) => {
            let payload = Replay::new(0, shape.layers, shape.top_k, shape.width, bytes);
            let payload = payload.map_err(|error| format!("{name}: {error}"))?;
            if payload.rows() + 1 != n {
                return Err(format!("{n} tokens came with {} rows of {name}", payload.rows()));
            }
            Ok(Some(payload))
        }
        (None, None) => Ok(None),
        (_, bytes) => {
            let which = if bytes.is_some() { "shape" } else { "bytes" };
            Err(format!("{name} have no {which}"))
        }
    }
}

/// How many tokens stretches cover; a file may claim any number.
pub(crate) fn covered<T>(stretches: &[(T, usize)]) -> usize {
    stretches.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
}
