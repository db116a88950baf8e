//! Groups and agents over time: the barrier, what is left, what goes on beside what.

use std::collections::{BTreeMap, BTreeSet};

use super::{Judged, Points, not_applicable, open, pass, wrong};
use crate::log::Entry;
use crate::page::count;

impl Points<'_> {
    pub(super) fn barrier(&self) -> Judged {
        if !self.proof.barrier {
            return not_applicable("rollout.barrier_seconds is 0: agents go on at once");
        }
        // Places of a group whose agents have started, until it is ready.
        let mut waiting: BTreeMap<&str, (usize, BTreeSet<u32>)> = BTreeMap::new();
        let mut ready: BTreeMap<&str, bool> = BTreeMap::new();
        let mut crossed = 0;
        for entry in self.log {
            match entry {
                Entry::GroupStarted { group, sessions } => {
                    waiting.insert(group, (*sessions, BTreeSet::new()));
                }
                Entry::AgentStarted { group, place, .. } => {
                    if let Some((_, places)) = waiting.get_mut(group.as_str()) {
                        places.insert(*place);
                    }
                }
                Entry::GroupReady { group } => {
                    let Some((sessions, places)) = waiting.get(group.as_str()) else { continue };
                    if places.len() < *sessions {
                        let what =
                            format!("{group} was ready with {} of {sessions} agents started", places.len());
                        return wrong(what, OURS);
                    }
                    ready.insert(group, false);
                }
                Entry::GroupLeased { group, .. } => match ready.get_mut(group.as_str()) {
                    None => return wrong(format!("{group} was leased before it was ready"), OURS),
                    Some(leased) => crossed += usize::from(!std::mem::replace(leased, true)),
                },
                _ => {}
            }
        }
        match crossed {
            0 => open("no group crossed its barrier", self.unseen()),
            crossed => pass(count(
                crossed,
                "group was leased once all its sessions were there",
                "groups were leased once all their sessions were there",
            )),
        }
    }

    pub(super) fn cleanup(&self) -> Judged {
        let (mut agents, mut sessions) = (BTreeSet::new(), BTreeSet::new());
        let mut ended = 0;
        for entry in self.log {
            match entry {
                Entry::AgentStarted { group, place, attempt } => {
                    agents.insert((group, place, attempt));
                }
                Entry::AgentEnded { group, place, attempt, .. } => {
                    ended += 1;
                    agents.remove(&(group, place, attempt));
                }
                Entry::SessionOpened { session } => {
                    sessions.insert(session);
                }
                Entry::SessionClosed { session } => {
                    sessions.remove(session);
                }
                _ => {}
            }
        }
        let left = self.proof.left;
        if !agents.is_empty() || !sessions.is_empty() {
            let what = format!(
                "{} and {} never ended",
                count(agents.len(), "agent", "agents"),
                count(sessions.len(), "session", "sessions")
            );
            return wrong(what, "let the job end its rollout before it ends itself (`Rollout.close`)");
        }
        let stays = "see what the agent, its setup or the job starts and does not end";
        match (left.processes, left.folders, left.slots) {
            (Some(processes), ..) if processes > 0 => {
                wrong(format!("{} left", count(processes, "process is", "processes are")), stays)
            }
            (_, Some(folders), _) if folders > 0 => {
                wrong(format!("{} left", count(folders, "folder is", "folders are")), stays)
            }
            (.., Some((before, after))) if after > before => wrong(
                format!("{after} slots are in use, {before} were before"),
                "let the agent's service free a slot before it says that a task has ended",
            ),
            (None, ..) | (_, None, _) => open(
                "nobody looked for processes and folders",
                "demonstrate on Linux: they are seen in /proc",
            ),
            _ if ended == 0 => open("no agent ran", self.unseen()),
            _ => pass(format!(
                "{} ended, and no process, folder or slot is left",
                count(ended, "agent", "agents")
            )),
        }
    }

    pub(super) fn overlap(&self) -> Judged {
        let partial = self.proof.mode == "partial";
        let (mut running, mut beside, mut evaluated) = (BTreeSet::new(), 0, 0);
        for entry in self.log {
            match entry {
                Entry::AgentStarted { group, place, .. } if !group.starts_with("eval:") => {
                    running.insert((group, place));
                }
                Entry::AgentEnded { group, place, .. } => {
                    running.remove(&(group, place));
                }
                Entry::Evaluated { .. } => {
                    evaluated += 1;
                    beside += usize::from(!running.is_empty());
                }
                _ => {}
            }
        }
        let resumed = self
            .turned()
            .flat_map(|(_, session)| &session.turns)
            .filter(|turn| turn.attempts > 1 && turn.versions > 1)
            .count();
        if !partial && !self.proof.evals {
            return not_applicable(format!("mode {}, and nothing to evaluate on", self.proof.mode));
        }
        let mut missing = Vec::new();
        if partial && resumed == 0 {
            missing.push((
                "no turn went on under new weights",
                "let the job update weights while a turn is held: more steps, rollout.over_sampling = 1 or more",
            ));
        }
        if self.proof.evals && evaluated == 0 {
            missing.push(("no evaluation was made", "let the job evaluate (`Rollout.evaluate`)"));
        } else if self.proof.evals && self.proof.mode != "sync" && beside == 0 {
            missing.push((
                "no evaluation ended while training sessions lived",
                "let the job begin one while a step is open",
            ));
        }
        if missing.is_empty() {
            return pass(format!(
                "{} on under new weights; {beside} of {evaluated} evaluations beside training",
                count(resumed, "turn went", "turns went")
            ));
        }
        let (what, way_out): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
        open(what.join("; "), way_out.join("; "))
    }

    pub(super) fn scale(&self) -> Judged {
        let mut alive = BTreeSet::new();
        let mut peak = 0;
        for entry in self.log {
            match entry {
                Entry::AgentStarted { group, place, attempt } => {
                    alive.insert((group, place, attempt));
                    peak = peak.max(alive.len());
                }
                Entry::AgentEnded { group, place, attempt, .. } => {
                    alive.remove(&(group, place, attempt));
                }
                _ => {}
            }
        }
        let seen = count(peak, "agent", "agents");
        match self.proof.soak {
            None => not_applicable(format!("the load is far below every width; {seen} at once")),
            Some(target) if peak as u64 >= target => pass(format!("{seen} at once, {target} were asked for")),
            Some(target) => open(
                format!("{seen} at once, and {target} are to be"),
                "let the job run long enough, and on enough tasks, that as many live at once",
            ),
        }
    }
}

/// What to do about what no agent or job can have caused.
const OURS: &str = "this is a fault of the scheduler: keep the bundle and report it";
