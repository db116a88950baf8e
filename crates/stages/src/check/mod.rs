//! Stage C: is this rollout safe to start?
//!
//! The invariant: a verdict is a function of evidence. What is known to be wrong is UNSAFE or NEEDS_CHANGES, what nobody
//! knows is UNVERIFIED, and only where everything that applies is known to be right is it PASS. Nothing is started here.

mod capacity;
mod export;
mod parameters;
mod parsers;
mod report;
mod scale;
mod timeout;
mod verdict;

pub use capacity::{Gate, Load, Need, capacity, required};
pub use export::{Export, export};
pub use parameters::{Parameter, parameters};
pub use parsers::{Traffic, parsers, traffic};
pub use report::{Checked, Hashes, Parts};
pub use scale::{Machine, Widths, scale};
pub use timeout::{Hold, Patience, hold, timeout};
pub use verdict::{Line, Verdict};

use crate::lineage::Topology;

/// Context linearity on integrated traffic: PASS if it is linear, or branches as declared and each branch is exported by
/// name.
pub fn linearity(topology: Option<Topology>, exports: bool, what: &str) -> Line {
    let line = |verdict, what: String, way_out: &str| Line::new(verdict, "Context linearity", what, way_out);
    match (topology, exports) {
        (None, _) => line(
            Verdict::Unverified,
            "no traffic of the integrated agent was assessed".into(),
            "run `verbatim assess ROLLOUT.TOML`",
        ),
        (Some(Topology::Linear), _) => line(Verdict::Pass, format!("linear: {what}"), ""),
        (Some(Topology::Intentional), true) => {
            line(Verdict::Pass, format!("branches are declared and exported by name: {what}"), "")
        }
        (Some(Topology::Intentional), false) => line(
            Verdict::NeedsChanges,
            format!("branches are declared and not exported: {what}"),
            "set reward.contexts = \"several\" and let the agent export each context by name",
        ),
        (Some(Topology::Accidental), _) => line(
            Verdict::NeedsChanges,
            format!("accidental branches: {what}"),
            "the assessment names each cause and its way out",
        ),
        (Some(Topology::Unknown), _) => line(
            Verdict::Unverified,
            format!("the shape of the contexts is unknown: {what}"),
            "declare what is meant (--branches), or record what is missing",
        ),
    }
}
