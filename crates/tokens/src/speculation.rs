//! What speculative decoding did.

use serde::{Deserialize, Serialize};

/// Counts of speculative decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speculation {
    /// Tokens that the draft proposed.
    pub proposed: u32,
    /// Proposed tokens that the model accepted.
    pub accepted: u32,
    /// Passes of the model that judged proposals.
    pub verified: u32,
}
