//! From recordings to an assessment.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use verbatim_chat::Matcher;

use super::adapt::adaptations;
use super::{Adaptation, Client, Need};
use crate::lineage::{Declared, Lineage, Topology, Transition, trace};
use crate::recording::Recording;

/// Whether an agent can be trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Readiness {
    /// As it is.
    Ready,
    /// After what is listed.
    NeedsChanges,
    /// Not at all: it asks for what there is not, or for nothing.
    Blocked,
}

impl Readiness {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "READY",
            Self::NeedsChanges => "NEEDS_CHANGES",
            Self::Blocked => "BLOCKED",
        }
    }
}

/// Where an agent runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Execution {
    /// As a process or a function of this machine.
    #[serde(rename = "local")]
    Local,
    /// In a service that training and evaluation share.
    #[serde(rename = "remote shared")]
    RemoteShared,
    /// In a service with slots for each.
    #[serde(rename = "remote dedicated")]
    RemoteDedicated,
    /// Nobody has said.
    #[default]
    #[serde(rename = "unknown")]
    Unknown,
}

impl Execution {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::RemoteShared => "remote shared",
            Self::RemoteDedicated => "remote dedicated",
            Self::Unknown => "unknown",
        }
    }
}

/// What is assessed.
pub struct Evidence<'e> {
    /// Each run's name, its recording, and why it ended badly, if it did.
    pub runs: Vec<(String, &'e Recording, Option<String>)>,
    /// What sessions take for the same message.
    pub matcher: &'e dyn Matcher,
    /// What is said of branches.
    pub declared: Declared,
    /// Where the agent runs.
    pub execution: Execution,
    /// Whether it is the agent of a rollout file.
    pub integrated: bool,
}

/// One run, audited.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// Its requests.
    #[serde(flatten)]
    pub lineage: Lineage,
    /// Why it ended badly.
    pub failed: Option<String>,
}

/// What came of it: the fields of stage A's report, and what they rest on.
#[derive(Clone, Debug, Serialize)]
pub struct Assessment {
    /// Whether the agent can be trained.
    pub readiness: Readiness,
    /// The shape of its contexts.
    pub topology: Topology,
    /// Where it runs.
    pub execution: Execution,
    /// What it does, by how much it matters.
    pub adaptations: Vec<Adaptation>,
    /// The stage that may come next: `A`, `B` or `C`.
    pub next: &'static str,
    /// Its client.
    pub client: Client,
    /// The matcher that it was judged under.
    pub matcher: String,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// Assesses an agent.
pub fn assess(evidence: &Evidence<'_>) -> Assessment {
    let audited = |(name, recording, failed): &(String, &'_ Recording, Option<String>)| Run {
        name: name.clone(),
        lineage: trace(recording, evidence.matcher, evidence.declared),
        failed: failed.clone(),
    };
    let runs: Vec<(Run, &Recording)> = evidence.runs.iter().map(|run| (audited(run), run.1)).collect();
    let client = Client::of(runs.iter().map(|(run, recording)| (*recording, &run.lineage)));
    let topology = Topology::of_all(runs.iter().map(|(run, _)| run.lineage.topology));
    let mut adaptations = adaptations(&runs, &client, topology);
    if runs.is_empty() {
        adaptations.push(Adaptation {
            need: Need::Blocks,
            what: "nothing was recorded".into(),
            way_out: "run the agent, or give a recording".into(),
        });
    }
    let has = |need: Need| adaptations.iter().any(|adaptation| adaptation.need == need);
    let steps = || runs.iter().flat_map(|(run, _)| &run.lineage.steps);
    let unread = steps().next().is_some() && steps().all(|step| step.transition == Transition::Unread);
    let readiness = if has(Need::Blocks) || unread {
        Readiness::Blocked
    } else if has(Need::Required) || has(Need::Unknown) || topology == Topology::Unknown {
        Readiness::NeedsChanges
    } else {
        Readiness::Ready
    };
    let next = match (readiness, evidence.integrated) {
        (Readiness::Blocked, _) => "A",
        (Readiness::Ready, true) => "C",
        _ => "B",
    };
    let runs = runs.into_iter().map(|(run, _)| run).collect();
    Assessment {
        readiness,
        topology,
        execution: evidence.execution,
        adaptations,
        next,
        client,
        matcher: evidence.matcher.name().to_owned(),
        runs,
    }
}

/// What is to be said of recordings whose lineages are known.
pub(crate) fn adaptations_of(
    recordings: &[Recording],
    lineages: &[Lineage],
    topology: Topology,
) -> Vec<Adaptation> {
    let run = |lineage: &Lineage| Run { name: "run".to_owned(), lineage: lineage.clone(), failed: None };
    let runs: Vec<_> = lineages.iter().map(run).zip(recordings).collect();
    let client = Client::of(runs.iter().map(|(run, recording)| (*recording, &run.lineage)));
    adaptations(&runs, &client, topology)
}

impl Assessment {
    /// What is needed so much, in one line each.
    pub fn needing(&self, needs: &[Need]) -> Vec<String> {
        let lines = self.adaptations.iter().filter(|adaptation| needs.contains(&adaptation.need));
        lines.map(Adaptation::line).collect::<BTreeSet<_>>().into_iter().collect()
    }
}
