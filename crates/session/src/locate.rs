//! Finding a conversation that a session holds, for agents that export it by its messages.
//!
//! The invariant: the session is only read, and a conversation is found by the same matcher, under the same keys,
//! as a request that continues it would be.

use std::sync::Arc;

use verbatim_chat::Chain;
use verbatim_dialects::Wire;
use verbatim_events::NodeId;
use verbatim_forest::Place;

use crate::attach::{find, line, parse, root};
use crate::{Session, Sessions, TurnError};

impl Sessions {
    /// The last turn of a conversation, if the session holds every message of it under its tools and template
    /// arguments. One that ends with what nobody answered ends with the turn before. `None`: it is not there, or no
    /// turn of it was sampled.
    ///
    /// # Errors
    /// [`TurnError`] if a message is malformed, or the user's matcher fails.
    pub async fn locate(
        &self,
        session: &Session,
        wire: &(dyn Wire + Sync),
    ) -> Result<Option<NodeId>, TurnError> {
        // What its fields lost was told when the turns came.
        let sent = parse(session, wire, 0..wire.len(), &mut Vec::new())?;
        let setup = Arc::new(root(&self.0, wire, &mut Vec::new())?);
        let chain = Chain::root(line(session).as_ref().unwrap_or(&setup));
        let choice =
            find(session, wire, None, chain, &sent).await?.filter(|choice| choice.covered == sent.len());
        Ok(choice.and_then(|choice| match choice.place {
            Place::Root => None,
            Place::After(turn) => Some(turn),
            Place::Again(observation) => session.with_forest(|forest| forest.node(observation)?.parent),
        }))
    }
}
