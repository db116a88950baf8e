//! What the scheduler is told.

use std::time::Duration;

use verbatim_scheduler::{Ended, Exit, Input, SessionId, TurnId};

use super::{At, Book, Doing, Turn};

impl Book {
    /// Time passes up to `now`, then `input` happens.
    pub(crate) fn input(&mut self, now: Duration, input: &Input) {
        let passed = now - self.time;
        self.time = now;
        if self.open {
            let active: Vec<_> =
                self.groups.iter().filter(|(_, g)| self.samples(g)).map(|(id, _)| *id).collect();
            for id in active {
                let places = self.groups.get_mut(&id).map(|group| group.places.as_mut_slice());
                let run = places.into_iter().flatten().filter(|place| place.alive && !place.stopped);
                run.for_each(|place| place.active += passed);
            }
        }
        match *input {
            Input::Arrived(turn, Some(session), cost) => {
                let (doing, since) = (Doing::Held { paused: false }, now);
                self.turns.insert(turn, Turn { session, cost, doing, since });
            }
            Input::Ended(turn, ended) => self.ended(turn, ended),
            Input::Left(turn) => self.left(turn),
            Input::CloseGate(_) => self.open = false,
            Input::OpenGate => self.open = true,
            Input::Trained(step) => self.trained = self.trained.max(step),
            Input::Exited(session, exit) => self.exited(session, exit),
            Input::Exhausted(group) => {
                self.dry = true;
                self.groups.remove(&group);
                self.over.insert(group);
            }
            Input::Interrupt => self.interrupt(),
            Input::Scored(group) => {
                if let Some(At::Scoring { scored, .. }) =
                    self.groups.get_mut(&group).map(|group| &mut group.at)
                {
                    *scored = true;
                }
            }
            Input::Discard(group, why) => {
                self.unwanted.insert((group, why));
                let unfinished =
                    self.groups.get_mut(&group).filter(|g| !matches!(g.at, At::Finalised { .. }));
                unfinished.into_iter().for_each(|group| group.stopped = true);
            }
            Input::Arrived(_, None, _) | Input::Resume(_) | Input::OpenStep(_) | Input::Tick => {}
        }
    }

    /// No Group begins any more, and none that is unfinished goes on.
    pub(super) fn interrupt(&mut self) {
        (self.interrupted, self.dry) = (true, true);
        let unfinished = self.groups.values_mut().filter(|g| !matches!(g.at, At::Finalised { .. }));
        unfinished.for_each(|group| group.stopped = true);
    }

    pub(super) fn ended(&mut self, id: TurnId, ended: Ended) {
        let Some(turn) = self.turns.get_mut(&id) else { return };
        let by_step = turn.doing == Doing::Aborting { by_step: true };
        let ours = matches!(turn.doing, Doing::Aborting { .. });
        if turn.doing == Doing::Leaving || ended == Ended::Over {
            self.turns.remove(&id);
            return;
        }
        let progress = ended == Ended::Aborted { progress: true };
        turn.doing = Doing::Held { paused: !ours && !progress };
        turn.since = self.time;
        let session = turn.session;
        if by_step && let Some(place) = self.place(session) {
            place.aborts += 1;
        }
    }

    pub(super) fn left(&mut self, id: TurnId) {
        match self.turns.get_mut(&id) {
            Some(Turn { doing: Doing::Held { .. }, .. }) => {
                self.turns.remove(&id);
            }
            Some(turn) => turn.doing = Doing::Leaving,
            None => {}
        }
    }

    pub(super) fn exited(&mut self, session: SessionId, exit: Exit) {
        let of: Vec<_> =
            self.turns.iter().filter(|(_, turn)| turn.session == session).map(|(id, _)| *id).collect();
        of.into_iter().for_each(|turn| self.left(turn));
        let Some(place) = self.place(session) else { return };
        place.alive = false;
        place.succeeded = exit == Exit::Succeeded;
        if let Some(group) = self.groups.get_mut(&session.group)
            && matches!(group.at, At::Warming | At::Ready)
        {
            if group.at == At::Ready {
                (group.at, group.seated) = (At::Warming, None);
            }
            if let Some(place) = group.places.get_mut(session.place as usize) {
                place.succeeded = false;
            }
        }
    }
}
