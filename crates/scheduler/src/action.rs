//! What goes into the scheduler and what comes out.

use std::num::NonZeroUsize;

use crate::{Cost, DropCause, GroupId, SessionId, Stand, Step, TurnId, Unwanted};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A turn's prompt is ready. A turn of no Group names no session: the gate alone holds it.
    Arrived(TurnId, Option<SessionId>, Cost),
    /// A dispatched attempt of a turn is over.
    Ended(TurnId, Ended),
    /// A turn's client or session is gone, whatever the turn is doing. If an attempt runs, its
    /// [`Input::Ended`] still follows.
    Left(TurnId),
    /// No attempt may start, whoever's it is.
    CloseGate(Running),
    /// Attempts may start.
    OpenGate,
    /// An earlier rollout stood there, and this one goes on. It changes nothing once a step was opened.
    Resume(Stand),
    /// The trainer wants the next step's Groups: so many, or a batch as the rules have it. In mode async it is
    /// always a batch, for which the room ahead is reckoned. While a step is open or draining it changes nothing.
    OpenStep(Option<NonZeroUsize>),
    /// The weights that sample from now on have been trained up to this step.
    Trained(Step),
    /// A session's processes are gone and its turns are over: only now may its result be seen.
    Exited(SessionId, Exit),
    /// The Group's rewards and advantages are there.
    Scored(GroupId),
    /// The Group's result is not wanted, or cannot be had.
    Discard(GroupId, Unwanted),
    /// There is no task for the Group, and there will be none for later ones.
    Exhausted(GroupId),
    /// No Group begins from now on, and those that no step has taken are dropped.
    Interrupt,
    /// Time has passed.
    Tick,
}

/// What becomes of attempts that run when the gate closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// They are aborted; their turns are held.
    Abort,
    /// They go on: the engine freezes or finishes them.
    Keep,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The turn is over, well or badly.
    Over,
    /// The attempt was aborted; the turn wants to go on.
    Aborted {
        /// Whether the attempt sampled anything.
        progress: bool,
    },
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With a result.
    Succeeded,
    /// Without one.
    Failed {
        /// Whether another try may not meet the failure.
        again: bool,
    },
}

/// Why a session is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// Its Group was dropped.
    Dropped,
    /// It used up its active time.
    Timeout,
}

/// Something for the shell to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start an attempt of the turn.
    Dispatch(TurnId),
    /// Abort the turn's running attempt and report its end.
    Abort(TurnId),
    /// The turn was held too long: fail it. It is forgotten here.
    Expire(TurnId),
    /// A Group begins: take the next task for it, or answer [`Input::Exhausted`].
    Begin(GroupId),
    /// Start an agent in a session of its own, and report its end with [`Input::Exited`].
    Launch(SessionId),
    /// End the session's processes and turns; its [`Input::Exited`] still follows.
    Stop(SessionId, StopCause),
    /// Every session of the Group has its first request there.
    Ready(GroupId),
    /// From now on the Group samples for this step. Told again of a Group that goes on in a later one.
    Lease(GroupId, Step),
    /// The Group's sessions count as protected: no closing step aborts them any more.
    Protect(GroupId),
    /// Enough of the Group's sessions succeeded, and none is left: find its rewards and advantages, and answer
    /// [`Input::Scored`] or [`Input::Discard`]. It takes up no room and no agent meanwhile; a Group that is
    /// dropped before it was answered for wants no answer.
    Score(GroupId),
    /// The Group was scored, and waits for its step.
    Finalise(GroupId),
    /// The Group belongs to the open step.
    Accept {
        /// The Group.
        group: GroupId,
        /// The step.
        step: Step,
        /// Whether the step is complete with it. A step that closes short, because no Group can come, has
        /// no last one.
        is_last: bool,
    },
    /// The Group yields nothing; all its sessions have exited.
    Dropped(GroupId, DropCause),
    /// So many Groups in a row failed: no other is likely to succeed. What follows is that of
    /// [`Input::Interrupt`].
    GaveUp(u32),
    /// The step is open. Leases for it follow, and only then attempts.
    StepOpened {
        /// The step.
        step: Step,
        /// The Groups that it is to have.
        size: usize,
    },
    /// The step is complete, and what it had to wait for is over.
    StepClosed(Step),
}
