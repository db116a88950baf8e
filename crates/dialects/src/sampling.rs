//! What a request asks of the sampler.

/// Sampling fields as the client sent them; what is `None` is the server's to choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// At most this many tokens.
    pub max_tokens: Option<u32>,
    /// At least 0; 0 is greedy.
    pub temperature: Option<f32>,
    /// In (0, 1].
    pub top_p: Option<f32>,
    /// At least 1; absent where the client sent -1 or 0 for "off".
    pub top_k: Option<u32>,
    /// In [0, 1].
    pub min_p: Option<f32>,
    /// In [-2, 2].
    pub presence_penalty: Option<f32>,
    /// In [-2, 2].
    pub frequency_penalty: Option<f32>,
    /// Above 0; 1 is off.
    pub repetition_penalty: Option<f32>,
    /// The turn has at least this many tokens.
    pub min_tokens: Option<u32>,
    /// Ids that end the turn, beside the family's own.
    pub stop_ids: Vec<u32>,
    /// Strings that end the turn.
    pub stop: Vec<String>,
    /// The sampler's seed.
    pub seed: Option<u64>,
    /// Whether the reply carries logprobs.
    pub logprobs: bool,
    /// How many alternatives a token.
    pub top_logprobs: u8,
}
