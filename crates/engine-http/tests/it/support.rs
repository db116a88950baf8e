//! Servers to ask, and what came back.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use verbatim_engine::{
    AttemptId, Attempts, Conversation, End, Ending, Engine, Increment, Params, Piece, Prompt, SessionKey,
};
use verbatim_engine_http::{Kind, Options, Server, connect};
use verbatim_engine_mock::{Canned, Mock, Reply, Wire};
use verbatim_engine_sim::{Latency, Line, SimEngine, SimOptions};
use verbatim_tokens::{LogprobKind, Sampled, TokenId};

/// What an attempt yielded.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) increments: Vec<Increment>,
    pub(crate) end: End,
}

impl Got {
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.increments.iter().flat_map(|increment| TokenId::raw(&increment.ids).to_vec()).collect()
    }

    pub(crate) fn logprobs(&self) -> Vec<Option<f32>> {
        self.increments.iter().flat_map(|increment| increment.logprobs.clone()).collect()
    }

    /// The turn that it is, through the one door there is.
    pub(crate) fn sampled(&self) -> Sampled {
        let mut attempts = Attempts::new(LogprobKind::Raw, 1000);
        self.increments.iter().for_each(|increment| attempts.push(increment.clone()).unwrap());
        attempts.end(&self.end);
        attempts.finish().unwrap()
    }

    /// One version a token, `?` where it is unknown.
    pub(crate) fn versions(&self) -> Vec<String> {
        let sampled = self.sampled();
        let each = sampled.versions().iter();
        each.flat_map(|(version, count)| vec![version.as_ref().map_or("?".into(), |v| v.to_string()); count])
            .collect()
    }

    pub(crate) fn failure(&self) -> &verbatim_engine::EngineError {
        match &self.end.ending {
            Ending::Failed(error) => error,
            other => panic!("it did not fail but {other:?}"),
        }
    }
}

pub(crate) fn prompt(session: &str, ids: &[u32]) -> Prompt {
    Prompt::new(ids.iter().copied().map(TokenId).collect::<Vec<_>>(), SessionKey(session.into()))
}

/// The same with what an engine that parses wants to know.
pub(crate) fn spelt(ids: &[u32]) -> Prompt {
    let message = verbatim_chat::Message::new(verbatim_chat::Role::User, "hi");
    let conversation = Conversation { setup: Arc::default(), messages: vec![Arc::new(message)] };
    Prompt { conversation: Some(Arc::new(conversation)), ..prompt("s", ids) }
}

pub(crate) fn params() -> Params {
    Params { max_tokens: 64, stop_ids: vec![TokenId(2)], ..Params::default() }
}

pub(crate) async fn ask(engine: &dyn Engine, prompt: Prompt, params: &Params) -> Got {
    collect(engine.generate(AttemptId::fresh(), prompt, params)).await
}

/// Reads an attempt to its end, which must be one and the last.
pub(crate) async fn collect(mut pieces: futures::stream::BoxStream<'static, Piece>) -> Got {
    let mut increments = Vec::new();
    let end = loop {
        let piece = tokio::time::timeout(Duration::from_secs(20), pieces.next()).await.expect("it hangs");
        match piece.expect("a stream without an end") {
            Piece::More(increment) => increments.push(increment),
            Piece::End(end) => break end,
        }
    };
    assert!(pieces.next().await.is_none(), "something follows the end");
    Got { increments, end }
}

/// A SGLang that says of itself what it must, and answers `/generate` with exact bytes.
pub(crate) async fn sglang(incremental: bool, reply: Reply, options: &Options) -> (Canned, Server) {
    let info = json!({
        "version": "0.5.17", "tp_size": 1, "served_model_name": "policy", "context_length": 4096,
        "incremental_streaming_output": incremental, "enable_return_routed_experts": true,
    });
    let model = json!({"weight_version": "17"});
    let canned = Canned::start([
        ("/server_info", Reply::json(200, info.to_string())),
        ("/model_info", Reply::json(200, model.to_string())),
        ("/generate", reply.clone()),
        ("/v1/chat/completions", reply),
    ])
    .await
    .unwrap();
    let server = connect(&canned.url(), None, options).await.unwrap();
    assert_eq!(server.kind, Kind::Sglang);
    (canned, server)
}

/// A vLLM that answers its generate route with exact bytes.
pub(crate) async fn vllm(reply: Reply, options: &Options) -> (Canned, Server) {
    let models = json!({"data": [{"id": "policy", "max_model_len": 4096}]});
    let canned = Canned::start([
        ("/version", Reply::json(200, r#"{"version":"0.32.0"}"#)),
        ("/v1/models", Reply::json(200, models.to_string())),
        ("/weight_info", Reply::json(200, r#"{"weight_version":"17"}"#)),
        (
            "/server_info",
            Reply::json(200, r#"{"c":{"enable_return_routed_experts":true,"logprobs_mode":"raw_logprobs"}}"#),
        ),
        // What the look at an empty request gets; then the reply.
        ("/inference/v1/generate", Reply::json(400, r#"{"error":{"message":"token_ids","code":400}}"#)),
        ("/inference/v1/generate", reply.clone()),
        ("/inference/v1/abort_requests", Reply::json(200, "")),
        ("/v1/chat/completions", reply),
    ])
    .await
    .unwrap();
    let server = connect(&canned.url(), None, options).await.unwrap();
    assert_eq!(server.kind, Kind::Vllm);
    (canned, server)
}

/// A llama.cpp that answers `/completion` with exact bytes.
pub(crate) async fn llamacpp(reply: Reply) -> (Canned, Server) {
    let props = json!({"default_generation_settings": {"n_ctx": 4096}, "model_path": "m/policy.gguf"});
    let canned = Canned::start([("/props", Reply::json(200, props.to_string())), ("/completion", reply)])
        .await
        .unwrap();
    let server = connect(&canned.url(), None, &Options::default()).await.unwrap();
    assert_eq!(server.kind, Kind::LlamaCpp);
    (canned, server)
}

/// Server-sent events that end with `[DONE]`.
pub(crate) fn events(chunks: &[Value]) -> Reply {
    let chunks: Vec<String> = chunks.iter().map(Value::to_string).chain(["[DONE]".into()]).collect();
    Reply::events(chunks.iter().map(String::as_str))
}

/// A mock over an engine that says `lines`, a session's first attempt the first of them.
pub(crate) async fn mock(
    wire: Wire,
    lines: impl IntoIterator<Item = Vec<u32>>,
    adjust: impl FnOnce(&mut verbatim_engine_mock::Options),
) -> (Mock, SimEngine) {
    slow_mock(wire, Duration::ZERO, lines, adjust).await
}

/// The same, with an engine that takes so long for each token.
pub(crate) async fn slow_mock(
    wire: Wire,
    token: Duration,
    lines: impl IntoIterator<Item = Vec<u32>>,
    adjust: impl FnOnce(&mut verbatim_engine_mock::Options),
) -> (Mock, SimEngine) {
    let line = |ids: Vec<u32>| Line { ids: ids.into_iter().map(TokenId).collect(), fault: None };
    let script = verbatim_engine_sim::Playbook::new(lines.into_iter().map(line));
    let latency = Latency { decode_token: token, ..Latency::NONE };
    let sim = SimEngine::new(SimOptions { latency, ..SimOptions::default() }, script);
    let mut options = verbatim_engine_mock::Options::new(wire);
    options.weight_version = Some("default".into());
    adjust(&mut options);
    (Mock::start(Arc::new(sim.clone()), options).await.unwrap(), sim)
}

/// Short waits, so that tests of waiting are short.
pub(crate) fn quick() -> Options {
    Options {
        silence: Duration::from_millis(400),
        abort_wait: Duration::from_millis(200),
        control: Duration::from_secs(5),
        ..Options::default()
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..400 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
