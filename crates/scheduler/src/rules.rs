//! How Groups are rolled out, checked before anything runs.

use std::num::NonZeroU32;
use std::time::Duration;

/// How rollout and training take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A step's end drops what is not finished.
    Sync,
    /// A step's end aborts attempts; their turns are held and go on in the next step.
    Partial {
        /// A Group of which a session was aborted so often is aborted no more, and its step waits for it.
        max_aborted_count: Option<u32>,
    },
    /// Groups go on while the trainer trains.
    Async {
        /// How many steps may lie between the weights that a Group began with and those that its step
        /// is trained on.
        staleness: u64,
    },
}

/// What is asked for, setting by setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `sync`, `partial` or `async`.
    pub mode: String,
    /// Only for `async`; 0 if it is not given.
    pub staleness: Option<u64>,
    /// Only for `partial`.
    pub max_aborted_count: Option<u32>,
    /// Sessions a Group.
    pub group_size: usize,
    /// Sessions of a Group that must succeed.
    pub needed: usize,
    /// How often a failed session is run again, as a new one.
    pub retries: u32,
    /// Groups a step.
    pub batch: usize,
    /// Groups that run beyond the step's, so that it need not wait for the slowest.
    pub over_sampling: usize,
    /// Groups that may be there at once.
    pub resident: usize,
    /// Agents that may live at once.
    pub agents: usize,
    /// Whether Groups warm up before a step has room for them.
    pub prelaunch: bool,
    /// How long a Group may take, from its last agent's start, until all its first requests are there;
    /// `None`: Groups run without a barrier.
    pub barrier: Option<Duration>,
    /// How long an agent may be active: time in which its Group may sample.
    pub agent_time: Duration,
    /// How many steps there are; `None` is no end.
    pub steps: Option<u64>,
    /// After how many failed Groups in a row the rollout ends; `None`: it goes on.
    pub give_up: Option<NonZeroU32>,
}

/// Settings that exclude each other, or exclude every rollout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// No such mode.
    #[error("mode: {0:?} is none of sync, partial, async")]
    Mode(String),
    /// A count that must not be 0.
    #[error("{0}: 0 of them make no rollout")]
    Zero(&'static str),
    /// Staleness without its mode.
    #[error("staleness is of mode async only: in sync and partial the trainer waits for its step")]
    StalenessOutsideAsync,
    /// Protection without aborts to protect from.
    #[error("max_aborted_count is of mode partial only: no other aborts and resumes at a step's end")]
    ProtectionOutsidePartial,
    /// Two ways of running ahead.
    #[error("over_sampling is not of mode async: there, staleness says how many Groups run ahead")]
    OverSamplingInAsync,
    /// Nothing to warm up behind.
    #[error("prelaunch needs a barrier (barrier_seconds): Groups that warm up are held at it")]
    PrelaunchWithoutBarrier,
    /// A barrier that no Group can cross.
    #[error(
        "a Group of {group_size} sessions crosses its barrier only with {group_size} agents alive, and {agents} may live"
    )]
    BarrierBeyondAgents {
        /// Sessions a Group.
        group_size: usize,
        /// Agents at once.
        agents: usize,
    },
    /// More successes than sessions.
    #[error("{needed} sessions cannot succeed in a Group of {group_size}")]
    NeededBeyondGroup {
        /// Sessions that must succeed.
        needed: usize,
        /// Sessions a Group.
        group_size: usize,
    },
}

/// Settings that can be together. Made by [`Rules::new`] only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    mode: Mode,
    asked: Asked,
}

impl Rules {
    /// Checks what is asked for.
    ///
    /// # Errors
    /// [`RulesError`], naming what excludes what.
    pub fn new(asked: Asked) -> Result<Self, RulesError> {
        let counts = [
            ("group_size", asked.group_size),
            ("batch", asked.batch),
            ("resident", asked.resident),
            ("agents", asked.agents),
            ("needed", asked.needed),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(RulesError::Zero(name));
        }
        let mode = match asked.mode.as_str() {
            "sync" => Mode::Sync,
            "partial" => Mode::Partial { max_aborted_count: asked.max_aborted_count },
            "async" => Mode::Async { staleness: asked.staleness.unwrap_or(0) },
            _ => return Err(RulesError::Mode(asked.mode)),
        };
        let is_async = matches!(mode, Mode::Async { .. });
        if asked.staleness.is_some() && !is_async {
            return Err(RulesError::StalenessOutsideAsync);
        }
        if asked.max_aborted_count.is_some() && !matches!(mode, Mode::Partial { .. }) {
            return Err(RulesError::ProtectionOutsidePartial);
        }
        if asked.over_sampling > 0 && is_async {
            return Err(RulesError::OverSamplingInAsync);
        }
        if asked.prelaunch && asked.barrier.is_none() {
            return Err(RulesError::PrelaunchWithoutBarrier);
        }
        let (group_size, agents, needed) = (asked.group_size, asked.agents, asked.needed);
        if asked.barrier.is_some() && agents < group_size {
            return Err(RulesError::BarrierBeyondAgents { group_size, agents });
        }
        if needed > group_size {
            return Err(RulesError::NeededBeyondGroup { needed, group_size });
        }
        Ok(Self { mode, asked })
    }

    /// How rollout and training take turns.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The settings.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Whether `step` is the last one.
    pub(crate) fn is_final(&self, step: crate::Step) -> bool {
        self.asked.steps.is_some_and(|steps| step.0 >= steps)
    }
}
