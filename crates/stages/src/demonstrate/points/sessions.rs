//! What sessions did: the tool loop, their lines, the rows that their leaves make.

use super::{Judged, KEEP, Points, not_applicable, open, pass, wrong};
use crate::log::SessionLog;
use crate::page::count;

impl Points<'_> {
    pub(super) fn tool_loop(&self) -> Judged {
        let called = |session: &SessionLog| {
            session.turns.iter().filter(|turn| turn.calls > 0).any(|turn| {
                let next = |of: u32| session.turns.iter().filter(move |next| next.parent == Some(of));
                // The result is read by the next turn; a later one of the line ends without a call.
                let mut line = vec![turn.node];
                let mut ends = false;
                while let Some(node) = line.pop() {
                    for next in next(node) {
                        ends |=
                            next.calls == 0 && next.messages > 0 && next.finish.as_deref() == Some("stop");
                        line.push(next.node);
                    }
                }
                ends
            })
        };
        let loops = self.turned().filter(|(_, session)| called(session)).count();
        let calls =
            self.turned().flat_map(|(_, session)| &session.turns).filter(|turn| turn.calls > 0).count();
        match (loops, calls, self.proof.tools) {
            (0, 0, Some(false)) => not_applicable("the agent declares no tools"),
            (0, calls, _) => open(
                format!(
                    "{} a tool, and no session went on to an end after one",
                    count(calls, "turn called", "turns called")
                ),
                "take tasks that need a tool, a model that calls it and then answers, and more sessions",
            ),
            (loops, ..) => pass(format!(
                "{} a tool, read its result and ended",
                count(loops, "session called", "sessions called")
            )),
        }
    }

    pub(super) fn lineage(&self) -> Judged {
        let branched: Vec<&String> =
            self.turned().filter(|(_, session)| !session.is_linear()).map(|(name, _)| name).collect();
        let all = self.turned().count();
        match (all, branched.len(), self.proof.several) {
            (0, ..) => open("no turn was committed", self.unseen()),
            (all, 0, _) => pass(format!("{}, each one line", count(all, "session", "sessions"))),
            (all, branches, true) => pass(format!("{branches} of {all} sessions branch, as declared")),
            (all, branches, false) => wrong(
                format!("{branches} of {all} sessions branch ({}, …), which nobody declared", branched[0]),
                "assess on more tasks (`verbatim assess ROLLOUT.TOML --tasks N`): the request that branches is named, with its cause",
            ),
        }
    }

    pub(super) fn commits(&self) -> Judged {
        let Some(rows) = &self.proof.rows else { return open("the rows cannot be read here", KEEP) };
        if rows.is_empty() {
            return open("there are no rows", KEEP);
        }
        for (session, made) in rows {
            let Some(known) = self.sessions.get(session) else {
                return wrong(format!("rows of {session}, of which the log knows nothing"), KEEP);
            };
            let leaves = known.leaves();
            let retries = known.turns.iter().filter(|turn| turn.again).count();
            let expected = self.proof.several || (*made <= leaves && *made + retries >= leaves);
            if leaves == 0 || !expected {
                return wrong(format!("{session} has {leaves} leaves and {made} rows"), KEEP);
            }
        }
        pass(format!("{} the rows that their leaves make", count(rows.len(), "session has", "sessions have")))
    }
}
