//! Whether what the model says is read as it was said: on one turn that calls, and one that ends.
//!
//! The invariant: PASS needs both seen on the agent's own traffic, and the family's own round trip over its vocabulary; an
//! agent that declares no tools needs no turn that calls.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use verbatim_chat::Arguments;

use super::{Line, Verdict};
use crate::assess::syntaxes;
use crate::recording::{Outcome, Recording};

/// What the agent's traffic shows of parsing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Whether a request declares tools.
    pub tools: bool,
    /// Turns that called.
    pub calling: usize,
    /// Turns that ended without a call.
    pub ending: usize,
    /// What was wrong.
    pub faults: Vec<String>,
}

/// Looks at the replies of recordings.
pub fn traffic<'r>(recordings: impl IntoIterator<Item = &'r Recording>) -> Traffic {
    let mut traffic = Traffic::default();
    for recording in recordings {
        let mut ids = HashSet::new();
        for (number, exchange) in recording.exchanges.iter().enumerate() {
            let body: Option<serde_json::Value> = serde_json::from_str(&exchange.body).ok();
            traffic.tools |=
                body.is_some_and(|body| body["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
            let Outcome::Replied(reply) = &exchange.outcome else { continue };
            let message = &reply.message;
            let mut fault = |what: String| traffic.faults.push(format!("reply {number}: {what}"));
            for call in &message.tool_calls {
                match &call.id {
                    None => fault(format!("a call of {} has no id", call.name)),
                    Some(id) if !ids.insert(id.clone()) => fault(format!("call id {id} came twice")),
                    Some(_) => {}
                }
                let parsed = match &call.arguments {
                    Arguments::Text(text) => serde_json::from_str(text).unwrap_or_default(),
                    Arguments::Json(value) => value.clone(),
                };
                if !parsed.is_object() {
                    fault(format!("the arguments of {} are no object", call.name));
                }
            }
            for syntax in syntaxes(&message.content.text()) {
                fault(format!("the syntax of {} is left in its text", syntax.parser));
            }
            let finish = reply.finish.as_deref();
            let calls = matches!(finish, Some("tool_calls" | "tool_use"));
            if matches!(finish, Some("stop" | "end_turn")) && !message.tool_calls.is_empty()
                || calls && message.tool_calls.is_empty()
            {
                fault(format!(
                    "it ended by {} with {} calls",
                    finish.unwrap_or_default(),
                    message.tool_calls.len()
                ));
            }
            match message.tool_calls.is_empty() {
                false => traffic.calling += 1,
                true => traffic.ending += 1,
            }
        }
    }
    traffic
}

/// Judges parsing: `family` is the family's round trip over its vocabulary, or why it could not be tried.
pub fn parsers(family: Result<(usize, Vec<String>), String>, traffic: Option<&Traffic>) -> Vec<Line> {
    let about = |what: &str| format!("Reasoning/tool-call parsers, {what}");
    let round = match family {
        Err(problem) => {
            Line::new(Verdict::Unverified, about("family"), problem, "name the model: --model, --family")
        }
        Ok((0, _)) => Line::new(Verdict::Unverified, about("family"), "no reply could be tried", ""),
        Ok((replies, wrong)) if wrong.is_empty() => Line::new(
            Verdict::Pass,
            about("family"),
            format!("{replies} replies are read as they were said"),
            "",
        ),
        Ok((_, wrong)) => {
            let way_out = "`verbatim verify template` shows each; take another family or parser";
            Line::new(Verdict::NeedsChanges, about("family"), wrong.join("; "), way_out)
        }
    };
    let seen = match traffic {
        None => Line::new(
            Verdict::Unverified,
            about("traffic"),
            "no traffic of the integrated agent was assessed",
            "run `verbatim assess ROLLOUT.TOML`",
        ),
        Some(traffic) if !traffic.faults.is_empty() => Line::new(
            Verdict::NeedsChanges,
            about("traffic"),
            traffic.faults.join("; "),
            "set family.tool_call_parser and family.reasoning_parser to the model's own",
        ),
        Some(Traffic { tools: true, calling: 0, .. }) => Line::new(
            Verdict::Unverified,
            about("traffic"),
            "tools are declared, and no turn called one",
            "assess on a task that needs a tool, with a model that calls it",
        ),
        Some(Traffic { ending: 0, .. }) => Line::new(
            Verdict::Unverified,
            about("traffic"),
            "no turn ended without a call",
            "assess a whole run",
        ),
        Some(Traffic { calling, ending, .. }) => {
            let what = format!("{calling} turns that call and {ending} that end are read whole");
            Line::new(Verdict::Pass, about("traffic"), what, "")
        }
    };
    vec![round, seen]
}
