//! What comes of turns.

use verbatim_scheduler::{Ended, Exit, Input, TurnId};

use super::{What, World};

impl World<'_> {
    /// A turn has all its tokens.
    pub(super) fn complete(&mut self, id: TurnId) {
        let Some(turn) = self.turns.remove(&id) else { return };
        let rest = turn.tokens - turn.sampled;
        self.measured.sampled_tokens += rest;
        self.inputs.push_back(Input::Ended(id, Ended::Over));
        if turn.left {
            return;
        }
        *self.tokens.entry(turn.session.group).or_default() += turn.tokens;
        let Some(agent) = self.agents.get_mut(&turn.session) else { return };
        agent.turn = None;
        let Some(part) = agent.parts.get(agent.at).copied() else { return };
        agent.at += 1;
        agent.context += part.tokens;
        if agent.at == agent.parts.len() {
            self.ends(turn.session, Exit::Succeeded);
        } else {
            self.at(self.now + part.tool, What::Ask(turn.session));
        }
    }

    /// A turn's attempt ends before its end.
    pub(super) fn interrupt(&mut self, id: TurnId, keep: bool) {
        let (workload, now) = (&self.setup.workload, self.now);
        let Some(turn) = self.turns.get_mut(&id) else { return };
        let sampled = turn.so_far(workload, now);
        self.measured.sampled_tokens += sampled;
        if keep {
            turn.sampled += sampled;
        }
        let progress = keep && sampled > 0;
        if keep && turn.sampled == turn.tokens {
            // Nothing is left to sample: it is over, whatever the engine says.
            self.measured.sampled_tokens -= sampled;
            turn.sampled -= sampled;
            return self.complete(id);
        }
        turn.running = None;
        // A turn that nobody waits for wants no other attempt.
        let ended = if turn.left { Ended::Over } else { Ended::Aborted { progress } };
        if turn.left {
            self.turns.remove(&id);
        }
        self.inputs.push_back(Input::Ended(id, ended));
    }
}
