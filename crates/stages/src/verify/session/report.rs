//! What was found.
//!
//! The invariant: the verdict follows from the turns in the report and the plan's bounds alone.

use std::collections::BTreeMap;

use serde::Serialize;
use verbatim_audit::{Finding, Kind};
use verbatim_engine::Capabilities;

use super::{Plan, Roles, Step};

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnRun {
    /// What the agent did.
    pub step: Step,
    /// The tokens up to the turn's end.
    pub tokens: usize,
    /// Why the turn ended, as the agent was told.
    pub finish: String,
    /// How many tools it called.
    pub calls: usize,
    /// What differs and did not before this turn.
    pub findings: Vec<Finding>,
}

/// One session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionRun {
    /// Its turns.
    pub turns: Vec<TurnRun>,
    /// Whether it ended early because a turn was cut at its token limit.
    pub cut: bool,
    /// Why it ended early otherwise.
    pub failed: Option<String>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionReport {
    /// The family.
    pub family: String,
    /// The engine.
    pub engine: String,
    /// Its model.
    pub model: String,
    /// What the family lets be appended.
    pub roles: Roles,
    /// Turns in all.
    pub turns: usize,
    /// Tools called in all.
    pub calls: usize,
    /// Sessions that a cut turn ended.
    pub cut: usize,
    /// Turns by step.
    pub steps: BTreeMap<&'static str, usize>,
    /// Differences by kind.
    pub kinds: BTreeMap<&'static str, usize>,
    /// Differences by cause.
    pub causes: BTreeMap<&'static str, usize>,
    /// The share of turns whose assistant's text differs, and what is allowed.
    pub assistant_text: [f64; 2],
    /// Why it does not hold.
    pub against: Vec<String>,
    /// The verdict.
    pub holds: bool,
    /// Every session.
    pub sessions: Vec<SessionRun>,
}

impl SessionReport {
    pub(crate) fn new(
        family: &str,
        engine: &Capabilities,
        roles: Roles,
        sessions: Vec<SessionRun>,
        plan: &Plan,
    ) -> Self {
        let turns: Vec<&TurnRun> = sessions.iter().flat_map(|run| &run.turns).collect();
        let mut steps = BTreeMap::new();
        let mut kinds = BTreeMap::new();
        let mut causes = BTreeMap::new();
        let (mut hard, mut said) = (0, 0);
        for turn in &turns {
            *steps.entry(turn.step.name()).or_default() += 1;
            said += usize::from(turn.findings.iter().any(|f| f.mismatch.kind == Kind::AssistantText));
            for found in &turn.findings {
                *kinds.entry(found.mismatch.kind.name()).or_default() += 1;
                *causes.entry(found.cause.name()).or_default() += 1;
                hard += usize::from(found.mismatch.kind.is_hard());
            }
        }
        let share = said as f64 / turns.len().max(1) as f64;
        let calls = turns.iter().map(|turn| turn.calls).sum();
        let failed = sessions.iter().filter(|run| run.failed.is_some()).count();
        let reasons = [
            (turns.is_empty(), "no turn was taken".to_owned()),
            (failed > 0, format!("{failed} sessions failed")),
            (hard > 0, format!("{hard} hard mismatches")),
            (
                share > plan.assistant_text,
                format!(
                    "the assistant's text differs in {share:.2} of the turns; {} may",
                    plan.assistant_text
                ),
            ),
            (plan.calls && calls == 0, "no tool was called".to_owned()),
        ];
        let against: Vec<String> =
            reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect();
        Self {
            family: family.to_owned(),
            engine: engine.engine.clone(),
            model: engine.model.clone(),
            roles,
            turns: turns.len(),
            calls,
            cut: sessions.iter().filter(|run| run.cut).count(),
            steps,
            kinds,
            causes,
            assistant_text: [share, plan.assistant_text],
            holds: against.is_empty(),
            against,
            sessions,
        }
    }
}
