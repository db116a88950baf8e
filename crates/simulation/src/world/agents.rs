//! What agents do.

use rand::Rng;
use verbatim_scheduler::{Cost, Exit, Input, SessionId, TurnId};

use super::{What, World};
use crate::agent::Fate;
use crate::engine::Turn;

impl World<'_> {
    pub(super) fn ask(&mut self, session: SessionId) {
        let Some(agent) = self.agents.get_mut(&session) else { return };
        if agent.ending || agent.turn.is_some() {
            return;
        }
        match agent.fate {
            Fate::Dies(at) if at == agent.at => return self.ends(session, Exit::Failed { again: true }),
            Fate::Hangs(at) if at == agent.at => return,
            Fate::ExitsEarly => return self.ends(session, Exit::Succeeded),
            _ => {}
        }
        let Some(part) = agent.parts.get(agent.at).copied() else { return };
        let id = TurnId(self.turn);
        self.turn += 1;
        agent.turn = Some(id);
        let context = agent.context;
        let turn = Turn {
            session,
            tokens: part.tokens,
            sampled: 0,
            context,
            attempts: 0,
            running: None,
            left: false,
        };
        self.turns.insert(id, turn);
        self.inputs.push_back(Input::Arrived(id, Some(session), Cost(context + part.tokens)));
        let retries = self.setup.faults.client_retries;
        if self.chance(retries) {
            let patience = self.random.random_range(0.0..60.0);
            self.after(patience, What::Retries(id));
        }
    }

    /// An agent's process is over; what it asked for goes with it.
    pub(super) fn ends(&mut self, session: SessionId, exit: Exit) {
        let Some(agent) = self.agents.get_mut(&session) else { return };
        if agent.ending {
            return;
        }
        agent.ending = true;
        if let Some(id) = agent.turn.take()
            && let Some(turn) = self.turns.get_mut(&id)
        {
            let runs = turn.running.is_some();
            turn.left = true;
            // A request that is held may also go with its session only.
            if runs || self.random.random_bool(0.5) {
                if !runs {
                    self.turns.remove(&id);
                }
                self.inputs.push_back(Input::Left(id));
            }
        }
        let cleanup = self.random.random_range(0.0..1.0);
        self.after(cleanup, What::Gone(session, exit));
    }

    pub(super) fn gone(&mut self, session: SessionId, exit: Exit) {
        let runs = self.turns.values().any(|turn| turn.session == session && turn.running.is_some());
        if runs {
            return self.after(0.1, What::Gone(session, exit));
        }
        self.turns.retain(|_, turn| turn.session != session);
        self.agents.remove(&session);
        self.inputs.push_back(Input::Exited(session, exit));
    }
}
