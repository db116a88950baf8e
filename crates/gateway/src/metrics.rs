//! Prometheus metrics, folded from events.
//!
//! Nothing is counted where it happens: a counter here is a fold over [`verbatim_events::Event`], a
//! gauge is read from what exists when it is scraped.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use verbatim_engine::{Health, MemberState};
use verbatim_events::{Event, Finish, Observer, TurnCommitted};

use crate::App;

/// The metrics of a process.
pub struct Metrics {
    registry: Registry,
    turns: Family<TurnLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    seconds: Family<PhaseLabels, Histogram>,
    lost: Family<LossLabels, Counter>,
    groups: Family<GroupLabels, Counter>,
    released: Family<GroupLabels, Counter>,
    sessions: Gauge,
    running: Gauge,
    waiting: Gauge,
    engines: Family<EngineLabels, Gauge>,
    attempts: Family<MemberLabels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TurnLabels {
    finish: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LossLabels {
    cause: String,
    detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EngineLabels {
    engine: String,
    health: &'static str,
    breaker: &'static str,
    version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MemberLabels {
    engine: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GroupLabels {
    outcome: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("verbatim");
        let turns = Family::default();
        registry.register("turns", "Committed turns by how they ended", turns.clone());
        let tokens = Family::default();
        registry.register(
            "tokens",
            "Tokens put before the model, sampled, and served from its cache",
            tokens.clone(),
        );
        let seconds: Family<PhaseLabels, Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0001, 3.0, 16)));
        registry.register("turn_seconds", "Time of committed turns by phase", seconds.clone());
        let lost = Family::default();
        registry.register("lost", "Everything lost, by cause; tokens for masks", lost.clone());
        let groups = Family::default();
        registry.register("groups", "Groups by outcome", groups.clone());
        let released = Family::default();
        registry.register("sessions_released", "Ends of sessions that engines were told", released.clone());
        let (sessions, running, waiting) = (Gauge::default(), Gauge::default(), Gauge::default());
        registry.register("sessions", "Open sessions", sessions.clone());
        registry.register("attempts_running", "Attempts at the engine", running.clone());
        registry.register("turns_waiting", "Turns held", waiting.clone());
        let (engines, attempts) = (Family::default(), Family::default());
        registry.register("engine", "Engines of the pool, as they are known: always 1", engines.clone());
        registry.register("engine_attempts", "Attempts at one engine of the pool", attempts.clone());
        Self {
            registry,
            turns,
            tokens,
            seconds,
            lost,
            groups,
            released,
            sessions,
            running,
            waiting,
            engines,
            attempts,
        }
    }
}

impl Metrics {
    /// Takes over what is known of the engines; one that left is in no later scrape.
    fn engines(&self, members: Vec<MemberState>) {
        self.engines.clear();
        self.attempts.clear();
        for member in members {
            let health = match member.health {
                Health::Ready => "ready",
                Health::Paused => "paused",
                Health::Starting => "starting",
                Health::Down { .. } => "down",
            };
            let version = member.version.map_or_else(String::new, |version| version.to_string());
            let labels =
                EngineLabels { engine: member.engine.clone(), health, breaker: member.breaker, version };
            self.engines.get_or_create(&labels).set(1);
            let attempts = self.attempts.get_or_create(&MemberLabels { engine: member.engine });
            attempts.set(member.attempts as i64);
        }
    }

    fn committed(&self, turn: &TurnCommitted) {
        let finish = match turn.generated.finish {
            Finish::Stop => "stop",
            Finish::Length => "length",
        };
        self.turns.get_or_create(&TurnLabels { finish }).inc();
        let observed = match &turn.observed {
            verbatim_events::Observed::New { ids, .. } => ids.len(),
            verbatim_events::Observed::Ids(ids) => ids.len(),
            verbatim_events::Observed::Shared(_) => 0,
        };
        let cached = turn.generated.cached_tokens.unwrap_or_default();
        for (kind, count) in [
            ("observed", observed as u64),
            ("sampled", turn.generated.sampled.len() as u64),
            ("cached", u64::from(cached)),
        ] {
            self.tokens.get_or_create(&TokenLabels { kind }).inc_by(count);
        }
        let timings = &turn.timings;
        for (phase, took) in [
            ("prepare", timings.prepare),
            ("held", timings.held),
            ("first_token", timings.first_token),
            ("generate", timings.generate),
        ] {
            self.seconds.get_or_create(&PhaseLabels { phase }).observe(took.as_secs_f64());
        }
    }
}

impl Observer for Metrics {
    fn observe(&self, event: &Event) {
        match event {
            Event::TurnCommitted(turn) => self.committed(turn),
            Event::Lost { cause, count, .. } => {
                let labels = LossLabels { cause: cause.name().to_owned(), detail: cause.detail().to_owned() };
                self.lost.get_or_create(&labels).inc_by(*count);
            }
            Event::PrefixesReleased { engines, failed, .. } => {
                for (outcome, count) in [("told", engines.saturating_sub(*failed)), ("failed", *failed)] {
                    self.released.get_or_create(&GroupLabels { outcome }).inc_by(count as u64);
                }
            }
            Event::GroupFinished { .. } => {
                self.groups.get_or_create(&GroupLabels { outcome: "finished" }).inc();
            }
            Event::GroupDropped { cause, .. } => {
                self.groups.get_or_create(&GroupLabels { outcome: "dropped" }).inc();
                let labels = LossLabels { cause: cause.name().to_owned(), detail: cause.detail().to_owned() };
                self.lost.get_or_create(&labels).inc();
            }
            Event::SessionOpened { .. }
            | Event::SessionRestored { .. }
            | Event::SessionClosed { .. }
            | Event::GroupStarted { .. }
            | Event::AgentStarted { .. }
            | Event::AgentEnded { .. }
            | Event::GroupReady { .. }
            | Event::GroupLeased { .. }
            | Event::GroupProtected { .. }
            | Event::GroupFinalised { .. }
            | Event::SessionScored { .. }
            | Event::Evaluated { .. }
            | Event::GroupScored { .. }
            | Event::UpdateBegun { .. }
            | Event::UpdateEnded { .. }
            | Event::StepOpened { .. }
            | Event::StepClosed { .. }
            | Event::OptimizerStep(_) => {}
        }
    }
}

/// `GET /metrics`.
pub(crate) async fn scrape(State(app): State<App>) -> Response {
    let metrics = &app.metrics;
    metrics.sessions.set(app.sessions.len() as i64);
    let (running, waiting) = app.sessions.dispatcher().load();
    metrics.running.set(running as i64);
    metrics.waiting.set(waiting as i64);
    if let Some(fleet) = app.sessions.engine().fleet() {
        metrics.engines(fleet.members());
    }
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &metrics.registry);
    ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
}
