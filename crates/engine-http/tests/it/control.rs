//! Aborting, pausing and versions, against servers that do it as the real ones do.

use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use verbatim_engine::{AttemptId, Ending, EngineError, Health, Order, PauseMode, Piece, Prompt, SessionKey};
use verbatim_engine_http::{Options, connect};
use verbatim_engine_mock::{Fault, Wire};
use verbatim_tokens::Version;

use crate::support::{ask, collect, mock, params, prompt, quick, slow_mock, until};

/// How long a token takes where something is to happen meanwhile.
const TOKEN: Duration = Duration::from_millis(4);

/// A long turn that takes its time.
fn long() -> Vec<u32> {
    (0..400).map(|at| 100 + at).collect()
}

#[tokio::test]
async fn an_aborted_attempt_gives_back_what_it_has() {
    for (wire, incremental) in [(Wire::Sglang, false), (Wire::Sglang, true), (Wire::Vllm, false)] {
        let (mock, _) = slow_mock(wire, TOKEN, [long()], |options| options.incremental = incremental).await;
        let server = connect(&mock.url(), None, &Options::default()).await.unwrap();
        let id = AttemptId::fresh();
        let asked = verbatim_engine::Params { max_tokens: 400, ..params() };
        let pieces = server.engine.generate(id, prompt("s", &[9, 8]), &asked);
        let reading = tokio::spawn(collect(pieces));
        until("it samples", || mock.running() == 1).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        server.engine.abort(id).await.unwrap();
        let got = reading.await.unwrap();
        assert_eq!(got.end.ending, Ending::Aborted, "{wire:?}");
        assert!(!got.ids().is_empty() && got.ids().len() < 400, "{wire:?}: {} ids", got.ids().len());
        assert!(long().starts_with(&got.ids()), "{wire:?}");
        until("the server let go", || mock.in_flight() == 0).await;
    }
}

#[tokio::test]
async fn a_dropped_stream_leaves_nothing_at_the_server() {
    for wire in [Wire::Sglang, Wire::Vllm, Wire::LlamaCpp] {
        let (mock, _) = slow_mock(wire, TOKEN, [long()], |_| {}).await;
        let server = connect(&mock.url(), None, &Options::default()).await.unwrap();
        let asked = verbatim_engine::Params { max_tokens: 400, ..params() };
        let pieces = server.engine.generate(AttemptId::fresh(), prompt("s", &[9, 8]), &asked);
        let reading = tokio::spawn(async move { pieces.count().await });
        until("it samples", || mock.running() == 1).await;
        reading.abort();
        until("the server let go", || mock.in_flight() == 0).await;
    }
}

#[tokio::test]
async fn v23_aborting_one_attempt_leaves_every_other_alone() {
    // SGLang aborts whatever begins with the name it is given.
    let (mock, _) = slow_mock(Wire::Sglang, TOKEN, [long()], |options| options.incremental = true).await;
    let server = connect(&mock.url(), None, &Options::default()).await.unwrap();
    let asked = verbatim_engine::Params { max_tokens: 60, ..params() };
    let mut all = Vec::new();
    for at in 0..8 {
        let id = AttemptId::fresh();
        let pieces = server.engine.generate(id, prompt(&format!("s{at}"), &[9, at]), &asked);
        all.push((id, tokio::spawn(collect(pieces))));
    }
    until("all sample", || mock.running() == 8).await;
    server.engine.abort(all[0].0).await.unwrap();
    for (at, (_, reading)) in all.into_iter().enumerate() {
        let got = reading.await.unwrap();
        match at {
            0 => assert_eq!(got.end.ending, Ending::Aborted),
            _ => assert_eq!((got.end.ending, got.increments.is_empty()), (Ending::Length, false)),
        }
    }
}

#[tokio::test]
async fn v22_a_server_that_holds_a_request_without_a_word_is_a_failure_with_a_deadline() {
    let (mock, _) = mock(Wire::Sglang, [vec![11, 2]], |_| {}).await;
    let server = connect(&mock.url(), None, &quick()).await.unwrap();
    server.engine.control().unwrap().pause(PauseMode::Abort).await.unwrap();
    let got = ask(server.engine.as_ref(), prompt("s", &[9]), &params()).await;
    assert!(got.failure().to_string().contains("silent"), "{:?}", got.end.ending);
    assert_eq!(mock.seen_at("/generate").len(), 1, "no storm of retries");
}

#[tokio::test]
async fn a_paused_engine_is_paused_and_not_down() {
    for (wire, legacy) in [(Wire::Sglang, false), (Wire::Sglang, true), (Wire::Vllm, false)] {
        let (mock, _) = mock(wire, [vec![11, 2]], |options| options.legacy = legacy).await;
        let server = connect(&mock.url(), None, &quick()).await.unwrap();
        let control = server.engine.control().unwrap();
        assert_eq!(control.health().await, Health::Ready, "{wire:?}");
        for mode in [PauseMode::Abort, PauseMode::Retract, PauseMode::InPlace, PauseMode::Drain] {
            control.pause(mode).await.unwrap();
            assert!(mock.paused());
            assert_eq!(control.health().await, Health::Paused, "{wire:?} {mode:?}");
            control.resume().await.unwrap();
            assert_eq!(control.health().await, Health::Ready, "{wire:?} {mode:?}");
        }
        mock.kill().await;
        assert!(matches!(control.health().await, Health::Down { .. }), "{wire:?}");
    }
}

#[tokio::test]
async fn what_runs_through_a_pause_keeps_its_tokens() {
    for (wire, mode) in [
        (Wire::Sglang, PauseMode::Retract),
        (Wire::Sglang, PauseMode::InPlace),
        (Wire::Vllm, PauseMode::Retract),
        (Wire::Vllm, PauseMode::InPlace),
        (Wire::Vllm, PauseMode::Drain),
    ] {
        let (mock, _) = slow_mock(wire, TOKEN, [long()], |options| options.incremental = true).await;
        let server = connect(&mock.url(), None, &Options::default()).await.unwrap();
        let asked = verbatim_engine::Params { max_tokens: 40, ..params() };
        let pieces = server.engine.generate(AttemptId::fresh(), prompt("s", &[9, 8]), &asked);
        let reading = tokio::spawn(collect(pieces));
        until("it samples", || mock.running() == 1).await;
        let control = server.engine.control().unwrap();
        control.pause(mode).await.unwrap();
        control.set_version(Version::new("2")).await.unwrap();
        control.resume().await.unwrap();
        let got = reading.await.unwrap();
        assert_eq!(
            (got.ids(), &got.end.ending),
            (long()[..40].to_vec(), &Ending::Length),
            "{wire:?} {mode:?}"
        );
        let versions = got.versions();
        assert!(
            versions.iter().all(|version| ["default", "2", "?"].contains(&version.as_str())),
            "{versions:?}"
        );
        let order: Vec<_> = versions.iter().filter(|version| *version != "?").collect();
        assert!(order.is_sorted_by_key(|version| *version == "2"), "{wire:?} {mode:?}: {versions:?}");
    }
}

#[tokio::test]
async fn a_version_is_told_and_asked_without_aborting_anything() {
    for wire in [Wire::Sglang, Wire::Vllm] {
        let (mock, _) = mock(wire, [vec![11, 12, 2]], |options| options.eos = vec![2]).await;
        let server = connect(&mock.url(), None, &quick()).await.unwrap();
        let control = server.engine.control().unwrap();
        assert_eq!(control.version().await.unwrap(), Some(Version::new("default")), "{wire:?}");
        control.set_version(Version::new("7")).await.unwrap();
        assert_eq!(control.version().await.unwrap(), Some(Version::new("7")), "{wire:?}");
        let got = ask(server.engine.as_ref(), prompt("s", &[9]), &params()).await;
        assert_eq!(got.versions(), ["7", "7", "7"], "{wire:?}");
        control.flush().await.unwrap();
        let load = control.load().await.unwrap();
        assert_eq!((load.running, load.waiting), (0, 0), "{wire:?}");
    }
}

#[tokio::test]
async fn sglang_is_told_whose_session_it_serves_and_that_it_is_over() {
    let (mock, _) = mock(Wire::Sglang, [vec![11, 2]], |options| options.eos = vec![2]).await;
    let server = connect(&mock.url(), None, &quick()).await.unwrap();
    let before = mock.seen_at("/generate").len();
    for labelled in [true, false] {
        let prompt = Prompt { labelled, ..prompt("s", &[9, 8, 7]) };
        ask(server.engine.as_ref(), prompt, &params()).await;
    }
    let told: Vec<_> =
        mock.seen_at("/generate")[before..].iter().map(|seen| seen.json()["session_id"].clone()).collect();
    assert_eq!(told, [json!("s"), json!(null)]);
    let control = server.engine.control().unwrap();
    control.close_session(&SessionKey("s".into())).await.unwrap();
    assert_eq!(mock.seen_at("/close_session")[0].json(), json!({"session_id": "s"}));
    control.load_weights(std::path::Path::new("/weights/7")).await.unwrap();
    let asked = mock.seen_at("/update_weights_from_disk")[0].json();
    assert_eq!((&asked["model_path"], &asked["abort_all_requests"]), (&json!("/weights/7"), &json!(false)));
}

#[tokio::test]
async fn a_prefix_is_found_again_under_its_own_salt_only() {
    for wire in [Wire::Sglang, Wire::Vllm] {
        let (mock, _) = mock(wire, [vec![11, 2]], |options| options.eos = vec![2]).await;
        let server = connect(&mock.url(), None, &quick()).await.unwrap();
        let ids: Vec<u32> = (0..64).map(|at| at % 50 + 3).collect();
        let mut cached = Vec::new();
        for salt in ["1", "1", "2", "2"] {
            let prompt = Prompt { salt: Some(salt.into()), ..prompt("s", &ids) };
            cached.push(
                ask(server.engine.as_ref(), prompt, &params()).await.end.cached_tokens.unwrap_or(0) > 0,
            );
        }
        assert_eq!(cached, [false, true, false, true], "{wire:?}");
        if wire == Wire::Vllm {
            let closed = server.engine.control().unwrap().close_session(&SessionKey("s".into())).await;
            assert!(matches!(closed, Err(EngineError::Unsupported { .. })), "{closed:?}");
        }
    }
}

#[tokio::test]
async fn keys_open_what_they_must() {
    let (mock, _) = mock(Wire::Sglang, [vec![11, 2]], |options| {
        (options.api_key, options.admin_key) = (Some("user".into()), Some("admin".into()));
        options.eos = vec![2];
    })
    .await;
    let options = Options { api_key: Some("user".into()), admin_key: Some("admin".into()), ..quick() };
    let server = connect(&mock.url(), None, &options).await.unwrap();
    assert_eq!(ask(server.engine.as_ref(), prompt("s", &[9]), &params()).await.ids(), [11, 2]);
    server.engine.control().unwrap().flush().await.unwrap();
    let without = connect(&mock.url(), None, &quick()).await.err().unwrap();
    assert!(without.to_string().contains("401"), "{without}");
}

#[tokio::test]
async fn orders_to_what_has_no_such_function_say_so() {
    let (mock, _) = mock(Wire::LlamaCpp, [vec![11, 2]], |_| {}).await;
    let server = connect(&mock.url(), None, &quick()).await.unwrap();
    let control = server.engine.control().unwrap();
    let answer =
        verbatim_engine::give("l".into(), control, &Order::Pause(PauseMode::Abort), Duration::from_secs(1));
    assert_eq!(answer.await.outcome.unwrap_err().to_string(), "this engine cannot pause");
    let (mock, _) = crate::support::mock(Wire::Vllm, [vec![11, 2]], |options| options.dev_mode = false).await;
    let server = connect(&mock.url(), None, &quick()).await.unwrap();
    let refused = server.engine.control().unwrap().pause(PauseMode::Abort).await.unwrap_err();
    assert_eq!(refused.to_string(), "this engine cannot pause");
    let pieces = server.engine.generate(AttemptId::fresh(), prompt("s", &[9]), &params());
    let pieces: Vec<Piece> = pieces.collect().await;
    assert!(matches!(pieces.last(), Some(Piece::End(_))));
}

#[tokio::test]
async fn draining_waits_for_what_is_still_on_its_way() {
    for wire in [Wire::Sglang, Wire::Vllm] {
        let (mock, _) = mock(wire, [vec![11, 12, 2]], |options| {
            (options.eos, options.legacy) = (vec![2], true);
        })
        .await;
        let server = connect(&mock.url(), None, &Options::default()).await.unwrap();
        mock.fault(Fault::Late(Duration::from_millis(200)));
        let pieces = server.engine.generate(AttemptId::fresh(), prompt("s", &[9]), &params());
        let reading = tokio::spawn(collect(pieces));
        server.engine.control().unwrap().pause(PauseMode::Drain).await.unwrap();
        assert_eq!(mock.in_flight(), 0, "{wire:?}: nothing waits inside");
        let got =
            tokio::time::timeout(Duration::from_secs(1), reading).await.expect("it was let in").unwrap();
        assert_eq!(got.ids(), [11, 12, 2], "{wire:?}");
    }
}
