//! The scripted agent: an ordinary client of chat completions.
//!
//! The invariant: it sends back what it was sent, byte for byte where JSON lets it, and appends; it
//! reads nothing but replies.

use reqwest::Client;
use serde_json::{Value, json};

use super::{Plan, Roles, Step};

/// Why a turn did not come about.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The server cannot be reached.
    #[error("cannot reach the server: {0}")]
    Http(#[from] reqwest::Error),
    /// The server refused.
    #[error("status {status}: {body}")]
    Refused {
        /// The status.
        status: u16,
        /// What it said.
        body: String,
    },
    /// The reply is none.
    #[error("a reply without {what}: {body}")]
    Malformed {
        /// What is missing.
        what: &'static str,
        /// The reply.
        body: String,
    },
}

/// Places to ask about.
const PLACES: [&str; 6] = ["Oslo", "Lima", "Kyoto", "Accra", "Quito", "Hanoi"];

/// What a turn came to.
pub(crate) struct Taken {
    /// The reply's id.
    pub(crate) id: String,
    /// Why it ended.
    pub(crate) finish: String,
    /// How many tools it called.
    pub(crate) calls: usize,
}

/// One session's agent.
pub(crate) struct Agent {
    client: Client,
    root: String,
    token: String,
    /// The declarations; null where the family has no format for them.
    tools: Value,
    messages: Vec<Value>,
    max_tokens: u32,
    temperature: Option<f32>,
    place: usize,
    asked: usize,
}

impl Agent {
    /// Opens a session.
    pub(crate) async fn open(
        url: &str,
        plan: &Plan,
        roles: &Roles,
        number: usize,
    ) -> Result<Self, AgentError> {
        let client = Client::new();
        let opened = answer(client.post(format!("{url}/sessions")).json(&json!({}))).await?;
        let token = opened["session_id"].as_str().map(str::to_owned);
        let token =
            token.ok_or_else(|| AgentError::Malformed { what: "session_id", body: opened.to_string() })?;
        let city = json!({"type": "string", "description": "A city's name"});
        let parameters = json!({"type": "object", "properties": {"city": city}, "required": ["city"]});
        let function =
            json!({"name": "get_weather", "description": "The weather in a city", "parameters": parameters});
        let tools =
            if roles.tool { json!([{"type": "function", "function": function}]) } else { Value::Null };
        let (max_tokens, temperature) = (plan.max_tokens, plan.temperature);
        let root = url.to_owned();
        Ok(Self {
            client,
            root,
            token,
            tools,
            messages: Vec::new(),
            max_tokens,
            temperature,
            place: number,
            asked: 0,
        })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Takes one turn.
    pub(crate) async fn take(&mut self, step: Step) -> Result<Taken, AgentError> {
        self.prepare(step);
        let mut body = json!({"messages": self.messages, "max_tokens": self.max_tokens});
        if !self.tools.is_null() {
            body["tools"] = self.tools.clone();
        }
        if let Some(temperature) = self.temperature {
            body["temperature"] = json!(temperature);
        }
        let url = format!("{}/sessions/{}/v1/chat/completions", self.root, self.token);
        let reply = answer(self.client.post(url).json(&body)).await?;
        let missing = |what| AgentError::Malformed { what, body: reply.to_string() };
        let choice = &reply["choices"][0];
        let message = choice
            .get("message")
            .filter(|message| message.is_object())
            .ok_or_else(|| missing("a message"))?;
        self.messages.push(message.clone());
        Ok(Taken {
            id: reply["id"].as_str().ok_or_else(|| missing("an id"))?.to_owned(),
            finish: choice["finish_reason"].as_str().unwrap_or_default().to_owned(),
            calls: calls(message).len(),
        })
    }

    /// Ends the session. One that is gone already is no error.
    pub(crate) async fn close(self) {
        let _ = self.client.delete(format!("{}/sessions/{}", self.root, self.token)).send().await;
    }

    fn prepare(&mut self, step: Step) {
        match step {
            Step::Task => {
                let place = self.next_place();
                self.say("system", "You look things up with the tools you have, one call at a time.");
                if !self.tools.is_null() {
                    self.show();
                }
                self.say("user", &format!("And in {place}? Look it up."));
            }
            Step::Tool => {
                if self.results() == 0 {
                    let place = self.next_place();
                    self.say("user", &format!("And in {place}? Look it up."));
                }
            }
            Step::User => {
                self.results();
                let place = self.next_place();
                self.say("user", &format!("And in {place}? Look it up."));
            }
            Step::System => {
                self.results();
                self.say("system", "Keep answers short.");
                self.say("user", "Go on.");
            }
            Step::Rollback => drop(self.messages.pop()),
            Step::Final => {
                self.results();
                self.say("user", "That is enough. Answer now, without calling anything.");
            }
            Step::Injected => {
                self.results();
                self.say("assistant", "Let me sum that up.");
                self.say("assistant", "It is mild nearly everywhere.");
                self.say("user", "Where is it warmest?");
            }
        }
    }

    /// Questions that were answered with a call each: a small model calls where it has seen calls.
    fn show(&mut self) {
        for (nth, (place, degrees)) in [("Cairo", 31), ("Turin", 17), ("Dakar", 28)].into_iter().enumerate() {
            let id = format!("call0000{nth}");
            let function = json!({"name": "get_weather", "arguments": format!("{{\"city\": \"{place}\"}}")});
            let call = json!({"id": id, "type": "function", "function": function});
            let result = format!("{{\"degrees\": {degrees}, \"sky\": \"clear\"}}");
            self.say("user", &format!("And in {place}? Look it up."));
            self.messages.push(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
            self.messages
                .push(json!({"role": "tool", "tool_call_id": id, "name": "get_weather", "content": result}));
            self.say("assistant", &format!("It has {degrees} degrees in {place}, and the sky is clear."));
        }
    }

    /// Answers what the last turn called; returns how many results that were.
    fn results(&mut self) -> usize {
        let called = self.messages.last().map(calls).unwrap_or_default();
        for call in &called {
            self.asked += 1;
            let content = format!("{{\"degrees\": {}, \"sky\": \"clear\"}}", 9 + self.asked % 14);
            let (id, name) = (&call["id"], &call["function"]["name"]);
            self.messages.push(json!({"role": "tool", "tool_call_id": id, "name": name, "content": content}));
        }
        called.len()
    }

    fn say(&mut self, role: &str, text: &str) {
        self.messages.push(json!({"role": role, "content": text}));
    }

    fn next_place(&mut self) -> &'static str {
        self.place += 1;
        PLACES[self.place % PLACES.len()]
    }
}

fn calls(message: &Value) -> Vec<Value> {
    message["tool_calls"].as_array().cloned().unwrap_or_default()
}

async fn answer(request: reqwest::RequestBuilder) -> Result<Value, AgentError> {
    let reply = request.send().await?;
    let status = reply.status();
    let body = reply.text().await?;
    if !status.is_success() {
        return Err(AgentError::Refused { status: status.as_u16(), body });
    }
    serde_json::from_str(&body).map_err(|_| AgentError::Malformed { what: "JSON", body })
}
