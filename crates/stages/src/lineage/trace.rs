//! The audit: request after request, against all that was committed before.
//!
//! The invariant: only a reply that is known to have come whole is committed, and only before a request that came after
//! its end; a request goes on from the longest committed beginning that it has.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use verbatim_chat::{Arguments, Matcher, Message, Role, Verdict};

use super::cause::aspects;
use super::explain::{Explained, explain};
use super::past::Past;
use super::project::project;
use super::{Action, Cause, Finding, Intent, Projected, Step, Topology, Transition};
use crate::recording::{Exchange, Outcome, Recording};

/// What the agent's author says of its branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Declared {
    /// Nothing.
    #[default]
    Nothing,
    /// They are meant, and exported by name. An accident stays one.
    Branches,
}

/// How the requests of a recording hang together.
#[derive(Clone, Debug, Serialize)]
pub struct Lineage {
    /// Each request.
    pub steps: Vec<Step>,
    /// What a request had that a row has not, or has otherwise.
    pub findings: BTreeSet<Finding>,
    /// Requests that had their whole reply.
    pub turns: usize,
    /// Lines of turns.
    pub contexts: usize,
    /// Whether the recording says when replies ended, without which requests side by side are not told from forks.
    pub timed: bool,
    /// The shape.
    pub topology: Topology,
}

/// Headers by which clients name their agents.
const AGENTS: [&str; 3] = ["x-claude-code-agent-id", "x-session-id", "x-codex-agent-id"];

/// Whether two messages are the same for a session.
pub(super) struct Judge<'m> {
    matcher: &'m dyn Matcher,
    parsed: bool,
}

impl Judge<'_> {
    pub(super) fn same(&self, stored: &Message, sent: &Message) -> bool {
        // Where the dialect has no spelling of arguments, none is looked at.
        let verdict = match self.parsed && stored.role == Role::Assistant {
            true => self.matcher.judge(&unspelled(stored), &unspelled(sent)),
            false => self.matcher.judge(stored, sent),
        };
        verdict != Verdict::Different
    }

    /// How many messages two conversations have in common at their beginning.
    pub(super) fn prefix(&self, stored: &[&Message], sent: &[Message]) -> usize {
        stored.iter().zip(sent).take_while(|(stored, sent)| self.same(stored, sent)).count()
    }
}

fn unspelled(message: &Message) -> Message {
    let mut message = message.clone();
    for call in &mut message.tool_calls {
        if let Some(value) = call.arguments.parsed() {
            // Keys in one order, as a map that forgets theirs would have them.
            let mut value = value.into_owned();
            value.sort_all_objects();
            call.arguments = Arguments::Json(value);
        }
    }
    message
}

/// Whether a stored prompt and a request's messages are the same.
pub(super) fn agree(judge: &Judge<'_>, stored: &[Arc<Message>], sent: &[Message]) -> bool {
    stored.len() == sent.len() && stored.iter().zip(sent).all(|(stored, sent)| judge.same(stored, sent))
}

/// A request that was read, whatever came of it.
struct Asked<'r> {
    request: usize,
    agent: Option<&'r str>,
    projected: Projected,
    outcome: &'r Outcome,
}

struct Trace<'r> {
    matcher: &'r dyn Matcher,
    declared: Declared,
    pasts: Vec<Past>,
    asked: Vec<Asked<'r>>,
    contexts: usize,
}

/// Where a request goes on from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    Root,
    Prompt(usize),
    Reply(usize),
}

/// Audits a recording as a session with this matcher would see it.
pub fn trace(recording: &Recording, matcher: &dyn Matcher, declared: Declared) -> Lineage {
    let mut findings = BTreeSet::new();
    let mut trace = Trace { matcher, declared, pasts: Vec::new(), asked: Vec::new(), contexts: 0 };
    let mut steps = Vec::new();
    for (request, exchange) in recording.exchanges.iter().enumerate() {
        steps.push(match project(exchange, &trace.pasts, &mut findings) {
            Ok(projected) => trace.step(request, exchange, projected),
            Err(problem) => trace.unread(request, problem),
        });
    }
    let count = |is: fn(&Outcome) -> bool| {
        recording.exchanges.iter().filter(|exchange| is(&exchange.outcome)).count()
    };
    let turns = count(|outcome| matches!(outcome, Outcome::Replied(_)));
    let unknown = count(|outcome| *outcome == Outcome::Unknown);
    Lineage {
        topology: Topology::of(&steps, turns, unknown, trace.contexts),
        contexts: trace.contexts,
        timed: recording
            .exchanges
            .iter()
            .all(|exchange| exchange.arrived.is_some() && exchange.ended.is_some()),
        steps,
        findings,
        turns,
    }
}

impl<'r> Trace<'r> {
    fn step(&mut self, request: usize, exchange: &'r Exchange, projected: Projected) -> Step {
        let judge = Judge { matcher: self.matcher, parsed: projected.parsed };
        let agent = AGENTS.iter().find_map(|name| exchange.header(name));
        let point = self.point(&projected, exchange.arrived, agent, &judge);
        let again = self.asked.iter().filter(|asked| {
            asked.agent == agent
                && asked.projected.setup == projected.setup
                && asked.projected.messages == projected.messages
        });
        let again: Vec<&Outcome> = again.map(|asked| asked.outcome).collect();
        let mut transition = self.transition(point, exchange.arrived);
        let failed = |outcome: &&&Outcome| matches!(outcome, Outcome::Refused(_) | Outcome::Left);
        let retried = match (again.len(), again.iter().filter(failed).count()) {
            (0, _) => None,
            (all, failed) if all == failed => Some(Cause::RetriedFailure),
            _ => Some(Cause::Resent),
        };
        let straight = matches!(transition, Transition::Start | Transition::Append);
        // A request that failed committed nothing: put again, it is what it would have been. What branched then,
        // branches now.
        let retried = retried.filter(|cause| straight || *cause != Cause::RetriedFailure);
        if retried.is_some() {
            transition = Transition::Retry;
        }
        let known = self.asked.iter().any(|asked| asked.agent == agent);
        let explained = (!straight && retried.is_none())
            .then(|| explain(&projected, &self.pasts, !known && agent.is_some(), &judge))
            .flatten();
        let unknown = matches!(point, Point::Prompt(past) if self.pasts[past].unknown);
        let mut step = self.made(request, &projected, transition, point, retried, explained);
        if unknown && step.cause != Some(Cause::RetriedFailure) {
            // The reply that it may repeat was not recorded: nobody knows whether it does.
            (step.cause, step.intent, step.action) = (None, Intent::Unknown, Action::Investigate);
            step.problem = Some("the reply that it goes on from is not in the recording".to_owned());
        }
        self.commit(&mut step, exchange, &projected, point, agent);
        step
    }

    /// The longest committed beginning of a request. Where several are as long (agents that begin alike), its own
    /// agent's, then one that nothing goes on from, then the latest.
    fn point(&self, sent: &Projected, arrived: Option<f64>, agent: Option<&str>, judge: &Judge<'_>) -> Point {
        let mut best = ((0, false, false, false), Point::Root);
        for (at, past) in self.pasts.iter().enumerate().filter(|(_, past)| past.setup == sent.setup) {
            let prompt: Vec<&Message> = past.prompt.iter().map(AsRef::as_ref).collect();
            if prompt.is_empty() || judge.prefix(&prompt, &sent.messages) < prompt.len() {
                continue;
            }
            let own = past.agent.as_deref() == agent;
            let free = !self.has_child(at);
            let over = past.during.zip(arrived).is_none_or(|((_, ended), arrived)| ended <= arrived);
            let next = sent.messages.get(prompt.len());
            let repeats = past.reply.as_ref().zip(next).is_some_and(|(reply, next)| judge.same(reply, next));
            let (rank, point) = match over && repeats {
                true => ((prompt.len() + 1, true, own, free), Point::Reply(at)),
                false => ((prompt.len(), false, own, free), Point::Prompt(at)),
            };
            if rank >= best.0 {
                best = (rank, point);
            }
        }
        best.1
    }

    fn has_child(&self, at: usize) -> bool {
        self.pasts.iter().any(|past| past.parent == Some(at))
    }

    fn transition(&self, point: Point, arrived: Option<f64>) -> Transition {
        let during = |past: &Past| {
            past.during.zip(arrived).is_some_and(|((from, to), arrived)| from <= arrived && arrived < to)
        };
        let beside = match point {
            Point::Root => self.pasts.iter().any(|past| past.parent.is_none() && during(past)),
            Point::Prompt(at) => during(&self.pasts[at]),
            Point::Reply(at) => self.pasts.iter().any(|past| past.parent == Some(at) && during(past)),
        };
        match point {
            Point::Root if self.pasts.is_empty() => Transition::Start,
            Point::Reply(at) if !self.has_child(at) => Transition::Append,
            _ if beside => Transition::ConcurrentSibling,
            Point::Root => Transition::Reset,
            Point::Prompt(_) | Point::Reply(_) => Transition::Fork,
        }
    }

    fn made(
        &self,
        request: usize,
        sent: &Projected,
        transition: Transition,
        point: Point,
        retried: Option<Cause>,
        explained: Option<Explained>,
    ) -> Step {
        let (parent, known) = match point {
            Point::Root => (None, 0),
            Point::Prompt(at) => (Some(at), self.pasts[at].prompt.len()),
            Point::Reply(at) => (Some(at), self.pasts[at].prompt.len() + 1),
        };
        let path: Vec<&Message> =
            parent.map(|at| self.pasts[at].path().take(known).collect()).unwrap_or_default();
        let respelt: BTreeSet<Cause> =
            path.iter().zip(&sent.messages).flat_map(|(a, b)| aspects(a, b, sent.parsed)).collect();
        let foreign = sent.messages[known..].iter().filter(|message| message.role == Role::Assistant).count();
        let cause = retried.or_else(|| explained.as_ref().map(|explained| explained.cause));
        let mut step = Step {
            request,
            context: 0,
            transition,
            cause,
            parent: parent.map(|at| self.pasts[at].request),
            prefix_preserved: matches!(point, Point::Reply(_)) || transition == Transition::Start,
            tools_stable: explained.as_ref().is_none_or(|explained| explained.tools_stable),
            template_stable: explained.as_ref().is_none_or(|explained| explained.template_stable),
            respelt: respelt.into_iter().collect(),
            foreign,
            intent: Intent::Yes,
            action: Action::KeepBranch,
            difference: explained.and_then(|explained| explained.difference),
            problem: None,
        };
        if step.is_foreign() || (step.is_branch() && self.declared == Declared::Nothing) {
            (step.intent, step.action) = (Intent::Unknown, Action::Investigate);
        }
        if step.is_branch() && cause.is_some_and(Cause::is_accident) {
            (step.intent, step.action) = (Intent::No, Action::Linearize);
        }
        step
    }

    fn commit(
        &mut self,
        step: &mut Step,
        exchange: &'r Exchange,
        sent: &Projected,
        point: Point,
        agent: Option<&'r str>,
    ) {
        let (parent, mut prompt) = match point {
            Point::Root => (None, Vec::new()),
            Point::Prompt(at) => (self.pasts[at].parent, self.pasts[at].prompt.clone()),
            Point::Reply(at) => {
                let past = &self.pasts[at];
                (Some(at), past.prompt.iter().chain(&past.reply).cloned().collect())
            }
        };
        prompt.extend(sent.messages[prompt.len()..].iter().cloned().map(Arc::new));
        step.context = match (point, step.is_branch()) {
            (Point::Reply(at), false) => self.pasts[at].context,
            _ => self.contexts,
        };
        let committed = matches!(exchange.outcome, Outcome::Replied(_) | Outcome::Unknown);
        if committed {
            let mut past = Past::new(step.request, sent, prompt, &exchange.outcome, &exchange.body);
            (past.parent, past.context) = (parent, step.context);
            past.agent = agent.map(str::to_owned);
            past.during = exchange.arrived.zip(exchange.ended);
            self.contexts = self.contexts.max(step.context + 1);
            self.pasts.push(past);
        }
        self.asked.push(Asked {
            request: step.request,
            agent,
            projected: sent.clone(),
            outcome: &exchange.outcome,
        });
    }

    fn unread(&self, request: usize, problem: String) -> Step {
        debug_assert!(self.asked.iter().all(|asked| asked.request < request));
        Step {
            request,
            context: self.contexts.saturating_sub(1),
            transition: Transition::Unread,
            cause: None,
            parent: None,
            prefix_preserved: false,
            tools_stable: false,
            template_stable: false,
            respelt: Vec::new(),
            foreign: 0,
            intent: Intent::Unknown,
            action: Action::Investigate,
            difference: None,
            problem: Some(problem),
        }
    }
}
