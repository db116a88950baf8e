//! The recorded agents as they sent: no change is ours, and what each should be follows from what it was told to do.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use verbatim_chat::{LooseReplay, Matcher, Strict};
use verbatim_stages::lineage::{Declared, Topology, trace};
use verbatim_stages::recording::Recording;

use crate::recorded::recordings;

/// What a recording's name says that its agent was let do: more than one context, or less than a conversation.
const OTHERWISE: [&str; 3] = ["_quirk", "compaction", "subagent"];

fn told(recording: &Recording, matcher: &dyn Matcher) -> (Topology, String) {
    let lineage = trace(recording, matcher, Declared::Nothing);
    let causes: BTreeSet<&str> = lineage
        .steps
        .iter()
        .filter(|step| step.is_branch())
        .filter_map(|step| Some(step.cause?.name()))
        .collect();
    let causes: Vec<_> = causes.into_iter().map(|cause| format!("`{cause}`")).collect();
    let causes = if causes.is_empty() { String::new() } else { format!(": {}", causes.join(", ")) };
    (lineage.topology, format!("{}{causes}", lineage.topology.name()))
}

/// What audits say of each recording.
pub(crate) fn section() -> String {
    let all = recordings();
    let (mut conversations, mut tolerant, mut strict) = (0, 0, 0);
    let mut rows = String::new();
    for (name, recording) in &all {
        let (loose, loosely) = told(recording, &LooseReplay);
        let (close, closely) = told(recording, &Strict);
        if !OTHERWISE.iter().any(|other| name.starts_with(other)) {
            conversations += 1;
            tolerant += usize::from(loose == Topology::Linear);
            strict += usize::from(close == Topology::Linear);
        }
        writeln!(rows, "| `{name}` | {loosely} | {closely} |").unwrap();
    }
    format!(
        "\n## Agents as they sent\n\n{} recordings, none of them changed. {conversations} are of agents that were let hold one conversation, retries of failed requests\nincluded: a tolerant session calls {tolerant} of them linear, a strict one {strict}. The causes of the others are their clients' own: what they\nask beside the conversation, and how they spell it when they send it again. The rest were let summarise, delegate, or do what\ntheir name says.\n\n| Recording | Tolerant | Strict |\n|---|---|---|\n{rows}",
        all.len()
    )
}
