//! Sessions that come back from disk.
//!
//! The invariant: a session that comes back is the one that was there: its forest is made of the same events by the same
//! code, and what it was asked last is known again. One that cannot be as it was does not come back, and it is said why.

use std::sync::Arc;
use std::time::Duration;

use verbatim_chat::matcher_by_name;
use verbatim_events::{Event, Observed};
use verbatim_forest::{Forest, Lineage};
use verbatim_journal::{Kept, Opening, Recovery, Tombstone, TurnRecord};

use crate::calls::Call;
use crate::feed::Feed;
use crate::openings::Opening as Rendered;
use crate::prepare::clock;
use crate::sessions::Shared;
use crate::token::TokenHash;
use crate::{Committed, Matching, NoSession, OpenOptions, Session};

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Sessions that go on.
    pub sessions: usize,
    /// Their turns.
    pub turns: usize,
    /// Sessions that are over and known to be.
    pub ended: usize,
    /// Sessions that could not be as they were, and why. They stay on disk and are not served.
    pub refused: Vec<(String, String)>,
}

impl Shared {
    /// Takes in what a journal holds.
    pub(crate) fn restore(&self, recovery: &mut Recovery) -> Restored {
        let mut restored = Restored::default();
        let mut over: Vec<([u8; 32], Tombstone)> = Vec::new();
        for (name, body) in &recovery.notes {
            match Tombstone::read(name, body) {
                None => {}
                Some(Ok(tombstone)) => over.push(tombstone),
                Some(Err(error)) => restored.refused.push((name.to_string(), error.to_string())),
            }
        }
        over.sort_by_key(|(_, tombstone)| tombstone.at);
        restored.ended = over.len();
        for (token, tombstone) in over {
            let how = tombstone.idle.map_or(NoSession::Deleted, |idle| NoSession::Expired { idle });
            self.bury(TokenHash::from_bytes(token), how);
            // It was stopped between its tombstone and its end.
            recovery.lines.remove(tombstone.session.as_str());
        }
        let mut lines: Vec<_> = std::mem::take(&mut recovery.lines).into_iter().collect();
        lines.sort_by(|(one, _), (other, _)| one.cmp(other));
        let read = lines.into_iter().map(|(line, kept)| (self.read(&line, &kept), line));
        let (mut sessions, mut alive) = (Vec::new(), 0);
        for (read, line) in read {
            match read {
                Ok(back) => {
                    alive = back.used.max(alive);
                    sessions.push(back);
                }
                Err(problem) => restored.refused.push((line.to_string(), problem)),
            }
        }
        for Back { token, session, turns, used } in sessions {
            // The time that nobody could have used it in does not count.
            session.used(Duration::from_secs(u64::try_from(alive - used).unwrap_or_default()));
            restored.sessions += 1;
            restored.turns += turns;
            self.observers.tell(&Event::SessionRestored { session: session.id().clone(), turns });
            self.admit(token, session);
        }
        restored
    }

    fn read(&self, line: &str, kept: &[Kept]) -> Result<Back, String> {
        let (first, turns) = kept.split_first().ok_or("nothing of it is left")?;
        let opening = Opening::read(line, first).map_err(|error| error.to_string())?;
        let lineage = match opening.lineage.as_str() {
            "tree" => Lineage::Tree,
            "linear" => Lineage::Linear,
            other => return Err(format!("its lineage is {other:?}, which is none of tree, linear")),
        };
        let own = &self.settings.matching;
        let matching = match opening.matcher.as_str() {
            name if name == own.name() => own.clone(),
            name => Matching::Matcher(matcher_by_name(name).map_err(|error| error.to_string())?),
        };
        let forest = Forest::new(lineage, matching.matcher()).with_rollback(self.settings.rollback);
        let options = OpenOptions { group: opening.group, lora: opening.lora, ..OpenOptions::default() };
        let session = Arc::new(Session::new(opening.session, options, matching, opening.opened, forest));
        let mut used = session.opened();
        for kept in turns {
            let record = TurnRecord::read(session.id(), kept).map_err(|error| error.to_string())?;
            used = used.max(i64::try_from(record.turn.at / 1000).unwrap_or_default());
            self.replay(&session, record)?;
        }
        Ok(Back { token: TokenHash::from_bytes(opening.token), turns: turns.len(), session, used })
    }

    /// Applies a turn as it was committed.
    fn replay(&self, session: &Session, record: TurnRecord) -> Result<(), String> {
        let TurnRecord { turn, bytes, sent, prompt_tokens, stop, lora } = self.share(session, record);
        if let Some(lora) = &lora {
            session.bind(lora);
        }
        let node = {
            let mut state = session.state();
            let applied = state.forest.apply(&turn).map_err(|error| error.to_string())?;
            if let Some(bytes) = bytes {
                state.anchors.insert(bytes, applied.observation);
            }
            applied.generation
        };
        let Some(sent) = sent else { return Ok(()) };
        let response = turn.generated.response.clone();
        // Whoever went on after a reply has it; whether the others were received nobody knows any more.
        if let Some(parent) = turn.parent {
            session.calls().arrived(parent);
        }
        let committed = Committed { turn, node, prompt_tokens, stop };
        let feed = Feed::over(committed);
        session.calls().put(Call { body: sent.body, key: sent.key, response, prompt_tokens, feed });
        Ok(())
    }

    /// The same turn, its opening shared with sessions that begin alike.
    fn share(&self, session: &Session, mut record: TurnRecord) -> TurnRecord {
        if record.turn.parent.is_some() {
            return record;
        }
        let (Observed::New { setup: Some(setup), messages, ids, images, start, .. }, Some(bytes)) =
            (&record.turn.observed, record.bytes)
        else {
            return record;
        };
        let clock = clock(self, session);
        match self.openings.get(bytes, clock) {
            Some(opening) if opening.ids == *ids && opening.start == *start => {
                let mut turn = (*record.turn).clone();
                let Rendered { setup, messages, ids, images, start } = opening;
                let (setup, messages) = (Some(setup), messages.into());
                turn.observed = Observed::New { setup, messages, ids, images, trim: 0, start };
                record.turn = Arc::new(turn);
            }
            _ => {
                let (setup, messages) = (Arc::clone(setup), messages.to_vec());
                let (ids, images) = (Arc::clone(ids), images.clone());
                let opening = Rendered { setup, messages, ids, images, start: *start };
                self.openings.put(bytes, clock, &opening);
            }
        }
        record
    }
}

/// A session that came back.
struct Back {
    token: TokenHash,
    session: Arc<Session>,
    turns: usize,
    /// When it was used last, in seconds since the Unix epoch.
    used: i64,
}
