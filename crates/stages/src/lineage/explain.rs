//! From a request that is no append to its cause.
//!
//! The invariant: what a client says of its own agents comes first, then tools and template arguments, then the line
//! that has most in common with the request, compared message by message.

use std::sync::Arc;

use verbatim_chat::{Message, Role};

use super::cause::{of_message, of_setup};
use super::past::Past;
use super::trace::{Judge, agree};
use super::{Cause, Difference, Projected};

/// New messages that may stand in place of old ones, and the old ones still be found behind them.
const INSERTED: usize = 3;
/// A shorter text of a reply says nothing about where it comes from.
const TELLING: usize = 8;

/// What was found.
pub(super) struct Explained {
    pub(super) cause: Cause,
    pub(super) difference: Option<Difference>,
    pub(super) tools_stable: bool,
    pub(super) template_stable: bool,
}

/// Explains a request. `other_agent`: its client says that it is another agent's than all before.
pub(super) fn explain(
    sent: &Projected,
    pasts: &[Past],
    other_agent: bool,
    judge: &Judge<'_>,
) -> Option<Explained> {
    let messages = &sent.messages;
    let whole = |past: &&Past| {
        let path: Vec<&Message> = past.path().collect();
        (past.reply.is_some() && judge.prefix(&path, messages) == path.len())
            || agree(judge, &past.prompt, messages)
    };
    let setup = pasts.iter().rev().filter(|past| past.setup != sent.setup).find(whole);
    let shared = |past: &Past| judge.prefix(&past.path().collect::<Vec<_>>(), messages);
    let closest = setup.or_else(|| {
        pasts
            .iter()
            .max_by_key(|past| (shared(past), usize::from(past.setup == sent.setup), past.path().count()))
    })?;
    let path: Vec<&Message> = closest.path().collect();
    let at = judge.prefix(&path, messages);
    let drift = of_setup(&closest.setup, &sent.setup);
    let cause = if other_agent {
        Cause::IndependentContext
    } else if let (Some(_), Some(drift)) = (setup, drift) {
        drift
    } else {
        Lines { path: &path, sent: messages, at, judge }.cause(pasts, drift.is_none(), sent.parsed)
    };
    Some(Explained {
        cause,
        difference: (setup.is_none()).then(|| Difference::new(at, path.get(at).copied(), messages.get(at))),
        tools_stable: closest.setup.tools == sent.setup.tools,
        template_stable: closest.setup.template == sent.setup.template,
    })
}

/// A stored line and a request that part at `at`.
struct Lines<'l> {
    path: &'l [&'l Message],
    sent: &'l [Message],
    at: usize,
    judge: &'l Judge<'l>,
}

impl Lines<'_> {
    fn cause(&self, pasts: &[Past], same_setup: bool, parsed: bool) -> Cause {
        let (stored, sent) = (self.path.get(self.at).copied(), self.sent.get(self.at));
        let (Some(stored), Some(sent)) = (stored, sent) else {
            return match stored.map(|message| message.role) {
                None => Cause::Branched,
                Some(Role::Tool) => Cause::ToolResultDropped,
                Some(_) => Cause::HistoryTrimmed,
            };
        };
        // What is only left out explains more than another order does, where two messages say the same.
        if let Some(cause) = self.replaced(0, parsed) {
            return cause;
        }
        if self.is_permuted() {
            return Cause::Reordered;
        }
        if let Some(cause) = self.replaced(INSERTED, parsed) {
            return cause;
        }
        match (stored.role, sent.role) {
            (Role::Assistant, Role::Assistant) => {
                of_message(stored, sent, parsed).unwrap_or(Cause::AssistantRewritten)
            }
            _ if same_setup && carries(pasts, self.path, self.sent, self.at) => Cause::Compaction,
            (Role::Assistant, _) => Cause::AssistantDropped,
            (Role::Tool, Role::Tool) if stored.tool_call_id == sent.tool_call_id => {
                of_message(stored, sent, parsed).unwrap_or(Cause::HistoryRewritten)
            }
            (Role::Tool, _) => Cause::ToolResultDropped,
            _ if self.shares_later(same_setup) => match stored.role {
                Role::System => Cause::SystemChanged,
                _ => of_message(stored, sent, parsed).unwrap_or(Cause::HistoryRewritten),
            },
            (Role::User, Role::User) if self.path.len() == self.at + 2 && same_words(stored, sent) => {
                Cause::SerialisationDrift
            }
            _ => Cause::IndependentContext,
        }
    }

    /// A result answers one call, whatever it says.
    fn same(&self, stored: &Message, sent: &Message) -> bool {
        let other = |(a, b): (&String, &String)| a != b;
        !stored.tool_call_id.as_ref().zip(sent.tool_call_id.as_ref()).is_some_and(other)
            && self.judge.same(stored, sent)
    }

    /// Whether all that is left of the line is in the request, in another order.
    fn is_permuted(&self) -> bool {
        let mut left = &self.path[self.at..];
        // The reply to the other order is in no request.
        if let Some((reply, asked)) = left.split_last()
            && reply.role == Role::Assistant
            && !self.sent[self.at..].iter().any(|sent| self.same(reply, sent))
        {
            left = asked;
        }
        let mut places = Vec::new();
        for stored in left {
            let place = (self.at..self.sent.len())
                .find(|place| !places.contains(place) && self.same(stored, &self.sent[*place]));
            match place {
                Some(place) => places.push(place),
                None => return false,
            }
        }
        left.len() > 1 && !places.is_sorted()
    }

    /// Where the end of the line is in the request behind at most `most` new messages, what became of the part before.
    fn replaced(&self, most: usize, parsed: bool) -> Option<Cause> {
        let (path, sent, at) = (self.path, self.sent, self.at);
        let fits = |dropped: usize, new: usize| {
            let (tail, rest) = (&path[at + dropped..], sent.get(at + new..).unwrap_or_default());
            !tail.is_empty()
                && rest.len() >= tail.len()
                && tail.iter().zip(rest).all(|(a, b)| self.same(a, b))
        };
        let pairs = (0..path.len() - at).flat_map(|dropped| (0..=most).map(move |new| (dropped, new)));
        let (dropped, new) = pairs.filter(|(dropped, new)| dropped + new > 0).find(|(d, n)| fits(*d, *n))?;
        let gone = &path[at..at + dropped];
        let all = |role: Role| gone.iter().all(|message| message.role == role);
        Some(match (dropped, new) {
            (0, _) => Cause::HistoryRewritten,
            (_, _) if all(Role::System) => Cause::SystemChanged,
            (_, 0) if all(Role::Assistant) => Cause::AssistantDropped,
            (_, 0) if all(Role::Tool) => Cause::ToolResultDropped,
            (_, 0) => Cause::HistoryTrimmed,
            (dropped, new)
                if dropped == new && gone.iter().zip(&sent[at..]).all(|(a, b)| a.role == b.role) =>
            {
                let mut each = gone.iter().zip(&sent[at..]).filter_map(|(a, b)| of_message(a, b, parsed));
                each.next().unwrap_or(Cause::HistoryRewritten)
            }
            (1, _) if all(Role::Assistant) => Cause::AssistantDropped,
            (1, _) if all(Role::Tool) => Cause::ToolResultDropped,
            (1, _) => Cause::HistoryRewritten,
            _ => Cause::Compaction,
        })
    }

    /// Whether a turn of the line stands somewhere behind the place where it parts.
    fn shares_later(&self, same_setup: bool) -> bool {
        let later = |role: Role| self.path[self.at..].iter().filter(move |message| message.role == role);
        let told = &self.sent[self.at..];
        let turns = later(Role::Assistant).any(|stored| told.iter().any(|sent| self.same(stored, sent)));
        // Instructions that change before there is a turn: the question is the same.
        let questions = same_setup
            && self.at == 0
            && later(Role::User).any(|stored| told.iter().any(|sent| self.same(stored, sent)));
        turns || questions
    }
}

fn same_words(stored: &Message, sent: &Message) -> bool {
    let words = |message: &Message| message.content.text().split_whitespace().collect::<Vec<_>>().join(" ");
    words(stored) == words(sent)
}

/// Whether a request holds what was replied elsewhere: a summary. A turn that it leaves out and quotes is none.
fn carries(pasts: &[Past], path: &[&Message], sent: &[Message], at: usize) -> bool {
    let replies = pasts.iter().filter_map(|past| past.reply.as_ref()).map(Arc::as_ref);
    let elsewhere = replies.filter(|reply| !path[..=at].contains(reply));
    let texts: Vec<String> = elsewhere
        .map(|reply| reply.content.text().trim().to_owned())
        .filter(|text| text.len() >= TELLING)
        .collect();
    sent[at..].iter().any(|message| texts.iter().any(|text| message.content.text().contains(text.as_str())))
}
