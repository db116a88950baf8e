//! From what an agent left to the rows of its session.
//!
//! The invariants: every exported context is one that the session holds, found as a request that continues it would
//! be, or the session fails with the record's name; a reward that is an object stays in the row's metadata.

use std::collections::HashMap;

use serde_json::Map;
use verbatim_agents::{Output, Record, Reward, TurnRewards};
use verbatim_dialects::chat::Request;
use verbatim_events::{Cause, NodeId};
use verbatim_forest::Forest;
use verbatim_samples::{Context as Exported, Options, Rewards, Row, assemble};
use verbatim_session::{Session, TurnError};

use crate::Task;
use crate::context::Context;
use crate::member::Failed;
use crate::score::{keep, number};

/// The rows of a session whose agent ended well.
pub(crate) async fn rows(
    context: &Context,
    session: &Session,
    task: &Task,
    output: &Output,
) -> Result<Vec<Row>, Failed> {
    let mut metadata = task.input.metadata.clone();
    metadata.extend(output.metadata.clone());
    metadata.insert("task".to_owned(), task.index.into());
    let session_reward = reward(context, output.reward.as_ref(), &mut metadata)?;
    let mut rewards = Rewards { session: session_reward, ..Rewards::default() };
    let contexts = match &output.records {
        Some(records) => Some(exported(context, session, records, &mut rewards.by_turn).await?),
        None => None,
    };
    if let Some(given) = &output.turn_rewards {
        let leaves = session.with_forest(|forest| context.plan.pick.leaves(forest));
        let end = (leaves.len() == 1).then(|| leaves[0]);
        turn_rewards(session, given, end, &mut rewards.by_turn).map_err(unreadable)?;
    }
    let max_seq_len = context.plan.max_seq_len;
    let options =
        Options { pick: context.plan.pick, contexts, max_seq_len, rewards, metadata, ..Options::default() };
    let assembled = session.with_forest(|forest| assemble(forest, session.id(), session.group(), &options));
    match assembled {
        Ok(assembly) if assembly.rows.is_empty() => {
            let text = "the agent ended without one committed turn".to_owned();
            Err(Failed { cause: Cause::NoTurns, text, again: true })
        }
        Ok(assembly) => {
            assembly.tell(session.id(), context.sessions.observers());
            Ok(assembly.rows)
        }
        Err(error) => Err(Failed { cause: Cause::RowRefused, text: error.to_string(), again: false }),
    }
}

/// Finds the contexts that an agent exported.
async fn exported(
    context: &Context,
    session: &Session,
    records: &[Record],
    by_turn: &mut HashMap<String, f64>,
) -> Result<Vec<Exported>, Failed> {
    let mut found = Vec::with_capacity(records.len());
    for (at, record) in records.iter().enumerate() {
        let named = |problem: String| format!("record {} ({:?}): {problem}", at + 1, record.name);
        let request =
            Request::parse(&record.conversation).map_err(|invalid| unreadable(named(invalid.to_string())))?;
        let end = context.sessions.locate(session, &request).await.map_err(|error| Failed {
            cause: match error {
                TurnError::Matcher { .. } => Cause::MatcherFailed,
                _ => Cause::AgentOutput,
            },
            text: named(error.to_string()),
            again: true,
        })?;
        let Some(end) = end else {
            let text = named(
                "the session holds no such conversation with a turn in it; messages, tools and \
                 chat_template_kwargs must be those of a request, and the reply to it"
                    .to_owned(),
            );
            return Err(Failed { cause: Cause::ExportUnknown, text, again: true });
        };
        let mut metadata = record.metadata.clone();
        let reward = reward(context, record.reward.as_ref(), &mut metadata)
            .map_err(|failed| Failed { text: named(failed.text), ..failed })?;
        if let Some(given) = &record.turn_rewards {
            turn_rewards(session, given, Some(end), by_turn).map_err(|problem| unreadable(named(problem)))?;
        }
        found.push(Exported { end, name: record.name.clone(), reward, metadata });
    }
    Ok(found)
}

/// The number of an agent's reward, if it gave one.
fn reward(
    context: &Context,
    given: Option<&Reward>,
    metadata: &mut Map<String, serde_json::Value>,
) -> Result<Option<f64>, Failed> {
    let Some(given) = given else { return Ok(None) };
    let (number, fields) = number(given.clone(), context.scorer.key()).map_err(unreadable)?;
    keep(metadata, fields.as_ref());
    Ok(Some(number))
}

/// Enters rewards of turns; those in order are of the turns up to `end`.
fn turn_rewards(
    session: &Session,
    given: &TurnRewards,
    end: Option<NodeId>,
    by_turn: &mut HashMap<String, f64>,
) -> Result<(), String> {
    match given {
        TurnRewards::ByReply(given) => {
            let known = session.with_forest(|forest| replies(forest, forest.nodes().map(|(id, _)| id)));
            if let Some(unknown) = given.keys().find(|reply| !known.contains(*reply)) {
                return Err(format!("turn_rewards.{unknown}: the session has no such reply"));
            }
            by_turn.extend(given.iter().map(|(reply, reward)| (reply.clone(), *reward)));
        }
        TurnRewards::InOrder(given) => {
            let end = end.ok_or("turn_rewards: the session has several contexts; give them by reply id")?;
            let turns = session.with_forest(|forest| {
                replies(forest, forest.path(end).into_iter().map(|segment| segment.id))
            });
            if turns.len() != given.len() {
                let (given, turns) = (given.len(), turns.len());
                return Err(format!(
                    "turn_rewards: {given} for {turns} turns; give a number or null for each"
                ));
            }
            let known = turns.into_iter().zip(given).filter_map(|(reply, reward)| Some((reply, (*reward)?)));
            by_turn.extend(known);
        }
    }
    Ok(())
}

/// The ids of the replies among some nodes.
fn replies(forest: &Forest, nodes: impl Iterator<Item = NodeId>) -> Vec<String> {
    nodes.filter_map(|id| Some(forest.node(id)?.generation()?.response.clone())).collect()
}

fn unreadable(problem: String) -> Failed {
    let text = format!("the agent's output is invalid: {problem}");
    Failed { cause: Cause::AgentOutput, text, again: true }
}
