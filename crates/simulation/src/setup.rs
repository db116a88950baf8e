//! What is simulated.

use std::num::NonZeroU32;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use verbatim_scheduler::{Asked, Budget, Running};

use crate::Tail;

/// One simulation.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What everything is drawn from.
    pub seed: u64,
    /// How Groups are rolled out.
    pub asked: Asked,
    /// Attempts that the engine runs at once.
    pub permits: usize,
    /// Tokens that the engine holds at once.
    pub budget: Option<Budget>,
    /// How long a turn may be held.
    pub hold: Duration,
    /// Tasks that there are.
    pub tasks: usize,
    /// What agents do.
    pub workload: Workload,
    /// What the trainer does.
    pub trainer: Trainer,
    /// What goes wrong.
    pub faults: Faults,
}

/// What agents do: start, then take turns with a tool call after each but the last.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Seconds from an agent's start to its first request.
    pub start: Tail,
    /// Turns.
    pub turns: Tail,
    /// Tokens of a turn.
    pub tokens: Tail,
    /// Seconds of a tool call.
    pub tool: Tail,
    /// Seconds from a Group's last exit to its rewards.
    pub score: Tail,
    /// Tokens a second of one attempt, however many run.
    pub rate: f64,
    /// Seconds of an attempt before its first token, for each token that was there before it.
    pub prefill: f64,
}

/// What the trainer does with a step.
#[derive(Clone, Copy, Debug)]
pub struct Trainer {
    /// Seconds that it trains.
    pub train: Tail,
    /// Seconds in which the engines take the weights, with the gate closed.
    pub update: Tail,
    /// What becomes of attempts meanwhile.
    pub running: Running,
}

/// How likely what goes wrong is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A session's agent dies at some turn, and as likely at some time.
    pub agent_dies: f64,
    /// A session's agent hangs at some turn.
    pub agent_hangs: f64,
    /// A session's agent ends before its first request.
    pub agent_exits_early: f64,
    /// An attempt ends without an end of its own, with or without tokens.
    pub attempt_fails: f64,
    /// An abort takes seconds.
    pub abort_late: f64,
    /// An aborted attempt ends as a finished turn.
    pub abort_finishes: f64,
    /// A request's client goes away and asks again.
    pub client_retries: f64,
    /// A Group's result is not wanted, whatever it is doing.
    pub discards: f64,
    /// A Group's rewards cannot be had.
    pub score_fails: f64,
    /// A filter does not want a scored Group.
    pub filters: f64,
    /// Seconds between the engine's restarts; 0 is never.
    pub restart_every: f64,
    /// Seconds between pauses from outside; 0 is never.
    pub pause_every: f64,
    /// Seconds until the rollout is interrupted; 0 is never.
    pub interrupt_at: f64,
}

impl Setup {
    /// A small rollout of any kind, drawn from `seed`: what the invariants are tested with.
    pub fn drawn(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let random = &mut random;
        let group_size = random.random_range(1..=4usize);
        let batch = random.random_range(1..=4usize);
        let steps = random.random_range(1..=4u64);
        let mode = ["sync", "partial", "async"][random.random_range(0..3)];
        let is_async = mode == "async";
        let barrier = random.random_bool(0.8).then(|| Duration::from_secs(random.random_range(20..90)));
        let least = if barrier.is_some() { group_size } else { 1 };
        let over_sampling = if is_async { 0 } else { random.random_range(0..=3) };
        let mut asked = Asked {
            mode: mode.into(),
            staleness: is_async.then(|| random.random_range(0..=2)),
            max_aborted_count: (mode == "partial" && random.random_bool(0.6))
                .then(|| random.random_range(1..=2)),
            group_size,
            needed: if random.random_bool(0.7) { group_size } else { random.random_range(1..=group_size) },
            retries: random.random_range(0..=2),
            batch,
            over_sampling,
            resident: random.random_range(1..=2 * (batch + over_sampling)),
            agents: random.random_range(least..=3 * group_size * batch),
            prelaunch: barrier.is_some() && random.random_bool(0.5),
            barrier,
            agent_time: Duration::from_secs(random.random_range(60..400)),
            steps: random.random_bool(0.8).then_some(steps),
            give_up: None,
        };
        let enough = batch * steps as usize;
        let tasks =
            if random.random_bool(0.5) { 40 * (enough + 4) } else { random.random_range(1..=enough + 2) };
        let budget = random.random_bool(0.4).then(|| Budget {
            tokens: random.random_range(100..4000),
            patience: Duration::from_secs(random.random_range(0..60)),
        });
        // Drawn last of what is asked, so that seeds keep their other draws.
        asked.give_up = random.random_bool(0.3).then(|| random.random_range(1..=4)).and_then(NonZeroU32::new);
        let faults = if random.random_bool(0.25) { Faults::default() } else { Faults::drawn(random) };
        Self {
            seed,
            asked,
            permits: random.random_range(1..=8),
            budget,
            hold: Duration::from_secs(random.random_range(120..2000)),
            tasks: if steps == 4 && random.random_bool(0.5) { tasks } else { tasks.min(enough + 20) },
            workload: Workload {
                start: Tail { median: 2.0, sigma: 0.8, most: 60.0 },
                turns: Tail { median: 2.0, sigma: 0.5, most: 6.0 },
                tokens: Tail { median: 60.0, sigma: 1.0, most: 2000.0 },
                tool: Tail { median: 2.0, sigma: 1.0, most: 60.0 },
                score: Tail { median: 4.0, sigma: 1.5, most: 200.0 },
                rate: 20.0,
                prefill: 0.001,
            },
            trainer: Trainer {
                train: Tail { median: 20.0, sigma: 0.5, most: 120.0 },
                update: Tail { median: 3.0, sigma: 0.5, most: 20.0 },
                running: if random.random_bool(0.5) { Running::Abort } else { Running::Keep },
            },
            faults,
        }
    }
}

impl Faults {
    fn drawn(random: &mut ChaCha8Rng) -> Self {
        let mut some = |most: f64| if random.random_bool(0.5) { random.random_range(0.0..most) } else { 0.0 };
        Self {
            agent_dies: some(0.3),
            agent_hangs: some(0.2),
            agent_exits_early: some(0.2),
            attempt_fails: some(0.3),
            abort_late: some(0.5),
            abort_finishes: some(0.5),
            client_retries: some(0.3),
            discards: some(0.3),
            score_fails: some(0.3),
            filters: some(0.3),
            restart_every: some(200.0),
            pause_every: some(30.0),
            interrupt_at: some(600.0),
        }
    }
}
