//! Which turns run and which are held.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::{Action, Ended, Running, TurnId};

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
    Aborting,
    /// Its attempt was told to end, and nobody waits for it.
    Leaving,
}

#[derive(Debug)]
struct Turn {
    state: State,
    deadline: Instant,
    not_before: Instant,
    pause: Duration,
}

/// Turns in the order in which they may go on.
#[derive(Debug)]
pub(crate) struct Turns {
    limit: usize,
    hold: Duration,
    open: bool,
    turns: HashMap<TurnId, Turn>,
    /// Held turns; those that a closing gate interrupted come first.
    queue: VecDeque<TurnId>,
}

impl Turns {
    pub(crate) fn new(limit: usize, hold: Duration) -> Self {
        Self { limit, hold, open: true, turns: HashMap::new(), queue: VecDeque::new() }
    }

    pub(crate) fn arrive(&mut self, id: TurnId, now: Instant) {
        let turn =
            Turn { state: State::Held, deadline: now + self.hold, not_before: now, pause: FIRST_PAUSE };
        if self.turns.insert(id, turn).is_none() {
            self.queue.push_back(id);
        }
    }

    pub(crate) fn end(&mut self, id: TurnId, ended: Ended, now: Instant) {
        let hold = self.hold;
        let Some(turn) = self.turns.get_mut(&id) else { return };
        match (turn.state, ended) {
            (State::Held, _) => {}
            (State::Leaving, _) | (_, Ended::Over) => {
                self.turns.remove(&id);
            }
            (state, Ended::Aborted { progress }) => {
                let ours = state == State::Aborting;
                turn.state = State::Held;
                turn.not_before = now;
                if progress || ours {
                    turn.deadline = now + hold;
                    turn.pause = FIRST_PAUSE;
                } else {
                    turn.not_before += turn.pause;
                    turn.pause = (turn.pause * 2).min(LAST_PAUSE);
                }
                if ours { self.queue.push_front(id) } else { self.queue.push_back(id) }
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
            State::Aborting | State::Leaving => turn.state = State::Leaving,
        }
    }

    pub(crate) fn close(&mut self, running: Running, out: &mut Vec<Action>) {
        self.open = false;
        if running == Running::Keep {
            return;
        }
        let mut running: Vec<TurnId> =
            self.turns.iter().filter(|(_, turn)| turn.state == State::Running).map(|(id, _)| *id).collect();
        // Aborted attempts return to the head of the queue, so the youngest is told first.
        running.sort_by(|a, b| b.cmp(a));
        for id in running {
            if let Some(turn) = self.turns.get_mut(&id) {
                turn.state = State::Aborting;
            }
            out.push(Action::Abort(id));
        }
    }

    pub(crate) fn open(&mut self) {
        self.open = true;
    }

    /// Expires what waited too long, then dispatches what may go.
    pub(crate) fn advance(&mut self, now: Instant, out: &mut Vec<Action>) {
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
        let mut free = self.limit.saturating_sub(self.running());
        let turns = &mut self.turns;
        self.queue.retain(|id| match turns.get_mut(id) {
            Some(turn) if free > 0 && turn.not_before <= now => {
                free -= 1;
                turn.state = State::Running;
                out.push(Action::Dispatch(*id));
                false
            }
            _ => true,
        });
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let held = self.queue.iter().filter_map(|id| self.turns.get(id));
        let now_free = self.open && self.running() < self.limit;
        held.map(|turn| if now_free { turn.deadline.min(turn.not_before) } else { turn.deadline }).min()
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
