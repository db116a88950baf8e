//! Many clients on one session, in an order that a seed draws.
//!
//! Time stands still but for what sleeps: how long clients wait and replies take decides who comes first, and
//! both are drawn. Whatever the order, nothing fails but what must, and no turn is lost, doubled or mixed up.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};
use verbatim_dialects::chat::{Request, spell};
use verbatim_engine::Prompt;
use verbatim_engine_sim::{Fault, Latency, Line, SimEngine, SimOptions};
use verbatim_events::{Event, Observer, Observers};
use verbatim_forest::{Conflict, Lineage, Refusal};
use verbatim_session::{
    Asked, Committed, OpenOptions, Prompted, Session, Sessions, Settings, TurnError, TurnEvent,
};
use verbatim_tokens::TokenId;

use crate::support::{family, text, user};

const CLIENTS: usize = 5;
const TURNS: usize = 4;

/// How a world goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// Not at all.
    None,
    /// Attempts die, are cut or aborted now and then.
    Engine,
    /// Clients leave while they wait.
    Clients,
    /// The gate closes and opens.
    Gate,
    /// The session closes in the middle.
    Close,
}

/// What the engine read and said, attempt by attempt.
type Heard = Arc<Mutex<Vec<(Vec<TokenId>, Vec<TokenId>)>>>;

#[derive(Default)]
struct Recorder(Mutex<Vec<Event>>);

impl Observer for Recorder {
    fn observe(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

fn below(rng: &mut ChaCha8Rng, bound: u32) -> u32 {
    rng.next_u32() % bound
}

fn engine(seed: u64, trouble: Trouble, heard: &Heard) -> SimEngine {
    let latency =
        Latency { fixed: Duration::from_millis(1), decode_token: Duration::from_millis(1), ..Latency::NONE };
    let vocabulary = family().tokenizer().vocabulary();
    let options = SimOptions { latency, vocabulary, chunk: 1, ..SimOptions::default() };
    let (heard, lines) = (Arc::clone(heard), Mutex::new(ChaCha8Rng::seed_from_u64(seed ^ 0xE)));
    SimEngine::new(options, move |prompt: &Prompt, _: &mut ChaCha8Rng| {
        let mut rng = lines.lock().unwrap();
        // Words that no other reply has, and as many as it takes to be overtaken.
        let words: Vec<_> =
            (0..=below(&mut rng, 6)).map(|_| format!("w{}", rng.next_u32() % 100_000)).collect();
        let Line { ids, .. } = text(&words.join(" "));
        let at = below(&mut rng, 4) as usize;
        let fault = match below(&mut rng, 6) {
            _ if trouble != Trouble::Engine => None,
            0 => Some(Fault::DiesAfter(at)),
            1 => Some(Fault::CutAfter(at)),
            2 => Some(Fault::AbortsAfter(at)),
            _ => None,
        };
        heard.lock().unwrap().push((prompt.ids.to_vec(), ids.clone()));
        Line { ids, fault }
    })
}

/// Takes a turn, or leaves before it ends.
async fn take(
    sessions: &Sessions,
    session: &Arc<Session>,
    messages: &[Value],
    patience: Option<Duration>,
) -> Option<Result<Box<Committed>, TurnError>> {
    let body = json!({ "messages": messages }).to_string();
    let request = Request::parse(body.as_bytes()).unwrap();
    let asked = Asked {
        sent: verbatim_session::Sent::default(),
        prompt: Prompted::Messages(&request),
        sampling: &request.sampling,
        lost: Vec::new(),
        response_prefix: "chatcmpl-",
        deltas: false,
    };
    let mut reply = match sessions.turn(session, asked).await {
        Ok(reply) => reply,
        Err(error) => return Some(Err(error)),
    };
    let event = match patience {
        Some(patience) => tokio::time::timeout(patience, reply.events.recv()).await.ok()?,
        None => reply.events.recv().await,
    };
    Some(match event {
        Some(TurnEvent::Committed(committed)) => Ok(committed),
        Some(TurnEvent::Failed(error)) => Err(error),
        other => panic!("{other:?}"),
    })
}

/// Whether a turn may fail so.
fn prescribed(error: &TurnError, lineage: Lineage, trouble: Trouble) -> bool {
    match error {
        TurnError::Conflict(Conflict::Raced) | TurnError::Refused(Refusal::Diverged { .. }) => {
            lineage == Lineage::Linear
        }
        TurnError::Engine(_) => trouble == Trouble::Engine,
        TurnError::Closed => trouble == Trouble::Close,
        _ => false,
    }
}

async fn world(seed: u64, lineage: Lineage, trouble: Trouble) {
    let heard = Heard::default();
    let recorder = Arc::new(Recorder::default());
    let observers = Observers::new([recorder.clone() as Arc<dyn Observer>]);
    let settings = Settings { lineage, turns: 3, ..Settings::default() };
    let sessions = Sessions::new(family(), Arc::new(engine(seed, trouble, &heard)), observers, settings);
    let (token, session) = sessions.open(OpenOptions::default()).unwrap();
    // Conversations that somebody has had; anyone may go on with any.
    let had = Arc::new(Mutex::new(vec![vec![user("begin")]]));
    let won: Arc<Mutex<HashMap<String, Vec<Value>>>> = Arc::default();

    let client = |nth: usize| {
        let (sessions, session, had, won) =
            (sessions.clone(), Arc::clone(&session), Arc::clone(&had), Arc::clone(&won));
        let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(31) + nth as u64);
        async move {
            for turn in 0..TURNS {
                tokio::time::sleep(Duration::from_millis(below(&mut rng, 8).into())).await;
                let mut messages = {
                    let had = had.lock().unwrap();
                    had[below(&mut rng, had.len() as u32) as usize].clone()
                };
                if messages.len() > 1 {
                    messages.push(user(&format!("{nth}.{turn}")));
                }
                let leaves = trouble == Trouble::Clients && below(&mut rng, 3) == 0;
                let patience = leaves.then(|| Duration::from_millis(below(&mut rng, 6).into()));
                match take(&sessions, &session, &messages, patience).await {
                    None => assert_eq!(trouble, Trouble::Clients),
                    Some(Err(error)) => {
                        assert!(prescribed(&error, lineage, trouble), "seed {seed} {trouble:?}: {error}");
                    }
                    Some(Ok(committed)) => {
                        let generated = &committed.turn.generated;
                        messages.push(spell(&generated.message));
                        let before = won.lock().unwrap().insert(generated.response.clone(), messages.clone());
                        assert!(before.is_none(), "a reply comes once");
                        had.lock().unwrap().push(messages);
                    }
                }
            }
        }
    };
    let clients = futures::future::join_all((0..CLIENTS).map(client));
    let meddler = async {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x9A7E);
        match trouble {
            Trouble::Gate => {
                for _ in 0..4 {
                    tokio::time::sleep(Duration::from_millis(below(&mut rng, 10).into())).await;
                    sessions.dispatcher().close_gate(verbatim_session::Running::Abort);
                    tokio::time::sleep(Duration::from_millis(below(&mut rng, 20).into())).await;
                    sessions.dispatcher().open_gate();
                }
            }
            Trouble::Close => {
                tokio::time::sleep(Duration::from_millis(below(&mut rng, 60).into())).await;
                sessions.close(token.as_str()).await.unwrap();
                let turns = session.with_forest(|forest| forest.nodes().len());
                tokio::time::sleep(Duration::from_millis(20)).await;
                assert_eq!(session.with_forest(|forest| forest.nodes().len()), turns, "it is closed");
            }
            _ => {}
        }
    };
    let all = futures::future::join(clients, meddler);
    let answered = tokio::time::timeout(Duration::from_secs(3600), all).await.is_ok();
    assert!(answered, "everybody is answered");
    // Turns that nobody waits for end, too.
    for _ in 0..1000 {
        if sessions.dispatcher().load() == (0, 0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    judge(&sessions, &session, &recorder, &won.lock().unwrap(), &heard.lock().unwrap(), trouble);
}

fn judge(
    sessions: &Sessions,
    session: &Session,
    recorder: &Recorder,
    won: &HashMap<String, Vec<Value>>,
    heard: &[(Vec<TokenId>, Vec<TokenId>)],
    trouble: Trouble,
) {
    assert_eq!(sessions.dispatcher().load(), (0, 0), "every permit is back");
    let told: Vec<_> = {
        let events = recorder.0.lock().unwrap();
        let turn = |event: &Event| match event {
            Event::TurnCommitted(turn) => Some(turn.generated.response.clone()),
            _ => None,
        };
        events.iter().filter_map(turn).collect()
    };
    session.with_forest(|forest| {
        let mut kept = HashSet::new();
        for (id, node) in forest.nodes() {
            let Some(generation) = node.generation() else { continue };
            assert!(kept.insert(generation.response.clone()), "a turn is committed once");
            // A client that left may have missed its own commit.
            let Some(messages) = won.get(&generation.response) else {
                assert_eq!(trouble, Trouble::Clients, "nobody was told of {}", generation.response);
                continue;
            };
            let stored: Vec<_> = forest.messages(id).iter().map(|message| spell(message)).collect();
            assert_eq!(&stored, messages, "the lineage is what its client said and heard");
            let ids = forest.gather(id);
            let own = generation.sampled.ids();
            let read = &ids[..ids.len() - own.len()];
            // Attempts may have gone on after one another: the first read exactly the prompt.
            assert!(heard.iter().any(|(prompt, _)| prompt == read), "the engine read another prompt");
            let said: Vec<_> = heard
                .iter()
                .filter(|(prompt, _)| ids.starts_with(prompt) && prompt.len() >= read.len())
                .collect();
            assert!(
                said.iter().any(|(prompt, said)| ids[prompt.len()..].len() <= said.len()
                    && said.starts_with(&ids[prompt.len()..])),
                "its last tokens are those of an attempt"
            );
        }
        assert!(won.keys().all(|response| kept.contains(response)), "what a client heard is committed");
        assert_eq!(told.len(), kept.len(), "observers hear of each turn once");
        assert!(told.iter().all(|response| kept.contains(response)));
        assert_eq!(
            told.last(),
            forest.head().and_then(|head| Some(&forest.node(head)?.generation()?.response))
        );
    });
}

fn run(trouble: Trouble, seeds: u64) {
    for seed in 0..seeds {
        for lineage in [Lineage::Tree, Lineage::Linear] {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .unwrap();
            runtime.block_on(world(seed, lineage, trouble));
        }
    }
}

/// How many orders are drawn.
fn seeds() -> u64 {
    std::env::var("VERBATIM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60)
}

#[test]
fn without_trouble_nothing_is_lost() {
    run(Trouble::None, seeds());
}

#[test]
fn an_engine_in_trouble_costs_only_the_turns_that_are_told_so() {
    run(Trouble::Engine, seeds());
}

#[test]
fn clients_that_leave_disturb_nobody() {
    run(Trouble::Clients, seeds());
}

#[test]
fn a_gate_that_closes_delays_and_fails_nobody() {
    run(Trouble::Gate, seeds());
}

#[test]
fn a_session_that_closes_takes_nothing_after() {
    run(Trouble::Close, seeds());
}
