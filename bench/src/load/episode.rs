//! One agent: a connection, a session, a conversation.

use std::cell::Cell;
use std::time::Instant;

use anyhow::{Context, ensure};
use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::args::Load;
use crate::client::Client;
use crate::conversation::Conversation;
use crate::stats::ms;
use crate::words::Words;

/// A session and its client.
pub(super) struct Episode {
    client: Client,
    path: String,
    chat: String,
    number: u32,
    stream: bool,
    conversation: Conversation,
}

#[derive(Deserialize)]
struct Opened {
    session_id: String,
}

impl Episode {
    /// Opens a session over a connection of its own.
    ///
    /// # Errors
    /// If the server refuses.
    pub(super) async fn open(address: &str, number: u32, stream: bool) -> anyhow::Result<Self> {
        let mut client = Client::connect(address).await?;
        let reply = client.post("/sessions", Bytes::new()).await?;
        let Opened { session_id } = serde_json::from_slice(&reply).context("the session has no id")?;
        let path = format!("/sessions/{session_id}");
        let chat = format!("{path}/v1/chat/completions");
        Ok(Self { client, path, chat, number, stream, conversation: Conversation::new(stream) })
    }

    /// Takes the turns one after another; the milliseconds that each took. Tokens are added to
    /// `stored` as they are committed.
    ///
    /// # Errors
    /// If any turn fails: nothing is tried again.
    pub(super) async fn chat(
        &mut self,
        args: &Load,
        words: &Words,
        stored: &Cell<usize>,
    ) -> anyhow::Result<Vec<f64>> {
        let mut latencies = Vec::with_capacity(args.turns as usize);
        for turn in 0..args.turns {
            let seed = (u64::from(self.number) << 32) | u64::from(turn);
            self.conversation.say(&words.text(seed, args.input_tokens as usize));
            let body = self.conversation.body();
            let before = self.conversation.tokens;
            let began = Instant::now();
            let reply = self.client.post(&self.chat, body).await?;
            latencies.push(ms(began.elapsed()));
            match self.stream {
                true => self.conversation.hear_stream(&reply)?,
                false => self.conversation.hear(&reply)?,
            }
            let new = self.conversation.tokens.saturating_sub(before);
            let least = args.input_tokens + args.replies.output_tokens;
            ensure!(new >= least as usize, "turn {turn} added {new} tokens, at least {least} were said");
            stored.set(stored.get() + new);
        }
        Ok(latencies)
    }

    /// Fetches the session's rows; the milliseconds that it took. The one row must hold every token
    /// of the conversation.
    ///
    /// # Errors
    /// If the server refuses or a token is missing.
    pub(super) async fn samples(&mut self) -> anyhow::Result<f64> {
        let began = Instant::now();
        let reply = self.client.post(&format!("{}/samples", self.path), Bytes::new()).await?;
        let took = ms(began.elapsed());
        let (length, rest) = reply.split_first_chunk::<8>().context("the samples are empty")?;
        let header = rest.get(..u64::from_le_bytes(*length) as usize).context("the samples are cut")?;
        let header: Value = serde_json::from_slice(header)?;
        let tokens = header["tokens.0"]["shape"][0].as_u64();
        let said = self.conversation.tokens;
        ensure!(tokens == Some(said as u64), "{said} tokens were said, the row has {tokens:?}");
        Ok(took)
    }

    /// Closes the session.
    ///
    /// # Errors
    /// If it is not there.
    pub(super) async fn close(&mut self) -> anyhow::Result<()> {
        let (status, _) = self.client.send(Method::DELETE, &self.path, Bytes::new()).await?;
        ensure!(status == StatusCode::NO_CONTENT, "DELETE {}: {status}", self.path);
        Ok(())
    }
}
