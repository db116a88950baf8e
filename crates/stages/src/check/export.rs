//! Which contexts become rows, who gives them credit, and whether the trainer can batch them.
//!
//! The invariant: the table of the resident rollout (reference: Relax §13); a session with several contexts trains only
//! with explicit export, an advantage function, and batches by tokens.

use serde::{Deserialize, Serialize};

use super::{Line, Verdict};
use crate::lineage::Topology;

/// What is known of export, credit and batching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The shape of the agent's contexts; none if nothing was assessed.
    pub topology: Option<Topology>,
    /// Whether sessions export several contexts (`reward.contexts = "several"`).
    pub several: bool,
    /// Whether there is a `reward.advantage`.
    pub advantage: bool,
    /// Whether a reward is known to come: `reward.session`, `reward.group`, or one that an agent was seen to give.
    pub rewarded: Option<bool>,
    /// Whether the trainer makes batches by tokens; none if nobody says.
    pub dynamic: Option<bool>,
    /// Whether rows have a bound (`rollout.max_seq_len`, or `engine.max_context`).
    pub bounded: bool,
}

/// Judges them.
pub fn export(export: Export) -> Vec<Line> {
    let line = |about: &str, verdict, what: &str, way_out: &str| {
        Line::new(verdict, format!("Export/advantage/batching, {about}"), what, way_out)
    };
    let contexts = match (export.topology, export.several) {
        (None, _) => {
            line("export", Verdict::Unverified, "nothing was assessed", "run `verbatim assess ROLLOUT.TOML`")
        }
        (Some(Topology::Linear), false) => line("export", Verdict::Pass, "one linear context, implicit", ""),
        (Some(Topology::Linear | Topology::Intentional), true) => {
            line("export", Verdict::Pass, "contexts are exported by name", "")
        }
        (Some(Topology::Intentional), false) => line(
            "export",
            Verdict::NeedsChanges,
            "several contexts, and no explicit export",
            "set reward.contexts = \"several\" and let the agent export them, or one of them",
        ),
        (Some(Topology::Accidental), _) => line(
            "export",
            Verdict::NeedsChanges,
            "branches that nobody meant would be rows, or be dropped",
            "linearise the agent first: the assessment says how",
        ),
        (Some(Topology::Unknown), _) => line(
            "export",
            Verdict::Unverified,
            "the shape of the contexts is unknown",
            "assess the agent again",
        ),
    };
    let credit = match (export.rewarded, export.several, export.advantage) {
        (_, true, false) => line(
            "credit",
            Verdict::NeedsChanges,
            "several contexts, and nothing says how credit is shared",
            "name a function under reward.advantage",
        ),
        (_, _, true) => line("credit", Verdict::Pass, "reward.advantage gives it", ""),
        (Some(true), ..) => line("credit", Verdict::Pass, "rewards come", ""),
        (Some(false), ..) => line(
            "credit",
            Verdict::NeedsChanges,
            "the agent gave no reward, and no function does",
            "let the agent write reward into $VERBATIM_OUTPUT_JSON, or set reward.session",
        ),
        (None, ..) => line(
            "credit",
            Verdict::Unverified,
            "no reward was seen, and no function gives one",
            "run `verbatim assess ROLLOUT.TOML`, or set reward.session",
        ),
    };
    let batching = match (export.several, export.dynamic, export.bounded) {
        (false, _, _) => line("batching", Verdict::Pass, "a row a session: any batching does", ""),
        (true, Some(true), true) => line("batching", Verdict::Pass, "by tokens, and rows are bounded", ""),
        (true, Some(true), false) => line(
            "batching",
            Verdict::NeedsChanges,
            "by tokens, and rows have no bound",
            "set rollout.max_seq_len to the trainer's budget",
        ),
        (true, Some(false), _) => line(
            "batching",
            Verdict::NeedsChanges,
            "sessions differ in their rows, and batches are counted in rows",
            "let the trainer make batches by tokens",
        ),
        (true, None, _) => line(
            "batching",
            Verdict::Unverified,
            "sessions differ in their rows, and how the trainer batches is unknown",
            "declare it: --batching tokens, or --batching rows",
        ),
    };
    vec![contexts, credit, batching]
}
