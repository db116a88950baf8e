//! Where a sampled turn meets what follows it.
//!
//! The invariant: the junction is legal whatever the model ended on, nothing is written twice, and
//! whoever made a token keeps it.

use verbatim_tokens::Runs;

use super::{End, Native, Page};
use crate::script::Written;
use crate::{Extension, Junction, Repair, Source, StartState};

impl Native {
    /// Ends a sampled turn as the template ends it: a model never samples the newline after its end
    /// token (Miles §4.2), and a turn that was cut has no end token either.
    pub(super) fn end_sampled(&self, junction: Junction<'_>, page: &mut Page<'_>) -> Option<Repair> {
        let last = junction.sampled.last().filter(|last| self.stop.contains(last));
        match self.table.end {
            End::Token(end, after) => {
                let repair = match last {
                    Some(last) if *last == self.stop[0] => None,
                    Some(last) => Some(Repair::OtherStop(*last)),
                    None => Some(Repair::EndAdded),
                };
                if repair.is_some() {
                    page.frame(end);
                }
                page.frame(after);
                repair
            }
            // The next opener ends the turn, whatever it was that the model sampled.
            End::Opener(_) => match last {
                Some(last) if self.openers.contains(last) => None,
                Some(last) => Some(Repair::OtherStop(*last)),
                None => Some(Repair::EndAdded),
            },
            End::Either(said, _) => {
                // A call's end is what history has, and so is the end of a message after which the turn
                // was cut.
                if junction
                    .sampled
                    .last()
                    .is_some_and(|last| self.ends.is_some_and(|ends| ends.contains(last)))
                {
                    return None;
                }
                page.frame(said);
                match last {
                    Some(last) if *last == self.stop[0] => None,
                    Some(last) => Some(Repair::OtherStop(*last)),
                    None => Some(Repair::EndAdded),
                }
            }
        }
    }

    /// Puts what was rendered after the turn. Where turns have no end of their own, the stop token
    /// that was sampled stays if it is the opener that follows, and else makes way for it; where they
    /// have one of two, it stays if it is the one after calls.
    pub(super) fn join(
        &self,
        junction: Junction<'_>,
        written: Written,
        start: StartState,
        repair: Option<Repair>,
    ) -> Extension {
        let Written { mut ids, mut sources, mut images } = written;
        let last = junction.sampled.last().copied().filter(|last| self.stop.contains(last));
        let makes_way = match (self.table.end, last) {
            (End::Token(..), _) | (_, None) => false,
            (End::Opener(_), Some(_)) => true,
            (End::Either(..), Some(last)) => self.ends.is_some_and(|[_, called]| last != called),
        };
        let mut trim = usize::from(makes_way);
        if trim == 1 && !self.openers.is_empty() && ids.first().copied() == last {
            trim = 0;
            ids.remove(0);
            sources = without_first(&sources);
            images.iter_mut().for_each(|image| image.start -= 1);
        }
        Extension { trim, ids, sources, images, start, repair }
    }
}

/// Runs without their first token.
pub(crate) fn without_first(sources: &Runs<Source>) -> Runs<Source> {
    let mut rest = Runs::default();
    let mut first = 1;
    for (source, count) in sources.iter() {
        rest.extend(*source, count - first);
        first = 0;
    }
    rest
}
