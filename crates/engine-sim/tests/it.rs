//! The simulated engine, and the probe on engines that lose what training needs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

use std::sync::Arc;

use futures::StreamExt;
use verbatim_engine::{
    AttemptId, Attempts, Ending, Engine, EngineError, Missing, Params, Piece, ProbeFailed, Prompt,
    SessionKey, StopBy, probe,
};
use verbatim_engine_sim::{Drawn, Fault, Line, Playbook, SimEngine, SimOptions};
use verbatim_tokens::{Sampled, TokenId, Version};

fn ids(raw: &[u32]) -> Vec<TokenId> {
    raw.iter().copied().map(TokenId).collect()
}

fn saying(fault: Option<Fault>) -> SimEngine {
    let line = Line { ids: ids(&[5, 6, 7, 8, 2]), fault };
    SimEngine::new(SimOptions { vocabulary: 100, ..SimOptions::default() }, Playbook::new([line]))
}

fn prompt(raw: &[u32]) -> Prompt {
    Prompt::new(ids(raw), SessionKey("s".into()))
}

fn params() -> Params {
    Params { stop_ids: ids(&[2]), ..Params::default() }
}

/// Everything an attempt yields.
async fn run(engine: &SimEngine, prompt: Prompt, params: &Params) -> (Result<Sampled, EngineError>, Ending) {
    let mut attempts = Attempts::new(engine.capabilities().logprobs, params.max_tokens);
    let mut pieces = engine.generate(AttemptId::fresh(), prompt, params);
    while let Some(piece) = pieces.next().await {
        match piece {
            Piece::More(increment) => {
                if let Err(error) = attempts.push(increment) {
                    return (Err(error.clone()), Ending::Failed(error));
                }
            }
            Piece::End(end) => return (attempts.finish(), end.ending),
        }
    }
    (attempts.finish(), Ending::Failed(EngineError::Cut { tokens: 0, reason: String::new() }))
}

#[tokio::test]
async fn a_healthy_engine_passes_its_probe() {
    let report = probe(&saying(None), ids(&[1]).into()).await.unwrap();
    assert_eq!((report.tokens, report.versions), (4, true));
}

#[tokio::test]
async fn the_probe_names_what_is_lost() {
    let start: Arc<[TokenId]> = ids(&[1]).into();
    let lost = |failed| match failed {
        Err(ProbeFailed::Loses { missing, .. }) => missing,
        other => panic!("{other:?}"),
    };
    let without = probe(&saying(Some(Fault::NoLogprobs)), Arc::clone(&start)).await;
    assert_eq!(lost(without), [Missing::Logprobs { with: 0, of: 4 }]);
    let silent = SimEngine::new(SimOptions::default(), Playbook::new([Line::default()]));
    assert_eq!(lost(probe(&silent, Arc::clone(&start)).await), [Missing::Ids]);
    let foreign = Line { ids: ids(&[5, 2000]), fault: None };
    let foreign =
        SimEngine::new(SimOptions { vocabulary: 100, ..SimOptions::default() }, Playbook::new([foreign]));
    let missing = lost(probe(&foreign, Arc::clone(&start)).await);
    assert_eq!(missing, [Missing::Vocabulary { id: TokenId(2000), vocabulary: 100 }]);
    for fault in [Fault::ShortLogprobs, Fault::DiesAfter(1), Fault::CutAfter(1)] {
        let failed = probe(&saying(Some(fault)), Arc::clone(&start)).await;
        assert!(matches!(failed, Err(ProbeFailed::Failed { .. })), "{fault:?}: {failed:?}");
    }
}

#[tokio::test]
async fn a_rows_logprobs_are_found_again_by_scoring_and_a_shift_is_seen() {
    let engine = saying(None);
    let (sampled, ending) = run(&engine, prompt(&[1, 3]), &params()).await;
    let sampled = sampled.unwrap();
    assert_eq!(ending, Ending::Stop(StopBy::Token(TokenId(2))));
    let whole = [ids(&[1, 3]), sampled.ids().to_vec()].concat();
    let scored = engine.score().unwrap().score(whole, 0).await.unwrap();
    assert_eq!(scored[0], None);
    let recorded: Vec<Option<f32>> = sampled.logprobs().iter().collect();
    assert_eq!(scored[2..], recorded[..]);
    assert_ne!(scored[1..scored.len() - 1], recorded[..]);
}

#[tokio::test]
async fn drawn_text_follows_from_the_seed_and_the_request() {
    let drawn = Drawn { ids: (10..50).map(TokenId).collect(), stop: TokenId(2), mean: 20 };
    let engine = |seed| SimEngine::new(SimOptions { seed, ..SimOptions::default() }, drawn.clone());
    let say = async |seed, asked| {
        let params = Params { seed: Some(asked), ..params() };
        run(&engine(seed), prompt(&[1]), &params).await.0.unwrap().ids().to_vec()
    };
    assert_eq!(say(1, 7).await, say(1, 7).await);
    assert_ne!(say(1, 7).await, say(2, 7).await);
    assert_ne!(say(1, 7).await, say(1, 8).await);
}

#[tokio::test]
async fn prompts_that_do_not_fit_are_refused() {
    let engine = SimEngine::new(
        SimOptions { max_context: 4, vocabulary: 10, ..SimOptions::default() },
        Playbook::new([]),
    );
    let refused = async |raw: &[u32]| match run(&engine, prompt(raw), &params()).await.1 {
        Ending::Failed(error) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[1, 1, 1, 1]).await, EngineError::Context { prompt: 4, context: 4 });
    assert_eq!(refused(&[11]).await, EngineError::Vocabulary { id: TokenId(11), vocabulary: 10 });
}

#[tokio::test]
async fn versions_are_those_of_the_moment() {
    let engine = saying(None);
    run(&engine, prompt(&[1]), &params()).await.0.unwrap();
    engine.set_version(Version::new("7"));
    let (sampled, _) = run(&engine, prompt(&[1]), &params()).await;
    assert_eq!(sampled.unwrap().versions().get(0), Some(&Some(Version::new("7"))));
    assert_eq!(engine.control().unwrap().version().await.unwrap(), Some(Version::new("7")));
}
