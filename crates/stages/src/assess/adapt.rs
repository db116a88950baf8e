//! What must change, what cannot be said, and what is worth knowing.
//!
//! The invariant: each comes with what to do about it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ending::briefly;
use super::judge::Run;
use super::{Client, syntaxes};
use crate::lineage::{Cause, Finding, Intent, Topology, Transition};
use crate::page::count;
use crate::recording::{Outcome, Recording};

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The agent cannot run as it is.
    Blocks,
    /// It runs, and what it makes cannot be trained as it is.
    Required,
    /// Nobody knows.
    Unknown,
    /// It is taken care of.
    Noted,
}

/// Something that an agent does, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Adaptation {
    /// How much it matters.
    pub need: Need,
    /// What it does.
    pub what: String,
    /// What to do; empty where nothing is to be done.
    pub way_out: String,
}

impl Adaptation {
    fn new(need: Need, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { need, what: what.into(), way_out: way_out.into() }
    }

    /// In one line.
    pub fn line(&self) -> String {
        if self.way_out.is_empty() { self.what.clone() } else { format!("{}: {}", self.what, self.way_out) }
    }
}

/// All that is to be said of these runs.
pub(super) fn adaptations(
    runs: &[(Run, &Recording)],
    client: &Client,
    topology: Topology,
) -> Vec<Adaptation> {
    let mut all = BTreeSet::new();
    for (run, recording) in runs {
        all.extend(run.lineage.findings.iter().map(of_finding));
        all.extend(of_steps(run));
        all.extend(of_replies(recording));
        let strangers: BTreeSet<_> = recording.strangers.iter().collect();
        all.extend(strangers.into_iter().map(|path| of_path(path)));
        all.extend(of_end(run, recording));
        if !run.lineage.timed && run.lineage.steps.iter().any(|step| step.is_branch()) {
            let what = "the recording does not say when replies ended";
            all.insert(Adaptation::new(Need::Noted, what, "requests side by side are counted as forks"));
        }
    }
    if client.retried > 0 {
        let what =
            format!("its client puts a failed request again ({})", count(client.retried, "time", "times"));
        all.insert(Adaptation::new(Need::Noted, what, "such a request joins the turn that it repeats"));
    }
    if topology == Topology::Intentional {
        all.insert(Adaptation::new(Need::Noted, "branches are declared", "each must be exported by name"));
    }
    all.into_iter().collect()
}

/// What there is to say of a run that had no turn, or ended badly.
fn of_end(run: &Run, recording: &Recording) -> Vec<Adaptation> {
    let name = &run.name;
    let ended = run.failed.as_deref().map(briefly);
    if recording.exchanges.is_empty() {
        let address = "OPENAI_BASE_URL and OPENAI_API_KEY (or ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY)";
        return vec![match ended {
            None => Adaptation::new(
                Need::Blocks,
                format!("{name}: no model request was made"),
                format!("give its client {address} from its environment"),
            ),
            Some(ended) => Adaptation::new(
                Need::Blocks,
                format!("{name}: no model request was made ({ended})"),
                format!(
                    "let it run by itself first, or longer (--limit); its client finds its model in {address}"
                ),
            ),
        }];
    }
    let mut all = Vec::new();
    if run.lineage.turns == 0 {
        all.push(of_no_reply(name, recording));
    }
    all.extend(ended.map(|ended| {
        Adaptation::new(
            Need::Unknown,
            format!("{name}: {ended}"),
            "what it would have done next was not seen",
        )
    }));
    all
}

/// Requests none of which is known to have had its reply.
fn of_no_reply(name: &str, recording: &Recording) -> Adaptation {
    let refused = recording.exchanges.iter().filter_map(|exchange| match exchange.outcome {
        Outcome::Refused(status) => Some(status),
        _ => None,
    });
    let refused: BTreeSet<u16> = refused.collect();
    let way_out = match refused.first() {
        None => "record replies, too",
        Some(401 | 403) => "give the key that the server asks for (--upstream-key NAME)",
        Some(500..) => {
            "see that the engine answers (`verbatim engine probe URL`), or the API behind --upstream"
        }
        Some(_) => "send what the server takes: the findings say which field it refuses",
    };
    let statuses: Vec<_> = refused.iter().map(u16::to_string).collect();
    let with = if statuses.is_empty() { String::new() } else { format!(" (status {})", statuses.join(", ")) };
    Adaptation::new(
        Need::Unknown,
        format!("{name}: no request is known to have had its reply{with}"),
        way_out,
    )
}

fn of_finding(finding: &Finding) -> Adaptation {
    match finding {
        Finding::Ignored(field) => Adaptation::new(Need::Noted, format!("{field} has no effect"), ""),
        Finding::Rejected(field, problem) => {
            let need = if field == "n" { Need::Blocks } else { Need::Required };
            Adaptation::new(need, format!("{field} is refused"), problem.clone())
        }
        Finding::Role(role) => Adaptation::new(Need::Noted, format!("role {role} is read as system"), ""),
        // The model reads a result that says nothing, and a family may leave such a turn out altogether.
        Finding::Empty("tool") => Adaptation::new(
            Need::Required,
            "a tool's result is empty",
            "let the tool say that there is no output",
        ),
        Finding::Empty(role) => Adaptation::new(Need::Noted, format!("a {role} message is empty"), ""),
        Finding::LateSystem => Adaptation::new(
            Need::Noted,
            "instructions stand among the messages",
            "`verbatim verify template` says whether the family appends them",
        ),
        Finding::Synthetic => Adaptation::new(
            Need::Noted,
            "the first request brings assistant turns that nobody sampled",
            "they are read, and never trained",
        ),
    }
}

fn of_steps(run: &Run) -> Vec<Adaptation> {
    let mut by_cause: BTreeMap<(Cause, Meant), usize> = BTreeMap::new();
    let mut all = Vec::new();
    let mut respelt = BTreeSet::new();
    for step in &run.lineage.steps {
        respelt.extend(step.respelt.iter().copied());
        if let (true, Some(cause)) = (step.is_branch(), step.cause) {
            *by_cause.entry((cause, Meant::of(step.intent))).or_default() += 1;
        }
        if let Some(problem) = &step.problem {
            let need = if step.transition == Transition::Unread && rejects(run) {
                Need::Required
            } else {
                Need::Unknown
            };
            all.push(Adaptation::new(need, format!("a request cannot be judged: {problem}"), ""));
        }
        if step.is_foreign() {
            let what = "assistant turns that nobody sampled are put into the history";
            all.push(Adaptation::new(Need::Unknown, what, "they would be read, and never trained"));
        }
    }
    for ((cause, intent), requests) in by_cause {
        let what = format!("{} ({})", cause.name(), count(requests, "request", "requests"));
        let need = match intent {
            Meant::Yes => Need::Noted,
            Meant::No => Need::Required,
            Meant::Unknown => Need::Unknown,
        };
        all.push(Adaptation::new(need, what, cause.way_out()));
    }
    all.extend(respelt.into_iter().map(|cause| {
        Adaptation::new(
            Need::Noted,
            format!("turns come back respelt: {}", cause.name()),
            "the matcher takes them for the same",
        )
    }));
    all
}

fn rejects(run: &Run) -> bool {
    run.lineage.findings.iter().any(|finding| matches!(finding, Finding::Rejected(..)))
}

/// [`Intent`] as it is counted by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meant {
    No,
    Unknown,
    Yes,
}

impl Meant {
    fn of(intent: Intent) -> Self {
        match intent {
            Intent::Yes => Self::Yes,
            Intent::No => Self::No,
            Intent::Unknown => Self::Unknown,
        }
    }
}

fn of_replies(recording: &Recording) -> Vec<Adaptation> {
    let texts = recording.exchanges.iter().filter_map(|exchange| exchange.outcome.message());
    let found: BTreeSet<_> = texts.flat_map(|message| syntaxes(&message.content.text())).collect();
    let said = |syntax: super::Syntax| {
        let what = format!("replies hold the syntax of {} in their text", syntax.parser);
        Adaptation::new(
            Need::Required,
            what,
            format!("set {} = {:?}, if it is the model's own", syntax.setting, syntax.parser),
        )
    };
    found.into_iter().map(said).collect()
}

fn of_path(path: &str) -> Adaptation {
    let path = path.split('?').next().unwrap_or_default();
    let shown =
        path.strip_prefix("/sessions/").and_then(|rest| rest.find('/').map(|at| &rest[at..])).unwrap_or(path);
    let turn = ["/completions", "/generate", "/embeddings"].iter().any(|end| shown.ends_with(end));
    match turn {
        true => Adaptation::new(
            Need::Required,
            format!("it asks for {shown}"),
            "what is sampled there is in no session; use chat completions, responses or messages",
        ),
        false => Adaptation::new(Need::Noted, format!("it asks for {shown}"), ""),
    }
}
