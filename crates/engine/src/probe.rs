//! The start-up probe: does this engine keep what training needs?

use std::sync::Arc;

use futures::StreamExt;
use verbatim_tokens::TokenId;

use crate::{AttemptId, Attempts, Ending, Engine, EngineError, Params, Piece, Prompt, SessionKey};

/// What a probe saw of an engine that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeReport {
    /// Tokens that came back.
    pub tokens: usize,
    /// Whether they carried a policy version.
    pub versions: bool,
}

/// One thing that does not survive the way through an engine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Missing {
    /// No sampled ids came back.
    #[error("sampled token ids")]
    Ids,
    /// Some ids came back without a logprob.
    #[error("logprobs ({with} of {of} tokens had one)")]
    Logprobs {
        /// Tokens with a logprob.
        with: usize,
        /// Tokens in all.
        of: usize,
    },
    /// An id outside the declared vocabulary came back.
    #[error("ids of this vocabulary (got {id}, expected below {vocabulary})")]
    Vocabulary {
        /// The id.
        id: TokenId,
        /// How many there are.
        vocabulary: usize,
    },
    /// A version was declared and none came.
    #[error("policy versions, which it says it reports")]
    Versions,
}

impl Missing {
    /// A stable short name: `ids`, `logprobs`, `vocabulary`, `versions`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ids => "ids",
            Self::Logprobs { .. } => "logprobs",
            Self::Vocabulary { .. } => "vocabulary",
            Self::Versions => "versions",
        }
    }
}

/// An engine that must not serve.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProbeFailed {
    /// Something that rows need is lost.
    #[error("engine {engine} loses {}", .missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Loses {
        /// Which engine.
        engine: String,
        /// Everything it loses.
        missing: Vec<Missing>,
    },
    /// The probe's request failed.
    #[error("engine {engine} did not answer the probe")]
    Failed {
        /// Which engine.
        engine: String,
        /// How it failed.
        source: EngineError,
    },
}

/// Asks `engine` for a few greedy tokens after `prompt` and checks what comes back.
///
/// # Errors
/// [`ProbeFailed`], naming everything that is missing.
pub async fn probe(engine: &dyn Engine, prompt: Arc<[TokenId]>) -> Result<ProbeReport, ProbeFailed> {
    let name = engine.capabilities().engine.clone();
    let failed = |source| ProbeFailed::Failed { engine: name.clone(), source };
    let first = greedy(engine, prompt).await.map_err(failed)?;
    let sampled = first.finish().map_err(failed)?;

    let capabilities = engine.capabilities();
    let mut missing = Vec::new();
    if sampled.is_empty() {
        missing.push(Missing::Ids);
    }
    let with = sampled.logprobs().iter().flatten().count();
    if with < sampled.len() {
        missing.push(Missing::Logprobs { with, of: sampled.len() });
    }
    if let Some(id) = sampled.ids().iter().find(|id| id.0 as usize >= capabilities.vocabulary) {
        missing.push(Missing::Vocabulary { id: *id, vocabulary: capabilities.vocabulary });
    }
    let versions = sampled.versions().iter().all(|(version, _)| version.is_some());
    if capabilities.versions && !versions {
        missing.push(Missing::Versions);
    }
    if missing.is_empty() {
        Ok(ProbeReport { tokens: sampled.len(), versions: versions && !sampled.is_empty() })
    } else {
        Err(ProbeFailed::Loses { engine: name, missing })
    }
}

async fn greedy(engine: &dyn Engine, ids: Arc<[TokenId]>) -> Result<Attempts, EngineError> {
    let params = Params { max_tokens: 4, temperature: 0.0, ..Params::default() };
    let mut attempts = Attempts::new(engine.capabilities().logprobs, params.max_tokens);
    let prompt = Prompt::new(ids, SessionKey("probe".into()));
    let mut pieces = engine.generate(AttemptId::fresh(), prompt, &params);
    while let Some(piece) = pieces.next().await {
        match piece {
            Piece::More(increment) => attempts.push(increment)?,
            Piece::End(end) => {
                return match end.ending {
                    Ending::Failed(error) => Err(error),
                    Ending::Stop(_) | Ending::Length | Ending::Aborted => Ok(attempts),
                };
            }
        }
    }
    Err(EngineError::Cut { tokens: attempts.ids().len(), reason: "the stream ended without an end".into() })
}
