//! Sessions as their log tells them.
//!
//! The invariant: nodes are numbered as commits number them: a new observation and its generation, or a generation alone.

use std::collections::BTreeMap;

use super::Entry;

/// A turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnLog {
    /// The number of its generation.
    pub node: u32,
    /// The generation that it goes on from.
    pub parent: Option<u32>,
    /// Whether it was sampled again from an observation that was there.
    pub again: bool,
    /// New messages that it read.
    pub messages: usize,
    /// Tools that it called.
    pub calls: usize,
    /// Why it ended.
    pub finish: Option<String>,
    /// How often it was begun.
    pub attempts: u32,
    /// Policy versions that sampled it.
    pub versions: usize,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionLog {
    /// Its turns, in the order of their commits.
    pub turns: Vec<TurnLog>,
    /// What was lost, by cause.
    pub lost: BTreeMap<String, usize>,
    /// Whether it was opened, and closed.
    pub life: (bool, bool),
    nodes: u32,
}

impl SessionLog {
    /// Turns that no other goes on from.
    pub fn leaves(&self) -> usize {
        let is_parent = |turn: &TurnLog| self.turns.iter().any(|other| other.parent == Some(turn.node));
        self.turns.iter().filter(|turn| !is_parent(turn)).count()
    }

    /// Whether its turns make one line.
    pub fn is_linear(&self) -> bool {
        let roots = self.turns.iter().filter(|turn| turn.parent.is_none()).count();
        self.leaves() == 1 && roots == 1 && !self.turns.iter().any(|turn| turn.again)
    }
}

/// The sessions of a log, by name.
pub fn sessions(log: &[Entry]) -> BTreeMap<String, SessionLog> {
    let mut all: BTreeMap<String, SessionLog> = BTreeMap::new();
    for entry in log {
        match entry {
            Entry::SessionOpened { session } => all.entry(session.clone()).or_default().life.0 = true,
            Entry::SessionClosed { session } => all.entry(session.clone()).or_default().life.1 = true,
            Entry::Lost { session, cause, .. } => {
                *all.entry(session.clone()).or_default().lost.entry(cause.clone()).or_default() += 1;
            }
            Entry::TurnCommitted {
                session,
                parent,
                shared,
                messages,
                versions,
                finish,
                attempts,
                tool_calls,
                ..
            } => {
                let known = all.entry(session.clone()).or_default();
                known.nodes += if shared.is_some() { 1 } else { 2 };
                known.turns.push(TurnLog {
                    node: known.nodes - 1,
                    parent: *parent,
                    again: shared.is_some(),
                    messages: *messages,
                    calls: *tool_calls,
                    finish: finish.clone(),
                    attempts: *attempts,
                    versions: versions.len(),
                });
            }
            _ => {}
        }
    }
    all
}
