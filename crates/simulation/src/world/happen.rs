//! What happens by itself.

use rand::Rng;
use verbatim_scheduler::{Input, TurnId};

use super::{What, World};

impl World<'_> {
    pub(super) fn happen(&mut self, what: What) {
        match what {
            What::Ask(session) => self.ask(session),
            What::Ends(session, exit) => self.ends(session, exit),
            What::Gone(session, exit) => self.gone(session, exit),
            What::Sampled(turn, attempt) => {
                if self.runs(turn, attempt) {
                    self.complete(turn);
                }
            }
            What::Fails(turn, attempt) => {
                if self.runs(turn, attempt) {
                    let keep = self.random.random_bool(0.5);
                    self.interrupt(turn, keep);
                }
            }
            What::Aborted(turn, attempt) => {
                let finishes = self.setup.faults.abort_finishes;
                if self.runs(turn, attempt) {
                    if self.chance(finishes) { self.complete(turn) } else { self.interrupt(turn, true) }
                }
            }
            What::Retries(id) => {
                if let Some(turn) = self.turns.get_mut(&id)
                    && !turn.left
                {
                    turn.left = true;
                    let (session, runs) = (turn.session, turn.running.is_some());
                    if !runs {
                        self.turns.remove(&id);
                    }
                    self.inputs.push_back(Input::Left(id));
                    if let Some(agent) = self.agents.get_mut(&session) {
                        agent.turn = None;
                    }
                    self.after(1.0, What::Ask(session));
                }
            }
            What::Trained(step) => {
                self.inputs.push_back(Input::CloseGate(self.setup.trainer.running));
                let seconds = self.setup.trainer.update.draw(&mut self.random);
                self.after(seconds, What::Updated(step));
            }
            What::Updated(step) => {
                self.inputs.push_back(Input::Trained(step));
                if !self.is_async {
                    self.inputs.push_back(Input::OpenStep(None));
                }
                self.inputs.push_back(Input::OpenGate);
                if let Some(next) = self.trainer.done() {
                    self.train(next);
                }
            }
            What::Restart => {
                let running: Vec<_> = self.turns.iter().filter(|(_, turn)| turn.running.is_some()).collect();
                for turn in running.into_iter().map(|(id, _)| *id).collect::<Vec<_>>() {
                    self.interrupt(turn, true);
                }
                self.after(self.setup.faults.restart_every.max(20.0), What::Restart);
            }
            What::Pause => {
                self.inputs.push_back(Input::CloseGate(self.setup.trainer.running));
                self.after(2.0, What::Unpause);
                self.after(self.setup.faults.pause_every.max(10.0), What::Pause);
            }
            What::Unpause => self.inputs.push_back(Input::OpenGate),
            What::Scored(group) => self.inputs.push_back(Input::Scored(group)),
            What::Discards(group, why) => self.inputs.push_back(Input::Discard(group, why)),
            What::Interrupt => self.inputs.push_back(Input::Interrupt),
        }
    }

    pub(super) fn runs(&self, turn: TurnId, attempt: u64) -> bool {
        self.turns.get(&turn).is_some_and(|turn| turn.running.is_some() && turn.attempts == attempt)
    }
}
