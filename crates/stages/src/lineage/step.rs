//! What one request does to the conversations before it.

use serde::Serialize;

use super::{Cause, Difference};

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transition {
    /// The first of its recording.
    Start,
    /// It goes on from the latest reply of its line.
    Append,
    /// It goes on from something that another request has gone on from, too.
    Fork,
    /// It is a request again.
    Retry,
    /// It goes on from where a request that is still under way does.
    ConcurrentSibling,
    /// It goes on from nothing that was there before.
    Reset,
    /// It cannot be read.
    Unread,
}

impl Transition {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Append => "append",
            Self::Fork => "fork",
            Self::Retry => "retry",
            Self::ConcurrentSibling => "concurrent sibling",
            Self::Reset => "reset",
            Self::Unread => "unread",
        }
    }
}

/// Whether somebody meant a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// It is declared.
    Yes,
    /// Its cause is an accident.
    No,
    /// Nothing says.
    Unknown,
}

impl Intent {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// What is to be done about a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is wanted.
    KeepBranch,
    /// It must go away.
    Linearize,
    /// Somebody must say.
    Investigate,
}

impl Action {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::KeepBranch => "keep branch",
            Self::Linearize => "linearize",
            Self::Investigate => "investigate",
        }
    }
}

/// One request, classified.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Its number in the recording, counted from 0.
    pub request: usize,
    /// The context that it belongs to, counted from 0: a line of turns.
    pub context: usize,
    /// What it is.
    pub transition: Transition,
    /// Why it is no append.
    pub cause: Option<Cause>,
    /// The request whose prompt or reply it goes on from.
    pub parent: Option<usize>,
    /// Whether all that its parent's line holds is in it, in order.
    pub prefix_preserved: bool,
    /// Whether its tools are those of the line it is nearest to.
    pub tools_stable: bool,
    /// Whether its template arguments are.
    pub template_stable: bool,
    /// What came back in another spelling, and is taken for the same.
    pub respelt: Vec<Cause>,
    /// How many new messages are an assistant's that nobody sampled.
    pub foreign: usize,
    /// Whether it was meant.
    pub intent: Intent,
    /// What to do.
    pub action: Action,
    /// Where it first differs from the line it is nearest to.
    pub difference: Option<Difference>,
    /// Why it cannot be read.
    pub problem: Option<String>,
}
