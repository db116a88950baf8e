//! Token counts of one turn, before a dialect spells them.

/// How many tokens a turn read and sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tokens read, the cached ones included.
    pub prompt: usize,
    /// Tokens sampled.
    pub sampled: usize,
    /// How many of those read the engine had cached; 0 if it does not say.
    pub cached: u32,
    /// How many of those sampled are reasoning, the marks around it among them.
    pub reasoning: usize,
}
