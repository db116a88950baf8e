//! The rewards, advantages and fate of one group.

use serde_json::{Value, json};

use super::{Finished, ScoreFailure, Scorer, answer};

/// What became of a group that was scored.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Its sessions have what they are to have.
    Scored(Vec<Finished>),
    /// It teaches nothing, as who was asked said.
    Filtered {
        /// Who, and why.
        reason: String,
    },
    /// Its sessions have several contexts, and nobody says how credit is shared among them.
    Uncredited {
        /// The first of those sessions.
        text: String,
    },
    /// Something could not be had.
    NotScored(ScoreFailure),
}

impl Scorer {
    /// Scores a group whose sessions have their rewards, in the order of their places.
    pub(crate) async fn group(&self, sessions: Vec<Finished>) -> Verdict {
        self.try_group(sessions).await.unwrap_or_else(Verdict::NotScored)
    }

    /// Asks for the rewards of a group's sessions, if they are to be asked for: they replace what the sessions have.
    pub(crate) async fn rewards(&self, sessions: &mut [Finished]) -> Result<(), ScoreFailure> {
        let Some(source) = &self.credit.group else { return Ok(()) };
        if sessions.is_empty() {
            return Ok(());
        }
        let told = sessions.iter().map(Finished::told).collect();
        let read = |value| answer::rewards(value, self.key(), sessions.len());
        let (rewards, _) = self.ask("reward.group", source, told, read).await?;
        for (session, reward) in sessions.iter_mut().zip(&rewards) {
            session.reward(reward, |_| true);
        }
        Ok(())
    }

    async fn try_group(&self, mut sessions: Vec<Finished>) -> Result<Verdict, ScoreFailure> {
        self.rewards(&mut sessions).await?;
        if !self.trains {
            return Ok(Verdict::Scored(sessions));
        }
        if let Some(source) = &self.credit.advantage {
            let told = sessions.iter().map(|session| Value::Object(session.contexts())).collect();
            let read = |value| answer::advantages(value, &sessions);
            let (advantages, _) = self.ask("reward.advantage", source, told, read).await?;
            let Some(advantages) = advantages else {
                return Ok(Verdict::Filtered { reason: "no advantage".to_owned() });
            };
            let rows = sessions.iter_mut().flat_map(|session| &mut session.rows);
            for (row, advantages) in rows.zip(advantages.into_iter().flatten()) {
                row.credit(advantages)
                    .map_err(|error| ScoreFailure { what: "reward.advantage", problem: error.to_string() })?;
            }
        } else if let Some(several) = sessions.iter().find(|session| session.named && session.rows.len() > 1)
        {
            let (session, contexts) = (&several.rows[0].session, several.rows.len());
            let text = format!(
                "session {session} exported {contexts} contexts, and nothing says how credit is shared among \
                 them; name a function in reward.advantage, or export one"
            );
            return Ok(Verdict::Uncredited { text });
        }
        if let Some(source) = &self.credit.filter {
            let told = json!(sessions.iter().flat_map(Finished::outlines).collect::<Vec<_>>());
            let (dropped, _) = self.ask("reward.filter", source, told, answer::kept).await?;
            if let Some(reason) = dropped {
                return Ok(Verdict::Filtered { reason });
            }
        }
        Ok(Verdict::Scored(sessions))
    }
}
