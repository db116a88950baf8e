//! What becomes of each sampled span over all rows of a session.

use std::collections::HashMap;

use verbatim_events::{Cause, NodeId};
use verbatim_forest::{Forest, Segment};
use verbatim_tokens::MaskCause;

use crate::Unowned;

/// The spans of a forest, each owned by the first row that holds it.
pub(crate) struct Spans {
    owned: Vec<bool>,
    /// How many tokens of a span train nowhere, by cause.
    lost: HashMap<NodeId, [(MaskCause, usize); 3]>,
}

impl Spans {
    pub(crate) fn of(forest: &Forest) -> Self {
        Self { owned: vec![false; forest.nodes().len()], lost: HashMap::new() }
    }

    /// Passes a span of which a row holds the first `held` tokens; says whether that row owns it.
    pub(crate) fn pass(&mut self, segment: &Segment<'_>, held: usize) -> bool {
        let Some(generation) = segment.node.generation() else { return false };
        // A row that replaces the whole span has none of it to own.
        let owner = !self.owned[segment.id.0 as usize];
        if owner {
            self.owned[segment.id.0 as usize] = segment.kept > 0;
            let silent = generation.sampled.logprobs().iter().take(held).filter(Option::is_none).count();
            let lost = [
                (MaskCause::NoLogprob, silent),
                (MaskCause::Truncated, segment.kept - held),
                (MaskCause::Trimmed, generation.sampled.len() - segment.kept),
            ];
            self.lost.insert(segment.id, lost);
        }
        owner
    }

    /// Every sampled token that trains nowhere; `absent` is why a turn is in no row.
    pub(crate) fn unowned(&self, forest: &Forest, absent: &Cause) -> Vec<Unowned> {
        let turns = forest.nodes().filter_map(|(node, body)| Some((node, body.generation()?)));
        turns
            .flat_map(|(node, turn)| match self.lost.get(&node) {
                Some(lost) => {
                    lost.iter().map(|(mask, tokens)| (node, Cause::Masked { mask: *mask }, *tokens)).collect()
                }
                None => vec![(node, absent.clone(), turn.sampled.len())],
            })
            .filter(|(_, _, tokens)| *tokens > 0)
            .map(|(node, cause, tokens)| Unowned { node, tokens, cause })
            .collect()
    }
}
