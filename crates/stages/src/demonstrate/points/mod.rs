//! The nine points (reference: Relax §13), each with its evidence.
//!
//! The invariant: a point that is no PASS says what would make it one.

mod groups;
mod sessions;
mod training;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::{Line, Verdict};
use crate::log::{Entry, SessionLog, sessions};

/// What was left of the run on this machine and outside, once it was over; none where nobody looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Processes of its own.
    pub processes: Option<usize>,
    /// Folders of agents.
    pub folders: Option<usize>,
    /// Slots outside that were in use before, and after.
    pub slots: Option<(usize, usize)>,
}

/// What the points are judged by, besides the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Whether groups have a barrier.
    pub barrier: bool,
    /// Whether the agent declares tools; none if nobody knows.
    pub tools: Option<bool>,
    /// Whether sessions export several contexts by name.
    pub several: bool,
    /// Whether groups may be dropped by a filter or an advantage function.
    pub filters: bool,
    /// `sync`, `partial` or `async`.
    pub mode: String,
    /// Whether there are datasets to evaluate on.
    pub evals: bool,
    /// Sessions at once that the soak must reach; none if the load is far below every width.
    pub soak: Option<u64>,
    /// Rows by session, as they were delivered; none if nobody can read them here.
    pub rows: Option<BTreeMap<String, usize>>,
    /// What was left.
    pub left: Left,
}

struct Points<'l> {
    log: &'l [Entry],
    sessions: BTreeMap<String, SessionLog>,
    proof: &'l Proof,
}

/// Judges a run.
pub fn points(log: &[Entry], proof: &Proof) -> Vec<Line> {
    let points = Points { log, sessions: sessions(log), proof };
    let each: [(&str, Judged); 9] = [
        ("1 barrier", points.barrier()),
        ("2 tool loop", points.tool_loop()),
        ("3 lineage", points.lineage()),
        ("4 forest commits", points.commits()),
        ("5 export, reward, advantage", points.credit()),
        ("6 cleanup", points.cleanup()),
        ("7 transfer and optimizer step", points.optimizer()),
        ("8 partial rollout, evaluation", points.overlap()),
        ("9 scale", points.scale()),
    ];
    let line =
        |(about, Judged { verdict, what, way_out }): (&str, Judged)| Line::new(verdict, about, what, way_out);
    each.into_iter().map(line).collect()
}

/// What is said of a point.
struct Judged {
    verdict: Verdict,
    what: String,
    way_out: String,
}

fn pass(what: impl Into<String>) -> Judged {
    Judged { verdict: Verdict::Pass, what: what.into(), way_out: String::new() }
}

fn not_applicable(what: impl Into<String>) -> Judged {
    Judged { verdict: Verdict::NotApplicable, what: what.into(), way_out: String::new() }
}

fn open(what: impl Into<String>, way_out: impl Into<String>) -> Judged {
    Judged { verdict: Verdict::Unverified, what: what.into(), way_out: way_out.into() }
}

fn wrong(what: impl Into<String>, way_out: impl Into<String>) -> Judged {
    Judged { verdict: Verdict::Unsafe, what: what.into(), way_out: way_out.into() }
}

/// What to do about rows that are not there, or not those of this run.
const KEEP: &str =
    "let the job keep every row as it comes, in $VERBATIM_ROWS, or say where they are: --rows FOLDER";

impl Points<'_> {
    fn turned(&self) -> impl Iterator<Item = (&String, &SessionLog)> {
        self.sessions.iter().filter(|(_, session)| !session.turns.is_empty())
    }

    /// What to do where nothing was seen.
    fn unseen(&self) -> &'static str {
        match self.log.is_empty() {
            true => "the job left no event: let it open the rollout file that $VERBATIM_ROLLOUT names",
            false => "`verbatim diagnose BUNDLE` names the first broken link",
        }
    }
}
