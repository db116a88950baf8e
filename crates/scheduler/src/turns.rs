//! Which turns run and which are held.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::admission::Admission;
use crate::{Action, Cost, Ended, Limits, Running, SessionId, TurnId};

/// The shortest pause before a turn whose attempt yielded nothing is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest such pause.
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// What a turn is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It waits, at most until its deadline.
    Held,
    /// An attempt runs.
    Running,
    /// Its attempt was told to end.
    Aborting(Closing),
    /// Its attempt was told to end, and nobody waits for it.
    Leaving,
}

/// What closed on an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The gate.
    Gate,
    /// The trainer's step.
    Step,
}

#[derive(Debug)]
struct Turn {
    state: State,
    session: Option<SessionId>,
    cost: Cost,
    deadline: Instant,
    /// It may go from then on.
    not_before: Instant,
    pause: Duration,
}

/// Turns in the order in which they may go on.
#[derive(Debug)]
pub(crate) struct Turns {
    limits: Limits,
    open: bool,
    /// When it was last decided who goes.
    decided: Option<Instant>,
    turns: BTreeMap<TurnId, Turn>,
    /// Held turns; those that a closing gate interrupted come first.
    queue: VecDeque<TurnId>,
}

impl Turns {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, open: true, decided: None, turns: BTreeMap::new(), queue: VecDeque::new() }
    }

    pub(crate) fn arrive(&mut self, id: TurnId, session: Option<SessionId>, cost: Cost, now: Instant) {
        let deadline = now + self.limits.hold;
        let turn = Turn { state: State::Held, session, cost, deadline, not_before: now, pause: FIRST_PAUSE };
        if self.turns.insert(id, turn).is_none() {
            self.queue.push_back(id);
        }
    }

    /// Takes the end of an attempt. The session, if it was a closing step that aborted it.
    pub(crate) fn end(&mut self, id: TurnId, ended: Ended, now: Instant) -> Option<SessionId> {
        let hold = self.limits.hold;
        let turn = self.turns.get_mut(&id)?;
        match (turn.state, ended) {
            (State::Held, _) => None,
            (State::Leaving, _) | (_, Ended::Over) => {
                self.turns.remove(&id);
                None
            }
            (state, Ended::Aborted { progress }) => {
                let ours = matches!(state, State::Aborting(_));
                turn.state = State::Held;
                turn.not_before = now;
                if progress || ours {
                    turn.deadline = now + hold;
                    turn.pause = FIRST_PAUSE;
                } else {
                    turn.not_before += turn.pause;
                    turn.pause = (turn.pause * 2).min(LAST_PAUSE);
                }
                if ours {
                    self.queue.push_front(id)
                } else {
                    self.queue.push_back(id)
                }
                turn.session.filter(|_| state == State::Aborting(Closing::Step))
            }
        }
    }

    pub(crate) fn leave(&mut self, id: TurnId, out: &mut Vec<Action>) {
        let Some(turn) = self.turns.get_mut(&id) else { return };
        match turn.state {
            State::Held => {
                self.turns.remove(&id);
                self.queue.retain(|held| *held != id);
            }
            State::Running => {
                turn.state = State::Leaving;
                out.push(Action::Abort(id));
            }
            State::Aborting(_) | State::Leaving => turn.state = State::Leaving,
        }
    }

    /// Nobody waits for the turns of a session that is gone.
    pub(crate) fn leave_all(&mut self, session: SessionId, out: &mut Vec<Action>) {
        let of = self.turns.iter().filter(|(_, turn)| turn.session == Some(session));
        for id in of.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.leave(id, out);
        }
    }

    pub(crate) fn close(&mut self, running: Running, out: &mut Vec<Action>) {
        self.open = false;
        if running == Running::Abort {
            self.abort(Closing::Gate, |_| true, out);
        }
    }

    /// Aborts the attempts of those that `closes` names.
    pub(crate) fn abort(
        &mut self,
        closing: Closing,
        closes: impl Fn(Option<SessionId>) -> bool,
        out: &mut Vec<Action>,
    ) {
        // Aborted attempts return to the head of the queue, so the youngest is told first.
        for (id, turn) in self.turns.iter_mut().rev() {
            if turn.state == State::Running && closes(turn.session) {
                turn.state = State::Aborting(closing);
                out.push(Action::Abort(*id));
            }
        }
    }

    pub(crate) fn open(&mut self) {
        self.open = true;
    }

    /// Expires what waited too long, then dispatches what may go.
    pub(crate) fn advance(&mut self, now: Instant, may: impl Fn(SessionId) -> bool, out: &mut Vec<Action>) {
        let turns = &mut self.turns;
        self.queue.retain(|id| {
            let expired = turns.get(id).is_none_or(|turn| turn.deadline <= now);
            if expired && turns.remove(id).is_some() {
                out.push(Action::Expire(*id));
            }
            !expired
        });
        if !self.open {
            return;
        }
        self.decided = Some(now);
        let mut free = self.limits.turns.saturating_sub(self.running());
        let mut admission = Admission::new(self.limits.budget, self.cost());
        let turns = &mut self.turns;
        self.queue.retain(|id| match turns.get_mut(id) {
            Some(turn)
                if free > 0
                    && turn.not_before <= now
                    && turn.session.is_none_or(&may)
                    && admission.admits(turn.cost, turn.not_before, now) =>
            {
                free -= 1;
                turn.state = State::Running;
                out.push(Action::Dispatch(*id));
                false
            }
            _ => true,
        });
    }

    pub(crate) fn wake_at(&self, may: impl Fn(SessionId) -> bool) -> Option<Instant> {
        let held = self.queue.iter().filter_map(|id| self.turns.get(id));
        let free = self.open && self.running() < self.limits.turns;
        // Who could have gone when that was last decided waits for others to end, not for a time.
        let paused = |turn: &Turn| self.decided.is_none_or(|decided| decided < turn.not_before);
        let next = |turn: &Turn| match free && paused(turn) && turn.session.is_none_or(&may) {
            true => turn.deadline.min(turn.not_before),
            false => turn.deadline,
        };
        held.map(next).min()
    }

    /// Sessions that have a request here.
    pub(crate) fn sessions(&self) -> HashSet<SessionId> {
        self.turns.values().filter_map(|turn| turn.session).collect()
    }

    /// Attempts of Groups that run.
    pub(crate) fn running_in_groups(&self) -> usize {
        let run = self.turns.values().filter(|turn| turn.state != State::Held);
        run.filter(|turn| turn.session.is_some()).count()
    }

    /// What the turns that run cost.
    fn cost(&self) -> u64 {
        let run = self.turns.values().filter(|turn| turn.state != State::Held);
        run.fold(0, |sum, turn| sum.saturating_add(turn.cost.0))
    }

    pub(crate) fn running(&self) -> usize {
        self.turns.len() - self.queue.len()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }
}
