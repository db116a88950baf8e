//! A rollout's settings as the numbers that verdicts are functions of.

use verbatim_stages::assess::{Adaptation, Need};
use verbatim_stages::check::{Line, Load, Verdict, Widths};

use super::state::Assessed;
use crate::config::{Config, EngineKind};

/// Whether training's sessions live on beside an evaluation and an update.
pub(super) fn retained(config: &Config) -> bool {
    config.rollout.prelaunch || config.rollout.mode != "sync"
}

/// Sessions at once.
pub(super) fn load(config: &Config) -> Load {
    let train = config.agent.as_ref().map_or(0, |agent| agent.concurrency.max(1));
    let eval: usize = config.eval.iter().map(|eval| eval.concurrency.max(1)).sum();
    Load { train: train as u64, eval: eval as u64, retained: retained(config) }
}

/// What the server has room for.
pub(super) fn widths(config: &Config, load: Load) -> Widths {
    let agent = config.agent.as_ref();
    Widths {
        sessions: load.train + load.eval,
        local: agent.is_some_and(|agent| agent.url.is_none()),
        connections: config.server.connections as u64,
        max_sessions: (config.sessions.max_sessions > 0).then_some(config.sessions.max_sessions as u64),
        agent_mib: agent.map(|agent| agent.max_memory_mib).filter(|mib| *mib > 0),
    }
}

/// Settings that do nothing where they stand, or throw work away.
pub(super) fn notes(config: &Config) -> Vec<String> {
    let rollout = &config.rollout;
    let all = [
        (
            rollout.over_sampling > 0 && rollout.mode == "sync",
            "rollout.over_sampling: in mode sync what is not finished at a step's end is thrown away",
        ),
        (
            rollout.max_aborted_count > 0 && rollout.mode != "partial",
            "rollout.max_aborted_count: only mode partial aborts",
        ),
        (rollout.staleness > 0 && rollout.mode != "async", "rollout.staleness: only mode async has it"),
        (
            config.engine.kind == EngineKind::Sim,
            "engine.kind: sim samples random text; what it shows is the way, and no learning",
        ),
        (
            rollout.purpose != "train",
            "rollout.purpose: agents are told that they are evaluated, and rows are made all the same",
        ),
    ];
    all.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note.to_owned()).collect()
}

/// What an assessment asks for and has not got.
pub(super) fn adaptations(assessed: &Assessed) -> Vec<Line> {
    let line = |found: &Adaptation| {
        let verdict = match found.need {
            Need::Blocks | Need::Required => Verdict::NeedsChanges,
            Need::Unknown => Verdict::Unverified,
            Need::Noted => return None,
        };
        Some(Line::new(verdict, "Agentic parameters, the agent", &found.what, &found.way_out))
    };
    assessed.adaptations.iter().filter_map(line).collect()
}

/// Groups: their size, their barrier, their end.
pub(super) fn groups(config: &Config) -> Vec<Line> {
    let (rollout, credit) = (&config.rollout, &config.reward);
    let size = rollout.group_size;
    let agents = config.agent.as_ref().map_or(0, |agent| agent.concurrency.max(1));
    let compared = match (size, credit.advantage.is_some()) {
        (0 | 1, false) => Line::new(
            Verdict::NeedsChanges,
            "Groups, size",
            format!("{size} sessions a group: rewards within a group cannot differ"),
            "raise rollout.group_size, or name a function under reward.advantage",
        ),
        _ => Line::new(Verdict::Pass, "Groups, size", format!("{size} sessions a group"), ""),
    };
    let barrier = match rollout.barrier_seconds {
        0 => Line::new(Verdict::NotApplicable, "Groups, barrier", "none: each agent goes on at once", ""),
        _ if agents < size => Line::new(
            Verdict::Unsafe,
            "Groups, barrier",
            format!("a group waits for {size} first requests, and {agents} agents run at once"),
            "raise agent.concurrency to rollout.group_size, or set rollout.barrier_seconds = 0",
        ),
        seconds => Line::new(
            Verdict::Pass,
            "Groups, barrier",
            format!("{size} first requests within {seconds} s, or the group is dropped by name"),
            "",
        ),
    };
    let ended = match config.agent.as_ref().map(|agent| (&agent.command, &agent.url, agent.grace_seconds)) {
        Some((Some(_), _, grace)) => {
            format!("every process of an agent is ended, {grace} s after it was told")
        }
        Some((None, Some(_), _)) => "a task is cancelled at its service, and seen to its end".to_owned(),
        _ => "a call is cancelled, or its worker is ended".to_owned(),
    };
    vec![compared, barrier, Line::new(Verdict::Pass, "Groups, end", ended, "")]
}

/// What becomes of a turn from one step to the next.
pub(super) fn steps(config: &Config) -> Vec<Line> {
    let rollout = &config.rollout;
    let what = match rollout.mode.as_str() {
        "sync" => "sync: a step ends with its groups; what is not finished is dropped".to_owned(),
        "partial" => format!(
            "partial: a turn under way is held for up to {} s and goes on under the next weights",
            config.sessions.hold_seconds
        ),
        "async" => match rollout.staleness {
            0 => "async: groups go on while the trainer trains; how old their weights are is not bounded"
                .into(),
            most => format!("async: a group's weights are at most {most} steps old"),
        },
        // That there is none such is said where settings are.
        _ => return Vec::from([Line::new(Verdict::Unverified, "Steps, mode", "it is not known", "")]),
    };
    let mut lines = vec![Line::new(Verdict::Pass, "Steps, mode", what, "")];
    let agent = config.agent.as_ref().map_or(0, |agent| agent.timeout_seconds);
    let deadline = config.sessions.hold_seconds;
    if retained(config) && deadline == 0 {
        lines.push(Line::new(
            Verdict::Unsafe,
            "Steps, hold",
            "turns are held from step to step, and sessions.hold_seconds is 0",
            "set it to the longest step of the trainer, evaluation included",
        ));
    }
    let idle = config.sessions.idle_seconds;
    if retained(config) && idle > 0 && idle < deadline {
        lines.push(Line::new(
            Verdict::Unsafe,
            "Steps, idle sessions",
            format!("a session is reclaimed after {idle} s, and a turn may be held for {deadline} s"),
            "raise sessions.idle_seconds above sessions.hold_seconds",
        ));
    }
    lines.push(Line::new(
        Verdict::Pass,
        "Steps, time",
        format!("an agent has {agent} s while its group is leased and the gate is open"),
        "",
    ));
    lines
}

/// The engine's cache, and admission to it, where they are on.
pub(super) fn cache(config: &Config) -> Vec<Line> {
    let sessions = &config.sessions;
    let kind = config.engine.kind;
    let mut lines = Vec::new();
    if sessions.tokens > 0 {
        let cap = u64::from(sessions.decode_cap);
        lines.push(match cap == 0 || cap >= sessions.tokens {
            true => Line::new(
                Verdict::NeedsChanges,
                "Cache, admission",
                format!("a turn is reckoned with {cap} tokens, and {} fit at all", sessions.tokens),
                "set sessions.decode_cap above 0 and well below sessions.tokens",
            ),
            false => Line::new(
                Verdict::Pass,
                "Cache, admission",
                format!("{} tokens at the engine at once, {cap} of a turn reckoned", sessions.tokens),
                "",
            ),
        });
    }
    let told = [
        ("sessions.lifecycle", sessions.lifecycle, matches!(kind, EngineKind::Sglang | EngineKind::Http)),
        (
            "sessions.salted",
            sessions.salted,
            matches!(kind, EngineKind::Sglang | EngineKind::Vllm | EngineKind::Http),
        ),
    ];
    for (name, _, fits) in told.into_iter().filter(|(_, on, _)| *on) {
        lines.push(match fits {
            true => Line::new(Verdict::Pass, format!("Cache, {name}"), "the engine is told", ""),
            false => Line::new(
                Verdict::NeedsChanges,
                format!("Cache, {name}"),
                "this engine knows nothing of it",
                format!("set {name} = false, or take an engine that does"),
            ),
        });
    }
    if lines.is_empty() {
        lines.push(Line::new(Verdict::NotApplicable, "Cache", "admission and lifecycle are off", ""));
    }
    lines
}
