//! Telling engines that a session is over.
//!
//! The invariant: it never keeps a session from ending. An engine that cannot be told is counted and waited for no
//! longer than two seconds.

use std::time::Duration;

use verbatim_engine::{Order, SessionKey, give};
use verbatim_events::Event;

use crate::Session;
use crate::sessions::Shared;

/// How long an engine has to answer. Source: Relax, "session close timeout".
const DEADLINE: Duration = Duration::from_secs(2);

impl Shared {
    /// Tells every engine that nobody will ask for the session's prefixes again, where they are told of sessions.
    pub(crate) async fn release(&self, session: &Session) {
        if !self.settings.lifecycle {
            return;
        }
        let order = Order::CloseSession(SessionKey(session.id().as_str().into()));
        let name = || self.engine.capabilities().engine.clone();
        let answers = match (self.engine.fleet(), self.engine.control()) {
            (Some(fleet), _) => fleet.tell(order, DEADLINE).await,
            (None, Some(control)) => vec![give(name(), control, &order, DEADLINE).await],
            (None, None) => Vec::new(),
        };
        let failed = answers.iter().filter(|answer| answer.outcome.is_err()).count();
        let (session, engines) = (session.id().clone(), answers.len());
        self.observers.tell(&Event::PrefixesReleased { session, engines, failed });
    }
}
