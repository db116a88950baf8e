//! Places for sessions outside: sandboxes, browsers, a service's slots.
//!
//! The invariant: the formulae are those of the resident rollout (reference: Relax §12), with this server's numbers: T is
//! `agent.concurrency`, as no more agents live; datasets are evaluated side by side, so that E is the sum of theirs.

use serde::{Deserialize, Serialize};

use super::{Line, Verdict};

/// Sessions that may live at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// That train.
    pub train: u64,
    /// That are evaluated.
    pub eval: u64,
    /// Whether training's sessions live on while there is an evaluation: with `prelaunch`, in `partial`, in `async`.
    pub retained: bool,
}

/// What limits sessions from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Nothing.
    None,
    /// One pool for both; none if nobody says how many places it has.
    Shared(Option<u64>),
    /// A pool for each.
    Dedicated {
        /// For sessions that train.
        train: Option<u64>,
        /// For those that are evaluated.
        eval: Option<u64>,
    },
}

/// How many places are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Of one pool.
    Shared(u64),
    /// Of two.
    Dedicated {
        /// For sessions that train.
        train: u64,
        /// For those that are evaluated.
        eval: u64,
    },
}

impl Need {
    /// In words.
    pub fn told(self) -> String {
        match self {
            Self::Shared(slots) => slots.to_string(),
            Self::Dedicated { train, eval } => format!("train {train}, eval {eval}"),
        }
    }
}

impl Gate {
    /// In words.
    pub fn told(self) -> String {
        let known = |slots: Option<u64>| slots.map_or("unknown".to_owned(), |slots| slots.to_string());
        match self {
            Self::None => "N/A".to_owned(),
            Self::Shared(slots) => known(slots),
            Self::Dedicated { train, eval } => format!("train {}, eval {}", known(train), known(eval)),
        }
    }
}

/// The places that a load needs of a gate; none without one.
pub fn required(load: Load, gate: Gate) -> Option<Need> {
    let Load { train, eval, retained } = load;
    match gate {
        Gate::None => None,
        Gate::Shared(_) => Some(Need::Shared(match (eval, retained) {
            (0, _) => train,
            (eval, false) => train.max(eval),
            (eval, true) => train.saturating_add(eval),
        })),
        Gate::Dedicated { .. } => Some(Need::Dedicated { train, eval }),
    }
}

/// Whether there are enough of them.
pub fn capacity(load: Load, gate: Gate) -> Line {
    let about = "External capacity";
    let Some(need) = required(load, gate) else {
        return Line::new(Verdict::NotApplicable, about, "nothing outside limits sessions", "");
    };
    let short = |slots: Option<u64>, need: u64| match slots {
        // Nothing is needed of a pool that nobody asks.
        _ if need == 0 => Verdict::Pass,
        None => Verdict::Unverified,
        Some(slots) if slots < need => Verdict::Unsafe,
        Some(_) => Verdict::Pass,
    };
    let verdict = match (gate, need) {
        (Gate::Shared(slots), Need::Shared(need)) => short(slots, need),
        (Gate::Dedicated { train, eval }, Need::Dedicated { train: trains, eval: evals }) => {
            Verdict::of_all([short(train, trains), short(eval, evals)])
        }
        _ => Verdict::Unverified,
    };
    let what = format!("{} slots are needed, and there are {}", need.told(), gate.told());
    let way_out = match verdict {
        Verdict::Unsafe => {
            let evals = match load.eval {
                0 => String::new(),
                eval => format!(" or eval.concurrency (together {eval})"),
            };
            format!("give it {} slots, or lower agent.concurrency (now {}){evals}", need.told(), load.train)
        }
        Verdict::Unverified => "say how many there are: --slots N, or --slots N --eval-slots M".to_owned(),
        _ => String::new(),
    };
    Line::new(verdict, about, what, way_out)
}
