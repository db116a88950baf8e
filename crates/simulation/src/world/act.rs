//! What the scheduler wants.

use rand::Rng;
use verbatim_scheduler::{Action, DropCause, Exit, Input, Step, StopCause, TurnId, Unwanted};

use super::{What, World};
use crate::agent::Agent;
use crate::engine::Attempt;

impl World<'_> {
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Begin(group) => match self.tasks.checked_sub(1) {
                Some(left) => self.tasks = left,
                None => {
                    self.without_task.insert(group);
                    self.inputs.push_back(Input::Exhausted(group));
                }
            },
            Action::Launch(session) => {
                if !self.without_task.contains(&session.group) {
                    let agent = Agent::drawn(self.setup, &mut self.random);
                    self.agents.insert(session, agent);
                    let start = self.setup.workload.start.draw(&mut self.random);
                    self.after(start, What::Ask(session));
                    let dies = self.setup.faults.agent_dies;
                    if self.chance(dies) {
                        let when = self.random.random_range(0.0..200.0);
                        self.after(when, What::Ends(session, Exit::Failed { again: true }));
                    }
                }
            }
            Action::Stop(session, cause) => {
                let again = cause == StopCause::Timeout;
                let grace = self.random.random_range(0.0..5.0);
                self.after(grace, What::Ends(session, Exit::Failed { again }));
            }
            Action::Dispatch(turn) => self.dispatch(turn),
            Action::Abort(turn) => {
                self.measured.aborted += 1;
                let late = self.setup.faults.abort_late;
                let grace = if self.chance(late) { self.random.random_range(1.0..20.0) } else { 0.01 };
                if let Some(attempts) = self.turns.get_mut(&turn).map(|turn| {
                    if let Some(attempt) = &mut turn.running {
                        attempt.aborting = true;
                    }
                    turn.attempts
                }) {
                    self.after(grace, What::Aborted(turn, attempts));
                }
            }
            Action::Expire(turn) => {
                if let Some(turn) = self.turns.remove(&turn) {
                    self.ends(turn.session, Exit::Failed { again: true });
                }
            }
            Action::Accept { group, .. } => {
                self.measured.accepted += 1;
                self.measured.useful_tokens += self.tokens.remove(&group).unwrap_or(0);
                self.measured.staleness = self.measured.staleness.max(self.book.lag);
            }
            Action::Dropped(group, cause) => {
                // What was on its way to be scored may still say so, late.
                self.tokens.remove(&group);
                match cause {
                    DropCause::Surplus => self.measured.surplus += 1,
                    DropCause::Unwanted(_) => self.measured.unwanted += 1,
                    _ => self.measured.dropped += 1,
                }
            }
            Action::StepOpened { step, .. } => {
                if step > Step(1) {
                    self.measured.cycles.push(self.now - self.opened);
                }
                self.opened = self.now;
            }
            Action::StepClosed(step) => self.closed(step),
            Action::Lease(group, _) => {
                let discards = self.setup.faults.discards;
                if self.chance(discards) {
                    let when = self.random.random_range(0.0..60.0);
                    self.after(when, What::Discards(group, Unwanted::Discarded));
                }
            }
            Action::Score(group) => {
                let seconds = self.setup.workload.score.draw(&mut self.random);
                let (fails, filters) = (self.setup.faults.score_fails, self.setup.faults.filters);
                let what = if self.chance(fails) {
                    What::Discards(group, Unwanted::NotScored)
                } else if self.chance(filters) {
                    What::Discards(group, Unwanted::Filtered)
                } else {
                    What::Scored(group)
                };
                self.after(seconds, what);
            }
            Action::GaveUp(_) => self.measured.gave_up += 1,
            Action::Ready(_) | Action::Protect(_) | Action::Finalise(_) => {}
        }
    }

    pub(super) fn dispatch(&mut self, id: TurnId) {
        let (fails, now) = (self.setup.faults.attempt_fails, self.now);
        let fails = self.chance(fails);
        let fraction = self.random.random::<f64>();
        let Some(turn) = self.turns.get_mut(&id) else { return };
        turn.attempts += 1;
        turn.running = Some(Attempt { since: now, aborting: false });
        let (rest, attempts) = (turn.rest(&self.setup.workload), turn.attempts);
        if fails {
            self.at(now + rest.mul_f64(fraction), What::Fails(id, attempts));
        } else {
            self.at(now + rest, What::Sampled(id, attempts));
        }
    }

    pub(super) fn closed(&mut self, step: Step) {
        self.measured.steps.push(self.now - self.opened);
        self.measured.took = self.now;
        self.measured.capacity = self.now * self.setup.permits as u32;
        if let Some(step) = self.trainer.take(step) {
            self.train(step);
        }
        if self.is_async {
            self.inputs.push_back(Input::OpenStep(None));
        }
    }

    pub(super) fn train(&mut self, step: Step) {
        let seconds = self.setup.trainer.train.draw(&mut self.random);
        self.after(seconds, What::Trained(step));
    }
}
