//! What one agent will do.

use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use verbatim_scheduler::TurnId;

use crate::Setup;

/// One turn of an agent's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) tokens: u64,
    /// The tool call after it.
    pub(crate) tool: Duration,
}

/// What an agent comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It ends with a result after its last turn.
    Good,
    /// It dies before this turn.
    Dies(usize),
    /// It never takes this turn.
    Hangs(usize),
    /// It ends well without one request.
    ExitsEarly,
}

/// An agent that lives.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) parts: Vec<Part>,
    pub(crate) at: usize,
    pub(crate) fate: Fate,
    /// Its request.
    pub(crate) turn: Option<TurnId>,
    /// Tokens of the turns before.
    pub(crate) context: u64,
    /// It is ending, and asks for nothing more.
    pub(crate) ending: bool,
}

impl Agent {
    pub(crate) fn drawn(setup: &Setup, random: &mut ChaCha8Rng) -> Self {
        let workload = &setup.workload;
        let turns = workload.turns.draw(random).ceil().max(1.0) as usize;
        let part = |random: &mut ChaCha8Rng| Part {
            tokens: workload.tokens.draw(random).ceil().max(1.0) as u64,
            tool: workload.tool.seconds(random),
        };
        let parts: Vec<_> = (0..turns).map(|_| part(random)).collect();
        let faults = &setup.faults;
        let fate = if random.random_bool(faults.agent_dies) {
            Fate::Dies(random.random_range(0..turns))
        } else if random.random_bool(faults.agent_hangs) {
            Fate::Hangs(random.random_range(0..turns))
        } else if random.random_bool(faults.agent_exits_early) {
            Fate::ExitsEarly
        } else {
            Fate::Good
        };
        Self { parts, at: 0, fate, turn: None, context: 0, ending: false }
    }
}
