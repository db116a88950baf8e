//! Weights that take the place of others.

use futures::StreamExt;
use verbatim_engine::{AttemptId, Control, Ending, Engine, EngineError, Params, Piece, Prompt, SessionKey};
use verbatim_engine_embedded::{EmbeddedEngine, Options};
use verbatim_tokens::{TokenId, Version};

use crate::reply::{collect, gap, reply};
use crate::tiny::{Kind, Tensors, folder, folder_of, tensors};

/// The weights after a step of training: all a little off.
fn trained(kind: Kind) -> Tensors {
    let mut trained = tensors(kind);
    for (at, (_, values)) in trained.values_mut().enumerate() {
        values.iter_mut().for_each(|value| *value += 0.01 * (at % 3) as f32 - 0.01);
    }
    trained
}

fn prompt() -> Prompt {
    let ids: Vec<u32> = (0..40).map(|at| at * 7 % 60).collect();
    Prompt::new(TokenId::wrap(&ids), SessionKey("s".into()))
}

fn params(max_tokens: u32) -> Params {
    Params { max_tokens, temperature: 0.0, ..Params::default() }
}

#[tokio::test]
async fn new_weights_compute_as_if_they_had_been_there_from_the_start() {
    for kind in [Kind::Llama, Kind::Qwen3] {
        let (old, new) = (folder(kind), folder_of(kind, &trained(kind)));
        let (engine, _) = EmbeddedEngine::load(old.path(), Options::default()).unwrap();
        let before = reply(&engine, prompt(), &params(12)).await;
        Control::load_weights(&engine, new.path()).await.unwrap();
        Control::set_version(&engine, Version::new("2")).await.unwrap();
        let after = reply(&engine, prompt(), &params(12)).await;
        let (fresh, _) = EmbeddedEngine::load(new.path(), Options::default()).unwrap();
        let expected = reply(&fresh, prompt(), &params(12)).await;
        assert_eq!(after.ids, expected.ids);
        assert_eq!(after.logprobs, expected.logprobs, "no prefix of the old weights is used: bit for bit");
        assert!(gap(&after.logprobs[..1], &before.logprobs[..1]) > 1e-3, "and they are others");
        assert_eq!(Control::version(&engine).await.unwrap(), Some(Version::new("2")));
    }
}

#[tokio::test]
async fn an_attempt_that_runs_is_aborted_with_what_it_has() {
    let (old, new) = (folder(Kind::Qwen3), folder_of(Kind::Qwen3, &trained(Kind::Qwen3)));
    let (engine, _) = EmbeddedEngine::load(old.path(), Options::default()).unwrap();
    let mut pieces = engine.generate(AttemptId::fresh(), prompt(), &params(50_000));
    assert!(matches!(pieces.next().await, Some(Piece::More(_))));
    Control::load_weights(&engine, new.path()).await.unwrap();
    let rest = collect(pieces).await;
    assert!(matches!(rest.end.ending, Ending::Aborted), "{:?}", rest.end);
}

#[tokio::test]
async fn weights_of_another_shape_are_refused_and_the_old_ones_stay() {
    let old = folder(Kind::Qwen3);
    let (engine, _) = EmbeddedEngine::load(old.path(), Options::default()).unwrap();
    let before = reply(&engine, prompt(), &params(5)).await;
    let mut wrong = tensors(Kind::Qwen3);
    wrong.get_mut("model.norm.weight").unwrap().0 = vec![32, 2];
    let wrong = folder_of(Kind::Qwen3, &wrong);
    let empty = tempfile::tempdir().unwrap();
    for (path, says) in [(wrong.path(), "model.norm.weight"), (empty.path(), "cannot be loaded")] {
        match Control::load_weights(&engine, path).await {
            Err(EngineError::Refused { message }) => assert!(message.contains(says), "{message}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reply(&engine, prompt(), &params(5)).await.logprobs, before.logprobs);
}
