//! What was sampled scores as it was sampled.

use verbatim_engine::{Ending, Engine, StopBy};

use crate::model::{END, ask, engine, prompt};
use crate::reply::{gap, greedy, reply};

#[tokio::test]
async fn the_capital_of_france_is_paris_and_scores_as_it_was_sampled() {
    let ids = ask("What is the capital of France?");
    let reply = reply(engine(), prompt("paris", ids.clone()), &greedy(32)).await;
    let text = crate::tokenizer::text(&reply.ids);
    assert!(text.contains("Paris"), "{text}");
    assert_eq!(reply.end.ending, Ending::Stop(StopBy::Token(END)));
    assert_eq!(reply.ids.last(), Some(&END));

    let whole = [ids.clone(), reply.ids].concat();
    let scores = engine().score().unwrap().score(whole.clone()).await.unwrap();
    assert_eq!(scores.len(), whole.len());
    assert_eq!(scores[0], None);
    let scores: Vec<_> = scores[ids.len()..].iter().map(|score| score.unwrap()).collect();
    let gap = gap(&scores, &reply.logprobs);
    assert!(gap < 1e-3, "scores differ by {gap}");
}
