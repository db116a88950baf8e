//! The moment a turn comes to exist.

use std::sync::Arc;

use verbatim_events::{Cause, Event, NodeId, Observers};
use verbatim_families::Flaw;
use verbatim_forest::{Place, Plan};
use verbatim_journal::TurnRecord;

use crate::keeper::Keeper;
use crate::{Session, TurnError};

/// Commits a turn: waits for room in the journal, checks that its plan still holds, applies its event and appends it,
/// waits until it is kept, tells the observers. Returns the generation's node.
pub(crate) async fn commit(
    observers: &Observers,
    keeper: &Keeper,
    session: &Session,
    plan: Plan,
    record: &TurnRecord,
    mut lost: Vec<Cause>,
) -> Result<NodeId, TurnError> {
    let turn = &record.turn;
    let room = keeper.reserve(session, record).await?;
    let (applied, writing) = {
        let mut state = session.state();
        if session.closing.is_cancelled() {
            return Err(TurnError::Closed);
        }
        state.forest.check(&plan)?;
        let branches = match plan.place {
            Place::Root => false,
            Place::After(node) | Place::Again(node) => state.forest.is_followed(node),
        };
        let applied = state.forest.apply(turn)?;
        if let Some(bytes) = record.bytes {
            state.anchors.insert(bytes, applied.observation);
        }
        let writing = keeper.append(room);
        match plan.drops {
            0 if branches => lost.push(Cause::Forked),
            turns => lost.extend(std::iter::repeat_n(Cause::RolledBack, turns)),
        }
        (applied, writing)
    };
    let node = writing.kept(applied.generation).await?;
    observers.tell(&Event::TurnCommitted(Arc::clone(turn)));
    lost.into_iter().for_each(|cause| observers.lost(session.id(), cause));
    Ok(node)
}

/// What a flaw of a parsed turn is as a loss.
pub(crate) fn flaw(flaw: Flaw) -> Cause {
    match flaw {
        Flaw::ReasoningOpen => Cause::ReasoningOpen,
        Flaw::CallOpen => Cause::CallOpen,
        Flaw::CallMalformed => Cause::CallMalformed,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use verbatim_chat::{Chain, Message, Role, Setup, StartState, Strict};
    use verbatim_engine::{Attempts, Increment};
    use verbatim_events::{Finish, Generated, Observed, Observer, SessionId, Timings, TurnCommitted};
    use verbatim_forest::{Forest, Lineage};
    use verbatim_journal::{Journal, Options};
    use verbatim_tokens::{LogprobKind, Sampled, TokenId};

    use super::*;
    use crate::{Matching, OpenOptions};

    fn sampled() -> Sampled {
        let mut attempts = Attempts::new(LogprobKind::Raw, 1);
        let increment =
            Increment { ids: vec![TokenId(7)], logprobs: vec![Some(-0.5)], ..Increment::default() };
        attempts.push(increment).unwrap();
        attempts.finish().unwrap()
    }

    fn turn() -> Arc<TurnCommitted> {
        let message = |role, text: &str| Arc::new(Message::new(role, text));
        let observed = Observed::New {
            setup: Some(Arc::new(Setup::default())),
            messages: vec![message(Role::User, "hi")].into(),
            ids: vec![TokenId(1), TokenId(2)].into(),
            images: Box::default(),
            trim: 0,
            start: StartState::Content,
        };
        let generated = Generated {
            sampled: sampled(),
            message: message(Role::Assistant, "yes"),
            finish: Finish::Stop,
            response: "chatcmpl-1".into(),
            temperature: 1.0,
            cached_tokens: None,
            experts: None,
            indexer: None,
            speculation: None,
            retractions: 0,
            attempts: 1,
            reasoning_tokens: 0,
        };
        let (session, timings) = (SessionId::new("s"), Timings::default());
        Arc::new(TurnCommitted { session, parent: None, observed, generated, at: 0, timings })
    }

    /// Between the end of its last attempt and its commit a turn hears nothing: that its session closed meanwhile is
    /// seen here or never.
    #[tokio::test]
    async fn a_session_that_closed_meanwhile_takes_no_turn() {
        for closed in [false, true] {
            let forest = Forest::new(Lineage::Tree, Arc::new(Strict));
            let id = SessionId::new("s");
            let session = Session::new(id, OpenOptions::default(), Matching::default(), 0, forest);
            let plan = session.with_forest(|forest| forest.plan(Place::Root, 1)).unwrap();
            if closed {
                session.closing.cancel();
            }
            let bytes = Some(Chain::root(&Setup::default()));
            let record =
                TurnRecord { turn: turn(), bytes, sent: None, prompt_tokens: 2, stop: None, lora: None };
            let observers = Observers::default();
            let committed = commit(&observers, &Keeper::default(), &session, plan, &record, Vec::new()).await;
            let turns = session.with_forest(|forest| forest.nodes().count());
            match closed {
                false => assert!(committed.is_ok() && turns == 2),
                true => assert_eq!((committed, turns), (Err(TurnError::Closed), 0)),
            }
        }
    }

    /// What a journal does not keep is not told: neither to the client, nor to observers.
    #[tokio::test]
    async fn a_turn_that_is_not_kept_is_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(folder.path(), Options::default()).unwrap();
        let forest = Forest::new(Lineage::Tree, Arc::new(Strict));
        let session =
            Session::new(SessionId::new("s"), OpenOptions::default(), Matching::default(), 0, forest);
        let plan = session.with_forest(|forest| forest.plan(Place::Root, 1)).unwrap();
        let bytes = Some(Chain::root(&Setup::default()));
        let record = TurnRecord { turn: turn(), bytes, sent: None, prompt_tokens: 2, stop: None, lora: None };
        journal.close();
        let keeper = Keeper::new(Some(journal));
        let told = Arc::new(Told::default());
        let observers = Observers::new([Arc::clone(&told) as Arc<dyn Observer>]);
        let committed = commit(&observers, &keeper, &session, plan, &record, Vec::new()).await;
        assert!(matches!(committed, Err(TurnError::Unkept(_))), "{committed:?}");
        assert_eq!(told.0.load(Ordering::Relaxed), 0);
    }

    /// Counts what it is told.
    #[derive(Default)]
    struct Told(AtomicUsize);

    impl Observer for Told {
        fn observe(&self, _: &Event) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
