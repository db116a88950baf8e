//! One session, driven by the steps of its shell: find, plan, render, sample, check, apply.

use std::sync::Arc;

use verbatim_chat::{Chain, Matcher, Message, Role, Setup, StartState};
use verbatim_engine::{Attempts, Increment};
use verbatim_events::{Finish, Generated, NodeId, Observed, SessionId, Timings, TurnCommitted};
use verbatim_forest::{Applied, Choice, Conflict, Forest, Lineage, Place, Plan, Refusal, choose};
use verbatim_tokens::{LogprobKind, Sampled, TokenId};

use crate::family::{Family, mark};

/// What the engine read and sampled in one committed turn.
pub(crate) struct Heard {
    pub(crate) prompt: Vec<TokenId>,
    pub(crate) sampled: Vec<TokenId>,
    pub(crate) nodes: Applied,
}

/// A request that was taken and rendered, not sampled yet.
pub(crate) struct Asked {
    pub(crate) choice: Option<Choice>,
    pub(crate) plan: Plan,
    pub(crate) prompt: Vec<TokenId>,
    observed: Observed,
}

/// What the engine is going to sample.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    /// Tokens that no other turn has.
    pub(crate) fresh: usize,
    /// Role marks at the end.
    pub(crate) marks: usize,
    pub(crate) finish: Finish,
}

impl Reply {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), fresh: 2, marks: 1, finish: Finish::Stop }
    }

    pub(crate) fn cut(text: &str) -> Self {
        Self { marks: 0, finish: Finish::Length, ..Self::new(text) }
    }
}

pub(crate) struct World {
    pub(crate) forest: Forest,
    pub(crate) setup: Setup,
    pub(crate) family: Family,
    /// Every committed turn as the engine saw it.
    pub(crate) heard: Vec<Heard>,
    /// Ids that turns brought, each counted once.
    pub(crate) brought: usize,
    sampled: u32,
}

impl World {
    pub(crate) fn new(lineage: Lineage, matcher: impl Matcher + 'static) -> Self {
        Self {
            forest: Forest::new(lineage, Arc::new(matcher)),
            setup: Setup::default(),
            family: Family { max_trim: 1 },
            heard: Vec::new(),
            brought: 0,
            sampled: 1000,
        }
    }

    /// Looks a request up, from a stored path that it is known to begin with or from the root.
    pub(crate) fn find(&self, anchor: Option<NodeId>, request: &[Arc<Message>]) -> Option<Choice> {
        let anchored =
            anchor.and_then(|node| Some((self.forest.chain(node)?, self.forest.node(node)?.path_messages())));
        let (mut chain, known) = anchored.unwrap_or((Chain::root(&self.setup), 0));
        let matcher = self.forest.matcher();
        let mut chains = vec![chain];
        for message in &request[known..] {
            chain = chain.then(matcher.key(message));
            chains.push(chain);
        }
        let candidates = self.forest.candidates(anchor, &chains);
        let choice = choose(|stored, sent| matcher.judge(stored, sent), &candidates, &request[known..])?;
        Some(Choice { covered: choice.covered + known, ..choice })
    }

    pub(crate) fn ask(&self, request: &[Arc<Message>]) -> Result<Asked, Refusal> {
        self.place(self.find(None, request), request)
    }

    /// Plans and renders at the place that was found.
    pub(crate) fn place(&self, choice: Option<Choice>, request: &[Arc<Message>]) -> Result<Asked, Refusal> {
        let place = choice.map_or(Place::Root, |choice| choice.place);
        let plan = self.forest.plan(place, request.len())?;
        let new = &request[choice.map_or(0, |choice| choice.covered)..];
        let plain = new.iter().map(AsRef::as_ref);
        let (prompt, observed) = match (place, plan.parent) {
            (Place::Again(node), _) => (self.forest.gather(node), Observed::Shared(node)),
            (_, Some(parent)) => {
                let sampled = &self.forest.node(parent).unwrap().generation().unwrap().sampled;
                let extension = self.family.extend(sampled.ids(), plain);
                let mut prompt = self.forest.gather(parent);
                prompt.truncate(prompt.len() - extension.trim);
                prompt.extend_from_slice(&extension.ids);
                (prompt, observed(None, new, extension.ids, extension.trim))
            }
            (_, None) => {
                let ids = self.family.open(&self.setup, plain);
                (ids.clone(), observed(Some(Arc::new(self.setup.clone())), new, ids, 0))
            }
        };
        Ok(Asked { choice, plan, prompt, observed })
    }

    /// Samples and commits.
    pub(crate) fn answer(&mut self, asked: Asked, reply: &Reply) -> Result<Applied, Conflict> {
        let fresh = (0..reply.fresh as u32).map(|at| TokenId(self.sampled + at));
        let marks = [Role::User, Role::Tool].into_iter().cycle().map(mark).take(reply.marks);
        let sampled: Vec<_> = fresh.chain(marks).collect();
        self.sampled += reply.fresh as u32;
        self.forest.check(&asked.plan)?;
        let turn = turn(asked.plan.parent, asked.observed, generated(sampled.clone(), reply));
        let nodes = self.forest.apply(&turn)?;
        if let Observed::New { ids, .. } = &turn.observed {
            self.brought += ids.len();
        }
        self.brought += sampled.len();
        self.heard.push(Heard { prompt: asked.prompt, sampled, nodes });
        Ok(nodes)
    }

    /// A turn that must succeed.
    pub(crate) fn turn(&mut self, request: &[Arc<Message>], reply: &Reply) -> Applied {
        let asked = self.ask(request).unwrap();
        self.answer(asked, reply).unwrap()
    }

    /// Everything that can be seen of the forest.
    pub(crate) fn fingerprint(&self) -> String {
        let nodes: Vec<_> = self.forest.nodes().collect();
        format!("{nodes:?} {:?} {:?}", self.forest.head(), self.forest.leaves())
    }
}

pub(crate) fn turn(parent: Option<NodeId>, observed: Observed, generated: Generated) -> TurnCommitted {
    let session = SessionId::new("s");
    TurnCommitted { session, parent, observed, generated, at: 0, timings: Timings::default() }
}

pub(crate) fn observed(
    setup: Option<Arc<Setup>>,
    messages: &[Arc<Message>],
    ids: Vec<TokenId>,
    trim: usize,
) -> Observed {
    let (messages, ids, start) = (messages.into(), ids.into(), StartState::Content);
    Observed::New { setup, messages, ids, images: Box::default(), trim, start }
}

pub(crate) fn generated(ids: Vec<TokenId>, reply: &Reply) -> Generated {
    Generated {
        sampled: sampled(ids),
        message: message(Role::Assistant, &reply.text),
        finish: reply.finish,
        response: String::new(),
        temperature: 1.0,
        cached_tokens: None,
        experts: None,
        indexer: None,
        speculation: None,
        retractions: 0,
        attempts: 1,
        reasoning_tokens: 0,
    }
}

fn sampled(ids: Vec<TokenId>) -> Sampled {
    let mut attempts = Attempts::new(LogprobKind::Raw, ids.len() as u32);
    let logprobs = vec![Some(-0.5); ids.len()];
    attempts.push(Increment { ids, logprobs, ..Increment::default() }).unwrap();
    attempts.finish().unwrap()
}

pub(crate) fn message(role: Role, text: &str) -> Arc<Message> {
    Arc::new(Message::new(role, text))
}

/// A conversation in which `u:`, `a:`, `t:` and `s:` say who speaks.
pub(crate) fn talk(lines: &[&str]) -> Vec<Arc<Message>> {
    let line = |line: &&str| {
        let (who, text) = line.split_once(':').unwrap();
        let role = match who {
            "s" => Role::System,
            "u" => Role::User,
            "a" => Role::Assistant,
            _ => Role::Tool,
        };
        message(role, text)
    };
    lines.iter().map(line).collect()
}
