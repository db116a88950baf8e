//! What an engine samples and what comes through HTTP are the same, on every wire and with every fault.

use std::sync::Arc;
use std::time::Duration;

use verbatim_engine::{Ending, Engine, Params, Remedy, StopBy};
use verbatim_engine_http::{ExpertsShape, Options, Server, connect};
use verbatim_engine_mock::{BadLogprob, Experts, Fault, Mock, Width, Wire};
use verbatim_tokens::TokenId;

use crate::support::{Got, ask, mock, params, prompt, quick};

const LINE: [u32; 6] = [11, 12, 13, 14, 15, 2];
const PROMPT: [u32; 4] = [9, 8, 7, 6];

/// Every wire in every form in which its replies come.
const FORMS: [(Wire, bool, bool); 5] = [
    (Wire::Sglang, false, true),
    (Wire::Sglang, true, true),
    (Wire::Vllm, false, true),
    (Wire::Vllm, false, false),
    (Wire::LlamaCpp, false, true),
];

async fn serve((wire, incremental, tokens_api): (Wire, bool, bool)) -> (Mock, Server) {
    let (mock, _) = mock(wire, [LINE.to_vec()], |options| {
        (options.incremental, options.tokens_api) = (incremental, tokens_api);
        options.eos = vec![2];
    })
    .await;
    let server = connect(&mock.url(), None, &quick()).await.unwrap();
    (mock, server)
}

#[tokio::test]
async fn every_wire_gives_the_engines_own_turn() {
    for form in FORMS {
        let (mock, server) = serve(form).await;
        let (_same, sim) = crate::support::mock(form.0, [LINE.to_vec()], |_| {}).await;
        let direct = ask(&sim, prompt("mock", &PROMPT), &params()).await;
        let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await;
        assert_eq!((got.ids(), got.logprobs()), (direct.ids(), direct.logprobs()), "{form:?}");
        assert_eq!(got.end.ending, Ending::Stop(StopBy::Token(TokenId(2))), "{form:?}");
        assert_eq!(mock.in_flight(), 0);
    }
}

#[tokio::test]
async fn every_sampling_field_arrives_as_it_was_meant() {
    let asked = Params {
        max_tokens: 17,
        temperature: 0.7,
        top_p: 0.9,
        top_k: Some(40),
        min_p: 0.05,
        presence_penalty: 0.5,
        frequency_penalty: 0.25,
        repetition_penalty: 1.1,
        min_tokens: 2,
        stop_ids: vec![TokenId(2), TokenId(3)],
        seed: Some(7),
        lora: Some("tuned".into()),
        ..Params::default()
    };
    for form in FORMS {
        let (mock, _) = mock(form.0, [LINE.to_vec()], |options| {
            (options.incremental, options.tokens_api) = (form.1, form.2);
            options.adapters = vec!["tuned".into()];
        })
        .await;
        let server = connect(&mock.url(), None, &quick()).await.unwrap();
        let asked = match form.0 {
            // It knows no adapters by name, and says so before anything is sent.
            Wire::LlamaCpp => Params { lora: None, ..asked.clone() },
            _ => asked.clone(),
        };
        ask(server.engine.as_ref(), prompt("s", &PROMPT), &asked).await;
        let heard = mock.asked().pop().unwrap();
        let params = &heard.params;
        assert_eq!(
            (params.max_tokens, params.temperature, params.top_p, params.top_k, params.min_p),
            (17, 0.7, 0.9, Some(40), 0.05),
            "{form:?}"
        );
        assert_eq!((params.presence_penalty, params.frequency_penalty), (0.5, 0.25), "{form:?}");
        assert_eq!(params.seed, Some(7), "{form:?}");
        let capabilities = server.engine.capabilities();
        assert_eq!(params.repetition_penalty == 1.1, capabilities.repetition_penalty, "{form:?}");
        assert_eq!(params.min_tokens == 2, capabilities.min_tokens, "{form:?}");
        assert_eq!(heard.lora.as_deref(), asked.lora.as_deref(), "{form:?}");
        assert!(heard.ignored.is_empty(), "{form:?} did not know {:?}", heard.ignored);
        if form.0 != Wire::LlamaCpp {
            assert!(asked.stop_ids.iter().all(|id| params.stop_ids.contains(id)), "{form:?}");
        }
    }
}

#[tokio::test]
async fn a_stop_id_ends_a_turn_even_where_the_engine_knows_none() {
    for form in FORMS {
        let (_mock, server) = serve(form).await;
        let asked = Params { stop_ids: vec![TokenId(13)], ..params() };
        let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &asked).await;
        assert_eq!((got.ids(), got.logprobs().len()), (vec![11, 12, 13], 3), "{form:?}");
        assert_eq!(got.end.ending, Ending::Stop(StopBy::Token(TokenId(13))), "{form:?}");
    }
}

#[tokio::test]
async fn the_limit_ends_a_turn_as_length() {
    for form in FORMS {
        let (_mock, server) = serve(form).await;
        let got =
            ask(server.engine.as_ref(), prompt("s", &PROMPT), &Params { max_tokens: 3, ..params() }).await;
        assert_eq!((got.ids(), &got.end.ending), (vec![11, 12, 13], &Ending::Length), "{form:?}");
    }
}

/// What a fault must lead to: the remedy of a failure, or an attempt that ends well.
fn verdict(got: &Got) -> Option<Remedy> {
    match &got.end.ending {
        Ending::Failed(error) => Some(error.remedy()),
        _ => None,
    }
}

#[tokio::test]
async fn no_fault_passes_as_a_turn_and_no_token_is_wrong() {
    let resume = Some(Remedy::Resume);
    let discard = Some(Remedy::Discard);
    for form in FORMS {
        for (fault, expected) in [
            (Fault::QueueFull, resume),
            (Fault::TooMany, resume),
            (Fault::Status { status: 502, body: "bad gateway".into() }, resume),
            (Fault::Status { status: 400, body: r#"{"error":"no"}"#.into() }, Some(Remedy::Fail)),
            (Fault::Reset, resume),
            (Fault::Hang, resume),
            (Fault::Error { after: 2, status: 503, message: "gone".into() }, resume),
            (Fault::Cut { after: 2 }, resume),
            (Fault::CutByReset { after: 2 }, resume),
            (Fault::Stall { after: 2 }, resume),
        ] {
            let (mock, server) = serve(form).await;
            mock.fault(fault.clone());
            let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await;
            assert_eq!(verdict(&got), expected, "{form:?} {fault:?}: {:?}", got.end.ending);
            assert!(LINE.starts_with(&got.ids()), "{form:?} {fault:?}: {:?}", got.ids());
        }
        for fault in [Fault::MissingLogprob, Fault::ExtraLogprob, Fault::Count(1), Fault::Count(-1)] {
            let (mock, server) = serve(form).await;
            mock.fault(fault.clone());
            let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await;
            // llama.cpp leaves probabilities out in good faith; completions have no count of their own.
            let honest = matches!((form.0, &fault), (Wire::LlamaCpp, Fault::MissingLogprob));
            if !honest {
                assert_eq!(verdict(&got), discard, "{form:?} {fault:?}: {:?}", got.end.ending);
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_logprob_is_none_and_never_a_number() {
    for form in FORMS {
        for bad in [BadLogprob::Null, BadLogprob::Sentinel] {
            let (mock, server) = serve(form).await;
            mock.fault(Fault::Logprob { at: 1, bad });
            let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await;
            let known: Vec<bool> = got.sampled().logprobs().iter().map(|value| value.is_some()).collect();
            assert_eq!(known, [true, false, true, true, true, true], "{form:?} {bad:?}");
        }
    }
}

#[tokio::test]
async fn splitting_and_joining_chunks_changes_nothing() {
    for form in FORMS {
        for fault in [
            Fault::Split { bytes: 1, pause: Duration::ZERO },
            Fault::Split { bytes: 7, pause: Duration::from_micros(100) },
            Fault::Coalesce(4),
            Fault::Glue(3),
            Fault::Slow(Duration::from_millis(2)),
        ] {
            let (mock, server) = serve(form).await;
            mock.fault(fault.clone());
            let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await;
            assert_eq!(got.ids(), LINE, "{form:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn routed_experts_of_a_conversation_join_without_a_gap() {
    for wire in [Wire::Sglang, Wire::Vllm] {
        let routes = Experts { layers: 3, top_k: 2, experts: 60, width: Width::U8 };
        let (mock, _) = mock(wire, [vec![11, 12, 2], vec![13, 2]], |options| {
            options.experts = Some(routes);
            options.eos = vec![2];
        })
        .await;
        let options = Options { experts: Some(ExpertsShape { layers: 3, top_k: 2 }), ..quick() };
        let server = connect(&mock.url(), None, &options).await.unwrap();
        assert!(server.engine.capabilities().experts, "{wire:?}");
        let mut first = prompt("s", &PROMPT);
        first.experts_from = Some(0);
        let one = ask(server.engine.as_ref(), first, &params()).await;
        let told = one.end.experts.clone().unwrap();
        let whole: Vec<u32> = PROMPT.iter().copied().chain(one.ids()).chain([21, 22]).collect();
        let mut second = prompt("s", &whole);
        second.experts_from = Some(told.end());
        let two = ask(server.engine.as_ref(), second, &params()).await;
        let joined = told.join(two.end.experts.as_ref().unwrap()).unwrap();
        let all: Vec<u32> = whole.iter().copied().chain(two.ids()).collect();
        assert_eq!(joined.rows(), all.len() - 1, "{wire:?}: every token but the last was forwarded");
        for (at, id) in all[..all.len() - 1].iter().enumerate() {
            let row: Vec<u32> = routes.row(at, *id).iter().map(|expert| *expert as u32).collect();
            assert_eq!(joined.row(at), Some(row), "{wire:?} position {at}");
        }
    }
}

#[tokio::test]
async fn scoring_is_the_logprob_that_sampling_told() {
    for wire in [Wire::Sglang, Wire::Vllm] {
        let (_mock, server) = serve((wire, false, true)).await;
        let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await;
        let ids: Vec<TokenId> = PROMPT.iter().copied().chain(got.ids()).map(TokenId).collect();
        let scored = server.engine.score().unwrap().score(ids.clone(), 0).await.unwrap();
        assert_eq!((scored.len(), scored[0]), (ids.len(), None));
        for (at, told) in got.logprobs().into_iter().enumerate() {
            let gap = (told.unwrap() - scored[PROMPT.len() + at].unwrap()).abs();
            assert!(gap < 1e-5, "{wire:?} token {at}: {gap}");
        }
    }
}

#[tokio::test]
async fn a_prompt_the_engine_cannot_hold_is_refused_for_good() {
    for form in FORMS {
        let (_mock, server) = serve(form).await;
        let long = vec![9; 40_000];
        let got = ask(server.engine.as_ref(), prompt("s", &long), &params()).await;
        assert_eq!(verdict(&got), Some(Remedy::Fail), "{form:?}: {:?}", got.end.ending);
    }
}

#[tokio::test]
async fn many_at_once_do_not_mix() {
    let (mock, _) =
        mock(Wire::Sglang, (0..1).map(|_| LINE.to_vec()), |options| options.incremental = true).await;
    let server = connect(&mock.url(), None, &Options::default()).await.unwrap();
    let engine: Arc<dyn Engine> = server.engine;
    let all = (0..32u32).map(|at| {
        let engine = Arc::clone(&engine);
        async move {
            let own = [9, 8, 100 + at];
            let got = ask(engine.as_ref(), prompt(&format!("s{at}"), &own), &params()).await;
            let scorer = engine.score().unwrap();
            let ids = own.iter().copied().chain(got.ids()).map(TokenId).collect();
            (got, scorer.score(ids, 3).await.unwrap())
        }
    });
    for (got, scored) in futures::future::join_all(all).await {
        assert_eq!(got.ids(), LINE);
        let gaps = got.logprobs().into_iter().zip(&scored[3..]);
        assert!(gaps.into_iter().all(|(told, scored)| (told.unwrap() - scored.unwrap()).abs() < 1e-5));
    }
}
