//! Widths of this machine and of the server, looked at only where the load calls for it.
//!
//! The invariant: N/A means that the load is far below everything that was measured; otherwise each width is named with
//! what it must be.

use serde::{Deserialize, Serialize};

use super::{Line, Verdict};

/// Sessions at once that the soak test has carried on one machine.
const CARRIED: u64 = 256;
/// The share of a width from which on it is looked at.
const NEAR: f64 = 0.5;
/// Files of the server for a session: its connections, its agent's pipe and log.
const FILES: u64 = 6;
/// Files that the server has open besides.
const FILES_BESIDES: u64 = 256;
/// Processes of an agent that is a command: its shell, itself, a tool.
const PROCESSES: u64 = 3;
/// Connections of a session.
const CONNECTIONS: u64 = 2;

/// What this machine gives; none where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Files that a process may have open.
    pub files: Option<u64>,
    /// Processes that this user may have.
    pub processes: Option<u64>,
    /// Memory that is free, in MiB.
    pub memory_mib: Option<u64>,
}

/// What the settings give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widths {
    /// Sessions that train and are evaluated, at once.
    pub sessions: u64,
    /// Whether agents are processes of this machine.
    pub local: bool,
    /// `server.connections`.
    pub connections: u64,
    /// `sessions.max_sessions`; none is no limit.
    pub max_sessions: Option<u64>,
    /// MiB that an agent may take; none is no limit.
    pub agent_mib: Option<u64>,
}

/// A width by its name, what there is of it, what is needed, and where it is set.
struct Width {
    name: &'static str,
    has: Option<u64>,
    needs: u64,
    way_out: String,
}

/// Whether they carry the load. The first line is the verdict in all; the others are the widths that were looked at.
pub fn scale(widths: Widths, machine: Machine) -> Vec<Line> {
    let about = "Internal scale";
    let sessions = widths.sessions;
    let files = sessions.saturating_mul(FILES).saturating_add(FILES_BESIDES);
    let processes = if widths.local { sessions.saturating_mul(PROCESSES) } else { 0 };
    let memory = widths.agent_mib.map(|mib| mib.saturating_mul(sessions));
    let width = |name, has, needs, way_out| Width { name, has, needs, way_out };
    let mut all = vec![
        width(
            "server.connections",
            Some(widths.connections),
            sessions.saturating_mul(CONNECTIONS),
            "raise it".into(),
        ),
        width("open files", machine.files, files, format!("ulimit -n {}", files.next_power_of_two())),
    ];
    if let Some(limit) = widths.max_sessions {
        all.push(width(
            "sessions.max_sessions",
            Some(limit),
            sessions,
            "raise it, or take it away (0)".into(),
        ));
    }
    if widths.local {
        all.push(width(
            "processes",
            machine.processes,
            processes,
            format!("ulimit -u {}", processes.next_power_of_two()),
        ));
        if let Some(memory) = memory {
            let way_out = "lower agent.concurrency or agent.max_memory_mib".to_owned();
            all.push(width("memory (MiB)", machine.memory_mib, memory, way_out));
        }
    }
    let near = |width: &Width| width.has.is_some_and(|has| width.needs as f64 >= NEAR * has as f64);
    if sessions <= CARRIED && !all.iter().any(near) {
        let what = format!("{sessions} sessions at once are far below every width");
        return vec![Line::new(Verdict::NotApplicable, about, what, "")];
    }
    let judged: Vec<Line> = all
        .into_iter()
        .map(|width| {
            let Width { name, has, needs, way_out } = width;
            let (verdict, has) = match has {
                None => (Verdict::Unverified, "unknown".to_owned()),
                Some(has) if has < needs => (Verdict::Unsafe, has.to_string()),
                Some(has) => (Verdict::Pass, has.to_string()),
            };
            let way_out = if verdict == Verdict::Pass { String::new() } else { way_out };
            Line::new(
                verdict,
                format!("{about}, {name}"),
                format!("{needs} are needed, and there are {has}"),
                way_out,
            )
        })
        .collect();
    let verdict = Verdict::of_all(judged.iter().map(|line| line.verdict));
    let short: Vec<_> = judged.iter().filter(|line| line.blocks()).map(|line| line.about.clone()).collect();
    let what = match short.is_empty() {
        true => format!("{sessions} sessions at once fit"),
        false => format!("{sessions} sessions at once: see {}", short.join("; ")),
    };
    let mut lines = vec![Line::new(verdict, about, what, "")];
    lines.extend(judged);
    lines
}
