//! Recordings that were changed in one way, whose cause is known because we made it.
//!
//! The table of `docs/src/stages-causes.md` is made of these: `tools/stages/causes` writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use verbatim_chat::{LooseReplay, Matcher, Strict};
use verbatim_stages::lineage::{Cause, Declared, Lineage, Topology, trace};
use verbatim_stages::recording::read;

type Lines = Vec<Value>;

/// A change: its name, what it does to the lines (false where there is nothing to change), and what a strict and a
/// tolerant session must say; none is linear.
struct Mutation {
    name: &'static str,
    change: fn(&mut Lines) -> bool,
    strict: Option<Cause>,
    loose: Option<Cause>,
}

fn messages(line: &mut Value) -> &mut Vec<Value> {
    line["body"]["messages"].as_array_mut().unwrap()
}

fn last(lines: &mut Lines) -> &mut Vec<Value> {
    messages(lines.last_mut().unwrap())
}

fn place(messages: &[Value], role: &str) -> Option<usize> {
    messages.iter().position(|message| message["role"] == role)
}

fn drop_role(lines: &mut Lines, role: &str) -> bool {
    let messages = last(lines);
    place(messages, role).map(|at| messages.remove(at)).is_some()
}

fn arguments(lines: &mut Lines) -> bool {
    let mut changed = false;
    for call in last(lines).iter_mut().flat_map(|m| m["tool_calls"].as_array_mut().into_iter().flatten()) {
        let text = call["function"]["arguments"].as_str().unwrap().to_owned();
        let value: Value = serde_json::from_str(&text).unwrap();
        let spelt = serde_json::to_string_pretty(&value).unwrap();
        changed |= spelt != text;
        call["function"]["arguments"] = json!(spelt);
    }
    changed
}

fn first_turn(lines: &mut Lines) -> Option<&mut Value> {
    let messages = last(lines);
    let at = place(messages, "assistant")?;
    Some(&mut messages[at])
}

fn content(lines: &mut Lines, change: fn(&str) -> Value) -> bool {
    let Some(turn) = first_turn(lines) else { return false };
    let Some(text) = turn["content"].as_str().filter(|text| !text.is_empty()).map(str::to_owned) else {
        return false;
    };
    turn["content"] = change(&text);
    true
}

fn tools(lines: &mut Lines, change: fn(&mut Vec<Value>)) -> bool {
    let Some(tools) = lines.last_mut().unwrap()["body"]["tools"].as_array_mut() else { return false };
    change(tools);
    true
}

fn identity(_: &mut Lines) -> bool {
    true
}

fn summarised(lines: &mut Lines) -> bool {
    let mut asked = lines.last().unwrap().clone();
    let system = messages(&mut asked).iter().find(|message| message["role"] == "system").cloned();
    let question = json!({"role": "user", "content": "Sum up what was done."});
    let reply = &lines.last().unwrap()["reply"];
    let mut turn = json!({"role": "assistant", "content": reply["content"]});
    if let Some(reasoning) = reply.get("reasoning") {
        turn["reasoning_content"] = reasoning.clone();
    }
    messages(&mut asked).push(turn);
    messages(&mut asked).push(question);
    asked["reply"] = json!({"content": "A summary of what was done so far."});
    let mut next = asked.clone();
    let summary = json!({"role": "user", "content": "So far: A summary of what was done so far. Go on."});
    next["body"]["messages"] = system.into_iter().chain([summary]).collect();
    next["reply"] = json!({"content": "Going on."});
    lines.extend([asked, next]);
    true
}

const MUTATIONS: &[Mutation] = &[
    Mutation { name: "nothing is changed", change: identity, strict: None, loose: None },
    Mutation {
        name: "an assistant's turn is left out",
        change: |lines| drop_role(lines, "assistant"),
        strict: Some(Cause::AssistantDropped),
        loose: Some(Cause::AssistantDropped),
    },
    Mutation {
        name: "a tool's result is left out",
        change: |lines| drop_role(lines, "tool"),
        strict: Some(Cause::ToolResultDropped),
        loose: Some(Cause::ToolResultDropped),
    },
    Mutation {
        name: "results are reordered",
        change: |lines| {
            let messages = last(lines);
            let tools: Vec<usize> =
                (0..messages.len()).filter(|at| messages[*at]["role"] == "tool").collect();
            let [.., a, b] = tools[..] else { return false };
            let mut again = lines.last().unwrap().clone();
            again["reply"] = json!({"content": "Again."});
            self::messages(&mut again).swap(a, b);
            lines.push(again);
            true
        },
        strict: Some(Cause::Reordered),
        loose: Some(Cause::Reordered),
    },
    Mutation {
        name: "arguments are serialised again",
        change: arguments,
        strict: Some(Cause::SerialisationDrift),
        loose: None,
    },
    Mutation {
        name: "content becomes a list of parts",
        change: |lines| content(lines, |text| json!([{"type": "text", "text": text}])),
        strict: Some(Cause::SerialisationDrift),
        loose: None,
    },
    Mutation {
        name: "content loses its outer spaces",
        change: |lines| {
            let Some(text) = first_turn(lines).and_then(|turn| turn["content"].as_str().map(str::to_owned))
            else {
                return false;
            };
            text.trim() != text && content(lines, |text| json!(text.trim()))
        },
        strict: Some(Cause::SerialisationDrift),
        loose: Some(Cause::SerialisationDrift),
    },
    Mutation {
        name: "content says something else",
        change: |lines| content(lines, |text| json!(format!("{text} (shortened)"))),
        strict: Some(Cause::AssistantRewritten),
        loose: Some(Cause::AssistantRewritten),
    },
    Mutation {
        name: "reasoning is left out",
        change: |lines| {
            let Some(Value::Object(turn)) = first_turn(lines) else { return false };
            turn.shift_remove("reasoning_content").is_some()
        },
        strict: Some(Cause::ThinkingDropped),
        loose: None,
    },
    Mutation {
        name: "calls get ids of their own",
        change: |lines| {
            let mut text = serde_json::to_string(last(lines)).unwrap();
            let Some(id) =
                first_turn(lines).and_then(|turn| turn["tool_calls"][0]["id"].as_str().map(str::to_owned))
            else {
                return false;
            };
            text = text.replace(&id, "own_id_1");
            *last(lines) = serde_json::from_str(&text).unwrap();
            true
        },
        // Strict looks at calls' ids; a tolerant session, too.
        strict: Some(Cause::ToolCallIdentity),
        loose: Some(Cause::ToolCallIdentity),
    },
    Mutation {
        name: "the first exchange is left out",
        change: |lines| {
            let messages = last(lines);
            let Some(at) = place(messages, "assistant") else { return false };
            let next = messages[at + 1..].iter().position(|message| message["role"] == "assistant");
            let Some(length) = next.map(|next| next + 1) else { return false };
            messages.drain(at..at + length);
            length > 1
        },
        strict: Some(Cause::HistoryTrimmed),
        loose: Some(Cause::HistoryTrimmed),
    },
    Mutation {
        name: "the instructions hold a clock",
        change: |lines| {
            let messages = last(lines);
            let Some(at) = place(messages, "system") else { return false };
            messages[at]["content"] = json!("It is 12:01 now. Be helpful.");
            true
        },
        strict: Some(Cause::SystemChanged),
        loose: Some(Cause::SystemChanged),
    },
    Mutation {
        name: "the question is said otherwise",
        change: |lines| {
            let messages = last(lines);
            let Some(at) = place(messages, "user") else { return false };
            messages[at]["content"] = json!("Something else was asked.");
            true
        },
        strict: Some(Cause::HistoryRewritten),
        loose: Some(Cause::HistoryRewritten),
    },
    Mutation {
        name: "a tool is added",
        change: |lines| {
            tools(lines, |tools| {
                tools.push(json!({"type": "function", "function": {"name": "more", "parameters": {"type": "object"}}}))
            })
        },
        strict: Some(Cause::ToolsChanged),
        loose: Some(Cause::ToolsChanged),
    },
    Mutation {
        name: "tools come in another order",
        change: |lines| {
            for line in lines.iter_mut() {
                let Some(tools) = line["body"]["tools"].as_array_mut() else { return false };
                tools.push(json!({"type": "function", "function": {"name": "more", "parameters": {"type": "object"}}}));
            }
            tools(lines, |tools| tools.reverse())
        },
        strict: Some(Cause::ToolsReordered),
        loose: Some(Cause::ToolsReordered),
    },
    Mutation {
        name: "a tool is described otherwise",
        change: |lines| {
            tools(lines, |tools| tools[0]["function"]["description"] = json!("Another description."))
        },
        strict: Some(Cause::ToolsDescribed),
        loose: Some(Cause::ToolsDescribed),
    },
    Mutation {
        name: "thinking is switched",
        change: |lines| {
            lines.last_mut().unwrap()["body"]["chat_template_kwargs"] = json!({"enable_thinking": false});
            true
        },
        strict: Some(Cause::TemplateDrift),
        loose: Some(Cause::TemplateDrift),
    },
    Mutation {
        name: "a request that had its reply is sent again",
        change: |lines| {
            let again = lines.last().unwrap().clone();
            lines.push(again);
            true
        },
        strict: Some(Cause::Resent),
        loose: Some(Cause::Resent),
    },
    Mutation {
        name: "a request that failed is sent again",
        change: |lines| {
            let mut failed = lines.last().unwrap().clone();
            failed["reply"] = json!({"status": 503});
            lines.insert(lines.len() - 1, failed);
            true
        },
        strict: None,
        loose: None,
    },
    Mutation {
        name: "a helper asks something else",
        change: |lines| {
            let mut helper = lines.last().unwrap().clone();
            helper["body"]["messages"] = json!([{"role": "system", "content": "Name things."}, {"role": "user", "content": "Make a title."}]);
            helper["reply"] = json!({"content": "A title"});
            lines.push(helper);
            true
        },
        strict: Some(Cause::IndependentContext),
        loose: Some(Cause::IndependentContext),
    },
    Mutation {
        name: "the same turn goes on in another way",
        change: |lines| {
            let mut other = lines.last().unwrap().clone();
            let Some(at) = messages(&mut other).iter().rposition(|message| message["role"] == "assistant")
            else {
                return false;
            };
            messages(&mut other).truncate(at + 1);
            messages(&mut other).push(json!({"role": "user", "content": "Try something else."}));
            lines.push(other);
            true
        },
        strict: Some(Cause::ToolResultDropped),
        loose: Some(Cause::ToolResultDropped),
    },
    Mutation {
        name: "a summary takes the place of the history",
        change: summarised,
        strict: Some(Cause::Compaction),
        loose: Some(Cause::Compaction),
    },
];

/// The linear chat recordings: what they are changed from.
fn bases() -> Vec<(String, Lines)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gateway/tests/wire");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let lines = |path: &Path| -> Lines {
        std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let all =
        files.iter().map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), lines(path)));
    all.filter(|(_, lines)| {
        let chats = lines.iter().all(|line| line["path"].as_str().unwrap().ends_with("/chat/completions"));
        let failed = lines.iter().any(|line| line["reply"].get("status").is_some());
        chats && !failed && lines.len() > 2 && audit(lines, &LooseReplay).topology == Topology::Linear
    })
    .collect()
}

fn audit(lines: &Lines, matcher: &dyn Matcher) -> Lineage {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    trace(&read(&text).unwrap(), matcher, Declared::Nothing)
}

/// What an audit says: the first cause of a branch; none is linear.
fn said(lineage: &Lineage) -> Result<Option<Cause>, String> {
    match (lineage.topology, lineage.steps.iter().find(|step| step.is_branch())) {
        (Topology::Linear, None) => Ok(None),
        (_, Some(step)) => step.cause.map(Some).ok_or_else(|| "a branch without a cause".to_owned()),
        (topology, None) => Err(topology.name().to_owned()),
    }
}

#[derive(Default)]
struct Count {
    right: usize,
    missed: usize,
    wrong: usize,
}

#[test]
fn a_changed_recording_is_told_by_its_change_and_never_taken_for_linear() {
    let bases = bases();
    assert!(bases.len() >= 8, "{} recordings", bases.len());
    let (mut counts, mut fixtures) = (BTreeMap::<String, Count>::new(), 0);
    let mut misses = String::new();
    let name = |cause: &Option<Cause>| cause.map_or("linear", Cause::name).to_owned();
    for (base, lines) in &bases {
        for mutation in MUTATIONS {
            let mut changed = lines.clone();
            if !(mutation.change)(&mut changed) {
                continue;
            }
            // A base may be respelt of itself, which a strict session tells first.
            let strictly = said(&audit(lines, &Strict)) == Ok(None);
            let judged =
                [(&LooseReplay as &dyn Matcher, mutation.loose, true), (&Strict, mutation.strict, strictly)];
            for (matcher, expected, _) in judged.into_iter().filter(|(.., applies)| *applies) {
                fixtures += 1;
                let lineage = audit(&changed, matcher);
                let found = said(&lineage);
                assert!(
                    expected.is_none() || lineage.topology != Topology::Linear,
                    "{base}, {}, {}: a false linear",
                    mutation.name,
                    matcher.name()
                );
                if found.as_ref() == Ok(&expected) {
                    counts.entry(name(&expected)).or_default().right += 1;
                } else {
                    counts.entry(name(&expected)).or_default().missed += 1;
                    let told = found.as_ref().map_or_else(Clone::clone, name);
                    counts.entry(told.clone()).or_default().wrong += 1;
                    writeln!(
                        misses,
                        "{base}, {}, {}: {told}, not {}",
                        mutation.name,
                        matcher.name(),
                        name(&expected)
                    )
                    .unwrap();
                }
            }
        }
    }
    let table = table(&counts, fixtures, bases.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/stages-causes.md");
    if std::env::var_os("VERBATIM_BLESS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let missed: usize = counts.values().map(|count| count.missed).sum();
    assert!(missed * 50 <= fixtures, "{missed} of {fixtures}:\n{misses}");
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), table, "run tools/stages/causes; {misses}");
}

fn table(counts: &BTreeMap<String, Count>, fixtures: usize, bases: usize) -> String {
    let mut out = format!(
        "# Causes, counted\n\nMade by `tools/stages/causes`, and checked by the tests: {bases} linear recordings of agents, each changed in one\nway whose cause is known because we made it, and audited as a tolerant and a strict session would: {fixtures} audits.\nNone that is not linear was called linear.\n\n| Cause | Audits | Precision | Recall |\n|---|---|---|---|\n"
    );
    for (name, count) in counts {
        let share = |of: usize| match of {
            0 => "–".to_owned(),
            of => format!("{:.3}", count.right as f64 / of as f64),
        };
        let all = count.right + count.missed;
        writeln!(out, "| `{name}` | {all} | {} | {} |", share(count.right + count.wrong), share(all))
            .unwrap();
    }
    out
}
