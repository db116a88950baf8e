//! A server over an engine that says what a test wants.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use verbatim_chat::{Arguments, Message, Role, Setup, ToolCall};
use verbatim_engine::Prompt;
use verbatim_engine_sim::{Line, SimEngine, SimOptions};
use verbatim_events::Observers;
use verbatim_families::{Family, Options, Scene, StartState, load, load_with};
use verbatim_gateway::{App, Limits, Metrics, router, serve};
use verbatim_session::{Sessions, Settings};
use verbatim_tokenizer::{HfTokenizer, Piece, SpecialSplitter, Tokenizer};
use verbatim_tokens::TokenId;

pub(crate) fn read(file: &str) -> Vec<u8> {
    asset("tokenizer-qwen3", file)
}

fn asset(name: &str, file: &str) -> Vec<u8> {
    let cache = std::env::var_os("VERBATIM_CACHE")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache")), PathBuf::from);
    let path = cache.join("assets").join(name).join(file);
    std::fs::read(path).unwrap_or_else(|e| panic!("{file}: {e}; run `python3 tools/fetch.py {name}`"))
}

pub(crate) fn tokenizer() -> Arc<dyn Tokenizer> {
    static LOADED: OnceLock<Arc<dyn Tokenizer>> = OnceLock::new();
    let load = || Arc::new(HfTokenizer::from_json(&read("tokenizer.json")).unwrap()) as Arc<dyn Tokenizer>;
    Arc::clone(LOADED.get_or_init(load))
}

pub(crate) fn qwen3() -> Arc<dyn Family> {
    load("qwen3", tokenizer(), None, &Default::default()).unwrap()
}

/// A family whose format has no tools.
pub(crate) fn gemma3() -> Arc<dyn Family> {
    let tokenizer = HfTokenizer::from_json(&asset("tokenizer-gemma3", "tokenizer.json")).unwrap();
    load("gemma3", Arc::new(tokenizer), None, &Default::default()).unwrap()
}

/// Qwen3's own template, which drops old reasoning.
pub(crate) fn official() -> Arc<dyn Family> {
    let config: Value = serde_json::from_slice(&read("tokenizer_config.json")).unwrap();
    let options = Options {
        template: config["chat_template"].as_str().map(str::to_owned),
        special_tokens: serde_json::from_str(r#"{"eos_token": "<|im_end|>"}"#).unwrap(),
        reasoning_parser: Some("qwen3".to_owned()),
        tool_call_parser: Some("qwen25".to_owned()),
        ..Options::default()
    };
    load_with("default", tokenizer(), &options).unwrap()
}

/// The ids of a text that spells its special tokens.
pub(crate) fn ids(text: &str) -> Vec<TokenId> {
    let mut ids = Vec::new();
    for piece in SpecialSplitter::new(&*tokenizer(), |_| true).split(text) {
        match piece {
            Piece::Text(text) => tokenizer().encode(text, &mut ids),
            Piece::Special(id) => ids.push(id),
        }
    }
    ids
}

/// A turn that calls the tool, or one that says something, as Qwen3 would.
pub(crate) fn turn(family: &dyn Family, calls: bool) -> Vec<TokenId> {
    let mut message = Message::new(Role::Assistant, if calls { "" } else { "It is mild." });
    message.reasoning = Some("Let me see.".into());
    if calls {
        let arguments = Arguments::Text(r#"{"city": "Oslo"}"#.into());
        message.tool_calls = vec![ToolCall { id: None, name: "get_weather".into(), arguments }];
    }
    let setup = Setup::default();
    family.reply(Scene { setup: &setup, opened: 0 }, StartState::Content, &message).unwrap()
}

/// A server whose engine says what `says` gives for the number of the attempt.
pub(crate) struct World {
    pub(crate) sessions: Sessions,
    pub(crate) url: String,
    stop: CancellationToken,
}

impl World {
    pub(crate) async fn new(
        family: Arc<dyn Family>,
        says: impl Fn(usize) -> Vec<TokenId> + Send + Sync + 'static,
    ) -> Self {
        let attempts = std::sync::atomic::AtomicUsize::new(0);
        let script = move |_: &Prompt, _: &mut rand_chacha::ChaCha8Rng| {
            let nth = attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Line { ids: says(nth), fault: None }
        };
        let options = SimOptions { vocabulary: family.tokenizer().vocabulary(), ..SimOptions::default() };
        let engine = Arc::new(SimEngine::new(options, script));
        let sessions = Sessions::new(family, engine, Observers::default(), Settings::default());
        let app = App::new(sessions.clone(), Arc::new(Metrics::default()), "policy");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, router(app), Limits::default(), stop.clone()));
        Self { sessions, url, stop }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
