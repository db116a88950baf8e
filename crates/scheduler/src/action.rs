//! What goes into the scheduler and what comes out.

/// A turn, named by the shell; names are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub u64);

/// An agent process, named by the shell; names are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(pub u64);

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A turn's prompt is ready.
    Arrived(TurnId),
    /// A dispatched attempt of a turn is over.
    Ended(TurnId, Ended),
    /// A turn's client or session is gone, whatever the turn is doing. If an attempt runs, its
    /// [`Input::Ended`] still follows.
    Left(TurnId),
    /// No attempt may start.
    CloseGate(Running),
    /// Attempts may start.
    OpenGate,
    /// An agent is ready to be started.
    Wanted(AgentId),
    /// An agent's processes are gone, or it is no longer wanted.
    Exited(AgentId),
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

/// Something for the shell to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start an attempt of the turn.
    Dispatch(TurnId),
    /// Abort the turn's running attempt and report its end.
    Abort(TurnId),
    /// The turn was held too long: fail it. It is forgotten here.
    Expire(TurnId),
    /// Start the agent.
    Launch(AgentId),
}
