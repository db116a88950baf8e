//! The engine of the streams without a server: what the machine gives it at best.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::StreamExt;
use futures::future::join_all;
use verbatim_engine::{AttemptId, Engine, Params, Piece, Prompt, SessionKey};
use verbatim_tokens::TokenId;

use super::client::own_cpu;
use super::engine::{Stamped, now};
use crate::args::Streams;
use crate::assets;
use crate::words::Words;

/// What came of it.
pub(crate) struct Alone {
    /// Tokens a second of a stream, over all.
    pub(crate) pace: f64,
    /// Cores used.
    pub(crate) cores: f64,
}

/// Reads so many streams of the engine to their ends, on a runtime as the server has it.
///
/// # Errors
/// If the vocabulary is missing, or there is no runtime.
pub(crate) fn alone(args: &Streams, streams: usize) -> anyhow::Result<Alone> {
    let tokenizer = assets::tokenizer()?;
    let words = Words::new(&*tokenizer)?;
    let family = assets::family(tokenizer)?;
    let engine = Arc::new(Stamped::new(&*family, &words, args.tokens as usize, args.pace));
    let params =
        Params { max_tokens: args.tokens + 1, stop_ids: family.stop_ids().to_vec(), ..Params::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    let (began, cpu) = (Instant::now(), own_cpu());
    let spread = args.spread_ms;
    let paces = runtime.block_on(async {
        let all = (0..streams).map(|at| {
            let (engine, params) = (Arc::clone(&engine), params.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(spread * at as u64 / streams.max(1) as u64)).await;
                pace(&engine, at, &params).await
            })
        });
        join_all(all).await
    });
    let cores = (own_cpu() - cpu) / began.elapsed().as_secs_f64();
    let paces: Vec<f64> = paces.into_iter().collect::<Result<_, _>>().context("a stream died")?;
    Ok(Alone { pace: paces.iter().sum::<f64>() / paces.len().max(1) as f64, cores })
}

/// Tokens a second of one stream.
async fn pace(engine: &Stamped, at: usize, params: &Params) -> f64 {
    let session = SessionKey(at.to_string().into());
    let prompt = Prompt::new([TokenId(at as u32)], session);
    let mut pieces = engine.generate(AttemptId::fresh(), prompt, params);
    let (mut tokens, mut first, mut last) = (0, 0, 0);
    while let Some(piece) = pieces.next().await {
        if let Piece::More(more) = piece {
            last = now();
            first = if tokens == 0 { last } else { first };
            tokens += more.ids.len();
        }
    }
    tokens.saturating_sub(1) as f64 / (last.saturating_sub(first) as f64 / 1e9).max(1e-9)
}
