//! What functions are given of a session. The names are in `docs/src/rewards.md`, and stay.

use serde::Serialize;
use serde_json::{Map, Value, json};
use verbatim_dialects::chat::spell;
use verbatim_events::{Finish, GroupId, SessionId};
use verbatim_forest::Forest;
use verbatim_samples::Row;
use verbatim_tokens::TokenId;

use crate::Task;

/// A session that ended well: its rows, and what is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) rows: Vec<Row>,
    pub(crate) given: Given,
    /// Whether the agent exported its contexts by name.
    pub(crate) named: bool,
}

/// What a reward function is given of one session.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Given {
    session: SessionId,
    group: GroupId,
    group_index: u64,
    sample_index: u64,
    mode: String,
    task: TaskGiven,
    /// The agent's own data.
    metadata: Map<String, Value>,
    /// Of the first context.
    #[serde(flatten)]
    first: Context,
    contexts: Vec<Context>,
}

/// The dataset's part.
#[derive(Clone, Debug, Serialize)]
struct TaskGiven {
    metadata: Map<String, Value>,
    label: Option<Value>,
}

/// One context: the messages of a row, and how it ended.
#[derive(Clone, Debug, Default, Serialize)]
struct Context {
    name: Option<String>,
    messages: Vec<Value>,
    /// The text of the last reply.
    response: String,
    finish: Option<Finish>,
    turns: usize,
    tokens: usize,
    reward: Option<f64>,
}

/// A session's place among those of its dataset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) group_index: u64,
    pub(crate) sample_index: u64,
}

impl Identity {
    /// That of a place in the group of a task with this number.
    pub(crate) fn of(number: u64, group_size: usize, place: u32) -> Self {
        Self { group_index: number, sample_index: number * group_size as u64 + u64::from(place) }
    }
}

impl Given {
    /// What is known of a session with these rows.
    pub(crate) fn of(
        forest: &Forest,
        rows: &[Row],
        (session, group, mode): (&SessionId, &GroupId, &str),
        task: &Task,
        metadata: Map<String, Value>,
        identity: Identity,
    ) -> Self {
        let contexts: Vec<_> = rows.iter().map(|row| Context::of(forest, row)).collect();
        Self {
            session: session.clone(),
            group: group.clone(),
            group_index: identity.group_index,
            sample_index: identity.sample_index,
            mode: mode.to_owned(),
            task: TaskGiven { metadata: task.input.metadata.clone(), label: task.label.clone() },
            metadata,
            first: contexts.first().cloned().unwrap_or_default(),
            contexts,
        }
    }
}

impl Context {
    fn of(forest: &Forest, row: &Row) -> Self {
        let end = row.turns.last().map_or(row.leaf, |turn| turn.node);
        let messages = forest.messages(end);
        let response = messages.last().map(|message| message.content.text().into_owned());
        Self {
            name: row.name.clone(),
            messages: messages.iter().map(|message| spell(message)).collect(),
            response: response.unwrap_or_default(),
            finish: row.turns.last().map(|turn| turn.finish),
            turns: row.turns.len(),
            tokens: row.tokens.len(),
            reward: row.reward,
        }
    }
}

impl Finished {
    /// As a reward function is given it: with the rewards that its rows have by now.
    pub(crate) fn told(&self) -> Value {
        let mut given = self.given.clone();
        for (context, row) in given.contexts.iter_mut().zip(&self.rows) {
            context.reward = row.reward;
        }
        given.first.reward = self.rows.first().and_then(|row| row.reward);
        // Names and text only: it is JSON.
        serde_json::to_value(&given).unwrap_or_default()
    }

    /// The key of a row among its session's: the name it was exported by, else `main`, or where there are several
    /// `leaf_` and the number of its last turn.
    pub(crate) fn key(&self, row: &Row) -> String {
        match &row.name {
            Some(name) => name.clone(),
            None if self.rows.len() == 1 => "main".to_owned(),
            None => format!("leaf_{}", row.leaf),
        }
    }

    /// As an advantage function is given it: for each context its data, with `reward` and `turns`.
    pub(crate) fn contexts(&self) -> Map<String, Value> {
        let context = |row: &Row| {
            let mut told = row.metadata.clone();
            let fields = told.get("reward").filter(|reward| reward.is_object()).cloned();
            told.extend(fields.map(|fields| ("reward_fields".to_owned(), fields)));
            told.insert("reward".to_owned(), json!(row.reward));
            told.insert("turns".to_owned(), json!(row.turns.len()));
            if let Some(rewards) = row.turn_rewards() {
                told.insert("turn_rewards".to_owned(), json!(rewards));
            }
            (self.key(row), Value::Object(told))
        };
        self.rows.iter().map(context).collect()
    }

    /// As a filter is given its rows.
    pub(crate) fn outlines(&self) -> impl Iterator<Item = Value> + '_ {
        self.rows.iter().map(|row| {
            json!({
                "session": row.session,
                "sample_index": row.sample_index,
                "name": self.key(row),
                "reward": row.reward,
                "advantages": row.advantages,
                "turn_rewards": row.turn_rewards(),
                "turns": row.turns.len(),
                "tokens": TokenId::raw(&row.tokens).len(),
                "trained": row.trained(),
                "status": row.status,
                "metadata": row.metadata,
            })
        })
    }
}
