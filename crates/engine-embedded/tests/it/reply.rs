//! A whole reply, collected.

use futures::StreamExt;
use futures::stream::BoxStream;
use verbatim_engine::{AttemptId, End, Engine, Params, Piece, Prompt};
use verbatim_tokens::TokenId;

/// What an attempt's pieces add up to.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) ids: Vec<TokenId>,
    pub(crate) logprobs: Vec<f32>,
    pub(crate) top: Vec<Vec<(TokenId, f32)>>,
    pub(crate) end: End,
}

/// Greedy, up to `max_tokens`.
pub(crate) fn greedy(max_tokens: u32) -> Params {
    Params { max_tokens, temperature: 0.0, stop_ids: vec![crate::model::END], ..Params::default() }
}

/// Runs an attempt to its end.
pub(crate) async fn reply(engine: &dyn Engine, prompt: Prompt, params: &Params) -> Reply {
    collect(engine.generate(AttemptId::fresh(), prompt, params)).await
}

/// Collects what is left of an attempt.
pub(crate) async fn collect(mut pieces: BoxStream<'static, Piece>) -> Reply {
    let (mut ids, mut logprobs, mut top) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(piece) = pieces.next().await {
        match piece {
            Piece::More(increment) => {
                assert_eq!(increment.ids.len(), increment.logprobs.len());
                ids.extend(increment.ids);
                logprobs.extend(increment.logprobs.into_iter().map(Option::unwrap));
                top.extend(increment.top);
            }
            Piece::End(end) => {
                assert!(pieces.next().await.is_none(), "something follows the end");
                return Reply { ids, logprobs, top, end };
            }
        }
    }
    panic!("the stream has no end")
}

/// The largest difference of two rows of numbers of one length.
pub(crate) fn gap(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}
