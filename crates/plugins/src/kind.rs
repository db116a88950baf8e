//! What a plug-in is for.

use serde::{Deserialize, Serialize};

/// The kinds of plug-ins. The kind decides how a callable is called, whether it may be async, and whether
/// a call that lost its worker may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `run_agent(base_url, prompt, request_kwargs, metadata, **kwargs)`, async or not. The value is an
    /// object of these names; the result an object or null.
    Agent,
    /// The optional `abort(args)` beside an agent function. Loaded by the agent's path; the value is an
    /// object, of which the callable gets a namespace; the result `{"called": bool}`.
    Abort,
    /// `matcher(stored, replayed) -> bool`. The value is `{"pairs": [[stored, replayed], …]}`, the result
    /// `{"verdicts": [bool, …]}`.
    Matcher,
    /// `picker(samples, session_metadata)`. The value is `{"session_metadata": {…}}`, the blob the samples;
    /// the result `{"picked": [index, …]}`.
    Picker,
    /// `postprocessor(samples, session_metadata) -> samples`. As a picker; the result's blob holds the samples.
    #[serde(rename = "postprocessor")]
    PostProcessor,
    /// `reward(*args, **kwargs)`, async or not. The value is `{"args": […], "kwargs": {…}}`, the result what it
    /// returned.
    Reward,
    /// As [`Kind::Reward`], over a whole group.
    GroupReward,
    /// As [`Kind::Reward`]: advantages of a group.
    Advantage,
    /// As [`Kind::Reward`]: whether a group is kept.
    Filter,
}

impl Kind {
    /// The word in frames and errors.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Abort => "abort",
            Self::Matcher => "matcher",
            Self::Picker => "picker",
            Self::PostProcessor => "postprocessor",
            Self::Reward => "reward",
            Self::GroupReward => "group_reward",
            Self::Advantage => "advantage",
            Self::Filter => "filter",
        }
    }

    /// Whether a call may be made a second time when its worker died under it. An agent has talked to the
    /// world by then, and what it did cannot be undone.
    pub fn repeatable(self) -> bool {
        !matches!(self, Self::Agent | Self::Abort)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
