//! `verbatim verify session`.

use std::process::ExitCode;

use verbatim_gateway::Access;
use verbatim_stages::verify::{Plan, SessionReport, session};

use super::report::{short, tell};
use crate::args::VerifySession;
use crate::model;
use crate::telemetry::Telemetry;

use crate::wiring::{Service, settings};

/// Differences shown; the JSON report has all of them.
const SHOWN: usize = 8;

/// Serves on a port of its own and takes turns there. The exit code is 0 only if nothing hard differs.
pub(crate) async fn run(args: VerifySession) -> anyhow::Result<ExitCode> {
    let mut config = settings(&args.settings, &[])?.config;
    config.server.listen = "127.0.0.1:0".to_owned();
    let _telemetry = Telemetry::start(&config.log)?;
    let loaded = model::load(&config).await?;
    let service = Service::start(&config, &loaded, Access::default(), None).await?;
    let plan = Plan {
        sessions: args.sessions,
        cycles: args.cycles,
        max_tokens: args.max_tokens,
        temperature: args.temperature,
        assistant_text: args.assistant_text,
        calls: args.require_calls,
    };
    let report = session(&service.sessions, &service.url, &plan).await;
    service.stop().await;
    let report = report?;
    tell(&args.told, &report, print)?;
    Ok(if report.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &SessionReport) {
    let roles = [
        ("tool", report.roles.tool),
        ("user", report.roles.user),
        ("system", report.roles.system),
        ("assistant", report.roles.assistant),
    ];
    let roles: Vec<&str> = roles.iter().filter(|(_, takes)| *takes).map(|(name, _)| *name).collect();
    println!("family {}, engine {}, model {}", report.family, report.engine, report.model);
    println!("appended: {}", roles.join(", "));
    let steps: Vec<String> = report.steps.iter().map(|(step, count)| format!("{step} {count}")).collect();
    println!("{} sessions, {} turns ({})", report.sessions.len(), report.turns, steps.join(", "));
    println!("{} tools called, {} sessions ended by a cut turn", report.calls, report.cut);
    if report.calls == 0 {
        println!("note: the model called no tool; --require-calls makes that a failure");
    }
    for (kind, count) in &report.kinds {
        println!("{kind}: {count}");
    }
    for (cause, count) in &report.causes {
        println!("cause {cause}: {count}");
    }
    let mut shown = 0;
    for (number, run) in report.sessions.iter().enumerate() {
        for (at, turn) in run.turns.iter().enumerate() {
            for found in turn.findings.iter().take(SHOWN.saturating_sub(shown)) {
                shown += 1;
                let (kind, cause) = (found.mismatch.kind.name(), found.cause.name());
                println!("session {number}, turn {at} ({}): {kind}, {cause}", turn.step.name());
                println!("  - {}", short(&found.mismatch.expected_text));
                println!("  + {}", short(&found.mismatch.actual_text));
            }
        }
        if let Some(reason) = &run.failed {
            println!("session {number} failed: {}", short(reason));
        }
    }
    match report.holds {
        true => println!("PASS: no hard mismatch"),
        false => println!("FAIL: {}", report.against.join("; ")),
    }
}
