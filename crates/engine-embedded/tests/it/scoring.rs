//! What was sampled scores as it was sampled.

use verbatim_engine::{Ending, Engine, Params, StopBy, probe};
use verbatim_tokens::TokenId;

use crate::model::{END, ask, engine, prompt};
use crate::reply::{gap, greedy, reply};

/// The scores of the last `count` ids.
async fn scores(engine: &dyn Engine, ids: Vec<TokenId>, count: usize) -> Vec<f32> {
    let (first, len) = (ids.len() - count, ids.len());
    let scores = engine.score().unwrap().score(ids, 0).await.unwrap();
    assert_eq!((scores.len(), scores[0]), (len, None));
    scores[first..].iter().map(|score| score.unwrap()).collect()
}

#[tokio::test]
async fn the_capital_of_france_is_paris_and_scores_as_it_was_sampled() {
    let ids = ask("What is the capital of France?");
    let reply = reply(engine(), prompt("paris", ids.clone()), &greedy(32)).await;
    let text = crate::tokenizer::text(&reply.ids);
    assert!(text.contains("Paris"), "{text}");
    assert_eq!(reply.end.ending, Ending::Stop(StopBy::Token(END)));
    assert_eq!(reply.ids.last(), Some(&END));

    let count = reply.ids.len();
    let gap = gap(&scores(engine(), [ids, reply.ids].concat(), count).await, &reply.logprobs);
    assert!(gap < 1e-3, "scores differ by {gap}");
}

#[tokio::test]
async fn a_long_sample_scores_as_it_was_sampled_however_it_was_drawn() {
    let ids = ask("Tell me a story.");
    let params =
        Params { max_tokens: 60, temperature: 1.2, top_k: Some(50), seed: Some(3), ..Params::default() };
    let reply = reply(engine(), prompt("story", ids.clone()), &params).await;
    let count = reply.ids.len();
    let gap = gap(&scores(engine(), [ids, reply.ids].concat(), count).await, &reply.logprobs);
    assert!(gap < 1e-3, "scores differ by {gap}");
}

#[tokio::test]
async fn the_start_up_probe_passes() {
    let report = probe(engine(), ask("Hello").into()).await.unwrap();
    assert!(report.versions && report.tokens > 0);
}
