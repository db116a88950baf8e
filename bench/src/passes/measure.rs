//! The passes at one length of history.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use hyper::{Method, StatusCode};
use verbatim_dialects::chat::Request;
use verbatim_tokens::TokenId;

use crate::args::Passes;
use crate::client::Client;
use crate::local::Local;
use crate::service::Service;
use crate::stats::{median, ms, times};

/// Milliseconds at one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Tokens of history.
    pub(super) tokens: usize,
    /// Messages of the request.
    pub(super) messages: usize,
    /// Bytes of the request.
    pub(super) bytes: usize,
    /// The body over HTTP, the client's writing of it included.
    pub(super) receive: f64,
    /// Messages split and hashed.
    pub(super) split: f64,
    /// Ids gathered.
    pub(super) gather: f64,
    /// Ids handed over.
    pub(super) write: f64,
    /// A whole turn in process, once its request is split.
    pub(super) turn: f64,
    /// Of it, up to the ids of the prompt.
    pub(super) prepare: f64,
}

impl Row {
    /// A turn without its two passes over ids.
    pub(super) fn new_only(&self) -> f64 {
        self.turn - self.gather - self.write
    }
}

/// Measures. Each turn asks something else after the same history: the tree branches, and the line
/// to the history stays as long as it is.
pub(super) async fn at(
    args: &Passes,
    service: &Service,
    client: &mut Client,
    local: &Local,
) -> anyhow::Result<Row> {
    let tokens = local.conversation.tokens;
    let head = local.session.with_forest(|forest| forest.head()).context("nothing was said")?;
    let asking = |run: u32| {
        let seed = ((tokens as u64) << 32) | (1 << 31) | u64::from(run);
        local.conversation.body_asking(&service.words.text(seed, args.input_tokens as usize))
    };
    let body = asking(0);
    let messages = verbatim_dialects::Wire::len(&Request::parse(&body)?);

    let mut receive = Vec::new();
    for _ in 0..args.runs {
        let began = Instant::now();
        // Without a key the server takes the body in and then refuses.
        let (status, _) = client.send(Method::POST, "/v1/chat/completions", body.clone()).await?;
        receive.push(ms(began.elapsed()));
        ensure!(status == StatusCode::UNAUTHORIZED, "expected a refusal, got {status}");
    }
    let split = times(args.runs, || Request::parse(&body));
    let gather = || local.session.with_forest(|forest| forest.gather(head));
    let prompt = gather();
    let gathered = times(args.runs, gather);
    let written = times(args.runs, || write(&prompt));

    let (mut turns, mut prepared) = (Vec::new(), Vec::new());
    for run in 1..=args.runs {
        let body = asking(run);
        let request = Request::parse(&body)?;
        let began = Instant::now();
        let committed = local.ask(&request).await?;
        turns.push(ms(began.elapsed()));
        prepared.push(ms(committed.turn.timings.prepare));
        ensure!(committed.prompt_tokens > tokens, "the turn does not follow its history");
    }
    Ok(Row {
        tokens,
        messages,
        bytes: body.len(),
        receive: median(receive),
        split: median(split),
        gather: median(gathered),
        write: median(written),
        turn: median(turns),
        prepare: median(prepared),
    })
}

/// What a turn does to hand its gathered prompt to an engine in the same process: one copy into
/// what the engine shares.
fn write(prompt: &[TokenId]) -> Arc<[TokenId]> {
    prompt.into()
}
