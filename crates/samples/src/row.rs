//! One training row.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use verbatim_chat::ImageSpan;
use verbatim_events::{Finish, GroupId, NodeId, SessionId};
use verbatim_tokens::{LogprobKind, MaskCause, Replay, Runs, Speculation, TokenId, Version};

use crate::Advantages;

/// One lineage as a trainer takes it: `n` tokens, each with its mask, logprob and version.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The session.
    pub session: SessionId,
    /// The session's group, if it has one.
    pub group: Option<GroupId>,
    /// Its group's task: its place in the dataset, counted from 0 and on through the epochs.
    pub group_index: Option<u64>,
    /// Its session's place among all of the dataset's: the task times the sessions a group, and the place in the
    /// group. All rows of a session have the same, and so has a retry of it.
    pub sample_index: Option<u64>,
    /// The generation that ends the lineage.
    pub leaf: NodeId,
    /// The name under which the agent exported it; `None` if it named none.
    pub name: Option<String>,
    /// `n` ids: what the engine read and sampled.
    pub tokens: Vec<TokenId>,
    /// How many tokens precede the first sampled one.
    pub prompt_length: usize,
    /// `n` values: `None` trains, a cause does not.
    pub mask: Runs<Option<MaskCause>>,
    /// `n` values: the engine's logprob of a sampled token, `None` for all others.
    pub logprobs: Vec<Option<f32>>,
    /// Which distribution they were read from.
    pub logprob_kind: LogprobKind,
    /// `n` values: the policy version of a sampled token, `None` where it is unknown or not sampled.
    pub versions: Runs<Option<Version>>,
    /// Which experts the tokens were routed to: `n − 1` rows, one for each token that was forwarded;
    /// `None` if it was not asked for, or not told for all of them.
    pub experts: Option<Replay>,
    /// Which positions sparse attention looked at, as [`Row::experts`].
    pub indexer: Option<Replay>,
    /// The images that the tokens show, in their order: each at its run of placeholders, which are observations.
    pub images: Vec<ImageSpan>,
    /// The sampled turns in the row.
    pub turns: Vec<Turn>,
    /// How the lineage ended.
    pub status: Status,
    /// Its reward, if there is one yet.
    pub reward: Option<f64>,
    /// Its advantages, if a function of the user's gave some.
    pub advantages: Option<Advantages>,
    /// 1 over the number of the session's rows: a session counts once, however it branched.
    pub weight: f64,
    /// Prompt tokens over all turns, and how many of them the engine had cached.
    pub cache: CacheUse,
    /// Speculative decoding over all turns, if the engine says.
    pub speculation: Option<Speculation>,
    /// The dataset's and the agent's own data.
    pub metadata: Map<String, Value>,
}

/// One sampled turn of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its node.
    pub node: NodeId,
    /// The index of its first token in the row.
    pub start: usize,
    /// One past the index of its last token in the row.
    pub end: usize,
    /// How it ended.
    pub finish: Finish,
    /// The temperature that it was sampled with; 0 is greedy.
    #[serde(default = "unscaled")]
    pub temperature: f32,
    /// The id under which the agent knows it.
    pub response: String,
    /// When it was committed, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Its own reward, if the agent gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
}

/// Of rows written before temperatures were.
fn unscaled() -> f32 {
    1.0
}

/// How a lineage ended, in the words that Miles and slime use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its last turn ended by itself.
    Completed,
    /// Its last turn was cut by a length limit, or the row was.
    Truncated,
}

/// How the engine's prefix cache served a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheUse {
    /// Prompt tokens that were cached, summed over turns.
    pub cached_tokens: usize,
    /// Prompt tokens, summed over turns.
    pub total_prompt_tokens: usize,
}

impl Row {
    /// Whether the token at `at` carries loss.
    pub fn trains(&self, at: usize) -> bool {
        matches!(self.mask.get(at), Some(None))
    }

    /// How many tokens carry loss.
    pub fn trained(&self) -> usize {
        self.mask.iter().filter(|(cause, _)| cause.is_none()).map(|(_, count)| count).sum()
    }

    /// The mask as numbers: 1 trains.
    pub fn loss_mask(&self) -> Vec<u8> {
        let mut mask = Vec::with_capacity(self.tokens.len());
        for (cause, count) in self.mask.iter() {
            mask.resize(mask.len() + count, u8::from(cause.is_none()));
        }
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_was_written_before_temperatures_were_was_sampled_at_one() {
        let told = r#"{"node": 1, "start": 2, "end": 3, "finish": "stop", "response": "r", "at": 5}"#;
        let turn: Turn = serde_json::from_str(told).unwrap();
        assert_eq!((turn.temperature, turn.reward), (1.0, None));
    }
}
