//! Do the family's parser and the engine's own read the same ids alike?
//!
//! The engine's chat endpoint is asked after our ids and gives its message with the ids it sampled;
//! those ids go through the family's parser. The invariant: both readings are of one reply, so that
//! what differs is the parsers and nothing else.

use std::sync::Arc;

use futures::StreamExt;
use serde::Serialize;
use serde_json::json;
use verbatim_chat::{Arguments, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_engine::{
    AttemptId, Conversation, Ending, Engine, EngineError, Params, Piece, Prompt, SessionKey,
};
use verbatim_families::{Family, Flaw, RenderError, Scene};
use verbatim_tokens::TokenId;

/// How an engine is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asking {
    /// How many replies.
    pub replies: usize,
    /// At most this many tokens each.
    pub max_tokens: u32,
    /// The sampler's temperature.
    pub temperature: f32,
}

impl Default for Asking {
    fn default() -> Self {
        Self { replies: 24, max_tokens: 512, temperature: 1.0 }
    }
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Differs {
    /// Whitespace at the ends of reasoning or content, which engines strip.
    Spacing,
    /// Arguments that mean the same in other bytes: the engine spelt them anew.
    ArgumentBytes,
    /// What was thought.
    Reasoning,
    /// What was said.
    Content,
    /// Which tools are called, or with what.
    Calls,
}

impl Differs {
    /// Whether the two mean the same reply.
    pub fn is_spelling(self) -> bool {
        matches!(self, Self::Spacing | Self::ArgumentBytes)
    }
}

/// One reply that was read in two ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// Which reply.
    pub reply: usize,
    /// What differs.
    pub differs: Vec<Differs>,
    /// The reply, special tokens spelt out.
    pub text: String,
    /// The family's reading.
    pub ours: Message,
    /// The engine's.
    pub theirs: Message,
    /// What the family found wrong with the reply.
    pub flaws: Vec<String>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParserReport {
    /// The family.
    pub family: String,
    /// The engine.
    pub engine: String,
    /// Its model.
    pub model: String,
    /// Replies that were read.
    pub replies: usize,
    /// Those with reasoning, calls, flaws.
    pub with: [usize; 3],
    /// Where the two differ.
    pub disagreements: Vec<Disagreement>,
    /// Whether it holds: replies were read, and none means something else.
    pub holds: bool,
}

/// An engine whose parsers could not be asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParserError {
    /// It has none, or they were not asked for.
    #[error("engine {engine} does not parse its replies; give the URL of an SGLang or vLLM server")]
    DoesNotParse {
        /// The engine.
        engine: String,
    },
    /// A question cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A reply did not come.
    #[error("reply {reply}: {source}")]
    Engine {
        /// Which.
        reply: usize,
        /// Why.
        source: EngineError,
    },
    /// A reply came without the engine's message.
    #[error("reply {reply} came without the engine's message: it ended as {ending}")]
    NoMessage {
        /// Which.
        reply: usize,
        /// How it ended.
        ending: String,
    },
}

/// Asks `engine` and reads every reply twice. `template` is laid under each question's arguments.
///
/// # Errors
/// [`ParserError`]; that the two differ is no error but [`ParserReport::holds`].
pub async fn parser(
    family: &dyn Family,
    engine: &dyn Engine,
    template: &serde_json::Map<String, serde_json::Value>,
    asking: Asking,
) -> Result<ParserReport, ParserError> {
    let capabilities = engine.capabilities();
    if !capabilities.parses {
        return Err(ParserError::DoesNotParse { engine: capabilities.engine.clone() });
    }
    let mut report = ParserReport {
        family: family.name().to_owned(),
        engine: capabilities.engine.clone(),
        model: capabilities.model.clone(),
        replies: 0,
        with: [0; 3],
        disagreements: Vec::new(),
        holds: false,
    };
    for reply in 0..asking.replies {
        let (mut setup, messages) = question(family, reply);
        setup.template.clone_from(template);
        let (ids, start, theirs) = ask(family, engine, &setup, messages, asking, reply).await?;
        let scene = Scene { setup: &setup, opened: 0 };
        let mut ours = family.parser(scene, start, "call_");
        ours.push(&ids, &mut Vec::new());
        let ours = ours.finish(&mut Vec::new());
        report.replies += 1;
        report.with[0] += usize::from(ours.message.reasoning.is_some());
        report.with[1] += usize::from(!ours.message.tool_calls.is_empty());
        report.with[2] += usize::from(!ours.flaws.is_empty());
        let differs = compare(&ours.message, &theirs);
        if !differs.is_empty() {
            let flaws = ours.flaws.iter().map(|flaw| flaw_name(*flaw).to_owned()).collect();
            let text = family.tokenizer().text(&ids);
            report.disagreements.push(Disagreement {
                reply,
                differs,
                text,
                ours: ours.message,
                theirs,
                flaws,
            });
        }
    }
    let means = |found: &Disagreement| found.differs.iter().all(|differs| differs.is_spelling());
    report.holds = report.replies > 0 && report.disagreements.iter().all(means);
    Ok(report)
}

/// Every other question declares a tool, if the family has a format for that, and follows some that
/// were answered with it: a small model calls where it has seen calls.
fn question(family: &dyn Family, number: usize) -> (Setup, Vec<Message>) {
    let cities = ["Oslo", "Lima", "Kyoto", "Accra", "Quito"];
    let city = cities[number % cities.len()];
    let text = match number % 4 {
        0 => format!("How is the weather in {city}? Call the tool."),
        1 => format!("Say one sentence about {city}."),
        2 => format!("How is the weather in {city} and in Hanoi? Call the tool."),
        _ => format!("Think about what {city} is known for, then name one thing."),
    };
    let asked = Message::new(Role::User, text.as_str());
    let setup = Setup { tools: vec![weather()], ..Setup::default() };
    let scene = Scene { setup: &setup, opened: 0 };
    let declared = family.open(scene, std::slice::from_ref(&asked)).is_ok();
    if number.is_multiple_of(2) && declared {
        let calls = if number.is_multiple_of(4) { 1 } else { 2 };
        (setup, answered(calls).into_iter().chain([asked]).collect())
    } else {
        (Setup::default(), vec![asked])
    }
}

fn weather() -> Tool {
    let city = json!({"type": "string", "description": "A city's name"});
    let days = json!({"type": "integer", "description": "Days ahead"});
    let parameters =
        json!({"type": "object", "properties": {"city": city, "days": days}, "required": ["city"]});
    let function =
        json!({"name": "get_weather", "description": "The weather in a city", "parameters": parameters});
    Tool(json!({"type": "function", "function": function}))
}

/// Questions that so many calls each answered.
fn answered(calls: usize) -> Vec<Message> {
    let cities = ["Cairo", "Turin", "Dakar", "Sofia", "Dhaka", "Minsk"];
    cities
        .chunks(calls)
        .take(3)
        .enumerate()
        .flat_map(|(nth, cities)| one_answered(nth * calls, cities))
        .collect()
}

fn one_answered(from: usize, cities: &[&str]) -> Vec<Message> {
    let id = |nth: usize| Some(format!("call{:05}", from + nth));
    let call = |(nth, city): (usize, &&str)| ToolCall {
        id: id(nth),
        name: "get_weather".into(),
        arguments: Arguments::Json(json!({"city": city})),
    };
    let result = |nth: usize| Message {
        tool_call_id: id(nth),
        name: Some("get_weather".into()),
        ..Message::new(Role::Tool, format!("{{\"degrees\": {}}}", 17 + from + nth).as_str())
    };
    let tool_calls = cities.iter().enumerate().map(call).collect();
    let asked = format!("How is the weather in {}? Call the tool.", cities.join(" and in "));
    let mut messages = vec![
        Message::new(Role::User, asked.as_str()),
        Message { tool_calls, ..Message::new(Role::Assistant, "") },
    ];
    messages.extend((0..cities.len()).map(result));
    messages.push(Message::new(Role::Assistant, "It is mild there."));
    messages
}

async fn ask(
    family: &dyn Family,
    engine: &dyn Engine,
    setup: &Setup,
    messages: Vec<Message>,
    asking: Asking,
    reply: usize,
) -> Result<(Vec<TokenId>, StartState, Message), ParserError> {
    let rendered = family.open(Scene { setup, opened: 0 }, &messages)?;
    let conversation = Conversation {
        setup: Arc::new(setup.clone()),
        messages: messages.into_iter().map(Arc::new).collect(),
    };
    let session = SessionKey(format!("verify-parser-{reply}").into());
    let prompt = Prompt { conversation: Some(Arc::new(conversation)), ..Prompt::new(rendered.ids, session) };
    let params = Params {
        max_tokens: asking.max_tokens,
        temperature: asking.temperature,
        seed: Some(reply as u64),
        stop_ids: family.stop_ids().to_vec(),
        ..Params::default()
    };
    let mut stream = engine.generate(AttemptId::fresh(), prompt, &params);
    let mut ids = Vec::new();
    while let Some(piece) = stream.next().await {
        match piece {
            Piece::More(more) => ids.extend(more.ids),
            Piece::End(end) => {
                return match (end.ending, end.message) {
                    (Ending::Failed(source), _) => Err(ParserError::Engine { reply, source }),
                    (_, Some(message)) => Ok((ids, rendered.start, *message)),
                    (ending, None) => Err(ParserError::NoMessage { reply, ending: format!("{ending:?}") }),
                };
            }
        }
    }
    Err(ParserError::NoMessage { reply, ending: "nothing".to_owned() })
}

/// What differs between two readings of one reply. Absent and empty are one; calls' ids are not
/// looked at.
fn compare(ours: &Message, theirs: &Message) -> Vec<Differs> {
    let mut differs = Vec::new();
    let mut text = |ours: &str, theirs: &str, kind: Differs| {
        if ours != theirs {
            differs.push(if ours.trim() == theirs.trim() { Differs::Spacing } else { kind });
        }
    };
    let [left, right] = [ours, theirs].map(|message| message.reasoning.as_deref().unwrap_or_default());
    text(left, right, Differs::Reasoning);
    text(&ours.content.text(), &theirs.content.text(), Differs::Content);
    let meaning = |message: &Message| {
        let calls = message.tool_calls.iter();
        calls.map(|call| (call.name.clone(), value(&call.arguments))).collect::<Vec<_>>()
    };
    let bytes = |message: &Message| {
        message.tool_calls.iter().map(|call| call.arguments.text().into_owned()).collect::<Vec<_>>()
    };
    if meaning(ours) != meaning(theirs) {
        differs.push(Differs::Calls);
    } else if bytes(ours) != bytes(theirs) {
        differs.push(Differs::ArgumentBytes);
    }
    differs.sort();
    differs.dedup();
    differs
}

/// The arguments' meaning: JSON, or else the text.
fn value(arguments: &Arguments) -> serde_json::Value {
    arguments.parsed().map_or_else(|| arguments.text().into_owned().into(), std::borrow::Cow::into_owned)
}

fn flaw_name(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::ReasoningOpen => "reasoning_open",
        Flaw::CallOpen => "call_open",
        Flaw::CallMalformed => "call_malformed",
    }
}
