//! `verbatim-bench engines`: what the HTTP clients cost.
//!
//! The promise: beside every figure stands that of a bare call with the same body and the same reply,
//! which is read to its end and not looked at; both are the CPU of one thread, in the kernel and out of
//! it, and the server has another.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::{Context, ensure};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use verbatim_engine::{AttemptId, Attempts, Ending, Engine, Params, Piece, Prompt, SessionKey};
use verbatim_engine_http::{Kind, Options, connect};
use verbatim_tokens::{LogprobKind, TokenId};

use crate::args::Engines;

/// One way in which an engine replies.
#[derive(Clone, Copy)]
enum Form {
    SglangWhole,
    SglangEvents,
    VllmEvents,
    LlamaWhole,
}

const FORMS: [(Form, &str); 4] = [
    (Form::SglangWhole, "sglang, whole reply"),
    (Form::SglangEvents, "sglang, incremental stream"),
    (Form::VllmEvents, "vllm, stream"),
    (Form::LlamaWhole, "llama.cpp, whole reply"),
];

/// Times every form, each time both ways in turn, and prints medians.
pub(crate) async fn run(args: &Engines) -> anyhow::Result<()> {
    println!(
        "CPU per 1,000 tokens of replies of {} tokens with logprobs, prompt of {} tokens, median of {}",
        args.tokens, args.prompt, args.runs
    );
    println!("{:<28} {:>10} {:>10} {:>9} {:>8}", "", "bare call", "client", "ratio", "bytes");
    for (form, name) in FORMS {
        let (bare, ours, bytes) = measure(form, args).await.with_context(|| name.to_owned())?;
        let each = 1000.0 / f64::from(args.tokens);
        println!(
            "{name:<28} {:>7.0} µs {:>7.0} µs {:>8.1}x {:>8}",
            bare * each,
            ours * each,
            ours / bare,
            bytes
        );
    }
    Ok(())
}

async fn measure(form: Form, args: &Engines) -> anyhow::Result<(f64, f64, usize)> {
    let reply = reply(form, args.tokens);
    let bytes = reply.len();
    let address = serve(form, reply)?;
    let kind = match form {
        Form::SglangWhole | Form::SglangEvents => Kind::Sglang,
        Form::VllmEvents => Kind::Vllm,
        Form::LlamaWhole => Kind::LlamaCpp,
    };
    let server = connect(&format!("http://{address}"), Some(kind), &Options::default()).await?;
    let prompt: Vec<TokenId> = (0..args.prompt).map(|at| TokenId(at % 40_000)).collect();
    let body = Bytes::from(serde_json::to_vec(&json!({"input_ids": prompt}))?);
    let bare = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    // The first of each warms up.
    for run in 0..=args.runs {
        let before = cpu();
        let request = Request::post(format!("http://{address}/bare")).body(Full::new(body.clone()))?;
        let mut stream = bare.request(request).await?.into_body();
        let mut read = 0;
        while let Some(frame) = stream.frame().await {
            read += frame?.into_data().map_or(0, |data| data.len());
        }
        ensure!(read == bytes, "the bare call read {read} of {bytes} bytes");
        let between = cpu();
        let sampled = attempt(server.engine.as_ref(), &prompt, args.tokens).await?;
        let after = cpu();
        ensure!(sampled == args.tokens as usize, "the client read {sampled} of {} tokens", args.tokens);
        if run > 0 {
            theirs.push(between - before);
            ours.push(after - between);
        }
    }
    Ok((median(theirs), median(ours), bytes))
}

/// One attempt, validated as a turn's is.
async fn attempt(engine: &dyn Engine, prompt: &[TokenId], limit: u32) -> anyhow::Result<usize> {
    let mut attempts = Attempts::new(LogprobKind::Raw, limit);
    let params = Params { max_tokens: limit, ..Params::default() };
    let prompt = Prompt::new(prompt, SessionKey("bench".into()));
    let mut pieces = engine.generate(AttemptId::fresh(), prompt, &params);
    while let Some(piece) = pieces.next().await {
        match piece {
            Piece::More(increment) => attempts.push(increment)?,
            Piece::End(end) => {
                ensure!(!matches!(end.ending, Ending::Failed(_)), "{:?}", end.ending);
                attempts.end(&end);
            }
        }
    }
    Ok(attempts.finish()?.logprobs().iter().flatten().count())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Microseconds of CPU of this thread.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// A reply as the engine would send it; logprobs with the digits that engines print.
fn reply(form: Form, tokens: u32) -> Bytes {
    let id = |at: u32| 100 + at * 7919 % 40_000;
    let logprob = |at: u32| -f64::from(at % 977) / 313.7;
    let pair = |at: u32| json!([logprob(at), id(at), null]);
    let sglang = |ids: Vec<u32>, pairs: Vec<Value>, count: u32, reason: Value| {
        json!({"text": " word", "output_ids": ids, "meta_info": {"id": "9f1c5f0e6a0b4a1f8c0d2f5b7e3a4411",
            "finish_reason": reason, "prompt_tokens": 512, "weight_version": "17", "num_retractions": 0,
            "output_token_logprobs": pairs, "output_token_logprobs_length": count, "reasoning_tokens": 0,
            "completion_tokens": count, "cached_tokens": 500, "cached_tokens_details": null, "dp_rank": null}})
    };
    let length = || json!({"type": "length", "length": tokens});
    let all = 0..tokens;
    let body = match form {
        Form::SglangWhole => {
            sglang(all.clone().map(id).collect(), all.map(pair).collect(), tokens, length()).to_string()
        }
        Form::SglangEvents => events(all.map(|at| {
            let reason = if at + 1 == tokens { length() } else { Value::Null };
            sglang(vec![id(at)], vec![pair(at)], at + 1, reason)
        })),
        Form::VllmEvents => events(all.map(|at| {
            let reason = if at + 1 == tokens { json!("length") } else { Value::Null };
            let entry = json!({"token_id": id(at), "logprob": logprob(at), "rank": 1,
                "top_logprobs": [{"token_id": id(at), "logprob": logprob(at), "rank": 1}]});
            json!({"request_id": "generate-tokens-9f1c5f0e6a0b4a1f8c0d2f5b7e3a4411", "usage": null,
                "output_mode": "tokens", "choices": [{"index": 0, "finish_reason": reason,
                "stop_reason": null, "token_ids": [id(at)], "routed_experts": null, "sampling_mask": null,
                "weight_versions": null, "logprobs": {"content": [entry]}}]})
        })),
        Form::LlamaWhole => {
            let entry = |at: u32| {
                json!({"id": id(at), "token": " word", "bytes": [32, 119, 111, 114, 100],
                "logprob": logprob(at), "top_logprobs": [{"id": id(at), "token": " word",
                "bytes": [32, 119, 111, 114, 100], "logprob": logprob(at)}]})
            };
            json!({"index": 0, "content": "…", "tokens": all.clone().map(id).collect::<Vec<_>>(), "stop": true,
                "tokens_predicted": tokens, "stop_type": "limit", "truncated": false,
                "completion_probabilities": all.map(entry).collect::<Vec<_>>()})
            .to_string()
        }
    };
    body.into()
}

fn events(chunks: impl Iterator<Item = Value>) -> String {
    let mut text: String = chunks.map(|chunk| format!("data: {chunk}\n\n")).collect();
    text.push_str("data: [DONE]\n\n");
    text
}

/// A server on a thread of its own that gives the reply to every generation.
fn serve(form: Form, reply: Bytes) -> anyhow::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            loop {
                let (socket, _) = listener.accept().await?;
                let reply = reply.clone();
                let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                    let reply = reply.clone();
                    async move { answer(form, request, reply).await }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service),
                );
            }
        })
    });
    Ok(address)
}

async fn answer(
    form: Form,
    request: Request<Incoming>,
    reply: Bytes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let asked = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let incremental = matches!(form, Form::SglangEvents);
    let (kind, body) = match path.as_str() {
        "/server_info" => (
            "application/json",
            json!({"tp_size": 1, "context_length": 1 << 20, "incremental_streaming_output": incremental})
                .to_string()
                .into(),
        ),
        "/model_info" => ("application/json", json!({"weight_version": "17"}).to_string().into()),
        "/version" => ("application/json", json!({"version": "0.32.0"}).to_string().into()),
        "/v1/models" => {
            ("application/json", json!({"data": [{"id": "p", "max_model_len": 1 << 20}]}).to_string().into())
        }
        "/props" => (
            "application/json",
            json!({"default_generation_settings": {"n_ctx": 1 << 20}}).to_string().into(),
        ),
        // What asks whether the route is on sends nothing to sample after.
        "/inference/v1/generate" if asked.as_ref() == b"{}" => ("application/json", Bytes::from("{}")),
        _ => match form {
            Form::SglangEvents | Form::VllmEvents => ("text/event-stream", reply),
            Form::SglangWhole | Form::LlamaWhole => ("application/json", reply),
        },
    };
    let response = Response::builder().header("content-type", kind).body(Full::new(body));
    Ok(response.unwrap_or_default())
}
