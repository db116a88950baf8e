//! Parameters do what they say; bad requests are refused.

use verbatim_engine::{Ending, Engine, EngineError, Params, StopBy};
use verbatim_engine_embedded::{EmbeddedEngine, Options};
use verbatim_tokens::{TokenId, Version};

use crate::model::prompt;
use crate::reply::{gap, greedy, reply};
use crate::tiny;

fn engine() -> EmbeddedEngine {
    let options = Options { max_context: Some(40), ..Options::default() };
    EmbeddedEngine::load(tiny::folder(tiny::Kind::Qwen2).path(), options).unwrap().0
}

fn ids(raw: &[u32]) -> Vec<TokenId> {
    TokenId::wrap(raw).to_vec()
}

#[tokio::test]
async fn a_seed_gives_the_same_ids_and_another_gives_others() {
    let engine = engine();
    let seeded = |seed| Params { max_tokens: 20, seed: Some(seed), ..Params::default() };
    let one = reply(&engine, prompt("a", ids(&[1, 2, 3])), &seeded(1)).await;
    let again = reply(&engine, prompt("b", ids(&[1, 2, 3])), &seeded(1)).await;
    let other = reply(&engine, prompt("c", ids(&[1, 2, 3])), &seeded(2)).await;
    assert_eq!((&one.ids, &one.logprobs), (&again.ids, &again.logprobs));
    assert_ne!(one.ids, other.ids);
}

#[tokio::test]
async fn a_stop_id_ends_the_turn_and_belongs_to_it() {
    let engine = engine();
    let free = reply(&engine, prompt("a", ids(&[1, 2, 3])), &greedy(9)).await;
    let stop = free.ids[4];
    let until = free.ids.iter().position(|id| *id == stop).unwrap();
    let params = Params { stop_ids: vec![TokenId(0), stop], ..greedy(9) };
    let stopped = reply(&engine, prompt("b", ids(&[1, 2, 3])), &params).await;
    if !free.ids[..until].contains(&TokenId(0)) {
        assert_eq!(stopped.ids, free.ids[..=until]);
        assert_eq!(stopped.end.ending, Ending::Stop(StopBy::Token(stop)));
    }
}

#[tokio::test]
async fn limits_end_with_length() {
    let engine = engine();
    let short =
        reply(&engine, prompt("a", ids(&[1, 2, 3])), &Params { max_tokens: 5, ..Params::default() }).await;
    assert_eq!((short.ids.len(), short.end.ending), (5, Ending::Length));
    let none = reply(&engine, prompt("a", ids(&[1])), &Params { max_tokens: 0, ..Params::default() }).await;
    assert_eq!((none.ids.len(), none.end.ending), (0, Ending::Length));
    let full = reply(&engine, prompt("a", ids(&[1; 30])), &Params::default()).await;
    assert_eq!((full.ids.len(), full.end.ending), (10, Ending::Length));
}

#[tokio::test]
async fn alternatives_are_sorted_and_agree_with_logprobs() {
    let engine = engine();
    let params = Params { top_logprobs: tiny::VOCABULARY as u8, presence_penalty: 5.0, ..greedy(8) };
    let wide = reply(&engine, prompt("a", ids(&[4, 5])), &params).await;
    assert_eq!(wide.top.len(), 8);
    for (at, top) in wide.top.iter().enumerate() {
        assert!(top.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        // Penalties move the choice, never the numbers.
        if let Some((_, logprob)) = top.iter().find(|(id, _)| *id == wide.ids[at]) {
            assert_eq!(*logprob, wide.logprobs[at]);
        }
    }
    let greedy = reply(&engine, prompt("a", ids(&[4, 5])), &Params { top_logprobs: 3, ..greedy(8) }).await;
    assert!(greedy.top.iter().zip(&greedy.ids).all(|(top, id)| top.len() == 3 && top[0].0 == *id));
}

#[tokio::test]
async fn logprobs_are_raw_at_any_temperature() {
    let engine = engine();
    let params = Params { max_tokens: 12, temperature: 3.0, top_p: 0.7, seed: Some(1), ..Params::default() };
    let hot = reply(&engine, prompt("a", ids(&[4, 5])), &params).await;
    let scores = engine.score().unwrap().score([ids(&[4, 5]), hot.ids].concat(), 0).await.unwrap();
    let scores: Vec<_> = scores[2..].iter().map(|score| score.unwrap()).collect();
    assert!(gap(&scores, &hot.logprobs) < 1e-3);
}

#[tokio::test]
async fn bad_requests_fail_by_name() {
    let engine = engine();
    let failure = async |raw: &[u32], params: Params| match reply(&engine, prompt("a", ids(raw)), &params)
        .await
        .end
        .ending
    {
        Ending::Failed(error) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(failure(&[], greedy(1)).await, EngineError::Refused { .. }));
    assert_eq!(failure(&[1; 40], greedy(1)).await, EngineError::Context { prompt: 40, context: 40 });
    let outside = EngineError::Vocabulary { id: TokenId(9999), vocabulary: tiny::VOCABULARY };
    assert_eq!(failure(&[1, 9999], greedy(1)).await, outside);
    assert!(matches!(failure(&[1], Params { top_p: 0.0, ..greedy(1) }).await, EngineError::Refused { .. }));
    let score = engine.score().unwrap();
    assert_eq!(score.score(ids(&[9999]), 0).await, Err(outside));
    assert_eq!(score.score(ids(&[7]), 0).await, Ok(vec![None]));
}

#[tokio::test]
async fn versions_are_those_of_the_moment() {
    let engine = engine();
    let control = engine.control().unwrap();
    assert_eq!(control.version().await.unwrap(), Some(Version::new("0")));
    engine.set_version(Version::new("7"));
    assert_eq!(control.version().await.unwrap(), Some(Version::new("7")));
    assert_eq!(engine.capabilities().version, Some(Version::new("0")));
}
