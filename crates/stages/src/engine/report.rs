//! What was found about a server.

use serde::Serialize;
use verbatim_engine_http::Facts;

/// Everything that was found about one server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineReport {
    /// Its URL.
    pub url: String,
    /// Its kind.
    pub kind: &'static str,
    /// The served model.
    pub model: String,
    /// Tokens that prompt and reply may hold together.
    pub context: usize,
    /// What it says of itself.
    pub facts: Facts,
    /// What was tried or asked, in the order of its weight for training.
    pub checks: Vec<Check>,
    /// Whether nothing that rows need is lost.
    pub ready: bool,
}

/// One thing that a server can or cannot do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What.
    pub what: &'static str,
    /// Whether it can.
    pub state: State,
    /// What was seen; and where something is missing, what that loses and the way out.
    pub note: String,
    /// Whether rows are wrong or incomplete without it.
    pub needed: bool,
}

/// Whether a server can do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It can.
    Yes,
    /// It cannot, or not as it was started.
    No,
    /// That cannot be seen from outside.
    Unknown,
}

impl Check {
    pub(super) fn new(what: &'static str, state: State, note: impl Into<String>) -> Self {
        Self { what, state, note: note.into(), needed: false }
    }

    /// The same, as something that rows need.
    pub(super) fn needed(self) -> Self {
        Self { needed: true, ..self }
    }
}

impl From<Option<bool>> for State {
    fn from(told: Option<bool>) -> Self {
        match told {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}
