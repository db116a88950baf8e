//! The nine points (reference: Relax §13), each with its evidence.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::check::{Line, Verdict};
use crate::log::{Entry, SessionLog, sessions};

/// What was left of the run on this machine and outside, once it was over; none where nobody looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Processes of its own.
    pub processes: Option<usize>,
    /// Folders of agents.
    pub folders: Option<usize>,
    /// Slots outside that were in use before, and after.
    pub slots: Option<(usize, usize)>,
}

/// What the points are judged by, besides the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Whether groups have a barrier.
    pub barrier: bool,
    /// Whether the agent declares tools; none if nobody knows.
    pub tools: Option<bool>,
    /// Whether sessions export several contexts by name.
    pub several: bool,
    /// Whether groups may be dropped by a filter or an advantage function.
    pub filters: bool,
    /// `sync`, `partial` or `async`.
    pub mode: String,
    /// Whether there are datasets to evaluate on.
    pub evals: bool,
    /// Sessions at once that the soak must reach; none if the load is far below every width.
    pub soak: Option<u64>,
    /// Rows by session, as they were delivered; none if nobody can read them here.
    pub rows: Option<BTreeMap<String, usize>>,
    /// What was left.
    pub left: Left,
}

struct Points<'l> {
    log: &'l [Entry],
    sessions: BTreeMap<String, SessionLog>,
    proof: &'l Proof,
}

/// Judges a run.
pub fn points(log: &[Entry], proof: &Proof) -> Vec<Line> {
    let points = Points { log, sessions: sessions(log), proof };
    let each: [(&str, (Verdict, String)); 9] = [
        ("1 barrier", points.barrier()),
        ("2 tool loop", points.tool_loop()),
        ("3 lineage", points.lineage()),
        ("4 forest commits", points.commits()),
        ("5 export, reward, advantage", points.credit()),
        ("6 cleanup", points.cleanup()),
        ("7 transfer and optimizer step", points.optimizer()),
        ("8 partial rollout, evaluation", points.overlap()),
        ("9 scale", points.scale()),
    ];
    each.into_iter().map(|(about, (verdict, what))| Line::new(verdict, about, what, "")).collect()
}

type Judged = (Verdict, String);

fn pass(what: String) -> Judged {
    (Verdict::Pass, what)
}

fn open(what: impl Into<String>) -> Judged {
    (Verdict::Unverified, what.into())
}

impl Points<'_> {
    fn turned(&self) -> impl Iterator<Item = (&String, &SessionLog)> {
        self.sessions.iter().filter(|(_, session)| !session.turns.is_empty())
    }

    fn barrier(&self) -> Judged {
        if !self.proof.barrier {
            return (Verdict::NotApplicable, "rollout.barrier_seconds is 0: agents go on at once".into());
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
                        return (Verdict::Unsafe, what);
                    }
                    ready.insert(group, false);
                }
                Entry::GroupLeased { group, .. } => match ready.get_mut(group.as_str()) {
                    None => return (Verdict::Unsafe, format!("{group} was leased before it was ready")),
                    Some(leased) => crossed += usize::from(!std::mem::replace(leased, true)),
                },
                _ => {}
            }
        }
        match crossed {
            0 => open("no group crossed its barrier"),
            crossed => pass(format!("{crossed} groups were leased once all their sessions were there")),
        }
    }

    fn tool_loop(&self) -> Judged {
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
            (0, 0, Some(false)) => (Verdict::NotApplicable, "the agent declares no tools".into()),
            (0, calls, _) => {
                open(format!("{calls} turns called tools, and no session went on to an end after one"))
            }
            (loops, ..) => pass(format!("{loops} sessions called a tool, read its result and ended")),
        }
    }

    fn lineage(&self) -> Judged {
        let branched: Vec<&String> =
            self.turned().filter(|(_, session)| !session.is_linear()).map(|(name, _)| name).collect();
        let all = self.turned().count();
        match (all, branched.len(), self.proof.several) {
            (0, ..) => open("no turn was committed"),
            (all, 0, _) => pass(format!("{all} sessions, each one line")),
            (all, branches, true) => pass(format!("{branches} of {all} sessions branch, as declared")),
            (all, branches, false) => (
                Verdict::Unsafe,
                format!("{branches} of {all} sessions branch ({}, …), which nobody declared", branched[0]),
            ),
        }
    }

    fn commits(&self) -> Judged {
        let Some(rows) = &self.proof.rows else { return open("the rows cannot be read here") };
        if rows.is_empty() {
            return open("there are no rows");
        }
        for (session, count) in rows {
            let Some(known) = self.sessions.get(session) else {
                return (Verdict::Unsafe, format!("rows of {session}, of which the log knows nothing"));
            };
            let leaves = known.leaves();
            let retries = known.turns.iter().filter(|turn| turn.again).count();
            let expected = self.proof.several || (*count <= leaves && *count + retries >= leaves);
            if leaves == 0 || !expected {
                return (Verdict::Unsafe, format!("{session} has {leaves} leaves and {count} rows"));
            }
        }
        pass(format!("{} sessions have the rows that their leaves make", rows.len()))
    }

    fn credit(&self) -> Judged {
        let mut finished = BTreeSet::new();
        let (mut rows, mut started, mut filtered) = (0, 0, 0);
        let mut scored: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for entry in self.log {
            match entry {
                Entry::GroupStarted { .. } => started += 1,
                Entry::GroupFinished { group, rows: count, .. } => {
                    rows += count;
                    finished.insert(group.as_str());
                }
                Entry::SessionScored { group, reward, .. } => {
                    let (all, with) = scored.entry(group).or_default();
                    *all += 1;
                    *with += usize::from(reward.is_some());
                }
                Entry::GroupDropped { cause, .. } => filtered += usize::from(cause == "filtered"),
                _ => {}
            }
        }
        if finished.is_empty() {
            return open("no group was published");
        }
        let unscored = finished
            .iter()
            .find(|group| scored.get(**group).is_none_or(|(all, with)| with < all || *all == 0));
        if let Some(group) = unscored {
            return (Verdict::Unsafe, format!("{group} was published with a session that has no reward"));
        }
        match &self.proof.rows {
            None => return open("the rows cannot be read here"),
            Some(read) => {
                let read: usize = read.values().sum();
                if read != rows {
                    return (Verdict::Unsafe, format!("the log says {rows} rows, and {read} were delivered"));
                }
            }
        }
        if self.proof.filters && (filtered == 0 || started <= finished.len()) {
            return open("groups may be dropped by a decision, and none was seen to be dropped and replaced");
        }
        pass(format!("{} groups, {rows} rows, each session with its reward", finished.len()))
    }

    fn cleanup(&self) -> Judged {
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
            let what = format!("{} agents and {} sessions never ended", agents.len(), sessions.len());
            return (Verdict::Unsafe, what);
        }
        match (left.processes, left.folders, left.slots) {
            (Some(processes), ..) if processes > 0 => {
                (Verdict::Unsafe, format!("{processes} processes are left"))
            }
            (_, Some(folders), _) if folders > 0 => (Verdict::Unsafe, format!("{folders} folders are left")),
            (.., Some((before, after))) if after > before => {
                (Verdict::Unsafe, format!("{after} slots are in use, {before} were before"))
            }
            (None, ..) | (_, None, _) => open("nobody looked for processes and folders"),
            _ if ended == 0 => open("no agent ran"),
            _ => pass(format!("{ended} agents ended, and no process, folder or slot is left")),
        }
    }

    fn optimizer(&self) -> Judged {
        let mut rewards: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        let mut of_step: BTreeMap<u64, Vec<(&str, usize)>> = BTreeMap::new();
        let mut told = 0;
        for entry in self.log {
            match entry {
                Entry::SessionScored { group, reward: Some(reward), .. } => {
                    // −0 is 0.
                    rewards.entry(group).or_default().insert((reward + 0.0).to_bits());
                }
                Entry::GroupFinished { group, step, rows, .. } => {
                    of_step.entry(*step).or_default().push((group, *rows))
                }
                Entry::OptimizerStep { step, rows, groups } => {
                    told += 1;
                    let published: Vec<(&str, usize)> = of_step.get(step).cloned().unwrap_or_default();
                    let named: Vec<&str> = match groups.is_empty() {
                        true => published.iter().map(|(group, _)| *group).collect(),
                        false => groups.iter().map(String::as_str).collect(),
                    };
                    let known = named.iter().all(|group| published.iter().any(|(name, _)| name == group));
                    let delivered: usize = published.iter().map(|(_, rows)| rows).sum();
                    let taken = *rows > 0 && *rows <= delivered as u64;
                    // Where the trainer does not say whose rows they were, all of the step's must have been taken.
                    let all = !groups.is_empty() || *rows == delivered as u64;
                    let differ =
                        |group: &&&str| rewards.get(**group).is_some_and(|rewards| rewards.len() > 1);
                    if let (true, true, true, Some(group)) = (known, taken, all, named.iter().find(differ)) {
                        return pass(format!(
                            "step {step} was trained on {rows} rows; in {group} rewards differ"
                        ));
                    }
                }
                _ => {}
            }
        }
        match told {
            0 => open("no optimizer_step: the trainer has not said that it made one"),
            told => {
                open(format!("{told} optimizer steps, none known to be over a group whose rewards differ"))
            }
        }
    }

    fn overlap(&self) -> Judged {
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
            return (Verdict::NotApplicable, format!("mode {}, and nothing to evaluate on", self.proof.mode));
        }
        let mut missing = Vec::new();
        if partial && resumed == 0 {
            missing.push("no turn went on under new weights");
        }
        if self.proof.evals && evaluated == 0 {
            missing.push("no evaluation was made");
        } else if self.proof.evals && self.proof.mode != "sync" && beside == 0 {
            missing.push("no evaluation ended while training sessions lived");
        }
        match missing.is_empty() {
            true => pass(format!(
                "{resumed} turns went on under new weights; {beside} of {evaluated} evaluations beside training"
            )),
            false => open(missing.join("; ")),
        }
    }

    fn scale(&self) -> Judged {
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
        match self.proof.soak {
            None => {
                (Verdict::NotApplicable, format!("the load is far below every width; {peak} agents at once"))
            }
            Some(target) if peak as u64 >= target => {
                pass(format!("{peak} agents at once, {target} were asked for"))
            }
            Some(target) => open(format!("{peak} agents at once, and {target} are to be")),
        }
    }
}
