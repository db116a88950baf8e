//! An engine that has its replies ready.
//!
//! The invariant: a reply depends on nothing but the length of its prompt, and costs no more than
//! handing out its tokens; what a bench then measures is the server.

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use verbatim_chat::{Message, Role, Setup, StartState};
use verbatim_engine::{
    AttemptId, Capabilities, End, Ending, Engine, EngineError, Increment, Params, Piece, Prompt, StopBy,
};
use verbatim_families::{Family, Scene};
use verbatim_tokens::{Replay, TokenId, Version, Width};

use crate::args::Replies;
use crate::words::Words;

/// How many different replies there are.
const REPLIES: u64 = 61;

/// The mock engine.
pub(crate) struct MockEngine {
    capabilities: Capabilities,
    version: Version,
    replies: Vec<Vec<TokenId>>,
    chunk: usize,
    /// Bytes of routed experts a token.
    payload: usize,
}

impl MockEngine {
    /// Prepares the replies: an empty think block, words, the stop token.
    ///
    /// # Errors
    /// If the family cannot say them.
    pub(crate) fn new(family: &dyn Family, words: &Words, replies: &Replies) -> anyhow::Result<Self> {
        let setup = Setup::default();
        let silence = Message::new(Role::Assistant, "");
        let frame = family.reply(Scene { setup: &setup, opened: 0 }, StartState::Content, &silence)?;
        let (length, end) = (replies.output_tokens as usize, frame.len() - 1);
        let reply = |seed| {
            let mut ids = frame.clone();
            ids.splice(end..end, words.ids(seed, length.saturating_sub(frame.len())));
            ids
        };
        let version = Version::new("0");
        let capabilities = Capabilities {
            versions: true,
            experts: replies.payload > 0,
            version: Some(version.clone()),
            ..Capabilities::new("mock", "mock", 1 << 24, family.tokenizer().vocabulary())
        };
        let chunk = if replies.chunk == 0 { usize::MAX } else { replies.chunk as usize };
        let payload = replies.payload as usize;
        Ok(Self { capabilities, version, replies: (0..REPLIES).map(reply).collect(), chunk, payload })
    }
}

impl Engine for MockEngine {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn generate(&self, _: AttemptId, prompt: Prompt, params: &Params) -> BoxStream<'static, Piece> {
        let reply = &self.replies[prompt.ids.len() % self.replies.len()];
        let said = &reply[..reply.len().min(params.max_tokens as usize)];
        let mut pieces: Vec<Piece> = said
            .chunks(self.chunk.min(said.len().max(1)))
            .map(|ids| {
                Piece::More(Increment {
                    ids: ids.to_vec(),
                    logprobs: vec![Some(-0.5); ids.len()],
                    version: Some(self.version.clone()),
                    top: Vec::new(),
                })
            })
            .collect();
        let ending = match said.last() {
            Some(last) if said.len() == reply.len() => Ending::Stop(StopBy::Token(*last)),
            _ => Ending::Length,
        };
        let forwarded = prompt.ids.len() + said.len() - 1;
        let rows = prompt.experts_from.map(|from| (from, forwarded - from));
        // As many bytes as an engine would have sent, each turn's its own.
        let experts = rows.and_then(|(from, rows)| {
            Replay::new(from, 1, self.payload / 4, Width::I32, vec![0; rows * self.payload]).ok()
        });
        pieces.push(Piece::End(End { experts, ..ending.into() }));
        futures::stream::iter(pieces).boxed()
    }

    fn abort(&self, _: AttemptId) -> BoxFuture<'_, Result<(), EngineError>> {
        futures::future::ready(Ok(())).boxed()
    }
}
