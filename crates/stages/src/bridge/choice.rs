//! What an assessment decides.

use std::collections::BTreeSet;

use serde::Serialize;
use verbatim_chat::{LooseReplay, LooseToolCall, Matcher, RoleContentOnly};

use crate::assess::{Client, Need, adaptations_of, syntaxes};
use crate::lineage::{Cause, Declared, Lineage, Topology, trace};
use crate::recording::Recording;

/// Seconds that a turn is held at most, where nobody says otherwise (`sessions.hold_seconds`).
const HOLD: f64 = 600.0;
/// The share of its client's patience that a turn may be held.
const SHARE: f64 = 0.9;

/// One setting, and why it is what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The setting.
    pub setting: &'static str,
    /// Its value, as TOML.
    pub value: String,
    /// What it rests on.
    pub why: String,
    /// What it changes in the rows' meaning; none if nothing.
    pub changes: Option<String>,
}

/// An agent that no adapter makes trainable.
#[derive(Debug, thiserror::Error)]
pub enum Unbridged {
    /// Nothing was recorded.
    #[error(
        "no model request was recorded: its client must take its server from OPENAI_BASE_URL and OPENAI_API_KEY, or name with --map the variables that it takes it from"
    )]
    Nothing,
    /// The agent itself must change.
    #[error("the agent must change first: {}", .0.join("; "))]
    Agent(Vec<String>),
}

/// The choices for an agent, from recordings of it.
///
/// # Errors
/// [`Unbridged`].
pub fn choices(recordings: &[Recording], declared: Declared) -> Result<Vec<Choice>, Unbridged> {
    if recordings.iter().all(|recording| recording.exchanges.is_empty()) {
        return Err(Unbridged::Nothing);
    }
    let (matcher, lineages) = matched(recordings, declared);
    let topology = Topology::of_all(lineages.iter().map(|lineage| lineage.topology));
    let mut all = vec![matching(matcher.as_ref(), &lineages)];
    all.extend(export(topology, recordings, &lineages)?);
    all.extend(parsers(recordings));
    all.extend(patience(&Client::of(recordings.iter().zip(&lineages))));
    Ok(all)
}

/// The first matcher under which the agent is linear, from the one that rows lose nothing by; else the default.
fn matched(recordings: &[Recording], declared: Declared) -> (Box<dyn Matcher>, Vec<Lineage>) {
    let traced = |matcher: &dyn Matcher| -> Vec<Lineage> {
        recordings.iter().map(|recording| trace(recording, matcher, declared)).collect()
    };
    let tolerant: Vec<Box<dyn Matcher>> =
        vec![Box::new(LooseReplay), Box::new(LooseToolCall), Box::new(RoleContentOnly)];
    for matcher in tolerant {
        let lineages = traced(matcher.as_ref());
        if Topology::of_all(lineages.iter().map(|lineage| lineage.topology)) == Topology::Linear {
            return (matcher, lineages);
        }
    }
    (Box::new(LooseReplay), traced(&LooseReplay))
}

fn matching(matcher: &dyn Matcher, lineages: &[Lineage]) -> Choice {
    let respelt: BTreeSet<Cause> =
        lineages.iter().flat_map(|lineage| &lineage.steps).flat_map(|step| step.respelt.clone()).collect();
    let respelt: Vec<_> = respelt.into_iter().map(Cause::name).collect();
    let why = match respelt.is_empty() {
        true => "turns come back as they were said".to_owned(),
        false => format!("turns come back respelt ({}), and it takes them for the same", respelt.join(", ")),
    };
    let changes = (matcher.name() == RoleContentOnly.name()).then(|| {
        "a turn whose calls or reasoning come back otherwise counts as the one that was sampled".to_owned()
    });
    Choice { setting: "sessions.matcher", value: quoted(matcher.name()), why, changes }
}

fn export(
    topology: Topology,
    recordings: &[Recording],
    lineages: &[Lineage],
) -> Result<Option<Choice>, Unbridged> {
    match topology {
        Topology::Linear => Ok(None),
        Topology::Intentional => Ok(Some(Choice {
            setting: "reward.contexts",
            value: quoted("several"),
            why: "branches are declared".to_owned(),
            changes: Some(
                "each context that the agent exports by name is a row, and reward.advantage shares the credit"
                    .to_owned(),
            ),
        })),
        Topology::Accidental | Topology::Unknown => {
            let found = adaptations_of(recordings, lineages, topology);
            let must = found.iter().filter(|found| !matches!(found.need, Need::Noted));
            let mut must: Vec<String> = must.map(crate::assess::Adaptation::line).collect();
            if must.is_empty() {
                must.push("the shape of its contexts is unknown".to_owned());
            }
            Err(Unbridged::Agent(must))
        }
    }
}

fn parsers(recordings: &[Recording]) -> Vec<Choice> {
    let replies = recordings.iter().flat_map(|recording| &recording.exchanges);
    let texts =
        replies.filter_map(|exchange| exchange.outcome.message()).map(|message| message.content.text());
    let found: BTreeSet<_> = texts.flat_map(|text| syntaxes(&text)).collect();
    let choice = |syntax: crate::assess::Syntax| Choice {
        setting: syntax.setting,
        value: quoted(syntax.parser),
        why: "its syntax stands in the text of a reply".to_owned(),
        changes: Some("what was text for the agent is a call, or reasoning".to_owned()),
    };
    found.into_iter().map(choice).collect()
}

fn patience(client: &Client) -> Option<Choice> {
    let timeout = client.timeout().filter(|timeout| *timeout < HOLD)?;
    let seconds = (timeout * SHARE).floor().max(1.0);
    Some(Choice {
        setting: "sessions.hold_seconds",
        value: format!("{seconds:.0}"),
        why: format!("its client gives up after {timeout:.0} s"),
        changes: Some("a turn that would be held longer fails, and its session with it".to_owned()),
    })
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}
