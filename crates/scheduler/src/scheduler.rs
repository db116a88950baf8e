//! The one place where scheduling is decided.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::group::DropCause;
use crate::resident::Resident;
use crate::turns::{Closing, Turns};
use crate::{Action, Budget, Input, Rules, SessionId};

/// What may happen at once, and how long anything may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Attempts that may run at once.
    pub turns: usize,
    /// Tokens that may be at the engine at once; `None`: no attempt waits for others' tokens.
    pub budget: Option<Budget>,
    /// How long a turn may wait for a permit, the gate, its Group or a resumption, without progress.
    pub hold: Duration,
}

/// The state machine.
#[derive(Debug)]
pub struct Scheduler {
    turns: Turns,
    resident: Option<Resident>,
}

impl Scheduler {
    /// Nothing there yet; the gate is open, and there are no Groups.
    pub fn new(limits: Limits) -> Self {
        Self { turns: Turns::new(limits), resident: None }
    }

    /// The same, with Groups to come once a step is opened.
    pub fn resident(limits: Limits, rules: Rules) -> Self {
        Self { resident: Some(Resident::new(rules)), ..Self::new(limits) }
    }

    /// Takes `input`, which happened at `now`, and appends what is to be done about it to `out`.
    ///
    /// An input about a turn, session or Group that is not known is late news and changes nothing.
    pub fn step(&mut self, now: Instant, input: Input, out: &mut Vec<Action>) {
        match input {
            Input::Arrived(turn, session, cost) => self.turns.arrive(turn, session, cost, now),
            Input::Ended(turn, ended) => {
                let aborted = self.turns.end(turn, ended, now);
                if let (Some(session), Some(resident)) = (aborted, &mut self.resident) {
                    resident.aborted(session);
                }
            }
            Input::Left(turn) => self.turns.leave(turn, out),
            Input::CloseGate(running) => self.turns.close(running, out),
            Input::OpenGate => self.turns.open(),
            Input::Exited(session, _) => self.turns.leave_all(session, out),
            _ => {}
        }
        if let Some(resident) = &mut self.resident {
            match input {
                Input::Resume(stand) => resident.resume(stand),
                Input::OpenStep(groups) => resident.open(groups, out),
                Input::Trained(step) => resident.trained(step),
                Input::Exited(session, exit) => resident.exit(session, exit, out),
                Input::Scored(group) => resident.scored(group, out),
                Input::Discard(group, why) => resident.discard(group, DropCause::Unwanted(why), out),
                Input::Exhausted(group) => resident.exhaust(group),
                Input::Interrupt => resident.interrupt(out),
                _ => {}
            }
            let waiting = if resident.is_warming() { self.turns.sessions() } else { HashSet::new() };
            if resident.advance(now, &waiting, out) {
                let closes = |session: Option<SessionId>| {
                    session.is_some_and(|session| !resident.is_protected(session))
                };
                self.turns.abort(Closing::Step, closes, out);
            }
            resident.drain(self.turns.running_in_groups(), out);
            resident.meter(self.turns.is_open(), now);
        }
        let resident = &self.resident;
        let may = |session| resident.as_ref().is_some_and(|resident| resident.may_run(session));
        self.turns.advance(now, may, out);
    }

    /// When the next [`Input::Tick`] is due, if nothing else happens before.
    pub fn wake_at(&self) -> Option<Instant> {
        let resident = &self.resident;
        let may = |session| resident.as_ref().is_some_and(|resident| resident.may_run(session));
        let groups = resident.as_ref().and_then(Resident::wake_at);
        self.turns.wake_at(may).into_iter().chain(groups).min()
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

    /// The Groups that the open step still needs.
    pub fn debt(&self) -> usize {
        self.resident.as_ref().map_or(0, Resident::debt)
    }

    /// Groups of which something lives or may. One that is being scored is not among them.
    pub fn groups(&self) -> usize {
        self.resident.as_ref().map_or(0, Resident::resident)
    }

    /// Whether no step can come any more.
    pub fn is_over(&self) -> bool {
        self.resident.as_ref().is_none_or(Resident::is_over)
    }
}
