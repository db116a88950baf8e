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

impl std::ops::AddAssign for Speculation {
    fn add_assign(&mut self, more: Self) {
        self.proposed += more.proposed;
        self.accepted += more.accepted;
        self.verified += more.verified;
    }
}
