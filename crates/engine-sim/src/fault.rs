//! What can go wrong on purpose.

/// A fault of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The engine dies after this many tokens: the attempt fails.
    DiesAfter(usize),
    /// The stream is cut after this many tokens, without an end.
    CutAfter(usize),
    /// The engine aborts by itself after this many tokens.
    AbortsAfter(usize),
    /// One logprob is missing from the last increment: lengths differ.
    ShortLogprobs,
    /// Logprobs are not given at all.
    NoLogprobs,
    /// Nothing ever comes.
    Hangs,
}
