//! What an assistant's turn is in the middle of when its first token is sampled.

use serde::{Deserialize, Serialize};

/// The state that a rendered prompt leaves the turn in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartState {
    /// Plain content; the model may open a think block itself.
    #[default]
    Content,
    /// Inside a think block that the prompt opened.
    Reasoning,
}
