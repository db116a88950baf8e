//! Prefixes are kept, shared, branched and dropped, and change no number.

use futures::StreamExt;
use verbatim_engine::{AttemptId, Ending, Engine, Params};
use verbatim_engine_embedded::{EmbeddedEngine, Options};
use verbatim_tokens::TokenId;

use crate::model::{ask, prompt};
use crate::reply::{collect, gap, greedy, reply};
use crate::tiny;

#[tokio::test]
async fn the_second_turn_reads_only_what_is_new_and_gets_the_same_numbers() {
    let engine = crate::model::engine();
    let first = ask("Name a colour.");
    let one = reply(engine, prompt("turns", first.clone()), &greedy(20)).await;
    let kept = first.len() + one.ids.len() - 1;
    let next = crate::tokenizer::ids("\n<|im_start|>user\nAnother one.<|im_end|>\n<|im_start|>assistant\n");
    let second = [first, one.ids, next].concat();

    let warm = reply(engine, prompt("turns", second.clone()), &greedy(20)).await;
    assert_eq!(warm.end.cached_tokens, Some(kept as u32));
    let first = second.len();
    let cold = engine.score().unwrap().score([second, warm.ids].concat(), 0).await.unwrap();
    let cold: Vec<_> = cold[first..].iter().map(|score| score.unwrap()).collect();
    assert!(gap(&cold, &warm.logprobs) < 1e-3);
}

fn engine(options: Options) -> EmbeddedEngine {
    EmbeddedEngine::load(tiny::folder(tiny::Kind::Qwen3).path(), options).unwrap().0
}

fn numbers(from: u32, to: u32) -> Vec<TokenId> {
    (from..to).map(|id| TokenId(id % tiny::VOCABULARY as u32)).collect()
}

#[tokio::test]
async fn members_of_a_group_share_their_prompt() {
    let engine = engine(Options { chunk: 128, ..Options::default() });
    let ids = numbers(0, 70);
    let params = greedy(9);
    let members = (0..4).map(|at| reply(&engine, prompt(&format!("member {at}"), ids.clone()), &params));
    let replies = futures::future::join_all(members).await;
    let read: u32 = replies.iter().map(|reply| 70 - reply.end.cached_tokens.unwrap()).sum();
    assert_eq!(read, 70 + 3);
    assert!(replies.iter().all(|reply| reply.ids == replies[0].ids && reply.logprobs == replies[0].logprobs));
}

#[tokio::test]
async fn a_branch_leaves_its_sibling_as_it_was() {
    let engine = engine(Options::default());
    let root = numbers(0, 41);
    let left = [root.clone(), numbers(50, 60)].concat();
    let right = [root.clone(), numbers(20, 44)].concat();
    let before = reply(&engine, prompt("a", left.clone()), &greedy(30)).await;
    let branch = reply(&engine, prompt("a", right.clone()), &greedy(30)).await;
    assert_eq!(branch.end.cached_tokens, Some(41));
    let after = reply(&engine, prompt("a", left.clone()), &greedy(30)).await;
    assert_eq!(after.end.cached_tokens, Some(left.len() as u32 - 1));
    assert_eq!((&after.ids, &after.logprobs), (&before.ids, &before.logprobs));
    let alone = self::engine(Options::default());
    let alone = reply(&alone, prompt("a", right), &greedy(30)).await;
    assert_eq!((alone.ids, alone.logprobs), (branch.ids, branch.logprobs));
}

#[tokio::test]
async fn a_flush_forgets_also_what_is_being_read() {
    let engine = engine(Options::default());
    let reads = async |ids| reply(&engine, prompt("a", ids), &greedy(30)).await;
    let first = reads(numbers(0, 50)).await;
    engine.control().unwrap().flush().await.unwrap();
    assert_eq!(engine.stats().cache_bytes, 0);
    let second = reads(numbers(0, 50)).await;
    assert_eq!((second.end.cached_tokens, &second.ids), (Some(0), &first.ids));

    let (id, long) = (AttemptId::fresh(), Params { max_tokens: 100_000, ..Params::default() });
    let mut running = engine.generate(id, prompt("b", numbers(3, 50)), &long);
    assert!(running.next().await.is_some());
    engine.control().unwrap().flush().await.unwrap();
    engine.abort(id).await.unwrap();
    assert_eq!(collect(running).await.end.ending, Ending::Aborted);
    assert_eq!(engine.stats().cache_bytes, 0);
}

#[tokio::test]
async fn a_budget_bounds_what_is_kept() {
    let engine = engine(Options { cache_bytes: 100_000, ..Options::default() });
    for at in 0..20 {
        reply(&engine, prompt(&format!("{at}"), numbers(at * 3, at * 3 + 60)), &greedy(5)).await;
        assert!(engine.stats().cache_bytes <= 100_000);
    }
    assert!(engine.stats().cache_bytes > 0);
}
