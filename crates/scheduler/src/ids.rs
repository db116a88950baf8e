//! Names of what is scheduled.

/// A turn, named by the shell; names are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub u64);

/// A Group, named by the scheduler in the order in which Groups begin, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u64);

/// One try of one place in a Group: an agent's process and its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId {
    /// The Group.
    pub group: GroupId,
    /// The place, counted from 0.
    pub place: u32,
    /// The try, counted from 0.
    pub attempt: u32,
}

/// A step of the trainer, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step(pub u64);
