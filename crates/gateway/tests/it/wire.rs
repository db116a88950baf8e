//! What real agents sent, turn by turn, and the lineage that it makes.
//!
//! A recording was made against a stub. Here the simulated engine says what the stub said, and what the agent repeats
//! of it is put into this server's words: its ids, and the texts and arguments that came back exactly as they were
//! told. What the agent re-spelt stays as the agent spelt it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use insta::assert_snapshot;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Server, turn};

/// One request of a recording, and what the stub replied.
struct Line {
    path: String,
    headers: Vec<(String, String)>,
    body: Value,
    reply: Value,
}

fn recordings() -> Vec<(String, Vec<Line>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| line_of(&serde_json::from_str(line).unwrap())).collect()
    };
    files.iter().map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), read(path))).collect()
}

fn line_of(line: &Value) -> Line {
    let headers = line["headers"].as_object().unwrap().iter();
    Line {
        path: line["path"].as_str().unwrap().to_owned(),
        headers: headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect(),
        body: line["body"].clone(),
        reply: line["reply"].clone(),
    }
}

/// The words of a stub's reply, and of the server's for them.
struct Past<'a> {
    /// What the agent had sent.
    line: &'a Line,
    /// Texts that were told, by the stub's.
    texts: HashMap<String, String>,
    /// Ids, by the stub's.
    ids: Vec<(String, String)>,
    /// The digits of the reply.
    digits: String,
}

fn list(body: &Value) -> &[Value] {
    let list = body.get("messages").or_else(|| body.get("input"));
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A message without what an agent moves between turns.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(name, _)| *name != "cache_control");
            Value::Object(kept.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

fn is_assistants(message: &Value) -> bool {
    let kind = message["type"].as_str().unwrap_or_default();
    message["role"] == "assistant" || ["reasoning", "function_call", "item_reference"].contains(&kind)
}

/// Puts what the agent repeats into this server's words.
fn retold(line: &Line, pasts: &[Past<'_>]) -> Value {
    let mut body = line.body.clone();
    if let Some(id) = body.get("previous_response_id").and_then(Value::as_str) {
        let past = pasts.iter().find(|past| past.ids.iter().any(|(stub, _)| stub == id)).unwrap();
        body["previous_response_id"] = json!(format!("resp_{}", past.digits));
    }
    let sent = list(&body).to_vec();
    let mut ids: Vec<(String, String)> = Vec::new();
    let mut told: Option<&Past<'_>> = None;
    let mut messages = Vec::new();
    for (at, message) in sent.iter().enumerate() {
        if is_assistants(message) && (at == 0 || !is_assistants(&sent[at - 1])) {
            told = producer(pasts, line, &sent, at);
            ids.extend(told.iter().flat_map(|past| past.ids.clone()));
        }
        let texts = told.filter(|_| is_assistants(message)).map(|past| &past.texts);
        let mut message = respell(message, texts, &ids);
        if let (Some("item_reference"), Some(past)) = (message["type"].as_str(), told) {
            let kind = message["id"].as_str().unwrap().split('_').next().unwrap().to_owned();
            message["id"] = json!(format!("{kind}_{}", past.digits));
        }
        messages.push(message);
    }
    for (name, also) in [("messages", true), ("input", body["input"].is_array())] {
        if also && body.get(name).is_some() {
            body[name] = json!(messages);
        }
    }
    if body.get("previous_response_id").is_some() {
        let all: Vec<_> = pasts.iter().flat_map(|past| past.ids.clone()).collect();
        body["input"] = respell(&body["input"], None, &all);
    }
    body
}

/// The turn that an assistant's message at `at` came from: the one that was asked for with what stands before it, else
/// the latest that had one of its ids, else the latest.
fn producer<'a, 'b>(pasts: &'b [Past<'a>], line: &Line, sent: &[Value], at: usize) -> Option<&'b Past<'a>> {
    let before: Vec<Value> = sent[..at].iter().map(plain).collect();
    let asked = |past: &&Past<'_>| {
        let same = |name: &str| past.line.body.get(name) == line.body.get(name);
        let agent = |line: &Line| line.headers.iter().find(|(name, _)| name.ends_with("-agent-id")).cloned();
        same("tools")
            && same("system")
            && agent(past.line) == agent(line)
            && list(&past.line.body).iter().map(plain).eq(before.iter().cloned())
    };
    let rest =
        json!(sent[at..].iter().take_while(|message| is_assistants(message)).collect::<Vec<_>>()).to_string();
    let names = |past: &&Past<'_>| past.ids.iter().any(|(stub, _)| rest.contains(&format!("{stub}\"")));
    let latest = || pasts.iter().rev();
    latest().find(asked).or_else(|| latest().find(names)).or_else(|| latest().next())
}

fn respell(value: &Value, texts: Option<&HashMap<String, String>>, ids: &[(String, String)]) -> Value {
    match value {
        Value::String(text) => {
            if let Some(ours) = texts.and_then(|texts| texts.get(text)) {
                return json!(ours);
            }
            // In two steps, because one of our ids may begin like one of the stub's. The latest turn's come first: an
            // id that came twice means the nearest.
            let mut text = text.clone();
            for (at, (stub, _)) in ids.iter().enumerate().rev() {
                for prefix in ["toolu_", ""] {
                    text = text.replace(&format!("{prefix}{stub}"), &format!("\u{1}{at}\u{1}"));
                }
            }
            for (at, (_, ours)) in ids.iter().enumerate() {
                text = text.replace(&format!("\u{1}{at}\u{1}"), ours);
            }
            json!(text)
        }
        Value::Array(items) => items.iter().map(|item| respell(item, texts, ids)).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, item)| (name.clone(), respell(item, texts, ids))).collect()
        }
        other => other.clone(),
    }
}

/// What the stub said, as the engine says it.
fn script(lines: &[Line]) -> Vec<verbatim_engine_sim::Line> {
    let told = lines.iter().filter(|line| line.reply.get("status").is_none());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    told.map(|line| {
        let calls: Vec<(String, String)> = line.reply["calls"]
            .as_array()
            .map(|calls| calls.iter().map(|call| (text(&call[1]), text(&call[2]))).collect())
            .unwrap_or_default();
        let calls: Vec<(&str, &str)> =
            calls.iter().map(|(name, arguments)| (name.as_str(), arguments.as_str())).collect();
        turn(&text(&line.reply["reasoning"]), &text(&line.reply["content"]), &calls)
    })
    .collect()
}

/// Replays a recording in one session; tells the place of every turn and what was lost on the way.
async fn replay(lines: &[Line], lineage: &str) -> String {
    let server = Server::saying(script(lines)).await;
    let token = server.open(json!({"lineage": lineage})).await;
    let session = server.sessions.get(&token).unwrap();
    let mut pasts: Vec<Past<'_>> = Vec::new();
    let mut told = String::new();
    let mut before = server.causes().len();
    for (number, line) in lines.iter().enumerate() {
        if let Some(status) = line.reply.get("status") {
            writeln!(told, "  {number} {status} from the stub").unwrap();
            continue;
        }
        let mut request = server
            .client
            .post(format!("{}/sessions/{token}{}", server.url, line.path))
            .json(&retold(line, &pasts));
        for (name, value) in &line.headers {
            request = request.header(name, value);
        }
        let reply = request.send().await.unwrap();
        let status = reply.status();
        let body = reply.text().await.unwrap();
        if status != StatusCode::OK {
            let refused: Value = serde_json::from_str(&body).unwrap();
            let code = refused["error"]["code"].as_str().or(refused["error"]["type"].as_str()).unwrap_or("?");
            writeln!(told, "  {number} {} {code}: {}", status.as_u16(), refused["error"]["message"]).unwrap();
            continue;
        }
        let (place, past) = session.with_forest(|forest| {
            let (id, node) = forest.nodes().next_back().unwrap();
            let turns: Vec<_> =
                forest.nodes().filter(|(_, node)| node.generation().is_some()).map(|(id, _)| id).collect();
            let at = |id| turns.iter().position(|turn| *turn == id).unwrap();
            let place = forest
                .parent_turn(id)
                .map_or("root".to_owned(), |parent| format!("after turn {}", at(parent)));
            let generated = node.generation().unwrap();
            (format!("turn {}: {place}", at(id)), past(line, &generated.response, &generated.message))
        });
        pasts.push(past);
        let causes = server.causes();
        let mut new: Vec<String> =
            causes[before..].iter().filter(|cause| !cause.starts_with("field_ignored")).cloned().collect();
        new.dedup();
        before = causes.len();
        writeln!(told, "  {number} {place} {}", new.join(", ")).unwrap();
    }
    let (turns, leaves, roots) = session.with_forest(|forest| {
        let turns = forest.nodes().filter(|(_, node)| node.generation().is_some()).count();
        let roots = forest.nodes().filter(|(_, node)| node.parent.is_none()).count();
        (turns, forest.leaves().len(), roots)
    });
    let told: String = told.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("{told}  = {turns} turns, {roots} roots, {leaves} leaves\n")
}

fn past<'a>(line: &'a Line, response: &str, message: &verbatim_chat::Message) -> Past<'a> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut texts = HashMap::new();
    texts.insert(text(&line.reply["content"]), message.content.text().into_owned());
    texts.insert(text(&line.reply["reasoning"]), message.reasoning.clone().unwrap_or_default());
    texts.remove("");
    let mut ids = Vec::new();
    for (call, ours) in line.reply["calls"].as_array().into_iter().flatten().zip(&message.tool_calls) {
        texts.insert(text(&call[2]), ours.arguments.text().into_owned());
        ids.push((text(&call[0]), ours.id.clone().unwrap()));
    }
    let digits = response.rsplit(['_', '-']).next().unwrap().to_owned();
    ids.extend(line.reply["_id"].as_str().map(|id| (id.to_owned(), response.to_owned())));
    Past { line, texts, ids, digits }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_agent_makes_the_lineage_it_is_known_to_make() {
    let mut told = String::new();
    for (name, lines) in recordings() {
        writeln!(told, "{name}\n{}", replay(&lines, "tree").await).unwrap();
    }
    assert_snapshot!("tree", told);
}

/// A session that grows along one line refuses what goes back further than one turn.
#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_agent_along_one_line() {
    let mut told = String::new();
    for (name, lines) in recordings() {
        writeln!(told, "{name}\n{}", replay(&lines, "linear").await).unwrap();
    }
    assert_snapshot!("linear", told);
}
