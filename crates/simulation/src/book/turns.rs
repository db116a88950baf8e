//! What becomes of turns.

use verbatim_scheduler::{Input, Running, TurnId};

use super::{At, Book, Checked, Doing, ensure};

impl Book {
    pub(super) fn dispatch(&mut self, id: TurnId) -> Checked {
        let turn = *self.turns.get(&id).ok_or("an unknown turn was dispatched")?;
        ensure(matches!(turn.doing, Doing::Held { .. }), || {
            format!("{id:?} was dispatched while {:?}", turn.doing)
        })?;
        ensure(self.open, || format!("{id:?} was dispatched through the closed gate"))?;
        let group = self.groups.get(&turn.session.group).ok_or("a turn of no Group was dispatched")?;
        let At::Leased { step, .. } = group.at else {
            return Err(format!("{id:?} was dispatched, its Group {:?}", group.at));
        };
        ensure(self.samples(group), || format!("{id:?} was dispatched after its step was complete"))?;
        ensure(self.is_async() || step == self.step, || {
            format!("{id:?} was dispatched with the stamp {step:?}")
        })?;
        let takes = self.place(turn.session).is_some_and(|place| !place.stopped);
        ensure(takes, || format!("{id:?} was dispatched of a session that is over"))?;
        if let Some(turn) = self.turns.get_mut(&id) {
            turn.doing = Doing::Running;
        }
        Ok(())
    }

    pub(super) fn abort(&mut self, input: &Input, id: TurnId) -> Checked {
        let turn = *self.turns.get(&id).ok_or("an unknown turn was aborted")?;
        let expected = match *input {
            Input::Left(left) if left == id => turn.doing == Doing::Leaving,
            Input::Exited(session, _) if session == turn.session => turn.doing == Doing::Leaving,
            _ => turn.doing == Doing::Running,
        };
        ensure(expected, || format!("{id:?} was aborted while {:?}", turn.doing))?;
        if turn.doing != Doing::Running {
            return Ok(());
        }
        let by_step = *input != Input::CloseGate(Running::Abort);
        if by_step {
            let group = self.groups.get(&turn.session.group);
            let leaving = group.is_none_or(|group| group.is_leaving());
            let closes = !self.takes && !self.is_async();
            ensure(leaving || closes, || format!("{id:?} was aborted and nothing closed"))?;
            let protected = group.is_some_and(|group| group.protected && !group.is_leaving());
            ensure(!protected, || format!("{id:?} was aborted though its Group is protected"))?;
        }
        if let Some(turn) = self.turns.get_mut(&id) {
            turn.doing = Doing::Aborting { by_step };
        }
        Ok(())
    }
}
