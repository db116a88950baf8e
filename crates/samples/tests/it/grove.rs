//! Forests grown turn by turn, with a record of who grew what.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use verbatim_chat::{Message, Role, Setup, StartState, Strict};
use verbatim_engine::{Attempts, Increment};
use verbatim_events::{Finish, Generated, NodeId, Observed, SessionId, Timings, TurnCommitted};
use verbatim_forest::{Forest, Lineage};
use verbatim_tokens::{LogprobKind, Replay, TokenId, Version, Width};

/// One sampled token.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) id: u32,
    pub(crate) logprob: Option<f32>,
    pub(crate) version: Option<Version>,
}

/// One turn: its observation's ids, and what was sampled after them.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) node: NodeId,
    pub(crate) parent: Option<usize>,
    /// The turn that brought the observation, itself if it did.
    pub(crate) seen_in: usize,
    pub(crate) observation: NodeId,
    pub(crate) seen: Vec<u32>,
    pub(crate) trim: usize,
    pub(crate) said: Vec<Token>,
    pub(crate) end: End,
}

/// What is known of a turn besides its tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) finish: Finish,
    pub(crate) cached: Option<u32>,
    pub(crate) kind: LogprobKind,
    /// Whether the engine told its routes.
    pub(crate) routed: bool,
}

pub(crate) const STOP: End =
    End { finish: Finish::Stop, cached: None, kind: LogprobKind::Raw, routed: false };

/// Where a turn grows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    Root,
    After(usize),
    Again(usize),
}

pub(crate) struct Grove {
    pub(crate) forest: Forest,
    pub(crate) turns: Vec<Turn>,
    fresh: u32,
}

impl Grove {
    pub(crate) fn new(lineage: Lineage) -> Self {
        Self { forest: Forest::new(lineage, Arc::new(Strict)), turns: Vec::new(), fresh: 1 }
    }

    /// Grows by a turn of `seen` new and `said` sampled tokens, named by counting; returns its number.
    pub(crate) fn grow(
        &mut self,
        at: At,
        trim: usize,
        seen: usize,
        said: &[(Option<f32>, Option<u8>)],
        end: End,
    ) -> usize {
        let seen = (0..seen).map(|_| self.next()).collect();
        let said = said
            .iter()
            .map(|(logprob, version)| Token {
                id: self.next(),
                logprob: *logprob,
                version: version.map(|version| Version::new(version.to_string())),
            })
            .collect();
        self.commit(at, trim, seen, said, end)
    }

    fn next(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh - 1
    }

    pub(crate) fn commit(
        &mut self,
        at: At,
        trim: usize,
        seen: Vec<u32>,
        said: Vec<Token>,
        end: End,
    ) -> usize {
        let own = self.turns.len();
        let (parent, seen_in, trim) = match at {
            At::Root => (None, own, 0),
            At::After(turn) => (Some(turn), own, trim.min(self.turns[turn].said.len())),
            At::Again(turn) => (self.turns[turn].parent, self.turns[turn].seen_in, 0),
        };
        let observed = match at {
            At::Again(turn) => Observed::Shared(self.turns[turn].observation),
            _ => Observed::New {
                setup: parent.is_none().then(|| Arc::new(Setup::default())),
                messages: [Arc::new(Message::new(Role::User, "q"))].into(),
                ids: TokenId::from_raw(seen.clone()).into(),
                images: Box::default(),
                trim,
                start: StartState::Content,
            },
        };
        let routes = if end.routed { self.routes(parent, &observed, trim, &said) } else { None };
        let turn = TurnCommitted {
            session: SessionId::new("s"),
            parent: parent.map(|parent| self.turns[parent].node),
            observed,
            generated: Generated { experts: routes, ..generated(&said, end, format!("r{own}")) },
            at: 1000 + own as u64,
            timings: TIMINGS,
        };
        let applied = self.forest.apply(&turn).unwrap();
        let (node, observation) = (applied.generation, applied.observation);
        self.turns.push(Turn { node, parent, seen_in, observation, seen, trim, said, end });
        own
    }
}

impl Grove {
    /// The routes that an engine tells of a turn: from the first position of which no turn before has told.
    fn routes(
        &self,
        parent: Option<usize>,
        observed: &Observed,
        trim: usize,
        said: &[Token],
    ) -> Option<Arc<Replay>> {
        let parent = parent.map(|parent| self.turns[parent].node);
        let (mut ids, added) = match observed {
            Observed::Shared(node) => {
                (self.forest.gather(*node), self.forest.node(*node).unwrap().ids().len())
            }
            Observed::Ids(_) => panic!("a grove is of messages"),
            Observed::New { ids, .. } => {
                let mut before = parent.map(|parent| self.forest.gather(parent)).unwrap_or_default();
                before.truncate(before.len() - trim);
                before.extend_from_slice(ids);
                (before, ids.len())
            }
        };
        let told = parent.and_then(|parent| self.forest.node(parent)?.generation()?.experts.as_ref());
        let from = told.map_or(0, |told| told.end().min(ids.len() - added));
        ids.extend(said.iter().map(|token| TokenId(token.id)));
        let bytes: Vec<u8> = (from..ids.len() - 1).flat_map(|at| route(at, ids[at].0)).collect();
        Some(Arc::new(Replay::new(from, 1, 2, Width::U8, bytes).unwrap()))
    }
}

/// How long everything takes: what a turn waits for, and what it is prepared and generated in, differ.
const TIMINGS: Timings = Timings {
    prepare: Duration::from_millis(1),
    held: Duration::from_millis(2),
    first_token: Duration::from_millis(3),
    generate: Duration::from_millis(4),
};

/// The route of a token: a function of its place and id.
pub(crate) fn route(at: usize, id: u32) -> [u8; 2] {
    [(at * 31) as u8 ^ id as u8, (id * 7) as u8]
}

impl std::fmt::Debug for Grove {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.turns).finish()
    }
}

fn generated(said: &[Token], end: End, response: String) -> Generated {
    let mut attempts = Attempts::new(end.kind, said.len() as u32);
    for token in said {
        let (ids, logprobs) = (vec![TokenId(token.id)], vec![token.logprob]);
        let version = token.version.clone();
        attempts.push(Increment { ids, logprobs, version, top: Vec::new() }).unwrap();
    }
    let message = Arc::new(Message::new(Role::Assistant, "r"));
    let sampled = attempts.finish().unwrap();
    Generated {
        sampled,
        message,
        finish: end.finish,
        response,
        temperature: 1.0,
        cached_tokens: end.cached,
        experts: None,
        indexer: None,
        speculation: None,
        retractions: 0,
        attempts: 1,
        reasoning_tokens: 0,
    }
}

type Growth = (u8, Index, usize, usize, Vec<(Option<f32>, Option<u8>)>, bool, Option<u32>, bool);

/// A forest of up to 16 turns.
pub(crate) fn groves(lineage: Lineage) -> impl Strategy<Value = Grove> {
    let trim = prop_oneof![3 => Just(0usize), 2 => 1usize..3];
    let token = (prop::option::weighted(0.8, -9.0f32..=0.0), prop::option::weighted(0.8, 0u8..3));
    let said = prop::collection::vec(token, 1..5);
    let growth = (
        0u8..10,
        any::<Index>(),
        trim,
        1usize..4,
        said,
        prop::bool::weighted(0.2),
        prop::option::of(0u32..9),
        prop::bool::weighted(0.9),
    );
    prop::collection::vec(growth, 0..16).prop_map(move |growths: Vec<Growth>| {
        let mut grove = Grove::new(lineage);
        for (kind, pick, trim, seen, said, cut, cached, routed) in growths {
            let at = match kind {
                _ if grove.turns.is_empty() => At::Root,
                0 => At::Root,
                1..=6 => At::After(pick.index(grove.turns.len())),
                _ => At::Again(pick.index(grove.turns.len())),
            };
            let finish = if cut { Finish::Length } else { Finish::Stop };
            grove.grow(at, trim, seen, &said, End { finish, cached, routed, ..STOP });
        }
        grove
    })
}
