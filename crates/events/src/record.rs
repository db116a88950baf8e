//! An event as one line of the event log: counts and names, no text and no ids.

use serde_json::{Map, Value, json};

use crate::{Event, Observed};

/// The JSON object of an event, its `event` key first.
pub fn record(event: &Event) -> Value {
    match event {
        Event::SessionOpened { session } => json!({"event": "session_opened", "session": session}),
        Event::SessionRestored { session, turns } => {
            json!({"event": "session_restored", "session": session, "turns": turns})
        }
        Event::SessionClosed { session } => json!({"event": "session_closed", "session": session}),
        Event::TurnCommitted(turn) => {
            let generated = &turn.generated;
            let (shared, messages, observed, trim) = match &turn.observed {
                Observed::Shared(node) => (Some(node), 0, 0, 0),
                Observed::New { messages, ids, trim, .. } => (None, messages.len(), ids.len(), *trim),
                Observed::Ids(ids) => (None, 0, ids.len(), 0),
            };
            let versions: Map<String, Value> = generated
                .sampled
                .versions()
                .iter()
                .map(|(version, count)| {
                    (version.as_ref().map_or("unknown", |v| v.as_str()).to_owned(), json!(count))
                })
                .collect();
            json!({
                "event": "turn_committed",
                "session": turn.session,
                "at": turn.at,
                "parent": turn.parent,
                "shared": shared,
                "messages": messages,
                "observed_tokens": observed,
                "trim": trim,
                "sampled_tokens": generated.sampled.len(),
                "versions": versions,
                "finish": generated.finish,
                "attempts": generated.attempts,
                "temperature": generated.temperature,
                "cached_tokens": generated.cached_tokens,
                "expert_rows": generated.experts.as_ref().map(|experts| experts.rows()),
                "indexer_rows": generated.indexer.as_ref().map(|indexer| indexer.rows()),
                "speculation": generated.speculation,
                "retractions": generated.retractions,
                "tool_calls": generated.message.tool_calls.len(),
                "response": generated.response,
                "held_ms": turn.timings.held.as_millis() as u64,
                "generate_ms": turn.timings.generate.as_millis() as u64,
            })
        }
        Event::Lost { session, cause, count } => {
            json!({"event": "lost", "session": session, "cause": cause.name(), "detail": cause.detail(), "count": count})
        }
        Event::GroupStarted { group, sessions } => {
            json!({"event": "group_started", "group": group, "sessions": sessions})
        }
        Event::AgentStarted { group, place, attempt } => {
            json!({"event": "agent_started", "group": group, "place": place, "attempt": attempt})
        }
        Event::AgentEnded { group, place, attempt, failed } => {
            json!({"event": "agent_ended", "group": group, "place": place, "attempt": attempt,
                "failed": failed.as_ref().map(|cause| cause.name())})
        }
        Event::GroupReady { group } => json!({"event": "group_ready", "group": group}),
        Event::GroupLeased { group, step } => {
            json!({"event": "group_leased", "group": group, "step": step})
        }
        Event::GroupProtected { group } => json!({"event": "group_protected", "group": group}),
        Event::GroupFinalised { group } => json!({"event": "group_finalised", "group": group}),
        Event::SessionScored { session, group, reward, attempts } => {
            json!({"event": "session_scored", "session": session, "group": group, "reward": reward, "attempts": attempts})
        }
        Event::GroupScored { group } => json!({"event": "group_scored", "group": group}),
        Event::GroupFinished { group, rows, step, is_last } => {
            json!({"event": "group_finished", "group": group, "rows": rows, "step": step, "is_last": is_last})
        }
        Event::GroupDropped { group, cause } => {
            json!({"event": "group_dropped", "group": group, "cause": cause.name(), "detail": cause.detail()})
        }
        Event::Evaluated { evaluation, dataset, sessions, failed, passed } => {
            json!({"event": "evaluated", "evaluation": evaluation, "dataset": dataset, "sessions": sessions,
                "failed": failed, "passed": passed})
        }
        Event::UpdateBegun { mode } => json!({"event": "update_begun", "mode": mode}),
        Event::UpdateEnded { version } => json!({"event": "update_ended", "version": version.as_str()}),
        Event::PrefixesReleased { session, engines, failed } => {
            json!({"event": "prefixes_released", "session": session, "engines": engines, "failed": failed})
        }
        Event::StepOpened { step } => json!({"event": "step_opened", "step": step}),
        Event::StepClosed { step } => json!({"event": "step_closed", "step": step}),
        Event::OptimizerStep(told) => {
            json!({"event": "optimizer_step", "step": told.step, "rows": told.rows, "version": told.version.as_str(),
                "groups": told.groups, "metrics": told.metrics})
        }
    }
}
