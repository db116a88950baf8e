//! `verbatim journal`.

use std::process::ExitCode;

use anstream::println;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde::Serialize;
use verbatim_events::Observed;
use verbatim_journal::{Kept, Opening, Recovery, Tombstone, TurnRecord};

use crate::args::JournalCommand;

/// What a journal holds.
#[derive(Debug, Serialize)]
struct Report {
    segments: usize,
    records: u64,
    sessions: Vec<Session>,
    ended: usize,
    /// Other notes: of a rollout, and of the server.
    notes: usize,
    /// Bytes of a write that did not end.
    torn: u64,
    /// What is not as it was written.
    damages: Vec<String>,
}

/// A session of it.
#[derive(Debug, Serialize)]
struct Session {
    session: String,
    lineage: String,
    turns: usize,
    observed_tokens: usize,
    sampled_tokens: usize,
    bytes: usize,
    payload_bytes: usize,
}

/// Reads a journal and says what it holds.
pub(crate) fn run(command: &JournalCommand) -> anyhow::Result<ExitCode> {
    let (JournalCommand::Inspect(args) | JournalCommand::Verify(args)) = command;
    let report = Report::of(&Recovery::read(&args.folder)?);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.print(matches!(command, JournalCommand::Inspect(_)));
    }
    let is_whole = report.damages.is_empty() || matches!(command, JournalCommand::Inspect(_));
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Report {
    fn of(recovery: &Recovery) -> Self {
        let mut damages: Vec<_> = recovery.damages.iter().map(ToString::to_string).collect();
        let (mut sessions, mut ended) = (Vec::new(), 0);
        for (line, kept) in &recovery.lines {
            match Session::of(line, kept) {
                Ok(session) => sessions.push(session),
                Err(problem) => damages.push(problem),
            }
        }
        for (name, body) in &recovery.notes {
            match Tombstone::read(name, body) {
                None => {}
                Some(Ok(_)) => ended += 1,
                Some(Err(error)) => damages.push(error.to_string()),
            }
        }
        sessions.sort_by(|one, other| one.session.cmp(&other.session));
        let Recovery { segments, records, torn, .. } = *recovery;
        Self { segments, records, sessions, ended, notes: recovery.notes.len() - ended, torn, damages }
    }

    fn print(&self, lists: bool) {
        let turns = self.sessions.iter().map(|session| session.turns).sum::<usize>();
        println!(
            "{} records in {} segments: {} sessions with {turns} turns, {} that ended, {} other notes",
            self.records,
            self.segments,
            self.sessions.len(),
            self.ended,
            self.notes
        );
        if lists && !self.sessions.is_empty() {
            let mut table = Table::new();
            table
                .load_style(NOTHING)
                .set_header(["session", "lineage", "turns", "observed", "sampled", "bytes", "payloads"]);
            for session in &self.sessions {
                let Session { turns, observed_tokens, sampled_tokens, bytes, payload_bytes, .. } = session;
                let numbers = [turns, observed_tokens, sampled_tokens, bytes, payload_bytes];
                let names = [session.session.clone(), session.lineage.clone()];
                table.add_row(names.into_iter().chain(numbers.map(ToString::to_string)));
            }
            println!("{table}");
        }
        if self.torn > 0 {
            println!(
                "the last write did not end: {} bytes of it are left, which nobody was told of",
                self.torn
            );
        }
        for damage in &self.damages {
            println!("damaged: {damage}");
        }
        if self.damages.is_empty() {
            println!("all is as it was written");
        }
    }
}

impl Session {
    fn of(line: &str, kept: &[Kept]) -> Result<Self, String> {
        let (first, turns) = kept.split_first().ok_or_else(|| format!("{line}: nothing of it is left"))?;
        let opening = Opening::read(line, first).map_err(|error| error.to_string())?;
        let mut session = Self {
            session: opening.session.to_string(),
            lineage: opening.lineage,
            turns: turns.len(),
            observed_tokens: 0,
            sampled_tokens: 0,
            bytes: first.body.len(),
            payload_bytes: 0,
        };
        for kept in turns {
            let record = TurnRecord::read(&opening.session, kept).map_err(|error| error.to_string())?;
            if let Observed::New { ids, .. } | Observed::Ids(ids) = &record.turn.observed {
                session.observed_tokens += ids.len();
            }
            session.sampled_tokens += record.turn.generated.sampled.len();
            session.bytes += kept.body.len();
            session.payload_bytes += kept.payloads.iter().map(|payload| payload.len()).sum::<usize>();
        }
        Ok(session)
    }
}
