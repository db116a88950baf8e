//! Where a run broke: the first link of the chain of ownership that does not hold.
//!
//! The invariant: links are looked at in the order in which work goes through them, so that what follows from a broken
//! one is not taken for another.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::log::{Entry, sessions};
use crate::page::{Page, Part};

/// A link, and what its events say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Who owns the work there.
    pub owner: &'static str,
    /// What broke; none if nothing did.
    pub broken: Option<String>,
    /// What to do.
    pub way_out: &'static str,
}

/// The links, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Each.
    pub links: Vec<Link>,
}

/// Losses and drops of a link, by their cause's name.
struct Owned {
    owner: &'static str,
    causes: &'static [&'static str],
    way_out: &'static str,
}

const OWNED: [Owned; 11] = [
    Owned { owner: "data source", causes: &[], way_out: "look at [dataset]: path, columns, limit, taken" },
    Owned { owner: "prepare", causes: &[], way_out: "look at rollout.resident and agent.concurrency" },
    Owned {
        owner: "barrier",
        causes: &["barrier_expired"],
        way_out: "raise rollout.barrier_seconds, or make agents ask sooner; each needs its slot",
    },
    Owned { owner: "lease", causes: &[], way_out: "no step had room: does the trainer open steps?" },
    Owned {
        owner: "session",
        causes: &["session_expired", "session_closed"],
        way_out: "raise sessions.idle_seconds or sessions.max_sessions",
    },
    Owned {
        owner: "request",
        causes: &["hold_expired", "client_gone", "no_turns", "raced"],
        way_out: "raise the client's timeout above the hold, and sessions.hold_seconds above the longest step",
    },
    Owned {
        owner: "engine",
        causes: &["engine_failed"],
        way_out: "`verbatim engine probe`; look at the engine's own log",
    },
    Owned {
        owner: "agent",
        causes: &["agent_failed", "agent_timeout", "agent_output", "export_unknown"],
        way_out: "the rollout's log holds the end of the agent's",
    },
    Owned {
        owner: "external executor",
        causes: &["agent_not_run"],
        way_out: "look at agent.command, agent.cwd, agent.url and its slots",
    },
    Owned {
        owner: "reward",
        causes: &["reward_failed", "contexts_uncredited"],
        way_out: "look at [reward]: its functions, its timeout, contexts and advantage",
    },
    Owned {
        owner: "transfer",
        causes: &["row_refused", "undelivered"],
        way_out: "look at rollout.sink and rollout.output; does the trainer take its batches?",
    },
];

/// Looks at a log.
pub fn diagnose(log: &[Entry]) -> Diagnosis {
    let links = OWNED.iter().map(|owned| {
        let stuck = stuck(owned.owner, log);
        let caused = caused(owned.causes, log);
        Link { owner: owned.owner, broken: stuck.or(caused), way_out: owned.way_out }
    });
    Diagnosis { links: links.collect() }
}

/// What never went on from a link.
fn stuck(owner: &str, log: &[Entry]) -> Option<String> {
    let groups = |pick: fn(&Entry) -> Option<&String>| -> BTreeSet<&str> {
        log.iter().filter_map(pick).map(String::as_str).collect()
    };
    let started = groups(|entry| match entry {
        Entry::GroupStarted { group, .. } => Some(group),
        _ => None,
    });
    let over = groups(|entry| match entry {
        Entry::GroupFinished { group, .. } | Entry::GroupDropped { group, .. } => Some(group),
        _ => None,
    });
    let reached = |pick: fn(&Entry) -> Option<&String>| groups(pick);
    let lost = |from: &BTreeSet<&str>, to: &BTreeSet<&str>, what: &str| {
        let left: Vec<&str> =
            from.iter().filter(|group| !to.contains(*group) && !over.contains(*group)).copied().collect();
        left.first().map(|first| format!("{} groups {what}: {first}", left.len()))
    };
    let agents = reached(|entry| match entry {
        Entry::AgentStarted { group, .. } => Some(group),
        _ => None,
    });
    let ready = reached(|entry| match entry {
        Entry::GroupReady { group } => Some(group),
        _ => None,
    });
    let leased = reached(|entry| match entry {
        Entry::GroupLeased { group, .. } => Some(group),
        _ => None,
    });
    let finalised = reached(|entry| match entry {
        Entry::GroupFinalised { group } => Some(group),
        _ => None,
    });
    let scored = reached(|entry| match entry {
        Entry::GroupScored { group } => Some(group),
        _ => None,
    });
    match owner {
        "data source" if started.is_empty() => Some("no group was ever started".to_owned()),
        "prepare" => lost(&started, &agents, "have no agent"),
        // Without a barrier groups are leased as they are.
        "barrier" if !ready.is_empty() => lost(&agents, &ready, "never had all their first requests"),
        "lease" => lost(if ready.is_empty() { &agents } else { &ready }, &leased, "were never leased"),
        "session" => {
            let all = sessions(log);
            let unopened = all.iter().filter(|(_, session)| !session.life.0).count();
            (unopened > 0).then(|| format!("{unopened} sessions have events and were never opened"))
        }
        "agent" => lost(&leased, &finalised, "have agents that never ended well"),
        "reward" => lost(&finalised, &scored, "were never scored"),
        "transfer" => lost(&scored, &BTreeSet::new(), "were scored and never published"),
        _ => None,
    }
}

/// What a link's causes say.
fn caused(causes: &[&str], log: &[Entry]) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for entry in log {
        let told = match entry {
            Entry::Lost { session, cause, detail } if causes.contains(&cause.as_str()) => {
                format!("{cause} {detail} in session {session}")
            }
            Entry::GroupDropped { group, cause, detail } if causes.contains(&cause.as_str()) => {
                format!("{group} was dropped: {cause} {detail}")
            }
            Entry::AgentEnded { group, place, failed: Some(cause), .. }
                if causes.contains(&cause.as_str()) =>
            {
                format!("{cause} in {group}, place {place}")
            }
            _ => continue,
        };
        found.push(told.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let first = found.first()?;
    Some(if found.len() == 1 { first.clone() } else { format!("{first} (and {} more)", found.len() - 1) })
}

impl Diagnosis {
    /// The first broken link.
    pub fn first(&self) -> Option<&Link> {
        self.links.iter().find(|link| link.broken.is_some())
    }

    /// The report.
    pub fn page(&self) -> Page {
        let first = self.first();
        let told = match first {
            None => vec!["none: every group that was started ended as it should".to_owned()],
            Some(link) => vec![link.owner.to_owned()],
        };
        let mut fields = vec![("First broken link".to_owned(), told)];
        if let Some(link) = first {
            fields.push(("Evidence".to_owned(), link.broken.clone().into_iter().collect()));
            fields.push(("Way out".to_owned(), vec![link.way_out.to_owned()]));
        }
        let line = |link: &Link| {
            let mark = if link.broken.is_some() { "BROKEN" } else { "holds" };
            let what =
                link.broken.as_ref().map_or(link.owner.to_owned(), |what| format!("{}: {what}", link.owner));
            (mark.to_owned(), what)
        };
        Page::new("Diagnosis")
            .with(Part::Fields(fields))
            .listing("In order", self.links.iter().map(line).collect())
    }
}
