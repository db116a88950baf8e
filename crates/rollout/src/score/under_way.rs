//! What is being scored of one group.
//!
//! The invariants: dropping this ends what is asked for; a group's verdict is told at most once by its own task,
//! and earlier if one of its sessions cannot be rewarded.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;
use verbatim_events::{Event, GroupId as Name, Observers};
use verbatim_scheduler::{GroupId, SessionId};

use super::{Finished, ScoreFailure, Scorer, Verdict};

/// Rewards that are asked for, by session, and then the group's task.
#[derive(Default)]
pub(crate) struct UnderWay {
    sessions: Vec<(SessionId, AbortOnDropHandle<Result<Finished, ScoreFailure>>)>,
    group: Option<AbortOnDropHandle<()>>,
}

/// Where verdicts go.
pub(crate) type Verdicts = UnboundedSender<(GroupId, Verdict)>;

impl UnderWay {
    /// Asks for the reward of a session that has ended well.
    pub(crate) fn session(
        &mut self,
        scorer: &Arc<Scorer>,
        observers: &Observers,
        session: SessionId,
        group: Name,
        mut finished: Finished,
        verdicts: Verdicts,
    ) {
        let (scorer, observers) = (Arc::clone(scorer), observers.clone());
        let task = tokio::spawn(async move {
            match scorer.session(&mut finished).await {
                Ok(attempts) => {
                    if let Some(row) = finished.rows.first() {
                        let (session, reward) = (row.session.clone(), row.reward);
                        observers.tell(&Event::SessionScored { session, group, reward, attempts });
                    }
                    Ok(finished)
                }
                Err(failure) => {
                    // Nothing can come of the group any more, so that it need not run on.
                    let _ = verdicts.send((session.group, Verdict::NotScored(failure.clone())));
                    Err(failure)
                }
            }
        });
        self.sessions.push((session, AbortOnDropHandle::new(task)));
    }

    /// Scores the group, once its sessions have their rewards.
    pub(crate) fn group(&mut self, scorer: &Arc<Scorer>, group: GroupId, verdicts: Verdicts) {
        let mut sessions = std::mem::take(&mut self.sessions);
        sessions.sort_by_key(|(session, _)| *session);
        let scorer = Arc::clone(scorer);
        let task = tokio::spawn(async move {
            let mut finished = Vec::with_capacity(sessions.len());
            for (_, handle) in sessions {
                match handle.await {
                    Ok(Ok(session)) => finished.push(session),
                    Ok(Err(_)) => return,
                    Err(error) => {
                        let failure = ScoreFailure { what: "reward", problem: error.to_string() };
                        let _ = verdicts.send((group, Verdict::NotScored(failure)));
                        return;
                    }
                }
            }
            let verdict = scorer.group(finished).await;
            let _ = verdicts.send((group, verdict));
        });
        self.group = Some(AbortOnDropHandle::new(task));
    }
}
