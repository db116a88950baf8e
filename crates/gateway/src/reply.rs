//! Waiting for a turn's end.

use std::time::{SystemTime, UNIX_EPOCH};

use verbatim_dialects::Counts;
use verbatim_session::{Committed, Reply, SampledToken, TurnError, TurnEvent};

use crate::ApiError;

/// Waits for the commit; also gives the tokens that were told on the way.
pub(crate) async fn wait(mut reply: Reply) -> Result<(Box<Committed>, Vec<SampledToken>), ApiError> {
    let mut tokens = Vec::new();
    while let Some(event) = reply.events.recv().await {
        match event {
            TurnEvent::Delta { tokens: more, .. } => tokens.extend(more),
            TurnEvent::Failed(failed) => return Err(failed.into()),
            TurnEvent::Committed(committed) => {
                // From here on the reply is the connection's.
                reply.events.received();
                return Ok((committed, tokens));
            }
        }
    }
    Err(TurnError::Closed.into())
}

/// The turn's token counts.
pub(crate) fn counts(committed: &Committed) -> Counts {
    let generated = &committed.turn.generated;
    Counts {
        reasoning: generated.reasoning_tokens,
        prompt: committed.prompt_tokens,
        sampled: generated.sampled.len(),
        cached: generated.cached_tokens.unwrap_or_default(),
    }
}

/// Seconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
