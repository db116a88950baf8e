//! Are the logprobs in these rows those of this engine, token by token?

use std::collections::BTreeMap;

use serde::Serialize;
use verbatim_engine::{Engine, EngineError};
use verbatim_samples::Row;
use verbatim_tokens::LogprobKind;

/// How far a scored logprob may be from the recorded one, in nats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// For every single token.
    pub max: f32,
    /// For the mean over all tokens.
    pub mean: f64,
}

impl Default for Bound {
    /// For an engine that scores with the arithmetic it samples with.
    fn default() -> Self {
        Self { max: 1e-3, mean: 1e-4 }
    }
}

/// Gaps between recorded and scored logprobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gap {
    /// Tokens that were compared.
    pub tokens: usize,
    /// The mean absolute gap.
    pub mean: f64,
    /// The largest absolute gap.
    pub max: f32,
    /// Where it is.
    pub worst: Option<Worst>,
}

/// One token's gap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// The row's position in the file.
    pub row: usize,
    /// The token's position in the row.
    pub token: usize,
    /// The row's logprob.
    pub recorded: f32,
    /// The engine's.
    pub scored: f32,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowsReport {
    /// Rows that were scored.
    pub rows: usize,
    /// Gaps by the kind of logprob that was recorded. Only raw ones are judged: others were read from
    /// a distribution that scoring does not know.
    pub gaps: BTreeMap<&'static str, Gap>,
    /// Sampled tokens without a logprob on either side.
    pub missing: usize,
    /// What is allowed.
    pub bound: Bound,
    /// The verdict.
    pub holds: bool,
}

/// Rows that could not be scored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VerifyError {
    /// There is nothing to judge.
    #[error("there is no sampled token in these rows")]
    Nothing,
    /// The engine does not score.
    #[error("engine {engine} does not score given ids")]
    CannotScore {
        /// The engine.
        engine: String,
    },
    /// Scoring shows an engine ids alone.
    #[error("row {row} shows an image, and engines score ids alone; verify rows without images")]
    Images {
        /// The row.
        row: usize,
    },
    /// The engine failed.
    #[error("row {row}: {source}")]
    Engine {
        /// The row.
        row: usize,
        /// How.
        source: EngineError,
    },
}

/// Scores every row with `engine` and compares.
///
/// # Errors
/// [`VerifyError`]; that a bound is exceeded is no error but [`RowsReport::holds`].
pub async fn rows(engine: &dyn Engine, rows: &[Row], bound: Bound) -> Result<RowsReport, VerifyError> {
    let scorer = engine
        .score()
        .ok_or_else(|| VerifyError::CannotScore { engine: engine.capabilities().engine.clone() })?;
    let mut sums: BTreeMap<&'static str, (Gap, f64)> = BTreeMap::new();
    let mut missing = 0;
    for (at, row) in rows.iter().enumerate() {
        if !row.images.is_empty() {
            return Err(VerifyError::Images { row: at });
        }
        let scored = scorer
            .score(row.tokens.clone(), row.prompt_length)
            .await
            .map_err(|source| VerifyError::Engine { row: at, source })?;
        for turn in &row.turns {
            let (gap, sum) = sums.entry(kind(row.logprob_kind, turn.temperature)).or_default();
            for token in turn.start..turn.end {
                let (Some(recorded), Some(scored)) =
                    (row.logprobs[token], scored.get(token).copied().flatten())
                else {
                    missing += 1;
                    continue;
                };
                let distance = (recorded - scored).abs();
                gap.tokens += 1;
                *sum += f64::from(distance);
                if gap.worst.is_none() || distance > gap.max || distance.is_nan() {
                    gap.max = distance;
                    gap.worst = Some(Worst { row: at, token, recorded, scored });
                }
            }
        }
    }
    let gaps: BTreeMap<&'static str, Gap> = sums
        .into_iter()
        .map(|(kind, (gap, sum))| (kind, Gap { mean: sum / gap.tokens.max(1) as f64, ..gap }))
        .collect();
    if gaps.values().all(|gap| gap.tokens == 0) {
        return Err(VerifyError::Nothing);
    }
    let raw = gaps.get("raw");
    let holds = raw.is_none_or(|gap| gap.max <= bound.max && gap.mean <= bound.mean);
    Ok(RowsReport { rows: rows.len(), gaps, missing, bound, holds })
}

/// At temperature 1, and where the most likely token was taken, the tempered distribution is the raw
/// one.
fn kind(kind: LogprobKind, temperature: f32) -> &'static str {
    match kind {
        LogprobKind::Tempered if temperature == 1.0 || temperature == 0.0 => "raw",
        LogprobKind::Raw => "raw",
        LogprobKind::Tempered => "tempered",
        LogprobKind::Processed => "processed",
    }
}
