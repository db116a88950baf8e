//! The one place where scheduling is decided.

use std::time::{Duration, Instant};

use crate::agents::Agents;
use crate::turns::Turns;
use crate::{Action, Input};

/// What may happen at once, and how long anything may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Attempts that may run at once.
    pub turns: usize,
    /// Agents that may live at once.
    pub agents: usize,
    /// How long a turn may wait for a permit, the gate or a resumption, without progress.
    pub hold: Duration,
}

/// The state machine.
#[derive(Debug)]
pub struct Scheduler {
    turns: Turns,
    agents: Agents,
}

impl Scheduler {
    /// Nothing there yet; the gate is open.
    pub fn new(limits: Limits) -> Self {
        Self { turns: Turns::new(limits.turns, limits.hold), agents: Agents::new(limits.agents) }
    }

    /// Takes `input`, which happened at `now`, and appends what is to be done about it to `out`.
    ///
    /// An input about a turn or agent that is not known is late news and changes nothing.
    pub fn step(&mut self, now: Instant, input: Input, out: &mut Vec<Action>) {
        match input {
            Input::Arrived(turn) => self.turns.arrive(turn, now),
            Input::Ended(turn, ended) => self.turns.end(turn, ended, now),
            Input::Left(turn) => self.turns.leave(turn, out),
            Input::CloseGate(running) => self.turns.close(running, out),
            Input::OpenGate => self.turns.open(),
            Input::Wanted(agent) => self.agents.want(agent),
            Input::Exited(agent) => self.agents.exit(agent),
            Input::Tick => {}
        }
        self.turns.advance(now, out);
        self.agents.advance(out);
    }

    /// When the next [`Input::Tick`] is due, if nothing else happens before.
    pub fn wake_at(&self) -> Option<Instant> {
        self.turns.wake_at()
    }

    /// Attempts that run.
    pub fn running(&self) -> usize {
        self.turns.running()
    }

    /// Turns that wait.
    pub fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    /// Whether the gate is open.
    pub fn is_open(&self) -> bool {
        self.turns.is_open()
    }
}
