//! Several sequences at once, and those that leave early.

use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use verbatim_engine::{AttemptId, Ending, Engine, Params, Piece};
use verbatim_engine_embedded::{EmbeddedEngine, Options, Precision};
use verbatim_tokens::TokenId;

use crate::model::{ask, prompt};
use crate::reply::{Reply, collect, greedy, reply};
use crate::tiny;

fn engine(options: Options) -> EmbeddedEngine {
    EmbeddedEngine::load(tiny::folder(tiny::Kind::Llama).path(), options).unwrap().0
}

fn numbers(seed: u32, count: u32) -> Vec<TokenId> {
    (0..count).map(|at| TokenId((seed * 31 + at * 7) % tiny::VOCABULARY as u32)).collect()
}

#[tokio::test]
async fn sessions_together_get_what_each_gets_alone() {
    let engine = crate::model::engine();
    let questions = ["What is 2 + 2?", "Name three animals.", "Say hello.", "Why is the sky blue?"];
    let params = Params { max_tokens: 16, temperature: 0.8, seed: Some(11), ..Params::default() };
    let attempt = |at: usize| reply(engine, prompt(&format!("together {at}"), ask(questions[at])), &params);
    let together = join_all((0..questions.len()).map(attempt)).await;
    for (at, together) in together.into_iter().enumerate() {
        let alone = attempt(at).await;
        assert_eq!(alone.ids, together.ids, "{}", questions[at]);
        assert_eq!(alone.logprobs, together.logprobs, "{}", questions[at]);
    }
}

#[tokio::test]
async fn chunks_and_batches_of_any_size_give_the_same_numbers() {
    for precision in [Precision::F32, Precision::Q8] {
        same_numbers(precision).await;
    }
}

async fn same_numbers(precision: Precision) {
    let mut seen: Vec<Vec<Reply>> = Vec::new();
    for (max_batch, chunk) in [(1, 1), (2, 7), (8, 64), (3, 1000)] {
        let engine = engine(Options { max_batch, chunk, precision, ..Options::default() });
        let params = Params { max_tokens: 12, seed: Some(5), ..Params::default() };
        let attempts =
            (0..6).map(|at| reply(&engine, prompt(&format!("{at}"), numbers(at, 20 + 11 * at)), &params));
        seen.push(join_all(attempts).await);
    }
    for others in &seen[1..] {
        for (a, b) in seen[0].iter().zip(others) {
            assert_eq!((&a.ids, &a.logprobs), (&b.ids, &b.logprobs));
        }
    }
}

#[tokio::test]
async fn an_abort_ends_its_attempt_within_a_token_and_no_other() {
    let engine = engine(Options::default());
    let long = Params { max_tokens: 100_000, ..Params::default() };
    let other = tokio::spawn(collect(engine.generate(
        AttemptId::fresh(),
        prompt("other", numbers(1, 9)),
        &Params { max_tokens: 150, seed: Some(1), ..Params::default() },
    )));
    let id = AttemptId::fresh();
    let mut pieces = engine.generate(id, prompt("aborted", numbers(2, 9)), &long);
    let Some(Piece::More(_)) = pieces.next().await else { panic!("no first token") };
    let before = engine.stats().decoded_tokens;
    engine.abort(id).await.unwrap();
    let rest = collect(pieces).await;
    assert_eq!(rest.end.ending, Ending::Aborted);
    // Each of the two sequences may be in the middle of a step when the abort is heard.
    assert!(rest.ids.len() as u64 <= before + 2, "{} tokens came after the abort", rest.ids.len());
    assert_eq!(other.await.unwrap().ids.len(), 150);
    engine.abort(id).await.unwrap();
}

#[tokio::test]
async fn an_attempt_in_line_can_be_aborted() {
    let engine = engine(Options { max_batch: 1, ..Options::default() });
    let long = Params { max_tokens: 100_000, ..Params::default() };
    let first = engine.generate(AttemptId::fresh(), prompt("a", numbers(1, 5)), &long);
    let id = AttemptId::fresh();
    let second = engine.generate(id, prompt("b", numbers(2, 5)), &long);
    engine.abort(id).await.unwrap();
    let second = collect(second).await;
    assert_eq!((second.ids.len(), second.end.ending), (0, Ending::Aborted));
    drop(first);
}

#[tokio::test]
async fn a_dropped_stream_frees_its_sequence() {
    let engine = engine(Options { max_batch: 1, ..Options::default() });
    let long = Params { max_tokens: 100_000, ..Params::default() };
    let mut pieces = engine.generate(AttemptId::fresh(), prompt("a", numbers(1, 5)), &long);
    assert!(pieces.next().await.is_some());
    drop(pieces);
    let params = greedy(3);
    let next = reply(&engine, prompt("b", numbers(2, 5)), &params);
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), next).await.unwrap().ids.len(), 3);
    assert_eq!(engine.stats().active, 0);
}

#[tokio::test]
async fn an_engine_that_is_dropped_ends_its_streams() {
    let engine = engine(Options::default());
    let long = Params { max_tokens: 100_000, ..Params::default() };
    let pieces = engine.generate(AttemptId::fresh(), prompt("a", numbers(1, 5)), &long);
    drop(engine);
    assert!(matches!(collect(pieces).await.end.ending, Ending::Failed(_)));
}
