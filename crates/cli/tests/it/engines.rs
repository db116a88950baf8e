//! Servers as engines: looked at, served on, run on, verified; and a server that dies meanwhile.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use verbatim_engine_mock::{Experts, Fault, Mock, Options, Width, Wire};
use verbatim_engine_sim::{Drawn, Latency, SimEngine, SimOptions};
use verbatim_samples::Format;
use verbatim_tokens::TokenId;

use crate::support::{GOOD, Rollout, text, verbatim};

/// Ids of words, and the end of a turn, of the model whose tokenizer the tests have.
const WORDS: std::ops::Range<u32> = 400..900;
const STOP: u32 = 2;

/// A server of this kind that says words of the test model's vocabulary.
fn server(runtime: &Runtime, wire: Wire, token: Duration) -> Mock {
    with(runtime, wire, token, None)
}

/// The same, a mixture of experts.
fn with(runtime: &Runtime, wire: Wire, token: Duration, experts: Option<Experts>) -> Mock {
    let script = Drawn { ids: WORDS.map(TokenId).collect(), stop: TokenId(STOP), mean: 6 };
    let latency = Latency { decode_token: token, ..Latency::NONE };
    let sim = SimEngine::new(SimOptions { latency, ..SimOptions::default() }, script);
    let options = Options { incremental: true, eos: vec![STOP], experts, ..Options::new(wire) };
    runtime.block_on(Mock::start(Arc::new(sim), options)).unwrap()
}

/// The flags that serve on it. What a mock samples from is not tempered.
fn flags(url: &str) -> Vec<String> {
    let set = [
        "--model",
        "smollm2-135m-instruct",
        "--set",
        "engine.logprobs=raw",
        "--set",
        "engine.watch_seconds=0.2",
    ];
    ["--url", url].into_iter().chain(set).map(str::to_owned).collect()
}

/// A server of ours, killed when dropped.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(url: &str, more: &[&str]) -> Self {
        let mut command = verbatim();
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(flags(url)).args(more);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().nth(2).expect("it says where it listens").to_owned();
        Self { child, url }
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let reply =
            reqwest::Client::new().post(format!("{}{path}", self.url)).json(body).send().await.unwrap();
        (reply.status().as_u16(), reply.json().await.unwrap_or_default())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_probe_says_what_is_kept_and_what_is_lost() {
    let runtime = Runtime::new().unwrap();
    for (wire, kind) in [(Wire::Sglang, "sglang"), (Wire::Vllm, "vllm"), (Wire::LlamaCpp, "llamacpp")] {
        let mock = server(&runtime, wire, Duration::ZERO);
        let output = verbatim()
            .args(["engine", "probe", &mock.url(), "--json", "--model", "smollm2-135m-instruct"])
            .args(["--set", "engine.logprobs=raw"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["kind"], &report["ready"]), (&json!(kind), &json!(true)));
    }
    // A SGLang whose logprobs are not what SGLang's are is told apart by what it does.
    let mock = server(&runtime, Wire::Sglang, Duration::ZERO);
    let output = verbatim().args(["engine", "probe", &mock.url()]).output().unwrap();
    let said = text(&output);
    assert!(!output.status.success() && said.contains("set engine.logprobs=raw"), "{said}");
    assert!(said.contains("NOT READY"), "{said}");
}

#[test]
fn an_engine_that_loses_tokens_is_refused_unless_that_is_accepted_by_name() {
    let runtime = Runtime::new().unwrap();
    let mock = server(&runtime, Wire::Sglang, Duration::ZERO);
    let url = mock.url();
    mock.fault(Fault::NoLogprobs);
    let output = verbatim().args(["serve", "--listen", "127.0.0.1:0"]).args(flags(&url)).output().unwrap();
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    for part in ["logprobs (0 of", "verbatim engine probe", "engine.accept_loss"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    mock.fault(Fault::NoLogprobs);
    Served::start(&url, &["--set", "engine.accept_loss=[\"logprobs\"]"]);
}

#[test]
fn rows_made_on_a_server_are_verified_by_it_and_shifted_ones_are_not() {
    let runtime = Runtime::new().unwrap();
    for wire in [Wire::Sglang, Wire::Vllm] {
        let mock = server(&runtime, wire, Duration::ZERO);
        let url = mock.url();
        let rollout = Rollout::new(GOOD, 2, 2, "");
        let all = flags(&url);
        let mut borrowed: Vec<&str> = all.iter().map(String::as_str).collect();
        borrowed.extend(["--set", "engine.kind=http"]);
        let output = rollout.run(&borrowed);
        assert!(output.status.success(), "{}", text(&output));
        let rows: Vec<_> = rollout.rows().into_iter().flatten().collect();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| row.trained() > 0));
        let verify = |path: &std::path::Path| {
            let mut command = verbatim();
            command.args(["verify", "rows"]).arg(path).args(["--engine", &url]).args(&all[2..]);
            let output = command.output().unwrap();
            (output.status.success(), text(&output))
        };
        let (holds, said) = verify(&rollout.path("rows"));
        assert!(holds && said.contains("PASS"), "{wire:?}: {said}");
        let mut shifted = rows;
        for row in &mut shifted {
            let turn = row.turns[0].clone();
            row.logprobs[turn.start..turn.end].rotate_right(1);
        }
        let path = rollout.path("shifted.jsonl");
        std::fs::write(&path, Format::Jsonl.write(&shifted).unwrap()).unwrap();
        let (holds, said) = verify(&path);
        assert!(!holds && said.contains("FAIL"), "{wire:?}: {said}");
    }
}

#[test]
fn a_server_that_is_killed_in_mid_turn_and_started_again_costs_no_turn() {
    let runtime = Runtime::new().unwrap();
    let mock = server(&runtime, Wire::Sglang, Duration::from_millis(40));
    let served = Served::start(&mock.url(), &[]);
    runtime.block_on(async {
        let (_, opened) = served.post("/sessions", &json!({})).await;
        let session = opened["session_id"].as_str().unwrap();
        let path = format!("/sessions/{session}/v1/chat/completions");
        let mut messages = vec![json!({"role": "user", "content": "hi"})];
        for turn in 0..3 {
            let body = json!({"messages": messages, "max_tokens": 200});
            let asking = served.post(&path, &body);
            let breaking = async {
                for _ in 0..200 {
                    if mock.running() > 0 {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                mock.kill().await;
                tokio::time::sleep(Duration::from_millis(300)).await;
                mock.restart().unwrap();
            };
            let ((status, reply), ()) = tokio::join!(asking, breaking);
            assert_eq!(status, 200, "turn {turn}: {reply}");
            messages.push(reply["choices"][0]["message"].clone());
            messages.push(json!({"role": "user", "content": "go on"}));
        }
        let client = reqwest::Client::new();
        let samples = client.post(format!("{}/sessions/{session}/samples", served.url));
        let samples = samples.json(&json!({"format": "jsonl"})).send().await.unwrap().bytes().await.unwrap();
        let rows = Format::Jsonl.read(&samples).unwrap();
        assert_eq!((rows.len(), rows[0].turns.len()), (1, 3), "every turn is there, once");
        // The server is one that scores as it sampled, over every attempt.
        let file = tempfile::NamedTempFile::with_suffix(".jsonl").unwrap();
        std::fs::write(file.path(), &samples).unwrap();
        let url = mock.url();
        let verified = tokio::task::spawn_blocking(move || {
            verbatim().args(["verify", "rows"]).arg(file.path()).args(flags(&url)).output().unwrap()
        });
        let verified = verified.await.unwrap();
        assert!(verified.status.success(), "{}", text(&verified));
    });
}

#[test]
fn engines_are_paused_changed_and_told_through_the_control_routes() {
    let runtime = Runtime::new().unwrap();
    let (one, two) = (
        server(&runtime, Wire::Sglang, Duration::from_millis(20)),
        server(&runtime, Wire::Sglang, Duration::ZERO),
    );
    let served = Served::start(&one.url(), &[]);
    runtime.block_on(async {
        let (_, opened) = served.post("/sessions", &json!({})).await;
        let path = format!("/sessions/{}/v1/chat/completions", opened["session_id"].as_str().unwrap());
        let body = json!({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 200});
        for mode in ["abort", "retract", "in_place"] {
            let during = async {
                tokio::time::sleep(Duration::from_millis(60)).await;
                let (status, told) = served.post("/control/pause", &json!({"mode": mode})).await;
                assert_eq!((status, &told["engines"][0]["ok"]), (200, &json!(true)), "{mode}: {told}");
                let (status, told) = served.post("/control/version", &json!({"version": mode})).await;
                assert_eq!(status, 200, "{told}");
                assert!(one.paused());
                let (status, _) = served.post("/control/resume", &json!({})).await;
                assert_eq!(status, 200);
            };
            let ((status, reply), ()) = tokio::join!(served.post(&path, &body), during);
            assert_eq!(status, 200, "{mode}: {reply}");
        }
        let metrics = reqwest::get(format!("{}/metrics", served.url)).await.unwrap().text().await.unwrap();
        let line = format!("verbatim_engine{{engine=\"{}\",health=\"ready\",breaker=\"closed\"", one.url());
        assert!(metrics.contains(&line), "{metrics}");
        let (_, told) = served.post("/control/version", &json!({})).await;
        assert_eq!(told["engines"][0]["version"], "in_place");
        let (status, told) = served.post("/control/engines", &json!({"url": two.url()})).await;
        assert_eq!((status, told["engines"].as_array().unwrap().len()), (200, 2), "{told}");
        let (status, told) = served.post("/control/engines", &json!({"url": two.url()})).await;
        assert_eq!((status, &told["error"]["code"]), (409, &json!("engine_known")));
        let gone = reqwest::Client::new().delete(format!("{}/control/engines", served.url));
        let gone = gone.json(&json!({"url": one.url(), "drain_seconds": 1})).send().await.unwrap();
        assert_eq!(gone.status().as_u16(), 200);
        let (status, _) = served.post(&path, &body).await;
        assert_eq!((status, two.seen_at("/generate").is_empty()), (200, false), "the other one serves");
        two.kill().await;
        let (status, told) = served.post("/control/flush", &json!({"deadline_seconds": 2})).await;
        assert_eq!((status, &told["engines"][0]["ok"]), (502, &json!(false)), "who did not do it is named");
    });
}

/// What a user has of a model that only the servers can load: a tokenizer, a template, a `config.json`.
#[test]
fn a_model_that_runs_elsewhere_needs_no_weights_here() {
    let runtime = Runtime::new().unwrap();
    let mock = server(&runtime, Wire::Vllm, Duration::ZERO);
    let cache = std::env::var_os("VERBATIM_CACHE").map_or_else(
        || std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache")),
        std::path::PathBuf::from,
    );
    let folder = tempfile::tempdir().unwrap();
    for file in ["tokenizer.json", "tokenizer_config.json"] {
        let from = cache.join("assets/tokenizer-qwen3").join(file);
        std::fs::copy(&from, folder.path().join(file)).unwrap();
    }
    let config =
        r#"{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "vocab_size": 151936}"#;
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let model = folder.path().to_str().unwrap();
    let mut command = verbatim();
    command.args(["serve", "--listen", "127.0.0.1:0", "--url", &mock.url(), "--model", model]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let _ = child.kill();
    let _ = child.wait();
    assert!(line.contains("family qwen3"), "{line}");
}

#[test]
fn routed_experts_reach_the_row_without_a_gap_over_turns_and_retries() {
    let runtime = Runtime::new().unwrap();
    let routes = Experts { layers: 3, top_k: 2, experts: 40, width: Width::U8 };
    let mock = with(&runtime, Wire::Vllm, Duration::ZERO, Some(routes));
    let served = Served::start(&mock.url(), &["--set", "engine.experts=true"]);
    runtime.block_on(async {
        let (_, opened) = served.post("/sessions", &json!({})).await;
        let session = opened["session_id"].as_str().unwrap();
        let mut messages = vec![json!({"role": "user", "content": "hi"})];
        for turn in 0..3 {
            // The second turn is cut and goes on in another attempt.
            if turn == 1 {
                mock.fault(Fault::Cut { after: 1 });
            }
            let body = json!({"messages": messages, "max_tokens": 200});
            let (status, reply) =
                served.post(&format!("/sessions/{session}/v1/chat/completions"), &body).await;
            assert_eq!(status, 200, "{reply}");
            messages.push(reply["choices"][0]["message"].clone());
            messages.push(json!({"role": "user", "content": "go on"}));
        }
        let samples = reqwest::Client::new().post(format!("{}/sessions/{session}/samples", served.url));
        let samples = samples.json(&json!({"format": "jsonl"})).send().await.unwrap().bytes().await.unwrap();
        let row = Format::Jsonl.read(&samples).unwrap().remove(0);
        let told = row.experts.expect("every turn told its experts");
        assert_eq!((row.turns.len(), told.rows()), (3, row.tokens.len() - 1));
        for (at, id) in row.tokens[..told.rows()].iter().enumerate() {
            let expected: Vec<u32> = routes.row(at, id.0).iter().map(|expert| *expert as u32).collect();
            assert_eq!(told.row(at), Some(expected), "position {at}");
        }
    });
}

/// One SGLang that reports what its indexer chose: every token's choice reaches the row, kept once over the turns.
#[test]
fn what_an_indexer_chose_reaches_the_row_over_turns() {
    let runtime = Runtime::new().unwrap();
    let choices = Experts { layers: 2, top_k: 4, experts: 60, width: Width::I32 };
    let script = Drawn { ids: WORDS.map(TokenId).collect(), stop: TokenId(STOP), mean: 6 };
    let sim = SimEngine::new(SimOptions::default(), script);
    let options =
        Options { incremental: true, eos: vec![STOP], indexer: Some(choices), ..Options::new(Wire::Sglang) };
    let mock = runtime.block_on(Mock::start(Arc::new(sim), options)).unwrap();
    // Nothing of the payloads fits into memory.
    let served = Served::start(
        &mock.url(),
        &["--set", "engine.indexer=true", "--set", "sessions.replay_mib=0", "--lineage", "linear"],
    );
    runtime.block_on(async {
        let (_, opened) = served.post("/sessions", &json!({})).await;
        let session = opened["session_id"].as_str().unwrap();
        let mut messages = vec![json!({"role": "user", "content": "hi"})];
        for _ in 0..3 {
            let body = json!({"messages": messages, "max_tokens": 200});
            let (status, reply) =
                served.post(&format!("/sessions/{session}/v1/chat/completions"), &body).await;
            assert_eq!(status, 200, "{reply}");
            assert!(!reply.to_string().contains("indexer"), "no agent sees it");
            messages.push(reply["choices"][0]["message"].clone());
            messages.push(json!({"role": "user", "content": "go on"}));
        }
        let samples = reqwest::Client::new().post(format!("{}/sessions/{session}/samples", served.url));
        let samples = samples.send().await.unwrap().bytes().await.unwrap();
        let row = Format::Safetensors.read(&samples).unwrap().remove(0);
        let told = row.indexer.expect("every turn told its choices");
        assert_eq!((row.turns.len(), told.rows()), (3, row.tokens.len() - 1));
        for (at, id) in row.tokens[..told.rows()].iter().enumerate() {
            let expected: Vec<u32> = choices.row(at, id.0).iter().map(|chosen| *chosen as u32).collect();
            assert_eq!(told.row(at), Some(expected), "position {at}");
        }
    });
    // A server that reports none is told apart at start-up.
    let plain = server(&runtime, Wire::Sglang, Duration::ZERO);
    let mut command = verbatim();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--set", "engine.indexer=true"])
        .args(flags(&plain.url()));
    let output = command.output().unwrap();
    assert!(!output.status.success() && text(&output).contains("engine.indexer"), "{}", text(&output));
}

#[test]
fn a_sessions_holder_may_ask_an_engine_what_is_listed_and_nothing_else() {
    let runtime = Runtime::new().unwrap();
    let mock = server(&runtime, Wire::Sglang, Duration::ZERO);
    let served = Served::start(&mock.url(), &[]);
    runtime.block_on(async {
        let (_, opened) = served.post("/sessions", &json!({})).await;
        let session = opened["session_id"].as_str().unwrap();
        let name = opened["name"].as_str().unwrap();
        let body = json!({"input_ids": [400, 401], "sampling_params": {"max_new_tokens": 3}});
        let reply = reqwest::Client::new()
            .post(format!("{}/sessions/{session}/generate?x=1", served.url))
            .bearer_auth(session)
            .header("x-smg-routing-key", "mine")
            .json(&body)
            .send()
            .await
            .unwrap();
        assert_eq!(
            (reply.status().as_u16(), &reply.headers()["content-type"]),
            (200, &"application/json".parse().unwrap())
        );
        let reply: Value = reply.json().await.unwrap();
        assert!(!reply["output_ids"].as_array().unwrap().is_empty(), "{reply}");
        let asked = mock.asked().pop().unwrap();
        assert_eq!(asked.session.as_deref(), Some(name), "it goes where the session's prefix is");
        // An engine's own refusal comes back as it is.
        let (status, refused) =
            served.post(&format!("/sessions/{session}/generate"), &json!({"nope": 1})).await;
        assert!(status >= 400 && refused["error"]["code"] != "no_route", "{status} {refused}");
        for path in ["pause_generation", "update_weights_from_disk", "v1/chat/completions/x"] {
            let (status, refused) = served.post(&format!("/sessions/{session}/{path}"), &json!({})).await;
            assert_eq!((status, &refused["error"]["code"]), (404, &json!("no_route")), "{path}");
        }
        let (status, _) = served.post("/sessions/0123/generate", &body).await;
        assert_eq!(status, 404, "no session, no way through");
        let tree = reqwest::get(format!("{}/sessions/{session}", served.url)).await.unwrap();
        let tree: Value = tree.json().await.unwrap();
        assert_eq!(tree["nodes"], json!([]), "nothing of it is recorded");
    });
}
