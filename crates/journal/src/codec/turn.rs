//! A committed turn.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_tuple::{Deserialize_tuple, Serialize_tuple};
use verbatim_chat::{Chain, ImagePlace, Key, Message, Setup, StartState};
use verbatim_events::{Finish, Generated, NodeId, Observed, SessionId, Timings, TurnCommitted};
use verbatim_tokens::{LogprobKind, Replay, Runs, Sampled, Speculation, TokenId, Version, Width};

use super::ids;
use crate::{JournalError, Kept};

/// More than what has no tokens takes.
const REST: usize = 1 << 9;

/// A turn with what its session knows of it beside its event.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRecord {
    /// The turn.
    pub turn: Arc<TurnCommitted>,
    /// The bytes of the request that led to it; none of one that is ids.
    pub bytes: Option<Chain>,
    /// How its request is known again.
    pub sent: Option<SentRecord>,
    /// The tokens that the model read.
    pub prompt_tokens: usize,
    /// The stop string that ended it.
    pub stop: Option<String>,
    /// The adapter that its session is bound to.
    pub lora: Option<Arc<str>>,
}

/// How a request is known again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentRecord {
    /// A hash of its route and its body.
    pub body: Key,
    /// Its `Idempotency-Key`.
    pub key: Option<String>,
}

/// A list of values, for their names would be a fifth of a turn: another order or another field is another
/// [format](crate::segment::FORMAT).
#[derive(Serialize_tuple, Deserialize_tuple)]
struct Wire {
    parent: Option<NodeId>,
    observed: WireObserved,
    ids: Bytes,
    logprobs: Bytes,
    versions: Runs<Option<Version>>,
    kind: LogprobKind,
    message: Arc<Message>,
    finish: Finish,
    response: String,
    temperature: f32,
    cached_tokens: Option<u32>,
    reasoning_tokens: usize,
    experts: Option<Shape>,
    indexer: Option<Shape>,
    speculation: Option<Speculation>,
    retractions: u32,
    attempts: u32,
    at: u64,
    timings: Timings,
    bytes: Option<Chain>,
    sent: Option<SentRecord>,
    prompt_tokens: usize,
    stop: Option<String>,
    lora: Option<Arc<str>>,
}

#[derive(Serialize, Deserialize)]
enum WireObserved {
    Shared(NodeId),
    New(WireNew),
    Ids(Bytes),
}

#[derive(Serialize_tuple, Deserialize_tuple)]
struct WireNew {
    setup: Option<Arc<Setup>>,
    messages: Box<[Arc<Message>]>,
    ids: Bytes,
    images: Box<[ImagePlace]>,
    trim: usize,
    start: StartState,
}

/// A payload without its bytes, which lie beside the journal.
#[derive(Serialize_tuple, Deserialize_tuple)]
struct Shape {
    start: usize,
    layers: usize,
    top_k: usize,
    width: Width,
}

impl TurnRecord {
    /// As the body of an entry, and its payloads.
    ///
    /// # Errors
    /// [`JournalError::Entry`].
    pub fn write(&self) -> Result<(Vec<u8>, Vec<Bytes>), JournalError> {
        let Generated { sampled, message, finish, response, temperature, cached_tokens, .. } =
            &self.turn.generated;
        let Generated { experts, indexer, speculation, retractions, attempts, .. } = &self.turn.generated;
        let reasoning_tokens = self.turn.generated.reasoning_tokens;
        let payloads =
            [experts, indexer].into_iter().flatten().map(|replay| replay.bytes().clone()).collect();
        let observed = match &self.turn.observed {
            Observed::Shared(node) => WireObserved::Shared(*node),
            Observed::Ids(ids) => WireObserved::Ids(ids::write(ids)),
            Observed::New { setup, messages, ids, images, trim, start } => WireObserved::New(WireNew {
                setup: setup.clone(),
                messages: messages.clone(),
                ids: ids::write(ids),
                images: images.clone(),
                trim: *trim,
                start: *start,
            }),
        };
        let wire = Wire {
            parent: self.turn.parent,
            observed,
            ids: ids::write(sampled.ids()),
            logprobs: ids::write_logprobs(sampled.logprobs()),
            versions: sampled.versions().clone(),
            kind: sampled.kind(),
            message: Arc::clone(message),
            finish: *finish,
            response: response.clone(),
            temperature: *temperature,
            cached_tokens: *cached_tokens,
            reasoning_tokens,
            experts: experts.as_deref().map(Shape::of),
            indexer: indexer.as_deref().map(Shape::of),
            speculation: *speculation,
            retractions: *retractions,
            attempts: *attempts,
            at: self.turn.at,
            timings: self.turn.timings,
            bytes: self.bytes,
            sent: self.sent.clone(),
            prompt_tokens: self.prompt_tokens,
            stop: self.stop.clone(),
            lora: self.lora.clone(),
        };
        let mut body = Vec::with_capacity(self.likely());
        let broken = |error: rmp_serde::encode::Error| entry(&self.turn.session, 0, error.to_string());
        // What is within by its names: messages leave out what they have not.
        rmp_serde::encode::write_named(&mut body, &wire).map_err(broken)?;
        Ok((body, payloads))
    }

    /// Bytes that it takes, unless its texts are long ones: the text of a token is some four bytes.
    fn likely(&self) -> usize {
        let observed = match &self.turn.observed {
            Observed::Shared(_) => 0,
            Observed::Ids(ids) | Observed::New { ids, .. } => ids.len(),
        };
        REST + 8 * observed + 12 * self.turn.generated.sampled.ids().len()
    }

    /// From an entry of a session's line.
    ///
    /// # Errors
    /// [`JournalError::Entry`].
    pub fn read(session: &SessionId, kept: &Kept) -> Result<Self, JournalError> {
        let broken = |problem: String| entry(session, kept.at, problem);
        let wire: Wire = rmp_serde::from_slice(&kept.body).map_err(|error| broken(error.to_string()))?;
        let mut payloads = kept.payloads.iter().cloned();
        let mut replay = |shape: Option<Shape>| {
            let replay = shape.map(|shape| shape.hold(payloads.next().ok_or("a payload is missing")?));
            replay.transpose().map(|replay: Option<Replay>| replay.map(Arc::new))
        };
        let experts = replay(wire.experts).map_err(|problem| broken(problem.to_owned()))?;
        let indexer = replay(wire.indexer).map_err(|problem| broken(problem.to_owned()))?;
        #[expect(
            clippy::disallowed_methods,
            reason = "what a journal replays was admitted before it was written"
        )]
        let sampled = Sampled::admit(
            ids::read(&wire.ids),
            ids::read_logprobs(&wire.logprobs),
            wire.versions,
            wire.kind,
        );
        let sampled = sampled.map_err(|error| broken(error.to_string()))?;
        let observed = match wire.observed {
            WireObserved::Shared(node) => Observed::Shared(node),
            WireObserved::Ids(ids) => Observed::Ids(ids::read(&ids).into()),
            WireObserved::New(WireNew { setup, messages, ids, images, trim, start }) => {
                let ids: Arc<[TokenId]> = ids::read(&ids).into();
                placed(&messages, &ids, &images).map_err(|problem| broken(problem.to_owned()))?;
                Observed::New { setup, messages, ids, images, trim, start }
            }
        };
        let generated = Generated {
            sampled,
            message: wire.message,
            finish: wire.finish,
            response: wire.response,
            temperature: wire.temperature,
            cached_tokens: wire.cached_tokens,
            experts,
            indexer,
            speculation: wire.speculation,
            retractions: wire.retractions,
            attempts: wire.attempts,
            reasoning_tokens: wire.reasoning_tokens,
        };
        let turn = TurnCommitted {
            session: session.clone(),
            parent: wire.parent,
            observed,
            generated,
            at: wire.at,
            timings: wire.timings,
        };
        let Wire { bytes, sent, prompt_tokens, stop, lora, .. } = wire;
        Ok(Self { turn: Arc::new(turn), bytes, sent, prompt_tokens, stop, lora })
    }
}

impl Shape {
    fn of(replay: &Replay) -> Self {
        Self { start: replay.start(), layers: replay.layers(), top_k: replay.top_k(), width: replay.width() }
    }

    fn hold(self, bytes: Bytes) -> Result<Replay, &'static str> {
        Replay::new(self.start, self.layers, self.top_k, self.width, bytes)
            .map_err(|_| "a payload has not the shape that its turn says")
    }
}

/// Whether every image of the messages has its place among the ids.
fn placed(messages: &[Arc<Message>], ids: &[TokenId], places: &[ImagePlace]) -> Result<(), &'static str> {
    let shown: usize = messages.iter().map(|message| message.content.images().count()).sum();
    let mut free = 0;
    for place in places {
        if place.start < free || place.length > ids.len().saturating_sub(place.start) {
            return Err("an image stands outside its turn's ids");
        }
        free = place.end();
    }
    if shown == places.len() { Ok(()) } else { Err("a turn has not a place for each of its images") }
}

fn entry(session: &SessionId, at: u32, problem: String) -> JournalError {
    JournalError::Entry { line: session.to_string(), at, problem }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use verbatim_chat::{Arguments, Content, Image, Part, Role, Tool, ToolCall};
    use verbatim_tokens::{Logprobs, TokenId};

    use super::*;

    fn ids() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(any::<u32>(), 0..20)
    }

    fn tokens(ids: &[u32]) -> Vec<TokenId> {
        ids.iter().copied().map(TokenId).collect()
    }

    /// Every kind of content, and arguments in both spellings.
    fn message(text: String) -> Message {
        let call = |arguments| ToolCall { id: Some("call_1".into()), name: "look".into(), arguments };
        let arguments = [
            Arguments::Text(r#"{"b": 1,  "a": 1.0}"#.into()),
            Arguments::Text("{broken".into()),
            Arguments::Json(json!({"z": [1, -2, 0.1, 1e300, null, true], "a": {"b": text}})),
        ];
        Message {
            reasoning: Some(String::new()),
            tool_calls: arguments.map(call).into(),
            ..Message::new(Role::Assistant, text.as_str())
        }
    }

    /// A GIF of 3 by 2 pixels.
    const GIF: &[u8] = b"GIF87a\x03\0\x02\0\x81\0\0\xff\0\0\0\0\0\0\0\0\0\0\0\x2c\0\0\0\0\x03\0\x02\0\0\x08\x06\0\x01\x08\x1c\x18\x10\0\x3b";

    fn observed() -> impl Strategy<Value = Observed> {
        let setup = Setup {
            tools: vec![Tool(json!({"function": {"name": "look", "parameters": {"z": 1, "a": 2}}}))],
            template: [("enable_thinking".to_owned(), json!(false))].into_iter().collect(),
        };
        let new = (ids(), any::<bool>(), ".{0,8}", 0usize..9).prop_map(move |(ids, opens, text, trim)| {
            let mut parts = vec![Part::Text(text.clone()), Part::Text(String::new())];
            let images: Box<[_]> = match ids.len() {
                0 => Box::default(),
                length => [ImagePlace { start: 0, length, grid: [1, 2, length as u32] }].into(),
            };
            parts.extend(images.iter().map(|_| Part::Image(Arc::new(Image::read(GIF).unwrap()))));
            let parts = Content::Parts(parts);
            let user = Message { content: parts, ..Message::new(Role::User, "") };
            let absent = Message { content: Content::Absent, ..Message::new(Role::Tool, "") };
            Observed::New {
                setup: opens.then(|| Arc::new(setup.clone())),
                messages: [user, absent, message(text)].map(Arc::new).into(),
                ids: tokens(&ids).into(),
                images,
                trim,
                start: StartState::default(),
            }
        });
        let own = ids().prop_map(|ids| Observed::Ids(tokens(&ids).into()));
        prop_oneof![any::<u32>().prop_map(|node| Observed::Shared(NodeId(node))), own, new]
    }

    fn replay() -> impl Strategy<Value = Option<Arc<Replay>>> {
        prop::option::of((0usize..50, 0usize..5, prop::collection::vec(any::<u8>(), 40))).prop_map(|asked| {
            let (start, rows, bytes) = asked?;
            let bytes = Bytes::from(bytes).slice(..rows * 8);
            Some(Arc::new(Replay::new(start, 2, 2, Width::U16, bytes).unwrap()))
        })
    }

    #[expect(clippy::disallowed_methods, reason = "a test makes what an engine would")]
    fn sampled() -> impl Strategy<Value = Sampled> {
        let token = (any::<u32>(), prop::option::of(-50.0f32..0.0), prop::option::of("[0-9]{1,2}"));
        prop::collection::vec(token, 0..12).prop_map(|sampled| {
            let (mut logprobs, mut versions) = (Logprobs::default(), Runs::default());
            for (_, logprob, version) in &sampled {
                logprobs.push(*logprob);
                versions.extend(version.as_deref().map(Version::new), 1);
            }
            let ids = sampled.iter().map(|(id, ..)| TokenId(*id)).collect();
            Sampled::admit(ids, logprobs, versions, LogprobKind::Raw).unwrap()
        })
    }

    prop_compose! {
        fn record()(
            observed in observed(), sampled in sampled(), experts in replay(), indexer in replay(), text in ".{0,20}",
            parent in prop::option::of(any::<u32>()), key in prop::option::of("[a-z]{0,5}"), is_sent in any::<bool>(),
            body in any::<u128>(), stop in prop::option::of(".{0,4}"), at in any::<u64>(), temperature in 0.0f32..2.0,
            finish in prop::sample::select(vec![Finish::Stop, Finish::Length]), small in any::<[u8; 4]>(),
        ) -> TurnRecord {
            let [cached, retractions, attempts, prompt] = small;
            let by_ids = matches!(observed, Observed::Ids(_));
            let generated = Generated {
                sampled,
                message: Arc::new(message(text)),
                finish,
                response: "chatcmpl-1".into(),
                temperature,
                cached_tokens: Some(cached.into()),
                experts,
                indexer,
                speculation: Some(Speculation::default()),
                retractions: retractions.into(),
                attempts: attempts.into(),
                reasoning_tokens: retractions.into(),
            };
            let (session, parent) = (SessionId::new("s-1"), parent.map(NodeId));
            let turn = TurnCommitted { session, parent, observed, generated, at, timings: Timings::default() };
            TurnRecord {
                turn: Arc::new(turn),
                bytes: (!by_ids).then(|| Chain::from_key(Key(body))),
                sent: is_sent.then_some(SentRecord { body: Key(!body), key }),
                prompt_tokens: prompt.into(),
                stop,
                lora: Some("adapter".into()),
            }
        }
    }

    proptest! {
        #[test]
        fn what_comes_back_is_equal(record in record()) {
            let (body, payloads) = record.write().unwrap();
            let kept = Kept { at: 1, body: body.into(), payloads };
            prop_assert_eq!(TurnRecord::read(&record.turn.session, &kept).unwrap(), record);
        }

        #[test]
        fn an_image_without_its_place_is_refused(record in record(), away in 0usize..9) {
            let mut turn = (*record.turn).clone();
            let Observed::New { ids, images, .. } = &mut turn.observed else { return Ok(()) };
            prop_assume!(!images.is_empty());
            *images = match away {
                0 => Box::default(),
                away => [images[0].after(away)].into(),
            };
            let told = ids.len();
            let record = TurnRecord { turn: Arc::new(turn), ..record };
            let (body, payloads) = record.write().unwrap();
            let kept = Kept { at: 1, body: body.into(), payloads };
            prop_assert!(TurnRecord::read(&record.turn.session, &kept).is_err(), "{told}");
        }

        #[test]
        fn other_bytes_are_refused_and_never_a_panic(body in prop::collection::vec(any::<u8>(), 0..80)) {
            let kept = Kept { at: 1, body: body.into(), payloads: Vec::new() };
            prop_assert!(TurnRecord::read(&SessionId::new("s-1"), &kept).is_err());
        }
    }
}
