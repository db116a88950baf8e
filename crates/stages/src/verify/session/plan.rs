//! What the agent does.
//!
//! The invariant: a step is in the schedule only if the family renders what it appends.

use serde::Serialize;
use serde_json::{Map, json};
use verbatim_chat::{Arguments, Message, Role, Setup, Tool, ToolCall};
use verbatim_families::{Family, Junction, Scene};

/// How sessions are verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// How many sessions.
    pub sessions: usize,
    /// How many cycles of steps each has.
    pub cycles: usize,
    /// At most this many tokens a turn.
    pub max_tokens: u32,
    /// The sampler's temperature; `None` leaves it to the server.
    pub temperature: Option<f32>,
    /// The share of turns that may differ in what the assistant said (reference: Miles §5, §8).
    pub assistant_text: f64,
    /// Whether it fails if no tool was called in any session.
    pub calls: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            sessions: 4,
            cycles: 3,
            max_tokens: 1024,
            temperature: None,
            assistant_text: 0.2,
            calls: false,
        }
    }
}

/// One turn of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The task.
    Task,
    /// The results of the turn's calls; where it called nothing, a user's word.
    Tool,
    /// A user's follow-up, after the results of what was called.
    User,
    /// A system's reminder, likewise.
    System,
    /// The last turn once more: the same request again.
    Rollback,
    /// A user asks for the answer, and no more calls.
    Final,
    /// Two assistant messages that nobody sampled, and a user's question.
    Injected,
}

impl Step {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Tool => "tool",
            Self::User => "user",
            Self::System => "system",
            Self::Rollback => "rollback",
            Self::Final => "final",
            Self::Injected => "injected",
        }
    }
}

/// What a family lets be appended to a sampled turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Roles {
    /// Declared tools, and results of calls.
    pub tool: bool,
    /// A user's message.
    pub user: bool,
    /// A system's message.
    pub system: bool,
    /// Assistants' messages before a user's.
    pub assistant: bool,
}

impl Roles {
    /// As the family says when it is asked to render them.
    pub fn of(family: &dyn Family) -> Self {
        let tool = json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}});
        let asked = Message::new(Role::User, "x");
        let declared = Setup { tools: vec![Tool(tool)], template: Map::new() };
        let tools = family.open(Scene { setup: &declared, opened: 0 }, &[asked]).is_ok();
        let setup = if tools { declared } else { Setup::default() };
        let scene = Scene { setup: &setup, opened: 0 };
        let call = ToolCall {
            id: Some("call00000".into()),
            name: "f".into(),
            arguments: Arguments::Text("{}".into()),
        };
        let called = Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") };
        let said = Message::new(Role::Assistant, "a");
        let takes = |message: &Message, new: &[Message]| {
            let sampled = &family.stop_ids()[..family.stop_ids().len().min(1)];
            family.extend(scene, Junction { sampled, message }, new).is_ok()
        };
        let result = Message {
            tool_call_id: Some("call00000".into()),
            name: Some("f".into()),
            ..Message::new(Role::Tool, "r")
        };
        let [user, system] = [Role::User, Role::System].map(|role| Message::new(role, "x"));
        Self {
            tool: takes(&called, &[result]),
            user: takes(&said, std::slice::from_ref(&user)),
            system: takes(&said, &[system, user.clone()]),
            assistant: takes(&said, &[said.clone(), said.clone(), user]),
        }
    }
}

impl Plan {
    /// The turns of one session: after the first cycle one more rollback, at the end the answer and
    /// what was injected.
    pub(crate) fn steps(&self, roles: &Roles) -> Vec<Step> {
        let mut cycle = vec![Step::Tool];
        if roles.user {
            cycle.extend([Step::User, Step::Tool]);
        }
        if roles.system && roles.user {
            cycle.push(Step::System);
        }
        cycle.push(Step::Rollback);
        let mut steps = vec![Step::Task];
        for nth in 0..self.cycles {
            steps.extend(&cycle);
            if nth == 0 {
                steps.push(Step::Rollback);
            }
        }
        if roles.user {
            steps.push(Step::Final);
            if roles.assistant {
                steps.push(Step::Injected);
            }
        }
        steps
    }
}
