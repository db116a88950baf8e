//! A server on a free port, with an engine that says what a test wants and remembers what it read.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use verbatim_chat::{Arguments, ImageSpan, Message, Role, Setup, ToolCall};
use verbatim_engine::Prompt;
use verbatim_engine_sim::{Fault, Latency, Line, SimEngine, SimOptions};
use verbatim_events::{Event, Observer, Observers};
use verbatim_families::{Family, Scene, StartState, load};
use verbatim_gateway::{Access, App, Hooks, Limits, Metrics, router, serve};
use verbatim_journal::{Journal, Options};
use verbatim_session::{Sessions, Settings};
use verbatim_tokenizer::{HfTokenizer, SpecialSplitter};
use verbatim_tokens::TokenId;

/// The family of all tests, its tokenizer loaded once.
pub(crate) fn family() -> Arc<dyn Family> {
    static FAMILY: OnceLock<Arc<dyn Family>> = OnceLock::new();
    Arc::clone(FAMILY.get_or_init(|| loaded("qwen3", "tokenizer-qwen3")))
}

/// A family over a fetched tokenizer.
pub(crate) fn loaded(name: &str, asset: &str) -> Arc<dyn Family> {
    let home = std::env::var_os("VERBATIM_CACHE")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache")), PathBuf::from);
    let path = home.join(format!("assets/{asset}/tokenizer.json"));
    let json = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `python3 tools/fetch.py {asset}`", path.display()));
    let tokenizer = Arc::new(HfTokenizer::from_json(&json).unwrap());
    load(name, tokenizer, None, &Default::default()).unwrap()
}

/// The ids that a model would sample to say this, stop token included.
pub(crate) fn says(message: &Message) -> Vec<TokenId> {
    let setup = Setup::default();
    family().reply(Scene { setup: &setup, opened: 0 }, StartState::Content, message).unwrap()
}

/// A plain text as a model would say it.
pub(crate) fn text(content: &str) -> Line {
    Line { ids: says(&Message::new(Role::Assistant, content)), fault: None }
}

/// A plain text that goes wrong.
pub(crate) fn faulty(content: &str, fault: Fault) -> Line {
    Line { fault: Some(fault), ..text(content) }
}

/// What one attempt read and was to say.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) prompt: Vec<TokenId>,
    pub(crate) said: Vec<TokenId>,
    pub(crate) salt: Option<Arc<str>>,
    pub(crate) images: Arc<[ImageSpan]>,
}

/// A running server.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) sessions: Sessions,
    pub(crate) engine: SimEngine,
    attempts: Arc<Mutex<Vec<Attempt>>>,
    events: Arc<Recorder>,
    stop: CancellationToken,
}

/// How a test's server differs from the usual one.
pub(crate) struct Setting {
    pub(crate) settings: Settings,
    pub(crate) family: Arc<dyn Family>,
    pub(crate) options: SimOptions,
    pub(crate) access: Access,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) one_chunk: bool,
    /// Whether the engine can hold a reply to a form.
    pub(crate) forms: bool,
    pub(crate) limits: Limits,
    /// Where its sessions are kept, in small segments.
    pub(crate) journal: Option<PathBuf>,
}

impl Default for Setting {
    fn default() -> Self {
        let settings =
            Settings { hold: Duration::from_secs(5), grace: Duration::ZERO, ..Settings::default() };
        let options = SimOptions { vocabulary: family().tokenizer().vocabulary(), ..SimOptions::default() };
        Self {
            settings,
            family: family(),
            options,
            access: Access::default(),
            hooks: Arc::default(),
            one_chunk: false,
            forms: false,
            limits: Limits::default(),
            journal: None,
        }
    }
}

impl Setting {
    /// Every token takes so long.
    pub(crate) fn slow(token: Duration) -> Self {
        let usual = Self::default();
        let latency = Latency { decode_token: token, ..Latency::NONE };
        Self { options: SimOptions { latency, ..usual.options }, ..usual }
    }
}

#[derive(Default)]
struct Recorder(Mutex<Vec<Event>>);

impl Observer for Recorder {
    fn observe(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Server {
    /// A server whose engine says these lines in order, over all sessions, and the last one for ever.
    pub(crate) async fn saying(lines: impl IntoIterator<Item = Line>) -> Self {
        Self::with(Setting::default(), lines).await
    }

    pub(crate) async fn with(setting: Setting, lines: impl IntoIterator<Item = Line>) -> Self {
        let attempts = Arc::new(Mutex::new(Vec::new()));
        let lines = Mutex::new(lines.into_iter().collect::<VecDeque<_>>());
        let log = Arc::clone(&attempts);
        let script = move |prompt: &Prompt, _: &mut rand_chacha::ChaCha8Rng| {
            let mut lines = lines.lock().unwrap();
            let line = if lines.len() > 1 { lines.pop_front() } else { lines.front().cloned() }.unwrap();
            let (salt, images) = (prompt.salt.clone(), Arc::clone(&prompt.images));
            let prompt = prompt.ids.to_vec();
            log.lock().unwrap().push(Attempt { prompt, said: line.ids.clone(), salt, images });
            line
        };
        let engine = match setting.forms {
            false => SimEngine::new(setting.options, script),
            true => {
                let tokenizer = Arc::clone(family().tokenizer());
                let splitter = SpecialSplitter::new(tokenizer.as_ref(), |added| !added.control);
                let speller = move |text: &str| splitter.encode(tokenizer.as_ref(), text);
                SimEngine::with_speller(setting.options, script, Arc::new(speller))
            }
        };
        let metrics = Arc::new(Metrics::default());
        let events = Arc::new(Recorder::default());
        let observers = Observers::new([metrics.clone() as Arc<dyn Observer>, events.clone()]);
        let options = Options { segment_bytes: 8 << 10, ..Options::default() };
        let mut journal = setting.journal.map(|folder| Journal::open(&folder, options).unwrap());
        let kept = journal.as_mut().map(|(journal, recovery)| (journal.clone(), recovery));
        let (sessions, restored) =
            Sessions::kept(setting.family, Arc::new(engine.clone()), observers, setting.settings, kept);
        assert_eq!(restored.refused, []);
        let app = App {
            access: setting.access,
            hooks: setting.hooks,
            one_chunk: setting.one_chunk,
            limits: setting.limits,
            ..App::new(sessions.clone(), metrics, "policy")
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, router(app), setting.limits, stop.clone()));
        Self { url, client: Client::new(), sessions, engine, attempts, events, stop }
    }

    /// Opens a session with this body; returns its token.
    pub(crate) async fn open(&self, body: Value) -> String {
        let reply = self.client.post(format!("{}/sessions", self.url)).json(&body).send().await.unwrap();
        let reply: Value = reply.json().await.unwrap();
        reply["session_id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    pub(crate) fn chat(&self, session: &str, body: &Value) -> RequestBuilder {
        self.client.post(format!("{}/sessions/{session}/v1/chat/completions", self.url)).json(body)
    }

    /// Takes one turn; returns status and body.
    pub(crate) async fn turn(&self, session: &str, body: &Value) -> (StatusCode, Value) {
        let reply = self.chat(session, body).send().await.unwrap();
        (reply.status(), reply.json().await.unwrap())
    }

    /// Posts to a route of a session's; returns status and body.
    pub(crate) async fn post(&self, session: &str, route: &str, body: &Value) -> (StatusCode, Value) {
        let url = format!("{}/sessions/{session}/v1/{route}", self.url);
        let reply = self.client.post(url).json(body).send().await.unwrap();
        (reply.status(), reply.json().await.unwrap())
    }

    /// Posts to a route of a session's; returns the events of the stream, each with its name.
    pub(crate) async fn stream(&self, session: &str, route: &str, body: &Value) -> Vec<(String, Value)> {
        let url = format!("{}/sessions/{session}/v1/{route}", self.url);
        let reply = self.client.post(url).json(body).send().await.unwrap();
        assert_eq!(reply.status(), StatusCode::OK);
        named(&reply.text().await.unwrap())
    }

    /// Takes one turn that must go well; returns the assistant's message.
    pub(crate) async fn says(&self, session: &str, messages: &[Value]) -> Value {
        let (status, reply) = self.turn(session, &json!({"messages": messages})).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        reply["choices"][0]["message"].clone()
    }

    /// The session's tree.
    pub(crate) async fn tree(&self, session: &str) -> Value {
        self.client
            .get(format!("{}/sessions/{session}", self.url))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    }

    /// How many turns a session has committed.
    pub(crate) fn committed(&self, session: &str) -> usize {
        let session = self.sessions.get(session).unwrap();
        session.with_forest(|forest| forest.nodes().filter(|(_, node)| node.generation().is_some()).count())
    }

    /// What the engine was asked.
    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.attempts.lock().unwrap().clone()
    }

    /// How often a cause was told.
    pub(crate) fn lost(&self, name: &str) -> u64 {
        let events = self.events.0.lock().unwrap();
        let count = |event: &Event| match event {
            Event::Lost { cause, count, .. } if cause.name() == name => *count,
            _ => 0,
        };
        events.iter().map(count).sum()
    }

    /// What was lost so far, each by its name and detail.
    pub(crate) fn causes(&self) -> Vec<String> {
        let events = self.events.0.lock().unwrap();
        let told = events.iter().filter_map(|event| match event {
            Event::Lost { cause, .. } => {
                Some(format!("{} {}", cause.name(), cause.detail()).trim().to_owned())
            }
            _ => None,
        });
        told.collect()
    }

    /// Waits until something holds.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..500 {
            if holds(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never: {what}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

/// The data of each server-sent event.
pub(crate) fn events(body: &str) -> Vec<String> {
    body.split("\n\n").filter_map(|frame| frame.strip_prefix("data: ").map(str::to_owned)).collect()
}

/// The name and the data of each server-sent event.
pub(crate) fn named(body: &str) -> Vec<(String, Value)> {
    let frames = body.split("\n\n").filter_map(|frame| {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        Some((field("event: ")?, serde_json::from_str(&field("data: ")?).unwrap()))
    });
    frames.collect()
}

/// A thinking, talking, calling assistant's turn, as a model would say it.
pub(crate) fn turn(reasoning: &str, content: &str, calls: &[(&str, &str)]) -> Line {
    let mut message = Message::new(Role::Assistant, content);
    message.reasoning = (!reasoning.is_empty()).then(|| reasoning.to_owned());
    message.tool_calls = calls
        .iter()
        .map(|(name, arguments)| ToolCall {
            id: None,
            name: (*name).to_owned(),
            arguments: Arguments::Text((*arguments).to_owned()),
        })
        .collect();
    Line { ids: says(&message), fault: None }
}
