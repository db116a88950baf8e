//! From a request's place to the ids of its prompt.

use std::sync::Arc;

use verbatim_chat::{Chain, Message, Setup, StartState};
use verbatim_dialects::{Invalid, Sampling, Wire};
use verbatim_engine::{Capabilities, Conversation, EngineError};
use verbatim_events::{Cause, Observed};
use verbatim_families::{Extension, Junction, Scene};
use verbatim_forest::{Generation, Place, Plan};
use verbatim_tokens::{Replay, TokenId};

use crate::attach::{Attached, attach};
use crate::attempt::Request;
use crate::form::{bare, form};
use crate::images::images;
use crate::openings::Opening;
use crate::pinned::pinned;
use crate::sessions::Shared;
use crate::{Prompted, Session, TurnError, raw};

/// A turn that can be dispatched.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    pub(crate) observed: Observed,
    /// What the engine is asked.
    pub(crate) request: Request,
    pub(crate) setup: Arc<Setup>,
    pub(crate) start: StartState,
    pub(crate) stop: Vec<String>,
    /// The bytes of the whole request, to recognise it by; none of one that is ids.
    pub(crate) bytes: Option<Chain>,
    /// Losses to report once the turn is committed.
    pub(crate) lost: Vec<Cause>,
}

/// Attaches and renders a request. The session is only read.
pub(crate) async fn prepare(
    shared: &Shared,
    session: &Session,
    prompted: &Prompted<'_>,
    sampling: &Sampling,
    mut lost: Vec<Cause>,
) -> Result<Prepared, TurnError> {
    has_room(shared, session)?;
    let (placed, bytes) = match prompted {
        Prompted::Messages(wire) => {
            (place(shared, session, *wire, &mut lost).await?, Some(wire.bytes(wire.len())))
        }
        Prompted::Ids(ids) => (raw::place(shared, session, ids)?, None),
    };
    finish(shared, session, sampling, bytes, lost, placed)
}

/// How many tokens the request's prompt has.
pub(crate) async fn measure(
    shared: &Shared,
    session: &Session,
    wire: &(dyn Wire + Sync),
) -> Result<usize, TurnError> {
    Ok(place(shared, session, wire, &mut Vec::new()).await?.prompt.len())
}

/// Finds a request's place and renders what follows it.
async fn place(
    shared: &Shared,
    session: &Session,
    wire: &(dyn Wire + Sync),
    lost: &mut Vec<Cause>,
) -> Result<Placed, TurnError> {
    // What a request means that names a reply is known to its own session only.
    let bytes = wire.continues().is_none().then(|| wire.bytes(wire.len()));
    if let Some(opening) = bytes.and_then(|bytes| open_again(shared, session, bytes)) {
        return opened(session, opening);
    }
    let Attached { plan, setup, new } = attach(shared, session, wire, lost).await?;
    match (plan.place, setup) {
        (Place::Root, Some(setup)) => {
            let opening = open(shared, session, setup, new)?;
            if let Some(bytes) = bytes {
                shared.openings.put(bytes, clock(shared, session), &opening);
            }
            Ok(opened_at(plan, opening))
        }
        (_, changed) => {
            let (rendered, repaired) = extend(shared, session, plan, changed, new)?;
            lost.extend(repaired.then_some(Cause::JunctionRepaired));
            Ok(rendered)
        }
    }
}

/// What rendering settles of a turn.
pub(crate) struct Placed {
    pub(crate) plan: Plan,
    pub(crate) observed: Observed,
    pub(crate) prompt: Arc<[TokenId]>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) start: StartState,
}

/// The opening of another session that began with these very bytes, if this session is empty.
fn open_again(shared: &Shared, session: &Session, bytes: Chain) -> Option<Opening> {
    let empty = session.with_forest(|forest| forest.head().is_none());
    empty.then(|| shared.openings.get(bytes, clock(shared, session))).flatten()
}

/// The part of the session's clock that its rendering depends on.
pub(crate) fn clock(shared: &Shared, session: &Session) -> i64 {
    if shared.family.reads_clock() { session.opened() } else { 0 }
}

fn open(
    shared: &Shared,
    session: &Session,
    setup: Arc<Setup>,
    messages: Vec<Arc<Message>>,
) -> Result<Opening, TurnError> {
    let plain: Vec<_> = messages.iter().map(|message| message.as_ref().clone()).collect();
    let rendered = shared.family.open(Scene { setup: &setup, opened: session.opened() }, &plain)?;
    let images = rendered.images.into();
    Ok(Opening { setup, messages, ids: rendered.ids.into(), images, start: rendered.start })
}

fn opened(session: &Session, opening: Opening) -> Result<Placed, TurnError> {
    let plan = session.with_forest(|forest| forest.plan(Place::Root, opening.messages.len()))?;
    Ok(opened_at(plan, opening))
}

fn opened_at(plan: Plan, opening: Opening) -> Placed {
    let Opening { setup, messages, ids, images, start } = opening;
    let prompt = Arc::clone(&ids);
    let (opens, messages) = (Some(Arc::clone(&setup)), messages.into());
    let observed = Observed::New { setup: opens, messages, ids, images, trim: 0, start };
    Placed { plan, observed, prompt, setup, start }
}

/// Whether the session may hold more.
fn has_room(shared: &Shared, session: &Session) -> Result<(), TurnError> {
    let held = session.with_forest(|forest| forest.stored_bytes());
    match shared.settings.quota.session_bytes {
        Some(limit) if held >= limit => Err(TurnError::Full { held, limit }),
        _ => Ok(()),
    }
}

/// Renders what follows the place, under other tools and template arguments if they `changed`; also says
/// whether the junction had to be repaired.
fn extend(
    shared: &Shared,
    session: &Session,
    plan: Plan,
    changed: Option<Arc<Setup>>,
    new: Vec<Arc<Message>>,
) -> Result<(Placed, bool), TurnError> {
    let gone = || TurnError::Closed;
    if let Place::Again(node) = plan.place {
        return session.with_forest(|forest| {
            let start = forest.node(node).and_then(|node| node.observation()).ok_or_else(gone)?.start;
            let setup = forest.setup(node).ok_or_else(gone)?;
            let observed = Observed::Shared(node);
            Ok((Placed { plan, observed, prompt: forest.gather(node).into(), setup, start }, false))
        });
    }
    let parent = plan.parent.ok_or_else(gone)?;
    let (in_force, sampled, message) = session
        .with_forest(|forest| {
            let generation = forest.node(parent)?.generation()?;
            let ids = generation.sampled.ids().to_vec();
            Some((forest.setup(parent)?, ids, Arc::clone(&generation.message)))
        })
        .ok_or_else(gone)?;
    let setup = changed.clone().unwrap_or(in_force);
    let plain: Vec<_> = new.iter().map(|message| message.as_ref().clone()).collect();
    let scene = Scene { setup: &setup, opened: session.opened() };
    let junction = Junction { sampled: &sampled, message: &message };
    let Extension { trim, ids, images, start, repair, .. } = shared.family.extend(scene, junction, &plain)?;
    let mut prompt = session.with_forest(|forest| forest.gather_with(parent, ids.len()));
    prompt.truncate(prompt.len() - trim.min(sampled.len()));
    prompt.extend_from_slice(&ids);
    let (messages, ids, images) = (new.into(), ids.into(), images.into());
    let observed = Observed::New { setup: changed, messages, ids, images, trim, start };
    Ok((Placed { plan, observed, prompt: prompt.into(), setup, start }, repair.is_some()))
}

fn finish(
    shared: &Shared,
    session: &Session,
    sampling: &Sampling,
    bytes: Option<Chain>,
    mut lost: Vec<Cause>,
    placed: Placed,
) -> Result<Prepared, TurnError> {
    let Placed { plan, observed, prompt, setup, start } = placed;
    let capabilities = shared.engine.capabilities();
    let context = capabilities.max_context;
    if prompt.len() >= context {
        return Err(TurnError::ContextLength { prompt: prompt.len(), context });
    }
    let mut sampling = pinned(sampling, &shared.settings.pinned, &mut lost);
    if let Some(pins) = session.pins() {
        sampling = pinned(&sampling, pins, &mut lost);
    }
    let sampling = &sampling;
    can_be_had(sampling, capabilities)?;
    if prompt.is_empty() {
        return Err(EngineError::Refused { message: "the prompt is empty".into() }.into());
    }
    let room = u32::try_from(context - prompt.len()).unwrap_or(u32::MAX);
    let mut params = shared.settings.sampling.complete(sampling, room, shared.family.stop_ids());
    if shared.settings.adapters {
        shared.adapters.bind(session)?;
    }
    params.lora = session.lora().cloned();
    let scene = Scene { setup: &setup, opened: session.opened() };
    params.form = match bytes {
        Some(_) => form(&sampling.demand, shared.family.as_ref(), scene, start, capabilities)?,
        None => bare(&sampling.demand, capabilities)?,
    };
    // A form is begun anew by every attempt, so that an engine's stop that is none of ours could not be gone on from.
    if capabilities.stop_strings && params.form.is_none() {
        params.stop.clone_from(&sampling.stop);
    }
    // A message that the engine reads is cut by the engine.
    let stop = if capabilities.parses { Vec::new() } else { sampling.stop.clone() };
    let settings = &shared.settings;
    let known =
        |told: fn(&Generation) -> Option<&Replay>| known(session, &plan, &observed, prompt.len(), told);
    let experts_from =
        (settings.experts && capabilities.experts).then(|| known(|turn| turn.experts.as_deref()));
    let indexer_from =
        (settings.indexer && capabilities.indexer).then(|| known(|turn| turn.indexer.as_deref()));
    let images = images(shared, session, &plan, &observed, &prompt)?;
    let conversation = capabilities.parses.then(|| conversation(session, &plan, &observed, &setup));
    let request = Request { prompt, images, params, experts_from, indexer_from, conversation };
    Ok(Prepared { plan, observed, request, setup, start, stop, bytes, lost })
}

/// Refuses what the engine cannot do.
fn can_be_had(sampling: &Sampling, engine: &Capabilities) -> Result<(), Invalid> {
    let name = &engine.engine;
    if sampling.top_logprobs > engine.top_logprobs {
        let (asked, most) = (sampling.top_logprobs, engine.top_logprobs);
        let problem = format!("{asked} asked; this engine ({name}) reports at most {most}");
        return Err(Invalid::new("top_logprobs", problem));
    }
    let without = |field, asked: bool, can: bool| match asked && !can {
        true => Err(Invalid::new(field, format!("this engine ({name}) has no such parameter; leave it out"))),
        false => Ok(()),
    };
    without("min_tokens", sampling.min_tokens.is_some_and(|least| least > 0), engine.min_tokens)?;
    let penalty = sampling.repetition_penalty.is_some_and(|penalty| penalty != 1.0);
    without("repetition_penalty", penalty, engine.repetition_penalty)?;
    match sampling.stop_ids.iter().find(|id| **id as usize >= engine.vocabulary) {
        Some(id) => {
            let problem =
                format!("{id} is no token of this model's; its ids are below {}", engine.vocabulary);
            Err(Invalid::new("stop_token_ids", problem))
        }
        None => Ok(()),
    }
}

/// The first position of a prompt of whose replay payload no earlier turn of its lineage has told.
fn known(
    session: &Session,
    plan: &Plan,
    observed: &Observed,
    prompt: usize,
    told: fn(&Generation) -> Option<&Replay>,
) -> usize {
    session.with_forest(|forest| {
        let told = plan.parent.and_then(|parent| told(forest.node(parent)?.generation()?));
        let added = match observed {
            Observed::New { ids, .. } | Observed::Ids(ids) => ids.len(),
            Observed::Shared(node) => forest.node(*node).map_or(0, |node| node.ids().len()),
        };
        told.map_or(0, |told| told.end().min(prompt - added))
    })
}

/// All messages of a prompt.
fn conversation(
    session: &Session,
    plan: &Plan,
    observed: &Observed,
    setup: &Arc<Setup>,
) -> Arc<Conversation> {
    let messages = session.with_forest(|forest| {
        let (end, new): (_, &[Arc<Message>]) = match observed {
            Observed::New { messages, .. } => (plan.parent, messages),
            Observed::Shared(node) => (Some(*node), &[]),
            Observed::Ids(_) => (plan.parent, &[]),
        };
        let path = end.map(|end| forest.path(end)).unwrap_or_default();
        let told = path.iter().flat_map(|segment| segment.node.messages());
        told.chain(new).cloned().collect()
    });
    Arc::new(Conversation { setup: Arc::clone(setup), messages })
}
