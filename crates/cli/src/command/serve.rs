//! `verbatim serve`.

use std::process::ExitCode;

use crate::args::Serve;
use crate::model;
use crate::telemetry::Telemetry;
use crate::wiring::{Service, control_key, interruption, quoted, settings};

/// Serves until Ctrl-C.
pub(crate) async fn run(args: Serve) -> anyhow::Result<ExitCode> {
    let text = |value: Option<String>| value.map(|value| quoted(&value));
    let layered = settings(
        &args.settings,
        &[
            ("server.listen", text(args.listen)),
            (
                "server.control_key_file",
                text(args.control_key_file.map(|path| path.to_string_lossy().into_owned())),
            ),
            ("sessions.lineage", text(args.lineage)),
            ("sessions.matcher", text(args.matcher)),
        ],
    )?;
    let config = layered.config;
    let _telemetry = Telemetry::start(&config.log)?;
    let control = control_key(&config)?;
    let loaded = model::load(&config).await?;
    let service = Service::start(&config, &loaded, control).await?;
    let interrupted = interruption()?;
    let engine = loaded.engine.capabilities();
    println!(
        "listening on {} (engine {}, model {}, family {}, context {})",
        service.url,
        engine.engine,
        loaded.model,
        loaded.family.name(),
        engine.max_context
    );
    interrupted.await;
    eprintln!("closing sessions");
    service.stop().await;
    Ok(ExitCode::SUCCESS)
}
