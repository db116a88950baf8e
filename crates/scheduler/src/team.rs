//! The places of a Group.
//!
//! The invariant: a place has at most one live session, and settles once.

use std::time::{Duration, Instant};

use crate::meter::Meter;
use crate::{Action, Exit, GroupId, SessionId, StopCause};

/// One place.
#[derive(Clone, Copy, Debug)]
enum Seat {
    /// No agent yet.
    Empty,
    /// An agent lives.
    Alive(Alive),
    /// Its last session has exited.
    Settled { succeeded: bool },
}

#[derive(Clone, Copy, Debug)]
struct Alive {
    attempt: u32,
    meter: Meter,
    /// How often a closing step aborted an attempt of it.
    aborted: u32,
    /// It was told to end.
    stopped: bool,
}

impl Alive {
    fn fresh(attempt: u32) -> Self {
        Self { attempt, meter: Meter::default(), aborted: 0, stopped: false }
    }
}

/// All places of a Group.
#[derive(Debug)]
pub(crate) struct Team {
    group: GroupId,
    seats: Vec<Seat>,
}

impl Team {
    pub(crate) fn new(group: GroupId, size: usize) -> Self {
        Self { group, seats: vec![Seat::Empty; size] }
    }

    fn name(&self, place: usize, attempt: u32) -> SessionId {
        SessionId { group: self.group, place: place as u32, attempt }
    }

    fn alive(&self) -> impl Iterator<Item = (usize, &Alive)> {
        self.seats.iter().enumerate().filter_map(|(place, seat)| match seat {
            Seat::Alive(alive) => Some((place, alive)),
            _ => None,
        })
    }

    fn alive_mut(&mut self) -> impl Iterator<Item = (usize, &mut Alive)> {
        self.seats.iter_mut().enumerate().filter_map(|(place, seat)| match seat {
            Seat::Alive(alive) => Some((place, alive)),
            _ => None,
        })
    }

    /// Agents that live.
    pub(crate) fn living(&self) -> usize {
        self.alive().count()
    }

    /// Whether every place has been taken.
    pub(crate) fn is_seated(&self) -> bool {
        !self.seats.iter().any(|seat| matches!(seat, Seat::Empty))
    }

    /// Whether nothing is left to happen.
    pub(crate) fn is_settled(&self) -> bool {
        self.seats.iter().all(|seat| matches!(seat, Seat::Settled { .. }))
    }

    /// Whether `needed` sessions succeeded or still may.
    pub(crate) fn can_reach(&self, needed: usize) -> bool {
        let lost =
            self.seats.iter().filter(|seat| matches!(seat, Seat::Settled { succeeded: false })).count();
        self.seats.len() - lost >= needed
    }

    /// Whether `session` is one that lives and was not told to end.
    pub(crate) fn takes_turns(&self, session: SessionId) -> bool {
        matches!(self.seats.get(session.place as usize),
            Some(Seat::Alive(alive)) if alive.attempt == session.attempt && !alive.stopped)
    }

    /// Sessions that live.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.alive().map(|(place, alive)| self.name(place, alive.attempt))
    }

    /// Takes empty places, at most `free`, and says with whom.
    pub(crate) fn launch(&mut self, free: usize, out: &mut Vec<Action>) {
        let group = self.group;
        let empty = self.seats.iter_mut().enumerate().filter(|(_, seat)| matches!(seat, Seat::Empty));
        for (place, seat) in empty.take(free) {
            *seat = Seat::Alive(Alive::fresh(0));
            out.push(Action::Launch(SessionId { group, place: place as u32, attempt: 0 }));
        }
    }

    /// Takes a session's end. A failure that another try may not meet is tried again in the same place,
    /// which never comes free meanwhile. Whether it is news.
    pub(crate) fn exit(
        &mut self,
        session: SessionId,
        exit: Exit,
        retries: u32,
        out: &mut Vec<Action>,
    ) -> bool {
        let Some(seat) = self.seats.get_mut(session.place as usize) else { return false };
        let attempt = match seat {
            Seat::Alive(alive) if alive.attempt == session.attempt => alive.attempt,
            _ => return false,
        };
        if exit == (Exit::Failed { again: true }) && attempt < retries {
            *seat = Seat::Alive(Alive::fresh(attempt + 1));
            out.push(Action::Launch(SessionId { attempt: attempt + 1, ..session }));
        } else {
            *seat = Seat::Settled { succeeded: exit == Exit::Succeeded };
        }
        true
    }

    /// Tells every session to end, and settles places that have none.
    pub(crate) fn stop(&mut self, out: &mut Vec<Action>) {
        let group = self.group;
        for (place, seat) in self.seats.iter_mut().enumerate() {
            match seat {
                Seat::Empty => *seat = Seat::Settled { succeeded: false },
                Seat::Alive(alive) if !alive.stopped => {
                    alive.stopped = true;
                    let session = SessionId { group, place: place as u32, attempt: alive.attempt };
                    out.push(Action::Stop(session, StopCause::Dropped));
                }
                _ => {}
            }
        }
    }

    /// Starts or stops the time of every session.
    pub(crate) fn meter(&mut self, runs: bool, now: Instant) {
        self.alive_mut().for_each(|(_, alive)| alive.meter.set(runs && !alive.stopped, now));
    }

    /// Tells sessions to end that have used up `budget`.
    pub(crate) fn time_out(&mut self, budget: Duration, now: Instant, out: &mut Vec<Action>) {
        let group = self.group;
        for (place, alive) in self.alive_mut() {
            if alive.meter.ends(budget).is_some_and(|end| end <= now) {
                alive.stopped = true;
                alive.meter.set(false, now);
                let session = SessionId { group, place: place as u32, attempt: alive.attempt };
                out.push(Action::Stop(session, StopCause::Timeout));
            }
        }
    }

    /// When the next session has used up `budget`.
    pub(crate) fn wake_at(&self, budget: Duration) -> Option<Instant> {
        self.alive().filter_map(|(_, alive)| alive.meter.ends(budget)).min()
    }

    /// Counts an abort by a closing step.
    pub(crate) fn count_abort(&mut self, session: SessionId) {
        for (place, alive) in self.alive_mut() {
            alive.aborted += u32::from(place == session.place as usize && alive.attempt == session.attempt);
        }
    }

    /// How often closing steps aborted the session that they aborted most.
    pub(crate) fn aborted(&self) -> u32 {
        self.alive().map(|(_, alive)| alive.aborted).max().unwrap_or(0)
    }
}
