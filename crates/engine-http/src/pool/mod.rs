//! Many servers as one engine.
//!
//! The invariants: an attempt runs at one server and is never repeated here, because only its turn
//! knows whether it may be; every permit is given back when its attempt's stream ends or is dropped; a
//! server that is paused, on its way out or left alone gets nothing new.

mod balance;
mod breaker;
mod fleet;
mod member;
mod watch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio::sync::Notify;
use verbatim_engine::{
    AttemptId, Capabilities, Ending, Engine, EngineError, Fleet, Forward, Params, Passed, Piece, Prompt,
    Score, Told,
};
use verbatim_tokens::TokenId;

use self::balance::{Choice, Homes, choose};
use self::member::{Member, Permit};
use crate::inflight::Inflight;
use crate::{Kind, Options, Server, connect};

/// How long an attempt waits for an engine that takes work before it fails, and its turn is held.
const PATIENCE: Duration = Duration::from_millis(500);

/// What a pool is made of.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// The engines' URLs.
    pub urls: Vec<String>,
    /// A router in front: attempts go there, control goes to the engines.
    pub router: Option<String>,
    /// What they are; `None` asks each.
    pub kind: Option<Kind>,
    /// Attempts at one engine at once; 0 is no limit.
    pub permits: usize,
    /// How often engines are looked at.
    pub watch: Duration,
    /// How each is spoken to.
    pub server: Options,
}

/// Many servers as one engine. Cheap to clone.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    options: PoolOptions,
    capabilities: Capabilities,
    members: RwLock<Vec<Arc<Member>>>,
    /// Where attempts go instead, if there is a router.
    front: Option<Arc<Member>>,
    homes: Mutex<Homes>,
    running: Mutex<HashMap<AttemptId, Arc<Member>>>,
    inflight: Inflight,
    /// Told when an engine may have become able to take an attempt.
    changed: Notify,
}

impl Pool {
    /// Connects to every engine, and looks after them from then on. Must be called on a Tokio runtime.
    ///
    /// # Errors
    /// [`EngineError`] if one does not answer, or if they do not fit each other: their logprobs must be
    /// of one kind.
    pub async fn connect(options: PoolOptions) -> Result<Self, EngineError> {
        let all = options.urls.iter().map(|url| named(url, &options));
        let servers = futures::future::try_join_all(all).await?;
        let Some(first) = servers.first() else {
            return Err(EngineError::Broken { reason: "no engine is given".into() });
        };
        let mut capabilities = first.engine.capabilities().clone();
        for server in &servers[1..] {
            let others = server.engine.capabilities();
            unfit(&capabilities, others).map_or(Ok(()), |reason| {
                Err(EngineError::Broken {
                    reason: format!("{} does not fit {}: {reason}", server.url, first.url),
                })
            })?;
            capabilities.max_context = capabilities.max_context.min(others.max_context);
            capabilities.top_logprobs = capabilities.top_logprobs.min(others.top_logprobs);
            capabilities.versions &= others.versions;
            capabilities.stop_strings &= others.stop_strings;
            capabilities.experts &= others.experts;
            capabilities.images &= others.images;
            capabilities.turns_images &= others.turns_images;
            capabilities.indexer &= others.indexer;
            capabilities.min_tokens &= others.min_tokens;
            capabilities.forms = capabilities.forms.and(others.forms);
            capabilities.repetition_penalty &= others.repetition_penalty;
        }
        let front = match &options.router {
            Some(router) => {
                let engines = options.urls.clone();
                let server = Options { aborts_at: engines, ..options.server.clone() };
                let kind = Some(options.kind.unwrap_or(first.kind));
                let front =
                    connect(router, kind, &server).await.map_err(|error| named_error(router, error))?;
                Some(Arc::new(Member::new(front, 0)))
            }
            None => None,
        };
        let members =
            servers.into_iter().map(|server| Arc::new(Member::new(server, options.permits))).collect();
        let shared = Arc::new(Shared {
            capabilities,
            members: RwLock::new(members),
            front,
            homes: Mutex::default(),
            running: Mutex::default(),
            inflight: Inflight::default(),
            changed: Notify::new(),
            options,
        });
        tokio::spawn(watch::watch(Arc::downgrade(&shared)));
        Ok(Self(shared))
    }
}

impl Pool {
    /// The engines themselves, by URL.
    pub fn engines(&self) -> Vec<(String, Arc<dyn Engine>)> {
        self.0.members().iter().map(|member| (member.url.to_string(), member.engine())).collect()
    }
}

async fn named(url: &str, options: &PoolOptions) -> Result<Server, EngineError> {
    connect(url, options.kind, &options.server).await.map_err(|error| named_error(url, error))
}

fn named_error(url: &str, error: EngineError) -> EngineError {
    EngineError::Broken { reason: format!("{url}: {error}") }
}

/// Why an engine cannot stand in for one of these capabilities.
fn unfit(pool: &Capabilities, other: &Capabilities) -> Option<String> {
    if pool.logprobs != other.logprobs {
        return Some(format!("its logprobs are {:?}, the others' {:?}", other.logprobs, pool.logprobs));
    }
    (pool.parses != other.parses).then(|| "it is read by another parser".to_owned())
}

impl Shared {
    fn members(&self) -> Vec<Arc<Member>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn homes(&self) -> MutexGuard<'_, Homes> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<AttemptId, Arc<Member>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds an engine for an attempt of `session`.
    async fn place(&self, session: &Arc<str>) -> Result<Permit, EngineError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Heard from now on, so that nothing is missed between the choice and the wait.
            let changed = self.changed.notified();
            let members = match &self.front {
                Some(front) => vec![Arc::clone(front)],
                None => self.members(),
            };
            let now = Instant::now();
            let views: Vec<_> = members.iter().map(|member| member.view(now)).collect();
            let home = self.homes().get(session).cloned();
            let home = home.and_then(|home| members.iter().position(|member| member.url == home));
            let choice = choose(&views, home);
            if let Choice::Take(at) = choice {
                // Another attempt may have taken the last permit meanwhile.
                let Some(permit) = members[at].admit() else { continue };
                self.homes().put(Arc::clone(session), Arc::clone(&members[at].url));
                return Ok(permit);
            }
            // Engines without room give some back; how long that takes is not their failure.
            let waited = match choice {
                Choice::None if now >= deadline => return Err(self.none(&members)),
                Choice::None => tokio::time::timeout(deadline - now, changed).await,
                _ => tokio::time::timeout(PATIENCE, changed).await,
            };
            let _ = waited;
        }
    }

    fn none(&self, members: &[Arc<Member>]) -> EngineError {
        let states: Vec<String> = members
            .iter()
            .map(|member| {
                let state = member.state();
                format!("{} is {:?}, breaker {}", state.engine, state.health, state.breaker)
            })
            .collect();
        EngineError::Unavailable { reason: format!("no engine takes work: {}", states.join("; ")) }
    }
}

/// What an attempt holds while it runs.
struct Running {
    shared: Arc<Shared>,
    id: AttemptId,
    permit: Option<Permit>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.running().remove(&self.id);
        drop(self.permit.take());
        self.shared.changed.notify_waiters();
    }
}

impl Engine for Pool {
    fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    fn generate(&self, id: AttemptId, prompt: Prompt, params: &Params) -> BoxStream<'static, Piece> {
        let (shared, params) = (Arc::clone(&self.0), params.clone());
        let mut place = shared.inflight.enter(id);
        let begin = async move {
            let placed = tokio::select! {
                placed = shared.place(&prompt.session.0) => placed,
                () = place.stopped() => return ended(Ending::Aborted),
            };
            let permit = match placed {
                Ok(permit) => permit,
                Err(error) => return ended(Ending::Failed(error)),
            };
            let member = Arc::clone(&permit.0);
            let pieces = member.engine().generate(id, prompt, &params);
            // Who aborts from here on finds the engine; who did before has left word.
            shared.running().insert(id, member);
            let running = Running { shared, id, permit: Some(permit) };
            if place.is_stopped() {
                return ended(Ending::Aborted);
            }
            pieces
                .map(move |piece| {
                    let running = &running;
                    if let Some(Permit(member)) = &running.permit {
                        match &piece {
                            Piece::More(increment) => member.answered(increment.version.as_ref()),
                            Piece::End(end) => member.ended(&end.ending),
                        }
                    }
                    piece
                })
                .boxed()
        };
        begin.flatten_stream().boxed()
    }

    fn abort(&self, id: AttemptId) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            let member = self.0.running().get(&id).cloned();
            match member {
                Some(member) => member.engine().abort(id).await,
                None => {
                    self.0.inflight.stop(id);
                    Ok(())
                }
            }
        }
        .boxed()
    }

    fn fleet(&self) -> Option<&dyn Fleet> {
        Some(self)
    }

    fn forward(&self) -> Option<&dyn Forward> {
        Some(self)
    }

    fn score(&self) -> Option<&dyn Score> {
        let members = self.0.members();
        let can = members.iter().any(|member| member.engine().score().is_some());
        can.then_some(self as &dyn Score)
    }
}

fn ended(ending: Ending) -> BoxStream<'static, Piece> {
    futures::stream::once(futures::future::ready(Piece::End(ending.into()))).boxed()
}

impl Forward for Pool {
    fn forward(&self, passed: Passed) -> BoxFuture<'_, Result<Told, EngineError>> {
        async move {
            let permit = self.0.place(&passed.session.0).await?;
            let running =
                Running { shared: Arc::clone(&self.0), id: AttemptId::fresh(), permit: Some(permit) };
            let Some(Permit(member)) = &running.permit else {
                return Err(EngineError::Unsupported { what: "pass requests on" });
            };
            let engine = member.engine();
            let forward = engine.forward().ok_or(EngineError::Unsupported { what: "pass requests on" })?;
            forward.forward(passed).await
        }
        .boxed()
    }
}

impl Score for Pool {
    fn score(&self, ids: Vec<TokenId>, from: usize) -> BoxFuture<'_, Result<Vec<Option<f32>>, EngineError>> {
        async move {
            let session: Arc<str> = "score".into();
            let permit = self.0.place(&session).await?;
            let engine = permit.0.engine();
            let scorer = engine.score().ok_or(EngineError::Unsupported { what: "score given ids" })?;
            scorer.score(ids, from).await
        }
        .boxed()
    }
}
