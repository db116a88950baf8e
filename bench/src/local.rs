//! A session driven without HTTP.

use std::sync::Arc;

use anyhow::{Context, bail};
use verbatim_chat::Message;
use verbatim_dialects::Counts;
use verbatim_dialects::chat::{Completion, Request, Usage};
use verbatim_session::{Asked, Committed, OpenOptions, Prompted, Session, SessionToken, Sessions, TurnEvent};

use crate::conversation::Conversation;

/// One session and what its client has of it.
pub(crate) struct Local {
    sessions: Sessions,
    /// The session's token, for those who come by HTTP.
    pub(crate) token: SessionToken,
    /// The session.
    pub(crate) session: Arc<Session>,
    /// The conversation so far.
    pub(crate) conversation: Conversation,
}

impl Local {
    /// Opens a session.
    ///
    /// # Errors
    /// If no more may be open.
    pub(crate) fn open(sessions: &Sessions) -> anyhow::Result<Self> {
        let (token, session) = sessions.open(OpenOptions::default())?;
        Ok(Self { sessions: sessions.clone(), token, session, conversation: Conversation::new(false) })
    }

    /// One turn for a request that has been split.
    ///
    /// # Errors
    /// If the turn fails.
    pub(crate) async fn ask(&self, request: &Request<'_>) -> anyhow::Result<Box<Committed>> {
        let asked = Asked {
            sent: verbatim_session::Sent::default(),
            prompt: Prompted::Messages(request),
            sampling: &request.sampling,
            lost: request.lost.clone(),
            response_prefix: "chatcmpl-",
            deltas: false,
        };
        let mut reply = self.sessions.turn(&self.session, asked).await?;
        match reply.events.recv().await {
            Some(TurnEvent::Committed(committed)) => Ok(committed),
            Some(TurnEvent::Failed(error)) => Err(error.into()),
            _ => bail!("the turn ended without an end"),
        }
    }

    /// The user says `text`, and the reply becomes part of the conversation.
    ///
    /// # Errors
    /// If the turn fails.
    pub(crate) async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        self.conversation.say(text);
        let body = self.conversation.body();
        let committed = self.ask(&Request::parse(&body)?).await?;
        let generated = &committed.turn.generated;
        self.conversation.hear(&spelled(&generated.message, &committed)?)
    }
}

/// The reply as the gateway writes it.
fn spelled(message: &Message, committed: &Committed) -> anyhow::Result<Vec<u8>> {
    let generated = &committed.turn.generated;
    let usage = Usage::new(Counts {
        prompt: committed.prompt_tokens,
        sampled: generated.sampled.len(),
        cached: generated.cached_tokens.unwrap_or_default(),
        reasoning: generated.reasoning_tokens,
    });
    let reply = Completion::new(&generated.response, 0, "mock", message, generated.finish, usage, None);
    serde_json::to_vec(&reply).context("cannot write a reply")
}
