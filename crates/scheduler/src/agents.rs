//! Which agents live.

use std::collections::{HashSet, VecDeque};

use crate::{Action, AgentId};

/// Agents in the order they were wanted; as many live as the limit allows.
#[derive(Debug)]
pub(crate) struct Agents {
    limit: usize,
    wanted: VecDeque<AgentId>,
    alive: HashSet<AgentId>,
}

impl Agents {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, wanted: VecDeque::new(), alive: HashSet::new() }
    }

    pub(crate) fn want(&mut self, agent: AgentId) {
        if !self.alive.contains(&agent) && !self.wanted.contains(&agent) {
            self.wanted.push_back(agent);
        }
    }

    pub(crate) fn exit(&mut self, agent: AgentId) {
        self.alive.remove(&agent);
        self.wanted.retain(|waiting| *waiting != agent);
    }

    pub(crate) fn advance(&mut self, out: &mut Vec<Action>) {
        while self.alive.len() < self.limit {
            let Some(agent) = self.wanted.pop_front() else { return };
            self.alive.insert(agent);
            out.push(Action::Launch(agent));
        }
    }
}
